"""Leximin of whole tasks on servers by enumeration in rationals, sharing no code with fairlp."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from discrete_oracle import exactly


def tasks_at_level_1(name, demands, capacities, counts, weights):
    """φ[n]·Γ[n] of mechanisms.md §1 by the definition, in fractions."""
    d = [[exactly(v) for v in row] for row in demands]
    c = [[exactly(v) for v in row] for row in capacities]
    resources = range(len(d[0]))
    pool = [sum(c[i][r] * int(counts[i]) for i in range(len(c))) for r in resources]
    gamma = []
    for row in d:
        if name in ("drfh", "c-drfh"):
            gamma.append(min(pool[r] / row[r] for r in resources if row[r]))
        elif name == "asset":
            gamma.append(1 / sum(row[r] / pool[r] for r in resources if row[r]))
        else:
            gamma.append(
                sum(
                    int(counts[i]) * min(c[i][r] / row[r] for r in resources if row[r])
                    for i in range(len(c))
                )
            )
    return [exactly(w) * g for w, g in zip(weights, gamma, strict=True)]


def on_one_server(demands, capacity, allowed):
    """All vectors of whole tasks that fit one server."""
    users = range(len(demands))
    vectors = [()]
    for n in users:
        longer = []
        for vector in vectors:
            k = 0
            while k == 0 or allowed[n]:
                candidate = (*vector, k)
                used = [
                    sum(k2 * demands[m][r] for m, k2 in enumerate(candidate))
                    for r in range(len(capacity))
                ]
                if any(u > c for u, c in zip(used, capacity, strict=True)):
                    break
                longer.append(candidate)
                if not allowed[n]:
                    break
                k += 1
        vectors = longer
    return vectors


def best_levels(rate, demands, capacities, counts, eligible, limits):
    """The lexicographically largest sorted levels of users who can run a task, in fractions."""
    d = [[exactly(v) for v in row] for row in demands]
    c = [[exactly(v) for v in row] for row in capacities]
    users = range(len(d))
    is_able = [
        limits[n] >= 1
        and any(
            eligible[n][i] and all(d[n][r] <= c[i][r] for r in range(len(d[n])))
            for i in range(len(c))
        )
        for n in users
    ]
    totals = {tuple(0 for _ in users)}
    for i, capacity in enumerate(c):
        allowed = [is_able[n] and eligible[n][i] for n in users]
        vectors = on_one_server(d, capacity, allowed)
        for _ in range(int(counts[i])):
            totals = {
                tuple(a + b for a, b in zip(total, vector, strict=True))
                for total, vector in product(totals, vectors)
            }
    within = (t for t in totals if all(t[n] <= limits[n] for n in users))
    return max(
        (sorted(Fraction(t[n]) / rate[n] for n in users if is_able[n]) for t in within),
        default=[],
    )
