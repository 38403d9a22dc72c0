"""A program of whole numbers: where all tasks of a job have room together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from fairlp import Instance

from .jobs import AUDIT, WaitingJob

#: A program has so many whole numbers at most; it stops after so many nodes of its tree.
MOST_NUMBERS = 20_000
_MOST_NODES = 2000


class Holdings(NamedTuple):
    """Tasks of holders, of which a part may give way.

    Attributes
    ----------
    tasks : ndarray, shape (P,)
        The tasks that run, by pair of user and server.
    amounts : list of sparse arrays, shape (K, P)
        For each resource what a task of each pair holds on each server.
    limits, most : array, shape (L, P), and ndarray
        Rows over the pairs, and their upper sides: what all tasks of a holder may give together.
    """

    tasks: np.ndarray
    amounts: list[sparse.csr_array]
    limits: np.ndarray
    most: np.ndarray


#: Nobody gives anything.
_NOBODY = Holdings(np.zeros(0), [], np.zeros((0, 0)), np.zeros(0))


def packed(
    instance: Instance,
    free: np.ndarray,
    upper: Mapping[int, np.ndarray],
    job: WaitingJob,
    *,
    holdings: Holdings = _NOBODY,
    servers: np.ndarray | None = None,
) -> dict[int, np.ndarray] | None:
    """Return where the tasks of a job have room, by user, shape (K,); None where they have not.

    Find x[n,i] whole, tasks of user n on server i, and y[p], tasks that give way in parts:

    * Σ_i x[n,i] = tasks of n; where each needs a node of its own Σ_n x[n,i] ≤ count[i]
    * Σ_n x[n,i]·d[n,r] ≤ free[i,r] + Σ_p amounts[r][i,p]·y[p], and limits·y ≤ most

    None, too, where the program has no answer in its time.

    Parameters
    ----------
    instance : Instance
    free : ndarray, shape (K, R)
    upper : mapping
        Tasks that servers may take of each user at most, shape (K,).
    job : WaitingJob
    holdings : Holdings, optional
    servers : ndarray of int, shape (K,), optional
        Their positions; by default all servers.
    """
    every = slice(None) if servers is None else servers
    users = list(job.tasks)
    size = len(users) * len(free)
    if size > MOST_NUMBERS:
        return None
    demands = instance.demands[users]
    on_each = sparse.eye_array(len(free))
    on_all = sparse.coo_array(np.ones((1, len(free))))
    tasks = np.array([job.tasks[n] for n in users], dtype=float)

    pairs = len(holdings.tasks)
    limits: list[LinearConstraint] = []

    def limit(of_x: Any, most: np.ndarray, of_y: Any = None, least: Any = -np.inf) -> None:
        """Add rows over x and y; without coefficients of y these are 0."""
        if of_y is None:
            of_y = sparse.csr_array((len(most), pairs))
        limits.append(LinearConstraint(sparse.hstack([of_x, of_y], format="csr"), least, most))

    limit(sparse.kron(sparse.eye_array(len(users)), on_all), tasks, least=tasks)
    if job.one_a_node:
        limit(sparse.kron(np.ones((1, len(users))), on_each), instance.counts[every])
    for r in range(free.shape[1]):
        given = -holdings.amounts[r] if holdings.amounts else None
        limit(sparse.kron(demands[None, :, r], on_each), free[:, r], given)
    if len(holdings.most):
        limit(sparse.csr_array((len(holdings.most), size)), holdings.most, holdings.limits)

    solution = milp(
        np.zeros(size + pairs),
        integrality=np.arange(size + pairs) < size,
        bounds=Bounds(0, np.concatenate([*(upper[n] for n in users), holdings.tasks])),
        constraints=limits,
        options={"node_limit": _MOST_NODES},
    )
    if solution.x is None:
        return None
    whole = np.rint(solution.x[:size]).astype(int).reshape(len(users), len(free))
    given_back = [amounts @ solution.x[size:] for amounts in holdings.amounts]
    room = free + np.column_stack(given_back) if given_back else free
    is_within = (whole.T @ demands <= room + AUDIT * instance.total_capacities[every]).all()
    if not is_within or (whole.sum(axis=1) != tasks).any():
        return None
    return dict(zip(users, whole, strict=True))
