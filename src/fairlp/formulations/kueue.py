"""Kueue's promise (KEP-1714), divisible: nominal quotas, then equal dominant shares of the lent.

:func:`nominal_first` is a leximin over queues of what their nominal quotas come to; :func:`kueue`
shares what is left above those floors. The arithmetic of shares along the tree is in
:mod:`fairlp.models.trees.quotas`. Users of these programs are lanes: one for each user and choice
of flavors. What users have is in dominant shares of the pool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.instances.instance import Instance
from ..models.instances.quotas import Lanes, nearest_listing, outside
from ..models.notation.expressions import Expression, Index
from ..models.notation.model import Model
from ..models.notation.variables import Parameter, Variable
from ..models.trees.quotas import QuotaTree
from . import normalisers, region
from .max_min import LIMIT
from .region import runnable_users, where_runnable, where_runs

SOURCE = "Kueue, KEP-1714"


def kueue(instance: Instance, lanes: Lanes, floors: np.ndarray) -> Model:
    """Kueue's fair sharing above nominal floors: the first round.

    Quotas allow borrowing and lending along cohorts.

    After it lanes rise at the rates of the tree of quotas: dominant resource shares, from the root
    down.

    Parameters
    ----------
    instance : Instance
    lanes : Lanes
        Of the instance; identical servers may be merged.
    floors : ndarray, shape (Q,)
        Dominant shares of the pool that the users whose nominal quota is that of a queue have
        together at least; where a resource has several flavors, within that quota: what they borrow
        of one flavor stands for no nominal quota of another.
    """
    accounts = KueueAccounts.of(instance, lanes, "Kueue's fair sharing")
    model = accounts.model
    small = lanes.instance
    share = accounts.on_servers().sum(small.servers)
    t = model.variable(
        "t", upper=None if runnable_users(small).any() else 0.0, doc="level of the first round"
    )
    fairness = model.constraint("fairness", share >= t, where=where_runnable(model, small))
    accounts.limit(share)
    taken_outside = None
    if lanes.use_outside.any():
        use_outside = model.parameter(
            "a_outside",
            accounts.use.indices,
            use_of_pool(small, instance.quotas.resource, lanes.use_outside),
            "part of the pool that a dominant share of n, outside all quotas, takes of what q covers",
        )
        taken_outside = (use_outside * share).sum(small.users)
    quota_rows(model, QuotaTree(instance, lanes), small, accounts.use * share, taken_outside)
    floor = model.parameter(
        "F",
        accounts.owners,
        floors[accounts.owner_positions],
        "dominant shares that the nominal quota of o comes to",
    )
    if not instance.quotas.has_flavors:
        model.constraint("floor", accounts.sums(share) >= floor)
    else:
        within = model.variable(
            "w", small.users, doc="dominant share of n within its nominal quota"
        )
        model.constraint("part", within <= share)
        accounts.within_nominal(1 * within)
        model.constraint("floor", accounts.sums(1 * within) >= floor)
    model.leximin(fairness, t)
    return model


def nominal_alone(instance: Instance, lanes: Lanes) -> Model:
    """Return the program of the most that each queue's nominal quota and demand allow.

    Servers do not limit it.
    """
    accounts = KueueAccounts.of(instance, lanes, "what nominal quotas allow")
    small = lanes.instance
    alone = small.gamma().sum(axis=1) / normalisers.dominant(small)
    upper = np.where(lanes.use.any(axis=1) & (alone > 0), np.inf, alone)
    y = accounts.model.variable("y", small.users, upper=upper, doc="dominant share of n")
    accounts.nominal(1 * y)
    accounts.model.maximize(accounts.sums(y).sum(accounts.owners))
    return accounts.model


def nominal_on_servers(instance: Instance, lanes: Lanes) -> Model:
    """Return the program of the most that each nominal quota comes to on servers of its own.

    Parameters
    ----------
    instance : Instance
    lanes : Lanes
        Of the users of some queues.
    """
    accounts = KueueAccounts.of(instance, lanes, "nominal quotas, each on empty servers")
    granted = accounts.on_servers(apart=True).sum(lanes.instance.servers)
    accounts.nominal(granted)
    accounts.model.maximize(accounts.sums(granted).sum(accounts.owners))
    return accounts.model


def nominal_first(instance: Instance, lanes: Lanes, entitled: np.ndarray) -> Model:
    """Return the leximin over queues of granted shares over ``entitled`` ones.

    A queue is entitled to the shares that its nominal quota and demand allow.
    """
    accounts = KueueAccounts.of(instance, lanes, "nominal quotas first")
    model = accounts.model
    granted = accounts.on_servers().sum(lanes.instance.servers)
    t = model.variable("t", doc="smallest part of what quotas allow")
    accounts.nominal(granted)
    level = model.parameter(
        "D", accounts.owners, entitled, "dominant shares that quota and demand of o allow"
    )
    some = model.subset("S", accounts.owners, entitled > 0, "quota and demand of o allow something")
    fairness = model.constraint("fairness", accounts.sums(granted) >= level * t, where=some)
    model.constraint("no_more", accounts.sums(granted) <= level)
    model.leximin(fairness, t)
    return model


@dataclass(frozen=True, eq=False)
class KueueAccounts:
    """A model over the lanes of an instance, and what it says of nominal quotas.

    Attributes
    ----------
    owners : Index
        Queues whose nominal quota is that of some user: the lowest above it that list anything.
    owner_positions : ndarray of int
        Position of each owner.
    ownership, use : Parameter
        Whether the quota of a lane is that of an owner; and what a dominant share of a lane takes
        of a column.
    """

    model: Model
    instance: Instance
    lanes: Lanes
    owners: Index
    owner_positions: np.ndarray
    ownership: Parameter
    use: Parameter

    @classmethod
    def of(cls, instance: Instance, lanes: Lanes, name: str) -> KueueAccounts:
        """Return the accounts of an instance, in a new model without an objective."""
        queues = instance.tree
        quotas = instance.quotas
        small = lanes.instance
        # Of each user, then of each lane: the lowest queue above it that lists a quota. A lane of a user
        # outside all quotas has no owner.
        owner_of_user = nearest_listing(queues)[queues.of]
        owner_of_lane = owner_of_user[lanes.user]
        is_owned = ~outside(queues)[lanes.user]
        owner_positions = np.unique(owner_of_lane[is_owned])
        model = Model(name, SOURCE, (small.users, small.servers, small.resources))
        o = Index("o", queues.paths.labels[owner_positions], "queue")
        q = Index("q", quotas.names(instance.resources), "quota")
        ownership = model.parameter(
            "M",
            (o, small.users),
            (owner_positions[:, None] == owner_of_lane) & is_owned,
            "1 where the quota of n is that of o; nowhere for n outside all quotas",
        )
        use = model.parameter(
            "a",
            (small.users, q),
            use_of_pool(lanes.instance, quotas.resource, lanes.use),
            "part of the pool that a dominant share of n takes of q",
        )
        return cls(model, instance, lanes, o, owner_positions, ownership, use)

    def sums(self, share: Expression) -> Expression:
        """Return what the lanes of each owner have together, of something by lane."""
        return (self.ownership * share).sum(self.lanes.instance.users)

    def on_servers(self, apart: bool = False) -> Variable:
        """Add dominant shares on servers, the rows ``capacity`` and the definition ``tasks``.

        With ``apart`` each owner has all servers for its lanes.
        """
        model = self.model
        small = self.lanes.instance
        n = small.users
        i = small.servers
        r = small.resources
        share = normalisers.normalised_demands(small)
        d = model.parameter(
            "d_hat", (n, r), share, "demand of n for r, as a multiple of its dominant one"
        )
        available = small.capacities * small.counts[:, None] / small.pool
        c = model.parameter("c", (i, r), available, "capacity of i, as a fraction of the pool")
        gamma = model.parameter(
            "Gamma", n, normalisers.dominant(small), "tasks n could run alone on the pool"
        )
        g = model.variable(
            "g", n, i, where=where_runs(model, small), doc="dominant share of n on i"
        )
        needed = d * g
        model.constraint("capacity", (self.sums(needed) if apart else needed.sum(n)) <= c)
        model.define("tasks", gamma * g)
        model.define("capacity_unit", model.parameter("C", r, small.pool, "capacity of the pool"))
        return g

    def nominal(self, share: Expression) -> None:
        """Add the rows ``nominal`` and task limits."""
        self.within_nominal(share)
        self.model.define("has", self.sums(share))
        self.model.define("used", self.sums(self.use * share))
        self.limit(share)

    def within_nominal(self, share: Expression) -> None:
        """Add the rows ``nominal``: each owner's use of each column is within its quota."""
        quotas = self.instance.quotas
        small = self.lanes.instance
        _, q = self.use.indices
        listed = quotas.listed[self.owner_positions]
        some = self.model.subset("O", (self.owners, q), listed, "o lists q")
        nominal_fraction = (
            np.where(listed, quotas.amounts[0, self.owner_positions], 0.0)
            / small.pool[quotas.resource]
        )
        quota = self.model.parameter(
            "N", (self.owners, q), nominal_fraction, "nominal quota of o, as part of the pool"
        )
        used = self.sums(self.use * share)
        self.model.constraint("nominal", used <= quota, over=(self.owners, q), where=some)

    def limit(self, share: Expression) -> None:
        """Add the rows ``cap`` and ``limit``: task limits of all lanes of a user together."""
        small = self.lanes.instance
        limits = self.instance.task_limits
        alone = normalisers.dominant(small)
        region.caps(self.model, small, share, alone)
        if np.array_equal(self.lanes.user, np.arange(len(limits))):
            return region.task_limits(self.model, small, share, LIMIT, unit=alone)
        m = self.instance.users.alias("m")
        finite = np.isfinite(limits)
        tasks_of_lane = (np.arange(len(limits))[:, None] == self.lanes.user) * alone
        tasks = self.model.parameter(
            "W", (m, small.users), tasks_of_lane, "tasks of m in a dominant share of its lane n"
        )
        limit = self.model.parameter("T", m, np.where(finite, limits, 0.0), "tasks that m has")
        some = self.model.subset("L", m, finite, "the number of tasks that m has is given")
        self.model.constraint("limit", (tasks * share).sum(small.users) <= limit, where=some)


