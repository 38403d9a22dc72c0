"""Statistics of a run, against numbers worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp_research.study import statistics
from study_functions import make

CLUSTER = Instance.from_arrays(np.ones((6, 1)), [[100]])
WEIGHTED = Instance.from_arrays([[1.0, 4.0], [3.0, 1.0]], [[9, 18]], weights=[1, 2])


def totals(*values):
    """An allocation of which only totals and times matter."""
    return SimpleNamespace(
        totals=pd.Series(values, dtype=float), times={"build": 1.0, "solve": 0.5}
    )


def test_deviation_counts_as_the_tables_of_the_paper():
    exact, fast = totals(10, 10, 10, 10, 10, 10), totals(9, 8, 5, 11, 12, 10)
    deviation = statistics.deviation(CLUSTER, {"a": exact, "b": fast}, of="b", from_="a")
    assert deviation == {
        "under_1": 1, "under_2": 1, "under_more": 1, "under_max": 5.0, "under": 3,
        "over_1": 1, "over_2": 1, "over_more": 0, "over_max": 2.0, "over": 2,
    }  # fmt: skip
    counts = [value for name, value in deviation.items() if not name.endswith("max")]
    assert all(isinstance(count, int) for count in counts)


def test_deviation_ignores_rounding_and_counts_a_fraction_of_a_task_as_one():
    exact = totals(1e6, 3.0, 3.0, 3.0, 0.0, 0.0)
    fast = totals(1e6 + 1e-7, 2.75, 1.5, 3.0 - 1e-12, 0.0, 1e-3)
    deviation = statistics.deviation(CLUSTER, {"a": exact, "b": fast}, of="b", from_="a")
    names = ("under_1", "under_2", "under", "under_max", "over_1", "over", "over_max")
    assert [deviation[name] for name in names] == [1, 1, 2, 1.5, 1, 1, 1e-3]


def test_jain_of_equal_shares_and_of_one_user():
    instance = Instance.from_arrays(np.ones((4, 1)), [[8]], weights=[1, 1, 2, 2])
    allocations = {"a": totals(1, 1, 2, 2), "b": totals(3, 0, 0, 0), "c": totals(0, 0, 0, 0)}
    assert statistics.jain(instance, allocations) == {
        "a": pytest.approx(1),
        "b": pytest.approx(1 / 4),
        "c": 1,
    }
    assert list(statistics.jain(instance, allocations, of="b")) == ["b"]


def test_jains_index_is_of_dominant_shares_by_weight():
    """Shares of 2/9 and 1/3 a task: 3/2 and 2 tasks are 1/3 and 2/3, equal by weight."""
    assert statistics.jain(WEIGHTED, {"a": totals(1.5, 2)})["a"] == pytest.approx(1)
    assert statistics.jain(WEIGHTED, {"a": totals(3, 2)})["a"] == pytest.approx(0.9)
    summary = statistics.summary(
        WEIGHTED,
        {"a": SimpleNamespace(totals=pd.Series([9.0, 3.0]), pool_utilization=pd.Series())},
    )
    assert [summary["a.smallest_share"], summary["a.largest_share"]] == pytest.approx([1, 2])


def test_summary_has_the_figures_of_a_comparison():
    instance = fairlp.examples.khamse_ashari_figure_1()
    summary = statistics.summary(instance, {"x": fairlp.allocate(instance, "tsf")})
    figures = fairlp.compare(instance, ["tsf"], value="summary").loc["tsf"]
    assert list(summary.values()) == figures.tolist()
    assert list(summary) == [
        "x.tasks", "x.smallest_share", "x.median_share", "x.largest_share", "x.used_cpu", "x.used_memory",
        "x.used_network",
    ]  # fmt: skip


def test_seconds_are_a_statistic_of_their_own():
    assert statistics.seconds(CLUSTER, {"a": totals(1)}) == {"a": 1.5}
    columns = make(runs=1).run(progress=False).statistics
    assert not [name for name in columns if "second" in name]
