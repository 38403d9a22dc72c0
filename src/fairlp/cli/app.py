"""The application: version, warnings and errors in one line each, and exit codes."""

from __future__ import annotations

import errno
import inspect
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache, wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from .._version import __version__
from ..errors import (
    MOST_LETTERS,
    FairlpError,
    FairlpWarning,
    FileFormatError,
    SolverError,
    bounded,
    warn_caller,
)
from ..models.files.whole_files import home

# Packages that take long to import: imported at their first use, if ever.

#: Packages that few commands use, and that many modules import.
HEAVY = ("pandas", "scipy.linalg", "scipy.sparse")


class _Late(ModuleType):
    """A stand-in for a package, which imports it at the first use of one of its names."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, attribute: str) -> Any:
        name = self.__name__
        if sys.modules.get(name) is self:
            del sys.modules[name]
        return getattr(import_module(name), attribute)


def import_late(names: tuple[str, ...] = HEAVY) -> None:
    """Delay the import of packages until their first use, in a process of the command line only."""
    for name in names:
        sys.modules.setdefault(name, _Late(name))


#: Parameters of commands that name a file to write.
_WRITTEN = frozenset({"output", "plot", "proof", "results", "save_jobs", "write"})
#: Suffixes of files that no command reads, though they may stand in a folder that one reads.
_SHOWN = frozenset({".html", ".pdf", ".png", ".svg"})
_Function = TypeVar("_Function", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """The exit codes of ``fairlp``; the parser of the command line gives 2 (usage) by itself."""

    OK = 0
    NO = 1
    USAGE = 2
    INPUT = 3
    SOLVER = 4
    NO_VERDICT = 5
    BUG = 70
    INTERRUPTED = 130


class _Group(TyperGroup):
    """Runs a command; errors and warnings of fairlp become one line each on standard error."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and first sentences of the commands, whole, a section a package."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            package = command.callback.__module__.partition(".")[0]
            title = package.removeprefix("fairlp").strip("_").capitalize() or "Commands"
            line = (name, command.get_short_help_str(MOST_LETTERS))
            sections.setdefault(title, []).append(line)
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl(lines)

    def invoke(self, ctx: Any) -> Any:
        ctx.obj = messages = []  # warnings so far, which a report does not repeat
        show_other = warnings.showwarning

        def show_warning(message: Any, category: type[Warning], *args: Any, **kwargs: Any) -> None:
            if not issubclass(category, FairlpWarning):
                show_other(message, category, *args, **kwargs)
            elif str(message) not in messages:
                messages.append(str(message))
                tell("warning", str(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always", FairlpWarning)
            warnings.showwarning = show_warning
            try:
                return super().invoke(ctx)
            except (FairlpError, OSError) as error:
                if isinstance(error, OSError) and error.errno == errno.EPIPE:
                    raise  # the reader of a pipe left
                _explain(error, bool(ctx.params.get("debug")))
                is_missing = isinstance(error, SolverError | ImportError)  # a solver, or a package
                raise typer.Exit(ExitCode.SOLVER if is_missing else ExitCode.INPUT) from None
            except KeyboardInterrupt:
                tell("error", "interrupted")
                raise typer.Exit(ExitCode.INTERRUPTED) from None


app = typer.Typer(
    name="fairlp",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes around help take longer to import than all the rest of help
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok, 1 the answer is no, 2 usage, 3 bad input, 4 a solver or package failed or is missing, "
    "130 interrupted.",
)


def command(name: str | None = None) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a command; a dataclass may be a group of its options.

    A field of such a group is written as a parameter of a command would be: its name, an
    ``Annotated`` type, its default. In the signature that typer reads, the fields stand in the
    place of their group; all are passed by name, so that an argument may follow an option. A group
    may check its fields in ``__post_init__``.

    In every path ``~`` is the folder of its user. A shell does so only at the beginning of a word:
    not in ``--output=~/x.json``, and not in quotes.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int
    ...     height: int = 1
    >>> def draw(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> str(inspect.signature(flattened(draw)))
    '(*, name: str, width: int, height: int = 1)'
    >>> flattened(draw)(name="box", width=2, height=3)
    box Size(width=2, height=3)
    """

    def registered(function: _Function) -> _Function:
        app.command(name)(flattened(function))
        return function

    return registered


def load_commands() -> None:
    """Register the commands of installed packages; a warning names one that cannot be imported."""
    for point in entry_points(group="fairlp.commands"):
        try:
            point.load()
        except Exception as error:  # of a foreign package
            reason = f"{type(error).__name__}: {error}"
            warn_caller(f"the commands of {point.value.partition('.')[0]} are left out: {reason}")


def flattened(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its groups of options one by one."""
    declared = inspect.signature(function, eval_str=True).parameters
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            parameters += _fields(groups[name])
        else:
            parameters.append(parameter)
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters
    ]

    @wraps(function)
    def with_groups(**values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, Path):
                values[name] = home(value)
        _protect_read_files(values)
        for name, group in groups.items():
            options = {field.name: values.pop(field.name) for field in fields(group)}
            values[name] = group(**options)
        function(**values)

    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_groups


@cache  # several commands take the same group
def _fields(group: type[Any]) -> list[inspect.Parameter]:
    """Return the fields of a group of options as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(group).parameters.values()
    ]


def _version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"fairlp {__version__}")
        raise typer.Exit()


@app.callback()
def fairlp(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="FAIRLP_DEBUG", hidden=True)] = False,
) -> None:
    """Fair allocation of many resources to many users: models to read, solve, check and export."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    import_late()
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(
            stream, "reconfigure"
        ):  # a terminal that lacks a letter must not end the program
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="fairlp")
    except OSError as error:  # of help, version and lists, which no command prints
        _explain(error, debug=False)
        raise SystemExit(ExitCode.INPUT) from None
    except Exception as error:
        from .output import visible

        for line in "".join(traceback.format_exception(error)).splitlines():
            print(visible(bounded(line)), file=sys.stderr)
        whose = getattr(error, "__notes__", ())
        if whose:  # it is the caller's own function that raised it
            tell("error", f"{type(error).__name__}, {whose[-1]}: {error}")
            raise SystemExit(ExitCode.INPUT) from None
        tell(
            "error",
            f"unexpected {type(error).__name__}; this is a bug in fairlp, please report it with "
            "the above",
        )
        raise SystemExit(ExitCode.BUG) from None


class _Closed(io.TextIOBase):
    """Standard output that was closed before the program began."""

    def write(self, text: str) -> int:
        """Raise, since the text would be lost."""
        raise OSError(
            errno.EBADF,
            "standard output is closed, so that the answer has no place; write it with -o FILE",
        )


def _open_standard_streams() -> None:
    """Fill the places of closed streams, which the next file to be opened would take."""
    while (place := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(place)
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _protect_read_files(values: dict[str, Any]) -> None:
    """Raise where an answer would replace a file that the command reads, itself or in a folder."""
    paths = {}
    read_paths = []
    for name, value in values.items():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str | Path) and os.path.exists(home(path)):
                paths[name] = home(path)
                if name not in _WRITTEN:
                    read_paths.append(home(path))
    for name, file in paths.items():
        if name not in _WRITTEN or not os.path.isfile(file):
            continue
        folders = () if file.suffix in _SHOWN else file.resolve().parents
        places = (file, *folders)
        if any(os.path.samefile(path, place) for path in read_paths for place in places):
            raise FileFormatError(
                f"{str(file)!r} is a file that this command reads, and its answer would replace "
                f"it; choose another file for --{name.replace('_', '-')}"
            )


#: What files are called in messages, by path: those that stand for the standard input.
_NAMES: dict[str, str] = {}


def name_path(path: str, name: str) -> None:
    """Call a file by this name in messages."""
    _NAMES[path] = name


#: Options in the words of Python, of which the command line has one of the same name.
_OPTION = re.compile(
    r"\b(?P<name>by|division|method|oversized|solver)='(?P<value>[\w-]+)'(?P<others>(?: or '[\w-]+')*)"
)


def in_shell_words(message: str) -> str:
    """Return a message with options as the command line spells them.

    >>> in_shell_words("pass oversized='divide' or 'drop'")
    'pass --oversized divide or drop'
    """

    def option(match: re.Match[str]) -> str:
        return f"--{match['name']} {match['value']}{match['others']}".replace("'", "")

    return _OPTION.sub(option, message).replace(" (instance.oversized() lists them)", "")


def tell(kind: str, message: str) -> None:
    """Print ``kind: message`` in one line on standard error."""
    from rich.text import Text

    from .output import console

    for path, name in _NAMES.items():
        message = message.replace(repr(path), name).replace(path, name)
    style = "bold red" if kind == "error" else "bold yellow"
    shown = bounded(in_shell_words(" ".join(message.splitlines())))
    line = Text.assemble((f"{kind}: ", style), shown)
    console(stderr=True).print(line, soft_wrap=True)


def _explain(error: Exception, debug: bool) -> None:
    """Print an error in one line, after its traceback where ``debug`` is set."""
    if debug:
        traceback.print_exc()
    message = str(error) or type(error).__name__
    if isinstance(error, OSError) and not isinstance(error, FairlpError) and error.strerror:
        message = error.strerror
        if error.filename is not None:
            message = f"{error.strerror}: {error.filename}"
    tell("error", message)
