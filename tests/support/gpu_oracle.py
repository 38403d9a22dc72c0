"""OEF, AlloX and Shockwave stated again with SciPy: arrays of rates and counts, and no more."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def speedups(rates):
    """Rates over the lowest rate above 0 of each user who has one."""
    some = rates.any(axis=1)
    lowest = np.where(rates > 0, rates, np.inf).min(axis=1)
    return rates / np.where(some, lowest, 1.0)[:, None]


def devices_rows(users, counts):
    """Rows of a linear program over users × kinds: all devices of each kind."""
    return np.tile(np.eye(len(counts)), users), np.asarray(counts, dtype=float)


def largest_total_without_envy(rates, counts, weights):
    """The optimum of cooperative OEF: the sum of speed-ups, nobody preferring another's devices."""
    w = speedups(rates)
    users, kinds = w.shape
    fits, room = devices_rows(users, counts)
    envies = []
    for n, j in product(range(users), repeat=2):
        if n != j and w[n].any():
            row = np.zeros((users, kinds))
            row[n] = -w[n] / weights[n]
            row[j] = w[n] / weights[j]
            envies.append(row.ravel())
    A = np.vstack([fits, *envies])
    b = np.concatenate([room, np.zeros(len(envies))])
    useless = np.where(w.ravel() > 0, None, 0.0)
    bounds = [(0.0, most) for most in useless]
    return -linprog(-w.ravel(), A_ub=A, b_ub=b, bounds=bounds, options=TIGHT).fun


def largest_equal_level(rates, counts, weights):
    """The level of non-cooperative OEF: the largest speed-up per weight that all can have."""
    w = speedups(rates)
    users, kinds = w.shape
    fits, room = devices_rows(users, counts)
    runs = w.any(axis=1)
    own = np.zeros((users, users * kinds))
    for n in range(users):
        own[n, n * kinds : (n + 1) * kinds] = -w[n]
    A = np.block([[fits, np.zeros((kinds, 1))], [own[runs], np.asarray(weights)[runs, None]]])
    b = np.concatenate([room, np.zeros(runs.sum())])
    costs = np.append(np.zeros(users * kinds), -1.0)
    return linprog(costs, A_ub=A, b_ub=b, options=TIGHT).x[-1]


def least_sum_of_completion_times(rates, counts, steps):
    """The optimum of AlloX: a Hungarian assignment of jobs to (device, position from the end)."""
    jobs, kinds = rates.shape
    device_kinds = np.repeat(np.arange(kinds), counts)
    with np.errstate(divide="ignore"):
        times = np.asarray(steps)[:, None] / rates[:, device_kinds]
    positions = np.arange(1, jobs + 1)
    costs = (times[:, :, None] * positions).reshape(jobs, -1)
    costs = costs[rates.any(axis=1)]
    chosen = linear_sum_assignment(np.where(np.isfinite(costs), costs, 1e9))
    return costs[chosen].sum()


def worth_of_a_plan(rates, counts, budgets, earlier, plan):
    """Σ B·log(u₀ + progress) of a plan (N, K, S), and the most that any plan can have beyond it.

    The bound is that of a concave function by its gradient at the plan: a linear program. The plan
    is optimal if the bound is 0, and then so are its logarithms up to it.
    """
    users, kinds, rounds = rates.shape
    progress = earlier + (rates * plan).sum(axis=(1, 2))
    has_term = rates.any(axis=(1, 2))
    slopes = np.where(has_term, budgets / np.where(has_term, progress, 1.0), 0.0)
    gains = slopes[:, None, None] * rates
    bound = 0.0
    for s in range(rounds):
        fits, room = devices_rows(users, counts)
        busy = np.kron(np.eye(users), np.ones(kinds))
        A = np.vstack([fits, busy])
        b = np.concatenate([room, np.ones(users)])
        best = linprog(-gains[:, :, s].ravel(), A_ub=A, b_ub=b, options=TIGHT)
        bound += -best.fun - (gains[:, :, s] * plan[:, :, s]).sum()
    worth = (budgets[has_term] * np.log(progress[has_term])).sum()
    return worth, bound
