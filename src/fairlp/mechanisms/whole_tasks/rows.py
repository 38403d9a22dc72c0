"""The rows of the table for whole tasks: on one server, and placed on many."""

from __future__ import annotations

from functools import partial

from ...formulations import normalisers, whole_goods, whole_tasks
from ...formulations.hierarchical import at_level_1
from ..mechanism import (
    BY_WEIGHTS,
    EQUAL_WEIGHTS,
    NO_CONSTRAINTS,
    NO_GUARANTEES,
    NO_QUEUE_LIMITS,
    NO_RATES,
    ONE_SERVER,
    ONE_SIZE,
    ONE_WEIGHT,
    Mechanism,
    Method,
)
from . import karma, methods, nash
from .proof import prove_discrete_leximin, prove_karma, prove_placement

FAST = Method(
    "fast", methods.fast_filling, options=("rule", "ties"), cost="O(NR) a pass, a few passes"
)
LOOP = Method("loop", methods.loop_filling, cost="O(R + log N) a task")
FAST_MINMAX = Method(
    "fast", partial(methods.fast_filling, offset=1), options=("ties",), cost=FAST.cost
)
LOOP_MINMAX = Method("loop", partial(methods.loop_filling, offset=1), cost=LOOP.cost)
EXACT = Method("exact", methods.exact_floors, cost="O(NR)")
FLOATING = Method("floating-point", methods.floating_point, cost="O(NR)")
CYCLES_LP = Method("lp", methods.by_lp, cost="one LP of one variable", solves=True)
MILP = Method("milp", methods.leximin_milp, cost="two integer programs a level", solves=True)
NASH = Method(
    "milp",
    nash.nash_milp,
    cost="one integer program, users × single servers integers and a binary a task",
    solves=True,
)

_COST_ON_TREE = "O(log N) a task, O(N + queues·kinks) a user who leaves"

#: Weights that differ leave nothing to compare up to one good.
_EQUAL_PARTS = f"all weights are equal and {BY_WEIGHTS}"
_UP_TO_ONE_TASK = f"envy-free up to one task of the other if {_EQUAL_PARTS} (ours)"
_EF1 = "EF1 if a task needs at most one unit of each resource and all weights are equal (ours)"
_WANG = "Wang, Li and Liang, INFOCOM 2014"


