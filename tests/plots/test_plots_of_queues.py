"""Figures by queue, and allocations that only their options or numbers tell apart."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from cli_runner import run
from fairlp import plots
from fairlp.errors import InstanceError
from report_instances import hostile, queued

pytest.importorskip("matplotlib")


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
    found = layers(plots.plot_queues(allocation, level=level))
    table = allocation.by_queue(level)
    assert set(found) == {path or "(root)" for path in table.index}
    for path in table.index:
        parts = (
            table.loc[path, ["cpu", "memory", "gpu"]].to_numpy(dtype=float)
            / allocation.instance.pool
        )
        assert found[path or "(root)"] == pytest.approx(parts.tolist())
    assert np.sum(list(found.values()), axis=0) == pytest.approx(
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
    found = layers(plots.plot_queues(fairlp.allocate(instance, "h-drf")))
    assert len(found) == 13 and list(found)[-1] == "28 others"
    assert sum(part for (part,) in found.values()) == pytest.approx(1)


def test_names_are_shown_as_they_are_and_axes_can_be_given():
    from matplotlib.figure import Figure

    allocation = fairlp.allocate(hostile()[0], "h-drf")
    axis = Figure().subplots()
    figure = plots.plot_queues(allocation, level=2, ax=axis)
    assert figure is axis.figure and len(layers(figure)) == 6
    figure.draw_without_rendering()


def test_without_queues_there_is_nothing_to_draw():
    with pytest.raises(InstanceError, match="has no queues"):
        plots.plot_queues(fairlp.allocate(fairlp.examples.load("ghodsi"), "drf"))


def test_the_command_line_draws_by_queue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    queued()[0].write("c.json")
    drawn = []
    monkeypatch.setattr(
        plots,
        "plot_queues",
        lambda *found, **how: drawn.append(how["level"]) or plots.plot_allocation(*found),
    )
    for more in ((), ("--level", 2)):
        run("allocate", "c.json", "-m", "h-drf", "--table", "queues", "--plot", "x.png", *more)
    assert drawn == [1, 2] and (tmp_path / "x.png").exists()
    run("allocate", "c.json", "-m", "h-drf", "--plot", "x.png")
    assert len(drawn) == 2


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_allocations_of_one_mechanism_and_method_are_all_drawn():
    instance = queued()[0]
    one, two = (
        fairlp.allocate(instance, "h-drf", method="lp", count=count)
        for count in ("total", "borrowed")
    )
    assert legend(plots.plot_shares([one, two])) == [
        "h-drf (lp, count=total)",
        "h-drf (lp, count=borrowed)",
    ]
    weighted = fairlp.allocate(
        instance.replace(weights=[5, 1, 1, 1, 1]), "h-drf", method="lp", count="total"
    )
    figure = plots.plot_shares([one, two, weighted])
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
    assert heights == [pytest.approx(each.shares.tolist()) for each in (a, b)]
