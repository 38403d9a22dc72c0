"""A program of whole numbers: which jobs have room together, and who would have to give way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ... import Instance
from ...tolerances import AUDIT
from .jobs import RunningJob, WaitingJob

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
    k_servers, n_resources = free.shape
    keys = [(j, n) for j, job in enumerate(jobs) for n in job.tasks]
    size = len(keys) * k_servers + len(jobs) + len(leaving)
    if size > MOST_NUMBERS:
        return None
    demands = instance.demands
    users = [n for _, n in keys]
    block = sparse.eye_array(k_servers, format="csr")
    identity = np.ones((1, k_servers))
    no_jobs = sparse.csr_array((k_servers, len(jobs)))

    # All tasks of a user in a copy
    per_user = np.array([jobs[j].tasks[n] for j, n in keys], dtype=float)
    copies_of = sparse.csr_array(
        (-per_user, (range(len(keys)), [j for j, _ in keys])), (len(keys), len(jobs))
    )
    rows = [sparse.hstack([sparse.kron(sparse.eye_array(len(keys)), identity), copies_of])]
    bounds = [(np.zeros(len(keys)), np.zeros(len(keys)))]

    # A node of its own for each
    for j, job in enumerate(jobs):
        if job.one_a_node:
            of_job = np.array([[float(key == j) for key, _ in keys]])
            per_copy = sparse.csr_array(
                (-instance.counts.astype(float), (range(k_servers), [j] * k_servers)),
                (k_servers, len(jobs)),
            )
            rows.append(sparse.hstack([sparse.kron(of_job, block), per_copy]))
            bounds.append((np.full(k_servers, -np.inf), np.zeros(k_servers)))

    # Servers, by resource
    given_back = _given_back(instance, leaving, k_servers)
    columns_back = []
    for row, (low, _) in zip(rows, bounds, strict=True):
        assert row.shape[0] == len(low)
        columns_back.append(sparse.csr_array((row.shape[0], len(leaving))))
    for r in range(n_resources):
        demand = demands[users, r][None, :]
        if demand.any():
            rows.append(sparse.hstack([sparse.kron(demand, block), no_jobs]))
            columns_back.append(sparse.csr_array(-given_back[:, :, r].T))
            bounds.append((np.full(k_servers, -np.inf), free[:, r]))

    # Caps of queues, by resource
    tree = instance.tree
    for v, r in np.argwhere(np.isfinite(tree.caps) & (tree.caps < instance.pool)).tolist():
        inside = tree.users_below(v) > 0
        demand = np.where(inside[users], demands[users, r], 0.0)[None, :]
        if used is None or not demand.any():
            continue
        rows.append(sparse.hstack([sparse.kron(demand, identity), no_jobs[:1]]))
        of_jobs = [
            -sum(count * demands[n, r] for (n, _), count in job.tasks.items() if inside[n])
            for job in leaving
        ]
        columns_back.append(sparse.csr_array(np.array([of_jobs]).reshape(1, len(leaving))))
        bounds.append((np.array([-np.inf]), np.array([tree.caps[v, r] - used[v, r]])))

    # Shares that stay
    parts = demands / instance.pool
    for keeping in keepings:
        parts_kept = np.zeros((1, len(leaving)))
        for k in keeping.jobs:
            tasks_of_job = leaving[k].tasks.items()
            parts_kept[0, k] = sum(c * parts[n, keeping.resource] for (n, _), c in tasks_of_job)
        rows.append(sparse.csr_array((1, len(keys) * k_servers + len(jobs))))
        columns_back.append(sparse.csr_array(parts_kept))
        bounds.append((np.array([-np.inf]), np.array([keeping.spare])))

    matrix = sparse.hstack([sparse.vstack(rows), sparse.vstack(columns_back)], format="csr")
    low, high = (np.concatenate(side) for side in zip(*bounds, strict=True))
    objective = np.zeros(size)
    first_copy = len(keys) * k_servers
    objective[first_copy : first_copy + len(jobs)] = -(sum(job.copies for job in leaving) + 1.0)
    objective[first_copy + len(jobs) :] = 1.0
    most = [job.copies for job in jobs] + [job.copies for job in leaving]
    solution = milp(
        objective,
        integrality=np.ones(size),
        bounds=Bounds(0, np.concatenate([*(upper[n] for n in users), most])),
        constraints=LinearConstraint(matrix, low, high),
        options={"node_limit": _MOST_NODES},
    )
    if solution.x is None:
        return None
    return _rounded(instance, solution.x, jobs, keys, free, given_back)


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
