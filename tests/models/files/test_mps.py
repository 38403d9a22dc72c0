"""MPS files: what was written is what readers read."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import plain_programs
from fairlp.errors import FileFormatError
from fairlp.models.files.model_text import unused
from fairlp.models.files.mps import _rows, write_mps
from fairlp.models.files.programs import read_program
from program_files import (
    CASES,
    EXAMPLE,
    assert_equal,
    content_of,
    optimum,
    programs,
    read,
    read_text,
    solve,
    without_free_rows,
)


def expected(p, profile):
    content = without_free_rows(content_of(p))
    if profile == "portable":
        sign = -1 if p.sense == "max" else 1
        content.columns = {
            name: (sign * cost, *rest) for name, (cost, *rest) in content.columns.items()
        }
        if p.offset:
            content.columns[unused("objective_constant", content.columns)] = (
                sign * p.offset,
                1,
                1,
                False,
            )
        content.sense, content.offset = "min", 0.0
    return content


def assert_same(content, expected_content):
    """Equal, but for the last bit of a bound that RANGES gives as a difference."""
    assert content.rows.keys() == expected_content.rows.keys()
    for name, bounds in expected_content.rows.items():
        last_bit = np.spacing(max(map(abs, bounds))) if np.isfinite(bounds).all() else 0.0
        for a, b in zip(content.rows[name], bounds, strict=True):
            assert a == b or abs(a - b) <= last_bit
    content.rows = expected_content.rows
    assert content == expected_content


@pytest.mark.parametrize("profile", ["portable", "full"])
@pytest.mark.parametrize("case", CASES)
def test_highs_reads_what_was_written(case, profile, tmp_path):
    p = CASES[case]
    path = tmp_path / "model.mps"
    written = write_mps(p, path, profile=profile)
    assert written[0] == path
    content, highs = read(path)
    expected_content = expected(p, profile)
    assert list(content.columns) == list(expected_content.columns)
    assert list(content.rows) == list(expected_content.rows)
    assert_same(content, expected_content)
    sign = -1 if profile == "portable" and p.sense == "max" else 1
    assert sign * optimum(highs) == pytest.approx(solve(p))


@settings(deadline=None)
@given(p=programs(), profile=st.sampled_from(["portable", "full"]))
def test_any_program_reads_back(p, profile, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "model.mps"
    write_mps(p, path, profile=profile)
    assert_same(read(path)[0], expected(p, profile))


PORTABLE = """\
* ex 1: written by fairlp, 3 rows, 3 columns
* source: nowhere
* objective: NEGATED. The model maximises; this file minimises minus its objective.
* The objective's constant is the cost of column objective_constant, which is fixed at 1.
NAME ex_1 FREE
ROWS
 N objective
 L cap.cpu
 G cap.disk_1
 E same
COLUMNS
 tasks.ann objective -1
 tasks.ann cap.cpu 2
 tasks.ann cap.disk_1 1
 tasks.ann same 1
 MARKER 'MARKER' 'INTORG'
 tasks.bob objective -0.5
 tasks.bob cap.cpu 1
 tasks.bob cap.disk_1 1
 tasks.bob same -1
 MARKER 'MARKER' 'INTEND'
 spare objective 0
 objective_constant objective -7.5
RHS
 RHS cap.cpu 10
 RHS cap.disk_1 1
RANGES
 RNG cap.disk_1 3
BOUNDS
 LO BND tasks.bob -1
 UP BND tasks.bob 3
 MI BND spare
 UP BND spare -2
 FX BND objective_constant 1
