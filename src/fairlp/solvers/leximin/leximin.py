"""The leximin of an instance: what is alike is merged, what is not connected solved apart, and put together.

Identical servers are one server, users with proportional demands one user; the result is split back in proportion.
Users and servers that are not connected, even through others, are programs of their own: as small as they can be, and
of few rounds each, where one program for all would take the rounds of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ...models.instances.instance import Instance
from ...models.instances.merging import Groups, components, identity, merge_servers, merge_users, select
from ...models.notation.compiler import numbers
from ...models.notation.model import Model
from ...models.programs.program import Program
from ...models.programs.solution import Solution
from ...models.trees.filling import History, RateSegment
from ...tolerances import AGREEMENT
from .rounds import LevelRounds, Members, Rounds, TreeRounds, tightest

Formulation = Callable[[Instance], Model]
TasksAtLevel1 = Callable[[Instance], np.ndarray]


@dataclass
class LeximinResult:
    """Levels and tasks of a leximin, for the original users and servers.

    ``tasks`` is users × servers, ``levels`` by user, ``rounds`` a list of (level, positions of the users frozen there),
    ``prices`` the capacity duals of the first round that a resource ended (None when everyone has all its tasks),
    ``gap`` the largest duality gap of any program solved (None from a back end without duals), ``merged`` the users and
    servers of the program and how many there were before merging; ``uncertain`` the part of itself that a level may be
    off by rounding that grew from round to round.
    """

    tasks: np.ndarray
    levels: np.ndarray
    rounds: History = field(default_factory=list)
    prices: np.ndarray | None = None
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
        ended, runs = max(piece.ended for piece in pieces), [piece.rounds for piece in pieces]
        self.gap = max(one.gap for one in runs) if runs[0].has_duals else None
        self.programs = sum(one.programs for one in runs)
        self.relaxed = max(one.relaxed for one in runs)
        self.uncertain = max(one.errors.largest() for one in runs)
        solve, seconds = sum(one.seconds for one in runs), sum(piece.ended - piece.begun for piece in pieces)
        build, read = ended - seconds - begin, perf_counter() - ended
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
        Instance → Model that says its levels, by user (:meth:`.Model.leximin`), with rows ``capacity`` and the
        definition ``tasks``.
    tasks_at_level_1 : callable
        Instance → tasks at level 1, φ[n]·Γ[n], shape (N,): what the rows of levels give a user at t = 1. It is also
        asked of the merged instance, with weights of 1.
    solver : str
    merge : bool
        Merge identical servers and proportional users first, and solve apart what is not connected.
    options : dict, optional
        Options of the solver.
    """
    begin = perf_counter()
    tasks_per_level = tasks_at_level_1(instance)
    result = LeximinResult.nothing(instance)
    who = np.flatnonzero(instance.runnable().any(axis=1) & (instance.task_limits > 0))
    if not who.size:
        return result
    part = instance if len(who) == len(tasks_per_level) else instance.select_users(who)
    small, servers = merge_servers(part) if merge else (part, identity(len(part.servers)))
    small, users = merge_users(small) if merge else (small, identity(len(part.users)))
    result.merged, result.before = ((len(one.users), len(one.servers)) for one in (small, part))
    given = Members(users.of, tasks_per_level[who] * users.factor, part.task_limits * users.factor)
    plain = small.derived(weights=np.ones(len(small.users)), task_limits=np.full(len(small.users), np.inf))
    apart = list(components(plain)) if merge else []
    if len(apart) < 2:
        apart = [(np.arange(len(small.users)), np.arange(len(small.servers)))]
    chosen, pieces = tightest(solver, options), []
    level, grouped = np.zeros(len(who)), np.zeros((len(small.users), len(small.servers)))
    for some, where in apart:
        own = plain if len(apart) == 1 else select(plain, some, where)
        members = given.of_groups(some)
        own = own.derived(weights=np.bincount(members.of, weights=members.tasks_per_level) / tasks_at_level_1(own))
        rounds = partial(LevelRounds, chosen, members=members, weights=own.weights)
        pieces.append(_Piece.solved(own, formulation, rounds, where))
        level[np.isin(users.of, some)] = pieces[-1].rounds.level
        grouped[np.ix_(some, where)] = pieces[-1].tasks
    result.levels[who] = level
    # a member that has all its tasks has exactly its limit, not level × due rounded
    full = level >= given.limit / given.tasks_per_level
    totals = np.where(full, given.limit, level * given.tasks_per_level)
    result.tasks[who] = _split(grouped, totals, users, servers)
    result.rounds = [(at, who[frozen]) for at, frozen in _history(pieces, level, full)]
    result.prices = _prices(pieces, plain, servers)
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
    """
    begin = perf_counter()
    result = LeximinResult.nothing(instance)
    if not first.active.any() and not first.has.any():
        return result
    small, servers = merge_servers(instance) if merge else (instance, identity(len(instance.servers)))
    chosen = tightest(solver, options)
    piece = _Piece.solved(small, formulation, partial(TreeRounds, chosen, first=first))
    result.rounds = piece.rounds.history
    result.merged, result.before = ((len(one.users), len(one.servers)) for one in (small, instance))
    result.tasks = _split(piece.tasks, piece.rounds.segment.has, identity(len(instance.users)), servers)
    result.prices = _prices([piece], small, servers)
    result.conclude([piece], begin)
    return result


@dataclass(frozen=True)
class _Piece:
    """The rounds of one program, their model, the tasks of its groups, and clock times from its program on."""

    rounds: Any
    model: Model
    servers: np.ndarray
    tasks: np.ndarray
    begun: float
    ended: float

    @classmethod
    def solved(
        cls,
        small: Instance,
        formulation: Formulation,
        rounds_of: Callable[[Program, np.ndarray, int], Rounds],
        servers: np.ndarray | None = None,
    ) -> _Piece:
        """Run the rounds of one program."""
        model = formulation(small)
        program = model.compile()
        begun = perf_counter()
        block, t = program.leximin()
        rounds = rounds_of(program, np.arange(block.start, block.stop), t)
        rounds.run()
        tasks = model.evaluate("tasks", rounds.last).reshape(len(small.users), -1)
        where = np.arange(len(small.servers)) if servers is None else servers
        return cls(rounds, model, where, tasks, begun, perf_counter())


def _history(pieces: list[_Piece], level: np.ndarray, full: np.ndarray) -> History:
    """Return the rounds as one program for all would have them: by the levels at which somebody is blocked.

    Whoever has all its tasks by then is in the round that reaches them.
    """
    if len(pieces) == 1:
        return list(pieces[0].rounds.history)
    stops = np.unique(level[~full])
    apart = stops[1:] > stops[:-1] * (1 + AGREEMENT)
    begins, ends = stops[np.append(True, apart)[: len(stops)]], stops[np.append(apart, True)[: len(stops)]]
    of = np.where(full, np.searchsorted(ends, level), np.searchsorted(begins, level, side="right") - 1)
    return [(float(level[of == k].max()), np.flatnonzero(of == k)) for k in np.unique(of)]


def _prices(pieces: list[_Piece], small: Instance, servers: Groups) -> np.ndarray | None:
    """Return the prices of the first round that a resource ended: those of the component where it did."""
    priced = [piece for piece in pieces if piece.rounds.priced is not None and piece.rounds.has_duals]
    if not priced:
        return None
    first = min(priced, key=lambda piece: float(piece.rounds.priced.x[piece.rounds.t]))
    there = np.flatnonzero(small.capacities[first.servers].any(axis=0) | (len(pieces) == 1))
    prices = np.zeros(small.capacities.shape)
    prices[np.ix_(first.servers, there)] = prices_of(first.model, first.rounds.priced)
    return np.asarray(prices[servers.of])


def prices_of(model: Model, solution: Solution) -> np.ndarray:
    """Return the duals of the capacity rows per unit of resource, servers × resources."""
    assert solution.row_duals is not None
    block = solution.program.row_block("capacity")
    # a row that nobody uses (no capacity, or none that its users may have) says 0 ≤ c: its dual prices nothing
    used = np.bincount(solution.program.A.indices, minlength=solution.program.n_rows)[block.slice] > 0
    duals = np.where(used, solution.row_duals[block.slice], 0.0).reshape(-1, block.shape[-1])
    if "capacity_unit" in model.definitions:
        duals = duals / numbers(model.definitions["capacity_unit"]).values
    return np.asarray(duals)


def _split(grouped: np.ndarray, members: np.ndarray, users: Groups, servers: Groups) -> np.ndarray:
    """Return tasks of users × servers from those of groups × groups.

    ``members`` is what each member gets in all, in tasks of its group's first. The program may have given a group more
    than it asked for (a row is an inequality); scaling down keeps everything feasible.
    """
    total = grouped.sum(axis=1)
    fraction = np.divide(members, total[users.of], out=np.zeros_like(members), where=total[users.of] > 0)
    tasks = grouped[users.of] * (fraction / users.factor)[:, None]
    return np.asarray(tasks[:, servers.of] * servers.factor)
