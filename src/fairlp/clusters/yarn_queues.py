"""YARN's queues, of the capacity scheduler (shares of the parent, in percent) and of the fair scheduler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from .cluster import LEAST_WEIGHT, Cluster, name_in_path
from .notes import Notes, Odd, part

VCORES, MEMORY = "vcores", "memory"
_ROOT: Final = "root"
_NUMBER = (int, float)
#: What the percentages of siblings add up to; more than this is rounding.
_HUNDRED: Final = Fraction(100)
Resources = dict[str, int]


def entries(value: Any, name: str) -> list[Any]:
    """Return the entries of a list that may be null, wrapped in a mapping, or, of one entry, that entry itself."""
    if isinstance(value, dict) and name and (name in value or not value):
        value = value.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def resources_of(given: Any, flat: Mapping[str, Any], memory: str, vcores: str) -> Resources:
    """Return amounts by resource: of a resource object, or of two numbers beside one another."""
    found: Resources = {}
    given = part(given, default={})
    informations = part(given, "resourceInformations", default={})
    for one in entries(informations, "resourceInformation"):
        name, value = part(one, "name", kind=str, default=""), part(one, "value", kind=int, default=0)
        found[{"memory-mb": MEMORY}.get(name, name)] = value
    for name, value in (
        (MEMORY, part(given, "memory", kind=int)),
        (VCORES, part(given, "vCores", kind=int)),
        (MEMORY, part(flat, memory, kind=int) if memory else None),
        (VCORES, part(flat, vcores, kind=int) if vcores else None),
    ):
        if value is not None:
            found.setdefault(name, value)
    if any(amount < 0 for amount in found.values()):
        if any(amount < -1 for amount in found.values()):
            raise Odd(f"amounts are negative: {found!r}")
        return {}  # −1 stands for what is not known any more
    return found


class YarnQueues:
    """The queues of one scheduler; paths have slashes, and no root."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._rows: dict[str, dict[str, Any]] = {}
        self._leaves: dict[str, list[str]] = {}

    def read(self, info: dict[str, Any], file: str) -> None:
        """Take in a scheduler."""
        kind = part(info, "type", kind=str, default="")
        if kind == "capacityScheduler":
            self._capacity(info, "", (Fraction(1), Fraction(1)), file)
        elif kind == "fairScheduler":
            self._fair(part(info, "rootQueue", default={}), "", file)
        else:
            raise Odd(f"scheduler of type {kind!r}; expected capacityScheduler or fairScheduler")

    def _add(self, path: str, **row: Any) -> None:
        self._rows[path] = row
        self._leaves.setdefault(path.rpartition("/")[2], []).append(path)

    def _capacity(self, info: Any, path: str, above: tuple[Fraction, Fraction], file: str) -> None:
        """Take in the children of a queue; ``above`` are the fractions of all that it is guaranteed and may have."""
        children = [part(one, default={}) for one in entries(part(info, "queues", kind=(dict, list)), "queue")]
        shares = [_percent(one, "capacity") for one in children]
        total = sum(shares, Fraction(0))
        for one, share in zip(children, shares, strict=True):
            name = part(one, "queueName", kind=str, default="").rpartition(".")[2]
            below = f"{path}/{name_in_path(name)}".lstrip("/")
            where = file, f"queue {below!r}"
            weight = float(share)
            if not share:
                own = part(one, "weight", kind=_NUMBER, default=-1)
                weight = float(own) if own > 0 else LEAST_WEIGHT
                if own <= 0:
                    self._notes.add(*where, "a capacity of 0", f"its weight is taken as {LEAST_WEIGHT:g}")
            state = part(one, "state", kind=str, default="RUNNING")
            if state != "RUNNING":
                self._notes.add(*where, f"its state is {state}", "left out: it counts as any other")
            if one.get("userLimitFactor") not in (None, 1, 1.0) or one.get("userLimit") not in (None, 100):
                self._notes.add(*where, "limits of single users (userLimit, userLimitFactor)", "left out")
            for entry in entries(part(one, "capacities"), "queueCapacitiesByPartition"):
                label = part(entry, "partitionName", kind=str, default="")
                if label:
                    done = "left out: what it has of the default partition is taken of all nodes"
                    self._notes.add(*where, f"capacity in partition {label!r}", done)
            # percentages are printed with few digits: their sum, and no rounding, is the whole
            least = above[0] * share / max(total, _HUNDRED) if total else Fraction(0)
            most = _percent(one, "maxCapacity", 100) / _HUNDRED * above[1]
            if "absoluteMaxCapacity" in one:
                most = _percent(one, "absoluteMaxCapacity") / _HUNDRED
            self._add(below, weight=weight, guarantee=least, cap=most)
            self._capacity(one, below, (least, most), file)

    def _fair(self, info: dict[str, Any], above: str, file: str) -> None:
        """Take in a queue of the fair scheduler, and those below it."""
        name = part(info, "queueName", kind=str, default="")
        names = [name_in_path(step) for step in name.split(".")[1:]] if name.startswith(f"{_ROOT}.") else []
        path = "/".join(names) if names or name == _ROOT else f"{above}/{name_in_path(name)}".lstrip("/")
        weight = part(info, "weight", kind=_NUMBER)
        where = file, f"queue {path!r}"
        if weight is None and path:
            self._notes.add(*where, "its weight is not printed (the allocation file has it)", "taken as 1")
        elif weight is not None and weight <= 0:
            self._notes.add(*where, f"a weight of {weight:g}", f"taken as {LEAST_WEIGHT:g}")
            weight = LEAST_WEIGHT
        least = resources_of(part(info, "minResources"), {}, "", "")
        most = resources_of(part(info, "maxResources"), {}, "", "")
        self._add(path, weight=1.0 if weight is None else float(weight), guarantee=least, cap=most)
        for one in entries(part(info, "childQueues", kind=(dict, list)), "queue"):
            self._fair(part(one, default={}), path, file)

    def path(self, queue: str, where: tuple[str, str]) -> str:
        """Return the path of the queue that an application names: by its whole path, or by its last name."""
        steps = [name_in_path(step) for step in queue.split(".")]
        path = "/".join(steps[1:] if steps[0] == _ROOT else steps)
        if path in self._rows or not self._rows:
            return path
        named = self._leaves.get(path, [])
        if len(named) == 1:
            return named[0]
        what = f"queue {queue!r} is {'the name of several' if named else 'not there'}"
        self._notes.add(*where, what, "it stands at the root")
        return path

    def fill(self, cluster: Cluster, total: Resources) -> None:
        """Put weights, guarantees and caps on the queues of a cluster that has this much."""
        for path, row in self._rows.items():
            there = cluster.queue(path)
            there["weight"] = row["weight"]
            for what in ("guarantee", "cap"):
                given = row[what]
                if isinstance(given, Fraction):
                    given = {resource: given * amount for resource, amount in total.items()}
                if what == "cap":  # one of all there is says nothing
                    given = {r: a for r, a in given.items() if a < total.get(r, math.inf)}
                there[what] = {resource: float(amount) for resource, amount in given.items() if amount or what == "cap"}


def _percent(given: Mapping[str, Any], key: str, default: float = 0.0) -> Fraction:
    value = part(given, key, kind=_NUMBER, default=default)
    if not 0 <= value <= 100:
        raise Odd(f"{key} is {value!r}; expected a percentage")
    return Fraction(repr(value))
