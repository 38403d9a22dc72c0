"""Audits of one allocation by itself: feasibility, waste, Pareto optimality, envy, sharing incentive."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from ..formulations.audits import pareto
from ..mechanisms.allocation import Allocation, Region, beyond_region, tasks_of
from ..mechanisms.mechanism import Division, division_named
from ..mechanisms.per_server.market import PerServerMarket, fitting
from ..mechanisms.table import TABLE
from ..models.instances.arithmetic import (
    beyond,
    exact_room,
    integers,
    largest_first,
    quotients,
    relative,
    tasks_alone,
    usable,
    whole_table,
)
from ..models.instances.instance import Instance
from ..tolerances import AUDIT, FEASIBILITY
from .findings import AuditCase, Finding, amount


def plain(instance: Instance) -> Instance:
    """Return the instance with one weight a user where weights do not matter."""
    return (
        instance
        if not instance.has_resource_weights
        else instance.derived(weights=np.ones(len(instance.users)))
    )


def feasible(case: AuditCase) -> Finding:
    """No server is over capacity (or time), nobody over its limit or where it may not run. Margin: −(violation)."""
    instance = case.instance
    market = PerServerMarket.of(plain(case.instance), case.division)
    found = [(0.0, "")]
    what = list(instance.resources) if case.division == "rdm" else ["time"]
    for i, who in enumerate(market.users):
        capacity = market.capacity[i]
        over = relative(case.tasks[who, i] @ market.demands[i] - capacity, capacity)
        r = int(over.argmax())
        found.append(
            (over[r], f"{instance.servers[i]!r} is over its {what[r]} by {amount(over[r])} of it")
        )
    limits = instance.task_limits
    totals = case.totals
    with np.errstate(invalid="ignore"):
        beyond = np.where(np.isfinite(limits), relative(totals - limits, limits), 0.0)
    n = int(beyond.argmax())
    found.append(
        (beyond[n], f"{case.name(n)} runs {amount(totals[n])} tasks and has {amount(limits[n])}")
    )
    for wrong, says in (
        (market.gamma == 0, "may or can run nothing on"),
        (case.tasks < 0, "has fewer than no tasks on"),
    ):
        off = np.where(wrong, abs(case.tasks) / case.scale[:, None], 0.0)
        n, i = divmod(int(off.argmax()), off.shape[1])
        there = f"is given {amount(case.tasks[n, i])} tasks there"
        found.append((off[n, i], f"{case.name(n)} {says} {instance.servers[i]!r}, and {there}"))
    outside = beyond_region(_region(case), instance, case.tasks)
    found.append((outside, f"it is {amount(outside)} beyond the region of {case.mechanism!r}"))
    worst, witness = max(found, key=itemgetter(0))
    return Finding.of_margin(-worst, witness, "everything fits")


def _region(case: AuditCase) -> Region | None:
    """Return what adds the rows of the mechanism's own feasible region to a model, None where it has none."""
    return TABLE[case.mechanism].region if case.mechanism else None


def non_wasteful(case: AuditCase) -> Finding:
    """Nobody could run more with what is free. Margin: −(largest gain / tasks that the user could run alone)."""
    if case.added_up:
        return Finding.undefined(NOT_TOLD_APART)
    if (region := _region(case)) is not None:
        return _wasted_in_region(case, region)
    market = PerServerMarket.of(plain(case.instance), case.division)
    limits = np.floor(market.limits) if case.whole else market.limits
    room = np.maximum(limits - case.totals, 0.0)
    found = [(0.0, "")]
    for i, who in enumerate(market.users):
        if not who.size:
            continue
        free = np.maximum(market.capacity[i] - case.tasks[who, i] @ market.demands[i], 0.0)
        gain = np.minimum(fitting(free, market.demands[i]).min(axis=1), room[who])
        if case.whole:
            gain = _whole_gain(case, i, who, gain)
        ratio = gain / case.alone[who]
        k = int(ratio.argmax())
        more = amount(gain[k])
        server = case.instance.servers[i]
        found.append(
            (
                ratio[k],
                f"{case.name(who[k])} could run {more} more tasks on {server!r} with what is free "
                "there",
            )
        )
    worst, witness = max(found, key=itemgetter(0))
    return Finding.of_margin(-worst, witness, "nothing that is free is of use to anyone")


