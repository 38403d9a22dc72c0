"""Whole tasks on real servers: the user of the next task, and the server that runs it.

Wang, Li and Liang, §V-B.

The next task is that of the user with the smallest weighted global dominant share (for slots: the
fewest slots per weight) among those whose task still fits somewhere. First-Fit takes the first
server that fits, Best-Fit the one whose free capacity looks most like the task, Slots the first
with a free slot.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import TooLargeError, quoted
from ...models.instances.arithmetic import (
    integers,
    quotients,
    require_countable,
    whole,
    whole_limits,
    whole_table,
)
from ...models.instances.instance import EVERYWHERE, Instance
from ...tolerances import LEVEL_ROUNDING
from .filling import SIGNS, Filling, Pool

__all__ = ["POLICIES", "SLOTS", "Servers", "pick_by_pick"]

# Progressive filling one task at a time, as Ghodsi et al. print it: a heap of exact shares.

#: A common denominator of all shares is used up to this many bits; beyond, each share is a fraction
#: of its own.
LONGEST_DENOMINATOR = 4096


@dataclass
class Pick:
    """One turn of the loop: user, share before, tasks after, and whether the task ran."""

    user: int
    share: float
    tasks: int
    runs: bool


def pick_by_pick(
    pool: Pool,
    *,
    rule: str = "exclude",
    ties: str = "larger",
    offset: int = 0,
    trace: list[Pick] | None = None,
) -> np.ndarray:
    """Return whole tasks by user: the smallest share is served next until no task fits.

    With the rule ``stop``, the first task that does not fit ends the service.

    Parameters
    ----------
    pool : Pool
    rule, ties : str
        As for :class:`~fairlp.mechanisms.whole_tasks.filling.Filling`.
    offset : {0, 1}
        Compare shares before the task (DRF) or after it (sequential minmax).
    trace : list, optional
        Every turn is appended to it.

    Notes
    -----
    One heap operation for each task: O(tasks·(R + log N)).
    """
    shares = comparable(pool)
    sign = SIGNS[ties]
    demands = [tuple(row) for row in _python(pool.demands)]
    remaining = list(_python(pool.capacity))
    limits = pool.limits.tolist()
    tasks = [0] * len(demands)
    users = np.flatnonzero(pool.can_run).tolist()
    per_task = pool.per_task()
    heap = [(offset * shares[n], sign * shares[n], n) for n in users]
    heapq.heapify(heap)
    resources = range(len(remaining))
    while heap:
        n = heap[0][2]
        need = demands[n]
        runs = all(need[r] <= remaining[r] for r in resources)
        if trace is not None:
            share = float(tasks[n] * per_task[n])
            trace.append(Pick(n, share, tasks[n] + runs, runs))
        if not runs:
            if rule == "stop":
                break
            heapq.heappop(heap)
            continue
        for r in resources:
            remaining[r] -= need[r]
        tasks[n] += 1
        next_task(heap, shares[n], tasks[n] < limits[n])
    return np.array(tasks, dtype=float)


def next_task(heap: list[Any], share: Any, wants_more: bool) -> None:
    """Put the user at the top of a heap to where its next task belongs, or take it out."""
    before, tie, n = heap[0]
    if wants_more:
        heapq.heapreplace(heap, (before + share, tie, n))
    else:
        heapq.heappop(heap)


def comparable(pool: Pool) -> list[int] | list[Fraction]:
    """Return each user's share per task in one unit, in which shares compare exactly.

    They are whole numbers where the common denominator is short, else fractions.
    """
    pairs = list(zip(_python(pool.top), _python(pool.bottom), strict=True))
    common = common_denominator(bottom for _, bottom in pairs)
    if not common:
        return [Fraction(top, bottom) for top, bottom in pairs]
    return [top * (common // bottom) for top, bottom in pairs]


def in_one_unit(values: list[Fraction]) -> list[int] | list[Fraction]:
    """Return numbers as multiples of one unit: whole numbers where their denominators allow it."""
    common = common_denominator(value.denominator for value in values)
    return [int(value * common) for value in values] if common else values


def common_denominator(denominators: Iterable[int]) -> int:
    """Return the least common denominator, or 0 where it is too long to compute with."""
    common = 1
    for denominator in set(denominators):
        common = math.lcm(common, denominator)
        if common.bit_length() > LONGEST_DENOMINATOR:
            return 0
    return common


def _python(values: np.ndarray) -> Any:
    """Return whole numbers as (nested) lists of Python integers."""
    return values.tolist() if values.dtype == object else values.astype(np.int64).tolist()


POLICIES: tuple[str, ...] = ("first-fit", "best-fit", "slots")
#: What Wang, Li and Liang found best (Table II): the largest server holds so many.
SLOTS = 14
#: Distances of users to servers are kept up to this many.
LARGEST_TABLE = 50_000_000
#: And where users are at most so many more than servers: a placement changes the distances of all
#: users to one server, and without a table a task asks for those of one user to all servers.
_MORE_USERS = 200
#: So many tasks of each user go to the same servers one by one before the next ones are counted.
_ONE_BY_ONE = 8
#: Single servers that are looked at one by one, and tasks that are served one by one, at most.
MOST_SERVERS = MOST_TASKS = 10_000_000
#: In what unit Best-Fit compares shapes: the paper's is a share of the whole system.
SYSTEM = "system"
UNITS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    SYSTEM: lambda capacities, counts: counts.astype(float) @ capacities,
    "largest-server": lambda capacities, counts: capacities.max(axis=0),
}


@dataclass
class Servers:
    """Single servers with what is free on each, in whole numbers.

    Attributes
    ----------
    demands : ndarray, shape (N, R)
        Per task.
    free : ndarray, shape (S, R)
        Of each of the S single servers.
    row : ndarray of int, shape (S,)
        The row of the instance that a server is of.
    eligible : ndarray of bool, shape (N, K), or None
        By row.
    unit : ndarray, shape (R,)
        The amount of each resource that counts as one when shapes are compared.
    slots : ndarray of int, shape (S,), or None
        Free slots.
    """

    demands: np.ndarray
    free: np.ndarray
    row: np.ndarray
    eligible: np.ndarray | None
    unit: np.ndarray
    slots: np.ndarray | None = None

    @classmethod
    def of(cls, instance: Instance, slots: int | None = None, unit: str = SYSTEM) -> Servers:
        """Return the servers of an instance, one by one, empty, or cut into a number of slots."""
        table = whole_table(instance.demands, instance.capacities)
        eligible = instance.eligible if instance.has_constraints else None
        return cls.empty(*table, instance.counts, eligible, slots, unit)

    @classmethod
    def empty(
        cls,
        demands: np.ndarray,
        capacities: np.ndarray,
        counts: np.ndarray,
        eligible: np.ndarray | None = None,
        slots: int | None = None,
        unit: str = SYSTEM,
    ) -> Servers:
        """Return empty servers of whole-number capacities, one for each server of a row.

        The largest server (largest amount of each resource) holds ``slots`` slots of equal parts,
        every server as many as fit. ``unit`` is one of ``UNITS``.
        """
        if counts.sum(dtype=float) > MOST_SERVERS:
            raise TooLargeError(
                f"there are {counts.sum(dtype=float):,.0f} servers, and whole tasks are placed one "
                "by one; expected at "
                f"most {MOST_SERVERS:,} (a mechanism of divisible tasks, such as drfh, takes any "
                "number)"
            )
        row = np.repeat(np.arange(len(counts)), counts)
        cut = None
        largest = capacities.max(axis=0)
        if slots is not None:
            resources = np.flatnonzero(largest > 0)
            cut = (
                (capacities[:, resources] * slots // largest[resources])
                .min(axis=1)
                .astype(np.int64)[row]
            )
        unit_of_shapes = UNITS[unit](capacities.astype(float), counts)
        return cls(demands, capacities[row].copy(), row, eligible, unit_of_shapes, cut)

    def fits(self, user: int, where: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return where one task of the user fits, on these servers (by default all); bool."""
        fits = np.asarray((self.free[where] >= self.demands[user]).all(axis=1), dtype=bool)
        if self.eligible is not None:
            fits &= self.eligible[user][self.row[where]]
        if self.slots is not None:
            fits &= self.slots[where] > 0
        return fits

    def take(self, user: int, server: int, tasks: int = 1) -> None:
        """Run tasks of the user on the server (negative: end them)."""
        self.free[server] -= tasks * self.demands[user]
        if self.slots is not None:
            self.slots[server] -= tasks

    def shape_distance(self, user: int, where: np.ndarray) -> np.ndarray:
        """Return H(n, i) = ‖d[n]/d[n,r₀] − c̄[i]/c̄[i,r₀]‖₁ (eq. 9) on the servers ``where``.

        The task must fit on these servers.

        r₀ is the first resource that the user demands (the paper's is the first): there the free
        amount is positive. Demand and free capacity are shares of the whole system, as in the paper
        (§III-A), unless another unit is asked for; with two resources the unit changes nothing,
        with more it does.
        """
        demand = self.demands[user].astype(float)
        first = int(np.flatnonzero(demand)[0])
        free = self.free[where].astype(float)
        distance = abs(free / free[:, [first]] - demand / demand[first])
        return _steps((distance * self.units(first)).sum(axis=1))

    def units(self, first: np.ndarray | int) -> np.ndarray:
        """Return what an amount of each resource per amount of the ``first`` counts."""
        return np.asarray(self.unit[first, None] * quotients(1.0, self.unit))


