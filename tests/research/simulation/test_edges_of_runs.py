"""Workloads that are wrong, servers without a free slot, and states that contradict themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance, simulation
from fairlp.errors import FileFormatError, InstanceError
from fairlp.models.files.arrays import read_arrays, write_arrays
from fairlp.research.simulation import Workload

COLUMNS = ["job", "user", "arrival", "tasks", "duration", "cpu"]


def workload(*rows):
    return Workload.of(pd.DataFrame(rows, columns=COLUMNS), ["cpu"])


def waiting():
    """A simulation in which one job runs on the only server, and two wait; and what tells it from others."""
    load = workload(("j1", "ann", 0, 2, 5.0, 2.0), ("j2", "bob", 0, 1, 5.0, 2.0), ("j3", "ann", 0, 2, 5.0, 2.0))
    run = simulation._simulation(cluster(), load, "slots", 2, {}, weights=None, every=1)
    assert not run.run(float("inf"), 1)
    return run, lambda: simulation._simulation(cluster(), load, "slots", 2, {}, weights=None, every=1)


def cluster():
    return Instance.from_arrays([[1.0]], [[4.0]], resources=["cpu"])


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ((), "there are no jobs; expected at least one row"),
        ((("j", "ann", 0, 1, 1, 1), ("j", "bob", 0, 1, 1, 1)), "job 'j' is there twice"),
    ],
)
def test_jobs_are_some_and_each_is_one(rows, what):
    with pytest.raises(InstanceError, match=what):
        workload(*rows)


def test_a_server_without_a_free_slot_takes_nobody():
    run, _ = waiting()
    blocked = set(run.blocked)
    assert blocked and not run.servers.slots.any()
    assert run._unblock(np.array([0])) == []
    run.servers.free = run.servers.free + 4
    assert run._unblock(np.array([0])) == []
    run.servers.slots = run.servers.slots + 1
    found = run._unblock(np.array([0]))
    assert found and set(found) <= blocked


def test_a_state_in_which_somebody_without_a_task_waits_is_refused(tmp_path):
    run, again = waiting()
    simulation._save(state := tmp_path / "state", "", run)
    simulation._load(state, "", again())
    kept = read_arrays(state, "state")
    left = np.zeros_like(kept._arrays["left"])
    write_arrays(state, kept.document, kept._arrays | {"left": left})
    with pytest.raises(FileFormatError, match="a user without a task waits for room"):
        simulation._load(state, "", again())


def test_a_run_in_which_every_job_is_refused_goes_on_where_it_was(tmp_path):
    """One job is larger than the server and one has no tasks, so that nothing is ever shared."""
    load = workload(("j1", "ann", 0, 2, 5.0, 9.0), ("j2", "bob", 3, 0, 5.0, 1.0), ("j3", "ann", 7, 1, 5.0, 8.0))

    def begin():
        return simulation._simulation(cluster(), load, "drfh", 14, {}, weights=None, every=1)

    run, whole, again = begin(), begin(), begin()
    assert not run.run(float("inf"), 1)
    assert whole.run(float("inf"), None)
    simulation._save(state := tmp_path / "state", "", run)
    simulation._load(state, "", again)
    assert again.now == run.now and again.next_job == run.next_job < whole.next_job
    assert again.run(float("inf"), None)
    assert (again.now, again.next_job) == (whole.now, whole.next_job)
    np.testing.assert_array_equal(again.finish, whole.finish)
    assert np.isnan(again.finish).tolist() == [True, False, True] and again.allocator is None
