"""The rounds of a leximin over pairs: all connected components at once, each with levels of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ...models.instances.merging import connected
from ...models.instances.problem import quotients
from ...tolerances import (
    FEASIBILITY,
    MATRIX_FREE_FLOOR,
    MATRIX_FREE_PART,
    NOISE,
    ROUNDING,
)
from .equations import Effort, Equations
from .servers import CLEAR, Pairs, ServerBlocks, towards

# Mehrotra's predictor–corrector over pairs, with steps that are as exact as they need to be, and a certified gap.


def highest_level(
    worth: np.ndarray, lowest: np.ndarray, rows: tuple[np.ndarray, np.ndarray, np.ndarray], group: np.ndarray
) -> np.ndarray:
    """Return the highest level of each group that prices allow.

    Everyone pays at least its lowest cost for each unit of what it must have, and all of them no more than capacities
    are worth: Σ_n lowest[n]·(what n must have at level T) ≤ Σ p·c, which is increasing in T. Any prices ≥ 0 will do.

    Parameters
    ----------
    worth : ndarray, shape (G,)
        Σ p·c of each group.
    lowest : ndarray, shape (N,)
        The lowest cost of a unit to each user.
    rows : (slope, floor, cap), each of shape (N,)
        At level T a user must have min(slope·T, cap), or its floor where the slope is 0.
    group : ndarray of int, shape (N,)

    Returns
    -------
    ndarray, shape (G,)
        No more than the largest cap of those who rise.
    """
    slope, floor, cap = rows
    size = len(worth)
    rising = slope > 0
    most = np.zeros(size)
    np.maximum.at(most, group[rising], cap[rising])
    floors = np.bincount(group, weights=np.where(rising, 0.0, floor * lowest), minlength=size)
    left = worth - floors + ROUNDING * (worth + floors)  # a sum's rounding must not make the bound too low
    full = np.zeros(len(slope), dtype=bool)
    while True:  # from below: caps that are passed leave more for the others
        growth = np.bincount(group, weights=np.where(rising & ~full, lowest, 0.0), minlength=size)
        spent = (1 - ROUNDING) * np.bincount(group, weights=np.where(full, cap, 0.0) * lowest, minlength=size)
        level = np.divide(left - spent, growth, out=np.full(size, np.inf), where=growth > 0)
        level = np.minimum(np.maximum(level, 0.0), most)
        passed = rising & (cap < level[group])
        if not (passed & ~full).any():
            return np.asarray(level)
        full |= passed


MOST_ITERATIONS, _BOUNDARY, _CAUTIOUS, _SHORT = 100, 0.995, 0.95, 0.9
#: The part of its lowest price that a user has as its value at the start; the part of the smallest X that t has.
_VALUE, _LEVEL = 0.5, 0.5
#: Weights of the corrector that are tried, and how much longer a step another one must bring.
_WEIGHTS, _BETTER = np.array([1.0, 0.7, 0.4, 0.1]), 0.001
#: Centrality correctors of a step, where the equations are factored: at most so many, while a step is shorter than
#: _SHORT; how much longer a step they aim at, and what part of that they must bring.
_CORRECTORS, _LONGER, _GAIN = 2, 0.5, 0.1
#: The method ends after so many iterations that brought none of gap, products and residuals down by this factor.
_PATIENCE, _PROGRESS = 8, 0.9


#: du, dv, dt
Change = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class LevelRows:
    """What users must have; all of shape (N,).

    Attributes
    ----------
    slope : ndarray
        1 for who rises with its group's level, 0 for who has a floor.
    floor, cap : ndarray
        Of those who do not rise, and of those who do (infinite: none); who reaches its cap has it as its floor.
    """

    slope: np.ndarray
    floor: np.ndarray
    cap: np.ndarray


def relative_gap(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return 1 − lower/upper, 1 where the upper one is infinite."""
    known = np.isfinite(upper) & (upper > 0)
    return np.where(known, 1.0 - np.minimum(lower / np.where(known, upper, 1.0), 1.0), 1.0)


