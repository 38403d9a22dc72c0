"""Read and write instances: ``.json``, ``.yaml``, or a folder with ``users.csv`` and ``servers.csv``.

What is written is read back before it takes the place of an older file, so nothing is lost
unnoticed. The formats are described in ``docs/file-formats.md``, and that of ``.json`` and
``.yaml`` by :func:`schema`.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
import pandas as pd
import yaml

from ...errors import FileFormatError, InstanceError, nearest
from ..instances.conditions import is_missing
from ..instances.instance import Instance
from ..instances.queues import ROOT, cleaned
from ..instances.quotas import KINDS, parted
from .frames import eligible_entries
from .plain_data import TOO_DEEP, depth
from .whole_files import (
    MOST_DEPTH,
    MOST_REPEATED,
    drafts,
    home,
    not_found,
    read_text,
    require_folder,
    utf8,
)

if TYPE_CHECKING:
    from yaml import SafeDumper as _BaseDumper
    from yaml import SafeLoader as _BaseLoader
else:
    _BaseLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _BaseDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

__all__ = ["read_document", "yaml_text"]

_EXPECTED = "expected .json, .yaml, .yml or a folder with users.csv and servers.csv"
_PARTS = ("users", "servers", "resources", "demands", "capacities", "counts", "weights", "task_limits", "eligible",
          "rates", "entitlements", "queues", "units", "name")  # fmt: skip
_YAML_STYLE: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 10**6}
_dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
_Kind = TypeVar("_Kind")
#: A mapping of a document.
Record = dict[str, Any]
#: The schema version that is written; version 1 has no queues, and is read as before.
VERSION = 2
VERSIONS: Final = (1, VERSION)
#: How an error names them.
READ: Final = " and ".join(map(str, VERSIONS))


def read(path: str | Path) -> Instance:
    """Return the instance of a file or folder.

    Parameters
    ----------
    path : str or Path
        ``x.json``, ``x.yaml``, ``x.yml``, or a folder with ``users.csv`` and ``servers.csv``.

    Returns
    -------
    Instance

    Raises
    ------
    FileFormatError
        When it is not there, cut off, of another encoding, format or schema version; the message
        says where.
    InstanceError
        When it can be read but does not describe an allocation problem.
    """
    source = home(path)
    if source.is_dir():
        from .csv_folder import read_folder

        return read_folder(source)
    hint = " (give the folder, not one of its files)" if source.suffix.lower() == ".csv" else ""
    document = read_document(source, f"{_EXPECTED}{hint}")
    return from_document(document, str(path))


def read_document(source: Path, expected: str = "expected .json, .yaml or .yml") -> Any:
    """Return the plain data of a ``.json``, ``.yaml`` or ``.yml`` file; an error says where it cannot be read."""
    suffix = source.suffix.lower()
    if not source.exists():
        raise FileFormatError(not_found(source))
    if suffix not in _PARSERS:
        raise FileFormatError(f"cannot tell the format of {str(source)!r}; {expected}")
    text = read_text(source)
    try:
        document = _PARSERS[suffix](text)
        if depth(document) > MOST_DEPTH:
            raise ValueError(TOO_DEEP)
        return document
    except RecursionError:
        raise FileFormatError(f"{source}: {TOO_DEEP}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise FileFormatError(
            f"{source}: {_where(error)}; is the file cut off or edited by hand?"
        ) from None


def yaml_text(document: Any) -> str:
    """Return plain data as YAML that is read alike by readers of YAML 1.1 and 1.2; short lists stay in one line."""
    text: str = yaml.dump(document, Dumper=_Dumper, default_flow_style=None, **_YAML_STYLE)
    return text


def write(instance: Instance, path: str | Path) -> list[Path]:
    """Write an instance as ``.json``, ``.yaml``, or a folder of CSVs (a name without suffix), and return the files.

    The file is written beside its place, read back and compared; only then does it take that place,
    so that an older file stays as it was when anything fails.

    Parameters
    ----------
    instance : Instance
    path : str or Path

    Raises
    ------
    FileFormatError
        When the format is unknown, or cannot hold the instance; the message names what would be
        lost.
    """
    target = home(path)
    suffix = target.suffix.lower()
    if target.is_dir() or not suffix or str(path).endswith(("/", os.sep)):
        from .csv_folder import write_folder

        return write_folder(instance, target, check)
    if suffix not in _DUMPERS:
        raise FileFormatError(f"cannot tell the format of {str(path)!r}; {_EXPECTED}")
    require_folder(target)
    content = utf8(_DUMPERS[suffix](to_document(instance)))
    with drafts(target) as [draft]:
        draft.write_bytes(content)
        check(instance, draft, target)
    return [target]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``.json`` and ``.yaml`` files.

    >>> schema()["properties"]["fairlp"]
    {'description': 'Schema version; version 1 has no queues.', 'enum': [1, 2]}
    """
    text = resources.files(__package__).joinpath("instance.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def check(instance: Instance, draft: Path, target: Path) -> None:
    """Read a draft back; raise when anything was lost."""
    try:
        lost = differences(instance, read(draft))
    except (FileFormatError, InstanceError) as error:
        reason = str(error).replace(str(draft), target.name)
        raise FileFormatError(
            f"{str(target)!r} was not written: it could not be read back ({reason})"
        ) from None
    if lost:
        advice = (
            ""
            if target.suffix.lower() == ".json"
            else "; write .json, or rename what is named here"
        )
        raise FileFormatError(
            f"{str(target)!r} was not written: it would lose or change {', '.join(lost)}{advice}"
        )


def differences(a: Instance, b: Instance) -> list[str]:
    """Return the names of what differs between two instances.

    >>> one = Instance.from_arrays([[1]], [[2]])
    >>> differences(one, Instance.from_arrays([[1]], [[3]], name="other"))
    ['capacities', 'name']
    """
    if a.equals(b):
        return []
    names = [
        attribute
        for attribute in _PARTS
        if not a.derived(**{attribute: getattr(b, attribute)}).equals(a)
    ]
    for attribute in ("server_attributes", "user_attributes"):
        values = getattr(a, attribute)
        other_values = getattr(b, attribute)
        noun = attribute.removesuffix("s").replace("_", " ")
        changed = [
            f"{noun} {n!r}"
            for n in values.columns
            if n not in other_values or _listed(values[n]) != _listed(other_values[n])
        ]
        names += (
            changed
            or [f"the order of {noun}s"][list(values.columns) == list(other_values.columns) :]
        )
    for attribute in ("queue", "condition"):
        values, other_values = (
            getattr(instance, attribute if attribute == "queue" else "conditions")
            for instance in (a, b)
        )
        none = (None,) * len(a.users)
        changed = [
            user
            for user, p, q in zip(a.users, values or none, other_values or none, strict=False)
            if p != q
        ]
        names += [f"the {attribute} of user {user!r}" for user in changed[:1]]
    return names


def _listed(column: Any) -> list[Any]:
    return [None if is_missing(value) else value for value in column.tolist()]


def _where(error: Exception) -> str:
    """Return what a parser says, with line and column."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, yaml.MarkedYAMLError) and mark is not None:
        message = ", ".join(text for text in (error.context, error.problem) if text)
        return f"line {mark.line + 1}, column {mark.column + 1}: {message}"
    return " ".join(str(error).split())


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(
                f"key {key!r} occurs twice in one mapping ({_dumps(dict(pairs[:1]))[:60]}…)"
            )
        mapping[key] = value
    return mapping


def _no_constant(name: str) -> Any:
    raise ValueError(
        f"{name} is not JSON; expected a finite number (leave the key out for no limit)"
    )


_parse_json = partial(json.loads, object_pairs_hook=_once, parse_constant=_no_constant)


def _dump_json(document: dict[str, Any]) -> str:
    """Return JSON with one record on each line."""
    parts = []
    for key, value in document.items():
        shown = _dumps(value)
        if isinstance(value, list) and value:
            shown = "[\n" + ",\n".join(f"    {_dumps(row)}" for row in value) + "\n  ]"
        parts.append(f"  {_dumps(key)}: {shown}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


class _Loader(_BaseLoader):
    """YAML with the plain types of YAML 1.2: ``no``, ``010``, ``1:30`` and dates are text; keys occur once."""

    yaml_implicit_resolvers = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    mark = key_node.start_mark
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key!r} occurs twice", mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


class _Dumper(_BaseDumper):
    """YAML that quotes text which YAML 1.1 or 1.2 could take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?")
for _tag, _pattern, _first in (
    ("null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF")),
    ("int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)"), list("-+0123456789")),
    ("float", re.compile(r"(?![-+]?0[0-9])" + _FLOAT.pattern), list("-+.0123456789")),
):
    _exact = re.compile(rf"(?:{_pattern.pattern})\Z")
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _exact, _first)
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _exact, _first)


