"""The MPS reader: our own files come back exactly, and files of others mean what their solvers take them for."""

from __future__ import annotations

import doctest
import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp.errors import FairlpWarning, FileFormatError, ModelError, UnknownNameError
from fairlp.models.files.lp import write_lp
from fairlp.models.files.model_text import NamedBlock
from fairlp.models.files.mps import short_decimals, write_mps
from fairlp.models.files.programs import read_program
from fairlp.models.programs.program import Block
from paths import DOCS
from program_files import CASES, EXAMPLE, INF, POS, assert_equal, program, programs, read_text


@pytest.mark.parametrize("profile", ["portable", "full", "fixed"])
@pytest.mark.parametrize("case", CASES)
def test_our_files_come_back(case, profile, tmp_path):
    p = CASES[case]
    write_mps(p, path := tmp_path / "model.mps.gz", profile=profile)
    compiled_program = read_program(path)
    assert_equal(compiled_program, p, 1e-9 if profile == "fixed" else 0.0)
    assert compiled_program.name == ("K?se & Brot" if case == "names" else p.name)
    has_sides = np.isfinite(p.row_lower) | np.isfinite(p.row_upper)
    if has_sides.all():
        assert [(b.name, b.start, b.stop) for b in compiled_program.rows] == [
            (b.name, b.start, b.stop) for b in p.rows if len(b)
        ]
    for block, was in zip(compiled_program.columns, p.columns, strict=True):
        assert (block.name, block.start, block.stop, block.positions) == (
            was.name,
            was.start,
            was.stop,
            None,
        )
        assert [list(labels) for _, labels in block.axes] == [
            list(labels) for _, labels in was.axes
        ]


