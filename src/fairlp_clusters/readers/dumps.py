"""Several dumps of one cluster: which files are a dump, and when it was made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from fairlp.errors import FileFormatError, InstanceError, quoted
from fairlp.toolkit import home, read_text

from .cluster import EntryError
from .kubernetes import objects
from .pods import name_of
from .sources import files_of, is_json, members, scheduler_of_beginning, scheduler_or_none


@dataclass(frozen=True)
class Dump:
    """The files of one dump, and its name: that of the file or folder, or the time of its files."""

    name: str
    files: tuple[Path, ...]

    @property
    def path(self) -> Path:
        """The file, or the folder of several."""
        return self.files[0] if len(self.files) == 1 else self.files[0].parent


# Which files are a dump.


def dumps_of(paths: Iterable[str | Path]) -> list[Dump]:
    """Return the dumps at paths, in order: each is a dump, or a folder of several."""
    dumps: list[Dump] = []
    for path in paths:
        source = home(path)
        dumps += dumps_in(source) or [Dump(source.name, tuple(files_of(source)))]
    return dumps


def dumps_in(path: str | Path) -> list[Dump]:
    """Return the dumps in a folder of several, in the order of their names; else none.

    A folder has several where each of its folders is a dump, or where nodes of the same names stand
    in all of its files: then each file is a dump, or the files whose names have the same time.
    """
    source = home(path)
    if not source.is_dir():
        return []
    entries = sorted(
        (entry for entry in source.iterdir() if not entry.name.startswith(".")),
        key=lambda entry: _by_number(entry.name),
    )
    files = [
        entry for entry in entries if not entry.is_dir() and scheduler_or_none(entry) is not None
    ]
    if files:
        for entry in entries:
            if not entry.is_dir() and not entry.stat().st_size:
                read_text(entry)  # refuses it: a dump that was not written is not passed over
        return _dumps_among(files)
    return _dumps_in_folders([entry for entry in entries if entry.is_dir()])


def _by_number(name: str) -> list[tuple[int, int, str]]:
    """Return the key by which ``dump-2`` comes before ``dump-10``."""
    parts = re.split(r"(\d+)", name)
    return [
        (0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in parts
    ]


def _dumps_in_folders(folders: Sequence[Path]) -> list[Dump]:
    """Return the dumps of a folder's folders; none where no folder is one."""
    dumps = []
    others = []
    for folder in folders:
        inside = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        files = [file for file in inside if not file.is_dir()]
        if any(scheduler_or_none(file) for file in files):
            dumps.append(Dump(folder.name, tuple(sorted(files))))
        else:
            others.append(folder)
    if dumps and others:
        raise FileFormatError(
            f"{others[0]} is no dump of a scheduler, and {folders[0].parent / dumps[0].name} is one; "
            "expected a folder of which each folder is a dump"
        )
    return dumps


def _dumps_among(files: Sequence[Path]) -> list[Dump]:
    """Return the dumps that files of one folder are; none where they are one dump together."""
    times = [time_in(file.name) for file in files]
    files_at: dict[datetime, list[Path]] = {}
    for file, time in zip(files, times, strict=True):
        if time is not None:
            files_at.setdefault(time, []).append(file)
    if None not in times and 1 < len(files_at) < len(files):
        first, second, *_ = files_at.values()
        if _have_node_in_common(first, second):
            return [
                Dump(_name_of_all(dump_files), tuple(dump_files))
                for dump_files in files_at.values()
            ]

    # Each file has nodes (of many, the first and the last ones are looked at), and not just one of
    # them has tasks: that would be nodes printed twice.
    some_files = [*files[:_LOOKED_AT], *files[_LOOKED_AT:][-_LOOKED_AT:]]
    if len(files) < 2 or not all(any(True for _ in node_names(file)) for file in some_files):
        return []
    if sum(bool(_TASKS.search(read_text(file))) for file in some_files) == 1:
        return []
    if not _have_node_in_common(files[:1], files[1:2]):
        return []
    return [Dump(file.name, (file,)) for file in files]


def _name_of_all(files: Sequence[Path]) -> str:
    """Return the name of a dump of files that have one time in their names: that time."""
    return next(_times_in(files[0].name)).text if len(files) > 1 else files[0].name


def _have_node_in_common(files: Iterable[Path], others: Iterable[Path]) -> bool:
    names = {name for file in files for name in node_names(file)}
    return any(name in names for file in others for name in node_names(file))


