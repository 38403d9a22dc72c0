"""Points of a frontier: our interior-point method, tangents and power cones, α by α.

    python benchmarks/research/frontier.py [--users 200] [--servers 200] [--resources 3] [--alphas 0.5,2,8]
        [--solvers highs,cvxpy:CLARABEL] [--runs 3]
    python benchmarks/research/frontier.py --series 20 [--most 16] [--alibaba FOLDER]

With ``--series``, so many α from ¼ to ``--most`` on log-normal demands and servers, or the Alibaba
trace, with its task limits and without: each point from the last one's, as `fairlp_research.frontier` does,
and each alone; CPU seconds and iterations of the interior-point method together.

Seconds are of `fairlp.allocate`, certificate included, the fastest of the runs; `gap` is how far
the mean level is from its maximum at most, as prices prove. BLAS has one thread.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import warnings
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd

import fairlp
import fairlp_research
from fairlp.errors import FairlpError, OversizedTaskWarning
from fairlp.solvers.interior_point import method
from fairlp.solvers.interior_point.warm_starts import in_series
from fairlp_research.study.generators import log_normal

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


def series(
    instance: fairlp.Instance, alphas: np.ndarray, runs: int, from_last: bool
) -> tuple[float, int]:
    """Return the CPU seconds (the least of the runs) and the iterations of a list of α."""
    steps: list[int] = []
    plain = method.solve

    def counted(*given: Any, **how: Any) -> Any:
        point = plain(*given, **how)
        steps.append(0 if point is None else point.iterations)
        return point

    method.solve = counted
    seconds = []
    try:
        for _ in range(runs):
            steps.clear()
            begin = process_time()
            with in_series() if from_last else nullcontext():
                for alpha in alphas:
                    timed(instance, float(alpha), 1, method=OURS)
            seconds.append(process_time() - begin)
    finally:
        method.solve = plain
    return min(seconds), sum(steps)


def compare_series(
    instances: dict[str, fairlp.Instance], count: int, most: float, runs: int
) -> None:
    """Measure and print lists of α, each point from the last one's and each alone."""
    alphas, rows = np.geomspace(0.25, most, count), []
    for name, instance in instances.items():
        for words, from_last in (("alone", False), ("from the last", True)):
            rows.append((name, words, *series(instance, alphas, runs, from_last)))
    table = pd.DataFrame(rows, columns=["instance", "each point", "CPU seconds", "iterations"])
    print(table.to_string(index=False, float_format="{:.3g}".format))


def in_lists(
    folder: Path | None, users: int, servers: int, resources: int
) -> dict[str, fairlp.Instance]:
    """Return the instances of ``--series``."""
    if folder is None:
        rng = np.random.default_rng(20261122)
        return {
            "log-normal": log_normal(
                rng, users=users, servers=servers, resources=resources, weights=(1, 3)
            )
        }
    trace = fairlp_research.read_alibaba_gpu(
        folder / "openb_node_list_all_node.csv", folder / "openb_pod_list_gpuspec33.csv"
    )
    return {
        "Alibaba": trace,
        "without limits": trace.replace(task_limits=np.full(len(trace.users), np.inf)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("users", 200), ("servers", 200), ("resources", 3), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--alphas", default="0.5,2,8")
    parser.add_argument("--solvers", default="highs,cvxpy:CLARABEL")
    parser.add_argument("--series", type=int, default=0)
    parser.add_argument("--most", type=float, default=16.0)
    parser.add_argument("--alibaba", type=Path)
    asked = parser.parse_args()
    if asked.series:
        warnings.simplefilter("ignore", OversizedTaskWarning)  # once would do
        instances = in_lists(asked.alibaba, asked.users, asked.servers, asked.resources)
        return compare_series(instances, asked.series, asked.most, asked.runs)
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
