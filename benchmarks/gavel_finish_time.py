"""What finish-time fairness comes to under each reading of "in isolation", on one drawn cluster.

    python benchmarks/gavel_finish_time.py [--seed 0]

Gavel's ρ is a job's time to finish over its time in isolation. Its paper and two versions of its
published code say three things of isolation; for each, this prints the largest and the mean ρ that
the best allocation has, and what that allocation has by the paper's reading.

The cluster has 36 GPUs of each of three kinds. Jobs take 1, 2, 4 or 8 GPUs (70, 10, 15 and 5 %),
and are 1 to 3 times as fast on the second kind as on the slowest, and 1 to 4 times as fast again on
the first.
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import console, machine, show
from scipy.optimize import linprog

import fairlp
from fairlp.formulations.gavel import isolated_throughputs, normalised
from fairlp.formulations.space_sharing import throughputs

KINDS = ["v100", "p100", "k80"]
GPUS = 36


def drawn(jobs: int, seed: int) -> fairlp.Instance:
    """Return jobs on the cluster."""
    numbers = np.random.default_rng(seed)
    scale = numbers.choice([1, 2, 4, 8], jobs, p=[0.70, 0.10, 0.15, 0.05])
    second = numbers.uniform(1, 3, jobs)
    first = second * numbers.uniform(1, 4, jobs)
    return fairlp.Instance.from_arrays(
        scale[:, None].astype(float),
        np.full((3, 1), float(GPUS)),
        servers=KINDS,
        resources=["gpu"],
        rates=np.column_stack([first, second, np.ones(jobs)]) * (GPUS / scale)[:, None],
    )


def one_divisor(instance: fairlp.Instance) -> np.ndarray:
    """Return isolated throughputs where *one* number, the busiest job's time, divides all parts.

    So the code had it in a later version. Parts grow where no job is busy for all its time.
    """
    scale = instance.demands[:, :1]
    time = np.full((len(scale), len(KINDS)), GPUS / len(scale)) / scale
    return np.asarray((throughputs(instance) * time / time.sum(axis=1).max()).sum(axis=1))


def alike(instance: fairlp.Instance, fastest: bool) -> np.ndarray:
    """Return isolated throughputs by max-min fairness that takes all kinds for alike.

    So the code had it in an earlier version. That has many optima, and a solver takes any: here one
    in which all jobs together are as fast, or as slow, as they can be.
    """
    speed = throughputs(instance)
    jobs, kinds = speed.shape
    scale = instance.demands[:, 0]
    fits = [np.kron(scale, np.eye(kinds)[j]) for j in range(kinds)]
    time = np.kron(np.eye(jobs), np.ones(kinds))
    # GPUs × time is the same for all, until a job is busy for all its time
    level = min(1.0, len(KINDS) * GPUS / jobs)
    A = np.vstack([fits, time, -time * scale[:, None]])
    b = np.concatenate([np.full(kinds, GPUS), np.ones(jobs), np.full(jobs, -level)])
    costs = (speed / speed.max(axis=1, keepdims=True)).ravel()
    optimum = linprog(-costs if fastest else costs, A_ub=A, b_ub=b)
    return np.asarray((speed.ravel() * optimum.x).reshape(jobs, kinds).sum(axis=1))


def rows(instance: fairlp.Instance) -> list[list[str]]:
    """Return a row a reading."""
    by_paper = isolated_throughputs(instance)
    readings = {
        "a part of each kind, by job (the paper; fairlp)": by_paper,
        "one divisor for all jobs (code, later)": one_divisor(instance),
        "max-min, kinds alike (code, earlier), the fastest optimum": alike(instance, True),
        "max-min, kinds alike (code, earlier), the slowest optimum": alike(instance, False),
    }
    table = []
    for name, isolated in readings.items():
        # at age 0, ρ is isolated over shared throughput: a max-min with these as weights
        weighted = instance.replace(weights=isolated / normalised(instance))
        totals = fairlp.allocate(weighted, "gavel").totals.to_numpy()
        rho = isolated / totals
        of_paper = by_paper / totals
        figures = (rho.max(), rho.mean(), of_paper.max(), of_paper.mean())
        table.append([name, *(f"{figure:.3f}" for figure in figures)])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console.print(machine())
    columns = ["in isolation", "largest ρ", "mean ρ", "largest, paper's", "mean, paper's"]
    for jobs in (40, 100, 300):
        show(f"{jobs} jobs, {3 * GPUS} GPUs", columns, rows(drawn(jobs, arguments.seed)))


if __name__ == "__main__":
    main()
