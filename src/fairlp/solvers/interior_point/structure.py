"""Finds users who share servers in a Program, and puts the interior-point method's answer back into its places."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...models.instances.arithmetic import quotients
from ...models.programs.program import Block, Program
from ...tolerances import MARKET, NOISE, ROUNDING
from .iterate import Problem, Step, UserRows
from .region import Region
from .region import places as places_of

#: A Program and what was found in it must agree at a random point, to this many roundings of a
#: row's terms.
_PROBE_SEED, _ROUNDINGS = 20261120, 1000
_COLUMNS = tuple(column.name for column in fields(UserRows))


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
        What the row, or the term of the objective, has before the user's total.
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
        variable, capacity, level = blocks
        pair = _pairs(program, variable)
        present = np.flatnonzero((pair >= 0).any(axis=1))
        first = pair[present].max(axis=1)
        columns = program.A[:, first].tocoo()
        in_capacity = (columns.row >= capacity.start) & (columns.row < capacity.stop)
        found = _user_rows(program, variable, level, first, columns, ~in_capacity)
        if found is None:
            return None
        rows, row, coefficient = found
        kept = np.unique(rows.user[rows.sign < 0])
        above = rows.sign > 0
        if not len(kept) or (above & (rows.bound <= 0) & np.isin(rows.user, kept)).any():
            return None
        wanted = np.isin(rows.user, kept)
        rows = UserRows(*(getattr(rows, name)[wanted] for name in _COLUMNS))
        row, coefficient = row[wanted], coefficient[wanted]
        servers = variable.shape[1] if len(variable.shape) == 2 else 1
        demands = np.zeros((len(first), len(capacity) // servers))
        resource = (columns.row[in_capacity] - capacity.start) % demands.shape[1]
        demands[columns.col[in_capacity], resource] = columns.data[in_capacity]
        if (demands < 0).any() or not demands[kept].any(axis=1).all():
            return None
        upper = program.row_upper[capacity.slice].reshape(servers, -1)
        pair = pair[present[kept]].T
        user = places_of(pair >= 0)
        if user is not None:
            pair = np.take_along_axis(pair, user, axis=1)
        allowed = pair >= 0
        region = Region(demands[kept], upper, None if allowed.all() else allowed, user=user)
        rows = replace(rows, user=np.searchsorted(kept, rows.user))
        places = Places(pair, capacity, row, coefficient, level)
        # the region has an interior where everything that somebody may use is there
        if (region.capacities[region.used] <= 0).any() or not _agrees(
            program, region, rows, places
        ):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            structure = cls._scaled(program, region, rows, places)
        weight = structure.problem.rows.weight[rows.weight > 0]
        return structure if (np.isfinite(weight) & (weight > 0)).all() else None  # else no floats

    @classmethod
    def _scaled(cls, program: Program, region: Region, rows: UserRows, places: Places) -> Structure:
        """Return the structure in units of its own."""
        region, unit, pool = region.scaled()
        slope, bound = rows.slope * unit[rows.user], rows.bound * unit[rows.user]
        # e·u(k·X) has the slope e·k^(1−α)·X^(−α); they are worth 1 together where all have an equal
        # part
        power = 1.0 - rows.alpha
        weight = (
            rows.weight
            * np.where(rows.weight > 0, places.coefficient / unit[rows.user], 1.0) ** power
        )
        level_unit, worth = 1.0, float(weight @ (1.0 / len(unit)) ** power)
        if places.level >= 0:
            level_unit = float(
                (np.bincount(rows.user, slope, minlength=len(unit)) @ region.demands).max()
            )
            worth = 1.0 / level_unit
        else:
            weight = weight / worth
        problem = Problem(
            region, UserRows(rows.user, rows.sign, slope / level_unit, bound, weight, rows.alpha)
        )
        row_unit = rows.sign * unit[rows.user] / places.coefficient * worth
        return cls(program, places, problem, row_unit, unit, pool / worth, level_unit)

    def vectors(self, at: Step) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and row duals of the Program: within all rows, and without rounding noise."""
        x, level, prices, values = self._cleaned(at)
        places = self.places
        columns, duals = np.zeros(self.program.n_columns), np.zeros(self.program.n_rows)
        there = places.pair >= 0
        columns[places.pair[there]] = (x / self.problem.region.at_pairs(self.user_unit))[there]
        if places.level >= 0:
            columns[places.level] = level / self.level_unit
        duals[places.capacity.slice] = (prices / self.resource_unit).ravel()
        in_program = places.row >= 0
        duals[places.row[in_program]] = (self.row_unit * values)[in_program]
        return columns, duals

    def _cleaned(self, at: Step) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Return tasks, level, prices and rows' values with nothing over capacity or above its cost."""
        problem, region, rows = self.problem, self.problem.region, self.problem.rows
        slack = at.s / region.capacities
        prices = np.where(region.used & (at.p >= NOISE * slack * at.p.max(axis=0)), at.p, 0.0)
        cost = region.costs(prices)
        part = at.x / region.at_pairs(region.totals(at.x))
        x = np.where((part > MARKET) | (part * abs(cost) >= NOISE * at.z), at.x, 0.0)
        if region.allowed is not None:
            x[~region.allowed] = 0.0
        over = (region.given(x) / region.capacities).max(axis=1)
        x /= np.maximum(over, 1.0)[:, None]
        total = region.totals(x)
        above = rows.sign > 0
        most = total.copy()
        np.minimum.at(most, rows.user[above], rows.bound[above])
        x *= region.at_pairs(np.divide(most, total, out=np.ones_like(total), where=total > most))
        if not problem.has_level:
            return x, 0.0, prices, at.v
        growing = rows.slope > 0
        level = float(((most[rows.user] - rows.bound)[growing] / rows.slope[growing]).min())
        # what a user is worth beyond its lowest cost is taken off its lower bounds; its upper ones
        # stay
        worth, below = (
            problem.by_user(-rows.sign * at.v),
            problem.by_user(np.where(above, 0.0, at.v)),
        )
        down = 1.0 - quotients(np.maximum(worth - region.lowest(cost), 0.0), below)
        values = np.where(above, at.v, at.v * down[rows.user])
        norm = float(rows.slope @ values)
        return x, level, prices / norm, values / norm


