"""The method of ``kueue``: a leximin of nominal quotas over queues, then rounds along the tree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import SolverError
from ...formulations import kueue as formulas, normalisers
from ...formulations.max_min import drfh
from ...models.instances.arithmetic import of_whole
from ...models.instances.instance import Instance
from ...models.instances.merging import large_servers, merge_servers
from ...models.instances.quotas import Lanes, nearest_listing, outside
from ...models.notation.model import Model
from ...models.programs.backends import AnySolver
from ...models.programs.solution import Solution
from ...models.trees.quota_rows import QuotaRows
from ...models.trees.quotas import QuotaPath
from ...solvers.interior_point import INTERIOR
from ...solvers.leximin.answers import LeximinSolution
from ...solvers.leximin.left_out import LeftOutPairs
from ...solvers.leximin.levels import levels_of
from ...solvers.leximin.leximin import (
    LeximinResult,
    RiseOptions,
    climb,
    leximin,
    without_useless_pairs,
)
from ...solvers.leximin.of_levels import by_levels
from ...tolerances import AGREEMENT, AUDIT, NOISE, SOLVER_TIGHTEST
from ..mechanism import MethodCall, TasksResult
from .methods import outcome, pays

#: Queues that are asked in one program what their nominal quotas come to on empty servers.
_QUEUES_AT_ONCE = 16


class Nominal(NamedTuple):
    """What nominal quotas come to.

    Attributes
    ----------
    floors : ndarray, shape (Q,)
        Dominant shares of the pool that users whose quota is that of a queue have together at
        least.
    sentences : tuple of str
        One sentence for each queue of whose quota something that its demand allows has no server.
    gap : float or None
        Largest duality gap of the programs.
    """

    floors: np.ndarray
    sentences: tuple[str, ...] = ()
    gap: float | None = 0.0


def nominal(instance: Instance, lanes: Lanes, **solver_options: Any) -> Nominal:
    """Return the nominal quotas that have servers: the leximin over queues, clipped."""
    queues = instance.tree
    alone = formulas.nominal_alone(instance, lanes)
    point = alone.solve(**solver_options).require_optimal().require_point()
    entitled = alone.evaluate("has", point)
    amounts = alone.evaluate("used", point)
    entitled[entitled <= NOISE * entitled.max(initial=0.0)] = 0.0
    floors = np.zeros(len(queues))
    if not entitled.any():
        return Nominal(floors)

    def share(
        on: Instance, left_out: LeftOutPairs | None = None
    ) -> tuple[Instance, Model, LeximinSolution]:
        small, servers = merge_servers(on)
        if left_out is None and pays(small):
            large, groups = large_servers(small)
            if groups.merges:
                first = formulas.nominal_first(instance, replace(lanes, instance=large), entitled)
                answer = by_levels(levels_of(first), **solver_options)
                tasks = first.evaluate("tasks", answer.x).reshape(len(large.users), -1)
                if placed(small, tasks.sum(axis=1), **solver_options) is not None:
                    return large, first, answer
        first = formulas.nominal_first(instance, replace(lanes, instance=small), entitled)
        missing = left_out and left_out.of_users(servers)

        def examine(solution: Solution) -> None:
            granted = first.evaluate("has", solution.require_point())  # at most what is due
            if missing and (granted < entitled * (1 - AGREEMENT)).any():
                missing.require_dear(solution)

        answer = by_levels(levels_of(first), check_solution=examine, **solver_options)
        return small, first, answer

    grouped, first, answer = without_useless_pairs(lanes.instance, share)
    owners = np.unique(nearest_listing(queues)[queues.of][~outside(queues)])
    has = first.evaluate("has", answer.x)
    floors[owners] = has * (1 - SOLVER_TIGHTEST)

    # Users of one queue may share its quota in several ways: who has all shares lacks nothing.
    granted = first.evaluate("used", answer.x)
    limits = np.where(instance.quotas.listed[owners], amounts, 0.0)
    sentences: list[str] = []
    lacking = np.flatnonzero(entitled - has > AUDIT * entitled)
    for start in range(0, len(lacking), _QUEUES_AT_ONCE):
        some = lacking[start : start + _QUEUES_AT_ONCE]
        model = formulas.nominal_on_servers(instance, _lanes_of(instance, lanes, owners[some]))
        point = model.solve(**solver_options).require_optimal().require_point()
        # users of one queue may share its quota in several ways, with more of one column
        on_servers = np.clip(model.evaluate("used", point), granted[some], limits[some])
        for o, used in zip(some.tolist(), on_servers, strict=True):
            queue = int(owners[o])
            taken = _taken(instance, lanes, queue, grouped, first.evaluate("tasks", answer.x))
            sentences += _lacking_sentences(instance, queue, limits[o], granted[o], used, taken)
    return Nominal(floors, tuple(sentences), answer.gap)


def placed(
    instance: Instance, tasks: np.ndarray, *, solver: AnySolver, **options: Any
) -> np.ndarray | None:
    """Return tasks of each user on servers; None where no program shows that they fit.

    Users rise in proportion to their tasks, which are their limits.
    """
    of_users = instance.derived(
        weights=tasks / normalisers.dominant(instance), task_limits=tasks, queues=None
    )
    if solver == "highs" and not options:
        solver = INTERIOR
    level_1 = normalisers.level_1_by(normalisers.dominant)
    try:
        result = leximin(of_users, drfh, level_1, solver=solver, options=options)
    except SolverError:
        return None
    fits = (result.tasks.sum(axis=1) >= tasks * (1 - SOLVER_TIGHTEST)).all()
    return result.tasks if fits else None


def _lanes_of(instance: Instance, lanes: Lanes, queues: np.ndarray) -> Lanes:
    """Return the lanes of the users who count in queues' nominal quotas; servers are merged."""
    owner = nearest_listing(instance.tree)[instance.tree.of][lanes.user]
    chosen = np.flatnonzero(np.isin(owner, queues))
    small, _ = merge_servers(lanes.instance.select_users(chosen))
    return Lanes(small, lanes.user[chosen], lanes.use[chosen], lanes.use_outside[chosen])


