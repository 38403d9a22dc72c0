"""Prices that programs give: of capacities and of caps of queues, by unit of resource."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...models.notation.compiler import numbers
from ...models.notation.model import Model
from ...models.programs.program import Program


@dataclass(frozen=True)
class RoundPrices:
    """Prices of the programs of a leximin in order, which show why users could not have more.

    Attributes
    ----------
    capacities : ndarray, shape (J, G, R)
        By program, group of identical servers, and resource.
    caps : ndarray, shape (J, C)
        By program, and cap of a queue: queues in their order, and resources of each.
    group : ndarray of int, shape (K,)
        Group of each server.
    """

    capacities: np.ndarray
    caps: np.ndarray
    group: np.ndarray

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the prices of each program: of capacities, servers × resources, and of caps."""
        for capacities, caps in zip(self.capacities, self.caps, strict=True):
            yield capacities[self.group], caps


def prices_of(model: Model, program: Program, row_duals: np.ndarray) -> np.ndarray:
    """Return the duals of the rows ``capacity`` by unit of resource, servers × resources."""
    block = program.row_block("capacity")
    # a row that no user uses (no capacity, or none that its users may have) says 0 ≤ c: its dual
    # prices nothing
    used = np.bincount(program.A.indices, minlength=program.n_rows)[block.slice] > 0
    duals = np.where(used, row_duals[block.slice], 0.0).reshape(-1, block.shape[-1])
    if "capacity_unit" in model.definitions:
        duals = duals / numbers(model.definitions["capacity_unit"]).values
    return np.asarray(duals)


def prices_of_caps(program: Program, row_duals: np.ndarray) -> np.ndarray:
    """Return the duals of the rows ``cap``; none where there are no such rows."""
    rows = [row_duals[block.slice] for block in program.rows if block.name == "cap"]
    return np.concatenate([*rows, np.zeros(0)])