def _parse_yaml(text: str) -> Any:
    _measure_yaml(text)
    return yaml.load(text, Loader=_Loader)  # a SafeLoader


def _measure_yaml(text: str) -> None:
    """Raise where YAML is nested too deeply or its aliases stand for too much; what constructs it recurses.

    A list of two aliases of a list of two aliases of … doubles with every line; what aliases stand
    for is counted.
    """
    open_ = []  # lists and mappings around: the anchor of each, and values so far
    sizes = {}  # values of each anchor
    repeated = size = 0
    for event in yaml.parse(text, Loader=_BaseLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            if len(open_) > MOST_DEPTH:
                raise yaml.MarkedYAMLError(problem=TOO_DEEP, problem_mark=event.start_mark)  # type: ignore[arg-type]
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
            if anchor is not None:
                sizes[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(str(event.anchor), 1)
            repeated += size
            if any(anchor == event.anchor for anchor, _ in open_) or repeated > MOST_REPEATED:
                problem = (
                    f"alias {event.anchor!r} stands for something that holds itself, or for too "
                    "much"
                )
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]
        else:
            size = 1
            if isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
                sizes[event.anchor] = 1
        if open_:
            anchor, before = open_[-1]
            open_[-1] = anchor, before + size


def _dump_yaml(document: dict[str, Any]) -> str:
    """Return YAML whose last key is required, so that a file that was cut off cannot pass for a whole one."""
    body = dict(document)
    body["resources"] = body.pop("resources")
    return yaml_text(body)


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".json": _parse_json,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}
_DUMPERS: dict[str, Callable[[dict[str, Any]], str]] = {
    ".json": _dump_json,
    ".yaml": _dump_yaml,
    ".yml": _dump_yaml,
}


