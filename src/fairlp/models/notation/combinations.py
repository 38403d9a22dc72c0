"""Some combinations of labels: lists of pairs, long tables, and numbers of a part of an index.

A network has arcs, not a number for each pair of nodes. Here such data become positions in the grid
of all combinations, in C order, checked: no label unknown, no combination twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, MappingView, Sequence, Set
from itertools import combinations as choices
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...errors import FairlpError, ModelError
from .labels import (
    Indices,
    as_index,
    as_series,
    by_element,
    carries_labels,
    is_label,
    named_axis,
    positions_of,
    positions_or_none,
    shape_of,
    symbols_of,
)

#: What a list of combinations may look like, for messages.
EXPECTED = (
    "expected bool for each combination of labels, or a list, or a table with a column for each "
    "index, of those that exist"
)


class ListedNumbers(NamedTuple):
    """Numbers of some combinations: their positions in the grid, and the numbers."""

    positions: np.ndarray
    values: np.ndarray


def lists_labels(data: Any) -> bool:
    """Whether something lists labels or combinations of them, rather than answers yes or no.

    >>> lists_labels([("ann", "s1")]), lists_labels(["ann"]), lists_labels([True, False])
    (True, True, False)
    """
    if isinstance(data, pd.DataFrame):
        return not all(pd.api.types.is_bool_dtype(dtype) for dtype in data.dtypes)
    if isinstance(data, (pd.Index, Set, MappingView)):
        return True
    if isinstance(data, np.ma.MaskedArray):
        return False
    if isinstance(data, (pd.Series, np.ndarray)):
        return data.ndim > 0 and not _is_yes_or_no(data.reshape(-1) if data.ndim > 1 else data)
    if isinstance(data, (list, tuple)):
        return not len(data) or not _is_yes_or_no(data)
    return False


def _is_yes_or_no(data: Any) -> bool:
    """Whether entries are flags, or hold flags: a mask."""
    if isinstance(data, (np.ndarray, pd.Series)):
        return bool(data.dtype == bool)
    first = data
    while isinstance(first, (list, tuple)) and len(first):
        first = first[0]
    if isinstance(first, np.ndarray):
        return _is_yes_or_no(first)
    return isinstance(first, (bool, np.bool_)) or carries_labels(first)


def chosen(data: Any, over: Indices, subject: str) -> tuple[Indices, np.ndarray]:
    """Return the indices that a list of combinations runs over, and the positions over these.

    Raises
    ------
    ModelError
        For labels that are unknown, a combination that is there twice, or where it is not clear
        which indices are meant.

    Examples
    --------
    >>> from fairlp import Index
    >>> i, j = Index("i", ["a", "b"], "node"), Index("j", ["a", "b"], "node")
    >>> indices, positions = chosen([("b", "a"), ("a", "b")], (i, j), "arcs")
    >>> positions.tolist()
    [1, 2]
    """
    names, columns = _columns(data, over, subject)
    axes, named_columns = _named(names, columns, over)
    columns = named_columns if axes else columns
    axes = axes or _axes_of(columns, over, subject)
    positions = positions_of(columns, axes, subject, ModelError, f" ({EXPECTED})")
    return axes, np.sort(positions, kind="stable")


def spread(positions: np.ndarray, axes: Indices, over: Indices) -> np.ndarray:
    """Return positions over some indices as positions over more: for each label of the others.

    >>> from fairlp import Index
    >>> i, t = Index("i", ["a", "b"]), Index("t", [1, 2, 3])
    >>> spread(np.array([1]), (i,), (i, t)).tolist()
    [3, 4, 5]
    """
    if symbols_of(axes) == symbols_of(over):
        return positions
    if not axes:  # all, or none
        return np.arange(math.prod(shape_of(over)) if len(positions) else 0)
    places = dict(zip(symbols_of(axes), np.unravel_index(positions, shape_of(axes)), strict=True))
    others = [index for index in over if index.symbol not in places]
    counts = shape_of(others)
    total = math.prod(counts)
    grid = np.unravel_index(np.arange(total), counts) if others else ()
    columns = {symbol: np.repeat(column, total) for symbol, column in places.items()}
    for index, column in zip(others, grid, strict=True):
        columns[index.symbol] = np.tile(column, len(positions))
    flat = np.ravel_multi_index(tuple(columns[index.symbol] for index in over), shape_of(over))
    return np.sort(flat, kind="stable")  # which is quick where they are in order already


def found_in(positions: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which places are among the sorted positions, and the ranks of those that are."""
    ranks = np.searchsorted(positions, places)
    exists = np.append(positions, -1)[ranks] == places
    return exists, ranks[exists]