def _wasted_in_region(case: AuditCase, region: Region) -> Finding:
    """Return what users could run more while all keep their tasks where they are, within the mechanism's own region."""
    slack = (
        1 - 2 * FEASIBILITY
    )  # twice a solver's tolerance, within which it may call the program infeasible
    model = pareto(case.instance, case.totals * slack, case.division, case.whole)
    y = model["y"]
    n = case.instance.users
    i = case.instance.servers
    region(model, case.instance, y)
    kept = np.where(case.instance.runnable(), np.maximum(case.tasks, 0.0), 0.0) * slack
    model.constraint(
        "kept", y >= model.parameter("has", (n, i), kept), where=case.instance.runnable()
    )
    x = model.solve().require_optimal().require_point()
    gain = (model.evaluate("tasks", x).reshape(case.tasks.shape).sum(axis=1) - case.totals).clip(
        min=0.0
    )
    relative = quotients(gain, case.alone)
    best = int(relative.argmax())
    witness = f"{case.name(best)} could run {amount(gain[best])} more tasks with what is free"
    return Finding.of_margin(-relative[best], witness, "nothing that is free is of use to anyone")


def _whole_gain(case: AuditCase, i: int, who: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return how many whole tasks more users run on a server: where rounding tells, what really fits."""
    instance = case.instance
    whole = np.floor(gain * (1 + AUDIT))
    close = np.flatnonzero(whole > np.floor(gain))
    if close.size and case.division == "rdm" and not instance.has_rates:
        need, left = exact_room(
            instance.demands, instance.capacities[[i]], instance.counts[[i]], case.tasks[:, [i]]
        )
        more = integers(whole[close])[:, None] * need[who[close]]
        whole[close] -= (more > left).any(axis=1)
    return whole


def pareto_optimal(case: AuditCase) -> Finding:
    """Nobody can gain without another's loss. Margin: −(largest sum of gains, each over Γ[n] = Σ_i γ[n,i])."""
    if case.added_up:
        return Finding.undefined(NOT_TOLD_APART)
    totals = case.totals
    held = None
    if feasible(case).holds is False:  # judged with what it takes, where it can run
        held = np.maximum(case.tasks, 0.0)
        totals = np.where(case.instance.runnable(), held, 0.0).sum(axis=1)
    instance = case.instance
    instance = instance.derived(queues=instance.tree.with_room_for(totals, instance.demands))
    found = _most_gained(instance, totals, case, held)
    if found is None:
        return Finding.undefined(_BY_ROUNDING)
    gain = found.sum(axis=1) - totals
    relative = quotients(gain, case.alone)
    best = int(relative.argmax())
    others = int((relative > AUDIT).sum()) - 1
    more = f" ({others} other user{'s' if others > 1 else ''} more, too)" if others > 0 else ""
    witness = (
        f"{case.name(best)} could run {amount(gain[best])} more tasks{more}, and nobody would run "
        "fewer"
    )
    better = as_allocation(case.instance, found, "better")
    worst = np.maximum(relative, 0.0).sum()
    return Finding.of_margin(
        -worst, witness, "nobody can gain without another's loss", better=better
    )


def _most_gained(
    instance: Instance, totals: np.ndarray, case: AuditCase, held: np.ndarray | None
) -> np.ndarray | None:
    """Return the tasks of the largest gain while nobody loses; None where only a solver's tolerance tells which fit.

    Whole tasks are held to what they can use of each resource where those found need more than
    there is, and then to less than that of a server that they overload, or to what the allocation
    uses there.
    """
    demands = instance.demands
    counts = instance.counts
    exact = case.whole and case.division == "rdm" and held is None and not instance.has_rates
    limits = (
        np.maximum(np.floor(instance.task_limits), totals) if case.whole else instance.task_limits
    )
    room = instance.derived(task_limits=limits)
    part = 0.0
    own = case.tasks.T @ demands
    while True:
        model = pareto(room, totals, case.division, case.whole, held)
        if (region := _region(case)) is not None:
            region(model, instance, model["y"])
        x = model.solve().require_optimal().require_point()
        found = model.evaluate("tasks", x).reshape(case.tasks.shape)
        over = (
            beyond(demands, instance.capacities, counts, found)
            if exact
            else np.zeros(1, dtype=bool)
        )
        if not over.any():
            return found
        if part > AUDIT:
            return None
        most = instance.capacities * usable(*whole_table(demands, instance.capacities))
        most = np.where(
            over & (part > 0), np.maximum(most * (1 - part), np.minimum(most, own)), most
        )
        room = room.derived(capacities=most)
        part = 10 * part if part else FEASIBILITY


def envy_free(case: AuditCase) -> Finding:
    """Nobody would rather have what another has, per weight. Margin: min over pairs of (x[n] − U_n(m))/Γ[n].

    U_n(m) is what n could run with φ[n]/φ[m] times what m has, server by server, on servers where n
    may run, and no more than it has tasks. Under time division m's time is what n would have.
    O(N²(K + R)).
    """
    if reason := _incomparable(case):
        return reason
    slack, n, m, worth = most_envious(case)
    weights = case.instance.weights
    what = (
        "bundle"
        if weights[n] == weights[m]
        else f"bundle times {amount(weights[n] / weights[m])}, its weight's part"
    )
    witness = (
        f"{case.name(n)} would run {amount(worth - case.totals[n])} more tasks with "
        f"{case.name(m)}'s {what}"
    )
    return Finding.of_margin(slack, witness, "nobody would rather have another's bundle")


def up_to_one_own_task(case: AuditCase) -> Finding:
    """With another's bundle nobody could run more than *one of its own* tasks more: U_n(A_m) ≤ x[n] + 1.

    Margin: min over pairs of (x[n] + 1 − U_n(A_m))/Γ[n].
    """
    return _up_to_one(case, own=1, others=0)


def up_to_one_task_of_the_other(case: AuditCase) -> Finding:
    """With another's bundle less *one of the other's* tasks nobody could run more: U_n(A_m − d_m) ≤ x[n].

    Margin: min over pairs of (x[n] − U_n(A_m − d_m))/Γ[n].
    """
    return _up_to_one(case, own=0, others=1)


def _up_to_one(case: AuditCase, own: int, others: int) -> Finding:
    if not case.whole:
        return Finding.vacuous("tasks may be divided here, and this is about whole ones")
    if reason := _incomparable(case):
        return reason
    if others and case.tasks.shape[1] > 1:
        return Finding.undefined(
            "taking away one task of a bundle on several servers is not one bundle but many"
        )
    slack, n, m, worth = most_envious(case, own=own, others=others)
    less = f" less one of {case.name(m)}'s tasks" if others else ""
    witness = (
        f"{case.name(n)} runs {amount(case.totals[n])} tasks and would run {amount(worth)} with "
        f"{case.name(m)}'s bundle{less}"
    )
    return Finding.of_margin(slack, witness, "nobody envies another by more than one task")


def _incomparable(case: AuditCase) -> Finding | None:
    """Return why bundles of users cannot be compared, None where they can."""
    if case.instance.has_resource_weights:
        return Finding.undefined(
            "weights are given per resource; envy compares users by one weight each"
        )
    if case.added_up:
        return Finding.undefined(NOT_TOLD_APART)
    if len(case.tasks) < 2:
        return Finding.vacuous("there is nobody to envy")
    return None


def most_envious(
    case: AuditCase, among: np.ndarray | None = None, *, own: int = 0, others: int = 0
) -> tuple[float, int, int, float]:
    """Return the least (x[n] + own − U_n(m))/Γ[n], its n and m, and its U_n(m).

    ``among`` says which pairs are compared, by default all. Bundles are counted less ``others``
    tasks of theirs.
    """
    worth = _worth_of_bundles(case, np.maximum(case.tasks - others, 0.0) if others else case.tasks)
    slack = (case.totals[:, None] + own - worth) / case.scale[:, None]
    slack = np.where(~np.eye(len(slack), dtype=bool) if among is None else among, slack, np.inf)
    n, m = divmod(int(slack.argmin()), len(slack))
    return slack[n, m], n, m, worth[n, m]


def sharing_incentive(case: AuditCase) -> Finding:
    """Everyone runs as much as with φ[n]/Σφ of every server. Margin: min_n of (x[n] − that)/Γ[n]."""
    weights = case.instance.weights
    if case.instance.has_resource_weights:
        return Finding.undefined(
            "weights are given per resource; an equal part is by one weight a user"
        )
    part = weights / weights.sum()
    gamma = case.instance.gamma()
    counts = case.instance.counts
    due = part[:, None] * gamma
    due = (counts * np.floor(due / counts * (1 + AUDIT)) if case.whole else due).sum(axis=1)
    due = np.minimum(due, case.instance.task_limits)
    able = case.alone > 0
    if not able.any():
        return Finding.vacuous("nobody could run anything")
    slack = np.where(able, (case.totals - due) / case.scale, np.inf)
    worst = int(slack.argmin())
    witness = (
        f"{case.name(worst)} runs {amount(case.totals[worst])} tasks and would run "
        f"{amount(due[worst])} with "
        f"{amount(part[worst])} of every server to itself"
    )
    return Finding.of_margin(
        slack[worst], witness, "everyone runs at least what its part of every server would"
    )


NOT_TOLD_APART = (
    "whole tasks fit or not on single servers, and rows of identical ones are added up here; give "
    "servers one by one"
)

_BY_ROUNDING = (
    "whole tasks that would be a gain need more than there is by rounding only; scale the data"
)


def _worth_of_bundles(case: AuditCase, tasks: np.ndarray) -> np.ndarray:
    """Return how many of its tasks n could run with φ[n]/φ[m] times what ``tasks`` of m take, for all n, m; (N, N).

    Whole tasks are counted on each server by itself.
    """
    here, held, factor = _exchanged(case, tasks)
    if not case.whole:
        return np.asarray(np.minimum(here @ held.T * factor, case.instance.task_limits[:, None]))
    worth = np.zeros(factor.shape)
    for i in np.flatnonzero(held.any(axis=0)):
        worth += np.floor(np.outer(here[:, i], held[:, i]) * factor * (1 + AUDIT))
    return np.asarray(np.minimum(worth, np.floor(case.instance.task_limits)[:, None]))


def _exchanged(case: AuditCase, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three factors: on server i, what m has is worth [n,i]·[m,i]·[n,m] tasks of n."""
    instance = case.instance
    gamma = case.instance.gamma()
    weights = case.instance.user_weights
    ratio = weights[:, None] / weights[None, :]
    if case.division == "tdm":
        return gamma, quotients(tasks, gamma), ratio
    exchange = np.full(ratio.shape, np.inf)  # tasks of n in one task's bundle of m
    for r in range(instance.demands.shape[1]):
        need = instance.demands[:, r]
        some = need > 0
        exchange[some] = np.minimum(exchange[some], need[None, :] / need[some, None])
    if not instance.has_rates:
        return (gamma > 0).astype(float), tasks, exchange * ratio
    # a task is lighter or heavier by server
    scale = quotients(tasks_alone(instance.demands, instance.total_capacities), gamma)
    return quotients(np.ones(1), scale), tasks * scale, exchange * ratio


def as_allocation(instance: Instance, tasks: np.ndarray, name: str) -> Allocation:
    """Return anyone's tasks as an Allocation; shares are fractions of what one could run alone."""
    alone = instance.gamma().sum(axis=1)
    return Allocation(
        instance=instance,
        mechanism=name,
        method="audit",
        tasks_array=tasks,
        gamma=alone,
        tasks_per_level=plain(instance).weights * alone,
    )


# Who blocks whom: for each user the saturated resource that stops it, the server, and the users who
# hold it.


def blockers(
    instance: Instance, allocation: Allocation | pd.DataFrame | Any, *, division: Division = "rdm"
) -> pd.DataFrame:
    """Return what stops each user on each server where it could run, and who holds it.

    Parameters
    ----------
    instance : Instance
    allocation : Allocation, DataFrame of users × servers, or array of that shape
        Tasks; of one with prices (LPs gave them) the price of the resource is shown.
    division : {"rdm", "tdm"}

    Returns
    -------
    DataFrame
        One row for each user and server where it may run: ``user``, ``server``, ``resource`` that
        is scarcest for it there ("time" under time division; "its tasks" when it has all of them),
        ``free`` (what is left of it, as a fraction of what one task needs), ``blocked`` (less than
        nothing of use is left), ``held_by`` (users and the amounts they hold, largest first),
        ``unit`` (of those amounts) and ``price`` (of one unit, in the level of the mechanism; NaN
        without).

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.examples.load("ghodsi")
    >>> found = fairlp.blockers(instance, fairlp.allocate(instance, "drf"))
    >>> found.loc[0, ["user", "resource", "held_by"]].tolist()
    ['A', 'cpu', {'B': 6.0, 'A': 3.0}]
    """
    tasks = tasks_of(instance, allocation)
    division = division_named(division)
    market = PerServerMarket.of(plain(instance), division)
    prices = allocation.prices_array if isinstance(allocation, Allocation) else None
    tdm = division == "tdm"
    names = ["time"] if tdm else list(instance.resources)
    rows = []
    full = tasks.sum(axis=1) >= instance.task_limits * (1 - AUDIT)
    for i, who in enumerate(market.users):
        if not who.size:
            continue
        amounts = tasks[who, i][:, None] * market.demands[i]
        left = np.maximum(market.capacity[i] - amounts.sum(axis=0), 0.0)
        ratio = fitting(left, market.demands[i])
        scarcest = ratio.argmin(axis=1)
        for k, n in enumerate(who.tolist()):
            r = int(scarcest[k])
            resource = "its tasks"
            unit = ""
            holders = {}
            if not full[n]:
                resource = names[r]
                unit = instance.units.get(str(resource), "part of the server's time" if tdm else "")
                order = largest_first(amounts[:, r])
                holders = {
                    instance.users[who[h]]: float(amounts[h, r]) for h in order if amounts[h, r] > 0
                }
            blocked = bool(full[n] or ratio[k, r] <= AUDIT * market.gamma[n, i])
            price = np.nan if prices is None or tdm else prices[i, r]
            rows.append(
                (
                    n,
                    instance.users[n],
                    instance.servers[i],
                    resource,
                    ratio[k, r],
                    blocked,
                    holders,
                    unit,
                    price,
                )
            )
    rows.sort(key=itemgetter(0))
    columns = ["user", "server", "resource", "free", "blocked", "held_by", "unit", "price"]
    return pd.DataFrame([row[1:] for row in rows], columns=columns)
