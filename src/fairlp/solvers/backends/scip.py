"""SCIP through ``pyscipopt``: branch and cut.

Its LP duals are not offered, since rows of one variable have none there.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np

from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Capability
from ...models.programs.status import Termination
from ...tolerances import ACCEPTED
from .base import BaseBackend, Raw, each_row, given_options

_TERMINATION = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "inforunbd": Termination.INFEASIBLE_OR_UNBOUNDED,
    "timelimit": Termination.TIME_LIMIT,
    "totalnodelimit": Termination.NODE_LIMIT,
    "gaplimit": Termination.GAP_LIMIT,
    "userinterrupt": Termination.INTERRUPTED,
}


#: our option → SCIP's parameter
_PARAMETERS = {
    "time_limit": "limits/time",
    "seed": "randomization/randomseedshift",
    "mip_gap": "limits/gap",
    "node_limit": "limits/totalnodes",
    "pool": "limits/maxsol",
}


class Scip(BaseBackend):
    """SCIP, for MILPs and second opinions rather than for size.

    The linear rows are added one by one.
    """

    capabilities = frozenset({Capability.LP, Capability.MILP})
    package = "pyscipopt"
    install = 'pip install "fairlp[scip]"'
    honours = frozenset(
        {
            *_PARAMETERS,
            "primal_tolerance",
            "dual_tolerance",
            "verbose",
            "log_file",
            "start",
            "extra",
        }
    )

    def __init__(self, name: str = "scip") -> None:
        self.name = name

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise with SCIP."""
        import pyscipopt

        self._model = model = pyscipopt.Model(program.name)
        if not options.verbose:
            model.hideOutput()
        model.setParam("misc/catchctrlc", False)  # it is ours
        primal, dual = options.tolerances(ACCEPTED, ACCEPTED)
        if options.primal_tolerance is not None or not program.is_mip:
            # as HiGHS, SCIP calls wrong points optimal where whole numbers are held tighter
            model.setParam("numerics/feastol", primal)
        model.setParam("numerics/dualfeastol", dual)
        for name, value in {**given_options(options, **_PARAMETERS), **options.extra}.items():
            model.setParam(name, value)
        if options.log_file is not None:
            model.setLogfile(str(options.log_file))
        variables = _load(model, program)
        if options.start is not None:
            _begin(model, variables, options.start)
        start_time = perf_counter()
        model.optimizeNogil()
        seconds = perf_counter() - start_time
        status = model.getStatus()
        raw = Raw(
            _TERMINATION.get(status, Termination.UNKNOWN),
            status,
            seconds=seconds,
            method="branch and cut",
        )
        if model.getNSols() > 0 and raw.termination not in (
            Termination.UNBOUNDED,
            Termination.INFEASIBLE,
        ):
            solutions = model.getSols()[: max(options.pool or 1, 1)]
            points = [
                np.array([model.getSolVal(solution, variable) for variable in variables])
                for solution in solutions
            ]
            raw.x = points[0]
            raw.pool = points if options.pool else ()
        if program.is_mip and raw.termination not in (
            Termination.UNBOUNDED,
            Termination.INFEASIBLE,
        ):
            raw.bound = model.getDualbound()
        return raw

    def stop(self) -> None:
        """Tell SCIP to stop."""
        self._model.interruptSolve()


def _begin(model: Any, variables: list[Any], start: Any) -> None:
    """Give SCIP a point, or part of one, to begin from."""
    positions = np.flatnonzero(np.isfinite(start))
    point = model.createSol() if len(positions) == len(variables) else model.createPartialSol()
    for place in positions.tolist():
        model.setSolVal(point, variables[place], float(start[place]))
    model.addSol(point)


def _load(model: Any, program: Program) -> list[Any]:
    from pyscipopt import quicksum

    variables = []
    for low, high, cost, whole in zip(
        program.col_lower.tolist(),
        program.col_upper.tolist(),
        program.c.tolist(),
        program.integrality.tolist(),
        strict=True,
    ):
        variables.append(
            model.addVar(
                lb=None if math.isinf(low) else low,
                ub=None if math.isinf(high) else high,
                obj=cost,
                vtype="I" if whole else "C",
            )
        )
    for places, values, low, high in each_row(program):
        if not places:
            if low > 0 or high < 0:  # an empty row that cannot hold
                model.addCons(model.addVar(lb=0, ub=0) == 1)
            continue
        body = quicksum(
            value * variables[place] for place, value in zip(places, values, strict=True)
        )
        if low == high:
            model.addCons(body == low)
        elif not (math.isinf(low) or math.isinf(high)):
            model.addCons(low <= (body <= high))
        elif not math.isinf(high):
            model.addCons(body <= high)
        elif not math.isinf(low):
            model.addCons(body >= low)
    return variables
