"""Performance profiles by hand: ratios to the best, ties, what nobody solves, short times; and the figure of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp_research.library import profile
from fairlp_research.plots import plot_profile

INF = float("inf")
#: Dolan and Moré by hand: p a tie, q one alone, r nobody, s a factor of four.
TIMES = pd.DataFrame(
    {"a": [1.0, INF, INF, 4.0], "b": [1.0, 3.0, INF, 1.0], "c": [2.0, np.nan, INF, 2.5]},
    index=["p", "q", "r", "s"],
)


def test_ratios_are_to_the_fastest():
    ratios = profile(TIMES).ratios
    assert ratios.loc["p"].tolist() == [1, 1, 2]
    assert ratios.loc["q"].tolist() == [INF, 1, INF]
    assert ratios.loc["r"].tolist() == [INF, INF, INF]
    assert ratios.loc["s"].tolist() == [4, 1, 2.5]


@pytest.mark.parametrize(
    ("factor", "within"),
    [
        (1, [1 / 4, 3 / 4, 0]),
        (2, [1 / 4, 3 / 4, 1 / 4]),
        (2.5, [1 / 4, 3 / 4, 2 / 4]),
        (4, [2 / 4, 3 / 4, 2 / 4]),
    ],
)
def test_fractions_are_of_all_problems_and_ties_count_for_all(factor, within):
    assert profile(TIMES).within(factor).tolist() == within


def test_the_table_has_the_best_in_front():
    table = profile(TIMES).table([1, 3])
    assert list(table.index) == ["b", "c", "a"] and list(table.columns) == [
        "within 1",
        "within 3",
        "solved",
        "problems",
    ]
    assert table["solved"].tolist() == [0.75, 0.5, 0.5] and table["problems"].tolist() == [3, 2, 2]


def test_short_times_count_as_one():
    times = pd.DataFrame({"a": [0.0, 0.0005], "b": [0.001, 0.004]})
    assert profile(times).ratios.to_numpy().tolist() == [[1, 1], [1, 4]]
    assert profile(times, least=0.01).ratios.to_numpy().tolist() == [[1, 1], [1, 1]]


def test_nothing_solved_and_nothing_there():
    none = profile(pd.DataFrame({"a": [INF], "b": [INF]}))
    assert none.within(1e9).tolist() == [0, 0] and none.table()["problems"].tolist() == [0, 0]
    empty = profile(pd.DataFrame({"a": [], "b": []}))
    assert empty.within(2).isna().all() and empty.table()["problems"].tolist() == [0, 0]


def test_the_figure_is_the_profile():
    times_profile = profile(TIMES)
    figure = plot_profile(times_profile.ratios)
    (axis,) = figure.axes
    assert (
        axis.get_xscale() == "log"
        and "fastest" in axis.get_xlabel()
        and "fraction" in axis.get_ylabel()
    )
    assert [line.get_label() for line in axis.lines] == ["b", "a", "c"]
    for line in axis.lines:
        factors, within = line.get_data()
        for factor, height in zip(factors, within, strict=True):
            assert height == times_profile.within(max(factor, 1.0))[line.get_label()]
    assert len(figure.legends) == 1
