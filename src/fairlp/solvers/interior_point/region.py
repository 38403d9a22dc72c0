"""What the interior-point method solves: users who share servers, in units that make all totals 1.

Numbers of pairs stand in arrays of servers × users; where few pairs exist, of servers × places, as
many as any server has users, with the user of each place beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

# Arrays of any library that keeps to the Python array API standard, and the little that the
# standard lacks.

#: An array of the namespace in use.
Array: TypeAlias = Any
#: The namespaces of other libraries, by the name of the module that their arrays' type is of.
_NAMESPACES: dict[str, Any] = {}


def namespace(array: Array) -> Any:
    """Return the functions of the array's library under the names of the standard."""
    if isinstance(array, np.ndarray):
        return np
    library = type(array).__module__
    if library not in _NAMESPACES:
        from array_api_compat import array_namespace

        _NAMESPACES[library] = array_namespace(array)
    return _NAMESPACES[library]


def dot(one: Array, other: Array) -> float:
    """Return Σ one·other over all places, a number on the host."""
    xp = namespace(one)
    return float(xp.reshape(one, (-1,)) @ xp.reshape(other, (-1,)))


def least(values: Array, initial: float) -> float:
    """Return the smallest, or ``initial`` if that is smaller or nothing else is there."""
    return min(float(namespace(values).min(values)), initial) if values.shape[0] else initial


def numbers(mask: Array) -> Array:
    """Return 1 where it is true, else 0."""
    xp = namespace(mask)
    return xp.asarray(mask, dtype=xp.float64, device=mask.device)


def clip(values: Array, low: float, high: float) -> Array:
    """Return the values within both bounds; elsewhere than in NumPy the standard's clip is slow."""
    xp = namespace(values)
    return np.clip(values, low, high) if xp is np else xp.minimum(xp.maximum(values, low), high)


def add_blocks(matrix: Array, blocks: Array) -> Array:
    """Return the square matrix with blocks (K, R, R) added along its diagonal; it may be the same array."""
    xp = namespace(matrix)
    size, width = matrix.shape[0], blocks.shape[1]
    flat = xp.reshape(matrix, (-1,))
    for row in range(width):
        for column in range(width):
            flat[row * size + column :: width * (size + 1)] += blocks[:, row, column]
    return xp.reshape(flat, matrix.shape)


def add_diagonal(matrix: Array, values: Array | float) -> Array:
    """Return the square matrix with values added on its diagonal; it may be the same array."""
    xp = namespace(matrix)
    flat = xp.reshape(matrix, (-1,))
    flat[:: matrix.shape[0] + 1] += values
    return xp.reshape(flat, matrix.shape)


def cholesky(matrices: Array) -> Array | None:
    """Return the lower Cholesky factor of a matrix, or of each of many; None where one is not definite."""
    xp = namespace(matrices)
    try:
        with _raising(matrices):
            return xp.linalg.cholesky(matrices)
    except Exception as error:  # every library has an exception of its own
        if not type(error).__name__.endswith("LinAlgError"):
            raise
        return None


