"""The application: errors and warnings in a line each, exit codes, quick start, files that no answer replaces."""

from __future__ import annotations

import dataclasses
import errno
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from itertools import product

import pandas as pd
import pytest
import typer

import fairlp
from cli_runner import IN_A_ROW, JOBS, error_line, fairlp_in_a_shell, python, raising, run
from fairlp import api, errors
from fairlp.cli import ExitCode, app, main, output, parameters
from fairlp.cli.app import HEAVY, import_late
from fairlp.errors import MOST_LETTERS, FairlpWarning
from fairlp_clusters.commands import parameters as clusters
from fairlp_research.commands import studies
from paths import DOCS
from profiles import PROFILE, by_day

pytestmark = pytest.mark.usefixtures("jobs")


def test_a_warning_is_one_line_and_not_said_twice(oversized):
    result = run("allocate", oversized)
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the task of user 'big' fits no single")
    assert "fits no single" not in result.stdout


def test_a_warning_names_options_as_the_command_line_spells_them(oversized):
    """Also where tasks are whole, and where a model is written."""
    (line,) = run("allocate", oversized).stderr.splitlines()
    assert line.endswith(
        "it is treated as divisible (--oversized drop or error are the other ways)"
    )
    (line,) = run("allocate", oversized, "--oversized", "drop").stderr.splitlines()
    assert line.endswith("; it gets nothing (--oversized drop)")
    (line,) = run("allocate", oversized, "-m", "drfh-best-fit").stderr.splitlines()
    assert line.endswith("; it gets nothing, since tasks are whole")
    (line,) = run("export", oversized).stderr.splitlines()
    assert line.endswith("; the model lets fractions of it run")


module = importlib.import_module("fairlp.cli.app")


def test_an_error_of_the_callers_own_function_is_no_bug_of_ours(monkeypatch, capsys):
    error = ZeroDivisionError("careless")
    error.add_note("in mechanism 'mine'")

    def raises(**_):
        raise error

    monkeypatch.setattr(module, "app", raises)
    with pytest.raises(SystemExit) as exit_error:
        module.main()
    output = capsys.readouterr().err
    assert exit_error.value.code == ExitCode.INPUT
    assert (
        output.splitlines()[-1] == "error: ZeroDivisionError, in mechanism 'mine': careless"
        and "bug" not in output
    )


@pytest.mark.parametrize(
    ("command", "name", "option"),
    [
        ("allocate two.yaml -o two.yaml", "two.yaml", "--output"),
        ("allocate two.json -o ./two.json --json", "two.json", "--output"),
        ("allocate two.json --proof two.json", "two.json", "--proof"),
        ("report two.yaml -o two.yaml", "two.yaml", "--output"),
        ("solve two.mps -o two.mps", "two.mps", "--output"),
        ("audit two.yaml --allocation runs.csv -o runs.csv", "runs.csv", "--output"),
        ("simulate two.yaml jobs.csv --save-jobs jobs.csv", "jobs.csv", "--save-jobs"),
        ("allocate dump -o dump/nodes.json", "dump/nodes.json", "--output"),
        ("simulate dump jobs.csv --save-jobs dump/nodes.json", "dump/nodes.json", "--save-jobs"),
    ],
)
def test_an_answer_does_not_replace_what_is_read(command, name, option, folder_with_newcomers):
    before = (folder_with_newcomers / name).read_bytes()
    outcome = run(command, code=ExitCode.INPUT)
    assert error_line(outcome) == (
        f"error: '{name}' is a file that this command reads, and its answer would replace it; choose "
        f"another file for {option}"
    )
    assert (folder_with_newcomers / name).read_bytes() == before


DOCUMENT = DOCS / "command-line.md"


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
def test_an_error_is_one_line_that_helps(current_folder, arguments, expected):
    for name in ("bad.yaml", "bad.txt"):
        (current_folder / name).write_text("{[", encoding="utf-8")
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


def test_a_time_limit_is_an_error_of_the_solver():
    assert "time limit" in error_line(run("allocate wang-figure-1 --time-limit 0", code=4))


def test_interrupt(monkeypatch):
    monkeypatch.setattr(api, "allocate", raising(KeyboardInterrupt))
    assert error_line(run("allocate ghodsi", code=130)) == "error: interrupted"


def test_a_bug_shows_its_traceback_and_has_a_code_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(api, "allocate", raising(ZeroDivisionError("x")))
    monkeypatch.setattr(sys, "argv", ["fairlp", "allocate", "ghodsi"])
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == ExitCode.BUG
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert "unexpected ZeroDivisionError" in text


