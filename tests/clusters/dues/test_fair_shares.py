"""Fair shares beside what runs: numbers by hand, what stops whom, and who holds it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairlp
import fairlp_clusters
from fairlp.errors import InstanceError, UnknownNameError
from fairlp_clusters.dues.facts import Facts, facts_of
from report_cases import cluster, shared
from verdicts import judged

NOW = [[5, 2], [0, 2], [1, 2]]


def test_by_user_the_numbers_are_those_by_hand():
    shares = fairlp_clusters.fair_shares(shared(), observed=NOW)
    assert shares["tasks"].tolist() == [7, 2, 3]
    assert shares["fair_tasks"].tolist() == pytest.approx(
        [4, 2, 6]
    )  # a2 has all its tasks, which count for a
    assert shares["share"].tolist() == pytest.approx([7 / 12, 2 / 12, 3 / 12])
    assert shares["waiting"].tolist() == [2, 0, 6]
    assert shares["owed"].tolist() == pytest.approx([0, 0, 3])
    assert shares["queue"].tolist() == ["a/one", "a/two", "b"]
    assert shares.loc["b1", "blocked_by"] == "cpu" and shares.loc["b1", "servers"] == 2
    assert shares.loc["b1", "held_by"] == {"a1": 7.0, "b1": 3.0, "a2": 2.0}
    assert shares.loc["b1", "beyond_fair"] == pytest.approx({"a1": 3.0})
    assert shares.loc["a2", "blocked_by"] == "" and shares.loc["a2", "held_by"] == {}


def test_by_queue_the_numbers_are_those_by_hand():
    shares = fairlp_clusters.fair_shares(shared(), observed=NOW, by="queue")
    assert shares.index.tolist() == ["", "a", "a/one", "a/two", "b"]
    assert shares.loc["a", ["users", "tasks", "waiting"]].tolist() == [2, 9, 2]
    assert shares["share"].tolist() == pytest.approx([1, 9 / 12, 7 / 12, 2 / 12, 3 / 12])
    assert shares.loc["a", ["guarantee", "borrowed"]].tolist() == pytest.approx([3 / 12, 16 / 24])
    assert shares.loc["b", "guarantee"] == pytest.approx(0.25) and shares.loc[
        "b", "owed"
    ] == pytest.approx(3)
    assert shares.loc["b", "held_by"] == {"a/one": 7.0, "a/two": 2.0}  # of other queues only
    assert math.isnan(shares.loc["", "borrowed"]) and shares["cap"].isna().all()
    assert fairlp_clusters.fair_shares(
        shared(), observed=NOW, by="queue", level=1
    ).index.tolist() == [
        "a",
        "b",
    ]


def test_a_cap_is_what_stops_before_any_server():
    instance = shared().replace(queues={"a": {}, "b": {"cap": {"cpu": 3.0}}})
    shares = fairlp_clusters.fair_shares(instance, observed=[[1, 0], [0, 0], [3, 0]])
    assert shares.loc["b1", ["blocked_by", "where", "held_by"]].tolist() == [
        "cap of cpu",
        "b",
        {"b1": 3.0},
    ]
    assert shares.loc["a1", ["blocked_by", "servers", "where"]].tolist() == [
        "it fits in what is free",
        2,
        "s2",
    ]
    assert (
        fairlp_clusters.fair_shares(instance, observed=[[1, 0], [0, 0], [2, 0]]).loc[
            "b1", "blocked_by"
        ]
        == "it fits in what is free"
    )


def test_a_task_larger_than_every_server_fits_none():
    instance = fairlp.Instance.from_arrays([[8.0], [1.0]], [[6.0], [6.0]], users=["big", "small"])
    with pytest.warns(fairlp.errors.OversizedTaskWarning):
        shares = fairlp_clusters.fair_shares(instance, observed=[[0, 0], [3, 3]])
    assert shares["blocked_by"].tolist() == [
        "it fits no server",
        "it fits in what is free",
    ]


def stop(instance, tasks, user):
    """Return what stops a user: why, the resource, the servers, the nearest of them, the queue."""
    stop = Room.of(instance, np.array(tasks, dtype=float), whole=whole).of(user)
    return stop.kind, stop.resource, stop.servers.tolist(), stop.nearest, stop.queue


@pytest.mark.parametrize(
    ("queue", "tasks", "expected"),
    [
        ({}, [20, 10], ("cap", 0, [], -1, 0)),  # all quotas are in use
        ({}, [20, 9], ("room", -1, [0], 0, -1)),
        ({"borrowing": {"resource1": 2}}, [22, 5], ("cap", 0, [], -1, 1)),
        ({"borrowing": {"resource1": 2}}, [21, 5], ("room", -1, [0], 0, -1)),
        (
            {"lending": {"resource1": 4}},
            [15, 14],
            ("room", -1, [0], 0, -1),
        ),  # the last of what is its own
        ({"lending": {"resource1": 4}}, [16, 14], ("cap", 0, [], -1, 0)),
    ],
)
def test_quotas_stop_where_nothing_is_left_to_borrow(queue, tasks, expected):
    queues = {"A": {"nominal": {"resource1": 20}, **queue}, "B": {"nominal": {"resource1": 10}}}
    instance = fairlp.Instance.from_arrays([[1], [1]], [[99]], queue=["A", "B"], queues=queues)
    assert stop(instance, np.array(tasks)[:, None], 0) == expected


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": "team"}, UnknownNameError, "by='team'"),
        ({"by": "queue"}, InstanceError, "has no queues"),
        ({"level": 1}, InstanceError, "level is of queues"),
        ({"mechanism": "drhf"}, UnknownNameError, "drfh"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        fairlp_clusters.fair_shares(fairlp.examples.load("ghodsi"), **options)


def test_of_a_dump_what_runs_and_waits_is_known(tmp_path):
    path = cluster(tmp_path)
    shares = fairlp_clusters.fair_shares(path)
    assert shares["tasks"].to_dict() == {"ml/train": 14.0, "ml/serve": 1.0}
    assert shares.loc["ml/serve", "waiting"] == 5
    assert shares.loc["ml/serve", "owed"] == pytest.approx(5)
    # 15 of 16 cores run: one task fits, and the quota stops the next one
    assert shares.loc["ml/serve", "blocked_by"] == "quota of cpu"
    assert shares.equals(fairlp_clusters.fair_shares(fairlp_clusters.snapshot(path)))
    subject = facts_of(path)
    assert subject.homeless["user"].tolist() == ["ml/lost"]
    assert subject.scheduler == "kubernetes"
    with pytest.raises(InstanceError, match="a snapshot has its own running tasks"):
        fairlp_clusters.fair_shares(path, observed=shares)


def test_of_many_users_each_row_is_what_blockers_says():
    """On random clusters: who is stopped, and the resource, as the table of users × servers has them."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        demands = rng.integers(1, 4, (5, 2)).astype(float)
        instance = fairlp.Instance.from_arrays(demands, rng.integers(4, 9, (3, 2)).astype(float))
        allocation = fairlp.allocate(instance, "drfh")
        blocked = fairlp_clusters.blockers(instance, allocation)
        comparison = judged(facts_of(instance), "drfh")
        for n, user in enumerate(instance.users):
            rows = blocked[blocked["user"] == user]
            assert rows["blocked"].all() == (comparison.obstacles[n].kind == "resource")
            if comparison.obstacles[n].kind == "resource":
                used = allocation.utilization.to_numpy()[
                    comparison.obstacles[n].servers, comparison.obstacles[n].resource
                ]
                assert used == pytest.approx(1) and demands[n, comparison.obstacles[n].resource] > 0


