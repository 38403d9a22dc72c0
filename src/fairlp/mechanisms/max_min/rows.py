"""The table's rows for max-min fairness: one program (``formulations/max_min.py``), a Γ each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...formulations import gavel, hierarchical, max_min, normalisers
from ...formulations.kueue import within_quotas
from ..mechanism import (
    BY_WEIGHTS,
    NO_CONSTRAINTS,
    NO_QUEUE_LIMITS,
    NO_RATES,
    ONE_SERVER,
    ONE_WEIGHT,
    QUOTAS,
    RATES,
    Mechanism,
    Method,
)
from . import kueue, policies, rounds
from .history import PAST
from .ladder import of_leximin, of_tree, settled
from .methods import (
    along_tree,
    by_interior_points,
    combinatorial,
    fill_server,
    fill_tree,
    leximin_lp,
    remembering,
    separate_lp,
    with_limits,
)
from .proof import by_rounds
from .quota_proof import prove_quotas
from .whole import with_whole_tasks

COUNT = ("count",)
_LP = settled(leximin_lp)
LP = Method("lp", _LP, cost="one LP a round", solves=True, merges=True)
INTERIOR_POINT = by_interior_points(_LP)
ROUNDS = Method(
    "rounds",
    settled(fill_server),
    applies=rounds.is_one_server,
    needs="one server",
    cost="O(NR(R + log N))",
)
CLOSED_FORM = Method(
    "closed-form",
    settled(combinatorial(rounds.edrf_closed_form)),
    applies=rounds.closed_form_applies,
    options=COUNT,
    needs="one server, all demands positive, no task limits",
    cost="O(NR)",
)
SEPARATE = Method(
    "rounds", settled(combinatorial(rounds.separate_servers), None), cost="O(KNR(R + log N))"
)
SEPARATE_LP = Method(
    "lp",
    settled(separate_lp, None),
    cost="one LP a round and server",
    solves=True,
    merges=True,
)

TREE_LP = Method(
    "lp",
    settled(along_tree, of_tree, False),
    cost="a few LPs a round",
    solves=True,
    merges=True,
)
TREE_ROUNDS = Method(
    "rounds",
    settled(fill_tree, of_tree, False),
    applies=rounds.is_one_server,
    needs="one server",
    cost="O(NR) a round; a round for each resource, cap and task limit at most",
)
_COUNTED_LP = settled(partial(along_tree, counted=True), partial(of_tree, counted=True), True)
COUNTED_LP = replace(TREE_LP, run=_COUNTED_LP)
COUNTED_ROUNDS = replace(
    TREE_ROUNDS,
    run=settled(partial(fill_tree, counted=True), partial(of_tree, counted=True), True),
    cost="O(NR) a round and kink; a round for each resource, cap and task limit at most",
)
COLLAPSED_LP = Method(
    "lp", settled(with_limits), cost="a few LPs a round", solves=True, merges=True
)
#: A row of a mechanism whose levels are proved in rationals.
_proved_row = partial(Mechanism, options=COUNT, prove=partial(by_rounds, rationals=of_leximin))


def _remembers(row: Mechanism) -> Mechanism:
    """Return the row of a mechanism that also counts the past."""
    methods = tuple(replace(method, run=remembering(method.run)) for method in row.methods)
    return replace(row, methods=methods, options=(*row.options, *PAST))


def _counting_row(*arguments: Any) -> Mechanism:
    """Return the row of a proved mechanism that also counts the past."""
    return _remembers(_proved_row(*arguments))


_NO_PAST = "no past counts"
_NO_QUEUE_LIMITS = "no queue has a guarantee or a cap"
#: What breaks where queues have guarantees or caps, or where the past or entitlements count.
_PLAIN_LEVELS = f"if {_NO_QUEUE_LIMITS} and {_NO_PAST} and {BY_WEIGHTS}"
_ENVY_FREE = f"envy-free {_PLAIN_LEVELS}"
_ENVY_FREE_BY_DEMANDS = f"{_ENVY_FREE} and no rates are given"
_SHARING_INCENTIVE = f"sharing incentive {_PLAIN_LEVELS}"
_GLOBAL_BOTTLENECK = f"global bottleneck {_PLAIN_LEVELS}"
_SINGLE_RESOURCE = f"single-resource {_PLAIN_LEVELS}"
_STRATEGY_PROOF = f"strategy-proof if {_NO_QUEUE_LIMITS}"
_FAIR = (
    "Pareto-optimal",
    _SHARING_INCENTIVE,
    _ENVY_FREE,
    _STRATEGY_PROOF,
    f"bottleneck {_PLAIN_LEVELS}",
    _GLOBAL_BOTTLENECK,
    _SINGLE_RESOURCE,
)
_PLAIN = f"all run on one server and no user has a task limit and {_NO_QUEUE_LIMITS}"
_LEAVES = f"hierarchical share guarantee if {_PLAIN}"
_QUEUES = f"queue share guarantee if {_PLAIN} (ours)"
_NO_LIMITS = f"all run on one server and {_NO_QUEUE_LIMITS}"
_KEPT = ("caps kept (ours)", "guarantees kept (ours)")
_ALONE = f"population-monotonic if all demands are positive and {_NO_QUEUE_LIMITS}"

_OURS = "fairlp; after Bhattacharya et al., SoCC 2013"
_BHATTACHARYA = "Bhattacharya et al., SoCC 2013"

ROWS = (
    _counting_row(
        "drf",
        "Dominant Resource Fairness",
        "Ghodsi et al., NSDI 2011",
        max_min.drf,
        normalisers.dominant,
        (ROUNDS, INTERIOR_POINT, LP),
        (*_FAIR, _ALONE),
        (NO_RATES, ONE_SERVER),
    ),
    _counting_row(
        "edrf",
        "Extended DRF (per-resource weights, zero demands)",
        "Parkes, Procaccia and Shah, EC 2012",
        max_min.edrf,
        normalisers.dominant,
        (CLOSED_FORM, ROUNDS, INTERIOR_POINT, LP),
        (*_FAIR, f"group {_STRATEGY_PROOF}", _ALONE),
        (NO_RATES, ONE_SERVER),
    ),
    with_whole_tasks(
        _counting_row(
            "asset",
            "Asset fairness (equal sums of shares)",
            "Ghodsi et al., NSDI 2011, §4.1",
            max_min.asset,
            normalisers.asset,
            (ROUNDS, INTERIOR_POINT, LP),
            (_ENVY_FREE, _STRATEGY_PROOF, "Pareto-optimal", _SINGLE_RESOURCE, _ALONE),
            (NO_RATES, ONE_WEIGHT),
        ),
        "asset fairness",
    ),
    with_whole_tasks(
        _counting_row(
            "drfh",
            "DRF on heterogeneous servers (global dominant share)",
            "Wang, Li and Liang, INFOCOM 2014",
            max_min.drfh,
            normalisers.dominant,
            (ROUNDS, INTERIOR_POINT, LP),
            (
                _ENVY_FREE,
                "Pareto-optimal",
                _STRATEGY_PROOF,
                _GLOBAL_BOTTLENECK,
                _SINGLE_RESOURCE,
                _ALONE,
            ),
            (NO_RATES,),
        ),
        "DRFH",
    ),
    with_whole_tasks(
        _counting_row(
            "c-drfh",
            "DRFH under placement constraints",
            "Wang, Li and Liang, INFOCOM 2014; Khamse-Ashari et al., ICC 2017, §II",
            max_min.drfh,
            normalisers.dominant,
            (ROUNDS, INTERIOR_POINT, LP),
            ("Pareto-optimal", _ENVY_FREE, _STRATEGY_PROOF),
            (NO_RATES,),
        ),
        "C-DRFH",
    ),
    with_whole_tasks(
        _counting_row(
            "cdrf",
            "Containerised DRF (share of what one could run alone)",
            "Friedman, Ghodsi and Psomas, EC 2014",
            max_min.cdrf,
            normalisers.containerized,
            (ROUNDS, INTERIOR_POINT, LP),
            ("Pareto-optimal", _SHARING_INCENTIVE, _ENVY_FREE_BY_DEMANDS, _STRATEGY_PROOF),
            (NO_CONSTRAINTS, ONE_WEIGHT),
        ),
        "CDRF",
    ),
    with_whole_tasks(
        _counting_row(
            "tsf",
            "Task-share fairness (share of what one could run alone, placement ignored)",
            "Wang et al., SC 2016",
            max_min.tsf,
            normalisers.task_share,
            (ROUNDS, INTERIOR_POINT, LP),
            ("Pareto-optimal", _ENVY_FREE_BY_DEMANDS, _STRATEGY_PROOF),
            (ONE_WEIGHT,),
        ),
        "TSF",
    ),
    Mechanism(
        "gavel",
        "Gavel's policies (throughputs on kinds of accelerators, a job on one at a time)",
        f"{gavel.SOURCE}; {gavel.THEMIS}",
        gavel.gavel,
        normalisers.containerized,
        (Method("lp", policies.by_objective, cost="one LP a round", solves=True),),
        (
            "Pareto-optimal",
            "sharing incentive if an equal part keeps no job busy for more than all its time "
            f"and {BY_WEIGHTS}",
        ),
        (RATES, ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=gavel.OPTIONS,
        agrees_by_proof=True,  # several allocations have the largest total
        prove=policies.prove,
        level_1_of=policies.level_1_of,
        region=gavel.one_kind_at_a_time,
        variant=policies.under,
    ),
    Mechanism(
        "naive-drf",
        "DRF on each server separately",
        "Wang, Li and Liang, INFOCOM 2014, §III-D",
        max_min.naive_drf,
        normalisers.separate,
        (SEPARATE, SEPARATE_LP),
        (f"sharing incentive if {BY_WEIGHTS}",),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
    ),
    Mechanism(
        "h-drf",
        "Hierarchical DRF (along a tree of queues)",
        _BHATTACHARYA,
        hierarchical.h_drf,
        normalisers.dominant,
        (TREE_ROUNDS, by_interior_points(settled(along_tree, of_tree, False)), TREE_LP),
        (
            "Pareto-optimal",
            _LEAVES,
            _QUEUES,
            *_KEPT,
            f"envy-free within queues if {_NO_QUEUE_LIMITS} and {BY_WEIGHTS} (ours)",
        ),
        (NO_RATES, ONE_WEIGHT),
        options=COUNT,
        prove=partial(by_rounds, rationals=of_tree, counted=False),
        at_level_1=hierarchical.at_level_1,
        along_tree=True,
    ),
    Mechanism(
        "kueue",
        "Quotas with borrowing and lending (dominant resource shares along cohorts)",
        "Kueue, KEP-1714",
        kueue.formulation,
        normalisers.dominant,
        (
            Method(
                "lp",
                kueue.share_quotas,
                cost="a few LPs a round; a round for each queue at most",
                solves=True,
            ),
        ),
        ("Pareto-optimal if no resource has several flavors (ours)", "caps kept (ours)"),
        (NO_RATES, ONE_WEIGHT, QUOTAS),
        prove=prove_quotas,
        along_tree=True,
        region=within_quotas,
    ),
    _remembers(
        Mechanism(
            "h-drf-counted",
            "Hierarchical DRF with satisfied leaves counted for their queues",
            _OURS,
            hierarchical.h_drf_counted,
            normalisers.dominant,
            (COUNTED_ROUNDS, by_interior_points(_COUNTED_LP), COUNTED_LP),
            (
                "Pareto-optimal",
                f"hierarchical share guarantee if {_NO_LIMITS} and {_NO_PAST}",
                f"queue share guarantee if {_NO_LIMITS} and {_NO_PAST}",
                "caps kept",
                "guarantees kept",
                f"envy-free within queues {_PLAIN_LEVELS}",
            ),
            (NO_RATES, ONE_WEIGHT),
            options=COUNT,
            prove=partial(by_rounds, rationals=partial(of_tree, counted=True), counted=True),
            at_level_1=hierarchical.at_level_1,
            along_tree=True,
        ),
    ),
    _proved_row(
        "h-drf-collapsed",
        "DRF on the tree made flat (products of weights), to compare with",
        f"{_BHATTACHARYA}, §3",
        hierarchical.collapsed_drfh,
        normalisers.dominant,
        (ROUNDS, COLLAPSED_LP),
        ("Pareto-optimal", f"{_LEAVES} (ours)", *_KEPT),
        (NO_RATES, ONE_WEIGHT),
        at_level_1=hierarchical.collapsed_at_level_1,
        along_tree=True,
        compared=False,
    ),
)
