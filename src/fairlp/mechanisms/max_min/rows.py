"""The rows of the table for max-min fairness: one program (``formulations/max_min.py``), a Γ each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import SolverError, SolverNotAvailableError
from ...formulations import hierarchical, max_min, normalisers
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.problem import effort
from ...models.programs.certificate import Verdict
from ...tolerances import AGREEMENT, DELICATE, UNCERTAIN
from ..mechanism import (
    NO_CONSTRAINTS,
    NO_QUEUE_LIMITS,
    NO_RATES,
    ONE_SERVER,
    ONE_WEIGHT,
    Asked,
    Mechanism,
    Method,
    Tasks,
)
from ..validation import Rationals, by_rounds, differences
from . import rounds
from .methods import by_interior_points, combinatorial, leximin_lp, rounds_table, separate_lp
from .rationals import count_of, of_leximin, of_tree
from .trees import along_tree, either, fill_tree, fill_with_limits, with_limits

# Where floats cannot decide, rationals do, or the answer says so.

#: More eligible pairs of user and server than this are not solved in rationals unasked.
MOST_EXACT = 300


def orders_of_magnitude(instance: Instance, due: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest number that decides who gets what.

    What φΓ tasks of each user (``due``) take of each resource of the pool, what part of them the user could run alone,
    and what part its task limit is.
    """
    who = due > 0
    alone = merge_servers(instance)[0].gamma().sum(axis=1)
    multiple = effort(instance)  # given rates scale what a task needs on a server
    needs = instance.demands[:, None, :] * (1.0 if multiple is None else multiple[:, :, None])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        taken = needs[who] * due[who, None, None] / instance.pool
        parts = (taken, alone[who] / due[who], instance.task_limits[who] / due[who])
    spread = 1.0
    for part in parts:
        some = part[(part > 0) & np.isfinite(part)]
        spread = max(spread, float(some.max()) / float(some.min())) if some.size else spread
    return spread


def _given_spread(instance: Instance) -> float:
    """Return the ratio of the largest to the smallest number of one kind as it was given, whatever it decides."""
    parts = (part[part > 0] for part in (instance.demands, instance.capacities, instance.weights))
    return max(float(part.max() / part.min()) if part.size else 1.0 for part in parts)


def settled(method: Callable[[Asked], Tasks], rationals: Rationals | None = of_leximin) -> Callable[[Asked], Tasks]:
    """Return the method, with its answer settled in rationals where floats cannot decide (or just said to be open)."""

    def settle(asked: Asked) -> Tasks:
        due = asked.mechanism.due(asked.instance)
        spread = orders_of_magnitude(asked.instance, due)
        outcome, failure = None, None
        try:
            outcome = method(asked)
        except SolverNotAvailableError:
            raise  # no rounding, and no answer that was asked for
        except SolverError as error:
            if spread <= 1 / DELICATE and _given_spread(asked.instance) <= 1 / DELICATE:
                raise
            failure = error
        if spread <= 1 / DELICATE and outcome is not None and outcome.uncertain <= UNCERTAIN:
            return outcome
        verdict, tasks = _in_rationals(asked, rationals)
        if verdict.proved:
            return _of_rationals(asked.instance, outcome, due, verdict, tasks)
        if outcome is None:
            assert failure is not None
            raise failure
        return replace(outcome, unproved=_unproved(spread, outcome.uncertain, verdict))

    return settle


def _in_rationals(asked: Asked, rationals: Rationals | None) -> tuple[Verdict, np.ndarray]:
    """Return the exact levels and tasks, or why there are none."""
    if rationals is None:
        return Verdict(False, "servers are shared one by one"), np.zeros((0, 0))
    instance, none = asked.instance, np.zeros((0, 0))
    pairs = int(merge_servers(instance)[0].runnable().sum())
    if pairs > MOST_EXACT:
        return Verdict(False, f"too large to be solved in rationals, {pairs} pairs of user and server"), none
    try:
        return rationals(asked.mechanism, instance, count_of(asked.parameters))
    except SolverNotAvailableError as error:
        return Verdict(False, str(error)), none


def _of_rationals(
    instance: Instance, outcome: Tasks | None, due: np.ndarray, verdict: Verdict, tasks: np.ndarray
) -> Tasks:
    """Return the exact levels and their tasks; of the outcome what agrees with them, its rounds and prices."""
    levels = np.array([0.0 if level is None else float(level) for level in verdict.levels])
    totals, there = np.minimum(levels * due, instance.task_limits), tasks.sum(axis=1)
    tasks = tasks * np.divide(totals, there, out=np.zeros(len(due)), where=there > 0)[:, None]
    if outcome is not None:
        own = np.divide(outcome.tasks.sum(axis=1), due, out=np.zeros(len(due)), where=due > 0)
        off = float(differences(own, levels).max())
        if off <= AGREEMENT:
            return replace(outcome, tasks=tasks)
    history = [(float(level), np.flatnonzero(levels == level)) for level in np.unique(levels[levels > 0])]
    what = "had no answer" if outcome is None else f"were off by {off:.1e} of a level"
    note = f"rounding decides so much here that floats {what}; the levels are those of exact rationals"
    return Tasks(tasks, rounds=rounds_table(instance, history, tasks), gap=0.0, notes=(note,))


