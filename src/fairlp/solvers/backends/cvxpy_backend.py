"""Any solver that CVXPY finds, as ``cvxpy:NAME``: LPs, MILPs and, with a cone solver, logarithms."""

from __future__ import annotations

import importlib.metadata
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ...errors import SolverError, UnknownNameError, UnsupportedError, first_line, nearest
from ...models.programs.program import Program
from ...models.programs.solution import Capability, Options, Termination
from ...tolerances import FIRST_ORDER
from .base import BaseBackend, Raw, installed
from .cvxpy_model import build

_LP = frozenset({Capability.LP, Capability.DUALS})
_MILP = frozenset({Capability.LP, Capability.MILP})
_LOG, _POWER = Capability.LOG, Capability.POWER


@dataclass(frozen=True)
class Known:
    """What we know of a solver behind CVXPY: its package, what it can do there, and its names of our options.

    A ``coarse`` one is asked for ``FIRST_ORDER`` (ECOS misjudges programs at tighter tolerances), and given many
    iterations.
    """

    package: str
    capabilities: frozenset[Capability]
    options: dict[str, str]
    coarse: bool = False
    extra: str = ""
    no_gap: tuple[str, ...] = ()


#: CVXPY's CBC gives no duals, so it promises none here.
KNOWN: dict[str, Known] = {
    "CLARABEL": Known(
        "clarabel",
        _LP | {_LOG, _POWER},
        {"primal_tolerance": "tol_feas", "dual_tolerance": "tol_gap_abs", "time_limit": "time_limit"},
    ),
    "SCS": Known(
        "scs",
        _LP | {_LOG, _POWER},
        {"primal_tolerance": "eps_abs", "dual_tolerance": "eps_rel", "time_limit": "time_limit_secs"},
        coarse=True,
    ),
    "ECOS": Known(
        "ecos", _LP | {_LOG}, {"primal_tolerance": "feastol", "dual_tolerance": "abstol"}, coarse=True, extra="ecos"
    ),
    "OSQP": Known(
        "osqp",
        _LP,
        {"primal_tolerance": "eps_abs", "dual_tolerance": "eps_rel", "time_limit": "time_limit"},
        coarse=True,
    ),
    "PIQP": Known("piqp", _LP, {"primal_tolerance": "eps_abs", "dual_tolerance": "eps_rel"}, extra="piqp"),
    "HIGHS": Known(
        "highspy",
        _LP | {Capability.MILP},
        {
            "primal_tolerance": "primal_feasibility_tolerance",
            "dual_tolerance": "dual_feasibility_tolerance",
            "time_limit": "time_limit",
            "threads": "threads",
            "seed": "random_seed",
        },
        no_gap=("mip_rel_gap", "mip_abs_gap"),
    ),
    "SCIPY": Known("scipy", _LP | {Capability.MILP}, {}),
    "GLPK": Known("cvxopt", _LP, {}, extra="cvxopt"),
    "GLPK_MI": Known("cvxopt", _MILP, {}, extra="cvxopt"),
    "CBC": Known("cylp", _MILP, {}),
    "GUROBI": Known(
        "gurobipy",
        _LP | {Capability.MILP},
        {
            "primal_tolerance": "FeasibilityTol",
            "dual_tolerance": "OptimalityTol",
            "time_limit": "TimeLimit",
            "threads": "Threads",
            "seed": "Seed",
        },
        no_gap=("MIPGap", "MIPGapAbs"),
    ),
    "MOSEK": Known("mosek", _LP | {Capability.MILP, _LOG, _POWER}, {}),
    "COPT": Known("coptpy", _LP | {Capability.MILP, _LOG}, {"time_limit": "TimeLimit", "threads": "Threads"}),
    "XPRESS": Known("xpress", _LP | {Capability.MILP}, {"time_limit": "maxtime", "threads": "threads"}),
    "CPLEX": Known("cplex", _LP | {Capability.MILP}, {}),
}


