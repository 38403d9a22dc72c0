"""Semi-continuous columns, ordered sets and indicators of model files as rows with binaries.

What a file says so becomes what `Model.semicontinuous`, `sos1`, `sos2` and `indicator` compile to:
binaries, and rows with the least M that the bounds of the columns allow. A row that has this M is
written as an indicator again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from ..programs.program import Program
from .model_text import LineError, Parsed, Source, shown, unused


class Indicator(NamedTuple):
    """A row holds where a binary column is ``active``; the number of the line that says so."""

    column: int
    active: int
    line: int


@dataclass
class OrderedSet:
    """Columns of which one at most is not 0, or two that follow each other by their weights."""

    name: str
    adjacent: int
    line: int
    columns: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, column: int, weight: float, fault: Callable[[str], LineError]) -> None:
        """Add a member; without weights the order is that of the file."""
        if column in self.columns:
            raise fault(f"a column that is in the set {shown(self.name)} already")
        if not np.isfinite(weight) and not np.isnan(weight):
            raise fault("expected a finite weight")
        if self.weights and np.isnan(weight) != np.isnan(self.weights[0]):
            raise fault(
                f"expected weights of all members of the set {shown(self.name)}, or of none"
            )
        if weight in self.weights and self.adjacent == 2:
            raise fault(
                f"two members of the set {shown(self.name)} have the weight {weight:g}; expected "
                "an order"
            )
        self.columns.append(column)
        self.weights.append(weight)

    def ordered(self) -> list[int]:
        """Return the columns by their weights."""
        if np.isnan(self.weights).any():
            return self.columns
        return [self.columns[k] for k in np.argsort(self.weights, kind="stable").tolist()]


@dataclass
class Constructs:
    """What a file says beside linear rows, bounds and integers.

    Attributes
    ----------
    semicontinuous : dict
        Column that is 0 or within its bounds, and the number of the line that says so.
    sets : list of OrderedSet
    indicators : dict
        Row that holds where a column says so, and its Indicator.
    """

    semicontinuous: dict[int, int] = field(default_factory=dict)
    sets: list[OrderedSet] = field(default_factory=list)
    indicators: dict[int, Indicator] = field(default_factory=dict)

    def compiled(self, source: Source, parsed: Parsed) -> Parsed:
        """Return what a file says as linear rows and integers only."""
        if not (self.semicontinuous or self.sets or self.indicators):
            return parsed
        rows = _SwitchedRows(source, parsed)
        rows.add_indicators(self.indicators)
        rows.add_semicontinuous(self.semicontinuous)
        for ordered_set in self.sets:
            rows.add_set(ordered_set)
        return rows.compiled()


class _Switch(NamedTuple):
    """A row with one bound that holds where the sum of binary columns is ``active``."""

    row: int
    columns: Sequence[int]
    active: int
    line: int


class _SwitchedRows:
    """What a file says, with more columns and rows, and which rows are switched."""

    def __init__(self, source: Source, parsed: Parsed) -> None:
        self.source = source
        self.parsed = parsed
        self.by_row = parsed.A.tocsr()
        self.row_names = [*parsed.row_names]
        self.column_names = [*parsed.column_names]
        self.taken_rows = set(self.row_names)
        self.taken_columns = set(self.column_names)
        self.row_lower, self.row_upper = parsed.row_lower.tolist(), parsed.row_upper.tolist()
        self.col_lower = parsed.col_lower.copy()
        self.col_upper = parsed.col_upper
        self.entries: list[tuple[int, int, float]] = []
        self.switches: list[_Switch] = []

    def _binary(self, name: str) -> int:
        """Add a binary column, and return its position."""
        self.column_names.append(unused(name, self.taken_columns))
        self.taken_columns.add(self.column_names[-1])
        return len(self.column_names) - 1

    def _row(
        self,
        name: str,
        columns: Collection[int],
        values: Collection[float],
        lower: float,
        upper: float,
    ) -> int:
        """Add a row, and return its position."""
        row = len(self.row_names)
        self.row_names.append(unused(name, self.taken_rows))
        self.taken_rows.add(self.row_names[-1])
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        self.entries += [
            (row, column, value) for column, value in zip(columns, values, strict=True)
        ]
        return row

    def add_indicators(self, indicators: dict[int, Indicator]) -> None:
        """Switch rows; one with two bounds becomes two, of which the second is ``name_below``."""
        parsed = self.parsed
        for row, (column, active, line) in indicators.items():
            is_binary = (
                parsed.integrality[column]
                and parsed.col_lower[column] >= 0
                and parsed.col_upper[column] <= 1
            )
            if not is_binary:
                name = shown(self.column_names[column])
                raise self.source.fault(
                    line, f"column {name} is not binary; make it integer with bounds of 0 and 1"
                )
            if np.isfinite(self.row_lower[row]) and np.isfinite(self.row_upper[row]):
                start, stop = self.by_row.indptr[row : row + 2].tolist()
                columns = self.by_row.indices[start:stop].tolist()
                values = self.by_row.data[start:stop].tolist()
                below = self._row(
                    f"{self.row_names[row]}_below", columns, values, self.row_lower[row], np.inf
                )
                self.row_lower[row] = -np.inf
                self.switches.append(_Switch(below, [column], active, line))
            self.switches.append(_Switch(row, [column], active, line))

    def add_semicontinuous(self, lines: dict[int, int]) -> None:
        """Add a binary ``x_on`` and two rows for each column that is 0 or within its bounds.

        The rows are ``x_least`` (at least its lower bound where ``x_on`` is 1) and ``x_off`` (0
        where it is 0).

        A column that may be as small as it likes needs neither.
        """
        smallest = self.parsed.col_lower
        largest = self.parsed.col_upper
        for column, line in lines.items():
            if smallest[column] < 0 or not 0 < largest[column] < np.inf:
                raise self.source.fault(
                    line, "a semi-continuous column has a finite bound above 0, and none below 0"
                )
        columns = [column for column in lines if smallest[column] > 0]
        names = [self.column_names[column] for column in columns]
        binaries = [self._binary(f"{name}_on") for name in names]
        self.col_lower[columns] = 0.0
        for suffix, active in (("_least", 1), ("_off", 0)):
            for name, column, binary in zip(names, columns, binaries, strict=True):
                lower, upper = (float(smallest[column]), np.inf) if active else (-np.inf, 0.0)
                row = self._row(name + suffix, [column], [1.0], lower, upper)
                self.switches.append(_Switch(row, [binary], active, lines[column]))

    def add_set(self, ordered_set: OrderedSet) -> None:
        """Add the binaries and rows of a special ordered set.

        At most one of the binaries ``set_x_on`` is 1; the rows ``set_x_off`` hold ``x`` at 0 where
        no binary near it is 1.
        """
        columns = ordered_set.ordered()
        name = ordered_set.name
        line = ordered_set.line
        heads = [f"{name}_{self.column_names[column]}" for column in columns]
        binaries = [self._binary(f"{head}_on") for head in heads]
        self._row(name, binaries, [1.0] * len(binaries), -np.inf, 1.0)
        for place, (head, column) in enumerate(zip(heads, columns, strict=True)):
            first = max(place + 1 - ordered_set.adjacent, 0)
            adjacent = binaries[first : place + 1]
            if self.col_upper[column] > 0:
                row = self._row(f"{head}_off", [column], [1.0], -np.inf, 0.0)
                self.switches.append(_Switch(row, adjacent, 0, line))
            if self.col_lower[column] < 0:
                row = self._row(f"{head}_off_below", [column], [1.0], 0.0, np.inf)
                self.switches.append(_Switch(row, adjacent, 0, line))

    def compiled(self) -> Parsed:
        """Return what the file says, with M in the rows that are switched."""
        parsed = self.parsed
        count = len(self.column_names) - len(parsed.column_names)
        zeros = np.zeros(count)
        ones = np.ones(count)
        low = np.concatenate([self.col_lower, zeros])
        high = np.concatenate([self.col_upper, ones])
        shape = (len(self.row_names), len(self.column_names))
        by_row = _extended(parsed.A, self.entries, shape).tocsr()
        by_row.sort_indices()
        self.entries.clear()
        for switch in self.switches:
            self._switch(switch, by_row, low, high)
        switched = np.zeros(len(self.row_names), dtype=bool)
        switched[[row for row, _, _ in self.entries]] = True
        return replace(
            parsed,
            c=np.concatenate([parsed.c, zeros]),
            A=_extended(by_row, self.entries, shape).tocsc(),
            row_lower=np.array(self.row_lower, dtype=float),
            row_upper=np.array(self.row_upper, dtype=float),
            col_lower=low,
            col_upper=high,
            integrality=np.concatenate([parsed.integrality, ones.astype(parsed.integrality.dtype)]),
            row_names=self.row_names,
            column_names=self.column_names,
            switched=switched,
        )

    def _switch(self, switch: _Switch, by_row: Any, low: np.ndarray, high: np.ndarray) -> None:
        """Give a row room of M where it does not hold."""
        start, stop = by_row.indptr[switch.row : switch.row + 2].tolist()
        columns = by_row.indices[start:stop]
        values = by_row.data[start:stop]
        falls = np.isfinite(self.row_upper[switch.row])
        sign, sides = (1.0, self.row_upper) if falls else (-1.0, self.row_lower)
        side = sign * sides[switch.row]
        if side == np.inf:  # a row without bounds
            return
        reach = _reach(sign * values, columns, low, high)
        if np.isposinf(reach).any():
            name = shown(self.column_names[columns[int(np.isposinf(reach).argmax())]])
            row_name = shown(self.row_names[switch.row])
            raise self.source.fault(
                switch.line,
                f"row {row_name} needs to know how large column {name} can be; give it finite "
                "bounds",
            )
        m = _least_m(reach, side)
        if m == 0:  # it always holds
            return
        self.entries += [
            (switch.row, column, sign * (m if switch.active else -m)) for column in switch.columns
        ]
        if switch.active:
            sides[switch.row] = sign * (side + m) + 0.0


def _extended(A: Any, entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> Any:
    """Return a matrix with more entries; those of one place are added."""
    old = A.tocoo()
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    data = np.concatenate([old.data, np.array(values, dtype=float)])
    places = [
        np.concatenate([old.coords[k], np.array((rows, columns)[k], dtype=np.int64)])
        for k in (0, 1)
    ]
    return coo_array((data, tuple(places)), shape=shape)


def _reach(
    values: np.ndarray, columns: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return how large each term of a row can be by the bounds of its column."""
    reach: np.ndarray = values * np.where(values > 0, high[columns], low[columns])
    return reach


