"""Read and write MPS, the format of all LP and MILP solvers, free or fixed, in bulk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress, islice, repeat
from math import isfinite
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pandas as pd
from scipy.sparse import csc_array

from ...errors import ModelError, require_known
from ..programs.options import Names, Profile
from ..programs.program import Program
from .constructs import Constructs, Indicator, OrderedSet, with_indicators
from .model_text import (
    FIXED_NUMBER,
    LONGEST_NAME,
    LineError,
    Naming,
    Parsed,
    Source,
    about,
    bounded_rows,
    check_writable,
    clean,
    comment,
    decimal,
    decimals,
    fixed_naming,
    hint,
    is_ours,
    left_out,
    naming,
    number_in,
    numbers_in,
    settle,
    short_decimals,
    shown,
    two_vectors,
    write_model,
)
from .mps_sections import LayoutError, MpsLines, MpsSections
from .whole_files import Target

_TYPES: Final = "UP, LO, FX, FR, MI, PL, BV, LI, UI, SC or SI"
#: The number that a line of BOUNDS gives.
_GIVEN: Final = None
#: What a type of bound sets as lower and as upper bound, and whether the column is whole.
_BOUNDS: Final[dict[bytes, tuple[dict[str, float | None], bool]]] = {
    b"UP": ({"upper": _GIVEN}, False),
    b"LO": ({"lower": _GIVEN}, False),
    b"FX": ({"lower": _GIVEN, "upper": _GIVEN}, False),
    b"UI": ({"upper": _GIVEN}, True),
    b"LI": ({"lower": _GIVEN}, True),
    b"FR": ({"lower": -np.inf, "upper": np.inf}, False),
    b"MI": ({"lower": -np.inf}, False),
    b"PL": ({"upper": np.inf}, False),
    b"BV": ({"lower": 0.0, "upper": 1.0}, True),
    b"SC": ({"upper": _GIVEN}, False),
    b"SI": ({"upper": _GIVEN}, True),
}
#: Types of bounds that are read at once, and tables of them by code: which set a lower or an upper
#: bound (NaN: the number given), which have a number, and which say that the column is whole.
_PLAIN_BOUNDS: Final = [kind for kind in _BOUNDS if kind not in (b"SC", b"SI")]
_CODE_OF_BOUND: Final = {kind: code for code, kind in enumerate(_PLAIN_BOUNDS)}
_UNSET: Final = -1.0
_VALUE_OF_BOUND: Final = {
    side: np.array([_BOUNDS[kind][0].get(side, _UNSET) for kind in _PLAIN_BOUNDS], dtype=float)
    for side in ("lower", "upper")
}
_VALUED_BOUNDS: Final = [
    code for code, kind in enumerate(_PLAIN_BOUNDS) if _GIVEN in _BOUNDS[kind][0].values()
]
_WHOLE_BOUNDS: Final = np.array([_BOUNDS[kind][1] for kind in _PLAIN_BOUNDS])
_INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_EXACT = re.compile(
    rb"^\* (\S+): the other bound is exactly (-?[0-9]++(?:\.[0-9]*+)?(?:e[-+]?[0-9]+)?)$", re.M
)


def parse_mps(source: Source) -> Parsed:
    """Return what an MPS file says; fields are words, and columns where the words do not fit."""
    sections = MpsSections(source)
    try:
        return _Reader(sections).parse()
    except LineError as error:
        if sections.free:
            raise
        try:
            return _Reader(MpsSections(source, fixed=True)).parse()
        except LayoutError as other:
            if other.line <= error.line:
                raise error from None
            raise LineError(
                f"{error} (nor is it fixed format: line {other.line} {other})", error.line
            ) from None
        except LineError as other:
            raise (other if other.line > error.line else error) from None


@dataclass
class _Entries:
    """What COLUMNS, RHS or RANGES says of rows.

    Attributes
    ----------
    rows, values, numbers : ndarray
        For each entry: its row, -1 where none has that name, its value, and the number of its line.
    names : list of str
    begins : ndarray
        The first words of lines, each as long as it stays the same, and the entries where they
        begin.
    inside : ndarray
        Whether an entry stands between markers.
    mark_numbers, marks : ndarray
        For each marker the number of its line, and the word that says whether it begins or ends.
    """

    names: list[str]
    rows: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    begins: np.ndarray
    inside: np.ndarray
    mark_numbers: np.ndarray
    marks: np.ndarray


@dataclass
class _Ends:
    """What BOUNDS has said so far.

    Attributes
    ----------
    values, lines : dict of str to ndarray
        By side, for each column: its bound, and the number of the line that gave it, 0 where none
        did.
    vector : bytes
        Name of the section's vector, empty while no line has named it.
    """

    values: dict[str, np.ndarray]
    lines: dict[str, np.ndarray]
    vector: bytes = b""

    @classmethod
    def of(cls, n_columns: int) -> _Ends:
        """Return the bounds of columns of which nothing is said."""
        values = {"lower": np.zeros(n_columns), "upper": np.full(n_columns, np.inf)}
        return cls(values, {side: np.zeros(n_columns, dtype=np.int64) for side in values})


class _Reader:
    """One pass over the sections of a file."""

    def __init__(self, sections: MpsSections) -> None:
        self.sections, self.source, self.constructs = sections, sections.source, Constructs()
        self.exact = is_ours(sections.comments) is not None

    def parse(self) -> Parsed:
        """Return what the file says."""
        source = self.source
        sections = self.sections
        self._rows()
        self._columns()
        self._right_hand_sides()
        self._ranges()
        self._bounds()
        self._sets()
        self._indicators()
        is_constraint = self.is_constraint
        lower = self.row_lower[is_constraint]
        upper = self.row_upper[is_constraint]
        numbers = self.row_lines[is_constraint]
        names = (
            b"\n".join(compress(self.row_of, is_constraint.tolist())).decode().split("\n")
            if is_constraint.any()
            else []
        )
        columns = self.columns
        ends = (self.lower, self.upper)
        settle(source, lower, upper, lambda i: f"row {shown(names[i])}", numbers, self.exact)
        settle(
            source, *ends, lambda j: f"column {shown(columns[j])}", self.column_lines, self.exact
        )
        sense = sections.sense
        if (
            sense == "min"
            and "OBJSENSE" not in sections.lines
            and "SENSE:Maximize" in sections.comments[:1]
        ):
            sense = "max"
            source.warn(
                "PuLP's comment says that the objective is maximised, which other readers ignore"
            )
        parsed = Parsed(
            sections.name, sense, self.offset, self.c, self.A, lower, upper, self.lower, self.upper, self.whole, names,
            self.columns, sections.comments)  # fmt: skip
        return self.constructs.compiled(source, parsed)

    def _refuse(
        self, refused: np.ndarray, numbers: np.ndarray, problem: Callable[[int], str]
    ) -> None:
        """Raise for the first of the lines of these numbers that is wrong."""
        if refused.any():
            i = int(refused.argmax())
            raise self.source.fault(int(numbers[i]), problem(i))

    def _count(self, lines: MpsLines, counts: tuple[int, ...], expected: str) -> None:
        """Raise unless all lines have so many words."""
        refused = np.all([lines.counts != count for count in counts], axis=0)
        self._refuse(refused, lines.numbers, lambda i: f"expected {expected}")

    def _rows(self) -> None:
        """Read ROWS; the first row of type N is the objective, others are dropped."""
        lines = self.sections.tokens("ROWS")
        self._count(lines, (2,), "type and name of a row")
        self.kinds = np.array([kind.upper() for kind in lines.tokens[::2]], dtype=bytes)
        refused = ~np.isin(self.kinds, [b"N", b"L", b"G", b"E"])
        self._refuse(refused, lines.numbers, lambda _: "expected a row of type N, L, G or E")
        names = lines.tokens[1::2]
        self.row_lines = lines.numbers.copy()
        self.row_of = dict(zip(names, range(len(names)), strict=True))
        if len(self.row_of) < len(names):
            first: dict[bytes, int] = {}
            for number, name in zip(lines.numbers.tolist(), names, strict=True):
                if first.setdefault(name, number) != number:
                    raise self.source.fault(
                        number, f"a second row of this name; the first is in line {first[name]}"
                    )
        self.is_constraint = self.kinds != b"N"
        self.cost_row = int(self.is_constraint.argmin()) if not self.is_constraint.all() else -1
        if objective := self.sections.objective:
            self.cost_row = self.row_of.get(objective.encode(), -1)
            if self.cost_row < 0 or self.is_constraint[self.cost_row]:
                number = self.sections.lines["OBJNAME"][0]
                raise self.source.fault(number, f"no row of type N is called {shown(objective)}")

    def _columns(self) -> None:
        """Read COLUMNS: entries, costs, and which columns are integer."""
        entries = self._entries(
            "COLUMNS", (3, 5), "column, row and number, or column and two of each"
        )
        self._markers(entries)
        self.columns = entries.names
        numbers = entries.numbers
        begins = entries.begins
        n = len(entries.names)
        of = np.repeat(np.arange(n), np.diff(begins, append=len(numbers)))
        repeated = pd.Index(entries.names if len({*entries.names}) < n else range(n)).duplicated()[
            of
        ]
        moved = np.diff(entries.inside, prepend=entries.inside[:1]) != 0
        moved[begins] = False
        for refused, problem in (
            (repeated, "has entries before; expected all of them together"),
            (moved, "has entries before and after a marker"),
        ):

            def message(i: int, problem: str = problem) -> str:
                return f"column {shown(entries.names[of[i]])} {problem}"

            self._refuse(refused, numbers, message)
        self.column_lines = numbers[begins]
        self.whole = entries.inside[begins]

        order = self._checked(entries, of)
        rows = entries.rows[order]
        values = entries.values[order]
        self.c = np.zeros(n)
        costs = rows == self.cost_row
        self.c[of[costs]] = values[costs] + 0.0
        is_entry = self.is_constraint[rows] & (values != 0)
        position = (np.cumsum(self.is_constraint) - 1).astype(np.int32)
        starts = np.concatenate(([0], np.cumsum(np.bincount(of[is_entry], minlength=n)))).astype(
            np.int32
        )
        shape = (int(self.is_constraint.sum()), n)
        self.A: csc_array[Any] = csc_array(
            (values[is_entry], position[rows[is_entry]], starts), shape=shape
        )

    def _markers(self, entries: _Entries) -> None:
        """Raise unless markers of integer columns begin and end in turn.

        The end of COLUMNS ends the last one.
        """
        parity = np.arange(len(entries.marks)) % 2
        expected = np.array([b"'INTORG'", b"'INTEND'"], dtype=object)[parity]
        ends = ("'INTORG'", "'INTEND', which ends what 'INTORG' began")
        self._refuse(
            entries.marks != expected,
            entries.mark_numbers,
            lambda i: f"expected the marker {ends[i % 2]}",
        )
        if len(parity) % 2:
            self.source.warn(
                "no marker 'INTEND' follows the last 'INTORG'; all columns behind it are integer"
            )

    def _right_hand_sides(self) -> None:
        """Read RHS; that of the objective is minus its constant."""
        sides = np.zeros(len(self.kinds))
        rows, values = self._vector("RHS")
        sides[rows] = values
        self.offset = 0.0 - float(sides[self.cost_row]) if self.cost_row >= 0 else 0.0
        starts = {line.partition(":")[0] for line in self.sections.comments}
        if self.offset and starts >= {"Problem", "Class", "Rows", "Non-zeros", "Format"}:
            self.offset = -self.offset
            self.source.warn(
                "written by GLPK, for which the objective's constant has the opposite sign"
            )
        self.row_lower = np.where(self.kinds == b"L", -np.inf, sides)
        self.row_upper = np.where(self.kinds == b"G", np.inf, sides)

    def _ranges(self) -> None:
        """Read RANGES; the sign counts for equations only."""
        rows, values = self._vector("RANGES")
        kinds = self.kinds[rows]
        widths = np.abs(values)
        if (kinds == b"N").any():
            raise self.source.fault(
                int(self.row_lines[rows[kinds == b"N"][0]]), "a row of type N has no range"
            )
        down = (kinds == b"L") | ((kinds == b"E") & (values < 0))
        low = self.row_lower
        high = self.row_upper
        with np.errstate(over="ignore"):
            low[rows[down]] = high[rows[down]] - widths[down]
            high[rows[~down]] = low[rows[~down]] + widths[~down]
        if not self.exact:
            return
        width_of = dict(zip(rows.tolist(), widths.tolist(), strict=True))
        for name, text in _EXACT.findall(
            self.sections.text, *self.sections.lines.get("RANGES", (0, 0, 0))[1:]
        ):
            row = self.row_of.get(name, -1)
            if row in width_of:
                a, b = (
                    (float(text), high[row]) if self.kinds[row] == b"L" else (low[row], float(text))
                )
                if b - a == width_of[row]:  # else it is left from an earlier version of the line
                    low[row], high[row] = a, b

    def _vector(self, title: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and numbers of RHS or RANGES; the name of the vector may be missing."""
        expected = "the section's vector, row and number, or that and one more row and number"
        entries = self._entries(title, (2, 3, 4, 5), expected)
        if names := entries.names[1:]:
            raise self.source.fault(
                int(entries.numbers[entries.begins[1]]), two_vectors(names[0], entries.names[0])
            )
        self._checked(entries)
        self.row_lines[entries.rows] = entries.numbers
        return entries.rows, entries.values

    def _bounds(self) -> None:
        """Read BOUNDS; see ``docs/model-files.md`` for what the types mean."""
        columns = self.columns
        ends = _Ends.of(len(columns))
        if "BOUNDS" in self.sections.lines:
            for lines in self.sections.pieces("BOUNDS"):
                if not self._bounds_at_once(lines, ends):
                    self._bounds_by_line(lines, ends)
        self.lower, self.upper = ends.values["lower"], ends.values["upper"]
        has_lower, has_upper = ends.lines["lower"], ends.lines["upper"]
        self.upper[(self.whole == 1) & (has_lower == 0) & (has_upper == 0)] = 1.0
        below = np.flatnonzero((self.upper < 0) & (has_lower == 0))
        if below.size:
            self.lower[below] = -np.inf
            self.source.warn(
                f"line {has_upper[below[0]]}: column {shown(columns[below[0]])} has a negative "
                "upper bound, no lower, "
                "which is taken as -inf, as CPLEX and COIN do; HiGHS, GLPK and SCIP take it as 0 "
                f"({below.size} such)"
            )
        last = np.maximum(has_lower, has_upper)
        self.column_lines = np.where(last > 0, last, self.column_lines)

    def _bounds_at_once(self, lines: MpsLines, ends: _Ends) -> bool:
        """Read lines of BOUNDS that are all of a plain form; else read none and return False.

        Plain are known types in capital letters but those of semicontinuous columns, known columns,
        one vector, finite numbers, and no bound twice.
        """
        if not len(lines.first):
            return True
        tokens = np.array(lines.tokens, dtype=object)
        codes = np.fromiter(
            map(_CODE_OF_BOUND.get, tokens[lines.first].tolist(), repeat(-1)), dtype=np.intp
        )
        valued = np.isin(codes, _VALUED_BOUNDS)
        places = np.where(valued, lines.counts - 2, 2)
        if (codes < 0).any() or not np.isin(lines.counts, (3, 4)).all():
            return False
        names = tokens[lines.first + places].tolist()
        positions = np.fromiter(map(self.column_of.get, names, repeat(-1)), dtype=np.intp)
        vectors = {*tokens[lines.first[places == 2] + 1].tolist(), *filter(None, [ends.vector])}
        words = tokens[(lines.first + lines.counts - 1)[valued]].tolist()
        numbers = np.zeros(len(codes))
        numbers[valued] = numbers_in(words)
        if (positions < 0).any() or len(vectors) > 1 or not np.isfinite(numbers).all():
            return False
        setting = {}
        for side in ("lower", "upper"):
            values = _VALUE_OF_BOUND[side][codes]
            sets = np.isnan(values) | (values != _UNSET)
            columns = positions[sets]
            is_sorted = bool((np.diff(columns) > 0).all())  # then none is there twice
            if not is_sorted and len(np.unique(columns)) < len(columns):
                return False
            if ends.lines[side][columns].any():
                return False
            setting[side] = (columns, np.where(np.isnan(values), numbers + 0.0, values)[sets], sets)
        for side, (columns, values, sets) in setting.items():
            ends.values[side][columns] = values
            ends.lines[side][columns] = lines.numbers[sets]
        self.whole[positions[_WHOLE_BOUNDS[codes]]] = 1
        ends.vector = next(iter(vectors), b"")
        return True

    def _bounds_by_line(self, lines: MpsLines, ends: _Ends) -> None:
        """Read lines of BOUNDS of any form; raise for the first that is wrong."""
        fault = self.source.fault
        column_of = self.column_of
        for number, tokens in lines:
            kind = tokens[0].upper()
            size = len(tokens)
            sides, whole = _BOUNDS.get(kind, ({}, False))
            valued = _GIVEN in sides.values()
            if not sides or not 2 + valued <= size <= 4:
                raise fault(number, f"expected {_TYPES}, the section's vector, and a column")
            place = size - 2
            if not valued:
                place = (
                    1
                    if size == 2
                    or (size == 3 and tokens[2] not in column_of and tokens[1] in column_of)
                    else 2
                )
            j = self._column(tokens[place], number)
            if place == 2:
                ends.vector = ends.vector or tokens[1]
                if tokens[1] != ends.vector:
                    raise fault(number, two_vectors(tokens[1].decode(), ends.vector.decode()))
            for side, value in sides.items():
                if earlier := ends.lines[side][j]:
                    raise fault(number, f"its {side} bound was given in line {earlier}")
                ends.lines[side][j] = number
                ends.values[side][j] = self._bound(tokens[-1], number) if value is _GIVEN else value
            if whole:
                self.whole[j] = 1
            if kind in (b"SC", b"SI"):
                self.constructs.semicontinuous[j] = number

    @cached_property
    def column_of(self) -> dict[bytes, int]:
        """Position of each column."""
        names = "\n".join(self.columns).encode().split(b"\n") if self.columns else ()
        return dict(zip(names, range(len(self.columns)), strict=True))

    def _column(self, word: bytes, number: int) -> int:
        """Return the position of a column; raise where there is none of that name."""
        j = self.column_of.get(word, -1)
        if j < 0:
            name = word.decode()
            raise self.source.fault(
                number, f"no column is called {shown(name)}{hint(name, self.columns)}"
            )
        return j

    def _sets(self) -> None:
        """Read the sections SOS, SOS1 and SOS2.

        Each set is a line ``S1 name`` or ``S2 name``, then lines of its columns with weights.
        """
        for title in ("SOS", "SOS1", "SOS2"):
            ordered_set: OrderedSet | None = None
            for number, tokens in self.sections.tokens(title):
                fault = partial(self.source.fault, number)
                weight = number_in(tokens[-1]) if len(tokens) > 1 else np.nan
                is_member = (
                    tokens[0] in self.column_of and np.isfinite(weight) and ordered_set is not None
                )
                if tokens[0].upper() in (b"S1", b"S2") and not is_member:
                    ordered_set = self._set(title, number, tokens)
                    self.constructs.sets.append(ordered_set)
                elif ordered_set is None or len(tokens) > 3:
                    raise fault(
                        "expected S1 or S2 and the name of a set, or a column of the set and its "
                        "weight"
                    )
                else:  # some writers put the word SOS before the column
                    ordered_set.add(
                        self._column(tokens[len(tokens) == 3], number),
                        self._weight(tokens, number),
                        fault,
                    )

    def _set(self, title: str, number: int, tokens: list[bytes]) -> OrderedSet:
        """Return the set of a line: its type, optional vector, name and optional priority."""
        kind = tokens[0].decode().upper()
        arguments = tokens[1:]
        if len(arguments) > 3 or title[3:] not in ("", kind[1]):
            raise self.source.fault(number, "expected S1 or S2, and the name of a set")
        # A priority before the end says nothing of the solutions.
        if len(arguments) > 1 and np.isfinite(number_in(arguments[-1])):
            arguments = arguments[:-1]
        default_name = f"set{len(self.constructs.sets) + 1}"
        name = arguments[-1].decode() if arguments else default_name
        return OrderedSet(name, int(kind[1]), number)

    def _weight(self, tokens: list[bytes], number: int) -> float:
        """Return the weight of a member of a set, NaN without."""
        if len(tokens) == 1:
            return np.nan
        weight = number_in(tokens[-1])
        if not np.isfinite(weight):
            raise self.source.fault(number, "expected a finite weight")
        return weight

    def _indicators(self) -> None:
        """Read INDICATORS: ``IF row column value``."""
        position = np.cumsum(self.is_constraint) - 1
        for number, tokens in self.sections.tokens("INDICATORS"):
            is_indicator = len(tokens) == 4 and tokens[0].upper() == b"IF"
            if not is_indicator or number_in(tokens[3]) not in (0, 1):
                raise self.source.fault(number, "expected IF, a row, a binary column, and 0 or 1")
            name = tokens[1].decode()
            i = self.row_of.get(tokens[1], -1)
            if i < 0:
                row_names = map(bytes.decode, self.row_of)
                raise self.source.fault(
                    number, f"no row is called {shown(name)}{hint(name, [*row_names])}"
                )
            row = int(position[i])
            if not self.is_constraint[i] or row in self.constructs.indicators:
                raise self.source.fault(number, "its row is of type N, or has an indicator before")
            indicator = Indicator(
                self._column(tokens[2], number), int(number_in(tokens[3])), number
            )
            self.constructs.indicators[row] = indicator

    def _bound(self, text: bytes, number: int) -> float:
        value = number_in(text)
        if not isfinite(value) and not _INFINITE.fullmatch(text):
            raise self.source.fault(number, "expected a number as bound")
        return value + 0.0

    def _entries(self, title: str, sizes: tuple[int, ...], expected: str) -> _Entries:
        """Return the entries of a section; its lines have one of these numbers of words."""
        parts = []
        names = []
        size = 0
        count = 0
        last_head: Any = None
        marked = title == "COLUMNS" and b"'MARKER'" in self.sections.text
        for lines in self.sections.pieces(title):
            self._count(lines, sizes, expected)
            tokens = np.array(lines.tokens, dtype=object)
            first = lines.first
            has_head = lines.counts % 2
            pairs = lines.counts // 2
            if marked:
                pairs[(lines.counts == 3) & (tokens[first + 1] == b"'MARKER'")] = 0
            before = size + np.cumsum(pairs) - pairs
            marks = np.flatnonzero(pairs == 0)
            markers_before = count + np.cumsum(pairs == 0)  # an odd number: between two of them
            inside = np.repeat(markers_before % 2, pairs).astype(np.uint8)
            count += len(marks)
            starting = np.flatnonzero(has_head & (pairs > 0))
            column_names = tokens[first[starting]]
            changes = column_names != np.append(last_head, column_names)[:-1]
            last_head = np.append(last_head, column_names)[-1]
            row_place = np.repeat(first + has_head, pairs)
            row_place[1:] += 2 * (np.diff(row_place) == 0)  # the second row of a line
            rows = np.fromiter(
                map(self.row_of.get, tokens[row_place].tolist(), repeat(-1)),
                dtype=np.int32,
                count=len(row_place),
            )
            values = numbers_in(tokens[row_place + 1].tolist())
            numbers = np.repeat(lines.numbers, pairs).astype(np.int32)
            marker_tokens = lines.numbers[marks], tokens[first[marks] + 2]
            parts.append((rows, values, numbers, before[starting[changes]], inside, *marker_tokens))
            # words that stayed where they are would leave gaps in memory, which are slow to fill
            # again
            names.append(b"\n".join([*column_names[changes].tolist(), b""]))
            size += len(row_place)
        return _Entries(
            b"".join(names).decode().split("\n")[:-1],
            *map(np.concatenate, zip(*parts, strict=True)),
        )

    def _checked(self, entries: _Entries, of: np.ndarray | int = 0) -> np.ndarray | slice:
        """Return the order of entries by column and row.

        Raises for an unknown row, an entry that is no number, and a row that occurs twice.
        """
        rows = entries.rows
        numbers = entries.numbers

        def token(i: int, offset: int = 0) -> str:
            tokens = self.sections.line(int(numbers[i]))
            return tokens[
                len(tokens) % 2 + 2 * (i - int(np.searchsorted(numbers, numbers[i]))) + offset
            ].decode()

        row_names = map(bytes.decode, self.row_of)
        self._refuse(
            rows < 0,
            numbers,
            lambda i: f"no row is called {shown(token(i))}{hint(token(i), [*row_names])}",
        )
        self._refuse(
            ~np.isfinite(entries.values),
            numbers,
            lambda i: "expected a finite number",
        )
        place = of * max(len(self.kinds), 1) + rows
        if (np.diff(place) > 0).all():  # without copies of millions of numbers
            return slice(None)
        order = np.argsort(place, kind="stable")
        repeated = np.zeros(len(order), dtype=bool)
        repeated[order[1:]] = np.diff(place[order]) == 0
        self._refuse(repeated, numbers, lambda i: f"a second number for row {shown(token(i))}")
        return order


