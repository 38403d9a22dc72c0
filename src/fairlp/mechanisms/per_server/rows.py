"""The rows of the table for per-server dominant share fairness (PS-DSF)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ...errors import (
    FairlpError,
    NoSolutionError,
    NotConvergedError,
    SolverError,
    TooLargeError,
    quoted,
)
from ...formulations import normalisers, per_server, per_server as formulations
from ...formulations.audits import improved
from ...formulations.options import ClockOptions
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.notation.model import Model
from ...registry import Registry
from ...tolerances import AGREEMENT, AUDIT, MILP_TOLERANCES
from ..allocation import within_capacity
from ..max_min.methods import by_interior_points
from ..mechanism import (
    BY_WEIGHTS,
    NO_QUEUE_LIMITS,
    ONE_WEIGHT,
    Division,
    Mechanism,
    Method,
    MethodCall,
    MethodResult,
    TasksResult,
)
from ..validation import in_floats
from .algorithm_1 import algorithm_1
from .best_response import MOST_SWEEPS, SweepsResult, best_response
from .check import fixed_point, judge
from .market import PerServerMarket, positive
from .time_market import limits_bind, prove_market, time_market

# PS-DSF: one function a method, and the same certificate whatever made the allocation.

#: A function that makes a table when it is read.
MakesTable: TypeAlias = "Callable[[], pd.DataFrame]"
_OURS: dict[str, Any] = {}
#: What lets servers act on their own, and comes with a package: (instance, division, tasks to begin
#: with or None, options) → tasks, and a table of every action.
SETTLERS: Registry[Callable[..., tuple[np.ndarray, pd.DataFrame]]] = Registry(
    "method", "fairlp.methods", _OURS, _OURS.__getitem__
)


def sweeps(call: MethodCall, *, settle: Callable[..., SweepsResult], counted: str) -> MethodResult:
    """Sweep over the servers until no task moves.

    ``settle`` is best responses with or without pivots, or Algorithm I.
    """

    def run(small: Instance, start: np.ndarray | None) -> tuple[np.ndarray, MakesTable]:
        market = PerServerMarket.of(small, call.mechanism.division)
        settled = settle(market, start=start, most_sweeps=_most_sweeps(call))
        rounds = partial(_sweeps_table, settled.sweeps, counted)
        return require_converged(call, small, settled), rounds

    return _certified(call, partial(_from_market, run=run, division=call.mechanism.division))


def _sweeps_table(sweeps: list[tuple[float, int]], counted: str) -> pd.DataFrame:
    """Return each sweep's change, and what is counted."""
    frame = pd.DataFrame(sweeps, columns=["change", counted])
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="sweep")
    return frame


#: With task limits, fixed points under resource division that are looked at for one that is
#: Pareto-optimal.
MOST_FIXED_POINTS = 4
#: More pairs of user and server than this are not put before a linear program that tells what is
#: Pareto-optimal.
MOST_PARETO = 2000
#: From so many pairs on the market of time is solved by interior points.
MARKET_FROM = 1000


def _from_market(
    small: Instance,
    *,
    run: Callable[[Instance, np.ndarray | None], tuple[np.ndarray, MakesTable]],
    division: Division,
) -> tuple[np.ndarray, MakesTable]:
    """Run sweeps from the market's optimum where task limits bind.

    Where a Pareto-optimal fixed point is in reach, sweeps go on to it.

    Under time division the market's optimum is a fixed point, and Pareto-optimal. Under resource
    division sweeps begin anew where they left something that users could gain: at the point that
    gives it to them, and last at no tasks.
    """
    start = market_start(small)
    if start is None or division == "tdm":
        return run(small, start)
    first = None
    failure = None
    for last_turn in [*[False] * (MOST_FIXED_POINTS - 1), True]:
        start = None if last_turn else start
        try:
            outcome = run(small, start)
            first = first or outcome
            start = _pareto_better(small, outcome[0])
        except NotConvergedError as error:
            failure = error
            continue
        except FairlpError:
            return outcome  # a note says that it is not known
        if start is None:
            return outcome
    if first is None:
        assert failure is not None
        raise failure
    return first


