"""The simulator: how fast it is, and the orderings of Wang et al., §VI, on several workloads.

python benchmarks/research/simulation.py [--quick] [--orderings] [--regime] [--alibaba FOLDER]

Without ``--orderings``: 2,000 servers and 100,000 tasks by each policy, decisions a second against
servers and users, divisible tasks. With it: the tables of docs/simulation.md. ``--alibaba`` takes
the folder of the Alibaba GPU trace. ``--regime``: ten synthetic draws
that use as much as in the paper's Table II.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import pandas as pd

import fairlp
import fairlp_research
from fairlp_research.simulation import SimulationResult, Workload, simulate
from fairlp_research.simulation.experiments import compare_policies, dedicated_clouds, slot_sizes
from fairlp_research.simulation.generators import (
    alibaba,
    google_sample,
    sample,
    synthetic,
    wang_regime,
)

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what benchmarks share

from measure import machine, show

LIMIT = 60.0  # seconds, Best-Fit
WHOLE = ("best-fit", "first-fit", "slots")
FLUID = ("drfh", "c-drfh", "tsf", "psdsf-rdm", "psdsf-tdm", "psdsf-rdm-distributed")
MIXED = (*WHOLE, "drfh", "psdsf-rdm")
SIZES = (6, 8, 10, 12, 14, 16, 20, 30)
DAY = 86400.0


def timed(
    label: str, cluster: fairlp.Instance, workload: Workload, policy: str, **how: object
) -> list[str]:
    """Return a row about one run."""
    begin = perf_counter()
    result = simulate(
        cluster, workload, policy, every=float(workload.jobs.arrival.max()) / 500 + 1, **how
    )
    return row(label, perf_counter() - begin, result)


def row(label: str, seconds: float, result: SimulationResult) -> list[str]:
    used = result.mean_utilization()
    return [
        label,
        f"{seconds:.1f}",
        f"{seconds / LIMIT:.2f}",
        f"{result.decisions / seconds:,.0f}",
        " · ".join(f"{u:.1%}" for u in used),
        f"{result.jobs.completion.mean():,.0f}",
    ]


def speed(quick: bool) -> None:
    """Show seconds and decisions a second."""
    columns = [
        "",
        "seconds",
        f"of {LIMIT:.0f} s",
        "decisions/s",
        "mean utilisation",
        "mean completion [s]",
    ]
    cluster = google_sample(2000)
    workload = synthetic(5000, 100, tasks=20, duration=600, hours=2, largest=0.25)
    rows = [timed(policy, cluster, workload, policy) for policy in WHOLE]
    show(f"2,000 servers, {workload.total_tasks:,} tasks of 100 users", columns, rows)
    if quick:
        return
    rows = []
    for servers in (100, 300, 1000, 3000, 10_000):
        load = synthetic(servers, 100, tasks=20, duration=600, hours=2, largest=0.25)
        label = f"{servers:,} servers, {load.total_tasks:,} tasks"
        rows.append(timed(label, google_sample(servers), load, "best-fit"))
    for users in (10, 100, 1000):
        load = synthetic(2000, users, tasks=20, duration=600, hours=2, largest=0.25)
        rows.append(
            timed(
                f"2,000 servers, {users} users, {load.total_tasks:,} tasks",
                cluster,
                load,
                "best-fit",
            )
        )
    show("Best-Fit against servers and users", columns, rows)
    load = synthetic(500, 30, tasks=200, duration=600, hours=2, largest=0.25)
    rows = [timed(policy, cluster, load, policy) for policy in FLUID]
    show(
        f"Divisible tasks: 2,000 servers, 500 jobs, {load.total_tasks:,} tasks of 30 users",
        columns,
        rows,
    )


def orderings(
    name: str, cluster: fairlp.Instance, load: Workload, until: float, policies: tuple[str, ...]
) -> None:
    """Show policies, slot sizes and dedicated clouds for one workload."""
    asked = ", ".join(
        f"{resource} {value:.2f}" for resource, value in load.load(cluster, until).items()
    )
    found = compare_policies(cluster, load, policies, until=until, every=until / 500)
    print(f"\n## {name}: {cluster.n_servers:,} servers, {load!r}; work over capacity: {asked}")
    print(found.summary().round(4).to_string())
    if load.jobs["tasks"].max() > 1:
        print(found.reductions().round(3).to_string())
    print(slot_sizes(cluster, load, SIZES, until=until, every=until / 500).round(4).to_string())
    if len(load.users) <= cluster.n_servers:
        print(
            dedicated_clouds(cluster, load, until=until)
            .figures()
            .round(4)
            .to_frame("best-fit")
            .to_string()
        )


def seeds(
    name: str, draw: Callable[[int], tuple[fairlp.Instance, Workload]], many: int = 10
) -> pd.DataFrame:
    """Show on how many draws each ordering of the paper holds."""
    rows = {}
    for seed in range(many):
        cluster, load = draw(seed)
        how = {"until": 4 * 3600.0, "every": 60.0}
        comparison = compare_policies(cluster, load, **how)
        used = comparison.summary().filter(like="used").mean(axis=1)
        table = slot_sizes(cluster, load, SIZES, **how)
        sizes = table["overall"]
        reductions = comparison.reductions()["reduction"]
        ratios = comparison.ratios()
        clouds = dedicated_clouds(cluster, load, **how).figures()
        rows[seed] = {
            "work over capacity": load.load(cluster, how["until"]).max(),
            **used.to_dict(),
            "BF ≥ FF": used["best-fit"] >= used["first-fit"],
            "FF > Slots": used["first-fit"] > used["slots"],
            "best slots": sizes.idxmax(),
            "14 slots of best": sizes[14] / sizes.max(),
            "CPU of 14 slots": table.loc[14, "cpu"],
            "memory of 14 slots": table.loc[14, "memory"],
            "reduction, 1 to 5 tasks": reductions.iloc[0],
            "reduction, over 50": reductions.iloc[-1],
            "users no lower than Slots": (ratios["best-fit"] >= ratios["slots"]).mean(),
            "all tasks under BF only": ((ratios["best-fit"] == 1) & (ratios["slots"] < 1)).mean(),
            "users no worse shared": 1 - clouds["fewer tasks shared"],
            "largest loss": clouds["largest loss of ratio"],
        }
    table = pd.DataFrame(rows).T.rename_axis("seed")
    print(f"\n## {name}: {many} draws of 300 servers, 4 h")
    print(table.round(3).to_string())
    return table


def drawn(largest: float, jobs: int, seed: int) -> tuple[fairlp.Instance, Workload]:
    """Return 300 of Google's servers and jobs of tasks of up to so much."""
    load = synthetic(jobs, 30, tasks=20, duration=600, hours=4, largest=largest, seed=seed)
    return google_sample(300, seed=seed), load


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only 2,000 servers and 100,000 tasks")
    parser.add_argument("--orderings", action="store_true", help="the tables of docs/simulation.md")
    parser.add_argument("--regime", action="store_true", help="draws that use as much as Table II")
    parser.add_argument("--alibaba", type=Path, metavar="FOLDER", help="of the Alibaba GPU trace")
    given = parser.parse_args()
    print(machine("numpy", "pandas"))
    if given.orderings:
        seeds("Small tasks, 0.01 to 0.1, 1,500 jobs", partial(drawn, 0.1, 1500))
        seeds("Large tasks, 0.01 to 0.5, 500 jobs", partial(drawn, 0.5, 500))
        load = synthetic(5000, 100, tasks=20, duration=600, hours=2, largest=0.25)
        orderings("Google", google_sample(2000), load, 7200.0, (*WHOLE, "drfh"))
    if given.regime:
        table = seeds("Use as in Table II", lambda seed: wang_regime(300, seed=seed))
        print(table.astype(float).mean().round(3).to_string())
    if not (given.orderings or given.regime or given.alibaba):
        speed(given.quick)
    if given.alibaba is not None:
        trace(given.alibaba)


def trace(folder: Path) -> None:
    """Show the orderings on the Alibaba trace: its 33 days of tasks within one, on 80 of its servers."""
    tasks = folder / "openb_pod_list_gpuspec33.csv"
    cluster = sample(
        fairlp_research.read_alibaba_gpu(folder / "openb_node_list_all_node.csv", tasks), 80
    )
    for name, users in (("a user for each demand", None), ("40 users drawn", 40)):
        load = alibaba(tasks, users=users).window(10_000_000)  # before there is next to nothing
        load = load.scaled(arrival=DAY / float(load.jobs.arrival.max()))
        orderings(f"Alibaba, {name}", cluster, load, DAY, WHOLE)
        if users is None:
            morning = load.window(0, DAY / 3)
            orderings(
                "the first eight hours of it, divisible too", cluster, morning, DAY / 3, MIXED
            )


if __name__ == "__main__":
    main()
