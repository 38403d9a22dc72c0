"""The LP reader: our own files come back, and files of others mean what their solvers take them for."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairlp.errors import FairlpWarning, FileFormatError
from fairlp.models.files.lp import write_lp
from fairlp.models.files.programs import read_program
from program_files import CASES, EXAMPLE, INF, POS, assert_equal, program, programs, read_text


def content(p):
    """Everything that a program says, whatever the order of columns, and of rows without a name of their own."""
    values = np.flatnonzero(np.isfinite(p.row_lower) | np.isfinite(p.row_upper)).tolist()
    names, dense = p.row_names, p.A.toarray()
    rows = [(names[i], p.row_lower[i], p.row_upper[i]) for i in values]
    columns = zip(
        p.column_names,
        p.c,
        p.col_lower,
        p.col_upper,
        p.integrality,
        dense[values].T.tolist(),
        strict=True,
    )
    return p.sense, p.offset, rows, sorted(columns)


@pytest.mark.parametrize("constant", ["term", "column"])
@pytest.mark.parametrize("case", CASES)
def test_our_files_come_back(case, constant, tmp_path):
    p = CASES[case]
    write_lp(p, path := tmp_path / "model.lp.gz", constant=constant)
    compiled_program = read_program(path)
    assert content(compiled_program) == content(p)
    assert {block.name for block in compiled_program.columns} == {block.name for block in p.columns}
    assert compiled_program.name == ("K?se & Brot" if case == "names" else p.name)


@settings(deadline=None)
@given(
    p=programs(),
    constant=st.sampled_from(["term", "column"]),
    names=st.sampled_from(["labels", "numbers"]),
)
def test_any_program_comes_back(p, constant, names, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "model.lp"
    write_lp(p, path, constant=constant, names=names)
    assert content(read_program(path)) == content(p)


def test_columns_of_a_block_stand_together_again(tmp_path):
    p = program(
        "min", [0, 0, 1, 0], [[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1]], [(1, 2), (1, INF), (0, INF)], [POS] * 4,
        row_names={"cap": ["a", "b", "c"]}, column_names={"x": ["u", "v"], "t": None, "y": ["w"]},
    )  # fmt: skip
    write_lp(p, path := tmp_path / "model.lp")
    compiled_program = read_program(path)
    assert [(b.name, len(b)) for b in compiled_program.columns] == [("t", 1), ("x", 2), ("y", 1)]
    assert [(b.name, len(b)) for b in compiled_program.rows] == [("cap", 3)]
    assert content(compiled_program) == content(p)


ONE = "Minimize\n obj: 2 x + y - 3z\nSubject To\n c1: x + y + z >= 1\nEnd\n"


#: an objective (⏎ ends a line); the costs of x, y and z, and the constant
OBJECTIVES = r"""
obj: 2 x + y - 3z => 2 1 -3 0
2x+y-3 z => 2 1 -3 0
 obj: + 2.0e0 x + 1. y - .3E+1 z => 2 1 -3 0
obj:⏎ 2⏎ x⏎ + y⏎⏎ - 3 z => 2 1 -3 0
o: x + x + y - z - 2 z => 2 1 -3 0
x - - x + - 0 y + y + 0 z + -3 z => 2 1 -3 0
2 x + y - 3 z + 5 => 2 1 -3 5
o: 5 + 2 x + y - 3 z - 7.5 + 1 => 2 1 -3 -1.5
o: - 4 \ all of it => 0 0 0 -4
\ c⏎o: 2 x \ + 9 x⏎ + y - 3z => 2 1 -3 0
 => 0 0 0 0
