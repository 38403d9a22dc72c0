"""The mean level that α-fairness maximises, and a bound on it by any prices (docs/results.md, 9), in closed form."""

from __future__ import annotations

import numpy as np


def power_mean(values, weights, exponent):
    """Return (Σ w·v^p)^(1/p), also where p is 0 or infinite; weights sum to 1, values are 0 at least."""
    if not values.any():
        return 0.0
    if np.isinf(exponent):
        return float(values.max() if exponent > 0 else values.min())
    if not values.all() and exponent <= 0:
        return 0.0
    positive = values > 0
    logs = np.log(values[positive])
    weights = weights[positive]
    if abs(exponent) < 1e-9:
        return float(np.exp(weights @ logs))
    powers = exponent * logs
    top = powers.max()
    return float(np.exp((top + np.log(weights @ np.exp(powers - top))) / exponent))


def mean_level_bound(instance, unit, prices, alpha, of_caps=None):
    """Return P/Q of docs/results.md, 9: no mean level of users who can run something is above it.

    ``unit``: the tasks of each user at level 1, divided by its weight.
    """
    able_users = instance.runnable().any(axis=1) & (instance.task_limits > 0)
    phi = instance.weights[able_users] / instance.weights[able_users].sum()
    capacities = instance.capacities * instance.counts[:, None]
    spent = (capacities * prices).sum()
    cost = np.where(instance.runnable(), instance.demands @ prices.T, np.inf).min(axis=1)
    if of_caps is not None:
        cost = cost + (instance.demands * (instance.tree.below.T @ of_caps)).sum(axis=1)
        spent += (np.where(of_caps > 0, instance.tree.caps, 0.0) * of_caps).sum()
    cost_of_level = (cost * unit * instance.weights)[able_users]
    exponent = 1 - 1 / alpha if alpha > 0 else -np.inf
    return spent / power_mean(cost_of_level / phi, phi, exponent)
