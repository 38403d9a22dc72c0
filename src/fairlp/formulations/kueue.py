"""What Kueue promises (KEP-1714), divisible: nominal quotas first, then equal dominant resource shares of what is lent.

:func:`nominal_first` is a leximin over queues of what their nominal quotas come to; :func:`kueue` shares what is left
above those floors. The arithmetic of shares along the tree is in :mod:`fairlp.models.trees.quotas`. Users of these
programs are lanes: one for each user and choice of flavors. What users have is in dominant shares of the pool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.instances.instance import Instance
from ..models.instances.queues import Queues
from ..models.instances.quotas import Lanes, Quotas, nearest_listing
from ..models.notation.expressions import Expression, Index, Parameter, Variable
from ..models.notation.model import Model
from ..models.trees.quotas import QuotaTree
from . import normalisers, region
from .max_min import LIMIT
from .region import runnable_users, where_runnable, where_runs

SOURCE = "Kueue, KEP-1714"


def kueue(instance: Instance, floors: np.ndarray) -> Model:
    """Kueue's fair sharing: quotas with borrowing and lending along cohorts, above nominal floors; the first round.

    After it lanes rise at the rates of the tree of quotas: dominant resource shares, from the root down.

    Parameters
    ----------
    instance : Instance
    floors : ndarray, shape (Q,)
        Dominant shares of the pool that the users whose nominal quota is that of a queue have together at least.
    """
    books = Books.opened(instance, "Kueue's fair sharing")
    model, small = books.model, books.lanes.instance
    g = _shares_on_servers(books)
    t = model.variable("t", upper=None if runnable_users(small).any() else 0.0, doc="level of the first round")
    able = where_runnable(model, small)
    fairness = model.constraint("fairness", g.sum(small.servers) >= t, where=able)
    books.limit(g.sum(small.servers))
    quota_rows(model, instance, (small.users, books.of), books.use * g.sum(small.servers))
    floor = model.parameter("F", books.owners, floors[books.at], "dominant shares that the nominal quota of o comes to")
    model.constraint("floor", books.sums(g.sum(small.servers)) >= floor)
    model.leximin(fairness, t)
    return model


def nominal_alone(instance: Instance) -> Model:
    """Return the program of the most that each queue's nominal quota and demand allow, whatever servers there are."""
    books = Books.opened(instance, "what nominal quotas allow")
    small, used = books.lanes.instance, books.lanes.use.any(axis=1)
    most = np.where(used, np.inf, small.gamma().sum(axis=1) / normalisers.dominant(small))
    runs = small.runnable().any(axis=1)
    y = books.model.variable("y", small.users, upper=np.where(runs, most, 0.0), doc="dominant share of n")
    books.nominal(1 * y)
    books.limit(1 * y)
    books.model.define("has", books.sums(1 * y))
    books.model.maximize(books.sums(y).sum(books.owners))
    return books.model


def nominal_first(instance: Instance, due: np.ndarray) -> Model:
    """Return the leximin over queues of (what a queue has) / (what its nominal quota and its demand allow, ``due``)."""
    books = Books.opened(instance, "nominal quotas first")
    model, i = books.model, books.lanes.instance.servers
    g = _shares_on_servers(books)
    t = model.variable("t", doc="smallest part of what quotas allow")
    books.nominal(g.sum(i))
    books.limit(g.sum(i))
    own = due[books.at]
    level = model.parameter("D", books.owners, own, "dominant shares that quota and demand of o allow")
    some = model.subset("S", books.owners, own > 0, "quota and demand of o allow something")
    fairness = model.constraint("fairness", books.sums(g.sum(i)) >= level * t, where=some)
    model.constraint("no_more", books.sums(g.sum(i)) <= level)
    model.define("has", books.sums(g.sum(i)))
    model.leximin(fairness, t)
    return model


@dataclass(frozen=True, eq=False)
class Books:
    """A model over the lanes of an instance, and what it says of nominal quotas.

    Attributes
    ----------
    owners : Index
        Queues whose nominal quota is that of some user: the lowest above it that list anything.
    at, of : ndarray of int
        Position of each owner's queue, and of the queue of each lane.
    columns : Index
        Columns of the quotas.
    mine, use : Parameter
        Whether the quota of a lane is that of an owner; and what a dominant share of a lane takes of a column.
    """

    model: Model
    instance: Instance
    lanes: Lanes
    owners: Index
    at: np.ndarray
    of: np.ndarray
    columns: Index
    mine: Parameter
    use: Parameter

    @classmethod
    def opened(cls, instance: Instance, name: str) -> Books:
        """Return the books of an instance, in a new model."""
        lanes, queues = Lanes.of(instance), instance.queues
        assert queues is not None and queues.quotas is not None
        small, nearest = lanes.instance, nearest_listing(queues)[queues.of][lanes.user]
        at = np.unique(nearest)
        model = Model(name, SOURCE, (small.users, small.servers, small.resources))
        o, q = Index("o", queues.paths.labels[at], "queue"), Index("q", list(queues.quotas.columns), "quota")
        mine = model.parameter("M", (o, small.users), at[:, None] == nearest, "1 where the quota of n is that of o")
        amount = lanes.use * normalisers.dominant(small)[:, None]
        use = model.parameter("a", (small.users, q), amount, "amount of q that a dominant share of n takes")
        return cls(model, instance, lanes, o, at, queues.of[lanes.user], q, mine, use)

    def sums(self, share: Expression) -> Expression:
        """Return what the lanes of each owner have together, of something by lane."""
        return (self.mine * share).sum(self.lanes.instance.users)

    def nominal(self, share: Expression) -> None:
        """Add the rows ``nominal``: what owners use of each column is within their nominal quota."""
        quotas = _quotas(self.instance.queues)
        listed = self.model.subset("O", (self.owners, self.columns), quotas.listed[self.at], "o lists q")
        own = np.nan_to_num(quotas.nominal[self.at])
        most = self.model.parameter("N", (self.owners, self.columns), own, "nominal quota of o")
        self.model.constraint(
            "nominal", self.sums(self.use * share) <= most, over=(self.owners, self.columns), where=listed
        )
        self.model.define("used", self.sums(self.use * share))

    def limit(self, share: Expression) -> None:
        """Add the rows ``limit``: task limits, of all lanes of a user together."""
        small, most = self.lanes.instance, normalisers.dominant(self.lanes.instance)
        region.caps(self.model, small, share, most)
        if not self.lanes.split:
            region.task_limits(self.model, small, share, LIMIT, unit=most)
            return
        m = self.instance.users.alias("m")
        limits = self.instance.task_limits
        finite = self.model.subset("L", m, np.isfinite(limits), "the number of tasks that m has is given")
        one = (np.arange(len(m))[:, None] == self.lanes.user) * most
        tasks = self.model.parameter("W", (m, small.users), one, "tasks of m in a dominant share of its lane n")
        given = self.model.parameter("T", m, np.where(np.isfinite(limits), limits, 0.0), "tasks that m has")
        self.model.constraint("limit", (tasks * share).sum(small.users) <= given, where=finite)


