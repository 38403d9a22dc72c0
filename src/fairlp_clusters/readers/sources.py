"""The files of a dump: the scheduler that wrote them, and their entries one by one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from fairlp.errors import FileFormatError, quoted
from fairlp.toolkit import home, opened, read_text

from .cluster import Record

#: Lists that are read entry by entry.
STREAMED = frozenset({"items", "jobs", "nodes", "associations", "licenses", "partitions"})
#: Follows each document of a file.
END = "\0end"
#: The key that YARN repeats in one mapping of JSON, once for each entry.
_LISTED = "entry"
_BLANK = re.compile(r"[ \t\n\r]*")
#: Returns the value at a position of a text, and where it ends.
Decode = Callable[[str, int], tuple[Any, int]]
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
    "yarn": ("apps", "scheduler", "properties", "property", "clusterInfo"),
}
#: The first lines of records of ``scontrol show …`` and of tables of accounts, which are not read.
_SLURM_TEXT = re.compile(r"^(?:NodeName|JobId|LicenseName)=|\bAccount(?:\||\s+User\b)")
#: The elements at the top of settings of YARN, as XML.
_YARN_XML = re.compile(r"<(configuration|allocations)[\s>/]")
#: So many letters at the beginning of a file tell what XML it is,
_BEGINNING = 4000
#: and whether it is of a scheduler that fairlp does not read.
_LOOKED_AT = 100_000
_SCHEDULERS = {key: scheduler for scheduler, keys in _KEYS.items() for key in keys}


#: Schedulers that fairlp does not read: a key in their tools' JSON, and the beginning of their text.
NOT_READ = {
    "HTCondor": (
        "MyType|ClusterId|ProcId|JobStatus|GlobalJobId|SlotType|SlotID|CondorVersion",
        r"-- Schedd: |MyType = |Name +OpSys +Arch |(?:<\?xml[^>]*>\s*)?<(?:!DOCTYPE )?classads",
    ),
    "Nomad": (
        "SchedulingEligibility|JobModifyIndex|CreateIndex|TaskGroups|ClientStatus|JobSummary",
        r'job "[^"\n]*" *\{|ID +=|ID +(?:Node Pool +)?DC +Name|ID +Type +Priority|ID +Eval ID +Node',
    ),
    "Ray": (
        "is_head_node|node_ip|resources_total|ray_namespace|actor_id|placement_group_id"
        "|func_or_class_name|submission_id|autoscaler_report",
        r"=+ (?:Autoscaler status|Cluster status|List): |(?:---\n)?- +(?:node|actor|task|worker|placement_group)_id:",
    ),
    "YuniKorn": (
        "queuename|applicationID|partitionName|partitionname|nodeSortingPolicy|rmBuildInformation"
        "|isReserved|absUsedCapacity",
        "partitions:\n +- +name:",
    ),
    "PBS": ("pbs_version", r"Job id +Name +User|Job Id: "),
    "LSF": ("RECORDS", r"JOBID +USER +STAT|HOST_NAME +STATUS"),
    "Mesos": ("activated_slaves|completed_frameworks|unreachable_slaves", "(?!)"),
}


def not_read(text: str) -> str | None:
    """Return the scheduler that a text is of, one that fairlp does not read; None for others."""
    start = text[:_LOOKED_AT]
    for name, (keys, beginning) in NOT_READ.items():
        # A quote in a text of JSON has a backslash before it: what people write is no key.
        if (re.search if is_json(text) else re.match)(
            (rf'(?<!\\)"(?:{keys})"\s*:' if is_json(text) else rf"\s*(?:{beginning})"), start
        ):
            return name
    return None


def files_of(path: str | Path) -> list[Path]:
    """Return the file, or the files in a folder by name (hidden ones and folders are left out)."""
    source = home(path)
    if not source.exists():
        with opened(source):  # which says what is there
            pass
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


def scheduler_of(path: Path) -> str | None:
    """Return the scheduler whose tools wrote a file, None where its content does not show it.

    It may be one that fairlp does not read.
    """
    text = read_text(path)
    other = not_read(text)
    if other is not None:
        return other
    if is_xml(text):
        return "yarn" if _YARN_XML.search(text[:_BEGINNING]) else None
    if not is_json(text):
        header = text.lstrip("\n").partition("\n")[0]
        if header.startswith(("apiVersion:", "---")):
            return "kubernetes"  # YAML, whose reader says what to print instead
        return "slurm" if _SLURM_TEXT.search(header) else None
    for key, value in members(text, path):
        if key == "nodes" and isinstance(value, dict) and ("node" in value or not value):
            return "yarn"
        if key in _SCHEDULERS:
            return _SCHEDULERS[key]
        if key == "nodes":
            return "slurm"
    return None


def is_dump(path: str | Path) -> bool:
    """Whether a file, or one of a folder, was written by a scheduler's tools."""
    source = home(path)
    is_readable = source.is_file() or source.is_dir()  # a pipe can be read once only
    if not str(path) or not is_readable or source.suffix.lower() in (".yaml", ".yml"):
        return False
    files = [source] if source.is_file() else [file for file in source.iterdir() if file.is_file()]
    return any(scheduler_or_none(file) for file in sorted(files) if not file.name.startswith("."))


