"""Audits of a mechanism: what it does when a user leaves, and whether a lie pays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from ..errors import FairlpError
from ..models.instances.arithmetic import quotients, tasks_alone
from ..models.instances.instance import Instance
from ..tolerances import AUDIT
from .findings import AuditCase, Finding, amount

__all__ = ["nearby", "own_use"]

# What searches for lies that pay have in common: which lies are tried, and how one is told of.

#: Times the true demand for one resource: lies that have paid somewhere.
FACTORS = (2.0, 0.5, 1.1, 0.9, 4.0, 0.25, 10.0)
#: Times the largest demand, of a resource that is not needed.
PADS = (0.5, 1.0, 2.0)


def changed(values: np.ndarray, place: Any, value: Any) -> np.ndarray:
    """Return the values with another one at a place."""
    made = values.copy()
    made[place] = value
    return made


def nearby(demand: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a demand near another, most of its entries changed: a step of the local search.

    What is not needed may be claimed, too.
    """
    found = demand * np.exp(rng.normal(0, 0.3, len(demand)) * (rng.random(len(demand)) < 0.7))
    nothing = np.flatnonzero(demand == 0)
    claimed = nothing[rng.random(len(nothing)) < 0.3]
    found[claimed] = demand.max() * rng.choice(PADS, len(claimed))
    return found


