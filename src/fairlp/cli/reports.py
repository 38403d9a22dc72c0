"""What ``fairlp allocate`` and ``fairlp compare`` print for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from ..errors import NotDefinedError
from ..tolerances import VERIFIED
from .tables import cell, report_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..mechanisms.allocation import Allocation
    from ..models.instances.instance import Instance

#: Rows of a table of users that a report shows.
_SHOWN = 30
#: Most expensive capacities that a report shows.
_PRICES_SHOWN = 5


class Which(StrEnum):
    """Tables of an allocation, by the names of its attributes (``users`` is its summary)."""

    users = "users"
    queues = "queues"
    tasks = "tasks"
    usage = "usage"
    utilization = "utilization"
    prices = "prices"
    rounds = "rounds"


def allocation_table(allocation: Allocation, which: Which, level: int | None = None) -> pd.DataFrame:
    """Return one table of an allocation; that of queues at one level, or of all of them."""
    if which is Which.users:
        return allocation.summary()
    if which is Which.queues:
        return allocation.by_queue(level)
    found: pd.DataFrame | None = getattr(allocation, which.value)
    if found is None:
        raise NotDefinedError(
            f"method {allocation.method!r} of {allocation.mechanism!r} gives no {which.value}; --method lp does"
        )
    if which is Which.rounds and "users" in found:
        found = found.assign(users=found["users"].map(cell))
    return found


def report_allocation(console: Console, allocation: Allocation, said: Collection[str] = ()) -> None:
    """Print an allocation: users, utilisation, prices, how it was found and verified; notes that were not yet said."""
    from ..mechanisms.table import TABLE

    title = TABLE[allocation.mechanism].title if allocation.mechanism in TABLE else ""
    console.print(f"{allocation.mechanism}: {title}" if title else allocation.mechanism, style="bold")
    how = allocation.method + (f" through {allocation.solver}" if allocation.solver else "")
    console.print(f"{_about(allocation.instance)}; method {how}\n")
    hint = "--table users prints all, --csv and --json write all"
    report_table(console, allocation.summary(), "Users", shown=_SHOWN, hint=hint)
    if allocation.instance.queues is not None:
        named = allocation.by_queue().rename(index={"": "(root)"})
        report_table(console, named, "Queues, each with all below it", shown=_SHOWN, hint="--table queues prints all")
    report_table(console, _pool(allocation), "The whole cluster")
    if allocation.prices is not None:
        dear = _dearest(allocation.prices, allocation.instance)
        if len(dear):
            report_table(
                console, dear, "Most expensive capacities (price: at most what one more unit adds to the level)"
            )
    for name, text in _facts(allocation):
        console.print(f"{name:<9} {text}")
    for note in allocation.notes:
        if note not in said:
            console.print(f"{'note':<9} {note}")


def report_comparison(console: Console, tables: Mapping[str, pd.DataFrame], left_out: Mapping[str, str]) -> None:
    """Print the tables of a comparison by their titles, and what was left out and why."""
    for title, frame in tables.items():
        report_table(console, frame, title, shown=_SHOWN, hint="--value prints all of a table, --csv and --json too")
    for name, reason in left_out.items():
        console.print(f"left out  {name}: {reason}")


def _about(instance: Instance) -> str:
    return repr(instance).removeprefix("<Instance").removesuffix(">").lstrip(": ")


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
        columns["unit"] = [instance.units.get(str(resource), "") for resource in instance.resources]
    return pd.DataFrame(columns, index=used.index)


def _dearest(prices: pd.DataFrame, instance: Instance) -> pd.DataFrame:
    """Return the highest prices, with their server, resource and unit."""
    import pandas as pd

    flat = prices.to_numpy().reshape(-1)
    order = [int(k) for k in (-flat).argsort(kind="stable")[:_PRICES_SHOWN] if flat[k] > 0]
    places = [divmod(k, prices.shape[1]) for k in order]
    resources = [instance.resources[r] for _, r in places]
    columns: dict[str, object] = {"resource": resources, "price": flat[order]}
    if instance.units:
        columns["per"] = [instance.units.get(str(resource), "") for resource in resources]
    servers = pd.Index([instance.servers[i] for i, _ in places], name="server", dtype=object)
    return pd.DataFrame(columns, index=servers)


def _facts(allocation: Allocation) -> list[tuple[str, str]]:
    """Return rounds, verification and times, each in one line."""
    facts = []
    rounds = allocation.rounds
    if rounds is not None and len(rounds):
        low, high = (cell(float(rounds["level"].iloc[k])) for k in (0, -1)) if "level" in rounds else ("", "")
        level = f", level {low}" if low == high else f", levels {low} to {high}"
        facts.append(("rounds", f"{len(rounds)}{level if low else ''}"))
    worst = f"largest violation of a capacity or limit {allocation.residual:.3g}"
    if allocation.gap is None:
        sound = allocation.residual <= VERIFIED
        worst += "; no linear program, so no duality gap (fairlp validate compares with one)"
    else:
        sound = max(allocation.residual, allocation.gap) <= VERIFIED
        worst += f", largest duality gap {allocation.gap:.3g}, both relative"
    facts.append(("verified", worst if sound else f"NO: {worst}; expected at most {VERIFIED:.3g}"))
    if allocation.times:
        facts.append(("times", ", ".join(f"{phase} {seconds:.3g} s" for phase, seconds in allocation.times.items())))
    return facts
