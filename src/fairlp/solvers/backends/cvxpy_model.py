"""A model as a CVXPY ``Problem``, and a CVXPY problem with levels as a Program.

Ours become variables by name, in their natural shape, with one constraint for each block and side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

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


# A problem that somebody else wrote.

#: Whose form is asked for: the solver of CVXPY that is always there and takes linear cones and integers, nothing else.
_FORM = "SCIPY"


def read(problem: Any, levels: Any) -> tuple[Program, tuple[Any, np.ndarray, Block], Any]:
    """Return a problem's feasible points as a Program, its affine levels (slopes, constants, block), and a way back.

    The problem's objective plays no part. The way back writes a point into the variables' ``.value``, as CVXPY's own
    solvers do. Every variable and level is read off as ``read[k] == …`` in one more variable, so that nothing has to be
    known of what CVXPY makes of a matrix, an attribute or an absolute value.
    """
    import cvxpy as cp

    labels, elements = _named(cp, levels)
    of_all = cp.Problem(cp.Minimize(0), [*problem.constraints, *(one == 0 for one in elements)])
    variables = of_all.variables()
    _refuse_unreadable(of_all, variables)
    flat = [cp.vec(one, order="C") for one in (*variables, *elements)]
    read = cp.Variable(sum(one.size for one in flat))
    # the objective tells which column is which: k + 1 is the cost of read[k] there
    find = cp.Minimize(np.arange(1, read.size + 1) @ read)
    data = _canonical(cp, cp.Problem(find, [*problem.constraints, read == cp.hstack(flat)]))
    if data is None:
        wrong = (one for one in problem.constraints if _canonical(cp, cp.Problem(cp.Minimize(0), [one])) is None)
        raise ModelError(
            f"constraint {next(wrong, 'of the problem')} is not linear (of cones, a leximin here takes linear ones "
            "only); write it with linear expressions, abs, max or the norms 1 and inf, or bound it by tangents"
        )

    def save(x: np.ndarray) -> None:
        ends = np.cumsum([one.size for one in variables])
        for one, value in zip(variables, np.split(x, ends), strict=False):
            one.save_value(value.reshape(one.shape).copy())

    program, slopes, constant = _levels(data, variables, len(labels))
    block = Block("levels", (("level", pd.Index(labels, tupleize_cols=False)),), 0, len(labels))
    return program, (slopes, constant, block), save


def _canonical(cp: Any, problem: Any) -> dict[str, Any] | None:
    """Return CVXPY's own canonical form; None where it has cones that are not linear."""
    try:
        return dict(problem.get_problem_data(_FORM, ignore_dpp=True)[0])
    except (cp.error.DCPError, cp.error.SolverError):
        return None


def _named(cp: Any, levels: Any) -> tuple[list[Any], list[Any]]:
    """Return the label of every level, and the expressions that hold them in that order (C order within each)."""
    if isinstance(levels, dict):
        given = levels
    else:
        given = dict(enumerate(levels if isinstance(levels, list | tuple) else [levels]))
    for label, one in given.items():
        if not isinstance(one, cp.Expression):
            raise ModelError(
                f"level {label!r} is {type(one).__name__}; levels of a CVXPY problem are its expressions: one, a list "
                "of them, or a dict by label"
            )
        if not one.is_affine() or one.is_complex():
            raise ModelError(
                f"level {label!r} is not affine: {one}; a concave one can be a variable v of its own with v <= {one} "
                "among the constraints (where that is linear), and v as the level"
            )
    count = sum(one.size for one in given.values())
    if not count:
        raise ModelError("there are no levels; expected at least one expression")
    if not isinstance(levels, dict):
        return list(range(count)), list(given.values())
    labels: list[Any] = []
    for label, one in given.items():
        places = [",".join(map(str, place)) for place in np.ndindex(one.shape)]
        labels += [f"{label}[{place}]" for place in places] if one.ndim else [label]
    return labels, list(given.values())


def _refuse_unreadable(problem: Any, variables: Sequence[Any]) -> None:
    for one in variables:
        if one.is_complex():
            raise ModelError(f"variable {one.name()!r} is complex; write its parts as two real variables")
        if one.attributes["PSD"] or one.attributes["NSD"]:
            raise ModelError(f"variable {one.name()!r} is semidefinite; a leximin here takes linear constraints only")
    for one in problem.parameters():
        if one.value is None:
            raise ModelError(f"parameter {one.name()!r} has no value; set its .value first")


