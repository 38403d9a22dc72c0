"""DRFH on the shapes that real clusters have, by interior points and by the rounds of linear programs.

    python benchmarks/shapes.py [SIZE] [SECONDS]     500 users and servers, programs given up after 60 seconds

Log-normal demands and capacities: a fifth of the demands zero; GPU-like (30 % of the users need the third resource,
40 % of the servers have it); two of five resources demanded. The levels of both are compared.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
import warnings

import numpy as np

import fairlp

KINDS = ("a fifth of the demands zero", "GPU-like", "two of five resources")


def shaped(kind: str, size: int) -> fairlp.Instance:
    """Return an instance of so many users and servers."""
    rng = np.random.default_rng(0)
    resources = 5 if kind == KINDS[2] else 3
    demands, capacities = rng.lognormal(size=(size, resources)), rng.lognormal(size=(size, resources))
    if kind == KINDS[0]:
        demands[rng.random(demands.shape) < 0.2] = 0
    elif kind == KINDS[1]:
        demands[rng.random(size) > 0.3, 2] = 0
        capacities[rng.random(size) > 0.4, 2] = 0
    else:
        demands = np.where(rng.random(demands.shape).argsort(axis=1) < 2, demands, 0.0)
    demands[~demands.any(axis=1), 0] = 1
    return fairlp.Instance.from_arrays(demands, capacities)


def run(kind: str, size: int, method: str, queue: multiprocessing.Queue[object]) -> None:
    """Solve, and put seconds, method, rounds, gap and levels into the queue."""
    warnings.simplefilter("ignore")
    instance = shaped(kind, size)
    begin = time.perf_counter()
    found = fairlp.allocate(instance, "drfh", method=method)
    seconds = time.perf_counter() - begin
    queue.put((seconds, found.method, len(found.rounds), found.gap, found.levels.to_numpy()))


def main() -> None:
    """Print a line for each shape."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    patience = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    context = multiprocessing.get_context("spawn")
    print(f"{size} users × {size} servers")
    for kind in KINDS:
        answers = {}
        for method in ("auto", "lp"):
            queue = context.Queue()
            process = context.Process(target=run, args=(kind, size, method, queue))
            process.start()
            try:
                answers[method] = queue.get(timeout=patience)
            except Exception:  # the queue's own Empty: out of time
                process.terminate()
            process.join()
        for method, (seconds, name, rounds, gap, _) in answers.items():
            print(f"  {kind:<30} {method:<5} {seconds:8.2f} s  ({name}, {rounds} rounds, gap {gap:.0e})", flush=True)
        if len(answers) == 2:
            (fast, *_, ours), (slow, *_, theirs) = answers["auto"], answers["lp"]
            apart = float((abs(ours - theirs) / np.maximum(theirs, 1e-300)).max())
            print(f"  {'':<30} {slow / fast:.1f} times as fast as the rounds of programs, levels {apart:.0e} apart")
        else:
            print(f"  {'':<30} the rounds of programs were not done in {patience:g} s")


if __name__ == "__main__":
    main()