def _taken(
    instance: Instance, lanes: Lanes, queue: int, grouped: Instance, tasks: np.ndarray
) -> np.ndarray:
    """Return which resources are used up wherever users of a queue's nominal quota may run.

    ``tasks`` are those of lanes on the servers of ``grouped``; the array is (R,).
    """
    owner = nearest_listing(instance.tree)[instance.tree.of][lanes.user]
    reached = grouped.runnable()[owner == queue].any(axis=0)
    capacities = grouped.total_capacities[reached]
    used = tasks.reshape(len(owner), -1)[:, reached].T @ grouped.demands
    return np.asarray((capacities - used).sum(axis=0) <= AUDIT * capacities.sum(axis=0))


def _lacking_sentences(
    instance: Instance,
    queue: int,
    limits: np.ndarray,
    granted: np.ndarray,
    on_servers: np.ndarray,
    taken: np.ndarray,
) -> list[str]:
    """Return why the nominal quota of a queue does not come to what its users want of it.

    Of the column that lacks most (if it can be, of a resource of which nothing is left), each
    reason with its part: no node is fit for it, or other queues' nominal quotas take the nodes, or
    another resource of them. The arrays are by column: what the users want, what they are granted,
    and what they could have if the nodes were empty; ``taken``, by resource, says of what the nodes
    have nothing left.
    """
    quotas = instance.quotas
    counts = limits > 0
    fraction = np.divide(limits - granted, limits, out=np.zeros(limits.shape), where=counts)
    scarce = np.where(taken[quotas.resource], fraction, 0.0)
    m = int((scarce if (scarce > AUDIT).any() else fraction).argmax())
    resource = str(instance.resources[int(quotas.resource[m])])
    pool = instance.pool[quotas.resource[m]]
    path = instance.tree.paths[queue]
    nodes_taken = "have nodes that other queues' nominal quotas take"
    if not taken[quotas.resource[m]]:
        others = " and ".join(str(instance.resources[r]) for r in np.flatnonzero(taken).tolist())
        nodes_taken = (
            f"have nodes whose {others or 'other resources'} other queues' nominal quotas take"
        )
    reasons = (
        (limits[m] - on_servers[m], "have no node"),
        (on_servers[m] - granted[m], nodes_taken),
    )
    return [
        f"{of_whole(lack * pool, limits[m] * pool, resource, instance.units.get(resource, ''))} "
        f"in the nominal quota of queue {path!r} {reason}"
        for lack, reason in reasons
        if lack > AUDIT * limits[m]
    ]


