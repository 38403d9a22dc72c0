"""Peers raced on the same work: ``cvxpy_leximin``, Gavel's water filling, and POP's parts.

python benchmarks/races.py [cvxpy_leximin] [gavel] [pop] [--limit SECONDS] [--seed SEED]
[sizes: --help]

Who they are, and what runs: benchmarks/peers.py. ``cvxpy_leximin`` goes last, as it changes CVXPY
where it is imported. Every race ends with an error where levels that should be equal are not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from time import process_time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import cvxpy as cp
import numpy as np
from measure import console, machine, show
from peers import (
    SLACK,
    WaterFilling,
    apart,
    by_leximin,
    cluster,
    drawn_jobs,
    ours_in_cvxpy,
    pop_levels,
    theirs,
)

import fairlp
from fairlp.errors import FairlpError

RACES = ("cvxpy_leximin", "gavel", "pop")
#: How far levels of ours, all proved by prices, may be apart, relative; and those of a peer told to
#: be as exact.
EQUAL, NEAR = 1e-7, 1e-5
#: A run that takes longer is not repeated.
ONCE = 2.0


def timed(function: Callable[..., Any], *given: Any, runs: int = 3) -> tuple[Any, float]:
    """Return the answer and the median of several runs, of one if it is long."""
    seconds: list[float] = []
    while len(seconds) < runs and (not seconds or seconds[0] < ONCE):
        begin = process_time()
        answer = function(*given)
        seconds.append(process_time() - begin)
    return answer, statistics.median(seconds)


def require(difference: float, allowed: float, what: str) -> float:
    """Return the difference, or end the race where it is more than allowed."""
    if not difference <= allowed:
        raise SystemExit(f"{what}: levels differ by {difference:.1e}, and {allowed:.0e} is allowed")
    return difference


#: What is asked of their methods; saturation merges levels within 1 % unless told otherwise.
METHODS: dict[str, tuple[str, dict[str, float]]] = {
    "saturation, 1e-6": ("saturation", {"upper_tolerance": 1 + 1e-6, "lower_tolerance": 1 - 1e-9}),
    "saturation, as it comes": ("saturation", {}),
    "ordered outcomes (default)": ("ordered_outcomes", {}),
}


def race_cvxpy_leximin(sizes: list[int], limit: float, seed: int) -> None:
    """C-DRFH of n users, each on about two of n servers: theirs, ours through CVXPY, and ours of the instance."""
    if find_spec("cvxpy_leximin") is None:
        console.print(
            "cvxpy_leximin: not installed, not raced (pip install --no-deps cvxpy_leximin)"
        )
        return
    patient = dict.fromkeys(METHODS, True)
    rows = []
    for size in sizes:
        instance = cluster(size, size, seed, part=2 / size)
        right, allocating = timed(
            lambda one: fairlp.allocate(one, "c-drfh").levels.to_numpy(), instance
        )
        mine, through = timed(ours_in_cvxpy, instance)
        difference = require(apart(mine, right), EQUAL, "fairlp.leximin of CVXPY's problem")
        name = f"{size} × {size}, {len(np.unique(right.round(9)))} levels"
        rows.append(
            [name, "fairlp.allocate", f"{allocating:.3f}", "1", f"{through / allocating:.2f}", "—"]
        )
        rows.append(
            [
                name,
                "fairlp.leximin(cvxpy)",
                f"{through:.3f}",
                f"{through / allocating:.1f}",
                "1",
                f"{difference:.0e}",
            ]
        )
        for label, (method, tolerances) in METHODS.items():
            if not patient[label]:
                continue
            rows.append(
                [name, label, *_theirs(instance, right, method, tolerances, allocating, through)]
            )
            patient[label] = rows[-1][2] == "—" or float(rows[-1][2]) < limit / 6
    columns = ["users × servers", "", "CPU s", "to allocate", "to leximin", "levels off"]
    show("C-DRFH, 3 resources: cvxpy_leximin beside ours, all through HiGHS", columns, rows)


def _theirs(
    instance: fairlp.Instance,
    right: np.ndarray,
    method: str,
    tolerances: dict[str, float],
    allocating: float,
    through: float,
) -> list[str]:
    """Return a row of seconds, both ratios and the error of a method of theirs."""
    try:
        levels, seconds = timed(lambda: theirs(instance, method, **tolerances))
    except (cp.error.SolverError, ValueError) as error:
        return ["—", "—", "—", type(error).__name__]
    difference = apart(levels, right)
    if tolerances:
        require(difference, NEAR, f"cvxpy_leximin ({method})")
    return [
        f"{seconds:.3f}",
        f"{seconds / allocating:.0f}",
        f"{seconds / through:.0f}",
        f"{difference:.0e}",
    ]


def race_gavel(sizes: list[int], limit: float, seed: int) -> None:
    """Their water filling beside our leximin, on jobs like theirs and on any throughputs."""
    rows = []
    for like_gavel in (True, False):
        for size in sizes:
            jobs = drawn_jobs(size, seed, like_gavel)
            right, seconds = timed(by_leximin, jobs)
            name = f"{size} jobs, {'V100, P100, K80' if like_gavel else '4 types, any rates'}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    levels, other = timed(lambda one: WaterFilling(one).levels(), jobs)
                except cp.error.SolverError as error:
                    rows.append([name, f"{seconds:.3f}", "—", "—", str(error)[:30], ""])
                    continue
            lowest = require(
                apart(levels.min(), right.min()), 2 * (SLACK - 1), "the least level of Gavel's"
            )
            ratio, off = f"{other / seconds:.0f}", f"{apart(levels, right):.0e}"
            rows.append([name, f"{seconds:.3f}", f"{other:.2f}", ratio, off, f"{lowest:.0e}"])
            if other > limit / 4:
                break
    columns = ["", "ours, CPU s", "water filling", "ratio", "levels off", "the least off"]
    show("Gavel's max-min policy: its water filling beside fairlp.leximin", columns, rows)


def lost(levels: np.ndarray, right: np.ndarray) -> list[str]:
    """Return columns: the least level, who has 1 % less, and the sum, beside the exact leximin."""
    mine, best = np.sort(levels), np.sort(right)
    different = np.flatnonzero(abs(mine - best) > EQUAL * best)
    if different.size and mine[different[0]] > best[different[0]]:
        raise SystemExit("parts are better than the exact leximin of the whole, in its own order")
    worse = float((levels < right * 0.99).mean())
    return [
        f"{levels.min() / right.min():.3f}",
        f"{worse:.0%}",
        f"{levels.sum() / right.sum():.3f}",
    ]


def pop_rows(
    name: str, exact: Callable[[], Any], in_parts: Callable[[int], Any], parts: list[int]
) -> list[list[str]]:
    """Return a row of the exact leximin, and one of each number of parts."""
    right, whole = timed(exact)
    rows = [[name, "exact", f"{whole:.3f}", "", "", "1", "0%", "1"]]
    for k in parts:
        (levels, seconds), _ = timed(in_parts, k)
        faster = f"{whole / sum(seconds):.1f}", f"{whole / max(seconds):.1f}"
        rows.append(["", f"POP-{k}", f"{sum(seconds):.3f}", *faster, *lost(levels, right)])
    return rows


COLUMNS = ["CPU s", "faster", "on k cores", "least level", "1 % worse", "sum"]


def race_pop(sizes: list[int], parts: list[int], limit: float, seed: int) -> None:
    """C-DRFH in parts beside the whole, by the same method; on distinct servers, and on 20 types of many servers."""
    rows = []
    for types, part in ((None, 1.0), (20, 1.0), (20, 0.3)):
        for method in ("auto", "lp"):
            for size in sizes:
                instance = cluster(size, types or size, seed, part, 16 if types else 1)

                def exact(instance: fairlp.Instance = instance, method: str = method) -> np.ndarray:
                    return fairlp.allocate(instance, "c-drfh", method=method).levels.to_numpy()

                def in_parts(
                    k: int, instance: fairlp.Instance = instance, method: str = method
                ) -> Any:
                    return pop_levels(instance, k, method, seed)

                begin = process_time()
                servers = f"{types} types of 16" if types else str(size)
                name = f"{size} × {servers}{'' if part == 1 else f', {part:.0%} each'}: {method}"
                rows += pop_rows(name, exact, in_parts, parts)
                if process_time() - begin > limit / 4:
                    break
    show(
        "C-DRFH, 3 resources: POP beside the exact leximin", ["users × servers", "", *COLUMNS], rows
    )


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("races", nargs="*", help=f"of {', '.join(RACES)}; by default all")
    parser.add_argument(
        "--users", type=int, nargs="+", default=[5, 10, 20, 40], help="for cvxpy_leximin"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        nargs="+",
        default=[16, 64, 256, 1024],
        help="for Gavel",
    )
    parser.add_argument(
        "--pop", type=int, nargs="+", default=[100, 200, 400], help="users, for POP"
    )
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 4, 8], help="for POP")
    parser.add_argument(
        "--limit", type=float, default=60, help="seconds after which a larger size is not tried"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    asked = given.races or list(RACES)
    if not set(asked) <= set(RACES):
        parser.error(f"races are {', '.join(RACES)}")
    console.print(machine("fairlp", "highspy", "cvxpy", "numpy", "scipy"))
    try:
        if "gavel" in asked:
            race_gavel(given.jobs, given.limit, given.seed)
        if "pop" in asked:
            race_pop(given.pop, given.parts, given.limit, given.seed)
        if "cvxpy_leximin" in asked:
            race_cvxpy_leximin(given.users, given.limit, given.seed)
    except FairlpError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
