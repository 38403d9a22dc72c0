"""Labels are data: what carries labels is put in the order of an index, or refused; it is never read by position.

One function, :func:`aligned`, does it for everything that is handed in: an instance's numbers, parameters, bounds and
masks of a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...errors import FairlpError, nearest
from .indices import Index

#: An axis is an index, or None where nothing is known of it and positions must do.
Axes = Sequence[Index | None]


def aligned(given: Any, axes: Axes, what: str, error: type[FairlpError]) -> Any:
    """Return what is given in the order of the axes' labels; what carries no labels is returned as it is.

    Labels are those of a Series (with several levels: of several axes), of a DataFrame, and the keys of a mapping, also
    of one within another and of those in a list. A default ``RangeIndex`` (0, 1, …) counts as no labels, and is read by
    position, unless the labels of the axis are those integers themselves.

    Parameters
    ----------
    given : object
        A Series, DataFrame, mapping, array or nested list.
    axes : sequence of (Index or None)
        The indices that the axes of ``given`` run over; fewer axes are the first of them.
    what : str
        What it is, for messages: "the argument 'weights'".
    error : type
        Of the error to raise.

    Raises
    ------
    FairlpError
        Of that type, when labels are missing, unknown or there twice; the label is named.

    Examples
    --------
    >>> from fairlp.errors import InstanceError
    >>> r = Index("r", ["cpu", "memory"], "resource")
    >>> aligned(pd.Series({"memory": 18, "cpu": 9}), (r,), "capacities", InstanceError).tolist()
    [9, 18]
    >>> aligned(pd.Series([9, 18]), (r,), "capacities", InstanceError).tolist()
    [9, 18]
    >>> aligned({"memory": 18}, (r,), "the argument 'weights'", InstanceError)
    Traceback (most recent call last):
        ...
    fairlp.errors.InstanceError: the argument 'weights' has no resource 'cpu'; expected every resource: 'cpu', 'memory'
    """
    first, rest = (axes[0] if axes else None), axes[1:]
    if isinstance(given, pd.DataFrame):
        columns = rest[0] if rest else None
        rows = order(given.index, first, what, error)
        return given.to_numpy()[np.ix_(rows, order(given.columns, columns, what, error))]
    if isinstance(given, pd.Series):
        if isinstance(given.index, pd.MultiIndex) and given.index.nlevels == len(axes) and None not in axes:
            return _of_levels(given, [axis for axis in axes if axis is not None], what, error)
        return given.to_numpy()[order(given.index, first, what, error)]
    if isinstance(given, Mapping):
        entries = list(given.values())
        given = [entries[k] for k in order(list(given), first, what, error)]
    if isinstance(given, (list, tuple)) and any(carries_labels(entry) for entry in given):
        return [aligned(entry, rest, what, error) for entry in given]
    return given


def order(labels: Iterable[Any], axis: Index | None, what: str, error: type[FairlpError]) -> np.ndarray:
    """Return the position of each label of the axis among ``labels``, all of them once; parameters as `aligned`."""
    found = labels if isinstance(labels, pd.Index) else list(labels)
    if axis is None or is_default(found, axis):
        return np.arange(len(found))
    known, places = set(axis), {}
    who = "who" if axis.name == "user" else "which"
    for place, label in enumerate(found):
        if label not in known:
            raise error(f"{what} names {axis.name} {label!r}, {who} is unknown; {nearest(label, axis)}{_remedy(found)}")
        if label in places:
            raise error(f"{what} has {axis.name} {label!r} twice; expected each once")
        places[label] = place
    missing = [label for label in axis if label not in places]
    if missing:
        raise error(f"{what} has no {axis.name} {missing[0]!r}; expected every {axis.name}: {_few(axis)}")
    return np.array([places[label] for label in axis], dtype=np.intp)


def axes_text(indices: Sequence[Index]) -> str:
    """Return a shape in words: ``3 user × 2 server``."""
    return " × ".join(f"{len(index)} {index.name}" for index in indices) or "one number"


def is_default(labels: object, axis: Index | None = None) -> bool:
    """Whether labels are a default index, 0, 1, …, and not those of an axis that is labelled so itself."""
    if not isinstance(labels, pd.RangeIndex) or labels.start != 0 or labels.step != 1:
        return False
    return axis is None or set(axis) != set(range(len(axis)))


def labels_on(given: Any, depth: int) -> Any:
    """Return the labels that something carries on an axis (0: rows), None where it carries none."""
    if isinstance(given, pd.DataFrame):
        return given.axes[depth]
    if isinstance(given, pd.Series):
        if isinstance(given.index, pd.MultiIndex):
            return list(dict.fromkeys(given.index.get_level_values(depth)))
        return given.index if depth == 0 else None
    if isinstance(given, Mapping):
        if depth == 0:
            return list(given)
        given = list(given.values())
    if depth > 0 and isinstance(given, (list, tuple)):
        return next((labels_on(entry, depth - 1) for entry in given if carries_labels(entry)), None)
    return None


def carries_labels(given: object) -> bool:
    """Whether something carries labels of its own."""
    return isinstance(given, (pd.Series, pd.DataFrame, Mapping))


def _of_levels(given: pd.Series[Any], axes: Sequence[Index], what: str, error: type[FairlpError]) -> np.ndarray:
    """Return a Series over several indices as an array with one axis for each."""
    places = []
    for level, axis in enumerate(axes):
        labels = given.index.get_level_values(level)
        order(pd.unique(labels), axis, what, error)
        position = {label: place for place, label in enumerate(axis)}
        places.append(np.array([position[label] for label in labels], dtype=np.intp))
    shape = tuple(len(axis) for axis in axes)
    flat = np.ravel_multi_index(tuple(places), shape)
    times = np.bincount(flat, minlength=int(np.prod(shape)))
    if (times != 1).any():
        wrong = int((times != 1).argmax())
        at = tuple(axis[int(k)] for axis, k in zip(axes, np.unravel_index(wrong, shape), strict=True))
        raise error(f"{what} has {at!r} {'twice' if times[wrong] else 'nowhere'}; expected each combination once")
    return np.asarray(given.to_numpy()[np.argsort(flat)]).reshape(shape)


def _remedy(found: Any) -> str:
    return " (to give numbers by position, hand over .to_numpy())" if isinstance(found, pd.Index) else ""


def _few(names: Index) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:4])
    return shown + (", …" if len(names) > 4 else "")
