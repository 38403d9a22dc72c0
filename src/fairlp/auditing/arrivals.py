"""Audits of every step, for users who arrive: shares, lies, and late arrivals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice, takewhile
from typing import NamedTuple, cast

import numpy as np

from ..api import allocate
from ..errors import FairlpError
from ..mechanisms.arrivals.result import DynamicAllocation
from ..models.instances.instance import Instance
from ..tolerances import AUDIT
from .findings import NO_DEADLINE, Deadline, Finding, amount, changed, searched
from .reports import FACTORS, in_words, nearby, none_found, own_use


class StepProperty(NamedTuple):
    """One row: a promise that a mechanism for users who arrive may keep at every step.

    Attributes
    ----------
    statement, source : str
    audit : callable
        (DynamicAllocation, tries, seed, deadline) → Finding.
    reruns : bool
        Whether the mechanism is run again.
    """

    statement: str
    source: str
    audit: Callable[[DynamicAllocation, int, int, Deadline], Finding]
    reruns: bool = False


def worst_step(
    result: DynamicAllocation,
    tries: int,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
    *,
    name: str,
    fewest_users: int,
) -> Finding:
    """Return the step nearest to breaking a property of `DynamicAllocation.properties`."""
    if len(result.schedule) < fewest_users:
        return Finding.vacuous("there is one step, and one user")
    table = result.properties()
    by_step = table[table["property"] == name]
    worst = by_step.iloc[int(by_step["margin"].to_numpy(dtype=float).argmin())]
    holds = bool(by_step["holds"].all())
    witness = "at every step" if holds else f"step {worst['step']}: {worst['witness']}"
    return Finding(holds, float(worst["margin"]), witness)


def lies(
    result: DynamicAllocation, tries: int, seed: int, deadline: Deadline = NO_DEADLINE
) -> Finding:
    """No lie about demands pays at any step (Kash, Procaccia and Shah): a search.

    It never says "holds", only that it finds no lie.

    At each step k the liar runs its own tasks with the amounts that its claimed ones are given; it
    gains if at some k it then has more than it has at k when it tells the truth, whatever it has at
    others. Margin: −(largest gain in tasks, over Γ[n]).
    """
    rng = np.random.default_rng(seed)
    users = rng.permutation(len(result.schedule)).tolist()
    in_time = takewhile(lambda lie: not deadline.has_passed, _demands(result, rng, users, tries))
    lies_tried = [_lie(result, user, user, demand) for user, demand in in_time]

    def near(lie: _Lie) -> _Lie:
        return _lie(result, lie.user, lie.user, nearby(lie.demand, rng))

    lies_tried = searched(lies_tried, near, tries, rng, deadline)
    return _finding(result, lies_tried)


def late(
    result: DynamicAllocation, tries: int, seed: int, deadline: Deadline = NO_DEADLINE
) -> Finding:
    """No user gains at a step by coming later than it could, with or without a lie.

    The user comes after some who came after it; they come one step earlier each. It has nothing
    before it comes. Steps are compared as in :func:`lies`: the same users are present. Every later
    place is tried, as far as ``tries`` goes, with the truth first, then with lies. Never "holds",
    only "none found".
    """
    count = len(result.schedule)
    if count < 2:
        return Finding.vacuous("there is no user to come after")
    rng = np.random.default_rng(seed)
    places = [(p, q) for p in range(count) for q in range(p + 1, count)]
    true = result.instance.demands[result.schedule.order]
    drawn_places = rng.permutation(places)[:tries].tolist()
    in_time = takewhile(lambda place: not deadline.has_passed, drawn_places)
    lies_tried = [_lie(result, p, q, true[p]) for p, q in in_time]
    users = rng.permutation(count - 1).tolist()
    for user, demand in _demands(result, rng, users, 2 * max(tries - len(lies_tried), 0)):
        if deadline.has_passed:
            break
        lies_tried.append(_lie(result, user, int(rng.integers(user + 1, count)), demand))
    return _finding(result, lies_tried)


class _Lie(NamedTuple):
    """A lie: the gain over Γ[n] of a user who comes at another place, or with another demand."""

    gain: float
    step: int
    user: int
    place: int
    demand: np.ndarray
    instance: Instance


def _demands(
    result: DynamicAllocation, rng: np.random.Generator, users: list[int], limit: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Return lies about demands, at most half of ``limit``: scaled, another's, random."""
    true = result.instance.demands[result.schedule.order]
    count = true.shape[1]
    lies = chain(
        (
            (n, changed(true[n], r, true[n, r] * f))
            for f in FACTORS
            for r in range(count)
            for n in users
        ),
        ((n, other) for other in true for n in users),
        ((n, true.max(axis=0) * rng.uniform(0.05, 1.0, count)) for _ in range(20) for n in users),
    )
    return islice(lies, (limit + 1) // 2)


def _lie(result: DynamicAllocation, user: int, place: int, demand: np.ndarray) -> _Lie:
    """Return the outcome of a lie; user and place are positions in order of arrival."""
    instance = result.instance.select_users(result.schedule.order)
    true = instance.demands[user]
    order = np.insert(np.delete(np.arange(len(instance.users)), user), place, user)
    attributes = instance.user_attributes.drop(columns="arrival", errors="ignore")
    claimed = changed(instance.demands, user, demand)
    lie = instance.derived(demands=claimed, user_attributes=attributes).select_users(order)
    horizon = result.schedule.horizon
    try:
        with warnings.catch_warnings(action="ignore"):
            answer = allocate(lie, result.mechanism, horizon=horizon)
    except FairlpError:
        return _Lie(-np.inf, 0, user, place, demand, lie)

    # from the step on at which the user is present either way
    lying_result = cast("DynamicAllocation", answer)
    lying = tasks_by_step(lying_result)[place:, place] * own_use(true, demand)
    honest = tasks_by_step(result)[place:, user]
    gain = (lying - honest) / instance.gamma()[user].sum()
    best_step = int(gain.argmax())
    return _Lie(gain[best_step], place + best_step + 1, user, place, demand, lie)


def tasks_by_step(result: DynamicAllocation) -> np.ndarray:
    """Return tasks, steps × users in order of arrival."""
    return np.asarray(result.steps * result.gamma[result.schedule.order])


def _finding(result: DynamicAllocation, lies_tried: list[_Lie]) -> Finding:
    best = max(lies_tried, key=lambda lie: lie.gain, default=None)
    if best is None or best.gain <= AUDIT:
        return none_found(len(lies_tried), result.instance)
    instance = result.instance.select_users(result.schedule.order)
    name = repr(instance.users[best.user])
    true = instance.demands[best.user]
    means = []
    if best.place != best.user:
        means.append(f"by coming at step {best.place + 1} instead of {best.user + 1}")
    if not np.array_equal(best.demand, true):
        means.append(in_words(instance, best.user, best.demand))
    extra_tasks = amount(best.gain * instance.gamma()[best.user].sum())
    witness = f"step {best.step}: {name} would run {extra_tasks} more tasks of its own {' and '.join(means)}"
    return Finding(False, -best.gain, witness, misreport=best.instance)


_KASH = "Kash, Procaccia and Shah, JAIR 2014"
_LI = "Li et al., 2019"


def _of_shares(statement: str, source: str, name: str, fewest_users: int = 1) -> StepProperty:
    return StepProperty(
        statement, source, partial(worst_step, name=name, fewest_users=fewest_users)
    )


#: Properties of every step, for users who arrive.
DYNAMIC: dict[str, StepProperty] = {
    "irrevocable": _of_shares("no user has less than at the step before", _KASH, "irrevocable", 2),
    "dynamic sharing incentive": _of_shares(
        "at every step every user present has at least its part φ/Φ of its dominant resource",
        _KASH,
        "SI",
    ),
    "dynamically envy-free": _of_shares(
        "at every step a user whom another envies came before it and got nothing since",
        _KASH,
        "DEF",
        2,
    ),
    "dynamically Pareto-optimal": _of_shares(
        "at every step some resource is given out as far as the step allows", _KASH, "DPO"
    ),
    "envy-free at every step": _of_shares(
        "at every step no user would rather have what another has", _KASH, "EF", 2
    ),
    "strategy-proof at every step": StepProperty(
        "no lie about demands pays at any step (a search)", f"{_KASH}; {_LI}", lies, True
    ),
    "late arrival never pays": StepProperty(
        "no user gains at any step by coming later than it could, with a lie about demands or "
        "without (a search)",
        "",
        late,
        True,
    ),
}
