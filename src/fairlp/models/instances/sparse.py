"""``SparseInstance``: an allocation problem by pairs, where users × servers would not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InstanceError, TooLargeError
from . import checks
from .instance import EVERYWHERE, Instance
from .problem import tasks_alone

if TYPE_CHECKING:
    from scipy import sparse


#: Users × servers of a dense instance, at most: its tables of floats are 2 GiB then.
MOST_DENSE = 2**28
#: Users whose rates on all servers are computed at a time.
_CHUNK = 256


@dataclass(frozen=True, eq=False, repr=False)
class SparseInstance(Instance):
    """An instance whose users may each run on a few servers: what is eligible is stored by pair.

    Make one with :meth:`from_arrays`, where ``eligible`` is a SciPy sparse matrix, users × servers, true where a user
    may run; an array of pairs of positions (user, server), of shape (E, 2); a table of True and False, users ×
    servers; or, for each user, a list of servers by label (also as a mapping from users). Or with :meth:`of`.
    :func:`fairlp.allocate` shares it by the max-min mechanisms. It has no given rates and no queues.

    Attributes
    ----------
    eligible : scipy.sparse.csr_array of bool, shape (N, K)
        Where a user may run; each user somewhere. The rest is as of an :class:`~fairlp.Instance`.

    Examples
    --------
    >>> import fairlp
    >>> fairlp.SparseInstance.from_arrays([[1, 2], [2, 1]], [[4, 4], [6, 6]], [(0, 0), (0, 1), (1, 1)])
    <SparseInstance: 2 users, 2 servers, 3 pairs, resources resource1, resource2>
    """

    eligible: sparse.csr_array

    def __post_init__(self) -> None:
        from scipy import sparse

        if self.eligible is EVERYWHERE:
            everywhere = np.ones(self.shape, dtype=bool)
            object.__setattr__(self, "eligible", sparse.csr_array(everywhere))
        for what, found in (("given rates", self.rates), ("queues", self.queues)):
            if found is not None:
                raise InstanceError(f"a SparseInstance has no {what}; leave them out, or stay with the dense instance")

    @classmethod
    def _resolved(cls, eligible: Any, *known: Any) -> tuple[sparse.csr_array, tuple[()]]:
        """Return where each user may run, by pair; there are no conditions."""
        from scipy import sparse

        from .conditions import pairs

        users, servers = known[:2]
        found = pairs(eligible, *known)
        there = sparse.csr_array((np.ones(len(found[0]), dtype=bool), found), shape=(len(users), len(servers)))
        there.sum_duplicates()
        there.data[:] = True
        checks.eligible_somewhere(np.diff(there.indptr)[:, None] > 0, users)
        return there, ()

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
        kept = {one.name: getattr(instance, one.name) for one in fields(instance)}
        return cls(**kept | {"eligible": sparse.csr_array(instance.eligible), "conditions": ()})

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
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        eligible = self.eligible.toarray() if self.has_constraints else EVERYWHERE
        return Instance(**kept | {"eligible": eligible})._frozen()

    @cached_property
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

    def gamma(self, *, ignore_placement: bool = False) -> sparse.csr_array:
        """Return γ[n,i], the tasks that n could run alone on the servers of row i, by pair.

        Parameters
        ----------
        ignore_placement : bool
            As if everyone were eligible everywhere: of users × servers then, where that is not too large.

        Returns
        -------
        csr_array, shape (N, K)
            Tasks; an entry for each eligible pair.
        """
        from scipy import sparse

        if ignore_placement:
            return sparse.csr_array(self.dense().gamma(ignore_placement=True))
        user, server = self.pairs
        alone = np.full(len(user), np.inf)
        for r in range(len(self.resources)):
            demand = self.demands[user, r]
            needed = demand > 0
            alone[needed] = np.minimum(alone[needed], self.capacities[server[needed], r] / demand[needed])
        shape = self.shape
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

    def equals(self, other: object) -> bool:
        """Whether two instances are the same, pair by pair.

        Parameters
        ----------
        other : object

        Returns
        -------
        bool
        """
        return isinstance(other, SparseInstance) and self.dense().equals(other.dense())

    def __len__(self) -> int:
        """Return the number of eligible pairs."""
        return int(self.eligible.nnz)

    def __repr__(self) -> str:
        rows = f" in {len(self.servers)} rows" if self.n_servers != len(self.servers) else ""
        return (
            f"<SparseInstance{' ' + repr(self.name) if self.name else ''}: {len(self.users)} users, {self.n_servers} "
            f"servers{rows}, {len(self)} pairs, resources {', '.join(map(str, self.resources))}>"
        )
