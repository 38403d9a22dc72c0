"""The registry of back ends: names and where to find them, never imported before they are used.

A third party registers its own with an entry point in the group ``fairlp.solvers`` (name →
``module:Class``), or in a running process with :func:`register_solver`. Wherever a name is taken,
an object or a class is as good.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from ...errors import (
    FairlpError,
    SolverError,
    SolverNotAvailableError,
    UnsupportedError,
    named,
    nearest,
    needed_by,
)
from ...registry import Registry
from ...tolerances import FEASIBILITY, MILP_TOLERANCES, VERIFIED
from .certificate import verify
from .options import Options
from .program import Program
from .protocols import Backend, Capability
from .sizes import integer_objective_size
from .solution import Solution, solution_at, start_of
from .status import HOPELESS, Point, Termination

__all__ = ["AnySolver", "backend", "carried", "find_backend", "solve", "spelt"]

_HIGHS = "fairlp.solvers.backends.highs:Highs"
_INTERIOR_POINT = "fairlp.solvers.interior_point.backend:InteriorPoint"
_ORTOOLS = "fairlp.solvers.backends.ortools_backend:OrTools"
_TANGENTS = "fairlp.solvers.backends.tangents:solve_with_logs"
_EXPLAIN = "fairlp.solvers.backends.explain:explain"
_SETTLED = "fairlp.solvers.backends.explain:settled"
_WITH_DUALS = "fairlp.solvers.backends.explain:with_duals"
_AT_POINT = "fairlp.solvers.backends.highs:at_point"
_WITHIN_OBJECTIVE = "fairlp.solvers.backends.large_coefficients:within_objective"
_DOUBT = "fairlp.solvers.backends.large_coefficients:doubt"
_EQUILIBRATE = "fairlp.solvers.backends.scaling:equilibrate"

#: A function that hands a model to another tool: (Model, …) → that tool's model.
Lowering = Callable[..., Any]

#: What an answer says that is proved: no optimum, by multipliers of rows or a direction.
_PROVED_HOPELESS = (Termination.INFEASIBLE, Termination.UNBOUNDED)

#: How HiGHS is asked where a back end left a linear program undecided.
_OTHER_WAYS = (
    Options(method="simplex", scale=False, primal_tolerance=VERIFIED, dual_tolerance=VERIFIED),
    Options(method="ipm"),
)

#: Who takes convex squares where nobody else was asked for.
_SQUARES = "cvxpy:CLARABEL"
#: HiGHS's name for how far from a whole number it takes a value for whole.
WHOLE_WITHIN = "mip_feasibility_tolerance"

#: The same with integers. The last one is for whole numbers beside a large coefficient: HiGHS may
#: call a wrong point optimal then, so that it is asked only where nothing else decides.
_OTHER_WAYS_WITH_INTEGERS = (
    Options(scale=False, primal_tolerance=VERIFIED, dual_tolerance=VERIFIED),
    Options(extra={"presolve": "off"}),
    Options(extra={WHOLE_WITHIN: FEASIBILITY}),
)

#: name → ("module:Class", keyword arguments of the class)
BACKENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "highs": (_HIGHS, {}),
    "highs-simplex": (_HIGHS, {"method": "simplex"}),
    "highs-ipm": (_HIGHS, {"method": "ipm"}),
    "highs-hipo": (_HIGHS, {"method": "hipo"}),
    "highs-pdlp": (_HIGHS, {"method": "pdlp"}),
    "interior-point": (_INTERIOR_POINT, {}),
    "scipy": ("fairlp.solvers.backends.scipy_linprog:Scipy", {}),
    "glpk": ("fairlp.solvers.backends.glpk:Glpk", {}),
    "scip": ("fairlp.solvers.backends.scip:Scip", {}),
    "ortools:GLOP": (_ORTOOLS, {"algorithm": "GLOP"}),
    "ortools:PDLP": (_ORTOOLS, {"algorithm": "PDLP"}),
}

#: prefix → "module:Class", which takes the whole name and has the names known behind the prefix as
#: ``members``
FAMILIES: dict[str, str] = {
    "cvxpy": "fairlp.solvers.backends.cvxpy_backend:Cvxpy",
    "pyomo": "fairlp.solvers.backends.pyomo_backend:Pyomo",
}

#: name → module whose ``lower`` turns a Model into another tool's object, and whose ``read_back``
#: reads a solved one
LOWERINGS: dict[str, str] = {
    "highs": "fairlp.solvers.backends.highs",
    "pyomo": "fairlp.solvers.backends.pyomo_backend",
    "cvxpy": "fairlp.solvers.backends.cvxpy_backend",
}

#: top module of an object's type → name in ``LOWERINGS``
_TOOLS = {"highspy": "highs", "pyomo": "pyomo", "cvxpy": "cvxpy"}

#: What is taken as ``solver=``: a registered name, an object, or a class that needs no arguments.
AnySolver = str | Backend | type[Backend]

#: What is called of any back end, so that one that was not made from ours must have it.
_METHODS = ("available", "version", "solve", "session")


class SolverName(str):
    """The name of an unregistered back end, which carries it wherever a name goes."""

    source: Any

    def __new__(cls, name: str, source: Any) -> SolverName:
        """Return the name of ``source``, a back end or a class of them."""
        solver_name = super().__new__(cls, name)
        solver_name.source = source
        return solver_name

    def __reduce__(self) -> tuple[Any, ...]:
        return SolverName, (str(self), self.source)


def _ours(name: str) -> Backend:
    """Return one of fairlp's back ends."""
    target, keywords = BACKENDS[name]
    instance: Backend = resolve_name(target)(name=name, **keywords)
    return instance


