"""Progressive filling of one server in fractions, from one event to the next; nothing here is fairlp's."""

from __future__ import annotations

import math
from fractions import Fraction


def filled(demands, capacity, rates, limits, past):
    """Return the tasks of each user: max(t − past, 0)·rate at a common level t, as far as it can.

    Whole numbers and fractions; a limit may be infinite. A user stops at its limit, or where a resource that it
    needs is used up."""
    users = range(len(demands))
    resources = range(len(capacity))
    remaining = [Fraction(amount) for amount in capacity]
    # in floats a user never comes to its limit, and the loop does not end
    limits = [Fraction(limit) if limit < math.inf else limit for limit in limits]
    tasks = [Fraction(0)] * len(demands)
    active = set(users)
    level = Fraction(0)
    while active:
        full = {r for r in resources if remaining[r] == 0}
        active -= {n for n in active if tasks[n] == limits[n]}
        active -= {n for n in active if any(demands[n][r] > 0 for r in full)}
        rising = [n for n in active if past[n] <= level]
        speeds = [sum(demands[n][r] * rates[n] for n in rising) for r in resources]
        ends = [Fraction(past[n]) - level for n in active if past[n] > level]
        ends += [(limits[n] - tasks[n]) / rates[n] for n in rising if limits[n] < math.inf]
        ends += [remaining[r] / speeds[r] for r in resources if speeds[r] > 0]
        if not ends:
            break
        step = min(ends)
        level += step
        for n in rising:
            tasks[n] += step * rates[n]
        remaining = [amount - step * speed for amount, speed in zip(remaining, speeds, strict=True)]
    return tasks
