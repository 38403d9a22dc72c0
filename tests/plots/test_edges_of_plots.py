"""Figures of levels below all queues, and of more mechanisms than there are dashes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, plots
from fairlp.plots import allocations, style

pyplot = pytest.importorskip("matplotlib.pyplot")


def test_a_level_below_all_queues_is_that_of_the_lowest():
    tree = Instance.from_arrays([[1.0], [1.0]], [[6.0]], queue=["a", "b/c"])
    figure = plots.plot_queues(fairlp.allocate(tree, "h-drf"), level=7)
    assert {container.get_label() for container in figure.axes[0].containers} == {"not in use", "a", "b/c"}
    pyplot.close(figure)


def test_curves_of_many_mechanisms_are_told_apart():
    names = [f"m{k}" for k in range(2 * len(style.DASHES))]
    frame = pd.DataFrame(np.arange(2.0)[:, None] + np.arange(len(names)), columns=names)
    figure, axis = pyplot.subplots()
    allocations._rising_curves(axis, frame)
    looks = {(line.get_linestyle(), str(line.get_color()), line.get_linewidth()) for line in axis.lines}
    assert len(looks) == len(names) and [line.get_linestyle() for line in axis.lines[1:]].count("-") == 0
    pyplot.close(figure)


def test_a_profile_in_axes_of_the_callers_own_leaves_the_figure_as_it_is():
    ratios = pd.DataFrame(np.ones((2, 30)), columns=[f"solver{k}" for k in range(30)])
    figure, axis = pyplot.subplots(figsize=(5, 2))
    assert plots.plot_profile(ratios, ax=axis) is figure
    assert figure.get_figheight() == 2 and len(axis.lines) == 30
    pyplot.close(figure)


def test_users_who_are_not_there_have_no_bubbles():
    users = pd.DataFrame({"dedicated": [], "shared": [], "submitted": []}, dtype=float)
    (axis,) = plots.plot_dedicated_clouds(SimpleNamespace(users=users)).axes
    assert axis.get_legend() is None and not len(axis.collections[0].get_offsets())
    users.loc["ann"] = [0.5, 0.75, 100.0]
    (axis,) = plots.plot_dedicated_clouds(SimpleNamespace(users=users)).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["100"]
    assert axis.collections[0].get_offsets().tolist() == [[0.5, 0.75]]
