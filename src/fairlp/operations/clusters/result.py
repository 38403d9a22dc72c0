"""``Snapshot``: a cluster at one moment, as its scheduler told it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ...mechanisms.allocation import Allocation
from ...models.instances.instance import Instance


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """What a scheduler's dump says; :func:`fairlp.snapshot` reads one.

    Attributes
    ----------
    instance : Instance
        Who demands what and what there is, with the scheduler's queues: the whole capacity, or what is free.
    observed : Allocation
        What runs now, of the instance with the whole capacity (``observed.instance``).
    waiting : DataFrame
        ``user``, ``queue``, ``tasks`` that wait, and ``since`` when the first of them does, where that is known.
    not_understood : DataFrame
        ``file``, ``where``, ``what`` and what was ``done``: all that was left out or read in a way of our own.
    scheduler : str
        ``kubernetes``, ``slurm``, ``yarn`` or ``mesos``.
    """

    instance: Instance
    observed: Allocation
    waiting: pd.DataFrame
    not_understood: pd.DataFrame
    scheduler: str

    def __repr__(self) -> str:
        running, waiting = self.observed.tasks_array.sum(), self.waiting["tasks"].sum()
        return (
            f"<Snapshot of {self.scheduler}: {len(self.instance.users)} users, {len(self.instance.servers)} servers, "
            f"{running:g} tasks run, {waiting} wait, {len(self.not_understood)} lines not understood>"
        )
