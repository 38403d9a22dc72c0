"""The JSON Schema of ``.json`` and ``.yaml`` files, with errors that name the faulty place.

jsonschema takes 0.1 ms for a record, so only the first record of each kind is checked: records of
one kind have the same keys, with values of the same types. Amounts below 0, counts that are not
whole and the like are left to :class:`~fairlp.Instance`, whose errors name the user, server or
resource.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from ...errors import FileFormatError, nearest, needed_by, quoted

#: The schema version that is written and read.
VERSION: Final = 2
#: The key that names the records of each list.
LABELS: Final = {
    "resources": "name",
    "users": "user",
    "queues": "queue",
    "servers": "server",
    "rates": "user",
}
#: Keywords of the schema that :class:`~fairlp.Instance` checks, by messages of its own.
_OF_VALUES = ("minimum", "exclusiveMinimum", "multipleOf", "minItems", "not")


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``.json`` and ``.yaml`` files.

    >>> schema()["properties"]["fairlp"]
    {'description': 'Schema version.', 'const': 2}
    """
    text = resources.files(__package__).joinpath("instance.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def require_version(document: Any, source: str) -> None:
    """Raise unless a document is a mapping whose ``fairlp`` is a schema version that is read."""
    if not isinstance(document, dict):
        raise FileFormatError(
            f"{source}: found {quoted(document)}; expected a mapping with 'fairlp: {VERSION}'"
        )
    if "fairlp" not in document:
        raise FileFormatError(
            f"{source} has no schema version; expected 'fairlp: {VERSION}' (is the file cut off, or "
            "of another tool?)"
        )
    version = document["fairlp"]
    if type(version) is not int or version != VERSION:
        raise FileFormatError(
            f"{source}: the schema version is {quoted(version)}; this fairlp reads {VERSION} "
            "(did another fairlp write it?)"
        )


def require_schema(document: Any, source: str) -> None:
    """Raise, with place and remedy, unless a document has the form of the schema."""
    require_version(document, source)
    samples = dict(document)
    positions = {}
    for key, rows in document.items():
        if isinstance(rows, list):
            first_of_kind: dict[Hashable, int] = {}
            for position, row in enumerate(rows):
                first_of_kind.setdefault(_kind(row, by_name=True), position)
            positions[key] = list(first_of_kind.values())
            samples[key] = [rows[position] for position in positions[key]]

    errors = list(_validator().iter_errors(samples))
    if not errors:
        return
    # A misspelt key tells more than the key that is missing because of it.
    error = min(errors, key=lambda error: error.validator != "additionalProperties")
    while deeper := [context for context in error.context if context.relative_path]:
        error = deeper[0]
    path = list(error.absolute_path)
    if len(path) > 1:  # a place within a list
        path[1] = positions[path[0]][path[1]]
    where = place(document, path)
    raise FileFormatError(f"{source}: {where}{': ' if where else ''}{_problem(error)}")


def place(document: Any, path: Sequence[Any]) -> str:
    """Return how an error names a place of a document.

    >>> place({"users": [{"user": "ann", "demand": {"cpu": 1}}]}, ["users", 0, "demand", "cpu"])
    "users[0] ('ann').demand.cpu"
    """
    text = ""
    value = document
    for depth, step in enumerate(path):
        if isinstance(value, list):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else str(step)
        value = value[step]
        if depth == 1 and isinstance(value, dict):
            label = value.get(LABELS[path[0]])
            text += f" ({label!r})" if isinstance(label, str | int) else ""
    return text


def _problem(error: Any) -> str:
    """Return what jsonschema found, as fairlp writes it: the schema describes what it expects."""
    if error.validator == "additionalProperties":
        properties = error.schema["properties"]
        key = next(key for key in error.instance if key not in properties)
        return f"unknown key {key!r}; {nearest(key, properties)}"
    if error.validator == "required":
        key = next(key for key in error.validator_value if key not in error.instance)
        return f"{key!r} is missing (is the file cut off?)"
    description = error.schema["description"]
    expected = description[0].lower() + description[1:].rstrip(".")
    return f"found {quoted(error.instance)}; expected {expected}"


def _kind(value: Any, *, by_name: bool = False) -> Hashable:
    """Return the kind of a value; values of one kind all satisfy the schema, or all do not."""
    if isinstance(value, dict):
        return dict, frozenset(
            (name if by_name else type(name), _kind(entry)) for name, entry in value.items()
        )
    if isinstance(value, list):
        return list, frozenset(map(_kind, value))
    return type(value), value == "" or _is_number(None, value)


def _is_number(_: Any, value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


def _is_whole(_: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _validator() -> Any:
    """Return the validator, without the keywords that the instance checks."""
    with needed_by("files of instances"):
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"number": _is_number, "integer": _is_whole}
    )
    unchecked = dict.fromkeys(_OF_VALUES, lambda *_: None)
    form = schema()
    return extend(Draft202012Validator, unchecked, type_checker=types)(form)
