"""How the tests of the command line call it."""

import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import typer.testing

import fairlp
from fairlp.cli import app

#: Typer makes the commands of an app anew for each call, which takes longer than most calls: here
#: they are made once.
typer.testing._get_command = cache(typer.main.get_command)
#: Commands one after the other in a new process, each argument is one.
IN_A_ROW = """
import sys
from fairlp.cli import main
for line in sys.argv[1:]:
    sys.argv = ["fairlp", *line.split()]
    try:
        main()
    except SystemExit as left:
        assert not left.code
"""
SOURCE = str(Path(fairlp.__file__).parents[1])


def words(line="", *arguments):
    """The words of a command line: its beginning as it is typed, then arguments that stay as they are."""
    return [*shlex.split(line), *map(str, arguments)]


def run(*arguments, code=0):
    result = typer.testing.CliRunner().invoke(app, words(*arguments), prog_name="fairlp")
    assert result.exit_code == code, result.output
    return result


def python(*arguments, **environment):
    """Run in a new interpreter, as the shell does."""
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def fairlp_in_a_shell(*arguments, **environment):
    return python("-c", "from fairlp.cli import main; main()", *words(*arguments), **environment)


def error_line(result):
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]