_PROFILES: Final = get_args(Profile)
#: Entries that are written at once.
_PIECE: Final = 100_000


@dataclass(frozen=True)
class _Layout:
    """How lines look, in free or in fixed format, and how numbers are written."""

    row: str = " %s %s\n"
    entry: str = " %s %s %s\n"
    bound: str = " %s BND %s %s\n"
    no_bound: str = " %s BND %s\n"
    marker: str = " MARKER 'MARKER' '%s'\n"
    name: str = "NAME %s FREE\n"
    longest_name: int = LONGEST_NAME
    numbers: Callable[[np.ndarray], list[str]] = decimals
    has_binaries: bool = False


_FREE: Final = _Layout()
_NATIVE: Final = _Layout(has_binaries=True)  # SCIP wants the columns of indicators declared binary
_FIXED: Final = _Layout(
    row=" %s  %s\n",
    entry="    %-8s  %-8s  %12s\n",
    bound=" %s BND       %-8s  %12s\n",
    no_bound=" %s BND       %s\n",
    marker="    MARKER    'MARKER'                 '%s'\n",
    name="NAME          %s\n",
    longest_name=8,
    numbers=short_decimals,
)


def write_mps(
    program: Program,
    path_or_file: Target,
    *,
    profile: Profile = "portable",
    names: Names = "labels",
) -> list[Path]:
    """Write a Program as MPS.

    Parameters
    ----------
    program : Program
    path_or_file : path or file object
        A path ending in ``.gz`` is compressed. A path is written whole or not at all.
    profile : {"portable", "full", "native", "fixed"}
        ``portable`` uses only what HiGHS, GLPK, SCIP and COIN read alike. GLPK refuses an OBJSENSE
        section and COIN ignores it, so the model is always a minimisation, with the objective
        negated where it was to be maximised; GLPK reads a constant in the RHS section with the
        opposite sign, so the constant is the cost of a last column fixed at 1. ``full`` keeps both:
        OBJSENSE, and minus the constant as right-hand side of the objective. ``native`` is ``full``
        with an INDICATORS section: rows that an integer switches, of semi-continuous variables,
        special ordered sets and indicators, are given without M, as CPLEX, Gurobi and SCIP have
        them. ``fixed`` is ``portable`` on the columns of the oldest readers: names of 8 characters,
        ``R0000001`` and ``C0000001``, explained in the side file, and numbers of 12 characters,
        rounded where they need more.
    names : {"labels", "numbers"}
        Names from blocks and labels, ``capacity.server3.cpu``, or positions in the Program, ``r7``
        and ``c12``.

    Returns
    -------
    list of Path
        The files written: the model, and ``<path>.names.json`` if names had to be changed; none for
        a file object.

    Raises
    ------
    ModelError
        If the objective has logarithms, a lower bound is above the upper one, the bounds of a row
        differ by more than the largest number, or there are too many names for ``fixed``.

    Notes
    -----
    Numbers are the shortest decimals that read back exactly. Rows without any bound are left out:
    readers drop them. A row with two bounds is one bound and a RANGES entry, the difference; where
    no double is the exact difference, solvers read the bound of larger size off by its last bit,
    and a comment gives it to :func:`fairlp.models.files.programs.read_program`. GLPK reads
    fractional bounds of integer columns, but does not solve such models.
    """
    require_known(profile, _PROFILES, f"no MPS profile is called {profile!r}")
    check_writable(program, "MPS")
    naming_ = fixed_naming(program) if profile == "fixed" else naming(program, names)
    is_bounded = bounded_rows(program)
    written = {naming_.rows[i] for i in np.flatnonzero(is_bounded).tolist()}
    row_map = {name: entry for name, entry in naming_.row_map.items() if name in written}
    return write_model(
        path_or_file, _parts(program, naming_, is_bounded, profile), row_map, naming_.column_map
    )