@settings(deadline=None)
@given(
    p=programs(),
    profile=st.sampled_from(["portable", "full"]),
    names=st.sampled_from(["labels", "numbers"]),
)
def test_any_program_comes_back_exactly(p, profile, names, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "model.mps"
    write_mps(p, path, profile=profile, names=names)
    assert_equal(read_program(path), p)


def test_a_model_with_masks_and_several_indices_comes_back(tmp_path):
    model = fairlp.formulate(fairlp.examples.load("khamse-ashari-figure-1"), "c-drfh")
    compiled = model.compile()
    for profile in ("portable", "full", "fixed"):
        write_mps(compiled, path := tmp_path / "model.mps", profile=profile)
        compiled_program = read_program(path)
        assert_equal(compiled_program, compiled, 1e-11 if profile == "fixed" else 0.0)
        assert (compiled_program.name, compiled_program.source) == (
            compiled.name,
            " ".join(compiled.source.split()),
        )
        for block, was in zip(
            compiled_program.columns + compiled_program.rows,
            compiled.columns + compiled.rows,
            strict=True,
        ):
            assert [tuple(map(str, labels)) for labels in was.labels()] == list(block.labels())
    assert (
        compiled_program.column_block("g").unpack(np.arange(compiled_program.n_columns)).shape
        == compiled.column_block("g").shape
    )


def test_names_without_the_side_file_and_with_a_wrong_one(tmp_path):
    write_mps(EXAMPLE, path := tmp_path / "model.mps", profile="fixed")
    side = path.with_name("model.mps.names.json")
    content = side.read_text(encoding="utf-8")
    side.unlink()
    program_without_names = read_program(path)
    assert (program_without_names.sense, program_without_names.offset) == ("max", 7.5)
    assert program_without_names.column_names == ["C0000001", "C0000002", "C0000003"]
    assert (
        program_without_names.rows[0].name == "row"
        and program_without_names.columns[0].name == "column"
    )
    write_mps(EXAMPLE, path)  # its side file explains cap.disk_1
    (tmp_path / "model.mps.names.json").unlink()
    assert read_program(path).row_names == ["cap[cpu]", "cap[disk_1]", "same"]
    for broken, match in (
        (content, "explains row 'R0000001', which is not in model.mps"),
        (content[:-9], r"names\.json: "),
        ("[]", r"names\.json"),
        ('{"rows": {"a": {"block": 1}}, "columns": {}}', r"names\.json"),
        (
            '{"rows": {"a": {"block": "b", "name": "b[c]", "labels": "c"}}, "columns": {}}',
            r"names\.json",
        ),
    ):
        side.write_text(broken, encoding="utf-8")
        with pytest.raises(fairlp.FairlpError, match=match):
            read_program(path)


def test_names_of_others_stay_theirs(tmp_path):
    text = "NAME t\nROWS\n N cost\n L cap.a(1)\n G R2\n N more\nCOLUMNS\n x[1] cost 1 cap.a(1) 2\n x[1] more 9\n"
    text += " x.b R2 1\nRHS\n RHS cap.a(1) 4 more 3\nENDATA\n"
    program_read = read_text(tmp_path, text)
    assert (program_read.row_names, program_read.column_names) == (
        ["cap.a(1)", "R2"],
        ["x[1]", "x.b"],
    )
    assert [(b.name, b.axes[0][0]) for b in program_read.rows + program_read.columns] == [
        ("row", "row"),
        ("column", "column"),
    ]
    series = program_read.column_block("column").unpack(np.array([1.0, 2.0]))
    assert isinstance(series, pd.Series) and series["x.b"] == 2
    write_mps(program_read, path := tmp_path / "again.mps")
    assert " x_1_ cap.a_1_ 2\n" in path.read_text(encoding="ascii")
    assert_equal(read_program(path), program_read)
    write_lp(program_read, path := tmp_path / "again.lp")
    assert_equal(read_program(path), program_read)
    plain = program_read.replace(
        rows=(NamedBlock("row", (("row", pd.Index(["a.b", "c"])),), 0, 2),)
    )
    write_mps(plain, path := tmp_path / "again.mps")
    assert read_program(path).row_names == ["a.b", "c"]


ROWS = "NAME t\nROWS\n N obj\n {kind} r\nCOLUMNS\n x obj 1 r 1\nRHS\n RHS r 10\n"


#: type of the row, its range, and the bounds that it gets
RANGED = """
L => 2 => 8 10
L => -2 => 8 10
L => 0 => 10 10
G => 2 => 10 12
G => -2 => 10 12
G => 1e30 => 10 inf
E => 2 => 10 12
E => -2 => 8 10
E => 0 => 10 10
"""


@pytest.mark.parametrize("line", RANGED.splitlines()[1:])
def test_ranges(line, tmp_path):
    kind, width, bounds = line.split(" => ")
    bounds = tuple(map(float, bounds.split()))
    program_read = read_text(tmp_path, ROWS.format(kind=kind) + f"RANGES\n RNG r {width}\nENDATA\n")
    assert (program_read.row_lower[0], program_read.row_upper[0]) == bounds


#: lines of BOUNDS (⏎ ends one); lower and upper bound, and whether the column is whole
BOUNDED = """
 => 0 inf 0
UP B x 4 => 0 4 0
LO B x -4 => -4 inf 0
FX B x 4 => 4 4 0
FR B x => -inf inf 0
MI B x => -inf inf 0
PL B x => 0 inf 0
BV B x => 0 1 1
LI B x 2 => 2 inf 1
UI B x 2 => 0 2 1
LI B x -2⏎ UI B x 5 => -2 5 1
MI B x⏎ UP B x -2 => -inf -2 0
UP B x -2⏎ LO B x -3 => -3 -2 0
UP B x 0 => 0 0 0
UP B x 1e30 => 0 inf 0
UP B x inf => 0 inf 0
LO B x -Infinity => -inf inf 0
UP x 4 => 0 4 0
FR x => -inf inf 0
MI x 0 => -inf inf 0
BV B x 1 => 0 1 1
"""


@pytest.mark.parametrize("line", BOUNDED.splitlines()[1:])
def test_bounds(line, tmp_path):
    lines, numbers = line.replace("⏎", "\n").split(" => ")
    *bounds, integer = map(float, numbers.split())
    program_read = read_text(tmp_path, ROWS.format(kind="L") + f"BOUNDS\n {lines}\nENDATA\n")
    assert (program_read.col_lower[0], program_read.col_upper[0], program_read.integrality[0]) == (
        *bounds,
        integer,
    )


def test_negative_upper_bound_alone_means_no_lower_bound_and_warns(tmp_path):
    with pytest.warns(
        FairlpWarning, match=r"line 10: column 'x' has a negative upper bound.*HiGHS, GLPK and SCIP"
    ):
        program_read = read_text(tmp_path, ROWS.format(kind="L") + "BOUNDS\n UP B x -3\nENDATA\n")
    assert (program_read.col_lower[0], program_read.col_upper[0]) == (-INF, -3)


#: lines of BOUNDS, and the bounds of a whole column
WHOLE = """
 => 0 1
LO B x 2 => 2 inf
UP B x 5 => 0 5
PL B x => 0 inf
"""


@pytest.mark.parametrize("line", WHOLE.splitlines()[1:])
def test_integer_columns_between_markers(line, tmp_path):
    lines, numbers = line.split(" => ")
    bounds = tuple(map(float, numbers.split()))
    text = "ROWS\n N obj\n L r\nCOLUMNS\n y obj 1\n M1 'MARKER' 'INTORG'\n x obj 1\n x r 1\n"
    text += " M1 'MARKER' 'INTEND'\n z r 1\n"
    program_read = read_text(tmp_path, text + f"BOUNDS\n {lines}\nENDATA\n")
    assert program_read.integrality.tolist() == [0, 1, 0]
    assert (program_read.col_lower[1], program_read.col_upper[1]) == bounds


@pytest.mark.parametrize(
    "lines, sense",
    [
        ("", "min"), ("OBJSENSE MAX\n", "max"), ("OBJSENSE\n    MAX\n", "max"), ("OBJSENSE\n  MAXIMIZE\n", "max"),
        ("OBJSENSE\nMAX\n", "max"), ("OBJSENSE MIN\n", "min"), ("OBJSENSE\n MINIMIZE\n", "min"),
        ("objsense\n max\n", "max"),
    ],
)  # fmt: skip
def test_sense(lines, sense, tmp_path):
    text = ROWS.format(kind="L").replace("ROWS\n", lines + "ROWS\n") + "ENDATA\n"
    assert read_text(tmp_path, text).sense == sense
    assert read_text(tmp_path, text.replace("NAME t\n", "NAME t FREE\n")).sense == sense


def test_the_sense_before_the_name_is_read_as_pulp_writes_it(tmp_path):
    pulp = pytest.importorskip("pulp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = pulp.LpProblem("p", pulp.LpMaximize)
        x = pulp.LpVariable("x", 0, 4)
        problem += 3 * x
        problem += x <= 10, "r"
        problem.writeMPS(str(tmp_path / "out.mps"), with_objsense=True)
    assert (tmp_path / "out.mps").read_text().startswith("OBJSENSE")
    compiled_program = read_program(tmp_path / "out.mps")
    assert (compiled_program.sense, compiled_program.c.tolist(), compiled_program.name) == (
        "max",
        [3],
        "p",
    )
    assert compiled_program.row_upper.tolist() == [10] and compiled_program.col_upper.tolist() == [
        4
    ]


def test_exponents_of_fortran(tmp_path):
    text = (
        ROWS.format(kind="L").replace("RHS r 10", "RHS r 1.0D3")
        + "BOUNDS\n LO BND x -2.5d-1\n UP BND x 1D+02\nENDATA\n"
    )
    program_read = read_text(tmp_path, text)
    assert program_read.row_upper.tolist() == [1000]
    assert (program_read.col_lower[0], program_read.col_upper[0]) == (-0.25, 100)


def test_objective_row_and_constant(tmp_path):
    text = "NAME t\nOBJNAME\n two\nROWS\n N one\n N two\n L r\nCOLUMNS\n x one 1 two 2\n x r 1\nRHS\n RHS two 7 one 5\n"
    program_read = read_text(tmp_path, text + " RHS r 10\nENDATA\n")
    assert (program_read.c.tolist(), program_read.offset, program_read.row_names) == (
        [2],
        -7,
        ["r"],
    )
    program_read = read_text(tmp_path, text.replace("OBJNAME\n two\n", "") + "ENDATA\n")
    assert (program_read.c.tolist(), program_read.offset) == ([1], -5)
    nothing = read_text(tmp_path, "ROWS\n L r\nCOLUMNS\n x r 0\nENDATA\n")
    assert (nothing.c.tolist(), nothing.offset, nothing.A.nnz, nothing.name) == ([0], 0, 0, "model")


FIXED = """\
NAME          Käse
ROWS
 N  cost
 L  lim 1
 G  lim  2
COLUMNS
    x one     cost                 1   lim 1              2.5
    x one     lim  2              -1
    MARKER    'MARKER'                 'INTORG'
    y         lim 1                3   $ a comment
    MARKER    'MARKER'                 'INTEND'
RHS
              lim 1               10   lim  2             -4
RANGES
    RNG       lim 1                5
BOUNDS
 UP BND       x one                4
 BV           y
* the end
ENDATA
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_names_with_spaces_in_fixed_columns(ends, tmp_path):
    path = tmp_path / "model.mps"
    path.write_bytes(FIXED.replace("\n", ends).encode("utf-8-sig"))
    compiled_program = read_program(path)
    assert (compiled_program.name, compiled_program.row_names, compiled_program.column_names) == (
        "Käse",
        ["lim 1", "lim  2"],
        ["x one", "y"],
    )
    assert compiled_program.A.toarray().tolist() == [[2.5, 3], [-1, 0]]
    assert (compiled_program.row_lower.tolist(), compiled_program.row_upper.tolist()) == (
        [5, -4],
        [10, INF],
    )
    assert (compiled_program.col_upper.tolist(), compiled_program.integrality.tolist()) == (
        [4, 1],
        [0, 1],
    )
    with gzip.open(packed := tmp_path / "MODEL.MPS.GZ", "wb") as file:
        file.write(path.read_bytes())
    assert_equal(read_program(packed), compiled_program)


def test_conventions_of_single_programs_are_followed_with_a_warning(tmp_path):
    glpk = (
        "* Problem:    t\n* Class:      LP\n* Rows:       1\n* Columns:    1\n"
        "* Non-zeros:  1\n* Format:     Free MPS\n"
    )
    text = ROWS.format(kind="L").replace("RHS r 10", "RHS obj 7 r 10") + "ENDATA\n"
    with pytest.warns(FairlpWarning, match="GLPK"):
        assert read_text(tmp_path, glpk + text).offset == 7
    assert read_text(tmp_path, text).offset == -7
    with pytest.warns(FairlpWarning, match="PuLP"):
        assert read_text(tmp_path, "*SENSE:Maximize\n" + text).sense == "max"


def test_rounded_bounds_of_ranges_come_back_exactly(tmp_path):
    p = program("min", [1], [[1], [1]], [(-0.9, 1.2), (-1e9, 0.25)], [POS])
    write_mps(p, path := tmp_path / "model.mps")
    text = path.read_text(encoding="ascii")
    assert "* row.0: the other bound is exactly 1.2\n" in text
    assert_equal(read_program(path), p)
    path.write_text(
        text.replace("RNG row.0 2.1", "RNG row.0 2"), encoding="ascii"
    )  # edited: the comment is old
    assert read_program(path).row_upper[0] == 1.1
    wide_program = program("min", [1], [[1]], [(-1e308, 1.5e308)], [POS])
    with pytest.raises(
        ModelError, match=r"row 'row\[0\]' has bounds that are further apart than MPS can "
    ):
        write_mps(wide_program, path)


def test_huge_bounds_are_numbers_in_our_files_and_none_in_others(tmp_path):
    p = program("min", [1, 1], [[1, 1]], [(-1e25, 4)], [(-1e20, INF), (0, 1e30)])
    for name, writer in (("model.mps", write_mps), ("model.lp", write_lp)):
        writer(p, path := tmp_path / name)
        assert_equal(read_program(path), p)
        text = path.read_text(encoding="ascii").replace("written by fairlp", "written by somebody")
        path.with_name(name + ".names.json").unlink(missing_ok=True)
        program_read = read_text(tmp_path, text, name)
        assert (program_read.col_lower.tolist(), program_read.col_upper.tolist()) == (
            [-INF, 0],
            [INF, INF],
        )
        assert program_read.row_lower.min() == -INF


def test_fixed_profile(tmp_path):
    p = program(
        "max",
        [1 / 3, 2],
        [[1e-9 / 7, 123456789.123456]],
        [(-INF, 2 / 3)],
        [POS, (-1e10 / 3, INF)],
        offset=-0.1,
    )
    paths = write_mps(p, path := tmp_path / "model.mps", profile="fixed")
    lines = path.read_text(encoding="ascii").splitlines()
    assert paths == [path, tmp_path / "model.mps.names.json"]
    assert "* Numbers rounded to 12 characters: 5." in lines
    assert "    C0000001  R0000001  14285714e-17" in lines
    assert "    CONSTANT  OBJ                0.1" in lines
    assert max(map(len, lines[6:])) <= 36
    assert_equal(read_program(path), p, 1e-6)
    for values in (
        np.array(
            [1 / 3, -1 / 3, 9999999999999.9, -0.99999999999999, 1e300 / 3, -5e-324, 1e22, -0.0]
        ),
    ):
        texts = short_decimals(values)
        assert max(map(len, texts)) <= 12
        np.testing.assert_allclose(np.array(texts, dtype=float), values, rtol=1e-5)
    huge_program = p.replace(rows=(Block("r", (), 0, 1),), name="huge")
    object.__setattr__(huge_program, "A", type("Shape", (), {"shape": (10**7, 2)})())
    with pytest.raises(ModelError, match="too large for names of 8 characters"):
        write_mps(huge_program, path, profile="fixed")
    with pytest.raises(UnknownNameError, match="did you mean 'fixed'"):
        write_mps(p, path, profile="fixd")


def test_the_examples_of_the_documentation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = DOCS / "model-files.md"
    result = doctest.testfile(
        str(document), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted >= 8 and result.failed == 0


def test_an_exact_bound_of_a_row_without_a_range_is_only_a_comment(tmp_path):
    path = tmp_path / "edited.mps"
    path.write_text(
        "NAME t\nROWS\n N cost\n L row\n L other\nCOLUMNS\n x cost 1 row 1\n x other 1\n"
        "RHS\n rhs row 4 other 9\nRANGES\n"
        "* other: the other bound is exactly 0.1\n* gone: the other bound is exactly 7\n"
        "* row: the other bound is exactly 1\n rng row 3\nENDATA\n",
        encoding="utf-8",
    )
    program = fairlp.read_program(path)
    assert program.row_lower.tolist() == [1.0, -np.inf] and program.row_upper.tolist() == [4.0, 9.0]


def test_the_end_of_columns_ends_integer_columns(tmp_path):
    """Five published files have no INTEND there; HiGHS, GLPK and SCIP read them so."""
    path = tmp_path / "m.mps"
    path.write_text(
        "NAME m\nROWS\n N obj\n L r\nCOLUMNS\n x obj -1\n x r 1\n M 'MARKER' 'INTORG'\n y obj -2\n y r 2\n"
        " z obj -1.5\n z r 2\nRHS\n RHS r 5.5\nBOUNDS\n UP BND x 0.25\n UP BND y 9\n UP BND z 9\nENDATA\n"
    )
    with pytest.warns(fairlp.FairlpWarning, match="no marker 'INTEND' follows the last 'INTORG'"):
        program = fairlp.read_program(path)
    assert program.integrality.tolist() == [0, 1, 1]
    highs = pytest.importorskip("highspy").Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    assert [int(kind) for kind in highs.getLp().integrality_] == [0, 1, 1]
    highs.run()
    assert program.solve().objective == pytest.approx(highs.getInfo().objective_function_value)


@pytest.mark.parametrize(
    ("sense", "need", "optimum"),
    [
        ("MIN", 0.5, 1),
        ("MIN", 2.5, 2.5),
        ("MIN", 7.5, 10),
        ("MAX", 3.5, 6),
        ("MAX", 1.5, 3),
    ],
)
def test_semicontinuous_columns_are_zero_or_within_their_bounds(sense, need, optimum, tmp_path):
    """As HiGHS, which has them itself, reads the file; x is 0 or 2 to 5, y is 0 to 3.

    HiGHS's tolerance of 1e-6 shows in its optima.
    """
    path = tmp_path / "m.mps"
    kind = "G" if sense == "MIN" else "L"
    path.write_text(
        f"NAME m\nOBJSENSE\n {sense}\nROWS\n N obj\n {kind} r\nCOLUMNS\n x obj 1\n x r 1\n y obj 2\n y r 1\n"
        f"RHS\n RHS r {need}\nBOUNDS\n LO BND x 2\n SC BND x 5\n SC BND y 3\nENDATA\n"
    )
    program = fairlp.read_program(path)
    assert program.column_names == ["x", "y", "x_on"]
    assert program.row_names == ["r", "x_least", "x_off"]
    highs = pytest.importorskip("highspy").Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(optimum, rel=1e-5)
    assert program.solve().objective == pytest.approx(optimum)
    assert fairlp.read_program(
        program.write(tmp_path / "again.mps")[0]
    ).solve().objective == pytest.approx(program.solve().objective)


def with_bounds(lines):
    """Return an MPS file of six columns with these lines of BOUNDS."""
    columns = "".join(f" x{k} cost 1\n x{k} row 1\n" for k in range(6))
    return (
        "NAME bounds FREE\nROWS\n N cost\n G row\nCOLUMNS\n"
        f"{columns}RHS\n RHS row 1\nBOUNDS\n{lines}ENDATA\n"
    )


PLAIN_BOUNDS = {"UP": " 7.5", "LO": " -3", "FX": " 2", "UI": " 9", "LI": " 1"}
PLAIN_BOUNDS |= dict.fromkeys(("FR", "MI", "PL", "BV"), "")


@settings(deadline=None, max_examples=60)
@given(
    kinds=st.lists(
        st.tuples(st.sampled_from(sorted(PLAIN_BOUNDS)), st.integers(0, 5)), min_size=1, max_size=8
    )
)
def test_bounds_read_at_once_are_those_read_line_by_line(kinds, tmp_path_factory):
    # a type in small letters is read by the line, and so are all lines about it
    folder = tmp_path_factory.mktemp("bounds")
    results = []
    for change in (str.upper, str.lower):
        lines = [f" {change(kind)} BND x{j}{PLAIN_BOUNDS[kind]}\n" for kind, j in kinds]
        path = folder / "model.mps"
        path.write_text(with_bounds("".join(lines)), encoding="ascii")
        try:
            p = read_program(path)
        except FileFormatError as error:
            results.append(str(error).lower())
            continue
        numbers = (p.col_lower, p.col_upper, p.integrality)
        results.append([array.tolist() for array in numbers])
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (" UP BND x0 1\n UP BND x0 2\n", "its upper bound was given in line 22"),
        (" UP BND x0 1\n FX BND x0 2\n", "its upper bound was given in line 22"),
        (" UP BND x9 1\n", "no column is called 'x9'"),
        (" UP BND x0 one\n", "expected a number as bound"),
        (" UP BND x0 1\n UP OTHER x1 1\n", "OTHER"),
        (" XX BND x0 1\n", "expected UP, LO, FX"),
    ],
)
def test_wrong_bounds_among_plain_ones_are_named_with_their_line(lines, message, tmp_path):
    path = tmp_path / "model.mps"
    path.write_text(with_bounds(" LO BND x5 1\n" + lines), encoding="ascii")
    with pytest.raises(FileFormatError, match=message) as caught:
        read_program(path)
    assert f"line {20 + 1 + lines.count(chr(10))}" in str(caught.value)


def test_bounds_without_a_vector_or_infinite_mean_what_they_say(tmp_path):
    path = tmp_path / "model.mps"
    path.write_text(
        with_bounds(" UP x0 4\n MI x1\n UP BND x2 1e9\n UP BND x3 Inf\n LO x4 -2\n BV BND x5\n"),
        encoding="ascii",
    )
    p = read_program(path)
    assert p.col_lower.tolist() == [0, -INF, 0, 0, -2, 0]
    assert p.col_upper.tolist() == [4, INF, 1e9, INF, INF, 1]
    assert p.integrality.tolist() == [0, 0, 0, 0, 0, 1]
