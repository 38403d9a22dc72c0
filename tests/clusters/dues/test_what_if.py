"""What-if: two lines, numbers by hand, and edits that make no sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_clusters
from fairlp import Instance
from fairlp.errors import InstanceError, UnknownNameError
from fairlp_clusters.dues.subject import Subject
from fairlp_clusters.dues.what_if import edited
from report_cases import two

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


def queued():
    """One kind of task; a and b share 12 cpu."""
    return fairlp.Instance.from_arrays(
        [[1.0], [1.0]],
        [[4.0], [4.0], [4.0]],
        users=["x", "y"],
        servers=["s1", "s2", "s3"],
        resources=["cpu"],
        queue=["a", "b"],
        queues={"a": {"guarantee": {"cpu": 1.0}}},
        server_attributes=pd.DataFrame({"kind": ["fast", "slow", "slow"]}),
    )


def after(**edit):
    return fairlp_clusters.what_if(queued(), **edit)["tasks_after"].to_dict()


def test_more_servers_of_a_class_or_as_one():
    comparison = fairlp_clusters.what_if(queued(), add_servers={"slow": 3})
    assert comparison["tasks_before"].to_dict() == pytest.approx({"": 12, "a": 6, "b": 6})
    assert comparison["tasks_after"].to_dict() == pytest.approx({"": 24, "a": 12, "b": 12})
    assert comparison.loc["a", ["before", "after", "change"]].tolist() == pytest.approx(
        [0.5, 1.0, 0.5]
    )
    assert after(add_servers={"s1": 1}) == pytest.approx({"": 16, "a": 8, "b": 8})


def test_other_weights_of_queues_and_users():
    assert after(weights={"b": 3}) == pytest.approx({"": 12, "a": 3, "b": 9})
    queued_pair = queued().replace(queue=["a", "a"])
    assert fairlp_clusters.what_if(queued_pair, weights={"y": 3}, by="user")[
        "tasks_after"
    ].to_dict() == pytest.approx({"x": 3, "y": 9})


def test_a_name_of_both_says_which_it_is():
    ambiguous = queued().replace(users=["a", "y"], queue=["a", "b"])
    with pytest.raises(InstanceError, match="'queue:a' or 'user:a'"):
        fairlp_clusters.what_if(ambiguous, weights={"a": 3})
    assert edited(ambiguous, None, {"queue:a": 3}, None).queues.weights.tolist() == [1, 3, 1]
    assert edited(ambiguous, None, {"user:a": 3}, None).weights.tolist() == [3, 1]


def test_a_queue_more_with_users_like_others_or_of_their_own():
    totals = after(queues={"c": {"like": "x"}})
    assert totals == pytest.approx({"": 12, "a": 4, "b": 4, "c": 4})
    assert after(queues={"c": {"weight": 2, "like": "b", "tasks": 2}}) == pytest.approx(
        {"": 12, "a": 5, "b": 5, "c": 2}
    )
    assert after(queues={"a/c": {"demand": {"cpu": 2}}}) == pytest.approx(
        {"": 10.5, "a": 4.5, "a/c": 1.5, "b": 6}
    )
    before = fairlp_clusters.what_if(queued(), queues={"c": {"like": "x"}}).loc["c"]
    assert before[["before", "tasks_before"]].tolist() == [0, 0]


def test_of_a_queue_that_is_known_what_is_given_is_changed():
    instance = edited(queued(), None, None, {"a": {"cap": {"cpu": 2.0}}, "b": 5})
    assert instance.queues.caps[1].tolist() == [2.0] and instance.queues.guarantees[1].tolist() == [
        1.0
    ]
    assert instance.queues.weights.tolist() == [1, 1, 5]
    assert after(queues={"a": {"cap": {"cpu": 2.0}}}) == pytest.approx({"": 12, "a": 2, "b": 10})


def test_an_instance_without_queues_gets_some():
    flat = fairlp.Instance.from_arrays([[1.0]], [[6.0]], users=["x"])
    comparison = fairlp_clusters.what_if(flat, queues={"team": {"like": "x"}})
    assert comparison["tasks_before"].to_dict() == pytest.approx({"": 6, "team": 0})
    assert comparison["tasks_after"].to_dict() == pytest.approx({"": 6, "team": 3})


def test_what_belongs_to_users_stays_with_them():
    instance = queued().replace(
        eligible=[["s1"], None],
        task_limits=[3, np.inf],
        user_attributes=pd.DataFrame({"mail": ["x@", "y@"]}),
    )
    edited_instance = edited(instance, None, None, {"c": {"like": "a"}})
    assert edited_instance.eligible.tolist() == [
        [True, False, False],
        [True] * 3,
        [True, False, False],
    ]
    assert edited_instance.task_limits.tolist() == [3, np.inf, 3]
    assert list(edited_instance.users) == ["x", "y", "c (new)"] and edited_instance.queue == (
        "a",
        "b",
        "c",
    )
    assert edited_instance.user_attributes["mail"].tolist()[:2] == ["x@", "y@"]


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        ({}, InstanceError, "there is no edit"),
        ({"add_servers": {"slwo": 1}}, UnknownNameError, "did you mean 'slow'"),
        ({"add_servers": {"slow": 0}}, InstanceError, "at least 1"),
        ({"add_servers": {"slow": 1.5}}, InstanceError, "whole number"),
        ({"weights": {"c": 2}}, UnknownNameError, "no queue and no user 'c'"),
        ({"weights": {"user:b": 2}}, UnknownNameError, "no user 'b'"),
        ({"weights": {"": 2}}, UnknownNameError, "no queue and no user"),
        ({"weights": {"a": -1}}, InstanceError, "expected a finite number > 0"),
        ({"weights": {"a": "two"}}, InstanceError, "'two'"),
        ({"queues": {"c": 2}}, InstanceError, "would have no users"),
        ({"queues": {"c": {"like": "z"}}}, UnknownNameError, "no user and no queue"),
        (
            {"queues": {"c": {"like": "x", "demand": {"cpu": 1}}}},
            InstanceError,
            "either like= or demand=",
        ),
        ({"queues": {"c": {"demand": {"gpu": 1}}}}, UnknownNameError, "'gpu'"),
        ({"queues": {"c": {"demand": 3}}}, InstanceError, "mapping from resources"),
        ({"queues": {"a": {"wieght": 3}}}, InstanceError, "did you mean 'weight'"),
        (
            {"queues": {"a": {"guarantee": {"cpu": 3}, "cap": {"cpu": 2}}}},
            InstanceError,
            "at most its cap",
        ),
        ({"weights": {"a": 2}, "by": "team"}, UnknownNameError, "by='team'"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edit, error, message):
    with pytest.raises(error, match=message):
        fairlp_clusters.what_if(queued(), **edit)


def test_queues_are_asked_for_where_there_are_none():
    with pytest.raises(InstanceError, match="no queues, before or after"):
        fairlp_clusters.what_if(fairlp.examples.load("ghodsi"), weights={"A": 2}, by="queue")


def test_whose_running_tasks_would_go():
    case = Instance.from_arrays(np.ones((2, 1)), [[10.0]], users=["a", "b"], task_limits=[8, 8])
    subject = Subject(case, np.array([[8.0], [2.0]]), np.array([0.0, 6.0]))
    comparison = fairlp_clusters.what_if(subject, weights={"b": 2.0})
    assert comparison["tasks_after"].tolist() == pytest.approx([10 / 3, 20 / 3]) and comparison[
        "would_go"
    ].tolist() == [5, 0]


def test_more_servers_than_can_be_counted_are_refused():
    with pytest.raises(InstanceError, match=r"add_servers has 10{20} for 'server1'"):
        fairlp_clusters.what_if(
            fairlp.examples.load("two-servers"), add_servers={"server1": 10**20}
        )


def test_new_users_are_told_apart_from_those_there():
    users = list(edited(two(), None, None, {"a": {"like": "x"}}).users)
    assert len(set(users)) == 3 and users[:2] == ["x", "a (new)"] and users[2].startswith("a (new")


def test_nobody_is_like_an_empty_queue():
    empty = two().replace(queues={"a": 1, "b": 1, "c": 1})
    with pytest.raises(UnknownNameError, match="like='c' is no user and no queue with users"):
        edited(empty, None, None, {"d": {"like": "c"}})


def test_given_rates_say_nothing_of_users_that_are_new():
    rated = Instance.from_arrays(
        [[1.0], [2.0]], [[12.0]], rates=[[3.0], [4.0]], users=["x", "y"], queue=["a", "b"]
    )
    with pytest.raises(
        InstanceError, match="the instance has rates, and new users would have none"
    ):
        edited(rated, None, None, {"c": {"like": "x"}})
