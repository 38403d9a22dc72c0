"""``Instance``: users, servers and resources, checked once, immutable, with their labels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import numpy as np
import pandas as pd

from ...errors import InstanceError, TooLargeError, counted
from ...keywords import lists
from ..notation.expressions import Index
from ..notation.labels import (
    aligned,
    arranged,
    carries_labels,
    in_order,
    labels_on,
    require_labels,
    require_text,
)
from ..programs.views import table
from . import checks
from .arithmetic import effort, tasks_alone
from .conditions import Columns, evaluate

if TYPE_CHECKING:
    from .queues import Queues
    from .quotas import Quotas

__all__ = ["EVERYWHERE"]

# The two tables of an instance, demands and capacities, and whose labels its indices have.


@cache
def named_axes(table: str) -> tuple[Index, Index]:
    """Return what the axes of demands or capacities are called, before their labels are known."""
    rows = Index("n", (), "user") if table == "demands" else Index("i", (), "server")
    return rows, Index("r", (), "resource")


def indices_and_tables(
    demands: Any, capacities: Any, users: Any, servers: Any, resources: Any
) -> tuple[Index, Index, Index, np.ndarray, np.ndarray]:
    """Return the indices, and the checked tables of demands N×R and capacities K×R in order.

    Labels that are given are the ones; else those of demands and capacities, last a default index
    of pandas.
    """
    if _one_server(capacities):
        capacities = [capacities]
    demands = arranged(demands, named_axes("demands"), "the table of demands", InstanceError)
    capacities = arranged(
        capacities, named_axes("capacities"), "the table of capacities", InstanceError
    )
    axis_labels = (
        _first("users", users, labels_on(demands, 0)),
        _first("servers", servers, labels_on(capacities, 0)),
        _first("resources", resources, labels_on(demands, 1), labels_on(capacities, 1)),
    )
    kinds = (("n", "user"), ("i", "server"), ("r", "resource"))
    n, i, r = (
        None if labels is None else Index._of_checked(symbol, checks.distinct(labels, noun), noun)
        for labels, (symbol, noun) in zip(axis_labels, kinds, strict=True)
    )
    d, c = checks.tables(
        aligned(demands, (n, r), "the table of demands", InstanceError),
        aligned(capacities, (i, r), "the table of capacities", InstanceError),
        n,
        i,
        r,
    )
    sizes = (len(d), len(c), d.shape[1])
    n, i, r = (
        _index_of_size(index, size, symbol, noun)
        for index, size, (symbol, noun) in zip((n, i, r), sizes, kinds, strict=True)
    )
    checks.amounts(d, "demand", n, r)
    checks.amounts(c, "capacity", i, r)
    checks.offered_and_demanded(d, c, n, r)
    return n, i, r, d, c


def _index_of_size(index: Index | None, size: int, symbol: str, noun: str) -> Index:
    """Return an index for so many rows or columns: the one with labels, else a new one."""
    if index is not None and len(index) == size:
        return index
    labels = None if index is None else index.labels
    return Index._of_checked(symbol, checks.labels(labels, size, noun), noun)


def _first(name: str, value: Any, *carried: Any) -> Any:
    """Return the labels that were given, else those that a table carries, a default index last."""
    if isinstance(value, list) and all(type(label) is str for label in value):
        require_labels(value, name, InstanceError)  # as below, and no index is made of them
        return value
    if value is not None:
        return list(in_order(value, name, InstanceError))
    table_labels = [labels for labels in carried if labels is not None]
    return next(
        (list(labels) for labels in table_labels if not isinstance(labels, pd.RangeIndex)),
        list(table_labels[0]) if table_labels else None,
    )


def _one_server(capacities: Any) -> bool:
    """Whether capacities are labelled and of one server only, a number for each resource."""
    if isinstance(capacities, pd.Series):
        return not isinstance(capacities.index, pd.MultiIndex) and all(
            np.ndim(entry) == 0 for entry in capacities
        )
    if not isinstance(capacities, Mapping):
        return carries_labels(capacities) and capacities.ndim == 1  # of xarray
    return all(
        np.ndim(entry) == 0 and not isinstance(entry, Mapping) for entry in capacities.values()
    )


class FrameOptions(TypedDict, total=False):
    """What an instance has beside its tables of users, servers and queues."""

    resources: Any
    units: Mapping[str, str] | None
    eligible: Any
    rates: Any
    name: str


class InstanceData(FrameOptions, total=False):
    """The arguments of :meth:`Instance.from_arrays` as keywords."""

    demands: Any
    capacities: Any
    users: Any
    servers: Any
    weights: Any
    task_limits: Any
    job_sizes: Any
    counts: Any
    entitlements: Any
    queue: Any
    queues: Any
    server_attributes: pd.DataFrame | None
    user_attributes: pd.DataFrame | None


#: Stands for a mask that is True everywhere, and takes no memory.
EVERYWHERE = np.array(True)
#: Stands for job sizes of 1.
SINGLE_TASKS = np.array(1)
#: More pairs of user and server than this are not written one by one.
MOST_PAIRS = 2**28
#: Where users can run is computed once for an instance with at most so many pairs.
_FEW_PAIRS = 10_000
#: Fields that leave what is computed of the tables as it is, and the names of that.
_APART_FROM_TABLES = frozenset(
    {"weights", "task_limits", "job_sizes", "entitlements", "conditions", "name", "user_attributes"}
)
_OF_TABLES = ("pool", "tasks_in_pool", "tree", "has_constraints", "_few_runnable")
_ARRAYS = (
    "demands",
    "capacities",
    "counts",
    "weights",
    "task_limits",
    "job_sizes",
    "eligible",
    "rates",
    "entitlements",
)


class AttributeTable:
    """A field with a table of free columns; without any, it is made of the labels when it is read.

    Parameters
    ----------
    axis : str
        The field whose labels the rows have: "servers".
    """

    def __init__(self, axis: str) -> None:
        self.axis = axis

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Instance | None, owner: type) -> pd.DataFrame | None:
        if instance is None:
            return None  # the default of the field: no columns
        table: pd.DataFrame | None = vars(instance)[self.name]
        if table is None:
            table = pd.DataFrame(index=getattr(instance, self.axis).labels)
            vars(instance)[self.name] = table
        return table

    def __set__(self, instance: Instance, table: pd.DataFrame | None) -> None:
        vars(instance)[self.name] = table


@dataclass(frozen=True, eq=False)
class Instance:
    """An allocation problem: who demands what, and what there is.

    Make one with :meth:`from_arrays`, :meth:`from_frames`, :func:`fairlp.read` or
    :mod:`fairlp.examples`.

    Attributes
    ----------
    users, servers, resources : Index
        Labelled indices ``n``, ``i`` and ``r``; iterate over one for its labels.
    demands : ndarray, shape (N, R)
        Amount of each resource that one task of a user needs (d[n,r]).
    capacities : ndarray, shape (K, R)
        Amount of each resource in one server of each row (c[i,r]).
    counts : ndarray of int, shape (K,)
        Number of identical servers that a row stands for.
    weights : ndarray, shape (N,) or (N, R)
        Weights φ[n], or per-resource weights w[n,r]. A common factor of all changes nothing; one of
        a single resource makes that resource count less for every user, so let all columns have
        one sum (Parkes et al., §6.3).
    task_limits : ndarray, shape (N,)
        Number of tasks that a user has; infinite for no limit.
    job_sizes : ndarray of int, shape (N,)
        Tasks of each of a user's jobs: they run at once or not at all. Mechanisms share tasks;
        :func:`fairlp_clusters.fair_shares`, :func:`fairlp_clusters.report` and
        :func:`fairlp.audit` count whole jobs.
    eligible : ndarray of bool, shape (N, K)
        Where a user may run (δ[n,i]).
    rates : ndarray, shape (N, K), or None
        Tasks that a user could run alone on one server of each row, where given instead of computed
        (γ[n,i]).
    entitlements : ndarray, shape (N,), or None
        Fractions of the whole that users are entitled to; they sum to 1.
    queues : Queues or None
        The tree of queues that users stand in, with weights, guarantees, caps and quotas.
    units : dict
        Unit of each resource.
    server_attributes, user_attributes : DataFrame
        Free columns, such as the GPU model of a server or the arrival of a user.
    conditions : tuple of (str or None)
        The condition on server attributes that a user's eligibility was given by, if it was.
    name : str
    """

    users: Index
    servers: Index
    resources: Index
    demands: np.ndarray
    capacities: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    task_limits: np.ndarray
    job_sizes: np.ndarray = field(default_factory=lambda: SINGLE_TASKS)
    eligible: np.ndarray = field(default_factory=lambda: EVERYWHERE)
    rates: np.ndarray | None = None
    entitlements: np.ndarray | None = None
    queues: Queues | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    server_attributes: pd.DataFrame = cast("pd.DataFrame", AttributeTable("servers"))  # noqa: RUF009
    user_attributes: pd.DataFrame = cast("pd.DataFrame", AttributeTable("users"))  # noqa: RUF009
    conditions: tuple[str | None, ...] = ()
    name: str = ""

    @classmethod
    def from_arrays(
        cls,
        demands: Any,
        capacities: Any,
        eligible: Any = None,
        *,
        users: Any = None,
        servers: Any = None,
        resources: Any = None,
        weights: Any = None,
        task_limits: Any = None,
        job_sizes: Any = None,
        counts: Any = None,
        rates: Any = None,
        entitlements: Any = None,
        queue: Any = None,
        queues: Any = None,
        units: Mapping[str, str] | None = None,
        server_attributes: pd.DataFrame | None = None,
        user_attributes: pd.DataFrame | None = None,
        name: str = "",
    ) -> Instance:
        """Return an instance from arrays or labelled data (frames, Series, xarray, mappings).

        Labelled input is put in the order of the instance's labels, or refused where labels are
        missing, unknown or there twice. Dimensions and levels that are named (user, server,
        resource) may be in any order. A default index 0, 1, … of pandas is labels like any other;
        arrays and lists go by position.

        Parameters
        ----------
        demands : array_like, shape (N, R)
            Per task, each >= 0 and at least one positive for each user.
        capacities : array_like, shape (K, R) or (R,)
            Per server, each >= 0.
        users, servers, resources : sequence of str or int, optional
            Labels; by default those that demands or capacities carry, or ``user1``, ``server1``,
            ``resource1``, …
        weights : array_like, shape (N,) or (N, R), optional
            Each > 0; default 1.
        eligible : array_like of bool, shape (N, K), or list, optional
            A list has one entry for each user: None (anywhere), a condition on server attributes
            (``"gpu_model in ['T4', 'P100']"``), or a list of servers.
        task_limits : array_like, shape (N,), optional
            Each >= 0, infinite for no limit (the default).
        job_sizes : array_like of int, shape (N,), optional
            Tasks of each job, which run at once or not at all; each >= 1 (the default). A task
            limit has to be a multiple of it.
        counts : array_like of int, shape (K,), optional
            Identical servers of each row; default 1.
        rates : array_like, shape (N, K), optional
            γ[n,i], given instead of computed; 0 where a server lacks what the user's tasks need.
        entitlements : array_like, shape (N,), optional
            They sum to 1.
        queue : sequence, Series or mapping of str, optional
            Path of each user's queue (``"org/team"``), the root where None; users of one queue are
            its leaves.
        queues : mapping or DataFrame, optional
            By path: a weight, or a mapping with ``weight`` (default 1), ``guarantee`` and ``cap``
            (mappings from resources to amounts); a table has columns ``weight``,
            ``guarantee:<resource>``, ``cap:<resource>``.
        units : mapping, optional
            Unit of each resource.
        server_attributes, user_attributes : DataFrame, optional
            One row for each label.
        name : str

        Returns
        -------
        Instance

        Raises
        ------
        InstanceError
            When something is missing, negative, infinite, of a wrong shape, or contradictory.

        Examples
        --------
        >>> instance = Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"])
        >>> instance
        <Instance: 2 users, 1 server, resources cpu, memory>
        """
        n, i, r, d, c = indices_and_tables(demands, capacities, users, servers, resources)
        require_text(name, "the name of an instance", InstanceError)
        given_rates = checks.rates(rates, n, i)
        checks.rates_fit(given_rates, d, c, (n, i, r))
        attributes = checks.attributes(server_attributes, i)
        mask = None
        conditions: tuple[str | None, ...] = ()
        if eligible is not None:
            from .conditions import resolve

            mask, conditions = resolve(eligible, n, i, c, r, attributes)
        tree = None
        if queue is not None or queues is not None:
            from .queues import resolve as tree_of

            tree = tree_of(queue, queues, n, r)
        limits = checks.task_limits(task_limits, n)
        sizes = checks.job_sizes(job_sizes, limits, n)
        instance = cls(
            users=n,
            servers=i,
            resources=r,
            demands=d,
            capacities=c,
            rates=given_rates,
            units=checks.units(units, r),
            counts=checks.counts(counts, i, c, r),
            weights=checks.weights(weights, d, n, r),
            task_limits=limits,
            job_sizes=SINGLE_TASKS if sizes is None else sizes,
            eligible=EVERYWHERE if mask is None else mask,
            entitlements=checks.entitlements(entitlements, n),
            queues=tree,
            server_attributes=cast(pd.DataFrame, attributes),
            user_attributes=cast(pd.DataFrame, checks.attributes(user_attributes, n)),
            conditions=conditions,
            name=name,
        )._frozen()
        if instance.tree.quotas is not None:
            instance.quotas.servers(instance)  # flavors name what servers have
        return instance

    @classmethod
    @lists(FrameOptions)
    def from_frames(
        cls,
        users: pd.DataFrame,
        servers: pd.DataFrame,
        queues: Any = None,
        **options: Unpack[FrameOptions],
    ) -> Instance:
        """Return an instance from a table of users and a table of servers.

        The page ``docs/file-formats.md`` lists their columns.

        Parameters
        ----------
        users, servers : DataFrame
        queues : DataFrame or mapping, optional
        **options
            ``resources``, ``units``, ``eligible``, ``rates`` and ``name``.

        Returns
        -------
        Instance

        Examples
        --------
        >>> import fairlp
        >>> import pandas as pd
        >>> users = pd.DataFrame({"cpu": [1, 3], "memory": [4, 1]}, index=["A", "B"])
        >>> servers = pd.DataFrame({"cpu": [9], "memory": [18]}, index=["server"])
        >>> fairlp.Instance.from_frames(users, servers)
        <Instance: 2 users, 1 server, resources cpu, memory>
        """
        from ..files.frames import from_frames

        return from_frames(users, servers, queues, **options)

    def to_frames(self) -> tuple[pd.DataFrame, ...]:
        """Return the tables of users, servers and any queues, as :meth:`from_frames` takes them.

        Returns
        -------
        tuple of DataFrame
            Two, or with queues three.

        Examples
        --------
        >>> import fairlp
        >>> users, servers = fairlp.examples.load("ghodsi").to_frames()
        >>> users
              cpu [CPUs]  memory [GB]
        user
        A            1.0          4.0
        B            3.0          1.0
        """
        from ..files.frames import to_frames

        return to_frames(self)

    def write(self, path: str | Path) -> list[Path]:
        """Write as JSON or YAML, from which :func:`fairlp.read` restores it.

        Parameters
        ----------
        path : str or Path
            A name without an ending is a folder.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        FileFormatError
            When the format is unknown, or cannot hold the instance.

        Examples
        --------
        >>> import fairlp
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = fairlp.examples.load("ghodsi").write(Path(folder) / "ghodsi.yaml")[0]
        ...     print(fairlp.read(path))
        <Instance 'ghodsi': 2 users, 1 server, resources cpu, memory>
        """
        from ..files.instances import write

        return write(self, path)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of rows of servers."""
        return len(self.users), len(self.servers)

    @property
    def total_capacities(self) -> np.ndarray:
        """Capacity of all ``counts[i]`` servers of each row together, shape (K, R)."""
        return np.asarray(self.capacities * self.counts[:, None])

    @property
    def n_servers(self) -> int:
        """Number of servers, identical ones counted."""
        return int(self.counts.sum())

    @cached_property
    def pool(self) -> np.ndarray:
        """Capacity of the whole cluster by resource (C[r] = Σ_i c[i,r])."""
        pool = np.asarray(self.counts @ self.capacities, dtype=float)
        pool.setflags(write=False)
        return pool

    @cached_property
    def tasks_in_pool(self) -> np.ndarray:
        """Tasks of each user alone in the whole cluster as one server, shape (N,)."""
        tasks = tasks_alone(self.demands, self.pool[None, :])[:, 0]
        tasks.setflags(write=False)
        return tasks

    @property
    def user_weights(self) -> np.ndarray:
        """Weights φ[n]; an error when they are given per resource."""
        if self.has_resource_weights:
            raise InstanceError(
                "weights are given per resource here; this needs one weight for each user"
            )
        return self.weights

    @property
    def has_rates(self) -> bool:
        """Whether rates of users on servers are given (psdsf, gavel), in place of demands alone."""
        return self.rates is not None

    @property
    def has_queues(self) -> bool:
        """Whether users stand in queues; :attr:`tree` is a root alone where they do not."""
        return self.queues is not None

    @property
    def has_resource_weights(self) -> bool:
        """Whether users have a weight for each resource."""
        return self.weights.ndim == 2

    @cached_property
    def has_constraints(self) -> bool:
        """Whether some user may not run on some server."""
        return self.eligible.strides != (0, 0) and not bool(self.eligible.all())

    @cached_property
    def has_jobs(self) -> bool:
        """Whether tasks of some user run several at once or not at all."""
        return bool((self.job_sizes > 1).any())

    @cached_property
    def tree(self) -> Queues:
        """The queues; where none were given, the root alone, in which all users stand."""
        from .queues import Queues

        return self.queues or Queues.root(len(self.users), len(self.resources))

    @property
    def quotas(self) -> Quotas:
        """Quotas of the queues; an error where no queue has one."""
        if self.tree.quotas is None:
            raise InstanceError("no queue has a quota here; this needs nominal quotas of queues")
        return self.tree.quotas

    @property
    def queue(self) -> tuple[str, ...] | None:
        """Path of each user's queue; None where there are no queues."""
        return None if self.queues is None else self.queues.names()

    def gamma(self, *, ignore_placement: bool = False) -> np.ndarray:
        """Return γ[n,i], the tasks that n could run alone on all ``counts[i]`` servers of row i.

        δ[n,i]·min over r with d[n,r] > 0 of c[i,r]/d[n,r], times the count; or the given rates.
        O(N·K·R).

        Parameters
        ----------
        ignore_placement : bool
            As if everyone were eligible everywhere.

        Returns
        -------
        ndarray, shape (N, K)

        Examples
        --------
        >>> Instance.from_arrays([[1, 2], [0, 3]], [[9, 12], [12, 0]]).gamma()
        array([[6., 0.],
               [4., 0.]])
        """
        if self.rates is not None:
            alone = self.rates * self.counts
        else:
            alone = tasks_alone(self.demands, self.capacities)
            alone *= self.counts
        if not ignore_placement and self.has_constraints:
            alone[~self.eligible] = 0.0
        return np.asarray(alone)

    def runnable(self) -> np.ndarray:
        """Where each user can run at all: eligible, and all that it demands is there.

        Returns
        -------
        ndarray of bool, shape (N, K)

        Examples
        --------
        >>> import fairlp
        >>> fairlp.Instance.from_arrays([[1, 2], [0, 3]], [[9, 12], [12, 0]]).runnable()
        array([[ True, False],
               [ True, False]])
        """
        if len(self.users) * len(self.servers) > _FEW_PAIRS:
            return self._where_runnable()
        return self._few_runnable.copy()

    @cached_property
    def _few_runnable(self) -> np.ndarray:
        return self._where_runnable()

    def _where_runnable(self) -> np.ndarray:
        if self.rates is not None:
            available = self.rates > 0
        else:
            # a pattern of demanded resources meets a pattern of missing ones
            available = (
                (self.demands > 0).astype(np.float32) @ (self.capacities == 0).T.astype(np.float32)
            ) == 0
        return available & self.eligible if self.has_constraints else available

    @cached_property
    def has_oversized(self) -> bool:
        """Whether the task of some user fits no single eligible server."""
        from .merging import merge_servers

        if self.rates is None and not self.has_constraints:
            largest_demands = self.demands.max(axis=0, initial=0.0)
            if (self.capacities >= largest_demands).all(axis=1).any():
                return False  # one server holds any task
        merged, _ = merge_servers(self)
        return bool(((merged.gamma() / merged.counts).max(axis=1) < 1).any())

    def oversized(self) -> pd.DataFrame:
        """Return the users whose task fits no single eligible server, and each one's best one.

        Returns
        -------
        DataFrame
            Indexed by user: ``server`` that comes nearest, ``fraction`` of a task that fits there,
            ``resource`` short.

        Examples
        --------
        >>> import fairlp
        >>> fairlp.Instance.from_arrays([[8, 1]], [[4, 4], [6, 6]]).oversized()
                server  fraction   resource
        user
        user1  server2      0.75  resource1
        """
        rows = oversized_rows(self)
        return pd.DataFrame(rows, columns=["user", "server", "fraction", "resource"]).set_index(
            "user"
        )

    def runnable_users(self, runs: np.ndarray | None = None) -> np.ndarray:
        """Return the users who can run anything: others would hold a level at 0 for ever.

        Parameters
        ----------
        runs : ndarray of bool, shape (N, K), optional
            Where each user can run; by default :meth:`runnable`.

        Returns
        -------
        ndarray of bool, shape (N,)

        Examples
        --------
        >>> import fairlp
        >>> fairlp.examples.load("ghodsi").runnable_users().tolist()
        [True, True]
        """
        where = self.runnable() if runs is None else runs
        can_run = where.any(axis=1) & (self.task_limits > 0)
        if self.queues is not None:
            can_run &= ~self.tree.barred(self.demands)
        return np.asarray(can_run)

    def pooled(self) -> Instance:
        """Return the same users on all servers summed into one, without constraints and rates.

        Returns
        -------
        Instance

        Examples
        --------
        >>> import fairlp
        >>> cluster = fairlp.examples.load("wang-figure-1")
        >>> cluster.pooled()
        <Instance 'wang-figure-1': 2 users, 1 server, resources cpu, memory>
        """
        return self.derived(
            servers=Index("i", pd.Index(["pool"], dtype=object), "server"),
            capacities=self.pool[None, :],
            counts=np.ones(1, dtype=np.int64),
            eligible=EVERYWHERE,
            rates=None,
            server_attributes=None,
            conditions=(),
        )

    def expanded(self) -> Instance:
        """Return the same with one row for every server.

        A row "big" of 2 servers becomes the rows "big #1" and "big #2".

        Returns
        -------
        Instance

        Raises
        ------
        TooLargeError
            When that would be too many pairs of user and server.
        InstanceError
            When a new label is that of another row.

        Examples
        --------
        >>> import fairlp
        >>> cluster = fairlp.Instance.from_arrays([[1, 1]], [[4, 4]], servers=["big"], counts=[2])
        >>> cluster.expanded().servers
        <Index i: 2 servers big #1, big #2>
        """
        if (self.counts == 1).all():
            return self
        servers = float(self.counts.sum(dtype=float))
        users = len(self.users)
        if servers * users > MOST_PAIRS:
            raise TooLargeError(
                f"{servers:,.0f} servers one by one are {servers * users:,.0f} pairs with "
                f"{users:,} users; expected at "
                f"most {MOST_PAIRS:,} (counts of identical servers cost nothing)"
            )
        row = np.repeat(np.arange(len(self.counts)), self.counts)
        labels = [
            name if count == 1 else f"{name} #{k + 1}"
            for name, count in zip(self.servers, self.counts.tolist(), strict=True)
            for k in range(count)
        ]
        return of_servers(self, row).derived(
            servers=Index("i", labels, "server"),
            counts=np.ones(len(row), dtype=np.int64),
            server_attributes=self.server_attributes.iloc[row].set_axis(labels, axis=0),
        )

    def over_rounds(self, rates: Any) -> Instance:
        """Return the same servers in several rounds, each with rates of its own (``shockwave``).

        A server in another round is another row: row "V100" is "V100 @1" in round 1. The attributes
        ``round`` and ``kind`` of the servers say which row is which.

        Parameters
        ----------
        rates : DataFrame, mapping or array_like
            Tasks that each user runs alone on one server, as ``rates=``, in each round: a table of
            users × (round, server), a mapping round → table of users × servers, or an array of shape
            (N, K, S), whose rounds are 1 to S.

        Returns
        -------
        Instance

        Raises
        ------
        InstanceError
            For rates that are no finite numbers of at least 0, of another shape or of other labels.

        Examples
        --------
        >>> import fairlp
        >>> jobs = fairlp.Instance.from_arrays([[1], [1]], [[1]], servers=["V100"])
        >>> later = jobs.over_rounds([[[1, 4]], [[2, 2]]])
        >>> later.servers, later.rates.tolist()
        (<Index i: 2 servers V100 @1, V100 @2>, [[1.0, 4.0], [2.0, 2.0]])
        """
        from .rounds import over_rounds

        return over_rounds(self, rates)

    def effort(self) -> np.ndarray | None:
        """Return the multiple of its demands that a task of n needs on i to run at the rate γ[n,i].

        Returns
        -------
        ndarray, shape (N, K), or None
            None where no rates are given: then a task needs its demands everywhere.

        Examples
        --------
        >>> import fairlp
        >>> fairlp.Instance.from_arrays([[1]], [[4], [4]], rates=[[4, 2]]).effort().tolist()
        [[1.0, 2.0]]
        """
        return effort(self)

    def equal_servers(self, attributes: pd.DataFrame) -> np.ndarray:
        """Return the class of each row of servers; equal capacity and attributes make one class.

        Parameters
        ----------
        attributes : DataFrame
            The attributes that count, by server.

        Returns
        -------
        ndarray of int, shape (K,)
            From 0, in the order of the servers.

        Examples
        --------
        >>> import fairlp
        >>> instance = fairlp.Instance.from_arrays([[1]], [[2], [4], [2]])
        >>> instance.equal_servers(instance.server_attributes).tolist()
        [0, 1, 0]
        """
        from .merging import equal_servers

        return equal_servers(self, attributes)

    def merged_servers(self) -> Instance:
        """Return the instance with equal servers in one row each, with their count.

        Returns
        -------
        Instance

        Examples
        --------
        >>> import fairlp
        >>> fairlp.Instance.from_arrays([[1]], [[2], [4], [2]]).merged_servers().counts.tolist()
        [2, 1]
        """
        from .merging import merge_servers

        return merge_servers(self)[0]

    def servers_where(self, condition: str, who: str = "the condition") -> np.ndarray:
        """Return the servers that meet a condition, as users' ``eligible`` states them.

        Parameters
        ----------
        condition : str
            On attributes and capacities of servers.
        who : str
            Whose condition it is, in the message of one that cannot be read.

        Returns
        -------
        ndarray of bool, shape (K,)

        Examples
        --------
        >>> import fairlp
        >>> instance = fairlp.Instance.from_arrays([[1]], [[2], [4]], resources=["cpu"])
        >>> instance.servers_where("cpu >= 3").tolist()
        [False, True]
        """
        columns = Columns(self.server_attributes, self.capacities, self.resources)
        return evaluate(condition, columns, who)

    def remaining_users(self, positions: np.ndarray) -> Instance:
        """Return the instance of these users, entitled in the proportions in which they were.

        Where none of them was entitled to anything they share by their weights.

        Parameters
        ----------
        positions : ndarray of int

        Returns
        -------
        Instance

        Examples
        --------
        >>> import fairlp, numpy as np
        >>> shares = fairlp.Instance.from_arrays([[1], [1], [1]], [[6]], entitlements=[0.5, 0.3, 0.2])
        >>> shares.remaining_users(np.array([1, 2])).entitlements.tolist()
        [0.6, 0.4]
        """
        from .requests import remaining_users

        return remaining_users(self, positions)

    def select_users(self, positions: np.ndarray) -> Instance:
        """Return the instance with these users only, by position, and without entitlements.

        Entitlements are dropped because they no longer sum to 1.

        Parameters
        ----------
        positions : ndarray of int

        Returns
        -------
        Instance

        Examples
        --------
        >>> import fairlp
        >>> import numpy as np
        >>> cluster = fairlp.examples.load("wang-figure-1")
        >>> cluster.select_users(np.array([1]))
        <Instance 'wang-figure-1': 1 user, 2 servers, resources cpu, memory>
        """
        return self.derived(
            users=self.users.rows(positions),
            demands=self.demands[positions],
            weights=self.weights[positions],
            task_limits=self.task_limits[positions],
            job_sizes=self.job_sizes[positions] if self.has_jobs else SINGLE_TASKS,
            eligible=self.eligible[positions] if self.has_constraints else EVERYWHERE,
            rates=None if self.rates is None else self.rates[positions],
            entitlements=None,
            queues=None if self.queues is None else self.queues.select(positions),
            user_attributes=_rows_of_table(self, "user_attributes", positions),
            conditions=tuple(self.conditions[k] for k in positions) if self.conditions else (),
        )

    @lists(InstanceData)
    def replace(self, **changes: Unpack[InstanceData]) -> Instance:
        """Return a copy with other data, under the checks of :meth:`from_arrays`.

        What is not named stays; ``eligible=None`` lifts all placement constraints. Your arrays are
        copied.

        Parameters
        ----------
        **changes
            Arguments of :meth:`from_arrays`.

        Returns
        -------
        Instance

        Raises
        ------
        UnknownNameError
            For an argument that there is not.
        InstanceError
            For what does not fit.

        Examples
        --------
        >>> import fairlp
        >>> cluster = fairlp.examples.load("ghodsi")
        >>> fairlp.allocate(cluster.replace(weights=[2, 1]), "drf").shares.round(3).to_dict()
        {'A': 0.923, 'B': 0.462}
        """
        arguments: dict[str, Any] = {
            name: vars(self)[name] if name in vars(self) else getattr(self, name)
            for name in inspect.signature(Instance.from_arrays).parameters
        }
        if not self.has_jobs:
            arguments["job_sizes"] = None  # whatever users there are then
        if changes.get("queues", 0) is None:
            arguments["queue"] = None  # no tree, nowhere to stand
        instance = Instance.from_arrays(**{**arguments, **_attributes_of(self, changes), **changes})
        keeps_placement = "eligible" not in changes and len(instance.users) == len(self.users)
        return instance.derived(conditions=self.conditions) if keeps_placement else instance

    def derived(self, **changes: Any) -> Instance:
        """Return a copy with other arrays, unchecked.

        They must be right and belong to no other object.

        Parameters
        ----------
        **changes

        Returns
        -------
        Instance

        Examples
        --------
        >>> import fairlp
        >>> fairlp.examples.load("ghodsi").derived(name="renamed")
        <Instance 'renamed': 2 users, 1 server, resources cpu, memory>
        """
        # not dataclasses.replace, which would read, and so make, tables without columns
        own = {row.name: vars(self)[row.name] for row in fields(self)}
        copy = Instance(**{**own, **changes})._frozen()
        if _APART_FROM_TABLES.issuperset(changes):
            computed = {name: vars(self)[name] for name in _OF_TABLES if name in vars(self)}
            vars(copy).update(computed)
        return copy

    def equals(self, other: object) -> bool:
        """Whether two instances are the same: labels, numbers, attributes, units, conditions.

        Parameters
        ----------
        other : object

        Returns
        -------
        bool

        Examples
        --------
        >>> import fairlp
        >>> fairlp.examples.load("ghodsi").equals(fairlp.examples.load("ghodsi"))
        True
        """
        if not isinstance(other, Instance):
            return False
        indices = ("users", "servers", "resources")
        frames = ("server_attributes", "user_attributes")
        for name in indices:
            if list(getattr(self, name)) != list(getattr(other, name)):
                return False
        for name in _ARRAYS:
            if not np.array_equal(getattr(self, name), getattr(other, name)):
                return False

        if self.queues is None or other.queues is None:
            same_queues = self.queues is other.queues
        else:
            same_queues = self.queues.equals(other.queues)
        if not all(_same_frame(getattr(self, name), getattr(other, name)) for name in frames):
            return False
        texts = (self.units, self.conditions, self.name)
        return same_queues and texts == (other.units, other.conditions, other.name)

    def __post_init__(self) -> None:
        if self.eligible is EVERYWHERE:
            everywhere = np.broadcast_to(EVERYWHERE, self.shape)
            object.__setattr__(self, "eligible", everywhere)
        if self.job_sizes.strides in ((), (0,)):  # 1 of each user
            sizes = np.broadcast_to(SINGLE_TASKS, len(self.users))
            object.__setattr__(self, "job_sizes", sizes)

    def _frozen(self) -> Instance:
        for name in _ARRAYS:
            array = getattr(self, name)
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return self

    def __repr__(self) -> str:
        servers = self.n_servers
        rows = f" in {len(self.servers)} rows" if servers != len(self.servers) else ""
        constrained = ", placement constraints" if self.has_constraints else ""
        queued = ""
        if self.queues is not None:
            queued = f", {counted(len(self.queues) - 1, 'queue')}"
        name = f" {self.name!r}" if self.name else ""
        users = counted(len(self.users), "user")
        resources = ", ".join(map(str, self.resources))
        return (
            f"<Instance{name}: {users}, {counted(servers, 'server')}{rows}, "
            f"resources {resources}{constrained}{queued}>"
        )

    def _repr_html_(self) -> str:
        tables = (table(frame.replace(np.inf, np.nan)) for frame in self.to_frames())
        return "".join([f"<p>{escape(repr(self))}</p>", *tables])


