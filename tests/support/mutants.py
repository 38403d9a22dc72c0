"""Documents that were changed in one place, as a slip of a hand or a half-written file changes them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

#: What may stand where something else is expected.
STRANGERS = (
    None, True, False, 0, 1, -1, 7, 2**31, 2**63, 10**400, 0.5, -0.5, 1e-308, 1e308, float("inf"), float("-inf"),
    float("nan"), "", "x", "1", "nan", "\x00", "\ud800", "a" * 300, "../../x", [], [[]], [1, 2], [2, 1], [0.5, "x"],
    {}, {"x": 1}, {"": None},
)  # fmt: skip


def places(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where values stand in a document of lists and mappings, containers included."""
    if place:
        yield place
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    for key, value in items:
        yield from places(value, (*place, key))


def at(document: Any, place: tuple[Any, ...]) -> Any:
    """Return the value at a place."""
    for key in place:
        document = document[key]
    return document


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a document with another value at a place."""
    changed = copy.deepcopy(document)
    at(changed, place[:-1])[place[-1]] = value
    return changed


def mutant(document: Any, seed: int) -> Any:
    """Return a copy of a document in which one value is another, is gone, or stands twice."""
    rng = random.Random(seed)
    changed = copy.deepcopy(document)
    place = rng.choice(list(places(document)))
    holder, key = at(changed, place[:-1]), place[-1]
    match rng.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case 2 if isinstance(holder, dict):
            holder[rng.choice(["x", "", f"{key}s"])] = holder.pop(key)
        case 3:
            other = rng.choice(list(places(document)))
            holder[key] = copy.deepcopy(at(document, other))
        case _:
            holder[key] = rng.choice(STRANGERS)
    return changed


def mutant_text(document: Any, seed: int) -> str:
    """Return JSON in which a value is another, or some letters of it are, or its end is gone."""
    rng = random.Random(seed)
    if rng.randrange(3):
        return json.dumps(mutant(document, seed))
    text = json.dumps(document)
    first = rng.randrange(len(text))
    last = min(first + rng.randrange(4), len(text))
    letters = "".join(rng.choices('"[]{},:0123456789.-+eE ntfa\\u\x00\n', k=rng.randrange(4)))
    return text[:first] if rng.random() < 0.2 else text[:first] + letters + text[last:]
