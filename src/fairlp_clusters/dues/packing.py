"""A program of whole numbers: which jobs have room together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from fairlp import Instance

from .jobs import AUDIT, WaitingJob

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
    """

    copies: np.ndarray
    tasks: dict[int, np.ndarray]


class Holdings(NamedTuple):
    """Tasks of holders, of which a part may give way.

    Attributes
    ----------
    tasks : ndarray, shape (P,)
        The tasks that run, by pair of user and server.
    amounts : array, shape (R, K, P)
        What a task of each pair holds on each server, a sparse matrix for each resource.
    limits : sparse array and ndarray
        Rows over the pairs, and their upper sides: what all tasks of a holder may give together.
    """

    tasks: np.ndarray
    amounts: list[sparse.csr_array]
    limits: tuple[sparse.csr_array, np.ndarray]


def packed(
    instance: Instance,
    free: np.ndarray,
    upper: Mapping[int, np.ndarray],
    jobs: Sequence[WaitingJob],
    *,
    used: np.ndarray | None = None,
    holdings: Holdings | None = None,
) -> Packing | None:
    """Return the most jobs that have room together.

    None where there is no answer. Maximise Σ z[j] over whole numbers: z[j] copies of job j, x[j,n,i]
    tasks of its user n on server i:

    * Σ_i x[j,n,i] = (tasks of n in j)·z[j]; where each needs a node of its own Σ_n x[j,n,i] ≤
      count[i]·z[j] (a bipartite graph of degree z[j] falls into so many matchings, one for each copy)
    * Σ x[j,n,i]·d[n,r] ≤ free[i,r], and what the holders' tasks y on i give
    * below each queue with a cap, the same with what the cap leaves

    Parameters
    ----------
    instance : Instance
    free : ndarray, shape (K, R)
    upper : mapping
        Tasks that servers may take of each user at most, shape (K,).
    jobs : sequence of WaitingJob
    used : ndarray, shape (queues, R), optional
        What queues use now; without it caps do not count.
    holdings : Holdings, optional
        Tasks that may give way, in parts.
    """
    keys = [(j, n) for j, job in enumerate(jobs) for n in job.tasks]
    first_copy = len(keys) * len(free)
    size = first_copy + len(jobs)
    if size > MOST_NUMBERS:
        return None
    rows = _PackingRows(instance, jobs, keys, holdings)
    rows.add_copies()
    rows.add_servers(free)
    if used is not None:
        rows.add_caps(used)

    given_back = np.zeros(0) if holdings is None else holdings.tasks
    objective = np.zeros(size + len(given_back))
    objective[first_copy:size] = -1.0
    most = [job.copies for job in jobs]
    solution = milp(
        objective,
        integrality=np.arange(len(objective)) < size,
        bounds=Bounds(0, np.concatenate([*(upper[n] for _, n in keys), most, given_back])),
        constraints=rows.constraint(),
        options={"node_limit": _MOST_NODES},
    )
    if solution.x is None:
        return None
    if holdings is not None:
        returned = [matrix @ solution.x[size:] for matrix in holdings.amounts]
        free = free + np.column_stack(returned)
    return _rounded(instance, solution.x[:size], jobs, keys, free)


class _PackingRows:
    """The rows of the program: over tasks by job, user and server, over copies, and over holdings."""

    def __init__(
        self,
        instance: Instance,
        jobs: Sequence[WaitingJob],
        keys: list[tuple[int, int]],
        holdings: Holdings | None,
    ) -> None:
        self.instance = instance
        self.jobs = jobs
        self.keys = keys
        self.users = [n for _, n in keys]
        self.holdings = holdings
        #: What the rows have of tasks, copies and holdings; their lower and upper sides.
        self._blocks: list[sparse.csr_array] = []
        self._sides: list[tuple[np.ndarray, np.ndarray]] = []

    def _add(
        self, tasks: Any, copies: Any, upper: np.ndarray, lower: Any, returned: Any = None
    ) -> None:
        count = len(upper)
        blocks = [tasks]
        blocks.append(sparse.csr_array((count, len(self.jobs))) if copies is None else copies)
        if self.holdings is not None:
            pairs = len(self.holdings.tasks)
            blocks.append(sparse.csr_array((count, pairs)) if returned is None else returned)
        self._blocks.append(sparse.hstack(blocks))
        self._sides.append((np.broadcast_to(lower, count), upper))

    def add_copies(self) -> None:
        """All tasks of a user in a copy; at most one a node and copy, where each needs its own."""
        k_servers = len(self.instance.servers)
        tasks_of_copy = np.array([self.jobs[j].tasks[n] for j, n in self.keys], dtype=float)
        places = (range(len(self.keys)), [j for j, _ in self.keys])
        copies = sparse.csr_array((-tasks_of_copy, places), (len(self.keys), len(self.jobs)))
        everywhere = sparse.kron(sparse.eye_array(len(self.keys)), np.ones((1, k_servers)))
        self._add(everywhere, copies, np.zeros(len(self.keys)), 0.0)
        for j, job in enumerate(self.jobs):
            if job.one_a_node:
                of_job = np.array([[float(key == j) for key, _ in self.keys]])
                places = (range(k_servers), [j] * k_servers)
                counts = -self.instance.counts.astype(float)
                copies = sparse.csr_array((counts, places), (k_servers, len(self.jobs)))
                on_server = sparse.kron(of_job, sparse.eye_array(k_servers))
                self._add(on_server, copies, np.zeros(k_servers), -np.inf)

    def add_servers(self, free: np.ndarray) -> None:
        """What is free on each server, by resource, with what the holders give."""
        for r in range(free.shape[1]):
            demand = self.instance.demands[self.users, r][None, :]
            if demand.any():
                on_server = sparse.kron(demand, sparse.eye_array(len(free)))
                returned = None if self.holdings is None else -self.holdings.amounts[r]
                self._add(on_server, None, free[:, r], -np.inf, returned)
        if self.holdings is not None:
            rows, upper = self.holdings.limits
            nothing = sparse.csr_array((len(upper), len(self.keys) * len(free)))
            self._add(nothing, None, upper, -np.inf, rows)

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
            room = np.array([tree.caps[v, r] - used[v, r]])
            self._add(sparse.kron(demand, everywhere), None, room, -np.inf)

    def constraint(self) -> LinearConstraint:
        """Return all rows."""
        lower, upper = (np.concatenate(sides) for sides in zip(*self._sides, strict=True))
        return LinearConstraint(sparse.vstack(self._blocks, format="csr"), lower, upper)


def _rounded(
    instance: Instance,
    numbers: np.ndarray,
    jobs: Sequence[WaitingJob],
    keys: list[tuple[int, int]],
    free: np.ndarray,
) -> Packing | None:
    """Return a solution in whole numbers; None where these do not fit."""
    whole = np.rint(numbers).astype(int)
    first_copy = len(keys) * len(free)
    tasks_of_keys = whole[:first_copy].reshape(len(keys), len(free))
    copies = whole[first_copy:]
    tasks: dict[int, np.ndarray] = {}
    for (j, n), row in zip(keys, tasks_of_keys, strict=True):
        if row.sum() != jobs[j].tasks[n] * copies[j]:
            return None
        tasks[n] = tasks.get(n, 0) + row
    used = sum(
        (np.outer(row, instance.demands[n]) for n, row in tasks.items()), np.zeros(free.shape)
    )
    if (used > free + AUDIT * instance.total_capacities).any():
        return None
    return Packing(copies, tasks)