def market_start(instance: Instance) -> np.ndarray | None:
    """Return the market's optimum (N, K) where task limits bind.

    The result is None where no limit binds or the optimum is unknown.
    """
    if not limits_bind(instance):
        return None
    try:
        return time_market(instance).tasks
    except SolverError:
        return None  # what is found from elsewhere is judged by what it is


def _pareto_better(instance: Instance, tasks: np.ndarray) -> np.ndarray | None:
    """Return tasks (N, K) with which users gain and no user loses; None where there are none.

    Raises
    ------
    TooLargeError, SolverError
        Where that is not known.
    """
    pairs = np.count_nonzero(instance.gamma())
    if pairs > MOST_PARETO:
        raise TooLargeError(
            f"{pairs} pairs of user and server, and above {MOST_PARETO} it is not asked"
        )
    return _better_than(instance, tasks.tobytes())


@lru_cache(maxsize=MOST_FIXED_POINTS)
def _better_than(instance: Instance, bytes_of_tasks: bytes) -> np.ndarray | None:
    """Return what users could gain; the sweeps and the certificate ask it of the same tasks."""
    tasks = np.frombuffer(bytes_of_tasks).reshape(len(instance.users), len(instance.servers))
    better, gains = improved(instance, tasks)
    if gains.max() <= AUDIT:
        return None
    return within_capacity(instance, np.maximum(better, 0.0))


with_pivots = partial(sweeps, settle=best_response, counted="pivots")
without_pivots = partial(sweeps, settle=partial(best_response, pivoting=False), counted="pivots")
by_algorithm_1 = partial(sweeps, settle=algorithm_1, counted="updates")


def distributed(call: MethodCall) -> MethodResult:
    """Let servers act at their own times on late totals; ``rounds`` has every action."""
    settle = SETTLERS[SETTLERS.spelt("distributed")]
    division = call.mechanism.division

    def run(small: Instance) -> tuple[np.ndarray, pd.DataFrame]:
        tasks, actions = settle(small, division, market_start(small), call.parameters)
        return tasks, actions

    return _certified(call, run)


def convex(call: MethodCall) -> MethodResult:
    """Solve time division as a market, the Eisenberg–Gale program; best responses end it.

    The solver's point is right to the square root of its accuracy only; best responses from there
    go to the last digit.
    """
    return _certified(
        call,
        lambda small: _ended(
            call, small, point_of_model(call, small, formulations.psdsf_tdm(small))
        ),
    )


def interior_point(call: MethodCall) -> MethodResult:
    """Time division as a market by our own interior-point method, ended by best responses.

    Where interior points do not converge, best responses begin anew.
    """

    def start(small: Instance) -> np.ndarray | None:
        try:
            return time_market(small).tasks
        except NotConvergedError:
            return None

    return _certified(call, lambda small: _ended(call, small, start(small)))


def milp(call: MethodCall, *, formulation: Callable[[Instance], Model]) -> MethodResult:
    """Solve Theorem 1 or 2 with binaries, for a fixed point of the most tasks.

    The solver's point is right to its tolerance; best responses from there end at the last digit,
    and the certificate tells whether that is a fixed point. So where a solver calls the program
    infeasible, which always has a solution, it is asked again with tolerances that leave it more
    room.
    """

    def point(small: Instance) -> np.ndarray:
        model = formulation(small)
        failure = None
        named_tolerance = call.options.get("primal_tolerance")
        for tolerance in MILP_TOLERANCES if named_tolerance is None else (named_tolerance,):
            try:
                return point_of_model(call, small, model, primal_tolerance=tolerance)
            except NoSolutionError as error:
                failure = error
        assert failure is not None
        raise failure

    return _certified(call, lambda small: _ended(call, small, point(small)))


def point_of_model(
    call: MethodCall, instance: Instance, model: Model, **options: Any
) -> np.ndarray:
    """Return the tasks of a model's optimum."""
    solution = model.solve(solver=call.solver, **(options | call.options)).require_optimal()
    assert solution.x is not None
    tasks = np.asarray(model.evaluate("tasks", solution.x), dtype=float).reshape(
        len(instance.users), -1
    )
    return np.asarray(np.maximum(tasks, 0.0))


