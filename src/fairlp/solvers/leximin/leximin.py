"""The leximin of an instance: what is alike is merged, what is not connected solved apart, and put together.

Identical servers are one server, users with proportional demands one user; the result is split back in proportion.
Users and servers that are not connected, even through others, are programs of their own: as small as they can be, and
of few rounds each, where one program for all would take the rounds of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ...models.instances.instance import Instance
from ...models.instances.merging import Groups, components, identity, merge_servers, merge_users, select
from ...models.notation.model import Model
from ...tolerances import SAME_LEVEL
from .rounds import LeximinResult, Members, Rounds, opened, prices_of

Formulation = Callable[[Instance], Model]
Entitled = Callable[[Instance], np.ndarray]


def leximin(
    instance: Instance,
    formulation: Formulation,
    entitled: Entitled,
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
    entitled : callable
        Instance → tasks at level 1, φ[n]·Γ[n], shape (N,): what the rows of levels give a user at t = 1. It is also
        asked of the merged instance, with weights of 1.
    solver : str
    merge : bool
        Merge identical servers and proportional users first, and solve apart what is not connected.
    options : dict, optional
        Options of the solver.
    """
    begin = perf_counter()
    due = entitled(instance)
    able = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    result = LeximinResult(np.zeros((len(instance.users), len(instance.servers))), np.zeros(len(instance.users)))
    if not able.any():
        return result
    who = np.flatnonzero(able)
    part = instance if able.all() else instance.select_users(who)
    small, servers = merge_servers(part) if merge else (part, identity(len(part.servers)))
    small, users = merge_users(small) if merge else (small, identity(len(part.users)))
    result.merged, result.before = ((len(one.users), len(one.servers)) for one in (small, part))
    given = Members(users.of, due[who] * users.factor, part.task_limits * users.factor)
    plain = small.derived(weights=np.ones(len(small.users)), task_limits=np.full(len(small.users), np.inf))
    apart = list(components(plain)) if merge else []
    if len(apart) > 1:
        pieces = [
            _piece(select(plain, some, where), given.of_groups(some), formulation, entitled, solver, options)
            for some, where in apart
        ]
    else:
        pieces = [_piece(plain, given, formulation, entitled, solver, options)]
        apart = [(np.arange(len(small.users)), np.arange(len(small.servers)))]
    solved = perf_counter()
    level, grouped = np.zeros(len(who)), np.zeros((len(small.users), len(small.servers)))
    for piece, (some, where) in zip(pieces, apart, strict=True):
        level[np.isin(users.of, some)] = piece.rounds.level
        grouped[np.ix_(some, where)] = piece.grouped
    result.levels[who] = level
    # a member that has all its tasks has exactly its limit, not level × due rounded
    full = level >= given.limit / given.due
    totals = np.where(full, given.limit, level * given.due)
    result.tasks[who] = _split(grouped, totals, users, servers)
    result.rounds = [(at, who[frozen]) for at, frozen in _history(pieces, level, full)]
    result.prices = _prices(pieces, apart, plain, servers)
    result.gap = max(piece.rounds.gap for piece in pieces) if pieces[0].rounds.has_duals else None
    result.programs = sum(piece.rounds.programs for piece in pieces)
    result.relaxed = max(piece.rounds.relaxed for piece in pieces)
    result.uncertain = max(piece.rounds.errors.largest() for piece in pieces)
    seconds = sum(piece.rounds.seconds for piece in pieces)
    result.clocked(begin, solved - sum(piece.seconds for piece in pieces), solved, seconds)
    return result


@dataclass(frozen=True)
class _Piece:
    """The rounds of one component, their model, the tasks of its groups, and the seconds from its program on."""

    rounds: Rounds
    model: Model
    grouped: np.ndarray
    seconds: float


def _piece(
    small: Instance,
    members: Members,
    formulation: Formulation,
    entitled: Entitled,
    solver: str,
    options: dict[str, Any] | None,
) -> _Piece:
    """Run the rounds of one program."""
    small = small.derived(weights=np.bincount(members.of, weights=members.due) / entitled(small))
    model = formulation(small)
    program = model.compile()
    begin = perf_counter()
    session, has_duals = opened(program, solver, options)
    block, t = program.leximin()
    rounds = Rounds(session, np.arange(block.start, block.stop), t, members, small.weights, has_duals)
    rounds.run()
    assert rounds.last is not None
    grouped = model.evaluate("tasks", rounds.last).reshape(len(small.users), -1)
    return _Piece(rounds, model, grouped, perf_counter() - begin)


def _history(pieces: list[_Piece], level: np.ndarray, full: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Return the rounds as one program for all would have them: by the levels at which somebody is blocked.

    Whoever has all its tasks by then is in the round that reaches them.
    """
    if len(pieces) == 1:
        return pieces[0].rounds.history
    stops = np.unique(level[~full])
    apart = stops[1:] > stops[:-1] * (1 + SAME_LEVEL)
    begins, ends = stops[np.append(True, apart)[: len(stops)]], stops[np.append(apart, True)[: len(stops)]]
    of = np.where(full, np.searchsorted(ends, level), np.searchsorted(begins, level, side="right") - 1)
    return [(float(level[of == k].max()), np.flatnonzero(of == k)) for k in np.unique(of)]


def _prices(
    pieces: list[_Piece], apart: list[tuple[np.ndarray, np.ndarray]], small: Instance, servers: Groups
) -> np.ndarray | None:
    """Return the prices of the first round that a resource ended: those of the component where it did."""
    priced = [
        (float(solution.x[piece.rounds.t]), k, solution)
        for k, piece in enumerate(pieces)
        if (solution := piece.rounds.priced) is not None and solution.x is not None and solution.row_duals is not None
    ]
    if not priced:
        return None
    _, first, solution = min(priced, key=lambda one: one[:2])
    if len(pieces) == 1:
        return prices_of(pieces[first].model, solution, servers)
    where = apart[first][1]
    there = np.flatnonzero(small.capacities[where].any(axis=0))
    prices = np.zeros(small.capacities.shape)
    prices[np.ix_(where, there)] = prices_of(pieces[first].model, solution, identity(len(where)))
    return np.asarray(prices[servers.of])


def _split(grouped: np.ndarray, members: np.ndarray, users: Groups, servers: Groups) -> np.ndarray:
    """Return tasks of users × servers from those of groups × groups.

    ``members`` is what each member gets in all, in tasks of its group's first. The program may have given a group more
    than it asked for (a row is an inequality); scaling down keeps everything feasible.
    """
    total = grouped.sum(axis=1)
    fraction = np.divide(members, total[users.of], out=np.zeros_like(members), where=total[users.of] > 0)
    tasks = grouped[users.of] * (fraction / users.factor)[:, None]
    return np.asarray(tasks[:, servers.of] * servers.factor)
