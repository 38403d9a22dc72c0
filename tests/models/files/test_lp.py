"""LP files: what was written is what readers read; and the names that both formats share."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array

from fairlp.errors import ModelError, UnknownNameError
from fairlp.models.files.lp import write_lp
from fairlp.models.files.model_text import LONGEST_NAME, decimal, decimals, file_names, unused
from fairlp.models.files.mps import write_mps
from fairlp.models.files.programs import read_program
from fairlp.models.programs.program import Block, LogTerms
from program_files import (
    CASES,
    EXAMPLE,
    INF,
    POS,
    by_glpk,
    by_scip,
    content_of,
    optimum,
    program,
    programs,
    read,
    solve,
    without_free_rows,
)


def expected(p, constant):
    """Return what an LP file should say: rows with two bounds are two rows."""
    content = without_free_rows(content_of(p))
    rows, entries = {}, {}
    for name, (lower, upper) in content.rows.items():
        parts = {name: (lower, upper)}
        if np.isfinite([lower, upper]).all() and lower != upper:
            parts = {f"{name}.lower": (lower, INF), f"{name}.upper": (-INF, upper)}
        rows.update(parts)
        for part_content in parts:
            entries.update(
                {
                    (part_content, column): v
                    for (row, column), v in content.entries.items()
                    if row == name
                }
            )
    content.rows, content.entries = rows, entries
    if constant == "column" and p.offset:
        content.columns[unused("objective_constant", content.columns)] = (p.offset, 1, 1, False)
        content.offset = 0.0
    return content


@pytest.mark.parametrize("constant", ["term", "column"])
@pytest.mark.parametrize("case", CASES)
def test_highs_reads_what_was_written(case, constant, tmp_path):
    p = CASES[case]
    path = tmp_path / "model.lp"
    assert write_lp(p, path, constant=constant)[0] == path
    program_read, highs = read(path)
    assert program_read == expected(p, constant)
    assert optimum(highs) == pytest.approx(solve(p))
    assert max(map(len, path.read_text(encoding="ascii").splitlines())) < 255


@settings(deadline=None)
@given(p=programs(), constant=st.sampled_from(["term", "column"]))
def test_any_program_reads_back(p, constant, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "model.lp"
    write_lp(p, path, constant=constant)
    assert read(path)[0] == expected(p, constant)


TEXT = """\
\\ ex 1: written by fairlp, 3 rows, 3 columns
\\ source: nowhere
\\ The objective's constant is the cost of column objective_constant, which is fixed at 1.
\\ A row with two bounds is written as two: name.lower and name.upper.
Maximize
 objective: tasks.ann + 0.5 tasks.bob + 0 spare + 7.5 objective_constant
Subject To
 cap.cpu: 2 tasks.ann + tasks.bob <= 10
 cap.disk_1.lower: tasks.ann + tasks.bob >= 1
 cap.disk_1.upper: tasks.ann + tasks.bob <= 4
 same: tasks.ann - tasks.bob = 0
Bounds
 -1 <= tasks.bob <= 3
 -inf <= spare <= -2
 objective_constant = 1
General
 tasks.bob
