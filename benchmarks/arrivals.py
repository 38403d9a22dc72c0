"""Users who arrive: all steps of dynamic DRF by each method, its growth with n, and what a warm start is worth.

    python benchmarks/arrivals.py [--plot growth.png] [--most 1000000] [--long]

Users need four resources, each uniform in (0.01, 1). A method is left out where it would take more
than some seconds; ``--long`` runs all but the linear programs up to 100,000 users (two minutes
more).
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from measure import console, machine, median_seconds, show

import fairlp
from fairlp.formulations import arrivals as formulations
from fairlp.mechanisms.arrivals.programs import solve_steps
from fairlp.mechanisms.arrivals.result import DynamicAllocation
from fairlp.mechanisms.arrivals.schedule import schedule

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


def warm_start() -> None:
    """Print the linear programs of all steps from the last basis, and without."""
    rows = []
    for size in (100, 300, 1_000):
        instance = cluster(size)
        steps = schedule(instance)
        nothing = np.zeros(size)
        for mechanism in ("dynamic-drf", "cautious-lp"):
            careful = mechanism == "cautious-lp"
            if careful:
                model = formulations.cautious_lp(instance, nothing, steps.horizon, steps.horizon)
            else:
                model = formulations.dynamic_drf(instance, nothing, steps.horizon)

            def solve(
                warm: bool, model=model, instance=instance, steps=steps, careful=careful
            ) -> float:
                return median_seconds(
                    lambda: solve_steps(model, instance, steps, cautious=careful, warm=warm), 1, 0
                )

            result = fairlp.allocate(instance, mechanism)
            warm, cold, begin = solve(True), solve(False), perf_counter()
            for step in range(1, size + 1):
                result.model(step).solve(primal_tolerance=1e-10, dual_tolerance=1e-10)
            own = perf_counter() - begin
            rows.append(
                [
                    mechanism,
                    f"{size:,}",
                    f"{warm:.2f}",
                    f"{cold:.2f}",
                    f"{own:.2f}",
                    f"{cold / warm:.1f}, {own / warm:.1f}",
                ]
            )
    columns = [
        "mechanism",
        "users",
        "from the last basis",
        "same program, afresh",
        "own program, afresh",
        "ratios",
    ]
    show("The linear programs of all steps, seconds", columns, rows)


def online(users: int) -> None:
    """Print the cost of one arrival in a long-running service."""
    demands = cluster(users).demands.tolist()
    arrivals = fairlp.Arrivals({f"resource{r}": users for r in range(RESOURCES)}, users)
    slowest, begin = 0.0, perf_counter()
    for user, demand in enumerate(demands):
        before = perf_counter()
        arrivals.add(user, demand)
        slowest = max(slowest, perf_counter() - before)
    each = (perf_counter() - begin) / users
    console.print(
        f"Arrivals.add, {users:,} users: {1e6 * each:.1f} µs each, the slowest {1e3 * slowest:.1f} "
        "ms"
    )


def plot(found: dict[str, dict[int, float]], path: str) -> None:
    """Draw seconds against users, with lines of growth n and n²."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    for name, times in found.items():
        axis.loglog(list(times), list(times.values()), "o-", label=name)
    sizes = np.array(sorted(found["stack"]))
    axis.loglog(
        sizes,
        found["stack"][sizes[-1]] * sizes / sizes[-1],
        ":",
        color="grey",
        label="growth with n",
    )
    axis.set(
        xlabel="users n",
        ylabel="seconds for all n steps",
        title=f"Dynamic DRF, {RESOURCES} resources",
    )
    axis.legend(frameon=False)
    figure.savefig(path, dpi=150)
    console.print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the growth with n")
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
    online(min(given.most, 200_000))
    warm_start()
    if given.plot:
        plot(found, given.plot)


if __name__ == "__main__":
    main()
