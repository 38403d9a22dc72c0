"""The figures of the papers drawn again: ours as lines or dots, what the papers print as crosses."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairlp_research
from fairlp.errors import StudyError
from fairlp_research.papers import Ledger
from fairlp_research.papers.result import svg_of
from ledger_rows import ledger, row

#: What the papers print of each figure: (item, panel) → label → points.
PRINTED = {
    ("002 Table II", ""): {
        "paper, CPU": [(10, 35.1), (12, 42.2), (14, 43.9), (16, 45.4), (20, 40.6)],
        "paper, memory": [(10, 23.4), (12, 27.4), (14, 28.0), (16, 24.2), (20, 20.0)],
    },
    ("002 Figure 5", "cpu"): {"paper: mean of slots (Table II)": [(2, 43.9)]},
    ("002 Figure 5", "memory"): {"paper: mean of slots (Table II)": [(2, 28.0)]},
    ("002 Figure 6a", ""): {},
    ("002 Figure 6b", ""): {"paper: no improvement for small jobs": [(1, 0)]},
    ("003 Figure 6", "class C"): {"paper: user 4 leaves, returns": [(100, 0), (250, 0)]},
    ("003 Figure 6", "class D"): {"paper: user 4 leaves, returns": [(100, 0), (250, 0)]},
    ("004 Figure 4", ""): {"paper: (⅔, 11/12) is outside": [(2 / 3, 11 / 12)]},
    ("004 Figure 6", ""): {"paper: x(0) = 0 (Remark 4)": [(0, 0)]},
}


def axes_of(key):
    """Return the axes of an item's figure by the title of the panel."""
    (part,) = ledger(key).figure().subfigs
    return {axis.get_title(): axis for axis in part.axes}


def lines_of(key, panel=""):
    """Return the points of all that an item's panel shows, by label."""
    lines = axes_of(key)[panel].lines
    return {line.get_label(): np.column_stack(line.get_data()) for line in lines}


@pytest.mark.parametrize(("key", "panel"), PRINTED)
def test_crosses_are_what_the_paper_prints(key, panel):
    axis = axes_of(key)[panel]
    crosses = {
        line.get_label(): np.column_stack(line.get_data())
        for line in axis.lines
        if line.get_marker() in ("x", "+") and line.get_linestyle() == "None"
    }
    assert crosses.keys() == PRINTED[key, panel].keys()
    for label, points in PRINTED[key, panel].items():
        assert crosses[label] == pytest.approx(np.array(points))
        low, high = axis.get_ylim()
        assert (low <= crosses[label][:, 1]).all() and (crosses[label][:, 1] <= high).all()
    assert axis.get_xlabel() and len(axis.lines) > len(crosses)


@pytest.mark.parametrize(("key", "panel"), PRINTED)
def test_no_line_is_cut_off(key, panel):
    axis = axes_of(key)[panel]
    low, high = axis.get_ylim()
    heights = np.concatenate([line.get_ydata() for line in axis.lines])
    assert low <= np.nanmin(heights) and np.nanmax(heights) <= high


def test_the_distributed_procedure_is_drawn_for_its_300_seconds():
    lines = lines_of("003 Figure 6", "class D")
    (name,) = (label for label in lines if label.startswith("psdsf"))
    times, in_use = lines[name].T
    assert times[0] == 0 and times[-1] == 300 and len(times) == 301
    away = in_use[(times > 110) & (times < 250)]
    present = in_use[(times > 260) | ((times > 10) & (times < 100))]
    assert np.ptp(away) == 0 and away[0] < present.min()


def test_level_sets_have_their_level_and_lie_within_the_boundary():
    requests = np.array([[1 / 4, 2 / 3, 1, 1, 0], [1, 2 / 3, 0, 0, 1]])  # with dummies
    lines = lines_of("004 Figure 6")
    boundary = lines["t → ∞: the boundary of D"]
    assert (boundary @ requests).max(axis=1) == pytest.approx(1)
    for corner in ([0, 1], [2 / 3, 5 / 6], [1, 1 / 2], [1, 0]):
        assert abs(boundary - corner).max(axis=1).min() < 1e-9
    for level in (0.5, 1, 2, 4):
        points = lines[f"t = {level:g}"]
        f = -np.log(1 - points @ requests).sum(axis=1)
        assert f == pytest.approx(level, abs=0.05)


@pytest.mark.parametrize("key", ["002 Figure 7", "002 Figure 8"])
def test_a_dot_is_a_user_and_the_percentage_counts_them(key):
    lines = lines_of(key)
    right, up = lines.pop("users").T
    assert len(right) == 30  # 15 users, 2 draws
    (label,) = lines
    counted = ((up == 1) & (right < 1)) if key.endswith("7") else up < right
    assert f"ours {100 * counted.mean():.2g}" in label
    assert ("paper 20% of" if key.endswith("7") else "paper 2% of") in label


def test_figures_are_one_below_the_other_and_survive_json():
    several = ledger("002 Figure 6a", "002 Figure 6b")
    assert len(several.figure().subfigs) == 2
    again = Ledger.from_dict(json.loads(json.dumps(several.to_dict())))
    assert again == several
    chart = row("002 Figure 6a").answer.chart
    assert svg_of(chart) == svg_of(again.rows[0].answer.chart)


def test_an_item_without_a_figure_names_those_that_have_one():
    found = fairlp_research.reproduce("003", "Figure 1", progress=False)
    with pytest.raises(
        StudyError, match=r'none of these items has a figure: Figure 1.*002 "Table II"'
    ):
        found.figure()
