"""The leximin in rationals from its definition, sharing no code with fairlp: a tableau simplex by Bland's rule.

A round raises t as far as it goes; then every user who is left is raised by itself, and keeps its
level if it cannot."""

from __future__ import annotations

from fractions import Fraction


def maximum(c, A, b):
    """Return max c·x over A·x <= b, x >= 0 (None when infeasible), in rationals."""
    m, n = len(A), len(c)
    slack = [[Fraction(int(i == k)) for k in range(m)] for i in range(m)]
    rows = [[*map(Fraction, row), *slack[i], Fraction(b[i])] for i, row in enumerate(A)]
    basis = list(range(n, n + m))
    width = n + m
    for i in range(m):
        if rows[i][-1] < 0:
            rows[i] = [-v for v in rows[i]]
    lacking = [i for i in range(m) if rows[i][basis[i]] < 0]
    for i in lacking:  # an artificial variable each
        for k, row in enumerate(rows):
            row.insert(width, Fraction(int(k == i)))
        basis[i] = width
        width += 1
    if lacking:
        cost = [Fraction(0)] * (n + m) + [Fraction(-1)] * (width - n - m)
        if _simplex(rows, basis, cost) != 0:
            return None
        for i, j in enumerate(basis):
            if j >= n + m:
                column = next((k for k in range(n + m) if rows[i][k] != 0), None)
                if column is not None:
                    _pivot(rows, basis, i, column)
        rows = [
            [*row[: n + m], *(Fraction(0) for _ in range(width - n - m)), row[-1]] for row in rows
        ]
    return _simplex(rows, basis, [*map(Fraction, c), *([Fraction(0)] * (width - n))])


def _pivot(rows, basis, i, j):
    rows[i] = [v / rows[i][j] for v in rows[i]]
    for k, row in enumerate(rows):
        if k != i and row[j] != 0:
            rows[k] = [v - row[j] * w for v, w in zip(row, rows[i], strict=True)]
    basis[i] = j


def _simplex(rows, basis, cost):
    while True:
        reduced = [
            c
            - sum(
                cost[basis[i]] * row[j] for i, row in enumerate(rows) if cost[basis[i]] and row[j]
            )
            for j, c in enumerate(cost)
        ]
        entering = next((j for j, value in enumerate(reduced) if value > 0), None)
        if entering is None:
            return sum(cost[basis[i]] * row[-1] for i, row in enumerate(rows))
        ratios = [
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(rows)
            if row[entering] > 0
        ]
        assert ratios, "unbounded"
        _pivot(rows, basis, min(ratios)[2], entering)


def leximin(demands, capacities, counts, due, limits=None, eligible=None):
    """Return the exact levels: tasks are level·due, and due of a user who can run nothing is not used."""
    users, servers, resources = len(demands), len(capacities), len(capacities[0])
    d = [[Fraction(float(v)) for v in row] for row in demands]
    c = [
        [Fraction(float(v)) * int(k) for v in row]
        for row, k in zip(capacities, counts, strict=True)
    ]
    due = [Fraction(v) for v in due]
    pairs = [
        (n, i)
        for n in range(users)
        for i in range(servers)
        if (eligible is None or eligible[n][i])
        and all(c[i][r] > 0 for r in range(resources) if d[n][r] > 0)
    ]
    runners = sorted({n for n, _ in pairs})
    fits, supplies = [], []
    for i in range(servers):
        for r in range(resources):
            fits.append([d[n][r] if j == i else Fraction(0) for n, j in pairs])
            supplies.append(c[i][r])
    if limits is not None:
        runners = [n for n in runners if limits[n] > 0]
        for n in range(users):
            if limits[n] != float("inf"):
                fits.append([Fraction(int(m == n)) for m, _ in pairs])
                supplies.append(Fraction(float(limits[n])))
    total = {n: [Fraction(int(m == n)) for m, _ in pairs] for n in runners}
    level = levels(fits, supplies, total, due)
    return [level.get(n, Fraction(0)) for n in range(users)]


def levels(fits, supplies, total, due):
    """Return n → its level in the leximin of total[n]·x / due[n] over fits·x <= have, x >= 0, in rationals."""
    level, columns = dict.fromkeys(total), len(fits[0])
    while any(value is None for value in level.values()):
        rows, right = [[*row, Fraction(0)] for row in fits], list(supplies)
        for n in total:
            rows.append([*(-v for v in total[n]), due[n] if level[n] is None else Fraction(0)])
            right.append(Fraction(0) if level[n] is None else -level[n] * due[n])
        t = maximum([Fraction(0)] * columns + [Fraction(1)], rows, right)
        floors = {n: (t if level[n] is None else level[n]) * due[n] for n in total}
        rows, right = (
            [*fits, *([-v for v in total[n]] for n in total)],
            [*supplies, *(-floors[n] for n in total)],
        )
        stuck = [
            n for n in total if level[n] is None and maximum(total[n], rows, right) == floors[n]
        ]
        assert stuck
        for n in stuck:
            level[n] = t
    return level
