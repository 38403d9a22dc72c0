"""α-fairness on any servers: one program for every α, closed by what exists at 0, 1 and ∞, and proved by prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import NotConvergedError, NotDefinedError, SolverError
from ...formulations import normalisers
from ...formulations.alpha_fair import (
    DEFAULT,
    alpha_fair,
    better,
    checked,
    reference,
    weights,
    with_held_back,
)
from ...formulations.normalisers import dominant, tasks_at_level_1
from ...formulations.region import have_limits, runnable_users
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.requests import entitlements
from ...models.notation.model import Model
from ...models.programs.certificate import Proof
from ...models.programs.solution import Termination
from ...models.trees.filling import floors
from ...solvers.interior_point import INTERIOR
from ...tolerances import ACCEPTED, AGREEMENT, LEVEL_ROUNDING, NOISE, VERIFIED
from ..allocation import Allocation, within_capacity
from ..max_min.methods import require_room
from ..max_min.rounds import is_one_server
from ..mechanism import MethodCall, Outcome, Tasks, run
from ..table import find
from . import proportional

#: What α-fairness tends to.
LIMIT = "drfh"

# The mean level that α-fairness maximises, and what any prices prove of it: a bound in closed form,
# for every α.


def power_mean(values: np.ndarray, weights: np.ndarray, exponent: float) -> float:
    """Return (Σ w·v^p)^(1/p), also where p is 0 or infinite; weights sum to 1, values are 0 at least."""
    if not values.any():
        return 0.0
    if np.isinf(exponent):
        return float(values.max() if exponent > 0 else values.min())
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(values)
        if np.isneginf(logs).any() and exponent <= 0:
            return 0.0
        if exponent == 0:
            return float(np.exp(weights @ logs))
        middle = float(weights @ np.where(np.isneginf(logs), 0.0, logs))
        off = exponent * (logs - middle)
        top = float(off.max())
        # near 1 by small differences, elsewhere relative to the largest
        small = abs(off).max() < 1
        log = (
            np.log1p(weights @ np.expm1(off))
            if small
            else top + np.log(weights @ np.exp(off - top))
        )
        return float(np.exp(middle + log / exponent))


@dataclass(frozen=True)
class MeanLevelBound:
    """What prices prove of levels.

    Attributes
    ----------
    mean, bound : float
        The mean level of those whom no task limit holds back, and what none can exceed; NaN where
        all are held back, which is optimal.
    conditions : float
        Largest relative difference of what a user's level costs from what it is worth at these
        prices: 0 at the optimum.
    prices : ndarray, shape (K, R)
        What one more unit of each resource would add to the mean level, at the optimum.
    """

    mean: float
    bound: float
    conditions: float
    prices: np.ndarray

    @property
    def gap(self) -> float:
        """How far, relatively, the mean level is from its maximum at most."""
        if np.isnan(self.mean) or self.mean == self.bound == 0:
            return 0.0
        if not self.mean > 0 or np.isnan(self.bound):
            return np.inf
        return max(0.0, self.bound / self.mean - 1.0)


def proof(
    instance: Instance,
    tasks: np.ndarray,
    prices: np.ndarray,
    alpha: float,
    of_caps: np.ndarray | None = None,
) -> MeanLevelBound:
    """Return what prices of resources prove of tasks; O(NKR).

    Parameters
    ----------
    instance : Instance
        With somebody who can run something; the others do not count.
    tasks : ndarray, shape (N, K)
    prices : ndarray, shape (K, R)
        Of a unit of a resource, all at least 0; in any unit.
    alpha : float
    of_caps : ndarray, shape (Q, R), optional
        Prices of a unit of each queue's caps, in the same unit, 0 where there is none.
    """
    able = runnable_users(instance)
    phi = weights(instance)[able]
    unit = phi * normalisers.dominant(instance)[able]
    level = tasks[able].sum(axis=1) / unit
    ends = _Ends.of(level, floors(instance)[able] / unit, instance.task_limits[able] / unit, alpha)
    costs = np.where(instance.runnable()[able], instance.demands[able] @ prices.T, np.inf)
    cost, spent = costs.min(axis=1), float((instance.total_capacities * prices).sum())
    if of_caps is not None:
        cost = cost + (instance.demands * (instance.tree.below.T @ of_caps)).sum(axis=1)[able]
        spent += float((np.where(of_caps > 0, instance.tree.caps, 0.0) * of_caps).sum())
    cost = cost * unit
    held = ends.start(phi, level, cost, alpha)
    while True:
        found = _of_others(phi, level, ends.at, cost, held, alpha, spent)
        # what it costs is more than what its limit is worth, or less than what its guarantee is:
        # one of the others
        dear = held & ends.full & ~ends.kept & (found.worth * (1 + NOISE) < cost * found.unit)
        dear |= held & ends.kept & ~ends.full & (found.worth > cost * found.unit * (1 + NOISE))
        if not dear.any():
            break
        held = held & ~dear
    if held.all():
        return MeanLevelBound(np.nan, np.nan, 0.0, prices * 0.0)
    off = 0.0
    if 0 < alpha < np.inf:
        with np.errstate(divide="ignore", invalid="ignore"):
            off = float(
                np.nan_to_num(abs(cost * found.unit / found.worth - 1.0), nan=0.0)[~held].max()
            )
    return MeanLevelBound(found.mean, found.bound, off, prices * found.unit)


@dataclass(frozen=True)
class _Ends:
    """Who has all its tasks (``full``), who has just what is guaranteed (``kept``), and the level where that is."""

    full: np.ndarray
    kept: np.ndarray
    at: np.ndarray

    @classmethod
    def of(cls, level: np.ndarray, least: np.ndarray, most: np.ndarray, alpha: float) -> _Ends:
        """Return them of levels between what is guaranteed and limits."""
        if alpha == np.inf:
            nobody = np.zeros(len(level), dtype=bool)
            return cls(nobody, nobody, most)
        full = np.isfinite(most) & (level >= most * (1 - NOISE))
        kept = (least > 0) & (level <= least * (1 + NOISE))
        return cls(full, kept, np.where(full, most, least))

    def start(
        self, phi: np.ndarray, level: np.ndarray, cost: np.ndarray, alpha: float
    ) -> np.ndarray:
        """Return who may be held at an end; where that is everybody, without whoever its guarantee is worth most to."""
        held = np.asarray(self.full | self.kept)
        just = self.kept & ~self.full
        if held.all() and just.any():
            with np.errstate(divide="ignore"):
                worth = np.where(just, np.log(phi) - alpha * np.log(level) - np.log(cost), -np.inf)
            held[int(worth.argmax())] = False
        return held


@dataclass(frozen=True)
class _Others:
    """The mean level of those whom no limit holds back, its bound, what levels are worth, and the unit of prices."""

    mean: float
    bound: float
    worth: np.ndarray
    unit: float


def _of_others(
    phi: np.ndarray,
    level: np.ndarray,
    end: np.ndarray,
    cost: np.ndarray,
    held: np.ndarray,
    alpha: float,
    spent: float,
) -> _Others:
    """Return what prices, at which all that there is is worth ``spent``, prove of those who are not held back."""
    if held.all():
        return _Others(1.0, 1.0, np.full(len(phi), np.inf), 1.0)
    part = phi / phi[~held].sum()
    mean = power_mean(level[~held], part[~held], 1 - alpha)
    # of one more s[n], as a part of what raises all levels alike
    worth = part if alpha == 0 else np.zeros(len(phi))
    if 0 < alpha < np.inf:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            worth = np.where(
                level > 0, part * np.exp(-alpha * (np.log(level) - np.log(mean))), np.inf
            )
    left = spent - float(cost[held] @ end[held])
    if mean == 0 and left <= LEVEL_ROUNDING * spent:
        left = 0.0
    index = power_mean((cost / part)[~held], part[~held], 1 - 1 / alpha if alpha > 0 else -np.inf)
    bound = left / index if index > 0 else np.inf
    if held.any():  # what those miss of their limits, beyond the rounding of sums
        missing = np.where(held, np.maximum(end * (1 - LEVEL_ROUNDING) - level, 0.0), 0.0)
        short = (
            missing > 0
        )  # of whoever misses nothing, it may be beyond floats what more would be worth
        bound += float(worth[short] @ missing[short])
    return _Others(mean, bound, worth, mean / left if left > 0 else 1.0)


#: Logarithm of the largest power that is computed with.
_LARGEST_LOG = 600.0
_SHUT_OUT = (
    "what queues guarantee to others leaves some users nothing, whatever α; they have no term"
)


@dataclass(frozen=True)
class _Priced(Tasks):
    """An outcome with the prices of queues' caps, shape (Q, R), where there are some."""

    of_caps: np.ndarray | None = None


