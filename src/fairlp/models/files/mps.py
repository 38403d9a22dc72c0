"""Read and write MPS, the file that every LP and MILP solver reads; free or fixed, entry by entry in bulk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, compress, islice, pairwise, repeat
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csc_array

from ...errors import ModelError, require_known
from ..programs.program import Program, Sense
from .model_text import (
    FIXED_NUMBER,
    LONGEST_NAME,
    PIECE,
    LineError,
    Names,
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
    zero_or_more,
)
from .whole_files import Target

#: Where sections stand: each after those of smaller numbers.
_ORDER: Final = {
    "NAME": 1, "OBJSENSE": 1, "OBJNAME": 1, "ROWS": 2, "COLUMNS": 3, "RHS": 4, "RANGES": 4, "BOUNDS": 4, "ENDATA": 5,
}  # fmt: skip
_SENSES: Final[dict[bytes, Sense]] = {
    b"MAX": "max", b"MAXIMIZE": "max", b"MAXIMISE": "max", b"MIN": "min", b"MINIMIZE": "min", b"MINIMISE": "min",
}  # fmt: skip
_REFUSED: Final = (
    "QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX", "CSECTION", "SOS", "SOS1", "SOS2", "SETS", "INDICATORS", "LAZYCONS",
    "USERCUTS", "DELAYEDROWS", "MODELCUTS", "GENCONS", "PWLOBJ", "SCENARIOS",
)  # fmt: skip
#: Columns of the six fields of fixed format, from zero, and the gaps around them.
_FIELDS: Final = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_GAPS: Final = ((0, 1), (3, 4), (12, 14), (22, 24), (36, 39), (47, 49), (61, None))
_TITLE = re.compile(rb"\n[^ \t\n*]")
_COMMENT = re.compile(rb"^\*[^\n]*", re.M)
# a word that begins with $ begins a comment, unless it is the first of its line
_DOLLAR = re.compile(rb"^([ \t]*[^ \t\n][^\n]*?)[ \t]\$[^\n]*", re.M)
_TYPES: Final = "UP, LO, FX, FR, MI, PL, BV, LI, UI or SC"
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
}
_INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_EXACT = re.compile(rb"^\* (\S+): the other bound is exactly (-?[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?)$", re.M)


def parse_mps(source: Source) -> Parsed:
    """Return what an MPS file says; fields are words, and columns where the words do not fit."""
    sections = _Sections(source)
    try:
        return _Reader(sections).parse()
    except LineError as error:
        if sections.free:
            raise
        try:
            return _Reader(_Sections(source, fixed=True)).parse()
        except _LayoutError as other:
            if other.line <= error.line:
                raise error from None
            raise LineError(f"{error} (nor is it fixed format: line {other.line} {other})", error.line) from None
        except LineError as other:
            raise (other if other.line > error.line else error) from None


class _LayoutError(LineError):
    """A line does not have the columns of fixed format; the message goes behind what is wrong with its words."""


@dataclass
class _Lines:
    """The words of those lines of a section that are not blank.

    Attributes
    ----------
    words : list of bytes
    first, counts, numbers : ndarray
        For each line: its first word, how many it has, and its number in the file.
    """

    words: list[bytes]
    first: np.ndarray
    counts: np.ndarray
    numbers: np.ndarray

    def __iter__(self) -> Iterator[tuple[int, list[bytes]]]:
        words = self.words
        for number, first, count in zip(self.numbers.tolist(), self.first.tolist(), self.counts.tolist(), strict=True):
            yield number, words[first : first + count]


class _Sections:
    """An MPS file taken apart.

    Parameters
    ----------
    source : Source
    fixed : bool
        Whether fields are columns, so that names may hold spaces, or words.

    Attributes
    ----------
    name : str
    free : bool
        Whether the NAME line says that the format is free.
    sense : {"min", "max"}
    objective : str
        Name of the objective row, empty if it is the first of type N.
    comments : list of str
        The comments before the rows, without their mark.
    lines : dict
        For each section the number of its title's line, and where the text below begins and ends.
    """

    def __init__(self, source: Source, fixed: bool = False) -> None:
        self.source, self.fixed = source, fixed
        self.text = source.content if source.content.endswith(b"\n") else source.content + b"\n"
        self.name, self.objective, self.free = "", "", False
        self.sense: Sense = "min"
        self.lines: dict[str, tuple[int, int, int]] = {}

        titles = [found.start() + 1 for found in _TITLE.finditer(self.text)]
        if self.text[:1] not in b" \t\n*":
            titles.insert(0, 0)
        head = self.text[: titles[0]] if titles else self.text
        for k, line in enumerate(head.split(b"\n")):
            if line.strip() and not line.startswith(b"*"):
                raise source.fault(k + 1, "expected a section of MPS, such as NAME or ROWS, in the first column")
        if not titles:
            raise source.fault(source.last_line, "the file ends without any section of MPS; it was cut off")
        self._find(titles)
        if "ENDATA" not in self.lines:
            raise source.fault(source.last_line, "the file ends without ENDATA; it was cut off")
        head = self.text[: self.lines["ROWS"][1]]
        self.comments = [line[1:].strip().decode() for line in head.split(b"\n") if line.startswith(b"*")]

    def _find(self, titles: list[int]) -> None:
        """Check the titles, note the lines of each section, and read what stands before the rows."""
        title, beyond, number, last = "", 0, 1, 0
        senses = []
        for start, stop in pairwise([*titles, len(self.text)]):
            number, last = number + self.text.count(b"\n", last, start), start
            begin = self.text.index(b"\n", start) + 1
            line = self.text[start:begin]
            words = line.split()
            data = [(number, words[1:])] if len(words) > 1 else []
            if title == "OBJSENSE" and len(words) == 1 and words[0].upper() in _SENSES:  # not moved in
                data = [(number, words)]
            else:
                previous, title = title, words[0].decode().upper()
                if previous == "ENDATA" and title not in _ORDER and title not in _REFUSED:
                    beyond, title = beyond or number, previous
                    continue
                self._check(title, previous, number)
            self.lines[title] = (number, begin, stop)
            if title == "NAME":
                self.free = len(words) > 1 and words[-1].upper() == b"FREE"
                rest = line.strip()[4:].strip()
                self.name = (rest[:-4] if self.free else rest).strip().decode()
                data = []
            if _ORDER[title] < 2 or title == "ENDATA":
                data += self.words(title)
            for at, found in data:
                if title == "OBJSENSE" and len(found) == 1:
                    senses.append((at, found[0].upper()))
                elif title == "OBJNAME" and len(found) == 1 and not self.objective:
                    self.objective = found[0].decode()
                else:
                    alone = f"expected {title} alone on its line; lines of data begin with a space"
                    raise self.source.fault(at, alone if at == number else f"unexpected after {title}")
        for at, word in senses:
            if word not in _SENSES or len(senses) > 1:
                raise self.source.fault(at, "expected one word, MAX or MIN, in OBJSENSE")
            self.sense = _SENSES[word]
        if beyond:
            self.source.warn(f"line {beyond}: what stands after ENDATA is no part of the program and is not read")

    def _check(self, title: str, previous: str, number: int) -> None:
        """Raise when a section cannot stand in line ``number``."""
        order = _ORDER.get(title, 0)
        absent = [name for name in ("ROWS", "COLUMNS") if order > _ORDER[name] and name not in self.lines]
        if title in _REFUSED:
            problem = f"section {title} says what no linear or mixed-integer program can"
        elif not order:
            problem = f"unknown section{hint(title, _ORDER)}; lines of data begin with a space"
        elif title in self.lines:
            problem = f"a second section {title}; the first is in line {self.lines[title][0]}"
        elif order < _ORDER.get(previous, 0):
            problem = f"section {title} stands after {previous}; expected it before"
        elif absent:
            problem = f"section {title} without a section {absent[0]} before it"
        else:
            return
        raise self.source.fault(number, problem)

    def words(self, title: str) -> _Lines:
        """Return the words of a section, without comments."""
        return next(self.pieces(title, len(self.text)))

    def pieces(self, title: str, size: int = PIECE) -> Iterator[_Lines]:
        """Yield the words of a section, without comments, piece by piece; all at once in fixed format."""
        number, begin, end = self.lines.get(title, (0, 0, 0))
        by_columns = self.fixed and _ORDER[title] > 1
        while True:
            stop = end if by_columns else self.text.find(b"\n", begin + size, end) + 1 or end
            text = self.text[begin:stop]
            yield self._words(text, number + 1, by_columns)
            if stop == end:
                return
            number, begin = number + text.count(b"\n"), stop

    def line(self, number: int) -> list[bytes]:
        """Return the words of one line of data."""
        return self._words(self.text.split(b"\n", number)[number - 1], number, self.fixed).words

    def _words(self, text: bytes, begin: int, by_columns: bool) -> _Lines:
        """Return the words of lines, of which the first has the number ``begin``."""
        if b"*" in text:
            text = _COMMENT.sub(b"", text)
        if b"$" in text:
            text = _DOLLAR.sub(rb"\1", text)
        if by_columns:
            found = [self._fields(line, begin + k) for k, line in enumerate(text.split(b"\n"))]
            words = [word for line in found for word in line]
            counts = np.array([len(line) for line in found], dtype=np.int64)
        else:
            words = text.split()
            codes = np.frombuffer(text, dtype=np.uint8)
            black = codes > ord(" ")
            begins = np.flatnonzero(black[1:] > black[:-1])  # of words; the text begins with the end of the title
            ends = np.flatnonzero(codes == ord("\n"))
            counts = np.diff(np.searchsorted(begins, ends), prepend=0)
        used = np.flatnonzero(counts)
        return _Lines(words, (np.cumsum(counts) - counts)[used], counts[used], used + begin)

    def _fields(self, line: bytes, number: int) -> list[bytes]:
        """Return the fields of a line in fixed format that are not blank."""
        text = line.decode()
        if "\t" in text or any(text[a:b].strip(" ") for a, b in _GAPS):
            raise _LayoutError("has text outside the columns 2-3, 5-12, 15-22, 25-36, 40-47 and 50-61", number)
        return [field.encode() for a, b in _FIELDS if (field := text[a:b].strip(" "))]


@dataclass
class _Entries:
    """What COLUMNS, RHS or RANGES says of rows.

    Attributes
    ----------
    rows, values, numbers : ndarray
        For each entry: its row, -1 where none has that name, its value, and the number of its line.
    names : list of str
    begins : ndarray
        The first words of lines, each as long as it stays the same, and the entries where they begin.
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


