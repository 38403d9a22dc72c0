"""`fairlp study`, `reproduce` and `library`: runs, files, workers, and the messages of mistakes."""

from __future__ import annotations

import json
import re
from io import StringIO

import pandas as pd
import pytest

import fairlp
import fairlp_research
from cli_runner import error_line, fairlp_in_a_shell, run
from fairlp.cli import ExitCode
from fairlp_research import study
from fairlp_research.library import running
from study_functions import make


def test_a_study_is_run_and_its_file_shown(current_folder):
    run("example", "study")
    outcome = run("study", "study.yaml", "--runs", 3, "--backend", "threading", "--workers", 2)
    assert outcome.stderr == "wrote study.parquet\n"
    assert "users=20, resources=2, demands=[1, 10]" in outcome.stdout
    assert "deviation.under_1" in outcome.stdout
    records = json.loads(run("study", "study.parquet", "--json").stdout)
    summary = study.Result.read("study.parquet").summary()
    assert [row["mean"] for row in records] == summary["mean"].tolist()
    runs = run("study", "study.parquet", "--table", "runs", "--csv").stdout.splitlines()
    columns = "point,users,resources,demands,reserves,run,key,jain.reference"
    assert len(runs) == 7 and runs[0].startswith(columns)
    assert "jain.asset" in run("study", "study.parquet", "--table", "runs").stdout
    assert run("study", "study.parquet", "-o", "x.csv").stdout == ""


def test_a_file_that_holds_the_study_is_shown_and_one_of_another_is_not_replaced(current_folder):
    run("example", "study")
    run("study", "study.yaml", "--runs", 3)
    content = (current_folder / "study.parquet").read_bytes()
    second = run("study", "study.yaml", "--runs", 3, "--json")
    assert second.stderr == "study.parquet has the runs of this study\n"
    assert second.stdout == run("study", "study.parquet", "--json").stdout
    fewer = run("study", "study.yaml", "--runs", 2, code=ExitCode.INPUT)
    assert "'study.parquet' holds a study that differs in runs" in error_line(fewer)
    text = (current_folder / "study.yaml").read_text(encoding="utf-8")
    (current_folder / "other.yaml").write_text(
        re.sub(r"seed: \d+", "seed: 99", text), encoding="utf-8"
    )
    outcome = run(
        "study", "other.yaml", "--runs", 3, "--results", "study.parquet", code=ExitCode.INPUT
    )
    assert "differs in seed; choose another --results, or delete it" in error_line(outcome)
    assert (current_folder / "study.parquet").read_bytes() == content
    assert run("study", "study.yaml", "--runs", 4).stderr == "wrote study.parquet\n"
    assert study.Result.read("study.parquet").definition["runs"] == 4


def test_a_file_of_another_fairlp_is_not_replaced(current_folder, monkeypatch):
    run("example", "study")
    run("study", "study.yaml", "--runs", 1)
    monkeypatch.setattr(fairlp, "__version__", "0.0.1")
    refused = run("study", "study.yaml", "--runs", 1, code=ExitCode.INPUT)
    assert "differs in fairlp (" in error_line(refused)


def test_a_folder_keeps_runs(current_folder, monkeypatch):
    make().write("small.yaml")
    monkeypatch.setenv("FAIRLP_TEST_LOG", str(current_folder / "log"))
    arguments = ["study", "small.yaml", "--allow-code", "--folder", "runs"]
    run(*arguments)
    run(*arguments, "--results", "again.parquet", "--backend", "threading", "--workers", 2)
    assert len((current_folder / "log").read_bytes().splitlines()) == 12
    assert (current_folder / "small.parquet").read_bytes() == (
        current_folder / "again.parquet"
    ).read_bytes()


def test_code_that_is_allowed_runs_again_since_it_may_have_changed(current_folder, monkeypatch):
    make().write("small.yaml")
    monkeypatch.setenv("FAIRLP_TEST_LOG", str(current_folder / "log"))
    for times in (1, 2):
        assert run("study", "small.yaml", "--allow-code").stderr == "wrote small.parquet\n"
        assert len((current_folder / "log").read_bytes().splitlines()) == 12 * times


@pytest.mark.slow
def test_functions_may_be_in_a_file_beside_the_study(current_folder):
    (current_folder / "sub").mkdir()
    (current_folder / "sub" / "beside_the_study.py").write_text(
        "def size(instance, allocations):\n    return {'users': len(instance.users)}\n",
        encoding="utf-8",
    )
    document = make(
        statistics=["jain"], generator="uniform-integers", grid={"users": [2], "resources": [1]}
    ).to_dict()
    document["statistics"] = ["beside_the_study:size"]
    (current_folder / "sub" / "s.json").write_text(json.dumps(document), encoding="utf-8")
    assert (
        fairlp_in_a_shell("study", "sub/s.json", "--workers", "2", "--allow-code").returncode == 0
    )
    assert study.Result.read("s.parquet").frame["size.users"].tolist() == [2] * 6


@pytest.mark.slow
def test_a_module_beside_a_study_replaces_none_that_fairlp_loads(current_folder):
    (current_folder / "sub").mkdir()
    (current_folder / "sub" / "joblib.py").write_text(
        "open('joblib ran', 'w').close()\n", encoding="utf-8"
    )
    make(
        generator="uniform-integers", grid=[{"users": 2, "resources": 2}], statistics=["jain"]
    ).write(current_folder / "sub" / "s.json")
    assert fairlp_in_a_shell("study", "sub/s.json").returncode == 0
    assert not list(current_folder.glob("* ran"))


