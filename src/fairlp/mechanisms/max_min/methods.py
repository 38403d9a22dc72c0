"""Methods of max-min fairness: rounds of a linear program, and rounds on one server without one.

Where queues have guarantees and caps, or rates are those of a tree, the rounds are those along a
tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from ...errors import InstanceError, SolverError, quoted
from ...formulations import normalisers
from ...formulations.hierarchical import path_on_tree
from ...formulations.max_min import drf, separate_limits
from ...formulations.region import have_limits, require_count, runnable_users, shortfall
from ...models.instances.arithmetic import effort, quotients
from ...models.instances.instance import EVERYWHERE, Instance
from ...models.instances.merging import components, identity, merge_servers, merge_users
from ...models.notation.expressions import Index
from ...models.paths.engine import History, rise
from ...models.paths.path import ConstantPath, Path
from ...models.paths.pool import PoolRows
from ...models.programs.proof import Proof
from ...models.trees.guarantees import floors
from ...models.trees.tree_path import FirstPath
from ...solvers.interior_point import INTERIOR
from ...solvers.leximin.exact_faces import leximin_on_faces
from ...solvers.leximin.leximin import (
    LeximinResult,
    climb,
    leximin,
    rounds_frame,
    suits_faces,
)
from ...tolerances import AGREEMENT, ROUNDING
from ..allocation import within_capacity
from ..mechanism import Method, MethodCall, MethodResult, TasksResult, through
from ..validation import differences
from .history import PAST, levels_of, next_state, past_levels
from .rounds import edrf_rounds

__all__ = ["unplaced"]

#: Entries of the capacity rows of a component, after merging, from which on interior points beat
#: the simplex method (measured: ``benchmarks/shapes.py --grid``): of one with so many users and
#: servers at least; of a thinner one; where weights differ by more than that factor, which brings
#: rounds of small prices.
PAYS_FROM = 4_500
WIDE = 50
PAYS_FROM_IF_THIN = 12_000
APART = 1e3
PAYS_FROM_IF_APART = 40_000

_NO_DUALS = (
    "not proved: the solver gives no duals, so that no gap bounds what levels may be off by; "
    "certify(exact=True), or a "
    "second solver, proves them"
)
#: Use beyond a capacity by at most so many times the rounding of a sum is rounding.
_OF_SUMS = 8
#: (instance, φΓ) → tasks (N×K), rounds
Filling = Callable[[Instance, np.ndarray], tuple[np.ndarray, History]]


def combinatorial(filling: Filling) -> Callable[[MethodCall], TasksResult]:
    """Return the method of a filling that needs no solver."""

    def method(call: MethodCall) -> TasksResult:
        instance = call.instance
        tasks, history = filling(instance, call.tasks_per_level)
        return TasksResult(
            tasks,
            rounds=partial(rounds_table, instance, history, tasks),
            uncertain=displaced(instance, tasks),
        )

    return method


def displaced(instance: Instance, tasks: np.ndarray, priced: bool = False) -> float:
    """Return the largest part of its tasks by which rounding may change the tasks of a user.

    On each server, rounding displaces what tasks use beyond the capacity, and the rounding of the
    sum of all that they use (where prices tell what that is worth, ``priced``, just what is beyond
    it). In the worst case one user makes room for that or gains it: the one that uses least of a
    resource.
    """
    multiple = effort(instance)  # given rates scale what a task needs on a server
    with np.errstate(over="ignore", invalid="ignore"):
        effective_tasks = tasks if multiple is None else tasks * multiple
        usage = effective_tasks.T @ instance.demands
        amounts = effective_tasks.sum(axis=1)[:, None] * instance.demands
        room = instance.total_capacities
        overuse = np.divide(usage - room, room, out=np.zeros(room.shape), where=usage > room).max(
            axis=1
        )
        displaced_amounts = (
            np.where(overuse > _OF_SUMS * ROUNDING, overuse, 0.0) if priced else overuse + ROUNDING
        ) @ usage
        return float(
            np.divide(
                displaced_amounts, amounts, out=np.zeros(amounts.shape), where=amounts > 0
            ).max(initial=0.0)
        )


def _counts_past(call: MethodCall) -> bool:
    """Whether a state, the length of a period or a half-life is given."""
    return any(call.parameters.get(name) is not None for name in PAST)


def past_of(call: MethodCall) -> np.ndarray | None:
    """Return the level from which each user rises, (N,); None where all are equal."""
    return past_levels(call) if _counts_past(call) else None


def remembering(
    method: Callable[[MethodCall], MethodResult],
) -> Callable[[MethodCall], TasksResult]:
    """Return the method, whose outcome has the state for the next period.

    Where nothing of a past is given, it is made when it is read.
    """

    def remember(call: MethodCall) -> TasksResult:
        outcome = cast(TasksResult, method(call))
        totals = outcome.tasks.sum(axis=1)
        if _counts_past(call):
            return replace(outcome, state=next_state(call, totals))
        gamma = call.mechanism.gamma(call.instance)
        count = call.parameters.get("count")
        return replace(outcome, state=partial(levels_of, call.instance, gamma, totals, count))

    return remember


def leximin_lp(call: MethodCall) -> TasksResult:
    """Run the rounds of the mechanism's linear program."""
    mechanism = call.mechanism
    instance = call.instance
    require_count(count_of(call.parameters))
    if have_limits(instance) or past_of(call) is not None:
        return with_limits(call)
    assert mechanism.formulation is not None
    solve = partial(
        leximin, instance, mechanism.formulation, mechanism.tasks_per_level, **_how(call)
    )
    result = solve(leaves=may_be_on_faces(call))
    if result.is_left:
        assert result.prices is not None
        start = (result.tasks, result.prices)
        verdict, tasks = leximin_on_faces(instance, call.tasks_per_level, start)
        if verdict.holds:
            exact = of_exact_levels(call, None, verdict, tasks)
            notes = (*_notes(result), f"exact levels: {verdict.message}")
            return replace(exact, prices=result.prices, notes=notes)
        result = solve()
    return outcome(instance, result, priced=result.gap is not None)


