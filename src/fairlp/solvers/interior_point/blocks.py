"""The normal equations of one Newton step: R × R blocks, one a server, bordered by one N × N block, the users.

    M[i]·dp[i] − Σ_n d[n]·φ[i,n]·dq[n]                = h[i]      M[i] = Σ_n θ[i,n]·d[n]d[n]ᵀ + diag(s/p)[i]
    −Σ_i φ[i,n]·d[n]·dp[i] + G[n]·dq[n] − g[n]·dt     = r[n]      G[n] = Σ_i ρ²[i,n]·θ[i,n] + (users' own part)
    Σ_n g[n]·dq[n] + e·dt                             = w

with θ = x/z and φ = ρ·θ. Servers are eliminated: S = diag(G) − E·Eᵀ, where E has R rows a server. S loses digits to
cancellation near the optimum, so what it gives only begins the answer, and is refined with the equations themselves,
which are never formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...models.errors import NotConvergedError
from ...models.tolerances import INTERIOR_SHIFTS
from .region import Region

#: Refinements of one solution, at most.
_REFINEMENTS = 4

Step = tuple[np.ndarray, np.ndarray, float]
#: errors of the three equations → whether they matter
Matters = Callable[[np.ndarray, np.ndarray, float], bool]


@dataclass
class NormalEquations:
    """The factored equations at one point.

    Parameters
    ----------
    region : Region
    theta : ndarray, shape (K, N)
        x/z, and 0 where there is no pair.
    slack_ratio : ndarray, shape (K, R)
        s/p.
    own : ndarray, shape (N,)
        The users' own part of G.
    border : ndarray, shape (N,), or None
        g; None: there is no t.
    corner : float
        e.
    """

    region: Region
    theta: np.ndarray
    slack_ratio: np.ndarray
    own: np.ndarray
    border: np.ndarray | None
    corner: float

    def __post_init__(self) -> None:
        region, theta = self.region, self.theta
        servers, users, resources = region.shape
        weighted = theta if region.contribution is None else theta * region.contribution
        self.coupling = weighted
        squared = weighted if region.contribution is None else weighted * region.contribution
        self.diagonal = squared.sum(axis=0) + self.own
        self.inverse_root = _inverse_roots(region.demands, theta, self.slack_ratio)
        rows = self.inverse_root @ region.demands.T  # servers × resources × users
        rows *= weighted[:, None, :]
        flat = rows.reshape(servers * resources, users)
        schur = flat.T @ flat
        np.negative(schur, out=schur)
        schur[np.diag_indices(users)] += self.diagonal
        self.unit = 1.0 / np.sqrt(self.diagonal)
        schur *= self.unit[:, None]
        schur *= self.unit
        self.factor = _shifted_cholesky(schur)
        self.along = None if self.border is None else self._users(self.border)

    def solve(self, first: np.ndarray, second: np.ndarray, third: float, matters: Matters) -> Step:
        """Return dp (K, R), dq (N,), dt; refined until the errors left do not matter."""
        prices, values, level = self._solve(first, second, third)
        for _ in range(_REFINEMENTS):
            moved = self.region.priced(prices, values)
            moved *= self.theta
            error = first - moved @ self.region.demands - self.slack_ratio * prices
            other = second + self.region.totals(moved) - self.own * values
            last = third - self.corner * level
            if self.border is not None:
                other += self.border * level
                last -= float(self.border @ values)
            if not matters(error, other, last):
                break
            more = self._solve(error, other, last)
            prices, values, level = prices + more[0], values + more[1], level + more[2]
        return prices, values, level

    def _solve(self, first: np.ndarray, second: np.ndarray, third: float) -> Step:
        """Return dp, dq, dt as good as the factor is."""
        demands = self.region.demands
        eliminated = self._servers(first) @ demands.T
        eliminated *= self.coupling
        values = self._users(second + eliminated.sum(axis=0))
        level = 0.0
        if self.border is not None and self.along is not None:
            level = (third - float(self.border @ values)) / (float(self.border @ self.along) + self.corner)
            values = values + level * self.along
        prices = self._servers(first + (self.coupling * values) @ demands)
        return prices, values, level

    def _servers(self, right: np.ndarray) -> np.ndarray:
        """Return M⁻¹ right, server by server; shape (K, R)."""
        inner = np.einsum("krq,kq->kr", self.inverse_root, right)
        return np.asarray(np.einsum("kqr,kq->kr", self.inverse_root, inner))

    def _users(self, right: np.ndarray) -> np.ndarray:
        """Return S⁻¹ right; shape (N,)."""
        return np.asarray(self.unit * cho_solve(self.factor, self.unit * right, check_finite=False))


def _inverse_roots(demands: np.ndarray, theta: np.ndarray, slack_ratio: np.ndarray) -> np.ndarray:
    """Return L⁻¹ with L·Lᵀ = M for every server; shape (K, R, R)."""
    resources = demands.shape[1]
    row, column = np.tril_indices(resources)
    sums = theta @ (demands[:, row] * demands[:, column])
    blocks = np.empty((len(theta), resources, resources))
    blocks[:, row, column] = sums
    blocks[:, column, row] = sums
    each = np.arange(resources)
    blocks[:, each, each] += slack_ratio
    unit = 1.0 / np.sqrt(blocks[:, each, each])
    blocks *= unit[:, :, None]
    blocks *= unit[:, None, :]
    shift = INTERIOR_SHIFTS[0]
    while True:
        try:
            root = np.linalg.cholesky(blocks + shift * np.eye(resources))
            break
        except np.linalg.LinAlgError:
            shift = _next_shift(shift)
    return np.asarray(np.linalg.inv(root) * unit[:, None, :])


def _shifted_cholesky(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Cholesky factor of a matrix of unit diagonal, shifted by as little as it takes."""
    shift = INTERIOR_SHIFTS[0]
    at = np.diag_indices(len(matrix))
    while True:
        shifted = matrix.copy()
        shifted[at] += shift
        try:
            factor: tuple[np.ndarray, bool] = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
            return factor
        except np.linalg.LinAlgError:
            shift = _next_shift(shift)


def _next_shift(shift: float) -> float:
    if shift >= INTERIOR_SHIFTS[1]:
        raise NotConvergedError("the normal equations lost their definiteness")
    return 10 * shift
