"""Jobs that run at once or not at all: what is owed, what has room, against programs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import fairlp
import fairlp_clusters
from fairlp import Instance
from fairlp.errors import InstanceError
from fairlp_clusters.dues.facts import Facts
from fairlp_clusters.dues.jobs import WaitingJob
from fairlp_clusters.dues.room import Placement, Room
from fairlp_clusters.dues.tenants import Tenants
from profiles import many
from verdicts import judged, lines_of


def drawn(seed):
    """A cluster of jobs: some run on whole servers' room, others wait; caps, placement, tenants."""
    rng = np.random.default_rng([62, seed])
    users, servers = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    resources = int(rng.integers(1, 3))
    demands = rng.integers(0, 4, (users, resources))
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(3, 13, (servers, resources))
    eligible = rng.random((users, servers)) < 0.8
    eligible[~eligible.any(axis=1), 0] = True
    names = [f"r{k}" for k in range(resources)]
    cap = {"a": int(rng.integers(3, 20))} if rng.random() < 0.4 else {}
    queue = rng.choice(["a", "b"], users)

    # Jobs that run: drawn, and kept where they fit
    free = capacities.copy()
    in_a = 0
    running = []
    for _ in range(int(rng.integers(0, 9))):
        n, size = int(rng.integers(users)), int(rng.integers(1, 4))
        places: Counter[tuple[int, int]] = Counter()
        room = free.copy()
        for _ in range(size):
            fits = [i for i in range(servers) if eligible[n, i] and (demands[n] <= room[i]).all()]
            if fits:
                i = int(rng.choice(fits))
                room[i] -= demands[n]
                places[n, i] += 1
        use = size * demands[n, 0] if queue[n] == "a" else 0
        if places.total() == size and in_a + use <= cap.get("a", np.inf):
            free, in_a = room, in_a + use
            running.append(places)
    tasks = np.zeros((users, servers))
    for places in running:
        for (n, i), count in places.items():
            tasks[n, i] += count

    waiting_jobs = []
    for k in range(int(rng.integers(1, 5))):
        members = rng.choice(users, size=int(rng.integers(1, 3)), replace=False)
        queue_of_job = queue[members[0]]
        sizes = {int(n): int(rng.integers(1, 4)) for n in members if queue[n] == queue_of_job}
        spread = bool(rng.random() < 0.3)
        waiting_jobs.append(WaitingJob(f"waits {k}", sizes, int(rng.integers(1, 3)), spread))
    waiting = np.zeros(users)
    for job in waiting_jobs:
        for n, count in job.tasks.items():
            waiting[n] += count * job.copies
    instance = Instance.from_arrays(
        demands,
        capacities,
        resources=names,
        eligible=eligible,
        task_limits=tasks.sum(axis=1) + waiting,
        queue=queue.tolist(),
        queues={"a": {"weight": 1, "cap": {"r0": cap["a"]} if cap else {}}, "b": {"weight": 1}},
    )
    tenants = Tenants(["a", "b"], (queue == "b").astype(int), "queue")
    return Facts(
        instance,
        tasks,
        waiting,
        tenants=tenants,
        waiting_jobs=waiting_jobs,
    )


def program(subject, jobs):
    """The most of these jobs (each a copy) that can run beside what runs.

    Variables: tasks of job × user × server, and whether a job runs.
    """
    instance = subject.instance
    servers, resources = instance.capacities.shape
    keys = [(j, n, i) for j, job in enumerate(jobs) for n in job.tasks for i in range(servers)]
    column = {key: c for c, key in enumerate(keys)}
    runs = len(keys)
    count = runs + len(jobs)
    rows, lower, upper = [], [], []

    def add(entries, low, high):
        row = np.zeros(count)
        for c, value in entries:
            row[c] += value
        rows.append(row)
        lower.append(low)
        upper.append(high)

    for j, job in enumerate(jobs):
        for n, size in job.tasks.items():
            entries = [(column[j, n, i], 1) for i in range(servers)]
            add([*entries, (runs + j, -size)], 0, 0)
        if job.one_a_node:
            for i in range(servers):
                add([(column[j, n, i], 1) for n in job.tasks], 0, 1)
    used = subject.tasks.T @ instance.demands
    for i in range(servers):
        for r in range(resources):
            entries = [(column[j, n, k], instance.demands[n, r]) for j, n, k in keys if k == i]
            add(entries, -np.inf, instance.capacities[i, r] - used[i, r])
    cap = instance.tree.caps[instance.tree.named("a"), 0]
    if np.isfinite(cap):
        inside = instance.tree.users_below(instance.tree.named("a")) > 0
        entries = [(column[j, n, i], instance.demands[n, 0]) for j, n, i in keys if inside[n]]
        now = (subject.tasks.sum(axis=1) * instance.demands[:, 0])[inside].sum()
        add(entries, -np.inf, cap - now)
    bounds = np.ones(count)
    for (_, n, i), c in column.items():
        bounds[c] = 9 if instance.eligible[n, i] else 0
    objective = np.zeros(count)
    objective[runs:] = -1
    solution = milp(
        objective,
        integrality=np.ones(count),
        bounds=Bounds(0, bounds),
        constraints=LinearConstraint(np.array(rows), lower, upper),
    )
    return -1 if solution.x is None else round(-solution.fun)


