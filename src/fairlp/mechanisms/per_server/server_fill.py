"""Water-filling of one server for users who also run elsewhere: a server's best response in PS-DSF.

With the other servers fixed, user n has base[n] tasks from them. Its level on this server, (tasks in all) over
γ[n,i]·φ[n], starts where those put it; the server raises the lowest levels together until a resource is saturated,
freezes the users who demand it, and goes on with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import SATURATED

#: A user who is at its task limit, or whom no resource stopped, belongs to no group.
NO_GROUP = -1


@dataclass(frozen=True)
class Filled:
    """One server, filled.

    Attributes
    ----------
    tasks : ndarray, shape (n,)
        Tasks of each user here.
    group : ndarray of int, shape (n,)
        The round in which a saturated resource froze the user; NO_GROUP for one who is at its limit.
    resource : list of int
        The resource that was saturated, for each round.
    """

    tasks: np.ndarray
    group: np.ndarray
    resource: list[int]


def fill_server(
    demands: np.ndarray, capacity: np.ndarray, rate: np.ndarray, base: np.ndarray, most: np.ndarray
) -> Filled:
    """Return the leximin filling of one server from levels that the users bring with them.

    Parameters
    ----------
    demands : ndarray, shape (n, R)
        Per task here, >= 0, at least one positive.
    capacity : ndarray, shape (R,)
    rate : ndarray, shape (n,)
        Tasks at level 1, γ[n,i]·φ[n] > 0.
    base : ndarray, shape (n,)
        Tasks elsewhere.
    most : ndarray, shape (n,)
        The most tasks that the user may add here (its limit less the base), infinite for none.

    Notes
    -----
    What is in use is piecewise linear in the common level and bends where a user starts or reaches its limit: one sort
    and two cumulative sums give the level at which a resource is saturated. At most R rounds, O(n·(R + log n)) each.

    Examples
    --------
    Two users of one unit each share three; the first has one task elsewhere.

    >>> filled = fill_server(
    ...     np.ones((2, 1)), np.array([3.0]), np.ones(2), np.array([1.0, 0.0]), np.full(2, np.inf)
    ... )
    >>> filled.tasks.tolist()
    [1.0, 2.0]
    """
    count = len(rate)
    tasks, group = np.zeros(count), np.full(count, NO_GROUP)
    resources: list[int] = []
    start, stop = base / rate, (base + most) / rate
    left = capacity.astype(float)
    going = np.arange(count)
    while going.size:
        levels = _saturation(demands[going], rate[going], start[going], stop[going], left)
        level = float(levels.min())
        if np.isinf(level):  # limits hold everyone
            tasks[going] = most[going]
            break
        saturated = levels <= level * (1 + SATURATED)
        full = stop[going] <= level
        frozen = (demands[going][:, saturated] > 0).any(axis=1) | full
        if not frozen.any():
            raise NotConvergedError(
                "levels of the users of a server cannot be told apart: their weights or demands span more than floats "
                f"hold (tasks at level 1 from {rate.min():.3g} to {rate.max():.3g}); scale them"
            )
        here = going[frozen]
        amounts = np.maximum(rate[here] * np.minimum(level, stop[here]) - base[here], 0.0)
        tasks[here] = np.where(full[frozen], most[here], amounts)
        group[here] = np.where(full[frozen], NO_GROUP, len(resources))
        resources.append(int(levels.argmin()))
        left = np.maximum(left - tasks[here] @ demands[here], 0.0)
        left[saturated] = 0.0
        going = going[~frozen]
    return Filled(tasks, group, resources)


def _saturation(
    demands: np.ndarray, rate: np.ndarray, start: np.ndarray, stop: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Return, for each resource, the common level at which what is left of it is used up; infinite where never."""
    slopes, points = demands * rate[:, None], start
    limited = np.isfinite(stop)
    if limited.any():
        points = np.concatenate([start, stop[limited]])
        slopes = np.concatenate([slopes, -slopes[limited]])
    order = np.argsort(points, kind="stable")
    points, slopes = points[order], slopes[order]
    growth = np.cumsum(slopes, axis=0)
    offset = np.cumsum(slopes * points[:, None], axis=0)
    used = growth[:-1] * points[1:, None] - offset[:-1]  # where the next bend is
    levels = np.full(len(left), np.inf)
    for r in np.flatnonzero(demands.any(axis=0)).tolist():
        there = left[r]
        reached = used[:, r] >= there
        k = int(reached.argmax()) if reached.any() else len(used)
        if growth[k, r] > 0:
            level = (there + offset[k, r]) / growth[k, r]
            bend = points[k + 1] if k < len(used) else np.inf
            levels[r] = min(max(level, points[k]), bend)
        elif reached.any():
            levels[r] = points[k]
    if limited.any():  # after the last limit nothing grows but rounding
        alone = (demands[~limited] > 0).any(axis=0)
        beyond = levels > points[-1]
        levels[beyond & ~alone] = np.inf
    return levels
