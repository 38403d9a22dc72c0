"""Max-min fairness: the rounds of a linear program, and rounds on one server without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from ...formulations import normalisers
from ...formulations.max_min import drf, separate_limits
from ...models.instances.instance import EVERYWHERE, Instance
from ...models.instances.merging import components, identity, merge_servers, merge_users
from ...models.instances.problem import effort
from ...models.notation.expressions import Index
from ...solvers.interior_point import INTERIOR
from ...solvers.leximin.leximin import leximin
from ...solvers.leximin.rounds import LeximinResult
from ...tolerances import AGREEMENT
from ..allocation import within_capacity
from ..mechanism import Asked, Method, Outcome, Tasks, through
from .rounds import History

#: Entries of the capacity rows of a component, after merging, from which on interior points beat the simplex method
#: (measured: ``benchmarks/shapes.py --grid``): of one with so many users and servers at least; of a thinner one; where
#: weights differ by more than that factor, which brings rounds of small prices.
PAYS_FROM, WIDE, PAYS_FROM_IF_THIN, APART, PAYS_FROM_IF_APART = 4_500, 50, 12_000, 1e3, 40_000

_NO_DUALS = (
    "not proved: the solver gives no duals, so that no gap bounds what levels may be off by; certify(exact=True), or a "
    "second solver, proves them"
)
#: (instance, φΓ) → tasks (N×K), levels, rounds
Filling = Callable[[Instance, np.ndarray], tuple[np.ndarray, np.ndarray, History]]


def combinatorial(filling: Filling) -> Callable[[Asked], Tasks]:
    """Return the method of a filling that needs no solver."""

    def method(asked: Asked) -> Tasks:
        instance = asked.instance
        tasks, _, history = filling(instance, asked.mechanism.due(instance))
        return Tasks(tasks, rounds=rounds_table(instance, history, tasks))

    return method


def leximin_lp(asked: Asked) -> Tasks:
    """Run the rounds of the mechanism's linear program."""
    mechanism = asked.mechanism
    assert mechanism.formulation is not None
    result = leximin(
        asked.instance,
        mechanism.formulation,
        mechanism.due,
        solver=asked.solver,
        merge=asked.merge,
        options=asked.options,
    )
    return outcome(asked.instance, result)


def separate_lp(asked: Asked) -> Tasks:
    """Run DRF's linear program on each server alone (identical servers once)."""
    instance = asked.instance
    merged, servers = merge_servers(instance) if asked.merge else (instance, identity(len(instance.servers)))
    runnable, limits = merged.gamma() > 0, separate_limits(merged)
    tasks, prices = np.zeros(runnable.shape), np.zeros(merged.capacities.shape)
    found = LeximinResult(tasks, np.zeros(0))
    for i in range(len(merged.servers)):
        who = np.flatnonzero(runnable[:, i] & (limits[:, i] > 0))
        if not who.size:
            continue
        used = np.flatnonzero(merged.demands[who].any(axis=0))
        one = _one_server(merged, i, who, used).derived(task_limits=limits[who, i])
        rates = normalisers.entitled_by(normalisers.dominant)
        rounds = leximin(one, drf, rates, solver=asked.solver, merge=asked.merge, options=asked.options)
        tasks[who, i] = rounds.tasks[:, 0]
        if rounds.prices is not None:
            prices[i, used] = rounds.prices[0]
        found.gap = None if found.gap is None or rounds.gap is None else max(found.gap, rounds.gap)
        found.programs += rounds.programs
    everyone = len(instance.users)
    found.tasks, found.prices = tasks[:, servers.of] * servers.factor, prices[servers.of]
    found.merged, found.before = (everyone, len(merged.servers)), (everyone, len(instance.servers))
    return outcome(instance, found)


def pays(instance: Instance) -> bool:
    """Whether the interior-point method beats HiGHS on the instance: by its size and the spread of its weights.

    Users with weights that are small beside others' have small prices, about which a round of their own decides.
    """
    nonzeros = int(instance.runnable().sum(axis=1) @ (instance.demands > 0).sum(axis=1))
    if len(instance.servers) == 1 or nonzeros < PAYS_FROM:
        return False
    nonzeros, thinner, spread = features(instance)
    if spread > APART:
        return nonzeros >= PAYS_FROM_IF_APART
    return nonzeros >= (PAYS_FROM if thinner >= WIDE else PAYS_FROM_IF_THIN)


