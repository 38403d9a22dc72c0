"""What users hand in about queues, as a mapping or a table, checked: each failure names the queue and the resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, nearest
from ..notation.expressions import Index
from ..notation.labels import aligned, floats
from .queues import ROOT, cleaned, lineage

#: Weight, guarantee and cap of a queue.
Row = tuple[float, np.ndarray, np.ndarray]
_KEYS = ("weight", "guarantee", "cap")
_EXPECTED = "a mapping from the path of a queue to its weight, guarantee and cap, or a table with one row a queue"


def rows_of(queues: Any, resources: Index) -> dict[str, Row]:
    """Return weight, guarantee and cap of each queue of a mapping or table, by path."""
    if queues is None:
        return {}
    if isinstance(queues, pd.DataFrame):
        entries: Iterable[tuple[Any, Any]] = _records(queues, resources)
    elif isinstance(queues, Mapping):
        entries = queues.items()
    elif isinstance(queues, str) or not isinstance(queues, Iterable):
        raise InstanceError(f"queues are {type(queues).__name__}; expected {_EXPECTED}")
    else:
        entries = [(path, None) for path in queues]
    found: dict[str, Row] = {}
    for path, given in entries:
        name = cleaned(path)
        if name in found:
            raise InstanceError(f"queue {name!r} occurs twice; the path of a queue must be unique")
        found[name] = _row(name, given, resources)
    return found


def stood_in(queue: Any, users: Index, rows: Mapping[str, Row]) -> list[str]:
    """Return the path of each user's queue; one that is nearly that of a listed queue without users is refused."""
    if queue is None:
        return [ROOT] * len(users)
    if isinstance(queue, str):
        raise InstanceError(f"queue is one text, {queue!r}; expected the path of each user's queue")
    given = list(aligned(queue, (users,), "the argument 'queue'", InstanceError))
    if len(given) != len(users):
        raise InstanceError(f"{len(given)} queues for {len(users)} users; expected the path of each user's queue")
    paths = [cleaned(path) for path in given]
    used = {above for path in paths for above in lineage(path)}
    idle = [path for path in rows if path not in used]
    for user, path in zip(users, paths, strict=True):
        if path not in rows and idle and not any(known.startswith(path + "/") for known in rows):
            meant = nearest(path, idle)
            if meant.startswith("did you mean"):
                raise InstanceError(f"user {user!r} stands in queue {path!r}, which is not in queues; {meant}")
    return paths


def _row(path: str, given: Any, resources: Index) -> Row:
    """Return what is given of one queue: nothing, its weight, or a mapping."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        given = {"weight": given}
    for key in given:
        if key not in _KEYS:
            raise InstanceError(f"queue {path!r} has {key!r}; {nearest(key, _KEYS)}")
    weight = _number(given.get("weight", 1.0), f"weight of queue {path!r}")
    if not (np.isfinite(weight) and weight > 0):
        raise InstanceError(f"weight of queue {path!r} is {weight:g}; expected a finite number > 0")
    guarantee = _amounts(given.get("guarantee"), f"guarantee of queue {path!r}", resources, 0.0)
    cap = _amounts(given.get("cap"), f"cap of queue {path!r}", resources, np.inf)
    for what, row, wrong in (
        ("guarantee", guarantee, ~np.isfinite(guarantee) | (guarantee < 0)),
        ("cap", cap, np.isnan(cap) | (cap < 0)),
        ("guarantee", guarantee, guarantee > cap),
    ):
        if wrong.any():
            r = int(np.argmax(wrong))
            most = f"at most its cap, {cap[r]:g}" if guarantee[r] > cap[r] and cap[r] >= 0 else "a number >= 0"
            none = " (leave it out for none)" if not row[r] >= 0 or np.isinf(row[r]) else ""
            raise InstanceError(
                f"{what} of queue {path!r}, resource {resources[r]!r}, is {row[r]:g}; expected {most}{none}"
            )
    return weight, guarantee, cap


def _amounts(given: Any, what: str, resources: Index, default: float) -> np.ndarray:
    """Return one number for each resource; one that is left out is the default."""
    row = np.full(len(resources), default)
    if given is None:
        return row
    if isinstance(given, pd.Series):
        given = given.to_dict()
    if not isinstance(given, Mapping):
        raise InstanceError(f"{what} is {given!r}; expected a mapping from resources to amounts")
    place = {resource: r for r, resource in enumerate(resources)}
    for resource, amount in given.items():
        if resource not in place:
            raise InstanceError(f"{what} names {resource!r}, which is no resource; {nearest(resource, place)}")
        if amount is not None:
            row[place[resource]] = _number(amount, f"{what}, resource {resource!r},")
    return row


def _number(value: Any, what: str) -> float:
    if isinstance(value, (bool, str)):
        raise InstanceError(f"{what} is {value!r}; expected a number")
    try:
        return float(floats(value))
    except (TypeError, ValueError, OverflowError):
        raise InstanceError(f"{what} is {value!r}; expected a number") from None


def _records(table: pd.DataFrame, resources: Index) -> Iterable[tuple[Any, dict[str, Any]]]:
    """Return each row of a table as a mapping; blank cells are left out."""
    if "queue" in table.columns:
        table = table.set_index("queue")
    words = {f"{word}:{r}": (word, r) for word in _KEYS[1:] for r in resources}
    for column in table.columns:
        if column != "weight" and column not in words:
            raise InstanceError(f"the table of queues has a column {column!r}; {nearest(column, ['weight', *words])}")
    if not table.columns.is_unique:
        raise InstanceError("the table of queues has a column twice; expected each once")
    for path, cells in zip(table.index, table.to_dict("records"), strict=True):
        record: dict[str, Any] = {}
        for header, value in cells.items():
            column = str(header)
            if value is None or (isinstance(value, float) and np.isnan(value)):
                continue
            if column == "weight":
                record["weight"] = value
            else:
                word, resource = words[column]
                record.setdefault(word, {})[resource] = value
        yield path, record
