"""Words: amounts, jobs, servers and obstacles as sentences name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np

from fairlp.toolkit import quantity, tolerances

from .dues import Dues
from .jobs import WaitingJob
from .room import Obstacle

#: So many tenants, sizes, holders and servers are named; the others are counted together.
NAMED = 3
#: Letters of the scheduler's own words, at most.
LETTERS = 200


def tasks_text(count: float) -> str:
    """Return a number of tasks.

    >>> tasks_text(1), tasks_text(1200)
    ('1 task', '1,200 tasks')
    """
    return f"{count:,.0f} {'task' if count == 1 else 'tasks'}"


def jobs_text(jobs: int, tasks: int) -> str:
    """Return a number of jobs with their tasks, or of tasks alone where each is a job.

    >>> jobs_text(1, 7), jobs_text(2, 7), jobs_text(3, 3)
    ('1 job of 7 tasks', '2 jobs with 7 tasks in all', '3 tasks')
    """
    if jobs == tasks:
        return tasks_text(tasks)
    if jobs == 1:
        return f"1 job of {tasks_text(tasks)}"
    return f"{jobs:,} jobs with {tasks_text(tasks)} in all"


def other_text(count: int, noun: str) -> str:
    """Return the number of those that are not named.

    >>> other_text(1, "queue"), other_text(3, "user")
    ('1 other queue', '3 other users')
    """
    return f"{count:,} other {noun if count == 1 else noun + 's'}"


def named(texts: Sequence[str], noun: str, separator: str = ", ") -> str:
    """Return the first texts, and the number of the others.

    >>> named(["a", "b", "c", "d", "e"], "queue")
    'a, b, c, 2 other queues'
    """
    others = [other_text(len(texts) - NAMED, noun)] if len(texts) > NAMED else []
    return separator.join([*texts[:NAMED], *others])


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.1f} %"


def quantity_text(dues: Dues, resource: Any, amount: float) -> str:
    """Return an amount of a resource in words."""
    return quantity(amount, str(resource), dues.instance.units.get(resource, ""))


def amounts_text(dues: Dues, amounts: np.ndarray) -> str:
    """Return amounts of all resources in words, without the place that every pod needs."""
    pool = dues.instance.pool
    return ", ".join(
        quantity_text(dues, resource, amount)
        for resource, amount, total in zip(
            dues.instance.resources, amounts.tolist(), pool.tolist(), strict=True
        )
        # what is left of a sum by rounding is nothing
        if amount > tolerances.SATURATED * total and resource != "pods"
    )


def sizes_text(dues: Dues, tasks_of_users: np.ndarray) -> str:
    """Return tasks of users grouped by what each needs, such as ``5 × (1 CPU)``."""
    counts: Counter[str] = Counter()
    for n in np.flatnonzero(tasks_of_users):
        counts[amounts_text(dues, dues.instance.demands[n])] += int(tasks_of_users[n])
    return named([f"{count:,} × ({size})" for size, count in counts.items()], "size")


def counted_texts(texts: Mapping[str, int], form: str = "{}") -> str:
    """Return the most frequent texts, with the number of tasks of each, and count the others."""
    counts = Counter(texts).most_common()
    first = [
        f"{form.format(shorten(text, LETTERS, placeholder='…'))} ({tasks_text(count)})"
        for text, count in counts[:NAMED]
    ]
    others = sum(count for _, count in counts[NAMED:])
    return "; ".join([*first, *([f"others ({tasks_text(others)})"] if others else [])])


def on_servers(dues: Dues, servers: Mapping[int, int]) -> str:
    """Return the servers of tasks, each with its number where there are several.

    A server that sleeps is marked.
    """
    labels = dues.instance.servers
    asleep = dues.facts.asleep
    if len(servers) == 1:
        (i,) = servers
        return f"{labels[i]} (asleep)" if asleep[i] else str(labels[i])
    texts = [
        f"{labels[i]} ({count:,}{', asleep' if asleep[i] else ''})" for i, count in servers.items()
    ]
    return named(texts, "server")


def needs(dues: Dues, job: WaitingJob) -> str:
    """Return what the tasks of one job need at once: amounts, or nodes where each needs one.

    Such as ``7 CPU at once (7 tasks)`` and ``7 nodes at once (28 CPU)``.
    """
    instance = dues.instance
    total = sum(count * instance.demands[n] for n, count in job.tasks.items())
    amounts = amounts_text(dues, np.asarray(total))
    if job.one_a_node and job.size > 1:
        return f"{job.size:,} nodes at once ({amounts})"
    return f"{amounts} at once ({tasks_text(job.size)})"


def stopped_by(dues: Dues, job: WaitingJob, obstacle: Obstacle) -> str:
    """Return what stops a job: a limit of a queue, a resource, or servers that are too small."""
    if obstacle.kind == "nowhere":
        return f"no server could ever take it{_too_large(dues, job)}"
    resource = str(dues.instance.resources[obstacle.resource])
    if obstacle.kind == "resource":
        return f"too little {resource} is free where it could run"
    tree = dues.instance.tree
    place = str(tree.paths[obstacle.queue]) or "the whole cluster"
    if tree.quotas is None:
        is_of_a_user = dues.facts.scheduler == "yarn" and place in dues.facts.tenants.names
        return f"the {'user limit' if is_of_a_user else 'cap'} of {place} on {resource}"
    if tree.caps[obstacle.queue, obstacle.resource] == 0:
        return f"{place} has no quota of {resource}"
    columns = tree.quotas.resource == obstacle.resource
    borrowing = tree.quotas.amounts[1, obstacle.queue, columns]
    if tree.depths[obstacle.queue] > 1 and np.isfinite(borrowing).any():
        return f"the borrowing limit of {place} on {resource}"
    return f"the quota of {resource} in {place}"


def _too_large(dues: Dues, job: WaitingJob) -> str:
    """Return what a task needs most beyond what a server has where it may run; empty for nothing."""
    instance = dues.instance
    for n in job.tasks:
        demand = instance.demands[n]
        largest = instance.capacities[instance.eligible[n]].max(axis=0, initial=0.0)
        beyond = np.flatnonzero(demand > largest)
        if beyond.size:
            r = int(beyond[0])
            needed = quantity_text(dues, instance.resources[r], demand[r])
            offered = quantity_text(dues, instance.resources[r], largest[r])
            return f": it needs {needed}, and where it may run one has {offered} at most"
    return ""


def holders_text(dues: Dues, resource: str, holders: Mapping[str, float]) -> str:
    """Return who holds a resource beyond its due, with amounts; empty for none."""
    texts = [
        f"{name} ({quantity_text(dues, resource, amount)})" for name, amount in holders.items()
    ]
    return named(texts, dues.facts.tenants.noun)
