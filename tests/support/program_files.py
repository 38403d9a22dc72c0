"""Programs that are hard to write to files, and readers of these files that share no code with fairlp."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy.sparse import csc_array

from fairlp.models.files.model_text import file_names
from fairlp.models.files.programs import read_program
from fairlp.models.programs.program import Block, Program

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
    sense,
    c,
    a,
    rows,
    columns,
    *,
    integer=(),
    offset=0.0,
    row_names=None,
    column_names=None,
    **fields,
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
        fields.pop("name", "case"), sense, np.array(c, dtype=float), offset, matrix, *bounds, whole,
        blocks_of(row_names or {"row": m}), blocks_of(column_names or {"x": n}), **fields,
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
    matrix_read = csc_array((matrix.value_, matrix.index_, matrix.start_), shape=shape).tocoo()
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
            for i, j, v in zip(*matrix_read.coords, matrix_read.data, strict=True)
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


EXAMPLE = program(
    "max", [1, 0.5, 0], [[2, 1, 0], [1, 1, 0], [1, -1, 0]], [(-INF, 10), (1, 4), (0, 0)], [POS, (-1, 3), (-INF, -2)],
    integer=[1], offset=7.5, name="ex 1", source="nowhere", row_names={"cap": ["cpu", "disk 1"], "same": None},
    column_names={"tasks": ["ann", "bob"], "spare": None},
)  # fmt: skip


def assert_equal(program, expected, tolerance=0.0):
    """Everything but name and source is the same; rows without bounds are not written."""
    has_sides = np.isfinite(expected.row_lower) | np.isfinite(expected.row_upper)
    assert program.sense == expected.sense
    assert program.row_names == [
        name for name, has_side in zip(expected.row_names, has_sides, strict=True) if has_side
    ]
    assert program.column_names == expected.column_names
    assert program.integrality.tolist() == expected.integrality.tolist()
    for a, b in (
        (program.offset, expected.offset),
        (program.c, expected.c),
        (program.A.toarray(), expected.A.toarray()[has_sides]),
        (program.row_lower, expected.row_lower[has_sides]),
        (program.row_upper, expected.row_upper[has_sides]),
        (program.col_lower, expected.col_lower),
        (program.col_upper, expected.col_upper),
    ):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=0)
    assert program.A.has_sorted_indices and not (program.A.data == 0).any()


def read_text(folder, text, name="model.mps"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_program(path)


GOOD = """\
NAME t{free}
ROWS
 N obj
 L r1
 G r2
COLUMNS
 x obj 1 r1 2
 x r2 -3
 y r1 1
RHS
 RHS r1 10 r2 -20
RANGES
 RNG r2 5
BOUNDS
 UP BND x 4
ENDATA
"""


@dataclass
class Read:
    """What a reader understood; None where it does not tell."""

    optimum: float | None
    sense: str | None = None
    offset: float | None = None
    rows: list | None = field(default=None)
    columns: list | None = field(default=None)


def by_glpk(path, form):
    g = pytest.importorskip("swiglpk")
    g.glp_term_out(g.GLP_OFF)
    problem = g.glp_create_prob()
    kind = g.GLP_MPS_DECK if form == "fixed" else g.GLP_MPS_FILE
    status = (
        g.glp_read_lp(problem, None, str(path))
        if form == "lp"
        else g.glp_read_mps(problem, kind, None, str(path))
    )
    assert status == 0
    control = g.glp_iocp()
    g.glp_init_iocp(control)
    control.presolve = g.GLP_ON
    assert g.glp_intopt(problem, control) == 0
    rows = [g.glp_get_row_name(problem, i + 1) for i in range(g.glp_get_num_rows(problem))]
    columns = [g.glp_get_col_name(problem, j + 1) for j in range(g.glp_get_num_cols(problem))]
    sense = "max" if g.glp_get_obj_dir(problem) == g.GLP_MAX else "min"
    return Read(g.glp_mip_obj_val(problem), sense, g.glp_get_obj_coef(problem, 0), rows, columns)


def by_scip(path, form):
    model = pytest.importorskip("pyscipopt").Model()
    model.hideOutput()
    model.readProblem(str(path))
    rows, columns = (
        [row.name for row in model.getConss()],
        [column.name for column in model.getVars()],
    )
    sense, offset = model.getObjectiveSense()[:3], model.getObjoffset()
    model.optimize()
    return Read(model.getObjVal(), sense, offset, rows, columns)