ENDATA
"""


def text_of(p, **options):
    write_mps(p, file := io.StringIO(), **options)
    return file.getvalue()


def test_text_of_the_profiles():
    assert text_of(EXAMPLE) == PORTABLE
    full = text_of(EXAMPLE, profile="full")
    assert "FREE\nOBJSENSE\n    MAX\nROWS\n" in full
    assert "RHS\n RHS objective -7.5\n RHS cap.cpu 10\n" in full
    assert " tasks.ann objective 1\n" in full
    assert "objective_constant" not in full
    assert "Rows without any bound are left out: 2." in text_of(CASES["free row"], profile="full")
    assert " c1 r1 1\n" in text_of(EXAMPLE, names="numbers")


def test_equal_programs_give_equal_bytes(tmp_path):
    for profile in ("portable", "full"):
        a, b, packed = tmp_path / "a.mps", tmp_path / "b.mps", tmp_path / "c.mps.gz"
        for path in (a, b, packed):
            write_mps(EXAMPLE, path, profile=profile)
        first = packed.read_bytes()
        write_mps(EXAMPLE, moved := tmp_path / "other name.mps.gz", profile=profile)
        assert a.read_bytes() == b.read_bytes() == gzip.decompress(first)
        assert moved.read_bytes() == first
        assert read(packed)[0] == read(a)[0]
    write_mps(EXAMPLE, file := io.BytesIO(), profile="full")
    assert file.getvalue() == a.read_bytes()


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.mps"
    path.write_text("old")
    monkeypatch.setattr("fairlp.models.files.mps.bound_lines", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_mps(EXAMPLE, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.mps"]
    assert path.read_text() == "old"


def test_a_range_is_given_from_the_side_that_gives_the_other_exactly_else_from_the_smaller():
    rng = np.random.default_rng(0)
    counts = {"exact from the upper": 0, "neither": 0, "lower": 0}
    for low, high in np.sort(rng.normal(0, 3, (3000, 2)) ** 3, axis=1).tolist():
        (kind,), sides, widths = _rows(
            plain_programs.program([[1.0]], [(low, high)], [(0, 1)]), rounded=False
        )
        assert sides[0] == (high if kind == "L" else low)
        from_lower, from_upper = low + widths[0] == high, high - widths[0] == low
        assert kind == ("G" if from_lower else "L" if from_upper or abs(high) < abs(low) else "G")
        counts["lower" if from_lower else "exact from the upper" if from_upper else "neither"] += 1
    assert min(counts.values()) > 0, counts


@settings(deadline=None)
@given(p=programs(), names=st.sampled_from(["labels", "numbers"]))
def test_any_program_is_read_back_by_our_own_reader(p, names, tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "model.mps"
    write_mps(p, path, names=names, profile="full")
    assert_equal(read_program(path), p)


SMALL = """\
NAME small
ROWS
 N cost
 L room
 G floor
 E even
COLUMNS
 x cost 1 room 2
 M1 'MARKER' 'INTORG'
 b cost -3 floor 1
 b even 1
 M1 'MARKER' 'INTEND'
RHS
 RHS room 8 floor -1
 RHS cost 5
RANGES
 RNG room 3 floor 4
 RNG even -2
BOUNDS
 UP BND b 1
{}INDICATORS
 IF room b 1
ENDATA
"""


def test_ranges_bounds_and_indicators_are_read_as_the_format_says(tmp_path):
    """A range of R: from an L row down, from a G row up, from an E row towards the sign of R."""
    plain = SMALL.replace("INDICATORS\n IF room b 1\n", "")
    program = read_text(tmp_path, plain.format(" MI BND x\n UP BND x 4\n"))
    assert program.row_names == ["room", "floor", "even"]
    assert program.row_lower.tolist() == [5, -1, -2] and program.row_upper.tolist() == [8, 3, 0]
    assert program.col_lower.tolist() == [-np.inf, 0] and program.col_upper.tolist() == [4, 1]
    assert program.integrality.tolist() == [0, 1]
    assert (program.sense, program.c.tolist(), program.offset) == ("min", [1, -3], -5)
    assert program.A.toarray().tolist() == [[2, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize(("value", "best"), [(0, -4 - 5), (1, -9 - 5)])
def test_a_row_holds_where_its_indicator_has_the_value_of_the_file(value, best, tmp_path):
    """even makes b 0, so that 2x <= 8 binds where the indicator is b = 0, and else x <= 9."""
    text = SMALL.format(" UP BND x 9\n").replace("x cost 1", "x cost -1")
    text = text.replace("RNG room 3", "RNG").replace("IF room b 1", f"IF room b {value}")
    assert read_text(tmp_path, text).solve().objective == pytest.approx(best)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            "INDICATORS\n IF room b 1\n IF room b 0\n",
            "line 23: .*its row is of type N, or has an indicator before",
        ),
        (
            "INDICATORS\n IF cost b 1\n",
            "line 22: .*its row is of type N, or has an indicator before",
        ),
        ("INDICATORS\n IF rom b 1\n", "line 22: .*no row is called 'rom'"),
        ("INDICATORS\n IF room b 2\n", "line 22: .*expected IF, a row"),
        ("INDICATORS\n IF room x 1\n", "line 22: .*column 'x' is not binary"),
        ("SOS\n S1 s\n y 1\n", "line 23: .*no column is called 'y'"),
        ("RHS\n RHS nowhere 1\n", "a second section RHS; the first is in line 13"),
        ("COLUMNS\n z cost 1\n", "line 21: .*COLUMNS"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_with_its_line(wrong, words, tmp_path):
    with pytest.raises(FileFormatError, match=words):
        read_text(tmp_path, SMALL.format("").replace("INDICATORS\n IF room b 1\n", wrong))
