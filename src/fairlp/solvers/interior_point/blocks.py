"""The normal equations of one Newton step: R × R blocks, one a server, bordered by one N × N block, the users.

    M[i]·dp[i] − Σ_n d[n]·φ[i,n]·dq[n]                = h[i]      M[i] = Σ_n θ[i,n]·d[n]d[n]ᵀ + diag(s/p)[i]
    −Σ_i φ[i,n]·d[n]·dp[i] + G[n]·dq[n] − g[n]·dt     = r[n]      G[n] = Σ_i ρ²[i,n]·θ[i,n] + (users' own part)
    Σ_n g[n]·dq[n] + e·dt                             = w

with θ = x/z and φ = ρ·θ. Servers are eliminated, or users where they are more; a dense matrix of the others is left. It
loses digits to cancellation near the optimum, so what it gives only begins the answer, and is refined with the
equations themselves, which are never formed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_SHIFTS
from .region import Region

#: Refinements of one solution, at most.
_REFINEMENTS = 4
#: Multiplications of a product that take as long as putting one number into its place, and numbers as a call.
_PUT, _CALL = 200, 2_000

Step = tuple[np.ndarray, np.ndarray, float]
#: errors of the three equations → whether they matter
Matters = Callable[[np.ndarray, np.ndarray, float], bool]


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

    def __init__(
        self,
        region: Region,
        theta: np.ndarray,
        slack_ratio: np.ndarray,
        own: np.ndarray,
        border: np.ndarray | None,
        corner: float,
    ) -> None:
        self.region, self.theta, self.slack_ratio = region, theta, slack_ratio
        self.own, self.border, self.corner = own, border, corner
        servers, users, resources = region.shape
        side = UsersLast if users <= servers * resources else ServersLast
        self.side: UsersLast | ServersLast = side(region, theta, slack_ratio, own)
        if border is not None:
            self.along = self.side.solve(np.zeros_like(slack_ratio), border)

    def solve(self, first: np.ndarray, second: np.ndarray, third: float, matters: Matters) -> Step:
        """Return dp (K, R), dq (N,), dt; refined until the errors left do not matter."""
        prices, values, level = self._solve(first, second, third)
        for _ in range(_REFINEMENTS):
            moved = self.region.priced(prices, values)
            moved *= self.theta
            error = first - self.region.given(moved) - self.slack_ratio * prices
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
        prices, values = self.side.solve(first, second)
        if self.border is None:
            return prices, values, 0.0
        level = (third - float(self.border @ values)) / (float(self.border @ self.along[1]) + self.corner)
        return prices + level * self.along[0], values + level * self.along[1], level


class _Eliminated:
    """What both ways to eliminate have: φ, the diagonal G, the products of demands."""

    def __init__(self, region: Region, theta: np.ndarray, own: np.ndarray) -> None:
        self.region = region
        self.coupling = theta if region.contribution is None else theta * region.contribution
        squared = self.coupling if region.contribution is None else self.coupling * region.contribution
        self.diagonal = region.sums(squared) + own

    def towards_users(self, prices: np.ndarray) -> np.ndarray:
        """Return Σ_i φ[i,n]·d[n]·p[i]; shape (N,)."""
        worth = self.region.costs(prices)
        worth *= self.coupling
        return self.region.sums(worth)

    def towards_servers(self, values: np.ndarray) -> np.ndarray:
        """Return Σ_n d[n]·φ[i,n]·q[n]; shape (K, R)."""
        return self.region.given(self.coupling * self.region.at_pairs(values))


class UsersLast(_Eliminated):
    """Servers are eliminated: S = diag(G) − E·Eᵀ, N × N, with R rows of E a server."""

    def __init__(self, region: Region, theta: np.ndarray, slack_ratio: np.ndarray, own: np.ndarray) -> None:
        super().__init__(region, theta, own)
        servers, users, resources = region.shape
        self.inverse_root = _inverse_roots(_blocks(region, theta, slack_ratio))
        each = region.demands.T if region.user is None else region.demanded.swapaxes(1, 2)
        rows = self.inverse_root @ each  # servers × resources × users, or places
        rows *= self.coupling[:, None, :]
        if region.user is None or _dense_pays(region):
            flat = _spread(region, rows).reshape(servers * resources, users)
            schur = flat.T @ flat
        else:
            schur = np.zeros((users, users))
            for some, who in region.alike:
                part = rows[some].reshape(-1, rows.shape[2])
                schur[np.ix_(who, who)] += part.T @ part
        np.negative(schur, out=schur)
        schur[np.diag_indices(users)] += self.diagonal
        self.factor = _Cholesky(schur, self.diagonal)

    def solve(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return dp and dq without t."""
        values = self.factor.solve(second + self.towards_users(self._servers(first)))
        return self._servers(first + self.towards_servers(values)), values

    def _servers(self, right: np.ndarray) -> np.ndarray:
        """Return M⁻¹ right, server by server; shape (K, R)."""
        inner = np.einsum("krq,kq->kr", self.inverse_root, right)
        return np.asarray(np.einsum("kqr,kq->kr", self.inverse_root, inner))


