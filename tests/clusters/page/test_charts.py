"""Charts: the same in Python as on the page, at the first level of several queues."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_clusters
from report_cases import queued

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


def heights(figure):
    """The heights of the bars of a figure, by series."""
    (axis,) = figure.axes
    return {
        bars.get_label(): np.array([bar.get_height() for bar in bars]) for bars in axis.containers
    }


def test_charts_are_the_same_in_python(page):
    instance, observed = queued()
    charts = fairlp_clusters.charts(instance, observed=observed)
    assert list(charts) == ["queues", "users"]
    for name, figure in charts.items():
        assert f'data-chart="{name}"' in page and figure.axes
    assert page.count("<svg") == len(charts)
    assert list(fairlp_clusters.charts(fairlp.examples.load("wang-figure-1"))) == [
        "users",
    ]


def test_the_bars_are_the_numbers_of_the_tables():
    instance, observed = queued()
    charts = fairlp_clusters.charts(instance, observed=observed)
    table = fairlp_clusters.fair_shares(instance, observed=observed, by="queue").iloc[1:]
    bars = heights(charts["queues"])
    assert bars["has"] == pytest.approx(table["share"].to_numpy())
    assert bars["fair"] == pytest.approx(table["fair_share"].to_numpy())
    (marks,) = charts["queues"].axes[0].collections
    guarantees = [segment[0, 1] for segment in marks.get_segments() if len(segment)]
    assert guarantees == pytest.approx([share for share in table["guarantee"] if share > 0])
