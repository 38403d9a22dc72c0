"""Numbers over indices: what expressions without variables come to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...errors import ModelError
from .expressions import Element, Parameter
from .indices import Index, union
from .nodes import Add, Constant, Ends, Expression, Product, Quotient, SumOver


@dataclass
class Labelled:
    """Numbers over indices, one array axis each."""

    indices: tuple[Index, ...]
    values: np.ndarray

    def symbols(self) -> list[str]:
        """Return the symbols of the axes."""
        return [index.symbol for index in self.indices]

    def over(self, indices: tuple[Index, ...]) -> np.ndarray:
        """Return the values with axes in the order of ``indices``, of length 1 where they do not vary."""
        mine = self.symbols()
        order = [mine.index(index.symbol) for index in indices if index.symbol in mine]
        shape = [len(index) if index.symbol in mine else 1 for index in indices]
        return self.values.transpose(order).reshape(shape)

    def rows(self, over: tuple[Index, ...], positions: np.ndarray | None) -> np.ndarray:
        """Return one number for each row of a block over indices, kept where in ``positions``."""
        flat = np.broadcast_to(self.over(over), [len(index) for index in over]).reshape(-1)
        return flat if positions is None else flat[positions]


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Let errors of formulas say what they are of: ``constraint 'capacity': division by zero``."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def numbers(node: Expression) -> Labelled:
    """Return the values of an expression without variables."""
    match node:
        case Constant():
            return Labelled((), np.asarray(node.value))
        case Parameter() | Element() | Ends() if node.degree == 0:
            return Labelled(node.indices, node.values)
        case Add():
            left, right = numbers(node.left), numbers(node.right)
            return Labelled(node.indices, left.over(node.indices) + node.sign * right.over(node.indices))
        case Product():
            return times(numbers(node.left), numbers(node.right))
        case Quotient():
            return times(numbers(node.left), reciprocal(node))
        case SumOver():
            body = numbers(node.body)
            axes = tuple(body.symbols().index(index.symbol) for index in node.over)
            return Labelled(node.indices, body.values.sum(axis=axes))
    raise ModelError(f"{node} has variables where numbers are expected")


def times(a: Labelled, b: Labelled) -> Labelled:
    """Return the product, over the indices of both."""
    if a.values.ndim == 0 and a.values == 1.0:
        return b
    indices = union(a.indices, b.indices)
    return Labelled(indices, a.over(indices) * b.over(indices))


def reciprocal(node: Quotient) -> Labelled:
    """Return 1 over the denominator of a quotient."""
    below = numbers(node.right)
    if not below.values.all():
        raise ModelError(f"division by zero: ({node.right}) is 0 somewhere")
    return Labelled(below.indices, 1.0 / below.values)
