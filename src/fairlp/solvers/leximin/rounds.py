"""Lexicographic max-min by rounds of one linear program, each started from the last basis.

A program gives the first round: maximise t subject to rows (what a group has) ≥ (its rate)·t. After
each round those who are blocked keep what they have, and the others go on. Two rules say how they
go on:

* :class:`LevelRounds`: rates are constant, and t goes on from level to level.
* :class:`TreeRounds`: rates depend on who is active (:mod:`fairlp.models.trees`), and t begins at 0 after each round.

What makes the rounds exact and quick:

* **Who is blocked.** A user whose row has a positive price is blocked in every optimal solution (complementary
  slackness), so it is frozen. A user without a price stays, and is found in a later round if it was
  blocked after all. Where prices do not decide, linear programs that try to raise everyone left do
  (:meth:`Rounds.not_raised`).
* **Task limits.** With constant rates, Newton's method: what is asked for at level t, Σ min(rate·t, limit), is concave,
  so guessing the set of users at their limits from below and solving for t converges monotonically
  in a few programs. A level that is certainly reached is enough for a guess: where the back end has
  one before it has the largest, few programs are solved to the end. Along a tree, everybody's way
  to all limits is known beforehand, and the last point of it that is feasible is found by cutting
  planes.
* **Groups.** A row may stand for several users with proportional demands, who ask for Σ_m min(rate_m·t, limit_m).
* **Fewer rounds** at constant rates: :class:`Shorter`.
* **What is done when a program's certificate does not hold** (:meth:`Rounds.solve`): begin afresh, another method, and
  floors that give way a little. ``mechanisms/max_min/ladder.py`` goes on from there, with
  rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import NoSolutionError, NotConvergedError, SolverError, counted
from ...models.programs.backends import AnySolver
from ...models.programs.backends import backend as find_backend
from ...models.programs.certificate import Certificate, reach_of
from ...models.programs.program import Program
from ...models.programs.solution import Backend, Capability, Options, Session, Solution, Termination
from ...models.trees.filling import History, RateSegment, Rows, fill_at_constant_rates
from ...tolerances import (
    ACCEPTED,
    AGREEMENT,
    BLOCKED_PRICE,
    CONVEX_POINT,
    FLOOR_RELAXATIONS,
    LEVEL_ROUNDING,
    NOISE,
    ROUNDING,
    SATURATED,
    SOLVER_TIGHTEST,
)

#: How near to the largest level those are that are looked at first, one after the other.
PREVIEWS = (0.1, 0.01, 0.001)
#: Users who are not blocked are solved separately when they have at least so many pairs of user and
#: server, and at most this part of all pairs.
FEWEST = 1_000
MOST = 0.75
#: A back end, and the options that it is asked with.
Tightest = tuple[Backend, Options]
#: Servers that a round ruled out: by how much a task of each group costs more there than it is
#: worth, at least; and the error of that round's level.
KeptOff = tuple[np.ndarray, float]


class Shorter(NamedTuple):
    """What is known of an instance that may save rounds.

    One program may show that the servers allow the levels that one server as large as all would
    give. And the rounds end when the users who are not blocked have servers of their own: they are
    solved as a separate problem.

    Attributes
    ----------
    pool : (ndarray, ndarray) or None
        What one task of each group needs, and the sum of all capacities; None when some user may
        not run everywhere.
    kept_off : list
        For a separate problem: the servers that earlier rounds ruled out.
    """

    pool: tuple[np.ndarray, np.ndarray] | None
    kept_off: list[KeptOff]


def tightest(solver: AnySolver, options: dict[str, Any] | None = None) -> Tightest:
    """Return a back end and its options with the tightest tolerances, so that errors of rounds do not add up."""
    backend = find_backend(solver)
    return backend, Options.from_keywords(str(solver), options or {}).tightened(backend)


class Propagation:
    """Errors of levels, from the programs of the rounds; members are those of the rounds."""

    def __init__(self, members: int) -> None:
        self.round = np.full(members, -1)  # at whose level a member stopped
        self.most = np.full(members, np.inf)  # the level that prices allow it, by weak duality
        self.levels: list[float] = []
        self.own: list[float] = []
        self.prices: list[np.ndarray] = []

    def solved(self, level: float, own: float, prices: np.ndarray, doubt: float = 0.0) -> None:
        """Put down a round: its level, the error of its program, and the price of each member's level in it.

        ``doubt`` is what reduced costs of the wrong sign may be worth.
        """
        stopped = self.round >= 0
        self.prices.append(
            np.bincount(self.round[stopped], weights=prices[stopped], minlength=len(self.levels))
        )
        self.levels.append(level)
        self.own.append(own)
        above = np.divide(own + doubt, prices, out=np.full(len(prices), np.inf), where=prices > 0)
        self.most = np.minimum(self.most, level + above)

    def stopped(self, members: np.ndarray) -> None:
        """Put down who stopped at the level of the last round."""
        self.round[members] = len(self.levels) - 1

    def largest(self, shift: float = 0.0) -> float:
        """Return by what part of itself a level may be off, to first order, at most; levels were raised by a shift."""
        from scipy.linalg import solve_triangular

        count = len(self.levels)
        if not count:
            return 0.0
        matrix = np.eye(count)
        for k, row in enumerate(self.prices):
            matrix[k, :k] = row[:k]
        with np.errstate(over="ignore", invalid="ignore"):
            moved = abs(
                solve_triangular(matrix, np.eye(count), lower=True, check_finite=False)
            ) @ np.array(self.own)
        levels = abs(np.array(self.levels) - shift)
        found = np.divide(
            moved, levels, out=np.zeros(count), where=levels > LEVEL_ROUNDING * shift
        ).max()
        return float(found) if np.isfinite(found) else 1.0


def beyond_rows(program: Program, x: np.ndarray) -> np.ndarray:
    """Return by how much a point violates each row; 0 where it does not."""
    activity = program.A @ x
    return np.asarray(
        np.maximum(np.maximum(program.row_lower - activity, activity - program.row_upper), 0.0)
    )


def own_error(
    solution: Solution, gap: float, rows: np.ndarray, floor: np.ndarray, given: np.ndarray
) -> float:
    """Return by how much the level of a program's answer may be off, to first order, were its floors exact.

    What its point violates, by how much floors were lowered (``given``), and their rounding, each
    at its price; and what the duality gap leaves.
    """
    program = solution.program
    x = solution.x
    duals = solution.row_duals
    assert x is not None and duals is not None
    price = abs(duals)
    violated = beyond_rows(program, x)
    violated += ROUNDING * (abs(program.A) @ abs(x))
    of_floors = price[rows] @ (given + ROUNDING * abs(floor))
    return float(price @ violated + of_floors + gap * abs(solution.objective))


@dataclass(frozen=True)
class Members:
    """Users behind the rows of a program, in tasks of their groups' first ones; all arrays of shape (M,).

    Attributes
    ----------
    of : ndarray of int
        Group of each.
    due, limit : ndarray
        Tasks at level 1, and task limit.
    """

    of: np.ndarray
    tasks_per_level: np.ndarray
    limit: np.ndarray

    def of_groups(self, some: np.ndarray) -> Members:
        """Return the members of some groups, which are counted from 0."""
        inside = np.isin(self.of, some)
        return Members(
            np.searchsorted(some, self.of[inside]), self.tasks_per_level[inside], self.limit[inside]
        )


class Rounds:
    """A loaded program that is solved round after round with other rates and floors: ``rows`` are ≥ slope·t + floor.

    Attributes
    ----------
    history : list of (float, ndarray)
        Level of each round, and who stopped there.
    last : ndarray
        A point that has what everybody has at the end.
    priced : Solution or None
        The first round that a resource ended.
    floor, measure : ndarray
        Of each row, and the size of the numbers that the floor is made of.
    gap, programs, seconds, relaxed
        The largest certified gap, how many programs were solved, in what time, and by how much
        floors gave way.
    same : float
        Levels that differ by less than this part are one.
    errors : Propagation
    examine : callable or None
        Is told of every certified solution.
    """

    def __init__(
        self, solver: Tightest, program: Program, rows: np.ndarray, t: int, members: int = 0
    ) -> None:
        backend, options = solver
        self.session: Session = backend.session(program, options)
        self.name = program.name
        self.rows = rows
        self.t = t
        self.has_duals = Capability.DUALS in backend.capabilities
        self.limited = options.time_limit is not None
        self.history: History = []
        self.last = np.zeros(program.n_columns)
        self.priced: Solution | None = None
        self.program = program
        self.duals: list[np.ndarray] = []  # of the rows of every program that was solved
        self.errors = Propagation(members)
        self.gap = 0.0
        self.programs = 0
        self.seconds = 0.0
        self.certificate: Certificate | None = None  # of the last program
        self.examine: Callable[[Solution], None] | None = None
        self.floor = np.zeros(len(rows))
        self.measure = np.zeros(len(rows))
        self.relaxed = 0.0
        self.way = 0.0  # the part of themselves by which floors are lower
        self.same = AGREEMENT if self.has_duals else max(NOISE, 4 * ACCEPTED * len(rows))
        self.enough = 1 - (SOLVER_TIGHTEST if self.has_duals else ACCEPTED)  # of what was aimed at

    def run(self) -> None:
        """Run rounds until nobody can be raised."""
        raise NotImplementedError

    def load(self, slope: np.ndarray, floor: np.ndarray, measure: np.ndarray) -> None:
        """Put slopes and floors into the program; a floor that is only rounding beside its numbers is 0."""
        A = self.session.program.A
        column = slice(A.indptr[self.t], A.indptr[self.t + 1])
        changed = A.data[column][np.searchsorted(A.indices[column], self.rows)] != -slope
        if changed.any():
            self.session.change(coefficients=(self.rows[changed], self.t, -slope[changed]))
        self.floor = np.where(abs(floor) <= ROUNDING * measure, 0.0, floor)
        self.measure = measure
        self._lower(self.way)

    def _lower(self, way: float) -> None:
        """Load the floors, lower by this part of the numbers that they are made of."""
        self.session.change(
            rows=(self.rows, self.floor - way * self.measure, np.full(len(self.rows), np.inf))
        )

    def solve(self) -> tuple[np.ndarray, Solution]:
        """Solve what is loaded; where that fails, begin afresh, and then give the floors of the others a little way.

        What the others have is known to rounding only, and what one of them has more by rounding
        may be what another needs: the last digits decide whether all floors can be kept at once.
        Where they gave way once they stay as low: the point of this program, which the next one
        begins at, has used the slack.
        """
        solution = self._attempt()
        attempts = (
            (self.way + relax, other) for relax in FLOOR_RELAXATIONS for other in (True, False)
        )
        while isinstance(solution, SolverError):
            way, other = next(attempts, (None, False))
            if way is None:
                raise NotConvergedError(str(solution)) if self.history else solution
            self._lower(way)
            self.session.restart(other)
            self.relaxed = max(self.relaxed, way)
            solution = self._attempt()
        self.way = self.relaxed
        if self.examine is not None:
            self.examine(solution)
        return solution.require_point(), solution

    def _attempt(self) -> Solution | SolverError:
        """Solve what is loaded; return the certified answer, or what was wrong. A limit that is reached is raised."""
        try:
            solution = self.session.solve()
        except SolverError as error:
            return error
        self.programs += 1
        self.seconds += solution.times.get("solve", 0.0)
        if solution.status.termination is Termination.TIME_LIMIT and self.limited:
            solution.require_optimal()
        if solution.status.termination is Termination.UNBOUNDED:
            raise NoSolutionError(
                f"{self.name!r} has no leximin: after {counted(len(self.history), 'round')} all "
                "levels that are left "
                "can be raised without end; bound them"
            )
        if not solution.status.is_optimal:
            return SolverError(f"{solution.solver} did not solve {self.name!r}: {solution.status}")
        certificate = solution.verify()
        if not (self.proves(certificate, solution) if self.has_duals else certificate.is_feasible):
            return SolverError(
                f"{solution.solver} called {self.name!r} optimal, but it is not: {certificate}"
            )
        self.certificate = certificate
        self.gap = max(self.gap, self.gap_of_levels(certificate, solution))
        if solution.row_duals is not None:
            self.duals.append(abs(solution.row_duals))
        return solution

    def proves(self, certificate: Certificate, solution: Solution) -> bool:
        """Whether a certificate is good enough."""
        return self.session.proves(certificate)

    def gap_of_levels(self, certificate: Certificate, solution: Solution) -> float:
        """Return the duality gap of a program, relative to levels."""
        return certificate.gap or 0.0

    def leaves_open(self, solution: Solution) -> bool:
        """Whether a round is to be solved again: those who go on to another round depend on its last digits."""
        assert self.certificate is not None
        if not self.session.leaves_open(solution, self.certificate.gap or 0.0):
            return False
        self.session.restart()
        return True

    def with_price(self, solution: Solution, unit: np.ndarray, growing: np.ndarray) -> np.ndarray:
        """Return the growing rows that have a positive price, each in its unit. Bool."""
        if solution.row_duals is None:  # of a back end that promises none: programs decide
            return np.zeros(len(self.rows), dtype=bool)
        price = np.where(growing, abs(solution.row_duals[self.rows]) * unit, 0.0)
        return np.asarray(price >= self.session.least_price * price.max(initial=0.0)) & (price > 0)

    def not_raised(self, waiting: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the positions of rows, of those ``waiting``, that no program raises above their floors.

        Each program maximises the sum of what the rows that are left have, over ``speed``; those
        that gain leave.
        """
        costs = self.session.program.c
        held = self._held()
        while waiting.size:
            weight = np.zeros(len(self.rows))
            weight[waiting] = 1.0 / speed[waiting]
            self.session.change(costs=held.T @ weight)
            x, _ = self.solve()
            raised = self._gains(self.session.program.A[self.rows].tocsr(), x)[waiting]
            if not raised.any():
                break
            waiting = waiting[~raised]
        self.session.change(costs=costs)
        return waiting

    def _held(self) -> Any:
        """Return the rows without their terms of t: what everybody has."""
        rows = self.session.program.A[self.rows].tocsr()
        rows.data[rows.indices == self.t] = 0.0
        return rows

    def _gains(self, rows: Any, x: np.ndarray) -> np.ndarray:
        """Return which rows a point raises above their floors. Bool.

        A gain is told from rounding by what its own row is made of: others may be of any size.
        """
        gain = rows @ x - self.session.program.row_lower[self.rows]
        return np.asarray(gain > self.same * (abs(rows) @ abs(x)))

    def require_progress(self, stopped: np.ndarray) -> None:
        """Raise where a round stopped nobody."""
        if not stopped.any():
            raise SolverError(
                f"{self.name!r}: a round stopped nobody; no user's row has a price above rounding"
            )


