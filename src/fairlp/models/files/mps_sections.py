"""An MPS file taken apart: its sections, in order, and the words of their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from ..programs.program import Sense
from .model_text import PIECE, LineError, Source, hint

#: Where sections stand: each after those of smaller numbers.
_ORDER: Final = {
    "NAME": 1, "OBJSENSE": 1, "OBJNAME": 1, "ROWS": 2, "COLUMNS": 3, "RHS": 4, "RANGES": 4, "BOUNDS": 4,
    "SOS": 4, "SOS1": 4, "SOS2": 4, "INDICATORS": 4, "ENDATA": 5,
}  # fmt: skip
_SENSES: Final[dict[bytes, Sense]] = {
    b"MAX": "max", b"MAXIMIZE": "max", b"MAXIMISE": "max", b"MIN": "min", b"MINIMIZE": "min", b"MINIMISE": "min",
}  # fmt: skip
_REFUSED: Final = (
    "QUADOBJ", "QMATRIX", "QSECTION", "QCMATRIX", "CSECTION", "SETS", "LAZYCONS",
    "USERCUTS", "DELAYEDROWS", "MODELCUTS", "GENCONS", "PWLOBJ", "SCENARIOS",
)  # fmt: skip
#: Columns of the six fields of fixed format, from zero, and the gaps around them.
_FIELDS: Final = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_GAPS: Final = ((0, 1), (3, 4), (12, 14), (22, 24), (36, 39), (47, 49), (61, None))
_TITLE = re.compile(rb"\n[^ \t\n*]")
_COMMENT = re.compile(rb"^\*[^\n]*", re.M)
# a word that begins with $ begins a comment, unless it is the first of its line
_DOLLAR = re.compile(rb"^([ \t]*[^ \t\n][^\n]*?)[ \t]\$[^\n]*", re.M)


class LayoutError(LineError):
    """A line has text outside the columns of fixed format."""


@dataclass
class MpsLines:
    """The words of those lines of a section that are not blank.

    Attributes
    ----------
    tokens : list of bytes
    first, counts, numbers : ndarray
        For each line: its first word, how many it has, and its number in the file.
    """

    tokens: list[bytes]
    first: np.ndarray
    counts: np.ndarray
    numbers: np.ndarray

    def __iter__(self) -> Iterator[tuple[int, list[bytes]]]:
        tokens = self.tokens
        for number, first, count in zip(
            self.numbers.tolist(), self.first.tolist(), self.counts.tolist(), strict=True
        ):
            yield number, tokens[first : first + count]


def _repeat_names(fields: list[list[bytes]]) -> None:
    """Give lines of COLUMNS that begin with a row the column of the line before.

    GLPK writes and reads such files; a marker stays a line of its own.
    """
    name = b""
    for line in fields:
        if len(line) in (2, 4) and name:
            line.insert(0, name)
        elif line:
            name = line[0]


class MpsSections:
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
        self.source = source
        self.fixed = fixed
        self.text = source.content if source.content.endswith(b"\n") else source.content + b"\n"
        self.name = ""
        self.objective = ""
        self.free = False
        self.sense: Sense = "min"
        self.lines: dict[str, tuple[int, int, int]] = {}

        titles = [match.start() + 1 for match in _TITLE.finditer(self.text)]
        if self.text[:1] not in b" \t\n*":
            titles.insert(0, 0)
        head = self.text[: titles[0]] if titles else self.text
        for k, line in enumerate(head.split(b"\n")):
            if line.strip() and not line.startswith(b"*"):
                raise source.fault(
                    k + 1, "expected a section of MPS, such as NAME or ROWS, in the first column"
                )
        if not titles:
            raise source.fault(
                source.last_line, "the file ends without any section of MPS; it was cut off"
            )
        self._find(titles)
        if "ENDATA" not in self.lines:
            raise source.fault(source.last_line, "the file ends without ENDATA; it was cut off")
        head = self.text[: min(self.lines["ROWS"][1], PIECE)]  # no writer says more
        self.comments = [
            line[1:].strip().decode() for line in head.split(b"\n") if line.startswith(b"*")
        ]

    def _find(self, titles: list[int]) -> None:
        """Check the titles, note each section's lines, and read the sections before the rows."""
        title = ""
        beyond = 0
        number = 1
        last = 0
        senses = []
        for start, stop in pairwise([*titles, len(self.text)]):
            number = number + self.text.count(b"\n", last, start)
            last = start
            data_start = self.text.index(b"\n", start) + 1
            line = self.text[start:data_start]
            tokens = line.split()
            data = [(number, tokens[1:])] if len(tokens) > 1 else []
            if (
                title == "OBJSENSE" and len(tokens) == 1 and tokens[0].upper() in _SENSES
            ):  # not moved in
                data = [(number, tokens)]
            else:
                previous = title
                title = tokens[0].decode().upper()
                if previous == "ENDATA" and title not in _ORDER and title not in _REFUSED:
                    beyond = beyond or number
                    title = previous
                    continue
                # HiGHS reads the sense behind the rows, too, but not from the line of the title
                is_late_sense = title == "OBJSENSE" and "ROWS" in self.lines and len(tokens) == 1
                self._check(title, "" if is_late_sense else self._latest(), number)
            self.lines[title] = (number, data_start, stop)
            if title == "NAME":
                self.free = len(tokens) > 1 and tokens[-1].upper() == b"FREE"
                rest = line.strip()[4:].strip()
                self.name = (rest[:-4] if self.free else rest).strip().decode()
                data = []
            if _ORDER[title] < 2 or title == "ENDATA":
                data += self.tokens(title)
            for line_number, data_tokens in data:
                if title == "OBJSENSE" and len(data_tokens) == 1:
                    senses.append((line_number, data_tokens[0].upper()))
                elif title == "OBJNAME" and len(data_tokens) == 1 and not self.objective:
                    self.objective = data_tokens[0].decode()
                else:
                    problem = (
                        f"expected {title} alone on its line; lines of data begin with a space"
                    )
                    raise self.source.fault(
                        line_number,
                        problem if line_number == number else f"unexpected after {title}",
                    )
        for line_number, sense_token in senses:
            if sense_token not in _SENSES or len(senses) > 1:
                raise self.source.fault(line_number, "expected one word, MAX or MIN, in OBJSENSE")
            self.sense = _SENSES[sense_token]
        if beyond:
            self.source.warn(
                f"line {beyond}: what stands after ENDATA is no part of the program and is not read"
            )

    def _latest(self) -> str:
        """Return the section so far that stands last in the order of sections."""
        return max(reversed(self.lines), key=lambda title: _ORDER[title], default="")

    def _check(self, title: str, previous: str, number: int) -> None:
        """Raise when a section cannot stand in line ``number``, after ``previous``."""
        order = _ORDER.get(title, 0)
        absent = [
            name for name in ("ROWS", "COLUMNS") if order > _ORDER[name] and name not in self.lines
        ]
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

    def tokens(self, title: str) -> MpsLines:
        """Return the words of a section, without comments."""
        return next(self.pieces(title, len(self.text)))

    def pieces(self, title: str, size: int = PIECE) -> Iterator[MpsLines]:
        """Yield the words of a section in pieces, without comments; fixed format in one piece."""
        number, start, end = self.lines.get(title, (0, 0, 0))
        by_columns = self.fixed and _ORDER[title] > 1
        while True:
            stop = end if by_columns else self.text.find(b"\n", start + size, end) + 1 or end
            text = self.text[start:stop]
            yield self._tokens(text, number + 1, by_columns, title)
            if stop == end:
                return
            number = number + text.count(b"\n")
            start = stop

    def line(self, number: int) -> list[bytes]:
        """Return the words of one line of data."""
        return self._tokens(self.text.split(b"\n", number)[number - 1], number, self.fixed).tokens

    def _tokens(self, text: bytes, first_line: int, by_columns: bool, title: str = "") -> MpsLines:
        """Return the words of lines, of which the first has the number ``first_line``."""
        if b"*" in text:
            text = _COMMENT.sub(b"", text)
        if b"$" in text:
            text = _DOLLAR.sub(rb"\1", text)
        if by_columns:
            fields = [
                self._fields(line, first_line + k) for k, line in enumerate(text.split(b"\n"))
            ]
            if title == "COLUMNS":
                _repeat_names(fields)
            tokens = [token for line in fields for token in line]
            counts = np.array([len(line) for line in fields], dtype=np.int64)
        else:
            tokens = text.split()
            codes = np.frombuffer(text, dtype=np.uint8)
            black = codes > ord(" ")
            starts = np.flatnonzero(
                black[1:] > black[:-1]
            )  # of words; the text begins with the end of the title
            ends = np.flatnonzero(codes == ord("\n"))
            counts = np.diff(np.searchsorted(starts, ends), prepend=0)
        used = np.flatnonzero(counts)
        return MpsLines(tokens, (np.cumsum(counts) - counts)[used], counts[used], used + first_line)

    def _fields(self, line: bytes, number: int) -> list[bytes]:
        """Return the fields of a line in fixed format that are not blank."""
        text = line.decode()
        in_gaps = [text[a:b].strip(" ") for a, b in _GAPS]
        if "\t" in text or any(in_gaps):
            raise LayoutError(
                "has text outside the columns 2-3, 5-12, 15-22, 25-36, 40-47 and 50-61", number
            )
        fields = [text[a:b].strip(" ") for a, b in _FIELDS]
        return [field.encode() for field in fields if field]
