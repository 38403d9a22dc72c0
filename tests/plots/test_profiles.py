"""Figures of curves: performance profiles and users over time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlp import plots
from fairlp.plots import style
from figure_checks import legend_names, outside

pytest.importorskip("matplotlib")


def test_long_names_in_the_legend_leave_the_curves_their_room():
    names = ["short", "a mechanism with a name that is rather long"]
    frame = pd.DataFrame(np.linspace(0.1, 0.2, 50).reshape(25, 2), columns=names)
    widths = {}
    for columns in (names[:1], names):
        figure = plots.plot_shares(frame[columns])
        assert outside(figure)
        (axis,) = figure.axes
        widths[len(columns)] = axis.get_window_extent().width
        label = axis.xaxis.label.get_window_extent()
        assert label.x0 >= 0
        assert label.x1 <= figure.bbox.width
        assert axis.get_ylim()[0] == 0
    assert widths[2] > 0.9 * widths[1]


pyplot = pytest.importorskip("matplotlib.pyplot")


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


def test_of_many_users_over_time_nine_have_colours_and_one_name_is_of_the_others():
    times = np.array([0.0, 1.0, 2.0])
    users = [f"u{n}" for n in range(30)]
    shares = pd.DataFrame(
        [[n / 100, 0.0, (29 - n) / 50] for n in range(30)], columns=times, index=users
    ).T
    usage = pd.concat({"cpu": shares}, axis=1, names=["resource", "user"])
    found = SimpleNamespace(
        usage=usage, shares=shares, utilization=pd.DataFrame(0.0, index=times, columns=["cpu"])
    )
    figure = plots.plot_user_shares(found)
    assert legend_names(figure) == ["21 others", *users[:9]]
    for axis in figure.axes:
        colours = [line.get_color() for line in axis.lines]
        assert len(colours) == 30 and colours.count(style.OTHERS) == 21
        drawn = {
            line.get_label(): line.get_ydata().tolist()
            for line in axis.lines
            if line.get_color() != style.OTHERS
        }
        assert drawn == {user: shares[user].tolist() for user in users[:9]}
        assert axis.get_ylim() == (0, pytest.approx(1.1 * 29 / 50))
    assert len(legend_names(plots.plot_user_shares(found, users=users[:13]))) == 13
