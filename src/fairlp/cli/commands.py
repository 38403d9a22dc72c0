"""The commands that share a cluster: allocate, compare, validate."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from typer import Option

from .. import plots
from ..errors import NotDefinedError, SkippedMechanismWarning
from ..models.files.whole_files import require_folder
from ..tolerances import VERIFIED
from .app import ExitCode, command, in_shell_words
from .output import (
    SHOWN,
    DrawnReportOptions,
    Text,
    TitledTable,
    cell,
    records,
    wrote,
)
from .parameters import (
    InstanceArgument,
    MechanismOption,
    MechanismsOption,
    MethodOptions,
    load_instance,
    split_names,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..mechanisms.allocation import Allocation
    from ..models.instances.instance import Instance

#: Tables of an allocation, by the names of its attributes (``users`` is its summary).
AllocationTable = Literal["users", "queues", "tasks", "usage", "utilization", "prices", "rounds"]
#: Tables of a comparison.
ComparisonTable = Literal["tasks", "shares", "utilization", "summary"]
_TITLES: dict[ComparisonTable, str] = {
    "summary": "Summary",
    "tasks": "Tasks by user",
    "shares": "Global dominant shares by user (the same yardstick for all)",
    "utilization": "Fraction of the cluster in use",
}
#: Most expensive capacities that a report shows.
_PRICES_SHOWN = 5


@command()
def allocate(
    *,
    ctx: typer.Context,
    instance: InstanceArgument,
    mechanism: MechanismOption = "drfh",
    table: Annotated[
        AllocationTable | None,
        Option(help="Only this table, whole; --csv writes users without it."),
    ] = None,
    level: Annotated[
        int | None, Option(min=0, help="Of --table queues: only those so deep (1: below the root).")
    ] = None,
    proof: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Also prove it in rationals, and write the proof as JSON: python -m fairlp_check FILE.",
        ),
    ] = None,
    method: MethodOptions,
    report: DrawnReportOptions,
) -> None:
    """Share the cluster by a mechanism: the tasks of each user on each server.

    The exit code is 1 where the answer is not verified.

    Example: fairlp allocate wang-figure-1 -m drfh
    """
    if report.format == "json" and table is not None:
        raise typer.BadParameter(
            "--table is for text and --csv; JSON holds users, tasks and utilization"
        )
    if level is not None and table != "queues":
        raise typer.BadParameter("--level is of --table queues")
    require_folder(proof)
    arguments = method.arguments()
    from ..api import allocate as run

    allocation = run(load_instance(instance), mechanism, **arguments)
    if proof is not None:
        wrote(allocation.certify(exact=True).write(proof))

    frame = allocation_table(allocation, table or "users", level)
    messages = ctx.obj if report.output is None else ()
    text = (
        [TitledTable(table.capitalize(), frame)] if table else allocation_text(allocation, messages)
    )
    report.deliver(text, frame, allocation.to_dict)
    if table == "queues":
        report.save(lambda: plots.plot_queues(allocation, level=1 if level is None else level))
    else:
        report.save(lambda: plots.plot_allocation(allocation))
    if not verification(allocation)[0]:
        raise typer.Exit(ExitCode.NO)


@command()
def compare(
    *,
    instance: InstanceArgument,
    mechanism: MechanismsOption = None,
    value: Annotated[
        ComparisonTable | None,
        Option(help="Only this table, whole; --csv writes tasks without it."),
    ] = None,
    methods: Annotated[
        bool,
        Option(
            "--methods",
            help="Compare every exact method of one mechanism with its LP; exit code 1 if one differs.",
        ),
    ] = False,
    method: MethodOptions,
    report: DrawnReportOptions,
) -> None:
    """Share the same cluster by several mechanisms, side by side, or by all methods of one.

    Example: fairlp compare khamse-ashari-figure-1 -m c-drfh,tsf
    """
    arguments = method.arguments()
    names = split_names(mechanism)
    if methods:
        if value is not None or report.plot is not None:
            raise typer.BadParameter(
                "--value and --plot are for several mechanisms, not for --methods"
            )
        _compare_methods(instance, names or ["drfh"], arguments, report)
        return
    from ..plots.comparison import comparison_table

    cluster = load_instance(instance)
    is_text = report.format == "text"  # the report itself lists what is left out
    allocations, left_out = _compared(cluster, names, quiet=is_text, **arguments)

    def table_of(which: ComparisonTable) -> pd.DataFrame:
        return comparison_table(cluster, allocations, which)

    def text() -> Text:
        if value is not None:
            yield TitledTable(_TITLES[value], table_of(value))
            return
        hint = "--value prints all of a table, --csv and --json too"
        yield TitledTable(_TITLES["summary"], table_of("summary"), SHOWN, hint)
        yield TitledTable("What they are", _titles_of(allocations))
        yield TitledTable(_TITLES["tasks"], table_of("tasks"), SHOWN, hint)
        for reason in dict.fromkeys(left_out.values()):
            names = ", ".join(name for name, other in left_out.items() if other == reason)
            yield f"left out  {names}: {reason}"
        yield from _conclusion(instance, cluster, table_of("tasks"), table_of("shares"))

    def data() -> dict[str, Any]:
        tables = (value,) if value else get_args(ComparisonTable)
        return {"left_out": left_out, **{which: records(table_of(which)) for which in tables}}

    report.deliver(text(), lambda: table_of(value or "tasks"), data)
    report.save(lambda: plots.plot_comparison(allocations))


def _titles_of(mechanisms: Iterable[str]) -> pd.DataFrame:
    """Return in one line each what mechanisms are."""
    import pandas as pd

    from ..mechanisms.table import find

    titles = pd.Series({name: find(name).title for name in mechanisms}, name="title")
    return titles.rename_axis("mechanism").to_frame()


def _conclusion(
    name: str, instance: Instance, tasks: pd.DataFrame, shares: pd.DataFrame
) -> Iterable[str]:
    """Say which mechanism gives the poorest user most, and which command goes on from there.

    Users whom every mechanism gives all their tasks say nothing about fairness and do not count.
    """
    tasks = tasks.dropna(axis="columns")
    shares = shares[tasks.columns]
    if tasks.shape[1] < 2:
        return
    limits = instance.task_limits[:, None]
    wants_more = (tasks.to_numpy() < limits * (1 - VERIFIED)).any(axis=1)
    if not wants_more.any():
        yield "In short: all mechanisms give every user all its tasks."
        return
    whose = "the user" if wants_more.all() else "of users who want more, the one"
    smallest_shares = {
        str(mechanism): float(share) for mechanism, share in shares[wants_more].min().items()
    }
    fairest = max(smallest_shares, key=lambda name: smallest_shares[name])
    least_fair = min(smallest_shares, key=lambda name: smallest_shares[name])
    highest, lowest = smallest_shares[fairest], smallest_shares[least_fair]
    is_same = highest <= lowest * (1 + VERIFIED)
    if is_same:
        comparison = f"{whose} with the smallest share gets the same by all mechanisms"
    else:
        comparison = (
            f"{whose} with the smallest share gets most by {fairest} ({highest:.3g}) and least by "
            f"{least_fair} ({lowest:.3g})"
        )
    total_tasks = tasks.sum()
    busiest = str(total_tasks.idxmax())
    yield f"In short: {comparison}; {busiest} runs the most tasks ({total_tasks.max():.6g})."
    subject = busiest if is_same else fairest
    audit = shlex.join(["fairlp", "audit", name, "-m", subject])
    yield f"Next, the properties that {subject} has here: {audit}"


def _compared(
    instance: Any, names: list[str] | None, *, quiet: bool, **options: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the allocations, and the reasons of the mechanisms that are left out."""
    from ..api import allocate_all
    from ..mechanisms.table import TABLE, find

    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", SkippedMechanismWarning)
        allocations = allocate_all(instance, names, **options)
    candidates = TABLE.values() if names is None else [find(name) for name in names]
    reasons = {row.name: row.undefined(instance) for row in candidates}
    return allocations, {name: reason for name, reason in reasons.items() if reason}


