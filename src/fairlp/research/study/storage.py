"""The files of a study: the Parquet file of a finished one, and the journal of one that is under way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from ..._version import __version__
from ...errors import FileFormatError, StudyError
from ...models.files.whole_files import drafts, not_found, opened
from .checks import RESERVED, points_of
from .functions import Plain, key_of, need, plain
from .work import LARGEST_WHOLE, Ran

try:
    import fcntl
except ImportError:  # Windows: nothing keeps two processes apart there
    fcntl = None  # type: ignore[assignment]

#: Key in the metadata of a Parquet file, of a JSON object with the parts below.
METADATA = b"fairlp.study"

#: (key of the point, number of the run) → what came of it
Finished = dict[tuple[str, int], Ran]


def stamp(definition: Plain) -> dict[str, Any]:
    """Return what files say of the study that they hold."""
    return {"definition": dict(definition), "fairlp": __version__}


class Journal:
    """Finished runs as they come, one JSON object a line, beside the file that they will be in.

    The first line tells the study. A last line that was not written to its end is dropped, and its
    run done again.
    """

    def __init__(self, path: Path, definition: Plain) -> None:
        self.path = path
        self._stamp = stamp(definition)
        self._file: BinaryIO | None = None

    def __enter__(self) -> Journal:
        if self.path.exists() and not self.path.is_file():
            raise FileFormatError(
                f"{str(self.path)!r} is no file; remove it, or choose another name for the study"
            )
        self._file = open(self.path, "a+b")
        if fcntl is not None:
            try:
                fcntl.flock(
                    self._file, fcntl.LOCK_EX | fcntl.LOCK_NB
                )  # the system ends it with the process
            except OSError:
                self._file.close()
                raise StudyError(
                    f"another process is running this study: it has {str(self.path)!r} open"
                ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def _open(self) -> BinaryIO:
        assert self._file is not None
        return self._file

    def finished(self, points: Mapping[str, int]) -> Finished:
        """Return the runs in the journal by point and number, and make it ready for more."""
        file = self._open
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        file.truncate(whole)
        if not whole:
            self._write(self._stamp)
            return {}
        lines = [
            self._parsed(number, line)
            for number, line in enumerate(content[:whole].split(b"\n")[:-1], 1)
        ]
        same(lines[0], self._stamp, self.path)
        found: Finished = {}
        for number, entry in enumerate(lines[1:], 2):
            try:
                ran = Ran(points[entry["key"]], entry["run"], entry["values"], entry.get("error"))
            except (KeyError, TypeError, AttributeError):
                raise self._damaged(number) from None
            if not _is_outcome(ran):
                raise self._damaged(number)
            found[entry["key"], ran.run] = ran
        return found

    def append(self, key: str, outcome: Ran) -> None:
        """Write a finished run, so that it stays even if the process is killed now."""
        entry = {"key": key, "run": outcome.run, "values": outcome.values}
        self._write(entry if outcome.error is None else {**entry, "error": outcome.error})

    def remove(self) -> None:
        """Delete the journal, when all that is in it is in the file."""
        self.path.unlink(missing_ok=True)

    def _write(self, entry: Plain) -> None:
        # Python writes the shortest digits that read back as the same float, and NaN and Infinity
        # by name
        self._open.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self._open.flush()

    def _parsed(self, number: int, line: bytes) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> FileFormatError:
        return FileFormatError(
            f"line {number} of {str(self.path)!r} is damaged; delete that line to do its run again"
        )


def _is_outcome(ran: Ran) -> bool:
    """Whether what a file says of a run can be what came of it."""
    return (
        _is_whole(ran.run)
        and ran.run >= 0
        and isinstance(ran.values, dict)
        and all(type(value) is float or _is_whole(value) for value in ran.values.values())
        and (ran.error is None or isinstance(ran.error, str))
    )


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) <= LARGEST_WHOLE


def same(found: Any, expected: Plain, path: Path) -> None:
    """Raise when a file holds another study, or runs of another fairlp; only the number of runs may differ."""
    where = repr(str(path))
    _require_study(found, path)
    theirs, ours = found["definition"], expected["definition"]
    for part in ours:
        # text, because the order of points and columns follows that of the parts
        if part != "runs" and json.dumps(theirs.get(part)) != json.dumps(ours[part]):
            raise StudyError(
                f"{where} holds another study: its {part} differs; choose another file, or delete "
                "it"
            )
    if found.get("fairlp") != expected["fairlp"]:
        raise StudyError(
            f"{where} was begun with fairlp {found.get('fairlp')} and this is "
            f"{expected['fairlp']}, whose numbers may "
            "differ; finish it with that one, or choose another file"
        )


def _require_study(told: Any, path: Path) -> None:
    if not isinstance(told, dict) or not isinstance(told.get("definition"), dict):
        raise FileFormatError(f"{str(path)!r} holds no study of fairlp; choose another file")


def table(definition: Plain, finished: Iterable[Ran]) -> Any:
    """Return outcomes as an Arrow table: one row a run, by point and run; columns in the order of first appearance."""
    pa = need("pyarrow")
    points = points_of(definition["grid"])
    rows = sorted(finished, key=lambda outcome: (outcome.point, outcome.run))
    keys = [key_of(point) for point in points]
    columns = {"point": pa.array([row.point for row in rows], pa.int64())}
    for name in parameters(points):
        values = _texts([point.get(name) for point in points])
        columns[name] = pa.array([values[row.point] for row in rows])
    columns["run"] = pa.array([row.run for row in rows], pa.int64())
    columns["key"] = pa.array([keys[row.point] for row in rows], pa.string())
    for name in dict.fromkeys(name for row in rows for name in row.values):
        found = [
            row.values.get(name) for row in rows
        ]  # what a run does not have is null, which is not NaN
        whole = all(value is None or isinstance(value, int) for value in found)
        columns[name] = pa.array(
            found if whole else [None if v is None else float(v) for v in found],
            pa.int64() if whole else pa.float64(),
            from_pandas=False,
        )
    if any(row.error is not None for row in rows):
        columns["error"] = pa.array([row.error for row in rows], pa.string())
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(stamp(definition))})


def parameters(points: Iterable[Plain]) -> list[str]:
    """Return the names of all parameters, in the order of first appearance."""
    return list(dict.fromkeys(name for point in points for name in point))


def statistics_in(columns: list[str]) -> list[str]:
    """Return the columns of the statistics, which come after the others."""
    return [name for name in columns[columns.index("key") + 1 :] if name not in RESERVED]


def write(path: Path, made: Any) -> None:
    """Write an Arrow table as a Parquet file; a file that is there stays whole until the new one takes its place."""
    parquet = need("pyarrow.parquet")
    with drafts(path) as [draft]:
        parquet.write_table(made, draft)


def read(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return the Arrow table of a Parquet file, and what it says of its study."""
    pa, parquet = need("pyarrow"), need("pyarrow.parquet")
    if not path.exists():
        raise FileFormatError(not_found(path))
    try:
        with opened(path) as file:
            made = parquet.read_table(file)
        made.validate(full=True)  # text that is no UTF-8, for one
        told = json.loads((made.schema.metadata or {}).get(METADATA, b"null"))
    except FileFormatError:
        raise
    except (pa.ArrowException, ValueError, OSError, MemoryError, RecursionError) as error:
        raise FileFormatError(
            f"{str(path)!r} is no whole Parquet file: {str(error)[:200]}"
        ) from None
    _require_study(told, path)
    try:
        _check(made, told["definition"])
    except (StudyError, RecursionError) as error:
        raise FileFormatError(
            f"{str(path)!r} holds no study that fairlp wrote: {error}; choose another file"
        ) from None
    return made, told


