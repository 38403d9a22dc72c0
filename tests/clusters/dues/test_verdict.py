"""The first lines of the page: the verdict, who is first, what helps, and what was not counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.errors import OversizedTaskWarning
from fairlp.models.instances.arithmetic import quantity
from fairlp_clusters.dues.facts import Facts
from fairlp_clusters.dues.tenants import Tenants
from fairlp_clusters.dues.verdict import Condition
from verdicts import judged, lines_of

UNITS = {"cpu": "1/1000 core", "memory": "MiB"}


def lines(tasks, waiting, mechanism="drfh", demands=((8000, 32768), (1000, 2048)), **fields):
    """Two servers of 16 CPUs; users a and b, what runs, and what waits."""
    limits = np.asarray(tasks).sum(axis=1) + np.asarray(waiting)
    instance = Instance.from_arrays(
        demands,
        [[16000, 65536]] * 2,
        users=["a", "b"],
        servers=["n1", "n2"],
        resources=["cpu", "memory"],
        units=UNITS,
        task_limits=limits,
    )
    subject = Facts(
        instance, np.asarray(tasks, dtype=float), np.asarray(waiting, dtype=float), **fields
    )
    return lines_of(judged(subject, mechanism))


def test_who_is_short_and_who_holds_too_much_is_said_first():
    text_lines = lines([[0, 0], [16, 16]], [4, 0])
    assert text_lines[:2] == [
        "Not fair: a is 2 tasks short of its fair share (8 CPU, 32 GiB each). It has 0.0 % of the "
        "cluster, and 50.0 % is fair. Held beyond fair shares by b (16 CPU).",
        "a: 4 tasks; too little cpu is free where it could run; b (16 CPU)",
    ]
    assert text_lines[-1].startswith("Fair is what drfh gives: there are no queues")


def test_where_there_is_room_it_is_said_where():
    text_lines = lines([[0, 0], [1, 0]], [2, 0])
    assert text_lines[0].startswith("Fair: no user is short")
    assert text_lines[1] == "a: 2 tasks; room for all on n2"


@pytest.mark.parametrize(
    ("waiting", "sentence"), [([0, 0], "Nothing waits."), ([4, 0], "Tasks that wait: 4.")]
)
def test_where_nobody_is_short_it_is_fair(waiting, sentence):
    text_lines = lines([[1, 1], [8, 8]], waiting)
    assert text_lines[0] == f"Fair: no user is short of a whole task of its fair share. {sentence}"


def test_what_was_not_counted_is_told():
    held_tasks = pd.DataFrame(
        {"user": ["a"] * 5, "queue": "", "tasks": [5, 1, 2, 3, 4], "reason": list("vwxyz")}
    )
    homeless = pd.DataFrame({"user": ["lost"], "queue": [""], "tasks": [1], "why": ["no node"]})
    hidden = pd.Series({"cpu": 4000.0})
    text_lines = lines([[1, 1], [8, 8]], [0, 0], held=held_tasks, homeless=homeless, hidden=hidden)
    assert text_lines[1].startswith(
        "The dump does not show all tasks: 36 CPU in use by the nodes, 32 CPU by the tasks"
    )
    shows = (
        "Of the tasks that it shows: no user is short of a whole task of its fair share. No task "
        "that could run waits."
    )
    assert text_lines[0] == shows
    assert (
        "Not runnable yet, and owed nothing: 15 tasks (v: 5; z: 4; y: 3; 2 other reasons)."
        in text_lines
    )
    assert "Waiting, but no node may take them: 1 task (lost: no node)." in text_lines


def test_amounts_are_said_as_people_say_them():
    assert (
        quantity(1500, "cpu", "1/1000 core") == "1.5 CPU"
        and quantity(2, "cpu", "vcores") == "2 CPU"
    )
    assert quantity(512, "memory", "MiB") == "0.5 GiB" and quantity(3, "gpu", "") == "3 gpu"


def test_a_task_of_a_dump_that_fits_no_server_is_owed_to_nobody():
    tasks = [[0, 0], [0, 0]]
    demands = ((24000, 1024), (1000, 2048))
    with pytest.warns(OversizedTaskWarning, match="'a'"):
        text_lines = lines(tasks, [1, 0], demands=demands, scheduler="slurm")
    assert (
        text_lines[0]
        == "Fair: no user is short of a whole task of its fair share. Tasks that wait: 1."
    )
    assert text_lines[1] == (
        "a: 1 task; no server could ever take it: it needs 24 CPU, and where it may run one has 16 CPU "
        "at most"
    )
    assert "Past use does not count here" in text_lines[-1]


def test_others_who_are_short_are_named_or_counted():
    several = Instance.from_arrays(
        np.ones((6, 1)), [[12.0]], users=list("abcdef"), task_limits=[12, 9, 9, 9, 9, 9]
    )
    subject = Facts(
        several, np.array([[12.0], [0], [0], [0], [0], [0]]), np.array([0.0, 9, 9, 9, 9, 9])
    )
    verdict = judged(subject, "drf")
    assert verdict.sentence.endswith(
        "Short too: c (2 tasks), d (2 tasks), e (2 tasks), 1 other user."
    )
    assert not verdict.is_fair


def of_one_owner(sizes, tasks_of_others, waiting_of_sizes):
    """The first lines for an owner whose tasks have several sizes, beside another on a server of 24 CPU."""
    count = len(sizes)
    tasks = np.array([[0.0]] * count + [[tasks_of_others]])
    waiting = np.array([*waiting_of_sizes, 0.0])
    instance = Instance.from_arrays(
        [[size] for size in sizes] + [[1.0]],
        [[24.0]],
        users=[f"ann {k}" for k in range(count)] + ["bob"],
        resources=["cpu"],
        task_limits=tasks[:, 0] + waiting,
    )
    owners = Tenants(["ann", "bob"], np.array([0] * count + [1]), "owner")
    return lines_of(judged(Facts(instance, tasks, waiting, tenants=owners), "drf"))


def test_what_an_owner_is_short_of_is_named_by_size():
    assert "fair share (2 cpu each). It has 0.0 %" in of_one_owner([2.0], 24.0, [9.0])[0]
    sentence = of_one_owner([1.0, 2.0], 24.0, [1.0, 2.0])[0]
    assert "ann is 3 tasks short of its fair share (1 × (1 cpu), 2 × (2 cpu)). It" in sentence


def test_an_only_user_has_no_other_to_be_compared_with():
    alone = Instance.from_arrays([[1.0]], [[4.0]], users=["ann"], task_limits=[2.0])
    text_lines = lines_of(judged(Facts(alone, np.array([[2.0]]), np.zeros(1)), "drf"))
    assert text_lines[0] == "Fair: ann is the only user. Nothing waits."


def test_all_that_a_task_needs_is_named_and_nothing_else():
    text_lines = lines([[0, 0], [16, 16]], [4, 0], demands=((8000, 1), (1000, 2048)))
    assert "(8 CPU, 0.0009766 GiB each)" in text_lines[0]
    text_lines = lines([[0, 0], [16, 16]], [4, 0], demands=((8000, 0), (1000, 2048)))
    assert "(8 CPU each)" in text_lines[0]


def test_nobody_is_short_of_a_job_that_could_not_start_on_what_others_have_beyond_their_dues():
    """a has 2 of its 4 beyond its due, on x. b may only be on y, where c has just its due.

    That c could move to x, the dump does not say: what runs stays where it is.
    """
    instance = Instance.from_arrays(
        [[1.0]] * 3,
        [[4.0], [4.0]],
        users=["a", "b", "c"],
        servers=["x", "y"],
        eligible=[None, ["y"], None],
        weights=[1, 1, 2],
        task_limits=[8, 4, 8],
    )
    tasks = np.array([[4.0, 0], [0, 0], [0, 4]])
    verdict = judged(Facts(instance, tasks, np.array([4.0, 4, 4])), "drfh")
    assert verdict.dues.shares.fair_share.tolist() == pytest.approx([0.25, 0.25, 0.5])
    assert verdict.is_fair and verdict.conditions[1] is Condition.NO_ROOM
    moved = verdict.dues.facts.tasks[:, ::-1]
    short = judged(Facts(instance, moved, np.array([4.0, 4, 4])), "drfh")
    assert short.table["short_jobs"]["b"] == 2
