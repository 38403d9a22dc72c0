"""Proportional fairness where users have time of their own, by interior points.

    maximise Σ_n b[n]·log v[n],  v[n] = u[n] + Σ_{s,k} τ[n,s,k]·x[n,s,k]
    subject to  Σ_n a[n]·x[n,s,k] + room[s,k] = c[s,k]   price p[s,k] ≥ 0
                Σ_k x[n,s,k] + idle[n,s] = time[s]       price y[n,s] ≥ 0
    at the optimum  z[n,s,k] = a[n]·p[s,k] + y[n,s] − b[n]/v[n]·τ[n,s,k] ≥ 0,
                    x·z = room·p = idle·y = 0

A Newton step eliminates users one by one: what a user's own rows and logarithm add to a diagonal
matrix has a closed inverse. What is left is one equation for each price p.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...tolerances import ROUNDING

#: Newton steps; corrections of each by its own residual; part of the way to the boundary that one
#: goes; steps without a smaller gap at which the method ends.
_MOST_STEPS = 100
_CORRECTIONS = 3
_BOUNDARY = 0.995
_PATIENCE = 4


class _Point(NamedTuple):
    """Amounts of x, room and idle, and their prices z, p and y; or changes of these."""

    x: np.ndarray
    room: np.ndarray
    idle: np.ndarray
    z: np.ndarray
    p: np.ndarray
    y: np.ndarray

    def moved(self, step: float, change: _Point) -> _Point:
        """Return the point some way along a change."""
        return _Point(*(value + step * move for value, move in zip(self, change, strict=True)))

    def longest(self, change: _Point) -> float:
        """Return how far along a change all numbers stay above 0, at most 1."""
        falls = [(-move / value).max(initial=0.0) for value, move in zip(self, change, strict=True)]
        return float(1.0 / max(1.0, *falls))

    def products(self) -> list[np.ndarray]:
        """Return what is 0 at an optimum: amounts times prices."""
        return [self.x * self.z, self.room * self.p, self.idle * self.y]


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
    time : ndarray, shape (S,)
        What a user has of each round, at least 1; more than 1 where it is never short of it.
    """

    def __init__(
        self,
        budgets: np.ndarray,
        progress: np.ndarray,
        rates: np.ndarray,
        needs: np.ndarray,
        capacities: np.ndarray,
        time: np.ndarray,
    ) -> None:
        self.time = time
        self.exists = (rates > 0) & (capacities > 0)
        self.capacity_unit = np.where(capacities > 0, capacities, 1.0)
        self.budget_unit = float(budgets.sum())
        fastest = np.where(self.exists, rates, 0.0).max(axis=(1, 2))
        self.b = budgets / self.budget_unit
        self.u = progress / fastest
        self.tau = np.where(self.exists, rates / fastest[:, None, None], 0.0)
        self.a = np.where(self.exists, needs[:, None, None] / self.capacity_unit, 0.0)

    def solve(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return x, the prices p of a unit of capacity, and the gap, of all budgets."""
        point = best = self._start()
        smallest = np.inf
        last_better = 0
        for step in range(_MOST_STEPS):
            equations = _Equations(self, point)
            gap = equations.gap
            if gap < smallest / 2:
                last_better = step
            if gap < smallest:
                best, smallest = point, gap
            if smallest <= ROUNDING or not gap < np.inf or step - last_better > _PATIENCE:
                break
            try:
                point = equations.next_point()
            except np.linalg.LinAlgError:  # at the last digits
                break
        x = np.where(self.exists, best.x, 0.0)
        x /= np.maximum((self.a * x).sum(axis=0), 1.0)
        x /= np.maximum(x.sum(axis=2) / self.time, 1.0)[:, :, None]
        return x, best.p / self.capacity_unit * self.budget_unit, smallest

    def utility(self, x: np.ndarray) -> np.ndarray:
        """Return v at x, shape (N,)."""
        return np.asarray(self.u + (self.tau * x).sum(axis=(1, 2)))

    def _start(self) -> _Point:
        """Return a point with room everywhere; every row of capacity is half used."""
        tiny = np.finfo(float).tiny
        users = np.maximum(self.a.sum(axis=0), tiny)
        x = np.where(self.exists, np.minimum(1 / users, 1 / self.exists.shape[2]) / 2, 0.0)
        p = np.full(self.capacity_unit.shape, 1.0 / self.capacity_unit.size)
        lacking = (self.b / self.utility(x))[:, None, None] * self.tau - self.a * p
        y = np.maximum(lacking.max(axis=2), 0.0) + self.b[:, None] / 1000
        least = self.b[:, None, None] / (1000 * p.size)
        z = np.where(self.exists, np.maximum(y[:, :, None] - lacking, least), tiny)
        x = np.where(self.exists, x, 1.0)  # what does not exist stays where it is
        return _Point(x, 1 - (self.a * x).sum(axis=0), self.time - self.time_taken(x), z, p, y)

    def time_taken(self, x: np.ndarray) -> np.ndarray:
        """Return Σ_k x of what exists, shape (N, S)."""
        return np.asarray(np.where(self.exists, x, 0.0).sum(axis=2))


class _Equations:
    """Newton's equations at a point, with the users eliminated.

    A user's matrix is D + Σ_s E[s]·1·1ᵀ + κ·τ·τᵀ, with D = z/x, E = y/idle, κ = b/v².
    """

    def __init__(self, market: TimedMarket, point: _Point) -> None:
        self.market = market
        self.point = point
        a, tau = market.a, market.tau
        v = market.utility(point.x)
        worth = (market.b / v)[:, None, None] * tau
        self.of_capacity = 1 - (a * point.x).sum(axis=0) - point.room
        self.of_time = market.time - market.time_taken(point.x) - point.idle
        of_cost = point.z - (a * point.p + point.y[:, :, None] - worth)
        self.of_cost = np.where(market.exists, of_cost, 0.0)
        products = point.products()
        total = sum(float(product.sum()) for product in products)
        self.mean = total / sum(product.size for product in products)
        residuals = (self.of_capacity, self.of_time, self.of_cost)
        self.gap = total + sum(float(abs(residual).max()) for residual in residuals)

        self.inverse = np.where(market.exists, point.x / point.z, 0.0)
        self.E = point.y / point.idle
        self.kappa = market.b / v**2
        self.spread = 1 + self.E * self.inverse.sum(axis=2)
        self.fast = self._without_logarithm(tau)
        self.weight = self.kappa / (1 + self.kappa * (tau * self.fast).sum(axis=(1, 2)))
        self.matrix = self._of_prices()

    def next_point(self) -> _Point:
        """Return the point after a step of Mehrotra's predictor and corrector."""
        point = self.point
        products = point.products()
        predicted = self._step(0.0, products)
        there = point.moved(point.longest(predicted), predicted)
        left = sum(float(product.sum()) for product in there.products())
        ratio = left / sum(float(product.sum()) for product in products)
        corrected = [
            product + both for product, both in zip(products, predicted.products(), strict=True)
        ]
        change = self._step(ratio**3 * self.mean, corrected)
        return point.moved(_BOUNDARY * point.longest(change), change)

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
        tau = self.market.tau
        along = self.kappa * (tau * x).sum(axis=(1, 2))
        own_time = (self.E * x.sum(axis=2))[:, :, None]
        values = self.point.z / self.point.x * x + own_time + tau * along[:, None, None]
        return np.where(self.market.exists, values, 0.0)

    def _of_prices(self) -> np.ndarray:
        """Return the matrix of the equations of prices, (S·K, S·K)."""
        a = self.market.a
        used = a * self.inverse
        n_rounds, n_kinds = self.point.p.shape
        matrix = np.zeros((n_rounds, n_kinds, n_rounds, n_kinds))
        rounds = np.arange(n_rounds)
        shared = self.E / self.spread
        matrix[rounds, :, rounds, :] = -np.einsum("ns,nsk,nsl->skl", shared, used, used)
        along = (a * self.fast).reshape(len(a), -1)
        square = matrix.reshape(along.shape[1], -1) - (along.T * self.weight) @ along
        diagonal = (a * used).sum(axis=0) + self.point.room / self.point.p
        square[np.diag_indices(len(square))] += diagonal.ravel()
        return np.asarray((square + square.T) / 2)

    def _step(self, centre: float, products: list[np.ndarray]) -> _Point:
        """Return the change that brings these products to the centre."""
        market = self.market
        point = self.point
        of_x, of_room, of_idle = (centre - product for product in products)
        time = of_idle / point.idle - self.E * self.of_time
        side = np.where(market.exists, of_x / point.x + self.of_cost - time[:, :, None], 0.0)
        dx, dp = self._solved(side, self.of_capacity - of_room / point.p)
        idle = self.of_time - dx.sum(axis=2)
        dy = (of_idle - point.y * idle) / point.idle
        along = self.kappa * (market.tau * dx).sum(axis=(1, 2))
        dz = market.a * dp + dy[:, :, None] + market.tau * along[:, None, None] - self.of_cost
        room = (of_room - point.room * dp) / point.p
        return _Point(dx, room, idle, np.where(market.exists, dz, 0.0), dp, dy)

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