def optimum(call: MethodCall) -> Outcome:
    """The optimum through a solver: at 1 as proportional fairness, at ∞ by the rounds of DRFH, a leximin."""
    alpha = asked_alpha(call.parameters)
    if alpha == np.inf:
        limit = find(LIMIT)
        method = limit.fastest(call.instance, {}, solving=call.solver != INTERIOR)
        return method.run(replace(call, mechanism=limit, parameters={}))
    return _largest_mean(call, alpha)


def _largest_mean(call: MethodCall, alpha: float) -> Tasks:
    """Return the optimum at a finite α."""
    instance = call.instance
    if not runnable_users(instance).any():
        nothing = np.zeros(instance.shape)
        return Tasks(nothing, gap=0.0, certificate=Proof(True, "nobody can run anything"))
    if alpha == 1 and not have_limits(instance):
        return _certified(call, _proportional(call), alpha)
    error = None
    found = None
    try:
        found = _certified(call, _through_solver(call, alpha), alpha)
        if not found.unproved:
            return found
    except SolverError as failure:
        error = failure
    again = _without_held_back(call, alpha)
    if again is not None and (found is None or _further(again) <= _further(found)):
        return again
    served = _with_a_chance(instance)
    if served is not instance:
        found = _largest_mean(replace(call, instance=served), alpha)
        return replace(found, notes=(*found.notes, _SHUT_OUT))
    if found is None:
        assert error is not None
        raise error
    return found


