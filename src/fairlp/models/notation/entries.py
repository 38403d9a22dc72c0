"""What is declared over indices, checked: numbers, bounds, and the subset of elements that a block exists for."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...errors import ModelError
from ..programs.program import Block
from .compiler import naming, numbers
from .expressions import Range, Relation
from .labels import Fixed, Index, aligned, axes_text, floats


class Editable(Protocol):
    """A model whose constraints are changed by their handles."""

    def remove(self, name: Any) -> None:
        """Remove what has the name, or what a handle stands for."""

    def replace(self, name: str | Constraint, relation: Relation, *, where: Any = ...) -> Constraint:
        """Put another relation in the place of a constraint."""


class Subset(Fixed):
    """Some of the combinations of labels: ``E = {(n,i): n may run on i}``. Make one with :meth:`Model.subset`.

    Attributes
    ----------
    name : str
        Its name in formulas; one is made up where it is empty.
    indices : tuple of Index
    positions : ndarray of int
        The elements, in C order over the indices.
    doc : str
        Which these are, in words; without words they are enumerated.
    """

    _names = frozenset({"name", "indices", "positions", "doc"})

    def __init__(self, name: str, indices: tuple[Index, ...], positions: np.ndarray, doc: str = "") -> None:
        positions.setflags(write=False)
        self.name, self.indices, self.positions, self.doc = name, indices, positions, doc

    @property
    def full_size(self) -> int:
        """Number of all combinations."""
        return int(np.prod([len(index) for index in self.indices]))

    def __len__(self) -> int:
        return len(self.positions)

    def elements(self, most: int) -> list[tuple[Any, ...]]:
        """Return the labels of the first elements."""
        places = np.unravel_index(self.positions[:most], [len(index) for index in self.indices])
        return [
            tuple(index[int(k)] for index, k in zip(self.indices, at, strict=True)) for at in zip(*places, strict=True)
        ]

    def __repr__(self) -> str:
        over = ",".join(index.symbol for index in self.indices)
        return f"<Subset {self.name or 'without a name'} of {over}: {len(self)} of {self.full_size}>"


class Constraint(Fixed):
    """A named family of constraints: a handle of :meth:`Model.constraint`, by which it is looked at and changed.

    Attributes
    ----------
    name : str
    relation : Relation
    over : tuple of Index
        What the rows run over, in order.
    where : Subset or None
        Elements that rows exist for; None for all.
    doc : str
    model : Model or None
    """

    _names = frozenset({"name", "relation", "over", "where", "doc", "model"})
    _remedy = "change it with .replace(relation) or .remove()"

    def __init__(
        self,
        name: str,
        relation: Relation,
        over: tuple[Index, ...],
        where: Subset | None = None,
        doc: str = "",
        model: Editable | None = None,
    ) -> None:
        self.name, self.relation, self.over, self.where, self.doc, self.model = name, relation, over, where, doc, model

    @property
    def positions(self) -> np.ndarray | None:
        """Elements that the rows exist for, in C order over the indices; None for all."""
        return None if self.where is None else self.where.positions

    @property
    def full_size(self) -> int:
        """Number of rows without the mask."""
        return int(np.prod([len(index) for index in self.over]))

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.full_size if self.where is None else len(self.where)

    def __len__(self) -> int:
        return self.size

    @property
    def rows(self) -> list[str]:
        """Names of the rows, in order: ``capacity[server3,cpu]``."""
        return self.block(0).names()

    def block(self, start: int) -> Block:
        """Return the rows as a block of a Program that begins at row ``start``."""
        axes = tuple((index.symbol, index.labels) for index in self.over)
        return Block(self.name, axes, start, start + self.size, self.positions)

    def check(self) -> None:
        """Raise where an end of a range is above the other, with the labels."""
        ends = self.relation.ends if isinstance(self.relation, Range) else (None, None)
        with naming(f"constraint {self.name!r}"):
            found = [numbers(end).rows(self.over, self.positions) for end in ends if end is not None]
        if len(found) < 2:
            return
        low, high = found
        wrong = np.flatnonzero(low > high)
        if wrong.size:
            row = self.block(0).name_of(int(wrong[0]))
            raise ModelError(
                f"constraint {row}: the lower end {low[wrong[0]]:g} is above the upper end {high[wrong[0]]:g}"
            )

    def remove(self) -> None:
        """Remove it from its model; the next solve is without it."""
        self._model().remove(self)

    def replace(self, relation: Relation, *, where: Any = ...) -> Constraint:
        """Put another relation in its place, and return the handle of that; see :meth:`Model.replace`."""
        return self._model().replace(self, relation, where=where)

    def _model(self) -> Editable:
        if self.model is None:
            raise ModelError(f"constraint {self.name!r} is of no model")
        return self.model

    def __repr__(self) -> str:
        from .render import of_constraint

        return of_constraint(self)

    def _repr_latex_(self) -> str:
        return self.relation._repr_latex_()


def subset_of(where: Any, over: tuple[Index, ...], what: str) -> Subset | None:
    """Return the elements where a block exists, None for all of them; ``where`` is a mask, a Subset or None."""
    if where is None:
        return None
    if isinstance(where, Subset):
        if [index.symbol for index in where.indices] != [index.symbol for index in over]:
            raise ModelError(f"{what}: {where!r} is not over ({', '.join(index.symbol for index in over)})")
        return where if len(where) < where.full_size else None
    mask = np.asarray(aligned(where, over, f"'where' of {what}", ModelError))
    shape = tuple(len(index) for index in over)
    if mask.dtype != bool or mask.shape != shape:
        raise ModelError(f"{what}: 'where' is {mask.dtype} {mask.shape}, expected bool {shape} ({axes_text(over)})")
    return None if mask.all() else Subset("", over, np.flatnonzero(mask))


def parameter_values(values: Any, indices: tuple[Index, ...], name: str) -> np.ndarray:
    """Return the numbers of a parameter, one for each combination of labels, finite and read-only."""
    try:
        array = floats(aligned(values, indices, f"parameter {name!r}", ModelError))
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"parameter {name!r} is not all numbers ({error})") from None
    shape = tuple(len(index) for index in indices)
    if array.shape != shape:
        raise ModelError(f"parameter {name!r} has shape {array.shape}, expected {shape} ({axes_text(indices)})")
    if not np.isfinite(array).all():
        at = tuple(np.argwhere(~np.isfinite(array))[0])
        where = ", ".join(str(index[p]) for index, p in zip(indices, at, strict=True))
        raise ModelError(f"parameter {name}[{where}] is {array[at]}; expected a finite number")
    array.setflags(write=False)
    return array


def require_name(name: Any, what: str) -> None:
    """Raise unless a name is text, and not the empty one."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {what} cannot be called {name!r}; expected text")


