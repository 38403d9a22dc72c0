"""What the interior-point method solves: users who share servers, in units that make all totals 1.

Numbers of pairs stand in arrays of servers × users; where few pairs exist, of servers × places, as many as any server
has users, with the user of each place beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

#: Pairs get a place each where that leaves at most this part of servers × users.
_FEW = 0.5


@dataclass(frozen=True)
class Region:
    """Σ_n d[n,r]·x[i,n] ≤ c[i,r], X[n] = Σ_i ρ[i,n]·x[i,n], x ≥ 0; servers first, so that sums over users are products.

    Attributes
    ----------
    demands : ndarray, shape (N, R)
    capacities : ndarray, shape (K, R)
    allowed : ndarray of bool, shape (K, N) or (K, W), or None
        Pairs that exist; None: all.
    contribution : ndarray, shape (K, N) or (K, W), or None
        ρ[i,n], what one x[i,n] adds to X[n]; None: 1.
    user : ndarray of int, shape (K, W), or None
        The user of each place of a server, each user once; None: the users in their order.
    """

    demands: np.ndarray
    capacities: np.ndarray
    allowed: np.ndarray | None = None
    contribution: np.ndarray | None = None
    user: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Servers, users, resources."""
        return len(self.capacities), *self.demands.shape

    @cached_property
    def used(self) -> np.ndarray:
        """Whether anybody who may run on i demands r; shape (K, R)."""
        if self.allowed is None and self.user is None:
            return np.broadcast_to((self.demands > 0).any(axis=0), self.capacities.shape)
        wanted = replace(self, demands=(self.demands > 0).astype(float))
        return np.asarray(wanted.given(self.there.astype(float)) > 0)

    @cached_property
    def there(self) -> np.ndarray:
        """Whether a pair exists, in an array as all others of pairs."""
        if self.allowed is not None:
            return self.allowed
        return np.ones((len(self.capacities), len(self.demands)) if self.user is None else self.user.shape, dtype=bool)

    @cached_property
    def demanded(self) -> np.ndarray:
        """Demands of the user of each place; shape (K, W, R)."""
        assert self.user is not None
        return np.asarray(self.demands[self.user])

    @cached_property
    def products(self) -> np.ndarray:
        """Products of two demands of the user of each place, the lower triangle; shape (K, W, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        return np.asarray(self.demanded[:, :, row] * self.demanded[:, :, column])

    @cached_property
    def alike(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Servers with the same users in the same places, and those users, of each kind of server."""
        assert self.user is not None
        kinds, of = np.unique(self.user, axis=0, return_inverse=True)
        groups = np.split(np.argsort(of.ravel(), kind="stable"), np.cumsum(np.bincount(of.ravel()))[:-1])
        return list(zip(groups, kinds, strict=True))

    @property
    def pairs(self) -> int:
        """Number of pairs that exist."""
        return int(self.there.sum())

    def alone(self) -> np.ndarray:
        """Return the largest x[i,n] with the whole of i, 0 where the pair does not exist; by pair."""
        most = np.full(self.there.shape, np.inf)
        with np.errstate(divide="ignore"):
            for r in range(self.shape[2]):
                each = 1.0 / self.demands[:, r]  # infinite where it is not needed
                np.fmin(most, self.capacities[:, [r]] * self.at_pairs(each), out=most)
        most[~self.there] = 0.0
        return most

    def at_pairs(self, values: np.ndarray) -> np.ndarray:
        """Return numbers of users as factors of numbers of pairs."""
        return values if self.user is None else values[self.user]

    def sums(self, pairs: np.ndarray) -> np.ndarray:
        """Return sums by user; shape (N,)."""
        if self.user is None:
            return np.asarray(pairs.sum(axis=0))
        return np.bincount(self.user.ravel(), weights=pairs.ravel(), minlength=len(self.demands))

    def lowest(self, pairs: np.ndarray) -> np.ndarray:
        """Return the smallest by user of the pairs that exist; shape (N,)."""
        found = np.where(self.there, pairs, np.inf)
        if self.user is None:
            return np.asarray(found.min(axis=0))
        least = np.full(len(self.demands), np.inf)
        np.minimum.at(least, self.user, found)
        return least

    def given(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_n d[n,r]·x[i,n], what is given out; shape (K, R)."""
        if self.user is None:
            return np.asarray(x @ self.demands)
        return np.asarray((x[:, None, :] @ self.demanded)[:, 0])

    def totals(self, x: np.ndarray) -> np.ndarray:
        """Return X[n]; shape (N,)."""
        if self.contribution is None:
            return self.sums(x)
        if self.user is None:
            return np.asarray(np.einsum("kn,kn->n", self.contribution, x))
        return self.sums(self.contribution * x)

    def costs(self, prices: np.ndarray) -> np.ndarray:
        """Return Σ_r d[n,r]·p[i,r], what x[i,n] costs; by pair."""
        if self.user is None:
            return np.asarray(prices @ self.demands.T)
        return np.asarray((self.demanded @ prices[:, :, None])[:, :, 0])

    def dearest(self, prices: np.ndarray) -> np.ndarray:
        """Return the highest cost of each user; shape (N,)."""
        if self.user is None:
            return np.asarray((prices @ self.demands.T).max(axis=0))
        return -self.lowest(-self.costs(prices))

    def priced(self, prices: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return Σ_r d[n,r]·p[i,r] − ρ[i,n]·q[n], what x[i,n] costs above what it is worth; by pair."""
        cost, worth = self.costs(prices), self.at_pairs(values)
        cost -= worth if self.contribution is None else self.contribution * worth
        return cost

    def scaled(self) -> tuple[Region, np.ndarray, np.ndarray]:
        """Return the region with every resource's total 1 and every user's largest demand 1, and both units.

        The user's unit: x' = unit·x and X' = unit·X. The resource's unit: c' = c/unit. A row that nobody uses gets
        the total as its capacity, so that nothing is at its boundary for no reason.
        """
        total = self.capacities.sum(axis=0)
        pool = np.where(total > 0, total, 1.0)
        fraction = self.demands / pool
        unit = fraction.max(axis=1)
        capacities = np.where(self.used, self.capacities / pool, 1.0)
        return replace(self, demands=fraction / unit[:, None], capacities=capacities), unit, pool


def places(exists: np.ndarray) -> np.ndarray | None:
    """Return the users of each server (K, W), others where it has fewer than the most; None where most pairs exist.

    ``exists`` says of each pair (K, N) whether it does.
    """
    width = int(exists.sum(axis=1).max(initial=0))
    if width > _FEW * exists.shape[1]:
        return None
    return np.ascontiguousarray(np.argsort(~exists, axis=1, kind="stable")[:, :width])
