"""Other weights of queues and users: numbers by hand, and names that say too little."""

from __future__ import annotations

import pytest

import fairlp
from fairlp.errors import InstanceError, UnknownNameError
from fairlp_clusters.dues.weights import with_weights


def queued(**changes):
    """One kind of task; a and b share 12 cpu."""
    fields = {
        "users": ["x", "y"],
        "resources": ["cpu"],
        "queue": ["a", "b"],
        "queues": {"a": {"guarantee": {"cpu": 1.0}}},
    } | changes
    return fairlp.Instance.from_arrays([[1.0], [1.0]], [[12.0]], **fields)


def totals(instance, weights):
    return list(fairlp.allocate(with_weights(instance, weights), "h-drf").totals)


def test_other_weights_of_queues_and_users():
    assert totals(queued(), {"b": 3}) == pytest.approx([3, 9])
    assert totals(queued(queue=["a", "a"]), {"y": 3}) == pytest.approx([3, 9])
    flat = fairlp.Instance.from_arrays([[1], [1]], [[12]], users=["x", "y"])
    assert with_weights(flat, {"y": 2}).user_weights.tolist() == [1, 2]


def test_what_is_not_named_stays():
    edited = with_weights(queued(), {"b": 3})
    assert edited.queues.guarantees.tolist() == queued().queues.guarantees.tolist()
    assert with_weights(queued(), {"a": 1.0}).equals(queued())


def test_a_name_of_both_says_which_it_is():
    ambiguous = queued(users=["a", "y"])
    with pytest.raises(InstanceError, match="'queue:a' or 'user:a'"):
        with_weights(ambiguous, {"a": 3})
    assert with_weights(ambiguous, {"queue:a": 3}).queues.weights.tolist() == [1, 3, 1]
    assert with_weights(ambiguous, {"user:a": 3}).weights.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({"c": 2}, UnknownNameError, "no queue and no user 'c'"),
        ({"user:b": 2}, UnknownNameError, "no user 'b'"),
        ({"": 2}, UnknownNameError, "no queue and no user"),
        ({"a": -1}, InstanceError, "expected a finite number > 0"),
        ({"a": "two"}, InstanceError, "'two'"),
        ({"x": "two"}, InstanceError, "'two'"),
        ({"x": 0}, InstanceError, "expected a finite number > 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, error, message):
    with pytest.raises(error, match=message):
        with_weights(queued(), weights)
