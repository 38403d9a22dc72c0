"""A point of the interior-point method, its equations, and Newton steps from it.

    maximise t       subject to  Σ_n d[n]·x[i,n] + s[i] = c[i]                    price p[i] ≥ 0
                                 u[j] = σ[j]·(b[j] + a[j]·t − X[n[j]])            price v[j] ≥ 0
    at the optimum   z[i,n] = d[n]·p[i] − ρ[i,n]·q[n] ≥ 0,   q[n] = −Σ_j σ[j]·v[j],   Σ_j a[j]·v[j] = 1,
                     x·z = s·p = u·v = 0

A row j of user n[j] is a lower bound on X (σ = −1) or an upper one (σ = 1; then a = 0). With
logarithms, maximise Σ e[j]·log X[n[j]] over the rows that have a weight e: there u is X itself, and
u·v = e takes the place of u·v = 0. With powers, of slope e·X^(−α), it is u^α·v = e, solved in
logarithms: α·log u + log v = log e.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from ...tolerances import ACCEPTED, SETTLED
from .blocks import NormalEquations
from .region import Array, Grouped, Region

#: Errors of a step's equations matter beyond this part of a slack, or of what it is to be.
_MATTERS = 0.01
#: How much of every server (or of an upper bound) is given out at the start; the part of its lowest
#: price that a user has as its value; the part of the smallest X/a that t begins with.
_GIVEN, _VALUE, _LEVEL = 0.9, 0.5, 0.5
#: From a point of other terms, prices are such that what is worth most beside its costs costs more
#: by this factor.
_COVERED = 1.01
#: With logarithms, costs at the start exceed values by this factor.
_DEAR = 2.0
#: What free prices cost beside their equations: small beside anything that matters, large beside
#: rounding.
_PROXIMAL = 2.0**-40
#: x of a pair that does not exist: nothing, and yet something to divide by.
ABSENT = 2.0**-600


@dataclass(frozen=True)
class UserRows:
    """Rows on X[n]; all arrays of shape (J,).

    Attributes
    ----------
    user : ndarray of int
    sign : ndarray
        −1: a lower bound, 1: an upper one.
    slope, bound : ndarray
        a and b of the bound a·t + b.
    weight : ndarray
        e of the logarithm, 0 where the row is a bound.
    alpha : ndarray
        α of the power, 1 for a logarithm and where the row is a bound.
    """

    user: Array
    sign: Array
    slope: Array
    bound: Array
    weight: Array
    alpha: Array


@dataclass(frozen=True)
class Face:
    """What holds with equality on the optimal face of an earlier round: its slacks are 0, its prices free.

    Attributes
    ----------
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    equal : ndarray of bool, shape (J,)
        Rows of users who keep what they have.
    x, s : ndarray
        A point of the face, positive but for what is on it.
    """

    full: Array
    equal: Array
    x: Array
    s: Array


@dataclass(frozen=True)
class Problem:
    """Maximise t, or the logarithms or powers, over a region and rows on its users (a row at least for every user).

    With a face, over the points on it only.
    """

    region: Region
    rows: UserRows
    face: Face | None = None

    @cached_property
    def has_level(self) -> bool:
        """Whether t is maximised."""
        return bool(self.rows.slope.any())

    @cached_property
    def grouped(self) -> Grouped:
        """The rows of each user."""
        return Grouped(self.rows.user, self.region.shape[1])

    def by_user(self, values: Array) -> Array:
        """Return the sums of the rows' values by user; shape (N,)."""
        return self.grouped.sums(values)

    def of_users(self, values: Array) -> Array:
        """Return users' values as their rows'; shape (J,)."""
        return values[self.rows.user]


@dataclass
class Step:
    """A value for every variable, a point or a direction: x, z by pair; s, p (K, R); u, v (J,)."""

    x: Array
    s: Array
    u: Array
    z: Array
    p: Array
    v: Array
    t: float = 0.0

    def add(self, other: Step, primal: float, dual: float) -> Step:
        """Return self + other times a weight for primal (x, s, u, t) and one for dual variables (z, p, v)."""
        weights = {f.name: dual if f.name in "zpv" else primal for f in fields(Step)}
        return Step(
            **{name: getattr(self, name) + w * getattr(other, name) for name, w in weights.items()}
        )


@dataclass
class Products:
    """What the linearised products x·z, s·p and u·v are to change by."""

    xz: Array
    sp: Array
    uv: Array


