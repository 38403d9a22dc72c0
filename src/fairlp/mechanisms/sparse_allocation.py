"""``SparseAllocation``: the answer of a max-min mechanism by pairs, with the prices that bound its levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..errors import InstanceError, UnknownNameError, counted
from ..models.instances.sparse import SparseInstance
from ..models.programs.certificate import Proof
from ..solvers.matrix_free.rounds import Round, caps_of
from ..tolerances import AGREEMENT, FEASIBILITY, MATRIX_FREE_FLOOR, ROUNDING
from .allocation import Allocation, no_certificate

# What proves an allocation by pairs: sums over its pairs, and prices, with no help from the method that made it.


class _Known(NamedTuple):
    """What follows from the instance and the tasks alone: pairs that can run, by user and server, caps and levels."""

    user: np.ndarray
    server: np.ndarray
    caps: np.ndarray
    levels: np.ndarray
    able: np.ndarray


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


def misfit(allocation: SparseAllocation) -> str:
    """Return which positions or shapes cannot be those of an allocation of the instance, in words; nothing if none."""
    instance, pairs = allocation.instance, np.shape(allocation.tasks_array)
    users, servers = instance.shape
    if not (_positions(allocation.user, pairs, users) and _positions(allocation.server, pairs, servers)):
        return f"expected positions of {users} users and {servers} servers, and a number of tasks, for each pair"
    if not np.shape(allocation.tasks_per_level) == np.shape(allocation.gamma) == (users,):
        return f"expected gamma and tasks_per_level of {users} users"
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
    given = [("tasks", allocation.tasks_array), ("tasks_per_level", allocation.tasks_per_level)]
    for number, one in enumerate(allocation.bounds, 1):
        given += [(f"prices of round {number}", one.prices), (f"floors of round {number}", one.rows.floor)]
    return next((what for what, array in given if not np.isfinite(array).all()), "")


def _known(allocation: SparseAllocation) -> _Known:
    instance, tasks_per_level = allocation.instance, allocation.tasks_per_level
    user, server = instance.pairs
    able = tasks_per_level[user] > 0
    user, server = user[able], server[able]
    caps = caps_of(instance.task_limits, tasks_per_level)
    rising = np.zeros(len(tasks_per_level), dtype=bool)
    rising[user] = True
    return _Known(user, server, caps, allocation.levels.to_numpy(), rising & (caps > 0))


def _untold(allocation: SparseAllocation, known: _Known) -> str:
    """Return what is not said of whom: whoever can run tasks rises in the first round, until it has stopped."""
    instance, tasks_per_level = allocation.instance, _tasks_per_level(allocation.instance, allocation.mechanism)
    if tasks_per_level is not None and not np.allclose(
        allocation.tasks_per_level, tasks_per_level, rtol=AGREEMENT, atol=0.0
    ):
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


def _tasks_per_level(instance: SparseInstance, mechanism: str) -> np.ndarray | None:
    """Return the tasks at level 1 by the mechanism of that name, None where the name is not known."""
    from .table import find

    try:
        row = find(mechanism)
    except UnknownNameError:
        return None
    return row.tasks_per_level(instance)


class _PricedRound(NamedTuple):
    """What prices say: what a level costs each of a round's users, what each component's capacities are worth."""

    each: np.ndarray
    worth: np.ndarray


def _priced(allocation: SparseAllocation, one: Round, known: _Known) -> _PricedRound | None:
    """Return costs and worth by a round's prices, None where components are none: a server has users of two."""
    instance, tasks_per_level = allocation.instance, allocation.tasks_per_level
    price = np.zeros(instance.capacities.shape)
    price[one.servers] = np.maximum(one.prices, 0.0)
    cost = np.einsum("er,er->e", instance.demands[known.user], price[known.server])
    lowest = np.full(len(tasks_per_level), np.inf)
    np.minimum.at(lowest, known.user, cost)
    component, of_pair = np.full(len(instance.servers), -1), _by_user(one, len(tasks_per_level))[known.user]
    here = of_pair >= 0  # whoever is not in the round has pairs too
    component[known.server[here]] = of_pair[here]
    if (component[known.server[here]] != of_pair[here]).any():
        return None
    rent = (price * instance.capacities).sum(axis=1) * instance.counts
    worth = np.bincount(component[component >= 0], weights=rent[component >= 0], minlength=len(one.lower))
    return _PricedRound(lowest[one.users] * tasks_per_level[one.users], worth)


