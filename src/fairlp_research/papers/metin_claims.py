"""Metin, Precomputed DRF: what its text claims of cycles, of deviations, of cost and of weights."""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import pairwise
from math import log2

import numpy as np

import fairlp
from fairlp import Instance, allocate, cycles

from ..study import generators
from .growth import judged, measured
from .metin import PAPER, beyond_filling
from .registry import CheckAnswer, Run, integers
from .verdicts import AGREEMENT, AUDIT, Agreement, ItemAnswer, beside, on_instance, shown

#: The draw in which a user has too many tasks although no demand is below 10: its seed and number,
#: from 0.
SEED = 7
DRAW = 398


def _few_users(rng: np.random.Generator) -> Instance:
    """Return two or three users of one resource."""
    return integers(rng, users=(2, 3), resources=(1, 1))


def _served(shares: list[Fraction], picks: int) -> list[int]:
    """Return who is served by progressive filling: the least share first, ties to the larger."""
    totals = [Fraction(0)] * len(shares)
    order = []
    for _ in range(picks):
        user = min(range(len(shares)), key=lambda n: (totals[n], -shares[n]))
        totals[user] += shares[user]
        order.append(user)
    return order


@PAPER.statement(
    "§3.3, length of a cycle",
    "A cycle has Σ lcm(DS)/ds[n] allocations, lcm(DS)/ds[n] of them to user n",
    _few_users,
)
def cycle_length(instance: Instance) -> CheckAnswer:
    """Serve users one by one in rationals until all have the same share again."""
    shares = [
        Fraction(int(demand), int(instance.pool[0])) for demand in instance.demands[:, 0].tolist()
    ]
    length = cycles.length(instance)
    order = _served(shares, length)
    counts = [0] * len(shares)
    for position, user in enumerate(order, 1):
        counts[user] += 1
        is_level = len({count * share for count, share in zip(counts, shares, strict=True)}) == 1
        if is_level != (position == length):
            return False
    return counts == cycles.summary(instance)["cycle"].tolist()


@PAPER.item(
    "§3.3, basic subcycle",
    "Σ floor(ds*/ds[n]) allocations are the most frequently occurring subcycle",
)
def basic_subcycle(run: Run) -> ItemAnswer:
    """Two users of demands 4 and 7: what the first runs between two tasks of the second."""
    instance = Instance.from_arrays([[4], [7]], [[700]])
    order = _served([Fraction(4), Fraction(7)], cycles.length(instance))
    large = np.flatnonzero(np.array(order) == 1)
    subcycles = np.diff([*large, len(order)]) - 1
    basic = cycles.summary(instance)["basic_subcycle"].tolist()[0]
    frequent = np.bincount(subcycles).argmax()
    ours = (
        f"the basic subcycle has {basic} task of the first user; {(subcycles == frequent).sum()} of "
        f"{len(subcycles)} subcycles have {frequent}"
    )
    why = "it is so where the fraction of ds*/ds[n] is below one half"
    return on_instance(instance, frequent != basic, ours, why)


@PAPER.item("§4, no overallocations", "With demands of 10–20 overallocations are totally avoided")
def no_overallocations(run: Run) -> ItemAnswer:
    """One draw of the table's last row, and the user's tasks by the formula in rationals."""
    rng = np.random.default_rng(SEED)
    for _ in range(DRAW + 1):
        instance = generators.uniform_integers(rng, users=1000, resources=10, demands=(10, 20))
    tasks = allocate(instance, "pdrf").totals.to_numpy()
    filled = allocate(instance, "drf-discrete").totals.to_numpy()
    overallocated = np.flatnonzero(tasks > filled)
    user = int(overallocated[0]) if len(overallocated) else 0
    exact = _formula(instance, user)
    ours = (
        f"user {user + 1} of 1,000 has {exact}, and {filled[user]:g} by progressive filling "
        "(ties to the larger share), both in rationals"
    )
    return ItemAnswer(
        Agreement.REFUTED if exact > filled[user] else Agreement.HOLDS,
        ours,
        "it is rare: most draws have none",
        count=1,
        witness=f"draw {DRAW + 1} of NumPy's generator of seed {SEED}: 10 resources, demands 10–20, reserves "
        "50,000–100,000",
    )


