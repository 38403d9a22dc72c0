"""Users who share servers, recognised in a Program, and the method's answer back in its places."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...models.instances.arithmetic import quotients
from ...models.programs.program import Block, LogTerms, Program
from ...tolerances import MARKET, NOISE, ROUNDING
from ..backends.base import dense_column
from .problem import Problem, UserRows, Variables
from .region import PlacedRegion, users_of_places

#: A Program and the users and servers that were recognised in it must agree at a random point, to
#: this many roundings of a row's terms.
_PROBE_SEED = 20261120
_ROUNDINGS = 1000


@dataclass(frozen=True)
class Places:
    """Where users, servers and rows lie in a Program.

    Attributes
    ----------
    pair : ndarray of int, shape (K, N) or (K, W)
        Column of each pair, in the region's places, −1 where there is none.
    capacity : Block
    row : ndarray of int, shape (J,)
        Row of each row on a user, −1 where it is a variable's bound or a logarithm.
    coefficient : ndarray, shape (J,)
        The factor of the user's total in the row, or in the term of the objective.
    level : int
        Column of t, −1 where there is none.
    """

    pair: np.ndarray
    capacity: Block
    row: np.ndarray
    coefficient: np.ndarray
    level: int


@dataclass(frozen=True)
class Structure:
    """A Program's users and servers as a problem, scaled.

    Attributes
    ----------
    program : Program
    places : Places
    problem : Problem
        In units that make every resource's total and every user's largest demand 1, and, with a
        level, the largest that the totals allow.
    row_unit : ndarray, shape (J,)
        A row's dual in the Program, per unit of its value.
    user_unit, resource_unit, level_unit : ndarray or float
        Number in the problem = unit × number in the Program (of a price: the other way round).
    """

    program: Program
    places: Places
    problem: Problem
    row_unit: np.ndarray
    user_unit: np.ndarray
    resource_unit: np.ndarray
    level_unit: float

    @classmethod
    def of(cls, program: Program) -> Structure | None:
        """Return the structure of a Program, or None where it is of another kind; O(nonzeros)."""
        blocks = _blocks(program)
        if blocks is None:
            return None
        pair = _pairs(program, blocks.variable)

        # Every user that has a pair; its columns are alike, so that its first tells its rows.
        present = np.flatnonzero((pair >= 0).any(axis=1))
        first_column = pair[present].max(axis=1)
        entries = program.A[:, first_column].tocoo()
        capacity = blocks.capacity
        in_capacity = (entries.row >= capacity.start) & (entries.row < capacity.stop)
        placed = _user_rows(program, blocks, first_column, entries, ~in_capacity)
        if placed is None:
            return None

        # Users with a lower bound or a term; the others have nothing at the optimum.
        is_lower = placed.rows.sign < 0
        counted = np.unique(placed.rows.user[is_lower])
        no_room = ~is_lower & (placed.rows.bound <= 0) & np.isin(placed.rows.user, counted)
        if not len(counted) or no_room.any():
            return None
        placed = placed.of_users(counted)

        servers = blocks.servers
        demands = np.zeros((len(first_column), len(capacity) // servers))
        resource = (entries.row[in_capacity] - capacity.start) % demands.shape[1]
        demands[entries.col[in_capacity], resource] = entries.data[in_capacity]
        if (demands < 0).any() or not demands[counted].any(axis=1).all():
            return None

        pair = pair[present[counted]].T
        place_users = users_of_places(pair >= 0)
        if place_users is not None:
            pair = np.take_along_axis(pair, place_users, axis=1)
        exists = pair >= 0
        region = PlacedRegion(
            demands[counted],
            program.row_upper[capacity.slice].reshape(servers, -1),
            None if exists.all() else exists,
            place_users=place_users,
        )
        places = Places(pair, capacity, placed.row, placed.coefficient, blocks.level)
        # the region has an interior where there is some of everything that a user may use
        if (region.capacities[region.is_demanded] <= 0).any():
            return None
        if not _agrees(program, region, placed.rows, places):
            return None
        return cls._scaled(program, region, placed.rows, places)

    @classmethod
    def _scaled(
        cls, program: Program, region: PlacedRegion, rows: UserRows, places: Places
    ) -> Structure | None:
        """Return the structure in units of its own; None where weights of terms are no floats."""
        region, user_unit, resource_unit = region.scaled()
        unit_of_row = user_unit[rows.user]
        slope = rows.slope * unit_of_row
        bound = rows.bound * unit_of_row
        is_term = rows.weight > 0
        weight = rows.weight
        level_unit = 1.0
        if places.level >= 0:
            level_unit = _inverse_of_largest_level(region, rows.user, slope)
            objective_unit = 1.0 / level_unit
        else:
            # e·u(k·X) has the slope e·k^(1−α)·X^(−α); terms are worth 1 together where all users
            # have an equal part
            power = 1.0 - rows.alpha
            factor = np.where(is_term, places.coefficient / unit_of_row, 1.0)
            with np.errstate(over="ignore", invalid="ignore"):
                weight = rows.weight * factor**power
                objective_unit = float(weight @ (1.0 / len(user_unit)) ** power)
                weight = weight / objective_unit
            if not (np.isfinite(weight[is_term]) & (weight[is_term] > 0)).all():
                return None
        problem = Problem(
            region, UserRows(rows.user, rows.sign, slope / level_unit, bound, weight, rows.alpha)
        )
        row_unit = rows.sign * unit_of_row / places.coefficient * objective_unit
        resource_unit = resource_unit / objective_unit
        return cls(program, places, problem, row_unit, user_unit, resource_unit, level_unit)

    def with_levels_of(self, program: Program) -> Structure | None:
        """Return the structure with the slopes and floors of a program that differs in these only.

        None where other rows hold users back there; O(rows), where recognising costs O(nonzeros).
        """
        places = self.places
        slope = -dense_column(program, places.level)
        holds_back = (slope > 0) | (np.isfinite(program.row_lower) & (program.row_lower > 0))
        if not np.array_equal(np.flatnonzero(holds_back), np.sort(places.row)):
            return None
        rows = self.problem.rows
        unit = self.user_unit[rows.user] / places.coefficient
        slope = slope[places.row] * unit
        level_unit = _inverse_of_largest_level(self.problem.region, rows.user, slope)
        rows = replace(rows, slope=slope / level_unit, bound=program.row_lower[places.row] * unit)
        change = self.level_unit / level_unit
        return replace(
            self,
            program=program,
            problem=replace(self.problem, rows=rows),
            row_unit=self.row_unit * change,
            resource_unit=self.resource_unit / change,
            level_unit=level_unit,
        )

    def vectors(self, point: Variables) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and row duals of the Program, within rows and without rounding noise."""
        x, level, prices, values = self._cleaned(point)
        places = self.places
        columns = np.zeros(self.program.n_columns)
        duals = np.zeros(self.program.n_rows)
        exists = places.pair >= 0
        tasks = x / self.problem.region.to_pairs(self.user_unit)
        columns[places.pair[exists]] = tasks[exists]
        if places.level >= 0:
            columns[places.level] = level / self.level_unit
        duals[places.capacity.slice] = (prices / self.resource_unit).ravel()
        in_program = places.row >= 0
        duals[places.row[in_program]] = (self.row_unit * values)[in_program]
        return columns, duals

    def _cleaned(self, point: Variables) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Return tasks within capacities, the level, prices, and values that no cost is below."""
        problem = self.problem
        region = self.problem.region
        rows = self.problem.rows

        # Prices and tasks that complementarity says are 0.
        slack = point.s / region.capacities
        is_price = region.is_demanded & (point.p >= NOISE * slack * point.p.max(axis=0))
        prices = np.where(is_price, point.p, 0.0)
        costs = region.costs(prices)
        fraction = point.x / region.to_pairs(region.totals(point.x))
        is_used = (fraction > MARKET) | (fraction * abs(costs) >= NOISE * point.z)
        x = np.where(is_used, point.x, 0.0)
        if region.allowed is not None:
            x[~region.allowed] = 0.0

        # Overuse by rounding, of capacities and of limits.
        overuse = (region.usage(x) / region.capacities).max(axis=1)
        x /= np.maximum(overuse, 1.0)[:, None]
        total = region.totals(x)
        is_limit = rows.sign > 0
        limited_total = total.copy()
        np.minimum.at(limited_total, rows.user[is_limit], rows.bound[is_limit])
        is_over = total > limited_total
        remaining = np.divide(limited_total, total, out=np.ones_like(total), where=is_over)
        x *= region.to_pairs(remaining)
        if not problem.has_level:
            return x, 0.0, prices, point.v

        is_growing = rows.slope > 0
        levels = (limited_total[rows.user] - rows.bound)[is_growing] / rows.slope[is_growing]
        level = float(levels.min())
        # worth beyond a user's lowest cost is taken off its lower bounds; its limits stay
        worth = problem.user_values(point.v)
        worth_of_bounds = problem.sum_by_user(np.where(is_limit, 0.0, point.v))
        excess = np.maximum(worth - region.min_by_user(costs), 0.0)
        lowered = 1.0 - quotients(excess, worth_of_bounds)
        values = np.where(is_limit, point.v, point.v * lowered[rows.user])
        price_of_level = float(rows.slope @ values)
        return x, level, prices / price_of_level, values / price_of_level


def _inverse_of_largest_level(region: PlacedRegion, users: np.ndarray, slope: np.ndarray) -> float:
    """Return the inverse of the largest level that resources' totals, each 1, allow."""
    slopes_by_user = np.bincount(users, slope, minlength=region.shape[1])
    return float((slopes_by_user @ region.demands).max())


