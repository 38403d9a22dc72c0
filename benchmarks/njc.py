"""No justified complaints: the exact method on many users.

    python benchmarks/njc.py [--quick]

``--quick`` leaves out solvers on large instances. BLAS gets one thread.
Seconds are medians of 11 runs (1 of slow ones).
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from measure import console, machine, median_seconds, show
from threadpoolctl import threadpool_limits

import fairlp
from fairlp.errors import FairlpError
from fairlp.mechanisms.complaints.market import eisenberg_gale
from fairlp.models.instances.requests import Requests

MOST_SECONDS = 0.1  # of the exact method, 10,000 users × 20 resources


def draw(users: int, resources: int, seed: int = 0, limited: bool = True) -> fairlp.Instance:
    """Return requests of very different sizes, and entitlements between 1 and 10 parts."""
    rng = np.random.default_rng(seed)
    table = 0.02 + 0.98 * rng.random((users, resources)) ** 2
    weights = rng.integers(1, 11, users).astype(float)
    limits = np.ones(users) if limited else None
    return fairlp.Instance.from_arrays(
        table, [np.ones(resources)], task_limits=limits, weights=weights
    )


def exact(quick: bool) -> None:
    """The exact method by size, its certificate, and the same program through solvers."""
    rows = []
    sizes = [
        (100, 5, True),
        (1_000, 10, True),
        (10_000, 20, True),
        (10_000, 20, False),
        (100_000, 20, True),
    ]
    sizes.append((2, 10_000, True))
    for users, resources, limited in sizes:
        instance = draw(users, resources, limited=limited)
        requests = Requests.of(instance)
        parts = requests.fractions, requests.entitlements, requests.limited
        market = eisenberg_gale(*parts)
        core = median_seconds(lambda parts=parts: eisenberg_gale(*parts), 11)
        whole = median_seconds(lambda instance=instance: fairlp.allocate(instance, "njc"), 11)
        proof = fairlp.allocate(instance, "njc").certificate
        size = f"{users:,} × {resources}" + ("" if limited else ", no limits")
        conditions = [f"{proof.conditions:.0e}", f"{proof.gap:.0e}", f"{proof.complaint:.0e}"]
        rows.append([size, str(market.steps), f"{core:.4f}", f"{whole:.4f}", *conditions])
        if (users, resources, limited) == (10_000, 20, True):
            kept = core <= MOST_SECONDS
    columns = [
        "users × resources",
        "Newton steps",
        "Newton, s",
        "allocate, s",
        "conditions",
        "gap",
        "complaint",
    ]
    show("method eg (exact): the Eisenberg–Gale optimum with its certificate", columns, rows)
    console.print(f"10,000 × 20 within {MOST_SECONDS} s: {'kept' if kept else 'BROKEN'}")
    rows = []
    for users, resources in [(100, 5)] if quick else [(100, 5), (1_000, 10), (10_000, 20)]:
        instance = draw(users, resources)
        best = fairlp.allocate(instance, "njc").totals.to_numpy()
        for method, solver in (
            ("convex", "highs"),
            ("convex", "cvxpy:CLARABEL"),
        ):
            if solver == "highs" and users > 1_000:
                continue  # tangents take minutes there
            try:
                begin = perf_counter()
                found = fairlp.allocate(instance, "njc", method=method, solver=solver)
                seconds = perf_counter() - begin
            except FairlpError as error:
                rows.append(
                    [f"{users:,} × {resources}", f"{method} {solver}", "—", type(error).__name__]
                )
                continue
            away = float(abs(found.totals.to_numpy() / best - 1).max())
            rows.append(
                [f"{users:,} × {resources}", f"{method} {solver}", f"{seconds:.3f}", f"{away:.0e}"]
            )
    show(
        "other ways to the same optimum",
        ["users × resources", "method", "seconds", "largest difference"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="without solvers on large instances",
    )
    given = parser.parse_args()
    with threadpool_limits(1):
        console.print(machine("fairlp", "numpy", "highspy") + "; BLAS with one thread")
        exact(given.quick)


if __name__ == "__main__":
    main()
