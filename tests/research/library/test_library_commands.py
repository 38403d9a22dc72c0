"""`fairlp library`, with `--write` and `--solvers`: tables, files, figures, and what is told of mistakes."""

from __future__ import annotations

import json
from io import StringIO

import pandas as pd
import pytest

import fairlp
from cli_runner import run
from fairlp.cli.studies import complete_entry
from fairlp.models.programs import backends
from fairlp.research.library import running


def test_the_list_is_the_table():
    text = run("library").stdout
    assert "Why they are hard" in text and all(name in text for name in fairlp.library.names())
    rows = json.loads(run("library", "--size", "medium", "--json").stdout)
    table = fairlp.library.table("medium")
    assert [row["name"] for row in rows] == list(table.index)
    assert rows[0]["variables"] == table["variables"].iloc[0] and rows[-1]["known optimum"] == 1.0
    assert [row["rows"] for row in rows if row["name"] == "pai-2020"] == [None]
    assert [
        row["name"] for row in json.loads(run("library", "--only", "zeros,ties", "--json").stdout)
    ] == [
        "zeros",
        "ties",
    ]


def test_a_set_is_written(tmp_path):
    done = run(
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
    files = ["ties.mps.gz", "whole-pool.mps.gz", "zeros.mps.gz", "index.csv", "index.json"]
    assert done.stdout.splitlines() == [f"wrote {tmp_path / 'set' / name}" for name in files]
    index = pd.read_csv(tmp_path / "set" / "index.csv", index_col="name")
    program = fairlp.read_program(tmp_path / "set" / index.loc["zeros", "file"])
    assert program.solve().objective == pytest.approx(index.loc["zeros", "optimum"], rel=1e-9)


def test_what_has_no_file_is_told(tmp_path, monkeypatch):
    notes = {"ties": "", "njc-circle": "no MPS: it has logarithms", "pai-2020": "left out: no data"}
    index = pd.DataFrame(
        {"file": ["ties.mps", None, None], "note": notes.values()}, index=list(notes)
    )
    monkeypatch.setattr(fairlp.library, "write_all", lambda *_, **__: index)
    done = run("library", "--write", tmp_path)
    assert done.stdout.splitlines() == [
        f"wrote {tmp_path / 'ties.mps'}",
        "no MPS: it has logarithms",
        f"wrote {tmp_path / 'index.csv'}",
        f"wrote {tmp_path / 'index.json'}",
    ]
    assert done.stderr.splitlines() == ["warning: left out: no data"]


def test_names_of_entries_are_completed():
    assert complete_entry("tie") == ["ties"]
    assert complete_entry("ties,zer") == ["ties,zeros"]
    assert complete_entry("") == list(fairlp.library.names()) and complete_entry("ies") == []


def planted(seconds):
    """A process whose answers to any entry are right, and take so long by solver."""

    class Planted:
        def __init__(self, solver, memory):
            self.solver = str(solver)

        def ask(self, asked, limit):
            entry = fairlp.library.load(
                asked["name"], asked["size"], asked["seed"], **asked["parameters"]
            )
            took = seconds[self.solver]
            if took is KeyboardInterrupt and asked["name"] != "ties":
                raise KeyboardInterrupt
            if took is KeyboardInterrupt:
                took = 1.0
            if took > limit:
                return {"status": "time limit", "message": f"ended after {limit:g} s"}
            value = float(entry.optimum.value)
            certificate = {
                "primal_residual": 0.0,
                "dual_residual": 0.0,
                "gap": 0.0,
                "feasible": True,
                "optimal": True,
            }
            told = {
                "status": "optimal",
                "message": "optimal",
                "seconds": took,
                "objective": value,
                "terms": value,
            }
            return {**told, **certificate}

        def end(self):
            pass

    return Planted


def test_solvers_are_run_and_a_profile_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(
        running, "SolverProcess", planted({"highs": 1.0, "scipy": 3.0, "glpk": 99.0})
    )
    words = [
        "library",
        "--solvers",
        "highs,scipy,glpk",
        "--only",
        "ties,whole-pool",
        "--time-limit",
        10,
    ]
    text = run(*words, "--plot", tmp_path / "p.svg").stdout
    assert (
        "Performance profile, LP (1 programs)" in text
        and "Performance profile, all 2 programs" in text
    )
    assert "ended after 10 s" in text and "Not accepted" in text
    both = run("library", "--solvers", "highs,scipy", "--only", "ties", "--time-limit", 10).stdout
    assert "Performance profile, all 1 programs" in both and "Not accepted" not in both
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()
    run(*words, "-o", tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["settings"]["time_limit"] == 10 and data["complete"]
    profile = {row["solver"]: row for row in data["profile"]}
    assert [profile[name]["within 1"] for name in data["solvers"]] == [1, 0, 0]
    assert [profile[name]["within 5"] for name in data["solvers"]] == [1, 1, 0]
    table = pd.read_csv(StringIO(run(*words, "--csv").stdout))
    assert table["status"].tolist() == ["optimal", "optimal", "time limit"] * 2


def test_ctrl_c_keeps_what_is_done(monkeypatch, tmp_path):
    monkeypatch.setattr(
        running, "SolverProcess", planted({"highs": 1.0, "scipy": KeyboardInterrupt})
    )
    words = [
        "library",
        "--solvers",
        "highs,scipy",
        "--only",
        "ties,zeros",
        "-o",
        tmp_path / "r.csv",
    ]
    done = run(*words, code=130)
    assert "interrupted; 3 of 4 answers are kept" in done.output
    table = pd.read_csv(tmp_path / "r.csv")
    assert list(zip(table["entry"], table["solver"], strict=True)) == [
        ("ties", "highs"), ("ties", "scipy"), ("zeros", "highs"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--size", "tiny"], 2, "tiny"),
        (["--data", "pai-2020"], 2, "NAME=VALUE"),
        (["--data", "ties=x"], 3, "needs no data"),
        (["--write", "x", "--only", "tie"], 3, "did you mean 'ties'"),
        (
            ["--write", "x", "--only", "pai-2020", "--data", "pai-2020=nowhere"],
            3,
            "no folder 'nowhere'",
        ),
        (["--solvers", "highs", "--only", "ties,pai-2020"], 3, "pai2020_machine_spec.csv"),
        (["--solvers", "hihgs", "--only", "ties"], 3, "did you mean 'highs'"),
        (["--solvers", "highs", "--only", "ties", "--time-limit", "0"], 2, "time-limit"),
        (["--solvers", "highs", "--only", "ties", "--plot", "x.abc"], 3, "abc"),
        (["--solvers", "highs", "--only", "ties", "-o", "no/r.json"], 3, "no folder"),
        (["--only", "tie"], 3, "did you mean 'ties'"),
        (["--repeat", "2"], 2, "say --solvers"),
        (["--plot", "x.svg"], 2, "say --solvers"),
        (["--write", "x", "--json"], 2, "leave out"),
    ],
)
def test_what_is_asked_wrongly_is_told(words, code, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert told in run("library", *words, code=code).output
    assert not list(tmp_path.iterdir())


def test_a_solver_that_is_not_here_is_refused():
    absent = next(name for name in backends.backend_names() if backends.why_not(name))
    done = run("library", "--solvers", f"highs,{absent}", "--only", "ties", code=4)
    assert "is not available" in done.output


def test_a_process_that_is_real():
    done = run("library", "--solvers", "highs", "--only", "ties", "--json", "--no-progress")
    (row,) = json.loads(done.stdout)["results"]
    assert row["verdict"] == "certified" and 0 < row["seconds"] < 60