def oversized_rows(instance: Instance) -> list[tuple[Any, Any, float, Any]]:
    """Return each user whose task fits no server, the best server, what fits, and what is short."""
    from .merging import merge_servers

    merged, groups = merge_servers(instance)
    alone = merged.gamma() / merged.counts
    where = alone.argmax(axis=1).tolist()
    best = alone.max(axis=1)
    rows = []
    for user in np.flatnonzero(best < 1).tolist():
        demand = instance.demands[user]
        capacity = merged.capacities[where[user]]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(demand > 0, capacity / demand, np.inf)
        server = instance.servers[int(groups.first[where[user]])]
        rows.append(
            (instance.users[user], server, best[user], instance.resources[int(ratio.argmin())])
        )
    return rows


def of_servers(instance: Instance, positions: np.ndarray) -> Instance:
    """Return the instance with these rows of servers only, by position."""
    return instance.derived(
        servers=instance.servers.rows(positions),
        capacities=instance.capacities[positions],
        counts=instance.counts[positions],
        eligible=instance.eligible[:, positions] if instance.has_constraints else EVERYWHERE,
        rates=None if instance.rates is None else instance.rates[:, positions],
        server_attributes=_rows_of_table(instance, "server_attributes", positions),
    )


def _rows_of_table(instance: Instance, name: str, positions: np.ndarray) -> pd.DataFrame | None:
    """Return these rows of a table of attributes, None while it has not been made."""
    table: pd.DataFrame | None = vars(instance)[name]
    return None if table is None else table.iloc[positions]


