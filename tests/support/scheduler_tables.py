"""Numbers of the schedulers' own unit tests, restated: which test they come from, and what it expects."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


def ids(cases, disagreements=None):
    """Return the parameters of pytest: each case under its name.

    ``disagreements`` are the reasons, by name, why fairlp gives other numbers.
    """
    reasons = disagreements or {}
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[pytest.mark.xfail(strict=True, reason=reasons[case.name])]
            if case.name in reasons
            else [],
        )
        for case in cases
    ]


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


class Order(NamedTuple):
    """Clients in the order in which a sorter serves them, those with the smallest share first.

    ``amounts`` are the amounts of each client by its path, ``weights`` those of paths that are not 1,
    and ``pool`` the total amounts. ``shares`` are shares over weights that the test states.
    """

    name: str
    pool: tuple[float, ...]
    amounts: dict[str, tuple[float, ...]]
    order: str
    weights: dict[str, float] | None = None
    shares: dict[str, float] | None = None


def _both(**amounts):
    """Return clients that have as much of the second resource as of the first."""
    return {path: (amount, amount) for path, amount in amounts.items()}


_HUNDRED = (100, 100)
_DRF = _both(a=5, b=6)
_DRF_4 = _DRF | {"c": (1, 1), "d": (3, 1)}
_DRF_E = {"b": (2, 2), "c": (1, 1), "d": (3, 1), "e": (1, 5)}
_DRF_F = _DRF_E | {"c": (1, 16), "f": (5, 1)}
_DRF_STEPS = [
    ("a, b", _HUNDRED, _DRF, "a b", {"a": 0.05, "b": 0.06}),
    ("c and d come", _HUNDRED, _DRF_4, "c d a b", {"a": 0.05, "b": 0.06, "c": 0.01, "d": 0.03}),
    ("a leaves, b gives 4 back", _HUNDRED, {"b": (2, 2), "c": (1, 1), "d": (3, 1)}, "c b d",
     {"b": 0.02, "c": 0.01, "d": 0.03}),
    ("e comes, half of the cpus go", (50, 100), _DRF_E, "c b e d", {"b": 0.04, "c": 0.02, "d": 0.06, "e": 0.05}),
    ("f comes, memory is doubled", (50, 200), _DRF_F, "e b d c f",
     {"b": 0.04, "c": 0.08, "d": 0.06, "e": 0.025, "f": 0.1}),
    ("d is inactive", (50, 200), {c: amounts for c, amounts in _DRF_F.items() if c != "d"}, "e b c f", {}),
]  # fmt: skip
_DEEP = {
    "a": "a/a/a/a/a", "b": "b/b/b/b", "c": "c/c/c", "d": "d/d", "e": "e/e/e/e/e/e", "f": "f/f",
}  # fmt: skip


def _of_drf(test, nested):
    """Return the steps of a test that repeats DRF with clients at other paths."""
    return [
        Order(
            f"{test}: {step}",
            pool,
            {nested[client]: amounts for client, amounts in client_amounts.items()},
            " ".join(nested[client] for client in order.split()),
            shares={nested[client]: share for client, share in shares.items()},
        )
        for step, pool, client_amounts, order, shares in _DRF_STEPS
    ]


_W = {"b": 2.0, "d": 10.0, "e": 0.1}
_WDRF = _both(a=5, b=6, c=4) | {"d": (10, 20)}
_WDRF_D = _both(a=5, c=4) | {"d": (20, 45)}
_WDRF_E = _WDRF_D | {"e": (1, 1)}
_TREE = {"a": (6, 6), "b/c": (4, 4), "b/d": (3, 3)}
_TREE_8 = _TREE | {"a": (8, 8)}
_TREE_F = _TREE_8 | {"b/e/f": (3.5, 3.5)}
_LEAF = {"a/.": (10, 10), "b": (6, 6), "a/c": (5, 5)}
_SUBTREE = {"a": 2.0, "b": 3.0}
_XY = {"a/x": (10, 10), "b/y": (10, 10)}
_XYZ = _XY | {"b/z": (5, 5)}
_XYZB = _XYZ | {"b/.": (4, 4)}
_X = {"x/a": (10, 10), "x/b": (6, 6)}

#: Apache Mesos, ``src/tests/sorter_tests.cpp``. A client that has others below it competes with them
#: as a client of weight 1 (``a/.`` here).
MESOS_SORTER = [
    *_of_drf("DRF", {client: client for client in "abcdef"}),
    *_of_drf("ShallowHierarchy", {client: f"{client}/{client}" for client in "abcdef"}),
    *_of_drf("DeepHierarchy", _DEEP),
    Order("WDRF: a, b", _HUNDRED, _DRF, "b a", _W, {"a": 0.05, "b": 0.03}),
    Order("WDRF: c comes", _HUNDRED, _both(a=5, b=6, c=4), "b c a", _W, {"c": 0.04}),
    Order("WDRF: d comes", _HUNDRED, _WDRF, "d b c a", _W, {"a": 0.05, "b": 0.03, "c": 0.04, "d": 0.02}),
    Order("WDRF: b leaves", _HUNDRED, _both(a=5, c=4) | {"d": (10, 20)}, "d c a", _W),
    Order("WDRF: d gets more", _HUNDRED, _WDRF_D, "c d a", _W, {"d": 0.045}),
    Order("WDRF: e comes", _HUNDRED, _WDRF_E, "c d a e", _W, {"e": 0.1}),
    Order("WDRF: a leaves", _HUNDRED, {c: _WDRF_E[c] for c in "cde"}, "c d e", _W),
    Order("UpdateWeight: before", _HUNDRED, _DRF, "a b", {}, {"a": 0.05, "b": 0.06}),
    Order("UpdateWeight: b 2", _HUNDRED, _DRF, "b a", {"b": 2.0}, {"a": 0.05, "b": 0.03}),
    Order("HierarchicalAllocation: a", _HUNDRED, _TREE | {"b/c": (0, 0), "b/d": (0, 0)}, "b/c b/d a",
          {}, {"a": 0.06}),
    Order("HierarchicalAllocation: c, d", _HUNDRED, _TREE, "a b/d b/c", {}, {"b/d": 0.03, "b/c": 0.04}),
    Order("HierarchicalAllocation: a 8", _HUNDRED, _TREE_8, "b/d b/c a", {}, {"a": 0.08}),
    Order("HierarchicalAllocation: f comes", _HUNDRED, _TREE_8 | {"b/e/f": (0, 0)}, "b/e/f b/d b/c a"),
    Order("HierarchicalAllocation: f 3.5", _HUNDRED, _TREE_F, "a b/d b/e/f b/c", {}, {"b/e/f": 0.035}),
    Order("HierarchicalAllocation: f leaves", _HUNDRED, _TREE_8, "b/d b/c a"),
    Order("HierarchicalAllocation: c 1", _HUNDRED, _TREE_8 | {"b/c": (1, 1)}, "b/c b/d a", {}, {"b/c": 0.01}),
    Order("HierarchicalAllocation: f again", _HUNDRED, _TREE_F | {"b/c": (1, 1)}, "b/c b/d b/e/f a"),
    Order("HierarchicalIterationOrder: c", _HUNDRED,
          {"a/b": (0, 0), "c": (8, 8), "d/.": (0, 0), "d/e": (0, 0)}, "a/b d/. d/e c"),
    Order("HierarchicalIterationOrder: d, e", _HUNDRED,
          {"a/b": (0, 0), "c": (8, 8), "d/.": (3, 3), "d/e": (2, 2)}, "a/b d/e d/. c"),
    Order("HierarchicalIterationOrder: b", _HUNDRED,
          {"a/b": (6, 6), "c": (8, 8), "d/.": (3, 3), "d/e": (2, 2)}, "d/e d/. a/b c"),
    Order("AddChildToLeaf: leaf", _HUNDRED, {"a": (10, 10), "b": (6, 6)}, "b a"),
    Order("AddChildToLeaf: child", _HUNDRED, _LEAF, "b a/c a/."),
    Order("AddChildToLeaf: a leaves", _HUNDRED, {"b": (6, 6), "a/c": (5, 5)}, "a/c b"),
    Order("AddChildToLeaf: a/c 0.2", _HUNDRED, _LEAF, "b a/. a/c", {"a/c": 0.2}),
    Order("AddChildToLeaf: a 3", _HUNDRED, _LEAF, "a/. a/c b", {"a/c": 0.2, "a": 3.0}),
    Order("AddChildToLeaf: a/c 1", _HUNDRED, _LEAF, "a/c a/. b", {"a": 3.0}),
    Order("AddChildToInternal: a, b", _HUNDRED, _X, "x/b x/a"),
    Order("AddChildToInternal: x", _HUNDRED, _X | {"x/.": (7, 7)}, "x/b x/. x/a"),
    Order("AddChildToInternal: z", _HUNDRED, _X | {"x/.": (7, 7), "z": (20, 20)}, "z x/b x/. x/a"),
    Order("AddChildToInternal: x leaves", _HUNDRED, _X | {"z": (20, 20)}, "x/b x/a z"),
    Order("ChangeWeightOnSubtree: x, y", _HUNDRED, _XY, "b/y a/x", _SUBTREE),
    Order("ChangeWeightOnSubtree: z", _HUNDRED, _XYZ, "b/z b/y a/x", _SUBTREE),
    Order("ChangeWeightOnSubtree: b", _HUNDRED, _XYZB, "a/x b/. b/z b/y", _SUBTREE),
    Order("ChangeWeightOnSubtree: zz", _HUNDRED, _XYZB | {"a/zz": (2, 2)}, "a/zz a/x b/. b/z b/y", _SUBTREE),
    Order("SplitResourceShares", (100, 100, 100), {"a": (9, 9, 9), "b": (9, 9, 10)}, "a b"),
    Order("UpdateTotal: before", (10, 100), {"a": (2, 1), "b": (1, 2)}, "b a", {}, {"a": 0.2, "b": 0.1}),
    Order("UpdateTotal: after", (100, 10), {"a": (2, 1), "b": (1, 2)}, "a b", {}, {"a": 0.1, "b": 0.2}),
    Order("MultipleSlavesUpdateTotal: before", (10, 100), {"a": (2, 1), "b": (1, 3)}, "b a", {},
          {"a": 0.2, "b": 0.1}),
    Order("MultipleSlavesUpdateTotal: after", (100, 100), {"a": (2, 1), "b": (1, 3)}, "a b", {},
          {"a": 0.02, "b": 0.03}),
    Order("RemoveResources: before", (10,), {"a": (6,), "b": (4,)}, "b a", {}, {"a": 0.6, "b": 0.4}),
    Order("RemoveResources: after", (5,), {"a": (1,), "b": (4,)}, "a b", {}, {"a": 0.2, "b": 0.8}),
    Order("HierarchicalAllocator UnreservedDRF: second agent", (3, 1536), {"role1": (2, 1024), "role2": (0, 0)},
          "role2 role1", {}, {"role1": 2 / 3, "role2": 0}),
    Order("HierarchicalAllocator UnreservedDRF: third agent", (6, 3584), {"role1": (2, 1024), "role2": (1, 512)},
          "role2 role1", {}, {"role1": 1 / 3, "role2": 1 / 6}),
    Order("HierarchicalAllocator UnreservedDRF: fourth agent", (10, 7680),
          {"role1": (2, 1024), "role2": (4, 2560)}, "role1 role2", {}, {"role1": 0.2, "role2": 0.4}),
    Order("HierarchicalAllocator UnreservedDRF: fifth agent", (11, 8192),
          {"role1/1": (2, 1024), "role1/3": (4, 4096), "role2": (4, 2560)}, "role2 role1/1 role1/3", {},
          {"role1": 0.625, "role2": 4 / 11}),
    Order("HierarchicalAllocator NestedRoleDRF: third agent", (3, 1536),
          {"a/b": (2, 1024), "a/c": (0, 0), "d/e": (1, 512), "d/f": (0, 0)}, "d/f d/e a/c a/b", {},
          {"a": 2 / 3, "d": 1 / 3}),
]  # fmt: skip

_RATIOS = {"q0": 500.0, "q1": 300.0, "q2": 200.0}

#: Apache YuniKorn core, ``pkg/scheduler/objects/sorters_test.go``: what a queue has over what it is
#: guaranteed, in pools that hold it. Queues or applications that are equal there are left out, but
#: for one.
YUNIKORN_SORTERS = [
    Order("TestSortQueues: fair first", (1200, 1200), _both(q0=300, q1=200, q2=100), "q2 q0 q1", _RATIOS,
          {"q0": 0.6 / 1200, "q1": 2 / 3 / 1200, "q2": 0.5 / 1200}),
    Order("TestSortQueues: fair second", (1200, 1200), _both(q0=200, q1=300, q2=100), "q0 q2 q1", _RATIOS,
          {"q0": 0.4 / 1200, "q1": 1 / 1200, "q2": 0.5 / 1200}),
    Order("TestSortQueues: fair third", (1200, 1200), _both(q0=150, q1=120, q2=100), "q0 q1 q2", _RATIOS,
          {"q0": 0.3 / 1200, "q1": 0.4 / 1200, "q2": 0.5 / 1200}),
    Order("TestNoQueueLimits: first", (1000, 1000), _both(q0=300, q1=200, q3=100), "q3 q1 q0"),
    Order("TestNoQueueLimits: second", (1000, 1000), _both(q0=200, q1=300, q3=100), "q3 q0 q1"),
    Order("TestSortAppsFair: no alloc, set total", (5000,), {f"app{k}": (100 * (k + 1),) for k in range(4)},
          "app0 app1 app2 app3"),
    Order("TestSortAppsFair: app-1 allocated", (5000,),
          {"app0": (100,), "app1": (1000,), "app2": (300,), "app3": (400,)}, "app0 app2 app3 app1"),
    Order("TestSortAppsPriorityFair: app-2 allocated", (5000,), {"app0": (100,), "app2": (1000,), "app3": (400,)},
          "app0 app3 app2"),
]  # fmt: skip


class Ratio(NamedTuple):
    """The dominant share of one user as a multiple of that of another."""

    name: str
    pool: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    ratio: float


_FOURS = (4, 4, 4)
_FAIRNESS = {
    1: [((1, 1, 1), (1, 1, 1)), ((2, 1, 1), (1, 2, 1)), ((2, 1, 0), (0, 1, 2)), ((2, 2, 1), (1, 2, 2)),
        ((3, 2, 1), (1, 2, 3)), ((2, 2, 1), (2, 1, 1)), ((2, 2, 1), (0, 2, 2)), ((2, 2, 2), (2, 1, 1)),
        ((3, 1, 1), (3, 0, 0))],
    1.5: [((3, 2, 1), (2, 2, 2)), ((3, 1, 1), (2, 2, 2))],
    2: [((2, 2, 2), (1, 1, 1)), ((2, 1, 1), (1, 1, 0))],
}  # fmt: skip

#: Apache YuniKorn core, ``pkg/common/resources/resources_test.go``; those of 2019, with a cluster of
#: 4, 4 and 4, are of an early version of the file.
YUNIKORN_RATIOS = [
    Ratio("TestFairnessRatio: left is larger", (100,), (90,), (1,), 90),
    Ratio("TestFairnessRatio: right is larger", (100,), (1,), (90,), 1 / 90),
    Ratio("TestCompUsage: 50 and 10 of 100", (100, 100, 100), (50, 50, 50), (10, 10, 10), 5),
    *(
        Ratio(f"TestFairnessRatio (2019): {first} and {second}", _FOURS, first, second, ratio)
        for ratio, pairs in _FAIRNESS.items()
        for first, second in pairs
    ),
]


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


class Departments(NamedTuple):
    """Deserved GPUs and weights beyond them, by queue; GPUs in all, those asked for, and fair ones."""

    name: str
    total: int
    queues: dict[str, tuple[float, float]]
    requests: dict[str, int]
    expected: dict[str, float]


_DEPARTMENTS = {"d1": (3, 1), "d1/q1": (2, 1), "d2": (1, 1), "d2/q2": (2, 1)}
_ASKED = {"d1/q1": 100, "d2/q2": 100}

#: KAI (whose proportion plugin comes from kube-batch, as Volcano's does),
#: ``pkg/scheduler/plugins/proportion/proportion_test.go``: Set Fair Share in Proportion.
KAI_PROPORTION = [
    Departments("simple scenario with single top queue", 3,
                {"top": (3, 1), "top/mid": (3, 1), "top/mid/leaf1": (2, 1), "top/mid/leaf2": (1, 1)},
                {"top/mid/leaf1": 2, "top/mid/leaf2": 1},
                {"top": 3, "top/mid": 3, "top/mid/leaf1": 2, "top/mid/leaf2": 1}),
    Departments("two top parent queues", 4,
                {"top1": (2, 1), "top1/child1": (1, 1), "top1/child2": (1, 1), "top2": (2, 1), "top2/child3": (0, 1),
                 "top2/child4": (1, 1)},
                {"top1/child1": 1, "top1/child2": 1, "top2/child3": 0, "top2/child4": 2},
                {"top1": 2, "top1/child1": 1, "top1/child2": 1, "top2": 2, "top2/child3": 0, "top2/child4": 2}),
    Departments("two top parent queues - sanity", 4,
                _DEPARTMENTS | {"d1": (2, 1), "d2": (2, 1)}, _ASKED, {"d1": 2, "d1/q1": 2, "d2": 2, "d2/q2": 2}),
    Departments("two top parent queues - over-quota", 12, _DEPARTMENTS, _ASKED,
                {"d1": 7, "d1/q1": 7, "d2": 5, "d2/q2": 5}),
    Departments("two top parent queues - over-quota weight", 12, _DEPARTMENTS | {"d2": (1, 7)}, _ASKED,
                {"d1": 4, "d1/q1": 4, "d2": 8, "d2/q2": 8}),
    Departments("two top parent queues - over-quota weight - reversed", 12, _DEPARTMENTS | {"d1": (3, 7)}, _ASKED,
                {"d1": 10, "d1/q1": 10, "d2": 2, "d2/q2": 2}),
    Departments("two top parent queues - deserved department quota", 4, _DEPARTMENTS, _ASKED,
                {"d1": 3, "d1/q1": 3, "d2": 1, "d2/q2": 1}),
]  # fmt: skip