def _ended(
    call: MethodCall, instance: Instance, start: np.ndarray | None
) -> tuple[np.ndarray, None]:
    """Return where best responses end that begin at these tasks."""
    market = PerServerMarket.of(instance, call.mechanism.division)
    return require_converged(
        call, instance, best_response(market, start=start, most_sweeps=_most_sweeps(call))
    ), None


def _certified(
    call: MethodCall,
    run: Callable[[Instance], tuple[np.ndarray, pd.DataFrame | MakesTable | None]],
) -> MethodResult:
    """Merge identical servers, run, split, and certify; raise when the certificate does not hold.

    A fixed point of the merged servers, split in proportion, is one of the separate servers: every
    level on a server is multiplied by the same number, and each copy is short of the same
    resources. The converse holds under time division. It fails under resource division, where
    copies may be short of different resources: with two servers (3, 3), tasks (1, 2) and (2, 1),
    each user alone on one server is a fixed point (3/2 tasks each), and merged there is only 2, 2.
    """
    instance = call.instance
    with call.phase("build"):
        small, servers = merge_servers(instance, call.merge)
    tasks, rounds = run(small)
    with call.phase("verify"):
        tasks = within_capacity(small, tasks)
        certificate = fixed_point(small, tasks, call.mechanism.division)
        of_limits = _doubt_of_limits(small, tasks, call.mechanism.division)
    if not certificate.holds:
        raise NotConvergedError(
            f"{call.mechanism.name} by {call.method.name} ended where its certificate fails: "
            f"{certificate}"
        )
    notes: tuple[str, ...] = ()
    if servers.merges:
        notes = (
            f"found with {len(servers)} servers instead of {len(instance.servers)}: identical "
            "servers were merged, "
            "which keeps a fixed point a fixed point",
        )
    tdm = call.mechanism.division == "tdm"
    return TasksResult(
        servers.spread(tasks),
        rounds=rounds,
        certificate=certificate,
        notes=notes if tdm or not of_limits else (*notes, of_limits),
        unproved=of_limits if tdm else "",
    )


def _doubt_of_limits(instance: Instance, tasks: np.ndarray, division: Division) -> str:
    """Return what is not known of a fixed point because task limits bind; empty where all is."""
    if not limits_bind(instance):
        return ""
    if division == "tdm":
        proof = prove_market(instance, tasks.sum(axis=1))
        return "" if proof.holds else proof.message
    try:
        better = _pareto_better(instance, tasks)
    except FairlpError as error:
        return (
            "task limits bind, and whether this fixed point is Pareto-optimal is not known: "
            f"{error}"
        )
    if better is None:
        return ""
    gain = better.sum(axis=1) - tasks.sum(axis=1)
    alone = instance.gamma().sum(axis=1)
    user = int(quotients(gain, alone).argmax())
    return (
        "task limits bind, and this fixed point is not Pareto-optimal: user "
        f"{quoted(instance.users[user])} could have "
        f"{gain[user]:.6g} more tasks, and no user less"
    )


def _most_sweeps(call: MethodCall) -> int:
    """Return how many sweeps are allowed."""
    return int(positive("most_sweeps", call.parameters.get("most_sweeps", MOST_SWEEPS)))


def require_converged(call: MethodCall, instance: Instance, settled: SweepsResult) -> np.ndarray:
    """Return the tasks of settled sweeps; raise NotConvergedError when sweeps were cut short.

    Sweeps that still move the last digits count as settled.
    """
    if settled.converged:
        return settled.tasks
    verdict = fixed_point(instance, settled.tasks, call.mechanism.division)
    change = settled.sweeps[-1][0]
    if verdict.holds and change <= AGREEMENT:
        return settled.tasks
    raise NotConvergedError(
        f"{call.mechanism.name} has not settled after {len(settled.sweeps)} sweeps: the last one "
        "still moved "
        f"{change:.3g} of what a user could run alone on a server. {verdict}. Allow more with "
        "most_sweeps, or use "
        "method='milp' (small instances)"
    )


