"""Gavel's policies: a leximin, a linear program, or a path: of concave levels, or water filling.

Finish-time fairness has levels 1/ρ[m] that are concave in a job's throughput; their path bends, and
programs find how far it goes (:class:`~fairlp.models.paths.concave.ConcavePath`). Where each job has
the throughput at which its tangent is taken, the leximin of these tangents is that of 1/ρ
(docs/results.md), which is what :func:`prove` shows.

The hierarchical policy is water filling along the tree of queues, the path :class:`WaterPath`. The
proof calls neither the path nor the tree: it solves the paper's linear program of each round, and
the duals of that program prove the round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from ...errors import quoted
from ...formulations import gavel
from ...formulations.gavel import (
    FINISH_TIME,
    HIERARCHICAL,
    NUMBERS,
    OPTIONS,
    PROPORTIONAL,
    TOTAL,
    JobsThatEnd,
    WaterLevels,
)
from ...formulations.region import runnable_users
from ...formulations.space_sharing import Combinations, SharedDevices, throughputs
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_alike
from ...models.notation.model import Model
from ...models.paths.concave import ConcavePath
from ...models.paths.path import Path
from ...models.paths.pool import PoolRows
from ...models.programs.certificate import dual_bound
from ...models.programs.proof import Proof
from ...models.programs.solution import Solution
from ...models.trees.tree import Tree
from ...solvers.interior_point.timed_market import TimedMarket
from ...solvers.leximin.leximin import RiseOptions, climb
from ...tolerances import AGREEMENT, BLOCKED_PRICE, LEAST_PROVED, SOLVER_TIGHTEST, VERIFIED
from ..allocation import Allocation, altered
from ..concave_proof import NOTHING_RUNS, columns_at, prove_columns
from ..formulated import prove_by, solve_model
from ..mechanism import Mechanism, Method, MethodCall, TasksResult
from ..validation import differences
from .methods import outcome

#: What tables of an answer count where jobs share devices.
_COUNTED_TWICE = (
    "jobs share devices in pairs: what is in use counts a device once for each job on it, and may be "
    "more than there is"
)


def by_objective(call: MethodCall) -> TasksResult:
    """Solve the model of the objective, with the level of each job in its terms."""
    result = _solved(call)
    if call.parameters.get("pairs") is None:
        return result
    return replace(result, notes=(*result.notes, _COUNTED_TWICE))


def _solved(call: MethodCall) -> TasksResult:
    """Solve a leximin or a linear program, or climb a path."""
    parameters = call.parameters
    objective = objective_of(parameters)
    if objective == FINISH_TIME:
        return _finish_time(call)
    if objective == HIERARCHICAL:
        return _hierarchical(call)
    formulation = partial(gavel.gavel, **options_of(parameters))
    call = replace(call, mechanism=replace(call.mechanism, formulation=formulation))
    is_merged = call.merge and objective == gavel.MAX_MIN and parameters.get("pairs") is None
    solved = _of_alike_jobs(call) if is_merged else solve_model(call)
    tasks_per_level = at_level_1(call.instance, parameters, solved.tasks.sum(axis=1))
    return replace(solved, tasks_per_level=tasks_per_level)


def _of_alike_jobs(call: MethodCall) -> TasksResult:
    """Solve the model for one job of all that are alike, and give each its part."""
    merged, groups = merge_alike(call.instance)
    solved = solve_model(replace(call, instance=merged))
    if not groups.merges:
        return solved
    rounds = solved.rounds
    if isinstance(rounds, pd.DataFrame):
        labels = call.instance.users.labels.to_series().groupby(groups.of).agg(list)
        members = dict(zip(merged.users.labels, labels, strict=True))
        rounds = rounds.copy()
        for name in ("users", "satisfied"):
            rounds[name] = [
                [job for user in users for job in members[user]] for users in rounds[name]
            ]
    tasks = solved.tasks[groups.of] * groups.factor[:, None]
    return replace(solved, tasks=tasks, rounds=rounds)


def _proof_of_alike_jobs(
    formulation: Callable[[Instance], Model], allocation: Allocation, exact: bool
) -> Proof | None:
    """Return the proof for one job of all that are alike; None where none are, and of rationals."""
    merged, groups = merge_alike(allocation.instance)
    if exact or not groups.merges:
        return None
    totals = allocation.totals.to_numpy()
    together = np.zeros((len(groups), len(allocation.instance.servers)))
    np.add.at(together, groups.of, allocation.tasks_array)
    each = together.sum(axis=1)[groups.of] * groups.factor
    errors = differences(totals, each)
    n = int(errors.argmax())
    if errors[n] > AGREEMENT:
        name = quoted(allocation.instance.users[n])
        message = (
            f"jobs like {name} have {each[n]:.12g} tasks on average, and it has {totals[n]:.12g}"
        )
        return Proof(False, message, float(errors[n]))
    return prove_by(formulation, altered(allocation, instance=merged, tasks_array=together), exact)


def at_level_1(
    instance: Instance, parameters: Mapping[str, Any], totals: np.ndarray
) -> np.ndarray | None:
    """Return what counts as level 1 under an objective, where jobs have these throughputs."""
    match objective_of(parameters):
        case gavel.MAKESPAN:
            return gavel.steps_of(instance, parameters["steps"])
        case gavel.TOTAL:
            return gavel.fastest_throughputs(instance)
        case gavel.FINISH_TIME:
            jobs = _jobs(instance, options_of(parameters))
            levels = jobs.levels(totals)
            return np.where(levels > 0, quotients(totals, levels), jobs.isolated)
        case gavel.HIERARCHICAL:
            return gavel.normalised(instance)
    return None


def level_1_of(allocation: Allocation) -> np.ndarray:
    """Return what counts as level 1 for an allocation by its objective."""
    totals = allocation.totals.to_numpy()
    tasks_per_level = at_level_1(allocation.instance, allocation.parameters, totals)
    return allocation.tasks_per_level if tasks_per_level is None else tasks_per_level


def objective_of(parameters: Mapping[str, Any]) -> str:
    """Return the objective of the options of a call; raise where its options do not go together."""
    numbers = {option: parameters.get(option) for option in NUMBERS}
    return gavel.chosen(parameters.get("objective"), numbers, parameters.get("pairs"))


def under(row: Mechanism, parameters: Mapping[str, Any]) -> Mechanism:
    """Return the row of the objective and region that options of a call choose."""
    if parameters.get("pairs") is not None:
        return replace(row, region=SharedDevices(parameters["pairs"]), variant=None)
    if parameters.get("objective") == PROPORTIONAL:
        methods = (INTERIOR_POINT, *row.methods)
        return replace(row, promises=("Pareto-optimal",), methods=methods, variant=None)
    return row


def _by_interior_points(call: MethodCall) -> TasksResult:
    """Maximise the product of throughputs by interior points of its own."""
    tasks, prices, _ = largest_product(call.instance)
    with call.phase("check"):
        proof = _proof_of_product(call.instance, tasks, prices)
    return TasksResult(tasks, prices=prices, gap=proof.gap, certificate=proof)


def largest_product(instance: Instance) -> tuple[np.ndarray, np.ndarray, float]:
    """Return tasks (N, K), prices (K, 1) and the gap of the largest product of throughputs.

    The instance has one resource, and no task limits.
    """
    can_run = runnable_users(instance)
    tasks = np.zeros(instance.shape)
    if not can_run.any():
        return tasks, np.zeros((instance.shape[1], 1)), 0.0
    speed = throughputs(instance)[can_run, None, :]
    market = TimedMarket(
        instance.user_weights[can_run],
        np.zeros(can_run.sum()),
        speed,
        instance.demands[can_run, 0],
        instance.total_capacities.T,
        np.ones(1),
    )
    x, prices, gap = market.solve()
    tasks[can_run] = (speed * x)[:, 0]
    return tasks, prices.T, gap


def _proof_of_product(instance: Instance, tasks: np.ndarray, prices: np.ndarray | None) -> Proof:
    """Return whether no other tasks have a larger product of throughputs."""
    program = gavel.proportional(instance).compile()
    if not program.n_columns:
        return Proof(True, NOTHING_RUNS)
    x = columns_at(program, {"X": quotients(tasks, throughputs(instance))})
    return prove_columns(program, x, None if prices is None else prices.ravel())


def is_one_pool_of_devices(instance: Instance) -> bool:
    """Whether there is one resource and no limit, as the method takes it."""
    return len(instance.resources) == 1 and not np.isfinite(instance.task_limits).any()


INTERIOR_POINT = Method(
    "interior-point",
    _by_interior_points,
    applies=is_one_pool_of_devices,
    needs="one resource, no task limits",
    cost="some 20 Newton steps of NK² numbers and K equations",
)


def options_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the formulation takes; one that is None is left out."""
    return {option: parameters[option] for option in OPTIONS if parameters.get(option) is not None}


