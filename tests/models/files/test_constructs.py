"""Semi-continuous columns, ordered sets and indicators of files, beside enumeration, SCIP and HiGHS."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp.errors import FileFormatError
from fairlp.models.files.programs import read_program
from fairlp.models.programs.status import Termination
from program_files import read_text

#: Columns x0 to x3 are whole numbers of a small range (or semi-integer), b0 and b1 are binary.
COUNT = 4
NAMES = [*(f"x{j}" for j in range(COUNT)), "b0", "b1"]
KINDS = {"L": "<=", "G": ">=", "E": "="}


@st.composite
def cases(draw):
    """A small program with constructs: bounds, costs, rows, sets and what is semi-integer."""
    lows = [draw(st.integers(-2, 0)) for _ in range(COUNT)]
    highs = [draw(st.integers(1, 3)) for _ in range(COUNT)]
    semi = [draw(st.booleans()) for _ in range(COUNT)]
    lows = [
        draw(st.integers(0, high)) if is_semi else low
        for low, high, is_semi in zip(lows, highs, semi, strict=True)
    ]
    rows = []
    for _ in range(3):
        coefficients = [draw(st.integers(-3, 3)) for _ in NAMES]
        kind, side = draw(st.sampled_from("LGE")), draw(st.integers(-3, 5))
        switch = draw(st.sampled_from([None, ("b0", 0), ("b0", 1), ("b1", 1)]))
        if switch:
            coefficients[NAMES.index(switch[0])] = draw(st.integers(-1, 1))
        rows.append((coefficients, kind, side, switch))
    sets = []
    for _ in range(draw(st.integers(0, 2))):
        members = draw(st.permutations(range(COUNT)))[: draw(st.integers(2, COUNT))]
        sets.append((draw(st.sampled_from([1, 2])), members))
    costs = [draw(st.integers(-5, 5)) for _ in NAMES]
    return lows, highs, semi, rows, sets, costs


def enumerated(case):
    """The least cost over all points, None where there is none."""
    lows, highs, semi, rows, sets, costs = case
    ranges = [
        sorted({*range(low, high + 1), *([0] if is_semi else [])})
        for low, high, is_semi in zip(lows, highs, semi, strict=True)
    ]
    points = np.array(list(itertools.product(*ranges, (0, 1), (0, 1))))
    holds = np.ones(len(points), dtype=bool)
    for coefficients, kind, side, switch in rows:
        activity = points @ np.array(coefficients)
        row = {"L": activity <= side, "G": activity >= side, "E": activity == side}[kind]
        holds &= row if switch is None else row | (points[:, NAMES.index(switch[0])] != switch[1])
    for adjacent, members in sets:
        used = points[:, list(members)] != 0
        for a, b in itertools.combinations(range(len(members)), 2):
            if b - a >= adjacent:
                holds &= ~(used[:, a] & used[:, b])
    return int((points[holds] @ np.array(costs)).min()) if holds.any() else None


def as_mps(case, whole=True):
    """The program as MPS with the sections of CPLEX, Gurobi and SCIP."""
    lows, highs, semi, rows, sets, costs = case
    lines = [
        "NAME t",
        "ROWS",
        " N cost",
        *(f" {kind} r{i}" for i, (_, kind, _, _) in enumerate(rows)),
        "COLUMNS",
    ]
    lines += [" M1 'MARKER' 'INTORG'"] if whole else []
    for j, name in enumerate(NAMES):
        if j == COUNT and not whole:
            lines.append(" M1 'MARKER' 'INTORG'")
        lines.append(f" {name} cost {costs[j]}")
        lines += [f" {name} r{i} {row[0][j]}" for i, row in enumerate(rows) if row[0][j]]
    lines += [
        " M2 'MARKER' 'INTEND'",
        "RHS",
        *(f" RHS r{i} {row[2]}" for i, row in enumerate(rows)),
        "BOUNDS",
    ]
    for j in range(COUNT):
        kind = ("SC" if not whole else "SI") if semi[j] else "UP"
        lines += [f" LO BND x{j} {lows[j]}", f" {kind} BND x{j} {highs[j]}"]
    lines += [" BV BND b0", " BV BND b1"]
    if sets:
        lines.append("SOS")
    for k, (adjacent, members) in enumerate(sets):
        lines.append(f" S{adjacent} set{k}")
        lines += [f"    x{j} {weight}" for weight, j in enumerate(members, 1)]
    switched = [(i, row[3]) for i, row in enumerate(rows) if row[3]]
    if switched:
        lines += ["INDICATORS", *(f" IF r{i} {name} {active}" for i, (name, active) in switched)]
    return "\n".join([*lines, "ENDATA", ""])


def as_lp(case):
    """The program as LP with the sections of CPLEX, Gurobi and SCIP."""

    def terms(coefficients):
        return " ".join(
            f"{value:+d} {name}" for value, name in zip(coefficients, NAMES, strict=True)
        )

    lows, highs, semi, rows, sets, costs = case
    lines = ["Minimize", f" cost: {terms(costs)}", "Subject To"]
    for i, (coefficients, kind, side, switch) in enumerate(rows):
        condition = f"{switch[0]} = {switch[1]} -> " if switch else ""
        lines.append(f" r{i}: {condition}{terms(coefficients)} {KINDS[kind]} {side}")
    lines += ["Bounds", *(f" {lows[j]} <= x{j} <= {highs[j]}" for j in range(COUNT))]
    lines += ["General", " " + " ".join(NAMES[:COUNT]), "Binary", " b0 b1"]
    if any(semi):
        lines += ["Semi-Continuous", " " + " ".join(f"x{j}" for j in range(COUNT) if semi[j])]
    if sets:
        lines.append("SOS")
    for k, (adjacent, members) in enumerate(sets):
        lines.append(
            f" set{k}: S{adjacent} :: " + " ".join(f"x{j} : {w}" for w, j in enumerate(members, 1))
        )
    return "\n".join([*lines, "End", ""])


def optimum(program):
    """The objective, None where there is no point."""
    solution = program.solve()
    if solution.status.termination is Termination.INFEASIBLE:
        return None
    assert solution.status.is_optimal
    return solution.objective


def scip(path):
    """The objective as SCIP has it, None where there is no point."""
    model = pytest.importorskip("pyscipopt").Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return model.getObjVal() if model.getStatus() == "optimal" else None


@pytest.mark.slow
@settings(max_examples=150)
@given(case=cases())
def test_the_optimum_is_that_of_enumeration(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    expected = enumerated(case)
    for program in (read_text(folder, as_mps(case)), read_text(folder, as_lp(case), "model.lp")):
        assert optimum(program) == (None if expected is None else pytest.approx(expected, abs=1e-6))


@pytest.mark.slow
@settings(max_examples=60)
@given(case=cases())
def test_continuous_columns_are_what_scip_takes_them_for(case, tmp_path_factory):
    """Without semi-continuous ones: SCIP 10 takes ``SC`` with the bounds 0 and 1 as 0 or 1."""
    lows, highs, _, *rest = case
    folder = tmp_path_factory.mktemp("case")
    our_optimum = optimum(
        read_text(folder, as_mps((lows, highs, [False] * COUNT, *rest), whole=False))
    )
    optimum_of_scip = scip(folder / "model.mps")
    assert our_optimum == (
        None if optimum_of_scip is None else pytest.approx(optimum_of_scip, abs=1e-5)
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(case=cases())
def test_semicontinuous_columns_are_what_highs_takes_them_for(case, tmp_path_factory):
    import highspy

    lows, highs, semi, rows, _, costs = case
    plain = [(coefficients, kind, side, None) for coefficients, kind, side, _ in rows]
    folder = tmp_path_factory.mktemp("case")
    our_optimum = optimum(
        read_text(folder, as_mps((lows, highs, semi, plain, [], costs), whole=False))
    )
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    assert model.readModel(str(folder / "model.mps")) == highspy.HighsStatus.kOk
    model.run()
    is_optimal = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert our_optimum == (
        pytest.approx(model.getInfo().objective_function_value, abs=1e-5) if is_optimal else None
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(case=cases())
def test_the_native_profile_reads_back_and_scip_solves_it(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    program = read_text(folder, as_mps(case))
    written = folder / "native.mps"
    program.write(written, profile="native")
    assert_same(read_program(written), program)
    expected = enumerated(case)
    assert scip(written) == (None if expected is None else pytest.approx(expected, abs=1e-6))


def assert_same(other, program):
    """All numbers and names are the same."""
    assert (other.row_names, other.column_names) == (program.row_names, program.column_names)
    assert (
        (other.A != program.A).nnz == 0
        and other.offset == program.offset
        and other.sense == program.sense
    )
    for name in ("c", "row_lower", "row_upper", "col_lower", "col_upper", "integrality"):
        np.testing.assert_array_equal(getattr(other, name), getattr(program, name))


def example(lower=-1.0, big_m=None):
    """A model with all constructs that switch rows."""
    n = fairlp.Index("n", ["a", "b", "c"])
    model = fairlp.Model("m", indices=(n,))
    x = model.variable("x", n, lower=[lower, 0, 0], upper=[4, 9.1, 7.3])
    z = model.variable("z", n, binary=True)
    model.indicator("cap", z, x <= 1.3, big_m=big_m)
    model.indicator("mix", z["a"], x["a"] + 0.1 * x["b"] == 1.7, active=0)
    model.semicontinuous("batch", x, 0.3)
    model.sos2("two", x, n)
    y = model.piecewise("cost", x["b"], [0, 4, 9.1], [0, 8, 11])
    model.maximize(x.sum() + 2 * z.sum() - y)
    return model


@pytest.mark.slow
@settings(max_examples=40)
@given(lower=st.floats(-5, 0))
def test_a_model_of_ours_is_written_without_big_m(lower, tmp_path_factory):
    program = example(lower).compile()
    path = tmp_path_factory.mktemp("native") / "model.mps"
    program.write(path, profile="native")
    compiled_program = read_program(path)
    assert_same(compiled_program, program)
    assert set(compiled_program.switched) <= set(program.switched)
    text = path.read_text(encoding="utf-8")
    assert {f" IF cap.{label} z.{label} 1" for label in "abc"} <= {
        *text.split("INDICATORS")[1].split("\n")
    }
    assert " IF batch_off.b batch_on.b 0\n" in text and " IF two_off.b two_on.a 0\n" in text


def test_the_native_file_of_a_model_is_solved_by_scip(tmp_path):
    model = example()
    model.write(tmp_path / "model.mps", profile="native")
    assert scip(tmp_path / "model.mps") == pytest.approx(model.solve().objective, abs=1e-6)


def test_other_profiles_have_rows_only(tmp_path):
    program = example().compile()
    for profile in ("portable", "full"):
        program.write(tmp_path / "model.mps", profile=profile)
        assert "INDICATORS" not in (tmp_path / "model.mps").read_text(encoding="utf-8")
        assert_same(read_program(tmp_path / "model.mps"), program)


MPS = """NAME t
ROWS
 N cost
 L r
