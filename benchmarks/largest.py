"""Instances by pairs: 50,000 users × 50,000 servers, a few eligible each; seconds, memory, iterations, passes, gap.

    python benchmarks/largest.py                       # 50,000 × 50,000, one process
    python benchmarks/largest.py --size 5000 --workers 2
    python benchmarks/largest.py --size 1000 --beside  # next to HiGHS and the dense interior-point method

Log-normal demands and capacities of three resources; a tenth of the demands are 0. Seconds are CPU seconds of this
process, so that what else runs on the machine counts for little; with workers they are the clock's.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import fairlp

RESOURCES, ZEROS, SIGMA = 3, 0.1, 1.0


def instance(size: int, each: int, seed: int = 0) -> fairlp.SparseInstance:
    """Return as many users as servers, each user with ``each`` servers drawn at random."""
    draw = np.random.default_rng(seed)
    demands = draw.lognormal(0, SIGMA, (size, RESOURCES))
    nothing = draw.random(demands.shape) < ZEROS
    nothing[np.arange(size), draw.integers(0, RESOURCES, size)] = False
    demands[nothing] = 0.0
    capacities = draw.lognormal(3, SIGMA, (size, RESOURCES))
    pairs = np.stack([np.repeat(np.arange(size), each), draw.integers(0, size, size * each)], axis=1)
    return fairlp.SparseInstance.from_arrays(demands, capacities, pairs)


def seconds(workers: bool) -> float:
    """Return CPU seconds of this process so far, or the clock's where workers compute."""
    return time.perf_counter() if workers else time.process_time()


def row(label: str, found, taken: float) -> None:
    """Print one row."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    work = f"{found.iterations:4d} {found.steps:7d} {found.passes:7d}" if hasattr(found, "steps") else f"{'':20s}"
    gap = float("nan") if found.gap is None else found.gap
    print(
        f"{label:24s} {taken:8.1f} s {memory:7.0f} MiB {work} gap {gap:.1e} level {found.levels.min():.8g}", flush=True
    )


def main() -> None:
    """Measure what was asked for."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--size", type=int, default=50_000)
    ask.add_argument("--each", type=int, default=20)
    ask.add_argument("--aim", type=float, default=1e-3)
    ask.add_argument("--rounds", type=int, default=1)
    ask.add_argument("--workers", type=int, default=0)
    ask.add_argument("--beside", action="store_true", help="also HiGHS and the dense interior-point method")
    given = ask.parse_args()
    problem = instance(given.size, given.each)
    print(problem)
    options = {"aim": given.aim, "rounds": given.rounds or None}
    begin = seconds(bool(given.workers))
    if given.workers:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            begin = seconds(True)
            found = fairlp.allocate(problem, "c-drfh", client=client, **options)
            taken = seconds(True) - begin
    else:
        found = fairlp.allocate(problem, "c-drfh", **options)
        taken = seconds(False) - begin
    row(f"matrix-free, {given.workers} workers", found, taken)
    print(found.rounds.to_string(max_rows=20))
    for note in found.notes:
        print(f"note: {note}")
    begin = seconds(False)
    print(f"certify: {found.certify()} ({seconds(False) - begin:.1f} s)")
    for method in ("interior-point", "lp") if given.beside else ():
        dense = problem.dense()
        begin = seconds(False)
        row(f"dense, {method}", fairlp.allocate(dense, "c-drfh", method=method), seconds(False) - begin)


if __name__ == "__main__":
    main()
