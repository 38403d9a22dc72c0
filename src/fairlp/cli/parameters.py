"""Arguments and options that several commands share, and what the shell completes for them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

#: What the shell may complete, each with a word about it.
Completions = list[tuple[str, str]]


class Oversized(StrEnum):
    """What to do with a task that fits no single server."""

    divide = "divide"
    drop = "drop"
    error = "error"


def complete_mechanism(incomplete: str) -> Completions:
    """Return the mechanisms that begin so, with their titles; after a comma, the next name of a list."""
    from ..mechanisms.table import TABLE

    done, last = last_of_list(incomplete)
    return [(done + name, row.title) for name, row in TABLE.items() if name.startswith(last)]


def last_of_list(incomplete: str) -> tuple[str, str]:
    """Return what stands before the last name of a list, its comma included, and that name.

    >>> last_of_list("drf,ts"), last_of_list("dr")
    (('drf,', 'ts'), ('', 'dr'))
    """
    before, comma, last = incomplete.rpartition(",")
    return before + comma, last


def own_mechanism(given: Any) -> Any:
    """Return names of mechanisms; what is at ``module:function`` or ``file.py:function`` is loaded, and named."""
    if isinstance(given, list):
        return [own_mechanism(one) for one in given]
    if given is None or ":" not in given:
        return given
    from ..mechanisms.references import located

    return ",".join(located(one).name if ":" in one else one for one in given.split(","))


def own_solver(given: Any) -> Any:
    """Return names of solvers; what is at ``module:Class`` or ``file.py:Class`` is loaded and registered."""
    if isinstance(given, list):
        return [own_solver(one) for one in given]
    if not isinstance(given, str) or ":" not in given:
        return given
    from ..models.programs.backends import is_reference

    if not any(map(is_reference, given.split(","))):
        return given
    from ..mechanisms.references import load_solver

    return ",".join(load_solver(one) if is_reference(one) else one for one in given.split(","))


def complete_solver(incomplete: str) -> list[str]:
    """Return the solvers that begin so."""
    from ..models.programs.backends import backend_names

    return [name for name in backend_names() if name.startswith(incomplete)]


def complete_example(incomplete: str) -> Completions:
    """Return the worked examples that begin so, with their first lines."""
    from ..examples import table

    return [(str(name), str(about)) for name, about in table()["about"].items() if str(name).startswith(incomplete)]


def complete_instance(incomplete: str) -> Completions:
    """Return the files, folders and worked examples that begin so."""
    folder, _, start = incomplete.rpartition("/")
    prefix = f"{folder}/" if "/" in incomplete else ""
    found = []
    for path in sorted(Path(os.path.expanduser(prefix or ".")).glob("*")):
        if path.name.startswith(start) and (start.startswith(".") or not path.name.startswith(".")):
            if path.is_dir():
                found.append((f"{prefix}{path.name}/", "folder"))
            elif path.suffix.lower() in (".json", ".yaml", ".yml"):
                found.append((f"{prefix}{path.name}", "file"))
    return found if prefix else [*found, *complete_example(incomplete)]


def mechanism_option(what: str, metavar: str = "NAME", **how: Any) -> Any:
    """Return the option that names a mechanism, or several; ``what`` is its help."""
    return typer.Option(
        "--mechanism",
        "-m",
        metavar=metavar,
        callback=own_mechanism,
        autocompletion=complete_mechanism,
        help=what,
        **how,
    )


InstanceArgument = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        autocompletion=complete_instance,
        help="A .json or .yaml file, a folder with users.csv and servers.csv, a folder with the Alibaba GPU trace, "
        "or the name of a worked example (fairlp example lists them).",
    ),
]
MechanismOption = Annotated[
    str, mechanism_option("See: fairlp mechanisms; your own: package.module:function or file.py:function.")
]
SolverOption = Annotated[
    str,
    typer.Option(
        "--solver",
        metavar="NAME",
        callback=own_solver,
        autocompletion=complete_solver,
        help="See: fairlp solvers; your own: package.module:Class or file.py:Class.",
    ),
]
OversizedOption = Annotated[
    Oversized,
    typer.Option(
        "--oversized",
        help="A task that fits no single server: let parts of it run, give its user nothing, or stop.",
    ),
]
TimeLimitOption = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", min=0, help="Give up after so many seconds a model.")
]
ExtraOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the mechanism, such as rule=stop, or of the solver, such as threads=4; extra.NAME=VALUE is "
        "one by the solver's own name. May be repeated.",
    ),
]
FormulationOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the formulation. May be repeated."),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of everything that is drawn.")]
ForceFlag = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
ProgressFlag = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="By default in a terminal only."),
]


@dataclass(frozen=True)
class Way:
    """The options that say how a mechanism is computed."""

    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="auto (the fastest that is exact), lp, or another of its own."),
    ] = "auto"
    solver: SolverOption = "highs"
    merge: Annotated[
        bool,
        typer.Option("--merge/--no-merge", help="Merge identical servers and proportional users (exact) before an LP."),
    ] = True
    oversized: OversizedOption = Oversized.divide
    time_limit: TimeLimitOption = None
    option: ExtraOption = None

    def options(self) -> dict[str, Any]:
        """Return them as ``fairlp.allocate`` takes them."""
        named = {"method": self.method, "solver": self.solver, "merge": self.merge, "oversized": self.oversized.value}
        more = solver_options(self.option, self.time_limit)
        for name in more:
            if name in named:
                raise typer.BadParameter(f"{name!r} is an option of its own: --{name}", param_hint="'--option'")
        return {**named, **more}


def solver_options(pairs: list[str] | None, time_limit: float | None = None) -> dict[str, Any]:
    """Return keyword arguments from ``NAME=VALUE`` pairs; numbers, true, false and null are read as such.

    >>> solver_options(["threads=4", "extra.presolve=off"], 2.5)
    {'time_limit': 2.5, 'threads': 4, 'extra': {'presolve': 'off'}}
    """
    found: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
    extra: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not of the form NAME=VALUE", param_hint="'--option'")
        own = name.startswith("extra.")
        where, key = (extra, name.removeprefix("extra.")) if own else (found, name.replace("-", "_"))
        if key in where:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint="'--option'")
        where[key] = _value(text.strip())
    return {**found, "extra": extra} if extra else found


def given_names(given: list[str] | None) -> list[str] | None:
    """Return the names of repeated and comma-separated options, each once; None when there are none.

    >>> given_names(["drf,tsf", "drfh", "drf"])
    ['drf', 'tsf', 'drfh']
    """
    names = [name.strip() for part in given or () for name in part.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or None


def _value(text: str) -> Any:
    try:
        return json.loads(text.lower() if text.lower() in ("true", "false", "null", "none") else text)
    except ValueError:
        return None if text.lower() == "none" else text