End
"""


def text_of(p, **options):
    write_lp(p, file := io.StringIO(), **options)
    return file.getvalue()


def test_text():
    assert text_of(EXAMPLE) == TEXT
    assert " + 0 spare + 7.5\nSubject To\n" in text_of(EXAMPLE, constant="term")
    assert " r0: 2 c0 + c1 <= 10\n" in text_of(EXAMPLE, names="numbers")
    assert "Rows without any bound are left out: 2." in text_of(CASES["free row"])
    assert "General\n x.0 x.3 x.4 x.5 x.6 x.7\nBinary\n x.1\nEnd\n" in text_of(CASES["integers"])
    assert " objective: 0 x.0\nSubject To\n" in text_of(CASES["nothing to do"])


@pytest.mark.parametrize(("letters", "on_its_own"), [(60, False), (120, True)])
def test_a_long_name_of_a_row_stands_on_a_line_of_its_own(letters, on_its_own):
    n = 40
    name = "r" * letters
    row = program(
        "min", np.zeros(n), np.full((1, n), 0.12345), [(0, 1)], [(0, 1)] * n, row_names={name: 1}
    )
    lines = [line for line in text_of(row).splitlines() if line[:1] != chr(92)]
    assert max(map(len, lines)) <= 200
    heads = [line for line in lines if name in line]
    assert heads and all(line.rstrip().endswith(":") == on_its_own for line in heads)


def test_every_split_or_changed_row_is_explained(tmp_path):
    p = program(
        "min", [1], [[1]] * 4, [(0, 1), (2, INF), (-INF, INF), (1, 2)], [POS],
        row_names={"cap": ["a 1", "b 2", "c 3"], "cap.a_1.lower": None},
    )  # fmt: skip
    path = tmp_path / "model.lp"
    assert write_lp(p, path) == [path, tmp_path / "model.lp.names.json"]
    names = json.loads((tmp_path / "model.lp.names.json").read_text(encoding="utf-8"))
    assert {name: entry["name"] for name, entry in names["rows"].items()} == {
        "cap.a_1.lower": "cap[a 1]",
        "cap.a_1.upper": "cap[a 1]",
        "cap.b_2": "cap[b 2]",
        "cap_a_1_lower.lower": "cap.a_1.lower",
        "cap_a_1_lower.upper": "cap.a_1.lower",
    }
    assert list(read(path)[0].rows) == list(names["rows"])


def test_no_columns(tmp_path):
    p = program("max", [], [], [(-INF, 3), (-1, INF)], [], offset=4.0)
    write_lp(p, path := tmp_path / "model.lp", constant="term")
    program_read, highs = read(path)
    assert program_read.columns == {"objective_constant": (4, 1, 1, False)}
    assert len(program_read.rows) == 2
    assert optimum(highs) == by_glpk(path, "lp").optimum == by_scip(path, "lp").optimum == 4
    write_mps(p, path := tmp_path / "model.mps")
    assert (
        optimum(read(path)[1])
        == by_glpk(path, "portable").optimum
        == by_scip(path, "portable").optimum
        == -4
    )


def test_equal_programs_give_equal_bytes(tmp_path):
    write_lp(EXAMPLE, plain := tmp_path / "a.lp")
    write_lp(EXAMPLE, packed := tmp_path / "b.lp.gz")
    write_lp(EXAMPLE, second := tmp_path / "c.lp.gz")
    assert packed.read_bytes() == second.read_bytes()
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes() == TEXT.encode()
    assert read(packed)[0] == read(plain)[0]


def test_what_cannot_be_written(tmp_path):
    log = LogTerms("fairness", np.ones(1), csr_array(np.ones((1, 3))), np.zeros(1))
    with pytest.raises(
        ModelError, match=r"a logarithm has no place in the LP format.*Model.to_cvxpy\(\)"
    ):
        write_lp(EXAMPLE.replace(logs=log), tmp_path / "model.lp")
    with pytest.raises(
        ModelError, match=r"column 'x\[0\]' has lower bound 3.0 and upper bound 2.0"
    ):
        write_lp(program("min", [1], [], [], [(3, 2)]), tmp_path / "model.lp")
    with pytest.raises(UnknownNameError, match="did you mean 'column'"):
        write_lp(EXAMPLE, tmp_path / "model.lp", constant="columns")
    assert not list(tmp_path.iterdir())


def test_long_and_odd_names_stay_readable_and_are_explained(tmp_path):
    path = tmp_path / "model.mps.gz"
    assert write_mps(CASES["names"], path) == [path, tmp_path / "model.mps.gz.names.json"]
    text = gzip.decompress(path.read_bytes()).decode("ascii")
    assert max(map(len, text.splitlines())) < 2 * LONGEST_NAME + 40
    names = json.loads((tmp_path / "model.mps.gz.names.json").read_text(encoding="utf-8"))
    assert names["rows"]["capacity_of.s_1_"] == {
        "block": "capacity of",
        "labels": ["s[1]"],
        "name": "capacity of[s[1]]",
    }
    assert names["columns"]["x._"] == {"block": "x", "labels": [""], "name": "x[]"}
    # the label that needed no change keeps its name, the others are numbered in order
    assert [n for n in file_names(CASES["names"].columns)[0] if n[0] == "x"] == [
        "x.a_b_2", "x.a_b_3", "x.a_b", "x.a_b_4", "x._"]  # fmt: skip
    assert "x.a_b" not in names["columns"]
    assert names["rows"].keys() >= {"_RHS", "_max", "____._", "_inform"}
    assert "objective" not in names["rows"]
    # an older map beside a model that needs none would be wrong
    assert write_mps(CASES["max"], path) == [path]
    assert not (tmp_path / "model.mps.gz.names.json").exists()


@given(st.lists(st.lists(st.text(alphabet="ab_2. ", max_size=4), max_size=8), max_size=4))
def test_names_are_unique_and_every_change_is_explained(labels):
    blocks = [
        Block(
            "x",
            (("i", pd.Index(labels_of_block, dtype=object)),),
            0,
            len(labels_of_block),
            np.arange(len(labels_of_block)),
        )
        for labels_of_block in labels
        if labels_of_block
    ]
    names, changed = file_names(blocks)
    assert len(set(names)) == len(names)
    plain = ["x." + label for labels_of_block in labels for label in labels_of_block]
    for name, was in zip(names, plain, strict=True):
        assert changed[name]["labels"] == [was[2:]] if name in changed else name == was
    # a name that needs no change, and that nobody before it has, is kept
    assert {
        name for name in plain if "." not in name[2:] and " " not in name and name != "x."
    } <= set(names)


def test_numbers_are_short_and_exact():
    values = np.array([1.0, 0.1, -0.0, 3e22, 1e-6, 1e9, -2.5, 1 / 3, 2**53, 5e-324])
    assert decimals(values)[:7] == ["1", "0.1", "0", "3e+22", "1e-06", "1000000000", "-2.5"]
    assert [float(text) for text in decimals(values)] == values.tolist()
    assert decimals(values) == [decimal(value) for value in values]
    assert decimals(np.zeros(0)) == []


@pytest.mark.parametrize(
    "name", ["nan", "NaNny", "inf", "Infinity", "inform", "e5", "9", ".5", "free", "st"]
)
def test_names_that_readers_take_for_something_else_are_changed(name):
    names, changed = file_names([Block(name, (), 0, 1)])
    assert names == ["_" + name.replace(".", "_")] or not names[0].lower().startswith(name.lower())
    assert names[0] in changed


@settings(deadline=None)
@given(p=programs(), names=st.sampled_from(["labels", "numbers"]))
def test_any_program_is_read_back_by_our_own_reader(p, names, tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "model.lp"
    write_lp(p, path, names=names)
    found = read_program(path)
    kept = np.isfinite(p.row_lower) | np.isfinite(p.row_upper)
    assert (found.sense, found.offset) == (p.sense, p.offset)
    # names may be the same, and columns stand where a row first has them
    for sides, wanted in (
        (
            (found.c, found.col_lower, found.col_upper, found.integrality, abs(found.A).sum(0)),
            (p.c, p.col_lower, p.col_upper, p.integrality, abs(p.A[kept]).sum(0)),
        ),
        (
            (found.row_lower, found.row_upper, abs(found.A).sum(1)),
            (p.row_lower[kept], p.row_upper[kept], abs(p.A[kept]).sum(1)),
        ),
    ):
        assert sorted(zip(*sides, strict=True)) == sorted(zip(*wanted, strict=True))
