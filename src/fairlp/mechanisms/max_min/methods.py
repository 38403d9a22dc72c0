"""From a mechanism's algorithm to an :class:`~fairlp.mechanisms.allocation.Allocation`: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import UnknownNameError, nearest
from ...formulations import normalisers
from ...models.instances.instance import Instance
from ...solvers.interior_point import INTERIOR
from ...solvers.leximin.rounds import LeximinResult, leximin
from ...tolerances import AGREEMENT
from ..allocation import Allocation

if TYPE_CHECKING:
    from ..mechanism import Algorithm, Mechanism


@dataclass(frozen=True)
class Request:
    """What ``allocate`` was asked for: method, solver, merging, the solver's options, the mechanism's (parameters)."""

    method: str = "auto"
    solver: str = "highs"
    merge: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)

    def refuse_solver_options(self, mechanism: Mechanism, algorithm: Algorithm) -> None:
        """Raise for an option that a method without a solver does not have."""
        if self.options:
            name = next(iter(self.options))
            raise UnknownNameError(
                f"method {algorithm.method!r} of {mechanism.name!r} has no option {name!r}; "
                f"{nearest(name, ['merge', *mechanism.options])} (solver options go with a method that uses a solver)"
            )


Runner = Callable[[Instance, "Mechanism", "Algorithm", Request], Allocation]


def combinatorial(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Run an algorithm that needs no solver: ``core(instance, tasks at level 1) -> tasks, levels, rounds``."""
    from ..mechanism import load

    request.refuse_solver_options(mechanism, algorithm)
    begin = perf_counter()
    alone = load(mechanism.normaliser)(instance)
    rate = normalisers.entitled(instance, alone)
    tasks, _, history = load(algorithm.core)(instance, rate)
    return Allocation(
        instance=instance,
        mechanism=mechanism.name,
        method=algorithm.method,
        tasks_array=tasks,
        normaliser=alone,
        entitled=rate,
        times={"solve": perf_counter() - begin},
        rounds=_rounds(instance, history, tasks),
    )


def leximin_lp(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Run the rounds of the mechanism's linear program."""
    from ..mechanism import load

    normaliser = load(mechanism.normaliser)
    result = leximin(
        instance,
        load(mechanism.formulation),
        normaliser,
        solver=request.solver,
        merge=request.merge,
        options=request.options,
    )
    return _from_leximin(instance, mechanism, algorithm, request, normaliser(instance), result)


def by_interior_points(run: Runner) -> Runner:
    """Return a runner that puts its models before our own interior-point method, whatever the solver's name."""

    def runner(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
        request.refuse_solver_options(mechanism, algorithm)
        return replace(run(instance, mechanism, algorithm, replace(request, solver=INTERIOR)), solver="")

    return runner


leximin_interior = by_interior_points(leximin_lp)


def separate_lp(instance: Instance, mechanism: Mechanism, algorithm: Algorithm, request: Request) -> Allocation:
    """Run DRF's linear program on each server alone (identical servers once)."""
    from ...formulations.max_min import drf, separate_limits
    from ...models.instances.merging import identity, merge_servers
    from ...models.notation.expressions import Index

    begin = perf_counter()
    merged, servers = merge_servers(instance) if request.merge else (instance, identity(len(instance.servers)))
    alone, limits = merged.gamma(), separate_limits(merged)
    tasks = np.zeros(alone.shape)
    result = LeximinResult(tasks, np.zeros(0))
    prices = np.zeros(merged.capacities.shape)
    for i in range(len(merged.servers)):
        who = np.flatnonzero((alone[:, i] > 0) & (limits[:, i] > 0))
        if not who.size:
            continue
        used = np.flatnonzero(merged.demands[who].any(axis=0))
        one = merged.select_users(who).replace(
            demands=merged.demands[np.ix_(who, used)],
            resources=Index("r", merged.resources.labels[used], "resource"),
            servers=Index("i", merged.servers.labels[[i]], "server"),
            capacities=merged.capacities[[i]][:, used] * merged.counts[i],
            counts=np.ones(1, dtype=np.int64),
            eligibility=None,
            rates=None,
            task_limits=limits[who, i],
            server_attributes=merged.server_attributes.iloc[[i]],
            conditions=(),
        )
        rounds = leximin(
            one, drf, normalisers.dominant, solver=request.solver, merge=request.merge, options=request.options
        )
        tasks[who, i] = rounds.tasks[:, 0]
        if rounds.prices is not None:
            prices[i, used] = rounds.prices[0]
        result.gap, result.programs = max(result.gap, rounds.gap), result.programs + rounds.programs
    result.tasks, result.prices = tasks[:, servers.of] * servers.factor, prices[servers.of]
    result.times = {"solve": perf_counter() - begin}
    everyone = len(instance.users)
    result.merged, result.before = (everyone, len(merged.servers)), (everyone, len(instance.servers))
    gamma = normalisers.dominant(instance)
    return _from_leximin(instance, mechanism, algorithm, request, gamma, result)


def _from_leximin(
    instance: Instance,
    mechanism: Mechanism,
    algorithm: Algorithm,
    request: Request,
    alone: np.ndarray,
    result: LeximinResult,
) -> Allocation:
    notes: tuple[str, ...] = ()
    if result.merged != result.before:
        (users, servers), (all_users, all_servers) = result.merged, result.before
        notes = (
            f"solved with {users} users and {servers} servers instead of {all_users} and {all_servers}: "
            "identical servers and proportional users were merged, which is exact",
        )
    if result.relaxed > 0:
        notes += (
            "rounding decides here: levels of later rounds were found with the earlier ones lowered by "
            f"{result.relaxed:g} of themselves, so the last users' levels depend on digits that the data may not have",
        )
    return Allocation(
        instance=instance,
        mechanism=mechanism.name,
        method=algorithm.method,
        solver=request.solver,
        tasks_array=result.tasks,
        normaliser=alone,
        entitled=normalisers.entitled(instance, alone),
        prices_array=result.prices,
        times=result.times,
        rounds=_rounds(instance, result.rounds, result.tasks),
        gap=result.gap,
        notes=notes,
    )


def _rounds(instance: Instance, history: list[tuple[float, np.ndarray]], tasks: np.ndarray) -> pd.DataFrame:
    """Return the rounds as a table: level, number of users frozen, who, and who of them has all its tasks by then.

    Those stopped at a level of their own, which may be lower than the round's.
    """
    labels = instance.users.labels
    full = tasks.sum(axis=1) >= instance.task_limits * (1 - AGREEMENT)
    rows = [(level, len(frozen), list(labels[frozen]), list(labels[frozen[full[frozen]]])) for level, frozen in history]
    columns = ["level", "frozen", "users", "satisfied"]
    return pd.DataFrame(rows, columns=columns, index=range(1, len(rows) + 1)).rename_axis("round")
