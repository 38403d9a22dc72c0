"""``Instance``: users, servers and resources, checked once, immutable, with their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..notation.expressions import Index
from . import checks
from .alone import able, tasks_alone_there
from .displays import html_of, text_of
from .problem import AllocationProblem

if TYPE_CHECKING:
    from .queues import Queues

#: Stands for a mask that is True everywhere, and takes no memory.
EVERYWHERE = np.array(True)


@dataclass(frozen=True, eq=False)
class Instance(AllocationProblem):
    """An allocation problem: who demands what, and what there is.

    Make one with :meth:`from_arrays`, :meth:`from_frames`, :func:`fairlp.read` or :mod:`fairlp.examples`.

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
        Weights φ[n], or per-resource weights w[n,r].
    task_limits : ndarray, shape (N,)
        Number of tasks that a user has; infinite for no limit.
    eligible : ndarray of bool, shape (N, K)
        Where a user may run (δ[n,i]).
    rates : ndarray, shape (N, K), or None
        Tasks that a user could run alone on one server of each row, where given instead of computed (γ[n,i]).
    entitlements : ndarray, shape (N,), or None
        Fractions of the whole that users are entitled to; they sum to 1.
    queues : Queues or None
        The tree of queues that users stand in, with weights, guarantees and caps.
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
    eligible: np.ndarray = field(default_factory=lambda: EVERYWHERE)
    rates: np.ndarray | None = None
    entitlements: np.ndarray | None = None
    queues: Queues | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    server_attributes: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())
    user_attributes: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())
    conditions: tuple[str | None, ...] = ()
    name: str = ""

    @classmethod
    def from_arrays(
        cls,
        demands: Any,
        capacities: Any,
        *,
        users: Any = None,
        servers: Any = None,
        resources: Any = None,
        weights: Any = None,
        eligible: Any = None,
        task_limits: Any = None,
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
        """Return an instance from arrays, or from what has labels: frames, Series, xarray, mappings to numbers.

        Labelled input is put in the order of the instance's labels, or refused where labels are missing, unknown or
        there twice. Dimensions and levels that are named (user, server, resource) may be in any order. A default index
        (0, 1, …) is no label and is read by position, unless the labels of the instance are those integers themselves.

        Parameters
        ----------
        demands : array_like, shape (N, R)
            Per task, each >= 0 and at least one positive for each user.
        capacities : array_like, shape (K, R) or (R,)
            Per server, each >= 0.
        users, servers, resources : sequence of str or int, optional
            Labels; by default those that demands or capacities carry, or ``user1``, ``server1``, ``resource1``, …
        weights : array_like, shape (N,) or (N, R), optional
            Each > 0; default 1.
        eligible : array_like of bool, shape (N, K); or a list with one entry for each user, optional
            An entry is None (anywhere), a condition on server attributes (``"gpu_model in ['T4', 'P100']"``), or a
            list of servers.
        task_limits : array_like, shape (N,), optional
            Each >= 0, infinite for no limit (the default).
        counts : array_like of int, shape (K,), optional
            Identical servers of each row; default 1.
        rates : array_like, shape (N, K), optional
            γ[n,i], given instead of computed; 0 where a server lacks what the user's tasks need.
        entitlements : array_like, shape (N,), optional
            They sum to 1.
        queue : sequence, Series or mapping of str, optional
            Path of each user's queue (``"org/team"``), the root where None; users of one queue are its leaves.
        queues : mapping or DataFrame, optional
            By path: a weight, or a mapping with ``weight`` (default 1), ``guarantee`` and ``cap`` (mappings from
            resources to amounts); a table has columns ``weight``, ``guarantee:<resource>``, ``cap:<resource>``.
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
        from .eligibility import resolve
        from .queues import resolve as tree_of
        from .tables import indices_and_tables

        n, i, r, d, c = indices_and_tables(demands, capacities, users, servers, resources)
        given_rates = checks.rates(rates, n, i)
        checks.rates_fit(given_rates, d, c, (n, i, r))
        described = checks.attributes(server_attributes, i)
        allowed, conditions = resolve(eligible, n, i, c, r, described)
        return cls(
            users=n,
            servers=i,
            resources=r,
            demands=d,
            capacities=c,
            rates=given_rates,
            units=checks.units(units, r),
            counts=checks.counts(counts, i, c, r),
            weights=checks.weights(weights, d, n, r),
            task_limits=checks.task_limits(task_limits, n),
            eligible=EVERYWHERE if allowed is None else allowed,
            entitlements=checks.entitlements(entitlements, n),
            queues=tree_of(queue, queues, n, r),
            server_attributes=described,
            user_attributes=checks.attributes(user_attributes, n),
            conditions=conditions,
            name=name,
        )._frozen()

    @classmethod
    def from_frames(cls, users: pd.DataFrame, servers: pd.DataFrame, **options: Any) -> Instance:
        """Return an instance from a table of users and a table of servers; see :mod:`fairlp.models.files.frames`.

        Parameters
        ----------
        users, servers : DataFrame
        **options
            ``resources``, ``units``, ``eligible``, ``rates``, ``queues`` and ``name``.

        Returns
        -------
        Instance
        """
        from ..files.frames import from_frames

        return from_frames(users, servers, **options)

    def to_frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the table of users and the table of servers, as :meth:`from_frames` takes them.

        Returns
        -------
        tuple of (DataFrame, DataFrame)
        """
        from ..files.frames import to_frames

        return to_frames(self)

    def write(self, path: str | Path) -> list[Path]:
        """Write as ``.json``, ``.yaml`` or a folder of CSVs; :func:`fairlp.read` gives the same instance back.

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
        """
        from ..files.instances import write

        return write(self, path)

    @cached_property
    def has_constraints(self) -> bool:
        """Whether some user may not run on some server."""
        return self.eligible.strides != (0, 0) and not bool(self.eligible.all())

    @property
    def queue(self) -> tuple[str, ...] | None:
        """Path of each user's queue; None where there are no queues."""
        return None if self.queues is None else self.queues.names()

    def gamma(self, *, ignore_placement: bool = False) -> np.ndarray:
        """Return γ[n,i], the tasks that n could run alone on the servers of row i (all ``counts[i]`` of them).

        δ[n,i]·min over r with d[n,r] > 0 of c[i,r]/d[n,r], times the count; or the given rates. O(N·K·R).

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
        return tasks_alone_there(self, ignore_placement)

    def runnable(self) -> np.ndarray:
        """Where each user can run at all: eligible, and all that it demands is there.

        Returns
        -------
        ndarray of bool, shape (N, K)
        """
        return able(self)

    def oversized(self) -> pd.DataFrame:
        """Return the users whose task fits no single eligible server, with the best server and what it lacks.

        Returns
        -------
        DataFrame
            Indexed by user: ``server`` that comes nearest, ``fraction`` of a task that fits there, ``resource`` short.
        """
        from .oversized import users_without_a_server

        return users_without_a_server(self)

    def pooled(self) -> Instance:
        """Return the same users with all servers summed into one (placement constraints and rates are dropped).

        Returns
        -------
        Instance
        """
        from .changes import pooled

        return pooled(self)

    def expanded(self) -> Instance:
        """Return the same with a row for every server: of a row "big" of 2, rows "big #1" and "big #2".

        Returns
        -------
        Instance

        Raises
        ------
        TooLargeError
            When that would be too many pairs of user and server.
        """
        from .expanding import expanded

        return expanded(self)

    def select_users(self, positions: np.ndarray) -> Instance:
        """Return the instance with these users only, by position (entitlements no longer sum to 1 and are dropped).

        Parameters
        ----------
        positions : ndarray of int

        Returns
        -------
        Instance
        """
        from .changes import selected

        return selected(self, positions)

    def replace(self, **changes: Any) -> Instance:
        """Return a copy with other data, checked as much as by :meth:`from_arrays`, whose arguments it takes.

        What is not named stays; ``eligible=None`` lifts all placement constraints. Your arrays are copied.

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
        """
        from .changes import replaced

        return replaced(self, changes)

    def derived(self, **changes: Any) -> Instance:
        """Return a copy with other arrays that are known to be right and belong to nobody else: nothing is checked.

        Parameters
        ----------
        **changes

        Returns
        -------
        Instance
        """
        return replace(self, **changes)._frozen()

    def equals(self, other: object) -> bool:
        """Whether two instances are the same: labels, numbers, attributes, units, conditions.

        Parameters
        ----------
        other : object

        Returns
        -------
        bool
        """
        from .equality import equal

        return isinstance(other, Instance) and equal(self, other)

    def __post_init__(self) -> None:
        if self.eligible is EVERYWHERE:
            everywhere = np.broadcast_to(EVERYWHERE, (len(self.users), len(self.servers)))
            object.__setattr__(self, "eligible", everywhere)

    def _frozen(self) -> Instance:
        arrays = ("demands", "capacities", "counts", "weights", "task_limits", "eligible", "rates", "entitlements")
        for name in arrays:
            array = getattr(self, name)
            if array is not None:
                array.setflags(write=False)
        return self

    __repr__ = text_of
    _repr_html_ = html_of
