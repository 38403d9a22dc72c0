"""The program of whole numbers behind room, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.jobs import WaitingJob
from fairlp_clusters.dues.packing import packed
from fairlp_clusters.dues.room import Room
from profiles import many


def everywhere(instance):
    return {n: np.full(len(instance.servers), 9) for n in range(len(instance.users))}


def fits(instance, free, job):
    """Whether a job has room: all placements are tried."""
    users = [n for n, count in job.tasks.items() for _ in range(count)]
    for places in product(range(len(free)), repeat=len(users)):
        used = np.zeros(free.shape)
        np.add.at(used, list(places), instance.demands[users])
        has_own_nodes = not job.one_a_node or len(set(places)) == len(places)
        if has_own_nodes and (used <= free).all():
            return True
    return False


@pytest.mark.parametrize("seed", range(many(160)))
def test_a_job_has_room_where_enumeration_finds_a_place(seed):
    rng = np.random.default_rng([162, seed])
    instance = Instance.from_arrays(rng.integers(1, 4, (2, 2)), rng.integers(2, 7, (3, 2)))
    tasks = {n: int(rng.integers(1, 3)) for n in range(int(rng.integers(1, 3)))}
    job = WaitingJob("job", tasks, one_a_node=bool(rng.random() < 0.4))
    placed = packed(instance, instance.capacities, everywhere(instance), job)
    assert (placed is not None) == fits(instance, instance.capacities, job)
    if placed is not None:
        used = sum(np.outer(counts, instance.demands[n]) for n, counts in placed.items())
        assert (used <= instance.capacities).all()
        assert {n: counts.sum() for n, counts in placed.items()} == tasks


@pytest.mark.parametrize(("in_use", "cap", "has_room"), [(3, 5, True), (4, 5, False), (4, 6, True)])
def test_a_cap_holds_for_a_job_of_two_users(in_use, cap, has_room):
    """Of a cap of 5 CPUs 3 are in use: there is room for a task of each; of 4, for one of them alone."""
    queues = {"a": {"cap": {"cpu": cap}}}
    users = Instance.from_arrays(
        [[1.0], [1.0]], [[20.0]], resources=["cpu"], queue=["a", "a"], queues=queues
    )
    room = Room.of(users, np.array([[in_use], [0.0]]))
    assert (room.place(WaitingJob("both", {0: 1, 1: 1})) is not None) == has_room


def test_a_program_that_would_be_too_large_has_no_answer():
    instance = Instance.from_arrays([[1]], np.ones((20_001, 1)))
    upper = {0: np.ones(20_001)}
    assert packed(instance, instance.capacities, upper, WaitingJob("", {0: 1})) is None
