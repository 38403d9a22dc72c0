"""The rows of the table for entitlements and bottlenecks: no justified complaints, proportional and α-fairness."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...formulations import complaints, normalisers, proportional
from ...formulations.alpha_fair import SOURCE, alpha_fair
from ..certificates import in_floats
from ..domains import NO_QUEUE_LIMITS, NO_RATES, ONE_SERVER, ONE_WEIGHT
from ..max_min.methods import by_interior_points
from ..max_min.rounds import is_one_server
from ..mechanism import Mechanism, Method
from ..table import find
from . import alpha_fairness, methods
from . import proportional as ceei
from .validation import check_alpha_fair, check_ceei, check_njc

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
BEST_FAIR = Method("milp", methods.by_selection, cost="one integer program of R binaries", solves=True)
CANDIDATES = Method("candidates", methods.by_candidates, cost="up to 2^R linear programs", solves=True)
TRAJECTORY = Method("trajectory", methods.by_integration, options=(), cost="O(NR²) a step, hundreds of steps")
NEWTON = Method("newton", methods.by_newton, options=(), cost="O(NR²) a step, hundreds of steps")

#: what α-fairness tends to
DRFH = find("drfh")
ALPHA_FAIR = partial(alpha_fairness.optimum, limit=DRFH)

_MARKET = ("sharing incentive", "envy-free", "Pareto-optimal", "bottleneck", "single-resource")

ROWS = (
    Mechanism(
        "njc",
        "No justified complaints (entitlements and bottlenecks)",
        "Dolev et al., ITCS 2012; Gutman and Nisan, AAMAS 2012",
        complaints.njc,
        normalisers.dominant,
        (EISENBERG_GALE, INTERIOR_POINT, CONVEX, BEST_FAIR, CANDIDATES, TRAJECTORY, NEWTON),
        _MARKET,
        (ONE_SERVER, NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=("criterion",),
        validate=check_njc,
        prove=partial(in_floats, judge=methods.judge),
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
        validate=check_ceei,
        prove=partial(in_floats, judge=partial(alpha_fairness.judge_proportional, limit=DRFH)),
    ),
    Mechanism(
        "alpha-fair",
        "α-fairness of dominant shares, from the largest total to max-min (alpha=1: proportional)",
        SOURCE,
        alpha_fair,
        normalisers.dominant,
        (
            replace(
                by_interior_points(ALPHA_FAIR),
                options=None,
                pays=None,
                applies=lambda instance: instance.queues is None or not instance.queues.capped.any(),
                needs="no caps of queues",
            ),
            replace(CONVEX, run=ALPHA_FAIR, options=None),
        ),
        _MARKET,
        (NO_RATES,),
        options=("alpha",),
        validate=partial(check_alpha_fair, limit=DRFH),
        prove=partial(alpha_fairness.prove, limit=DRFH),
        compared=False,
    ),
)
