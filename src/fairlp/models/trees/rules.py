"""Rules of trees: what the level of a node is, and what a queue gives its parent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

#: The nodes whose rows are given; a slice for all.
Nodes = np.ndarray | slice


class Rule(Protocol):
    """The rule of a tree's nodes; use and growth are rows of all nodes, answers of those given.

    Attributes
    ----------
    follows_use : bool
        Whether the s of a queue is the least level of its children that can rise, over the weight.
        Else it begins at 0 with each new tree, and children wait until it reaches them.
    rounding : float
        What of a measure may be rounding.
    """

    @property
    def follows_use(self) -> bool: ...

    @property
    def rounding(self) -> float: ...

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return what siblings are compared by: the largest entry of a row is the level.

        Each comparison is of the children that stand still in the one before.
        """

    def growth(
        self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray
    ) -> Sequence[np.ndarray]:
        """Return how measures grow while the use does."""

    def lift(self, nodes: Nodes, usage: np.ndarray) -> np.ndarray:
        """Return what of a node's use counts for its parent."""

    def lift_growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Return how that grows while the use does."""

    def gaps(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return how far use may grow until measures, or what counts above, grow otherwise."""

    def rank(
        self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray
    ) -> np.ndarray | None:
        """Return the rank of nodes among siblings, of which the first alone rise; None: all do."""

    def last_slope(self, nodes: Nodes, growth: np.ndarray) -> np.ndarray | int:
        """Return by what the weights of children are divided that stand still in all comparisons."""


class DominantShare:
    """Hierarchical DRF (Bhattacharya et al., SoCC 2013).

    use[v, r] = Σ use[u, r] over the children u of v;
    level[v] = max over r of use[v, r];
    a child that rises has level[u] = w[u]·s[v].

    A rule by weights alone (Gavel's fair sharing of units) is this one with a single amount.
    """

    follows_use = False
    rounding = 0

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return the shares of resources."""
        return (usage,)

    def growth(
        self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray
    ) -> Sequence[np.ndarray]:
        """Return the growth of the shares."""
        return (growth[nodes],)

    def lift(self, nodes: Nodes, usage: np.ndarray) -> np.ndarray:
        """Return all that is used."""
        return usage[nodes]

    def lift_growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Return all of its growth."""
        return growth[nodes]

    def gaps(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return nothing: use grows for all alike."""
        return ()

    def rank(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> None:
        """Return None: all children rise."""

    def last_slope(self, nodes: Nodes, growth: np.ndarray) -> int:
        """Return 1: queues whose level stands still raise what is inside them by their weights."""
        return 1


DOMINANT_SHARE = DominantShare()
