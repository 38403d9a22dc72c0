"""Notes: facts beside the verdict, and the rule of fair shares, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import shorten

import numpy as np

from .dues import Dues
from .facts import mechanism_or_default
from .waiting import words_of
from .words import LETTERS, counted_texts, named, quantity_text, tasks_text

#: The promise of each scheduler, which the rule follows, and what its dump does not show.
_PROMISES = {
    "slurm": "Slurm shares among accounts by their shares first, and then among their users. Past use does "
    "not count here",
    "kubernetes": "Kubernetes itself promises no shares: here namespaces, or queues, count by their weights, and "
    "inside each one its owners",
    "yarn": "YARN gives queues their guaranteed capacity first, and shares the rest by their weights",
}
#: What Volcano promises its queues, by the plugin that shares among them.
_PLUGINS = {
    "proportion": "Volcano's proportion plugin gives each queue what it deserves by its weight, as far "
    "as it asks for it",
    "capacity": "Volcano's capacity plugin gives each queue what its spec says that it deserves",
    "drf": "Volcano's drf plugin shares along the hierarchy of its queues by their weights",
}


def notes(dues: Dues, starting: np.ndarray) -> list[str]:
    """Return the sentences beside a verdict; the last is the rule of fair shares.

    ``starting`` are the copies of the jobs that wait which start on servers that sleep, or where
    tasks are ending.
    """
    facts = dues.facts
    sentences = _hidden_use(dues) if len(facts.hidden) else []
    if facts.tasks is not None:
        if facts.no_fair_sharing:
            sentences.append(_sentence(facts.no_fair_sharing))
        sentences += _starting(dues, starting)
    if len(facts.held):
        counts = facts.held.groupby("reason")["tasks"].sum().sort_values(ascending=False)
        reasons = [f"{str(reason).rstrip('.')}: {count:,}" for reason, count in counts.items()]
        sentences.append(
            f"Not runnable yet, and owed nothing: {tasks_text(counts.sum())} "
            f"({named(reasons, 'reason', '; ')})."
        )
    if len(facts.homeless):
        tasks = tasks_text(facts.homeless["tasks"].sum())
        reasons = _reasons(zip(facts.homeless["user"], facts.homeless["why"], strict=True))
        sentences.append(
            f"Waiting, but no node may take them: {tasks} ({named(reasons, 'user', '; ')})."
        )
    sentences += map(_sentence, facts.limits_reached)
    if facts.kept.any():
        servers = [str(dues.instance.servers[int(i)]) for i in np.flatnonzero(facts.kept)]
        sentences.append(
            f"Kept by the scheduler for a job of its choice, so that nothing is free on them: "
            f"{named(servers, 'server')}."
        )
    if facts.scheduler and facts.tasks is not None:
        _, left_out = words_of(dues.waiting_jobs)
        if left_out:
            sentences.append(
                f"Constraints of tasks that wait which do not count here: {counted_texts(left_out)}."
            )
        if facts.preemption:
            sentences.append(_sentence(facts.preemption))
    return [*sentences, _rule(dues)]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _reasons(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return users, each with a reason where there is one."""
    return [
        f"{user}: {shorten(reason, LETTERS, placeholder='…')}" if reason else user
        for user, reason in pairs
    ]


def _starting(dues: Dues, starting: np.ndarray) -> list[str]:
    """Return the jobs that start on servers that sleep or where tasks end, of which nobody is short."""
    if not starting.any():
        return []
    jobs = zip(dues.waiting_jobs, starting.tolist(), strict=True)
    tasks = sum(job.size * count for job, count in jobs)
    facts = dues.facts
    sleeping = int(facts.instance.counts[facts.asleep].sum())
    ending = int(facts.ending.any(axis=1).sum())
    places = (
        [f"{sleeping:,} servers that sleep now, and wake when jobs need them"] if sleeping else []
    )
    if ending:
        places.append(f"{ending:,} servers where tasks are ending")
    return [f"Starting on {', and '.join(places)}: {tasks_text(tasks)} of the fair shares."]


def _hidden_use(dues: Dues) -> list[str]:
    """Return that nodes and tasks disagree, and how to print a better dump."""
    instance = dues.instance
    totals = dues.allocation.usage.to_numpy().sum(axis=0).tolist()
    used_by_tasks = dict(zip(instance.resources, totals, strict=True))
    differences = []
    for resource, hidden in dues.facts.hidden.items():
        by_nodes = quantity_text(dues, resource, hidden + used_by_tasks[resource])
        by_tasks = quantity_text(dues, resource, used_by_tasks[resource])
        differences.append(f"{by_nodes} in use by the nodes, {by_tasks} by the tasks in this dump")
    return [
        f"The dump does not show all tasks: {'; '.join(differences)}.",
        "The rest counts as used, by no user of this report. Print the dump again with the rights "
        "of an operator, so that it lists the tasks of all users.",
    ]


def _rule(dues: Dues) -> str:
    """Return the rule of fair shares, and why it is this one."""
    facts = dues.facts
    mechanism = dues.fair.mechanism
    queues = dues.instance.tree
    if facts.no_fair_sharing and queues.quotas:
        return (
            "Fair is what Kueue promises without fair sharing: every queue its nominal quota, as far as "
            "it asks for it; what is lent goes to who asks first."
        )
    is_default = mechanism == mechanism_or_default(dues.instance, None)
    if queues.quotas and is_default:
        reason = (
            "Kueue gives every queue its nominal quota first, and shares what is lent by dominant "
            "resource shares"
        )
    elif facts.plugin:
        reason = _PLUGINS[facts.plugin]
    elif facts.scheduler in _PROMISES:
        reason = _PROMISES[facts.scheduler]
    elif not queues.is_flat:
        reason = "the scheduler shares among queues first, and inside a queue among its users"
    else:
        reason = "there are no queues, so that all users count by their weights"
    return f"Fair is what {mechanism} gives: {reason}."
