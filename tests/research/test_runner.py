"""The runner of independent calls: positions, errors, one thread, a folder, and workers that are checked."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import joblib
import pytest
from threadpoolctl import threadpool_info

import fairlp
import study_functions
from fairlp.errors import FairlpWarning
from fairlp_research import runner
from fairlp_research.runner import Failure, run_calls, run_on, source_of


def divide(numerator, denominator):
    """A call that fails for a denominator of 0."""
    warnings.warn("every call says this", FairlpWarning, stacklevel=1)
    return numerator / denominator


def noted(path, number, extra):
    """A call that notes in a file that it ran."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{number}\n")
    return number + 1


def blas_threads(number):
    """The threads of BLAS, of the process and its number."""
    import scipy.linalg  # noqa: F401

    threads = [row["num_threads"] for row in threadpool_info() if row["user_api"] == "blas"]
    return threads, os.getpid()


@pytest.fixture(params=["sequential", "loky", "threading"])
def workers(request):
    with run_on(2, request.param):
        yield request.param


@pytest.mark.slow
def test_values_come_with_the_position_of_their_call(workers, recwarn):
    calls = [(number, 2) for number in range(20)]
    values = dict(run_calls("halves", divide, calls))
    assert [values[position] for position in range(20)] == [number / 2 for number in range(20)]
    assert not recwarn.list


def test_no_calls_are_no_values(workers):
    assert list(run_calls("none", divide, [])) == []


@pytest.mark.slow
def test_an_error_is_raised_or_is_a_value(workers):
    calls = [(1, 1), (1, 0), (2, 1)]
    with pytest.raises(ZeroDivisionError):
        list(run_calls("divisions", divide, calls))
    values = dict(run_calls("divisions", divide, calls, failures=True))
    assert (values[0], values[2]) == (1, 2)
    assert isinstance(values[1], Failure) and "in divide" in values[1].trace
    assert values[1].message == "ZeroDivisionError: division by zero"


@pytest.mark.slow
def test_blas_has_one_thread_in_every_process(workers):
    results = [value for _, value in run_calls("threads", blas_threads, [(k,) for k in range(4)])]
    assert all(set(threads) <= {1} for threads, _ in results)
    assert any(process != os.getpid() for _, process in results) == (workers == "loky")


@pytest.mark.slow
def test_the_configuration_of_the_caller_says_where_calls_run():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        processes = {value[1] for _, value in run_calls("where", blas_threads, [(1,), (2,)])}
        assert os.getpid() not in processes
        with run_on(backend="sequential"):
            (_, (_, process)), *_ = run_calls("where", blas_threads, [(1,)])
            assert process == os.getpid()
    (_, (_, process)), *_ = run_calls("where", blas_threads, [(1,)])
    assert process == os.getpid()


@pytest.mark.slow
def test_a_caller_may_stop_early():
    with run_on(2):
        for position, _ in run_calls("many", divide, [(1, 1)] * 500):
            assert position >= 0
            break
    with run_on(2):
        assert len(list(run_calls("many", divide, [(1, 1)] * 10))) == 10


# a folder


