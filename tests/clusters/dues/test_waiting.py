"""What waits of each tenant: how much has room, on which servers, and what stops the next job."""

from __future__ import annotations

import numpy as np

from fairlp import Instance
from fairlp_clusters.dues.facts import Facts
from fairlp_clusters.dues.jobs import WaitingJob
from fairlp_clusters.dues.verdict import Condition
from fairlp_clusters.dues.waiting import in_turn, words_of
from verdicts import judged, lines_of


def cluster(jobs, tasks, capacities=((4,), (4,)), **fields):
    """Users a and b of one CPU a task; what runs by server, and the jobs that wait."""
    tasks = np.array(tasks, dtype=float)
    waiting = np.zeros(2)
    for job in jobs:
        for n, count in job.tasks.items():
            waiting[n] += count * job.copies
    instance = Instance.from_arrays(
        [[1], [1]],
        capacities,
        users=["a", "b"],
        servers=["n1", "n2"],
        resources=["cpu"],
        task_limits=tasks.sum(axis=1) + waiting,
    )
    subject = Facts(instance, tasks, waiting, waiting_jobs=list(jobs), **fields)
    return judged(subject, "drfh")


def test_jobs_with_room_are_counted_with_their_servers_and_the_first_without_is_named():
    """2 and 1 CPUs are free: a job of 2 fits, and of two single tasks one; b's next one lacks CPU."""
    jobs = [WaitingJob("pair", {1: 2}, since="1"), WaitingJob("", {1: 1}, 2, since="2")]
    verdict = cluster(jobs, [[0, 0], [2, 3]])
    waiting = verdict.waiting[1]
    assert (waiting.jobs, waiting.tasks) == (3, 4)
    assert (waiting.fitting_jobs, waiting.fitting_tasks) == (2, 3)
    assert waiting.servers == {0: 2, 1: 1} and waiting.job == jobs[1]
    assert waiting.obstacle.kind == "resource" and list(verdict.waiting) == [1]


def test_all_that_fits_leaves_no_job_without_room():
    verdict = cluster([WaitingJob("", {0: 1}, 3)], [[0, 0], [2, 3]])
    waiting = verdict.waiting[0]
    assert waiting.fitting_jobs == waiting.jobs == 3 and waiting.job is None
    assert verdict.dues.shares.owed_whole.tolist() == [3, 0]


def test_the_highest_priority_comes_first_then_who_waited_longest_then_the_smallest():
    jobs = [
        WaitingJob("late", {0: 1}, since="2026-02"),
        WaitingJob("large", {0: 3}, since="2026-01"),
        WaitingJob("small", {0: 1}, since="2026-01"),
        WaitingJob("no time", {0: 1}),
        WaitingJob("urgent", {0: 9}, priority=5.0),
    ]
    assert [job.name for job in sorted(jobs, key=in_turn)] == [
        "urgent",
        "small",
        "large",
        "late",
        "no time",
    ]


def test_words_count_by_tasks_of_all_copies():
    jobs = [
        WaitingJob("", {0: 2}, 3, message="Insufficient cpu", left_out="volumes, pod affinity"),
        WaitingJob("", {0: 1}, np.inf, left_out="volumes"),
        WaitingJob("", {1: 1}, 4, message="Insufficient cpu"),
    ]
    messages, left_out = words_of(jobs)
    assert messages == {"Insufficient cpu": 10}
    assert left_out == {"volumes": 6 + 2**53, "pod affinity": 6}


def test_what_is_left_out_and_what_the_scheduler_says_stand_beside_the_room():
    said = {"message": "Insufficient cpu", "left_out": "pod anti-affinity"}
    verdict = cluster([WaitingJob("", {0: 1}, 2, **said)], [[0, 0], [2, 3]])
    assert lines_of(verdict)[1] == (
        "a: 2 tasks; “Insufficient cpu” (2 tasks); room for all on n1; not counted: pod anti-affinity "
        "(2 tasks)"
    )


def test_what_the_scheduler_counts_on_all_nodes_is_no_room_whatever_is_free():
    said = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had volume node affinity conflict."
    )
    verdict = cluster([WaitingJob("", {0: 1}, 2, message=said)], [[0, 0], [2, 3]])
    assert verdict.waiting[0].fitting_jobs == 0
    assert lines_of(verdict)[1].endswith("; no node takes it, as the scheduler counts")
    assert verdict.is_fair and verdict.conditions[0] is Condition.UNDECIDED


def test_of_a_job_that_needs_nodes_of_its_own_the_nodes_are_told():
    """a has half of the cluster; one CPU is free on n1 and none on n2."""
    verdict = cluster([WaitingJob("wide", {0: 2}, one_a_node=True)], [[3, 0], [0, 4]])
    assert lines_of(verdict)[1] == (
        "a: 1 job of 2 tasks; too little cpu is free where it could run; the next needs 2 nodes at "
        "once (2 cpu)"
    )


def test_servers_that_are_kept_and_what_is_ending_are_no_room():
    """2 CPUs are free on n1, which backfill keeps; on n2 one is held by a task that is ending."""
    kept = {"kept": np.array([True, False]), "ending": np.array([[0.0], [1.0]])}
    verdict = cluster([WaitingJob("", {0: 1}, 3)], [[0, 0], [2, 3]], **kept)
    assert verdict.waiting[0].fitting_jobs == 0
    assert verdict.starting.tolist() == [1]
    assert any("where tasks are ending: 1 task of" in line for line in lines_of(verdict))
