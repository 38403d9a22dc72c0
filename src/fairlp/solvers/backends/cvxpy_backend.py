"""Any solver that CVXPY finds, as ``cvxpy:NAME``: LPs, MILPs and, with a cone solver, logs."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import (
    ModelError,
    SolverError,
    UnknownNameError,
    UnsupportedError,
    first_line,
    nearest,
)
from ...models.notation.model import Model
from ...models.programs.backends import checked
from ...models.programs.options import Options
from ...models.programs.program import Block, LogTerms, Program, free_name
from ...models.programs.protocols import Capability
from ...models.programs.solution import Solution, solution_at
from ...models.programs.status import Termination
from ...tolerances import ACCEPTED, CONFORMANCE, CONIC_TIGHTEST, FEASIBILITY, SOLVER_TIGHTEST
from .base import (
    HIGHS_WITH_INTEGERS,
    BaseBackend,
    Raw,
    given_options,
    installed,
    reduced_costs,
    sign,
    whole_within,
)

# A model as a CVXPY ``Problem``, and a CVXPY problem with levels as a Program.


@dataclass
class Built:
    """A CVXPY problem and the way back: variables by block, and each constraint's rows and side."""

    problem: Any
    variables: list[Any]
    n_rows: int
    rows: list[tuple[Any, np.ndarray, int]] = field(default_factory=list)

    def point(self) -> np.ndarray | None:
        """Return the values of all columns; None when the solver gave none.

        A column in no row and no cost has 0.
        """
        used = {variable.id for variable in self.problem.variables()}
        if any(variable.value is None for variable in self.variables if variable.id in used):
            return None
        values = [
            np.zeros(variable.shape) if variable.value is None else variable.value
            for variable in self.variables
        ]
        return np.concatenate(
            [np.zeros(0), *(np.asarray(value, dtype=float).reshape(-1) for value in values)]
        )

    def minimisation_duals(self) -> np.ndarray | None:
        """Return ∂objective/∂rhs of every row, for the minimisation that CVXPY solves."""
        duals = np.zeros(self.n_rows)
        for constraint, rows, side in self.rows:
            value = constraint.dual_value
            if value is None:
                return None
            # Lagrangian: f + λ·(expression − bound) for ≤ and =, f + λ·(bound − expression) for ≥
            duals[rows] += (1.0 if side > 0 else -1.0) * np.asarray(value, dtype=float).reshape(-1)
        return duals


def lower(model: Model) -> Any:
    """Return a CVXPY problem, logarithms and powers included.

    A variable over indices has their shape (``problem.var_dict["g"]``); one with a mask is a vector
    of the elements that exist, in order. Constraints come one for each block and side, in the order
    of the model; go on with ``problem.constraints + [...]``. After solving, :meth:`Model.read_back`
    gives a Solution.
    """
    return build(model.compile()).problem


