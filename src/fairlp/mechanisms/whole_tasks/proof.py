"""Proofs for whole tasks, from the definitions alone: loops replayed, and leximins by enumeration.

Nothing that makes answers is asked. Numbers are those that are written (0.1 is a tenth), as
fractions, so that no rounding decides. What is replayed or enumerated is bounded; beyond that the
verdict is "not proved", and says so.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import quoted
from ...models.instances.instance import Instance
from ...models.programs.proof import Proof
from ...tolerances import LEVEL_ROUNDING
from ..allocation import Allocation
from ..max_min.enumeration import exactly, prove_by_enumeration

__all__ = ["prove_discrete_leximin", "prove_karma", "prove_placement"]

#: So many steps of a loop are replayed: some five seconds.
MOST_STEPS = 1_000_000
#: A distance between shapes takes so many times as long as a look at what is free.
STEPS_OF_A_DISTANCE = 3


def compared(allocation: Allocation, tasks: Sequence[Sequence[int]], by: str) -> Proof:
    """Return whether an allocation has the tasks, users × servers, that its definition gives."""
    instance = allocation.instance
    right = np.array(tasks, dtype=float).reshape(instance.shape)
    wrong = np.argwhere(right != allocation.tasks_array)
    if not wrong.size:
        return Proof(True, f"right, proved: {by}, replayed in exact arithmetic", 0.0)
    n, i = wrong[0].tolist()
    return Proof(
        False,
        f"not what {by} gives: user {quoted(instance.users[n])} has "
        f"{allocation.tasks_array[n, i]:.12g} tasks on {quoted(instance.servers[i])}, and "
        f"{right[n, i]:.12g} are right",
    )


# Placements (Wang, Li and Liang, §V-B)


@dataclass
class Room:
    """A single server: its row, what is free, and its free slots (None: no slots)."""

    row: int
    free: list[Fraction]
    slots: int | None = None

    def holds(self, demand: list[Fraction]) -> bool:
        """Return whether one task fits."""
        fits = all(need <= free for need, free in zip(demand, self.free, strict=True))
        return fits and (self.slots is None or self.slots > 0)

    def run(self, demand: list[Fraction]) -> None:
        """Run one task."""
        self.free = [free - need for need, free in zip(demand, self.free, strict=True)]
        if self.slots is not None:
            self.slots -= 1


def prove_placement(allocation: Allocation, exact: bool = False, *, policy: str) -> Proof:
    """Return whether whole tasks on servers are those of a policy's loop.

    The next task is that of the user with the least share (tasks · max_r d[n,r]/C[r] / φ[n]; for
    slots: tasks / φ[n]) among those whose task fits anywhere. Equal shares: the user whose task is
    the larger share, or the smaller, then the first. It runs on the first server where it fits;
    for ``best-fit`` on the one of the least Σ_r |d[r]/d[r₀] − c̄[r]/c̄[r₀]|·u[r₀]/u[r], r₀ the first
    resource that it needs, c̄ what is free, and u what counts as one: C, or the largest server's.
    Distances are told apart in steps of ``LEVEL_ROUNDING``.
    """
    instance = allocation.instance
    parameters = allocation.parameters
    single = int(instance.counts.sum())
    count = float(allocation.tasks_array.sum())
    looks = count + len(instance.users) * single
    if policy == "best-fit":
        looks = (count + len(instance.users)) * single * STEPS_OF_A_DISTANCE
    if not looks <= MOST_STEPS:
        return _too_long(f"{looks:,.0f} looks at servers", MOST_STEPS)

    demands = exactly(instance.demands)
    capacities = exactly(instance.capacities)
    counts = instance.counts.tolist()
    pool = [
        sum((c * k for c, k in zip(amounts, counts, strict=True)), Fraction(0))
        for amounts in zip(*capacities, strict=True)
    ]
    largest = [max(amounts) for amounts in zip(*capacities, strict=True)]
    slots = int(parameters.get("slots") or 14) if policy == "slots" else None
    rooms = [
        Room(row, list(capacities[row]), _slots(capacities[row], largest, slots))
        for row, k in enumerate(counts)
        for _ in range(k)
    ]
    unit = largest if parameters.get("unit") == "largest-server" else pool
    shares = _shares(instance, demands, pool, policy)
    sign = {"larger": -1, "smaller": 1, "index": 0}[parameters.get("ties", "larger")]
    tasks = [[0] * len(counts) for _ in demands]
    totals = [0] * len(demands)
    heap = [
        (Fraction(0), sign * share, n)
        for n, share in enumerate(shares)
        if share is not None and instance.task_limits[n] >= 1
    ]
    heapq.heapify(heap)
    eligible = instance.eligible
    start = [0] * len(demands)
    doubtful = False
    while heap:
        share, tie, n = heap[0]
        place: int | None = None
        if policy == "best-fit":
            fitting = [
                s
                for s, room in enumerate(rooms)
                if eligible[n, room.row] and room.holds(demands[n])
            ]
            distances = [_distance(demands[n], rooms[s].free, unit) for s in fitting]
            place, is_close = _nearest(fitting, distances)
            doubtful |= is_close
        else:
            # a server where the task did not fit never has more room
            while start[n] < len(rooms):
                room = rooms[start[n]]
                if eligible[n, room.row] and room.holds(demands[n]):
                    place = start[n]
                    break
                start[n] += 1
        if place is None:
            heapq.heappop(heap)
            continue
        rooms[place].run(demands[n])
        tasks[n][rooms[place].row] += 1
        totals[n] += 1
        share_of_task = shares[n]
        assert share_of_task is not None
        if totals[n] + 1 <= instance.task_limits[n]:
            heapq.heapreplace(heap, (share + share_of_task, tie, n))
        else:
            heapq.heappop(heap)
    proof = compared(allocation, tasks, f"the loop of {policy}")
    if doubtful and not proof.holds:
        return Proof(False, "not proved: two servers are as like a task as rounding can tell")
    return proof


def _slots(capacity: list[Fraction], largest: list[Fraction], slots: int | None) -> int | None:
    """Return the slots of a server, of which the largest server has so many."""
    if slots is None:
        return None
    return min(int(c * slots // most) for c, most in zip(capacity, largest, strict=True) if most)


def _shares(
    instance: Instance, demands: list[list[Fraction]], pool: list[Fraction], policy: str
) -> list[Fraction | None]:
    """Return each user's weighted share of one task; None where the pool is too small."""
    weights = exactly(instance.user_weights)
    shares: list[Fraction | None] = []
    for demand, weight in zip(demands, weights, strict=True):
        if any(need > whole for need, whole in zip(demand, pool, strict=True)):
            shares.append(None)
            continue
        part = max(need / whole for need, whole in zip(demand, pool, strict=True) if whole)
        shares.append((Fraction(1) if policy == "slots" else part) / weight)
    return shares


