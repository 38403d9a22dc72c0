"""The normal equations of one Newton step: R × R blocks, one a server, bordered by one N × N block, the users.

    M[i]·dp[i] − Σ_n d[n]·φ[i,n]·dq[n]                = h[i]      M[i] = Σ_n θ[i,n]·d[n]d[n]ᵀ + diag(s/p)[i]
    −Σ_i φ[i,n]·d[n]·dp[i] + G[n]·dq[n] − g[n]·dt     = r[n]      G[n] = Σ_i ρ²[i,n]·θ[i,n] + (users' own part)
    Σ_n g[n]·dq[n] + e·dt                             = w

with θ = x/z and φ = ρ·θ. Servers are eliminated, or users where they are more; a dense matrix of
the others is left. It loses digits to cancellation near the optimum, so what it gives only begins
the answer, and is refined with the equations themselves, which are never formed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_SHIFTS
from .region import Array, Region, add_blocks, add_diagonal

#: Refinements of one solution, at most.
_REFINEMENTS = 4
#: Costs in multiplications of a large matrix product: of adding one number to an element of a
#: matrix, and of one element of a small product beside its own multiplications. At most so many
#: elements are added one by one.
_ADD, _SMALL, _MOST = 300, 80, 2**25

Step = tuple[Array, Array, float]
#: errors of the three equations → whether they matter
Matters = Callable[[Array, Array, float], bool]


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
        theta: Array,
        slack_ratio: Array,
        own: Array,
        border: Array | None,
        corner: float,
    ) -> None:
        self.region, self.theta, self.slack_ratio = region, theta, slack_ratio
        self.own, self.border, self.corner = own, border, corner
        servers, users, resources = region.shape
        side = UsersLast if users <= servers * resources else ServersLast
        self.side: UsersLast | ServersLast = side(region, theta, slack_ratio, own)
        if border is not None:
            self.along = self.side.solve(np.zeros_like(slack_ratio), border)

    def solve(self, first: Array, second: Array, third: float, matters: Matters) -> Step:
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
                last -= np.vdot(self.border, values)
            if not matters(error, other, last):
                break
            more = self._solve(error, other, last)
            prices, values, level = prices + more[0], values + more[1], level + more[2]
        return prices, values, level

    def _solve(self, first: Array, second: Array, third: float) -> Step:
        """Return dp, dq, dt as good as the factor is."""
        prices, values = self.side.solve(first, second)
        if self.border is None:
            return prices, values, 0.0
        level = (third - np.vdot(self.border, values)) / (
            np.vdot(self.border, self.along[1]) + self.corner
        )
        return prices + level * self.along[0], values + level * self.along[1], level


class _Eliminated:
    """What both ways to eliminate have: φ, the diagonal G, the products of demands."""

    def __init__(self, region: Region, theta: Array, own: Array) -> None:
        self.region = region
        self.coupling = theta if region.contribution is None else theta * region.contribution
        squared = (
            self.coupling if region.contribution is None else self.coupling * region.contribution
        )
        self.diagonal = region.sums(squared) + own

    def towards_users(self, prices: Array) -> Array:
        """Return Σ_i φ[i,n]·d[n]·p[i]; shape (N,)."""
        worth = self.region.costs(prices)
        worth *= self.coupling
        return self.region.sums(worth)

    def towards_servers(self, values: Array) -> Array:
        """Return Σ_n d[n]·φ[i,n]·q[n]; shape (K, R)."""
        return self.region.given(self.coupling * self.region.at_pairs(values))


class UsersLast(_Eliminated):
    """Servers are eliminated: S = diag(G) − Eᵀ·E, N × N, with R rows of E a server; its lower triangle."""

    def __init__(self, region: Region, theta: Array, slack_ratio: Array, own: Array) -> None:
        super().__init__(region, theta, own)
        servers, users, resources = region.shape
        self.inverse_root = _inverse_roots(_blocks(region, theta, slack_ratio))
        each = region.demands.T if region.user is None else region.demanded.swapaxes(1, 2)
        rows = self.inverse_root @ each  # servers × resources × users, or places
        rows *= self.coupling[:, None, :]
        if region.user is None or _dense_pays(region):
            flat = np.reshape(_spread(region, rows), (servers * resources, users))
            schur = flat.T @ flat
        else:
            schur = _squared(region, rows)
        schur *= -1.0
        add_diagonal(schur, self.diagonal)
        self.factor = _Cholesky(schur, self.diagonal)

    def solve(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return dp and dq without t."""
        values = self.factor.solve(second + self.towards_users(self._servers(first)))
        return self._servers(first + self.towards_servers(values)), values

    def _servers(self, right: Array) -> Array:
        """Return M⁻¹ right, server by server; shape (K, R)."""
        inner = np.vecdot(self.inverse_root, right[:, None, :])
        return np.vecdot(np.matrix_transpose(self.inverse_root), inner[:, None, :])


