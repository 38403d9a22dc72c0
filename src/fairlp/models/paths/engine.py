"""``rise``: along a path as far as a region allows, round by round. The only loop of its kind.

Users rise along a path (:mod:`.path`) until the region refuses, or one of them has all its tasks.
Who is blocked or satisfied stops, and keeps what it has; the path without these users goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ...errors import NoProgressError
from .path import Number, Path

#: Level of each round, and the positions of the users who stopped there.
History = list[tuple[float, np.ndarray]]


class Stop(NamedTuple):
    """Where the users of a path stop.

    Attributes
    ----------
    pieces : list of Path
        Pieces of the path, each up to a kink or a limit. All but the last are passed to their ends.
    t : number
        How far the last piece goes.
    blocked : ndarray of bool, shape (N,)
        Who cannot have more, unless another user has less.
    """

    pieces: list[Path]
    t: Number
    blocked: np.ndarray


class Region:
    """What fits. A region of your own says :meth:`farthest` and :meth:`blocked`.

    Where users may have more than they ask for (a path whose ``base`` is not its ``tasks``), they rise
    later than others: look for t by ``path.tasks_at(t)``, not by rates.

    Notes
    -----
    The regions of fairlp are :class:`~.pool.PoolRows` (one pool, in closed form), and servers by linear
    programs of any back end or in rationals (``fairlp.solvers.leximin``).

    Examples
    --------
    All tasks together are at most 10.

    >>> import fairlp, numpy as np
    >>> class AtMost10(fairlp.Region):
    ...     def farthest(self, path):
    ...         return min((10 - path.tasks.sum()) / path.rate_at(0).sum(), path.end)
    ...     def blocked(self, path, t):
    ...         return path.active & (path.tasks_at(t).sum() > 9.999999)
    >>> class Alike(fairlp.Path):
    ...     rate = property(lambda path: np.ones(len(path.tasks)))
    >>> users = np.array([0.0, 0.0, 0.0])
    >>> path = Alike(users, np.array([2.0, np.inf, np.inf]), users == 0)
    >>> fairlp.rise(path, AtMost10()).totals.tolist()
    [2.0, 4.0, 4.0]
    """

    def farthest(self, path: Path) -> Number:
        """Return the largest t, at most ``path.end``, at which all have what they ask for.

        Parameters
        ----------
        path : Path

        Returns
        -------
        float
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how far a path goes")

    def blocked(self, path: Path, t: Number) -> np.ndarray:
        """Return which active users cannot have more than at t, unless another has less.

        Parameters
        ----------
        path : Path
        t : float
            How far the path went.

        Returns
        -------
        ndarray of bool, shape (N,)
        """
        raise NotImplementedError(f"{type(self).__name__} does not say who is blocked")

    def stop(self, path: Path) -> Stop:
        """Return where the users of a path stop: on its first piece, unless a region looks ahead.

        Parameters
        ----------
        path : Path

        Returns
        -------
        Stop
        """
        t = self.farthest(path)
        return Stop([path], t, self.blocked(path, t))


@dataclass(frozen=True)
class PathEnd:
    """The end of a path, and the rounds on the way.

    Attributes
    ----------
    path : Path
        On which nobody is active; ``path.tasks`` are the tasks of all.
    history : list of (float, ndarray)
        Level of each round and the positions of the users who stopped there.
    """

    path: Path
    history: History


class Reached(NamedTuple):
    """Where a round ended: the tasks of all users, and who was blocked, shapes (N,)."""

    tasks: np.ndarray
    blocked: np.ndarray


def rise(path: Path, region: Region, round_ends: list[Reached] | None = None) -> PathEnd:
    """Return the rounds along a path until nobody is active.

    Parameters
    ----------
    path : Path
    region : Region
    round_ends : list, optional
        Is given the end of each round, for proofs: N numbers a round.

    Raises
    ------
    NoProgressError
        Where a round stops nobody, and the path has no kink there: it would never end.
    """
    rounds: list[_Round] = []
    keeps_tasks = round_ends is not None
    while path.active.any():
        pieces, t, blocked = region.stop(path)
        for piece in pieces[:-1]:
            satisfied = piece.satisfied_at(piece.end)
            nobody = np.zeros_like(satisfied)
            _append(rounds, _Round.of(piece, piece.end, satisfied, nobody, keeps_tasks))
        path = pieces[-1]
        if not path.active.any():
            break
        stops = path.satisfied_at(t) | blocked
        if not stops.any() and t < path.next_kink:
            raise NoProgressError(
                f"a round stopped no user at t = {float(t):g}, where {type(region).__name__} calls "
                "nobody blocked, nobody has all its tasks (no user's row has a price above "
                "rounding), and the path has no kink"
            )
        last = _Round.of(path, t, stops, blocked, keeps_tasks)
        is_at_start = t == 0 and (len(pieces) > 1 or path.jumps or path.turns_are_apart)
        if is_at_start and blocked.any() and rounds:
            last = last.as_part_of(rounds.pop())
        _append(rounds, last)
        path = path.after(t, stops)
    rounds = [each for each in rounds if each.users.size]
    if round_ends is not None:
        round_ends.extend(each.end for each in rounds if each.end is not None)
    return PathEnd(path, [(each.level(), each.users) for each in rounds])


def _append(rounds: list[_Round], last: _Round) -> None:
    """Append a round, in the place of one before that stopped nobody."""
    if rounds and not rounds[-1].users.size:
        rounds.pop()
    rounds.append(last)


class _Round(NamedTuple):
    """A round: its level, the positions of users who stop there, and its end, if that is kept."""

    level: Callable[[], float]
    users: np.ndarray
    end: Reached | None

    @classmethod
    def of(
        cls, piece: Path, t: Number, stops: np.ndarray, blocked: np.ndarray, keeps_tasks: bool
    ) -> _Round:
        """Return the round that ends at t of a piece."""
        end = Reached(piece.tasks_at(t), blocked) if keeps_tasks else None
        return cls(partial(piece.level, t), np.flatnonzero(stops), end)

    def as_part_of(self, before: _Round) -> _Round:
        """Return the round before, in which users stop who are blocked where a piece begins."""
        end = self.end
        if end is not None and before.end is not None:
            end = Reached(end.tasks, end.blocked | before.end.blocked)
        return _Round(before.level, np.union1d(before.users, self.users), end)
