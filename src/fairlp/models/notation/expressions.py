"""Index notation: parameters and variables over named indices, and the expressions made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, UnknownNameError, nearest
from .labels import Changing, Index, union
from .nodes import (
    Add,
    Comparison,
    Constant,
    Expression,
    Log,
    Power,
    Product,
    Quotient,
    Range,
    Relation,
    SumOver,
    as_expression,
    log,
    power,
)

if TYPE_CHECKING:
    from .entries import Subset

__all__ = [
    "Add",
    "Comparison",
    "Constant",
    "Element",
    "Expression",
    "Index",
    "Log",
    "Parameter",
    "Power",
    "Product",
    "Quotient",
    "Range",
    "Relation",
    "SumOver",
    "Variable",
    "as_expression",
    "log",
    "power",
    "union",
]


class Parameter(Expression):
    """Known numbers over indices, by name; :meth:`set` gives it others."""

    _names = frozenset({"name", "indices", "doc", "base", "model"})
    _remedy = "other numbers are given by .set(values)"

    def __init__(
        self,
        name: str,
        indices: tuple[Index, ...],
        values: np.ndarray | None,
        doc: str = "",
        *,
        model: Changing | None = None,
        base: Parameter | None = None,
    ) -> None:
        self.name, self.indices, self.doc, self.model = name, indices, doc, model
        self.base: Parameter = self if base is None else base
        if values is not None:
            self.__dict__["_values"] = values

    @property
    def values(self) -> np.ndarray:
        """The numbers, read-only; one array axis for each index."""
        found: np.ndarray = self.base.__dict__["_values"]
        return found

    def __repr__(self) -> str:
        from .render import of_parameter

        return of_parameter(self)

    def set(self, values: Any) -> None:
        """Give the parameter other numbers; of its model only what they stand in is compiled anew, when it is solved.

        Parameters
        ----------
        values : array_like, Series, DataFrame or mapping
            As :meth:`Model.parameter` takes them: with labels they are put in order, and all are checked.
        """
        from .entries import parameter_values

        base = self.base
        base.__dict__["_values"] = parameter_values(values, base.indices, base.name)
        if base.model is not None:
            base.model.changed(base.name)

    def __getitem__(self, key: Any) -> Parameter | Element:
        """Return the same numbers over other symbols (``d[m, r]``), or some of them by label (``d["ann", :]``)."""
        places, indices = _places(self, key)
        if places.count(None) < len(places):
            return Element(self.base, places, indices)
        return Parameter(self.name, indices, None, self.doc, base=self.base)


class Variable(Expression):
    """Unknown numbers over indices, by name; ``positions`` tells which elements exist (None: all)."""

    degree = 1
    _names = frozenset({"name", "indices", "doc", "where", "integer", "base", "model"})
    _remedy = "other bounds are given by .set(lower=…, upper=…)"

    def __init__(
        self,
        name: str,
        indices: tuple[Index, ...],
        *,
        where: Subset | None = None,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
        integer: bool = False,
        doc: str = "",
        model: Changing | None = None,
        base: Variable | None = None,
    ) -> None:
        self.name, self.indices, self.doc = name, indices, doc
        self.where, self.integer, self.model = where, integer, model
        self.base: Variable = self if base is None else base
        if bounds is not None:
            self.__dict__["_bounds"] = bounds

    @property
    def positions(self) -> np.ndarray | None:
        """Elements that exist, in C order over the indices; None for all."""
        return None if self.where is None else self.where.positions

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the elements that exist, read-only."""
        found: tuple[np.ndarray, np.ndarray] = self.base.__dict__["_bounds"]
        return found[0]

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the elements that exist, read-only."""
        found: tuple[np.ndarray, np.ndarray] = self.base.__dict__["_bounds"]
        return found[1]

    def __repr__(self) -> str:
        from .render import of_variable

        return of_variable(self)

    def set(self, *, lower: Any = ..., upper: Any = ...) -> None:
        """Give the variable other bounds, as :meth:`Model.variable` takes them; what is not named stays.

        Of its model only the bounds are compiled anew, when it is next solved.
        """
        from .entries import bounds

        base = self.base
        old = base.__dict__["_bounds"]
        low = bounds(base.name, None if lower is ... else lower, None, base.indices, base.positions)[0]
        high = bounds(base.name, None, None if upper is ... else upper, base.indices, base.positions)[1]
        new = (old[0] if lower is ... else low, old[1] if upper is ... else high)
        if (new[0] > new[1]).any():
            raise ModelError(f"variable {base.name!r}: a lower bound is above its upper bound")
        base.__dict__["_bounds"] = new
        if base.model is not None:
            base.model.changed(base.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each index."""
        return tuple(len(index) for index in self.indices)

    @property
    def size(self) -> int:
        """Number of elements that exist."""
        return int(np.prod(self.shape)) if self.positions is None else len(self.positions)

    def __getitem__(self, key: Any) -> Variable | Element:
        """Return the same variable over other symbols (``x[m, i]``), or some of it by label (``x["ann", :]``)."""
        places, indices = _places(self, key)
        if places.count(None) < len(places):
            return Element(self.base, places, indices)
        return Variable(
            self.name,
            indices,
            where=self.where,
            integer=self.integer,
            doc=self.doc,
            base=self.base,
        )


