"""Rules of trees: what the level of a node is, and what a queue gives its parent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Positions of nodes; a slice for all.
Nodes = np.ndarray | slice


class NodeRule:
    """A rule of sharing along a tree of queues: what siblings are compared by.

    Inside each queue v there is a water line s[v], which rises. A child u of v, a queue or a user,
    rises with it while its *level*, the largest of its measures, is its weight times s[v]; a child
    that is further waits. A rule of your own says its :meth:`measures`, and nothing else where they
    are linear in what nodes use. What a node uses is the sum of what its children use, unless
    :meth:`lift` says otherwise. :class:`fairlp.RulePath` goes along the tree by a rule.

    Arrays have a row for each of the V nodes: first the root, then the other queues in the order of
    ``instance.queues``, then the users. ``usage``, shape (V, R), is what a node uses of each
    resource, as a part of what all servers have of it. ``growth``, of the same shape, is how fast
    that grows per unit of the node's own s, and ``nodes`` are positions of nodes, an array or a
    slice: answers about them have a row for each of these. The arrays hold floats, or rationals in
    arrays of objects; a rule that keeps to whole numbers and rationals itself is exact in these.

    Attributes
    ----------
    follows_use : bool
        Whether all that users have counts, and s[v] is the least level over the weight of the
        children of v that can rise. Else, whenever a user stops, s[v] begins at 0 again for those
        that remain, who alone count: they wait until they ask for more than they have.
    rounding : float
        What of a measure may be rounding, where measures are differences.

    Examples
    --------
    Asset fairness along a tree: the sum of all shares in place of the largest. Ann and the queue of
    bob and carl use as much of both resources together.

    >>> import fairlp
    >>> class AssetShare(fairlp.NodeRule):
    ...     def measures(self, usage):
    ...         return (usage.sum(axis=1, keepdims=True),)
    >>> cluster = fairlp.Instance.from_arrays(
    ...     [[1, 0], [1, 1], [0, 1]],
    ...     [[12, 12]],
    ...     users=["ann", "bob", "carl"],
    ...     queue=["", "team", "team"],
    ... )
    >>> path = fairlp.RulePath.start(cluster, rule=AssetShare())
    >>> fairlp.rise(path, cluster).totals.round(6).to_dict()
    {'ann': 9.6, 'bob': 2.4, 'carl': 9.6}
    """

    follows_use: bool = False
    rounding: float = 0

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return what siblings are compared by, with a row for each node.

        Of several arrays the first counts; children whose first measures do not grow while they
        rise go before their siblings, and are compared with each other by the second, and so on.

        Parameters
        ----------
        usage : ndarray, shape (V, R)
            What nodes use.

        Returns
        -------
        sequence of ndarray, shapes (V, any)
            The largest entry of a row is the level of the node.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say its measures")

    def growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> Sequence[np.ndarray]:
        """Return how the measures of nodes grow; by default, measures are linear in what is used.

        Parameters
        ----------
        nodes : ndarray of int, or slice
            Whose measures are asked for.
        usage, growth : ndarray, shape (V, R)
            What nodes use, and how fast that grows.

        Returns
        -------
        sequence of ndarray
            For each of the measures its growth, with a row for each of ``nodes``.
        """
        return [measure[nodes] for measure in self.measures(growth)]

    def lift(self, nodes: Nodes, usage: np.ndarray) -> np.ndarray:
        """Return what of the use of nodes counts for their parents: by default, all.

        Parameters
        ----------
        nodes : ndarray of int, or slice
            Whose use is asked for.
        usage : ndarray, shape (V, R)
            What nodes use.

        Returns
        -------
        ndarray
            A row for each of ``nodes``.
        """
        return usage[nodes]

    def lift_growth(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray:
        """Return how that grows; by default, it is linear in what is used.

        Parameters
        ----------
        nodes : ndarray of int, or slice
            Whose use is asked for.
        usage, growth : ndarray, shape (V, R)
            What nodes use, and how fast that grows.

        Returns
        -------
        ndarray
            A row for each of ``nodes``.
        """
        return self.lift(nodes, growth)

    def gaps(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return how far use may grow until measures, or what counts above, grow otherwise.

        Parameters
        ----------
        usage : ndarray, shape (V, R)
            What nodes use.

        Returns
        -------
        sequence of ndarray, shape (V, R)
            Gaps above 0 count; infinite where nothing changes.
        """
        return ()

    def rank(self, nodes: Nodes, usage: np.ndarray, growth: np.ndarray) -> np.ndarray | None:
        """Return the rank of nodes: of siblings the least alone rise. None: all do.

        Parameters
        ----------
        nodes : ndarray of int
            Nodes of one depth with users who can rise.
        usage, growth : ndarray, shape (V, R)
            What nodes use, and how fast that grows.

        Returns
        -------
        ndarray or None
            A number for each of ``nodes``.
        """
        return None

    def last_slope(self, nodes: Nodes, growth: np.ndarray) -> np.ndarray | int:
        """Return what takes the place of the growth of levels where no measure of nodes grows.

        Parameters
        ----------
        nodes : ndarray of int
            Nodes whose measures stand still while they rise.
        growth : ndarray, shape (V, R)
            How fast their use grows.

        Returns
        -------
        ndarray or int
            Above 0; 1, for s[v] itself, by default.
        """
        return 1


class DominantShare(NodeRule):
    """Hierarchical DRF (Bhattacharya et al., SoCC 2013).

    use[v, r] = Σ use[u, r] over the children u of v;
    level[v] = max over r of use[v, r];
    children u that rise have level[u] = w[u]·s[v].

    With a single amount it is fair sharing of units by weights (Gavel's water filling).
    """

    def measures(self, usage: np.ndarray) -> Sequence[np.ndarray]:
        """Return the shares of resources."""
        return (usage,)


DOMINANT_SHARE = DominantShare()
