"""A job could start on what others hold beyond their dues: beside all ways to take whole tasks back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.facts import Facts
from fairlp_clusters.dues.reach import could_start, givers
from profiles import many
from verdicts import judged


def drawn(seed):
    """Three users of one resource on two servers, of whom the last has nothing and waits for jobs of 1 to 3."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 4))
    capacities = rng.integers(2, 7, 2).astype(float)
    demands = np.array([1.0, 2.0, float(rng.integers(1, 4))])
    tasks = np.zeros((3, 2))
    for i, free in enumerate(capacities):
        tasks[0, i] = rng.integers(0, free + 1)
        tasks[1, i] = rng.integers(0, (free - tasks[0, i]) // 2 + 1)
    instance = Instance.from_arrays(
        demands[:, None], capacities[:, None], users=["a", "b", "c"], job_sizes=[1, 1, size]
    )
    waiting = np.array([0.0, 0.0, 4.0 * size])
    return judged(Facts(instance, tasks, waiting), "drfh"), size


def possible(dues, size, slack=0.0):
    """Whether quarters of CPUs that are taken from who has more than is due leave room for a job."""
    demands = dues.instance.demands[:, 0]
    free = dues.instance.capacities[:, 0] - dues.tasks.T @ demands
    beyond = (dues.has - dues.fair_tasks) * demands
    held = dues.tasks[:2] * demands[:2, None]
    if (beyond[:2] <= 1e-6).all():
        return False
    steps = [np.linspace(0, amount, int(4 * amount) + 1) for amount in held.ravel()]
    for taken in product(*steps):
        taken = np.reshape(taken, (2, 2))
        if (taken.sum(axis=1) <= np.maximum(beyond[:2], 0) + 1e-6 + slack).all():
            room = np.floor((free + taken.sum(axis=0)) / demands[2] + 1e-6)
            if room.sum() >= size:
                return True
    return False


@pytest.mark.parametrize("seed", range(many(160)))
def test_a_job_could_start_where_some_way_to_take_tasks_back_leaves_room(seed):
    verdict, size = drawn(seed)
    dues = verdict.dues
    (job,) = dues.waiting_jobs
    holders = givers(dues, 2)
    answer = holders.size > 0 and could_start(dues, verdict.room, job, holders)
    assert answer or not possible(dues, size)
    assert possible(dues, size, slack=0.5) or not answer
