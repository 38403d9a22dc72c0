"""A model as a CVXPY ``Problem``: variables by name, in their natural shape, one constraint for each block."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.model import Model
from ..models.program import Block, Program


def to_cvxpy(model: Model) -> Any:
    """Return a CVXPY problem, logarithms included.

    A variable over indices has their shape (``problem.var_dict["g"]``); one with a mask is a vector of the elements
    that exist, in order. Constraints come one for each block and side, in the order of the model.
    """
    import cvxpy as cp

    program = model.compile()
    variables = [_variable(cp, block, program) for block in program.columns]
    flat = [cp.vec(variable, order="C") if variable.ndim > 1 else variable for variable in variables]
    constraints: list[Any] = []
    rows = program.A.tocsr()
    for block in program.rows:
        if len(block):
            constraints += _constraints(cp, program, block, _times(rows[block.slice], program, flat))
    for block, variable in zip(program.columns, flat, strict=True):
        constraints += _bounds(program, block, variable)
    objective: Any = program.offset + sum(
        program.c[block.slice] @ variable
        for block, variable in zip(program.columns, flat, strict=True)
        if program.c[block.slice].any()
    )
    if program.logs is not None:
        inner = _times(program.logs.A, program, flat) + program.logs.constant
        objective = objective + program.logs.weights @ cp.log(inner)
    return cp.Problem(cp.Maximize(objective) if program.sense == "max" else cp.Minimize(objective), constraints)


def _variable(cp: Any, block: Block, program: Program) -> Any:
    shape: tuple[int, ...] = (len(block),) if block.positions is not None or not block.axes else block.shape
    integer = bool(program.integrality[block.slice].any())
    return cp.Variable(shape, name=block.name, integer=integer)


def _times(matrix: Any, program: Program, flat: list[Any]) -> Any:
    """Return matrix @ x with x in pieces, leaving out the blocks without entries."""
    columns = matrix.tocsc()
    parts = []
    for block, variable in zip(program.columns, flat, strict=True):
        piece = columns[:, block.start : block.stop]
        if piece.nnz:
            parts.append(piece @ variable)
    return sum(parts[1:], parts[0]) if parts else np.zeros(matrix.shape[0])


def _constraints(cp: Any, program: Program, block: Block, activity: Any) -> list[Any]:
    lower, upper = program.row_lower[block.slice], program.row_upper[block.slice]
    activity = activity if isinstance(activity, cp.Expression) else cp.Constant(activity)
    if (lower == upper).all():
        return [activity == lower]
    sides = []
    for bound, relation in ((lower, "__ge__"), (upper, "__le__")):
        finite = np.isfinite(bound)
        if finite.all():
            sides.append(getattr(activity, relation)(bound))
        elif finite.any():
            at = np.flatnonzero(finite)
            sides.append(getattr(activity[at], relation)(bound[at]))
    return sides


def _bounds(program: Program, block: Block, variable: Any) -> list[Any]:
    sides = []
    for bounds, relation in ((program.col_lower, "__ge__"), (program.col_upper, "__le__")):
        bound = bounds[block.slice]
        at = np.flatnonzero(np.isfinite(bound))
        if len(at) == len(bound):
            sides.append(getattr(variable, relation)(bound))
        elif len(at):
            sides.append(getattr(variable[at], relation)(bound[at]))
    return sides