#: Where a file has none of these, no node stands in it.
_NODES = re.compile(r'"nodes"|"kind"\s*:\s*"Node(?:List)?"')
#: So many files at either end of a folder show whether all are dumps.
_LOOKED_AT = 4
#: Where a file has none of these, no task stands in it.
_TASKS = re.compile(r'"kind"\s*:\s*"Pod(?:List)?"|"(?:jobs|apps)"\s*:')


def node_names(file: Path) -> Iterator[str]:
    """Yield the names of the nodes in a file of a scheduler."""
    scheduler = scheduler_of_beginning(file)
    text = read_text(file)
    if scheduler is None or not is_json(text) or not _NODES.search(text):
        return
    if scheduler == "kubernetes":
        for manifest in objects(file):
            if isinstance(manifest, dict) and manifest.get("kind") == "Node":
                with suppress(EntryError):  # its reader notes it
                    yield name_of(manifest)
        return
    for key, value in members(text, file):
        if key != "nodes" or not isinstance(value, dict):
            continue
        entries = value.get("node") if scheduler == "yarn" else [value]
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict):
                yield str(entry.get("name", entry.get("id", "")))


# When a dump was made.


class NamedTime(NamedTuple):
    """A time in a name, and the letters that say it."""

    time: datetime
    text: str


#: A day, and a time of the day after it, as people and programs write them in names.
_DAY = re.compile(
    r"(?<!\d)(?P<day>(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01]))"
    r"(?:[T_. -]{0,3}(?P<hour>[01]\d|2[0-3])"
    r"(?:[-:_.h]?(?P<minute>[0-5]\d)(?:[-:_.m]?(?P<second>[0-5]\d)(?:[.,](?P<part>\d{1,6}))?)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?)?)?(?!\d)",
    re.ASCII,
)
#: Seconds or milliseconds since 1970, between 2001 and 2033.
_UNIX = re.compile(r"(?<!\d)(?P<seconds>1\d{9})(?P<thousandths>\d{3})?(?!\d)", re.ASCII)


def time_in(name: str) -> datetime | None:
    """Return the time in a name, without a zone where the name has none; None without a time.

    >>> time_in("2026-11-28T10:00.json"), time_in("jobs-20261128-1000.json.gz")
    (datetime.datetime(2026, 11, 28, 10, 0), datetime.datetime(2026, 11, 28, 10, 0))
    >>> time_in("2026-11-28_10-00-30"), time_in("dump.1764324000.json").isoformat()
    (datetime.datetime(2026, 11, 28, 10, 0, 30), '2025-11-28T10:00:00+00:00')
    >>> time_in("monday.json") is None
    True
    """
    match = next(_times_in(name), None)
    return None if match is None else match.time


def _times_in(name: str) -> Iterator[NamedTime]:
    """Yield the times in a name."""
    for match in _DAY.finditer(name):
        day = re.sub(r"\D", "", match["day"])
        clock = [match[part] or "00" for part in ("hour", "minute", "second")]
        fraction = f".{match['part']:0<6}" if match["part"] else ""
        zone = match["zone"] or ""
        try:
            time = datetime.fromisoformat(f"{day}T{''.join(clock)}{fraction}{zone}")
        except ValueError:  # the 30th of February
            continue
        yield NamedTime(time, match[0])
    for match in _UNIX.finditer(name):
        seconds = int(match["seconds"]) + int(match["thousandths"] or 0) / 1000
        yield NamedTime(datetime.fromtimestamp(seconds, UTC), match[0])


def time_of_dump(dump: Dump) -> pd.Timestamp:
    """Return when one dump was made.

    That is what it says itself, else what its name or those of its files say, else when its files
    were last changed.
    """
    of_names = filter(None, map(time_in, [dump.name, *(file.name for file in dump.files)]))
    return pd.Timestamp(time_told(dump) or next(of_names, None) or _changed(dump))


def time_told(dump: Dump) -> datetime | None:
    """Return the time that the files of a dump say themselves, as Slurm's do; None without one."""
    return max([time for file in dump.files if (time := _told_by(file)) is not None], default=None)


_LAST_UPDATE = re.compile(
    r'"last_update"\s*:\s*(?:\{[^{}]*?"number"\s*:\s*)?([0-9]{1,18})(?![0-9])'
)


