"""Allocations from their JSON.

What follows from the tasks is computed, and compared with what the file says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError, InstanceError, nearest
from ..models.files.plain_data import fingerprint, plain_json, require_form
from ..models.files.whole_files import read_text
from ..models.instances.instance import Instance
from ..models.notation.labels import Index
from ..tolerances import AGREEMENT
from .allocation import EVIDENCE, Allocation, altered
from .table import find_defined

#: A number that is not there is null.
_NUMBER = (float, None)
#: The numbers of a user, and how messages call them.
_OF_USERS = {
    "tasks": "number of tasks",
    "share": "share",
    "tasks_per_level": "number of tasks at level 1",
    "level": "level",
}
#: The form of what `to_dict` gives.
_FORM = {
    "mechanism": str,
    "parameters": {str: (None, str, bool, float, {"shown": str})},
    "method": str,
    "solver": (str, None),
    "times": {str: _NUMBER},
    "gap": _NUMBER,
    "notes": [str],
    "unproved": str,
    "users": [{"user": object, **dict.fromkeys(_OF_USERS, _NUMBER)}],
    "tasks": [{"user": object, "server": object, "tasks": float}],
    "prices": ([{"server": object, "resource": object, "price": float}], None),
    "utilization": {str: _NUMBER},
    "residual": float,
    "sha256": str,
}


def read_allocation(source: str | Path, instance: Instance) -> Allocation:
    """Return the allocation of a text or file, as :meth:`Allocation.from_json` says."""
    data = _document(source)
    name = data["mechanism"]
    parameters = data["parameters"]
    mechanism = find_defined(name, instance, parameters)
    allocation = Allocation(
        instance,
        mechanism.name,
        data["method"],
        _array(data["tasks"], "tasks", {"user": instance.users, "server": instance.servers}),
        gamma=mechanism.gamma(instance),
        tasks_per_level=mechanism.tasks_per_level(instance),
        solver=data["solver"] or "",
        prices_array=None
        if data["prices"] is None
        else _array(
            data["prices"], "price", {"server": instance.servers, "resource": instance.resources}
        ),
        times=data["times"],
        gap=data["gap"],
        prove=mechanism.prove,
        notes=tuple(data["notes"]),
        unproved=data["unproved"],
        parameters=parameters,
        region=mechanism.region,
    )
    if fingerprint(data, EVIDENCE) != data["sha256"]:
        raise FileFormatError(
            f"the fields {', '.join(EVIDENCE)} of this JSON are not as to_json() wrote them: their SHA-256 "
            "is another; write the allocation again"
        )
    if mechanism.level_1_of is not None:
        allocation = altered(allocation, tasks_per_level=mechanism.level_1_of(allocation))
    _require_same(_numbers(data), _numbers(allocation.to_dict()))
    return allocation


def _document(source: str | Path) -> dict[str, Any]:
    """Return the plain data of a text or file, in the form of an Allocation's."""
    is_text = isinstance(source, str) and source.lstrip()[:1] == "{"
    text = str(source) if is_text else read_text(Path(source))
    try:
        data: dict[str, Any] = plain_json(text, "the text" if is_text else str(source))
        if isinstance(data, dict) and "steps" in data:
            raise FileFormatError(
                f"it is of {data.get('mechanism')} over arrivals, and only an allocation of a "
                "single step is read"
            )
        require_form(data, _FORM, "the JSON")
    except FileFormatError as error:
        raise FileFormatError(
            f"this is no JSON of an Allocation ({error}); expected what to_json() wrote"
        ) from None
    for option, value in data["parameters"].items():
        if isinstance(value, dict):
            raise FileFormatError(
                f"the option {option!r} of {data['mechanism']} is {value['shown']}, which JSON "
                "does not hold"
            )
    return data


def _numbers(document: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a document that follow from its tasks, by what they are."""
    numbers = {
        f"{noun} of user {entry['user']!r}": entry[name]
        for entry in document["users"]
        for name, noun in _OF_USERS.items()
    }
    numbers |= {f"use of {r!r}": part for r, part in document["utilization"].items()}
    numbers |= {"residual": document["residual"], "number of users": len(document["users"])}
    return {name: np.nan if number is None else number for name, number in numbers.items()}


def _require_same(stated: dict[str, float], computed: dict[str, float]) -> None:
    """Raise unless a file states the numbers that follow from its tasks."""
    for name in stated | computed:
        number = stated.get(name)
        right = computed.get(name)
        if (
            number is None
            or right is None
            or not np.isclose(number, right, rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True)
        ):
            raise InstanceError(
                f"the {name} is {number} in the file, and {right} by its pairs and this instance; was it "
                "another instance that was shared?"
            )


def _places(labels: list[Any], index: Index) -> np.ndarray:
    """Return the positions of labels as JSON has them."""
    position_of = {json.dumps(label): position for position, label in enumerate(index)}
    positions = [position_of.get(json.dumps(label), -1) for label in labels]
    if -1 in positions:
        label = labels[positions.index(-1)]
        raise InstanceError(
            f"the allocation has {index.name} {label!r}, which the instance has not; "
            f"{nearest(label, index)}"
        )
    return np.array(positions, dtype=int)


def _array(entries: list[dict[str, Any]], name: str, axes: dict[str, Index]) -> np.ndarray:
    """Return numbers of entries with two labels each as an array, 0 where there is none."""
    array = np.zeros([len(index) for index in axes.values()])
    positions = tuple(
        _places([entry[axis] for entry in entries], index) for axis, index in axes.items()
    )
    amounts = np.array([entry[name] for entry in entries], dtype=float)
    np.add.at(array, positions, amounts)
    return array
