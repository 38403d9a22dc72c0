"""A model as a CVXPY ``Problem``: variables by name, in their natural shape, one constraint for each block and side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...models.notation.model import Model
from ...models.programs.program import Block, LogTerms, Program
from ...models.programs.solution import Solution, Termination
from .base import reduced_costs, sign


@dataclass
class Built:
    """A CVXPY problem and the way back: its variables by block, and rows and side of each row constraint."""

    problem: Any
    variables: list[Any]
    n_rows: int
    rows: list[tuple[Any, np.ndarray, int]] = field(default_factory=list)

    def point(self) -> np.ndarray | None:
        """Return the values of all columns (None when there are none)."""
        if any(variable.value is None for variable in self.variables):
            return None
        parts = [np.asarray(variable.value, dtype=float).reshape(-1) for variable in self.variables]
        return np.concatenate([np.zeros(0), *parts])

    def minimisation_duals(self) -> np.ndarray | None:
        """Return ∂objective/∂rhs of every row, for the minimisation that CVXPY solves."""
        duals = np.zeros(self.n_rows)
        for constraint, at, side in self.rows:
            value = constraint.dual_value
            if value is None:
                return None
            # Lagrangian: f + λ·(expression − bound) for ≤ and =, f + λ·(bound − expression) for ≥
            duals[at] += (1.0 if side > 0 else -1.0) * np.asarray(value, dtype=float).reshape(-1)
        return duals


def lower(model: Model) -> Any:
    """Return a CVXPY problem, logarithms and powers included.

    A variable over indices has their shape (``problem.var_dict["g"]``); one with a mask is a vector of the elements
    that exist, in order. Constraints come one for each block and side, in the order of the model; go on with
    ``problem.constraints + [...]``. After solving, :meth:`Model.read_back` gives a Solution.
    """
    return build(model.compile()).problem


def build(program: Program) -> Built:
    """Return a program as a CVXPY problem with the way back."""
    import cvxpy as cp

    variables = [_variable(cp, block, program) for block in program.columns]
    flat = [cp.vec(variable, order="C") if variable.ndim > 1 else variable for variable in variables]
    built = Built(None, variables, program.n_rows)
    matrix = program.A.tocsr()
    for block in program.rows:
        activity = _times(matrix[block.slice], program, flat)
        activity = activity if isinstance(activity, cp.Expression) else cp.Constant(activity)
        built.rows += _rows(program, block, activity)
    constraints = [constraint for constraint, _, _ in built.rows]
    for block, variable in zip(program.columns, flat, strict=True):
        constraints += _bounds(program, block, variable)
    objective: Any = program.offset + sum(
        program.c[block.slice] @ variable
        for block, variable in zip(program.columns, flat, strict=True)
        if program.c[block.slice].any()
    )
    if program.logs is not None:
        objective = objective + _concave(cp, program.logs, program, flat)
    built.problem = cp.Problem(
        cp.Maximize(objective) if program.sense == "max" else cp.Minimize(objective), constraints
    )
    return built


def read_back(model: Model, problem: Any) -> Solution:
    """Return the Solution of a problem that :func:`lower` made (more constraints may have been added since).

    Raises
    ------
    ModelError
        When the problem does not have the model's variables.
    """
    program = model.compile()
    by_name = problem.var_dict
    missing = [block.name for block in program.columns if block.name not in by_name]
    if missing:
        raise ModelError(f"the CVXPY problem has no variable {missing[0]!r}; make it with model.to_cvxpy()")
    built = Built(problem, [by_name[block.name] for block in program.columns], program.n_rows)
    places = [(at, side) for block in program.rows for _, at, side in _sides(program, block)]
    own = problem.constraints[: len(places)]
    built.rows = [(constraint, at, side) for constraint, (at, side) in zip(own, places, strict=True)]
    x = built.point()
    duals = built.minimisation_duals() if x is not None and not program.is_mip else None
    if duals is not None:
        duals = sign(program) * duals
    reduced = reduced_costs(program, x, duals) if x is not None and duals is not None else None
    termination = _TERMINATION.get(problem.status, Termination.UNKNOWN)
    read = Solution.of_point(program, termination, str(problem.status), "cvxpy", x, duals, reduced)
    # with constraints of the user's own, an optimum of the problem need not be one of the model
    return read if len(problem.constraints) == _count(program) else read.checked()


def _count(program: Program) -> int:
    """Return how many constraints :func:`build` makes of a program."""
    rows = sum(len(_sides(program, block)) for block in program.rows)
    bounds = 0
    for block in program.columns:
        for bound in (program.col_lower, program.col_upper):
            bounds += bool(np.isfinite(bound[block.slice]).any())
    return rows + bounds


_TERMINATION = {
    "optimal": Termination.OPTIMAL,
    "optimal_inaccurate": Termination.UNKNOWN,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasible_or_unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
}


def _variable(cp: Any, block: Block, program: Program) -> Any:
    shape: tuple[int, ...] = (len(block),) if block.positions is not None or not block.axes else block.shape
    whole = program.integrality[block.slice] > 0
    if whole.any() and not whole.all():  # a block of a file may be mixed
        return cp.Variable(shape, name=block.name, integer=np.nonzero(whole.reshape(shape)))
    return cp.Variable(shape, name=block.name, integer=bool(whole.any()))


def _concave(cp: Any, logs: LogTerms, program: Program, flat: list[Any]) -> Any:
    """Return the logarithms (exponential cones) and powers (power cones) of the objective."""
    parts: list[Any] = []
    for alpha in np.unique(logs.alpha):
        some = np.flatnonzero(logs.alpha == alpha)
        inner = _times(logs.A[some], program, flat) + logs.constant[some]
        if alpha == 1:
            parts.append(logs.weights[some] @ cp.log(inner))
        else:  # the exact exponent, where CVXPY would take a fraction near it
            parts.append(logs.weights[some] / (1 - alpha) @ cp.power(inner, 1 - alpha, approx=False))
    return sum(parts[1:], parts[0])


def _times(matrix: Any, program: Program, flat: list[Any]) -> Any:
    """Return matrix @ x with x in pieces, leaving out the blocks without entries."""
    columns = matrix.tocsc()
    parts = []
    for block, variable in zip(program.columns, flat, strict=True):
        piece = columns[:, block.start : block.stop]
        if piece.nnz:
            parts.append(piece @ variable)
    return sum(parts[1:], parts[0]) if parts else np.zeros(matrix.shape[0])


def _sides(program: Program, block: Block) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Return (positions in the block, rows, side) of each constraint: side 0 for =, 1 for ≥, −1 for ≤."""
    lower, upper = program.row_lower[block.slice], program.row_upper[block.slice]
    equal = lower == upper
    sides = []
    for there, side in ((equal, 0), (np.isfinite(lower) & ~equal, 1), (np.isfinite(upper) & ~equal, -1)):
        at = np.flatnonzero(there)
        if at.size:
            sides.append((at, block.start + at, side))
    return sides


def _rows(program: Program, block: Block, activity: Any) -> list[tuple[Any, np.ndarray, int]]:
    found = []
    for at, rows, side in _sides(program, block):
        part = activity if len(at) == len(block) else activity[at]
        if side == 0:
            constraint = part == program.row_lower[rows]
        elif side > 0:
            constraint = part >= program.row_lower[rows]
        else:
            constraint = part <= program.row_upper[rows]
        found.append((constraint, rows, side))
    return found


def _bounds(program: Program, block: Block, variable: Any) -> list[Any]:
    sides = []
    for bounds, lower in ((program.col_lower, True), (program.col_upper, False)):
        bound = bounds[block.slice]
        at = np.flatnonzero(np.isfinite(bound))
        if at.size:
            part = variable if len(at) == len(bound) else variable[at]
            sides.append(part >= bound[at] if lower else part <= bound[at])
    return sides
