"""How seconds grow with users and with servers, of mechanisms beside their siblings.

    python benchmarks/growth.py [--limit 10] [--only drfh,tsf] [--methods] [--markdown FILE]

Users grow from 1 to 10,000 on few servers, and servers from 1 to 1,000 for few users, until an
allocation takes longer than the limit. CPU seconds of `fairlp.allocate` with its certificate, one
BLAS thread, each series in a process of its own. `--methods` measures each method that is not the
default, too. The benchmark fails where a mechanism takes more than 20 times as long as a sibling,
which answers the same kind of question on the same instance; less than 0.05 s counts as that. The
seconds of a kind of one mechanism are only printed.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import multiprocessing
import queue as queues
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import console, machine, show

import fairlp
from fairlp import Instance
from fairlp_research.library.numerics import shaped

#: Mechanisms that answer the same kind of question, and the shape of their instances.
KINDS = {
    "divisible, one server": ("pool", ("drf", "edrf", "asset")),
    "market, one server": ("pool", ("njc", "ceei", "alpha-fair")),
    "divisible, servers": ("servers", ("drfh", "c-drfh", "cdrf", "tsf", "naive-drf", "asset")),
    "by server, resources divided": ("servers", ("psdsf-rdm",)),
    "by server, time divided": ("servers", ("psdsf-tdm",)),
    "divisible, tree": ("tree", ("h-drf", "h-drf-counted", "h-drf-collapsed")),
    "whole, one server": ("whole", ("drf-discrete", "sequential-minmax", "pdrf")),
    "whole, tree": (
        "whole tree",
        ("h-drf-discrete", "h-drf-counted-whole", "h-drf-naive"),
    ),
    "whole, tree, task limits": (
        "limited whole tree",
        ("h-drf-discrete", "h-drf-counted-whole"),
    ),
    "whole, servers": ("whole servers", ("drfh-first-fit", "drfh-best-fit", "slots")),
    "arrivals": ("pool", ("dynamic-drf", "cautious-lp")),
    "quotas of queues, one server": ("quotas", ("kueue",)),
    "quotas of 100 queues in cohorts, one server": ("leaf quotas", ("kueue",)),
    "divisible, as many servers as users, each user on 20, zeros": ("sparse square", ("drfh",)),
    "jobs of rates by server": ("job servers", ("gavel",)),
    "slices for credits": ("slices", ("karma",)),
    "whole, one server, by integer programs": ("whole", ("drf-milp",)),
}
USERS = (1, 10, 100, 1_000, 10_000)
SERVERS = (1, 10, 100, 1_000)
#: Servers while users grow, and users while servers grow.
FEW_SERVERS = 10
FEW_USERS = 2
#: Times as long as a sibling that count as a cliff, and seconds that are as good as none.
CLIFF = 20.0
NO_TIME = 0.05
#: Tasks of each user that fit, where tasks are whole.
TASKS_EACH = 5
#: Leaf queues with quotas.
LEAF_QUEUES = 100
#: From fewer seconds on no exponent is told.
CLEAR = 0.02


@dataclass
class Series:
    """Seconds of one mechanism by size; ``error`` says why it ended before the limit."""

    kind: str
    shape: str
    mechanism: str
    method: str
    grows: str
    seconds: dict[int, float]
    error: str = ""

    @property
    def exponent(self) -> float:
        """The slope between the last two sizes, of logarithms; NaN where all is quick."""
        clear = [(size, spent) for size, spent in self.seconds.items() if CLEAR <= spent < np.inf]
        if len(clear) < 2:
            return np.nan
        (small, before), (large, after) = clear[-2:]
        return float(np.log(after / before) / np.log(large / small))


def leaf_quotas(users: int, servers: int, queues: int = LEAF_QUEUES) -> Instance:
    """Return users in leaf queues with quotas, ten of which stand in a cohort.

    Quotas come to about three quarters of the cluster. Half the queues limit what they borrow, and
    a third what they lend.
    """
    rng = np.random.default_rng(0)
    cohorts = max(2, queues // 10)
    demands = rng.lognormal(0, 1, (users, 3))
    capacities = rng.lognormal(3, 1, (servers, 3)) * users / servers / 10
    paths = [f"cohort{q % cohorts}/queue{q}" for q in range(queues)]
    of = rng.integers(0, queues, users)
    n_filled = min(queues, users)
    of[:n_filled] = np.arange(n_filled)
    instance = Instance.from_arrays(demands, capacities, queue=[paths[q] for q in of])
    pool = instance.pool
    parts = 0.8 * rng.dirichlet(np.ones(queues))

    def by_resource(amounts: np.ndarray) -> dict[str, float]:
        return dict(zip(instance.resources, amounts, strict=True))

    rows: dict[str, dict[str, Any]] = {}
    for path, part in zip(paths, parts, strict=True):
        nominal = part * pool * rng.uniform(0.5, 1.25, 3)
        rows[path] = {"weight": int(rng.integers(1, 4)), "nominal": by_resource(nominal)}
        if rng.random() < 1 / 2:
            rows[path]["borrowing"] = by_resource(nominal * rng.uniform(0.2, 2, 3))
        if rng.random() < 1 / 3:
            rows[path]["lending"] = by_resource(nominal * rng.uniform(0, 0.8, 3))
    for c in range(cohorts):
        nominal = 0.05 / cohorts * pool
        rows[f"cohort{c}"] = {"weight": int(rng.integers(1, 4)), "nominal": by_resource(nominal)}
    return instance.replace(queues=rows)


def draw(shape: str, users: int, servers: int) -> Instance:
    """Return a random instance of a shape."""
    if shape == "leaf quotas":
        return leaf_quotas(users, servers)
    if shape == "sparse square":
        return shaped("few-servers", users)
    rng = np.random.default_rng(0)
    if shape == "slices":
        slices_wanted = rng.integers(1, 2 * TASKS_EACH, users)
        return Instance.from_arrays(
            np.ones((users, 1)), [[float(TASKS_EACH * users)]], task_limits=slices_wanted
        )
    if shape == "job servers":
        return Instance.from_arrays(
            np.ones((users, 1)),
            np.full((servers, 1), max(users / servers / 2, 1.0)),
            rates=rng.lognormal(0, 1, (users, servers)),
        )
    if shape in ("pool", "servers", "tree", "quotas"):
        demands = rng.lognormal(0, 1, (users, 3))
        capacities = rng.lognormal(3, 1, (servers, 3))
    else:
        demands = rng.integers(1, 10, (users, 3)) / 10
        pool = np.ceil(demands.sum(axis=0) * TASKS_EACH)
        capacities = np.ceil(
            np.tile(pool / servers, (servers, 1)) + rng.integers(1, 4, servers)[:, None]
        )
    if "tree" not in shape and shape != "quotas":
        return Instance.from_arrays(demands, capacities)
    groups = max(2, int(np.sqrt(users)))
    names = [f"group{n % groups % 4}/team{n % groups}" for n in range(users)]
    if shape == "quotas":  # four fifths of the cluster, in parts of equal size
        instance = Instance.from_arrays(demands, capacities, queue=names)
        top_queues = [path for path in instance.tree.paths if path and "/" not in path]
        nominal = dict(zip(instance.resources, 0.8 * instance.pool / len(top_queues), strict=True))
        return instance.replace(queues={path: {"nominal": nominal} for path in top_queues})
    limits = None
    if "limited" in shape:  # half the users have all their tasks early
        limits = np.where(rng.random(users) < 0.5, rng.integers(1, TASKS_EACH, users), np.inf)
    return Instance.from_arrays(demands, capacities, queue=names, task_limits=limits)


def measure(
    results: Any, shape: str, mechanism: str, method: str, grows: str, sizes: tuple[int, ...]
) -> None:
    """Put the CPU seconds of each size into a queue, or an error."""
    warnings.simplefilter("ignore")
    few = FEW_SERVERS if "servers" in shape else 1
    fairlp.allocate(draw(shape, 3, few), mechanism)  # imports
    for size in sizes:
        instance = draw(shape, *((size, few) if grows == "users" else (FEW_USERS, size)))
        begin = time.process_time()
        try:
            fairlp.allocate(instance, mechanism, method=method)
        except fairlp.errors.FairlpError as error:
            results.put((size, str(error)))
            return
        results.put((size, time.process_time() - begin))


def series(kind: str, shape: str, mechanism: str, method: str, grows: str, limit: float) -> Series:
    """Return the seconds by size; the size at which the limit was reached has infinite ones."""
    sizes = USERS if grows == "users" else SERVERS
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    given = (results, shape, mechanism, method, grows, sizes)
    process = context.Process(target=measure, args=given)
    process.start()
    measured = Series(kind, shape, mechanism, method, grows, {})
    patience = 20.0  # imports, and other processes on the machine
    for size in sizes:
        try:
            _, spent = results.get(timeout=patience + 2 * limit)
        except queues.Empty:
            measured.seconds[size] = np.inf
            break
        if isinstance(spent, str):
            measured.error = spent
            break
        patience = 0.0
        measured.seconds[size] = spent if spent <= limit else np.inf
        if spent > limit:
            break
    process.terminate()
    process.join()
    return measured


def cliffs(all_series: list[Series], limit: float) -> list[str]:
    """Return a line for each default method that takes far longer than a sibling."""
    lines = []
    defaults = [measured for measured in all_series if measured.method == "auto"]
    for measured in defaults:
        siblings = [
            sibling
            for sibling in defaults
            if (sibling.kind, sibling.grows) == (measured.kind, measured.grows)
        ]
        for size, spent in measured.seconds.items():
            quickest, name = min(
                (sibling.seconds[size], sibling.mechanism)
                for sibling in siblings
                if size in sibling.seconds
            )
            ratio = min(spent, limit) / max(quickest, NO_TIME)
            if ratio > CLIFF:
                lines.append(
                    f"{measured.mechanism}, {size} {measured.grows}: {spent:.2f} s, more than "
                    f"{CLIFF:.0f} times {name} ({quickest:.2f} s)"
                )
    return lines


def row(measured: Series) -> list[str]:
    """Return a line of the table."""
    sizes = USERS if measured.grows == "users" else SERVERS
    spent = [measured.seconds.get(size) for size in sizes]
    texts = ["" if s is None else f"{s:.2f}" if s < np.inf else "> limit" for s in spent]
    texts += [""] * (len(USERS) - len(texts))
    exponent = "" if np.isnan(measured.exponent) else f"{measured.exponent:.1f}"
    method = "" if measured.method == "auto" else f" ({measured.method})"
    return [measured.mechanism + method, *texts, exponent]


def tables(all_series: list[Series]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, columns and rows of each kind and direction."""
    found = []
    for kind, (shape, _) in KINDS.items():
        for grows, sizes in (("users", USERS), ("servers", SERVERS)):
            rows = [row(m) for m in all_series if (m.kind, m.grows) == (kind, grows)]
            if not rows:
                continue
            few = f"{FEW_USERS} users" if grows == "servers" else "one server"
            if grows == "users" and "servers" in shape:
                few = f"{FEW_SERVERS} servers"
            if shape == "sparse square":
                few = "as many servers"
            columns = [grows, *(f"{size:,}" for size in sizes)]
            columns += [""] * (len(USERS) - len(sizes))
            found.append((f"{kind}; {few}", [*columns, "exponent"], rows))
    return found


