"""An instance as a folder of CSV files: ``users.csv`` and ``servers.csv``, each as :mod:`.frames` takes it.

Beside them may lie ``eligible.csv`` (lists of servers), ``rates.csv``, ``queues.csv``, and ``fairlp.json`` (schema
version, name, and numbers of rows, which show when a file was cut off). Types of attributes are inferred; the mark
``:int`` in the header of labels says that they are whole numbers, and ``:text`` that an attribute is text although it
looks otherwise.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ...errors import FileFormatError, InstanceError, nearest
from ..instances.conditions import is_missing
from ..instances.instance import Instance
from ..instances.queues import ROOT, Queues
from .documents import READ, VERSION, VERSIONS, column_of, plain, short
from .frames import ATTRIBUTE, FAMILIES, RESOURCE, from_frames, split_unit, to_frames
from .tables import guarded, unguarded
from .whole_files import draft_folder, read_text, require_folder, utf8

USERS, SERVERS, ELIGIBLE, RATES = "users.csv", "servers.csv", "eligible.csv", "rates.csv"
QUEUES, ABOUT = "queues.csv", "fairlp.json"
#: All files of a folder; the first two are required.
FILES = (USERS, SERVERS, ELIGIBLE, RATES, QUEUES, ABOUT)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,299})")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FLAGS = {"true": True, "false": False}
_NUMERIC = {"user": frozenset({"weight", "task_limit", "entitlement"}), "server": frozenset({"count"})}
_TEXT = {"user": frozenset({"eligible", "queue"}), "server": frozenset[str]()}


def read_folder(folder: Path) -> Instance:
    """Return the instance of a folder of CSV files."""
    for name in (USERS, SERVERS):
        if not (folder / name).is_file():
            there = sorted(entry.name for entry in folder.iterdir())
            raise FileFormatError(
                f"{folder} has no {name}; {nearest(name, there) if there else 'it is empty'} (a folder of an instance "
                f"has {USERS} and {SERVERS})"
            )
    about = _about(folder)
    tables = {name: _Csv(folder / name, about["rows"]) for name in FILES[:-1] if (folder / name).is_file()}
    for name in about["rows"]:
        if name not in tables:
            raise FileFormatError(f"{folder} has no {name}, which {ABOUT} lists; restore it, or correct {ABOUT}")
    if about["fairlp"] == 1:  # it knows no queues, and a file of that name is not one of it
        tables.pop(QUEUES, None)
        tables[USERS].rename_queue(tables[SERVERS].headers)
    users, servers = tables[USERS].frame("user"), tables[SERVERS].frame("server")
    labels = {"user": users["user"].tolist(), "server": servers["server"].tolist()}
    if ELIGIBLE in tables:
        users["eligible"] = pd.Series(_places(tables[ELIGIBLE], users, labels), dtype=object)
    rates = None
    if RATES in tables:
        rates = np.zeros((len(users), len(servers)))
        for user, server, rate in tables[RATES].pairs(labels, "rate"):
            rates[user, server] = rate
    queues = tables[QUEUES].queues() if QUEUES in tables else None
    try:
        return from_frames(users, servers, rates=rates, queues=queues, name=about["name"])
    except InstanceError as error:
        raise InstanceError(f"{folder}: {error}") from None


def write_folder(instance: Instance, folder: Path, check: Callable[[Instance, Path, Path], None]) -> list[Path]:
    """Write an instance as a folder of CSV files; ``check`` compares the draft before it takes its place."""
    if folder.exists() and not folder.is_dir():
        raise FileFormatError(f"cannot write {str(folder)!r}: a file of that name is there, and CSVs need a folder")
    require_folder(folder)
    contents = {name: utf8(text) for name, text in _texts(instance, folder).items()}
    with draft_folder(folder, FILES) as draft:
        for name, content in contents.items():
            (draft / name).write_bytes(content)
        check(instance, draft, folder)
    return [folder / name for name in contents]


def _texts(instance: Instance, folder: Path) -> dict[str, str]:
    try:
        users, servers = to_frames(instance.derived(rates=None))
    except InstanceError as error:
        raise FileFormatError(f"{str(folder)!r} was not written: {error}; write .json instead") from None
    marks = {what: _label_header(what, frame.index, folder) for what, frame in (("user", users), ("server", servers))}
    tables: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {}
    places = users["eligible"].tolist() if "eligible" in users else []
    pairs = [
        (user, server)
        for user, entry in zip(users.index, places, strict=bool(places))
        if isinstance(entry, list)
        for server in entry
    ]
    if pairs:
        tables[ELIGIBLE] = ([marks["user"], marks["server"]], [*pairs])
        conditions = [entry if isinstance(entry, str) else None for entry in places]
        users["eligible"] = pd.Series(conditions, dtype=object, index=users.index)
        if not any(conditions):
            users = users.drop(columns="eligible")
    if instance.rates is not None:
        at = np.argwhere(instance.rates > 0).tolist()
        rates = [(instance.users[n], instance.servers[i], short(instance.rates[n, i])) for n, i in at]
        tables[RATES] = ([marks["user"], marks["server"], "rate"], [*rates])
    if instance.queues is not None:
        tables[QUEUES] = _queue_table(instance.queues, instance)
    texts = {
        USERS: _csv(*_columns(users, marks["user"], instance.user_attributes.shape[1])),
        SERVERS: _csv(*_columns(servers, marks["server"], instance.server_attributes.shape[1])),
        **{name: _csv(header, rows) for name, (header, rows) in tables.items()},
    }
    sizes = {USERS: len(users), SERVERS: len(servers), **{name: len(rows) for name, (_, rows) in tables.items()}}
    about = {"fairlp": VERSION, **({"name": instance.name} if instance.name else {}), "rows": sizes}
    texts[ABOUT] = json.dumps(about, ensure_ascii=False) + "\n"
    return texts


def _queue_table(queues: Queues, instance: Instance) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return headers and rows of the queues; the root is there where it is not as any root."""
    table = queues.table(instance.resources)
    usual = [np.inf if str(column).startswith("cap:") else float(column == "weight") for column in table.columns]
    rows = [
        (path, *(None if value == np.inf else short(value) for value in row))
        for path, *row in table.itertuples()
        if path != ROOT or row != usual
    ]
    return ["queue", *map(str, table.columns)], rows


