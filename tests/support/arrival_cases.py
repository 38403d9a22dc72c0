"""Users who arrive: random instances with every kind of tie, references by plain loops, and planted answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import fairlp
from fairlp import Instance
from fairlp.mechanisms.arrivals.result import dynamic_allocation
from fairlp.mechanisms.arrivals.rule import StepLevels

KINDS = (
    "integers",
    "uniform",
    "lognormal",
    "equal",
    "orthogonal",
    "single",
    "epsilon",
    "zeros",
    "few",
)


def random_arrivals(seed, largest=14):
    """Return demands (N×R), capacities and weights of a random instance; the kind goes round with the seed."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n, r = int(rng.integers(1, largest)), int(rng.integers(1, 5))
    if kind == "single":
        n = 1
    if kind in ("integers", "zeros"):
        demands = rng.integers(1, 4, (n, r)).astype(float)
    elif kind == "equal":
        demands = np.tile(rng.integers(1, 4, r).astype(float), (n, 1)) * rng.integers(1, 3, (n, 1))
    elif kind == "orthogonal":
        demands = np.eye(r)[rng.integers(0, r, n)]
    elif kind == "epsilon":
        demands = np.where(np.eye(r)[rng.integers(0, r, n)] > 0, 1.0, 10.0 ** -rng.integers(2, 9))
    elif kind == "few":
        demands = rng.integers(1, 6, (2, r)).astype(float)[rng.integers(0, 2, n)]
    else:
        demands = (
            rng.uniform(0.01, 1, (n, r)) if kind != "lognormal" else rng.lognormal(0, 2, (n, r))
        )
    if kind == "zeros":
        demands[rng.random((n, r)) < 0.4] = 0
        demands[np.arange(n), rng.integers(0, r, n)] += 1
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.4 else np.ones(n)
    return demands, rng.integers(1, 50, r).astype(float), weights


def normalised(demands, capacities):
    """d̂, exactly, as a list of rows of Fractions."""
    rows = [
        [Fraction(d) / Fraction(c) for d, c in zip(row, capacities, strict=True)]
        for row in demands.tolist()
    ]
    return [[entry / max(row) for entry in row] for row in rows]


def exact_twins(demands, capacities, weights):
    """Every step's shares, exactly, when a user of weight w is w users of weight 1 who come in one step."""
    d, counts = normalised(demands, capacities), weights.astype(int).tolist()
    need, y, steps = [], [], []
    for k in range(len(d)):
        need += [d[k]] * counts[k]
        y += [Fraction(0)] * counts[k]
        level = min(
            _largest_level([row[r] for row in need], y, Fraction(len(y))) for r in range(len(d[0]))
        )
        y = [max(level, past) for past in y]
        twin_of = np.repeat(np.arange(k + 1), counts[: k + 1])
        steps.append(
            [sum(y[j] for j in np.flatnonzero(twin_of == i)) / sum(counts) for i in range(k + 1)]
        )
    return steps


def exact_shares(demands, capacities, weights, horizon=None):
    """Every step's dominant shares, exactly, by sorting the breakpoints of what each resource needs at a level.

    The level is the largest L at which Σ_i φ[i]·d̂[i,r]·max(y[i], L) is at most the sum of the
    weights, for every r; in parts, so divided by the horizon at the end. Nothing is assumed about
    the order of levels."""
    d, phi = normalised(demands, capacities), [Fraction(w) for w in weights.tolist()]
    whole = sum(phi) if horizon is None else Fraction(horizon)
    y, steps = [], []
    for k in range(1, len(d) + 1):
        y.append(Fraction(0))
        level = min(
            _largest_level([phi[i] * d[i][r] for i in range(k)], y, sum(phi[:k]))
            for r in range(len(d[0]))
        )
        y = [max(level, past) for past in y]
        steps.append([share * weight / whole for share, weight in zip(y, phi, strict=False)])
    return steps


def _largest_level(need, pasts, parts):
    for top in [*sorted(set(pasts))[1:], None]:
        below = min(pasts) if top is None and len(set(pasts)) == 1 else None
        raised = [i for i, y in enumerate(pasts) if (top is None or y < top)]
        rate = sum(need[i] for i in raised)
        fixed = sum(need[i] * pasts[i] for i in range(len(pasts)) if i not in raised)
        if rate == 0:
            if top is None:
                return Fraction(10**9)  # nobody needs the resource
            continue
        level = (parts - fixed) / rate
        if top is None or level < top:
            return level if below is None else max(level, below)
    raise AssertionError


def linprog_shares(demands, capacities, weights, cautious=False):
    """Every step's dominant shares by SciPy on dense arrays, from LP (1), or the cautious LP, as it is printed."""
    fraction = demands / capacities
    d = fraction / fraction.max(axis=1, keepdims=True)
    whole, before, steps = weights.sum(), np.zeros(0), []
    for k in range(1, len(d) + 1):
        before = np.append(before, 0.0)
        rows = [
            np.append(d[:k, r], whole - weights[:k].sum() if cautious else 0.0)
            for r in range(d.shape[1])
        ]
        limit = [whole if cautious else weights[:k].sum()] * d.shape[1]
        rows += [np.append(-np.eye(k)[i], weights[i]) for i in range(k)]
        bounds = [*((low, None) for low in before), (0, None)]
        optimum = linprog(
            np.append(np.zeros(k), -1.0), np.array(rows), [*limit, *([0.0] * k)], bounds=bounds
        )
        assert optimum.status == 0, optimum.message
        before = np.maximum(before, weights[:k] * optimum.x[-1])
        steps.append(before / whole)
    return steps


def arrivals(*moments, **options):
    """Three users of two resources, with these arrivals."""
    attributes = pd.DataFrame({"arrival": list(moments)}) if moments else None
    demands = [[1.0, 4.0], [3.0, 1.0], [1.0, 1.0]]
    return Instance.from_arrays(
        demands, [[9, 18]], users=["a", "b", "c"], user_attributes=attributes, **options
    )


def instance_of(seed, **options):
    demands, capacities, weights = random_arrivals(seed)
    return Instance.from_arrays(demands, [capacities], weights=weights, **options)


def bound(resources, horizon):
    """n/(q(n − q + 1)), q = min(m, ⌊(n + 1)/2⌋)."""
    q = min(resources, (horizon + 1) // 2)
    return Fraction(horizon, q * (horizon - q + 1))


def tight(resources, horizon, other=Fraction(0)):
    """Each of the first users needs a resource of its own, and ``other`` of the rest; the ratio is least at step q."""
    resource_of = [k % resources for k in range(horizon)]
    return [[Fraction(1) if r == k else other for r in range(resources)] for k in resource_of]


INSTANCE = Instance.from_arrays([[1.0, 4.0], [3.0, 1.0], [1.0, 1.0], [2.0, 5.0]], [[9, 18]])


def with_levels(result, levels, first=None):
    """The answer as it would be with other levels of the steps."""
    return dynamic_allocation(
        result.rule,
        result.instance,
        result.method,
        result.schedule,
        StepLevels(np.asarray(levels), result.first_array if first is None else np.array(first)),
    )


def planted(mechanism, step, factor):
    """The right answer, and the same with the level of one step times a factor."""
    right = fairlp.allocate(INSTANCE, mechanism)
    levels = right.level_array.copy()
    levels[step] *= factor
    return right, with_levels(right, levels)