def _with_a_chance(instance: Instance) -> Instance:
    """Return the instance without tasks of whoever guarantees of others leave none: whom max-min fairness gives none.

    Raises
    ------
    InstanceError
        Where guarantees do not fit together.
    """
    if not have_limits(instance) or not (kept := floors(instance)).any():
        return instance
    require_room(instance, kept)
    able = runnable_users(instance)
    totals = run(find(LIMIT), instance).totals.to_numpy()
    none = able & (totals <= AGREEMENT * instance.gamma().sum(axis=1))
    return (
        instance.derived(task_limits=np.where(none, 0.0, instance.task_limits))
        if none.any()
        else instance
    )


def _further(found: Tasks) -> float:
    """Return how far an outcome may be from the optimum, for comparison."""
    return np.inf if found.gap is None else found.gap


def _without_held_back(call: MethodCall, alpha: float) -> Tasks | None:
    """Return the outcome with other units for users whom task limits hold back; None where there are none.

    What they are worth beside the others may be beyond a solver, and does not matter: they have all
    their tasks. Who they are, and what level the others have, is taken from what α-fairness tends
    to.
    """
    instance = call.instance
    if alpha <= 1 or not np.isfinite(instance.task_limits).any():
        return None
    fairest = run(find(LIMIT), instance)
    totals, level, able = (
        fairest.totals.to_numpy(),
        fairest.levels.to_numpy(),
        runnable_users(instance),
    )
    full = able & (totals >= instance.task_limits * (1 - NOISE))
    if full[able].all():  # nobody wants more, whatever α
        return _with_proof(
            call, Tasks(fairest.tasks_array, prices=np.zeros(instance.capacities.shape)), alpha
        )
    others = float(level[able & ~full].min())
    held = full & (level < others)
    if not held.any():
        return None
    try:
        return _certified(call, _through_solver(call, alpha, (held, others)), alpha)
    except SolverError:
        return None


def asked_alpha(parameters: Mapping[str, Any]) -> float:
    """Return α of the options of a call; raise where it is none."""
    given = parameters.get("alpha")
    return checked(DEFAULT if given is None else given)


def _proportional(call: MethodCall) -> Tasks:
    """Return the optimum at α = 1: users' entitlements are their weights."""
    phi = weights(call.instance)
    instance = call.instance.derived(weights=phi, entitlements=phi / phi.sum())
    one = call.solver == INTERIOR and is_one_server(instance)
    shared = proportional.one_server if one else proportional.convex
    return shared(replace(call, instance=instance))