def _formula(instance: Instance, user: int) -> int:
    """Return floor(k·ds*/ds[user]) in rationals."""
    demands = instance.demands.astype(int).tolist()
    capacity = instance.pool.astype(int).tolist()
    shares = [max(map(Fraction, row, capacity)) for row in demands]
    largest = max(shares)
    ratios = [largest / share for share in shares]
    k = min(
        Fraction(available)
        / sum(ratio * row[r] for ratio, row in zip(ratios, demands, strict=True))
        for r, available in enumerate(capacity)
    )
    return int(k * ratios[user])


def _excess(rng: np.random.Generator, resources: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ds*/ds[n] and the tasks that each user has too many, of a draw of 1,000 users."""
    instance = generators.uniform_integers(rng, users=1000, resources=resources, demands=(1, 100))
    share = (instance.demands / instance.pool).max(axis=1)
    return share.max() / share, beyond_filling(instance).clip(min=0)


#: What "predominantly" and "very rarely" are taken to mean, as parts of all deviations.
PREDOMINANT = 0.5
RARE = 0.05


@PAPER.item(
    "§4, size of deviations",
    "Deviations are predominantly by one task, and very rarely by more than two; they go both ways",
    "drf-discrete",
    "pdrf",
)
def sizes_of_deviations(run: Run) -> ItemAnswer:
    """Users by how far they are from progressive filling, in the settings of both tables."""
    rng = run.rng
    count = run.of(10, 300)
    differences = np.concatenate(
        [
            _difference(rng, resources, largest)
            for resources, largest in ((10, 10), (10, 20), (2, 100))
            for _ in range(count)
        ]
    )
    deviations = abs(differences[differences != 0])
    by_one = (deviations == 1).mean()
    beyond_two = (deviations > 2).mean()
    both_ways = differences.min() < 0 < differences.max()
    ours = f"of all deviations {by_one:.1%} are by one task, {beyond_two:.1%} by more than two"
    return ItemAnswer(
        Agreement.HOLDS
        if by_one > PREDOMINANT and beyond_two < RARE and both_ways
        else Agreement.DIFFERS,
        ours,
        count=3 * count,
        size="demands 1–10, 1–20 and, of 2 resources, 1–100",
    )


def _difference(rng: np.random.Generator, resources: int, largest: int) -> np.ndarray:
    """Return the tasks that each of 1,000 users has too many, or too few (below 0)."""
    instance = generators.uniform_integers(
        rng, users=1000, resources=resources, demands=(1, largest)
    )
    return beyond_filling(instance)


@PAPER.item(
    "§4, demands of 1",
    "Overallocations favour demands that contain 1, most of all those of 1 for all resources",
)
def demands_of_one(run: Run) -> ItemAnswer:
    """Mean tasks too many of users by how many of their two demands are 1."""
    rng = run.rng
    count = run.of(10, 300)
    ones = []
    excess = []
    for _ in range(count):
        instance = generators.uniform_integers(rng, users=1000, resources=2, demands=(1, 10))
        ones.append((instance.demands == 1).sum(axis=1))
        excess.append(beyond_filling(instance).clip(min=0))
    demands_that_are_one = np.concatenate(ones)
    mean = [np.concatenate(excess)[demands_that_are_one == k].mean() for k in (0, 1, 2)]
    ours = f"tasks too many of users with no demand of 1, one, and two: {shown(mean)}"
    return ItemAnswer(
        Agreement.HOLDS if mean[0] < mean[1] < mean[2] else Agreement.DIFFERS,
        ours,
        count=count,
        size="2 resources, demands 1–10",
    )


@PAPER.item("§4, more resource types", "More resource types mitigate overallocations")
def more_resources(run: Run) -> ItemAnswer:
    """Users with too many tasks, by the number of resources."""
    rng = run.rng
    count = run.of(20, 300)
    sizes = (1, 2, 4, 10)
    mean = [np.mean([(_excess(rng, r)[1] > 0).sum() for _ in range(count)]) for r in sizes]
    ours = f"with 1, 2, 4 and 10 resources {shown(mean)} of 1,000 users have too many"
    holds = mean[0] > mean[1] > max(mean[2:])
    return ItemAnswer(
        Agreement.HOLDS if holds else Agreement.DIFFERS,
        ours,
        "" if holds else "the numbers do not fall",
        count=count * len(sizes),
        size="1,000 users, demands 1–100",
    )


@PAPER.item(
    "§4, ratio of shares",
    "Overallocations grow in proportion to the ratio of the largest share to a user's",
)
def ratio_of_shares(run: Run) -> ItemAnswer:
    """Tasks too many per unit of the ratio, by octaves of the ratio."""
    rng = run.rng
    count = run.of(30, 500)
    draws = [np.column_stack(_excess(rng, 2)) for _ in range(count)]
    ratios, excess = np.concatenate(draws).T
    octaves = np.floor(np.log2(ratios)).clip(max=5).astype(int)
    per_unit = [
        (excess[octaves == octave] / ratios[octaves == octave]).mean() for octave in range(6)
    ]
    ours = f"tasks too many per unit of the ratio, 1–2, 2–4, …, from 32 on: {shown(per_unit)}"
    is_steady = max(per_unit) < 2 * min(per_unit)
    grows = all(later > earlier for earlier, later in pairwise(per_unit[:4]))
    is_steady_later = max(per_unit[3:]) < 2 * min(per_unit[3:])
    why = "they grow faster than the ratio at first: a deviation under one task is none"
    return ItemAnswer(
        Agreement.HOLDS if is_steady else Agreement.DIFFERS,
        ours,
        f"{why}; in proportion from a ratio of 8 on" if grows and is_steady_later else why,
        count=count,
        size="2 resources, demands 1–100",
    )


class _Counted:
    """A number that counts what is done with it, by operation."""

    def __init__(self, value: float, counts: dict[str, int]) -> None:
        self.value = value
        self.counts = counts

    def _done(self, operation: str, value: float) -> _Counted:
        self.counts[operation] = self.counts.get(operation, 0) + 1
        return _Counted(value, self.counts)

    def __add__(self, other: _Counted) -> _Counted:
        return self._done("+", self.value + other.value)

    def __mul__(self, other: _Counted) -> _Counted:
        return self._done("·", self.value * other.value)

    def __truediv__(self, other: _Counted) -> _Counted:
        return self._done("/", self.value / other.value)

    def __lt__(self, other: _Counted) -> bool:
        self._done("<", 0)
        return self.value < other.value

    def __gt__(self, other: _Counted) -> bool:
        return other < self

    def floor(self) -> _Counted:
        return self._done("floor", np.floor(self.value))


def operations(demands: list[list[float]], capacity: list[float]) -> tuple[int, list[float]]:
    """Run Algorithm 1 line by line; return the number of its operations, and the tasks."""
    counts: dict[str, int] = {}
    d = [[_Counted(value, counts) for value in row] for row in demands]
    c = [_Counted(value, counts) for value in capacity]
    resources = range(len(c))

    # Fractional demands, dominant shares, and the largest (line 7).
    shares = [max(row[r] / c[r] for r in resources) for row in d]
    largest = max(shares)

    # What a cycle needs (lines 8 to 10), and how many cycles fit (line 12).
    ratios = [largest / share for share in shares]
    scaled = [[ratio * need for need in row] for ratio, row in zip(ratios, d, strict=True)]
    total = scaled[0]
    for row in scaled[1:]:
        total = [a + b for a, b in zip(total, row, strict=True)]
    k = min(c[r] / total[r] for r in resources)

    # The allocation (line 15), and what is consumed (line 16, with the products of line 15).
    tasks = [(k * ratio).floor() for ratio in ratios]
    consumed = [_Counted(0, counts) for _ in resources]
    for count, row in zip(tasks, d, strict=True):
        bundle = [count * need for need in row]
        consumed = [a + b for a, b in zip(consumed, bundle, strict=True)]
    return sum(counts.values()), [count.value for count in tasks]


@PAPER.item(
    "§5, number of operations",
    "mn + (m − 1)n + (n − 1) + n + mn + m(n − 1) + m + (m − 1) + 2mn operations",
)
def number_of_operations(run: Run) -> ItemAnswer:
    """Algorithm 1 with numbers that count, for several sizes."""
    rng = run.rng
    printed = {}
    ours = []
    for n, m in ((2, 2), (10, 3), (50, 7)):
        demands = rng.integers(1, 10, (n, m)).astype(float)
        count, _ = operations(demands.tolist(), (100.0 * demands.sum(axis=0)).tolist())
        printed[f"{n} users, {m} resources"] = 6 * m * n + n + m - 2
        ours.append(count)
    return beside(
        printed,
        ours,
        otherwise="2n more: the products k·(ds*/ds[n]) and their floors are not in the paper's list; still linear",
    )


@PAPER.item("§5, O(mn)", "Linear time in users and in resources, whatever the reserves are")
def linear_time(run: Run) -> ItemAnswer:
    """Measured times of Algorithm 1 in floats."""

    def pool(users: int, resources: int, reserve: float = 1000.0) -> fairlp.cycles.Pool:
        demands = np.random.default_rng(0).integers(1, 100, (users, resources))
        return fairlp.cycles.Pool.of(Instance.from_arrays(demands, [[reserve * users] * resources]))

    sizes = (2**13, 2**15, 2**17)
    by_users = measured("users", sizes, lambda n: pool(n, 4), fairlp.cycles.algorithm_1, 1)
    by_resources = measured(
        "resources", (4, 16, 64), lambda m: pool(2**13, m), fairlp.cycles.algorithm_1, 1
    )
    by_reserves = measured(
        "reserves",
        (2**8, 2**12, 2**16),
        lambda factor: pool(2**13, 4, float(factor)),
        fairlp.cycles.algorithm_1,
        0,
    )
    return judged([by_users, by_resources, by_reserves])


class _Key:
    """A key of a heap that counts comparisons."""

    comparisons = 0

    def __init__(self, share: Fraction | float, user: int) -> None:
        self.share = share
        self.user = user

    def __lt__(self, other: _Key) -> bool:
        _Key.comparisons += 1
        return (self.share, self.user) < (other.share, other.user)


@PAPER.item(
    "§5, expected time of DRF", "An allocation takes O(log n): the expected time is min_r r/μ·log n"
)
def heap_cost(run: Run) -> ItemAnswer:
    """Comparisons of a binary heap for each allocation of progressive filling."""
    rng = run.rng
    per_pick = []
    sizes = (2**6, 2**9, 2**12)
    for n in sizes:
        shares = rng.uniform(0.1, 1.0, n)
        heap = [_Key(0.0, user) for user in range(n)]
        _Key.comparisons = 0
        for _ in range(4 * n):
            key = heap[0]
            heapq.heapreplace(heap, _Key(key.share + shares[key.user], key.user))
        per_pick.append(_Key.comparisons / (4 * n) / log2(n))
    ours = f"comparisons for each allocation, over log n, with 64, 512 and 4,096 users: {shown(per_pick)}"
    return ItemAnswer(
        Agreement.HOLDS if max(per_pick) < 2 else Agreement.DIFFERS,
        ours,
        "the number of allocations stands under §5, number of picks",
        count=len(sizes),
    )


@PAPER.item("§5, underallocations", "All underallocations are by one task")
def underallocations(run: Run) -> ItemAnswer:
    """Demands 1, 6 and 6 of 11: filling leaves out who does not fit, and goes on."""
    instance = Instance.from_arrays([[1], [6], [6]], [[11]])
    tasks = allocate(instance, "pdrf").totals.to_numpy()
    filled = allocate(instance, "drf-discrete").totals.to_numpy()
    ours = f"{shown(tasks)} tasks, and {shown(filled)} by progressive filling"
    why = "in Tables 1 and 2 it is so where reserves are many times the demands (all rows but the last)"
    return on_instance(instance, (filled - tasks).max() > 1, ours, why)


@PAPER.item(
    "§6.1, reiteration",
    "Reiterating with cycles of higher order does not always improve the allocation, and occasionally leads to "
    "overassignment",
)
def reiteration(run: Run) -> ItemAnswer:
    """The distance from progressive filling, without and with cycles of higher order."""
    rng = run.rng
    count = run.of(200, 5000)
    closer = farther = over = changed = 0
    for _ in range(count):
        demands = rng.integers(1, 20, (rng.integers(2, 8), rng.integers(1, 3)))
        reserves = demands.sum(axis=0) * rng.integers(1, 4) + rng.integers(0, 20)
        instance = Instance.from_arrays(demands, [reserves])
        filled = allocate(instance, "drf-discrete").totals.to_numpy()
        once = allocate(instance, "pdrf").totals.to_numpy()
        higher_order_tasks = allocate(instance, "pdrf", higher_order=True).totals.to_numpy()
        changed += int((higher_order_tasks != once).any())
        distance = abs(higher_order_tasks - filled).sum() - abs(once - filled).sum()
        closer += int(distance < 0)
        farther += int(distance > 0)
        over += int((higher_order_tasks > np.maximum(filled, once)).any())
    ours = (
        f"of {changed} allocations that change, {closer} come closer to progressive filling and {farther} go farther "
        f"from it; in {over} a user has too many"
    )
    return ItemAnswer(
        Agreement.HOLDS if closer and farther and over else Agreement.DIFFERS,
        ours,
        "with few reserves, where a cycle leaves much; too many is frequent, not occasional",
        count=count,
        size="2 to 7 users, reserves of 1 to 3 cycles",
    )


def _invested(rng: np.random.Generator) -> Instance:
    """Return users whose weights are parts of a total investment."""
    plain = integers(rng, users=(2, 6), resources=(1, 3))
    amounts = rng.integers(1, 10, len(plain.users))
    return plain.replace(weights=amounts / amounts.sum())


@PAPER.statement(
    "§6.3, an implicit auction",
    "Weights that are each user's part of the total investment make DRF an auction",
    _invested,
    why="dominant shares are in proportion to investments and no less than the part; who invests more has more, and "
    "others no more",
    of=("drf",),
)
def auction(instance: Instance) -> CheckAnswer:
    """Shares beside investments, and what doubling the first user's does."""
    invested = np.asarray(instance.weights)
    allocation = allocate(instance, "drf", method="lp")
    shares = allocation.shares.to_numpy()
    raised = invested * np.where(np.arange(len(invested)) == 0, 2, 1)
    after = allocate(instance.replace(weights=raised / raised.sum()), "drf").totals.to_numpy()
    before = allocation.totals.to_numpy()
    in_proportion = np.allclose(shares / invested, shares[0] / invested[0], rtol=AGREEMENT)
    guaranteed = (shares >= invested - AUDIT).all()
    gains = after[0] > before[0] * (1 + AUDIT)
    return in_proportion and guaranteed and gains and (after[1:] <= before[1:] * (1 + AUDIT)).all()


@PAPER.statement(
    "§6.3, implicit prices",
    "DRF implicitly assigns value to resources by demand and supply",
    integers,
    why="the duals of its program: only what is used up has a price",
)
def implicit_prices(instance: Instance) -> CheckAnswer:
    """Prices of the linear program beside what is left, and their value beside the level."""
    allocation = allocate(instance, "drf", method="lp")
    assert allocation.prices is not None
    prices = allocation.prices.to_numpy()[0]
    used = allocation.tasks_array.sum(axis=1) @ instance.demands
    free = instance.pool - used
    level = allocation.shares.to_numpy().min()
    return (
        (prices >= 0).all()
        and (prices[free > AUDIT * instance.pool] <= AUDIT).all()
        and np.isclose(prices @ instance.pool, level, rtol=AGREEMENT)
    )


PAPER.uncheckable(
    "§1, §2 and §7, motivation",
    "DRF is widely adopted; precomputed DRF may be easier to adapt to blockchains",
    "prior work and plans, no statement about allocations",
)
