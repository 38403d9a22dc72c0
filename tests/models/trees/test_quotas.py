"""Quotas along a tree: by hand, and against a tournament of small steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import fairlp
from cohort_instances import (
    cohorts_and_strays,
    instance_of,
    lending_cohorts,
    lending_cohorts_and_strays,
    random_cohorts,
)
from fairlp.models.instances.quotas import Lanes
from fairlp.models.trees.quotas import QuotaPath, usage_of
from kueue_oracle import Cohorts
from profiles import by_day, many


def test_quotas_are_lent_kept_and_shared_as_by_hand():
    """A of 20 keeps 14 and lends 6 to B of 10, which may borrow 4; the root has 10 + 6 to lend."""
    queues = {
        "A": {"nominal": {"cpu": 20, "gpu": 2}, "lending": {"cpu": 6}},
        "B": {"nominal": {"cpu": 10, "gpu": 2}, "borrowing": {"cpu": 4}, "weight": 2},
    }
    instance = fairlp.Instance.from_arrays(
        [[1, 0], [1, 0.25]], [[99, 9]], queue=["A", "B"], queues=queues, resources=["cpu", "gpu"]
    )
    tree, used = usage_of(instance, np.array([[17.0], [12.0]]))
    assert tree.owned.tolist() == [[16, 4], [20, 2], [10, 2], [0, 0], [0, 0]]
    assert tree.reserved[:, 0].tolist() == [0, 14, 0, 0, 0] and tree.limits[:3, 0].tolist() == [
        16,
        np.inf,
        14,
    ]
    assert tree.lent[:, 0].tolist() == [16, 16, 16, 30, 14]
    assert used.tolist() == [[3 + 12, 3], [17, 0], [12, 3], [17, 0], [12, 3]]
    # B is 2 cores and 1 GPU beyond its own, of 16 and 4 that the root has, at a weight of 2
    assert tree.shares(used)[:3].tolist() == pytest.approx([0, 0, (1 / 4) / 2])


@pytest.mark.parametrize("drawn", [random_cohorts, cohorts_and_strays, lending_cohorts_and_strays])
@pytest.mark.parametrize("seed", by_day(range(many(60)), 4))
def test_rounds_of_programs_are_a_tournament_of_small_steps(seed, drawn):
    tree, users, pool = drawn(seed)
    outcome = fairlp.allocate(instance_of(tree, users, pool), "kueue")
    step = 0.01
    expected = Cohorts(tree, users, pool).fair(step)
    shares = outcome.totals.to_numpy() * [max(demand) for demand, _ in users.values()]
    steps = np.array([expected[path] * max(users[path][0]) for path in users])
    assert shares == pytest.approx(steps, abs=8 * step)


@pytest.mark.parametrize("seed", range(many(200)))
def test_what_is_lent_goes_as_in_a_tournament_of_small_steps(seed):
    """Small numbers, so that there are many: doubled or unlimited borrowing shows in every eighth of them."""
    tree, users, pool = lending_cohorts(seed)
    answer = fairlp.allocate(instance_of(tree, users, pool, below=seed % 3 == 0), "kueue")
    step = 0.02
    expected = Cohorts(tree, users, pool).fair(step, steps=100)
    largest = np.array([max(demand) for demand, _ in users.values()])
    amounts = answer.totals.to_numpy() * largest
    assert amounts == pytest.approx(np.array([*expected.values()]) * largest, abs=8 * step)


def two_flavors(**second):
    """Spot and plain cores; A has a quota of both, B (its cohort lends) of spot only."""
    queues = {
        "A": {"nominal": {"cpu@pool == 'spot'": 2, "cpu@pool == 'plain'": 4}},
        "B": {"nominal": {"cpu@pool == 'spot'": 4}} | second,
    }
    return fairlp.Instance.from_arrays(
        [[1], [2]],
        [[6], [4]],
        servers=["s", "p"],
        resources=["cpu"],
        server_attributes=pd.DataFrame({"pool": ["spot", "plain"]}, index=["s", "p"]),
        queue=["A", "B"],
        queues=queues,
    )


def test_use_counts_in_the_flavor_of_the_server():
    tree, used = usage_of(two_flavors(), np.array([[3.0, 4.0], [1.5, 0.0]]))
    by_path = dict(zip(tree.instance.tree.paths, used.tolist(), strict=False))
    assert by_path == {"": [6, 4], "A": [3, 4], "B": [3, 0]}
    # A is one spot core beyond its own, of ten cores that the root has to lend
    assert tree.shares(used)[:3].tolist() == pytest.approx([0, 1 / 10, 0])
    assert tree.lent.ravel().tolist() == [10] * 3 + [6 + 4] * 2


@pytest.mark.parametrize(("nominal", "expected"), [((1, 3), (1.5, 4.5)), ((0, 0), (3, 3))])
def test_tasks_that_count_in_either_of_two_flavors_are_divided_by_nominal_quotas(nominal, expected):
    """Both flavors are of all servers: 6 tasks go by 1 and 3, and by halves where both are 0."""
    conditions = ("cpu@cpu >= 0", "cpu@cpu >= 1")
    instance = fairlp.Instance.from_arrays(
        [[1]],
        [[8]],
        resources=["cpu"],
        queue=["A"],
        queues={"A": {"nominal": dict(zip(conditions, nominal, strict=True))}},
    )
    _, used = usage_of(instance, np.array([[6.0]]))
    assert used[1].tolist() == pytest.approx(expected)


def test_a_limit_of_borrowing_of_a_cohort_holds_for_all_queues_below_it():
    """X of 2 and 3 cores may borrow 1 of Y's 6: its queues x/a and x/b have 6 together, ½ beyond each quota."""
    queues = {
        "x": {"nominal": {"cpu": 0}, "borrowing": {"cpu": 1}},
        "x/a": {"nominal": {"cpu": 2}},
        "x/b": {"nominal": {"cpu": 3}},
        "y": {"nominal": {"cpu": 6}},
    }
    instance = fairlp.Instance.from_arrays(
        [[1], [1], [1]],
        [[11]],
        resources=["cpu"],
        queue=["x/a", "x/b", "y"],
        queues=queues,
        task_limits=[9, 9, 1],
    )
    allocation = fairlp.allocate(instance, "kueue")
    assert allocation.totals.tolist() == pytest.approx([2.5, 3.5, 1])
    tree, used = usage_of(instance, allocation.tasks_array)
    assert tree.limits[list(instance.tree.paths).index("x")].tolist() == [6]
    assert used.ravel()[:5].tolist() == pytest.approx([7, 6, 2.5, 3.5, 1])