def _label_header(what: str, labels: Iterable[Any], folder: Path) -> str:
    kinds = {isinstance(label, int) for label in labels}
    if len(kinds) > 1:
        raise FileFormatError(
            f"{str(folder)!r} was not written: {what} labels are text and whole numbers, and CSV has one type for all; "
            "write .json instead"
        )
    return f"{what}:int" if kinds == {True} else what


def _columns(frame: pd.DataFrame, label: str, attributes: int) -> tuple[list[str], list[Sequence[Any]]]:
    """Return headers and rows; the last columns are attributes, marked as text where they look otherwise."""
    headers: list[str] = [label]
    columns: list[list[Any]] = [frame.index.tolist()]
    for position, name in enumerate(frame.columns):
        values = frame.iloc[:, position].tolist()
        header = str(name)
        if position >= frame.shape[1] - attributes:
            shown = f"attribute {header.removeprefix('attribute:')!r}"
            values = [
                plain(value, f"{shown} of {frame.index.name} {frame.index[k]!r}") for k, value in enumerate(values)
            ]
            is_text = any(isinstance(value, str) for value in values)
            if (is_text and inferred([_cell(value) for value in values]) != values) or header.endswith(":text"):
                header += ":text"
        else:
            values = [
                None if value == np.inf else short(value) if isinstance(value, float) else value for value in values
            ]
        headers.append(header)
        columns.append(values)
    return headers, list(zip(*columns, strict=True))