def _steps(distance: np.ndarray) -> np.ndarray:
    """Return distances in steps of ``LEVEL_ROUNDING``, so that rounding breaks no ties."""
    return np.asarray(np.rint(distance / LEVEL_ROUNDING))


class BestFit:
    """The server whose free capacity is most like the task, the first among equals.

    Distances of all users to all servers are kept (where memory allows, and users are not many
    more than servers); a placement changes those of one server.
    """

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        users = len(servers.demands)
        single = len(servers.row)
        self.table: np.ndarray | None = None
        if users <= single + _MORE_USERS and users * single <= LARGEST_TABLE:
            self.table = np.full((users, single), np.inf)
            for user in range(users):
                where = np.flatnonzero(servers.fits(user))
                self.table[user, where] = servers.shape_distance(user, where)
        self.first = (servers.demands > 0).argmax(axis=1)
        whole = servers.demands.astype(float)
        self.shape = whole / whole[np.arange(users), self.first][:, None]
        self.units = servers.units(self.first)

    def __call__(self, user: int) -> int:
        """Return the best server for the user's task, −1 where none fits."""
        if self.table is None:
            where = np.flatnonzero(self.servers.fits(user))
            return (
                int(where[self.servers.shape_distance(user, where).argmin()]) if where.size else -1
            )
        server = int(self.table[user].argmin())
        return server if self.table[user, server] < np.inf else -1

    def changed(self, server: int) -> None:
        """Recompute the distances to one server."""
        if self.table is None:
            return
        free = self.servers.free[server]
        fits = np.asarray((self.servers.demands <= free).all(axis=1), dtype=bool)
        if self.servers.eligible is not None:
            fits &= self.servers.eligible[:, self.servers.row[server]]
        amounts = free.astype(float)
        amounts_of_first = np.where(fits, amounts[self.first], 1.0)  # positive where the task fits
        distance = _steps(
            (abs(amounts / amounts_of_first[:, None] - self.shape) * self.units).sum(axis=1)
        )
        self.table[:, server] = np.where(fits, distance, np.inf)


