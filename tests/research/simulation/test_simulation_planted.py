"""States of simulations with planted errors, users who wait, weights, and jobs that fit nowhere; done by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files.arrays import Arrays
from fairlp.research.simulation import Workload
from fairlp.research.simulation.engine import Engine
from fairlp.research.simulation.fluid import Fluid


def cluster(*capacities, **more):
    return Instance.from_arrays([[1.0]], np.array(capacities, dtype=float)[:, None], resources=["cpu"], **more)


def workload(*jobs, **more):
    """Jobs as (user, arrival, tasks, duration, cpu)."""
    table = pd.DataFrame(jobs, columns=["user", "arrival", "tasks", "duration", "cpu"])
    return Workload.of(table.assign(**more), ["cpu"])


def engine(jobs, *capacities, policy="first-fit", **more):
    return Engine(cluster(*capacities), jobs, policy, **more)


BUSY = workload(("a", 0, 3, 5, 1), ("b", 0, 4, 7, 1), ("a", 2, 2, 3, 1))


def kept(**changes):
    """A state after the first event, with planted parts, as a new engine is to go on from it."""
    run = engine(BUSY, 4.0)
    assert not run.run(float("inf"), 1)
    arrays, _ = run.state()
    return Arrays(Path("state"), {}, arrays | {name.replace("_", ".", 1): np.array(v) for name, v in changes.items()})


def test_a_state_that_is_right_is_gone_on_from():
    first, again = engine(BUSY, 4.0), engine(BUSY, 4.0)
    again.restore(kept())
    assert first.run(float("inf")) and again.run(float("inf"))
    assert again.finish.tolist() == first.finish.tolist() and (again.done == [5, 4]).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"left": [3, 4, 0]}, "more tasks run or wait"),
        ({"left": [1, 2, 1]}, "more tasks run or wait"),
        ({"event_time": [-1.0, 5.0, 7.0, 7.0]}, "ended before now"),
    ],
)
def test_a_state_of_tasks_that_cannot_be_is_refused(changes, words):
    with pytest.raises(FileFormatError, match=words):
        engine(BUSY, 4.0).restore(kept(**changes))


def test_a_state_that_overfills_a_server_is_refused():
    """Four tasks run on a server of 4; in the file all run on one that holds 1 beside it."""
    jobs = workload(("a", 0, 4, 5, 1))
    run = engine(jobs, 3.0, 1.0)
    run.run(float("inf"), 1)
    arrays, _ = run.state()
    assert sorted(arrays["event.server"].tolist()) == [0, 0, 0, 1]
    moved = Arrays(Path("state"), {}, arrays | {"event.server": np.array([0, 0, 1, 1])})
    with pytest.raises(FileFormatError, match="more runs on a server than it holds"):
        engine(jobs, 3.0, 1.0).restore(moved)


def test_whoever_was_blocked_runs_when_there_is_room():
    run = engine(workload(("a", 0, 1, 5, 3), ("b", 0, 1, 2, 3)), 4.0)
    assert run.run(float("inf")) and run.finish.tolist() == [5, 7]


def test_what_ends_is_held_no_more_and_weights_count():
    """The first user had the server; of what is freed both have half, or by weight."""
    for weights, expected in (({}, [2, 2]), ({"b": 3.0}, [1, 3])):
        run = engine(workload(("a", 0, 4, 1, 1), ("a", 1, 4, 9, 1), ("b", 1, 4, 9, 1)), 4.0, weights=weights)
        run.run(1.0)
        assert run.active.tolist() == expected


def test_a_blocked_user_stays_off_servers_where_it_may_not_run():
    kinds = pd.DataFrame({"kind": ["old", "new"]})
    servers = cluster(2.0, 2.0, server_attributes=kinds)
    jobs = workload(
        ("a", 0, 1, 1, 2),
        ("b", 0, 1, 5, 2),
        ("c", 0, 1, 1, 2),
        eligible=["kind == 'old'", "kind == 'new'", "kind == 'new'"],
    )
    run = Engine(servers, jobs, "first-fit")
    assert run.run(float("inf")) and run.finish.tolist() == [1, 5, 6]
    run = Engine(servers, jobs, "first-fit")
    run.run(1.0)
    assert run.blocked == {2} and run.decisions == 3


@pytest.mark.parametrize("kind", ["engine", "fluid"])
def test_jobs_that_fit_nowhere_are_refused_and_those_without_tasks_end(kind):
    jobs = workload(("a", 0, 1, 5, 9), ("b", 1, 0, 5, 1), ("b", 2, 1, 5, 1))
    run = engine(jobs, 4.0) if kind == "engine" else Fluid(cluster(4.0), jobs, "drf")
    assert run.run(float("inf")) and run.finish[1] == 1
    if kind == "engine":
        assert run.refused == [0] and run.finish[2] == 7


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_no_weights_are_refused(weight):
    with pytest.raises(InstanceError, match="expected a number above 0"):
        engine(BUSY, 4.0, weights={"a": weight})


def test_samples_are_at_multiples_of_their_interval():
    run = engine(workload(("a", 0.25, 1, 5, 1), ("a", 0.7, 1, 3.3, 1)), 4.0, every=1.5)
    run.run(6.0)
    assert run.times == [0, 1.5, 3, 4.5, 6]
    assert [int(sample.running[0]) for sample in run.samples] == [0, 2, 2, 1, 0]


def test_half_the_work_of_a_job_is_half_its_tasks():
    run = Fluid(cluster(4.0), workload(("a", 0, 8, 5, 1)), "drf")
    run.run(5.0)
    assert run.completed().tolist() == pytest.approx([4])
