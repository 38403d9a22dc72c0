"""Why a user runs no more tasks, against loops over servers and queues."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.jobs import WaitingJob
from fairlp_clusters.dues.room import Obstacle, Room
from profiles import many


def drawn(rng):
    """Whole tasks on servers, first come first served, with caps of two queues."""
    users, servers, resources = (int(rng.integers(low, 4)) for low in (2, 1, 1))
    demands = rng.integers(0, 4, (users, resources)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(0, 9, (servers, resources)).astype(float)
    capacities[0] += 3
    names = [f"resource{r + 1}" for r in range(resources)]
    caps = {path: float(rng.integers(3, 15)) for path in ("p", "p/q") if rng.random() < 0.6}
    instance = Instance.from_arrays(
        demands,
        capacities,
        queue=rng.choice(["p", "p/q"], users).tolist(),
        queues={
            path: {"weight": 1.0, **({"cap": {names[0]: caps[path]}} if path in caps else {})}
            for path in ("p", "p/q")
        },
    )
    tasks = np.zeros((users, servers))
    for _ in range(int(rng.integers(0, 8))):
        n, i = int(rng.integers(users)), int(rng.integers(servers))
        more = tasks.copy()
        more[n, i] += 1
        if (more.T @ demands <= capacities).all() and not over_a_cap(instance, caps, more):
            tasks = more
    return instance, caps, tasks


def over_a_cap(instance, caps, tasks):
    """Return the queue whose cap of the first resource is passed, the lowest first; None without.

    A cap of all that the servers have is none.
    """
    use = tasks.sum(axis=1) * instance.demands[:, 0]
    for path in ("p/q", "p"):
        inside = [queue == path or queue.startswith(f"{path}/") for queue in instance.queue]
        cap = caps.get(path, np.inf)
        if use[inside].sum() > cap and cap < instance.capacities[:, 0].sum():
            return path
    return None


@pytest.mark.parametrize("seed", range(many(300)))
def test_an_obstacle_is_the_first_thing_that_one_more_task_breaks(seed):
    rng = np.random.default_rng([87, seed])
    instance, caps, tasks = drawn(rng)
    room = Room.of(instance, tasks)
    free = instance.capacities - tasks.T @ instance.demands
    assert room.free.tolist() == free.tolist()
    for n, need in enumerate(instance.demands):
        job = WaitingJob("", {n: 1})
        more = tasks.copy()
        more[n, 0] += 1
        passed = over_a_cap(instance, caps, more)
        could = [i for i in range(len(free)) if (need <= instance.capacities[i]).all()]
        fits = [i for i in could if (need <= free[i]).all()]
        assert room.servers_of(n).tolist() == could
        placements = room.place(job)
        if passed is None and fits:
            assert [p.servers[0] in fits for p in placements] == [True]
            continue
        assert placements is None
        obstacle = room.obstacle(job)
        if passed is not None and need[0] > 0:
            assert obstacle.kind == "cap" and obstacle.resource == 0
            assert instance.tree.paths[obstacle.queue] == passed
        elif not could:
            assert obstacle.kind == "nowhere"
        else:
            assert obstacle.kind == "resource"
            assert any(free[i, obstacle.resource] < need[obstacle.resource] for i in could)


@pytest.mark.parametrize("seed", range(many(300)))
def test_as_many_tasks_fit_as_a_loop_places_one_by_one(seed):
    rng = np.random.default_rng([88, seed])
    instance, caps, tasks = drawn(rng)
    room = Room.of(instance, tasks)
    for n, need in enumerate(instance.demands):
        count = int(rng.integers(1, 6))
        placements, copies = room.copies(WaitingJob("", {n: 1}), count)
        after = tasks.copy()
        while after.sum() < tasks.sum() + count:
            free = instance.capacities - after.T @ instance.demands
            where = [i for i in range(len(free)) if (need <= free[i]).all()]
            if not where:
                break
            after[n, where[0]] += 1
            if over_a_cap(instance, caps, after) and need[0] > 0:
                after[n, where[0]] -= 1
                break
        assert copies == after.sum() - tasks.sum()
        together = room.beside(placements)
        placed = tasks.copy()
        for placement in placements:
            placed[n, placement.servers] += placement.tasks
        assert (
            together.free.tolist() == (instance.capacities - placed.T @ instance.demands).tolist()
        )
        use = instance.tree.below @ (placed.sum(axis=1)[:, None] * instance.demands)
        assert together.use.tolist() == use.tolist() and (together.free >= 0).all()


def test_a_resource_is_the_one_that_most_servers_lack_counted_one_by_one():
    """Two rows lack memory, and one row of five servers lacks cores."""
    busy = Instance.from_arrays(
        [[2, 2], [1, 0], [0, 1]], [[9, 3], [9, 3], [3, 9]], counts=[1, 1, 5]
    )
    tasks = np.array([[0, 0, 0], [0, 0, 15.0], [3, 3, 0]])
    obstacle = Room.of(busy, tasks).obstacle(WaitingJob("", {0: 1}))
    assert (obstacle.kind, obstacle.resource) == ("resource", 0)


@pytest.mark.parametrize(
    ("queue", "tasks", "queue_of_limit"),
    [
        ({}, [20, 10], 0),  # all quotas are in use
        ({}, [20, 9], None),
        ({"borrowing": {"resource1": 2}}, [22, 5], 1),
        ({"borrowing": {"resource1": 2}}, [21, 5], None),
        ({"lending": {"resource1": 4}}, [15, 14], None),  # the last of what is its own
        ({"lending": {"resource1": 4}}, [16, 14], 0),
    ],
)
def test_quotas_stop_where_nothing_is_left_to_borrow(queue, tasks, queue_of_limit):
    queues = {"A": {"nominal": {"resource1": 20}, **queue}, "B": {"nominal": {"resource1": 10}}}
    instance = Instance.from_arrays([[1], [1]], [[99]], queue=["A", "B"], queues=queues)
    room = Room.of(instance, np.array(tasks, dtype=float)[:, None])
    job = WaitingJob("", {0: 1})
    if queue_of_limit is None:
        assert room.place(job) is not None
    else:
        assert room.place(job) is None
        assert room.obstacle(job) == Obstacle("cap", 0, queue_of_limit)
