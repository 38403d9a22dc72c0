"""An instance as one document of plain lists and mappings: what JSON and YAML files hold (schema version 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

import numpy as np
import pandas as pd

from ...errors import FileFormatError, InstanceError, nearest
from ..instances.conditions import is_missing
from ..instances.instance import Instance
from ..instances.queues import ROOT, Queues, cleaned
from .frames import eligible_entries

# Queues in a document: one record each, with its weight, guarantee and cap; and the path of each user's queue.

#: A mapping of a document.
Record = dict[str, Any]
_AMOUNTS: Final = ("guarantee", "cap")


def queue_records(queues: Queues, names: list[str]) -> list[Record]:
    """Return one record for each queue, without what is the default; the root only where it has something to say."""
    records = []
    for path, weight, guarantee, cap in zip(queues, queues.weights, queues.guarantees, queues.caps, strict=True):
        record: Record = {"queue": path}
        if weight != 1:
            record["weight"] = short(weight)
        for what, row, given in (("guarantee", guarantee, guarantee > 0), ("cap", cap, np.isfinite(cap))):
            if given.any():
                record[what] = {names[r]: short(row[r]) for r in np.flatnonzero(given)}
        if path != ROOT or len(record) > 1:
            records.append(record)
    return records


def queues_of(document: _Document) -> dict[str, Record] | None:
    """Return what a document says of its queues, by path; None where it has none."""
    if "queues" not in document.document:
        return None
    found: dict[str, Record] = {}
    for k, entry in enumerate(document.records("queues")):
        record = document.record(entry, f"queues[{k}]", ("queue",), ("weight", *_AMOUNTS))
        path = path_of(document, record["queue"], f"queues[{k}].queue")
        where = f"queues[{k}] ({path!r})"
        if path in found:
            document.fail(where, "this queue occurs twice; expected once")
        found[path] = {}
        if "weight" in record:
            weight = document.number(record["weight"], f"{where}.weight")
            if weight <= 0:
                document.fail(f"{where}.weight", f"it is {weight:g}; expected a number > 0")
            found[path]["weight"] = weight
        for what in _AMOUNTS:
            if what in record:
                row = document.row(record[what], f"{where}.{what}", np.nan)
                given = zip(document.resources, row.tolist(), strict=True)
                found[path][what] = {name: amount for name, amount in given if not np.isnan(amount)}
    return found


def path_of(document: _Document, value: Any, where: str) -> str:
    """Return the path of a queue; the root where there is none."""
    try:
        return cleaned(value)
    except InstanceError as error:
        document.fail(where, str(error))


#: The schema version that is written; version 1 has no queues, and is read as before.
VERSION = 2
VERSIONS: Final = (1, VERSION)
#: How an error names them.
READ: Final = " and ".join(map(str, VERSIONS))
_TOP: Final = {1: ("name", "rates"), VERSION: ("name", "queues", "rates")}
_USER_1: Final = ("weight", "task_limit", "entitlement", "eligible", "attributes")
_USER: Final = {1: _USER_1, VERSION: (*_USER_1, "queue")}


def plain(value: Any, where: str) -> str | int | float | bool | None:
    """Return an attribute's value as files hold it: text, a number, True/False, or None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and math.isinf(value)):
        raise FileFormatError(
            f"{where} is {value!r} ({type(value).__name__}); files hold text, finite numbers, True/False and None: "
            "convert it first"
        )
    return value


def short(number: float) -> int | float:
    """Return a whole number as int, so that 9.0 is written 9 (beyond 2**53 it stays as it is)."""
    value = float(number)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def table_of(records: Iterable[Mapping[str, Any]], labels: list[Any]) -> pd.DataFrame | None:
    """Return attributes as a table with these labels, and the columns in the order in which they first occur."""
    rows = list(records)
    columns = dict.fromkeys(name for row in rows for name in row)
    if not columns:
        return None
    found = pd.DataFrame({name: column_of([row.get(name) for row in rows]) for name in columns})
    return found.set_axis(pd.Index(labels, dtype=object), axis=0)


