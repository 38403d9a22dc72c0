"""MPS files: what was written is what readers read."""

from __future__ import annotations

import gzip
import io
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import small_programs
from fairlp.errors import ModelError, UnknownNameError
from fairlp.models.files.model_text import file_names, unused
from fairlp.models.files.mps import _rows, write_mps
from fairlp.models.programs.program import Block, LogTerms, Program

INF = math.inf


def blocks_of(names):
    """Blocks of the given sizes or labels: ``{"x": 3}``, ``{"x": ["ann", "bob"]}``, ``{"t": None}`` without index."""
    blocks, start = [], 0
    for name, labels in names.items():
        if isinstance(labels, int):
            labels = [str(i) for i in range(labels)]
        axes = () if labels is None else (("i", pd.Index(labels, dtype=object)),)
        blocks.append(Block(name, axes, start, start + (1 if labels is None else len(labels))))
        start = blocks[-1].stop
    return tuple(blocks)


def program(
    sense, c, a, rows, columns, *, integer=(), offset=0.0, row_names=None, column_names=None, **more
):
    """Return a Program from lists; ``rows`` and ``columns`` are pairs of bounds."""
    m, n = len(rows), len(c)
    matrix = csc_array(np.array(a, dtype=float).reshape(m, n))
    matrix.eliminate_zeros()
    whole = np.zeros(n, dtype=np.uint8)
    whole[list(integer)] = 1
    bounds = [
        np.array([pair[side] for pair in pairs], dtype=float)
        for pairs in (rows, columns)
        for side in (0, 1)
    ]
    return Program(
        more.pop("name", "case"), sense, np.array(c, dtype=float), offset, matrix, *bounds, whole,
        blocks_of(row_names or {"row": m}), blocks_of(column_names or {"x": n}), **more,
    )  # fmt: skip


POS, FREE = (0, INF), (-INF, INF)
LONG = "a very long name, " * 20
CASES = {
    "max": program("max", [3, 2], [[1, 1], [1, 3]], [(-INF, 4), (-INF, 6)], [POS, POS]),
    "min": program("min", [2, 3], [[1, 1], [1, 3]], [(4, INF), (6, INF)], [POS, POS]),
    "constant in max": program("max", [1, 0], [[1, 1]], [(-INF, 10)], [POS, POS], offset=5.5),
    "constant in min": program("min", [1, 2], [[1, 1]], [(3, INF)], [POS, POS], offset=-2.25),
    "no bounds": program("min", [1, 1, -1], np.eye(3), [(-3, INF), (-5, INF), (-INF, 7)], [FREE, (-INF, 4), POS]),
    "ranges": program("max", [1, 1], [[1, 1], [1, -1], [0, 1]], [(0.1, 0.7), (-3, 1e-3), (-1e9, 0.25)], [FREE, FREE]),
    "equality": program("min", [1, 2], [[1, 1], [1, -1]], [(5, 5), (0, 0)], [POS, FREE]),
    "empty column": program("min", [1, 0, 0], [[1, 0, 0], [1, 0, 0]], [(2, INF), (-INF, 9)], [POS, POS, (3, 4)]),
    "empty row": program("min", [1, 1], [[0, 0], [1, 1], [0, 0]], [(-INF, 3), (2, INF), (-1, 1)], [POS, POS]),
    "free row": program("max", [1, 0], [[1, 1], [1, 0], [0, 3]], [FREE, (-INF, 4), FREE], [POS, (0, 9)]),
    "no rows": program("max", [1, -2, 0], [], [], [(0, 3), (-4, INF), (1, 2)], offset=1.0),
    "nothing to do": program("min", [0, 0], [[1, 1]], [(-INF, 3)], [POS, POS]),
    "fixed": program("max", [1, 2, 3, 1], [[1, 1, 1, 1]], [(-INF, 9)], [(2, 2), (0, 0), (-1.5, -1.5), POS]),
    "negative bounds": program(
        "min", [1, -1, 1, -1, -1], [[1, 1, 1, 1, 1]], [(-90, INF)], [(-8, -5), (-9, -2), (-7, 0), (-INF, -4), (0, 0.5)]
    ),
    "integers": program(
        "max", [5, 4, 3, 1, 2, -1, 1, 1], [[2, 3, 1, 1, 1, 1, 1, 2]], [(-20.5, 11.5)],
        [POS, (0, 1), (0, 1), (0, 2), (-3, 4), (-7, -2), (3, 3), (-4, INF)], integer=[0, 1, 3, 4, 5, 6, 7],
    ),
    "fractional bounds": program("max", [1, -1], [[2, 3]], [(-INF, 19)], [(0, 2.5), (0.5, 4)], integer=[0, 1]),
    "integer without end": program("max", [1, 1], [[2, 3]], [(-INF, 15)], [POS, (2, INF)], integer=[0, 1]),
    "free integer": program("min", [2, -1], [[2, 0], [0, 2]], [(-9, INF), (-INF, 5)], [FREE, (-INF, 9)], integer=[0]),
    "scales": program("max", [1e-6, 2e3], [[1e-6, 1e9], [1 / 3, 2**0.5]], [(-INF, 1e9), (-INF, 1e6 / 7)], [POS, POS]),
    "names": program(
        "max", [1, 1, 1, 1, 1, 1, 1], np.eye(7)[[0, 1, 2, 3, 4, 5, 6, 6]],
        [(-INF, 1), (-INF, 2), (-INF, 3), (-INF, 4), (-INF, 5), (-INF, 6), (-INF, 7), (-INF, 8)], [POS] * 7,
        row_names={"capacity of": ["s[1]", "s.1.", "s 1 "], "objective": None, "RHS": None, "max": None,
                   "é:<=": ["ü"], "inform": None},
        column_names={"x": ["a b", "a.b", "a_b", "a[b", ""], LONG: ["1", "2"]},
        name="Käse & Brot", source="someone,\n2020 — somewhere",
    ),
    "keywords": program(
        "min", [1, 2, 3, 4, 5, 6, 7, 8, 9], [[1] * 9], [(1, INF)], [POS] * 4 + [(0, 3)] * 5, integer=[7, 8],
        row_names={"objective_constant": None}, offset=1.0,
        column_names=dict.fromkeys(
            ["free", "End", "e5", "nan", "objective_constant", "BND", "QSECTION", "subject", "to"]),
    ),
}  # fmt: skip


