"""Residuals of planted allocations, agreement of planted results, certificates that fail, and domains."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import NotDefinedError
from fairlp.mechanisms import mechanism
from fairlp.mechanisms.allocation import altered
from fairlp.mechanisms.table import TABLE
from profiles import many
from tree_instances import tree_instance

INF = np.inf


def allocation(tasks, **options):
    instance = Instance.from_arrays(
        [[1.0, 2.0], [1.0, 1.0]],
        [[10.0, 10.0], [4.0, 8.0]],
        eligible=[[True, True], [True, False]],
        **options,
    )
    answer = fairlp.allocate(instance, "c-drfh")
    return dataclasses.replace(answer, tasks_array=np.array(tasks, dtype=float))


@pytest.mark.parametrize("deviation", [1e-6, 0.5, 1.0])
@pytest.mark.parametrize(
    ("tasks", "limits", "residual"),
    [
        ([[2, 4], [6, 0]], None, lambda deviation: 0.0),
        ([[2, 4], [6, 0]], [6, 6], lambda deviation: 0.0),
        (
            lambda deviation: [[2, 4 + 4 * deviation], [6, 0]],
            None,
            lambda deviation: deviation,
        ),  # over capacity
        (
            lambda deviation: [[2, 4], [6, deviation]],
            [INF, INF],
            lambda deviation: deviation,
        ),  # where it may not run
        (
            lambda deviation: [[0, -deviation], [6, 0]],
            None,
            lambda deviation: deviation,
        ),  # less than nothing
        (
            lambda deviation: [[2, 0], [4 * (1 + deviation), 0]],
            [INF, 4],
            lambda deviation: deviation,
        ),  # more than it has
    ],
)
def test_the_residual_is_the_largest_violation(tasks, limits, residual, deviation):
    planted = tasks(deviation) if callable(tasks) else tasks
    planted_allocation = allocation(planted, task_limits=limits)
    assert planted_allocation.residual == pytest.approx(residual(deviation), rel=1e-6, abs=1e-15)
    assert planted_allocation.certify().holds is False or residual(deviation) == 0


def test_the_residual_counts_caps_of_queues():
    capped = {"queue": ["a", "b"], "queues": {"a": {"cap": {"resource1": 5}}}}
    assert allocation([[2, 4], [4, 0]], **capped).residual == pytest.approx(1 / 5)
    assert allocation([[2, 3], [4, 0]], **capped).residual == 0


def test_usage_is_of_what_tasks_need_at_given_rates():
    instance = Instance.from_arrays([[1.0], [1.0]], [[10.0]], rates=[[20.0], [10.0]])
    answer = fairlp.allocate(instance, "psdsf-rdm")
    planted = dataclasses.replace(answer, tasks_array=np.array([[10.0], [5.0]]))
    assert planted.usage.to_numpy().tolist() == [[10.0]] and planted.residual == 0
    assert dataclasses.replace(
        answer, tasks_array=np.array([[11.0], [5.0]])
    ).residual == pytest.approx(0.05)


def test_without_a_proof_there_is_no_certificate_whatever_the_method_said():
    case = dataclasses.replace(allocation([[2, 4], [6, 0]]), prove=None, certificate=True)
    for exact, kind in ((False, "no certificate"), (True, "no exact certificate")):
        with pytest.raises(NotDefinedError, match=kind):
            case.certify(exact=exact)


def test_domains_ask_every_user():
    plain = Instance.from_arrays([[1.0], [1.0]], [[10.0]])
    case = Instance.from_arrays([[1.0], [1.0]], [[10.0]], task_limits=[INF, 3])
    table = Instance.from_arrays([[1.0], [1.0]], [[10.0]], weights=[[1.0], [2.0]])
    assert mechanism._limits(plain) is None and "user2" in mechanism._limits(case)
    assert mechanism._weights_by_resource(plain) is None and mechanism._weights_by_resource(table)


@pytest.mark.parametrize("name", [row.name for row in TABLE.values() if row.prove is not None])
def test_allocations_can_be_sent_to_another_process(name):
    for instance in (fairlp.examples.ghodsi(), fairlp.examples.two_servers()):
        try:
            answer = fairlp.allocate(instance, name)
        except NotDefinedError:
            continue
        copy = pickle.loads(pickle.dumps(answer))
        assert copy.tasks.equals(answer.tasks) and copy.certify().holds == answer.certify().holds
        for table in ("rounds", "state"):
            before = getattr(answer, table)
            assert before is None or before.equals(getattr(copy, table))


def test_an_altered_allocation_has_the_tables_of_the_first():
    answer = fairlp.allocate(fairlp.examples.two_servers(), "drfh")
    noted = altered(answer, notes=("a note",))
    assert noted.notes == ("a note",) and noted.tasks_array is answer.tasks_array
    assert noted.rounds.equals(answer.rounds) and noted.state.equals(answer.state)
    assert altered(answer, rounds=None).rounds is None


@pytest.mark.parametrize("seed", range(many(30)))
def test_queues_at_a_depth_have_what_their_users_have(seed):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng)
    allocation = fairlp.allocate(instance, "h-drf")
    paths = list(instance.queue)
    for level in range(4):
        heads = ["/".join(path.split("/")[:level]) if path else "" for path in paths]
        table = allocation.by_queue(level)
        assert set(table.index) == set(heads)
        for head, row in table.iterrows():
            below = np.array([name == head for name in heads])
            amounts = (allocation.totals.to_numpy()[:, None] * instance.demands)[below].sum(axis=0)
            assert row["users"] == below.sum()
            assert row["tasks"] == pytest.approx(allocation.totals.to_numpy()[below].sum())
            assert row["share"] == pytest.approx((amounts / instance.pool).max())
