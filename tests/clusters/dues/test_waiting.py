"""What waits of each tenant: how much has room, on which servers, and what stops the next job."""

from __future__ import annotations

import numpy as np
from fairlp_clusters.page.wording import help_for, waits_for

from fairlp import Instance
from fairlp_clusters.dues.facts import Facts
from fairlp_clusters.dues.jobs import WaitingJob
from fairlp_clusters.dues.waiting import in_turn, words_of
from verdicts import judged


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
    comparison = cluster(jobs, [[0, 0], [2, 3]])
    summary = comparison.summaries[1]
    assert (summary.jobs, summary.tasks, summary.fitting_jobs, summary.fitting) == (3, 4, 2, 3)
    assert summary.servers == {0: 2, 1: 1} and summary.job == jobs[1]
    assert summary.obstacle.kind == "resource" and not summary.fits_nowhere
    assert list(comparison.summaries) == [1]


def test_all_that_fits_leaves_no_job_without_room():
    comparison = cluster([WaitingJob("", {0: 1}, 3)], [[0, 0], [2, 3]])
    summary = comparison.summaries[0]
    assert summary.fitting_jobs == summary.jobs == 3 and summary.job is None
    assert comparison.tenant_shares.owed_whole.tolist() == [3, 0]


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


def test_what_is_left_out_and_what_the_scheduler_says_qualify_the_sentence_on_room():
    said = {"message": "Insufficient cpu", "left_out": "pod anti-affinity"}
    comparison = cluster([WaitingJob("", {0: 1}, 2, **said)], [[0, 0], [2, 3]])
    assert help_for(comparison, 0) == (
        "There is room for all 2 now on n1, judging by what is free alone. Not counted: pod "
        "anti-affinity (2 tasks). The scheduler says: “Insufficient cpu” (2 tasks)."
    )
    plain = cluster([WaitingJob("", {0: 1}, 3)], [[0, 0], [2, 3]])
    assert help_for(plain, 0) == (
        "There is room for all 3 now on n1 (2) and n2 (1): the scheduler has not placed them yet."
    )


def test_a_tenant_that_is_not_short_is_told_what_its_jobs_wait_for():
    """a has half of the cluster and waits for 3 more; one CPU is free."""
    comparison = cluster([WaitingJob("", {0: 1}, 3)], [[4, 0], [0, 3]])
    assert waits_for(comparison, comparison.summaries[0]) == (
        "a: 3 tasks wait; there is room for 1 of them now on n2. Too little cpu is free on the "
        "servers where it could run."
    )
    nodes = cluster([WaitingJob("wide", {0: 2}, one_a_node=True)], [[3, 0], [1, 3]])
    assert waits_for(nodes, nodes.summaries[0]) == (
        "a: 1 job of 2 tasks waits. Its next job needs 2 nodes at once (2 cpu); its fair share has 1 "
        "cpu left. Too little cpu is free on the servers where it could run."
    )