class Iterate:
    """A point with all its variables positive, and the factored equations there."""

    def __init__(self, problem: Problem, start: Step | None = None) -> None:
        self.problem = problem
        if start is not None:
            self.at = _start_near(problem, start)
        else:
            self.at = _start(problem) if problem.face is None else _start_on(problem, problem.face)
        servers, _, resources = problem.region.shape
        self.barrier = problem.rows.weight == 0  # u·v vanishes
        rows = float(servers * resources)
        if problem.face is not None:
            self.barrier &= ~problem.face.equal
            rows -= float(np.sum((problem.face.full).astype(float)))
        #: 1 where u·v vanishes, else 0
        self.vanishing = (self.barrier).astype(float)
        #: where u^α·v is given instead
        self.curved = ~self.barrier & (problem.rows.alpha != 1)
        self.has_powers = bool(np.any(self.curved))
        self.terms = problem.region.pairs + rows + float(np.sum(self.vanishing))

    def values(self, at: Step) -> Array:
        """Return q, what one more X[n] is worth; shape (N,)."""
        return self.problem.by_user(-self.problem.rows.sign * at.v)

    def products(self, at: Step) -> float:
        """Return the sum of the products that vanish at the optimum, at a point."""
        products = np.vdot(at.x, at.z) + np.vdot(at.s, at.p) + np.vdot(at.u * self.vanishing, at.v)
        return float(products)

    def worth(self, u: Array) -> Array:
        """Return what u·v is at the optimum, given u: e·u^(1−α), 0 where it is a bound's; shape (J,)."""
        return self.problem.rows.weight * u ** (1.0 - self.problem.rows.alpha)

    def missing(self, at: Step) -> Array:
        """Return what u·v are to change by, to first order, to be what they are at the optimum; shape (J,)."""
        linear = self.problem.rows.weight - at.u * at.v
        if not self.has_powers:
            return linear
        rows = self.problem.rows
        logs = np.log(np.where(self.curved, rows.weight / at.v, 1.0)) - rows.alpha * np.log(at.u)
        return np.where(self.curved, at.u * at.v * logs, linear)

    def measure(self) -> None:
        """Compute residuals, the mean product and the gap here (all relative)."""
        problem, at = self.problem, self.at
        region, rows = problem.region, problem.rows
        total = problem.of_users(region.totals(at.x))
        self.short = region.capacities - region.given(at.x) - at.s
        self.off = rows.sign * (rows.bound + rows.slope * at.t - total) - at.u
        self.norm = 1.0 - np.vdot(rows.slope, at.v) if problem.has_level else 0.0
        products = self.products(at)
        self.mean = products / self.terms
        if problem.has_level:
            dual = np.vdot(region.capacities, at.p) + np.vdot(rows.sign * rows.bound, at.v)
            self.gap = (
                abs(dual - at.t) / abs(dual) if dual else np.inf
            )  # nobody can be raised: HiGHS tells
        else:  # at the optimum everything given out is worth Σ e, or Σ e·u^(1−α)
            worth = self.worth(at.u)
            aside = float(np.max(np.where(self.barrier, 0.0, abs(at.u * at.v - worth))))
            self.gap = max(products, aside) / float(np.sum(worth))
            if (
                self.has_powers
            ):  # what is worth next to nothing is to be right, too, where floats can tell
                apart = np.where(self.curved, abs(self.missing(at) / (at.u * at.v)), 0.0)
                self.gap = max(self.gap, ACCEPTED * min(float(np.max(apart)), 1.0) ** 0.5)
        costs = region.priced(at.p, self.values(at))
        if region.allowed is not None:
            costs = np.where(region.allowed, costs, at.z)
        # what was rounded off while prices were larger would stay
        at.z = np.where(abs(costs - at.z) <= _MATTERS * at.z, costs, at.z)
        costs -= at.z
        worth = np.maximum(region.dearest(abs(at.p)), problem.by_user(abs(at.v)))
        self.primal = max(
            float(np.max(abs(self.short) / np.max(region.capacities, axis=0))),
            float(np.max(abs(self.off) / np.maximum(total, rows.bound))),
        )
        self.dual = max(float(np.max(abs(costs) / region.at_pairs(worth))), abs(self.norm))

    def factor(self) -> None:
        """Factor the normal equations here."""
        at, region, rows = self.at, self.problem.region, self.problem.rows
        self.theta = at.x / at.z
        if region.allowed is not None:
            self.theta = np.where(region.allowed, self.theta, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.slack_ratio, self.ratio = at.s / at.p, rows.alpha * at.v / at.u
        if self.problem.face is not None:  # free prices, held back by as little as the factors need
            self.slack_ratio = np.where(self.problem.face.full, _PROXIMAL, self.slack_ratio)
            self.ratio = np.where(self.problem.face.equal, 1.0 / _PROXIMAL, self.ratio)
        self.stiff = self.problem.by_user(self.ratio)
        self.pull = self.problem.by_user(rows.slope * self.ratio)
        border, corner = None, 0.0
        if self.problem.has_level:
            border = self.pull / self.stiff
            corner = np.vdot(rows.slope * self.ratio, rows.slope - self.problem.of_users(border))
        self.normal = NormalEquations(
            region, self.theta, self.slack_ratio, 1.0 / self.stiff, border, max(corner, 0.0)
        )

    def direction(self, products: Products, aim: float, residuals: bool = False) -> Step:
        """Return the Newton step that changes the products so and, if asked, takes the residuals of the rows away.

        ``aim`` is the size that products are to have, which tells how exact the step must be:
        errors matter beyond a part of a slack, or of what it is to be.
        """
        at, face = self.at, self.problem.face
        region, rows = self.problem.region, self.problem.rows
        by_user, of_users = self.problem.by_user, self.problem.of_users
        short, off, norm = (self.short, self.off, self.norm) if residuals else (0.0, 0.0, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slack, excess = (
                _MATTERS * np.maximum(own, aim / price)
                for own, price in ((at.s, at.p), (at.u, at.v))
            )
            of_slack, of_price = products.sp / at.p, products.uv / at.u
            back = products.uv / (rows.alpha * at.v)
        if face is not None:
            slack = np.where(face.full, SETTLED * region.capacities, slack)
            excess = np.where(face.equal, SETTLED * rows.bound, excess)
            of_slack = np.where(face.full, 0.0, of_slack)
            of_price, back = (np.where(face.equal, 0.0, one) for one in (of_price, back))
        tightest = self.problem.grouped.lowest(excess)

        def matters(servers: Array, users: Array, level: float) -> bool:
            dear = abs(level) * at.t > _MATTERS * aim
            return bool(dear or np.any(abs(servers) > slack) or np.any(abs(users) > tightest))

        start = products.xz / at.z
        if region.allowed is not None:
            start = np.where(region.allowed, start, 0.0)
        pushed = rows.sign * (of_price - self.ratio * off)
        constant = by_user(-pushed)
        prices, values, level = self.normal.solve(
            region.given(start) + of_slack - short,
            constant / self.stiff - region.totals(start),
            norm + np.vdot(rows.slope, pushed) + np.vdot(self.pull / self.stiff, constant),
            matters,
        )
        cost = region.priced(prices, values)
        if region.allowed is not None:
            cost = np.where(region.allowed, cost, 0.0)
        x = start - self.theta * cost
        # the rows hold exactly, whatever the equations left, unless that would put a small slack
        # off; costs always do
        s = _exactly(short - region.given(x), of_slack - self.slack_ratio * prices, slack)
        u = rows.sign * (rows.slope * level - of_users(region.totals(x))) + off
        v = of_price - self.ratio * u
        left = values - by_user(-rows.sign * v)
        v -= rows.sign * of_users(left / self.stiff) * self.ratio
        u = _exactly(u, back - v / self.ratio, excess)
        if face is not None:
            s, u = np.where(face.full, 0.0, s), np.where(face.equal, 0.0, u)
        return Step(x, s, u, cost, prices, v, level)


def _exactly(exact: Array, close: Array, allowed: Array) -> Array:
    """Return what makes a row hold exactly where that is near what makes its product right, and else the latter."""
    return np.where(abs(exact - close) > allowed, close, exact)


def _start_near(problem: Problem, near: Step) -> Step:
    """Return a point of a problem that differs in rows on users, whose lower bounds are lower than they were."""
    if not problem.has_level:
        return _start_priced(problem, near)
    rows, region, worth = problem.rows, problem.region, np.vdot(problem.rows.slope, near.v)
    room = rows.sign * (rows.bound + rows.slope * near.t - problem.of_users(region.totals(near.x)))
    # where there is next to none, a residual is left to take away
    central = np.vdot(near.x, near.z) / region.pairs
    u = np.maximum(room, np.minimum(central / abs(near.v), near.u))
    if problem.face is not None:
        u = np.where(problem.face.equal, 0.0, u)
    return replace(near, u=u, z=near.z / worth, p=near.p / worth, v=near.v / worth)


def _start_priced(problem: Problem, near: Step) -> Step:
    """Return a point of a problem with other terms: the same tasks, what they are worth now, prices that cover that."""
    rows, region = problem.rows, problem.region
    own = problem.of_users(region.totals(near.x))
    terms = rows.weight > 0
    worth = np.where(terms, rows.weight * own**-rows.alpha, 0.0)
    unit = np.vdot(worth, own) / np.vdot(np.where(terms, near.v, 0.0), own)
    v = np.where(terms, worth, unit * near.v)
    lowest, above = region.lowest(region.costs(near.p)), rows.sign > 0
    # who has a limit is worth no more beyond it than it costs; the prices cover what the others are
    # worth
    beyond = problem.by_user(-rows.sign * v) - unit * lowest
    v = np.where(above, v + np.maximum(problem.of_users(beyond), 0.0), v)
    values = problem.by_user(-rows.sign * v)
    dearest = max(float(np.max(values / lowest)), unit)
    p = near.p * (_COVERED * dearest)
    z = np.where(region.there, region.priced(p, values), 1.0)
    return replace(near, u=np.where(terms, own, near.u), z=z, p=p, v=v)


def _start_on(problem: Problem, face: Face) -> Step:
    """Return a point on the face, where the last round ended, with prices as at any start."""
    region, rows = problem.region, problem.rows
    there = region.there
    own = problem.of_users(region.totals(np.where(there, face.x, 0.0)))
    growing = rows.slope > 0
    t = _LEVEL * float(np.min(own[growing] / rows.slope[growing]))
    above = rows.sign > 0
    u = np.where(face.equal, 0.0, rows.sign * (rows.bound + rows.slope * t - own))
    u = np.where(face.equal | above, u, np.maximum(u, (1 - _LEVEL) * own))
    p = np.where(face.full, np.zeros_like(face.s), 1.0 / region.shape[2])
    cost = region.costs(p)
    lowest = region.lowest(np.where(cost > 0, cost, np.inf))
    lowest = np.where(np.isfinite(lowest), lowest, 1.0)
    # values of those who keep what they have are free: below 0, so that all costs are positive
    v = np.where(face.equal, -_VALUE, _VALUE * problem.of_users(lowest))
    scale = 1.0 / np.vdot(rows.slope, v)
    p, v = p * scale, v * scale
    z = region.priced(p, problem.by_user(-rows.sign * v))
    x, z = np.where(there, face.x, ABSENT), np.where(there, z, 1.0)
    return Step(x, face.s, u, z, p, v, t)


def _start(problem: Problem) -> Step:
    """Return a point inside: everyone has an equal part of every server, and a resource costs the same everywhere."""
    region, rows = problem.region, problem.rows
    resources = region.shape[2]
    there = region.there
    among = np.maximum(np.sum((there).astype(float), axis=1), 1.0)
    x = region.alone() * (_GIVEN / among)[:, None]
    above = rows.sign > 0
    most = problem.grouped.lowest(np.where(above, _GIVEN * rows.bound, np.inf))
    x *= region.at_pairs(np.minimum(most / region.totals(x), 1.0))
    x = np.where(there, x, ABSENT)
    own = problem.of_users(region.totals(x))
    s = region.capacities - region.given(x)
    p = np.full_like(s, 1.0 / resources)
    cost = region.costs(p)
    if region.contribution is not None:
        cost = cost / np.where(region.contribution > 0, region.contribution, 1.0)
    lowest = region.lowest(cost)
    # what the lower bounds of a user are worth together is less than its costs
    each = problem.of_users(problem.by_user((~above).astype(float)))
    t = 0.0
    if problem.has_level:
        growing = rows.slope > 0
        t = _LEVEL * float(np.min(own[growing] / rows.slope[growing]))
        v = _VALUE * problem.of_users(lowest) / np.maximum(each, 1.0)
        scale = 1.0 / np.vdot(rows.slope, v)
        p, v = p * scale, v * scale
    else:
        v = problem.of_users(problem.by_user(rows.weight * own ** (1.0 - rows.alpha))) / own
        v = np.where(rows.weight > 0, v, _VALUE * v / np.maximum(each, 1.0))
        p *= _DEAR * float(np.max(problem.by_user(-rows.sign * v) / lowest))
    u = rows.sign * (rows.bound + rows.slope * t - own)
    # a lower bound may be above what there is: then a residual is left to take away
    u = np.where(above, u, np.maximum(u, (1 - _LEVEL) * own))
    z = region.priced(p, problem.by_user(-rows.sign * v))
    z = np.where(there, z, 1.0)
    return Step(x, s, u, z, p, v, t)
