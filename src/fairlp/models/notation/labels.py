"""Labels are data: labelled input is put in the order of an index, or refused.

It is never read by position.

One function, :func:`aligned`, does it for everything that is handed in: an instance's numbers,
parameters, bounds and masks of a model.
"""

from __future__ import annotations

import math
from collections.abc import (
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MappingView,
    Sequence,
    Set,
    Sized,
)
from itertools import islice, permutations, product, zip_longest
from typing import Any, Final

import numpy as np
import pandas as pd

from ...errors import (
    FairlpError,
    Hinted,
    ModelError,
    nearest,
    quoted,
)
from .reals import NumberError, floats

# Indices with labels, and what all objects of index notation have in common: they are not changed
# by assignment.


class _ReadOnlyError(ModelError, AttributeError):
    """An attribute that cannot be set."""


class Immutable(Hinted):
    """An object whose attributes are set once, since a compiled model would miss an assignment."""

    #: Attributes that an object has.
    _names: frozenset[str] = frozenset()
    #: How it is changed, for messages.
    _remedy = "make another one"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names or name in self.__dict__:
            raise _ReadOnlyError(
                f"{name!r} of {type(self).__name__} {getattr(self, 'name', '')} cannot be set, since a model "
                f"that uses it is not told; {self._remedy}"
            )
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        from .render import described

        return described(self) or object.__repr__(self)


class Index(Immutable):
    """A named, labelled index: what ``n``, ``i`` and ``r`` are in a formula.

    Parameters
    ----------
    symbol : str
        The letter in formulas.
    labels : sequence
        The labels, in order; tuples are labels, too.
    name : str
        What one label stands for ("user").
    whole : Index, optional
        The index that this one is a part of: ``x[:, 1:3]`` runs over a part of an index, under the
        same symbol.

    Examples
    --------
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> len(n), list(n), str(n)
    (2, ['ann', 'bob'], 'n')
    """

    _names = frozenset({"symbol", "labels", "name", "whole"})

    def __init__(
        self, symbol: str, labels: Iterable[Any], name: str = "", whole: Index | None = None
    ) -> None:
        require_text(symbol, "the symbol of an index, its first argument,", ModelError)
        require_text(name, f"the name of index {symbol!r}", ModelError)
        if not symbol:
            raise ModelError("the symbol of an index is empty; expected a letter or a word")
        self.symbol = symbol
        self.whole = whole
        self.labels = in_order(labels, f"index {symbol!r}", ModelError)
        self.name = name or symbol
        for twice in self.labels[self.labels.duplicated()][:1]:
            raise ModelError(f"index {symbol!r} has label {quoted(twice)} twice; expected it once")

    def rows(self, positions: np.ndarray) -> Index:
        """Return the index of selected rows of a table; a row taken twice has its label twice.

        Parameters
        ----------
        positions : ndarray of int

        Returns
        -------
        Index

        Examples
        --------
        >>> Index("n", ["ann", "bob"], "user").rows(np.array([1, 1, 0]))
        <Index n: 3 users bob, bob, ann>
        """
        return Index._of_checked(self.symbol, self.labels[positions], self.name)

    @classmethod
    def _of_checked(cls, symbol: str, labels: pd.Index[Any], name: str) -> Index:
        """Return the index of labels that are in order and checked already."""
        index = object.__new__(cls)
        vars(index).update(symbol=symbol, labels=labels, name=name, whole=None)
        return index

    def alias(self, symbol: str) -> Index:
        """Return another index over the same labels (``m`` beside ``n``).

        Parameters
        ----------
        symbol : str
            How formulas call it.

        Returns
        -------
        Index

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"], "user")
        >>> n.alias("m")
        <Index m: 2 users ann, bob>
        """
        return Index(symbol, self, self.name)

    def part(self, positions: np.ndarray) -> Index:
        """Return the index of some of the labels, under the same symbol.

        Parameters
        ----------
        positions : ndarray of int

        Returns
        -------
        Index

        Examples
        --------
        >>> n = Index("n", ["ann", "bob", "cat"], "user")
        >>> n.part(np.array([2, 0]))
        <Index n: 2 users cat, ann>
        """
        return Index(self.symbol, self.labels[positions], self.name, self.whole or self)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __getitem__(self, position: int) -> Any:
        return _of_python(self.labels[position])

    def __str__(self) -> str:
        return self.symbol

    #: Arrays on the left hand over to us.
    __array_ufunc__ = None


def _of_python(label: Any) -> Any:
    """Return a label without a type of NumPy; times stay as they are."""
    if isinstance(label, np.floating):
        return float(label)
    is_plain = isinstance(label, (np.integer, np.bool_, np.str_))
    return label.item() if is_plain and not isinstance(label, np.timedelta64) else label


