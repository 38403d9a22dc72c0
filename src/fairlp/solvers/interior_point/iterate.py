"""A point of the method: its errors, its normal equations, and Newton directions from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...tolerances import ACCEPTED, INTERIOR_ROUGH_FACTORS, SETTLED
from .normal_equations import NormalEquations
from .problem import Problem, Variables

#: Errors of a step's equations matter beyond this part of a slack and of its target value.
_MATTERS = 0.01
#: What free prices cost beside their equations: small beside anything that matters, large beside
#: rounding.
_PROXIMAL = 2.0**-40


@dataclass
class ProductChanges:
    """By how much the linearised products x·z, s·p and u·v are to change."""

    xz: np.ndarray
    sp: np.ndarray
    uv: np.ndarray


class Iterate:
    """A point with all its variables positive.

    :meth:`measure` computes its errors, :meth:`factor` its normal equations, and :meth:`direction`
    solves these.

    Parameters
    ----------
    problem : Problem
    point : Variables
    """

    def __init__(self, problem: Problem, point: Variables) -> None:
        self.problem = problem
        self.point = point
        servers, _, resources = problem.region.shape
        n_capacities = float(servers * resources)
        #: rows whose u·v vanishes at the optimum
        self.is_bound_row = problem.rows.weight == 0
        if problem.face is not None:
            self.is_bound_row &= ~problem.face.tight_rows
            n_capacities -= float(problem.face.tight_capacities.sum())
        #: 1 for these, 0 for others
        self.bound_row_factor = self.is_bound_row.astype(float)
        #: rows whose u^α·v has a given value in its place
        self.is_power = ~self.is_bound_row & (problem.rows.alpha != 1)
        self.has_powers = bool(self.is_power.any())
        self.gap = 0.0  # until it is measured
        self.n_products = problem.region.n_pairs + n_capacities + float(self.bound_row_factor.sum())

    # Complementarity.

    def total_product(self, point: Variables) -> float:
        """Return the sum of the products that vanish at the optimum, at a point."""
        of_pairs = np.vdot(point.x, point.z)
        of_capacities = np.vdot(point.s, point.p)
        of_rows = np.vdot(point.u * self.bound_row_factor, point.v)
        return float(of_pairs + of_capacities + of_rows)

    def optimal_products(self, u: np.ndarray) -> np.ndarray:
        """Return u·v at the optimum by u: e·u^(1−α), and 0 where the row is a bound; shape (J,)."""
        return np.asarray(self.problem.rows.weight * u ** (1.0 - self.problem.rows.alpha))

    def product_changes_of_rows(self, point: Variables) -> np.ndarray:
        """Return the changes of u·v, to first order, to their size at the optimum; shape (J,)."""
        rows = self.problem.rows
        linear = rows.weight - point.u * point.v
        if not self.has_powers:
            return np.asarray(linear)
        logs = np.log(np.where(self.is_power, rows.weight / point.v, 1.0))
        logs = logs - rows.alpha * np.log(point.u)
        return np.asarray(np.where(self.is_power, point.u * point.v * logs, linear))

    # Errors.

    def measure(self) -> None:
        """Compute residuals, the mean product, and the gap and errors (these relative) here.

        Where z differs from the reduced cost by at most a hundredth, it becomes the reduced cost.
        """
        problem = self.problem
        point = self.point
        region = problem.region
        rows = problem.rows

        total = problem.to_rows(region.totals(point.x))
        self.capacity_residual = region.capacities - region.usage(point.x) - point.s
        bound = rows.bound + rows.slope * point.t
        self.row_residual = rows.sign * (bound - total) - point.u
        self.level_residual = 0.0
        if problem.has_level:
            self.level_residual = 1.0 - float(np.vdot(rows.slope, point.v))

        products = self.total_product(point)
        self.mean_product = products / self.n_products
        self.gap = self._gap_of_level() if problem.has_level else self._gap_of_terms(products)

        costs = region.reduced_costs(point.p, problem.user_values(point.v))
        if region.allowed is not None:
            costs = np.where(region.allowed, costs, point.z)
        # z as computed keeps the rounding of larger prices: replace it where both are close
        point.z = np.where(abs(costs - point.z) <= _MATTERS * point.z, costs, point.z)
        costs -= point.z
        worth = np.maximum(region.highest_costs(abs(point.p)), problem.sum_by_user(abs(point.v)))
        self.primal_error = max(
            float((abs(self.capacity_residual) / region.capacities.max(axis=0)).max()),
            float((abs(self.row_residual) / np.maximum(total, rows.bound)).max()),
        )
        self.dual_error = max(
            float((abs(costs) / region.to_pairs(worth)).max()), abs(self.level_residual)
        )

    @property
    def error(self) -> float:
        """The largest of gap and residuals."""
        return max(self.gap, self.primal_error, self.dual_error)

    def _gap_of_level(self) -> float:
        """Return the duality gap where t is maximised."""
        region = self.problem.region
        rows = self.problem.rows
        point = self.point
        dual = float(np.vdot(region.capacities, point.p) + np.vdot(rows.sign * rows.bound, point.v))
        # Dual 0: no user can be raised. The method never settles that, so HiGHS solves it.
        return abs(dual - point.t) / abs(dual) if dual else np.inf

    def _gap_of_terms(self, products: float) -> float:
        """Return the gap of terms: at the optimum all usage is worth Σ e, or Σ e·u^(1−α)."""
        point = self.point
        optimal = self.optimal_products(point.u)
        errors = np.where(self.is_bound_row, 0.0, abs(point.u * point.v - optimal))
        gap = max(products, float(errors.max())) / float(optimal.sum())
        if self.has_powers:
            # Users who are worth next to nothing do not show in the gap: their relative errors
            # count, too. By the root, 1e-8 of them counts as 1e-12 (SETTLED), and none counts as
            # more than ACCEPTED, because rounding may keep them up.
            relative_changes = self.product_changes_of_rows(point) / (point.u * point.v)
            relative_errors = np.where(self.is_power, abs(relative_changes), 0.0)
            gap = max(gap, ACCEPTED * min(float(relative_errors.max()), 1.0) ** 0.5)
        return gap

    # Newton directions.

    def factor(self) -> None:
        """Factor the normal equations here."""
        point = self.point
        problem = self.problem
        region = problem.region
        rows = problem.rows
        face = problem.face
        self.theta = point.x / point.z
        if region.allowed is not None:
            self.theta = np.where(region.allowed, self.theta, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.slack_ratio = point.s / point.p
            self.row_ratio = rows.alpha * point.v / point.u
        if face is not None:  # free prices, held back by as little as the factors need
            self.slack_ratio = np.where(face.tight_capacities, _PROXIMAL, self.slack_ratio)
            self.row_ratio = np.where(face.tight_rows, 1.0 / _PROXIMAL, self.row_ratio)
        #: by how much a user's value falls with its total, and with the level
        self.user_ratio = problem.sum_by_user(self.row_ratio)
        self.user_ratio_of_level = problem.sum_by_user(rows.slope * self.row_ratio)

        border = None
        corner = 0.0
        if problem.has_level:
            border = self.user_ratio_of_level / self.user_ratio
            remainder = rows.slope - problem.to_rows(border)
            corner = float(np.vdot(rows.slope * self.row_ratio, remainder))
        self.equations = NormalEquations(
            region,
            self.theta,
            self.slack_ratio,
            1.0 / self.user_ratio,
            border,
            max(corner, 0.0),
            on_face=face is not None,
            is_rough=face is None and self.gap > INTERIOR_ROUGH_FACTORS,
        )

    def direction(
        self, changes: ProductChanges, target: float, with_residuals: bool = False
    ) -> Variables:
        """Return the Newton direction in which the products change by ``changes``.

        ``with_residuals``: it also removes the residuals of capacities, users' rows and the level.
        ``target`` is the size that products are to have, which decides how exact the direction must
        be: an error matters if it exceeds 1 % of a slack and of the slack's target value.
        """
        point = self.point
        problem = self.problem
        region = problem.region
        rows = problem.rows
        face = problem.face
        capacity_residual = 0.0
        row_residual = 0.0
        level_residual = 0.0
        if with_residuals:
            capacity_residual = self.capacity_residual
            row_residual = self.row_residual
            level_residual = self.level_residual

        # How much of a slack, or of the room of a row, is as good as nothing.
        with np.errstate(divide="ignore", invalid="ignore"):
            small_s = _MATTERS * np.maximum(point.s, target / point.p)
            small_u = _MATTERS * np.maximum(point.u, target / point.v)
            s_of_products = changes.sp / point.p
            v_of_products = changes.uv / point.u
            u_of_products = changes.uv / (rows.alpha * point.v)
        if face is not None:
            small_s = np.where(face.tight_capacities, SETTLED * region.capacities, small_s)
            small_u = np.where(face.tight_rows, SETTLED * rows.bound, small_u)
            s_of_products = np.where(face.tight_capacities, 0.0, s_of_products)
            v_of_products = np.where(face.tight_rows, 0.0, v_of_products)
            u_of_products = np.where(face.tight_rows, 0.0, u_of_products)
        small_by_user = problem.min_by_user(small_u)

        def errors_matter(capacity: np.ndarray, user: np.ndarray, level: float) -> bool:
            if abs(level) * point.t > _MATTERS * target:
                return True
            return bool((abs(capacity) > small_s).any() or (abs(user) > small_by_user).any())

        # Right-hand sides, with x, s, u and v eliminated.
        x_of_products = changes.xz / point.z
        if region.allowed is not None:
            x_of_products = np.where(region.allowed, x_of_products, 0.0)
        row_right = rows.sign * (v_of_products - self.row_ratio * row_residual)
        user_right = problem.sum_by_user(-row_right)
        level_right = level_residual + float(np.vdot(rows.slope, row_right))
        level_right += float(np.vdot(self.user_ratio_of_level / self.user_ratio, user_right))
        dp, dq, dt, dz = self.equations.solve(
            region.usage(x_of_products) + s_of_products - capacity_residual,
            user_right / self.user_ratio - region.totals(x_of_products),
            level_right,
            errors_matter,
        )

        # From prices and values back to all variables. Rows hold exactly, whatever the equations
        # left over, unless that would make a small slack wrong; costs always hold exactly.
        if region.allowed is not None:
            dz = np.where(region.allowed, dz, 0.0)
        dx = x_of_products - self.theta * dz
        ds = _row_value_unless_far(
            capacity_residual - region.usage(dx), s_of_products - self.slack_ratio * dp, small_s
        )
        du = rows.sign * (rows.slope * dt - problem.to_rows(region.totals(dx))) + row_residual
        dv = v_of_products - self.row_ratio * du
        left_over = dq - problem.user_values(dv)
        dv -= rows.sign * problem.to_rows(left_over / self.user_ratio) * self.row_ratio
        du = _row_value_unless_far(du, u_of_products - dv / self.row_ratio, small_u)
        if face is not None:
            ds = np.where(face.tight_capacities, 0.0, ds)
            du = np.where(face.tight_rows, 0.0, du)
        return Variables(dx, ds, du, dz, dp, dv, dt)


def _row_value_unless_far(
    by_row: np.ndarray, by_product: np.ndarray, small: np.ndarray
) -> np.ndarray:
    """Return the value that keeps the row exact, or the product's where both are far apart.

    Far is a difference above ``small``.
    """
    return np.where(abs(by_row - by_product) > small, by_product, by_row)