#: name → back end, or a class or function that makes one
SOLVERS: Registry[Any] = Registry(
    "solver", "fairlp.solvers", BACKENDS, _ours, SolverNotAvailableError
)
#: Back ends of one's own, by name: what `register_solver` was given in this process.
OWN = SOLVERS.declared


def register_solver(name: str, backend: Any) -> None:
    """Register your own back end under a name for every ``solver=`` in this process.

    A package registers its own for every process, with an entry point in the group
    ``fairlp.solvers``.

    Parameters
    ----------
    name : str
        Not that of one of fairlp's. Registering one's own again replaces it.
    backend : Backend, class or callable
        An object, a class of them that needs no arguments, or a function that returns an object.
        Its answers have the registered name.

    Raises
    ------
    UnknownNameError
        For a name that is one of fairlp's.
    UnsupportedError
        For an object that lacks something; what it lacks is named.

    Examples
    --------
    >>> import fairlp
    >>> from fairlp.solvers.backends.scipy_linprog import Scipy
    >>> fairlp.register_solver("mine", lambda: Scipy())
    >>> fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve("mine").solver
    'mine'
    """
    SOLVERS.require_own_name(name, reserved=FAMILIES)
    _made(backend, name)  # what it lacks is told here, not at its first use
    OWN[name] = backend


def is_reference(name: str) -> bool:
    """Whether a name is ``module:Class`` or ``file.py:Class``, without a reserved prefix.

    fairlp reserves the prefixes of its own solvers (``cvxpy:…``).
    """
    path, colon, _ = name.rpartition(":")
    prefixes = {other.partition(":")[0].casefold() for other in (*BACKENDS, *FAMILIES)}
    return bool(colon) and path.casefold() not in prefixes and name not in SOLVERS.brought


def is_default(name: str) -> bool:
    """Whether a name is what is taken where no solver is named; an object of that name is not."""
    return name == "highs" and not isinstance(name, SolverName)


def carried(name: str) -> str:
    """Return a name as it travels to another process: one of one's own takes its back end along."""
    name = spelt(name)
    return SolverName(name, OWN[name]) if name in OWN else name


def backend_names() -> list[str]:
    """Return the names of all registered back ends, built in first."""
    behind = [
        f"{prefix}:{name}"
        for prefix, family in FAMILIES.items()
        for name in resolve_name(family).members
    ]
    return [*BACKENDS, *behind, *sorted({*SOLVERS.brought, *OWN})]


