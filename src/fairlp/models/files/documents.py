"""An instance as a document: the plain lists and mappings that ``.json`` and ``.yaml`` files hold.

A document is read by way of the tables of :mod:`.frames`, as a folder of CSV files is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import FileFormatError, InstanceError, nearest
from ..instances.conditions import is_missing
from ..instances.instance import Instance
from ..instances.queues import ROOT, SLASH
from .frames import ATTRIBUTE, RESOURCE, eligible_entries, from_frames
from .schema import LABELS, VERSION, place, require_schema

#: A mapping of a document.
Record = dict[str, Any]
#: Fields whose keys are resources; those of quotas may be ``resource@condition``.
_BY_RESOURCE = frozenset({"demand", "capacity", "weight", "guarantee", "cap"})


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
        When the document has not the form of the schema, or refers to a resource, user or server
        that it does not list.
    InstanceError
        When it has, and does not describe an allocation problem.
    """
    require_schema(document, file)
    resources = document["resources"]
    _distinct([resource["name"] for resource in resources], f"{file}: resources")
    units = {resource["name"]: resource.get("unit") for resource in resources}
    headers = {
        str(name): f"{RESOURCE}{name} []" if isinstance(name, str) else name for name in units
    }
    amounts = dict.fromkeys(headers.values(), 0)
    users = _with_weights(document["users"], headers)
    tables: dict[str, Any] = {
        "users": _table(document | {"users": users}, "users", headers, amounts, file),
        "servers": _table(document, "servers", headers, amounts | {"count": 1}, file),
    }
    if not any(path and path.strip(SLASH) for path in tables["users"].get("queue", ())):
        # All users stand in the root, which is no tree of queues.
        tables["users"] = tables["users"].drop(columns="queue", errors="ignore")
    if "queues" in document:
        tables["queues"] = _table(document, "queues", headers, {}, file)
    rates = _rates(document, file) if "rates" in document else None
    try:
        return from_frames(
            **tables,
            resources=units,
            rates=rates,
            name=document.get("name", ""),
        )
    except InstanceError as error:
        raise InstanceError(f"{file}: {error}") from None


def _rates(document: Record, file: str) -> np.ndarray:
    """Return the rates of a document, users × servers, 0 for pairs that it does not have."""
    sides = {
        key: {record[key]: k for k, record in enumerate(document[f"{key}s"])}
        for key in ("user", "server")
    }
    rates = np.full([len(positions) for positions in sides.values()], np.nan)
    for row, record in enumerate(document["rates"]):
        pair = tuple(positions.get(record[key], -1) for key, positions in sides.items())
        if -1 in pair or not np.isnan(rates[pair]):
            raise FileFormatError(
                f"{file}: {place(document, ['rates', row])}: user {record['user']!r} on server "
                f"{record['server']!r} is unknown, or there twice"
            )
        rates[pair] = record["rate"]
    return np.where(np.isnan(rates), 0.0, rates)


def _with_weights(users: list[Record], resources: Iterable[str]) -> list[Record]:
    """Return users with one weight each, or one for each resource where any user has several."""
    weights = [user.get("weight", 1) for user in users]
    if any(isinstance(weight, dict) for weight in weights):
        weights = [
            weight if isinstance(weight, dict) else dict.fromkeys(resources, weight)
            for weight in weights
        ]
    return [user | {"weight": weight} for user, weight in zip(users, weights, strict=True)]


def _table(
    document: Record, key: str, headers: Mapping[str, Any], defaults: Mapping[Any, Any], file: str
) -> pd.DataFrame:
    """Return a list of records as a table, one column for each field or key of a mapping."""
    rows = []
    for position, record in enumerate(document[key]):
        row = {LABELS[key]: record[LABELS[key]]}
        for field, value in record.items():
            if isinstance(value, dict):
                unknown = [name for name in value if str(name) not in headers]
                if unknown and field in _BY_RESOURCE:
                    where = place(document, [key, position, field])
                    raise FileFormatError(
                        f"{file}: {where}: {unknown[0]!r} is no resource; "
                        f"{nearest(unknown[0], headers)}"
                    )
                row |= {_header(field, name, headers): amount for name, amount in value.items()}
            elif value is not None:
                row[field] = value
        rows.append(row)

    columns = dict.fromkeys([LABELS[key], *defaults])
    for row in rows:
        columns |= dict.fromkeys(row)
    return pd.DataFrame(
        {
            column: column_of([row.get(column, defaults.get(column)) for row in rows])
            for column in columns
        }
    )


def _header(field: str, name: Any, headers: Mapping[str, Any]) -> Any:
    """Return the column header of a key: ``attribute:zone``, ``weight:cpu``, or the resource's."""
    if field in ("demand", "capacity"):
        return headers[str(name)]
    return f"{ATTRIBUTE}{name}" if field == "attributes" else f"{field}:{name}"


def to_document(instance: Instance) -> Record:
    """Return an instance as the plain lists and mappings of JSON and YAML, without defaults."""
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
            "job_size": _unless(instance.job_sizes[n], 1),
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
    """Return an attribute's value as files hold it: text, number, True/False, or None (missing)."""
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
    """Return the attributes of each row; missing values are None, which keeps the column order."""
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
            raise FileFormatError(f"{name} have two names that are written {text!r}; rename one")
        seen.add(text)


def column_of(values: list[Any]) -> pd.Series[Any]:
    """Return a column with exactly these values; whole numbers beside gaps do not become floats."""
    kinds = {type(value) for value in values}
    return pd.Series(
        values, dtype=None if len(kinds) == 1 and kinds <= {int, float, bool, str} else object
    )
