"""A program of whole numbers: which jobs have room together, and who would have to give way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from fairlp import Instance

from .jobs import AUDIT, RunningJob, WaitingJob

#: A program has so many whole numbers at most; it stops after so many nodes of its tree.
MOST_NUMBERS = 20_000
_MOST_NODES = 2000


class Packing(NamedTuple):
    """Jobs that have room together.

    Attributes
    ----------
    copies : ndarray of int
        How many of each of the jobs run.
    tasks : mapping
        Their tasks on servers, by user, shape (K,).
    leaving : ndarray of int
        How many of each of the jobs that run give way.
    """

    copies: np.ndarray
    tasks: dict[int, np.ndarray]
    leaving: np.ndarray


class Keeping(NamedTuple):
    """What jobs of a tenant, by position, may give back: so large a part of a resource."""

    jobs: list[int]
    resource: int
    spare: float


def packed(
    instance: Instance,
    free: np.ndarray,
    upper: Mapping[int, np.ndarray],
    jobs: Sequence[WaitingJob],
    *,
    used: np.ndarray | None = None,
    leaving: Sequence[RunningJob] = (),
    keepings: Sequence[Keeping] = (),
) -> Packing | None:
    """Return the most jobs that have room together, where the fewest give way.

    None where there is no answer. Maximise (Σ copies of k + 1)·Σ z[j] − Σ y[k] over whole
    numbers: z[j] copies of job j, x[j,n,i] tasks of its user n on server i, y[k] of the jobs that
    run:

    * Σ_i x[j,n,i] = (tasks of n in j)·z[j]; where each needs a node of its own Σ_n x[j,n,i] ≤
      count[i]·z[j] (a bipartite graph of degree z[j] falls into so many matchings, one for each copy)
    * Σ x[j,n,i]·d[n,r] ≤ free[i,r] + Σ y[k]·(what k uses there)
    * below each queue with a cap, the same with what the cap leaves; each tenant keeps its share

    Parameters
    ----------
    instance : Instance
    free : ndarray, shape (K, R)
    upper : mapping
        Tasks that servers may take of each user at most, shape (K,).
    jobs : sequence of WaitingJob
    used : ndarray, shape (queues, R), optional
        What queues use now; without it caps do not count.
    leaving : sequence of RunningJob
        Those that may give way.
    keepings : sequence of Keeping
    """
    keys = [(j, n) for j, job in enumerate(jobs) for n in job.tasks]
    first_copy = len(keys) * len(free)
    size = first_copy + len(jobs) + len(leaving)
    if size > MOST_NUMBERS:
        return None
    given_back = _given_back(instance, leaving, len(free))
    rows = _PackingRows(instance, jobs, keys, leaving)
    rows.add_copies()
    rows.add_servers(free, given_back)
    if used is not None:
        rows.add_caps(used)
    for keeping in keepings:
        rows.add_keeping(keeping)

    objective = np.zeros(size)
    objective[first_copy : first_copy + len(jobs)] = -(sum(job.copies for job in leaving) + 1.0)
    objective[first_copy + len(jobs) :] = 1.0
    most = [job.copies for job in jobs] + [job.copies for job in leaving]
    solution = milp(
        objective,
        integrality=np.ones(size),
        bounds=Bounds(0, np.concatenate([*(upper[n] for _, n in keys), most])),
        constraints=rows.constraint(),
        options={"node_limit": _MOST_NODES},
    )
    if solution.x is None:
        return None
    return _rounded(instance, solution.x, jobs, keys, free, given_back)


class _PackingRows:
    """The rows of the program: over tasks by job, user and server, over copies, leaving jobs."""

    def __init__(
        self,
        instance: Instance,
        jobs: Sequence[WaitingJob],
        keys: list[tuple[int, int]],
        leaving: Sequence[RunningJob],
    ) -> None:
        self.instance = instance
        self.jobs = jobs
        self.keys = keys
        self.leaving = leaving
        self.users = [n for _, n in keys]
        #: What the rows have of tasks and copies, and of leaving jobs; their lower and upper sides.
        self._blocks: list[tuple[sparse.csr_array, sparse.csr_array]] = []
        self._sides: list[tuple[np.ndarray, np.ndarray]] = []

    def _add(self, tasks: Any, copies: Any, leaving: Any, upper: np.ndarray, lower: Any) -> None:
        count = len(upper)
        if copies is None:
            copies = sparse.csr_array((count, len(self.jobs)))
        if leaving is None:
            leaving = sparse.csr_array((count, len(self.leaving)))
        if tasks is None:
            tasks = sparse.csr_array((count, len(self.keys) * len(self.instance.servers)))
        self._blocks.append((sparse.hstack([tasks, copies]), sparse.csr_array(leaving)))
        self._sides.append((np.broadcast_to(lower, count), upper))

    def add_copies(self) -> None:
        """All tasks of a user in a copy; at most one a node and copy, where each needs its own."""
        k_servers = len(self.instance.servers)
        tasks_of_copy = np.array([self.jobs[j].tasks[n] for j, n in self.keys], dtype=float)
        places = (range(len(self.keys)), [j for j, _ in self.keys])
        copies = sparse.csr_array((-tasks_of_copy, places), (len(self.keys), len(self.jobs)))
        everywhere = sparse.kron(sparse.eye_array(len(self.keys)), np.ones((1, k_servers)))
        self._add(everywhere, copies, None, np.zeros(len(self.keys)), 0.0)
        for j, job in enumerate(self.jobs):
            if job.one_a_node:
                of_job = np.array([[float(key == j) for key, _ in self.keys]])
                places = (range(k_servers), [j] * k_servers)
                counts = -self.instance.counts.astype(float)
                copies = sparse.csr_array((counts, places), (k_servers, len(self.jobs)))
                on_server = sparse.kron(of_job, sparse.eye_array(k_servers))
                self._add(on_server, copies, None, np.zeros(k_servers), -np.inf)

    def add_servers(self, free: np.ndarray, given_back: np.ndarray) -> None:
        """What is free on each server, and what leaving jobs give back there, by resource."""
        for r in range(free.shape[1]):
            demand = self.instance.demands[self.users, r][None, :]
            if demand.any():
                on_server = sparse.kron(demand, sparse.eye_array(len(free)))
                self._add(on_server, None, -given_back[:, :, r].T, free[:, r], -np.inf)

    def add_caps(self, used: np.ndarray) -> None:
        """What caps leave below queues, by resource; one of all that the cluster has is none."""
        tree = self.instance.tree
        demands = self.instance.demands
        everywhere = sparse.csr_array(np.ones((1, len(self.instance.servers))))
        for v, r in np.argwhere(tree.caps < self.instance.pool).tolist():
            inside = tree.users_below(v) > 0
            demand = np.where(inside[self.users], demands[self.users, r], 0.0)[None, :]
            if not demand.any():
                continue
            amounts = [
                sum(count * demands[n, r] for (n, _), count in job.tasks.items() if inside[n])
                for job in self.leaving
            ]
            given_back = -np.array([amounts], dtype=float).reshape(1, len(self.leaving))
            room = np.array([tree.caps[v, r] - used[v, r]])
            self._add(sparse.kron(demand, everywhere), None, given_back, room, -np.inf)

    def add_keeping(self, keeping: Keeping) -> None:
        """What leaving jobs of a tenant may give back."""
        parts = self.instance.demands / self.instance.pool
        amounts = np.zeros((1, len(self.leaving)))
        for k in keeping.jobs:
            tasks = self.leaving[k].tasks.items()
            amounts[0, k] = sum(count * parts[n, keeping.resource] for (n, _), count in tasks)
        self._add(None, None, amounts, np.array([keeping.spare]), -np.inf)

    def constraint(self) -> LinearConstraint:
        """Return all rows."""
        tasks_and_copies, leaving = (
            sparse.vstack(blocks) for blocks in zip(*self._blocks, strict=True)
        )
        lower, upper = (np.concatenate(sides) for sides in zip(*self._sides, strict=True))
        return LinearConstraint(
            sparse.hstack([tasks_and_copies, leaving], format="csr"), lower, upper
        )


def _given_back(instance: Instance, leaving: Sequence[RunningJob], k_servers: int) -> np.ndarray:
    """Return what each job that runs uses, jobs × servers × resources."""
    amounts = np.zeros((len(leaving), k_servers, instance.demands.shape[1]))
    for k, job in enumerate(leaving):
        for (n, i), count in job.tasks.items():
            amounts[k, i] += count * instance.demands[n]
    return amounts


def _rounded(
    instance: Instance,
    numbers: np.ndarray,
    jobs: Sequence[WaitingJob],
    keys: list[tuple[int, int]],
    free: np.ndarray,
    given_back: np.ndarray,
) -> Packing | None:
    """Return a solution in whole numbers; None where these do not fit."""
    whole = np.rint(numbers).astype(int)
    first_copy = len(keys) * len(free)
    tasks_of_keys = whole[:first_copy].reshape(len(keys), len(free))
    copies = whole[first_copy : first_copy + len(jobs)]
    leaving = whole[first_copy + len(jobs) :]
    tasks: dict[int, np.ndarray] = {}
    for (j, n), row in zip(keys, tasks_of_keys, strict=True):
        if row.sum() != jobs[j].tasks[n] * copies[j]:
            return None
        tasks[n] = tasks.get(n, 0) + row
    used = sum(
        (np.outer(row, instance.demands[n]) for n, row in tasks.items()), np.zeros(free.shape)
    )
    room = free + np.tensordot(leaving, given_back, axes=1)
    if (used > room + AUDIT * instance.total_capacities).any():
        return None
    return Packing(copies, tasks, leaving)