def build(program: Program) -> Built:
    """Return a program as a CVXPY problem with the way back."""
    import cvxpy as cp

    variables = [_variable(cp, block, program) for block in program.columns]
    flat = [
        cp.vec(variable, order="C") if variable.ndim > 1 else variable for variable in variables
    ]
    built = Built(None, variables, program.n_rows)
    matrix = program.A.tocsr()
    for block in program.rows:
        if not len(block):  # CVXPY before 1.9 has no arrays without entries
            continue
        activity = _times(matrix[block.slice], program, flat)
        activity = activity if isinstance(activity, cp.Expression) else cp.Constant(activity)
        built.rows += _rows(program, block, activity)
    constraints = [constraint for constraint, _, _ in built.rows]
    for block, variable in zip(program.columns, flat, strict=True):
        constraints += _bounds(program, block, variable)
    objective = program.offset + sum(
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
    """Return the Solution of a problem from :func:`lower`, even after adding constraints.

    Raises
    ------
    ModelError
        When the problem does not have the model's variables.
    """
    program = model.compile()
    import cvxpy as cp

    by_name = problem.var_dict
    missing = [
        block.name
        for block in program.columns
        if block.name not in by_name and _is_used(program, block)
    ]
    if missing:
        raise ModelError(
            f"the CVXPY problem has no variable {missing[0]!r}; make it with model.to_cvxpy()"
        )
    variables = [
        by_name.get(block.name, _variable(cp, block, program)) for block in program.columns
    ]
    built = Built(problem, variables, program.n_rows)
    places = [(rows, side) for block in program.rows for _, rows, side in _sides(program, block)]
    constraints = problem.constraints[: len(places)]
    built.rows = [
        (constraint, rows, side)
        for constraint, (rows, side) in zip(constraints, places, strict=True)
    ]
    x = built.point()
    duals = built.minimisation_duals() if x is not None and not program.is_mip else None
    if duals is not None:
        duals = sign(program) * duals
    reduced = reduced_costs(program, x, duals) if x is not None and duals is not None else None
    termination = _TERMINATION.get(problem.status, Termination.UNKNOWN)
    # what the problem holds may have been changed: an optimum of it need not be one of the model
    message = str(problem.status)
    return checked(
        solution_at(program, termination, message, "cvxpy", x, duals, reduced), Options()
    )


def _is_used(program: Program, block: Block) -> bool:
    """Return whether a variable is in CVXPY's problem.

    Variables of no constraint and no objective are not.
    """
    entries = program.A.indptr[block.stop] > program.A.indptr[block.start]
    bounds = np.isfinite(program.col_lower[block.slice]) | np.isfinite(
        program.col_upper[block.slice]
    )
    in_logs = program.logs is not None and program.logs.A.tocsc()[:, block.slice].nnz > 0
    return bool(entries or bounds.any() or program.c[block.slice].any() or in_logs)


_TERMINATION = {
    "optimal": Termination.OPTIMAL,
    "optimal_inaccurate": Termination.UNKNOWN,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasible_or_unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
}


def _variable(cp: Any, block: Block, program: Program) -> Any:
    shape = (len(block),) if block.positions is not None or not block.axes else block.shape
    whole = program.integrality[block.slice] > 0
    if whole.any() and not whole.all():  # a block of a file may be mixed
        return cp.Variable(shape, name=block.name, integer=np.nonzero(whole.reshape(shape)))
    return cp.Variable(shape, name=block.name, integer=bool(whole.any()))


def _concave(cp: Any, logs: LogTerms, program: Program, flat: list[Any]) -> Any:
    """Return the logarithms (exponential cones) and powers (power cones) of the objective."""
    parts = []
    for alpha in np.unique(logs.alpha):
        some = np.flatnonzero(logs.alpha == alpha)
        inner = _times(logs.A[some], program, flat) + logs.constant[some]
        if alpha == 1:
            parts.append(logs.weights[some] @ cp.log(inner))
        elif alpha == -1:
            parts.append(logs.weights[some] / 2 @ cp.square(inner))
        else:  # the exact exponent, where CVXPY would take a fraction near it
            parts.append(
                logs.weights[some] / (1 - alpha) @ cp.power(inner, 1 - alpha, approx=False)
            )
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
    """Return (positions in the block, rows, side) of each constraint.

    The side is 0 for =, 1 for ≥ and −1 for ≤.
    """
    lower = program.row_lower[block.slice]
    upper = program.row_upper[block.slice]
    equal = lower == upper
    sides = []
    for mask, side in (
        (equal, 0),
        (np.isfinite(lower) & ~equal, 1),
        (np.isfinite(upper) & ~equal, -1),
    ):
        positions = np.flatnonzero(mask)
        if positions.size:
            sides.append((positions, block.start + positions, side))
    return sides


def _rows(program: Program, block: Block, activity: Any) -> list[tuple[Any, np.ndarray, int]]:
    constraints = []
    for positions, rows, side in _sides(program, block):
        body = activity if len(positions) == len(block) else activity[positions]
        bound = (program.row_upper if side < 0 else program.row_lower)[rows]
        constraint = body == bound if side == 0 else body >= bound if side > 0 else body <= bound
        constraints.append((constraint, rows, side))
    return constraints


def _bounds(program: Program, block: Block, variable: Any) -> list[Any]:
    constraints = []
    for bounds, lower in ((program.col_lower, True), (program.col_upper, False)):
        bound = bounds[block.slice]
        positions = np.flatnonzero(np.isfinite(bound))
        if positions.size:
            bounded = variable if len(positions) == len(bound) else variable[positions]
            constraints.append(
                bounded >= bound[positions] if lower else bounded <= bound[positions]
            )
    return constraints


# A problem that others wrote.

#: Whose form is asked for: the solver of CVXPY that is always there and takes linear cones and
#: integers, nothing else.
_FORM = "SCIPY"


def read(problem: Any, levels: Any) -> tuple[Program, tuple[Any, np.ndarray, Block], Any]:
    """Return a problem's feasible points as a Program, its affine levels, and a way back.

    The levels are (slopes, constants, block).

    The problem's objective plays no part. The way back writes a point into the variables'
    ``.value``, as CVXPY's own solvers do. Every variable and level is read off as ``read[k] == …``
    in one more variable, so that nothing has to be known of what CVXPY makes of a matrix, an
    attribute or an absolute value.
    """
    import cvxpy as cp

    labels, elements = _named(cp, levels)
    of_all = cp.Problem(
        cp.Minimize(0), [*problem.constraints, *(expression == 0 for expression in elements)]
    )
    variables = of_all.variables()
    _refuse_complex(variables)
    flat = [cp.vec(expression, order="C") for expression in (*variables, *elements)]
    read = cp.Variable(sum(expression.size for expression in flat))
    # the objective tells which column is which: k + 1 is the cost of read[k] there
    find = cp.Minimize(np.arange(1, read.size + 1) @ read)
    data = _canonical(cp, cp.Problem(find, [*problem.constraints, read == cp.hstack(flat)]))
    if data is None:
        unreadable = (
            expression
            for expression in problem.constraints
            if _canonical(cp, cp.Problem(cp.Minimize(0), [expression])) is None
        )
        raise ModelError(
            f"constraint {next(unreadable, 'of the problem')} is not linear (of cones, a leximin here "
            "takes linear ones "
            "only); write it with linear expressions, abs, max or the norms 1 and inf, or bound it "
            "by tangents"
        )

    def save(x: np.ndarray) -> None:
        ends = np.cumsum([variable.size for variable in variables])
        for variable, value in zip(variables, np.split(x, ends), strict=False):
            variable.save_value(value.reshape(variable.shape).copy())

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
    """Return the label of every level, and the expressions of the levels in that order.

    Elements within an expression are in C order.
    """
    if isinstance(levels, dict):
        by_label = levels
    else:
        by_label = dict(enumerate(levels if isinstance(levels, list | tuple) else [levels]))
    for label, expression in by_label.items():
        is_affine = isinstance(expression, cp.Expression) and expression.is_affine()
        if not is_affine or expression.is_complex():
            raise ModelError(
                f"level {label!r} is {expression}; levels of a CVXPY problem are its affine "
                "expressions: one, a list of them, or a dict by label"
            )
    count = sum(expression.size for expression in by_label.values())
    if not count:
        raise ModelError("there are no levels; expected at least one expression")
    if not isinstance(levels, dict):
        return list(range(count)), list(by_label.values())
    labels = []
    for label, expression in by_label.items():
        places = [",".join(map(str, place)) for place in np.ndindex(expression.shape)]
        labels += [f"{label}[{place}]" for place in places] if expression.ndim else [label]
    return labels, list(by_label.values())


def _refuse_complex(variables: Sequence[Any]) -> None:
    for leaf in variables:
        if leaf.is_complex():
            raise ModelError(
                f"variable {leaf.name()!r} is complex; write its parts as two real variables"
            )


def _levels(
    data: dict[str, Any], variables: Sequence[Any], levels: int
) -> tuple[Program, sp.csc_array, np.ndarray]:
    """Return the program A·x = b, G·x ≤ h, and its levels.

    The levels are the last of the elements that are read off.
    """
    cost = data["c"]
    b = data["b"]
    others = np.flatnonzero(cost == 0)
    reads = np.argsort(cost, kind="stable")[len(others) :]
    A = sp.csc_array(data["A"])
    entries = A[:, reads].tocoo()
    defining_row = np.empty(len(reads), dtype=np.intp)
    size = np.empty(len(reads))
    defining_row[entries.col], size[entries.col] = (
        entries.row,
        entries.data,
    )  # the row that says what each is
    expression = (
        sp.diags_array(-1.0 / size)
        @ (A @ sp.diags_array((cost == 0).astype(float))).tocsr()[defining_row]
    )
    expression = sp.csr_array(expression)
    expression.eliminate_zeros()
    constant = b[defining_row] / size
    first = len(reads) - levels
    column = _same_column(expression[:first], constant[:first])
    is_column = (
        column >= 0
    )  # not so for an element of a symmetric matrix, say: it stays, with its row
    columns = np.where(is_column, column, reads[:first])
    order = np.concatenate([columns, np.setdiff1d(others, columns)])
    rows = np.setdiff1d(
        np.arange(len(b)), np.concatenate([defining_row[:first][is_column], defining_row[first:]])
    )
    slopes = sp.csc_array(expression[first:].tocsc()[:, order])
    return _program_of(data, order, rows, variables), slopes, constant[first:]


def _same_column(expression: Any, constant: np.ndarray) -> np.ndarray:
    """Return for each row the column that it equals.

    It is −1 where the row is no column, or another row is it already.
    """
    column = np.full(len(constant), -1)
    single = np.flatnonzero((np.diff(expression.indptr) == 1) & (constant == 0))
    start = expression.indptr[single]
    single = single[expression.data[start] == 1]
    start = start[expression.data[start] == 1]
    which, first = np.unique(expression.indices[start], return_index=True)
    column[single[first]] = which
    return column


def _program_of(
    data: dict[str, Any], order: np.ndarray, rows: np.ndarray, variables: Sequence[Any]
) -> Program:
    """Return the form's columns in that order, with its rows and the names of the variables."""
    size = len(data["c"])
    G, h = (sp.csc_array((0, size)), np.zeros(0)) if data["G"] is None else (data["G"], data["h"])
    matrix = sp.csc_array(sp.vstack([sp.csr_array(data["A"])[rows], G]).tocsc()[:, order])
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    binary, whole = (
        np.asarray(data[kind], dtype=np.intp) for kind in ("bool_vars_idx", "int_vars_idx")
    )
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
        rows=tuple(
            Block(name, (("row", pd.RangeIndex(stop - start)),), start, stop)
            for name, start, stop in blocks
        ),
        columns=_blocks_of(variables, len(order)),
    )


