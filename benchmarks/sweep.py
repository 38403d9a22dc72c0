"""A sweep over a parameter against building and solving a model afresh for each value.

    python benchmarks/sweep.py [--values 1000] [--users 40] [--servers 25]

Three parameters of one DRFH-like model: a number on the right-hand side of some rows, the
capacities, and the demands (coefficients of every column). Printed: CPU seconds of the sweep, of
HiGHS by hand, whose rows or coefficients are changed before each run and of which only the
objective is read, and of rebuilding and solving each time; ratios to the sweep; and the largest
relative difference of the objectives. The sweep reads and proves each answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time

import numpy as np

from fairlp import Index, Model

#: Seconds of a sweep as a multiple of HiGHS by hand that we aim at.
AIM = 1.3


def build(users: int, servers: int, h: float, capacities: np.ndarray, demands: np.ndarray) -> Model:
    """The largest level that all users can have, when nobody runs more than h tasks on one server."""
    n, i, r = (
        Index("n", range(users)),
        Index("i", range(servers)),
        Index("r", ["cpu", "memory", "gpu"]),
    )
    model = Model("sweep", indices=(n, i, r))
    cap, d, c = (
        model.parameter("h", (), h),
        model.parameter("d", (n, r), demands),
        model.parameter("c", (i, r), capacities),
    )
    phi = model.parameter("phi", n, np.linspace(1, 2, users))
    g, t = model.variable("g", n, i), model.variable("t")
    model.constraint("capacity", (d * g).sum(n) <= c)
    model.constraint("fairness", g.sum(i) >= phi * t)
    model.constraint("spread", g <= cap)
    model.maximize(t)
    return model


def by_hand(model: Model, name: str, factors: np.ndarray) -> np.ndarray:
    """Return the objectives by HiGHS's simplex from the last basis, without fairlp in the loop.

    The factors multiply what the parameter stands for: right-hand sides, or coefficients of rows.
    """
    program = model.compile()
    highs = model.to_highs(names=False)
    highs.setOptionValue("solver", "simplex")
    rows = program.row_block({"h": "spread", "c": "capacity", "d": "capacity"}[name]).slice
    positions = np.arange(rows.start, rows.stop, dtype=np.int32)
    low, high = program.row_lower[rows], program.row_upper[rows]
    entries = program.A.tocoo()
    inside = (entries.row >= rows.start) & (entries.row < rows.stop)
    places = [array[inside].tolist() for array in (entries.row, entries.col)]
    objectives = []
    for factor in factors.tolist():
        if name == "d":
            values = (entries.data[inside] * factor).tolist()
            for row, column, value in zip(*places, values, strict=True):
                highs.changeCoeff(row, column, value)
        else:
            highs.changeRowsBounds(len(positions), positions, low, high * factor)
        highs.run()
        objectives.append(highs.getObjectiveValue())
    return np.array(objectives)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--users", type=int, default=40)
    parser.add_argument("--servers", type=int, default=25)
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    capacities, demands = (
        rng.uniform(5, 20, (asked.servers, 3)),
        rng.uniform(0.2, 3, (asked.users, 3)),
    )
    grid = np.linspace(0.5, 2.0, asked.values)
    series: dict[str, tuple[list, Callable[[object], Model]]] = {
        "h": (list(grid), lambda one: build(asked.users, asked.servers, one, capacities, demands)),
        "c": (
            [capacities * s for s in grid],
            lambda one: build(asked.users, asked.servers, 1.0, one, demands),
        ),
        "d": (
            [demands * s for s in grid],
            lambda one: build(asked.users, asked.servers, 1.0, capacities, one),
        ),
    }
    model = build(asked.users, asked.servers, 1.0, capacities, demands)
    print(f"{model.compile()!r}, {asked.values} values")
    print(f"aim: {AIM} times as long as by hand")
    print("parameter   sweep s   by hand s   times   rebuild s   times   difference")
    for name, (values, rebuild) in series.items():
        begin = process_time()
        table = model.sweep(name, values)
        swept = process_time()
        hand = by_hand(model, name, grid)
        solved = process_time()
        fresh = np.array([rebuild(one).solve().objective for one in values])
        rebuilt = process_time()
        ours = table["objective"].to_numpy()
        difference = float(max(abs(ours / fresh - 1).max(), abs(ours / hand - 1).max()))
        seconds = swept - begin
        print(
            f"{name:<9} {seconds:>9.2f} {solved - swept:>11.2f} {seconds / (solved - swept):>7.2f} "
            f"{rebuilt - solved:>11.2f} {(rebuilt - solved) / seconds:>7.1f}   {difference:.1e}"
        )


if __name__ == "__main__":
    main()