def to_document(instance: Instance) -> Record:
    """Return an instance as plain lists and mappings, which JSON and YAML files hold; defaults are left out."""
    _distinct(instance.resources, "resources")
    names = list(map(str, instance.resources))

    def amounts(row: np.ndarray, amounts_of: np.ndarray) -> Record:
        return {names[r]: short(row[r]) for r in np.flatnonzero(amounts_of)}

    users = []
    places = eligible_entries(instance)
    attributes = _attribute_records(instance.user_attributes, instance.users, "user")
    for n, user in enumerate(instance.users):
        demand = instance.demands[n]
        weight = instance.weights[n]
        limit = instance.task_limits[n]
        record = {
            "user": user,
            "demand": amounts(demand, demand != 0),
            "weight": amounts(weight, weight == weight) if weight.ndim else _unless(weight, 1),
            "task_limit": _unless(limit, np.inf),
            "entitlement": None
            if instance.entitlements is None
            else short(instance.entitlements[n]),
            "queue": instance.queue[n] or None if instance.queue else None,
            "eligible": places[n],
            "attributes": attributes[n],
        }
        users.append(_given(record))
    servers = []
    attributes = _attribute_records(instance.server_attributes, instance.servers, "server")
    for i, server in enumerate(instance.servers):
        capacity = instance.capacities[i]
        count = _unless(instance.counts[i], 1)
        record = {"server": server, "capacity": amounts(capacity, capacity != 0)}
        servers.append(_given(record | {"count": count, "attributes": attributes[i]}))
    queues = rates = None
    if tree := instance.queues:
        queues = []
        for path, weight, guarantee, cap in zip(
            tree, tree.weights, tree.guarantees, tree.caps, strict=True
        ):
            limits = {
                "guarantee": amounts(guarantee, guarantee > 0),
                "cap": amounts(cap, np.isfinite(cap)),
            }
            quotas = (
                {}
                if tree.quotas is None
                else tree.quotas.said(tree.named(path), instance.resources)
            )
            limits |= {
                kind: {name: short(a) for name, a in amounts_of.items()}
                for kind, amounts_of in quotas.items()
            }
            record = _given(
                {
                    "queue": path,
                    "weight": _unless(weight, 1),
                    **{k: v or None for k, v in limits.items()},
                }
            )
            if path != ROOT or len(record) > 1:
                queues.append(record)
    if instance.rates is not None:
        rates = [
            {
                "user": instance.users[n],
                "server": instance.servers[i],
                "rate": short(instance.rates[n, i]),
            }
            for n, i in np.argwhere(instance.rates > 0).tolist()
        ]
    return _given(
        {
            "fairlp": VERSION,
            "name": instance.name or None,
            "resources": [
                _given({"name": r, "unit": instance.units.get(str(r))}) for r in instance.resources
            ],
            "users": users,
            "queues": queues,
            "servers": servers,
            "rates": rates,
        }
    )


