"""Progressive filling of one server without a linear program: EDRF's rounds (Parkes et al.), with task limits.

Everyone's level rises together until a resource is saturated; its demanders keep their level and the others go on.
"""

from __future__ import annotations

import numpy as np

from ...formulations.max_min import separate_limits
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.instances.problem import effort
from ...models.trees.filling import History
from ...tolerances import SATURATED


def fill(demands: np.ndarray, capacity: np.ndarray, rate: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, History]:
    """Return the leximin level of each user on one server, and the rounds.

    Parameters
    ----------
    demands : ndarray, shape (N, R)
        Per task.
    capacity : ndarray, shape (R,)
    rate : ndarray, shape (N,)
        Tasks at level 1, > 0.
    limits : ndarray, shape (N,)
        Task limits, infinite for none.

    Returns
    -------
    levels : ndarray, shape (N,)
        Tasks are ``levels * rate``.
    rounds : list of (float, ndarray)
        Level of each round and the positions of the users frozen there.

    Notes
    -----
    At most R rounds, each O(N·R): users are sorted once by the level at which they have all their tasks, so that a
    resource's consumption at any level is a difference of two prefix sums.

    Examples
    --------
    Two resources of one unit; the second user leaves the first resource alone.

    >>> levels, rounds = fill(
    ...     np.array([[1.0, 0.5], [0.0, 1.0], [1.0, 0.0]]), np.ones(2), np.ones(3), np.full(3, np.inf)
    ... )
    >>> levels.tolist()
    [0.5, 0.75, 0.5]
    """
    levels = np.zeros(len(rate))
    history: History = []
    cap = limits / rate
    order = np.argsort(cap, kind="stable")
    consumption = demands * rate[:, None]  # of each user, at level 1
    left = capacity.astype(float)
    active = order
    while active.size:
        need, at = consumption[active], cap[active]
        saturation = _saturation_levels(need, at, left)
        level = saturation.min()
        if np.isinf(level):
            levels[active] = at
            history.append((float(at.max()), np.sort(active)))
            break
        saturated = saturation <= level * (1 + SATURATED)
        frozen = (at <= level) | need[:, saturated].any(axis=1)
        levels[active[frozen]] = np.minimum(at[frozen], level)
        history.append((float(level), np.sort(active[frozen])))
        left = left - levels[active[frozen]] @ need[frozen]
        active = active[~frozen]
    return levels, history


def _saturation_levels(need: np.ndarray, cap: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return, for each resource, the common level at which what is left of it is used up; users sorted by cap."""
    finite = int(np.searchsorted(cap, np.inf))
    at_cap = np.zeros((finite + 1, need.shape[1]))
    np.cumsum(need[:finite] * cap[:finite, None], axis=0, out=at_cap[1:])  # used by those who stopped at their cap
    growing = np.zeros((finite + 1, need.shape[1]))
    growing[:-1] = np.cumsum(need[::-1], axis=0)[::-1][:finite]
    growing[-1] = need[finite:].sum(axis=0)  # rate of those still growing
    used = at_cap[:-1] + growing[:-1] * cap[:finite, None]  # consumption when the level reaches each cap
    passed = (used < left).sum(axis=0), np.arange(need.shape[1])  # caps passed before saturation, of each resource
    pace, free = growing[passed], np.maximum(left - at_cap[passed], 0.0)
    return np.asarray(np.divide(free, pace, out=np.full(len(pace), np.inf), where=pace > 0))


def edrf_rounds(instance: Instance, rate: np.ndarray) -> tuple[np.ndarray, History]:
    """Return tasks (N×1) and rounds of the leximin on one server, for any normaliser; O(N·R·(R + log N))."""
    levels = np.zeros(len(rate))
    who = np.flatnonzero(instance.runnable()[:, 0] & (instance.task_limits > 0))
    total = instance.capacities[0] * instance.counts[0]
    levels[who], history = fill(_needs(instance, who, 0), total, rate[who], instance.task_limits[who])
    return (levels * rate)[:, None], [(level, who[frozen]) for level, frozen in history]


def edrf_closed_form(instance: Instance, rate: np.ndarray) -> tuple[np.ndarray, History]:
    """Return tasks and the round of EDRF without zero demands: level = 1 / max_r Σ_n d̂[n,r]; O(N·R).

    Exact where :func:`closed_form_applies`; elsewhere rounds are needed.
    """
    total = instance.capacities[0] * instance.counts[0]
    level = 1.0 / ((instance.demands * rate[:, None]) / total).sum(axis=0).max()
    return (level * rate)[:, None], [(float(level), np.arange(len(rate)))]


def closed_form_applies(instance: Instance) -> bool:
    """Whether the closed form is exact: one server, all demands positive, no limits, no given rates."""
    if not is_one_server(instance) or instance.rates is not None or instance.tree.has_limits:
        return False
    return bool((instance.demands > 0).all() and np.isinf(instance.task_limits).all())


def separate_servers(instance: Instance, rate: np.ndarray) -> tuple[np.ndarray, History]:
    """Return DRF on each server separately (naive DRF): tasks (N×K), and no common rounds.

    Identical servers are filled once. A task limit is divided over the user's servers in proportion to γ[n,i].
    """
    merged, servers = merge_servers(instance)
    alone, limits = merged.gamma(), separate_limits(merged)
    tasks = np.zeros(alone.shape)
    for i in range(len(merged.servers)):
        who = np.flatnonzero((alone[:, i] > 0) & (limits[:, i] > 0))
        own = merged.user_weights[who] * alone[who, i]
        total = merged.capacities[i] * merged.counts[i]
        tasks[who, i] = fill(_needs(merged, who, i), total, own, limits[who, i])[0] * own
    return tasks[:, servers.of] * servers.factor, []


def _needs(instance: Instance, users: np.ndarray, server: int) -> np.ndarray:
    """Return what one task of each of these users needs on a server; given rates make it lighter or heavier."""
    multiple = effort(instance, slice(server, server + 1))
    own = instance.demands[users]
    return own if multiple is None else np.asarray(own * multiple[users])


def is_one_server(instance: Instance) -> bool:
    """Whether all tasks share one row of servers, so that the rounds of one server are exact."""
    return len(instance.servers) == 1