def features(instance: Instance) -> tuple[int, int, float]:
    """Return what the choice depends on, after merging.

    That is, of the largest component that has several servers, entries of the capacity rows and the smaller one of the
    numbers of users and servers; and the largest weight as a multiple of the smallest.
    """
    small, _ = merge_users(merge_servers(instance)[0])
    runs, needs = small.runnable(), (small.demands > 0).sum(axis=1)
    sizes = [
        (int(runs[np.ix_(users, servers)].sum(axis=1) @ needs[users]), min(len(users), len(servers)))
        for users, servers in components(small)
        if len(servers) > 1
    ]
    return *max(sizes, default=(0, 0)), float(instance.weights.max() / instance.weights.min())


def by_interior_points(method: Callable[[Asked], Outcome]) -> Method:
    """Return the method that puts the models of another one before our own interior-point method."""
    return Method(
        "interior-point",
        through(INTERIOR, method),
        pays=pays,
        cost="O(NKR·min(N, KR)) an iteration, 10–40 iterations a round",
        takes=("device", "threads", "time_limit"),
    )


def _one_server(instance: Instance, server: int, users: np.ndarray, resources: np.ndarray) -> Instance:
    """Return one row of servers as one server, with some users, who may all run there, and some resources."""
    multiple = effort(instance, slice(server, server + 1))
    needs = instance.demands[users] if multiple is None else instance.demands[users] * multiple[users]
    return instance.select_users(users).derived(
        demands=needs[:, resources],
        resources=Index("r", instance.resources.labels[resources], "resource"),
        servers=Index("i", instance.servers.labels[[server]], "server"),
        capacities=instance.capacities[[server]][:, resources] * instance.counts[server],
        counts=np.ones(1, dtype=np.int64),
        eligible=EVERYWHERE,
        rates=None,
        server_attributes=instance.server_attributes.iloc[[server]],
        conditions=(),
    )


def outcome(instance: Instance, result: LeximinResult) -> Tasks:
    """Return the outcome of rounds of linear programs."""
    found = np.maximum(result.tasks, 0.0)  # by a solver's tolerance it may be below 0
    tasks = within_capacity(instance, found)
    had, has = found.sum(axis=1), tasks.sum(axis=1)
    scaled = np.divide(had - has, had, out=np.zeros(len(had)), where=had > 0).max(initial=0.0)
    return Tasks(
        tasks,
        prices=result.prices,
        rounds=rounds_table(instance, result.rounds, tasks),
        gap=result.gap,
        notes=tuple(_notes(result)),
        unproved=_NO_DUALS if result.gap is None else "",
        uncertain=result.uncertain + float(scaled),
        times=result.times,
    )


def _notes(result: LeximinResult) -> Iterable[str]:
    if result.merged != result.before:
        (users, servers), (all_users, all_servers) = result.merged, result.before
        yield (
            f"solved with {users} users and {servers} servers instead of {all_users} and {all_servers}: "
            "identical servers and proportional users were merged, which is exact"
        )
    if result.relaxed > 0:
        yield (
            "rounding decides here: levels of later rounds were found with the earlier ones lowered by "
            f"{result.relaxed:g} of themselves, so the last users' levels depend on digits that the data may not have"
        )


def rounds_table(instance: Instance, history: History, tasks: np.ndarray) -> pd.DataFrame:
    """Return the rounds as a table: level, number of users frozen, who, and who of them has all its tasks by then.

    Those stopped at a level of their own, which may be lower than the round's.
    """
    labels = instance.users.labels
    full = tasks.sum(axis=1) >= instance.task_limits * (1 - AGREEMENT)
    rows = [(level, len(frozen), list(labels[frozen]), list(labels[frozen[full[frozen]]])) for level, frozen in history]
    columns = ["level", "frozen", "users", "satisfied"]
    return pd.DataFrame(rows, columns=columns, index=range(1, len(rows) + 1)).rename_axis("round")