class Element(Expression):
    """Some elements of a parameter or variable, by label: ``g["ann", "s1"]`` is one, ``g["ann", :]`` a row.

    Attributes
    ----------
    base : Parameter or Variable
    places : tuple of (int or None)
        Position of the label of each index, None where the index stays.
    indices : tuple of Index
        The indices that stay.
    """

    _names = frozenset({"base", "name", "places", "indices", "degree"})

    def __init__(self, base: Parameter | Variable, places: tuple[int | None, ...], indices: tuple[Index, ...]) -> None:
        self.base, self.name, self.places, self.indices, self.degree = base, base.name, places, indices, base.degree
        if isinstance(base, Variable) and base.positions is not None and not indices:
            at = np.ravel_multi_index(tuple(place or 0 for place in places), base.shape)
            if at not in base.positions:
                raise ModelError(f"{self} does not exist: {base!r}")

    @property
    def values(self) -> np.ndarray:
        """The numbers of elements of a parameter, read-only."""
        if isinstance(self.base, Variable):
            raise ModelError(f"{self} is unknown; a solution has the values of variable {self.name!r}")
        found: np.ndarray = np.asarray(self.base.values[tuple(slice(None) if p is None else p for p in self.places)])
        found.setflags(write=False)
        return found

    def __repr__(self) -> str:
        from .render import of_element

        return of_element(self)

    @property
    def keys(self) -> tuple[Any, ...]:
        """Label or symbol of each index of the base, as it is printed."""
        free = iter(self.indices)
        labels = [index.labels for index in self.base.indices]
        return tuple(
            next(free).symbol if place is None else own[place] for own, place in zip(labels, self.places, strict=True)
        )


def _places(node: Parameter | Variable, key: Any) -> tuple[tuple[int | None, ...], tuple[Index, ...]]:
    """Return what stands in brackets: positions of labels (None where an index stays), and the indices that stay."""
    own = node.indices
    if len(own) == 1 and isinstance(key, tuple) and _is_label(key, own[0]):
        key = (key,)  # a label may be a tuple itself
    keys = key if isinstance(key, tuple) else (key,)
    symbols = ",".join(index.symbol for index in own)
    if len(keys) > len(own) or (len(keys) < len(own) and all(isinstance(one, Index) for one in keys)):
        raise ModelError(f"{node.name!r} has {len(own)} indices ({symbols}), not {len(keys)}")
    places: list[int | None] = []
    free: list[Index] = []
    for index, one in zip(own, (*keys, *(slice(None),) * (len(own) - len(keys))), strict=True):
        if isinstance(one, slice) and one != slice(None):
            raise ModelError(f"{node.name!r}: a part of index {index.symbol!r} is not taken by {one}; take all by ':'")
        stays = one if isinstance(one, Index) else index if isinstance(one, slice) else None
        places.append(_position(node.name, one, index) if stays is None else None)
        if stays is None:
            continue
        if not index.labels.equals(stays.labels):
            raise ModelError(
                f"{node.name!r}: index {index.symbol!r} cannot be replaced by {stays.symbol!r}: other labels"
            )
        if stays.symbol in {other.symbol for other in free}:
            raise ModelError(f"{node.name!r} has index {stays.symbol!r} in two places; a diagonal is taken by `where`")
        free.append(stays)
    return tuple(places), tuple(free)


def _is_label(key: object, index: Index) -> bool:
    try:
        return key in index
    except TypeError:  # a list, which is no label
        return False


def _position(name: str, label: Any, index: Index) -> int:
    """Return the position of a label of an index."""
    if not _is_label(label, index):
        raise UnknownNameError(f"{name!r} has no {index.name} {label!r}; {nearest(label, index)}")
    found = index.labels.get_loc(label)
    if not isinstance(found, int):
        raise ModelError(f"{name!r}: label {label!r} stands for more than one {index.name}")
    return found