def fill_server(call: MethodCall) -> TasksResult:
    """Fill one server, which queues may limit."""
    require_count(count_of(call.parameters))
    past = past_of(call)
    if have_limits(call.instance):
        return _by_filling(call, _constant(call))
    return combinatorial(partial(edrf_rounds, past=past))(call)


def with_limits(call: MethodCall) -> TasksResult:
    """Run the rounds of a mechanism without a tree, with limits of queues, or with a past."""
    return _by_programs(call, _constant(call))


def _constant(call: MethodCall) -> FirstPath:
    """Return the path at constant rates."""
    return partial(ConstantPath.first, call.tasks_per_level, past=past_of(call))


def along_tree(call: MethodCall, counted: bool = False) -> TasksResult:
    """Run the rounds of the mechanism's linear program along the tree."""
    return _by_programs(call, path_on_tree(call.instance, counted, past_of(call)))


def fill_tree(call: MethodCall, counted: bool = False) -> TasksResult:
    """Fill one pool along the tree."""
    return _by_filling(call, path_on_tree(call.instance, counted, past_of(call)))


def _how(call: MethodCall) -> dict[str, Any]:
    """Return how a leximin is to be solved."""
    return {"solver": call.solver, "merge": call.merge, "options": call.options}


def count_of(parameters: Mapping[str, Any]) -> str:
    """Return what levels count, of a mechanism's options."""
    return str(parameters.get("count") or "total")


def _by_programs(call: MethodCall, first_path: FirstPath) -> TasksResult:
    """Return the outcome of the rounds of linear programs along a path."""
    instance = call.instance
    formulation = call.mechanism.formulation
    assert formulation is not None
    count = count_of(call.parameters)
    first = _first(instance, first_path, count)
    try:
        result = climb(instance, partial(formulation, count=count), first, **_how(call))
    except SolverError:
        require_room(instance, first.tasks)
        raise
    return outcome(instance, result)


def _by_filling(call: MethodCall, first_path: FirstPath) -> TasksResult:
    """Fill one pool along a path.

    There is at most one round for each row and task limit; a round costs O(NR).
    """
    instance = call.instance
    multiple = effort(instance)
    needs = instance.demands if multiple is None else instance.demands * multiple[:, [0]]
    pool = PoolRows.of(instance.pool, needs, instance.demands, instance.tree)
    first = _first(instance, first_path, count_of(call.parameters))
    if not (pool.use @ first.tasks <= pool.room * (1 + AGREEMENT)).all():
        require_room(instance, first.tasks)
    end = rise(first, pool)
    tasks = end.path.tasks[:, None]
    return TasksResult(
        tasks,
        rounds=partial(rounds_table, instance, end.history, tasks),
        uncertain=displaced(instance, tasks),
    )


def _first(instance: Instance, first_path: FirstPath, count: str) -> Path:
    """Return the path of users who start from their guarantees, which the level counts or not."""
    require_count(count)
    return first_path(floors(instance), instance.task_limits, runnable_users(instance), count)