def factored(matrix: Array) -> Callable[[Array], Array] | None:
    """Return what solves equations with a symmetric matrix, which is used up; None where it is not definite.

    Only its lower triangle is read.
    """
    if isinstance(matrix, np.ndarray):
        try:  # LAPACK goes through columns: no copy
            factor = cho_factor(matrix.T, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        return lambda right: cho_solve(factor, right, check_finite=False)
    lower = cholesky(matrix)
    if lower is None:
        return None
    solve = _SOLVES.get(_library(lower), _solve_in_standard)
    return lambda right: solve(lower, right[:, None])[:, 0]


def _library(array: Array) -> str:
    return type(array).__module__.partition(".")[0]


def _raising(array: Array) -> Any:
    """Return a context in which the library tells of a factor that fails; CuPy does not by default."""
    if _library(array) != "cupy":
        return nullcontext()
    import cupyx

    return cupyx.errstate(linalg="raise")


def _solve_in_torch(lower: Array, right: Array) -> Array:
    import torch

    return torch.cholesky_solve(right, lower)


def _solve_in_cupy(lower: Array, right: Array) -> Array:
    from cupyx.scipy.linalg import solve_triangular

    return solve_triangular(
        lower, solve_triangular(lower, right, lower=True), lower=True, trans="T"
    )


def _solve_in_standard(lower: Array, right: Array) -> Array:
    """Solve as if the factor were any matrix: the standard knows of no triangular ones."""
    solve = namespace(lower).linalg.solve
    return solve(lower.T, solve(lower, right))


_SOLVES: dict[str, Callable[[Array, Array], Array]] = {
    "torch": _solve_in_torch,
    "cupy": _solve_in_cupy,
}


class Grouped:
    """Numbers of rows, brought together by the user of each row.

    Parameters
    ----------
    user : array of int, shape (J,)
    users : int
        How many there are.
    """

    def __init__(self, user: Array, users: int) -> None:
        self.user, self.users = user, users
        xp = namespace(user)
        if xp is np:
            return
        # as the standard has no sums into given places: every user's rows side by side, filled up
        # by a row J of nothing
        rows, order = user.shape[0], xp.argsort(user, stable=True)
        ordered, each = xp.take(user, order, axis=0), xp.arange(users, device=user.device)
        first, end = xp.searchsorted(ordered, each), xp.searchsorted(ordered, each, side="right")
        self.width = int(xp.max(end - first))
        at = first[:, None] + xp.arange(self.width, device=user.device)[None, :]
        own = xp.reshape(
            xp.take(order, xp.reshape(xp.minimum(at, rows - 1), (-1,)), axis=0), at.shape
        )
        self.rows = xp.reshape(xp.where(at < end[:, None], own, rows), (-1,))

    def sums(self, values: Array) -> Array:
        """Return sums by user; shape (N,)."""
        if isinstance(values, np.ndarray):
            return np.bincount(self.user, weights=values, minlength=self.users)
        return namespace(values).sum(self._by_user(values, 0.0), axis=1)

    def lowest(self, values: Array) -> Array:
        """Return the smallest by user, infinite where a user has none; shape (N,)."""
        if isinstance(values, np.ndarray):
            found = np.full(self.users, np.inf)
            np.minimum.at(found, self.user, values)
            return found
        return namespace(values).min(self._by_user(values, np.inf), axis=1)

    def _by_user(self, values: Array, nothing: float) -> Array:
        xp = namespace(values)
        filled = xp.concat([values, xp.full_like(values[:1], nothing)])
        return xp.reshape(xp.take(filled, self.rows, axis=0), (self.users, self.width))


#: Products of two users of a server that are computed together: they fit into a cache.
_TOGETHER = 2**17
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
    contribution : ndarray, shape (K, N), or None
        ρ[i,n], what one x[i,n] adds to X[n]; None: 1. Only with the users in their order.
    user : ndarray of int, shape (K, W), or None
        The user of each place of a server, each user once; None: the users in their order.
    """

    demands: Array
    capacities: Array
    allowed: Array | None = None
    contribution: Array | None = None
    user: Array | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Servers, users, resources."""
        return self.capacities.shape[0], *self.demands.shape

    @cached_property
    def xp(self) -> Any:
        """The functions of the library of its arrays; where that is not NumPy, ``user`` is None."""
        return namespace(self.capacities)

    @cached_property
    def used(self) -> Array:
        """Whether anybody who may run on i demands r; shape (K, R)."""
        if self.allowed is None and self.user is None:
            return np.broadcast_to((self.demands > 0).any(axis=0), self.capacities.shape)
        wanted = replace(self, demands=(self.demands > 0).astype(float))
        return np.asarray(wanted.given(self.there.astype(float)) > 0)

    @cached_property
    def there(self) -> Array:
        """Whether a pair exists, in an array as all others of pairs."""
        if self.allowed is not None:
            return self.allowed
        shape = self.shape[:2] if self.user is None else self.user.shape
        return self.xp.ones(shape, dtype=self.xp.bool, device=self.capacities.device)

    @cached_property
    def demanded(self) -> Array:
        """Demands of the user of each place; shape (K, W, R)."""
        assert self.user is not None
        return self.demands[self.user]

    @cached_property
    def products(self) -> Array:
        """Products of two demands of the user of each place, the lower triangle; shape (K, W, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        return self.demanded[:, :, row] * self.demanded[:, :, column]

    @cached_property
    def squares(self) -> Array:
        """Products of two demands of each user, the lower triangle; shape (N, R(R+1)/2)."""
        row, column = np.tril_indices(self.shape[2])
        each = zip(row.tolist(), column.tolist(), strict=True)
        return self.xp.stack([self.demands[:, r] * self.demands[:, q] for r, q in each], axis=1)

    @cached_property
    def triangle(self) -> Array:
        """Where each product of a symmetric R × R matrix stands in its lower triangle, row by row; shape (R²,)."""
        resources, xp = self.shape[2], self.xp
        at = xp.arange(resources**2, device=self.capacities.device)
        row, column = at // resources, at % resources
        low, high = xp.minimum(row, column), xp.maximum(row, column)
        return high * (high + 1) // 2 + low

    @cached_property
    def by_resource(self) -> Array:
        """Demands with the resources first; shape (R, N)."""
        return self.xp.stack([self.demands[:, r] for r in range(self.shape[2])])

    @cached_property
    def kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Servers of each kind (those with the same pairs), filled up with K; the first of it; its places in use."""
        assert self.user is not None
        pairs = np.where(self.there, self.user, -1)
        first, of, counts = np.unique(
            pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
        )[1:]
        filled = np.arange(counts.max())[None, :] < counts[:, None]
        members = np.full(filled.shape, len(self.user))
        members[filled] = np.argsort(of.ravel(), kind="stable")
        # where a server has fewer users than places, they may stand anywhere
        width = (np.arange(1, pairs.shape[1] + 1) * self.there[first]).max(axis=1)
        order = np.argsort(width, kind="stable")
        return members[order], first[order], width[order]

    @cached_property
    def products_at(self) -> list[tuple[np.ndarray, int, np.ndarray, np.ndarray]]:
        """Servers of some kinds, their places W; where products of two users stand in kinds × W × W, and in N × N."""
        assert self.user is not None
        members, first, width = self.kinds
        parts, begin = [], 0
        while begin < len(width):
            end = begin + max(int(np.searchsorted(np.cumsum(width[begin:] ** 2), _TOGETHER)), 1)
            most, which = int(width[end - 1]), first[begin:end]
            user, there = self.user[which, :most], self.there[which, :most]
            below = (user[:, :, None] >= user[:, None, :]) & there[:, :, None] & there[:, None, :]
            kind, row, column = np.nonzero(below)
            place = user[kind, row] * self.shape[1] + user[kind, column]
            parts.append((members[begin:end], most, np.flatnonzero(below), place))
            begin = end
        return parts

    @property
    def pairs(self) -> int:
        """Number of pairs that exist."""
        return int(self.xp.count_nonzero(self.there))

    def alone(self) -> Array:
        """Return the largest x[i,n] with the whole of i, 0 where the pair does not exist; by pair."""
        xp, most = self.xp, None
        with np.errstate(divide="ignore", invalid="ignore"):
            for r in range(self.shape[2]):
                demand = self.at_pairs(self.demands[:, r])
                each = xp.where(demand > 0, self.capacities[:, r : r + 1] / demand, np.inf)
                most = each if most is None else xp.minimum(most, each)
        return xp.where(self.there, most, 0.0)

    def at_pairs(self, values: Array) -> Array:
        """Return numbers of users as factors of numbers of pairs."""
        return values if self.user is None else values[self.user]

    def sums(self, pairs: Array) -> Array:
        """Return sums by user; shape (N,)."""
        if self.user is None:
            return self.xp.sum(pairs, axis=0)
        return np.bincount(self.user.ravel(), weights=pairs.ravel(), minlength=len(self.demands))

    def lowest(self, pairs: Array) -> Array:
        """Return the smallest by user of the pairs that exist; shape (N,)."""
        found = pairs if self.allowed is None else self.xp.where(self.allowed, pairs, np.inf)
        if self.user is None:
            return self.xp.min(found, axis=0)
        least = np.full(len(self.demands), np.inf)
        np.minimum.at(least, self.user, found)
        return least

    def given(self, x: Array) -> Array:
        """Return Σ_n d[n,r]·x[i,n], what is given out; shape (K, R)."""
        if self.user is None:
            return x @ self.demands
        return (x[:, None, :] @ self.demanded)[:, 0]

    def totals(self, x: Array) -> Array:
        """Return X[n]; shape (N,)."""
        return (
            self.sums(x)
            if self.contribution is None
            else self.xp.vecdot(self.contribution, x, axis=-2)
        )

    def costs(self, prices: Array) -> Array:
        """Return Σ_r d[n,r]·p[i,r], what x[i,n] costs; by pair."""
        if self.user is None:
            return prices @ self.demands.T
        return (self.demanded @ prices[:, :, None])[:, :, 0]

    def dearest(self, prices: Array) -> Array:
        """Return the highest cost of each user; shape (N,)."""
        if self.user is None:
            return self.xp.max(prices @ self.demands.T, axis=0)
        return -self.lowest(-self.costs(prices))

    def priced(self, prices: Array, values: Array) -> Array:
        """Return Σ_r d[n,r]·p[i,r] − ρ[i,n]·q[n], what x[i,n] costs above what it is worth; by pair."""
        cost, worth = self.costs(prices), self.at_pairs(values)
        cost -= worth if self.contribution is None else self.contribution * worth
        return cost

    def scaled(self) -> tuple[Region, np.ndarray, np.ndarray]:
        """Return the region with every resource's total 1 and every user's largest demand 1, and both units.

        The user's unit: x' = unit·x and X' = unit·X. The resource's unit: c' = c/unit. A row that
        nobody uses gets the total as its capacity, so that nothing is at its boundary for no
        reason.
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
