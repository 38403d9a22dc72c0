"""One server that users fill at constant rates, in closed form."""

from __future__ import annotations

import numpy as np

from ...tolerances import SATURATED
from .engine import History, Region, Stop, rise
from .path import ConstantPath, Path


class OneServer(Region):
    """One server that users fill at constant rates; they stand in the order of their limit levels.

    Parameters
    ----------
    needs : ndarray, shape (N, R)
        What one level of each user takes.
    capacity : ndarray, shape (R,)
    has_past : bool
        Whether users rise from levels of their own.
    """

    def __init__(self, needs: np.ndarray, capacity: np.ndarray, has_past: bool) -> None:
        self.needs = needs
        self.remaining = capacity.astype(float)
        self.has_past = has_past

    def stop(self, path: Path) -> Stop:
        """Return the level at which the first resource is used up, and who needs of it; O(NR)."""
        assert isinstance(path, ConstantPath)
        active = np.flatnonzero(path.active)
        needs = self.needs[active]
        ends = path.limit_levels[active]
        if self.has_past:
            saturation = _saturation_from_past(needs, -path.zero[active], ends, self.remaining)
        else:
            saturation = _saturation_levels(needs, ends, self.remaining)
        level = float(saturation.min())
        saturated = (saturation <= level * (1 + SATURATED)) & (level < np.inf)
        needs_saturated = needs[:, saturated].any(axis=1)

        stops = needs_saturated | (ends <= level)
        self.remaining = self.remaining - path.tasks_at(level)[active[stops]] @ needs[stops]
        blocked = np.zeros(len(path.active), dtype=bool)
        blocked[active[needs_saturated]] = True
        return Stop([path], level, blocked)


def fill_server(
    demands: np.ndarray,
    capacity: np.ndarray,
    rate: np.ndarray,
    limits: np.ndarray,
    past: np.ndarray | None = None,
) -> tuple[np.ndarray, History]:
    """Return the leximin level of each user on one server, and the rounds.

    With a past, all users reach a common level t as far as they can: a user of past b gains
    max(t − b, 0), at most limit/rate.

    Parameters
    ----------
    demands : ndarray, shape (N, R)
        Per task.
    capacity : ndarray, shape (R,)
    rate : ndarray, shape (N,)
        Tasks at level 1, > 0.
    limits : ndarray, shape (N,)
        Task limits, infinite for none.
    past : ndarray, shape (N,), optional
        The level from which each user rises.

    Returns
    -------
    levels : ndarray, shape (N,)
        What users gain in levels: tasks are ``levels * rate``.
    rounds : list of (float, ndarray)
        Level of each round and the positions of the users who stopped there.

    Notes
    -----
    At most R rounds, each O(N·R): users are sorted once by the level at which they have all their
    tasks, so that a resource's consumption at any level is a difference of two prefix sums.

    Examples
    --------
    Two resources of one unit; the second user leaves the first resource alone.

    >>> levels, rounds = fill_server(
    ...     np.array([[1.0, 0.5], [0.0, 1.0], [1.0, 0.0]]), np.ones(2), np.ones(3), np.full(3, np.inf)
    ... )
    >>> levels.tolist()
    [0.5, 0.75, 0.5]

    One resource of one unit; the first user has had more than half of it.

    >>> gains, rounds = fill_server(
    ...     np.ones((2, 1)), np.ones(1), np.ones(2), np.full(2, np.inf), np.array([0.5, 0.0])
    ... )
    >>> gains.tolist()
    [0.25, 0.75]
    """
    largest = limits / rate
    order = np.argsort(largest if past is None else past + largest, kind="stable")
    path = ConstantPath.of_levels(largest[order], None if past is None else past[order])
    needs = (demands * rate[:, None])[order]
    end = rise(path, OneServer(needs, capacity, past is not None))
    levels = np.empty(len(rate))
    levels[order] = end.path.tasks
    return levels, [(level, np.sort(order[users])) for level, users in end.history]


def _saturation_levels(needs: np.ndarray, ends: np.ndarray, remaining: np.ndarray) -> np.ndarray:
    """Return the common level at which each resource is used up, for users sorted by their ends."""
    finite = int(np.searchsorted(ends, np.inf))
    at_end = np.zeros((finite + 1, needs.shape[1]))
    # used by those who stopped at their end
    np.cumsum(needs[:finite] * ends[:finite, None], axis=0, out=at_end[1:])
    growing = np.zeros((finite + 1, needs.shape[1]))
    rates_from_end = np.cumsum(needs[::-1], axis=0)  # of the last users, of the last but one, …
    growing[:-1] = rates_from_end[::-1][:finite]
    growing[-1] = needs[finite:].sum(axis=0)  # rate of those still growing
    # consumption when the level reaches each end, and ends passed before saturation, by resource
    used = at_end[:-1] + growing[:-1] * ends[:finite, None]
    passed = (used < remaining).sum(axis=0), np.arange(needs.shape[1])
    pace = growing[passed]
    free = np.maximum(remaining - at_end[passed], 0.0)
    endless = np.full(len(pace), np.inf)
    return np.asarray(np.divide(free, pace, out=endless, where=pace > 0))


def _saturation_from_past(
    needs: np.ndarray, past: np.ndarray, ends: np.ndarray, remaining: np.ndarray
) -> np.ndarray:
    """Return the level at which users who rise from their past use each resource up."""
    resources = range(needs.shape[1])
    levels = [_resource_from_past(needs[:, r], past, ends, remaining[r]) for r in resources]
    return np.array(levels)


def _resource_from_past(
    need: np.ndarray, past: np.ndarray, ends: np.ndarray, remaining: float
) -> float:
    """Return the level at which users who rise from their past use one resource up."""
    users = np.flatnonzero(need)
    need = need[users]
    past = past[users]
    ends = ends[users]
    finite = np.isfinite(ends)
    levels = np.concatenate([past, ends[finite]])
    turns = np.concatenate([need, -need[finite]])  # of the slope
    order = np.argsort(levels, kind="stable")
    levels = levels[order]
    slopes = np.cumsum(turns[order])
    rises = slopes[:-1] * np.diff(levels)
    used = np.concatenate([[0.0], np.cumsum(rises)])

    # From the last turn before the resource is used up; there the sums are computed anew.
    first = max(int(np.searchsorted(used, remaining)) - 1, 0)
    for start in levels[first:].tolist():
        speed = float(need[(past <= start) & (ends > start)].sum())
        if speed > 0.0:
            used_before = float(np.clip(start - past, 0.0, ends - past) @ need)
            return float(start + max(remaining - used_before, 0.0) / speed)
    return np.inf
