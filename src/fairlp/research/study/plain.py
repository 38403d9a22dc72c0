"""Plain data: what a study may hold, and the one way that it is written where something is computed from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import StudyError


def plain(value: Any, where: str) -> Any:
    """Return a value as None, bool, int, float, str, list or dict; an error says where something else stands.

    >>> plain({"users": np.arange(2), "demands": (1, np.float64(0.5))}, "grid")
    {'users': [0, 1], 'demands': [1, 0.5]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not abs(value) < float("inf"):
            raise StudyError(f"{where} is {value}; a study holds finite numbers (leave it out for no limit)")
        return value
    if isinstance(value, list | tuple | range):
        return [plain(part, f"{where}[{k}]") for k, part in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise StudyError(f"{where} has the key {key!r}; expected text")
        return {key: plain(part, f"{where}.{key}") for key, part in value.items()}
    raise StudyError(f"{where} is {type(value).__name__}; expected a number, text, a list or a mapping of these")


def words(point: Mapping[str, Any]) -> tuple[int, ...]:
    """Return four 32-bit words that stand for a point: the same in every process, whatever the order of parameters.

    >>> words({"users": 10, "resources": 2}) == words({"resources": 2, "users": 10})
    True
    """
    text = json.dumps(point, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[k : k + 4], "big") for k in range(0, 16, 4))


def key_of(point: Mapping[str, Any]) -> str:
    """Return the words of a point as 32 hexadecimal digits."""
    return "".join(f"{word:08x}" for word in words(point))


def shown(point: Mapping[str, Any]) -> str:
    """Return a point as people read it.

    >>> shown({"users": 10, "demands": [1, 20]})
    'users=10, demands=[1, 20]'
    """
    return ", ".join(f"{name}={value}" for name, value in point.items())