def _blocks_of(variables: Sequence[Any], size: int) -> tuple[Block, ...]:
    """Return a block for each variable, of its shape.

    Where two have one name, ``_`` follows that of the second.
    """
    blocks: list[Block] = []
    start = 0
    for variable in variables:
        axes = tuple(
            (f"axis_{d}", pd.RangeIndex(length)) for d, length in enumerate(variable.shape)
        )
        blocks.append(Block(unused(variable.name(), blocks), axes, start, start + variable.size))
        start += variable.size
    if start < size:
        blocks.append(
            Block(
                unused("auxiliary", blocks), (("column", pd.RangeIndex(size - start)),), start, size
            )
        )
    return tuple(blocks)


def unused(name: str, blocks: Sequence[Block]) -> str:
    """Return a name that no block has."""
    return free_name(name, {block.name for block in blocks})


_LP = frozenset({Capability.LP, Capability.DUALS})
_MILP = frozenset({Capability.LP, Capability.MILP})
_BOTH = _LP | _MILP
_LOG = Capability.LOG
_POWER = Capability.POWER
_SQUARE = Capability.QUADRATIC


@dataclass(frozen=True)
class CvxpySolver:
    """A solver behind CVXPY: its package, its capabilities there, and its option names.

    It is asked for ``tolerance``: ECOS misjudges programs at tighter ones, and OSQP, which is
    content with little in small rows, needs the tightest. Programs with logarithms or powers are
    first tried at ``curved_tolerance``: points far apart have nearly the same objective there. A
    ``coarse`` one is given many
    iterations. ``settings`` are for all programs, ``with_integers`` for integer programs.
    """

    package: str
    capabilities: frozenset[Capability]
    options: dict[str, str]
    coarse: bool = False
    tolerance: float = FEASIBILITY
    curved_tolerance: float | None = None
    extra: str = ""
    settings: Mapping[str, float] = field(default_factory=dict)
    with_integers: Mapping[str, float] = field(default_factory=dict)


