"""Newton's equations on the users: conjugate gradients, each step one pass over the pairs, and what speeds them up.

    S·dv − a·dt = r,   a·dv = 0 in every group,   S = diag(G) − Eᵀ·E

S has one direction in each group in which it is nearly 0, all prices together; a·dv = 0 takes it away, and the
preconditioner respects it. Preconditioners: where users (or the servers' resources) are few, S itself (or what is left
of it on the servers), factored; else, early, the diagonal, and then S of the pairs that matter, which towards the
optimum are two or three for each user: the others stay on the diagonal. As much is factored as fills few numbers a
pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from ...tolerances import INTERIOR_SHIFTS
from .servers import ServerBlocks

#: Rows of a matrix that is factored as a dense one, at most.
DENSE = 3_000
#: Conjugate-gradient steps for one solution, at most; the part of a slack, or of what it is to be, that errors may be.
_STEPS, _MATTERS = 2_000, 0.1
#: Strong pairs: the factors may have so many numbers a pair; the parts of a diagonal that are tried, and how fast.
_FILL, _FIRST, _LEAST, _FINER, _COARSER = 8.0, 0.5, 2.0**-10, 0.6, 2.0
#: Diagonal preconditioning is left when a solution took so many steps.
_SLOW = 100

#: What free values cost beside their equations: small beside anything that matters, large beside rounding.
_PROXIMAL = 2.0**-48

Inverse = Callable[[np.ndarray], np.ndarray]


@dataclass
class Effort:
    """What solving cost so far, and how strong a pair must be to be factored (inf: none is)."""

    steps: int = 0
    passes: int = 0
    strong: float = np.inf


class Equations:
    """The equations at one point.

    Parameters
    ----------
    fleet : ServerBlocks
        Its servers are eliminated here.
    own : (ndarray, ndarray of bool), each of shape (N,)
        u/v, and whose value is free.
    slope : ndarray, shape (N,)
        a: 1 for who rises with t, 0 for who has a floor.
    group : ndarray of int, shape (N,)
    effort : Effort
    """

    def __init__(
        self,
        fleet: ServerBlocks,
        own: tuple[np.ndarray, np.ndarray],
        slope: np.ndarray,
        group: np.ndarray,
        effort: Effort,
    ) -> None:
        self.fleet, self.slope, self.group, self.effort = fleet, slope, group, effort
        self.groups = int(group.max()) + 1
        parts = fleet.ask("factor")
        effort.passes += 1
        theta = fleet.sum([part[0] for part in parts])
        self.diagonal = theta + np.where(own[1], _PROXIMAL * theta, own[0])
        taken = fleet.sum([part[1] for part in parts])
        self.left = np.maximum(self.diagonal - taken, INTERIOR_SHIFTS[0] * self.diagonal)
        self.direct = False
        self.inverse = self._preconditioner()
        self.along = self.inverse(slope)
        self.size = np.bincount(group, weights=slope * self.along, minlength=self.groups)

    def solve(self, right: np.ndarray, excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return dv and dt by group; errors matter beyond a part of ``excess`` (N,)."""
        found, error = np.zeros_like(right), right.copy()
        conjugate, level = self._projected(error)
        product = float(error @ conjugate)
        tolerance, direction = _MATTERS * excess, conjugate
        steps = 0
        while steps < _STEPS and (abs(error - self.slope * level[self.group]) > tolerance).any():
            moved = self._apply(direction)
            length = product / float(direction @ moved)
            if not np.isfinite(length) or length <= 0:  # rounding has the last word
                break
            found += length * direction
            error -= length * moved
            conjugate, level = self._projected(error)
            before, product = product, float(error @ conjugate)
            if product <= 0:
                break
            direction = conjugate + product / before * direction
            steps += 1
        self.effort.steps += steps
        self.effort.passes += 2 * steps
        if steps > _SLOW and self.effort.strong == np.inf:
            self.effort.strong = _FIRST
        return found, np.negative(level)

    def _apply(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(self.diagonal * values - self.fleet.sum(self.fleet.ask("apply", values)))

    def _projected(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the preconditioned error with a·dv = 0 in every group, and what that leaves out, by group."""
        found = self.inverse(error)
        level = np.bincount(self.group, weights=self.slope * found, minlength=self.groups) / self.size
        return found - self.along * level[self.group], level

    # ---------------------------------------------------------------- preconditioners

    def _preconditioner(self) -> Inverse:
        users = len(self.diagonal)
        rows = sum(int(cut) for cut in np.diff(self.fleet.cuts)) * self.fleet.resources
        if min(users, rows) <= DENSE:
            matrix, _ = self._coupling(0.0)
            found = self._users_last(matrix) if users <= rows else self._servers_last(matrix)
            if found is not None:
                self.direct = True
                return found
        if self.effort.strong < np.inf:
            strong = self._strong()
            if strong is not None:
                return strong
        return lambda error: error / self.left

    def _coupling(self, least: float) -> tuple[sparse.csr_array, np.ndarray]:
        """Return E of the pairs that are strong enough, and their part of the diagonal of EᵀE."""
        parts = self.fleet.ask("strong", self.left, least=least)
        self.effort.passes += 1
        row, column, data = [], [], []
        resources = self.fleet.resources
        for (server, user, values), users, begin in zip(parts, self.fleet.users, self.fleet.cuts, strict=False):
            for r, value in enumerate(values):
                row.append((server + begin) * resources + r)
                column.append(users[user])
                data.append(value)
        shape = (int(self.fleet.cuts[-1]) * resources, len(self.diagonal))
        flat = np.concatenate(data), (np.concatenate(row), np.concatenate(column))
        matrix = sparse.csr_array(flat, shape=shape)
        return matrix, np.bincount(flat[1][1], weights=flat[0] ** 2, minlength=shape[1])

    def _users_last(self, matrix: sparse.csr_array) -> Inverse | None:
        return _dense((matrix.T @ matrix).toarray(), self.diagonal)

    def _servers_last(self, matrix: sparse.csr_array) -> Inverse | None:
        """Return S⁻¹ by way of 1 − E·G⁻¹·Eᵀ, on the servers' resources."""
        scaled = matrix @ sparse.diags_array(1.0 / np.sqrt(self.diagonal))
        inner = _dense((scaled @ scaled.T).toarray(), np.ones(matrix.shape[0]))
        if inner is None:
            return None
        back = matrix.T.tocsr()

        def inverse(error: np.ndarray) -> np.ndarray:
            first = error / self.diagonal
            return np.asarray(first + (back @ inner(matrix @ first)) / self.diagonal)

        return inverse

    def _strong(self) -> Inverse | None:
        """Return the inverse of S of the strong pairs, and go for more of them, or fewer, the next time."""
        matrix, kept = self._coupling(self.effort.strong)
        taken = self.diagonal - self.left
        diagonal = self.diagonal - np.maximum(taken - kept, 0.0)
        unit = 1.0 / np.sqrt(np.maximum(diagonal - kept, INTERIOR_SHIFTS[0] * diagonal))
        matrix = matrix @ sparse.diags_array(unit)
        schur = sparse.diags_array(diagonal * unit**2 * (1 + INTERIOR_SHIFTS[0])) - matrix.T @ matrix
        options = {"SymmetricMode": True}
        try:
            factor = splu(schur.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        except RuntimeError:  # singular, to rounding
            return None
        filled = factor.nnz / 2
        if filled > _FILL * self.fleet.pairs:
            self.effort.strong = min(_COARSER * self.effort.strong, 1.0)
        elif filled < _FILL * self.fleet.pairs / 4:
            self.effort.strong = max(_FINER * self.effort.strong, _LEAST)
        return lambda error: unit * factor.solve(unit * error)


def _dense(product: np.ndarray, diagonal: np.ndarray) -> Inverse | None:
    """Return the inverse of diag − product, or None where rounding left it indefinite."""
    unit = 1.0 / np.sqrt(diagonal)
    matrix = -product * unit[:, None] * unit
    at, shift = np.diag_indices(len(matrix)), INTERIOR_SHIFTS[0]
    while shift <= INTERIOR_SHIFTS[1]:
        shifted = matrix.copy()
        shifted[at] += 1.0 + shift
        try:
            factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            shift *= 10
            continue
        return lambda error: unit * cho_solve(factor, unit * error, check_finite=False)
    return None
