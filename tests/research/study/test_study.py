"""Studies: the same numbers however they are run, definitions that go to files and back, errors that say where."""

from __future__ import annotations

import importlib.util
import sys
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

import study_functions
from fairlp import Instance, allocate, study
from fairlp.errors import FileFormatError, SolverNotAvailableError, StudyError, UnknownNameError
from fairlp.mechanisms.table import find
from fairlp.research.study import engine, functions, storage
from fairlp.research.study.functions import check_arguments, key_of
from fairlp.research.study.work import Ran
from study_functions import make


@pytest.fixture(scope="module")
def expected():
    return make().run(backend="sequential").frame


def same(one, other):
    """Whether two frames hold the same bits (equal floats may differ in the sign of a zero)."""
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    for name in one.select_dtypes("float"):
        assert one[name].to_numpy().tobytes() == other[name].to_numpy().tobytes(), name
    return True


# the same numbers


@pytest.mark.parametrize(
    ("backend", "workers"),
    [
        ("loky", 1),
        ("loky", 2),
        ("loky", 3),
        ("threading", 2),
        ("threading", 3),
        ("multiprocessing", 2),
    ],
)
def test_the_same_bits_on_every_back_end_and_number_of_workers(expected, backend, workers):
    assert same(make().run(backend=backend, workers=workers).frame, expected)


def test_rows_and_columns(expected):
    assert list(expected.columns[:4]) == ["point", "users", "run", "key"]
    assert expected["point"].tolist() == [0] * 6 + [1] * 6
    assert expected["run"].tolist() == [*range(6)] * 2
    assert expected["key"].iloc[0] == key_of({"users": 3})
    assert "error" not in expected
    assert expected["awkward.large"].dtype == "int64"


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
    found = alone.run(backend="sequential").frame
    rows = expected[expected["users"] == 5].reset_index(drop=True)
    assert found["awkward.third"].tolist() == rows["awkward.third"].tolist()
    more = make(runs=9).run(backend="sequential").frame
    shared = more[more["run"] < 6].reset_index(drop=True)
    assert shared["awkward.third"].tolist() == expected["awkward.third"].tolist()
    other = make(seed=1).run(backend="sequential").frame
    assert other["awkward.third"].tolist() != expected["awkward.third"].tolist()


def test_the_seed_is_what_the_documentation_says(expected):
    words = [int(expected["key"].iloc[0][k : k + 8], 16) for k in range(0, 32, 8)]
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(*words, 4)))
    instance = study_functions.noted(rng, users=3)
    assert make().instance(point=0, run=4).equals(instance)
    totals = allocate(instance, "asset").totals
    assert make().allocations(0, 4)["other"].totals.equals(totals)
    assert expected.loc[4, "summary.other.tasks"] == totals.sum()


def test_the_seeds_of_a_point_never_change():
    """Results in papers rest on these."""
    assert key_of({"users": 1000, "demands": [1, 10]}) == "7f784941b5fa61337a478ce0f639d6f5"
    first = make(
        generator="uniform-integers", grid=[{"users": 2, "resources": 2}], statistics=["jain"]
    )
    assert first.instance().demands.tolist() == [[5.0, 9.0], [1.0, 4.0]]


def test_the_order_of_parameters_does_not_matter_to_the_numbers():
    assert key_of({"users": 1, "resources": 2}) == key_of({"resources": 2, "users": 1})
    assert key_of({"users": 1}) != key_of({"users": 1.0})


# definitions


def test_a_grid_is_a_product_or_a_list():
    product = make(grid={"users": range(1, 3), "fail_at": [None, np.float64(11)]})
    assert product.points == make(grid=list(product.points)).points
    assert [tuple(p.values()) for p in product.points] == [
        (1, None),
        (1, 11.0),
        (2, None),
        (2, 11.0),
    ]
    assert make(generator=study_functions.one_user, grid=[{}]).points == ({},)


@pytest.mark.parametrize("name", ["s.yaml", "s.yml", "s.json"])
def test_a_study_goes_to_a_file_and_back(tmp_path, name):
    one = make(
        name="é: no",
        seed=2**70,
        mechanisms={
            "a": {"mechanism": "drf", "method": "lp", "solver": "highs", "time_limit": 1e3}
        },
        statistics=[
            "jain",
            {"name": "jain", "label": "again", "of": ["a"]},
            study_functions.awkward,
        ],
    )
    assert one.write(tmp_path / name) == tmp_path / name
    assert study.Study.read(tmp_path / name, allow_code=True) == one
    assert study.Study.from_dict(one.to_dict(), allow_code=True) == one
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    assert "study_functions:awkward" in (tmp_path / name).read_text(encoding="utf-8")
    assert (
        make(generator=study.generators.log_normal, grid=[{"users": 2, "servers": 2}]).generator
        == "log-normal"
    )


