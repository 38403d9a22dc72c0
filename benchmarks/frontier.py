"""Points of a frontier: our interior-point method, tangents and power cones, α by α.

    python benchmarks/frontier.py [--users 200] [--servers 200] [--resources 3] [--alphas 0.5,2,8]
        [--solvers highs,cvxpy:CLARABEL] [--runs 3]

Seconds are of `fairlp.allocate`, certificate included, the fastest of the runs; `gap` is how far the mean level is from
its maximum at most, as prices prove. BLAS has one thread.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import fairlp
from fairlp.errors import FairlpError

OURS = "interior-point"


def cluster(users: int, servers: int, resources: int) -> fairlp.Instance:
    """Return a random cluster: demands uniform in 1–10, capacities in 10–100, weights 1–3."""
    rng = np.random.default_rng(20261122)
    demands = rng.uniform(1, 10, (users, resources))
    return fairlp.Instance.from_arrays(
        demands, rng.uniform(10, 100, (servers, resources)), weights=rng.integers(1, 4, users)
    )


def timed(instance: fairlp.Instance, alpha: float, runs: int, **how: Any) -> tuple[float, float]:
    """Return seconds (the least of the runs) and the certified gap; NaN and why not where there is no answer."""
    seconds, gap = [], float("nan")
    for _ in range(runs):
        begin = perf_counter()
        try:
            gap = float(fairlp.allocate(instance, "alpha-fair", alpha=alpha, **how).gap or 0.0)
        except FairlpError as error:
            print(f"alpha {alpha:g}, {how}: {error}")
            return float("nan"), float("nan")
        seconds.append(perf_counter() - begin)
    return min(seconds), gap


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("users", 200), ("servers", 200), ("resources", 3), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--alphas", default="0.5,2,8")
    parser.add_argument("--solvers", default="highs,cvxpy:CLARABEL")
    asked = parser.parse_args()
    instance = cluster(asked.users, asked.servers, asked.resources)
    rows = []
    for alpha in map(float, asked.alphas.split(",")):
        ours, gap = timed(instance, alpha, asked.runs)
        rows.append((alpha, OURS, ours, gap, 1.0))
        for solver in asked.solvers.split(","):
            seconds, gap = timed(instance, alpha, asked.runs, method="convex", solver=solver)
            rows.append((alpha, solver, seconds, gap, seconds / ours))
    table = pd.DataFrame(rows, columns=["alpha", "solver", "seconds", "gap", "times ours"])
    print(table.to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
