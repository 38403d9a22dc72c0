"""HiGHS through ``highspy``: arrays in, arrays out, every return status checked."""

from __future__ import annotations

import functools
import importlib.metadata
import sys
import threading
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SolverError, UnsupportedError, require_known
from ...models.programs import backends
from ...models.programs.certificate import dual_bound, verify
from ...models.programs.options import Options, Progress
from ...models.programs.program import Program
from ...models.programs.protocols import Capability
from ...models.programs.rays import proves_infeasible
from ...models.programs.sizes import reach_of
from ...models.programs.solution import Solution, solution_at, start_of
from ...models.programs.status import LIMITS, Point, Status, Termination
from ...tolerances import CONFORMANCE, MILP_TOLERANCES, SOLVER_TIGHTEST, VERIFIED
from .base import (
    HIGHS_WITH_INTEGERS,
    ProgramChange,
    ProgramSession,
    alone,
    bound_of,
    entries_for_solver,
    given_options,
    installed,
    interruptible,
    pooled,
    refuse_iterations,
    require_capabilities,
    sign,
    values_of,
)
from .highs_names import with_late_names
from .large_coefficients import with_small_coefficients
from .scaling import Scaling, equilibrate, unscaled

if TYPE_CHECKING:
    from ...models.notation.model import Model

# A Model as a ``highspy.Highs`` object to go on with, and its answer back.


def lower(model: Model, names: bool = True) -> Any:
    """Return a ``highspy.Highs`` with the model, unscaled, in the user's sense (and names)."""
    program = model.compile()
    if program.logs is not None:
        raise UnsupportedError(
            f"HiGHS has no logarithms and no powers; {program.name!r} has some in its objective"
        )
    highs = configured(Options(), "choose")
    ones = unscaled(program)[0]
    pass_model(highs, program, ones, program.A.data, 1.0, maximize=program.sense == "max")
    if names:
        with_late_names(highs, program, checked)
    return highs


def read_back(model: Model, highs: Any) -> Solution:
    """Return the Solution of a ``highspy.Highs`` from :func:`lower`, even after adding rows."""
    import highspy

    program = model.compile()
    if highs.getNumCol() < program.n_columns or highs.getNumRow() < program.n_rows:
        raise UnsupportedError(f"this Highs object has fewer rows or columns than {program.name!r}")
    raw = highs.getModelStatus()
    solution = highs.getSolution()
    x = np.array(solution.col_value)[: program.n_columns] if solution.value_valid else None
    duals = reduced = None
    if solution.dual_valid and not program.is_mip:
        duals = np.array(solution.row_dual)[: program.n_rows]
        reduced = np.array(solution.col_dual)[: program.n_columns]
    termination = terminations(highspy).get(raw, Termination.UNKNOWN)
    if termination not in (Termination.OPTIMAL, *LIMITS):
        x = duals = reduced = None
    message = highs.modelStatusToString(raw)
    # what the object holds may have been changed: an optimum of it need not be one of the model
    return backends.checked(
        solution_at(program, termination, message, "highs", x, duals, reduced), Options()
    )


# Bases of HiGHS: statuses of columns and rows, and masks of those that are basic.


def at_point(program: Program, x: np.ndarray) -> Solution:
    """Return the primal simplex's answer from the bounds and rows active at an optimal point.

    From an optimal vertex it takes no step; from another point it goes to a vertex.
    """
    options = Options(method="simplex", extra={"simplex_strategy": _PRIMAL, "presolve": "off"})
    session = HighsSession(Highs(), program, options, series=False)
    columns = _statuses(
        x, np.maximum(abs(x), reach_of(program)), program.col_lower, program.col_upper
    )
    activity = program.A @ x
    size = abs(program.A) @ np.maximum(abs(x), reach_of(program))
    session.start_at((columns, _statuses(activity, size, program.row_lower, program.row_upper)))
    return session.solve()