@pytest.mark.slow
def test_a_folder_keeps_values_by_the_arguments_that_count(workers, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "values"
    calls = [(str(log), number, object) for number in range(6)]

    def run():
        return sorted(run_calls("kept", noted, calls, folder=folder, ignore=["extra"]))

    first = run()
    calls = [(str(log), number, None) for number in range(6)]
    assert run() == first == [(number, number + 1) for number in range(6)]
    assert sorted(log.read_text(encoding="utf-8").split()) == [str(number) for number in range(6)]


@pytest.mark.slow
def test_a_relative_folder_is_that_of_the_caller(workers, tmp_path, monkeypatch):
    list(run_calls("begin the workers", divide, [(1, 1)] * 4))
    monkeypatch.chdir(tmp_path)
    list(run_calls("kept", divide, [(1, 1), (2, 1)], folder="values"))
    assert len(list((tmp_path / "values").rglob("output.pkl"))) == 2


def test_an_error_is_not_kept(tmp_path):
    for _ in range(2):
        results = dict(run_calls("d", divide, [(1, 0)], folder=tmp_path, failures=True))
        assert isinstance(results[0], Failure)
    assert not list(tmp_path.rglob("output.pkl"))


def test_another_version_of_fairlp_computes_anew(tmp_path, monkeypatch):
    log = tmp_path / "log"
    for version in ("1.0", "2.0", "1.0"):
        monkeypatch.setattr(runner, "__version__", version)
        list(run_calls("kept", noted, [(str(log), 1, None)], folder=tmp_path))
    assert log.read_text(encoding="utf-8") == "1\n1\n"


MODULE = "def value(number):\n    return {factor} * number\n"


def test_a_function_whose_code_changed_computes_anew(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for factor in (2, 3):
        (tmp_path / "changing_values.py").write_text(MODULE.format(factor=factor), encoding="utf-8")
        sys.modules.pop("changing_values", None)
        names = {"__name__": "changing_values"}
        path = tmp_path / "changing_values.py"
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        (result,) = run_calls("changing", names["value"], [(5,)], folder=tmp_path / "values")
        assert result == (0, 5 * factor)


def test_a_damaged_value_is_computed_anew(tmp_path):
    log = tmp_path / "log"
    for _ in range(2):
        list(run_calls("kept", noted, [(str(log), 1, None)], folder=tmp_path))
    (value,) = tmp_path.rglob("output.pkl")
    value.write_bytes(value.read_bytes()[:3])
    assert dict(run_calls("kept", noted, [(str(log), 1, None)], folder=tmp_path)) == {0: 2}
    assert log.read_text(encoding="utf-8") == "1\n1\n"


# sources of a user's functions


def test_a_function_is_recognised_by_its_source():
    assert source_of(study_functions.one_user).startswith("def one_user(rng):\n")


# workers


def old_version(*_):
    raise AssertionError("it ran")


@pytest.mark.slow
def test_a_worker_with_another_fairlp_refuses(monkeypatch):
    with run_on(2, "loky"):
        monkeypatch.setattr(runner, "__version__", "0.0.1")
        result, _ = run_calls("old", old_version, [(), ()], failures=True)
    assert f"this worker has fairlp {fairlp.__version__}" in result[1].message
    assert "come from fairlp 0.0.1" in result[1].message


# progress


@pytest.mark.slow
def test_without_a_terminal_nothing_is_printed(workers, capfd):
    list(run_calls("quiet", divide, [(1, 1)] * 4))
    assert capfd.readouterr() == ("", "")


def test_the_progress_bar_goes_to_standard_error(capfd):
    list(run_calls("loud", divide, [(1, 1)] * 4, progress=True))
    printed = capfd.readouterr()
    assert printed.out == "" and "4 of 4" in printed.err


TWO_LONG_CALLS = """
from fairlp_research.runner import run_calls, run_on
from study_functions import say_and_sleep

with run_on(2, "loky"):
    list(run_calls("long", say_and_sleep, [(600,), (600,)], progress=False))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="only here a worker sees that its parent is gone")
def test_workers_end_when_the_process_that_sends_calls_is_killed():
    """Workers hold the output of the process that started them open for as long as they live."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", TWO_LONG_CALLS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        begun = [process.stdout.readline(), process.stdout.readline()]
        process.kill()
        rest, _ = process.communicate(timeout=30)
    assert begun == [b"begun\n", b"begun\n"]
    assert rest == b""


@pytest.mark.slow
def test_there_are_no_more_workers_than_calls():
    with run_on(4, "loky"):
        values = dict(run_calls("threads", blas_threads, [(0,), (1,)]))
    assert len({process for _, process in values.values()}) <= 2
