"""What docs/results.md counts: trees of queues that break a promise, lies that pay, totals that rise.

    python benchmarks/counts.py [trees] [lies] [totals] [--trees 1000] [--liars 500] [--draws 1200000] [--seed 0]

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

PARTS = ("trees", "lies", "totals")
RULES = ("h-drf", "h-drf-counted")
PROMISES = ("hierarchical share guarantee", "queue share guarantee")
USERS = 4
RESOURCES = 3
#: Lies about demands on each tree, by the audits' search.
LIES = 60
#: Lies about task limits for each user who has one.
LIMITS = 10
ALPHAS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 35.0, 60.0)
#: Halvings of a ratio of prices, and the largest logarithm of one, for each unit of α.
HALVINGS = 60
MOST_LOG = 40.0


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


def totals(demands: np.ndarray, alpha: float) -> np.ndarray:
    """Return the total share of alpha-fairness on one server of two resources, for many instances.

    ``demands`` (M, N, 2) are parts of capacity, the larger of each user 1. At prices (q, 1 − q) a
    share is in proportion to the price of a unit to the power −1/α. Halving finds the q at which
    both resources are used alike, or the end at which only one is.
    """
    # Halve the logarithm of q/(1 − q): prices are far apart where α is large.
    low = np.full(len(demands), -MOST_LOG * max(1.0, alpha))
    high = -low
    with np.errstate(divide="ignore"):
        logarithms = np.log(demands)

    def shares(ratio: np.ndarray) -> np.ndarray:
        first = -np.logaddexp(0, -ratio)[:, None]
        second = -np.logaddexp(0, ratio)[:, None]
        cost = np.logaddexp(logarithms[:, :, 0] + first, logarithms[:, :, 1] + second)
        return np.exp(-cost / alpha)

    for _ in range(HALVINGS):
        middle = (low + high) / 2
        used = np.einsum("mn,mnr->mr", shares(middle), demands)
        more_of_first = used[:, 0] > used[:, 1]
        low = np.where(more_of_first, middle, low)
        high = np.where(more_of_first, high, middle)
    relative = shares((low + high) / 2)
    used = np.einsum("mn,mnr->mr", relative, demands)
    return relative.sum(axis=1) / used.max(axis=1)


def count_totals(count: int, seed: int) -> None:
    """Count draws of three users whose total rises from one α to the next."""
    rng = np.random.default_rng(seed)
    rises = 0
    largest = 0.0
    left = count
    while left:
        size = min(left, 50_000)
        left -= size
        other = rng.random((size, 3)) ** rng.choice([1, 4], (size, 1))
        other[rng.random((size, 3)) < 0.1] = 0
        demands = np.stack([np.ones((size, 3)), other], axis=2)
        swapped = rng.random((size, 3)) < 0.5
        demands[swapped] = demands[swapped][:, ::-1]
        before = totals(demands, ALPHAS[0])
        for alpha in ALPHAS[1:]:
            after = totals(demands, alpha)
            change = after / before - 1
            rises += int((change > fairlp.tolerances.AGREEMENT).sum())
            largest = max(largest, float(change.max()))
            before = after
    known = np.array([[[0, 1], [0, 1], [1, 0], [1, 0.5]]])
    control = [float(totals(known, alpha)[0]) for alpha in (5.0, 60.0)]
    rows = [
        ["three users", f"{count:,}", f"{rises:,}", f"{largest:.1e}"],
        ["control: four users, α = 5 and 60", "1", f"{int(control[1] > control[0])}", f"{control}"],
    ]
    show(
        "Total shares that rise with α, one server, two resources, equal weights",
        ["users", "instances", "rise", "largest change of the total"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--liars", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1_200_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if "trees" in given.parts:
        count_trees(given.trees, given.seed)
    if "lies" in given.parts:
        count_lies(given.liars, given.seed)
    if "totals" in given.parts:
        count_totals(given.draws, given.seed)
    console.print()


if __name__ == "__main__":
    main()
