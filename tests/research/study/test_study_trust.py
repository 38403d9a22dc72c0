"""Files of studies that a stranger made: nothing of theirs runs unasked, and what cannot be is refused in a line."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from cli_runner import error_line, fairlp_in_a_shell, run
from fairlp import study
from fairlp.cli import ExitCode
from fairlp.errors import FairlpError, FileFormatError, StudyError
from fairlp.research.study import storage
from profiles import many
from study_functions import make

PLAIN = {
    "name": "plain",
    "generator": "uniform-integers",
    "grid": {"users": [2, 3], "resources": [2]},
    "mechanisms": {"a": {"mechanism": "drf"}},
    "statistics": ["summary"],
    "runs": 2,
}
#: Parts of a study that would run something.
CODE = [
    {"generator": "os:system"},
    {"generator": "beside:mine"},
    {"generator": "fairlp.models.files.whole_files:os.system"},
    {"statistics": ["summary", "os:system"]},
    {"statistics": [{"name": "os:system", "label": "a"}]},
    {"statistics": "os:system"},
    {"statistics": {"name": "os:system"}},
    {"mechanisms": {"a": {"mechanism": "drf", "method": "lp", "extra": {"log_file": "written"}}}},
    {"mechanisms": {"a": {"mechanism": "drf", "method": "lp", "log_file": "written"}}},
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module that tells when it is imported, and one that passes for a package that studies load."""
    monkeypatch.chdir(tmp_path)
    for name in ("beside", "joblib"):
        (tmp_path / f"{name}.py").write_text(f"open('{name} ran', 'w').close()\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("changes", CODE, ids=str)
def test_what_would_run_is_refused_and_nothing_ran(changes, here):
    for name in ("s.json", "s.yaml"):
        (here / name).write_text(json.dumps(PLAIN | changes), encoding="utf-8")
        with pytest.raises(
            StudyError, match=rf"^{name}: .* allow it: allow_code=True, or .*--allow-code"
        ):
            study.Study.read(name)
        assert "--allow-code" in error_line(run("study", name, code=ExitCode.INPUT))
    with pytest.raises(StudyError, match="allow_code=True"):
        study.Study.from_dict(PLAIN | changes)
    assert not list(here.glob("* ran")) and not (here / "written").exists()


def test_a_folder_of_a_stranger_takes_no_part(here):
    """A module beside the study that is called like one that fairlp loads is not taken instead of it."""
    (folder := here / "sub").mkdir()
    (here / "joblib.py").rename(folder / "joblib.py")
    (folder / "s.json").write_text(json.dumps(PLAIN), encoding="utf-8")
    assert fairlp_in_a_shell("study", "sub/s.json").returncode == 0
    assert not list(here.glob("* ran"))


def test_the_definition_in_a_parquet_file_is_not_run_either(tmp_path):
    path = tmp_path / "r.parquet"
    assert make().run(path, backend="sequential").study == make()
    found = study.Result.read(path)
    assert len(found.points) == 2 and len(found.summary())
    with pytest.raises(
        StudyError, match=r"'study_functions:noted' is a function .*allow_code=True"
    ):
        assert found.study
    assert study.Result.read(path, allow_code=True).study == make()


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"3",
        b"null",
        b'{"key": 1}',
        b'{"key": [1], "run": 0, "values": {}}',
        b'{"key": "KEY", "run": 1e999, "values": {}}',
        b'{"key": "KEY", "run": "0", "values": {}}',
        b'{"key": "KEY", "run": -1, "values": {}}',
        b'{"key": "KEY", "run": 99999999999999999999, "values": {}}',
        b'{"key": "KEY", "run": 0, "values": []}',
        b'{"key": "KEY", "run": 0, "values": {"a": "text"}}',
        b'{"key": "KEY", "run": 0, "values": {"a": 99999999999999999999}}',
        b'{"key": "KEY", "run": 0, "values": {}, "error": 3}',
        b"[" * 100_000,
        b"1" * 10_000,
        b"\x00\xff",
    ],
)
def test_a_line_of_a_journal_that_cannot_be_is_named(line, tmp_path):
    path, journal = tmp_path / "r.parquet", tmp_path / "r.parquet.journal"
    plain = study.Study.from_dict(PLAIN)
    first = json.dumps(storage.stamp(plain.definition())).encode()
    journal.write_bytes(first + b"\n" + line.replace(b"KEY", plain.keys[0].encode()) + b"\n")
    with pytest.raises(
        FileFormatError, match=r"line 2 of .*r\.parquet\.journal' is damaged; delete that line"
    ):
        plain.run(path, backend="sequential")


