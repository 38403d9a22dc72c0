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
    """How many of a licence there are, and are free."""

    total: int
    free: int


class Licences:
    """The licences that the dump lists (``scontrol show licenses``)."""

    def __init__(self) -> None:
        self._licences: dict[str, Licence] = {}
        self._left: dict[str, int] = {}

    def read(self, entry: Record, _file: str) -> None:
        """Read a licence."""
        name = text_at(entry, "LicenseName")
        total = number(entry.get("Total"))
        free = number(entry.get("Free"))
        if not name or total is None or free is None:
            raise EntryError("it has no LicenseName, Total and Free")
        self._licences[name] = Licence(int(total), int(free))
        self._left[name] = int(free)

    def unlisted(self, needs: Mapping[str, int]) -> list[str]:
        """Return what a job needs that the dump does not list, such as ``matlab:2``."""
        return [f"{name}:{count}" for name, count in needs.items() if name not in self._licences]

    def lacking(self, needs: Mapping[str, int]) -> str:
        """Return why one job lacks licences; empty where enough are free, or not known."""
        for name, count in needs.items():
            if name in self._licences and self._licences[name].free < count:
                return self._reason(name, count)
        return ""

    def take(self, needs: Mapping[str, int], copies: int) -> tuple[int, str]:
        """Take the licences of equal jobs from those left, and return for how many they suffice.

        Parameters
        ----------
        needs : mapping
            The licences of one of the jobs.
        copies : int

        Returns
        -------
        tuple of int and str
            The jobs that have their licences, and why the others have not.
        """
        startable = copies
        reason = ""
        for name, count in needs.items():
            if name not in self._licences or not count:
                continue
            enough = max(self._left[name], 0) // count
            if enough < startable:
                startable = enough
                reason = self._reason(name, count)
        for name, count in needs.items():
            if name in self._left:
                self._left[name] -= startable * count
        return startable, reason

    def _reason(self, name: str, count: int) -> str:
        """Return why a job does not have its licences."""
        total, free = self._licences[name]
        reason = f"licence {name}: needs {count}, {free} of {total} free"
        left = self._left[name]
        if left < free and free >= count:
            reason += f", of which jobs before it take {free - left}"
        return reason

    def limits_reached(self) -> dict[str, str]:
        """Return the licences of which none is free, in words."""
        return {
            f"licence {name}": f"licence {name} is used up ({licence.total} of {licence.total})"
            for name, licence in self._licences.items()
            if licence.total > 0 and licence.free <= 0
        }
