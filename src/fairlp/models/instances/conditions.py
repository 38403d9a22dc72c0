"""A small, safely read language of conditions on servers, such as ``memory >= 64``.

Python's own parser reads the text and nothing of it is ever run: only names of server attributes
and resources, values, comparisons, ``in``, ``and``, ``or`` and ``not`` are understood. See
``docs/file-formats.md``.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ...errors import InstanceError, nearest, quoted
from ..notation.combinations import listed_numbers
from ..notation.expressions import Index
from ..notation.labels import aligned, is_table
from . import checks

__all__ = ["Columns", "condition_text", "evaluate", "is_missing"]

#: Begins the names that stand for names in backticks while Python's parser reads a condition.
_MARK = "ǃ"
#: A string literal, which is left as it is, or a name in backticks, or a line break outside of
#: both. A literal that does not end goes to the end of the text, so that nothing is looked at
#: twice: the time is linear in the length.
_QUOTED = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*+(?:'|\\?\Z)|"(?:\\.|[^"\\])*+(?:"|\\?\Z))|`(?P<name>[^`]+)`|(?P<break>[\r\n])""",
    re.DOTALL,
)
#: Characters of the longest condition.
_MOST_LETTERS = 100_000
_EQUAL: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def is_missing(value: Any) -> bool:
    """Return whether a table's entry is missing: None, NaN, NA or NaT."""
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float) and math.isnan(value))
    )


@dataclass(frozen=True)
class Column:
    """An attribute of all servers: each one's position in ``values``, or -1 where it is missing."""

    name: str
    codes: np.ndarray
    values: list[Any]
    kinds: frozenset[str]

    @classmethod
    def of(cls, name: str, entries: Iterable[Any]) -> Column:
        """Return the column of these entries, each distinct value kept once."""
        code_of: dict[Any, int] = {}
        codes = []
        for entry in entries:
            value = entry.item() if isinstance(entry, np.generic) else entry
            if is_missing(value):
                codes.append(-1)
                continue
            if not isinstance(value, (str, int, float)):
                raise InstanceError(
                    f"attribute {name!r} holds {type(value).__name__}; conditions compare text, "
                    "numbers and True/False"
                )
            codes.append(code_of.setdefault(value, len(code_of)))
        return cls(
            name, np.array(codes, dtype=np.int64), list(code_of), frozenset(map(_kind, code_of))
        )

    def where(self, holds: Callable[[Any], bool]) -> np.ndarray:
        """Return for each server whether ``holds`` is true of its value; False if it is missing."""
        results = [*map(holds, self.values), False]  # the last for a missing value, of code -1
        return np.asarray(np.array(results, dtype=bool)[self.codes])


class Columns:
    """The names for conditions: attributes and capacities of servers, each looked up once."""

    def __init__(
        self, attributes: pd.DataFrame, capacities: np.ndarray, resources: Iterable[Any]
    ) -> None:
        self.size = len(capacities)
        self.names: list[str] = []
        self._entries: dict[str, list[Callable[[], list[Any]]]] = {}
        self._columns: dict[str, Column] = {}
        for position, name in enumerate(attributes.columns):
            self._add(str(name), lambda k=position: attributes.iloc[:, k].tolist())  # type: ignore[misc]
        for position, name in enumerate(resources):
            self._add(str(name), lambda k=position: capacities[:, k].tolist())  # type: ignore[misc]

    def _add(self, name: str, entries: Callable[[], list[Any]]) -> None:
        self._entries.setdefault(name, []).append(entries)
        if len(self._entries[name]) == 1:
            self.names.append(name)

    def find(self, name: str) -> Column | None:
        """Return the column of that name, or None; two of one name are an error."""
        if name not in self._columns:
            sources = self._entries.get(name, [])
            if len(sources) > 1:
                raise InstanceError(
                    f"{name!r} is the name of two columns (attributes or resources); rename one"
                )
            if not sources:
                return None
            self._columns[name] = Column.of(name, sources[0]())
        return self._columns[name]


def evaluate(text: str, columns: Columns, whose: str) -> np.ndarray:
    """Return for each server whether the condition holds there.

    Parameters
    ----------
    text : str
    columns : Columns
    whose : str
        Who has the condition, for error messages ("user 'ann'").

    Raises
    ------
    InstanceError
        For a syntax error (with its position), an unknown name (with the nearest), or text compared
        with a number.

    Examples
    --------
    >>> servers = pd.DataFrame({"gpu_model": ["T4", "P100", None]})
    >>> columns = Columns(servers, np.array([[64.0], [32.0], [64.0]]), ["memory"])
    >>> evaluate("gpu_model != 'T4' or memory >= 64", columns, "user 'ann'")
    array([ True,  True,  True])
    >>> evaluate("gpu_model != 'T4'", columns, "user 'ann'")  # nothing is true of a missing value
    array([False,  True, False])
    """
    return _Condition(text.strip(), columns, whose).evaluate()


