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
    by_tenant = fairlp_clusters.verdict(shared(), observed=NOW).table
    assert by_tenant.loc["b1", "resource"] == "cpu"
    assert by_tenant.loc["b1", "holders"] == pytest.approx({"a1": 3.0})
    assert by_tenant.loc["a2", "stopped_by"] == "" and by_tenant.loc["a2", "holders"] == {}


def test_by_queue_the_numbers_are_those_by_hand():
    shares = fairlp_clusters.fair_shares(shared(), observed=NOW, by="queue")
    assert shares.index.tolist() == ["", "a", "a/one", "a/two", "b"]
    assert shares.loc["a", ["users", "tasks", "waiting"]].tolist() == [2, 9, 2]
    assert shares["share"].tolist() == pytest.approx([1, 9 / 12, 7 / 12, 2 / 12, 3 / 12])
    assert shares.loc["a", ["guarantee", "borrowed"]].tolist() == pytest.approx([3 / 12, 16 / 24])
    assert shares.loc["b", "guarantee"] == pytest.approx(0.25) and shares.loc[
        "b", "owed"
    ] == pytest.approx(3)
    assert math.isnan(shares.loc["", "borrowed"]) and shares["cap"].isna().all()
    assert fairlp_clusters.fair_shares(
        shared(), observed=NOW, by="queue", level=1
    ).index.tolist() == [
        "a",
        "b",
    ]


def test_a_cap_is_what_stops_before_any_server():
    instance = shared().replace(queues={"a": {}, "b": {"cap": {"cpu": 3.0}}})
    runs = [[1, 0], [0, 0], [3, 0]]
    shares = fairlp_clusters.verdict(instance, observed=runs).table
    assert shares.loc["b1", ["stopped_by", "room_jobs"]].tolist() == ["the cap of b on cpu", 0]
    assert shares.loc["a1", ["waiting_jobs", "room_jobs"]].tolist() == [8, 8]
    less = fairlp_clusters.verdict(instance, observed=[[1, 0], [0, 0], [2, 0]]).table
    assert less.loc["b1", "room_jobs"] == 1


def test_a_task_larger_than_every_server_fits_none():
    instance = fairlp.Instance.from_arrays(
        [[8.0], [1.0]], [[6.0], [6.0]], users=["big", "small"], task_limits=[1, 12]
    )
    with pytest.warns(fairlp.errors.OversizedTaskWarning):
        shares = fairlp_clusters.verdict(instance, observed=[[0, 0], [3, 3]]).table
    assert shares.loc["big", "stopped_by"].startswith("no server could ever take it: it needs 8")
    assert shares.loc["small", "stopped_by"] == ""


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
    assert shares.equals(fairlp_clusters.fair_shares(fairlp_clusters.snapshot(path)))
    facts = facts_of(path)
    assert facts.homeless["user"].tolist() == ["ml/lost"]
    assert facts.scheduler == "kubernetes"
    with pytest.raises(InstanceError, match="a snapshot has its own running tasks"):
        fairlp_clusters.fair_shares(path, observed=shares)


def test_who_does_not_wait_is_owed_nothing():
    """Where a dump does not tell how many tasks there are, a fair share may be more than anybody asks for."""
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[8.0]], users=["idle", "waits"])
    facts = Facts(instance, np.array([[1.0], [2.0]]), np.array([0.0, 1.0]))
    shares = fairlp_clusters.fair_shares(facts, "drf")
    assert shares["fair_tasks"].tolist() == pytest.approx([4, 4])
    assert shares["owed"].tolist() == [0, 1]


def test_only_who_holds_it_where_one_may_run_holds_it():
    """c has 4 of 8 cores on y, where a may not run, and 1 on x; 3 are its fair share."""
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0], [1.0]],
        [[4.0], [4.0]],
        users=["a", "b", "c"],
        servers=["x", "y"],
        eligible=[["x"], None, None],
        task_limits=[4, 3, 5],
    )
    shares = fairlp_clusters.verdict(instance, "drfh", observed=[[1, 0], [2, 0], [1, 4]]).table
    assert shares.loc["a", "holders"] == pytest.approx({"c": 1.0})


def test_those_who_are_short_come_first_and_who_lacks_most_is_the_first():
    """Of 12 cores ann is short of one task of 4 cores, and bob of two of 1 core; eve holds all."""
    instance = fairlp.Instance.from_arrays(
        [[1.0], [4.0], [1.0]], [[12.0]], users=["bob", "ann", "eve"], task_limits=[2.0, 1.0, 12.0]
    )
    facts = Facts(instance, np.array([[0.0], [0.0], [12.0]]), np.array([2.0, 1.0, 0.0]))
    verdict = judged(facts, "drf")
    assert verdict.table["short_jobs"].to_dict() == {"ann": 1, "bob": 2, "eve": 0}
    assert list(verdict.table.index) == ["ann", "bob", "eve"]
