"""The command that simulates users who submit jobs over time: simulate."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FileFormatError, UnknownNameError, nearest
from .app import app
from .commands import _check_plot, _save
from .inputs import load_instance
from .output import check_folder, chosen_format, deliver, records, wrote
from .parameters import (
    CsvFlag,
    InstanceArgument,
    JsonFlag,
    OutputOption,
    PlotOption,
    ProgressFlag,
    mechanism_names,
    solver_options,
)
from .reports import report_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..simulation import Workload
    from ..simulation.experiments import Comparison

#: JOBS that are drawn instead of read.
_DRAWN = "synthetic"
#: What every table of Alibaba's tasks has, and no table of jobs.
_TRACE_COLUMN = "creation_time"


def complete_policy(incomplete: str) -> list[str]:
    """Return the policies that begin so."""
    from ..simulation import policies

    return [name for name in policies() if name.startswith(incomplete)]


@app.command()
def simulate(
    cluster: InstanceArgument,
    jobs: Annotated[
        str,
        typer.Argument(
            metavar="JOBS",
            show_default=False,
            help="A CSV file: user, arrival, tasks, duration (seconds), a column for each resource; optionally job and "
            "eligible. Or a table of tasks of the Alibaba GPU trace, or 'synthetic'.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            autocompletion=complete_policy,
            show_default=False,
            help="best-fit (default), first-fit, slots; or a mechanism for divisible tasks: drfh, tsf, psdsf-rdm, "
            "psdsf-rdm-distributed, … May be repeated, to compare.",
        ),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option("--until", metavar="SECONDS", min=0, show_default=False, help="By default until all has ended."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            "--every",
            metavar="SECONDS",
            show_default=False,
            help="Between samples over time; by default 60, or more where that would be over a thousand.",
        ),
    ] = None,
    slots: Annotated[int, typer.Option("--slots", min=1, help="Slots of the largest server, for slots.")] = 14,
    weight: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="USER=NUMBER", help="A user's weight, 1 without it. May be repeated."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of divisible tasks, such as method=lp or period=5. May be repeated.",
        ),
    ] = None,
    draw: Annotated[
        list[str] | None,
        typer.Option(
            "--draw",
            metavar="NAME=VALUE",
            help="For synthetic jobs: jobs, users, tasks, duration, hours, smallest, largest or seed. May be repeated.",
        ),
    ] = None,
    save_jobs: Annotated[
        Path | None,
        typer.Option("--save-jobs", metavar="FILE", show_default=False, help="Also write the jobs as CSV."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FOLDER",
            show_default=False,
            help="Keep the state there while it runs; what was stopped goes on when it is started again.",
        ),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables",
            metavar="FOLDER",
            show_default=False,
            help="Also write time series, jobs and users of each policy as CSV, in a folder of its own.",
        ),
    ] = None,
    plot: PlotOption = None,
    progress: ProgressFlag = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
    output: OutputOption = None,
) -> None:
    """Simulate users who submit jobs over time to the servers of INSTANCE.

    Example: fairlp simulate wang-figure-4 synthetic -p best-fit -p slots --until 7200
    """
    kind = chosen_format(as_json, as_csv, output)
    check_folder(save_jobs)
    _check_plot(plot)
    from ..mechanisms.whole_tasks.placement import POLICIES
    from ..simulation import policies
    from ..simulation import simulate as run
    from ..simulation.experiments import Comparison

    names = mechanism_names(policy) or ["best-fit"]
    for name in names:
        if name not in policies():  # before the first of them is simulated
            raise UnknownNameError(f"no policy is called {name!r}; {nearest(name, policies())}")
    options = solver_options(option)
    if options and all(name in POLICIES for name in names):
        raise typer.BadParameter(f"--option is for divisible tasks, and {', '.join(names)} runs whole ones")
    servers, workload = load_instance(cluster), _workload(jobs, solver_options(draw))
    weights = _weights(weight, workload)
    if save_jobs is not None:
        workload.to_csv(save_jobs)
        wrote(save_jobs)
    if state is not None:
        state.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in names:
        results[name] = run(
            servers,
            workload,
            name,
            until=until,
            every=every,
            slots=slots,
            weights=weights,
            state=None if state is None else state / f"{name}.state",
            progress=progress,
            **({} if name in POLICIES else options),
        )
        for path in [] if tables is None else results[name].to_csv(tables / name):
            wrote(path)
    found = Comparison(servers, workload, results)
    summary = found.summary()
    deliver(
        kind,
        output,
        text=lambda console: _report(console, found, summary),
        data=lambda: records(summary),
        frame=lambda: summary,
    )
    if plot is not None:
        from .. import plots

        _save(plots.plot_utilization_over_time(found), plot)


def _report(console: Console, found: Comparison, summary: pd.DataFrame) -> None:
    """Print what was simulated, and a row for each policy."""
    console.print(f"{found.cluster!r}\n{found.workload!r}\n")
    report_table(console, summary, "Means over time; fractions of the tasks and jobs that arrived")


def _workload(text: str, drawn: dict[str, Any]) -> Workload:
    """Return the jobs of a CSV file, of a table of Alibaba's tasks, or drawn."""
    from ..simulation import Workload, generators

    path = Path(text)
    if path.exists():
        if drawn:
            raise typer.BadParameter(f"--draw is for synthetic jobs, and JOBS is the file {text!r}")
        return generators.alibaba(path) if _is_trace(path) else Workload.read_csv(path)
    if text != _DRAWN:
        raise FileFormatError(f"there is no file {text!r}; expected a CSV file of jobs, or {_DRAWN!r}")
    known = list(inspect.signature(generators.synthetic).parameters)
    for name in drawn:
        if name not in known:
            raise UnknownNameError(f"synthetic jobs have no option {name!r}; {nearest(name, known)}")
    return generators.synthetic(**drawn)


def _is_trace(path: Path) -> bool:
    """Whether it is a table of Alibaba's tasks, by its header."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return _TRACE_COLUMN in file.readline()


def _weights(pairs: list[str] | None, workload: Workload) -> dict[Any, float]:
    """Return users' weights from ``USER=NUMBER``; labels that are numbers in the workload are found by their text."""
    users = {str(user): user for user in workload.users}
    found = {}
    for pair in pairs or ():
        user, _, number = pair.rpartition("=")
        try:
            found[users.get(user, user)] = float(number)
        except ValueError:
            raise typer.BadParameter(f"{pair!r} is not of the form USER=NUMBER", param_hint="'--weight'") from None
    return found
