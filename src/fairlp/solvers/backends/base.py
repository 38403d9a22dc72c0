"""The common part of back ends: one scaled minimisation, series of them, and refusals.

Answers come back in the user's numbers.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import importlib.metadata
import importlib.util
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from itertools import pairwise
from time import monotonic, perf_counter
from typing import Any, TypeVar

import numpy as np

from ...errors import FairlpError, SolverError, UnsupportedError
from ...models.programs.backends import needs, solve
from ...models.programs.certificate import Certificate, verify
from ...models.programs.options import Options
from ...models.programs.program import Program, with_data
from ...models.programs.protocols import Backend, Bounds, Capability, Entries
from ...models.programs.solution import Solution, solution_at, start_of
from ...models.programs.status import Point, Status, Termination
from ...tolerances import BLOCKED_PRICE, LARGEST_BOUND, MILP_TOLERANCES, VERIFIED
from .large_coefficients import with_small_coefficients
from .scaling import Scaling, equilibrate, unscaled

# Ctrl-C while a solver runs: the solver works in a thread of its own, so that the caller can be
# interrupted at once.

Answer = TypeVar("Answer")
#: Seconds between looks at whether a user interrupts, on systems where a wait for a lock cannot
#: be interrupted.
_LOOK = 0.2
#: Seconds that the end of the process waits for interrupted solvers that were told to stop.
_LAST_WAIT = 10.0
#: Exit status of an interrupted process.
_INTERRUPTED = 130


class _Work:
    """One call, and what came of it."""

    def __init__(self, call: Callable[[], Any], aborts_at_exit: bool = False) -> None:
        self.call, self.context = call, contextvars.copy_context()
        self.ended = threading.Event()
        self.aborts_at_exit = aborts_at_exit
        #: Of one that was interrupted: whether the solver was told, and what the process is to end
        #: with.
        self.solver_was_told = False
        self.status = _INTERRUPTED
        self.answer: Any = None
        self.error: BaseException | None = None

    def do(self) -> None:
        """Call, and keep the answer or the error."""
        try:
            self.answer = self.context.run(self.call)
        except BaseException as error:
            self.error = error
        self.ended.set()


_Waiting = queue.SimpleQueue[_Work]


def _worker() -> _Waiting:
    """Start a thread that does one thing after another, and return where they wait."""
    waiting: _Waiting = queue.SimpleQueue()

    def run() -> None:
        while True:
            waiting.get().do()

    threading.Thread(target=run, name="fairlp solver", daemon=True).start()
    return waiting


#: Where threads wait for the next thing to do: solvers have threads of their own by thread.
idle_workers: list[_Waiting] = []
#: What solvers were doing when they were interrupted.
_interrupted: list[_Work] = []
if hasattr(os, "register_at_fork"):  # the threads are not there
    os.register_at_fork(after_in_child=idle_workers.clear)
    os.register_at_fork(after_in_child=_interrupted.clear)


@atexit.register
def _leave() -> None:
    """Let interrupted solvers end before the process does.

    HiGHS comes back to Python while it works; a thread that does so when Python has ended aborts
    the process.
    """
    deadline = monotonic() + _LAST_WAIT
    works = [work for work in _interrupted if work.aborts_at_exit]
    with contextlib.suppress(KeyboardInterrupt):  # another Ctrl-C: now
        for work in works:
            if work.solver_was_told:
                work.ended.wait(max(0.0, deadline - monotonic()))
    for work in works:
        if not work.ended.is_set():
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(work.status)


def interruptible(
    call: Callable[[], Answer],
    stop: Callable[[], object] | None = None,
    aborts_at_exit: bool = False,
) -> Answer:
    """Return what a call returns, in a way that Ctrl-C ends at once.

    Parameters
    ----------
    call : callable
        Runs a solver.
    stop : callable, optional
        Tells the solver to stop; it is called from another thread than the solver's, after an
        interruption.
    aborts_at_exit : bool
        Whether the solver must not work any more when the process ends.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the solver may still work for a while in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals do not come here
    try:
        worker = idle_workers.pop()
    except IndexError:
        worker = _worker()
    work = _Work(call, aborts_at_exit)
    streams = (sys.stdout, sys.stderr)
    worker.put(work)
    try:
        while not work.ended.wait(_LOOK):
            pass
    except (
        BaseException
    ) as error:  # interrupted: the worker is not kept, its solver may go on for long
        sys.stdout, sys.stderr = streams  # a tool may have redirected them for the time of its run
        _interrupted[:] = [other for other in _interrupted if not other.ended.is_set()]
        _interrupted.append(work)
        if isinstance(error, SystemExit) and isinstance(error.code, int):
            work.status = error.code
        if stop is not None:
            with contextlib.suppress(Exception):  # what may be told to stop need not be there yet
                stop()
                work.solver_was_told = True
        raise
    idle_workers.append(worker)
    if work.error is not None:
        raise work.error
    return work.answer  # type: ignore[no-any-return]


