"""Mechanisms that are a formulation: the leximin or optimum of a model, and its proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import pandas as pd

from ..errors import (
    ModelError,
    NotDefinedError,
    quoted,
)
from ..models.instances.instance import Instance
from ..models.notation.model import Model
from ..models.notation.tables import level_rows
from ..models.programs.program import Program
from ..models.programs.proof import Proof
from ..models.programs.solution import Solution
from ..solvers.leximin.answers import LeximinSolution, proved_as_written
from ..solvers.leximin.of_model import leximin
from ..tolerances import AGREEMENT, VERIFIED
from .allocation import Allocation, says_what_fits, within_capacity
from .mechanism import MethodCall, TasksResult
from .table import find
from .validation import differences


def prove(allocation: Allocation, exact: bool) -> Proof:
    """Return the proof that an allocation is the optimum of its formulation.

    A leximin is proved level by level, or in rationals.

    A formulation that is solved once is proved by its certificate (exactly, from its basis), and
    the totals compared; other totals may be as good, which the verdict says.
    """
    row = find(allocation.mechanism)
    if row.formulation is None:
        raise NotDefinedError(
            f"{allocation.mechanism!r} is a procedure: nothing says what it ought to be"
        )
    return prove_by(row.formulation, allocation, exact)


def prove_by(
    formulation: Callable[[Instance], Model],
    allocation: Allocation,
    exact: bool,
    measure: Callable[[np.ndarray], np.ndarray] = np.asarray,
    as_written: Callable[[Instance, Program], Mapping[tuple[int, int], Fraction]] | None = None,
) -> Proof:
    """Return whether an allocation is what a formulation says; see :func:`prove`.

    ``measure``: totals → what has to agree with an optimum, such as levels; the totals by default.
    ``as_written``: instance and program → exact entries of the matrix in the place of rounded ones,
    for a leximin in rationals.
    """
    instance = allocation.instance
    model = formulation(instance)
    if _has_levels(model):
        answer = leximin(model)
        if exact and as_written is not None:
            entries = as_written(instance, answer.problem.program)
            verdict = proved_as_written(answer, entries)
        else:
            verdict = answer.certify(exact=exact)
        x = answer.x
    else:
        solution = model.solve().require_optimal()
        certificate = solution.certify(exact=exact)
        verdict = Proof(certificate.holds, str(certificate), exact=certificate.exact)
        assert solution.x is not None
        x = solution.x
    if not verdict.holds:
        return verdict
    totals = allocation.totals.to_numpy()
    optimal_totals = tasks_at(model, x, instance).sum(axis=1)
    errors = differences(measure(totals), measure(optimal_totals))
    user = int(errors.argmax())
    if errors[user] > AGREEMENT:
        difference = (
            f"user {quoted(instance.users[user])} has {totals[user]:.12g} tasks, and an optimum "
            f"{optimal_totals[user]:.12g}"
        )
        remark = "" if level_rows(model) is not None else "; other totals may be as good"
        return Proof(
            False, f"{difference} ({verdict.message}){remark}", float(errors[user]), verdict.levels
        )
    message = f"optimal, proved: {verdict.message}"
    return Proof(True, message, float(errors[user]), verdict.levels, exact=verdict.exact)


#: What the parts of a formulation are called.
TASKS = "tasks"


CAPACITY = "capacity"


def solve_model(call: MethodCall) -> TasksResult:
    """Solve the mechanism's own model."""
    formulation = call.mechanism.formulation
    assert formulation is not None
    with call.phase("build"):
        model = formulation(call.instance)
        require_tasks(model, call.instance, call.mechanism.name)
    if _has_levels(model):
        answer = leximin(model, solver=call.solver, **call.options)
        tasks = _fitted(call, tasks_at(model, answer.x, call.instance))
        return TasksResult(
            tasks,
            prices=_prices(answer, call.instance),
            rounds=rounds_of(answer, call.instance, tasks),
            gap=answer.gap,
            notes=limit_notes(call.mechanism.name, call.instance, tasks),
            unproved=answer.unproved,
        )
    solution = model.solve(call.solver, **call.options).require_optimal()
    assert solution.x is not None
    tasks = _fitted(call, tasks_at(model, solution.x, call.instance))
    proved = solution.row_duals is not None
    return TasksResult(
        tasks,
        prices=_prices(solution, call.instance) if proved else None,
        gap=solution.verify().gap if proved else None,
        notes=limit_notes(call.mechanism.name, call.instance, tasks),
        unproved=solution.unproved,
    )


