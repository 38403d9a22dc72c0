"""Read MPS, free or fixed, entry by entry in bulk."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from scipy.sparse import csc_array

from .mps_sections import LayoutError, Lines, Sections
from .source import LineError, Parsed, Source, hint, is_ours, settle, shown

_WITH_VALUE: Final = frozenset((b"UP", b"LO", b"FX", b"LI", b"UI"))
_WITHOUT_VALUE: Final = frozenset((b"FR", b"MI", b"PL", b"BV"))
#: Fortran writes 1.0D3 for 1.0E3.
_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
_INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_EXACT = re.compile(rb"^\* (\S+): the other bound is exactly (-?[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?)$", re.M)


def parse_mps(source: Source) -> Parsed:
    """Return what an MPS file says; fields are words, and columns where the words do not fit."""
    sections = Sections(source)
    try:
        return _Reader(sections).parse()
    except LineError as error:
        if sections.free:
            raise
        try:
            return _Reader(Sections(source, fixed=True)).parse()
        except LayoutError as other:
            if other.line <= error.line:
                raise error from None
            raise LineError(f"{error} (nor is it fixed format: line {other.line} {other})", error.line) from None
        except LineError as other:
            raise (other if other.line > error.line else error) from None


class _Reader:
    """One pass over the sections of a file."""

    def __init__(self, sections: Sections) -> None:
        self.sections, self.source = sections, sections.source
        self.exact = is_ours(sections.comments) is not None

    def parse(self) -> Parsed:
        """Return what the file says."""
        source, sections = self.source, self.sections
        rows = self._rows()
        self._columns()
        self._right_hand_sides()
        self._ranges()
        columns = [name.decode() for name in self.column_of]
        self._bounds(columns)
        kept = self.kept
        lower, upper, numbers = self.row_lower[kept], self.row_upper[kept], self.row_lines[kept]
        names = [name.decode() for name, stays in zip(rows, kept.tolist(), strict=True) if stays]
        settle(source, lower, upper, lambda i: f"row {shown(names[i])}", numbers, self.exact)
        low, high = self.lower, self.upper
        settle(source, low, high, lambda j: f"column {shown(columns[j])}", self.column_lines, self.exact)
        sense = sections.sense
        if sense == "min" and "OBJSENSE" not in sections.lines and "SENSE:Maximize" in sections.comments[:1]:
            sense = "max"
            source.warn("PuLP's comment says that the objective is maximised, which other readers ignore")
        return Parsed(
            sections.name, sense, self.offset, self.c, self.A, lower, upper, low, high, self.whole, names, columns,
            sections.comments,
        )  # fmt: skip

    def _rows(self) -> list[bytes]:
        """Read ROWS; the first row of type N is the objective, others are dropped."""
        lines = self.sections.words("ROWS")
        self._expect(lines, (2,), "type and name of a row")
        kinds, names = [kind.upper() for kind in lines.words[::2]], lines.words[1::2]
        if set(kinds) - {b"N", b"L", b"G", b"E"}:
            i = next(i for i, kind in enumerate(kinds) if kind not in (b"N", b"L", b"G", b"E"))
            raise self.source.fault(int(lines.numbers[i]), "expected a row of type N, L, G or E")
        self.row_of = dict(zip(names, range(len(names)), strict=True))
        if len(self.row_of) < len(names):
            raise self._twice(lines, names)
        self.row_lines = lines.numbers.copy()
        self.kinds = np.array(kinds, dtype="S1")
        self.kept = self.kinds != b"N"
        free = np.flatnonzero(~self.kept)
        self.cost_row = int(free[0]) if free.size else -1
        if self.sections.objective:
            self.cost_row = self.row_of.get(self.sections.objective.encode(), -1)
            if self.cost_row < 0 or self.kept[self.cost_row]:
                number = self.sections.lines["OBJNAME"][0] + 1
                raise self.source.fault(number, f"no row of type N is called {shown(self.sections.objective)}")
        return names

    def _columns(self) -> None:
        """Read COLUMNS: entries, costs, and which columns are integer."""
        lines = self.sections.words("COLUMNS")
        self._expect(lines, (3, 5), "column, row and number, or column and two of each")
        marks = (lines.counts == 3) & (lines.array[lines.first + 1] == b"'MARKER'")
        inside = self._markers(lines, np.flatnonzero(marks))
        first, counts, inside = lines.first[~marks], lines.counts[~marks], inside[~marks]

        names = lines.array[first].tolist()
        self.column_of = {name: j for j, name in enumerate(dict.fromkeys(names))}
        ids = np.fromiter(map(self.column_of.__getitem__, names), dtype=np.int64, count=len(names))
        steps = np.diff(ids)
        for wrong, problem in (
            ((steps != 0) & (steps != 1), "has entries before; expected all of them together"),
            ((steps == 0) & (inside[1:] != inside[:-1]), "has entries before and after a marker"),
        ):
            if wrong.any():
                i = int(wrong.argmax()) + 1
                raise self.source.fault(lines.number_of(int(first[i])), f"column {shown(names[i].decode())} {problem}")
        n = len(self.column_of)
        begins = np.flatnonzero(np.diff(ids, prepend=-1))
        self.column_lines = lines.numbers[np.flatnonzero(~marks)[begins]]
        self.whole = inside[begins].astype(np.uint8)

        two = counts == 5
        at = np.concatenate((first + 1, first[two] + 3))
        of, rows = np.concatenate((ids, ids[two])), self._find(lines, at)
        values = self._numbers(lines, at + 1)
        place = of * max(len(self.kinds), 1) + rows
        order = self._sorted(lines, at, place)
        of, rows, values = of[order], rows[order], values[order] + 0.0

        self.c = np.zeros(n)
        costs = rows == self.cost_row
        self.c[of[costs]] = values[costs]
        stays = self.kept[rows] & (values != 0)
        position = (np.cumsum(self.kept) - 1).astype(np.int32)
        starts = np.concatenate(([0], np.cumsum(np.bincount(of[stays], minlength=n)))).astype(np.int32)
        shape = (int(self.kept.sum()), n)
        self.A: csc_array[Any] = csc_array((values[stays], position[rows[stays]], starts), shape=shape)

    def _markers(self, lines: Lines, which: np.ndarray) -> np.ndarray:
        """Return which lines stand between INTORG and INTEND."""
        change = np.zeros(len(lines.first), dtype=np.int64)
        depth = 0
        for i in which.tolist():
            if lines.words[lines.first[i] + 2] != (b"'INTEND'" if depth else b"'INTORG'"):
                expected = "'INTEND', which ends what 'INTORG' began" if depth else "'INTORG'"
                raise self.source.fault(int(lines.numbers[i]), f"expected the marker {expected}")
            change[i] = 1 - 2 * depth
            depth = 1 - depth
        if depth:
            raise self.source.fault(int(lines.numbers[which[-1]]), "no marker 'INTEND' follows")
        return np.cumsum(change)

    def _right_hand_sides(self) -> None:
        """Read RHS; that of the objective is minus its constant."""
        sides = np.zeros(len(self.kinds))
        rows, values = self._vector("RHS")
        sides[rows] = values
        self.offset = 0.0 - float(sides[self.cost_row]) if self.cost_row >= 0 else 0.0
        starts = {line.partition(":")[0] for line in self.sections.comments}
        if self.offset and starts >= {"Problem", "Class", "Rows", "Non-zeros", "Format"}:
            self.offset = -self.offset
            self.source.warn("written by GLPK, for which the objective's constant has the opposite sign")
        self.row_lower = np.where(self.kinds == b"L", -np.inf, sides)
        self.row_upper = np.where(self.kinds == b"G", np.inf, sides)

    def _ranges(self) -> None:
        """Read RANGES; the sign counts for equations only."""
        rows, values = self._vector("RANGES")
        if not self.kept[rows].all():
            number = self.row_lines[rows[~self.kept[rows]][0]]
            raise self.source.fault(int(number), "a row of type N has no range")
        kinds, widths = self.kinds[rows], np.abs(values)
        down = (kinds == b"L") | ((kinds == b"E") & (values < 0))
        low, high = self.row_lower, self.row_upper
        with np.errstate(over="ignore"):
            low[rows[down]] = high[rows[down]] - widths[down]
            high[rows[~down]] = low[rows[~down]] + widths[~down]
        if not self.exact:
            return
        given = dict(zip(rows.tolist(), widths.tolist(), strict=True))
        for name, text in _EXACT.findall(self.sections.section("RANGES")):
            row = self.row_of.get(name, -1)
            if row not in given:
                continue
            a, b = (float(text), high[row]) if self.kinds[row] == b"L" else (low[row], float(text))
            if b - a == given[row]:  # else it is left from an earlier version of the line
                low[row], high[row] = a, b

    def _vector(self, title: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and numbers of RHS or RANGES; the name of the vector may be missing."""
        lines = self.sections.words(title)
        self._expect(lines, (2, 3, 4, 5), "the section's vector, row and number, or that and one more row and number")
        named = lines.counts % 2
        self._one_vector(lines.array[lines.first[named == 1]].tolist(), lines.numbers[named == 1])
        two = lines.counts >= 4
        at = np.concatenate((lines.first + named, (lines.first + named)[two] + 2))
        rows = self._find(lines, at)
        values = self._numbers(lines, at + 1)
        self._sorted(lines, at, rows)
        self.row_lines[rows] = lines.numbers_of(at)
        return rows, values

    def _one_vector(self, names: list[bytes], numbers: np.ndarray) -> None:
        """Raise when a section has more than one vector: readers take only one of them."""
        if len(set(names)) > 1:
            i = next(i for i, name in enumerate(names) if name != names[0])
            message = f"a second vector, {shown(names[i].decode())} after {shown(names[0].decode())}; expected one"
            raise self.source.fault(int(numbers[i]), message)

    def _bounds(self, columns: list[str]) -> None:
        """Read BOUNDS; see ``docs/model-files.md`` for what the types mean."""
        lines, fault = self.sections.words("BOUNDS"), self.source.fault
        n, column_of = len(columns), self.column_of
        lower, upper = [0.0] * n, [np.inf] * n
        seen = {"lower": [0] * n, "upper": [0] * n}
        sides = {b"UP": ("upper",), b"UI": ("upper",), b"PL": ("upper",), b"LO": ("lower",), b"LI": ("lower",),
                 b"MI": ("lower",)}  # fmt: skip
        vectors, numbers, both = [], [], ("lower", "upper")
        for number, words in lines:
            kind, size = words[0].upper(), len(words)
            if kind in _WITH_VALUE and 3 <= size <= 4:
                place = size - 2
            elif kind in _WITHOUT_VALUE and 2 <= size <= 4:
                place = 1 if size == 2 or (size == 3 and words[2] not in column_of and words[1] in column_of) else 2
            elif kind == b"SC":
                raise fault(number, "semi-continuous columns are no part of linear or mixed-integer programs")
            else:
                raise fault(number, "expected UP, LO, FX, FR, MI, PL, BV, LI or UI, the section's vector, and a column")
            j = column_of.get(words[place], -1)
            if j < 0:
                name = words[place].decode()
                raise fault(number, f"no column is called {shown(name)}{hint(name, columns)}")
            if place == 2:
                vectors.append(words[1])
                numbers.append(number)
            value = self._bound(words[-1], number) if kind in _WITH_VALUE else 0.0
            for side in sides.get(kind, both):
                if seen[side][j]:
                    raise fault(number, f"the {side} bound of {shown(columns[j])} was given in line {seen[side][j]}")
                seen[side][j] = number
            if kind in (b"UP", b"UI", b"FX"):
                upper[j] = value
            if kind in (b"LO", b"LI", b"FX"):
                lower[j] = value
            if kind in (b"MI", b"FR"):
                lower[j] = -np.inf
            if kind in (b"BV", b"LI", b"UI"):
                self.whole[j] = 1
                upper[j] = 1.0 if kind == b"BV" else upper[j]
        self._one_vector(vectors, np.array(numbers))
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        has_lower, has_upper = (np.array(seen[side], dtype=np.int64) for side in both)
        self.upper[(self.whole == 1) & (has_lower == 0) & (has_upper == 0)] = 1.0
        below = np.flatnonzero((self.upper < 0) & (has_lower == 0))
        if below.size:
            self.lower[below] = -np.inf
            self.source.warn(
                f"line {has_upper[below[0]]}: column {shown(columns[below[0]])} has a negative upper bound, no lower, "
                f"which is taken as -inf, as CPLEX and COIN do; HiGHS, GLPK and SCIP take it as 0 ({below.size} such)"
            )
        self.column_lines = np.maximum(self.column_lines * ((has_lower == 0) & (has_upper == 0)), has_lower)
        self.column_lines = np.maximum(self.column_lines, has_upper)

    def _bound(self, text: bytes, number: int) -> float:
        value = _number(text)
        if np.isnan(value) or (np.isinf(value) and not _INFINITE.fullmatch(text)):
            raise self.source.fault(number, f"expected a number as bound instead of {shown(text.decode())}")
        return value + 0.0

    def _expect(self, lines: Lines, counts: tuple[int, ...], what: str) -> None:
        wrong = ~np.isin(lines.counts, counts)
        if wrong.any():
            i = int(wrong.argmax())
            raise self.source.fault(int(lines.numbers[i]), f"expected {what}; found {lines.counts[i]} words")

    def _find(self, lines: Lines, at: np.ndarray) -> np.ndarray:
        """Return the rows that are named at these words."""
        names = lines.array[at].tolist()
        try:
            return np.fromiter(map(self.row_of.__getitem__, names), dtype=np.int64, count=len(names))
        except KeyError:
            word = min(i for i, name in zip(at.tolist(), names, strict=True) if name not in self.row_of)
            name = lines.words[word].decode()
            message = f"no row is called {shown(name)}{hint(name, [known.decode() for known in self.row_of])}"
            raise self.source.fault(lines.number_of(word), message) from None

    def _numbers(self, lines: Lines, at: np.ndarray) -> np.ndarray:
        """Return the numbers at these words."""
        texts = lines.array[at].tolist()
        try:
            values = np.fromiter(map(float, texts), dtype=float, count=len(texts))
        except ValueError:
            values = np.fromiter(map(_number, texts), dtype=float, count=len(texts))
        wrong = ~np.isfinite(values)
        if b"_" in b"".join(texts):
            wrong |= [b"_" in text for text in texts]
        if not wrong.any():
            return values
        word = int(at[wrong].min())
        message = f"expected a finite number instead of {shown(lines.array[word].decode())}"
        raise self.source.fault(lines.number_of(word), message)

    def _sorted(self, lines: Lines, at: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the order of places, which are named at these words; raise when there is one twice."""
        order = np.argsort(place, kind="stable")
        same = np.flatnonzero(np.diff(place[order]) == 0)
        if same.size:
            word = int(at[order[same + 1]].min())
            name = shown(lines.words[word].decode())
            raise self.source.fault(lines.number_of(word), f"a second number for row {name}")
        return order

    def _twice(self, lines: Lines, names: list[bytes]) -> LineError:
        first: dict[bytes, int] = {}
        rows = zip(lines.numbers.tolist(), names, strict=True)
        number, name = next((number, name) for number, name in rows if first.setdefault(name, number) != number)
        return self.source.fault(number, f"a second row {shown(name.decode())}; the first is in line {first[name]}")


def _number(text: bytes) -> float:
    """Return a number as C or Fortran writes it, NaN for what is none."""
    try:
        return np.nan if b"_" in text else float(_FORTRAN.sub(b"e", text))
    except ValueError:
        return np.nan
