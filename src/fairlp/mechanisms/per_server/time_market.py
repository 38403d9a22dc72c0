"""Markets of time: every server sells its time, and a user's tasks per second differ from server to server."""

from __future__ import annotations

import numpy as np

from ...models.instances.instance import Instance


def time_market(instance: Instance, device: str | None = None) -> np.ndarray:
    """Return tasks (N, K) that maximise Σ φ[n]·log Σ_i x[n,i] subject to Σ_n x[n,i]/γ[n,i] ≤ 1 and task limits.

    Its optimality conditions are PS-DSF under time division (formulations/per_server.py); here fractions of time are
    the variables and γ is what they contribute.
    """
    from ...solvers.interior_point import method
    from ...solvers.interior_point.iterate import Problem, UserRows
    from ...solvers.interior_point.region import Region

    gamma = instance.gamma()
    limits = instance.task_limits
    able = np.flatnonzero((gamma > 0).any(axis=1) & (limits > 0))
    some = np.flatnonzero((gamma[able] > 0).any(axis=0))
    tasks = np.zeros(gamma.shape)
    if not able.size:
        return tasks
    alone = gamma[np.ix_(able, some)]
    whole = alone.sum(axis=1)
    contribution = (alone / whole[:, None]).T
    time = np.full((len(some), 1), 1.0 / len(some))
    there = contribution > 0
    region = Region(np.ones((len(able), 1)), time, there, contribution * len(some))
    limited = np.flatnonzero(np.isfinite(limits[able]))
    weights = instance.user_weights[able]
    count, capped = len(able), len(limited)
    rows = UserRows(
        user=np.concatenate([np.arange(count), limited]),
        sign=np.concatenate([np.full(count, -1.0), np.ones(capped)]),
        slope=np.zeros(count + capped),
        bound=np.concatenate([np.zeros(count), limits[able][limited] / whole[limited]]),
        weight=np.concatenate([weights / weights.sum(), np.zeros(capped)]),
        alpha=np.ones(count + capped),
    )
    point = method.solve(Problem(region, rows), device=device)
    assert point is not None  # there is no deadline
    fractions = np.where(there, point.at.x, 0.0) * len(some)
    tasks[np.ix_(able, some)] = fractions.T * alone
    return tasks
