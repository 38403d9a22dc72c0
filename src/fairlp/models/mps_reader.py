"""Read MPS, free or fixed: sections by their titles, entries in bulk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import csc_array

from .program import Sense
from .readers import LineError, Parsed, Source, hint, is_ours, settle, shown

#: Where sections stand: each after those of smaller numbers.
_ORDER: Final = {
    "NAME": 0, "OBJSENSE": 1, "OBJSENSE_MAX": 1, "OBJNAME": 1, "ROWS": 2, "COLUMNS": 3,
    "RHS": 4, "RANGES": 4, "BOUNDS": 4, "ENDATA": 5,
}  # fmt: skip
_SENSES: Final[dict[bytes, Sense]] = {
    b"MAX": "max", b"MAXIMIZE": "max", b"MAXIMISE": "max", b"MIN": "min", b"MINIMIZE": "min", b"MINIMISE": "min",
}  # fmt: skip
_REFUSED: Final = frozenset(
    "QUADOBJ QMATRIX QSECTION QCMATRIX CSECTION SOS SOS1 SOS2 SETS INDICATORS LAZYCONS USERCUTS DELAYEDROWS MODELCUTS "
    "GENCONS PWLOBJ SCENARIOS STOCH".split()
)
#: Columns of the six fields of fixed format, from zero.
_FIELDS: Final = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_BOUND_WITH_VALUE: Final = frozenset((b"UP", b"LO", b"FX", b"LI", b"UI"))
_BOUND_WITHOUT: Final = frozenset((b"FR", b"MI", b"PL", b"BV"))
_INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_EXACT = re.compile(rb"^\* (\S+): the other bound is exactly (\S+)$", re.M)
_COMMENT = re.compile(rb"^\*[^\n]*", re.M)
_DOLLAR = re.compile(rb"^([ \t]*[^ \t\n][^\n]*?)[ \t]\$[^\n]*", re.M)


@dataclass
class _Lines:
    """The words of a section's lines that are not blank."""

    words: list[bytes]
    first: np.ndarray
    counts: np.ndarray
    numbers: np.ndarray

    def number_of(self, word: int) -> int:
        """Return the number of the line in which a word stands."""
        return int(self.numbers[np.searchsorted(self.first, word, side="right") - 1])

    def __iter__(self) -> Iterator[tuple[int, list[bytes]]]:
        words = self.words
        for number, first, count in zip(self.numbers.tolist(), self.first.tolist(), self.counts.tolist(), strict=True):
            yield number, words[first : first + count]


def parse_mps(source: Source) -> Parsed:
    """Return what an MPS file says; words decide, and columns where the words do not fit."""
    reader = _Reader(source)
    if reader.free:
        return reader.parse()
    try:
        return reader.parse()
    except LineError as error:
        try:
            return _Reader(source, fixed=True).parse()
        except LineError as other:
            raise (other if other.line > error.line else error) from None