#: Letters of a label. A cell of a CSV file has at most 131,072 (of Python's csv), and a unit, a
#: mark or the queues above may stand beside the label there.
LONGEST_LABEL: Final = 100_000
#: Labels that completion in brackets offers.
_MOST_COMPLETIONS: Final = 1_000
#: Bits of a whole number that is a label or an attribute: Python writes at most 4,300 digits.
_MOST_BITS: Final = 14_000


def require_ordered(data: Any, subject: str, error: type[FairlpError]) -> None:
    """Raise for a set, whose order differs from run to run; keys of a mapping have an order.

    >>> require_ordered({"ann": 1}.keys(), "index 'n'", ModelError)
    >>> require_ordered({"ann"}, "index 'n'", ModelError)
    Traceback (most recent call last):
        ...
    fairlp.errors.ModelError: index 'n' is given a set, which has no order (it differs from run to run); \
give a list, or sorted(...)
    """
    if isinstance(data, Set) and not isinstance(data, MappingView):
        raise error(
            f"{subject} is given a {type(data).__name__}, which has no order (it differs from run "
            "to run); give a list, or sorted(...)"
        )


def in_order(labels: Any, subject: str, error: type[FairlpError]) -> pd.Index[Any]:
    """Return labels in their order, checked; each can be looked up, printed and written.

    Parameters
    ----------
    labels : iterable
        A list, array, pandas Index, range, or the keys of a mapping.
    subject : str
        What has them, for messages: "index 'n'".
    error : type
        Of the error to raise.

    Raises
    ------
    FairlpError
        Of that type: for text, a set, or what is no collection; for labels that are missing, lists,
        too long, or that no file can hold.

    Examples
    --------
    >>> in_order(range(2), "index 'n'", ModelError).tolist()
    [0, 1]
    >>> in_order(5, "index 'n'", ModelError)
    Traceback (most recent call last):
        ...
    fairlp.errors.ModelError: index 'n' is given 5; expected a list of labels, such as range(3)
    """
    if isinstance(labels, Index):
        return labels.labels
    require_ordered(labels, subject, error)
    is_text = isinstance(labels, (str, bytes))
    if is_text or not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) != 1:
        raise error(
            f"{subject} is given {quoted(labels)}; expected a list of labels, such as range(3)"
        )
    index: pd.Index[Any]
    if isinstance(labels, range) and abs(labels.start) + abs(labels.stop) < 2**62:
        labels = pd.RangeIndex(labels)
    elif isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        labels = pd.Index(labels)
    if isinstance(labels, pd.Index):
        index = labels
        if labels.dtype.kind not in "iub":
            require_labels(labels.tolist(), subject, error)
    else:
        entries = [_of_python(label) for label in labels]
        require_labels(entries, subject, error)
        index = as_index(entries)
    return index.to_flat_index()


def as_index(labels: Any) -> pd.Index[Any]:
    """Return an index of labels.

    Pandas before 3.1 takes whole numbers beyond floats as objects only.
    """
    index: pd.Index[Any]
    if not (isinstance(labels, pd.Series) and labels.dtype.kind in "iu"):
        labels = list(labels)
    try:
        index = pd.Index(labels, tupleize_cols=False)
    except OverflowError:
        index = pd.Index(labels, dtype=object, tupleize_cols=False)
    return index


def as_series(data: Mapping[Any, Any]) -> pd.Series[Any]:
    """Return a Series by the keys of a mapping, tuples among them as labels; see `as_index`."""
    index = as_index(list(data))
    try:
        return pd.Series(list(data.values()), index)
    except OverflowError:
        return pd.Series(list(data.values()), index, dtype=object)


def require_labels(labels: Sequence[Any], subject: str, error: type[FairlpError]) -> None:
    """Raise for a label that cannot be looked up, or that cannot be written."""
    for position, label in enumerate(labels):
        parts = [label]
        for part in parts:
            if isinstance(part, tuple):
                parts += part
            elif not isinstance(part, Hashable) or (part is label and _is_missing(part)):
                raise error(
                    f"{subject} has {quoted(label)} at position {position}; expected text, a number or a "
                    "tuple of these (drop the row, or name it)"
                )
            elif not is_writable(part):
                place = f"the label at position {position} of {subject}"
                (require_text if isinstance(part, str) else require_writable)(part, place, error)


def _is_missing(label: Any) -> bool:
    return label is None or label is pd.NA or label is pd.NaT or label != label


