"""Instances by pairs: every way to say what is eligible, what is refused and how, and to dense ones and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fairlp
from fairlp.errors import InstanceError, NotDefinedError, TooLargeError, UnknownNameError
from fairlp.models.instances import sparse as module
from pair_instances import both

DEMANDS, CAPACITIES = [[1, 2], [2, 1], [0, 3]], [[4, 4], [6, 6]]
MASK = np.array([[True, False], [True, True], [False, True]])
LABELS = {"users": ["a", "b", "c"], "servers": ["s", "t"]}


@pytest.mark.parametrize(
    "eligible",
    [
        MASK,
        MASK.tolist(),
        sparse.csr_array(MASK),
        sparse.coo_matrix(MASK.astype(int)),
        np.argwhere(MASK),
        [(0, 0), (1, 0), (1, 1), (2, 1), (2, 1)],
        [["s"], ["s", "t"], ["t"]],
        {"c": ["t"], "a": ["s"], "b": {"t", "s"}},
        pd.Series({"b": ["s", "t"], "c": ["t"], "a": ["s"]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_way_to_say_what_is_eligible(eligible):
    made = fairlp.SparseInstance.from_arrays(DEMANDS, CAPACITIES, eligible, **LABELS)
    assert (made.eligible.toarray() == MASK).all() and len(made) == 4


@pytest.mark.parametrize(
    "eligible, message",
    [
        (sparse.csr_array(np.ones((2, 2))), r"shape \(2, 2\); expected \(3, 2\)"),
        (sparse.csr_array(np.full((3, 2), 0.5)), "expected True or False"),
        (MASK[:2], "True or False for each user and server"),
        ([(0, 0), (1, 5), (2, 0)], "there is no server at 5; expected positions from 0 to 1"),
        ([(-1, 0), (1, 1), (2, 0)], "there is no user at -1"),
        (np.ones((3, 3)), "list of servers for each user"),
        ([["s"], ["x"], ["t"]], "eligible of user 'b' names server 'x', which is unknown"),
        ([["s"], "st", ["t"]], "condition of user 'b', 'st': no attribute"),
        ([["s"], ["t"]], "2 entries; expected 3"),
        ({"a": ["s"], "b": ["t"]}, "has no user 'c'"),
        ([["s"], [], ["t"]], "user 'b' has no eligible server"),
        ([(0, 0), (1, 1)], "user 'c' has no eligible server"),
    ],
)
def test_what_is_wrong_is_named(eligible, message):
    with pytest.raises(InstanceError, match=message):
        fairlp.SparseInstance.from_arrays(DEMANDS, CAPACITIES, eligible, **LABELS)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"demands": [[1, 2], [-1, 1], [0, 3]]}, "demand of user 'b', resource 'resource1', is -1"),
        ({"demands": [[1, 2], [0, 0], [0, 3]]}, "user 'b' demands nothing"),
        ({"capacities": [[4, 0], [6, 0]]}, "'resource2' is in no server"),
        ({"weights": [1, 0, 1]}, "weight of user 'b'"),
        ({"task_limits": [1, -1, 1]}, "task limit of user 'b'"),
        ({"counts": [1, 0.5]}, "count of server 't'"),
    ],
)
def test_numbers_are_checked_as_those_of_an_instance(change, message):
    with pytest.raises(InstanceError, match=message):
        given = {"demands": DEMANDS, "capacities": CAPACITIES, "eligible": MASK, **LABELS, **change}
        fairlp.SparseInstance.from_arrays(**given)


@pytest.mark.parametrize("seed", range(20))
def test_to_pairs_and_back(seed):
    dense, pairs = both(seed)
    again = fairlp.SparseInstance.of(dense)
    assert pairs.dense().equals(dense) and (again.eligible != pairs.eligible).nnz == 0
    np.testing.assert_allclose(pairs.gamma().toarray(), dense.gamma())
    np.testing.assert_allclose(pairs.unconstrained_rates(), dense.gamma(ignore_placement=True).sum(axis=1))
    able = np.zeros(dense.eligible.shape, dtype=bool)
    able[pairs.pairs] = True
    assert (able == dense.runnable()).all()
    assert pairs.has_constraints == dense.has_constraints and pairs.n_servers == dense.n_servers


def test_what_has_no_pairs_is_refused(monkeypatch):
    dense = fairlp.Instance.from_arrays(DEMANDS, CAPACITIES, queue=["x", "x", "y"])
    with pytest.raises(InstanceError, match="no queues"):
        fairlp.SparseInstance.of(dense)
    rated = fairlp.Instance.from_arrays([[1]], [[1]], rates=[[0.5]])
    with pytest.raises(InstanceError, match="no given rates"):
        fairlp.SparseInstance.of(rated)
    made = fairlp.SparseInstance.from_arrays(DEMANDS, CAPACITIES, MASK)
    monkeypatch.setattr(module, "MOST_DENSE", 5)
    with pytest.raises(TooLargeError, match="3 users × 2 servers"):
        made.dense()
    with pytest.raises(InstanceError, match="which only fairlp"):
        fairlp.compare(made)


def test_the_largest_is_stored_by_pair():
    size = 50_000
    pairs = np.stack([np.arange(size), np.arange(size)[::-1]], axis=1)
    made = fairlp.SparseInstance.from_arrays(np.ones((size, 1)), np.ones((size, 1)), pairs)
    assert repr(made) == "<SparseInstance: 50000 users, 50000 servers, 50000 pairs, resources resource1>"
    with pytest.raises(TooLargeError):
        made.dense()


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"mechanism": "njc"}, NotDefinedError, "'njc' needs a dense instance .* 'drfh'"),
        ({"mechanism": "cdrf"}, NotDefinedError, "user 'a' may not run everywhere"),
        ({"mechanism": "drfg"}, UnknownNameError, "drfg"),
        ({"method": "lp"}, UnknownNameError, "lp"),
        ({"solver": "glpk"}, UnknownNameError, "takes no option 'solver'"),
        ({"merge": False}, UnknownNameError, "takes no option 'merge'"),
        ({"limit": 3}, UnknownNameError, "takes no option 'limit'"),
        ({"aim": 0}, InstanceError, "aim is 0; expected a relative gap"),
        ({"rounds": 0}, InstanceError, "rounds is 0; expected a whole number"),
    ],
)
def test_what_allocate_refuses(options, error, message):
    made = fairlp.SparseInstance.from_arrays(DEMANDS, CAPACITIES, MASK, **LABELS)
    with pytest.raises(error, match=message):
        fairlp.allocate(made, **{"mechanism": "c-drfh", **options})
