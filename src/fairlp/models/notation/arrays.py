"""Numbers over indices: arrays with one axis for each index, or triples where arrays do not do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .combinations import found_in
from .expressions import Along
from .labels import Index, Indices, shape_of, symbols_of, union
from .variables import Element, Variable


@dataclass
class Labelled:
    """Numbers over indices, one array axis each."""

    indices: Indices
    values: np.ndarray

    def over(self, indices: Indices) -> np.ndarray:
        """Return the values with axes in the order of ``indices``, of length 1 where constant."""
        symbols = symbols_of(self.indices)
        order = [symbols.index(index.symbol) for index in indices if index.symbol in symbols]
        shape = [len(index) if index.symbol in symbols else 1 for index in indices]
        return self.values.transpose(order).reshape(shape)

    def rows(self, over: Indices, positions: np.ndarray | None) -> np.ndarray:
        """Return one number for each row of a block over indices, kept where in ``positions``."""
        array = self.over(over)
        shape = shape_of(over)
        if positions is None:
            return np.broadcast_to(array, shape).reshape(-1)
        if not over:
            return np.broadcast_to(array, len(positions))
        places = np.unravel_index(positions, shape)
        axes = tuple(
            column if length > 1 else 0 for column, length in zip(places, array.shape, strict=True)
        )
        return np.broadcast_to(array[axes], len(positions))


def scalar(value: float) -> Labelled:
    """Return one number, over nothing."""
    return Labelled((), np.asarray(value))


def times(a: Labelled, b: Labelled) -> Labelled:
    """Return the product, over the indices of both."""
    if a.values.ndim == 0 and a.values == 1.0:
        return b
    indices = union(a.indices, b.indices)
    return Labelled(indices, a.over(indices) * b.over(indices))


def mapped_numbers(body: Labelled, node: Along) -> Labelled:
    """Return a linear map of numbers along an index; without the index, they are constant there."""
    symbols = symbols_of(body.indices)
    if node.index.symbol not in symbols:
        return times(body, Labelled((node.to,), node.matrix.sum(axis=1)))
    axis = symbols.index(node.index.symbol)
    front = np.moveaxis(body.values, axis, 0)
    values = (node.matrix @ front.reshape(len(node.index), math.prod(front.shape[1:]))).reshape(
        len(node.to), *front.shape[1:]
    )
    return Labelled(
        (*body.indices[:axis], node.to, *body.indices[axis + 1 :]), np.moveaxis(values, 0, axis)
    )


@dataclass
class Entries:
    """A term as triples: places over indices, numbers, and columns of one variable.

    Triples serve terms that no broadcast can express.

    Without columns these are the numbers of a sparse parameter.
    """

    indices: Indices
    coordinates: list[np.ndarray]
    values: np.ndarray
    columns: np.ndarray
    variable: Variable | Element | None = None

    def places(self, over: Indices) -> np.ndarray:
        """Return the position of each entry over some of the indices, in C order."""
        coordinates_of = dict(zip(symbols_of(self.indices), self.coordinates, strict=True))
        positions = np.zeros(len(self.values), dtype=np.int64)
        for index in over:
            positions = positions * len(index) + coordinates_of[index.symbol]
        return positions

    def rows(self, over: Indices, positions: np.ndarray | None) -> np.ndarray:
        """Return one number for each row of a block over indices, of entries without columns."""
        entries = self
        own = symbols_of(self.indices)
        everywhere = tuple(index for index in over if index.symbol not in own)
        if everywhere:
            entries = self.scaled(Labelled(everywhere, np.ones(shape_of(everywhere))))
        places = entries.places(over)
        if positions is None:
            return np.bincount(places, entries.values, math.prod(shape_of(over)))
        exists, rows = found_in(positions, places)
        return np.bincount(rows, entries.values[exists], len(positions))

    def taken(self, selection: np.ndarray) -> Entries:
        """Return some of the entries, in another order or several times."""
        coordinates = [places[selection] for places in self.coordinates]
        return Entries(
            self.indices,
            coordinates,
            self.values[selection],
            self.columns[selection],
            self.variable,
        )

    def times(self, factor: Entries) -> Entries:
        """Return the product with the numbers of a sparse parameter, over the indices of both."""
        symbols, factor_symbols = (set(symbols_of(entries.indices)) for entries in (self, factor))
        shared = tuple(index for index in self.indices if index.symbol in factor_symbols)
        key = factor.places(shared)
        places = self.places(shared)
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.searchsorted(key, places)
        count = np.searchsorted(key, places, side="right") - first
        product = self.taken(np.repeat(np.arange(len(places)), count))
        factor_entries = factor.taken(
            order[np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)]
        )
        extra = [k for k, index in enumerate(factor.indices) if index.symbol not in symbols]
        product.indices = union(self.indices, factor.indices)
        product.coordinates += [factor_entries.coordinates[k] for k in extra]
        product.values = product.values * factor_entries.values
        return product

    def scaled(self, factor: Labelled) -> Entries:
        """Return the product with numbers, over the indices of both."""
        coordinates = list(np.nonzero(factor.values)) if factor.indices else []
        values = factor.values[tuple(coordinates)].reshape(-1)
        return self.times(
            Entries(factor.indices, coordinates, values, np.zeros(len(values), dtype=np.int32))
        )

    def without(self, index: Index) -> Entries:
        """Return the sum over an index."""
        axes = [k for k, axis_index in enumerate(self.indices) if axis_index.symbol != index.symbol]
        values = self.values if len(axes) < len(self.indices) else self.values * len(index)
        indices = tuple(self.indices[k] for k in axes)
        coordinates = [self.coordinates[k] for k in axes]
        return Entries(indices, coordinates, values, self.columns, self.variable)

    def along(self, node: Along) -> Entries:
        """Return a linear map along one of the indices."""
        matrix = node.matrix.tocoo()
        moved = node.index.alias(" to")
        numbers = Entries((moved, node.index), list(matrix.coords), matrix.data, matrix.coords[0])
        mapped = self.times(numbers).without(node.index)
        mapped.indices = tuple(node.to if index is moved else index for index in mapped.indices)
        return mapped


#: (row, column, value).
Triples = tuple[np.ndarray, np.ndarray, np.ndarray]


def assemble(triples: list[Triples], shape: tuple[int, int], layout: str) -> Any:
    """Return a canonical sparse array of triples.

    The list is emptied on the way, which keeps the peak of memory low.
    """
    from scipy.sparse import coo_array

    if triples:
        columns = np.concatenate([batch[1] for batch in triples])
        rows = np.concatenate([batch[0] for batch in triples])
        values = np.concatenate([batch[2] for batch in triples])
        triples.clear()
    else:
        rows = columns = np.zeros(0, dtype=np.int32)
        values = np.zeros(0)
    matrix = coo_array((values, (rows, columns)), shape=shape).asformat(
        layout
    )  # which sums duplicates
    matrix.sort_indices()
    if not matrix.data.all():
        matrix.eliminate_zeros()
    return matrix
