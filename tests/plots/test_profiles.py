"""Figures of curves: performance profiles and users over time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp_research
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


def test_users_who_are_not_there_have_no_bubbles():
    users = pd.DataFrame({"dedicated": [], "shared": [], "submitted": []}, dtype=float)
    (axis,) = fairlp_research.plots.plot_dedicated_clouds(SimpleNamespace(users=users)).axes
    assert axis.get_legend() is None and not len(axis.collections[0].get_offsets())
    users.loc["ann"] = [0.5, 0.75, 100.0]
    (axis,) = fairlp_research.plots.plot_dedicated_clouds(SimpleNamespace(users=users)).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["100"]
    assert axis.collections[0].get_offsets().tolist() == [[0.5, 0.75]]


def test_of_many_users_over_time_nine_have_colours_and_one_name_is_of_the_others():
    times = np.array([0.0, 1.0, 2.0])
    users = [f"u{n}" for n in range(30)]
    shares = pd.DataFrame(
        [[n / 100, 0.0, (29 - n) / 50] for n in range(30)], columns=times, index=users
    ).T
    usage = pd.concat({"cpu": shares}, axis=1, names=["resource", "user"])
    simulated = SimpleNamespace(
        usage=usage, shares=shares, utilization=pd.DataFrame(0.0, index=times, columns=["cpu"])
    )
    figure = fairlp_research.plots.plot_user_shares(simulated)
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
    assert (
        len(legend_names(fairlp_research.plots.plot_user_shares(simulated, users=users[:13]))) == 13
    )


def test_a_profile_steps_from_1_to_past_the_slowest_and_begins_with_the_best_solver():
    ratios = pd.DataFrame({"slow": [4.0, np.inf], "fast": [1.0, 1.0], "mixed": [2.0, 5.0]})
    figure = fairlp_research.plots.plot_profile(ratios)
    (axis,) = figure.axes
    steps = {line.get_label(): line.get_xydata().tolist() for line in axis.lines}
    assert list(steps) == ["fast", "mixed", "slow"] == legend_names(figure)
    assert steps["fast"] == [[1, 1], [1, 1], [6, 1]]
    assert steps["mixed"] == [[1, 0], [2, 0.5], [5, 1], [6, 1]]
    assert steps["slow"] == [[1, 0], [4, 0.5], [6, 0.5]]
    assert axis.get_xscale() == "log" and axis.get_xlim() == (1, 6)
    assert axis.get_ylim() == (-0.02, 1.02)
    (empty,) = fairlp_research.plots.plot_profile(ratios[:0]).axes
    assert empty.get_xlim() == (1, 2) and not empty.lines[0].get_ydata().any()


def test_a_frontier_is_named_by_alpha_and_begins_at_a_level_of_0():
    table = {"total_share": [1.5, 1.2], "smallest_level": [0.2, 0.4]}
    points = pd.DataFrame(table, index=[1.0, np.inf])
    markers = pd.DataFrame(table, index=["drf", "observed"])
    figure = fairlp_research.plots.plot_frontier(points, markers)
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.texts] == ["1", "∞"]
    assert [text.xy for text in axis.texts] == [(1.5, 0.2), (1.2, 0.4)]
    curve, *marked = axis.lines
    assert curve.get_xydata().tolist() == [[1.5, 0.2], [1.2, 0.4]]
    assert [line.get_xydata().tolist() for line in marked] == [[[1.5, 0.2]], [[1.2, 0.4]]]
    assert [line.get_marker() for line in marked] == ["o", "s"]
    assert len({line.get_color() for line in axis.lines}) == 3
    assert all(curve.get_zorder() < line.get_zorder() for line in marked)
    assert axis.get_ylim()[0] == 0 and axis.get_ylim()[1] > 0.4
    assert legend_names(figure) == ["α-fair", "drf", "observed"]


def tracking():
    """Two servers over three times; bob is away from 1 to 3, and ann from 4 to the end."""
    index = pd.Index([0.0, 2.0, 5.0], name="time")
    columns = pd.MultiIndex.from_product([["drf", "tsf"], ["s1", "s2"], ["cpu", "ram"]])
    utilization = pd.DataFrame(np.arange(24).reshape(3, 8) / 24, index=index, columns=columns)
    changes = pd.DataFrame(
        [(1.0, "bob", "leaves"), (3.0, "bob", "enters"), (4.0, "ann", "leaves")],
        columns=["time", "user", "event"],
    )
    instance = SimpleNamespace(resources=("cpu", "ram"), servers=("s1", "s2"))
    return SimpleNamespace(
        instance=instance,
        mechanisms=["drf", "tsf"],
        utilization=utilization,
        changes=changes,
    )


def test_a_tracking_has_a_panel_a_server_from_the_first_time_to_the_last():
    tracked = tracking()
    figure = fairlp_research.plots.plot_tracking(tracked)
    assert [axis.get_title() for axis in figure.axes] == ["cpu of s1", "cpu of s2"]
    assert [axis.get_ylabel() for axis in figure.axes] == [style.CAPACITY_USED, ""]
    for axis, server in zip(figure.axes, ("s1", "s2"), strict=True):
        assert axis.get_xlim() == (0, 5) and axis.get_ylim() == (0, 1.05)
        for line in axis.lines:
            used = tracked.utilization[(line.get_label(), server, "cpu")]
            assert line.get_ydata().tolist() == used.tolist()
    (axis,) = fairlp_research.plots.plot_tracking(
        tracked, "ram", servers=["s2"], mechanisms=["tsf"]
    ).axes
    assert axis.get_title() == "ram of s2" and len(axis.lines) == 1


def test_users_who_are_away_are_shaded_until_they_enter_or_to_the_end():
    (axis,) = fairlp_research.plots.plot_tracking(tracking(), servers=["s1"]).axes
    spans = [patch.get_extents().transformed(axis.transData.inverted()) for patch in axis.patches]
    assert [(span.x0, span.x1) for span in spans] == [
        (pytest.approx(1), pytest.approx(3)),
        (pytest.approx(4), pytest.approx(5)),
    ]
    assert [(text.get_text(), text.xy[0]) for text in axis.texts] == [
        ("bob away", 2.0),
        ("ann away", 4.5),
    ]
