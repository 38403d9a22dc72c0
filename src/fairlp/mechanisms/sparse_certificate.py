"""What proves an allocation by pairs: sums over its pairs, and prices, with no help from the method that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..errors import UnknownNameError
from ..models.instances.instance import Instance
from ..models.instances.sparse import SparseInstance
from ..models.programs.certificate import Verdict
from ..solvers.matrix_free.rounds import Round, caps_of
from ..tolerances import AGREEMENT, FEASIBILITY, MATRIX_FREE_FLOOR, ROUNDING

if TYPE_CHECKING:
    from .sparse_allocation import SparseAllocation


class _Known(NamedTuple):
    """What follows from the instance and the tasks alone: pairs that can run, by user and server, caps and levels."""

    user: np.ndarray
    server: np.ndarray
    caps: np.ndarray
    levels: np.ndarray
    able: np.ndarray


def violation(allocation: SparseAllocation) -> float:
    """Return the largest violation of a capacity, task limit, placement or sign, relative to the capacity or limit.

    Tasks where none can run, or of a user whose limit is 0, violate by all that they are: 1.
    """
    instance, tasks, user, server = allocation.instance, allocation.tasks_array, allocation.user, allocation.server
    size = len(instance.servers)
    of_user, of_server = instance.pairs
    allowed = np.isin(user.astype(np.int64) * size + server, of_user.astype(np.int64) * size + of_server)
    worst = float((~allowed & (tasks != 0)).any())
    for r in range(len(instance.resources)):
        used, capacity = np.zeros(size), instance.capacities[:, r] * instance.counts
        amounts = tasks * instance.demands[user, r]
        np.add.at(used, server, amounts)
        there = capacity > 0
        excess = used[there] / capacity[there] - 1.0
        below = -amounts[allowed] / np.where(there, capacity, 1.0)[server[allowed]]
        worst = max(worst, float(excess.max(initial=0.0)), float(below.max(initial=0.0)))
    total = np.zeros(len(instance.users))
    np.add.at(total, user, tasks)
    limit = instance.task_limits
    worst = max(worst, float(((limit == 0) & (total > 0)).any()))
    limited = np.isfinite(limit) & (limit > 0)
    return max(worst, float((total[limited] / limit[limited] - 1.0).max(initial=0.0)))


def attained(
    one: Round, levels: np.ndarray, bound: np.ndarray, aim: float, caps: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the level that all who rose have at least, or all of their tasks (but for the aim), and its gap.

    Whoever could have all its tasks below the bound, and has them but for the aim, holds the level not down; what it
    lacks is part of the gap. Both by component.
    """
    rising, group = one.rows.slope > 0, one.group
    cap, most = one.rows.cap if caps is None else caps, bound[group]
    level = np.where(np.isfinite(levels), levels, 0.0)[one.users]  # what is no number is none
    full = rising & (cap <= most) & (level >= cap * (1 - aim))
    short = rising & ~full
    found, highest, lacking = np.full(len(bound), np.inf), np.zeros(len(bound)), np.zeros(len(bound))
    np.minimum.at(found, group[short], level[short])
    np.maximum.at(highest, group[full], np.minimum(level, cap)[full])
    np.maximum.at(lacking, group[full], (1.0 - level[full] / cap[full]))
    found = np.where(np.isinf(found), highest, found)
    known = np.isfinite(bound) & (bound > 0)
    gap = np.where(known, 1.0 - found / np.where(known, bound, 1.0), 1.0)
    return found, np.maximum(gap, lacking)


