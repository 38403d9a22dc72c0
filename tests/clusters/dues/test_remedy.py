"""Who would make room: on one server of tasks of one size, against pre-emption one task after the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.remedy import remedy
from fairlp_clusters.dues.share_comparison import ShareComparison
from fairlp_clusters.dues.subject import Subject
from filling_oracle import filled
from profiles import many


@pytest.mark.parametrize("seed", range(many(200)))
def test_tasks_of_who_is_furthest_beyond_its_fair_share_go_first(seed):
    rng = np.random.default_rng(seed)
    users = int(rng.integers(3, 6))
    tasks = rng.integers(1, 9, users)
    tasks[0] = 0
    capacity = int(tasks.sum())
    waiting = np.where(np.arange(users) == 0, 30, rng.integers(0, 3, users))
    limits = (tasks + waiting).tolist()
    ones = [1] * users
    fair = filled([[1]] * users, [capacity], ones, limits, [0] * users)
    owed = math.floor(fair[0])
    preemptions = dict.fromkeys(range(users), 0)
    for _ in range(owed):
        beyond = {n: tasks[n] - preemptions[n] - fair[n] for n in range(1, users)}
        candidates = [n for n in beyond if beyond[n] >= 1]
        if not candidates:
            break
        preemptions[max(candidates, key=lambda n: beyond[n])] += 1

    instance = Instance.from_arrays([[1]] * users, [[capacity]], task_limits=limits)
    subject = Subject(instance, tasks[:, None].astype(float), waiting.astype(float))
    solution = remedy(ShareComparison.of(subject, "drf"), 0)
    assert solution.count == owed
    # users who are as far beyond may go in either order
    rest = [
        sorted(tasks[n] - counts.get(n, 0) - fair[n] for n in range(users))
        for counts in (solution.preempted, preemptions)
    ]
    assert rest[0] == rest[1]
    assert solution.freed == sum(preemptions.values())