_SWEEPS = ("most_sweeps",)
_CLOCKS = (*ClockOptions.__annotations__, "seconds")

BEST_RESPONSE = Method(
    "best-response", with_pivots, options=_SWEEPS, cost="O(NK(R + log N)) a sweep, tens of sweeps"
)
SWEEPS = Method(
    "sweeps",
    without_pivots,
    options=_SWEEPS,
    cost="O(NK(R + log N)) a sweep, thousands of sweeps",
    largest_pairs=2000,
)
ALGORITHM_1 = Method(
    "algorithm-1",
    by_algorithm_1,
    options=_SWEEPS,
    cost="Algorithm I; as many sweeps, twice the time of each",
    largest_pairs=2000,
)
DISTRIBUTED = Method(
    "distributed",
    distributed,
    options=_CLOCKS,
    cost="as sweeps; a simulation of clocks and messages",
    largest_pairs=2000,
    by_name=True,
)


def _market_pays(instance: Instance) -> bool:
    """Whether interior points are quicker, and there is one fixed point."""
    users, servers = instance.shape
    return servers > 1 and users * servers >= MARKET_FROM and not limits_bind(instance)


INTERIOR_POINT = replace(by_interior_points(interior_point), options=_SWEEPS, pays=_market_pays)
MARKET = Method("convex", convex, options=_SWEEPS, cost="one convex program", solves=True)


def _without_limits(instance: Instance) -> bool:
    """Whether no user has a task limit, of which Theorem 2 knows nothing."""
    return bool(np.isinf(instance.task_limits).all())


def _milp(
    formulation: Callable[[Instance], Model], applies: Callable[[Instance], bool] | None = None
) -> Method:
    """Return the method of a formulation whose binaries choose the bottlenecks."""
    return Method(
        "milp",
        partial(milp, formulation=formulation),
        applies=applies,
        options=_SWEEPS,
        needs="" if applies is None else "no task limits",
        cost="one integer program (small instances)",
        largest_pairs=40,
        solves=True,
    )


ROWS = (
    Mechanism(
        "psdsf-rdm",
        "Per-server dominant share fairness (levels compared on each server), resources divided",
        "Khamse-Ashari et al., ICC 2017",
        per_server.psdsf_rdm,
        normalisers.containerized,
        (BEST_RESPONSE, SWEEPS, ALGORITHM_1, DISTRIBUTED, _milp(per_server.psdsf_rdm)),
        (
            f"sharing incentive if {BY_WEIGHTS} (ours)",
            f"envy-free if {BY_WEIGHTS} (ours)",
            f"bottleneck if no user has a task limit and {BY_WEIGHTS}",
            f"single-resource if no user has a task limit and {BY_WEIGHTS}",
        ),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=(*_SWEEPS, *_CLOCKS),
        prove=partial(in_floats, judge=partial(judge, division="rdm")),
        agrees_by_proof=True,  # there may be several fixed points
    ),
    Mechanism(
        "psdsf-tdm",
        "Per-server dominant share fairness (levels compared on each server), time divided",
        "Khamse-Ashari et al., ICC 2017",
        per_server.psdsf_tdm,
        normalisers.containerized,
        (
            INTERIOR_POINT,
            BEST_RESPONSE,
            SWEEPS,
            ALGORITHM_1,
            DISTRIBUTED,
            MARKET,
            _milp(partial(per_server.psdsf_tdm, theorem=True), _without_limits),
        ),
        (
            f"sharing incentive if {BY_WEIGHTS} (ours)",
            f"envy-free if {BY_WEIGHTS} (ours)",
            f"bottleneck if {BY_WEIGHTS} (ours)",
            f"single-resource if {BY_WEIGHTS} (ours)",
            "Pareto-optimal (ours)",
            "strategy-proof if no user has a task limit",
        ),
        (ONE_WEIGHT, NO_QUEUE_LIMITS),
        options=(*_SWEEPS, *_CLOCKS),
        prove=partial(in_floats, judge=partial(judge, division="tdm")),
        agrees_by_proof=True,
        division="tdm",
    ),
)
