"""Independent oracles: leximin by one SciPy LP a user, sharing no code with fairlp beyond the input arrays."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def gamma(demands, capacities, counts):
    """γ[n,i] by the definition, one division at a time."""
    out = np.zeros((len(demands), len(capacities)))
    for n, demand in enumerate(demands):
        for i, capacity in enumerate(capacities):
            out[n, i] = counts[i] * min(
                c / d for c, d in zip(capacity, demand, strict=True) if d > 0
            )
    return out


def normaliser(name, demands, capacities, counts, eligible):
    """Γ[n] of the table in mechanisms.md §1, by the definition."""
    pool = (capacities * counts[:, None]).sum(axis=0)
    if name in ("drf", "edrf", "drfh", "c-drfh"):
        return np.array(
            [min(c / d for c, d in zip(pool, demand, strict=True) if d > 0) for demand in demands]
        )
    if name == "asset":
        return np.array(
            [1 / sum(d / c for c, d in zip(pool, demand, strict=True)) for demand in demands]
        )
    alone = gamma(demands, capacities, counts)
    return (alone if name == "tsf" else alone * eligible).sum(axis=1)


def leximin(demands, capacities, counts, eligible, rate, limits):
    """Levels of the leximin of Σ_i x[n,i] / rate[n]: max t, then one LP a user decides who is blocked, and so on.

    Works in fractions of ``rate`` and of each capacity, so that the solver sees numbers near 1.
    """
    n_users, n_servers = eligible.shape
    pairs = [(n, i) for n in range(n_users) for i in range(n_servers) if eligible[n, i]]
    total = capacities * counts[:, None]
    rows, rhs = [], []
    for i in range(n_servers):
        for r in range(capacities.shape[1]):
            row = np.zeros(len(pairs) + 1)
            for k, (n, j) in enumerate(pairs):
                if j == i:
                    row[k] = demands[n, r] * rate[n]
            scale = row.max() or 1.0
            rows.append(row / scale)
            rhs.append(total[i, r] / scale)
    rows, rhs = np.array(rows), np.array(rhs)
    of_user = np.zeros((n_users, len(pairs) + 1))
    for k, (n, _) in enumerate(pairs):
        of_user[n, k] = 1
    cap = limits / rate
    floor = np.zeros(n_users)
    active = np.ones(n_users, dtype=bool)
    levels = np.zeros(n_users)

    def solve(cost, lower, with_t):
        below = -of_user.copy()
        below[:, -1] = np.where(with_t, 1.0, 0.0)
        finite = np.isfinite(cap)
        A = np.vstack([rows, below, of_user[finite]])
        b = np.concatenate([rhs, -np.where(with_t, 0.0, lower), cap[finite]])
        answer = linprog(
            -cost, A_ub=A, b_ub=b, method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )  # fmt: skip
        assert answer.status == 0, answer.message
        return -answer.fun

    t = np.zeros(len(pairs) + 1)
    t[-1] = 1.0
    while active.any():
        level = solve(t, floor, active)
        floor = np.where(active, level, floor)
        blocked = []
        for n in np.flatnonzero(active):
            largest = solve(of_user[n], floor * (1 - 1e-12), np.zeros(n_users, dtype=bool))
            if largest <= level * (1 + 1e-7) + 1e-13:
                blocked.append(n)
        assert blocked, "a round froze nobody"
        levels[blocked] = level
        active[blocked] = False
    return levels
