"""SCIP through ``pyscipopt``: branch and cut, and LP duals with its presolving turned off."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np

from ..models.program import Program
from ..models.solution import Capability, Options, Termination
from ..models.tolerances import FEASIBILITY
from .common import BaseBackend, Raw

_TERMINATION = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "inforunbd": Termination.INFEASIBLE_OR_UNBOUNDED,
    "timelimit": Termination.TIME_LIMIT,
    "nodelimit": Termination.ITERATION_LIMIT,
    "userinterrupt": Termination.INTERRUPTED,
}


class Scip(BaseBackend):
    """SCIP; the linear rows are added one by one, so use it for MILPs and second opinions rather than for size."""

    capabilities = frozenset({Capability.LP, Capability.MILP, Capability.DUALS})
    package = "pyscipopt"
    install = 'pip install "fairlp[scip]"'
    honours = frozenset({"time_limit", "seed", "primal_tolerance", "dual_tolerance", "verbose", "extra"})

    def __init__(self, name: str = "scip") -> None:
        self.name = name

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise with SCIP."""
        import pyscipopt

        model = pyscipopt.Model(program.name)
        if not options.verbose:
            model.hideOutput()
        primal, dual = options.tolerances()
        # SCIP accepts no tolerance below 1e-9, the project's own
        model.setParam("numerics/feastol", max(primal, FEASIBILITY))
        model.setParam("numerics/dualfeastol", max(dual, FEASIBILITY))
        if options.time_limit is not None:
            model.setParam("limits/time", options.time_limit)
        if options.seed is not None:
            model.setParam("randomization/randomseedshift", options.seed)
        if not program.is_mip:
            # duals of the original rows exist only when nothing was presolved or propagated away
            model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
            model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
            model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
            model.disablePropagation()
        for name, value in options.extra.items():
            model.setParam(name, value)
        variables, rows = _load(model, program)
        begin = perf_counter()
        model.optimize()
        seconds = perf_counter() - begin
        status = model.getStatus()
        raw = Raw(_TERMINATION.get(status, Termination.UNKNOWN), status, seconds=seconds, method="branch and cut")
        if model.getNSols() > 0 and raw.termination not in (Termination.UNBOUNDED, Termination.INFEASIBLE):
            best = model.getBestSol()
            raw.x = np.array([model.getSolVal(best, variable) for variable in variables], dtype=float)
        if raw.termination is Termination.OPTIMAL and not program.is_mip:
            raw.row_duals = np.array([0.0 if row is None else model.getDualsolLinear(row) for row in rows], dtype=float)
        return raw


def _load(model: Any, program: Program) -> tuple[list[Any], list[Any]]:
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
    matrix = program.A.tocsr()
    rows: list[Any] = []
    for row, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        begin, end = int(matrix.indptr[row]), int(matrix.indptr[row + 1])
        if begin == end:
            if low > 0 or high < 0:  # an empty row that cannot hold
                model.addCons(model.addVar(lb=0, ub=0) == 1)
            rows.append(None)
            continue
        if math.isinf(low) and math.isinf(high):
            rows.append(None)
            continue
        places, values = matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist()
        body = quicksum(value * variables[place] for place, value in zip(places, values, strict=True))
        if low == high:
            rows.append(model.addCons(body == low))
        elif math.isinf(low):
            rows.append(model.addCons(body <= high))
        elif math.isinf(high):
            rows.append(model.addCons(body >= low))
        else:
            rows.append(model.addCons(low <= (body <= high)))
    return variables, rows