def find_backend(solver: AnySolver) -> Backend:
    """Return a back end, installed or not, by its name in any case, or as an object."""
    name = spelt(solver)
    if isinstance(name, SolverName):
        return _made(name.source, str(name))
    if name in BACKENDS:
        return _ours(name)
    prefix, _, behind = name.partition(":")
    if prefix in FAMILIES and behind:
        member: Backend = resolve_name(FAMILIES[prefix])(name)
        return member
    if name not in SOLVERS.names and name.upper() in resolve_name(FAMILIES["cvxpy"]).members:
        return find_backend(f"cvxpy:{name.upper()}")  # clarabel, scs, gurobi, …
    return _made(SOLVERS[named(name, backend_names(), "solver")], name)


def available_backends() -> list[str]:
    """Return the names of the back ends that can be used here."""
    return [name for name in backend_names() if not why_not(name)]


def why_not(name: str) -> str:
    """Return why a back end cannot be used here, and what to do; empty where it can."""
    try:
        is_available, reason = find_backend(name).available()
    except FairlpError as error:
        return str(error)
    return "" if is_available else reason


def spelt(solver: object) -> str:
    """Return a name as the registry spells it, with any suffix and unknown names unchanged.

    An object or a class becomes its name, which carries it.
    """
    if isinstance(solver, SolverName):
        return solver
    if not isinstance(solver, str):
        return _name_of(solver)
    if solver in BACKENDS:
        return solver
    registered = SOLVERS.names
    if solver in registered or any(other.casefold() == solver.casefold() for other in registered):
        return SOLVERS.spelt(solver)
    prefix, colon, behind = solver.partition(":")
    return f"{prefix.lower()}{colon}{behind}" if prefix.lower() in FAMILIES else solver


def backend(solver: AnySolver) -> Backend:
    """Return a back end that is ready to use; raise with the remedy where it is not installed."""
    chosen = find_backend(solver)
    is_available, reason = chosen.available()
    if not is_available:
        raise SolverNotAvailableError(f"solver {str(spelt(solver))!r} is not available: {reason}")
    return chosen


def solve(program: Program, solver: AnySolver, options: Options) -> Solution:
    """Solve a program on a back end; the answer claims no more than its own arrays prove.

    What one of fairlp's back ends leaves undecided is tried again by other means. Back ends of
    one's own are not helped, so that their faults are seen.
    """
    back_end = _for_squares(program, backend(solver))
    is_helped = program.logs is None and _is_builtin(back_end.name)
    try:
        solution = _attempt(program, back_end, options)
    except SolverError as error:
        by_request = isinstance(error, UnsupportedError) or options.extra
        if by_request or not (is_helped and program.is_mip):
            raise
        message = str(error)
        failure = solution_at(
            program, Termination.UNKNOWN, message, back_end.name, None, None, None
        )
        solution = _settled_by_others(failure, back_end, options)
        if solution.x is None and solution.status.termination is Termination.UNKNOWN:
            raise
        return solution
    if not is_helped or not _is_undecided(solution, options):
        return solution
    return _settled_by_others(solution, back_end, options)


def _for_squares(program: Program, chosen: Backend) -> Backend:
    """Return the back end, or the one for squares where HiGHS was to take some without integers."""
    is_square = Capability.QUADRATIC in needs(program) and not program.is_mip
    if is_square and chosen.name == "highs" and _is_builtin("highs") and not why_not(_SQUARES):
        return find_backend(_SQUARES)
    return chosen


def _attempt(program: Program, back_end: Backend, options: Options) -> Solution:
    """Return a back end's answer to one solve, checked.

    Where an integer has a large coefficient, and a first point shows how far the better ones can
    be, these are looked for once more within such bounds. A solver's word is not taken where the
    coefficient stays too large.
    """
    accuracy = getattr(back_end, "accuracy", VERIFIED)
    solution = checked(solve_on(back_end, program, options), options, accuracy)
    if not program.is_mip:
        return solution
    bounded = resolve_name(_WITHIN_OBJECTIVE)(program, solution.x) if solution.is_feasible else None
    remaining = _remaining(options, sum(solution.times.values()))
    if bounded is not None and remaining is not None:
        bounded_solution = checked(solve_on(back_end, bounded, remaining), options)
        if bounded_solution.status.is_optimal:
            pool = tuple(replace(point, program=program) for point in bounded_solution.pool)
            return replace(
                _doubted(bounded_solution, back_end, options), program=program, pool=pool
            )
    return _doubted(solution, back_end, options)


