"""Proportional fairness where users have time of their own, by interior points.

    maximise Σ_n b[n]·log v[n],  v[n] = u[n] + Σ_{s,k} τ[n,s,k]·x[n,s,k]
    subject to  Σ_n a[n]·x[n,s,k] ≤ c[s,k]   price p[s,k] ≥ 0
                Σ_k x[n,s,k] ≤ 1             price y[n,s] ≥ 0, in rounds s that are timed
    at the optimum  z[n,s,k] = a[n]·p[s,k] + y[n,s] − g[n]·τ[n,s,k] ≥ 0,  g[n]·v[n] = b[n],
                    and x·z, p and y times what is left of their rows are 0

A Newton step eliminates users one by one: what a user's own rows and logarithm add to a diagonal
matrix has a closed inverse. What is left is one equation for each price p.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from ...tolerances import SETTLED

#: Newton steps; corrections of each by its own residual; part of the way to the boundary that one
#: goes; steps without a smaller gap at which the method ends.
_MOST_STEPS = 100
_CORRECTIONS = 3
_BOUNDARY = 0.995
_PATIENCE = 4


@dataclass
class _Point:
    """Numbers of all variables, or their changes; ``room`` and ``idle`` are what rows leave."""

    x: np.ndarray
    room: np.ndarray
    idle: np.ndarray
    p: np.ndarray
    y: np.ndarray
    g: np.ndarray
    z: np.ndarray

    def moved(self, step: float, change: Self) -> Self:
        """Return the point some way along a change."""
        return type(self)(
            **{
                field.name: getattr(self, field.name) + step * getattr(change, field.name)
                for field in fields(self)
            }
        )

    def longest(self, change: Self) -> float:
        """Return how far along a change all numbers stay above 0, at most 1."""
        longest = 1.0
        for field in fields(self):
            move = getattr(change, field.name)
            falls = move < 0
            if falls.any():
                longest = min(
                    longest, float((-getattr(self, field.name)[falls] / move[falls]).min())
                )
        return longest


class TimedMarket:
    """The market, in units in which every capacity, budget in all, and fastest rate is 1.

    Parameters
    ----------
    budgets, progress : ndarray, shape (N,)
        b > 0, and u ≥ 0, what users have already.
    rates : ndarray, shape (N, S, K)
        τ, 0 where a user may not run; each user has one above 0.
    needs : ndarray, shape (N,)
        a, devices that a user takes at once.
    capacities : ndarray, shape (S, K)
    timed : ndarray of bool, shape (S,)
    """

    def __init__(
        self,
        budgets: np.ndarray,
        progress: np.ndarray,
        rates: np.ndarray,
        needs: np.ndarray,
        capacities: np.ndarray,
        timed: np.ndarray,
    ) -> None:
        self.rates = rates
        self.exists = (rates > 0) & (capacities > 0)
        self.timed = np.broadcast_to(timed, rates.shape[:2])
        self.capacity_unit = np.where(capacities > 0, capacities, 1.0)
        self.budget_unit = float(budgets.sum())
        fastest = np.where(self.exists, rates, 0.0).max(axis=(1, 2))
        self.b = budgets / self.budget_unit
        self.u = progress / fastest
        self.tau = np.where(self.exists, rates / fastest[:, None, None], 0.0)
        self.a = np.where(self.exists, needs[:, None, None] / self.capacity_unit, 0.0)
        self.n_products = int(self.exists.sum() + capacities.size + self.timed.sum())

    def solve(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return x (N, S, K), the prices p (S, K) of a unit of capacity, and the gap, of all budgets.

        The gap is that of prices y that fit p, and not of the method's own.
        """
        point = best = self._start()
        smallest = np.inf
        last_better = 0
        for step in range(_MOST_STEPS):
            gap = self._gap(point)
            if gap < smallest / 2:
                last_better = step
            if gap < smallest:
                best, smallest = point, gap
            if smallest <= SETTLED or step - last_better > _PATIENCE or not np.isfinite(gap):
                break
            try:
                point = self._next(point)
            except np.linalg.LinAlgError:  # at the last digits
                break
        x = np.where(self.exists, best.x, 0.0)
        x /= np.maximum((self.a * x).sum(axis=0), 1.0)
        x /= np.where(self.timed, np.maximum(x.sum(axis=2), 1.0), 1.0)[:, :, None]
        return x, best.p / self.capacity_unit * self.budget_unit, smallest

    def _utility(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.u + (self.tau * x).sum(axis=(1, 2)))

    def _start(self) -> _Point:
        """Return a point with room everywhere; every row of capacity is half used."""
        exists = self.exists
        n_kinds = exists.shape[2]
        users = np.maximum(self.a.sum(axis=0), np.finfo(float).tiny)
        x = np.where(exists, np.minimum(1 / users, 1 / n_kinds) / 2, 0.0)
        g = self.b / self._utility(x)
        p = np.full(self.capacity_unit.shape, 1.0 / self.capacity_unit.size)
        lacking = g[:, None, None] * self.tau - self.a * p
        y = np.where(self.timed, np.maximum(lacking.max(axis=2), 0.0) + self.b[:, None] / 1000, 0.0)
        cost = y[:, :, None] - lacking
        least = self.b[:, None, None] / (1000 * p.size)
        z = np.where(exists, np.maximum(cost, least), 1.0)
        room = 1 - (self.a * x).sum(axis=0)
        return _Point(x, room, 1 - x.sum(axis=2), p, y, g, z)

    def _gap(self, point: _Point) -> float:
        """Return how much prices say that the gradient could gain, of all budgets."""
        worth = (self.b / self._utility(point.x))[:, None, None] * self.tau
        lacking = np.where(self.exists, worth - self.a * point.p, 0.0).max(axis=2)
        time_prices = np.where(self.timed, np.maximum(lacking, 0.0), 0.0)
        untimed = np.where(self.timed, 0.0, np.maximum(lacking, 0.0)).sum()
        gain = point.p.sum() + time_prices.sum() + untimed - (worth * point.x).sum()
        overuse = np.maximum((self.a * point.x).sum(axis=0) - 1, 0.0).max()
        return float(abs(gain) + overuse)

    def _next(self, point: _Point) -> _Point:
        """Return the point after a step of Mehrotra's predictor and corrector."""
        equations = _Equations(self, point)
        products = (point.x * point.z, point.room * point.p, point.idle * point.y)
        centre = equations.mean(*products)
        predicted = equations.step(0.0, *products)
        there = point.moved(point.longest(predicted), predicted)
        mean = equations.mean(there.x * there.z, there.room * there.p, there.idle * there.y)
        change = equations.step(
            (mean / centre) ** 3 * centre,
            products[0] + predicted.x * predicted.z,
            products[1] + predicted.room * predicted.p,
            products[2] + predicted.idle * predicted.y,
        )
        return point.moved(min(_BOUNDARY * point.longest(change), 1.0), change)


