"""The first lines of the page: the verdict, the first user who is short, the rule."""

from __future__ import annotations

from textwrap import shorten

import numpy as np

from ..dues.jobs import AUDIT
from ..dues.share_comparison import ShareComparison
from ..dues.subject import mechanism_or_default
from ..dues.tenants import TenantShares
from ..dues.waiting import words_of
from .wording import (
    LETTERS,
    NAMED,
    amounts_text,
    help_for,
    jobs_text,
    needs,
    other_text,
    quantity_text,
    tasks_text,
    waits_for,
)

#: So many reasons of tasks that may not run yet are named; the others are counted together.
_REASONS = 3
#: The promise of each scheduler, which the rule follows, and what its dump does not show.
_PROMISES = {
    "slurm": "Slurm shares among accounts by their shares first, and then among their users",
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


def headline(comparison: ShareComparison) -> list[str]:
    """Return the first sentences of the page, a paragraph each."""
    subject = comparison.subject
    paragraphs = _hidden_use(comparison) if len(subject.hidden) else []
    if subject.tasks is not None:
        paragraphs += _verdict(comparison)
        paragraphs += _with_fair_sharing(comparison)
        paragraphs += _verdict_with_past(comparison)
        paragraphs += _starting(comparison)
        paragraphs += _waiting(comparison)
        paragraphs += _fit_nowhere(comparison)
    if len(subject.held):
        paragraphs.append(_not_runnable_yet(comparison))
    if len(subject.homeless):
        reasons = zip(subject.homeless["user"], subject.homeless["why"], strict=True)
        tasks = tasks_text(subject.homeless["tasks"].sum())
        paragraphs.append(f"Waiting, but no node may take them: {tasks} ({_named(list(reasons))}).")
    paragraphs += [f"{text[0].upper()}{text[1:]}." for text in subject.limits_reached]
    if subject.scheduler and subject.tasks is not None:
        paragraphs += _constraints_left_out(comparison)
        rule = subject.preemption
        paragraphs += [f"{rule[0].upper()}{rule[1:]}."] if rule else []
    return [*paragraphs, _rule(comparison)]


def _with_fair_sharing(comparison: ShareComparison) -> list[str]:
    """Return which queues would be short of a job if the scheduler shared fairly what is lent."""
    reason = comparison.subject.no_fair_sharing
    shares = comparison.tenant_shares_with_fair_sharing
    if shares is None:
        return []
    start = f"{reason[0].upper()}{reason[1:]}: a queue is promised its nominal quota alone"
    if not shares.short.size:
        return [f"{start}. With it no {shares.tenants.noun} would be short of a job either."]
    return [f"{start}. With it these would be short: {_short_tenants(shares, shares.short)}."]


def _starting(comparison: ShareComparison) -> list[str]:
    """Return the jobs that start on servers that sleep, and are owed to nobody."""
    shares = comparison.tenant_shares
    if shares.starting is None or not shares.starting.any():
        return []
    tasks = sum(shares.jobs[k].size * int(count) for k, count in enumerate(shares.starting))
    sleeping = int(comparison.instance.counts[comparison.subject.asleep].sum())
    verb = "has" if tasks == 1 else "have"
    place = "the server that sleeps now, and starts when jobs need it"
    if sleeping > 1:
        place = f"{sleeping:,} servers that sleep now, and start when jobs need them"
    return [f"Starting: {tasks_text(tasks)} of the fair shares {verb} room on {place}."]


def _waiting(comparison: ShareComparison) -> list[str]:
    """Return what the jobs wait for of the tenants that are not short of one."""
    short = set(comparison.short.tolist())
    others = [
        summary
        for t, summary in comparison.summaries.items()
        if t not in short and not summary.fits_nowhere
    ]
    sentences = [waits_for(comparison, summary) for summary in others[:NAMED]]
    if len(others) > NAMED:
        noun = comparison.subject.tenants.noun
        rest = other_text(len(others) - NAMED, noun)
        verb = "waits" if len(others) == NAMED + 1 else "wait"
        sentences.append(f"{rest[0].upper()}{rest[1:]} {verb}: see the table of what waits.")
    return sentences


def _constraints_left_out(comparison: ShareComparison) -> list[str]:
    """Return the constraints that do not count here, with the tasks that have them."""
    _, left_out = words_of(comparison.waiting_jobs)
    if not left_out:
        return []
    named = ", ".join(f"{name} ({tasks_text(count)})" for name, count in left_out.most_common())
    return [f"Constraints of tasks that wait which do not count here: {named}."]


def _fit_nowhere(comparison: ShareComparison) -> list[str]:
    """Return the users whose tasks wait and fit on no server."""
    users = [n for n, obstacle in comparison.obstacles.items() if obstacle.kind == "nowhere"]
    if not users:
        return []
    labels = comparison.instance.users
    reasons = [(str(labels[n]), _too_large(comparison, n)) for n in users]
    tasks = tasks_text(comparison.waiting[users].sum())
    if len(comparison.subject.hidden) or len(comparison.subject.excluded):
        start = (
            "Waiting, but beside what others use, who are not in this report, they fit on no server"
        )
    else:
        start = "Waiting, but they fit on no server as it is now"
    return [f"{start}: {tasks} ({_named(reasons)})."]


def _too_large(comparison: ShareComparison, n: int) -> str:
    """Return the amount that a task needs most beyond what a server has where it may run."""
    instance = comparison.instance
    demand = instance.demands[n]
    jobs = [job for job in comparison.waiting_jobs if n in job.tasks]
    smallest = min(jobs, key=lambda job: job.size, default=None)
    servers = comparison.blocking.servers_of(n)
    if smallest is not None and smallest.size > 1 and servers.size:
        nodes = int(instance.counts[servers].sum())
        number = f"{nodes:,} {'server' if nodes == 1 else 'servers'}"
        return f"its job needs {needs(comparison, smallest)}, and {number} could take a task"
    largest = instance.capacities[instance.eligible[n]].max(axis=0, initial=0.0)
    if (demand <= largest).all():
        needed = amounts_text(comparison, demand)
        return f"no server where it may run has all that it needs together: {needed}"
    with np.errstate(divide="ignore"):
        r = int(np.where(demand > 0, demand / largest, 0.0).argmax())
    needed = quantity_text(comparison, instance.resources[r], demand[r])
    offered = quantity_text(comparison, instance.resources[r], largest[r])
    return f"it needs {needed}, and no server where it may run has more than {offered}"


def _named(reasons: list[tuple[str, str]]) -> str:
    """Return the first users with reasons, and the number of the others."""
    named = [
        f"{user}: {shorten(reason, LETTERS, placeholder='…')}" if reason else user
        for user, reason in reasons[:_REASONS]
    ]
    others = len(reasons) - _REASONS
    if others > 0:
        named.append(f"and {others:,} {'other' if others == 1 else 'others'}")
    return "; ".join(named)


def _not_runnable_yet(comparison: ShareComparison) -> str:
    """Return the tasks that may not run yet, by reason."""
    held = comparison.subject.held
    counts = held.groupby("reason")["tasks"].sum().sort_values(ascending=False)
    largest = counts.iloc[:_REASONS]
    reasons = [f"{str(reason).rstrip('.')}: {count:,}" for reason, count in largest.items()]
    if len(counts) > _REASONS:
        reasons.append(f"other reasons: {counts.iloc[_REASONS:].sum():,}")
    return f"Not runnable yet, and owed nothing: {tasks_text(counts.sum())} ({'; '.join(reasons)})."


def _hidden_use(comparison: ShareComparison) -> list[str]:
    """Return that nodes and tasks disagree, and how to print a better dump."""
    instance = comparison.instance
    totals = comparison.allocation.usage.to_numpy().sum(axis=0).tolist()
    used_by_tasks = dict(zip(instance.resources, totals, strict=True))
    differences = []
    for resource, hidden in comparison.subject.hidden.items():
        by_nodes = quantity_text(comparison, resource, hidden + used_by_tasks[resource])
        by_tasks = quantity_text(comparison, resource, used_by_tasks[resource])
        differences.append(f"{by_nodes} in use by the nodes, {by_tasks} by the tasks in this dump")
    return [
        f"The dump does not show all tasks: {'; '.join(differences)}.",
        "The rest counts as used, by no user of this report. Print the dump again with the rights "
        "of an operator, so that it lists the tasks of all users.",
    ]


def is_fair(comparison: ShareComparison) -> bool:
    """Whether no tenant is short of a whole job of its fair share."""
    return not comparison.short.size


def verdict(comparison: ShareComparison) -> str:
    """Return the verdict alone: whether tenants are short of a whole task, and which."""
    return _verdict(comparison)[0]


def _verdict(comparison: ShareComparison) -> list[str]:
    """Return whether tenants are short of a whole task, the first of them, and what it waits for."""
    shares = comparison.tenant_shares
    tenants = comparison.subject.tenants
    if comparison.subject.no_verdict:
        return [f"No verdict: {comparison.subject.no_verdict}."]
    short = comparison.short
    if not short.size:
        return [_fair_verdict(comparison)]
    first = int(short[0])
    count = int(shares.owed_whole[tenants.users[first]].sum())
    number = jobs_text(int(shares.jobs_short[first]), count)
    verdict = (
        f"Not fair: {tenants.names[first]} is {number} short of its fair share"
        f"{_sizes(comparison, first)}. It has {_percent(shares.share[first])} of the cluster, and "
        f"{_percent(shares.fair_share[first])} is fair."
    )
    if short.size > 1:
        verdict += f" Short too: {_short_tenants(shares, short[1:], NAMED - 1)}."
    return [verdict, help_for(comparison, first)]


def _verdict_with_past(comparison: ShareComparison) -> list[str]:
    """Return which tenants are short of a whole task when past use counts, where it is known."""
    shares = comparison.tenant_shares_with_past
    if shares is None:
        return []
    counted = "Counting past use, which fades by half in each half-life,"
    if not shares.short.size:
        return [f"{counted} no {shares.tenants.noun} is short of a whole task."]
    return [f"{counted} these are short of what is fair: {_short_tenants(shares, shares.short)}."]


def _short_tenants(shares: TenantShares, short: np.ndarray, most: int = NAMED) -> str:
    """Return the first of the tenants that are short, and the number of the others."""
    tenants = shares.tenants
    counts = tenants.sums(shares.owed_whole)
    named = [
        f"{tenants.names[t]} ({jobs_text(int(shares.jobs_short[t]), int(counts[t]))})"
        for t in short[:most]
    ]
    if short.size > most:
        named.append(other_text(short.size - most, tenants.noun))
    return ", ".join(named)


def _sizes(comparison: ShareComparison, t: int) -> str:
    """Return the tasks that a tenant is short of, by size."""
    owed = comparison.tenant_shares.owed_whole
    users = comparison.subject.tenants.users[t]
    users = users[owed[users] > 0]
    demands = [amounts_text(comparison, comparison.instance.demands[int(n)]) for n in users]
    if len(users) == 1:
        return f" ({demands[0]} each)"
    demand_of_user = zip(users, demands, strict=True)
    sizes = [f"{owed[n]:,} × ({demand})" for n, demand in demand_of_user]
    if len(sizes) > NAMED:
        sizes = [*sizes[:NAMED], f"and {other_text(len(sizes) - NAMED, 'size')}"]
    return f": {', '.join(sizes)}"


def _fair_verdict(comparison: ShareComparison) -> str:
    """Return that no tenant is short of a whole task, and how many tasks wait."""
    subject = comparison.subject
    tenants = subject.tenants
    scope = "Of the tasks that it shows" if len(subject.hidden) else "Fair"
    has_others = len(subject.held) + len(subject.homeless) > 0
    if len(tenants.names) == 1:
        verdict = f"{scope}: {tenants.names[0]} is the only {tenants.noun}"
        verdict += " with tasks that run or could run." if has_others else "."
    else:
        unit = "job" if any(job.size > 1 for job in comparison.waiting_jobs) else "task"
        verdict = f"{scope}: no {tenants.noun} is short of a whole {unit} of its fair share."

    waiting = comparison.waiting[np.isfinite(comparison.waiting)].sum()
    if waiting:
        return f"{verdict} Tasks that wait: {waiting:,.0f}{_behind_their_own(comparison)}."
    if has_others:
        return f"{verdict} No task that could run waits."
    if len(subject.limits_reached):
        return f"{verdict} Nothing waits that the dump shows."
    return f"{verdict} Nothing waits."


def _behind_their_own(comparison: ShareComparison) -> str:
    """Return how many tasks wait behind others of their own tenant, which has its fair share."""
    tenants = comparison.subject.tenants
    shares = comparison.tenant_shares
    if tenants.are_users:
        return ""
    has_its_share = (shares.share > 0) & (shares.share >= shares.fair_share * (1 - AUDIT))
    waiting = comparison.waiting[has_its_share[tenants.of]]
    count = waiting[np.isfinite(waiting)].sum()
    if not count:
        return ""
    all_waiting = comparison.waiting[np.isfinite(comparison.waiting)].sum()
    number = "all" if count == all_waiting else f"{count:,.0f} of them"
    return f", {number} behind jobs of their own {tenants.noun}"


def _rule(comparison: ShareComparison) -> str:
    """Return the rule of fair shares, and why it is this one."""
    subject = comparison.subject
    mechanism = comparison.fair.mechanism
    queues = comparison.instance.tree
    if subject.no_fair_sharing and queues.quotas:
        return (
            "Fair is what Kueue promises without fair sharing: every queue its nominal quota, as far as "
            "it asks for it; what is lent goes to who asks first."
        )
    is_default = mechanism == mechanism_or_default(comparison.instance, None)
    if queues.quotas and is_default:
        reason = (
            "Kueue gives every queue its nominal quota first, and shares what is lent by dominant "
            "resource shares"
        )
    elif subject.plugin:
        reason = _PLUGINS[subject.plugin]
    elif subject.scheduler in _PROMISES:
        reason = _PROMISES[subject.scheduler]
        if subject.scheduler == "slurm" and subject.history.empty:
            reason += ". Past use does not count: the dump has no usage of sshare"
    elif not queues.is_flat:
        reason = "the scheduler shares among queues first, and inside a queue among its users"
    else:
        reason = "there are no queues, so that all users count by their weights"
    return f"Fair is what {mechanism} gives: {reason}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
