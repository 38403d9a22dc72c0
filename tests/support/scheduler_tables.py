"""Numbers of the schedulers' own unit tests, restated: which test they come from, and what it expects."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import pytest


def ids(cases):
    """Return the parameters of pytest: each case under its name."""
    return [pytest.param(case, id=case.name) for case in cases]


class Pools(NamedTuple):
    """Pools that share one resource: the total, and by pool minimum, maximum, weight and share."""

    name: str
    total: int
    minimum: tuple[int, ...]
    maximum: tuple[int | None, ...]
    weights: tuple[float, ...]
    expected: tuple[int, ...]


_NONE = (0, 0, 0, 0)
_UNLIMITED = (None, None, None, None)
_EQUAL = (1, 1, 1, 1)

#: Apache Hadoop, ``…/resourcemanager/scheduler/fair/TestComputeFairShares.java``.
COMPUTE_FAIR_SHARES = [
    Pools("testEqualSharing", 40, _NONE, _UNLIMITED, _EQUAL, (10, 10, 10, 10)),
    Pools("testLowMaxShares", 40, _NONE, (100, 50, 11, 3), _EQUAL, (13, 13, 11, 3)),
    Pools("testMinShares", 40, (20, 18, 0, 2), _UNLIMITED, _EQUAL, (20, 18, 0, 2)),
    Pools("testWeightedSharing", 45, _NONE, _UNLIMITED, (2, 1, 1, 0.5), (20, 10, 10, 5)),
    Pools("testWeightedSharingWithMaxShares", 45, _NONE, (10, 11, 30, 20), (2, 1, 1, 0.5), (10, 11, 16, 8)),
    Pools("testWeightedSharingWithMinShares", 45, (20, 0, 5, 15), _UNLIMITED, (2, 1, 1, 0.5), (20, 5, 5, 15)),
    Pools("testLargeShares", 40_000_000, _NONE, _UNLIMITED, _EQUAL, (10_000_000,) * 4),
    Pools("testCPU", 45, (20, 0, 5, 15), _UNLIMITED, (2, 1, 1, 0.5), (20, 5, 5, 15)),
]  # fmt: skip


class Preemption(NamedTuple):
    """Leaf queues of a capacity scheduler, and the amounts that its policy pre-empts.

    ``queues`` has by path guaranteed, used and pending amounts (of leaves), or the guaranteed
    amount of a parent; ``preempted`` the amounts by path, ``exact`` the amounts before YARN rounds
    them, where it does. ``caps`` are maximum capacities below the whole; leaves of ``keeping`` are
    not pre-empted from. A container takes ``size``.
    """

    name: str
    total: int
    queues: dict[str, Any]
    preempted: dict[str, int]
    exact: dict[str, Fraction] | None = None
    caps: dict[str, int] | None = None
    keeping: tuple[str, ...] = ()
    size: int = 1


_IMBALANCE = {"A": (40, 55, 10), "B": (40, 45, 10), "C": (20, 0, 0)}
_THREE = {"A": (55, 0, 10), "B": (25, 54, 0), "C": (20, 46, 0)}
_FOUR = {
    "A": 100, "A/B": (50, 60, 0), "A/C": (50, 50, 0),
    "D": 100, "D/E": (10, 90, 0), "D/F": (90, 0, 10),
}  # fmt: skip
_BROAD = {
    "A": 350, "A/B": (150, 200, 0), "A/C": (200, 200, 0),
    "D": 400, "D/E": (200, 250, 0), "D/F": (200, 150, 50),
    "G": 250, "G/H": (100, 150, 0), "G/I": (150, 50, 0),
}  # fmt: skip
_LARGE = {
    "A": 200, "A/B": (60, 70, 0), "A/C": (140, 140, 0),
    "D": 100, "D/E": (70, 50, 0), "D/F": (30, 50, 0),
    "G": 100, "G/H": (10, 90, 0), "G/I": (90, 0, 15),
}  # fmt: skip
_LEVELS = {
    "A": 200, "A/B": (60, 60, 0), "A/C": 140, "A/C/D": (100, 100, 0), "A/C/E": (40, 50, 0),
    "F": 100, "F/G": (70, 50, 0), "F/H": (30, 50, 0),
    "I": 100, "I/J": (10, 10, 0), "I/K": (90, 80, 10),
}  # fmt: skip
_INHERIT = {
    "A": 500, "A/B": (200, 0, 0), "A/C": (200, 350, 0), "A/D": (100, 350, 0),
    "E": 500, "E/F": (200, 0, 200), "E/G": (200, 200, 0), "E/H": (100, 100, 0),
}  # fmt: skip
_ZERO = {
    "A": 100, "A/B": (0, 60, 0), "A/C": (99, 20, 0),
    "D": 100, "D/E": (10, 90, 0), "D/F": (90, 0, 10),
}  # fmt: skip
_ZERO_OVER = {
    "A": 100, "A/B": (0, 60, 30), "A/C": (100, 20, 10), "A/D": (0, 90, 10),
    "E": 100, "E/F": (100, 0, 20),
}  # fmt: skip
_THIRD = Fraction(1, 3)

#: Two queues beyond what they are guaranteed, each with more to run.
OVER_CAPACITY_IMBALANCE = Preemption("testOverCapacityImbalance", 100, _IMBALANCE, {})

#: Apache Hadoop, ``…/monitor/capacity/TestProportionalCapacityPreemptionPolicy.java``.
CAPACITY_PREEMPTION = [
    Preemption("testIgnore", 100, {"A": (40, 0, 0), "B": (40, 60, 0), "C": (20, 40, 0)}, {}),
    Preemption("testProportionalPreemption", 100,
               {"A": (10, 30, 20), "B": (40, 60, 5), "C": (20, 10, 20), "D": (30, 0, 0)}, {"A": 10}),
    Preemption("testMaxCap", 100, _IMBALANCE, {}, caps={"B": 45}),
    Preemption("testPreemptCycle", 100, {"A": (40, 0, 10), "B": (40, 60, 0), "C": (20, 40, 0)}, {"C": 10}),
    Preemption("testPerQueueDisablePreemption: B keeps", 100, _THREE, {"C": 10}, keeping=("B",)),
    Preemption("testPerQueueDisablePreemption: none keeps", 100, _THREE, {"B": 4, "C": 6}),
    Preemption("testPerQueueDisablePreemptionHierarchical: none keeps", 200, _FOUR, {"A/B": 10}),
    Preemption("testPerQueueDisablePreemptionHierarchical: B keeps", 200, _FOUR, {"D/E": 10}, keeping=("A/B",)),
    Preemption("testPerQueueDisablePreemptionBroadHierarchical: none keeps", 1000, _BROAD,
               {"A/B": 27, "D/E": 23}, exact={"A/B": 27 - _THIRD, "D/E": 23 + _THIRD}),
    Preemption("testPerQueueDisablePreemptionBroadHierarchical: B keeps", 1000, _BROAD,
               {"D/E": 50}, keeping=("A/B",)),
    Preemption("testPerQueueDisablePreemptionInheritParent: none keeps", 1000, _INHERIT,
               {"A/C": 17, "A/D": 183}, exact={"A/C": 17 - _THIRD, "A/D": 183 + _THIRD}),
    OVER_CAPACITY_IMBALANCE,
    Preemption("testNaturalTermination", 100, _IMBALANCE, {}),
    Preemption("testHierarchical", 200, _FOUR, {"A/B": 10}),
    Preemption("testZeroGuar", 199, _ZERO, {}),
    Preemption("testZeroGuarOverCap", 200, _ZERO_OVER, {}),
    Preemption("testHierarchicalWithReserved", 200, _FOUR, {"A/B": 10}),  # reserved is used
    Preemption("testHierarchicalLarge", 400, _LARGE, {"A/B": 9, "G/H": 6},
               exact={"A/B": Fraction(10), "G/H": Fraction(5)}),
    Preemption("testHierarchicalLarge3Levels", 400, _LEVELS, {"A/C/E": 9}, exact={"A/C/E": Fraction(10)}),
    Preemption("testHierarchicalLarge3LevelsWithReserved", 400, _LEVELS, {"A/C/E": 9},
               exact={"A/C/E": Fraction(10)}),
    Preemption("testSkipAMContainer", 100, {"A": (50, 100, 20), "B": (50, 0, 50)}, {"A": 24 + 24 + 2}),
    Preemption("testPreemptSkippedAMContainers", 100, {"A": (10, 100, 20), "B": (90, 0, 90)},
               {"A": 5 * (5 + 5 + 4 + 4)}, size=5),
    Preemption("testAMResourcePercentForSkippedAMContainers", 100, {"A": (10, 100, 20), "B": (90, 0, 90)},
               {"A": 5 * (5 + 5 + 4 + 4)}, size=5),
    Preemption("testPreemptionNotHappenForSingleReservedQueue", 100,
               {"A": (40, 70, 30), "B": (40, 0, 0), "C": (20, 0, 0)}, {}),
]  # fmt: skip