def test_recorded_errors_make_the_exit_code_1(current_folder):
    make(grid={"users": [3], "fail_at": [0]}).write("s.yaml")
    assert "failed: ZeroDivisionError" in error_line(
        run("study", "s.yaml", "--allow-code", code=ExitCode.INPUT)
    )
    outcome = run("study", "s.yaml", "--allow-code", "--on-error", "record", code=ExitCode.NO)
    assert (
        "6 failed" in outcome.stdout
        and "run 0: ZeroDivisionError: a large demand" in outcome.stdout
    )


@pytest.mark.slow
def test_the_list_is_the_table():
    text = run("library").stdout
    assert "Why they are hard" in text and all(
        name in text for name in fairlp_research.library.names()
    )
    rows = json.loads(run("library", "--size", "medium", "--json").stdout)
    table = fairlp_research.library.table("medium")
    assert [row["name"] for row in rows] == list(table.index)
    assert rows[0]["variables"] == table["variables"].iloc[0] and rows[-1]["known optimum"] == 1.0
    assert [row["rows"] for row in rows if row["name"] == "alibaba-gpu"] == [None]
    assert [
        row["name"] for row in json.loads(run("library", "--only", "zeros,ties", "--json").stdout)
    ] == [
        "zeros",
        "ties",
    ]


def test_a_set_is_written(tmp_path):
    outcome = run(
        "library",
        "--write",
        tmp_path / "set",
        "--only",
        "ties,whole-pool",
        "--only",
        "zeros",
        "--suffix",
        ".mps.gz",
    )
    files = ["ties.mps.gz", "whole-pool.mps.gz", "zeros.mps.gz", "index.csv"]
    assert outcome.stdout.splitlines() == [f"wrote {tmp_path / 'set' / name}" for name in files]
    index = pd.read_csv(tmp_path / "set" / "index.csv", index_col="name")
    program = fairlp.read_program(tmp_path / "set" / index.loc["zeros", "file"])
    assert program.solve().objective == pytest.approx(index.loc["zeros", "optimum"], rel=1e-9)


#: Seconds that each planted solver takes.
SECONDS = {"highs": 1.0, "scipy": 3.0, "glpk": 99.0}


def planted(entry, solver, time_limit, memory, repeat):
    """A right answer without a process, after a planted time."""
    seconds = SECONDS[solver]
    if seconds > time_limit:
        return {"status": "time limit", "message": f"ended after {time_limit:g} s"}
    value = float(entry.optimum.value)
    return {
        "status": "optimal",
        "message": "optimal",
        "seconds": seconds,
        "objective": value,
        "terms": value,
        "primal_residual": 0.0,
        "dual_residual": 0.0,
        "gap": 0.0,
        "feasible": True,
        "optimal": True,
    }


def interrupted(entry, solver, *limits):
    """The same, with Ctrl-C when SciPy has another entry than ``ties``."""
    if solver == "scipy" and entry.name != "ties":
        raise KeyboardInterrupt
    return planted(entry, solver, *limits)


def test_solvers_are_run_and_a_profile_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "solve_apart", planted)
    arguments = [
        "library",
        "--solvers",
        "highs,scipy,glpk",
        "--only",
        "ties,whole-pool",
        "--time-limit",
        10,
    ]
    text = run(*arguments, "--plot", tmp_path / "p.svg").stdout
    assert (
        "Performance profile, LP (1 programs)" in text
        and "Performance profile, all 2 programs" in text
    )
    assert "ended after 10 s" in text and "Not accepted" in text
    output = run("library", "--solvers", "highs,scipy", "--only", "ties", "--time-limit", 10).stdout
    assert "Performance profile, all 1 programs" in output and "Not accepted" not in output
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()
    run(*arguments, "-o", tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["settings"]["time_limit"] == 10 and data["complete"]
    profile = {row["solver"]: row for row in data["profile"]}
    assert [profile[name]["within 1"] for name in data["solvers"]] == [1, 0, 0]
    assert [profile[name]["within 5"] for name in data["solvers"]] == [1, 1, 0]
    table = pd.read_csv(StringIO(run(*arguments, "--csv").stdout))
    assert table["status"].tolist() == ["optimal", "optimal", "time limit"] * 2


def test_ctrl_c_keeps_finished_solves(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "solve_apart", interrupted)
    arguments = [
        "library",
        "--solvers",
        "highs,scipy",
        "--only",
        "ties,zeros",
        "-o",
        tmp_path / "r.csv",
    ]
    outcome = run(*arguments, code=130)
    assert "interrupted; 3 of 4 answers are kept" in outcome.output
    table = pd.read_csv(tmp_path / "r.csv")
    assert list(zip(table["entry"], table["solver"], strict=True)) == [
        ("ties", "highs"), ("ties", "scipy"), ("zeros", "highs"),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_process_that_is_real():
    outcome = run("library", "--solvers", "highs", "--only", "ties", "--json", "--no-progress")
    (row,) = json.loads(outcome.stdout)["results"]
    assert row["verdict"] == "certified" and 0 < row["seconds"] < 60


def test_a_study_is_replaced_when_asked_to():
    run("example study -o s.yaml")
    assert "exists already" in error_line(run("example study -o s.yaml", code=ExitCode.INPUT))
    run("example study -o s.yaml --force")