def unplaced(instance: Instance, guaranteed: np.ndarray | None = None) -> np.ndarray:
    """Return the least number of guaranteed tasks of each user without a place.

    Users whose guaranteed tasks all have a place, within rounding, have 0.
    """
    guaranteed = floors(instance) if guaranteed is None else guaranteed
    model = shortfall(merge_servers(instance)[0], guaranteed)
    missing = np.asarray(
        model.evaluate("missing", model.solve().require_optimal().require_point())
    ).ravel()
    return np.where(missing > AGREEMENT * np.maximum(guaranteed, 1.0), missing, 0.0)


def require_room(instance: Instance, guaranteed: np.ndarray) -> None:
    """Raise, naming queue and resource, where guarantees do not fit together."""
    missing = unplaced(instance, guaranteed)
    lacking = missing > 0
    queues = instance.tree
    if not lacking.any():
        return
    amounts = missing[:, None] * instance.demands
    parts_of_pool = amounts.sum(axis=0) / instance.pool
    r = int(parts_of_pool.argmax())
    n = int(amounts[:, r].argmax())
    resource = instance.resources[r]
    v = max(
        (v for v in queues.guaranteed.tolist() if queues.below[v, n] > 0),
        key=lambda v: int(queues.depths[v]),
    )
    if not queues.guarantees[v, r]:  # the guarantee names another resource, which lacks room
        r = int((parts_of_pool * (queues.guarantees[v] > 0)).argmax())
        resource = instance.resources[r]
    raise InstanceError(
        f"the guarantees of queues cannot all be kept: queue {quoted(queues.paths[v])} is guaranteed "
        f"{queues.guarantees[v, r]:g} {quoted(resource)}, and {amounts[:, r].sum():g} of {quoted(resource)} "
        "have no place on the "
        f"servers where its users (such as {quoted(instance.users[n])}) may run, beside the other "
        "guarantees and caps; lower "
        "a guarantee, raise a cap, or add servers"
    )


def separate_lp(call: MethodCall) -> TasksResult:
    """Run DRF's linear program on each server alone (identical servers once)."""
    instance = call.instance
    merged, servers = (
        merge_servers(instance) if call.merge else (instance, identity(len(instance.servers)))
    )
    runnable = merged.gamma() > 0
    limits = separate_limits(merged)
    tasks = np.zeros(runnable.shape)
    prices = np.zeros(merged.capacities.shape)
    result = LeximinResult(tasks, np.zeros(0))
    for i in range(len(merged.servers)):
        users = np.flatnonzero(runnable[:, i] & (limits[:, i] > 0))
        if not users.size:
            continue
        used = np.flatnonzero(merged.demands[users].any(axis=0))
        server_instance = _one_server(merged, i, users, used).derived(task_limits=limits[users, i])
        rates = normalisers.level_1_by(normalisers.dominant)
        rounds = leximin(server_instance, drf, rates, **_how(call))
        tasks[users, i] = rounds.tasks[:, 0]
        if rounds.prices is not None:
            prices[i, used] = rounds.prices[0]
        result.gap = (
            None if result.gap is None or rounds.gap is None else max(result.gap, rounds.gap)
        )
        result.programs += rounds.programs
        result.uncertain = max(result.uncertain, rounds.uncertain)
    n_users = len(instance.users)
    result.tasks = tasks[:, servers.of] * servers.factor
    # of the level of each server: that of several together rises by less for a unit
    result.prices = prices[servers.of] / servers.factor[:, None]
    result.merged = (n_users, len(merged.servers))
    result.before = (n_users, len(instance.servers))
    return outcome(instance, result)


def pays(instance: Instance) -> bool:
    """Return whether the interior-point method beats HiGHS on the instance.

    The size of the instance and the spread of its weights decide.

    Users with weights that are small beside others' have small prices, about which a round of their
    own decides.
    """
    needs = (instance.demands > 0).sum(axis=1)
    nonzeros = int(instance.runnable().sum(axis=1) @ needs)
    if len(instance.servers) == 1 or nonzeros < PAYS_FROM:
        return False
    nonzeros, thinner, spread = features(instance)
    if spread > APART:
        return nonzeros >= PAYS_FROM_IF_APART
    return nonzeros >= (PAYS_FROM if thinner >= WIDE else PAYS_FROM_IF_THIN)


def features(instance: Instance) -> tuple[int, int, float]:
    """Return what the choice depends on, after merging.

    That is, of the largest component that has several servers, entries of the capacity rows and the
    smaller one of the numbers of users and servers; and the largest weight as a multiple of the
    smallest.
    """
    small, _ = merge_users(merge_servers(instance)[0])
    runs = small.runnable()
    needs = (small.demands > 0).sum(axis=1)
    sizes = [(0, 0)]
    for users, servers in components(small):
        if len(servers) > 1:
            nonzeros = int(runs[np.ix_(users, servers)].sum(axis=1) @ needs[users])
            sizes.append((nonzeros, min(len(users), len(servers))))

    spread = float(instance.weights.max() / instance.weights.min())
    return *max(sizes), spread


