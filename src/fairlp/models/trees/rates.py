"""The amounts that active leaves of a tree ask for (hierarchical DRF), in floats and rationals.

The method is that of Bhattacharya et al., SoCC 2013.

A leaf at level l takes l·d̂[n,r] of each resource, of which the largest entry is l. Inside a queue
v there is a level s[v] of its own: children are at their weights times s[v]. What the users below v
take together is taken[v,·]; a queue is at level l where the largest entry of that is l, and s[v] is
as small as it can be. So what a leaf asks for is a monotone, piecewise linear function of the
root's own level s[root].

H-DRF counts the active leaves alone: taken[v,·] is then a multiple of one vector, and a leaf's rate
the product of weights and divisors on its way up. With satisfied leaves counted (those that have
all their tasks), taken[v,·] holds what they have, too. Then there are kinks:

* a queue waits (s[v] = 0) until its level is what its satisfied leaves take already;
* another resource becomes the one that most is taken of;
* where a queue's level stands still while s[v] rises (nothing below needs the resource that most is
  taken of), s[v] rises at once, and all others stand still meanwhile: the deepest such queues
  first, siblings by their weights;
* where the past counts, a leaf of level b counts for its queues as if it had taken b, and waits
  until s[v] asks for more.

:class:`Rates` holds the tree, :class:`TreePoint` is where it stands, :class:`Pace` how it goes on
from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import InstanceError
from ...tolerances import AGREEMENT
from ..instances.instance import Instance
from ..instances.queues import Queues
from ..paths.pool import FAR_APART

#: Active users → tasks of each at level 1, as rationals.
ExactRates = Callable[[Set[int]], dict[int, Fraction]]


@dataclass(frozen=True)
class TreePoint:
    """Where a tree stands.

    Attributes
    ----------
    level : ndarray, shape (Q,)
        s[v]: an active child of v asks for its weight times this, in dominant share.
    usage : ndarray, shape (Q, R)
        What leaves below v take together, as part of the pool: satisfied ones, and active ones as
        they ask.
    """

    level: np.ndarray
    usage: np.ndarray


@dataclass(frozen=True)
class Pace:
    """How a tree goes on from a point.

    Attributes
    ----------
    rate : ndarray, shape (N,)
        Tasks of each active leaf per unit of t; 0 for those that are not active.
    level, usage : ndarray, shapes (Q,) and (Q, R)
        Growth of the point's arrays per unit of t.
    end : float
        The t of the next kink; infinite if there is none.
    jumps : bool
        Whether leaves that could rise stand still, because the level of a queue does.
    """

    rate: np.ndarray
    level: np.ndarray
    usage: np.ndarray
    end: float
    jumps: bool

    def leads_on(self, point: TreePoint) -> bool:
        """Whether floats can hold the pace, and tell its next kink from a point."""
        for growth in (self.rate, self.level, self.usage):
            if not np.isfinite(growth).all():
                return False
        if self.end == np.inf:
            return True
        kink = self.after(point, self.end)
        return bool((kink.level != point.level).any() or (kink.usage != point.usage).any())

    def after(self, point: TreePoint, t: float) -> TreePoint:
        """Return where the tree stands after so much of t."""
        return TreePoint(point.level + self.level * t, point.usage + self.usage * t)


class Rates:
    """What active leaves ask for along a tree: of floats, or of rationals in arrays of objects.

    Parameters
    ----------
    queues : Queues
    weights : ndarray, shape (N,)
        Of leaves, beside the queues that stand in the same queue.
    share : ndarray, shape (N, R)
        d̂[n,r]: what a leaf with a dominant share of 1 takes of each resource; the largest entry is
        1.
    gamma : ndarray, shape (N,)
        Tasks that are a dominant share of 1 (Γ[n]).
    counted : bool
        Whether satisfied leaves count for their queues.
    past : ndarray, shape (N,), optional
        b[n]: the level, dominant share over weight, from which each leaf rises; 0 by default.
    """

    def __init__(
        self,
        queues: Queues,
        weights: np.ndarray,
        share: np.ndarray,
        gamma: np.ndarray,
        counted: bool = False,
        past: np.ndarray | None = None,
    ) -> None:
        self.counted = counted
        self.past = past
        self.exact = share.dtype == object
        self.slack = 0 if self.exact else AGREEMENT
        self.satisfied = 1 - (
            Fraction(AGREEMENT) if self.exact else AGREEMENT
        )  # part of its limit that a leaf has
        self.paths = queues.paths
        self.of = queues.of
        self.parents = queues.parents
        depths = queues.depths
        self.queue_weights = rational(queues.weights) if self.exact else queues.weights
        self.levels = queues.by_depth
        self.sums = queues.sums
        self.weighted = share * weights[:, None]
        with np.errstate(over="ignore"):
            self.tasks_per_level = weights * gamma
        tasks_of_level = gamma[:, None]
        self.task = np.divide(share, tasks_of_level, out=share * 0, where=tasks_of_level > 0)
        self.origin = TreePoint(
            self._zeros(len(depths)), self._zeros((len(depths), share.shape[1]))
        )

    def __call__(self, active: np.ndarray) -> np.ndarray:
        """Return the rates of active leaves where no leaf is satisfied; O(NR + QR)."""
        return self.pace(active, self.origin).rate

    @property
    def past_tasks(self) -> np.ndarray:
        """The past of each leaf in tasks, b[n]·φ[n]Γ[n], shape (N,)."""
        if self.past is None:
            return np.zeros_like(self.tasks_per_level)
        return np.asarray(self.tasks_per_level * self.past)

    def begin(self, tasks: np.ndarray) -> TreePoint:
        """Return the point where the tree begins if leaves take so many tasks.

        Satisfied leaves take all of theirs, active ones their past.
        """
        if not tasks.any():
            return self.origin
        usage = self._sum(0, self.task * tasks[:, None])
        for depth, rows in self._upward():
            usage += self._sum(depth, usage[rows])
        return TreePoint(self.origin.level, usage)

    def tasks_at(self, point: TreePoint) -> np.ndarray:
        """Return the tasks that each leaf asks for if it is active."""
        return np.asarray(point.level[self.of] * self.tasks_per_level)

    def pace(self, active: np.ndarray, point: TreePoint) -> Pace:
        """Return how the tree goes on from a point; O(NR + QR).

        Raises
        ------
        InstanceError
            Where floats cannot hold it: else rounds would never end.
        """
        if self.exact:
            return self._pace(active, point)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            pace = self._pace(active, point)
            if pace.leads_on(point):
                return pace
        v = int(self.of[np.argmin(np.isfinite(pace.rate))])
        raise InstanceError(
            "what users ask for along the tree of queues is beyond floats, first in queue "
            f"{self.paths[v]!r}: {FAR_APART}"
        )

    def _pace(self, active: np.ndarray, point: TreePoint) -> Pace:
        if point is self.origin:
            return self._first_pace(active)
        largest = point.usage.max(axis=1)
        is_largest = point.usage >= (largest * (1 - self.slack))[:, None]
        reached = self.queue_weights * point.level[self.parents]
        waits = reached < largest * (1 - self.slack)
        waits[0] = False
        alive = np.zeros(len(waits), dtype=bool)
        stands = np.zeros(len(waits), dtype=bool)
        alive[self.of[active]] = True
        resting, past = self._resting(active, point)
        active = active & ~resting
        total = self._sum(0, self.weighted * active[:, None])
        factor = self._zeros(len(waits)) + 1
        for depth, rows in self._upward():
            up = self.parents[rows]
            growth = np.where(is_largest[rows], total[rows], 0).max(axis=1)
            moves = alive[rows] & ~waits[rows]
            jumps = moves & (growth == 0)
            stands[up[jumps]] = True
            total[up[jumps]] = 0
            moves &= (growth > 0) & ~stands[up]
            factor[rows] = np.divide(
                self.queue_weights[rows], growth, out=self._zeros(len(rows)), where=moves
            )
            factor[rows[jumps]] = self.queue_weights[rows[jumps]]
            total += self._sum(depth, total[rows] * factor[rows, None])
            alive[up[alive[rows]]] = True
        for rows in self.levels:
            factor[rows] *= factor[self.parents[rows]]
        rises = active & ~stands[self.of]
        rate = np.where(rises, factor[self.of] * self.tasks_per_level, 0)
        level = np.where(stands, 0, factor)
        usage = total * factor[:, None]
        faster = usage - np.where(is_largest, usage, 0).max(axis=1)[:, None]
        faster[0] = 0
        climb = self.queue_weights * level[self.parents]
        wake = _least(largest - reached, climb, waits & alive & (climb > 0))
        kink = _least(largest[:, None] - point.usage, faster, ~is_largest & (faster > 0))
        speed = level[self.of]
        stirs = _least(past - point.level[self.of], speed, resting & (speed > 0))
        return Pace(rate, level, usage, min(wake, kink, stirs), bool(stands.any()))

    def _resting(self, active: np.ndarray, point: TreePoint) -> tuple[np.ndarray, np.ndarray]:
        """Return which active leaves wait because of their past, and the past of all."""
        if self.past is None:
            return np.zeros_like(active), point.level[self.of]
        resting = point.level[self.of] < self.past * (1 - self.slack)
        return np.asarray(active & resting), self.past

    def _first_pace(self, active: np.ndarray) -> Pace:
        """Return the pace from the origin, where each queue is at a multiple of one vector.

        There are no kinks.
        """
        total = self._sum(0, self.weighted * active[:, None])
        factor = self._zeros(len(total)) + 1
        for depth, rows in self._upward():
            largest = total[rows].max(axis=1)
            factor[rows] = np.divide(
                self.queue_weights[rows], largest, out=self._zeros(len(rows)), where=largest > 0
            )
            total += self._sum(depth, total[rows] * factor[rows, None])
        for rows in self.levels:
            factor[rows] *= factor[self.parents[rows]]
        return Pace(
            np.where(active, factor[self.of] * self.tasks_per_level, 0),
            factor,
            total * factor[:, None],
            np.inf,
            False,
        )

    def _upward(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the depths and their queues, the deepest first."""
        return zip(range(len(self.levels), 0, -1), reversed(self.levels), strict=True)

    def _sum(self, depth: int, rows: np.ndarray) -> np.ndarray:
        """Return sums of rows by queue: of leaves (depth 0), or of queues at a depth by parent."""
        if not self.exact:
            return np.asarray(self.sums[depth] @ rows)
        total = self._zeros((len(self.queue_weights), rows.shape[1]))
        queue_of_row = self.of if depth == 0 else self.parents[self.levels[depth - 1]]
        np.add.at(total, queue_of_row, rows)
        return total

    def _zeros(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape, dtype=self.queue_weights.dtype)


