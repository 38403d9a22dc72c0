"""Arguments and options that several commands share, how they are read, and their completions."""

from __future__ import annotations

import atexit
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from ..errors import UnknownNameError, nearest
from ..models.files.plain_data import plain_number
from ..models.files.whole_files import DOCUMENT_SUFFIXES, home
from .app import name_path

if TYPE_CHECKING:
    from ..models.instances.instance import Instance

#: Completions for the shell, each with a description.
Completions = list[tuple[str, str]]
#: The values of an option that may be repeated.
Repeated = list[str] | None


# The typed text as data.


def load_instance(text: str) -> Instance:
    """Return the instance that ``text`` names: a file or folder, else a worked example.

    Raises
    ------
    UnknownNameError
        When it is neither; the nearest examples are named.
    FileFormatError
        When the file or folder does not hold an instance.
    """
    path = home(text)
    if text and path.exists():
        from ..models.files.instances import read

        return read(path)
    from ..examples import EXAMPLES, load

    if any(text.casefold() == name.casefold() for name in EXAMPLES):
        return load(text)
    raise UnknownNameError(
        f"there is no file or folder {text!r}, and no worked example of that name; "
        f"{nearest(text, EXAMPLES)}"
    )


def standard_input(path: str) -> str:
    """Return the path, of a file that holds the standard input where it is ``-``."""
    if path != "-":
        return path
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    file = Path(folder.name, "standard input.json")
    file.write_bytes(sys.stdin.buffer.read())
    name_path(str(file), "the standard input")
    return str(file)


def read_options(pairs: Repeated, time_limit: float | None = None) -> dict[str, Any]:
    """Return keyword arguments from ``NAME=VALUE`` pairs; numbers, true, false and null are read.

    >>> read_options(["threads=4", "extra.presolve=off"], 2.5)
    {'time_limit': 2.5, 'threads': 4, 'extra': {'presolve': 'off'}}
    """
    options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    extra: dict[str, Any] = {}
    for name, value in read_pairs(pairs, "--option", _value).items():
        if name.startswith("extra."):
            extra[name.removeprefix("extra.")] = value
        else:
            options[name.replace("-", "_")] = value
    return {**options, "extra": extra} if extra else options


def _value(text: str) -> Any:
    """Return a value that was typed: a number, a truth value, none, or its text."""
    is_word = text.lower() in ("true", "false", "null", "none")
    try:
        return json.loads(text.lower() if is_word else text)
    except ValueError:
        return None if text.lower() == "none" else text