class _Equations:
    """Newton's equations at a point, with the users eliminated.

    A user's matrix is D + Σ_s E[s]·1·1ᵀ + κ·τ·τᵀ, with D = z/x, E = y/idle, κ = g/v.
    """

    def __init__(self, market: TimedMarket, point: _Point) -> None:
        self.market = market
        self.point = point
        exists = market.exists
        self.x = np.where(exists, point.x, 1.0)
        self.inverse = np.where(exists, point.x / point.z, 0.0)
        idle = np.where(market.timed, point.idle, 1.0)
        self.E = np.where(market.timed, point.y / idle, 0.0)
        self.idle = idle
        v = market._utility(point.x)
        self.kappa = point.g / v

        # residuals of the rows, and of what defines z and g
        self.of_capacity = 1 - (market.a * point.x).sum(axis=0) - point.room
        self.of_time = np.where(market.timed, 1 - point.x.sum(axis=2) - point.idle, 0.0)
        cost = market.a * point.p + point.y[:, :, None] - point.g[:, None, None] * market.tau
        self.of_cost = np.where(exists, point.z - cost, 0.0)
        self.of_worth = (market.b - point.g * v) / v

        self.spread = 1 + self.E * self.inverse.sum(axis=2)
        self.fast = self._without_logarithm(market.tau)
        self.weight = self.kappa / (1 + self.kappa * (market.tau * self.fast).sum(axis=(1, 2)))
        self.matrix = self._of_prices()

    def mean(self, *products: np.ndarray) -> float:
        """Return the mean of the products that are 0 at an optimum."""
        exists, timed = self.market.exists, self.market.timed
        total = products[0][exists].sum() + products[1].sum() + products[2][timed].sum()
        return float(total) / self.market.n_products

    def _without_logarithm(self, values: np.ndarray) -> np.ndarray:
        """Return (D + Σ E·1·1ᵀ)⁻¹ of values; by differences, so that nothing cancels."""
        differences = values[:, :, :, None] - values[:, :, None, :]
        others = np.einsum("nsl,nskl->nsk", self.inverse, differences)
        return np.asarray(
            self.inverse * (values + self.E[:, :, None] * others) / self.spread[:, :, None]
        )

    def _inverted(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of users' matrices, of values."""
        along = self.weight * (self.fast * values).sum(axis=(1, 2))
        return np.asarray(self._without_logarithm(values) - self.fast * along[:, None, None])

    def _times(self, x: np.ndarray) -> np.ndarray:
        """Return users' matrices times x."""
        market = self.market
        of_time = self.E[:, :, None] * x.sum(axis=2)[:, :, None]
        of_worth = market.tau * (self.kappa * (market.tau * x).sum(axis=(1, 2)))[:, None, None]
        return np.where(market.exists, self.point.z / self.x * x + of_time + of_worth, 0.0)

    def _of_prices(self) -> np.ndarray:
        """Return the matrix of the equations of prices, (S·K, S·K)."""
        a = self.market.a
        n_rounds, n_kinds = self.point.p.shape
        used = a * self.inverse
        matrix = np.zeros((n_rounds, n_kinds, n_rounds, n_kinds))
        each = np.arange(n_rounds)
        shared = self.E / self.spread
        matrix[each, :, each, :] = -np.einsum("ns,nsk,nsl->skl", shared, used, used)
        # of the diagonal the part that would cancel is left out
        kinds = np.arange(n_kinds)
        elsewhere = self.inverse @ (1.0 - np.eye(n_kinds))
        own = a * used * (1 + self.E[:, :, None] * elsewhere) / self.spread[:, :, None]
        matrix[each[:, None], kinds, each[:, None], kinds] = own.sum(axis=0)
        along = (a * self.fast).reshape(len(a), -1)
        square = matrix.reshape(along.shape[1], -1) - (along.T * self.weight) @ along
        square[np.diag_indices(len(square))] += (self.point.room / self.point.p).ravel()
        return np.asarray((square + square.T) / 2)

    def step(
        self, centre: float, of_x: np.ndarray, of_room: np.ndarray, of_idle: np.ndarray
    ) -> _Point:
        """Return the change that brings these products to the centre."""
        market = self.market
        point = self.point
        time = np.where(market.timed, (centre - of_idle) / self.idle, 0.0) - self.E * self.of_time
        worth = market.tau * self.of_worth[:, None, None]
        side = (centre - of_x) / self.x + self.of_cost + worth - time[:, :, None]
        side = np.where(market.exists, side, 0.0)
        of_capacity = self.of_capacity - (centre - of_room) / point.p
        dx, dp = self._solved(side, of_capacity)

        idle = np.where(market.timed, self.of_time - dx.sum(axis=2), 0.0)
        dy = np.where(market.timed, (centre - of_idle - point.y * idle) / self.idle, 0.0)
        dg = self.of_worth - self.kappa * (market.tau * dx).sum(axis=(1, 2))
        cost = market.a * dp + dy[:, :, None] - market.tau * dg[:, None, None] - self.of_cost
        room = (centre - of_room - point.room * dp) / point.p
        return _Point(dx, room, idle, dp, dy, dg, np.where(market.exists, cost, 0.0))

    def _solved(self, side: np.ndarray, of_capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return dx and dp with matrices·dx + a·dp = side and Σ a·dx − room/p·dp = of_capacity."""
        a = self.market.a
        ratio = self.point.room / self.point.p
        dx = np.zeros(side.shape)
        dp = np.zeros(ratio.shape)
        left, left_of_capacity = side, of_capacity
        for _ in range(_CORRECTIONS):
            right = (a * self._inverted(left)).sum(axis=0) - left_of_capacity
            prices = np.linalg.solve(self.matrix, right.ravel()).reshape(dp.shape)
            dp = dp + prices
            dx = dx + self._inverted(left - a * prices)
            left = side - a * dp - self._times(dx)
            left_of_capacity = of_capacity - (a * dx).sum(axis=0) + ratio * dp
        return dx, dp
