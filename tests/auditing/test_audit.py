"""The function audit: properties in order, the tasks that it reads, and the errors that it raises."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_clusters
from audit_cases import audited, pool
from fairlp import Instance, examples
from fairlp.auditing import PROPERTIES, basics
from fairlp.errors import (
    FairlpWarning,
    FileFormatError,
    InstanceError,
    SolverError,
    UnknownNameError,
)
from fairlp.models.files.tables import read_tasks


@pytest.mark.parametrize("mechanism", ["dynamic-drf", "cautious-lp"])
def test_users_who_arrive_are_audited_at_every_step(mechanism):
    result = fairlp.allocate(examples.load("epsilon"), mechanism)
    findings = fairlp.audit(result.instance, result, tries=20)
    assert findings.holds["irrevocable"] and findings.holds["dynamic sharing incentive"]
    assert findings.holds["dynamically Pareto-optimal"] == (mechanism == "dynamic-drf")
    assert findings.holds["population-monotonic"] is None


def test_the_table_of_properties_and_the_order_asked_for():
    instance = examples.load("ghodsi")
    allocation = fairlp.allocate(instance, "drf")
    everything = fairlp.audit(instance, allocation, tries=10)
    assert list(everything.index) == [name for name, row in PROPERTIES.items() if not row.tree]
    queued = instance.replace(queue=["a", "b"])
    assert list(fairlp.audit(queued, fairlp.allocate(queued, "drf"), tries=10).index) == list(
        PROPERTIES
    )
    assert list(audited(instance, allocation, "envy-free", "feasible").index) == [
        "envy-free",
        "feasible",
    ]
    with pytest.raises(UnknownNameError, match="did you mean 'envy-free'"):
        fairlp.audit(instance, allocation, "envy free")
    with pytest.raises(InstanceError, match="shape"):
        fairlp.audit(instance, np.zeros((3, 1)))
    with pytest.warns(FairlpWarning, match="'B', who counts as running none"):
        fairlp.audit(instance, pd.DataFrame({"pool": [1.0]}, index=["A"]), "feasible")
    with pytest.raises(InstanceError, match="'C'"):
        fairlp.audit(instance, pd.DataFrame({"pool": [1.0]}, index=["C"]))


def test_reading_what_a_scheduler_did(tmp_path):
    instance = examples.load("wang-figure-1")
    allocation = fairlp.allocate(instance, "drfh")
    wide = tmp_path / "wide.csv"
    allocation.to_csv(wide)
    assert read_tasks(wide, instance).to_numpy() == pytest.approx(allocation.tasks_array)
    long = tmp_path / "long.csv"
    long.write_text("user,server,tasks\nuser1,server1,4\nuser1,server1,2\nuser2,server2,3\n")
    assert read_tasks(long, instance).to_numpy().tolist() == [[6, 0], [0, 3]]
    for text, message in (
        ("server1\n1\n", "no column 'user'"),
        ("user,server1\nuser9,1\n", "user 'user9'"),
        ("user,server7\nuser1,1\n", "server 'server7'"),
        ("user,server1\nuser1,many\n", "'many'; expected a finite number"),
        (f"user,server1\nuser1,{'9' * 400}\n", "9999; expected a finite number"),
        (f"user,server,tasks\nuser1,server1,{'9' * 400}\n", "9999; expected a finite number"),
        ("user,server1\nuser1,1\nuser1,2\n", "twice"),
        ("", "could not be read"),
    ):
        long.write_text(text)
        with pytest.raises(FileFormatError, match=message):
            read_tasks(long, instance)


def test_an_audit_whose_program_has_no_answer_is_no_answer(monkeypatch):
    def fails(*_, **__):
        raise SolverError("out of time")

    monkeypatch.setattr(
        basics, "PerServerMarket", type("PerServerMarket", (), {"of": staticmethod(fails)})
    )
    findings = fairlp.audit(pool(), np.array([[1.0], [1.0]]), "non-wasteful")
    assert (
        findings.holds.iloc[0] is None
        and "it could not be judged: out of time" in findings.witness.iloc[0]
    )


def test_divisions_are_looked_up_by_name():
    instance = Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    tasks = fairlp.allocate(instance, "drf").tasks
    for spelt in ("tdm", "TDM"):
        assert not audited(instance, tasks, "feasible", division=spelt).holds["feasible"]
        assert (
            fairlp_clusters.blockers(instance, tasks, division=spelt)["resource"].eq("time").all()
        )
    for question in (
        partial(audited, instance, tasks, "feasible"),
        partial(fairlp_clusters.blockers, instance, tasks),
    ):
        with pytest.raises(
            UnknownNameError, match="no division is called 'time'; known: 'rdm', 'tdm'"
        ):
            question(division="time")
    with pytest.raises(InstanceError, match="tries=-1"):
        audited(instance, tasks, "feasible", tries=-1)
