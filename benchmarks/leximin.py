"""The leximin of any model beside ``cvxpy_leximin``: goods that can be divided among people, its own published cases.

``python benchmarks/leximin.py``; without that package (``pip install cvxpy_leximin``) only our
times are printed. Levels are compared with the exact ones, in rationals.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import numpy as np

import fairlp
from fairlp import Index, Model
from fairlp.solvers.leximin.of_model import LeximinSolution

#: Values of goods, agents × goods: the examples of its documentation.
PUBLISHED = {
    "4 goods, 2 agents": [[5, 3, 0, 0], [2, 4, 9, 0]],
    "3 goods, 3 agents": [[5, 3, 0], [2, 4, 9], [2, 4, 9]],
}


def random_values(agents: int, goods: int, seed: int = 0) -> np.ndarray:
    """Return values of 1 to 100, as its own benchmark draws them."""
    return np.random.default_rng(seed).integers(1, 101, (agents, goods)).astype(float)


def ours(values: np.ndarray) -> LeximinSolution:
    """Return the leximin of the shares of goods that each agent gets."""
    a, g = Index("a", range(values.shape[0]), "agent"), Index("g", range(values.shape[1]), "good")
    model = Model("goods", indices=(a, g))
    value = model.parameter("v", (a, g), values)
    x = model.variable("x", a, g)
    model.constraint("whole", x.sum(a) <= 1)
    return fairlp.leximin(model, (value * x).sum(g))


def theirs(values: np.ndarray) -> np.ndarray:
    """Return the levels by ``cvxpy_leximin``."""
    import cvxpy
    from cvxpy_leximin import Leximin, Problem

    x = cvxpy.Variable(values.shape)
    levels = [values[k] @ x[k] for k in range(len(values))]
    problem = Problem(Leximin(levels), constraints=[x >= 0, cvxpy.sum(x, axis=0) <= 1])
    problem.solve()
    return np.array([level.value for level in levels], dtype=float)


def timed(function, values, repeat=3):
    """Return the answer, and the least seconds of some runs."""
    best = np.inf
    for _ in range(repeat):
        begin = perf_counter()
        answer = function(values)
        best = min(best, perf_counter() - begin)
    return answer, best


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--goods", type=int, default=15)
    sizes = parser.parse_args()
    drawn = random_values(sizes.agents, sizes.goods)
    cases = {**PUBLISHED, f"{sizes.goods} goods, {sizes.agents} agents": drawn}
    cases["60 goods, 20 agents"] = random_values(20, 60)
    print(f"{'case':22} {'ours [s]':>9} {'off':>8} {'theirs [s]':>11} {'off':>8} {'ratio':>7}")
    for name, given in cases.items():
        values = np.asarray(given, dtype=float)
        answer, seconds = timed(ours, values)
        exact = np.array([float(level) for level in answer.certify(exact=True).levels])
        row = f"{name:22} {seconds:9.4f} {abs(answer.levels - exact).max():8.0e}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                levels, other = timed(theirs, values)
        except ImportError:
            print(row, "  (cvxpy_leximin is not installed)")
            continue
        print(f"{row} {other:11.4f} {abs(levels - exact).max():8.0e} {other / seconds:6.0f}×")


if __name__ == "__main__":
    main()
