"""The verdict: which tenants are short, by a rule with named conditions, and the table of all tenants.

A tenant is *short* where (a) its due, in whole jobs, is more than it has, (b) one of these jobs could
start on what is free and what tenants of the same tree of queues hold beyond their dues, by amounts
and placement, and (c) the dump tells who schedules, and that room is what this job lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlp.toolkit import largest_first

from ..readers.cluster import UNREAD
from .dues import Dues
from .jobs import WaitingJob
from .notes import notes
from .reach import could_start, givers, is_undecided
from .room import Obstacle, Room, placed_in_turn
from .waiting import Waiting, waiting_of
from .words import (
    counted_texts,
    holders_text,
    jobs_text,
    named,
    needs,
    on_servers,
    percent,
    sizes_text,
    stopped_by,
)


class Condition(StrEnum):
    """Why a tenant is short, or is not."""

    SHORT = "short"
    NO_VERDICT = "no verdict"
    HAS_ITS_DUE = "has its due in whole jobs"
    STARTS = "its jobs start on servers that sleep, or where tasks are ending"
    UNDECIDED = "the dump does not tell whether its jobs lack room"
    NO_HOLDERS = "nobody in its tree of queues holds more than is due"
    NO_ROOM = "no job of it could start on what others hold beyond their dues"


class Shortage(NamedTuple):
    """The resource that a tenant is short of, and who holds it beyond its due, largest first."""

    resource: str
    holders: dict[str, float]


#: The columns of the table of tenants, and what they are.
COLUMNS = {
    "queue": "The path of its queue; of several users the first",
    "has": "Its dominant share",
    "due": "Its dominant share under the fair allocation",
    "condition": "Why it is short, or is not",
    "short_jobs": "Whole jobs that it is short of",
    "short_tasks": "Their tasks",
    "short_of": "The same by size",
    "waiting_jobs": "Jobs that wait",
    "waiting_tasks": "Their tasks",
    "since": "When the first of them was submitted",
    "room_jobs": "Jobs of them that have room now, beside what runs",
    "room_on": "Where",
    "message": "What the scheduler says of them",
    "not_counted": "Their constraints that are not counted here",
    "stopped_by": "What stops the first job without room",
    "resource": "What it is short of",
    "holders": "Who holds it beyond its due, and how much",
}


@dataclass(frozen=True, eq=False)
class Verdict:
    """Dues, and the conditions of the rule for each tenant.

    Attributes
    ----------
    dues : Dues
    room : Room
        What is free now.
    conditions : tuple of Condition
        By tenant.
    short_copies : ndarray of int
        How many of each of the jobs that wait a tenant is short of.
    starting : ndarray of int
        How many of those that tenants lack of their dues start on servers that sleep, or where tasks
        are ending.
    """

    dues: Dues
    room: Room
    conditions: tuple[Condition, ...]
    short_copies: np.ndarray
    starting: np.ndarray

    @classmethod
    def of(cls, dues: Dues) -> Verdict:
        """Return the verdict about dues."""
        facts = dues.facts
        shares = dues.shares
        room = Room.of(
            dues.instance,
            dues.tasks,
            asleep=facts.asleep,
            taken=facts.ending + _kept(dues),
            pieces=facts.pieces,
        )
        owed = np.zeros_like(shares.owed_jobs)
        if facts.tasks is None or facts.no_verdict:
            conditions = [Condition.NO_VERDICT] * len(facts.tenants.names)
            return cls(dues, room, tuple(conditions), owed, owed)
        starting = starting_copies(dues)
        conditions = []
        for t in range(len(facts.tenants.names)):
            condition, copies = _condition(dues, room, t, starting)
            conditions.append(condition)
            for k, count in copies.items():
                owed[k] = count
        return cls(dues, room, tuple(conditions), owed, starting)

    @cached_property
    def short(self) -> np.ndarray:
        """Positions of the tenants that are short, those that lack most first."""
        short = self.dues.shares.short
        is_short = [self.conditions[t] is Condition.SHORT for t in short]
        return np.asarray(short[np.array(is_short, dtype=bool)])

    @property
    def is_fair(self) -> bool | None:
        """Whether no tenant is short; None where there is no verdict."""
        return None if Condition.NO_VERDICT in self.conditions else not self.short.size

    @cached_property
    def short_tasks(self) -> np.ndarray:
        """Tasks of each user in the whole jobs that its tenant is short of."""
        tasks = np.zeros(len(self.dues.has), dtype=int)
        for k in np.flatnonzero(self.short_copies):
            for n, count in self.dues.waiting_jobs[k].tasks.items():
                tasks[n] += count * self.short_copies[k]
        return tasks

    @cached_property
    def _jobs_of_tenants(self) -> dict[int, list[int]]:
        """Positions of the jobs that wait, by tenant."""
        jobs: dict[int, list[int]] = {}
        for k, job in enumerate(self.jobs):
            if job.copies:
                jobs.setdefault(self.dues.facts.tenants.of_job(job), []).append(k)
        return jobs

    @cached_property
    def jobs(self) -> list[WaitingJob]:
        """The jobs that wait; where their number is not known, those that a tenant is short of."""
        return [
            job if np.isfinite(job.copies) else job._replace(copies=int(copies))
            for job, copies in zip(self.dues.waiting_jobs, self.short_copies, strict=True)
        ]

    @cached_property
    def waiting(self) -> Mapping[int, Waiting]:
        """What waits, by tenant; empty where it is not known what runs."""
        facts = self.dues.facts
        if facts.tasks is None:
            return {}
        return {
            t: waiting_of(
                self.room,
                [self.jobs[k] for k in positions],
                self.short_copies[positions].tolist(),
                facts.node_count,
            )
            for t, positions in self._jobs_of_tenants.items()
        }

    def shortage(self, t: int) -> Shortage:
        """Return what stops the jobs that a tenant is short of, and who holds it beyond its due."""
        dues = self.dues
        obstacle = self.waiting[t].obstacle
        jobs = [self.jobs[k] for k in self._jobs_of_tenants[t] if self.short_copies[k]]
        job = self.waiting[t].job or jobs[0]
        if obstacle is None or obstacle.kind == "nowhere":
            obstacle = Obstacle("resource", int(job.parts(dues.shares.parts).argmax()))
        r = obstacle.resource
        demand = dues.instance.demands[:, r]
        if obstacle.kind == "cap":
            tasks = dues.instance.tree.users_below(obstacle.queue) * dues.has
        else:
            servers = [self.room.servers_of(n) for n in job.tasks]
            tasks = dues.tasks[:, np.unique(np.concatenate(servers))].sum(axis=1)
        tenants = dues.facts.tenants
        held = tenants.sums(tasks * demand)
        beyond = np.minimum(held, tenants.sums(dues.has * demand) * dues.shares.excess)
        holders = givers(dues, t)
        order = holders[largest_first(beyond[holders])]
        amounts = {str(tenants.names[u]): float(beyond[u]) for u in order if beyond[u] > 0}
        return Shortage(str(dues.instance.resources[r]), amounts)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each tenant: those who are short first, then those who wait; see `COLUMNS`."""
        shares = self.dues.shares
        tenants = self.dues.facts.tenants
        waits = np.zeros(len(tenants.names))
        for job in self.jobs:
            waits[tenants.of_job(job)] += job.copies * job.parts(shares.parts).max()
        is_short = np.array([condition is Condition.SHORT for condition in self.conditions])
        missing = np.where(is_short, shares.missing_share, 0.0)
        order = np.lexsort((-shares.share, -waits, -missing))
        index = pd.Index([tenants.names[t] for t in order], name="tenant", dtype=object)
        return pd.DataFrame([self._row(int(t)) for t in order], index, columns=list(COLUMNS))

    def _row(self, t: int) -> dict[str, Any]:
        dues = self.dues
        users = dues.facts.tenants.users[t]
        waiting = self.waiting.get(t, Waiting())
        short_tasks = np.where(dues.facts.tenants.of == t, self.short_tasks, 0)
        is_short = self.conditions[t] is Condition.SHORT
        shortage = self.shortage(t) if is_short else Shortage("", {})
        queue = dues.instance.queue
        return {
            "queue": queue[users[0]] or "" if queue else "",
            "has": dues.shares.share[t],
            "due": dues.shares.fair_share[t],
            "condition": str(self.conditions[t]),
            "short_jobs": int(self.short_copies[self._jobs_of_tenants.get(t, [])].sum()),
            "short_tasks": int(short_tasks.sum()),
            "short_of": sizes_text(dues, short_tasks),
            "waiting_jobs": waiting.jobs,
            "waiting_tasks": waiting.tasks,
            "since": waiting.since,
            "room_jobs": waiting.fitting_jobs,
            "room_on": on_servers(dues, waiting.servers) if waiting.servers else "",
            "message": counted_texts(waiting.messages, "“{}”"),
            "not_counted": counted_texts(waiting.left_out),
            "stopped_by": self._stopped(waiting),
            "resource": shortage.resource,
            "holders": shortage.holders,
        }

    def _stopped(self, waiting: Waiting) -> str:
        """Return what stops the first job without room, with what a job of several tasks needs."""
        if waiting.job is None:
            return ""
        reason = "no node takes it, as the scheduler counts"
        if waiting.obstacle is not None:
            reason = stopped_by(self.dues, waiting.job, waiting.obstacle)
        if waiting.job.size == 1:
            return reason
        return f"{reason}; the next needs {needs(self.dues, waiting.job)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data: facts, the sentence, tenants, jobs that wait and notes."""
        facts = self.dues.facts
        names = {True: "fair", False: "not fair", None: "none"}
        users = facts.instance.users
        jobs = [
            {
                "job": job.name,
                "tenant": str(facts.tenants.names[facts.tenants.of_job(job)]),
                "copies": int(job.copies),
                "tasks": {str(users[n]): int(count) for n, count in job.tasks.items()},
                "since": job.since or "",
                "priority": job.priority,
                "message": job.message,
                "not_counted": job.left_out,
                "short_copies": int(short),
            }
            for job, short in zip(self.jobs, self.short_copies, strict=True)
            if job.copies
        ]
        return {
            "format": 1,
            "name": facts.name,
            "scheduler": facts.scheduler,
            "version": facts.version,
            "time": "" if pd.isna(facts.time) else facts.time.isoformat(),
            "files": list(facts.files),
            "mechanism": self.dues.fair.mechanism,
            "verdict": names[self.is_fair],
            "sentence": self.sentence,
            "noun": facts.tenants.noun,
            "tenants": self.table.reset_index().to_dict("records"),
            "jobs": jobs,
            "notes": self.notes,
            "not_understood": facts.not_understood.to_dict("records"),
        }

    # The verdict in words

    @cached_property
    def notes(self) -> list[str]:
        """Facts beside the verdict, and the rule of fair shares, a sentence each."""
        return notes(self.dues, self.starting)

    @cached_property
    def sentence(self) -> str:
        """The verdict in words: who is short, of what, and who holds it beyond its due."""
        facts = self.dues.facts
        if facts.tasks is None:
            return "What runs now is not known."
        if facts.no_verdict:
            return f"No verdict: {facts.no_verdict}."
        if not self.short.size:
            return self._fair_sentence()
        rows: list[Any] = list(self.table.iloc[: len(self.short)].itertuples())
        first = rows[0]
        size = first.short_of
        if size.count("×") == 1:
            size = f"{size.partition('(')[2].removesuffix(')')} each"
        sentences = [
            f"Not fair: {first.Index} is {jobs_text(first.short_jobs, first.short_tasks)} short of its "
            f"fair share ({size}). It has {percent(first.has)} of the cluster, and {percent(first.due)} "
            "is fair."
        ]
        holders = holders_text(self.dues, first.resource, first.holders)
        if holders:
            sentences.append(f"Held beyond fair shares by {holders}.")
        others = [f"{row.Index} ({jobs_text(row.short_jobs, row.short_tasks)})" for row in rows[1:]]
        if others:
            sentences.append(f"Short too: {named(others, facts.tenants.noun)}.")
        return " ".join(sentences)

    def _fair_sentence(self) -> str:
        """Return that no tenant is short of a whole task, and how many tasks wait."""
        facts = self.dues.facts
        tenants = facts.tenants
        scope = "Of the tasks that it shows" if len(facts.hidden) else "Fair"
        has_others = len(facts.held) + len(facts.homeless) > 0
        if len(tenants.names) == 1:
            verdict = f"{scope}: {tenants.names[0]} is the only {tenants.noun}"
            verdict += " with tasks that run or could run." if has_others else "."
        else:
            unit = "job" if any(job.size > 1 for job in self.dues.waiting_jobs) else "task"
            verdict = f"{scope}: no {tenants.noun} is short of a whole {unit} of its fair share."
        unread = facts.not_understood[facts.not_understood["done"] == UNREAD]
        if len(unread):
            first = unread.iloc[0]
            others = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
            verdict += f" Left out of the dump: {first['where']}, since {first['what']}{others}."
        undecided = [
            str(tenants.names[t])
            for t, condition in enumerate(self.conditions)
            if condition is Condition.UNDECIDED
        ]
        if undecided:
            verdict += (
                f" The dump does not tell whether room is what the jobs of {named(undecided, tenants.noun)} "
                "lack."
            )
        waiting = self.dues.waiting[np.isfinite(self.dues.waiting)].sum()
        if waiting:
            return f"{verdict} Tasks that wait: {waiting:,.0f}."
        if has_others:
            return f"{verdict} No task that could run waits."
        if len(facts.limits_reached):
            return f"{verdict} Nothing waits that the dump shows."
        return f"{verdict} Nothing waits."


