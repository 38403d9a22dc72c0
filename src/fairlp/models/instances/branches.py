"""How the nodes of a tree hang together: sums of what is below, factors from above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

__all__ = ["Branches"]


@dataclass(frozen=True, eq=False)
class Branches:
    """Nodes of a tree, the root first and parents before their children, with leaves in them.

    Attributes
    ----------
    parents, depths : ndarray of int, shape (V,)
        Position of each node's parent (the root is its own), and how far it is below the root.
    weights : ndarray, shape (V,)
        Weight of each node among its siblings, of floats or of rationals.
    of : ndarray of int, shape (N,)
        Position of the node that each leaf stands in.
    names : sequence of str
        Name of each node.
    """

    parents: np.ndarray
    depths: np.ndarray
    weights: np.ndarray
    of: np.ndarray
    names: Sequence[str]

    @cached_property
    def by_depth(self) -> list[np.ndarray]:
        """Positions of the nodes at each depth, from 1 on."""
        depths = range(1, int(self.depths.max()) + 1)
        return [np.flatnonzero(self.depths == depth) for depth in depths]

    def sums_of_leaves(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums of the leaves' rows by node."""
        return self._sum(0, rows)

    def matrix_of_leaves(self, rows: np.ndarray) -> sparse.csr_array:
        """Return the matrix of sums of some leaves' rows, in floats: (columns × nodes) × leaves.

        It is several times as fast as :meth:`sums_of_leaves`.
        """
        leaves, columns = rows.shape
        places = self.of[:, None] + len(self.parents) * np.arange(columns)
        starts = columns * np.arange(leaves + 1)
        by_leaf = sparse.csc_array(
            (rows.ravel(), places.ravel(), starts), shape=(columns * len(self.parents), leaves)
        )
        return by_leaf.tocsr()

    def hold(self, leaves: np.ndarray) -> np.ndarray:
        """Return the nodes in which some of these leaves stand. Bool."""
        return np.asarray(np.bincount(self.of, weights=leaves, minlength=len(self.parents)) > 0)

    def carry_up(
        self, amounts: np.ndarray, lift: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Add to the amounts of each node what its children give it, from the deepest nodes up.

        ``lift`` has nodes of one depth and all amounts, and returns what these nodes give their
        parents. The amounts are changed, and returned.
        """
        for depth in range(len(self.by_depth), 0, -1):
            amounts += self._sum(depth, lift(self.by_depth[depth - 1], amounts))
        return amounts

    def pass_down(self, factors: np.ndarray) -> np.ndarray:
        """Multiply the factor of each node by all above it; change and return the factors."""
        for nodes in self.by_depth:
            factors[nodes] *= factors[self.parents[nodes]]
        return factors

    def _sum(self, depth: int, rows: np.ndarray) -> np.ndarray:
        """Return sums of rows by node: of leaves (depth 0), or of nodes at a depth by parent."""
        places = self._places[depth]
        shape = (len(self.parents), rows.shape[1])
        if rows.dtype == object:
            total = np.zeros(shape, dtype=object)
            np.add.at(total, places, rows)
            return total
        entries = places[:, None] * shape[1] + np.arange(shape[1])
        total = np.bincount(entries.ravel(), rows.ravel(), minlength=shape[0] * shape[1])
        return total.reshape(shape)

    @cached_property
    def _places(self) -> list[np.ndarray]:
        """Where rows are added: the nodes of leaves, then parents of the nodes at each depth."""
        return [self.of, *(self.parents[nodes] for nodes in self.by_depth)]
