"""Whether a job could start on what is free and what tenants hold beyond their dues.

No victims are named: a program says whether amounts and placement allow it, and no more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..readers.pods import LACK_OF_ROOM, NEVER_DECIDED, OTHER_CONSTRAINTS
from .dues import Dues
from .jobs import AUDIT, WaitingJob
from .packing import Holdings, packed
from .room import Room
from .waiting import NO_NODE

#: So many servers are looked at, those with most room.
_MOST_SERVERS = 64


def givers(dues: Dues, t: int) -> np.ndarray:
    """Return the tenants that hold more than their due in the tree of queues of a tenant.

    Queues of Kueue lend below the root of their cohort only.
    """
    shares = dues.shares
    holds_more = shares.excess > 0
    holds_more[t] = False
    tree = dues.instance.tree
    if tree.quotas is not None:
        first_users = np.unique(shares.tenants.of, return_index=True)[1]
        roots = np.array([tree.chain(int(tree.of[n]))[-2:][0] for n in first_users])
        holds_more &= roots == roots[t]
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
    if any(constraint in job.left_out for constraint in NEVER_DECIDED):
        return True
    lacks_room = any(reason in reasons for reason in LACK_OF_ROOM)
    return not lacks_room and bool(job.left_out or NO_NODE.match(reasons))


def could_start(dues: Dues, room: Room, job: WaitingJob, tenants: np.ndarray) -> bool:
    """Whether a job has room on what is free and what these tenants hold beyond their dues.

    The tasks y[m,i] of a user m of a tenant u that holds more than its due may give way, in parts:
    together Σ y[m,i]·d[m,r]/C[r] ≤ share[u,r] − due[u] of the resource r of which u has the largest part,
    so that u keeps its due.
    """
    instance, shares = dues.instance, dues.shares
    holders = np.flatnonzero(np.isin(shares.tenants.of, tenants))
    held = dues.tasks[holders]
    within_reach = replace(room, free=room.free + held.T @ instance.demands[holders], pieces={})
    may_be = room.runnable & ~dues.facts.kept
    every = np.arange(len(room.free))
    upper = {n: np.where(may_be[n], within_reach.tasks_on(n, every), 0) for n in job.tasks}
    order = np.argsort(-np.sum(list(upper.values()), axis=0), kind="stable")
    seen = np.sort(order[:_MOST_SERVERS])
    held = held[:, seen]
    places, servers = np.nonzero(held > 0)
    users = holders[places]
    pairs = np.arange(len(users))
    size = (len(seen), len(users))
    amounts = [
        sparse.csr_array((instance.demands[users, r], (servers, pairs)), size)
        for r in range(len(instance.resources))
    ]
    # A tenant keeps its due of the resource of which it has the largest part.
    dominant = shares.amounts.argmax(axis=1)
    limits = []
    most = []
    for u in tenants.tolist():
        r = int(dominant[u])
        limits.append(np.where(shares.tenants.of[users] == u, shares.parts[users, r], 0.0))
        most.append((shares.amounts[u, r] - shares.fair_share[u]) * (1 + AUDIT))
    holdings = Holdings(held[places, servers], amounts, np.array(limits), np.array(most))
    upper = {n: tasks[seen] for n, tasks in upper.items()}
    placed = packed(instance, room.free[seen], upper, job, holdings=holdings, servers=seen)
    return placed is not None
