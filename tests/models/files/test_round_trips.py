"""Independent programs read what we write, and we read what they write: the same optimum, sense, offset and names."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import warnings
from importlib.metadata import version

import numpy as np
import pytest

import fairlp
from fairlp import examples
from fairlp.mechanisms.table import TABLE
from fairlp.models.files.lp import parse_lp, write_lp
from fairlp.models.files.mps import parse_mps, write_mps
from fairlp.models.files.programs import _open, read_program, write_nl
from profiles import PROFILE, by_day, chequered
from program_files import CASES, INF, Read, by_glpk, by_scip, optimum, read, solve

EXAMPLES = (
    "ghodsi",
    "khamse-ashari-table-3",
    "parkes-zero-demands",
    "wang-figure-1",
    "google-cluster",
)
#: options that make a linear program of a formulation that has logarithms; without any, it is left
#: out
LINEAR = {
    "alpha-fair": {"alpha": 0},
    "njc": {"criterion": "least-served"},
    "ceei": None,
    "partial-allocation": None,
    "psdsf-tdm": None,
}
SMALL = ("psdsf-rdm",)  # integer programs that no solver ends on 100 users and 10 rows of servers
MODELS = [
    f"{name} {example}"
    for name, mechanism in TABLE.items()
    for example in EXAMPLES[: None if PROFILE == "nightly" else 2]  # by day the first two
    if mechanism.formulation and mechanism.undefined(examples.load(example)) is None
    if LINEAR.get(name, {}) is not None and not (name in SMALL and example == "google-cluster")
]
NAMES = [*MODELS, *CASES]
FORMS = ("portable", "full", "fixed", "lp")


@functools.cache
def model_of(name):
    mechanism, example = name.split()
    return fairlp.formulate(examples.load(example), mechanism, **LINEAR.get(mechanism, {}))


@functools.cache
def program_of(name):
    return CASES[name] if name in CASES else model_of(name).compile()


@functools.cache
def optimum_of(name):
    return solve(program_of(name))


def write(p, folder, form):
    path = folder / f"{form}.{'lp' if form == 'lp' else 'mps'}"
    write_lp(p, path) if form == "lp" else write_mps(p, path, profile=form)
    return path


def by_highs(path, form):
    content, highs = read(path)
    return Read(
        optimum(highs), content.sense, content.offset, list(content.rows), list(content.columns)
    )


@functools.cache
def cbc_command():
    pulp = pytest.importorskip("pulp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pulp.PULP_CBC_CMD().path


def by_cbc(path, form):
    answer = path.with_suffix(".answer")
    command = [
        cbc_command(),
        str(path),
        "-printingOptions",
        "all",
        "-solve",
        "-solution",
        str(answer),
        "-quit",
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "errors on input" not in output.replace(" 0 errors", "")
    first, *rest = answer.read_text(encoding="utf-8").splitlines()
    assert first.startswith("Optimal"), first
    entries = [
        line.replace("**", "").split() for line in rest
    ]  # number, name, value, dual: rows, then columns
    column_start = [i for i, (number, *_) in enumerate(entries) if number == "0"][-1]
    rows, columns = (
        [name for _, name, *_ in entries[:column_start]],
        [name for _, name, *_ in entries[column_start:]],
    )
    if columns == [f"x{j}" for j in range(len(columns))]:
        return Read(
            float(first.split()[-1])
        )  # names of more than 100 characters in an LP file: COIN takes its own
    program = parse_lp(_open(path)) if form == "lp" else parse_mps(_open(path))
    values = {name: float(value) for _, name, value, _ in entries[column_start:]}
    value = (
        sum(
            c * values[name]
            for name, c in zip(program.column_names, program.c.tolist(), strict=True)
        )
        + program.offset
    )
    assert value == pytest.approx(
        float(first.split()[-1]), abs=1e-8, rel=1e-7
    )  # it prints few digits
    return Read(value, None, None, rows, columns)


ORTOOLS = """
import json, sys
from ortools.linear_solver.python import model_builder
for path in json.load(sys.stdin):
    model = model_builder.Model()
    assert model.import_from_mps_file(path)
    columns = model.get_variables()
    solver = model_builder.Solver("scip" if any(column.is_integral for column in columns) else "glop")
    assert solver.solve(model).name == "OPTIMAL"
    helper = model.helper
    print(json.dumps([
        solver.objective_value, "max" if helper.maximize() else "min", helper.objective_offset(),
        [row.name for row in model.get_linear_constraints()], [column.name for column in columns],
    ]))