def _compare_methods(
    instance: str, names: list[str], arguments: dict[str, Any], report: DrawnReportOptions
) -> None:
    """Compare every exact method of a mechanism with the linear program, user by user."""
    by_default = MethodOptions().arguments()
    fixed = {
        name: arguments.pop(name) for name in ("method", "merge", "oversized") if name in arguments
    }
    is_changed = any(by_default.get(name) != value for name, value in fixed.items())
    if len(names) > 1 or is_changed:
        raise typer.BadParameter(
            "--methods runs all methods of one mechanism; leave out --method, --no-merge and such"
        )
    from ..mechanisms.validation import validate

    table = validate(load_instance(instance), names[0], **arguments)
    disagreeing = [str(method) for method in table.index[~table["agrees"].astype(bool)]]

    verdict = f"disagree: {', '.join(disagreeing)}" if disagreeing else "all methods agree"
    report.deliver(
        [TitledTable(f"{names[0]}: methods against the linear program", table), verdict], table
    )
    if disagreeing:
        raise typer.Exit(ExitCode.NO)


# An allocation for people.


def allocation_table(
    allocation: Allocation, which: AllocationTable, level: int | None = None
) -> pd.DataFrame:
    """Return one table of an allocation; that of queues at one level, or of all of them."""
    if which == "users":
        return allocation.summary()
    if which == "queues":
        return allocation.by_queue(level)
    table: pd.DataFrame | None = getattr(allocation, which)
    if table is None:
        raise NotDefinedError(
            f"method {allocation.method!r} of {allocation.mechanism!r} gives no {which}; --method "
            "lp does"
        )
    if which == "rounds" and "users" in table:
        table = table.assign(users=table["users"].map(cell))
    return table