def _check(made: Any, definition: Plain) -> None:
    """Raise when a table is not one of a study: its columns, their types, the points that its rows are of."""
    pa = need("pyarrow")
    if not isinstance(definition.get("name"), str) or type(definition.get("runs")) is not int:
        raise StudyError("its name or number of runs is missing")
    points = points_of(plain(definition.get("grid"), "grid"))
    names = made.column_names
    kinds = {"point": pa.int64(), "run": pa.int64(), "key": pa.string()}
    if (
        len(set(names)) < len(names)
        or names[:1] != ["point"]
        or any(name not in names for name in kinds)
    ):
        raise StudyError("its columns are of something else")
    statistics = names[names.index("key") + 1 :]
    kinds |= {name: pa.string() if name == "error" else None for name in statistics}
    for name, kind in kinds.items():
        found = made.schema.field(name).type
        if found != kind and (kind is not None or found not in (pa.int64(), pa.float64())):
            raise StudyError(f"its column {name!r} is of {str(found)[:60]}")
        if kind is not None and name != "error" and made.column(name).null_count:
            raise StudyError(f"its column {name!r} has gaps")
    plain_kinds = (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.null())
    for name in parameters(points):
        if name not in names or made.schema.field(name).type not in plain_kinds:
            raise StudyError(f"it has no column {name!r} of numbers or text")
    keys = [key_of(point) for point in points]
    for point, key in set(
        zip(made.column("point").to_pylist(), made.column("key").to_pylist(), strict=True)
    ):
        if not 0 <= point < len(keys) or keys[point] != key:
            raise StudyError(f"point {point} is none of its study")


def finished(made: Any, points: Mapping[str, int]) -> Finished:
    """Return the runs of an Arrow table by point and number."""
    names = statistics_in(made.column_names)
    columns = {name: made.column(name).to_pylist() for name in (*names, "key", "run")}
    errors = (
        made.column("error").to_pylist() if "error" in made.column_names else [None] * made.num_rows
    )
    found: Finished = {}
    for k, (key, run, error) in enumerate(zip(columns["key"], columns["run"], errors, strict=True)):
        values = {name: columns[name][k] for name in names if columns[name][k] is not None}
        found[key, run] = Ran(points[key], run, values, error)
    return found


def _texts(values: list[Any]) -> list[Any]:
    """Return the values of a parameter as a column can hold them: all numbers, all texts, or all as JSON."""
    there = [value for value in values if value is not None]
    for kinds in ((int,), (int, float), (str,), (bool,)):
        if all(type(value) in kinds for value in there):
            return (
                values if float not in kinds else [None if v is None else float(v) for v in values]
            )
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
