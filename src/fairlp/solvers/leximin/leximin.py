"""The leximin of an instance: equal users and servers merge, and components are solved apart.

Identical servers are one server, users with proportional demands one user; the result is split back
in proportion. Users and servers that are not connected, even through others, are programs of their
own: as small as they can be, and of few rounds each, where one program for all would take the
rounds of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...models.instances.arithmetic import effort
from ...models.instances.instance import Instance
from ...models.instances.merging import (
    Groups,
    components,
    fewer_pairs,
    identity,
    large_servers,
    merge_servers,
    merge_users,
    select,
)
from ...models.notation.model import Model
from ...models.paths.engine import History, PathEnd, Reached
from ...models.paths.path import Path
from ...models.paths.pool import PoolRows
from ...models.programs.backends import AnySolver
from ...models.programs.program import Program
from ...tolerances import AGREEMENT
from .by_cuts import ServersByCuts
from .by_levels import ServersByLevels
from .left_out import LeftOutPairs, Result, with_fewer_pairs
from .programs import (
    Members,
    RoundPrices,
    ServersByPrograms,
    Tightest,
    prices_of,
    prices_of_caps,
    tightest,
)

Formulation = Callable[[Instance], Model]
TasksAtLevel1 = Callable[[Instance], np.ndarray]
#: (instance, tasks of each user) → tasks on servers, or None where they may not fit.
Placement = Callable[[Instance, np.ndarray], np.ndarray | None]


#: The part of all pairs of a user and a server up to which a program is sparse.
_SPARSE = 0.15
#: More pairs take too long in whole numbers.
_MOST_PAIRS = 50_000


@dataclass(frozen=True)
class RiseOptions:
    """What is known of a model beside its path: which bounds there are, and how tasks are placed.

    Attributes
    ----------
    without : tuple of str
        Rows of the model that say no more than the path does, which ends at limits and begins at
        guarantees.
    rows : callable or None
        The bounds of the whole cluster → these, and others that the model has.
    placed : callable or None
        (Instance, tasks of each user) → these tasks on its servers, or None where they may not fit.
        With it, rounds are looked for first where one large server stands for all on which the same
        users can run.
    """

    without: tuple[str, ...] = ("limit", "guarantee")
    rows: Callable[[PoolRows], PoolRows] | None = None
    placed: Placement | None = None


@dataclass
class LeximinResult:
    """Levels and tasks of a leximin, for the original users and servers.

    Attributes
    ----------
    tasks : ndarray, shape (N, K)
    levels : ndarray, shape (N,)
    rounds : list of (float, ndarray)
        Level of each round, and the positions of the users frozen there.
    prices : ndarray or None
        Capacity duals of the first round that a resource ended; None when all users have all their
        tasks.
    round_prices : RoundPrices or None
        Prices of all programs; None from a back end without duals.
    gap : float or None
        The largest duality gap of any program solved; None from a back end without duals.
    programs : int
        Number of programs solved.
    times : dict
        Seconds by phase.
    merged, before : (int, int)
        Users and servers of the program, and how many there were before merging.
    relaxed : float
        The largest fraction of themselves by which floors were lowered.
    uncertain : float
        The largest relative error of a level, to first order, by rounding that grew from round to
        round.
    is_left : bool
        Whether rounds ended at the first that leaves somebody open.
    """

    tasks: np.ndarray
    levels: np.ndarray
    rounds: History = field(default_factory=list)
    prices: np.ndarray | None = None
    round_prices: RoundPrices | None = None
    gap: float | None = 0.0
    programs: int = 0
    times: dict[str, float] = field(default_factory=dict)
    merged: tuple[int, int] = (0, 0)
    before: tuple[int, int] = (0, 0)
    relaxed: float = 0.0
    uncertain: float = 0.0
    is_left: bool = False

    @classmethod
    def nothing(cls, instance: Instance) -> LeximinResult:
        """Return the result where no user can run anything."""
        return cls(np.zeros(instance.shape), np.zeros(len(instance.users)))

    def conclude(self, pieces: list[_Piece], start: float) -> None:
        """Add what the programs of all pieces proved, and the seconds of each phase."""
        regions = [piece.region for piece in pieces]
        has_duals = regions[0].has_duals
        self.gap = max(region.gap for region in regions) if has_duals else None
        self.programs = sum(region.n_programs for region in regions)
        self.relaxed = max(region.relaxation for region in regions)
        self.uncertain = max(region.errors.largest() for region in regions)
        self.is_left = any(region.session.has_left for region in regions)

        stop = max(piece.stop for piece in pieces)
        solve_seconds = sum(region.seconds for region in regions)
        round_seconds = sum(piece.stop - piece.start for piece in pieces)
        self.times = {
            "build": stop - round_seconds - start,
            "solve": solve_seconds,
            "rounds": round_seconds - solve_seconds,
            "read": perf_counter() - stop,
        }


def suits_faces(instance: Instance) -> bool:
    """Return whether users have no limits, and may run on so few servers that faces are quick."""
    runs = instance.runnable()
    is_limited = np.isfinite(instance.task_limits).any() or instance.has_queues
    is_sparse = runs.mean() <= _SPARSE and runs.sum() <= _MOST_PAIRS
    return bool(is_sparse and not is_limited and not instance.has_rates)


def rounds_frame(history: History, columns: dict[str, list[Any]]) -> pd.DataFrame:
    """Return rounds as a table: level, number of users frozen, and columns of a list a round."""
    levels = [level for level, _ in history]
    frozen = [len(users) for _, users in history]
    index = pd.RangeIndex(1, len(history) + 1, name="round")
    return pd.DataFrame({"level": levels, "frozen": frozen, **columns}, index=index)


def leximin(
    instance: Instance,
    formulation: Formulation,
    tasks_at_level_1: TasksAtLevel1,
    *,
    solver: AnySolver = "highs",
    merge: bool = True,
    options: Mapping[str, Any] | None = None,
    leaves: bool = False,
) -> LeximinResult:
    """Return the leximin-optimal allocation of a max-min formulation.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model that says its levels, by user (:meth:`.Model.leximin`), with rows
        ``capacity`` and the definition ``tasks``.
    tasks_at_level_1 : callable
        Instance → tasks at level 1, φ[n]·Γ[n], shape (N,): what the rows of levels give a user at t
        = 1. It is also called with the merged instance, with weights of 1.
    solver : str
    merge : bool
        Merge identical servers and proportional users first, and solve apart what is not connected.
    options : dict, optional
        Options of the solver.
    leaves : bool
        Whether rounds end at the first that leaves somebody open.
    """
    backend = tightest(solver, options)
    share = partial(_leximin, formulation, tasks_at_level_1, backend, merge, leaves)
    return without_useless_pairs(instance, share) if merge else share(instance)


def without_useless_pairs(instance: Instance, share: Callable[..., Result]) -> Result:
    """Return what is shared without pairs that keep servers from being identical, if there are."""
    eligible = fewer_pairs(instance)
    return share(instance) if eligible is None else with_fewer_pairs(instance, share, eligible)


def _leximin(
    formulation: Formulation,
    tasks_at_level_1: TasksAtLevel1,
    backend: Tightest,
    merge: bool,
    leaves: bool,
    instance: Instance,
    left_out: LeftOutPairs | None = None,
) -> LeximinResult:
    """Return the leximin of an instance, of which pairs may be left out."""
    start = perf_counter()
    tasks_per_level = tasks_at_level_1(instance)
    result = LeximinResult.nothing(instance)
    can_run = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    runnable_users = np.flatnonzero(can_run)
    if not runnable_users.size:
        return result

    runnable = instance if can_run.all() else instance.select_users(runnable_users)
    unlimited, user_groups, server_groups = _merged(runnable, merge)
    result.merged = unlimited.shape
    result.before = runnable.shape
    all_members = Members(
        user_groups.of,
        tasks_per_level[runnable_users] * user_groups.factor,
        runnable.task_limits * user_groups.factor,
    )

    # Solve each component apart.
    pieces: list[_Piece] = []
    level = np.zeros(len(runnable_users))
    group_tasks = np.zeros(unlimited.shape)
    for problem in _components(unlimited, merge):
        whole = (len(problem.users), len(problem.servers)) == unlimited.shape
        small = unlimited if whole else select(unlimited, problem.users, problem.servers)
        members = all_members if whole else all_members.of_groups(problem.users)
        group_levels = np.bincount(members.of, weights=members.tasks_per_level)
        small = small.derived(weights=group_levels / tasks_at_level_1(small))

        region_of = partial(
            ServersByLevels, backend, members=members, weights=small.weights, leaves=leaves
        )
        is_one_pool = not small.has_rates and small.runnable().all()
        if merge and left_out is None and is_one_pool:
            region_of = partial(region_of, pool=(small.demands, small.pool))
        missing = None
        if left_out is not None:
            missing = left_out.of_piece(
                runnable_users, user_groups, problem.users, server_groups, problem.servers
            )
        piece = _Piece.solved(small, formulation, region_of, problem, missing)
        pieces.append(piece)
        if whole:
            level[:] = piece.end.path.tasks
            group_tasks[:] = piece.tasks
        else:
            level[np.isin(user_groups.of, problem.users)] = piece.end.path.tasks
            group_tasks[np.ix_(problem.users, problem.servers)] = piece.tasks

    # Split the tasks of groups among their members.
    result.levels[runnable_users] = level
    # a member that has all its tasks has exactly its limit, not level × rate rounded
    satisfied = level >= all_members.limit / all_members.tasks_per_level
    totals = np.where(satisfied, all_members.limit, level * all_members.tasks_per_level)
    result.tasks[runnable_users] = _split(group_tasks, totals, user_groups, server_groups)
    result.rounds = [
        (round_level, runnable_users[frozen])
        for round_level, frozen in _history(pieces, level, satisfied)
    ]
    result.prices = _prices(pieces, unlimited, server_groups)
    result.round_prices = _round_prices(pieces, unlimited, server_groups)
    result.conclude(pieces, start)
    return result


def _merged(instance: Instance, merge: bool) -> tuple[Instance, Groups, Groups]:
    """Return an instance with identical servers and proportional users merged, and their groups.

    Weights are 1 there, and no user has a task limit.
    """
    if not merge:
        n_users = len(instance.users)
        unlimited = instance.derived(weights=np.ones(n_users), task_limits=np.full(n_users, np.inf))
        return unlimited, identity(n_users), identity(len(instance.servers))
    with_merged_servers, server_groups = merge_servers(instance)
    merged, user_groups = merge_users(with_merged_servers)
    return merged, user_groups, server_groups


def climb(
    instance: Instance,
    formulation: Formulation,
    first: Path,
    *,
    solver: AnySolver = "highs",
    merge: bool = True,
    options: Mapping[str, Any] | None = None,
    round_ends: list[Reached] | None = None,
    rise: RiseOptions = RiseOptions(),
) -> LeximinResult:
    """Return the allocation of users who rise along a path.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model as for :func:`leximin`.
    first : Path
        Of all of the instance's users.
    solver, merge, options
        As for :func:`leximin`; only identical servers are merged.
    round_ends : list, optional
        Is given the end of each round.
    rise : RiseOptions
        What is known of the model beside its path.
    """
    if not first.active.any() and not first.tasks.any():
        return LeximinResult.nothing(instance)
    backend = tightest(solver, options)
    pool = _pool(instance)
    if rise.rows is not None:
        pool = rise.rows(pool)
    region_of = partial(ServersByCuts, backend, first=first, pool=pool, round_ends=round_ends)
    reduced = partial(without_rows, formulation, rise.without)
    share = partial(_climb, reduced, region_of, merge, rise.placed)
    return without_useless_pairs(instance, share) if merge else share(instance)


def _climb(
    formulation: Formulation,
    region_of: Callable[..., ServersByPrograms],
    merge: bool,
    placed: Placement | None,
    instance: Instance,
    left_out: LeftOutPairs | None = None,
) -> LeximinResult:
    """Return the tasks that users reach along a path, where pairs may be left out."""
    start = perf_counter()
    result = LeximinResult.nothing(instance)
    if merge:
        merged, server_groups = merge_servers(instance)
    else:
        merged, server_groups = instance, identity(len(instance.servers))
    missing = None if left_out is None else left_out.of_users(server_groups)
    on_large = None
    if merge and placed is not None and left_out is None:
        on_large = _OnLargeServers.of(merged, formulation, region_of, placed)
    if on_large is not None:
        piece = on_large.piece
        tasks = on_large.tasks
        priced = on_large.large, replace(server_groups, of=on_large.groups.of[server_groups.of])
    else:
        problem = _Subproblem.all_of(merged)
        piece = _Piece.solved(merged, formulation, region_of, problem, missing)
        tasks = piece.tasks
        priced = merged, server_groups

    end = piece.end
    result.rounds = end.history
    result.merged = merged.shape
    result.before = instance.shape
    everyone = identity(len(instance.users))
    result.tasks = _split(tasks, end.path.tasks, everyone, server_groups)
    result.prices = _prices([piece], *priced)
    result.round_prices = _round_prices([piece], *priced)
    result.conclude([piece], start)
    return result


def without_rows(formulation: Formulation, names: tuple[str, ...], instance: Instance) -> Model:
    """Return the model without some of its rows."""
    model = formulation(instance)
    for name in names:
        if name in model.constraints:
            model.remove(name)
    return model


def _pool(instance: Instance) -> PoolRows:
    """Return the bounds of the whole cluster and of the caps of queues on all tasks together."""
    multiple = effort(instance)
    least_multiple: float | np.ndarray = 1.0
    if multiple is not None:
        least_multiple = np.where(multiple > 0, multiple, np.inf).min(axis=1)[:, None]
    needs = np.where(instance.demands > 0, instance.demands * least_multiple, 0.0)
    needs[~np.isfinite(needs)] = 0.0  # of users who can run nowhere
    return PoolRows.of(instance.pool, needs, instance.demands, instance.tree)


@dataclass(frozen=True)
class _Subproblem:
    """Groups of users and servers that are solved by one program."""

    users: np.ndarray
    servers: np.ndarray

    @classmethod
    def all_of(cls, instance: Instance) -> _Subproblem:
        """Return the problem of a whole instance."""
        return cls(np.arange(len(instance.users)), np.arange(len(instance.servers)))


def _components(instance: Instance, merge: bool) -> list[_Subproblem]:
    """Return the connected components of an instance as problems.

    The whole instance is one problem where it is connected, or unmerged.
    """
    parts = list(components(instance)) if merge else []
    if len(parts) > 1:
        return [_Subproblem(users, servers) for users, servers in parts]
    return [_Subproblem.all_of(instance)]


@dataclass(frozen=True)
class _Piece:
    """A problem that is solved: its region, the rise, its model, tasks of groups, clock times."""

    problem: _Subproblem
    region: Any
    end: PathEnd
    model: Model
    tasks: np.ndarray
    start: float
    stop: float

    @classmethod
    def solved(
        cls,
        small: Instance,
        formulation: Formulation,
        region_of: Callable[[Program, np.ndarray, int], ServersByPrograms],
        problem: _Subproblem,
        left_out: LeftOutPairs | None = None,
    ) -> _Piece:
        """Run the rounds of one program."""
        model = formulation(small)
        program = model.compile()
        start = perf_counter()
        block, t = program.leximin()
        region = region_of(program, np.arange(block.start, block.stop), t)
        region.check_solution = None if left_out is None else left_out.require_dear
        end = region.run()
        tasks = model.evaluate("tasks", region.point).reshape(len(small.users), -1)
        return cls(problem, region, end, model, tasks, start, perf_counter())

    def prices(self, merged: Instance, row_duals: np.ndarray, *, only: bool) -> np.ndarray:
        """Return duals of the program as prices of all servers and resources.

        ``only`` marks the only program of the instance.
        """
        servers = self.problem.servers
        resources = np.flatnonzero(merged.capacities[servers].any(axis=0) | only)
        prices = np.zeros(merged.capacities.shape)
        program = self.region.program
        prices[np.ix_(servers, resources)] = prices_of(self.model, program, row_duals)
        return prices


class _OnLargeServers(NamedTuple):
    """What users reach on large servers, each in place of several, and how these hold it.

    Attributes
    ----------
    piece : _Piece
        On the large servers.
    tasks : ndarray, shape (N, K)
        On the servers themselves: as many tasks, or more.
    large : Instance
    groups : Groups
        Of servers.
    """

    piece: _Piece
    tasks: np.ndarray
    large: Instance
    groups: Groups

    @classmethod
    def of(
        cls,
        instance: Instance,
        formulation: Formulation,
        region_of: Callable[..., ServersByPrograms],
        placed: Placement,
    ) -> _OnLargeServers | None:
        """Return it if the servers hold it, else None.

        What fits on the servers fits on the large ones. So who is blocked there is blocked here,
        and all that the others gain there can be had here.
        """
        large, groups = large_servers(instance)
        if not groups.merges:
            return None
        piece = _Piece.solved(large, formulation, region_of, _Subproblem.all_of(large))
        tasks = placed(instance, piece.tasks.sum(axis=1))
        return None if tasks is None else cls(piece, tasks, large, groups)


def _history(pieces: list[_Piece], level: np.ndarray, satisfied: np.ndarray) -> History:
    """Return the rounds of one program for all, by the levels at which users are blocked.

    Users who have all their tasks by then are in the round that reaches them.
    """
    if len(pieces) == 1:
        return list(pieces[0].end.history)
    stop_levels = np.unique(level[~satisfied])
    is_apart = stop_levels[1:] > stop_levels[:-1] * (1 + AGREEMENT)
    begins = stop_levels[np.append(True, is_apart)[: len(stop_levels)]]
    ends = stop_levels[np.append(is_apart, True)[: len(stop_levels)]]
    round_of = np.where(
        satisfied,
        np.searchsorted(ends, level),
        np.searchsorted(begins, level, side="right") - 1,
    )
    return [
        (float(level[round_of == k].max()), np.flatnonzero(round_of == k))
        for k in np.unique(round_of)
    ]


def _prices(pieces: list[_Piece], merged: Instance, servers: Groups) -> np.ndarray | None:
    """Return the prices of the first round that a resource ended.

    Other components have prices of 0.
    """
    priced = [
        piece
        for piece in pieces
        if piece.region.priced_solution is not None and piece.region.has_duals
    ]
    if not priced:
        return None
    first = min(
        priced, key=lambda piece: float(piece.region.priced_solution.x[piece.region.t_column])
    )
    row_duals = first.region.priced_solution.row_duals
    assert row_duals is not None
    return np.asarray(first.prices(merged, row_duals, only=len(pieces) == 1)[servers.of])


def _round_prices(pieces: list[_Piece], merged: Instance, servers: Groups) -> RoundPrices | None:
    """Return the prices of all programs, each as one of the whole instance."""
    if not all(piece.region.has_duals for piece in pieces):
        return None
    capacities: list[np.ndarray] = []
    caps: list[np.ndarray] = []
    for piece in pieces:
        for row_duals in piece.region.row_duals:
            prices = piece.prices(merged, row_duals, only=len(pieces) == 1)
            capacities.append(np.maximum(prices, 0.0))
            caps.append(prices_of_caps(piece.region.program, row_duals))
    return RoundPrices(np.array(capacities), np.array(caps), servers.of)


def _split(
    group_tasks: np.ndarray, member_totals: np.ndarray, users: Groups, servers: Groups
) -> np.ndarray:
    """Return tasks of users × servers from those of groups × groups.

    ``member_totals`` are the tasks of each member, in tasks of its group's first. The program may
    have given a group more than its target (a row is an inequality); scaling down keeps everything
    feasible.
    """
    group_totals = group_tasks.sum(axis=1)[users.of]
    fraction = np.zeros_like(member_totals)
    np.divide(member_totals, group_totals, out=fraction, where=group_totals > 0)
    tasks = group_tasks[users.of] * (fraction / users.factor)[:, None]
    spread = np.asarray(tasks[:, servers.of])
    spread *= servers.factor  # in place: of many users and servers it is large
    return spread
