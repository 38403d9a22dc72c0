"""What the interior-point method solves: users who share servers, as dense arrays, in units that make all totals 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Region:
    """Σ_n d[n,r]·x[i,n] ≤ c[i,r], X[n] = Σ_i ρ[i,n]·x[i,n], x ≥ 0; servers first, so that sums over users are products.

    Attributes
    ----------
    demands : ndarray, shape (N, R)
    capacities : ndarray, shape (K, R)
    allowed : ndarray of bool, shape (K, N), or None
        Pairs that exist; None: all.
    contribution : ndarray, shape (K, N), or None
        ρ[i,n], what one x[i,n] adds to X[n]; None: 1.
    """

    demands: np.ndarray
    capacities: np.ndarray
    allowed: np.ndarray | None = None
    contribution: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Servers, users, resources."""
        return len(self.capacities), *self.demands.shape

    @cached_property
    def used(self) -> np.ndarray:
        """Whether anybody who may run on i demands r; shape (K, R)."""
        wanted = self.demands > 0
        if self.allowed is None:
            return np.broadcast_to(wanted.any(axis=0), self.capacities.shape)
        return np.asarray(self.allowed @ wanted.astype(float) > 0)

    @property
    def pairs(self) -> int:
        """Number of pairs that exist."""
        servers, users, _ = self.shape
        return servers * users if self.allowed is None else int(self.allowed.sum())

    def alone(self) -> np.ndarray:
        """Return the largest x[i,n] with the whole of i, 0 where the pair does not exist; shape (K, N)."""
        servers, users, resources = self.shape
        most = np.full((servers, users), np.inf)
        for r in range(resources):
            demand = self.demands[:, r]
            needs = np.flatnonzero(demand > 0)
            if len(needs) == users:
                np.minimum(most, self.capacities[:, [r]] / demand, out=most)
            else:
                most[:, needs] = np.minimum(most[:, needs], self.capacities[:, [r]] / demand[needs])
        if self.allowed is not None:
            most[~self.allowed] = 0.0
        return most

    def totals(self, x: np.ndarray) -> np.ndarray:
        """Return X[n]; shape (N,)."""
        return np.asarray(x.sum(axis=0) if self.contribution is None else np.einsum("kn,kn->n", self.contribution, x))

    def priced(self, prices: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return Σ_r d[n,r]·p[i,r] − ρ[i,n]·q[n], what x[i,n] costs above what it is worth; shape (K, N)."""
        cost = np.asarray(prices @ self.demands.T)
        cost -= values if self.contribution is None else self.contribution * values
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
        return Region(fraction / unit[:, None], capacities, self.allowed, self.contribution), unit, pool