def _fitted(call: MethodCall, tasks: np.ndarray) -> np.ndarray:
    """Return tasks within capacities, unless the mechanism's region says what fits."""
    if says_what_fits(call.mechanism.region):
        return tasks
    return within_capacity(call.instance, tasks)


def require_tasks(model: Model, instance: Instance, name: str) -> None:
    """Raise unless the model says what its tasks are, over users and servers."""
    if TASKS not in model.definitions:
        raise ModelError(
            f"the formulation of {quoted(name)} does not say what its tasks are; add "
            "model.define('tasks', x) with a formula "
            "over users and servers"
        )
    if model.objective is None:
        raise ModelError(
            f"the formulation of {quoted(name)} does not say what is best; add model.maximize(…), "
            "model.minimize(…), or "
            "model.leximin(…)"
        )
    indices = model.definitions[TASKS].indices
    sizes = [len(index) for index in indices]
    users, servers = instance.shape
    labels = [list(index.labels) for index in indices]
    expected_labels = [list(instance.users), list(instance.servers)]
    if labels not in (expected_labels, expected_labels[::-1]) and not (
        labels == expected_labels[:1] and servers == 1
    ):
        raise ModelError(
            f"the formulation of {quoted(name)} defines 'tasks' over "
            f"({', '.join(i.symbol for i in indices)}), of sizes "
            f"{sizes}; expected users and servers, {users} and {servers}"
        )


def _has_levels(model: Model) -> bool:
    """Return whether the model is a leximin with at least one level.

    A leximin without levels, of users who can run nothing, is solved once.
    """
    rows = level_rows(model)
    return rows is not None and rows.size > 0


def tasks_at(model: Model, x: np.ndarray, instance: Instance) -> np.ndarray:
    """Return the tasks at column values, users × servers."""
    values = model.evaluate(TASKS, x)
    indices = model.definitions[TASKS].indices
    if len(indices) == 2 and list(indices[0].labels) != list(instance.users):
        values = values.T
    return np.asarray(np.maximum(values.reshape(len(instance.users), -1), 0.0))


def _prices(answer: LeximinSolution | Solution, instance: Instance) -> np.ndarray | None:
    """Return the duals of rows ``capacity``, servers × resources, where the model has such rows."""
    if isinstance(answer, LeximinSolution):
        if answer.priced is None:
            return None
        duals = answer.prices
    else:
        duals = answer.duals
    if CAPACITY not in duals:
        return None
    values = np.asarray(duals[CAPACITY], dtype=float)
    shape = (len(instance.servers), len(instance.resources))
    if values.size != shape[0] * shape[1]:
        return None
    return np.asarray(
        np.nan_to_num(values.T if values.shape == shape[::-1] != shape else values.reshape(shape))
    )


def rounds_of(answer: LeximinSolution, instance: Instance, tasks: np.ndarray) -> pd.DataFrame:
    """Return the rounds as those of the mechanisms are shown."""
    full = tasks.sum(axis=1) >= instance.task_limits
    satisfied = set(instance.users.labels[full])
    frame = answer.rounds.rename(columns={"labels": "users"})
    frame["satisfied"] = [[user for user in users if user in satisfied] for users in frame["users"]]
    return frame


def limit_notes(name: str, instance: Instance, tasks: np.ndarray) -> tuple[str, ...]:
    """Return the limits of users and queues, and the placement, that tasks do not keep."""
    totals = tasks.sum(axis=1)
    limits = instance.task_limits
    beyond = totals > limits + VERIFIED * np.maximum(limits, 1.0)
    parts = [
        f"user {quoted(instance.users[user])} has {totals[user]:.6g} tasks, and its limit is "
        f"{limits[user]:.6g}"
        for user in np.flatnonzero(beyond)[:1].tolist()
    ]
    if instance.has_constraints:
        misplaced = ~instance.eligible & (tasks > VERIFIED)
        for user, server in np.argwhere(misplaced)[:1].tolist():
            parts.append(
                f"user {quoted(instance.users[user])} runs on server {quoted(instance.servers[server])}, "
                "where it may not"
            )
    excess, queue, resource = instance.tree.over_caps(totals, instance.demands)
    if excess > VERIFIED:
        parts.append(
            f"queue {quoted(instance.tree.paths[queue])} is over its cap of "
            f"{quoted(instance.resources[resource])} by {excess:.3g} of it"
        )
    return (f"{quoted(name)} does not keep a limit: {'; '.join(parts)}",) if parts else ()
