"""Terms, rows and bounds of LP files in bulk, where blanks stand between words: ``+ 3 x <= 4``.

The functions return None where a text has anything else. The reader in ``lp.py`` then reads it word
by word, and says which word is wrong.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np

from .model_text import PIECE

#: Shorter texts are read sooner word by word.
SHORTEST: Final = 5000
_SIGN, _NUMBER, _NAME, _LABEL, _RELATION, _SIDE, _OTHER = range(7)
#: Kind of a word by its first byte; all others begin a name.
_KINDS: Final = np.full(256, _NAME, dtype=np.uint8)
_KINDS[[*b"+-"]] = _SIGN
_KINDS[[*b"0123456789."]] = _NUMBER
_KINDS[[*b"<>="]] = _RELATION
_KINDS[[*b"*^:\\/[]"]] = _OTHER
_RELATIONS: Final = frozenset(["<=", "=<", ">=", "=>", "<", ">", "="])
_END_OF_ROW = re.compile(r"[<>=]\s*+(?:[+-]\s++)?+[^\s<>=][^\n]*+\n?")
_NOT_IN_NAMES = re.compile(r"[+\-*^<>=:\\]")
#: For each kind of a word and kind of the next, whether the next may be without a sign, and with one.
#: A side is the number that ends a row.
_FOLLOWS: Final = np.zeros((7, 7, 2), dtype=bool)
_FOLLOWS[_SIDE, [_LABEL, _NUMBER, _NAME], 0] = True
_FOLLOWS[_LABEL, [_NUMBER, _NAME], 0] = True
_FOLLOWS[[_SIDE, _LABEL, _NAME], [[_NUMBER], [_NAME]], 1] = True
_FOLLOWS[_NUMBER, _NAME, 0] = True
_FOLLOWS[_NAME, _RELATION, 0] = True
_FOLLOWS[_RELATION, _SIDE] = True


class LpWords(NamedTuple):
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

    def of(self, kind: int) -> list[str]:
        """Return the words of a kind."""
        places = np.flatnonzero(self.kinds == kind)
        return list(map(self.texts.__getitem__, places.tolist()))

    def lines(self, places: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the lines of words, counted from 0."""
        return np.searchsorted(self.line_ends, self.starts[places])

    def compares(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which relations have ``<`` in them, and which have ``>``."""
        first = self.first[places]
        last = self.last[places]
        is_less = (first == ord("<")) | (last == ord("<"))
        is_more = (first == ord(">")) | (last == ord(">"))
        return is_less, is_more


def words_in(text: str) -> LpWords | None:
    """Return the words of a text; None where it is short, blank, or not ASCII."""
    if len(text) < SHORTEST or not text.isascii():
        return None
    texts = text.split()
    codes = np.frombuffer(f"\n{text}\n".encode(), dtype=np.uint8)
    is_black = codes > ord(" ")
    edges = np.flatnonzero(is_black[1:] != is_black[:-1])
    starts = edges[::2]
    if not texts or len(starts) != len(texts):
        return None

    first = codes[1:][starts]
    second = codes[2:][starts]
    last = codes[edges[1::2]]
    kinds = _KINDS[first]
    has_sign = (kinds == _SIGN) & (second > ord(" "))
    kinds[has_sign] = np.where(_KINDS[second[has_sign]] == _NUMBER, _NUMBER, _OTHER)
    kinds[(kinds == _NAME) & (last == ord(":"))] = _LABEL
    return LpWords(texts, kinds, first, last, starts, np.flatnonzero(codes[1:] == ord("\n")))


class LpRows(NamedTuple):
    """The constraints of a text, or its objective.

    Attributes
    ----------
    names : list of str
        Empty where a row has none.
    lower, upper, lines : ndarray
        For each row its bounds, and its line, counted from 0; an objective has no bounds.
    of, values : ndarray
    variables : list of str
        For each term its row, coefficient and variable.
    """

    names: list[str]
    lower: np.ndarray
    upper: np.ndarray
    lines: np.ndarray
    of: np.ndarray
    values: np.ndarray
    variables: list[str]


def end_of_rows(text: str, start: int) -> int:
    """Return where the line of the last right side ends, in a piece that begins at ``start``."""
    place = max(text.rfind(mark, start, start + PIECE) for mark in "<>=")
    match = _END_OF_ROW.search(text, place if place >= 0 else start + PIECE)
    return match.end() if match else len(text)


def rows_in(text: str, objective: bool = False) -> LpRows | None:
    """Return the rows of a text, or an objective without a constant."""
    words = words_in(text)
    if words is None:
        return None

    # a sign alone belongs to the word behind it
    is_sign = words.kinds == _SIGN
    if is_sign[-1] or (is_sign[1:] & is_sign[:-1]).any():
        return None
    places = np.flatnonzero(~is_sign)
    is_signed = is_sign[places - 1]
    is_negative = is_signed & (words.first[places - 1] == ord("-"))
    kinds = words.kinds[places]
    is_number = kinds == _NUMBER
    has_sign = is_number & (words.first[places] < ord("."))

    # each word fits the one before it
    kinds[1:][is_number[1:] & (kinds[:-1] == _RELATION)] = _SIDE
    before = np.append(np.uint8(_SIDE), kinds[:-1])
    signs = is_signed.astype(np.uint8) + has_sign
    is_relation = kinds == _RELATION
    ends = _NAME if objective else _SIDE
    if (
        signs.max() > 1
        or not _FOLLOWS[before, kinds, signs].all()
        or kinds[-1] != ends
        or (objective and is_relation.any())
    ):
        return None

    # names, numbers and relations have no other characters in them
    variables = words.of(_NAME)
    *labels, _ = "".join(words.of(_LABEL)).split(":")
    begins = np.flatnonzero(before == _SIDE)
    has_label = kinds[begins] == _LABEL
    numbers = _values(words.of(_NUMBER), np.True_)
    if (
        numbers is None
        or len(labels) != has_label.sum()
        or _NOT_IN_NAMES.search("".join(labels + variables))
        or not _RELATIONS.issuperset(words.of(_RELATION))
    ):
        return None

    # a row without a label begins on a line of its own
    is_side = kinds == _SIDE
    lines = words.lines(places[begins] - is_signed[begins])
    side_lines = words.lines(places[is_side][: len(lines) - 1])
    if (~has_label[1:] & (lines[1:] == side_lines)).any():
        return None

    names = np.full(len(begins), "", dtype=object)
    names[has_label] = labels
    coefficients = np.where(is_negative, -1.0, 1.0)
    coefficients[is_number] *= numbers
    sides = coefficients[is_side]
    is_less, is_more = words.compares(places[is_relation])
    terms = np.flatnonzero(kinds == _NAME)
    return LpRows(
        names.tolist(),
        np.where(is_less, -np.inf, sides) + 0.0,
        np.where(is_more, np.inf, sides) + 0.0,
        lines,
        np.cumsum(is_side)[terms],
        coefficients[terms - (before[terms] == _NUMBER)],
        variables,
    )


class LpBounds(NamedTuple):
    """The bounds of a text, in the order of its lines.

    Attributes
    ----------
    variables : list of str
    values, lines, is_lower, is_upper : ndarray
        For each bound its variable, its value, its line, counted from 0, and the sides that it sets.
    """

    variables: list[str]
    values: np.ndarray
    lines: np.ndarray
    is_lower: np.ndarray
    is_upper: np.ndarray


def bounds_in(text: str) -> LpBounds | None:
    """Return the bounds of a text: ``x >= 1``, ``1 <= x <= 2`` or ``x free``, each on a line."""
    words = words_in(text)
    if words is None:
        return None
    counts = np.diff(np.searchsorted(words.starts, words.line_ends), prepend=0)
    counts = counts[counts > 0]
    begins = np.cumsum(counts) - counts
    is_free = counts == 2
    is_double = counts == 5
    if not (is_free | is_double | (counts == 3)).all():
        return None

    # each relation stands between a variable and a value
    relations = np.append(begins[~is_free] + 1, begins[is_double] + 3)
    value_is_first = (words.kinds[begins] != _NAME)[~is_free] | is_double[~is_free]
    value_is_first = np.append(value_is_first, np.zeros(is_double.sum(), dtype=bool))
    value_places = np.where(value_is_first, relations - 1, relations + 1)
    free = begins[is_free]
    texts = np.array(words.texts, dtype=object)
    values = _values(texts[value_places].tolist(), words.kinds[value_places] == _NUMBER)
    if (
        values is None
        or not _RELATIONS.issuperset(texts[relations].tolist())
        or {text.lower() for text in texts[free + 1].tolist()} - {"free"}
    ):
        return None

    # a free variable has two bounds; bounds stay in the order of their lines
    is_less, is_more = words.compares(relations)
    is_equal = ~(is_less | is_more)
    is_lower_of_free = np.repeat([True, False], len(free))
    places = np.concatenate((2 * relations - value_places, free, free))
    lines = words.lines(places)
    order = np.argsort(lines, kind="stable")
    return LpBounds(
        texts[places[order]].tolist(),
        np.append(values, np.where(is_lower_of_free, -np.inf, np.inf))[order],
        lines[order],
        np.append(is_equal | (is_less == value_is_first), is_lower_of_free)[order],
        np.append(is_equal | (is_less != value_is_first), ~is_lower_of_free)[order],
    )


def _values(texts: list[str], is_number: np.ndarray | np.bool) -> np.ndarray | None:
    """Return the values of texts, which may be infinite by a word only; None where one is none."""
    try:
        values = np.fromiter(map(float, texts), dtype=float, count=len(texts))
    except ValueError:
        return None
    is_wrong = np.isnan(values) | (np.isinf(values) & is_number)
    return None if is_wrong.any() or "_" in "".join(texts) else values
