"""Read the CPLEX LP format, as CPLEX, HiGHS, SCIP, GLPK, COIN and the modelling tools write it."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from scipy.sparse import coo_array, csc_array

from ..programs.program import Sense
from .names import unused
from .source import LineError, Parsed, Source, is_ours, settle, shown

# quantifiers are possessive (*+), so that no line, however long, is tried in more than one way
_NUMBER: Final = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_NAME: Final = r"[^\s0-9.+\-*^<>=:\\/\[\]][^\s+\-*^<>=:\\]*+"
_COMPARE: Final = r"<=|=<|>=|=>|<|>|="
_TOKEN = re.compile(rf"[+-]|{_NUMBER}|{_NAME}|{_COMPARE}|:|\n|\S")
_VALUE: Final = rf"[+-]?\s*+(?:{_NUMBER}|inf(?:inity)?(?![^\s<>=]))"
_BOUND = re.compile(
    rf"\s*+(?:({_VALUE})\s*+({_COMPARE})\s*+)?({_NAME})\s*+(?:({_COMPARE})\s*+({_VALUE})|(free))?\s*+", re.IGNORECASE
)
_TITLES: Final = {
    "objective": r"max(?:imi[sz]e|imum)?|min(?:imi[sz]e|imum)?",
    "constraints": r"subject[ \t]+to|such[ \t]+that|s\.t\.?|st\.?",
    "refused": r"lazy[ \t]+constraints|user[ \t]+cuts|general[ \t]+constraints|semi(?:s|-continuous)?|sos[12]?|pwlobj"
    r"|multi-objectives|scenario",
    "bounds": r"bounds?",
    "general": r"gen(?:erals?)?|int(?:egers?)?",
    "binary": r"bin(?:ar(?:y|ies))?",
    "end": r"end",
}
_TITLE = re.compile(
    "^[ \t]*(?:" + "|".join(f"(?P<{kind}>{words})" for kind, words in _TITLES.items()) + ")(?=\\s|\\Z)(?![ \t]*[:<>=])",
    re.IGNORECASE | re.MULTILINE,
)
_ORDER: Final = {"objective": 0, "constraints": 1, "bounds": 2, "general": 2, "binary": 2, "refused": 2, "end": 3}
_GLPK_CONSTANT = re.compile(rf"^\\\* constant term = (-?{_NUMBER}) \*\\$", re.MULTILINE)
_NO_NAMES: Final = ("inf", "infinity", "nan")
_OTHER, _SIGN, _DIGITS, _WORD, _RELATION, _COLON, _START = range(7)
#: What may follow what in an expression.
_FOLLOWS = np.zeros((7, 7), dtype=bool)
_FOLLOWS[_START, [_SIGN, _DIGITS, _WORD]] = _FOLLOWS[_SIGN, [_SIGN, _DIGITS, _WORD]] = True
_FOLLOWS[_DIGITS, [_SIGN, _WORD]] = _FOLLOWS[_WORD, _SIGN] = True


def parse_lp(source: Source) -> Parsed:
    """Return what an LP file says."""
    return _Reader(source).parse()


class _Tokens:
    """The tokens of a piece of the file: text, kind, value of numbers, and line of each."""

    def __init__(self, source: Source, text: str, first_line: int) -> None:
        self.source = source
        found = _TOKEN.findall(text)
        codes = np.minimum(np.frombuffer("".join([t[0] for t in found]).encode("utf-32-le"), dtype=np.uint32), 127)
        lines = first_line + np.cumsum(codes == ord("\n"))
        kinds = _KIND_OF[codes]
        stays = codes != ord("\n")
        self.texts = np.array([*found, ""], dtype=object)[:-1][stays]
        self.kinds, self.lines = kinds[stays], lines[stays]
        self.values = np.zeros(len(self.kinds))
        digits = np.flatnonzero(self.kinds == _DIGITS)
        try:
            self.values[digits] = np.fromiter(map(float, self.texts[digits].tolist()), dtype=float, count=len(digits))
            wrong = ~np.isfinite(self.values)
        except ValueError:  # a dot alone
            wrong = self.texts == "."
        if wrong.any():
            i = int(wrong.argmax())
            raise self.fault(i, f"expected a finite number instead of {shown(self.texts[i])}")
        self.minus = np.cumsum(self.texts == "-")

    def __len__(self) -> int:
        return len(self.kinds)

    def fault(self, i: int, problem: str) -> LineError:
        """Return the error that something is wrong at a token (or at the end)."""
        return self.source.fault(int(self.lines[min(i, len(self.lines) - 1)]), problem)

    def terms(self, begins: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return expression, token of the name, and coefficient of every term; token and value of every constant."""
        size, kinds = len(self), self.kinds
        at = np.arange(size)
        owner = np.searchsorted(begins, at, side="right") - 1
        inside = (owner >= 0) & (at < (ends[owner] if len(ends) else 0))
        at, owner = at[inside], owner[inside]
        before = np.where(at == begins[owner], _START, kinds[at - 1])
        wrong = ~_FOLLOWS[before, kinds[at]]
        wrong |= (kinds[at] == _SIGN) & (at + 1 == ends[owner])
        if wrong.any():
            raise self._unexpected(int(at[wrong.argmax()]), before[wrong.argmax()])
        not_sign = np.maximum.accumulate(np.where(kinds == _SIGN, -1, np.arange(size)))
        minus = np.concatenate((self.minus, [0]))  # minus[-1]: before the first token

        words = kinds[at] == _WORD
        constants = (kinds[at] == _DIGITS) & ~((at + 1 < ends[owner]) & (np.append(kinds, _START)[at + 1] == _WORD))
        last = at - 1 - (words & (before == _DIGITS))  # of the signs before a term
        negative = (minus[last] - minus[np.where(last >= 0, not_sign[last], -1)]) % 2 == 1
        sizes = np.where(constants, self.values[at], np.where(before == _DIGITS, self.values[at - 1], 1.0))
        sizes = np.where(negative, -sizes, sizes)
        return owner[words], at[words], sizes[words], at[constants], sizes[constants]

    def _unexpected(self, i: int, before: int) -> LineError:
        text = str(self.texts[i])
        if text in ("[", "]", "^", "*"):
            return self.fault(i, f"{text!r} makes it quadratic; expected a linear expression")
        if text == ":":
            return self.fault(i, "unexpected ':'; expected <=, >= or =, and a number, before the next name and colon")
        after = f" after {shown(self.texts[i - 1])}" if before != _START else ""
        return self.fault(i, f"unexpected {shown(text)}{after}; expected terms like 3 x with + or - between them")


