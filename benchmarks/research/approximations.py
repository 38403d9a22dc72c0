"""The exact leximin beside what approximates it: traffic on real networks, jobs of Gavel (docs/measured.md).

    python benchmarks/research/approximations.py [traffic] [jobs] [--danna] [--figure FILE]

The networks are those of benchmarks/traffic.py. Jobs draw types from Gavel's measured throughputs in
../shared/data/gavel as Soroush's benchmark does: n jobs of one GPU, n/4 GPUs of each kind, priorities
1, 2, 4, 8; gangs are jobs of two, four or eight GPUs, on n GPUs of each kind. ``--danna`` also races a
program a level, which takes minutes; ``--figure`` draws the seconds against the part of the demands
that are worse off.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fairlp import Instance
from fairlp_research import races

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what benchmarks share

import traffic
from measure import machine, show

#: Network, number of demands, and load.
CASES = (
    ("UsCarrier", 400, 4.0),
    ("UsCarrier", 1_500, 0.5),
    ("UsCarrier", 1_500, 1.0),
    ("UsCarrier", 1_500, 4.0),
    ("UsCarrier", 5_000, 4.0),
    ("Kdl", 1_000, 4.0),
)
#: Loads of the real matrices of B4; times are sums, worse and least their mean and minimum.
B4_LOADS = (10.0, 40.0)
JOBS = (256, 1_024, 4_096)
PRIORITIES = (1.0, 2.0, 4.0, 8.0)
KINDS = ("k80", "p100", "v100")


def real_matrices(load: float, methods: list[str]) -> pd.DataFrame:
    """Return the race over all matrices of B4: seconds in all, the lowest least level, means."""
    tables = [races.race(demands, methods) for demands in traffic.real_matrices(load)]
    together = pd.concat(tables).groupby(level=0, sort=False)
    table = together.agg({"seconds": "sum", "least": "min", "worse": "mean", "total": "mean"})
    table["proved"] = together["proved"].agg(
        lambda proofs: all(proofs) if proofs.notna().all() else None
    )
    return table


def drawn_jobs(size: int, in_gangs: bool) -> races.Jobs:
    """Return jobs of types that run on all kinds, of one GPU each or in gangs."""
    path = traffic.FOLDER.parent / "gavel" / "throughputs.csv"
    with path.open() as file:
        types = [row for row in csv.DictReader(file) if all(float(row[kind]) > 0 for kind in KINDS)]
    types = [row for row in types if (row["scale_factor"] != "1") == in_gangs]
    rng = np.random.default_rng(0)
    drawn = [types[k] for k in rng.integers(len(types), size=size)]
    scale = np.array([[float(row["scale_factor"])] for row in drawn])
    throughputs = np.array([[float(row[kind]) for kind in KINDS] for row in drawn])
    instance = Instance.from_arrays(
        scale,
        np.ones((len(KINDS), 1)),
        servers=list(KINDS),
        resources=["gpu"],
        counts=[size if in_gangs else size // 4] * len(KINDS),
        rates=throughputs / scale,
        weights=rng.choice(PRIORITIES, size),
    )
    return races.Jobs(instance)


def draw(tables: dict[str, pd.DataFrame], path: Path) -> None:
    """Draw seconds against the part of demands that are worse off, a mark for each method and case."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    methods = list(next(iter(tables.values())).index)
    for marker, method in zip("oXsD^vPd", methods, strict=False):
        rows = [table.loc[method] for table in tables.values()]
        seconds = [row["seconds"] for row in rows]
        axes.plot(seconds, [100 * row["worse"] for row in rows], marker, label=method, alpha=0.8)
    axes.set(xscale="log", xlabel="CPU seconds", ylabel="demands more than 1 % below the exact [%]")
    axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("races", nargs="*", help="traffic, jobs; by default both")
    parser.add_argument("--danna", action="store_true")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    asked = arguments.races or ["traffic", "jobs"]
    print(machine())
    methods = [name for name in races.METHODS if arguments.danna or name != "danna"]
    tables = {}
    races.race(drawn_jobs(8, in_gangs=False), methods)  # imports, before anything is timed
    if "traffic" in asked:
        for load in B4_LOADS:
            tables[f"B4, 36 real matrices, load {load:g}"] = real_matrices(load, methods)
        for network, size, load in CASES:
            demands = traffic.gravity(network, size, load)
            tables[f"{network}, {size:,} demands, load {load:g}"] = races.race(demands, methods)
    if "jobs" in asked:
        for in_gangs in (False, True):
            for size in JOBS:
                name = f"{size:,} jobs{' in gangs' if in_gangs else ''}"
                tables[name] = races.race(drawn_jobs(size, in_gangs), methods)
    for title, table in tables.items():
        rows = [
            [
                name,
                f"{row.seconds:.3f}",
                f"{row.least:.3f}",
                f"{row.worse:.0%}",
                f"{row.total:.3f}",
                "" if row.proved is None else str(row.proved),
            ]
            for name, row in table.iterrows()
        ]
        show(title, ["", "CPU s", "least level", "worse", "total", "proved"], rows)
    if arguments.figure:
        draw(tables, arguments.figure)


if __name__ == "__main__":
    main()
