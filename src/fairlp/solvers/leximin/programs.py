"""Servers as a region: one linear program of any back end, solved from its last basis.

A program gives the first round: maximise t subject to rows (what a group has) ≥ (its rate)·t. After
each round the users who are blocked keep what they have, and the others go on. Two regions put the
path's targets into it:

* :class:`~.by_levels.ServersByLevels`: rates are constant, and the program's t is the level.
* :class:`~.by_cuts.ServersByCuts`: any path; programs say how far the way to a target is possible.

What makes the rounds exact and quick:

* **Blocked users.** A user whose row has a positive price is blocked in every optimal solution
  (complementary slackness), so it stops. A user without a price stays, and a later round finds
  it if it was blocked after all. Where prices do not decide, linear programs that try to raise all
  remaining users do (:meth:`ServersByPrograms.not_raised`).
* **Groups.** A row may stand for several users with proportional demands, whose target is
  Σ_m min(rate_m·t, limit_m).
* **A certificate that does not hold** (:meth:`ServersByPrograms.solve`): the program is solved afresh,
  by another algorithm, and with floors that are a little lower. ``mechanisms/max_min/ladder.py`` goes
  on from there, with rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import NoSolutionError, NotConvergedError, SolverError, counted
from ...models.notation.compiler import numbers
from ...models.notation.model import Model
from ...models.paths.engine import PathEnd, Region
from ...models.programs.backends import AnySolver, backend as find_backend
from ...models.programs.certificate import Certificate
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Backend, Capability, Entries, Session
from ...models.programs.solution import Solution
from ...models.programs.status import Termination
from ...tolerances import ACCEPTED, AGREEMENT, FLOOR_RELAXATIONS, NOISE, ROUNDING, SOLVER_TIGHTEST
from ..backends.base import dense_column
from .level_errors import LevelErrors

#: A back end, and the options of its sessions.
Tightest = tuple[Backend, Options]


def tightest(solver: AnySolver, options: Mapping[str, Any] | None = None) -> Tightest:
    """Return a back end and its options with the tightest tolerances.

    So the errors of rounds do not add up.
    """
    backend = find_backend(solver)
    return backend, Options.from_keywords(str(solver), options or {}).tightened(backend)


@dataclass(frozen=True)
class Members:
    """The users behind the rows of a program; all arrays have shape (M,).

    Their numbers are in tasks of the first user of their group.

    Attributes
    ----------
    of : ndarray of int
        Group of each.
    tasks_per_level, limit : ndarray
        Tasks at level 1, and task limit.
    """

    of: np.ndarray
    tasks_per_level: np.ndarray
    limit: np.ndarray

    def of_groups(self, groups: np.ndarray) -> Members:
        """Return the members of some groups, which are counted from 0."""
        inside = np.isin(self.of, groups)
        return Members(
            np.searchsorted(groups, self.of[inside]),
            self.tasks_per_level[inside],
            self.limit[inside],
        )


@dataclass(frozen=True)
class RoundPrices:
    """Prices of the programs of a leximin in order, which show why users could not have more.

    Attributes
    ----------
    capacities : ndarray, shape (J, G, R)
        By program, group of identical servers, and resource.
    caps : ndarray, shape (J, C)
        By program, and cap of a queue: queues in their order, and resources of each.
    group : ndarray of int, shape (K,)
        Group of each server.
    """

    capacities: np.ndarray
    caps: np.ndarray
    group: np.ndarray

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the prices of each program: of capacities, servers × resources, and of caps."""
        for capacities, caps in zip(self.capacities, self.caps, strict=True):
            yield capacities[self.group], caps


def prices_of(model: Model, program: Program, row_duals: np.ndarray) -> np.ndarray:
    """Return the duals of the rows ``capacity`` by unit of resource, servers × resources."""
    block = program.row_block("capacity")
    # a row that no user uses (no capacity, or none that its users may have) says 0 ≤ c: its dual
    # prices nothing
    used = np.bincount(program.A.indices, minlength=program.n_rows)[block.slice] > 0
    duals = np.where(used, row_duals[block.slice], 0.0).reshape(-1, block.shape[-1])
    if "capacity_unit" in model:
        duals = duals / numbers(model["capacity_unit"]).values
    return np.asarray(duals)


def prices_of_caps(program: Program, row_duals: np.ndarray) -> np.ndarray:
    """Return the duals of the rows ``cap``; none where there are no such rows."""
    rows = [row_duals[block.slice] for block in program.rows if block.name == "cap"]
    return np.concatenate([*rows, np.zeros(0)])


