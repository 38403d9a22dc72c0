"""Figures of simulated runs, of users who come and go, and of methods that converge: each number where it belongs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_research
from fairlp import plots
from fairlp.errors import InstanceError, UnknownNameError
from fairlp.plots import style
from fairlp.plots.allocations import server_classes, server_rows

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


def test_slot_sizes_and_the_one_that_is_marked():
    table = pd.DataFrame(
        {"cpu": [0.2, 0.4], "tasks": [0.5, 0.6], "overall": [0.3, 0.5]}, index=[10, 14]
    )
    (axis,) = fairlp.plots.plot_slot_sizes(table).axes
    assert lines_of(axis) == {
        "cpu used": ([10, 14], [0.2, 0.4]),
        "tasks completed": ([10, 14], [0.5, 0.6]),
        "all used": ([10, 14], [0.3, 0.5]),
    }
    (axis,) = fairlp.plots.plot_slot_sizes(table, best=14).axes
    assert len(axis.lines) == 4 and list(axis.lines[-1].get_xdata()) == [14, 14]


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
    (axis,) = fairlp.plots.plot_reductions(table, what="ours").axes
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


@pytest.mark.parametrize(
    ("submitted", "labels"),
    [
        ([1, 100], ["1", "10", "100"]),
        ([2, 90000], ["1", "100", "100,000"]),
        ([7, 9], ["10"]),
        ([0, 0], ["1"]),
    ],
)
def test_a_legend_says_how_many_tasks_a_bubble_stands_for(submitted, labels):
    ratios = pd.DataFrame({"best-fit": [0.9, 0.8], "slots": [0.3, 0.4], "submitted": submitted})
    (axis,) = fairlp_research.plots.plot_completion_ratios(
        SimpleNamespace(ratios=lambda: ratios)
    ).axes
    legend = axis.get_legend()
    assert legend.get_title().get_text() == "tasks submitted"
    assert [text.get_text() for text in legend.get_texts()] == labels
    # a user who submitted so many has a bubble of the size that the legend shows
    numbers = [float(text.replace(",", "")) for text in labels]
    users = pd.DataFrame({"best-fit": 0.5, "slots": 0.5, "submitted": numbers})
    (other,) = fairlp_research.plots.plot_completion_ratios(
        SimpleNamespace(ratios=lambda: users)
    ).axes
    sizes = [float(handle.get_sizes()[0]) for handle in legend.legend_handles]
    assert sizes == pytest.approx(other.collections[0].get_sizes().tolist())


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
    figure = fairlp.plots.plot_tracking(tracking)
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
    figure_of_server = fairlp.plots.plot_tracking(
        tracking, second, servers=[server], mechanisms=["c-drfh"]
    )
    assert [axis.get_title() for axis in figure_of_server.axes] == [f"{second} of {server}"]
    assert list(lines_of(figure_of_server.axes[0])) == ["c-drfh"]


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"resource": "gpu"}, "resource"),
        ({"servers": ["x"]}, "server"),
        ({"mechanisms": ["drf"]}, "mechanism"),
    ],
)
def test_names_that_were_not_tracked(options, kind):
    with pytest.raises(UnknownNameError, match=f"no {kind} is called"):
        fairlp.plots.plot_tracking(tracked(), **options)


def test_convergence_leaves_out_zeros_and_counts_from_one():
    series = {
        "fast": [0.5, 0.1, 0.0],
        "timed": pd.Series([0.4, np.nan, 0.2], index=[1.5, 2.0, 2.5]),
    }
    (axis,) = plots.plot_convergence(series, xlabel="second").axes
    assert lines_of(axis) == {"fast": ([1, 2], [0.5, 0.1]), "timed": ([1.5, 2.5], [0.4, 0.2])}
    assert axis.get_yscale() == "log" and axis.get_xlabel() == "second"


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


def test_equal_curves_show_through_each_other():
    looks = [style.line(k)["linestyle"] for k in range(len(style.DASHES))]
    assert looks[0] == "-" and len({str(look) for look in looks}) == len(style.DASHES)


def test_axes_for_other_panels_are_refused():
    axes = style.new_figure(4, 3).subplots(1, 2)
    with pytest.raises(InstanceError, match="2 axes were given; expected 1"):
        plots.plot_convergence({"fast": [0.5]}, ax=axes)


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


def test_allocations_of_other_users_or_resources_are_not_compared():
    instance = fairlp.examples.ghodsi()
    allocation = fairlp.allocate(instance, "drf")
    assert len(plots.plot_shares([allocation, fairlp.allocate(instance, "edrf")]).axes) == 1
    for other in (instance.select_users([0]), instance.select_users([1, 0])):
        with pytest.raises(InstanceError, match="different users or resources"):
            plots.plot_shares([allocation, fairlp.allocate(other, "edrf")])


def test_labels_of_classes():
    attributes = pd.DataFrame({"gpu": ["T4", "T4", "G2", "T4", "T4"]})
    instance = fairlp.Instance.from_arrays(
        [[1, 1]],
        [[4, 8], [4, 8], [4, 8], [8, 8], [8, 8]],
        servers=list("abcde"),
        counts=[2, 3, 1, 1, 1],
        resources=["cpu", "memory"],
        server_attributes=attributes,
    )
    labels, group, caption = server_classes(instance)
    assert labels == ["T4: 4, 8 (5)", "c", "T4: 8, 8 (2)"] and group.tolist() == [0, 0, 1, 2, 2]
    assert caption == "server class (number of servers); amounts are cpu, memory"
    labels, group, caption = server_rows(instance)
    assert labels == ["a (2)", "b (3)", "c", "d", "e"] and group.tolist() == [0, 1, 2, 3, 4]


def test_the_largest_classes_have_bars_of_their_own():
    counts = np.arange(1, 31)
    instance = fairlp.Instance.from_arrays([[1]], np.arange(1, 31)[:, None], counts=counts)
    labels, group, _ = server_classes(instance)
    assert len(labels) == 24 and labels[0] == "server8 (8)" and labels[-1] == "7 other classes (28)"
    assert group.tolist() == [23] * 7 + list(range(23))
