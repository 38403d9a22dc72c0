"""Lexicographic max-min by rounds of one linear program, each started from the last basis.

A formulation gives the first round: maximise t subject to ``fairness`` rows Σ x[n] >= due[n]·t. After each round the
users who are blocked keep their level: their row becomes Σ x[n] >= due[n]·level. Three things make it exact and quick:

* **Who is blocked.** A user whose row has a positive price is blocked in every optimal solution (complementary
  slackness), so it is frozen. A user without a price stays, and is found in a later round if it was blocked after all.
  When a round brings no progress, or the back end has no duals, linear programs that try to raise everyone left
  decide (:meth:`Rounds._stuck`).
* **Task limits by Newton's method.** What is asked for at level t, Σ min(due·t, limit), is concave in t, so guessing
  the set of users at their limits from below and solving for t converges monotonically in a few programs, instead of
  one round for every limit. A level that is certainly reached is enough for a guess: where the back end has one before
  it has the largest, few programs are solved to the end.
* **Groups.** A row may stand for several users with proportional demands, who ask for Σ_m min(due_m·t, limit_m), which
  is concave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ...errors import SolverError
from ...models.instances.merging import Groups
from ...models.notation.compiler import numbers
from ...models.notation.model import Model
from ...models.programs.backends import backend as find_backend
from ...models.programs.program import Program
from ...models.programs.solution import Capability, Options, Session, Solution
from ...tolerances import BLOCKED_PRICE, FIRST_ORDER, LEVEL_ROUNDING, ROUNDING
from .floored import Floored

# How far errors of earlier rounds may have moved later levels.


class Propagation:
    """Errors of levels, from the programs of the rounds; members are those of the rounds."""

    def __init__(self, members: int) -> None:
        self.round = np.full(members, -1)  # at whose level a member stopped
        self.levels: list[float] = []
        self.own: list[float] = []
        self.prices: list[np.ndarray] = []

    def solved(self, level: float, own: float, prices: np.ndarray) -> None:
        """Put down a round: its level, the error of its program, and the price of each member's level in it."""
        stopped = self.round >= 0
        self.prices.append(np.bincount(self.round[stopped], weights=prices[stopped], minlength=len(self.levels)))
        self.levels.append(level)
        self.own.append(own)

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
            moved = abs(solve_triangular(matrix, np.eye(count), lower=True, check_finite=False)) @ np.array(self.own)
        levels = abs(np.array(self.levels) - shift)
        found = np.divide(moved, levels, out=np.zeros(count), where=levels > LEVEL_ROUNDING * shift).max()
        return float(found) if np.isfinite(found) else 1.0


def own_error(solution: Solution, gap: float, rows: np.ndarray, floor: np.ndarray, given: np.ndarray) -> float:
    """Return by how much the level of a program's answer may be off, to first order, were its floors exact.

    What its point violates, by how much floors were lowered (``given``), and their rounding, each at its price; and
    what the duality gap leaves.
    """
    program, x, duals = solution.program, solution.x, solution.row_duals
    assert x is not None and duals is not None
    price, activity = abs(duals), program.A @ x
    violated = np.maximum(np.maximum(program.row_lower - activity, activity - program.row_upper), 0.0)
    violated += ROUNDING * (abs(program.A) @ abs(x))
    of_floors = price[rows] @ (given + ROUNDING * abs(floor))
    return float(price @ violated + of_floors + gap * abs(solution.objective))


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
    rounds: list[tuple[float, np.ndarray]] = field(default_factory=list)
    prices: np.ndarray | None = None
    gap: float | None = 0.0
    programs: int = 0
    times: dict[str, float] = field(default_factory=dict)
    merged: tuple[int, int] = (0, 0)
    before: tuple[int, int] = (0, 0)
    relaxed: float = 0.0
    uncertain: float = 0.0

    def clocked(self, begin: float, prepared: float, solved: float, solve: float) -> None:
        """Put down the seconds of each phase: clock times of their ends, and the seconds inside the solver."""
        self.times = {
            "build": prepared - begin,
            "solve": solve,
            "rounds": solved - prepared - solve,
            "read": perf_counter() - solved,
        }


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
    due: np.ndarray
    limit: np.ndarray

    def of_groups(self, some: np.ndarray) -> Members:
        """Return the members of some groups, which are counted from 0."""
        inside = np.isin(self.of, some)
        return Members(np.searchsorted(some, self.of[inside]), self.due[inside], self.limit[inside])