def _remaining(options: Options, seconds: float) -> Options | None:
    """Return the options with the time that is left after some seconds; None without any."""
    if options.time_limit is None:
        return options
    remaining = replace(options, time_limit=options.time_limit - seconds)
    return remaining if options.time_limit > seconds else None


def _is_undecided(solution: Solution, options: Options) -> bool:
    """Whether it is open if there is an optimum, and no limit that was asked for is why."""
    termination = solution.status.termination
    limited = options.iteration_limit is not None or options.extra
    stopped = termination is Termination.ITERATION_LIMIT and not limited
    return (
        stopped
        or termination in (Termination.UNKNOWN, Termination.INFEASIBLE_OR_UNBOUNDED)
        or _is_worse_than_start(solution, options)
    )


def _is_worse_than_start(solution: Solution, options: Options) -> bool:
    """Whether the point that an integer program began from is better than its "optimum"."""
    program = solution.program
    if not program.is_mip or options.start is None or not solution.status.is_optimal:
        return False
    point = start_of(program, options.start)
    if not np.isfinite(point).all() or not verify(program, point).is_feasible:
        return False
    start = program.objective_value(point)
    gain = start - solution.objective if program.sense == "max" else solution.objective - start
    return gain > MILP_TOLERANCES[-1] * integer_objective_size(program, point)


def _settled_by_others(solution: Solution, chosen: Backend, options: Options) -> Solution:
    """Return an answer, settled by other means where it is undecided.

    The program is solved again as it is written, without scaling, and then by HiGHS: by simplex
    from the point, as it is written to the tolerance that a verified answer has, and by interior
    points; with integers as HiGHS is delivered, without presolve, and with tighter whole numbers.
    """
    program = solution.program
    attempts: list[Callable[[Options], Solution]] = [
        lambda rest: _attempt(program, chosen, replace(rest, scale=False))
    ]
    if not why_not("highs"):
        x = solution.x
        if x is not None and not program.is_mip:
            attempts.append(lambda rest: checked(at_point(program, x), rest))
        other_ways = _OTHER_WAYS_WITH_INTEGERS if program.is_mip else _OTHER_WAYS
        attempts += [partial(_on_highs, program, others) for others in other_ways]
    seconds = dict(solution.times)
    for attempt in attempts:
        remaining = _remaining(options, sum(seconds.values()))
        if remaining is None:
            break
        try:
            answer = attempt(remaining)
        except (SolverError, UnsupportedError):
            continue
        for name, value in answer.times.items():
            seconds[name] = seconds.get(name, 0.0) + value
        is_optimal = answer.status.is_optimal and not _is_worse_than_start(answer, options)
        if is_optimal or answer.status.termination in _PROVED_HOPELESS:
            by = answer.method if answer.solver == chosen.name else f"HiGHS, {answer.method}"
            message = (
                f"{answer.status.message}; at the second attempt ({by}); the first: "
                f"{solution.status.message}"
            )
            status = replace(answer.status, message=message)
            return replace(answer, solver=solution.solver, status=status, times=seconds)
    return replace(solution, times=seconds)


def _on_highs(program: Program, options: Options, rest: Options) -> Solution:
    """Return HiGHS's answer with other options, within the time that is left."""
    return _attempt(program, find_backend("highs"), replace(options, time_limit=rest.time_limit))


def _is_builtin(name: str) -> bool:
    """Whether a back end is one of fairlp's own."""
    return name not in OWN and (name in BACKENDS or name.partition(":")[0] in FAMILIES)


