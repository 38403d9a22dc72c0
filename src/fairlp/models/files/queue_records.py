"""Queues in a document: one record each, with its weight, guarantee and cap; and the path of each user's queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import InstanceError
from ..instances.queues import ROOT, Queues, cleaned

if TYPE_CHECKING:
    from .documents import _Document

_AMOUNTS: Final = ("guarantee", "cap")


def queue_records(queues: Queues, resources: Iterable[Any]) -> list[dict[str, Any]]:
    """Return one record for each queue, without what is the default; the root only where it has something to say."""
    from .documents import short

    names = list(map(str, resources))
    records = []
    for path, weight, guarantee, cap in zip(queues, queues.weights, queues.guarantees, queues.caps, strict=True):
        record: dict[str, Any] = {"queue": path}
        if weight != 1:
            record["weight"] = short(weight)
        for what, row, given in (("guarantee", guarantee, guarantee > 0), ("cap", cap, np.isfinite(cap))):
            if given.any():
                record[what] = {names[r]: short(row[r]) for r in np.flatnonzero(given)}
        if path != ROOT or len(record) > 1:
            records.append(record)
    return records


def queues_of(document: _Document) -> dict[str, dict[str, Any]] | None:
    """Return what a document says of its queues, by path; None where it has none."""
    if "queues" not in document.document:
        return None
    found: dict[str, dict[str, Any]] = {}
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