def _finish_time(call: MethodCall) -> TasksResult:
    """Raise 1/ρ of all jobs alike, as far as it goes."""
    instance = call.instance
    jobs = _jobs(instance, options_of(call.parameters))
    most = _most(instance, call.parameters.get("pairs"))
    return _along(call, ConcavePath.start(instance, functions=jobs, most=most))


def _hierarchical(call: MethodCall) -> TasksResult:
    """Share by water filling along the tree of queues."""
    instance = call.instance
    weights = instance.user_weights
    throughputs = weights * gavel.normalised(instance)
    tree = Tree(instance.tree.branches, weights[:, None], throughputs)
    return replace(_along(call, WaterPath.start(instance, tree=tree)), shares_along_tree=True)


def _most(instance: Instance, pairs: Any) -> np.ndarray:
    """Return the largest throughput of each job: on its fastest kind, beside its best partner."""
    fastest = gavel.fastest_throughputs(instance)
    if pairs is not None:
        speed = throughputs(instance)
        beside = Combinations.of(instance, pairs).throughputs(speed).max(axis=(1, 2))
        fastest = np.maximum(fastest, beside)
    return np.where(runnable_users(instance), fastest, 0.0)


def _along(call: MethodCall, path: Path) -> TasksResult:
    """Return the outcome of jobs that rise along a path, with levels in the objective's terms."""
    instance = call.instance
    pairs = call.parameters.get("pairs")

    def without_room(pool: PoolRows) -> PoolRows:
        """Return rows that bind no job: two jobs may use the same capacity."""
        return replace(pool, room=np.maximum(pool.room, pool.used(_most(instance, pairs))))

    rise = RiseOptions() if pairs is None else RiseOptions(rows=without_room)
    result = climb(
        instance,
        partial(gavel.max_min, pairs=pairs),
        replace(path, row_tasks=instance.user_weights * gavel.normalised(instance)),
        solver=call.solver,
        merge=False,
        options=call.options,
        rise=rise,
    )
    tasks_result = outcome(instance, result, within=pairs is None)
    totals = tasks_result.tasks.sum(axis=1)
    tasks_per_level = at_level_1(instance, call.parameters, totals)
    return replace(tasks_result, tasks_per_level=tasks_per_level)