def condition_text(allowed: Mapping[Any, Any], whose: str) -> str:
    """Return the condition that each attribute has one of its allowed values.

    >>> condition_text({"gpu_model": {"T4", "P100"}, "disk size": 2}, "user 'ann'")
    "gpu_model in ['P100', 'T4'] and `disk size` == 2"
    """
    parts = []
    for name, values in allowed.items():
        if not isinstance(name, str) or "`" in name or not name:
            raise InstanceError(
                f"{whose} has a condition on {name!r}; expected a name without backticks"
            )
        plain = (
            name.isidentifier()
            and not keyword.iskeyword(name)
            and unicodedata.normalize("NFKC", name) == name
        )
        shown = name if plain and not name.startswith(_MARK) else f"`{name}`"
        if isinstance(values, (set, frozenset)):
            values = sorted(values, key=lambda value: (str(type(value)), value))
        if isinstance(values, (list, tuple, np.ndarray, pd.Series, pd.Index)):
            texts = [_literal_text(value, name, whose) for value in values]
            parts.append(f"{shown} in [{', '.join(texts)}]")
        else:
            parts.append(f"{shown} == {_literal_text(values, name, whose)}")
    return " and ".join(parts)


def _literal_text(value: Any, name: str, whose: str) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (str, int, float)) or repr(value) in ("nan", "inf", "-inf"):
        raise InstanceError(
            f"{whose} allows {quoted(value)} for attribute {name!r}; expected text, a number or a flag"
        )
    return repr(value)


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "number"


class _Condition:
    """One condition: its text, what it may name, and whose it is."""

    def __init__(self, text: str, columns: Columns, whose: str) -> None:
        self.text = text
        self.columns = columns
        self.whose = whose
        self._backticks: dict[str, str] = {}
        if len(text) > _MOST_LETTERS:
            self._fail(f"expected at most {_MOST_LETTERS:,} characters")
        self._source = _QUOTED.sub(self._stand_in, text)

    def evaluate(self) -> np.ndarray:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self._source, mode="eval")
            return self._truth(tree.body)
        except SyntaxError as error:
            self._fail(
                f"{error.msg} at position {error.offset or len(self.text)}; write as in: gpu_model == 'T4'"
            )
        except (ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, InstanceError):
                raise
            self._fail(f"it cannot be read ({error})")

    def _stand_in(self, match: re.Match[str]) -> str:
        """Return the name, of equal length, that replaces one in backticks for Python's parser."""
        if match["text"]:
            return match["text"]
        if match["break"]:
            return " "
        room = len(match[0]) - len(_MARK)
        name = f"{_MARK}{len(self._backticks):0{room}x}"
        self._backticks[name] = match["name"]
        return name

    def _fail(self, problem: str) -> NoReturn:
        raise InstanceError(f"condition of {self.whose}, {quoted(self.text)}: {problem}") from None

    def _shown(self, node: ast.AST) -> str:
        source = ast.get_source_segment(self._source, node) or ""
        for name, original in self._backticks.items():
            source = source.replace(name, f"`{original}`")
        return source

    def _truth(self, node: ast.expr) -> np.ndarray:
        if isinstance(node, ast.BoolOp):
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(combine.reduce([self._truth(value) for value in node.values]))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self._truth(node.operand)
        if isinstance(node, ast.Compare):
            holds = np.ones(self.columns.size, dtype=bool)
            for left, op, right in zip(
                [node.left, *node.comparators], node.ops, node.comparators, strict=False
            ):
                holds &= self._comparison(left, op, right)
            return holds
        operand = self._operand(node)
        values = operand.values if isinstance(operand, Column) else [operand]
        if not all(isinstance(value, bool) for value in values):
            self._fail(f"{self._shown(node)!r} is not True or False by itself; compare it")
        if isinstance(operand, Column):
            return operand.where(bool)
        return np.full(self.columns.size, operand)

    def _comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> np.ndarray:
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._membership(left, right, isinstance(op, ast.In))
        holds = _EQUAL.get(type(op)) or _ORDER.get(type(op))
        if holds is None:
            self._fail("'is' is not understood; write == or !=")
        a = self._operand(left)
        b = self._operand(right)
        self._same_kind(a, b, ordered=type(op) in _ORDER)
        if isinstance(a, Column) and isinstance(b, Column):
            pairs = zip(a.codes.tolist(), b.codes.tolist(), strict=True)
            equal = [i >= 0 and j >= 0 and holds(a.values[i], b.values[j]) for i, j in pairs]
            return np.array(equal, dtype=bool)
        if isinstance(a, Column):
            return a.where(lambda value: holds(value, b))
        if isinstance(b, Column):
            return b.where(lambda value: holds(a, value))
        return np.full(self.columns.size, holds(a, b))

    def _membership(self, left: ast.expr, right: ast.expr, inside: bool) -> np.ndarray:
        if not isinstance(right, (ast.List, ast.Tuple, ast.Set)):
            self._fail("'in' needs a list of values, such as ['T4', 'P100']")
        operand = self._operand(left)
        allowed = [self._literal(element) for element in right.elts]
        for value in allowed:
            self._same_kind(operand, value, ordered=False)
        if isinstance(operand, Column):
            among = set(allowed)
            return operand.where(lambda value: (value in among) == inside)
        return np.full(self.columns.size, (operand in allowed) == inside)

    def _operand(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Name):
            return self._literal(node)
        name = self._backticks.get(node.id, node.id)
        column = self.columns.find(name)
        if column is None:
            self._fail(
                f"no attribute or resource of servers is called {name!r}; "
                f"{nearest(name, self.columns.names)} (text needs quotes, True and False are capital)"
            )
        return column

    def _literal(self, node: ast.expr) -> str | int | float:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self._literal(node.operand)
            if not isinstance(value, (str, bool)):
                return -value if isinstance(node.op, ast.USub) else value
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float)):
            return node.value
        position = len(self._source.encode()[: node.col_offset].decode(errors="ignore")) + 1
        self._fail(
            f"{self._shown(node)!r} at position {position} is not understood; expected names, text in "
            "quotes, numbers, True/False, comparisons, in [...], and, or, not"
        )

    def _same_kind(self, a: Any, b: Any, *, ordered: bool) -> None:
        """Refuse to compare text with a number; values that are missing are of no kind."""
        kinds_a, kinds_b = (
            x.kinds if isinstance(x, Column) else frozenset([_kind(x)]) for x in (a, b)
        )
        if (
            kinds_a
            and kinds_b
            and ((ordered and len(kinds_a | kinds_b) > 1) or not kinds_a & kinds_b)
        ):
            self._fail("text cannot be compared with numbers; expected two texts or two numbers")


