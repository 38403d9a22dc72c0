"""Terms, rows and bounds of LP files in bulk, where blanks stand between words: ``+ 3 x <= 4``.

The functions return None where a text has anything else. The reader in ``lp.py`` then reads it word
by word, and says what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import compress
from typing import Final

import numpy as np

from .model_text import PIECE, numbers_in

_SIGN, _NUMBER, _NAME, _LABEL, _RELATION, _SIDE, _OTHER = range(7)
#: Kind of a word by its first byte; all others begin a name.
_KINDS: Final = np.full(256, _NAME, dtype=np.uint8)
_KINDS[[*b"+-"]] = _SIGN
_KINDS[[*b"0123456789."]] = _NUMBER
_KINDS[[*b"<>="]] = _RELATION
_KINDS[[*b"*^:\\/[]"]] = _OTHER
_RELATIONS: Final = frozenset(["<=", "=<", ">=", "=>", "<", ">", "="])
_NOT_IN_NAMES = re.compile(r"[+\-*^<>=:\\]")
#: What may follow what: kind of the word before, kind of the word, and whether a sign stands before
#: it. The right side of a row, a number, ends it; one stands, as it were, before the first row.
_FOLLOWS: Final = np.zeros((7, 7, 2), dtype=bool)
for _before, _kind, _signed in (
    (_SIDE, _LABEL, False),
    (_SIDE, _NUMBER, False), (_SIDE, _NUMBER, True), (_SIDE, _NAME, False), (_SIDE, _NAME, True),
    (_LABEL, _NUMBER, False), (_LABEL, _NUMBER, True), (_LABEL, _NAME, False), (_LABEL, _NAME, True),
    (_NUMBER, _NAME, False),
    (_NAME, _NUMBER, True), (_NAME, _NAME, True), (_NAME, _RELATION, False),
    (_RELATION, _SIDE, False), (_RELATION, _SIDE, True),
):  # fmt: skip
    _FOLLOWS[_before, _kind, int(_signed)] = True


@dataclass(frozen=True)
class Words:
    """The words of a text.

    Attributes
    ----------
    texts : list of str
    kinds, first, last, starts : ndarray
        For each word its kind, its first and last byte, and its position in the text.
    line_ends : ndarray
        Positions of the ends of lines.
    """

    texts: list[str]
    kinds: np.ndarray
    first: np.ndarray
    last: np.ndarray
    starts: np.ndarray
    line_ends: np.ndarray

    def lines(self, words: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the number of the line of each word, from 0."""
        return np.searchsorted(self.line_ends, self.starts[words])

    def of(self, mask: np.ndarray) -> list[str]:
        """Return the texts of some words."""
        return list(compress(self.texts, mask.tolist()))


@dataclass(frozen=True)
class Rows:
    """What constraints, or an objective, say.

    Attributes
    ----------
    names : list of str
        Empty where a row has none.
    lower, upper, lines : ndarray
        For each row; lines count from 0.
    of, values : ndarray
    variables : list of str
        For each term: its row, coefficient and variable.
    """

    names: list[str]
    lower: np.ndarray
    upper: np.ndarray
    lines: np.ndarray
    of: np.ndarray
    values: np.ndarray
    variables: list[str]


def words_in(text: str) -> Words | None:
    """Return the words of a text, None where it has other characters than ASCII."""
    if not text.isascii():
        return None
    texts = text.split()
    codes = np.frombuffer(f"\n{text}\n".encode(), dtype=np.uint8)
    black = codes > ord(" ")
    edges = np.flatnonzero(black[1:] != black[:-1])
    starts = edges[::2]
    if len(starts) != len(texts):
        return None
    first = codes[1:][starts]
    kinds = _KINDS[first]
    last = codes[edges[1::2]]
    second = codes[2:][starts]
    kinds[(kinds == _SIGN) & (second > ord(" "))] = _OTHER
    kinds[(kinds == _OTHER) & (first < ord(".")) & (_KINDS[second] == _NUMBER)] = _NUMBER
    kinds[(kinds == _NAME) & (last == ord(":"))] = _LABEL
    return Words(texts, kinds, first, last, starts, np.flatnonzero(codes[1:] == ord("\n")))


def end_of_row(text: str, start: int) -> int:
    """Return where the line of the last relation ends, some way behind ``start``."""
    place = max(text.rfind(mark, start, start + PIECE) for mark in "<>=")
    if place < 0:
        match = re.compile("[<>=]").search(text, start + PIECE)
        place = match.start() if match else len(text)
    return text.find("\n", place) + 1 or len(text)


