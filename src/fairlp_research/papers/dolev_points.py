"""Dolev et al., §5: the curve that leads to a fair allocation, and all fair allocations of few users."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from fairlp import Instance

from .verdicts import AGREEMENT, AUDIT

#: The c at which the curve begins, and where it is as good as at its end.
BEGIN = 10.0**-6
END = 10.0**13
MOST_CORRECTIONS = 30
#: Part of the way to the boundary that a step goes at most.
BOUNDARY = 0.9


def with_dummies(instance: Instance) -> np.ndarray:
    """Return requests of all resources and of one more for each user, x ≤ 1, as in §5.1."""
    return np.hstack([instance.demands, np.eye(len(instance.users))])


class Curve(NamedTuple):
    """Points of the curve: c (K,), granted fractions x (K, N), and what resources have left (K, R + N)."""

    c: np.ndarray
    x: np.ndarray
    slack: np.ndarray

    @property
    def level(self) -> np.ndarray:
        """f(x) = −Σ_j log(1 − usage_j) over resources and dummies."""
        return np.asarray(-np.log(self.slack).sum(axis=1))


def curve(instance: Instance, until: float = END, points: int = 2) -> Curve:
    """Return points at growing c with x[n]·∂f/∂x[n] = c·e[n], by Newton's method from the origin.

    Slacks are variables beside x: they shrink like 1/c, and a difference from 1 would lose their
    digits. c at most doubles from point to point.
    """
    rows = with_dummies(instance)
    entitled = np.asarray(instance.entitlements)
    doublings = int(np.log2(until / BEGIN))
    all_c = np.geomspace(BEGIN, until, max(points, doublings + 2))
    x = BEGIN * entitled / rows.sum(axis=1)
    slack = 1 - x @ rows
    all_x = []
    all_slacks = []
    for c in all_c:
        for _ in range(MOST_CORRECTIONS):
            slope = rows @ (1 / slack)
            missing = c * entitled - x * slope
            if (abs(missing) <= AGREEMENT * c * entitled).all():
                break
            matrix = rows.T @ (rows * (x / slope)[:, None]) + np.diag(slack**2)
            change = np.linalg.solve(matrix, rows.T @ (missing / slope))
            step = (missing - x * (rows @ change)) / slope
            fall = slack**2 * change
            length = BOUNDARY / max(BOUNDARY, (-step / x).max(), (fall / slack).max())
            x = x + length * step
            slack = slack - length * fall
        all_x.append(x)
        all_slacks.append(slack)
    return Curve(all_c, np.array(all_x), np.array(all_slacks))


def corners(rows: np.ndarray, right: np.ndarray, tight: tuple[int, ...] = ()) -> np.ndarray:
    """Return where rows·x ≤ right has its corners, of those at which some rows are tight."""
    choices = np.array(list(combinations(range(len(rows)), rows.shape[1])))
    choices = choices[abs(np.linalg.det(rows[choices])) > AUDIT]
    points = np.linalg.solve(rows[choices], right[choices][..., None])[..., 0]
    gaps = right - points @ rows.T
    is_corner = (gaps >= -AUDIT).all(axis=1) & (gaps[:, list(tight)] <= AUDIT).all(axis=1)
    return np.unique(np.round(points[is_corner] + 0.0, 9), axis=0)


class FairSet(NamedTuple):
    """The fair allocations of one set of bottlenecks, by their corners."""

    bottlenecks: tuple[int, ...]
    least: np.ndarray
    corners: np.ndarray

    @property
    def dimension(self) -> int:
        """0 is a single allocation."""
        return int(np.linalg.matrix_rank(self.corners - self.corners[0], tol=AUDIT))

    def has(self, points: np.ndarray, requests: np.ndarray) -> bool:
        """Whether all of some fair points are of this set."""
        usage = points @ requests[:, list(self.bottlenecks)]
        return bool((usage >= 1 - AUDIT).all() and (points >= self.least - AUDIT).all())


def fair_sets(instance: Instance) -> list[FairSet]:
    """Return all fair allocations: a set for each choice of bottlenecks, but for those within others."""
    requests = np.asarray(instance.demands)
    n_users, n_resources = requests.shape
    unit = np.eye(n_users)
    rows = np.vstack([requests.T, unit, -unit])
    sets: list[FairSet] = []
    for size in range(n_resources + 1):
        for bottlenecks in combinations(range(n_resources), size):
            largest = requests[:, list(bottlenecks)].max(axis=1, initial=0)
            least = np.ones(n_users)
            entitled = np.asarray(instance.entitlements)
            np.divide(entitled, largest, out=least, where=largest > 0)
            least = np.minimum(least, 1)
            right = np.concatenate([np.ones(n_resources + n_users), -least])
            points = corners(rows, right, bottlenecks)
            fair_set = FairSet(bottlenecks, least, points)
            if len(points) and not any(other.has(points, requests) for other in sets):
                sets = [other for other in sets if not fair_set.has(other.corners, requests)]
                sets.append(fair_set)
    return sets
