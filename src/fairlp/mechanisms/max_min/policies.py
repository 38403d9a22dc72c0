"""Gavel's policies: a leximin, a linear program, repeated tangents, or water filling on a tree.

Finish-time fairness has levels 1/ρ[m] that are concave in a job's throughput. The leximin of their
tangents is that of linear programs. Each repetition adds the tangent at the throughput that the
last one gave, so that the levels fall to those of 1/ρ; near them the error of the next is about
the square of the last. Where each job has the throughput at which its tangent is taken, the leximin
of these tangents is that of 1/ρ (docs/results.md), which is what :func:`prove` shows.

The hierarchical policy is water filling, one linear program a round. Its duals prove the round, and
stop the jobs whose rows have a price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import NotConvergedError, UnsupportedError, quoted
from ...formulations import gavel
from ...formulations.gavel import (
    FINISH_TIME,
    HIERARCHICAL,
    OPTIONS,
    TOTAL,
    JobsThatEnd,
    WaterLevels,
)
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.paths.engine import History
from ...models.programs.backends import AnySolver
from ...models.programs.certificate import dual_bound
from ...models.programs.proof import Proof
from ...models.programs.solution import Solution
from ...solvers.leximin.programs import tightest
from ...tolerances import AGREEMENT, BLOCKED_PRICE, LEAST_PROVED, SETTLED
from ..allocation import Allocation, within_capacity
from ..mechanism import MethodCall, TasksResult
from ..own import prove_by, solve_model, tasks_at
from ..validation import differences
from .methods import rounds_table

#: Leximins of tangents after which finish-time fairness gives up; a dozen is the most that was seen.
MOST_REPETITIONS = 100


def by_objective(call: MethodCall) -> TasksResult:
    """Solve the model of the objective, with the level of each job in its terms."""
    parameters = call.parameters
    objective = objective_of(parameters)
    if objective == FINISH_TIME:
        return _finish_time(call)
    if objective == HIERARCHICAL:
        return _hierarchical(call)
    outcome = solve_model(_with(call, partial(gavel.gavel, **options_of(parameters))))
    tasks_per_level = at_level_1(call.instance, parameters, outcome.tasks.sum(axis=1))
    return replace(outcome, tasks_per_level=tasks_per_level)


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
    numbers = {option: parameters.get(option) for option in OPTIONS[1:]}
    return gavel.chosen(parameters.get("objective"), numbers)


def options_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the formulation takes; one that is None is left out."""
    return {option: parameters[option] for option in OPTIONS if parameters.get(option) is not None}


def _with(call: MethodCall, formulation: Callable[[Instance], Model]) -> MethodCall:
    """Return the call of a formulation whose options are chosen."""
    return replace(call, mechanism=replace(call.mechanism, formulation=formulation))


def _finish_time(call: MethodCall) -> TasksResult:
    """Repeat the leximin of tangents until the levels are those of 1/ρ."""
    instance = call.instance
    options = options_of(call.parameters)
    jobs = _jobs(instance, options)
    points = jobs.isolated[:, None]
    for _ in range(MOST_REPETITIONS):
        outcome = solve_model(_with(call, partial(gavel.gavel, **options, at=points)))
        totals = outcome.tasks.sum(axis=1)
        levels = jobs.levels(totals)
        intercepts, slopes = jobs.tangents(points)
        by_tangents = (intercepts + slopes * totals[:, None]).min(axis=1)
        if (by_tangents - levels <= SETTLED * by_tangents)[totals > 0].all():
            tasks_per_level = at_level_1(instance, call.parameters, totals)
            return replace(outcome, tasks_per_level=tasks_per_level)
        points = np.column_stack([points, totals])
    raise NotConvergedError(
        f"finish-time fairness did not settle in {MOST_REPETITIONS} leximins of tangents; expected "
        "steps, ages and throughputs that are less apart"
    )


def _hierarchical(call: MethodCall) -> TasksResult:
    """Share by water filling along the tree of queues."""
    instance = call.instance
    filling = WaterFilling.run(instance, call.solver, call.options)
    return TasksResult(
        within_capacity(instance, filling.tasks),
        tasks_per_level=at_level_1(instance, call.parameters, filling.tasks.sum(axis=1)),
        rounds=rounds_table(instance, filling.history, filling.tasks),
        gap=filling.gap,
        unproved=filling.doubt,
        shares_along_tree=True,
    )


