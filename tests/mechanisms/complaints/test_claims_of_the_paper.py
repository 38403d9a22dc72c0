"""Two sentences of Dolev et al. that are not so: DRF on a common dominant resource (§4), and weighted terms (§5.5)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

import fairlp
import njc_oracle as oracle
from fairlp import Instance, examples
from fairlp.tolerances import NOISE
from profiles import by_day, many

#: one resource, hence one dominant resource: what each asks for, and what is fair and not DRF
REQUESTS = [[Fraction(1)], [Fraction(1)], [Fraction(1, 10)]]
ENTITLED = [Fraction(1, 3)] * 3
GRANTED = [Fraction(1, 3), Fraction(17, 30), Fraction(1)]


def as_instance(requests, entitled):
    limited = np.array(requests, dtype=float)
    dominant = limited.max(axis=1)
    return Instance.from_arrays(
        limited / dominant[:, None],
        [np.ones(limited.shape[1])],
        task_limits=dominant,
        entitlements=entitled,
    )


def test_one_dominant_resource_does_not_make_the_two_rules_one():
    """§4: "if all users have the same dominant resource, DRF and our definition are equivalent"."""
    assert sum(r[0] * x for r, x in zip(REQUESTS, GRANTED, strict=True)) == 1
    assert not any(oracle.complains(REQUESTS, ENTITLED, GRANTED))
    instance = as_instance(REQUESTS, [1 / 3] * 3)
    fair = (np.array(GRANTED, dtype=float) * instance.task_limits)[:, None]
    assert fairlp.complaints.check(instance, fair).holds
    static = fairlp.allocate(instance, "drf").totals.to_numpy() / instance.task_limits
    assert static == pytest.approx([0.45, 0.45, 1])  # each the same of what user 3 leaves
    # so the first two are not alike, and the first one envies the second
    findings = fairlp.audit(instance, fair, ["envy-free", "no justified complaints", "bottleneck"])
    assert findings.holds.tolist() == [False, True, False]


@settings(max_examples=many(25), deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(0, 4))
def test_where_all_requests_exceed_their_part_the_two_rules_are_one(tenths, other):
    """What is left of the claim: the common resource is the only bottleneck, and nobody has all it asks for."""
    count = len(tenths)
    first = [Fraction(1, count) + Fraction(a, 10) * (1 - Fraction(1, count)) for a in tenths]
    requests = [[r, r * Fraction(other, 5)] for r in first]
    instance = as_instance(requests, [1 / count] * count)
    static = fairlp.allocate(instance, "drf").totals.to_numpy()
    assert static == pytest.approx([1 / count] * count, rel=1e-9)
    assert fairlp.allocate(instance, "njc").totals.to_numpy() == pytest.approx(static, rel=1e-9)


def weighted_path(requests, entitled, weights, dummies, c):
    """Where x[n]·∂f/∂x[n] = c·e[n] with f = −Σ_j w[j]·log s[j] − Σ_n v[n]·log(1 − x[n]): by SciPy, in log x."""
    r, e = np.asarray(requests), np.asarray(entitled)

    def slacks(u):
        return 1 - np.exp(u) @ r, 1 - np.exp(u)

    def value(u):
        s, y = slacks(u)
        if min(s.min(), y.min()) <= 0:
            return np.inf
        return -e @ u - (weights @ np.log(s) + dummies @ np.log(y)) / c

    def slope(u):
        s, y = slacks(u)
        x = np.exp(u)
        return -e + x * (r @ (weights / s) + dummies / y) / c

    def curvature(u):
        s, y = slacks(u)
        x = np.exp(u)
        inner = (r * weights / s**2) @ r.T * np.outer(x, x)
        return (inner + np.diag(x * (r @ (weights / s) + dummies / y) + dummies * (x / y) ** 2)) / c

    u = np.log(e / (r.sum(axis=1) + 1) / 2)
    for k in np.geomspace(1, c, 40):
        c = k  # the path is followed from its beginning, each point from the last
        u = minimize(
            value, u, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-13}
        ).x
    return np.exp(u)


EXAMPLES = ["dolev-section-3", "dolev-section-5", "dolev-circle", "dolev-figure-2"]


@pytest.mark.slow
@pytest.mark.parametrize("name", by_day(EXAMPLES, 2))
@pytest.mark.parametrize("seed", range(many(2)))
def test_weighted_terms_lead_elsewhere_and_end_at_the_same_point(name, seed):
    """§5.5: "different weighting factors … could lead to other trajectories and other solutions": not to the latter."""
    instance = examples.load(name)
    requests = instance.demands * instance.task_limits[:, None] / instance.pool
    entitled = instance.entitlements
    ends = fairlp.allocate(instance, "njc").totals.to_numpy() / instance.task_limits
    rng = np.random.default_rng(seed)
    weights = rng.permutation(np.resize([1.0, 100.0, 1e4], requests.shape[1]))
    dummies = rng.permutation(np.resize([1.0, 100.0, 1e4], len(requests)))
    plain = np.ones(requests.shape[1]), np.ones(len(requests))
    early_point = weighted_path(requests, entitled, weights, dummies, 1e2)
    assert (
        abs(early_point - weighted_path(requests, entitled, *plain, 1e2)).max() > 1e-3
    )  # another trajectory
    gaps = []
    for c in (1e6, 1e8, 1e10):
        x = weighted_path(requests, entitled, weights, dummies, c)
        # the duality gap of a barrier is the sum of its weights, over c
        gap = entitled @ np.log(ends) - entitled @ np.log(x)
        assert -1e-9 <= gap <= (weights.sum() + dummies.sum()) / c + 1e-9
        gaps.append(abs(x - ends).max())
    assert gaps[0] >= gaps[1] >= gaps[2] and gaps[2] <= 100 * NOISE
