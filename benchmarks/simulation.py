"""The simulator: 2,000 servers and 100,000 tasks under each policy, and decisions a second against servers and users.

python benchmarks/simulation.py [--quick] [folder of the Alibaba trace]
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

from measure import machine, show

import fairlp
from fairlp.simulation import simulate
from fairlp.simulation.generators import alibaba, google_sample, synthetic

LIMIT = 60.0  # seconds, Best-Fit


def timed(cluster: fairlp.Instance, workload: object, policy: str) -> tuple[float, object]:
    begin = perf_counter()
    result = simulate(cluster, workload, policy, every=float(workload.jobs.arrival.max()) / 500 + 1)
    return perf_counter() - begin, result


def row(label: str, seconds: float, result: object) -> list[str]:
    used = result.mean_utilization()
    return [
        label,
        f"{seconds:.1f}",
        f"{seconds / LIMIT:.2f}",
        f"{result.decisions / seconds:,.0f}",
        " · ".join(f"{u:.1%}" for u in used),
        f"{result.jobs.completion.mean():,.0f}",
    ]


def main() -> None:
    columns = ["", "seconds", f"of {LIMIT:.0f} s", "decisions/s", "mean utilisation", "mean completion [s]"]
    print(machine("numpy", "pandas"))
    cluster = google_sample(2000)
    workload = synthetic(5000, 100, tasks=20, duration=600, hours=2, largest=0.25)
    rows = [row(policy, *timed(cluster, workload, policy)) for policy in ("best-fit", "first-fit", "slots")]
    show(f"2,000 servers, {workload.total_tasks:,} tasks of 100 users", columns, rows)
    if "--quick" not in sys.argv:
        rows = []
        for servers in (100, 1000, 10_000):
            load = synthetic(servers, 100, tasks=20, duration=600, hours=2, largest=0.25)
            rows.append(
                row(
                    f"{servers:,} servers, {load.total_tasks:,} tasks", *timed(google_sample(servers), load, "best-fit")
                )
            )
        for users in (10, 100, 1000):
            load = synthetic(2000, users, tasks=20, duration=600, hours=2, largest=0.25)
            rows.append(
                row(f"2,000 servers, {users} users, {load.total_tasks:,} tasks", *timed(cluster, load, "best-fit"))
            )
        show("Best-Fit against servers and users", columns, rows)
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    folder = Path(given[0]) if given else Path(__file__).parents[2] / "shared" / "data" / "alibaba-gpu-v2023"
    if (folder / "openb_pod_list_default.csv").exists():
        cluster = fairlp.read_alibaba_gpu(
            folder / "openb_node_list_all_node.csv", folder / "openb_pod_list_default.csv"
        )
        load = alibaba(folder / "openb_pod_list_default.csv")
        rows = [row(policy, *timed(cluster, load, policy)) for policy in ("best-fit", "first-fit", "slots")]
        show(f"Alibaba: {len(cluster.servers):,} servers, {load.total_tasks:,} tasks", columns, rows)


if __name__ == "__main__":
    main()
