"""``benchmarks/faults.py --certificates``: it counts what is wrong, and what certify() believes of it."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp.mechanisms.max_min import methods
from fairlp.models.paths import path
from fairlp.models.trees import guarantees
from fairlp.solvers.leximin import leximin
from scripts import benchmark

SEEDS = range(6)


@pytest.fixture(scope="module")
def right():
    """The proved answers of the code as it is."""
    with benchmark("faults") as script:
        return script.answers(SEEDS, None)


@pytest.mark.slow
def test_without_a_fault_nothing_is_wrong_and_other_right_answers_are_believed(right):
    with benchmark("faults") as script:
        assert len(right) > 10
        plain = script.answers(SEEDS, right)
        assert plain["answers"] > 30 and plain["wrong"] == plain["believed"] == plain["errors"] == 0
        others = {key: (np.array(tasks) + 1).tolist() for key, tasks in right.items()}
        lied_to = script.answers(SEEDS, others)
        assert lied_to["wrong"] == lied_to["believed"] == lied_to["answers"]


@pytest.mark.slow
def test_with_a_fault_that_gives_wrong_answers_none_is_believed(right, monkeypatch):
    """Guarantees without task limits, limits that are reached too early, and tasks that are split by the wrong sums."""
    floors, split, full = guarantees.floors, leximin._split, path.Path.satisfied_at

    def unlimited(instance):
        return floors(instance.derived(task_limits=np.where(instance.task_limits > 0, np.inf, 0.0)))

    with benchmark("faults") as script:
        wrong_answers = 0
        for module, name, fault in (
            (methods, "floors", unlimited),
            (
                leximin,
                "_split",
                lambda grouped, members, *rest: split(grouped, members * 0.9, *rest),
            ),
            (
                path.Path,
                "satisfied_at",
                lambda self, t: full(self, t) | (self.active & (self.tasks > 1)),
            ),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, fault)
                counts = script.answers(SEEDS, right)
            wrong_answers += counts["wrong"]
            assert counts["believed"] == 0, name
        assert wrong_answers > 10
