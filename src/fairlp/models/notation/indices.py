"""Indices with labels, and what all objects of index notation have in common: they are not changed by assignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pandas as pd

from ...errors import ModelError


class Changing(Protocol):
    """A model, which is told when what it is made of has changed."""

    def changed(self, name: str | None = None) -> None:
        """Throw away what was compiled: all of it, or what the parameter or variable of that name stands in."""


class _ReadOnlyError(ModelError, AttributeError):
    """An attribute that cannot be set."""


class Fixed:
    """What cannot be changed by assignment, which a compiled model would not notice: attributes are set once."""

    #: Attributes that an object has.
    _names: frozenset[str] = frozenset()
    #: How it is changed, for messages.
    _remedy = "make another one"

    def __setattr__(self, name: str, value: Any) -> None:
        what = f"{type(self).__name__} {getattr(self, 'name', '')}".rstrip()
        if name not in self._names:
            raise _ReadOnlyError(f"{what} has no attribute {name!r} that could be set; {self._remedy}")
        if name in self.__dict__:
            raise _ReadOnlyError(
                f"{name!r} of {what} cannot be set, since a model that uses it is not told; {self._remedy}"
            )
        object.__setattr__(self, name, value)


class Index(Fixed):
    """A named, labelled index: what ``n``, ``i`` and ``r`` are in a formula.

    Parameters
    ----------
    symbol : str
        The letter in formulas.
    labels : sequence
        The labels, in order.
    name : str
        What one label stands for ("user").

    Examples
    --------
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> len(n), list(n), str(n)
    (2, ['ann', 'bob'], 'n')
    """

    _names = frozenset({"symbol", "labels", "name"})

    def __init__(self, symbol: str, labels: Iterable[Any], name: str = "") -> None:
        self.symbol = symbol
        self.labels = labels if isinstance(labels, pd.Index) else pd.Index(list(labels))
        self.name = name or symbol

    def alias(self, symbol: str) -> Index:
        """Return another index over the same labels (``m`` beside ``n``).

        Parameters
        ----------
        symbol : str
            How formulas call it.

        Returns
        -------
        Index
        """
        return Index(symbol, self.labels, self.name)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __getitem__(self, position: int) -> Any:
        return self.labels[position]

    def __str__(self) -> str:
        return self.symbol

    def __repr__(self) -> str:
        from .reprs import of_index

        return of_index(self)


def union(*groups: Iterable[Index]) -> tuple[Index, ...]:
    """Return the indices of all groups, each once, in order of appearance; two indices of one symbol are an error."""
    seen: dict[str, Index] = {}
    for group in groups:
        for index in group:
            known = seen.setdefault(index.symbol, index)
            if known is not index and not known.labels.equals(index.labels):
                raise ModelError(
                    f"index {index.symbol!r} stands for {len(known)} labels ({known.name}) in one place and "
                    f"{len(index)} labels ({index.name}) in another; give one of them another symbol with .alias()"
                )
    return tuple(seen.values())
