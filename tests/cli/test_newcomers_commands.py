"""What people do who meet the command line for the first time: nothing of theirs is lost, messages say what to do."""

from __future__ import annotations

import pytest

import fairlp
from cli_runner import error_line, run
from fairlp.cli import ExitCode


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    instance = fairlp.examples.load("two-servers")
    instance.write("two.yaml")
    instance.write("two.json")
    fairlp.formulate(instance, "drfh").write("two.mps")
    (tmp_path / "runs.csv").write_text("user,server1,server2\nuser1,1,0\nuser2,0,1\n", encoding="utf-8")
    (tmp_path / "jobs.csv").write_text("user,arrival,tasks,duration,cpu\nann,0,1,1,1\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept", "option"),
    [
        ("allocate two.yaml -o two.yaml", "two.yaml", "--output"),
        ("allocate two.json -o ./two.json --json", "two.json", "--output"),
        ("allocate two.json --proof two.json", "two.json", "--proof"),
        ("report two.yaml -o two.yaml", "two.yaml", "--output"),
        ("solve two.mps -o two.mps", "two.mps", "--output"),
        ("audit two.yaml --allocation runs.csv -o runs.csv", "runs.csv", "--output"),
        ("simulate two.yaml jobs.csv --save-jobs jobs.csv", "jobs.csv", "--save-jobs"),
    ],
)
def test_an_answer_does_not_replace_what_is_read(command, kept, option, here):
    before = (here / kept).read_bytes()
    done = run(*command.split(), code=ExitCode.INPUT)
    assert error_line(done) == (
        f"error: '{kept}' is what this command reads, and its answer would replace it; choose another file for {option}"
    )
    assert (here / kept).read_bytes() == before


def test_an_answer_replaces_an_older_answer(here):
    for _ in range(2):
        run("allocate", "two.yaml", "-o", "answer.txt")
    assert "drfh" in (here / "answer.txt").read_text(encoding="utf-8")


def test_a_report_is_not_called_what_it_is_not(here):
    pytest.importorskip("altair")
    line = error_line(run("report", "two.yaml", "-o", "report.pdf", code=ExitCode.INPUT))
    assert line == "error: cannot write 'report.pdf': a report is a page of HTML, not .pdf; expected .html"
    assert not (here / "report.pdf").exists()


@pytest.mark.parametrize("option", ["--tables", "--state"])
def test_a_folder_of_a_simulation_is_not_a_file(option, here):
    command = ["simulate", "two.yaml", "jobs.csv", option, "runs.csv"]
    line = error_line(run(*command, code=ExitCode.INPUT))
    assert line == "error: 'runs.csv' is a file; expected a folder, which may be a new one"


def test_a_search_is_offered_as_the_command_line_calls_it(here):
    line = error_line(run("counterexample", "drfh", "Pareto-optimal", code=ExitCode.INPUT))
    assert line.endswith("searches for one, --search on the command line")


@pytest.mark.parametrize("option", ["time_limit=soon", "primal_tolerance=x", "extra=3", "threads=2.5"])
def test_an_option_of_another_kind_is_told_in_a_line(option, here):
    line = error_line(run("allocate", "two.yaml", "--method", "lp", "--option", option, code=ExitCode.SOLVER))
    assert line.startswith(f"error: {option.split('=')[0]} is ") and "; expected " in line