class ServersByPrograms(Region):
    """A program that rounds solve with new rates and floors: ``rows`` are ≥ slope·t + floor.

    Attributes
    ----------
    point : ndarray
        A solution in which all users have their tasks so far.
    priced_solution : Solution or None
        That of the first round that a resource ended.
    floors, floor_sizes : ndarray
        Floor of each row, and the sizes of the numbers whose sum it is.
    gap, n_programs, seconds
        The largest certified gap, the number of programs solved, and their time.
    relaxation : float
        The largest fraction of ``floor_sizes`` by which floors were lowered.
    level_tolerance : float
        Levels that differ by less than this fraction are equal.
    whole_way : float
        A rise of at least this fraction of the way counts as complete.
    errors : LevelErrors
    row_duals : list of ndarray
        Absolute duals of the rows of every program that was solved.
    round_duals : list of ndarray
        Duals that show who is blocked: of rounds by levels, and of programs that raise nobody.
    n_stops : int
        How often a path has stopped.
    check_solution : callable or None
        Called with every certified solution.
    """

    #: Whether no level can rise without end, so that a solver that says so is wrong.
    capacities_bound_levels = False

    def __init__(
        self, solver: Tightest, program: Program, rows: np.ndarray, t_column: int, members: int = 0
    ) -> None:
        backend, options = solver
        self.session: Session = backend.session(program, options)
        self.program = program
        self.name = program.name
        self.rows = rows
        self.t_column = t_column
        self.has_duals = Capability.DUALS in backend.capabilities
        self.has_time_limit = options.time_limit is not None
        #: whether the solver is asked for the tightest tolerance, and may take its time
        self.is_exacting = (
            options.primal_tolerance is not None
            and options.primal_tolerance <= SOLVER_TIGHTEST
            and not self.has_time_limit
        )

        self.point = np.zeros(program.n_columns)
        self.priced_solution: Solution | None = None
        self.row_duals: list[np.ndarray] = []
        self.round_duals: list[np.ndarray] = []
        self.errors = LevelErrors(members)
        self.gap = 0.0
        self.n_programs = 0
        self.n_stops = 0
        self.seconds = 0.0
        self.certificate: Certificate | None = None  # of the last program
        self.check_solution: Callable[[Solution], None] | None = None

        self.floors = np.zeros(len(rows))
        self.floor_sizes = np.zeros(len(rows))
        self.relaxation = 0.0
        self._lowered = 0.0  # the fraction of their sizes by which floors are lower now
        self.level_tolerance = AGREEMENT
        self.whole_way = 1 - SOLVER_TIGHTEST
        if not self.has_duals:
            self.level_tolerance = max(NOISE, 4 * ACCEPTED * len(rows))
            self.whole_way = 1 - ACCEPTED

    def run(self) -> PathEnd:
        """Return the rise of all users, who have their tasks at ``point`` then."""
        raise NotImplementedError

    def coefficients_of_t(self) -> np.ndarray:
        """Return the coefficient of t in each row of levels."""
        return np.asarray(dense_column(self.program, self.t_column)[self.rows])

    def load(self, slope: np.ndarray, floors: np.ndarray, floor_sizes: np.ndarray) -> None:
        """Put slopes and floors into the program; a floor that is rounding only counts as 0."""
        A = self.session.program.A
        column = slice(A.indptr[self.t_column], A.indptr[self.t_column + 1])
        loaded_slope = -A.data[column][np.searchsorted(A.indices[column], self.rows)]
        changed = loaded_slope != slope
        coefficients = None
        if changed.any():
            coefficients = (self.rows[changed], self.t_column, -slope[changed])
        self.floors = np.where(abs(floors) <= ROUNDING * floor_sizes, 0.0, floors)
        self.floor_sizes = floor_sizes
        self._lower_floors(self._lowered, coefficients)

    def _lower_floors(self, fraction: float, coefficients: Entries | None = None) -> None:
        """Load the floors, lowered by this fraction of their sizes, and coefficients of t."""
        lower = self.floors - fraction * self.floor_sizes
        rows = (self.rows, lower, np.full(len(self.rows), np.inf))
        self.session.change(rows=rows, coefficients=coefficients)

    def solve(self) -> tuple[np.ndarray, Solution]:
        """Solve the loaded program; after a failure begin afresh, then lower the floors.

        The tasks of the users who have stopped are known up to rounding only, and the excess that
        rounding gives to one of them may be needed by another: the last digits decide whether all
        floors hold at once. Floors that were lowered stay so: the point of this program, which the
        next one begins at, has used the slack.
        """
        solution = self._attempt()
        attempts = [
            (self._lowered + relaxation, other_algorithm)
            for relaxation in FLOOR_RELAXATIONS
            for other_algorithm in (True, False)
        ]
        for fraction, other_algorithm in attempts:
            if not isinstance(solution, SolverError):
                break
            self._lower_floors(fraction)
            self.session.restart(other_algorithm)
            self.relaxation = max(self.relaxation, fraction)
            solution = self._attempt()
        if isinstance(solution, SolverError):
            raise NotConvergedError(str(solution)) if self.n_stops else solution
        self._lowered = self.relaxation
        if self.check_solution is not None:
            self.check_solution(solution)
        return solution.require_point(), solution

    def _attempt(self) -> Solution | SolverError:
        """Solve the loaded program; return the certified answer, or an error.

        A time limit is raised.
        """
        try:
            solution = self.session.solve()
        except SolverError as error:
            return error
        self.n_programs += 1
        self.seconds += solution.times.get("solve", 0.0)
        termination = solution.status.termination
        if termination is Termination.TIME_LIMIT and self.has_time_limit:
            solution.require_optimal()
        if termination is Termination.UNBOUNDED and not self.capacities_bound_levels:
            raise NoSolutionError(
                f"{self.name!r} has no leximin: after {counted(self.n_stops, 'round')} all "
                "levels that are left can be raised without end; bound them"
            )
        if not solution.status.is_optimal:
            return SolverError(f"{solution.solver} did not solve {self.name!r}: {solution.status}")

        certificate = solution.verify()
        proved = self.proves(certificate, solution) if self.has_duals else certificate.is_feasible
        if not proved:
            return SolverError(
                f"{solution.solver} called {self.name!r} optimal; the answer is "
                f"{certificate.verdict}"
            )
        self.certificate = certificate
        self.gap = max(self.gap, self.gap_of_levels(certificate, solution))
        if solution.row_duals is not None:
            self.row_duals.append(abs(solution.row_duals))
        return solution

    def proves(self, certificate: Certificate, solution: Solution) -> bool:
        """Whether a certificate is good enough."""
        return self.session.proves(certificate)

    def gap_of_levels(self, certificate: Certificate, solution: Solution) -> float:
        """Return the duality gap of a program, relative to levels."""
        return certificate.gap or 0.0

    def restart_if_undecided(self, solution: Solution) -> bool:
        """Restart the session where the last digits decide about users; return whether it did.

        The round is then to be solved again.
        """
        assert self.certificate is not None
        if not self.session.leaves_open(solution, self.certificate.gap or 0.0):
            return False
        self.session.restart()
        return True

    def with_price(self, solution: Solution, unit: np.ndarray, growing: np.ndarray) -> np.ndarray:
        """Return the growing rows that have a positive price, each in its unit. Bool."""
        if solution.row_duals is None:  # a back end without duals: programs decide
            return np.zeros(len(self.rows), dtype=bool)
        prices = np.where(growing, abs(solution.row_duals[self.rows]) * unit, 0.0)
        least_price = self.session.least_price * prices.max(initial=0.0)
        return np.asarray((prices >= least_price) & (prices > 0))

    def not_raised(self, waiting: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the positions of ``waiting`` rows that no program raises above their floors.

        Each program maximises the sum of what the remaining rows have, over ``speed``; rows that
        gain leave.
        """
        costs = self.session.program.c
        rows_without_t = self._rows_without_t()
        while waiting.size:
            weights = np.zeros(len(self.rows))
            weights[waiting] = 1.0 / speed[waiting]
            self.session.change(costs=rows_without_t.T @ weights)
            x, solution = self.solve()
            raised = self._gains(self.session.program.A[self.rows].tocsr(), x)[waiting]
            if not raised.any():
                if solution.row_duals is not None:
                    duals = solution.row_duals.copy()
                    duals[self.rows] -= weights  # what the sum counts, as a price of its rows
                    self.round_duals.append(duals)
                break
            waiting = waiting[~raised]
        self.session.change(costs=costs)
        return waiting

    def _rows_without_t(self) -> Any:
        """Return the rows without their terms of t: what each group has."""
        rows = self.session.program.A[self.rows].tocsr()
        rows.data[rows.indices == self.t_column] = 0.0
        return rows

    def _gains(self, rows: Any, x: np.ndarray) -> np.ndarray:
        """Return the rows that a point raises above their floors. Bool.

        A gain differs from rounding by the size of the numbers of its own row: other rows may be of
        any size.
        """
        gains = rows @ x - self.session.program.row_lower[self.rows]
        return np.asarray(gains > self.level_tolerance * (abs(rows) @ abs(x)))
