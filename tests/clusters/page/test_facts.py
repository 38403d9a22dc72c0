"""The facts of a page: prices, findings in words, and what a large instance leaves out."""

from __future__ import annotations

import pytest

import fairlp
from fairlp_clusters.dues.share_comparison import ShareComparison
from fairlp_clusters.dues.subject import subject_of
from fairlp_clusters.page.facts import (
    Facts,
    costly_properties,
    default_properties,
    is_large,
)
from report_cases import queued

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


def test_many_pairs_are_asked_what_is_quick(monkeypatch):
    instance, observed = queued()
    assert (
        not is_large(instance)
        and "Pareto-optimal" in default_properties(instance)
        and costly_properties(instance) == []
    )
    monkeypatch.setattr("fairlp_clusters.page.facts.MOST_PAIRS", 3)
    assert "Pareto-optimal" not in default_properties(
        instance
    ) and "leximin (tsf)" in costly_properties(instance)
    assert "caps kept" in default_properties(instance)
    free = instance.replace(queues=None)
    names = [set(Facts(ShareComparison.of(subject_of(free, observed)), None).comparison.index)]
    monkeypatch.undo()
    names.append(set(Facts(ShareComparison.of(subject_of(free, observed)), None).comparison.index))
    assert {"observed", "drfh", "tsf"} <= names[0] < names[1] and "ceei" in names[1] - names[0]
    assert names[1].isdisjoint(
        {"alpha-fair", "slots", "kueue"}
    )  # not compared by default, and not defined here


def test_the_dearest_price_is_what_more_of_it_adds():
    instance = fairlp.Instance.from_arrays(
        [[1.0, 1.0], [1.0, 2.0]], [[9.0, 100.0]], resources=["cpu", "memory"]
    )
    prices = Facts(
        ShareComparison.of(subject_of(instance), "drf")
    ).prices  # found without prices, so once more by programs
    assert prices[["resource"]].to_numpy().tolist() == [["cpu"]]
    level = fairlp.allocate(instance, "drf").levels.min()
    allocation_of_more = fairlp.allocate(instance.replace(capacities=[[9.09, 100.0]]), "drf")
    gained = (allocation_of_more.totals / fairlp.allocate(instance, "drf").totals - 1).min()
    assert prices["price"][0] * 0.09 == pytest.approx(gained * level) and prices["price"][
        0
    ] == pytest.approx(level / 9)
    assert prices[["worth", "server"]].to_numpy().tolist() == [[1.0, 1.0]]


def test_what_capacity_is_worth_is_shared_by_classes():
    """One resource: a unit is worth the same everywhere, so classes are worth what they have."""
    instance = fairlp.Instance.from_arrays(
        [[1.0], [1.0]], [[4.0], [10.0]], servers=["s", "t"], counts=[5, 1]
    )
    prices = Facts(ShareComparison.of(subject_of(instance), "drfh")).prices
    assert prices["class"].tolist() == ["4 resource1", "10 resource1"]
    assert prices["worth"].tolist() == pytest.approx([20 / 30, 10 / 30])
    assert prices["server"].tolist() == pytest.approx([4 / 30, 10 / 30])
    assert len(set(prices["price"])) == 1
