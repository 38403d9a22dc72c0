"""Audits: the properties that an allocation has, each violation with its size and a witness."""

from __future__ import annotations

from .audits import audit
from .findings import Finding
from .promises import count_broken
from .properties import PROPERTIES, table
from .reports import nearby, own_use

__all__ = [
    "PROPERTIES",
    "Finding",
    "audit",
    "count_broken",
    "nearby",
    "own_use",
    "table",
]


def __dir__() -> list[str]:
    return __all__
