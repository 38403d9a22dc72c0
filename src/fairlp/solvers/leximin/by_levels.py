"""Servers by programs whose t is the level: constant rates, groups of users, Newton's method.

t goes on from level to level, and blocked users keep their level. What makes the rounds quick:

* **Task limits**, by Newton's method: the target at level t, Σ min(rate·t, limit), is concave, so
  guessing the set of users at their limits from below and solving for t converges monotonically in
  a few programs. A level that is certainly reached is enough for a guess: where the back end has
  one before it has the largest, few programs are solved to the end.
* **One large server** (:meth:`ServersByLevels.as_one_server`): one program may show that the servers
  allow the levels of one server as large as all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import SolverError
from ...models.paths.engine import History, PathEnd, Stop, rise
from ...models.paths.one_server import fill_server
from ...models.paths.path import ConstantPath, Path
from ...models.programs.program import Program
from ...models.programs.solution import Solution
from ...tolerances import ACCEPTED, AGREEMENT, ROUNDING, SATURATED, SOLVER_TIGHTEST
from .level_errors import program_error
from .programs import Members, ServersByPrograms, Tightest

#: Distances from the largest level of levels that are tried first, one after the other.
PREVIEWS = (0.1, 0.01, 0.001)


class ServersByLevels(ServersByPrograms):
    """Servers for a :class:`~fairlp.models.paths.path.ConstantPath` of members; groups are rows.

    A row says (tasks of its group) − (its rate)·t ≥ a constant, and t, a column, is maximised; it
    is above 0. ``weights`` are those of the groups: prices of weighted shares decide who is
    blocked. ``pool`` is what one task of each group needs, and the sum of all capacities, where all
    may run everywhere.

    Attributes
    ----------
    level : ndarray, shape (M,)
        The level of each member that has stopped.
    active : ndarray of bool, shape (M,)
        Who goes on.
    """

    def __init__(
        self,
        solver: Tightest,
        program: Program,
        rows: np.ndarray,
        t_column: int,
        members: Members,
        weights: np.ndarray,
        pool: tuple[np.ndarray, np.ndarray] | None = None,
        leaves: bool = False,
    ) -> None:
        super().__init__(solver, program, rows, t_column, len(members.tasks_per_level))
        self.pool = pool
        self.session.may_leave = leaves
        self.members = members
        self.tasks_per_level = members.tasks_per_level
        self.limit_level = members.limit / members.tasks_per_level
        self.level = np.zeros(len(members.tasks_per_level))
        self.active = np.ones(len(members.tasks_per_level), dtype=bool)
        self.level_before = -1.0
        self.base = program.row_lower[rows]
        self.bounds = program.col_lower[[t_column]], program.col_upper[[t_column]]
        # The coefficient of t when every member of the group is active.
        self.full_slope = -self.coefficients_of_t()
        group_tasks = np.bincount(members.of, weights=members.tasks_per_level)
        self.unit = self.full_slope / group_tasks  # of a row, for one task
        self.share = self.full_slope / weights  # one share, in the unit of the row

    def run(self) -> PathEnd:
        """Return the rise of all members, by the quickest way."""
        path = ConstantPath.of_levels(self.limit_level)
        if self.pool is not None and self.session.has_previews:
            history = self.as_one_server(*self.pool)
            if history is not None:
                nobody = np.zeros_like(self.active)
                return PathEnd(replace(path, tasks=self.level, active=nobody), history)
        end = rise(path, self)
        self.level = end.path.tasks
        # A lowered floor may have raised a user whose price is small.
        if (self.level > self.errors.upper_bounds).any():
            self.errors.program_errors[-1] = np.inf
        return end

    def stop(self, path: Path) -> Stop:
        """Return the largest level that all active members can have, and who is blocked there.

        Members whose row has a price are; where prices do not decide, programs do.
        """
        self.level = path.tasks
        self.active = path.active
        level, solution = self._raise(max(self.level_before, 0.0))
        satisfied = path.satisfied_at(level)
        blocked = np.zeros_like(satisfied)
        if solution is not None:
            self.priced_solution = self.priced_solution or solution
            self.add_error(level, solution)
            if solution.row_duals is not None:
                self.round_duals.append(solution.row_duals)
            priced = self.with_price(solution, self.share, self._groups_of(self.active))
            blocked = self.active & ~satisfied & (priced[self.members.of] | self.session.has_left)
            undecided = self.active & ~satisfied & ~blocked
            level_stands = level <= self.level_before * (1 + self.level_tolerance)
            if undecided.any() and (level_stands or not self.has_duals):
                blocked |= self.stuck(level, undecided)
            self.errors.stop(blocked)
        self.level_before = level
        self.n_stops += 1
        t = level if blocked.any() else path.limit_levels[satisfied].max(initial=0.0)
        return Stop([path], float(t), blocked)

    def _attempt(self) -> Solution | SolverError:
        """Solve the loaded program, by another algorithm too where the point misses what was asked.

        A vertex that is a little out of its bounds is a tolerance of its solver, and no rounding:
        levels would be off by as much.
        """
        solution = super()._attempt()
        certificate = self.certificate
        if isinstance(solution, SolverError) or certificate is None or not self.is_exacting:
            return solution
        if not certificate.primal_residual > SOLVER_TIGHTEST:
            return solution
        self.session.restart(other_method=True)
        second_solution = super()._attempt()
        self.session.restart()
        second_certificate = self.certificate
        if (
            isinstance(second_solution, SolverError)
            or second_certificate is None
            or not second_certificate.primal_residual < certificate.primal_residual
        ):
            self.certificate = certificate
            return solution
        return second_solution

    def _groups_of(self, members: np.ndarray) -> np.ndarray:
        """Return the groups that have one of these members. Bool."""
        counts = np.bincount(self.members.of, weights=members, minlength=len(self.rows))
        return np.asarray(counts > 0)

    def as_one_server(self, demands: np.ndarray, pool: np.ndarray) -> History | None:
        """Return the rounds of one server where one program shows that its levels are possible.

        The one server is as large as all of them. Its levels bound the leximin, and need no program
        (:func:`~fairlp.models.paths.one_server.fill_server`). In the one program users rise in
        proportion to them. None where the program does not show it.
        """
        needs = demands[self.members.of] * self.tasks_per_level[:, None]
        rates = np.ones(len(needs))
        levels, history = fill_server(needs, pool, rates, self.limit_level)
        if len(history) < 2:
            return None

        # Cheap lower bounds first: they refute most instances on which the servers matter.
        top_level = float(levels.max())
        self._load(levels / top_level, self.level)
        for gap in PREVIEWS:
            level = self.session.reaches(gap)
            if level is None or level < top_level * (1 - gap) * (1 - 2 * AGREEMENT):
                return None
        solution = self._attempt()
        if isinstance(solution, SolverError):
            return None
        point = solution.require_point()
        if point[self.t_column] < top_level * self.whole_way:
            return None

        self.point = point
        fraction = min(float(point[self.t_column]) / top_level, 1.0)
        self.level = np.where(levels < self.limit_level, levels * fraction, self.limit_level)
        error = program_error(solution, 0.0, self.rows, self.floors, 0.0 * self.floors)
        relative_error = 1.0 - fraction + error / top_level
        error_data = needs, pool, levels, relative_error, solution
        self._add_errors_of_one_server(history, *error_data)
        return history

    def _add_errors_of_one_server(
        self,
        history: History,
        needs: np.ndarray,
        pool: np.ndarray,
        levels: np.ndarray,
        relative_error: float,
        solution: Solution,
    ) -> None:
        """Add the rounds of one server, all of which may be off by a fraction of themselves."""
        block = solution.program.row_block("capacity")
        capacities = solution.program.row_upper[block.slice].reshape(-1, len(pool))
        unit = pool / capacities.sum(axis=0)
        last_level = np.where(needs > 0, levels[:, None], 0.0).max(axis=0)
        saturated = levels @ needs >= pool * (1 - SATURATED)
        for level, frozen in history:
            ending = np.flatnonzero(saturated & (last_level == level))
            if not ending.size:  # the remaining users have all their tasks
                continue
            r = int(ending[0])
            price = 1.0 / needs[levels >= level, r].sum()
            self.errors.add_round(level, relative_error * price * pool[r], price * needs[:, r])
            self.errors.stop(frozen[levels[frozen] < self.limit_level[frozen]])
            if self.priced_solution is None:
                x = self.point.copy()
                x[self.t_column] = level
                row_duals = np.zeros(solution.program.n_rows)
                row_duals[block.start + r : block.stop : len(pool)] = price * unit[r]
                self.priced_solution = replace(solution, x=x, row_duals=row_duals)

    def add_error(self, level: float, solution: Solution) -> None:
        """Add a round to the errors: its program's, and those of the levels that it builds on."""
        if solution.row_duals is None or self.certificate is None:
            return
        gap = self.certificate.objective_gap or 0.0
        lowered = self._lowered * self.floor_sizes
        error = program_error(solution, gap, self.rows, self.floors, lowered)
        prices = abs(solution.row_duals[self.rows]) * self.unit
        doubt = (self.certificate.dual_residual or 0.0) / ROUNDING * error
        member_prices = prices[self.members.of] * self.tasks_per_level
        self.errors.add_round(level, error, member_prices, doubt)

    def _raise(self, level: float) -> tuple[float, Solution | None]:
        """Return the largest level that gives all active members min(rate·level, limit).

        Newton's method finds it.

        It is at least ``level``, that of the round before, at which no active member had all its
        tasks; infinite, without a solution, where all active members have all their tasks.
        """
        limited = self._surely_limited()
        while True:
            growing = self.active & ~limited
            if not growing.any():
                return np.inf, None
            self._load(growing, np.where(limited, self.limit_level, self.level))
            self.point, solution = self.solve()
            assert self.certificate is not None
            # The floors are in the program's terms, and may be far larger than the level.
            self.gap = max(self.gap, self.certificate.objective_gap or 0.0)
            level = max(level, float(self.point[self.t_column]))
            newly_limited = growing & (self.limit_level <= level)
            if not newly_limited.any() and not self.restart_if_undecided(solution):
                return level, solution
            limited |= newly_limited

    def _surely_limited(self) -> np.ndarray:
        """Return the members who surely have all their tasks, where a quick look shows it.

        They have them at levels that are surely reached.
        """
        limited = np.zeros_like(self.active)
        growing = self.active
        if not self.session.has_previews or not np.isfinite(self.limit_level[growing]).any():
            return limited
        self._load(growing, self.level)
        for gap in PREVIEWS:
            newly_limited = growing
            while newly_limited.any():
                level = self.session.reaches(gap)
                if level is None:  # solving is as quick
                    return limited
                newly_limited = growing & (self.limit_level <= level)
                if (newly_limited == growing).all():
                    return limited
                if newly_limited.any():
                    limited = limited | newly_limited
                    growing = growing & ~newly_limited
                    self._load(growing, np.where(limited, self.limit_level, self.level))
        return limited

    def _load(self, growing: np.ndarray, level: np.ndarray) -> None:
        """Put rows Σ x ≥ (rate of growing members)·t + (tasks of the others) into the program."""
        n_groups = len(self.rows)
        rates = self.tasks_per_level * growing
        slope = np.bincount(self.members.of, weights=rates, minlength=n_groups) * self.unit
        fixed_tasks = self.tasks_per_level * np.where(growing, 0.0, level)
        fixed = np.bincount(self.members.of, weights=fixed_tasks, minlength=n_groups)
        self.load(slope, self.base + fixed * self.unit, abs(self.base) + abs(fixed * self.unit))

    def stuck(self, level: float, candidates: np.ndarray) -> np.ndarray:
        """Return the candidates that cannot rise above ``level`` unless another user falls.

        Maximise the sum of the candidates' levels with t fixed: those that end above can be raised;
        repeat for the others until none of them gains.
        """
        column = np.array([self.t_column])
        # without duals, a solver's tolerance below
        fixed_level = np.array([level if self.has_duals else level * (1 - ACCEPTED)])
        self.session.change(columns=(column, fixed_level, fixed_level))
        waiting = self.not_raised(np.unique(self.members.of[candidates]), self.full_slope)
        self.session.change(columns=(column, *self.bounds))
        return candidates & np.isin(self.members.of, waiting)
