"""The leximin along a tree, with guarantees and caps: rounds of one linear program, with new rates after each.

Rows ``fairness`` say what an active leaf has at level t, and what the others have by now. A round raises t as far as
the region allows. A leaf that cannot be raised leaves: its price says so, or a program that tries to raise
whoever has none; and the rates of the others are computed anew (:mod:`fairlp.models.trees`). Leaves that have all their
tasks need no round of their own: where nothing else ends, everybody's way is known beforehand, and the last point of it
that is feasible is found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError
from ...models.instances.instance import Instance
from ...models.instances.merging import identity, merge_servers
from ...models.notation.model import Model
from ...models.programs.program import Program
from ...models.programs.solution import Session, Solution
from ...models.trees.climbing import Stretch
from ...models.trees.rates import Rates
from ...tolerances import BLOCKED_PRICE, FIRST_ORDER, ROUNDING, SOLVER_TIGHTEST
from .floored import Floored
from .rounds import LeximinResult, conclude, opened


def climb(
    instance: Instance,
    formulation: Callable[[Instance], Model],
    rates: Rates,
    first: Stretch,
    *,
    solver: str = "highs",
    merge: bool = True,
    options: dict[str, Any] | None = None,
) -> LeximinResult:
    """Return the allocation where leaves rise at these rates, from the first stretch on.

    Parameters
    ----------
    instance : Instance
    formulation : callable
        Instance → Model with variable ``t``, rows ``fairness`` (users who can run) and ``capacity``, definition
        ``tasks``.
    rates : callable
        Active leaves → tasks at level 1.
    first : Stretch
        All of the instance's users.
    solver, merge, options
        As for :func:`~fairlp.solvers.leximin.leximin.leximin`; only identical servers are merged.
    """
    begin = perf_counter()
    result = LeximinResult(np.zeros((len(instance.users), len(instance.servers))), np.zeros(len(instance.users)))
    if not first.active.any() and not first.has.any():
        return result
    small, servers = merge_servers(instance) if merge else (instance, identity(len(instance.servers)))
    model = formulation(small)
    program = model.compile()
    prepared = perf_counter()
    session, has_duals = opened(program, solver, options)
    rounds = Climb(session, program, rates, first, has_duals)
    rounds.run()
    solved = perf_counter()
    result.rounds = rounds.history
    result.merged = (len(small.users), len(small.servers))
    result.before = (len(instance.users), len(instance.servers))
    tasks = model.evaluate("tasks", rounds.last).reshape(len(small.users), -1)
    total = tasks.sum(axis=1)
    wanted = rounds.stretch.has
    tasks *= np.divide(wanted, total, out=np.zeros(len(total)), where=total > 0)[:, None]  # rows are inequalities
    result.tasks = tasks[:, servers.of] * servers.factor
    conclude(result, rounds, rounds.priced, model, servers)
    result.clocked(begin, prepared, solved, rounds.seconds)
    return result


class Climb(Floored):
    """The rounds: ``stretch.has`` is what everybody has at the end, ``last`` a point of the program that gives it."""

    def __init__(self, session: Session, program: Program, rates: Rates, first: Stretch, has_duals: bool) -> None:
        fairness, t = program.leximin()
        super().__init__(session, np.arange(fairness.start, fairness.stop), t, has_duals)
        self.users = np.arange(len(fairness)) if fairness.positions is None else fairness.positions
        self.rates, self.stretch = rates, first
        column = program.A[:, [self.t]].toarray()[self.rows, 0]
        self.unit = -column / first.rate[self.users]  # of a row, for one task
        self.priced: Solution | None = None
        self.last = np.zeros(program.n_columns)

    def run(self) -> None:
        """Run rounds until nobody rises any more."""
        while True:
            begun = self.stretch
            self._farthest()
            if not self.stretch.active.any():
                return
            level, solution = self._highest(self.stretch)
            stops = self.stretch.full(level)
            self.priced = self.priced or (None if stops.any() else solution)
            stops |= self._blocked(solution, level)
            early = self._at_once(stops, level) if self.stretch is not begun else np.zeros_like(stops)
            if early.any():  # together with whoever has all its tasks there
                last, who = self.history.pop()
                self.history.append((last, np.union1d(who, np.flatnonzero(early))))
                self.stretch = self.stretch.after(0.0, early, self.rates)
                continue
            if not stops.any():
                raise SolverError(f"{self.name!r}: a round stopped nobody; no user's row has a price above rounding")
            self.history.append((level, np.flatnonzero(stops)))
            self.stretch = self.stretch.after(level, stops, self.rates)

    def _at_once(self, stops: np.ndarray, level: float) -> np.ndarray:
        """Return who of those that stop at a level could not rise where the stretch begins. Bool, of all users."""
        stretch, early = self.stretch, np.zeros_like(stops)
        still = stops & (stretch.asked(level) <= stretch.has * (1 + self.same))
        early[self.users] = self._stuck(0.0, still[self.users])
        return early

    def _farthest(self) -> None:
        """Pass whole stretches that end because somebody has all its tasks: by doubling, and then by bisection."""
        path, passed, step = [self.stretch], 0, 1
        while np.isfinite(path[-1].end) and step:
            while len(path) <= passed + step and np.isfinite(path[-1].end):
                path.append(path[-1].next(self.rates))
            tried = min(passed + step, len(path) - 1)
            if self._reaches(path[tried]):
                passed, step = tried, 2 * step
            else:
                path, step = path[:tried], (tried - passed) // 2
        for one in path[:passed]:
            self.history.append((one.end, np.flatnonzero(one.full(one.end))))
        self.stretch = path[passed]

    def _reaches(self, ahead: Stretch) -> bool:
        """Whether everybody can have what it has where a stretch further on begins."""
        now = self.stretch.has
        self._load(now, ahead.has - now, 1.0)
        x, _ = self._solved()
        reached = bool(x[self.t] >= 1 - (SOLVER_TIGHTEST if self.has_duals else FIRST_ORDER))
        self.last = x if reached else self.last
        return reached

    def _highest(self, stretch: Stretch) -> tuple[float, Solution]:
        """Return the highest level of a stretch and the solution that has it; its end where it is not below that.

        Somebody who has more than the level asks for does not rise. Whoever that is, it is more the lower the level:
        with too few of them the level is too high, and Newton's method comes down to the right one. Where it goes up,
        or nobody is left, what somebody has was more by rounding only: a stretch ended within that of what there is.
        """
        end, rising, before = stretch.end, stretch.active, stretch.active
        lowest, down = np.inf, True
        while True:
            base = np.where(rising, stretch.base, stretch.has)
            self._load(base, np.where(rising, stretch.rate, 0.0), end)
            x, solution = self._solved()
            level = float(x[self.t])
            level = end if level >= end * (1 - SOLVER_TIGHTEST) else level
            if down and level > lowest:
                rising, down = before, False
                continue
            with_more = rising & (stretch.base + stretch.rate * level < stretch.has * (1 - ROUNDING))
            if down and with_more.any():
                down = bool((rising & ~with_more).any())
                if down:
                    rising, before, lowest = rising & ~with_more, rising, level
                    continue
            if not self.session.leaves_open(solution, self.proved):
                self.last = x if down else self._point(stretch.asked(level))
                return level, solution
            self.session.restart()  # whoever goes on to another round depends on the last digits of this one

    def _point(self, has: np.ndarray) -> np.ndarray:
        """Return a point in which everybody has so many tasks."""
        self._hold(has)
        return self._solved()[0]

    def _load(self, base: np.ndarray, rate: np.ndarray, end: float) -> None:
        """Put rows Σ x >= base + rate·t into the program, with t at most ``end``."""
        floor = self.unit * base[self.users]
        self.session.change(coefficients=(self.rows, self.t, -self.unit * rate[self.users]))
        self.session.change(columns=(np.array([self.t]), np.zeros(1), np.array([end])))
        self.raise_floors(floor, abs(floor))

    def _hold(self, has: np.ndarray) -> None:
        """Put rows Σ x >= what everybody has into the program."""
        self._load(has, np.zeros(len(has)), 0.0)

    def _solved(self) -> tuple[np.ndarray, Solution]:
        solution = self.solve()
        assert solution.x is not None
        return solution.x, solution

    def _blocked(self, solution: Solution, level: float) -> np.ndarray:
        """Return who cannot be raised above this level while nobody falls below what it has. Bool, of all users."""
        n, active = self.users, self.stretch.active
        speed = self.unit * self.stretch.rate[n]
        blocked = np.zeros(len(n), dtype=bool)
        if solution.row_duals is not None:
            price = np.where(active[n], abs(solution.row_duals[self.rows]) * speed, 0.0)
            blocked = (price >= BLOCKED_PRICE * price.max(initial=0.0)) & (price > 0)
        blocked |= self._stuck(level, active[n] & ~blocked)
        everyone = np.zeros(len(active), dtype=bool)
        everyone[n[blocked]] = True
        return np.asarray(everyone & active)

    def _stuck(self, level: float, candidates: np.ndarray) -> np.ndarray:
        """Return the candidates that cannot be raised above a level while nobody falls below it."""
        stuck = np.zeros(len(self.users), dtype=bool)
        if candidates.any():
            self._hold(self.stretch.asked(level))
            stuck[self.not_raised(np.flatnonzero(candidates), self.unit * self.stretch.rate[self.users])] = True
        return stuck