def own_use(true: np.ndarray, claimed: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with what one claimed task is given."""
    some = true > 0
    return float((claimed[some] / true[some]).min())


def own_tasks(case: AuditCase, user: int, claimed: np.ndarray, given: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with what ``given`` claimed tasks (by server, shape (K,)) are given.

    A claimed task takes the claimed amounts; where rates are given, so many times these that the
    user, alone on the server, runs its rate: a rate is what a user can do, whatever it claims, so
    that twice the demand is the same claim. Under time division it is then given time, in which it
    runs its own tasks.
    """
    instance = case.instance
    true = case.instance.demands[user]
    use = np.full(len(given), own_use(true, claimed))
    if instance.has_rates:
        alone = tasks_alone(np.stack([true, claimed]), instance.capacities)
        use = np.ones(len(given)) if case.division == "tdm" else use * quotients(alone[1], alone[0])
    if case.added_up:  # what one claimed task is given holds as many on any of the servers of a row
        use = np.floor(use * (1 + AUDIT))
    own = np.where(instance.gamma()[user] > 0, given * use, 0.0)
    if case.whole:
        own = np.floor(own * (1 + AUDIT))
    return min(float(own.sum()), float(instance.task_limits[user]))


def may_claim(instance: Instance, user: int, claimed: np.ndarray) -> bool:
    """Whether a demand can be claimed: where rates say that a user runs tasks, there is what it claims to need."""
    has_rate = instance.gamma(ignore_placement=True)[user] > 0
    fits = tasks_alone(claimed[None], instance.capacities)[0] > 0
    return not instance.has_rates or bool(fits[has_rate].all())


def in_words(instance: Instance, demand: np.ndarray) -> str:
    """Return a claimed demand in words."""
    told = ", ".join(f"{r} {amount(v)}" for r, v in zip(instance.resources, demand, strict=True))
    return f"by claiming to need {told}"


def none_found(tries: int, instance: Instance) -> Finding:
    """Return the finding of a search that came to nothing."""
    rates = (
        ""
        if not instance.has_rates
        else "; lies about the given rates are not tried: they count as known"
    )
    return Finding(
        None, 0.0, f"no lie that pays was found in {tries} tries, which proves nothing{rates}"
    )


NEEDS_MECHANISM = "it takes the mechanism that made the allocation, to run it again; none is known"


def population_monotonic(case: AuditCase) -> Finding:
    """When a user leaves, nobody is worse off. Margin: min of (tasks without it − tasks with it)/Γ[n]."""
    if not case.mechanism:
        return Finding.undefined(NEEDS_MECHANISM)
    count = len(case.instance.users)
    if count < 2:
        return Finding.vacuous("there is nobody whom one user's leaving could hurt")
    worst = np.inf
    witness = ""
    for leaver in range(count):
        stay = np.delete(np.arange(count), leaver)
        rest = case.instance.select_users(stay)
        try:
            after = case.again(rest).totals.to_numpy()
        except FairlpError:
            continue
        change = (after - case.totals[stay]) / case.scale[stay]
        n = int(change.argmin())
        if change[n] < worst:
            worst = change[n]
            witness = (
                f"without {case.name(leaver)}, {case.name(stay[n])} would run {amount(after[n])} "
                "tasks instead of "
                f"{amount(case.totals[stay[n]])}"
            )
    if worst == np.inf:
        return Finding.undefined("the mechanism is not defined for the others alone")
    return Finding.of_margin(worst, witness, "nobody is worse off when another leaves")


def strategy_proof(case: AuditCase) -> Finding:
    """No lie about demands, eligibility or the number of tasks pays. A search: never "holds", only "none found".

    Lies about given rates are not tried: a rate is what a user can do, whatever it claims (see
    ``own_tasks``). Structured lies first (scaled, swapped, padded demands; servers left out), then
    a local search around the best ones, seeded. A liar is handed the amounts that its claimed tasks
    need, on the servers that it claimed, and runs its own tasks with them where it can. Margin:
    −(largest gain in tasks that are of use, over Γ[n]), 0 when none is found.
    """
    if not case.mechanism:
        return Finding.undefined(NEEDS_MECHANISM)
    rng = np.random.default_rng(case.seed)
    tried = [
        (_gain(case, *lie), *lie)
        for lie in islice(_structured(case.instance, rng), case.tries // 2)
    ]
    if not tried:
        return Finding.vacuous("there is no other demand or server to claim")
    for _ in range(case.tries - len(tried)):
        tried.sort(key=lambda lie: -lie[0])
        _, user, demand, eligible = tried[rng.integers(0, min(5, len(tried)))]
        claimed = nearby(demand, rng)
        tried.append((_gain(case, user, claimed, eligible), user, claimed, eligible))
    best_gain, user, demand, eligible = max(tried, key=lambda lie: lie[0])
    if best_gain <= AUDIT:
        return none_found(len(tried), case.instance)
    lie = _lying(case.instance, user, demand, eligible)
    where = "" if (eligible == case.instance.eligible[user]).all() else " and of where it may run"
    more = amount(best_gain * case.alone[user])
    witness = (
        f"{case.name(user)} would run {more} more tasks of its own "
        f"{in_words(case.instance, demand)}{where}"
    )
    return Finding(False, -best_gain, witness, misreport=lie)


def _structured(
    instance: Instance, rng: np.random.Generator
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield lies that have paid somewhere: one resource scaled, another user's demand, fewer servers."""
    users = rng.permutation(len(instance.users)).tolist()
    per_user = []
    for n in users:
        true = instance.demands[n]
        where = instance.eligible[n]
        demands = [
            changed(true, r, true.max() * factor)
            for factor in PADS
            for r in np.flatnonzero(true == 0)
        ]
        demands += [
            changed(true, r, true[r] * factor)
            for factor in FACTORS
            for r in np.flatnonzero(true > 0)
        ]
        demands += [*np.delete(instance.demands, n, axis=0)]
        lies = [(demand, where) for demand in demands]
        if where.sum() > 1:
            for i in np.flatnonzero(where):
                lies += [(true, changed(where, i, False)), (true, np.arange(len(where)) == i)]
        per_user.append(lies)
    for kth in zip_longest(*per_user):
        for n, lie in zip(users, kth, strict=True):
            if lie is not None:
                yield n, *lie


def _lying(instance: Instance, user: int, demand: np.ndarray, eligible: np.ndarray) -> Instance:
    changes: dict[str, object] = {"demands": changed(instance.demands, user, demand)}
    if not (eligible == instance.eligible[user]).all():
        changes |= {"eligible": changed(instance.eligible, user, eligible), "conditions": ()}
    return instance.derived(**changes)


def _gain(case: AuditCase, user: int, demand: np.ndarray, eligible: np.ndarray) -> float:
    """Return what the lie wins the user in tasks of its own, over Γ[n]; −∞ when the mechanism fails on the lie."""
    if case.alone[user] <= 0 or not may_claim(case.instance, user, demand):
        return -np.inf
    try:
        given = case.again(_lying(case.instance, user, demand, eligible)).tasks_array[user]
    except FairlpError:
        return -np.inf
    return float((own_tasks(case, user, demand, given) - case.totals[user]) / case.alone[user])
