"""Sentences: what would help a tenant, what its jobs wait for, and the amounts in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from textwrap import shorten
from typing import Any

from fairlp.errors import CONTROL
from fairlp.toolkit import quantity

from ..dues.blocking import Obstacle
from ..dues.jobs import WaitingJob
from ..dues.room import Fit
from ..dues.share_comparison import ShareComparison
from ..dues.waiting import WaitingSummary, words_of

#: So many tenants, sizes, holders and servers are named; the others are counted together.
NAMED = 3
#: Letters of one reason, at most.
LETTERS = 240


def with_signs(value: Any) -> Any:
    r"""Return a text with a visible sign in place of each control character; other values as they are.

    What is to be on the page as it is, its script and pictures, is `Markup`.

    >>> with_signs("a\x1b[31m"), with_signs("b\u202e"), with_signs(3)
    ('a␛[31m', 'b�', 3)
    """
    return CONTROL.sub(_sign, value) if type(value) is str else value


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␤" if match[0] in "\u2028\u2029" else "�"


def help_for(comparison: ShareComparison, t: int) -> str:
    """Return how much of what a tenant is short of has room now, and what stops the next job."""
    fit = comparison.fit_of(t)
    sentences = []
    if fit.fitting:
        sentences.append(_room(comparison, fit, t))
    if not fit.missing:
        return sentences[0]
    job = fit.missing[0]
    obstacle = fit.blocking.of_job(job)
    if obstacle.kind == "room":  # by amounts, as one server's tasks, but not as jobs
        sentences.append("The next job needs more at once than is free.")
        return " ".join(sentences)
    if job.size > 1:
        sentences.append(f"The next job needs {needs(comparison, job)}.")
    sentences.append(stopped_by(comparison, next(iter(job.tasks)), obstacle))
    return " ".join(sentences)


def _beyond(comparison: ShareComparison, n: int, obstacle: Obstacle) -> dict[Any, float]:
    """Return who holds what stops a user beyond their fair shares."""
    return comparison.with_holders(n, obstacle).beyond_fair


def _room(comparison: ShareComparison, fit: Fit, t: int) -> str:
    """Return for how many jobs there is room now, where, and why they may wait all the same."""
    jobs = sum(int(job.copies) for job in fit.jobs)
    tasks = sum(job.size * int(job.copies) for job in fit.jobs)
    in_jobs = tasks > jobs
    total = jobs if in_jobs else tasks
    count = sum(fit.placed) if in_jobs else fit.fitting
    noun = " jobs" if in_jobs else ""
    fitting = "it" if total == 1 else f"all {total:,}{noun}"
    if count < total:
        fitting = f"{count:,} of the {total:,}{noun}"
    servers = {i: number for i, number in fit.servers.most_common() if number}
    sentence = f"There is room for {fitting} now on {on_servers(comparison, servers)}"
    messages, left_out = words_of([comparison.waiting_jobs[k] for k in comparison.owed_jobs_of(t)])
    if not messages and not left_out:
        if fit.missing:
            return f"{sentence}."
        return f"{sentence}: the scheduler has not placed {'it' if total == 1 else 'them'} yet."
    return " ".join([f"{sentence}, judging by what is free alone.", *reasons(messages, left_out)])


def reasons(messages: Mapping[str, int], left_out: Mapping[str, int]) -> list[str]:
    """Return what the scheduler says of tasks, and the constraints that do not count here."""
    sentences = []
    if left_out:
        sentences.append(f"Not counted: {_counted(left_out)}.")
    if messages:
        sentences.append(f"The scheduler says: {_counted(messages, '“{}”')}.")
    return sentences


def _counted(texts: Mapping[str, int], form: str = "{}") -> str:
    """Return the most frequent texts, with the number of tasks of each, and count the others."""
    counts = Counter(texts).most_common()
    named = [
        f"{form.format(shorten(text, LETTERS, placeholder='…'))} ({tasks_text(count)})"
        for text, count in counts[:NAMED]
    ]
    others = sum(count for _, count in counts[NAMED:])
    return "; ".join([*named, *([f"others ({tasks_text(others)})"] if others else [])])


def on_servers(comparison: ShareComparison, servers: Mapping[int, int]) -> str:
    """Return the servers of tasks, each with its number where there are several.

    A server that sleeps is marked.
    """
    labels = comparison.instance.servers
    asleep = comparison.subject.asleep
    if len(servers) == 1:
        (i,) = servers
        return f"{labels[i]} (asleep)" if asleep[i] else str(labels[i])
    named = [
        f"{labels[i]} ({count:,}{', asleep' if asleep[i] else ''})"
        for i, count in list(servers.items())[:NAMED]
    ]
    others = len(servers) - NAMED
    if others > 0:
        return f"{', '.join(named)} and {others:,} other {'server' if others == 1 else 'servers'}"
    return f"{', '.join(named[:-1])} and {named[-1]}"


def needs(comparison: ShareComparison, job: WaitingJob) -> str:
    """Return what the tasks of one job need at once: amounts, or nodes where each needs one.

    Such as ``7 CPU at once (7 tasks)`` and ``7 nodes at once (28 CPU)``.
    """
    instance = comparison.instance
    total = sum(count * instance.demands[n] for n, count in job.tasks.items())
    amounts = amounts_text(comparison, total)
    if job.one_a_node and job.size > 1:
        return f"{job.size:,} nodes at once ({amounts})"
    return f"{amounts} at once ({tasks_text(job.size)})"


def waits_for(comparison: ShareComparison, summary: WaitingSummary) -> str:
    """Return what the jobs of a tenant wait for that is not short of one."""
    name = str(comparison.subject.tenants.names[summary.tenant])
    number = jobs_text(summary.jobs, summary.tasks)
    verb = "waits" if summary.jobs == 1 else "wait"
    start = f"{name}: {number} {verb}"
    if summary.fitting_jobs == summary.jobs:
        pronoun = "it" if summary.jobs == 1 else "all of them"
        servers = on_servers(comparison, summary.servers)
        if comparison.subject.asleep[list(summary.servers)].all():
            waking = "which starts when jobs need it"
            if len(summary.servers) > 1:
                waking = "which start when jobs need them"
            words = reasons(summary.messages, summary.left_out)
            return " ".join([f"{start} for {servers}, {waking}.", *words])
        place = f"there is room for {pronoun} now on {servers}"
        if not summary.messages and not summary.left_out:
            return f"{start}; {place}: the scheduler has not placed {'it' if summary.jobs == 1 else 'them'} yet."
        words = reasons(summary.messages, summary.left_out)
        return " ".join([f"{start}; {place}, judging by what is free alone.", *words])

    sentences = []
    if summary.fitting_jobs:
        in_jobs = summary.tasks > summary.jobs
        count = (
            jobs_text(summary.fitting_jobs, summary.fitting) if in_jobs else f"{summary.fitting:,}"
        )
        place = on_servers(comparison, summary.servers)
        sentences.append(f"{start}; there is room for {count} of them now on {place}.")
    else:
        sentences.append(f"{start}.")
    job, obstacle = summary.job, summary.obstacle
    assert job is not None and obstacle is not None
    if job.size > 1:
        share = comparison.instance.pool * summary.remaining_share
        r = int((job.parts(comparison.tenant_shares.parts)).argmax())
        text = f"Its next job needs {needs(comparison, job)}"
        if summary.is_beyond_fair:
            resource = comparison.instance.resources[r]
            rest = quantity_text(comparison, resource, float(share[r]))
            has_none = not comparison.tenant_shares.share[summary.tenant]
            text += f"; {rest} are fair" if has_none else f"; its fair share has {rest} left"
        sentences.append(f"{text}.")
    if obstacle.kind in ("cap", "resource"):
        sentences.append(stopped_by(comparison, next(iter(job.tasks)), obstacle, holders=False))
    elif obstacle.kind == "nowhere":
        sentences.append("No servers could ever take it, as they are now.")
    return " ".join([*sentences, *reasons(summary.messages, summary.left_out)])


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


def stopped_by(
    comparison: ShareComparison, n: int, obstacle: Obstacle, *, holders: bool = True
) -> str:
    """Return what stops a user, and (with ``holders``) who holds it beyond their fair shares."""
    resource = str(comparison.instance.resources[obstacle.resource])
    beyond_fair = _beyond(comparison, n, obstacle) if holders else {}
    holders_text = _holders(comparison, resource, beyond_fair)
    if obstacle.kind != "cap":
        if holders_text:
            return f"{holders_text} beyond fair shares on the servers where it could run."
        if not holders:
            return f"Too little {resource} is free on the servers where it could run."
        return (
            f"No other {comparison.subject.tenants.noun} holds {resource} beyond its fair share on "
            "these servers: it waits until tasks end, or for more servers."
        )
    place = str(comparison.instance.tree.paths[obstacle.queue]) or "the whole cluster"
    limit = comparison.limit_of(obstacle)
    if limit == "cap":
        holders_below = f" {holders_text} below it beyond fair shares." if holders_text else ""
        if comparison.instance.tree.quotas is not None:
            limit = "borrowing limit"
        elif comparison.subject.scheduler == "yarn" and place in comparison.subject.tenants.names:
            limit = "user limit"
        tenants = comparison.subject.tenants.of[
            comparison.instance.tree.users_below(obstacle.queue) > 0
        ]
        is_own = (tenants == tenants[0]).all()
        remedy = "wait until tasks below it end" if is_own else "let others below it give way"
        return (
            f"The {limit} of {place} on {resource} stops it: raise that {limit}, or {remedy}."
            f"{holders_below}"
        )
    if limit == "no quota":
        return f"{place} has no quota of {resource}."
    held = f": {holders_text} beyond fair shares" if holders_text else ""
    return f"The quota of {resource} in {place} does not suffice{held}."


def _holders(comparison: ShareComparison, resource: str, holders: dict[Any, float]) -> str:
    """Return who holds a resource beyond their fair shares, with amounts; empty for none."""
    amounts = [
        f"{'holds ' if k == 0 else ''}{quantity_text(comparison, resource, amount)}"
        for k, amount in enumerate(list(holders.values())[:NAMED])
    ]
    named = [f"{name} {amount}" for name, amount in zip(holders, amounts, strict=False)]
    if len(holders) > NAMED:
        rest = sum(list(holders.values())[NAMED:])
        others = other_text(len(holders) - NAMED, comparison.subject.tenants.noun)
        named.append(f"{others} {quantity_text(comparison, resource, rest)}")
    return ", ".join(named)


def amounts_text(comparison: ShareComparison, amounts: Any) -> str:
    """Return amounts of all resources in words, without the place that every pod needs."""
    return ", ".join(
        quantity_text(comparison, resource, amount)
        for resource, amount in zip(comparison.instance.resources, amounts.tolist(), strict=True)
        if amount > 0 and resource != "pods"
    )


def tasks_text(count: float) -> str:
    """Return a number of tasks.

    >>> tasks_text(1), tasks_text(1200)
    ('1 task', '1,200 tasks')
    """
    return f"{count:,.0f} {'task' if count == 1 else 'tasks'}"


def other_text(count: int, noun: str) -> str:
    """Return the number of those that are not named.

    >>> other_text(1, "queue"), other_text(3, "user")
    ('1 other queue', '3 other users')
    """
    return f"{count:,} other {noun if count == 1 else noun + 's'}"


def quantity_text(comparison: ShareComparison, resource: Any, amount: float) -> str:
    """Return an amount of a resource in words."""
    return quantity(amount, str(resource), comparison.instance.units.get(resource, ""))
