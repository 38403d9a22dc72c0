"""A sweep over a parameter against building and solving a model afresh for each value.

    python benchmarks/sweep.py [--values 1000] [--users 40] [--servers 25]

Three parameters of one DRFH-like model: a number on the right-hand side of some rows, the
capacities, and the demands (coefficients of every column). Printed: seconds of the sweep, of
rebuilding and solving each time, their ratio, and the largest relative difference of the
objectives.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

from fairlp import Index, Model


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
    print("parameter   sweep s   rebuild s   ratio   difference")
    for name, (values, rebuild) in series.items():
        begin = perf_counter()
        table = model.sweep(name, values)
        swept = perf_counter()
        fresh = np.array([rebuild(one).solve().objective for one in values])
        rebuilt = perf_counter()
        difference = float(abs(table["objective"].to_numpy() / fresh - 1).max())
        ratio = (rebuilt - swept) / (swept - begin)
        print(
            f"{name:<9} {swept - begin:>9.2f} {rebuilt - swept:>11.2f} {ratio:>7.1f}   "
            f"{difference:.1e}"
        )


if __name__ == "__main__":
    main()
