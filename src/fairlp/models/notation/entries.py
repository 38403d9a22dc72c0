"""What is declared over indices, checked: numbers, bounds, and the subset of elements that a block exists for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from .expressions import Relation
from .indices import Fixed, Index
from .labels import aligned


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


@dataclass(frozen=True)
class ConstraintBlock:
    """A named family of constraints: the relation, the indices it holds for, and for which elements (None: all)."""

    name: str
    relation: Relation
    over: tuple[Index, ...]
    where: Subset | None = None
    doc: str = ""

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
        array = np.array(aligned(values, indices, f"parameter {name!r}", ModelError), dtype=float)
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


def bounds(
    name: str, lower: Any, upper: Any, over: tuple[Index, ...], positions: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the elements of a variable that exist, read-only; None is no bound."""
    low = _bound(name, "lower", lower, -np.inf, over, positions)
    high = _bound(name, "upper", upper, np.inf, over, positions)
    if (low > high).any():
        raise ModelError(f"variable {name!r}: a lower bound is above its upper bound")
    return low, high


def _bound(
    name: str, what: str, value: Any, default: float, over: tuple[Index, ...], positions: np.ndarray | None
) -> np.ndarray:
    shape = tuple(len(index) for index in over)
    given = aligned(value, over, f"the {what} bound of variable {name!r}", ModelError)
    array = np.asarray(default if value is None else given, dtype=float)
    if array.shape not in ((), shape):
        raise ModelError(f"variable {name!r}: the {what} bound has shape {array.shape}, expected {shape}")
    if np.isnan(array).any() or (array == -default).any():
        raise ModelError(f"variable {name!r}: a {what} bound is NaN or {-default}; expected a number or None")
    size = int(np.prod(shape)) if positions is None else len(positions)
    flat = np.full(size, float(array)) if array.ndim == 0 else array.reshape(-1).copy()
    found = flat if positions is None or array.ndim == 0 else flat[positions]
    found.setflags(write=False)
    return found


def axes_text(indices: tuple[Index, ...]) -> str:
    """Return a shape in words: ``3 user × 2 server``."""
    return " × ".join(f"{len(index)} {index.name}" for index in indices) or "one number"
