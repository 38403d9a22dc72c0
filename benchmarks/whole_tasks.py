"""Whole tasks on one pool: exact discrete DRF without the loop, beside precomputed DRF and the loop itself.

    python benchmarks/whole_tasks.py [--quick]

``--quick`` leaves out the loop over ten million tasks (half a minute), other long loops, and the
last row of the growth in users. BLAS gets one thread everywhere, because precomputed DRF's matrix
product is all that would use more. Seconds are medians of 21 runs (3 of a million users; one
of the loop).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
from measure import console, machine, median_seconds, show
from threadpoolctl import threadpool_limits

import fairlp
from fairlp.mechanisms.whole_tasks.filling import Filling, Pool
from fairlp.mechanisms.whole_tasks.placement import pick_by_pick

RESOURCES = 10
TASKS = 100  # of each user, about
MOST_RATIO = 10.0  # exact filling against one pass of precomputed DRF
MILLION = 1_000_000
#: the loop serves a few hundred thousand tasks a second; the tables of growth show it up to this
#: many
MOST_PICKS = 2_000_000


def pdrf(demands: np.ndarray, reserves: np.ndarray) -> np.ndarray:
    """Precomputed DRF (Algorithm 1), as anyone would write it."""
    share = (demands / reserves).max(axis=1)
    ratio = share.max() / share
    k = (reserves / (ratio @ demands)).min()
    return np.floor(k * ratio)


def draw(users: int, tasks: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return demands of 1 to 100 and reserves for about that many tasks a user (100,000 users: 5e8 to 6e8)."""
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, 101, (users, RESOURCES)).astype(float)
    least = int(50 * tasks * users)
    return demands, rng.integers(least, least * 6 // 5 + 1, RESOURCES).astype(float)


def filling(pool: Pool, offset: int = 0) -> np.ndarray:
    return Filling(pool, offset=offset).run()


def once(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    begin = perf_counter()
    found = function()
    return perf_counter() - begin, found


def repeats(users: int) -> int:
    return 21 if users <= 100_000 else 3


def parts(
    demands: np.ndarray, reserves: np.ndarray, **more: object
) -> tuple[float, float, float, Pool]:
    """Return seconds of one PDRF pass, of preparing the data, and of filling; and the prepared data."""
    instance = fairlp.Instance.from_arrays(demands, [reserves], **more)
    pool = Pool.of(instance)
    runs = repeats(len(demands))
    plain = median_seconds(lambda: pdrf(demands, reserves), runs)
    prepare = median_seconds(lambda: Pool.of(instance), runs)
    return plain, prepare, median_seconds(lambda: filling(pool), runs), pool


def limit(quick: bool) -> None:
    """100,000 users × 10 resources, ten million tasks: everything beside one pass of precomputed DRF."""
    demands, reserves = draw(100_000, TASKS)
    plain, prepare, fill, pool = parts(demands, reserves)
    instance = fairlp.Instance.from_arrays(demands, [reserves])
    exact = filling(pool)
    runs = repeats(len(demands))
    whole = median_seconds(lambda: fairlp.allocate(instance, "drf-discrete"), runs)
    floors = median_seconds(lambda: fairlp.allocate(instance, "pdrf"), runs)
    minmax = median_seconds(lambda: filling(pool, 1), runs)
    rows = [
        ["precomputed DRF, five lines of NumPy", plain],
        ["precomputed DRF, fairlp.allocate (exact floors)", floors],
        ["discrete DRF, exact: data", prepare],
        ["discrete DRF, exact: filling", fill],
        ["discrete DRF, exact: both", prepare + fill],
        ["discrete DRF, fairlp.allocate", whole],
        ["sequential minmax, exact: data and filling", prepare + minmax],
    ]
    if not quick:
        seconds, served = once(lambda: pick_by_pick(pool))
        assert (served == exact).all(), "the loop disagrees"
        rows.append(["discrete DRF, the loop (heap), same tasks", prepare + seconds])
    title = f"100,000 users × {RESOURCES} resources, {exact.sum():,.0f} tasks"
    show(
        title,
        ["", "seconds", "ratio to PDRF"],
        [[name, f"{s:.4f}", f"{s / plain:.1f}"] for name, s in rows],
    )
    ratio = (prepare + fill) / plain
    differ = (pdrf(demands, reserves) != exact).mean()
    console.print(
        f"exact / PDRF: {ratio:.1f}, limit {MOST_RATIO:.0f}: {verdict(ratio <= MOST_RATIO)}"
    )
    console.print(f"PDRF gives {differ:.0%} of the users another number of tasks than discrete DRF")


def verdict(good: bool) -> str:
    return "kept" if good else "BROKEN"


def growth(quick: bool) -> dict[str, list[tuple[float, ...]]]:
    """Return and print how seconds grow with users, and with tasks a user."""
    most = 100_000 if quick else MILLION
    by_users = [(n, TASKS) for n in (1_000, 10_000, 100_000, MILLION) if n <= most]
    by_tasks = [(10_000, 10.0**power) for power in range(1, 7)]
    found = {}
    for what, sizes in (("users", by_users), ("tasks a user", by_tasks)):
        found[what] = [
            grown(users, tasks, 200_000 if quick else MOST_PICKS) for users, tasks in sizes
        ]
        rows = []
        for (users, tasks), (picks, plain, prepare, fill, loop) in zip(
            sizes, found[what], strict=True
        ):
            size = f"{users if what == 'users' else tasks:,.0f}"
            both = prepare + fill
            times = [f"{plain:.5f}", f"{prepare:.5f}", f"{fill:.5f}", f"{both / plain:.1f}"]
            rows.append([size, f"{picks:.2e}", *times, "—" if np.isnan(loop) else f"{loop:.2f}"])
        fixed = f"about {TASKS} tasks a user" if what == "users" else "10,000 users"
        show(
            f"growth in {what} ({fixed})",
            [what, "tasks", "PDRF", "data", "filling", "ratio", "loop"],
            rows,
        )
    return found


def grown(users: int, tasks: float, most_picks: int) -> tuple[float, ...]:
    demands, reserves = draw(users, tasks)
    plain, prepare, fill, pool = parts(demands, reserves)
    picks = filling(pool).sum()
    loop = once(lambda: pick_by_pick(pool))[0] if picks <= most_picks else np.nan
    return picks, plain, prepare, fill, loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="without long loops and the million users of the growth",
    )
    given = parser.parse_args()
    with threadpool_limits(1):
        console.print(machine("fairlp", "numpy") + "; BLAS with one thread")
        limit(given.quick)
        growth(given.quick)


if __name__ == "__main__":
    main()
