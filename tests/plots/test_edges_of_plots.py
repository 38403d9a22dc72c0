"""Figures of levels below all queues, and of more mechanisms than there are dashes."""

from __future__ import annotations

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