def require_text(text: Any, subject: str, error: type[FairlpError]) -> None:
    r"""Raise for what is no text, and for text that is too long or that no file can hold.

    >>> require_text("\ud800", "the label", ModelError)
    Traceback (most recent call last):
        ...
    fairlp.errors.ModelError: the label is '\ud800', with half of a character, which no file can hold
    """
    if not isinstance(text, str):
        raise error(f"{subject} is {quoted(text)}; expected text")
    if len(text) > LONGEST_LABEL:
        raise error(
            f"{subject} has {len(text):,} letters; expected at most {LONGEST_LABEL:,} ({quoted(text)})"
        )
    require_writable(text, subject, error)


def is_writable(value: Any) -> bool:
    """Whether something is surely no text and no whole number that a file cannot hold.

    >>> is_writable("ann"), is_writable(1.5), is_writable("b" * 200_000)
    (True, True, False)
    """
    if isinstance(value, str):
        return len(value) <= LONGEST_LABEL and value.isascii()
    return not isinstance(value, int) or value.bit_length() <= _MOST_BITS


def require_writable(value: Any, subject: str, error: type[FairlpError]) -> None:
    """Raise for text and whole numbers that no file can hold.

    >>> require_writable(10**5000, "the label", ModelError)
    Traceback (most recent call last):
        ...
    fairlp.errors.ModelError: the label is a whole number of 16610 bits; expected at most 14,000 bits
    """
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise error(
                f"{subject} is {quoted(value)}, with half of a character, which no file can hold"
            ) from None
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise error(f"{subject} is {quoted(value)}; expected at most {_MOST_BITS:,} bits")


Indices = tuple[Index, ...]


def union(*groups: Iterable[Index]) -> Indices:
    """Return the indices of all groups, each once; two indices of one symbol are an error.

    They come in order of appearance.
    """
    seen: dict[str, Index] = {}
    for group in groups:
        for index in group:
            first_index = seen.setdefault(index.symbol, index)
            if first_index is not index and not first_index.labels.equals(index.labels):
                difference = first_index.labels.symmetric_difference(index.labels, sort=False)
                raise ModelError(
                    f"index {index.symbol!r} stands for other labels in another place "
                    f"({few(difference) or 'in another order'}); give one of them another symbol with .alias(), "
                    "select the same labels in both, or take neighbours by .shift()"
                )
    return tuple(seen.values())


def as_indices(over: Any, subject: str) -> Indices:
    """Return indices that are given as one, one after the other, or in a tuple.

    Parameters
    ----------
    over : Index, or sequence of Index and of sequences of these
    subject : str
        What runs over them, for messages: "variable 'x' runs over".

    Raises
    ------
    ModelError
        For what is no index.

    Examples
    --------
    >>> n, i = Index("n", ["ann", "bob"]), Index("i", ["s1", "s2"])
    >>> as_indices(((n, i),), "variable 'x' runs over") == as_indices((n, i), "") == (n, i)
    True
    >>> as_indices("n", "variable 'x' runs over")
    Traceback (most recent call last):
        ...
    fairlp.errors.ModelError: variable 'x' runs over 'n'; expected indices, such as n = \
fairlp.Index('n', labels)
    """
    indices: list[Any] = []
    for entry in over if isinstance(over, (tuple, list)) else (over,):
        require_ordered(entry, subject.removesuffix(" runs over"), ModelError)
        indices += entry if isinstance(entry, (tuple, list)) else (entry,)
    for index in indices:
        if not isinstance(index, Index):
            raise ModelError(
                f"{subject} {quoted(index)}; expected indices, such as n = fairlp.Index('n', labels)"
            )
    return tuple(indices)


#: An axis is an index, or None where nothing is known of it and positions must do.
Axes = Sequence[Index | None]