def _quotas(queues: Queues | None) -> Quotas:
    """Return the quotas of a tree that has some."""
    assert queues is not None and queues.quotas is not None
    return queues.quotas


def _shares_on_servers(books: Books) -> Variable:
    """Add dominant shares on servers, the rows ``capacity`` and the definition ``tasks``."""
    model, small = books.model, books.lanes.instance
    n, i, r = small.users, small.servers, small.resources
    d = model.parameter(
        "d_hat", (n, r), normalisers.normalised_demands(small), "demand of n, as part of its dominant one"
    )
    there = small.capacities * small.counts[:, None] / small.pool
    c = model.parameter("c", (i, r), there, "capacity of i, as a fraction of the pool")
    gamma = model.parameter("Gamma", n, normalisers.dominant(small), "tasks n could run alone on the pool")
    g = model.variable("g", n, i, where=where_runs(model, small), doc="dominant share of n on i")
    model.constraint("capacity", (d * g).sum(n) <= c)
    model.define("tasks", gamma * g)
    model.define("capacity_unit", model.parameter("C", r, small.pool, "capacity of the pool"))
    return g


def quota_rows(model: Model, instance: Instance, users: tuple[Index, np.ndarray], consumed: Expression) -> None:
    """Add what is in use by queue and quota, and its limits, with borrowing and lending.

    Parameters
    ----------
    model : Model
    instance : Instance
    users : tuple of (Index, ndarray of int)
        Users of the model, and the queue of each.
    consumed : Expression
        What each of them takes of each column of the quotas.
    """
    queues, (n, of) = instance.queues, users
    quotas = _quotas(queues)
    assert queues is not None
    tree, said = QuotaTree(queues, len(instance.resources)), _concerned(queues)
    k, q = Index("k", queues.paths.labels[said], "queue"), Index("q", list(quotas.columns), "quota")
    j = k.alias("j")
    place = np.full(len(queues), -1)
    place[said] = np.arange(len(said))
    at = place.copy()
    for queue in range(1, len(queues)):  # parents come first
        at[queue] = at[queue] if at[queue] >= 0 else at[queues.parents[queue]]
    inside = np.arange(len(said))[:, None]
    stands = model.parameter("Z", (k, n), inside == at[of], "1 where n is in k, and in no queue with quotas below it")
    below = (place[queues.parents[said]] == inside) & (said > 0)
    child = model.parameter("H", (k, j), below, "1 where j is a child of k")
    kept = model.parameter("K", (k, q), tree.kept[said], "what k keeps for itself")
    used = model.variable("U", k, q, doc="what is in use in k")
    e = model.variable("e", k, q, doc="what k takes of what its parent has")
    model.constraint("usage", used == (stands * consumed).sum(n) + (child * e[j, q]).sum(j))
    model.constraint("taken", e >= used - kept)
    finite = np.isfinite(tree.limits[said])
    most = model.parameter("S", (k, q), np.where(finite, tree.limits[said], 0.0), "what k may use at most")
    some = model.subset("P", (k, q), finite, "k may not borrow without end")
    model.constraint("quota", used <= most, over=(k, q), where=some)


def _concerned(queues: Queues) -> np.ndarray:
    """Return the positions of the queues that list quotas, and of those above them."""
    said = np.array(_quotas(queues).listed.any(axis=1), dtype=bool)
    said[0] = True
    for v in range(len(queues) - 1, 0, -1):
        said[queues.parents[v]] |= said[v]
    return np.flatnonzero(said)


def within_quotas(model: Model, instance: Instance, tasks: Expression) -> None:
    """Add the rows of quotas to a model with tasks over the instance's own users and servers, as audits have."""
    lanes, n, i = Lanes.of(instance), instance.users, instance.servers
    q, queues = Index("q", list(_quotas(instance.queues).columns), "quota"), instance.queues
    assert queues is not None
    use = np.zeros((len(n), len(i), len(q)))
    for user, where, amounts in zip(lanes.user, lanes.instance.runnable(), lanes.use, strict=True):
        use[user, where] = amounts
    there = model.parameter("a", (n, i, q), use, "amount of q that one task of n takes on i")
    quota_rows(model, instance, (n, queues.of), (there * tasks).sum(i))