#: Suffixes of tables, which no scheduler's tools write; traces have very large ones.
_TABLES = (".csv", ".csv.gz")


def scheduler_or_none(path: Path) -> str | None:
    """Return the scheduler of a file, None where it cannot be read, too; tables are not opened."""
    if path.name.lower().endswith(_TABLES):
        return None
    try:
        return scheduler_of_beginning(path)
    except FileFormatError:
        return None


#: The first key of a document of JSON.
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(\w+)"\s*:')
_FIRST_BYTES = 4096


def scheduler_of_beginning(path: Path) -> str | None:
    """Return the scheduler whose tools wrote a file; its first key mostly shows it.

    The rest of a large file is then not read, so that a fault in it is told by its reader.
    """
    with opened(path) as file:
        match = _FIRST_KEY.match(file.read(_FIRST_BYTES))
    return (_SCHEDULERS.get(match[1].decode()) if match else None) or scheduler_of(path)


_OF_JOBS = "squeue --json"
_OF_NODES = "scontrol show nodes --json"
OF_ACCOUNTS = "sacctmgr show assoc --json"
#: The first letters of tables for people, and the command that prints the same for programs.
_FOR_PEOPLE = {
    "JOBID": _OF_JOBS,
    "JobId=": _OF_JOBS,
    "NodeName=": _OF_NODES,
    "LicenseName=": "scontrol show licenses --json",
    "Account": OF_ACCOUNTS,
    "Cluster": OF_ACCOUNTS,
    "ACCOUNT|": _OF_JOBS,
    "PARTITION": _OF_NODES,
    "NODELIST": _OF_NODES,
    "HOSTNAMES": _OF_NODES,
    "NAME": "kubectl get … -o json",
    "Name:": "kubectl get … -o json",
    "<": "curl -H 'Accept: application/json' …",
}


def advice(path: Path) -> str:
    """Return what to print in place of a table for people; empty for a text of another kind."""
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
        decode = _decode if _has_long_number(text) else _decode_short_numbers
        while position < len(text):
            if text[position] == "[":
                position = yield from _entries(text, position, "", decode)
            elif text[position] == "{":
                position = yield from _object(text, position, decode)
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


def _object(text: str, position: int, decode: Decode) -> Generator[tuple[str, Any], None, int]:
    """Yield the members of the mapping that begins at a position, and return where it ends."""
    seen: set[str] = set()
    position = _skip_blanks(text, position + 1)
    if text[position : position + 1] == "}":
        return position + 1
    while True:
        _expect(text, position, '"')
        key, position = _decode(text, position)
        if key in seen:
            raise ValueError(f"key {quoted(key)} occurs twice in one mapping")
        seen.add(key)
        position = _skip_blanks(text, position)
        _expect(text, position, ":")
        position = _skip_blanks(text, position + 1)
        if key in STREAMED and text[position : position + 1] == "[":
            position = yield from _entries(text, position, key, decode)
        else:
            value, position = _decode(text, position)
            yield key, value
        position = _skip_blanks(text, position)
        if _expect(text, position, ",}") == "}":
            return position + 1
        position = _skip_blanks(text, position + 1)


def _entries(
    text: str, position: int, key: str, decode: Decode
) -> Generator[tuple[str, Any], None, int]:
    """Yield the entries of the list that begins at a position, and return where it ends."""
    position = _skip_blanks(text, position + 1)
    if text[position : position + 1] == "]":
        yield key, []
        return position + 1
    while True:
        value, position = decode(text, position)
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
    raise ValueError(f"key {quoted(repeated_key)} occurs twice in one mapping")


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

#: The same where whole numbers are short: they need no look, which makes it twice as fast.
_decode_short_numbers: Decode = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_number
).raw_decode
#: Of a number of 200 digits, so many stand one after the other among each twentieth letters.
_STEP = 20
_MANY_DIGITS = re.compile(r"[0-9]{9}")


def _has_long_number(text: str) -> bool:
    """Whether a text may have a whole number of 200 digits or more."""
    return _MANY_DIGITS.search(text[::_STEP]) is not None