@dataclass(frozen=True)
class _Blocks:
    """The block of pairs, that of the capacities, and the column of t (−1: none)."""

    variable: Block
    capacity: Block
    level: int

    @property
    def servers(self) -> int:
        """How many servers there are."""
        return self.variable.shape[1] if len(self.variable.shape) == 2 else 1


def _blocks(program: Program) -> _Blocks | None:
    """Return the blocks of a program of users who share servers; None for other programs."""
    if program.sense != "max" or program.is_mip:
        return None
    priced = np.flatnonzero(program.c)
    has_terms = program.logs is not None
    if len(priced) != (0 if has_terms else 1):
        return None
    level = -1
    if not has_terms:
        level = int(priced[0])
        is_free = program.col_lower[level] <= 0 and program.col_upper[level] == np.inf
        if program.c[level] != 1 or not is_free:
            return None

    variables = [block for block in program.columns if block.start != level and len(block)]
    if len(variables) != 1 or not 1 <= len(variables[0].axes) <= 2:
        return None
    variable = variables[0]
    user_symbol = variable.axes[0][0]
    capacities = [
        block for block in program.rows if len(block) and user_symbol not in dict(block.axes)
    ]
    if len(capacities) != 1:
        return None
    capacity = capacities[0]
    blocks = _Blocks(variable, capacity, level)
    if capacity.positions is not None or len(capacity) % blocks.servers:
        return None
    if len(capacity.shape) != len(variable.shape):
        return None
    if blocks.servers > 1 and capacity.axes[0][0] != variable.axes[1][0]:
        return None
    has_upper_sides = np.isfinite(program.row_upper[capacity.slice]).all()
    has_lower_sides = not np.isinf(program.row_lower[capacity.slice]).all()
    return blocks if has_upper_sides and not has_lower_sides else None


