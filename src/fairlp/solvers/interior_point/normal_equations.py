"""The normal equations of one Newton step: an R × R block for each server, bordered by the users.

    M[i]·dp[i] − Σ_n d[n]·φ[i,n]·dq[n]             = h[i]
    −Σ_i φ[i,n]·d[n]·dp[i] + G[n]·dq[n] − g[n]·dt  = r[n]
    Σ_n g[n]·dq[n] + e·dt                          = w

    M[i] = Σ_n θ[i,n]·d[n]d[n]ᵀ + diag(s/p)[i]
    G[n] = Σ_i ρ²[i,n]·θ[i,n] + (of the user's rows)

with θ = x/z and φ = ρ·θ. Servers are eliminated, or users where they are more; a dense matrix of
the others is left, the Schur complement. It loses digits to cancellation near the optimum, so that
its solution only begins the answer, which is refined with the equations themselves. These are never
formed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_SHIFTS, SETTLED
from .region import PlacedRegion

#: Refinements of one solution, at most, and how many of them are taken as they are off a face.
_REFINEMENTS = 4
_PLAIN_REFINEMENTS = 2
#: Costs in multiplications of a large matrix product: of adding one number to an element of a
#: matrix, and of one element of a small product beside its own multiplications. At most so many
#: elements are added one by one.
_COST_OF_ADDING = 300
_COST_OF_SMALL = 80
_MOST_ADDED = 2**25

#: Errors of the three equations → whether they matter.
ErrorsMatter = Callable[[np.ndarray, np.ndarray, float], bool]


class Changes(NamedTuple):
    """A solution of the equations.

    Attributes
    ----------
    prices, values : ndarray, shapes (K, R) and (N,)
        dp and dq.
    level : float
        dt.
    reduced_costs : ndarray
        dz = d·dp − ρ·dq, by pair: the sum of those of all corrections. Computed from dp and dq it
        would have their rounding, which θ multiplies.
    """

    prices: np.ndarray
    values: np.ndarray
    level: float
    reduced_costs: np.ndarray


class NormalEquations:
    """The factored equations at one point.

    Parameters
    ----------
    region : PlacedRegion
    theta : ndarray
        x/z, and 0 where there is no pair; by pair.
    slack_ratio : ndarray, shape (K, R)
        s/p.
    of_rows : ndarray, shape (N,)
        The part of G that the users' rows make.
    border : ndarray, shape (N,), or None
        g; None: there is no t.
    corner : float
        e.
    on_face : bool
        Whether rows hold with equality, which by rounding may contradict each other. Then
        corrections that hardly help are to stay small.
    is_rough : bool
        Whether factors in single precision are enough, at half of the time.
    """

    def __init__(
        self,
        region: PlacedRegion,
        theta: np.ndarray,
        slack_ratio: np.ndarray,
        of_rows: np.ndarray,
        border: np.ndarray | None,
        corner: float,
        on_face: bool = False,
        is_rough: bool = False,
    ) -> None:
        self.region = region
        self.theta = theta
        self.slack_ratio = slack_ratio
        self.of_rows = of_rows
        self.border = border
        self.corner = corner
        self.plain_refinements = _REFINEMENTS if on_face else _PLAIN_REFINEMENTS
        servers, users, resources = region.shape
        elimination = SchurOfUsers if users <= servers * resources else SchurOfServers
        self.schur: SchurOfUsers | SchurOfServers = elimination(
            region, theta, slack_ratio, of_rows, np.float32 if is_rough else np.float64
        )
        if border is not None:
            self.per_level = self.schur.solve(np.zeros_like(slack_ratio), border)

    def solve(
        self,
        capacity_right: np.ndarray,
        user_right: np.ndarray,
        level_right: float,
        errors_matter: ErrorsMatter,
    ) -> Changes:
        """Return the solution, refined until the errors left do not matter.

        A correction is what the factor says of the errors. Where the equations are so nearly
        singular that corrections hardly help, or harm, all of them together do, each weighted for
        the least error (GMRES; Saad and Schultz, 1986).
        """
        errors = np.concatenate([capacity_right.ravel(), user_right, [level_right]])
        changes = np.zeros_like(errors)
        reduced_costs = np.zeros_like(self.theta)
        corrections: list[np.ndarray] = []
        images: list[np.ndarray] = []
        for k in range(_REFINEMENTS + 1):
            correction = self._by_factor(errors)
            further_costs = self._reduced_costs(correction)
            image = self._left_sides(correction, further_costs)
            left_over = np.linalg.norm(errors - image)
            if k and not np.isfinite(left_over):
                break
            corrections.append(correction)
            images.append(image)
            if k > self.plain_refinements or (k and left_over > np.linalg.norm(errors)):
                weights = _least_squares(images, errors)
                correction = weights @ np.stack(corrections)
                image = weights @ np.stack(images)
                further_costs = self._reduced_costs(correction)

            changes += correction
            errors = errors - image
            reduced_costs += further_costs
            if not errors_matter(*self._parts(errors)):
                break
        return Changes(*self._parts(changes), reduced_costs)

    def _parts(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the numbers of capacities, of users, and of the level."""
        size = self.slack_ratio.size
        return vector[:size].reshape(self.slack_ratio.shape), vector[size:-1], float(vector[-1])

    def _reduced_costs(self, changes: np.ndarray) -> np.ndarray:
        """Return dz that follow from dp and dq; by pair."""
        prices, values, _ = self._parts(changes)
        return self.region.reduced_costs(prices, values)

    def _left_sides(self, changes: np.ndarray, reduced_costs: np.ndarray) -> np.ndarray:
        """Return the left sides of the equations, one after the other."""
        prices, values, level = self._parts(changes)
        moved_tasks = self.theta * reduced_costs
        of_capacities = self.region.usage(moved_tasks) + self.slack_ratio * prices
        of_users = self.of_rows * values - self.region.totals(moved_tasks)
        of_level = self.corner * level
        if self.border is not None:
            of_users -= self.border * level
            of_level += float(np.vdot(self.border, values))
        return np.concatenate([of_capacities.ravel(), of_users, [of_level]])

    def _by_factor(self, right: np.ndarray) -> np.ndarray:
        """Return dp, dq and dt, one after the other, as good as the factor is."""
        capacity_right, user_right, level_right = self._parts(right)
        prices, values = self.schur.solve(capacity_right, user_right)
        level = 0.0
        if self.border is not None:
            pivot = np.vdot(self.border, self.per_level[1]) + self.corner
            level = float((level_right - np.vdot(self.border, values)) / pivot)
            prices = prices + level * self.per_level[0]
            values = values + level * self.per_level[1]
        return np.concatenate([prices.ravel(), values, [level]])