e5: 2 x + y - 3 z => 2 1 -3 0
"""


@pytest.mark.parametrize("line", OBJECTIVES.splitlines()[1:])
def test_objectives(line, tmp_path):
    objective, numbers = line.replace("⏎", "\n").split(" => ")
    *costs, offset = map(float, numbers.split())
    program = read_text(tmp_path, ONE.replace("obj: 2 x + y - 3z", objective), "x.lp")
    by_name = dict(zip(program.column_names, program.c, strict=True))
    assert ([by_name[name] for name in "xyz"], program.offset) == (costs, offset)


@pytest.mark.parametrize(
    "word", ["max", "MAXIMIZE", "Maximum", "maximise", "min", "Minimize", "minimise", "MINIMUM"]
)
@pytest.mark.parametrize("to", ["st", "ST.", "s.t.", "Subject To", "subject  to", "such that"])
def test_spellings(word, to, tmp_path):
    text = f"{word} 2 x\n{to} x <= 4\nbound\n x <= 3\nint\n x\nend\n"
    program = read_text(tmp_path, text, "x.lp")
    assert program.sense == word[:3].lower()
    assert (program.row_upper[0], program.col_upper[0], program.integrality[0]) == (4, 3, 1)


#: a row (⏎ ends a line); its bounds, and its entries of x and y
ROWS = """
x + 2 y <= 4 => -inf 4 1 2
c: x+2y =< 4 => -inf 4 1 2
c : x + 2 y < 4 => -inf 4 1 2
x + 2 y >= -4 => -4 inf 1 2
x + 2 y => +4 => 4 inf 1 2
- x > - 4e-1 => -0.4 inf -1 0
c:⏎+1 x⏎+2 y⏎= 3 => 3 3 1 2
-1 <= x + 2 y <= 4 => -1 4 1 2
4 >= x >= -1 => -1 4 1 0
r: -1 < x + 2 y⏎ <= 4 => -1 4 1 2
-inf <= x <= 2 => -inf 2 1 0
x >= -Infinity => -inf inf 1 0
x + y + x - y <= 3 => -inf 3 2 0
0 x >= -1 => -1 inf 0 0
lo: >= -1 => -1 inf 0 0
x <= 1e30 => -inf inf 1 0
"""


@pytest.mark.parametrize("line", ROWS.splitlines()[1:])
def test_rows(line, tmp_path):
    row, numbers = line.replace("⏎", "\n").rsplit(" => ", 1)
    *bounds, a, b = map(float, numbers.split())
    entries = [a, b]
    text = f"min\n x + y\nst\n first: x + y >= 1\n {row}\n last: y >= 0\nend\n"
    program = read_text(tmp_path, text, "x.lp")
    assert (program.row_lower[1], program.row_upper[1], program.A.toarray()[1].tolist()) == (
        *bounds,
        entries,
    )
    assert program.row_names[::2] == ["first", "last"]
    assert program.row_names[1] == (row.partition(":")[0].strip() if ":" in row else "c2")


def test_rows_on_one_line_and_generic_names(tmp_path):
    text = "min\n x\nst\n c2: x >= 1 b: x >= 2\n x >= 3\n x >= 4\n c4: x >= 5\nend\n"
    assert read_text(tmp_path, text, "x.lp").row_names == ["c2", "b", "c3", "c4_2", "c4"]


#: sections (⏎ ends a line); lower and upper bound, and whether the column is whole
BOUNDED = """
 => 0 inf 0
