"""The best fair allocations and the check against vertices in rationals, on small rational instances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import complaints, examples
from fairlp.models.instances.requests import Requests
from njc_oracle import all_sets, complains, least, random_rationals
from profiles import many


def instance_of(r, e):
    """Requests as an Instance; a resource that nobody asks for is left out."""
    table = np.array([[float(v) for v in row] for row in r])
    total = np.array([float(v) for v in e])
    return examples.requests(table, total)


def used(r):
    return [j for j in range(len(r[0])) if any(row[j] for row in r)]


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_best_is_the_best_vertex(seed):
    r, e = random_rationals(seed)
    r = [[row[j] for j in used(r)] for row in r]
    points = set().union(*all_sets(r, e).values())
    instance = instance_of(r, e)
    means = [sum(row) / len(row) for row in r]
    asking = [n for n, row in enumerate(r) if any(row)]
    for criterion, best in (
        ("utilization", max(sum(w * v for w, v in zip(means, x, strict=True)) for x in points)),
        ("user1", max(x[0] for x in points)),
    ):
        allocation = fairlp.allocate(instance, "njc", criterion=criterion)
        assert complaints.best_value(instance, allocation, criterion) == pytest.approx(
            float(best), abs=1e-9
        )
    # the smallest granted fraction is concave: its maximum need not be a vertex, but is at least
    # that of each
    allocation = fairlp.allocate(instance, "njc", criterion="least-served")
    value = complaints.best_value(instance, allocation, "least-served")
    assert value >= max(float(min(x[n] for n in asking)) for x in points) - 1e-9


@pytest.mark.parametrize("seed", range(many(50)))
def test_the_check_agrees_with_rationals(seed):
    """On vertices of the feasible region and on random points, fair or not."""
    r, e = random_rationals(seed, zeros=True)
    r = [[row[j] for j in used(r)] for row in r]
    instance = instance_of(r, e)
    rng = np.random.default_rng(seed)
    points = set().union(*all_sets(r, e).values())
    for _ in range(20):
        x = [Fraction(int(v), 8) for v in rng.integers(0, 9, len(r))]
        largest_use = max(
            sum(row[j] * v for row, v in zip(r, x, strict=True)) for j in range(len(r[0]))
        )
        points.add(tuple(v / largest_use if largest_use > 1 else v for v in x))
    for x in points:
        # who asks for nothing has all of it
        x = [v if any(row) else Fraction(1) for v, row in zip(x, r, strict=True)]
        verdict = complaints.check(instance, [float(v) for v in x])
        assert verdict.complaining == tuple(f"user{n + 1}" for n in complains(r, e, x))


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_fair_allocation_in_rationals_near_the_optimum(seed):
    """The exact method's bottlenecks, taken as rationals, name a candidate polytope that holds its allocation."""
    r, e = random_rationals(seed)
    r = [[row[j] for j in used(r)] for row in r]
    instance = instance_of(r, e)
    allocation = fairlp.allocate(instance, "njc")
    names = list(instance.resources)
    bottlenecks = [names.index(b) for b in allocation.certificate.bottlenecks]
    assert all_sets(r, e)[frozenset(bottlenecks)]
    x = allocation.totals.to_numpy()
    low = [float(v) for v in least(r, e, bottlenecks)]
    granted = Requests.of(instance).granted(x)
    assert (granted >= np.array(low) * (1 - 1e-9)).all()
