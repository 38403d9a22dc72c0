"""The first lines of the page: the verdict, the first user who is short, the remedy, the rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.instances.arithmetic import largest_first, quantity
from .share_comparison import ROOM, ShareComparison
from .subject import mechanism_or_default

#: So many users who are short, and reasons of tasks that may not run yet, are named; the others are
#: counted together.
_USERS = 3
_REASONS = 3
#: The promise of each scheduler, which the rule follows, and what its dump does not show.
_PROMISES = {
    "slurm": "Slurm shares among accounts by their shares first, and then among their users. Slurm's decayed usage is "
    "{} past use does not count here",
    "kubernetes": "Kubernetes itself promises no shares: here namespaces, or queues, count by their weights, and "
    "inside each one its owners",
    "yarn": "YARN gives queues their guaranteed capacity first, and shares the rest by their weights",
}


def headline(comparison: ShareComparison) -> list[str]:
    """Return the first sentences of the page, a paragraph each."""
    subject = comparison.subject
    paragraphs = _hidden_use(comparison) if len(subject.hidden) else []
    if subject.tasks is not None:
        paragraphs += _verdict(comparison)
        paragraphs += _fit_nowhere(comparison)
    if len(subject.held):
        paragraphs.append(_not_runnable_yet(comparison))
    if len(subject.homeless):
        names = ", ".join(map(str, subject.homeless["user"].iloc[:_REASONS]))
        tasks = _tasks(subject.homeless["tasks"].sum())
        paragraphs.append(f"Waiting, but no node may take them: {tasks} ({names}).")
    return [*paragraphs, _rule(comparison)]


def _fit_nowhere(comparison: ShareComparison) -> list[str]:
    """Return the users whose tasks wait and fit on no server."""
    users = [n for n, obstacle in comparison.obstacles.items() if obstacle.kind == "nowhere"]
    if not users:
        return []
    names = ", ".join(str(comparison.instance.users[n]) for n in users[:_REASONS])
    tasks = _tasks(comparison.waiting[users].sum())
    return [f"Waiting, but they fit on no server as it is now: {tasks} ({names})."]


def _not_runnable_yet(comparison: ShareComparison) -> str:
    """Return the tasks that may not run yet, by reason."""
    held = comparison.subject.held
    counts = held.groupby("reason")["tasks"].sum().sort_values(ascending=False)
    reasons = [f"{reason}: {count:,}" for reason, count in counts.iloc[:_REASONS].items()]
    if len(counts) > _REASONS:
        reasons.append(f"other reasons: {counts.iloc[_REASONS:].sum():,}")
    return f"Not runnable yet, and owed nothing: {_tasks(counts.sum())} ({'; '.join(reasons)})."


def _hidden_use(comparison: ShareComparison) -> list[str]:
    """Return that nodes and tasks disagree, and how to print a better dump."""
    instance = comparison.instance
    totals = comparison.allocation.usage.to_numpy().sum(axis=0).tolist()
    used_by_tasks = dict(zip(instance.resources, totals, strict=True))
    differences = []
    for resource, hidden in comparison.subject.hidden.items():
        by_nodes = _quantity(comparison, resource, hidden + used_by_tasks[resource])
        by_tasks = _quantity(comparison, resource, used_by_tasks[resource])
        differences.append(f"{by_nodes} in use by the nodes, {by_tasks} by the tasks in this dump")
    return [
        f"The dump does not show all tasks: {'; '.join(differences)}.",
        "The rest counts as used, by no user of this report. Print the dump again with the rights "
        "of an operator, so that it lists the tasks of all users.",
    ]


def is_fair(comparison: ShareComparison) -> bool:
    """Whether no user who waits is short of a whole task of its fair share."""
    return not (comparison.owed >= 1).any()


def _verdict(comparison: ShareComparison) -> list[str]:
    """Return whether users are short of a whole task, the first of them, and the remedy."""
    short_users = np.flatnonzero(comparison.owed >= 1)
    if not short_users.size:
        return [_fair_verdict(comparison)]
    instance = comparison.instance
    missing_share = comparison.owed * comparison.share_of_a_task
    short_users = short_users[largest_first(missing_share[short_users])]

    n = int(short_users[0])
    amounts = zip(instance.resources, instance.demands[n].tolist(), strict=True)
    demand = ", ".join(
        _quantity(comparison, resource, amount)
        for resource, amount in amounts
        if amount > 0 and resource != "pods"  # of which every pod needs one
    )
    verdict = (
        f"Not fair: {instance.users[n]} is {_tasks(int(comparison.owed[n]))} short of its fair "
        f"share ({demand} each)."
    )

    others = [
        f"{instance.users[k]} ({_tasks(int(comparison.owed[k]))})" for k in short_users[1:_USERS]
    ]
    if short_users.size > _USERS:
        others.append(f"{short_users.size - _USERS:,} other users")
    if others:
        verdict += f" Short too: {', '.join(others)}."
    return [verdict, _remedy(comparison, comparison.users.iloc[n])]


def _fair_verdict(comparison: ShareComparison) -> str:
    """Return that no user is short of a whole task, and how many tasks wait."""
    subject = comparison.subject
    waiting = comparison.waiting[np.isfinite(comparison.waiting)].sum()
    if waiting:
        waits = f"Tasks that wait: {waiting:,.0f}."
    elif len(subject.held) + len(subject.homeless):
        waits = "No task that could run waits."
    else:
        waits = "Nothing waits."
    scope = "Of the tasks that it shows" if len(subject.hidden) else "Fair"
    return f"{scope}: no user is short of a whole task of its fair share. {waits}"


def _remedy(comparison: ShareComparison, row: Any) -> str:
    """Return how the first user could run more tasks."""
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
            "the servers where it could run. Its tasks would fit as those end."
        )
    return (
        f"No user holds {resource} beyond its fair share on these servers: it waits until tasks "
        "end, or for more servers."
    )


def _rule(comparison: ShareComparison) -> str:
    """Return the rule of fair shares, and why it is this one."""
    subject = comparison.subject
    mechanism = comparison.fair.mechanism
    queues = comparison.instance.tree
    is_default = mechanism == mechanism_or_default(comparison.instance, None)
    if queues.quotas and is_default:
        reason = (
            "Kueue gives every queue its nominal quota first, and shares what is lent by dominant "
            "resource shares"
        )
    elif subject.scheduler in _PROMISES:
        usage = "not in the dump, so that" if subject.shares.empty else "in the dump, and"
        reason = _PROMISES[subject.scheduler].format(usage)
    elif not queues.is_flat:
        reason = "the scheduler shares among queues first, and inside a queue among its users"
    else:
        reason = "there are no queues, so that all users count by their weights"
    return f"Fair is what {mechanism} gives: {reason}."


def _tasks(count: float) -> str:
    return f"{count:,.0f} {'task' if count == 1 else 'tasks'}"


def _quantity(comparison: ShareComparison, resource: Any, amount: float) -> str:
    return quantity(amount, str(resource), comparison.instance.units.get(resource, ""))
