"""The first lines of the page: the verdict, the first user who is short, the remedy, the rule."""

from __future__ import annotations

from textwrap import shorten
from typing import Any

import numpy as np

from ...models.instances.arithmetic import quantity
from ...tolerances import AUDIT
from .blocking import Obstacle
from .remedy import Remedy, remedy
from .share_comparison import ShareComparison
from .subject import mechanism_or_default
from .tenants import TenantShares

#: So many tenants, sizes and holders are named, and reasons of tasks that may not run yet; the
#: others are counted together.
_NAMED = 3
_REASONS = 3
#: Letters of one reason, at most.
_LETTERS = 240
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
        paragraphs += _verdict_with_past(comparison)
        paragraphs += _fit_nowhere(comparison)
    if len(subject.held):
        paragraphs.append(_not_runnable_yet(comparison))
    if len(subject.homeless):
        reasons = zip(subject.homeless["user"], subject.homeless["why"], strict=True)
        tasks = _tasks(subject.homeless["tasks"].sum())
        paragraphs.append(f"Waiting, but no node may take them: {tasks} ({_named(list(reasons))}).")
    return [*paragraphs, _rule(comparison)]


def _fit_nowhere(comparison: ShareComparison) -> list[str]:
    """Return the users whose tasks wait and fit on no server."""
    users = [n for n, obstacle in comparison.obstacles.items() if obstacle.kind == "nowhere"]
    if not users:
        return []
    labels = comparison.instance.users
    reasons = [(str(labels[n]), _too_large(comparison, n)) for n in users]
    tasks = _tasks(comparison.waiting[users].sum())
    return [f"Waiting, but they fit on no server as it is now: {tasks} ({_named(reasons)})."]


def _too_large(comparison: ShareComparison, n: int) -> str:
    """Return the amount that a task needs most beyond what a server has where it may run."""
    instance = comparison.instance
    demand = instance.demands[n]
    largest = instance.capacities[instance.eligible[n]].max(axis=0, initial=0.0)
    if (demand <= largest).all():
        return "no server has all that it needs together"
    with np.errstate(divide="ignore"):
        r = int(np.where(demand > 0, demand / largest, 0.0).argmax())
    needed = _quantity(comparison, instance.resources[r], demand[r])
    offered = _quantity(comparison, instance.resources[r], largest[r])
    return f"it needs {needed}, and no server where it may run has more than {offered}"


