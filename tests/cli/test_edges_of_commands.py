"""What commands print where there is little to print, and where somebody else's function raises."""

from __future__ import annotations

import dataclasses
import importlib
import io
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import fairlp
from cli_runner import run
from fairlp import Instance
from fairlp.cli import ExitCode, programs, reports, standings
from fairlp.reports.standing import Standing
from fairlp.reports.subject import subject_of

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
