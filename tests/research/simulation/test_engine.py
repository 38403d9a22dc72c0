"""The engine by hand: users who wait, weights, eligible servers, and jobs that fit nowhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp_research.simulation import Workload
from fairlp_research.simulation.engine import Engine
from fairlp_research.simulation.fluid import Fluid


def cluster(*capacities, **options):
    return Instance.from_arrays(
        [[1.0]], np.array(capacities, dtype=float)[:, None], resources=["cpu"], **options
    )


def workload(*jobs, **options):
    """Jobs as (user, arrival, tasks, duration, cpu)."""
    table = pd.DataFrame(jobs, columns=["user", "arrival", "tasks", "duration", "cpu"])
    return Workload.of(table.assign(**options), ["cpu"])


def engine(jobs, *capacities, policy="first-fit", **options):
    return Engine(cluster(*capacities), jobs, policy, **options)


def test_whoever_was_blocked_runs_when_there_is_room():
    run = engine(workload(("a", 0, 1, 5, 3), ("b", 0, 1, 2, 3)), 4.0)
    assert run.run(float("inf")) and run.finish.tolist() == [5, 7]


def test_what_ends_is_held_no_more_and_weights_count():
    """The first user had the server; of what is freed both have half, or by weight."""
    for weights, expected in (({}, [2, 2]), ({"b": 3.0}, [1, 3])):
        run = engine(
            workload(("a", 0, 4, 1, 1), ("a", 1, 4, 9, 1), ("b", 1, 4, 9, 1)), 4.0, weights=weights
        )
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


def test_samples_are_at_multiples_of_their_interval():
    run = engine(workload(("a", 0.25, 1, 5, 1), ("a", 0.7, 1, 3.3, 1)), 4.0, every=1.5)
    run.run(6.0)
    assert run.times == [0, 1.5, 3, 4.5, 6]
    assert [int(sample.running[0]) for sample in run.samples] == [0, 2, 2, 1, 0]


def test_half_the_work_of_a_job_is_half_its_tasks():
    run = Fluid(cluster(4.0), workload(("a", 0, 8, 5, 1)), "drf")
    run.run(5.0)
    assert run.completed().tolist() == pytest.approx([4])
