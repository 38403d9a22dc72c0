"""A study on a real Dask cluster of two processes gives what it gives anywhere."""

from __future__ import annotations

import pytest

from cli_runner import run
from fairlp import study
from fairlp.errors import StudyError
from study_functions import make

distributed = pytest.importorskip("distributed")


def has_worked():
    import sys

    return "fairlp.research.study.work" in sys.modules


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        yield made


def test_the_same_bits_as_without_dask(client, tmp_path):
    path = tmp_path / "r.parquet"
    expected = make(runs=20).run(path, backend="sequential")
    found = make(runs=20).run(tmp_path / "dask.parquet", backend="dask")
    assert found.frame.equals(expected.frame)
    assert (tmp_path / "dask.parquet").read_bytes() == path.read_bytes()
    assert list(client.run(has_worked).values()) == [True, True]


def test_a_study_begun_without_dask_goes_on_with_it(client, tmp_path):
    path = tmp_path / "r.parquet"
    make(runs=3).run(path, workers=2)
    assert (
        make(runs=9)
        .run(path, backend="dask")
        .frame.equals(make(runs=9).run(backend="sequential").frame)
    )


def test_functions_of_a_notebook_and_errors(client):
    failing = make(
        grid={"users": [3], "fail_at": [6.0]},
        statistics=[{"name": lambda i, a: {"n": len(i.users)}, "label": "a"}],
    )
    with pytest.raises(StudyError, match=r"run \d of point 0 .*a large demand"):
        failing.run(backend="dask")
    found = failing.run(backend="dask", on_error="record").frame
    assert found.equals(failing.run(backend="sequential", on_error="record").frame)


def test_the_command_line_with_a_scheduler(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make().write("small.yaml")
    run("study", "small.yaml", "--allow-code", "--scheduler", cluster.scheduler_address, "--csv")
    assert study.Result.read("small.parquet").frame.equals(make().run(backend="sequential").frame)
