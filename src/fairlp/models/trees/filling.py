"""How leaves rise together at their rates, and how they fill one pool; values of guarantees.

One pool needs no linear program.

At t an active leaf asks for max(what it has, base + rate·t), at most its task limit; the others
keep what they have. When a leaf stops, or rates have a kink (:mod:`.tree`), the rates of the
others are new, and t begins at 0 again. That is one :class:`RateSegment`; how far along it
every user can go is found by a linear program, or by the sums of one pool.

One pool (:func:`fill`): resources and caps are rows. A round ends where a row is used up or a leaf
has all its tasks. Leaves that need of that row stop, and the others go on at rates of their own.

Guarantees (:func:`floors`): a queue's guarantee is shared as if it were a pool. Deepest queues
first; a queue's users have at least what their own queues guarantee them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import InstanceError, SolverError
from ...tolerances import BLOCKED_PRICE, ROUNDING, SATURATED
from ..instances.arithmetic import quotients, tasks_alone
from ..instances.instance import Instance
from ..instances.queues import Queues
from .tree import FAR_APART, Pace, Tree, TreePoint, tree_of_shares

__all__ = ["floors"]

#: Level of each round, and the positions of the leaves that stopped there.
History = list[tuple[float, np.ndarray]]
#: A float, or a rational where arrays hold rationals.
Number = Any


@dataclass(frozen=True)
class RateSegment:
    """Leaves that rise at constant rates.

    Attributes
    ----------
    rates : Tree
    tasks : ndarray, shape (N,)
        Tasks of each leaf where the segment begins.
    limits, zero : ndarray, shape (N,)
        Task limits, and the tasks that levels count from.
    active, satisfied : ndarray of bool, shape (N,)
        Who goes on; and of the others who has all its tasks, where that counts.
    point : TreePoint
        Where the tree stands where the segment begins.
    """

    rates: Tree
    tasks: np.ndarray
    limits: np.ndarray
    zero: np.ndarray
    active: np.ndarray
    satisfied: np.ndarray
    point: TreePoint

    @property
    def negligible_rise(self) -> float:
        """A t that is 0 but for rounding."""
        return 0.0

    @cached_property
    def pace(self) -> Pace:
        """How the tree goes on."""
        return self.rates.pace(self.active, self.point)

    @property
    def rate(self) -> np.ndarray:
        """Tasks of each leaf per unit of t, shape (N,): an active one asks for base + rate·t.

        It asks for at most its limit.
        """
        return self.pace.rate

    @property
    def first_rate(self) -> np.ndarray:
        """The rates in a first segment's own rows, where no user has all its tasks."""
        return self.rates(self.active | self.satisfied)

    @cached_property
    def base(self) -> np.ndarray:
        """What an active leaf asks for where the segment begins, shape (N,)."""
        return np.asarray(self.zero + self.rates.tasks_at(self.point))

    @cached_property
    def limit_levels(self) -> np.ndarray:
        """The t at which each active leaf has all its tasks, else infinite. Shape (N,)."""
        finite = self.active & (self.limits < np.inf) & (self.rate > 0)
        never = np.full(len(self.rate), np.inf, dtype=self.rate.dtype)
        with np.errstate(over="ignore"):
            return np.asarray(
                np.divide(self.limits - self.base, self.rate, out=never, where=finite)
            )

    @cached_property
    def end(self) -> Number:
        """The t at which the first leaf has all its tasks, or rates change."""
        return min(self.limit_levels.min(initial=np.inf), self.pace.end)

    def next_rise(self, t: float) -> float:
        """Return the first later t at which an overfull leaf begins to rise, else the end.

        Such a leaf has more than it asks for at this t.
        """
        begins = np.full(len(self.rate), self.end)
        np.divide(
            self.tasks - self.base, self.rate, out=begins, where=self.active & (self.rate > 0)
        )
        return float(begins[begins > t].min(initial=self.end))

    def level(self, t: Number) -> float:
        """Return the root's own level."""
        return float(self.point.level[0] + self.pace.level[0] * t)

    def tasks_at(self, t: Number) -> np.ndarray:
        """Return the tasks that every user has at a t of this segment."""
        risen = np.minimum(self.base + self.rate * t, self.limits)
        return np.where(self.active, np.maximum(self.tasks, risen), self.tasks)

    def satisfied_at(self, t: Number) -> np.ndarray:
        """Return which active leaves have all their tasks at a t. Bool, shape (N,)."""
        full = self.active & (self.limit_levels <= t)
        return np.asarray(full | (self.active & (self.tasks >= self.limits)))

    def after(self, t: Number, stops: np.ndarray) -> RateSegment:
        """Return the next segment in which a user rises; it begins at t, without some leaves.

        Where satisfied leaves count the tree goes on if all that stop are, and ask for all their
        tasks. Else it begins anew. (A leaf that lacks a billionth of its tasks is satisfied; no
        rounding decides between the two.)
        """
        segment = replace(
            self, tasks=self.tasks_at(t), active=self.active & ~stops, point=self.rates.origin
        )
        if not self.rates.counted:
            return segment
        satisfying_tasks = self.limits * self.rates.satisfied
        satisfied = self.satisfied | (stops & (segment.tasks >= satisfying_tasks))
        if (self.base + self.rate * t >= satisfying_tasks)[stops].all():
            point = self.pace.after(self.point, t)
        else:
            point = self.rates.begin(segment.taken(satisfied))
        return replace(segment, satisfied=satisfied, point=point).where_leaves_rise()

    def taken(self, satisfied: np.ndarray) -> np.ndarray:
        """Return the tasks that count for queues at t = 0.

        Satisfied leaves count with all of theirs, active ones with their past.
        """
        past = np.where(self.active, self.rates.past_tasks, 0)
        return np.where(satisfied, self.tasks - self.zero, past)

    def where_leaves_rise(self) -> RateSegment:
        """Return this segment, or the next one in which a leaf rises."""
        segment = self
        while (
            segment.pace.end < np.inf
            and (segment.tasks_at(segment.pace.end) == segment.tasks).all()
        ):
            segment = replace(segment, point=segment.pace.after(segment.point, segment.pace.end))
        return segment