@pytest.mark.parametrize("seed", range(many(300)))
def test_owed_jobs_are_fair_whole_and_nothing_is_overstated(seed):
    """No cut job, and no room that is not there."""
    subject = drawn(seed)
    verdict = judged(subject, "h-drf")
    shares = verdict.dues.shares
    parts = subject.instance.demands / subject.instance.pool
    has, fair = subject.tasks.sum(axis=1), verdict.dues.fair_tasks
    of_job = [subject.tenants.of_job(job) for job in subject.waiting_jobs]
    for t in range(2):
        members = subject.tenants.of == t
        amounts = (has * members) @ parts
        due = ((fair * members) @ parts).max()
        owed = [k for k, of in enumerate(of_job) if of == t and shares.owed_jobs[k]]
        added = sum(
            shares.owed_jobs[k] * count * parts[n]
            for k in owed
            for n, count in subject.waiting_jobs[k].tasks.items()
        )
        assert all(shares.owed_jobs[k] <= subject.waiting_jobs[k].copies for k in owed)
        after = amounts + added
        if owed:
            assert after.max() <= due + 1e-9
        for k, job in enumerate(subject.waiting_jobs):
            lacks = any(fair[n] > has[n] + 1e-9 for n in job.tasks)
            if members[next(iter(job.tasks))] and lacks and shares.owed_jobs[k] < job.copies:
                one_more = sum(count * parts[n] for n, count in job.tasks.items())
                assert (after + one_more).max() > due - 1e-9 or amounts.max() > due
        if t in verdict.waiting:
            jobs = [
                job._replace(copies=1)
                for job, of in zip(subject.waiting_jobs, of_job, strict=True)
                for _ in range(job.copies if of == t else 0)
            ]
            assert verdict.waiting[t].fitting_jobs <= program(subject, jobs)


@pytest.mark.parametrize("seed", range(many(300)))
def test_a_job_has_room_where_a_program_places_all_of_its_tasks(seed):
    subject = drawn(seed)
    room = Room.of(subject.instance, subject.tasks)
    for job in subject.waiting_jobs:
        has_room = program(subject, [job._replace(copies=1)]) == 1
        assert (room.place(job) is not None) == has_room
        for placement in room.place(job) or []:
            assert placement.tasks.sum() == job.tasks[placement.user]
            assert subject.instance.eligible[
                placement.user, placement.servers[placement.tasks > 0]
            ].all()


def pool(waiting, tasks, job_sizes, capacity=10.0, **fields):
    """Users of one CPU a task on one server, what runs, and what waits."""
    tasks = np.array(tasks, dtype=float)[:, None]
    waiting = np.array(waiting, dtype=float)
    instance = Instance.from_arrays(
        np.ones((len(waiting), 1)),
        [[capacity]],
        users=list("abcdef")[: len(waiting)],
        resources=["cpu"],
        task_limits=tasks[:, 0] + waiting,
        job_sizes=job_sizes,
    )
    return judged(Facts(instance, tasks, waiting, **fields), "drf")


