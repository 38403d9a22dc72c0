"""The models of OEF, AlloX and Shockwave through any solver, and what proves their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...formulations import gpu
from ...formulations.region import runnable_users
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.rounds import rounds_of
from ...models.notation.model import Model
from ...models.programs.certificate import certify
from ...models.programs.program import Program
from ...models.programs.proof import Proof
from ...models.programs.solution import Solution
from ...tolerances import NOISE, VERIFIED
from ..allocation import Allocation, within_capacity
from ..complaints.first_order import prove_columns
from ..mechanism import MethodCall, TasksResult

# OEF: one linear program, of which several allocations may be optimal.


def oef(call: MethodCall) -> TasksResult:
    """Solve the linear program of the variant."""
    instance = call.instance
    model = _built(call)
    solution = model.solve(call.solver, **call.options).require_optimal()
    tasks = np.asarray(model.evaluate("tasks", solution.require_point()))
    return TasksResult(
        within_capacity(instance, np.maximum(tasks, 0.0)),
        prices=_prices(instance, _duals(solution)),
        gap=_gap(solution),
        unproved=solution.unproved,
    )


def prove_oef(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation keeps the rows of its variant and has the largest total."""
    model = _formulated(gpu.oef, allocation)
    return _prove_by_rows(model, allocation, exact, _columns_of_oef)


def _columns_of_oef(model: Model, allocation: Allocation) -> np.ndarray:
    """Return the columns x, devices, and t, the least that a user has per weight."""
    instance = allocation.instance
    devices = quotients(allocation.tasks_array, gpu.rates_alone(instance))
    levels = allocation.totals.to_numpy() / (instance.user_weights * gpu.slowest(instance))
    levels = levels[runnable_users(instance)]
    return _columns(model.compile(), {"x": devices, "t": levels.min(initial=np.inf)})


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
    places = np.asarray(model.evaluate("tasks", solution.require_point()))
    steps = gpu.job_steps(instance, call.parameters.get("steps"))
    kinds = np.where(places.max(axis=1) > steps / 2, places.argmax(axis=1), -1)
    turns = schedule(instance, steps, kinds)
    return TasksResult(
        _tasks_of_schedule(instance, steps, turns),
        tasks_per_level=_level_1_of_schedule(instance, steps, turns),
        gap=_gap(solution),
        picks=turns,
        notes=notes,
        unproved=solution.unproved,
    )


def _is_whole(solution: Solution) -> bool:
    """Whether every column is 0 or 1: each vertex is, and no point between two of them."""
    y = solution.require_point()
    return bool((np.abs(y - np.rint(y)) <= NOISE).all())


def schedule(instance: Instance, steps: np.ndarray, kinds: np.ndarray) -> pd.DataFrame:
    """Return what runs when, if each job runs on a device of its kind (−1: it runs nowhere).

    The sum of completion times is least where the long jobs are last, spread over the devices.

    Returns
    -------
    DataFrame
        A row for each job, in the order in which they start: ``user``, ``server``, ``device`` (of
        the row, from 1), ``position`` (from the end, from 1), ``start`` and ``end``.
    """
    times = quotients(steps[:, None], gpu.rates_alone(instance))
    rows = []
    for i, count in enumerate(instance.counts.tolist()):
        jobs = np.flatnonzero(kinds == i)
        longest_first = jobs[np.argsort(-times[jobs, i], kind="stable")]
        for device in range(min(count, len(jobs))):
            on_device = longest_first[device::count][::-1]
            ends = times[on_device, i].cumsum()
            starts = ends - times[on_device, i]
            for turn, (job, start, end) in enumerate(zip(on_device, starts, ends, strict=True)):
                position = len(on_device) - turn
                label = (instance.users[job], instance.servers[i])
                rows.append((*label, device + 1, position, float(start), float(end)))
    columns = ["user", "server", "device", "position", "start", "end"]
    table = pd.DataFrame(rows, columns=columns).sort_values("start", kind="stable")
    return table.set_axis(pd.RangeIndex(1, len(table) + 1, name="turn"), axis=0)


def _tasks_of_schedule(instance: Instance, steps: np.ndarray, turns: pd.DataFrame) -> np.ndarray:
    """Return what each job runs in a unit of time, on average until the last job ends."""
    tasks = np.zeros(instance.shape)
    users = instance.users.labels.get_indexer(turns["user"])
    servers = instance.servers.labels.get_indexer(turns["server"])
    tasks[users, servers] = quotients(steps[users], turns["end"].max())
    return tasks


def _level_1_of_schedule(instance: Instance, steps: np.ndarray, turns: pd.DataFrame) -> np.ndarray:
    """Return the tasks at level 1, where a job's level is one over its completion time."""
    ends = turns.set_index("user")["end"].reindex(instance.users.labels).to_numpy()
    part_of_time = quotients(np.nan_to_num(ends, nan=1.0), turns["end"].max() if len(turns) else 1)
    return np.asarray(steps * part_of_time)


def level_1_of_allox(allocation: Allocation) -> np.ndarray:
    """Return what counts as level 1 for an allocation of AlloX, from where its jobs run."""
    instance = allocation.instance
    steps = gpu.job_steps(instance, allocation.parameters.get("steps"))
    turns = schedule(instance, steps, _kinds_of(allocation))
    return _level_1_of_schedule(instance, steps, turns)


def _kinds_of(allocation: Allocation) -> np.ndarray:
    """Return the position of the kind that each job runs on, −1 for one that runs nowhere."""
    tasks = allocation.tasks_array
    return np.where(tasks.any(axis=1), tasks.argmax(axis=1), -1)


