"""The curve of Dolev et al. and all fair allocations, against equations and vertices in rationals."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import allocate, complaints, examples
from fairlp_research.papers.dolev_points import curve, fair_sets
from njc_oracle import all_sets, dimension, least, random_rationals
from profiles import many


def test_points_of_the_curve_satisfy_its_equation_and_end_at_the_optimum():
    instance = examples.load("dolev-section-3")
    path = curve(instance, points=60)
    early = path.c < 1e4  # later, 1 less the usage has lost its digits
    slack = 1 - path.x[early] @ instance.demands
    gradient = path.x[early] * ((1 / slack) @ instance.demands.T + 1 / (1 - path.x[early]))
    assert gradient / (path.c[early, None] * instance.entitlements) == pytest.approx(1, abs=1e-7)
    level = -np.log(slack).sum(axis=1) - np.log(1 - path.x[early]).sum(axis=1)
    assert path.level[early] == pytest.approx(level, rel=1e-7, abs=1e-7)
    assert path.x[-1].round(6).tolist() == [0.978703, 0.607937, 0.130688]


@pytest.mark.parametrize("seed", range(many(30)))
def test_fair_sets_are_those_of_rationals_that_lie_within_no_other(seed):
    r, e = random_rationals(seed)
    columns = [j for j in range(len(r[0])) if any(row[j] for row in r)]
    r = [[row[j] for j in columns] for row in r]
    expected = all_sets(r, e)

    def is_within(inner, outer):
        low = least(r, e, sorted(outer))
        return all(
            all(sum(row[j] * v for row, v in zip(r, x, strict=True)) == 1 for j in outer)
            and all(v >= bound for v, bound in zip(x, low, strict=True))
            for x in expected[inner]
        )

    maximal = {
        frozenset(expected[one])
        for one in expected
        if not any(is_within(one, other) and not is_within(other, one) for other in expected)
    }
    instance = examples.requests([[float(v) for v in row] for row in r], [float(v) for v in e])
    sets = fair_sets(instance)
    ours = sorted(np.sort(fair_set.corners, axis=0).tolist() for fair_set in sets)
    exact = sorted(
        np.sort(np.array(sorted(points), dtype=float), axis=0).tolist() for points in maximal
    )
    assert len(ours) == len(exact)
    for one, other in zip(ours, exact, strict=True):
        assert np.array(one) == pytest.approx(np.array(other), abs=1e-8)
    assert sorted(s.dimension for s in sets) == sorted(dimension(points) for points in maximal)


def test_the_circle_of_four_is_six_triangles():
    instance = examples.load("dolev-circle")
    sets = fair_sets(instance)
    assert [(len(s.bottlenecks), s.dimension, len(s.corners)) for s in sets] == [(2, 2, 3)] * 6
    assert complaints.check(instance, sets[0].corners.mean(axis=0))


@pytest.mark.parametrize("seed", range(many(20)))
def test_two_users_have_one_fair_allocation(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 9, (2, int(rng.integers(1, 5)))) / 8
    e = rng.integers(1, 6, 2)
    instance = examples.requests(table, e / e.sum())
    expected = allocate(instance, "njc").totals.to_numpy()
    for fair_set in fair_sets(instance):
        assert fair_set.corners == pytest.approx(expected[None, :], abs=1e-7)
