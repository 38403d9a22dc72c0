"""α-fairness on any servers: the printed model through a solver, proved by its rows' duals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import NotConvergedError, NotDefinedError, quoted
from ...formulations.alpha_fair import DEFAULT, alpha_fair, checked, reference
from ...formulations.normalisers import dominant, tasks_at_level_1
from ...formulations.region import have_limits, runnable_users
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.programs.proof import Proof
from ...models.programs.status import Termination
from ...models.trees.guarantees import floors
from ...solvers.interior_point import INTERIOR
from ...tolerances import ACCEPTED, AGREEMENT, VERIFIED
from ..allocation import Allocation, within_capacity
from ..concave_proof import proof_of_columns
from ..max_min.methods import require_room
from ..mechanism import MethodCall, MethodResult, TasksResult, run
from ..table import find
from .first_order import columns_of, prove_tasks
from .proportional import prices_of

#: The mechanism that α-fairness tends to.
LIMIT = "drfh"
#: Logarithm of the largest power that is computed with.
_LARGEST_LOG = 600.0
_SHUT_OUT = (
    "what queues guarantee to others leaves some users nothing, whatever α; they have no term"
)
_NO_DUALS = (
    "not proved: the solver gives no duals; certify() proves it by those of a linear program"
)


def optimum(call: MethodCall) -> MethodResult:
    """The printed model through a solver; at α = ∞ the rounds of DRFH, a leximin."""
    alpha = asked_alpha(call.parameters)
    if alpha == np.inf:
        limit = find(LIMIT)
        method = limit.fastest(call.instance, {}, names_solver=call.solver != INTERIOR)
        return method.run(replace(call, mechanism=limit, parameters={}))

    instance = _with_terms(call.instance)
    if not runnable_users(instance).any():
        certificate = Proof(True, "optimal, proved (no user can run anything)")
        return TasksResult(np.zeros(instance.shape), gap=0.0, certificate=certificate)
    _require_floats(instance, alpha)
    small, servers = merge_servers(instance, call.merge)
    model = alpha_fair(small, alpha)
    solution = model.solve(solver=call.solver, **call.options)
    if solution.status.termination is Termination.UNKNOWN:
        raise NotConvergedError(
            f"{solution.solver} did not solve {solution.program.name!r}: {solution.status}; try "
            "another solver (solver='interior-point' or 'cvxpy:CLARABEL'), or weights and powers "
            "that are less apart"
        )
    solution.require_optimal()

    values = np.asarray(model.evaluate("tasks", solution.require_point()))
    merged_tasks = within_capacity(small, np.maximum(values.reshape(small.shape), 0.0))
    notes = servers.notes if instance is call.instance else (*servers.notes, _SHUT_OUT)
    outcome = TasksResult(
        servers.spread(merged_tasks) if servers.merges else merged_tasks,
        notes=notes,
        times=solution.times,
    )
    if solution.row_duals is None:
        return replace(outcome, unproved=_NO_DUALS)
    with call.phase("check"):
        columns = columns_of(model, merged_tasks)
        accepted = tolerance(call.solver)
        proof = proof_of_columns(model.compile(), columns, solution.row_duals, accepted)
        if not proof.holds:
            # Tasks of a cone solver can be more exact than its duals, as a linear program shows.
            other = prove_tasks(partial(alpha_fair, alpha=alpha), small, merged_tasks)
            proof = other if other.holds else proof
    prices = prices_of(small, model, solution.row_duals) / small.pool
    return replace(outcome, prices=prices[servers.of], gap=proof.gap, certificate=proof)


def prove(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation is α-fair, by a linear program's duals; at ∞ as of DRFH."""
    if exact:
        raise NotDefinedError(
            "alpha-fair levels are not rational, so there is no exact certificate of them"
        )
    instance = allocation.instance
    missing = floors(instance) * (1 - VERIFIED) - allocation.totals.to_numpy()
    if (missing > 0).any():
        user = instance.users[int(missing.argmax())]
        return Proof(
            False, f"infeasible: user {quoted(user)} has less than its queues guarantee it"
        )

    alpha = asked_alpha(allocation.parameters)
    if alpha == np.inf:
        limit = find(LIMIT).prove
        assert limit is not None
        return limit(replace(allocation, mechanism=LIMIT, parameters={}), False)
    return prove_tasks(
        partial(alpha_fair, alpha=alpha), _with_terms(instance), allocation.tasks_array
    )


def _with_terms(instance: Instance) -> Instance:
    """Return the instance with a limit of 0 for users to whom guarantees of others leave nothing.

    These are the users to whom max-min fairness gives none. A power or logarithm of nothing would
    leave the model without an optimum.

    Raises
    ------
    InstanceError
        Where guarantees do not fit together.
    """
    if not have_limits(instance):
        return instance
    guaranteed = floors(instance)
    if not guaranteed.any():
        return instance
    require_room(instance, guaranteed)
    fairest = run(find(LIMIT), instance)
    has_nothing = fairest.totals.to_numpy() <= AGREEMENT * instance.gamma().sum(axis=1)
    shut_out = runnable_users(instance) & has_nothing
    if not shut_out.any():
        return instance
    return instance.derived(task_limits=np.where(shut_out, 0.0, instance.task_limits))


def _require_floats(instance: Instance, alpha: float) -> None:
    """Raise where powers of levels that may occur are beyond floats."""
    runnable = runnable_users(instance)
    tasks_per_level = tasks_at_level_1(instance, dominant(instance))[runnable]
    largest_levels = instance.gamma()[runnable].sum(axis=1) / tasks_per_level
    spread = max(float(largest_levels.max()) / reference(instance), float(len(tasks_per_level)))
    if alpha * np.log(spread) > _LARGEST_LOG:
        raise NotConvergedError(
            f"alpha-fairness stopped before it began: with alpha = {alpha:g} and levels that may "
            f"be {spread:.3g} times apart, powers are beyond floats; alpha='inf' is max-min "
            "fairness, which needs none"
        )


def asked_alpha(parameters: Mapping[str, Any]) -> float:
    """Return α of the options of a call; raise where it is none."""
    alpha = parameters.get("alpha")
    return checked(DEFAULT if alpha is None else alpha)


def tolerance(solver: str) -> float:
    """Return the gap that is accepted of a solver: our own method ends at the last digits."""
    return ACCEPTED if solver == INTERIOR else VERIFIED