def _through_solver(
    call: MethodCall, alpha: float, held: tuple[np.ndarray, float] | None = None
) -> _Priced:
    """Return the optimum of the model, on merged servers."""
    instance = call.instance
    _require_floats(instance, alpha)
    small, servers = merge_servers(instance, call.merge)
    model = alpha_fair(small, alpha) if held is None else with_held_back(small, alpha, *held)
    solution = model.solve(solver=call.solver, **call.options)
    if solution.status.termination is Termination.UNKNOWN:
        raise NotConvergedError(
            f"{solution.solver} did not solve {solution.program.name!r}: {solution.status}; try "
            "another solver "
            "(solver='interior-point' or 'cvxpy:CLARABEL'), or weights and powers that are less "
            "apart"
        )
    solution.require_optimal()
    values = np.asarray(model.evaluate("tasks", solution.require_point()))
    tasks = within_capacity(small, np.maximum(values.reshape(small.shape), 0.0))
    prices = of_caps = None
    if solution.row_duals is not None:
        prices = (proportional.prices_of(small, model, solution.row_duals) / small.pool)[servers.of]
        of_caps = _prices_of_caps(small, model, solution.row_duals)
    tasks = servers.spread(tasks) if servers.merges else tasks
    return _Priced(tasks, prices=prices, notes=servers.notes, times=solution.times, of_caps=of_caps)


def _prices_of_caps(instance: Instance, model: Model, duals: np.ndarray) -> np.ndarray | None:
    """Return what one more unit of each cap is worth by the rows' duals, shape (Q, R); None where no queue has caps."""
    queues = instance.tree
    if not queues.capped.any():
        return None
    block, prices = model.compile().row_block("cap"), np.zeros(queues.caps.shape)
    prices[queues.capped] = np.maximum(duals[block.slice], 0.0)
    return prices


def _require_floats(instance: Instance, alpha: float) -> None:
    """Raise where powers of levels that may occur are beyond floats."""
    able = runnable_users(instance)
    tasks_per_level = tasks_at_level_1(instance, dominant(instance))[able]
    most = instance.gamma()[able].sum(axis=1) / tasks_per_level
    apart = max(float(most.max()) / reference(instance), float(len(tasks_per_level)))
    if alpha * np.log(apart) > _LARGEST_LOG:
        raise NotConvergedError(
            f"alpha-fairness stopped before it began: with alpha = {alpha:g} and levels that may "
            f"be {apart:.3g} times "
            "apart, powers are beyond floats; alpha='inf' is max-min fairness, which needs none"
        )


def _certified(call: MethodCall, found: Tasks, alpha: float) -> Tasks:
    """Return the outcome with what its prices prove, in place of what a solver says."""
    with call.phase("check"):
        return _with_proof(call, found, alpha)


def _with_proof(call: MethodCall, found: Tasks, alpha: float) -> Tasks:
    """Return the outcome with the proof, the prices in its unit, and what is not proved."""
    instance = call.instance
    entitled_tasks = tasks_at_level_1(instance, call.mechanism.gamma(instance))
    if found.prices is None or not np.isfinite(found.prices).all():
        words = (
            "not proved: the solver gives no duals, so that no prices bound the mean level; "
            "certify() proves it"
        )
        return replace(
            found, tasks_per_level=entitled_tasks, gap=None, certificate=None, unproved=words
        )
    of_caps = found.of_caps if isinstance(found, _Priced) else None
    shown = proof(instance, found.tasks, found.prices, alpha, of_caps)
    unproved = ""
    if shown.gap > tolerance(call.solver):
        unproved = f"not proved: the mean level may be {shown.gap:.1e} of itself below its maximum"
    elif shown.conditions > max(NOISE, tolerance(call.solver) ** 0.5):
        unproved = (
            "the mean level is proved, not every user's own: what some cost and what they are "
            "worth differ by "
            f"{shown.conditions:.1e} of the latter, which floats cannot settle at alpha = {alpha:g}"
        )
    return replace(
        found,
        tasks_per_level=entitled_tasks,
        prices=shown.prices,
        gap=shown.gap,
        certificate=verdict(shown, tolerance(call.solver)),
        unproved=unproved,
    )


