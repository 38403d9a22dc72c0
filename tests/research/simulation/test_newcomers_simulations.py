"""Runs of a few seconds, as people try them first: what was in use is seen without saying how often to look."""

from __future__ import annotations

import pandas as pd
import pytest

import fairlp
from fairlp.research.simulation import Workload, simulate

CLUSTER = fairlp.Instance.from_arrays([[1]], [[4]], resources=["cpu"])


def jobs(duration):
    return Workload.of(
        pd.DataFrame({"user": ["a"], "arrival": [0], "tasks": [2], "duration": [duration], "cpu": [1]}), ["cpu"]
    )


@pytest.mark.parametrize("duration", [0.5, 20, 90])
def test_a_short_run_shows_what_was_in_use(duration):
    found = simulate(CLUSTER, jobs(duration), "best-fit")
    assert len(found.utilization) >= 10
    assert found.utilization["cpu"].iloc[1:-1].eq(0.5).all()


def test_a_long_run_is_looked_at_every_minute():
    assert simulate(CLUSTER, jobs(3600), "best-fit").utilization.index[:3].tolist() == [0, 60, 120]
