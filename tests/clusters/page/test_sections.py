"""The sections of a page: trees of queues, first rows of large tables, and parts that are not understood."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_clusters
from fairlp_clusters.dues.share_comparison import ShareComparison
from fairlp_clusters.dues.subject import subject_of
from fairlp_clusters.page import sections
from fairlp_clusters.page.facts import Facts

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


@pytest.mark.slow
def test_of_many_only_the_largest_are_shown(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    count = 900
    instance = fairlp.Instance.from_arrays(
        rng.integers(1, 9, (count, 2)).astype(float),
        [[64.0, 256.0], [96.0, 192.0]],
        counts=[3000, 2000],
        users=[f"user {k}" for k in range(count)],
        queue=[f"q{k % 700}" for k in range(count)],
    )
    observed = np.zeros((count, 2))
    observed[:, 0] = 2
    text = fairlp_clusters.report(instance, tmp_path / "many.html", observed=observed).read_text(
        encoding="utf-8"
    )
    assert len(text.encode()) < 5_000_000
    assert "The 200 first of 900 rows; 700 are left out." in text
    assert "The whole table as text (CSV)" in text and "user 899," in text
    assert "… and 660 more" in text
    monkeypatch.setattr(sections, "MOST_CSV", 1000)
    facts = Facts(ShareComparison.of(subject_of(instance, observed)))
    from fairlp_clusters.page.page import page as made

    assert "user 899," not in made(facts)


def tree_of(waits=True):
    """Each queue beside its siblings; the bar of the largest of them, in use or fair, is whole."""
    table = pd.DataFrame(
        {"share": [0.6, 0.5, 0.1, 0.4, 0.1], "fair_share": [0.8, 0.4, 0.2, 0.2, 0.4], "guarantee": 0.0, "users": 1,
         "waiting": [3, 0, 0, 0, 2], "blocked_by": ["", "cpu", "", "", "cpu"], "owed": [0, 0, 0, 0, 1.0]},
        ["", "a", "a/x", "a/y", "b"],
    )  # fmt: skip
    tree = sections.tree_of(table, waits)
    return tree, {
        child["name"]: child for node in (tree, *tree["children"]) for child in node["children"]
    }


def test_bars_of_queues_are_drawn_beside_those_of_their_siblings():
    root, queues = tree_of()
    widths = {name: (node["has_width"], node["due_width"]) for name, node in queues.items()}
    assert (root["name"], root["has_width"], root["due_width"]) == (
        "whole cluster",
        "75.0",
        "100.0",
    )
    assert widths == {
        "a": ("100.0", "80.0"),
        "b": ("20.0", "80.0"),
        "x": ("25.0", "50.0"),
        "y": ("100.0", "50.0"),
    }
    assert root["figures"] == "has 60.0 %, fair 80.0 %, 1 user, 3 tasks wait"
    assert queues["a"]["figures"] == "has 50.0 %, fair 40.0 %, 1 user"
    assert queues["b"]["figures"] == "has 10.0 %, fair 40.0 %, 1 user, 2 tasks wait, stopped by cpu"
    assert tree_of(waits=False)[1]["b"]["figures"] == "fair 40.0 %, 1 user"


def test_queues_without_tasks_are_folded():
    """Of four queues two have nothing that runs or waits: their parents count them."""
    table = pd.DataFrame(
        {
            "share": [0.5, 0.5, 0.0, 0.0, 0.0],
            "fair_share": [0.5, 0.5, 0.0, 0.0, 0.0],
            "guarantee": [0.0, 0.0, 0.0, 0.2, 0.0],
            "users": [2, 1, 0, 0, 1],
            "waiting": [1, 0, 0, 0, 1],
            "blocked_by": "",
            "owed": 0.0,
        },
        ["", "a", "a/idle", "idle", "waits"],
    )
    root = sections.tree_of(table, waits=True)
    assert [child["name"] for child in root["children"]] == ["a", "waits"]
    assert (root["idle"], root["children"][0]["idle"], root["more"]) == (1, 1, 0)