def _pairs(program: Program, variable: Block) -> np.ndarray:
    """Return the column of each pair (−1: none, or fixed at 0); shape (N, K)."""
    servers = variable.shape[1] if len(variable.shape) == 2 else 1
    pair = np.full(variable.shape[0] * servers, -1)
    columns = np.arange(variable.start, variable.stop)
    columns[program.col_upper[variable.slice] <= 0] = -1
    pair[slice(None) if variable.positions is None else variable.positions] = columns
    return pair.reshape(-1, servers)


@dataclass(frozen=True)
class _PlacedRows:
    """Rows on users' totals, with their row in the Program (−1: none) and the total's factor."""

    rows: UserRows
    row: np.ndarray
    coefficient: np.ndarray

    @classmethod
    def of(
        cls,
        user: np.ndarray,
        sign: float,
        coefficient: np.ndarray | float,
        *,
        slope: np.ndarray | float = 0.0,
        bound: np.ndarray | float = 0.0,
        weight: np.ndarray | float = 0.0,
        alpha: np.ndarray | float = 1.0,
        row: np.ndarray | int = -1,
    ) -> _PlacedRows:
        """Return rows of these users; a number is that of every row."""

        def of_every_row(values: np.ndarray | float) -> np.ndarray:
            return np.broadcast_to(values, len(user))

        numbers = (of_every_row(values) for values in (sign, slope, bound, weight, alpha))
        return cls(UserRows(user, *numbers), of_every_row(row), of_every_row(coefficient))

    @classmethod
    def joined(cls, parts: list[_PlacedRows]) -> _PlacedRows:
        """Return the rows of several, one after the other."""
        names = [column.name for column in fields(UserRows)]
        rows = UserRows(
            *(np.concatenate([getattr(part.rows, name) for part in parts]) for name in names)
        )
        row = np.concatenate([part.row for part in parts])
        return cls(rows, row, np.concatenate([part.coefficient for part in parts]))

    def of_users(self, users: np.ndarray) -> _PlacedRows:
        """Return the rows of some users, whose numbers are then their positions among these."""
        chosen = np.isin(self.rows.user, users)
        names = [column.name for column in fields(UserRows)]
        rows = UserRows(*(getattr(self.rows, name)[chosen] for name in names))
        rows = replace(rows, user=np.searchsorted(users, rows.user))
        return _PlacedRows(rows, self.row[chosen], self.coefficient[chosen])