class LevelRounds(Rounds):
    """Rounds at constant rates: ``level[m]`` of each member is its level once frozen; groups are rows of the program.

    A row says (what its group has) − (what is due to it)·t ≥ a constant, and t, a column, is
    maximised; it is above 0. ``weights`` are those of the groups: who is blocked is told by prices
    of weighted shares. With ``shorter`` the rounds may end before all users are blocked
    (:meth:`_part`): the others are the :meth:`rest`.
    """

    def __init__(
        self,
        solver: Tightest,
        program: Program,
        rows: np.ndarray,
        t: int,
        members: Members,
        weights: np.ndarray,
        shorter: Shorter | None = None,
    ) -> None:
        super().__init__(solver, program, rows, t, len(members.tasks_per_level))
        self.may_part = shorter is not None
        self.pool, self.kept_off = shorter or Shorter(None, [])
        self.parted: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.members = members
        self.tasks_per_level = members.tasks_per_level
        self.cap = (
            members.limit / members.tasks_per_level
        )  # the level at which a member has all its tasks
        self.level = np.zeros(len(members.tasks_per_level))
        self.active = np.ones(len(members.tasks_per_level), dtype=bool)
        self.base = program.row_lower[rows]
        self.bounds = program.col_lower[[t]], program.col_upper[[t]]
        self.full = -program.A[:, [t]].toarray()[
            rows, 0
        ]  # coefficient of t when every member of the group is active
        self.unit = self.full / np.bincount(
            members.of, weights=members.tasks_per_level
        )  # of a row, for one task
        self.share = self.full / weights  # one share, in the unit of the row

    def run(self) -> None:
        """Run rounds until nobody is active."""
        if self.pool is not None and self._as_one_server(*self.pool):
            return
        before = -1.0
        while self.active.any():
            level, solution = self._raise(max(before, 0.0))
            frozen = self.active & (self.cap <= level)
            self.level[frozen] = self.cap[frozen]
            if solution is not None:
                self.priced = self.priced or solution
                self._measure(level, solution)
                growing = (
                    np.bincount(self.members.of, weights=self.active, minlength=len(self.rows)) > 0
                )
                blocked = (
                    self.active
                    & ~frozen
                    & self.with_price(solution, self.share, growing)[self.members.of]
                )
                undecided = self.active & ~frozen & ~blocked
                if undecided.any() and (level <= before * (1 + self.same) or not self.has_duals):
                    blocked |= self._stuck(level, undecided)
                self.level[blocked] = level
                self.errors.stopped(blocked)
                frozen |= blocked
            self.require_progress(frozen)
            self.active &= ~frozen
            self.history.append((float(self.level[frozen].max()), np.flatnonzero(frozen)))
            before = level
            if self.parted is not None:
                break
        if (
            self.level > self.errors.most
        ).any():  # a lowered floor raised a user whose price is small
            self.errors.own[-1] = np.inf

    def _as_one_server(self, demands: np.ndarray, pool: np.ndarray) -> bool:
        """Whether one program shows that the servers allow the levels that one server as large as all would give.

        These bound the leximin, and need no program (:func:`fill_at_constant_rates`). In the one
        program users rise in proportion to them.
        """
        needs = demands[self.members.of] * self.tasks_per_level[:, None]
        levels, history = fill_at_constant_rates(needs, pool, np.ones(len(needs)), self.cap)
        if len(history) < 2:
            return False
        top = float(levels.max())
        self._load(levels / top, self.level)
        for gap in PREVIEWS:
            level = self.session.reaches(gap)
            if level is None or level < top * (1 - gap) * (1 - 2 * AGREEMENT):
                return False
        solution = self._attempt()
        if (
            isinstance(solution, SolverError)
            or solution.require_point()[self.t] < top * self.enough
        ):
            return False
        self.last = solution.require_point()
        self.history = history
        part = min(float(self.last[self.t]) / top, 1.0)
        self.level = np.where(levels < self.cap, levels * part, self.cap)
        off = 1.0 - part + own_error(solution, 0.0, self.rows, self.floor, 0.0 * self.floor) / top
        self._measure_as_one_server(needs, pool, levels, off, solution)
        return True

    def _measure_as_one_server(
        self,
        needs: np.ndarray,
        pool: np.ndarray,
        levels: np.ndarray,
        off: float,
        solution: Solution,
    ) -> None:
        """Put down the prices of the rounds of one server, of which all may be off by a part of themselves."""
        block = solution.program.row_block("capacity")
        unit = pool / solution.program.row_upper[block.slice].reshape(-1, len(pool)).sum(axis=0)
        last = np.where(needs > 0, levels[:, None], 0.0).max(axis=0)
        saturated = levels @ needs >= pool * (1 - SATURATED)
        for level, frozen in self.history:
            full = np.flatnonzero(saturated & (last == level))
            if not full.size:  # those who are left have all their tasks
                continue
            r = int(full[0])
            price = 1.0 / needs[levels >= level, r].sum()
            self.errors.solved(level, off * price * pool[r], price * needs[:, r])
            self.errors.stopped(frozen[levels[frozen] < self.cap[frozen]])
            if self.priced is None:
                x = self.last.copy()
                duals = np.zeros(solution.program.n_rows)
                x[self.t], duals[block.start + r : block.stop : len(pool)] = level, price * unit[r]
                self.priced = replace(solution, x=x, row_duals=duals)

    def _measure(self, level: float, solution: Solution) -> None:
        """Put down how far the level may be off: by its own program, and by each level that it builds on."""
        if solution.row_duals is None or self.certificate is None:
            return
        gap = self.certificate.objective_gap or 0.0
        given = self.way * self.measure
        own = own_error(solution, gap, self.rows, self.floor, given)
        price = abs(solution.row_duals[self.rows]) * self.unit
        own += sum(float((price / dear).max()) * error for dear, error in self.kept_off)
        doubt = (self.certificate.dual_residual or 0.0) / ROUNDING * own
        self.errors.solved(level, own, price[self.members.of] * self.tasks_per_level, doubt)

    def _raise(self, level: float) -> tuple[float, Solution | None]:
        """Return the largest level at which every active member has min(due·level, limit), by Newton's method.

        It is at least ``level``, that of the round before, which nobody who is active had all its
        tasks at; infinite, without a solution, where everyone left has all its tasks.
        """
        limited = self._soon_limited()
        while True:
            if not (self.active & ~limited).any():
                return np.inf, None
            self._load(self.active & ~limited, np.where(limited, self.cap, self.level))
            self.last, solution = self.solve()
            assert self.certificate is not None
            # what others have is in the program's terms, and may be far more than the level
            self.gap = max(self.gap, self.certificate.objective_gap or 0.0)
            level = max(level, float(self.last[self.t]))
            more = self.active & ~limited & (self.cap <= level)
            if not more.any() and (self._part(level, solution) or not self.leaves_open(solution)):
                return level, solution
            limited |= more

    def _part(self, level: float, solution: Solution) -> bool:
        """Whether the users who are not blocked have servers of their own.

        No blocked user may run there, and on every other server a task costs more than it is worth.
        Then the levels of blocked users do not matter to the next rounds.
        """
        block = next((block for block in solution.program.columns if len(block.axes) == 2), None)
        if (
            not self.may_part
            or block is None
            or solution.row_duals is None
            or solution.column_duals is None
        ):
            return False
        groups = len(self.rows)
        of = self.members.of
        growing = np.bincount(of, weights=self.active & (self.cap > level), minlength=groups) > 0
        stops = self.with_price(solution, self.share, growing)
        stops |= (
            np.bincount(of, weights=~self.active & (self.level < self.cap), minlength=groups) > 0
        )
        user, server = np.divmod(block.flat, block.shape[1])
        taken = np.zeros(block.shape[1], dtype=bool)
        taken[server[stops[user]]] = True
        own, elsewhere = (~stops[user] & (taken[server] == where) for where in (False, True))
        placed = stops | (np.bincount(user[own], minlength=groups) > 0)
        if (
            not FEWEST <= own.sum() <= MOST * len(own)
            or not (growing & ~stops).any()
            or not placed.all()
        ):
            return False
        dear = np.full(groups, np.inf)
        np.minimum.at(
            dear, user[elsewhere], -solution.column_duals[block.start : block.stop][elsewhere]
        )
        if (
            dear * self.full
            <= BLOCKED_PRICE * (abs(solution.row_duals[self.rows]) * self.full).max()
        ).any():
            return False
        self.parted = np.flatnonzero(~stops), np.unique(server[own]), (dear * self.unit)[~stops]
        return True

    def rest(self) -> tuple[np.ndarray, np.ndarray, list[KeptOff]] | None:
        """Return groups to be solved separately, their servers, and what rounds ruled out; None without any."""
        if self.parted is None:
            return None
        on, servers, dear = self.parted
        error = self.errors.largest() * self.history[-1][0]
        return on, servers, [*((costs[on], off) for costs, off in self.kept_off), (dear, error)]

    def _soon_limited(self) -> np.ndarray:
        """Return who has all its tasks at levels that can be had for sure, where those are quick to find."""
        limited = np.zeros_like(self.active)
        growing = self.active
        if not np.isfinite(self.cap[growing]).any():
            return limited
        self._load(growing, self.level)
        for gap in PREVIEWS:
            more = growing
            while more.any():
                level = self.session.reaches(gap)
                if level is None:  # solving is as quick
                    return limited
                more = growing & (self.cap <= level)
                if (more == growing).all():
                    return limited
                if more.any():
                    limited = limited | more
                    growing = growing & ~more
                    self._load(growing, np.where(limited, self.cap, self.level))
        return limited

    def _load(self, growing: np.ndarray, level: np.ndarray) -> None:
        """Put rows Σ x >= (what is due to growing members)·t + (what the others have) into the program."""
        slope = (
            np.bincount(
                self.members.of, weights=self.tasks_per_level * growing, minlength=len(self.rows)
            )
            * self.unit
        )
        fixed = np.bincount(
            self.members.of,
            weights=self.tasks_per_level * np.where(growing, 0.0, level),
            minlength=len(self.rows),
        )
        self.load(slope, self.base + fixed * self.unit, abs(self.base) + abs(fixed * self.unit))

    def _stuck(self, level: float, candidates: np.ndarray) -> np.ndarray:
        """Return the candidates that cannot be raised above ``level`` while nobody falls below what it has.

        Maximise the sum of the candidates' levels with t fixed: those that end above are
        improvable; repeat for the rest until none of them gains.
        """
        at = np.array([self.t])
        reached = level if self.has_duals else level * (1 - ACCEPTED)  # a solver's tolerance below
        self.session.change(columns=(at, np.array([reached]), np.array([reached])))
        waiting = self.not_raised(np.unique(self.members.of[candidates]), self.full)
        self.session.change(columns=(at, *self.bounds))
        return candidates & np.isin(self.members.of, waiting)


