"""A snapshot: what a scheduler's tools print, as an instance with what runs and waits."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fairlp import Allocation, Instance
from fairlp.errors import InstanceError


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """A cluster at one moment, as its scheduler prints it; :func:`fairlp_clusters.snapshot` reads one.

    Attributes
    ----------
    instance : Instance
        The users' demands and the capacity, with the scheduler's queues.
    observed : Allocation
        The tasks that run now.
    waiting : DataFrame
        ``user``, ``queue``, ``tasks`` that wait and may run, ``since`` when the first of them does,
        ``message``, the scheduler's own words for most of them, and why they run ``nowhere`` (empty
        where a node may take them); where these are known.
    held : DataFrame
        ``user``, ``queue``, ``tasks`` that may not run yet, and the scheduler's own ``reason``.
    hidden : Series
        By resource, the use that nodes report beyond the tasks of the dump; it counts as used.
        Empty where the two agree, or where nodes report none.
    not_understood : DataFrame
        ``file``, ``where``, ``what`` and what was ``done``: every part of the dump that the reader
        leaves out or interprets.
    scheduler : str
        ``kubernetes``, ``slurm`` or ``yarn``.
    tenants : Series
        The tenant of each user: the Slurm or YARN user, the ClusterQueue, the Volcano queue or the
        namespace whom the scheduler promises a share. A user of the instance is a part of a tenant:
        its tasks of one size. The name of the series is the scheduler's word for them.
    waiting_jobs : DataFrame
        The same tasks that wait, by job: ``job`` (its name; empty: each task is a job by itself),
        ``user``, ``queue``, ``tasks`` of one job, which run at once or not at all, the number of
        equal ``jobs``, ``one_a_node`` (each of its tasks needs a node of its own), ``since``,
        ``priority``, ``message``, ``left_out``, the constraints of the dump that do not count here,
        and ``after``, the job that has to start before it or with it. A job of several users has a
        row for each.
    asleep : Series
        By server, the state of nodes that sleep; they start when tasks need them.
    pieces : DataFrame
        Of servers that stand for several machines, by ``server``, what is free on each of them.
    preemption : str
        What the scheduler says of who gives way to whom, as far as the dump has it.
    no_fair_sharing : str
        Why the scheduler does not share fairly what queues lend; empty where it does.
    no_verdict : str
        Why the dump has no verdict: who schedules is not read, or its queues are not in the dump.
    limits_reached : Series
        Limits besides queues and nodes that are used up, in words.
    node_count : int
        The nodes of the instance. A node has a server more for each user whose tasks may stay on
        it, though it would not take them now.
    time : Timestamp
        When the dump was made; NaT where that is not known.
    version : str
        Of the scheduler, or of the cluster; empty where the dump does not say.
    files : tuple of str
        The names of the files.
    kept : Series
        By server, the state of nodes of which the scheduler keeps what is free for a job of its choice.
    ending : DataFrame
        By server and resource, what is held by tasks that are ending (pods being deleted, jobs that
        complete): nobody runs there, and nobody can start there yet. Only servers with such tasks.
    jobs : Series
        Of Slurm: how many jobs ``run``, ``wait`` and ``are held``, as ``squeue -r`` counts them. A
        job on two nodes is two tasks of the instance.
    plugin : str
        The plugin of Volcano that shares among its queues: ``capacity``, ``proportion`` or ``drf``
        (by an annotated hierarchy); empty for none.
    """

    instance: Instance
    observed: Allocation
    waiting: pd.DataFrame
    not_understood: pd.DataFrame
    scheduler: str
    held: pd.DataFrame
    hidden: pd.Series[float]
    tenants: pd.Series[str]
    jobs: pd.Series[int]
    plugin: str
    waiting_jobs: pd.DataFrame
    asleep: pd.Series[str]
    kept: pd.Series[str]
    ending: pd.DataFrame
    pieces: pd.DataFrame
    preemption: str
    no_fair_sharing: str
    no_verdict: str
    limits_reached: pd.Series[str]
    node_count: int
    version: str
    time: pd.Timestamp = pd.NaT  # type: ignore[assignment]
    files: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Snapshot of {self.scheduler}: {len(self.instance.users)} users, "
            f"{len(self.instance.servers)} servers>"
        )


class IdleError(InstanceError):
    """Nothing runs in a dump, and nothing waits that could run."""