def aligned(data: Any, axes: Axes, subject: str, error: type[FairlpError]) -> Any:
    """Return data in the order of the axes' labels; data without labels are returned unchanged.

    Labels are those of a Series (with several levels: of several axes), of a DataFrame, of an
    xarray DataArray, and the keys of a mapping, also of one within another and of those in a list.
    A default index 0, 1, … of pandas is labels like any other. Which axis is which is told by the
    names of dimensions and levels, see `arranged`.

    Parameters
    ----------
    data : object
        A Series, DataFrame, DataArray, mapping, array or nested list.
    axes : sequence of (Index or None)
        The indices that the axes of ``data`` run over; fewer axes are the first of them.
    subject : str
        What it is, for messages: "the argument 'weights'".
    error : type
        Of the error to raise.

    Raises
    ------
    FairlpError
        Of that type, when labels are missing, unknown or there twice, or when names do not tell the
        axes apart; for a set, and for masked entries.

    Examples
    --------
    >>> from fairlp.errors import InstanceError
    >>> r = Index("r", ["cpu", "memory"], "resource")
    >>> aligned(pd.Series({"memory": 18, "cpu": 9}), (r,), "capacities", InstanceError).tolist()
    [9, 18]
    >>> aligned([9, 18], (r,), "capacities", InstanceError)
    [9, 18]
    >>> aligned(pd.Series([9, 18]), (r,), "capacities", InstanceError)
    Traceback (most recent call last):
        ...
    fairlp.errors.InstanceError: capacities names resource 0, which is unknown; known: 'cpu', 'memory' \
(give labels with .set_index(column), or numbers by position with .to_numpy())
    >>> aligned({"memory": 18}, (r,), "the argument 'weights'", InstanceError)
    Traceback (most recent call last):
        ...
    fairlp.errors.InstanceError: the argument 'weights' has no resource 'cpu'; expected every one
    """
    if type(data) is np.ndarray:
        return data
    require_ordered(data, subject, error)
    data = arranged(by_element(data, axes), axes, subject, error)
    first = axes[0] if axes else None
    rest = axes[1:]
    if isinstance(data, np.ma.MaskedArray):
        for place in np.argwhere(np.ma.getmaskarray(data))[:1].tolist():
            raise error(f"{subject}{located(axes, place)} is masked; expected a number")
        return np.asarray(data.data)
    known_axes = [axis for axis in axes if axis is not None]
    if isinstance(data, pd.Series) and 1 < data.index.nlevels == len(axes) == len(known_axes):
        levels = [data.index.get_level_values(level) for level in range(len(axes))]
        ranks = order(levels, known_axes, subject, error)
        return data.to_numpy()[ranks].reshape(shape_of(known_axes))
    if carries_labels(data) and not isinstance(data, Mapping):
        places = [
            np.arange(size)
            if labels is None or axis is None
            else order([labels], [axis], subject, error)
            for (_, labels, size), axis in zip_longest(_axes_of(data), axes[: data.ndim])
        ]
        return data.to_numpy()[np.ix_(*places)]
    if isinstance(data, Mapping):
        entries = list(data.values())
        if first is not None:
            entries = [entries[k] for k in order([list(data)], [first], subject, error)]
        data = entries
    if isinstance(data, (list, tuple)) and any(map(_is_more_than_numbers, data)):
        return [aligned(entry, rest, subject, error) for entry in data]
    return data


def _is_more_than_numbers(entry: Any) -> bool:
    """Whether an entry of a list carries labels or a mask, itself or within."""
    if isinstance(entry, (list, tuple)):
        return any(map(_is_more_than_numbers, entry))
    is_masked_array = isinstance(entry, np.ma.MaskedArray) and entry.ndim > 0
    return is_masked_array or carries_labels(entry) or isinstance(entry, Set)


def by_element(data: Any, axes: Axes) -> Any:
    """Return a mapping with tuple keys, or a long table, as a Series.

    It has several levels, or one where the tuples are labels.
    """
    if isinstance(data, pd.DataFrame):
        return from_long_table(data, axes)
    if isinstance(data, Mapping):
        key, value = next(iter(data.items()), (None, None))
        if not isinstance(key, tuple) or not np.isscalar(value):
            return data
        if _are_labels(data, axes):
            return as_series(data)
        data = pd.Series(data)
    levels = isinstance(data, pd.Series) and data.index.nlevels > 1
    if levels and _are_labels(data.index, axes):
        return data.set_axis(data.index.to_flat_index())
    return data


def from_long_table(data: pd.DataFrame, axes: Axes) -> Any:
    """Return a table with a column for each of some axes, and one of numbers, as a Series.

    Columns are told by their names; where none is called after an axis, all axes come in order and
    the numbers last. A table of one column with a level for each axis is its Series. Other tables
    are returned as they are.

    >>> n, i = Index("n", ["ann", "bob"], "user"), Index("i", ["s1"], "server")
    >>> table = pd.DataFrame({"user": ["bob", "ann"], "i": "s1", "rate": [3, 4]})
    >>> from_long_table(table, (n, i)).to_dict()
    {('bob', 's1'): 3, ('ann', 's1'): 4}
    """
    known_axes = [axis for axis in axes if axis is not None]
    if data.shape[1] == 1 and 1 < data.index.nlevels == len(known_axes):
        return data.iloc[:, 0]
    if data.shape[1] < 2 or not _is_numbered(data.index, known_axes):
        return data
    if any(set(data.columns) == set(axis) for axis in known_axes):
        return data  # a wide table
    named = [named_axis(name, known_axes) for name in data.columns]
    if not any(named) and data.shape[1] == len(known_axes) + 1 and _has_labels(data, known_axes):
        named = [*known_axes, None]
    numbers = [k for k, axis in enumerate(named) if axis is None]
    if len(numbers) != 1 or len({id(axis) for axis in named}) < len(named):
        return data
    columns = [data.iloc[:, k] for k, axis in enumerate(named) if axis is not None]
    symbols = [axis.symbol for axis in named if axis is not None]
    index: pd.Index[Any] = (
        pd.Index(columns[0], name=symbols[0], tupleize_cols=False)
        if len(columns) == 1
        else pd.MultiIndex.from_arrays(columns, names=symbols)
    )
    return pd.Series(data.iloc[:, numbers[0]].to_numpy(), index, name=data.columns[numbers[0]])


