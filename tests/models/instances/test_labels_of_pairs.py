"""Eligible pairs that carry labels are put in order by them, or refused; options by pairs are numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp.errors import InstanceError

USERS, SERVERS = ["ann", "bob", "eve"], ["s", "t"]
EXPECTED = [[True, False], [True, True], [False, True]]


def made(eligible):
    return fairlp.SparseInstance.from_arrays(
        [[1, 2], [3, 1], [2, 2]], [[9, 18], [5, 5]], eligible, users=USERS, servers=SERVERS
    )


@pytest.mark.parametrize(
    "eligible",
    [
        pd.DataFrame(EXPECTED, USERS, SERVERS).loc[["eve", "ann", "bob"], ["t", "s"]],
        pd.DataFrame(EXPECTED, USERS, SERVERS).astype(int).loc[["eve", "ann", "bob"], ["t", "s"]],
        pd.Series(np.ravel(EXPECTED), pd.MultiIndex.from_product([USERS, SERVERS])).iloc[::-1],
        pd.DataFrame([[0, 0], [1, 0], [1, 1], [2, 1]]),
        pd.DataFrame(EXPECTED),
        pd.Series([["s"], ["s", "t"], ["t"]]),
        pd.Series({"eve": ["t"], "ann": ["s"], "bob": ["t", "s"]}),
        {"eve": ["t"], "ann": ("s",), "bob": {"t", "s"}},
        {"eve": {"t": True, "s": False}, "ann": {"t": False, "s": True}, "bob": {"t": True, "s": True}},
    ],
)
def test_labels_are_followed_whatever_their_order(eligible):
    assert made(eligible).eligible.toarray().tolist() == EXPECTED


@pytest.mark.parametrize(
    "eligible, words",
    [
        ({"ann": ["s"], "bob": ["s"], "eve": ["t"], "zoe": ["t"]}, "names user 'zoe', who is unknown"),
        (pd.Series({"ann": ["s"], "bob": ["s"]}), "has no user 'eve'"),
        (pd.DataFrame({"user": [0, 1, 2], "server": [0, 1, 1]}), "names server 'user', which is unknown"),
        (pd.DataFrame(2, USERS, SERVERS), "eligible of user 'ann' on server 's' is .*2.*; expected True or False"),
        ([["s"], [["t"]], ["t"]], r"eligible of user 'bob' names server \['t'\], which is unknown"),
    ],
)
def test_what_fits_no_label_is_refused(eligible, words):
    with pytest.raises(InstanceError, match=words):
        made(eligible)


@pytest.mark.parametrize(
    "option", [{"aim": "x"}, {"aim": None}, {"rounds": True}, {"time_limit": float("nan")}, {"time_limit": -1}]
)
def test_options_by_pairs_are_numbers(option):
    (name,) = option
    with pytest.raises(InstanceError, match=f"{name} is "):
        fairlp.allocate(made(np.array(EXPECTED)), "drfh", **option)


def test_a_client_is_one_of_a_cluster():
    with pytest.raises(InstanceError, match=r"client is 3; expected a distributed\.Client"):
        fairlp.allocate(made(np.array(EXPECTED)), "drfh", client=3)
