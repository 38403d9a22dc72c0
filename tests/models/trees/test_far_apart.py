"""Weights, demands, limits and capacities of any size along a tree: an answer or words, and an end."""

from __future__ import annotations

import random
import signal
from contextlib import contextmanager

import numpy as np
import pytest

import fairlp
from fairlp.errors import FairlpError, InstanceError

MECHANISMS = (
    "drfh",
    "h-drf", "h-drf-collapsed", "h-drf-counted", "h-drf-counted-whole", "h-drf-discrete", "h-drf-naive", "kueue",
)  # fmt: skip
SIZES = (1.7e308, 1e308, 1e300, 1e150, 1e16, 1e9, 1e-9, 1e-16, 1e-150, 1e-300, 1e-308, 5e-324)
TREES = (["a", "b"], ["a/x", "a/y", "b"], ["a", "a/x"], ["a/x/p", "a/x/q", "b/y"], ["a"])


@contextmanager
def seconds(limit):
    """End what takes longer, which pytest by itself would wait for for ever."""

    def late(*signal_and_frame):
        raise TimeoutError(f"not at an end after {limit} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pair(weights, **options):
    return fairlp.Instance.from_arrays(
        [[1.0, 2.0], [2.0, 1.0]], [[10.0, 10.0]], weights=weights, queue=["a", "b"], **options
    )


@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
@pytest.mark.parametrize("method", ["rounds", "lp"])
def test_a_weight_that_floats_cannot_hold_is_named_by_its_queue(mechanism, method):
    with seconds(20), pytest.raises(InstanceError, match=r"beyond floats.*queue 'a'"):
        fairlp.allocate(pair([1e308, 1]), mechanism, method=method)


@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_a_user_alone_in_its_queue_may_have_any_weight(mechanism, weight):
    expected = fairlp.allocate(pair([1, 1]), mechanism).totals
    with seconds(20):
        totals = fairlp.allocate(pair([weight, 1]), mechanism).totals
    np.testing.assert_allclose(totals, expected, rtol=1e-9)


def drawn(seed):
    """An instance along a tree in which numbers of one kind, or of all, are of any size."""
    rng = random.Random(seed)
    extreme = rng.choice(["weight", "queue", "demand", "capacity", "limit", "nominal", "all"])

    def number(kind):
        is_extreme = kind == extreme or (extreme == "all" and rng.random() < 0.4)
        return (
            rng.choice(SIZES) if is_extreme and rng.random() < 0.6 else rng.choice((0.5, 1, 2, 3))
        )

    n, r, k = rng.randint(1, 4), rng.randint(1, 3), rng.choice((1, 1, 2))
    paths = rng.choice(TREES)
    queue = [rng.choice(paths) for _ in range(n)]
    names = sorted({"/".join(path.split("/")[: j + 1]) for path in queue for j in range(3)})
    queues = {name: {"weight": number("queue")} for name in names}
    for name in names:
        if rng.random() < 0.3:
            queues[name]["nominal"] = {"r0": number("nominal")}
        elif rng.random() < 0.2:
            queues[name]["cap"] = {"r0": number("nominal")}
    return {
        "demands": [[number("demand") for _ in range(r)] for _ in range(n)],
        "capacities": [[10 * number("capacity") for _ in range(r)] for _ in range(k)],
        "resources": [f"r{j}" for j in range(r)],
        "weights": [number("weight") for _ in range(n)],
        "task_limits": [number("limit") if rng.random() < 0.4 else np.inf for _ in range(n)],
        "queue": queue,
        "queues": queues,
    }


def test_whole_tasks_are_counted_where_rows_are_hundreds_of_powers_of_ten_apart():
    """By one row 3e300 tasks fit, by the other 3,333,333,333."""
    instance = fairlp.Instance.from_arrays(
        [[3, 3], [2, 3]], [[1e301, 1e10]], task_limits=[np.inf, 1], queue=["a", "b"]
    )
    with seconds(20):
        totals = fairlp.allocate(instance, "h-drf-discrete").totals
    assert totals.tolist() == [(10**10 - 3) // 3, 1]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_numbers_of_any_size_along_a_tree_come_to_an_end(mechanism):
    answers = 0
    for seed in range(120):
        with seconds(20):
            try:
                instance = fairlp.Instance.from_arrays(**drawn(seed))
                totals = fairlp.allocate(instance, mechanism).totals
            except FairlpError:
                continue
        assert np.isfinite(totals).all()
        answers += 1
    assert answers > 0
