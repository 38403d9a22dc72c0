"""Which pairs of users and servers are eligible: every way to say it becomes two arrays of positions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, nearest
from ..notation.expressions import Index
from ..notation.labels import aligned, is_default, is_table

_WHAT = "the argument 'eligible'"
_WAYS = (
    "expected a sparse matrix of users × servers, an array of positions (user, server), a table of True and False, or "
    "a list of servers for each user"
)


def positions(eligible: Any, users: Index, servers: Index) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of user and server of each eligible pair.

    Examples
    --------
    >>> users, servers = Index("n", ["ann", "bob"], "user"), Index("i", ["s1", "s2", "s3"], "server")
    >>> [found.tolist() for found in positions([["s1"], ["s2", "s3"]], users, servers)]
    [[0, 1, 1], [0, 1, 2]]
    >>> [found.tolist() for found in positions(np.array([[0, 2], [1, 0]]), users, servers)]
    [[0, 1], [2, 0]]
    """
    from scipy import sparse

    shape = (len(users), len(servers))
    if sparse.issparse(eligible):
        if eligible.shape != shape:
            raise InstanceError(f"eligible has shape {eligible.shape}; expected {shape}, users × servers")
        found = eligible.tocoo()
        there = _flags(found.data)
        return found.row[there], found.col[there]
    bare = isinstance(eligible, pd.DataFrame) and is_default(eligible.index) and is_default(eligible.columns)
    if is_table(eligible) and not bare:
        eligible = _flags(np.asarray(aligned(eligible, (users, servers), _WHAT, InstanceError)))
    if isinstance(eligible, (pd.Series, Mapping)):
        for user in users if isinstance(eligible, Mapping) else ():
            if user not in eligible:
                raise InstanceError(f"eligible says nothing of user {user!r}; expected a list of servers for each user")
        entries = list(aligned(eligible, (users, servers), _WHAT, InstanceError))
        if not all(_is_row_of_flags(entry) for entry in entries):
            return _of_labels(entries, users, servers)
        eligible = np.array(entries, dtype=bool)
    if isinstance(eligible, (list, tuple)) and eligible and not _are_numbers(eligible):
        return _of_labels(list(eligible), users, servers)
    array = np.asarray(eligible)
    if array.dtype == bool:
        if array.shape != shape:
            raise InstanceError(f"eligible has shape {array.shape}; expected {shape}, True or False for each pair")
        row, column = np.nonzero(array)
        return row, column
    if array.ndim != 2 or array.shape[1:] != (2,) or array.dtype.kind not in "iu":
        raise InstanceError(f"eligible is of type {array.dtype} and shape {array.shape}; {_WAYS}")
    for k, (noun, index) in enumerate((("user", users), ("server", servers))):
        wrong = (array[:, k] < 0) | (array[:, k] >= len(index))
        if wrong.any():
            at = int(wrong.argmax())
            raise InstanceError(
                f"pair {at} of eligible is {tuple(array[at].tolist())}, and there is no {noun} at {array[at, k]}; "
                f"expected positions from 0 to {len(index) - 1}"
            )
    return array[:, 0], array[:, 1]


def _flags(data: np.ndarray) -> np.ndarray:
    """Return where a sparse matrix says True (or 1)."""
    yes, no = data == 1, data == 0
    wrong = ~(yes | no)
    if wrong.any():
        raise InstanceError(f"eligible has an entry {data[int(wrong.argmax())]!r}; expected True or False")
    return np.asarray(yes)


def _are_numbers(eligible: Any) -> bool:
    """Whether a list is one of pairs of positions, or of rows of flags, rather than of labels for each user."""
    return all(
        isinstance(row, (list, tuple, np.ndarray))
        and len(row) > 0
        and (isinstance(row, tuple) or all(isinstance(entry, (bool, np.bool_)) for entry in row))
        and not any(isinstance(entry, str) for entry in row)
        for row in eligible
    )


def _is_row_of_flags(entry: Any) -> bool:
    return (
        isinstance(entry, (list, np.ndarray))
        and len(entry) > 0
        and all(isinstance(flag, (bool, np.bool_)) for flag in entry)
    )


def _of_labels(lists: list[Any], users: Index, servers: Index) -> tuple[np.ndarray, np.ndarray]:
    if len(lists) != len(users):
        raise InstanceError(f"eligible has {len(lists)} entries for {len(users)} users; {_WAYS}")
    for user, entry in zip(users, lists, strict=True):
        if isinstance(entry, str) or not isinstance(entry, (list, tuple, set, frozenset, np.ndarray, pd.Index)):
            raise InstanceError(f"eligible of user {user!r} is {entry!r}; expected a list of servers")
    user = np.repeat(np.arange(len(users)), [len(entry) for entry in lists])
    wanted = [server for entry in lists for server in entry]
    position = {label: k for k, label in enumerate(servers)}
    found = np.array([position.get(server, -1) if isinstance(server, Hashable) else -1 for server in wanted], dtype=int)
    if (found < 0).any():
        at = int((found < 0).argmax())
        raise InstanceError(
            f"eligible of user {users[user[at]]!r} names server {wanted[at]!r}, which is unknown; "
            f"{nearest(wanted[at], position)}"
        )
    return user, found
