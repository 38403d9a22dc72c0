"""SciPy: ``linprog`` for linear programs, ``milp`` for integer programs.

Both are HiGHS inside.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Capability
from ...models.programs.status import Termination
from ...tolerances import SOLVER_TIGHTEST
from .base import BaseBackend, Raw, given_options, refuse_iterations

_TERMINATION = {
    0: Termination.OPTIMAL,
    1: Termination.ITERATION_LIMIT,
    2: Termination.INFEASIBLE,
    3: Termination.UNBOUNDED,
}


class Scipy(BaseBackend):
    """``scipy.optimize.linprog`` and ``milp``."""

    capabilities = frozenset({Capability.LP, Capability.MILP, Capability.DUALS})
    package = "scipy"
    install = "pip install scipy"
    tightest = SOLVER_TIGHTEST
    honours = frozenset({
        "time_limit", "primal_tolerance", "dual_tolerance", "method", "verbose", "extra", "mip_gap", "node_limit",
        "iteration_limit",
    })  # fmt: skip
    methods = ("highs", "highs-ds", "highs-ipm")

    def __init__(self, name: str = "scipy") -> None:
        self.name = name

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise with ``linprog``, or with ``milp`` where variables are integer."""
        if program.is_mip:
            limits = given_options(
                options, time_limit="time_limit", mip_gap="mip_rel_gap", node_limit="node_limit"
            )
            refuse_iterations(self.name, options)
        else:
            limits = given_options(options, time_limit="time_limit", iteration_limit="maxiter")
        settings = {"disp": options.verbose, **limits, **options.extra}
        return _milp(program, settings) if program.is_mip else _linprog(program, options, settings)


def _linprog(program: Program, options: Options, settings: dict[str, Any]) -> Raw:
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    primal, dual = options.tolerances()
    rows = program.A.tocsr()
    low = program.row_lower
    high = program.row_upper
    equal = np.flatnonzero(low == high)
    above = np.flatnonzero(np.isfinite(high) & (low != high))
    below = np.flatnonzero(np.isfinite(low) & (low != high))
    has_inequalities = len(above) + len(below) > 0
    method = "highs" if options.method == "auto" else options.method
    start_time = perf_counter()
    answer = linprog(
        program.c,
        A_ub=vstack([rows[above], -rows[below]]).tocsr() if has_inequalities else None,
        b_ub=np.concatenate([high[above], -low[below]]) if has_inequalities else None,
        A_eq=rows[equal] if len(equal) else None,
        b_eq=low[equal] if len(equal) else None,
        bounds=np.column_stack([program.col_lower, program.col_upper]),
        method=method,
        options={
            "primal_feasibility_tolerance": primal,
            "dual_feasibility_tolerance": dual,
            **settings,
        },
    )
    raw = Raw(
        _termination(answer), answer.message, seconds=perf_counter() - start_time, method=method
    )
    if answer.status == 0:
        raw.x = np.asarray(answer.x, dtype=float)
        raw.row_duals = np.zeros(program.n_rows)
        if has_inequalities:
            marginals = np.asarray(answer.ineqlin.marginals)
            np.add.at(raw.row_duals, above, marginals[: len(above)])
            np.add.at(raw.row_duals, below, -marginals[len(above) :])
        if len(equal):
            raw.row_duals[equal] = answer.eqlin.marginals
    return raw


def _milp(program: Program, settings: dict[str, Any]) -> Raw:
    from scipy.optimize import Bounds, LinearConstraint, milp

    start_time = perf_counter()
    answer = milp(
        program.c,
        integrality=program.integrality,
        bounds=Bounds(program.col_lower, program.col_upper),
        constraints=LinearConstraint(program.A, program.row_lower, program.row_upper)
        if program.n_rows
        else None,
        options={"mip_rel_gap": 0.0, **settings},
    )
    x = None if answer.x is None else np.asarray(answer.x, dtype=float)
    seconds = perf_counter() - start_time
    bound = answer.mip_dual_bound
    return Raw(_termination(answer), answer.message, x, seconds=seconds, method="milp", bound=bound)


def _termination(answer: Any) -> Termination:
    message = str(answer.message).lower()
    if answer.status == 1 and "time" in message:
        return Termination.TIME_LIMIT
    if "solution limit" in message:
        return Termination.NODE_LIMIT
    if answer.status == 4 and "infeasible" in message and "unbounded" in message:
        return Termination.INFEASIBLE_OR_UNBOUNDED
    return _TERMINATION.get(answer.status, Termination.UNKNOWN)
