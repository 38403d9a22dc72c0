"""Where users may run: every way to say it becomes one table of users × servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, nearest
from ..notation.expressions import Index
from ..notation.labels import aligned, is_default, is_table
from . import checks
from .conditions import Columns, condition_text, evaluate, is_missing

#: The condition of each user that has one.
Conditions = tuple[str | None, ...]
_FLAG = (bool, np.bool_)
_NUMBER = (int, float, np.number)
_LIST = (list, tuple, set, frozenset, np.ndarray, pd.Index, pd.Series)


def resolve(
    eligible: Any, n: Index, i: Index, c: np.ndarray, r: Index, attributes: pd.DataFrame
) -> tuple[np.ndarray | None, Conditions]:
    """Return where each user may run, and the conditions that said so.

    Parameters
    ----------
    eligible : None, array_like, DataFrame, Series, mapping or list
        None (everywhere); True/False (or 1/0) for each user and server; or one entry for each user: None, NaN or ""
        (everywhere), a condition on servers (text), a list of servers, or a mapping from attributes to allowed values.
        A mapping keyed by users may leave users out, who may then run everywhere.
    n, i, r : Index
        Users, servers and resources.
    c : ndarray, shape (K, R)
        Capacities, which conditions may name.
    attributes : DataFrame
        Attributes of servers, which conditions may name.

    Returns
    -------
    mask : ndarray of bool, shape (N, K), or None
        None when everyone may run everywhere.
    conditions : tuple of (str or None)
        One for each user, or empty when nobody has any.

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
        mask, conditions = _mask_of_entries(_entries(eligible, n), n, i, Columns(attributes, c, r))
    checks.eligible_somewhere(mask, n)
    return (None if mask.all() else mask), conditions


def _table(eligible: Any, n: Index, i: Index) -> np.ndarray | None:
    """Return what is a table of users × servers as an array, or None when there is one entry for each user."""
    if is_table(eligible):
        return np.asarray(aligned(eligible, (n, i), "eligible", InstanceError))
    if isinstance(eligible, np.ndarray):
        return None if eligible.ndim == 1 and eligible.dtype.kind not in "biuf" else eligible
    if not isinstance(eligible, (list, tuple)) or not eligible:
        return None
    numbers_are_labels = any(isinstance(label, int) for label in i)
    if all(isinstance(entry, (*_FLAG, *_NUMBER)) and not is_missing(entry) for entry in eligible):
        return np.array(eligible)
    if not all(_are_flags(row, numbers_are_labels) for row in eligible):
        return None
    if len(eligible) == len(n):
        for user, row in zip(n, eligible, strict=True):
            if len(row) != len(i):
                raise InstanceError(
                    f"eligible has {len(row)} entries for user {user!r}; expected {len(i)}, True or False for each "
                    "server (or a list of servers)"
                )
    widths = {len(row) for row in eligible}
    if len(widths) > 1:
        raise InstanceError(f"eligible has {len(eligible)} rows; expected {len(n)}, one for each user")
    return np.array([list(row) for row in eligible])


def _are_flags(row: Any, numbers_are_labels: bool) -> bool:
    """Return whether a row is True/False (or 1/0) for each server rather than a list of servers."""
    if not isinstance(row, (list, tuple, np.ndarray)) or len(row) == 0:
        return False
    kinds = _FLAG if numbers_are_labels else (*_FLAG, *_NUMBER)
    return all(isinstance(entry, kinds) for entry in row)


def _mask_of_table(table: np.ndarray, n: Index, i: Index) -> np.ndarray:
    if table.shape != (len(n), len(i)):
        raise InstanceError(
            f"eligible has shape {table.shape}; expected {(len(n), len(i))}, True or False for each user and server "
            "(or one condition or list of servers for each user)"
        )
    if table.dtype == bool:
        return table.copy()
    if table.dtype.kind not in "iufO":
        raise InstanceError(f"eligible is of type {table.dtype}; expected True or False for each user and server")
    yes, no = np.asarray(table == 1, dtype=bool), np.asarray(table == 0, dtype=bool)
    wrong = ~(yes | no)
    if wrong.any():
        user, server = (int(k) for k in np.argwhere(wrong)[0])
        raise InstanceError(
            f"eligible of user {n[user]!r} on server {i[server]!r} is {table[user, server]!r}; expected True or False"
        )
    return yes


def _entries(eligible: Any, n: Index) -> Sequence[Any]:
    """Return one entry for each user, in order."""
    if isinstance(eligible, pd.Series):
        eligible = list(eligible) if is_default(eligible.index, n) else _by_user(eligible)
    if isinstance(eligible, Mapping):
        for user in eligible:
            if user not in n:
                raise InstanceError(f"eligible names user {user!r}, who is unknown; {nearest(user, n)}")
        return [eligible.get(user) for user in n]
    if isinstance(eligible, str) or not isinstance(eligible, (list, tuple, np.ndarray, pd.Index)):
        raise InstanceError(
            f"eligible is {type(eligible).__name__}; expected users × servers, or one entry for each user in a list or "
            "a mapping"
        )
    if len(eligible) != len(n):
        raise InstanceError(f"eligible has {len(eligible)} entries; expected {len(n)}, one for each user")
    return list(eligible)


def _by_user(eligible: pd.Series[Any]) -> dict[Any, Any]:
    if not eligible.index.is_unique:
        twice = eligible.index[eligible.index.duplicated()][0]
        raise InstanceError(f"eligible has user {twice!r} twice; expected each once")
    return dict(zip(eligible.index, eligible, strict=True))


def _mask_of_entries(entries: Sequence[Any], n: Index, i: Index, columns: Columns) -> tuple[np.ndarray, Conditions]:
    mask = np.ones((len(n), len(i)), dtype=bool)
    position = {label: k for k, label in enumerate(i)}
    conditions: list[str | None] = [None] * len(n)
    users_of: dict[str, list[int]] = {}
    for k, entry in enumerate(entries):
        if is_missing(entry) or (isinstance(entry, str) and not entry.strip()):
            continue
        if isinstance(entry, Mapping):
            entry = condition_text(entry, f"user {n[k]!r}")
            if not entry:
                continue
        if isinstance(entry, str):
            conditions[k] = str(entry)
            users_of.setdefault(str(entry), []).append(k)
        elif isinstance(entry, _LIST):
            mask[k] = False
            mask[k, _positions(entry, n[k], position)] = True
        else:
            raise InstanceError(
                f"eligible of user {n[k]!r} is {entry!r} ({type(entry).__name__}); expected a condition (text), a list "
                "of servers, a mapping from attributes to values, or None"
            )
    for text, users in users_of.items():
        mask[users] = evaluate(text, columns, f"user {n[users[0]]!r}")
    return mask, (tuple(conditions) if users_of else ())


def _positions(servers: Iterable[Any], user: Any, position: Mapping[Any, int]) -> list[int]:
    found = []
    for server in servers:
        known = isinstance(server, (str, int, np.integer)) and not isinstance(server, bool) and server in position
        if not known:
            raise InstanceError(
                f"eligible of user {user!r} names server {server!r}, which is unknown; {nearest(server, position)}"
            )
        found.append(position[server])
    return found
