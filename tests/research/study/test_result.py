"""Results of studies: figures for papers, and Parquet files that may come from a stranger."""

from __future__ import annotations

import json
import os

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

import fairlp
import study_functions
from fairlp.errors import FairlpError, StudyError, UnknownNameError
from fairlp_research import study
from fairlp_research.study.result import METADATA
from profiles import many
from study_functions import make

PLAIN = study.Study(
    "plain", "uniform-integers", {"users": [2, 3], "resources": [2]}, {"a": "drf"}, runs=2
)


@pytest.fixture(scope="module")
def result():
    return make().run(progress=False)


# figures


def test_figures_over_the_runs(result):
    tasks = result.frame.groupby("users")["summary.exact.tasks"]
    summary = result.summary().xs("summary.exact.tasks", level="statistic")
    assert summary["mean"].tolist() == tasks.mean().tolist()
    assert summary["sd"].tolist() == tasks.std().tolist()
    assert summary["max"].tolist() == tasks.max().tolist()
    assert summary["count"].tolist() == [6, 6]
    table = result.table({"summary.exact.tasks": ("mean", "sd"), "deviation.under_max": "max"})
    assert table["summary.exact.tasks", "mean"].tolist() == tasks.mean().tolist()
    assert table.index.tolist() == [3, 5] and table.index.name == "users"
    assert result.table("deviation.under").shape == (2, 2)
    assert result.points["users"].tolist() == [3, 5]
    assert "12 runs of 2 points" in repr(result) and "12 runs" in result._repr_html_()


def test_points_without_a_parameter_and_of_several_types():
    alone = make(generator=study_functions.one_user, grid=[{}], statistics=["summary"]).run()
    assert alone.summary()["mean"].iloc[0] == 2.0
    several = make(grid=[{"users": 2}, {"users": 3, "fail_at": 11}]).run()
    assert several.table("summary.exact.tasks").shape == (2, 2)
    points = [{"users": 2, "resources": 1, "demands": [1, 2]}, {"users": 2, "resources": 1}]
    texts = make(generator="uniform-integers", grid=points, statistics=["jain"]).run()
    assert texts.points["demands"].tolist()[0] == "[1, 2]"


def test_plots_of_means_have_the_numbers_of_the_table():
    pytest.importorskip("matplotlib")
    grid = {"users": [3, 5], "resources": [2, 3], "demands": [[1, 9]]}
    result = study.Study("a", "uniform-integers", grid, ["drf", "asset"], ["jain"], runs=4).run()
    (axis,) = result.plot("jain").axes
    assert axis.get_xlabel() == "users" and axis.get_ylabel() == "jain: mean ± standard error"
    curves = {bars.get_label(): bars.lines[0].get_ydata() for bars in axis.containers}
    table = result.table(["jain.drf", "jain.asset"]).xs("[1, 9]", level="demands")
    for label, means in curves.items():
        name, resources = label.split(", resources ")
        assert means.tolist() == table.xs(int(resources), level="resources")[name, "mean"].tolist()
    assert len(curves) == 4
    (default,) = result.plot().axes  # the first measure, of all mechanisms
    assert [bars.get_label() for bars in default.containers] == list(curves)
    (axis,) = result.plot(["jain.drf"], x="resources").axes
    assert axis.get_xlabel() == "resources" and len(axis.containers) == 2
    with pytest.raises(UnknownNameError, match=r"no statistic 'jian'"):
        result.plot("jian")
    with pytest.raises(UnknownNameError, match=r"no parameter 'user'; did you mean 'users'\?"):
        result.plot("jain", x="user")


# files


@pytest.mark.parametrize(
    "experiment",
    [
        make(),
        make(grid=[{"users": 2}, {"users": 3, "fail_at": 6.0}]),
        make(generator=study_functions.one_user, grid=[{}], statistics=["summary"]),
    ],
    ids=["awkward floats", "missing parameters and errors", "no parameters"],
)
def test_a_result_goes_to_a_file_and_back(tmp_path, experiment):
    result = experiment.run(on_error="record")
    path = result.write(tmp_path / "r.parquet")
    assert path == tmp_path / "r.parquet"
    copy = study.Result.read(path, allow_code=True)
    pd.testing.assert_frame_equal(copy.frame, result.frame, check_exact=True)
    assert copy.study == experiment == result.study and copy.path == path


def test_the_file_holds_the_study_and_other_tools_read_it(tmp_path, result):
    path = result.write(tmp_path / "r.parquet")
    header = json.loads(parquet.read_metadata(path).metadata[METADATA])
    assert header == {"definition": make().definition(), "fairlp": fairlp.__version__}
    assert pd.read_parquet(path).equals(result.frame)


@pytest.mark.slow
def test_the_same_runs_are_the_same_bytes(tmp_path, result):
    first = result.write(tmp_path / "a.parquet").read_bytes()
    second = make().run(workers=2).write(tmp_path / "b.parquet").read_bytes()
    assert first == second


def test_a_file_stays_whole_when_writing_fails(tmp_path, result, monkeypatch):
    path = result.write(tmp_path / "r.parquet")
    content = path.read_bytes()

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        make(runs=1).run().write(path)
    assert path.read_bytes() == content and list(tmp_path.iterdir()) == [path]


def test_the_definition_in_a_file_does_not_run(tmp_path, result):
    copy = study.Result.read(result.write(tmp_path / "r.parquet"))
    assert len(copy.points) == 2 and len(copy.summary())
    with pytest.raises(
        StudyError, match=r"'study_functions:noted' is a function .*allow_code=True"
    ):
        assert copy.study


@pytest.fixture(scope="module")
def file_of_study(tmp_path_factory):
    """The Parquet file of a study: its table and its bytes."""
    path = PLAIN.run().write(tmp_path_factory.mktemp("whole") / "r.parquet")
    return parquet.read_table(path), path.read_bytes()


@settings(deadline=None, max_examples=many(60))
@given(data=st.data())
def test_a_parquet_file_that_was_cut_or_changed(data, file_of_study, tmp_path_factory):
    content = bytearray(file_of_study[1])
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:position]
    else:
        content[position] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("changed") / "r.parquet"
    path.write_bytes(content)
    try:
        result = study.Result.read(path)
        assert len(result.points) <= 2 and repr(result)
        result.summary()
    except FairlpError as error:
        assert len(str(error)) < 1000
