"""PS-DSF: 1,000 users × 500 servers to a certified fixed point, and what each way to it costs.

    python benchmarks/per_server.py [--quick]

``--quick`` leaves out the larger rows of the slow methods. Data are log-normal, a user may run on
30 % of the servers, weights are 1, 2 or 3. Every answer here carries its certificate: nobody could
gain more than 1e-9 of what it could run alone on a server. Seconds include merging, the certificate
and the result.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from time import perf_counter

import numpy as np
from measure import console, machine, show

import fairlp
from fairlp import FairlpWarning, Instance
from fairlp.errors import NotConvergedError
from fairlp.mechanisms.allocation import Allocation
from fairlp.tolerances import AGREEMENT

RESOURCES = 3
MOST_SECONDS = 10.0


def draw(
    users: int, servers: int, seed: int = 0, limits: bool = False, classes: int | None = None
) -> Instance:
    """Return a random cluster; of ``classes`` different servers where that is given."""
    rng = np.random.default_rng(seed)
    kinds = classes or servers
    demands, capacities = (
        rng.lognormal(0, 1, (users, RESOURCES)),
        rng.lognormal(3, 1, (kinds, RESOURCES)),
    )
    eligible = rng.random((users, kinds)) < 0.3
    eligible[np.arange(users), rng.integers(0, kinds, users)] = True
    weights = rng.integers(1, 4, users)
    tasks = rng.lognormal(3, 1, users) if limits else None  # a third have all their tasks
    which = np.arange(servers) % kinds
    return Instance.from_arrays(
        demands, capacities[which], eligible=eligible[:, which], weights=weights, task_limits=tasks
    )


def timed(
    instance: Instance, division: str, method: str = "best-response", **options: object
) -> tuple[float, Allocation]:
    begin = perf_counter()
    found = fairlp.allocate(instance, f"psdsf-{division}", method=method, **options)
    return perf_counter() - begin, found


def limit() -> bool:
    """Best responses with pivots: 1,000 users × 500 servers against ten seconds, and fewer with task limits."""
    rows, kept = [], True
    for users, servers, limits in ((1000, 500, False), (500, 250, True)):
        instance = draw(users, servers, limits=limits)
        for division in ("rdm", "tdm"):
            seconds, found = timed(instance, division)
            assert found.certificate.holds and found.certificate.violation <= AGREEMENT
            kept &= limits or seconds <= MOST_SECONDS
            rows.append(
                [
                    f"{users} × {servers} × {RESOURCES}, "
                    f"{division}{', task limits' if limits else ''}",
                    f"{len(found.rounds)}",
                    f"{found.rounds['pivots'].sum()}",
                    f"{found.certificate.violation:.0e}",
                    f"{seconds:.2f}",
                    "" if limits else f"{seconds / MOST_SECONDS:.2f}",
                ]
            )
    columns = [
        "users × servers × resources",
        "sweeps",
        "pivots",
        "largest gain",
        "seconds",
        f"of {MOST_SECONDS:.0f} s",
    ]
    show("Best responses with pivots, to a certified fixed point", columns, rows)
    return kept


def growth(quick: bool) -> None:
    """Sweeps and seconds against size, of every method."""
    rows = []
    sizes = [(25, 12), (50, 25), (100, 50), (200, 100), (400, 200)]
    for users, servers in sizes:
        instance = draw(users, servers)
        for division in ("rdm", "tdm"):
            row = [f"{users} × {servers}, {division}"]
            for method in ("best-response", "sweeps", "algorithm-1", "distributed"):
                most = 100 if method == "sweeps" else 50
                if method != "best-response" and users > (50 if quick else most):
                    row.append("")
                    continue
                options = {} if method == "distributed" else {"most_sweeps": 5000}
                try:
                    seconds, found = timed(instance, division, method, **options)
                except NotConvergedError:
                    row.append("not settled")
                    continue
                steps = (
                    found.rounds["time"].iloc[-1] if method == "distributed" else len(found.rounds)
                )
                row.append(f"{steps:.0f} / {seconds:.2f}")
            rows.append(row)
    columns = [
        "users × servers",
        "best-response",
        "sweeps (no pivots)",
        "algorithm-1",
        "distributed",
    ]
    show("Sweeps (distributed: simulated seconds) / seconds", columns, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", FairlpWarning)
    console.print(machine("numpy", "scipy", "clarabel"))
    kept = limit()
    growth(quick)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