def _least_squares(images: list[np.ndarray], errors: np.ndarray) -> np.ndarray:
    """Return the weights of images whose sum is nearest to the errors."""
    matrix = np.stack(images, axis=1)
    sizes = np.maximum(np.linalg.norm(matrix, axis=0), np.finfo(float).tiny)
    weights = np.linalg.lstsq(matrix / sizes, errors, rcond=SETTLED)[0]
    return np.asarray(weights / sizes)


class _SchurComplement:
    """What both eliminations have: φ and the diagonal G."""

    def __init__(self, region: PlacedRegion, theta: np.ndarray, of_rows: np.ndarray) -> None:
        self.region = region
        self.coupling = theta
        squared = theta
        if region.contribution is not None:
            self.coupling = theta * region.contribution
            squared = self.coupling * region.contribution
        self.diagonal = region.sum_by_user(squared) + of_rows

    def towards_users(self, prices: np.ndarray) -> np.ndarray:
        """Return Σ_i φ[i,n]·d[n]·p[i]; shape (N,)."""
        costs = self.region.costs(prices)
        costs *= self.coupling
        return self.region.sum_by_user(costs)

    def towards_servers(self, values: np.ndarray) -> np.ndarray:
        """Return Σ_n d[n]·φ[i,n]·q[n]; shape (K, R)."""
        return self.region.usage(self.coupling * self.region.to_pairs(values))


