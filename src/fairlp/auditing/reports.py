"""Audits of a mechanism: what it does when a user leaves, and whether a lie pays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import FairlpError
from ..models.instances.instance import Instance
from ..tolerances import AUDIT
from .findings import Case, Finding, amount
from .lying import FACTORS, PADS, in_words, may_claim, nearby, none_found, own_tasks

_NEEDS_MECHANISM = "it takes the mechanism that made the allocation, to run it again; none is known"


def population_monotonic(case: Case) -> Finding:
    """When a user leaves, nobody is worse off. Margin: min of (tasks without it − tasks with it)/Γ[n]."""
    if not case.mechanism:
        return Finding.undefined(_NEEDS_MECHANISM)
    count = len(case.instance.users)
    if count < 2:
        return Finding.vacuous("there is nobody whom one user's leaving could hurt")
    worst, witness = np.inf, ""
    for leaver in range(count):
        stay = np.delete(np.arange(count), leaver)
        rest = case.instance.select_users(stay)
        try:
            after = case.again(rest).totals.to_numpy()
        except FairlpError:
            continue
        alone = np.where(case.alone[stay] > 0, case.alone[stay], 1.0)
        change = (after - case.totals[stay]) / alone
        n = int(change.argmin())
        if change[n] < worst:
            worst = float(change[n])
            witness = (
                f"without {case.name(leaver)}, {case.name(stay[n])} would run {amount(after[n])} tasks instead of "
                f"{amount(case.totals[stay[n]])}"
            )
    if worst == np.inf:
        return Finding.undefined("the mechanism is not defined for the others alone")
    return Finding.of_margin(worst, witness, "nobody is worse off when another leaves")


def strategy_proof(case: Case) -> Finding:
    """No lie about demands, eligibility or the number of tasks pays. A search: never "holds", only "none found".

    Lies about given rates are not tried: a rate is what a user can do, whatever it claims (see ``own_tasks``).
    Structured lies first (scaled, swapped, padded demands; servers left out), then a local search around the best ones,
    seeded. A liar is handed the amounts that its claimed tasks need, on the servers that it claimed, and runs its own
    tasks with them where it can. Margin: −(largest gain in tasks that are of use, over Γ[n]), 0 when none is found.
    """
    if not case.mechanism:
        return Finding.undefined(_NEEDS_MECHANISM)
    rng = np.random.default_rng(case.seed)
    tried = 0
    pool: list[tuple[float, int, np.ndarray, np.ndarray]] = []
    for user, demand, eligible in _structured(case.instance, rng, case.tries):
        if tried >= case.tries // 2:
            break
        tried += 1
        gain = _gain(case, user, demand, eligible)
        pool.append((gain, user, demand, eligible))
    while tried < case.tries and pool:
        pool.sort(key=lambda lie: -lie[0])
        _, user, demand, eligible = pool[int(rng.integers(0, min(5, len(pool))))]
        changed = nearby(demand, rng)
        tried += 1
        gain = _gain(case, user, changed, eligible)
        pool.append((gain, user, changed, eligible))
    if not pool:
        return Finding.vacuous("there is no other demand or server to claim")
    if max(pool, key=lambda lie: lie[0])[0] <= AUDIT:
        return none_found(tried, case.instance)
    best_gain, user, demand, eligible = max(pool, key=lambda lie: lie[0])
    lie = _lying(case.instance, user, demand, eligible)
    where = "" if (eligible == case.instance.eligible[user]).all() else " and of where it may run"
    more = amount(best_gain * case.alone[user])
    witness = f"{case.name(user)} would run {more} more tasks of its own {in_words(case.instance, demand)}{where}"
    return Finding(False, -best_gain, witness, misreport=lie)


def _structured(
    instance: Instance, rng: np.random.Generator, most: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield lies that have paid somewhere: one resource scaled, another user's demand, fewer servers."""
    users = rng.permutation(len(instance.users)).tolist()
    eligible = instance.eligible
    per_user: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for n in users:
        true, where = instance.demands[n], eligible[n]
        lies: list[tuple[np.ndarray, np.ndarray]] = []
        for factor in PADS:
            for r in np.flatnonzero(true == 0).tolist():
                demand = true.copy()
                demand[r] = true.max() * factor
                lies.append((demand, where))
        for factor in FACTORS:
            for r in range(len(true)):
                if true[r] > 0:
                    demand = true.copy()
                    demand[r] *= factor
                    lies.append((demand, where))
        lies += [(instance.demands[m].copy(), where) for m in range(len(instance.users)) if m != n]
        for i in np.flatnonzero(where):
            if where.sum() > 1:
                fewer = where.copy()
                fewer[i] = False
                lies.append((true.copy(), fewer))
                only = np.zeros_like(where)
                only[i] = True
                lies.append((true.copy(), only))
        per_user.append(lies)
    for k in range(max(map(len, per_user), default=0)):
        for n, lies in zip(users, per_user, strict=True):
            if k < len(lies):
                yield n, *lies[k]


def _lying(instance: Instance, user: int, demand: np.ndarray, eligible: np.ndarray) -> Instance:
    demands = instance.demands.copy()
    demands[user] = demand
    changes: dict[str, object] = {"demands": demands}
    if not (eligible == instance.eligible[user]).all():
        claimed = instance.eligible.copy()
        claimed[user] = eligible
        changes |= {"eligible": claimed, "conditions": ()}
    return instance.derived(**changes)


def _gain(case: Case, user: int, demand: np.ndarray, eligible: np.ndarray) -> float:
    """Return what the lie wins the user in tasks of its own, over Γ[n]; −∞ when the mechanism fails on the lie."""
    if case.alone[user] <= 0 or not may_claim(case.instance, user, demand):
        return -np.inf
    lie = _lying(case.instance, user, demand, eligible)
    try:
        given = case.again(lie).tasks_array[user]
    except FairlpError:
        return -np.inf
    own = own_tasks(case, user, demand, given)
    return (own - float(case.totals[user])) / float(case.alone[user])
