"""Hierarchical DRF at size: one pool, many servers beside DRFH, whole tasks. Run: python benchmarks/queues.py."""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import fairlp


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


def main() -> None:
    """Print a line for each size."""
    warnings.simplefilter("ignore")
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
    for users, servers in (
        ((1_000, 500),) if len(sys.argv) < 2 else ((int(sys.argv[1]), int(sys.argv[2])),)
    ):
        demands, capacities = rng.lognormal(size=(users, 3)), rng.lognormal(size=(servers, 3)) * 20
        many = fairlp.Instance.from_arrays(demands, capacities, **queued(rng, users, 3, depth=2))
        drfh = timed(f"{users:,} leaves × {servers} servers × 3: drfh", many, "drfh")
        tree_seconds = timed(f"{users:,} leaves × {servers} servers × 3: h-drf", many, "h-drf")
        print(f"h-drf takes {tree_seconds / drfh:.2f} times as long as drfh")
    users = 3_000
    whole = fairlp.Instance.from_arrays(
        rng.integers(1, 20, (users, 3)), [[users * 500] * 3], **queued(rng, users, 3, depth=2)
    )
    timed("whole tasks, 3,000 leaves, about 150,000 tasks", whole, "h-drf-discrete")


if __name__ == "__main__":
    main()
