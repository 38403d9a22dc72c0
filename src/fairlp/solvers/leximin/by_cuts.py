"""Servers by programs for any path: how far its targets are possible, by cuts.

A user who cannot be raised is blocked: a price says so, or a program that tries to raise the
users without a price. Users who have all their tasks need no round of their own.

How far a path goes (:meth:`ServersByCuts._advance`): the targets of users are known
beforehand, piece after piece. Rows on all tasks together, at first those of the pool, bound the
level that can be reached. A linear program shows whether the servers allow it. Where they do not,
its prices are another such row, which the target violates (a cut): it holds for all that fits,
whatever the path. So targets need to grow with t, no more; without duals there are no cuts, and a
path has to be straight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...errors import SolverError, UnsupportedError
from ...models.paths.engine import PathEnd, Reached, Stop, rise
from ...models.paths.path import Path
from ...models.paths.pool import PoolRows
from ...models.programs.certificate import Certificate
from ...models.programs.program import Program
from ...models.programs.sizes import reach_of
from ...models.programs.solution import Solution
from ...tolerances import CONVEX_POINT, ROUNDING, SOLVER_TIGHTEST
from .level_errors import row_violations
from .programs import ServersByPrograms, Tightest

#: How many times as many pieces a target may lie ahead as the rise has passed in its round, where
#: rounds end at the first users who are blocked.
_FARTHER = 4


class Advance(NamedTuple):
    """How far all active users can go.

    Attributes
    ----------
    pieces : list of Path
        Pieces of the path; all but the last are passed.
    t : float
        How far the last piece goes.
    solution : Solution or None
        The solution whose prices stop the users, with duals for one unit of t. None where the last
        program had slack, or none was solved, and no cut stopped the users.
    """

    pieces: list[Path]
    t: float
    solution: Solution | None


class ServersByCuts(ServersByPrograms):
    """Servers for a path of all users.

    Parameters
    ----------
    solver, program, rows, t_column
        As for :class:`~.programs.ServersByPrograms`.
    first : Path
        Of all users.
    pool : PoolRows
        Bounds on all tasks together.
    round_ends : list, optional
        Is given the end of each round.
    """

    capacities_bound_levels = True

    def __init__(
        self,
        solver: Tightest,
        program: Program,
        rows: np.ndarray,
        t_column: int,
        first: Path,
        pool: PoolRows,
        round_ends: list[Reached] | None = None,
    ) -> None:
        super().__init__(solver, program, rows, t_column)
        self.session.keeps_feasible = first.turns_are_apart
        if not (self.has_duals or first.is_straight):
            raise UnsupportedError(
                f"{solver[0].name} gives no duals, which say how far levels rise that are concave in "
                "tasks; expected a solver with duals, such as 'highs'"
            )
        self.users = program.leximin()[0].flat
        self.first = first
        self.round_ends = round_ends
        self.path = first
        #: where the first round ended that satisfied nobody, if one did
        self.first_end: tuple[Path, float] | None = None
        self.level_1 = first.level_1
        #: bounds on all tasks together: the rows of the pool, then the cuts
        self.cuts = pool
        self.n_pool_rows = len(pool.room)
        #: the coefficient of one task in its user's row
        self.unit = -self.coefficients_of_t() / self.level_1[self.users]

    def run(self) -> PathEnd:
        """Return the rise along the path."""
        end = rise(self.first, self, self.round_ends)
        if self.n_programs == 0:
            self._hold(end.path.tasks)
            self.point, _ = self.solve()
        if self.priced_solution is None and self.first_end is not None and self.has_duals:
            self.priced_solution = self._prices_at(*self.first_end)
        return end

    def _prices_at(self, path: Path, t: float) -> Solution | None:
        """Return the program of the rise at t, where none was needed to tell who is blocked."""
        self._load(path.tasks_at(t), path.rate_at(t), np.inf)
        try:
            return self._per_level(self.solve()[1], path, t)
        except SolverError:
            return None

    def stop(self, path: Path) -> Stop:
        """Return where users stop, and who is blocked there."""
        # A cut with no room left is dropped: all users that it priced have stopped, but for rounding.
        self.cuts = self.cuts.with_room(path.tasks, n_first=self.n_pool_rows)
        pieces, t, solution = self._advance(path)
        last = self.path = pieces[-1]
        if not last.active.any():
            return Stop(pieces, t, np.zeros_like(last.active))
        satisfied = last.satisfied_at(t)
        if not satisfied.any():
            self.priced_solution = self.priced_solution or solution
            self.first_end = self.first_end or (last, t)
        blocked = self._surely_blocked(solution, t)
        may_wait = self.has_duals and last.turns_are_apart and t > last.negligible_rise
        if may_wait and (satisfied | blocked).any():
            self.n_stops += 1
            return Stop(pieces, t, blocked & ~satisfied)
        stopping = satisfied | blocked | self.stuck(t, last.active & ~blocked)

        # Users who could not rise where the piece begins stop there, at t = 0, and nobody else does:
        # without them others rise otherwise, and the next call looks again.
        at_start = last.tasks * (1 + self.level_tolerance)
        still = stopping & (last.tasks_at(t) <= at_start)
        candidates = last.active if last.jumps else still & (len(pieces) > 1)
        stuck_at_start = self.stuck(0.0, candidates)
        self.n_stops += 1
        if stuck_at_start.any():
            return Stop(pieces, 0.0, stuck_at_start)
        return Stop(pieces, t, stopping & ~satisfied)

    def _advance(self, path: Path) -> Advance:
        """Let all active users rise together as far as the pool, the cuts and the servers allow.

        Moves the point and the cuts along.
        """
        pieces = [path]
        # The last tasks known to be possible: without duals those at t of the last piece; with
        # duals those of the first piece, and t is 0, until a program reaches a target. So a piece
        # that a cut forbids can be taken away again.
        tasks = path.tasks
        t = 0.0
        last_cut_target = None
        is_reached = False
        last_solution = None
        cut_solution = None

        while pieces[-1].active.any():
            # The target is as far as the cuts allow.
            target_t, t = self._append_and_find_target(pieces, t)
            target_tasks = pieces[-1].tasks_at(target_t)
            missing_tasks = self._missing_tasks(pieces[-1], tasks, target_tasks)
            if not missing_tasks.any():
                # The target is reached, or nothing can rise. Without duals the target may only be
                # the point where the next user starts: go on from there.
                is_at_target = t == target_t
                t = target_t
                if self.has_duals or is_at_target:
                    break
                continue

            # How much of the way do the servers allow? Column t is the fraction of it.
            self._load(tasks, missing_tasks, np.inf)
            x, trial_solution = self.solve()
            fraction = float(x[self.t_column])
            falls_short = fraction < self.whole_way
            # Where all users rise in proportion up to the target, the program ends at the last
            # possible point. Without duals that is always so: the target is no further than the
            # next point where a user starts to rise.
            in_proportion = not self.has_duals or (
                len(pieces) == 1 and path.is_straight and path.next_rise(t) >= target_t
            )

            # If a cut left the target where it was (by rounding), take the target as reached.
            is_new_target = last_cut_target is None or (target_tasks != last_cut_target).any()
            if falls_short and not in_proportion and is_new_target:
                # Cut the target off, and leave the pieces that the cut shows to be impossible.
                reached_tasks = tasks + (target_tasks - tasks) * fraction
                self._cut(trial_solution, reached_tasks)
                while len(pieces) > 1 and self.cuts.exceeded(pieces[-1].tasks):
                    pieces.pop()
                last_cut_target = target_tasks
                # If the cut stops the users where this piece begins, its program decides. Where nobody
                # rises any more, what the cut takes off is rounding.
                piece = pieces[-1]
                rises = piece.active.any()
                is_blocked = rises and self.cuts.farthest(piece) <= piece.negligible_rise
                decides = is_blocked and self._is_about(trial_solution, piece, 0.0)
                cut_solution = trial_solution if decides else None
                continue

            # The point can be reached. If its prices leave open who stops, the session is restarted
            # and solves the same target again; otherwise go there.
            end_t = target_t
            if falls_short and in_proportion:
                end_t = t + (target_t - t) * fraction
            has_slack = fraction > 1 + (1 - self.whole_way)
            is_tight = not has_slack and self._is_about(trial_solution, pieces[-1], end_t)
            last_solution = trial_solution if is_tight else None
            if is_tight and self._restarted_as_undecided(trial_solution, pieces[-1], end_t):
                continue
            self.point = x
            is_reached = True
            tasks = pieces[-1].tasks_at(end_t)
            t = end_t
            if end_t < target_t:
                break

        # No program has given a point for these tasks: solve one that holds them.
        if not is_reached and (pieces[-1].active.any() or self.n_programs == 0):
            self._hold(tasks)
            self.point, _ = self.solve()
        solution = cut_solution or last_solution
        return Advance(pieces, t, solution and self._per_level(solution, pieces[-1], t))

    def _missing_tasks(self, path: Path, tasks: np.ndarray, target_tasks: np.ndarray) -> np.ndarray:
        """Return the tasks that each user lacks of its target, 0 where that is rounding."""
        rounding = max(ROUNDING, path.negligible_rise)
        noise = rounding * np.maximum(target_tasks, self.level_1)
        missing_tasks = target_tasks - tasks
        return np.where(missing_tasks > noise, missing_tasks, 0.0)

    def _append_and_find_target(self, pieces: list[Path], t: float) -> tuple[float, float]:
        """Append the pieces that the cuts let pass; return the target in the last one, and t.

        The target is the largest t that the cuts allow there. The second t is where the rise
        stands in that piece: 0 if one was appended. Where rounds end at the first who are blocked,
        few pieces are appended before a program says how far the servers allow: pieces beyond that
        are of no use. Without duals there are no cuts: the target is then the next point at which
        the set of rising users changes, so that all rise in proportion up to it.
        """
        most_pieces = _FARTHER * len(pieces) if pieces[0].turns_are_apart else np.inf
        while True:
            piece = pieces[-1]
            target_t = self.cuts.farthest(piece) if piece.active.any() else 0.0
            if target_t <= piece.negligible_rise and target_t < piece.end:
                target_t = 0.0
            if not self.has_duals:
                target_t = min(target_t, piece.next_rise(t))
            may_pass = (
                np.isfinite(piece.end) and not piece.jumps and (self.has_duals or t == target_t)
            )
            is_far = len(pieces) >= most_pieces and t < target_t
            if target_t < piece.end or not may_pass or is_far:
                return target_t, t
            pieces.append(piece.after(piece.end, piece.satisfied_at(piece.end)))
            t = 0.0

    def _restarted_as_undecided(self, solution: Solution, path: Path, t: float) -> bool:
        """Restart the session if prices leave open which users go on; return whether it did.

        Users who have all their tasks at ``t``, and users with a price, are decided.
        """
        going_on = path.active & ~path.satisfied_at(t) & ~self._priced(solution, path, t)
        return bool(going_on.any()) and self.restart_if_undecided(solution)

    def _is_about(self, solution: Solution, path: Path, t: float) -> bool:
        """Whether prices of a program are those of users who rise at t, and not rounding.

        A program may be tight because of users who rose on earlier pieces only. What all users have
        is compared by what it is worth at its prices.
        """
        if solution.row_duals is None:
            return True
        worth = self._worth(solution.row_duals)
        rising = path.rate_at(t)[self.users] > 0
        return bool(worth[rising].max(initial=0.0) > SOLVER_TIGHTEST * worth.max(initial=0.0))

    def _priced(self, solution: Solution, path: Path, t: float) -> np.ndarray:
        """Return the active users who have a price. Bool, of all users."""
        priced = np.zeros_like(path.active)
        unit = self.unit * path.rate_at(t)[self.users]
        priced[self.users] = self.with_price(solution, unit, path.active[self.users])
        return priced

    def proves(self, certificate: Certificate, solution: Solution) -> bool:
        """Whether a certificate is good enough.

        Errors of a rise that do not matter beside the tasks of users are none, and neither are
        those of a row beside the largest numbers that its terms could be.
        """
        if certificate.is_optimal or certificate.gap is None or solution.x is None:
            return certificate.is_optimal
        if self.gap_of_levels(certificate, solution) <= SOLVER_TIGHTEST:
            certificate = replace(certificate, gap=0.0)

        program = solution.program
        is_t = np.arange(len(solution.x)) == self.t_column
        reach = np.maximum(reach_of(program), is_t)
        # columns that can have nothing are measured by what the others can have
        reach[reach == 0] = reach.max(initial=0.0, where=~is_t)
        # The solver keeps to its tolerance in rows that are scaled by powers of two: to half a
        # row's own size at least.
        allowed = 2 * SOLVER_TIGHTEST * (abs(program.A) @ reach)
        within = row_violations(program, solution.x) <= allowed
        if within.all() and (solution.x >= 0).all():
            certificate = replace(certificate, primal_residual=0.0)
        return certificate.is_optimal

    def gap_of_levels(self, certificate: Certificate, solution: Solution) -> float:
        """Return a program's duality gap relative to the tasks that users have or could have."""
        gap = certificate.gap or 0.0
        if gap > CONVEX_POINT:  # such a gap leaves open how far the rise could go
            return gap
        gain = self.loaded_rate * abs(solution.require_point()[self.t_column])
        size = np.maximum(self.loaded_tasks + gain, self.level_1)
        relative_gain = np.zeros(len(gain))
        np.divide(gain, size, out=relative_gain, where=size > 0)
        return float(gap * relative_gain.max(initial=0.0))

    def _worth(self, row_duals: np.ndarray) -> np.ndarray:
        """Return what each row's user has at a target, or at level 1, is worth at prices."""
        sizes = np.maximum(self.loaded_tasks + self.loaded_rate, self.level_1)[self.users]
        return np.asarray(abs(row_duals[self.rows]) * self.unit * sizes)

    def _cut(self, solution: Solution, tasks: np.ndarray) -> None:
        """Add the cut of a program's prices: at them, all tasks are worth at most its optimum.

        Prices that are rounding are left out of it. They would be its largest once all users with
        a price have stopped, and block whoever remains.
        """
        assert solution.row_duals is not None
        prices = np.zeros(len(tasks))
        prices[self.users] = abs(solution.row_duals[self.rows]) * self.unit
        optimum = float(prices @ tasks)
        worth = self._worth(solution.row_duals)
        prices[self.users[worth <= SOLVER_TIGHTEST * worth.max(initial=0.0)]] = 0.0
        self.cuts = self.cuts.and_row(prices, optimum)

    def _per_level(self, solution: Solution, path: Path, t: float) -> Solution:
        """Return the solution with duals by unit of the path's t."""
        if solution.row_duals is None:
            return solution
        rate = path.rate_at(t)[self.users]
        growth = float(abs(solution.row_duals[self.rows]) @ (self.unit * rate))
        return replace(solution, row_duals=solution.row_duals / growth) if growth > 0 else solution

    def _load(self, tasks: np.ndarray, rate: np.ndarray, end: float) -> None:
        """Put rows Σ x ≥ tasks + rate·t into the program, with t at most ``end``."""
        self.loaded_tasks = tasks
        self.loaded_rate = rate
        self.session.change(columns=(np.array([self.t_column]), np.zeros(1), np.array([end])))
        floors = self.unit * tasks[self.users]
        # rounding of a user with few tasks is relative to what others have beside it
        sizes = np.maximum(abs(floors), self.unit * self.level_1[self.users])
        self.load(self.unit * rate[self.users], floors, sizes)

    def _hold(self, tasks: np.ndarray) -> None:
        """Put rows Σ x ≥ tasks into the program."""
        self._load(tasks, np.zeros(len(tasks)), 0.0)

    def _surely_blocked(self, solution: Solution | None, t: float) -> np.ndarray:
        """Return the mask of users of whom cuts or prices say that they cannot rise at t."""
        blocked = self.cuts.clearly_blocked(self.path, t)
        if solution is not None:
            blocked |= self._priced(solution, self.path, t)
        return blocked

    def stuck(self, t: float, candidates: np.ndarray) -> np.ndarray:
        """Return the mask of candidates who cannot rise at t unless another user falls."""
        stuck = np.zeros_like(candidates)
        if not candidates.any():
            return stuck
        tasks = self.path.tasks_at(t)
        rate = self.path.rate_at(t)
        speed = np.where(rate > 0, rate, self.level_1)
        waiting = np.flatnonzero(candidates[self.users])
        if self.has_duals:
            waiting = self._not_raised_together(tasks, waiting, speed)
        else:
            self._hold(tasks)
            waiting = self.not_raised(waiting, self.unit * speed[self.users])
        stuck[self.users[waiting]] = True
        return stuck

    def _not_raised_together(
        self, tasks: np.ndarray, waiting: np.ndarray, speed: np.ndarray
    ) -> np.ndarray:
        """Return the positions of ``waiting`` rows that cannot rise above the users' tasks.

        Each program raises all remaining rows together. Those that gain are taken out; where none
        gains, those with a price are stuck. So one program is enough where no row is stuck.
        """
        stuck = [waiting[:0]]
        while waiting.size:
            rate = np.zeros(len(tasks))
            rate[self.users[waiting]] = speed[self.users[waiting]]
            self._load(tasks, rate, np.inf)
            x, solution = self.solve()
            is_rise = x[self.t_column] >= self.path.negligible_rise
            leaving = self._gains(self._rows_without_t(), x)[waiting] & is_rise
            if not leaving.any():
                slope = self.unit * rate[self.users]
                priced = self.with_price(solution, slope, slope > 0)[waiting]
                stuck.append(waiting[priced] if priced.any() else waiting)
                leaving = priced | ~priced.any()
            waiting = waiting[~leaving]
        return np.concatenate(stuck)
