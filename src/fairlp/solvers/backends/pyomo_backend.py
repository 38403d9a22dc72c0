"""Pyomo's solvers as ``pyomo:NAME``: executables on the PATH (glpk, cbc, scip, …) and HiGHS or Gurobi in process."""

from __future__ import annotations

import importlib.metadata
import logging
import math
import shutil
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError, UnknownNameError, first_line, nearest
from ...models.programs.program import Program
from ...models.programs.solution import Capability, Options, Termination
from .base import BaseBackend, Raw, installed

_LP = frozenset({Capability.LP, Capability.DUALS})
_BOTH = _LP | {Capability.MILP}


@dataclass(frozen=True)
class Known:
    """A solver of Pyomo's: the name of its interface, what must be there, and its names of our options."""

    factory: str
    executable: str = ""
    package: str = ""
    capabilities: frozenset[Capability] = _BOTH
    options: tuple[tuple[str, str], ...] = ()
    no_gap: tuple[str, ...] = ()


_NO_GAP = ("mip_rel_gap", "mip_abs_gap")
KNOWN: dict[str, Known] = {
    "highs": Known(
        "highs", package="highspy", options=(("threads", "threads"), ("seed", "random_seed")), no_gap=_NO_GAP
    ),
    "glpk": Known("glpk", "glpsol"),
    "cbc": Known("cbc", "cbc", options=(("threads", "threads"), ("seed", "randomSeed"))),
    "scip": Known("scip", "scip", capabilities=frozenset({Capability.LP, Capability.MILP})),
    "gurobi": Known(
        "gurobi",
        "gurobi_cl",
        "gurobipy",
        options=(("threads", "Threads"), ("seed", "Seed")),
        no_gap=("MIPGap", "MIPGapAbs"),
    ),
    "cplex": Known("cplex", "cplex", options=(("threads", "threads"),)),
    "xpress": Known("xpress", "optimizer", "xpress", options=(("threads", "threads"),)),
    "mosek": Known("mosek", package="mosek"),
    "copt": Known("copt", package="coptpy"),
}


