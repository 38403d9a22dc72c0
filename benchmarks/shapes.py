"""DRFH on the shapes that real clusters have: ours beside the rounds of linear programs and general solvers.

    python benchmarks/shapes.py [--size 500] [--limit 60] [--peers highs-ipm,highs-hipo] [--only
    zeros,chain]
    python benchmarks/shapes.py --seeds 9 --only windows [--size 500]     several seeds, and what is not proved
    python benchmarks/shapes.py --rounds [--seeds 0-60]     many rounds, 300² and 500²: windows and racks beside the aim
    python benchmarks/shapes.py --grid [--sizes 20,40,70,100,150]     when which of our methods is faster

CPU seconds, one BLAS thread, each run in a process of its own. Ours (`auto`) and the rounds of
linear programs (HiGHS, warm-started) give the whole leximin. General solvers are asked for the
first program alone, beside our interior points on the same program. Gaps are certified, and the
levels of ours and of the rounds compared. The shapes are those of `fairlp_research.library`. In the grid,
from 200 on a method is given up after three times the seconds that `auto` takes.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import console, machine, show

import fairlp
from fairlp.models.programs import backends
from fairlp_research.library.numerics import SHAPES, shaped


def ours(kind: str, size: int, method: str) -> tuple[Any, ...]:
    """Return CPU seconds, method, rounds, gap and levels of the leximin."""
    instance = shaped(kind, size)
    begin = time.process_time()
    found = fairlp.allocate(instance, "drfh", method=method)
    return (
        time.process_time() - begin,
        found.method,
        len(found.rounds),
        found.gap,
        found.levels.to_numpy(),
    )


def theirs(kind: str, size: int, solver: str) -> tuple[Any, ...]:
    """Return CPU seconds and certified gap of the first program."""
    program = fairlp.formulate(shaped(kind, size), "drfh").compile()
    begin = time.process_time()
    solution = backends.solve(program, solver, fairlp.Options())
    return time.process_time() - begin, solver, 1, solution.verify().gap, None


#: Shape and size → CPU seconds that the leximin is to take at most; of racks what it took at most on
#: a busy machine, and a fifth more.
AIMS = {("windows", 300): 1.2, ("windows", 500): 4.5, ("racks", 300): 2.0, ("racks", 500): 6.0}


def of_seed(kind: str, size: int, seed: int) -> tuple[float, float, int, str]:
    """Return CPU seconds of the first program and of the leximin, its rounds, and what is not proved."""
    instance = shaped(kind, size, seed=seed)
    fairlp.allocate(shaped("log-normal", 40), "drfh", method="interior-point")  # imports
    program = fairlp.formulate(instance, "drfh").compile()
    begin = time.process_time()
    backends.solve(program, "interior-point", fairlp.Options())
    first = time.process_time() - begin
    begin = time.process_time()
    allocation = fairlp.allocate(instance, "drfh")
    seconds = time.process_time() - begin
    return first, seconds, len(allocation.rounds), allocation.unproved.partition(" (")[0]


def seeds_table(kinds: list[str], size: int, limit: float, seeds: range) -> None:
    """Print a line for each seed of each shape, beside the aim where there is one."""
    rows = []
    for kind in kinds:
        aim = AIMS.get((kind, size), np.nan)
        for seed in seeds:
            name = f"{kind}, seed {seed}"
            measured = in_a_process(of_seed, limit, kind, size, seed)
            if measured is None:
                rows.append([name, "", f"> {limit:g}", "", f"{aim:g}", f"> {limit / aim:.1f}", ""])
                continue
            first, seconds, n_rounds, unproved = measured
            leximin = f"{seconds:.2f} ({n_rounds})"
            ratios = [f"{seconds / first:.1f}", f"{aim:g}", f"{seconds / aim:.2f}"]
            rows.append([name, f"{first:.2f}", leximin, *ratios, unproved or "proved"])
            console.print(rows[-1])
    columns = [
        "instance",
        "first program",
        "leximin (rounds)",
        "× the first",
        "aim",
        "of aim",
        "proof",
    ]
    show(f"DRFH, {size} users × {size} servers, CPU s", columns, rows)
    console.print(machine("fairlp", "numpy", "scipy"))


def in_a_process(
    work: Callable[..., tuple[Any, ...]], limit: float, *given: Any
) -> tuple[Any, ...] | None:
    """Return what a function returns in a process of its own; None where that fails or takes longer."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_put, args=(queue, work, given))
    process.start()
    try:
        return queue.get(timeout=limit)
    except Exception:  # the queue's own Empty
        process.terminate()
        return None
    finally:
        process.join()


def _put(queue: Any, work: Callable[..., tuple[Any, ...]], given: tuple[Any, ...]) -> None:
    warnings.simplefilter("ignore")
    try:
        queue.put(work(*given))
    except fairlp.errors.FairlpError as error:
        print(*given, error, file=sys.stderr)
        queue.put(None)


