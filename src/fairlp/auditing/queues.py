"""Audits along a tree of queues: guarantees, caps, weights on the way up, envy within a queue."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import quoted
from ..formulations.hierarchical import collapsed, parts_of_queues
from ..formulations.normalisers import dominant
from ..formulations.region import runnable_users
from ..mechanisms.max_min.quota_levels import Books
from ..models.instances.arithmetic import quotients
from ..models.instances.queues import Queues
from ..models.trees.guarantees import floors
from ..tolerances import AUDIT
from .basics import ROWS_ADDED_UP, most_envious
from .findings import AuditCase, Finding, amount


def _on_tree(audit: Callable[[AuditCase, Queues], Finding]) -> Callable[[AuditCase], Finding]:
    """Return the audit of instances with queues and one weight a user; others have nothing."""

    def judged(case: AuditCase) -> Finding:
        if not case.instance.has_queues:
            return Finding.vacuous("the instance has no queues")
        if case.instance.has_resource_weights:
            return Finding.undefined("weights are given per resource; on a tree each user has one")
        return audit(case, case.instance.tree)

    judged.__doc__ = audit.__doc__
    return judged


def _lacking(case: AuditCase, can_run: np.ndarray) -> np.ndarray:
    """Return who of those who can run has not all its tasks. Bool, shape (N,)."""
    return can_run & (case.totals < case.instance.task_limits * (1 - AUDIT))


def _shares_alone(case: AuditCase) -> np.ndarray:
    """Return the dominant share that each user could have alone, shape (N,)."""
    return np.asarray(case.alone / dominant(case.instance))


@_on_tree
def caps_kept(case: AuditCase, queues: Queues) -> Finding:
    """No queue has more of a resource than its cap. Margin: −(largest excess / cap)."""
    if not queues.capped.any():
        return Finding.vacuous("no queue has a cap")
    worst, v, r = queues.over_caps(case.totals, case.instance.demands)
    amounts = case.totals * case.instance.demands[:, r]
    total = (queues.below[[v]] @ amounts)[0]
    resource = case.instance.resources[r]
    witness = (
        f"queue {quoted(queues.paths[v])} has {amount(total)} {quoted(resource)} and its cap is "
        f"{amount(queues.caps[v, r])}"
    )
    return Finding.of_margin(-worst, witness, "no queue has more than its cap")


@_on_tree
def quotas_kept(case: AuditCase, queues: Queues) -> Finding:
    """No queue uses more than its own quota and what it may borrow, and no user what has none.

    Margin: −(largest excess / what the queue may use). Quotas are added up once more from their
    definition (:mod:`..mechanisms.max_min.quota_levels`), not by what makes the answers of
    ``kueue``.
    """
    if queues.quotas is None:
        return Finding.vacuous("no queue has a quota")
    books = Books(case.instance)
    totals = books.ways.tasks(case.tasks)
    if (books.ways.unclear & (case.totals > 0)).any():
        return Finding.undefined("tasks may count in several flavors of the same servers")
    counted = np.bincount(books.ways.user, weights=totals, minlength=len(case.totals))
    without = (case.totals - counted) / case.scale
    n = int(without.argmax())
    excess, v, m = books.excess(totals)
    if without[n] > max(excess, AUDIT):
        witness = (
            f"{case.name(n)} has {amount(case.totals[n] - counted[n])} tasks that no quota has"
        )
        return Finding.of_margin(-without[n], witness, "")
    used = books.within_limits(totals)[v, m]
    column = queues.quotas.names(case.instance.resources)[m]
    witness = (
        f"queue {quoted(queues.paths[v])} uses {amount(used)} {quoted(column)} and may use "
        f"{amount(books.most[v, m])}"
    )
    return Finding.of_margin(
        -excess, witness, "no queue uses more than its quota and what it borrows"
    )


@_on_tree
def guarantees_kept(case: AuditCase, queues: Queues) -> Finding:
    """Each queue has as large a part of its guarantee as its users can have.

    Margin: min over queues of the difference of parts. The part is the largest over resources of
    what its users have, over the guarantee; what they can have is what the guarantee, as a pool of
    its own, gives them by hierarchical DRF. Users who have all their tasks lack nothing.
    """
    if not queues.guarantees.any():
        return Finding.vacuous("no queue has a guarantee")
    guaranteed_queues = queues.guaranteed
    demands = case.instance.demands
    guarantees = queues.guarantees[guaranteed_queues]
    below = queues.below[guaranteed_queues]
    inverse = quotients(np.ones(1), guarantees)

    due = (below @ (floors(case.instance)[:, None] * demands)) * inverse
    actual = (below @ (np.maximum(case.totals, 0.0)[:, None] * demands)) * inverse
    slack = actual.max(axis=1) - due.max(axis=1)
    k = int(slack.argmin())
    r = int(due[k].argmax())
    guarantee = guarantees[k, r]
    witness = (
        f"queue {quoted(queues.paths[guaranteed_queues[k]])} has {amount(actual[k, r] * guarantee)} "
        f"{quoted(case.instance.resources[r])} and could have {amount(due[k, r] * guarantee)} of the "
        f"{amount(guarantee)} that it is guaranteed"
    )
    return Finding.of_margin(slack[k], witness, "each queue has what its guarantee comes to")


@_on_tree
def leaf_shares(case: AuditCase, queues: Queues) -> Finding:
    """Each user has the dominant share that the weights on its way up promise.

    Margin: min of share − promise.

    A part is the weight over the weights of all siblings who can run anything; no user is promised
    more than it could have alone on the servers where it may run. Users with all their tasks lack
    nothing.
    """
    can_run = runnable_users(case.instance)
    if not can_run.any():
        return Finding.vacuous("no user can run anything")
    promised = np.minimum(collapsed(case.instance), _shares_alone(case))
    share = case.totals / dominant(case.instance)
    is_short = _lacking(case, can_run)
    if not is_short.any():
        return Finding.of_margin(0.0, "", "every user has all its tasks")
    slack = np.where(is_short, share - promised, np.inf)
    n = int(slack.argmin())
    witness = (
        f"{case.name(n)} of queue {quoted(queues.paths[queues.of[n]])} has a dominant share of "
        f"{amount(share[n])}, and the "
        f"weights on its way up promise {amount(promised[n])}"
    )
    return Finding.of_margin(
        slack[n], witness, "each user has at least what the weights on its way up promise"
    )


@_on_tree
def queue_shares(case: AuditCase, queues: Queues) -> Finding:
    """Each queue has its part of the pool in dominant share, together.

    Margin: min of share − part; see `leaf_shares`. No queue is promised more than its users could
    have, each alone, added up.
    """
    can_run = runnable_users(case.instance)
    parts, _ = parts_of_queues(queues, case.instance.user_weights, can_run)
    promised = np.minimum(parts, queues.below @ _shares_alone(case))
    waits = (queues.below @ _lacking(case, can_run).astype(float) > 0) & (
        np.arange(len(queues)) > 0
    )
    if not waits.any():
        return Finding.vacuous("no queue below the root has a user who waits")
    share = (
        (queues.below @ (case.totals[:, None] * case.instance.demands)) / case.instance.pool
    ).max(axis=1)
    slack = np.where(waits, share - promised, np.inf)
    v = int(slack.argmin())
    witness = (
        f"queue {quoted(queues.paths[v])} has a dominant share of {amount(share[v])} together, and its "
        "weights promise "
        f"{amount(promised[v])}"
    )
    return Finding.of_margin(
        slack[v], witness, "each queue has at least what the weights on its way up promise"
    )


@_on_tree
def envy_free_within(case: AuditCase, queues: Queues) -> Finding:
    """No user would rather have what another of its queue has. Margin as for envy-free."""
    same_queue = queues.of[:, None] == queues.of[None, :]
    np.fill_diagonal(same_queue, False)
    if not same_queue.any():
        return Finding.vacuous("no queue has two users")
    if case.incomparable:
        return Finding.undefined(case.incomparable)
    if case.added_up:
        return Finding.undefined(ROWS_ADDED_UP)
    slack, n, m, tasks_with_bundle = most_envious(case, same_queue)
    extra_tasks = amount(tasks_with_bundle - case.totals[n])
    witness = (
        f"{case.name(n)} would run {extra_tasks} more tasks with what {case.name(m)} of the same queue "
        f"{quoted(queues.paths[queues.of[n]])} has, per weight"
    )
    return Finding.of_margin(
        slack, witness, "no user would rather have what another of its queue has"
    )
