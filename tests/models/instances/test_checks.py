"""Each kind of bad input in the contract has a clear error that names the culprit; legal oddities work."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import (
    FairlpError,
    InstanceError,
    NotDefinedError,
    OversizedTaskWarning,
    UnknownNameError,
)

D, C = [[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0], [4.0, 6.0]]
NAMES = {"users": ["ann", "bob"], "servers": ["s1", "s2"], "resources": ["cpu", "memory"]}


def replaced(table, row, column, value):
    copy = np.array(table, dtype=float)
    copy[row, column] = value
    return copy


BAD = {
    "demand is NaN": (
        {"demands": replaced(D, 1, 0, np.nan)},
        "demand of user 'bob' and resource 'cpu' is nan",
    ),
    "demand is negative": (
        {"demands": replaced(D, 0, 1, -1)},
        "demand of user 'ann' and resource 'memory' is -1",
    ),
    "demand is infinite": (
        {"demands": replaced(D, 0, 1, np.inf)},
        "demand of user 'ann' and resource 'memory' is inf",
    ),
    "capacity is NaN": (
        {"capacities": replaced(C, 1, 1, np.nan)},
        "capacity of server 's2' and resource 'memory'",
    ),
    "capacity is negative": (
        {"capacities": replaced(C, 0, 0, -9)},
        "capacity of server 's1' and resource 'cpu' is -9",
    ),
    "capacity is infinite": (
        {"capacities": replaced(C, 0, 0, np.inf)},
        "leave out a resource that is unlimited",
    ),
    "capacity is text": ({"capacities": [["many", 1], [1, 1]]}, "must be numbers"),
    "demands of one dimension": ({"demands": [1.0, 2.0]}, "shape"),
    "resources differ": (
        {"demands": [[1.0], [2.0]], "resources": None},
        "same number of resources",
    ),
    "too few labels": ({"users": ["ann"]}, "1 user labels for 2 users"),
    "duplicate user": ({"users": ["ann", "ann"]}, "user 'ann' occurs twice"),
    "duplicate server": ({"servers": ["s", "s"]}, "server 's' occurs twice"),
    "duplicate resource": ({"resources": ["cpu", "cpu"]}, "resource 'cpu' occurs twice"),
    "label is a float": ({"users": ["ann", 1.5]}, "user label 1.5"),
    "empty label": ({"users": ["ann", ""]}, "user label '' (position 1)"),
    "user demands nothing": ({"demands": [[1, 1], [0, 0]]}, "user 'bob' demands nothing"),
    "no eligible server": (
        {"eligible": [[True, True], [False, False]]},
        "user 'bob' has no eligible server",
    ),
    "eligible of wrong shape": ({"eligible": [[True], [False]]}, "eligib"),
    "eligible is a number": ({"eligible": [[0.5, 1], [1, 1]]}, "eligib"),
    "unknown server in a list": ({"eligible": [None, ["s3"]]}, "s3"),
    "unknown attribute": ({"eligible": [None, "gpu == 1"]}, "gpu"),
    "weight 0": ({"weights": [1, 0]}, "weight of user 'bob' is 0"),
    "weight negative": ({"weights": [-1, 1]}, "weight of user 'ann' is -1"),
    "weight NaN": ({"weights": [1, np.nan]}, "weight of user 'bob' is nan"),
    "weight infinite": ({"weights": [1, np.inf]}, "weight of user 'bob' is inf"),
    "weight 0 on a demanded resource": (
        {"weights": [[1, 1], [1, 0]]},
        "weight of user 'bob' and resource 'memory'",
    ),
    "weights of wrong shape": ({"weights": [1, 2, 3]}, "'weights' has shape"),
    "limit below 0": ({"task_limits": [1, -1]}, "task limit of user 'bob' is -1"),
    "limit NaN": ({"task_limits": [np.nan, 1]}, "task limit of user 'ann' is nan"),
    "entitlements do not sum to 1": ({"entitlements": [0.5, 0.6]}, "entitlements sum to 1.1"),
    "entitlement negative": ({"entitlements": [1.5, -0.5]}, "entitlement of user 'bob'"),
    "no users": ({"demands": np.zeros((0, 2)), "users": None}, "no users"),
    "no servers": ({"capacities": np.zeros((0, 2)), "servers": None}, "no servers"),
    "no resources": (
        {"demands": np.zeros((2, 0)), "capacities": np.zeros((2, 0)), "resources": None},
        "no resources",
    ),
    "resource in no server": (
        {"capacities": [[1, 0], [1, 0]]},
        "resource 'memory' is in no server",
    ),
    "count 0": ({"counts": [1, 0]}, "count of server 's2' is 0"),
    "count beyond floats": ({"counts": [2**53, 1]}, "expected a whole number >= 1 below 2**53"),
    "count not whole": ({"counts": [1.5, 1]}, "count of server 's1' is 1.5"),
    "rates of wrong shape": ({"rates": [[1.0, 2.0]]}, "'rates' has shape"),
    "rate negative": ({"rates": [[1, 1], [1, -2]]}, "rate of user 'bob' and server 's2'"),
    "rate where a resource is missing": (
        {"demands": [[1, 1], [1, 0]], "capacities": [[1, 0], [1, 1]], "rates": [[2, 1], [1, 2]]},
        "rate of user 'ann' and server 's1' is 2; expected 0, since its tasks need 'memory'",
    ),
    "unit of no resource": ({"units": {"disk": "GB"}}, "disk"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_instances_name_the_culprit(case):
    change, expected = BAD[case]
    arguments = {"demands": D, "capacities": C, **NAMES, **change}
    with pytest.raises(InstanceError) as error:
        Instance.from_arrays(arguments.pop("demands"), arguments.pop("capacities"), **arguments)
    assert expected in str(error.value)
    assert isinstance(error.value, FairlpError) and isinstance(error.value, ValueError)


@pytest.fixture
def cluster():
    return Instance.from_arrays(D, C, **NAMES)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda i: fairlp.allocate(i, "drhf"), "did you mean 'drfh' or"),
        (lambda i: fairlp.allocate(i, "drfh", method="lpp"), "did you mean 'lp'"),
        (lambda i: fairlp.allocate(i, "drfh", solver="high"), "did you mean 'highs'"),
        (lambda i: fairlp.allocate(i, "drfh", time_limits=3), "did you mean 'time_limit'"),
        (
            lambda i: fairlp.allocate(i, "naive-drf", method="rounds", time_limit=3),
            "no option 'time_limit'",
        ),
        (lambda i: fairlp.allocate(i, "drfh", oversized="split"), "oversized='split'"),
        (lambda i: fairlp.formulate(i, "drfh", bottleneck={"cpu"}), "no option 'bottleneck'"),
        (lambda i: fairlp.formulate(i, "tfs"), "did you mean"),
        (lambda i: fairlp.compare(i, ["drfh", "x-drfh"]), "did you mean"),
        (lambda i: fairlp.compare(i, ["drfh"], value="task"), "did you mean 'tasks'"),
        (
            lambda i: fairlp.formulate(i, "drfh").solve(solver="nosuch"),
            "no solver is called 'nosuch'",
        ),
        (lambda i: fairlp.formulate(i, "drfh").solve(tolerance=1), "no option 'tolerance'"),
        (lambda i: fairlp.examples.load("godsi"), "did you mean 'ghodsi'"),
        (lambda i: fairlp.formulate(i, "drfh").solve().values["h"], "solution.values has no 'h'"),
    ],
)
def test_names_that_do_not_exist_give_the_nearest(cluster, call, expected):
    with pytest.raises(UnknownNameError) as error:
        call(cluster)
    assert expected in str(error.value)


def test_per_resource_weights_where_a_mechanism_has_one_weight(cluster):
    weighted = Instance.from_arrays(D, C, weights=[[1, 2], [2, 1]])
    with pytest.raises(NotDefinedError, match="one weight for each user"):
        fairlp.allocate(weighted, "tsf")
    assert fairlp.allocate(weighted, "drfh").residual < 1e-12


def test_a_task_that_fits_no_server_is_reported():
    big = Instance.from_arrays([[1, 1], [6, 7]], [[9, 6], [4, 18]], **NAMES)
    report = big.oversized()
    assert report.index.tolist() == ["bob"]
    assert report.loc["bob", "server"] == "s1" and report.loc["bob", "resource"] == "memory"
    assert report.loc["bob", "fraction"] == pytest.approx(6 / 7)
    with pytest.warns(
        OversizedTaskWarning, match=r"user 'bob' fits no single eligible server.*'s1'.*'memory'"
    ):
        divided = fairlp.allocate(big, "drfh")
    assert divided.totals["bob"] > 0 and "divisible" in divided.notes[-1]
    with pytest.warns(OversizedTaskWarning, match="it gets nothing"):
        dropped = fairlp.allocate(big, "drfh", oversized="drop")
    assert dropped.totals["bob"] == 0 and dropped.totals["ann"] == pytest.approx(10)
    assert list(dropped.totals.index) == ["ann", "bob"]
    with pytest.raises(InstanceError, match="user 'bob' fits no single eligible server"):
        fairlp.allocate(big, "drfh", oversized="error")


@pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")
def test_legal_oddities_work():
    instance = Instance.from_arrays([[2]], [[3]])
    assert fairlp.allocate(instance, "drf").totals.tolist() == [1.5]
    zero_capacity = Instance.from_arrays([[1, 0], [1, 1]], [[4, 0], [2, 5]])
    assert fairlp.allocate(zero_capacity, "drfh").totals.sum() == pytest.approx(6)
    equal = Instance.from_arrays([[1, 2]] * 4, [[10, 10]])
    assert fairlp.allocate(equal, "drf").totals.tolist() == pytest.approx([1.25] * 4)
    nothing = Instance.from_arrays([[1, 2]] * 2, [[10, 10]], task_limits=[0, 0])
    for method in ("lp", "rounds"):
        assert fairlp.allocate(nothing, "drf", method=method).totals.tolist() == [0, 0]
    limited = Instance.from_arrays([[1, 2]] * 2, [[10, 10]], task_limits=[0, None])
    assert fairlp.allocate(limited, "drf").totals.tolist() == [0, 5]


def test_an_instance_cannot_be_changed_by_accident(cluster):
    with pytest.raises(ValueError, match="read-only"):
        cluster.demands[0, 0] = 5
    source = np.array(D)
    instance = Instance.from_arrays(source, C)
    source[0, 0] = 99
    assert instance.demands[0, 0] == 1


def test_replace_checks_as_much_as_the_constructor():
    instance = Instance.from_arrays(
        [[1, 2], [3, 1]], [[9, 12]], users=["ann", "bob"], resources=["cpu", "memory"]
    )
    for changes, message in (
        ({"weights": [1, -1]}, "'bob'"),
        ({"demands": [[1, 2, 3]] * 2}, "same number of resources"),
        ({"task_limits": [1, 2, 3]}, "'task_limits' has shape"),
        ({"demands": [[1, 2], [0, 0]]}, "'bob'"),
    ):
        with pytest.raises(InstanceError, match=message):
            instance.replace(**changes)
    with pytest.raises(TypeError, match="argument 'weight'"):
        instance.replace(weight=[1, 1])
    assert instance.replace(weights=[2, 1]).user_weights.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("demands", np.ones((2, 2))),
        ("capacities", np.ones((1, 2))),
        ("weights", np.ones(2)),
        ("task_limits", np.ones(2)),
        ("counts", np.ones(1, dtype=np.int64)),
        ("rates", np.ones((2, 1))),
        ("entitlements", np.full(2, 0.5)),
        ("eligible", np.ones((2, 1), dtype=bool)),
    ],
)
def test_the_callers_arrays_stay_the_callers(name, values):
    before = values.copy()
    arguments = {"demands": [[1, 2], [3, 1]], "capacities": [[9, 12]], name: values}
    original = Instance.from_arrays(**arguments)
    for instance in (original, original.replace(**{name: values})):
        assert values.flags.writeable and not np.shares_memory(getattr(instance, name), values)
        with pytest.raises(ValueError, match="read-only"):
            getattr(instance, name)[:] = 0
    assert (values == before).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"demands": np.array([[1, 2 + 3j]])}, "must be numbers"),
        ({"capacities": pd.DataFrame([[9, 9j]])}, "must be numbers"),
        (
            {"demands": np.array([["2020-01-01", "2021-01-01"]], dtype="datetime64[D]")},
            "must be numbers",
        ),
    ],
)
def test_numbers_that_are_not_real_are_refused(change, message):
    with pytest.raises(InstanceError, match=message):
        Instance.from_arrays(**{"demands": [[1, 2]], "capacities": [[9, 9]]} | change)


# What people hand in who meet instances for the first time: the message names the entry that is
# wrong.

DEMANDS, CAPACITIES = [[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0], [4.0, 6.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"demands": [[1, 2], [3, "many"]]},
            "demands of user 'bob' and resource 'memory' must be numbers ('many'",
        ),
        (
            {"demands": [[1, 2], [1]]},
            "demands must be numbers (rows of different lengths",
        ),
        (
            {"demands": pd.DataFrame([[1, "x"], [2, 3]], ["bob", "ann"], ["memory", "cpu"])},
            "must be numbers ('x'",
        ),
        (
            {"weights": [[1, 2], [1, "heavy"]]},
            "'weights' of user 'bob' and resource 'memory' must be numbers",
        ),
        (
            {"counts": pd.Series(["two", 1], ["s2", "s1"])},
            "'counts' of server 's2' must be numbers ('two'",
        ),
        ({"users": "ab"}, "users is given 'ab'; expected a list of labels"),
        (
            {"capacities": [[1e308, 1], [1e308, 1]]},
            "resource 'cpu' is more in all servers together",
        ),
        (
            {"capacities": [[1e300, 1], [1, 1]], "counts": [10**15, 1]},
            "resource 'cpu' is more in all servers together",
        ),
    ],
)
def test_the_entry_that_is_wrong_is_named(change, message):
    with pytest.raises(InstanceError, match=re.escape(message)):
        Instance.from_arrays(**({"demands": DEMANDS, "capacities": CAPACITIES} | NAMES | change))


DENORMAL = {
    "demand of user 'a' and resource 'cpu'": {"demands": [[1e-310, 1], [1, 1]]},
    "capacity of server 's' and resource 'gpu'": {"capacities": [[1, 5e-324]]},
    "weight of user 'b'": {"weights": [1, 1e-310]},
    "task limit of user 'a'": {"task_limits": [1e-310, None]},
    "entitlement of user 'b'": {"entitlements": [1, 1e-310]},
    "rate of user 'b' and server 's'": {"rates": [[1], [1e-310]]},
    "weight of queue 'q'": {"queue": ["q", "q"], "queues": {"q": 1e-310}},
    "guarantee of queue 'q' of resource 'cpu'": {
        "queue": ["q", "q"],
        "queues": {"q": {"guarantee": {"cpu": 1e-310}}},
    },
    "cap of queue 'q' of resource 'gpu'": {
        "queue": ["q", "q"],
        "queues": {"q": {"cap": {"gpu": 1e-310}}},
    },
}


@pytest.mark.parametrize("message", DENORMAL)
def test_numbers_that_have_lost_digits_are_refused_at_the_door(message):
    """Quotients of denormal floats are no floats, or wrong: H-DRF went on without end, others were wrong."""
    usual = {
        "demands": [[1, 1], [1, 1]],
        "capacities": [[1, 1]],
        "users": ["a", "b"],
        "servers": ["s"],
    }
    usual["resources"] = ["cpu", "gpu"]
    with pytest.raises(
        InstanceError,
        match=rf"{message} is (1e-310|4.94066e-324); expected 0, or at least 2.23e-308",
    ):
        Instance.from_arrays(**{**usual, **DENORMAL[message]})