def table(kinds: list[str], size: int, limit: float, peers: list[str]) -> None:
    """Print a line for each shape."""
    rows = []
    for kind in kinds:
        auto, rounds = (in_a_process(ours, limit, kind, size, method) for method in ("auto", "lp"))
        first, *others = (
            in_a_process(theirs, limit, kind, size, peer) for peer in ("interior-point", *peers)
        )
        if auto is None or first is None:
            rows.append([SHAPES[kind][0], f"> {limit:g}", *[""] * 5])
            continue
        seconds, method, many, gap, levels = auto
        slow = _beside(rounds, seconds, limit)
        if rounds:
            slow += f", levels {abs(levels - rounds[4]).max() / rounds[4].max():.0e} apart"
        best = min((found for found in others if found), key=lambda found: found[0], default=None)
        peer = f"{best[1]} " if best else ""
        peer += _beside(best, first[0], limit)
        told = [
            f"{seconds:.2f} ({method}, {many})",
            f"{gap:.0e}",
            slow,
            f"{first[0]:.2f}",
            f"{first[3]:.0e}",
            peer,
        ]
        rows.append([SHAPES[kind][0], *told])
        console.print(f"{kind}: {told}")
    columns = [
        "shape",
        "leximin, ours (rounds)",
        "gap",
        "rounds of LPs",
        "first program, ours",
        "gap",
        "best of others",
    ]
    show(f"DRFH, {size} users × {size} servers, CPU s", columns, rows)
    console.print(machine("fairlp", "numpy", "scipy", "highspy"))


def _beside(found: tuple[Any, ...] | None, ours: float, limit: float) -> str:
    """Return seconds, and how many times ours they are."""
    return (
        f"{found[0]:.1f} ({found[0] / ours:.1f} ×)"
        if found
        else f"> {limit:g} (> {limit / ours:.0f} ×)"
    )


def grid(kinds: list[str], sizes: list[int]) -> None:
    """Print when which of our methods is faster, beside what the rule of `auto` looks at."""
    from fairlp.mechanisms.max_min.methods import features, pays

    warnings.simplefilter("ignore")
    rows, worst = [], 1.0
    for size in sizes:
        for kind in kinds:
            instance = shaped(kind, size)
            nonzeros, thinner, spread = features(instance)
            chosen, other = ("interior-point", "lp") if pays(instance) else ("lp", "interior-point")
            seconds = {chosen: _least(kind, size, chosen, np.inf)}
            seconds[other] = _least(
                kind, size, other, 3 * seconds[chosen] if size >= 200 else np.inf
            )
            beside = seconds[chosen] / min(seconds.values())
            worst = max(worst, beside)
            told = [f"{kind}, {size}²", f"{nonzeros:,}", str(thinner), f"{spread:.0e}"]
            told += [f"{seconds[method]:.3f}" for method in ("lp", "interior-point")]
            rows.append([*told, chosen, f"{beside:.2f}"])
            console.print(rows[-1])
    show(
        "Which method wins",
        ["", "entries", "thinner", "weights", "lp", "interior point", "auto", "× the faster"],
        rows,
    )
    console.print(f"auto is at most {worst:.2f} times as slow as the faster method")


def _least(kind: str, size: int, method: str, most: float) -> float:
    """Return CPU seconds of a method, the least of three runs where they are short; ∞ where it takes too long."""
    if not np.isfinite(most) and size < 200:
        fairlp.allocate(shaped("log-normal", 10), "drfh", method=method)  # imports
        return min(ours(kind, size, method)[0] for _ in range(3))
    found = in_a_process(ours, most + 20 if np.isfinite(most) else 600.0, kind, size, method)
    return found[0] if found else np.inf


def seeds_of(text: str) -> range:
    """Return the seeds that are asked for: 9 of them from 0 on, or 43-50."""
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--peers", default="highs-ipm,highs-hipo")
    parser.add_argument("--only", default=",".join(SHAPES))
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--seeds", default="", help="how many (9), or which (43-50)")
    parser.add_argument("--rounds", action="store_true")
    parser.add_argument("--sizes", default="20,40,70,100,150")
    chosen = parser.parse_args()
    kinds = chosen.only.split(",")
    if unknown := [kind for kind in kinds if kind not in SHAPES]:
        sys.exit(f"no shape {unknown[0]!r}; there are {', '.join(SHAPES)}")
    if chosen.rounds:
        for size in (300, 500):
            seeds_table(["windows", "racks"], size, chosen.limit, seeds_of(chosen.seeds or "43-45"))
    elif chosen.seeds:
        seeds_table(kinds, chosen.size, chosen.limit, seeds_of(chosen.seeds))
    elif chosen.grid:
        grid(kinds, [int(size) for size in chosen.sizes.split(",")])
    else:
        table(kinds, chosen.size, chosen.limit, [peer for peer in chosen.peers.split(",") if peer])


if __name__ == "__main__":
    main()