@dataclass
class Content:
    """What a file says, by name, so that it does not depend on any order."""

    sense: str
    offset: float
    columns: dict
    rows: dict
    entries: dict


def read(path):
    """Read a file with HiGHS."""
    highspy = pytest.importorskip("highspy")
    highs = highspy.Highs()
    assert highs.setOptionValue("output_flag", False) == highspy.HighsStatus.kOk
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    lp = highs.getLp()
    kinds = lp.integrality_ or [highspy.HighsVarType.kContinuous] * lp.num_col_
    matrix = lp.a_matrix_
    assert matrix.format_ == highspy.MatrixFormat.kColwise
    shape = (lp.num_row_, lp.num_col_)
    found = csc_array((matrix.value_, matrix.index_, matrix.start_), shape=shape).tocoo()
    whole = [kind == highspy.HighsVarType.kInteger for kind in kinds]
    columns = zip(lp.col_cost_, lp.col_lower_, lp.col_upper_, whole, strict=True)
    rows = zip(lp.row_lower_, lp.row_upper_, strict=True)
    content = Content(
        "max" if lp.sense_ == highspy.ObjSense.kMaximize else "min",
        lp.offset_,
        dict(zip(lp.col_names_, columns, strict=True)),
        dict(zip(lp.row_names_, rows, strict=True)),
        {
            (lp.row_names_[i], lp.col_names_[j]): v
            for i, j, v in zip(*found.coords, found.data, strict=True)
        },
    )
    assert len(content.columns) == lp.num_col_
    assert len(content.rows) == lp.num_row_
    return content, highs


def optimum(highs):
    """Return the optimum that HiGHS finds, None if there is none."""
    import highspy

    assert highs.run() == highspy.HighsStatus.kOk
    if highs.getModelStatus() not in (
        highspy.HighsModelStatus.kOptimal,
        highspy.HighsModelStatus.kModelEmpty,
    ):
        return None
    return highs.getInfo().objective_function_value


def solve(p):
    """Return the optimum of a Program that HiGHS was given as arrays."""
    highspy = pytest.importorskip("highspy")
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.offset_ = p.n_columns, p.n_rows, p.offset
    lp.sense_ = highspy.ObjSense.kMaximize if p.sense == "max" else highspy.ObjSense.kMinimize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = p.c, p.col_lower, p.col_upper
    lp.row_lower_, lp.row_upper_ = p.row_lower, p.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = (
        p.A.indptr,
        p.A.indices,
        p.A.data,
    )
    lp.integrality_ = [
        highspy.HighsVarType.kInteger if k else highspy.HighsVarType.kContinuous
        for k in p.integrality
    ]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.passModel(lp) == highspy.HighsStatus.kOk
    return optimum(highs)


def content_of(p):
    """Return what a file should say, were the format able to say everything."""
    rows, columns = file_names(p.rows)[0], file_names(p.columns)[0]
    matrix = p.A.tocoo()
    return Content(
        p.sense,
        p.offset,
        dict(
            zip(
                columns,
                zip(p.c, p.col_lower, p.col_upper, p.integrality == 1, strict=True),
                strict=True,
            )
        ),
        dict(zip(rows, zip(p.row_lower, p.row_upper, strict=True), strict=True)),
        {(rows[i], columns[j]): v for i, j, v in zip(*matrix.coords, matrix.data, strict=True)},
    )


def without_free_rows(content):
    content.rows = {name: bounds for name, bounds in content.rows.items() if bounds != FREE}
    content.entries = {
        (row, column): v for (row, column), v in content.entries.items() if row in content.rows
    }
    return content


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


def assert_same(found, wanted):
    """Equal, but for the last bit of a bound that RANGES gives as a difference."""
    assert found.rows.keys() == wanted.rows.keys()
    for name, bounds in wanted.rows.items():
        last_bit = np.spacing(max(map(abs, bounds))) if np.isfinite(bounds).all() else 0.0
        for a, b in zip(found.rows[name], bounds, strict=True):
            assert a == b or abs(a - b) <= last_bit
    found.rows = wanted.rows
    assert found == wanted