def certified(allocation: SparseAllocation) -> Verdict:
    """Return whether the allocation is feasible and each round's level within the aim of what prices allow."""
    wrong = _no_numbers(allocation)
    if wrong:
        return Verdict(False, f"not all {wrong} are finite numbers")
    over = violation(allocation)
    if not over <= FEASIBILITY:
        return Verdict(False, f"not feasible: a capacity, limit or sign is violated by {over:.1e}")
    known = _known(allocation)
    wrong = _untold(allocation, known)
    if wrong:
        return Verdict(False, wrong)
    gaps, loose = [], 0
    for number, one in enumerate(allocation.bounds, 1):
        fixed = one.rows.slope == 0
        missing = fixed & (known.levels[one.users] < one.rows.floor * (1 - FEASIBILITY))
        if missing.any():
            user = allocation.instance.users[int(one.users[missing.argmax()])]
            return Verdict(False, f"user {user!r} has less than the floor that round {number} gave it")
        priced = _priced(allocation, one, known)
        if priced is None:
            return Verdict(False, f"round {number}: users of two components share a server")
        highest = _highest(one, known, priced)
        reached, gap = attained(one, known.levels, highest, allocation.aim, known.caps[one.users])
        gaps.append(float(gap.max(initial=0.0)))
        loose += _loose(one, known, priced, reached, allocation.aim)
        if not (reached <= highest * (1 + AGREEMENT + MATRIX_FREE_FLOOR * allocation.aim)).all():
            return Verdict(False, f"round {number}: a level is above what its prices allow")
    if not gaps:
        return Verdict(True, "optimal: nobody can run anything")
    text = f"the smallest level within {gaps[0]:.1e}, by prices"
    if len(gaps) > 1:
        text += f"; {len(gaps) - 1} later rounds within {max(gaps[1:]):.1e}, given the levels before"
    if not max(gaps) <= allocation.aim * (1 + ROUNDING) + ROUNDING:
        return Verdict(False, f"{text}: more than the {allocation.aim:.1e} that was asked for", max(gaps))
    if allocation.unsettled:
        return Verdict(False, f"{text}; {allocation.unsettled} users could rise further", max(gaps))
    if loose:
        text += f"; that they stop there is not proved of {loose} users: prices alone would leave them twice as much"
        return Verdict(False, f"not proved: {text}", max(gaps))
    return Verdict(True, f"proved: {text}", max(gaps))


def misfit(allocation: SparseAllocation) -> str:
    """Return which positions or shapes cannot be those of an allocation of the instance, in words; nothing if none."""
    instance, pairs = allocation.instance, np.shape(allocation.tasks_array)
    users, servers = len(instance.users), len(instance.servers)
    if not (_positions(allocation.user, pairs, users) and _positions(allocation.server, pairs, servers)):
        return f"expected positions of {users} users and {servers} servers, and a number of tasks, for each pair"
    if not np.shape(allocation.entitled) == np.shape(allocation.gamma) == (users,):
        return f"expected gamma and entitled of {users} users"
    for number, one in enumerate(allocation.bounds, 1):
        rows, size, groups = one.rows, np.shape(one.users), np.shape(one.lower)
        if not (
            _positions(one.users, size, users)
            and _positions(one.servers, np.shape(one.servers), servers)
            and len(np.unique(one.users)) == len(one.users)
            and _positions(one.group, size, len(one.lower))
            and np.shape(one.upper) == groups
            and np.shape(one.prices) == (len(one.servers), len(instance.resources))
            and np.shape(rows.slope) == np.shape(rows.floor) == np.shape(rows.cap) == np.shape(one.stopped) == size
            and len(np.unique(one.group[rows.slope > 0])) == len(one.lower)
        ):
            return f"what it says of round {number} does not fit"
    return ""


def _positions(given: np.ndarray, shape: tuple[int, ...], size: int) -> bool:
    return given.shape == shape and given.dtype.kind in "iu" and bool(((given >= 0) & (given < size)).all())


def _no_numbers(allocation: SparseAllocation) -> str:
    """Return what has an entry that is no number, in words; nothing if none has."""
    given = [("tasks", allocation.tasks_array), ("entitled", allocation.entitled)]
    for number, one in enumerate(allocation.bounds, 1):
        given += [(f"prices of round {number}", one.prices), (f"floors of round {number}", one.rows.floor)]
    return next((what for what, array in given if not np.isfinite(array).all()), "")


def _known(allocation: SparseAllocation) -> _Known:
    instance, due = allocation.instance, allocation.entitled
    user, server = instance.pairs
    able = due[user] > 0
    user, server = user[able], server[able]
    caps = caps_of(instance.task_limits, due)
    rising = np.zeros(len(due), dtype=bool)
    rising[user] = True
    return _Known(user, server, caps, allocation.levels.to_numpy(), rising & (caps > 0))


def _untold(allocation: SparseAllocation, known: _Known) -> str:
    """Return what is not said of whom: whoever can run tasks rises in the first round, until it has stopped."""
    instance, due = allocation.instance, _due(allocation.instance, allocation.mechanism)
    if due is not None and not np.allclose(allocation.entitled, due, rtol=AGREEMENT, atol=0.0):
        return f"not what {allocation.mechanism!r} entitles users to"
    rising = np.zeros(len(known.able), dtype=bool)
    for one in allocation.bounds[:1]:
        rising[one.users[one.rows.slope > 0]] = True
    unseen = known.able & ~rising
    if unseen.any():
        return f"nothing bounds the level of user {instance.users[int(unseen.argmax())]!r}"
    stopped = np.zeros(len(known.able), dtype=bool)
    for number, one in enumerate(allocation.bounds, 1):
        held = one.users[(one.rows.slope == 0) & ~stopped[one.users]]
        if held.size:
            return f"round {number} has a floor for user {instance.users[int(held[0])]!r}, who had not stopped"
        stopped[one.users[one.stopped.astype(bool)]] = True
    return ""