class _Reader:
    """One pass over the sections of a file."""

    def __init__(self, sections: _Sections) -> None:
        self.sections, self.source, self.semicontinuous = sections, sections.source, dict[int, int]()
        self.exact = is_ours(sections.comments) is not None

    def parse(self) -> Parsed:
        """Return what the file says."""
        source, sections = self.source, self.sections
        self._rows()
        self._columns()
        self._right_hand_sides()
        self._ranges()
        self._bounds()
        kept = self.kept
        lower, upper, numbers = self.row_lower[kept], self.row_upper[kept], self.row_lines[kept]
        names = b"\n".join(compress(self.row_of, kept.tolist())).decode().split("\n") if kept.any() else []
        columns, ends = self.columns, (self.lower, self.upper)
        settle(source, lower, upper, lambda i: f"row {shown(names[i])}", numbers, self.exact)
        settle(source, *ends, lambda j: f"column {shown(columns[j])}", self.column_lines, self.exact)
        sense = sections.sense
        if sense == "min" and "OBJSENSE" not in sections.lines and "SENSE:Maximize" in sections.comments[:1]:
            sense = "max"
            source.warn("PuLP's comment says that the objective is maximised, which other readers ignore")
        parsed = Parsed(
            sections.name, sense, self.offset, self.c, self.A, lower, upper, self.lower, self.upper, self.whole, names,
            self.columns, sections.comments)  # fmt: skip
        return zero_or_more(source, parsed, self.semicontinuous)

    def _refuse(self, wrong: np.ndarray, numbers: np.ndarray, problem: Callable[[int], str]) -> None:
        """Raise for the first of the lines of these numbers that is wrong."""
        if wrong.any():
            i = int(wrong.argmax())
            raise self.source.fault(int(numbers[i]), problem(i))

    def _count(self, lines: _Lines, counts: tuple[int, ...], what: str) -> None:
        """Raise unless all lines have so many words."""
        wrong = np.all([lines.counts != count for count in counts], axis=0)
        self._refuse(wrong, lines.numbers, lambda i: f"expected {what}; found {lines.counts[i]} words")

    def _rows(self) -> None:
        """Read ROWS; the first row of type N is the objective, others are dropped."""
        lines = self.sections.words("ROWS")
        self._count(lines, (2,), "type and name of a row")
        self.kinds = np.array([kind.upper() for kind in lines.words[::2]], dtype=bytes)
        wrong = ~np.isin(self.kinds, [b"N", b"L", b"G", b"E"])
        self._refuse(wrong, lines.numbers, lambda _: "expected a row of type N, L, G or E")
        names, self.row_lines = lines.words[1::2], lines.numbers.copy()
        self.row_of = dict(zip(names, range(len(names)), strict=True))
        if len(self.row_of) < len(names):
            first: dict[bytes, int] = {}
            for number, name in zip(lines.numbers.tolist(), names, strict=True):
                if first.setdefault(name, number) != number:
                    problem = f"a second row {shown(name.decode())}; the first is in line {first[name]}"
                    raise self.source.fault(number, problem)
        self.kept = self.kinds != b"N"
        self.cost_row = int(self.kept.argmin()) if not self.kept.all() else -1
        if objective := self.sections.objective:
            self.cost_row = self.row_of.get(objective.encode(), -1)
            if self.cost_row < 0 or self.kept[self.cost_row]:
                number = self.sections.lines["OBJNAME"][0]
                raise self.source.fault(number, f"no row of type N is called {shown(objective)}")

    def _columns(self) -> None:
        """Read COLUMNS: entries, costs, and which columns are integer."""
        found = self._entries("COLUMNS", (3, 5), "column, row and number, or column and two of each")
        self._markers(found)
        self.columns, numbers, begins, n = found.names, found.numbers, found.begins, len(found.names)
        of = np.repeat(np.arange(n), np.diff(begins, append=len(numbers)))
        again = pd.Index(found.names if len({*found.names}) < n else range(n)).duplicated()[of]
        moved = np.diff(found.inside, prepend=found.inside[:1]) != 0
        moved[begins] = False
        for wrong, problem in (
            (again, "has entries before; expected all of them together"),
            (moved, "has entries before and after a marker"),
        ):
            said = "column {} " + problem
            self._refuse(wrong, numbers, lambda i, said=said: said.format(shown(found.names[of[i]])))  # type: ignore[misc]
        self.column_lines, self.whole = numbers[begins], found.inside[begins]

        order = self._checked(found, of)
        rows, values = found.rows[order], found.values[order]
        self.c = np.zeros(n)
        costs = rows == self.cost_row
        self.c[of[costs]] = values[costs] + 0.0
        stays = self.kept[rows] & (values != 0)
        position = (np.cumsum(self.kept) - 1).astype(np.int32)
        starts = np.concatenate(([0], np.cumsum(np.bincount(of[stays], minlength=n)))).astype(np.int32)
        shape = (int(self.kept.sum()), n)
        self.A: csc_array[Any] = csc_array((values[stays], position[rows[stays]], starts), shape=shape)

    def _markers(self, found: _Entries) -> None:
        """Raise unless every second marker ends what the one before it began; the end of COLUMNS ends the last."""
        odd = np.arange(len(found.marks)) % 2
        expected = np.array([b"'INTORG'", b"'INTEND'"], dtype=object)[odd]
        ends = ("'INTORG'", "'INTEND', which ends what 'INTORG' began")
        self._refuse(found.marks != expected, found.mark_numbers, lambda i: f"expected the marker {ends[i % 2]}")
        if len(odd) % 2:
            self.source.warn("no marker 'INTEND' follows the last 'INTORG'; all columns behind it are integer")

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
        kinds, widths = self.kinds[rows], np.abs(values)
        if (kinds == b"N").any():
            raise self.source.fault(int(self.row_lines[rows[kinds == b"N"][0]]), "a row of type N has no range")
        down = (kinds == b"L") | ((kinds == b"E") & (values < 0))
        low, high = self.row_lower, self.row_upper
        with np.errstate(over="ignore"):
            low[rows[down]] = high[rows[down]] - widths[down]
            high[rows[~down]] = low[rows[~down]] + widths[~down]
        if not self.exact:
            return
        given = dict(zip(rows.tolist(), widths.tolist(), strict=True))
        for name, text in _EXACT.findall(self.sections.text, *self.sections.lines.get("RANGES", (0, 0, 0))[1:]):
            row = self.row_of.get(name, -1)
            if row in given:
                a, b = (float(text), high[row]) if self.kinds[row] == b"L" else (low[row], float(text))
                if b - a == given[row]:  # else it is left from an earlier version of the line
                    low[row], high[row] = a, b

    def _vector(self, title: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and numbers of RHS or RANGES; the name of the vector may be missing."""
        expected = "the section's vector, row and number, or that and one more row and number"
        found = self._entries(title, (2, 3, 4, 5), expected)
        if names := found.names[1:]:
            raise self.source.fault(int(found.numbers[found.begins[1]]), two_vectors(names[0], found.names[0]))
        self._checked(found)
        self.row_lines[found.rows] = found.numbers
        return found.rows, found.values

    def _bounds(self) -> None:
        """Read BOUNDS; see ``docs/model-files.md`` for what the types mean."""
        fault, columns, n = self.source.fault, self.columns, len(self.columns)
        known = "\n".join(columns).encode().split(b"\n") if "BOUNDS" in self.sections.lines else ()
        column_of = dict(zip(known, range(n), strict=False))
        bounds = {"lower": [0.0] * n, "upper": [np.inf] * n}
        seen = {"lower": [0] * n, "upper": [0] * n}
        vector = b""
        for number, words in chain.from_iterable(self.sections.pieces("BOUNDS")):
            kind, size = words[0].upper(), len(words)
            sides, whole = _BOUNDS.get(kind, ({}, False))
            valued = _GIVEN in sides.values()
            if not sides or not 2 + valued <= size <= 4:
                raise fault(number, f"expected {_TYPES}, the section's vector, and a column")
            place = size - 2
            if not valued:
                place = 1 if size == 2 or (size == 3 and words[2] not in column_of and words[1] in column_of) else 2
            j = column_of.get(words[place], -1)
            if j < 0:
                name = words[place].decode()
                raise fault(number, f"no column is called {shown(name)}{hint(name, columns)}")
            if place == 2 and (vector := vector or words[1]) != words[1]:
                raise fault(number, two_vectors(words[1].decode(), vector.decode()))
            for side, value in sides.items():
                if seen[side][j]:
                    raise fault(number, f"the {side} bound of {shown(columns[j])} was given in line {seen[side][j]}")
                seen[side][j] = number
                bounds[side][j] = self._bound(words[-1], number) if value is _GIVEN else value
            if whole:
                self.whole[j] = 1
            if kind == b"SC":
                self.semicontinuous[j] = number
        self.lower, self.upper = (np.array(values, dtype=float) for values in bounds.values())
        has_lower, has_upper = (np.array(lines, dtype=np.int64) for lines in seen.values())
        self.upper[(self.whole == 1) & (has_lower == 0) & (has_upper == 0)] = 1.0
        below = np.flatnonzero((self.upper < 0) & (has_lower == 0))
        if below.size:
            self.lower[below] = -np.inf
            self.source.warn(
                f"line {has_upper[below[0]]}: column {shown(columns[below[0]])} has a negative upper bound, no lower, "
                f"which is taken as -inf, as CPLEX and COIN do; HiGHS, GLPK and SCIP take it as 0 ({below.size} such)"
            )
        last = np.maximum(has_lower, has_upper)
        self.column_lines = np.where(last > 0, last, self.column_lines)

    def _bound(self, text: bytes, number: int) -> float:
        value = number_in(text)
        if not isfinite(value) and not _INFINITE.fullmatch(text):
            raise self.source.fault(number, f"expected a number as bound instead of {shown(text.decode())}")
        return value + 0.0

    def _entries(self, title: str, sizes: tuple[int, ...], what: str) -> _Entries:
        """Return the entries of a section; its lines have one of these numbers of words."""
        parts, names, size, count = [], [], 0, 0
        last: Any = None
        marked = title == "COLUMNS" and b"'MARKER'" in self.sections.text
        for lines in self.sections.pieces(title):
            self._count(lines, sizes, what)
            words = np.array(lines.words, dtype=object)
            first, odd, pairs = lines.first, lines.counts % 2, lines.counts // 2
            if marked:
                pairs[(lines.counts == 3) & (words[first + 1] == b"'MARKER'")] = 0
            before = size + np.cumsum(pairs) - pairs
            marks = np.flatnonzero(pairs == 0)
            inside = np.repeat((count + np.cumsum(pairs == 0)) % 2, pairs).astype(np.uint8)
            count += len(marks)
            named = np.flatnonzero(odd & (pairs > 0))
            heads = words[first[named]]
            changes = heads != np.append(last, heads)[:-1]
            last = np.append(last, heads)[-1]
            at = np.repeat(first + odd, pairs)
            at[1:] += 2 * (np.diff(at) == 0)  # the second row of a line
            rows = np.fromiter(map(self.row_of.get, words[at].tolist(), repeat(-1)), dtype=np.int32, count=len(at))
            values, numbers = numbers_in(words[at + 1].tolist()), np.repeat(lines.numbers, pairs).astype(np.int32)
            said = lines.numbers[marks], words[first[marks] + 2]
            parts.append((rows, values, numbers, before[named[changes]], inside, *said))
            # words that stayed where they are would leave gaps in memory, which are slow to fill again
            names.append(b"\n".join([*heads[changes].tolist(), b""]))
            size += len(at)
        return _Entries(b"".join(names).decode().split("\n")[:-1], *map(np.concatenate, zip(*parts, strict=True)))

    def _checked(self, found: _Entries, of: np.ndarray | int = 0) -> np.ndarray | slice:
        """Return the order by column and row; raise when a row is unknown, a number none, or a row there twice."""
        rows, numbers = found.rows, found.numbers

        def word(i: int, behind: int = 0) -> str:
            words = self.sections.line(int(numbers[i]))
            return words[len(words) % 2 + 2 * (i - int(np.searchsorted(numbers, numbers[i]))) + behind].decode()

        known = map(bytes.decode, self.row_of)
        self._refuse(rows < 0, numbers, lambda i: f"no row is called {shown(word(i))}{hint(word(i), [*known])}")
        self._refuse(
            ~np.isfinite(found.values), numbers, lambda i: f"expected a finite number instead of {shown(word(i, 1))}"
        )
        place = of * max(len(self.kinds), 1) + rows
        if (np.diff(place) > 0).all():  # without copies of millions of numbers
            return slice(None)
        order = np.argsort(place, kind="stable")
        again = np.zeros(len(order), dtype=bool)
        again[order[1:]] = np.diff(place[order]) == 0
        self._refuse(again, numbers, lambda i: f"a second number for row {shown(word(i))}")
        return order


Profile = Literal["portable", "full", "fixed"]
_PROFILES: Final = ("portable", "full", "fixed")
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


_FREE: Final = _Layout()
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
    program: Program, path_or_file: Target, *, profile: Profile = "portable", names: Names = "labels"
) -> list[Path]:
    """Write a Program as MPS.

    Parameters
    ----------
    program : Program
    path_or_file : path or file object
        A path ending in ``.gz`` is compressed. A path is written whole or not at all.
    profile : {"portable", "full", "fixed"}
        ``portable`` uses only what HiGHS, GLPK, SCIP and COIN read alike. GLPK refuses an OBJSENSE section and COIN
        ignores it, so the model is always a minimisation, with the objective negated where it was to be maximised;
        GLPK reads a constant in the RHS section with the opposite sign, so the constant is the cost of a last column
        fixed at 1. ``full`` keeps both: OBJSENSE, and minus the constant as right-hand side of the objective.
        ``fixed`` is ``portable`` on the columns of the oldest readers: names of 8 characters, ``R0000001`` and
        ``C0000001``, explained in the side file, and numbers of 12 characters, rounded where they need more.
    names : {"labels", "numbers"}
        Names from blocks and labels, ``capacity.server3.cpu``, or positions in the Program, ``r7`` and ``c12``.

    Returns
    -------
    list of Path
        The files written: the model, and ``<path>.names.json`` if names had to be changed; none for a file object.

    Raises
    ------
    ModelError
        If the objective has logarithms, a lower bound is above the upper one, the bounds of a row differ by more
        than the largest number, or there are too many names for ``fixed``.

    Notes
    -----
    Numbers are the shortest decimals that read back exactly. Rows without any bound are left out: readers drop them.
    A row with two bounds is one bound and a RANGES entry, the difference; where no double is the exact difference,
    solvers read the bound of larger size off by its last bit, and a comment gives it to
    :func:`fairlp.models.files.programs.read_program`. GLPK reads fractional bounds of integer columns, but does not
    solve such models.
    """
    require_known(profile, _PROFILES, f"no MPS profile is called {profile!r}")
    check_writable(program, "MPS")
    use = fixed_naming(program) if profile == "fixed" else naming(program, names)
    kept = bounded_rows(program)
    written = {use.rows[i] for i in np.flatnonzero(kept).tolist()}
    row_map = {name: entry for name, entry in use.row_map.items() if name in written}
    return write_model(path_or_file, _parts(program, use, kept, profile), row_map, use.column_map)


def _parts(program: Program, use: Naming, kept: np.ndarray, profile: Profile) -> Iterator[str]:
    """Yield the file, section by section."""
    layout = _FIXED if profile == "fixed" else _FREE
    full, maximised = profile == "full", program.sense == "max"
    sign = -1.0 if maximised and not full else 1.0
    constant = sign * program.offset
    extra = use.constant if constant and not full else None
    kinds, sides, widths = _rows(program, rounded=profile == "fixed")

    head = about(program)
    if sign < 0:
        head.append("objective: NEGATED. The model maximises; this file minimises minus its objective.")
    elif maximised:
        head.append("objective: maximised, see OBJSENSE")
    if extra is not None:
        head.append(f"The objective's constant is the cost of column {extra}, which is fixed at 1.")
    elif constant:
        head.append("The objective's constant is minus the right-hand side of the objective row.")
    head += left_out(kept)
    if profile == "fixed":
        head.append("Names are numbers; the file with .names.json after its name says what they stand for.")
        rounded = sum(
            int((np.array(short_decimals(array), dtype=float) != array).sum())
            for array in (program.A.data, program.c, sides, widths, program.col_lower, program.col_upper)
        )
        head.append(f"Numbers rounded to {FIXED_NUMBER} characters: {rounded}.")
    # COIN reads free MPS only when the NAME line says so; others ignore the word
    yield comment("*", head) + layout.name % clean(program.name)[: layout.longest_name]
    if full and maximised:
        yield "OBJSENSE\n    MAX\n"

    which = np.flatnonzero(kept).tolist()
    objective = layout.row % ("N", use.objective)
    yield f"ROWS\n{objective}" + "".join(layout.row % (kinds[i], use.rows[i]) for i in which)
    yield "COLUMNS\n"
    yield from _columns(program, use, kept, sign, layout)
    (cost,) = layout.numbers(np.array([-constant if full else constant]))
    if extra is not None:
        yield layout.entry % (extra, use.objective, cost)

    texts = layout.numbers(sides)
    right = "".join(layout.entry % ("RHS", use.rows[i], texts[i]) for i in which if sides[i])
    if constant and full:
        right = layout.entry % ("RHS", use.objective, cost) + right
    yield f"RHS\n{right}"
    ranged = np.flatnonzero(widths).tolist()
    if ranged:
        yield "RANGES\n" + "".join(_ranges(program, use.rows, kinds, widths, ranged, layout))
    bounds = "".join(_bounds(program, use.columns, layout))
    if extra is not None:
        bounds += layout.bound % ("FX", extra, 1)
    if bounds:
        yield f"BOUNDS\n{bounds}"
    yield "ENDATA\n"


def _rows(program: Program, rounded: bool) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return type, right-hand side, and width (zero without a range) of every row."""
    lower, upper = program.row_lower, program.row_upper
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    both = has_lower & has_upper
    widths = np.zeros(len(lower))
    with np.errstate(over="ignore"):
        widths[both] = upper[both] - lower[both]
    if np.isinf(widths).any():
        i = int(np.isinf(widths).argmax())
        raise ModelError(
            f"program {program.name!r}: row {program.row_names[i]!r} has the bounds {lower[i]} and {upper[i]}, and MPS "
            "cannot say a difference that large; leave out a bound that means none, or write an LP file"
        )
    # A reader computes the other bound from the difference: take the side from which it comes out exactly, else the
    # smaller one, from which the other is off by its last bit at most (and by rounding, where numbers are rounded).
    low, high = np.where(both, lower, 0.0), np.where(both, upper, 0.0)
    smaller = np.abs(high) < np.abs(low)
    from_upper = both & (smaller if rounded else (low + widths != high) & ((high - widths == low) | smaller))
    equal = lower == upper
    kinds = np.where(equal, "E", np.where(has_lower & ~from_upper, "G", "L")).tolist()
    sides = np.where(has_lower & ~from_upper, lower, np.where(has_upper, upper, 0.0))
    return kinds, sides, widths


def _ranges(
    program: Program, names: list[str], kinds: list[str], widths: np.ndarray, which: list[int], layout: _Layout
) -> Iterator[str]:
    """Yield the lines of the RANGES section, and in comments the bounds that they give only nearly."""
    texts = layout.numbers(widths)
    for i in which:
        low, high = program.row_lower[i], program.row_upper[i]
        given, other = (low + widths[i], high) if kinds[i] == "G" else (high - widths[i], low)
        yield layout.entry % ("RNG", names[i], texts[i])
        if given != other:
            yield f"* {names[i]}: the other bound is exactly {decimal(other)}\n"


def _columns(program: Program, use: Naming, kept: np.ndarray, sign: float, layout: _Layout) -> Iterator[str]:
    """Yield the COLUMNS section: cost, then rows in order; markers around runs of integer columns."""
    n, entries = program.n_columns, program.A.tocoo(copy=False)
    rows, of, values = entries.row, entries.col, entries.data
    if not kept.all():
        stays = kept[rows]
        rows, of, values = rows[stays], of[stays], values[stays]
    counts = np.bincount(of, minlength=n)
    starts = np.concatenate(([0], np.cumsum(counts)))
    costs = sign * program.c
    # a column without any entry would not exist: it gets a cost of zero
    priced = np.flatnonzero((costs != 0) | (counts == 0))
    at = starts[priced]
    names = np.array([*use.rows, use.objective], dtype=object)
    rows = np.insert(rows, at, len(use.rows))
    values = np.insert(values, at, costs[priced])
    of = np.insert(of, at, priced)
    columns = np.array(use.columns, dtype=object)
    given = zip(columns[of].tolist(), names[rows].tolist(), layout.numbers(values), strict=True)
    lines = map(layout.entry.__mod__, given)
    whole = program.integrality.astype(bool)
    runs = np.concatenate(([0], np.flatnonzero(np.diff(whole)) + 1))
    cuts = np.searchsorted(of, [*runs.tolist(), n]).tolist()
    for run, start, stop in zip(runs.tolist(), cuts, cuts[1:], strict=False):
        markers = [layout.marker % kind for kind in ("INTORG", "INTEND") if whole[run : run + 1].any()]
        yield from markers[:1]
        for begin in range(start, stop, _PIECE):
            yield "".join(islice(lines, min(_PIECE, stop - begin)))
        yield from markers[1:]


def _bounds(program: Program, names: list[str], layout: _Layout) -> Iterator[str]:
    """Yield the lines of the BOUNDS section for all but continuous columns on [0, inf).

    Readers differ in the upper bound of an integer column that has none, and in the lower bound that a negative upper
    bound implies: both are always written, the lower one first. (0 below 0 is a fixed column.)
    """
    lower, upper, whole = program.col_lower, program.col_upper, program.integrality.astype(bool)
    which = np.flatnonzero(whole | (lower != 0) | (upper != np.inf))
    finite = [np.where(np.isfinite(bounds[which]), bounds[which], 0.0) for bounds in (lower, upper)]
    rest = zip(which.tolist(), *map(layout.numbers, finite), strict=True)
    for j, low, high in rest:
        name, has_lower, has_upper = names[j], lower[j] != -np.inf, upper[j] != np.inf
        if lower[j] == upper[j]:
            yield layout.bound % ("FX", name, low)
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