def _least(amounts: np.ndarray, speeds: np.ndarray, where: np.ndarray) -> float:
    """Return the least quotient of those asked for; infinite if there is none."""
    least: float = (amounts[where] / speeds[where]).min(initial=np.inf)
    return least


def constant(tasks_per_level: np.ndarray, past: np.ndarray | None = None) -> Rates:
    """Return rates that do not depend on who is active: those of DRF and its relatives, φΓ."""
    zeros = np.zeros_like(tasks_per_level)
    queues = Queues.root(len(zeros), 1)
    return Rates(queues, zeros + 1, zeros[:, None], tasks_per_level, past=past)


class ExactTree:
    """The rates in rationals where no leaf is satisfied; O(NR + QR).

    The rate of n is factors()[of[n]] / unit[n].

    Attributes
    ----------
    of : list of int
        Queue of each user.
    unit : list of Fraction
        Dominant share of one task over the weight.
    """

    def __init__(
        self, instance: Instance, active: Iterable[int], number: Callable[[float], Fraction]
    ) -> None:
        queues = instance.tree
        weights = [number(w) for w in instance.user_weights.tolist()]
        shares = exact_shares(instance, number)
        self.parents, self.of = queues.parents.tolist(), queues.of.tolist()
        self.queue_weights = [number(w) for w in queues.weights.tolist()]
        self.unit = [max(row) / w for row, w in zip(shares, weights, strict=True)]
        self.vector = [
            [share / unit for share in row] for row, unit in zip(shares, self.unit, strict=True)
        ]
        self.begin(active)

    def begin(self, active: Iterable[int]) -> None:
        """Make these the active users."""
        self.total = [[Fraction(0)] * len(self.vector[0]) for _ in self.queue_weights]
        for n in active:
            self._add(self.of[n], self.vector[n])
        for v in range(len(self.queue_weights) - 1, 0, -1):  # children before their parents
            self._add(self.parents[v], self._given(v))

    def factors(self) -> list[Fraction]:
        """Return each queue's product of weights and divisors on the way up.

        It is 0 where no leaf is active.
        """
        factor = [Fraction(1)] * len(self.queue_weights)
        for v in range(1, len(self.queue_weights)):
            largest = max(self.total[v])
            factor[v] = (
                factor[self.parents[v]] * self.queue_weights[v] / largest
                if largest
                else Fraction(0)
            )
        return factor

    def _given(self, v: int) -> list[Fraction]:
        """Return what a queue adds to its parent's vector."""
        largest = max(self.total[v])
        return [
            self.queue_weights[v] * amount / largest if largest else Fraction(0)
            for amount in self.total[v]
        ]

    def _add(self, v: int, change: list[Fraction]) -> None:
        self.total[v] = [
            amount + difference if difference else amount
            for amount, difference in zip(self.total[v], change, strict=True)
        ]