def _unproved(spread: float, uncertain: float, verdict: Verdict) -> str:
    if uncertain > UNCERTAIN:
        why = f"errors of rounding grow from round to round, and levels may be off by {uncertain:.0e} of themselves"
    else:
        small = "what is small beside the rounding of what is large may be wrong in levels of small users"
        why = f"the numbers span {spread:.0e}, and {small}"
    return f"not proved: {why} ({verdict.message})"


_LP = settled(either(leximin_lp, with_limits))
LP = Method("lp", _LP, cost="one LP a round", solves=True)
INTERIOR_POINT = by_interior_points(_LP)
ROUNDS = Method(
    "rounds",
    settled(either(combinatorial(rounds.edrf_rounds), fill_with_limits)),
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
SEPARATE = Method("rounds", settled(combinatorial(rounds.separate_servers), None), cost="O(KNR(R + log N))")
SEPARATE_LP = Method("lp", settled(separate_lp, None), cost="one LP a round and server", solves=True)

TREE_LP = Method("lp", settled(along_tree, of_tree), cost="a few LPs a round", solves=True)
TREE_ROUNDS = Method(
    "rounds",
    settled(fill_tree, of_tree),
    applies=rounds.is_one_server,
    needs="one server",
    cost="O(NR) a round; a round for each resource, cap and task limit at most",
)
COLLAPSED_LP = Method("lp", settled(with_limits), cost="a few LPs a round", solves=True)
COUNT = ("count",)

_FAIR = ("Pareto-optimal", "envy-free", "strategy-proof", "bottleneck", "global bottleneck", "single-resource")
_PLAIN = "all run on one server and nobody has a task limit and no queue has a guarantee or a cap"
_LEAVES, _QUEUES = f"hierarchical share guarantee if {_PLAIN}", f"queue share guarantee if {_PLAIN} (ours)"
_KEPT = ("caps kept (ours)", "guarantees kept (ours)")
_ALONE = "population-monotonic if all demands are positive"

_BHATTACHARYA = "Bhattacharya et al., SoCC 2013"

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
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
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
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
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
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
        by_pairs=True,
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
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
        by_pairs=True,
    ),
    Mechanism(
        "c-drfh",
        "DRFH under placement constraints",
        "Wang, Li and Liang, INFOCOM 2014; Khamse-Ashari et al., ICC 2017, §II",
        max_min.drfh,
        normalisers.dominant,
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "envy-free", "strategy-proof"),
        (NO_RATES,),
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
        by_pairs=True,
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
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
        by_pairs=True,
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
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
        by_pairs=True,
    ),
    Mechanism(
        "naive-drf",
        "DRF on each server separately",
        "Wang, Li and Liang, INFOCOM 2014, §III-D",
        max_min.naive_drf,
        normalisers.separate,
        (SEPARATE, SEPARATE_LP),
        ("sharing incentive",),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
    ),
    Mechanism(
        "h-drf",
        "Hierarchical DRF (along a tree of queues)",
        _BHATTACHARYA,
        hierarchical.h_drf,
        normalisers.dominant,
        (TREE_ROUNDS, by_interior_points(settled(along_tree, of_tree)), TREE_LP),
        (
            "Pareto-optimal",
            _LEAVES,
            _QUEUES,
            *_KEPT,
            "envy-free within queues if no queue has a guarantee or a cap (ours)",
        ),
        (NO_RATES, ONE_WEIGHT),
        options=COUNT,
        prove=partial(by_rounds, rationals=of_tree),
        at_level_1=hierarchical.at_level_1,
        along_tree=True,
    ),
    Mechanism(
        "h-drf-collapsed",
        "DRF on the tree made flat (products of weights), to compare with",
        f"{_BHATTACHARYA}, §3",
        hierarchical.collapsed_drfh,
        normalisers.dominant,
        (ROUNDS, COLLAPSED_LP),
        ("Pareto-optimal", f"{_LEAVES} (ours)", *_KEPT),
        (NO_RATES, ONE_WEIGHT),
        options=COUNT,
        prove=partial(by_rounds, rationals=of_leximin),
        at_level_1=hierarchical.collapsed_at_level_1,
        along_tree=True,
        compared=False,
    ),
)