def _highest(one: Round, known: _Known, priced: _PricedRound) -> np.ndarray:
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


def _loose(one: Round, known: _Known, priced: _PricedRound, reached: np.ndarray, aim: float) -> int:
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


@dataclass(frozen=True, eq=False, repr=False)
class SparseAllocation(Allocation):
    """Who runs how many tasks where, by pair, and how far levels are from what any allocation can have, at most.

    Attributes
    ----------
    instance : SparseInstance
    tasks_array : ndarray, shape (E,)
        Tasks of each pair (on the servers of a row: of all of them together).
    user, server : ndarray of int, shape (E,)
        Positions of the pairs that can run, sorted by server.
    aim : float
        The relative gap that was asked for.
    bounds : tuple of Round
        Every round's floors and prices: what proves the levels.
    iterations, steps, passes : int
        Interior-point iterations, conjugate-gradient steps, passes over the pairs.
    rounds : DataFrame
        Rounds by connected component: the level, what no allocation exceeds, the gap, and who stopped there. The bound
        of a later round holds given the levels of those who stopped before.
    gap : float
        Relative gap of the smallest level: no allocation raises it by more (the largest over components).
    notes : tuple of str
        What is proved, and what is not. The rest is as of an :class:`~fairlp.Allocation`.
    """

    instance: SparseInstance
    user: np.ndarray = field(kw_only=True)
    server: np.ndarray = field(kw_only=True)
    aim: float = field(kw_only=True)
    bounds: tuple[Round, ...] = field(kw_only=True)
    iterations: int = 0
    steps: int = 0
    passes: int = 0

    def __post_init__(self) -> None:
        wrong = misfit(self)
        if wrong:
            raise InstanceError(f"no allocation of this instance: {wrong}")
        rounds = _rounds(self)
        first = rounds["gap"][rounds["round"] == 1]
        object.__setattr__(self, "rounds", rounds)
        object.__setattr__(self, "gap", float(first.max()) if len(first) else 0.0)
        object.__setattr__(self, "notes", self._said(rounds))

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Tasks as a sparse matrix, users × servers."""
        shape = self.instance.shape
        return sparse.csr_array((self.tasks_array, (self.user, self.server)), shape=shape)

    @cached_property
    def totals(self) -> pd.Series[float]:
        """Tasks by user."""
        found = np.bincount(self.user, weights=self.tasks_array, minlength=len(self.instance.users))
        return pd.Series(found, index=self._users, name="tasks")

    @cached_property
    def tasks(self) -> pd.Series[float]:  # type: ignore[override]
        """Tasks of each pair that runs some, by user and server."""
        pairs = self.matrix.tocoo()
        some = pairs.data > 0
        index = pd.MultiIndex(
            levels=[list(self.instance.users), list(self.instance.servers)],
            codes=[positions[some].tolist() for positions in pairs.coords],
            names=["user", "server"],
            verify_integrity=False,
        )
        return pd.Series(pairs.data[some], index=index, name="tasks")

    def _said(self, rounds: pd.DataFrame) -> tuple[str, ...]:
        """Return what is proved, in words."""
        later = rounds[rounds["round"] > 1].groupby("round")["gap"].max()
        found = [f"the smallest level is within {self.gap:.1e} of the largest that there is, proved by prices"]
        if len(later):
            found.append(
                f"{len(later)} later round{'s' * (len(later) > 1)}: each level within "
                f"{', '.join(f'{gap:.1e}' for gap in later)} of the largest, given the levels before it"
            )
        if self.unsettled:
            found.append(
                f"{counted(self.unsettled, 'user')} could rise further: what was left is shared among them in "
                "proportion, and no bound is proved of their levels beyond the last round's"
            )
        return tuple(found)

    @cached_property
    def unsettled(self) -> int:
        """Number of users who had not stopped when the rounds ended."""
        able, stopped = (np.zeros(len(self.instance.users), dtype=bool) for _ in range(2))
        for one in self.bounds:
            able[one.users[one.rows.slope > 0]] = True
            stopped[one.users[one.stopped]] = True
        return int((able & ~stopped).sum())

    @cached_property
    def residual(self) -> float:
        """Largest violation of a capacity, task limit or sign, relative to the capacity or limit."""
        instance, tasks, user, server = self.instance, self.tasks_array, self.user, self.server
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

    def certify(self, exact: bool = False) -> Proof:
        """Return whether every round's level is within ``aim`` of what any allocation can have, computed anew.

        From tasks, demands and capacities: that the allocation is feasible, and that prices bound the levels. Of what
        the method computed it takes prices, of which any would do, and who stopped in which round. The allocation is
        not proved where prices alone would leave users who stopped twice as much; the message says how many.

        Parameters
        ----------
        exact : bool
            Not by pairs: it raises.

        Returns
        -------
        Proof
            True or False, with a ``message``.
        """
        if exact:
            raise no_certificate(self.mechanism, exact)
        wrong = _no_numbers(self)
        if wrong:
            return Proof(False, f"not all {wrong} are finite numbers")
        over = self.residual
        if not over <= FEASIBILITY:
            return Proof(False, f"not feasible: a capacity, limit or sign is violated by {over:.1e}")
        known = _known(self)
        wrong = _untold(self, known)
        if wrong:
            return Proof(False, wrong)
        gaps, loose = [], 0
        for number, one in enumerate(self.bounds, 1):
            fixed = one.rows.slope == 0
            missing = fixed & (known.levels[one.users] < one.rows.floor * (1 - FEASIBILITY))
            if missing.any():
                user = self.instance.users[int(one.users[missing.argmax()])]
                return Proof(False, f"user {user!r} has less than the floor that round {number} gave it")
            priced = _priced(self, one, known)
            if priced is None:
                return Proof(False, f"round {number}: users of two components share a server")
            highest = _highest(one, known, priced)
            reached, gap = attained(one, known.levels, highest, self.aim, known.caps[one.users])
            gaps.append(float(gap.max(initial=0.0)))
            loose += _loose(one, known, priced, reached, self.aim)
            if not (reached <= highest * (1 + AGREEMENT + MATRIX_FREE_FLOOR * self.aim)).all():
                return Proof(False, f"round {number}: a level is above what its prices allow")
        if not gaps:
            return Proof(True, "optimal: nobody can run anything")
        text = f"the smallest level within {gaps[0]:.1e}, by prices"
        if len(gaps) > 1:
            text += f"; {counted(len(gaps) - 1, 'later round')} within {max(gaps[1:]):.1e}, given the levels before"
        if not max(gaps) <= self.aim * (1 + ROUNDING) + ROUNDING:
            return Proof(False, f"{text}: more than the {self.aim:.1e} that was asked for", max(gaps))
        if self.unsettled:
            return Proof(False, f"{text}; {counted(self.unsettled, 'user')} could rise further", max(gaps))
        if loose:
            text += (
                f"; that they stop there is not proved of {loose} users: prices alone would leave them twice as much"
            )
            return Proof(False, f"not proved: {text}", max(gaps))
        return Proof(True, f"proved: {text}", max(gaps))

    def _csv(self) -> pd.DataFrame:
        return self.tasks.to_frame()

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, gap {self.gap:.1e}>"


def _rounds(allocation: SparseAllocation) -> pd.DataFrame:
    """Return the rounds by connected component."""
    tables = []
    for number, one in enumerate(allocation.bounds, 1):
        level, gap = attained(one, allocation.levels.to_numpy(), one.upper, allocation.aim)
        stopped = np.bincount(one.group, weights=one.stopped, minlength=len(level)).astype(int)
        table = pd.DataFrame({"level": level, "bound": one.upper, "gap": gap, "frozen": stopped})
        table.insert(0, "round", number)
        tables.append(table.rename_axis("component").reset_index())
    columns = ["round", "component", "level", "bound", "gap", "frozen"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)
