"""``Path``: how the tasks of users go on growing with a level t, from where they stand.

Most mechanisms have a :class:`ConstantPath`: all rise to one level, at constant rates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ...errors import NoProgressError
from ...tolerances import AGREEMENT
from ..instances.rationals import rational

if TYPE_CHECKING:
    from ..instances.instance import Instance

#: A float, or a rational where arrays hold rationals.
Number = Any


@dataclass(frozen=True)
class Path:
    """Where users stand at t = 0, and how the active ones go on.

    A path is straight up to its ``next_kink`` (unless :attr:`is_straight` says otherwise). There, or
    where users stop, :meth:`after` returns the path that goes on, whose t begins at 0 again:
    ``elapsed + t`` is the level. An active user asks for ``base + rate·t`` tasks, at most its limit;
    it keeps what it has where that is more. The others keep what they have.

    A path of your own says its :attr:`rate`, and its :attr:`next_kink` where it has kinks; both may
    depend on the tasks that users have, on who is active, and on ``elapsed``. Numbers are floats, or rationals in
    arrays of objects.

    Attributes
    ----------
    tasks : ndarray, shape (N,)
        Tasks of each user at t = 0.
    limits : ndarray, shape (N,)
        Task limits, infinite for none.
    active : ndarray of bool, shape (N,)
        Who goes on.
    elapsed : float, or Fraction
        The t of the pieces before, which :meth:`level` counts as well.
    row_tasks : ndarray, shape (N,), optional
        Tasks that one unit of the level is worth in the rows of a program, which tells what one
        task is worth there; by default the rates.

    Examples
    --------
    Both rise alike, and ann twice as fast once she has 2 tasks.

    >>> import fairlp, numpy as np
    >>> class TwiceAsFast(fairlp.Path):
    ...     @property
    ...     def rate(self):
    ...         return np.where(self.tasks >= [2, np.inf], 2.0, 1.0)
    ...     @property
    ...     def next_kink(self):
    ...         return 2.0 - self.tasks[0] if self.tasks[0] < 2 else np.inf
    >>> pool = fairlp.Instance.from_arrays([[1], [1]], [[10]], users=["ann", "bob"])
    >>> fairlp.rise(TwiceAsFast.start(pool), pool).totals.to_dict()
    {'ann': 6.0, 'bob': 4.0}
    """

    tasks: np.ndarray
    limits: np.ndarray
    active: np.ndarray
    elapsed: Number = field(default=0.0, kw_only=True)
    row_tasks: np.ndarray | None = field(default=None, kw_only=True, repr=False)

    @classmethod
    def start(cls, instance: Instance, *, exact: bool = False, **fields: Any) -> Self:
        """Return the path on which all users who can run a task begin with nothing.

        Parameters
        ----------
        instance : Instance
            Says who the users are, their task limits, and who can run a task.
        exact : bool
            Whether tasks and limits are rationals (:class:`fractions.Fraction`), which the rate of
            the path has to keep to.
        **fields
            Those that a subclass has beside the three of a path.

        Returns
        -------
        Path
        """
        limits = instance.task_limits
        can_run = instance.runnable().any(axis=1) & (limits > 0)
        tasks = np.zeros(len(limits))
        if exact:
            tasks = rational(tasks)
            limits = rational(limits)
            fields = {"elapsed": Fraction(0), **fields}
        return cls(tasks, limits, can_run, **fields)

    @property
    def rate(self) -> np.ndarray:
        """Tasks of each active user per unit of t, shape (N,)."""
        raise NotImplementedError(f"{type(self).__name__} does not say its rate")

    @property
    def next_kink(self) -> Number:
        """The t > 0 at which rates change though nobody stops; infinite for never."""
        return np.inf

    @property
    def last(self) -> float:
        """A t that cannot be passed, whatever fits; infinite unless a path knows one."""
        return np.inf

    @property
    def base(self) -> np.ndarray:
        """What an active user asks for at t = 0, shape (N,): what it has, unless a path differs."""
        return self.tasks

    @property
    def level_1(self) -> np.ndarray:
        """Tasks that one unit of the level is worth in the rows of a model, shape (N,)."""
        return self.rate if self.row_tasks is None else self.row_tasks

    @property
    def negligible_rise(self) -> float:
        """A t that is 0 but for rounding."""
        return 0.0

    @property
    def is_straight(self) -> bool:
        """Whether what users ask for is straight up to the next kink, as it mostly is."""
        return True

    @property
    def jumps(self) -> bool:
        """Whether users who could rise stand still on this piece, because others go first.

        Along a tree they do where a queue's level stands. A region then asks of all active users
        whether they can rise at all, and passes no piece unseen.
        """
        return False

    @property
    def turns_are_apart(self) -> bool:
        """Whether users who cannot rise keep nobody from rising until it is their turn.

        Then a region may leave it to a later round to find them.
        """
        return False

    def level(self, t: Number) -> float:
        """Return the level that a round shows which ends at t.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        float
        """
        return float(self.elapsed + t)

    def rate_at(self, t: Number) -> np.ndarray:
        """Return the tasks of each active user per unit of t, at a t, and 0 for others.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        ndarray, shape (N,)
        """
        return np.where(self.active, self.rate, 0)

    def asked_at(self, t: Number) -> np.ndarray:
        """Return what active users ask for at a t, limits apart.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        ndarray, shape (N,)
        """
        return np.asarray(self.base + self.rate * t)

    @property
    def limit_levels(self) -> np.ndarray:
        """The t at which each active user has all its tasks, else infinite. Shape (N,)."""
        rate = self.rate
        finite = self.active & (self.limits < np.inf) & (rate > 0)
        never = np.full(len(rate), np.inf, dtype=np.result_type(rate, self.limits, float))
        with np.errstate(over="ignore"):
            return np.asarray(np.divide(self.limits - self.base, rate, out=never, where=finite))

    @property
    def end(self) -> Number:
        """The t at which the first user has all its tasks, or rates change."""
        return min(self.limit_levels.min(initial=np.inf), self.next_kink)

    def next_rise(self, t: Number) -> float:
        """Return the first later t at which a user begins to rise who has more than it asks for.

        Without one, the end.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        float
        """
        rate = self.rate
        begins = np.full(len(rate), self.end)
        np.divide(self.tasks - self.base, rate, out=begins, where=self.active & (rate > 0))
        return float(begins[begins > t].min(initial=self.end))

    def tasks_at(self, t: Number) -> np.ndarray:
        """Return the tasks that every user has at a t.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        ndarray, shape (N,)
        """
        asked = np.minimum(self.asked_at(t), self.limits)
        return np.where(self.active, np.maximum(self.tasks, asked), self.tasks)

    def satisfied_at(self, t: Number) -> np.ndarray:
        """Return which active users have all their tasks at a t.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.

        Returns
        -------
        ndarray of bool, shape (N,)
        """
        at_limit = (self.limit_levels <= t) | (self.tasks >= self.limits)
        return np.asarray(self.active & at_limit)

    def after(self, t: Number, stops: np.ndarray) -> Path:
        """Return the path that goes on from t, on which some users have stopped.

        Parameters
        ----------
        t : number
            At least 0, at most :attr:`end`.
        stops : ndarray of bool, shape (N,)
            Who stops at t.

        Returns
        -------
        Path

        Raises
        ------
        NoProgressError
            At a kink that nothing leads up to, neither t nor tasks: the path would never end.
        """
        elapsed = self.elapsed + t
        if not isinstance(elapsed, Fraction):
            elapsed = float(elapsed)
        stands = elapsed == self.elapsed and (self.tasks_at(t) == self.tasks).all()
        if stands and not stops.any():
            raise NoProgressError(
                f"{type(self).__name__} has a kink at t = {t}, up to which neither t nor anybody "
                "rises; expected next_kink > 0, and rates that are new where it is reached"
            )
        return replace(self, tasks=self.tasks_at(t), active=self.active & ~stops, elapsed=elapsed)


class Beginning(NamedTuple):
    """Where users begin who are guaranteed tasks, or have a past.

    Attributes
    ----------
    tasks, zero : ndarray, shape (N,)
        Tasks at the beginning, and the tasks that levels count from.
    active, satisfied : ndarray of bool, shape (N,)
        Who rises, and who has all its tasks.
    """

    tasks: np.ndarray
    zero: np.ndarray
    active: np.ndarray
    satisfied: np.ndarray

    @classmethod
    def of(
        cls,
        guaranteed: np.ndarray,
        limits: np.ndarray,
        can_run: np.ndarray,
        count: str = "total",
        past_tasks: np.ndarray | None = None,
    ) -> Beginning:
        """Return where users begin with their ``guaranteed`` tasks.

        With ``count="borrowed"`` the guarantee is no part of what the level counts. The past is a
        part that users have no tasks of. Users do not rise who are guaranteed all their tasks, but
        for rounding.
        """
        tasks = np.where(can_run, guaranteed, 0)
        zero = tasks if count == "borrowed" else tasks * 0
        if past_tasks is not None:
            zero = zero - past_tasks
        satisfying = limits * satisfying_part(limits)
        satisfied = can_run & np.asarray(tasks >= satisfying, dtype=bool)
        return cls(tasks, zero, can_run & ~satisfied, satisfied)


def satisfying_part(numbers: np.ndarray) -> Number:
    """Return the part of its task limit with which a user is satisfied, float or rational."""
    return 1 - (Fraction(AGREEMENT) if numbers.dtype == object else AGREEMENT)


@dataclass(frozen=True)
class ConstantPath(Path):
    """Users who all rise to one level t, at constant rates.

    Attributes
    ----------
    per_level : ndarray, shape (N,)
        Tasks of each user at level 1.
    zero : ndarray, shape (N,)
        The tasks that levels count from: a user asks for ``zero + per_level·t``.
    """

    per_level: np.ndarray
    zero: np.ndarray

    @classmethod
    def of_levels(cls, limits: np.ndarray, past: np.ndarray | None = None) -> ConstantPath:
        """Return the path of users who are counted in levels above their past."""
        nothing = np.zeros(len(limits))
        everyone = np.ones(len(limits), dtype=bool)
        return cls(nothing, limits, everyone, nothing + 1.0, nothing if past is None else -past)

    @classmethod
    def first(
        cls,
        per_level: np.ndarray,
        guaranteed: np.ndarray,
        limits: np.ndarray,
        can_run: np.ndarray,
        count: str = "total",
        past: np.ndarray | None = None,
    ) -> ConstantPath:
        """Return the path of users who begin with guarantees, or with a past, in levels."""
        past_tasks = None if past is None else per_level * past
        start = Beginning.of(guaranteed, limits, can_run, count, past_tasks)
        return cls(start.tasks, limits, start.active, per_level, start.zero)

    @property
    def rate(self) -> np.ndarray:
        """Tasks of each user per unit of t."""
        return self.per_level

    @property
    def base(self) -> np.ndarray:
        """What a user asks for at level 0."""
        return self.zero

    @cached_property
    def limit_levels(self) -> np.ndarray:
        """The level at which each active user has all its tasks, else infinite. Shape (N,)."""
        return super().limit_levels

    def level(self, t: Number) -> float:
        """Return t, or where that is infinite the last level at which a user rises."""
        return float(t if t < np.inf else self.limit_levels[self.active].max())