def prove_allox(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether the jobs are where the sum of completion times is the least."""
    return _prove_by_rows(_formulated(gpu.allox, allocation), allocation, exact, _columns_of_allox)


def _columns_of_allox(model: Model, allocation: Allocation) -> np.ndarray:
    """Return the column of each job's place: a job that runs on two kinds is none of a schedule."""
    instance = allocation.instance
    steps = gpu.job_steps(instance, allocation.parameters.get("steps"))
    places = np.zeros((*instance.shape, len(instance.users)))
    turns = schedule(instance, steps, _kinds_of(allocation))
    users = instance.users.labels.get_indexer(turns["user"])
    servers = instance.servers.labels.get_indexer(turns["server"])
    parts = quotients(allocation.tasks_array, allocation.tasks_array.sum(axis=1, keepdims=True))
    places[users, servers, turns["position"].to_numpy() - 1] = parts[users, servers]
    return _columns(model.compile(), {"y": places})


# Shockwave: one concave program over all rounds.


def shockwave(call: MethodCall) -> TasksResult:
    """Solve the market of all rounds; ``rounds`` has the progress of each user after each."""
    instance = call.instance
    rounds = rounds_of(instance)
    past = gpu.past_progress(instance, call.parameters.get("progress"))
    if not runnable_users(instance).any():
        tasks = np.zeros(instance.shape)
        certificate = Proof(True, "optimal, proved (no user can run anything)")
        return TasksResult(tasks, gap=0.0, certificate=certificate)
    model = _built(call)
    solution = model.solve(call.solver, **call.options).require_optimal()
    table = np.asarray(model.evaluate("tasks", solution.require_point()))
    tasks = within_capacity(instance, np.maximum(rounds.by_row(table), 0.0))
    duals = _duals(solution)
    prices = None if duals is None else _prices(instance, rounds.by_row(duals))
    with call.phase("check"):
        program = model.compile()
        proof = prove_columns(program, _columns_of_shockwave(model, instance, tasks))
    progress = past[:, None] + (tasks @ rounds.belongs.T).cumsum(axis=1)
    return TasksResult(
        tasks,
        prices=prices,
        gap=_gap(solution),
        certificate=proof,
        rounds=pd.DataFrame(
            progress.T,
            index=rounds.rounds.labels.rename("round"),
            columns=instance.users.labels.rename("user"),
        ),
        unproved=solution.unproved,
    )


def prove_shockwave(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether no other plan of all rounds is better, by the duals of a linear program."""
    if exact:
        return Proof(
            False,
            "not proved: logarithms are proved by duals in floats, not in rationals; certify() "
            "proves them",
        )
    instance = allocation.instance
    if not runnable_users(instance).any():
        return Proof(True, "optimal, proved (no user can run anything)")
    model = _formulated(gpu.shockwave, allocation)
    columns = _columns_of_shockwave(model, instance, allocation.tasks_array)
    return prove_columns(model.compile(), columns)


def _columns_of_shockwave(model: Model, instance: Instance, tasks: np.ndarray) -> np.ndarray:
    parts = rounds_of(instance).by_round(quotients(tasks, gpu.rates_alone(instance)))
    return _columns(model.compile(), {"x": parts})


# What the three have in common.


def _built(call: MethodCall) -> Model:
    """Return the model of a call with its options."""
    assert call.mechanism.formulation is not None
    with call.phase("build"):
        return call.mechanism.formulation(call.instance, **call.parameters)


def _formulated(formulation: Callable[..., Model], allocation: Allocation) -> Model:
    """Return the model that an allocation is an answer of."""
    parameters: Mapping[str, Any] = allocation.parameters
    return formulation(allocation.instance, **parameters)


def _columns(program: Program, values: dict[str, Any]) -> np.ndarray:
    """Return the columns of a program at values by the names of its variables."""
    x = np.zeros(program.n_columns)
    for block in program.columns:
        x[block.slice] = np.ravel(values[block.name])[block.flat]
    return x


def _prove_by_rows(
    model: Model,
    allocation: Allocation,
    exact: bool,
    columns_of: Callable[[Model, Allocation], np.ndarray],
) -> Proof:
    """Return whether an allocation is an optimum, by the rows' duals of an optimum found anew."""
    solution = model.solve().require_optimal()
    optimum = solution.certify(exact=exact)
    if not optimum.holds:
        return Proof(False, str(optimum), exact=optimum.exact)
    assert solution.row_duals is not None
    certificate = certify(solution.program, columns_of(model, allocation), solution.row_duals)
    gap = np.inf if certificate.gap is None else certificate.gap
    if not certificate.is_within(VERIFIED):
        return Proof(False, f"not optimal: {certificate}", gap)
    return Proof(True, f"optimal, proved ({certificate})", gap, exact=optimum.exact)


def _duals(solution: Solution) -> np.ndarray | None:
    """Return the duals of the rows ``capacity``, None from a solver without duals."""
    if solution.row_duals is None:
        return None
    return np.maximum(np.asarray(solution.duals["capacity"], dtype=float), 0.0)


def _gap(solution: Solution) -> float | None:
    return None if solution.row_duals is None else solution.verify().gap


def _prices(instance: Instance, duals: np.ndarray | None) -> np.ndarray | None:
    """Return prices of a unit of the only resource; None with several, as time is what is priced."""
    if duals is None or len(instance.resources) > 1:
        return None
    return quotients(duals[:, None], instance.capacities)
