"""A compiled program brought up to date after parameters or bounds were set: only what they stand in is compiled.

The arrays that come out are those of compiling anew, byte for byte; those that did not change are shared.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ..programs.program import Program
from .compiler import Triples, assemble, entries, objective, sides, terms_of
from .numbers import naming
from .trees import in_coefficients, uses

if TYPE_CHECKING:
    from .model import Model


def patched(model: Model, program: Program, stale: Collection[str]) -> Program:
    """Return the program of a model in which the parameters and variables of these names have other numbers.

    Parameters
    ----------
    model : Model
    program : Program
        What it was compiled to before.
    stale : collection of str
        Names of parameters whose values, and of variables whose bounds are others now.
    """
    starts = {block.name: block.start for block in program.columns}
    numbers = [name for name in stale if name not in starts]
    parts: dict[str, Any] = {}
    matrix = _Matrix(program.A)
    for row, block in zip(model.constraints.values(), program.rows, strict=True):
        if not uses(numbers, *row.relation.parts):
            continue
        found = terms_of(row)
        if in_coefficients(numbers, row.relation.body):
            batch = entries(row, found, starts, program.n_columns)
            matrix.replace(block.start, block.stop, assemble(batch, (len(block), program.n_columns), "csc"))
        for name, side in zip(("row_lower", "row_upper"), sides(row, found), strict=True):
            if name not in parts:
                parts[name] = getattr(program, name).copy()
            parts[name][block.slice] = side
    if model.objective is not None and uses(numbers, model.objective):
        with naming("the objective"):
            parts["c"], parts["offset"], parts["logs"] = objective(model, starts, program.n_columns)
    if len(numbers) < len(stale):
        parts["col_lower"] = np.concatenate([np.zeros(0), *(v.lower for v in model.variables.values())])
        parts["col_upper"] = np.concatenate([np.zeros(0), *(v.upper for v in model.variables.values())])
    return program.replace(A=matrix.array(), **parts)


class _Matrix:
    """A sparse array by columns in which the entries of some rows are replaced; its own arrays stay as they are."""

    def __init__(self, array: Any) -> None:
        self.given = array
        self.data: np.ndarray | None = None
        self.gone: np.ndarray | None = None
        self.batches: list[Triples] = []

    def replace(self, start: int, stop: int, rows: Any) -> None:
        """Replace rows ``start:stop`` by those of another array: in place where the same entries are there."""
        given = self.given
        inside = (given.indices >= start) & (given.indices < stop)
        at = np.flatnonzero(inside)
        same = (
            len(at) == rows.nnz
            and np.array_equal(np.searchsorted(at, given.indptr), rows.indptr)
            and np.array_equal(given.indices[at] - start, rows.indices)
        )
        if same:
            if self.data is None:
                self.data = given.data.copy()
            self.data[at] = rows.data
            return
        self.gone = inside if self.gone is None else self.gone | inside
        own = rows.tocoo()
        self.batches.append(((own.coords[0] + start).astype(np.int32), own.coords[1].astype(np.int32), own.data))

    def array(self) -> Any:
        """Return the array with what was replaced; the given one where nothing was."""
        given = self.given
        data = given.data if self.data is None else self.data
        if self.gone is not None:
            stay = ~self.gone
            columns = np.repeat(np.arange(given.shape[1], dtype=np.int32), np.diff(given.indptr))
            kept = (given.indices[stay].astype(np.int32), columns[stay], data[stay])
            return assemble([kept, *self.batches], given.shape, "csc")
        if self.data is None:
            return given
        return type(given)((data, given.indices, given.indptr), shape=given.shape)