def test_debug_shows_the_traceback(monkeypatch):
    assert "Traceback" in run("--debug allocate nothing", code=3).stderr
    monkeypatch.setenv("FAIRLP_DEBUG", "1")
    assert "Traceback" in run("allocate nothing", code=3).stderr


@pytest.mark.slow
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


def test_there_are_few_commands_with_few_options_each():
    shared = (
        parameters.MethodOptions,
        output.DrawnReportOptions,
        studies.WorkerOptions,
        clusters.AdjustOptions,
        clusters.PeriodOptions,
    )
    shared = {field.name for group in shared for field in dataclasses.fields(group)} | {"progress"}
    commands = typer.main.get_command(app).commands
    assert len(commands) <= 18
    for name, command in commands.items():
        options = [
            option.name
            for option in command.params
            if option.param_type_name == "option" and option.name not in shared
        ]
        assert len(options) <= 10, (name, options)


def test_version():
    assert run("--version").stdout == f"fairlp {fairlp.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell):
    result = fairlp_in_a_shell(_FAIRLP_COMPLETE=f"source_{shell}")
    assert "_FAIRLP_COMPLETE" in result.stdout


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


@pytest.mark.slow
def test_every_command_of_the_documentation_runs(current_folder):
    commands = re.findall(
        r"^\$ fairlp (.*)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert (
        all(sum(command.startswith(start) for command in commands) == 1 for start in LONG)
        and len(commands) > 25
    )
    for command in commands:
        if PROFILE == "nightly" or not command.startswith(LONG):
            run(command)


def test_a_warning_that_is_given_twice_is_told_once(monkeypatch):
    import warnings

    real = api.allocate

    def warns(*arguments, **options):
        for _ in range(2):
            warnings.warn("said before", FairlpWarning, stacklevel=1)
        return real(*arguments, **options)

    monkeypatch.setattr(api, "allocate", warns)
    assert run("allocate ghodsi --csv").stderr.count("said before") == 1


def test_a_reader_who_leaves_is_no_error_of_ours(monkeypatch):
    monkeypatch.setattr(api, "allocate", raising(OSError(errno.EPIPE, "Broken pipe")))
    result = run("allocate ghodsi", code=1)
    assert "error: " not in result.stderr


#: of each package what is only there when it was really imported, and not something that stands for
#: it
REAL = {
    "numpy": "numpy",
    "pandas": "pandas.core",
    "scipy.sparse": "scipy.sparse._base",
    "scipy.linalg": "scipy.linalg._basic",
    "rich": "rich.console",
    **{
        name: name
        for name in ("highspy", "matplotlib", "cvxpy", "pyomo", "yaml", "jsonschema", "jinja2")
    },
    **{name: name for name in ("fairlp.api", "fairlp.models.programs.program")},
}


SOLVING = (
    "highspy",
    "matplotlib",
    "cvxpy",
    "pyomo",
    "yaml",
    "jsonschema",
    "jinja2",
    "scipy.sparse",
    "scipy.linalg",
)