def _due(instance: SparseInstance, mechanism: str) -> np.ndarray | None:
    """Return the tasks at level 1 by the mechanism of that name, None where the name is not known."""
    from .table import find

    try:
        row = find(mechanism)
    except UnknownNameError:
        return None
    return np.asarray(row.due(cast(Instance, instance)))  # a mechanism that is by_pairs asks for nothing else


class _Priced(NamedTuple):
    """What prices say: what a level costs each of a round's users, what each component's capacities are worth."""

    each: np.ndarray
    worth: np.ndarray


def _priced(allocation: SparseAllocation, one: Round, known: _Known) -> _Priced | None:
    """Return costs and worth by a round's prices, None where components are none: a server has users of two."""
    instance, due = allocation.instance, allocation.entitled
    price = np.zeros(instance.capacities.shape)
    price[one.servers] = np.maximum(one.prices, 0.0)
    cost = np.einsum("er,er->e", instance.demands[known.user], price[known.server])
    lowest = np.full(len(due), np.inf)
    np.minimum.at(lowest, known.user, cost)
    component, of_pair = np.full(len(instance.servers), -1), _by_user(one, len(due))[known.user]
    here = of_pair >= 0  # whoever is not in the round has pairs too
    component[known.server[here]] = of_pair[here]
    if (component[known.server[here]] != of_pair[here]).any():
        return None
    rent = (price * instance.capacities).sum(axis=1) * instance.counts
    worth = np.bincount(component[component >= 0], weights=rent[component >= 0], minlength=len(one.lower))
    return _Priced(lowest[one.users] * due[one.users], worth)


def _highest(one: Round, known: _Known, priced: _Priced) -> np.ndarray:
    """Return the highest level of each component that prices allow: what all must have costs no more than there is."""
    each, worth = priced
    floor = np.minimum(one.rows.floor, known.levels[one.users])
    found, cap = np.zeros(len(one.lower)), known.caps[one.users]
    order = np.lexsort((cap, one.group))
    begin = np.searchsorted(one.group[order], np.arange(len(found) + 1))
    for g in range(len(found)):
        members = order[begin[g] : begin[g + 1]]
        rising = members[one.rows.slope[members] > 0]
        floors = float((floor * each)[members[one.rows.slope[members] == 0]].sum())
        left = worth[g] - floors + ROUNDING * (worth[g] + floors)  # what rounding may have lost
        found[g] = _level(left, each[rising], cap[rising])
    return found


def _loose(one: Round, known: _Known, priced: _Priced, reached: np.ndarray, aim: float) -> int:
    """Return how many of those who stopped short of their caps prices allow twice their level, given the others'."""
    level, cap, rising = known.levels[one.users], known.caps[one.users], one.rows.slope > 0
    must = np.minimum(level, np.where(rising, np.minimum(reached[one.group], cap), one.rows.floor))
    spent = np.bincount(one.group, weights=priced.each * must, minlength=len(priced.worth))
    left = np.maximum(priced.worth - spent, 0.0)[one.group]
    stopped = one.stopped.astype(bool) & rising & (level < cap * (1 - aim))
    return int((stopped & (cap > 2 * level) & (left > priced.each * level)).sum())


def _by_user(one: Round, users: int) -> np.ndarray:
    group = np.full(users, -1)
    group[one.users] = one.group
    return group


def _level(left: float, each: np.ndarray, cap: np.ndarray) -> float:
    """Return the T with Σ each·min(T, cap) = left, caps in increasing order; the last cap at most."""
    growing = np.cumsum(each[::-1])[::-1]  # of those whose caps are not passed: sums, since differences lose digits
    for cost, highest, grows in zip(each.tolist(), cap.tolist(), growing.tolist(), strict=True):
        if grows <= 0:
            break
        if left <= grows * highest:
            return float(min(max(left, 0.0) / grows, cap[-1]))
        left -= cost * highest
    return float(cap[-1])