def _placement(
    policy: str,
    name: str,
    title: str,
    source: str,
    options: tuple[str, ...] = ("ties",),
) -> Mechanism:
    """Return the row of a policy that places whole tasks on servers."""
    return Mechanism(
        name,
        title,
        source,
        None,
        normalisers.dominant,
        (Method("placement", partial(methods.placed, policy=policy), cost="O(SR + log N) a task"),),
        (),
        (NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=options,
        prove=partial(prove_placement, policy=policy),
        compared=False,
        whole_tasks=True,
    )


ROWS = (
    Mechanism(
        "drf-discrete",
        "DRF with whole tasks (progressive filling)",
        "Ghodsi et al., NSDI 2011, Algorithm 1",
        whole_tasks.whole_tasks,
        normalisers.dominant,
        (FAST, LOOP),
        ("Pareto-optimal", _UP_TO_ONE_TASK, _EF1),
        (ONE_SERVER, NO_RATES, NO_QUEUE_LIMITS),
        options=("rule", "ties", "trace"),
        whole_tasks=True,
    ),
    Mechanism(
        "h-drf-counted-whole",
        "Hierarchical DRF with satisfied leaves counted, whole tasks",
        "fairlp; after Bhattacharya et al., SoCC 2013",
        None,
        normalisers.dominant,
        (Method("loop", partial(methods.on_tree, counted=True), cost=_COST_ON_TREE),),
        ("caps kept",),
        (ONE_SERVER, NO_RATES, ONE_WEIGHT, NO_GUARANTEES),
        options=("ties",),
        at_level_1=at_level_1,
        along_tree=True,
        compared=False,
    ),
    Mechanism(
        "h-drf-discrete",
        "Hierarchical DRF with whole tasks (progressive filling along the tree)",
        "Bhattacharya et al., SoCC 2013",
        None,
        normalisers.dominant,
        (Method("loop", methods.on_tree, cost=_COST_ON_TREE),),
        ("caps kept (ours)",),
        (ONE_SERVER, NO_RATES, ONE_WEIGHT, NO_GUARANTEES),
        options=("ties",),
        at_level_1=at_level_1,
        along_tree=True,
        compared=False,
        whole_tasks=True,
    ),
    Mechanism(
        "h-drf-naive",
        "A naive tree of shares (whole tasks), to compare h-drf with",
        "Bhattacharya et al., SoCC 2013, §3",
        None,
        normalisers.dominant,
        (Method("loop", methods.naive_tree, cost="O(Q + log N) a task, O(NR + Q) one that ends"),),
        ("caps kept (ours)",),
        (ONE_SERVER, NO_RATES, ONE_WEIGHT, NO_GUARANTEES),
        options=("turnover",),
        at_level_1=at_level_1,
        along_tree=True,
        compared=False,
        whole_tasks=True,
    ),
    Mechanism(
        "drf-milp",
        "DRF with whole tasks, leximin-optimal (integer programs; small instances)",
        "Ghodsi et al., NSDI 2011, §4; leximin over whole tasks",
        whole_tasks.whole_tasks,
        normalisers.dominant,
        (MILP,),
        ("Pareto-optimal", _UP_TO_ONE_TASK, _EF1),
        (ONE_SERVER, NO_RATES, NO_QUEUE_LIMITS),
        prove=prove_discrete_leximin,
        compared=False,
        agrees_by_proof=True,  # several allocations have the same sorted levels
        whole_tasks=True,
    ),
    Mechanism(
        "mnw",
        "Maximum Nash welfare with whole tasks (the largest product; small instances)",
        whole_goods.SOURCE,
        whole_goods.maximum_nash_welfare,
        normalisers.dominant,
        (NASH,),
        ("Pareto-optimal", _EF1),
        (NO_RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        prove=nash.prove,
        compared=False,
        agrees_by_proof=True,  # several allocations have the largest product
        whole_tasks=True,
    ),
    Mechanism(
        "pdrf",
        "Precomputed DRF",
        "Metin, Precomputed Dominant Resource Fairness, Algorithm 1",
        whole_tasks.precomputed_drf,
        normalisers.dominant,
        (EXACT, FLOATING, CYCLES_LP),
        (),
        (ONE_SERVER, NO_RATES, NO_QUEUE_LIMITS),
        options=("divisible", "repair", "higher_order", "ties"),
        whole_tasks=True,
    ),
    Mechanism(
        "sequential-minmax",
        "Sequential Minmax (whole tasks)",
        "Parkes, Procaccia and Shah, EC 2012, §5",
        None,
        normalisers.dominant,
        (FAST_MINMAX, LOOP_MINMAX),
        (
            "Pareto-optimal",
            f"envy-free up to one own task if {_EQUAL_PARTS}",
            "maximin share if all weights are equal (ours)",
        ),
        (ONE_SERVER, NO_RATES, NO_QUEUE_LIMITS),
        options=("ties", "trace"),
        whole_tasks=True,
    ),
    _placement(
        "first-fit",
        "drfh-first-fit",
        "First-Fit DRFH (whole tasks; the first server that fits)",
        f"{_WANG}, §V-B",
    ),
    _placement(
        "best-fit",
        "drfh-best-fit",
        "Best-Fit DRFH (whole tasks; the server most like the task)",
        f"{_WANG}, §V-B, eq. (9)",
        options=("ties", "unit"),
    ),
    _placement(
        "slots",
        "slots",
        "Slots (every server cut into equal slots, one a task)",
        f"Hadoop's fair scheduler; {_WANG}, §VI",
        options=("ties", "slots"),
    ),
    Mechanism(
        "karma",
        "Karma (whole slices of a quantum by credits, which users earn when others use what they "
        "do not)",
        "Vuppalapati et al., OSDI 2023, Algorithm 1",
        None,
        normalisers.dominant,
        (Method("credits", karma.karma, cost="O(N log C) for credits that are up to C apart"),),
        ("Pareto-optimal if every user has a credit for each slice",),
        (ONE_SERVER, NO_CONSTRAINTS, NO_RATES, NO_QUEUE_LIMITS, EQUAL_WEIGHTS, ONE_SIZE),
        options=("alpha", "credits", "state"),
        prove=prove_karma,
        whole_tasks=True,
        limits="always",  # a task limit is the demand of the quantum
    ),
)