class ServersLast(_Eliminated):
    """Users are eliminated, where they are more: diag(M) − F·Fᵀ, KR × KR, with a column of F a user."""

    def __init__(self, region: Region, theta: np.ndarray, slack_ratio: np.ndarray, own: np.ndarray) -> None:
        super().__init__(region, theta, own)
        servers, users, resources = region.shape
        each = np.ascontiguousarray(region.demands.T) / np.sqrt(self.diagonal)
        if region.user is not None:
            each = each[:, region.user].swapaxes(0, 1)
        flat = _spread(region, self.coupling[:, None, :] * each).reshape(servers * resources, users)
        schur = flat @ flat.T
        np.negative(schur, out=schur)
        blocks = _blocks(region, theta, slack_ratio)
        at = np.arange(servers)
        schur.reshape(servers, resources, servers, resources)[at, :, at, :] += blocks
        self.factor = _Cholesky(schur, np.diagonal(blocks, axis1=1, axis2=2).ravel())

    def solve(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return dp and dq without t."""
        right = first + self.towards_servers(second / self.diagonal)
        prices = self.factor.solve(right.ravel()).reshape(first.shape)
        return prices, (second + self.towards_users(prices)) / self.diagonal


def _spread(region: Region, rows: np.ndarray) -> np.ndarray:
    """Return servers × resources × places as servers × resources × users."""
    if region.user is None:
        return rows
    servers, users, resources = region.shape
    spread = np.zeros((servers, resources, users))
    np.put_along_axis(spread, region.user[:, None, :], rows, axis=2)
    return spread


def _dense_pays(region: Region) -> bool:
    """Whether one product of all servers' rows costs less than one for each kind of server, put where its users are."""
    servers, users, resources = region.shape
    each = sum(resources * len(some) * len(who) ** 2 + _PUT * (len(who) ** 2 + _CALL) for some, who in region.alike)
    return each > servers * resources * users**2


def _blocks(region: Region, theta: np.ndarray, slack_ratio: np.ndarray) -> np.ndarray:
    """Return M[i] for every server; shape (K, R, R)."""
    resources = region.shape[2]
    row, column = np.tril_indices(resources)
    if region.user is None:
        sums = theta @ (region.demands[:, row] * region.demands[:, column])
    else:
        sums = np.einsum("kw,kwr->kr", theta, region.products)
    blocks = np.empty((len(theta), resources, resources))
    blocks[:, row, column] = sums
    blocks[:, column, row] = sums
    each = np.arange(resources)
    blocks[:, each, each] += slack_ratio
    return blocks


def _inverse_roots(blocks: np.ndarray) -> np.ndarray:
    """Return L⁻¹ with L·Lᵀ = M for every server; shape (K, R, R)."""
    unit = 1.0 / np.sqrt(np.diagonal(blocks, axis1=1, axis2=2))
    blocks = blocks * unit[:, :, None] * unit[:, None, :]
    shift = INTERIOR_SHIFTS[0]
    while True:
        try:
            root = np.linalg.cholesky(blocks + shift * np.eye(blocks.shape[1]))
            break
        except np.linalg.LinAlgError:
            shift = _next_shift(shift)
    return np.asarray(np.linalg.inv(root) * unit[:, None, :])


class _Cholesky:
    """The Cholesky factor of a matrix, brought to a diagonal near 1 and shifted by as little as it takes."""

    def __init__(self, matrix: np.ndarray, size: np.ndarray) -> None:
        self.unit = 1.0 / np.sqrt(size)
        matrix *= self.unit[:, None]
        matrix *= self.unit
        shift, at = INTERIOR_SHIFTS[0], np.diag_indices(len(matrix))
        while True:
            shifted = matrix.copy()
            shifted[at] += shift
            try:
                self.factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
                return
            except np.linalg.LinAlgError:
                shift = _next_shift(shift)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for one right-hand side."""
        return np.asarray(self.unit * cho_solve(self.factor, self.unit * right, check_finite=False))


def _next_shift(shift: float) -> float:
    if shift >= INTERIOR_SHIFTS[1]:
        raise NotConvergedError("the normal equations lost their definiteness")
    return 10 * shift
