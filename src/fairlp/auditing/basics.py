"""Audits of one allocation by itself: feasibility, waste, Pareto optimality, envy, incentives."""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from ..formulations.audits import gain_by_lowering, pareto
from ..mechanisms.allocation import Allocation, Region, beyond_region, says_what_fits
from ..mechanisms.per_server.market import PerServerMarket, fitting
from ..mechanisms.table import TABLE
from ..models.instances.arithmetic import (
    beyond,
    exact_room,
    integers,
    limits_beside,
    quotients,
    relative,
    tasks_alone,
    usable,
    whole_limits,
    whole_table,
)
from ..models.instances.instance import Instance
from ..tolerances import AUDIT, FEASIBILITY, SHRINKING_MARGIN
from .findings import AuditCase, Finding, amount


def plain(instance: Instance) -> Instance:
    """Return the instance with one weight a user where weights do not matter."""
    return (
        instance
        if not instance.has_resource_weights
        else instance.derived(weights=np.ones(len(instance.users)))
    )


def feasible(case: AuditCase) -> Finding:
    """No server is over capacity (or time), no user over its limit or where it may not run.

    Margin: −(largest violation).
    """
    instance = case.instance
    market = PerServerMarket.of(plain(case.instance), case.division)
    violations = [(0.0, "")]

    # Capacities
    resources = list(instance.resources) if case.division == "rdm" else ["time"]
    region = _region(case)
    for i, users in enumerate([] if says_what_fits(region) else market.users):
        capacity = market.capacity[i]
        used = case.tasks[users, i] @ market.demands[i]
        excess = relative(used - capacity, capacity)
        r = int(excess.argmax())
        server = instance.servers[i]
        witness = f"{server!r} is over its {resources[r]} by {amount(excess[r])} of it"
        violations.append((excess[r], witness))

    # Task limits
    totals = case.totals
    limits = limits_beside(totals, instance.task_limits)
    with np.errstate(invalid="ignore"):
        excess = np.where(np.isfinite(limits), relative(totals - limits, limits), 0.0)
    n = int(excess.argmax())
    witness = f"{case.name(n)} runs {amount(totals[n])} tasks and has {amount(limits[n])}"
    violations.append((excess[n], witness))

    # Servers that users may not run on, and negative tasks
    masks = (
        (market.gamma == 0, "may or can run nothing on"),
        (case.tasks < 0, "has fewer than no tasks on"),
    )
    for mask, problem in masks:
        n, i, part = _largest_at(mask, case)
        witness = (
            f"{case.name(n)} {problem} {instance.servers[i]!r}, and is given "
            f"{amount(case.tasks[n, i])} tasks there"
        )
        violations.append((part, witness))

    # Rows of the mechanism's own region
    outside = beyond_region(region, instance, case.tasks)
    witness = f"it is {amount(outside)} beyond the region of {case.mechanism!r}"
    violations.append((outside, witness))
    largest, witness = max(violations, key=itemgetter(0))
    return Finding.of_margin(-largest, witness, "everything fits")


def _largest_at(mask: np.ndarray, case: AuditCase) -> tuple[int, int, float]:
    """Return the user and server of the most tasks where a mask is, and these over Γ[n].

    No table of users × servers is made.
    """
    users, servers = np.nonzero(mask & (case.tasks != 0))
    if not users.size:
        return 0, 0, 0.0
    excess = abs(case.tasks[users, servers]) / case.scale[users]
    largest = int(excess.argmax())
    return int(users[largest]), int(servers[largest]), float(excess[largest])


def _region(case: AuditCase) -> Region | None:
    """Return the mechanism's own feasible region, None where it has none."""
    return TABLE[case.mechanism].under(case.options or {}).region if case.mechanism else None


