"""The commands of the library of benchmark instances: library list, write, run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import Commands, ExitCode, Group, app, tell
from .groups import grouped
from .output import DrawnReport, Report, records, say
from .parameters import ProgressFlag, SeedOption, complete_solver, given_names, last_of_list, own_solver
from .tables import report_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..research.library import Entry, Results

library = Commands(
    cls=Group, no_args_is_help=True, help="Benchmark instances: list them, write them as MPS, run solvers on them."
)
app.add_typer(library, name="library")


class Size(StrEnum):
    """How large the instances are."""

    small = "small"
    medium = "medium"
    large = "large"


class Compression(StrEnum):
    """Suffixes of the files."""

    plain = ".mps"
    packed = ".mps.gz"


def complete_entry(incomplete: str) -> list[str]:
    """Return the entries that begin so; after a comma, the next name of a list."""
    from ..research.library import names

    done, last = last_of_list(incomplete)
    return [done + name for name in names() if name.startswith(last)]


@dataclass(frozen=True)
class Which:
    """The options that say which instances."""

    size: Annotated[Size, typer.Option("--size", help="Of all instances.")] = Size.small
    seed: SeedOption = 0
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="NAME=FOLDER",
            help="The folder of an instance that is made from data, such as alibaba-gpu=traces. May be repeated.",
        ),
    ] = None

    def folders(self) -> dict[str, str]:
        """Return the folders of data by the names of instances."""
        found = {}
        for pair in self.data or ():
            name, equals, folder = pair.partition("=")
            if not equals or not name.strip() or not folder.strip():
                raise typer.BadParameter(f"{pair!r} is not of the form NAME=FOLDER", param_hint="'--data'")
            found[name.strip()] = folder.strip()
        return found

    def entries(self, only: list[str] | None) -> list[Entry]:
        """Return the instances, by name or all; say on standard error which cannot be made here, and why."""
        from ..research.library.entry import chosen

        found, missing = chosen(given_names(only), self.size.value, self.seed, self.folders())
        _tell_of({name: f"left out: {why}" for name, why in missing.items()})
        return found


OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="NAMES",
        autocompletion=complete_entry,
        help="Names with commas between them, or repeated; by default all.",
    ),
]


@library.command("list")
@grouped
def list_entries(*, which: Which, report: Report) -> None:
    """List the instances: family, size, why each is hard, the optimum where there is a closed form."""
    from ..research.library import table

    frame = table(which.size.value, which.seed, data=which.folders())
    shown = frame.astype(object).where(frame.notna(), float("nan"))

    def text(console: Console) -> None:
        report_table(console, shown.drop(columns=["size", "why hard"]), f"Instances, {which.size.value}")
        report_table(console, frame[["why hard"]], "Why they are hard")

    report.deliver(text=text, frame=lambda: frame, data=lambda: records(shown))


@library.command("write")
@grouped
def write_entries(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made where it is not there.")],
    only: OnlyOption = None,
    which: Which,
    suffix: Annotated[Compression, typer.Option("--suffix", help="Of the files.")] = Compression.plain,
    progress: ProgressFlag = None,
) -> None:
    """Write instances as MPS files with labels, and an index of them with their optima (index.csv, index.json).

    Example: fairlp library write instances --size small
    """
    from ..research.library import write_all

    index = write_all(
        folder,
        given_names(only),
        size=which.size.value,
        seed=which.seed,
        suffix=suffix.value,
        data=which.folders(),
        progress=progress,
    )
    _tell_of({str(name): str(note) for name, note in index["note"].items() if str(note).startswith("left out")})
    for file, note in zip(index["file"], index["note"], strict=True):
        if isinstance(file, str):
            say(f"wrote {folder / file}")
        elif not str(note).startswith("left out"):
            say(str(note))
    for file in ("index.csv", "index.json"):
        say(f"wrote {folder / file}")


@library.command("run")
@grouped
def run_solvers(
    *,
    solvers: Annotated[
        list[str] | None,
        typer.Option(
            "--solvers",
            metavar="NAMES",
            callback=own_solver,
            autocompletion=complete_solver,
            help="With commas between them, or repeated; by default all that are here; your own: module:Class.",
        ),
    ] = None,
    only: OnlyOption = None,
    which: Which,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", min=0.001, help="For each solver and program.")
    ] = 60.0,
    memory: Annotated[
        float | None,
        typer.Option(
            "--memory",
            metavar="GIB",
            min=0.1,
            help="For each process; by default half of what there is.",
        ),
    ] = None,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Solve so often, and take the least time.")] = 1,
    progress: ProgressFlag = None,
    report: DrawnReport,
) -> None:
    """Run solvers on the instances, each in a process of its own, and print a performance profile.

    Only answers that are proved count. Ctrl-C keeps what is done. Example: fairlp library run --solvers highs,scip
    """
    from ..models.programs.backends import available_backends
    from ..research.library import run

    names = given_names(solvers) or available_backends()
    entries = which.entries(only)
    found = run(
        names,
        entries,
        size=which.size.value,
        seed=which.seed,
        time_limit=time_limit,
        memory=memory,
        repeat=repeat,
        progress=progress,
    )
    report.deliver(text=lambda console: _report(console, found), frame=found.table, data=found.to_dict)
    if report.plot is not None:
        from ..plots import plot_profile

        report.save(plot_profile(found.profile().ratios))
    if not found.complete:
        tell("error", f"interrupted; {len(found.rows)} of {len(names) * len(entries)} answers are kept")
        raise typer.Exit(ExitCode.INTERRUPTED)


def _report(console: Console, found: Results) -> None:
    """Print the profiles, by kind of program and of all, and what was not accepted."""
    kinds = list(dict.fromkeys(row.kind for row in found.rows))
    for kind in kinds if len(kinds) > 1 else ():
        count = len(found.times(kind))
        report_table(console, found.profile(kind).table(), f"Performance profile, {kind} ({count} programs)")
    report_table(console, found.profile().table(), f"Performance profile, all {len(found.times())} programs")
    table = found.table()
    refused = table.loc[~table["accepted"].astype(bool), ["verdict", "status", "message"]]
    if len(refused):
        flat = refused.reset_index().set_index("entry")
        report_table(console, flat.assign(message=flat["message"].str.slice(0, 90)), "Not accepted")


def _tell_of(missing: dict[str, str]) -> None:
    for why in missing.values():
        tell("warning", why)
