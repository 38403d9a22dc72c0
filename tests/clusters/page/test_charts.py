"""Charts: the same in Python as on the page, at the first level of several queues."""

from __future__ import annotations

import json
import re

import pytest

import fairlp
import fairlp_clusters
from report_instances import queued

for package in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(package)


@pytest.mark.slow
def test_charts_are_the_same_in_python(page):
    instance, observed = queued()
    charts = fairlp_clusters.charts(instance, observed=observed)
    inside = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1])
    assert {name: chart.to_dict()["description"] for name, chart in charts.items()} == {
        name: spec["description"] for name, spec in inside.items()
    }
    assert list(charts) == ["who", "queues", "users", "servers", "mechanisms"]
    parts = [row["part"] for rows in charts["who"].to_dict()["datasets"].values() for row in rows]
    assert sum(parts) == pytest.approx(len(instance.resources))  # with what is free, all of each
    assert list(fairlp_clusters.charts(fairlp.examples.load("wang-figure-1"))) == [
        "users",
        "servers",
        "mechanisms",
    ]


def test_queues_are_drawn_at_the_first_level_that_has_several():
    instance, observed = queued()
    deep = instance.replace(queue=[f"all/{path}" for path in instance.queue], queues={})
    spec = fairlp_clusters.charts(deep, observed=observed)["who"].to_dict()
    assert "level 2" in spec["description"]
    assert {row["queue"] for rows in spec["datasets"].values() for row in rows} == {
        "all/org",
        "all/lab",
        "not in use",
    }