class _Reader:
    """One pass over one file."""

    def __init__(self, source: Source, fixed: bool = False) -> None:
        self.source, self.fixed = source, fixed
        text = source.content if source.content.endswith(b"\n") else source.content + b"\n"
        self.text = text
        codes = np.frombuffer(text, dtype=np.uint8)
        self.ends = np.flatnonzero(codes == ord("\n")) + 1
        self.starts = np.concatenate(([0], self.ends[:-1]))
        self.sections: dict[str, tuple[int, int]] = {}
        self.name, self.sense, self.objective, self.free = "", "min", "", False
        leading = codes[self.starts]
        self._find_sections(np.flatnonzero(~np.isin(leading, np.frombuffer(b" \t\n*", dtype=np.uint8))).tolist())
        head = text[: self.starts[self.sections["ROWS"][0] - 1]].split(b"\n")
        self.comments = [line[1:].strip().decode() for line in head if line.startswith(b"*")]
        self.exact = is_ours(self.comments) is not None

    def _line(self, i: int) -> bytes:
        return self.text[self.starts[i] : self.ends[i]]

    def _find_sections(self, titles: list[int]) -> None:
        """Note which lines each section has; ``titles`` are the lines that begin in the first column."""
        source, previous, senses = self.source, "", list[tuple[int, bytes]]()
        if (titles[0] if titles else len(self.starts)) > 0 and not titles:
            raise source.fault(1, "expected a section title of MPS, such as NAME or ROWS, in the first column")
        for k, i in enumerate(titles):
            words = self._line(i).split()
            stop = titles[k + 1] if k + 1 < len(titles) else len(self.starts)
            if previous.startswith("OBJSENSE") and words[0].upper() in _SENSES and len(words) == 1:
                senses.append((i, words[0]))
                words = [b""]
            title = words[0].decode().upper()
            if title in _REFUSED:
                raise source.fault(i + 1, f"section {title} says more than a linear or mixed-integer program can")
            if title and title not in _ORDER:
                message = f"unknown section{hint(title, _ORDER)}; lines of data begin with a space"
                raise source.fault(i + 1, message)
            if title in self.sections:
                raise source.fault(i + 1, f"a second section {title}; the first is in line {self.sections[title][0]}")
            if title and _ORDER[title] < _ORDER.get(previous, 0):
                raise source.fault(i + 1, f"section {title} stands after {previous}; expected it before")
            if title in ("COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA"):
                missing = "ROWS" if "ROWS" not in self.sections else "COLUMNS" if title != "COLUMNS" else ""
                if missing and missing not in self.sections:
                    raise source.fault(i + 1, f"section {title} without a section {missing} before it")
            if len(words) > 1 and title in ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA"):
                raise source.fault(i + 1, f"expected {title} alone on its line; lines of data begin with a space")
            if title:
                self.sections[title] = (i + 1, stop)
            previous = title or previous
            if title == "NAME":
                self.free = len(words) > 1 and words[-1].upper() == b"FREE"
                rest = self._line(i).strip().partition(words[0])[2].strip()
                self.name = (rest[:-4] if self.free else rest).strip().decode()
            elif title == "OBJNAME" and len(words) == 2:
                self.objective = words[1].decode()
            elif title.startswith("OBJSENSE") and len(words) == 2:
                senses.append((i, words[1]))
            elif len(words) > 1:
                raise source.fault(i + 1, f"expected one word after {title}")
            inside = self._lines(title) if title in ("NAME", "OBJSENSE", "OBJSENSE_MAX", "OBJNAME", "ENDATA") else ()
            for number, found in inside:
                if title == "OBJSENSE" and len(found) == 1:
                    senses.append((number - 1, found[0]))
                elif title == "OBJNAME" and len(found) == 1 and not self.objective:
                    self.objective = found[0].decode()
                else:
                    raise source.fault(number, f"unexpected after {title}")
        if titles and self._before(titles[0]):
            raise source.fault(self._before(titles[0]), "expected a section title of MPS in the first column")
        if "ENDATA" not in self.sections:
            raise source.fault(source.last_line, "the file ends without ENDATA; it was cut off")
        if "OBJSENSE_MAX" in self.sections:
            self.sense = "max"
        for i, word in senses:
            if word.upper() not in _SENSES or len(senses) > 1:
                raise source.fault(i + 1, "expected one word, MAX or MIN, in OBJSENSE")
            self.sense = _SENSES[word.upper()]

    def _before(self, first: int) -> int:
        """Return the number of the first line before the sections that is neither blank nor a comment, or 0."""
        for i in range(first):
            line = self._line(i)
            if line.strip() and not line.startswith(b"*"):
                return i + 1
        return 0

    def _lines(self, title: str) -> _Lines:
        """Return the words of a section, without comments."""
        start, stop = self.sections.get(title, (0, 0))
        if start >= stop:
            return _Lines([], *(np.zeros(0, dtype=np.int64) for _ in range(3)))
        text = self.text[self.starts[start] : self.ends[stop - 1]]
        if b"\n*" in text or text.startswith(b"*"):
            text = _COMMENT.sub(b"", text)
        if b"$" in text:
            text = _DOLLAR.sub(rb"\1", text)
        if self.fixed and title in ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS"):
            found = [self._fields(line, start + k + 1) for k, line in enumerate(text.split(b"\n"))]
            words = [word for line in found for word in line]
            counts = np.array([len(line) for line in found], dtype=np.int64)
        else:
            words = text.split()
            codes = np.frombuffer(text, dtype=np.uint8)
            begins = codes > ord(" ")
            begins[1:] &= codes[:-1] <= ord(" ")
            ends = np.flatnonzero(codes == ord("\n"))
            counts = np.diff(np.searchsorted(np.flatnonzero(begins), ends), prepend=0)
        first = np.cumsum(counts) - counts
        used = np.flatnonzero(counts)
        return _Lines(words, first[used], counts[used], used + start + 1)

    def _fields(self, line: bytes, number: int) -> list[bytes]:
        """Return the fields of a line in fixed format that are not blank."""
        text = line.decode().expandtabs(8)
        places = [*_FIELDS, (61, max(len(text), 62))]
        gaps = [text[a:b] for (_, a), (b, _) in zip([(0, 0), *_FIELDS], places, strict=True)]
        if any(gap.strip() for gap in [*gaps, text[61:]]):
            raise self.source.fault(number, "text outside the columns 2-3, 5-12, 15-22, 25-36, 40-47, 50-61")
        return [field.encode() for a, b in _FIELDS if (field := text[a:b].strip())]

    def parse(self) -> Parsed:
        """Return what the file says."""
        rows = self._rows()
        self._columns()
        self._right_hand_sides()
        self._ranges()
        self._bounds()
        kept = self.kept
        lower, upper = self.row_lower[kept], self.row_upper[kept]
        names = [name.decode() for name, stays in zip(rows, kept.tolist(), strict=True) if stays]
        settle(self.source, lower, upper, lambda i: f"row {names[i]!r}", self.row_lines[kept], self.exact)
        columns = [name.decode() for name in self.column_of]
        settle(self.source, self.lower, self.upper, lambda j: f"column {columns[j]!r}", self.column_lines, self.exact)
        sense: Any = self.sense
        if any(re.fullmatch(r"SENSE:Maximize", line) for line in self.comments[:1]) and sense == "min":
            sense = "max"
            self.source.warn("PuLP's comment says that the objective is to be maximised, which other readers ignore")
        return Parsed(
            self.name, sense, self.offset, self.c, self.A, lower, upper, self.lower, self.upper, self.whole,
            names, columns, self.comments,
        )  # fmt: skip

    def _rows(self) -> list[bytes]:
        """Read ROWS; the first row of type N is the objective, others are dropped."""
        lines = self._lines("ROWS")
        self._expect(lines, (2,), "type and name of a row")
        kinds = [kind.upper() for kind in lines.words[::2]]
        names = lines.words[1::2]
        if set(kinds) - {b"N", b"L", b"G", b"E"}:
            i = next(i for i, kind in enumerate(kinds) if kind not in (b"N", b"L", b"G", b"E"))
            raise self.source.fault(int(lines.numbers[i]), "expected a row of type N, L, G or E")
        self.row_of = dict(zip(names, range(len(names)), strict=True))
        if len(self.row_of) < len(names):
            raise self._twice(lines, names, "row")
        self.row_lines = lines.numbers.copy()
        self.kinds = np.array(kinds, dtype="S1")
        self.kept = self.kinds != b"N"
        free = np.flatnonzero(~self.kept)
        self.cost_row = int(free[0]) if free.size else -1
        if self.objective:
            self.cost_row = self.row_of.get(self.objective.encode(), -1)
            if self.cost_row < 0 or self.kept[self.cost_row]:
                number = self.sections["OBJNAME"][0]
                raise self.source.fault(number, f"no row of type N is called {shown(self.objective)}")
        return names

    def _twice(self, lines: _Lines, names: list[bytes], what: str) -> LineError:
        seen: dict[bytes, int] = {}
        for i, name in enumerate(names):
            if name in seen:
                first = int(lines.numbers[seen[name]])
                message = f"a second {what} {shown(name.decode())}; the first is in line {first}"
                return self.source.fault(int(lines.numbers[i]), message)
            seen[name] = i
        raise AssertionError(names)

    def _columns(self) -> None:
        """Read COLUMNS: entries, costs, and which columns are integer."""
        lines = self._lines("COLUMNS")
        self._expect(lines, (3, 5), "column, row and number, or column and two of each")
        words = np.array([*lines.words, b""], dtype=object)
        marks = (lines.counts == 3) & (words[lines.first + 1] == b"'MARKER'")
        inside = self._markers(lines, words, np.flatnonzero(marks))
        first, counts, inside = lines.first[~marks], lines.counts[~marks], inside[~marks]

        names = words[first].tolist()
        self.column_of = dict(zip(dict.fromkeys(names), range(len(names)), strict=False))
        ids = np.fromiter(map(self.column_of.__getitem__, names), dtype=np.int64, count=len(names))
        steps = np.diff(ids)
        for wrong, problem in (
            ((steps != 0) & (steps != 1), "its entries must stand together, and the column began before"),
            ((steps == 0) & (inside[1:] != inside[:-1]), "a marker stands between entries of the same column"),
        ):
            if wrong.any():
                i = int(wrong.argmax()) + 1
                raise self.source.fault(lines.number_of(int(first[i])), f"column {shown(names[i].decode())}: {problem}")
        n, m = len(self.column_of), len(self.kinds)
        begins = np.flatnonzero(np.diff(ids, prepend=-1))
        self.column_lines = np.array([lines.number_of(word) for word in first[begins].tolist()], dtype=np.int64)
        self.whole = inside[begins].astype(np.uint8)

        two = counts == 5
        at = np.concatenate((first + 1, first[two] + 3))
        of, at_row = np.concatenate((ids, ids[two])), self._find(lines, words, at, self.row_of, "row")
        values = self._numbers(lines, words, at + 1)
        place = of * max(m, 1) + at_row
        order = np.argsort(place, kind="stable")
        same = np.flatnonzero(np.diff(place[order]) == 0)
        if same.size:
            word = int(np.sort(at[order[same + 1]])[0])
            message = f"a second number for row {shown(words[word].decode())} in the same column"
            raise self.source.fault(lines.number_of(word), message)
        of, at_row, values = of[order], at_row[order], values[order]

        self.c = np.zeros(n)
        costs = at_row == self.cost_row
        self.c[of[costs]] = values[costs] + 0.0
        stays = self.kept[at_row] & (values != 0)
        position = np.cumsum(self.kept) - 1
        starts = np.concatenate(([0], np.cumsum(np.bincount(of[stays], minlength=n))))
        shape = (int(self.kept.sum()), n)
        self.A = csc_array(
            (values[stays], position[at_row[stays]].astype(np.int32), starts.astype(np.int32)), shape=shape
        )

    def _markers(self, lines: _Lines, words: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return which lines stand between INTORG and INTEND."""
        change = np.zeros(len(lines.first), dtype=np.int64)
        depth = 0
        for i in which.tolist():
            kind = words[lines.first[i] + 2]
            if kind != (b"'INTEND'" if depth else b"'INTORG'"):
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
        rows, values, _ = self._vector("RHS")
        sides[rows] = values
        self.offset = -float(sides[self.cost_row]) + 0.0 if self.cost_row >= 0 else 0.0
        if self.offset and re.search(r"^Class: .*\n(.*\n)*Non-zeros: ", "\n".join(self.comments) + "\n", re.M):
            self.offset = -self.offset
            self.source.warn("GLPK wrote it, which gives the objective's constant the opposite sign of other programs")
        self.row_lower = np.where(self.kinds == b"L", -np.inf, sides)
        self.row_upper = np.where(self.kinds == b"G", np.inf, sides)

    def _ranges(self) -> None:
        """Read RANGES; the sign counts for equations only."""
        rows, values, lines = self._vector("RANGES")
        if rows.size and not self.kept[rows].all():
            number = self.row_lines[rows[~self.kept[rows]][0]]
            raise self.source.fault(int(number), "a row of type N has no range")
        kinds, widths = self.kinds[rows], np.abs(values)
        down = (kinds == b"L") | ((kinds == b"E") & (values < 0))
        self.row_lower[rows[down]] = self.row_upper[rows[down]] - widths[down]
        self.row_upper[rows[~down]] = self.row_lower[rows[~down]] + widths[~down]
        if not self.exact or not rows.size:
            return
        start, stop = self.sections["RANGES"]
        given = dict(zip(rows.tolist(), widths.tolist(), strict=True))
        for name, text in _EXACT.findall(self.text[self.starts[start] : self.ends[stop - 1]]):
            row = self.row_of.get(name, -1)
            bound = float(text) if re.fullmatch(rb"[-+.e0-9]+", text) else np.nan
            low, high = (bound, self.row_upper[row]) if self.kinds[row] == b"L" else (self.row_lower[row], bound)
            if row in given and high - low == given[row]:  # not of an older version of the line
                self.row_lower[row], self.row_upper[row] = low, high
