"""Partial allocation: each user has a part of its proportionally fair bundle, so that no lie pays.

What Gavel's strategy-proof policy and the auction of Themis compute. n + 1 proportional programs:
that of all users, and without each in turn. The parts are no program; :func:`parts` has them.
"""

from __future__ import annotations

import numpy as np

from ..models.instances.instance import Instance
from ..models.instances.requests import entitlements
from ..models.notation.expressions import Index, log
from ..models.notation.model import Model
from . import region
from .region import runnable_users
from .space_sharing import throughputs

SOURCE = "Cole, Gkatzelis and Goel, EC 2013"

#: The market of all users; that without a user is called by its name.
ALL = "all"


def partial_allocation(instance: Instance) -> Model:
    """Return the n + 1 proportional programs (Cole, Gkatzelis and Goel, EC 2013, §4) as one model.

    Market k maximises Σ_n e[k,n]·log U[k,n], where e[k,n] is 0 for the user that k goes without. User
    n has the part f[n] = (Π_{j≠n} (U[all,j]/U[n,j])^e[j])^(1/e[n]) of its bundle in the market of all.

    With rates (users × servers) a user runs on one kind of device at a time, as in Gavel's policies;
    without them it has whole bundles of resources (Leontief).

    Parameters
    ----------
    instance : Instance

    Returns
    -------
    Model
        ``tasks`` are those of the market of all, before the parts; ``utility`` has U.
    """
    n, i = instance.users, instance.servers
    users = [str(user) for user in n]
    k = Index("k", [ALL, *(f"without {user}" for user in users)], "market")
    model = Model("Partial allocation", SOURCE, (k, n, i, instance.resources))
    can_run = runnable_users(instance)
    budgets = np.vstack([np.ones(len(n)), 1.0 - np.eye(len(n))])
    budgets *= np.where(can_run, entitlements(instance), 0.0)
    e = model.parameter("e", (k, n), budgets, "entitlement of n in market k (0: no term)")
    d = region.demands(model, instance)
    c = region.capacities(model, instance)
    tau = np.where(instance.runnable(), 1.0, 0.0)
    meaning = "1 where n may run on i"
    if instance.has_rates:
        tau, meaning = throughputs(instance), "tasks of n in a unit of time on i"
    speed = model.parameter("v", (n, i), tau, meaning)
    exists = np.broadcast_to(tau > 0, (len(k), *tau.shape))
    runs = model.subset("E", (k, n, i), exists, "n may run on i")
    x = model.variable("x", k, n, i, where=runs, doc="bundles of n on i in market k")
    model.constraint("capacity", (d * x).sum(n) <= c)
    if instance.has_rates:
        model.constraint("time", x.sum(i) <= 1)
    is_all = model.parameter("a", k, np.arange(len(k)) == 0, "1 for the market of all")
    model.define("tasks", (is_all * x * speed).sum(k))
    model.define("utility", (x * speed).sum(i))
    model.maximize((e * log((x * speed).sum(i))).sum(k, n))
    return model


def parts(entitled: np.ndarray, of_all: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Return the part f of its bundle that each user keeps, at most 1, shape (N,).

    Parameters
    ----------
    entitled : ndarray, shape (N,)
        e, in any unit; 0 for users who can run nothing.
    of_all : ndarray, shape (N,)
        What each user has in the market of all.
    without : ndarray, shape (N, N)
        What each user (a column) has in the market without another (a row).
    """
    counted = entitled > 0
    others = counted & counted[:, None] & ~np.eye(len(entitled), dtype=bool)
    ratios = np.log(np.where(others, of_all, 1.0)) - np.log(np.where(others, without, 1.0))
    losses = ratios @ entitled
    fractions = np.exp(losses / np.where(counted, entitled, 1.0))
    return np.where(counted, np.minimum(fractions, 1.0), 0.0)