def _is_numbered(rows: pd.Index[Any], axes: Sequence[Index]) -> bool:
    """Whether rows of a table have numbers, of all or of some of them, and no labels of an axis."""
    if isinstance(rows, pd.RangeIndex):
        return True
    is_plain = rows.nlevels == 1 and rows.name is None and pd.api.types.is_integer_dtype(rows)
    return is_plain and not any(set(rows) <= set(axis) for axis in axes)


def _has_labels(table: pd.DataFrame, axes: Sequence[Index]) -> bool:
    """Whether the first columns of a table have labels of the axes, and no others."""
    return all(
        set(table.iloc[:, k]) <= set(axis) for k, axis in enumerate(axes)
    ) and pd.api.types.is_numeric_dtype(table.dtypes.iloc[-1])


def _are_labels(keys: Iterable[Any], axes: Axes) -> bool:
    """Whether some of the keys, which are tuples, are labels of one axis."""
    labels = {
        label
        for axis in axes
        if axis is not None and axis.labels.dtype == object
        for label in axis
        if isinstance(label, tuple)
    }
    return bool(labels) and any(key in labels for key in keys)


def arranged(data: Any, axes: Axes, subject: str, error: type[FairlpError]) -> Any:
    """Return data with the dimensions or levels in the order of the axes that they name.

    An axis is named by its symbol or name (``n``, ``user``, ``users``). Dimensions and levels that
    name no axis stand for the axes that are left, in order. They are refused where that would be a
    guess: dimensions of xarray always, levels of pandas where the axes that are left have the same
    labels. Parameters as `aligned`.

    Examples
    --------
    >>> n, i = Index("n", ["a", "b"], "user"), Index("i", ["a", "b"], "server")
    >>> turned = pd.DataFrame([[1, 2], [3, 4]], pd.Index(["a", "b"], name="server"), pd.Index(["a", "b"], name="user"))
    >>> arranged(turned, (n, i), "rates", FairlpError).to_numpy().tolist()
    [[1, 3], [2, 4]]
    """
    names = _names_of(data)
    if len(names) > len(axes):
        return data
    places = range(len(names))
    named = [
        next((k for k in (p, *range(len(axes))) if names_axis(name, axes[k])), None)
        for p, name in enumerate(names)
    ]
    free = [k for k in places if k not in named]
    free_axes = iter(free)
    axis_of = [next(free_axes, -1) if k is None else k for k in named]
    guessed = any(k is None and name is not None for k, name in zip(named, names, strict=True))
    if guessed and not _is_data_array(data):
        guessed = len({frozenset(axes[k] or (k,)) for k in free}) < len(free)
    if guessed or sorted(axis_of) != list(places):
        expected = [axis.name for axis in axes if axis is not None]
        raise error(
            f"{subject} is over {quoted(names)}; expected {quoted(expected)} (rename its dimensions or levels, "
            "or hand over .to_numpy() to give numbers by position)"
        )
    turned = [axis_of.index(k) for k in places]
    if turned == list(places):
        return data
    if isinstance(data, pd.Series):
        return data.reorder_levels(turned)
    return (
        data.T
        if isinstance(data, pd.DataFrame)
        else data.transpose(*(data.dims[k] for k in turned))
    )


