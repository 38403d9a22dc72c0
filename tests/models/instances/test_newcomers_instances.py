"""What people hand in who meet instances for the first time: the message names the entry that is wrong."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import InstanceError

D, C = [[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0], [4.0, 6.0]]
NAMES = {"users": ["ann", "bob"], "servers": ["s1", "s2"], "resources": ["cpu", "memory"]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"demands": [[1, "2"], [3, "many"]]}, "demands are not all numbers ('many' in row 2, column 2)"),
        ({"demands": [[1, 2], [1]]}, "demands are not all numbers (row 2 has 1 entries, and row 1 has 2)"),
        ({"demands": np.array([["1", "2"], ["x", "3"]])}, "('x' in row 2, column 1)"),
        ({"demands": pd.DataFrame([["1", "x"], [2, 3]], ["bob", "ann"], ["memory", "cpu"])}, "'x' in row"),
        ({"weights": [1, "heavy"]}, "weights are not all numbers ('heavy' of user 'bob')"),
        ({"weights": {"bob": "heavy", "ann": 1}}, "weights are not all numbers ('heavy' of user 'bob')"),
        ({"weights": [[1, 2], [1, "heavy"]]}, "weights are not all numbers ('heavy' of user 'bob', column 2)"),
        ({"counts": pd.Series(["two", 1], ["s2", "s1"])}, "counts are not all numbers ('two' of server 's2')"),
        ({"task_limits": ["none", 1]}, "task limits are not all numbers ('none' of user 'ann')"),
        ({"users": "ab"}, "users is the text 'ab'; expected a list of labels, such as ['ab']"),
        ({"resources": "cm"}, "resources is the text 'cm'"),
        ({"capacities": [[1e308, 1], [1e308, 1]]}, "all servers together have more of resource 'cpu'"),
        (
            {"capacities": [[1e300, 1], [1, 1]], "counts": [10**15, 1]},
            "all servers together have more of resource 'cpu'",
        ),
    ],
)
def test_the_entry_that_is_wrong_is_named(given, words):
    with pytest.raises(InstanceError, match=re.escape(words)):
        Instance.from_arrays(**({"demands": D, "capacities": C} | NAMES | given))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"time_limit": "2"}, "time_limit is '2'; expected seconds >= 0"),
        ({"time_limit": True}, "time_limit is True; expected seconds >= 0"),
        ({"time_limit": float("nan")}, "time_limit is nan; expected seconds >= 0"),
        ({"primal_tolerance": "small"}, "primal_tolerance is 'small'; expected a number > 0"),
        ({"dual_tolerance": 0}, "dual_tolerance is 0; expected a number > 0"),
        ({"threads": 2.5}, "threads is 2.5; expected a whole number >= 0"),
        ({"seed": -1}, "seed is -1; expected a whole number >= 0"),
        ({"extra": 3}, "extra is 3; expected a mapping"),
    ],
)
def test_an_option_of_another_kind_is_refused_in_its_own_words(option, words):
    instance = Instance.from_arrays(D, C, **NAMES)
    with pytest.raises(fairlp.errors.UnsupportedError, match=re.escape(words)):
        fairlp.allocate(instance, "drfh", method="lp", **option)
    with pytest.raises(fairlp.errors.UnsupportedError, match=re.escape(words)):
        fairlp.formulate(instance, "drfh").solve(**option)


def test_options_may_be_numbers_of_numpy_or_none():
    instance = Instance.from_arrays(D, C, **NAMES)
    limits = {"time_limit": np.float64(9), "threads": np.int64(1), "seed": None}
    assert fairlp.allocate(instance, "drfh", method="lp", **limits).solver == "highs"