# Where users may run: every way to say it becomes one table of users × servers.

#: The condition of each user that has one.
Conditions = tuple[str | None, ...]
_FLAG = (bool, np.bool_)
_NUMBER = (int, float, np.number)
_LIST = (list, tuple, set, frozenset, np.ndarray)


def resolve(
    eligible: Any, n: Index, i: Index, c: np.ndarray, r: Index, attributes: pd.DataFrame | None
) -> tuple[np.ndarray | None, Conditions]:
    """Return where each user may run, and the conditions that said so.

    Parameters
    ----------
    eligible : None, array_like, DataFrame, Series, mapping or list
        None (everywhere); True/False (or 1/0) for each user and server; or one entry for each user:
        None, NaN or "" (everywhere), a condition on servers (text), a list of servers, or a mapping
        from attributes to allowed values. A mapping keyed by users may leave users out, who may
        then run everywhere.
    n, i, r : Index
        Users, servers and resources.
    c : ndarray, shape (K, R)
        Capacities, which conditions may name.
    attributes : DataFrame or None
        Attributes of servers, which conditions may name.

    Returns
    -------
    mask : ndarray of bool, shape (N, K), or None
        None when everyone may run everywhere.
    conditions : tuple of (str or None)
        One for each user, or empty when no user has any.

    Raises
    ------
    InstanceError
        Naming the user and what is wrong; also when a user may run nowhere.

    Examples
    --------
    >>> n, i, r = Index("n", ["ann", "bob"]), Index("i", ["s1", "s2"]), Index("r", ["memory"])
    >>> mask, conditions = resolve(["memory >= 64", ["s1"]], n, i, np.array([[32.0], [64.0]]), r, pd.DataFrame())
    >>> mask.tolist(), conditions
    ([[False, True], [True, False]], ('memory >= 64', None))
    """
    conditions: Conditions = ()
    if eligible is None:
        return None, conditions
    table = _table(eligible, n, i)
    if table is not None:
        mask = _mask_of_table(table, n, i)
    else:
        columns = Columns(pd.DataFrame() if attributes is None else attributes, c, r)
        mask, conditions = _mask_of_entries(_entries(eligible, n), n, i, columns)
    problem = "has no eligible server; expected at least one (relax its condition, or leave it out)"
    checks.refuse_label(~mask.any(axis=1), n, problem)
    return (None if mask.all() else mask), conditions