"""


@pytest.fixture(scope="session")
def ortools_answers(tmp_path_factory):
    """What OR-tools reads of every file, in a process of its own: it cannot be imported beside highspy."""
    folder = tmp_path_factory.mktemp("ortools")
    paths = {}
    for number, name in enumerate(NAMES):
        (folder / str(number)).mkdir()
        for form in FORMS[:3]:
            paths[name, form] = str(write(program_of(name), folder / str(number), form))
    run = subprocess.run(
        [sys.executable, "-c", ORTOOLS],
        input=json.dumps(list(paths.values())),
        capture_output=True,
        text=True,
    )
    if "No module named 'ortools'" in run.stderr:
        pytest.skip("OR-tools is not installed")
    assert run.returncode == 0, run.stderr[-2000:]
    return {
        key: Read(*json.loads(line))
        for key, line in zip(paths, run.stdout.splitlines(), strict=True)
    }


def assert_read(answer, path, form, name):
    """The reader understood what our own parser says that the file says, and found the optimum."""
    program = parse_lp(_open(path)) if form == "lp" else parse_mps(_open(path))
    sign = -1 if program.sense != program_of(name).sense else 1
    # fixed format rounds numbers to 12 characters
    tolerance = {"rel": 1e-6 if name == "scales" and form == "fixed" else 1e-7, "abs": 1e-12}
    assert sign * answer.optimum == pytest.approx(optimum_of(name), **tolerance)
    for number, expected in ((answer.sense, program.sense), (answer.offset, program.offset)):
        assert number is None or number == expected
    for names, expected in (
        (answer.rows, program.row_names),
        (answer.columns, program.column_names),
    ):
        assert names is None or sorted(names) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "reader"), by_day(chequered(NAMES, [by_highs, by_glpk, by_scip, by_cbc]), 3)
)
def test_others_read_what_we_write(name, reader, tmp_path):
    for form in FORMS:
        if form == "full" and reader in (by_glpk, by_cbc):
            continue  # GLPK refuses OBJSENSE, COIN ignores it: see below
        if reader is by_glpk and (
            name == "fractional bounds" or (name == "no rows" and form == "lp")
        ):
            continue  # GLPK wants whole bounds of integer columns, and a row
        if reader in (by_glpk, by_cbc) and name == "mnw khamse-ashari-table-3":
            continue  # their branch and bound takes minutes
        path = write(program_of(name), tmp_path, form)
        assert_read(reader(path, form), path, form, name)


@pytest.mark.parametrize("name", by_day(NAMES, 3))
def test_ortools_reads_what_we_write(name, ortools_answers, tmp_path):
    for form in FORMS[:3]:
        path = write(program_of(name), tmp_path, form)
        assert_read(ortools_answers[name, form], path, form, name)


def highs_writes(p, folder, suffix):
    highs = read(write(p, folder, "full"))[1]
    highs.writeModel(str(folder / f"out{suffix}"))


def scip_writes(p, folder, suffix):
    model = pytest.importorskip("pyscipopt").Model()
    model.hideOutput()
    model.readProblem(str(write(p, folder, "full")))
    model.writeProblem(str(folder / f"out{suffix}"), verbose=False)


def glpk_writes(p, folder, suffix, fixed=False):
    g = pytest.importorskip("swiglpk")
    g.glp_term_out(g.GLP_OFF)
    problem = g.glp_create_prob()
    assert (
        g.glp_read_mps(
            problem, g.GLP_MPS_FILE, None, str(write(p.replace(offset=0.0), folder, "portable"))
        )
        == 0
    )
    sign = -1 if p.sense == "max" else 1
    g.glp_set_obj_coef(problem, 0, sign * p.offset)
    target = str(folder / f"out{suffix}")
    if suffix == ".lp":
        assert g.glp_write_lp(problem, None, target) == 0
    else:
        assert (
            g.glp_write_mps(problem, g.GLP_MPS_DECK if fixed else g.GLP_MPS_FILE, None, target) == 0
        )
    return sign


def terms(p):
    """Sums of coefficient and column for the objective and for every row."""
    rows = p.A.tocsr()
    for i in range(p.n_rows):
        places = slice(rows.indptr[i], rows.indptr[i + 1])
        yield i, list(zip(rows.data[places].tolist(), rows.indices[places].tolist(), strict=True))


def pulp_writes(p, folder, suffix):
    pulp = pytest.importorskip("pulp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = pulp.LpProblem("p", pulp.LpMaximize if p.sense == "max" else pulp.LpMinimize)
        bounds = zip(
            p.col_lower.tolist(), p.col_upper.tolist(), p.integrality.tolist(), strict=True
        )
        x = [
            pulp.LpVariable(
                f"x{j}",
                None if low == -INF else low,
                None if high == INF else high,
                ("Continuous", "Integer")[k],
            )
            for j, (low, high, k) in enumerate(bounds)
        ]
        problem += pulp.lpSum(c * x[j] for j, c in enumerate(p.c.tolist()))
        for i, row in terms(p):
            expression = pulp.lpSum(a * x[j] for a, j in row)
            if np.isfinite(p.row_lower[i]):
                problem += expression >= float(p.row_lower[i])
            if np.isfinite(p.row_upper[i]):
                problem += expression <= float(p.row_upper[i])
        getattr(problem, "writeLP" if suffix == ".lp" else "writeMPS")(str(folder / f"out{suffix}"))


def pyomo_writes(p, folder, suffix):
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(p.n_columns))
    for j, x in model.x.items():
        x.domain = pyo.Integers if p.integrality[j] else pyo.Reals
        x.setlb(None if p.col_lower[j] == -INF else float(p.col_lower[j]))
        x.setub(None if p.col_upper[j] == INF else float(p.col_upper[j]))
    sense = pyo.maximize if p.sense == "max" else pyo.minimize
    model.o = pyo.Objective(
        expr=sum(c * model.x[j] for j, c in enumerate(p.c.tolist())) + p.offset, sense=sense
    )
    model.r = pyo.ConstraintList()
    for i, row in terms(p):
        low, high = (float(b) if np.isfinite(b) else None for b in (p.row_lower[i], p.row_upper[i]))
        if row and (low, high) != (None, None):
            model.r.add((low, sum(a * model.x[j] for a, j in row), high))
    model.write(str(folder / f"out{suffix}"), io_options={"symbolic_solver_labels": True})


WRITERS = {
    "HiGHS": highs_writes,
    "SCIP": scip_writes,
    "GLPK": glpk_writes,
    "GLPK fixed": functools.partial(glpk_writes, fixed=True),
    "PuLP": pulp_writes,
    "Pyomo": pyomo_writes,
}


@pytest.mark.parametrize(
    ("name", "writer", "suffix"), by_day(chequered(NAMES, [*WRITERS], [".mps", ".lp"]), 3)
)
def test_we_read_what_others_write(name, writer, suffix, tmp_path):
    if writer.startswith("GLPK") and (name == "no rows" or (name == "ranges" and suffix == ".mps")):
        pytest.skip("GLPK writes 12 digits, and nothing at all without rows")
    p = program_of(name)
    sign = WRITERS[writer](p, tmp_path, suffix) or 1
    program = read_program(tmp_path / f"out{suffix}")
    expected = optimum_of(name) - (p.offset if writer == "PuLP" else 0)  # PuLP drops the constant
    assert sign * solve(program) == pytest.approx(expected, rel=1e-7, abs=1e-12)
    if sign == 1:
        assert program.sense == p.sense


def text(folder, content, name="model.mps"):
    (path := folder / name).write_text(content, encoding="ascii")
    return path


HEAD = "NAME t FREE\nROWS\n N o\n E r\nCOLUMNS\n x o 1\n x r 1\nRHS\n RHS r 10\n"


def test_readers_differ_about_objsense(tmp_path):
    p = program_of("max")
    path = write(p, tmp_path, "full")
    assert [
        by_highs(path, "full").sense,
        by_scip(path, "full").sense,
        read_program(path).sense,
    ] == ["max"] * 3
    with pytest.raises(AssertionError):
        by_glpk(path, "full")  # refused
    assert by_cbc(path, "full").optimum == 0 != optimum_of("max")  # minimised


def test_readers_differ_about_the_constant(tmp_path):
    path = text(tmp_path, HEAD.replace("RHS r 10", "RHS o 7\n RHS r 10") + "ENDATA\n")
    assert [by_highs(path, "").offset, by_scip(path, "").offset, read_program(path).offset] == [
        -7
    ] * 3
    assert by_glpk(path, "").offset == 7


def scip_bounds(path):
    model = pytest.importorskip("pyscipopt").Model()
    model.readProblem(str(path))
    (x,) = model.getVars()
    return x.getLbOriginal(), x.getUbOriginal()


def test_readers_differ_about_negative_upper_bounds(tmp_path):
    path = text(
        tmp_path, HEAD.replace(" E r", " L r") + "BOUNDS\n UP BND x -3\n LO BND x -5\nENDATA\n"
    )
    for reader in (by_highs, by_glpk, by_scip, by_cbc):
        assert reader(path, "").optimum == -5
    assert read_program(path).col_lower[0] == -5
    path = text(tmp_path, path.read_text().replace(" LO BND x -5\n", "").replace("x o 1", "x o -1"))
    with pytest.warns(fairlp.FairlpWarning, match="negative upper bound"):
        assert solve(read_program(path)) == by_cbc(path, "").optimum == 3
    if version("highspy").split(".")[:2] < ["1", "16"]:  # which reads it without a warning
        with pytest.raises(AssertionError, match="kWarning"):
            read(path)
    assert scip_bounds(path) == (0, -3)


@pytest.mark.parametrize("width, bounds", [("2", (10, 12)), ("-2", (8, 10)), ("0", (10, 10))])
def test_ranges_of_equations_are_read_alike(width, bounds, tmp_path):
    for cost, optimum_ in (("1", bounds[0]), ("-1", -bounds[1])):
        path = text(
            tmp_path, HEAD.replace("x o 1", f"x o {cost}") + f"RANGES\n RNG r {width}\nENDATA\n"
        )
        assert solve(read_program(path)) == optimum_
        for reader in (by_highs, by_glpk, by_scip, by_cbc):
            assert reader(path, "").optimum == optimum_


def test_names_with_spaces_are_read_by_columns(tmp_path):
    g = pytest.importorskip("swiglpk")
    rows = "ROWS\n N  cost\n G  lim 1\nCOLUMNS\n    x one     cost                 3   lim 1                2\n"
    path = text(
        tmp_path, f"NAME          t\n{rows}RHS\n    RHS       lim 1                4\nENDATA\n"
    )
    program_read, by_columns = read_program(path), by_glpk(path, "fixed")
    assert (program_read.row_names, program_read.column_names) == (["lim 1"], ["x one"])
    assert (by_columns.rows, by_columns.columns) == (
        ["lim1"],
        ["xone"],
    )  # GLPK takes the spaces out
    assert solve(program_read) == by_columns.optimum == 6
    problem = g.glp_create_prob()
    assert g.glp_read_mps(problem, g.GLP_MPS_FILE, None, str(path)) != 0


def test_empty_columns_are_kept_by_everyone(tmp_path):
    for form in FORMS:
        path = write(program_of("empty column"), tmp_path, form)
        for reader in (by_highs, by_glpk, by_scip, by_cbc):
            if form != "full" or reader in (by_highs, by_scip):
                assert len(reader(path, form).columns) == 3
        assert read_program(path).n_columns == 3


@pytest.mark.parametrize("name", ["drf ghodsi", "c-drfh khamse-ashari-table-3"])
def test_nl_is_read_by_scip_and_cbc(name, tmp_path):
    model = model_of(name)
    files = write_nl(model, tmp_path / "model.nl")
    assert [file.name for file in files] == ["model.nl", "model.row", "model.col"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "model.col",
        "model.nl",
        "model.row",
    ]
    assert sorted(files[2].read_text(encoding="utf-8").split()) == sorted(
        program_of(name).column_names
    )
    scip_answer = by_scip(files[0], "nl")
    assert (scip_answer.optimum, scip_answer.sense) == (
        pytest.approx(optimum_of(name), rel=1e-7),
        "max",
    )
    command = [cbc_command(), str(files[0].with_suffix("")), "-AMPL"]
    subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
    answer = files[0].with_suffix(".sol").read_text(encoding="ascii").splitlines()[0]
    assert float(answer.split()[-1]) == pytest.approx(optimum_of(name), rel=1e-7)
    with pytest.raises(fairlp.FairlpError, match="there is no folder"):
        write_nl(model, tmp_path / "no" / "model.nl")


def test_nl_holds_logarithms(tmp_path):
    users = fairlp.Index("n", ["a", "b"])
    model = fairlp.Model("fair")
    x = model.variable("x", users, upper=[1.0, 3.0])
    model.constraint("together", x.sum(users) <= 3)
    model.maximize(fairlp.log(x).sum(users))
    write_nl(model, path := tmp_path / "model.nl")
    assert by_scip(path, "nl").optimum == pytest.approx(np.log(2), rel=1e-5)