class PairIterate:
    """The users' part of a point; the servers' is with them.

    Parameters
    ----------
    pairs : Pairs
    rows : LevelRows
    fixed : ndarray of bool, shape (N,)
        Who has its floor exactly: its value is free, and nothing of it need vanish. Whoever stopped in an earlier round
        is one, since there is no room between what it has and what it could have.
    fleet : ServerBlocks
    effort : Effort
    """

    def __init__(self, pairs: Pairs, rows: LevelRows, fixed: np.ndarray, fleet: ServerBlocks, effort: Effort) -> None:
        self.pairs, self.rows, self.fixed, self.fleet, self.effort = pairs, rows, fixed, fleet, effort
        self.given = rows  # what bounds are of, whoever stops at its cap meanwhile
        self.group, self.groups = pairs.user_group, pairs.n_groups
        parts = fleet.ask("begin")
        totals = fleet.sum([part[0] for part in parts])
        self.t = _LEVEL * self.least(totals)
        self.v = _VALUE * fleet.lowest([part[1] for part in parts])
        fleet.ask("value", self.v)
        self.rescale()
        self.u = np.where(fixed, 0.0, totals - self.t[self.group])
        self.terms = sum(fleet.ask("terms")) + int((~fixed).sum())
        self.lower, self.upper = np.zeros(self.groups), np.full(self.groups, np.inf)

    def by_group(self, values: np.ndarray) -> np.ndarray:
        """Return sums over users by group."""
        return np.bincount(self.group, weights=values, minlength=self.groups)

    def least(self, totals: np.ndarray) -> np.ndarray:
        """Return the lowest total among those who rise, by group."""
        low, rising = np.full(self.groups, np.inf), self.rows.slope > 0
        np.minimum.at(low, self.group[rising], totals[rising])
        return low

    def rescale(self) -> None:
        """Make the values of those who rise 1 on average, in every group, and prices go with them."""
        slope = self.rows.slope
        factor = self.by_group(slope) / self.by_group(slope * self.v)
        self.v = self.v * factor[self.group]
        self.fleet.ask("rescale", factor=factor)

    def measure(self) -> None:
        """Compute residuals, the mean product and both bounds here."""
        parts = self.fleet.ask("measure", self.v, groups=self.groups)
        self.effort.passes += 2
        rows, level = self.rows, self.t[self.group]
        self.total = self.fleet.sum([part[0] for part in parts])
        within = self.fleet.sum([part[1] for part in parts])
        low = self.fleet.lowest([part[2] for part in parts])
        worth = sum(part[3] for part in parts)
        self.off = self.total - np.where(rows.slope > 0, level, rows.floor) - self.u
        free = ~self.fixed
        self.mean = (sum(part[4] for part in parts) + float(self.u[free] @ self.v[free])) / self.terms
        upper = highest_level(worth, low, (self.given.slope, self.given.floor, self.given.cap), self.group)
        lower = np.minimum(self.least(within), self.most())
        lower[self.group[(rows.slope == 0) & (within < rows.floor * (1 - FEASIBILITY))]] = 0.0
        primal, dual = lower > self.lower, upper < self.upper
        self.fleet.ask("keep", primal=primal, dual=dual)
        self.lower, self.upper = np.where(primal, lower, self.lower), np.where(dual, upper, self.upper)

    def most(self) -> np.ndarray:
        """Return the largest cap among those who rise, by group."""
        most, rising = np.zeros(self.groups), self.rows.slope > 0
        np.maximum.at(most, self.group[rising], self.rows.cap[rising])
        return most

    def stop_at_caps(self, aim: float) -> None:
        """Stop those who have reached their cap, but for the aim; one at least goes on.

        They keep what was reached: there may be no more, and a floor too high would leave nobody anything.
        """
        rows, lower = self.rows, self.lower[self.group]
        passed = (rows.slope > 0) & (rows.cap * (1 - aim) <= lower) & (rows.cap < self.most()[self.group])
        passed &= rows.cap <= self.upper[self.group]
        if passed.any():
            floor = np.where(passed, np.minimum(rows.cap, lower), rows.floor)
            room = np.maximum(self.total - floor, (1 - _BOUNDARY) * self.u)
            self.u = np.where(passed, room, self.u)
            self.rows = LevelRows(np.where(passed, 0.0, rows.slope), floor, rows.cap)
            self.rescale()
            self.measure()

    def blocked(self) -> np.ndarray:
        """Return for whom no server has all that it needs left, or whose value exceeds its room; shape (N,) of bool."""
        room = quotients(self.u, self.t[self.group])
        mean = sum(self.fleet.ask("worth", groups=self.groups)) / sum(self.fleet.ask("rows_used", groups=self.groups))
        parts = self.fleet.ask("blocked", mean=mean)
        everywhere = self.fleet.lowest([np.where(part, 1.0, 0.0) for part in parts]) > 0
        return np.asarray(everywhere | (self.v > CLEAR * room))

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tasks of the lower bounds and the prices of the upper ones."""
        found = self.fleet.ask("best")
        x, prices = (np.concatenate([part[k] for part in found]) for k in (0, 1))
        return x, prices

    def step(self) -> None:
        """Go to the next point."""
        u, v = self.u, self.v
        own = np.divide(u, v, out=np.zeros_like(u), where=~self.fixed)
        equations = Equations(self.fleet, (own, self.fixed), self.rows.slope, self.group, self.effort)
        step = self._direction(equations, -u * v, None)
        primal, dual = self._lengths([step], np.zeros(1))[0]
        products = sum(self.fleet.ask("products", primal=primal, dual=dual))
        free = ~self.fixed
        products += float((u + primal * step[0])[free] @ (v + dual * step[1])[free])
        part = min(max(products / self.terms / self.mean, 0.0) ** 3, 1.0)
        aim = max(part, NOISE) * self.mean
        more = self._direction(equations, aim - step[0] * step[1], aim)
        step, (primal, dual) = self._weighted(step, more)
        for _ in range(_CORRECTORS if equations.direct else 0):
            if min(primal, dual) > _SHORT:
                break
            trial = min(1.0, primal + _LONGER), min(1.0, dual + _LONGER)
            change = towards((u + trial[0] * step[0]) * (v + trial[1] * step[1]), aim)
            step, (longer, higher) = self._weighted(step, self._direction(equations, change, aim, trial))
            gained, primal, dual = longer + higher - primal - dual, longer, higher
            if gained < _GAIN * _LONGER:
                break
        primal, dual = (_part(length) * length for length in (primal, dual))
        self.fleet.ask("move", primal=primal, dual=dual)
        self.u, self.v, self.t = u + primal * step[0], v + dual * step[1], self.t + primal * step[2]

    def _direction(
        self, equations: Equations, uv: np.ndarray, aim: float | None, trial: tuple[float, float] | None = None
    ) -> Change:
        """Return du, dv, dt that change the products so; the servers keep the rest."""
        off = self.off if aim is None else 0.0
        of = np.divide(uv, self.v, out=np.zeros_like(uv), where=~self.fixed)
        right = of - off + self.fleet.sum(self.fleet.ask("right", aim=aim, trial=trial))
        wanted = np.maximum(self.u, (self.mean if aim is None else aim) / abs(self.v))
        dv, dt = equations.solve(right, wanted)
        totals = self.fleet.sum(self.fleet.ask("direction", dv, name="step" if aim is None else "more"))
        self.effort.passes += 4
        return np.where(self.fixed, 0.0, totals - self.rows.slope * dt[self.group] + off), dv, dt

    def _weighted(self, step: Change, more: Change) -> tuple[Change, np.ndarray]:
        """Return step + weight·more with the weights that allow the longest steps (primal, dual), and their lengths."""
        lengths = self._lengths([step, more], _WEIGHTS)
        best = [0, 0]
        for side in (0, 1):
            for k in range(1, len(_WEIGHTS)):
                if lengths[k, side] > lengths[best[side], side] + _BETTER:
                    best[side] = k
        primal, dual = float(_WEIGHTS[best[0]]), float(_WEIGHTS[best[1]])
        self.fleet.ask("combine", primal=primal, dual=dual)
        whole = step[0] + primal * more[0], step[1] + dual * more[1], step[2] + primal * more[2]
        return whole, lengths[best, [0, 1]]

    def _lengths(self, steps: list[Change], weights: np.ndarray) -> np.ndarray:
        """Return how far primal and dual variables can go, at most 1, for each weight; shape (W, 2)."""
        steepest = np.min(self.fleet.ask("steepest", weights=weights), axis=0)
        free = ~self.fixed
        for k, value in enumerate((self.u[free], self.v[free])):
            for w, weight in enumerate(weights):
                moved = steps[0][k][free] + (weight * steps[1][k][free] if len(steps) > 1 else 0.0)
                steepest[w, k] = min(steepest[w, k], float((moved / value).min()))
        return np.where(steepest >= -1.0, 1.0, -1.0 / np.minimum(steepest, -1.0))


def _part(length: float) -> float:
    return _BOUNDARY if length > _SHORT else _CAUTIOUS


def solve(iterate: PairIterate, aim: float, deadline: float) -> int:
    """Go on until the gap is at most ``aim`` in every group, or the deadline has come; return the iterations.

    The gap may stay larger where rounding or the equations' own errors end the method; it is certified all the same.
    """
    best, since, iterations = np.full(3, np.inf), 0, 0
    while True:
        iterate.measure()
        gap = float(relative_gap(iterate.lower, iterate.upper).max())
        now = np.array([gap, iterate.mean, abs(iterate.off).max()])
        since = 0 if (now < _PROGRESS * best).any() else since + 1
        best = np.minimum(now, best) if since == 0 else best
        stuck = since > _PATIENCE or iterations == MOST_ITERATIONS or not np.isfinite(iterate.mean)
        if gap <= aim or stuck or perf_counter() > deadline:
            return iterations
        iterate.stop_at_caps(aim * MATRIX_FREE_PART)
        iterate.step()
        iterations += 1


@dataclass(frozen=True)
class SharingByPairs:
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
    tasks_per_level: np.ndarray
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
    rows : LevelRows
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
    rows: LevelRows
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


def caps_of(limits: np.ndarray, tasks_per_level: np.ndarray) -> np.ndarray:
    """Return task limits as levels, 0 for who can run nothing."""
    with np.errstate(over="ignore"):  # a limit that is no limit
        return quotients(limits, tasks_per_level)


class _State:
    """Who is where between rounds; positions of the users, servers and pairs that the iterate still has."""

    def __init__(self, sharing: SharingByPairs) -> None:
        self.sharing = sharing
        n_users = len(sharing.tasks_per_level)
        caps = caps_of(sharing.limits, sharing.tasks_per_level)
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
            sharing.demands[self.users] * sharing.tasks_per_level[self.users][:, None],
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
        self.rows, self.fixed = LevelRows(*rows), np.zeros(len(group), dtype=bool)
        self.before = np.zeros(self.problem.n_groups)

    def restrict(self, alive: np.ndarray) -> None:
        """Leave the groups out in which nobody can rise."""
        self.problem, kept = self.problem.of_groups(alive)
        self.users, self.servers, self.pairs = (
            self.users[kept.users],
            self.servers[kept.servers],
            self.pairs[kept.pairs],
        )
        self.rows = LevelRows(*(getattr(self.rows, name)[kept.users] for name in ("slope", "floor", "cap")))
        self.fixed, self.unit, self.before = self.fixed[kept.users], self.unit[alive], self.before[alive]

    def close(self, iterate: PairIterate, aim: float) -> bool:
        """Record a round, and stop who cannot rise; return whether somebody is left."""
        before, group, unit = self.rows, iterate.group, self.unit
        x, prices = iterate.best()
        user = iterate.pairs.user
        higher = iterate.lower >= self.before
        kept = higher[group][user]
        tasks = x * (self.sharing.tasks_per_level[self.users] * unit[group])[user]
        self.found.tasks[self.pairs[kept]] = tasks[kept]
        settled = higher & (relative_gap(iterate.lower, iterate.upper) <= max(aim, MATRIX_FREE_PART))
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
        prices = quotients(prices, capacity)
        prices *= (unit / iterate.by_group(before.slope))[iterate.pairs.group][:, None]
        scaled = LevelRows(before.slope, before.floor * unit[group], before.cap * unit[group])
        bounds = self.before * unit, iterate.upper * unit
        self.found.rounds.append(Round(self.users, self.servers, group, scaled, prices, *bounds, stopped))
        floor = np.where(stopped, levels * (1 - MATRIX_FREE_FLOOR * aim), before.floor)
        self.rows = LevelRows(np.where(stopped, 0.0, before.slope), floor, before.cap)
        self.fixed = self.fixed | stopped
        alive = (iterate.by_group(rising & ~stopped) > 0) & settled
        if alive.any() and not alive.all():
            self.restrict(alive)
        return bool(alive.any())


def leximin(
    sharing: SharingByPairs, aim: float, *, time_limit: float = np.inf, rounds: int | None = None, client: Any = None
) -> Leximin:
    """Return tasks whose levels are the leximin's, each round's to a certified gap of at most ``aim``.

    Whoever stopped has just its level in the rounds that follow, and a free value.

    Parameters
    ----------
    sharing : SharingByPairs
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


