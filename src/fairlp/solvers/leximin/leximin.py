"""The leximin of an instance: what is alike is merged, what is not connected solved apart, and put together.

Identical servers are one server, users with proportional demands one user; the result is split back
in proportion. Users and servers that are not connected, even through others, are programs of their
own: as small as they can be, and of few rounds each, where one program for all would take the
rounds of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import (
    Groups,
    components,
    fewer_pairs,
    identity,
    merge_servers,
    merge_users,
    pays_to_leave_out,
    select,
)
from ...models.instances.problem import effort
from ...models.notation.model import Model
from ...models.programs.program import Program
from ...models.programs.solution import Solution
from ...models.trees.filling import History, RateSegment, Rows
from ...tolerances import AGREEMENT, SOLVER_TIGHTEST
from .prices import RoundPrices, prices_of, prices_of_caps
from .rounds import KeptOff, LevelRounds, Members, Rounds, Shorter, Tightest, TreeRounds, tightest

#: How often pairs that were left out are taken in again, before all are.
_TRIES = 8
Formulation = Callable[[Instance], Model]
Shared = TypeVar("Shared")
TasksAtLevel1 = Callable[[Instance], np.ndarray]


@dataclass
class LeximinResult:
    """Levels and tasks of a leximin, for the original users and servers.

    ``tasks`` is users × servers, ``levels`` by user, ``rounds`` a list of (level, positions of the
    users frozen there), ``prices`` the capacity duals of the first round that a resource ended
    (None when everyone has all its tasks), ``round_prices`` the prices of all programs (None from a
    back end without duals), ``gap`` the largest duality gap of any program solved (None from a back
    end without duals), ``merged`` the users and servers of the program and how many there were
    before merging; ``uncertain`` the part of itself that a level may be off by rounding that grew
    from round to round.
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

    @classmethod
    def nothing(cls, instance: Instance) -> LeximinResult:
        """Return the result where nobody can run anything."""
        users = len(instance.users)
        return cls(np.zeros((users, len(instance.servers))), np.zeros(users))

    def conclude(self, pieces: list[_Piece], begin: float) -> None:
        """Put down what the programs of the rounds proved, and the seconds of each phase."""
        ended = max(piece.ended for piece in pieces)
        runs = [piece.rounds for piece in pieces]
        self.gap = max(one.gap for one in runs) if runs[0].has_duals else None
        self.programs = sum(one.programs for one in runs)
        self.relaxed = max(one.relaxed for one in runs)
        self.uncertain = max(one.errors.largest() for one in runs)
        solve = sum(one.seconds for one in runs)
        seconds = sum(piece.ended - piece.begun for piece in pieces)
        build = ended - seconds - begin
        read = perf_counter() - ended
        self.times = {"build": build, "solve": solve, "rounds": seconds - solve, "read": read}


