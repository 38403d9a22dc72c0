"""Promises that depend on an option of a mechanism: for which values they hold, and instances that break the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ..errors import UnknownNameError
from ..models.instances.instance import Instance


def by_option(mechanism: str, wanted: str) -> str:
    """Return for which values of its options the mechanism has the property, empty where none matters.

    >>> by_option("alpha-fair", "envy-free")
    'alpha >= 1; no: alpha = 0.5'
    """
    entry = entries().get((mechanism, wanted))
    if entry is None:
        return ""
    broken = ", ".join(_spelt(one["options"]) for one in entry["broken"])
    return f"{entry['holds']}; no: {broken}" if broken else str(entry["holds"])


def with_options(mechanism: str, wanted: str, options: Mapping[str, Any]) -> Instance:
    """Return the instance that ships on which the mechanism with these options breaks the property.

    Raises
    ------
    UnknownNameError
        Where none ships for these options.
    """
    broken = entries().get((mechanism, wanted), {"broken": []})["broken"]
    for one in broken:
        if _spelt(one["options"]) == _spelt(options):
            users = [chr(ord("A") + n) for n in range(len(one["demands"]))]
            name = f"{mechanism} with {_spelt(options)} breaks {wanted}"
            return Instance.from_arrays(one["demands"], one["capacities"], users=users, name=name)
    there = "; ".join(_spelt(one["options"]) for one in broken) or "none"
    raise UnknownNameError(
        f"no instance is known on which {mechanism!r} with {_spelt(options) or 'no options'} breaks {wanted!r} (known "
        f"with: {there}); fairlp.counterexample({mechanism!r}, {wanted!r}, search=True, options=…) searches for one"
    )


@cache
def entries() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (mechanism, property) → for which options it ``holds``, ``kept`` and ``broken``.

    The first in words; options with which audits find it kept, under ``conditions``; options and instances on which it
    is broken.
    """
    text = files(__package__).joinpath("by_option.json").read_text(encoding="utf-8")
    return {(entry["mechanism"], entry["property"]): entry for entry in json.loads(text)}


def _spelt(options: Mapping[str, Any]) -> str:
    """Return options as text, whole numbers without a point."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, int | float) else f"{name} = {value}"
        for name, value in sorted(options.items())
    )