def _user_rows(
    program: Program, blocks: _Blocks, first_column: np.ndarray, entries: Any, outside: np.ndarray
) -> _PlacedRows | None:
    """Return the rows on users' totals; None where the program is of another kind.

    ``entries`` are those of each user's first column, ``outside`` the capacities or not.
    """
    variable = blocks.variable
    level = blocks.level
    row = entries.row[outside]
    user = entries.col[outside]
    coefficient = entries.data[outside]
    if len(np.unique(row)) != len(row) or (coefficient <= 0).any():
        return None
    slope = np.zeros(program.n_rows)
    if level >= 0:
        column = program.A[:, [level]].tocoo()
        slope[column.row] = -column.data
        if not np.isin(column.row, row).all() or (column.data > 0).any():
            return None
    col_lower = program.col_lower[variable.slice]
    if ((col_lower > 0) | (col_lower < 0)).any():
        return None

    # Rows with a lower side, and rows with an upper one, which no level may be in.
    low = program.row_lower[row]
    high = program.row_upper[row]
    has_lower = np.flatnonzero(np.isfinite(low))
    has_upper = np.flatnonzero(np.isfinite(high))
    if np.isin(has_lower, has_upper).any() or slope[row[has_upper]].any():
        return None
    holds_back = (low[has_lower] > 0) | (slope[row[has_lower]] > 0)
    parts = []
    for chosen, sign, side in ((has_lower[holds_back], -1.0, low), (has_upper, 1.0, high)):
        factor = coefficient[chosen]
        rows = _PlacedRows.of(
            user[chosen],
            sign,
            factor,
            slope=slope[row[chosen]] / factor,
            bound=side[chosen] / factor,
            row=row[chosen],
        )
        parts.append(rows)

    # Bounds of columns are limits where there is one server.
    limited = np.flatnonzero(np.isfinite(program.col_upper[first_column]))
    if limited.size:
        if blocks.servers > 1:
            return None
        limits = program.col_upper[first_column[limited]]
        parts.append(_PlacedRows.of(limited, 1.0, 1.0, bound=limits))

    if program.logs is not None:
        terms = _terms(program.logs, first_column)
        if terms is None:
            return None
        parts.append(terms)
    return _PlacedRows.joined(parts)


def _terms(logs: LogTerms, first_column: np.ndarray) -> _PlacedRows | None:
    """Return logarithms and powers of users' totals as rows; None for other arguments."""
    entries = logs.A[:, first_column].tocoo()
    if (logs.constant != 0).any() or (logs.weights < 0).any():
        return None
    if len(np.unique(entries.row)) != len(entries.row) or (entries.data <= 0).any():
        return None
    has_argument = logs.A.indptr[1:] > logs.A.indptr[:-1]
    if entries.nnz != np.count_nonzero(has_argument):
        return None
    counts = logs.weights[entries.row] > 0
    term = entries.row[counts]
    return _PlacedRows.of(
        entries.col[counts],
        -1.0,
        entries.data[counts],
        weight=logs.weights[term],
        alpha=logs.alpha[term],
    )


def _agrees(program: Program, region: PlacedRegion, rows: UserRows, places: Places) -> bool:
    """Whether the rows of the Program are those that were recognised, at a random point."""
    draw = np.random.default_rng(_PROBE_SEED)
    exists = places.pair >= 0
    x = np.where(exists, draw.random(exists.shape), 0.0)
    t = float(draw.random())
    columns = np.zeros(program.n_columns)
    columns[places.pair[exists]] = x[exists]
    if places.level >= 0:
        columns[places.level] = t

    expected = np.zeros(program.n_rows)
    is_expected = np.zeros(program.n_rows, dtype=bool)
    expected[places.capacity.slice] = region.usage(x).ravel()
    is_expected[places.capacity.slice] = True
    in_program = places.row >= 0
    of_users = places.coefficient * (region.totals(x)[rows.user] - rows.slope * t)
    expected[places.row[in_program]] = of_users[in_program]
    is_expected[places.row[in_program]] = True

    size = abs(program.A) @ columns
    difference = abs(program.A @ columns - expected)
    return bool((difference <= _ROUNDINGS * ROUNDING * size)[is_expected].all())
