"""Traffic engineering: the exact leximin beside what approximates it, on real networks (docs/races.md).

    python benchmarks/research/traffic_races.py [--danna] [--figure FILE]

The networks are those of benchmarks/traffic.py. ``--danna`` also races a program a level, which takes
minutes; ``--figure`` draws the seconds against the part of the demands that are worse off.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import sys
from pathlib import Path

import pandas as pd

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


def real_matrices(load: float, methods: list[str]) -> pd.DataFrame:
    """Return the race over all matrices of B4: seconds in all, the lowest least level, means."""
    tables = [races.race(demands, methods) for demands in traffic.real_matrices(load)]
    together = pd.concat(tables).groupby(level=0, sort=False)
    table = together.agg({"seconds": "sum", "least": "min", "worse": "mean", "total": "mean"})
    table["proved"] = together["proved"].agg(
        lambda proofs: all(proofs) if proofs.notna().all() else None
    )
    return table


def draw(tables: dict[str, pd.DataFrame], path: Path) -> None:
    """Draw seconds against the part of demands that are worse off, a mark for each method and case."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    methods = list(next(iter(tables.values())).index)
    for marker, method in zip("oXsD^vP", methods, strict=False):
        rows = [table.loc[method] for table in tables.values()]
        seconds = [row["seconds"] for row in rows]
        axes.plot(seconds, [100 * row["worse"] for row in rows], marker, label=method, alpha=0.8)
    axes.set(xscale="log", xlabel="CPU seconds", ylabel="demands more than 1 % below the exact [%]")
    axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--danna", action="store_true")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    print(machine())
    methods = [name for name in races.METHODS if arguments.danna or name != "danna"]
    tables = {
        f"B4, 36 real matrices, load {load:g}": real_matrices(load, methods) for load in B4_LOADS
    }
    for network, size, load in CASES:
        tables[f"{network}, {size:,} demands, load {load:g}"] = races.race(
            traffic.gravity(network, size, load), methods
        )
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