def test_who_does_not_wait_is_owed_nothing():
    """Where a dump does not tell how many tasks there are, a fair share may be more than anybody asks for."""
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[8.0]], users=["idle", "waits"])
    comparison = judged(Facts(instance, np.array([[1.0], [2.0]]), np.array([0.0, 1.0])), "drf")
    assert comparison.users["fair_tasks"].tolist() == pytest.approx([4, 4])
    assert comparison.users["owed"].tolist() == [0, 1]
    assert comparison.users["blocked_by"].tolist() == [
        "",
        "it fits in what is free",
    ]


def test_only_who_holds_it_where_one_may_run_holds_it():
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0], [2.0]],
        [[4.0], [4.0]],
        users=["a", "b", "c"],
        servers=["x", "y"],
        eligible=[["x"], None, None],
    )
    shares = fairlp_clusters.fair_shares(instance, observed=[[0, 0], [0, 4], [2, 0]])
    assert shares.loc["a", ["servers", "where", "held_by"]].tolist() == [1, "x", {"c": 4.0}]
    assert shares.loc["b", "held_by"] == {"b": 4.0, "c": 4.0}


def test_obstacles_begin_with_the_user_who_is_owed_the_largest_share():
    """Of 12 cores ann is owed one task of 4 cores, and bob two of 1 core; eve holds all."""
    instance = fairlp.Instance.from_arrays(
        [[1.0], [4.0], [1.0]], [[12.0]], users=["bob", "ann", "eve"], task_limits=[2.0, 1.0, 12.0]
    )
    subject = Facts(instance, np.array([[0.0], [0.0], [12.0]]), np.array([2.0, 1.0, 0.0]))
    comparison = judged(subject, "drf")
    assert comparison.owed.tolist() == pytest.approx([2, 1, 0])
    assert list(comparison.obstacles) == [1, 0]