def test_a_pipe_is_no_file_of_a_study(tmp_path):
    for name in ("r.parquet", "x.parquet.journal", "s.yaml"):
        os.mkfifo(tmp_path / name)
    plain = study.Study.from_dict(PLAIN)
    for use in (
        lambda: study.Result.read(tmp_path / "r.parquet"),
        lambda: plain.run(tmp_path / "r.parquet"),
        lambda: plain.run(tmp_path / "x.parquet"),
        lambda: study.Study.read(tmp_path / "s.yaml"),
    ):
        with pytest.raises(FileFormatError, match=r"expected a file|is no file"):
            use()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A Parquet file of a study, as a table with what it says of itself."""
    path = tmp_path_factory.mktemp("whole") / "r.parquet"
    study.Study.from_dict(PLAIN).run(path, backend="sequential")
    return parquet.read_table(path), path.read_bytes()


def renamed(table, old, new):
    return table.rename_columns([new if name == old else name for name in table.column_names])


def with_column(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def told(table, **changes):
    found = json.loads(table.schema.metadata[storage.METADATA])
    found["definition"] |= changes
    return table.replace_schema_metadata({storage.METADATA: json.dumps(found)})


WRONG = {
    "no key": lambda t: t.drop_columns("key"),
    "no point": lambda t: t.drop_columns("point"),
    "no parameter": lambda t: t.drop_columns("users"),
    "another name": lambda t: renamed(t, "users", "usesr"),
    "two of a name": lambda t: renamed(t, "users", "resources"),
    "a point too high": lambda t: with_column(t, "point", [0, 1, 2, 3]),
    "a negative point": lambda t: with_column(t, "point", [0, 0, 1, -1]),
    "points of another key": lambda t: with_column(t, "point", [1, 1, 0, 0]),
    "points that are text": lambda t: with_column(t, "point", ["a", "b", "c", "d"]),
    "points with gaps": lambda t: with_column(t, "point", [0, None, 1, 1]),
    "lists": lambda t: with_column(t, "users", [[1]] * 4),
    "statistics that are text": lambda t: with_column(t, t.column_names[-1], ["a"] * 4),
    "no grid": lambda t: told(t, grid=None),
    "a grid that is none": lambda t: told(t, grid=[[1]]),
    "no name": lambda t: told(t, name=None),
    "runs that are text": lambda t: told(t, runs="many"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_parquet_file_that_is_not_of_a_study_is_refused(name, whole, tmp_path):
    parquet.write_table(WRONG[name](whole[0]), path := tmp_path / "r.parquet")
    for use in (study.Result.read, study.Study.from_dict(PLAIN).run):
        with pytest.raises(FileFormatError, match=r"holds no study|no whole Parquet file"):
            use(path)


@settings(deadline=None, max_examples=many(60))
@given(data=st.data())
def test_a_parquet_file_that_was_cut_or_changed(data, whole, tmp_path_factory):
    content = bytearray(whole[1])
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("changed") / "r.parquet"
    path.write_bytes(content)
    try:
        found = study.Result.read(path)
        assert len(found.points) <= 2 and repr(found)
        found.summary()
    except FairlpError as error:
        assert len(str(error)) < 1000