def write(path: str, all_series: list[Series]) -> None:
    """Write the tables as Markdown."""
    lines = []
    for title, columns, rows in tables(all_series):
        lines += [f"**{title}**", "", "| " + " | ".join(columns) + " |"]
        lines += ["|" + " --- |" * len(columns), *("| " + " | ".join(r) + " |" for r in rows), ""]
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="CPU seconds of an allocation")
    parser.add_argument("--only", help="mechanisms, with commas between")
    parser.add_argument("--methods", action="store_true", help="each method, not only the default")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables as Markdown")
    arguments = parser.parse_args()
    only = set(arguments.only.split(",")) if arguments.only else None
    all_series = []
    for kind, (shape, mechanisms) in KINDS.items():
        for mechanism in mechanisms:
            if only is not None and mechanism not in only:
                continue
            methods = ["auto"]
            if arguments.methods:
                methods += fairlp.mechanisms().loc[mechanism, "methods"].split(", ")[1:]
            directions = ("users", "servers") if "servers" in shape else ("users",)
            for method in methods:
                for grows in directions:
                    measured = series(kind, shape, mechanism, method, grows, arguments.limit)
                    all_series.append(measured)
                    console.print(f"{kind}: {row(measured)} {measured.error[:80]}")
    for table in tables(all_series):
        show(*table)
    if arguments.markdown:
        write(arguments.markdown, all_series)
    console.print(machine("fairlp", "numpy", "highspy"))
    lines = cliffs(all_series, arguments.limit)
    for line in lines:
        console.print(f"[red]{line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
