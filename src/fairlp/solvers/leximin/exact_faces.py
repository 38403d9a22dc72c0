"""The rounds of a leximin on exact faces: each basis is computed anew, in whole numbers.

    maximise t   subject to   Σ_n d[n,r]·x[n,i] ≤ c[i,r],   Σ_i x[n,i] ≥ rate[n]·t of users who rise,
                              Σ_i x[n,i] = what it has, of a user who has stopped,   x ≥ 0

Where many levels hang on each other, prices of later rounds are up to 1e13 times the first, and
multiply the rounding of all before. So a solver only *proposes* a basis; its point and its prices
are computed to 200 binary places, from all digits of the instance's numbers, so that a number that
is 0 is told from one that is small without a tolerance.

**Faces.** Pairs of positive reduced cost are not used in any optimum: they leave. Capacities with a
price are used up, and users with a price stop: their rows become equalities.

**Displacements.** HiGHS is given how far tasks move from the exact vertex of the round before. Right
sides are 0 then, and the vertex stays feasible, so that the primal simplex method goes on from
there. t is free and not basic, and the slack of a user who stopped is basic in its place: the old
basis would be singular.

**Proof.** Prices of equalities may be negative. A round's prices, plus multiples of the prices of
earlier rounds that make the signs right, bound every allocation; in whole numbers nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...errors import NotConvergedError, SolverError
from ...models.instances.arithmetic import quotients
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.proof import Proof
from ...tolerances import EXACT_ZERO_PLACES, ROUNDING
from ..backends.highs import Highs, HighsSession
from .whole_numbers import ENTRY_PLACES, FINEST, PLACES, ExactMatrix, solved, to_floats, to_whole

#: Less than this, in units of ``PLACES``, is 0.
_ZERO = 1 << (PLACES - EXACT_ZERO_PLACES)
#: Steps of the simplex method in one attempt, for each row.
_STEPS = 20
#: Attempts in a round, each from where the last one ended.
_ATTEMPTS = 3
#: What t is worth: HiGHS's tolerance of prices is absolute.
_COST = 1e4
#: HiGHS's number of the primal simplex method.
_PRIMAL = 4

#: An optimum of the first round from inside: tasks (N, K), prices (K, R).
Start = tuple[np.ndarray, np.ndarray]
#: Basic columns, and rows whose slack is basic (bool).
Basis = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Vertex:
    """The exact point and prices of a basis, numbers of ``PLACES`` places, of rows and then of pairs.

    Attributes
    ----------
    basic : ndarray of bool
    amounts : ndarray of int
        What is left of a capacity, what a user has beyond its row, and the tasks of a pair.
    prices : ndarray of int
        Of what one could have more of, and reduced costs of pairs.
    level : int
    """

    basic: np.ndarray
    amounts: np.ndarray
    prices: np.ndarray
    level: int

    def is_optimal(self, settled: np.ndarray) -> bool:
        """Whether all signs are right: amounts of what earlier rounds settled are 0."""
        return bool(
            (self.amounts[~settled] >= -_ZERO).all()
            and (self.prices[~settled] >= -_ZERO).all()
            and (abs(self.amounts[settled]) <= _ZERO).all()
        )


def _unit(numbers: np.ndarray) -> np.ndarray:
    """Return the nearest powers of two; 1 for 0."""
    return np.exp2(np.round(np.log2(np.where(numbers > 0, numbers, 1.0))))


class _Rounds:
    """The rounds of users who can all run something, in units that are powers of two.

    Columns are pairs, in the order of users, then t; rows are capacities, then users.

    Attributes
    ----------
    sides : ndarray of int
        Exact right-hand sides of rows.
    settled : ndarray of bool
        Rows that earlier rounds made equalities, then pairs that they left unused.
    levels : ndarray of int, shape (N,)
    """

    def __init__(self, instance: Instance, rates: np.ndarray) -> None:
        demands = instance.demands
        n_users, n_resources = demands.shape
        capacities = instance.total_capacities
        self.user, self.server = np.nonzero(instance.runnable())
        self.first_pairs = np.searchsorted(self.user, np.arange(n_users))
        self.level_unit = 1 / _unit(quotients(rates @ demands, capacities.sum(axis=0)).max())
        self.task_unit = _unit(rates * self.level_unit)
        self.capacity_unit = _unit(capacities)
        uses = demands[self.user] * self.task_unit[self.user, None]
        uses = uses / self.capacity_unit[self.server]
        needed = uses[demands[self.user] > 0]
        if not (needed.min() >= FINEST and needed.max() < np.inf):
            raise NotConvergedError("numbers are too far apart")
        self.rates = rates * self.level_unit / self.task_unit

        pairs = np.arange(len(self.user))
        self.n_capacities = capacities.size
        user_rows = self.n_capacities + np.arange(n_users)
        rows = self.server[:, None] * n_resources + np.arange(n_resources)
        entries = np.concatenate([uses.ravel(), np.ones(len(pairs)), -self.rates])
        row = np.concatenate([rows.ravel(), user_rows[self.user], user_rows])
        column = np.concatenate(
            [np.repeat(pairs, n_resources), pairs, np.full(n_users, len(pairs))]
        )
        self.A = sp.csc_array((entries, (row, column)))
        self.A.eliminate_zeros()
        self.by_pair = ExactMatrix.of(self.A[:, :-1].T)
        exact = to_whole(instance.capacities / self.capacity_unit, PLACES)
        exact = exact * instance.counts.astype(object)[:, None]
        self.sides = np.append(exact, np.zeros(n_users, dtype=object))
        self.n_rows = len(self.sides)
        self.sign = np.where(np.arange(self.n_rows) < self.n_capacities, 1, -1)
        self.settled = np.zeros(self.n_rows + len(pairs), dtype=bool)
        self.levels = np.zeros(n_users, dtype=object)
        #: of the round before: its vertex, the row of a user who stopped, and prices that prove it
        self.last: _Vertex | None = None
        self.stopped_row = 0
        self.proof: np.ndarray | None = None

    def run(self, start: Start | None) -> None:
        """Run rounds until nobody rises, the first near an optimum inside."""
        of_users = slice(self.n_capacities, self.n_rows)
        exact_rates = to_whole(self.rates, ENTRY_PLACES)
        while not self.settled[of_users].all():
            vertex = self._optimum(start)
            decided = ~self.settled & (vertex.prices > _ZERO)
            stops = decided[of_users]
            self.levels[~self.settled[of_users]] = vertex.level
            floors = exact_rates * self.levels >> ENTRY_PLACES
            lack = self._lack(vertex, stops, floors)
            if lack > ROUNDING:
                raise NotConvergedError(f"a user may lack {lack:.1e} of its tasks")
            self.last = vertex
            prices_of_users = vertex.prices[of_users] * stops
            self.stopped_row = self.n_capacities + int(prices_of_users.argmax())
            self.settled |= decided
            self.sides[of_users] = np.where(self.settled[of_users], floors, 0)
            of_level = slice(*self.A.indptr[-2:])
            self.A.data[of_level] *= ~self.settled[self.A.indices[of_level]]
            self.A.eliminate_zeros()

    def _optimum(self, start: Start | None) -> _Vertex:
        """Return the exact optimal vertex of the round."""
        vertex = self._from_vertex(self.last) if self.last else self._first(start)
        for _ in range(_ATTEMPTS):
            if vertex is None:
                break
            if vertex.is_optimal(self.settled):
                return vertex
            vertex = self._from_vertex(vertex)
        raise NotConvergedError("no basis is optimal")

    def _first(self, start: Start | None) -> _Vertex | None:
        """Return the vertex near an interior optimum, or the one that HiGHS finds."""
        vertex = self._near(*start) if start else None
        if vertex is None:
            session = self._session(*self._rows(to_floats(self.sides)))
            session.run()
            vertex = self._vertex(session.basic())
        return vertex

    def _usable(self) -> np.ndarray:
        """Return the columns that earlier rounds left: of pairs, and of t."""
        return np.append(~self.settled[self.n_rows :], True)

    def _rows(self, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper sides of the rows."""
        is_equality = self.settled[: self.n_rows]
        is_lower = is_equality | (self.sign < 0)
        is_upper = is_equality | (self.sign > 0)
        return np.where(is_lower, sides, -np.inf), np.where(is_upper, sides, np.inf)

    def _session(
        self,
        row_lower: np.ndarray,
        row_upper: np.ndarray,
        lower: np.ndarray | float = 0.0,
        steps: int | None = None,
    ) -> HighsSession:
        """Return a session with these sides and bounds, of so many steps of the simplex method."""
        A = self.A[:, self._usable()]
        n_columns = A.shape[1]
        program = Program(
            name="exact face",
            sense="max",
            c=np.append(np.zeros(n_columns - 1), _COST),
            offset=0.0,
            A=A,
            row_lower=row_lower,
            row_upper=row_upper,
            col_lower=np.broadcast_to(lower, n_columns),
            col_upper=np.full(n_columns, np.inf),
            integrality=np.zeros(n_columns, dtype=np.int64),
            rows=(),
            columns=(),
        )
        options = Options(scale=False, method="ipm")
        if steps is not None:
            extra = {
                "presolve": "off",
                "simplex_strategy": _PRIMAL,
                "simplex_iteration_limit": steps,
            }
            options = Options(scale=False, method="simplex", extra=extra)
        return HighsSession(Highs(), program, options)

    def _near(self, tasks_inside: np.ndarray, prices_inside: np.ndarray) -> _Vertex | None:
        """Return a vertex of the face on which an optimum lies inside.

        Of what is used and its price, the larger is not 0.
        """
        tasks = tasks_inside[self.user, self.server] / self.task_unit[self.user]
        prices = (prices_inside * self.capacity_unit).ravel()
        sides = to_floats(self.sides)
        capacities = sides[: self.n_capacities]
        prices = prices / (prices @ capacities)
        costs = prices @ self.A[: self.n_capacities, :-1]
        values = np.minimum.reduceat(costs, self.first_pairs)
        dearness = quotients(costs, values[self.user]) - 1
        tasks = np.where(tasks / self.rates[self.user] > dearness, tasks, 0.0)
        totals = np.bincount(self.user, tasks)
        point = np.append(tasks, (totals / self.rates).min())
        activity = self.A @ point
        size = np.append(capacities, totals)
        room = self.sign * (sides - activity)
        is_tight = np.append(prices, values) * size > quotients(room, size)
        lower, upper = self._rows(sides)
        session = self._session(
            np.where(is_tight, activity, np.minimum(lower, activity)),
            np.where(is_tight, activity, np.maximum(upper, activity)),
            steps=0,
        )
        session.cross_over(point)
        return self._vertex(session.basic())

    def _from_vertex(self, vertex: _Vertex) -> _Vertex | None:
        """Return where the simplex method ends from a vertex, in displacements."""
        rows = vertex.basic[: self.n_rows].copy()
        columns = np.append(vertex.basic[self.n_rows :], True)
        if vertex is self.last:  # t can rise: it trades places with a row that stops
            columns[-1] = False
            rows[self.stopped_row] = True
        usable = self._usable()
        amounts = to_floats(vertex.amounts)
        lack = -vertex.amounts[~self.settled].min()
        if lack > _ZERO:  # by less than HiGHS would see
            amounts *= (1 << PLACES) / lack
        room = self.sign * amounts[: self.n_rows]
        is_equality = self.settled[: self.n_rows]
        room[is_equality] = 0.0
        session = self._session(
            *self._rows(room),
            np.append(-amounts[self.n_rows :], -np.inf)[usable],
            _STEPS * self.n_rows,
        )
        session.start_from(columns[usable], rows)
        session.run()
        return self._vertex(session.basic())

    def _vertex(self, basis: Basis | None) -> _Vertex | None:
        """Return the vertex of a basis; None where it is singular, or t is not basic."""
        from scipy.sparse.linalg import splu

        if basis is None:
            return None
        usable_columns, is_slack = basis
        columns = self._usable()
        columns[columns] = usable_columns
        if not columns[-1]:
            return None
        basic = self.A[:, columns]
        square = basic[~is_slack]
        try:
            factors = splu(square, relax=1)
        except (RuntimeError, ValueError):  # singular, or not square
            return None
        costs = np.zeros(square.shape[0], dtype=object)
        costs[-1] = 1 << PLACES
        point = solved(factors, ExactMatrix.of(square), self.sides[~is_slack])
        tight_duals = solved(factors, ExactMatrix.of(square.T), costs, transposed=True)
        if point is None or tight_duals is None:
            return None
        tasks = np.zeros(len(self.user), dtype=object)
        tasks[columns[:-1]] = point[:-1]
        duals = np.zeros(self.n_rows, dtype=object)
        duals[~is_slack] = tight_duals
        room = np.zeros(self.n_rows, dtype=object)
        used = ExactMatrix.of(basic[is_slack]).times(point) >> ENTRY_PLACES
        room[is_slack] = self.sides[is_slack] - used
        costs_of_pairs = self.by_pair.times(duals) >> ENTRY_PLACES
        return _Vertex(
            np.append(is_slack, columns[:-1]),
            np.append(self.sign * room, tasks),
            np.append(self.sign * duals, costs_of_pairs),
            point[-1],
        )

    def _lack(self, vertex: _Vertex, stops: np.ndarray, floors: np.ndarray) -> float:
        """Return the largest part of its tasks that a user who stops may lack.

        Prices ≥ 0 show it: those of the round and a multiple of those before, which makes the signs
        right, say what tasks are worth; all floors together leave the rest of what there is.
        """
        prices = vertex.prices
        if self.proof is not None:
            needed = -prices[self.settled] // self.proof[self.settled]
            prices = prices + 2 * max(needed.max() + 1, 0) * self.proof
        self.proof = prices
        of_capacities = slice(self.n_capacities)
        values = prices[self.n_capacities : self.n_rows]
        least_costs = np.minimum.reduceat(prices[self.n_rows :], self.first_pairs)
        worth = (values + least_costs) * floors
        value = np.maximum(prices[of_capacities], 0) * self.sides[of_capacities]
        rest = value.sum() - worth.sum()
        least = min(worth[stops].tolist(), default=0)
        return rest / least if least > 0 else np.inf

    def tasks(self) -> np.ndarray:
        """Return the tasks of users on servers."""
        assert self.last is not None
        tasks = np.zeros((len(self.rates), len(self.capacity_unit)))
        amounts = to_floats(np.maximum(self.last.amounts[self.n_rows :], 0))
        tasks[self.user, self.server] = amounts * self.task_unit[self.user]
        return tasks


def leximin_on_faces(
    instance: Instance, tasks_per_level: np.ndarray, start: Start | None = None
) -> tuple[Proof, np.ndarray]:
    """Return the verdict with the levels of users without limits, and tasks (N×K) that reach them.

    Parameters
    ----------
    instance : Instance
    tasks_per_level : ndarray, shape (N,)
    start : tuple, optional
        Tasks and prices of an optimum of the first round; used where no servers are identical.
    """
    merged, groups = merge_servers(instance)
    users = np.flatnonzero(merged.runnable().any(axis=1))
    tasks = np.zeros(instance.shape)
    try:
        rounds = _Rounds(merged.select_users(users), tasks_per_level[users])
        if start is not None and len(groups.of) == len(merged.servers):
            rounds.run((start[0][users], start[1]))
        else:
            rounds.run(None)
    except SolverError as error:
        return Proof(False, f"on exact faces, {error}"), tasks
    levels = np.full(len(instance.users), None, dtype=object)
    levels[users] = rounds.levels * (Fraction(float(rounds.level_unit)) / (1 << PLACES))
    tasks[users] = groups.spread(rounds.tasks())
    return Proof(True, "on exact faces", levels=tuple(levels.tolist())), tasks