@dataclass(frozen=True)
class WaterFilling:
    """The rounds of the hierarchical policy, and what their duals prove.

    Attributes
    ----------
    tasks : ndarray, shape (N, K)
        Of the last program.
    levels : ndarray, shape (N,)
    history : list of (float, ndarray)
        For each round the units that the root has given out, and the jobs that stop.
    gap : float
        Largest duality gap of a round.
    lacking : float
        By prices, the largest part of its level that a job that stopped may lack.
    doubt : str
        What is not proved, or nothing.
    """

    tasks: np.ndarray
    levels: np.ndarray
    history: History
    gap: float
    lacking: float
    doubt: str

    @classmethod
    def run(cls, instance: Instance, solver: AnySolver, options: Mapping[str, Any]) -> WaterFilling:
        """Run rounds until all jobs have stopped; each stops one job at least."""
        _, chosen = tightest(solver, dict(options))
        tolerances = {
            name: getattr(chosen, name)
            for name in ("primal_tolerance", "dual_tolerance")
            if getattr(chosen, name) is not None
        }
        state = WaterLevels.start(instance)
        tasks = np.zeros(instance.shape)
        history: History = []
        gap = 0.0
        lacking = 0.0
        doubt = ""

        while state.active.any():
            model = gavel.hierarchical(state)
            solution = model.solve(solver, **{**options, **tolerances}).require_optimal()
            if solution.row_duals is None:
                raise UnsupportedError(
                    f"{solution.solver} gives no duals, which stop jobs of objective "
                    f"{HIERARCHICAL!r}; expected a solver with duals, such as 'highs'"
                )

            # The round is proved by its own duals, whatever the solver says of it.
            certificate = solution.verify()
            if not certificate.is_optimal and not doubt:
                doubt = f"not proved: round {len(history) + 1}: {certificate}"
            gap = max(gap, certificate.gap or 0.0)

            stopping, excess = _stopping(state, solution)
            t = max(solution.objective, 0.0)
            history.append((state.units + t, np.flatnonzero(stopping)))
            tasks = tasks_at(model, solution.require_point(), instance)
            state = state.after(t, stopping)
            lacking = max(lacking, float(quotients(excess, state.levels)[stopping].max()))

        if not doubt and lacking > LEAST_PROVED:
            doubt = f"not proved: by prices, a job may lack {lacking:.1e} of its level"
        return cls(tasks, state.levels, history, gap, lacking, doubt)


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
    return JobsThatEnd.of(instance, *(options.get(name) for name in OPTIONS[1:]))


def prove(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation is what its objective says, by linear programs or in rationals.

    Of finish-time fairness it takes the tangents at the throughputs of the allocation itself.
    """
    parameters = allocation.parameters
    objective = objective_of(parameters)
    options = options_of(parameters)
    if objective == FINISH_TIME:
        jobs = _jobs(allocation.instance, options)
        options["at"] = allocation.totals.to_numpy()
        return prove_by(
            partial(gavel.gavel, **options), allocation, exact, jobs.levels, gavel.as_written
        )
    if objective == HIERARCHICAL:
        return _prove_hierarchical(allocation, exact)
    formulation = partial(gavel.gavel, **options)
    if objective == TOTAL:
        return _prove_total(formulation, allocation, exact)
    return prove_by(formulation, allocation, exact, as_written=gavel.as_written)


def _prove_total(
    formulation: Callable[[Instance], Model], allocation: Allocation, exact: bool
) -> Proof:
    """Return whether an allocation has the largest total, which others may have, too."""
    instance = allocation.instance
    solution = formulation(instance).solve().require_optimal()
    certificate = solution.certify(exact=exact)
    if not certificate.holds:
        return Proof(False, str(certificate), exact=certificate.exact)
    parts = allocation.totals.to_numpy() / gavel.fastest_throughputs(instance)
    value = np.array([float(instance.user_weights @ parts)])
    largest = np.array([float(solution.objective or 0.0)])
    gap = float(differences(value, largest)[0])
    if gap > AGREEMENT:
        message = f"not optimal: the total is {value[0]:.12g}, and the largest {largest[0]:.12g}"
        return Proof(False, message, gap)
    return Proof(True, str(certificate), gap, exact=certificate.exact)


def _prove_hierarchical(allocation: Allocation, exact: bool) -> Proof:
    """Return whether an allocation has the levels of rounds that are run and proved anew."""
    if exact:
        return Proof(
            False,
            "not proved: the rounds of the hierarchical policy are proved by their duals in floats, "
            "not in rationals; certify() proves them",
        )
    instance = allocation.instance
    filling = WaterFilling.run(instance, "highs", {})
    if filling.doubt:
        return Proof(False, filling.doubt)
    totals = allocation.totals.to_numpy()
    levels = totals / gavel.normalised(instance)
    proof = Proof(
        True,
        f"{len(filling.history)} rounds, each proved by its duals with a gap of at most "
        f"{filling.gap:.1e}; by prices no job lacks more than {filling.lacking:.1e} of its level",
    )
    names = [f"job {quoted(user)}" for user in instance.users]
    errors = differences(levels, filling.levels)
    return proof.compared("optimal", names, levels, filling.levels, errors)