def _doubted(solution: Solution, chosen: Backend, options: Options) -> Solution:
    """Return an integer answer, marked unknown where the solver's word for it is unreliable."""
    infeasible = solution.status.termination is Termination.INFEASIBLE and solution.row_ray is None
    if not infeasible and not solution.status.is_optimal:
        return solution
    tolerance = getattr(chosen, "integrality_tolerance", MILP_TOLERANCES[-1])
    tolerance = options.extra.get(WHOLE_WITHIN, tolerance)
    reason = resolve_name(_DOUBT)(solution.program, max(tolerance, options.primal_tolerance or 0.0))
    if not reason:
        return solution
    message = f"{solution.status.message}; not proved: {reason}"
    primal = Point.NONE if infeasible else Point.FEASIBLE
    status = replace(
        solution.status, termination=Termination.UNKNOWN, primal=primal, message=message
    )
    return replace(solution, status=status)


def checked(solution: Solution, options: Options, accuracy: float = VERIFIED) -> Solution:
    """Return an answer as far as it can be checked.

    An optimum must be proved by its duals; with integers the solver's own bound must agree.
    "Infeasible" must be proved by row multipliers, "unbounded" by a direction and a point: where
    the back end gives none, HiGHS is asked for them, and so it is before an answer without a point
    is unknown. ``accuracy`` is what the back end's answers are held to.
    """
    result = solution.checked(by_word=True, accuracy=accuracy)
    if result.status.is_optimal and result.program.is_mip:
        return _as_its_bound_says(result, solution.status.message, options.mip_gap)
    refuted = solution.status.is_optimal and not result.status.is_optimal
    unsettled = not result.is_feasible and result.status.termination is Termination.UNKNOWN
    if result.status.is_optimal and result.row_duals is None:
        return with_duals(result)
    if refuted or unsettled or result.status.termination in HOPELESS:
        settled: Solution = resolve_name(_SETTLED)(result, options)
        return settled
    return result


def _as_its_bound_says(solution: Solution, message: str, mip_gap: float | None) -> Solution:
    """Return an integer answer, optimal only as far as the solver's bound and the gap agree."""
    gap = solution.verify().gap
    if mip_gap and (gap is None or gap > VERIFIED):
        stop = f"within the gap of {mip_gap:g} asked for, as the solver says" if gap is None else ""
        text = f"{message}; {stop or f'stopped at a gap of {gap:.1e}'}"
        status = replace(
            solution.status, termination=Termination.GAP_LIMIT, primal=Point.FEASIBLE, message=text
        )
        return replace(solution, status=status)
    if gap is not None and gap > MILP_TOLERANCES[-1]:
        text = (
            f"{message}; the solver's own bound of {solution.bound:.10g} leaves a gap of {gap:.1e}"
        )
        status = replace(
            solution.status, termination=Termination.UNKNOWN, primal=Point.FEASIBLE, message=text
        )
        return replace(solution, status=status)
    return solution


def build_and_solve(
    build: Callable[[], Program], solver: AnySolver, options: Mapping[str, Any]
) -> Solution:
    """Build a program and solve it on a back end; the answer has the times of both."""
    name = spelt(solver)
    parsed = Options.from_keywords(name, options)
    start = perf_counter()
    program = build()
    build_seconds = perf_counter() - start
    solution = solve(program, name, parsed)
    return replace(solution, times={"build": build_seconds, **solution.times})


def solve_on(chosen: Backend, program: Program, options: Options) -> Solution:
    """Return a back end's own answer, unchecked.

    Logarithms and powers become tangents on a back end without them.

    A time limit of 0 is reached before anything begins, whatever a solver takes 0 for.
    """
    if options.time_limit == 0:
        message = "a time limit of 0 s was reached at once"
        return solution_at(program, Termination.TIME_LIMIT, message, chosen.name, None, None, None)
    if not needs(program) <= chosen.capabilities:
        if Capability.QUADRATIC in needs(program):
            raise UnsupportedError(
                f"{program.name!r} has squares, which {chosen.name} cannot solve; fairlp.solvers() "
                "lists what others can do"
            )
        if options.start is not None:
            raise UnsupportedError(
                f"{program.name!r} is solved by tangents on {chosen.name}, which take no start"
            )
        answer: Solution = resolve_name(_TANGENTS)(chosen, program, options)
        return answer
    return chosen.solve(program, options)


