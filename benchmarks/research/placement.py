"""How far First-Fit, Best-Fit and Slots are from the leximin of whole tasks, on random clusters.

    python benchmarks/research/placement.py [--clusters 50]

Also how long the integer programs take, and how often quanta in the order of gaps (Dolev et al.,
§6) end with a justified complaint.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time

import numpy as np

import fairlp
from fairlp_research.simulation.experiments import PLACEMENTS, distances, mean_tasks

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what benchmarks share

from measure import console, machine, show

#: Users and servers of the random clusters.
SIZES = ((3, 3), (4, 3), (4, 4))
#: Users and servers whose integer programs are timed, and the aim in seconds.
TIMED = {(4, 4): None, (6, 6): None, (8, 3): 2.0, (10, 10): None, (20, 10): 60.0}
#: A proved gap of at most this is asked for within the aim.
GAP = 0.01
#: Ordered outcomes, the other method, are timed up to so many pairs, up to so many seconds.
MOST_PAIRS = 36
LIMIT = 60.0
#: Relative: the quanta of a run end with a complaint where more than this is owed.
COMPLAINT = 0.06


def placements(clusters: int) -> None:
    """Print the distances by size and policy."""
    for users, servers in SIZES:
        table = distances(clusters, users=users, servers=servers)
        rows = []
        for policy in PLACEMENTS:
            of_policy = table.xs(policy, level="policy")
            rows.append(
                [
                    policy,
                    f"{of_policy['leximin'].sum()} of {clusters}",
                    f"{of_policy['smallest'].mean():.3f}",
                    f"{of_policy['smallest'].min():.3f}",
                    f"{of_policy['tasks'].mean():.3f}",
                ]
            )
        show(
            f"{users} users, {servers} servers, {clusters} clusters",
            ["policy", "leximin", "smallest level, mean", "worst", "tasks"],
            rows,
        )


def seconds() -> None:
    """Print how long the integer programs take, beside ordered outcomes of the same model."""
    rows = []
    for (users, servers), aim in TIMED.items():
        times = []
        others = []
        gaps_left = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            demands = rng.integers(1, 10, (users, 2))
            instance = fairlp.Instance.from_arrays(demands, rng.integers(10, 40, (servers, 2)))
            start = process_time()
            answer = fairlp.allocate(instance, "drfh", whole=True, time_limit=LIMIT)
            times.append(process_time() - start)
            gaps_left.append(answer.gap or 0.0)
            if users * servers <= MOST_PAIRS:
                model = fairlp.formulate(instance, "drfh", whole=True)
                start = process_time()
                fairlp.leximin(model, time_limit=LIMIT)
                others.append(process_time() - start)
        ratio = f"{np.median(others) / np.median(times):.1f}" if others else "—"
        verdict = "—"
        if aim is not None:
            is_kept = max(times) <= aim and max(gaps_left) <= GAP
            verdict = f"{aim:.0f} s: {'kept' if is_kept else 'BROKEN'}"
        figures = [f"{np.median(times):.2f}", f"{max(times):.2f}", f"{max(gaps_left):.1%}"]
        rows.append([f"{users} × {servers}", *figures, verdict, ratio])
    title = f"drfh with whole=True, CPU seconds, a limit of {LIMIT:.0f} s"
    columns = [
        "users × servers",
        "median",
        "largest",
        "largest gap",
        "aim",
        "ordered outcomes, times",
    ]
    show(title, columns, rows)


def gaps(instances: int = 60, quanta: int = 80) -> None:
    """Print how often the two scheduling rules end with a justified complaint."""
    rng = np.random.default_rng(1)
    complaints = {"smallest-gap": 0, "largest-gap": 0}
    for _ in range(instances):
        users = rng.integers(2, 5)
        demands = rng.integers(0, 6, (users, rng.integers(2, 4)))
        demands[~demands.any(axis=1), 0] = 1
        weights = rng.integers(1, 4, users)
        capacity = [[100] * demands.shape[1]]
        instance = fairlp.Instance.from_arrays(demands, capacity, weights=weights)
        for policy in complaints:
            tasks = mean_tasks(instance, policy, quanta=quanta)
            complaints[policy] += not fairlp.complaints.check(instance, tasks, COMPLAINT)
    rows = [[policy, f"{count} of {instances}"] for policy, count in complaints.items()]
    title = f"{quanta} quanta: runs with more than {COMPLAINT:.0%} owed to a user"
    show(title, ["policy", "complaints"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=50)
    arguments = parser.parse_args()
    console.print(machine("fairlp", "numpy", "highspy"))
    placements(arguments.clusters)
    gaps()
    seconds()


if __name__ == "__main__":
    main()