def _given(record: Record) -> Record:
    """Return a record without what is None."""
    return {key: value for key, value in record.items() if value is not None}


def _unless(number: float, default: float) -> int | float | None:
    return None if number == default else short(number)


def plain(value: Any, where: str) -> str | int | float | bool | None:
    """Return an attribute's value as files hold it: text, a number, True/False, or None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and math.isinf(value)):
        raise FileFormatError(
            f"{where} is {value!r} ({type(value).__name__}); files hold text, finite numbers, "
            "True/False and None: "
            "convert it first"
        )
    return value


def short(number: float) -> int | float:
    """Return a whole number as int, so that 9.0 is written 9 (beyond 2**53 it stays as it is)."""
    value = float(number)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _attribute_records(
    frame: pd.DataFrame, labels: Iterable[Any], noun: str
) -> list[Record | None]:
    """Return the attributes in each row, missing values as None so that the order of columns is kept."""
    for name in frame.columns:
        if not isinstance(name, str):
            raise FileFormatError(
                f"{noun}s have attribute {name!r}, which is not text; rename it to write a file"
            )
    _distinct(frame.columns, f"attributes of {noun}s")
    columns = {name: frame[name].tolist() for name in frame.columns}
    return [
        {
            name: plain(column[k], f"attribute {name!r} of {noun} {label!r}")
            for name, column in columns.items()
        }
        or None
        for k, label in enumerate(labels)
    ]


def _distinct(labels: Iterable[Any], name: str) -> None:
    seen = set()
    for text in map(str, labels):
        if text in seen:
            raise FileFormatError(
                f"{name} have two names that are written {text!r}; rename one to write a file"
            )
        seen.add(text)


def column_of(values: list[Any]) -> pd.Series[Any]:
    """Return a column that holds exactly these values (with gaps, whole numbers are not turned into floats)."""
    kinds = {type(value) for value in values}
    return pd.Series(
        values, dtype=None if len(kinds) == 1 and kinds <= {int, float, bool, str} else object
    )


def _table_of(records: Iterable[Mapping[str, Any]], labels: list[Any]) -> pd.DataFrame | None:
    """Return attributes as a table with these labels, and the columns in the order in which they first occur."""
    rows = list(records)
    columns = dict.fromkeys(name for row in rows for name in row)
    if not columns:
        return None
    table = pd.DataFrame({name: column_of([row.get(name) for row in rows]) for name in columns})
    return table.set_axis(pd.Index(labels, dtype=object), axis=0)


def from_document(document: Any, file: str) -> Instance:
    """Return the instance of a document.

    Parameters
    ----------
    document : dict
    file : str
        Its name, for error messages.

    Raises
    ------
    FileFormatError
        When the document is of no schema version that is read.
    InstanceError
        When it is, and does not describe an allocation problem.
    """
    return _Document(document, file).instance()


class _Document:
    """Checks each part of a document, and says where one is wrong."""

    def __init__(self, document: Any, file: str) -> None:
        self.file = file
        if not isinstance(document, dict):
            self.fail(
                "",
                "expected a mapping with 'fairlp', 'resources', 'users', 'servers', found "
                f"{_shown(document)}",
            )
        if "fairlp" not in document:
            self.fail(
                "",
                f"has no schema version; expected 'fairlp: {VERSION}' (is the file cut off, or of "
                "another tool?)",
            )
        self.version = document["fairlp"]
        if isinstance(self.version, bool) or not isinstance(self.version, int):
            self.fail("fairlp", f"the schema version is {_shown(self.version)}; expected {VERSION}")
        if self.version not in VERSIONS:
            self.fail(
                "fairlp",
                f"the schema is version {self.version}; this fairlp reads {READ} (another fairlp "
                "wrote it)",
            )
        optional = ("name", "rates") if self.version == 1 else ("name", "queues", "rates")
        self.document = self.record(
            document, "", ("fairlp", "resources", "users", "servers"), optional
        )
        self.resources: dict[str, Any] = {}

    def fail(self, where: str, problem: str) -> NoReturn:
        raise FileFormatError(f"{self.file}: {where}{': ' if where else ''}{problem}")

    def expect(self, value: Any, kind: type[_Kind], where: str, expected: str) -> _Kind:
        """Return a part of the document that is to be of a kind."""
        if not isinstance(value, kind):
            self.fail(where, f"expected {expected}, found {_shown(value)}")
        return value

    def record(
        self, value: Any, where: str, required: Iterable[str], optional: Iterable[str]
    ) -> Record:
        """Return a mapping whose keys are known."""
        mapping = self.expect(value, dict, where, "a mapping")
        keys = [*required, *optional]
        for key in mapping:
            if key not in keys:
                self.fail(where, f"unknown key {key!r}; {nearest(key, keys)}")
        for key in required:
            if key not in mapping:
                self.fail(where, f"{key!r} is missing (is the file cut off?)")
        return mapping

    def records(self, key: str) -> list[Record]:
        """Return the records of a list, each part of them as its field says."""
        rows = self.expect(self.document[key], list, key, "a list")
        count, fields = _FIELDS[key]
        names = [name for name in fields if name != "queue" or key != "users" or self.version > 1]
        records = []
        for k, row in enumerate(rows):
            where = f"{key}[{k}]"
            entry = self.record(row, where, names[:count], names[count:])
            record = {}
            for name in names:
                if name in entry:
                    record[name] = fields[name](self, entry[name], f"{where}.{name}")
                where = f"{key}[{k}] ({record[names[0]]!r})"
            records.append(record | {"where": where})
        return records

    def text(self, value: Any, where: str) -> str:
        return self.expect(value, str, where, "text")

    def label(self, value: Any, where: str) -> Any:
        if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
            self.fail(
                where,
                f"{_shown(value)} is no label; expected text or a whole number (put it in quotes)",
            )
        return value

    def number(self, value: Any, where: str) -> float:
        if (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max
        ):
            return float(value)
        self.fail(
            where,
            f"{_shown(value)} is not a finite number; expected one (leave the key out for the "
            "default)",
        )

    def limit(self, value: Any, where: str) -> float:
        return math.inf if value is None else self.number(value, where)

    def path(self, value: Any, where: str) -> str:
        """Return the path of a queue; the root where there is none."""
        try:
            return cleaned(value)
        except InstanceError as error:
            self.fail(where, str(error))

    def amounts(self, value: Any, where: str) -> dict[Any, float]:
        """Return numbers by resource."""
        self.expect(value, dict, where, "a mapping from resources to numbers")
        for name in value:
            if str(name) not in self.resources:
                self.fail(where, f"{name!r} is no resource; {nearest(name, self.resources)}")
        return {
            self.resources[str(name)]: self.number(value[name], f"{where}.{name}") for name in value
        }

    def quotas(self, value: Any, where: str) -> dict[Any, float]:
        """Return numbers by resource, or by resource and flavor."""
        if not isinstance(value, dict):
            return self.amounts(value, where)
        for name in value:
            parted(name, self.resources, where)
        return {str(name): self.number(value[name], f"{where}.{name}") for name in value}

    def weight(self, value: Any, where: str) -> Any:
        return self.amounts(value, where) if isinstance(value, dict) else self.number(value, where)

    def places(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, str):
            return value
        self.expect(value, list, where, "a condition (text) or a list of servers")
        return [self.label(server, f"{where}[{k}]") for k, server in enumerate(value)]

    def attributes(self, value: Any, where: str) -> Record:
        mapping = self.expect(value, dict, where, "a mapping")
        for name, entry in mapping.items():
            if not isinstance(name, str):
                self.fail(where, f"{_shown(name)} is no name; expected text (put it in quotes)")
            if entry is not None and not isinstance(entry, str | bool):
                self.number(entry, f"{where}.{name}")
        return mapping

    def instance(self) -> Instance:
        """Return the instance; what is wrong with its numbers is said by itself."""
        units = {}
        for record in self.records("resources"):
            name = record["name"]
            if str(name) in self.resources:
                self.fail(record["where"], f"{name!r} occurs twice; resources must be unique")
            self.resources[str(name)] = name
            if "unit" in record:
                units[name] = record["unit"]
        users = self.records("users")
        servers = self.records("servers")
        of_user = partial(_column, users)
        of_server = partial(_column, servers)
        eligible = of_user("eligible")
        queue = of_user("queue", ROOT)
        entitlements = of_user("entitlement")
        if None in entitlements and any(entry is not None for entry in entitlements):
            where = users[entitlements.index(None)]["where"]
            self.fail(
                where, "has no entitlement but others have; expected one for each user, or none"
            )
        labels = {"user": of_user("user"), "server": of_server("server")}
        try:
            return Instance.from_arrays(
                self.table(of_user("demand")),
                self.table(of_server("capacity")),
                **{f"{noun}s": axis_labels for noun, axis_labels in labels.items()},
                resources=list(self.resources.values()),
                weights=self.weights(users),
                task_limits=of_user("task_limit", math.inf),
                entitlements=entitlements if None not in entitlements else None,
                eligible=eligible if any(entry is not None for entry in eligible) else None,
                counts=of_server("count", 1),
                rates=self.rates(labels),
                queue=queue if any(queue) else None,
                queues=self.queues(),
                units=units,
                user_attributes=_table_of(of_user("attributes", {}), labels["user"]),
                server_attributes=_table_of(of_server("attributes", {}), labels["server"]),
                name=self.text(self.document.get("name", ""), "name"),
            )
        except InstanceError as error:
            raise InstanceError(f"{self.file}: {error}") from None

    def table(self, rows: list[dict[Any, float]]) -> np.ndarray:
        """Return amounts as an array, 0 where there is none."""
        resources = self.resources.values()
        amounts = [[row.get(r, 0.0) for r in resources] for row in rows]
        return np.array(amounts).reshape(len(rows), len(resources))

    def weights(self, users: list[Record]) -> Any:
        """Return one weight for each user, or one for each resource where any user has several."""
        weights = _column(users, "weight", 1)
        if not any(isinstance(weight, dict) for weight in weights):
            return weights
        for user in users:
            given = user.get("weight", 1)
            for r, amount in user["demand"].items():
                if isinstance(given, dict) and amount > 0 and r not in given:
                    problem = (
                        f"there is none for {r!r}, which the user demands; expected one for each "
                        "resource"
                    )
                    self.fail(f"{user['where']}.weight", problem)
        resources = self.resources.values()
        return self.table(
            [w if isinstance(w, dict) else dict.fromkeys(resources, w) for w in weights]
        )

    def queues(self) -> dict[str, Record] | None:
        """Return what the document says of its queues, by path; None where it has none."""
        if "queues" not in self.document:
            return None
        queues = {}
        for record in self.records("queues"):
            path = record.pop("queue")
            where = record.pop("where")
            if path in queues:
                self.fail(where, "this queue occurs twice; expected once")
            queues[path] = record
        return queues

    def rates(self, labels: dict[str, list[Any]]) -> np.ndarray | None:
        if "rates" not in self.document:
            return None
        place = {
            noun: {label: k for k, label in enumerate(positions)}
            for noun, positions in labels.items()
        }
        rates = np.full(tuple(map(len, labels.values())), math.nan)
        for record in self.records("rates"):
            for noun, positions in place.items():
                if record[noun] not in positions:
                    self.fail(
                        record["where"],
                        f"{noun} {record[noun]!r} is unknown; {nearest(record[noun], positions)}",
                    )
            user = record["user"]
            server = record["server"]
            pair = place["user"][user], place["server"][server]
            if not np.isnan(rates[pair]):
                self.fail(
                    record["where"],
                    f"user {user!r} and server {server!r} occur twice; expected once",
                )
            rates[pair] = record["rate"]
        return np.asarray(np.nan_to_num(rates))


#: How many keys the records of a list must have, and how each is read; an error names the record by
#: the first.
_FIELDS: Final[dict[str, tuple[int, dict[str, Callable[[_Document, Any, str], Any]]]]] = {
    "resources": (1, {"name": _Document.label, "unit": _Document.text}),
    "users": (
        2,
        {
            "user": _Document.label,
            "demand": _Document.amounts,
            "weight": _Document.weight,
            "task_limit": _Document.limit,
            "entitlement": _Document.number,
            "queue": _Document.path,
            "eligible": _Document.places,
            "attributes": _Document.attributes,
        },
    ),
    "queues": (
        1,
        {
            "queue": _Document.path,
            "weight": _Document.number,
            "guarantee": _Document.amounts,
            "cap": _Document.amounts,
            **dict.fromkeys(KINDS, _Document.quotas),
        },
    ),
    "servers": (
        2,
        {
            "server": _Document.label,
            "capacity": _Document.amounts,
            "count": _Document.number,
            "attributes": _Document.attributes,
        },
    ),
    "rates": (3, {"user": _Document.label, "server": _Document.label, "rate": _Document.number}),
}


def _column(records: list[Record], name: str, default: Any = None) -> list[Any]:
    return [record.get(name, default) for record in records]


def _shown(value: Any) -> str:
    """Return what was found, short."""
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    kind = "text" if isinstance(value, str) else type(value).__name__
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({kind})"
