"""The files of a dump: the scheduler that wrote them, and their entries one by one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ...models.files.whole_files import home, not_found, read_text
from .cluster import Record

#: Lists that are read entry by entry.
STREAMED = frozenset({"items", "jobs", "nodes", "associations", "licenses", "partitions"})
#: Follows each document of a file.
END = "\0end"
#: The key that YARN repeats in one mapping of JSON, once for each entry.
_LISTED = "entry"
_BLANK = re.compile(r"[ \t\n\r]*")
#: The keys at the top of a document that only one scheduler's tools write.
_KEYS = {
    "kubernetes": ("apiVersion", "kind", "items"),
    "slurm": (
        "jobs",
        "associations",
        "shares",
        "licenses",
        "partitions",
        "meta",
        "plugin",
        "last_backfill",
        "last_update",
    ),
    "yarn": ("apps", "scheduler", "properties", "property"),
}
#: How ``scontrol show config`` begins.
SLURM_CONFIG = "Configuration data as of"
#: How records of ``scontrol show …`` begin, as text.
SLURM_RECORDS = ("NodeName=", "JobId=", "LicenseName=", "PartitionName=")
#: The elements at the top of settings of YARN, as XML.
_YARN_XML = re.compile(r"<(configuration|allocations)[\s>/]")
#: So many letters at the beginning of a file tell what XML it is.
_BEGINNING = 4000
_SCHEDULERS = {key: scheduler for scheduler, keys in _KEYS.items() for key in keys}


def files_of(path: str | Path) -> list[Path]:
    """Return the file, or the files in a folder by name (hidden ones and folders are left out)."""
    source = home(path)
    if not source.exists():
        raise FileFormatError(not_found(source))
    if not source.is_dir():
        return [source]
    files = [
        entry for entry in source.iterdir() if not entry.name.startswith(".") and not entry.is_dir()
    ]
    if not files:
        raise FileFormatError(f"{source} has no files; expected what a scheduler's tools print")
    return sorted(files)


#: Larger than any amount; a thousand of it, or its parts, are still floats.
_LARGEST = 1e300


def is_json(text: str) -> bool:
    """Whether a text begins as JSON does."""
    position = _skip_blanks(text, 0)
    return text[position : position + 1] in ("{", "[")


def is_xml(text: str) -> bool:
    """Whether a text begins as XML does."""
    return text.lstrip()[:1] == "<"


def is_slurm_qos(text: str) -> bool:
    """Whether a text is a table of QOS, as ``sacctmgr show qos --parsable2`` prints it."""
    headers = text.lstrip("\n").partition("\n")[0].strip().split("|")
    return {"Name", "Preempt"} <= set(headers)


def scheduler_of(path: Path) -> str | None:
    """Return the scheduler whose tools wrote a file, None where its content does not show it."""
    text = read_text(path)
    if is_xml(text):
        return "yarn" if _YARN_XML.search(text[:_BEGINNING]) else None
    if not is_json(text):
        header = text.lstrip("\n").partition("\n")[0]
        if header.startswith(("apiVersion:", "---")):
            return "kubernetes"  # YAML, whose reader says what to print instead
        if header.startswith((SLURM_CONFIG, *SLURM_RECORDS)) or is_slurm_qos(text):
            return "slurm"
        return "slurm" if "|" in header and "Account" in header else None
    for key, value in members(text, path):
        if key == "nodes" and isinstance(value, dict) and ("node" in value or not value):
            return "yarn"
        if key in _SCHEDULERS:
            return _SCHEDULERS[key]
        if key == "nodes":
            return "slurm"
    return None


_OF_JOBS = "squeue --json (or scontrol show job -d)"
_OF_NODES = "scontrol show nodes --json (or scontrol show node)"
#: The first letters of tables for people, and the command that prints the same for programs.
_FOR_PEOPLE = {
    "JOBID": _OF_JOBS,
    "ACCOUNT|": _OF_JOBS,
    "PARTITION": _OF_NODES,
    "NODELIST": _OF_NODES,
    "HOSTNAMES": _OF_NODES,
    "NAME": "kubectl get … -o json",
    "Name:": "kubectl get … -o json",
    "<": "curl -H 'Accept: application/json' …",
}


def advice(path: Path) -> str:
    """Return what to print in place of a table for people; empty for a file of another kind."""
    start = read_text(path).lstrip()[:80]
    for prefix, command in _FOR_PEOPLE.items():
        if start.startswith(prefix):
            return f"; print it with {command}"
    return ""


def members(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values at the top of each document, the lists in `STREAMED` by entry.

    An empty one of these lists is one entry ``[]``; entries of a list at the top have the key
    ``""``; `END` ends a document.
    """
    try:
        position = _skip_blanks(text, 0)
        while position < len(text):
            if text[position] == "[":
                position = yield from _entries(text, position, "")
            elif text[position] == "{":
                position = yield from _object(text, position)
            else:
                raise json.JSONDecodeError("Expecting a mapping or a list", text, position)
            yield END, None
            position = _skip_blanks(text, position)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise FileFormatError(f"{path}: {place}; is the file cut off, or edited by hand?") from None
    except RecursionError:
        raise FileFormatError(f"{path}: lists or mappings are nested too deeply") from None
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _skip_blanks(text: str, position: int) -> int:
    return _BLANK.match(text, position).end()  # type: ignore[union-attr]