def tolerance(solver: str) -> float:
    """Return the gap that is accepted of a solver: our own method ends at the last digits."""
    return ACCEPTED if solver == INTERIOR else VERIFIED


def verdict(shown: MeanLevelBound, accepted: float) -> Proof:
    """Return whether prices prove the mean level."""
    if np.isnan(shown.mean):
        return Proof(True, "optimal, proved (everybody has all its tasks)")
    words = (
        f"mean level {shown.mean:.9g}, at most {shown.bound:.9g} by prices: gap {shown.gap:.1e}, "
        "optimality "
        f"conditions {shown.conditions:.1e}"
    )
    good = shown.gap <= accepted
    return Proof(good, f"optimal, proved ({words})" if good else f"not proved: {words}")


def prove(allocation: Allocation, exact: bool = False) -> Proof:
    """Return whether an allocation is α-fair, by prices of a linear program of its own; at ∞ as DRFH proves it."""
    if exact:
        raise NotDefinedError(
            "alpha-fair levels are not rational, so there is no exact certificate of them"
        )
    missing = floors(allocation.instance) * (1 - VERIFIED) - allocation.totals.to_numpy()
    if (missing > 0).any():
        user = allocation.instance.users[int(missing.argmax())]
        return Proof(False, f"infeasible: user {user!r} has less than its queues guarantee it")
    alpha = asked_alpha(allocation.parameters)
    if alpha == np.inf:
        limit = find(LIMIT).prove
        assert limit is not None
        return limit(replace(allocation, mechanism=LIMIT, parameters={}), False)
    return verdict(_shown(allocation, alpha), VERIFIED)


def judge_proportional(allocation: Allocation) -> Proof:
    """Return whether tasks are α-fair at α = 1, users' weights being their entitlements.

    Then those of users entitled to nothing, by their weights, of what the others leave.
    """
    instance, tasks = allocation.instance, allocation.tasks_array
    e = entitlements(instance)
    first = np.flatnonzero(e > 0)
    left = proportional.left_by(instance, tasks, first, proportional.accepted(allocation.solver))
    of_left = instance.derived(capacities=left)
    rest, last = (np.flatnonzero((e == 0) & runnable_users(each)) for each in (instance, of_left))
    found = []
    for who, part in ((first, instance.derived(weights=np.where(e > 0, e, 1.0))), (last, of_left)):
        own = part.select_users(who).derived(entitlements=None)
        tasks_per_level = tasks_at_level_1(own, dominant(own))
        one = replace(
            allocation, instance=own, tasks_array=tasks[who], tasks_per_level=tasks_per_level
        )
        found.append(verdict(_shown(one, DEFAULT), VERIFIED))
    words = proportional.elsewhere(instance, tasks, rest)[1] if rest.size else ""
    return next((one for one in (*found, Proof(not words, words)) if not one), found[0])


def mean_level_gap(allocation: Allocation) -> float:
    """Return how far the mean level of an α-fair allocation is from its maximum at most, by a linear program."""
    alpha = asked_alpha(allocation.parameters)
    if alpha == np.inf:
        return 0.0 if allocation.certify().holds else np.inf
    return _shown(allocation, alpha).gap


def _shown(allocation: Allocation, alpha: float) -> MeanLevelBound:
    """Return what the prices of the linear program at these levels prove, or the allocation's own: any prices bound."""
    instance = allocation.instance
    if (runnable_users(instance) & (allocation.totals.to_numpy() <= 0)).any():
        instance = _with_a_chance(instance)
    if not runnable_users(instance).any():
        return MeanLevelBound(np.nan, np.nan, 0.0, np.zeros(instance.capacities.shape))
    small, servers = merge_servers(instance)
    model = better(small, allocation.levels.to_numpy(), alpha)
    solution = model.solve().require_optimal()
    assert solution.row_duals is not None
    prices = proportional.prices_of(small, model, solution.row_duals)
    of_caps = _prices_of_caps(small, model, solution.row_duals)
    shown = proof(instance, allocation.tasks_array, prices[servers.of], alpha, of_caps)
    if of_caps is not None or allocation.prices is None:
        return shown
    own = allocation.prices.to_numpy()
    if not (np.isfinite(own) & (own >= 0)).all():
        return shown
    return min(shown, proof(instance, allocation.tasks_array, own, alpha), key=lambda one: one.gap)