def column_of(values: list[Any]) -> pd.Series[Any]:
    """Return a column that holds exactly these values (with gaps, whole numbers are not turned into floats)."""
    kinds = {type(value) for value in values}
    return pd.Series(values, dtype=None if len(kinds) == 1 and kinds <= {int, float, bool, str} else object)


def to_document(instance: Instance) -> Record:
    """Return the document of an instance; defaults are left out."""
    _distinct(instance.resources, "resources")
    names = list(map(str, instance.resources))
    document: Record = {"fairlp": VERSION}
    if instance.name:
        document["name"] = instance.name
    document["resources"] = [
        {"name": r, "unit": instance.units[str(r)]} if str(r) in instance.units else {"name": r}
        for r in instance.resources
    ]
    document["users"] = _user_records(instance, names)
    if instance.queues is not None:
        document["queues"] = queue_records(instance.queues, names)
    document["servers"] = _server_records(instance, names)
    if instance.rates is not None:
        document["rates"] = [
            {"user": instance.users[n], "server": instance.servers[i], "rate": short(instance.rates[n, i])}
            for n, i in np.argwhere(instance.rates > 0).tolist()
        ]
    return document


def _user_records(instance: Instance, names: list[str]) -> list[Record]:
    places = eligible_entries(instance)
    stood_in = instance.queue or ("",) * len(instance.users)
    attributes = _attribute_records(instance.user_attributes, instance.users, "user")
    records = []
    for n, user in enumerate(instance.users):
        record: Record = {"user": user, "demand": _amounts(names, instance.demands[n])}
        if instance.weights.ndim == 2:
            record["weight"] = dict(zip(names, map(short, instance.weights[n]), strict=True))
        elif instance.weights[n] != 1:
            record["weight"] = short(instance.weights[n])
        if np.isfinite(instance.task_limits[n]):
            record["task_limit"] = short(instance.task_limits[n])
        if instance.entitlements is not None:
            record["entitlement"] = short(instance.entitlements[n])
        if stood_in[n]:
            record["queue"] = stood_in[n]
        if places[n] is not None:
            record["eligible"] = places[n]
        records.append(record | attributes[n])
    return records


def _server_records(instance: Instance, names: list[str]) -> list[Record]:
    attributes = _attribute_records(instance.server_attributes, instance.servers, "server")
    records = []
    for i, server in enumerate(instance.servers):
        record: Record = {"server": server, "capacity": _amounts(names, instance.capacities[i])}
        if instance.counts[i] != 1:
            record["count"] = int(instance.counts[i])
        records.append(record | attributes[i])
    return records


def _amounts(names: list[str], row: np.ndarray) -> dict[str, int | float]:
    return {name: short(amount) for name, amount in zip(names, row, strict=True) if amount != 0}


def _attribute_records(frame: pd.DataFrame, labels: Iterable[Any], what: str) -> list[Record]:
    """Return ``{"attributes": {...}}`` for each row, missing values as None so that the order of columns is kept."""
    for name in frame.columns:
        if not isinstance(name, str):
            raise FileFormatError(f"{what}s have attribute {name!r}, which is not text; rename it to write a file")
    _distinct(frame.columns, f"attributes of {what}s")
    columns = [
        [
            plain(value, f"attribute {name!r} of {what} {label!r}")
            for label, value in zip(labels, frame[name], strict=True)
        ]
        for name in frame.columns
    ]
    if not columns:
        return [{} for _ in labels]
    return [{"attributes": dict(zip(frame.columns, row, strict=True))} for row in zip(*columns, strict=True)]


