"""Forged proofs of small programs: every sign and bound that the checker looks at, and each level of a leximin."""

from __future__ import annotations

from fractions import Fraction

import pytest

import fairlp_check
from proof_files import fingerprint

#: Smaller than any price of a sensible program, and larger than nothing.
SMALL = ("1/2", "1/1000000000000")


def optimum(sense, columns, rows, column_claims, row_claims, value):
    """A file that calls a point of a program an optimum, with these statuses and values."""
    statement = {
        "kind": "optimum",
        "program": {
            "name": "p",
            "sense": sense,
            "offset": "0",
            "columns": columns,
            "rows": rows,
        },
        "level_column": None,
        "levels": [],
    }
    claim = {"value": value, "columns": column_claims, "rows": row_claims, "blocked": []}
    data = {
        "format": "fairlp proof",
        "version": 1,
        "title": "",
        "notes": [],
        "statement": statement,
        "rounds": [claim],
    }
    fingerprint(data)
    return data


def is_refused(data, reason):
    with pytest.raises(fairlp_check.RefusedError, match=reason):
        fairlp_check.check(data)
    return True


#: Sense, status and the sign of a cost at which the status is no optimum: (sense, status, sign).
WRONG_SIGNS = [
    ("min", "lower", -1),
    ("min", "upper", 1),
    ("max", "lower", 1),
    ("max", "upper", -1),
]


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("sense", "status", "sign"), WRONG_SIGNS)
def test_a_column_at_the_wrong_bound_is_refused(sense, status, sign, size):
    """Of min x/2, 1 ≤ x ≤ 2, the point 2 has a dual of the same value: only its sign is wrong."""
    at = {"lower": "1", "upper": "2"}[status]
    for cost, is_right in ((Fraction(size) * sign, False), (-Fraction(size) * sign, True)):
        value = str(cost * int(at))
        data = optimum(sense, [["x", str(cost), "1", "2"]], [], [["x", status, at]], [], value)
        if is_right:
            assert fairlp_check.check(data)
        else:
            assert is_refused(data, "wrong sign")


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("sense", "status", "sign"), WRONG_SIGNS)
def test_a_row_at_the_wrong_side_is_refused(sense, status, sign, size):
    """A free column has no reduced cost where a row of it has the price; the row's sign is wrong."""
    at = {"lower": "1", "upper": "2"}[status]
    for cost, is_right in ((Fraction(size) * sign, False), (-Fraction(size) * sign, True)):
        data = optimum(
            sense,
            [["x", str(cost), None, None]],
            [["r", "1", "2", [[0, "1"]]]],
            [["x", "basic", at]],
            [["r", status, str(cost)]],
            str(cost * int(at)),
        )
        if is_right:
            assert fairlp_check.check(data)
        else:
            assert is_refused(data, "wrong sign")


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("sense", ["min", "max"])
def test_what_is_between_its_bounds_has_no_price(sense, sign, size):
    """x = 0 is free and has a cost: the program has no optimum, and at 0 no value tells."""
    cost = str(sign * Fraction(size))
    data = optimum(
        sense,
        [["x", cost, None, None], ["z", "0", "0", None]],
        [["r", "0", None, [[1, "1"]]]],
        [["x", "basic", "0"], ["z", "lower", "0"]],
        [["r", "lower", "0"]],
        "0",
    )
    assert is_refused(data, "wrong sign")
    data["statement"]["program"]["columns"][0][1] = "0"
    fingerprint(data)
    assert fairlp_check.check(data)


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("beyond", ["lower", "upper"])
def test_a_point_a_little_beyond_a_bound_is_refused(beyond, size):
    """Of a column and of a row that are basic, so that no status says where they are."""
    at = str({"lower": -1, "upper": 1}[beyond] * (1 + Fraction(size)))
    column = optimum(
        "min",
        [["x", "0", "-1", "1"], ["z", "0", "0", None]],
        [["r", "0", None, [[1, "1"]]]],
        [["x", "basic", at], ["z", "lower", "0"]],
        [["r", "lower", "0"]],
        "0",
    )
    assert is_refused(column, "column 'x' is out of its bounds")
    row = optimum(
        "min",
        [["x", "0", at, at]],
        [["r", "-1", "1", [[0, "1"]]]],
        [["x", "fixed", at]],
        [["r", "basic", "0"]],
        "0",
    )
    assert is_refused(row, "row 'r' is out of its bounds")


def test_another_value_than_that_of_the_point_is_refused():
    columns = [["x", "1", "1", "2"]]
    claims = [["x", "lower", "1"]]
    assert fairlp_check.check(optimum("min", columns, [], claims, [], "1"))
    assert is_refused(optimum("min", columns, [], claims, [], "999/1000"), "not the same")


def leximin(level, claimed):
    """A leximin of one user, x ≤ 1 and x − t ≥ 0, whose level is said to be something."""
    program = {
        "name": "p",
        "sense": "max",
        "offset": "0",
        "columns": [["x", "0", "0", "1"], ["t", "1", None, None]],
        "rows": [["level", "0", None, [[0, "1"], [1, "-1"]]]],
    }
    claim = {
        "value": "1",
        "columns": [["x", "upper", "1"], ["t", "basic", "1"]],
        "rows": [["level", "lower", "-1"]],
        "blocked": [["level", "1"]],
    }
    data = optimum("max", [], [], [], [], "1")
    data["statement"] = {
        "kind": "leximin",
        "program": program,
        "level_column": 1,
        "levels": [["ann", 0, level, claimed]],
    }
    data["rounds"] = [claim]
    fingerprint(data)
    return data


def test_a_level_a_little_off_is_refused():
    """A level in the file is exact; that of an allocation is a float, a billionth off at most."""
    assert fairlp_check.check(leximin("1", "1"))
    assert fairlp_check.check(leximin("1", "9999999999/10000000000"))
    assert is_refused(leximin("1", "99999999/100000000"), "the allocation has another")
    close = "999999999999/1000000000000"
    assert is_refused(leximin(close, close), "not the level at which its row has a dual")


def test_a_round_that_blocks_nobody_proves_no_level():
    data = leximin("1", "1")
    data["statement"]["program"]["columns"][1][3] = "1"
    round_1 = data["rounds"][0]
    round_1["columns"] = [["x", "upper", "1"], ["t", "upper", "1"]]
    round_1["rows"] = [["level", "basic", "0"]]
    round_1["blocked"] = []
    fingerprint(data)
    assert is_refused(data, "no row of a level has a dual")


def test_a_point_that_is_no_vertex_is_no_basis():
    """Every point of this program is an optimum, and one between the bounds has no basis."""
    columns = [["x", "0", "0", "1"]]
    assert fairlp_check.check(optimum("min", columns, [], [["x", "lower", "0"]], [], "0"))
    inside = optimum("min", columns, [], [["x", "basic", "1/2"]], [], "0")
    assert is_refused(inside, "1 columns and rows are basic, and there are 0 rows")
