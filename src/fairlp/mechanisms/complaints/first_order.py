"""The optimum of a concave model over users and servers, proved at any tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...models.programs.proof import Proof
from ..concave_proof import columns_at, prove_columns


def prove_tasks(
    formulation: Callable[[Instance], Model], instance: Instance, tasks: np.ndarray
) -> Proof:
    """Return whether tasks (N, K) are the optimum of a model, by the duals of a linear program.

    The linear program has the model's rows, and as costs the gradient of the objective at the
    tasks. They are optimal if it gains nothing. Identical servers are merged.
    """
    small, servers = merge_servers(instance)
    merged_tasks = np.zeros(small.shape)
    np.add.at(merged_tasks.T, servers.of, tasks.T)
    model = formulation(small)
    return prove_columns(model.compile(), columns_of(model, merged_tasks))


def columns_of(model: Model, tasks: np.ndarray) -> np.ndarray:
    """Return the model's columns at tasks: ``g`` in units of Gamma, its sums ``h`` under caps."""
    parts = tasks / model.parameters["Gamma"].values[:, None]
    return columns_at(model.compile(), {"g": parts, "h": parts.sum(axis=1)})
