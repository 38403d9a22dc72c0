"""The search for counterexamples: seeded, simplified, honest about what it leaves out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from audit_cases import case, failing, fails, rated, two
from fairlp import Instance
from fairlp.auditing import Finding, search
from fairlp.auditing.audits import case_of
from fairlp.auditing.findings import AuditCase
from fairlp.auditing.search import Search, random_instance
from fairlp.errors import (
    FairlpWarning,
    UnknownNameError,
)
from fairlp.mechanisms.table import TABLE
from profiles import by_day, many


@pytest.mark.parametrize(
    ("holds", "margin", "breaks"), [(False, -0.1, True), (False, -1e-5, False), (None, -1, False)]
)
def test_a_search_takes_clear_violations_only(monkeypatch, holds, margin, breaks):
    findings = {"envy-free": Finding(holds, margin, "")}
    monkeypatch.setattr(search, "findings_of", lambda *_, **__: findings)
    row = fairlp.mechanisms.TABLE["drf"]
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    assert Search()._breaks(row, "envy-free", [], instance) is breaks
    assert dataclasses.replace(case(instance, [[1], [1]]), whole=True).whole


@pytest.mark.slow
def test_the_search_is_seeded_shrinks_and_gives_up_honestly():
    options = {"search": True, "seed": 3, "users": 3, "servers": 2}
    first, second = (
        fairlp.counterexample("drfh", "sharing incentive", **options) for _ in range(2)
    )
    assert first.equals(second) and len(first.users) == 2 and len(first.servers) == 2
    assert fairlp.counterexample("drf", "envy-free", search=True, tries=30) is None
    with pytest.raises(UnknownNameError, match="search=True"):
        fairlp.counterexample("drf", "envy-free")


def test_a_counterexample_is_none_where_the_solver_fails(monkeypatch):
    seek = search.Search(tries=60)
    assert seek.run("drf-discrete", "envy-free").instance is not None
    monkeypatch.setattr(search, "allocate", fails)
    assert seek.run("drf-discrete", "envy-free").instance is None


def test_a_simpler_instance_is_one_without_the_limits_of_queues():
    limited = two(queue=["q", "p"], queues={"q": {"weight": 2.0, "guarantee": {"resource1": 1.0}}})
    instances = [
        simpler
        for simpler in search._simpler(limited)
        if simpler.queues is not None and len(simpler.users) == 2
    ]
    without = [
        simpler
        for simpler in instances
        if len(simpler.resources) == 2 and not simpler.queues.has_limits
    ]
    assert limited.queues.has_limits and any(
        (simpler.queues.weights == limited.queues.weights).all() for simpler in without
    )


def test_a_search_with_nothing_in_the_domain_says_so(equal_time):
    with pytest.warns(FairlpWarning, match="0 of 50 instances were in the domain of 'equal-time'"):
        assert fairlp.counterexample(equal_time, "Pareto-optimal", search=True, tries=50) is None
    with pytest.warns(FairlpWarning, match="0 of 50 instances were in the domain"):
        assert (
            fairlp.counterexample("drf", "envy-free", search=True, tries=50, generator=rated)
            is None
        )
    counterexample = fairlp.counterexample(
        equal_time, "strategy-proof", search=True, tries=5, generator=rated
    )
    assert counterexample is None


def test_a_search_says_on_how_many_instances_the_mechanism_failed():
    def free(rng):
        return Instance.from_arrays(rng.integers(1, 5, (3, 2)), rng.integers(5, 13, (2, 2)))

    with pytest.warns(
        FairlpWarning, match=r"'fails-7' failed on 2\d of 40 instances in its domain: planted"
    ):
        assert (
            fairlp.counterexample(
                failing(7), "sharing incentive", search=True, tries=40, generator=free
            )
            is None
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drfh", "psdsf-tdm", "tsf", "h-drf"])
def test_task_limits_that_are_drawn_bind(name):
    """Without them the mechanism would give some user more: on nearly all instances that have any."""
    rng, row = np.random.default_rng(0), TABLE[name]
    limited = binding = 0
    for _ in range(100):
        instance = random_instance(rng, row, "Pareto-optimal", 4, 3, 3)
        if np.isinf(instance.task_limits).all() or row.undefined(instance):
            continue
        limited += 1
        free = fairlp.allocate(instance.replace(task_limits=None), name).totals.to_numpy()
        binding += bool((instance.task_limits < free * (1 - 1e-9)).any())
    assert limited >= 20 and binding >= 0.9 * limited


@pytest.mark.parametrize("options", [{}, {"oversized": "drop"}])
@pytest.mark.parametrize("name", ["drf", "drfh", "njc", "psdsf-rdm", "h-drf"])
def test_a_lie_is_run_to_the_same_bits_as_an_allocation(name, options):
    rng = np.random.default_rng(0)
    row = TABLE[name]
    too_large = 0
    for _ in by_day(range(20), 4):
        instance = random_instance(rng, row, "strategy-proof", 3, 3, 2)
        if row.undefined(instance):
            continue
        truth = fairlp.allocate(instance, name, **options)
        audited = case_of(instance, truth, options=options)
        demands = instance.demands.copy()
        demands[0] *= 7  # which may fit no server
        lie = instance.derived(demands=demands)
        too_large += lie.has_oversized
        second = audited.again(lie)
        expected = fairlp.allocate(lie.derived(), name, **options)
        assert second.tasks_array.tobytes() == expected.tasks_array.tobytes()
        assert second.totals.to_numpy().tobytes() == expected.totals.to_numpy().tobytes()
    assert too_large


@pytest.mark.slow
def test_a_search_finds_what_the_full_allocations_of_its_lies_find(monkeypatch):
    for name, property_name in (("psdsf-rdm", "strategy-proof"), ("drfh", "population-monotonic")):
        search = Search(tries=40, lies=20)
        result = search.run(name, property_name)
        with monkeypatch.context() as patch:
            patch.setattr(
                AuditCase,
                "again",
                lambda case, lie: fairlp.allocate(lie, case.mechanism, **case.options),
            )
            expected = search.run(name, property_name)
        assert str(result) == str(expected)
        assert (result.instance is None) == (expected.instance is None)
        assert result.instance is None or result.instance.equals(expected.instance)


def test_instances_for_bottleneck_fairness_have_one_resource_that_all_need_most():
    """On every server where a user can run, it takes most of the first resource."""
    rng = np.random.default_rng(0)
    row = TABLE["tsf"]
    for _ in range(many(4000)):
        instance = random_instance(rng, row, "bottleneck", 4, 3, 3)
        for demand, eligible in zip(instance.demands, instance.eligible, strict=True):
            needed = demand > 0
            capacities = instance.capacities[eligible][:, needed]
            parts = demand[needed] / capacities[(capacities > 0).all(axis=1)]
            assert needed[0]
            assert (parts[:, [0]] >= parts * (1 - 1e-12)).all()


def test_a_demand_that_is_to_dominate_is_a_whole_task_at_least():
    demands, capacities = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[9.0, 9.0]])
    assert search._dominating(demands, capacities, None).tolist() == [1, 1]
    rich = np.array([[1.0, 99.0]])
    assert search._dominating(np.array([[0.0, 1.0]]), rich, None).tolist() == [1]
