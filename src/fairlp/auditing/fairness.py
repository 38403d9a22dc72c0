"""Audits against an optimum: max-min fairness of a bottleneck or of any Γ, NJC, PS-DSF."""

from __future__ import annotations

import numpy as np

from ..complaints import check
from ..formulations.audits import one_resource
from ..formulations.normalisers import level_1_by
from ..formulations.region import have_limits, runnable_users
from ..mechanisms.allocation import Allocation
from ..mechanisms.mechanism import Division, run
from ..mechanisms.per_server.check import fixed_point
from ..mechanisms.table import find
from ..models.instances.arithmetic import quotients
from ..models.instances.instance import Instance
from ..models.paths.path import ConstantPath
from ..models.trees.guarantees import floors
from ..solvers.leximin.leximin import climb, leximin
from ..tolerances import AUDIT, QUOTIENT_ROUNDING
from .basics import as_allocation, plain
from .findings import AuditCase, Finding, amount


def bottleneck(case: AuditCase) -> Finding:
    """If all users have one dominant resource where they can run, it is shared max-min fairly.

    The definition of Khamse-Ashari et al.; that of Wang, Li and Liang is :func:`global_bottleneck`.
    On one server both are that of Ghodsi et al.

    Margin: −(largest difference of a user's tasks from the max-min fair ones, over Γ[n] = Σ_i
    γ[n,i]).
    """
    none = "no resource is the dominant one of all users on every server where they can run"
    return _max_min_of_resource(case, common_bottleneck(case.instance), none)


def global_bottleneck(case: AuditCase) -> Finding:
    """If all users have one dominant resource of the pool, it is shared max-min fairly.

    The definition of Wang, Li and Liang.

    Another premise than that of :func:`bottleneck`, where servers differ: a resource may be
    everyone's dominant one on each server that can run its tasks and not of the pool, and the other
    way round. Margin as for the bottleneck.
    """
    none = "no resource of the pool is the dominant one of all users"
    return _max_min_of_resource(case, common_dominant(case.instance), none)


def single_resource(case: AuditCase) -> Finding:
    """With one resource, it is shared max-min fairly. Margin as for the bottleneck."""
    if len(case.instance.resources) > 1:
        return Finding.vacuous(f"there are {len(case.instance.resources)} resources")
    if case.instance.has_rates and not (case.incomparable or case.whole):
        return Finding.undefined(
            "rates are given, so that amounts of the resource do not compare users"
        )
    return _max_min_of_resource(case, 0)


#: The users whose shares on all servers are computed at once.
_USERS_AT_ONCE = 64


def common_bottleneck(instance: Instance) -> int | None:
    """Return the resource that all users need most, over capacity, wherever they can run."""
    if instance.has_rates:
        return None
    runs = (instance.gamma() > 0) & (instance.task_limits > 0)[:, None]
    is_common = np.ones(len(instance.resources), dtype=bool)
    for start in range(0, len(runs), _USERS_AT_ONCE):  # all shares together would be large
        some = slice(start, start + _USERS_AT_ONCE)
        shares = quotients(instance.demands[some, None, :], instance.capacities)
        is_common &= _is_largest(shares, runs[some])
    return int(is_common.argmax()) if runs.any() and is_common.any() else None


def common_dominant(instance: Instance) -> int | None:
    """Return the resource of which every user needs the largest fraction of the pool."""
    if instance.has_rates:
        return None
    counts = (instance.gamma() > 0).any(axis=1) & (instance.task_limits > 0)
    is_common = _is_largest(quotients(instance.demands, instance.pool), counts)
    return int(is_common.argmax()) if counts.any() and is_common.any() else None


def _is_largest(share: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the resources (last axis) whose share is the largest for everyone who counts."""
    largest = share.max(axis=-1, keepdims=True) * (1 - QUOTIENT_ROUNDING)
    return np.asarray((share >= largest)[counts].all(axis=0))


def leximin_of(mechanism: str, case: AuditCase) -> Finding:
    """The totals are the leximin of the mechanism's Γ. Margin: −(largest difference/Γ[n])."""
    row = find(mechanism)
    reason = row.undefined(case.instance) or (_WHOLE if case.whole else None)
    if reason:
        return Finding.undefined(reason)
    return _against(case, run(row, case.instance), row.gamma(case.instance), mechanism)


def no_justified_complaints(case: AuditCase) -> Finding:
    """Each user has all it asks for, or its entitlement of a saturated resource."""
    reason = find("njc").undefined(case.instance)
    if reason:
        return Finding.undefined(reason)
    complaints = check(case.instance, case.totals)
    return Finding.of_margin(
        complaints.margin, str(complaints), "no user has a justified complaint"
    )


def per_server(case: AuditCase, division: Division) -> Finding:
    """No user could gain on a server from users of higher level there (PS-DSF).

    Margin: −(gain / γ[n,i]).
    """
    if reason := _not_divisible(case):
        return Finding.undefined(reason)
    equilibrium = fixed_point(case.instance, case.tasks, division)
    worst = max(equilibrium.violation, equilibrium.infeasibility)
    witness = str(equilibrium)
    if division == "tdm" and equilibrium.infeasibility > AUDIT:
        witness = (
            "the tasks need more time than the servers have where users take turns (time is "
            f"divided), by {amount(equilibrium.infeasibility)} of it"
        )
    return Finding.of_margin(
        -worst, witness, "no user could gain on a server from users of higher level there"
    )


_WHOLE = "tasks are whole here, and this compares divisible ones"


def _not_divisible(case: AuditCase) -> str | None:
    if case.instance.has_resource_weights:
        return "weights are given per resource; this takes one weight a user"
    return _WHOLE if case.whole else None


def _max_min_of_resource(case: AuditCase, resource: int | None, none: str = "") -> Finding:
    """Compare with max-min fair shares of a resource; ``none`` says of which there is none."""
    if reason := case.incomparable or (_WHOLE if case.whole else None):
        return Finding.undefined(reason)
    if resource is None:
        return Finding.vacuous(none)
    label = case.instance.resources[resource]
    formulation, normaliser = one_resource(label)
    instance = case.instance
    if instance.entitlements is not None:
        instance = instance.derived(weights=case.parts)
    tasks_per_level = level_1_by(normaliser)
    if have_limits(instance):  # a cap may join what no server does
        limits = instance.task_limits
        first = ConstantPath.first(
            tasks_per_level(instance), floors(instance), limits, runnable_users(instance)
        )
        tasks = climb(instance, formulation, first).tasks
    else:
        tasks = leximin(instance, formulation, tasks_per_level).tasks
    best = as_allocation(instance, tasks, f"max-min of {label}")
    return _against(case, best, normaliser(instance), f"max-min fairness of {label!r}")


def _against(case: AuditCase, best: Allocation, gamma: np.ndarray, name: str) -> Finding:
    """Compare totals with the leximin's, which are unique."""
    alone = case.scale
    gap = case.totals - best.totals.to_numpy()
    off = abs(gap) / alone
    levels = quotients(case.totals, gamma * plain(best.instance).weights)
    short = np.flatnonzero(gap < -AUDIT * alone)
    n = int(short[levels[short].argmin()]) if short.size else int(off.argmax())
    witness = (
        f"{case.name(n)} runs {amount(case.totals[n])} tasks and would run "
        f"{amount(best.totals.iloc[n])} by {name}, "
        "and no user of a lower level would lose"
    )
    return Finding.of_margin(-off.max(), witness, f"the totals are those of {name}", better=best)
