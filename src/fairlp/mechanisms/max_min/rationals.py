"""The levels of a max-min mechanism in rationals: what proves them, and what settles them where floats cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ...formulations.max_min import in_tasks, max_min
from ...formulations.normalisers import dominant
from ...formulations.region import have_limits
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.certificate import Verdict
from ...models.trees.exact import ExactRates, exact_constant, exact_hierarchical
from ...models.trees.guarantees import floors
from ...solvers.leximin.exact import exact_leximin
from ...solvers.leximin.exact_climbing import exact_climb
from ..mechanism import Mechanism


def count_of(parameters: Mapping[str, Any]) -> str:
    """Return what levels count, of a mechanism's options."""
    return str(parameters.get("count") or "total")


def of_leximin(mechanism: Mechanism, instance: Instance, count: str) -> tuple[Verdict, np.ndarray]:
    """Return the leximin of tasks over what is due at level 1."""
    due = mechanism.due(instance)
    normaliser = mechanism.gamma if mechanism.at_level_1 is None else (lambda _: due / instance.user_weights)
    if not have_limits(instance):
        return exact_leximin(instance, in_tasks(normaliser, count))
    return _climb(instance, in_tasks(normaliser, count), exact_constant(map(Fraction, due.tolist())), count)


def of_tree(mechanism: Mechanism, instance: Instance, count: str) -> tuple[Verdict, np.ndarray]:
    """Return the rounds along the tree, with rates in rationals."""

    def formulation(small: Instance) -> Model:
        return max_min(small, "H-DRF", "in tasks", dominant(small), "replaced by exact rates", count)

    return _climb(instance, formulation, exact_hierarchical(instance), count)


def _climb(
    instance: Instance, formulation: Callable[[Instance], Model], rates: ExactRates, count: str
) -> tuple[Verdict, np.ndarray]:
    kept = floors(instance)
    return exact_climb(instance, formulation, rates, kept, kept if count == "borrowed" else np.zeros(len(kept)))
