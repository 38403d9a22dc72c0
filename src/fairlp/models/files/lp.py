"""Read and write the CPLEX LP format of solvers (CPLEX, HiGHS, SCIP, GLPK, COIN) and modellers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, get_args

import numpy as np
from scipy.sparse import coo_array

from ...errors import require_known
from ..programs.options import Constant, Names
from ..programs.program import Program, Sense
from .constructs import Constructs, Indicator, OrderedSet
from .model_text import (
    PIECE,
    LineError,
    NameMap,
    Naming,
    Parsed,
    Source,
    about,
    bounded_rows,
    check_writable,
    comment,
    decimal,
    decimals,
    explained,
    is_ours,
    left_out,
    naming,
    settle,
    shown,
    unused,
    write_model,
)
from .whole_files import Target

# quantifiers are possessive (*+), so that no line, however long, is tried in more than one way
_NUMBER: Final = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_NAME: Final = r"[^\s0-9.+\-*^<>=:\\/\[\]][^\s+\-*^<>=:\\]*+"
_COMPARE: Final = r"<=|=<|>=|=>|<|>|="
_TOKEN = re.compile(rf"{_NUMBER}|{_NAME}|{_COMPARE}|[+-]|:|\n\s*+|\S")
_OTHER, _DIGITS, _WORD, _RELATION, _SIGN, _COLON, _LINE_END = range(7)
#: Kind of a token by its first character; all others begin a name.
_KIND: Final = dict.fromkeys("0123456789.", _DIGITS) | dict.fromkeys("<>=", _RELATION) | dict.fromkeys("+-", _SIGN) | {
    ":": _COLON, "\n": _LINE_END, **dict.fromkeys("*^\\/[]", _OTHER)
}  # fmt: skip
_VALUE: Final = rf"[+-]?\s*+(?:{_NUMBER}|inf(?:inity)?(?![^\s<>=]))"
_BOUND = re.compile(
    rf"(?:({_VALUE})\s*+({_COMPARE})\s*+)?({_NAME})\s*+"
    rf"(?:({_COMPARE})\s*+({_VALUE})|(free)(?!\s*+[<>=]))?\s*+(?:(?<=\s)|\Z)",
    re.IGNORECASE,
)
_TITLES: Final = {
    "objective": r"max(?:imi[sz]e|imum)?|min(?:imi[sz]e|imum)?",
    "constraints": r"subject[ \t]+to|such[ \t]+that|s\.t\.?|st\.?",
    "refused": r"lazy[ \t]+constraints|user[ \t]+cuts|general[ \t]+constraints|pwlobj|multi-objectives|scenario",
    "semicontinuous": r"semi(?:s|-continuous)?",
    "sets": r"sos[12]?",
    "bounds": r"bounds?",
    "general": r"gen(?:erals?)?|int(?:egers?)?",
    "binary": r"bin(?:ar(?:y|ies))?",
    "end": r"end",
}
_ANY_TITLE: Final = "|".join(f"(?P<{kind}>{words})" for kind, words in _TITLES.items())
#: A title behind the end of a line; most lines begin with other letters.
_TITLE = re.compile(
    rf"\n[ \t]*+(?=[bgeilmpsu])(?:{_ANY_TITLE})(?=\s|\Z)(?![ \t]*[:<>=])", re.IGNORECASE
)
#: A title behind any space; compiled when a file names columns.
_TITLE_ANYWHERE: Final = rf"(?i:\s(?=[bgeilmpsu])(?:{_ANY_TITLE})(?=\s|\Z))"
#: What is on a line, from the first character that is not blank: blank lines cost no more than
#: their bytes.
_LINE = re.compile(r"\S[^\n]*+")
_ORDER: Final = {"objective": 0, "constraints": 1, "end": 3}
_ANYWHERE: Final = 2
_GLPK_CONSTANT = re.compile(rf"^\\\* constant term = (-?{_NUMBER}) \*\\$", re.MULTILINE)
_NO_NAMES: Final = ("inf", "infinity", "nan")


def parse_lp(source: Source) -> Parsed:
    """Return what an LP file says."""
    return _LpReader(source).parse()


class _Tokens:
    """The tokens of a section, read from the first to the last: text, kind and line of each."""

    def __init__(self, source: Source, text: str, line: int, column_of: dict[str, int]) -> None:
        self.source = source
        self.column_of = column_of
        texts = _TOKEN.findall(text)
        kinds = np.array(
            [_KIND.get(text[0], _WORD) if text != "." else _OTHER for text in texts], dtype=np.int8
        )
        ends = kinds == _LINE_END
        breaks = np.zeros(
            len(texts), dtype=np.int64
        )  # a token has all blank lines that follow each other
        breaks[ends] = [texts[place].count("\n") for place in np.flatnonzero(ends).tolist()]
        self.kinds: list[int] = kinds[~ends].tolist()
        self.lines: list[int] = (line + np.cumsum(breaks)[~ends]).tolist()
        self.texts: list[str] = [text for text in texts if text[0] != "\n"]
        self.count = len(self.texts)
        self.position = 0
        self.texts += ["", "", ""]  # nothing stands behind the last
        self.kinds += [_RELATION, _RELATION, _RELATION]
        self.lines += self.lines[-1:] or [line + int(breaks.sum())]

    def fault(self, problem: str) -> LineError:
        """Return the error that something is wrong at the next token."""
        return self.source.fault(self.lines[self.position], problem)

    def label(self) -> str:
        """Take a name with a colon behind it; empty if there is none."""
        if self.kinds[self.position] != _WORD or self.kinds[self.position + 1] != _COLON:
            return ""
        self.position += 2
        return self.texts[self.position - 2]

    def constant(self) -> float | None:
        """Take a number or an infinity, with a sign or without one; None if there is none.

        Before a side, HiGHS reads several signs, and SCIP and GLPK refuse them.
        """
        sign = 1.0
        start = self.position
        if self.kinds[self.position] == _SIGN:
            sign = -1.0 if self.texts[self.position] == "-" else 1.0
            self.position += 1
        if self.kinds[self.position] == _DIGITS:
            return sign * self.number()
        if self.texts[self.position].lower() in ("inf", "infinity"):
            self.position += 1
            return sign * np.inf
        self.position = start
        return None

    def number(self) -> float:
        """Take a number without sign."""
        value = float(self.texts[self.position])
        if value == np.inf:
            raise self.fault("expected a finite number")
        self.position += 1
        return value

    def terms(self, columns: list[int], values: list[float]) -> tuple[float, int]:
        """Read all terms up to a relation or the end into the lists of columns and coefficients.

        Returns
        -------
        constant, first
            The sum of the terms without a variable, and the first of their tokens (-1: there are
            none).
        """
        kinds = self.kinds
        texts = self.texts
        column_of = self.column_of
        total = 0.0
        first = -1
        first_position = self.position
        position = first_position  # a local name: this loop takes most of the time of a large file
        while kinds[position] != _RELATION:
            sign = 1.0
            term_start = position
            while kinds[position] == _SIGN:
                sign = -sign if texts[position] == "-" else sign
                position += 1
            kind = kinds[position]
            self.position = position
            if kind not in (_DIGITS, _WORD) or (
                term_start == position and term_start > first_position
            ):
                raise self.unexpected()
            if kind == _DIGITS:
                sign *= self.number()
                position += 1
                if kinds[position] != _WORD:
                    total += sign
                    first = position - 1 if first < 0 else first
                    continue
            name = texts[position]
            column = column_of.get(name)
            if column is None:
                self.position = position
                column = self.new_column(name)
            columns.append(column)
            values.append(sign)
            position += 1
        self.position = position
        return total, first

    def new_column(self, name: str) -> int:
        """Return the position of a variable that is met for the first time."""
        if name.lower() in _NO_NAMES:
            raise self.fault("expected a variable")
        return self.column_of.setdefault(name, len(self.column_of))

    def unexpected(self) -> LineError:
        """Return the error for a next token that does not fit the expression."""
        text = self.texts[self.position]
        if text in ("[", "]", "^", "*"):
            return self.fault(f"{text!r} makes it quadratic; expected a linear expression")
        if self.kinds[self.position] == _RELATION and text != ":":  # a sign stands before it
            self.position -= 1
        token = shown(self.texts[self.position])
        return self.fault(
            f"unexpected {token}; expected terms like 3 x with + or - between them, and <=, >= or = and a number"
        )


class _LpReader:
    """One pass over a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.content.decode()
        head = f"\n{text[:PIECE]}"  # no writer says more before the objective
        if title := _TITLE.search(head):
            head = head[: title.start()]
        lines = (match[0] for match in _LINE.finditer(head))
        self.comments = [line[1:].strip() for line in lines if line.startswith("\\")]
        by_glpk = bool(self.comments) and self.comments[0].startswith("* Problem: ")
        self.glpk = _GLPK_CONSTANT.search(text) if by_glpk else None
        self.text = re.sub(r"\\[^\n]*", "", text)
        if not text.isascii() and (space := re.search(r"[^\S \t\n]", self.text)):
            problem = f"character U+{ord(space[0]):04X} is a space; expected plain spaces"
            raise source.fault(self.text.count("\n", 0, space.start()) + 1, problem)
        self.column_of: dict[str, int] = {}
        self.new_columns: list[tuple[int, str]] = []
        self.row_names: list[str] = []
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []
        self.row_lines: list[int] = []
        self.of: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.bounds: tuple[dict[int, float], dict[int, float]] = {}, {}
        self.bound_lines: dict[int, int] = {}
        self.whole: dict[int, tuple[str, int]] = {}
        self.constructs = Constructs()

    def parse(self) -> Parsed:
        """Return what the file says."""
        for kind, title, text, line in self._sections():
            if kind == "objective":
                sense: Sense = "max" if title.lower().startswith("max") else "min"
                first_line = line
                c, offset = self._objective(text, line)
            elif kind == "constraints":
                self._constraints(text, line)
            elif kind == "bounds":
                self._bounds(text, line)
            elif kind in ("general", "binary", "semicontinuous"):
                self._names(kind, text, line)
            elif kind == "sets":
                self._sets(_Tokens(self.source, text, line, self.column_of))
            elif text.strip():
                number = line + text[: len(text) - len(text.lstrip())].count("\n")
                problem = (
                    f"unexpected {title}, or text after End; expected sections of a linear program"
                )
                raise self.source.fault(number, problem)
        c = np.pad(c, (0, len(self.column_of) - len(c))) + 0.0
        if not (np.isfinite(c).all() and np.isfinite(offset)):
            raise self.source.fault(
                first_line, "costs of one variable add up to more than the largest number"
            )
        return self._parsed(sense, c, offset)

    def _sections(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield kind, title, text below the title, and its first line, of each section in order."""
        text = f"\n{self.text}"
        titles = list(_TITLE.finditer(text))
        before = text[: titles[0].start()] if titles else text
        if before.strip() or not titles:
            number = before[: len(before) - len(before.lstrip())].count("\n")
            raise self.source.fault(
                number, "expected Maximize or Minimize at the beginning of an LP file"
            )
        if "end" not in {match.lastgroup for match in titles}:
            raise self.source.fault(
                self.source.last_line, "the file ends without End; it was cut off"
            )
        line = 0
        position = 0
        last_kind = ""
        seen: set[str] = set()
        for match, stop in zip(
            titles, [*(other.start() for other in titles[1:]), len(text)], strict=True
        ):
            kind = str(match.lastgroup)
            line += text.count("\n", position, match.end())
            position = match.end()
            if _ORDER.get(kind, _ANYWHERE) < (
                _ORDER.get(last_kind, _ANYWHERE) if last_kind else 0
            ) or (not last_kind and kind != "objective"):
                raise self.source.fault(
                    line,
                    "expected the objective, Subject To, Bounds, General, Binary and End, in this order",
                )
            if kind in seen and kind in ("objective", "constraints", "end"):
                raise self.source.fault(line, "a second section of this kind; expected one")
            seen.add(kind)
            last_kind = kind
            yield kind, match[0].strip(), text[position:stop], line

    def _objective(self, text: str, line: int) -> tuple[np.ndarray, float]:
        """Return costs of the columns, and the constant."""
        tokens = _Tokens(self.source, text, line, self.column_of)
        tokens.label()
        columns: list[int] = []
        values: list[float] = []
        constant, _ = tokens.terms(columns, values)
        if tokens.position < tokens.count:
            raise tokens.unexpected()
        return np.bincount(columns, weights=values) if columns else np.zeros(0), constant

    def _constraints(self, text: str, line: int) -> None:
        """Read the constraints."""
        labels: dict[str, int] = {}
        tokens = _Tokens(self.source, text, line, self.column_of)
        while tokens.position < tokens.count:
            line = tokens.lines[tokens.position]
            name = tokens.label()
            if name in labels:
                tokens.position -= 2
                raise tokens.fault(f"a second constraint; the first is in line {labels[name]}")
            if name:
                labels[name] = line
            self._constraint(tokens, line)
            self.row_names.append(name)
            self.row_lines.append(line)
        for i, name in enumerate(self.row_names):
            if not name:
                self.row_names[i] = unused(f"c{i + 1}", labels)

    def _constraint(self, tokens: _Tokens, line: int) -> None:
        """Read one constraint behind its label."""
        self._condition(tokens, line)
        start = tokens.position
        left_side = tokens.constant()
        left_relation = ""
        if (
            left_side is not None
            and tokens.kinds[tokens.position] == _RELATION
            and tokens.position < tokens.count
        ):
            left_relation = tokens.texts[tokens.position]
            tokens.position += 1
        else:
            tokens.position = start
        _, constant_position = tokens.terms(self.columns, self.values)
        self.of += [len(self.row_names)] * (len(self.columns) - len(self.of))
        if constant_position >= 0:
            tokens.position = constant_position
            raise tokens.fault("unexpected number without a variable; move it to the other side")
        relation_position = tokens.position
        relation = tokens.texts[tokens.position]
        tokens.position += bool(relation)
        right_side = tokens.constant()
        if not relation or right_side is None:
            raise tokens.fault(
                "expected <=, >= or = and a number, with one sign at most and all terms on its left"
            )
        position = tokens.position
        if (
            position < tokens.count
            and tokens.lines[position] == tokens.lines[position - 1]
            and not tokens.label()
        ):
            raise tokens.fault("unexpected word after the number on the right side")
        tokens.position = position
        low = right_side if "<" not in relation else -np.inf
        high = right_side if ">" not in relation else np.inf
        if left_relation:
            if "=" in (relation, left_relation) or ("<" in relation) != ("<" in left_relation):
                tokens.position = relation_position
                raise tokens.fault("no range; expected <= twice or >= twice")
            low, high = (left_side, high) if "<" in left_relation else (low, left_side)  # type: ignore[assignment]
        self.row_lower.append(low + 0.0)
        self.row_upper.append(high + 0.0)

    def _condition(self, tokens: _Tokens, line: int) -> None:
        """Take ``b = 1 ->`` before a constraint, if it is there."""
        position = tokens.position
        name, relation, value, *arrow = tokens.texts[position : position + 5]
        if tokens.kinds[position] == _WORD and relation == "=" and arrow == ["-", ">"]:
            if value not in ("0", "1"):
                tokens.position += 2
                raise tokens.fault("expected 0 or 1")
            column = self.column_of[name] if name in self.column_of else tokens.new_column(name)
            self.constructs.indicators[len(self.row_names)] = Indicator(column, int(value), line)
            tokens.position += 5

    def _column(self, name: str, line: int) -> int:
        if name not in self.column_of:
            self.new_columns.append((line, name))
        return self.column_of.setdefault(name, len(self.column_of))

    def _bounds(self, text: str, line: int) -> None:
        """Read bounds."""
        number = line
        position = 0
        begin = len(text) - len(text.lstrip())
        while begin < len(text):
            number += text.count("\n", position, begin)
            position = begin
            match = _BOUND.match(text, position)
            has_relation = match is not None and bool(match[1] or match[4] or match[6])
            if match is None or not has_relation or (match[1] and match[6]):
                expected = "expected a bound like 0 <= x <= 5, x >= -inf, x = 3 or x free"
                raise self.source.fault(number, expected)
            begin = match.end()
            low, left_relation, name, right_relation, high, free = match.groups()
            if name.lower() in _NO_NAMES:
                raise self.source.fault(number, "expected a variable")
            j = self._column(name, number)
            if free:
                self._set(number, j, 0, -np.inf)
                self._set(number, j, 1, np.inf)
            for value_text, relation, below in (
                (low, left_relation, "<"),
                (high, right_relation, ">"),
            ):
                if value_text is None:
                    continue
                value = float("".join(value_text.split()))
                if np.isinf(value) and "n" not in value_text.lower():
                    raise self.source.fault(number, "expected a finite number")
                for side in (0, 1):
                    if relation == "=" or (below in relation) == (side == 0):
                        self._set(number, j, side, value)

    def _set(self, number: int, j: int, side: int, value: float) -> None:
        earlier_value = self.bounds[side].setdefault(j, value + 0.0)
        if earlier_value != value:
            problem = f"its bound was {earlier_value} in line {self.bound_lines[j]}; expected one"
            raise self.source.fault(number, problem)
        self.bound_lines[j] = number

    def _names(self, kind: str, text: str, line: int) -> None:
        """Read the names of integer, binary or semi-continuous columns."""
        for j, number in self._members(text, line):
            if kind == "semicontinuous":
                self.constructs.semicontinuous[j] = number
            elif j not in self.whole or kind == "binary":
                self.whole[j] = kind, number

    def _members(self, text: str, line: int) -> Iterator[tuple[int, int]]:
        """Yield column and line of every name."""
        for number, content in _lines(text, line):
            for name in content.split():
                if not re.fullmatch(_NAME, name) or re.fullmatch(_TITLE_ANYWHERE, f" {name}"):
                    raise self.source.fault(number, "expected names of columns")
                yield self._column(name, number), number

    def _sets(self, tokens: _Tokens) -> None:
        """Read special ordered sets: ``name: S1 :: x : 1 y : 2``."""
        sets = self.constructs.sets
        kinds = tokens.kinds
        texts = tokens.texts
        while tokens.position < tokens.count:
            line = tokens.lines[tokens.position]
            name = tokens.label()
            kind = ""
            if name.upper() in ("S1", "S2") and kinds[tokens.position] == _COLON:
                name, kind = f"set{len(sets) + 1}", name.upper()
            elif name:
                kind = tokens.label().upper()
            if kind not in ("S1", "S2") or kinds[tokens.position] != _COLON:
                raise tokens.fault("expected a set like name: S1 :: x : 1 y : 2")
            tokens.position += 1
            sets.append(OrderedSet(name, int(kind[1]), line))
            while kinds[tokens.position : tokens.position + 3] == [_WORD, _COLON, _DIGITS]:
                j = self._column(texts[tokens.position], tokens.lines[tokens.position])
                sets[-1].add(j, float(texts[tokens.position + 2]), tokens.fault)
                tokens.position += 3

    def _parsed(self, sense: Sense, c: np.ndarray, offset: float) -> Parsed:
        """Put the sections together."""
        n = len(self.column_of)
        m = len(self.row_names)
        names = list(self.column_of)
        row_lower = np.array(self.row_lower, dtype=float)
        row_upper = np.array(self.row_upper, dtype=float)
        row_lines = np.array(self.row_lines, dtype=np.int64)
        lower = np.zeros(n)
        upper = np.full(n, np.inf)
        lines = np.ones(n, dtype=np.int64)
        integrality = np.zeros(n, dtype=np.uint8)
        whole = np.fromiter(self.whole, np.int64, len(self.whole))
        is_binary = np.array([kind == "binary" for kind, _ in self.whole.values()], dtype=bool)
        integrality[whole] = 1
        lines[whole] = [number for _, number in self.whole.values()]
        upper[whole[is_binary]] = 1.0
        lines[list(self.bound_lines)] = list(self.bound_lines.values())
        for bounds, bound_of in zip((lower, upper), self.bounds, strict=True):
            bounds[list(bound_of)] = list(bound_of.values())
        is_wide = is_binary & ~((lower[whole] >= 0) & (upper[whole] <= 1))
        for j in whole[is_wide][:1].tolist():
            line = self.whole[j][1]
            problem = f"{shown(names[j])} is binary (line {line}); expected bounds between 0 and 1"
            raise self.source.fault(int(lines[j]), problem)
        exact = is_ours(self.comments) is not None
        settle(
            self.source,
            lower,
            upper,
            lambda j: f"{shown(names[j])}, by default at least 0,",
            lines,
            exact,
        )
        settle(
            self.source,
            row_lower,
            row_upper,
            lambda i: f"row {shown(self.row_names[i])}",
            row_lines,
            exact,
        )
        if self.new_columns:
            line, name = self.new_columns[0]
            self.source.warn(
                f"line {line}: {shown(name)} occurs neither in the objective nor in a constraint; "
                "it is a new column "
                f"({len(self.new_columns)} such)"
            )
        if self.glpk and not offset:
            offset = float(self.glpk[1])
            self.source.warn(
                "written by GLPK, which gives the objective's constant in a comment that others "
                "ignore"
            )
        entries = coo_array((self.values, (self.of, self.columns)), (m, n), dtype=float).tocsc()
        # SciPy has added the coefficients of a variable that occurs twice
        entries.eliminate_zeros()
        if not np.isfinite(entries.data).all():
            line = int(row_lines[entries.indices[~np.isfinite(entries.data)][0]])
            raise self.source.fault(
                line, "coefficients of one variable add up to more than the largest number"
            )
        parsed = Parsed(
            "", sense, offset + 0.0, c, entries, row_lower, row_upper, lower, upper, integrality, self.row_names, names,
            self.comments,
        )  # fmt: skip
        return self.constructs.compiled(self.source, parsed)


def _lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield number and content of every line that is not blank."""
    number = first
    last = 0
    for match in _LINE.finditer(text):
        number += text.count("\n", last, match.start())
        last = match.start()
        yield number, match[0]


_CONSTANTS: Final = get_args(Constant)
#: Terms fill lines up to this many characters.
_WIDTH: Final = 110
#: Longest line before a row's bound, which has less than 30 characters: with it, lines stay below
#: 255.
_LONGEST_LINE: Final = 200


def write_lp(
    program: Program,
    path_or_file: Target,
    *,
    names: Names = "labels",
    constant: Constant = "column",
) -> list[Path]:
    """Write a Program in the CPLEX LP format.

    Parameters
    ----------
    program : Program
    path_or_file : path or file object
        A path ending in ``.gz`` is compressed. A path is written whole or not at all.
    names : {"labels", "numbers"}
        Names from blocks and labels, ``capacity.server3.cpu``, or positions in the Program, ``r7``
        and ``c12``.
    constant : {"column", "term"}
        The objective's constant is the cost of a column fixed at 1, which all readers read alike,
        or a term of the objective, which reads better, but GLPK refuses it and COIN loses it when
        minimising.

    Returns
    -------
    list of Path
        The files written: the model, and ``<path>.names.json`` if names had to be changed; none for
        a file object.

    Raises
    ------
    ModelError
        If the objective has logarithms, or a lower bound is above the upper one.

    Notes
    -----
    Readers number the columns as they meet them, so match answers by name. A row with two different
    bounds becomes two, ``name.lower`` and ``name.upper``: HiGHS, GLPK, SCIP and COIN all refuse ``1
    <= x + y <= 2``. Rows without any bound are left out. GLPK refuses a file without any
    constraint; as MPS it reads it.
    """
    require_known(constant, _CONSTANTS, f"no way to write a constant is called {constant!r}")
    check_writable(program, "the LP format")
    use = naming(program, names)
    row_names, row_map = _split_names(program, use)
    return write_model(
        path_or_file, _parts(program, use, row_names, constant), row_map, use.column_map
    )


def _split_names(program: Program, use: Naming) -> tuple[list[tuple[str, str]], NameMap]:
    """Return the file names of each row's lower and upper bound, and the map for the side file."""
    lower = program.row_lower
    upper = program.row_upper
    ranged = np.isfinite(lower) & np.isfinite(upper) & (lower != upper)
    free = np.isinf(lower) & np.isinf(upper)
    pairs = [(name, name) for name in use.rows]
    if not ranged.any() and not free.any():
        return pairs, use.row_map
    used_names = {*use.rows, use.objective}
    row_map = {}
    entries = explained(program.rows, use.rows, ranged)
    for i, name in enumerate(use.rows):
        if ranged[i]:
            pairs[i] = unused(f"{name}.lower", used_names), unused(f"{name}.upper", used_names)
            used_names.update(pairs[i])
            row_map.update(dict.fromkeys(pairs[i], entries[name]))
        elif name in use.row_map and not free[i]:
            row_map[name] = use.row_map[name]
    return pairs, row_map


def _parts(
    program: Program, names: Naming, row_names: list[tuple[str, str]], constant: Constant
) -> Iterator[str]:
    """Yield the file, section by section."""
    is_bounded = bounded_rows(program)
    has_column = bool(program.offset) and constant == "column"
    # terms without a variable are refused by GLPK, so a program without columns gets one as well
    extra = names.constant if has_column or not program.n_columns else None

    head = about(program)
    if extra is not None:
        head.append(f"The objective's constant is the cost of column {extra}, which is fixed at 1.")
    if any(first != second for first, second in row_names):
        head.append("A row with two bounds is written as two: name.lower and name.upper.")
    head += left_out(is_bounded)
    yield comment("\\", head) + ("Maximize\n" if program.sense == "max" else "Minimize\n")
    yield _objective(program, names, is_bounded, extra)
    yield "Subject To\n"
    yield from _constraints(program, names, is_bounded, row_names, extra)

    binary = program.integrality.astype(bool) & (program.col_lower == 0) & (program.col_upper == 1)
    bounds = "".join(_bounds(program, names.columns, ~binary))
    if extra is not None:
        bounds += f" {extra} = 1\n"
    if bounds:
        yield f"Bounds\n{bounds}"
    for title, members in (
        ("General", program.integrality.astype(bool) & ~binary),
        ("Binary", binary),
    ):
        which = [names.columns[j] for j in np.flatnonzero(members).tolist()]
        if which:
            yield f"{title}\n" + _wrap(" ", which, "\n")
    yield "End\n"


def _objective(program: Program, names: Naming, is_bounded: np.ndarray, extra: str | None) -> str:
    """Return the objective, with a cost of 0 for each column that occurs nowhere else.

    Readers would not know such a column otherwise.
    """
    is_used = np.zeros(program.n_columns, dtype=bool)
    entries = program.A.tocoo(copy=False)
    is_used[entries.col[is_bounded[entries.row]]] = True
    which = np.flatnonzero((program.c != 0) | ~is_used)
    if not which.size and program.n_columns:
        which = np.zeros(1, dtype=int)
    terms = _terms(program.c[which], [names.columns[j] for j in which.tolist()])
    if extra is not None:
        terms += _terms(np.array([program.offset]), [extra])
    elif program.offset:
        sign = "-" if program.offset < 0 else "+"
        terms.append(f"{sign} {decimal(abs(program.offset))}")
    return _wrap(f" {names.objective}: ", terms, "\n")


def _constraints(
    program: Program,
    names: Naming,
    is_bounded: np.ndarray,
    row_names: list[tuple[str, str]],
    extra: str | None,
) -> Iterator[str]:
    """Yield the rows, each on lines of its own."""
    matrix = program.A.tocsr()
    matrix.sort_indices()
    starts = matrix.indptr.tolist()
    columns = np.array(names.columns, dtype=object)
    terms = _terms(matrix.data, columns[matrix.indices].tolist())
    longest = max(map(len, terms), default=0)
    nothing = [f"0 {names.columns[0] if names.columns else extra}"]
    lower = decimals(program.row_lower)
    upper = decimals(program.row_upper)
    has_lower = np.isfinite(program.row_lower).tolist()
    has_upper = np.isfinite(program.row_upper).tolist()
    equal = (program.row_lower == program.row_upper).tolist()
    for i in np.flatnonzero(is_bounded).tolist():
        row = terms[starts[i] : starts[i + 1]] or nothing
        first, second = row_names[i]
        if equal[i]:
            yield _wrap(f" {first}: ", row, f" = {lower[i]}\n", longest)
            continue
        if has_lower[i]:
            yield _wrap(f" {first}: ", row, f" >= {lower[i]}\n", longest)
        if has_upper[i]:
            yield _wrap(f" {second}: ", row, f" <= {upper[i]}\n", longest)


def _bounds(program: Program, names: list[str], columns: np.ndarray) -> Iterator[str]:
    """Yield the bounds of the wanted columns, save continuous ones on [0, inf), the default."""
    lower = program.col_lower
    upper = program.col_upper
    which = np.flatnonzero(
        columns & ((program.integrality != 0) | (lower != 0) | (upper != np.inf))
    )
    for j, low, high in zip(
        which.tolist(), decimals(lower[which]), decimals(upper[which]), strict=True
    ):
        if lower[j] == upper[j]:
            yield f" {names[j]} = {low}\n"
        elif lower[j] == -np.inf and upper[j] == np.inf:
            yield f" {names[j]} free\n"
        elif upper[j] == np.inf:
            yield f" {names[j]} >= {low}\n"
        else:
            yield f" {low} <= {names[j]} <= {high}\n"


def _terms(values: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return ``+ 3 x``, ``- x``, … for every coefficient."""
    signs = np.where(values < 0, "- ", "+ ").tolist()
    sizes = [f"{text} " if text != "1" else "" for text in decimals(np.abs(values))]
    return [sign + size + name for sign, size, name in zip(signs, sizes, names, strict=True)]


def _wrap(head: str, terms: Sequence[str], tail: str, longest: int = 0) -> str:
    """Return head, terms and tail on lines short enough for every reader.

    The first term has no plus.
    """
    longest = longest or max(map(len, terms), default=0)
    terms_per_line = max(1, _WIDTH // (longest + 1))
    starts = range(0, len(terms), terms_per_line)
    lines = [" ".join(terms[start : start + terms_per_line]) for start in starts]
    body = "\n  ".join(lines).removeprefix("+ ")
    first = max(longest, _WIDTH)
    is_too_long = len(head) + first > _LONGEST_LINE
    return head + ("\n  " if is_too_long else "") + body + tail
