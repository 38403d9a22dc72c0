"""Users who arrive: all steps of dynamic DRF by each method, and its growth with n.

    python benchmarks/arrivals.py [--most 1000000] [--long]

Users need four resources, each uniform in (0.01, 1). A method is left out where it would take more
than some seconds; ``--long`` runs all but the linear programs up to 100,000 users (two minutes
more).
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import console, machine, median_seconds, show

import fairlp
from fairlp.mechanisms.arrivals.result import DynamicAllocation

RESOURCES = 4
SIZES = (1_000, 10_000, 100_000, 1_000_000)
#: Users up to which a method is measured.
LARGEST = {"stack": 1_000_000, "water-filling": 30_000, "linear": 30_000, "lp": 1_000}
LONG = LARGEST | {"water-filling": 100_000, "linear": 100_000}
LIMIT = 10.0  # seconds, the stack with a million users


def cluster(users: int) -> fairlp.Instance:
    rng = np.random.default_rng(0)
    return fairlp.Instance.from_arrays(
        rng.uniform(0.01, 1, (users, RESOURCES)), [[users] * RESOURCES]
    )


def methods(most: int, largest_of: dict[str, int]) -> dict[str, dict[int, float]]:
    """Print and return the seconds of each method by number of users."""
    sizes = [
        size for size in (300, *SIZES[:1], 3_000, *SIZES[1:2], 30_000, *SIZES[2:]) if size <= most
    ]
    found: dict[str, dict[int, float]] = {name: {} for name in LARGEST}
    apart: dict[str, float] = dict.fromkeys(LARGEST, 0.0)
    for size in sizes:
        instance = cluster(size)
        reference = fairlp.allocate(instance, "dynamic-drf")
        for name, largest in largest_of.items():
            if size > largest:
                continue
            runs = 3 if size <= 10_000 and name != "lp" else 1
            made: list[DynamicAllocation] = []
            seconds = median_seconds(
                lambda name=name, made=made, instance=instance: made.append(
                    fairlp.allocate(instance, "dynamic-drf", method=name)
                ),
                runs,
                0,
            )
            found[name][size] = seconds
            difference = float(abs(made[0].level_array / reference.level_array - 1).max())
            apart[name] = max(apart[name], difference, made[0].residual)
    columns = ["users", *(f"{size:,}" for size in sizes), "difference"]
    rows = [
        [
            name,
            *(f"{times[size]:.3g}" if size in times else "—" for size in sizes),
            f"{apart[name]:.0e}",
        ]
        for name, times in found.items()
    ]
    show(
        f"All steps, {RESOURCES} resources, seconds (difference: of M^k to the stack's, or "
        "residual)",
        columns,
        rows,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, default=SIZES[-1], help="largest number of users")
    parser.add_argument("--long", action="store_true", help="slower methods with more users too")
    given = parser.parse_args()
    console.print(machine("fairlp", "highspy", "numpy", "pandas"))
    found = methods(given.most, LONG if given.long else LARGEST)
    largest = max(found["stack"])
    growth = [found["stack"][size] / size * 1e6 for size in found["stack"]]
    console.print(
        f"stack: {min(growth):.1f} to {max(growth):.1f} µs a user, from {min(found['stack']):,} to "
        f"{largest:,}"
    )
    if largest == SIZES[-1]:
        seconds = found["stack"][largest]
        console.print(
            f"a million users: {seconds:.1f} s, ratio to {LIMIT:g} s: {seconds / LIMIT:.2f}"
        )


if __name__ == "__main__":
    main()