def _blocks(program: Program) -> tuple[Block, Block, int] | None:
    """Return the block of pairs, that of the capacities, and the column of t (−1: none)."""
    if program.sense != "max" or program.is_mip:
        return None
    priced = np.flatnonzero(program.c)
    logs = program.logs is not None
    if len(priced) != (0 if logs else 1):
        return None
    level = -1 if logs else int(priced[0])
    if level >= 0 and (
        program.c[level] != 1 or program.col_lower[level] > 0 or program.col_upper[level] < np.inf
    ):
        return None
    variables = [block for block in program.columns if block.start != level and len(block)]
    if len(variables) != 1 or not 1 <= len(variables[0].axes) <= 2:
        return None
    variable = variables[0]
    people = variable.axes[0][0]
    capacities = [block for block in program.rows if len(block) and people not in dict(block.axes)]
    if len(capacities) != 1:
        return None
    capacity = capacities[0]
    servers = variable.shape[1] if len(variable.shape) == 2 else 1
    full = (
        capacity.positions is None
        and len(capacity) % servers == 0
        and len(capacity.shape) == len(variable.shape)
    )
    shaped = full and (servers == 1 or capacity.axes[0][0] == variable.axes[1][0])
    finite = (
        np.isfinite(program.row_upper[capacity.slice]).all()
        and np.isinf(program.row_lower[capacity.slice]).all()
    )
    return (variable, capacity, level) if shaped and finite else None