#: They gain digits slowly.
_FIRST_ORDER = ("OSQP", "SCS")

#: CVXPY's CBC gives no duals, so it promises none here.
KNOWN: dict[str, CvxpySolver] = {
    "CLARABEL": CvxpySolver(
        "clarabel",
        _LP | {_LOG, _POWER, _SQUARE},
        {
            "primal_tolerance": "tol_feas",
            "dual_tolerance": "tol_gap_abs",
            "time_limit": "time_limit",
            "iteration_limit": "max_iter",
        },
        curved_tolerance=CONIC_TIGHTEST,
    ),
    "SCS": CvxpySolver(
        "scs",
        _LP | {_LOG, _POWER, _SQUARE},
        {
            "primal_tolerance": "eps_abs",
            "dual_tolerance": "eps_rel",
            "time_limit": "time_limit_secs",
            "iteration_limit": "max_iters",
        },
        coarse=True,
        tolerance=ACCEPTED,
    ),
    "ECOS": CvxpySolver(
        "ecos",
        _LP | {_LOG},
        {"primal_tolerance": "feastol", "dual_tolerance": "abstol", "iteration_limit": "max_iters"},
        coarse=True,
        tolerance=ACCEPTED,
        extra="ecos",
    ),
    "OSQP": CvxpySolver(
        "osqp",
        _LP | {_SQUARE},
        {
            "primal_tolerance": "eps_abs",
            "dual_tolerance": "eps_rel",
            "time_limit": "time_limit",
            "iteration_limit": "max_iter",
        },
        coarse=True,
        tolerance=SOLVER_TIGHTEST,
        # by the clock, its default, rho changes so often that linear programs may never end, and no
        # two runs are alike
        settings={"adaptive_rho_interval": 100, "adaptive_rho_tolerance": 10.0},
    ),
    "PIQP": CvxpySolver(
        "piqp",
        _LP | {_SQUARE},
        {"primal_tolerance": "eps_abs", "dual_tolerance": "eps_rel"},
        extra="piqp",
    ),
    "HIGHS": CvxpySolver(
        "highspy",
        _BOTH,
        {
            "primal_tolerance": "primal_feasibility_tolerance",
            "dual_tolerance": "dual_feasibility_tolerance",
            "time_limit": "time_limit",
            "threads": "threads",
            "seed": "random_seed",
            "mip_gap": "mip_rel_gap",
            "node_limit": "mip_max_nodes",
        },
        with_integers=HIGHS_WITH_INTEGERS,
    ),
    "SCIPY": CvxpySolver("scipy", _BOTH, {}),
    "GLPK": CvxpySolver("cvxopt", _LP, {}, extra="cvxopt"),
    "GLPK_MI": CvxpySolver("cvxopt", _MILP, {}, extra="cvxopt"),
    "CBC": CvxpySolver("cylp", _MILP, {}),
    "GUROBI": CvxpySolver(
        "gurobipy",
        _BOTH | {_SQUARE},
        {
            "primal_tolerance": "FeasibilityTol",
            "dual_tolerance": "OptimalityTol",
            "time_limit": "TimeLimit",
            "threads": "Threads",
            "seed": "Seed",
            "mip_gap": "MIPGap",
            "node_limit": "NodeLimit",
        },
        with_integers={"MIPGap": 0.0, "MIPGapAbs": 0.0, "IntFeasTol": FEASIBILITY},
    ),
    "MOSEK": CvxpySolver("mosek", _BOTH | {_LOG, _POWER, _SQUARE}, {}),
    "COPT": CvxpySolver(
        "coptpy", _BOTH | {_LOG, _SQUARE}, {"time_limit": "TimeLimit", "threads": "Threads"}
    ),
    "XPRESS": CvxpySolver(
        "xpress", _BOTH | {_SQUARE}, {"time_limit": "maxtime", "threads": "threads"}
    ),
    "CPLEX": CvxpySolver("cplex", _BOTH | {_SQUARE}, {}),
}