_KIND_OF: Final = np.full(128, _WORD)
_KIND_OF[[ord(c) for c in "0123456789."]] = _DIGITS
_KIND_OF[[ord(c) for c in "+-"]] = _SIGN
_KIND_OF[[ord(c) for c in "<>="]] = _RELATION
_KIND_OF[[ord(c) for c in "[]^*/\\"]] = _OTHER
_KIND_OF[ord(":")] = _COLON


class _Reader:
    """One pass over a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.content.decode()
        head = text[: found.start()] if (found := _TITLE.search(text)) else text
        self.comments = [line.strip()[1:].strip() for line in head.split("\n") if line.strip().startswith("\\")]
        by_glpk = bool(self.comments) and self.comments[0].startswith("* Problem: ")
        self.glpk = _GLPK_CONSTANT.search(text) if by_glpk else None
        self.text = re.sub(r"\\[^\n]*", "", text)
        if odd := re.search(r"[^\S \t\n]", self.text):
            problem = f"character U+{ord(odd[0]):04X} is a space that readers take differently; expected plain spaces"
            raise source.fault(self.text.count("\n", 0, odd.start()) + 1, problem)
        self.title = is_ours(self.comments)
        self.column_of: dict[str, int] = {}
        self.late: list[tuple[int, str]] = []

    def parse(self) -> Parsed:
        """Return what the file says."""
        sense: Sense = "min"
        rows: _Rows | None = None
        costs = None
        self.bounds: tuple[dict[int, float], dict[int, float]] = {}, {}
        self.bound_lines: dict[int, int] = {}
        self.whole: dict[int, tuple[str, int]] = {}
        for kind, title, text, line in self._sections():
            if kind == "objective":
                self.first_line = line
                sense = "max" if title.lower().startswith("max") else "min"
                costs = self._objective(_Tokens(self.source, text, line))
            elif kind == "constraints":
                rows = _Rows(_Tokens(self.source, text, line), self.column_of)
            elif kind == "bounds":
                self._bounds(text, line)
            elif kind in ("general", "binary"):
                self._integers(kind, text, line)
            elif text.strip():
                number = line + text[: len(text) - len(text.lstrip())].count("\n")
                what = f"{title} says what no linear or mixed-integer program can"
                raise self.source.fault(number, "unexpected after End" if kind == "end" else what)
        assert costs is not None
        return self._parsed(sense, costs, rows or _Rows(_Tokens(self.source, "", 1), self.column_of))

    def _sections(self) -> list[tuple[str, str, str, int]]:
        """Return kind, title, text below the title, and its first line, of each section in order."""
        found = list(_TITLE.finditer(self.text))
        start = found[0].start() if found else len(self.text)
        if (before := self.text[:start]).strip() or not found:
            number = before[: len(before) - len(before.lstrip())].count("\n") + 1
            raise self.source.fault(number, "expected Maximize or Minimize at the beginning of an LP file")
        sections: list[tuple[str, str, str, int]] = []
        line, position, last = 1, 0, ""
        seen: dict[str, int] = {}
        for k, match in enumerate(found):
            kind = str(match.lastgroup)
            stop = found[k + 1].start() if k + 1 < len(found) else len(self.text)
            line += self.text.count("\n", position, match.end())
            position = match.end()
            if (not last and kind != "objective") or (last and _ORDER[kind] < _ORDER[last]):
                order = "the objective, Subject To, Bounds, General, Binary and End, in this order"
                raise self.source.fault(line, f"{match[0].strip()} cannot stand here; expected {order}")
            if kind in seen and kind in ("objective", "constraints", "end"):
                raise self.source.fault(line, f"a second section of this kind; the first is in line {seen[kind]}")
            seen[kind], last = line, kind
            sections.append((kind, match[0].strip(), self.text[match.end() : stop], line))
        if last != "end":
            raise self.source.fault(self.source.last_line, "the file ends without End; it was cut off")
        return sections

    def _objective(self, tokens: _Tokens) -> tuple[np.ndarray, np.ndarray, float]:
        """Return columns, costs and constant."""
        labelled = len(tokens) > 1 and tokens.kinds[0] == _WORD and tokens.kinds[1] == _COLON
        begin, end = np.array([2 if labelled else 0]), np.array([len(tokens)])
        if begin[0] == end[0]:
            return np.zeros(0, dtype=np.int64), np.zeros(0), 0.0
        _, names, coefficients, _, constants = tokens.terms(begin, end)
        return _columns(tokens, names, self.column_of), coefficients, float(constants.sum())

    def _column(self, name: str, line: int) -> int:
        if name not in self.column_of:
            self.late.append((line, name))
        return self.column_of.setdefault(name, len(self.column_of))

    def _bounds(self, text: str, line: int) -> None:
        """Read bounds, one on each line."""
        for number, content in enumerate(text.split("\n"), line):
            if not content.strip():
                continue
            match = _BOUND.fullmatch(content)
            if match is None or not (match[1] or match[4] or match[6]) or (match[1] and match[6]):
                expected = "expected a bound like 0 <= x <= 5, x >= -inf, x = 3 or x free"
                raise self.source.fault(number, expected)
            low, left, name, right, high, free = match.groups()
            if name.lower() in _NO_NAMES:
                raise self.source.fault(number, f"expected a variable instead of {shown(name)}")
            j = self._column(name, number)
            if free:
                self._set(number, j, 0, -np.inf)
                self._set(number, j, 1, np.inf)
            for text_of_value, relation, flipped in ((low, left, True), (high, right, False)):
                if text_of_value is None:
                    continue
                value = float("".join(text_of_value.split()))
                if np.isinf(value) and "n" not in text_of_value.lower():
                    raise self.source.fault(number, f"expected a finite number instead of {shown(text_of_value)}")
                if relation == "=" or ("<" in relation) == flipped:
                    self._set(number, j, 0, value)
                if relation == "=" or ("<" in relation) != flipped:
                    self._set(number, j, 1, value)

    def _set(self, number: int, j: int, side: int, value: float) -> None:
        before = self.bounds[side].get(j)
        if before is not None and before != value:
            what, line = ("lower", "upper")[side], self.bound_lines[j]
            raise self.source.fault(number, f"its {what} bound was {before} (line {line}); expected one")
        self.bounds[side][j] = value + 0.0
        self.bound_lines[j] = number

    def _integers(self, kind: str, text: str, line: int) -> None:
        """Read the names of integer or binary columns."""
        for number, content in enumerate(text.split("\n"), line):
            for name in content.split():
                if not re.fullmatch(_NAME, name) or _TITLE.fullmatch(name):
                    raise self.source.fault(number, f"expected names of columns instead of {shown(name)}")
                j = self._column(name, number)
                if j not in self.whole or kind == "binary":
                    self.whole[j] = kind, number

    def _parsed(self, sense: Sense, costs: tuple[np.ndarray, np.ndarray, float], rows: _Rows) -> Parsed:
        """Put the sections together."""
        n, names = len(self.column_of), list(self.column_of)
        which, values, offset = costs
        c = np.bincount(which, weights=values, minlength=n) + 0.0 if n else np.zeros(0)
        lower, upper, lines = np.zeros(n), np.full(n, np.inf), np.ones(n, dtype=np.int64)
        integrality = np.zeros(n, dtype=np.uint8)
        for j, (kind, number) in self.whole.items():
            integrality[j], lines[j] = 1, number
            upper[j] = 1.0 if kind == "binary" else np.inf
        lines[list(self.bound_lines)] = list(self.bound_lines.values())
        for bounds, given in zip((lower, upper), self.bounds, strict=True):
            bounds[list(given)] = list(given.values())
        for j, (kind, number) in self.whole.items():
            if kind == "binary" and not (lower[j] >= 0 and upper[j] <= 1):
                problem = f"{shown(names[j])} is binary (line {number}); expected bounds between 0 and 1"
                raise self.source.fault(int(lines[j]), problem)
        exact = self.title is not None
        settle(self.source, lower, upper, lambda j: f"{shown(names[j])}, by default at least 0,", lines, exact)
        settle(self.source, rows.lower, rows.upper, lambda i: f"row {shown(rows.names[i])}", rows.lines, exact)
        if self.late:
            line, name = self.late[0]
            self.source.warn(
                f"line {line}: {shown(name)} occurs neither in the objective nor in a constraint; it is a new column "
                f"({len(self.late)} such)"
            )
        if self.glpk and not offset:
            offset = float(self.glpk[1])
            self.source.warn("written by GLPK, which gives the objective's constant in a comment that others ignore")
        entries: csc_array[Any] = coo_array((rows.values, (rows.of, rows.columns)), shape=(len(rows.names), n)).tocsc()
        entries.eliminate_zeros()  # of a variable that occurs twice, SciPy has added the coefficients
        if not (np.isfinite(c).all() and np.isfinite(offset)):
            raise self.source.fault(self.first_line, "costs of one variable add up to more than the largest number")
        if not np.isfinite(entries.data).all():
            line = int(rows.lines[entries.indices[~np.isfinite(entries.data)][0]])
            raise self.source.fault(line, "coefficients of one variable add up to more than the largest number")
        return Parsed(
            "", sense, offset + 0.0, c, entries, rows.lower, rows.upper, lower, upper, integrality, rows.names, names,
            self.comments,
        )  # fmt: skip


class _Rows:
    """The constraints: names, bounds, and entries as row, column and value."""

    def __init__(self, tokens: _Tokens, column_of: dict[str, int]) -> None:
        self.tokens = tokens
        self.kinds: list[int] = tokens.kinds.tolist()
        self.line_of: list[int] = tokens.lines.tolist()
        self.texts: list[str] = tokens.texts.tolist()
        relations = [*np.flatnonzero(tokens.kinds == _RELATION).tolist(), len(tokens)]
        labels: dict[str, int] = {}
        unnamed: list[int] = []
        spans: list[tuple[int, int]] = []
        bounds: list[tuple[float, float]] = []
        lines: list[int] = []
        position = k = 0
        while position < len(tokens):
            first = position
            if self._is_label(position):
                name = self.texts[position]
                if name in labels:
                    problem = f"a second constraint {shown(name)}; the first is in line {lines[labels[name]]}"
                    raise tokens.fault(position, problem)
                labels[name] = len(spans)
                position += 2
            else:
                unnamed.append(len(spans))
            middle = relations[k]
            k += 1
            if middle == len(tokens):
                raise tokens.fault(middle, "expected <=, >= or = and a number before the end of the constraints")
            left, end = self._constant(position, middle)
            other = None
            if left is not None and end == middle and relations[k] < len(tokens):
                position, other, middle = middle + 1, self.texts[middle], relations[k]
                k += 1
            relation = self.texts[middle]
            right, end = self._constant(middle + 1, len(tokens))
            if right is None:
                raise tokens.fault(middle + 1, f"expected a number after {relation}, with all terms on its left")
            if end < len(tokens) and self.line_of[end] == self.line_of[end - 1] and not self._is_label(end):
                raise tokens.fault(end, f"unexpected {shown(self.texts[end])} after {relation} and a number")
            low = right if "<" not in relation else -np.inf
            high = right if ">" not in relation else np.inf
            if other is not None:
                if "=" in (relation, other) or ("<" in relation) != ("<" in other):
                    raise tokens.fault(middle, f"{other} and {relation} make no range; expected <= twice or >= twice")
                low, high = (left, high) if "<" in other else (low, left)  # type: ignore[assignment]
            spans.append((position, middle))
            bounds.append((low, high))
            lines.append(self.line_of[min(first, middle)])
            position = end
        self._finish(spans, bounds, lines, labels, unnamed, column_of)

    def _finish(
        self, spans: list[tuple[int, int]], bounds: list[tuple[float, float]], lines: list[int],
        labels: dict[str, int], unnamed: list[int], column_of: dict[str, int],
    ) -> None:  # fmt: skip
        """Collect the terms of all constraints."""
        begins, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        self.of, names, self.values, constants, _ = self.tokens.terms(begins, ends)
        if len(constants):
            i = int(constants[0])
            raise self.tokens.fault(
                i, f"unexpected {shown(self.texts[i])} without a variable; move it to the other side"
            )
        self.columns = _columns(self.tokens, names, column_of)
        self.lower, self.upper = np.array(bounds, dtype=float).reshape(-1, 2).T + 0.0
        self.lines = np.array(lines, dtype=np.int64)
        self.names = [""] * len(spans)
        for name, i in labels.items():
            self.names[i] = name
        for i in unnamed:
            self.names[i] = unused(f"c{i + 1}", labels)

    def _is_label(self, i: int) -> bool:
        return i + 1 < len(self.kinds) and self.kinds[i] == _WORD and self.kinds[i + 1] == _COLON

    def _constant(self, begin: int, end: int) -> tuple[float | None, int]:
        """Return the number (with signs) that begins at a token, and where it ends; None if there is none."""
        sign, i = 1.0, begin
        while i < end and self.kinds[i] == _SIGN:
            sign = -sign if self.texts[i] == "-" else sign
            i += 1
        if i < end and self.kinds[i] == _DIGITS:
            return sign * float(self.tokens.values[i]), i + 1
        if i < end and self.kinds[i] == _WORD and self.texts[i].lower() in ("inf", "infinity"):
            return sign * np.inf, i + 1
        return None, begin


def _columns(tokens: _Tokens, names: np.ndarray, column_of: dict[str, int]) -> np.ndarray:
    """Return the columns of names, numbered in the order in which they occur."""
    texts = tokens.texts[names].tolist()
    for name in dict.fromkeys(texts):
        if name.lower() in _NO_NAMES:
            raise tokens.fault(int(names[texts.index(name)]), f"expected a variable instead of {shown(name)}")
        column_of.setdefault(name, len(column_of))
    return np.fromiter(map(column_of.__getitem__, texts), dtype=np.int64, count=len(texts))
