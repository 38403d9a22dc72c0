"""``SparseInstance``: an allocation problem by pairs, where users × servers would not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InstanceError, TooLargeError
from ..notation.expressions import Index
from . import checks
from .alone import tasks_alone
from .instance import Instance
from .pairs import positions
from .problem import AllocationProblem
from .tables import indices_and_tables

if TYPE_CHECKING:
    from scipy import sparse

#: Users × servers of a dense instance, at most: its tables of floats are 2 GiB then.
MOST_DENSE = 2**28
#: Users whose rates on all servers are computed at a time.
_CHUNK = 256


@dataclass(frozen=True, eq=False)
class SparseInstance(AllocationProblem):
    """An allocation problem whose users may each run on a few servers: everything is stored by pair.

    Make one with :meth:`from_arrays` or :meth:`of`; :func:`fairlp.allocate` shares it by the max-min mechanisms.

    Attributes
    ----------
    users, servers, resources : Index
    demands, capacities, counts, weights, task_limits : ndarray
        As of an :class:`~fairlp.Instance`.
    eligible : scipy.sparse.csr_array of bool, shape (N, K)
        Where a user may run; each user somewhere.
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
    eligible: sparse.csr_array
    name: str = ""
    #: What a sparse instance has none of.
    rates = None
    queues = None
    entitlements = None

    @classmethod
    def from_arrays(
        cls,
        demands: Any,
        capacities: Any,
        eligible: Any,
        *,
        users: Any = None,
        servers: Any = None,
        resources: Any = None,
        weights: Any = None,
        task_limits: Any = None,
        counts: Any = None,
        name: str = "",
    ) -> SparseInstance:
        """Return an instance from arrays (or what has labels) and the pairs that are eligible.

        Parameters
        ----------
        demands, capacities, users, servers, resources, weights, task_limits, counts, name
            As for :meth:`fairlp.Instance.from_arrays`.
        eligible : sparse matrix, array or list
            A SciPy sparse matrix, users × servers, true where a user may run; an array of pairs of positions (user,
            server), of shape (E, 2); a table of True and False, users × servers; or, for each user, a list of servers
            by label (also as a mapping from users).

        Returns
        -------
        SparseInstance

        Raises
        ------
        InstanceError
            When something is missing, negative, infinite, of a wrong shape or contradictory.

        Examples
        --------
        >>> import fairlp
        >>> instance = fairlp.SparseInstance.from_arrays([[1, 2], [2, 1]], [[4, 4], [6, 6]], [(0, 0), (0, 1), (1, 1)])
        >>> instance
        <SparseInstance: 2 users, 2 servers, 3 pairs, resources resource1, resource2>
        """
        from scipy import sparse

        n, i, r, d, c = indices_and_tables(demands, capacities, users, servers, resources)
        user, server = positions(eligible, n, i)
        there = sparse.csr_array((np.ones(len(user), dtype=bool), (user, server)), shape=(len(n), len(i)))
        there.sum_duplicates()
        there.data[:] = True
        checks.eligible_somewhere(np.diff(there.indptr)[:, None] > 0, n)
        made = cls(
            users=n,
            servers=i,
            resources=r,
            demands=d,
            capacities=c,
            counts=checks.counts(counts, i, c, r),
            weights=checks.weights(weights, d, n, r),
            task_limits=checks.task_limits(task_limits, n),
            eligible=there,
            name=name,
        )
        for array in (d, c, made.counts, made.weights, made.task_limits):
            array.setflags(write=False)
        return made

    @classmethod
    def of(cls, instance: Instance) -> SparseInstance:
        """Return a dense instance by its pairs.

        Parameters
        ----------
        instance : Instance
            Without given rates and without queues.

        Returns
        -------
        SparseInstance

        Raises
        ------
        InstanceError
            For an instance with rates or queues.

        Examples
        --------
        >>> import fairlp
        >>> dense = fairlp.Instance.from_arrays([[1], [2]], [[4], [6]], eligible=[[True, False], [True, True]])
        >>> len(fairlp.SparseInstance.of(dense))
        3
        """
        from scipy import sparse

        checks.require_instance(instance)
        for what, found in (("given rates", instance.rates), ("queues", instance.queues)):
            if found is not None:
                raise InstanceError(f"a SparseInstance has no {what}; leave them out, or stay with the dense instance")
        names = ("users", "servers", "resources", "demands", "capacities", "counts", "weights", "task_limits", "name")
        return cls(**{name: getattr(instance, name) for name in names}, eligible=sparse.csr_array(instance.eligible))

    def dense(self) -> Instance:
        """Return the same as an :class:`~fairlp.Instance`, of users × servers.

        Returns
        -------
        Instance

        Raises
        ------
        TooLargeError
            When a table of users × servers would be too large.
        """
        size = len(self.users) * len(self.servers)
        if size > MOST_DENSE:
            raise TooLargeError(
                f"{len(self.users)} users × {len(self.servers)} servers make tables of {size / 2**27:.1f} GiB each; "
                "stay with the sparse instance"
            )
        return Instance.from_arrays(
            self.demands,
            self.capacities,
            users=list(self.users),
            servers=list(self.servers),
            resources=list(self.resources),
            weights=self.weights,
            eligible=self.eligible.toarray(),
            task_limits=self.task_limits,
            counts=self.counts,
            name=self.name,
        )

    @property
    def has_constraints(self) -> bool:
        """Whether some user may not run on some server."""
        return len(self) < len(self.users) * len(self.servers)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of user and server of every pair where a task can run: eligible, and all that it needs is there.

        In the order of users, then servers.
        """
        user = np.repeat(np.arange(len(self.users), dtype=np.int32), np.diff(self.eligible.indptr))
        server = self.eligible.indices
        able = np.ones(len(user), dtype=bool)
        for r in range(len(self.resources)):
            able &= (self.demands[user, r] == 0) | (self.capacities[server, r] > 0)
        return user[able], server[able]

    def gamma(self) -> sparse.csr_array:
        """Return γ[n,i], the tasks that n could run alone on the servers of row i, by pair.

        Returns
        -------
        csr_array, shape (N, K)
            Tasks; an entry for each eligible pair.
        """
        from scipy import sparse

        user, server = self.pairs
        alone = np.full(len(user), np.inf)
        for r in range(len(self.resources)):
            demand = self.demands[user, r]
            needed = demand > 0
            alone[needed] = np.minimum(alone[needed], self.capacities[server[needed], r] / demand[needed])
        shape = (len(self.users), len(self.servers))
        return sparse.csr_array((alone * self.counts[server], (user, server)), shape=shape)

    def unconstrained_rates(self) -> np.ndarray:
        """Return Σ_i γ[n,i] as if everyone were eligible everywhere: O(N·K·R) time, little memory.

        Returns
        -------
        ndarray, shape (N,)
            Tasks.
        """
        found = np.empty(len(self.users))
        for first in range(0, len(found), _CHUNK):
            some = slice(first, first + _CHUNK)
            found[some] = tasks_alone(self.demands[some], self.capacities) @ self.counts
        return found

    def __len__(self) -> int:
        """Return the number of eligible pairs."""
        return int(self.eligible.nnz)

    def __repr__(self) -> str:
        rows = f" in {len(self.servers)} rows" if self.n_servers != len(self.servers) else ""
        return (
            f"<SparseInstance{' ' + repr(self.name) if self.name else ''}: {len(self.users)} users, {self.n_servers} "
            f"servers{rows}, {len(self)} pairs, resources {', '.join(map(str, self.resources))}>"
        )