class Cvxpy(BaseBackend):
    """One of CVXPY's solvers."""

    package = "cvxpy"
    install = "pip install cvxpy"
    #: Names that may stand behind the colon.
    members = tuple(KNOWN)

    def __init__(self, name: str) -> None:
        self.name, self.solver = name, name.partition(":")[2].upper()
        self.aborts_at_exit = self.solver == "HIGHS"
        if self.solver in ("GLOP", "PDLP"):
            raise UnknownNameError(
                f"{name} cannot run beside highspy in one process; use "
                f"solver='ortools:{self.solver}' instead"
            )
        self.conic_solver = KNOWN.get(self.solver) or self._ask()
        self.capabilities = self.conic_solver.capabilities
        self.honours = frozenset({*self.conic_solver.options, "verbose", "extra"})
        if self.solver in _FIRST_ORDER:
            self.accuracy = CONFORMANCE
        self.integrality_tolerance = whole_within(self.conic_solver.with_integers)
        if installed("cvxpy") and not installed(
            self.conic_solver.package
        ):  # what is still to be installed
            package = (
                f'"fairlp[{self.conic_solver.extra}]"'
                if self.conic_solver.extra
                else self.conic_solver.package
            )
            self.install = f"pip install {package}"

    def available(self) -> tuple[bool, str]:
        """Return whether CVXPY and the solver's package are installed, without importing them."""
        if not installed("cvxpy"):
            return False, f"cvxpy is not installed; {self.install}"
        if not installed(self.conic_solver.package):
            return False, f"{self.conic_solver.package} is not installed; {self.install}"
        return True, ""

    def version(self) -> str:
        """Return the version of the solver's package, and CVXPY's."""
        solver_version = importlib.metadata.version(self.conic_solver.package)
        return f"{solver_version} (cvxpy {importlib.metadata.version('cvxpy')})"

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise through CVXPY; "optimal but inaccurate" is not called optimal."""
        curved_tolerance = self.conic_solver.curved_tolerance
        is_curved = program.logs is not None and options.dual_tolerance is None
        if curved_tolerance is not None and is_curved and options.iteration_limit is None:
            raw = self._run_at(program, options, curved_tolerance)
            if raw.termination is not Termination.UNKNOWN:
                return raw
            if options.time_limit is not None:
                seconds_left = options.time_limit - raw.seconds
                if seconds_left <= 0:
                    return raw
                options = replace(options, time_limit=seconds_left)
        return self._run_at(program, options, self.conic_solver.tolerance)

    def _run_at(self, program: Program, options: Options, tolerance: float) -> Raw:
        """Minimise at a tolerance, where the options give none."""
        import cvxpy as cp

        built = build(program)
        names = self.conic_solver.options
        tolerances = options.tolerances(tolerance, tolerance)
        by_option = dict(zip(("primal_tolerance", "dual_tolerance"), tolerances, strict=True))
        settings = {
            names[option]: value for option, value in by_option.items() if option in names
        } | dict(self.conic_solver.settings)
        settings |= given_options(options, **names)
        if self.solver == "CLARABEL":
            settings["tol_gap_rel"] = settings["tol_gap_abs"]
        if self.solver == "ECOS":
            settings["reltol"] = settings["abstol"]
        if self.conic_solver.coarse:
            settings.setdefault(names["iteration_limit"], _MANY)
        if program.is_mip:  # their default calls an answer optimal that is 1e-4 away
            settings = {**self.conic_solver.with_integers, **settings}
        settings.update(options.extra)
        start_time = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "may be inaccurate" comes back as a status
                built.problem.solve(solver=self.solver, verbose=options.verbose, **settings)
        except cp.error.SolverError as error:
            message = str(error).lower()
            termination = (
                Termination.TIME_LIMIT
                if "time" in message and "limit" in message
                else Termination.UNKNOWN
            )
            return Raw(termination, first_line(error), seconds=perf_counter() - start_time)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if options.extra:
                raise UnsupportedError(
                    f"{self.name} refused extra={dict(options.extra)!r}: {error}"
                ) from error
            raise SolverError(f"{self.name} failed: {error}") from error
        limit = Termination.NODE_LIMIT if program.is_mip else Termination.ITERATION_LIMIT
        limit = limit if options.time_limit is None else Termination.TIME_LIMIT
        return self._raw(built, perf_counter() - start_time, limit, options)

    def _raw(self, built: Any, seconds: float, limit: Termination, options: Options) -> Raw:
        status = str(built.problem.status)
        stats = built.problem.solver_stats
        steps = getattr(stats, "num_iters", None) or 0
        # CVXPY calls a point inaccurate after a limit, and where the solver gains no more digits
        limited = (options.time_limit is not None and seconds >= options.time_limit) or (
            options.iteration_limit is not None and steps >= options.iteration_limit
        )
        at_limit = {
            "user_limit": limit,
            "optimal_inaccurate": limit if limited else Termination.UNKNOWN,
        }
        termination = (_TERMINATION | at_limit).get(status, Termination.UNKNOWN)
        solve_time = getattr(stats, "solve_time", None)
        raw = Raw(
            termination,
            status,
            seconds=float(solve_time) if solve_time else seconds,
            method=self.solver,
        )
        if steps:
            raw.iterations = {self.solver.lower(): int(steps)}
        if status in ("optimal", "optimal_inaccurate", "user_limit"):
            raw.x = built.point()
        if (
            raw.termination is Termination.OPTIMAL
            and Capability.DUALS in self.capabilities
            and raw.x is not None
        ):
            raw.row_duals = built.minimisation_duals()
        if raw.x is not None:
            raw.bound = _bound(stats.extra_stats)
        return raw

    def _ask(self) -> CvxpySolver:
        """Return what can be said of a solver that only CVXPY knows."""
        import cvxpy as cp

        if self.solver not in cp.installed_solvers():
            names = sorted({*KNOWN, *cp.installed_solvers()})
            raise UnknownNameError(
                f"CVXPY has no solver {self.solver!r}; {nearest(self.solver, names)}"
            )
        return CvxpySolver("cvxpy", _LP, {})


def _bound(statistics: Any) -> float | None:
    """Return the bound of branch and bound, which CVXPY has from HiGHS, SciPy and Gurobi.

    The result is None for other solvers.
    """
    if isinstance(statistics, Mapping):
        return statistics.get("mip_dual_bound")
    return getattr(statistics, "mip_dual_bound", getattr(statistics, "ObjBound", None))


#: Their own defaults stop too early for the tolerance asked.
_MANY = 1_000_000
