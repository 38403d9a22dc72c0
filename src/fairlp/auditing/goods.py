"""Audits of whole goods: EF1, EFX and the maximin share, of users who need whole tasks.

A good is one unit of a resource on a server, such as a core. What a user holds is what its tasks
take, and a bundle is worth to a user as many whole tasks as it could run with it, server by server.
Users count alike: these properties know no weights and no entitlements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..models.instances.arithmetic import largest_first, whole_limits, whole_tasks_alone
from .findings import AuditCase, Finding, amount


class Envy(NamedTuple):
    """A user who would rather have what another holds, less one good.

    Attributes
    ----------
    slack : float
        (x[n] − what n could run with that)/Γ[n]; below 0 where n envies.
    user, holder : int
    server, resource : int or None
        Of the good; None where the holder has none.
    tasks : int
        What the user could run with the rest.
    """

    slack: float
    user: int
    holder: int
    server: int | None
    resource: int | None
    tasks: int


def envy_free_up_to_one_good(case: AuditCase) -> Finding:
    """EF1: no user could run more with another's bundle once *some* unit of it is taken away.

    Margin: min over pairs of max over units g of (x[n] − U_n(A_m − g))/Γ[n].
    """
    return _up_to_a_good(case, best=True)


def envy_free_up_to_any_good(case: AuditCase) -> Finding:
    """EFX: no user could run more with another's bundle, *whichever* unit of it is taken away.

    Margin: min over pairs and units g of (x[n] − U_n(A_m − g))/Γ[n].
    """
    return _up_to_a_good(case, best=False)


def maximin_share(case: AuditCase) -> Finding:
    """Each user runs what it could make sure of by dividing all goods into N bundles, last to pick.

    Margin: min_n of (x[n] − share[n])/Γ[n].

    On a server where n could run t[n,i] whole tasks alone, no division lets bundles run more than
    t[n,i] of them together, and tasks can be dealt out one by one: the share is ⌊Σ_i t[n,i]/N⌋.
    """
    reason = _undefined(case)
    if reason is not None:
        return reason
    n_users = len(case.totals)
    alone = _whole_alone(case)
    share = np.minimum(
        np.floor(alone.sum(axis=1) / n_users), whole_limits(case.instance.task_limits)
    )
    slack = (case.totals - share) / case.scale
    n = int(slack.argmin())
    witness = (
        f"{case.name(n)} runs {amount(case.totals[n])} tasks, and its maximin share is "
        f"{amount(share[n])}: {_partition(case, alone[n], n_users)}"
    )
    return Finding.of_margin(
        slack[n], witness, "every user runs at least its maximin share of whole tasks"
    )


def _up_to_a_good(case: AuditCase, best: bool) -> Finding:
    """Return whether users envy no bundle less one of its goods: the best of them, or any."""
    reason = _undefined(case)
    if reason is not None:
        return reason
    if not _is_whole(case):
        return Finding.undefined(
            "a good is one unit of a resource, and demands or capacities are no whole numbers; give "
            "resources in their smallest units"
        )
    worst = Envy(np.inf, 0, 0, None, None, 0)
    for holder in np.flatnonzero(case.totals > 0).tolist():
        for user in np.flatnonzero(np.arange(len(case.totals)) != holder).tolist():
            worst = min(worst, _envy(case, user, holder, best), key=lambda envy: envy.slack)
    if worst.server is None or worst.resource is None:
        return Finding.vacuous("no user holds anything")
    instance = case.instance
    unit = f"a unit of {instance.resources[worst.resource]!r} on {instance.servers[worst.server]!r}"
    removal = f"whichever unit is taken away, such as {unit}" if best else f"less {unit}"
    witness = (
        f"{case.name(worst.user)} runs {amount(case.totals[worst.user])} tasks and would run "
        f"{worst.tasks} with the bundle of {case.name(worst.holder)}, {removal}"
    )
    removed = "some unit" if best else "any unit"
    success = f"no user would rather have another's bundle less {removed} of it"
    return Finding.of_margin(worst.slack, witness, success)


def _envy(case: AuditCase, user: int, holder: int, best: bool) -> Envy:
    """Return what a user could run with a holder's bundle less one good, by the good taken."""
    instance = case.instance
    needs = instance.demands[user]
    demanded = needs > 0
    tasks = np.rint(case.tasks[holder])
    held = tasks[:, None] * instance.demands[holder]
    eligible = instance.eligible[user]

    def runs(amounts: np.ndarray, may_run: np.ndarray) -> np.ndarray:
        """Return whole tasks of the user by amounts."""
        possible = np.floor(amounts[:, demanded] / needs[demanded]).min(axis=1, initial=np.inf)
        return np.where(may_run, possible, 0.0)

    by_server = runs(held, eligible)
    limit = whole_limits(instance.task_limits[user])
    servers, resources = np.nonzero(held)
    less_one = held[servers]
    less_one[np.arange(len(servers)), resources] -= 1
    possible = runs(less_one, eligible[servers])
    totals = np.minimum(by_server.sum() - by_server[servers] + possible, limit)
    good = int(totals.argmin() if best else totals.argmax())
    slack = (case.totals[user] - totals[good]) / case.scale[user]
    return Envy(
        float(slack),
        user,
        holder,
        int(servers[good]),
        int(resources[good]),
        int(totals[good]),
    )


def _undefined(case: AuditCase) -> Finding | None:
    """Return why the properties are not defined here, None where they are."""
    instance = case.instance
    if not case.whole:
        return Finding.vacuous("tasks may be divided here, and this is about whole ones")
    if instance.has_jobs:
        return Finding.undefined("jobs of several tasks are no single goods")
    if case.incomparable or np.ptp(case.parts) > 0:
        parts = "weights" if instance.entitlements is None else "entitlements"
        return Finding.undefined(f"{parts} differ, and this counts all users alike")
    if instance.has_rates:
        return Finding.undefined("rates are given, and this counts what tasks take")
    if (instance.counts > 1).any():
        return Finding.undefined(
            "rows of several servers add up tasks of single ones; audit instance.expanded()"
        )
    if len(case.totals) < 2:
        return Finding.vacuous("there is no other user")
    return None


def _is_whole(case: AuditCase) -> bool:
    """Whether all amounts are whole numbers, so that a resource has units."""
    amounts = np.concatenate([case.instance.demands.ravel(), case.instance.capacities.ravel()])
    return bool((amounts == np.rint(amounts)).all())


def _whole_alone(case: AuditCase) -> np.ndarray:
    """Return t[n,i], the whole tasks that each user could run alone on each server."""
    instance = case.instance
    columns = [whole_tasks_alone(instance.demands, capacity) for capacity in instance.capacities]
    return np.where(instance.eligible, np.column_stack(columns), 0.0)


def _partition(case: AuditCase, tasks: np.ndarray, n_bundles: int) -> str:
    """Return the bundles that give a user its share, tasks dealt out one by one, in words."""
    servers = np.repeat(np.arange(len(tasks)), tasks.astype(int))
    bundles: dict[str, int] = {}
    for b in range(n_bundles):
        counts = np.bincount(servers[b::n_bundles], minlength=len(tasks))
        parts = [
            f"{counts[i]} on {case.instance.servers[i]!r}"
            for i in largest_first(counts)
            if counts[i]
        ]
        text = " and ".join(parts) or "nothing"
        bundles[text] = bundles.get(text, 0) + 1
    parts = [f"{times} × ({text})" for text, times in bundles.items()]
    return f"all goods make bundles for its tasks: {', '.join(parts)}"
