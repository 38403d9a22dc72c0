"""Audits as linear programs: gains without a loss to others, and max-min of one resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..models.instances.arithmetic import quotients
from ..models.instances.instance import Instance
from ..models.notation.model import Model
from ..models.programs.solution import Solution
from ..tolerances import AUDIT, FEASIBILITY
from . import region
from .max_min import max_min
from .region import caps, inverse, runnable_users, server_needs, task_limits, time_shares


def pareto(
    instance: Instance,
    totals: np.ndarray,
    division: str = "rdm",
    whole: bool = False,
    allocation: np.ndarray | None = None,
) -> Model:
    """Pareto optimality of an allocation: all users' largest gain together without a loss.

    Maximise Σ_n (y[n] − x[n])/Γ[n] subject to feasibility and y[n] ≥ x[n], with Γ[n] = Σ_i γ[n,i].
    The allocation is Pareto-optimal if and only if the optimum is 0 (up to the rounding by which x
    itself may be infeasible: floors are lowered by ``FEASIBILITY``, relative).

    Parameters
    ----------
    instance : Instance
    totals : ndarray, shape (N,)
        Tasks of each user, x[n].
    division : {"rdm", "tdm"}
    whole : bool
        Tasks are whole, and so are jobs: an integer program.
    allocation : ndarray, shape (N, K), optional
        Tasks of an allocation that takes more than there is: what it takes of a server counts as
        there, so that the question is whether a user could gain with that.
    """
    if allocation is not None:
        instance = instance.derived(task_limits=np.maximum(instance.task_limits, totals))
    n = instance.users
    i = instance.servers
    r = instance.resources
    model = Model("can someone gain?", "Pareto optimality as a linear program", (n, i, r))
    gamma = instance.gamma()
    runs = (gamma > 0) & (instance.task_limits > 0)[:, None]
    alone = gamma.sum(axis=1)
    y = model.variable(
        "y",
        n,
        i,
        where=region.where_runs(model, instance, runs),
        integer=whole,
        doc="tasks of n on i",
    )
    feasible_region(model, instance, y, division, allocation)
    if whole:  # tasks of a job that is cut are worth nothing
        sizes_of_jobs = instance.job_sizes
        in_jobs = sizes_of_jobs * np.floor(totals / sizes_of_jobs * (1 + AUDIT))
        totals = np.where(sizes_of_jobs > 1, in_jobs, totals)
    runnable = runs.any(axis=1) & (totals > 0)
    floor = model.parameter(
        "x", n, np.where(runnable, totals * (1 - FEASIBILITY), 0.0), "tasks of n in the allocation"
    )
    if runnable.any():
        model.constraint("nobody_loses", y.sum(i) >= floor, where=runnable)
    if whole and instance.has_jobs:
        in_jobs = runs.any(axis=1) & (instance.job_sizes > 1)
        sizes = model.parameter("m", n, instance.job_sizes.astype(float), "tasks of a job of n")
        jobs = model.variable("jobs", n, where=in_jobs, integer=True, doc="whole jobs of n")
        model.constraint("whole_jobs", y.sum(i) == sizes * jobs, where=in_jobs)
    per_alone = model.parameter("w", n, inverse(alone), "1/Γ[n], Γ[n] the tasks n could run alone")
    model.define("tasks", y)
    model.maximize((per_alone * y).sum(n, i))
    return model


def improved(instance: Instance, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return tasks that leave nobody fewer, and by how much more of Γ[n] each has, shape (N,).

    What floors that are lower by rounding allow is no gain.
    """
    totals = tasks.sum(axis=1)
    model = pareto(instance, totals)
    solution = model.solve().require_optimal()
    better = np.asarray(model.evaluate("tasks", solution.require_point())).reshape(tasks.shape)
    gains = quotients(better.sum(axis=1) - totals, instance.gamma().sum(axis=1))
    return better, gains - gain_by_lowering(solution)


def gain_by_lowering(
    solution: Solution, fraction: float = FEASIBILITY, block: str = "nobody_loses"
) -> float:
    """Return the most that floors lowered by a fraction of themselves add to the objective.

    A small part of one user's tasks may be worth many tasks of another. By weak duality it adds no
    more than the floors' prices say; without prices, as of whole tasks, this is 0.
    """
    program = solution.program
    if solution.row_duals is None or block not in {rows.name for rows in program.rows}:
        return 0.0
    floors = program.row_block(block)
    rows = slice(floors.start, floors.stop)
    return fraction * float(np.abs(solution.row_duals[rows]) @ program.row_lower[rows])


def feasible_region(
    model: Model, instance: Instance, y: Any, division: str, allocation: np.ndarray | None = None
) -> None:
    """Add what servers can hold, by resources or by time, and the task limits."""
    n = instance.users
    i = instance.servers
    r = instance.resources
    gamma = instance.gamma()
    runs = (gamma > 0) & (instance.task_limits > 0)[:, None]
    if division == "tdm":
        a = time_shares(model, instance, gamma)
        time: Any = 1
        if allocation is not None:
            capacity_taken = np.maximum((allocation * inverse(gamma)).sum(axis=0), 1.0)
            time = model.parameter(
                "taken",
                i,
                capacity_taken,
                "time of server i: all of it, or what the allocation takes",
            )
        model.constraint("time", (a * y).sum(n) <= time, where=runs.any(axis=0))
    else:
        c = region.capacities(model, instance)
        d = region.needs(model, instance)
        if allocation is not None:
            capacity_taken = np.maximum(
                np.einsum("ni,nir->ir", allocation, server_needs(instance, gamma)), c.values
            )
            c = model.parameter(
                "taken", (i, r), capacity_taken, "capacity of i, or what the allocation takes of it"
            )
        model.constraint("capacity", (d * y).sum(n) <= c)
        caps(model, instance, y.sum(i))
    task_limits(model, instance, y.sum(i), users=runnable_users(instance, runs))


def one_resource(
    resource: Any,
) -> tuple[Callable[[Instance], Model], Callable[[Instance], np.ndarray]]:
    """Return formulation and Γ of one resource's max-min, whose levels are x[n]·d[n,r]/φ[n].

    The resource is named by its label: a part of an instance may have fewer of them, at other
    positions.
    """

    def gamma(instance: Instance) -> np.ndarray:
        position = instance.resources.labels.get_loc(resource)
        need = instance.demands[:, position]
        return quotients(instance.pool[position], need)

    def formulation(instance: Instance) -> Model:
        return max_min(
            instance,
            f"max-min of {resource}",
            "bottleneck fairness",
            gamma(instance),
            "tasks that use all",
        )

    return formulation, gamma
