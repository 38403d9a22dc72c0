"""The rounds of a leximin over pairs: all connected components at once, each with levels of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ...models.instances.merging import connected
from ...tolerances import MATRIX_FREE_FLOOR, MATRIX_FREE_SETTLED
from .equations import Effort
from .method import Iterate, Rows, relative_gap, solve
from .servers import Fleet, Pairs


@dataclass(frozen=True)
class Sharing:
    """What is shared: users with demands, rows of servers with what all of them have, and the pairs that can run.

    Attributes
    ----------
    demands, capacities : ndarray, shape (N, R) and (K, R)
    user, server : ndarray of int, shape (E,)
        Sorted by server, then user.
    due, limits : ndarray, shape (N,)
        Tasks at level 1, and the most that a user can use.
    """

    demands: np.ndarray
    capacities: np.ndarray
    user: np.ndarray
    server: np.ndarray
    due: np.ndarray
    limits: np.ndarray


@dataclass(frozen=True)
class Round:
    """One round: who rose, who had a floor, which prices bound the level, and who stopped.

    Attributes
    ----------
    users, servers : ndarray of int
        Positions of those in the round.
    group : ndarray of int
        Component of each of the users.
    rows : Rows
        What each had to have, as a level.
    prices : ndarray
        By server and resource, in levels of the component per unit.
    lower, upper : ndarray
        By component: the level that tasks have, and the one that prices allow.
    stopped : ndarray of bool
        Who of the users stopped.
    """

    users: np.ndarray
    servers: np.ndarray
    group: np.ndarray
    rows: Rows
    prices: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stopped: np.ndarray

    @property
    def gap(self) -> float:
        """Largest relative gap of a component."""
        return float(relative_gap(self.lower, self.upper).max())


@dataclass
class Leximin:
    """Tasks of each pair, and how they came about.

    Attributes
    ----------
    tasks : ndarray, shape (E,)
    levels : ndarray, shape (N,)
        Where users stopped; NaN who did not.
    rounds : list of Round
    iterations, steps, passes : int
        Interior-point iterations, conjugate-gradient steps, passes over the pairs.
    """

    tasks: np.ndarray
    levels: np.ndarray
    rounds: list[Round] = field(default_factory=list)
    iterations: int = 0
    steps: int = 0
    passes: int = 0


def caps_of(limits: np.ndarray, due: np.ndarray) -> np.ndarray:
    """Return task limits as levels, 0 for who can run nothing."""
    with np.errstate(over="ignore"):  # a limit that is no limit
        return np.asarray(np.divide(limits, due, out=np.zeros_like(due), where=due > 0))


class _State:
    """Who is where between rounds; positions of the users, servers and pairs that the iterate still has."""

    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing
        n_users = len(sharing.due)
        caps = caps_of(sharing.limits, sharing.due)
        self.pairs = np.flatnonzero(caps[sharing.user] > 0)
        link = sharing.user[self.pairs], sharing.server[self.pairs]
        self.users, user = np.unique(link[0], return_inverse=True)
        self.servers, server = np.unique(link[1], return_inverse=True)
        self.found = Leximin(np.zeros(len(sharing.user)), np.zeros(n_users))
        self.found.levels[self.users] = np.nan
        if not self.pairs.size:
            return
        group, of_server = connected(user, server, (len(self.users), len(self.servers)))
        each, capacities = (
            sharing.demands[self.users] * sharing.due[self.users][:, None],
            sharing.capacities[self.servers],
        )
        pool, wanted = (np.zeros((int(group.max()) + 1, capacities.shape[1])) for _ in range(2))
        np.add.at(pool, of_server, capacities)
        np.add.at(wanted, group, each)
        #: level of each component that its pool allows: the unit of its levels
        self.unit = 1.0 / np.divide(wanted, pool, out=np.zeros_like(pool), where=wanted > 0).max(axis=1)
        each = each * self.unit[group][:, None]
        needs = np.empty((capacities.shape[1], len(user)))
        for r in range(len(needs)):
            of_user, of_row = each[user, r], capacities[server, r]
            needs[r] = np.divide(of_user, of_row, out=np.zeros_like(of_user), where=of_user > 0)
        worth = np.divide(capacities, pool[of_server], out=np.zeros_like(capacities), where=capacities > 0)
        self.problem = Pairs(user, server, needs, (of_server, group), worth)
        rows = np.ones(len(group)), np.zeros(len(group)), caps[self.users] / self.unit[group]
        self.rows, self.fixed = Rows(*rows), np.zeros(len(group), dtype=bool)
        self.before = np.zeros(self.problem.n_groups)

    def restrict(self, alive: np.ndarray) -> None:
        """Leave the groups out in which nobody can rise."""
        self.problem, kept = self.problem.of_groups(alive)
        self.users, self.servers, self.pairs = (
            self.users[kept.users],
            self.servers[kept.servers],
            self.pairs[kept.pairs],
        )
        self.rows = Rows(*(getattr(self.rows, name)[kept.users] for name in ("slope", "floor", "cap")))
        self.fixed, self.unit, self.before = self.fixed[kept.users], self.unit[alive], self.before[alive]

    def close(self, iterate: Iterate, aim: float) -> bool:
        """Record a round, and stop who cannot rise; return whether somebody is left."""
        before, group, unit = self.rows, iterate.group, self.unit
        x, prices = iterate.best()
        user = iterate.pairs.user
        higher = iterate.lower >= self.before
        kept = higher[group][user]
        tasks = x * (self.sharing.due[self.users] * unit[group])[user]
        self.found.tasks[self.pairs[kept]] = tasks[kept]
        settled = higher & (relative_gap(iterate.lower, iterate.upper) <= max(aim, MATRIX_FREE_SETTLED))
        self.before = np.maximum(iterate.lower, self.before)
        level = self.before[group]
        rising = before.slope > 0
        capped = rising & (before.cap * (1 - aim / 2) <= level)
        blocked = rising & ~capped & iterate.blocked()
        moving = iterate.by_group(capped | blocked) > 0
        stopped = (capped | blocked | (rising & ~moving[group])) & settled[group]
        levels = np.where(capped, np.minimum(before.cap, level), level)
        self.found.levels[self.users[stopped]] = (np.where(capped, before.cap, level) * unit[group])[stopped]
        capacity = self.sharing.capacities[self.servers]
        prices = np.divide(prices, capacity, out=np.zeros_like(capacity), where=capacity > 0)
        prices *= (unit / iterate.by_group(before.slope))[iterate.pairs.group][:, None]
        scaled = Rows(before.slope, before.floor * unit[group], before.cap * unit[group])
        bounds = self.before * unit, iterate.upper * unit
        self.found.rounds.append(Round(self.users, self.servers, group, scaled, prices, *bounds, stopped))
        floor = np.where(stopped, levels * (1 - MATRIX_FREE_FLOOR * aim), before.floor)
        self.rows = Rows(np.where(stopped, 0.0, before.slope), floor, before.cap)
        self.fixed = self.fixed | stopped
        alive = (iterate.by_group(rising & ~stopped) > 0) & settled
        if alive.any() and not alive.all():
            self.restrict(alive)
        return bool(alive.any())


def leximin(
    sharing: Sharing, aim: float, *, time_limit: float = np.inf, rounds: int | None = None, client: Any = None
) -> Leximin:
    """Return tasks whose levels are the leximin's, each round's to a certified gap of at most ``aim``.

    Whoever stopped has just its level in the rounds that follow, and a free value.

    Parameters
    ----------
    sharing : Sharing
    aim : float
        Relative gap to end a round at. What is certified may be larger, where the time is up or rounding ends it.
    time_limit : float
        Seconds, after which no iteration begins.
    rounds : int, optional
        Most rounds; those who could rise further then share what is left in proportion.
    client : distributed.Client, optional
        Servers are divided over its workers.
    """
    from threadpoolctl import threadpool_limits

    # NumPy's and SciPy's threads would wait for each other, spinning
    with threadpool_limits(1):
        return _leximin(sharing, aim, perf_counter() + time_limit, rounds, client)


def _leximin(sharing: Sharing, aim: float, deadline: float, rounds: int | None, client: Any) -> Leximin:
    state, effort = _State(sharing), Effort()
    found = state.found
    if not state.pairs.size:
        return found
    going = True
    while going:
        iterate, iterations = _solved(state, aim * (1 - 2 * MATRIX_FREE_FLOOR), deadline, effort, client)
        found.iterations += iterations
        going = state.close(iterate, aim) and len(found.rounds) != rounds and perf_counter() < deadline
        effort.strong = np.inf
    found.steps, found.passes = effort.steps, effort.passes
    _trim(sharing, found)
    return found


def _solved(state: _State, aim: float, deadline: float, effort: Effort, client: Any) -> tuple[Iterate, int]:
    """Return the best iterate of a round, and the iterations.

    Where somebody stopped at its cap on the way and the method got stuck, it starts afresh with what these have: there
    may be no room between that and what they could have.
    """
    best = Iterate(state.problem, state.rows, state.fixed, Fleet(state.problem, client), effort)
    iterations = solve(best, aim, deadline)
    last, gap = best, _largest_gap(best)
    while gap > aim and perf_counter() < deadline:
        fixed = state.fixed | ((state.rows.slope > 0) & (last.rows.slope == 0))
        if (fixed == last.fixed).all():
            break
        last = Iterate(state.problem, last.rows, fixed, Fleet(state.problem, client), effort)
        last.given = state.rows
        iterations += solve(last, aim, deadline)
        if _largest_gap(last) < gap:
            best, gap = last, _largest_gap(last)
    return best, iterations


def _largest_gap(iterate: Iterate) -> float:
    return float(relative_gap(iterate.lower, iterate.upper).max())


def _trim(sharing: Sharing, found: Leximin) -> None:
    """Take what users have beyond where they stopped, and give the rest to those who did not, in proportion."""
    stopped = ~np.isnan(found.levels)
    most = np.where(stopped, np.where(stopped, found.levels, 0.0) * sharing.due, sharing.limits)
    _cut(sharing, found, most)
    if not stopped.all():
        rising = np.where(stopped[sharing.user], 0.0, found.tasks)
        factor = np.full(len(sharing.capacities), np.inf)
        for r in range(sharing.demands.shape[1]):
            demand = sharing.demands[sharing.user, r]
            used, grows = (
                np.bincount(sharing.server, weights=part * demand, minlength=len(factor))
                for part in (found.tasks - rising, rising)
            )
            left = np.maximum(sharing.capacities[:, r] - used, 0.0)
            factor = np.minimum(factor, np.divide(left, grows, out=np.full(len(factor), np.inf), where=grows > 0))
        factor = np.where(np.isfinite(factor), np.maximum(factor, 1.0), 1.0)
        found.tasks += rising * (factor[sharing.server] - 1.0)
        _cut(sharing, found, most)
    over = np.ones(len(sharing.capacities))
    for r in range(sharing.demands.shape[1]):
        weights = found.tasks * sharing.demands[sharing.user, r]
        used = np.bincount(sharing.server, weights=weights, minlength=len(over))
        over = np.maximum(over, np.divide(used, sharing.capacities[:, r], out=np.ones_like(used), where=used > 0))
    found.tasks /= over[sharing.server]


def _cut(sharing: Sharing, found: Leximin, most: np.ndarray) -> None:
    """Let nobody have more than this."""
    total = np.bincount(sharing.user, weights=found.tasks, minlength=len(most))
    part = np.divide(most, total, out=np.ones_like(total), where=total > most)
    found.tasks *= part[sharing.user]