class Pyomo(BaseBackend):
    """One of Pyomo's solvers; Pyomo takes seconds to hand over what others take as arrays."""

    package = "pyomo"
    install = "pip install pyomo"
    #: Names that may stand behind the colon.
    members = tuple(KNOWN)

    def __init__(self, name: str) -> None:
        self.name, self.solver = name, name.partition(":")[2].lower()
        if self.solver not in KNOWN:
            raise UnknownNameError(f"fairlp knows no Pyomo solver {self.solver!r}; {nearest(self.solver, KNOWN)}")
        self.known = KNOWN[self.solver]
        self.capabilities = self.known.capabilities
        self.waits = bool(self.known.executable)
        self._highs: Any = None
        self.honours = frozenset({"time_limit", "verbose", "extra", *(ours for ours, _ in self.known.options)})

    def available(self) -> tuple[bool, str]:
        """Return whether Pyomo and the solver (its executable or package) are there."""
        if not installed("pyomo"):
            return False, f"pyomo is not installed; {self.install}"
        known = self.known
        if (known.executable and shutil.which(known.executable)) or (known.package and installed(known.package)):
            return True, ""
        missing = " or ".join(
            part
            for part in (
                f"an executable {known.executable!r} on the PATH" if known.executable else "",
                f"the package {known.package!r}" if known.package else "",
            )
            if part
        )
        return (
            False,
            f"Pyomo needs {missing} for {self.solver}; install {self.solver} (with its licence, if it has one)",
        )

    def version(self) -> str:
        """Return Pyomo's version."""
        return f"pyomo {importlib.metadata.version('pyomo')}"

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise through Pyomo."""
        import pyomo.environ as pyo

        model, variables, rows = _build(pyo, program)
        settings = {own: getattr(options, ours) for ours, own in self.known.options}
        gaps = dict.fromkeys(self.known.no_gap, 0.0) if program.is_mip else {}
        settings = {**gaps, **{name: value for name, value in settings.items() if value is not None}, **options.extra}
        begin = perf_counter()
        logger = logging.getLogger("pyomo")
        level = logger.level
        logger.setLevel(logging.ERROR)  # warnings about statuses come back as statuses
        try:
            if self.solver == "highs":
                from pyomo.contrib.solver.common.factory import SolverFactory

                self._highs = SolverFactory("highs")
                return _with_highs(self._highs, model, variables, rows, program, options, settings)
            solver = pyo.SolverFactory(self.known.factory)
            solver.options.update(settings)
            limit: dict[str, float] = {} if options.time_limit is None else {"timelimit": options.time_limit}
            if self.solver == "glpk":
                limit = {name: max(1, math.ceil(value)) for name, value in limit.items()}
            results = solver.solve(model, tee=options.verbose, load_solutions=False, **limit)
        except (RuntimeError, ValueError, OSError) as error:
            raise SolverError(f"{self.name} failed: {first_line(error)}") from error
        finally:
            logger.setLevel(level)
        return self._read(model, results, variables, rows, program, perf_counter() - begin)

    def stop(self) -> None:
        """Tell HiGHS that its time is over; Pyomo gives back what is printed only when it has ended."""
        loaded = getattr(self._highs, "_solver_model", None)
        if loaded is not None:
            loaded.setOptionValue("time_limit", 0.0)

    def _read(
        self, model: Any, results: Any, variables: list[Any], rows: list[Any], program: Program, seconds: float
    ) -> Raw:
        """Return the answer of an executable."""
        condition = str(results.solver.termination_condition)
        termination = _TERMINATION.get(condition, Termination.UNKNOWN)
        raw = Raw(termination, f"{results.solver.status}, {condition}", seconds=seconds, method=self.solver)
        if len(results.solution) > 0 and termination in (Termination.OPTIMAL, Termination.TIME_LIMIT):
            model.solutions.load_from(results)
            raw.x = _values(program, variables)
            if termination is Termination.OPTIMAL and not program.is_mip and Capability.DUALS in self.capabilities:
                duals = [0.0 if row is None else model.dual.get(row, 0.0) for row in rows]
                raw.row_duals = np.array(duals, dtype=float)
        return raw


_TERMINATION = {
    "optimal": Termination.OPTIMAL,
    "convergenceCriteriaSatisfied": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "provenInfeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasibleOrUnbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "maxIterations": Termination.ITERATION_LIMIT,
    "iterationLimit": Termination.ITERATION_LIMIT,
}


def _build(pyo: Any, program: Program) -> tuple[Any, list[Any], list[Any]]:
    """Return a flat Pyomo model, its variables and its rows (None for an empty or free row)."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    model = pyo.ConcreteModel(name="program")
    columns = range(program.n_columns)
    low, high = (_bounds(array) for array in (program.col_lower, program.col_upper))
    whole = program.integrality.tolist()
    model.x = pyo.Var(columns)
    variables = [model.x[j] for j in columns]
    for j, variable in enumerate(variables):
        variable.setlb(low[j])
        variable.setub(high[j])
        if whole[j]:
            variable.domain = pyo.Integers
    matrix = program.A.tocsr()
    model.rows = pyo.ConstraintList()
    rows: list[Any] = []
    low, high = _bounds(program.row_lower), _bounds(program.row_upper)
    for i in range(program.n_rows):
        begin, end = int(matrix.indptr[i]), int(matrix.indptr[i + 1])
        if low[i] is None and high[i] is None:
            rows.append(None)
        elif begin == end:
            rows.append(None)
            if (low[i] or 0.0) > 0 or (high[i] or 0.0) < 0:  # an empty row that cannot hold
                model.never = pyo.Var(bounds=(0, 0))
                model.rows.add(model.never == 1)
        else:
            places, values = matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist()
            body = LinearExpression(constant=0, linear_coefs=values, linear_vars=[variables[j] for j in places])
            rows.append(model.rows.add((low[i], body, high[i]) if low[i] != high[i] else (body == low[i])))
    costs = [(value, variables[j]) for j, value in enumerate(program.c.tolist()) if value]
    body = LinearExpression(constant=0, linear_coefs=[c for c, _ in costs], linear_vars=[v for _, v in costs])
    model.objective = pyo.Objective(expr=body if costs else 0.0, sense=pyo.minimize)
    if not program.is_mip:
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return model, variables, rows


def _bounds(array: np.ndarray) -> list[float | None]:
    return [None if math.isinf(value) else value for value in array.tolist()]


def _with_highs(
    solver: Any,
    model: Any,
    variables: list[Any],
    rows: list[Any],
    program: Program,
    options: Options,
    settings: dict[str, Any],
) -> Raw:
    """Solve by Pyomo's own interface to HiGHS, in process."""
    threads = settings.pop("threads", None)
    begin = perf_counter()
    results = solver.solve(
        model,
        tee=options.verbose,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        time_limit=options.time_limit,
        threads=threads,
        solver_options=settings,
    )
    name = results.termination_condition.name
    termination = _TERMINATION.get(name, Termination.UNKNOWN)
    raw = Raw(termination, name, seconds=perf_counter() - begin, method="highs")
    there = results.solution_status.name in ("optimal", "feasible")
    if there and termination in (Termination.OPTIMAL, Termination.TIME_LIMIT):
        results.solution_loader.load_vars()
        raw.x = _values(program, variables)
        if termination is Termination.OPTIMAL and not program.is_mip:
            duals = results.solution_loader.get_duals([row for row in rows if row is not None])
            raw.row_duals = np.array([0.0 if row is None else duals[row] for row in rows], dtype=float)
    return raw


def _values(program: Program, variables: list[Any]) -> np.ndarray:
    """Return the loaded values; a variable that no row and no cost mentions does not reach the solver."""
    anywhere = np.clip(0.0, program.col_lower, program.col_upper)
    values = [anywhere[j] if variable.value is None else variable.value for j, variable in enumerate(variables)]
    return np.array(values, dtype=float)