def _attributes_of(instance: Instance, changes: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the attributes of users and servers who are given other labels, under these."""
    attributes = {}
    for noun, axis in (("user", "demands"), ("server", "capacities")):
        if f"{noun}s" in changes:
            frame = vars(instance)[f"{noun}_attributes"]
            if frame is None:
                continue
            carried = changes[f"{noun}s"]
            if carried is None:
                table = arranged(
                    changes.get(axis), named_axes(axis), f"the table of {axis}", InstanceError
                )
                carried = labels_on(table, 0)
            else:
                carried = in_order(carried, f"{noun}s", InstanceError)
            if carried is None or len(carried) == len(frame):
                attributes[f"{noun}_attributes"] = frame.set_axis(
                    checks.labels(carried, len(frame), noun), axis=0
                )
    return attributes


def _same_frame(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Whether two tables hold the same, whatever the types of their columns."""
    if len(a) != len(b):
        return False
    return a.astype(object).equals(b.astype(object).set_axis(a.index))


def require_instance(instance: object) -> None:
    """Raise unless it is an Instance; the message says how to make one."""
    if not isinstance(instance, Instance):
        raise InstanceError(
            f"expected an Instance, not {type(instance).__name__}; make one with "
            "Instance.from_arrays, "
            "Instance.from_frames, fairlp.read(path) or fairlp.examples"
        )
