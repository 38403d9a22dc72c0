"""Arrays of any library that keeps to the Python array API standard, and the little that the standard lacks.

The method is written once in terms of a namespace ``xp``: NumPy itself, or another library's through array-api-compat.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

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
    """Return what solves equations with a symmetric matrix, which is used up; None where it is not definite."""
    if isinstance(matrix, np.ndarray):
        try:
            factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
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

    return solve_triangular(lower, solve_triangular(lower, right, lower=True), lower=True, trans="T")


def _solve_in_standard(lower: Array, right: Array) -> Array:
    """Solve as if the factor were any matrix: the standard knows of no triangular ones."""
    solve = namespace(lower).linalg.solve
    return solve(lower.T, solve(lower, right))


_SOLVES: dict[str, Callable[[Array, Array], Array]] = {"torch": _solve_in_torch, "cupy": _solve_in_cupy}


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
        # as the standard has no sums into given places: every user's rows side by side, filled up by a row J of nothing
        rows, order = user.shape[0], xp.argsort(user, stable=True)
        ordered, each = xp.take(user, order, axis=0), xp.arange(users, device=user.device)
        first, end = xp.searchsorted(ordered, each), xp.searchsorted(ordered, each, side="right")
        self.width = int(xp.max(end - first))
        at = first[:, None] + xp.arange(self.width, device=user.device)[None, :]
        own = xp.reshape(xp.take(order, xp.reshape(xp.minimum(at, rows - 1), (-1,)), axis=0), at.shape)
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
