"""Audits where the mechanism fails on what the audit asks of it, and searches that have nothing to ask."""

from __future__ import annotations

import fairlp
from fairlp import Instance
from fairlp.auditing import promises, search
from fairlp.auditing.findings import Case
from fairlp.errors import SolverError


def fails(*_, **__):
    raise SolverError("out of memory")


def two(**more):
    return Instance.from_arrays([[1.0, 2.0], [2.0, 1.0]], [[12.0, 12.0]], users=["ann", "bob"], **more)


def test_one_name_instead_of_a_list_of_mechanisms():
    assert list(fairlp.api.allocate_all(two(), "drf")) == ["drf"]
    (found,) = fairlp.api.allocate_all(two(), "drf").values()
    assert found.mechanism == "drf"


def test_a_search_of_one_lie_has_none_to_tell():
    found = fairlp.audit(two(), fairlp.allocate(two(), "drf"), "strategy-proof", tries=1).iloc[0]
    assert found["holds"] is None and "there is no other demand or server to claim" in found["witness"]


def test_instances_on_which_the_solver_fails_do_not_count(monkeypatch):
    assert promises.count_broken("drf", "Pareto-optimal", 2, 0)[:2] == (2, 0)
    monkeypatch.setattr(promises, "allocate", fails)
    assert promises.count_broken("drf", "Pareto-optimal", 2, 0)[:2] == (0, 0)


def test_a_counterexample_is_none_where_the_solver_fails(monkeypatch):
    seek = search.Search(tries=60)
    assert seek.violation("drf-discrete", "envy-free") is not None
    monkeypatch.setattr(search, "allocate", fails)
    assert seek.violation("drf-discrete", "envy-free") is None


def test_a_simpler_instance_is_one_without_the_limits_of_queues():
    limited = two(queue=["q", "p"], queues={"q": {"weight": 2.0, "guarantee": {"resource1": 1.0}}})
    found = [one for one in search._simpler(limited) if one.queues is not None and len(one.users) == 2]
    without = [one for one in found if len(one.resources) == 2 and not one.queues.has_limits]
    assert limited.queues.has_limits and any((one.queues.weights == limited.queues.weights).all() for one in without)


def test_lies_of_a_queue_that_the_mechanism_does_not_take_do_not_pay(monkeypatch):
    instance = two(queue=["q", "q"])
    found = fairlp.allocate(instance, "h-drf")
    monkeypatch.setattr(Case, "again", fails)
    row = fairlp.audit(instance, found, "group strategy-proof", tries=3).iloc[0]
    assert row["holds"] is not True and "no lie that pays was found in 3 tries" in row["witness"]


def test_queues_of_one_user_have_no_lies_to_tell_together():
    alone = Instance.from_arrays([[1.0]], [[4.0]], queue=["q"])
    row = fairlp.audit(alone, fairlp.allocate(alone, "h-drf"), "group strategy-proof").iloc[0]
    assert row["holds"] is None and "no queue has two users" in row["witness"]
