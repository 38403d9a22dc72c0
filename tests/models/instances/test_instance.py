"""Instances where rounding, positions or names would decide: whole numbers, requests, placement, equality."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance, examples
from fairlp.errors import InstanceError
from fairlp.models.instances.arithmetic import (
    product,
    quotient,
    same_quotient,
    whole,
    whole_tasks_alone,
)
from fairlp.models.instances.conditions import condition_text
from fairlp.models.instances.requests import Requests

INF = np.inf


def test_a_number_is_the_shortest_decimal_that_reads_as_it():
    assert whole(np.array([0.1, 2.25])).tolist() == [10, 225]
    for value in (0.1 + 0.2, 1 / 3, 1e-17, 123456.789012345, 2**-40):
        tasks = whole(np.array([value, 1.0]))
        assert Fraction(int(tasks[0]), int(tasks[1])) == Fraction(repr(value)), value


def test_products_and_quotients_of_large_whole_numbers_are_exact():
    large = np.array([2.0**52 + 1])
    assert int(product(large, large)[0]) == (2**52 + 1) ** 2
    assert product(np.array([2.0**26]), np.array([2.0**26])).dtype == float
    top, bottom = np.array([10**40 + 1], dtype=object), np.array([10**40], dtype=object)
    assert (
        not same_quotient(top, bottom, bottom, bottom)[0]
        and same_quotient(top, top, bottom, bottom)[0]
    )
    assert quotient(top, bottom).tolist() == [1.0]
    small = [np.array([value]) for value in (6.0, 4.0, 3.0, 2.0)]
    assert same_quotient(*small)[0] and not same_quotient(*small[:3], small[2])[0]
    # rounded once: as floats first, numerator and denominator would each be rounded
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = (
            int(rng.integers(2**53, 2**62)) * 2**20 + int(rng.integers(2**20)) for _ in range(2)
        )
        quotients = quotient(np.array([a], dtype=object), np.array([b], dtype=object))
        assert quotients.dtype == float and quotients[0] == a / b


def test_whole_tasks_alone_are_counted_as_written():
    for tenths in range(1, 300):
        assert whole_tasks_alone(np.array([[0.1]]), np.array([tenths / 10]))[0] == tenths


def requests(**options):
    return Requests.of(
        Instance.from_arrays([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0]], [[10.0, 10.0]], **options)
    )


def test_a_threshold_is_by_the_bottlenecks_that_a_user_uses():
    problem = requests()
    thresholds = problem.thresholds(np.array([True, True]))
    assert thresholds.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    second = problem.thresholds(np.array([False, True]))
    assert second.tolist() == pytest.approx([1, 1, 1 / 3])  # of 0.1 of it, a third is more than all
    assert problem.thresholds(np.array([False, False])).tolist() == [1, 1, 1]


def test_who_asks_for_nothing_has_all_of_it_and_a_request_for_more_than_all_is_for_all():
    nothing = requests(task_limits=[0, 5, INF])
    assert (
        nothing.asking.tolist() == [False, True, True]
        and nothing.thresholds(np.array([True, True]))[0] == 1
    )
    assert nothing.granted(np.zeros(3)).tolist() == [1, 0, 0]
    large_requests = requests(task_limits=[50, 5, INF])
    assert large_requests.limited.tolist() == [
        False,
        True,
        False,
    ] and large_requests.tasks.tolist() == [10, 5, 10]
    assert large_requests.fractions[0].tolist() == pytest.approx([1, 0.1])


def cluster(eligible, users=("a", "b", "c")):
    attributes = pd.DataFrame({"kind": ["new", "old"]}, ["server1", "server2"])
    return Instance.from_arrays(
        [[1.0]] * len(users),
        [[4.0], [4.0]],
        users=list(users),
        eligible=eligible,
        server_attributes=attributes,
    )


def test_a_condition_that_users_share_is_everyones():
    eligibility = cluster(["kind == 'new'", None, "kind == 'new'"]).eligible
    assert eligibility.tolist() == [[True, False], [True, True], [True, False]]


def test_a_series_goes_by_its_labels():
    conditions = pd.Series([["server1"], ["server2"], None], index=[30, 10, 20])
    eligibility = cluster(conditions, users=(10, 20, 30)).eligible
    assert eligibility.tolist() == [[False, True], [True, True], [True, False]]


def test_true_is_not_the_server_1():
    with pytest.raises(InstanceError, match="unknown"):
        Instance.from_arrays(
            [[1.0]], [[4.0], [4.0]], servers=[1, 2], eligible=[[True]][:1] and {"user1": [True]}
        )


def test_keywords_are_names_of_attributes_in_backticks():
    assert condition_text({"class": "a", "kind": "b"}, "user") == "`class` == 'a' and kind == 'b'"
    attributes = pd.DataFrame({"class": ["a", "b"]}, ["server1", "server2"])
    case = Instance.from_arrays(
        [[1.0]], [[4.0], [4.0]], eligible=[{"class": "a"}], server_attributes=attributes
    )
    assert case.eligible.tolist() == [[True, False]]


@pytest.mark.parametrize(
    "changes",
    [
        {"eligible": np.array([[True, False], [True, True]])},
        {"units": {"resource1": "GB"}},
        {"task_limits": np.array([1.0, INF])},
        {"weights": np.array([1.0, 2.0])},
        {"name": "other"},
    ],
)
def test_instances_that_differ_in_one_thing_are_not_equal(changes):
    def made(**options):
        return Instance.from_arrays([[1.0], [2.0]], [[4.0], [5.0]], **options)

    assert made().equals(made()) and not made().equals(made(**changes))


@pytest.mark.parametrize("deviation", [1e-6, 0.1, -1e-6, -0.1])
def test_entitlements_sum_to_one(deviation):
    assert Instance.from_arrays(
        [[1.0], [1.0]], [[4.0]], entitlements=[0.4, 0.6]
    ).entitlements.tolist() == [0.4, 0.6]
    with pytest.raises(InstanceError, match="entitlements sum to"):
        Instance.from_arrays([[1.0], [1.0]], [[4.0]], entitlements=[0.4, 0.6 + deviation])


# Labels of NumPy, numbers that are none, tables of the wrong length, what HTML shows, and what is
# not equal.


def small(**options):
    return Instance.from_arrays(
        [[1.0], [2.0]], [[4.0], [8.0]], **({"users": ["a", "b"], "servers": ["s", "t"]} | options)
    )


def test_labels_of_numpy_are_those_of_python():
    labels = [np.int64(3), np.str_("b")]
    assert [type(label) for label in small(users=labels).users] == [int, str]
    assert list(small(users=labels).users) == [3, "b"]


def test_no_limit_may_be_none():
    assert small(task_limits=[None, 3]).task_limits.tolist() == [np.inf, 3]


def test_other_labels_and_other_columns_are_not_equal():
    zones = pd.DataFrame({"zone": ["x", "y"]}, index=["s", "t"])
    assert small().equals(small()) and not small().equals(small(users=["a", "c"]))
    assert not small(server_attributes=zones).equals(
        small(server_attributes=zones.rename(columns={"zone": "rack"}))
    )


def test_weights_by_resource_are_no_weights_of_users():
    instance = examples.ghodsi().replace(weights=np.ones_like(examples.ghodsi().demands))
    with pytest.raises(InstanceError, match="weights are given per resource here"):
        instance.user_weights  # noqa: B018


def test_a_copy_computes_what_its_changes_touch():
    instance = Instance.from_arrays([[1.0, 2.0], [0.0, 3.0]], [[9.0, 12.0], [12.0, 0.0]])
    assert instance.runnable().tolist() == [[True, False], [True, False]]
    assert instance.pool.tolist() == [21, 12] and instance.tasks_in_pool.tolist() == [6, 4]
    heavier = instance.derived(weights=np.array([2.0, 1.0]))
    assert heavier.pool is instance.pool and heavier.runnable().tolist() == [[True, False]] * 2
    larger = instance.derived(capacities=np.array([[9.0, 12.0], [12.0, 6.0]]))
    assert larger.runnable().all() and larger.tasks_in_pool.tolist() == [9, 6]
    alone = instance.derived(counts=np.array([2, 1]))
    assert alone.pool.tolist() == [30, 24]
    larger.runnable()[:] = False  # the caller's own
    assert larger.runnable().all()


@pytest.mark.parametrize("seed", range(30))
def test_oversized_tasks_are_those_that_no_server_holds(seed):
    rng = np.random.default_rng(seed)
    demands, capacities = rng.integers(1, 9, (3, 2)), rng.integers(4, 9, (2, 2))
    eligible = rng.random((3, 2)) < 0.7 if seed % 2 else np.ones((3, 2), dtype=bool)
    eligible[:, 0] = True
    fits = (demands[:, None] <= capacities).all(axis=2) & eligible
    instance = Instance.from_arrays(demands, capacities, eligible=eligible)
    assert instance.has_oversized == bool((~fits.any(axis=1)).any())
    short = [f"user{n + 1}" for n in np.flatnonzero(~fits.any(axis=1))]
    assert list(instance.oversized().index) == short


def test_without_attributes_the_tables_have_a_row_for_each_label_and_no_columns():
    instance = Instance.from_arrays(
        [[1.0], [2.0], [3.0]], [[4.0], [5.0]], users=["a", "b", "c"], servers=["s", "t"]
    )
    derived = {
        "given": (instance, ["a", "b", "c"], ["s", "t"]),
        "selected": (instance.select_users(np.array([2, 0])), ["c", "a"], ["s", "t"]),
        "pooled": (instance.pooled(), ["a", "b", "c"], ["pool"]),
        "expanded": (
            instance.replace(counts=[1, 2]).expanded(),
            ["a", "b", "c"],
            ["s", "t #1", "t #2"],
        ),
        "renamed": (instance.replace(users=["x", "y", "z"]), ["x", "y", "z"], ["s", "t"]),
        "stored": (pickle.loads(pickle.dumps(instance)), ["a", "b", "c"], ["s", "t"]),
    }
    for case, (copy, users, servers) in derived.items():
        assert list(copy.user_attributes.index) == users, case
        assert list(copy.server_attributes.index) == servers, case
        assert copy.user_attributes.shape[1] == copy.server_attributes.shape[1] == 0, case
        assert copy.user_attributes is copy.user_attributes, case


def test_attributes_stay_beside_their_users_in_every_copy():
    teams = pd.DataFrame({"team": ["x", "y", "z"]}, index=["a", "b", "c"])
    instance = Instance.from_arrays(
        [[1.0], [2.0], [3.0]], [[4.0]], users=["a", "b", "c"], user_attributes=teams
    )
    assert instance.select_users(np.array([2, 0])).user_attributes["team"].tolist() == ["z", "x"]
    assert instance.replace(weights=[1, 2, 3]).user_attributes["team"].tolist() == ["x", "y", "z"]
    assert instance.derived(name="copy").user_attributes.equals(teams)
    with pytest.raises(AttributeError):
        instance.user_attributes = teams