def _distance(demand: list[Fraction], free: list[Fraction], unit: list[Fraction]) -> Fraction:
    """Return how unlike a task and what is free on a server are."""
    first = next(r for r, need in enumerate(demand) if need)
    return sum(
        (
            abs(free[r] / free[first] - demand[r] / demand[first]) * unit[first] / unit[r]
            for r in range(len(demand))
            if unit[r]
        ),
        Fraction(0),
    )


def _nearest(servers: list[int], distances: list[Fraction]) -> tuple[int | None, bool]:
    """Return the first server of the least distance in steps, and whether rounding may decide."""
    if not servers:
        return None, False
    steps = [round(distance / Fraction(LEVEL_ROUNDING)) for distance in distances]
    best = min(range(len(servers)), key=lambda k: (steps[k], servers[k]))
    is_close = any(
        distance != distances[best] and abs(step - steps[best]) <= 2
        for distance, step in zip(distances, steps, strict=True)
    )
    return servers[best], is_close


# Karma (Vuppalapati et al., Algorithm 1)


def prove_karma(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether whole slices are those of Algorithm 1, one slice after the other.

    Of S slices n users are guaranteed g = ⌊αS/n⌋ each; the other S − n·g are shared. Everyone earns
    ⌊(S − n·g)/n⌋ credits, has min(demand, g), and donates the rest of g. While slices are left
    (donated, else shared), the user with most credits who lacks slices takes one for a credit;
    equal credits: the first.
    """
    instance = allocation.instance
    parameters = allocation.parameters
    size = exactly(instance.demands[0])
    pool = [
        sum(
            (c * k for c, k in zip(exactly(column), instance.counts.tolist(), strict=True)),
            Fraction(0),
        )
        for column in instance.capacities.T
    ]
    slices = min(int(whole // need) for need, whole in zip(size, pool, strict=True) if need)
    users = len(instance.users)
    if slices > MOST_STEPS:
        return _too_long(f"{slices:,} slices", MOST_STEPS)
    alpha = Fraction(str(parameters.get("alpha", 0.5)))
    guaranteed = int(alpha * slices // users)
    shared = slices - users * guaranteed
    demand = [int(min(limit, slices)) for limit in instance.task_limits.tolist()]
    allocated = [min(slices_of_user, guaranteed) for slices_of_user in demand]
    remaining = shared + sum(guaranteed - amount for amount in allocated)
    credits = [balance + shared // users for balance in _credits(allocation)]
    heap = [(-credits[n], n) for n in range(users) if allocated[n] < demand[n] and credits[n] > 0]
    heapq.heapify(heap)
    while heap and remaining > 0:
        debt, n = heap[0]  # minus the most credits
        allocated[n] += 1
        remaining -= 1
        if allocated[n] < demand[n] and debt < -1:
            heapq.heapreplace(heap, (debt + 1, n))
        else:
            heapq.heappop(heap)
    return compared(allocation, [[amount] for amount in allocated], "Karma's algorithm")


def _credits(allocation: Allocation) -> list[int]:
    """Return the credits that users begin with; who joins has the average, rounded down."""
    users = allocation.instance.users
    state = allocation.parameters.get("state")
    if state is None:
        return [int(allocation.parameters.get("credits", 10**12))] * len(users)
    credits = {user: int(balance) for user, balance in state.items()}
    average = sum(credits.values()) // len(credits)
    return [credits.get(user, average) for user in users]


# The leximin of whole tasks on one server


def prove_discrete_leximin(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether whole tasks on one server have the leximin of weighted dominant shares."""
    instance = allocation.instance
    totals = allocation.tasks_array.sum(axis=1)
    demands = exactly(instance.demands)
    pool = exactly(instance.total_capacities[0])
    all_weights = instance.weights.reshape(len(totals), -1)
    weights = exactly(np.broadcast_to(all_weights, instance.demands.shape))
    shares = [
        max(d / (c * w) for d, c, w in zip(demand, pool, weight, strict=True) if d)
        if all(d <= c for d, c in zip(demand, pool, strict=True))
        else Fraction(0)
        for demand, weight in zip(demands, weights, strict=True)
    ]
    problem = _broken(instance, totals, demands, pool)
    if problem:
        return Proof(False, problem)

    def tasks_at(level: Fraction) -> tuple[list[int], list[int]]:
        least = [int(-(-level // share)) if share else 0 for share in shares]
        above = [int(level // share) + 1 if share else 0 for share in shares]
        return least, above

    users = [n for n, share in enumerate(shares) if share and instance.task_limits[n] >= 1]
    levels = sorted({int(totals[n]) * shares[n] for n in users})
    return prove_by_enumeration(instance, totals, users, levels, tasks_at)


def _broken(
    instance: Instance, tasks: np.ndarray, demands: list[list[Fraction]], pool: list[Fraction]
) -> str:
    """Return why tasks are no whole tasks of one server; empty where they are."""
    if (tasks != np.floor(tasks)).any() or (tasks < 0).any():
        return "not the leximin of whole tasks: some tasks are no whole numbers"
    used = [
        sum((int(x) * d[r] for x, d in zip(tasks, demands, strict=True)), Fraction(0))
        for r in range(len(pool))
    ]
    over = any(amount > whole for amount, whole in zip(used, pool, strict=True))
    if over or (tasks > instance.task_limits).any():
        return "infeasible: the tasks break a capacity or a limit"
    return ""


def _too_long(what: str, most: int) -> Proof:
    """Return the verdict on what is not replayed to its end."""
    return Proof(False, f"not proved: {what} are not replayed; expected at most {most:,}")
