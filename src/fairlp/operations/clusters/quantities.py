"""Quantities of Kubernetes, ``500m`` or ``64Gi``: exact, and as amounts that floats hold exactly."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from .notes import Odd, shown

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE](?P<power>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)
_SUFFIXES: Final = {
    "": Fraction(1),
    **{
        letter: Fraction(10) ** power
        for letter, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
    },
    **{f"{letter}i": Fraction(2) ** (10 * (k + 1)) for k, letter in enumerate("KMGTPE")},
}
#: Most digits and the largest power of ten: Kubernetes' own numbers end at 2**63.
_MOST_DIGITS, _MOST_POWER = 40, 30
#: CPU is counted in thousandths, so that amounts are whole; bytes in 2**20, so that they are exact in floats.
CPU, MIB = Fraction(1000), Fraction(1, 2**20)


@lru_cache(maxsize=100_000)
def _parsed(text: str) -> Fraction:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or len(text) > _MOST_DIGITS or abs(int(found["power"] or 0)) > _MOST_POWER:
        raise Odd(f"{shown(text)} is no quantity; expected one such as '500m', '2' or '64Gi'")
    value = Fraction(found["number"]) * (
        Fraction(10) ** int(found["power"]) if found["power"] else _SUFFIXES[found["suffix"] or ""]
    )
    if value < 0:
        raise Odd(f"{shown(text)} is negative; expected a quantity of at least 0")
    return value


def quantity(value: Any) -> Fraction:
    """Return a quantity; `Odd` where it is none.

    >>> [str(quantity(text)) for text in ("500m", "2", "1e3", "1.5Gi", "1M")]
    ['1/2', '2', '1000', '1610612736', '1000000']
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)
    if not isinstance(value, str):
        raise Odd(f"{shown(value)} is no quantity; expected text such as '500m' or '64Gi'")
    return _parsed(value)


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-")


def unit_of(resource: str) -> str:
    """Return the unit of a resource's amounts."""
    return "1/1000 core" if resource == "cpu" else "MiB" if is_bytes(resource) else ""


def amount(resource: str, value: Fraction) -> float:
    """Return a quantity in the unit of its resource; what is finer than Kubernetes counts is rounded up, as it does.

    >>> amount("cpu", quantity("0.1")), amount("memory", quantity("1Gi")), amount("nvidia.com/gpu", quantity("2"))
    (100.0, 1024.0, 2.0)
    """
    if resource == "cpu":
        return float(-(-value * CPU // 1))
    whole = Fraction(-(-value // 1))
    return float(whole * MIB) if is_bytes(resource) else float(whole)
