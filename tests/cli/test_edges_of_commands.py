"""What commands print where there is little to print, and where somebody else's function raises."""

from __future__ import annotations

import dataclasses
import importlib
import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import fairlp
from cli_runner import run
from fairlp import Instance
from fairlp.cli import ExitCode, programs, reports, standings, tables
from fairlp.mechanisms.literature import REFERENCES
from fairlp.operations.reports.standing import Standing
from fairlp.operations.reports.subject import subject_of

module = importlib.import_module("fairlp.cli.app")


def printed(function, *given):
    console = Console(file=io.StringIO(), width=200)
    function(console, *given)
    return console.file.getvalue()


def satisfied():
    return Instance.from_arrays([[1.0], [1.0]], [[8.0]], task_limits=[2.0, 2.0])


def test_an_error_of_the_callers_own_function_is_no_bug_of_ours(monkeypatch, capsys):
    error = ZeroDivisionError("careless")
    error.add_note("in mechanism 'mine'")

    def raises(**_):
        raise error

    monkeypatch.setattr(module, "app", raises)
    with pytest.raises(SystemExit) as left:
        module.main()
    told = capsys.readouterr().err
    assert left.value.code == ExitCode.INPUT
    assert told.splitlines()[-1] == "error: ZeroDivisionError, in mechanism 'mine': careless" and "bug" not in told


def test_a_file_of_fixed_columns_has_numbers_for_names(tmp_path):
    run("export", "ghodsi", "-o", tmp_path / "model.mps", "--profile", "fixed")
    found = (tmp_path / "model.mps").read_text(encoding="ascii")
    assert "ROWS" in found and all(len(line) <= 61 for line in found.splitlines() if line.startswith(" "))


def test_variables_of_a_solver_without_reduced_costs_are_values_only():
    program = SimpleNamespace(column_names=["x", "y"])
    found = programs._values(program, SimpleNamespace(x=np.array([1.0, 0.0]), column_duals=None))
    assert list(found.columns) == ["value"] and found["value"].to_dict() == {"x": 1, "y": 0}


def test_an_ending_without_a_reason_is_not_explained():
    late = SimpleNamespace(status=SimpleNamespace(termination=fairlp.Termination.TIME_LIMIT))
    assert printed(programs._report_reason, None, late) == ""


def test_prices_that_are_all_zero_and_times_that_are_unknown_are_not_printed():
    found = dataclasses.replace(fairlp.allocate(satisfied(), "drfh"), prices_array=np.zeros((1, 1)))
    text = printed(reports.report_allocation, found)
    assert "times" in text and "Most expensive capacities" not in text
    assert "times" not in printed(reports.report_allocation, dataclasses.replace(found, times={}))


def test_a_standing_without_queues_is_told_by_user():
    text = printed(standings.report_standing, Standing.of(subject_of(satisfied(), np.array([[2.0], [1.0]])), "drfh"))
    assert "By user" in text and "By queue" not in text


def on_a_terminal(frame, **how):
    console = Console(file=io.StringIO(), width=44, force_terminal=True, color_system=None)
    tables.report_table(console, frame, "Tasks", **how)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_terminal_gets_a_wide_table_of_numbers_in_parts():
    names = [f"server-{k}" for k in range(6)]
    frame = pd.DataFrame(np.arange(18.0).reshape(3, 6) / 3, index=["ann", "bob", "cid"], columns=names)
    lines = on_a_terminal(frame.rename_axis("user"), shown=2, hint="--all")
    assert lines == [
        "Tasks",
        "user   server-0   server-1   server-2",
        37 * "─",
        "ann           0   0.333333   0.666667",
        "bob           2    2.33333    2.66667",
        "",
        "user   server-3   server-4   server-5",
        37 * "─",
        "ann           1    1.33333    1.66667",
        "bob           3    3.33333    3.66667",
        "… and 1 more (--all)",
        "",
    ]


def test_a_terminal_gets_a_table_with_words_whole():
    frame = pd.DataFrame({"number": [1.5, 2.0], "word": ["a " * 40, "b"]}, index=["x", "y"])
    lines = on_a_terminal(frame)
    assert lines[1].split() == ["number", "word"] and sum("number" in line for line in lines) == 1
    assert sum(line.count("a ") + line.endswith("a") for line in lines[2:]) == 40
    assert tables.side_by_side(frame, 10)[0] is frame


def test_papers_of_mechanisms_are_cited():
    every = run("cite").stdout
    assert every.count("\n@") + 1 == len(REFERENCES) and every.rstrip("\n").endswith(REFERENCES[-1].bibtex)
    two = run("cite", "drfh", "DRFH", "njc").stdout
    papers = list(dict.fromkeys([*fairlp.mechanisms("drfh").references, *fairlp.mechanisms("njc").references]))
    assert two == "\n\n".join(paper.bibtex for paper in papers) + "\n"