def placed(
    data: Any,
    beside: Sequence[Index],
    subject: str,
    error: type[FairlpError],
    own: Sequence[Index] = (),
) -> Indices:
    """Return the indices, among those of a formula, that the axes of data run over, in order.

    An axis with the name of an index is of that index. One with labels is of the index with these
    labels, whatever their order. Axes with neither are told by their lengths, and keep the order of
    the indices.

    Parameters
    ----------
    data : object
        As :func:`aligned` takes it.
    beside : sequence of Index
    subject : str
        What it is, for messages.
    error : type
        Of the error to raise.
    own : sequence of Index, optional
        Those that the error counts, where not all.

    Raises
    ------
    FairlpError
        Of that type, where no indices fit, or several.

    Examples
    --------
    >>> n, i = Index("n", ["ann", "bob"], "user"), Index("i", ["s1", "s2"], "server")
    >>> placed(pd.Series({"s2": 1, "s1": 3}), (n, i), "the Series", FairlpError)
    (<Index i: 2 servers s1, s2>,)
    >>> placed([1, 3], (n, i), "the list", FairlpError)
    Traceback (most recent call last):
        ...
    fairlp.errors.FairlpError: the list could run over (n) or (i); name its axes after the indices, or declare \
it with model.parameter(name, indices, values)
    """
    axes = _axes_of(data)
    fits = (
        [_fits(axis, beside, subject, error) for axis in axes] if len(axes) <= len(beside) else []
    )
    unlabelled = [k for k, (name, labels, _) in enumerate(axes) if name is None and labels is None]
    placements = [
        placement
        for placement in permutations(range(len(beside)), len(axes))
        if all(fits[k][place] for k, place in enumerate(placement))
        and sorted(placement[k] for k in unlabelled) == [placement[k] for k in unlabelled]
    ]
    if len(placements) == 1:
        return tuple(beside[place] for place in placements[0])
    if not placements:
        shape = tuple(size for *_, size in axes)
        own = own or beside
        raise error(
            f"{subject} has shape {shape}, expected {shape_of(own)} ({axes_text(own)}); numbers over "
            "further indices are a parameter: model.parameter(name, indices, data)"
        )
    choices = " or ".join(
        f"({','.join(beside[place].symbol for place in placement)})" for placement in placements
    )
    raise error(
        f"{subject} could run over {choices}; name its axes after the indices, or declare it with "
        "model.parameter(name, indices, values)"
    )


def laid_out(
    data: Any, beside: Sequence[Index], subject: str, error: type[FairlpError]
) -> tuple[Indices, Any]:
    """Return the indices that data run over, among those of a formula, and the data in their order.

    Parameters and errors as `placed` and `aligned`, which it joins.

    Examples
    --------
    >>> n, i = Index("n", ["ann", "bob"], "user"), Index("i", ["s1", "s2"], "server")
    >>> laid_out(pd.Series({"s2": 1, "s1": 3}), (n, i), "the Series", FairlpError)
    ((<Index i: 2 servers s1, s2>,), array([3, 1]))
    """
    require_ordered(data, subject, error)
    data = by_element(data, beside)
    axes = placed(data, beside, subject, error)
    return axes, aligned(data, axes, subject, error)


def says_its_indices(data: Any) -> bool:
    """Whether labels or names tell what each axis of data is; a default index 0, 1, … does not.

    >>> says_its_indices(pd.Series({"ann": 1})), says_its_indices(pd.Series([1])), says_its_indices([1])
    (True, False, False)
    """
    return all(
        name is not None or (labels is not None and not isinstance(labels, pd.RangeIndex))
        for name, labels, _ in _axes_of(by_element(data, ()))
    )


def axes_count(data: Any) -> int:
    """Return the number of axes: levels or dimensions of a table, or the depth of a list."""
    return len(_axes_of(by_element(data, ())))


def _axes_of(data: Any) -> list[tuple[Any, pd.Index[Any] | None, int]]:
    """Return the name, labels and length of each axis of data; None for no name or no labels."""
    if isinstance(data, (pd.DataFrame, pd.Series)):
        axes = data.axes
        if data.index.nlevels > 1 and data.ndim == 1:
            axes = [data.index.unique(level) for level in range(data.index.nlevels)]
        return [(axis.name, axis, len(axis)) for axis in axes]
    if _is_data_array(data):
        sized = enumerate(zip(data.dims, data.shape, strict=True))
        return [
            (None if name == f"dim_{k}" else name, data.indexes.get(name), size)
            for k, (name, size) in sized
        ]
    if isinstance(data, (Mapping, list, tuple)):
        entries = list(data.values() if isinstance(data, Mapping) else data)
        labels = as_index(list(data)) if isinstance(data, Mapping) else None
        entry = next(filter(carries_labels, entries), entries[0] if entries else None)
        return [(None, labels, len(entries)), *_axes_of(entry)]
    return [(None, None, size) for size in np.shape(data)]


def _fits(
    axis: tuple[Any, pd.Index[Any] | None, int],
    beside: Sequence[Index],
    subject: str,
    error: type[FairlpError],
) -> list[bool]:
    """Return for each index whether the axis may be it: by name, else by labels, else by length."""
    name, labels, size = axis
    named = [name is not None and names_axis(name, index) for index in beside]
    if any(named):
        return named
    if labels is None:
        return [len(index) == size for index in beside]
    common = [_in_common(labels, index) for index in beside]
    fits = [len(index) == size == k for index, k in zip(beside, common, strict=True)]
    if beside and not any(fits):
        order([labels], [beside[common.index(max(common))]], subject, error)
    return fits


