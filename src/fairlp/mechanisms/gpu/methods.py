"""The models of OEF, AlloX and Shockwave through any solver, and what proves their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...errors import quoted
from ...formulations import gpu
from ...formulations.region import runnable_users
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.rounds import rounds_of
from ...models.notation.model import Model
from ...models.programs.exact_certificate import Costs, Entries, prove
from ...models.programs.program import Program
from ...models.programs.proof import Proof
from ...models.programs.solution import Solution
from ...solvers.interior_point.timed_market import TimedMarket
from ...tolerances import AGREEMENT, NOISE, VERIFIED
from ..allocation import Allocation, within_capacity
from ..concave_proof import NOTHING_RUNS, columns_at, proof_of_columns, prove_columns
from ..mechanism import MethodCall, TasksResult
from ..validation import differences
from .assignment import bound_on_sum, kinds_of_least_sum
from .row_generation import EnvyRows
from .schedule import JobSchedule

# OEF: one linear program, of which several allocations may be optimal.


def oef(call: MethodCall) -> TasksResult:
    """Solve the linear program of the variant."""
    model = _built(call)
    return _result_of_oef(call.instance, model, model.solve(call.solver, **call.options))


def oef_by_row_generation(call: MethodCall) -> TasksResult:
    """Solve the linear program with the envy rows that it needs, if there are any."""
    if gpu.variant_of(call.parameters.get("variant")) != gpu.COOPERATIVE:
        return oef(call)
    with call.phase("build"):
        rows = EnvyRows(call.instance)
    return _result_of_oef(call.instance, rows.model, rows.solve())


def _result_of_oef(instance: Instance, model: Model, solution: Solution) -> TasksResult:
    tasks = np.asarray(model.evaluate("tasks", solution.require_optimal().require_point()))
    return TasksResult(
        within_capacity(instance, np.maximum(tasks, 0.0)),
        prices=_prices(instance, _duals(solution)),
        gap=_gap(solution),
        unproved=solution.unproved,
    )


def prove_oef(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation keeps the rows of its variant and has the largest total."""
    instance = allocation.instance
    reason = _without_rate(allocation)
    if reason:
        return Proof(False, reason)
    devices = quotients(allocation.tasks_array, gpu.rates_alone(instance))
    levels = allocation.levels.to_numpy()[runnable_users(instance)]
    columns: dict[str, Any] = {"x": devices, "t": levels.min() if len(levels) else 0.0}
    written = partial(gpu.oef_as_written, instance)
    if gpu.variant_of(allocation.parameters.get("variant")) != gpu.COOPERATIVE:
        return _prove_columns(_formulated(gpu.oef, allocation), columns, exact, written)
    rows = EnvyRows(instance)
    if not rows.base.n_columns:
        return Proof(True, NOTHING_RUNS)
    envy = rows.envy(columns_at(rows.base, columns))
    if envy.max() > VERIFIED:
        n, j = np.unravel_index(int(envy.argmax()), envy.shape)
        who = f"user {quoted(instance.users[int(n)])} envies user {quoted(instance.users[int(j)])}"
        return Proof(False, f"infeasible: {who}", float(envy.max()))
    return _proof_beside(rows.solve(), columns, exact, written)


# AlloX: an assignment, whole at every vertex.

_NO_VERTEX = (
    "the solver's point lies between several schedules of the least sum; this one is a vertex, which "
    "HiGHS found"
)


def allox(call: MethodCall) -> TasksResult:
    """Solve the assignment, and run each device's jobs in the order of their positions."""
    instance = call.instance
    model = _built(call)
    solution = model.solve(call.solver, **call.options).require_optimal()
    notes: tuple[str, ...] = ()
    if not _is_whole(solution):
        solution = solution.program.solve("highs").require_optimal()
        notes = (_NO_VERTEX,)
    steps = gpu.job_steps(instance, call.parameters.get("steps"))
    steps_by_kind = np.asarray(model.evaluate("tasks", solution.require_point()))
    schedule = JobSchedule.of(instance, steps, _kinds(steps_by_kind))
    return TasksResult(
        schedule.tasks,
        tasks_per_level=schedule.tasks_per_level,
        gap=_gap(solution),
        picks=schedule.table,
        notes=notes,
        unproved=solution.unproved,
    )


def allox_by_assignment(call: MethodCall) -> TasksResult:
    """Assign jobs to positions by the Hungarian method, and prove the sum by prices of positions."""
    instance = call.instance
    steps = gpu.job_steps(instance, call.parameters.get("steps"))
    times = gpu.job_times(instance, steps)
    schedule = JobSchedule.of(instance, steps, kinds_of_least_sum(times, instance.counts))
    with call.phase("check"):
        proof = _proof_of_schedule(schedule)
    return TasksResult(
        schedule.tasks,
        tasks_per_level=schedule.tasks_per_level,
        gap=proof.gap,
        picks=schedule.table,
        certificate=proof,
    )