@dataclass(frozen=True)
class WaterPath(Path):
    """Jobs that rise by water filling: a queue's part is divided among who is active in it.

    Attributes
    ----------
    tree : Tree
        Of a single amount, the units that the root gives out.
    """

    tree: Tree

    @cached_property
    def rate(self) -> np.ndarray:
        """Throughput of each active job for one unit that the root gives out."""
        return self.tree(self.active)


def _stopping(state: WaterLevels, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the jobs that a round stops, and bounds on how far their levels could rise beyond it.

    With prices y of the rows, scaled to Σ w[m]·Γ[m]·y[m] = 1, and D the bound that all duals prove,
    no allocation that keeps the levels of the round gives job m more than (D − t)/(Γ[m]·y[m])
    beyond its own.
    """
    instance = state.instance
    row_duals = solution.row_duals
    assert row_duals is not None
    block = next(rows for rows in solution.program.rows if rows.name == "fairness")
    parts = np.zeros(len(instance.users))
    parts[state.active] = np.maximum(-row_duals[block.slice], 0.0)
    parts *= state.rates * gavel.normalised(instance)  # of the price of t, which add up to 1
    stopping = parts >= BLOCKED_PRICE * parts.max()
    stopping &= state.active

    distance = max(dual_bound(solution.program, row_duals) - max(solution.objective, 0.0), 0.0)
    excess = np.zeros(len(parts))
    excess[stopping] = distance * state.rates[stopping] / parts[stopping]
    return stopping, excess


def _jobs(instance: Instance, options: Mapping[str, Any]) -> JobsThatEnd:
    return JobsThatEnd.of(instance, *(options.get(name) for name in NUMBERS))


def prove(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation is what its objective says, by linear programs or in rationals.

    Of finish-time fairness it takes the tangents at the throughputs of the allocation itself.
    """
    parameters = allocation.parameters
    objective = objective_of(parameters)
    options = options_of(parameters)
    # entries of pairs are rates that were given, not quotients
    as_written = None if "pairs" in options else gavel.as_written
    if objective == FINISH_TIME:
        jobs = _jobs(allocation.instance, options)
        options["at"] = allocation.totals.to_numpy()
        return prove_by(partial(gavel.gavel, **options), allocation, exact, jobs.levels, as_written)
    if objective == HIERARCHICAL:
        return _prove_hierarchical(allocation, exact)
    formulation = partial(gavel.gavel, **options)
    if objective == PROPORTIONAL and not exact:
        return _proof_of_product(
            allocation.instance, allocation.tasks_array, allocation.prices_array
        )
    if objective == TOTAL:
        return _prove_total(formulation, allocation, exact)
    if objective == gavel.MAX_MIN and "pairs" not in options:
        proof = _proof_of_alike_jobs(formulation, allocation, exact)
        if proof is not None:
            return proof
    return prove_by(formulation, allocation, exact, as_written=as_written)


def _prove_total(
    formulation: Callable[[Instance], Model], allocation: Allocation, exact: bool
) -> Proof:
    """Return whether an allocation has the largest total, which others may have, too."""
    instance = allocation.instance
    solution = formulation(instance).solve().require_optimal()
    certificate = solution.certify(exact=exact)
    proof = Proof(certificate.holds, str(certificate), exact=certificate.exact)
    if not proof:
        return proof
    parts = allocation.totals.to_numpy() / gavel.fastest_throughputs(instance)
    value = np.array([instance.user_weights @ parts])
    largest = np.array([solution.objective])
    # the certified point is better only beyond what its own certificate tells
    errors = differences(value, largest)
    return proof.compared("optimal", ["the total"], value, largest, errors, VERIFIED)


def _prove_hierarchical(allocation: Allocation, exact: bool) -> Proof:
    """Return whether an allocation has the levels of rounds that are run and proved anew.

    Each round stops one job at least.
    """
    if exact:
        return Proof(
            False,
            "not proved: the rounds of the hierarchical policy are proved by their duals in floats, "
            "not in rationals; certify() proves them",
        )
    instance = allocation.instance
    state = WaterLevels.start(instance)
    rounds = 0
    gap = 0.0
    lacking = 0.0
    while state.active.any():
        model = gavel.hierarchical(state, allocation.parameters.get("pairs"))
        solution = model.solve(
            "highs", primal_tolerance=SOLVER_TIGHTEST, dual_tolerance=SOLVER_TIGHTEST
        ).require_optimal()
        rounds += 1

        # The round is proved by its own duals, whatever the solver says of it.
        certificate = solution.verify()
        if not certificate.is_optimal:
            return Proof(False, f"not proved: round {rounds}: {certificate}")
        gap = max(gap, certificate.gap or 0.0)

        stopping, excess = _stopping(state, solution)
        state = state.after(max(solution.objective, 0.0), stopping)
        lacking = max(lacking, float(quotients(excess, state.levels)[stopping].max()))
    if lacking > LEAST_PROVED:
        return Proof(False, f"not proved: by prices, a job may lack {lacking:.1e} of its level")

    levels = allocation.totals.to_numpy() / gavel.normalised(instance)
    proof = Proof(
        True,
        f"{rounds} rounds, each proved by its duals with a gap of at most {gap:.1e}; by prices no job lacks "
        f"more than {lacking:.1e} of its level",
    )
    names = [f"job {quoted(user)}" for user in instance.users]
    errors = differences(levels, state.levels)
    return proof.compared("optimal", names, levels, state.levels, errors)