class TreeRounds(Rounds):
    """Rounds at rates that depend on who is active: ``segment.has`` is what everybody has at the end.

    A leaf that cannot be raised leaves: a price says so, or a program that tries to raise those
    without a price. The rates of the others are computed anew. Leaves that have all their tasks
    need no round of their own.

    How far a round goes (:meth:`_farthest`): what leaves ask for is known beforehand, segment after
    segment. Rows on all tasks together, at first those of the pool, say up to where that may be
    possible. A linear program shows whether the servers allow it. Where they do not, its prices are
    another such row, which the point violates (a cut).
    """

    def __init__(
        self,
        solver: Tightest,
        program: Program,
        rows: np.ndarray,
        t: int,
        first: RateSegment,
        pool: Rows,
    ) -> None:
        super().__init__(solver, program, rows, t)
        self.users = program.leximin()[0].flat
        self.segment = first
        self.alone = first.alone
        self.cuts = pool
        self.pool_rows = len(pool.room)
        self.unit = (
            -program.A[:, [t]].toarray()[rows, 0] / self.alone[self.users]
        )  # of a row, for one task

    def run(self) -> None:
        """Run rounds until nobody rises any more."""
        while True:
            begun = self.segment
            t, solution = self._farthest()
            if not self.segment.active.any():
                self.history = [one for one in self.history if one[1].size]
                return
            stops = self.segment.full(t)
            self.priced = self.priced or (None if stops.any() else solution)
            stops |= self._blocked(solution, t)
            # those who could not rise where the segment begins stop with those who have all their
            # tasks there
            still = stops & (self.segment.asked(t) <= self.segment.has * (1 + self.same))
            new = still & (self.segment is not begun)
            early = self._stuck(0.0, self.segment.active if self.segment.pace.jumps else new)
            if early.any():
                last, who = self.history.pop()
                self.history.append((last, np.union1d(who, np.flatnonzero(early))))
                self.segment = self.segment.after(0.0, early)
                continue
            if t < self.segment.pace.end:
                self.require_progress(stops)
            self._pass(self.segment, t, stops)
            self.segment = self.segment.after(t, stops)
            # a full cut has nothing more to say: those who rose in it are blocked, but for rounding
            self.cuts = self.cuts.with_room(self.segment.has, kept=self.pool_rows)

    def _pass(self, segment: RateSegment, t: float, stops: np.ndarray) -> None:
        """Put down who stops where a segment ends."""
        self.history.append((segment.level(t), np.flatnonzero(stops)))

    def _farthest(self) -> tuple[float, Solution | None]:
        """Pass segments as far as everybody can go; return the t in the last one, and the program that has it."""
        path = [self.segment]
        held = self.segment.has
        at = 0.0
        refused = held
        reached = False
        solution = None
        stopper = None
        while path[-1].active.any():
            t, at = self._allowed(path, at)
            aim = path[-1].asked(t)
            noise = max(ROUNDING, path[-1].least) * np.maximum(aim, self.alone)
            rise = np.where(aim - held > noise, aim - held, 0.0)
            if not rise.any():
                begun = at
                at = t
                if self.has_duals or begun == t:
                    break
                continue
            self._load(held, rise, np.inf)
            x, found = self.solve()
            part = float(x[self.t])
            # where all rise in proportion up to the point aimed at, the program has found the last
            # one that is feasible
            straight = not self.has_duals or (len(path) == 1 and path[0].next_rise(at) >= t)
            end = at + (t - at) * part if straight and part < self.enough else t
            if part < self.enough and not straight and (aim != refused).any():
                self._cut(found, held + (aim - held) * part)
                while len(path) > 1 and self.cuts.exceeded(path[-1].has):
                    path.pop()
                refused = aim
                stopper = found if self.cuts.reach(path[-1]) <= path[-1].least else None
            elif self._decides(
                solution := found if part <= 2 - self.enough else None, path[-1], end
            ):
                self.last, reached, held, at = x, True, path[-1].asked(end), end
                if end < t:
                    break
        if not reached and (path[-1].active.any() or self.programs == 0):
            self._hold(held)
            self.last, _ = self.solve()
        for one in path[:-1]:
            self._pass(one, one.end, one.full(one.end))
        self.segment = path[-1]
        solution = stopper or solution
        return at, None if solution is None else self._per_level(solution)

    def _decides(self, solution: Solution | None, segment: RateSegment, t: float) -> bool:
        """Whether a program decides who goes on; one that leaves more than was aimed at (None) decides nothing."""
        if solution is None:
            return True
        going_on = segment.active & ~segment.full(t) & ~self._priced(solution, segment)
        return not going_on.any() or not self.leaves_open(solution)

    def _priced(self, solution: Solution, segment: RateSegment) -> np.ndarray:
        """Return the active leaves that have a price. Bool, of all users."""
        n = self.users
        priced = np.zeros_like(segment.active)
        priced[n] = self.with_price(solution, self.unit * segment.rate[n], segment.active[n])
        return priced

    def _allowed(self, path: list[RateSegment], at: float) -> tuple[float, float]:
        """Return how far the cuts allow to go in the last segment, and at which t of it that is known to be possible.

        Segments that the cuts allow to pass are added. Without duals there are no cuts: the next
        point is then the next one at which the set of those who rise changes, so that all rise in
        proportion up to it.
        """
        while True:
            segment = path[-1]
            t = self.cuts.reach(segment) if segment.active.any() else 0.0
            t = 0.0 if t <= segment.least and t < segment.end else t
            if not self.has_duals:
                t = min(t, segment.next_rise(at))
            may_pass = (
                np.isfinite(segment.end) and not segment.pace.jumps and (self.has_duals or at == t)
            )
            if t < segment.end or not may_pass:
                return t, at
            path.append(segment.after(segment.end, segment.full(segment.end)))
            at = 0.0

    def proves(self, certificate: Certificate, solution: Solution) -> bool:
        """Whether a certificate is good enough: errors of a rise that do not matter beside what users have are none.

        Nor are those of a row beside what its numbers could be.
        """
        if certificate.is_optimal or certificate.gap is None or solution.x is None:
            return certificate.is_optimal
        if self.gap_of_levels(certificate, solution) <= SOLVER_TIGHTEST:
            certificate = replace(certificate, gap=0.0)
        program = solution.program
        reach = np.maximum(reach_of(program), np.arange(len(solution.x)) == self.t)
        # what can have nothing is measured by what others can have
        reach[reach == 0] = reach.max(initial=0.0, where=np.arange(len(reach)) != self.t)
        off = beyond_rows(program, solution.x)
        # the solver keeps to it in rows that are scaled by powers of two: to half a row's own size
        # at least
        if (off <= 2 * SOLVER_TIGHTEST * (abs(program.A) @ reach)).all() and (
            solution.x >= 0
        ).all():
            certificate = replace(certificate, primal_residual=0.0)
        return certificate.is_optimal

    def gap_of_levels(self, certificate: Certificate, solution: Solution) -> float:
        """Return the duality gap of a program, relative to what users have or could have after the rise."""
        gap = certificate.gap or 0.0
        if gap > CONVEX_POINT:  # such a gap says nothing of how far the rise could go
            return gap
        rise = self.rise * abs(solution.require_point()[self.t])
        size = np.maximum(self.base + rise, self.alone)
        part = np.divide(rise, size, out=np.zeros(len(rise)), where=size > 0).max(initial=0.0)
        return float(gap * part)

    def _cut(self, solution: Solution, has: np.ndarray) -> None:
        """Keep what the prices of a program say: tasks are worth no more, all together, than where it ended."""
        assert solution.row_duals is not None
        worth = np.zeros(len(has))
        worth[self.users] = abs(solution.row_duals[self.rows]) * self.unit
        self.cuts = self.cuts.and_row(worth, float(worth @ has))

    def _per_level(self, solution: Solution) -> Solution:
        """Return the solution with duals by unit of the segment's t."""
        if solution.row_duals is None:
            return solution
        rate = np.where(self.segment.active, self.segment.rate, 0.0)[self.users]
        worth = float(abs(solution.row_duals[self.rows]) @ (self.unit * rate))
        return replace(solution, row_duals=solution.row_duals / worth) if worth > 0 else solution

    def _load(self, base: np.ndarray, rate: np.ndarray, end: float) -> None:
        """Put rows Σ x >= base + rate·t into the program, with t at most ``end``."""
        self.base = base
        self.rise = rate
        self.session.change(columns=(np.array([self.t]), np.zeros(1), np.array([end])))
        floor = self.unit * base[self.users]
        self.load(self.unit * rate[self.users], floor, abs(floor))

    def _hold(self, has: np.ndarray) -> None:
        """Put rows Σ x >= what everybody has into the program."""
        self._load(has, np.zeros(len(has)), 0.0)

    def _blocked(self, solution: Solution | None, level: float) -> np.ndarray:
        """Return who cannot be raised above this level while nobody falls below what it has. Bool, of all users."""
        active = self.segment.active
        blocked = self.cuts.blocked(
            self.segment.asked(level), np.where(active, self.segment.rate, 0.0)
        )
        if solution is not None:
            blocked |= self._priced(solution, self.segment)
        return np.asarray(blocked | self._stuck(level, active & ~blocked))

    def _stuck(self, level: float, candidates: np.ndarray) -> np.ndarray:
        """Return the candidates that cannot be raised above a level while nobody falls below it."""
        stuck = np.zeros_like(candidates)
        if candidates.any():
            speed = np.where(self.segment.rate > 0, self.segment.rate, self.alone)
            waiting = np.flatnonzero(candidates[self.users])
            if self.has_duals:
                waiting = self._not_raised_together(self.segment.asked(level), waiting, speed)
            else:
                self._hold(self.segment.asked(level))
                waiting = self.not_raised(waiting, self.unit * speed[self.users])
            stuck[self.users[waiting]] = True
        return stuck

    def _not_raised_together(
        self, has: np.ndarray, waiting: np.ndarray, speed: np.ndarray
    ) -> np.ndarray:
        """Return the positions of rows, of those ``waiting``, that cannot be raised above what everybody has.

        Each program raises all that are left together. Those that gain leave; where none does,
        those with a price are stuck. So one program is enough where nobody is.
        """
        stuck = [waiting[:0]]
        while waiting.size:
            rate = np.zeros(len(has))
            rate[self.users[waiting]] = speed[self.users[waiting]]
            self._load(has, rate, np.inf)
            x, solution = self.solve()
            raised = self._gains(self._held(), x)[waiting] & (x[self.t] >= self.segment.least)
            if not raised.any():
                slope = self.unit * rate[self.users]
                priced = self.with_price(solution, slope, slope > 0)[waiting]
                stuck.append(waiting[priced] if priced.any() else waiting)
                raised = priced | ~priced.any()
            waiting = waiting[~raised]
        return np.concatenate(stuck)
