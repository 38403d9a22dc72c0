"""The commands for Monte Carlo studies: study run, show, example, generators, statistics."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import Commands, ExitCode, Group, app
from .groups import grouped
from .output import Printed, Report, check_folder, check_free, say, wrote
from .parameters import ForceFlag, ProgressFlag
from .tables import report_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..research.study import Result

study = Commands(
    cls=Group, no_args_is_help=True, help="Monte Carlo studies: run one from a file, show what came of it."
)
app.add_typer(study, name="study")

#: A study to start from.
_EXAMPLE: dict[str, Any] = {
    "name": "drf and asset fairness",
    "generator": "uniform-integers",
    "grid": {"users": [20], "resources": [2, 4], "demands": [[1, 10]], "reserves": [[500, 1000]]},
    "mechanisms": {"reference": {"mechanism": "drf"}, "asset": {"mechanism": "asset"}},
    "statistics": ["jain", {"name": "deviation", "of": "asset", "from": "reference"}],
    "runs": 50,
    "seed": 0,
}


class OnError(StrEnum):
    """What a run that fails does."""

    stop = "raise"
    record = "record"


@dataclass(frozen=True)
class Workers:
    """The options that say who does the runs."""

    workers: Annotated[int | None, typer.Option("--workers", help="Processes (1 without it); -1 for all cores.")] = None
    backend: Annotated[
        str | None,
        typer.Option("--backend", metavar="NAME", help="Of joblib: loky (default), threading, …"),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Run on this Dask cluster."),
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


@study.command("run")
@grouped
def run_study(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study in .yaml or .json.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help=".parquet; by default named as the study's file."),
    ] = None,
    runs: Annotated[int | None, typer.Option("--runs", min=1, help="So many of each point instead.")] = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Import and run functions of modules that the study names (module:function), also beside the file, "
            "and take a solver's own options. Only for a study that you trust.",
        ),
    ] = False,
    workers: Workers,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="A run that fails ends the study, or is a row with its message.")
    ] = OnError.stop,
    progress: ProgressFlag = None,
    printed: Printed,
) -> None:
    """Run a study; one that was stopped goes on where it was. The exit code is 1 when runs failed and were recorded.

    Example: fairlp study run study.yaml --workers 2
    """
    target = output or Path(f"{file.stem}.parquet")
    check_folder(target)
    from dataclasses import replace

    from ..research.study import Study

    with _importable(file.absolute().parent) if allow_code else nullcontext():
        found = Study.read(file, allow_code=allow_code)
        if runs is not None:
            found = replace(found, runs=runs)
        with workers.hired() as how:
            result = found.run(target, progress=progress, on_error=on_error.value, **how)
    wrote(target)
    _report(result, printed)
    if len(result.failed):
        raise typer.Exit(ExitCode.NO)


@study.command("show")
@grouped
def show_study(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet file of a study.")],
    runs: Annotated[bool, typer.Option("--runs", help="Every run, instead of figures over the runs.")] = False,
    report: Report,
) -> None:
    """Show what came of a study: mean, standard deviation, minimum and maximum by point."""
    from ..research.study import Result

    result = Result.read(file)
    if runs:
        report.table(result.frame.set_index("point"), repr(result)[1:-1])
    else:
        _report(result, report)


@study.command("example")
def example_study(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help=".yaml or .json.")] = Path(
        "study.yaml"
    ),
    force: ForceFlag = False,
) -> None:
    """Write a small study to start from."""
    check_folder(output)
    if not force:
        check_free(output)
    from ..research.study import Study

    say(f"wrote {Study.from_dict(_EXAMPLE).write(output)}")


@study.command("generators")
@grouped
def list_generators(report: Report) -> None:
    """List the generators of instances that ship with fairlp."""
    from ..research.study.generators import table

    report.table(table(), "Generators")


@study.command("statistics")
@grouped
def list_statistics(report: Report) -> None:
    """List the statistics that ship with fairlp."""
    from ..research.study.statistics import table

    report.table(table(), "Statistics")


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """While a study that is trusted is read and run: its ``module:function`` may be in a file of the same folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _report(result: Result, report: Printed) -> None:
    """Print the figures of each point under its parameters, or all of them as one table for programs."""
    summary = result.summary()
    points = result.points

    def text(console: Console) -> None:
        import pandas as pd

        console.print(f"{repr(result)[1:-1]}\n")
        shape = (len(points), len(result.statistics), summary.shape[1])
        values = summary.to_numpy().reshape(shape)
        for k, (_, point) in enumerate(points.iterrows()):
            title = ", ".join(f"{name}={value}" for name, value in point.items())
            frame = pd.DataFrame(values[k], index=result.statistics, columns=summary.columns)
            report_table(console, frame.rename_axis("statistic"), title or "All runs")
        for row in result.failed.head(3).itertuples():
            console.print(f"failed    point {row.point}, run {row.run}: {row.error}")

    report.deliver(text=text, frame=lambda: summary)
