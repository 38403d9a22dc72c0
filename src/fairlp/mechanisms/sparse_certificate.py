"""What proves an allocation by pairs: sums over its pairs, and prices, with no help from the method that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..models.programs.certificate import Verdict
from ..tolerances import AGREEMENT, FEASIBILITY, ROUNDING

if TYPE_CHECKING:
    from ..solvers.matrix_free.rounds import Round
    from .sparse_allocation import SparseAllocation


def violation(allocation: SparseAllocation) -> float:
    """Return the largest violation of a capacity, task limit, placement or sign, relative to the capacity or limit."""
    instance, tasks = allocation.instance, allocation.tasks_array
    worst = float((-tasks).max(initial=0.0))
    size = len(instance.servers)
    pairs = instance.eligible.tocoo()
    allowed = np.isin(
        allocation.user.astype(np.int64) * size + allocation.server, pairs.row.astype(np.int64) * size + pairs.col
    )
    worst = max(worst, float(tasks[~allowed].max(initial=0.0)))
    for r in range(len(instance.resources)):
        used = np.zeros(len(instance.servers))
        np.add.at(used, allocation.server, tasks * instance.demands[allocation.user, r])
        capacity = instance.capacities[:, r] * instance.counts
        over = used - capacity
        worst = max(worst, float((over / np.where(capacity > 0, capacity, 1.0)).max(initial=0.0)))
    total = np.zeros(len(instance.users))
    np.add.at(total, allocation.user, tasks)
    finite = np.isfinite(instance.task_limits)
    limit = instance.task_limits[finite]
    return max(worst, float(((total[finite] - limit) / np.where(limit > 0, limit, 1.0)).max(initial=0.0)))


def certified(allocation: SparseAllocation) -> Verdict:
    """Return whether the allocation is feasible and each round's level within the aim of what prices allow."""
    over = violation(allocation)
    if over > FEASIBILITY:
        return Verdict(False, f"not feasible: a capacity, limit or sign is violated by {over:.1e}")
    gaps = []
    levels = allocation.levels.to_numpy()
    for number, one in enumerate(allocation.bounds, 1):
        fixed = one.rows.slope == 0
        missing = fixed & (levels[one.users] < one.rows.floor * (1 - FEASIBILITY))
        if missing.any():
            user = allocation.instance.users[int(one.users[missing.argmax()])]
            return Verdict(False, f"user {user!r} has less than the floor that round {number} gave it")
        reached, highest = allocation.reached(one), _highest(allocation, one)
        missed = (highest - reached) / np.where(highest > 0, highest, 1.0)
        gaps.append(float(missed.max(initial=0.0)))
        if (reached > highest * (1 + AGREEMENT)).any():
            return Verdict(False, f"round {number}: a level is above what its prices allow")
    if not gaps:
        return Verdict(True, "optimal: nobody can run anything")
    text = f"the smallest level within {gaps[0]:.1e}, by prices"
    if len(gaps) > 1:
        text += f"; {len(gaps) - 1} later rounds within {max(gaps[1:]):.1e}, given the levels before"
    if max(gaps) > allocation.aim * (1 + ROUNDING) + ROUNDING:
        return Verdict(False, f"{text}: more than the {allocation.aim:.1e} that was asked for", max(gaps))
    if allocation.unsettled:
        return Verdict(False, f"{text}; {allocation.unsettled} users could rise further", max(gaps))
    return Verdict(True, f"proved: {text}", max(gaps))


def _highest(allocation: SparseAllocation, one: Round) -> np.ndarray:
    """Return the highest level of each component that prices allow: what all must have costs no more than there is."""
    instance, due = allocation.instance, allocation.entitled
    price = np.zeros(instance.capacities.shape)
    price[one.servers] = np.maximum(one.prices, 0.0)
    cost = np.einsum("er,er->e", instance.demands[allocation.user], price[allocation.server])
    lowest = np.full(len(due), np.inf)
    np.minimum.at(lowest, allocation.user, cost)
    each = lowest[one.users] * due[one.users]
    floor = np.minimum(one.rows.floor, allocation.levels.to_numpy()[one.users])
    component, of_pair = np.full(len(instance.servers), -1), _by_user(one, len(due))[allocation.user]
    here = of_pair >= 0  # whoever is not in the round has pairs too
    component[allocation.server[here]] = of_pair[here]
    rent = (price * instance.capacities).sum(axis=1) * instance.counts
    found = np.zeros(len(one.lower))
    order = np.lexsort((one.rows.cap, one.group))
    begin = np.searchsorted(one.group[order], np.arange(len(found) + 1))
    worth = np.bincount(component[component >= 0], weights=rent[component >= 0], minlength=len(found))
    for g in range(len(found)):
        members = order[begin[g] : begin[g + 1]]
        rising = members[one.rows.slope[members] > 0]
        floors = float((floor * each)[members[one.rows.slope[members] == 0]].sum())
        left = worth[g] - floors + ROUNDING * (worth[g] + floors)  # what rounding may have lost
        found[g] = _level(left, each[rising], one.rows.cap[rising])
    return found


def _by_user(one: Round, users: int) -> np.ndarray:
    group = np.full(users, -1)
    group[one.users] = one.group
    return group


def _level(left: float, each: np.ndarray, cap: np.ndarray) -> float:
    """Return the T with Σ each·min(T, cap) = left, caps in increasing order; the last cap at most."""
    growing = float(each.sum())
    for cost, highest in zip(each.tolist(), cap.tolist(), strict=True):
        if growing <= 0 or left <= growing * highest:
            break
        left, growing = left - cost * highest, growing - cost
    last = float(cap[-1])
    return min(max(left, 0.0) / growing, last) if growing > 0 else last