def _proof_of_schedule(schedule: JobSchedule) -> Proof:
    """Return whether the sum of completion times of a schedule is the least."""
    if not len(schedule.users):
        return Proof(True, NOTHING_RUNS)
    instance = schedule.instance
    times = gpu.job_times(instance, schedule.steps)
    bound = bound_on_sum(
        times[schedule.users], instance.counts, schedule.servers, schedule.positions
    )
    total = schedule.ends.sum()
    gap = max((total - bound) / total, 0.0)
    if gap <= VERIFIED:
        return Proof(True, f"optimal, proved (no schedule's sum is below {bound:.12g})", gap)
    kinds = kinds_of_least_sum(times, instance.counts)
    least = JobSchedule.of(instance, schedule.steps, kinds).ends.sum()
    if least < total * (1 - VERIFIED):
        message = f"not optimal: the objective is {total:.12g}, and {least:.12g} is possible"
        return Proof(False, message, gap)
    return Proof(False, f"not proved: prices of positions leave a gap of {gap:.1e}", gap)


def _is_whole(solution: Solution) -> bool:
    """Whether every column is 0 or 1: each vertex is, and no point between two of them."""
    y = solution.require_point()
    return bool((np.abs(y - np.rint(y)) <= NOISE).all())


def _kinds(tasks: np.ndarray) -> np.ndarray:
    """Return the position of the kind that each job runs most on, −1 for one that runs nowhere."""
    return np.where((tasks > 0).any(axis=1), tasks.argmax(axis=1), -1)


def schedule_of(allocation: Allocation) -> JobSchedule:
    """Return the schedule of an allocation of AlloX, from where its jobs run."""
    steps = gpu.job_steps(allocation.instance, allocation.parameters.get("steps"))
    return JobSchedule.of(allocation.instance, steps, _kinds(allocation.tasks_array))


def level_1_of_allox(allocation: Allocation) -> np.ndarray:
    """Return what counts as level 1 for an allocation of AlloX."""
    return schedule_of(allocation).tasks_per_level


