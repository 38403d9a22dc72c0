"""Column generation: a model over more and more patterns, each solved from the basis of the last one."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlp import Index, Model


def stock(widths, demand, patterns):
    """The model of cutting stock over some patterns (arrays of pieces by width)."""
    i, p = Index("i", list(widths)), Index("p", range(len(patterns)))
    model = Model("stock", indices=(i, p))
    a = model.parameter("a", (i, p), np.array(patterns).T)
    x = model.variable("x", p)
    model.constraint("demand", (a * x).sum(p) >= demand)
    model.minimize(x.sum())
    return model


@pytest.mark.parametrize("seed", range(5))
def test_cutting_stock_by_column_generation_has_the_optimum_of_all_patterns(seed):
    rng = np.random.default_rng(seed)
    widths = rng.choice(np.arange(12, 50), 4, replace=False)
    demand = rng.integers(5, 60, 4)
    counts = np.meshgrid(*(np.arange(100 // width + 1) for width in widths), indexing="ij")
    every = np.stack([count.reshape(-1) for count in counts], axis=1)
    every = every[every @ widths <= 100]
    patterns = list(np.diag(100 // widths))
    solution = None
    while True:
        solution = stock(widths, demand, patterns).solve(start=solution)
        worth = every @ solution.duals["demand"].to_numpy()
        if worth.max() <= 1 + 1e-9:
            break
        patterns.append(every[worth.argmax()])
    of_all = linprog(np.ones(len(every)), A_ub=-every.T, b_ub=-demand)
    assert solution.objective == pytest.approx(of_all.fun)
    assert len(patterns) < len(every)
    assert solution.verify().is_optimal