def exact_hierarchical(
    instance: Instance, number: Callable[[float], Fraction] = Fraction
) -> ExactRates:
    """Return the rates along the instance's tree in rationals; each call is O(NR + QR) operations.

    ``number`` is what a float stands for: itself, or its shortest decimal (:func:`decimal`).
    """
    tree = ExactTree(instance, (), number)

    def rates(active: Set[int]) -> dict[int, Fraction]:
        tree.begin(active)
        factor = tree.factors()
        return {n: factor[tree.of[n]] / tree.unit[n] for n in active}

    return rates


def rational(values: np.ndarray, number: Callable[[float], Fraction] = Fraction) -> np.ndarray:
    """Return an array of floats as rationals, infinite ones as they are."""
    fractions = [
        number(value) if np.isfinite(value) else value for value in values.ravel().tolist()
    ]
    return np.array(fractions, dtype=object).reshape(values.shape)


def rational_rates(
    instance: Instance,
    counted: bool = False,
    number: Callable[[float], Fraction] = Fraction,
    past: np.ndarray | None = None,
) -> Rates:
    """Return the rates of the instance's leaves in rationals; ``number`` converts a float."""
    shares = np.array(exact_shares(instance, number), dtype=object)
    dominant = shares.max(axis=1)
    rates = Rates(
        instance.tree,
        rational(instance.user_weights, number),
        shares / dominant[:, None],
        1 / dominant,
        counted,
        None if past is None else rational(past),
    )
    rates.queue_weights = rational(instance.tree.weights, number)
    return rates


def exact_pool(
    instance: Instance, number: Callable[[float], Fraction] = Fraction
) -> list[Fraction]:
    """Return the capacity of the whole cluster by resource."""
    counts = instance.counts.tolist()
    columns = instance.capacities.T.tolist()
    return [
        sum((number(c) * k for c, k in zip(column, counts, strict=True)), Fraction(0))
        for column in columns
    ]


def exact_shares(
    instance: Instance, number: Callable[[float], Fraction] = Fraction
) -> list[list[Fraction]]:
    """Return the fraction of the pool that one task of each user takes, by resource."""
    pool = exact_pool(instance, number)
    return [
        [number(d) / c if d else Fraction(0) for d, c in zip(row, pool, strict=True)]
        for row in instance.demands.tolist()
    ]


def decimal(value: float) -> Fraction:
    """Return the shortest decimal that a float is written as: 0.1 is a tenth.

    >>> decimal(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(value))