def prove_allox(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether the jobs are where the sum of completion times is the least."""
    reason = _without_rate(allocation)
    if reason:
        return Proof(False, reason)
    schedule = schedule_of(allocation)
    errors = differences(allocation.tasks_array.ravel(), schedule.tasks.ravel())
    if errors.max(initial=0.0) > AGREEMENT:
        return Proof(False, "no schedule has these tasks", float(errors.max()))
    if not exact:
        return _proof_of_schedule(schedule)
    model = _formulated(gpu.allox, allocation)
    written = partial(gpu.allox_as_written, allocation.instance, schedule.steps)
    return _prove_columns(model, {"y": schedule.places}, exact, written)


# Shockwave: one concave program over all rounds.


def shockwave(call: MethodCall) -> TasksResult:
    """Solve the model of all rounds."""
    instance = call.instance
    model = _built(call)
    if not runnable_users(instance).any():
        return _nothing(instance)
    solution = model.solve(call.solver, **call.options).require_optimal()
    rounds = rounds_of(instance)
    table = np.asarray(model.evaluate("tasks", solution.require_point()))
    duals = _duals(solution)
    prices = None if duals is None else rounds.by_row(duals)
    result = _result_of_shockwave(call, model, np.maximum(rounds.by_row(table), 0.0), prices)
    return replace(result, gap=_gap(solution), unproved=solution.unproved)


def shockwave_by_interior_points(call: MethodCall) -> TasksResult:
    """Solve the market of all rounds by interior points of its own."""
    instance = call.instance
    can_run = runnable_users(instance)
    past = gpu.past_progress(instance, call.parameters.get("earlier_progress"))
    if not can_run.any():
        return _nothing(instance)
    rounds = rounds_of(instance)
    counts = rounds.by_round(instance.counts)
    rates = rounds.by_round(gpu.rates_alone(instance))[can_run].transpose(0, 2, 1)
    market = TimedMarket(
        instance.user_weights[can_run],
        past[can_run],
        rates,
        np.ones(can_run.sum()),
        counts.T,
        np.where(counts.sum(axis=0) > 1, 1.0, 2.0),  # nobody is short of time on one device
    )
    x, prices, _ = market.solve()
    tasks = np.zeros(instance.shape)
    tasks[can_run] = rounds.by_row((rates * x).transpose(0, 2, 1))
    with call.phase("build"):
        model = _built(call)
    return _result_of_shockwave(call, model, tasks, rounds.by_row(prices.T))


def _nothing(instance: Instance) -> TasksResult:
    tasks = np.zeros(instance.shape)
    return TasksResult(tasks, gap=0.0, certificate=Proof(True, NOTHING_RUNS))


def _result_of_shockwave(
    call: MethodCall, model: Model, tasks: np.ndarray, prices: np.ndarray | None
) -> TasksResult:
    """Return the result with ``rounds``, the progress of each user after each, and its proof."""
    instance = call.instance
    rounds = rounds_of(instance)
    past = gpu.past_progress(instance, call.parameters.get("earlier_progress"))
    tasks = within_capacity(instance, tasks)
    with call.phase("check"):
        proof = _proof_of_plan(model, instance, tasks, prices)
    progress = past[:, None] + (tasks @ rounds.belongs.T).cumsum(axis=1)
    return TasksResult(
        tasks,
        prices=_prices(instance, prices),
        gap=proof.gap,
        certificate=proof,
        rounds=pd.DataFrame(
            progress.T,
            index=rounds.rounds.labels.rename("round"),
            columns=instance.users.labels.rename("user"),
        ),
    )


def prove_shockwave(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether no other plan of all rounds is better, by prices or a linear program's duals."""
    if exact:
        return Proof(
            False,
            "not proved: logarithms are proved by duals in floats, not in rationals; certify() "
            "proves them",
        )
    reason = _without_rate(allocation)
    if reason:
        return Proof(False, reason)
    instance = allocation.instance
    if not runnable_users(instance).any():
        return Proof(True, NOTHING_RUNS)
    model = _formulated(gpu.shockwave, allocation)
    prices = allocation.prices_array
    if prices is not None:
        prices = prices[:, 0] * instance.capacities[:, 0]
    return _proof_of_plan(model, instance, allocation.tasks_array, prices)


def _proof_of_plan(
    model: Model, instance: Instance, tasks: np.ndarray, prices: np.ndarray | None
) -> Proof:
    """Return whether a plan is the best; ``prices`` are those of a device of each row of servers."""
    rounds = rounds_of(instance)
    parts = rounds.by_round(quotients(tasks, gpu.rates_alone(instance)))
    program = model.compile()
    if prices is not None:
        prices = rounds.by_round(prices).ravel()
    return prove_columns(program, columns_at(program, {"x": parts}), prices)


# What the three have in common.


def _without_rate(allocation: Allocation) -> str:
    """Return who is given tasks where it has no rate, or nothing."""
    instance = allocation.instance
    impossible = (allocation.tasks_array > 0) & (gpu.rates_alone(instance) == 0)
    if not impossible.any():
        return ""
    n, i = np.argwhere(impossible)[0].tolist()
    user, server = quoted(instance.users[n]), quoted(instance.servers[i])
    return f"infeasible: user {user} has tasks on {server}, where it has no rate"


def _built(call: MethodCall) -> Model:
    """Return the model of a call with its options."""
    assert call.mechanism.formulation is not None
    with call.phase("build"):
        return call.mechanism.formulation(call.instance, **call.parameters)


def _formulated(formulation: Callable[..., Model], allocation: Allocation) -> Model:
    """Return the model that an allocation is an answer of."""
    parameters: Mapping[str, Any] = allocation.parameters
    return formulation(allocation.instance, **parameters)


def _prove_columns(
    model: Model,
    columns: dict[str, Any],
    exact: bool,
    as_written: Callable[[Program], tuple[Entries, Costs]],
) -> Proof:
    """Return whether columns are an optimum, by the rows' duals of an optimum found anew.

    ``as_written``: program → its entries and costs from the numbers as they were written.
    """
    if not model.compile().n_columns:
        return Proof(True, NOTHING_RUNS)
    return _proof_beside(model.solve().require_optimal(), columns, exact, as_written)


def _proof_beside(
    solution: Solution,
    columns: dict[str, Any],
    exact: bool,
    as_written: Callable[[Program], tuple[Entries, Costs]],
) -> Proof:
    """Return whether columns are an optimum, by the duals of a solution of their program."""
    program = solution.program
    optimum = prove(solution, *as_written(program)) if exact else solution.certify()
    if not optimum.holds:
        message = f"not proved: {str(optimum).removeprefix('not proved: ')}"
        return Proof(False, message, exact=optimum.exact)
    duals = solution.row_duals
    assert duals is not None
    x = columns_at(program, columns)
    proof = proof_of_columns(program, x, duals, VERIFIED, solution.require_point())
    return replace(proof, exact=optimum.exact) if proof.holds else proof


def _duals(solution: Solution) -> np.ndarray | None:
    """Return the duals of the rows ``capacity``, None from a solver without duals."""
    if solution.row_duals is None:
        return None
    return np.asarray(np.maximum(np.asarray(solution.duals["capacity"], dtype=float), 0.0))


def _gap(solution: Solution) -> float | None:
    return None if solution.row_duals is None else solution.verify().gap


def _prices(instance: Instance, duals: np.ndarray | None) -> np.ndarray | None:
    """Return prices of a unit of the only resource; None with several."""
    if duals is None or len(instance.resources) > 1:
        return None
    return quotients(duals[:, None], instance.capacities)