def _kept(dues: Dues) -> np.ndarray:
    """Return what the scheduler keeps for a job of its choice: all of some servers, shape (K, R)."""
    return np.where(dues.facts.kept[:, None], dues.instance.total_capacities, 0.0)


def starting_copies(dues: Dues) -> np.ndarray:
    """Return how many of each of the jobs that are owed start on servers that sleep, or where tasks end."""
    owed = dues.shares.owed_jobs
    starting = np.zeros_like(owed)
    facts = dues.facts
    is_late = facts.asleep | facts.ending.any(axis=1)
    if not is_late.any():
        return starting
    room = Room.of(
        dues.instance, dues.tasks, asleep=is_late, taken=_kept(dues), pieces=facts.pieces
    )
    positions = np.flatnonzero(owed).tolist()
    jobs = [dues.waiting_jobs[k]._replace(copies=int(owed[k])) for k in positions]
    for turn in placed_in_turn(room, jobs):
        k, job = positions[turn.position], jobs[turn.position]
        later = [
            int(placement.tasks[is_late[placement.servers]].sum()) for placement in turn.placements
        ]
        if job.size == 1:
            starting[k] = sum(later)
            continue
        users = len(job.tasks)
        starting[k] = sum(
            any(later[first : first + users]) for first in range(0, len(later), users)
        )
    return starting


