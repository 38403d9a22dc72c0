"""Dynamic DRF without a solver: the level M of every step by three algorithms.

A closed form gives the levels of the cautious LP.

All take the users in order of arrival and work in *parts*, 1/n of everything (n: the horizon): step
k may give out k parts of each resource, and the levels, in parts, do not depend on n. With weights,
a user of weight φ counts as φ users who arrive together: the parts at step k are the sum of the
weights of those present, and a level is x/φ.

The answer of each algorithm is the level of every step and the first user who has it. That says
everything: at step k the users first[k], …, k have the level M[k], and the earlier ones what they
had (Lemmas 1 and 2 of Li et al.).

Nothing here is tied to floats: lists and object arrays of ``Fraction`` give exact results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["linear", "stack", "water_filling"]

#: A float, or any exact number (Fraction); levels are of the type of the demands.
Number = Any
Table = np.ndarray | Sequence[Any]
Steps = tuple[list[Number], list[int]]


class LevelStack:
    """The shares of all users present, in groups of equal level: amortised O(R) a step.

    This algorithm goes beyond the paper.

    Levels do not increase in order of arrival (Lemma 2), so the users of one level are consecutive,
    and the groups a stack with the newest and poorest on top. A newcomer is pushed; while the level
    that the top can reach is at least that of the group below, they become one, for good: each user
    is merged at most once.

    Every group keeps what one level of it needs, and what all groups below it use. Nothing is ever
    subtracted from these sums, so rounding does not build up over the steps.
    """

    def __init__(self, resources: int) -> None:
        self.levels: list[Number] = []
        self.firsts: list[int] = []
        self._needs: list[list[Number]] = []
        self._below: list[list[Number]] = []
        self._nothing: list[Number] = [0] * resources
        self._users = 0

    def push(self, needs: list[Number], available: Number) -> tuple[Number, int]:
        """Add a user; return the new smallest level and the first user who has it.

        Parameters
        ----------
        needs : list of R numbers
            What one level of the user takes of each resource (φ·d̂, the largest entry φ).
        available : number
            What the step may give out of each resource, in the unit of the levels.
        """
        levels = self.levels
        first = self._users
        used_below = self.used()
        previous: Number = 0
        while True:
            level = None
            for used, rate in zip(used_below, needs, strict=True):
                if rate:  # who does not need a resource is not held back by it
                    reach = (available - used) / rate
                    if level is None or reach < level:
                        level = reach
            if (
                level < previous
            ):  # by rounding only: the group below could be reached, so all of it can be kept
                level = previous
            if not levels or level < levels[-1]:
                break
            previous = levels.pop()
            first = self.firsts.pop()
            used_below = self._below.pop()
            needs = [need + other for need, other in zip(needs, self._needs.pop(), strict=True)]
        levels.append(level)
        self.firsts.append(first)
        self._needs.append(needs)
        self._below.append(used_below)
        self._users += 1
        return level, first

    def used(self) -> list[Number]:
        """Return what is given out of each resource now, in the unit of the levels."""
        if not self.levels:
            return list(self._nothing)
        top = self.levels[-1]
        return [
            below + top * need for below, need in zip(self._below[-1], self._needs[-1], strict=True)
        ]


def stack(needs: Table, parts: Table) -> Steps:
    """Return levels and first users of all steps by a stack of groups; O(N·R).

    Parameters
    ----------
    needs : array_like, shape (N, R)
        φ[n]·d̂[n,r] in order of arrival: what one level of n takes of r (d̂ has a largest entry of
        1).
    parts : array_like, shape (N,)
        What each step may give out of every resource: the sum of the weights of those present.

    Returns
    -------
    levels : list of N numbers
        Smallest weighted dominant share after each step, in parts.
    first : list of N int
        Position of the first user who has that level.

    Examples
    --------
    Two users who need different resources get everything between them; the third finds its equal
    part only.

    >>> stack([[1, 0.25], [0.25, 1], [1, 1]], [1, 2, 3])
    ([1.0, 1.6, 1.0], [0, 0, 2])
    """
    rows = _rows(needs)
    available = _rows(parts)
    groups = LevelStack(len(rows[0]))
    levels = []
    first = []
    for need, available_part in zip(rows, available, strict=True):
        level, position = groups.push(need, available_part)
        levels.append(level)
        first.append(position)
    return levels, first


def linear(needs: Table, parts: Table, *, as_printed: bool = False) -> Steps:
    """Return levels and first users by Algorithm 1 of Li et al. (2019), line 6 corrected.

    Step k costs O(k·R).

    The first user at the new level is found by halving. Line 6 as printed asks whether everyone can
    keep what it has, which is always so; by (3) with l = 1 it must ask whether everyone can have
    what the *first* user has.

    Parameters
    ----------
    needs, parts
        As for :func:`stack`.
    as_printed : bool
        Run line 6 as printed, to show what is wrong with it: every step then takes the level of
        static DRF, which those who already had more cannot keep within the capacity.

    Returns
    -------
    levels, first
        As for :func:`stack`.
    """
    demand = _columns(needs)
    available = np.asarray(parts)
    x = np.zeros_like(demand[0])
    levels = []
    first = []
    for k in range(1, len(x) + 1):
        d = demand[:, :k]
        previous = x[:k]
        available_part = available[k - 1]
        beta = d.sum(axis=1)
        required = _use(d, previous) if as_printed else beta * previous[0]
        if (required <= available_part).all():
            alpha = 0 * beta
        else:
            alpha, beta = _halve(d, previous, available_part)
        level = _reach(alpha, beta, available_part)
        x[:k] = np.maximum(previous, level)
        levels.append(level)
        first.append(int(np.count_nonzero(previous > level)))
    return levels, first


def _halve(
    d: np.ndarray, previous: np.ndarray, available_part: Number
) -> tuple[np.ndarray, np.ndarray]:
    """Return the use of the users before τ, and the need of one level of the users from τ on.

    τ is the first user at the new level.

    Lines 9 to 19: users up to LB keep what they have, users from UB on (counted from 1) are at the
    new level.
    """
    lower = 1
    upper = len(previous)
    tau = (lower + upper + 1) // 2
    alpha = _use(d[:, : tau - 1], previous[: tau - 1])
    beta = d[:, tau - 1 :].sum(axis=1)
    while upper - lower > 1:
        if (alpha + beta * previous[tau - 1] <= available_part).all():
            upper = tau
            tau = (lower + tau + 1) // 2
            between = slice(tau - 1, upper - 1)
            alpha = alpha - _use(d[:, between], previous[between])
            beta = beta + d[:, between].sum(axis=1)
        else:
            lower = tau
            tau = (tau + upper + 1) // 2
            between = slice(lower - 1, tau - 1)
            alpha = alpha + _use(d[:, between], previous[between])
            beta = beta - d[:, between].sum(axis=1)
    return alpha, beta


def water_filling(needs: Table, parts: Table) -> Steps:
    """Return levels and first users by raising the poorest users together; O(k·R) a stage.

    This is the algorithm of Kash, Procaccia and Shah.

    Each stage of a step raises those of the smallest level to the next larger level, or until a
    resource is given out as far as the step allows. It does not use that levels fall in order of
    arrival.

    Parameters and returns as for :func:`stack`.
    """
    demand = _columns(needs)
    available = np.asarray(parts)
    x = np.zeros_like(demand[0])
    levels = []
    first = []
    for k in range(1, len(x) + 1):
        d = demand[:, :k]
        level = x[:k]
        free = available[k - 1] - _use(d, level)
        while True:
            least = level.min()
            poorest = level == least
            rate = d[:, poorest].sum(axis=1)
            rise = max(_reach(0 * free, rate, free), 0 * least)
            others = level[~poorest]
            if not others.size or least + rise < others.min():
                level[poorest] = least + rise
                break
            free = free - rate * (others.min() - least)
            level[poorest] = others.min()
        levels.append(level.min())
        first.append(int(np.count_nonzero(level > level.min())))
    return levels, first


def cautious_closed_form(needs: Table, parts: Table, horizon: Number) -> Steps:
    """Return levels and first users of the cautious LP by its closed form; O(N·R).

    All users have the level M^k = 1/(n − k + max_r Σ_{i≤k} d̂[i,r]).

    Exact, because a new user raises no resource's sum by more than the one user that is expected
    less: the level never falls, so no user's share binds. With weights, n and k are sums of weights
    and the sum is of φ[i]·d̂[i,r].

    Parameters and returns as for :func:`stack`; ``horizon`` is the sum of the weights of all users
    who will come.
    """
    largest_need = np.cumsum(np.asarray(needs), axis=0).max(axis=1)
    levels = horizon / ((horizon - np.asarray(parts)) + largest_need)
    return levels.tolist(), [0] * len(levels)


def _use(d: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return Σ_i d[r,i]·level[i]."""
    return np.asarray((d * level).sum(axis=1))


def _reach(used: np.ndarray, need: np.ndarray, available_part: Any) -> Number:
    """Return the level that exhausts the first resource: min over r of (part − used[r])/need[r].

    The minimum is over the resources with need[r] > 0.
    """
    is_needed = need > 0
    return ((available_part - used)[is_needed] / need[is_needed]).min()


def _columns(needs: Table) -> np.ndarray:
    """Return the demands as a contiguous array, resources × users.

    NumPy adds up in pairs what lies in memory order, so that sums over users are accurate.
    """
    return np.ascontiguousarray(np.asarray(needs).T)


def _rows(table: Table) -> Sequence[Any]:
    """Return plain Python numbers, which are quicker one by one than NumPy's."""
    return table.tolist() if isinstance(table, np.ndarray) else list(table)
