"""What an expression comes to at column values, everywhere or at some combinations of labels.

Sums, products, quotients, absolute values, logarithms and powers are worked out from their parts at
the places that are asked for, so that nothing is computed for pairs that do not exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...errors import ModelError
from ..programs.program import Block
from .arrays import Labelled
from .compiler import compile_rows, division_by_zero, not_finite, numbers, sparse, starts_of
from .expressions import Abs, Add, Expression, Log, Minimum, Power, Product, Quotient, SumOver
from .labels import Indices, shape_of, symbols_of

#: Places over indices, in C order; None: all, in order.
Places = np.ndarray | None


def evaluate(expression: Expression, columns: Iterable[Block], x: np.ndarray) -> np.ndarray:
    """Return the values of an expression at column values ``x``, one axis for each free index.

    The columns are a block for each variable; parameters have the numbers of now.
    """
    indices = expression.indices
    return evaluate_at(expression, columns, x, indices, None).reshape(shape_of(indices))


def evaluate_at(
    expression: Expression, columns: Iterable[Block], x: np.ndarray, over: Indices, places: Places
) -> np.ndarray:
    """Return the values of an expression at places over its free indices, in any order of these."""
    blocks = list(columns)
    n_columns = sum(map(len, blocks))
    if np.shape(x) != (n_columns,):
        raise ModelError(
            f"x has shape {np.shape(x)}, expected {(n_columns,)}: a number for each column"
        )
    return _Evaluation(starts_of(blocks), x).at(expression, over, places)


class _Evaluation:
    """The values of expressions at one point."""

    def __init__(self, starts: dict[str, int], x: np.ndarray) -> None:
        self.starts = starts
        self.x = x

    def at(self, node: Expression, over: Indices, places: Places) -> np.ndarray:
        """Return the values of an expression at places over its indices, and perhaps others."""
        return self.values(node, _places_over(node.indices, over, places))

    def values(self, node: Expression, places: Places) -> np.ndarray:
        """Return the values of an expression at places over its indices."""
        if node.degree <= 1 and not node.indices:
            return self._compiled(node, places)  # a sum of many elements is one row
        match node:
            case Add():
                return self._sum(node, places)
            case Product():
                left, right = (
                    self.at(factor, node.indices, places) for factor in (node.left, node.right)
                )
                product: np.ndarray = left * right
                return product
            case Quotient():
                below = self.at(node.right, node.indices, places)
                if not below.all():
                    raise _division_by_zero(node, places, int(np.argmin(below != 0)))
                ratio: np.ndarray = self.at(node.left, node.indices, places) / below
                return ratio
            case Abs():
                sizes: np.ndarray = abs(self.values(node.argument, places))
                return sizes
            case Minimum():
                parts = [self.at(part, node.indices, places) for part in node.parts]
                least: np.ndarray = np.minimum.reduce(parts)
                return least
            case Log() | Power():
                return self._concave(node, places)
            case SumOver() if node.degree > 1:
                return self._sum_over(node, places)
        return self._compiled(node, places)

    def _sum(self, node: Add, places: Places) -> np.ndarray:
        """Return the values of a sum; its terms without an index are one row."""
        total = np.zeros(_count(node.indices, places))
        singles = []
        for sign, addend in node.addends():
            if addend.degree <= 1 and not addend.indices:
                singles.append((sign, addend))
            else:
                total += sign * self.at(addend, node.indices, places)
        if singles:
            total += self._compiled(Add(*singles), None)
        return total

    def _concave(self, node: Log | Power, places: Places) -> np.ndarray:
        """Return the values of a logarithm or power."""
        argument = self.values(node.argument, places)
        with np.errstate(divide="ignore", invalid="ignore"):
            values: np.ndarray = (
                np.log(argument) if isinstance(node, Log) else argument**node.exponent
            )
        if node.degree == 0 and not np.isfinite(values).all():
            raise not_finite(node)
        return values

    def _sum_over(self, node: SumOver, places: Places) -> np.ndarray:
        """Return the values of a sum of logarithms, powers or absolute values over indices."""
        count = math.prod(shape_of(node.over))
        if places is not None:
            places = (places[:, None] * count + np.arange(count)).reshape(-1)
        body = self.at(node.body, (*node.indices, *node.over), places)
        sums: np.ndarray = body.reshape(-1, count).sum(axis=1)
        return sums

    def _compiled(self, node: Expression, places: Places) -> np.ndarray:
        """Return the values of numbers, or of what the compiler makes rows of."""
        if places is None or math.prod(shape_of(node.indices)) <= len(places):
            values = self._rows(node, None)
            return values if places is None else values[places]
        positions, ranks = np.unique(places, return_inverse=True)
        return self._rows(node, positions)[ranks]

    def _rows(self, node: Expression, positions: Places) -> np.ndarray:
        """Return the values of a linear expression at sorted positions, each once."""
        if node.degree == 0:
            entries = sparse(node)
            labelled = numbers(node) if entries is None else entries
            return labelled.rows(node.indices, positions)
        triples, values = compile_rows(node, self.starts, node.indices, positions)
        for rows, columns, coefficients in triples:
            values += np.bincount(rows, coefficients * self.x[columns], len(values))
        return values


def _division_by_zero(node: Quotient, places: Places, zero: int) -> ModelError:
    """Return the error that the denominator of a quotient is 0 at one of the places."""
    place = np.array([zero]) if places is None else places[zero : zero + 1]
    below = _places_over(node.right.indices, node.indices, place)
    assert below is not None
    return division_by_zero(node, node.right.indices, int(below[0]))


def _count(indices: Indices, places: Places) -> int:
    """Return how many places there are."""
    return math.prod(shape_of(indices)) if places is None else len(places)


def _places_over(indices: Indices, over: Indices, places: Places) -> Places:
    """Return the places over some of the indices, one for each place over all of them."""
    if symbols_of(indices) == symbols_of(over):
        return places
    if places is None:
        shape = shape_of(indices)
        return Labelled(indices, np.arange(math.prod(shape)).reshape(shape)).rows(over, None)
    coordinates = dict(zip(symbols_of(over), np.unravel_index(places, shape_of(over)), strict=True))
    projected = np.zeros(len(places), dtype=np.int64)
    for index in indices:
        projected = projected * len(index) + coordinates[index.symbol]
    return projected
