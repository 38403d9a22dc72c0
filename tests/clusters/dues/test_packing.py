"""The program of whole numbers behind room, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.jobs import WaitingJob
from fairlp_clusters.dues.packing import packed
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


def test_a_cap_holds_with_what_its_queue_uses():
    """A cap of 5, of which 4 are in use: one task more."""
    instance = capped()
    root_and_a = np.array([[4.0], [4.0]])
    job = [WaitingJob("", {0: 1}, 9)]
    free = np.array([[16.0]])
    packing = packed(instance, free, everywhere(instance), job, used=root_and_a)
    assert packing.copies.tolist() == [1]


def test_a_cap_of_all_that_the_cluster_has_stops_nobody():
    instance = capped(capacity=5.0)
    used = np.array([[0.0], [9.0]])  # would be over the cap, which is the whole cluster
    packing = packed(
        instance, np.array([[5.0]]), everywhere(instance), [WaitingJob("", {0: 1}, 9)], used=used
    )
    assert packing.copies.tolist() == [5]


def test_a_program_that_would_be_too_large_has_no_answer():
    instance = Instance.from_arrays([[1]], np.ones((20_001, 1)))
    upper = {0: np.ones(20_001)}
    assert packed(instance, instance.capacities, upper, [WaitingJob("", {0: 1})]) is None
