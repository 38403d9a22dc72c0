"""Queues at size: one pool, many servers beside DRFH, whole tasks; and Kueue's quotas beside their aims.

    python benchmarks/queues.py
    python benchmarks/queues.py --aims

``--aims`` prints CPU seconds of one BLAS thread beside the seconds aimed at, and their ratio; the second argument of
a size is the number of servers. It fails where a ratio is more than ``--most`` (infinite unless told).
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
import time
import warnings

import numpy as np
from growth import LEAF_QUEUES, draw, leaf_quotas
from measure import median_seconds

import fairlp

#: Seconds aimed at, of users and servers: kueue with a hundred leaf queues, and the naive tree.
KUEUE_AIMS = {(500, 1): 0.5, (1_000, 1): 1.0, (500, 10): 1.0, (1_000, 50): 3.0}
NAIVE_AIMS = {1_000: 1.0, 2_000: 3.0}
#: Numbers of leaf queues, and the largest exponent aimed at.
QUEUES = (25, 50, 100, 200, 400)
EXPONENT = 1.3


def queued(
    rng: np.random.Generator, users: int, resources: int, depth: int = 3
) -> dict[str, object]:
    """Return paths of ten queues a level, and weights of users."""
    names = rng.integers(0, 10, (users, depth))
    return {
        "queue": ["/".join(f"q{name}" for name in row) for row in names],
        "weights": rng.integers(1, 4, users),
    }


def timed(what: str, instance: fairlp.Instance, mechanism: str, **options: object) -> float:
    """Allocate, print the seconds, and return them."""
    begin = time.perf_counter()
    found = fairlp.allocate(instance, mechanism, **options)
    seconds = time.perf_counter() - begin
    rounds = "" if found.rounds is None else f", {len(found.rounds)} rounds"
    print(
        f"{what:<62} {seconds:7.2f} s  ({found.method}{rounds}, residual {found.residual:.1e})",
        flush=True,
    )
    return seconds


def beside_aim(what: str, instance: fairlp.Instance, mechanism: str, aim: float) -> float:
    """Print the CPU seconds beside those aimed at, and return their ratio."""
    seconds = median_seconds(
        lambda: fairlp.allocate(instance, mechanism), runs=3, clock=time.process_time
    )
    print(f"{what:<62} {seconds:7.2f} s, aim {aim:g} s: ratio {seconds / aim:.2f}", flush=True)
    return seconds / aim


def aims() -> float:
    """Print a line for each aim, and return the largest ratio."""
    ratios = []
    for (users, servers), aim in KUEUE_AIMS.items():
        what = f"kueue, {LEAF_QUEUES} leaf queues: {users:,} users × {servers} servers"
        ratios.append(beside_aim(what, draw("leaf quotas", users, servers), "kueue", aim))
    for users, aim in NAIVE_AIMS.items():
        what = f"h-drf-naive, {users:,} users"
        ratios.append(beside_aim(what, draw("whole tree", users, 1), "h-drf-naive", aim))
    seconds = []
    for queues in QUEUES:
        instance = leaf_quotas(500, 1, queues)
        begin = time.process_time()
        fairlp.allocate(instance, "kueue")
        seconds.append(time.process_time() - begin)
        print(f"kueue, 500 users, {queues} leaf queues: {seconds[-1]:.2f} s", flush=True)
    exponent = float(np.polyfit(np.log(QUEUES), np.log(seconds), 1)[0])
    ratio = exponent / EXPONENT
    print(f"exponent in queues {exponent:.2f}, aim {EXPONENT:g}: ratio {ratio:.2f}")
    return max(*ratios, ratio)


def main() -> int:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", nargs="*", type=int, default=[1_000, 500], help="leaves, servers")
    parser.add_argument("--aims", action="store_true", help="Kueue's quotas beside their aims")
    parser.add_argument("--most", type=float, default=np.inf, help="ratio at which it fails")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.aims:
        return int(aims() > arguments.most)
    at_size(*arguments.size)
    return 0


def at_size(leaves: int, n_servers: int) -> None:
    """Print a line for each size of hierarchical DRF."""
    rng = np.random.default_rng(0)
    users, resources = 10_000, 4
    tree = queued(rng, users, resources)
    demands = rng.lognormal(size=(users, resources))
    pool = [[users * 10.0] * resources]
    timed(
        "one pool, 10,000 leaves, 4 resources",
        fairlp.Instance.from_arrays(demands, pool, **tree),
        "h-drf",
    )
    limits = rng.integers(1, 50, users)
    limited = fairlp.Instance.from_arrays(demands, pool, task_limits=limits, **tree)
    timed("the same with task limits", limited, "h-drf")
    capped = limited.replace(
        queues={f"q{k}": {"cap": {"resource1": users * 0.9}} for k in range(5)}
    )
    timed("the same with five caps", capped, "h-drf")
    demands = rng.lognormal(size=(leaves, 3))
    capacities = rng.lognormal(size=(n_servers, 3)) * 20
    many = fairlp.Instance.from_arrays(demands, capacities, **queued(rng, leaves, 3, depth=2))
    drfh = timed(f"{leaves:,} leaves × {n_servers} servers × 3: drfh", many, "drfh")
    tree_seconds = timed(f"{leaves:,} leaves × {n_servers} servers × 3: h-drf", many, "h-drf")
    print(f"h-drf takes {tree_seconds / drfh:.2f} times as long as drfh")
    users = 3_000
    whole = fairlp.Instance.from_arrays(
        rng.integers(1, 20, (users, 3)), [[users * 500] * 3], **queued(rng, users, 3, depth=2)
    )
    timed("whole tasks, 3,000 leaves, about 150,000 tasks", whole, "h-drf-discrete")


if __name__ == "__main__":
    sys.exit(main())
