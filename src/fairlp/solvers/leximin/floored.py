"""A loaded program whose rows have floors, solved and certified again with others.

Where floors contradict each other by rounding, they give way a little, and the answer says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import NoSolutionError, SolverError
from ...models.programs.certificate import Certificate
from ...models.programs.solution import Session, Solution, Termination
from ...tolerances import FIRST_ORDER, FLOOR_RELAXATIONS, ROUNDING, SAME_LEVEL, UNPRICED_LEVEL


class Floored:
    """A program that is solved again with other floors: ``rows`` are >= ``floor``.

    Attributes
    ----------
    floor, measure : ndarray
        Of each row, and the size of the numbers that the floor is made of.
    gap, programs, seconds, relaxed
        The largest certified gap, how many programs were solved, in what time, and by how much floors gave way.
    same : float
        Levels that differ by less than this part are one.
    """

    def __init__(self, session: Session, rows: np.ndarray, t: int, has_duals: bool) -> None:
        self.session, self.name, self.rows, self.has_duals = session, session.program.name, rows, has_duals
        self.t = t  # the column that is maximised
        self.history: list[Any] = []
        self.gap, self.programs, self.seconds = 0.0, 0, 0.0
        self.proved = 0.0  # the gap of the last program
        self.certificate: Certificate | None = None
        self.floor, self.measure, self.relaxed = np.zeros(len(rows)), np.zeros(len(rows)), 0.0
        self.way = 0.0  # the part of themselves by which floors are lower
        self.limited = session.options.time_limit is not None
        self.same = SAME_LEVEL if has_duals else max(UNPRICED_LEVEL, 4 * FIRST_ORDER * len(rows))

    def raise_floors(self, floor: np.ndarray, measure: np.ndarray) -> None:
        """Put floors into the program; what is only rounding beside the numbers that it is made of is 0."""
        self.floor, self.measure = np.where(abs(floor) <= ROUNDING * measure, 0.0, floor), measure
        self._lower(self.way)

    def _lower(self, way: float) -> None:
        """Load the floors, lower by this part of the numbers that they are made of."""
        self.session.change(rows=(self.rows, self.floor - way * self.measure, np.full(len(self.rows), np.inf)))

    def solve(self) -> Solution:
        """Solve what is loaded; where that fails, begin afresh, and then give the floors of the others a little way.

        What the others have is known to rounding only, and what one of them has more by rounding may be what another
        needs: the last digits decide whether all floors can be kept at once. Where they gave way once they stay as
        low: the point of this program, which the next one begins at, has used the room.
        """
        solution, failure = self._attempt()
        attempts = ((self.way + relax, other) for relax in FLOOR_RELAXATIONS for other in (True, False))
        while failure is not None:
            way, other = next(attempts, (None, False))
            if way is None:
                raise failure
            self._lower(way)
            self.session.restart(other)
            self.relaxed = max(self.relaxed, way)
            solution, failure = self._attempt()
        assert solution is not None
        self.way = self.relaxed
        return solution

    def not_raised(self, waiting: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the positions of rows, of those ``waiting``, that no program raises above their floors.

        Each program maximises the sum of what the rows that are left have, over ``speed``; those that gain leave.
        """
        program = self.session.program
        rows = program.A[self.rows].tocsr()
        held = rows.copy()
        held.data[held.indices == self.t] = 0.0
        magnitude = abs(rows)
        while waiting.size:
            weight = np.zeros(len(self.rows))
            weight[waiting] = 1.0 / speed[waiting]
            self.session.change(costs=held.T @ weight)
            x = self.solve().require_point()
            gain = rows @ x - self.session.program.row_lower[self.rows]
            # a gain is told from rounding by what its own row is made of: others may be of any size
            raised = (gain > self.same * (magnitude @ abs(x)))[waiting]
            if not raised.any():
                break
            waiting = waiting[~raised]
        self.session.change(costs=program.c)
        return waiting

    def _attempt(self) -> tuple[Solution | None, SolverError | None]:
        """Solve what is loaded; return the certified answer, or what was wrong. A limit that is reached is raised."""
        try:
            solution = self.session.solve()
        except SolverError as error:
            return None, error
        self.programs += 1
        self.seconds += solution.times.get("solve", 0.0)
        if solution.status.termination is Termination.TIME_LIMIT and self.limited:
            solution.require_optimal()
        if solution.status.termination is Termination.UNBOUNDED:
            raise NoSolutionError(
                f"{self.name!r} has no leximin: after {len(self.history)} rounds all levels that are left can be "
                "raised without end; bound them"
            )
        if not solution.status.is_optimal:
            return None, SolverError(f"{solution.solver} did not solve {self.name!r}: {solution.status}")
        certificate = solution.verify()
        if not (certificate.is_optimal if self.has_duals else certificate.is_feasible):
            return None, SolverError(f"{solution.solver} called {self.name!r} optimal, but it is not: {certificate}")
        self.certificate = certificate
        self.proved = certificate.gap or 0.0
        self.gap = max(self.gap, self.proved)
        return solution, None