class FirstFit:
    """The first server that fits.

    In a static run a server that did not fit never fits again, so that the search goes on from it.
    """

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.first_candidate = np.zeros(len(servers.demands), dtype=np.int64)

    def __call__(self, user: int) -> int:
        """Return the first server that fits the user's task, −1 where none does."""
        start = int(self.first_candidate[user])
        size = 1
        while start < len(self.servers.row):
            fits = self.servers.fits(user, slice(start, start + size))
            if fits.any():
                start += int(fits.argmax())
                self.first_candidate[user] = start
                return start
            start += size
            size *= 4
        self.first_candidate[user] = start
        return -1

    def changed(self, server: int) -> None:
        """Nothing is kept of a server."""


def note_on_slots(instance: Instance, slots: int) -> str:
    """Return a note on the servers without a slot, where nothing runs; empty if all have one."""
    servers = Servers.of(instance, slots)
    is_free = (servers.free > 0).any(axis=1)
    rows = np.unique(servers.row[(servers.slots == 0) & is_free])
    if not rows.size:
        return ""
    first = instance.servers[int(rows[0])]
    if rows.size == len(instance.servers):
        servers_text = (
            f"no server has a slot (server {quoted(first)} among them), so that nothing runs"
        )
    else:
        others = f" (and {rows.size - 1} more)" if rows.size > 1 else ""
        servers_text = f"server {quoted(first)}{others} has no slot, so that nothing runs there"
    slot_size = f"1/{slots} of the largest amount of each resource"
    return (
        f"{servers_text}: a slot is {slot_size}, which is more of some resource than there is; more slots are "
        "smaller"
    )


def require_few_tasks(instance: Instance, otherwise: str) -> None:
    """Raise TooLargeError where too many tasks fit to be served one by one.

    ``otherwise`` names a mechanism that counts them.
    """
    require_countable(instance)
    limits = np.minimum(instance.task_limits, instance.gamma().sum(axis=1))
    tasks = Filling(Pool.of(instance.derived(task_limits=limits))).run().sum()
    if tasks > MOST_TASKS:
        raise TooLargeError(
            f"some {tasks:,.0f} tasks would be served one by one; expected at most {MOST_TASKS:,} "
            "(give larger tasks, "
            f"or take {otherwise}, which counts them)"
        )