def formulation(instance: Instance) -> Model:
    """Return the program of what is shared above the floors of nominal quotas."""
    lanes = Lanes.of(instance)
    return formulas.kueue(instance, lanes, nominal(instance, lanes).floors)


def share_quotas(call: MethodCall) -> TasksResult:
    """Share nominal quotas first, and then what is lent, by rounds of linear programs."""
    instance = call.instance
    lanes = Lanes.of(call.instance)
    with call.phase("nominal"):
        nominal_quotas = nominal(instance, lanes, solver=call.solver, **call.options)
    first = QuotaPath.first(lanes, instance)
    try:
        result = _climb(call, lanes, nominal_quotas.floors, first)
    except SolverError:  # each round is to find all users who are blocked, at once
        careful = replace(first, turns_are_apart=False)
        result = _climb(call, lanes, nominal_quotas.floors, careful)
    tasks_outcome = outcome(lanes.instance, result)
    tasks = np.zeros((len(instance.users), tasks_outcome.tasks.shape[1]))
    np.add.at(tasks, lanes.user, tasks_outcome.tasks)
    gap = (
        None
        if tasks_outcome.gap is None or nominal_quotas.gap is None
        else max(tasks_outcome.gap, nominal_quotas.gap)
    )
    unproved = tasks_outcome.unproved or hidden_by_rounding(instance, tasks.sum(axis=1))
    return replace(
        tasks_outcome,
        tasks=tasks,
        gap=gap,
        notes=(*tasks_outcome.notes, *nominal_quotas.sentences),
        unproved=unproved,
    )


def _climb(call: MethodCall, lanes: Lanes, floors: np.ndarray, first: QuotaPath) -> LeximinResult:
    """Return what lanes reach along a path above the floors of nominal quotas."""
    return climb(
        lanes.instance,
        lambda small: formulas.kueue(call.instance, replace(lanes, instance=small), floors),
        first,
        solver=call.solver,
        merge=call.merge,
        options=call.options,
        rise=RiseOptions(
            # Users keep the quotas together, and no user may stand in for another's tasks.
            without=(),
            rows=lambda pool: QuotaRows(pool.use, pool.room, first.quotas),
            placed=partial(placed, solver=call.solver, **call.options)
            if pays(lanes.instance)
            else None,
        ),
    )


def hidden_by_rounding(instance: Instance, totals: np.ndarray) -> str:
    """Return a warning that rounding may hide a user's tasks; empty without doubt.

    Weights along the tree that are far apart leave a user next to no tasks.
    """
    weights = instance.tree.weights_along(instance.user_weights)
    if weights.min() >= NOISE * weights.max():
        return ""
    alone = instance.gamma().sum(axis=1)
    least = (totals <= NOISE * alone) & (alone > 0) & (totals < instance.task_limits)
    if not least.any():
        return ""
    user = instance.users[int(least.argmax())]
    return (
        f"not proved: rounding hides what user {user!r} gets, whose weight along the tree is that "
        "small beside others'"
    )
