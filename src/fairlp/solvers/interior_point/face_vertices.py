"""Rounds on a face of few directions: the simplex method on how far tasks move from a point of it.

Where users run on few servers each, a round leaves a face whose equalities are nearly as many as
its pairs. Interior points lose their digits there, because the equalities hang on each other; the
simplex method is at home: a face of 3,612 pairs and 3,513 equalities takes 2,100 steps once, and
a handful for every later round.

The variables are displacements from a point of the face, relative to its tasks and its level. An
equality has the right-hand side 0 then, which 0 fulfils: no rounding of what users have makes the
equalities contradict each other, as they do for a solver that is given them as floors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...models.instances.arithmetic import quotients
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...tolerances import NOISE, SOLVER_TIGHTEST
from ..backends.base import dense_column
from ..backends.highs import Highs, HighsSession
from .face import Decisions
from .problem import Variables
from .structure import Structure

#: A face has few directions where its pairs are at most so many for each of its equalities.
_FEW = 2.0


def has_few_directions(decisions: Decisions) -> bool:
    """Whether the equalities of a face leave its pairs hardly any room."""
    n_equalities = np.count_nonzero(decisions.tight_capacities)
    n_equalities += np.count_nonzero(decisions.tight_rows)
    return bool(np.count_nonzero(decisions.usable_pairs) <= _FEW * n_equalities)


class FaceVertices:
    """The programs of rounds on one face, in displacements, each from the last one's basis.

    Parameters
    ----------
    structure : Structure
        That of the first round on the face.
    decisions : Decisions
        Those that the face comes from, with a point of it.
    options : Options
    """

    def __init__(self, structure: Structure, decisions: Decisions, options: Options) -> None:
        program = structure.program
        places = structure.places
        self.decisions = decisions
        self.level_column = places.level
        tasks = np.where(decisions.usable_pairs, decisions.x, 0.0)
        totals = structure.problem.region.totals(tasks)
        sizes = np.maximum(tasks, NOISE * structure.problem.region.to_pairs(totals))
        user_unit = structure.problem.region.to_pairs(structure.user_unit)
        point = np.zeros(program.n_columns)
        size = np.zeros(program.n_columns)
        pairs = places.pair[decisions.usable_pairs]
        point[pairs] = (tasks / user_unit)[decisions.usable_pairs]
        size[pairs] = (sizes / user_unit)[decisions.usable_pairs]

        # The level at which no row is below its floor.
        self.rows = places.row
        slope = -dense_column(program, places.level)[self.rows]
        room = (program.A @ point - program.row_lower)[self.rows]
        point[places.level] = quotients(room, slope)[slope > 0].min()
        size[places.level] = point[places.level]

        self.point = point
        self.columns = np.flatnonzero(size)
        self.size = size[self.columns]
        A = program.A[:, self.columns] @ sp.diags_array(self.size)
        row_size = np.asarray(abs(A).sum(axis=1)).ravel()
        self.row_size = np.where(row_size > 0, row_size, 1.0)
        self.is_equality = np.zeros(program.n_rows, dtype=bool)
        self.is_equality[places.capacity.slice] = decisions.tight_capacities.ravel()
        self.is_equality[self.rows[decisions.tight_rows]] = True
        lower, upper = self._sides(program)
        start = -point[self.columns] / self.size
        highs = Highs()
        displaced = program.replace(
            c=program.c[self.columns] * self.size / point[places.level],
            A=sp.csc_array(sp.diags_array(1.0 / self.row_size) @ A),
            row_lower=lower,
            row_upper=upper,
            col_lower=start,
            col_upper=np.full(len(start), np.inf),
            integrality=program.integrality[self.columns],
            rows=(),
            columns=(),
        )
        options = replace(options, threads=None, method="simplex").tightened(highs)
        self.session = HighsSession(highs, displaced, options)
        self.session.keeps_feasible = True
        self.loaded = program

    def _sides(self, program: Program) -> tuple[np.ndarray, np.ndarray]:
        """Return the sides of the rows in displacements."""
        activity = program.A @ self.point
        lower = (program.row_lower - activity) / self.row_size
        # the point is within the capacities, but for rounding
        upper = np.maximum((program.row_upper - activity) / self.row_size, 0.0)
        return np.where(self.is_equality, 0.0, lower), np.where(self.is_equality, 0.0, upper)

    def solve(self, structure: Structure) -> tuple[Variables, int] | None:
        """Return the optimum of a round and the number of steps; None where there is none.

        ``structure`` has the face's users and servers, and other slopes and floors.
        """
        program = structure.program
        if program is not self.loaded:
            self._load(program)
        solution = self.session.solve()
        if not solution.status.is_optimal or solution.x is None or solution.row_duals is None:
            return None
        columns = self.point.copy()
        columns[self.columns] += self.size * solution.x
        duals = solution.row_duals / self.row_size
        duals[abs(solution.row_duals) <= SOLVER_TIGHTEST] = 0.0
        point = self._variables(structure, columns, duals)
        return point, sum(solution.iterations.values())

    def _load(self, program: Program) -> None:
        """Load the slopes and floors of a program."""
        lower, upper = self._sides(program)
        entries = dense_column(program, self.level_column)
        changed = np.flatnonzero(entries != dense_column(self.loaded, self.level_column))
        position = int(np.searchsorted(self.columns, self.level_column))
        values = entries[changed] * self.size[position] / self.row_size[changed]
        self.session.change(
            rows=(np.arange(program.n_rows), lower, upper), coefficients=(changed, position, values)
        )
        self.loaded = program

    def _variables(self, structure: Structure, columns: np.ndarray, duals: np.ndarray) -> Variables:
        """Return columns and duals of the Program as variables of the problem."""
        problem = structure.problem
        region = problem.region
        places = structure.places
        rows = problem.rows
        usable = self.decisions.usable_pairs
        tasks = np.where(usable, columns[places.pair], 0.0)
        x = np.maximum(tasks, 0.0) * region.to_pairs(structure.user_unit)
        t = float(columns[places.level]) * structure.level_unit
        v = duals[places.row] / structure.row_unit
        p = duals[places.capacity.slice].reshape(region.capacities.shape) * structure.resource_unit
        price_of_level = float(rows.slope @ v)
        v = v / price_of_level
        p = p / price_of_level
        s = np.where(self.decisions.tight_capacities, 0.0, region.capacities - region.usage(x))
        u = region.totals(x)[rows.user] - rows.bound - rows.slope * t
        costs = region.reduced_costs(p, problem.sum_by_user(v))
        z = np.where(x > 0, 0.0, np.maximum(costs, 0.0))
        return Variables(x, s, u, z, p, v, t)