def _pairs(program: Program, variable: Block) -> np.ndarray:
    """Return the column of each pair (−1: none, or fixed at 0); shape (N, K)."""
    servers = variable.shape[1] if len(variable.shape) == 2 else 1
    pair = np.full(variable.shape[0] * servers, -1)
    columns = np.arange(variable.start, variable.stop)
    columns[program.col_upper[variable.slice] <= 0] = -1
    pair[slice(None) if variable.positions is None else variable.positions] = columns
    return pair.reshape(-1, servers)


def _user_rows(
    program: Program,
    variable: Block,
    level: int,
    first: np.ndarray,
    columns: Any,
    of_users: np.ndarray,
) -> tuple[UserRows, np.ndarray, np.ndarray] | None:
    """Return the rows on users' totals, where they are in the Program, and their coefficient; None: another kind."""
    at, user, coefficient = columns.row[of_users], columns.col[of_users], columns.data[of_users]
    if len(np.unique(at)) != len(at) or (coefficient <= 0).any():
        return None
    slope = np.zeros(program.n_rows)
    if level >= 0:
        column = program.A[:, [level]].tocoo()
        slope[column.row] = -column.data
        if not np.isin(column.row, at).all() or (column.data > 0).any():
            return None
    if ((program.col_lower[variable.slice] > 0) | (program.col_lower[variable.slice] < 0)).any():
        return None
    pieces = []
    low, high = program.row_lower[at], program.row_upper[at]
    below, above = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    if np.isin(below, above).any() or slope[at[above]].any():
        return None
    helpful = below[(low[below] > 0) | (slope[at[below]] > 0)]
    for some, sign, bound in ((helpful, -1.0, low), (above, 1.0, high)):
        factor = coefficient[some]
        pieces.append(
            (
                user[some],
                sign,
                slope[at[some]] / factor,
                bound[some] / factor,
                0.0,
                1.0,
                at[some],
                factor,
            )
        )
    capped = np.flatnonzero(np.isfinite(program.col_upper[first]))
    if capped.size:
        if len(variable.shape) == 2 and variable.shape[1] > 1:
            return None
        pieces.append((capped, 1.0, 0.0, program.col_upper[first[capped]], 0.0, 1.0, -1, 1.0))
    if program.logs is not None:
        logs = program.logs
        inner = logs.A[:, first].tocoo()
        if (
            (logs.constant != 0).any()
            or (logs.weights < 0).any()
            or len(np.unique(inner.row)) != len(inner.row)
        ):
            return None
        if (
            inner.nnz != np.count_nonzero(logs.A.indptr[1:] > logs.A.indptr[:-1])
            or (inner.data <= 0).any()
        ):
            return None
        some = logs.weights[inner.row] > 0
        at = inner.row[some]
        pieces.append(
            (
                inner.col[some],
                -1.0,
                0.0,
                0.0,
                logs.weights[at],
                logs.alpha[at],
                -1,
                inner.data[some],
            )
        )
    arrays = [
        np.concatenate([np.broadcast_to(piece[k], len(piece[0])) for piece in pieces])
        for k in range(8)
    ]
    return UserRows(*arrays[:6]), arrays[6], arrays[7]


def _agrees(program: Program, region: Region, rows: UserRows, places: Places) -> bool:
    """Whether the rows of the Program are those that were found, at a random point."""
    draw = np.random.default_rng(_PROBE_SEED)
    there = places.pair >= 0
    x = np.where(there, draw.random(there.shape), 0.0)
    t = float(draw.random())
    columns, expected = np.zeros(program.n_columns), np.zeros(program.n_rows)
    columns[places.pair[there]] = x[there]
    if places.level >= 0:
        columns[places.level] = t
    known = np.zeros(program.n_rows, dtype=bool)
    expected[places.capacity.slice], known[places.capacity.slice] = region.given(x).ravel(), True
    of_user = places.coefficient * (region.totals(x)[rows.user] - rows.slope * t)
    in_program = places.row >= 0
    expected[places.row[in_program]], known[places.row[in_program]] = of_user[in_program], True
    size = abs(program.A) @ columns
    difference = abs(program.A @ columns - expected)
    return bool((difference <= _ROUNDINGS * ROUNDING * size)[known].all())
