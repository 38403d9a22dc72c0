"""The small languages of Slurm: amounts, lists of hosts and array tasks, numbers, times."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from typing import Any

from .cluster import Amounts, EntryError, Names, Record, add_amounts, shown, text_at, value_at

#: Hosts of one list, tasks of one array, and nodes of one job, at most.
MOST = 1_000_000
_COUNTED = {letter: Fraction(1024) ** k for k, letter in enumerate("KMGTP", 1)} | {"": Fraction(1)}
_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTP]?)B?", re.IGNORECASE)
#: One task or host, or a range of them: ``5``, ``0-2``, ``1-10:3``.
_RANGE = re.compile(r"(?P<first>[0-9]{1,18})(?:-(?P<last>[0-9]{1,18}))?(?::(?P<step>[0-9]{1,9}))?")
_PIECE = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]|,|.", re.DOTALL)
_HOSTS = "hosts"
#: TRES that are no resource of nodes: prices, counts of nodes, what is measured.
UNCOUNTED = frozenset({"billing", "node", "energy", "pages", "vmem", "fs/disk"})


def number(value: Any) -> float | None:
    """Return a number, plain or wrapped as Slurm's JSON has it; None for none.

    >>> number(5), number({"set": True, "infinite": False, "number": 5}), number({"set": False, "number": 0})
    (5.0, 5.0, None)
    """
    if isinstance(value, dict):
        is_set = value_at(value, "set", kind=bool, default=True)
        if is_set is False or value_at(value, "infinite", kind=bool):
            return None
        value = value.get("number")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EntryError(f"{shown(value)} is no number")
    return float(value) if math.isfinite(value) else None


def tres(text: str) -> Amounts:
    """Return the amounts of a TRES text by resource.

    Memory is in MiB; ``gres/gpu`` is ``gpu``, and its types count both by themselves and in it.

    >>> {key: int(value) for key, value in tres("cpu=4,mem=16G,node=1,gres/gpu:a100=2").items()}
    {'cpu': 4, 'memory': 16384, 'node': 1, 'gpu:a100': 2, 'gpu': 2}
    """
    amounts: Amounts = {}
    for entry in filter(None, text.split(",")):
        name, equals, amount = entry.partition("=")
        name = name.removeprefix("gres/")
        size = _AMOUNT.fullmatch(amount)
        if not (name and equals and size):
            raise EntryError(
                f"{shown(entry)} in {shown(text)} is no amount; expected one such as 'mem=16G'"
            )
        resource = "memory" if name == "mem" else name
        unit = _COUNTED[size[2].upper()]
        if name == "mem" and size[2]:
            unit /= _COUNTED["M"]
        amounts[resource] = Fraction(size[1]) * unit
    return _with_types(amounts)


def gres(text: str) -> Amounts:
    """Return the amounts of a node's or job's GRES by resource.

    >>> {key: int(value) for key, value in gres("gpu:a100:4(S:0-1),shard:8").items()}
    {'gpu:a100': 4, 'shard': 8, 'gpu': 4}
    """
    amounts: Amounts = {}
    without_sockets = re.sub(r"\([^()]*\)", "", text)
    for entry in filter(None, without_sockets.split(",")):
        names = entry.strip().split(":")
        if names[0] == "gres":
            names = names[1:]
        if not names:  # "gres" alone, which some versions print where there are none
            continue
        size = _AMOUNT.fullmatch(names[-1])
        if size and len(names) > 1:
            kind = ":".join(names[:-1])
            amount = Fraction(size[1]) * _COUNTED[size[2].upper()]
        else:
            kind = ":".join(names)
            amount = Fraction(1)
        if kind not in ("", "(null)"):
            add_amounts(amounts, {kind: amount})
    return _with_types(amounts)


def _with_types(amounts: Amounts) -> Amounts:
    """Return the amounts with the total of each resource that is listed by type (``gpu:a100``)."""
    totals: Amounts = {}
    for name, amount in amounts.items():
        resource, colon, _ = name.partition(":")
        if colon:
            add_amounts(totals, {resource: amount})
    for resource, total in totals.items():
        totals[resource] = max(total, amounts.get(resource, Fraction(0)))
    return amounts | totals


def hosts(text: str) -> Names:
    """Return the names of a list of hosts.

    >>> hosts("n[01-03,7],m1"), hosts("r[1-2]n[1-2]")
    (['n01', 'n02', 'n03', 'n7', 'm1'], ['r1n1', 'r1n2', 'r2n1', 'r2n2'])
    """
    names: Names = []
    choices: list[Names] = []  # of the current entry, for each of its pieces
    total = 0  # of the numbers in brackets
    for piece in [*_PIECE.findall(text.strip()), ","]:
        if piece == ",":
            if len(names) + math.prod(map(len, choices)) > MOST:
                raise EntryError(f"{shown(text)} has more than {MOST} hosts")
            if choices:
                names += ["".join(pieces) for pieces in product(*choices)]
            choices = []
        elif piece.startswith("[") and piece.endswith("]"):
            choices.append([])
            for entry in piece[1:-1].split(","):
                numbers, width = _range(entry, text, _HOSTS)
                total += len(numbers)
                if total > MOST:
                    raise EntryError(f"{shown(text)} has more than {MOST} hosts")
                choices[-1] += [str(k).zfill(width) for k in numbers]
        elif piece in ("[", "]"):
            raise EntryError(f"{shown(text)} is no list of hosts: a bracket is not closed")
        else:
            choices.append([piece])
    return names


def _range(entry: str, text: str, kind: str) -> tuple[range, int]:
    """Return the numbers of a range such as ``01-03`` or ``1-10:3``, and the digits of its first."""
    match = _RANGE.fullmatch(entry)
    if match is None or (kind == _HOSTS and match["step"]):
        raise EntryError(f"{shown(text)} is no list of {kind}: {shown(entry)} is no range")
    first = int(match["first"])
    last = int(match["last"] or first)
    if last < first:
        raise EntryError(f"{shown(text)} is no list of {kind}: {shown(entry)} runs down")
    return range(first, last + 1, max(int(match["step"] or 1), 1)), len(match["first"])


def array_tasks(text: str) -> int:
    """Return how many tasks of a job array wait, from the list in ``array_task_string``.

    The list has single tasks (``5``), ranges (``0-2``) and ranges with a step (``1-10:3`` is 1, 4,
    7, 10), with commas between them. A throttle at its end (``%2``) does not change their number.
    A job that is no array has an empty list, and counts as one task. A range that runs down (``5-3``)
    raises `EntryError`.

    >>> array_tasks("0-2,5"), array_tasks("1-10:3%2"), array_tasks("")
    (4, 4, 1)
    """
    entries = text.partition("%")[0].split(",")
    # Slurm ends a list that it cuts off with "..."
    ranges = [_range(entry, text, "array tasks")[0] for entry in entries if entry.strip(".")]
    count = sum(map(len, ranges))
    if count > MOST:
        raise EntryError(f"{shown(text)} has more than {MOST} tasks")
    return max(count, 1)


def array_throttle(entry: Record) -> int | None:
    """Return how many tasks of a job's array may run at once; None where the array has no limit.

    The limit stands behind the list of tasks (``1-10%2``), or in ``array_max_tasks``, 0 for none.
    It is a limit of the array: tasks of it that run already count against it.
    """
    _, _, throttle = text_at(entry, "array_task_string").partition("%")
    if not throttle:
        throttle = str(int(number(entry.get("array_max_tasks")) or 0))
    return (whole_number(throttle) or None) if throttle else None


def whole_number(text: str) -> int | None:
    """Return a whole number of at most 18 digits; None for another text.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None)
    """
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def words_at(entry: Record, key: str) -> Names:
    """Return the words of a list, or of a text with commas or pluses between them."""
    value = value_at(entry, key, kind=(str, list), default=[])
    if isinstance(value, str):
        value = value.replace("+", ",").split(",")
    return [str(word).strip() for word in value if str(word).strip()]


def time_of(value: Any) -> str | None:
    """Return seconds since 1970 as a time."""
    seconds = number(value)
    if seconds is None or not 0 < seconds < 2**35:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