def place(
    instance: Instance, policy: str, *, ties: str = "larger", slots: int = SLOTS, unit: str = SYSTEM
) -> np.ndarray:
    """Return whole tasks, users × rows of servers, by serving users until no task fits.

    Parameters
    ----------
    instance : Instance
    policy : {"first-fit", "best-fit", "slots"}
    ties : {"larger", "smaller", "index"}
        Among equal shares, as for discrete DRF.
    slots : int
        Slots of the largest server, for ``slots``.
    unit : {"system", "largest-server"}
        What counts as one of each resource, for ``best-fit``.

    Notes
    -----
    One array operation over the servers for each task: O(tasks·(S·R + log N)) for S single servers.
    Where many tasks go to the same servers, by ``first-fit`` and ``slots``, they are counted: then
    O(N) tasks for each user and server.

    Examples
    --------
    >>> from fairlp import examples
    >>> place(examples.load("wang-figure-1"), "best-fit").tolist()
    [[10.0, 0.0], [0.0, 10.0]]
    """
    servers = Servers.of(instance, slots if policy == "slots" else None, unit)
    if policy == "best-fit":
        require_few_tasks(instance, "drfh-first-fit")
    shares = _shares(instance, policy)
    sign = SIGNS[ties]
    limits = whole_limits(instance.task_limits)
    tasks = np.zeros(instance.shape)
    totals = np.zeros(len(instance.users))
    heap = [(0 * share, sign * share, n) for n, share in enumerate(shares) if limits[n] > 0]
    heapq.heapify(heap)
    find = BestFit(servers) if policy == "best-fit" else FirstFit(servers)
    last = np.full(len(totals), -1)
    repeats = 0
    while heap:
        n = heap[0][2]
        server = find(n)
        if server < 0:
            heapq.heappop(heap)
            continue
        repeats = repeats + 1 if server == last[n] else 0
        last[n] = server
        if repeats > _ONE_BY_ONE * len(heap) and isinstance(find, FirstFit):
            repeats = 0
            users = np.array([user for _, _, user in heap])
            where = np.array([find(user) for user in users])
            users = users[where >= 0]
            where = where[where >= 0]
            counts = _counted(servers, users, where, shares, totals[users], limits[users])
            for user, server_row, count in zip(users.tolist(), where.tolist(), counts, strict=True):
                servers.take(user, server_row, count)
                tasks[user, servers.row[server_row]] += count
                totals[user] += count
            heap = [
                (int(totals[user]) * shares[user], sign * shares[user], user)
                for user in users.tolist()
                if totals[user] < limits[user]
            ]
            heapq.heapify(heap)
            continue
        servers.take(n, server)
        find.changed(server)
        tasks[n, servers.row[server]] += 1
        totals[n] += 1
        next_task(heap, shares[n], totals[n] < limits[n])
    return tasks


def _counted(
    servers: Servers,
    users: np.ndarray,
    where: np.ndarray,
    shares: Any,
    totals: np.ndarray,
    limits: np.ndarray,
) -> list[int]:
    """Return how many tasks each user is served next, all on the server that fits it first now.

    They are the tasks of all shares below one, which is found by halving: as many as fit together.
    """
    demands = servers.demands[users]
    free = servers.free[where]
    unit = min(shares[n] for n in users)
    spots, spot_of = np.unique(where, return_inverse=True)

    def fit(additions: np.ndarray) -> bool:
        used = np.zeros((len(spots), demands.shape[1]), dtype=demands.dtype)
        np.add.at(
            used,
            spot_of,
            demands * (integers(additions) if demands.dtype == object else additions)[:, None],
        )
        slots = (
            servers.slots is None or (np.bincount(spot_of, additions) <= servers.slots[spots]).all()
        )
        return bool(slots and (used <= servers.free[spots]).all())

    def below(number: int) -> np.ndarray:
        """Tasks of shares below so many units."""
        reached = [
            min(float(-(-(number * unit) // shares[n])), limit)
            for n, limit in zip(users, limits, strict=True)
        ]
        return np.asarray(np.maximum(reached - totals, 0.0))

    with np.errstate(divide="ignore", invalid="ignore"):
        tasks_by_resource = free.astype(float) / demands.astype(float)
    room = np.where(demands > 0, tasks_by_resource, np.inf).min(axis=1)
    shares_now = [int(count) * shares[n] for n, count in zip(users, totals, strict=True)]
    low = min(shares_now) // unit
    counts_at_most = zip(users, totals + room + 1, strict=True)
    shares_at_most = [int(count) * shares[n] for n, count in counts_at_most]
    high = max(shares_at_most) // unit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(below(middle)) else (low, middle)
    return [int(count) for count in below(low)]


def _shares(instance: Instance, policy: str) -> Any:
    """Return the share of one task of each user, comparable exactly.

    It is a share of the pool, or of slots.
    """
    pool = Pool.of(
        instance.derived(eligible=EVERYWHERE, task_limits=np.full(len(instance.users), np.inf))
    )
    if policy == "slots":  # one slot a task: 1/φ[n]
        users = len(instance.users)
        pool = Pool(
            pool.demands, pool.capacity, np.ones(users), whole(instance.user_weights), pool.limits
        )
    return comparable(pool)