@pytest.mark.parametrize("profile", ["portable", "full"])
@pytest.mark.parametrize("case", CASES)
def test_highs_reads_what_was_written(case, profile, tmp_path):
    p = CASES[case]
    path = tmp_path / "model.mps"
    written = write_mps(p, path, profile=profile)
    assert written[0] == path
    found, highs = read(path)
    wanted = expected(p, profile)
    assert list(found.columns) == list(wanted.columns)
    assert list(found.rows) == list(wanted.rows)
    assert_same(found, wanted)
    sign = -1 if profile == "portable" and p.sense == "max" else 1
    assert sign * optimum(highs) == pytest.approx(solve(p))


@st.composite
def programs(draw):
    """Small Programs with every kind of bound, some empty rows and columns, and labels that clash."""
    m, n = draw(st.integers(0, 4)), draw(st.integers(1, 5))
    number = st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, 3.0, 0.1, 1e-6, 1e9]),
        st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 1e-6),
    )
    bounds = st.one_of(
        st.sampled_from([POS, FREE, (0, 1), (-INF, 0), (0, 0)]),
        st.tuples(number, number).map(lambda pair: (min(pair), max(pair))),
        st.tuples(number, st.just(INF)),
        st.tuples(st.just(-INF), number),
    )
    label = st.text(alphabet="ab1._ [é", max_size=3)
    return program(
        draw(st.sampled_from(["min", "max"])),
        draw(st.lists(number, min_size=n, max_size=n)),
        draw(st.lists(number, min_size=m * n, max_size=m * n)),
        draw(st.lists(bounds, min_size=m, max_size=m)),
        draw(st.lists(bounds, min_size=n, max_size=n)),
        integer=draw(st.lists(st.integers(0, n - 1), unique=True)),
        offset=draw(st.one_of(st.just(0.0), number)),
        row_names={draw(label): draw(st.lists(label, min_size=m, max_size=m))},
        column_names={draw(label): draw(st.lists(label, min_size=n, max_size=n))},
        name=draw(label),
        source=draw(label),
    )


@settings(deadline=None)
@given(p=programs(), profile=st.sampled_from(["portable", "full"]))
def test_any_program_reads_back(p, profile, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "model.mps"
    write_mps(p, path, profile=profile)
    assert_same(read(path)[0], expected(p, profile))


EXAMPLE = program(
    "max", [1, 0.5, 0], [[2, 1, 0], [1, 1, 0], [1, -1, 0]], [(-INF, 10), (1, 4), (0, 0)], [POS, (-1, 3), (-INF, -2)],
    integer=[1], offset=7.5, name="ex 1", source="nowhere", row_names={"cap": ["cpu", "disk 1"], "same": None},
    column_names={"tasks": ["ann", "bob"], "spare": None},
)  # fmt: skip
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
    monkeypatch.setattr("fairlp.models.files.mps._bounds", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_mps(EXAMPLE, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.mps"]
    assert path.read_text() == "old"


def test_what_cannot_be_written(tmp_path):
    log = LogTerms("fairness", np.ones(1), csr_array(np.ones((1, 3))), np.zeros(1))
    with pytest.raises(
        ModelError, match=r"a logarithm has no place in MPS.*Model.to_cvxpy\(\).*sequence of LPs"
    ):
        write_mps(EXAMPLE.replace(logs=log), tmp_path / "model.mps")
    crossed = program("min", [1], [[1]], [(3, 2)], [POS], row_names={"cap": ["cpu"]})
    with pytest.raises(
        ModelError, match=r"row 'cap\[cpu\]' has lower bound 3.0 and upper bound 2.0"
    ):
        write_mps(crossed, tmp_path / "model.mps")
    with pytest.raises(UnknownNameError, match="did you mean 'portable'"):
        write_mps(EXAMPLE, tmp_path / "model.mps", profile="portible")
    with pytest.raises(UnknownNameError, match="known: 'labels', 'numbers'"):
        write_mps(EXAMPLE, tmp_path / "model.mps", names="x")
    assert not list(tmp_path.iterdir())


def test_a_range_is_given_from_the_side_that_gives_the_other_exactly_else_from_the_smaller():
    rng = np.random.default_rng(0)
    seen = {"exact from the upper": 0, "neither": 0, "lower": 0}
    for low, high in np.sort(rng.normal(0, 3, (3000, 2)) ** 3, axis=1).tolist():
        (kind,), sides, widths = _rows(
            small_programs.program([[1.0]], [(low, high)], [(0, 1)]), rounded=False
        )
        assert sides[0] == (high if kind == "L" else low)
        from_lower, from_upper = low + widths[0] == high, high - widths[0] == low
        assert kind == ("G" if from_lower else "L" if from_upper or abs(high) < abs(low) else "G")
        seen["lower" if from_lower else "exact from the upper" if from_upper else "neither"] += 1
    assert min(seen.values()) > 0, seen