def _distinct(labels: Iterable[Any], what: str) -> None:
    seen: set[str] = set()
    for name in map(str, labels):
        if name in seen:
            raise FileFormatError(f"{what} have two names that are written {name!r}; rename one to write a file")
        seen.add(name)


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
                "", f"expected a mapping with 'fairlp', 'resources', 'users', 'servers', found {_shown(document)}"
            )
        version = document.get("fairlp")
        if "fairlp" not in document:
            self.fail(
                "", f"has no schema version; expected 'fairlp: {VERSION}' (is the file cut off, or of another tool?)"
            )
        if isinstance(version, bool) or not isinstance(version, int):
            self.fail("fairlp", f"the schema version is {_shown(version)}; expected {VERSION}")
        if version not in VERSIONS:
            self.fail("fairlp", f"the schema is version {version}; this fairlp reads {READ} (another fairlp wrote it)")
        self.version = version
        self.document = self.record(document, "", ("fairlp", "resources", "users", "servers"), _TOP[version])
        self.resources: list[Any] = []
        self.units: dict[Any, str] = {}
        self.position: dict[str, int] = {}

    def fail(self, where: str, what: str) -> NoReturn:
        raise FileFormatError(f"{self.file}: {where}{': ' if where else ''}{what}")

    def record(self, value: Any, where: str, required: Iterable[str], optional: Iterable[str]) -> Record:
        """Return a mapping whose keys are known."""
        if not isinstance(value, dict):
            self.fail(where, f"expected a mapping, found {_shown(value)}")
        known = [*required, *optional]
        for key in value:
            if key not in known:
                self.fail(where, f"unknown key {key!r}; {nearest(key, known)}")
        for key in required:
            if key not in value:
                self.fail(where, f"{key!r} is missing (is the file cut off?)")
        return value

    def records(self, key: str) -> list[Any]:
        rows = self.document[key]
        if not isinstance(rows, list):
            self.fail(key, f"expected a list, found {_shown(rows)}")
        return rows

    def label(self, value: Any, where: str) -> Any:
        if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
            self.fail(where, f"{_shown(value)} is no label; expected text or a whole number (put it in quotes)")
        return value

    def number(self, value: Any, where: str) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        self.fail(where, f"{_shown(value)} is not a finite number; expected one (leave the key out for the default)")

    def row(self, value: Any, where: str, default: float = 0.0) -> np.ndarray:
        """Return one number for each resource; one that is not there is the default."""
        if not isinstance(value, dict):
            self.fail(where, f"expected a mapping from resources to numbers, found {_shown(value)}")
        row = np.full(len(self.resources), default)
        for name, amount in value.items():
            if str(name) not in self.position:
                self.fail(where, f"{name!r} is no resource; {nearest(name, self.position)}")
            row[self.position[str(name)]] = self.number(amount, f"{where}.{name}")
        return row

    def attributes(self, record: Record, where: str) -> Record:
        given = record.get("attributes", {})
        if not isinstance(given, dict):
            self.fail(f"{where}.attributes", f"expected a mapping, found {_shown(given)}")
        for name, value in given.items():
            if not isinstance(name, str):
                self.fail(f"{where}.attributes", f"{_shown(name)} is no name; expected text (put it in quotes)")
            if value is not None:
                at = f"{where}.attributes.{name}"
                if not isinstance(value, str) and not isinstance(value, bool):
                    self.number(value, at)
        return given

    def instance(self) -> Instance:
        for k, entry in enumerate(self.records("resources")):
            record = self.record(entry, f"resources[{k}]", ("name",), ("unit",))
            name = self.label(record["name"], f"resources[{k}].name")
            if str(name) in self.position:
                self.fail(f"resources[{k}]", f"{name!r} occurs twice; resources must be unique")
            self.position[str(name)] = k
            self.resources.append(name)
            if "unit" in record:
                if not isinstance(record["unit"], str):
                    self.fail(f"resources[{k}].unit", f"expected text, found {_shown(record['unit'])}")
                self.units[name] = record["unit"]
        users = self.users()
        servers = self.servers()
        name = self.document.get("name", "")
        if not isinstance(name, str):
            self.fail("name", f"expected text, found {_shown(name)}")
        try:
            return Instance.from_arrays(
                **users,
                **servers,
                resources=self.resources,
                rates=self.rates(users["users"], servers["servers"]),
                queues=queues_of(self),
                units=self.units,
                name=name,
            )
        except InstanceError as error:
            raise InstanceError(f"{self.file}: {error}") from None

    def users(self) -> Record:
        labels, demands, weights, limits, entitlements, queue, eligible, attributes = [], [], [], [], [], [], [], []
        rows = self.records("users")
        entitled = any(isinstance(row, dict) and "entitlement" in row for row in rows)
        for k, entry in enumerate(rows):
            record = self.record(entry, f"users[{k}]", ("user", "demand"), _USER[self.version])
            labels.append(self.label(record["user"], f"users[{k}].user"))
            where = f"users[{k}] ({labels[-1]!r})"
            demands.append(self.row(record["demand"], f"{where}.demand"))
            weight = record.get("weight", 1)
            weights.append(self.weight(weight, demands[-1], f"{where}.weight"))
            limit = record.get("task_limit")
            limits.append(math.inf if limit is None else self.number(limit, f"{where}.task_limit"))
            if "entitlement" in record:
                entitlements.append(self.number(record["entitlement"], f"{where}.entitlement"))
            elif entitled:
                self.fail(where, "has no entitlement but others have; expected one for each user, or none")
            queue.append(path_of(self, record.get("queue"), f"{where}.queue"))
            eligible.append(self.places(record.get("eligible"), f"{where}.eligible"))
            attributes.append(self.attributes(record, where))
        by_resource = any(isinstance(row, dict) and isinstance(row.get("weight"), dict) for row in rows)
        return {
            "users": labels,
            "demands": np.array(demands).reshape(len(rows), len(self.resources)),
            "weights": np.array(weights) if by_resource else [row[0] for row in weights] if self.resources else None,
            "task_limits": limits,
            "entitlements": entitlements or None,
            "queue": queue if any(queue) else None,
            "eligible": eligible if any(entry is not None for entry in eligible) else None,
            "user_attributes": table_of(attributes, labels),
        }

    def weight(self, value: Any, demand: np.ndarray, where: str) -> np.ndarray:
        """Return the weight for each resource; one number is the weight for all of them."""
        if not isinstance(value, dict):
            return np.full(len(self.resources), self.number(value, where))
        row = self.row(value, where, math.nan)
        for name, k in self.position.items():
            if np.isnan(row[k]) and demand[k] > 0:
                self.fail(where, f"there is none for {name!r}, which the user demands; expected one for each resource")
        return np.where(np.isnan(row), 0.0, row)

    def places(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, str):
            return value
        if not isinstance(value, list):
            self.fail(where, f"expected a condition (text) or a list of servers, found {_shown(value)}")
        return [self.label(server, f"{where}[{k}]") for k, server in enumerate(value)]

    def servers(self) -> Record:
        labels, capacities, counts, attributes = [], [], [], []
        rows = self.records("servers")
        for k, entry in enumerate(rows):
            record = self.record(entry, f"servers[{k}]", ("server", "capacity"), ("count", "attributes"))
            labels.append(self.label(record["server"], f"servers[{k}].server"))
            where = f"servers[{k}] ({labels[-1]!r})"
            capacities.append(self.row(record["capacity"], f"{where}.capacity"))
            counts.append(self.number(record.get("count", 1), f"{where}.count"))
            attributes.append(self.attributes(record, where))
        return {
            "servers": labels,
            "capacities": np.array(capacities).reshape(len(rows), len(self.resources)),
            "counts": counts,
            "server_attributes": table_of(attributes, labels),
        }

    def rates(self, users: list[Any], servers: list[Any]) -> np.ndarray | None:
        if "rates" not in self.document:
            return None
        place = {"user": {u: k for k, u in enumerate(users)}, "server": {s: k for k, s in enumerate(servers)}}
        rates = np.full((len(users), len(servers)), math.nan)
        for k, entry in enumerate(self.records("rates")):
            where = f"rates[{k}]"
            record = self.record(entry, where, ("user", "server", "rate"), ())
            for what, known in place.items():
                if self.label(record[what], f"{where}.{what}") not in known:
                    self.fail(where, f"{what} {record[what]!r} is unknown; {nearest(record[what], known)}")
            at = place["user"][record["user"]], place["server"][record["server"]]
            if not np.isnan(rates[at]):
                self.fail(where, f"user {record['user']!r} and server {record['server']!r} occur twice; expected once")
            rates[at] = self.number(record["rate"], f"{where}.rate")
        return np.where(np.isnan(rates), 0.0, rates)


def _shown(value: Any) -> str:
    """Return what was found, short."""
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    kind = "text" if isinstance(value, str) else type(value).__name__
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({kind})"