def _in_common(labels: Any, index: Index) -> int:
    if isinstance(index.labels, pd.DatetimeIndex):  # which text may name
        return int((positions_or_none(labels, index) >= 0).sum())
    # sets, since pandas reads tuples of several types as numbers or text where it compares many at
    # once
    return (
        len(labels) if labels.equals(index.labels) else len(set(labels).intersection(index.labels))
    )


def _names_of(data: Any) -> list[Any]:
    """Return the names of dimensions or levels, None where there is none."""
    is_table = carries_labels(data) and not isinstance(data, Mapping)
    return [name for name, *_ in _axes_of(data)] if is_table else []


def names_axis(name: Any, axis: Index | None) -> bool:
    """Whether the name of a dimension means an axis.

    ``to_xarray`` writes ``n_`` where a variable is called n.
    """
    plain = str(name).rstrip("_")
    return axis is not None and plain in (axis.symbol, axis.name, f"{axis.name}s")


def named_axis(name: Any, axes: Iterable[Index]) -> Index | None:
    """Return the first axis that the name of a dimension, level or column means, None for none."""
    return next((axis for axis in axes if names_axis(name, axis)), None)


def unknown_label(subject: str, axis: Index, label: Any, labels: Any = None) -> str:
    """Return the message for a label that an axis does not have."""
    problem = f"{subject} names {axis.name} {quoted(label)}, which is unknown"
    return f"{problem}; {nearest(label, axis)}{_remedy(labels)}"


def _is_data_array(data: Any) -> bool:
    return hasattr(data, "dims") and hasattr(data, "coords") and hasattr(data, "to_numpy")


def positions_of(
    columns: Iterable[Any],
    axes: Sequence[Index],
    subject: str,
    error: type[FairlpError],
    remedy: str = "",
) -> np.ndarray:
    """Return the positions, in C order, of combinations: a column of labels for each axis.

    Raises for a label that is unknown, and for a combination that is there twice.
    """
    codes = []
    for column, axis in zip(columns, axes, strict=True):
        labels = column if isinstance(column, pd.Index) else as_index(column)
        places = positions_or_none(labels, axis)
        for k in np.flatnonzero(places < 0)[:1].tolist():
            raise error(unknown_label(subject, axis, labels[k], column) + remedy)
        codes.append(places)
    flat = np.ravel_multi_index(codes, shape_of(axes)) if codes else np.zeros(0, dtype=np.intp)
    ordered = np.sort(flat, kind="stable")  # which is quick where they are in order already
    for position in ordered[1:][ordered[1:] == ordered[:-1]][:1].tolist():
        raise error(f"{subject} has {_entry(axes, position)} twice; expected each once")
    return np.asarray(flat)


def positions_or_none(labels: pd.Index[Any], axis: Index) -> np.ndarray:
    """Return the position of each label on an axis, -1 for one that is unknown."""
    try:
        return np.asarray(axis.labels.get_indexer(labels.to_flat_index()))
    except TypeError:  # a list, which is no label
        return np.array([0 if is_label(label, axis) else -1 for label in labels], dtype=np.intp)


def order(
    columns: Sequence[Any], axes: Sequence[Index], subject: str, error: type[FairlpError]
) -> np.ndarray:
    """Return where each combination of the axes' labels stands in columns of labels.

    Each must occur exactly once; parameters as `aligned`.
    """
    first = columns[0]
    if len(axes) == 1 and isinstance(first, pd.Index) and first.equals(axes[0].labels):
        return np.arange(len(first))
    positions = positions_of(columns, axes, subject, error)
    size = math.prod(shape_of(axes))
    if len(positions) < size:
        missing = int(np.setdiff1d(np.arange(size), positions)[0])
        raise error(f"{subject} has no {_entry(axes, missing)}; expected every one{_remedy(first)}")
    return np.argsort(positions)


def _entry(axes: Sequence[Index], position: int) -> str:
    """Return the labels at a position in C order, for a message: ``user 'ann' and server 's1'``."""
    place = np.unravel_index(position, shape_of(axes))
    return located(axes, map(int, place)).removeprefix(" of ")


def shape_of(axes: Iterable[Sized]) -> tuple[int, ...]:
    """Return how many labels each index has."""
    return tuple(map(len, axes))