def _levels(data: dict[str, Any], variables: Sequence[Any], levels: int) -> tuple[Program, sp.csc_array, np.ndarray]:
    """Return the program of the form A·x = b, G·x ≤ h, and its levels: the last that are read off."""
    cost, b = data["c"], data["b"]
    others = np.flatnonzero(cost == 0)
    reads = np.argsort(cost, kind="stable")[len(others) :]
    A = sp.csc_array(data["A"])
    at = A[:, reads].tocoo()
    own, size = np.empty(len(reads), dtype=np.intp), np.empty(len(reads))
    own[at.col], size[at.col] = at.row, at.data  # the row that says what each is
    expression = sp.diags_array(-1.0 / size) @ (A @ sp.diags_array((cost == 0).astype(float))).tocsr()[own]
    expression = sp.csr_array(expression)
    expression.eliminate_zeros()
    constant = b[own] / size
    first = len(reads) - levels
    column = _same_column(expression[:first], constant[:first])
    same = column >= 0  # not so for an element of a symmetric matrix, say: it stays, with its row
    place = np.where(same, column, reads[:first])
    order = np.concatenate([place, np.setdiff1d(others, place)])
    rows = np.setdiff1d(np.arange(len(b)), np.concatenate([own[:first][same], own[first:]]))
    slopes = sp.csc_array(expression[first:].tocsc()[:, order])
    return _program_of(data, order, rows, variables), slopes, constant[first:]


def _same_column(expression: Any, constant: np.ndarray) -> np.ndarray:
    """Return for each row the column that it is, −1 where it is none or another row is it already."""
    column = np.full(len(constant), -1)
    single = np.flatnonzero((np.diff(expression.indptr) == 1) & (constant == 0))
    start = expression.indptr[single]
    single, start = single[expression.data[start] == 1], start[expression.data[start] == 1]
    which, first = np.unique(expression.indices[start], return_index=True)
    column[single[first]] = which
    return column


def _program_of(data: dict[str, Any], order: np.ndarray, rows: np.ndarray, variables: Sequence[Any]) -> Program:
    """Return the form's columns in that order, with its rows and the names of the variables."""
    size = len(data["c"])
    G, h = (sp.csc_array((0, size)), np.zeros(0)) if data["G"] is None else (data["G"], data["h"])
    matrix = sp.csc_array(sp.vstack([sp.csr_array(data["A"])[rows], G]).tocsc()[:, order])
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    binary, whole = (np.asarray(data[kind], dtype=np.intp) for kind in ("bool_vars_idx", "int_vars_idx"))
    lower, upper = (
        np.full(size, none) if data.get(key) is None else np.array(data[key], dtype=float)
        for key, none in (("lower_bounds", -np.inf), ("upper_bounds", np.inf))
    )
    lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
    integrality = np.zeros(size, dtype=np.uint8)
    integrality[np.concatenate([binary, whole])] = 1
    equal = len(rows)
    blocks = (("equalities", 0, equal), ("inequalities", equal, matrix.shape[0]))
    return Program(
        name="CVXPY problem",
        sense="max",
        c=np.zeros(len(order)),
        offset=0.0,
        A=matrix,
        row_lower=np.concatenate([data["b"][rows], np.full(len(h), -np.inf)]),
        row_upper=np.concatenate([data["b"][rows], h]),
        col_lower=lower[order],
        col_upper=upper[order],
        integrality=integrality[order],
        rows=tuple(Block(name, (("row", pd.RangeIndex(stop - start)),), start, stop) for name, start, stop in blocks),
        columns=_blocks_of(variables, len(order)),
    )


def _blocks_of(variables: Sequence[Any], size: int) -> tuple[Block, ...]:
    """Return a block for each variable, of its shape; of two with one name, the second has ``_`` behind it."""
    blocks: list[Block] = []
    start = 0
    for one in variables:
        axes = tuple((f"axis_{d}", pd.RangeIndex(length)) for d, length in enumerate(one.shape))
        blocks.append(Block(unused(one.name(), blocks), axes, start, start + one.size))
        start += one.size
    if start < size:
        blocks.append(Block(unused("auxiliary", blocks), (("column", pd.RangeIndex(size - start)),), start, size))
    return tuple(blocks)


def unused(name: str, blocks: Sequence[Block]) -> str:
    """Return a name that no block has."""
    while name in {block.name for block in blocks}:
        name += "_"
    return name