def _named(reasons: list[tuple[str, str]]) -> str:
    """Return the first users with reasons, and the number of the others."""
    named = [
        f"{user}: {shorten(reason, _LETTERS, placeholder='…')}" if reason else user
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
    reasons = [f"{reason}: {count:,}" for reason, count in largest.items()]
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
    """Whether no tenant is short of a whole task of its fair share."""
    return not comparison.tenant_shares.short.size


def verdict(comparison: ShareComparison) -> str:
    """Return the verdict alone: whether tenants are short of a whole task, and which."""
    return _verdict(comparison)[0]


def _verdict(comparison: ShareComparison) -> list[str]:
    """Return whether tenants are short of a whole task, the first of them, and the remedy."""
    shares = comparison.tenant_shares
    tenants = comparison.subject.tenants
    if not shares.short.size:
        return [_fair_verdict(comparison)]
    first = int(shares.short[0])
    count = int(shares.owed_whole[tenants.users[first]].sum())
    verdict = (
        f"Not fair: {tenants.names[first]} is {_tasks(count)} short of its fair share"
        f"{_sizes(comparison, first)}. It has {_percent(shares.share[first])} of the cluster, and "
        f"{_percent(shares.fair_share[first])} is fair."
    )
    if shares.short.size > 1:
        verdict += f" Short too: {_short_tenants(shares, 1)}."
    return [verdict, _remedy(comparison, first)]


def _verdict_with_past(comparison: ShareComparison) -> list[str]:
    """Return which tenants are short of a whole task when past use counts, where it is known."""
    shares = comparison.tenant_shares_with_past
    if shares is None:
        return []
    counted = "Counting past use, which fades by half in each half-life,"
    if not shares.short.size:
        return [f"{counted} no {shares.tenants.noun} is short of a whole task."]
    return [f"{counted} these are short of what is fair: {_short_tenants(shares)}."]


def _short_tenants(shares: TenantShares, start: int = 0) -> str:
    """Return the first tenants that are short, from this place on, and the number of the others."""
    tenants = shares.tenants
    counts = tenants.sums(shares.owed_whole)
    shown_tenants = shares.short[start:_NAMED]
    named = [f"{tenants.names[t]} ({_tasks(counts[t])})" for t in shown_tenants]
    if shares.short.size > _NAMED:
        named.append(_others(shares.short.size - _NAMED, tenants.noun))
    return ", ".join(named)


def _others(count: int, noun: str) -> str:
    """Return the number of those that are not named."""
    return f"{count:,} other {noun if count == 1 else noun + 's'}"


def _sizes(comparison: ShareComparison, t: int) -> str:
    """Return the tasks that a tenant is short of, by size."""
    owed = comparison.tenant_shares.owed_whole
    users = comparison.subject.tenants.users[t]
    users = users[owed[users] > 0]
    demands = [_demand(comparison, int(n)) for n in users]
    if len(users) == 1:
        return f" ({demands[0]} each)"
    demand_of_user = zip(users, demands, strict=True)
    sizes = [f"{owed[n]:,} × ({demand})" for n, demand in demand_of_user]
    if len(sizes) > _NAMED:
        sizes = [*sizes[:_NAMED], f"and {_others(len(sizes) - _NAMED, 'size')}"]
    return f": {', '.join(sizes)}"


def _demand(comparison: ShareComparison, n: int) -> str:
    """Return the demand of one task of a user in words."""
    instance = comparison.instance
    amounts = zip(instance.resources, instance.demands[n].tolist(), strict=True)
    return ", ".join(
        _quantity(comparison, resource, amount)
        for resource, amount in amounts
        if amount > 0 and resource != "pods"  # of which every pod needs one
    )


def _fair_verdict(comparison: ShareComparison) -> str:
    """Return that no tenant is short of a whole task, and how many tasks wait."""
    subject = comparison.subject
    tenants = subject.tenants
    scope = "Of the tasks that it shows" if len(subject.hidden) else "Fair"
    if len(tenants.names) == 1:
        verdict = f"{scope}: {tenants.names[0]} is the only {tenants.noun}."
    else:
        verdict = f"{scope}: no {tenants.noun} is short of a whole task of its fair share."

    waiting = comparison.waiting[np.isfinite(comparison.waiting)].sum()
    if waiting:
        return f"{verdict} Tasks that wait: {waiting:,.0f}{_behind_their_own(comparison)}."
    if len(subject.held) + len(subject.homeless):
        return f"{verdict} No task that could run waits."
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


def _remedy(comparison: ShareComparison, t: int) -> str:
    """Return how a tenant could run the tasks that it is short of."""
    solution = remedy(comparison, t)
    count = solution.count
    sentences = []
    if solution.fitting:
        server = comparison.instance.servers[next(iter(solution.servers))]
        if solution.fitting < count:
            fitting = f"{solution.fitting:,} of the {count:,}"
        else:
            fitting = "it" if count == 1 else f"all {count:,}"
        sentences.append(f"There is room for {fitting} now on {server}")
        if solution.obstacle is None:
            return f"{sentences[0]}: the scheduler has not placed {'it' if count == 1 else 'them'} yet."
        sentences[0] += "."
    assert solution.obstacle is not None and solution.job is not None
    n = next(iter(solution.job.tasks))
    sentences.append(_stopped_by(comparison, n, solution.obstacle))
    if solution.freed:
        sentences.append(_preempted(comparison, solution))
    return " ".join(sentences)


def _stopped_by(comparison: ShareComparison, n: int, obstacle: Obstacle) -> str:
    """Return what stops a user, and who holds it beyond their fair shares."""
    row = comparison.with_holders(n, obstacle)
    resource = str(comparison.instance.resources[obstacle.resource])
    holders = _holders(comparison, resource, row.beyond_fair)
    if obstacle.kind != "cap":
        if holders:
            return f"{holders} beyond fair shares on the servers where it could run."
        return (
            f"No other {comparison.subject.tenants.noun} holds {resource} beyond its fair share on "
            "these servers: it waits until tasks end, or for more servers."
        )
    place = row.where or "the whole cluster"
    limit = comparison.limit_of(obstacle)
    if limit == "cap":
        holders_below = f" {holders} below it beyond fair shares." if holders else ""
        if comparison.instance.tree.quotas is not None:
            limit = "borrowing limit"
        return (
            f"The {limit} of {place} on {resource} stops it: raise that {limit}, or let others "
            f"below it give way.{holders_below}"
        )
    if limit == "no quota":
        return f"{place} has no quota of {resource}."
    lent = _lent(comparison, obstacle)
    return f"All quota of {resource} in {place} is in use{': ' if lent else ''}{lent}."


def _holders(comparison: ShareComparison, resource: str, holders: dict[Any, float]) -> str:
    """Return who holds a resource beyond their fair shares, with amounts; empty for none."""
    amounts = [
        f"{'holds ' if k == 0 else ''}{_quantity(comparison, resource, amount)}"
        for k, amount in enumerate(list(holders.values())[:_NAMED])
    ]
    named = [f"{name} {amount}" for name, amount in zip(holders, amounts, strict=False)]
    if len(holders) > _NAMED:
        rest = sum(list(holders.values())[_NAMED:])
        others = _others(len(holders) - _NAMED, comparison.subject.tenants.noun)
        named.append(f"{others} {_quantity(comparison, resource, rest)}")
    return ", ".join(named)


def _lent(comparison: ShareComparison, obstacle: Obstacle) -> str:
    """Return whose quota of a resource is lent to whom below a queue, in words."""
    lenders, borrowers = comparison.blocking.loans(obstacle)
    paths = comparison.instance.tree.paths
    resource = comparison.instance.resources[obstacle.resource]

    def in_words(amounts: dict[int, float]) -> str:
        listed = [
            f"{paths[v]} ({_quantity(comparison, resource, amount)})"
            for v, amount in list(amounts.items())[:_NAMED]
        ]
        if len(amounts) > _NAMED:
            listed.append(_others(len(amounts) - _NAMED, "queue"))
        return ", ".join(listed)

    if not lenders or not borrowers:
        return ""
    return f"the quota of {in_words(lenders)} is lent to {in_words(borrowers)}"


def _preempted(comparison: ShareComparison, solution: Remedy) -> str:
    """Return which tasks would go so that others of a tenant fit."""
    names = [comparison.subject.tenants.names[t] for t in solution.preempted]
    counts = list(solution.preempted.values())
    preempted = f"{_tasks(counts[0])} of {names[0]}"
    for tasks, name in zip(counts[1:_NAMED], names[1:_NAMED], strict=True):
        preempted += f", {tasks:,} of {name}"
    if len(counts) > _NAMED:
        other_tasks = sum(counts[_NAMED:])
        others = _others(len(counts) - _NAMED, comparison.subject.tenants.noun)
        preempted += f", {other_tasks:,} of {others}"
    missing = solution.count - solution.fitting
    fitting = _tasks(solution.freed)
    if solution.freed < missing:
        fitting = f"{solution.freed:,} of the {missing:,} tasks"
    return f"For {fitting} to fit, {preempted} would be pre-empted."


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


def _tasks(count: float) -> str:
    return f"{count:,.0f} {'task' if count == 1 else 'tasks'}"


def _quantity(comparison: ShareComparison, resource: Any, amount: float) -> str:
    return quantity(amount, str(resource), comparison.instance.units.get(resource, ""))
