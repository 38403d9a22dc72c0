"""The command that simulates users who submit jobs over time: simulate."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from fairlp.errors import FileFormatError, require_known
from fairlp.toolkit import (
    DrawnReportOptions,
    TitledTable,
    command,
    home,
    instance_argument,
    load_instance,
    named_option,
    read_options,
    read_pairs,
    require_folder,
    split_names,
)

from .. import plots
from .options import ProgressFlag, Repeated, wrote

if TYPE_CHECKING:
    from ..simulation import Workload
    from ..simulation.result import SimulationResult

#: JOBS that are drawn instead of read.
_DRAWN = "synthetic"
#: What every table of Alibaba's tasks has, and no table of jobs.
_TRACE_COLUMN = "creation_time"
#: Characters of a header that are looked at.
_MOST_OF_A_HEADER = 100_000


def _policies() -> tuple[str, ...]:
    from ..simulation import policies

    return policies()


@dataclass(frozen=True)
class JobOptions:
    """The options that say which jobs there are."""

    jobs: Annotated[
        str,
        Argument(
            metavar="JOBS",
            help="A CSV file: user, arrival, tasks, duration (seconds), a column for each resource; optionally job and "
            "eligible. Or a table of tasks of the Alibaba GPU trace, or 'synthetic'.",
        ),
    ]
    draw: Annotated[
        Repeated,
        Option(
            metavar="NAME=VALUE",
            help="For synthetic jobs: jobs, users, tasks, duration, hours, smallest, largest or seed. May be repeated.",
        ),
    ] = None
    save_jobs: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also write the jobs as CSV."),
    ] = None

    def __post_init__(self) -> None:
        require_folder(self.save_jobs)

    def drawn_or_read(self) -> Workload:
        """Return the jobs of a CSV file, of a table of Alibaba's tasks, or drawn."""
        from ..simulation import Workload, generators

        drawn = read_options(self.draw)
        path = home(self.jobs)
        if path.exists():
            if drawn:
                raise typer.BadParameter(
                    f"--draw is for synthetic jobs, and JOBS is the file {self.jobs!r}"
                )
            return generators.alibaba(path) if _is_trace(path) else Workload.read_csv(path)
        if self.jobs != _DRAWN:
            raise FileFormatError(
                f"there is no file {self.jobs!r}; expected a CSV file of jobs, or {_DRAWN!r}"
            )
        parameters = list(inspect.signature(generators.synthetic).parameters)
        for name in drawn:
            require_known(name, parameters, f"synthetic jobs have no option {name!r}")
        return generators.synthetic(**drawn)

    def save(self, workload: Workload) -> None:
        """Write the jobs, where ``--save-jobs`` names a file."""
        if self.save_jobs is not None:
            workload.to_csv(self.save_jobs)
            wrote(self.save_jobs)


@dataclass(frozen=True)
class PolicyOptions:
    """The options of the policies that run the jobs."""

    policy: Annotated[
        Repeated,
        named_option(
            "mechanism",
            "--policy",
            "-p",
            names=_policies,
            help_text="best-fit (default), first-fit, slots; or a mechanism for divisible tasks: drfh, tsf, psdsf-rdm, "
            "psdsf-rdm-distributed, … Your own: module:function or file.py:function. May be "
            "repeated, to compare.",
        ),
    ] = None
    until: Annotated[
        float | None,
        Option(metavar="SECONDS", min=0, help="By default until all has ended."),
    ] = None
    every: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            help="Between samples over time; by default 60, more where that gives over 1,000, less where under 10.",
        ),
    ] = None
    slots: Annotated[int, Option(min=1, help="Slots of the largest server, for slots.")] = 14
    weight: Annotated[
        Repeated,
        Option(metavar="USER=NUMBER", help="A user's weight, 1 without it. May be repeated."),
    ] = None
    option: Annotated[
        Repeated,
        Option(
            metavar="NAME=VALUE",
            help="An option of divisible tasks, such as method=lp or period=5. May be repeated.",
        ),
    ] = None

    def options(self) -> dict[str, dict[str, Any]]:
        """Return the options of each policy, which only those of divisible tasks have."""
        import fairlp

        from ..simulation import policies
        from ..simulation.gaps import GAP_POLICIES

        of_whole_tasks = (*fairlp.mechanisms.POLICIES, *GAP_POLICIES)
        names = split_names(self.policy) or ["best-fit"]
        for name in names:
            require_known(name, policies(), f"no policy is called {name!r}")
        options = read_options(self.option)
        if options and all(name in of_whole_tasks for name in names):
            raise typer.BadParameter(
                f"--option is for divisible tasks, and {', '.join(names)} runs whole ones"
            )
        return {name: {} if name in of_whole_tasks else options for name in names}


@dataclass(frozen=True)
class FolderOptions:
    """The option of the folder of the tables."""

    tables: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Also write time series, jobs and users of each policy as CSV, in a folder of its own.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.tables is not None and self.tables.exists() and not self.tables.is_dir():
            raise FileFormatError(
                f"{str(self.tables)!r} is a file; expected a folder, which may be a new one"
            )

    def save(self, policy: str, result: SimulationResult) -> None:
        """Write the tables of one policy, where ``--tables`` names a folder."""
        for path in [] if self.tables is None else result.to_csv(self.tables / policy):
            wrote(path)


@command()
def simulate(
    *,
    cluster: Annotated[str, instance_argument()],
    runs: PolicyOptions,
    jobs: JobOptions,
    folders: FolderOptions,
    progress: ProgressFlag = None,
    report: DrawnReportOptions,
) -> None:
    """Simulate users who submit jobs over time to the servers of INSTANCE.

    Example: fairlp simulate wang-figure-4 synthetic -p best-fit -p slots --until 7200
    """
    from ..simulation import simulate as run
    from ..simulation.experiments import Comparison

    options = runs.options()  # an unknown name raises before the first simulation
    servers = load_instance(cluster)
    workload = jobs.drawn_or_read()
    users = {str(user): user for user in workload.users}  # labels may be numbers
    weights = {
        users.get(user, user): weight
        for user, weight in read_pairs(runs.weight, "--weight").items()
    }
    jobs.save(workload)
    results = {}
    for policy, policy_options in options.items():
        results[policy] = run(
            servers,
            workload,
            policy,
            until=runs.until,
            every=runs.every,
            slots=runs.slots,
            weights=weights,
            progress=progress,
            **policy_options,
        )
        folders.save(policy, results[policy])
    comparison = Comparison(servers, workload, results)
    summary = comparison.summary()

    title = "Means over time; fractions of the tasks and jobs that arrived"
    report.deliver([f"{servers!r}\n{workload!r}\n", TitledTable(title, summary)], summary)
    report.save(lambda: plots.plot_utilization_over_time(comparison))


def _is_trace(path: Path) -> bool:
    """Whether it is a table of Alibaba's tasks, by its header."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return _TRACE_COLUMN in file.readline(_MOST_OF_A_HEADER)
