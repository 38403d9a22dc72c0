"""Figures of simulated runs, of users who come and go, and of methods that converge: each number where it belongs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_research
from fairlp import plots
from fairlp.plots import style

pytest.importorskip("matplotlib")


def lines_of(axis):
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines
    }


def over_time(seconds):
    """Shares of two users of two resources at three times."""
    times = np.array([0.0, seconds / 2, seconds])
    columns = pd.MultiIndex.from_product(
        [["cpu", "memory"], ["ann", "bob"]], names=["resource", "user"]
    )
    usage = pd.DataFrame(np.arange(12).reshape(3, 4) / 20, index=times, columns=columns)
    shares = pd.DataFrame({"ann": [0.1, 0.2, 0.3], "bob": [0.3, 0.2, 0.1]}, index=times)
    return SimpleNamespace(
        usage=usage,
        shares=shares,
        utilization=pd.DataFrame(0.0, index=times, columns=["cpu", "memory"]),
    )


@pytest.mark.parametrize(("seconds", "unit", "scale"), [(7100.0, "s", 1.0), (7200.0, "h", 3600.0)])
def test_shares_over_time_are_in_seconds_or_hours(seconds, unit, scale):
    simulated = over_time(seconds)
    figure = fairlp_research.plots.plot_user_shares(simulated)
    assert [axis.get_title() for axis in figure.axes] == ["cpu", "memory", "dominant share"]
    for axis, table in zip(
        figure.axes,
        (simulated.usage["cpu"], simulated.usage["memory"], simulated.shares),
        strict=True,
    ):
        assert axis.get_xlabel() == f"time [{unit}]" and axis.get_xlim() == (0, seconds / scale)
        drawn = lines_of(axis)
        assert list(drawn) == ["ann", "bob"]
        for user, (x, y) in drawn.items():
            assert x == pytest.approx(simulated.shares.index / scale) and y == table[user].tolist()
    figure_of_bob = fairlp_research.plots.plot_user_shares(simulated, users=["bob"])
    assert [list(lines_of(axis)) for axis in figure_of_bob.axes] == [["bob"]] * 3


def test_utilization_over_time_is_by_resource():
    columns = pd.MultiIndex.from_product(
        [["best-fit", "slots"], ["cpu", "memory"]], names=["policy", "resource"]
    )
    used = pd.DataFrame(np.arange(8).reshape(2, 4) / 10, index=[0.0, 60.0], columns=columns)
    figure = fairlp_research.plots.plot_utilization_over_time(
        SimpleNamespace(utilization=lambda: used)
    )
    assert [axis.get_title() for axis in figure.axes] == ["cpu", "memory"]
    for axis, resource in zip(figure.axes, ("cpu", "memory"), strict=True):
        assert lines_of(axis) == {
            policy: ([0, 60], used[policy, resource].tolist()) for policy in ("best-fit", "slots")
        }
    assert figure.axes[0].get_ylabel() == style.CLUSTER_USED


def test_completion_times_are_fractions_of_all_jobs():
    times = pd.DataFrame(
        {"best-fit": [30.0, 10.0, np.nan, 20.0], "slots": [40.0, np.nan, np.nan, np.nan]}
    )
    (axis,) = fairlp_research.plots.plot_completion_times(
        SimpleNamespace(completion=lambda: times)
    ).axes
    assert lines_of(axis) == {
        "best-fit": ([10, 20, 30], [0.25, 0.5, 0.75]),
        "slots": ([40], [0.25]),
    }


def test_reductions_have_their_numbers_of_jobs():
    table = pd.DataFrame(
        {"reduction": [0.2, np.nan, -0.1], "jobs": [3, 0, 5]}, index=["1–5", "6–10", ">10"]
    )
    (axis,) = fairlp_research.plots.plot_reductions(table, what="ours").axes
    assert [bar.get_height() for bar in axis.containers[0]] == [
        0.2,
        0,
        -0.1,
    ] and axis.get_title() == "ours"
    assert [text.get_text() for text in axis.texts] == ["3 jobs", "0 jobs", "5 jobs"]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1–5", "6–10", ">10"]


def test_bubbles_are_right_against_up_and_grow_with_the_tasks():
    ratios = pd.DataFrame({"best-fit": [0.9, 0.8], "slots": [0.3, 0.4], "submitted": [1, 100]})
    users = ratios.rename(columns={"best-fit": "shared", "slots": "dedicated"})
    for figure, right, up in (
        (
            fairlp_research.plots.plot_completion_ratios(SimpleNamespace(ratios=lambda: ratios)),
            "under slots",
            "under best-fit",
        ),
        (
            fairlp_research.plots.plot_dedicated_clouds(SimpleNamespace(users=users)),
            "in a cloud of its own",
            "in the shared cloud",
        ),
    ):
        (axis,) = figure.axes
        assert axis.collections[0].get_offsets().tolist() == [[0.3, 0.9], [0.4, 0.8]]
        small, large = axis.collections[0].get_sizes()
        assert small > 0 and large == pytest.approx(small + 60)
        assert right in axis.get_xlabel() and up in axis.get_ylabel()
        assert axis.get_xlim() == axis.get_ylim() == (-0.03, 1.03)


def tracked():
    """Two mechanisms on two servers; ann is away from 10 to 20, and bob from 30 on."""
    instance = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[4, 4], [6, 6]], users=["ann", "bob"])
    names = [["tsf", "c-drfh"], list(instance.servers), list(instance.resources)]
    times = [0.0, 10.0, 20.0, 30.0, 40.0]
    used = pd.DataFrame(
        np.arange(40).reshape(5, 8) / 40, index=times, columns=pd.MultiIndex.from_product(names)
    )
    changes = pd.DataFrame(
        {
            "time": [0.0, 10.0, 20.0, 25.0, 26.0, 30.0],
            "user": ["ann", "ann", "ann", "ann", "ann", "bob"],
            "event": ["enters", "leaves", "enters", "leaves", "enters", "leaves"],
        }
    )
    return SimpleNamespace(
        instance=instance, mechanisms=["tsf", "c-drfh"], utilization=used, changes=changes
    )


def test_tracking_draws_each_server_and_shades_who_is_away():
    tracking = tracked()
    figure = fairlp_research.plots.plot_tracking(tracking)
    first = tracking.instance.resources[0]
    for axis, server in zip(figure.axes, tracking.instance.servers, strict=True):
        assert axis.get_title() == f"{first} of {server}" and axis.get_xlim() == (0, 40)
        drawn = lines_of(axis)
        assert {name: y for name, (_, y) in drawn.items()} == {
            name: tracking.utilization[name, server, first].tolist() for name in tracking.mechanisms
        }
        shades = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axis.patches]
        assert shades == [(10, 20), (25, 26), (30, 40)]
        assert [text.get_text() for text in axis.texts] == ["ann away", "ann away", "bob away"]
    second, server = tracking.instance.resources[1], tracking.instance.servers[1]
    figure_of_server = fairlp_research.plots.plot_tracking(
        tracking, second, servers=[server], mechanisms=["c-drfh"]
    )
    assert [axis.get_title() for axis in figure_of_server.axes] == [f"{second} of {server}"]
    assert list(lines_of(figure_of_server.axes[0])) == ["c-drfh"]


# looks


def test_groups_of_bars_stand_at_their_names():
    figure = style.new_figure(4, 3)
    axis = figure.subplots()
    style.grouped_bars(
        axis, pd.DataFrame({"one": [1.0, 2.0], "two": [3.0, 4.0], "three": [5.0, 6.0]})
    )
    centres = np.array(
        [[bar.get_x() + bar.get_width() / 2 for bar in container] for container in axis.containers]
    )
    assert centres.mean(axis=0) == pytest.approx([0, 1]) and (np.diff(centres, axis=0) > 0).all()


def test_bars_stand_on_each_other():
    allocation = fairlp.allocate(fairlp.examples.load("khamse-ashari-table-3"), "tsf")
    for axis in plots.plot_allocation(allocation).axes:
        first, *layers = axis.containers
        assert first.get_label() == "not in use"
        top = np.zeros(len(first))
        for layer in layers:
            assert [bar.get_y() for bar in layer] == pytest.approx(top.tolist())
            top += [bar.get_height() for bar in layer]
        assert (top > 0).any() and (top <= 1 + 1e-9).all()


# what bars of servers are called


def test_effort_is_what_tasks_need():
    instance = fairlp.Instance.from_arrays(
        [[1.0]], [[4.0], [4.0]], users=["ann"], rates=[[1.0, 0.5]]
    )
    allocation = fairlp.allocate(instance, "tsf")
    (axis,) = plots.plot_allocation(allocation, by="server").axes
    bars = next(container for container in axis.containers if container.get_label() == "ann")
    assert [bar.get_height() for bar in bars] == pytest.approx(
        allocation.utilization.iloc[:, 0].tolist()
    )


def test_shares_that_differ_by_rounding_are_in_the_order_of_users():
    from fairlp.plots.allocations import _by_share

    shares = pd.Series([0.3 - 1e-15, 0.3, 0.2, 0.3 + 1e-15])
    assert _by_share(SimpleNamespace(shares=shares)).tolist() == [0, 1, 3, 2]
    assert _by_share(SimpleNamespace(shares=0 * shares)).tolist() == [0, 1, 2, 3]