class Cvxpy(BaseBackend):
    """One of CVXPY's solvers."""

    package = "cvxpy"
    install = "pip install cvxpy"
    #: Names that may stand behind the colon.
    members = tuple(KNOWN)

    def __init__(self, name: str) -> None:
        self.name, self.solver = name, name.partition(":")[2].upper()
        if self.solver in ("GLOP", "PDLP"):
            raise UnknownNameError(
                f"{name} cannot run beside highspy in one process; use solver='ortools:{self.solver}' instead"
            )
        if self.solver == "SCIP":
            raise UnknownNameError("CVXPY's interface to SCIP fails with NumPy 2.4; use solver='scip' instead")
        known = KNOWN.get(self.solver)
        if known is None:
            known = self._ask()
        self.known = known
        self.capabilities = known.capabilities
        self.honours = frozenset({*known.options, "verbose", "extra"})

    def available(self) -> tuple[bool, str]:
        """Return whether CVXPY and the solver's package are installed, without importing them."""
        if not installed("cvxpy"):
            return False, f"cvxpy is not installed; {self.install}"
        if not installed(self.known.package):
            package = f'"fairlp[{self.known.extra}]"' if self.known.extra else self.known.package
            return False, f"{self.known.package} is not installed; pip install {package}"
        return True, ""

    def version(self) -> str:
        """Return the version of the solver's package, and CVXPY's."""
        own = importlib.metadata.version(self.known.package)
        return f"{own} (cvxpy {importlib.metadata.version('cvxpy')})"

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise through CVXPY; "optimal but inaccurate" is not called optimal."""
        import cvxpy as cp

        built = build(program)
        tight = (FIRST_ORDER, FIRST_ORDER) if self.known.coarse else ()
        asked = dict(zip(("primal_tolerance", "dual_tolerance"), options.tolerances(*tight), strict=True))
        for name in ("time_limit", "threads", "seed"):
            if getattr(options, name) is not None:
                asked[name] = getattr(options, name)
        settings = {own: asked[ours] for ours, own in self.known.options.items() if ours in asked}
        if self.solver == "CLARABEL":
            settings["tol_gap_rel"] = settings["tol_gap_abs"]
        if self.solver == "ECOS":
            settings["reltol"] = settings["abstol"]
        if self.known.coarse:
            settings["max_iter" if self.solver == "OSQP" else "max_iters"] = _MANY
        if program.is_mip:  # their default calls an answer optimal that is 1e-4 away
            settings.update(dict.fromkeys(self.known.no_gap, 0.0))
        settings.update(options.extra)
        begin = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "may be inaccurate" comes back as a status
                built.problem.solve(solver=self.solver, verbose=options.verbose, **settings)
        except cp.error.SolverError as error:
            return Raw(_of_error(str(error)), first_line(error), seconds=perf_counter() - begin)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if options.extra:
                raise UnsupportedError(f"{self.name} refused extra={dict(options.extra)!r}: {error}") from error
            raise SolverError(f"{self.name} failed: {error}") from error
        return self._raw(built, perf_counter() - begin, options.time_limit is not None)

    def _raw(self, built: Any, seconds: float, limited: bool) -> Raw:
        status, stats = str(built.problem.status), built.problem.solver_stats
        termination = {
            "optimal": Termination.OPTIMAL,
            "infeasible": Termination.INFEASIBLE,
            "unbounded": Termination.UNBOUNDED,
            "infeasible_or_unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
            "user_limit": Termination.TIME_LIMIT if limited else Termination.ITERATION_LIMIT,
            "optimal_inaccurate": Termination.TIME_LIMIT if limited else Termination.UNKNOWN,
        }.get(status, Termination.UNKNOWN)
        own = getattr(stats, "solve_time", None)
        raw = Raw(termination, status, seconds=float(own) if own else seconds, method=self.solver)
        if getattr(stats, "num_iters", None):
            raw.iterations = {self.solver.lower(): int(stats.num_iters)}
        if status in ("optimal", "optimal_inaccurate", "user_limit"):
            raw.x = built.point()
        if raw.termination is Termination.OPTIMAL and Capability.DUALS in self.capabilities and raw.x is not None:
            raw.row_duals = built.minimisation_duals()
        return raw

    def _ask(self) -> Known:
        """Return what can be said of a solver that only CVXPY knows."""
        import cvxpy as cp

        if self.solver not in cp.installed_solvers():
            names = sorted({*KNOWN, *cp.installed_solvers()})
            raise UnknownNameError(f"CVXPY has no solver {self.solver!r}; {nearest(self.solver, names)}")
        return Known("cvxpy", _LP, {})


#: Their own defaults stop too early for the tolerance asked.
_MANY = 1_000_000


def _of_error(message: str) -> Termination:
    words = message.lower()
    if "time" in words and "limit" in words:
        return Termination.TIME_LIMIT
    return Termination.UNKNOWN