def test_the_package_runs_as_a_module():
    process = python("-m", "fairlp", "--version")
    assert process.stdout == f"fairlp {fairlp.__version__}\n", process.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "needless"),
    [
        (["--help", "--version", "study --help"], list(REAL)),
        (["mechanisms"], [*SOLVING, "pandas", "fairlp.api"]),
        (["allocate ghodsi"], SOLVING),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_use(commands, needless):
    process = python("-c", f"{IN_A_ROW}print(*sys.modules, file=sys.stderr)", *commands)
    assert process.returncode == 0 and process.stdout, process.stderr
    modules = set(process.stderr.split())
    assert not [name for name in needless if REAL[name] in modules]
    assert "fairlp.cli" in modules


@pytest.mark.slow
def test_what_is_imported_late_is_the_package():
    script = (
        "import sys\n"
        "from fairlp.cli.app import HEAVY, import_late\n"
        "import_late()\n"
        "assert all(name in sys.modules for name in HEAVY)\n"
        "import pandas as pd, scipy.sparse as sp\n"
        "from scipy import linalg\n"
        "from scipy import sparse\n"
        "assert 'pandas.core' not in sys.modules and 'scipy.sparse._base' not in sys.modules\n"
        "print(pd.DataFrame({'a': [1, 2]}).a.sum(), sp.eye_array(3).nnz, sparse.csr_array, linalg.det([[2.0]]))\n"
        "import pandas, pickle\n"
        "assert pandas is not pd and pandas.DataFrame is pd.DataFrame and sys.modules['pandas'] is pandas\n"
        "assert pickle.loads(pickle.dumps(pandas.Series([3]))).item() == 3\n"
        "from scipy.sparse import csr_array\n"
        "assert csr_array is sparse.csr_array\n"
        "try:\n    pd.no_such_name\nexcept AttributeError as error:\n    print(error)\n"
    )
    process = python("-c", script)
    assert process.stdout.splitlines() == [
        "3 3 <class 'scipy.sparse._csr.csr_array'> 2.0",
        "module 'pandas' has no attribute 'no_such_name'",
    ], process.stderr


def test_what_is_there_stays():
    before = {name: sys.modules.get(name) for name in HEAVY if name in sys.modules}
    assert before["pandas"] is pd
    import_late(tuple(before))
    assert {name: sys.modules[name] for name in before} == before


COMMANDS = [
    "allocate PIPE.json",
    "allocate PIPE.yaml",
    "allocate ghodsi -m drf --csv -o PIPE.json/x.csv",
    "audit ghodsi --allocation PIPE.csv",
    "solve PIPE.mps",
    "solve PIPE.lp.gz",
    "simulate ghodsi PIPE.csv",
    "study PIPE.yaml",
    "study PIPE.parquet",
]


def test_a_pipe_is_refused(current_folder):
    for name in {
        word for word in " ".join(COMMANDS).split() if word.startswith("PIPE") and "/" not in word
    }:
        os.mkfifo(current_folder / name)
    for command in COMMANDS:
        assert re.search("pipe|no folder", error_line(run(command, code=ExitCode.INPUT))), command


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("allocate X", ExitCode.INPUT),
        ("allocate ghodsi -m X", ExitCode.INPUT),
        ("allocate ghodsi --method X", ExitCode.INPUT),
        ("allocate ghodsi --solver X", ExitCode.INPUT),
        ("simulate ghodsi jobs.csv -p X", ExitCode.INPUT),
        ("solve X.mps", ExitCode.INPUT),
        ("study X.yaml", ExitCode.INPUT),
    ],
)
def test_every_message_is_cut_and_says_so(command, code, current_folder):
    message = run(command.replace("X", "x" * 100_000), code=code).stderr
    assert (
        "characters are left out" in message
        or "too long" in message.lower()
        or "xxx…'" in message  # a value that is quoted shortly
    )
    assert len(message) < 4 * MOST_LETTERS


@pytest.mark.slow
def test_a_table_of_a_process_is_read(current_folder):
    """A stream that this process was given is no stranger's pipe."""
    import subprocess
    import sys

    from cli_runner import SOURCE

    command = "simulate wang-figure-1 /dev/stdin --csv --no-progress"
    code = f"import sys; sys.path.insert(0, {SOURCE!r}); from fairlp.cli import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        input=JOBS, capture_output=True, encoding="utf-8", check=False, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0 and process.stdout.startswith("policy,"), process.stderr


@pytest.mark.slow
def test_the_exit_code_of_a_shell(current_folder):
    (current_folder / "x.json").write_bytes(b"\0" * 100)
    process = fairlp_in_a_shell("allocate x.json")
    assert process.returncode == ExitCode.INPUT and "Traceback" not in process.stderr


CLOSED = [">&-", ">/dev/full"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
@pytest.mark.parametrize(
    ("command", "stream"),
    by_day(
        product(
            ["compare ghodsi", "--help", "--version", "solvers --json", "export ghodsi"], CLOSED
        ),
        5,
    ),
)
def test_an_answer_without_a_place_is_an_error(command, stream, current_folder):
    code = (
        f"{shlex.quote(sys.executable)} -c 'from fairlp.cli import main; main()' {command} {stream}"
    )
    outcome = subprocess.run(["sh", "-c", code], capture_output=True, text=True, check=False)
    assert outcome.returncode == ExitCode.INPUT and outcome.stdout == ""
    message = "standard output is closed" if stream == ">&-" else "No space left on device"
    assert message in error_line(outcome)


@pytest.mark.slow
def test_a_file_is_not_opened_in_the_place_of_a_closed_stream(current_folder):
    code = "from fairlp.cli import main; main()"
    command = (
        f"{shlex.quote(sys.executable)} -c '{code}' allocate ghodsi -o answer.json >&- 2>&- <&-"
    )
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 0
    assert json.loads((current_folder / "answer.json").read_text(encoding="utf-8"))
