"""Progressive filling of one server without a linear program.

These are EDRF's rounds (Parkes et al.), with task limits.

Everyone's level rises together until a resource is saturated; its demanders keep their level and
the others go on.
"""

from __future__ import annotations

import numpy as np

from ...formulations.max_min import separate_limits
from ...models.instances.arithmetic import effort
from ...models.instances.instance import Instance
from ...models.instances.merging import merge_servers
from ...models.paths.engine import History
from ...models.paths.one_server import fill_server


def edrf_rounds(
    instance: Instance, rate: np.ndarray, past: np.ndarray | None = None
) -> tuple[np.ndarray, History]:
    """Return tasks (N×1) and rounds of the leximin on one server; O(N·R·(R + log N)).

    The rates may come from any normaliser. ``past`` are the levels from which users rise, (N,).
    """
    levels = np.zeros(len(rate))
    users = np.flatnonzero(instance.runnable()[:, 0] & (instance.task_limits > 0))
    total = instance.capacities[0] * instance.counts[0]
    needs = _needs(instance, users, 0)
    limits = instance.task_limits[users]
    past = None if past is None else past[users]
    levels[users], history = fill_server(needs, total, rate[users], limits, past)
    tasks = (levels * rate)[:, None]
    return tasks, [(level, users[frozen]) for level, frozen in history]


def edrf_closed_form(instance: Instance, rate: np.ndarray) -> tuple[np.ndarray, History]:
    """Return tasks and the round of EDRF: level = 1 / max_r Σ_n d̂[n,r]; O(N·R).

    Exact where :func:`closed_form_applies`; elsewhere rounds are needed.
    """
    total = instance.capacities[0] * instance.counts[0]
    shares_per_level = instance.demands * rate[:, None] / total
    level = 1.0 / shares_per_level.sum(axis=0).max()
    tasks = (level * rate)[:, None]
    return tasks, [(float(level), np.arange(len(rate)))]


def closed_form_applies(instance: Instance) -> bool:
    """Return whether the closed form is exact.

    It is for one server, positive demands, no limits and no given rates.
    """
    if not is_one_server(instance) or instance.has_rates or instance.tree.has_limits:
        return False
    return bool((instance.demands > 0).all() and np.isinf(instance.task_limits).all())


def separate_servers(instance: Instance, rate: np.ndarray) -> tuple[np.ndarray, History]:
    """Return DRF on each server separately (naive DRF): tasks (N×K), and no common rounds.

    Identical servers are filled once. A task limit is divided over the user's servers in proportion
    to γ[n,i].
    """
    merged, servers = merge_servers(instance)
    alone = merged.gamma()
    limits = separate_limits(merged)
    tasks = np.zeros(alone.shape)
    for i in range(len(merged.servers)):
        can_run = (alone[:, i] > 0) & (limits[:, i] > 0)
        users = np.flatnonzero(can_run)
        rates = merged.user_weights[users] * alone[users, i]
        total = merged.capacities[i] * merged.counts[i]
        needs = _needs(merged, users, i)
        levels, _ = fill_server(needs, total, rates, limits[users, i])
        tasks[users, i] = levels * rates
    return tasks[:, servers.of] * servers.factor, []


def _needs(instance: Instance, users: np.ndarray, server: int) -> np.ndarray:
    """Return the needs of one task of each of these users on a server.

    Given rates make a task lighter or heavier.
    """
    multiple = effort(instance, slice(server, server + 1))
    demands = instance.demands[users]
    return demands if multiple is None else np.asarray(demands * multiple[users])


def is_one_server(instance: Instance) -> bool:
    """Whether all tasks share one row of servers, so that the rounds of one server are exact."""
    return len(instance.servers) == 1
