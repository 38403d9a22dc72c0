"""The path of users along a tree of queues, by a rule of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from ...errors import ModelError, NotDefinedError, quoted
from ...tolerances import ACCEPTED, ROUNDING
from ..instances.instance import Instance
from ..instances.rationals import rational
from ..paths.path import Number
from .guarantees import floors
from .rules import DOMINANT_SHARE, NodeRule
from .tree import largest_of_rows, tree_by_rule
from .tree_path import TreePath


@dataclass(frozen=True)
class RulePath(TreePath):
    """Users who rise along an instance's tree of queues, as a rule says (:class:`fairlp.NodeRule`).

    Users begin with what queues guarantee to them. Whoever is blocked leaves, and the others go on:
    by their ``tree``, of which the ``point`` is where it stands, with the levels of nodes and what
    they use.

    Attributes
    ----------
    tree : Tree
    point : TreePoint
    zero : ndarray, shape (N,)
        The tasks that levels count from.
    satisfied : ndarray of bool, shape (N,)
        Who stopped with all its tasks, where that counts.

    Examples
    --------
    Hierarchical DRF: a queue's level is its dominant share, in floats and in rationals.

    >>> import fairlp
    >>> class DominantShare(fairlp.NodeRule):
    ...     def measures(self, usage):
    ...         return (usage,)
    >>> cluster = fairlp.Instance.from_arrays(
    ...     [[1, 2], [2, 1], [1, 1]],
    ...     [[10, 10]],
    ...     users=["ann", "bob", "carl"],
    ...     queue=["team", "team", ""],
    ... )
    >>> path = fairlp.RulePath.start(cluster, rule=DominantShare())
    >>> fairlp.rise(path, cluster).totals.round(6).tolist()
    [1.666667, 1.666667, 5.0]
    >>> exact = fairlp.RulePath.start(cluster, rule=DominantShare(), exact=True)
    >>> fairlp.rise(exact, cluster).totals.tolist()
    [Fraction(5, 3), Fraction(5, 3), Fraction(5, 1)]
    """

    @classmethod
    def start(
        cls,
        instance: Instance,
        *,
        rule: NodeRule = DOMINANT_SHARE,
        counted: bool = False,
        exact: bool = False,
        **fields: Any,
    ) -> Self:
        """Return the path on which all users who can run a task begin with their guarantees.

        Parameters
        ----------
        instance : Instance
            Says the queues, with weights and guarantees; users, and their weights and task limits.
        rule : NodeRule
            An object of a class of yours; hierarchical DRF by default.
        counted : bool
            Whether users who have all their tasks count for their queues, as in `h-drf-counted`.
        exact : bool
            Whether numbers are rationals. Guarantees are those of floats, less their rounding.
        **fields
            Those that a subclass has beside.

        Returns
        -------
        RulePath

        Raises
        ------
        ModelError
            For a rule whose measures are not tables with a row for each node.
        NotDefinedError
            With given rates, by which a task uses more or less than its demands.
        """
        if instance.has_rates:
            raise NotDefinedError(
                "rates are given, and what a task uses depends on its server; expected "
                "an instance of demands and capacities alone, of which a rule knows what nodes use"
            )
        tree = tree_by_rule(instance, rule, counted, exact)
        _require_tables(rule, tree.origin.usage)
        guaranteed = floors(instance)
        limits = instance.task_limits
        if exact:
            limits = rational(limits)
            # Guarantees in tasks are rounded, and the last digit may not fit.
            guaranteed = rational(guaranteed) * (1 - Fraction(ROUNDING))
        first = cls._first(tree, guaranteed, limits, instance.runnable_users(), **fields)
        return first._from_tasks() if rule.follows_use else first

    def level(self, t: Number) -> float:
        """Return s[root], the level inside the root, that a round shows which ends at t.

        Where the rule follows use, it is the least level over the weight of the root's children
        that rise.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        float
        """
        tree = self.tree
        if not tree.rule.follows_use:
            return super().level(t)
        usage = self.pace.after(self.point, t).usage
        levels = largest_of_rows(tree.rule.measures(usage)[0]) / tree.branches.weights
        rises = (tree.branches.depths == 1) & (self.pace.usage > 0).any(axis=1)
        return float(levels[rises].min(initial=np.inf))

    def after(self, t: Number, stops: np.ndarray) -> Self:
        """Return the path that goes on from t, on which some users have stopped.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.
        stops : ndarray of bool, shape (N,)
            Who stops at t.

        Returns
        -------
        RulePath

        Raises
        ------
        ModelError
            Where nodes are not where the rule says that they grow to.
        """
        self._require_growth(t)
        if not self.tree.rule.follows_use:
            return super().after(t, stops)
        active = self.active & ~stops
        return replace(self, tasks=self.tasks_at(t), active=active)._from_tasks()

    def _from_tasks(self) -> Self:
        """Return the path that begins where all that users have counts."""
        return replace(self, zero=self.tasks, point=self.tree.begin(self.tasks))

    def _require_growth(self, t: Number) -> None:
        """Raise where nodes at t do not measure what the rule says that they have grown to."""
        if t == np.inf:
            return
        tree = self.tree
        rule = tree.rule
        tasks = np.where(self.active, tree.tasks_at(self.pace.after(self.point, t)), 0)
        if rule.follows_use:
            tasks = tasks + self.tasks
        elif tree.counted:
            tasks = tasks + self._counted_tasks(self.satisfied)
        growth = rule.growth(slice(None), self.point.usage, self.pace.usage)
        before = rule.measures(self.point.usage)
        for k, measure in enumerate(rule.measures(tree.begin(tasks).usage)):
            grown = before[k] + growth[k] * t
            slack = 0 if tree.exact else ACCEPTED * abs(grown).max(initial=0) + rule.rounding
            is_wrong = (abs(measure - grown) > slack).any(axis=1)
            if is_wrong.any():
                v = int(is_wrong.argmax())
                kind = type(rule).__name__
                raise ModelError(
                    f"{kind} contradicts itself: the measures of node {v}, in queue "
                    f"{quoted(tree.branches.names[v])}, are {measure[v].astype(float).tolist()} where its "
                    f"growth leads to {grown[v].astype(float).tolist()}; expected growth and "
                    "lift_growth to say how measures and what is lifted grow, and gaps to say where "
                    "that changes"
                )


def _require_tables(rule: NodeRule, usage: np.ndarray) -> None:
    """Raise where a rule is none, or its measures are not tables with a row for each node."""
    if not isinstance(rule, NodeRule):
        raise ModelError(
            f"the rule is {quoted(rule)}; expected an object of a fairlp.NodeRule's class"
        )
    shapes = [np.shape(measure) for measure in rule.measures(usage)]
    if not shapes or any(len(shape) != 2 or shape[0] != len(usage) for shape in shapes):
        raise ModelError(
            f"{type(rule).__name__}.measures gives arrays of the shapes {shapes[:3]}; expected a "
            f"sequence of arrays with a row for each of the {len(usage)} nodes, such as (usage,) or "
            "(usage.sum(axis=1, keepdims=True),)"
        )
