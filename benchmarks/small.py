"""Milliseconds of one allocation of a small instance, beside the same program by hand.

python benchmarks/small.py [MECHANISM ...] [--fresh]

By hand is the first program of the max-min family: in NumPy on one server, where the level is a
minimum of quotients, and else in highspy, from arrays. It has no later rounds, no labels and no
certificate. CPU time, the best of several. With ``--fresh`` each allocation is of an instance made
anew, as in a search. Then four cases from arrays to a certified answer, beside what we aim at.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import highspy
import numpy as np
from measure import machine, show

import fairlp
from fairlp.errors import FairlpError
from fairlp.mechanisms.table import TABLE

SIZES = ((2, 1), (20, 1), (5, 3), (20, 10))
MOST_RUNS = 50
#: Seconds for one cell of the table.
BUDGET = 0.4
#: Max-min mechanisms of divisible tasks, whose first program differs in Γ only.
BY_HAND = ("drf", "drfh", "asset", "cdrf", "tsf", "h-drf")


def numbers(users: int, servers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random demands and capacities of three resources."""
    rng = np.random.default_rng(0)
    return rng.uniform(1, 10, (users, 3)), rng.uniform(50, 100, (servers, 3))


def milliseconds(function: Callable[[], Any]) -> float:
    """Return the least CPU time of several runs."""
    function()
    seconds: list[float] = []
    while len(seconds) < MOST_RUNS and sum(seconds) < BUDGET:
        start = process_time()
        function()
        seconds.append(process_time() - start)
    return 1e3 * min(seconds)


def level_of_pool(demands: np.ndarray, capacity: np.ndarray, gamma: np.ndarray) -> float:
    """Return the level at which the first resource of one server is used up."""
    return float((capacity / (gamma @ demands)).min())


def level_of_servers(demands: np.ndarray, capacities: np.ndarray, gamma: np.ndarray) -> float:
    """Return the largest t with Σ_i x[n,i] ≥ Γ[n]·t within capacities, by HiGHS."""
    n_users, n_resources = demands.shape
    n_servers = len(capacities)
    n_columns = n_users * n_servers + 1
    rows_of_capacity = n_servers * n_resources
    n_rows = rows_of_capacity + n_users

    # Column x[n,i] has the demands of n in the rows of i, and 1 in the row of n; t comes last.
    user, server = np.divmod(np.arange(n_users * n_servers), n_servers)
    capacity_rows = server[:, None] * n_resources + np.arange(n_resources)
    rows = np.column_stack([capacity_rows, rows_of_capacity + user]).ravel()
    values = np.column_stack([demands[user], np.ones(len(user))]).ravel()
    starts = np.append(
        np.arange(n_columns) * (n_resources + 1), n_users * n_servers * (n_resources + 1) + n_users
    )
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(
        n_columns,
        n_rows,
        len(values) + n_users,
        1,
        -1,
        0.0,
        np.append(np.zeros(n_columns - 1), 1.0),
        np.zeros(n_columns),
        np.full(n_columns, np.inf),
        np.append(np.full(rows_of_capacity, -np.inf), np.zeros(n_users)),
        np.append(capacities.ravel(), np.full(n_users, np.inf)),
        starts.astype(np.int32),
        np.append(rows, rows_of_capacity + np.arange(n_users)).astype(np.int32),
        np.append(values, -gamma),
        np.zeros(n_columns, dtype=np.int32),
    )
    highs.run()
    return float(highs.getSolution().col_value[-1])


def by_hand(name: str, demands: np.ndarray, capacities: np.ndarray) -> float | None:
    """Return the milliseconds of the first program by hand; None where there is none here."""
    if name not in BY_HAND:
        return None
    instance = fairlp.Instance.from_arrays(demands, capacities)
    gamma = TABLE[name].tasks_per_level(instance)
    level = float(fairlp.allocate(instance, name).levels.min())
    if len(capacities) == 1:
        compute = level_of_pool
        numbers_of_servers = capacities[0]
    else:
        compute = level_of_servers
        numbers_of_servers = capacities
    assert np.isclose(compute(demands, numbers_of_servers, gamma), level), name
    return milliseconds(lambda: compute(demands, numbers_of_servers, gamma))


def cell(name: str, demands: np.ndarray, capacities: np.ndarray, fresh: bool) -> str:
    """Return milliseconds, and the ratio to the program by hand."""
    instance = fairlp.Instance.from_arrays(demands, capacities)
    if TABLE[name].undefined(instance):
        return ""

    def allocate() -> Any:
        given = fairlp.Instance.from_arrays(demands, capacities) if fresh else instance
        return fairlp.allocate(given, name)

    try:
        ours = milliseconds(allocate)
    except FairlpError as error:
        return type(error).__name__
    theirs = by_hand(name, demands, capacities)
    return f"{ours:.2f}" if theirs is None else f"{ours:.2f} ({ours / theirs:.1f} × {theirs:.3f})"


def from_arrays(name: str, users: int, servers: int, queues: int = 0) -> Callable[[], Any]:
    """Return the function that makes an instance from arrays and allocates it."""
    demands, capacities = numbers(users, servers)
    queue = [f"queue{user % queues}" for user in range(users)] if queues else None
    return lambda: fairlp.allocate(
        fairlp.Instance.from_arrays(demands, capacities, queue=queue), name
    )


def show_aims() -> None:
    """Print the milliseconds from arrays to a certified answer, and what we aim at."""
    cases = (
        ("drf, 2 × 1", from_arrays("drf", 2, 1), 0.3),
        ("drfh, 5 × 3", from_arrays("drfh", 5, 3), 2.0),
        ("h-drf, 12 × 1 in 4 queues", from_arrays("h-drf", 12, 1, 4), 0.4),
        ("alpha-fair, 5 × 1", from_arrays("alpha-fair", 5, 1), 8.0),
    )
    rows = []
    for name, allocate, aim in cases:
        ours = milliseconds(allocate)
        rows.append([name, f"{ours:.2f}", f"{aim:.1f}", f"{ours / aim:.2f}"])
    show("ms from arrays to a certified answer", ["case", "ms", "aim", "ratio to the aim"], rows)


def main() -> None:
    """Print the table."""
    fresh = "--fresh" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--fresh"] or list(TABLE)
    warnings.simplefilter("ignore")
    instances = [numbers(*size) for size in SIZES]
    rows = []
    for name in names:
        cells = [cell(name, demands, capacities, fresh) for demands, capacities in instances]
        if any(cells):
            rows.append([name, *cells])
    columns = ["mechanism", *(f"{users} × {servers}" for users, servers in SIZES)]
    print(machine("fairlp", "highspy", "numpy"))
    show("ms an allocation (times the first program by hand, in ms)", columns, rows)
    show_aims()


if __name__ == "__main__":
    main()
