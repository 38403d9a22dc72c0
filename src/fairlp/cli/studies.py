"""The commands for Monte Carlo studies: study run, show, example, generators, statistics."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FileFormatError
from .app import ExitCode, app
from .output import check_folder, chosen_format, deliver, records, wrote
from .parameters import CsvFlag, JsonFlag, OutputOption, ProgressFlag
from .reports import report_table

if TYPE_CHECKING:
    import pandas as pd

    from ..study import Result

study = typer.Typer(no_args_is_help=True, help="Monte Carlo studies: run one from a file, show what came of it.")
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


@study.command("run")
def run_study(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A study in .yaml or .json.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False, help=".parquet; by default named as the study's file."
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, show_default=False, help="So many of each point instead.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", show_default=False, help="Processes (1 without it); -1 for all cores.")
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option("--backend", metavar="NAME", show_default=False, help="Of joblib: loky (default), threading, …"),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", show_default=False, help="Run on this Dask cluster."),
    ] = None,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="A run that fails ends the study, or is a row with its message.")
    ] = OnError.stop,
    progress: ProgressFlag = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Run a study; one that was stopped goes on where it was. The exit code is 1 when runs failed and were recorded.

    Example: fairlp study run study.yaml --workers 2
    """
    if scheduler is not None and backend not in (None, "dask"):
        raise typer.BadParameter("--scheduler is for --backend dask")
    kind = chosen_format(as_json, as_csv, None)
    target = output or Path(f"{file.stem}.parquet")
    check_folder(target)
    from dataclasses import replace

    from ..study import Study
    from ..study.packages import need

    beside = str(file.absolute().parent)
    sys.path.insert(0, beside)  # module:function may be in a file there
    try:
        found = Study.read(file)
        if runs is not None:
            found = replace(found, runs=runs)
        with ExitStack() as stack:
            if scheduler is not None:
                backend = "dask"
                stack.enter_context(need("distributed").Client(scheduler))
            how: dict[str, Any] = {"workers": workers, "progress": progress, "on_error": on_error.value}
            result = found.run(target, backend=backend or "loky", **how)
    finally:
        sys.path.remove(beside)
    wrote(target)
    _report(result, kind, None)
    if len(result.failed):
        raise typer.Exit(ExitCode.NO)


@study.command("show")
def show_study(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A .parquet file of a study.")],
    runs: Annotated[bool, typer.Option("--runs", help="Every run, instead of figures over the runs.")] = False,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
) -> None:
    """Show what came of a study: mean, standard deviation, minimum and maximum by point."""
    from ..study import Result

    kind = chosen_format(as_json, as_csv, output)
    result = Result.read(file)
    if runs:
        frame = result.frame
        deliver(
            kind,
            output,
            text=lambda console: report_table(console, frame.set_index("point"), repr(result)[1:-1]),
            data=lambda: frame.to_dict("records"),
            frame=lambda: frame.set_index("point"),
        )
    else:
        _report(result, kind, output)


@study.command("example")
def example_study(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help=".yaml or .json.")] = Path(
        "study.yaml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write a small study to start from."""
    check_folder(output)
    if output.exists() and not force:
        raise FileFormatError(f"{str(output)!r} exists already; choose another name with -o, or pass --force")
    from ..study import Study

    typer.echo(f"wrote {Study.from_dict(_EXAMPLE).write(output)}")


@study.command("generators")
def list_generators(as_json: JsonFlag = False, as_csv: CsvFlag = False, output: OutputOption = None) -> None:
    """List the generators of instances that ship with fairlp."""
    from ..study.generators import table

    _list(table(), "Generators", as_json, as_csv, output)


@study.command("statistics")
def list_statistics(as_json: JsonFlag = False, as_csv: CsvFlag = False, output: OutputOption = None) -> None:
    """List the statistics that ship with fairlp."""
    from ..study.statistics import table

    _list(table(), "Statistics", as_json, as_csv, output)


def _list(frame: pd.DataFrame, title: str, as_json: bool, as_csv: bool, output: Path | None) -> None:
    deliver(
        chosen_format(as_json, as_csv, output),
        output,
        text=lambda console: report_table(console, frame, title),
        data=lambda: records(frame),
        frame=lambda: frame,
    )


def _report(result: Result, kind: Any, output: Path | None) -> None:
    """Print the figures of each point under its parameters, or all of them as one table for programs."""
    summary = result.summary()
    points = result.points

    def text(console: Any) -> None:
        console.print(f"{repr(result)[1:-1]}\n")
        shape = (len(points), len(result.statistics), summary.shape[1])
        values = summary.to_numpy().reshape(shape)
        for k, (_, point) in enumerate(points.iterrows()):
            title = ", ".join(f"{name}={value}" for name, value in point.items())
            import pandas as pd

            frame = pd.DataFrame(values[k], index=result.statistics, columns=summary.columns)
            report_table(console, frame.rename_axis("statistic"), title or "All runs")
        for row in result.failed.head(3).itertuples():
            console.print(f"failed    point {row.point}, run {row.run}: {row.error}")

    deliver(kind, output, text=text, data=lambda: records(summary), frame=lambda: summary)
