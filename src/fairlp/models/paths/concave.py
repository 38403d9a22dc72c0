"""Paths of levels that are concave in tasks: what users ask for bends upwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from .path import Number, Path

if TYPE_CHECKING:
    from ..instances.instance import Instance


class ConcaveLevels(Protocol):
    """Levels that are concave and increasing in tasks, 0 at none; arrays have shape (N,)."""

    def levels(self, tasks: np.ndarray) -> np.ndarray:
        """Return the level of each user at its tasks."""

    def tasks(self, level: float) -> np.ndarray:
        """Return the tasks of each user at a level."""

    def tasks_per_level(self, level: float) -> np.ndarray:
        """Return the derivative of the tasks of each user at a level."""


@dataclass(frozen=True)
class ConcavePath(Path):
    """Users who all rise to one level t of functions that are concave in tasks.

    Attributes
    ----------
    functions : ConcaveLevels
    most : ndarray, shape (N,)
        Tasks that no user can have more of, whatever others have: levels may have no tasks beyond.

    Examples
    --------
    Levels √x and √x/2, on 10 tasks of room: at one level the second has four times as many.

    >>> import fairlp, numpy as np
    >>> class Roots:
    ...     scale = np.array([1.0, 2.0])
    ...     def levels(self, tasks):
    ...         return np.sqrt(tasks) / self.scale
    ...     def tasks(self, level):
    ...         return (self.scale * level) ** 2
    ...     def tasks_per_level(self, level):
    ...         return 2 * self.scale**2 * level
    >>> pool = fairlp.Instance.from_arrays([[1], [1]], [[10]], users=["ann", "bob"])
    >>> path = fairlp.ConcavePath.start(pool, functions=Roots())
    >>> fairlp.rise(path, pool).totals.round(6).to_dict()
    {'ann': 2.0, 'bob': 8.0}
    """

    functions: ConcaveLevels
    most: np.ndarray

    @classmethod
    def start(cls, instance: Instance, **fields: Any) -> Self:
        """Return the path on which all users who can run a task begin with nothing.

        Parameters
        ----------
        instance : Instance
        **fields
            ``functions``; and ``most``, by default what a user could run alone.

        Returns
        -------
        ConcavePath
        """
        fields.setdefault("most", instance.gamma().sum(axis=1))
        return super().start(instance, **fields)

    @property
    def rate(self) -> np.ndarray:
        """Tasks of each user per unit of t at t = 0."""
        return self.rate_at(0.0)

    @property
    def is_straight(self) -> bool:
        """They are curves."""
        return False

    @property
    def base(self) -> np.ndarray:
        """What a user asks for at level 0: nothing."""
        return self.tasks * 0.0

    @cached_property
    def limit_levels(self) -> np.ndarray:
        """The level at which each active user has all its tasks, else infinite. Shape (N,)."""
        finite = self.active & (self.limits < np.inf)
        return np.where(finite, self.functions.levels(np.where(finite, self.limits, 0.0)), np.inf)

    @cached_property
    def last(self) -> float:
        """The level at which the first active user asks for more than it can ever have."""
        return float(self.functions.levels(self.most)[self.active].min(initial=np.inf))

    def level(self, t: Number) -> float:
        """Return t.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        float
        """
        return float(t)

    def rate_at(self, t: Number) -> np.ndarray:
        """Return the derivative of what active users ask for at a level.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        ndarray, shape (N,)
        """
        return np.where(self.active, self.functions.tasks_per_level(min(t, self.last)), 0.0)

    def asked_at(self, t: Number) -> np.ndarray:
        """Return what active users ask for at a level; beyond :attr:`last`, what they do there.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        ndarray, shape (N,)
        """
        return np.where(self.active, self.functions.tasks(min(t, self.last)), 0.0)