def _least_m(reach: np.ndarray, side: float) -> float:
    """Return the largest possible violation of a row ``… <= side``.

    Reader and writer share this sum, so that their results agree to the last bit.
    """
    total = np.bincount(np.zeros(len(reach), dtype=np.int64), reach, minlength=1)
    return max(float(total[0]) - side, 0.0)


def with_indicators(program: Program) -> tuple[Program, dict[int, Indicator]]:
    """Return a program without M in its switched rows, and the indicator of each such row.

    A row is such an indicator only where reading that back gives the very same row: M is the least
    that the bounds of the columns allow, as the compiler and the readers have it. Others, of a
    larger or smaller M, stay as they are.
    """
    low = program.col_lower
    high = program.col_upper
    by_row = program.A.tocsr()
    by_row.sort_indices()
    binary = (program.integrality > 0) & (low == 0) & (high == 1)
    lower = program.row_lower.copy()
    upper = program.row_upper.copy()
    indicators = dict[int, Indicator]()
    for row in program.switched.tolist():
        if np.isfinite(lower[row]) == np.isfinite(upper[row]):
            continue
        start, stop = by_row.indptr[row : row + 2].tolist()
        columns = by_row.indices[start:stop]
        sign, sides = (1.0, upper) if np.isfinite(upper[row]) else (-1.0, lower)
        values = sign * by_row.data[start:stop]
        side = sign * sides[row]
        reach = _reach(values, columns, low, high)
        for place in np.flatnonzero(binary[columns]).tolist():
            m = abs(float(values[place]))
            active = int(values[place] > 0)
            side_without_m = side - m if active else side
            if _least_m(
                np.where(np.arange(len(reach)) == place, 0.0, reach), side_without_m
            ) == m and (not active or side_without_m + m == side):
                indicators[row] = Indicator(int(columns[place]), active, 0)
                by_row.data[start + place] = 0.0
                sides[row] = sign * side_without_m + 0.0
                break
    A = by_row.tocsc()
    A.eliminate_zeros()
    return program.replace(A=A, row_lower=lower, row_upper=upper), indicators