def bounds(
    name: str, lower: Any, upper: Any, over: tuple[Index, ...], positions: np.ndarray | None, binary: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the elements of a variable that exist, read-only; None is no bound."""
    low = _bound(name, "lower", lower, -np.inf, over, positions)
    high = _bound(name, "upper", upper, np.inf, over, positions)
    if binary:
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    if (low > high).any():
        raise ModelError(f"variable {name!r}: a lower bound is above its upper bound")
    low.setflags(write=False)
    high.setflags(write=False)
    return low, high


def _bound(
    name: str, what: str, value: Any, default: float, over: tuple[Index, ...], positions: np.ndarray | None
) -> np.ndarray:
    shape = tuple(len(index) for index in over)
    given = aligned(value, over, f"the {what} bound of variable {name!r}", ModelError)
    try:
        array = floats(default if value is None else given)
    except (TypeError, ValueError) as error:
        raise ModelError(f"variable {name!r}: the {what} bound is not all numbers ({error})") from None
    if array.shape not in ((), shape):
        raise ModelError(f"variable {name!r}: the {what} bound has shape {array.shape}, expected {shape}")
    if np.isnan(array).any() or (array == -default).any():
        raise ModelError(f"variable {name!r}: a {what} bound is NaN or {-default}; expected a number or None")
    size = int(np.prod(shape)) if positions is None else len(positions)
    flat = np.full(size, float(array)) if array.ndim == 0 else array.reshape(-1).copy()
    return flat if positions is None or array.ndim == 0 else flat[positions]
