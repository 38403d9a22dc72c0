"""The application: version, warnings and errors in one line each, and exit codes."""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from enum import IntEnum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .._version import __version__
from ..errors import FairlpError, FairlpWarning, SolverError


class ExitCode(IntEnum):
    """What the exit code of ``fairlp`` says; the parser of the command line gives 2 (usage) by itself."""

    OK = 0
    NO = 1
    USAGE = 2
    INPUT = 3
    SOLVER = 4
    BUG = 70
    INTERRUPTED = 130


class _Group(TyperGroup):
    """Runs a command; errors and warnings of fairlp become one line each on standard error."""

    def invoke(self, ctx: Any) -> Any:
        ctx.obj = said = []  # warnings given so far: a report need not repeat them
        show = warnings.showwarning

        def say(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, FairlpWarning):
                show(message, category, *where, **more)
            elif str(message) not in said:
                said.append(str(message))
                tell("warning", str(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always", FairlpWarning)
            warnings.showwarning = say
            try:
                return super().invoke(ctx)
            except (FairlpError, OSError) as error:
                if isinstance(error, OSError) and error.errno == errno.EPIPE:
                    raise  # the reader of a pipe left
                _explain(error, bool(ctx.params.get("debug")))
                raise typer.Exit(_code(error)) from None
            except KeyboardInterrupt:
                tell("error", "interrupted")
                raise typer.Exit(ExitCode.INTERRUPTED) from None


app = typer.Typer(
    name="fairlp",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok, 1 the answer is no, 2 usage, 3 bad input, 4 a solver or package failed or is missing, "
    "130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairlp {__version__}")
        raise typer.Exit()


@app.callback()
def fairlp(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="FAIRLP_DEBUG", hidden=True)] = False,
) -> None:
    """Fair allocation of many resources to many users, as models that can be read, solved, checked and exported."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter must not end the program
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="fairlp")
    except Exception as error:
        traceback.print_exc()
        tell("error", f"unexpected {type(error).__name__}; this is a bug in fairlp, please report it with the above")
        raise SystemExit(ExitCode.BUG) from None


def tell(kind: str, message: str) -> None:
    """Print ``kind: message`` in one line on standard error."""
    from rich.console import Console
    from rich.text import Text

    style = {"error": "bold red", "warning": "bold yellow"}.get(kind, "bold")
    line = Text.assemble((f"{kind}: ", style), " ".join(message.splitlines()))
    Console(stderr=True).print(line, soft_wrap=True)


def _explain(error: Exception, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    if isinstance(error, OSError) and not isinstance(error, FairlpError) and error.strerror:
        tell("error", f"{error.strerror}: {error.filename}" if error.filename is not None else error.strerror)
    else:
        tell("error", str(error) or type(error).__name__)


def _code(error: Exception) -> ExitCode:
    missing_package = isinstance(error, ImportError)
    return ExitCode.SOLVER if isinstance(error, SolverError) or missing_package else ExitCode.INPUT
