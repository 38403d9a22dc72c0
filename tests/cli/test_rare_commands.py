"""Corners of commands: streams that cannot be set, pipes that close, terminals, files of another kind."""

from __future__ import annotations

import errno
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import fairlp
from cli_runner import error_line, python, run
from fairlp import api
from fairlp.cli import ExitCode, output
from fairlp.cli.simulations import complete_policy
from fairlp.errors import FairlpWarning, SolverError
from fairlp.solvers.backends import highs
from kubernetes_dumps import node, pod, written


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_warning_that_is_given_twice_is_told_once(monkeypatch):
    import warnings

    real = api.allocate

    def warns(*given, **how):
        for _ in range(2):
            warnings.warn("said before", FairlpWarning, stacklevel=1)
        return real(*given, **how)

    monkeypatch.setattr(api, "allocate", warns)
    assert run("allocate", "ghodsi", "--csv").stderr.count("said before") == 1


def test_a_reader_who_leaves_is_no_error_of_ours(monkeypatch):
    def closed(*_, **__):
        raise OSError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(api, "allocate", closed)
    result = run("allocate", "ghodsi", code=1)
    assert "error: " not in result.stderr


def test_streams_that_cannot_be_set_are_left_as_they_are():
    script = (
        "import io, sys\n"
        "class Plain:\n"
        "    def __init__(self): self.text = ''\n"
        "    def write(self, text): self.text += text\n"
        "    def flush(self): pass\n"
        "    def isatty(self): return False\n"
        "real, sys.stdout = sys.stdout, Plain()\n"
        "sys.argv = ['fairlp', 'mechanisms', '--csv']\n"
        "from fairlp.cli import main\n"
        "try:\n    main()\nexcept SystemExit as left:\n    assert not left.code\n"
        "real.write(sys.stdout.text)\n"
    )
    assert python("-c", script).stdout.startswith("mechanism,title,source")


def test_a_terminal_gets_what_fits_its_width(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    output.print_text(lambda console: console.print("word " * 30))
    assert max(map(len, screen.getvalue().splitlines())) <= 40 and len(screen.getvalue().splitlines()) > 3


def test_numbers_of_numpy_are_json():
    assert json.loads(output.json_text({"a": np.float64(1.5), "b": [np.int64(3), np.float64("nan")]})) == {
        "a": 1.5,
        "b": [3, None],
    }


def test_names_without_labels_are_for_files_that_have_names():
    assert "--no-labels is for free MPS" in run("export", "ghodsi", "-o", "x.nl", "--no-labels", code=2).stderr
    assert "--no-labels" in run("export", "ghodsi", "-o", "x.mps", "--profile", "fixed", "--no-labels", code=2).stderr
    run("export", "ghodsi", "-o", "x.mps", "--no-labels")


def test_policies_are_completed():
    assert complete_policy("best") == ["best-fit"] and not complete_policy("no-such")


def test_a_study_is_replaced_when_asked_to():
    run("study", "example", "-o", "s.yaml")
    assert "exists already" in error_line(run("study", "example", "-o", "s.yaml", code=ExitCode.INPUT))
    run("study", "example", "-o", "s.yaml", "--force")


def test_a_solver_that_fails_alone_ends_the_command_and_beside_others_is_told(monkeypatch):
    run("export", "ghodsi", "-m", "drf", "-o", "drf.mps")

    def fails(*_, **__):
        raise SolverError("out of luck")

    monkeypatch.setattr(highs.Highs, "solve", fails)
    assert "out of luck" in error_line(run("solve", "drf.mps", "--solver", "highs", code=ExitCode.SOLVER))
    both = run("solve", "drf.mps", "--compare", "highs,scipy", code=ExitCode.NO)
    assert "failed: out of luck" in both.stdout and "0.666667" in both.stdout


def test_a_failing_solver_fails_the_conformance(monkeypatch):
    import pandas as pd

    from fairlp import conformance

    table = pd.DataFrame({"highs": ["passed", "failed"]}, index=pd.Index(["one", "two"], name="case"))
    table = table.rename_axis("solver", axis=1)
    monkeypatch.setattr(conformance, "matrix", lambda names=None: table)
    result = run("conformance", "highs", code=ExitCode.NO)
    assert "Cases that a solver failed or left undecided" in result.stdout and "two" in result.stdout


def test_an_allocation_where_nothing_has_a_price_or_a_round():
    fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]], task_limits=[0, 0]).write("nothing.json")
    said = run("allocate", "nothing.json", "-m", "drfh", "--method", "lp").stdout
    assert "Most expensive" not in said and "verified" in said


def test_a_counterexample_is_printed_without_a_file():
    assert "users" in run("counterexample", "drfh", "sharing incentive").stdout


def test_an_audit_of_many_says_what_it_did_not_ask(monkeypatch):
    from fairlp.operations.reports import facts

    nodes = [node("n1"), pod("a", on="n1")]
    dump = written(Path("."), *nodes)
    assert "not asked at this size" not in run("audit", dump).stdout
    monkeypatch.setattr(facts, "is_large", lambda instance: True)
    said = run("audit", dump).stdout
    assert "not asked at this size, unless by --property: " in said
