"""Programs as plain arrays: of a few numbers, with rounding noise mixed in, and small ones of integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.sparse import csc_array

from fairlp.models.programs.program import Block, Program

INF = np.inf


def program(matrix, rows, columns, c=None, sense="max", **fields):
    """A program of a matrix, (lower, upper) of rows and of columns, and costs."""
    A = sp.csc_array(np.array(matrix, dtype=float))
    (low, high), (least, upper) = (np.array(sides, dtype=float).T for sides in (rows, columns))
    m, n = A.shape
    costs = np.zeros(n) if c is None else np.array(c, dtype=float)
    parts = {
        "name": "planted",
        "sense": sense,
        "c": costs,
        "offset": 0.0,
        "A": A,
        "row_lower": low,
        "row_upper": high,
    }
    parts |= {"col_lower": least, "col_upper": upper, "integrality": np.zeros(n, dtype=np.uint8)}
    blocks = {
        "rows": (Block("row", (("i", pd.RangeIndex(m)),), 0, m),),
        "columns": (Block("column", (("j", pd.RangeIndex(n)),), 0, n),),
    }
    return Program(**(parts | blocks | fields))


KINDS = (
    "packing",
    "covering",
    "transport",
    "storage",
    "monotone",
    "portfolio",
    "balances",
    "markov",
)


class Arrays(NamedTuple):
    """Minimise c·x, lower <= A·x <= upper, x_lower <= x <= x_upper."""

    c: np.ndarray
    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    x_lower: np.ndarray
    x_upper: np.ndarray

    def program(self) -> Program:
        """The same as a program of fairlp with one block of rows and one of columns."""
        rows, columns = self.A.shape
        axis = {size: (("k", _labels(size)),) for size in (rows, columns)}
        return Program(
            name="noisy",
            sense="min",
            c=self.c,
            offset=0.0,
            A=sp.csc_array(self.A),
            row_lower=self.lower,
            row_upper=self.upper,
            col_lower=self.x_lower,
            col_upper=self.x_upper,
            integrality=np.zeros(columns, dtype=np.uint8),
            rows=(Block("row", axis[rows], 0, rows),),
            columns=(Block("x", axis[columns], 0, columns),),
        )


def _labels(size):
    import pandas as pd

    return pd.RangeIndex(size)


def ordinary(kind: str, rng: np.random.Generator) -> Arrays:
    """A program of a kind, of 4 to 40 columns, whose numbers are about 1."""
    if kind in ("packing", "covering"):
        m, n = rng.integers(3, 9, 2)
        A = np.round(rng.uniform(0, 5, (m, n)), 1) * (rng.random((m, n)) < 0.6)
        A[rng.integers(m, size=n), np.arange(n)] += 1.0
        A[np.arange(m), rng.integers(n, size=m)] += 1.0
        side = np.round(rng.uniform(1, 9, m), 1)
        cost = np.round(rng.uniform(0.5, 5, n), 1)
        if kind == "packing":
            return Arrays(-cost, A, np.full(m, -INF), side, np.zeros(n), np.full(n, INF))
        return Arrays(cost, A, side, np.full(m, INF), np.zeros(n), np.full(n, INF))
    if kind == "transport":
        m, n = rng.integers(2, 6, 2)
        demand = np.round(rng.uniform(1, 5, n), 1)
        supply = np.full(m, np.round(demand.sum() / m * 1.5, 1))
        A = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
        lower = np.concatenate([np.full(m, -INF), demand])
        upper = np.concatenate([supply, np.full(n, INF)])
        cost = np.round(rng.uniform(1, 9, m * n), 1)
        return Arrays(cost, A, lower, upper, np.zeros(m * n), np.full(m * n, INF))
    if kind == "storage":  # s[t] = s[t-1]·keep + in[t] − out[t]; out[t] + buy[t] >= demand[t]
        steps = int(rng.integers(3, 9))
        eye, zero = np.eye(steps), np.zeros((steps, steps))
        level = eye - rng.choice([1.0, 0.9]) * np.eye(steps, k=-1)
        A = np.vstack(
            [
                np.hstack([level, -eye, eye, zero]),
                np.hstack([zero, zero, eye, eye]),
                np.hstack([zero, eye, zero, -eye]),
            ]
        )
        demand = np.round(rng.uniform(0, 5, steps), 1) * (rng.random(steps) < 0.7)
        lower = np.concatenate([np.zeros(steps), demand, np.full(steps, -INF)])
        upper = np.concatenate([np.zeros(steps), np.full(2 * steps, INF)])
        cost = np.round(np.concatenate([np.full(steps, 0.01), rng.uniform(1, 9, 3 * steps)]), 2)
        upper_bounds = np.concatenate([np.full(steps, 4.0), np.full(3 * steps, 9.0)])
        return Arrays(cost, A, lower, upper, np.zeros(4 * steps), upper_bounds)
    if kind == "monotone":  # plans that only grow, of which the dear one stays 0
        steps = int(rng.integers(3, 12))
        grows = (np.eye(steps) - np.eye(steps, k=-1))[1:]
        A = np.vstack([np.kron(np.eye(2), grows), np.kron(np.ones(2), np.eye(steps))])
        demand = np.cumsum(rng.integers(0, 3, steps))
        lower = np.concatenate([np.zeros(len(A) - steps), demand])
        cost = np.concatenate([np.ones(steps), np.full(steps, 2.0)])
        n = 2 * steps
        return Arrays(cost, A, lower, np.full(len(A), INF), np.zeros(n), np.full(n, INF))
    if kind == "portfolio":  # shares that sum to 1, least mean absolute deviation
        assets, days = int(rng.integers(3, 8)), int(rng.integers(4, 12))
        gains = np.round(rng.normal(0.01, 0.05, (days, assets)), 3)
        apart = gains - gains.mean(axis=0)
        A = np.vstack(
            [
                np.hstack([apart, np.eye(days)]),
                np.hstack([-apart, np.eye(days)]),
                np.hstack([np.ones(assets), np.zeros(days)])[None],
            ]
        )
        lower = np.concatenate([np.zeros(2 * days), [1.0]])
        upper = np.concatenate([np.full(2 * days, INF), [1.0]])
        cost = np.concatenate([-0.1 * gains.mean(axis=0), np.full(days, 1 / days)])
        n = assets + days
        return Arrays(cost, A, lower, upper, np.zeros(n), np.full(n, INF))
    if kind == "balances":  # equations of inv(L)·L and free columns
        n = int(rng.integers(3, 9))
        laplace = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        A = np.vstack([np.linalg.inv(laplace) @ laplace, np.eye(n) - np.eye(n, k=1)])
        side = np.round(rng.uniform(1, 8, n), 1)
        lower = np.full(2 * n, -INF)
        upper = np.concatenate([side, np.full(n, 9.0)])
        cost = -np.round(rng.uniform(0.5, 3, n), 1)
        return Arrays(cost, A, lower, upper, np.full(n, -INF), np.full(n, INF))
    states = int(rng.integers(3, 9))  # markov: rare moves have products of small chances
    chances = rng.random((states, states)) ** 6
    chances /= chances.sum(axis=1, keepdims=True)
    A = np.vstack([np.eye(states) - chances.T, np.ones((1, states))])
    side = np.concatenate([np.zeros(states), [1.0]])
    cost = np.round(rng.uniform(-1, 1, states), 2)
    return Arrays(cost, A, side, side, np.zeros(states), np.full(states, INF))


def with_noise(arrays: Arrays, rng: np.random.Generator, scale: float) -> Arrays:
    """The same with noise of this size in coefficients that are 0, and in right-hand sides.

    Sides only give way: what was feasible stays so.
    """
    rows, columns = arrays.A.shape
    noise = scale * rng.uniform(-1, 1, (rows, columns)) * (rng.random((rows, columns)) < 0.3)
    equal = arrays.lower == arrays.upper
    A = np.where((arrays.A == 0) & ~equal[:, None], noise, arrays.A)
    loose = np.where(equal, 0.0, scale * rng.random(rows))
    return arrays._replace(A=A, lower=arrays.lower - loose, upper=arrays.upper + loose)


#: The bounds of a column: small, of three digits, of a million, of a thousand millions.
BOUNDS = (9.0, 1e3, 1e6, 1e9)


#: Whole points that are looked at one by one.
MOST_POINTS = 1_000_000


#: Seconds that a solver alone may take.
LIMIT = 2.0


@dataclass(frozen=True)
class IntegerArrays:
    """Minimise c·x where lower ≤ A·x ≤ upper, x_lower ≤ x ≤ x_upper, x whole where ``whole``."""

    c: np.ndarray
    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    x_lower: np.ndarray
    x_upper: np.ndarray
    whole: np.ndarray

    def program(self) -> Program:
        """The same as a Program of fairlp."""
        rows, columns = self.A.shape
        return Program(
            name="small",
            sense="min",
            c=self.c.copy(),
            offset=0.0,
            A=csc_array(self.A),
            row_lower=self.lower.copy(),
            row_upper=self.upper.copy(),
            col_lower=self.x_lower.copy(),
            col_upper=self.x_upper.copy(),
            integrality=self.whole.astype(np.uint8),
            rows=(Block("row", (("i", pd.RangeIndex(rows)),), 0, rows),),
            columns=(Block("x", (("j", pd.RangeIndex(columns)),), 0, columns),),
        )


def small_integer_program(seed: int) -> IntegerArrays:
    """Return 3 to 8 columns, most of them whole, in 2 to 5 rows of whole numbers below 10."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(3, 9))
    rows = int(rng.integers(2, 6))
    A = rng.integers(-9, 10, (rows, columns)) * (rng.random((rows, columns)) < 0.7)
    bound = BOUNDS[seed % len(BOUNDS)]
    ends = np.array(
        [(0, 3), (-5, min(bound, 50)), (-bound, 3), (0, bound), (-bound, bound)], dtype=float
    )
    x_lower, x_upper = ends[rng.integers(len(ends), size=columns)].T
    side = rng.integers(-20, 21, rows).astype(float)
    kind = rng.choice(["at most", "at most", "at most", "equal", "at least"], rows)
    lower = np.where(kind == "at most", -np.inf, side)
    upper = np.where(kind == "at least", np.inf, side)
    whole = rng.random(columns) < 0.8
    whole[rng.integers(columns)] = True
    c = rng.integers(-9, 10, columns).astype(float)
    return IntegerArrays(c, A.astype(float), lower, upper, x_lower, x_upper, whole)