def rows_in(text: str, objective: bool = False) -> Rows | None:
    """Return the rows of a text, or the terms of an objective."""
    words = words_in(text)
    if words is None or not words.texts:
        return None
    is_sign = words.kinds == _SIGN
    if is_sign[-1] or (is_sign[1:] & is_sign[:-1]).any():
        return None

    # a sign alone belongs to the word behind it
    places = np.flatnonzero(~is_sign)
    follows_sign = is_sign[places - 1]
    kinds = words.kinds[places]
    is_number = kinds == _NUMBER
    has_sign = (words.first[places] < ord(".")) & is_number
    if (has_sign & follows_sign).any():
        return None

    kinds[1:][(kinds[:-1] == _RELATION) & is_number[1:]] = _SIDE
    before = np.concatenate(([_SIDE], kinds[:-1])).astype(np.uint8)
    is_end = kinds == (_NAME if objective else _SIDE)
    signed = (has_sign | follows_sign).view(np.uint8)
    if not (is_end[-1] and _FOLLOWS[before, kinds, signed].all()):
        return None
    is_side = kinds == _SIDE
    is_relation = kinds == _RELATION
    if objective and is_relation.any():
        return None

    texts = words.of(~is_sign)
    names = list(compress(texts, (kinds == _NAME).tolist()))
    labels = "".join(compress(texts, (kinds == _LABEL).tolist())).split(":")
    labels.pop()
    numbers = _numbers(list(compress(texts, is_number.tolist())))
    begins = np.flatnonzero(before == _SIDE)
    has_label = kinds[begins] == _LABEL
    if (
        numbers is None
        or len(labels) != has_label.sum()
        or _NOT_IN_NAMES.search("".join(names))
        or _NOT_IN_NAMES.search("".join(labels))
        or not _RELATIONS.issuperset(compress(texts, is_relation.tolist()))
    ):
        return None

    # a row without label begins on a new line
    begin_words = places[begins] - follows_sign[begins]
    lines = words.lines(begin_words)
    if not has_label.all():
        sides = words.lines(places[is_side])
        if (~has_label[1:] & (lines[1:] == sides[: len(lines) - 1])).any():
            return None
    row_names = np.full(len(begins), "", dtype=object)
    row_names[has_label] = labels

    coefficients = np.where(follows_sign & (words.first[places - 1] == ord("-")), -1.0, 1.0)
    coefficients[is_number] *= numbers
    name_places = np.flatnonzero(kinds == _NAME)
    values = coefficients[name_places - (before[name_places] == _NUMBER)]
    relations = places[is_relation]
    ends = words.first[relations], words.last[relations]
    is_less = (ends[0] == ord("<")) | (ends[1] == ord("<"))
    is_more = (ends[0] == ord(">")) | (ends[1] == ord(">"))
    sides = coefficients[is_side]
    return Rows(
        row_names.tolist(),
        np.where(is_less, -np.inf, sides) + 0.0,
        np.where(is_more, np.inf, sides) + 0.0,
        lines,
        np.cumsum(is_side)[name_places],
        values,
        names,
    )


def _numbers(texts: list[str]) -> np.ndarray | None:
    """Return finite numbers of digits, None where a text is none."""
    joined = "\n".join(texts).encode()
    if joined.translate(None, b"0123456789.eE+-\n"):
        return None
    values = numbers_in(joined.split())
    return values if np.isfinite(values).all() else None


@dataclass(frozen=True)
class Bounds:
    """What lines say of bounds.

    Attributes
    ----------
    variables : list of str
    values, lines, is_lower, is_upper : ndarray
        For each bound: the variable, value, line (from 0), and which sides it sets.
    """

    variables: list[str]
    values: np.ndarray
    lines: np.ndarray
    is_lower: np.ndarray
    is_upper: np.ndarray


def bounds_in(text: str) -> Bounds | None:
    """Return the bounds of a text, one or two on each line."""
    words = words_in(text)
    if words is None or not words.texts:
        return None
    counts = np.diff(np.searchsorted(words.starts, words.line_ends), prepend=0)
    counts = counts[counts > 0]
    firsts = np.cumsum(counts) - counts
    is_free = counts == 2
    is_double = counts == 5
    if not (is_free | (counts == 3) | is_double).all():
        return None

    # each relation has a variable on one side and a value on the other
    relations = np.concatenate((firsts[~is_free] + 1, firsts[is_double] + 3))
    value_first = (words.kinds[firsts] != _NAME) | is_double
    value_first = np.concatenate((value_first[~is_free], np.zeros(is_double.sum(), dtype=bool)))
    step = np.where(value_first, 1, -1)
    texts = np.array(words.texts, dtype=object)
    if not _RELATIONS.issuperset(texts[relations].tolist()):
        return None
    value_places = relations - step
    value_texts = texts[value_places].tolist()
    try:
        values = np.fromiter(map(float, value_texts), dtype=float, count=len(value_texts))
    except ValueError:
        return None
    is_overflow = np.isinf(values) & (words.kinds[value_places] == _NUMBER)
    if "_" in "".join(value_texts) or np.isnan(values).any() or is_overflow.any():
        return None
    first = words.first[relations]
    last = words.last[relations]
    is_less = (first == ord("<")) | (last == ord("<"))
    is_equal = (first == ord("=")) & (last == ord("="))

    free = firsts[is_free]
    if {text.lower() for text in texts[free + 1].tolist()} - {"free"}:
        return None
    both = np.repeat([True, False], len(free))
    names = np.concatenate((relations + step, free, free))
    return Bounds(
        texts[names].tolist(),
        np.concatenate((values, np.where(both, -np.inf, np.inf))),
        words.lines(names),
        np.concatenate((is_equal | (is_less == value_first), both)),
        np.concatenate((is_equal | (is_less != value_first), ~both)),
    )