def _statuses(
    values: np.ndarray, size: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return HiGHS's status numbers: at the lower bound, at the upper one, or basic."""
    import highspy

    status = highspy.HighsBasisStatus
    tolerance = VERIFIED * size
    at_lower = values - lower <= tolerance
    at_upper = upper - values <= tolerance
    return np.where(
        at_lower, int(status.kLower), np.where(at_upper, int(status.kUpper), int(status.kBasic))
    )


def _set_basis(highs: Any, columns: list[Any], rows: list[Any]) -> None:
    """Let HiGHS begin with columns and rows of these statuses; it mends what is no basis."""
    import highspy

    basis = highspy.HighsBasis()
    basis.col_status = columns
    basis.row_status = rows
    basis.valid = True
    basis.alien = True
    checked(highs.setBasis(basis), "setBasis")


def carried(old: Program, basis: Any, new: Program) -> tuple[np.ndarray, np.ndarray]:
    """Return another program's basis for this one, as HiGHS's numbers of columns and rows.

    Columns and rows are matched by block and label.

    What is new is at a bound if it is a column, and basic if it is a row.
    """
    import highspy

    status = highspy.HighsBasisStatus
    sides = (
        (old.columns, basis.col_status, new.columns, status.kLower),
        (old.rows, basis.row_status, new.rows, status.kBasic),
    )
    carried_statuses = []
    for old_side, statuses, new_side, otherwise in sides:
        old_blocks = {block.name: block for block in old_side}
        numbers = np.array([int(status_of_entry) for status_of_entry in statuses])
        carried_statuses.append(np.full(new_side[-1].stop if new_side else 0, int(otherwise)))
        for block in new_side:
            if block.name in old_blocks:
                carried_statuses[-1][block.slice] = block.taken(
                    old_blocks[block.name], numbers, int(otherwise)
                )
    return carried_statuses[0], carried_statuses[1]


def masks(basis: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which columns and rows are basic, None where there is no basis."""
    import highspy

    if not basis.valid:
        return None
    basic = int(highspy.HighsBasisStatus.kBasic)
    columns, rows = (
        np.array([status.value for status in statuses]) == basic
        for statuses in (basis.col_status, basis.row_status)
    )
    return columns, rows


#: our option → HiGHS's
_OPTIONS = {
    "time_limit": "time_limit",
    "seed": "random_seed",
    "threads": "threads",
    "mip_gap": "mip_rel_gap",
    "node_limit": "mip_max_nodes",
}
#: Iterations of each of its methods.
_ITERATIONS = ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit")
#: our method → HiGHS's option ``solver``
METHODS = {"choose": "choose", "simplex": "simplex", "ipm": "ipx", "hipo": "hipo", "pdlp": "pdlp"}
#: ``auto``, by nonzeros (benchmarks/solvers.py): from here on interior point with crossover beats
#: simplex in a single solve; in a series of solves, where simplex starts from the last basis, only
#: from the second number on; and HiPO, where its package is installed and the coefficients are of
#: much the same size, from the third.
INTERIOR_POINT_FROM = 8_000
INTERIOR_POINT_IN_SERIES_FROM = 60_000
HIPO_FROM = 500_000
_NARROW = 100.0
#: What its calls return, as numbers: to compare texts of them takes longer.
_OK = 0
_ERROR = -1
#: Seconds, and times the longest solve so far, that another attempt may take.
_PATIENCE = 2.0
_TIMES = 5.0
#: Steps after which none will help (HiGHS has no limits of its own). An interior point may stand
#: still for ever where coefficients lie orders of magnitude apart, and PDLP (1.16) goes round.
#: Programs of any size take some 20 to 100 steps of the one, and up to some 100,000 of the other.
_MOST_STEPS = {"ipm_iteration_limit": 1_000, "pdlp_iteration_limit": 1_000_000}
#: Linear programs of so few nonzeros have ended before anybody could interrupt them.
QUICK_ENTRIES = 1_000
#: HiGHS's simplex_strategy: the dual simplex method, and the primal one.
_DUAL = 1
_PRIMAL = 4
#: Both bring a library of the same name, so that the second of them cannot be loaded.
_BESIDE_ORTOOLS = (
    "highspy cannot be loaded in a process that has imported ortools; use solver='scipy', which "
    "has its own HiGHS, "
    "or leave OR-tools to fairlp (solver='ortools:GLOP' runs it in another process)"
)
#: What HiGHS says where it has found no point.
_NOTHING = (Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED)

#: The number of threads that HiGHS has in each of ours.
_scheduler = threading.local()


#: What every method can do, and what simplex can do beside.
_LP = frozenset({Capability.LP, Capability.DUALS})
_SIMPLEX = frozenset({Capability.BASIS, Capability.WARM_START, Capability.RAY})


class Highs:
    """The HiGHS solver; ``method`` presets the algorithm (``auto``: by size)."""

    capabilities = _LP | _SIMPLEX | {Capability.MILP}
    install = "pip install highspy"
    tightest = SOLVER_TIGHTEST
    integrality_tolerance = MILP_TOLERANCES[-1]

    def __init__(self, name: str = "highs", method: str = "auto") -> None:
        self.name = name
        self.method = method
        self.accuracy = CONFORMANCE if method == "pdlp" else VERIFIED
        if method != "auto":
            self.capabilities = _LP | _SIMPLEX if method == "simplex" else _LP

    def available(self) -> tuple[bool, str]:
        """Return whether highspy is installed (and its HiPO extension, for ``hipo``)."""
        if not installed("highspy"):
            return False, f"highspy is not installed; {self.install}"
        if "highspy" not in sys.modules and any(
            name.startswith("ortools.") for name in sys.modules
        ):
            return False, _BESIDE_ORTOOLS
        if self.method == "hipo" and _without_hipo():
            return False, _without_hipo()
        return True, ""

    def version(self) -> str:
        """Return the version of highspy."""
        return importlib.metadata.version("highspy")

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve one program."""
        session = HighsSession(self, program, options, series=False)
        solution = session.solve()
        by_choice = self.method == options.method == "auto"
        if solution.status.termination is Termination.UNKNOWN and by_choice and not program.is_mip:
            session.restart(other_method=True)
            second = session.solve()
            solution = solution if second.status.termination is Termination.UNKNOWN else second
        return solution

    def session(self, program: Program, options: Options) -> HighsSession:
        """Load a program for a series of solves, each from the last basis."""
        return HighsSession(self, program, options)

    def choose(self, program: Program, options: Options, series: bool = False) -> str:
        """Return the algorithm for a program: the user's choice, or one by its size.

        For a series of solves the size counts otherwise than for one.
        """
        if "auto" not in (self.method, options.method) and self.method != options.method:
            raise UnsupportedError(
                f"{self.name} is HiGHS with method {self.method!r}, and method={options.method!r} "
                "was asked; "
                f"use solver='highs' with method={options.method!r}"
            )
        method = options.method if options.method != "auto" else self.method
        if method != "auto":
            require_known(
                method, METHODS, f"{self.name} has no method {method!r}", UnsupportedError
            )
            if method == "hipo" and _without_hipo():
                raise UnsupportedError(_without_hipo())
            return method
        if program.is_mip:
            return "choose"
        if options.start is not None:
            return "simplex"
        if program.A.nnz >= HIPO_FROM and _narrow(program) and not _without_hipo():
            return "hipo"
        first = INTERIOR_POINT_IN_SERIES_FROM if series else INTERIOR_POINT_FROM
        return "ipm" if program.A.nnz >= first else "simplex"


def _narrow(program: Program) -> bool:
    """Return whether all coefficients are of much the same size.

    Then HiPO is quicker than IPX, else slower.
    """
    sizes = abs(program.A.data)
    return bool(sizes.max() <= _NARROW * sizes[sizes > 0].min())


class HighsSession(ProgramSession):
    """A program loaded into HiGHS, in scaled numbers; changes and answers are in the user's."""

    backend: Highs
    _raised: BaseException | None = None
    _changed = False

    def __init__(
        self, backend: Highs, program: Program, options: Options, series: bool = True
    ) -> None:
        require_capabilities(program, backend)
        if program.is_mip:
            refuse_iterations(backend.name, options)
        start_time = perf_counter()
        super().__init__(backend, program, options)
        self.method = backend.choose(program, options, series)
        self._sign = sign(program)
        self._longest = 0.0
        self._open()
        self._repriced = False
        self._point = None
        self.restart()
        if options.start is not None:
            self._begin(options.start)
        self._passed = perf_counter() - start_time

    def _open(self) -> None:
        """Make a Highs object without a program."""
        options = self.options
        self._highs = configured(options, METHODS[self.method])
        self._stopped = threading.Event()
        for name, limit in _MOST_STEPS.items():
            if name not in options.extra and options.iteration_limit is None:
                _set(self._highs, name, limit)
        if options.progress is not None:
            self._report(options.progress)
        elif self.method != "simplex":
            self._listen()

    def _listen(self) -> None:
        """Let interior points ask whether to stop.

        They would not notice a new time limit.
        """
        import highspy

        stopped = self._stopped

        def ask(which: int, message: str, out: Any, into: Any, data: Any) -> None:
            into.user_interrupt = stopped.is_set()

        checked(self._highs.setCallback(ask, None), "setCallback")
        checked(
            self._highs.startCallback(highspy.cb.HighsCallbackType.kCallbackIpmInterrupt),
            "startCallback",
        )

    def _stop(self) -> None:
        """Tell HiGHS to stop, from another thread."""
        self._stopped.set()
        self._highs.setOptionValue("time_limit", 0.0)

    def _begin(self, start: Any) -> None:
        """Begin from a point (with integers), or from the basis of a Solution."""
        program = self.program
        basis = getattr(start, "basis", None)
        if program.is_mip:
            point = start_of(program, start)
            positions = np.flatnonzero(np.isfinite(point)).astype(np.int32)
            values = self.scaling.column_bounds(point)[positions]
            checked(self._highs.setSolution(len(positions), positions, values), "setSolution")
        elif basis is None:
            raise UnsupportedError(
                f"{program.name!r} has no integers: it starts from a Solution with a basis, and "
                f"{type(start).__name__} has none"
            )
        else:
            self.start_at(carried(start.program, basis, program))

    def _report(self, progress: Any) -> None:
        """Report a solve's progress to a function; its exception, or True, ends the solve.

        The exception is kept.
        """
        import highspy

        kind = highspy.cb.HighsCallbackType
        logs = (kind.kCallbackMipLogging, kind.kCallbackMipImprovingSolution)
        breaks = (
            kind.kCallbackMipInterrupt,
            kind.kCallbackSimplexInterrupt,
            kind.kCallbackIpmInterrupt,
        )
        reported_events = {int(event) for event in (*logs, *breaks[1:])}
        ended = False
        stopped = self._stopped

        def report(which: int, message: str, out: Any, into: Any, data: Any) -> None:
            nonlocal ended
            try:
                if int(which) in reported_events and not ended:
                    values = (
                        (out.mip_primal_bound, out.mip_dual_bound)
                        if self.program.is_mip
                        else (None, None)
                    )
                    bounds = [bound_of(self.program, value, self.scaling) for value in values]
                    best, bound = (np.nan if value is None else value for value in bounds)
                    steps = max(out.simplex_iteration_count, out.ipm_iteration_count, 0)
                    ended = (
                        progress(
                            Progress(
                                out.running_time, best, bound, max(out.mip_node_count, 0), steps
                            )
                        )
                        is True
                    )
            except BaseException as error:
                self._raised = error
                ended = True
            if (ended or stopped.is_set()) and into is not None:
                into.user_interrupt = True

        checked(self._highs.setCallback(report, None), "setCallback")
        for event in (*logs, *breaks):
            checked(self._highs.startCallback(event), "startCallback")

    @alone
    def apply(self, change: ProgramChange) -> None:
        """Change the program, and what is loaded of it."""
        super().apply(change)
        if (
            self.program.is_mip
        ):  # what is loaded depends on all bounds, and there is no basis to keep
            self._changed = True
            return
        highs = self._highs
        scaling = self.scaling
        self._repriced |= change.coefficients is not None or change.costs is not None
        if change.coefficients is not None:
            rows, column, values = change.coefficients
            scaled = values * scaling.rows[rows] * scaling.columns[column]
            for row, value in zip(rows.tolist(), scaled.tolist(), strict=True):
                checked(highs.changeCoeff(row, column, value), "changeCoeff")
        if change.columns is not None:
            positions = change.columns[0]
            low, high = (
                scaling.column_bounds(ends[positions], positions)
                for ends in self.program.whole_bounds()
            )
            checked(
                highs.changeColsBounds(len(positions), positions.astype(np.int32), low, high),
                "changeColsBounds",
            )
        if change.rows is not None:
            positions, *bounds = change.rows
            low, high = (scaling.row_bounds(bound, positions) for bound in bounds)
            checked(
                highs.changeRowsBounds(len(positions), positions.astype(np.int32), low, high),
                "changeRowsBounds",
            )
        if change.costs is not None:
            columns = np.arange(len(change.costs), dtype=np.int32)
            costs = scaling.costs(self._sign * change.costs)
            checked(highs.changeColsCost(len(columns), columns, costs), "changeColsCost")

    @alone
    def restart(self, other_method: bool = False) -> None:
        """Load the program anew, with new scales and no basis, by another method if asked."""
        method = ("ipm" if self.method == "simplex" else "simplex") if other_method else self.method
        checked(self._highs.clearModel(), "clearModel")
        _set(self._highs, "solver", METHODS[method])
        self._loaded = method
        if self.options.time_limit is None and (other_method or self._longest):
            # an answer to a program that a method failed on may never come: HiGHS counts from the
            # first solve
            _set(
                self._highs,
                "time_limit",
                self._highs.getRunTime() + _PATIENCE + _TIMES * self._longest,
            )
        self._load()

    def _load(self) -> None:
        """Give HiGHS the program as it is now, with scales of its own."""
        program = self.program
        if program.is_mip:
            program = with_small_coefficients(program)
        self.scaling, data = equilibrate(program) if self.options.scale else unscaled(program)
        pass_model(self._highs, program, self.scaling, data, self._sign)
        self._solved = self._changed = False

    @alone
    def start_from(self, columns: np.ndarray, rows: np.ndarray) -> None:
        """Start the next solve with these columns and rows (bool) basic.

        HiGHS mends them where they are no basis.
        """
        import highspy

        status = highspy.HighsBasisStatus
        basic = int(status.kBasic)
        self.start_at(
            (
                np.where(columns, basic, int(status.kLower)),
                np.where(rows, basic, int(status.kNonbasic)),
            )
        )

    @alone
    def start_at(self, statuses: tuple[np.ndarray, np.ndarray]) -> None:
        """Start the next solve with these statuses of columns and rows.

        HiGHS mends them where they are no basis.
        """
        import highspy

        _set_basis(
            self._highs,
            *(
                [highspy.HighsBasisStatus(status) for status in numbers.tolist()]
                for numbers in statuses
            ),
        )

    @alone
    def cross_over(self, point: np.ndarray) -> None:
        """Go to a vertex near a point inside, which :meth:`basic` then tells.

        Duals are not given: HiGHS refuses those whose products with slacks are not 0 to the last
        digit.
        """
        import highspy

        solution = highspy.HighsSolution()
        solution.col_value = point
        solution.row_value = self.program.A @ point
        solution.value_valid = True

        _with_threads(self._highs)  # it crashes in a thread that has run no model
        self._highs.crossover(solution)

    @alone
    def basic(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the basic columns and rows (bool) of the last solve, if there is a basis."""
        return masks(self._highs.getBasis())

    @alone
    def solve(self) -> Solution:
        """Solve what is loaded, from the last basis if there is one."""
        if self._changed:
            checked(self._highs.clearModel(), "clearModel")
            self._load()
        if self._solved and self._loaded != "simplex" and not self.program.is_mip:
            # a basis is there after crossover: simplex goes on from it, the other methods would
            # start afresh
            _set(self._highs, "solver", "simplex")
        if "simplex_strategy" not in self.options.extra:
            _set(self._highs, "simplex_strategy", _PRIMAL if self._starts_feasible() else _DUAL)
        start_time = perf_counter()
        try:
            self.run()
        except SolverError:
            if not self._solved:  # what presolve left may break the tolerance that is asked for
                _set(self._highs, "presolve", "off")
            self.restart()  # or the last basis was no help (values grew beyond bounds)
            self.run()
        solved = perf_counter()
        if self.options.time_limit is None:
            _set(self._highs, "time_limit", float("inf"))  # what a restart may have set is spent
        solution = _read(self)
        if solution["status"].is_optimal:
            self._longest = max(self._longest, solved - start_time)
        self._solved = True
        self._repriced = False
        self._point = solution["x"]
        times = {
            "pass": self._passed,
            "solve": solved - start_time,
            "read": perf_counter() - solved,
        }
        self._passed = 0.0
        return Solution(**{**solution, "times": times})

    def _starts_feasible(self) -> bool:
        """Return whether the last point is feasible although its prices are outdated.

        In a leximin it is the optimum of the round before.
        """
        start = self._point if self._solved and self._repriced else None
        if start is None:
            return False
        return self.keeps_feasible or verify(self.program, start).is_feasible

    def run(self) -> None:
        """Run HiGHS so that Ctrl-C ends it; it notices a time limit that is over."""
        highs = self._highs
        if self.program.A.nnz <= QUICK_ENTRIES and not self.program.is_mip:
            status = _with_threads(highs)
        else:
            try:
                aborts = self._loaded != "pdlp"  # which does not come back to Python while it works
                status = interruptible(lambda: _with_threads(highs), self._stop, aborts)
            except BaseException:  # interrupted: HiGHS may work on that object for a while
                self._open()
                self.restart()
                raise
        if self._raised is not None:
            error = self._raised
            self._raised = None
            raise error
        if "kError" in str(status):
            message = highs.modelStatusToString(highs.getModelStatus())
            raise SolverError(f"HiGHS failed ({message}); solve with verbose=True to see its log")


def _without_hipo() -> str:
    """Return why HiPO cannot be used here, and what to do; empty where it can."""
    if not installed("highspy_extras"):
        return 'HiPO needs highspy-extras; pip install "fairlp[hipo]"'
    highs, extras = (importlib.metadata.version(name) for name in ("highspy", "highspy_extras"))
    if highs == extras:  # with extras of 1.15.1 HiGHS 1.15.0 refuses the solver
        return ""
    return f"HiPO needs highspy and highspy-extras of one version; here are {highs} and {extras}"


def terminations(highspy: Any) -> dict[Any, Termination]:
    """Return what HiGHS's model statuses mean."""
    kind = highspy.HighsModelStatus
    return {
        kind.kOptimal: Termination.OPTIMAL,
        kind.kModelEmpty: Termination.OPTIMAL,
        kind.kInfeasible: Termination.INFEASIBLE,
        kind.kUnbounded: Termination.UNBOUNDED,
        kind.kUnboundedOrInfeasible: Termination.INFEASIBLE_OR_UNBOUNDED,
        kind.kTimeLimit: Termination.TIME_LIMIT,
        kind.kIterationLimit: Termination.ITERATION_LIMIT,
        kind.kSolutionLimit: Termination.NODE_LIMIT,
        kind.kInterrupt: Termination.INTERRUPTED,
        kind.kHighsInterrupt: Termination.INTERRUPTED,
    }


@functools.cache
def _silent_class() -> Any:
    """Return ``highspy.Highs`` without the banner that 1.16 prints in its constructor.

    The banner comes before an option can be set.
    """
    import highspy

    class Highs(highspy.Highs):  # type: ignore[misc]
        __module__ = highspy.Highs.__module__

        def enableCallbacks(self) -> None:  # which the constructor calls
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Highs


def configured(options: Options, solver: str) -> Any:
    """Return an empty ``highspy.Highs`` with options."""
    highs = _silent_class()()
    primal, dual = options.tolerances()
    settings = {
        "output_flag": options.verbose,
        "solver": solver,
        "primal_feasibility_tolerance": primal,
        "dual_feasibility_tolerance": dual,
        "ipm_optimality_tolerance": min(primal, dual),
        **HIGHS_WITH_INTEGERS,
    }
    if options.log_file is not None:
        Path(options.log_file).touch()  # HiGHS says nothing of a file that it cannot write
        settings |= {
            "log_file": str(options.log_file),
            "output_flag": True,
            "log_to_console": options.verbose,
        }
    settings |= given_options(options, **_OPTIONS)
    if options.iteration_limit is not None:
        settings |= dict.fromkeys(_ITERATIONS, options.iteration_limit)
    for name, value in {
        **settings,
        "mip_improving_solution_save": bool(options.pool),
        **options.extra,
    }.items():
        _set(highs, name, value)
    return highs


def pass_model(
    highs: Any,
    program: Program,
    scaling: Scaling,
    data: np.ndarray,
    sign: float,
    maximize: bool = False,
) -> None:
    """Give HiGHS a program in scaled numbers, times ``sign``."""
    import highspy

    A = entries_for_solver(program, data)
    low, high = (scaling.column_bounds(ends) for ends in program.whole_bounds())
    status = highs.passModel(
        program.n_columns,
        program.n_rows,
        A.nnz,
        1,  # column-wise
        -1 if maximize else 1,
        sign * program.offset * scaling.cost,
        scaling.costs(sign * program.c),
        low,
        high,
        scaling.row_bounds(program.row_lower),
        scaling.row_bounds(program.row_upper),
        A.indptr.astype(np.int32, copy=False),
        A.indices.astype(np.int32, copy=False),
        A.data,
        program.integrality.astype(np.int32),
    )
    if status != highspy.HighsStatus.kOk and not (low > high).any():  # which it finds infeasible
        raise SolverError(
            f"HiGHS refused the model {program.name!r} ({status}); solve with verbose=True to see "
            "why"
        )


def checked(status: Any, call: str) -> None:
    """Raise when HiGHS says that a call failed."""
    if int(status) == _ERROR:
        raise SolverError(f"HiGHS refused {call} ({status})")


def _set(highs: Any, name: str, value: Any) -> None:
    if int(highs.setOptionValue(name, value)) != _OK:
        raise UnsupportedError(
            f"HiGHS refused the option {name} = {value!r}; see the list of options in its manual"
        )


def _with_threads(highs: Any) -> Any:
    """Run HiGHS, after a reset of its scheduler when the number of threads changed.

    HiGHS has one scheduler a thread.
    """
    _, threads = highs.getOptionValue("threads")
    if getattr(_scheduler, "threads", 0) != threads:
        type(highs).resetGlobalScheduler(True)
        _scheduler.threads = threads
    return highs.run()


def _read(session: HighsSession) -> dict[str, Any]:
    import highspy

    highs = session._highs
    scaling = session.scaling
    sign = session._sign
    raw = highs.getModelStatus()
    info = highs.getInfo()
    solution = highs.getSolution()
    kind = highspy.HighsModelStatus
    termination = terminations(highspy).get(raw, Termination.UNKNOWN)
    optimal = termination is Termination.OPTIMAL
    empty = raw == kind.kModelEmpty
    feasible = optimal or (
        solution.value_valid and info.primal_solution_status == 2
    )  # 2: kSolutionStatusFeasible
    x = row_duals = column_duals = None
    dual = Point.NONE
    if feasible:
        # within its tolerance a solver may leave a bound; the rows then show whether that mattered
        point = np.zeros(session.program.n_columns) if empty else np.array(solution.col_value)
        x = values_of(session.program, scaling, point)
    if feasible and (solution.dual_valid or empty) and not session.program.is_mip:
        dual = (
            Point.OPTIMAL
            if optimal
            else Point.FEASIBLE
            if info.dual_solution_status == 2
            else Point.NONE
        )
    if dual is not Point.NONE:
        rows = session.program.n_rows
        columns = session.program.n_columns
        row_duals = (
            np.zeros(rows) if empty else sign * scaling.row_duals(np.array(solution.row_dual))
        )
        column_duals = (
            np.zeros(columns) if empty else sign * scaling.column_duals(np.array(solution.col_dual))
        )
    iterations = {
        "simplex": info.simplex_iteration_count,
        "ipm": info.ipm_iteration_count,
        "crossover": info.crossover_iteration_count,
        "pdlp": info.pdlp_iteration_count,
    }
    primal = Point.OPTIMAL if optimal else Point.FEASIBLE if feasible else Point.NONE
    basis = highs.getBasis()
    return {
        "program": session.program,
        "status": Status(termination, primal, dual, highs.modelStatusToString(raw)),
        "solver": session.backend.name,
        "x": x,
        "row_duals": row_duals,
        "column_duals": column_duals,
        "iterations": {name: count for name, count in iterations.items() if count > 0},
        "basis": basis if getattr(basis, "valid", False) else None,
        "method": session.method,
        "bound": _bound(session, info, solution, termination),
        "pool": _pool(session, highs) if session.options.pool else (),
        "row_ray": _ray(session, highs) if termination is Termination.INFEASIBLE else None,
    }


def _bound(
    session: HighsSession, info: Any, solution: Any, termination: Termination
) -> float | None:
    """Return the bound from branch and bound, or from the duals of a stopped linear program.

    The result is None where neither gives one.
    """
    if session.program.is_mip:
        return (
            None
            if termination in _NOTHING
            else bound_of(session.program, info.mip_dual_bound, session.scaling)
        )
    if termination not in LIMITS or not solution.dual_valid:
        return None
    duals = session._sign * session.scaling.row_duals(np.array(solution.row_dual))
    bound = dual_bound(session.program, duals)
    return bound if np.isfinite(bound) else None


def _pool(session: HighsSession, highs: Any) -> tuple[Solution, ...]:
    saved = highs.getSavedMipSolutions()
    points = [
        values_of(session.program, session.scaling, np.array(entry.col_value)) for entry in saved
    ]
    return pooled(session.program, session.backend.name, points, session.options.pool)


def _ray(session: HighsSession, highs: Any) -> np.ndarray | None:
    """Return row multipliers that prove infeasibility, if HiGHS has some that do."""
    if session.program.is_mip:
        return None
    _set(
        highs, "solver", "simplex"
    )  # a ray is of a basis: asked of an interior point, HiGHS may look for one for ever
    status, has_ray, ray = highs.getDualRay()
    _set(highs, "solver", METHODS[session._loaded])
    if "kOk" not in str(status) or not has_ray:
        return None
    multipliers: np.ndarray = np.array(ray) * session.scaling.rows
    for candidate in (multipliers, -multipliers):
        if proves_infeasible(session.program, candidate):
            return candidate
    return None
