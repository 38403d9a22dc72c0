"""The leximin of any linear model by brute force: one LP a level, through SciPy, and enumeration for integers."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from fairlp import Index, Model

#: What an LP by floats is off by, where this oracle decides who can be raised.
CLOSE = 1e-9


def random_model(seed, *, integer=False):
    """A random model with its levels over k, and weights: equalities, free variables, zero rows, ties."""
    rng = np.random.default_rng(seed)
    columns, count, rows = rng.integers(2, 5), rng.integers(1, 6), rng.integers(1, 5)
    v, k, r = Index("v", range(columns)), Index("k", range(count)), Index("r", range(rows))
    model = Model("random", indices=(v, k, r))
    free = rng.random() < 0.4
    lower = -rng.integers(0, 5, columns).astype(float) if free else np.zeros(columns)
    upper = lower + rng.integers(1, 4, columns) if integer else None
    unbounded = free and not integer and rng.random() < 0.5
    x = model.variable("x", v, lower=None if unbounded else lower, upper=upper, integer=integer)
    matrix = rng.integers(-2, 4, (rows, columns)).astype(float)
    matrix[0] = abs(matrix[0]) + 1
    a = model.parameter("a", (r, v), matrix)
    model.constraint(
        "rows",
        (a * x).sum(v) <= model.parameter("b", (r,), rng.integers(0, 12, rows).astype(float)),
    )
    if rng.random() < 0.3:
        e = model.parameter("e", (v,), rng.integers(0, 3, columns).astype(float))
        model.constraint("equal", (e * x).sum(v) == float(rng.integers(0, 4)))
    if rng.random() < 0.3:
        model.constraint("at_least", x.sum(v) >= float(rng.integers(-3, 2)))
    slopes = rng.integers(-1, 4, (count, columns)).astype(float)
    if rng.random() < 0.3:
        slopes[rng.integers(count)] = 0
    levels = (model.parameter("L", (k, v), slopes) * x).sum(v)
    levels = levels + model.parameter("l", (k,), rng.integers(-3, 4, count).astype(float))
    return model, levels, rng.integers(1, 4, count).astype(float)


def matrix_of(model, weights):
    """The levels' matrix and constants, divided by the weights, from the parameters as they were drawn."""
    slopes, constants = model.parameters["L"].values, model.parameters["l"].values
    return slopes / weights[:, None], constants / weights


def by_one_lp_a_level(model, weights):
    """The levels, or None where there are none (nothing feasible, or no end)."""
    program = model.compile()
    slopes, constants = matrix_of(model, weights)
    count, columns = slopes.shape
    whole = program.A.toarray()
    upper = [
        (np.append(row, 0), high)
        for row, high in zip(whole, program.row_upper, strict=True)
        if np.isfinite(high)
    ]
    lower = [
        (np.append(-row, 0), -low)
        for row, low in zip(whole, program.row_lower, strict=True)
        if np.isfinite(low)
    ]
    bounds = [*zip(program.col_lower, program.col_upper, strict=True), (-np.inf, np.inf)]

    def solve(cost, rows_more):
        rows, right = zip(*upper, *lower, *rows_more, strict=True)
        return linprog(cost, np.array(rows), np.array(right), bounds=bounds, method="highs")

    settled: dict[int, float] = {}
    while len(settled) < count:
        floors = [
            (
                np.append(-slopes[k], 0.0 if k in settled else 1.0),
                constants[k] - settled.get(k, 0.0) + CLOSE * (k in settled),
            )
            for k in range(count)
        ]
        solution = solve(np.append(np.zeros(columns), -1.0), floors)
        if solution.status:
            return None
        t = solution.x[-1]
        kept_levels = [
            (np.append(-slopes[j], 0.0), constants[j] - settled.get(j, t) + CLOSE)
            for j in range(count)
        ]
        optima = {
            k: solve(np.append(-slopes[k], 0.0), kept_levels)
            for k in range(count)
            if k not in settled
        }
        stuck = [
            k
            for k, optimum in optima.items()
            if optimum.status == 0 and constants[k] - optimum.fun <= t + 1e4 * CLOSE
        ]
        assert stuck, "the oracle finds nobody who is blocked"
        settled.update(dict.fromkeys(stuck, t))
    return np.array([settled[k] for k in range(count)])


def by_enumeration(model, weights):
    """The sorted levels of an integer model, or None where nothing is feasible."""
    program = model.compile()
    slopes, constants = matrix_of(model, weights)
    ranges = [
        range(int(a), int(b) + 1) for a, b in zip(program.col_lower, program.col_upper, strict=True)
    ]
    points = np.array(list(itertools.product(*ranges)), dtype=float)
    sums = points @ program.A.toarray().T
    points = points[((sums >= program.row_lower) & (sums <= program.row_upper)).all(axis=1)]
    if not len(points):
        return None
    return np.array(max(map(tuple, np.sort((points @ slopes.T + constants).round(9), axis=1))))
