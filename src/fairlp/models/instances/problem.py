"""What dense and sparse instances have in common: numbers that follow from counts, capacities and weights."""

from __future__ import annotations

import numpy as np

from ...errors import InstanceError
from ..notation.expressions import Index


class AllocationProblem:
    """Users, servers and resources, however it is said who may run where."""

    users: Index
    servers: Index
    resources: Index
    capacities: np.ndarray
    counts: np.ndarray
    weights: np.ndarray

    @property
    def n_servers(self) -> int:
        """Number of servers, identical ones counted."""
        return int(self.counts.sum())

    @property
    def pool(self) -> np.ndarray:
        """Capacity of the whole cluster by resource (C[r] = Σ_i c[i,r])."""
        return np.asarray(self.counts @ self.capacities, dtype=float)

    @property
    def user_weights(self) -> np.ndarray:
        """Weights φ[n]; an error when they are given per resource."""
        if self.weights.ndim == 2:
            raise InstanceError("weights are given per resource here; this needs one weight for each user")
        return self.weights
