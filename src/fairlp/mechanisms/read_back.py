"""Allocations from their JSON.

What follows from the tasks is computed, and compared with what the file says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

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
    "tasks": "tasks",
    "share": "a share",
    "tasks_per_level": "tasks at level 1",
    "level": "a level",
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
    stated_numbers = _numbers_of_users(data["users"], instance.users)
    _require_same(allocation, stated_numbers, ("tasks", "share"))
    _require_evidence(data)
    if mechanism.level_1_of is not None:
        tasks_per_level = mechanism.level_1_of(allocation)
        allocation = altered(allocation, tasks_per_level=tasks_per_level)
    _require_same(allocation, stated_numbers, ("tasks_per_level", "level"))
    _require_same_sums(allocation, data)
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


def _numbers_of_users(entries: list[dict[str, Any]], users: Index) -> pd.DataFrame:
    """Return the numbers that a file states of each user, in the order of the instance."""
    places = _places([entry["user"] for entry in entries], users)
    count = np.bincount(places, minlength=len(users))
    if (count != 1).any():
        n = int((count != 1).argmax())
        problem = f"has user {users[n]!r} {count[n]} times" if count[n] else "is without user"
        raise InstanceError(
            f"the allocation {problem}{'' if count[n] else f' {users[n]!r} of the instance'}; "
            "expected every user once"
        )
    numbers = [[entry[name] for name in _OF_USERS] for entry in entries]
    table = pd.DataFrame(numbers, index=places, columns=list(_OF_USERS), dtype=float)
    return table.sort_index()


def _require_same(
    allocation: Allocation, stated_numbers: pd.DataFrame, names: tuple[str, ...]
) -> None:
    """Raise unless numbers of users are those that a file states."""
    computed_numbers = {
        "tasks": allocation.totals,
        "share": allocation.shares,
        "tasks_per_level": allocation.tasks_per_level,
        "level": allocation.levels,
    }
    for name in names:
        computed = np.asarray(computed_numbers[name])
        stated = stated_numbers[name].to_numpy()
        differs = ~np.isclose(computed, stated, rtol=AGREEMENT, atol=0, equal_nan=True)
        if differs.any():
            n = int(differs.argmax())
            raise InstanceError(
                f"user {allocation.instance.users[n]!r} has {_OF_USERS[name]} of {stated[n]:.9g} "
                f"in the file, and {computed[n]:.9g} by its pairs and this instance; was it "
                "another instance that was shared?"
            )


def _require_evidence(data: dict[str, Any]) -> None:
    """Raise unless what the method said of its answer is as it was written."""
    computed = fingerprint(data, EVIDENCE)
    if computed != data["sha256"]:
        raise FileFormatError(
            f"the fields {', '.join(EVIDENCE[:-1])} and {EVIDENCE[-1]} of this JSON are not as "
            f"to_json() wrote them: their SHA-256 is {computed}, and the file "
            f"says {data['sha256']!r}; write the allocation again"
        )


def _require_same_sums(allocation: Allocation, data: dict[str, Any]) -> None:
    """Raise unless what all users take together, and the residual, are those that a file states."""
    used = {str(r): float(part) for r, part in allocation.pool_utilization.items()}
    if set(used) != set(data["utilization"]):
        raise InstanceError(
            f"the allocation uses the resources {', '.join(data['utilization'])}; expected those "
            f"of the instance, {', '.join(used)}"
        )
    numbers = {f"uses of {r!r} a part": (used[r], data["utilization"][r]) for r in used}
    numbers["has a residual"] = (allocation.residual, data["residual"])
    for noun, (computed, stated) in numbers.items():
        stated = np.nan if stated is None else stated
        if not np.isclose(computed, stated, rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True):
            raise InstanceError(
                f"the allocation {noun} of {stated:.9g} in the file, and {computed:.9g} by its "
                "pairs and this instance; was it another instance that was shared?"
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
    if not np.isfinite(amounts).all():
        entry = entries[int(np.isfinite(amounts).argmin())]
        labels = " and ".join(f"{axis} {entry[axis]!r}" for axis in axes)
        raise FileFormatError(f"{name} of {labels} is {entry[name]}; expected a finite number")
    np.add.at(array, positions, amounts)
    return array