def use_of_pool(small: Instance, resources: np.ndarray, use: np.ndarray) -> np.ndarray:
    """Return the pool's part that a dominant share of each lane takes, given that of a task."""
    of_shares = use * normalisers.dominant(small)[:, None]
    return np.asarray(of_shares / small.pool[resources])


def quota_rows(
    model: Model,
    tree: QuotaTree,
    small: Instance,
    consumed: Expression,
    taken_outside: Expression | None,
) -> None:
    """Add what is in use by queue and quota, and its limits, with borrowing and lending.

    Parameters
    ----------
    model : Model
    tree : QuotaTree
    small : Instance
        Of the model's users, each in its queue.
    consumed : Expression
        What each of them takes of each column of the quotas, as part of the pool.
    taken_outside : Expression or None
        What users outside the quotas take of it together; None without any.
    """
    queues = small.tree
    quotas = small.quotas
    n = small.users
    pool = small.pool[quotas.resource]
    nearest = nearest_listing(queues)
    listing = np.unique(nearest)
    place = np.searchsorted(listing, nearest)
    k = Index("k", queues.paths.labels[listing], "queue")
    j = k.alias("j")
    q = Index("q", quotas.names(small.resources), "quota")
    inside = np.arange(len(listing))[:, None]
    stands = model.parameter(
        "Z", (k, n), inside == place[queues.of], "1 where the lowest queue with quotas of n is k"
    )
    below = (inside == place[queues.parents[listing]]) & (listing > 0)
    child = model.parameter(
        "H", (k, j), below, "1 where k is next above j of the queues with quotas"
    )
    reserved = model.parameter(
        "K", (k, q), tree.reserved[listing] / pool, "what k keeps for itself"
    )
    used = model.variable("U", k, q, doc="what is in use in k, as part of the pool")
    drawn = model.variable("e", k, q, doc="what k takes of what its parent has")
    in_use = (stands * consumed).sum(n) + (child * drawn[j, q]).sum(j)
    if taken_outside is not None:
        uncovered = model.parameter(
            "free", q, tree.uncovered / pool, "what no quota covers, for users outside the quotas"
        )
        borrowed = model.variable(
            "b", q, doc="what users outside the quotas take of what they cover"
        )
        model.constraint("outside", borrowed >= taken_outside - uncovered)
        is_root = model.parameter("Root", k, listing == 0, "1 where k is the root")
        in_use = in_use + is_root * borrowed
    model.constraint("usage", used == in_use)
    model.constraint("taken", drawn >= used - reserved)
    finite = np.isfinite(tree.limits[listing])
    limit = model.parameter(
        "S", (k, q), np.where(finite, tree.limits[listing], 0.0) / pool, "what k may use at most"
    )
    some = model.subset("P", (k, q), finite, "k may not borrow without end")
    model.constraint("quota", used <= limit, over=(k, q), where=some)


