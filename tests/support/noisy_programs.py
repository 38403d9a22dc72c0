"""Random linear programs of ordinary kinds, with rounding noise mixed in: plain arrays.

Each has an optimum: it is feasible, and its objective is bounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fairlp.models.programs.program import Block, Program

INF = np.inf
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
