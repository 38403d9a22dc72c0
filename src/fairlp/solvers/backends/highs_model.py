"""A Model as a ``highspy.Highs`` object to go on with, and its answer back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ...models.programs.solution import Options, Solution, Termination
from .highs import checked, configured, pass_model, terminations
from .scaling import Scaling

if TYPE_CHECKING:
    from ...models.notation.model import Model


def lower(model: Model) -> Any:
    """Return a ``highspy.Highs`` with the model, unscaled, in the user's sense, under its own names."""
    program = model.compile()
    if program.logs is not None:
        raise UnsupportedError(f"HiGHS has no logarithms and no powers; {program.name!r} has some in its objective")
    highs = configured(Options(), "choose")
    ones = Scaling(np.ones(program.n_rows), np.ones(program.n_columns), 1.0, 1.0)
    pass_model(highs, program, ones, program.A.data, 1.0, maximize=program.sense == "max")
    for column, name in enumerate(program.column_names):
        checked(highs.passColName(column, name), "passColName")
    for row, name in enumerate(program.row_names):
        checked(highs.passRowName(row, name), "passRowName")
    return highs


def read_back(model: Model, highs: Any) -> Solution:
    """Return the Solution of a ``highspy.Highs`` that :func:`lower` made (rows may have been added since)."""
    import highspy

    program = model.compile()
    if highs.getNumCol() < program.n_columns or highs.getNumRow() < program.n_rows:
        raise UnsupportedError(f"this Highs object has fewer rows or columns than {program.name!r}")
    raw, solution = highs.getModelStatus(), highs.getSolution()
    x = np.array(solution.col_value)[: program.n_columns] if solution.value_valid else None
    duals = reduced = None
    if solution.dual_valid and not program.is_mip:
        duals = np.array(solution.row_dual)[: program.n_rows]
        reduced = np.array(solution.col_dual)[: program.n_columns]
    termination = terminations(highspy).get(raw, Termination.UNKNOWN)
    if termination not in (Termination.OPTIMAL, Termination.TIME_LIMIT, Termination.ITERATION_LIMIT):
        x = duals = reduced = None
    words = highs.modelStatusToString(raw)
    read = Solution.of_point(program, termination, words, "highs", x, duals, reduced)
    # with rows or columns of the user's own, an optimum of the object need not be one of the model
    same = (highs.getNumCol(), highs.getNumRow()) == (program.n_columns, program.n_rows)
    return read if same else read.checked()
