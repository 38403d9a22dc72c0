"""``certify()`` of whole tasks: loops replayed and leximins enumerated, from their definitions."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import fairlp
from fairlp import Instance, examples
from fairlp.mechanisms.max_min import enumeration
from fairlp.mechanisms.whole_tasks import proof
from profiles import many

#: What makes answers, and what a proof must not ask.
MAKERS = ("placement", "filling", "karma", "leximin", "methods", "solvers", "formulations")
PLACEMENTS = (
    ("drfh-first-fit", {}),
    ("drfh-first-fit", {"ties": "index"}),
    ("drfh-best-fit", {}),
    ("drfh-best-fit", {"unit": "largest-server", "ties": "smaller"}),
    ("slots", {"slots": 5}),
)


def drawn(seed, servers=4):
    """Small whole numbers, some of them tenths: limits, weights, several of each server, placement constraints."""
    rng = np.random.default_rng(seed)
    n, k, r = int(rng.integers(1, 6)), int(rng.integers(1, servers)), int(rng.integers(1, 4))
    demands = rng.integers(0, 5, (n, r)).astype(float)
    demands[~demands.any(axis=1), 0] = 1
    capacities = rng.integers(1, 20, (k, r)).astype(float)
    capacities[0] = np.maximum(capacities[0], demands.max(axis=0))
    unit = rng.choice([1.0, 10.0])
    eligible = rng.random((n, k)) < 0.8
    eligible[:, 0] = True
    return Instance.from_arrays(
        demands / unit,
        capacities / unit,
        counts=rng.integers(1, 4, k) if servers > 2 else None,
        weights=rng.integers(1, 4, n),
        task_limits=np.where(rng.random(n) < 0.4, rng.integers(1, 6, n), np.inf),
        eligible=eligible,
    )


def one_task_less(allocation):
    """The allocation without one of its tasks."""
    tasks = allocation.tasks_array.copy()
    user, server = np.argwhere(tasks > 0)[0]
    tasks[user, server] -= 1
    return dataclasses.replace(allocation, tasks_array=tasks)


def quanta(seed):
    """Karma's answers to four quanta, each with the credits of the last."""
    rng = np.random.default_rng(seed)
    users, slices, state = int(rng.integers(1, 6)), int(rng.integers(1, 30)), None
    size = rng.choice([1.0, 0.1, 0.3])
    for _ in range(4):
        instance = Instance.from_arrays(
            [[size]] * users, [[size * slices]], task_limits=rng.integers(0, 20, users)
        )
        options = {"alpha": rng.choice([0, 0.3, 0.5, 1]), "credits": int(rng.choice([0, 3, 1000]))}
        allocation = fairlp.allocate(instance, "karma", state=state, **options)
        state = allocation.state
        yield allocation


@pytest.mark.parametrize("module", [enumeration, proof])
def test_the_proof_imports_nothing_that_makes_answers(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name for module in modules for name in module.split(".")}.isdisjoint(MAKERS)


@pytest.mark.parametrize("seed", range(many(200)))
def test_placements_are_replayed_and_others_refused(seed):
    for mechanism, options in PLACEMENTS:
        allocation = fairlp.allocate(drawn(seed), mechanism, **options)
        verdict = allocation.certify()
        assert verdict and "replayed in exact arithmetic" in verdict.message
        if allocation.tasks_array.any():
            assert "are right" in one_task_less(allocation).certify().message


def test_a_placement_by_another_rule_is_refused():
    instance = examples.load("wang-figure-1")
    best = fairlp.allocate(instance, "drfh-best-fit")
    first = fairlp.allocate(instance, "drfh-first-fit")
    verdict = dataclasses.replace(best, tasks_array=first.tasks_array).certify()
    assert not verdict and "the loop of best-fit" in verdict.message


def test_servers_that_are_alike_but_for_rounding_decide_nothing():
    """The second server is like the task by less than the step in which distances are told apart."""
    instance = Instance.from_arrays([[1.0, 1.0]], [[2.0, 2.0 + 2e-12], [2.0, 2.0]], task_limits=[1])
    allocation = fairlp.allocate(instance, "drfh-best-fit")
    case = dataclasses.replace(allocation, tasks_array=allocation.tasks_array[:, ::-1])
    verdicts = [allocation.certify(), case.certify()]
    assert not all(verdicts)
    assert all(verdict or verdict.message.startswith("not proved") for verdict in verdicts)


@pytest.mark.parametrize("seed", range(many(200)))
def test_quanta_of_karma_are_replayed_and_others_refused(seed):
    for allocation in quanta(seed):
        assert allocation.certify()
        if allocation.tasks_array.any():
            assert "Karma's algorithm" in one_task_less(allocation).certify().message


@pytest.mark.parametrize("seed", range(many(100)))
def test_leximins_on_one_server_are_enumerated(seed):
    instance = drawn(seed, servers=2)
    best = fairlp.allocate(instance, "drf-milp")
    verdict = best.certify()
    assert verdict and "enumeration" in verdict.message
    heuristic = fairlp.allocate(instance, "drf-discrete")
    is_best = np.allclose(np.sort(best.levels), np.sort(heuristic.levels), rtol=1e-12)
    assert dataclasses.replace(best, tasks_array=heuristic.tasks_array).certify().holds == is_best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(many(80)))
def test_leximins_on_servers_are_enumerated_as_programs_prove_them(seed):
    instance = drawn(seed)
    for mechanism in ("drfh", "tsf"):
        allocation = fairlp.allocate(instance, mechanism, whole=True)
        verdict = allocation.certify(exact=True)
        assert verdict or "more branches than are looked at" in verdict.message
        assert allocation.certify()
        if allocation.tasks_array.any():
            worse = one_task_less(allocation)
            assert not worse.certify(exact=True) and not worse.certify()


def test_what_is_too_long_is_not_proved_and_says_its_size(monkeypatch):
    monkeypatch.setattr(proof, "MOST_STEPS", 10)
    monkeypatch.setattr(enumeration, "MOST_BRANCHES", 1)
    instance = Instance.from_arrays([[1.0], [1.0], [2.0]], [[90.0]], task_limits=[50, 50, 50])
    same_size = Instance.from_arrays([[1.0], [1.0]], [[90.0]], task_limits=[50, 50])
    for mechanism, small in (("slots", instance), ("drf-milp", instance), ("karma", same_size)):
        verdict = fairlp.allocate(small, mechanism).certify()
        assert not verdict and verdict.message.startswith("not proved: ")
        assert "expected at most 1" in verdict.message
    table = fairlp.validate(instance, "drf-milp")
    assert table["agrees"].all() and not table["proved"].any()
