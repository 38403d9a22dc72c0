"""``certify()`` of ``kueue``: from the definition, by programs of its own, whatever made the answer."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import fairlp
from cohort_instances import (
    cohorts_and_strays,
    instance_of,
    lending_cohorts_and_strays,
    random_cohorts,
)
from fairlp.errors import NotDefinedError
from fairlp.mechanisms.max_min import quota_levels, quota_proof
from profiles import many

#: What makes answers, and what a proof must not ask.
MAKERS = ("trees", "kueue", "leximin", "methods", "rounds", "ladder", "policies", "region", "Lanes")


def cohorts_with(seed, change):
    """The instance of a seed whose queues' rows are changed: (weight, nominal, borrowing, lending) → another."""
    tree, users, pool = random_cohorts(seed)
    return instance_of({path: change(*row) for path, row in tree.items()}, users, pool)


def nominal_0_borrows_without_limit(weight, nominal, borrowing, lending):
    no_limit = [
        float("inf") if quota == 0 else limit
        for quota, limit in zip(nominal, borrowing, strict=True)
    ]
    return weight, nominal, no_limit, lending


def doubled_borrowing(weight, nominal, borrowing, lending):
    return weight, nominal, [2 * limit for limit in borrowing], lending


def lending_without_limit(weight, nominal, borrowing, lending):
    return weight, nominal, borrowing, [float("inf")] * len(lending)


def weights_left_out(weight, nominal, borrowing, lending):
    return 1.0, nominal, borrowing, lending


@pytest.mark.parametrize("module", [quota_levels, quota_proof])
def test_the_proof_imports_nothing_that_makes_answers(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {
        name
        for node in imports
        for name in [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    }
    assert names.isdisjoint(MAKERS)


@pytest.mark.parametrize("drawn", [random_cohorts, cohorts_and_strays, lending_cohorts_and_strays])
@pytest.mark.parametrize("seed", range(many(48)))
def test_answers_are_proved(seed, drawn):
    allocation = fairlp.allocate(instance_of(*drawn(seed)), "kueue")
    proof = allocation.certify()
    assert proof, proof.message
    with pytest.raises(NotDefinedError, match="no exact certificate"):
        allocation.certify(exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(many(100)))
def test_other_tasks_are_refused(seed):
    """A user has a little less, or all have, or none has anything: so little may be rounding, more is not."""
    rng = np.random.default_rng(seed)
    allocation = fairlp.allocate(instance_of(*random_cohorts(seed)), "kueue")
    tasks = allocation.tasks_array
    users_with_tasks = np.flatnonzero(tasks.sum(axis=1) > 1e-6)
    user = int(rng.choice(users_with_tasks))
    smaller_tasks = tasks.copy()
    for loss in (1e-4, 0.1):
        smaller_tasks[user] = tasks[user] * (1 - loss)
        for other in (smaller_tasks, tasks * (1 - loss)):
            proof = dataclasses.replace(allocation, tasks_array=other).certify()
            assert not proof and (loss < 0.01 or proof.message.startswith("not optimal"))
    proof = dataclasses.replace(allocation, tasks_array=tasks * 0).certify()
    assert not proof and proof.message.startswith("not optimal")


def refusals(change, seeds):
    """What certify() and the audit say of answers to instances whose quotas were read wrongly.

    Of each answer that differs from the right one: (whether it breaks a quota by the oracle's books, proof, finding).
    """
    for seed in seeds:
        instance = instance_of(*random_cohorts(seed))
        right = fairlp.allocate(instance, "kueue")
        wrong_allocation = fairlp.allocate(cohorts_with(seed, change), "kueue")
        if np.allclose(right.totals, wrong_allocation.totals, rtol=1e-4, atol=1e-4):
            continue
        read_back = dataclasses.replace(right, tasks_array=wrong_allocation.tasks_array)
        yield seed, read_back.certify(), fairlp.audit(instance, read_back, ["quotas kept"]).iloc[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "breaks"),
    [
        (nominal_0_borrows_without_limit, True),
        (doubled_borrowing, True),
        (lending_without_limit, True),
        (weights_left_out, False),
    ],
)
def test_answers_of_a_fault_in_the_tree_are_refused(change, breaks):
    judged = list(refusals(change, range(many(240))))
    assert judged
    for seed, proof, _ in judged:
        assert not proof, (seed, change.__name__)
    assert any(finding.holds is False for _, _, finding in judged) == breaks
    for _, proof, finding in judged:
        if finding.holds is False:
            assert proof.message.startswith("infeasible") and "may use" in finding.witness
