"""The sections of an MPS file: their titles and order, and the words of their lines, in free or fixed format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ..programs.program import Sense
from .source import LineError, Source, hint

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
#: Columns of the six fields of fixed format, from zero.
_FIELDS: Final = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_COMMENT = re.compile(rb"^\*[^\n]*", re.M)
# a word that begins with $ begins a comment, unless it is the first of its line
_DOLLAR = re.compile(rb"^([ \t]*[^ \t\n][^\n]*?)[ \t]\$[^\n]*", re.M)


class LayoutError(LineError):
    """A line does not have the columns of fixed format; the message goes behind what is wrong with its words."""


@dataclass
class Lines:
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

    @cached_property
    def array(self) -> np.ndarray:
        """The words, and an empty one behind them."""
        return np.array([*self.words, b""], dtype=object)

    def numbers_of(self, words: np.ndarray) -> np.ndarray:
        """Return the numbers of the lines in which words stand, given by their positions."""
        found: np.ndarray = self.numbers[np.searchsorted(self.first, words, side="right") - 1]
        return found

    def number_of(self, word: int) -> int:
        """Return the number of the line in which a word stands."""
        return int(self.numbers_of(np.array([word]))[0])

    def __iter__(self) -> Iterator[tuple[int, list[bytes]]]:
        words = self.words
        for number, first, count in zip(self.numbers.tolist(), self.first.tolist(), self.counts.tolist(), strict=True):
            yield number, words[first : first + count]


class Sections:
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
        For each section the line of its title, and the last of its lines.
    """

    def __init__(self, source: Source, fixed: bool = False) -> None:
        self.source, self.fixed = source, fixed
        self.text = source.content if source.content.endswith(b"\n") else source.content + b"\n"
        codes = np.frombuffer(self.text, dtype=np.uint8)
        self._ends = np.flatnonzero(codes == ord("\n")) + 1
        self._starts = np.concatenate(([0], self._ends[:-1]))
        self.name, self.objective, self.free = "", "", False
        self.sense: Sense = "min"
        self.lines: dict[str, tuple[int, int]] = {}

        titles = np.flatnonzero(~np.isin(codes[self._starts], np.frombuffer(b" \t\n*", dtype=np.uint8))).tolist()
        stop = titles[0] if titles else len(self._starts)
        head = self.text[: self._ends[stop - 1]] if stop else b""
        for k, line in enumerate(head.split(b"\n")):
            if line.strip() and not line.startswith(b"*"):
                raise source.fault(k + 1, "expected a section of MPS, such as NAME or ROWS, in the first column")
        if not titles:
            raise source.fault(source.last_line, "the file ends without any section of MPS; it was cut off")
        senses = self._find(titles)
        if "ENDATA" not in self.lines:
            raise source.fault(source.last_line, "the file ends without ENDATA; it was cut off")
        for number, word in senses:
            if word.upper() not in _SENSES or len(senses) > 1:
                raise source.fault(number, "expected one word, MAX or MIN, in OBJSENSE")
            self.sense = _SENSES[word.upper()]
        head = self.text[: self._starts[self.lines["ROWS"][0]]]
        self.comments = [line[1:].strip().decode() for line in head.split(b"\n") if line.startswith(b"*")]

    def _find(self, titles: list[int]) -> list[tuple[int, bytes]]:
        """Check the titles and note the lines of each section; return what OBJSENSE says, and where."""
        source, title, beyond = self.source, "", list[int]()
        senses: list[tuple[int, bytes]] = []
        for i, stop in zip(titles, [*titles[1:], len(self._starts)], strict=True):
            words = self.text[self._starts[i] : self._ends[i]].split()
            if title == "OBJSENSE" and len(words) == 1 and words[0].upper() in _SENSES:  # not moved in
                senses.append((i + 1, words[0]))
                self.lines[title] = (i, stop)
            elif "ENDATA" in self.lines and words[0].decode().upper() not in {*_ORDER, *_REFUSED}:
                beyond.append(i)
            else:
                previous, title = title, words[0].decode().upper()
                self._check(title, previous, i + 1)
                self.lines[title] = (i, stop)
                if title == "NAME":
                    self.free = len(words) > 1 and words[-1].upper() == b"FREE"
                    rest = self.text[self._starts[i] : self._ends[i]].strip()[4:].strip()
                    self.name = (rest[:-4] if self.free else rest).strip().decode()
                elif title == "OBJSENSE" and len(words) == 2:
                    senses.append((i + 1, words[1]))
                elif title == "OBJNAME" and len(words) == 2:
                    self.objective = words[1].decode()
                elif len(words) > 1:
                    raise source.fault(i + 1, f"expected {title} alone on its line; lines of data begin with a space")
            if not beyond and (_ORDER[title] < 2 or title == "ENDATA"):
                for number, found in self.words(title):
                    if title == "OBJSENSE" and len(found) == 1:
                        senses.append((number, found[0]))
                    elif title == "OBJNAME" and len(found) == 1 and not self.objective:
                        self.objective = found[0].decode()
                    else:
                        raise source.fault(number, f"unexpected after {title}")
        if beyond:
            source.warn(f"line {beyond[0] + 1}: what stands after ENDATA is no part of the program and is not read")
        return senses

    def _check(self, title: str, previous: str, number: int) -> None:
        """Raise when a section cannot stand in line ``number``."""
        if title in _REFUSED:
            problem = f"section {title} says what no linear or mixed-integer program can"
        elif title not in _ORDER:
            problem = f"unknown section{hint(title, _ORDER)}; lines of data begin with a space"
        elif title in self.lines:
            problem = f"a second section {title}; the first is in line {self.lines[title][0] + 1}"
        elif _ORDER[title] < _ORDER.get(previous, 0):
            problem = f"section {title} stands after {previous}; expected it before"
        elif _ORDER[title] > 2 and "ROWS" not in self.lines:
            problem = f"section {title} without a section ROWS before it"
        elif _ORDER[title] > 3 and "COLUMNS" not in self.lines:
            problem = f"section {title} without a section COLUMNS before it"
        else:
            return
        raise self.source.fault(number, problem)

    def section(self, title: str) -> bytes:
        """Return the text below a title, empty if there is no such section."""
        start, stop = self.lines.get(title, (0, 0))
        return self.text[self._ends[start] : self._ends[stop - 1]] if start < stop - 1 else b""

    def words(self, title: str) -> Lines:
        """Return the words of a section, without comments."""
        text = self.section(title)
        if not text:
            return Lines([], *(np.zeros(0, dtype=np.int64) for _ in range(3)))
        begin = self.lines[title][0] + 2
        if b"\n*" in text or text.startswith(b"*"):
            text = _COMMENT.sub(b"", text)
        if b"$" in text:
            text = _DOLLAR.sub(rb"\1", text)
        if self.fixed and _ORDER[title] > 1:
            found = [self._fields(line, begin + k) for k, line in enumerate(text.split(b"\n"))]
            words = [word for line in found for word in line]
            counts = np.array([len(line) for line in found], dtype=np.int64)
        else:
            words = text.split()
            codes = np.frombuffer(text, dtype=np.uint8)
            begins = codes > ord(" ")
            begins[1:] &= codes[:-1] <= ord(" ")
            ends = np.flatnonzero(codes == ord("\n"))
            counts = np.diff(np.searchsorted(np.flatnonzero(begins), ends), prepend=0)
        used = np.flatnonzero(counts)
        return Lines(words, (np.cumsum(counts) - counts)[used], counts[used], used + begin)

    def _fields(self, line: bytes, number: int) -> list[bytes]:
        """Return the fields of a line in fixed format that are not blank."""
        text = line.decode()
        gaps = [text[a:b] for (_, a), (b, _) in zip([(0, 0), *_FIELDS[:-1]], _FIELDS, strict=True)]
        if "\t" in text or any(gap.strip(" ") for gap in [*gaps, text[_FIELDS[-1][1] :]]):
            raise LayoutError("has text outside the columns 2-3, 5-12, 15-22, 25-36, 40-47 and 50-61", number)
        return [field.encode() for a, b in _FIELDS if (field := text[a:b].strip(" "))]
