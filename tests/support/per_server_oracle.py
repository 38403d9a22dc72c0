"""PS-DSF by the book: the definitions and theorems of Khamse-Ashari et al. in plain Python, no code of fairlp.

Only the arrays of an instance are used. Amounts are relative: tasks to what the user could run
alone on the server, resources to the capacity."""

from __future__ import annotations

import math

import numpy as np

CLOSE = 1e-9


def alone(instance):
    """γ[n,i] of whole rows, and what one task needs there, need[n][i][r]."""
    demands, counts = instance.demands.tolist(), instance.counts.tolist()
    capacity = [
        [c * count for c in row]
        for row, count in zip(instance.capacities.tolist(), counts, strict=True)
    ]
    gamma, need = [], []
    for n, demand in enumerate(demands):
        gamma.append([])
        need.append([])
        for i, row in enumerate(capacity):
            runs = min(c / d for c, d in zip(row, demand, strict=True) if d > 0)
            tasks = runs if instance.rates is None else float(instance.rates[n][i]) * counts[i]
            if not instance.eligible[n][i] or instance.task_limits[n] == 0:
                tasks = 0.0
            gamma[-1].append(tasks)
            need[-1].append([d * (runs / tasks) if tasks > 0 else d for d in demand])
    return gamma, need, capacity


def feasible(instance, x, division):
    gamma, need, capacity = alone(instance)
    users, servers = range(len(gamma)), range(len(capacity))
    for n in users:
        if sum(x[n]) > instance.task_limits[n] * (1 + CLOSE):
            return False
        if any(x[n][i] < 0 or (gamma[n][i] == 0 and x[n][i] > 0) for i in servers):
            return False
    for i in servers:
        if division == "tdm":
            if sum(x[n][i] / gamma[n][i] for n in users if gamma[n][i] > 0) > 1 + CLOSE:
                return False
            continue
        for r, c in enumerate(capacity[i]):
            if sum(x[n][i] * need[n][i][r] for n in users) > c * (1 + CLOSE):
                return False
    return True


def wants(instance, x, n):
    """Whether the user has tasks left to run."""
    return sum(x[n]) < instance.task_limits[n] * (1 - CLOSE)


def bottlenecks(instance, x):
    """Theorem 1: for each pair that needs one, a bottleneck resource, or None where there is none."""
    gamma, need, capacity = alone(instance)
    users = range(len(gamma))
    phi = instance.weights.tolist()
    choice = {}
    for i, row in enumerate(capacity):
        users_here = [n for n in users if gamma[n][i] > 0]
        level = {n: sum(x[n]) / gamma[n][i] / phi[n] for n in users_here}
        for n in users_here:
            if not wants(instance, x, n):
                continue
            choice[n, i] = None
            for r, c in enumerate(row):
                used = sum(x[m][i] * need[m][i][r] for m in users_here)
                # what is missing to the capacity counts by what n could do with it
                saturated = need[n][i][r] > 0 and (c - used) / need[n][i][r] <= CLOSE * gamma[n][i]
                holders = [
                    m for m in users_here if need[m][i][r] > 0 and x[m][i] > CLOSE * gamma[m][i]
                ]
                if saturated and all(level[m] <= level[n] * (1 + CLOSE) for m in holders):
                    choice[n, i] = r
    return choice


def theorem_1(instance, x):
    """Whether every user has a bottleneck on every server where it could run."""
    return feasible(instance, x, "rdm") and all(
        r is not None for r in bottlenecks(instance, x).values()
    )


def theorem_2(instance, x):
    """Whether all time is used (by whoever wants more), and by the lowest levels."""
    gamma, _, capacity = alone(instance)
    phi = instance.weights.tolist()
    if not feasible(instance, x, "tdm"):
        return False
    for i in range(len(capacity)):
        users_here = [n for n in range(len(gamma)) if gamma[n][i] > 0]
        level = {n: sum(x[n]) / gamma[n][i] / phi[n] for n in users_here}
        eager = [n for n in users_here if wants(instance, x, n)]
        if eager and not math.isclose(
            sum(x[n][i] / gamma[n][i] for n in users_here), 1, rel_tol=CLOSE
        ):
            return False
        for n in eager:
            for m in users_here:
                if x[m][i] > CLOSE * gamma[m][i] and level[m] > level[n] * (1 + CLOSE):
                    return False
    return True


def holds(instance, tasks, division):
    x = np.asarray(tasks).tolist()
    return theorem_1(instance, x) if division == "rdm" else theorem_2(instance, x)


def gain(instance, tasks, user, division):
    """Definition 5 as a linear program for SciPy: the most tasks of one user if only higher levels give way."""
    from scipy.optimize import linprog

    gamma, need, capacity = alone(instance)
    x = np.asarray(tasks)
    pairs = [(n, i) for n in range(len(gamma)) for i in range(len(capacity)) if gamma[n][i] > 0]
    if not any(n == user for n, _ in pairs):
        return 0.0
    level = {(n, i): x[n].sum() / gamma[n][i] / instance.weights[n] for n, i in pairs}
    lower = []
    for n, i in pairs:
        own_level = level.get((user, i))
        protected = n == user or own_level is None or level[n, i] <= own_level * (1 + CLOSE)
        lower.append(x[n, i] if protected else 0.0)
    rows, right = [], []
    for i, row in enumerate(capacity):
        if division == "tdm":
            rows.append([1 / gamma[n][i] if j == i else 0.0 for n, j in pairs])
            right.append(1.0)
            continue
        for r, c in enumerate(row):
            scale = c if c > 0 else 1.0
            rows.append([need[n][i][r] / scale if j == i else 0.0 for n, j in pairs])
            right.append(c / scale)
    for n in range(len(gamma)):
        if np.isfinite(instance.task_limits[n]):
            rows.append([float(m == n) for m, _ in pairs])
            right.append(max(float(instance.task_limits[n]), x[n].sum()))
    cost = [-float(n == user) for n, _ in pairs]
    optimum = linprog(
        cost, A_ub=rows, b_ub=np.array(right) + 1e-12, bounds=[(low, None) for low in lower]
    )
    assert optimum.status == 0, optimum.message
    return -optimum.fun - x[user].sum()