def _leximin(sharing: SharingByPairs, aim: float, deadline: float, rounds: int | None, client: Any) -> Leximin:
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


def _solved(state: _State, aim: float, deadline: float, effort: Effort, client: Any) -> tuple[PairIterate, int]:
    """Return the best iterate of a round, and the iterations.

    Where somebody stopped at its cap on the way and the method got stuck, it starts afresh with what these have: there
    may be no room between that and what they could have.
    """
    best = PairIterate(state.problem, state.rows, state.fixed, ServerBlocks(state.problem, client), effort)
    iterations = solve(best, aim, deadline)
    last, gap = best, _largest_gap(best)
    while gap > aim and perf_counter() < deadline:
        fixed = state.fixed | ((state.rows.slope > 0) & (last.rows.slope == 0))
        if (fixed == last.fixed).all():
            break
        last = PairIterate(state.problem, last.rows, fixed, ServerBlocks(state.problem, client), effort)
        last.given = state.rows
        iterations += solve(last, aim, deadline)
        if _largest_gap(last) < gap:
            best, gap = last, _largest_gap(last)
    return best, iterations


def _largest_gap(iterate: PairIterate) -> float:
    return float(relative_gap(iterate.lower, iterate.upper).max())


def _trim(sharing: SharingByPairs, found: Leximin) -> None:
    """Take what users have beyond where they stopped, and give the rest to those who did not, in proportion."""
    stopped = ~np.isnan(found.levels)
    most = np.where(stopped, np.where(stopped, found.levels, 0.0) * sharing.tasks_per_level, sharing.limits)
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


def _cut(sharing: SharingByPairs, found: Leximin, most: np.ndarray) -> None:
    """Let nobody have more than this."""
    total = np.bincount(sharing.user, weights=found.tasks, minlength=len(most))
    part = np.divide(most, total, out=np.ones_like(total), where=total > most)
    found.tasks *= part[sharing.user]