def by_interior_points(method: Callable[[MethodCall], MethodResult]) -> Method:
    """Return the method that solves another method's models by interior points."""
    return Method(
        "interior-point",
        through(INTERIOR, method),
        pays=pays,
        cost="O(NKR·min(N, KR)) an iteration, 10–40 iterations a round",
        solver_options=("threads", "time_limit"),
    )


def _one_server(
    instance: Instance, server: int, users: np.ndarray, resources: np.ndarray
) -> Instance:
    """Return an instance of one row of servers as one server.

    It has the given users, all of whom can run there, and the given resources.
    """
    multiple = effort(instance, slice(server, server + 1))
    needs = (
        instance.demands[users] if multiple is None else instance.demands[users] * multiple[users]
    )
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


def outcome(
    instance: Instance, result: LeximinResult, priced: bool = False, within: bool = True
) -> TasksResult:
    """Return the outcome of rounds of linear programs.

    ``priced`` marks rounds whose prices bound the effect of rounding. ``within`` says whether
    capacities bound the sum of all tasks' demands; they do not where jobs share devices.
    """
    # by a solver's tolerance they may be below 0; in place, as the table may be large
    nonnegative_tasks = np.maximum(result.tasks, 0.0, out=result.tasks)
    tasks = within_capacity(instance, nonnegative_tasks) if within else nonnegative_tasks
    rounding = displaced(instance, nonnegative_tasks, priced) if within else 0.0
    return TasksResult(
        tasks,
        prices=result.prices,
        round_prices=result.round_prices,
        rounds=partial(rounds_table, instance, result.rounds, tasks),
        gap=result.gap,
        notes=tuple(_notes(result)),
        unproved=_NO_DUALS if result.gap is None else "",
        uncertain=result.uncertain + rounding,
        times=result.times,
    )


def may_be_on_faces(call: MethodCall) -> bool:
    """Return whether rounds may be solved on exact faces, which know no past and no clock."""
    has_time = call.options.get("time_limit") is None
    return has_time and past_of(call) is None and suits_faces(call.instance)


def of_exact_levels(
    call: MethodCall, outcome: TasksResult | None, verdict: Proof, tasks: np.ndarray
) -> TasksResult:
    """Return the exact levels and their tasks.

    The rounds and prices of the outcome stay where they agree with the exact levels.
    """
    instance = call.instance
    tasks_per_level = call.tasks_per_level
    levels = np.array([0.0 if level is None else float(level) for level in verdict.levels])
    totals = np.minimum(levels * tasks_per_level, instance.task_limits)
    tasks = tasks * quotients(totals, tasks.sum(axis=1))[:, None]
    if outcome is not None:
        outcome_levels = quotients(outcome.tasks.sum(axis=1), tasks_per_level)
        error = float(differences(outcome_levels, levels).max())
        if error <= AGREEMENT:
            return replace(outcome, tasks=tasks)
    history = [
        (float(level), np.flatnonzero(levels == level)) for level in np.unique(levels[levels > 0])
    ]
    failure = "had no answer" if outcome is None else f"were off by {error:.1e} of a level"
    note = f"rounding decides so much here that floats {failure}; the levels are those of exact rationals"
    rounds = partial(rounds_table, instance, history, tasks)
    return TasksResult(tasks, rounds=rounds, gap=0.0, notes=(note,))


def _notes(result: LeximinResult) -> Iterable[str]:
    if result.merged != result.before:
        users, servers = result.merged
        all_users, all_servers = result.before
        yield (
            f"solved with {users} users and {servers} servers instead of {all_users} and "
            f"{all_servers}: "
            "identical servers and proportional users were merged, which is exact"
        )
    if result.relaxed > 0:
        yield (
            "rounding decides here: levels of later rounds were found with the earlier ones "
            "lowered by "
            f"{result.relaxed:g} of themselves, so the last users' levels depend on digits that "
            "the data may not have"
        )


def rounds_table(instance: Instance, history: History, tasks: np.ndarray) -> pd.DataFrame:
    """Return the rounds as a table: level, number of users frozen, users, and satisfied users.

    Those stopped at a level of their own, which may be lower than the round's.
    """
    labels = instance.users.labels
    full = tasks.sum(axis=1) >= instance.task_limits * (1 - AGREEMENT)
    stops = [users for _, users in history]
    columns = {
        "users": [list(labels[users]) for users in stops],
        "satisfied": [list(labels[users[full[users]]]) for users in stops],
    }
    return rounds_frame(history, columns)