def by_highs_alone(arrays: IntegerArrays) -> tuple[str, float]:
    """Return HiGHS's status and optimum of the arrays, with HiGHS's own options."""
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("time_limit", LIMIT)
    for low, high in zip(arrays.x_lower, arrays.x_upper, strict=True):
        highs.addVar(low, high)
    for column, cost in enumerate(arrays.c):
        highs.changeColCost(column, cost)
        if arrays.whole[column]:
            highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    for row, coefficients in enumerate(arrays.A):
        places = np.flatnonzero(coefficients).astype(np.int32)
        highs.addRow(
            arrays.lower[row], arrays.upper[row], len(places), places, coefficients[places]
        )
    highs.run()
    status = highs.modelStatusToString(highs.getModelStatus())
    return status, highs.getInfo().objective_function_value


def by_scip_alone(arrays: IntegerArrays) -> tuple[str, float]:
    """Return SCIP's status and optimum of the arrays, with SCIP's own options."""
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", LIMIT)
    columns = range(len(arrays.c))
    x = [
        model.addVar(
            vtype="I" if arrays.whole[column] else "C",
            lb=arrays.x_lower[column],
            ub=arrays.x_upper[column],
        )
        for column in columns
    ]
    for row, coefficients in enumerate(arrays.A):
        expression = pyscipopt.quicksum(coefficients[column] * x[column] for column in columns)
        low = arrays.lower[row]
        high = arrays.upper[row]
        if low == high:
            model.addCons(expression == high)
        elif np.isfinite(high):
            model.addCons(expression <= high)
        else:
            model.addCons(expression >= low)
    model.setObjective(pyscipopt.quicksum(arrays.c[column] * x[column] for column in columns))
    model.optimize()
    status = model.getStatus()
    return status.capitalize(), model.getObjVal() if status == "optimal" else np.nan


def by_enumeration(arrays: IntegerArrays) -> tuple[str, float] | None:
    """Return status and optimum from all whole points; None where there are too many."""
    counts = arrays.x_upper - arrays.x_lower + 1
    if not arrays.whole.all() or counts.prod() > MOST_POINTS:
        return None
    ranges = [
        np.arange(low, high + 1) for low, high in zip(arrays.x_lower, arrays.x_upper, strict=True)
    ]
    points = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(ranges))
    activity = points @ arrays.A.T
    is_feasible = ((activity >= arrays.lower) & (activity <= arrays.upper)).all(axis=1)
    if not is_feasible.any():
        return "Infeasible", np.nan
    return "Optimal", float((points[is_feasible] @ arrays.c).min())