def test_a_function_of_a_notebook_runs_but_is_not_written(tmp_path):
    def local(rng, *, users, factor=2):
        return Instance.from_arrays([[1.0]] * users, [[float(rng.integers(5, 9)) * factor]])

    with_lambda = make(
        generator=local, statistics=[{"name": lambda i, a: {"n": len(i.users)}, "label": "size"}]
    )
    expected = with_lambda.run().frame
    assert expected["size.n"].tolist() == [3] * 6 + [5] * 6
    with pytest.raises(StudyError, match="'local' is in no module"):
        with_lambda.write(tmp_path / "s.yaml")
    assert same(with_lambda.run(tmp_path / "r.parquet", workers=2).frame, expected)
    assert same(with_lambda.run(tmp_path / "r.parquet").frame, expected)
    with pytest.raises(StudyError, match="its statistics differs"):
        changed = make(
            generator=local,
            statistics=[{"name": lambda i, a: {"n": 1 + len(i.users)}, "label": "size"}],
        )
        changed.run(tmp_path / "r.parquet")
    with pytest.raises(StudyError, match="cannot be recognised"):
        make(generator=partial(study_functions.noted, fail_at=99)).run(tmp_path / "p.parquet")


# bad input


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"generator": "uniform-integer"}, UnknownNameError, "did you mean 'uniform-integers'"),
        ({"generator": "study_functions:note"}, UnknownNameError, "did you mean 'noted'"),
        ({"generator": "no_such_module:x"}, UnknownNameError, "cannot import 'no_such_module'"),
        ({"generator": "study_functions:__name__"}, UnknownNameError, "has no function '__name__'"),
        ({"generator": 3}, StudyError, "not int"),
        ({"mechanisms": ["drff"]}, UnknownNameError, "did you mean 'drf'"),
        (
            {"mechanisms": {"a": {"mechanism": "drf", "method": "round"}}},
            UnknownNameError,
            "did you mean 'rounds'",
        ),
        (
            {"mechanisms": {"a": {"mechanism": "drf", "solver": "hihgs"}}},
            UnknownNameError,
            "did you mean 'highs'",
        ),
        ({"mechanisms": {"a": {"method": "lp"}}}, StudyError, "mechanisms.a is .*expected a name"),
        ({"mechanisms": []}, StudyError, "there are no mechanisms"),
        ({"mechanisms": [1]}, StudyError, "expected names"),
        ({"statistics": ["sumary"]}, UnknownNameError, "did you mean 'summary'"),
        ({"statistics": []}, StudyError, "there are no statistics"),
        ({"statistics": 4}, StudyError, "expected a list"),
        ({"statistics": [{"of": "exact"}]}, StudyError, r"statistics\[0\]"),
        ({"statistics": ["jain", "jain"]}, StudyError, "two statistics have the label 'jain'"),
        (
            {"statistics": [{"name": "jain", "fo": "exact"}]},
            UnknownNameError,
            "no parameter 'fo'; .*'of'",
        ),
        (
            {"statistics": [{"name": "jain", "of": "exat"}]},
            UnknownNameError,
            "did you mean 'exact'",
        ),
        ({"statistics": [{"name": "jain", "of": {}}]}, UnknownNameError, "has the label {}"),
        (
            {"statistics": [{"name": "deviation", "of": "exact"}]},
            StudyError,
            "argument: 'from'; its parameters: of, from",
        ),
        (
            {"grid": {"user": [3]}},
            UnknownNameError,
            r"point 0 \(user=3\): generator 'noted' .*did you mean 'users'",
        ),
        ({"grid": {}}, StudyError, "the grid is empty"),
        ({"grid": []}, StudyError, "the grid is empty"),
        ({"grid": {"users": []}}, StudyError, "grid.users is"),
        ({"grid": {"users": 3}}, StudyError, r"such as \[3\]"),
        ({"grid": {"users": [3, 3]}}, StudyError, "points 0 and 1 of the grid are the same"),
        ({"grid": {"users": [float("inf")]}}, StudyError, r"grid.users\[0\] is inf"),
        ({"grid": {"users": [{1, 2}]}}, StudyError, r"grid.users\[0\] is set"),
        ({"grid": [{"run": 1}]}, StudyError, "cannot be called 'run'"),
        ({"grid": [3]}, StudyError, "point 0 of the grid is 3"),
        ({"grid": {1: [2]}}, StudyError, "has the key 1"),
        ({"runs": 0}, StudyError, "runs is 0; expected a whole number of at least 1"),
        ({"runs": 2.5}, StudyError, "runs is 2.5"),
        ({"seed": -1}, StudyError, "seed is -1"),
        ({"name": ""}, StudyError, "the name"),
    ],
)
def test_what_cannot_be_run_is_told_before_anything_runs(changes, error, message):
    with pytest.raises(error, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[1]", "a study is a mapping"),
        (
            "{name: a, generator: uniform-integers, grid: {users: [1], resources: [1]}}",
            "has no 'mechanisms'",
        ),
        ("{name: a, mecanisms: [drf]}", "did you mean 'mechanisms'"),
        ("{fairlp_study: 2}", "version 1"),
        ("{name: a", "line 2"),
    ],
)
def test_a_bad_file_is_named(tmp_path, document, message):
    path = tmp_path / "s.yaml"
    path.write_text(document, encoding="utf-8")
    with pytest.raises(
        (StudyError, UnknownNameError, FileFormatError), match=rf"s\.yaml: .*{message}"
    ):
        study.Study.read(path)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"backend": "lokky"}, UnknownNameError, "did you mean 'loky'"),
        ({"backend": "dask"}, StudyError, "needs a cluster"),
        ({"workers": 0}, StudyError, "workers is 0"),
        ({"on_error": "rais"}, UnknownNameError, "did you mean 'raise'"),
        ({"path": "r.csv"}, FileFormatError, "is a .parquet file"),
        ({"path": "no/r.parquet"}, FileFormatError, "no folder 'no'"),
    ],
)
def test_how_to_run_is_checked_first(how, error, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRLP_TEST_LOG", str(tmp_path / "log"))
    with pytest.raises(error, match=message):
        make().run(**how)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"generator": study_functions.no_instance, "grid": [{}]},
            "returned list; expected an Instance",
        ),
        (
            {"statistics": [study_functions.no_numbers]},
            "'text' of statistic 'no_numbers' is 'no' .*expected a number",
        ),
        (
            {"statistics": [study_functions.no_mapping]},
            "statistic 'no_mapping' returned float; expected a mapping",
        ),
        (
            {"statistics": [{"name": lambda i, a: {"x": a["exat"]}, "label": "a"}]},
            "did you mean 'exact'",
        ),
        (
            {
                "mechanisms": {"exact": {"mechanism": "drf", "method": "lp", "tim": 1}},
                "statistics": ["jain"],
            },
            "'tim'",
        ),
    ],
)
def test_a_run_that_fails_is_named(changes, message):
    with pytest.raises(
        StudyError, match=rf"run 0 of point 0 \(.*\) of study 'small' failed: .*{message}"
    ):
        make(**changes).run(backend="sequential")


