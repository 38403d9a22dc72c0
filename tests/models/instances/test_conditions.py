"""Eligibility: every way to say where users may run, and the language of conditions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array

from fairlp.errors import InstanceError
from fairlp.models.instances.conditions import Columns, condition_text, evaluate, resolve
from fairlp.models.instances.instance import Instance
from fairlp.models.notation.expressions import Index

USERS = Index("n", pd.Index(["ann", "bob"], dtype=object), "user")
SERVERS = Index("i", pd.Index(["s1", "s2", "s3"], dtype=object), "server")
RESOURCES = Index("r", pd.Index(["cpu", "memory"], dtype=object), "resource")
CAPACITIES = np.array([[8.0, 64.0], [16.0, 32.0], [4.0, 0.0]])
ATTRIBUTES = pd.DataFrame(
    {
        "gpu_model": ["T4", "P100", None],
        "ssd": [True, False, True],
        "year": [2019, 2021, None],
        "disk type": ["hdd", "nvme", "hdd"],
        "mixed": ["a", 1, None],
        "in": ["x", "y", "y"],
    }
)


def mask_of(eligible):
    """The mask of two users on three servers, as lists, and the conditions."""
    mask, conditions = resolve(eligible, USERS, SERVERS, CAPACITIES, RESOURCES, ATTRIBUTES)
    return (None if mask is None else mask.astype(int).tolist()), conditions


def holds(text):
    """Where a condition holds, as a list of 0 and 1."""
    return (
        evaluate(text, Columns(ATTRIBUTES, CAPACITIES, RESOURCES), "user 'ann'")
        .astype(int)
        .tolist()
    )


MASK = [[1, 0, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    "eligible",
    [
        np.array(MASK, dtype=bool),
        np.array(MASK),
        np.array(MASK, dtype=float),
        np.array(MASK, dtype=object),
        MASK,
        [[True, False, True], [True, True, True]],
        [np.array([True, False, True]), (1, 1, 1)],
        pd.DataFrame(np.array(MASK, dtype=bool), ["ann", "bob"], ["s1", "s2", "s3"]),
        pd.DataFrame([[True, True, True], [True, True, False]], ["bob", "ann"], ["s3", "s1", "s2"]),
        pd.Series(
            np.ravel(MASK), pd.MultiIndex.from_product([["ann", "bob"], ["s1", "s2", "s3"]])
        ).iloc[::-1],
        [["s1", "s3"], None],
        [("s3", "s1"), ""],
        [{"s1", "s3"}, float("nan")],
        [np.array(["s1", "s3"]), pd.NA],
        {"ann": ["s1", "s3"]},
        pd.Series([None, ["s1", "s3"]], index=["bob", "ann"]),
    ],
)
def test_every_form_gives_the_same_mask(eligible):
    assert mask_of(eligible) == (MASK, ())


@pytest.mark.parametrize(
    "eligible",
    [None, [None, None], {}, np.ones((2, 3), dtype=bool), [[1, 1, 1]] * 2, ["", "  "], [{}, None]],
)
def test_everything_allowed_needs_no_mask(eligible):
    assert mask_of(eligible) == (None, ())


def test_conditions_are_kept_as_written_and_mappings_become_conditions():
    mask, conditions = mask_of(
        {"bob": "memory >= 64", "ann": {"gpu_model": {"T4", "P100"}, "ssd": True}}
    )
    assert mask == [[1, 0, 0], [1, 0, 0]]
    assert conditions == ("gpu_model in ['P100', 'T4'] and ssd == True", "memory >= 64")


def test_a_condition_that_holds_everywhere_is_kept_without_a_mask():
    assert mask_of(["cpu >= 1", None]) == (None, ("cpu >= 1", None))


def test_the_array_handed_in_stays_writable_and_apart():
    mask = np.array(MASK, dtype=bool)
    instance = Instance.from_arrays([[1, 0], [1, 1]], CAPACITIES, eligible=mask)
    mask[0, 0] = False
    assert instance.eligible[0, 0]


@pytest.mark.parametrize(
    ("eligible", "message"),
    [
        (np.ones((3, 2), dtype=bool), r"shape \(3, 2\); expected \(2, 3\)"),
        (np.ones(2, dtype=bool), r"shape \(2,\); expected \(2, 3\)"),
        ([True, False], r"shape \(2,\)"),
        (np.array([["a", "b", "c"]] * 2), "expected True or False"),
        ([[1, 1, 2], [1, 1, 1]], "user 'ann' on server 's3' is .*2.*; expected True or False"),
        (np.array([[1, np.nan, 1], [1, 1, 1]]), "user 'ann' on server 's2' is .*nan"),
        ([[True, False], [True, True, True]], r"shape \(2,\); expected \(2, 3\)"),
        ([[True] * 3], r"shape \(1, 3\)"),
        ([[True], [True] * 3, [True]], r"expected \(2, 3\)"),
        ([None], "one entry for each of 2"),
        ("cpu > 1", "one entry for each"),
        (5, "one entry for each"),
        ([3, None], "eligible of user 'ann' is 3"),
        ([["s1", "s9"], None], "user 'ann' names server 's9', which is unknown; known: 's1'"),
        ([[True, "s1"], None], "user 'ann' names server True"),
        ([[["s1"]], None], r"user 'ann' names server \['s1'\], which is unknown"),
        (csr_array(MASK), "expected users × servers"),
        ([[], None], "'ann' has no eligible server"),
        ([None, "cpu > 100"], "'bob' has no eligible server"),
        ({"an": None}, "names user 'an', which is unknown; did you mean 'ann'"),
        (pd.Series([None, None], index=["ann", "ann"]), "user 'ann' twice"),
        (pd.DataFrame(MASK, ["ann", "bo"], ["s1", "s2", "s3"]), "user 'bo', which is unknown"),
        (pd.DataFrame(MASK[:1], ["ann"], ["s1", "s2", "s3"]), "has no user 'bob'"),
        (pd.DataFrame([[1, 1]] * 2, ["ann", "bob"], ["s1", "s2"]), "has no server 's3'"),
        (pd.DataFrame([[1, 1]] * 2, ["ann", "bob"], ["s1", "s1"]), "server 's1' twice"),
        ([{"gpu_model": None}, None], "user 'ann' allows None for attribute 'gpu_model'"),
        ([{3: "T4"}, None], "user 'ann' has a condition on 3"),
    ],
)
def test_wrong_eligibility_names_the_user(eligible, message):
    with pytest.raises(InstanceError, match=message):
        mask_of(eligible)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu_model == 'T4'", [1, 0, 0]),
        ("gpu_model != 'T4'", [0, 1, 0]),
        ("not gpu_model == 'T4'", [0, 1, 1]),
        ("gpu_model in ['T4', 'P100']", [1, 1, 0]),
        ("gpu_model not in ('T4',)", [0, 1, 0]),
        ("gpu_model in []", [0, 0, 0]),
        ("memory >= 64", [1, 0, 0]),
        ("8 <= cpu < 16", [1, 0, 0]),
        ("4 < cpu", [1, 1, 0]),
        ("cpu > -1", [1, 1, 1]),
        ("ssd", [1, 0, 1]),
        ("not ssd", [0, 1, 0]),
        ("ssd == True", [1, 0, 1]),
        ("ssd and (memory > 0 or cpu in {1, 2})", [1, 0, 0]),
        ("year > 2019", [0, 1, 0]),
        ("year != 2019", [0, 1, 0]),
        ("`disk type` == 'hdd'", [1, 0, 1]),
        ("`disk type` == 'h`d`d'", [0, 0, 0]),
        ("`in` in ['y']", [0, 1, 1]),
        ("mixed == 'a'", [1, 0, 0]),
        ("mixed != 1", [1, 0, 0]),
        ("not gpu_model == gpu_model", [0, 0, 1]),
        ("cpu > memory", [0, 0, 1]),
        ("gpu_model >= 'Q'", [1, 0, 0]),
        ("True", [1, 1, 1]),
        ("'a' == 'a'", [1, 1, 1]),
        ("1 in [1, 2] and\n cpu > 4", [1, 1, 0]),
        ("gpu_model == '\\d'", [0, 0, 0]),
    ],
)
def test_conditions(text, expected):
    assert holds(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu_model ==", r"condition of user 'ann', \"gpu_model ==\": .*at its end|position"),
        ("gpu_model = 'T4'", "position"),
        ("`disk type` == 'hdd' oder ssd", "position 22"),
        ("gpu_model == 'T4", "unterminated"),
        ("gpu_modle == 'T4'", "'gpu_modle'; did you mean 'gpu_model'"),
        ("gpu_model == T4", "'T4'; known.*text needs quotes"),
        ("ssd == true", "True and False are capital"),
        ("`disk typ` == 'hdd'", "'disk typ'; did you mean 'disk type'"),
        ("gpu_model > 5", "text cannot be compared"),
        ("memory == '64'", "text cannot be compared"),
        ("gpu_model in ['T4', 5]", "text cannot be compared"),
        ("mixed < 2", "text cannot be compared"),
        ("gpu_model > cpu", "gpu_model > cpu.* text cannot be compared"),
        ("gpu_model == None", "'None' at position 14 is not understood"),
        ("gpu_model", "'gpu_model' is not True or False by itself"),
        ("memory and ssd", "'memory' is not True or False"),
        ("5", "'5' is not True or False"),
        ("gpu_model in 'T4'", "'in' needs a list"),
        ("gpu_model in ('T4')", "'in' needs a list"),
        ("gpu_model in ['T4', [1]]", "not understood"),
        ("ssd is True", "write =="),
        (
            "__import__('os').system('true')",
            r"\"__import__\('os'\).system\('true'\)\" at position 1 is not understood",
        ),
        ("memory * 2 > 5", "'memory \\* 2' at position 1"),
        ("ssd and `disk type`.upper() == 'A'", r"`disk type`.upper\(\)' at position 9"),
        ("-'a' == 'b'", "not understood"),
        ("f'{cpu}' == 'b'", "not understood"),
        ("lambda: cpu", "not understood"),
        ("cpu if ssd else memory", "not understood"),
        ("(" * 500 + "ssd" + ")" * 500, "condition of user 'ann'"),
        ("not " * 20000 + "ssd", "condition of user 'ann'"),
        ("ssd\0", "condition of user 'ann'"),
    ],
)
def test_wrong_conditions_say_where(text, message):
    with pytest.raises(InstanceError, match=message):
        holds(text)


VALUES = st.one_of(
    st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
NAMES = st.text(min_size=1).filter(
    lambda name: "`" not in name and name != "\0"
)  # the resource is called \0


@given(NAMES, st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_a_mapping_says_what_membership_in_python_says(name, entries, data):
    allowed = data.draw(st.lists(st.sampled_from(entries), max_size=3))
    kinds = {isinstance(value, str) for value in entries}
    if len(kinds) > 1:
        entries = [value for value in entries if isinstance(value, str)]
        allowed = [value for value in allowed if isinstance(value, str)]
    columns = Columns(
        pd.DataFrame({name: pd.Series(entries, dtype=object)}), np.ones((len(entries), 1)), ["\0"]
    )
    values = evaluate(condition_text({name: allowed}, "user"), columns, "user").tolist()
    assert values == [value in allowed for value in entries]
