"""Whether a job could start on what is free and what tenants hold beyond their dues.

No victims are named: a program says whether amounts and placement allow it, and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import fairlp

from ..readers.pods import LACK_OF_ROOM, OTHER_CONSTRAINTS
from .jobs import AUDIT, WaitingJob

if TYPE_CHECKING:
    from .share_comparison import ShareComparison

#: So many servers are looked at, those with most room.
_MOST_SERVERS = 64


def givers(comparison: ShareComparison, t: int) -> np.ndarray:
    """Return the tenants that hold more than their due in the tree of queues of a tenant.

    Queues of Kueue lend below the root of their cohort only.
    """
    shares = comparison.tenant_shares
    holds_more = shares.excess > 0
    holds_more[t] = False
    tree = comparison.instance.tree
    if tree.quotas is not None:
        first_users = np.unique(shares.tenants.of, return_index=True)[1]
        roots = [
            next(iter(fairlp.queues.lineage(str(tree.paths[tree.of[n]]))[1:2]), "")
            for n in first_users
        ]
        holds_more &= np.array([root == roots[t] for root in roots])
    return np.flatnonzero(holds_more)


def is_undecided(job: WaitingJob) -> bool:
    """Whether the dump does not tell if room is what a job lacks: it has constraints that are not read.

    >>> is_undecided(WaitingJob("", {0: 1}, left_out="volumes"))
    True
    >>> is_undecided(WaitingJob("", {0: 1}, left_out="volumes", message="0/2: 2 Insufficient cpu."))
    False
    """
    reasons = job.message.partition("preemption:")[0]
    if any(reason in reasons for reason in OTHER_CONSTRAINTS):
        return True
    return bool(job.left_out) and not any(reason in reasons for reason in LACK_OF_ROOM)


def could_start(comparison: ShareComparison, job: WaitingJob, t: int) -> bool:
    """Whether a job of a tenant has room on what is free and what others hold beyond their dues.

    Find x[n,i] whole and y[m,i] between 0 and the tasks that run, m a user of a tenant that holds more
    than its due:

    * Σ_i x[n,i] = tasks of n in the job
    * Σ_n x[n,i]·d[n,r] ≤ free[i,r] + Σ_m y[m,i]·d[m,r]
    * Σ_{m,i} y[m,i]·d[m,r]/C[r] ≤ share[u,r] − due[u], of each tenant u and each r of which it has
      more than its due
    """
    tenants = givers(comparison, t)
    if not tenants.size:
        return False
    instance, shares = comparison.instance, comparison.tenant_shares
    blocking = comparison.blocking
    users = np.array(list(job.tasks))
    holders = np.flatnonzero(np.isin(shares.tenants.of, tenants))
    held = comparison.tasks[holders]
    free = blocking.free + held.T @ instance.demands[holders]
    room = np.zeros(len(instance.servers))
    for n in users:
        demand = instance.demands[n]
        demanded = demand > 0
        alone = (free[:, demanded] / demand[demanded]).min(axis=1)
        room += np.where(instance.runnable()[n], np.floor(alone + AUDIT), 0.0)
    servers = np.argsort(-room, kind="stable")[:_MOST_SERVERS]
    servers = servers[room[servers] > 0]
    if not servers.size:
        return False

    places, pairs = np.nonzero(held[:, servers] > 0)
    x_count = len(users) * len(servers)
    size = x_count + len(places)
    rows: list[tuple[np.ndarray, np.ndarray, float, float]] = []
    for k, n in enumerate(users):
        columns = np.arange(k * len(servers), (k + 1) * len(servers))
        rows.append((columns, np.ones(len(servers)), job.tasks[int(n)], job.tasks[int(n)]))
    for position, i in enumerate(servers.tolist()):
        of_job = np.arange(len(users)) * len(servers) + position
        of_held = np.flatnonzero(pairs == position)
        columns = np.concatenate([of_job, x_count + of_held])
        for r in range(len(instance.resources)):
            taken = [instance.demands[n, r] for n in users]
            given_back = instance.demands[holders[places[of_held]], r]
            values = np.concatenate([taken, -given_back])
            rows.append((columns, values, -np.inf, float(blocking.free[i, r])))
        if job.one_a_node:
            rows.append((of_job, np.ones(len(users)), -np.inf, float(instance.counts[i])))
    for u in tenants.tolist():
        of_tenant = np.flatnonzero(shares.tenants.of[holders[places]] == u)
        for r in np.flatnonzero(shares.amounts[u] > shares.fair_share[u]).tolist():
            parts = shares.parts[holders[places[of_tenant]], r]
            beyond = float(shares.amounts[u, r] - shares.fair_share[u])
            rows.append((x_count + of_tenant, parts, -np.inf, beyond * (1 + AUDIT)))
    matrix = sparse.lil_array((len(rows), size))
    for k, (columns, values, _, _) in enumerate(rows):
        matrix[k, columns] = values
    upper = np.concatenate([np.full(x_count, np.inf), held[places, servers[pairs]]])
    allowed = instance.runnable()[np.ix_(users, servers)].ravel()
    upper[:x_count][~allowed] = 0.0
    outcome = milp(
        np.zeros(size),
        integrality=np.arange(size) < x_count,
        bounds=Bounds(0, upper),
        constraints=LinearConstraint(
            matrix.tocsr(), [low for *_, low, _ in rows], [high for *_, high in rows]
        ),
    )
    return bool(outcome.success)
