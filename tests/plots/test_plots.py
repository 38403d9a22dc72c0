"""Figures: what they show, how it is labelled, and that they need neither a display nor global state."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, api, examples, plots
from fairlp.errors import FairlpError, FileFormatError, InstanceError, UnknownNameError
from fairlp.plots import allocations, style
from profiles import chequered

pytest.importorskip("matplotlib")


def heights(axis):
    """Height of each stack, without the capacity behind it."""
    bars = [container for container in axis.containers if container.get_label() != "not in use"]
    return np.sum([[bar.get_height() for bar in container] for container in bars], axis=0)


def tick_labels(axis):
    return [text.get_text() for text in axis.get_xticklabels()]


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def outside(figure):
    """Whether the legend lies to the right of all axes."""
    figure.draw_without_rendering()
    edge = figure.legends[0].get_window_extent().x0
    return all(axis.get_window_extent().x1 <= edge for axis in figure.axes)


def collisions(figure):
    """Pairs of bar names, or of names of horizontal axes, that touch; slanted lines of text may be a line apart."""
    figure.draw_without_rendering()
    found = []
    rows = [[axis.xaxis.label for axis in figure.axes]]
    rows += [list(axis.get_xticklabels()) for axis in figure.axes]
    for row in rows:
        texts = [text for text in row if text.get_visible() and text.get_text()]
        if not texts:
            continue  # panels one above the other name their bars once
        boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.x1)
        slant = np.sin(np.deg2rad(texts[0].get_rotation()))
        line = texts[0].get_fontsize() * figure.dpi / 72
        for left, right in pairwise(boxes):
            if left.x1 > right.x0 if slant == 0 else (right.x1 - left.x1) * slant < line:
                found.append((left, right))
    return found


@pytest.fixture(scope="module")
def classes():
    """120 servers of five kinds, some of them with a GPU model; 30 users."""
    rng = np.random.default_rng(1)
    kinds = np.array(
        [[96, 393216, 0], [96, 393216, 8], [64, 262144, 2], [128, 786432, 8], [32, 131072, 0]]
    )
    capacities = kinds[rng.integers(0, 5, 120)]
    models = [None if row[2] == 0 else rng.choice(["T4", "G2"]) for row in capacities]
    instance = fairlp.Instance.from_arrays(
        rng.uniform(1, 8, (30, 3)) * [1, 2000, 0.2],
        capacities,
        resources=["cpu", "memory", "gpu"],
        server_attributes=pd.DataFrame({"gpu_model": models}),
    )
    return fairlp.allocate(instance, "drfh")


@pytest.mark.parametrize(
    "name", ["ghodsi", "wang-figure-1", "khamse-ashari-figure-1", "khamse-ashari-table-3"]
)
@pytest.mark.parametrize("by", ["class", "server"])
def test_bars_are_as_high_as_the_utilization(name, by):
    allocation = fairlp.allocate(examples.load(name), "tsf")
    figure = plots.plot_allocation(allocation, by=by)
    expected = allocation.utilization.fillna(0.0)
    assert len(figure.axes) == len(expected.columns)
    for axis, resource in zip(figure.axes, expected.columns, strict=True):
        assert heights(axis) == pytest.approx(expected[resource].to_numpy())


def test_allocation_is_labelled():
    allocation = fairlp.allocate(examples.load("wang-figure-1"), "drfh")
    figure = plots.plot_allocation(allocation)
    for axis, title in zip(figure.axes, ["cpu [CPUs]", "memory [GB]"], strict=True):
        assert axis.get_title() == title
        assert axis.get_ylabel() == "fraction of capacity in use"
        assert axis.get_xlabel() == "server class (number of servers)"
        assert axis.get_ylim() == (0, 1)
        assert tick_labels(axis) == ["server1", "server2"]
    assert legend_of(figure) == ["user2", "user1", "not in use"]
    assert outside(figure)


def test_labels_count_the_servers():
    figure = plots.plot_allocation(fairlp.allocate(examples.load("khamse-ashari-table-3"), "tsf"))
    assert tick_labels(figure.axes[0]) == ["A (8)", "B (68)", "C (33)", "D (11)"]


#: Names of bars, and whether they are slanted.
NAMES_OF_BARS = [
    (["compute", "memory", "t4", "a100"], True),  # as wide as a panel, with their numbers
    (["a", "b", "c", "d"], False),
    (["a" * 30], False),
    (["long name of the first", "b"], True),
    ([f"c{k}" for k in range(24)], True),
]


@pytest.mark.parametrize(("resources", "bars"), chequered([2, 3], NAMES_OF_BARS))
def test_bar_names_do_not_meet_in_narrow_panels(resources, bars):
    names, slanted = bars
    instance = fairlp.Instance.from_arrays(
        np.eye(resources) + 0.1,
        np.arange(1, 1 + len(names) * resources).reshape(len(names), resources),
        servers=names,
        counts=np.full(len(names), 8),
    )
    figure = plots.plot_allocation(fairlp.allocate(instance, "drfh"))
    assert tick_labels(figure.axes[-1]) == [f"{name} (8)" for name in names]
    assert not collisions(figure)
    assert all((label.get_rotation() > 0) == slanted for label in figure.axes[-1].get_xticklabels())


def test_what_the_bars_are_is_wrapped_in_narrow_panels():
    capacities = np.repeat([[4, 8, 1], [8, 4, 0], [16, 64, 2]], [3, 5, 7], axis=0)
    instance = fairlp.Instance.from_arrays(
        [[1, 2, 0.1], [2, 1, 0]], capacities, resources=["cpu", "memory", "gpu"]
    )
    figure = plots.plot_allocation(fairlp.allocate(instance, "drfh"))
    assert not collisions(figure)
    for axis in figure.axes:
        assert (
            " ".join(axis.get_xlabel().split())
            == "server class (number of servers); amounts are cpu, memory, gpu"
        )


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


def test_one_by_one_servers_are_grouped_again():
    counted = fairlp.allocate(examples.google_cluster(5), "drfh")
    single = fairlp.allocate(examples.google_cluster(5, one_by_one=True), "drfh")
    one, other = plots.plot_allocation(counted), plots.plot_allocation(single)
    for left, right in zip(one.axes, other.axes, strict=True):
        assert heights(left) == pytest.approx(heights(right), abs=1e-6)
    assert tick_labels(other.axes[-1])[0] == "0.5, 0.5 (6732)"
    assert other.axes[-1].get_xlabel().endswith("amounts are cpu, memory")


def test_classes_have_equal_capacities_and_attributes(classes):
    figure = plots.plot_allocation(classes)
    servers = classes.instance.server_attributes["gpu_model"].fillna("none").to_numpy()
    keys = pd.DataFrame(classes.instance.capacities).assign(model=servers)
    group = keys.groupby([*keys.columns], sort=False).ngroup().to_numpy()
    used = classes.usage.groupby(group).sum()
    capacity = pd.DataFrame(classes.instance.capacities, columns=used.columns).groupby(group).sum()
    for axis, resource in zip(figure.axes, used.columns, strict=True):
        expected = (used[resource] / capacity[resource].where(capacity[resource] > 0)).fillna(0.0)
        assert heights(axis) == pytest.approx(expected.to_numpy())
    labels = tick_labels(figure.axes[-1])
    assert len(set(labels)) == len(labels) == len(used)
    assert "none" in [text.get_text() for text in figure.axes[-1].texts]


def test_many_classes_share_a_bar():
    rng = np.random.default_rng(0)
    instance = fairlp.Instance.from_arrays(rng.uniform(0.1, 1, (4, 2)), rng.uniform(2, 40, (60, 2)))
    allocation = fairlp.allocate(instance, "drfh")
    figure = plots.plot_allocation(allocation)
    assert tick_labels(figure.axes[-1])[-1] == "37 other classes (37)"
    used, pool = allocation.usage.iloc[23:].sum(), instance.capacities[23:].sum(axis=0)
    assert [heights(axis)[-1] for axis in figure.axes] == pytest.approx((used / pool).tolist())
    assert len(tick_labels(plots.plot_allocation(allocation, by="server").axes[-1])) == 60


def test_shares_of_few_users_are_bars():
    frame = fairlp.compare(
        examples.load("khamse-ashari-figure-1"), ["c-drfh", "tsf"], value="shares"
    )
    figure = plots.plot_shares(frame)
    (axis,) = figure.axes
    assert [container.get_label() for container in axis.containers] == ["c-drfh", "tsf"]
    for container in axis.containers:
        assert [bar.get_height() for bar in container] == frame[container.get_label()].tolist()
    assert tick_labels(axis) == list(frame.index)
    assert axis.get_xlabel() == "user"
    assert axis.get_ylabel() == "global dominant share [fraction of the cluster]"
    assert legend_of(figure) == ["c-drfh", "tsf"]
    assert outside(figure)


def test_shares_of_many_users_are_rising_curves():
    found = api.allocate_all(examples.load("google-cluster"), ["drfh", "tsf"])
    (axis,) = plots.plot_shares(found).axes
    frame = api.comparison_table(examples.load("google-cluster"), found, "shares")
    assert [line.get_label() for line in axis.lines] == ["drfh", "tsf"]
    for line in axis.lines:
        assert list(line.get_ydata()) == sorted(frame[line.get_label()])
    assert len({(line.get_color(), line.get_linestyle()) for line in axis.lines}) == 2
    assert "100" in axis.get_xlabel()


def test_utilization_by_mechanism():
    allocation = fairlp.allocate(examples.load("wang-figure-1"), "drfh")
    figure = plots.plot_utilization(allocation)
    (axis,) = figure.axes
    assert [bar.get_height() for bar in axis.containers[0]] == allocation.pool_utilization.tolist()
    assert axis.get_ylabel() == "fraction of the cluster in use"
    assert axis.get_ylim() == (0, 1)
    assert outside(figure)


def test_mechanisms_that_are_left_out_are_not_drawn():
    found = api.allocate_all(examples.load("wang-figure-1"), ["drf", "drfh"])
    assert legend_of(plots.plot_shares(found)) == ["drfh"]
    assert legend_of(plots.plot_comparison(found)) == ["drfh"]


def test_comparison_of_an_instance():
    figure = plots.plot_comparison(examples.load("two-servers"), ["drfh", "naive-drf"])
    top, bottom = figure.axes
    assert (top.get_xlabel(), bottom.get_xlabel()) == ("user", "resource")
    assert legend_of(figure) == ["drfh", "naive-drf"]
    assert top.get_legend() is None
    assert bottom.get_legend() is None
    assert outside(figure)


def test_methods_of_one_mechanism_are_told_apart():
    instance = examples.load("ghodsi")
    both = [fairlp.allocate(instance, "drf", method=method) for method in ("lp", "rounds")]
    assert legend_of(plots.plot_shares(both)) == ["drf (lp)", "drf (rounds)"]


def test_colours_never_repeat_alike():
    looks = [tuple(style.bar(k).values()) for k in range(30)]
    assert len(set(looks)) == 30


def test_drawing_into_given_axes():
    figure = style.new_figure(8, 4)
    axes = figure.subplots(1, 2)
    allocation = fairlp.allocate(examples.load("wang-figure-1"), "drfh")
    assert plots.plot_allocation(allocation, ax=axes) is figure
    assert axes[1].get_legend() is not None
    single = style.new_figure(4, 3)
    axis = single.subplots()
    assert plots.plot_shares(allocation, ax=axis) is single
    with pytest.raises(InstanceError, match="expected 2"):
        plots.plot_allocation(allocation, ax=axis)


def test_wrong_arguments_are_explained():
    instance = examples.load("wang-figure-1")
    allocation = fairlp.allocate(instance, "drfh")
    with pytest.raises(UnknownNameError, match="did you mean 'class'"):
        plots.plot_allocation(allocation, by="clas")
    with pytest.raises(InstanceError, match="nothing to draw"):
        plots.plot_shares({"drf": None})
    with pytest.raises(InstanceError, match="nothing to draw"):
        plots.plot_shares(pd.DataFrame({"drf": [np.nan]}))
    with pytest.raises(InstanceError, match="same instance"):
        plots.plot_shares([allocation, fairlp.allocate(examples.load("ghodsi"), "drf")])
    with pytest.raises(UnknownNameError, match="go with an Instance"):
        plots.plot_comparison(allocation, ["drfh"])
    with pytest.raises(FileFormatError, match="did you mean 'png'"):
        style.require_format("a.pngg")


def test_a_figure_shows_itself_and_can_be_pickled():
    figure = plots.plot_shares(fairlp.allocate(examples.load("ghodsi"), "drf"))
    assert figure._repr_png_()[:4] == b"\x89PNG"
    assert len(pickle.loads(pickle.dumps(figure)).axes) == 1


def test_missing_matplotlib_is_explained(monkeypatch):
    allocation = fairlp.allocate(examples.load("ghodsi"), "drf")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (
        plots.plot_allocation,
        plots.plot_shares,
        plots.plot_utilization,
        plots.plot_comparison,
    ):
        with pytest.raises(
            plots.PlottingNotAvailableError, match=r'pip install "fairlp\[plot\]"'
        ) as caught:
            draw(allocation)
        assert isinstance(caught.value, FairlpError)
        assert isinstance(caught.value, ImportError)


def test_no_pyplot_and_no_import_before_a_figure_is_drawn(tmp_path):
    script = (
        "import sys, fairlp\n"
        "fairlp.plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "a = fairlp.allocate(fairlp.examples.load('ghodsi'), 'drf')\n"
        "fairlp.plots.plot_allocation(a).savefig('a.png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    import os
    from pathlib import Path

    source = str(Path(fairlp.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


# Figures of levels below all queues, and of more mechanisms than there are dashes.

pyplot = pytest.importorskip("matplotlib.pyplot")


def test_a_level_below_all_queues_is_that_of_the_lowest():
    tree = Instance.from_arrays([[1.0], [1.0]], [[6.0]], queue=["a", "b/c"])
    figure = plots.plot_queues(fairlp.allocate(tree, "h-drf"), level=7)
    assert {container.get_label() for container in figure.axes[0].containers} == {
        "not in use",
        "a",
        "b/c",
    }
    pyplot.close(figure)


def test_curves_of_many_mechanisms_are_told_apart():
    names = [f"m{k}" for k in range(2 * len(style.DASHES))]
    frame = pd.DataFrame(np.arange(2.0)[:, None] + np.arange(len(names)), columns=names)
    figure, axis = pyplot.subplots()
    allocations._rising_curves(axis, frame)
    looks = {
        (line.get_linestyle(), str(line.get_color()), line.get_linewidth()) for line in axis.lines
    }
    assert (
        len(looks) == len(names)
        and [line.get_linestyle() for line in axis.lines[1:]].count("-") == 0
    )
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


@pytest.mark.parametrize("draw", ["allocation", "shares", "utilization", "frontier", "means"])
def test_labels_are_not_cut_in_a_low_figure(draw):
    from matplotlib import pyplot

    panels = 3 if draw == "allocation" else 1
    figure, axes = pyplot.subplots(1, panels, figsize=(7, 2.2), layout="constrained")
    found = fairlp.allocate(examples.load("khamse-ashari-figure-1"), "c-drfh")
    if draw == "frontier":
        fairlp.frontier(examples.ghodsi(), (1, 2)).plot(ax=axes)
    elif draw == "means":
        study = fairlp.study.Study(
            "a", "uniform-integers", {"users": [3, 4], "resources": [2]}, ["drf"], ["jain"], 3
        )
        study.run(progress=False).plot("jain", ax=axes)
    else:
        getattr(plots, f"plot_{draw}")(found, ax=axes)
    figure.canvas.draw()
    axes = np.atleast_1d(axes)
    texts = [text for axis in axes for text in (axis.xaxis.label, axis.yaxis.label, axis.title)]
    texts += [text for axis in axes if axis.get_legend() for text in axis.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    pyplot.close(figure)
    assert len(boxes) >= 3
    for box in boxes:
        assert (
            box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        ), box


def test_names_are_no_formulas():
    r"""A user called ``$\foo$`` ended the drawing of every figure."""
    from io import BytesIO

    name = r"$\foo$"
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [3, 1]],
        [[10, 12]],
        users=[name, "a$b"],
        resources=[r"$\r$", "memory"],
        servers=[r"$\s$"],
        queue=[r"$\q$", "b"],
        queues={r"$\q$": {}, "b": {}},
        name=r"$\n$",
    )
    allocation = fairlp.allocate(instance, "h-drf")
    solution = fairlp.formulate(instance, "drfh").solve()
    figures = [
        allocation.plot(),
        fairlp.plots.plot_shares({r"$\m$": allocation}),
        fairlp.plots.plot_comparison(fairlp.compare(instance, ["drfh", "drf"])),
        fairlp.plots.plot_utilization({r"$\m$": allocation}),
        fairlp.plots.plot_queues(allocation),
        solution.plot("g").figure,
    ]
    for figure in figures:
        figure.savefig(BytesIO(), format="png")
    texts = [
        label.get_text()
        for figure in figures
        for axes in figure.axes
        for label in axes.get_xticklabels()
    ]
    assert name in texts  # as it is, with its dollars