def test_queues_of_the_least_weight_borrow_after_all_others_and_use_their_own_with_them():
    """late has its 2 from the start; of the 6 that others lend it has those that b, of a limit of 5, does not take."""
    queues = {
        "late": {"weight": 0.0005, "nominal": {"cpu": 2}},
        "b": {"nominal": {"cpu": 1}},
        "idle": {"nominal": {"cpu": 6}},
    }
    instance = fairlp.Instance.from_arrays(
        [[1], [1], [1]],
        [[9]],
        resources=["cpu"],
        queue=["late", "b", "idle"],
        queues=queues,
        task_limits=[9, 5, 1],
    )
    assert fairlp.allocate(instance, "kueue").totals.tolist() == pytest.approx([3, 5, 1])
    unlimited = instance.replace(task_limits=[9, 9, 1])
    assert fairlp.allocate(unlimited, "kueue").totals.tolist() == pytest.approx([2, 6, 1])


def segment_of(demands, queues, tasks):
    """Return the segment of users of one resource, a queue each, that begins with their tasks."""
    users = len(demands)
    instance = fairlp.Instance.from_arrays(
        np.array(demands)[:, None],
        [[20]],
        resources=["cpu"],
        queue=list(queues)[:users],
        queues=queues,
        users=["ann", "bob"][:users],
    )
    first = QuotaPath.first(Lanes.of(instance), instance)
    return dataclasses.replace(first, tasks=np.array(tasks)).after(0.0, np.zeros(users, dtype=bool))


def test_a_queue_that_borrows_less_rises_alone_until_it_borrows_as_much():
    """Each has 4 of its own, and idle lends 32: A has 3 beyond its own, B 6, so A takes 3 alone."""
    queues = {name: {"nominal": {"cpu": n}} for name, n in {"A": 4, "B": 4, "idle": 32}.items()}
    segment = segment_of([1.0, 1.0], queues, [7.0, 10.0])
    assert segment.rate.tolist() == [40, 0] and segment.level(0) == pytest.approx(3 / 40)
    assert segment.end == pytest.approx(3 / 40)
    assert segment.level(segment.end) == pytest.approx(6 / 40)
    segment_of_both = segment.after(segment.end, np.zeros(2, dtype=bool))
    assert segment_of_both.tasks.tolist() == [10, 10] and segment_of_both.rate.tolist() == [40, 40]


def test_queues_within_their_quotas_rise_by_parts_of_the_pool_over_their_weights():
    """A task of ann takes 2 of 20 cores, one of bob 1; B, of twice the weight, ends its 3 first."""
    queues = {"A": {"nominal": {"cpu": 17}}, "B": {"nominal": {"cpu": 3}, "weight": 2}}
    segment = segment_of([2.0, 1.0], queues, [0.0, 0.0])
    assert segment.rate.tolist() == pytest.approx([10, 40])
    assert segment.end == pytest.approx(3 / 40)
    behind = segment_of([2.0, 1.0], queues, [1.0, 1.0])  # 2/20 over 1, and 1/20 over 2
    assert behind.rate.tolist() == pytest.approx([0, 40])
