"""Figures of allocations and comparisons: bars as high as the numbers, names that do not meet, queues, many users."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, examples, plots
from fairlp.plots.comparison import comparison_table
from figure_checks import legend, legend_names, outside, tick_labels
from report_cases import queued

pytest.importorskip("matplotlib")


def heights(axis):
    """Height of each stack, without the capacity behind it."""
    bars = [container for container in axis.containers if container.get_label() != "not in use"]
    return np.sum([[bar.get_height() for bar in container] for container in bars], axis=0)


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


def test_one_by_one_servers_are_grouped_again():
    counted = fairlp.allocate(examples.google_cluster(5), "drfh")
    single = fairlp.allocate(examples.google_cluster(5, one_by_one=True), "drfh")
    figure, other = plots.plot_allocation(counted), plots.plot_allocation(single)
    for axis, other_axis in zip(figure.axes, other.axes, strict=True):
        assert heights(axis) == pytest.approx(heights(other_axis), abs=1e-6)
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
    assert legend(figure) == ["c-drfh", "tsf"]
    assert outside(figure)


def test_shares_of_many_users_are_rising_curves():
    allocations = fairlp.allocate_all(examples.load("google-cluster"), ["drfh", "tsf"])
    (axis,) = plots.plot_shares(allocations).axes
    frame = comparison_table(examples.load("google-cluster"), allocations, "shares")
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


def test_comparison_of_an_instance():
    figure = plots.plot_comparison(examples.load("two-servers"), ["drfh", "naive-drf"])
    top, bottom = figure.axes
    assert (top.get_xlabel(), bottom.get_xlabel()) == ("user", "resource")
    assert legend(figure) == ["drfh", "naive-drf"]
    assert top.get_legend() is None
    assert bottom.get_legend() is None
    assert outside(figure)


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


@pytest.fixture(scope="module")
def google():
    return fairlp.allocate(examples.load("google-cluster"), "drfh")


def parts(allocation):
    """Users × resources × classes of servers: the fraction of the class that each user has."""
    instance = allocation.instance
    names = instance.server_attributes if len(instance.server_attributes.columns) else None
    assert names is None  # every row is a class of its own
    used = allocation.tasks.to_numpy()[:, :, None] * instance.demands[:, None, :]
    return np.swapaxes(used / (instance.capacities * instance.counts[:, None]), 1, 2)


def test_users_who_take_most_of_a_bar_have_colours_and_the_others_are_counted(google):
    figure = plots.plot_allocation(google)
    names = legend_names(figure)
    shares = pd.Series(
        parts(google).max(axis=(1, 2)), index=[str(user) for user in google.instance.users]
    )
    assert names[0] == "91 others, number on each bar" and names[-1] == "not in use"
    assert set(names[1:-1]) == set(shares.sort_values(ascending=False, kind="stable").index[:9])
    assert shares[names[1:-1]].min() >= shares.drop(names[1:-1]).max()


def test_the_numbers_on_the_bars_are_the_others_who_run_there(google):
    figure = plots.plot_allocation(google)
    coloured = legend_names(figure)[1:-1]
    others = ~google.instance.users.labels.astype(str).isin(coloured)
    share_parts = parts(google)[others]
    for r, axis in enumerate(figure.axes):
        numbers = {round(text.xy[0]): int(text.get_text()) for text in axis.texts}
        expected = {
            k: int((share_parts[:, r, k] > 1e-9).sum())
            for k in range(share_parts.shape[2])
            if share_parts[:, r, k].sum() > 0.06
        }
        assert numbers == expected and len(numbers) >= 4
        grey = dict(enumerate(list(axis.containers)[-1]))
        for text in axis.texts:
            band = grey[round(text.xy[0])]
            assert text.xy[1] == pytest.approx(band.get_y() + band.get_height() / 2)


@pytest.mark.parametrize(("users", "named"), [(13, 13), (14, 9)])
def test_up_to_thirteen_users_all_have_a_look_of_their_own(users, named):
    instance = fairlp.Instance.from_arrays(np.ones((users, 1)), [[7.0], [9.0]])
    names = legend_names(plots.plot_allocation(fairlp.allocate(instance, "drfh")))
    assert names[::-1][1 : named + 1] == [
        f"user{n + 1}" for n in range(named)
    ]  # equal ones in their order
    assert len(names) == 1 + named + (users > named)


def test_larger_shares_are_lower_on_the_bars():
    instance = fairlp.Instance.from_arrays(np.ones((3, 1)), [[6.0]], weights=[1, 3, 2])
    names = legend_names(plots.plot_allocation(fairlp.allocate(instance, "drfh")))
    assert names == ["user1", "user3", "user2", "not in use"]


def layers(figure):
    """Height of each bar by name, without the cluster behind them."""
    return {
        container.get_label(): [bar.get_height() for bar in container]
        for container in figure.axes[0].containers
        if container.get_label() != "not in use"
    }


@pytest.mark.parametrize("level", [0, 1, 2])
def test_bars_are_what_the_queues_have(level):
    allocation = fairlp.allocate(queued()[0], "h-drf")
    heights_of = layers(plots.plot_queues(allocation, level=level))
    table = allocation.by_queue(level)
    assert set(heights_of) == {path or "(root)" for path in table.index}
    for path in table.index:
        parts = (
            table.loc[path, ["cpu", "memory", "gpu"]].to_numpy(dtype=float)
            / allocation.instance.pool
        )
        assert heights_of[path or "(root)"] == pytest.approx(parts.tolist())
    assert np.sum(list(heights_of.values()), axis=0) == pytest.approx(
        allocation.pool_utilization.to_numpy()
    )


def test_of_many_queues_the_small_ones_share_a_colour():
    count = 40
    instance = fairlp.Instance.from_arrays(
        [[1.0]] * count,
        [[100.0]],
        queue=[f"q{k:02}" for k in range(count)],
        task_limits=range(1, count + 1),
    )
    heights_of = layers(plots.plot_queues(fairlp.allocate(instance, "h-drf")))
    assert len(heights_of) == 13 and list(heights_of)[-1] == "28 others"
    assert sum(height for (height,) in heights_of.values()) == pytest.approx(1)


def test_allocations_of_one_mechanism_and_method_are_all_drawn():
    instance = queued()[0]
    first, second = (
        fairlp.allocate(instance, "h-drf", method="lp", count=count)
        for count in ("total", "borrowed")
    )
    assert legend(plots.plot_shares([first, second])) == [
        "h-drf (lp, count=total)",
        "h-drf (lp, count=borrowed)",
    ]
    weighted = fairlp.allocate(
        instance.replace(weights=[5, 1, 1, 1, 1]), "h-drf", method="lp", count="total"
    )
    figure = plots.plot_shares([first, second, weighted])
    assert legend(figure) == [
        "h-drf (lp, count=total) #1",
        "h-drf (lp, count=borrowed)",
        "h-drf (lp, count=total) #2",
    ]
    assert len(figure.axes[0].containers) == 3
    plain = fairlp.examples.load("ghodsi")
    a, b = fairlp.allocate(plain, "drf"), fairlp.allocate(plain.replace(weights=[2, 1]), "drf")
    drawn = plots.plot_shares([a, b])
    assert legend(drawn) == [f"drf ({a.method}) #1", f"drf ({a.method}) #2"]
    heights = [[bar.get_height() for bar in container] for container in drawn.axes[0].containers]
    assert heights == [pytest.approx(allocation.shares.tolist()) for allocation in (a, b)]
