"""The commands for experiments: study, reproduce, library."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from fairlp.errors import StudyError
from fairlp.toolkit import (
    DrawnReportOptions,
    ReportOptions,
    TitledTable,
    command,
    named_option,
    read_pairs,
    require_folder,
    say,
    split_names,
    tell,
)

from .. import plots
from .options import ProgressFlag, Repeated, SeedOption, wrote

if TYPE_CHECKING:
    import pandas as pd

    from ..library import Results
    from ..papers import Ledger
    from ..study import Result, Study


FolderOption = Annotated[
    Path | None,
    Option(
        metavar="FOLDER",
        help="Keep finished runs there, and go on with them. Only a folder that you trust.",
    ),
]


@dataclass(frozen=True)
class WorkerOptions:
    """The options that say where runs are done."""

    workers: Annotated[int | None, Option(help="Processes (default 1); -1 for all cores.")] = None
    backend: Annotated[
        str | None, Option(metavar="NAME", help="Of joblib: loky (default), threading, …")
    ] = None
    scheduler: Annotated[
        str | None, Option(metavar="ADDRESS", help="Run on this Dask cluster.")
    ] = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.backend not in (None, "dask"):
            raise typer.BadParameter("--scheduler is for --backend dask")

    @contextmanager
    def configured(self) -> Iterator[None]:
        """Run the calls of the block on these workers, or on a connected Dask cluster."""
        from ..runner import need, run_on

        if self.scheduler is None:
            with run_on(self.workers, self.backend):
                yield
            return
        with need("distributed").Client(self.scheduler), run_on(self.workers, "dask"):
            yield


@dataclass(frozen=True)
class StudyOptions:
    """The options that say how a study is run."""

    results: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write the runs there: .parquet; by default named as the study's file.",
        ),
    ] = None
    folder: FolderOption = None
    runs: Annotated[int | None, Option(min=1, help="So many of each point instead.")] = None
    allow_code: Annotated[
        bool,
        Option(
            "--allow-code",
            help="Import and run functions of modules that the study names (module:function), also beside the file, "
            "and take a solver's own options. Only for a study that you trust.",
        ),
    ] = False
    on_error: Annotated[
        Literal["raise", "record"],
        Option(help="A run that fails ends the study, or is a row with its message."),
    ] = "raise"

    def result(self, file: Path, workers: WorkerOptions, progress: bool | None) -> Result:
        """Return the result of a study, and write its file, unless the file holds it already."""
        from ..study import Study
        from ..study.result import checked_path

        target = checked_path(self.results or Path(f"{file.stem}.parquet"))
        with _importable(file.absolute().parent) if self.allow_code else nullcontext():
            study = Study.read(file, allow_code=self.allow_code)
            if self.runs is not None:
                study = replace(study, runs=self.runs)
            earlier = self._earlier(target, study)
            if earlier is not None:
                return earlier
            with workers.configured():
                result = study.run(folder=self.folder, progress=progress, on_error=self.on_error)
        result.write(target)
        wrote(target)
        return result

    def _earlier(self, target: Path, study: Study) -> Result | None:
        """Return the result in a complete file; the file of another study is an error."""
        from fairlp import __version__

        from ..study import Result

        if not target.exists():
            return None
        earlier = Result.read(target)
        # As text, since the order of points and columns is that of the definition.
        differing = [
            name
            for name, value in study.definition().items()
            if json.dumps(earlier.definition.get(name)) != json.dumps(value)
        ]
        if earlier.version != __version__:
            differing = [f"fairlp ({earlier.version})"]
        fewer_runs = differing == ["runs"] and earlier.definition["runs"] < study.runs
        if differing and not fewer_runs:
            raise StudyError(
                f"{str(target)!r} holds a study that differs in {differing[0]}; choose another "
                "--results, or delete it"
            )
        complete = self.on_error == "record" or not len(earlier.failed)
        if differing or not complete or self.allow_code:  # code may have changed
            return None
        say(f"{target} has the runs of this study", err=True)
        return earlier


@command()
def study(
    *,
    file: Annotated[
        Path | None,
        Argument(metavar="FILE", help="A study in .yaml or .json, or results in .parquet."),
    ] = None,
    listed: Annotated[
        bool, Option("--list", help="List the generators and statistics that a study may name.")
    ] = False,
    table: Annotated[
        Literal["figures", "runs"],
        Option(help="Figures over the runs of each point, or every run."),
    ] = "figures",
    options: StudyOptions,
    workers: WorkerOptions,
    progress: ProgressFlag = None,
    report: ReportOptions,
) -> None:
    """Run a Monte Carlo study and show its figures; --folder goes on where a study stopped.

    Results in .parquet are shown as they are. The exit code is 1 when runs failed and were
    recorded.

    Example: fairlp study study.yaml --workers 2
    """
    if (file is None) is not listed:
        raise typer.BadParameter(
            "give a FILE, or --list; fairlp example study writes a study to start from"
        )
    if report.output is not None and report.output.suffix.lower() == ".parquet":
        raise typer.BadParameter(
            "-o FILE is for the table that is shown; --results FILE.parquet keeps the runs"
        )
    if file is None:
        report.table(_functions(), "What a study may name")
        return
    if file.suffix.lower() == ".parquet":
        if options != StudyOptions() or workers != WorkerOptions():
            raise typer.BadParameter(
                f"{str(file)!r} has results already; --runs, --workers and such are for a study"
            )
        from ..study import Result

        result = Result.read(file)
    else:
        result = options.result(file, workers, progress)
    if table == "runs":
        report.table(result.frame.set_index("point"), repr(result)[1:-1])
    else:
        report.deliver(_points_text(result), result.summary)
    if len(result.failed) and file.suffix.lower() != ".parquet":
        raise typer.Exit(1)  # the answer is no


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let ``module:function`` of a trusted study be in a file of this folder, within the block."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _functions() -> pd.DataFrame:
    """Return the generators and statistics that ship with fairlp, in one table."""
    import pandas as pd

    from ..study import generators, statistics

    tables = {"generator": generators.table(), "statistic": statistics.table()}
    functions: pd.DataFrame = pd.concat(
        [table.rename_axis("name").assign(kind=kind) for kind, table in tables.items()]
    )
    return functions


def _points_text(result: Result) -> Iterator[str | TitledTable]:
    """Yield the figures of each point under its parameters, and the first runs that failed."""
    import pandas as pd

    summary = result.summary()
    points = result.points
    yield f"{repr(result)[1:-1]}\n"
    values = summary.to_numpy().reshape(len(points), len(result.statistics), summary.shape[1])
    for k, (_, point) in enumerate(points.iterrows()):
        title = ", ".join(f"{name}={value}" for name, value in point.items())
        frame = pd.DataFrame(values[k], index=result.statistics, columns=summary.columns)
        yield TitledTable(title or "All runs", frame.rename_axis("statistic"))
    for row in result.failed.head(3).itertuples():
        yield f"failed    point {row.point}, run {row.run}: {row.error}"


# The ledger.


@dataclass(frozen=True)
class DrawOptions:
    """The options that say how much is drawn, from which seed, and where finished runs are kept."""

    scale: Annotated[
        Literal["reduced", "paper"], Option(help="Seconds for all, or as much as the papers drew.")
    ] = "reduced"
    seed: SeedOption = 0
    folder: FolderOption = None


@command()
def reproduce(
    *,
    paper: Annotated[
        str | None,
        Argument(
            metavar="PAPER",
            help="000 to 006, a name such as wang-2014, or a .py file or folder/ of yours; else all.",
        ),
    ] = None,
    item: Annotated[
        str | None,
        Argument(metavar="ITEM", help='As the paper calls it, such as "Figure 3"; else all.'),
    ] = None,
    drawn: DrawOptions,
    write: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also write a page (.md), with figures."),
    ] = None,
    workers: WorkerOptions,
    progress: ProgressFlag = None,
    report: DrawnReportOptions,
) -> None:
    """Compute tables, figures, examples and theorems of the papers again, beside the papers.

    Example: fairlp reproduce 004 "Figure 5" --plot figure-5.svg
    """
    require_folder(write)
    if write is not None and write.suffix.lower() != ".md":
        raise typer.BadParameter(f"{str(write)!r} is no .md file", param_hint="'--write'")
    from ..papers import reproduce as run

    with workers.configured():
        ledger = run(paper, item, **vars(drawn), progress=progress)
    if write is not None:
        ledger.write(write)
        wrote(write)
    report.deliver(_ledger_text(ledger), ledger.table, ledger.to_dict)
    report.save(ledger.plot)


def _ledger_text(ledger: Ledger) -> Iterator[str | TitledTable]:
    """Yield a table for each paper and the verdicts; of a single item its numbers."""
    import pandas as pd

    from ..papers.result import LETTERS

    table = ledger.table()
    for paper in ledger.papers:
        items = table.loc[[paper.number]].droplevel(0)
        yield TitledTable(f"{paper.number}  {paper.title}", items)
        if re.search(r"\b(SI|EF|SP|PO|BF)\b", " ".join(items["paper says"])):
            yield f"{LETTERS}\n"
    if len(ledger) > 1:
        yield TitledTable("Verdicts", ledger.counts())
        return
    (row,) = ledger
    rows = {
        number.name: {
            "paper": number.paper,
            "ours": number.ours,
            "agrees": "–" if number.agrees is None else number.agrees,
        }
        for number in row.answer.numbers
    }
    if rows:
        yield TitledTable(
            "Numbers", pd.DataFrame.from_dict(rows, orient="index").rename_axis("number")
        )
    if row.answer.witness:
        yield f"instance: {row.answer.witness}"


# The library of benchmark instances.


def complete_entry(incomplete: str) -> list[str]:
    """Return the entries that begin so; after a comma, the next name of a list."""
    from ..library import names

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names() if name.startswith(last)]


@dataclass(frozen=True)
class EntryOptions:
    """The options that say which instances of the library, and how they are made."""

    only: Annotated[
        Repeated,
        Option(
            metavar="NAMES",
            autocompletion=complete_entry,
            help="Names with commas between them, or repeated; by default all.",
        ),
    ] = None
    size: Annotated[Literal["small", "medium", "large"], Option(help="Of all instances.")] = "small"
    seed: SeedOption = 0
    data: Annotated[
        Repeated,
        Option(
            metavar="NAME=FOLDER",
            help="The folder of an instance that is made from data, such as alibaba-gpu=traces. May be repeated.",
        ),
    ] = None

    def folders(self) -> dict[str, str]:
        """Return the folders of data by the names of instances."""
        return read_pairs(self.data, "--data", str)


@dataclass(frozen=True)
class RunOptions:
    """The options that say by what solvers, and for how long."""

    solvers: Annotated[
        Repeated,
        named_option(
            "solver",
            metavar="NAMES",
            help_text="Run these: with commas between them, or repeated; all: those that are here; your own: "
            "module:Class.",
        ),
    ] = None
    time_limit: Annotated[
        float, Option(metavar="SECONDS", min=0.001, help="For each solver and program.")
    ] = 60.0
    memory: Annotated[
        float | None,
        Option(metavar="GIB", min=0.1, help="For each process; by default half of what there is."),
    ] = None
    repeat: Annotated[int, Option(min=1, help="Solve so often, and take the least time.")] = 1

    def __post_init__(self) -> None:
        if self.solvers is None and (self.time_limit, self.memory, self.repeat) != (60.0, None, 1):
            raise typer.BadParameter(
                "--time-limit, --memory and --repeat are of runs; say --solvers NAMES"
            )


@command()
def library(
    *,
    entries: EntryOptions,
    write: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Write them as files with labels, and an index with their optima.",
        ),
    ] = None,
    suffix: Annotated[
        Literal[".mps", ".mps.gz"], Option(help="Of the files that are written.")
    ] = ".mps",
    runs: RunOptions,
    progress: ProgressFlag = None,
    report: DrawnReportOptions,
) -> None:
    """List the benchmark instances, write them as MPS, or run solvers and print a profile.

    The list says how large each is, why it is hard, and the optimum where there is a closed form.
    Each solve has a process of its own, and only proved answers count; Ctrl-C keeps finished
    solves.

    Example: fairlp library --solvers highs,scip --only ties,zeros
    """
    if runs.solvers is None and report.plot is not None:
        raise typer.BadParameter("--plot draws the profile of solvers; say --solvers NAMES")
    if write is not None:
        if runs.solvers is not None or report != DrawnReportOptions():
            raise typer.BadParameter(
                "--write FOLDER prints what it wrote; leave out --solvers, --json, --csv and -o"
            )
        _write_entries(entries, write, suffix, progress)
    elif runs.solvers is not None:
        _run_solvers(entries, runs, progress, report)
    else:
        _list_entries(entries, report)


def _list_entries(entries: EntryOptions, report: ReportOptions) -> None:
    from ..library import table
    from ..library.registry import find

    frame = table(entries.size, entries.seed, data=entries.folders())
    if names := split_names(entries.only):
        frame = frame.loc[[find(name).name for name in names]]
    numbers = frame.astype(object).where(frame.notna(), float("nan"))

    columns = numbers.drop(columns=["size", "why hard"])
    instances = TitledTable(f"Instances, {entries.size}", columns)
    reasons = TitledTable("Why they are hard", frame[["why hard"]])
    report.deliver([instances, reasons], frame, lambda: numbers.reset_index().to_dict("records"))


def _write_entries(entries: EntryOptions, folder: Path, suffix: str, progress: bool | None) -> None:
    from ..library import write_all

    index = write_all(
        folder,
        split_names(entries.only),
        size=entries.size,
        seed=entries.seed,
        suffix=suffix,
        data=entries.folders(),
        progress=progress,
    )
    for file, note in zip(index["file"], map(str, index["note"]), strict=True):
        if isinstance(file, str):
            say(f"wrote {folder / file}")
        elif note.startswith("left out"):
            tell("warning", note)
        else:
            say(note)
    say(f"wrote {folder / 'index.csv'}")


def _run_solvers(
    entries: EntryOptions, runs: RunOptions, progress: bool | None, report: DrawnReportOptions
) -> None:
    import fairlp

    from ..library import run
    from ..library.entry import chosen

    names = split_names(runs.solvers) or []
    names = fairlp.solvers.available() if names == ["all"] else names
    chosen_entries, missing = chosen(
        split_names(entries.only), entries.size, entries.seed, entries.folders()
    )
    for reason in missing.values():
        tell("warning", f"left out: {reason}")
    results = run(
        names,
        chosen_entries,
        size=entries.size,
        seed=entries.seed,
        time_limit=runs.time_limit,
        memory=runs.memory,
        repeat=runs.repeat,
        progress=progress,
    )

    report.deliver(_profiles_text(results), results.table, results.to_dict)
    report.save(lambda: plots.plot_profile(results.profile().ratios))
    if not results.complete:
        total = len(results.solvers) * len(chosen_entries)
        tell("error", f"interrupted; {len(results.rows)} of {total} answers are kept")
        raise typer.Exit(130)  # interrupted


def _profiles_text(results: Results) -> Iterator[str | TitledTable]:
    """Yield the profiles, by kind of program and of all, and the answers that were not accepted."""
    kinds = list(dict.fromkeys(row.kind for row in results.rows))
    for kind in kinds if len(kinds) > 1 else ():
        count = len(results.times(kind))
        yield TitledTable(
            f"Performance profile, {kind} ({count} programs)", results.profile(kind).table()
        )
    yield TitledTable(
        f"Performance profile, all {len(results.times())} programs", results.profile().table()
    )
    table = results.table()
    refused = table.loc[~table["accepted"].astype(bool), ["verdict", "status", "message"]]
    if len(refused):
        rows = refused.reset_index().set_index("entry")
        yield TitledTable("Not accepted", rows.assign(message=rows["message"].str.slice(0, 90)))
