"""What any prices prove of a level, and any tasks: closed forms, one pass over the pairs."""

from __future__ import annotations

import numpy as np

from ...tolerances import ROUNDING


def highest_level(
    worth: np.ndarray, lowest: np.ndarray, rows: tuple[np.ndarray, np.ndarray, np.ndarray], group: np.ndarray
) -> np.ndarray:
    """Return the highest level of each group that prices allow.

    Everyone pays at least its lowest cost for each unit of what it must have, and all of them no more than capacities
    are worth: Σ_n lowest[n]·(what n must have at level T) ≤ Σ p·c, which is increasing in T. Any prices ≥ 0 will do.

    Parameters
    ----------
    worth : ndarray, shape (G,)
        Σ p·c of each group.
    lowest : ndarray, shape (N,)
        The lowest cost of a unit to each user.
    rows : (slope, floor, cap), each of shape (N,)
        At level T a user must have min(slope·T, cap), or its floor where the slope is 0.
    group : ndarray of int, shape (N,)

    Returns
    -------
    ndarray, shape (G,)
        No more than the largest cap of those who rise.
    """
    slope, floor, cap = rows
    size = len(worth)
    rising = slope > 0
    most = np.zeros(size)
    np.maximum.at(most, group[rising], cap[rising])
    floors = np.bincount(group, weights=np.where(rising, 0.0, floor * lowest), minlength=size)
    left = worth - floors + ROUNDING * (worth + floors)  # a sum's rounding must not make the bound too low
    full = np.zeros(len(slope), dtype=bool)
    while True:  # from below: caps that are passed leave more for the others
        growth = np.bincount(group, weights=np.where(rising & ~full, lowest, 0.0), minlength=size)
        spent = (1 - ROUNDING) * np.bincount(group, weights=np.where(full, cap, 0.0) * lowest, minlength=size)
        level = np.divide(left - spent, growth, out=np.full(size, np.inf), where=growth > 0)
        level = np.minimum(np.maximum(level, 0.0), most)
        passed = rising & (cap < level[group])
        if not (passed & ~full).any():
            return np.asarray(level)
        full |= passed
