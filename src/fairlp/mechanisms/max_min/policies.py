"""Gavel's policies: one leximin, one linear program, or a leximin of tangents repeated.

Finish-time fairness has levels 1/ρ[m] that are concave in a job's throughput. The leximin of their
tangents is that of linear programs. Each repetition adds the tangent at the throughput that the
last one gave, so that the levels fall to those of 1/ρ; near them the error of the next is about
the square of the last. Where each job has the throughput at which its tangent is taken, the leximin
of these tangents is that of 1/ρ (docs/results.md), which is what :func:`prove` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import NotConvergedError
from ...formulations import gavel
from ...formulations.gavel import FINISH_TIME, MAKESPAN, OPTIONS, TOTAL, JobsThatEnd
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.proof import Proof
from ...tolerances import AGREEMENT, SETTLED
from ..allocation import Allocation
from ..mechanism import MethodCall, TasksResult
from ..own import prove_by, solve_model
from ..validation import differences

#: Leximins of tangents after which finish-time fairness gives up; a dozen is the most that was seen.
MOST_REPETITIONS = 100


def by_objective(call: MethodCall) -> TasksResult:
    """Solve the model of the objective, with the level of each job in its terms."""
    parameters = call.parameters
    objective = objective_of(parameters)
    if objective == FINISH_TIME:
        return _finish_time(call)
    outcome = solve_model(_with(call, partial(gavel.gavel, **options_of(parameters))))
    if objective == MAKESPAN:
        return replace(outcome, tasks_per_level=gavel.steps_of(call.instance, parameters["steps"]))
    if objective == TOTAL:
        return replace(outcome, tasks_per_level=gavel.fastest_throughputs(call.instance))
    return outcome


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
            return replace(
                outcome,
                tasks_per_level=np.where(levels > 0, quotients(totals, levels), jobs.isolated),
            )
        points = np.column_stack([points, totals])
    raise NotConvergedError(
        f"finish-time fairness did not settle in {MOST_REPETITIONS} leximins of tangents; expected "
        "steps, ages and throughputs that are less apart"
    )


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
        return prove_by(partial(gavel.gavel, **options), allocation, exact, jobs.levels)
    formulation = partial(gavel.gavel, **options)
    if objective == TOTAL:
        return _prove_total(formulation, allocation, exact)
    return prove_by(formulation, allocation, exact)


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
