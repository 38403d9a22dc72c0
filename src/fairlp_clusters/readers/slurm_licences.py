"""Slurm's licences: what jobs need of them, and how many are free."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .cluster import EntryError, Record, shown, text_at
from .slurm_text import number

#: One licence of a job: ``matlab:2``, ``ansys@server``; ``:`` or, in old versions, ``*`` counts it.
_NEED = re.compile(r"([^:*]+)(?:[:*]([0-9]{1,9}))?")
Needs = dict[str, int]


def licences_needed(text: str) -> Needs:
    """Return how many of each licence a job needs.

    Alternatives (``a|b``) raise `EntryError`.

    >>> licences_needed("matlab:2,ansys@server")
    {'matlab': 2, 'ansys@server': 1}
    """
    needs: Needs = {}
    for entry in filter(None, text.split(",")):
        match = _NEED.fullmatch(entry.strip())
        if match is None or "|" in entry:
            raise EntryError(f"licences {shown(text)}: {shown(entry)} is no licence with its count")
        needs[match[1]] = needs.get(match[1], 0) + int(match[2] or 1)
    return needs


class Licence(NamedTuple):
    """How many of a licence there are, are free, and are left by jobs before the next."""

    total: int
    free: int
    left: int


class Licences:
    """The licences that the dump lists (``scontrol show licenses``)."""

    def __init__(self) -> None:
        self._licences: dict[str, Licence] = {}

    def read(self, entry: Record, _file: str) -> None:
        """Read a licence."""
        name = text_at(entry, "LicenseName")
        total = number(entry.get("Total"))
        free = number(entry.get("Free"))
        if not name or total is None or free is None:
            raise EntryError("it has no LicenseName, Total and Free")
        self._licences[name] = Licence(int(total), int(free), int(free))

    def unlisted(self, needs: Mapping[str, int]) -> str:
        """Return what a job needs that the dump does not list, such as ``matlab:2``."""
        missing = [name for name in needs if name not in self._licences]
        return ",".join(f"{name}:{needs[name]}" for name in missing)

    def copies(self, needs: Mapping[str, int], most: int) -> int:
        """Return for how many of so many equal jobs the licences that are left suffice."""
        left = [
            max(self._licences[name].left, 0) // count
            for name, count in needs.items()
            if name in self._licences and count
        ]
        return min([most, *left])

    def take(self, needs: Mapping[str, int], copies: int) -> str:
        """Take the licences of equal jobs, and return why another one lacks its own; empty if not."""
        reason = ""
        for name, count in needs.items():
            if name not in self._licences:
                continue
            total, free, left = self._licences[name]
            if left - copies * count < count:
                reason = f"licence {name}: needs {count}, {free} of {total} free"
                if left < free and free >= count:
                    reason += f", of which jobs before it take {free - left}"
            self._licences[name] = Licence(total, free, left - copies * count)
        return reason

    def limits_reached(self) -> dict[str, str]:
        """Return the licences of which none is free, in words."""
        return {
            f"licence {name}": f"licence {name} is used up ({licence.total} of {licence.total})"
            for name, licence in self._licences.items()
            if licence.total > 0 and licence.free <= 0
        }
