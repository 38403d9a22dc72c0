"""What stands in brackets behind a formula: labels, lists of them, slices, masks, symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...errors import ModelError, UnknownNameError, nearest, quoted
from .labels import Index, Indices, aligned, is_label, positions_of, require_shape, symbols_of
from .reals import is_whole_number

#: Indices of which some labels are taken, and their positions.
Parts = list[tuple[Index, np.ndarray]]


def places_in(
    key: Any, indices: Indices, name: str
) -> tuple[tuple[int | None, ...], Indices, Parts]:
    """Return the content of brackets: positions of labels, remaining indices, and their parts.

    A position is None where an index stays. ``name`` is what has the brackets, for messages.
    """
    if len(indices) == 1 and isinstance(key, tuple) and is_label(key, indices[0]):
        key = (key,)  # a label may be a tuple itself
    keys = key if isinstance(key, tuple) else (key,)
    symbols = ",".join(symbols_of(indices))
    if len(keys) > len(indices) or (
        len(keys) < len(indices) and all(isinstance(selector, Index) for selector in keys)
    ):
        raise ModelError(f"{name!r} has {len(indices)} indices ({symbols}), not {len(keys)}")
    places: list[int | None] = []
    free: list[Index] = []
    parts: Parts = []
    for index, selector in zip(
        indices, (*keys, *(slice(None),) * (len(indices) - len(keys))), strict=True
    ):
        several = isinstance(selector, (slice, list, np.ndarray, pd.Series, pd.Index))
        free_index = selector if isinstance(selector, Index) else index if several else None
        places.append(_position(name, selector, index) if free_index is None else None)
        if free_index is None:
            continue
        if several and not (isinstance(selector, slice) and selector == slice(None)):
            parts.append((index, _several(name, selector, index)))
        if not index.labels.equals(free_index.labels) or free_index.symbol in symbols_of(free):
            raise ModelError(
                f"{name!r}: index {index.symbol!r} cannot be replaced by {free_index.symbol!r}, which has "
                "other labels or is there already"
            )
        free.append(free_index)
    return tuple(places), tuple(free), parts


def _several(name: str, key: Any, index: Index) -> np.ndarray:
    """Return the positions of a slice, mask or labels.

    A slice of whole numbers is by position; one of labels includes both ends.
    """
    if isinstance(key, slice):
        if not (key.step is None or is_whole_number(key.step)) or key.step == 0:
            raise ModelError(f"{name!r} is taken in steps of {quoted(key.step)}")
        ends = (key.start, key.stop)
        if all(end is None or is_whole_number(end) for end in ends):
            return np.arange(len(index))[key]
        first, last = (None if end is None else _position(name, end, index) for end in ends)
        return np.arange(len(index))[slice(first, None if last is None else last + 1, key.step)]
    if np.asarray(key).dtype == bool:
        mask = np.asarray(aligned(key, (index,), f"the mask of {name!r}", ModelError))
        require_shape(mask.shape, (index,), f"the mask of {name!r}", ModelError)
        return np.flatnonzero(mask)
    return positions_of([key], [index], quoted(name), UnknownNameError)


def _position(name: str, label: Any, index: Index) -> int:
    """Return the position of a label of an index."""
    if not is_label(label, index):
        raise UnknownNameError(
            f"{name!r} has no {index.name} {quoted(label)}; {nearest(label, index)}"
        )
    return int(index.labels.get_loc(label))  # type: ignore[arg-type]
