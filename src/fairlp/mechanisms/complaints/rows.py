"""The table's rows for no justified complaints, proportional fairness and α-fairness."""

from __future__ import annotations

import functools
from dataclasses import replace

from ...formulations import complaints, gavel, normalisers, partial_allocation, proportional
from ...formulations.alpha_fair import SOURCE, alpha_fair
from ..max_min.methods import by_interior_points
from ..max_min.rounds import is_one_server
from ..mechanism import (
    BY_WEIGHTS,
    NO_LIMITS,
    NO_QUEUE_LIMITS,
    NO_RATES,
    ONE_SERVER,
    ONE_WEIGHT,
    Domain,
    Mechanism,
    Method,
)
from ..validation import in_floats
from . import alpha_fairness, methods, partial_allocation as partial, proportional as ceei

EISENBERG_GALE = Method(
    "eg",
    methods.market,
    applies=is_one_server,
    options=(),
    needs="one server",
    cost="O(NR²) a Newton step, some 20 steps",
)
INTERIOR_POINT = replace(by_interior_points(methods.convex), options=())
CONVEX = Method("convex", methods.convex, options=(), cost="one convex program", solves=True)
BEST_FAIR = Method(
    "milp", methods.by_selection, cost="one integer program of R binaries", solves=True
)
_MARKET = ("sharing incentive", "envy-free", "Pareto-optimal", "bottleneck", "single-resource")
#: α-fairness also takes guarantees and caps of queues, within which only waste is ruled out.
_WITHOUT_QUEUE_LIMITS = tuple(
    name
    if name == "Pareto-optimal"
    else f"{name} if no queue has a guarantee or a cap and {BY_WEIGHTS}"
    for name in _MARKET
)

ROWS = (
    Mechanism(
        "njc",
        "No justified complaints (entitlements and bottlenecks)",
        "Dolev et al., ITCS 2012; Gutman and Nisan, AAMAS 2012",
        complaints.njc,
        normalisers.dominant,
        (EISENBERG_GALE, INTERIOR_POINT, CONVEX, BEST_FAIR),
        _MARKET,
        (ONE_SERVER, NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=("criterion",),
        prove=functools.partial(in_floats, judge=methods.judge),
        level_1_of=methods.level_1_of,
        entitled=True,
        agrees_by_proof=True,  # several allocations are without complaints
        limits="always",  # a request is a limit
    ),
    Mechanism(
        "ceei",
        "Proportional fairness (competitive equilibrium from given incomes)",
        "Eisenberg and Gale, 1959; Varian, 1974",
        proportional.ceei,
        normalisers.containerized,
        (
            replace(EISENBERG_GALE, run=ceei.one_server),
            replace(by_interior_points(ceei.convex), pays=None),
            replace(CONVEX, run=ceei.convex),
        ),
        _MARKET,
        (NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        prove=functools.partial(in_floats, judge=ceei.judge),
        level_1_of=ceei.level_1_of,
        entitled=True,
        agrees_by_proof=True,
    ),
    Mechanism(
        "partial-allocation",
        "Partial allocation (a part of proportional fairness, so that no lie pays)",
        f"{partial_allocation.SOURCE}; {gavel.SOURCE}; {gavel.THEMIS}",
        partial_allocation.partial_allocation,
        normalisers.containerized,
        (
            Method("markets", partial.by_markets, cost="N + 1 markets"),
            Method("convex", partial.convex, cost="one convex program of N² users", solves=True),
        ),
        ("strategy-proof",),
        (
            ONE_WEIGHT,
            NO_LIMITS,
            NO_QUEUE_LIMITS,
            Domain("entitled users", partial.entitled_to_nothing),
        ),
        prove=functools.partial(in_floats, judge=partial.judge),
        entitled=True,
        agrees_by_proof=True,
        compared=False,
        region=partial.own_time,
        reports_rates=True,
    ),
    Mechanism(
        "alpha-fair",
        "α-fairness of dominant shares, from the largest total to max-min (alpha=1: proportional)",
        SOURCE,
        alpha_fair,
        normalisers.dominant,
        (
            replace(
                by_interior_points(alpha_fairness.optimum),
                options=None,
                pays=None,
                applies=lambda instance: not instance.tree.capped.any(),
                needs="no caps of queues",
            ),
            replace(CONVEX, run=alpha_fairness.optimum, options=None),
        ),
        _WITHOUT_QUEUE_LIMITS,
        (NO_RATES,),
        options=("alpha",),
        prove=alpha_fairness.prove,
        agrees_by_proof=True,
        compared=False,
    ),
)
