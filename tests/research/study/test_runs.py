"""Runs of studies: the same numbers on any workers, kept in a folder, with errors that name the run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pytest

import study_functions
from fairlp import Instance
from fairlp.errors import StudyError
from fairlp_research import study
from fairlp_research.runner import Failure
from fairlp_research.study.runs import frame_of
from paths import DOCS, ROOT, SUPPORT
from profiles import by_day
from study_functions import make

#: A study whose runs take a second or two in all.
_CHILD = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from study_functions import make
make(runs=30).run(folder=sys.argv[1], workers=int(sys.argv[2]), progress=False)
"""


@pytest.fixture(scope="module")
def expected():
    return make().run(progress=False).frame


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The file where the generator notes each call."""
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("FAIRLP_TEST_LOG", str(path))
    return path


def calls(log):
    """Number of calls of the generator since the last question."""
    count = len(log.read_bytes().splitlines())
    log.write_bytes(b"")
    return count


def has_same_bits(first, second):
    """Whether two frames hold the same bits (equal floats may differ in the sign of a zero)."""
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    for name in first.select_dtypes("float"):
        assert first[name].to_numpy().tobytes() == second[name].to_numpy().tobytes(), name
    return True


# the same numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "workers"), [("loky", 2), ("loky", 3), ("threading", 3), ("sequential", 1)]
)
def test_the_same_bits_on_every_back_end_and_number_of_workers(expected, backend, workers):
    assert has_same_bits(make().run(backend=backend, workers=workers).frame, expected)


def test_runs_go_where_the_caller_configured_joblib(expected):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert has_same_bits(make().run().frame, expected)


def test_floats_are_exact(expected):
    assert expected["awkward.nan"].isna().all()
    assert (expected["awkward.infinite"] == -np.inf).all()
    assert np.signbit(expected["awkward.zero"]).all()
    assert (expected["awkward.small"] == 5e-324).all()
    sometimes = expected["awkward.sometimes"]
    assert 0 < sometimes.isna().sum() < 12
    assert (sometimes.isna() == (expected["awkward.large"] == 0)).all()


def test_a_run_depends_on_nothing_but_the_seed_its_point_and_its_number(expected):
    alone = make(grid=[{"users": 5}], mechanisms=["drf"], statistics=[study_functions.awkward])
    rows = expected[expected["users"] == 5]
    assert alone.run().frame["awkward.third"].tolist() == rows["awkward.third"].tolist()
    longer = make(runs=9).run().frame
    shared = longer[longer["run"] < 6]
    assert shared["awkward.third"].tolist() == expected["awkward.third"].tolist()
    other = make(seed=1).run().frame
    assert other["awkward.third"].tolist() != expected["awkward.third"].tolist()


@pytest.mark.slow
def test_functions_of_a_notebook_run_in_workers():
    def local(rng, *, users, factor=2):
        return Instance.from_arrays([[1.0]] * users, [[float(rng.integers(5, 9)) * factor]])

    experiment = make(
        generator=local, statistics=[{"name": lambda i, a: {"n": len(i.users)}, "label": "size"}]
    )
    frame = experiment.run(workers=2).frame
    assert frame["size.n"].tolist() == [3] * 6 + [5] * 6
    assert has_same_bits(experiment.run().frame, frame)


def test_rows_are_in_order_of_points_and_runs():
    points = [{"users": 3, "demands": [1, 2]}, {"users": 5}]
    outcomes = {(1, 0): {"a": 1}, (0, 1): Failure("it failed", ""), (0, 0): {"b": 2}}
    frame = frame_of(points, ["k0", "k1"], outcomes)
    assert frame["point"].tolist() == [0, 0, 1] and frame["run"].tolist() == [0, 1, 0]
    assert frame["users"].tolist() == [3, 3, 5] and frame["demands"].tolist()[:2] == ["[1, 2]"] * 2
    assert frame["a"].tolist()[2] == 1.0 and frame["a"].isna().tolist() == [True, True, False]
    assert frame["error"].tolist()[1] == "it failed" and frame["key"].tolist()[2] == "k1"


@pytest.mark.slow
def test_the_studies_of_the_documentation_run(tmp_path, monkeypatch):
    """Python blocks one after the other in one namespace, fewer runs of each; YAML blocks are read."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "studies.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|yaml)\n(.*?)```", text, flags=re.DOTALL)
    assert {kind for kind, _ in blocks} == {"python", "yaml"}
    names = {}
    for kind, block in blocks:
        if kind == "yaml":
            (tmp_path / "study.yaml").write_text(block, encoding="utf-8")
            assert study.Study.read("study.yaml").points
        elif "dask" not in block:
            exec(re.sub(r"runs=\d+", "runs=3", block), names)


# a folder


def test_a_folder_keeps_runs_for_any_number_of_workers(tmp_path, log, expected):
    folder = tmp_path / "runs"
    assert has_same_bits(make().run(folder=folder, workers=2).frame, expected)
    assert len(list(folder.rglob("output.pkl"))) == 12
    calls(log)  # up to here
    for backend in ("sequential", "threading", "loky"):
        assert has_same_bits(make().run(folder=folder, workers=2, backend=backend).frame, expected)
    assert calls(log) == 0 and len(list(folder.rglob("output.pkl"))) == 12


def test_runs_and_points_are_added_to_those_of_a_folder(tmp_path, log):
    make(grid={"users": [3]}, runs=4).run(folder=tmp_path)
    calls(log)
    frame = make(name="another", runs=6).run(folder=tmp_path).frame
    assert calls(log) == 8
    assert has_same_bits(frame, make(runs=6).run().frame)
    calls(log)
    assert has_same_bits(make(runs=2).run(folder=tmp_path).frame, make(runs=2).run().frame)
    assert calls(log) == 4  # of the study without a folder


@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"statistics": ["summary"]}, {"mechanisms": ["drf"]}], ids=str
)
def test_a_study_that_changed_takes_nothing_from_the_earlier_one(tmp_path, log, changes):
    without_labels = {"statistics": ["jain"]}
    make(**without_labels).run(folder=tmp_path)
    calls(log)
    frame = make(**(without_labels | changes)).run(folder=tmp_path).frame
    assert calls(log) == 12
    assert has_same_bits(frame, make(**(without_labels | changes)).run().frame)


def test_a_function_that_a_folder_cannot_recognise_is_refused_first(tmp_path, log):
    experiment = make(statistics=[{"name": lambda i, a: {"n": 1}, "label": "size"}])
    with pytest.raises(StudyError, match="'<lambda>' cannot be kept in a folder"):
        experiment.run(folder=tmp_path / "runs")
    assert calls(log) == 0 and not (tmp_path / "runs").exists()


def start(folder, workers):
    """Start the study of ``_CHILD``, each run of which takes its time."""
    environment = {**os.environ, "FAIRLP_TEST_SECONDS": "0.05", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(folder), str(workers)],
        env=environment,
        start_new_session=True,
    )


def wait_for(folder, count, process):
    deadline = time.monotonic() + 60
    while len(list(folder.rglob("output.pkl"))) < count:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups")
@pytest.mark.parametrize("workers", by_day([2, 1], 2))
def test_a_study_that_is_killed_goes_on(tmp_path, log, workers):
    folder = tmp_path / "runs"
    process = start(folder, workers)
    try:
        wait_for(folder, 6, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    count = len(list(folder.rglob("output.pkl")))
    assert 6 <= count < 60
    calls(log)
    frame = make(runs=30).run(folder=folder).frame
    assert calls(log) == 60 - count
    assert has_same_bits(frame, make(runs=30).run().frame)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups")
def test_an_interrupt_keeps_finished_runs(tmp_path, log):
    folder = tmp_path / "runs"
    process = start(folder, 1)
    wait_for(folder, 6, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    count = len(list(folder.rglob("output.pkl")))
    assert count >= 6
    calls(log)
    make(runs=30).run(folder=folder)
    assert calls(log) == 60 - count


# errors


@pytest.mark.parametrize(("backend", "workers"), [("sequential", 1), ("loky", 2)])
def test_errors_can_be_recorded(backend, workers):
    failing = make(grid={"users": [3], "fail_at": [6.0]})
    result = failing.run(on_error="record", backend=backend, workers=workers)
    assert 0 < len(result.failed) < 6
    assert set(result.failed["error"]) == {"ZeroDivisionError: a large demand"}
    assert result.failed["awkward.third"].isna().all()
    assert result.summary()["count"].max() == 6 - len(result.failed)
    assert "failed" in repr(result)


@pytest.mark.parametrize(("backend", "workers"), [("sequential", 1), ("loky", 2)])
def test_a_run_that_fails_is_named_and_loses_no_other(tmp_path, log, backend, workers):
    failing = make(grid={"users": [3], "fail_at": [6.0]}, runs=40)
    message = r"run \d+ of point 0 \(users=3, fail_at=6.0\) of study 'small', seed 0, failed: Zero"
    with pytest.raises(StudyError, match=message) as raised:
        failing.run(folder=tmp_path / "runs", backend=backend, workers=workers)
    assert "in noted" in raised.value.__notes__[0]
    count = len(list((tmp_path / "runs").rglob("output.pkl")))
    calls(log)
    result = failing.run(folder=tmp_path / "runs", on_error="record")
    assert 0 < calls(log) <= 40 - count
    failing.run(folder=tmp_path / "runs", on_error="record")
    assert calls(log) == len(result.failed)  # failed runs are tried again


# Dask


def worker_has_run():
    return "fairlp_research.study.runs" in sys.modules


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        yield client


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_bits(client):
    expected = make(runs=20).run().frame
    assert has_same_bits(make(runs=20).run(backend="dask").frame, expected)
    with joblib.parallel_config(backend="dask"):
        assert has_same_bits(make(runs=20).run().frame, expected)
    assert list(client.run(worker_has_run).values()) == [True, True]


@pytest.mark.slow
def test_errors_and_functions_of_a_notebook_on_dask(client):
    failing = make(
        grid={"users": [3], "fail_at": [6.0]},
        statistics=[{"name": lambda i, a: {"n": len(i.users)}, "label": "a"}],
    )
    with pytest.raises(StudyError, match=r"run \d of point 0 .*a large demand"):
        failing.run(backend="dask")
    frame = failing.run(backend="dask", on_error="record").frame
    assert has_same_bits(frame, failing.run(on_error="record").frame)