def opened(program: Program, solver: str, options: dict[str, Any] | None) -> tuple[Session, bool]:
    """Return a session of the solver with the tightest tolerances, and whether it gives duals."""
    backend = find_backend(solver)
    session = backend.session(program, Options.from_keywords(solver, options or {}).tightened(backend))
    return session, Capability.DUALS in backend.capabilities


def conclude(result: LeximinResult, rounds: Floored, priced: Solution | None, model: Model, servers: Groups) -> None:
    """Put down what the programs of the rounds proved, and the prices of the first that a resource ended."""
    if priced is not None and priced.row_duals is not None:
        result.prices = prices_of(model, priced, servers)
    result.gap = rounds.gap if rounds.has_duals else None
    result.programs, result.relaxed = rounds.programs, rounds.relaxed


#: How near to the largest level those are that are looked at first, one after the other.
PREVIEWS = (0.1, 0.01, 0.001)


class Rounds(Floored):
    """The rounds of any program: ``level[m]`` of each member is its level once frozen; groups are rows of the program.

    A row says (what its group has) − (what is due to it)·t ≥ a constant, and t, a column, is maximised; it is above 0.
    """

    def __init__(
        self,
        session: Session,
        rows: np.ndarray,
        t: int,
        members: Members,
        weights: np.ndarray,
        has_duals: bool,
    ) -> None:
        super().__init__(session, rows, t, has_duals)
        program = session.program
        self.members, self.due = members, members.due
        self.cap = members.limit / members.due  # the level at which a member has all its tasks
        self.level = np.zeros(len(members.due))
        self.active = np.ones(len(members.due), dtype=bool)
        self.base = program.row_lower[rows]
        self.bounds = program.col_lower[[t]], program.col_upper[[t]]
        column = program.A[:, [t]].toarray()[rows, 0]
        self.full = -column  # coefficient of t when every member of the group is active
        self.whole = np.bincount(members.of, weights=members.due)
        self.unit = self.full / self.whole  # of a row, for one task
        self.share = self.full / weights  # one share, in the unit of the row
        self.history: list[tuple[float, np.ndarray]] = []
        self.priced: Solution | None = None
        self.last: np.ndarray | None = None
        self.errors = Propagation(len(self.due))

    def run(self) -> None:
        """Run rounds until nobody is active."""
        before = -1.0
        while self.active.any():
            level, solution = self._raise(max(before, 0.0))
            if solution is None:  # everyone left has all its tasks
                frozen = self.active.copy()
                self.level[frozen] = self.cap[frozen]
            else:
                self.priced = self.priced or solution
                self._measure(level, solution)
                frozen = self.active & (self.cap <= level)
                self.level[frozen] = self.cap[frozen]
                blocked = self.active & ~frozen & self._priced(solution)[self.members.of]
                stays = level <= before * (1 + self.same) or not self.has_duals
                if stays and (self.active & ~frozen & ~blocked).any():
                    blocked |= self._stuck(level, self.active & ~frozen & ~blocked)
                self.level[blocked] = level
                self.errors.stopped(blocked)
                frozen |= blocked
            if not frozen.any():
                raise SolverError(f"{self.name!r}: a round froze nobody; no user's row has a price above rounding")
            self.active &= ~frozen
            self.history.append((float(self.level[frozen].max()), np.flatnonzero(frozen)))
            before = level

    def _measure(self, level: float, solution: Solution) -> None:
        """Put down how far the level may be off: by its own program, and by each level that it builds on."""
        if solution.row_duals is None or self.certificate is None:
            return
        gap, given = self.certificate.objective_gap or 0.0, self.way * self.measure
        own = own_error(solution, gap, self.rows, self.floor, given)
        price = abs(solution.row_duals[self.rows]) * self.unit
        self.errors.solved(level, own, price[self.members.of] * self.due)

    def _raise(self, level: float) -> tuple[float, Solution | None]:
        """Return the largest level at which every active member has min(due·level, limit), by Newton's method.

        It is at least ``level``, that of the round before, which nobody who is active had all its tasks at.
        """
        limited = self._soon_limited()
        while True:
            if not (self.active & ~limited).any():
                return level, None
            self._load(self.active & ~limited, np.where(limited, self.cap, self.level))
            solution = self.solve()
            assert solution.x is not None and self.certificate is not None
            self.last = solution.x
            # what others have is in the program's terms, and may be far more than the level
            self.gap = max(self.gap, self.certificate.objective_gap or 0.0)
            level = max(level, float(solution.x[self.t]))
            more = self.active & ~limited & (self.cap <= level)
            if not more.any() and self.session.leaves_open(solution, self.proved):
                # whoever goes on to another round depends on the last digits of this one
                self.session.restart()
                continue
            if not more.any():
                return level, solution
            limited |= more

    def _soon_limited(self) -> np.ndarray:
        """Return who has all its tasks at levels that can be had for sure, where those are quick to find."""
        limited, growing = np.zeros_like(self.active), self.active
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
                    limited, growing = limited | more, growing & ~more
                    self._load(growing, np.where(limited, self.cap, self.level))
        return limited

    def _load(self, growing: np.ndarray, level: np.ndarray) -> None:
        """Put rows Σ x >= (what is due to growing members)·t + (what the others have) into the program."""
        slope = np.bincount(self.members.of, weights=self.due * growing, minlength=len(self.rows)) * self.unit
        fixed = np.bincount(self.members.of, weights=self.due * np.where(growing, 0.0, level), minlength=len(self.rows))
        A = self.session.program.A
        now = A.data[A.indptr[self.t] : A.indptr[self.t + 1]]
        rows_now = A.indices[A.indptr[self.t] : A.indptr[self.t + 1]]
        changed = now[np.searchsorted(rows_now, self.rows)] != -slope
        if changed.any():
            self.session.change(coefficients=(self.rows[changed], self.t, -slope[changed]))
        self.raise_floors(self.base + fixed * self.unit, abs(self.base) + abs(fixed * self.unit))

    def _priced(self, solution: Solution) -> np.ndarray:
        """Return the groups whose row has a positive price for raising them, in the unit of a share."""
        if solution.row_duals is None:  # of a back end that promises none: programs decide
            return np.zeros(len(self.rows), dtype=bool)
        price = abs(solution.row_duals[self.rows]) * self.share
        growing = np.bincount(self.members.of, weights=self.active, minlength=len(self.rows)) > 0
        price = np.where(growing, price, 0.0)
        return np.asarray(price >= BLOCKED_PRICE * price.max(initial=0.0)) & (price > 0)

    def _stuck(self, level: float, candidates: np.ndarray) -> np.ndarray:
        """Return the candidates that cannot be raised above ``level`` while nobody falls below what it has.

        Maximise the sum of the candidates' levels with t fixed: those that end above are improvable; repeat for the
        rest until none of them gains.
        """
        at = np.array([self.t])
        reached = level if self.has_duals else level * (1 - FIRST_ORDER)  # a solver's tolerance below
        self.session.change(columns=(at, np.array([reached]), np.array([reached])))
        waiting = self.not_raised(np.unique(self.members.of[candidates]), self.full)
        self.session.change(columns=(at, *self.bounds))
        return candidates & np.isin(self.members.of, waiting)


def prices_of(model: Model, solution: Solution, servers: Groups) -> np.ndarray:
    """Return the duals of the capacity rows per unit of resource, servers × resources."""
    assert solution.row_duals is not None
    block = solution.program.row_block("capacity")
    # a row that nobody uses (no capacity, or none that its users may have) says 0 ≤ c: its dual prices nothing
    used = np.bincount(solution.program.A.indices, minlength=solution.program.n_rows)[block.slice] > 0
    duals = np.where(used, solution.row_duals[block.slice], 0.0).reshape(-1, block.shape[-1])
    if "capacity_unit" in model.definitions:
        duals = duals / numbers(model.definitions["capacity_unit"]).values
    return np.asarray(duals[servers.of] if len(duals) == len(servers) else duals)
