"""The registry of back ends: names and where to find them, never imported before they are used.

A third party registers its own with an entry point in the group ``fairlp.solvers`` (name → ``module:Class``).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import SolverNotAvailableError, UnknownNameError, UnsupportedError, nearest
from .program import Program
from .solution import Backend, Capability, Lowering, Options, Solution, Termination

if TYPE_CHECKING:
    import pandas as pd

#: name → ("module:Class", keyword arguments of the class)
BACKENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "highs": ("fairlp.solvers.backends.highs:Highs", {}),
    "highs-simplex": ("fairlp.solvers.backends.highs:Highs", {"method": "simplex"}),
    "highs-ipm": ("fairlp.solvers.backends.highs:Highs", {"method": "ipm"}),
    "highs-hipo": ("fairlp.solvers.backends.highs:Highs", {"method": "hipo"}),
    "highs-pdlp": ("fairlp.solvers.backends.highs:Highs", {"method": "pdlp"}),
    "interior-point": ("fairlp.solvers.interior_point.backend:InteriorPoint", {}),
    "interior-point-vertex": ("fairlp.solvers.interior_point.backend:InteriorPoint", {"vertex": True}),
    "scipy": ("fairlp.solvers.backends.scipy_linprog:Scipy", {}),
    "glpk": ("fairlp.solvers.backends.glpk:Glpk", {}),
    "scip": ("fairlp.solvers.backends.scip:Scip", {}),
    "ortools:GLOP": ("fairlp.solvers.backends.ortools_backend:OrTools", {"algorithm": "GLOP"}),
    "ortools:PDLP": ("fairlp.solvers.backends.ortools_backend:OrTools", {"algorithm": "PDLP"}),
}

#: prefix → ("module:Class" taking the whole name, "module:table of the names known behind it")
FAMILIES: dict[str, tuple[str, str]] = {
    "cvxpy": ("fairlp.solvers.backends.cvxpy_backend:Cvxpy", "fairlp.solvers.backends.cvxpy_backend:KNOWN"),
    "pyomo": ("fairlp.solvers.backends.pyomo_backend:Pyomo", "fairlp.solvers.backends.pyomo_backend:KNOWN"),
}

#: name → "module:function" that turns a Model into another tool's object
LOWERINGS: dict[str, str] = {
    "highs": "fairlp.solvers.backends.highs:load",
    "pyomo": "fairlp.solvers.backends.pyomo_model:to_pyomo",
    "cvxpy": "fairlp.solvers.backends.cvxpy_model:to_cvxpy",
}

#: top module of an object's type → "module:function" that reads a solved object back into a Solution
READERS: dict[str, str] = {
    "highspy": "fairlp.solvers.backends.highs:read_back",
    "pyomo": "fairlp.solvers.backends.pyomo_model:read_back",
    "cvxpy": "fairlp.solvers.backends.cvxpy_model:read_back",
}

ENTRY_POINT_GROUP = "fairlp.solvers"


def backend_names() -> list[str]:
    """Return the names of all registered back ends, built in first."""
    behind = [f"{prefix}:{name}" for prefix, (_, known) in FAMILIES.items() for name in _load(known)]
    return [*BACKENDS, *behind, *sorted(set(_entry_points()) - set(BACKENDS))]


def find_backend(name: str) -> Backend:
    """Return the back end of that name, whether it is installed or not."""
    if name in BACKENDS:
        target, keywords = BACKENDS[name]
        found: Backend = _load(target)(name=name, **keywords)
        return found
    prefix, _, behind = name.partition(":")
    if prefix in FAMILIES and behind:
        member: Backend = _load(FAMILIES[prefix][0])(name)
        return member
    entry_points = _entry_points()
    if name not in entry_points and name.upper() in _load(FAMILIES["cvxpy"][1]):
        return find_backend(f"cvxpy:{name.upper()}")  # clarabel, scs, gurobi, …
    if name not in entry_points:
        raise UnknownNameError(f"no solver is called {name!r}; {nearest(name, backend_names())}")
    third_party: Backend = entry_points[name].load()()
    return third_party


def backend(name: str) -> Backend:
    """Return the back end of that name, ready to use; raise with the remedy when it is not installed."""
    if not isinstance(name, str):
        raise UnknownNameError(f"solver must be a name, not {type(name).__name__}; known: {', '.join(backend_names())}")
    found = find_backend(name)
    there, reason = found.available()
    if not there:
        raise SolverNotAvailableError(f"solver {name!r} is not available: {reason}")
    return found


def solve(program: Program, name: str, options: Options) -> Solution:
    """Solve a program by the back end of that name; logarithms by tangents where it has none."""
    return solve_on(backend(name), program, options)


def solve_on(chosen: Backend, program: Program, options: Options) -> Solution:
    """Solve a program on a back end object; logarithms by tangents where it has none.

    A time limit of 0 is reached before anything begins, whatever a solver takes 0 for.
    """
    if options.time_limit == 0:
        words = "a time limit of 0 s was reached at once"
        return Solution.of_point(program, Termination.TIME_LIMIT, words, chosen.name, None, None, None)
    if program.logs is not None and Capability.LOG not in chosen.capabilities:
        answer: Solution = _load("fairlp.solvers.backends.tangents:solve_with_logs")(chosen, program, options)
        return answer
    return chosen.solve(program, options)


def explain(program: Program, solver: str) -> pd.DataFrame:
    """Return why a program has no optimum, as a table; see :func:`fairlp.solvers.backends.explain.explain`."""
    frame: pd.DataFrame = _load("fairlp.solvers.backends.explain:explain")(program, solver=solver)
    return frame


def lowering(name: str) -> Lowering:
    """Return the function that turns a Model into another tool's object."""
    if name not in LOWERINGS:
        raise UnsupportedError(f"a model cannot be turned into {name!r}; {nearest(name, LOWERINGS)}")
    function: Lowering = _load(LOWERINGS[name])
    return function


def reader(solved: object) -> Callable[[Any, Any], Solution]:
    """Return the function that reads a solved object of another tool back into a Solution."""
    top = type(solved).__module__.split(".")[0]
    if top not in READERS:
        raise UnsupportedError(
            f"a {type(solved).__name__} of {top} cannot be read back; expected what to_highs(), to_pyomo() or "
            "to_cvxpy() gave"
        )
    function: Callable[[Any, Any], Solution] = _load(READERS[top])
    return function


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


@functools.cache
def _entry_points() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
