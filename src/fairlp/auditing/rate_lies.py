"""A search for lies about rates that pay, for mechanisms whose users report what they run."""

from __future__ import annotations

from itertools import chain, islice, zip_longest
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from ..errors import FairlpError
from ..formulations.gpu import rates_alone
from ..models.instances.arithmetic import quotients
from ..models.instances.instance import Instance
from ..tolerances import AUDIT
from .findings import AuditCase, Finding, amount, changed, searched

#: Times the true rate on one row of servers: lies that have paid somewhere.
FACTORS = (0.5, 2.0, 0.9, 1.1, 0.25, 4.0)

#: Gain of a lie over Γ[n], user, claimed rates.
RateLie: TypeAlias = tuple[float, int, np.ndarray]


def strategy_proof(case: AuditCase) -> Finding:
    """No lie about rates pays: a search.

    It never says "holds", only that it finds no lie. Structured lies first (a rate scaled or
    denied, the rates of another), then a local search around the best ones, seeded. A liar gets the
    time that its claim is given, and runs in it what it truly can. Margin: −(largest gain in tasks,
    over Γ[n]), 0 without one.
    """
    rng = np.random.default_rng(case.seed)
    users = rng.permutation(len(case.alone)).tolist()
    by_user = [_of_user(case, user, rng) for user in users]
    lies = islice(filter(None, chain.from_iterable(zip_longest(*by_user))), case.tries // 2)

    def tried_lie(user: int, rates: np.ndarray) -> RateLie:
        return _gain(case, user, rates), user, rates

    def near(lie: RateLie) -> RateLie:
        return tried_lie(lie[1], lie[2] * np.exp(rng.normal(0, 0.3, len(lie[2]))))

    tried = [tried_lie(*lie) for lie in lies]
    if not tried:
        return Finding.vacuous("there are no other rates to claim")
    return _finding(case, searched(tried, near, case.tries, rng, case.deadline))


def _of_user(case: AuditCase, user: int, rng: np.random.Generator) -> list[tuple[int, np.ndarray]]:
    """Return rates that a user may claim, in random order."""
    true = rates_alone(case.instance)
    claims = [
        changed(true[user], i, true[user, i] * factor)
        for i in np.flatnonzero(true[user] > 0)
        for factor in (*FACTORS, 0.0)
    ]
    claims += [*np.delete(true, user, axis=0)]
    lies = [
        (user, claimed)
        for claimed in claims
        if claimed.any() and (claimed != true[user]).any() and case.alone[user] > 0
    ]
    rng.shuffle(lies)
    return lies


def _lying(instance: Instance, user: int, claimed: np.ndarray) -> Instance:
    """Return the instance with the claimed rates of one user; it claims no other placement."""
    rates = rates_alone(instance)
    rates[user] = np.where(instance.eligible[user], claimed, 0.0)
    return instance.derived(rates=rates)


def _gain(case: AuditCase, user: int, claimed: np.ndarray) -> float:
    """Return the gain of a lie in own tasks, over Γ[n]; −∞ where the mechanism fails on it."""
    try:
        lie = _lying(case.instance, user, claimed)
        time = quotients(case.again(lie).tasks_array[user], lie.gamma()[user])
    except FairlpError:
        return -np.inf
    return float((time @ case.gamma[user] - case.totals[user]) / case.alone[user])


def _finding(case: AuditCase, tried: list[RateLie]) -> Finding:
    """Return the finding of a search that tried these lies."""
    gain, user, claimed = max(tried, key=itemgetter(0))
    if gain <= AUDIT:
        return Finding(
            None,
            0.0,
            f"no lie about rates that pays was found in {len(tried)} tries; others may pay",
        )
    true = rates_alone(case.instance)[user]
    claims = [
        f"{amount(claimed[i])} instead of {amount(true[i])} on {case.instance.servers[i]!r}"
        for i in np.flatnonzero(claimed != true).tolist()
    ]
    witness = (
        f"{case.name(user)} would run {amount(gain * case.alone[user])} more tasks by claiming a rate "
        f"of {', '.join(claims)}"
    )
    return Finding(False, -gain, witness, misreport=_lying(case.instance, user, claimed))