COLUMNS
 x cost -1 r 1
 y cost -2 r 1
 z cost -3 r 1
 M 'MARKER' 'INTORG'
 b cost 1
 M 'MARKER' 'INTEND'
RHS
 RHS r 9
BOUNDS
 UP BND x 4
 UP BND y 5
 UP BND z 6
 BV BND b
"""


def test_weights_are_the_order_of_a_set(tmp_path):
    sets = "SOS\n S2 s\n x {}\n y {}\n z {}\n"
    free = MPS.replace("RHS r 9", "RHS r 90")
    assert read_text(tmp_path, free + sets.format(1, 2, 3) + "ENDATA\n").solve().objective == -28
    assert read_text(tmp_path, free + sets.format(2, 1, 3) + "ENDATA\n").solve().objective == -22


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("SOS\n S1 s\n x 1\n x 2\n", "line 22: .*in the set 's' already"),
        ("SOS\n S1 s\n x 1\n y\n", "line 22: .*weights of all members of the set 's', or of none"),
        ("SOS\n S2 s\n x 1\n y 1\n", "line 22: .*two members of the set 's' have the weight 1"),
        ("SOS\n S1 s\n x 1\n w 2\n", "line 22: .*no column is called 'w'"),
        ("SOS\n S1 s\n x 1\n y two\n", "line 22: .*expected a finite weight"),
        ("SOS\n x 1\n", "line 20: .*expected S1 or S2 and the name of a set"),
        ("SOS2\n S1 s\n x 1\n", "line 20: .*expected S1 or S2, and the name of a set"),
        (
            "INDICATORS\n IF r x 1\n",
            "line 20: .*column 'x' is not binary; make it integer with bounds of 0 and 1",
        ),
        ("INDICATORS\n IF q b 1\n", "line 20: .*no row is called 'q'"),
        (
            "INDICATORS\n IF cost b 1\n",
            "line 20: .*its row is of type N, or has an indicator before",
        ),
        ("INDICATORS\n IF r b 2\n", "line 20: .*expected IF, a row, a binary column, and 0 or 1"),
        (
            "INDICATORS\n IF r b 1\n IF r b 0\n",
            "line 21: .*its row is of type N, or has an indicator before",
        ),
    ],
)
def test_broken_sections(text, match, tmp_path):
    with pytest.raises(FileFormatError, match=match):
        read_text(tmp_path, MPS + text + "ENDATA\n")


@pytest.mark.parametrize("text", ["INDICATORS\n IF r b 1\n", "SOS\n S1 r\n x 1\n y 2\n"])
def test_a_column_without_a_bound_is_named_with_the_remedy(text, tmp_path):
    endless = MPS.replace(" UP BND y 5\n", "")
    with pytest.raises(
        FileFormatError, match="needs to know how large column 'y' can be; give it finite bounds"
    ):
        read_text(tmp_path, endless + text + "ENDATA\n")


LP = "min\n -x -y\nst\n {}\nbounds\n x <= 4\n y <= 5\nbin\n b\n{}end\n"


def test_sets_of_lp_without_names(tmp_path):
    text = LP.format("c: x + y + b <= 20", "sos\n S1 :: x : 1 y : 2\n S2:: y:1 x:2\n")
    program = read_text(tmp_path, text, "model.lp")
    assert program.solve().objective == -5 and program.row_names[:2] == ["c", "set1"]
