"""The commands for experiments: study, reproduce, library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from .. import plots
from .app import ExitCode, command, tell
from .output import (
    DrawnReportOptions,
    ReportOptions,
    Text,
    TitledTable,
    check_folder,
    records,
    say,
    wrote,
)
from .parameters import (
    ProgressFlag,
    Repeated,
    SeedOption,
    begun,
    complete_solver,
    given_names,
    own_solver,
    read_pairs,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..research.ledger import Ledger
    from ..research.library import Results
    from ..research.study import Result


@dataclass(frozen=True)
class WorkerOptions:
    """The options that say who does the runs."""

    workers: Annotated[int | None, Option(help="Processes (1 without it); -1 for all cores.")] = (
        None
    )
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
    def hired(self) -> Iterator[dict[str, Any]]:
        """Give what ``Study.run`` is told of them, while a cluster of Dask, if any, is there."""
        if self.scheduler is None:
            yield {"workers": self.workers, "backend": self.backend or "loky"}
            return
        from ..research.study.functions import need

        with need("distributed").Client(self.scheduler):
            yield {"workers": self.workers, "backend": "dask"}


@dataclass(frozen=True)
class StudyOptions:
    """The options that say how a study is run."""

    results: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Where runs are kept: .parquet; by default named as the study's file.",
        ),
    ] = None
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
        """Return what comes of the runs of a study, those of before among them."""
        target = self.results or Path(f"{file.stem}.parquet")
        check_folder(target)
        from ..research.study import Study

        with _importable(file.absolute().parent) if self.allow_code else nullcontext():
            study = Study.read(file, allow_code=self.allow_code)
            if self.runs is not None:
                study = replace(study, runs=self.runs)
            with workers.hired() as how:
                found = study.run(target, progress=progress, on_error=self.on_error, **how)
        wrote(target)
        return found


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
    """Run a Monte Carlo study and show what came of it; what was run before is not run again.

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
        from ..research.study import Result

        result = Result.read(file)
    else:
        result = options.result(file, workers, progress)
    if table == "runs":
        report.table(result.frame.set_index("point"), repr(result)[1:-1])
    else:
        report.deliver(_points_text(result), result.summary)
    if len(result.failed) and file.suffix.lower() != ".parquet":
        raise typer.Exit(ExitCode.NO)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """While a study that is trusted is read and run: its ``module:function`` may be in a file of the same folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _functions() -> pd.DataFrame:
    """Return the generators and statistics that ship with fairlp, in one table."""
    import pandas as pd

    from ..research.study import generators, statistics

    kinds = {"generator": generators.table(), "statistic": statistics.table()}
    found: pd.DataFrame = pd.concat(
        [frame.rename_axis("name").assign(kind=kind) for kind, frame in kinds.items()]
    )
    return found


def _points_text(result: Result) -> Text:
    """Give the figures of each point under its parameters, and the first runs that failed."""
    import pandas as pd

    summary, points = result.summary(), result.points
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
    """The options that say how much is drawn, from which seed, and where runs are kept."""

    scale: Annotated[
        Literal["reduced", "paper"], Option(help="Seconds for all, or as much as the papers drew.")
    ] = "reduced"
    seed: SeedOption = 0
    folder: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="Keep runs of studies there, and go on with them."),
    ] = None


@command()
def reproduce(
    *,
    paper: Annotated[
        str | None,
        Argument(
            metavar="PAPER",
            help="000 to 005, a name such as wang-2014, or a .py file or folder/ of yours; else all.",
        ),
    ] = None,
    item: Annotated[
        str | None,
        Argument(metavar="ITEM", help='As the paper calls it, such as "Figure 3"; else all.'),
    ] = None,
    drawn: DrawOptions,
    write: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also write a page (.md, with figures) or a badge (.svg)."),
    ] = None,
    workers: WorkerOptions,
    progress: ProgressFlag = None,
    report: ReportOptions,
) -> None:
    """Compute tables, figures, examples and theorems of the papers again, each beside what the paper says.

    Example: fairlp reproduce 002 "Figure 3"
    """
    check_folder(write)
    if write is not None and write.suffix.lower() not in (".md", ".svg"):
        raise typer.BadParameter(f"{str(write)!r} is no .md or .svg file", param_hint="'--write'")
    from ..research.ledger import reproduce as run

    with workers.hired() as how:
        found = run(paper, item, **vars(drawn), progress=progress, **how)
    if write is not None:
        found.write(write)
        wrote(write)
    report.deliver(_ledger_text(found), found.table, found.to_dict)


def _ledger_text(ledger: Ledger) -> Text:
    """Give a table for each paper, then how many items have which verdict; of a single item its numbers."""
    import pandas as pd

    table = ledger.table()
    for paper in ledger.papers:
        yield TitledTable(f"{paper.number}  {paper.title}", table.loc[[paper.number]].droplevel(0))
    if len(ledger) > 1:
        yield TitledTable("Verdicts", ledger.counts())
        return
    (row,) = ledger
    rows = {
        one.name: {
            "paper": one.paper,
            "ours": one.ours,
            "agrees": "–" if one.agrees is None else one.agrees,
        }
        for one in row.answer.numbers
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
    from ..research.library import names

    return begun(incomplete, names())


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
        Option(
            metavar="NAMES",
            callback=own_solver,
            autocompletion=complete_solver,
            help="Run these: with commas between them, or repeated; all: those that are here; your own: module:Class.",
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
    """List the benchmark instances, write them as MPS, or run solvers on them and print a performance profile.

    The list says how large each is, why it is hard, and the optimum where there is a closed form.
    Of solvers, each runs in a process of its own, and only answers that are proved count; Ctrl-C
    keeps what is done.

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
    from ..research.library import table
    from ..research.library.registry import find

    frame = table(entries.size, entries.seed, data=entries.folders())
    if names := given_names(entries.only):
        frame = frame.loc[[find(name).name for name in names]]
    shown = frame.astype(object).where(frame.notna(), float("nan"))

    instances = TitledTable(f"Instances, {entries.size}", shown.drop(columns=["size", "why hard"]))
    reasons = TitledTable("Why they are hard", frame[["why hard"]])
    report.deliver([instances, reasons], frame, lambda: records(shown))


