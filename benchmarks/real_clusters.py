"""Real clusters end to end: Google's server table one by one, and the Alibaba GPU trace. Solver time apart.

    python benchmarks/real_clusters.py [folder of the Alibaba trace]

Each figure is the median of five runs, from Instance to Allocation. The folder defaults to
../shared/data beside the checkout; without it that part is left out.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from measure import console, machine, median_seconds, show

import fairlp
import fairlp_research
from fairlp import examples

LIMIT = 1.0  # seconds, both parts


def timed(
    label: str, instance: fairlp.Instance, mechanism: str, runs: int = 5, **options: object
) -> list[str]:
    seconds = median_seconds(lambda: fairlp.allocate(instance, mechanism, **options), runs)
    allocation = fairlp.allocate(instance, mechanism, **options)
    solve = allocation.times.get("solve", 0.0) if allocation.solver else 0.0
    rounds = (
        str(len(allocation.rounds))
        if allocation.rounds is not None and len(allocation.rounds)
        else "—"
    )
    return [
        label,
        mechanism,
        f"{seconds:.3f}",
        f"{solve:.3f}",
        f"{seconds / LIMIT:.2f}",
        rounds,
        f"{allocation.residual:.0e}",
    ]


def main() -> None:
    warnings.simplefilter("ignore", fairlp.FairlpWarning)
    console.print(machine("fairlp", "highspy", "numpy", "pandas"))
    columns = [
        "cluster",
        "mechanism",
        "seconds",
        "of these solver",
        "ratio to 1 s",
        "rounds",
        "residual",
    ]
    google = examples.google_cluster(users=900, one_by_one=True)
    rows = [timed("Google, 900 × 12,583", google, "drfh")]
    show("Google table, every server by itself", columns, rows)
    small = examples.google_cluster(users=40)
    thousand = fairlp.Instance.from_arrays(small.demands, google.capacities[::40])
    merged = median_seconds(lambda: fairlp.allocate(thousand, "drfh"), 3)
    plain = median_seconds(lambda: fairlp.allocate(thousand, "drfh", merge=False), 1, 0)
    console.print(
        f"merging: 40 users × {len(thousand.servers)} servers take {merged:.4f} s merged and "
        f"{plain:.2f} s unmerged, a ratio of {plain / merged:.0f}"
    )
    folder = (
        Path(sys.argv[1])
        if sys.argv[1:]
        else Path(__file__).parents[2] / "shared/data/alibaba-gpu-v2023"
    )
    if not folder.is_dir():
        console.print(f"no Alibaba trace in {folder}; pass its folder to measure it")
        return
    files = folder / "openb_node_list_all_node.csv", folder / "openb_pod_list_gpuspec33.csv"
    reading = median_seconds(lambda: fairlp_research.read_alibaba_gpu(*files), 3)
    instance = fairlp_research.read_alibaba_gpu(*files)
    size = f"Alibaba, {len(instance.users)} × {len(instance.servers)}"
    rows = [
        timed(size, instance, name)
        for name, row in fairlp.mechanisms.TABLE.items()
        if row.undefined(instance) is None
    ]
    show(f"Alibaba GPU trace, leximin (reading the files: {reading:.3f} s)", columns, rows)
    show(
        "Alibaba GPU trace, Best-Fit in both units",
        ["load", "unit", "tasks", "cpu", "memory", "gpu"],
        units(instance),
    )


def units(instance: fairlp.Instance) -> list[list[str]]:
    """Best-Fit DRFH with shapes in shares of the whole system (the paper's) and of the largest server."""
    rows = []
    for load in (1, 2, 3):
        busy = instance.replace(task_limits=load * instance.task_limits)
        for unit in ("system", "largest-server"):
            found = fairlp.allocate(busy, "drfh-best-fit", unit=unit)
            used = [f"{value:.4f}" for value in found.pool_utilization.iloc[:3]]
            rows.append([str(load), unit, f"{found.totals.sum():.0f}", *used])
    return rows


if __name__ == "__main__":
    main()
