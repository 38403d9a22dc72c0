"""Why a user runs no more tasks, against loops over servers and queues."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.room import Placement, Room
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
    blocking = Room.of(instance, tasks)
    free = instance.capacities - tasks.T @ instance.demands
    assert blocking.free.tolist() == free.tolist()
    for n, need in enumerate(instance.demands):
        obstacle = blocking.of(n)
        more = tasks.copy()
        more[n, 0] += 1
        passed = over_a_cap(instance, caps, more)
        could = [i for i in range(len(free)) if (need <= instance.capacities[i]).all()]
        fits = [i for i in could if (need <= free[i]).all()]
        if passed is not None and need[0] > 0:
            assert obstacle.kind == "cap" and obstacle.resource == 0
            assert instance.tree.paths[obstacle.queue] == passed
        elif not could:
            assert obstacle.kind == "nowhere"
        elif fits:
            assert obstacle.kind == "room" and obstacle.servers.tolist() == fits
        else:
            assert obstacle.kind == "resource" and set(obstacle.servers) <= set(could)
            r = obstacle.resource
            assert all(free[i, r] < need[r] for i in obstacle.servers)
        assert blocking.servers_of(n).tolist() == could
        held = [instance.demands[m, 0] * tasks[m, could].sum() for m in range(len(tasks))]
        assert blocking.amounts_held(0, np.array(could, dtype=int)).tolist() == held


@pytest.mark.parametrize("seed", range(many(300)))
def test_as_many_tasks_fit_as_a_loop_places_one_by_one(seed):
    rng = np.random.default_rng([88, seed])
    instance, caps, tasks = drawn(rng)
    blocking = Room.of(instance, tasks)
    for n, need in enumerate(instance.demands):
        count = int(rng.integers(1, 6))
        servers, placed = blocking.fitting(n, count)
        after = tasks.copy()
        while after.sum() < tasks.sum() + count:
            room = instance.capacities - after.T @ instance.demands
            where = [i for i in range(len(room)) if (need <= room[i]).all()]
            if not where:
                break
            after[n, where[0]] += 1
            if over_a_cap(instance, caps, after) and need[0] > 0:
                after[n, where[0]] -= 1
                break
        assert placed.sum() == after.sum() - tasks.sum()
        together = blocking.beside([Placement(n, servers, placed)])
        assert together.tasks.sum() == after.sum() and (together.free >= 0).all()
        assert (together.tasks.T @ instance.demands <= instance.capacities).all()
        assert blocking.tasks.tolist() == tasks.tolist()


def test_a_resource_is_the_one_that_most_servers_lack_counted_one_by_one():
    """Two rows lack memory, and one row of five servers lacks cores."""
    instance = Instance.from_arrays(
        [[2, 2]], [[9, 1.5], [9, 1.5], [1.5, 9]], counts=[1, 1, 5], resources=["cpu", "memory"]
    )
    obstacle = Room.of(instance, np.zeros((1, 3)), whole=False).of(0)
    assert obstacle.kind == "room"
    busy = Instance.from_arrays(
        [[2, 2], [1, 0], [0, 1]], [[9, 3], [9, 3], [3, 9]], counts=[1, 1, 5]
    )
    tasks = np.array([[0, 0, 0], [0, 0, 15.0], [3, 3, 0]])
    full = Room.of(busy, tasks, whole=False).of(0)
    assert (full.kind, full.resource, full.servers.tolist()) == ("resource", 0, [2])