def read_pairs(pairs: Repeated, option: str, read: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return values by name from ``NAME=VALUE`` pairs; a name of a number may hold ``=``.

    >>> read_pairs(["ann=2", "cpu=4, gpu=1=3"], "--weight")
    {'ann': 2.0, 'cpu=4, gpu=1': 3.0}
    """
    values: dict[str, Any] = {}
    for pair in pairs or ():
        name, _, value = pair.rpartition("=") if read is float else pair.partition("=")
        name, value = name.strip(), value.strip()
        if not name or not value or name in values:
            raise typer.BadParameter(
                f"{pair!r} is not of the form NAME=VALUE, or there twice", param_hint=f"'{option}'"
            )
        try:
            values[name] = plain_number(value) if read is float else read(value)
        except ValueError:
            raise typer.BadParameter(f"{value!r} is no number", param_hint=f"'{option}'") from None
    return values


def split_names(texts: Repeated) -> list[str] | None:
    """Return the names of repeated and comma-separated options, each once; None without any.

    >>> split_names(["drf,tsf", "drfh", "drf"])
    ['drf', 'tsf', 'drfh']
    """
    names = [name.strip() for text in texts or () for name in text.split(",")]
    return list(dict.fromkeys(filter(None, names))) or None


def own_mechanism(value: Any) -> Any:
    """Return names of mechanisms; ``module:function`` and ``file.py:function`` are loaded."""

    def load(reference: str) -> str:
        from ..mechanisms.references import located

        return located(reference).name

    return _loaded(value, load)


def own_solver(value: Any) -> Any:
    """Return names of solvers; ``module:Class`` and ``file.py:Class`` are loaded and registered."""

    def load(reference: str) -> str:
        from ..mechanisms.references import load_solver
        from ..models.programs.backends import is_reference

        return load_solver(reference) if is_reference(reference) else reference

    return _loaded(value, load)


def _loaded(value: Any, load: Callable[[str], str]) -> Any:
    """Return names as they were typed, those of loaded objects in the place of references."""
    if isinstance(value, list):
        return [_loaded(names, load) for names in value]
    if not isinstance(value, str) or ":" not in value:
        return value
    return ",".join(load(name) if ":" in name else name for name in value.split(","))


# Completions for the shell.


def begun(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so; after a comma, the next name of a list.

    >>> begun("drf,ts", ["drf", "tsf"])
    ['drf,tsf']
    """
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


def complete_mechanism(incomplete: str) -> Completions:
    """Return the mechanisms that begin so, with their titles."""
    from ..mechanisms.table import TABLE

    return [(names, TABLE[names.rpartition(",")[2]].title) for names in begun(incomplete, TABLE)]


def complete_solver(incomplete: str) -> list[str]:
    """Return the solvers that begin so."""
    from ..models.programs.backends import backend_names

    return begun(incomplete, backend_names())


def complete_example(incomplete: str) -> Completions:
    """Return the worked examples that begin so, with their first lines."""
    from ..examples import table

    return [
        (str(name), str(about))
        for name, about in table()["about"].items()
        if str(name).startswith(incomplete)
    ]


def complete_instance(incomplete: str) -> Completions:
    """Return the files, folders and worked examples that begin so."""
    folder, _, start = incomplete.rpartition("/")
    prefix = f"{folder}/" if "/" in incomplete else ""
    completions = []
    for path in sorted(Path(os.path.expanduser(prefix or ".")).glob("*")):
        if path.name.startswith(start) and (start.startswith(".") or not path.name.startswith(".")):
            if path.is_dir():
                completions.append((f"{prefix}{path.name}/", "folder"))
            elif path.suffix.lower() in DOCUMENT_SUFFIXES:
                completions.append((f"{prefix}{path.name}", "file"))
    return completions if prefix else [*completions, *complete_example(incomplete)]


# The arguments and options.


def named_option(
    kind: Literal["mechanism", "solver"],
    *flags: str,
    help_text: str,
    metavar: str = "NAME",
    names: Callable[[], Iterable[str]] | None = None,
) -> Any:
    """Return an option whose values are names of mechanisms or solvers; one's own are loaded.

    Parameters
    ----------
    kind : {"mechanism", "solver"}
    *flags : str
        By default the name of the parameter.
    help_text, metavar : str
    names : callable, optional
        What is completed in their place.
    """
    complete = complete_mechanism if kind == "mechanism" else complete_solver
    return Option(
        *flags,
        metavar=metavar,
        callback=own_mechanism if kind == "mechanism" else own_solver,
        autocompletion=complete
        if names is None
        else (lambda incomplete: begun(incomplete, names())),
        help=help_text,
    )


def mechanism_option(help_text: str, metavar: str = "NAME") -> Any:
    """Return the option that names a mechanism, or several; ``help_text`` is its help."""
    return named_option("mechanism", "--mechanism", "-m", help_text=help_text, metavar=metavar)


_INSTANCE_HELP = (
    "A .json or .yaml file, a folder with the Alibaba GPU trace, or the name "
    "of a worked example (fairlp example lists them)."
)


def instance_argument(
    metavar: str = "INSTANCE", help_text: str = _INSTANCE_HELP, callback: Any = None
) -> Any:
    """Return the argument that names an instance, a file or a folder, which the shell completes."""
    return Argument(
        metavar=metavar, autocompletion=complete_instance, callback=callback, help=help_text
    )


InstanceArgument = Annotated[str, instance_argument()]
MechanismOption = Annotated[
    str,
    mechanism_option(
        "See: fairlp mechanisms; your own: package.module:function or file.py:function."
    ),
]
MechanismsOption = Annotated[
    Repeated,
    mechanism_option(
        "Names with commas between them, or repeated; by default all that are defined.", "NAMES"
    ),
]
SolverOption = Annotated[
    str,
    named_option(
        "solver",
        help_text="See: fairlp solvers; your own: package.module:Class or file.py:Class.",
    ),
]
TimeLimitOption = Annotated[
    float | None, Option(metavar="SECONDS", min=0, help="Give up after so many seconds a model.")
]
ExtraOption = Annotated[
    Repeated,
    Option(
        metavar="NAME=VALUE",
        help="An option of the mechanism, such as rule=stop, or of the solver, such as threads=4; extra.NAME=VALUE is "
        "one by the solver's own name. May be repeated.",
    ),
]
SeedOption = Annotated[int, Option(min=0, help="Seed of all random numbers.")]
ProgressFlag = Annotated[
    bool | None, Option("--progress/--no-progress", help="A bar in a terminal, lines elsewhere.")
]


@dataclass(frozen=True)
class MethodOptions:
    """The options of the computation of a mechanism."""

    method: Annotated[
        str,
        Option(metavar="NAME", help="auto (the fastest that is exact), lp, or another of its own."),
    ] = "auto"
    solver: SolverOption = "highs"
    merge: Annotated[
        bool,
        Option(
            "--merge/--no-merge",
            help="Merge identical servers and proportional users (exact) before an LP.",
        ),
    ] = True
    oversized: Annotated[
        Literal["divide", "drop", "error"] | None,
        Option(
            help="A task that fits no single server: let parts of it run (the default but for dumps), give its user "
            "nothing, or stop."
        ),
    ] = None
    time_limit: TimeLimitOption = None
    option: ExtraOption = None

    def arguments(self) -> dict[str, Any]:
        """Return them as ``fairlp.allocate`` takes them."""
        named = {
            "method": self.method,
            "solver": self.solver,
            "merge": self.merge,
            "oversized": self.oversized,
        }
        solver_options = read_options(self.option, self.time_limit)
        for name in solver_options:
            if name in named:
                raise typer.BadParameter(
                    f"{name!r} is an option of its own: --{name}", param_hint="'--option'"
                )
        if self.oversized is None:
            del named["oversized"]
        return {**named, **solver_options}
