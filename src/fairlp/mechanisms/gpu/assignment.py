"""AlloX as the assignment that it is: jobs to positions from the end, and the potentials that prove it.

The model has a column for each job, kind and position. The Hungarian method needs only their costs.
"""

from __future__ import annotations

import numpy as np

from ...tolerances import ROUNDING


def kinds_of_least_sum(times: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the kind of device that each job runs on, so that the sum of completion times is least.

    Parameters
    ----------
    times : ndarray, shape (N, K)
        Time that each job takes on a device of each kind; 0 where it may not run.
    counts : ndarray of int, shape (K,)
        Devices of each kind.

    Returns
    -------
    ndarray of int, shape (N,)
        −1 for a job that may run nowhere. It takes about N³K steps, and memory for N²K numbers.
    """
    from scipy.optimize import linear_sum_assignment

    kinds = np.full(len(times), -1)
    jobs = np.flatnonzero((times > 0).any(axis=1))
    costs = np.where(times > 0, times, np.inf)[jobs]
    # a job that is k-th from the end delays k jobs; each device has its own k-th position
    positions = [np.arange(len(jobs)) // count + 1 for count in counts.tolist()]
    kind = np.repeat(np.arange(len(counts)), len(jobs))
    rows, columns = linear_sum_assignment(costs[:, kind] * np.concatenate(positions))
    kinds[jobs[rows]] = kind[columns]
    return kinds


def bound_on_sum(
    times: np.ndarray, counts: np.ndarray, kinds: np.ndarray, positions: np.ndarray
) -> float:
    """Return what every schedule's sum is at least: the sum of a least one, if this schedule is one.

    The price of a position is what one more of it would save, at most 0: the shortest path along
    which jobs move to one another's positions. The first free position of
    each kind has none.

    Parameters
    ----------
    times : ndarray, shape (N, K)
        Of the jobs that run; 0 where a job may not run.
    counts : ndarray of int, shape (K,)
    kinds, positions : ndarray of int, shape (N,)
        Where each job runs, and its position from the end, from 1; lower positions are filled first.
    """
    costs = np.where(times > 0, times, np.inf)
    first_free = np.bincount(kinds, minlength=len(counts)) // counts + 1
    at_positions = costs[:, kinds] * positions  # of each job at the position of each other
    own = at_positions.diagonal()
    changes = at_positions - own[:, None]
    rounding = ROUNDING * own.max()
    prices = np.zeros(len(own))
    for _ in range(len(own)):
        shorter = (prices[:, None] + changes).min(axis=0)
        is_settled = (prices - shorter).max() <= rounding
        prices = shorter
        if is_settled:
            break
    # whatever the prices, a job costs at least what is the least of a position and its price
    least = np.minimum((at_positions - prices).min(axis=1), (costs * first_free).min(axis=1))
    return float(least.sum() + prices.sum())