def leximin(
    instance: Instance,
    formulation: Formulation,
    tasks_at_level_1: TasksAtLevel1,
    *,
    solver: str = "highs",
    merge: bool = True,
    options: dict[str, Any] | None = None,
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
        = 1. It is also asked of the merged instance, with weights of 1.
    solver : str
    merge : bool
        Merge identical servers and proportional users first, and solve apart what is not connected.
    options : dict, optional
        Options of the solver.
    """
    share = partial(_leximin, formulation, tasks_at_level_1, tightest(solver, options), merge)
    return with_fewer_pairs(instance, share) if merge else share(instance)


def _leximin(
    formulation: Formulation,
    tasks_at_level_1: TasksAtLevel1,
    chosen: Tightest,
    merge: bool,
    instance: Instance,
    left_out: LeftOut | None = None,
) -> LeximinResult:
    """Return the leximin of an instance, of which pairs may be left out."""
    begin = perf_counter()
    tasks_per_level = tasks_at_level_1(instance)
    result = LeximinResult.nothing(instance)
    who = np.flatnonzero(instance.runnable().any(axis=1) & (instance.task_limits > 0))
    if not who.size:
        return result
    part = instance if len(who) == len(tasks_per_level) else instance.select_users(who)
    small, servers = merge_servers(part) if merge else (part, identity(len(part.servers)))
    small, users = merge_users(small) if merge else (small, identity(len(part.users)))
    result.merged, result.before = (one.shape for one in (small, part))
    given = Members(users.of, tasks_per_level[who] * users.factor, part.task_limits * users.factor)
    plain = small.derived(
        weights=np.ones(len(small.users)), task_limits=np.full(len(small.users), np.inf)
    )
    everything = np.arange(len(small.users)), np.arange(len(small.servers))
    apart = list(components(plain)) if merge else []
    todo: list[tuple[np.ndarray, np.ndarray, list[KeptOff], int | None]] = [
        (*group, [], None) for group in (apart if len(apart) > 1 else [everything])
    ]
    pieces = []
    level = np.zeros(len(who))
    grouped = np.zeros(small.shape)
    for some, where, kept_off, parent in todo:
        own = plain if (len(some), len(where)) == small.shape else select(plain, some, where)
        members = given.of_groups(some)
        own = own.derived(
            weights=np.bincount(members.of, weights=members.tasks_per_level) / tasks_at_level_1(own)
        )
        rounds = partial(LevelRounds, chosen, members=members, weights=own.weights)
        if merge and left_out is None:
            # everybody may run everywhere, and a task needs the same there
            pool = (own.demands, own.pool) if not own.has_rates and own.runnable().all() else None
            rounds = partial(rounds, shorter=Shorter(pool, kept_off))
        missing = None if left_out is None else left_out.of_piece(who, users, some, servers, where)
        piece = _Piece.solved(own, formulation, rounds, some, where, missing, parent)
        level[np.isin(users.of, some)] = piece.rounds.level
        grouped[some], grouped[np.ix_(some, where)] = 0.0, piece.tasks
        pieces.append(piece)
        if (rest := piece.rounds.rest()) is not None:
            on, there, bounds = rest
            for few, at in components(select(plain, some[on], where[there])):
                kept_off = [(costs[few], off) for costs, off in bounds]
                todo.append((some[on][few], where[there][at], kept_off, len(pieces) - 1))
    result.levels[who] = level
    # a member that has all its tasks has exactly its limit, not level × due rounded
    full = level >= given.limit / given.tasks_per_level
    totals = np.where(full, given.limit, level * given.tasks_per_level)
    result.tasks[who] = _split(grouped, totals, users, servers)
    result.rounds = [(at, who[frozen]) for at, frozen in _history(pieces, level, full)]
    result.prices = _prices(pieces, plain, servers)
    result.round_prices = _round_prices(pieces, plain, servers)
    result.conclude(pieces, begin)
    return result


def climb(
    instance: Instance,
    formulation: Formulation,
    first: RateSegment,
    *,
    solver: str = "highs",
    merge: bool = True,
    options: dict[str, Any] | None = None,
    without: tuple[str, ...] = ("limit", "guarantee"),
) -> LeximinResult:
    """Return the allocation where leaves rise at rates that depend on who is active, from the first segment on.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model as for :func:`leximin`.
    first : RateSegment
        All of the instance's users.
    solver, merge, options
        As for :func:`leximin`; only identical servers are merged.
    without : tuple of str
        Rows of the model that say no more than the segments do, which end at limits and begin at
        guarantees.
    """
    if not first.active.any() and not first.has.any():
        return LeximinResult.nothing(instance)
    rounds = partial(TreeRounds, tightest(solver, options), first=first, pool=_pool(instance))
    share = partial(_climb, partial(_without, formulation, without), rounds, merge)
    return with_fewer_pairs(instance, share) if merge else share(instance)


def _climb(
    formulation: Formulation,
    rounds: Callable[..., Rounds],
    merge: bool,
    instance: Instance,
    left_out: LeftOut | None = None,
) -> LeximinResult:
    """Return what leaves reach at the rates of a tree, where pairs may be left out."""
    begin = perf_counter()
    result = LeximinResult.nothing(instance)
    small, servers = (
        merge_servers(instance) if merge else (instance, identity(len(instance.servers)))
    )
    missing = None if left_out is None else left_out.of_users(servers)
    everybody = np.arange(len(small.users))
    everywhere = np.arange(len(small.servers))
    piece = _Piece.solved(small, formulation, rounds, everybody, everywhere, missing)
    result.rounds = piece.rounds.history
    result.merged, result.before = (one.shape for one in (small, instance))
    result.tasks = _split(
        piece.tasks, piece.rounds.segment.has, identity(len(instance.users)), servers
    )
    result.prices = _prices([piece], small, servers)
    result.round_prices = _round_prices([piece], small, servers)
    result.conclude([piece], begin)
    return result


def _without(formulation: Formulation, names: tuple[str, ...], instance: Instance) -> Model:
    """Return the model without some of its rows."""
    model = formulation(instance)
    for name in names:
        if name in model.constraints:
            model.remove(name)
    return model


def _pool(instance: Instance) -> Rows:
    """Return what the whole cluster and the caps of queues allow all users together, wherever they run."""
    multiple = effort(instance)
    lightest = (
        1.0 if multiple is None else np.where(multiple > 0, multiple, np.inf).min(axis=1)[:, None]
    )
    needs = np.where(instance.demands > 0, instance.demands * lightest, 0.0)
    needs[~np.isfinite(needs)] = 0.0  # of users who can run nowhere
    return Rows.of_pool(instance.pool, needs, instance.demands, instance.tree)


class PairsWantedError(Exception):
    """Pairs that were left out may be worth more than they cost: these users on these servers."""

    def __init__(self, users: np.ndarray, servers: np.ndarray) -> None:
        super().__init__(f"{len(users)} pairs of user and server that were left out may be of use")
        self.users = users
        self.servers = servers


@dataclass(frozen=True)
class LeftOut:
    """Pairs of user and server that a leximin is computed without: exact as long as none is worth more than it costs.

    Attributes
    ----------
    user, server : ndarray of int, shape (P,)
        Positions in the instance.
    row, at : ndarray of int, shape (P,)
        Positions of the user and the server in a program; −1 for a server that it does not have.
    """

    user: np.ndarray
    server: np.ndarray
    row: np.ndarray
    at: np.ndarray

    @classmethod
    def of(cls, instance: Instance, kept: np.ndarray) -> LeftOut:
        """Return what is left out of an instance where these pairs are kept."""
        pairs = np.nonzero(instance.runnable() & ~kept)
        return cls(*pairs, *pairs)

    def of_piece(
        self, who: np.ndarray, users: Groups, some: np.ndarray, servers: Groups, where: np.ndarray
    ) -> LeftOut:
        """Return what is left out for these groups of users, of ``who``, beside a program with these servers."""
        group = np.full(int(self.user.max(initial=-1)) + 1, -1)
        known = who < len(group)
        group[who[known]] = users.of[known]
        mine = np.isin(group[self.user], some)
        at = np.full(len(servers), -1)
        at[where] = np.arange(len(where))
        row = np.searchsorted(some, group[self.user[mine]])
        return LeftOut(self.user[mine], self.server[mine], row, at[servers.of[self.server[mine]]])

    def of_users(self, servers: Groups) -> LeftOut:
        """Return what is left out beside a program with all users, and groups of servers."""
        return replace(self, at=servers.of[self.server])

    def require_dear(self, solution: Solution) -> None:
        """Raise where the pairs could raise the objective: a program's dual solution is to be that of all pairs.

        If a user is worth so much more than its pairs cost, prices that make up for it are a dual
        solution of all pairs; the objective cannot be larger by more than that, times all tasks
        that the user could run.
        """
        if not len(self.user):
            return
        if solution.row_duals is None:
            raise PairsWantedError(self.user, self.server)
        program = solution.program
        duals = solution.row_duals
        capacity = program.row_block("capacity")
        block = next(block for block in program.columns if len(block.axes) == 2)
        rows, first = np.unique(block.flat // block.shape[1], return_index=True)
        columns = program.A[:, block.start + first].tocoo()
        inside = (columns.row >= capacity.start) & (columns.row < capacity.stop)
        needs = np.zeros((block.shape[0], capacity.shape[-1]))
        needs[
            rows[columns.col[inside]], (columns.row[inside] - capacity.start) % capacity.shape[-1]
        ] = columns.data[inside]
        worth = np.zeros(block.shape[0])
        worth[rows] = program.c[block.start + first]
        np.subtract.at(
            worth, rows[columns.col[~inside]], columns.data[~inside] * duals[columns.row[~inside]]
        )
        prices = np.maximum(duals[capacity.slice], 0.0).reshape(-1, capacity.shape[-1])
        pool = program.row_upper[capacity.slice].reshape(prices.shape).sum(axis=0)
        most = np.divide(pool, needs, out=np.full(needs.shape, np.inf), where=needs > 0).min(axis=1)
        cost = np.where(self.at >= 0, (needs[self.row] * prices[self.at]).sum(axis=1), 0.0)
        gain = np.maximum(worth[self.row] - cost, 0.0) * most[self.row]
        wanted = gain > SOLVER_TIGHTEST * abs(solution.objective) / max(len(rows), 1)
        if wanted.any():
            raise PairsWantedError(self.user[wanted], self.server[wanted])


def with_fewer_pairs(instance: Instance, share: Callable[..., Shared]) -> Shared:
    """Return a leximin without pairs that keep servers from being identical, where none of them is of use.

    ``share`` is given an instance, and what is left out of it.
    """
    kept = fewer_pairs(instance)
    for _ in range(_TRIES):
        if kept is None:
            break
        try:
            return share(instance.derived(eligible=kept.copy()), LeftOut.of(instance, kept))
        except PairsWantedError as wanted:
            kept[wanted.users, wanted.servers] = True
            kept = kept if pays_to_leave_out(instance, kept) else None
        except (
            SolverError
        ):  # what is due at least, guarantees or nominal quotas, may need what was left out
            break
    return share(instance)


@dataclass(frozen=True)
class _Piece:
    """The rounds of one program, their model, the tasks of its groups, and clock times from its program on."""

    rounds: Any
    model: Model
    users: np.ndarray
    servers: np.ndarray
    tasks: np.ndarray
    begun: float
    ended: float
    parent: int | None  # the piece that this one is the rest of

    @classmethod
    def solved(
        cls,
        small: Instance,
        formulation: Formulation,
        rounds_of: Callable[[Program, np.ndarray, int], Rounds],
        users: np.ndarray,
        servers: np.ndarray,
        left_out: LeftOut | None = None,
        parent: int | None = None,
    ) -> _Piece:
        """Run the rounds of one program."""
        model = formulation(small)
        program = model.compile()
        begun = perf_counter()
        block, t = program.leximin()
        rounds = rounds_of(program, np.arange(block.start, block.stop), t)
        rounds.examine = None if left_out is None else left_out.require_dear
        rounds.run()
        tasks = model.evaluate("tasks", rounds.last).reshape(len(small.users), -1)
        return cls(rounds, model, users, servers, tasks, begun, perf_counter(), parent)

    def prices(self, small: Instance, row_duals: np.ndarray, *, alone: bool) -> np.ndarray:
        """Return duals of the program as prices of all servers and resources; ``alone``: it is the only program."""
        resources = np.flatnonzero(small.capacities[self.servers].any(axis=0) | alone)
        prices = np.zeros(small.capacities.shape)
        prices[np.ix_(self.servers, resources)] = prices_of(
            self.model, self.rounds.program, row_duals
        )
        return prices


def _history(pieces: list[_Piece], level: np.ndarray, full: np.ndarray) -> History:
    """Return the rounds as one program for all would have them: by the levels at which somebody is blocked.

    Whoever has all its tasks by then is in the round that reaches them.
    """
    if len(pieces) == 1:
        return list(pieces[0].rounds.history)
    stops = np.unique(level[~full])
    apart = stops[1:] > stops[:-1] * (1 + AGREEMENT)
    begins = stops[np.append(True, apart)[: len(stops)]]
    ends = stops[np.append(apart, True)[: len(stops)]]
    of = np.where(
        full, np.searchsorted(ends, level), np.searchsorted(begins, level, side="right") - 1
    )
    return [(float(level[of == k].max()), np.flatnonzero(of == k)) for k in np.unique(of)]


def _prices(pieces: list[_Piece], small: Instance, servers: Groups) -> np.ndarray | None:
    """Return the prices of the first round that a resource ended: those of the component where it did."""
    priced = [
        piece for piece in pieces if piece.rounds.priced is not None and piece.rounds.has_duals
    ]
    if not priced:
        return None
    first = min(priced, key=lambda piece: float(piece.rounds.priced.x[piece.rounds.t]))
    duals = first.rounds.priced.row_duals
    assert duals is not None
    return np.asarray(first.prices(small, duals, alone=len(pieces) == 1)[servers.of])


def _round_prices(pieces: list[_Piece], small: Instance, servers: Groups) -> RoundPrices | None:
    """Return the prices of all programs, each as one of the whole instance."""
    if not all(piece.rounds.has_duals for piece in pieces):
        return None
    capacities: list[np.ndarray] = []
    caps: list[np.ndarray] = []
    last: dict[int, np.ndarray] = {}  # prices of each piece
    for k, piece in enumerate(pieces):
        for duals in piece.rounds.duals:
            prices = np.maximum(piece.prices(small, duals, alone=len(pieces) == 1), 0.0)
            if piece.parent is not None:
                prices += _too_dear(small, piece, prices, last[piece.parent])
            capacities.append(prices)
            caps.append(prices_of_caps(piece.rounds.program, duals))
            last[k] = prices
    return RoundPrices(np.array(capacities), np.array(caps), servers.of)


def _too_dear(small: Instance, piece: _Piece, prices: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return a multiple of earlier prices that keeps the users of a separate problem on its servers."""
    demands = small.demands[piece.users]
    runs = small.runnable()[piece.users]
    inside = np.isin(np.arange(runs.shape[1]), piece.servers)
    cost_inside = np.where(runs & inside, demands @ prices.T, np.inf).min(axis=1)
    cost_outside = np.where(runs & ~inside, demands @ before.T, np.inf).min(axis=1)
    multiple = np.divide(
        cost_inside, cost_outside, out=np.zeros_like(cost_inside), where=cost_outside > 0
    )
    return np.asarray(before * (2.0 * multiple.max(initial=0.0)))


def _split(grouped: np.ndarray, members: np.ndarray, users: Groups, servers: Groups) -> np.ndarray:
    """Return tasks of users × servers from those of groups × groups.

    ``members`` is what each member gets in all, in tasks of its group's first. The program may have
    given a group more than it asked for (a row is an inequality); scaling down keeps everything
    feasible.
    """
    total = grouped.sum(axis=1)
    fraction = np.divide(
        members, total[users.of], out=np.zeros_like(members), where=total[users.of] > 0
    )
    tasks = grouped[users.of] * (fraction / users.factor)[:, None]
    return np.asarray(tasks[:, servers.of] * servers.factor)