def listed_numbers(
    data: Any, over: Indices, subject: str, error: type[FairlpError] = ModelError
) -> ListedNumbers | None:
    """Return the numbers of labelled data that need not have all combinations; None for others.

    >>> from fairlp import Index
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> listed_numbers({"bob": 3}, (n,), "the fixed value")
    ListedNumbers(positions=array([1]), values=array([3]))
    """
    data = by_element(data, over)
    if not carries_labels(data) or not over:
        return None
    if isinstance(data, pd.DataFrame):
        data = data.stack() if len(over) == 2 else data.squeeze(axis=1)  # noqa: PD013
    elif isinstance(data, Mapping):
        data = _series_of(data, len(over))
    elif not isinstance(data, pd.Series):  # of xarray
        data = data.to_series()
    if not isinstance(data, pd.Series) or data.index.nlevels != len(over):
        return None
    levels = [data.index.get_level_values(level) for level in range(len(over))]
    axes, columns = _named(data.index.names, levels, over)
    columns = columns if axes == over else levels
    return ListedNumbers(positions_of(columns, over, subject, error), data.to_numpy())


def _series_of(data: Mapping[Any, Any], depth: int) -> Any:
    """Return a mapping, also of mappings, as a Series with as many levels as indices."""
    if depth == 1:
        return as_series(data)
    if depth == 2 and all(isinstance(row, (Mapping, pd.Series)) for row in data.values()):
        rows = {first: dict(row.items()) for first, row in data.items()}
        entries = {
            (first, second): value for first, row in rows.items() for second, value in row.items()
        }
        return pd.Series(entries) if entries else None
    return None


def _columns(data: Any, over: Indices, subject: str) -> tuple[Sequence[Any], list[Any]]:
    """Return the names, and a column of labels for each, of a list of combinations."""
    if isinstance(data, pd.DataFrame):
        return list(data.columns), [data.iloc[:, k] for k in range(data.shape[1])]
    if isinstance(data, pd.MultiIndex):
        return data.names, [data.get_level_values(level) for level in range(data.nlevels)]
    entries = list(data)
    if not entries:
        return symbols_of(over), [[] for _ in over]
    is_pair = [
        (isinstance(entry, (tuple, list)) or getattr(entry, "ndim", 0) > 0)
        and not is_label(entry, *over)
        for entry in entries
    ]
    if not any(is_pair):
        return (), [entries]
    lengths = {len(entry) if pair else 1 for entry, pair in zip(entries, is_pair, strict=True)}
    if len(lengths) > 1:
        raise ModelError(f"{subject} has combinations of {sorted(lengths)} labels; {EXPECTED}")
    return (), [list(column) for column in zip(*entries, strict=True)]


def _named(names: Iterable[Any], columns: list[Any], over: Indices) -> tuple[Indices, list[Any]]:
    """Return the indices that names of columns mean, in order, and their columns; none in doubt."""
    named = [named_axis(name, over) for name in names]
    axes = tuple(index for index in over if index in named)
    if len(axes) < sum(index is not None for index in named):
        axes = ()
    return axes, [columns[named.index(index)] for index in axes]


def _axes_of(columns: list[Any], over: Indices, subject: str) -> Indices:
    """Return the indices of columns of labels, in order: those that have all the labels."""
    candidates = list(choices(over, len(columns)))
    if len(candidates) > 1:
        candidates = [
            axes
            for axes in candidates
            if all(
                (positions_or_none(as_index(list(column)), axis) >= 0).all()
                for column, axis in zip(columns, axes, strict=True)
            )
        ]
    if len(candidates) != 1:
        raise ModelError(
            f"{subject} has combinations of {len(columns)} labels, which could be over none or several of "
            f"({', '.join(symbols_of(over))}); hand over a table whose columns are called after the indices"
        )
    return candidates[0]
