"""The last digits of a concave optimum: Newton's method on the columns in use and the rows that are full.

An interior point knows tasks to the square root of its gap where the optimum is degenerate: a pair that nobody uses,
though it would cost nothing to. What is in use and what is full are told from the point; then stationarity of the ones
and equality of the others are smooth equations, which Newton's method solves to rounding. The certificate decides
whether that was right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...models.programs.certificate import certify
from ...models.programs.program import LogTerms, Program
from ...tolerances import INTERIOR_AIM, INTERIOR_UNCLEAR

#: More unknowns than that are left as they are: least squares cost their cube.
MOST_UNKNOWNS = 600
#: Newton's steps.
_STEPS = 8


def polished(program: Program, x: np.ndarray, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return point and duals to the last digits where those in reach have fewer, and as they are elsewhere.

    Parameters
    ----------
    program : Program
        A maximum of logarithms and powers of columns of their own, all at least 0, with rows ``≤`` only; others are
        left as they are.
    x, duals : ndarray
        Near the optimum; duals ∂objective/∂right-hand side.
    """
    from threadpoolctl import threadpool_limits

    logs = program.logs
    if logs is None or not _suits(program, logs) or not (logs.arguments(x) > 0).all():
        return x, duals
    # what is beyond floats is nobody's optimum: it is left as it was
    with threadpool_limits(1), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = _newton(_System(program, logs), x, duals)
    if found is None:
        return x, duals
    before, after = certify(program, x, duals), certify(program, *found)
    better = after.is_optimal and max(after.gap or 0.0, after.dual_residual or 0.0) <= (before.gap or 0.0)
    return found if better else (x, duals)


def _newton(system: _System, x: np.ndarray, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return point and duals by Newton's method; None where all is clear, or nothing was found."""
    prices = system.with_limits(x, duals)
    told = system.told(x, prices)
    if told is None or sum(len(some) for some in told) > MOST_UNKNOWNS:
        return None
    found = system.solve(*told, x, prices)
    if found is None:
        return None
    return np.maximum(found[0], 0.0), np.maximum(found[1][: len(duals)], 0.0)


def _suits(program: Program, logs: LogTerms) -> bool:
    """Whether it is a maximum of increasing functions of columns of their own, with nothing but upper bounds."""
    plain = program.sense == "max" and not program.c.any() and not logs.constant.any()
    own = len(np.unique(logs.A.indices)) == logs.A.nnz and (logs.A.data > 0).all() and (logs.weights > 0).all()
    bounds = not program.col_lower.any() and not np.isfinite(program.row_lower).any()
    # nobody runs where something is lacking: those columns are fixed at 0, or not there
    lacking = program.A[np.flatnonzero(program.row_upper <= 0)]
    return bool(plain and own and bounds and not lacking[:, np.flatnonzero(program.col_upper > 0)].nnz)


@dataclass(frozen=True)
class _Units:
    """At a point: the gradient; what a column's user has, in its terms; the price of a row that takes all the worth."""

    gradient: np.ndarray
    column: np.ndarray
    price: np.ndarray


class _System:
    """The conditions of the optimum, each in units of its own; columns that stand in the objective, limits as rows."""

    def __init__(self, program: Program, logs: LogTerms) -> None:
        self.logs, self.columns = logs, program.n_columns
        self.kept = np.unique(logs.A.indices[program.col_upper[logs.A.indices] > 0])
        self.limited = np.flatnonzero(np.isfinite(program.col_upper[self.kept]))
        limits = sp.eye_array(len(self.kept), format="csr")[self.limited]
        some = np.isfinite(program.row_upper) & (program.row_upper > 0)
        self.finite = np.concatenate([some, np.ones(len(self.limited), dtype=bool)])
        self.A = sp.vstack([program.A[:, self.kept], limits], format="csr")
        upper = np.concatenate([program.row_upper, program.col_upper[self.kept[self.limited]]])
        self.bound = np.where(self.finite, upper, 1.0)
        self.L = logs.A[:, self.kept].tocsc()

    def with_limits(self, x: np.ndarray, duals: np.ndarray) -> np.ndarray:
        """Return the prices of the rows, and of limits: what their columns gain beyond what they cost."""
        gain = self.units(x).gradient - self.A[: len(duals)].T @ duals
        return np.concatenate([duals, np.maximum(gain[self.limited], 0.0)])

    def units(self, x: np.ndarray) -> _Units:
        """Return the units at a point."""
        z = self.logs.arguments(x)
        slope = self.logs.slopes(z)
        return _Units(self.L.T @ slope, 1.0 / (self.L.T @ (1.0 / z)), float(slope @ z) / self.bound)

    def told(self, x: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return which columns are in use and which rows are full, by a point nearby; None where all is clear.

        A column is in use when it is more of its user than it loses; a row is full when its price exceeds its slack.
        """
        units = self.units(x)
        part, loss = x[self.kept] / units.column, abs((self.A.T @ prices) / units.gradient - 1.0)
        slack = np.where(self.finite, abs(1.0 - (self.A @ x[self.kept]) / self.bound), 1.0)
        worth = prices / units.price
        unclear = np.concatenate([np.minimum(part, loss), np.minimum(slack, worth)])
        if unclear.max(initial=0.0) <= INTERIOR_UNCLEAR:
            return None
        return np.flatnonzero(part > loss), np.flatnonzero(worth > slack)

    def solve(
        self, used: np.ndarray, full: np.ndarray, x: np.ndarray, prices: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a point and prices where what is used is stationary and what is full is; None where Newton fails."""
        from scipy.linalg import lstsq

        columns, rows = self.kept[used], self.A[full][:, used].toarray()
        at, costs = np.zeros(self.columns), np.zeros(len(prices))
        at[columns], costs[full] = x[columns], prices[full]
        best = np.inf
        for _ in range(_STEPS):
            if not (self.logs.arguments(at) > 0).all():
                return None
            units = self.units(at)
            gradient, unit, price = units.gradient[used], units.column[used], units.price[full]
            off = np.concatenate([(rows.T @ costs[full]) / gradient - 1.0, 1.0 - rows @ at[columns] / self.bound[full]])
            error = float(abs(off).max(initial=0.0))
            if error >= best / 2:
                break
            best = error
            across = -(rows * price[:, None]).T / gradient[:, None]
            down = rows * unit / self.bound[full][:, None]
            matrix = np.block([[self._curved(at, used, units), across], [down, np.zeros((len(full), len(full)))]])
            step = lstsq(matrix, off, cond=INTERIOR_AIM, lapack_driver="gelsy", check_finite=False)[0]
            at[columns] += unit * step[: len(used)]
            costs[full] += price * step[len(used) :]
        return (at, costs) if best <= INTERIOR_AIM else None

    def _curved(self, x: np.ndarray, used: np.ndarray, units: _Units) -> np.ndarray:
        """Return how the gradient changes with the columns, each in its unit."""
        z = self.logs.arguments(x)
        scaled = self.L[:, used].toarray() * units.column[used]
        curvature = -self.logs.alpha * self.logs.slopes(z) / z
        changes: np.ndarray = (scaled.T * curvature) @ scaled / (units.gradient * units.column)[used][:, None]
        return changes
