"""Whom Slurm lets give way to whom: ``scontrol show config``, partitions and QOS.

The rules are those of slurm.schedmd.com/preempt.html and of ``slurm.conf``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from .cluster import EntryError, Notes, Preemption, Record, text_at, value_at
from .slurm_text import number

_CONFIG = "scontrol show config"
_NO_PREEMPTION = frozenset({"preempt/none", "(null)", "none", ""})
_BY_PARTITION = "preempt/partition_prio"
_BY_QOS = "preempt/qos"
_OFF = "OFF"
_NEVER = "a running job never gives way"


class JobClass(NamedTuple):
    """What decides who pre-empts whom: the tenant of a job, its partitions and its QOS."""

    tenant: str
    partitions: tuple[str, ...]
    qos: str


class _Qos(NamedTuple):
    """The QOS that a QOS pre-empts, and how its own jobs give way."""

    preempts: frozenset[str]
    mode: str


class _Partition(NamedTuple):
    """The tier of a partition, and how its jobs give way."""

    tier: float
    mode: str


class PreemptionRules:
    """The settings, partitions and QOS of a dump."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._settings: dict[str, str] = {}
        self._partitions: dict[str, _Partition] = {}
        self._qos: dict[str, _Qos] = {}

    def read_config(self, text: str) -> None:
        """Read what ``scontrol show config`` prints."""
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals:
                self._settings[name.rstrip()] = value.strip()

    def read_partition(self, entry: Record, _file: str) -> None:
        """Read a partition: its tier, and how its jobs give way."""
        name = text_at(entry, "name")
        tier = number(value_at(entry, "priority").get("tier")) if entry.get("priority") else None
        if not name or tier is None:
            raise EntryError("it has no name and PriorityTier")
        self._partitions[name] = _Partition(tier, text_at(entry, "preempt_mode"))

    def read_qos_table(self, text: str, file: str) -> None:
        """Read what ``sacctmgr show qos -P format=Name,Preempt,PreemptMode`` prints."""
        lines = text.lstrip("\n").splitlines()
        headers = [header.strip() for header in lines[0].split("|")]
        for count, line in enumerate(lines[1:], 2):
            cells = line.split("|")
            if not line.strip():
                continue
            if len(cells) != len(headers):
                message = f"{len(cells)} cells, where the header has {len(headers)}"
                self._note(file, f"line {count}", f"{message} (is it cut off?)", "left out")
                continue
            row = dict(zip(headers, cells, strict=True))
            preempts = frozenset(filter(None, row["Preempt"].strip().split(",")))
            self._qos[row["Name"].strip()] = _Qos(preempts, row.get("PreemptMode", "").strip())

    def preemption(self, running: Iterable[JobClass], waiting: Iterable[JobClass]) -> Preemption:
        """Return whom the settings let give way to whom among these jobs."""
        if "PreemptType" not in self._settings:
            return Preemption()
        kind = self._settings["PreemptType"]
        mode = self._settings.get("PreemptMode", "")
        if kind in _NO_PREEMPTION:
            return Preemption(refusal=f"PreemptType is preempt/none ({_CONFIG}): {_NEVER}")
        if mode.upper() == _OFF:
            return Preemption(refusal=f"PreemptMode is OFF ({_CONFIG}): {_NEVER}")

        rules = {
            _BY_PARTITION: (
                "a running job gives way to jobs of a partition with a higher PriorityTier",
                self._partitions,
                "scontrol show partition",
            ),
            _BY_QOS: (
                "a running job gives way to jobs whose QOS lists its QOS in Preempt",
                self._qos,
                "sacctmgr show qos",
            ),
        }
        settings = [f"PreemptType={kind}", f"PreemptMode={mode}"]
        exempt_time = self._settings.get("PreemptExemptTime", "")
        if exempt_time.strip("0:-"):
            settings.append(f"PreemptExemptTime={exempt_time}")
        if kind not in rules:
            return Preemption(rule=f"as {', '.join(settings)} says ({_CONFIG})")
        sentence, table, command = rules[kind]
        rule = f"{sentence} ({', '.join(settings)}; {_CONFIG})"
        if not table:
            return Preemption(rule=f"{rule}; the dump does not say which ({command})")
        protected, refused = self._tenants(kind, set(running), set(waiting))
        return Preemption(protected=protected, refused=refused, rule=rule)

    def _tenants(
        self, kind: str, running: set[JobClass], waiting: set[JobClass]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the tenants no job of whom gives way, and those for whom none does."""
        gives_way: dict[str, bool] = defaultdict(bool)
        gets_room: dict[str, bool] = defaultdict(bool)
        for job in running:
            gives_way[job.tenant] |= any(self._may_preempt(kind, other, job) for other in waiting)
        for job in waiting:
            gets_room[job.tenant] |= any(self._may_preempt(kind, job, other) for other in running)
        noun = "partition" if kind == _BY_PARTITION else "QOS"
        protected = f"no job that waits is of a {noun} that pre-empts theirs"
        refused = f"the {noun} of their jobs that wait pre-empts no job that runs"
        return (
            {tenant: protected for tenant, may in sorted(gives_way.items()) if not may},
            {tenant: refused for tenant, may in sorted(gets_room.items()) if not may},
        )

    def _may_preempt(self, kind: str, waiting: JobClass, running: JobClass) -> bool:
        """Whether a job may take the place of another; also where the dump does not say it."""
        if kind == _BY_QOS:
            qos = self._qos.get(waiting.qos)
            other_qos = self._qos.get(running.qos)
            if qos is None or other_qos is None:
                return True
            return running.qos in qos.preempts and other_qos.mode.upper() != _OFF
        partitions = [self._partitions.get(name) for name in waiting.partitions]
        other_partitions = [self._partitions.get(name) for name in running.partitions]
        known = [partition for partition in partitions if partition is not None]
        known_others = [partition for partition in other_partitions if partition is not None]
        if known != partitions or known_others != other_partitions or not (known and known_others):
            return True
        # A job that waits may name several partitions; one that runs has that which it runs in.
        tiers = [partition.tier for partition in known_others if partition.mode.upper() != _OFF]
        highest = max(partition.tier for partition in known)
        return any(highest > tier for tier in tiers)