def _told_by(file: Path) -> datetime | None:
    if scheduler_of_beginning(file) != "slurm":
        return None
    text = read_text(file)
    seconds = [int(number) for number in _LAST_UPDATE.findall(text)]
    latest = max((number for number in seconds if 0 < number < 2**35), default=None)
    return None if latest is None else datetime.fromtimestamp(latest, UTC)


#: Where the times of dumps come from.
TimeSource = Literal["names", "content", "changes", "steps", "given"]


class Times(NamedTuple):
    """The times of dumps, and where they come from.

    Times have no zone where the names of files have none; all others are UTC.
    """

    values: pd.DatetimeIndex
    source: TimeSource


#: What to do where dumps have no times that can be used.
REMEDY = (
    "put a time into each name (such as 2026-11-28T10-00.json), or say how far apart they are "
    "(every='1h')"
)


def times_of(dumps: Sequence[Dump], every: timedelta | None = None) -> Times:
    """Return the time of each dump.

    With ``every`` the dumps are so far apart in their order, and the first has its own time. Else
    the times are those in all names, else those that all dumps say, else those at which their files
    were changed.
    """
    if every is not None:
        start = times_of(dumps[:1]).values[0]
        return Times(pd.DatetimeIndex([start + k * every for k in range(len(dumps))]), "steps")
    source: TimeSource = "names"
    times = [time_in(dump.name) for dump in dumps]
    if not any(times):
        source = "content"
        times = [time_told(dump) for dump in dumps]
    if not any(times):
        source = "changes"
        times = [_changed(dump) for dump in dumps]
    known_times = [time for time in times if time is not None]
    if len(known_times) < len(dumps):
        k = times.index(None)
        where = "in its name" if source == "names" else "inside"
        raise FileFormatError(
            f"{dumps[k].name} has no time {where}, and other dumps have one; {REMEDY}"
        )
    values = _in_one_zone(known_times)
    _require_distinct(dumps, values, source)
    return Times(values, source)


def _changed(dump: Dump) -> datetime:
    """Return when the last file of a dump was changed."""
    return datetime.fromtimestamp(max(file.stat().st_mtime for file in dump.files), UTC)


def _in_one_zone(times: Sequence[datetime]) -> pd.DatetimeIndex:
    """Return times as they are where none has a zone; else in UTC."""
    if all(time.tzinfo is None for time in times):
        return pd.DatetimeIndex(list(times))
    return pd.DatetimeIndex([time.astimezone(UTC) for time in times])


#: The sources of times, in words.
SOURCES = {
    "names": "in the names of the dumps",
    "content": "that the dumps themselves say",
    "changes": "at which the files were last changed",
    "steps": "one step after the other, as asked for",
    "given": "that were given",
}


def _require_distinct(dumps: Sequence[Dump], times: pd.DatetimeIndex, source: TimeSource) -> None:
    """Raise where two dumps have one time."""
    is_repeated = times.duplicated(keep=False)
    if not is_repeated.any():
        return
    names = [dump.name for dump, repeated in zip(dumps, is_repeated, strict=True) if repeated]
    raise FileFormatError(
        f"{names[0]} and {names[1]} have one time, {times[is_repeated][0]} (of the times "
        f"{SOURCES[source]}); {REMEDY}"
    )


#: Seconds of units of durations, by their first letter.
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(
    r"\s*+([0-9]++(?:\.[0-9]*+)?|\.[0-9]++)\s*+"
    r"(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?|)\s*+",
    re.IGNORECASE,
)


def duration(value: str | float | timedelta | None, name: str) -> timedelta | None:
    """Return a duration: a text such as ``1h``, ``30min`` or ``7d``, or a number of hours.

    >>> duration("90min", "every"), duration(1.5, "every")
    (datetime.timedelta(seconds=5400), datetime.timedelta(seconds=5400))
    """
    if value is None:
        return None
    length: Any = value
    try:
        if not isinstance(value, timedelta):
            match = _DURATION.fullmatch(str(value))
            length = (
                timedelta(
                    seconds=float(match[1])
                    * (_SECONDS[(match[2] or "h")[0].lower()] if match else 0)
                )
                if match
                else None
            )
    except OverflowError:
        length = None
    if not isinstance(length, timedelta) or length <= timedelta(0):
        raise InstanceError(
            f"{name}={quoted(value)} is no duration above 0; expected one such as '1h', '30min' or '7d'"
        )
    return length