def test_a_missing_package_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(study.StudyNotAvailableError, match=r'pip install "fairlp\[study\]"'):
        make().run()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "dask\[distributed\]"'):
        make().run(backend="dask")


# errors in runs, progress


@pytest.mark.parametrize(("backend", "workers"), [("sequential", 1), ("loky", 2)])
def test_errors_can_be_recorded(backend, workers):
    failing = make(grid={"users": [3], "fail_at": [6.0]})
    result = failing.run(on_error="record", backend=backend, workers=workers)
    assert 0 < len(result.failed) < 6
    assert set(result.failed["error"]) == {"ZeroDivisionError: a large demand"}
    assert result.failed["awkward.third"].isna().all()
    assert result.summary()["count"].max() == 6 - len(result.failed)
    assert "failed" in repr(result)
    with pytest.raises(StudyError, match=r"run \d of point 0 \(users=3, fail_at=6.0\)") as raised:
        failing.run(backend=backend, workers=workers)
    assert "in noted" in raised.value.__notes__[0]


def test_a_study_in_which_all_runs_fail():
    result = make(grid={"users": [3], "fail_at": [0]}).run(on_error="record", backend="sequential")
    assert len(result.failed) == 6
    assert result.statistics == [] and result.summary().empty and result.table().empty


@pytest.mark.parametrize("progress", [None, False])
def test_without_a_terminal_nothing_is_printed(capfd, progress):
    make().run(progress=progress, workers=2)
    assert capfd.readouterr() == ("", "")


def test_the_progress_bar_goes_to_standard_error(capfd):
    make().run(progress=True, backend="sequential")
    shown = capfd.readouterr()
    assert shown.out == "" and "12/12" in shown.err