def _csv(headers: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [",".join(_quoted(guarded(header)) for header in headers)]
    lines += [",".join(_quoted(guarded(_cell(value))) for value in row) for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if is_missing(value):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _quoted(cell: str) -> str:
    if cell != cell.strip() or any(character in cell for character in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def inferred(cells: Sequence[str]) -> list[Any]:
    """Return what cells hold: whole numbers, numbers, True/False, or else text; blank ones are missing.

    >>> inferred(["1", "", "3"]), inferred(["1", "2.5"]), inferred(["true", "False"]), inferred(["007", "x"])
    ([1, None, 3], [1.0, 2.5], [True, False], ['007', 'x'])
    """
    given = [cell.strip() for cell in cells if cell.strip()]
    convert: Callable[[str], Any] = str
    if all(_INT.fullmatch(cell) for cell in given):
        convert = int
    elif all(_FLOAT.fullmatch(cell) for cell in given):
        convert = float
    elif all(cell.lower() in _FLAGS for cell in given):
        return [_FLAGS.get(cell.strip().lower()) for cell in cells]
    if convert is str:
        return [cell or None for cell in cells]
    return [convert(cell.strip()) if cell.strip() else None for cell in cells]


def _about(folder: Path) -> dict[str, Any]:
    """Return what ``fairlp.json`` says, or what holds without it."""
    path = folder / ABOUT
    found: dict[str, Any] = {"fairlp": VERSION, "name": "", "rows": {}}
    if not path.is_file():
        return found
    try:
        given = json.loads(read_text(path))
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path}: {error}; is the file cut off?") from None
    if not isinstance(given, dict) or type(given.get("fairlp")) is not int:
        raise FileFormatError(f"{path} has no schema version; expected 'fairlp': {VERSION}")
    if given["fairlp"] not in VERSIONS:
        raise FileFormatError(f"{path}: the schema is version {given['fairlp']}; this fairlp reads {READ}")
    for key, value in given.items():
        known = {"fairlp": int, "name": str, "rows": dict}
        if key not in known:
            raise FileFormatError(f"{path}: unknown key {key!r}; {nearest(key, known)}")
        if not isinstance(value, known[key]):
            raise FileFormatError(f"{path}: {key!r} is {value!r}; expected {known[key].__name__}")
    for name in given.get("rows", {}):
        if name not in FILES[:-1]:
            raise FileFormatError(f"{path}: rows of {name!r}; {nearest(name, FILES[:-1])}")
    return found | given


def _places(table: _Csv, users: pd.DataFrame, labels: dict[str, list[Any]]) -> list[Any]:
    """Return for each user its condition, or its servers in ``eligible.csv``."""
    entries: list[Any] = users["eligible"].tolist() if "eligible" in users else [None] * len(users)
    for user, server, _ in table.pairs(labels, None):
        if isinstance(entries[user], str):
            table.fail(1, f"user {labels['user'][user]!r} also has a condition in {USERS}; expected one of the two")
        if not isinstance(entries[user], list):
            entries[user] = []
        entries[user].append(labels["server"][server])
    return entries


class _Csv:
    """One CSV file: headers, and rows with the lines that they begin in."""

    def __init__(self, path: Path, sizes: dict[str, Any]) -> None:
        self.path = path
        text = read_text(path)
        self.rows: list[list[str]] = []
        self.lines: list[int] = []
        reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
        line = 1
        try:
            for row in reader:
                if row:
                    self.rows.append([unguarded(cell) for cell in row])
                    self.lines.append(line)
                line = reader.line_num + 1
        except csv.Error as error:
            self.fail(line, f"{error}; is the file cut off, or a quote not doubled?")
        self.headers = self.rows.pop(0)
        self.lines.pop(0)
        for sign, name in ((";", "semicolons"), ("\t", "tabs")):
            if len(self.headers) == 1 and sign in self.headers[0]:
                self.fail(1, f"columns are separated by {name}; expected commas")
        if "" in self.headers:
            self.fail(1, f"column {self.headers.index('') + 1} has no name; name it, or remove it with its comma")
        for row, at in zip(self.rows, self.lines, strict=True):
            if len(row) != len(self.headers):
                self.fail(at, f"has {len(row)} cells; expected {len(self.headers)}, as in the header (is it cut off?)")
        expected = sizes.get(path.name, len(self.rows))
        if expected != len(self.rows) or (path.name in sizes and not text.endswith("\n")):
            raise FileFormatError(
                f"{path} has {len(self.rows)} rows{'' if text.endswith(chr(10)) else ' and ends within a line'}, but "
                f"{ABOUT} beside it says {expected}: the file was cut off, or edited (then correct {ABOUT})"
            )

    def fail(self, line: int, what: str) -> NoReturn:
        raise FileFormatError(f"{self.path}, line {line}: {what}")

    def labels(self, what: str) -> list[Any]:
        """Return the labels in the column ``user`` or ``server``, which ``:int`` marks as whole numbers."""
        if f"{what}:int" in self.headers:
            found = self.numbers(f"{what}:int", _INT, int)
            if None in found:
                self.fail(self.lines[found.index(None)], f"column '{what}:int' is blank; expected a whole number")
            return found
        if what not in self.headers:
            self.fail(1, f"there is no column {what!r}; {nearest(what, self.headers)}")
        return self.column(what)

    def column(self, header: str) -> list[str]:
        k = self.headers.index(header)
        return [row[k] for row in self.rows]

    def numbers(
        self, header: str, pattern: re.Pattern[str] = _FLOAT, convert: Callable[[str], Any] = float
    ) -> list[Any]:
        """Return a column of numbers; blank ones are None."""
        found = []
        for cell, line in zip(self.column(header), self.lines, strict=True):
            text = cell.strip()
            if text and not pattern.fullmatch(text):
                kind = "whole number" if convert is int else "number"
                self.fail(line, f"column {header!r} is {cell!r}; expected a {kind}")
            found.append(convert(text) if text else None)
        return found

    def frame(self, what: str) -> pd.DataFrame:
        """Return the table as :func:`from_frames` takes it."""
        columns: dict[str, pd.Series[Any]] = {what: pd.Series(self.labels(what), dtype=object)}
        for header in self.headers:
            name = header.removesuffix(":text")
            if header in (what, f"{what}:int"):
                continue
            if name in columns or self.headers.count(header) > 1:
                self.fail(1, f"column {name!r} occurs twice; rename one")
            if header in _NUMERIC[what] or header.startswith(FAMILIES[what] or ("\0",)):
                columns[name] = pd.Series(self.numbers(header), dtype=object)
            elif header in _TEXT[what] or name != header:
                columns[name] = pd.Series([cell or None for cell in self.column(header)], dtype=object)
            else:
                columns[name] = column_of(inferred(self.column(header)))
        return pd.DataFrame(columns)

    def rename_queue(self, others: Iterable[str]) -> None:
        """Call the column ``queue`` what it was before there were queues: a resource if servers have it, or free."""
        resource = any(split_unit(header.removeprefix(RESOURCE))[0] == "queue" for header in others)
        for k, header in enumerate(self.headers):
            if header.removesuffix(":text") == "queue":
                self.headers[k] = f"{RESOURCE if resource else ATTRIBUTE}{header}"

    def queues(self) -> pd.DataFrame:
        """Return weights, guarantees and caps of queues, by path."""
        if "queue" not in self.headers:
            self.fail(1, f"there is no column 'queue'; {nearest('queue', self.headers)}")
        columns = {
            header: self.numbers(header) if header != "queue" else [cell or ROOT for cell in self.column(header)]
            for header in self.headers
        }
        if len(columns) < len(self.headers):
            self.fail(1, "a column occurs twice; expected each once")
        return pd.DataFrame({header: pd.Series(values, dtype=object) for header, values in columns.items()})

    def pairs(self, labels: dict[str, list[Any]], value: str | None) -> list[tuple[int, int, float]]:
        """Return positions of user and server (and the value) of each row; unknown and repeated ones are errors."""
        columns = []
        for what, known in labels.items():
            place = {str(label): k for k, label in enumerate(known)}
            given = list(map(str, self.labels(what)))
            for label, line in zip(given, self.lines, strict=True):
                if label not in place:
                    self.fail(line, f"{what} {label!r} is unknown; {nearest(label, place)}")
            columns.append([place[label] for label in given])
        values = self.numbers(value) if value else [1.0] * len(self.rows)
        seen: set[tuple[int, int]] = set()
        for user, server, number, line in zip(*columns, values, self.lines, strict=True):
            if (user, server) in seen:
                self.fail(line, f"user {labels['user'][user]!r} and server {labels['server'][server]!r} occur twice")
            if number is None:
                self.fail(line, f"column {value!r} is blank; expected a number")
            seen.add((user, server))
        return list(zip(*columns, values, strict=True))
