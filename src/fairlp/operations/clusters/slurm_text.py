"""The small languages of Slurm: TRES and GRES, lists of hosts, lists of array tasks, numbers that may not be set."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from typing import Any, Final

from .notes import Odd, part, shown

#: Hosts of one list, and tasks of one array, at most.
_MOST: Final = 1_000_000
_MEMORY: Final[dict[str, int | Fraction]] = {
    "": 1,
    "K": Fraction(1, 1024),
    "M": 1,
    "G": 1024,
    "T": 1024**2,
    "P": 1024**3,
}
_COUNTED: Final[dict[str, int | Fraction]] = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTP]?)B?", re.IGNORECASE)
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?(?::([0-9]{1,9}))?")
_PIECE = re.compile(r"[^,\[\]]+|\[[^\]]*\]|,|.", re.DOTALL)
#: TRES that are no resource of nodes: prices, counts of nodes, what is measured.
UNCOUNTED: Final = frozenset({"billing", "node", "energy", "pages", "vmem", "fs/disk"})


def number(value: Any) -> float | None:
    """Return a number, plain or wrapped (``{"set": true, "infinite": false, "number": 5}``); None where none is set.

    >>> number(5), number({"set": True, "infinite": False, "number": 5}), number({"set": False, "number": 0})
    (5.0, 5.0, None)
    """
    if isinstance(value, dict):
        if part(value, "set", kind=bool, default=True) is False or part(value, "infinite", kind=bool):
            return None
        value = value.get("number")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Odd(f"{shown(value)} is no number")
    return float(value)


def tres(text: str) -> dict[str, Fraction]:
    """Return amounts by resource: memory in MiB, ``gres/gpu`` as ``gpu``, its types both by themselves and in it.

    >>> {key: int(value) for key, value in tres("cpu=4,mem=16G,node=1,gres/gpu:a100=2").items()}
    {'cpu': 4, 'memory': 16384, 'node': 1, 'gpu:a100': 2, 'gpu': 2}
    """
    found: dict[str, Fraction] = {}
    for entry in filter(None, text.split(",")):
        name, equals, amount = entry.partition("=")
        name = name.removeprefix("gres/")
        size = _AMOUNT.fullmatch(amount)
        if not (name and equals and size):
            raise Odd(f"{shown(entry)} in {shown(text)} is no amount; expected one such as 'mem=16G'")
        units = _MEMORY if name == "mem" else _COUNTED
        found["memory" if name == "mem" else name] = Fraction(size[1]) * units[size[2].upper()]
    return _with_types(found)


def gres(text: str) -> dict[str, Fraction]:
    """Return amounts by resource of a node's or job's GRES.

    >>> {key: int(value) for key, value in gres("gpu:a100:4(S:0-1),shard:8").items()}
    {'gpu:a100': 4, 'shard': 8, 'gpu': 4}
    """
    found: dict[str, Fraction] = {}
    for entry in filter(None, re.sub(r"\([^)]*\)", "", text).split(",")):
        names = entry.strip().split(":")
        names = names[1:] if names[0] == "gres" else names
        size = _AMOUNT.fullmatch(names[-1])
        kind = ":".join(names[:-1] if size and len(names) > 1 else names)
        amount = Fraction(size[1]) * _COUNTED[size[2].upper()] if size and len(names) > 1 else Fraction(1)
        if kind not in ("", "(null)"):
            found[kind] = found.get(kind, Fraction(0)) + amount
    return _with_types(found)


def _with_types(found: dict[str, Fraction]) -> dict[str, Fraction]:
    """Add what is given by type only to what has no type."""
    typed: dict[str, Fraction] = {}
    for name, amount in found.items():
        whole, colon, _ = name.partition(":")
        if colon:
            typed[whole] = typed.get(whole, Fraction(0)) + amount
    return found | {whole: max(amount, found.get(whole, Fraction(0))) for whole, amount in typed.items()}


def hosts(text: str) -> list[str]:
    """Return the names of a list of hosts.

    >>> hosts("n[01-03,7],m1"), hosts("r[1-2]n[1-2]")
    (['n01', 'n02', 'n03', 'n7', 'm1'], ['r1n1', 'r1n2', 'r2n1', 'r2n2'])
    """
    found: list[str] = []
    parts: list[list[str]] = []
    for piece in [*_PIECE.findall(text.strip()), ","]:
        if piece == ",":
            size = 1
            for one in parts:
                size *= len(one)
            if len(found) + size > _MOST:
                raise Odd(f"{shown(text)} has more than {_MOST} hosts")
            found += ["".join(names) for names in product(*parts)] if parts else []
            parts = []
        elif piece.startswith("[") and piece.endswith("]"):
            parts.append([name for entry in piece[1:-1].split(",") for name in _numbers(entry, text)])
        elif piece in ("[", "]"):
            raise Odd(f"{shown(text)} is no list of hosts: a bracket is not closed")
        else:
            parts.append([piece])
    return found


def _numbers(entry: str, text: str) -> list[str]:
    found = _RANGE.fullmatch(entry)
    if found is None or found[3]:
        raise Odd(f"{shown(text)} is no list of hosts: {shown(entry)} is no range")
    first, last = int(found[1]), int(found[2] or found[1])
    if last - first >= _MOST:
        raise Odd(f"{shown(text)} has more than {_MOST} hosts")
    return [str(k).zfill(len(found[1])) for k in range(first, last + 1)]


def array_tasks(text: str) -> int:
    """Return how many tasks of an array a list of them has.

    >>> array_tasks("0-2,5"), array_tasks("1-10:3%2"), array_tasks("")
    (4, 4, 1)
    """
    count = 0
    for entry in filter(None, text.partition("%")[0].split(",")):
        found = _RANGE.fullmatch(entry)
        if found is None:
            raise Odd(f"{shown(text)} is no list of array tasks: {shown(entry)} is no range")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        count += max((last - first) // max(step, 1) + 1, 0)
    if count > _MOST:
        raise Odd(f"{shown(text)} has more than {_MOST} tasks")
    return max(count, 1)
