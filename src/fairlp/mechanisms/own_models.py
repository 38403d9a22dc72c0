"""The method of somebody's own formulation: a leximin where it has levels, else one solve; and what it must say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..errors import ModelError
from ..solvers.leximin.of_model import LeximinSolution, leximin
from .capacity import within_capacity
from .mechanism import Asked, Tasks

if TYPE_CHECKING:
    from ..models.instances.instance import Instance
    from ..models.notation.model import Model
    from ..models.programs.solution import Solution

#: What the parts of a formulation are called.
TASKS, CAPACITY = "tasks", "capacity"


def solve_model(asked: Asked) -> Tasks:
    """Solve the mechanism's own model."""
    formulation = asked.mechanism.formulation
    assert formulation is not None
    with asked.phase("build"):
        model = formulation(asked.instance)
        require_tasks(model, asked.instance, asked.mechanism.name)
    if model.levels is not None:
        answer = leximin(model, solver=asked.solver, **asked.options)
        tasks = tasks_at(model, answer.x, asked.instance)
        return Tasks(
            within_capacity(asked.instance, tasks),
            prices=_prices(answer, asked.instance),
            rounds=_rounds(answer, asked.instance, tasks),
            gap=answer.gap,
            unproved=answer.unproved,
        )
    solution = model.solve(asked.solver, **asked.options).require_optimal()
    assert solution.x is not None
    tasks = tasks_at(model, solution.x, asked.instance)
    proved = solution.row_duals is not None
    return Tasks(
        within_capacity(asked.instance, tasks),
        prices=_prices(solution, asked.instance) if proved else None,
        gap=solution.verify().gap if proved else None,
        unproved=solution.unproved,
    )


def require_tasks(model: Model, instance: Instance, name: str) -> None:
    """Raise unless the model says what its tasks are, over users and servers."""
    if TASKS not in model.definitions:
        raise ModelError(
            f"the formulation of {name!r} does not say what its tasks are; add model.define('tasks', x) with a formula "
            "over users and servers"
        )
    if model.objective is None:
        raise ModelError(
            f"the formulation of {name!r} does not say what is best; add model.maximize(…), model.minimize(…), or "
            "model.leximin(…)"
        )
    indices = model.definitions[TASKS].indices
    sizes = [len(index) for index in indices]
    users, servers = len(instance.users), len(instance.servers)
    found = [list(index.labels) for index in indices]
    wanted = [list(instance.users), list(instance.servers)]
    if found not in (wanted, wanted[::-1]) and not (found == wanted[:1] and servers == 1):
        raise ModelError(
            f"the formulation of {name!r} defines 'tasks' over ({', '.join(i.symbol for i in indices)}), of sizes "
            f"{sizes}; expected users and servers, {users} and {servers}"
        )


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
    return np.asarray(np.nan_to_num(values.T if values.shape == shape[::-1] != shape else values.reshape(shape)))


def _rounds(answer: LeximinSolution, instance: Instance, tasks: np.ndarray) -> pd.DataFrame:
    """Return the rounds as those of the mechanisms are shown."""
    full = tasks.sum(axis=1) >= instance.task_limits
    satisfied = set(instance.users.labels[full])
    frame = answer.rounds.rename(columns={"labels": "users"})
    frame["satisfied"] = [[user for user in users if user in satisfied] for users in frame["users"]]
    return frame
