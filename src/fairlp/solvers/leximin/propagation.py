"""How far errors of earlier rounds may have moved later levels.

The program of a round is right to what its certificate says, and its floors are as right as the levels that they are
made of. The dual price of a floor is how fast the level of the round falls where the floor rises. So, to first order,
errors e of the programs move the levels by (I + C)⁻¹·e, where C[k, j] is the price, in round k, of raising the floors
of all who stopped at the level of round j. Along chains of users, each of whom shares a server with the next, that
grows.
"""

from __future__ import annotations

import numpy as np

from ...models.programs.solution import Solution
from ...tolerances import LEVEL_ROUNDING, ROUNDING


class Propagation:
    """Errors of levels, from the programs of the rounds; members are those of the rounds."""

    def __init__(self, members: int) -> None:
        self.round = np.full(members, -1)  # at whose level a member stopped
        self.levels: list[float] = []
        self.own: list[float] = []
        self.prices: list[np.ndarray] = []

    def solved(self, level: float, own: float, prices: np.ndarray) -> None:
        """Put down a round: its level, the error of its program, and the price of each member's level in it."""
        stopped = self.round >= 0
        self.prices.append(np.bincount(self.round[stopped], weights=prices[stopped], minlength=len(self.levels)))
        self.levels.append(level)
        self.own.append(own)

    def stopped(self, members: np.ndarray) -> None:
        """Put down who stopped at the level of the last round."""
        self.round[members] = len(self.levels) - 1

    def largest(self, shift: float = 0.0) -> float:
        """Return by what part of itself a level may be off, to first order, at most; levels were raised by a shift."""
        from scipy.linalg import solve_triangular

        count = len(self.levels)
        if not count:
            return 0.0
        matrix = np.eye(count)
        for k, row in enumerate(self.prices):
            matrix[k, :k] = row[:k]
        with np.errstate(over="ignore", invalid="ignore"):
            moved = abs(solve_triangular(matrix, np.eye(count), lower=True, check_finite=False)) @ np.array(self.own)
        levels = abs(np.array(self.levels) - shift)
        found = np.divide(moved, levels, out=np.zeros(count), where=levels > LEVEL_ROUNDING * shift).max()
        return float(found) if np.isfinite(found) else 1.0


def own_error(solution: Solution, gap: float, rows: np.ndarray, floor: np.ndarray, given: np.ndarray) -> float:
    """Return by how much the level of a program's answer may be off, to first order, were its floors exact.

    What its point violates, by how much floors were lowered (``given``), and their rounding, each at its price; and
    what the duality gap leaves.
    """
    program, x, duals = solution.program, solution.x, solution.row_duals
    assert x is not None and duals is not None
    price, activity = abs(duals), program.A @ x
    violated = np.maximum(np.maximum(program.row_lower - activity, activity - program.row_upper), 0.0)
    violated += ROUNDING * (abs(program.A) @ abs(x))
    of_floors = price[rows] @ (given + ROUNDING * abs(floor))
    return float(price @ violated + of_floors + gap * abs(solution.objective))
