"""Small integer programs with a big M, and their optima: all whole numbers, and vertices of what is left, in fractions.

Nothing of fairlp's numerics takes part: the arrays of the program are read as the fractions that
they are."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np

from fairlp import Index, Model

#: What integers switch rows by.
LARGE = (1.0, 20.0, 1e3, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11)


def facility(large):
    """x[k] ≤ 1, x ≤ M·b, Σx = 1, min 3b₁ + 2b₂ + 4b₃ + x₁ + 5x₂ + x₃: 4, at the first."""
    k = Index("k", [1, 2, 3])
    model = Model("facility", indices=(k,))
    x, b = model.variable("x", k, upper=1), model.variable("b", k, binary=True)
    model.constraint("open", x <= large * b)
    model.constraint("all", x.sum(k) == 1)
    model.minimize((b * [3.0, 2.0, 4.0]).sum() + (x * [1.0, 5.0, 1.0]).sum())
    return model


def switch(upper, large):
    """x ≤ U, x ≤ M·b, max 3x/U − b: 2."""
    model = Model("switch")
    x, b = model.variable("x", upper=upper), model.variable("b", binary=True)
    model.constraint("on", x <= large * b)
    model.maximize(3 * x / upper - b)
    return model


def random_model(seed):
    """A cover by two amounts, which up to three binaries switch on or off."""
    rng = np.random.default_rng(seed)
    model = Model("random")
    large = float(rng.choice(LARGE))
    unit = float(rng.choice([1.0, 1.0, 0.1, 10.0]))
    upper = [float(rng.integers(1, 9)) * unit if rng.random() < 0.6 else None for _ in range(2)]
    x = [model.variable(f"x{k}", upper=upper[k]) for k in range(2)]
    b = [model.variable(f"b{k}", binary=True) for k in range(rng.integers(1, 4))]
    for k, switch in enumerate(b):
        amount = x[rng.integers(2)] * float(rng.integers(1, 4))
        kind = rng.integers(4)
        if kind == 0:
            model.constraint(f"on{k}", amount <= large * switch)
        elif kind == 1:
            model.constraint(f"off{k}", amount + large * switch <= large)
        elif kind == 2:  # at least a batch where it is on, nothing where it is off
            model.constraint(f"most{k}", amount - large * switch <= 0)
            model.constraint(f"least{k}", amount >= float(rng.integers(1, 3)) * unit * switch)
        else:
            least = float(rng.integers(1, 5)) * unit
            model.constraint(f"need{k}", amount >= least - large * switch)
    if rng.random() < 0.8:
        total = float(rng.integers(1, 3)) * x[0] + float(rng.integers(0, 3)) * x[1]
        side = float(rng.integers(1, 10)) * unit
        model.constraint("cover", total == side if rng.random() < 0.3 else total >= side)
    if rng.random() < 0.5:
        model.constraint("few", sum(b[1:], b[0]) <= float(rng.integers(1, len(b) + 1)))
    prices = rng.integers(0, 6, 2).astype(float)
    fixed = rng.integers(-1, 6, len(b)).astype(float)
    model.minimize(
        sum(p * value for p, value in zip(prices, x, strict=True))
        + sum(f * value for f, value in zip(fixed, b, strict=True))
    )
    return model


def optimum(program):
    """The least or largest objective of a program that is bounded, as a fraction; None where nothing is feasible."""
    whole = np.flatnonzero(program.integrality)
    low, high = program.whole_bounds()
    ranges = [range(int(low[j]), int(high[j]) + 1) for j in whole]
    better = min if program.sense == "min" else max
    values = [
        _of_rest(program, dict(zip(whole.tolist(), z, strict=True)), better)
        for z in product(*ranges)
    ]
    return better((value for value in values if value is not None), default=None)


def _of_rest(program, fixed, better):
    """The best objective at these whole numbers, at a vertex of the rows and bounds that are left."""
    rest = [j for j in range(program.n_columns) if j not in fixed]
    costs = [Fraction(value) for value in program.c.tolist()]
    fixed_value = Fraction(program.offset) + sum(costs[j] * z for j, z in fixed.items())
    halves = []  # a·x ≤ r
    matrix = program.A.toarray()
    for row, low, high in zip(
        matrix.tolist(), program.row_lower.tolist(), program.row_upper.tolist(), strict=True
    ):
        fixed_use = sum(Fraction(row[j]) * z for j, z in fixed.items())
        coefficients = [Fraction(row[j]) for j in rest]
        halves += [(coefficients, Fraction(high) - fixed_use)] if np.isfinite(high) else []
        halves += (
            [([-a for a in coefficients], fixed_use - Fraction(low))] if np.isfinite(low) else []
        )
    for place, j in enumerate(rest):
        unit = [Fraction(int(place == other)) for other in range(len(rest))]
        low, high = float(program.col_lower[j]), float(program.col_upper[j])
        halves += [(unit, Fraction(high))] if np.isfinite(high) else []
        halves += [([-a for a in unit], -Fraction(low))] if np.isfinite(low) else []
    best = None
    for active in combinations(halves, len(rest)):
        x = _solved([list(a) for a, _ in active], [r for _, r in active])
        if x is None or any(
            sum(a * v for a, v in zip(row, x, strict=True)) > side for row, side in halves
        ):
            continue
        value = fixed_value + sum(costs[j] * v for j, v in zip(rest, x, strict=True))
        best = value if best is None else better(best, value)
    return best


def _solved(matrix, side):
    """The solution of equations in fractions, None where there is not one."""
    size = len(side)
    rows = [[*row, right] for row, right in zip(matrix, side, strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
