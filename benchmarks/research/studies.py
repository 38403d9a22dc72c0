"""CPU milliseconds of a run of a study, beside those of its allocation alone.

    python benchmarks/research/studies.py [--runs 500]

A run draws a pool of 20 users and 3 resources, allocates by DRF, and summarises.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time

import fairlp
from fairlp_research.study import Study

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what benchmarks share

from measure import console, machine, median_seconds, show

#: Milliseconds of a run that are aimed at.
AIM = 1.2


def study(runs: int) -> Study:
    """Return a new study, of which nothing is computed."""
    return Study(
        name="pools",
        generator="uniform-integers",
        grid={"users": [20], "resources": [3]},
        mechanisms=["drf"],
        statistics=["summary"],
        runs=runs,
        seed=0,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    console.print(machine("fairlp", "numpy", "pandas", "joblib"))
    whole = median_seconds(lambda: study(runs).run(progress=False), clock=process_time) / runs
    drawing = study(runs)
    drawn = median_seconds(
        lambda: [drawing.instance(0, run) for run in range(runs)], 3, clock=process_time
    )
    seconds = []
    for _ in range(5):
        instances = [drawing.instance(0, run) for run in range(runs)]
        start = process_time()
        for instance in instances:
            fairlp.allocate(instance, "drf")
        seconds.append((process_time() - start) / runs)
    alone = sorted(seconds)[2]
    rows = [
        ["a run", f"{1e3 * whole:.2f}", f"{whole / alone:.1f}"],
        ["of which the allocation", f"{1e3 * alone:.2f}", "1.0"],
        ["of which the instance", f"{1e3 * drawn / runs:.2f}", f"{drawn / runs / alone:.1f}"],
    ]
    show(f"drf of 20 users, {runs} runs", ["", "CPU ms", "× the allocation"], rows)
    console.print(f"aim {AIM} ms a run: {'kept' if 1e3 * whole <= AIM else 'BROKEN'}")


if __name__ == "__main__":
    main()