def non_wasteful(case: AuditCase) -> Finding:
    """No user could run more with what is free. Margin: −(largest gain / Γ[n])."""
    if case.added_up:
        return Finding.undefined(ROWS_ADDED_UP)
    region = _region(case)
    if region is not None:
        return _wasted_in_region(case, region)

    market = PerServerMarket.of(plain(case.instance), case.division)
    limits = whole_limits(market.limits) if case.whole else market.limits
    tasks_left = np.maximum(limits - case.totals, 0.0)
    gains = [(0.0, "")]
    sizes = case.instance.job_sizes
    single = sizes == 1
    of_jobs = np.zeros(len(sizes))  # more tasks on all servers together
    for i, users in enumerate(market.users):
        if not users.size:
            continue
        used = case.tasks[users, i] @ market.demands[i]
        free = np.maximum(market.capacity[i] - used, 0.0)
        fitting_tasks = fitting(free, market.demands[i]).min(axis=1)
        gain = np.minimum(fitting_tasks, tasks_left[users])
        if case.whole:
            gain = _whole_gain(case, i, users, gain)
            of_jobs[users] += gain
            gain = np.where(single[users], gain, 0.0)
        relative_gain = gain / case.alone[users]
        k = int(relative_gain.argmax())
        witness = (
            f"{case.name(users[k])} could run {amount(gain[k])} more tasks on "
            f"{case.instance.servers[i]!r} with what is free there"
        )
        gains.append((relative_gain[k], witness))
    if case.whole and case.instance.has_jobs:
        gain = np.where(single, 0.0, in_whole_jobs(case, np.minimum(of_jobs, tasks_left)))
        relative_gain = quotients(gain, case.alone)
        k = int(relative_gain.argmax())
        witness = (
            f"{case.name(k)} could run {amount(gain[k])} more tasks, {amount(gain[k] / sizes[k])} whole "
            "jobs, with what is free"
        )
        gains.append((relative_gain[k], witness))
    largest, witness = max(gains, key=itemgetter(0))
    return Finding.of_margin(-largest, witness, _NO_WASTE)


def in_whole_jobs(case: AuditCase, tasks: np.ndarray) -> np.ndarray:
    """Return the tasks of the whole jobs in so many tasks of each user, shape (N,) or (N, N)."""
    sizes = case.instance.job_sizes.reshape(-1, *[1] * (tasks.ndim - 1))
    return np.asarray(sizes * np.floor(tasks / sizes * (1 + AUDIT)))


def whole_jobs(case: AuditCase) -> Finding:
    """Every user runs a multiple of its job size. Margin: −(tasks of a cut job / job size)."""
    sizes = case.instance.job_sizes
    if not case.instance.has_jobs:
        return Finding.vacuous("every task is a job by itself")
    cut = (case.totals - in_whole_jobs(case, case.totals)) / sizes
    cut = np.where(cut > AUDIT * np.maximum(case.totals / sizes, 1.0), cut, 0.0)
    n = int(cut.argmax())
    witness = (
        f"{case.name(n)} runs {amount(case.totals[n])} tasks, and each of its jobs is "
        f"{amount(float(sizes[n]))} tasks at once"
    )
    return Finding.of_margin(-cut[n], witness, "every user runs whole jobs")


def _wasted_in_region(case: AuditCase, region: Region) -> Finding:
    """Return whether users could run more within a region while all keep their tasks in place."""
    # twice a solver's tolerance, within which it may call the program infeasible
    slack = 1 - 2 * FEASIBILITY
    instance = case.instance
    runnable = instance.runnable()
    model = pareto(instance, case.totals * slack, case.division, case.whole)
    y = model["y"]
    n = instance.users
    i = instance.servers
    region(model, instance, y)
    tasks = np.where(runnable, np.maximum(case.tasks, 0.0), 0.0) * slack
    model.constraint("kept", y >= model.parameter("has", (n, i), tasks), where=runnable)

    solution = model.solve().require_optimal()
    totals = model.evaluate("tasks", solution.require_point())
    gain = (totals.reshape(case.tasks.shape).sum(axis=1) - case.totals).clip(min=0.0)
    relative_gain = quotients(gain, case.alone)
    best = int(relative_gain.argmax())
    witness = f"{case.name(best)} could run {amount(gain[best])} more tasks with what is free"
    gain_of_floors = gain_by_lowering(solution, 3 * FEASIBILITY)
    gain_of_floors += gain_by_lowering(solution, 2 * FEASIBILITY, block="kept")
    return Finding.of_margin(min(gain_of_floors - relative_gain[best], 0.0), witness, _NO_WASTE)


