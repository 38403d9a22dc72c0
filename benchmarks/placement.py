"""How far First-Fit, Best-Fit and Slots are from the leximin of whole tasks, on random clusters.

    python benchmarks/placement.py [--clusters 50] [--plot FILE]

Also how long the integer programs take, and how often quanta in the order of gaps (Dolev et al.,
§6) end with a justified complaint.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from measure import console, machine, show

import fairlp
from fairlp.simulation.experiments import PLACEMENTS, distances, mean_tasks

#: Users and servers of the random clusters.
SIZES = ((3, 3), (4, 3), (4, 4))
#: Users and servers whose integer programs are timed.
TIMED = ((3, 3), (4, 4), (5, 5), (6, 6))
LIMIT = 20.0
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
    """Print how long the integer programs take."""
    rows = []
    for users, servers in TIMED:
        times = []
        stopped = 0
        for seed in range(5):
            rng = np.random.default_rng(seed)
            demands = rng.integers(1, 10, (users, 2))
            instance = fairlp.Instance.from_arrays(demands, rng.integers(10, 40, (servers, 2)))
            start = perf_counter()
            answer = fairlp.allocate(instance, "drfh", whole=True, time_limit=LIMIT)
            times.append(perf_counter() - start)
            stopped += answer.gap is not None
        median, largest = f"{np.median(times):.2f}", f"{max(times):.2f}"
        rows.append([f"{users} × {servers}", median, largest, f"{stopped} of 5"])
    title = f"drfh with whole=True, a limit of {LIMIT:.0f} s"
    show(title, ["users × servers", "median s", "largest s", "stopped"], rows)


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


def plot(clusters: int, path: str) -> None:
    """Draw the distances of the size in the middle."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    users, servers = SIZES[1]
    table = distances(clusters, users=users, servers=servers)
    fig, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
    for policy in PLACEMENTS:
        parts = np.sort(table.xs(policy, level="policy")["smallest"])
        axis.step(parts, np.arange(1, len(parts) + 1) / len(parts), where="post", label=policy)
    axis.set(xlabel="smallest level, of the optimal one", ylabel="part of the clusters")
    axis.legend(frameon=False)
    fig.savefig(path)
    console.print(f"plot: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--plot", metavar="FILE")
    arguments = parser.parse_args()
    console.print(machine("fairlp", "numpy", "highspy"))
    placements(arguments.clusters)
    gaps()
    seconds()
    if arguments.plot:
        plot(arguments.clusters, arguments.plot)


if __name__ == "__main__":
    main()
