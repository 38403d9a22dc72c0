"""Rounds at rates that depend on which users are active: h-drf, h-drf-counted and kueue.

A leaf that cannot be raised is taken out: a price says so, or a program that tries to raise the
leaves without a price. The rates of the others are computed anew. Leaves that have all their tasks need no
round of their own.

How far a round goes (:meth:`TreeRounds._advance_to_stop`): the targets of leaves are known
beforehand, segment after segment. Rows on all tasks together, at first those of the pool, bound the
level that can be reached. A linear program shows whether the servers allow it. Where they do not,
its prices are another such row, which the target violates (a cut).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...models.programs.certificate import Certificate
from ...models.programs.program import Program
from ...models.programs.sizes import reach_of
from ...models.programs.solution import Solution
from ...models.trees.filling import RateSegment, Rows
from ...tolerances import CONVEX_POINT, ROUNDING, SOLVER_TIGHTEST
from .level_errors import row_violations
from .rounds import Rounds, Tightest


class TreeRounds(Rounds):
    """Rounds along a tree; :meth:`run` leaves the final tasks of leaves in ``segment.tasks``.

    Parameters
    ----------
    solver, program, rows, t_column
        As for :class:`~.rounds.Rounds`.
    first : RateSegment
        Of all users.
    pool : Rows
        Bounds on all tasks together.
    """

    capacities_bound_levels = True

    def __init__(
        self,
        solver: Tightest,
        program: Program,
        rows: np.ndarray,
        t_column: int,
        first: RateSegment,
        pool: Rows,
    ) -> None:
        super().__init__(solver, program, rows, t_column)
        self.users = program.leximin()[0].flat
        self.segment = first
        self.first_rate = first.first_rate
        #: bounds on all tasks together: the rows of the pool, then the cuts
        self.cuts = pool
        self.n_pool_rows = len(pool.room)
        #: the coefficient of one task in its leaf's row
        self.unit = -self.coefficients_of_t() / self.first_rate[self.users]

    def run(self) -> None:
        """Run rounds until no leaf rises any more."""
        while True:
            segment_before = self.segment
            t, solution = self._advance_to_stop()
            if not self.segment.active.any():
                self.history = [(level, leaves) for level, leaves in self.history if leaves.size]
                return

            # Leaves that have all their tasks stop, and blocked leaves do.
            stopping = self.segment.satisfied_at(t)
            if not stopping.any():
                self.priced_solution = self.priced_solution or solution
            stopping |= self.blocked(solution, t)

            # Leaves that could not rise where the segment begins stop there, with the leaves that
            # have all their tasks there.
            at_start = self.segment.tasks * (1 + self.level_tolerance)
            still = stopping & (self.segment.tasks_at(t) <= at_start)
            candidates = still & (self.segment is not segment_before)
            if self.segment.pace.jumps:
                candidates = self.segment.active
            stuck_at_start = self.stuck(0.0, candidates)
            if stuck_at_start.any():
                if not self.history:  # the first segment may begin where a queue catches up
                    self._end_segment(self.segment, 0.0, np.zeros_like(stuck_at_start))
                level, leaves = self.history.pop()
                self.history.append((level, np.union1d(leaves, np.flatnonzero(stuck_at_start))))
                self.segment = self.segment.after(0.0, stuck_at_start)
                continue

            if t < self.segment.pace.end:
                self.require_progress(stopping)
            self._end_segment(self.segment, t, stopping)
            self.segment = self.segment.after(t, stopping)
            # A cut with no room left is dropped: all leaves that it priced have stopped, but for
            # rounding.
            self.cuts = self.cuts.with_room(self.segment.tasks, n_first=self.n_pool_rows)

    def _end_segment(self, segment: RateSegment, t: float, stopping: np.ndarray) -> None:
        """Add a segment's end and the leaves that stop there to the history."""
        self.history.append((segment.level(t), np.flatnonzero(stopping)))

    def _advance_to_stop(self) -> tuple[float, Solution | None]:
        """Let all active leaves rise together as far as the pool, the cuts and the servers allow.

        Moves :attr:`segment`, :attr:`point`, :attr:`history` and :attr:`cuts` along.

        Returns
        -------
        t : float
            Where the rise stops, counted from the start of :attr:`segment`, by now the last one.
        solution : Solution or None
            The solution whose prices stop the leaves, with duals for one unit of t. None where the
            last program had slack, or none was solved, and no cut stopped the leaves.
        """
        segments = [self.segment]
        # The last tasks known to be possible: without duals those at t of the last segment; with
        # duals those of the first segment, until a program reaches a target.
        tasks = self.segment.tasks
        t = 0.0
        last_cut_target = None
        is_reached = False
        last_solution = None
        cut_solution = None

        while segments[-1].active.any():
            # The target is as far as the cuts allow.
            target_t, t = self._append_and_find_target(segments, t)
            target_tasks = segments[-1].tasks_at(target_t)
            rise = self._missing_tasks(segments[-1], tasks, target_tasks)
            if not rise.any():
                # The target is reached, or nothing can rise. Without duals the target may only be
                # the point where the next leaf starts: go on from there.
                is_at_target = t == target_t
                t = target_t
                if self.has_duals or is_at_target:
                    break
                continue

            # How much of the way do the servers allow? Column t is the fraction of it.
            self._load(tasks, rise, np.inf)
            x, trial_solution = self.solve()
            fraction = float(x[self.t_column])
            falls_short = fraction < self.reached
            # Where all leaves rise in proportion up to the target, the program ends at the last
            # possible point. Without duals that is always so: the target is no further than the
            # next point where a leaf starts to rise.
            in_proportion = not self.has_duals or (
                len(segments) == 1 and segments[0].next_rise(t) >= target_t
            )

            # If a cut left the target where it was (by rounding), take the target as reached.
            is_new_target = last_cut_target is None or (target_tasks != last_cut_target).any()
            if falls_short and not in_proportion and is_new_target:
                # Cut the target off, and leave the segments that the cut shows to be impossible.
                reached_tasks = tasks + (target_tasks - tasks) * fraction
                self._cut(trial_solution, reached_tasks)
                while len(segments) > 1 and self.cuts.exceeded(segments[-1].tasks):
                    segments.pop()
                last_cut_target = target_tasks
                # If the cut stops the leaves where this segment begins, its program decides.
                is_blocked = self.cuts.reach(segments[-1]) <= segments[-1].negligible_rise
                cut_solution = trial_solution if is_blocked else None
                continue

            # The point can be reached. Go there, if the prices decide which leaves stop; else the
            # session was restarted, and solves the same target again.
            end_t = target_t
            if falls_short and in_proportion:
                end_t = t + (target_t - t) * fraction
            has_slack = fraction > 1 + (1 - self.reached)
            last_solution = None if has_slack else trial_solution
            if not has_slack and self._restarted_as_undecided(trial_solution, segments[-1], end_t):
                continue
            self.point = x
            is_reached = True
            tasks = segments[-1].tasks_at(end_t)
            t = end_t
            if end_t < target_t:
                break

        # No program has given a point for these tasks: solve one that holds them.
        if not is_reached and (segments[-1].active.any() or self.n_programs == 0):
            self._hold(tasks)
            self.point, _ = self.solve()
        for segment in segments[:-1]:
            self._end_segment(segment, segment.end, segment.satisfied_at(segment.end))
        self.segment = segments[-1]
        solution = cut_solution or last_solution
        return t, None if solution is None else self._per_level(solution)

    def _missing_tasks(
        self, segment: RateSegment, tasks: np.ndarray, target_tasks: np.ndarray
    ) -> np.ndarray:
        """Return the tasks that each leaf lacks of its target, 0 where that is rounding."""
        rounding = max(ROUNDING, segment.negligible_rise)
        noise = rounding * np.maximum(target_tasks, self.first_rate)
        missing_tasks = target_tasks - tasks
        return np.where(missing_tasks > noise, missing_tasks, 0.0)

    def _append_and_find_target(self, segments: list[RateSegment], t: float) -> tuple[float, float]:
        """Append the segments that the cuts let pass; return the target in the last one, and t.

        The target is the largest t that the cuts allow there. The second t is where the rise
        stands in that segment: 0 if one was appended. Without duals there are no cuts: the target
        is then the next point at which the set of rising leaves changes, so that all rise in
        proportion up to it.
        """
        while True:
            segment = segments[-1]
            target_t = self.cuts.reach(segment) if segment.active.any() else 0.0
            if target_t <= segment.negligible_rise and target_t < segment.end:
                target_t = 0.0
            if not self.has_duals:
                target_t = min(target_t, segment.next_rise(t))
            may_pass = (
                np.isfinite(segment.end)
                and not segment.pace.jumps
                and (self.has_duals or t == target_t)
            )
            if target_t < segment.end or not may_pass:
                return target_t, t
            segments.append(segment.after(segment.end, segment.satisfied_at(segment.end)))
            t = 0.0

    def _restarted_as_undecided(self, solution: Solution, segment: RateSegment, t: float) -> bool:
        """Restart the session if prices leave open which leaves go on; return whether it did.

        Leaves that have all their tasks at ``t``, and leaves with a price, are decided.
        """
        going_on = segment.active & ~segment.satisfied_at(t) & ~self._priced(solution, segment)
        return bool(going_on.any()) and self.restart_if_undecided(solution)

    def _priced(self, solution: Solution, segment: RateSegment) -> np.ndarray:
        """Return the active leaves that have a price. Bool, of all users."""
        priced = np.zeros_like(segment.active)
        unit = self.unit * segment.rate[self.users]
        priced[self.users] = self.with_price(solution, unit, segment.active[self.users])
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
        rise = self.loaded_rate * abs(solution.require_point()[self.t_column])
        size = np.maximum(self.loaded_tasks + rise, self.first_rate)
        relative_rise = np.zeros(len(rise))
        np.divide(rise, size, out=relative_rise, where=size > 0)
        return float(gap * relative_rise.max(initial=0.0))

    def _cut(self, solution: Solution, tasks: np.ndarray) -> None:
        """Add the cut of a program's prices: at them, all tasks are worth at most its optimum."""
        assert solution.row_duals is not None
        prices = np.zeros(len(tasks))
        prices[self.users] = abs(solution.row_duals[self.rows]) * self.unit
        self.cuts = self.cuts.and_row(prices, float(prices @ tasks))

    def _per_level(self, solution: Solution) -> Solution:
        """Return the solution with duals by unit of the segment's t."""
        if solution.row_duals is None:
            return solution
        rate = np.where(self.segment.active, self.segment.rate, 0.0)[self.users]
        growth = float(abs(solution.row_duals[self.rows]) @ (self.unit * rate))
        return replace(solution, row_duals=solution.row_duals / growth) if growth > 0 else solution

    def _load(self, tasks: np.ndarray, rate: np.ndarray, end: float) -> None:
        """Put rows Σ x ≥ tasks + rate·t into the program, with t at most ``end``."""
        self.loaded_tasks = tasks
        self.loaded_rate = rate
        self.session.change(columns=(np.array([self.t_column]), np.zeros(1), np.array([end])))
        floors = self.unit * tasks[self.users]
        self.load(self.unit * rate[self.users], floors, abs(floors))

    def _hold(self, tasks: np.ndarray) -> None:
        """Put rows Σ x ≥ tasks into the program."""
        self._load(tasks, np.zeros(len(tasks)), 0.0)

    def blocked(self, solution: Solution | None, t: float) -> np.ndarray:
        """Return the mask of leaves that cannot rise at t unless another leaf falls."""
        segment = self.segment
        rate = np.where(segment.active, segment.rate, 0.0)
        blocked = self.cuts.blocked(segment.tasks_at(t), rate)
        if solution is not None:
            blocked |= self._priced(solution, segment)
        return np.asarray(blocked | self.stuck(t, segment.active & ~blocked))

    def stuck(self, t: float, candidates: np.ndarray) -> np.ndarray:
        """Return the mask of candidates that cannot rise at t unless another leaf falls."""
        stuck = np.zeros_like(candidates)
        if not candidates.any():
            return stuck
        tasks = self.segment.tasks_at(t)
        speed = np.where(self.segment.rate > 0, self.segment.rate, self.first_rate)
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
        """Return the positions of ``waiting`` rows that cannot rise above the leaves' tasks.

        Each program raises all remaining rows together. Those that gain are taken out; where none
        gains, those with a price are stuck. So one program is enough where no row is stuck.
        """
        stuck = [waiting[:0]]
        while waiting.size:
            rate = np.zeros(len(tasks))
            rate[self.users[waiting]] = speed[self.users[waiting]]
            self._load(tasks, rate, np.inf)
            x, solution = self.solve()
            is_rise = x[self.t_column] >= self.segment.negligible_rise
            leaving = self._gains(self._rows_without_t(), x)[waiting] & is_rise
            if not leaving.any():
                slope = self.unit * rate[self.users]
                priced = self.with_price(solution, slope, slope > 0)[waiting]
                stuck.append(waiting[priced] if priced.any() else waiting)
                leaving = priced | ~priced.any()
            waiting = waiting[~leaving]
        return np.concatenate(stuck)