def _parts(
    program: Program, names: Naming, is_bounded: np.ndarray, profile: Profile
) -> Iterator[str]:
    """Yield the file, section by section."""
    layout = {"fixed": _FIXED, "native": _NATIVE}.get(profile, _FREE)
    full = profile in ("full", "native")
    maximised = program.sense == "max"
    program, indicators = with_indicators(program) if profile == "native" else (program, {})
    sign = -1.0 if maximised and not full else 1.0
    constant = sign * program.offset
    extra = names.constant if constant and not full else None
    kinds, sides, widths = _rows(program, rounded=profile == "fixed")

    head = about(program)
    if sign < 0:
        head.append(
            "objective: NEGATED. The model maximises; this file minimises minus its objective."
        )
    elif maximised:
        head.append("objective: maximised, see OBJSENSE")
    if extra is not None:
        head.append(f"The objective's constant is the cost of column {extra}, which is fixed at 1.")
    elif constant:
        head.append("The objective's constant is minus the right-hand side of the objective row.")
    head += left_out(is_bounded)
    if profile == "fixed":
        head.append(
            "Names are numbers; the file with .names.json after its name says what they stand for."
        )
        rounded = sum(
            int((np.array(short_decimals(array), dtype=float) != array).sum())
            for array in (
                program.A.data,
                program.c,
                sides,
                widths,
                program.col_lower,
                program.col_upper,
            )
        )
        head.append(f"Numbers rounded to {FIXED_NUMBER} characters: {rounded}.")
    # COIN reads free MPS only when the NAME line says so; others ignore the word
    yield comment("*", head) + layout.name % clean(program.name)[: layout.longest_name]
    if full and maximised:
        yield "OBJSENSE\n    MAX\n"

    bounded_rows = np.flatnonzero(is_bounded).tolist()
    objective = layout.row % ("N", names.objective)
    row_lines = [layout.row % (kinds[i], names.rows[i]) for i in bounded_rows]
    yield f"ROWS\n{objective}" + "".join(row_lines)
    yield "COLUMNS\n"
    yield from _columns(program, names, is_bounded, sign, layout)
    (cost,) = layout.numbers(np.array([-constant if full else constant]))
    if extra is not None:
        yield layout.entry % (extra, names.objective, cost)

    texts = layout.numbers(sides)
    right_lines = [
        layout.entry % ("RHS", names.rows[i], texts[i]) for i in bounded_rows if sides[i]
    ]
    right = "".join(right_lines)
    if constant and full:
        right = layout.entry % ("RHS", names.objective, cost) + right
    yield f"RHS\n{right}"
    ranged = np.flatnonzero(widths).tolist()
    if ranged:
        yield "RANGES\n" + "".join(_ranges(program, names.rows, kinds, widths, ranged, layout))
    bounds = "".join(bound_lines(program, names.columns, layout))
    if extra is not None:
        bounds += layout.bound % ("FX", extra, 1)
    if bounds:
        yield f"BOUNDS\n{bounds}"
    if indicators:
        lines = (
            f" IF {names.rows[i]} {names.columns[j]} {active}\n"
            for i, (j, active, _) in indicators.items()
        )
        yield "INDICATORS\n" + "".join(lines)
    yield "ENDATA\n"


