"""What an allocation uses of capacities, in rationals."""

from __future__ import annotations

from fractions import Fraction


def largest_use(instance, tasks):
    """Return the largest part of a capacity that is used, servers of a row together."""
    worst = Fraction(0)
    for i in range(len(instance.servers)):
        for r in range(len(instance.resources)):
            needs = [Fraction(float(need)) for need in instance.demands[:, r]]
            used = sum(
                Fraction(float(x)) * need for x, need in zip(tasks[:, i], needs, strict=True)
            )
            capacity = Fraction(float(instance.capacities[i, r])) * int(instance.counts[i])
            if used:
                worst = max(worst, used / capacity)
    return worst
