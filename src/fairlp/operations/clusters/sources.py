"""The files of a dump: found, told apart by what is in them, and read entry by entry, so that large ones fit."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ...models.files.whole_files import home, not_found, read_text
from .cluster import Record

#: Lists that are read entry by entry.
STREAMED = frozenset({"items", "jobs", "nodes", "associations"})
#: Comes after each document of a file.
END = "\0end"
#: The key that YARN writes once for each entry of a mapping of its own, in one mapping of JSON.
_LISTED = "entry"
_BLANK = re.compile(r"[ \t\n\r]*")
#: The keys at the top of a document that only one scheduler's tools write.
_KEYS = {
    "kubernetes": ("apiVersion", "kind", "items"),
    "slurm": ("jobs", "associations", "shares", "meta", "plugin", "last_backfill", "last_update"),
    "yarn": ("apps", "scheduler"),
}
_SCHEDULERS = {key: scheduler for scheduler, keys in _KEYS.items() for key in keys}


def files_of(path: str | Path) -> list[Path]:
    """Return the file, or the files in a folder by name (hidden ones and folders are left out)."""
    source = home(path)
    if not source.exists():
        raise FileFormatError(not_found(source))
    if not source.is_dir():
        return [source]
    found = sorted(
        one for one in source.iterdir() if not one.name.startswith(".") and not one.is_dir()
    )
    if not found:
        raise FileFormatError(f"{source} has no files; expected what a scheduler's tools print")
    return found


#: No amount of anything; a thousand of it, or its parts, are still floats.
_LARGEST = 1e300


def is_json(text: str) -> bool:
    """Whether a text begins as JSON does."""
    at = _skip(text, 0)
    return text[at : at + 1] in ("{", "[")


def scheduler_of(path: Path) -> str | None:
    """Return which scheduler's tools wrote a file, None where nothing tells."""
    text = read_text(path)
    if not is_json(text):
        first = text.partition("\n")[0]
        if first.startswith(("apiVersion:", "---")):
            return "kubernetes"  # YAML, whose reader says what to print instead
        return "slurm" if "|" in first and "Account" in first else None
    for key, value in members(text, path):
        if key == "nodes" and isinstance(value, dict) and ("node" in value or not value):
            return "yarn"
        if key in _SCHEDULERS:
            return _SCHEDULERS[key]
        if key == "nodes":
            return "slurm"
    return None


#: How tables for people begin, and what prints the same for programs.
_FOR_PEOPLE = {
    "JOBID": "squeue --json", "JobId=": "squeue --json", "PARTITION": "scontrol show nodes --json",
    "NodeName=": "scontrol show nodes --json", "NAME": "kubectl get … -o json", "Name:": "kubectl get … -o json",
}  # fmt: skip


def advice(path: Path) -> str:
    """Return what to print in place of a table for people; empty where a file is none that is known."""
    first = read_text(path).lstrip()[:80]
    return next(
        (f"; print it with {how}" for begin, how in _FOR_PEOPLE.items() if first.startswith(begin)),
        "",
    )


def members(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield key and value of what is at the top of each document; the lists in `STREAMED` entry by entry.

    An empty one of these is one entry ``[]``; entries of a list at the top have the key ``""``;
    `END` ends a document.
    """
    try:
        at = _skip(text, 0)
        while at < len(text):
            if text[at] == "[":
                at = yield from _entries(text, at, "")
            elif text[at] == "{":
                at = yield from _object(text, at)
            else:
                raise json.JSONDecodeError("Expecting a mapping or a list", text, at)
            yield END, None
            at = _skip(text, at)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise FileFormatError(f"{path}: {where}; is the file cut off, or edited by hand?") from None
    except RecursionError:
        raise FileFormatError(f"{path}: lists or mappings are nested too deeply") from None
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _skip(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]


def _expect(text: str, at: int, letters: str) -> str:
    found = text[at : at + 1]
    if not found or found not in letters:
        raise json.JSONDecodeError(
            f"Expecting {' or '.join(repr(letter) for letter in letters)}", text, at
        )
    return found


def _object(text: str, at: int) -> Generator[tuple[str, Any], None, int]:
    seen: set[str] = set()
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        _expect(text, at, '"')
        key, at = _decode(text, at)
        if key in seen:
            raise ValueError(f"key {key!r} occurs twice in one mapping")
        seen.add(key)
        at = _skip(text, at)
        _expect(text, at, ":")
        at = _skip(text, at + 1)
        if key in STREAMED and text[at : at + 1] == "[":
            at = yield from _entries(text, at, key)
        else:
            value, at = _decode(text, at)
            yield key, value
        at = _skip(text, at)
        if _expect(text, at, ",}") == "}":
            return at + 1
        at = _skip(text, at + 1)


def _entries(text: str, at: int, key: str) -> Generator[tuple[str, Any], None, int]:
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        yield key, []
        return at + 1
    while True:
        value, at = _decode(text, at)
        yield key, value
        at = _skip(text, at)
        if _expect(text, at, ",]") == "]":
            return at + 1
        at = _skip(text, at + 1)


def _once(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) < len(pairs):
        if {key for key, _ in pairs} == {_LISTED}:
            return {_LISTED: [value for _, value in pairs]}
        twice = next(key for k, (key, _) in enumerate(pairs) if key in dict(pairs[:k]))
        raise ValueError(f"key {twice!r} occurs twice in one mapping")
    return found


def _no_constant(name: str) -> str:
    """Return the text for an infinity, which Slurm 23.11 prints for ``fairshare.level`` of who has used nothing."""
    if name == "NaN":
        raise ValueError(f"{name} is not JSON; expected a finite number")
    return name


def _number(text: str) -> int | float | str:
    """Return a number that sums and units leave a float; a larger one is no number here, and stays text."""
    if abs(float(text)) > _LARGEST:
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


_decode = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_number, parse_int=_number
).raw_decode
