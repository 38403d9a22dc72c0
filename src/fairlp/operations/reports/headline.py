"""The first lines of the page: is it fair, who is short first, what to do, and what was not counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.instances.arithmetic import largest_first, quantity
from .share_comparison import ROOM, ShareComparison
from .subject import chosen

#: Users who are short, and reasons of tasks that may not run yet, that are named; the others are
#: counted together.
_USERS = 3
_REASONS = 3
#: What each scheduler promises, which the rule follows, and what its dump does not tell.
_PROMISES = {
    "slurm": "Slurm shares among accounts by their shares first, and then among their users. Slurm's decayed usage is "
    "{} what users had in the past does not count here",
    "kubernetes": "Kubernetes itself promises no shares: here namespaces, or queues, count by their weights, and "
    "inside each one its owners",
    "yarn": "YARN gives queues their guaranteed capacity first, and shares the rest by their weights",
}


def headline(comparison: ShareComparison) -> list[str]:
    """Return the first sentences of the page, a paragraph each."""
    subject = comparison.subject
    found = _hidden(comparison) if len(subject.hidden) else []
    if subject.tasks is not None:
        found += _verdict(comparison)
    nowhere = [n for n, stop in comparison.stops.items() if stop.why == "nowhere"]
    if nowhere and subject.tasks is not None:
        names = ", ".join(str(comparison.instance.users[n]) for n in nowhere[:_REASONS])
        found.append(
            "Waiting, but they fit on no server as it is now: "
            f"{_tasks(comparison.waiting[nowhere].sum())} ({names})."
        )
    if len(subject.held):
        counts = subject.held.groupby("reason")["tasks"].sum().sort_values(ascending=False)
        said = [f"{reason}: {count:,}" for reason, count in counts.iloc[:_REASONS].items()]
        if len(counts) > _REASONS:
            said.append(f"other reasons: {counts.iloc[_REASONS:].sum():,}")
        found.append(
            f"Not runnable yet, and owed nothing: {_tasks(counts.sum())} ({'; '.join(said)})."
        )
    if len(subject.homeless):
        names = ", ".join(map(str, subject.homeless["user"].iloc[:_REASONS]))
        waits = _tasks(subject.homeless["tasks"].sum())
        found.append(f"Waiting, but no node may take them: {waits} ({names}).")
    return [*found, _rule(comparison)]


def _hidden(comparison: ShareComparison) -> list[str]:
    """Return that nodes and tasks disagree, and what to ask for."""
    instance = comparison.instance
    hidden = comparison.subject.hidden
    seen = dict(
        zip(
            instance.resources,
            comparison.allocation.usage.to_numpy().sum(axis=0).tolist(),
            strict=True,
        )
    )
    said = [
        f"{_quantity(comparison, resource, more + seen[resource])} in use by the nodes, "
        f"{_quantity(comparison, resource, seen[resource])} by the tasks in this dump"
        for resource, more in hidden.items()
    ]
    return [
        f"The dump does not show all tasks: {'; '.join(said)}.",
        "The rest counts as used and belongs to nobody here. Print the dump again with the rights "
        "of an operator, so "
        "that it lists the tasks of all users.",
    ]


def is_fair(comparison: ShareComparison) -> bool:
    """Whether nobody who waits is short of a whole task of its fair share."""
    return not (comparison.owed >= 1).any()


def _verdict(comparison: ShareComparison) -> list[str]:
    """Return whether anybody who waits is short of a whole task, who is first, and what would help."""
    short = np.flatnonzero(comparison.owed >= 1)
    waits = comparison.waiting[np.isfinite(comparison.waiting)].sum()
    if not short.size:
        cannot = len(comparison.subject.held) + len(comparison.subject.homeless)
        nothing = "No task that could run waits." if cannot else "Nothing waits."
        fair = "Of the tasks that it shows" if len(comparison.subject.hidden) else "Fair"
        said = f"Tasks that wait: {waits:,.0f}." if waits else nothing
        return [f"{fair}: nobody is short of a whole task of its fair share. {said}"]
    by = comparison.owed * comparison.share_of_a_task
    short = short[largest_first(by[short])]
    n = int(short[0])
    label = comparison.instance.users[n]
    row = comparison.users.iloc[n]
    next_ones = [
        f"{comparison.instance.users[k]} ({_tasks(int(comparison.owed[k]))})"
        for k in short[1:_USERS]
    ]
    if short.size > _USERS:
        next_ones.append(f"{short.size - _USERS:,} other users")
    others = f" Short too: {', '.join(next_ones)}." if next_ones else ""
    demand = ", ".join(
        _quantity(comparison, resource, amount)
        for resource, amount in zip(
            comparison.instance.resources, comparison.instance.demands[n].tolist(), strict=True
        )
        if amount > 0 and resource != "pods"  # of which every pod needs one
    )
    first = (
        f"Not fair: {label} is {_tasks(int(comparison.owed[n]))} short of its fair share ({demand} "
        "each)."
    )
    return [first + others, _remedy(comparison, row)]


def _remedy(comparison: ShareComparison, row: Any) -> str:
    """Return what would let the first user run more."""
    if row["blocked_by"] == ROOM:
        return f"There is room for it now on {row['where']}: the scheduler has not placed it yet."
    resource = row["blocked_by"].removeprefix("cap of ")
    if row["blocked_by"] != resource:
        return (
            f"The cap of {row['where']} on {resource} stops it: raise that cap, or let others "
            "below it give way."
        )
    if row["beyond_fair"]:
        holder, amount = next(iter(row["beyond_fair"].items()))
        return (
            f"{holder} holds {_quantity(comparison, resource, amount)} beyond its fair share on "
            "the servers where it "
            "could run. Its tasks would fit as those end."
        )
    return (
        f"Nobody holds {resource} beyond its fair share there: it waits until tasks end, or for "
        "more servers."
    )


def _rule(comparison: ShareComparison) -> str:
    """Return what fair means here, and why."""
    queues = comparison.instance.tree
    if queues.quotas and comparison.fair.mechanism == chosen(comparison.instance, None):
        why = (
            "Kueue gives every queue its nominal quota first, and shares what is lent by dominant "
            "resource shares"
        )
    elif promise := _PROMISES.get(comparison.subject.scheduler):
        why = promise.format(
            "not in the dump, so that" if comparison.subject.shares.empty else "in the dump, and"
        )
    elif not queues.is_flat:
        why = "the scheduler shares among queues first, and inside a queue among its users"
    else:
        why = "there are no queues, so that all users count by their weights"
    return f"Fair is what {comparison.fair.mechanism} gives: {why}."


def _tasks(count: float) -> str:
    return f"{count:,.0f} {'task' if count == 1 else 'tasks'}"


def _quantity(comparison: ShareComparison, resource: Any, amount: float) -> str:
    return quantity(amount, str(resource), comparison.instance.units.get(resource, ""))