def _whole_gain(case: AuditCase, i: int, users: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return how many whole tasks more users run on a server, exactly where rounding decides."""
    instance = case.instance
    whole = np.floor(gain * (1 + AUDIT))
    close = np.flatnonzero(whole > np.floor(gain))
    if close.size and case.division == "rdm" and not instance.has_rates:
        demands, free = exact_room(
            instance.demands, instance.capacities[[i]], instance.counts[[i]], case.tasks[:, [i]]
        )
        needed = integers(whole[close])[:, None] * demands[users[close]]
        whole[close] -= (needed > free).any(axis=1)
    return whole


def pareto_optimal(case: AuditCase) -> Finding:
    """No user can gain without another's loss.

    Margin: −(largest sum of gains, each over Γ[n] = Σ_i γ[n,i]).
    """
    if case.added_up:
        return Finding.undefined(ROWS_ADDED_UP)

    # An infeasible allocation keeps its tasks where users can run.
    totals = case.totals
    fixed_tasks = None
    if feasible(case).holds is False:
        fixed_tasks = np.maximum(case.tasks, 0.0)
        totals = np.where(case.instance.runnable(), fixed_tasks, 0.0).sum(axis=1)
    instance = case.instance
    instance = instance.derived(queues=instance.tree.with_room_for(totals, instance.demands))

    largest = _largest_gain(instance, totals, case, fixed_tasks)
    if largest is None:
        return Finding.undefined(_BY_ROUNDING)
    better_tasks, gain_of_floors = largest
    gain = better_tasks.sum(axis=1) - totals
    relative_gain = quotients(gain, case.alone)
    best = int(relative_gain.argmax())
    others = int((relative_gain > AUDIT).sum()) - 1
    plural = "s" if others > 1 else ""
    others_gain = f" ({others} other user{plural} more, too)" if others > 0 else ""
    witness = (
        f"{case.name(best)} could run {amount(gain[best])} more tasks{others_gain}, and no user "
        "would run fewer"
    )
    better = as_allocation(case.instance, better_tasks, "better")
    total_gain = np.maximum(relative_gain, 0.0).sum() - gain_of_floors
    return Finding.of_margin(
        -max(total_gain, 0.0), witness, "no user can gain without another's loss", better=better
    )


def pool_is_used_up(case: AuditCase) -> bool:
    """Whether too little is free in the whole pool for a clear gain that costs no user a task.

    Then no program need tell a search whether the allocation is Pareto-optimal. Wherever tasks run,
    they take the same of the pool. So no user can gain more than what is free of each resource is
    enough for, and all of them together gain at most the sum of that.
    """
    instance = case.instance
    if instance.has_rates or (case.division == "tdm" and not feasible(case).holds):
        return False
    runs = instance.runnable() & (instance.task_limits > 0)[:, None]
    demands = instance.demands
    capacity = np.maximum(instance.total_capacities, case.tasks.T @ demands).sum(axis=0)
    floors = (1 - FEASIBILITY) * np.where(runs, np.maximum(case.tasks, 0.0), 0.0).sum(axis=1)
    gainers = runs.any(axis=1)
    possible_tasks = tasks_alone(demands[gainers], (capacity - floors @ demands)[None, :])[:, 0]
    return bool((possible_tasks / case.alone[gainers]).sum() <= SHRINKING_MARGIN / 2)


def _largest_gain(
    instance: Instance, totals: np.ndarray, case: AuditCase, fixed_tasks: np.ndarray | None
) -> tuple[np.ndarray, float] | None:
    """Return tasks of the largest gain of users, none of whom loses, and what lowered floors add.

    None where rounding decides.

    Whole tasks that need more than there is are computed again with less room: first with what
    whole tasks can use of each resource, then with less on the servers that they overload, but no
    less than the allocation uses.
    """
    demands = instance.demands
    counts = instance.counts
    is_exact = (
        case.whole and case.division == "rdm" and fixed_tasks is None and not instance.has_rates
    )
    limits = instance.task_limits
    if case.whole:
        limits = np.maximum(whole_limits(limits), totals)
    room = instance.derived(task_limits=limits)
    region = _region(case)
    used = case.tasks.T @ demands
    reduction = 0.0
    while True:
        model = pareto(room, totals, case.division, case.whole, fixed_tasks)
        if region is not None:
            region(model, instance, model["y"])
        solution = model.solve().require_optimal()
        tasks = model.evaluate("tasks", solution.require_point()).reshape(case.tasks.shape)
        if not is_exact:
            return tasks, gain_by_lowering(solution)
        overloaded = beyond(demands, instance.capacities, counts, tasks)
        if not overloaded.any():
            return tasks, 0.0
        if reduction > AUDIT:
            return None
        capacities = instance.capacities * usable(*whole_table(demands, instance.capacities))
        reduced = np.maximum(capacities * (1 - reduction), np.minimum(capacities, used))
        capacities = np.where(overloaded & (reduction > 0), reduced, capacities)
        room = room.derived(capacities=capacities)
        reduction = 10 * reduction if reduction else FEASIBILITY


def envy_free(case: AuditCase) -> Finding:
    """No user would rather have what another has, in proportion to their fair parts.

    Margin: min over pairs of (x[n] − U_n(m))/Γ[n].

    U_n(m) is what n could run with e[n]/e[m] times what m has (entitlements; φ[n]/φ[m] without),
    server by server, on servers where n may run, and no more than it has tasks. Under time division
    m's time is what n would have. O(N²(K + R)).
    """
    reason = _incomparable(case)
    if reason:
        return reason
    slack, n, m, tasks_with_bundle = most_envious(case)
    ratio = case.parts[n] / case.parts[m]
    bundle = f"the bundle of {case.name(m)}"
    if ratio != 1:
        of_what = "weights" if case.instance.entitlements is None else "entitlements"
        bundle = f"{amount(ratio)} times {bundle} (the ratio of their {of_what})"
    gain = amount(tasks_with_bundle - case.totals[n])
    witness = f"{case.name(n)} would run {gain} more tasks with {bundle}"
    return Finding.of_margin(slack, witness, "no user would rather have another's bundle")


def up_to_one_own_task(case: AuditCase) -> Finding:
    """With another's bundle no user could run over *one own* task more: U_n(A_m) ≤ x[n] + 1.

    Margin: min over pairs of (x[n] + 1 − U_n(A_m))/Γ[n].
    """
    return _up_to_one(case, own_tasks=1, other_tasks=0)


def up_to_one_task_of_the_other(case: AuditCase) -> Finding:
    """With another's bundle less *one task of it* no user could run more: U_n(A_m − d_m) ≤ x[n].

    Margin: min over pairs of (x[n] − U_n(A_m − d_m))/Γ[n].
    """
    return _up_to_one(case, own_tasks=0, other_tasks=1)


def _up_to_one(case: AuditCase, own_tasks: int, other_tasks: int) -> Finding:
    """Return whether users envy by so many of their own tasks, or of the other's, at most."""
    if not case.whole:
        return Finding.vacuous("tasks may be divided here, and this is about whole ones")
    reason = _incomparable(case)
    if reason:
        return reason
    if other_tasks and case.tasks.shape[1] > 1:
        return Finding.undefined(
            "taking away one task of a bundle on several servers is not one bundle but many"
        )
    slack, n, m, tasks_with_bundle = most_envious(
        case, own_tasks=own_tasks, other_tasks=other_tasks
    )
    reduction = ", less one task of it" if other_tasks else ""
    witness = (
        f"{case.name(n)} runs {amount(case.totals[n])} tasks and would run "
        f"{amount(tasks_with_bundle)} with the bundle of {case.name(m)}{reduction}"
    )
    return Finding.of_margin(slack, witness, "no user envies another by more than one task")


def _incomparable(case: AuditCase) -> Finding | None:
    """Return why bundles of users cannot be compared, None where they can."""
    if case.incomparable:
        return Finding.undefined(case.incomparable)
    if case.added_up:
        return Finding.undefined(ROWS_ADDED_UP)
    if len(case.tasks) < 2:
        return Finding.vacuous("there is no user to envy")
    return None


def most_envious(
    case: AuditCase, among: np.ndarray | None = None, *, own_tasks: int = 0, other_tasks: int = 0
) -> tuple[float, int, int, float]:
    """Return the least (x[n] + own_tasks − U_n(m))/Γ[n], its n and m, and its U_n(m).

    ``among`` says which pairs are compared, by default all. Bundles count less ``other_tasks``
    tasks.
    """
    tasks = np.maximum(case.tasks - other_tasks, 0.0) if other_tasks else case.tasks
    tasks_with_bundle = _tasks_with_bundles(case, tasks)
    slack = (case.totals[:, None] + own_tasks - tasks_with_bundle) / case.scale[:, None]
    pairs = ~np.eye(len(slack), dtype=bool) if among is None else among
    slack = np.where(pairs, slack, np.inf)
    n, m = divmod(int(slack.argmin()), len(slack))
    return slack[n, m], n, m, tasks_with_bundle[n, m]


def sharing_incentive(case: AuditCase) -> Finding:
    """Each user runs as much as with its fair part of every server: e[n], φ[n]/Σφ without.

    Margin: min_n of (x[n] − that)/Γ[n].
    """
    if case.instance.has_resource_weights and case.instance.entitlements is None:
        return Finding.undefined(
            "weights are given per resource; an equal part is by one weight a user"
        )
    can_run = case.alone > 0
    if not can_run.any():
        return Finding.vacuous("no user could run anything")

    fraction = case.parts
    counts = case.instance.counts
    due = fraction[:, None] * case.gamma
    if case.whole:
        due = counts * np.floor(due / counts * (1 + AUDIT))
    due = np.minimum(due.sum(axis=1), case.instance.task_limits)
    if case.whole:
        due = in_whole_jobs(case, due)
    slack = np.where(can_run, (case.totals - due) / case.scale, np.inf)
    worst = int(slack.argmin())
    witness = (
        f"{case.name(worst)} runs {amount(case.totals[worst])} tasks and would run "
        f"{amount(due[worst])} with {amount(fraction[worst])} of every server to itself"
    )
    return Finding.of_margin(
        slack[worst], witness, "every user runs at least what its part of every server would"
    )


_NO_WASTE = "nothing that is free is of use to any user"

ROWS_ADDED_UP = (
    "whole tasks fit on single servers, and the tasks of identical servers (a count above 1) are "
    "added up here; audit instance.expanded()"
)

_BY_ROUNDING = (
    "whole tasks that would be a gain need more than there is by rounding only; scale the data"
)


def _tasks_with_bundles(case: AuditCase, tasks: np.ndarray) -> np.ndarray:
    """Return the tasks that n could run with e[n]/e[m] times ``tasks`` of m, shape (N, N).

    Whole tasks are counted on each server by itself.
    """
    of_user, of_holder, exchange = _exchanged(case, tasks)
    limits = case.instance.task_limits[:, None]
    if not case.whole:
        return np.asarray(np.minimum(of_user @ of_holder.T * exchange, limits))
    totals = np.zeros(exchange.shape)
    for i in np.flatnonzero(of_holder.any(axis=0)):
        on_server = np.outer(of_user[:, i], of_holder[:, i]) * exchange
        totals += np.floor(on_server * (1 + AUDIT))
    return in_whole_jobs(case, np.minimum(totals, whole_limits(limits)))


def _exchanged(case: AuditCase, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three factors: n runs [n,i]·[m,i]·[n,m] tasks with what m has on server i."""
    instance = case.instance
    gamma = case.gamma
    ratio_of_parts = case.parts[:, None] / case.parts[None, :]
    if case.division == "tdm":
        return gamma, quotients(tasks, gamma), ratio_of_parts

    exchange = np.full(ratio_of_parts.shape, np.inf)  # tasks of n in one task's bundle of m
    for r in range(instance.demands.shape[1]):
        demand = instance.demands[:, r]
        demanding = demand > 0
        ratio = demand[None, :] / demand[demanding, None]
        exchange[demanding] = np.minimum(exchange[demanding], ratio)
    if not instance.has_rates:
        return (gamma > 0).astype(float), tasks, exchange * ratio_of_parts
    # a task is lighter or heavier by server
    scale = quotients(tasks_alone(instance.demands, instance.total_capacities), gamma)
    return quotients(np.ones(1), scale), tasks * scale, exchange * ratio_of_parts


def as_allocation(instance: Instance, tasks: np.ndarray, name: str) -> Allocation:
    """Return tasks as an Allocation; shares are fractions of what a user could run alone."""
    gamma = instance.gamma().sum(axis=1)
    return Allocation(
        instance=instance,
        mechanism=name,
        method="audit",
        tasks_array=tasks,
        gamma=gamma,
        tasks_per_level=plain(instance).weights * gamma,
    )
