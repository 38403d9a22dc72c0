"""The shell around the commands: errors in one line, exit codes, streams, completion, documentation."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import re
import sys

import numpy as np
import pytest
import typer

import fairlp
from cli_runner import IN_A_ROW, error_line, fairlp_in_a_shell, python, run
from fairlp import api, errors, examples
from fairlp.cli import ExitCode, app, main, output, parameters, studies
from fairlp.cli.app import MOVED
from fairlp.cli.output import json_text
from fairlp.cli.parameters import complete_instance, complete_mechanism, complete_solver
from fairlp.cli.simulations import complete_policy
from fairlp.errors import FairlpWarning, SolverError
from fairlp.solvers.backends import highs
from kubernetes_dumps import node, pod, written
from paths import DOCS
from profiles import PROFILE

DOCUMENT = DOCS / "command-line.md"


# errors


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "allocate google-clster",
            "no file or folder 'google-clster'.*did you mean 'google-cluster'",
        ),
        ("allocate ''", "no file or folder ''"),
        ("allocate ghodsi -m drhf", "did you mean 'drf"),
        ("allocate wang-figure-1 -m drf", "drf is not defined here: .*drfh"),
        ("allocate ghodsi --method rouds", "did you mean 'rounds'"),
        ("allocate ghodsi --solver higs", "did you mean 'highs"),
        ("allocate wang-figure-1 --option thread=1", "did you mean 'threads'"),
        ("compare ghodsi -m drf,tfs", "did you mean 'tsf'"),
        ("export ghodsi -o x.mps --option a=1", "no option 'a'"),
        ("export ghodsi -m tfs", "did you mean 'tsf'"),
        ("example ghosdi", "did you mean 'ghodsi'"),
        ("compare no.yaml --methods", "no file or folder 'no.yaml'"),
        ("allocate ghodsi -o no/where.txt", "there is no folder 'no'"),
        ("allocate ghodsi -o .", "it is a folder"),
        ("allocate ghodsi --plot no/where.png", "there is no folder 'no'"),
        (
            "allocate ghodsi --plot x.pngg",
            "cannot tell the format of figure 'x.pngg'; did you mean 'png'",
        ),
        ("allocate bad.yaml", "bad.yaml"),
        ("allocate bad.txt", "bad.txt"),
    ],
)
def test_an_error_is_one_line_that_helps(here, arguments, expected):
    for name in ("bad.yaml", "bad.txt"):
        (here / name).write_text("{[", encoding="utf-8")
    result = run(arguments, code=ExitCode.INPUT)
    assert re.search(expected, error_line(result))
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (3, "InstanceError FileFormatError UnknownNameError NotDefinedError ModelError"),
        (
            4,
            "SolverError SolverNotAvailableError UnsupportedError NoSolutionError "
            "NotConvergedError",
        ),
    ],
)
def test_exit_codes(monkeypatch, code, names):
    for name in names.split():
        monkeypatch.setattr(api, "allocate", raising(getattr(errors, name)("x")))
        assert error_line(run("allocate ghodsi", code=code)) == "error: x"


def raising(error):
    def fails(*_, **__):
        raise error

    return fails


def test_a_message_of_several_lines_becomes_one(monkeypatch):
    monkeypatch.setattr(api, "allocate", raising(errors.SolverError("one\ntwo")))
    assert error_line(run("allocate ghodsi", code=4)) == "error: one two"


def test_a_time_limit_is_an_error_of_the_solver():
    assert "time limit" in error_line(run("allocate wang-figure-1 --time-limit 0", code=4))


def test_interrupt(monkeypatch):
    monkeypatch.setattr(api, "allocate", raising(KeyboardInterrupt))
    assert error_line(run("allocate ghodsi", code=130)) == "error: interrupted"


@pytest.mark.parametrize(
    "arguments",
    [
        "allocat",
        "allocate",
        "allocate ghodsi --json --csv",
        "allocate ghodsi --json --table users",
        "allocate ghodsi --oversized x",
        "allocate ghodsi --time-limit -1",
        "allocate ghodsi --option threads",
        "allocate ghodsi --option threads=1 --option threads=2",
        "compare ghodsi --value x",
        "compare ghodsi -m drf,tsf --methods",
        "compare ghodsi --methods --no-merge",
        "compare ghodsi --methods --value tasks",
        "mechanisms drf --bibtex --json",
    ],
)
def test_usage(arguments):
    result = run(arguments, code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_bug_shows_its_traceback_and_has_a_code_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(api, "allocate", raising(ZeroDivisionError("x")))
    monkeypatch.setattr(sys, "argv", ["fairlp", "allocate", "ghodsi"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == ExitCode.BUG
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "unexpected ZeroDivisionError" in shown


def test_debug_shows_the_traceback(monkeypatch):
    assert "Traceback" in run("--debug allocate nothing", code=3).stderr
    monkeypatch.setenv("FAIRLP_DEBUG", "1")
    assert "Traceback" in run("allocate nothing", code=3).stderr


def test_other_warnings_are_left_alone():
    script = (
        "import warnings, fairlp.api, sys\n"
        "real = fairlp.api.allocate\n"
        "fairlp.api.allocate = lambda *a, **k: (warnings.warn('of another', UserWarning), real(*a, **k))[1]\n"
        "sys.argv = ['fairlp', 'allocate', 'ghodsi', '--csv']\n"
        "from fairlp.cli import main\n"
        "main()\n"
    )
    assert "UserWarning: of another" in python("-c", script).stderr


@pytest.mark.parametrize("old", MOVED)
def test_a_command_of_before_says_what_it_is_now(old):
    assert (
        error_line(run(*old.split(), "x", code=ExitCode.USAGE))
        == f"error: fairlp {old} is now: fairlp {MOVED[old]}"
    )
    assert MOVED[old].split()[0] in typer.main.get_command(app).commands


def test_there_are_few_commands_with_few_options_each():
    shared = (parameters.MethodOptions, output.DrawnReportOptions, studies.WorkerOptions)
    shared = {field.name for group in shared for field in dataclasses.fields(group)} | {"progress"}
    commands = typer.main.get_command(app).commands
    assert len(commands) <= 18
    for name, command in commands.items():
        own = [
            one.name
            for one in command.params
            if one.param_type_name == "option" and one.name not in shared
        ]
        assert len(own) <= 10, (name, own)


# streams


def test_a_pipe_cuts_and_colours_nothing():
    result = fairlp_in_a_shell("example")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    about = examples.table()["about"]
    assert all(line in result.stdout for line in about)


def test_json_survives_a_narrow_encoding(here):
    fairlp.Instance.from_arrays([[1.0]], [[9.0]], users=["é∑"], resources=["cpu"]).write("odd.json")
    commands = ("allocate odd.json -m drf --json", "export odd.json -m drf")
    result = python("-c", IN_A_ROW, *commands, PYTHONIOENCODING="ascii")
    found, _ = json.JSONDecoder().raw_decode(result.stdout)
    assert found["users"][0]["user"] == "é∑" and result.returncode == 0


def test_json_is_valid_where_there_is_no_number():
    given = {
        "a": [float("nan"), float("inf"), None, True, 1.5],
        "b": [np.int64(3), np.float64("nan")],
    }
    assert json.loads(json_text(given)) == {"a": [None, None, None, True, 1.5], "b": [3, None]}


def test_plots_are_written(here):
    assert "wrote a.png" in run("allocate wang-figure-1 --csv --plot a.png").stderr
    run("compare wang-figure-1 --csv --plot b.svg")
    assert (here / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (here / "b.svg").read_text(encoding="utf-8")


def test_a_plot_without_matplotlib_fails_before_the_work(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("allocate wang-figure-1 --plot a.png", code=ExitCode.SOLVER)
    assert 'pip install "fairlp[plot]"' in error_line(result)
    assert result.stdout == ""


# version, completion


def test_version():
    assert run("--version").stdout == f"fairlp {fairlp.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell):
    result = fairlp_in_a_shell(_FAIRLP_COMPLETE=f"source_{shell}")
    assert "_FAIRLP_COMPLETE" in result.stdout


COMPLETED = {
    "fairlp comp": {"compare"},
    "fairlp allocate google": {"google-cluster"},
    "fairlp allocate ghodsi -m c-": {"c-drfh"},
    "fairlp allocate ghodsi --solver highs-s": {"highs-simplex"},
    "fairlp example khamse-ashari-t": {"khamse-ashari-table-3"},
}
#: What Bash asks, once for each line of the arguments, in one process.
ASKED = """
import os, sys
from fairlp.cli import main
lines, sys.argv = sys.argv[1:], ["fairlp"]
for line in lines:
    os.environ |= {"_FAIRLP_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    try:
        main()
    except SystemExit:
        print("--")
"""


def test_the_shell_completes_names():
    result = python("-c", ASKED, *COMPLETED)
    *answers, rest = result.stdout.split("--\n")
    assert rest == "" and [set(answer.split()) for answer in answers] == list(COMPLETED.values()), (
        result.stderr
    )


def test_completion_of_lists_and_files(here):
    assert [name for name, _ in complete_mechanism("drfh,ts")] == ["drfh,tsf"]
    assert "highs-simplex" in complete_solver("highs")
    (here / "folder").mkdir()
    (here / "folder" / "a.yaml").touch()
    (here / "folder" / "b.txt").touch()
    assert ("folder/", "folder") in complete_instance("fo")
    assert complete_instance("folder/") == [("folder/a.yaml", "file")]
    assert "ghodsi" in [name for name, _ in complete_instance("gh")]


# the documentation


def test_every_command_and_option_is_documented():
    text = DOCUMENT.read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"fairlp {name}" in text
        for parameter in command.params:
            hidden = getattr(parameter, "hidden", False)
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert hidden or not option.startswith("--") or option in text, f"{name} {option}"
    for code in ExitCode:
        assert f"| {code.value} |" in text


#: Commands of the documentation that run at night: by day other tests call them with less to do.
LONG = (
    "report ",
    "library --solvers ",
    "reproduce 001 ",
    "counterexample drfh bottleneck --search ",
)


def test_every_command_of_the_documentation_runs(here):
    commands = re.findall(
        r"^\$ fairlp (.*)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert (
        all(sum(command.startswith(one) for command in commands) == 1 for one in LONG)
        and len(commands) > 25
    )
    for command in commands:
        if PROFILE == "nightly" or not command.startswith(LONG):
            run(command)


# Corners of commands: streams that cannot be set, pipes that close, terminals, files of another
# kind.


def test_a_warning_that_is_given_twice_is_told_once(monkeypatch):
    import warnings

    real = api.allocate

    def warns(*given, **how):
        for _ in range(2):
            warnings.warn("said before", FairlpWarning, stacklevel=1)
        return real(*given, **how)

    monkeypatch.setattr(api, "allocate", warns)
    assert run("allocate ghodsi --csv").stderr.count("said before") == 1


def test_a_reader_who_leaves_is_no_error_of_ours(monkeypatch):
    monkeypatch.setattr(api, "allocate", raising(OSError(errno.EPIPE, "Broken pipe")))
    result = run("allocate ghodsi", code=1)
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
    output.print_text(["word " * 30])
    assert (
        max(map(len, screen.getvalue().splitlines())) <= 40
        and len(screen.getvalue().splitlines()) > 3
    )


def test_names_without_labels_are_for_files_that_have_names():
    assert "--no-labels is for free MPS" in run("export ghodsi -o x.nl --no-labels", code=2).stderr
    assert "--no-labels" in run("export ghodsi -o x.mps --profile fixed --no-labels", code=2).stderr
    run("export ghodsi -o x.mps --no-labels")


def test_policies_are_completed():
    assert complete_policy("best") == ["best-fit"] and not complete_policy("no-such")


def test_a_study_is_replaced_when_asked_to():
    run("example study -o s.yaml")
    assert "exists already" in error_line(run("example study -o s.yaml", code=ExitCode.INPUT))
    run("example study -o s.yaml --force")


def test_a_solver_that_fails_alone_ends_the_command_and_beside_others_is_told(monkeypatch):
    run("export ghodsi -m drf -o drf.mps")

    monkeypatch.setattr(highs.Highs, "solve", raising(SolverError("out of luck")))
    assert "out of luck" in error_line(run("solve drf.mps --solver highs", code=ExitCode.SOLVER))
    both = run("solve drf.mps --compare highs,scipy", code=ExitCode.NO)
    assert "failed: out of luck" in both.stdout and "0.666667" in both.stdout


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


def test_an_allocation_where_nothing_has_a_price_or_a_round():
    fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]], task_limits=[0, 0]).write("nothing.json")
    said = run("allocate nothing.json -m drfh --method lp").stdout
    assert "Most expensive" not in said and "verified" in said


def test_a_counterexample_is_printed_without_a_file():
    assert "users" in run("counterexample drfh 'sharing incentive'").stdout


def test_an_audit_of_many_says_what_it_did_not_ask(monkeypatch, here):
    from fairlp.operations.reports import facts

    nodes = [node("n1"), pod("a", on="n1")]
    dump = written(here, *nodes)
    assert "not asked at this size" not in run("audit", dump).stdout
    monkeypatch.setattr(facts, "is_large", lambda instance: True)
    said = run("audit", dump).stdout
    assert "not asked at this size, unless by --property: " in said