def allocation_text(allocation: Allocation, messages: Collection[str] = ()) -> Text:
    """Yield users, utilisation, prices, the verification, and notes not in ``messages``."""
    from ..mechanisms.table import OWN, TABLE

    name = allocation.mechanism
    instance = allocation.instance
    title = TABLE[name].title if name in TABLE else ""
    yield f"{name}: {title}" if title else name
    method = allocation.method
    if allocation.solver:
        method += f" through {allocation.solver}"
    description = repr(instance).removeprefix("<Instance").removesuffix(">").lstrip(": ")
    yield f"{description}; method {method}\n"
    yield TitledTable(
        "Users", allocation.summary(), SHOWN, "--table users prints all, --csv and --json write all"
    )
    if instance.has_queues:
        named = allocation.by_queue().rename(index={"": "(root)"})
        yield TitledTable(
            "Queues, each with all below it", named, SHOWN, "--table queues prints all"
        )
    yield TitledTable("The whole cluster", _pool(allocation))
    if allocation.prices is not None:
        dearest = _dearest(allocation.prices, instance, max(allocation.gap or 0.0, VERIFIED))
        adds_to = "objective" if name in OWN and allocation.rounds is None else "level"
        title = (
            f"Most expensive capacities (price: at most what one more unit adds to the {adds_to})"
        )
        if len(dearest):
            yield TitledTable(title, dearest)
    notes = [("note", in_shell_words(note)) for note in allocation.notes if note not in messages]
    for label, text in [*_facts(allocation), *notes]:
        yield f"{label:<9} {text}"


def _pool(allocation: Allocation) -> pd.DataFrame:
    """Return the use of the pool by resource, with units."""
    import pandas as pd

    instance = allocation.instance
    used = allocation.pool_utilization
    columns: dict[str, object] = {
        "in use": allocation.usage.sum(axis=0).to_numpy(),
        "capacity": instance.pool,
        "% in use": 100 * used.to_numpy(),
    }
    if instance.units:
        columns["unit"] = _units(instance, instance.resources)
    return pd.DataFrame(columns, index=used.index)


def _dearest(prices: pd.DataFrame, instance: Instance, tolerance: float) -> pd.DataFrame:
    """Return the highest prices, with their server, resource and unit.

    Left out are prices at which a capacity is worth less than ``tolerance`` of all: a certificate
    cannot tell them from 0.
    """
    import numpy as np
    import pandas as pd

    values = prices.to_numpy() * instance.total_capacities
    flat = np.where(values > tolerance * values.sum(), prices.to_numpy(), 0.0).ravel()
    highest_first = (-flat).argsort(kind="stable")[:_PRICES_SHOWN]
    rows = []
    for k in highest_first.tolist():
        if flat[k] > 0:
            i, r = divmod(k, prices.shape[1])
            rows.append((instance.servers[i], instance.resources[r], flat[k]))
    table = pd.DataFrame(rows, columns=["server", "resource", "price"]).set_index("server")
    return table.assign(per=_units(instance, table["resource"])) if instance.units else table


def _units(instance: Instance, resources: Iterable[Any]) -> list[str]:
    return [instance.units.get(str(resource), "") for resource in resources]


def _facts(allocation: Allocation) -> list[tuple[str, str]]:
    """Return rounds, verification and times, each in one line."""
    facts = []
    rounds = allocation.rounds
    if rounds is not None and len(rounds):
        levels = ""
        if "level" in rounds:
            lowest = cell(float(rounds["level"].iloc[0]))
            highest = cell(float(rounds["level"].iloc[-1]))
            levels = f", level {lowest}"
            if lowest != highest:
                levels = f", levels {lowest} to {highest}"
        facts.append(("rounds", f"{len(rounds)}{levels}"))
    facts.append(("verified", verification(allocation)[1]))
    if allocation.times:
        phases = allocation.times.items()
        times = [f"{phase} {seconds:.3g} s" for phase, seconds in phases]
        facts.append(("times", ", ".join(times)))
    unread = [str(name) for name in allocation.instance.user_attributes if name != "arrival"]
    if unread:
        columns = ", ".join(unread)
        facts.append(("not read", f"{columns} of users (where a user may run: column eligible)"))
    return facts


def verification(allocation: Allocation) -> tuple[bool, str]:
    """Return whether an allocation passes its checks, and which these are, in one line.

    Where the method calls its answer unproved, and the mechanism has a proof of its own, that
    proof decides.
    """
    unproved = getattr(allocation, "unproved", "")  # users who arrive have no programs
    has_proof = bool(unproved) and allocation.prove is not None
    proof = allocation.certify() if has_proof else None

    # The figures of the checks
    figures = f"largest violation of a capacity or limit {allocation.residual:.3g}"
    if allocation.gap is not None:
        figures += f", largest duality gap {allocation.gap:.3g}, both relative"
    elif proof is not None and proof.holds:
        figures += f"; {proof.message}"
    elif not unproved:
        figures += (
            "; no linear program, so no duality gap (fairlp compare --methods compares with one)"
        )

    # The verdict
    gap = allocation.gap if unproved and proof is None else None
    gap_is_large = gap is not None and not gap <= VERIFIED
    if gap_is_large or not allocation.residual <= VERIFIED:
        return False, f"NO: {figures}; expected at most {VERIFIED:.3g}"
    if proof is not None and not proof.holds:
        return False, f"NO: {figures}; {proof.message}"
    if proof is not None or not unproved:
        return True, figures
    return True, f"{figures}; {unproved}"
