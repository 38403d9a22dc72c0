"""All fair allocations against their vertices in rationals, and the best of them, on small rational instances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairlp
from fairlp import complaints, examples
from fairlp.models.instances.requests import Requests
from njc_oracle import all_sets, complains, dimension, least, random_rationals
from profiles import many


def instance_of(r, e):
    """Requests as an Instance; a resource that nobody asks for is left out."""
    table = np.array([[float(v) for v in row] for row in r])
    total = np.array([float(v) for v in e])
    return examples.requests(table, total)


def used(r):
    return [j for j in range(len(r[0])) if any(row[j] for row in r)]


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_list_of_polytopes_is_the_exact_one(seed):
    r, e = random_rationals(seed)
    r = [[row[j] for j in used(r)] for row in r]
    expected = all_sets(r, e)
    fair = fairlp.complaints.solutions(instance_of(r, e))
    names = [f"resource{j + 1}" for j in range(len(r[0]))]
    sets = {frozenset(names.index(b) for b in fair_set.bottlenecks): fair_set for fair_set in fair}
    assert set(sets) == set(expected)
    for bottlenecks, points in expected.items():
        fair_set = sets[bottlenecks]
        assert fair_set.dimension == dimension(points)
        exact = np.array(sorted([float(v) for v in point] for point in points))
        assert fair_set.ranges["least"].to_numpy() == pytest.approx(exact.min(axis=0), abs=1e-8)
        assert fair_set.ranges["most"].to_numpy() == pytest.approx(exact.max(axis=0), abs=1e-8)
        assert len(fair_set.vertices) == len(exact)
        for point in exact:
            assert abs(fair_set.vertices.to_numpy() - point).max(axis=1).min() <= 1e-8
        for point in points:
            assert not complains(r, e, point)
    # a set lies within another one exactly if all its vertices do
    for bottlenecks, fair_set in sets.items():
        holders = {
            other
            for other in expected
            if other != bottlenecks and all(belongs(r, e, other, p) for p in expected[bottlenecks])
        }
        if fair_set.within is None:
            assert not {h for h in holders if expected[h] != expected[bottlenecks]}
        else:
            assert frozenset(names.index(b) for b in fair_set.within) in holders


def belongs(r, e, bottlenecks, x):
    saturated = all(sum(row[j] * v for row, v in zip(r, x, strict=True)) == 1 for j in bottlenecks)
    return saturated and all(
        v >= low for v, low in zip(x, least(r, e, sorted(bottlenecks)), strict=True)
    )


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
        for method in ("milp", "candidates"):
            allocation = fairlp.allocate(instance, "njc", method=method, criterion=criterion)
            assert complaints.best_value(instance, allocation, criterion) == pytest.approx(
                float(best), abs=1e-9
            )
    # the smallest granted fraction is concave: its maximum need not be a vertex, but is at least
    # that of each
    for method in ("milp", "candidates"):
        allocation = fairlp.allocate(instance, "njc", method=method, criterion="least-served")
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


@pytest.mark.parametrize("chosen_seed", [10, 15, 17])
def test_a_segment_of_fair_allocations_has_its_two_ends(chosen_seed):
    r, e = random_rationals(chosen_seed)
    r = [[row[j] for j in used(r)] for row in r]
    segments = {
        bottlenecks: points for bottlenecks, points in all_sets(r, e).items() if len(points) == 2
    }
    assert segments
    names = [f"resource{j + 1}" for j in range(len(r[0]))]
    for fair_set in fairlp.complaints.solutions(instance_of(r, e)):
        bottlenecks = frozenset(names.index(name) for name in fair_set.bottlenecks)
        if bottlenecks in segments:
            assert fair_set.dimension == 1
            ends = sorted(fair_set.vertices.to_numpy().tolist())
            exact_ends = sorted([float(v) for v in point] for point in segments[bottlenecks])
            assert ends == [pytest.approx(end, abs=1e-8) for end in exact_ends]


@pytest.mark.parametrize("chosen_seed", [10, 15, 17])
def test_ranges_of_all_sets_reach_from_the_least_to_the_most_of_any(chosen_seed):
    r, e = random_rationals(chosen_seed)
    r = [[row[j] for j in used(r)] for row in r]
    points = [[float(v) for v in p] for found in all_sets(r, e).values() for p in found]
    fair = fairlp.complaints.solutions(instance_of(r, e))
    assert fair.ranges["least"].to_numpy() == pytest.approx(np.min(points, axis=0), abs=1e-8)
    assert fair.ranges["most"].to_numpy() == pytest.approx(np.max(points, axis=0), abs=1e-8)
    assert fair.dimension == max(fair_set.dimension for fair_set in fair.sets)
