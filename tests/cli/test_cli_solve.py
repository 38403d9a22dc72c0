"""``fairlp solve`` and ``fairlp solvers --check``: files of anywhere, several solvers, reasons, exit codes."""

from __future__ import annotations

import json

import pytest

import fairlp
from cli_runner import error_line, run
from fairlp import Model, examples
from fairlp.cli import ExitCode
from fairlp.conformance.__main__ import capability_rows
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


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ("solve nowhere.mps", ExitCode.INPUT, "nowhere.mps"),
        ("solve drfh.mps --solver higs", ExitCode.INPUT, "did you mean 'highs"),
        ("solve drfh.mps --solver cvxpy:GUROBI", ExitCode.SOLVER, "not installed"),
        ("solvers higs --check", ExitCode.INPUT, "did you mean 'highs"),
    ],
)
def test_errors(drfh, monkeypatch, arguments, code, expected):
    monkeypatch.chdir(drfh.parent)
    assert expected in error_line(run(arguments, code=code))


def test_conformance_counts_the_cases():
    result = run("solvers highs scipy --check --json")
    table = json.loads(result.stdout)
    assert len(table) > 40 and all(row["highs"] == "passed" == row["scipy"] for row in table)
    assert "undecided" in run("solvers highs --check").stdout


def test_the_table_in_the_docs_is_the_declared_one():

    text = (DOCS / "solvers.md").read_text(encoding="utf-8")
    assert "\n".join(capability_rows()) in text
    for name in fairlp.solvers().index:
        assert f"`{name}`" in text