def _expect(text: str, position: int, letters: str) -> str:
    """Return the letter at a position, which has to be one of these."""
    letter = text[position : position + 1]
    if not letter or letter not in letters:
        expected = " or ".join(map(repr, letters))
        raise json.JSONDecodeError(f"Expecting {expected}", text, position)
    return letter


def _object(text: str, position: int) -> Generator[tuple[str, Any], None, int]:
    """Yield the members of the mapping that begins at a position, and return where it ends."""
    seen: set[str] = set()
    position = _skip_blanks(text, position + 1)
    if text[position : position + 1] == "}":
        return position + 1
    while True:
        _expect(text, position, '"')
        key, position = _decode(text, position)
        if key in seen:
            raise ValueError(f"key {key!r} occurs twice in one mapping")
        seen.add(key)
        position = _skip_blanks(text, position)
        _expect(text, position, ":")
        position = _skip_blanks(text, position + 1)
        if key in STREAMED and text[position : position + 1] == "[":
            position = yield from _entries(text, position, key)
        else:
            value, position = _decode(text, position)
            yield key, value
        position = _skip_blanks(text, position)
        if _expect(text, position, ",}") == "}":
            return position + 1
        position = _skip_blanks(text, position + 1)


def _entries(text: str, position: int, key: str) -> Generator[tuple[str, Any], None, int]:
    """Yield the entries of the list that begins at a position, and return where it ends."""
    position = _skip_blanks(text, position + 1)
    if text[position : position + 1] == "]":
        yield key, []
        return position + 1
    while True:
        value, position = _decode(text, position)
        yield key, value
        position = _skip_blanks(text, position)
        if _expect(text, position, ",]") == "]":
            return position + 1
        position = _skip_blanks(text, position + 1)


def _unique_keys(pairs: list[tuple[str, Any]]) -> Record:
    """Return a mapping of JSON; a key may occur once, but for the one that YARN repeats."""
    mapping = dict(pairs)
    if len(mapping) == len(pairs):
        return mapping
    if set(mapping) == {_LISTED}:
        return {_LISTED: [value for _, value in pairs]}
    counts = Counter(key for key, _ in pairs)
    repeated_key = next(key for key, count in counts.items() if count > 1)
    raise ValueError(f"key {repeated_key!r} occurs twice in one mapping")


def _no_constant(name: str) -> str:
    """Return an infinity as text.

    Slurm 23.11 prints one for ``fairshare.level`` of users without use.
    """
    if name == "NaN":
        raise ValueError(f"{name} is not JSON; expected a finite number")
    return name


def _number(text: str) -> int | float | str:
    """Return a number, or its text where sums and units of it may be no floats."""
    if abs(float(text)) > _LARGEST:
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


_decode = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_no_constant,
    parse_float=_number,
    parse_int=_number,
).raw_decode
