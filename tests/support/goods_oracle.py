"""Whole goods by brute force: allocations of whole tasks, their welfare, envy up to a good, maximin shares.

All is in Python's integers. Demands, capacities: lists of lists of int, users × resources and servers × resources.
"""

from __future__ import annotations

import itertools
import math


def runs(needs, amounts):
    """Whole tasks with amounts on one server."""
    return min(amount // need for need, amount in zip(needs, amounts, strict=True) if need)


def allocations(demands, capacities):
    """All tuples (by user) of tuples (by server) of whole tasks that fit."""

    def on_server(capacity):
        ranges = [range(runs(needs, capacity) + 1) for needs in demands]
        for tasks in itertools.product(*ranges):
            used = (
                sum(x * needs[r] for x, needs in zip(tasks, demands, strict=True))
                for r in range(len(capacity))
            )
            if all(amount <= room for amount, room in zip(used, capacity, strict=True)):
                yield tasks

    for choice in itertools.product(*(list(on_server(capacity)) for capacity in capacities)):
        yield tuple(zip(*choice, strict=True))


def best(points, worth):
    """All points of the largest worth."""
    points = list(points)
    values = [worth(point) for point in points]
    top = max(values)
    return [point for point, value in zip(points, values, strict=True) if value == top]


def nash(point):
    """How many users have a task, and the product of theirs."""
    totals = [sum(tasks) for tasks in point if sum(tasks)]
    return len(totals), math.prod(totals)


def with_bundle(needs, amounts):
    """Whole tasks with amounts by server."""
    return sum(runs(needs, on_server) for on_server in amounts)


def envies(demands, point, any_good):
    """Pairs (user, holder): the user runs more with the holder's bundle less some good, or less any."""
    pairs = []
    for user, holder in itertools.permutations(range(len(demands)), 2):
        held = [[x * need for need in demands[holder]] for x in point[holder]]
        goods = [
            (i, r) for i, amounts in enumerate(held) for r, amount in enumerate(amounts) if amount
        ]
        if not goods:
            continue
        values = []
        for i, r in goods:
            rest = [list(amounts) for amounts in held]
            rest[i][r] -= 1
            values.append(with_bundle(demands[user], rest))
        value = max(values) if any_good else min(values)
        if value > sum(point[user]):
            pairs.append((user, holder))
    return pairs


def divisions(amount, n_bundles):
    """All ways to divide an amount of equal units into bundles in order."""
    if n_bundles == 1:
        yield (amount,)
        return
    for first in range(amount + 1):
        for rest in divisions(amount - first, n_bundles - 1):
            yield (first, *rest)


def maximin_share(needs, capacities, n_bundles):
    """The largest least worth of n bundles into which all units of all resources can be divided."""
    units = [amount for capacity in capacities for amount in capacity]
    n_resources = len(needs)
    largest = 0
    for division in itertools.product(*(list(divisions(u, n_bundles)) for u in units)):
        worths = []
        for bundle in zip(*division, strict=True):
            amounts = [bundle[k : k + n_resources] for k in range(0, len(bundle), n_resources)]
            worths.append(with_bundle(needs, amounts))
        largest = max(largest, min(worths))
    return largest