def first_segment(
    rates: Tree,
    guaranteed: np.ndarray,
    limits: np.ndarray,
    can_run: np.ndarray,
    count: str = "total",
) -> RateSegment:
    """Return the first segment, in which runnable leaves rise from their ``guaranteed`` tasks.

    With ``count="borrowed"`` the guarantee is no part of what the level counts. The past is a part
    that users have no tasks of. Users do not rise who are guaranteed all their tasks.
    """
    tasks = np.where(can_run, guaranteed, 0)
    zero = (tasks if count == "borrowed" else tasks * 0) - rates.past_tasks
    satisfied = can_run & np.asarray(tasks >= limits * rates.satisfied, dtype=bool)
    active = can_run & ~satisfied
    first = RateSegment(rates, tasks, limits, zero, active, satisfied, rates.origin)
    if not rates.counted:
        return first
    return replace(first, point=rates.begin(first.taken(satisfied))).where_leaves_rise()


@dataclass(frozen=True)
class Rows:
    """What limits a pool: ``use @ tasks <= room``; one row for each resource and each cap.

    Attributes
    ----------
    use : sparse array, shape (M, N)
        What one task takes of each row.
    room : ndarray, shape (M,)
    """

    use: sparse.csr_array
    room: np.ndarray

    @classmethod
    def of_pool(
        cls, pool: np.ndarray, needs: np.ndarray, demands: np.ndarray, queues: Queues
    ) -> Rows:
        """Return the rows of a pool's resources, with the needs of tasks, and of queues' caps."""
        use = [sparse.csr_array(needs.T)]
        room = [pool]
        for r in range(len(pool)):
            capped = np.flatnonzero(queues.capped[:, r])
            if capped.size:
                use.append(sparse.csr_array(queues.below[capped] * demands[:, r]))
                room.append(queues.caps[capped, r])
        return cls(sparse.vstack(use, format="csr"), np.concatenate(room))

    def reach(self, segment: RateSegment) -> float:
        """Return the largest level of a segment that the rows allow, by Newton's method from above.

        What is used is convex and piecewise linear in the level, so steps never pass the answer and
        end on it.

        Raises
        ------
        InstanceError
            Where floats cannot hold the level.
        """
        if (
            np.isfinite(segment.end)
            and (self.use @ segment.tasks_at(segment.end) <= self.room).all()
        ):
            return float(segment.end)
        speed = self.use @ segment.rate
        base = np.where(segment.active, segment.base, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            largest_levels = np.where(speed > 0, (self.room - self.use @ base) / speed, np.inf)
        level = max(float(largest_levels.min(initial=segment.end)), 0.0)
        while np.isfinite(level):
            excess = self.use @ segment.tasks_at(level) - self.room
            rising = segment.active & (segment.base + segment.rate * level > segment.tasks)
            slope = self.use @ np.where(rising, segment.rate, 0.0)
            rows = (excess > ROUNDING * self.room) & (slope > 0)
            steps = np.divide(excess, slope, out=np.zeros(len(rows)), where=rows)
            lower = max(level - float(steps.max(initial=0.0)), 0.0)
            if lower >= level:
                return level
            level = lower
        raise InstanceError(f"how far users can rise together is beyond floats: {FAR_APART}")

    def and_row(self, use: np.ndarray, room: float) -> Rows:
        """Return these rows and one more."""
        return Rows(
            sparse.vstack([self.use, sparse.csr_array(use[None, :])], format="csr"),
            np.append(self.room, room),
        )

    def with_room(self, tasks: np.ndarray, n_first: int) -> Rows:
        """Return the first rows, so many, and of the others those that are not used up."""
        remaining = (self.use @ tasks < self.room * (1 - SATURATED)) | (
            np.arange(len(self.room)) < n_first
        )
        return Rows(self.use[np.flatnonzero(remaining)], self.room[remaining])

    def exceeded(self, tasks: np.ndarray) -> bool:
        """Whether tasks take more than there is."""
        return bool((self.use @ tasks > self.room * (1 + ROUNDING)).any())

    def blocked(self, tasks: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return the users who rise clearly in a row that is used up. Bool, shape (N,).

        Clear is a certain part of the row's largest rise.
        """
        full = np.flatnonzero(self.use @ tasks >= self.room * (1 - SATURATED))
        growth = (self.use[full] * rate).toarray()
        return np.asarray(
            (
                (growth > 0) & (growth >= BLOCKED_PRICE * growth.max(axis=1, initial=0.0)[:, None])
            ).any(axis=0)
        )

    def ended(self, tasks: np.ndarray) -> np.ndarray:
        """Return who needs of a row that is used up. Bool, shape (N,)."""
        full = np.flatnonzero(self.use @ tasks >= self.room * (1 - SATURATED))
        return (
            np.asarray(self.use[full].sum(axis=0) > 0)
            if full.size
            else np.zeros(len(tasks), dtype=bool)
        )


def fill(rows: Rows, segment: RateSegment) -> tuple[np.ndarray, History]:
    """Return the tasks of each leaf, and the rounds, from the first segment on.

    At most one round for each row and each task limit, and segments between kinks, each O(NR).
    """
    history = []
    while segment.active.any():
        t = rows.reach(segment)
        stops = segment.satisfied_at(t) | (segment.active & rows.ended(segment.tasks_at(t)))
        if stops.any():
            history.append((segment.level(t), np.flatnonzero(stops)))
        elif t < segment.pace.end:
            raise SolverError("a round of the filling stopped no user; report the instance")
        segment = segment.after(t, stops)
    return segment.tasks, history


def fill_at_constant_rates(
    demands: np.ndarray, capacity: np.ndarray, rate: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, History]:
    """Return the leximin level of each user on one server, and the rounds.

    Parameters
    ----------
    demands : ndarray, shape (N, R)
        Per task.
    capacity : ndarray, shape (R,)
    rate : ndarray, shape (N,)
        Tasks at level 1, > 0.
    limits : ndarray, shape (N,)
        Task limits, infinite for none.

    Returns
    -------
    levels : ndarray, shape (N,)
        Tasks are ``levels * rate``.
    rounds : list of (float, ndarray)
        Level of each round and the positions of the users frozen there.

    Notes
    -----
    At most R rounds, each O(N·R): users are sorted once by the level at which they have all their
    tasks, so that a resource's consumption at any level is a difference of two prefix sums.

    Examples
    --------
    Two resources of one unit; the second user leaves the first resource alone.

    >>> levels, rounds = fill_at_constant_rates(
    ...     np.array([[1.0, 0.5], [0.0, 1.0], [1.0, 0.0]]), np.ones(2), np.ones(3), np.full(3, np.inf)
    ... )
    >>> levels.tolist()
    [0.5, 0.75, 0.5]
    """
    levels = np.zeros(len(rate))
    history = []
    cap = limits / rate
    order = np.argsort(cap, kind="stable")
    consumption = demands * rate[:, None]  # of each user, at level 1
    remaining = capacity.astype(float)
    active = order
    while active.size:
        need = consumption[active]
        active_caps = cap[active]
        saturation = _saturation_levels(need, active_caps, remaining)
        level = saturation.min()
        if np.isinf(level):
            levels[active] = active_caps
            history.append((float(active_caps.max()), np.sort(active)))
            break
        saturated = saturation <= level * (1 + SATURATED)
        frozen = (active_caps <= level) | need[:, saturated].any(axis=1)
        levels[active[frozen]] = np.minimum(active_caps[frozen], level)
        history.append((float(level), np.sort(active[frozen])))
        remaining = remaining - levels[active[frozen]] @ need[frozen]
        active = active[~frozen]
    return levels, history


def _saturation_levels(need: np.ndarray, cap: np.ndarray, remaining: np.ndarray) -> np.ndarray:
    """Return the common level at which each resource is used up, for users sorted by cap."""
    finite = int(np.searchsorted(cap, np.inf))
    at_cap = np.zeros((finite + 1, need.shape[1]))
    np.cumsum(
        need[:finite] * cap[:finite, None], axis=0, out=at_cap[1:]
    )  # used by those who stopped at their cap
    growing = np.zeros((finite + 1, need.shape[1]))
    rates_from_end = np.cumsum(need[::-1], axis=0)  # of the last users, of the last but one, …
    growing[:-1] = rates_from_end[::-1][:finite]
    growing[-1] = need[finite:].sum(axis=0)  # rate of those still growing
    used = (
        at_cap[:-1] + growing[:-1] * cap[:finite, None]
    )  # consumption when the level reaches each cap
    passed = (
        (used < remaining).sum(axis=0),
        np.arange(need.shape[1]),
    )  # caps passed before saturation, of each resource
    pace = growing[passed]
    free = np.maximum(remaining - at_cap[passed], 0.0)
    endless = np.full(len(pace), np.inf)
    return np.asarray(np.divide(free, pace, out=endless, where=pace > 0))


def fill_from_past(
    demands: np.ndarray,
    capacity: np.ndarray,
    rate: np.ndarray,
    limits: np.ndarray,
    past: np.ndarray,
) -> tuple[np.ndarray, History]:
    """Return what users gain above their past, as levels, on one server; and the rounds.

    All users reach a common level t, as far as they can: a user of past b gains max(t − b, 0), at
    most limit/rate.

    Parameters
    ----------
    demands, capacity, rate, limits
        As for :func:`fill_at_constant_rates`.
    past : ndarray, shape (N,)
        The level from which each user rises.

    Returns
    -------
    gains : ndarray, shape (N,)
        Tasks are ``gains * rate``.
    rounds : list of (float, ndarray)
        Level of each round and the positions of the users frozen there.

    Notes
    -----
    At most R rounds, each O(N·R) after sorting once the levels at which users begin and end to
    rise: between two of them use is linear in t.

    Examples
    --------
    One resource of one unit; the first user has had more than half of it.

    >>> gains, rounds = fill_from_past(
    ...     np.ones((2, 1)), np.ones(1), np.ones(2), np.full(2, np.inf), np.array([0.5, 0.0])
    ... )
    >>> gains.tolist()
    [0.25, 0.75]
    """
    largest_gains = limits / rate
    ends = past + largest_gains
    consumption = demands * rate[:, None]  # of each user, for a gain of 1
    gains = np.zeros(len(rate))
    history = []
    remaining = capacity.astype(float)
    active = np.arange(len(rate))
    while active.size:
        need = consumption[active]
        saturation = np.array(
            [
                _saturation_from_past(need[:, r], past[active], ends[active], remaining[r])
                for r in range(need.shape[1])
            ]
        )
        level = saturation.min()
        if np.isinf(level):
            gains[active] = largest_gains[active]
            history.append((float(ends[active].max()), active))
            break
        saturated = saturation <= level * (1 + SATURATED)
        frozen = (ends[active] <= level) | need[:, saturated].any(axis=1)
        users = active[frozen]
        gains[users] = np.clip(level - past[users], 0.0, largest_gains[users])
        history.append((float(level), users))
        remaining = remaining - gains[users] @ need[frozen]
        active = active[~frozen]
    return gains, history


def _saturation_from_past(
    need: np.ndarray, past: np.ndarray, ends: np.ndarray, remaining: float
) -> float:
    """Return the level at which users who rise from their past use a resource up."""
    users = np.flatnonzero(need)
    need = need[users]
    past = past[users]
    ends = ends[users]
    finite = np.isfinite(ends)
    levels = np.concatenate([past, ends[finite]])
    turns = np.concatenate([need, -need[finite]])  # of the slope
    order = np.argsort(levels, kind="stable")
    levels = levels[order]
    slopes = np.cumsum(turns[order])
    rises = slopes[:-1] * np.diff(levels)
    used = np.concatenate([[0.0], np.cumsum(rises)])

    # From the last turn before the resource is used up; there the sums are computed anew.
    first = max(int(np.searchsorted(used, remaining)) - 1, 0)
    for start in levels[first:].tolist():
        speed = float(need[(past <= start) & (ends > start)].sum())
        if speed > 0.0:
            used_before = float(np.clip(start - past, 0.0, ends - past) @ need)
            return float(start + max(remaining - used_before, 0.0) / speed)
    return np.inf


def floors(instance: Instance) -> np.ndarray:
    """Return the tasks that each user is guaranteed by the queues above it, shape (N,).

    Each guarantee G[v,·] is shared as a pool of its own along the tree (satisfied users counted)
    among the users below v who can run somewhere, up to their task limits; caps of queues hold
    within it. Resources that the guarantee does not name (G[v,r] = 0) do not limit it: of these
    there is as much as all servers have. Where guarantees below a queue are more than its own,
    they count.
    """
    guaranteed_tasks = np.zeros(len(instance.users))
    queues = instance.tree
    if not queues.guarantees.any():
        return guaranteed_tasks
    can_run = (
        instance.runnable().any(axis=1)
        & (instance.task_limits > 0)
        & ~queues.barred(instance.demands)
    )
    weights = instance.user_weights
    guaranteed = queues.guaranteed
    for v in guaranteed[np.argsort(-queues.depths[guaranteed], kind="stable")].tolist():
        below = np.asarray(queues.below[[v]].todense()).ravel() > 0
        named = queues.guarantees[v] > 0
        needs_named = (instance.demands[:, named] > 0).any(axis=1)
        users = np.flatnonzero(below & can_run & needs_named)
        if not users.size:
            continue
        demands = instance.demands[users]
        pool = np.where(named, queues.guarantees[v], instance.pool)
        tree = queues.select(users)

        # Shares of the guarantee: of the resources that it names.
        share = np.where(named, quotients(demands, pool), 0.0)
        share /= share.max(axis=1, keepdims=True)
        alone = tasks_alone(demands * named, pool[None, :])[:, 0]
        rates = tree_of_shares(tree.branches, weights[users], share, alone, counted=True)
        first = first_segment(
            rates,
            guaranteed_tasks[users],
            instance.task_limits[users],
            np.ones(len(users), dtype=bool),
        )
        shared = fill(Rows.of_pool(pool, demands, demands, tree), first)[0]
        guaranteed_tasks[users] = np.where(shared > ROUNDING * alone, shared, 0.0)
    return guaranteed_tasks
