"""No justified complaints the slow and obvious way: every vertex of every candidate polytope, in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np


def solve(rows, right):
    """The unique solution of linear equations, or None."""
    n = len(rows[0])
    table = [[*map(Fraction, row), Fraction(b)] for row, b in zip(rows, right, strict=True)]
    pivots = 0
    for column in range(n):
        pivot = next((i for i in range(pivots, len(table)) if table[i][column]), None)
        if pivot is None:
            return None
        table[pivots], table[pivot] = table[pivot], table[pivots]
        top = table[pivots]
        table[pivots] = top = [value / top[column] for value in top]
        for i, row in enumerate(table):
            if i != pivots and row[column]:
                table[i] = [a - row[column] * b for a, b in zip(row, top, strict=True)]
        pivots += 1
    return None if any(row[n] for row in table[pivots:]) else [row[n] for row in table[:n]]


def rank(rows):
    """Rank of rational rows."""
    rows, pivots = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(pivots, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[pivots], rows[pivot] = rows[pivot], rows[pivots]
        for i in range(pivots + 1, len(rows)):
            factor = rows[i][column] / rows[pivots][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[pivots], strict=True)]
        pivots += 1
    return pivots


def least(r, e, bottlenecks):
    """What each user must have: min(1, e/max r over the bottlenecks), 1 without one that it uses."""
    out = []
    for row, share in zip(r, e, strict=True):
        largest = max((row[j] for j in bottlenecks), default=Fraction(0))
        out.append(min(Fraction(1), share / largest) if largest else Fraction(1))
    return out


def vertices(r, e, bottlenecks):
    """All vertices of a candidate polytope, each a tuple of Fractions; empty when it is infeasible."""
    n, m = len(r), len(r[0])
    low = least(r, e, bottlenecks)
    columns = [[row[j] for row in r] for j in range(m)]
    unit = [[Fraction(int(i == k)) for i in range(n)] for k in range(n)]
    loose = [(columns[j], 1) for j in range(m) if j not in bottlenecks]
    loose += [(unit[k], 1) for k in range(n)] + [(unit[k], low[k]) for k in range(n)]
    tight = [(columns[j], 1) for j in bottlenecks]
    points = set()
    for count in range(max(0, n - len(tight)), n + 1):
        for equations in combinations(loose, count):
            chosen = [*tight, *equations]
            x = solve([row for row, _ in chosen], [b for _, b in chosen])
            if x is None or tuple(x) in points:
                continue
            used = [sum(a * b for a, b in zip(column, x, strict=True)) for column in columns]
            fits = all(low[k] <= x[k] <= 1 for k in range(n)) and all(u <= 1 for u in used)
            if fits and all(used[j] == 1 for j in bottlenecks):
                points.add(tuple(x))
    return points


def all_sets(r, e):
    """Candidate set → its vertices, for all feasible sets."""
    m = len(r[0])
    sets = (
        frozenset(resources) for size in range(m + 1) for resources in combinations(range(m), size)
    )
    return {
        resources: points for resources in sets if (points := vertices(r, e, sorted(resources)))
    }


def dimension(points):
    """Affine dimension of rational points."""
    points = sorted(points)
    return rank([[a - b for a, b in zip(point, points[0], strict=True)] for point in points[1:]])


def complains(r, e, x):
    """Users who have less than all, and less than their entitlement of every saturated resource that they use."""
    used = [
        sum(row[j] * granted for row, granted in zip(r, x, strict=True)) for j in range(len(r[0]))
    ]
    assert all(u <= 1 for u in used)
    saturated = [j for j, u in enumerate(used) if u == 1]
    return [
        n
        for n, (row, share, granted) in enumerate(zip(r, e, x, strict=True))
        if granted < 1 and not any(row[j] and granted * row[j] >= share for j in saturated)
    ]


def random_rationals(seed, users=3, resources=3, zeros=True):
    """Requests and entitlements of small denominators; some users entitled to nothing."""
    rng = np.random.default_rng(seed)
    n, m, whole = (
        int(rng.integers(1, users + 1)),
        int(rng.integers(1, resources + 1)),
        int(rng.integers(1, 7)),
    )
    r = rng.integers(0, whole + 1, (n, m))
    r[np.arange(n), rng.integers(0, m, n)] = rng.integers(1, whole + 1, n)
    # every resource must be in demand, or it is not one
    parts = rng.integers(0 if zeros and rng.random() < 0.3 else 1, 4, n)
    parts[0] += not parts.any()
    total = int(parts.sum())
    return [[Fraction(int(v), whole) for v in row] for row in r], [
        Fraction(int(p), total) for p in parts
    ]