def test_a_remainder_smaller_than_the_next_job_is_owed_to_nobody():
    """10 CPUs: a runs 5, and b's only job needs 7 at once; 5 are its fair share."""
    verdict = pool([0, 7], [5, 0], [1, 7])
    assert verdict.is_fair and verdict.dues.shares.owed.tolist() == [0, 0]
    lines = lines_of(verdict)
    assert (
        lines[0] == "Fair: no user is short of a whole job of its fair share. Tasks that wait: 7."
    )
    assert lines[1] == (
        "b: 1 job of 7 tasks; too little cpu is free where it could run; the next needs 7 cpu at "
        "once (7 tasks)"
    )


def test_what_is_owed_is_counted_in_jobs_and_tasks():
    """10 CPUs: a runs 9, b waits with two jobs of 2, and 5 are fair: b is short of both."""
    verdict = pool([0, 4], [9, 0], [1, 2])
    assert verdict.table["short_jobs"].to_dict() == {"b": 2, "a": 0}
    lines = lines_of(verdict)
    assert lines[0].startswith(
        "Not fair: b is 2 jobs with 4 tasks in all short of its fair share (1 cpu each)"
    )


def test_a_job_of_two_sizes_of_tasks_runs_as_a_whole():
    """First fit puts the task of 2 on the server of 3; a program finds 2 on 2 and 3 on 3."""
    instance = Instance.from_arrays([[2], [3], [1]], [[3], [2]], users=["small", "large", "other"])
    room = Room.of(instance, np.zeros((3, 2)))
    job = WaitingJob("both", {0: 1, 1: 1})
    places = {p.user: p.servers[p.tasks > 0].tolist() for p in room.place(job)}
    assert places == {0: [1], 1: [0]}
    assert room.place(WaitingJob("three", {0: 1, 1: 1, 2: 1})) is None


def test_tasks_that_need_nodes_of_their_own_do_not_share_one():
    """Two servers with room for 4 tasks each: 3 tasks fit, but not on 3 nodes."""
    instance = Instance.from_arrays([[1]], [[4], [4]])
    room = Room.of(instance, np.zeros((1, 2)))
    assert room.place(WaitingJob("three", {0: 3})) is not None
    assert room.place(WaitingJob("three nodes", {0: 3}, one_a_node=True)) is None
    assert room.obstacle(WaitingJob("three nodes", {0: 3}, one_a_node=True)).kind == "nowhere"


def test_a_task_fits_on_one_machine_of_a_server_that_stands_for_several():
    """6 GB on machines with 4 free each: 12 are free, and nothing fits."""
    instance = Instance.from_arrays([[6], [3]], [[24]])
    pieces = {0: np.array([[4.0], [4.0], [4.0]])}
    room = Room.of(instance, np.array([[2.0], [0]]), pieces=pieces)
    assert room.obstacle(WaitingJob("", {0: 1})).kind == "resource"
    small = WaitingJob("", {1: 1})
    assert room.copies(small, 9)[1] == 3
    beside = room.beside([Placement(1, np.array([0]), np.array([2]))])
    assert beside.copies(small, 9)[1] == 1


def test_job_sizes_are_part_of_an_instance_and_of_its_questions():
    cluster = Instance.from_arrays(
        [[1], [1]], [[10]], users=["a", "b"], task_limits=[9, 7], job_sizes=[1, 7]
    )
    assert fairlp_clusters.fair_shares(cluster, observed=[[5], [0]]).loc["b", "owed"] == 0
    findings = fairlp.audit(cluster, [[5], [3]], ["whole jobs", "non-wasteful", "Pareto-optimal"])
    assert findings.holds.tolist() == [False, False, False]
    assert findings.witness["whole jobs"] == (
        "'b' runs 3 tasks, and each of its jobs is 7 tasks at once"
    )
    findings = fairlp.audit(cluster, [[5], [0]], ["non-wasteful", "Pareto-optimal"])
    assert findings.holds.tolist() == [False, False]  # a could run 4 more
    full = fairlp.audit(cluster, [[9], [0]], ["whole jobs", "non-wasteful", "Pareto-optimal"])
    assert full.holds.tolist() == [True, True, True]
    with pytest.raises(InstanceError, match="expected a multiple of its job size, 7"):
        cluster.replace(task_limits=[9, 8])
    with pytest.raises(InstanceError, match="expected a whole number >= 1"):
        cluster.replace(job_sizes=[0, 7])
