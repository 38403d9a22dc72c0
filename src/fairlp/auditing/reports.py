"""Audits of a mechanism: what it does when a user leaves, and whether a lie pays."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice, takewhile, zip_longest
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from ..errors import FairlpError
from ..mechanisms.table import TABLE
from ..models.instances.arithmetic import quotients, tasks_alone
from ..models.instances.instance import Instance
from ..models.instances.requests import remaining_users
from ..tolerances import AUDIT
from . import rate_lies
from .findings import AuditCase, Finding, amount, changed, searched
from .price_bounds import PriceBounds

__all__ = ["nearby", "own_use"]

# Searches for lies that pay: the lies that they try, and the words for one.

#: Times the true demand for one resource: lies that have paid somewhere.
FACTORS = (2.0, 0.5, 1.1, 0.9, 4.0, 0.25, 10.0)
#: Times the largest demand, of a resource that is not needed.
PADS = (0.5, 1.0, 2.0)

#: Part of the steps of the local search that also claim, or deny, a server.
SERVERS_CLAIMED = 0.2
#: Most users who lie together.
COALITION = 3

#: With so few lies to try, the run for prices would not pay.
_FEW_LIES = 2
#: Servers that a witness names.
_SERVERS_NAMED = 5

#: Gain of a lie over Γ[n], user, claimed demand, claimed eligible servers.
Lie: TypeAlias = tuple[float, int, np.ndarray, np.ndarray]


def nearby(demand: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a demand near another, most of its entries changed: a step of the local search.

    What is not needed may be claimed, too.
    """
    changes = rng.normal(0, 0.3, len(demand))
    is_changed = rng.random(len(demand)) < 0.7
    claimed = demand * np.exp(changes * is_changed)
    not_needed = np.flatnonzero(demand == 0)
    padded = not_needed[rng.random(len(not_needed)) < 0.3]
    claimed[padded] = demand.max() * rng.choice(PADS, len(padded))
    return claimed


