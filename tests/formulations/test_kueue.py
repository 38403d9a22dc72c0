"""The programs of Kueue's quotas as models: numbers by hand."""

from __future__ import annotations

import pytest

import fairlp


def queues(**limits):
    """Two queues with 12 and 6 of the 48 cores as their nominal quota; tasks are of 2 and 3 cores."""
    rows = {"A": {"nominal": {"cpu": 12}}, "B": {"nominal": {"cpu": 6}}}
    return fairlp.Instance.from_arrays(
        [[2.0, 1.0], [3.0, 1.0]],
        [[48.0, 48.0]],
        users=["a", "b"],
        resources=["cpu", "memory"],
        queue=["A", "B"],
        queues=rows,
        **limits,
    )


def test_quotas_limit_what_queues_use_together_below_what_servers_have():
    model = fairlp.formulate(queues(), "kueue")
    solution = model.solve()
    assert solution.objective == pytest.approx(6 / 48)
    assert solution.values["g"].sum(axis=1).to_dict() == pytest.approx({"a": 12 / 48, "b": 6 / 48})


def test_what_a_queue_does_not_ask_for_is_lent():
    solution = fairlp.formulate(queues(task_limits=[3, 100]), "kueue").solve()
    assert solution.values["g"].sum(axis=1)["a"] == pytest.approx(6 / 48)
    answer = fairlp.allocate(queues(task_limits=[3, 100]), "kueue")
    assert answer.totals.to_dict() == pytest.approx({"a": 3, "b": 4})
