"""The commands export, solve, mechanisms, solvers and example."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

import fairlp
from cli_runner import assert_same_numbers, error_line, raising, run
from fairlp import Model, examples
from fairlp.cli import ExitCode
from fairlp.cli.parameters import load_instance
from fairlp.errors import SolverError
from fairlp.solvers.backends import highs
from paths import DOCS


@pytest.fixture
def drfh(tmp_path):
    path = tmp_path / "drfh.mps"
    fairlp.formulate(examples.wang_figure_1(), "drfh").write(path)
    return path


def test_solve_compares_solvers_that_agree(drfh):
    result = run("solve", str(drfh), "--compare", "scipy,clarabel", "--json")
    answers = json.loads(result.stdout)
    assert [row["solver"] for row in answers["answers"]] == ["highs", "scipy", "clarabel"]
    for row in answers["answers"]:
        assert row["status"] == "optimal" and row["objective"] == pytest.approx(5 / 7, rel=1e-6)
    values = {row["variable"]: row["value"] for row in answers["variables"]}
    assert values["g[user1,server1]"] == pytest.approx(5 / 7)


def test_solve_writes_the_variables_as_csv(drfh, tmp_path):
    target = tmp_path / "x.csv"
    run("solve", str(drfh), "-o", str(target))
    assert target.read_text(encoding="utf-8").splitlines()[0] == "variable,value,reduced cost"


def test_an_infeasible_file_is_explained_in_its_own_names(tmp_path):
    model = Model("promises")
    x, y = model.variable("x"), model.variable("y")
    model.constraint("capacity", x + y <= 5)
    model.constraint("promise", x + y >= 7)
    path = tmp_path / "promises.lp"
    model.write(path)
    result = run("solve", str(path), code=ExitCode.NO)
    assert "Why it is infeasible" in result.stdout
    assert "capacity" in result.stdout and "promise" in result.stdout


def test_one_solver_that_fails_beside_others_is_a_row(drfh):
    result = run("solve", str(drfh), "--compare", "glpk", "--option", "seed=1", code=ExitCode.NO)
    assert "failed: glpk cannot honour the option 'seed'" in " ".join(result.stdout.split())


@pytest.mark.slow
def test_conformance_counts_the_cases():
    result = run("solvers highs scipy --check --json")
    table = json.loads(result.stdout)
    assert len(table) > 40 and all(row["highs"] == "passed" == row["scipy"] for row in table)
    assert "undecided" in run("solvers highs --check").stdout


def test_the_table_in_the_docs_is_the_declared_one():
    text = (DOCS / "solvers.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in text.splitlines()]
    (kinds,) = (row[1:] for row in rows if row[1:3] == ["LP", "MILP"])
    marks = {row[0]: row[1:] for row in rows if len(row) == len(kinds) + 1}
    for name, declared in fairlp.solvers()["capabilities"].str.split(", ").items():
        has = [kind for kind, mark in zip(kinds, marks[name], strict=True) if mark == "✓"]
        assert sorted(has) == sorted(declared), name


def test_export_writes_the_model_and_its_size(current_folder):
    text = run("export two-servers -m drfh -o model.mps").stdout
    program = fairlp.formulate(examples.load("two-servers"), "drfh").compile()
    size = f"{program.n_rows} rows, {program.n_columns} columns, {program.A.nnz} nonzeros"
    assert text.splitlines()[:2] == ["wrote model.mps", size]
    labelled = (current_folder / "model.mps").read_text(encoding="utf-8")
    assert "capacity.server1.cpu" in labelled
    run("export two-servers -m drfh -o model.mps --no-labels --profile full")
    numbered = (current_folder / "model.mps").read_text(encoding="utf-8")
    assert "OBJSENSE" in numbered
    assert "\n C  capacity" not in numbered
    run("export two-servers -o model.lp.gz")
    assert (current_folder / "model.lp.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_export_says_that_a_leximin_is_written_as_its_first_round(current_folder):
    note = "the first round of a leximin: its optimum is the smallest level"
    assert note in run("export wang-figure-1 -m drfh -o m.mps").stdout
    assert "first round" not in run("export wang-figure-1 -m psdsf-rdm -o m.mps").stdout
    assert "first round" in run("export --help").stdout
    run("export wang-figure-1 -m drfh -o m.mps")
    answers = json.loads(run("solve m.mps --json").stdout)["answers"]
    rounds = fairlp.allocate(examples.load("wang-figure-1"), "drfh", method="lp").rounds
    assert answers[0]["objective"] == pytest.approx(rounds["level"].iloc[0])


def test_without_a_file_the_model_is_printed():
    model = fairlp.formulate(examples.load("two-servers"), "tsf")
    assert run("export two-servers -m tsf").stdout == f"{model}\n"
    assert run("export two-servers -m tsf --latex").stdout == f"{model.to_latex()}\n"


@pytest.mark.parametrize(
    ("command", "list_rows"), [("mechanisms", fairlp.mechanisms), ("solvers", fairlp.solvers)]
)
def test_lists(command, list_rows):
    frame = list_rows()
    output = run(command).stdout
    assert all(name in output for name in frame.index)
    data = json.loads(run(command, "--json").stdout)
    assert data == [
        {str(frame.index.name): name, **row} for name, row in frame.to_dict(orient="index").items()
    ]
    table = pd.read_csv(StringIO(run(command, "--csv").stdout), index_col=0, keep_default_na=False)
    assert_same_numbers(table, frame)


@pytest.mark.parametrize("target", [None, "x.json", "x.yml"])
def test_an_example_is_written_and_read_back(current_folder, target):
    text = run("example khamse-ashari-figure-1", *(("-o", target) if target else ())).stdout
    written = [Path(line.removeprefix("wrote ")) for line in text.splitlines()]
    assert written
    assert all(path.exists() for path in written)
    instance = load_instance(target or "khamse-ashari-figure-1.yaml")
    assert instance.equals(examples.load("khamse-ashari-figure-1"))
    assert run("allocate", target or "khamse-ashari-figure-1.yaml", "--csv").stdout


def test_an_example_replaces_nothing_unless_forced(current_folder):
    (current_folder / "ghodsi.yaml").write_text("mine", encoding="utf-8")
    assert "--force" in error_line(run("example ghodsi", code=3))
    assert (current_folder / "ghodsi.yaml").read_text(encoding="utf-8") == "mine"
    run("example ghodsi --force")
    assert load_instance("ghodsi.yaml").equals(examples.load("ghodsi"))


def test_a_file_of_fixed_columns_has_numbers_for_names(tmp_path):
    run("export ghodsi -o", tmp_path / "model.mps", "--profile", "fixed")
    content = (tmp_path / "model.mps").read_text(encoding="ascii")
    assert "ROWS" in content and all(
        len(line) <= 61 for line in content.splitlines() if line.startswith(" ")
    )


def test_a_solver_that_fails_alone_ends_the_command_and_beside_others_is_told(monkeypatch):
    run("export ghodsi -m drf -o drf.mps")

    monkeypatch.setattr(highs.Highs, "solve", raising(SolverError("out of luck")))
    assert "out of luck" in error_line(run("solve drf.mps --solver highs", code=ExitCode.SOLVER))
    outcome = run("solve drf.mps --compare highs,scipy", code=ExitCode.NO)
    assert "failed: out of luck" in outcome.stdout and "0.666667" in outcome.stdout


def test_a_failing_solver_fails_the_conformance(monkeypatch):
    import pandas as pd

    from fairlp import conformance

    table = pd.DataFrame(
        {"highs": ["passed", "failed"]}, index=pd.Index(["one", "two"], name="case")
    )
    table = table.rename_axis("solver", axis=1)
    monkeypatch.setattr(conformance, "matrix", lambda names=None: table)
    result = run("solvers highs --check", code=ExitCode.NO)
    assert (
        "Cases that a solver failed or left undecided" in result.stdout and "two" in result.stdout
    )


def test_a_mechanism_by_name_is_a_column_with_a_promise_a_line():
    lines = run("mechanisms drf").stdout.splitlines()
    promises = fairlp.mechanisms("drf").promises
    assert max(map(len, lines)) <= 20 + max(map(len, promises))
    assert lines[1].split() == ["mechanism", "drf"]
    entries = [line.removeprefix("promises").strip().rstrip(",") for line in lines]
    assert [entry for entry in entries if entry in promises] == list(promises)
    assert json.loads(run("mechanisms drf DRF --json").stdout)[0]["mechanism"] == "drf"