bounds⏎ x <= 5 => 0 5 0
bounds⏎ -2<=x<=5 => -2 5 0
bounds⏎ x>=-2 => -2 inf 0
bounds⏎ 5 >= x >= 2 => 2 5 0
bounds⏎ 2 <= x => 2 inf 0
bounds⏎ x = 4 => 4 4 0
bounds⏎ 4 = x => 4 4 0
bounds⏎ x FREE => -inf inf 0
bounds⏎ -inf <= x <= +inf => -inf inf 0
bounds⏎ -Infinity <= x <= - 1 => -inf -1 0
bounds⏎ x >= -1e30⏎ x <= 1e20 => -inf inf 0
bounds⏎ x <= 5⏎ x >= 1⏎ x <= 5 => 1 5 0
bounds⏎ x <= 0 => 0 0 0
general⏎ x => 0 inf 1
generals⏎ x x => 0 inf 1
bounds⏎ x <= 3⏎integer⏎ x => 0 3 1
binary⏎ x => 0 1 1
bin⏎ x⏎bounds⏎ x = 1 => 1 1 1
int⏎ x⏎binaries⏎ x => 0 1 1
bounds⏎ x <= 2⏎bounds⏎ x >= 1 => 1 2 0
semi⏎sos => 0 inf 0
"""


@pytest.mark.parametrize("line", BOUNDED.splitlines()[1:])
def test_bounds(line, tmp_path):
    lines, numbers = line.replace("⏎", "\n").split(" => ")
    *bounds, kind = map(float, numbers.split())
    program = read_text(tmp_path, f"min\n x\nst\n x >= -9\n{lines}\nend\n", "x.lp")
    assert (program.col_lower[0], program.col_upper[0], program.integrality[0]) == (*bounds, kind)


def test_odd_names(tmp_path):
    names = ["x(1,2)", "x[1]", "~r_1", "a/b", "é", "x#1.5", "'q'", "free2", "infinit", "_e"]
    text = f"min\n o: {' + 2 '.join(names)}\nst\n c[1]_e: {' + '.join(names)} >= 1\nend\n"
    program = read_text(tmp_path, text, "x.lp")
    assert (program.column_names, program.row_names) == (names, ["c[1]_e"])
    write_lp(program, path := tmp_path / "again.lp")
    assert_equal(read_program(path), program)


def test_new_columns_in_bounds_warn(tmp_path):
    text = "min\n x\nst\n x >= 1\nbounds\n y <= 3\nbin\n z\nend\n"
    with pytest.warns(
        FairlpWarning,
        match=r"line 6: 'y' occurs neither in the objective nor in a constraint.*\(2 such",
    ):
        program = read_text(tmp_path, text, "x.lp")
    assert (program.column_names, program.col_upper.tolist()) == (["x", "y", "z"], [INF, 3, 1])


def test_the_constant_of_glpk(tmp_path):
    text = "\\* Problem: t *\\\n\nMinimize\n o: x\n\\* constant term = -2.5 *\\\n\nSubject To\n c: x >= 1\nEnd\n"
    with pytest.warns(FairlpWarning, match="GLPK"):
        assert read_text(tmp_path, text, "x.lp").offset == -2.5
    assert read_text(tmp_path, text.replace("o: x", "o: x + 5"), "x.lp").offset == 5
    assert read_text(tmp_path, text.replace("Problem", "problem"), "x.lp").offset == 0


@pytest.mark.slow
@pytest.mark.parametrize("filler", ["\n" * 9, " " * 99 + "\n", "  \n\t\n", "\\ nothing\n"])
def test_blank_lines_and_comments_cost_no_more_than_their_bytes(filler, tmp_path):
    """8 MB of them anywhere took up to 4 s."""
    long_filler = filler * (8_000_000 // len(filler))
    lines = long_filler.count("\n")
    parts = ["", "min\n", " x + y\nst\n", " c: x + y >= 2\nbounds\n", " x <= 3\nint\n", " x\nend\n"]
    for place in range(len(parts)):
        text = "".join([*parts[:place], long_filler, *parts[place:]])
        start = time.process_time()
        assert read_text(tmp_path, text, "x.lp").solve().objective == 2
        assert time.process_time() - start < 1.5
    wrong_text = "".join(parts[:4]) + long_filler + " x <= \nend\n"
    with pytest.raises(FileFormatError, match=f"line {lines + 6}: "):
        read_text(tmp_path, wrong_text, "x.lp")


def test_a_constant_of_ours_that_was_changed_by_hand_is_a_column(tmp_path):
    p = EXAMPLE.replace(name="by hand")
    write_lp(p, path := tmp_path / "model.lp")
    text = path.read_text(encoding="ascii")
    path.write_text(
        text.replace("objective_constant = 1", "objective_constant = 2"), encoding="ascii"
    )
    compiled_program = read_program(path)
    assert (
        compiled_program.offset,
        compiled_program.n_columns,
        compiled_program.column_names[-1],
    ) == (0, 4, "objective_constant")


BOUNDS = [
    " x >= 1 y <= 2",
    " x >= 1 x <= 2",
    " 0 <= x <= 3 -1 <= y <= 4",
    " x free y >= -1",
    " x >= -1 -3 <= y",
    " x >= 1 2 <= y",
    " x = 2 y = 3",
    " x >= 1 y free",
    " x >= -infinity y <= 7 y >= - inf",
    " x >= 1 -inf <= y <= 2",
    " x >=\n 1 y\n <= 2",
    " 1 <= x\n <= 4",
    " x\n free y\n\n free",
]


def bounds_of_highs(path):
    highspy = pytest.importorskip("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    return list(highs.getLp().col_lower_), list(highs.getLp().col_upper_)


def bounds_of_glpk(path):
    swiglpk = pytest.importorskip("swiglpk")
    swiglpk.glp_term_out(swiglpk.GLP_OFF)
    problem = swiglpk.glp_create_prob()
    assert swiglpk.glp_read_lp(problem, None, str(path)) == 0
    lower = [swiglpk.glp_get_col_lb(problem, j) for j in (1, 2)]
    upper = [swiglpk.glp_get_col_ub(problem, j) for j in (1, 2)]
    largest = np.finfo(float).max
    return [-INF if value == -largest else value for value in lower], [
        INF if value == largest else value for value in upper
    ]


def bounds_of_scip(path):
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    infinity = model.infinity()
    x, y = sorted(model.getVars(), key=lambda variable: variable.name)
    return [-INF if v.getLbOriginal() == -infinity else v.getLbOriginal() for v in (x, y)], [
        INF if v.getUbOriginal() == infinity else v.getUbOriginal() for v in (x, y)
    ]


@pytest.mark.parametrize("reader", [bounds_of_highs, bounds_of_glpk, bounds_of_scip])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_several_bounds_on_a_line_and_one_on_several_mean_what_solvers_read(
    bounds, reader, tmp_path
):
    path = tmp_path / "model.lp"
    path.write_text(f"Maximize\n obj: x + 2 y\nSubject To\n c: x + y <= 9\nBounds\n{bounds}\nEnd\n")
    p = read_program(path)
    theirs = reader(path)
    if reader is bounds_of_highs and theirs == ([], []):
        pytest.skip("HiGHS 1.16 refuses what earlier versions read")
    assert (p.col_lower.tolist(), p.col_upper.tolist()) == theirs


def test_a_bound_that_goes_on_behind_many_is_read_as_one(tmp_path):
    """Many bounds are read in bulk; one on two lines stands where the piece ends."""
    names = [f"x{k}" for k in range(3000)]
    path = tmp_path / "model.lp"
    lines = "".join(f" 1 <= {name}\n" for name in names)
    path.write_text(
        f"Minimize\n obj: {' + '.join(names)}\nSubject To\n c: x0 <= 9\nBounds\n{lines} <= 4\nEnd\n"
    )
    p = read_program(path)
    assert (p.col_lower == 1).all()
    assert p.col_upper.tolist() == [INF] * 2999 + [4]
    path.write_text(path.read_text().replace(" <= 4", " <= 4 <= 5"))
    with pytest.raises(FileFormatError, match="'<= 4 <= 5': expected a bound"):
        read_program(path)