def alone(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a method of a session that several threads may call: one after the other."""

    @wraps(method)
    def locked(self: ProgramSession, *args: Any, **keywords: Any) -> Answer:
        with self.lock:
            return method(self, *args, **keywords)

    return locked


@dataclass
class Raw:
    """A back end's answer to the scaled minimisation.

    Attributes
    ----------
    termination : Termination
        Why it stopped.
    message : str
        The solver's own words.
    x : ndarray or None
        A value a column.
    row_duals : ndarray or None
        ∂objective/∂(right-hand side) a row: what the minimum grows by. None where there are none.
    seconds : float
        Time in the solver.
    iterations : mapping
        By kind, as far as the solver tells.
    method : str
        The algorithm that was used.
    bound : float or None
        Of an integer program: what the minimum is at least.
    pool : sequence of ndarray
        Other points, the best first.
    """

    termination: Termination
    message: str = ""
    x: np.ndarray | None = None
    row_duals: np.ndarray | None = None
    seconds: float = 0.0
    iterations: Mapping[str, int] = field(default_factory=dict)
    method: str = ""
    bound: float | None = None
    pool: Sequence[np.ndarray] = ()


@dataclass(frozen=True)
class ProgramChange:
    """The changes of a loaded program since its last solve, in the user's numbers.

    A field of None leaves its part of the program as it is.

    Attributes
    ----------
    rows, columns : (positions, lower, upper) or None
        Bounds.
    costs : ndarray or None
        The whole objective.
    coefficients : (rows, column, values) or None
        Entries of one column that are in the matrix.
    """

    rows: Bounds | None = None
    columns: Bounds | None = None
    costs: np.ndarray | None = None
    coefficients: Entries | None = None

    @property
    def keeps_costs(self) -> bool:
        """Whether the objective and the bounds of columns stay."""
        return self.columns is None and self.costs is None

    def of(self, program: Program) -> Program:
        """Return the program with what is new."""
        arrays = {}
        for name, bounds in (("row", self.rows), ("col", self.columns)):
            if bounds is not None:
                positions, *limits = bounds
                for side, limit in zip(("lower", "upper"), limits, strict=True):
                    arrays[f"{name}_{side}"] = _with(
                        getattr(program, f"{name}_{side}"), positions, limit
                    )
        if self.costs is not None:
            arrays["c"] = self.costs.copy()
        if self.coefficients is not None:
            arrays["A"] = _with_entries(program, *self.coefficients)
        return program.replace(**arrays)


class ProgramSession:
    """A series of solves of one program that changes between them.

    It keeps the program up to date and solves it afresh; back ends that keep more than the program,
    such as the last basis, extend `apply` and `solve`.
    """

    #: Whether `reaches` may return a level.
    has_previews: bool = False
    #: Whether rounds may be left open at the first that does not tell who is blocked, and were.
    may_leave: bool = False
    has_left: bool = False
    #: Whether the last optimum is a point of each program, but for rounding and where a rise ends.
    keeps_feasible: bool = False

    def __init__(self, backend: Backend, program: Program, options: Options) -> None:
        self.backend = backend
        self.program = program
        self.options = options
        self.least_price = BLOCKED_PRICE
        self._by_all_means = False
        self.lock = threading.RLock()

    def change(
        self,
        *,
        rows: Bounds | None = None,
        columns: Bounds | None = None,
        costs: np.ndarray | None = None,
        coefficients: Entries | None = None,
    ) -> None:
        """Change what is given; an entry that was never in the matrix cannot be added."""
        self.apply(ProgramChange(rows, columns, costs, coefficients))

    def apply(self, change: ProgramChange) -> None:
        """Put a change into everything that the session keeps: here the program."""
        self.program = change.of(self.program)

    def restart(self, other_method: bool = False) -> None:
        """Forget what is left of earlier solves; by another method, once more by all means."""
        self._by_all_means = other_method

    def proves(self, certificate: Certificate) -> bool:
        """Whether a certificate is good enough for the way in which the last answer was found."""
        return certificate.is_optimal

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Return whether a :meth:`restart` may raise users whom this answer's prices block.

        ``gap`` is its certified one.
        """
        return False

    def reaches(self, gap: float) -> float | None:
        """Return a level that is surely reachable, within ``gap`` of the largest.

        The result is None where solving is as quick; it always is without ``has_previews``.
        """
        return None

    def solve(self) -> Solution:
        """Solve what is loaded now."""
        if self._by_all_means:
            return solve(self.program, self.backend, self.options)
        return self.backend.solve(self.program, self.options)


class BaseBackend:
    """A back end in one class: its name, its capabilities, its package, and its minimisation.

    Public as ``fairlp.Backend``. Every back end is given a minimisation in numbers of about 1, so
    that absolute tolerances mean the same for all and no solver's sign of a maximum's duals can be
    wrong. A subclass says how it solves that, in :meth:`run`; nothing is asked of its constructor.

    Attributes
    ----------
    name : str
        The name of the class where there is no other.
    capabilities : frozenset of Capability
        What it can do; by default linear programs, without duals.
    package, install : str
        What is imported, and the command that installs it; empty where nothing else is needed.
    honours : frozenset of str
        Names of :class:`fairlp.Options` that it heeds; the others are refused when they are given.
    methods : tuple of str
        What ``options.method`` may be, other than "auto".
    accuracy : float
        What its answers to linear programs are held to; more than ``VERIFIED`` for first-order
        methods, whose status then says within what it holds.
    integrality_tolerance : float
        How far from a whole number a value may be that it takes for whole.
    waits : bool
        Whether :meth:`run` waits in Python for a process of its own, so that Ctrl-C reaches it. The
        others run in a thread, and Ctrl-C calls :meth:`stop`.

    Examples
    --------
    >>> import fairlp, numpy as np
    >>> from scipy.optimize import Bounds, LinearConstraint, milp
    >>> class Mine(fairlp.Backend):
    ...     def run(self, program, options):
    ...         rows = LinearConstraint(program.A, program.row_lower, program.row_upper)
    ...         answer = milp(program.c, bounds=Bounds(program.col_lower, program.col_upper), constraints=rows)
    ...         how = {0: fairlp.Termination.OPTIMAL, 2: fairlp.Termination.INFEASIBLE}
    ...         return fairlp.Raw(how.get(answer.status, fairlp.Termination.UNKNOWN), answer.message, answer.x)
    >>> fairlp.allocate(fairlp.examples.ghodsi(), "drf", solver=Mine()).totals.round(6).to_dict()
    {'A': 3.0, 'B': 2.0}
    """

    name = ""
    capabilities: frozenset[Capability] = frozenset({Capability.LP})
    #: Import name of the package, and the command that installs it.
    package = ""
    install = ""
    #: Names of Options that it honours.
    honours: frozenset[str] = frozenset()
    methods: tuple[str, ...] = ()
    accuracy = VERIFIED
    integrality_tolerance = MILP_TOLERANCES[-1]
    waits = False
    #: Whether the solver must not work any more when the process ends, as HiGHS must not.
    aborts_at_exit = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in vars(cls) and cls.name in (
            "",
            *(base.__name__ for base in cls.__mro__[1:]),
        ):
            cls.name = cls.__name__  # its class gives no other

    def __repr__(self) -> str:
        return f"<Backend {self.name!r}>"

    def available(self) -> tuple[bool, str]:
        """Return whether the package is installed, without importing it.

        Returns
        -------
        tuple of (bool, str)
        """
        if self.package and not installed(self.package):
            return False, f"{self.package} is not installed; {self.install}"
        return True, ""

    def version(self) -> str:
        """Return the version of the package, empty where there is none.

        Returns
        -------
        str
        """
        return importlib.metadata.version(self.package) if self.package else ""

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise a scaled program (``sense`` is always ``min``): what a subclass must say.

        c·x least, where row_lower ≤ A·x ≤ row_upper and col_lower ≤ x ≤ col_upper (infinite where
        there is no bound), and x whole where ``integrality`` is 1. ``options.start`` is a vector,
        NaN where nothing is given. Whatever is raised here becomes a SolverError.

        Parameters
        ----------
        program : Program
        options : Options

        Returns
        -------
        Raw

        Raises
        ------
        UnsupportedError
            Here; a subclass says how it solves.
        """
        raise UnsupportedError(f"{self.name} does not say how it solves {program.name!r}")

    def stop(self) -> None:
        """Stop a run from another thread, after Ctrl-C, if the solver allows it."""

    def _run(self, program: Program, options: Options) -> Raw:
        if self.waits:
            return self._guarded(program, options)
        stop = None if type(self).stop is BaseBackend.stop else self.stop
        return interruptible(lambda: self._guarded(program, options), stop, self.aborts_at_exit)

    def _guarded(self, program: Program, options: Options) -> Raw:
        """Run the solver: the border to the code of others, whose failures end here.

        In a thread of its own: what a handler of signals raises meanwhile is no failure of the
        solver.
        """
        failures = (Exception,) if self.waits else (Exception, SystemExit)
        try:
            return _of_right_form(self.run(program, options), program, self.name)
        except FairlpError:
            raise
        except failures as error:
            raise SolverError(
                f"{self.name} failed on {program.name!r}: {type(error).__name__}: {error}"
            ) from error

    def session(self, program: Program, options: Options) -> ProgramSession:
        """Load a program for a series of solves.

        Each starts from scratch, unless the back end can do better.

        Parameters
        ----------
        program : Program
        options : Options

        Returns
        -------
        ProgramSession
        """
        return ProgramSession(self, program, options)

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve one program and return the answer in the user's numbers and sense.

        Parameters
        ----------
        program : Program
        options : Options

        Returns
        -------
        Solution

        Raises
        ------
        UnsupportedError
        SolverError
            When the solver itself fails.
        """
        self.refuse_unsupported(program, options)
        start_time = perf_counter()
        loaded = with_small_coefficients(program)
        scaling, data = equilibrate(loaded) if options.scale else unscaled(loaded)
        scaled = minimisation(loaded, scaling, data)
        if options.start is not None:
            start: Any = scaling.column_bounds(start_of(program, options.start))
            options = replace(options, start=start)
        raw = _trivial(scaled) or self._run(scaled, options)
        x = raw.x
        duals = raw.row_duals
        if x is not None and not np.isfinite(x).all():
            x = None
        if x is None or program.is_mip or (duals is not None and not np.isfinite(duals).all()):
            duals = None
        reduced = None
        if x is not None:
            # within its tolerance a solver may leave a bound; the rows then show whether that
            # mattered
            x = values_of(program, scaling, x)
            stopped = raw.termination is not Termination.OPTIMAL
            if (
                stopped
                and not replace(verify(program, x, None), tolerance=self.accuracy).is_feasible
            ):
                x = None  # where an interrupted method stood is no answer
        if x is not None and duals is not None:
            duals = sign(program) * scaling.row_duals(duals)
            reduced = reduced_costs(program, x, duals)
        times = {"pass": perf_counter() - start_time - raw.seconds, "solve": raw.seconds}
        return solution_at(
            program,
            raw.termination,
            raw.message,
            self.name,
            x,
            duals,
            reduced,
            times=times,
            iterations=dict(raw.iterations),
            method=raw.method,
            bound=bound_of(program, raw.bound, scaling, program.offset),
            pool=pooled(
                program,
                self.name,
                [values_of(program, scaling, point) for point in raw.pool],
                options.pool,
            ),
        )

    def refuse_unsupported(self, program: Program, options: Options) -> None:
        """Refuse a program or an option that is beyond the back end.

        Parameters
        ----------
        program : Program
        options : Options

        Raises
        ------
        UnsupportedError
            What is needed and what it can do are named.
        """
        require_capabilities(program, self)
        default = Options()
        for option in fields(Options):
            if option.name not in (*self.honours, "scale") and getattr(
                options, option.name
            ) != getattr(default, option.name):
                options_honoured = ", ".join(sorted(self.honours)) or "none"
                raise UnsupportedError(
                    f"{self.name} cannot honour the option {option.name!r}; it honours: {options_honoured}"
                )
        if options.method != "auto" and options.method not in self.methods:
            methods = ", ".join(("auto", *self.methods))
            raise UnsupportedError(
                f"{self.name} has no method {options.method!r}; it has: {methods}"
            )


def require_capabilities(program: Program, backend: Backend) -> None:
    """Raise UnsupportedError for a program that is beyond a back end."""
    needed = [*sorted(needs(program)), *([Capability.MILP] if program.is_mip else [])]
    for capability in needed:
        if capability not in backend.capabilities:
            capabilities = ", ".join(sorted(c.value for c in backend.capabilities))
            raise UnsupportedError(
                f"{program.name!r} needs {capability.value}, and {backend.name} can do: {capabilities}"
            )


def values_of(program: Program, scaling: Scaling, x: np.ndarray) -> np.ndarray:
    """Return a solver's point in the user's numbers, within bounds, and whole for integers."""
    values: np.ndarray = np.clip(scaling.values(x), program.col_lower, program.col_upper)
    whole = program.integrality > 0
    values[whole] = np.round(values[whole])
    return values


def bound_of(
    program: Program, bound: float | None, scaling: Scaling, offset: float = 0.0
) -> float | None:
    """Return a solver's bound on the minimum in the user's numbers and sense; None without one."""
    if bound is None or not abs(bound) < LARGEST_BOUND:
        return None
    return sign(program) * bound / scaling.cost + offset


def pooled(
    program: Program, solver: str, points: Sequence[np.ndarray], limit: int | None
) -> tuple[Solution, ...]:
    """Return the points that are feasible, each once, the best first, and so many at most."""
    status = Status(Termination.UNKNOWN, Point.FEASIBLE, Point.NONE, "of the pool")
    distinct = {point.tobytes(): point for point in points if verify(program, point).is_feasible}
    solutions = [Solution(program, status, solver, point) for point in distinct.values()]
    return tuple(sorted(solutions, key=lambda solution: sign(program) * solution.objective)[:limit])


def _trivial(program: Program) -> Raw | None:
    """Return the answer to a program with no columns or an impossible integer; None otherwise.

    An integer is impossible where no whole number lies between its bounds.
    """
    if (program.col_lower > program.col_upper).any():
        return Raw(Termination.INFEASIBLE, "not asked")
    if program.n_columns:
        return None
    if (program.row_lower > 0).any() or (program.row_upper < 0).any():
        return Raw(Termination.INFEASIBLE, "no columns, and a row that 0 does not satisfy")
    return Raw(Termination.OPTIMAL, "no columns", np.zeros(0), np.zeros(program.n_rows))


def _of_right_form(raw: Any, program: Program, name: str) -> Raw:
    """Return what a back end answered; raise where it is of another form."""
    raw.termination = Termination(raw.termination)
    raw.pool = [np.asarray(point, dtype=float) for point in raw.pool]
    columns = program.n_columns
    for field_name, size in (("x", columns), ("row_duals", program.n_rows)):
        values = getattr(raw, field_name)
        if values is not None:
            setattr(raw, field_name, np.asarray(values, dtype=float))
            _require_size(getattr(raw, field_name), size, f"{name} gave {field_name}")
    for point in raw.pool:
        _require_size(point, columns, f"{name} gave a point of the pool")
    return raw  # type: ignore[no-any-return]


def _require_size(values: np.ndarray, size: int, subject: str) -> None:
    if values.shape != (size,):
        raise SolverError(f"{subject} of shape {values.shape}; expected ({size},)")


def minimisation(program: Program, scaling: Scaling, data: np.ndarray) -> Program:
    """Return the program as the solver is to see it: scaled, and to be minimised."""
    logs = program.logs
    factor = sign(program)
    low, high = (scaling.column_bounds(ends) for ends in program.whole_bounds())
    if logs is not None:
        inner = logs.A.copy()
        inner.data = inner.data * (scaling.columns / scaling.rhs)[inner.indices]
        logs = replace(logs, weights=factor * scaling.cost * logs.weights, A=inner)
    return program.replace(
        sense="min",
        c=scaling.costs(factor * program.c),
        offset=0.0,
        A=entries_for_solver(program, data),
        row_lower=scaling.row_bounds(program.row_lower),
        row_upper=scaling.row_bounds(program.row_upper),
        col_lower=low,
        col_upper=high,
        logs=logs,
    )


def entries_for_solver(program: Program, data: np.ndarray) -> Any:
    """Return the matrix with scaled entries, of which those that are 0 are left out."""
    A = program.A
    matrix = type(A)((data.copy(), A.indices, A.indptr), shape=A.shape)
    if data.all():
        return matrix
    matrix = matrix.copy()  # the positions of the entries stay the program's
    matrix.eliminate_zeros()
    return matrix


def reduced_costs(program: Program, x: np.ndarray, row_duals: np.ndarray) -> np.ndarray:
    """Return gradient − Aᵀ·duals: ∂objective/∂(bound) where a bound is active."""
    return np.asarray(program.gradient(x) - program.A.T @ row_duals)


def sign(program: Program) -> float:
    """Return 1 for a minimisation, −1 for a maximisation."""
    return 1.0 if program.sense == "min" else -1.0


def installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    return importlib.util.find_spec(package) is not None


#: What HiGHS is asked for with integers, by whatever tool: "optimal" to 1e-4, its default, is not
#: optimal. Its tolerance of whole numbers stays its own: below 1e-6 HiGHS calls wrong points optimal
#: (highspy 1.15 and 1.16).
HIGHS_WITH_INTEGERS = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.0}