def _write_entries(entries: EntryOptions, folder: Path, suffix: str, progress: bool | None) -> None:
    from ..research.library import write_all

    index = write_all(
        folder,
        given_names(entries.only),
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
    for file in ("index.csv", "index.json"):
        say(f"wrote {folder / file}")


def _run_solvers(
    entries: EntryOptions, runs: RunOptions, progress: bool | None, report: DrawnReportOptions
) -> None:
    from ..models.programs.backends import available_backends
    from ..research.library import run
    from ..research.library.entry import chosen

    names = given_names(runs.solvers) or []
    names = available_backends() if names == ["all"] else names
    made, missing = chosen(given_names(entries.only), entries.size, entries.seed, entries.folders())
    for why in missing.values():
        tell("warning", f"left out: {why}")
    found = run(
        names,
        made,
        size=entries.size,
        seed=entries.seed,
        time_limit=runs.time_limit,
        memory=runs.memory,
        repeat=runs.repeat,
        progress=progress,
    )

    report.deliver(_profiles_text(found), found.table, found.to_dict)
    report.save(lambda: plots.plot_profile(found.profile().ratios))
    if not found.complete:
        tell(
            "error", f"interrupted; {len(found.rows)} of {len(names) * len(made)} answers are kept"
        )
        raise typer.Exit(ExitCode.INTERRUPTED)


def _profiles_text(found: Results) -> Text:
    """Give the profiles, by kind of program and of all, and what was not accepted."""
    kinds = list(dict.fromkeys(row.kind for row in found.rows))
    for kind in kinds if len(kinds) > 1 else ():
        count = len(found.times(kind))
        yield TitledTable(
            f"Performance profile, {kind} ({count} programs)", found.profile(kind).table()
        )
    yield TitledTable(
        f"Performance profile, all {len(found.times())} programs", found.profile().table()
    )
    table = found.table()
    refused = table.loc[~table["accepted"].astype(bool), ["verdict", "status", "message"]]
    if len(refused):
        flat = refused.reset_index().set_index("entry")
        yield TitledTable("Not accepted", flat.assign(message=flat["message"].str.slice(0, 90)))