class SchurOfUsers(_SchurComplement):
    """Servers are eliminated: diag(G) − Eᵀ·E, N × N, with R rows of E for each server."""

    def __init__(
        self,
        region: PlacedRegion,
        theta: np.ndarray,
        slack_ratio: np.ndarray,
        of_rows: np.ndarray,
        kind: type[np.floating[Any]],
    ) -> None:
        super().__init__(region, theta, of_rows)
        servers, users, resources = region.shape
        self.inverse_root = _inverse_roots(_server_blocks(region, theta, slack_ratio))
        unit = 1.0 / np.sqrt(self.diagonal)
        by_places = region.place_users is not None
        demands = region.place_demands.swapaxes(1, 2) if by_places else region.demands.T
        rows = self.inverse_root @ demands  # servers × resources × users, or places
        rows *= (self.coupling * region.to_pairs(unit))[:, None, :]
        rows = rows.astype(kind, copy=False)

        if region.place_users is None or dense_pays(region):
            flat = _to_all_users(region, rows).reshape(servers * resources, users)
            schur = flat.T @ flat
        else:
            schur = _sum_of_products(region, rows)
        schur *= -1.0
        _add_diagonal(schur, 1.0)
        self.factor = _ShiftedCholesky(schur, unit)

    def solve(
        self, capacity_right: np.ndarray, user_right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return dp and dq without t."""
        from_servers = self.towards_users(self._solve_servers(capacity_right))
        values = self.factor.solve(user_right + from_servers)
        prices = self._solve_servers(capacity_right + self.towards_servers(values))
        return prices, values

    def _solve_servers(self, right: np.ndarray) -> np.ndarray:
        """Return M⁻¹ right, server by server; shape (K, R)."""
        inner = np.vecdot(self.inverse_root, right[:, None, :])
        return np.asarray(np.vecdot(self.inverse_root.swapaxes(1, 2), inner[:, None, :]))


class SchurOfServers(_SchurComplement):
    """Users are eliminated, where they are more: diag(M) − F·Fᵀ, KR × KR, a column of F a user."""

    def __init__(
        self,
        region: PlacedRegion,
        theta: np.ndarray,
        slack_ratio: np.ndarray,
        of_rows: np.ndarray,
        kind: type[np.floating[Any]],
    ) -> None:
        super().__init__(region, theta, of_rows)
        servers, users, resources = region.shape
        blocks, unit = _with_unit_diagonals(_server_blocks(region, theta, slack_ratio))
        demands = region.demands_by_resource / np.sqrt(self.diagonal)
        if region.place_users is not None:
            demands = demands[:, region.place_users].swapaxes(0, 1)
        columns = self.coupling[:, None, :] * demands
        columns *= unit[:, :, None]
        flat = _to_all_users(region, columns.astype(kind, copy=False))
        flat = flat.reshape(servers * resources, users)
        schur = flat @ flat.T
        schur *= -1.0
        _add_blocks(schur, blocks)
        self.factor = _ShiftedCholesky(schur, unit.reshape(-1))

    def solve(
        self, capacity_right: np.ndarray, user_right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return dp and dq without t."""
        right = capacity_right + self.towards_servers(user_right / self.diagonal)
        prices = self.factor.solve(right.reshape(-1)).reshape(capacity_right.shape)
        return prices, (user_right + self.towards_users(prices)) / self.diagonal


def _to_all_users(region: PlacedRegion, rows: np.ndarray) -> np.ndarray:
    """Return servers × resources × places as servers × resources × users."""
    if region.place_users is None:
        return rows
    servers, users, resources = region.shape
    spread = np.zeros((servers, resources, users), dtype=rows.dtype)
    np.put_along_axis(spread, region.place_users[:, None, :], rows, axis=2)
    return spread


def dense_pays(region: PlacedRegion) -> bool:
    """Whether one product of all servers' rows costs less than one for each kind of server."""
    servers, users, resources = region.shape
    members, _, width = region.server_kinds
    products = float((width**2).sum())
    by_kinds = products * (resources * members.shape[1] + _COST_OF_SMALL)
    by_kinds += products / 2 * _COST_OF_ADDING
    return by_kinds > servers * resources * users**2 or products > _MOST_ADDED


def _sum_of_products(region: PlacedRegion, rows: np.ndarray) -> np.ndarray:
    """Return the lower triangle of EᵀE, shape (N, N), of the rows (K, R, W) of servers' users."""
    users = region.shape[1]
    padded_rows = np.concatenate([rows, np.zeros_like(rows[:1])])
    total = np.zeros(users * users, dtype=rows.dtype)
    for members, width, products, position in region.product_batches:
        of_kinds = padded_rows[members, :, :width].reshape(len(members), -1, width)
        squares = (of_kinds.swapaxes(1, 2) @ of_kinds).ravel()
        np.add.at(total, position, squares[products])
    return total.reshape(users, users)


def _server_blocks(region: PlacedRegion, theta: np.ndarray, slack_ratio: np.ndarray) -> np.ndarray:
    """Return M[i] for every server; shape (K, R, R)."""
    resources = region.shape[2]
    if region.place_users is None:
        sums = theta @ region.user_products
    else:
        sums = np.einsum("kw,kwr->kr", theta, region.place_products)
    blocks = np.take(sums, region.triangle_positions, axis=1).reshape(-1, resources, resources)
    return blocks + slack_ratio[:, :, None] * np.eye(resources)


def _add_blocks(matrix: np.ndarray, blocks: np.ndarray) -> None:
    """Add blocks (K, R, R) along the diagonal of a square matrix, in place."""
    size = matrix.shape[0]
    width = blocks.shape[1]
    flat = matrix.reshape(-1)
    for row in range(width):
        for column in range(width):
            flat[row * size + column :: width * (size + 1)] += blocks[:, row, column]


def _add_diagonal(matrix: np.ndarray, values: np.ndarray | float) -> None:
    """Add values on the diagonal of a square matrix, in place."""
    matrix.reshape(-1)[:: matrix.shape[0] + 1] += values


def _with_unit_diagonals(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return blocks (K, R, R) with diagonals of 1, and what multiplied rows and columns (K, R)."""
    unit = 1.0 / np.sqrt(np.diagonal(blocks, axis1=1, axis2=2))
    return blocks * (unit[:, :, None] * unit[:, None, :]), unit


def _inverse_roots(blocks: np.ndarray) -> np.ndarray:
    """Return L⁻¹ with L·Lᵀ = M for every server; shape (K, R, R)."""
    blocks, unit = _with_unit_diagonals(blocks)
    identity = np.eye(blocks.shape[1])
    root = _with_least_shift(lambda shift: np.linalg.cholesky(blocks + shift * identity))
    return np.asarray(np.linalg.inv(root) * unit[:, None, :])


class _ShiftedCholesky:
    """The Cholesky factor of a matrix, shifted by as little as it takes.

    The matrix has a diagonal near 1, since its rows and columns are multiplied by ``unit``.
    """

    def __init__(self, matrix: np.ndarray, unit: np.ndarray) -> None:
        self.unit = unit
        self.factor = _with_least_shift(lambda shift: _factor(matrix, shift))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for one right-hand side."""
        scaled = (self.unit * right).astype(self.factor[0].dtype, copy=False)
        solution = cho_solve(self.factor, scaled, check_finite=False)
        return np.asarray(self.unit * solution)


def _factor(matrix: np.ndarray, shift: float) -> Any:
    """Return the factor of the lower triangle, its diagonal shifted."""
    shifted = matrix.copy()
    _add_diagonal(shifted, shift)
    # LAPACK goes through columns: no copy
    return cho_factor(shifted.T, overwrite_a=True, check_finite=False)


def _with_least_shift(factor: Callable[[float], Any]) -> Any:
    """Return the factor with the least shift that makes the matrix definite."""
    shift, largest = INTERIOR_SHIFTS
    while True:
        try:
            return factor(shift)
        except np.linalg.LinAlgError as error:
            if shift >= largest:
                reason = "the normal equations lost their definiteness"
                raise NotConvergedError(reason) from error
            shift *= 10