def _decided_jobs(dues: Dues, t: int) -> list[int]:
    """Return the positions of a tenant's jobs of which the dump tells whether they lack room."""
    shares = dues.shares
    return [k for k in shares.jobs_of_tenants[t] if not is_undecided(shares.jobs[k])]


def told_condition(dues: Dues, t: int, starting: np.ndarray) -> Condition | None:
    """Return why a tenant lacks nothing of its due that the dump tells of; None where it does."""
    if t not in dues.shares.short:
        return Condition.HAS_ITS_DUE
    owed = dues.shares.within_due(t, _decided_jobs(dues, t))
    if not owed:
        return Condition.UNDECIDED
    if all(copies <= starting[k] for k, copies in owed.items()):
        return Condition.STARTS
    return None


def _condition(
    dues: Dues, room: Room, t: int, starting: np.ndarray
) -> tuple[Condition, dict[int, int]]:
    """Return the first condition that a tenant does not meet, or that it is short of so many jobs."""
    condition = told_condition(dues, t, starting)
    if condition is not None:
        return condition, {}
    holders = givers(dues, t)
    if not holders.size:
        return Condition.NO_HOLDERS, {}
    shares = dues.shares
    order = _decided_jobs(dues, t)
    owed = shares.within_due(t, order)
    for k in order:
        job = shares.jobs[k]
        is_due = not job.after and shares.copies_within(shares.amounts[t], job, t) >= 1
        if owed.get(k, 1) <= starting[k]:
            continue
        if is_due and could_start(dues, room, job, holders):
            short = shares.within_due(t, [k, *(other for other in order if other != k)])
            return Condition.SHORT, {
                k: max(copies - int(starting[k]), 0) for k, copies in short.items()
            }
    return Condition.NO_ROOM, {}
