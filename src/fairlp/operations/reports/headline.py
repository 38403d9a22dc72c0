"""The first lines of the page: is it fair, who is short first, what to do, and what was not counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.instances.problem import quantity
from .standing import ROOM, ShareComparison

#: Reasons of tasks that may not run yet that are named; the others are counted together.
_REASONS = 3


def headline(standing: ShareComparison) -> list[str]:
    """Return the first sentences of the page, a paragraph each."""
    subject = standing.subject
    found = [_hidden(standing)] if len(subject.hidden) else []
    if subject.tasks is not None:
        found += _verdict(standing)
    if len(subject.held):
        counts = subject.held.groupby("reason")["tasks"].sum().sort_values(ascending=False)
        said = [f"{reason}: {count:,}" for reason, count in counts.iloc[:_REASONS].items()]
        if len(counts) > _REASONS:
            said.append(f"other reasons: {counts.iloc[_REASONS:].sum():,}")
        found.append(f"Not runnable yet, and owed nothing: {_tasks(counts.sum())} ({'; '.join(said)}).")
    if len(subject.homeless):
        names = ", ".join(map(str, subject.homeless["user"].iloc[:_REASONS]))
        waits = _tasks(subject.homeless["tasks"].sum())
        found.append(f"Waiting, but no node may take them: {waits} ({names}).")
    return [*found, _rule(standing)]


def _hidden(standing: ShareComparison) -> str:
    """Return that nodes and tasks disagree, and what to ask for."""
    instance, hidden = standing.instance, standing.subject.hidden
    seen = dict(zip(instance.resources, standing.allocation.usage.to_numpy().sum(axis=0).tolist(), strict=True))
    said = [
        f"{_quantity(standing, resource, more + seen[resource])} in use by the nodes, "
        f"{_quantity(standing, resource, seen[resource])} by the tasks in this dump"
        for resource, more in hidden.items()
    ]
    return (
        f"The dump does not show all tasks: {'; '.join(said)}. The rest counts as used and belongs to nobody here. "
        "Print the dump again with the rights of an operator, so that it lists the tasks of all users."
    )


def _verdict(standing: ShareComparison) -> list[str]:
    """Return whether anybody who waits is short of a whole task, who is first, and what would help."""
    short = np.flatnonzero(standing.owed >= 1)
    waits = standing.waiting[np.isfinite(standing.waiting)].sum()
    if not short.size:
        said = f"Tasks that wait: {waits:,.0f}." if waits else "Nothing waits."
        return [f"Fair: nobody is short of a whole task of its fair share. {said}"]
    by = standing.owed * standing.share_of_a_task
    n = int(short[np.argmax(by[short])])
    label, row = standing.instance.users[n], standing.users.iloc[n]
    others = f" So are {short.size - 1:,} other users." if short.size > 1 else ""
    demand = ", ".join(
        _quantity(standing, resource, amount)
        for resource, amount in zip(standing.instance.resources, standing.instance.demands[n].tolist(), strict=True)
        if amount > 0
    )
    owed = int(standing.owed[n])
    first = f"Not fair: {label} is {_tasks(owed)} short of its fair share ({demand} each)."
    return [first + others, _remedy(standing, row)]


def _remedy(standing: ShareComparison, row: Any) -> str:
    """Return what would let the first user run more."""
    if row["blocked_by"] == ROOM:
        return f"There is room for it now on {row['where']}: the scheduler has not placed it yet."
    resource = row["blocked_by"].removeprefix("cap of ")
    if row["blocked_by"] != resource:
        return f"The cap of {row['where']} on {resource} stops it: raise that cap, or let others below it give way."
    if row["beyond_fair"]:
        holder, amount = next(iter(row["beyond_fair"].items()))
        return (
            f"{holder} holds {_quantity(standing, resource, amount)} beyond its fair share on the servers where it "
            "could run. Its tasks would fit as those end."
        )
    return f"Nobody holds {resource} beyond its fair share there: it waits until tasks end, or for more servers."


def _rule(standing: ShareComparison) -> str:
    """Return what fair means here, and why."""
    queues = standing.instance.queues
    if queues is not None and not queues.is_flat:
        why = "the scheduler shares among queues first, and inside a queue among its users"
    else:
        why = "there are no queues, so that all users count by their weights"
    return f"Fair is what {standing.fair.mechanism} gives: {why}."


def _tasks(count: float) -> str:
    return f"{count:,.0f} {'task' if count == 1 else 'tasks'}"


def _quantity(standing: ShareComparison, resource: Any, amount: float) -> str:
    return quantity(amount, str(resource), standing.instance.units.get(resource, ""))