def within_quotas(model: Model, instance: Instance, tasks: Expression) -> None:
    """Add the rows of quotas to an audit's model, with tasks over users and servers."""
    lanes = Lanes.of(instance)
    n = instance.users
    i = instance.servers
    quotas = instance.quotas
    q = Index("q", quotas.names(instance.resources), "quota")
    places, first_lanes = np.unique(lanes.places, return_index=True)
    pool = instance.pool[quotas.resource]
    has_strays = lanes.use_outside.any()
    amounts_of_lanes = lanes.use / pool
    amounts_outside = lanes.use_outside / pool
    if len(places) < len(lanes.user):  # tasks on some servers may count in one flavor or another
        lane = Index("l", [str(k) for k in range(len(lanes.user))], "lane")
        place = Index("p", [str(k) for k in range(len(places))], "place")
        where = lanes.instance.runnable()[first_lanes]
        at_place = np.zeros((len(places), len(n), len(i)))
        at_place[places, lanes.user[first_lanes]] = where
        runs_at = model.parameter(
            "R_place", (place, n, i), at_place, "1 where tasks of n on i are of p"
        )
        is_way = model.parameter(
            "R_lane", (place, lane), places[:, None] == lanes.places, "1 where l is a way of p"
        )
        of_user = np.arange(len(n))[:, None, None] == lanes.user[:, None]
        use_of_lane = model.parameter(
            "u_lane",
            (n, lane, q),
            of_user * amounts_of_lanes,
            "part of the pool that a task takes of q",
        )
        w = model.variable("x_lane", lane, doc="tasks that count in lane l")
        model.constraint("ways", (is_way * w).sum(lane) == (runs_at * tasks).sum(n, i))
        outside = None
        if has_strays:
            of_stray = model.parameter(
                "u_outside",
                (lane, q),
                amounts_outside,
                "part of the pool that a task outside all quotas takes of what q covers",
            )
            outside = (of_stray * w).sum(lane)
        quota_rows(
            model, QuotaTree(instance, lanes), instance, (use_of_lane * w).sum(lane), outside
        )
        return

    def used(name: str, amounts_of_lanes: np.ndarray, doc: str) -> Expression:
        use = np.zeros((len(n), len(i), len(q)))
        for user, where, amounts in zip(
            lanes.user, lanes.instance.runnable(), amounts_of_lanes, strict=True
        ):
            use[user, where] = amounts
        return (model.parameter(name, (n, i, q), use, doc) * tasks).sum(i)

    consumed = used(
        "u_quota", amounts_of_lanes, "part of the pool that one task of n takes of q on i"
    )
    outside = None
    if has_strays:
        outside = used(
            "u_outside",
            amounts_outside,
            "part of the pool that one task of n, outside all quotas, takes on i of what q covers",
        ).sum(n)
    quota_rows(model, QuotaTree(instance, lanes), instance, consumed, outside)
