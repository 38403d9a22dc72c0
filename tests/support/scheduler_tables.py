"""Numbers of the schedulers' own unit tests, restated: which test they come from, and what it expects."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


def ids(cases):
    """Return the parameters of pytest: each case under its name."""
    return [pytest.param(case, id=case.name) for case in cases]


class WeightedShares(NamedTuple):
    """Quotas of ClusterQueues and cohorts, what ``cq`` has, and weighted shares in thousandths.

    ``quotas`` are by name: flavor → resource → fields of the quota; a name with ``of`` another
    stands below it. A share is of a path, and a whole number: Kueue rounds it up.
    """

    name: str
    quotas: dict[str, dict[str, dict[str, dict[str, Any]]]]
    usage: dict[tuple[str, str], str]
    shares: dict[str, float]
    weights: dict[str, str] | None = None
    cohorts: tuple[str, ...] = ()
    parents: dict[str, str] | None = None


def _nominal(quota, **limits):
    return {"nominalQuota": quota} | {f"{kind}Limit": amount for kind, amount in limits.items()}


def _default(cpu=None, gpu=None, **limits):
    """Quotas of the flavor ``default``."""
    quotas = {} if cpu is None else {"cpu": _nominal(cpu)}
    return {"default": quotas if gpu is None else quotas | {GPU: _nominal(gpu, **limits)}}


GPU = "example.com/gpu"
_CPU_USE, _GPU_USE = ("default", "cpu"), ("default", GPU)
_PAIR = {"cq": _default("2", "5"), "lending-cq": _default("8", "5")}
_GPUS = {"cq": _default(gpu="5"), "lending-cq": _default(gpu="5")}
_LARGE_QUOTAS = {"cq": _default(gpu="500"), "lending-cq": _default(gpu="1000")}
_NONE_LENT = {
    "cq": _default("2", "2", lending="0"),
    "lending-cq": _default("8", "64", lending="0"),
}
_FLAVORS = {
    "cq": {"on-demand": {"cpu": _nominal("20")}, "spot": {"cpu": _nominal("80")}},
    "lending-cq": {"default": {"cpu": _nominal("100")}},
}
_INF = float("inf")


def _cohort_of(cq, cohort=0.0, lending=0.0):
    """Return the shares of ``cq``, of its cohort, and of the queue that lends to it."""
    return {"test-cohort/cq": cq, "test-cohort": cohort, "test-cohort/lending-cq": lending}


_NESTED = {
    "cohorts": ("child-cohort", "root"),
    "parents": {"cq": "child-cohort", "child-cohort": "root"},
}

#: Kueue, ``pkg/cache/scheduler/fair_sharing_test.go``: TestDominantResourceShare. What it adds as
#: the next workload counts as used here. TestIsBorrowingOn and TestZeroWeightBorrows ask whether a
#: queue borrows: whether its share, by the same rule, is more than 0.
KUEUE_SHARES = [
    WeightedShares("no cohort", {"cq": _default("2000", "5")}, {_CPU_USE: "1", _GPU_USE: "2"}, {"cq": 0},
                   parents={"cq": ""}),
    WeightedShares("usage below nominal", _PAIR, {_CPU_USE: "1", _GPU_USE: "2"}, _cohort_of(0)),
    WeightedShares("usage above nominal", _PAIR, {_CPU_USE: "3", _GPU_USE: "7"}, _cohort_of(200)),
    WeightedShares("usage slightly above nominal in a cohort with large quotas", _LARGE_QUOTAS,
                   {_GPU_USE: "501"}, _cohort_of(1), {"lending-cq": "300"}),
    WeightedShares("usage way above nominal in a cohort with large quotas and weights", _LARGE_QUOTAS,
                   {_GPU_USE: "800"}, _cohort_of(1), {"cq": "300", "lending-cq": "300"}),
    WeightedShares("one resource above nominal", _PAIR, {_CPU_USE: "3", _GPU_USE: "3"}, _cohort_of(100)),
    WeightedShares("usage with workload above nominal", _PAIR, {_CPU_USE: "5", _GPU_USE: "6"}, _cohort_of(300)),
    WeightedShares("a resource with zero lendable", _NONE_LENT, {_CPU_USE: "5", _GPU_USE: "5"}, _cohort_of(300)),
    WeightedShares("a zero-weight ClusterQueue borrowing only what nobody lends",
                   {"cq": _default(gpu="2", lending="0"), "lending-cq": _default(gpu="64", lending="0")},
                   {_GPU_USE: "3"}, _cohort_of(_INF), {"cq": "0"}),
    WeightedShares("multiple flavors", _FLAVORS, {("on-demand", "cpu"): "25", ("spot", "cpu"): "5"}, _cohort_of(25)),
    WeightedShares("above nominal with integer weight", _GPUS, {_GPU_USE: "7"}, _cohort_of(100), {"cq": "2"}),
    WeightedShares("above nominal with decimal weight", _GPUS, {_GPU_USE: "7"}, _cohort_of(400), {"cq": "0.5"}),
    WeightedShares("above nominal with zero weight", _GPUS | {"lending-cq": _default(gpu="10")}, {_GPU_USE: "7"},
                   _cohort_of(_INF), {"cq": "0"}),
    WeightedShares("cohort has resource share",
                   {"cq": _default(gpu="5"), "child-cohort": {}, "root": _default(gpu="45")}, {_GPU_USE: "10"},
                   {"root/child-cohort/cq": 100, "root/child-cohort": 50, "root": 0}, {"child-cohort": "2"}, **_NESTED),
    WeightedShares("resource share defined for resources only available at the root cohort",
                   {"cq": _default(gpu="0"), "child-cohort": {}, "root": _default(gpu="50")}, {_GPU_USE: "10"},
                   {"root/child-cohort/cq": 200, "root/child-cohort": 100, "root": 0}, {"child-cohort": "2"},
                   **_NESTED),
    WeightedShares("resource share affected by borrowing limit",
                   {"cq": _default(gpu="0"), "child-cohort": _default(gpu="0", borrowing="10"),
                    "root": _default(gpu="50")}, {_GPU_USE: "10"},
                   {"root/child-cohort/cq": 1000, "root/child-cohort": 200, "root": 0}, **_NESTED),
    WeightedShares("borrowing against unlimited lendable capacity (exabyte-scale quota)",
                   {"cq": _default("0"), "lending-cq": _default("1E")}, {_CPU_USE: "1"}, _cohort_of(1)),
    WeightedShares("TestIsBorrowingOn: borrows on both", _PAIR, {_CPU_USE: "3", _GPU_USE: "7"}, _cohort_of(200)),
    WeightedShares("TestIsBorrowingOn: borrows on the unrequested flavor only", _PAIR,
                   {_CPU_USE: "1", _GPU_USE: "7"}, _cohort_of(200)),
    WeightedShares("TestZeroWeightBorrows: zero weight and not borrowing", _GPUS, {_GPU_USE: "3"},
                   _cohort_of(0), {"cq": "0"}),
]  # fmt: skip


class Hierarchy(NamedTuple):
    """Queues of Volcano by annotation; pods of each, all waiting; and how many run in the end.

    ``queues`` are by name: hierarchy, its weights, CPUs and GB of a pod, and the number of pods.
    """

    name: str
    size: int
    queues: dict[str, tuple[str, str, str, str, int]]
    pods: dict[str, int]


#: Volcano, ``pkg/scheduler/plugins/drf/hdrf_test.go``: TestHDRF.
VOLCANO_HDRF = [
    Hierarchy(
        "rescaling test",
        10,
        {
            "root-sci": ("root/sci", "100/50", "1", "1G", 10),
            "root-eng-dev": ("root/eng/dev", "100/50/50", "1", "0G", 10),
            "root-eng-prod": ("root/eng/prod", "100/50/50", "0", "1G", 10),
        },
        {"root-sci": 5, "root-eng-dev": 5, "root-eng-prod": 5},
    ),
    Hierarchy(
        "blocking nodes test",
        30,
        {
            "root-pg1": ("root/pg1", "100/25", "1", "0G", 30),
            "root-pg2": ("root/pg2", "100/25", "1", "0G", 30),
            "root-pg3-pg31": ("root/pg3/pg31", "100/25/50", "1", "0G", 30),
            "root-pg3-pg32": ("root/pg3/pg32", "100/25/50", "0", "1G", 30),
            "root-pg4": ("root/pg4", "100/25", "0", "1G", 30),
        },
        {"root-pg1": 10, "root-pg2": 10, "root-pg3-pg31": 10, "root-pg3-pg32": 15, "root-pg4": 15},
    ),
]


class Capacity(NamedTuple):
    """Queues of Volcano's capacity plugin, pods that run and one that waits.

    ``queues`` are by name: deserved and capability; ``running`` and ``waiting`` pods have queue and
    requests. ``starts`` is whether the waiting pod gets room, at once or from ``evicted``.
    """

    name: str
    node: dict[str, str]
    queues: dict[str, tuple[dict[str, str], dict[str, str]]]
    running: list[tuple[str, dict[str, str]]]
    waiting: tuple[str, dict[str, str]]
    starts: bool
    evicted: str = ""


_ONE = {"cpu": "1", "memory": "1Gi"}
_TWO = {"cpu": "2", "memory": "4Gi"}
_A100 = "nvidia.com/A100"
_TEN = {_A100: "10"}
_C3 = {"cpu": "1", "memory": "3G"}
_3C = {"cpu": "3", "memory": "1G"}
_LIMITS = {
    "q1": ({"cpu": "2", "memory": "2G"}, {"cpu": "2", "memory": "2G"}),
    "q2": ({"cpu": "2", "memory": "2G"}, {"cpu": "3", "memory": "3G"}),
}

#: Volcano, ``pkg/scheduler/plugins/capacity/capacity_test.go``: Test_capacityPlugin_OnSessionOpen
#: and TestEnqueueAndAllocatable. Two nodes each.
VOLCANO_CAPACITY = [
    Capacity("OnSessionOpen case0: within its capability", _TWO, {"q1": ({}, {"cpu": "2", "memory": "2Gi"})},
             [("q1", _ONE)], ("q1", _ONE), True),
    Capacity("OnSessionOpen case1: beyond its capability", _TWO, {"q2": ({}, {"cpu": "1.5", "memory": "1.5Gi"})},
             [("q2", _ONE)], ("q2", _ONE), False),
    Capacity("OnSessionOpen case2: reclaims what it deserves", _TWO, {"q3": (_TWO, {}), "q4": (_TWO, {})},
             [("q3", _TWO), ("q3", _TWO)], ("q4", _TWO), True, "q3"),
    Capacity("OnSessionOpen case3: reclaims one resource alone", _TWO | _TEN,
             {"q5": (_TWO | _TEN, {}), "q6": (_TWO | _TEN, {})},
             [("q5", _TEN), ("q5", _TEN), ("q6", _TWO), ("q6", _TWO)], ("q6", _TEN), True, "q5"),
    Capacity("EnqueueAndAllocatable case0: memory beyond, asks for CPU", {"cpu": "3", "memory": "3G"}, _LIMITS,
             [("q1", _C3), ("q2", _3C)], ("q1", {"cpu": "1"}), True),
    Capacity("EnqueueAndAllocatable case1: CPU beyond, asks for memory", {"cpu": "3", "memory": "3G"}, _LIMITS,
             [("q1", _C3), ("q2", _3C)], ("q2", {"memory": "1G"}), True),
    Capacity("EnqueueAndAllocatable case2: beyond its capability", {"cpu": "3", "memory": "3G"}, _LIMITS,
             [("q1", _C3), ("q2", _3C)], ("q1", {"cpu": "1", "memory": "1G"}), False),
]  # fmt: skip

_2C = {"cpu": "2", "memory": "2G"}
_CAPABILITIES = {"q1": ({}, {"cpu": "2", "memory": "2G"}), "q2": ({}, {"cpu": "3", "memory": "3G"})}
_BOTH = [("q1", {"cpu": "1", "memory": "2G"}), ("q2", {"cpu": "2", "memory": "1G"})]

#: Volcano, ``pkg/scheduler/plugins/proportion/proportion_test.go``: TestEnqueueAndAllocable (read in
#: the fork ckyuto/volcano-1). The plugin calls deserved what fairlp calls fair.
VOLCANO_PROPORTION = [
    Capacity("EnqueueAndAllocable case0: memory beyond, asks for CPU", _2C, _CAPABILITIES, _BOTH,
             ("q1", {"cpu": "1"}), True),
    Capacity("EnqueueAndAllocable case1: CPU beyond, asks for memory", _2C, _CAPABILITIES, _BOTH,
             ("q2", {"memory": "1G"}), True),
    Capacity("EnqueueAndAllocable case2 and case3: beyond what it deserves", _2C, _CAPABILITIES, _BOTH,
             ("q1", {"cpu": "1", "memory": "1G"}), False),
]  # fmt: skip