def _table(eligible: Any, n: Index, i: Index) -> np.ndarray | None:
    """Return a table of users × servers as an array, or None where each user has one entry."""
    if is_table(eligible) or isinstance(eligible, np.ma.MaskedArray):
        return np.asarray(aligned(eligible, (n, i), "eligible", InstanceError))
    if isinstance(eligible, np.ndarray):
        return None if eligible.ndim == 1 and eligible.dtype.kind not in "biuf" else eligible
    if not isinstance(eligible, (list, tuple)) or not eligible:
        return None
    numbers_are_labels = any(isinstance(label, int) for label in i)
    if _are_flags(eligible, False) or all(_are_flags(row, numbers_are_labels) for row in eligible):
        return np.array(eligible, dtype=object)
    return None


def _are_flags(row: Any, numbers_are_labels: bool) -> bool:
    """Return whether a row is True/False (or 1/0) for each server rather than a list of servers."""
    if not isinstance(row, (list, tuple, np.ndarray)) or len(row) == 0:
        return False
    kinds = _FLAG if numbers_are_labels else (*_FLAG, *_NUMBER)
    return all(isinstance(entry, kinds) for entry in row)


def _mask_of_table(table: np.ndarray, n: Index, i: Index) -> np.ndarray:
    if table.shape != (len(n), len(i)):
        raise InstanceError(
            f"eligible has shape {table.shape}; expected {(len(n), len(i))}, True or False for each user and "
            "server (or one condition or list of servers for each user)"
        )
    if table.dtype == bool:
        return table.copy()
    yes = np.asarray(table == 1, dtype=bool)
    for user, server in np.argwhere(~yes & np.asarray(table != 0, dtype=bool))[:1].tolist():
        raise InstanceError(
            f"eligible of user {quoted(n[user])} on server {quoted(i[server])} is "
            f"{quoted(table[user, server])}; expected True or False"
        )
    return yes


def _entries(eligible: Any, n: Index) -> Sequence[Any]:
    """Return one entry for each user, in order."""
    if isinstance(eligible, (pd.Series, Mapping)):
        listed = listed_numbers(eligible, (n,), "eligible", InstanceError)
        entry_of = {} if listed is None else dict(zip(*listed, strict=True))
        return [entry_of.get(user) for user in range(len(n))]
    is_list = isinstance(eligible, (list, tuple, np.ndarray, pd.Index))
    if not is_list or len(eligible) != len(n):
        raise InstanceError(
            f"eligible is {quoted(eligible)}; expected users × servers, or one entry for each of {len(n)} users"
        )
    return list(eligible)


def _mask_of_entries(
    entries: Sequence[Any], n: Index, i: Index, columns: Columns
) -> tuple[np.ndarray, Conditions]:
    mask = np.ones((len(n), len(i)), dtype=bool)
    position = {label: k for k, label in enumerate(i)}
    conditions: list[str | None] = [None] * len(n)
    users_of: dict[str, list[int]] = {}
    for k, entry in enumerate(entries):
        if is_missing(entry) or (isinstance(entry, str) and not entry.strip()):
            continue
        if isinstance(entry, Mapping):
            entry = condition_text(entry, f"user {quoted(n[k])}")
            if not entry:
                continue
        if isinstance(entry, str):
            conditions[k] = str(entry)
            users_of.setdefault(str(entry), []).append(k)
        elif isinstance(entry, (*_LIST, pd.Index, pd.Series)):
            mask[k] = False
            mask[k, _positions(entry, n[k], position)] = True
        else:
            raise InstanceError(
                f"eligible of user {quoted(n[k])} is {quoted(entry)}; expected a condition (text), a list of "
                "servers, a mapping from attributes to values, or None"
            )
    for text, users in users_of.items():
        mask[users] = evaluate(text, columns, f"user {quoted(n[users[0]])}")
    return mask, (tuple(conditions) if users_of else ())


def _positions(servers: Iterable[Any], user: Any, position: Mapping[Any, int]) -> list[int]:
    positions = []
    for server in servers:
        is_label = (
            isinstance(server, (str, int, np.integer))
            and not isinstance(server, bool)
            and server in position
        )
        if not is_label:
            raise InstanceError(
                f"eligible of user {user!r} names server {quoted(server)}, which is unknown; "
                f"{nearest(server, position)}"
            )
        positions.append(position[server])
    return positions