def steps_of(lengths: tuple[int, ...]) -> list[int]:
    """Return how far apart neighbours along each axis lie, in C order."""
    return [math.prod(lengths[place + 1 :]) for place in range(len(lengths))]


def grid_over(lengths: tuple[int, ...], steps: list[int], kind: Any = np.int32) -> np.ndarray:
    """Return Σ (position on an axis) · step; an axis with step 0 has length 1."""
    offsets = np.zeros((1,) * len(lengths), dtype=kind)
    for place, (length, step) in enumerate(zip(lengths, steps, strict=True)):
        if step:
            shape = [1] * len(lengths)
            shape[place] = -1
            offsets = offsets + (np.arange(length, dtype=kind) * kind(step)).reshape(shape)
    return offsets


def completions(indices: Sequence[Index]) -> list[Any]:
    """Return what IPython completes in brackets: the first labels, or tuples of them."""
    combinations = islice(product(*indices), _MOST_COMPLETIONS)
    return [place[0] if len(indices) == 1 else place for place in combinations]


def symbols_of(indices: Iterable[Index]) -> list[str]:
    """Return the symbol of each index."""
    return [index.symbol for index in indices]


def axes_of(indices: Iterable[Index]) -> tuple[tuple[str, pd.Index[Any]], ...]:
    """Return the symbol and the labels of each index, as blocks of a program have them."""
    return tuple((index.symbol, index.labels) for index in indices)


def is_label(entry: object, *indices: Index) -> bool:
    """Whether something is a label of one of the indices; a list is none."""
    try:
        return any(entry in index for index in indices)
    except TypeError:
        return False


def located(axes: Iterable[Index | None], place: Iterable[Any]) -> str:
    """Return where an entry stands, for a message: `` of user 'ann' and server 's1'``."""
    texts = [
        f"entry {k + 1}" if axis is None or k >= len(axis) else f"{axis.name} {quoted(axis[k])}"
        for axis, k in zip_longest(axes, place)
        if k is not None
    ]
    return " of " * bool(texts) + " and ".join(texts)


def numbers_in(data: Any, axes: Axes, subject: str, error: type[FairlpError]) -> np.ndarray:
    """Return data in the order of the axes as floats; raise for an entry that is no number."""
    try:
        return floats(data)
    except NumberError as problem:
        place = located(axes, problem.place) if axes else ""
        raise error(f"{subject}{place} must be numbers ({problem})") from None


def require_shape(
    shape: tuple[int, ...], axes: Sequence[Index], subject: str, error: type[FairlpError]
) -> None:
    """Raise unless a shape is that of the axes."""
    if shape != shape_of(axes):
        raise error(f"{subject} has shape {shape}, expected {shape_of(axes)} ({axes_text(axes)})")


def refuse(
    refused: np.ndarray,
    values: np.ndarray,
    axes: Iterable[Index | None],
    subject: str,
    expected: str,
    error: type[FairlpError],
) -> None:
    """Raise for the first entry that is refused, which its labels name."""
    if refused.any():
        place = np.argwhere(refused)[0].tolist()
        value = values[tuple(place)]
        raise error(f"{subject}{located(axes, place)} is {value:g}; expected {expected}")


def axes_text(indices: Sequence[Index]) -> str:
    """Return a shape in words: ``3 user × 2 server``."""
    return " × ".join(f"{len(index)} {index.name}" for index in indices) or "one number"


def labels_on(data: Any, depth: int) -> Any:
    """Return the labels that something carries on an axis (0: rows), None where it carries none."""
    return next((labels for _, labels, _ in _axes_of(data)[depth:]), None)


def carries_labels(data: object) -> bool:
    """Whether something carries labels of its own."""
    return isinstance(data, (pd.Series, pd.DataFrame, Mapping)) or _is_data_array(data)


def is_table(data: Any) -> bool:
    """Whether something carries the labels of several axes by itself."""
    return len(_names_of(data)) > 1


def _remedy(labels: Any) -> str:
    """Return what to do about labels that do not fit, for a message."""
    is_of_pandas = isinstance(labels, (pd.Index, pd.Series))
    return (
        " (give labels with .set_index(column), or numbers by position with .to_numpy())"
        if is_of_pandas
        else ""
    )


def few(names: Iterable[Any]) -> str:
    """Return the first names of an index, in quotes."""
    labels = list(names)
    shown = ", ".join(map(quoted, labels[:4]))
    return shown + (", …" if len(labels) > 4 else "")


def member(index: Index) -> str:
    """Return the membership of an index in its labels, or in the first few: ``n∈{ann,bob}``."""
    return f"{index.symbol}∈{{{','.join(index.labels[:4].astype(str))}{',…' if len(index) > 4 else ''}}}"
