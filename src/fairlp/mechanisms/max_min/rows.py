"""The rows of the table for max-min fairness: one program (``formulations/max_min.py``), a Γ each."""

from __future__ import annotations

from ...formulations import max_min, normalisers
from ..certificates import by_rounds
from ..domains import NO_CONSTRAINTS, NO_RATES, ONE_SERVER, ONE_WEIGHT
from ..mechanism import Mechanism, Method
from . import rounds
from .methods import by_interior_points, combinatorial, leximin_lp, separate_lp
from .settling import settled

LP = Method("lp", settled(leximin_lp), cost="one LP a round", solves=True)
INTERIOR_POINT = by_interior_points(settled(leximin_lp))
ROUNDS = Method(
    "rounds",
    settled(combinatorial(rounds.edrf_rounds)),
    applies=rounds.is_one_server,
    needs="one server",
    cost="O(NR(R + log N))",
)
CLOSED_FORM = Method(
    "closed-form",
    settled(combinatorial(rounds.edrf_closed_form)),
    applies=rounds.closed_form_applies,
    needs="one server, all demands positive, no task limits",
    cost="O(NR)",
)
SEPARATE = Method("rounds", settled(combinatorial(rounds.separate_servers), rationals=False), cost="O(KNR(R + log N))")
SEPARATE_LP = Method("lp", settled(separate_lp, rationals=False), cost="one LP a round and server", solves=True)

_FAIR = ("Pareto-optimal", "envy-free", "strategy-proof", "bottleneck", "global bottleneck", "single-resource")
_ALONE = "population-monotonic if all demands are positive"

ROWS = (
    Mechanism(
        "drf",
        "Dominant Resource Fairness",
        "Ghodsi et al., NSDI 2011",
        max_min.drf,
        normalisers.dominant,
        (ROUNDS, INTERIOR_POINT, LP),
        ("sharing incentive", *_FAIR, _ALONE),
        (NO_RATES, ONE_SERVER),
        prove=by_rounds,
    ),
    Mechanism(
        "edrf",
        "Extended DRF (per-resource weights, zero demands)",
        "Parkes, Procaccia and Shah, EC 2012",
        max_min.edrf,
        normalisers.dominant,
        (CLOSED_FORM, ROUNDS, INTERIOR_POINT, LP),
        ("sharing incentive", *_FAIR, _ALONE),
        (NO_RATES, ONE_SERVER),
        prove=by_rounds,
    ),
    Mechanism(
        "asset",
        "Asset fairness (equal sums of shares)",
        "Ghodsi et al., NSDI 2011, §4.1",
        max_min.asset,
        normalisers.asset,
        (ROUNDS, INTERIOR_POINT, LP),
        ("envy-free", "strategy-proof", "Pareto-optimal", "single-resource", _ALONE),
        (NO_RATES, ONE_WEIGHT),
        prove=by_rounds,
    ),
    Mechanism(
        "drfh",
        "DRF on heterogeneous servers (global dominant share)",
        "Wang, Li and Liang, INFOCOM 2014",
        max_min.drfh,
        normalisers.dominant,
        (ROUNDS, INTERIOR_POINT, LP),
        ("envy-free", "Pareto-optimal", "strategy-proof", "global bottleneck", "single-resource", _ALONE),
        (NO_RATES,),
        prove=by_rounds,
    ),
    Mechanism(
        "c-drfh",
        "DRFH under placement constraints",
        "Wang, Li and Liang; Khamse-Ashari et al., ICC 2017, §II",
        max_min.drfh,
        normalisers.dominant,
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "envy-free", "strategy-proof"),
        (NO_RATES,),
        prove=by_rounds,
    ),
    Mechanism(
        "cdrf",
        "Containerised DRF (share of what one could run alone)",
        "Friedman, Ghodsi and Psomas, EC 2014",
        max_min.cdrf,
        normalisers.containerized,
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "sharing incentive", "envy-free", "strategy-proof"),
        (NO_CONSTRAINTS, ONE_WEIGHT),
        prove=by_rounds,
    ),
    Mechanism(
        "tsf",
        "Task-share fairness under placement constraints",
        "Wang et al., SC 2016",
        max_min.tsf,
        normalisers.task_share,
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "envy-free", "strategy-proof"),
        (ONE_WEIGHT,),
        prove=by_rounds,
    ),
    Mechanism(
        "naive-drf",
        "DRF on each server separately",
        "Wang, Li and Liang, INFOCOM 2014, §III-D",
        max_min.naive_drf,
        normalisers.separate,
        (SEPARATE, SEPARATE_LP),
        ("sharing incentive",),
        (ONE_WEIGHT,),
    ),
)
