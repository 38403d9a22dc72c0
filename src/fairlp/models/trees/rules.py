"""Rules of trees: what the level of a node is, and what a queue gives its parent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Positions of nodes; a slice for all.
Nodes = np.ndarray | slice


class TreeRule:
    """What children are compared by; by default all that a node uses counts above, and all rise.

    ``usage`` and ``growth`` are rows of all nodes (the growth per unit of each node's own s).
    Answers about ``nodes`` are rows of these.

    Attributes
    ----------
    follows_use : bool
        Whether the s of a queue is the least level over the weight of its children that can rise.
        Else it begins at 0, and children wait until it reaches them.
    rounding : float
        What of a measure may be rounding.
    """

    follows_use: bool = False
    rounding: float = 0

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return what siblings are compared by: the largest entry of a row is the level.

        The children that stand still in one comparison are compared in the next.
        """
        raise NotImplementedError

    def growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> Sequence[np.ndarray]:
        """Return how the measures of nodes grow."""
        raise NotImplementedError

    def lift(self, nodes: Nodes, usage: np.ndarray) -> np.ndarray:
        """Return what of the use of nodes counts for their parents."""
        return usage[nodes]

    def lift_growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Return how that grows."""
        return growth[nodes]

    def gaps(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return how far use may grow until measures, or what counts above, grow otherwise."""
        return ()

    def rank(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray | None:
        """Return the rank of nodes: of siblings the first alone rise. None: all do."""
        return None

    def last_slope(self, nodes: Nodes, growth: np.ndarray) -> np.ndarray | int:
        """Return what takes the place of the level of nodes that stand still in all comparisons.

        It is how fast that grows: 1, for s[v] itself.
        """
        return 1


class DominantShare(TreeRule):
    """Hierarchical DRF (Bhattacharya et al., SoCC 2013).

    use[v, r] = Σ use[u, r] over the children u of v;
    level[v] = max over r of use[v, r];
    children u that rise have level[u] = w[u]·s[v].

    With a single amount it is fair sharing of units by weights (Gavel's water filling).
    """

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return the shares of resources."""
        return (usage,)

    def growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> Sequence[np.ndarray]:
        """Return their growth."""
        return (growth[nodes],)


DOMINANT_SHARE = DominantShare()