def whole_within(settings: Mapping[str, float]) -> float:
    """Return how far from a whole number a solver with these settings takes a value for whole."""
    return settings.get("IntFeasTol", MILP_TOLERANCES[-1])  # Gurobi's; others keep their own


def refuse_iterations(name: str, options: Options) -> None:
    """Raise UnsupportedError for a limit of iterations on a program with integers.

    It would limit each linear program instead of the whole solve.
    """
    if options.iteration_limit is not None:
        raise UnsupportedError(
            f"{name}: iteration_limit is for linear programs; with integers give node_limit"
        )


def each_row(program: Program) -> Iterator[tuple[list[int], list[float], float, float]]:
    """Yield the columns and coefficients of each row, and its sides."""
    matrix = program.A.tocsr()
    sides = zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for (start, stop), (low, high) in zip(pairwise(matrix.indptr.tolist()), sides, strict=True):
        yield matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist(), low, high


def given_options(options: Options, **names: str) -> dict[str, Any]:
    """Return the options that were given (not None), under a solver's own names."""
    return {
        solver_name: getattr(options, option)
        for option, solver_name in names.items()
        if getattr(options, option) is not None
    }


def _with(values: np.ndarray, positions: np.ndarray, entries: np.ndarray) -> np.ndarray:
    copy = values.copy()
    copy[positions] = entries
    return copy


def dense_column(program: Program, column: int) -> np.ndarray:
    """Return one column of a program's matrix, dense; shape (rows,)."""
    A = program.A
    stored = slice(int(A.indptr[column]), int(A.indptr[column + 1]))
    entries = np.zeros(program.n_rows)
    entries[A.indices[stored]] = A.data[stored]
    return entries


def _with_entries(program: Program, rows: np.ndarray, column: int, values: np.ndarray) -> Any:
    """Return the matrix with other entries in one column, which must be in it."""
    A = program.A
    start = int(A.indptr[column])
    stop = int(A.indptr[column + 1])
    positions = start + np.searchsorted(A.indices[start:stop], rows)
    if len(rows) and (
        start == stop or (positions >= stop).any() or (A.indices[positions] != rows).any()
    ):
        raise SolverError(f"{program.name!r}: an entry to change is not in the matrix")
    return with_data(A, _with(A.data, positions, values))
