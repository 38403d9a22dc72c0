"""The registry of back ends: names and where to find them, never imported before they are used.

A third party registers its own with an entry point in the group ``fairlp.solvers`` (name → ``module:Class``).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...errors import SolverNotAvailableError, UnsupportedError, named, nearest
from .program import Program
from .solution import Backend, Capability, Lowering, Options, Solution, Termination

if TYPE_CHECKING:
    import pandas as pd

_HIGHS = "fairlp.solvers.backends.highs:Highs"
_INTERIOR_POINT = "fairlp.solvers.interior_point.backend:InteriorPoint"
_ORTOOLS = "fairlp.solvers.backends.ortools_backend:OrTools"
_TANGENTS = "fairlp.solvers.backends.tangents:solve_with_logs"
_EXPLAIN = "fairlp.solvers.backends.explain:explain"

#: name → ("module:Class", keyword arguments of the class)
BACKENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "highs": (_HIGHS, {}),
    "highs-simplex": (_HIGHS, {"method": "simplex"}),
    "highs-ipm": (_HIGHS, {"method": "ipm"}),
    "highs-hipo": (_HIGHS, {"method": "hipo"}),
    "highs-pdlp": (_HIGHS, {"method": "pdlp"}),
    "interior-point": (_INTERIOR_POINT, {}),
    "interior-point-vertex": (_INTERIOR_POINT, {"vertex": True}),
    "scipy": ("fairlp.solvers.backends.scipy_linprog:Scipy", {}),
    "glpk": ("fairlp.solvers.backends.glpk:Glpk", {}),
    "scip": ("fairlp.solvers.backends.scip:Scip", {}),
    "ortools:GLOP": (_ORTOOLS, {"algorithm": "GLOP"}),
    "ortools:PDLP": (_ORTOOLS, {"algorithm": "PDLP"}),
}

#: prefix → "module:Class", which takes the whole name and has the names known behind the prefix as ``members``
FAMILIES: dict[str, str] = {
    "cvxpy": "fairlp.solvers.backends.cvxpy_backend:Cvxpy",
    "pyomo": "fairlp.solvers.backends.pyomo_backend:Pyomo",
}

#: name → module whose ``lower`` turns a Model into another tool's object, and whose ``read_back`` reads a solved one
LOWERINGS: dict[str, str] = {
    "highs": "fairlp.solvers.backends.highs_model",
    "pyomo": "fairlp.solvers.backends.pyomo_model",
    "cvxpy": "fairlp.solvers.backends.cvxpy_model",
}

#: top module of an object's type → name in ``LOWERINGS``
_TOOLS = {"highspy": "highs", "pyomo": "pyomo", "cvxpy": "cvxpy"}

ENTRY_POINT_GROUP = "fairlp.solvers"


def backend_names() -> list[str]:
    """Return the names of all registered back ends, built in first."""
    behind = [f"{prefix}:{name}" for prefix, family in FAMILIES.items() for name in _load(family).members]
    return [*BACKENDS, *behind, *sorted(set(_entry_points()) - set(BACKENDS))]


def find_backend(name: str) -> Backend:
    """Return the back end of that name, in any case, whether it is installed or not."""
    name = spelt(name)
    if name in BACKENDS:
        target, keywords = BACKENDS[name]
        found: Backend = _load(target)(name=name, **keywords)
        return found
    prefix, _, behind = name.partition(":")
    if prefix in FAMILIES and behind:
        member: Backend = _load(FAMILIES[prefix])(name)
        return member
    entry_points = _entry_points()
    if name not in entry_points and name.upper() in _load(FAMILIES["cvxpy"]).members:
        return find_backend(f"cvxpy:{name.upper()}")  # clarabel, scs, gurobi, …
    third_party: Backend = entry_points[named(name, [*backend_names()], "solver")].load()()
    return third_party


def spelt(name: object) -> str:
    """Return a name as the registry spells it; what stands behind a prefix, and what is not there, stays as it is."""
    if not isinstance(name, str):
        return named(name, backend_names(), "solver")
    registered = [*BACKENDS, *_entry_points()]
    if name in registered:
        return name
    if sum(other.casefold() == name.casefold() for other in registered):
        return named(name, registered, "solver")
    prefix, colon, behind = name.partition(":")
    return f"{prefix.lower()}{colon}{behind}" if prefix.lower() in FAMILIES else name


def backend(name: str) -> Backend:
    """Return the back end of that name, ready to use; raise with the remedy when it is not installed."""
    found = find_backend(name)
    there, reason = found.available()
    if not there:
        raise SolverNotAvailableError(f"solver {name!r} is not available: {reason}")
    return found


def solve(program: Program, name: str, options: Options) -> Solution:
    """Solve a program by the back end of that name; logarithms by tangents where it has none."""
    return solve_on(backend(name), program, options)


def build_and_solve(build: Callable[[], Program], name: str, options: dict[str, Any]) -> Solution:
    """Build a program and solve it by the back end of that name; the answer has the time of both."""
    parsed = Options.from_keywords(name, options)
    begin = perf_counter()
    program = build()
    built = perf_counter() - begin
    return solve(program, name, parsed).with_build_time(built)


def solve_on(chosen: Backend, program: Program, options: Options) -> Solution:
    """Solve a program on a back end object; logarithms by tangents where it has none.

    A time limit of 0 is reached before anything begins, whatever a solver takes 0 for.
    """
    if options.time_limit == 0:
        words = "a time limit of 0 s was reached at once"
        return Solution.of_point(program, Termination.TIME_LIMIT, words, chosen.name, None, None, None)
    if program.logs is not None and Capability.LOG not in chosen.capabilities:
        answer: Solution = _load(_TANGENTS)(chosen, program, options)
        return answer
    return chosen.solve(program, options)


def explain(program: Program, solver: str) -> pd.DataFrame:
    """Return why a program has no optimum, as a table; see :func:`fairlp.solvers.backends.explain.explain`."""
    frame: pd.DataFrame = _load(_EXPLAIN)(program, solver=solver)
    return frame


def lowering(name: str) -> Lowering:
    """Return the function that turns a Model into another tool's object."""
    if name not in LOWERINGS:
        raise UnsupportedError(f"a model cannot be turned into {name!r}; {nearest(name, LOWERINGS)}")
    function: Lowering = _load(f"{LOWERINGS[name]}:lower")
    return function


def reader(solved: object) -> Callable[[Any, Any], Solution]:
    """Return the function that reads a solved object of another tool back into a Solution."""
    top = type(solved).__module__.split(".")[0]
    if top not in _TOOLS:
        raise UnsupportedError(
            f"a {type(solved).__name__} of {top} cannot be read back; expected what to_highs(), to_pyomo() or "
            "to_cvxpy() gave"
        )
    function: Callable[[Any, Any], Solution] = _load(f"{LOWERINGS[_TOOLS[top]]}:read_back")
    return function


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


@functools.cache
def _entry_points() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