def nearby_servers(eligible: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the claimed servers of the next lie: now and then one more or one less.

    A user claims at least one server.
    """
    if len(eligible) == 1 or rng.random() >= SERVERS_CLAIMED:
        return eligible
    server = int(rng.integers(len(eligible)))
    claimed = changed(eligible, server, not eligible[server])
    return claimed if claimed.any() else eligible


def own_use(true: np.ndarray, claimed: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with what one claimed task is given."""
    some = true > 0
    return float((claimed[some] / true[some]).min())


def own_tasks(case: AuditCase, user: int, claimed: np.ndarray, claimed_tasks: np.ndarray) -> float:
    """Return how many of its own tasks a liar runs with the amounts of its claimed tasks.

    ``claimed_tasks`` are those by server, shape (K,). A claimed task takes the claimed amounts.
    Where rates are given, it takes so many times these that the user, alone on the server, runs its
    rate: a rate does not depend on the claim, so that twice the demand is the same claim. Under
    time division the user gets time, in which it runs its own tasks.
    """
    instance = case.instance
    true = case.instance.demands[user]
    use = np.full(len(claimed_tasks), own_use(true, claimed))
    if instance.has_rates:
        alone = tasks_alone(np.stack([true, claimed]), instance.capacities)
        use = (
            np.ones(len(claimed_tasks))
            if case.division == "tdm"
            else use * quotients(alone[1], alone[0])
        )
    if case.added_up:  # what one claimed task is given holds as many on any of the servers of a row
        use = np.floor(use * (1 + AUDIT))
    tasks = np.where(case.gamma[user] > 0, claimed_tasks * use, 0.0)
    if case.whole:
        tasks = np.floor(tasks * (1 + AUDIT))
    return min(float(tasks.sum()), float(instance.task_limits[user]))


def may_claim(instance: Instance, user: int, claimed: np.ndarray) -> bool:
    """Whether a demand can be claimed: servers with a rate have what it claims to need."""
    if not instance.has_rates:
        return True
    has_rate = instance.gamma(ignore_placement=True)[user] > 0
    fits = tasks_alone(claimed[None], instance.capacities)[0] > 0
    return bool(fits[has_rate].all())


def in_words(
    instance: Instance, user: int, demand: np.ndarray, eligible: np.ndarray | None = None
) -> str:
    """Return the lie of a user in words: the demands and servers that are not the true ones."""
    true_demand = instance.demands[user]
    needs = [
        f"{instance.resources[r]} {amount(demand[r])} instead of {amount(true_demand[r])}"
        for r in np.flatnonzero(demand != true_demand).tolist()
    ]
    claims = [f"to need {', '.join(needs)}"] if needs else []
    true_eligible = instance.eligible[user]
    if eligible is not None and (eligible != true_eligible).any():
        claims.append(_claimed_servers(instance, true_eligible, eligible))
    return f"by claiming {' and '.join(claims)}" if claims else "by the truth"


def _claimed_servers(instance: Instance, true: np.ndarray, claimed: np.ndarray) -> str:
    """Return the servers that a liar claims to run on, or not to run on: the shorter list."""
    denied = np.flatnonzero(true & ~claimed)
    added = np.flatnonzero(claimed & ~true)
    remaining = np.flatnonzero(claimed)
    if len(remaining) < len(denied) + len(added):
        return f"to run on {_servers(instance, remaining)} only"
    claims = []
    if added.size:
        claims.append(f"to run on {_servers(instance, added)} as well")
    if denied.size:
        claims.append(f"not to run on {_servers(instance, denied)}")
    return " and ".join(claims)


def _servers(instance: Instance, positions: np.ndarray) -> str:
    """Return the labels of servers, the first few of many."""
    labels = [repr(instance.servers[i]) for i in positions[:_SERVERS_NAMED].tolist()]
    others = len(positions) - len(labels)
    return ", ".join(labels) + (f" and {others} more servers" if others else "")


def none_found(tries: int, instance: Instance) -> Finding:
    """Return the finding of a search that came to nothing."""
    rates = (
        ""
        if not instance.has_rates
        else "; lies about the given rates are not tried: they count as known"
    )
    return Finding(None, 0.0, f"no lie that pays was found in {tries} tries; others may pay{rates}")


NEEDS_MECHANISM = "it takes the mechanism that made the allocation, to run it again; none is known"


def population_monotonic(case: AuditCase) -> Finding:
    """When a user leaves, no other is worse off.

    Margin: min of (tasks without it − tasks with it)/Γ[n].
    """
    if not case.mechanism:
        return Finding.undefined(NEEDS_MECHANISM)
    count = len(case.instance.users)
    if count < 2:
        return Finding.vacuous("there is no user whom another's leaving could hurt")
    smallest_change = np.inf
    witness = ""
    is_whole = True
    for leaver in range(count):
        if case.deadline.has_passed:
            is_whole = False
            break
        remaining = np.delete(np.arange(count), leaver)
        try:
            after = case.again(remaining_users(case.instance, remaining)).totals.to_numpy()
        except FairlpError:
            continue
        before = case.totals[remaining]
        change = (after - before) / case.scale[remaining]
        n = int(change.argmin())
        if change[n] < smallest_change:
            smallest_change = change[n]
            witness = (
                f"without {case.name(leaver)}, {case.name(remaining[n])} would run "
                f"{amount(after[n])} tasks instead of {amount(before[n])}"
            )
    if not is_whole and smallest_change >= -AUDIT:
        return Finding.undefined("the time limit ended it before each user had left once")
    if smallest_change == np.inf:
        return Finding.undefined("the mechanism is not defined for the others alone")
    return Finding.of_margin(smallest_change, witness, "no user is worse off when another leaves")


def strategy_proof(case: AuditCase) -> Finding:
    """No lie about demands, eligibility or the number of tasks pays: a search.

    It never says "holds", only that it finds no lie. A lie that cannot pay as prices tell (see
    :mod:`.price_bounds`) is not run. It does not try lies about given rates: a rate
    is what a user can do, whatever it claims (see ``own_tasks``). Where users report their rates
    (``oef``), lies about these are tried in their place. Structured lies first (scaled,
    swapped, padded demands; servers left out), then a local search around the best ones, seeded. A
    liar gets the amounts that its claimed tasks need, on the servers that it claimed, and runs its
    own tasks with them where it can. Margin: −(largest gain in tasks that are of use, over Γ[n]), 0
    without one.
    """
    if not case.mechanism:
        return Finding.undefined(NEEDS_MECHANISM)
    row = TABLE.get(case.mechanism)
    if row is not None and row.reports_rates and case.instance.has_rates:
        return rate_lies.strategy_proof(case)
    tried = tried_lies(case)
    if not tried and not case.deadline.has_passed:
        return Finding.vacuous("there is no other demand or server to claim")
    return finding_of_lies(case, tried)


def group_strategy_proof(case: AuditCase) -> Finding:
    """No common lie of a group of users pays each of them (a search); one user is a group, too.

    Along a tree of queues the users of a group stand below one queue.

    Margin: −(smallest gain / Γ[n]).
    """
    if not case.mechanism:
        return Finding.undefined(NEEDS_MECHANISM)
    rng = np.random.default_rng(case.seed)
    below = case.instance.tree.below
    users_below = [below[[v]].nonzero()[1] for v in range(below.shape[0])]
    groups = [np.sort(users) for users in users_below if len(users) > 1]
    if not groups:
        return Finding.vacuous("no queue has two users")

    # Half of the tries: random groups with random lies
    tried = 0
    while tried < case.tries // 2 and not case.deadline.has_passed:
        tried += 1
        group = groups[rng.integers(len(groups))]
        size = rng.integers(2, min(COALITION, len(group)) + 1)
        finding = _common_lie(case, rng.choice(group, size=size, replace=False), rng)
        if finding is not None:
            return finding

    # The others: single users
    single_lies = tried_lies(replace(case, tries=case.tries - case.tries // 2))
    single = finding_of_lies(case, single_lies)
    tried += len(single_lies)
    return single if single.holds is False else none_found(tried, case.instance)


def _common_lie(case: AuditCase, liars: np.ndarray, rng: np.random.Generator) -> Finding | None:
    """Return the finding of a random lie of several users; None unless each of them gains."""
    instance = case.instance
    demands = instance.demands.copy()
    eligible = instance.eligible.copy()
    for n in liars:
        demands[n] = nearby(instance.demands[n], rng)
        eligible[n] = nearby_servers(instance.eligible[n], rng)
    if (case.alone[liars] <= 0).any():
        return None
    if not all(may_claim(instance, n, demands[n]) for n in liars):
        return None
    try:
        lie = _as_claimed(instance, demands, eligible)
        tasks = case.again(lie).tasks_array
    except FairlpError:
        return None
    totals = np.array([own_tasks(case, n, demands[n], tasks[n]) for n in liars])
    smallest_gain = ((totals - case.totals[liars]) / case.alone[liars]).min()
    if smallest_gain <= AUDIT:
        return None
    names = " and ".join(case.name(n) for n in liars)
    claims = " and ".join(in_words(instance, n, demands[n], eligible[n]) for n in liars)
    witness = f"{names} would each run more tasks of their own {claims}"
    return Finding(False, -float(smallest_gain), witness, misreport=lie)


def tried_lies(case: AuditCase) -> list[Lie]:
    """Return the lies that are tried while there is time; none where there is nothing to claim.

    The mechanism runs once for each different lie, but for those that cannot pay as prices tell.
    """
    rng = np.random.default_rng(case.seed)
    gains: dict[tuple[int, bytes, bytes], float] = {}
    bounds = PriceBounds.of(case) if case.tries > _FEW_LIES else None

    def tried_lie(user: int, demand: np.ndarray, eligible: np.ndarray) -> Lie:
        key = (user, demand.tobytes(), eligible.tobytes())
        if key not in gains:
            gains[key] = _gain(case, bounds, user, demand, eligible)
        return gains[key], user, demand, eligible

    # Structured lies, of all users in turn
    users = rng.permutation(len(case.totals)).tolist()
    by_user = [_structured(case.instance, user, rng) for user in users]
    lies = islice(filter(None, chain.from_iterable(zip_longest(*by_user))), case.tries // 2)
    in_time = takewhile(lambda lie: not case.deadline.has_passed, lies)
    tried = [tried_lie(*lie) for lie in in_time]

    def near(lie: Lie) -> Lie:
        _, user, demand, eligible = lie
        claimed = nearby(demand, rng)
        return tried_lie(user, claimed, nearby_servers(eligible, rng))

    return searched(tried, near, case.tries, rng, case.deadline)


def finding_of_lies(case: AuditCase, tried: list[Lie]) -> Finding:
    """Return the finding of a search that tried these lies."""
    best_lie = max(tried, key=itemgetter(0), default=None)
    if best_lie is None or best_lie[0] <= AUDIT:
        return none_found(len(tried), case.instance)
    best_gain, user, demand, eligible = best_lie
    gain = amount(best_gain * case.alone[user])
    witness = (
        f"{case.name(user)} would run {gain} more tasks of its own "
        f"{in_words(case.instance, user, demand, eligible)}"
    )
    misreport = _lying(case.instance, user, demand, eligible)
    return Finding(False, -best_gain, witness, misreport=misreport)


def _structured(
    instance: Instance, user: int, rng: np.random.Generator
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Return lies that paid elsewhere, in random order: demands and servers that a user may claim.

    A resource is scaled, the demand is another's, or servers are denied or added.
    """
    demand = instance.demands[user]
    eligible = instance.eligible[user]
    claims = []
    for factor in PADS:
        padding = demand.max() * factor
        not_needed = np.flatnonzero(demand == 0)
        claims += [changed(demand, r, padding) for r in not_needed]
    for factor in FACTORS:
        needed = np.flatnonzero(demand > 0)
        claims += [changed(demand, r, demand[r] * factor) for r in needed]
    claims += [*np.delete(instance.demands, user, axis=0)]
    lies = [(user, claim, eligible) for claim in claims]
    if eligible.sum() > 1:
        for i in np.flatnonzero(eligible):
            lies.append((user, demand, changed(eligible, i, False)))
            lies.append((user, demand, np.arange(len(eligible)) == i))
    lies += [(user, demand, changed(eligible, i, True)) for i in np.flatnonzero(~eligible)]
    rng.shuffle(lies)
    return lies


def _lying(instance: Instance, user: int, demand: np.ndarray, eligible: np.ndarray) -> Instance:
    """Return the instance as it is with the lie of one user."""
    return _as_claimed(
        instance,
        changed(instance.demands, user, demand),
        changed(instance.eligible, user, eligible),
    )


def _as_claimed(instance: Instance, demands: np.ndarray, eligible: np.ndarray) -> Instance:
    """Return the instance with claimed demands and servers in place of the true ones."""
    changes: dict[str, object] = {"demands": demands}
    if (eligible != instance.eligible).any():
        changes |= {"eligible": eligible, "conditions": ()}
    return instance.derived(**changes)


def _gain(
    case: AuditCase,
    bounds: PriceBounds | None,
    user: int,
    demand: np.ndarray,
    eligible: np.ndarray,
) -> float:
    """Return the gain of a lie in own tasks, over Γ[n]; −∞ where the mechanism fails on it.

    Where prices bound it by nothing, the bound is returned.
    """
    if case.alone[user] <= 0 or not may_claim(case.instance, user, demand):
        return -np.inf
    lie = _lying(case.instance, user, demand, eligible)
    if bounds is not None:
        most = bounds.claimed_tasks(lie, user) * own_use(case.instance.demands[user], demand)
        bound = float((most - case.totals[user]) / case.alone[user])
        if bound <= AUDIT:
            return bound
    try:
        claimed_tasks = case.again(lie).tasks_array[user]
    except FairlpError:
        return -np.inf
    return float(
        (own_tasks(case, user, demand, claimed_tasks) - case.totals[user]) / case.alone[user]
    )
