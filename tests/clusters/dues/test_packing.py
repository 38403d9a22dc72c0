"""The program of whole numbers behind room and pre-emption, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.jobs import RunningJob, WaitingJob
from fairlp_clusters.dues.packing import Keeping, packed
from profiles import many


def everywhere(instance):
    return {n: np.full(len(instance.servers), 9) for n in range(len(instance.users))}


def fits(instance, free, jobs):
    """Whether one copy of each of these jobs has room together: all placements are tried."""
    tasks = [(n, k) for k, job in enumerate(jobs) for n, c in job.tasks.items() for _ in range(c)]
    for places in product(range(len(free)), repeat=len(tasks)):
        used = np.zeros(free.shape)
        on_node = set()
        for (n, k), i in zip(tasks, places, strict=True):
            used[i] += instance.demands[n]
            if jobs[k].one_a_node and (k, i) in on_node:
                used[i] = np.inf
            on_node.add((k, i))
        if (used <= free).all():
            return True
    return False


@pytest.mark.parametrize("seed", range(many(160)))
def test_so_many_copies_have_room_together_as_enumeration_finds(seed):
    rng = np.random.default_rng([162, seed])
    instance = Instance.from_arrays(rng.integers(1, 4, (2, 2)), rng.integers(2, 7, (2, 2)))
    free = instance.capacities.copy()
    jobs = []
    for k in range(2):
        tasks = {int(rng.integers(2)): int(rng.integers(1, 3))}
        jobs.append(
            WaitingJob(f"job {k}", tasks, int(rng.integers(1, 3)), bool(rng.random() < 0.4))
        )
    packing = packed(instance, free, everywhere(instance), jobs)
    best = max(
        sum(counts)
        for counts in product(*(range(int(job.copies) + 1) for job in jobs))
        if fits(
            instance, free, [job for job, c in zip(jobs, counts, strict=True) for _ in range(c)]
        )
    )
    assert packing.copies.sum() == best
    used = sum(np.outer(tasks, instance.demands[n]) for n, tasks in packing.tasks.items())
    assert (used <= free).all()


CAPPED = {"a": {"cap": {"cpu": 5}}}


def capped(users=2, capacity=20.0):
    return Instance.from_arrays(
        np.ones((users, 1)), [[capacity]], resources=["cpu"], queue=["a"] * users, queues=CAPPED
    )


def test_a_cap_holds_with_what_its_queue_uses_and_with_what_gives_way():
    """A cap of 5, of which 4 are in use: one task more; with a job of 3 gone, four."""
    instance = capped()
    root_and_a = np.array([[4.0], [4.0]])
    job = [WaitingJob("", {0: 1}, 9)]
    free = np.array([[16.0]])
    packing = packed(instance, free, everywhere(instance), job, used=root_and_a)
    assert packing.copies.tolist() == [1]
    leaving = [RunningJob("three", {(1, 0): 3})]
    packing = packed(instance, free, everywhere(instance), job, used=root_and_a, leaving=leaving)
    assert packing.copies.tolist() == [4] and packing.leaving.tolist() == [1]


def test_a_cap_of_all_that_the_cluster_has_stops_nobody():
    instance = capped(capacity=5.0)
    used = np.array([[0.0], [9.0]])  # would be over the cap, which is the whole cluster
    packing = packed(
        instance, np.array([[5.0]]), everywhere(instance), [WaitingJob("", {0: 1}, 9)], used=used
    )
    assert packing.copies.tolist() == [5]


def test_the_fewest_jobs_give_way_and_none_for_nothing():
    """4 tasks are missing: one job of 4 goes, and neither the small ones nor the one on the other server."""
    instance = Instance.from_arrays([[1], [1]], [[8], [8]])
    running = [
        RunningJob("", {(1, 0): 1}, 4),
        RunningJob("four", {(1, 0): 4}),
        RunningJob("", {(1, 1): 1}),
    ]
    upper = {0: np.array([9, 0]), 1: np.array([9, 9])}
    packing = packed(
        instance, np.zeros((2, 1)), upper, [WaitingJob("job", {0: 4})], leaving=running
    )
    assert packing.leaving.tolist() == [0, 1, 0]
    assert packing.tasks[0].tolist() == [4, 0]


def test_tenants_keep_what_is_theirs():
    """The tenant of the job of 4 may give 2 of 8 parts; the four of 1 may go."""
    instance = Instance.from_arrays([[1], [1], [1]], [[8]])
    running = [RunningJob("four", {(1, 0): 4}), RunningJob("", {(2, 0): 1}, 4)]
    waits = [WaitingJob("job", {0: 4})]
    keep = [Keeping([0], 0, 2 / 8)]
    packing = packed(
        instance, np.zeros((1, 1)), everywhere(instance), waits, leaving=running, keepings=keep
    )
    assert packing.copies.tolist() == [1] and packing.leaving.tolist() == [0, 4]
    keep.append(Keeping([1], 0, 3 / 8))
    packing = packed(
        instance, np.zeros((1, 1)), everywhere(instance), waits, leaving=running, keepings=keep
    )
    assert packing.copies.tolist() == [0]


def test_a_program_that_would_be_too_large_has_no_answer():
    instance = Instance.from_arrays([[1]], np.ones((20_001, 1)))
    upper = {0: np.ones(20_001)}
    assert packed(instance, instance.capacities, upper, [WaitingJob("", {0: 1})]) is None