def _rows(program: Program, rounded: bool) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return type, right-hand side, and width (zero without a range) of every row."""
    lower = program.row_lower
    upper = program.row_upper
    has_lower = np.isfinite(lower)
    has_upper = np.isfinite(upper)
    is_ranged = has_lower & has_upper
    widths = np.zeros(len(lower))
    with np.errstate(over="ignore"):
        widths[is_ranged] = upper[is_ranged] - lower[is_ranged]
    if np.isinf(widths).any():
        i = int(np.isinf(widths).argmax())
        raise ModelError(
            f"row {program.row_names[i]!r} has bounds that are further apart than MPS can say; leave out a "
            "bound that means none, or write an LP file"
        )
    # A reader computes the other bound from the difference: take the side from which it comes out
    # exactly, else the smaller one, from which the other is off by its last bit at most (and by
    # rounding, where numbers are rounded).
    low = np.where(is_ranged, lower, 0.0)
    high = np.where(is_ranged, upper, 0.0)
    smaller = np.abs(high) < np.abs(low)
    from_upper = is_ranged & (
        smaller if rounded else (low + widths != high) & ((high - widths == low) | smaller)
    )
    equal = lower == upper
    kinds = np.where(equal, "E", np.where(has_lower & ~from_upper, "G", "L")).tolist()
    sides = np.where(has_lower & ~from_upper, lower, np.where(has_upper, upper, 0.0))
    return kinds, sides, widths


def _ranges(
    program: Program,
    names: list[str],
    kinds: list[str],
    widths: np.ndarray,
    which: list[int],
    layout: _Layout,
) -> Iterator[str]:
    """Yield the lines of the RANGES section.

    A comment gives the exact bound where the range only comes near it.
    """
    texts = layout.numbers(widths)
    for i in which:
        low = program.row_lower[i]
        high = program.row_upper[i]
        if kinds[i] == "G":
            computed = low + widths[i]
            exact = high
        else:
            computed = high - widths[i]
            exact = low
        yield layout.entry % ("RNG", names[i], texts[i])
        if computed != exact:
            yield f"* {names[i]}: the other bound is exactly {decimal(exact)}\n"


def _columns(
    program: Program, names: Naming, is_bounded: np.ndarray, sign: float, layout: _Layout
) -> Iterator[str]:
    """Yield the COLUMNS section: cost, then rows in order, with markers around integer columns."""
    n = program.n_columns
    entries = program.A.tocoo(copy=False)
    rows = entries.row
    of = entries.col
    values = entries.data
    if not is_bounded.all():
        is_entry = is_bounded[rows]
        rows = rows[is_entry]
        of = of[is_entry]
        values = values[is_entry]
    counts = np.bincount(of, minlength=n)
    starts = np.concatenate(([0], np.cumsum(counts)))
    costs = sign * program.c
    # a column without any entry would not exist: it gets a cost of zero
    priced = np.flatnonzero((costs != 0) | (counts == 0))
    insertions = starts[priced]
    row_labels = np.array([*names.rows, names.objective], dtype=object)
    rows = np.insert(rows, insertions, len(names.rows))
    values = np.insert(values, insertions, costs[priced])
    of = np.insert(of, insertions, priced)
    columns = np.array(names.columns, dtype=object)
    entry_texts = zip(
        columns[of].tolist(), row_labels[rows].tolist(), layout.numbers(values), strict=True
    )
    lines = map(layout.entry.__mod__, entry_texts)
    whole = program.integrality.astype(bool)
    runs = np.concatenate(([0], np.flatnonzero(np.diff(whole)) + 1))
    cuts = np.searchsorted(of, [*runs.tolist(), n]).tolist()
    for run, start, stop in zip(runs.tolist(), cuts, cuts[1:], strict=False):
        markers = [
            layout.marker % kind for kind in ("INTORG", "INTEND") if whole[run : run + 1].any()
        ]
        yield from markers[:1]
        for piece_start in range(start, stop, _PIECE):
            yield "".join(islice(lines, min(_PIECE, stop - piece_start)))
        yield from markers[1:]


def bound_lines(program: Program, names: list[str], layout: _Layout) -> Iterator[str]:
    """Yield the lines of the BOUNDS section for all but continuous columns on [0, inf).

    Readers differ in the upper bound of an integer column that has none, and in the lower bound
    that a negative upper bound implies: both are always written, the lower one first. (0 below 0 is
    a fixed column.)
    """
    lower = program.col_lower
    upper = program.col_upper
    whole = program.integrality.astype(bool)
    which = np.flatnonzero(whole | (lower != 0) | (upper != np.inf))
    finite = [np.where(np.isfinite(bounds[which]), bounds[which], 0.0) for bounds in (lower, upper)]
    rest = zip(which.tolist(), *map(layout.numbers, finite), strict=True)
    for j, low, high in rest:
        name = names[j]
        has_lower = lower[j] != -np.inf
        has_upper = upper[j] != np.inf
        if lower[j] == upper[j]:
            yield layout.bound % ("FX", name, low)
        elif layout.has_binaries and whole[j] and (lower[j], upper[j]) == (0, 1):
            yield layout.no_bound % ("BV", name)
        elif not has_lower and not has_upper:
            yield layout.no_bound % ("FR", name)
        else:
            if not has_lower:
                yield layout.no_bound % ("MI", name)
            elif whole[j] or lower[j] != 0:
                yield layout.bound % ("LO", name, low)
            if has_upper:
                yield layout.bound % ("UP", name, high)
            elif whole[j]:
                yield layout.no_bound % ("PL", name)
