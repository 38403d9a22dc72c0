"""Time limits of searches, by a clock that only runs of the mechanism move: none begins too late."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.auditing import arrivals, findings
from fairlp.auditing.findings import Deadline
from fairlp.errors import FairlpWarning, InstanceError

POOL = Instance.from_arrays([[1, 4], [3, 1], [2, 2]], [[9, 18], [9, 9]])


class Clock:
    """A clock that a mechanism moves by one second a run; ``runs`` are their starts."""

    def __init__(self):
        self.seconds = 0.0
        self.runs = []

    def __call__(self):
        return self.seconds

    def mechanism(self, factor):
        """Return a mechanism that gives each user so much of its part, by weight."""

        def ticking(instance) -> np.ndarray:
            self.runs.append(self.seconds)
            self.seconds += 1
            weights = instance.weights / instance.weights.sum()
            return factor * weights[:, None] * instance.gamma()

        return fairlp.mechanism("ticking", promises=("strategy-proof",))(ticking)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(findings, "monotonic", clock)
    return clock


@pytest.mark.parametrize("property_name", ["strategy-proof", "population-monotonic", "envy-free"])
@pytest.mark.parametrize("limit", [0.5, 7.5, 100.5])
def test_no_run_begins_after_the_limit_of_a_search(clock, property_name, limit):
    options = {"search": True, "tries": 10_000, "time_limit": limit}
    with pytest.warns(FairlpWarning, match=f"the time limit of {limit:g} s ended the search"):
        fairlp.counterexample(clock.mechanism(0.9), property_name, **options)
    assert len(clock.runs) == int(limit) + 1 and max(clock.runs) <= limit


def test_no_run_begins_after_the_limit_while_what_was_found_is_simplified(clock):
    """All servers go to the first user, whom the others envy."""

    def first_come(instance) -> np.ndarray:
        clock.runs.append(clock.seconds)
        clock.seconds += 1
        return np.where(np.arange(len(instance.users))[:, None] == 0, instance.gamma(), 0.0)

    mechanism = fairlp.mechanism("first-come-ticking")(first_come)
    for limit in (1.5, 6.5):
        clock.seconds = 0.0
        clock.runs.clear()
        with pytest.warns(FairlpWarning, match="could be simpler"):
            case = fairlp.counterexample(mechanism, "envy-free", search=True, time_limit=limit)
        assert case is not None and max(clock.runs) <= limit


@pytest.mark.slow
def test_the_limit_holds_for_all_properties_that_promises_audit(clock):
    mechanism = clock.mechanism(1.0)
    with pytest.warns(FairlpWarning, match="1 of 1 promises were audited on fewer than 50"):
        table = fairlp.promises(50, mechanisms=[mechanism], time_limit=2000.5)
    # a thousand on the instances that ship, and 31 on each random one: the last was not whole
    assert len(clock.runs) == 2001 and 0 < table["audited"].item() < 50


def test_an_audit_says_how_many_lies_it_tried_in_its_time(clock):
    mechanism = clock.mechanism(1.0)
    allocation = fairlp.allocate(POOL, mechanism)
    clock.runs.clear()
    row = fairlp.audit(POOL, allocation, "strategy-proof", tries=60, time_limit=3.5).iloc[0]
    assert row["holds"] is None and "found in 4 tries" in row["witness"]
    assert len(clock.runs) == 4
    row = fairlp.audit(POOL, allocation, "population-monotonic", time_limit=1.5).iloc[0]
    assert row["holds"] is None and "before each user had left once" in row["witness"]
    assert fairlp.audit(POOL, allocation, "population-monotonic", time_limit=99).iloc[0]["holds"]
    with pytest.raises(InstanceError, match="time_limit=-1; expected seconds, at least 0"):
        fairlp.audit(POOL, allocation, time_limit=-1)


def test_what_is_broken_in_the_time_is_broken(clock):
    """All go to the user with the largest demand: a lie pays at once, and leaving does harm."""

    def largest(instance) -> np.ndarray:
        clock.seconds += 1
        demand = instance.demands.sum(axis=1)
        return np.where((demand == demand.max())[:, None], instance.gamma(), 0.0)

    mechanism = fairlp.mechanism("largest")(largest)
    allocation = fairlp.allocate(POOL, mechanism)
    row = fairlp.audit(POOL, allocation, "strategy-proof", tries=10_000, time_limit=30.5).iloc[0]
    assert row["holds"] is False and row["misreport"] is not None


def test_group_searches_count_the_lies_that_they_tried(clock):
    queued = POOL.replace(queue=["a", "a", "b"])
    mechanism = clock.mechanism(1.0)
    allocation = fairlp.allocate(queued, mechanism)
    for limit in (2.5, 30.5, 45.5):
        clock.seconds = 0.0
        row = fairlp.audit(
            queued, allocation, "group strategy-proof", tries=60, time_limit=limit
        ).iloc[0]
        tries = int(re.search(r"found in (\d+) tries", row["witness"])[1])
        # a lie that was told before takes no other run
        assert row["holds"] is None and clock.seconds == int(limit) + 1 <= tries <= 60


@pytest.mark.parametrize("search", [arrivals.lies, arrivals.late])
def test_searches_of_every_step_end_in_time(monkeypatch, search):
    allocation = fairlp.allocate(POOL.pooled(), "dynamic-drf")
    readings = itertools.count()
    monkeypatch.setattr(findings, "monotonic", lambda: float(next(readings)))
    finding = search(allocation, 1000, 0, Deadline(5.5))
    assert finding.holds is None and "found in 5 tries" in finding.witness


def test_a_lie_that_was_tried_costs_no_other_run(clock):
    """Users who ask for the same: claiming another's demand is claiming one's own."""
    twins = Instance.from_arrays([[1, 1]] * 4, [[8, 8]])
    allocation = fairlp.allocate(twins, clock.mechanism(1.0))
    clock.runs.clear()
    row = fairlp.audit(twins, allocation, "strategy-proof", tries=200).iloc[0]
    assert "found in 200 tries" in row["witness"]
    assert len(clock.runs) <= 200 - 4 * 2