class ServersLast(_Eliminated):
    """Users are eliminated, where they are more: diag(M) − F·Fᵀ, KR × KR, with a column of F a user."""

    def __init__(self, region: Region, theta: Array, slack_ratio: Array, own: Array) -> None:
        super().__init__(region, theta, own)
        servers, users, resources = region.shape
        each = region.by_resource / np.sqrt(self.diagonal)
        if region.user is not None:
            each = each[:, region.user].swapaxes(0, 1)
        spread = _spread(region, self.coupling[:, None, :] * each)
        flat = np.reshape(spread, (servers * resources, users))
        schur = flat @ flat.T
        schur *= -1.0
        blocks = _blocks(region, theta, slack_ratio)
        size = np.reshape(np.linalg.diagonal(blocks), (-1,))
        add_blocks(schur, blocks)
        self.factor = _Cholesky(schur, size)

    def solve(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return dp and dq without t."""
        right = first + self.towards_servers(second / self.diagonal)
        prices = np.reshape(self.factor.solve(np.reshape(right, (-1,))), first.shape)
        return prices, (second + self.towards_users(prices)) / self.diagonal


def _spread(region: Region, rows: Array) -> Array:
    """Return servers × resources × places as servers × resources × users."""
    if region.user is None:
        return rows
    servers, users, resources = region.shape
    spread = np.zeros((servers, resources, users))
    np.put_along_axis(spread, region.user[:, None, :], rows, axis=2)
    return spread


def _dense_pays(region: Region) -> bool:
    """Whether one product of all servers' rows costs less than one for each kind of server, added by pair of users."""
    servers, users, resources = region.shape
    members, _, width = region.kinds
    squares = float((width**2).sum())
    small = squares * (resources * members.shape[1] + _SMALL)
    return small + squares / 2 * _ADD > servers * resources * users**2 or squares > _MOST


def _squared(region: Region, rows: Array) -> Array:
    """Return the lower triangle of EᵀE, shape (N, N), of rows (K, R, W) that stand where the users of servers are."""
    users = region.shape[1]
    whole, found = np.concatenate([rows, np.zeros_like(rows[:1])]), np.zeros(users * users)
    for members, width, products, place in region.products_at:
        each = whole[members, :, :width].reshape(len(members), -1, width)
        np.add.at(found, place, (each.swapaxes(1, 2) @ each).ravel()[products])
    return found.reshape(users, users)


def _blocks(region: Region, theta: Array, slack_ratio: Array) -> Array:
    """Return M[i] for every server; shape (K, R, R)."""
    resources = region.shape[2]
    sums = (
        theta @ region.squares
        if region.user is None
        else np.einsum("kw,kwr->kr", theta, region.products)
    )
    blocks = np.reshape(np.take(sums, region.triangle, axis=1), (-1, resources, resources))
    each = np.eye(resources)
    return blocks + slack_ratio[:, :, None] * each


def _inverse_roots(blocks: Array) -> Array:
    """Return L⁻¹ with L·Lᵀ = M for every server; shape (K, R, R)."""
    unit = 1.0 / np.sqrt(np.linalg.diagonal(blocks))
    blocks = blocks * unit[:, :, None] * unit[:, None, :]
    each = np.eye(blocks.shape[1])
    shift = INTERIOR_SHIFTS[0]
    while (root := _root(blocks + shift * each)) is None:
        shift = _next_shift(shift)
    return np.linalg.inv(root) * unit[:, None, :]


class _Cholesky:
    """The Cholesky factor of a matrix, brought to a diagonal near 1 and shifted by as little as it takes."""

    def __init__(self, matrix: Array, size: Array) -> None:
        self.unit = 1.0 / np.sqrt(size)
        matrix *= self.unit[:, None]
        matrix *= self.unit
        shift = INTERIOR_SHIFTS[0]
        while (factor := _factor(matrix, shift)) is None:
            shift = _next_shift(shift)
        self.factor = factor

    def solve(self, right: Array) -> Array:
        """Return the solution for one right-hand side."""
        return self.unit * cho_solve(self.factor, self.unit * right, check_finite=False)


def _root(matrices: Array) -> Array | None:
    """Return the lower Cholesky factor of each matrix; None where one is not definite."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return None


def _factor(matrix: Array, shift: float) -> tuple[Array, bool] | None:
    """Return the Cholesky factor of the lower triangle, its diagonal shifted; None where it is not definite."""
    shifted = matrix.copy()
    add_diagonal(shifted, shift)
    try:  # LAPACK goes through columns: no copy
        factor: tuple[Array, bool] = cho_factor(shifted.T, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return factor


def _next_shift(shift: float) -> float:
    if shift >= INTERIOR_SHIFTS[1]:
        raise NotConvergedError("the normal equations lost their definiteness")
    return 10 * shift
