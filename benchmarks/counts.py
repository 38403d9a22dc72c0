"""What docs/results.md counts: trees of queues that break a promise, and lies that pay.

    python benchmarks/counts.py [trees] [lies] [--trees 1000] [--liars 500] [--seed 0]

Every number beside "benchmarks/counts.py" in docs/results.md is printed here, with the seed that is
the default. A few minutes in all.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from measure import console, show

import fairlp
from fairlp import Instance, allocate, audit
from fairlp.auditing.search import random_instance
from fairlp.mechanisms.table import TABLE

PARTS = ("trees", "lies")
RULES = ("h-drf", "h-drf-counted")
PROMISES = ("hierarchical share guarantee", "queue share guarantee")
USERS = 4
RESOURCES = 3
#: Lies about demands on each tree, by the audits' search.
LIES = 60
#: Lies about task limits for each user who has one.
LIMITS = 10


def trees(
    rng: np.random.Generator, servers: int, wanted: Callable[[Instance], bool]
) -> Iterator[Instance]:
    """Draw trees as the search for counterexamples does."""
    row = TABLE["h-drf"]
    while True:
        instance = random_instance(rng, row, PROMISES[0], USERS, servers, RESOURCES)
        if instance.queue is not None and wanted(instance):
            yield instance


def is_plain(instance: Instance) -> bool:
    """Whether no queue has a guarantee or a cap."""
    return instance.queues is None or not instance.queues.has_limits


def has_limits(instance: Instance) -> bool:
    return bool(np.isfinite(instance.task_limits).any())


def fits(instance: Instance) -> bool:
    """Whether the guarantees of a tree fit on the server."""
    try:
        allocate(instance, RULES[0])
    except fairlp.errors.FairlpError:
        return False
    return True


def count_trees(count: int, seed: int) -> None:
    """Count trees on which a user, or a queue, has less than its weights promise."""
    kinds: dict[str, tuple[int, Callable[[Instance], bool]]] = {
        "one server, task limits": (1, lambda one: is_plain(one) and has_limits(one)),
        "one server, none": (1, lambda one: is_plain(one) and not has_limits(one)),
        "two or three servers": (3, lambda one: is_plain(one) and len(one.servers) > 1),
        "one server, guarantees or caps": (1, lambda one: not is_plain(one) and fits(one)),
    }
    rows = []
    for kind, (servers, wanted) in kinds.items():
        drawn = trees(np.random.default_rng(seed), servers, wanted)
        instances = [next(drawn) for _ in range(count)]
        for rule in RULES:
            verdicts = [audit(one, allocate(one, rule), list(PROMISES)).holds for one in instances]
            cells = []
            for promise in PROMISES:
                checked = [holds[promise] for holds in verdicts if holds[promise] is not None]
                cells.append(f"{sum(holds is False for holds in checked):,} of {len(checked):,}")
            rows.append([kind, rule, *cells])
    show("Trees that break a share guarantee", ["trees", "rule", "of a user", "of a queue"], rows)


def pays(instance: Instance, rule: str, rng: np.random.Generator) -> bool:
    """Whether a false task limit gives a user more of the tasks that it has."""
    truth = instance.task_limits
    honest = allocate(instance, rule).totals.to_numpy()
    for user in np.flatnonzero(np.isfinite(truth)):
        for factor in rng.uniform(0, 3, LIMITS):
            claimed = truth.copy()
            claimed[user] *= factor
            got = allocate(instance.replace(task_limits=claimed), rule).totals.iloc[user]
            if min(got, truth[user]) > honest[user] * (1 + fairlp.tolerances.AUDIT):
                return True
    return False


def crowded(rng: np.random.Generator, limited: bool) -> Instance:
    """Draw four to six users who need 0, 1 or 2 of three resources, of which there are 2 each."""
    users = int(rng.integers(4, 7))
    demands = rng.integers(0, 3, (users, 3))
    demands[~demands.any(axis=1), 0] = 1
    queue = rng.choice(["", "q", "q", "p"], users).tolist()
    limits = np.where(rng.random(users) < 0.5, np.round(rng.uniform(0.1, 1, users), 1), np.inf)
    limits[0] = np.round(rng.uniform(0.1, 1), 1)
    return Instance.from_arrays(
        demands, [[2, 2, 2]], queue=queue, task_limits=limits if limited else None
    )


def count_lies(count: int, seed: int) -> None:
    """Count trees on which a lie about demands, or about a task limit, pays."""
    rows = []
    for rule, limited in (("h-drf", False), ("h-drf-counted", True)):
        rng = np.random.default_rng(seed)
        instances = [crowded(rng, limited) for _ in range(count)]
        verdicts = [
            audit(one, allocate(one, rule), "strategy-proof", tries=LIES).holds.iloc[0]
            for one in instances
        ]
        broken = sum(holds is False for holds in verdicts)
        kind = "task limits" if limited else "no task limits"
        rows.append([rule, kind, "demands", f"{broken} of {count}"])
        if limited:
            rng = np.random.default_rng(seed + 1)
            broken = sum(pays(one, rule, rng) for one in instances)
            rows.append([rule, kind, "task limits", f"{broken} of {count}"])
    show("Trees of one server on which a lie pays", ["rule", "trees", "lies about", "pays"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--liars", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if "trees" in given.parts:
        count_trees(given.trees, given.seed)
    if "lies" in given.parts:
        count_lies(given.liars, given.seed)
    console.print()


if __name__ == "__main__":
    main()