def test_warnings_of_fairlp_in_runs_are_not_shown(recwarn):
    def oversized(rng):
        return Instance.from_arrays([[3.0]], [[2.0]])

    make(generator=oversized, grid=[{}], statistics=["summary"]).run(backend="sequential")
    assert not recwarn.list


def test_a_worker_with_another_fairlp_refuses():
    from dataclasses import replace

    from fairlp.research.study.work import do

    found = do(replace(make().work, version="0.0.1"), 0, {"users": 3}, 0)
    assert isinstance(found, Ran) and "begun with 0.0.1" in found.error


def test_a_back_end_that_fails_is_named(monkeypatch):
    class Broken(joblib.parallel.SequentialBackend):
        def configure(self, *_, **__):
            raise OSError("no more processes")

    monkeypatch.setitem(joblib.parallel.BACKENDS, "broken", Broken)
    with pytest.raises(StudyError, match="back end 'broken' failed: OSError: no more processes"):
        make().run(backend="broken")


# results


def test_figures_over_the_runs(expected):
    result = make().run(backend="sequential")
    tasks = expected.groupby("users")["summary.exact.tasks"]
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
    assert result.study == make()
    assert "12 runs of 2 points" in repr(result) and "12 runs" in result._repr_html_()
    with pytest.raises(UnknownNameError, match=r"did you mean 'deviation.under"):
        result.table(["deviation.undr"])
    with pytest.raises(UnknownNameError, match="did you mean 'mean'"):
        result.table({"deviation.under": "meen"})


def test_points_without_a_parameter_and_of_several_types():
    result = make(generator=study_functions.one_user, grid=[{}], statistics=["summary"]).run(
        backend="sequential"
    )
    assert result.summary()["mean"].iloc[0] == 2.0
    several = make(grid=[{"users": 2}, {"users": 3, "fail_at": 11}]).run(backend="sequential")
    assert several.table("summary.exact.tasks").shape == (2, 2)
    points = [{"users": 2, "resources": 1, "demands": [1, 2]}, {"users": 2, "resources": 1}]
    texts = make(generator="uniform-integers", grid=points, statistics=["jain"]).run(
        backend="sequential"
    )
    assert texts.points["demands"].tolist()[0] == "[1, 2]"


# Studies without a lock, without a package, and with functions that no other process finds.


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


# Studies of one thing, functions that cannot be told, and files of another kind.


def test_one_mechanism_and_one_statistic_need_no_list():
    plain = make(mechanisms="drf", statistics=["jain"])
    assert make(mechanisms=find("drf"), statistics="jain").to_dict() == plain.to_dict()
    assert list(plain.mechanisms) == ["drf"]


def test_a_label_is_text():
    with pytest.raises(StudyError, match=r"the label of statistics\[0\] is 3; expected text"):
        make(mechanisms="drf", statistics=[{"name": "jain", "label": 3}])


def test_files_of_studies_have_three_endings_and_a_folder(tmp_path):
    one = make(mechanisms="drf", statistics="jain")
    with pytest.raises(FileFormatError, match=r"expected \.json, \.yaml or \.yml"):
        one.write(tmp_path / "study.toml")
    with pytest.raises(FileFormatError, match="there is no folder"):
        one.write(tmp_path / "no" / "study.yaml")
    (tmp_path / "taken.parquet").mkdir()
    with pytest.raises(FileFormatError, match="it is a folder; expected a file"):
        one.run(tmp_path / "taken.parquet", progress=False)


def test_a_point_that_is_not_there():
    one = make(mechanisms="drf", statistics="jain")
    for point in (-1, 10_000):
        with pytest.raises(StudyError, match=f"there is no point {point}; study"):
            one.allocations(point=point, run=0)


def test_a_function_whose_arguments_cannot_be_known_is_tried():
    assert check_arguments(dict, 1, {"anything": 1}, "dict") is None
    with pytest.raises(UnknownNameError, match="own has no parameter 'no_such'"):
        check_arguments(lambda instance: {}, 1, {"no_such": 1}, "own")


TWO, THREE = np.float64(2.0), np.float64(3.0)


def test_a_default_that_is_no_plain_value_is_known_by_its_kind():
    def spread(instance, allocations, like=study_functions, scale=TWO):
        return {"users": len(instance.users) * float(scale)}

    def twice(instance, allocations, like=study_functions, scale=THREE):
        return {"users": len(instance.users) * float(scale)}

    one, other = (
        make(mechanisms="drf", statistics=[how]).run(progress=False).frame
        for how in (spread, twice)
    )
    assert (
        one.filter(like="users").iloc[:, -1] * 1.5 == other.filter(like="users").iloc[:, -1]
    ).all()
