"""Studies without a lock, without a package, and with functions that no other process finds."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from fairlp.errors import SolverNotAvailableError, StudyError
from fairlp.research.study import engine, functions, storage
from study_functions import make


def test_a_system_without_locks_runs_studies(monkeypatch, tmp_path):
    monkeypatch.setattr(storage, "fcntl", None)
    one = make(mechanisms="drf", statistics="jain")
    kept = one.run(tmp_path / "kept.parquet", progress=False)
    assert kept.table().equals(one.run(progress=False).table())


def test_a_package_that_is_missing_is_told_as_it_is(monkeypatch):
    need = engine.need

    def lacking(name):
        if name == "joblib":
            raise SolverNotAvailableError(f"pip install {name}")
        return need(name)

    monkeypatch.setattr(engine, "need", lacking)
    with pytest.raises(SolverNotAvailableError, match=r"^pip install joblib$"):
        make(mechanisms="drf", statistics="jain").run(progress=False)


@pytest.mark.parametrize(("module", "name"), [("no_such_module", "jain"), ("json", "no_such_name")])
def test_a_function_that_its_module_does_not_have_has_no_name(module, name):
    def function():
        pass

    function.__module__, function.__qualname__ = module, name
    assert functions.name_of(function, {}) is None
    assert functions.name_of(function, {"mine": function}) == "mine"


def test_what_a_function_is_bound_to_is_told_by_its_kind_where_it_is_no_data():
    strange = object()

    def function(given=strange, *, factor=2.5):
        return given, factor

    assert functions._bound(function) == ["object", "2.5"]


def test_an_error_of_ours_among_the_runs_is_no_failure_of_the_back_end(monkeypatch):
    def fails(self, todo, stopped):
        raise StudyError("run 3 cannot be done")
        yield

    monkeypatch.setattr(engine._How, "in_parallel", fails)
    with pytest.raises(StudyError, match=r"^run 3 cannot be done$"):
        make(mechanisms="drf", statistics="jain").run(progress=False)


def test_where_no_file_can_be_locked_two_may_have_one_open(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    found = importlib.util.find_spec("fairlp.research.study.storage")
    copy = importlib.util.module_from_spec(found)
    found.loader.exec_module(copy)
    definition = {"name": "s", "grid": {}, "runs": 1}
    with (
        copy.Journal(tmp_path / "s.journal", definition) as one,
        copy.Journal(tmp_path / "s.journal", definition) as two,
    ):
        assert one.finished({}) == two.finished({}) == {}
    locked = storage.Journal(tmp_path / "s.journal", definition)
    if storage.fcntl is not None:
        with locked, pytest.raises(StudyError, match="another process is running this study"):
            storage.Journal(tmp_path / "s.journal", definition).__enter__()
