"""An instance as a folder of CSV files, each a table as :mod:`.frames` takes it.

The folder has ``users.csv`` and ``servers.csv``.

Beside them may lie ``eligible.csv`` (lists of servers), ``rates.csv``, ``queues.csv``, and
``fairlp.json`` (schema version, name, and numbers of rows, which show when a file was cut off).
Types of attributes are inferred; the mark ``:int`` in the header of labels says that they are whole
numbers, and ``:text`` that an attribute is text although it looks otherwise.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ...errors import FileFormatError, InstanceError, nearest, require_known
from ..instances.conditions import is_missing
from ..instances.instance import Instance
from ..instances.queues import ROOT
from .documents import column_of, plain, short
from .frames import ATTRIBUTE, FAMILIES, from_frames, pair_table, to_frames
from .plain_data import plain_json
from .schema import VERSION, require_version
from .tables import guarded, unguarded
from .whole_files import draft_folder, read_text, require_folder, utf8

USERS = "users.csv"
SERVERS = "servers.csv"
ELIGIBLE = "eligible.csv"
RATES = "rates.csv"
QUEUES = "queues.csv"
ABOUT = "fairlp.json"
#: All files of a folder; the first two are required.
FILES = (USERS, SERVERS, ELIGIBLE, RATES, QUEUES, ABOUT)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,299})")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FLAG = re.compile("true|false", re.IGNORECASE)
_NUMERIC = {
    "user": frozenset({"weight", "task_limit", "job_size", "entitlement"}),
    "server": frozenset({"count"}),
}
_TEXT = {"user": frozenset({"eligible", "queue"}), "server": frozenset[str]()}
#: Headers and rows of a file.
_Table = tuple[list[str], list[tuple[Any, ...]]]


def read_folder(folder: Path) -> Instance:
    """Return the instance of a folder of CSV files."""
    for name in (USERS, SERVERS):
        if not (folder / name).is_file():
            file_names = sorted(entry.name for entry in folder.iterdir())
            raise FileFormatError(
                f"{folder} has no {name}; {nearest(name, file_names) if file_names else 'it is empty'} (a "
                "folder of an instance "
                f"has {USERS} and {SERVERS})"
            )
    about = _about(folder / ABOUT)
    tables = {
        name: _Csv(folder / name, about["rows"]) for name in FILES[:-1] if (folder / name).is_file()
    }
    for name in about["rows"]:
        if name not in tables:
            raise FileFormatError(
                f"{folder} has no {name}, which {ABOUT} lists; restore it, or correct {ABOUT}"
            )
    users = tables[USERS].frame("user")
    servers = tables[SERVERS].frame("server")
    labels = {"user": users["user"].tolist(), "server": servers["server"].tolist()}
    if ELIGIBLE in tables:
        users["eligible"] = pd.Series(_places(tables[ELIGIBLE], users, labels), dtype=object)
    rates = None
    if RATES in tables:
        rates = tables[RATES].pairs(labels, tables[RATES].numbers("rate", blank=False))
    queues = tables[QUEUES].queues() if QUEUES in tables else None
    try:
        return from_frames(users, servers, rates=rates, queues=queues, name=about["name"])
    except InstanceError as error:
        raise InstanceError(f"{folder}: {error}") from None


def write_folder(
    instance: Instance, folder: Path, check: Callable[[Instance, Path, Path], None]
) -> list[Path]:
    """Write an instance as a folder of CSV files.

    ``check`` compares the draft with the instance before the draft takes its place.
    """
    if folder.exists() and not folder.is_dir():
        raise FileFormatError(
            f"cannot write {str(folder)!r}: a file of that name is there, and CSVs need a folder"
        )
    require_folder(folder)
    try:
        tables = _tables(instance)
    except InstanceError as error:
        raise FileFormatError(
            f"{str(folder)!r} was not written: {error}; write .json instead"
        ) from None
    about = {"fairlp": VERSION, **({"name": instance.name} if instance.name else {})}
    sizes = {name: len(rows) for name, (_, rows) in tables.items()}
    contents = {name: utf8(_csv(headers, rows)) for name, (headers, rows) in tables.items()}
    contents[ABOUT] = utf8(json.dumps({**about, "rows": sizes}, ensure_ascii=False) + "\n")
    with draft_folder(folder, FILES) as draft:
        for name, content in contents.items():
            (draft / name).write_bytes(content)
        check(instance, draft, folder)
    return [folder / name for name in contents]


def _tables(instance: Instance) -> dict[str, _Table]:
    """Return headers and rows of each file."""
    users, servers, *_ = to_frames(instance.derived(rates=None))
    pair = [_label_header("user", users.index), _label_header("server", servers.index)]
    tables: dict[str, _Table] = {}
    if "eligible" in users:
        places = users["eligible"].tolist()
        rows = [
            (u, s)
            for u, entry in zip(users.index, places, strict=True)
            if isinstance(entry, list)
            for s in entry
        ]
        if rows:
            tables[ELIGIBLE] = (pair, rows)
        conditions = [entry if isinstance(entry, str) else None for entry in places]
        users["eligible"] = pd.Series(conditions, dtype=object, index=users.index)
        if not any(conditions):
            users = users.drop(columns="eligible")
    if instance.rates is not None:
        pairs = np.argwhere(instance.rates > 0).tolist()
        rates = [
            (instance.users[n], instance.servers[i], short(instance.rates[n, i])) for n, i in pairs
        ]
        tables[RATES] = ([*pair, "rate"], rates)
    if instance.queues is not None:
        table = instance.queues.table(instance.resources)
        usual = {"cap": np.inf, "guarantee": 0.0, "weight": 1.0}
        common = np.array(
            [usual.get(str(column).partition(":")[0], np.nan) for column in table.columns]
        )
        listed = [
            (path, row)
            for path, *row in table.itertuples()
            if path != ROOT or not np.array_equal(row, common, equal_nan=True)
        ]
        queues = [(path, *map(_amount, row)) for path, row in listed]
        tables[QUEUES] = (["queue", *map(str, table.columns)], queues)
    return {
        USERS: _columns(users, pair[0], instance.user_attributes.shape[1]),
        SERVERS: _columns(servers, pair[1], instance.server_attributes.shape[1]),
        **tables,
    }


def _label_header(noun: str, labels: Iterable[Any]) -> str:
    kinds = {isinstance(label, int) for label in labels}
    if len(kinds) > 1:
        raise InstanceError(
            f"{noun} labels are text and whole numbers, and CSV has one type for all"
        )
    return f"{noun}:int" if kinds == {True} else noun


def _columns(frame: pd.DataFrame, label: str, attributes: int) -> _Table:
    """Return the headers and rows of a table.

    The last columns are attributes; those whose text looks like another type are marked as text.
    """
    headers = [label]
    columns = [frame.index.tolist()]
    for position, name in enumerate(frame.columns):
        values = frame.iloc[:, position].tolist()
        header = str(name)
        if position >= frame.shape[1] - attributes:
            subject = f"attribute {header.removeprefix(ATTRIBUTE)!r} of {frame.index.name}"
            labelled_values = zip(frame.index, values, strict=True)
            values = [plain(value, f"{subject} {row!r}") for row, value in labelled_values]
            is_text = any(isinstance(value, str) for value in values)
            if header.endswith(":text") or (
                is_text and inferred(list(map(_cell, values))) != values
            ):
                header += ":text"
        else:
            values = list(map(_amount, values))
        headers.append(header)
        columns.append(values)
    return headers, list(zip(*columns, strict=True))


def _amount(value: Any) -> Any:
    """Return what a cell holds: no limit is blank."""
    return None if value == np.inf else short(value) if isinstance(value, float) else value


def _csv(headers: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    return "".join(
        ",".join(_quoted(guarded(_cell(value))) for value in row) + "\n" for row in (headers, *rows)
    )


def _cell(value: Any) -> str:
    if is_missing(value):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _quoted(cell: str) -> str:
    if cell != cell.strip() or any(character in cell for character in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def inferred(cells: Sequence[str]) -> list[Any]:
    """Return cells as whole numbers, numbers or True/False, or else as text; blank ones as None.

    >>> inferred(["1", "", "3"]), inferred(["1", "2.5"]), inferred(["true", "False"]), inferred(["007", "x"])
    ([1, None, 3], [1.0, 2.5], [True, False], ['007', 'x'])
    """
    stripped = [cell.strip() for cell in cells]
    kinds = (
        (_INT, int),
        (_FLOAT, float),
        (_FLAG, lambda cell: cell.lower() == "true"),
    )
    for pattern, convert in kinds:
        if all(not cell or pattern.fullmatch(cell) for cell in stripped):
            return [convert(cell) if cell else None for cell in stripped]
    return [cell or None for cell in cells]


def _about(path: Path) -> dict[str, Any]:
    """Return what ``fairlp.json`` says, or what holds without it."""
    about = {"fairlp": VERSION, "name": "", "rows": {}}
    if not path.is_file():
        return about
    document: dict[str, Any] = plain_json(read_text(path), str(path))
    require_version(document, str(path))
    for key, value in document.items():
        require_known(key, about, f"{path}: unknown key {key!r}", FileFormatError)
        if not isinstance(value, kind := type(about[key])):
            raise FileFormatError(f"{path}: {key!r} is {value!r}; expected {kind.__name__}")
    for name in document.get("rows", {}):
        require_known(name, FILES[:-1], f"{path}: rows of {name!r}", FileFormatError)
    return about | document


def _places(table: _Csv, users: pd.DataFrame, labels: dict[str, list[Any]]) -> list[Any]:
    """Return for each user its condition, or its servers in ``eligible.csv``."""
    entries = users["eligible"].tolist() if "eligible" in users else [None] * len(users)
    is_listed = table.pairs(labels, [1.0] * len(table.lines)) > 0
    for user in np.flatnonzero(is_listed.any(axis=1)):
        if isinstance(entries[user], str):
            table.fail(
                1,
                f"user {labels['user'][user]!r} also has a condition in {USERS}; expected one of "
                "the two",
            )
        entries[user] = [labels["server"][server] for server in np.flatnonzero(is_listed[user])]
    return entries


class _Csv:
    """One CSV file: the cells below each header, and the lines that the rows begin in."""

    def __init__(self, path: Path, sizes: dict[str, Any]) -> None:
        self.path = path
        text = read_text(path)
        rows = []
        self.lines: list[int] = []
        reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
        line = 1
        try:
            for row in reader:
                if row:
                    rows.append([unguarded(cell) for cell in row])
                    self.lines.append(line)
                line = reader.line_num + 1
        except csv.Error as error:
            self.fail(line, f"{error}; is the file cut off, or a quote not doubled?")
        headers, *rows = rows
        del self.lines[0]
        for sign, name in ((";", "semicolons"), ("\t", "tabs")):
            if len(headers) == 1 and sign in headers[0]:
                self.fail(1, f"columns are separated by {name}; expected commas")
        if "" in headers:
            self.fail(
                1,
                f"column {headers.index('') + 1} has no name; name it, or remove it with its comma",
            )
        for row, line_number in zip(rows, self.lines, strict=True):
            if len(row) != len(headers):
                self.fail(
                    line_number,
                    f"has {len(row)} cells; expected {len(headers)}, as in the header (is it cut "
                    "off?)",
                )
        self.cells = {header: [row[k] for row in rows] for k, header in enumerate(headers)}
        if len(self.cells) < len(headers):
            twice = next(header for header in headers if headers.count(header) > 1)
            self.fail(1, f"column {twice!r} occurs twice; rename one")
        whole = text.endswith("\n")
        if path.name in sizes and not (whole and sizes[path.name] == len(rows)):
            raise FileFormatError(
                f"{path} has {len(rows)} rows{'' if whole else ' and ends within a line'}, but "
                f"{ABOUT} beside it says "
                f"{sizes[path.name]}: the file was cut off, or edited (then correct {ABOUT})"
            )

    def fail(self, line: int, problem: str) -> NoReturn:
        raise FileFormatError(f"{self.path}, line {line}: {problem}")

    def column(self, header: str) -> list[str]:
        if header not in self.cells:
            self.fail(1, f"there is no column {header!r}; {nearest(header, self.cells)}")
        return self.cells[header]

    def labels(self, noun: str) -> list[Any]:
        """Return the labels of users or servers; a header ``user:int`` makes them integers."""
        marked = f"{noun}:int"
        return (
            self.numbers(marked, whole=True, blank=False)
            if marked in self.cells
            else self.column(noun)
        )

    def numbers(self, header: str, *, whole: bool = False, blank: bool = True) -> list[Any]:
        """Return a column of numbers; blank ones are None, or an error."""
        pattern, kind = (_INT, "a whole number") if whole else (_FLOAT, "a number")
        cells = [cell.strip() for cell in self.column(header)]
        for cell, line in zip(cells, self.lines, strict=True):
            if not cell and not blank:
                self.fail(line, f"column {header!r} is blank; expected {kind}")
            if cell and not pattern.fullmatch(cell):
                self.fail(line, f"column {header!r} is {cell!r}; expected {kind}")
        return [(int if whole else float)(cell) if cell else None for cell in cells]

    def frame(self, noun: str) -> pd.DataFrame:
        """Return the table as :func:`from_frames` takes it."""
        columns = {noun: pd.Series(self.labels(noun), dtype=object)}
        for header, cells in self.cells.items():
            name = header.removesuffix(":text")
            if header in (noun, f"{noun}:int"):
                continue
            if name in columns:
                self.fail(1, f"column {name!r} occurs twice; rename one")
            if header in _NUMERIC[noun] or header.startswith(FAMILIES[noun] or ("\0",)):
                columns[name] = pd.Series(self.numbers(header), dtype=object)
            elif header in _TEXT[noun] or name != header:
                columns[name] = pd.Series([cell or None for cell in cells], dtype=object)
            else:
                columns[name] = column_of(inferred(cells))
        return pd.DataFrame(columns)

    def queues(self) -> pd.DataFrame:
        """Return weights, guarantees and caps of queues, by path."""
        columns = {"queue": [cell or ROOT for cell in self.column("queue")]}
        columns |= {header: self.numbers(header) for header in self.cells if header != "queue"}
        return pd.DataFrame(columns, dtype=object)

    def pairs(self, labels: Mapping[str, Sequence[Any]], numbers: Sequence[float]) -> np.ndarray:
        """Return a number for each user and server; labels are compared as text."""
        users, servers = (list(map(str, labels[noun])) for noun in ("user", "server"))
        pairs = (map(str, self.labels(noun)) for noun in ("user", "server"))
        rows = zip(*pairs, numbers, strict=True)
        return pair_table(rows, users, servers, lambda row: f"{self.path}, line {self.lines[row]}")