def needs(program: Program) -> frozenset[Capability]:
    """Return what the concave terms of a program ask of a back end."""
    if program.logs is None:
        return frozenset()
    alpha = program.logs.alpha
    kinds = {
        Capability.LOG: (alpha == 1).any(),
        Capability.POWER: ((alpha > 0) & (alpha != 1)).any(),
        Capability.QUADRATIC: (alpha < 0).any(),
    }
    return frozenset(kind for kind, is_needed in kinds.items() if is_needed)


def equilibrated(program: Program) -> tuple[Any, np.ndarray]:
    """Return the scaling by powers of two that solvers are given, and the scaled entries."""
    scaling: tuple[Any, np.ndarray] = resolve_name(_EQUILIBRATE)(program)
    return scaling


def at_point(program: Program, x: np.ndarray) -> Solution:
    """Return the answer of HiGHS's simplex from an optimal point, with a basis at a vertex."""
    backend("highs")  # raises where it is not there
    solution: Solution = resolve_name(_AT_POINT)(program, x)
    return solution


def with_duals(solution: Solution) -> Solution:
    """Return a linear program's answer with duals that prove it, if HiGHS finds some."""
    proved: Solution = resolve_name(_WITH_DUALS)(solution)
    return proved


def explain(
    program: Program, solver: AnySolver, weights: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Return a table of the reasons why a program has no optimum, as :meth:`Model.explain` does."""
    frame: pd.DataFrame = resolve_name(_EXPLAIN)(program, solver=spelt(solver), weights=weights)
    return frame


def lowering(name: str) -> Lowering:
    """Return the function that turns a Model into another tool's object."""
    if name not in LOWERINGS:
        raise UnsupportedError(
            f"a model cannot be turned into {name!r}; {nearest(name, LOWERINGS)}"
        )
    function: Lowering = resolve_name(f"{LOWERINGS[name]}:lower")
    with needed_by(f"models for {name}"):
        importlib.import_module({tool: module for module, tool in _TOOLS.items()}[name])
    return function


def reader(solved: object) -> Callable[[Any, Any], Solution]:
    """Return the function that reads a solved object of another tool back into a Solution."""
    top = type(solved).__module__.split(".")[0]
    if top not in _TOOLS:
        raise UnsupportedError(
            f"a {type(solved).__name__} of {top} cannot be read back; expected what to_highs(), "
            "to_pyomo() or "
            "to_cvxpy() gave"
        )
    function: Callable[[Any, Any], Solution] = resolve_name(f"{LOWERINGS[_TOOLS[top]]}:read_back")
    return function


def _name_of(solver: Any) -> str:
    """Return the name of an object or a class, which carries it; raise for what is no back end."""
    solver_class = solver if isinstance(solver, type) else type(solver)
    if not any(callable(getattr(solver_class, method, None)) for method in (*_METHODS, "run")):
        return named(solver, backend_names(), "solver")  # None, 3, …: raises
    return SolverName(_made(solver, "").name, solver)


def _made(source: Any, name: str) -> Backend:
    """Return a back end from an object, class or function, under its name where there is one."""
    is_object = hasattr(source, "solve") and not isinstance(source, type)
    solver_text = getattr(source, "__name__", type(source).__name__)
    try:
        back_end = source if is_object or not callable(source) else source()
    except FairlpError:
        raise
    except Exception as error:  # a constructor of others
        raise SolverError(
            f"solver {solver_text} cannot be made: {type(error).__name__}: {error}; where it needs "
            "arguments, give an object"
        ) from error
    lacking = [method for method in _METHODS if not callable(getattr(back_end, method, None))]
    if lacking:
        raise UnsupportedError(
            f"solver {solver_text} lacks {', '.join(lacking)}; a subclass of fairlp.Backend has all but "
            "run(program, options)"
        )
    back_end_name = name or getattr(back_end, "name", "") or type(back_end).__name__
    if getattr(back_end, "name", None) != back_end_name:
        back_end.name = back_end_name
    return back_end  # type: ignore[no-any-return]
