"""A point of the interior-point method, its equations, and Newton steps from it.

    maximise t       subject to  Σ_n d[n]·x[i,n] + s[i] = c[i]                    price p[i] ≥ 0
                                 u[j] = σ[j]·(b[j] + a[j]·t − X[n[j]])            price v[j] ≥ 0
    at the optimum   z[i,n] = d[n]·p[i] − ρ[i,n]·q[n] ≥ 0,   q[n] = −Σ_j σ[j]·v[j],   Σ_j a[j]·v[j] = 1,
                     x·z = s·p = u·v = 0

A row j of user n[j] is a lower bound on X (σ = −1) or an upper one (σ = 1; then a = 0). With logarithms, maximise
Σ e[j]·log X[n[j]] over the rows that have a weight e: there u is X itself, and u·v = e takes the place of u·v = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from ...tolerances import INTERIOR_AIM
from .blocks import NormalEquations
from .region import Region

#: Errors of a step's equations matter beyond this part of a slack, or of what it is to be.
_MATTERS = 0.01
#: How much of every server (or of an upper bound) is given out at the start; the part of its lowest price that a user
#: has as its value; the part of the smallest X/a that t begins with.
_GIVEN, _VALUE, _LEVEL = 0.9, 0.5, 0.5
#: With logarithms, costs at the start exceed values by this factor.
_DEAR = 2.0
#: What free prices cost beside their equations: small beside anything that matters, large beside rounding.
_PROXIMAL = 2.0**-30
#: x of a pair that does not exist: nothing, and yet something to divide by.
_ABSENT = 2.0**-600


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
    """

    user: np.ndarray
    sign: np.ndarray
    slope: np.ndarray
    bound: np.ndarray
    weight: np.ndarray


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

    full: np.ndarray
    equal: np.ndarray
    x: np.ndarray
    s: np.ndarray


@dataclass(frozen=True)
class Problem:
    """Maximise t, or the logarithms, over a region and rows on its users (a row at least for every user).

    With a face, over the points on it only.
    """

    region: Region
    rows: UserRows
    face: Face | None = None

    @property
    def has_level(self) -> bool:
        """Whether t is maximised."""
        return bool(self.rows.slope.any())

    def by_user(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of the rows' values by user; shape (N,)."""
        return np.bincount(self.rows.user, weights=values, minlength=len(self.region.demands))


@dataclass
class Step:
    """A value for every variable, a point or a direction: x, z by pair; s, p (K, R); u, v (J,)."""

    x: np.ndarray
    s: np.ndarray
    u: np.ndarray
    z: np.ndarray
    p: np.ndarray
    v: np.ndarray
    t: float = 0.0

    def add(self, other: Step, primal: float, dual: float) -> Step:
        """Return self + other times a weight for primal (x, s, u, t) and one for dual variables (z, p, v)."""
        weights = {f.name: dual if f.name in "zpv" else primal for f in fields(Step)}
        return Step(**{name: getattr(self, name) + w * getattr(other, name) for name, w in weights.items()})


@dataclass
class Products:
    """What the linearised products x·z, s·p and u·v are to change by."""

    xz: np.ndarray
    sp: np.ndarray
    uv: np.ndarray


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
        rows = servers * resources
        if problem.face is not None:
            self.barrier &= ~problem.face.equal
            rows -= int(problem.face.full.sum())
        self.terms = problem.region.pairs + rows + int(self.barrier.sum())

    def values(self, at: Step) -> np.ndarray:
        """Return q, what one more X[n] is worth; shape (N,)."""
        return self.problem.by_user(-self.problem.rows.sign * at.v)

    def products(self, at: Step) -> float:
        """Return the sum of the products that vanish at the optimum, at a point."""
        return float(np.vdot(at.x, at.z) + np.vdot(at.s, at.p) + at.u[self.barrier] @ at.v[self.barrier])

    def measure(self) -> None:
        """Compute residuals, the mean product and the gap here (all relative)."""
        problem, at, region, rows = self.problem, self.at, self.problem.region, self.problem.rows
        total = region.totals(at.x)
        self.short = region.capacities - region.given(at.x) - at.s
        self.off = rows.sign * (rows.bound + rows.slope * at.t - total[rows.user]) - at.u
        self.norm = 1.0 - float(rows.slope @ at.v) if problem.has_level else 0.0
        products = self.products(at)
        self.mean = products / self.terms
        if problem.has_level:
            dual = float(np.vdot(region.capacities, at.p) + (rows.sign * rows.bound) @ at.v)
            self.gap = abs(dual - at.t) / abs(dual)
        else:  # at the optimum everything given out is worth Σ e
            aside = float(abs(at.u * at.v - rows.weight)[~self.barrier].max())
            self.gap = max(products, aside) / float(rows.weight.sum())
        costs = region.priced(at.p, self.values(at))
        if region.allowed is not None:
            costs[~region.allowed] = at.z[~region.allowed]
        # what was rounded off while prices were larger would stay
        np.copyto(at.z, costs, where=abs(costs - at.z) <= _MATTERS * at.z)
        costs -= at.z
        worth = np.maximum(region.dearest(abs(at.p)), problem.by_user(abs(at.v)))
        self.primal = max(
            float((abs(self.short) / region.capacities.max(axis=0)).max()),
            float((abs(self.off) / np.maximum(total[rows.user], rows.bound)).max()),
        )
        self.dual = max(float((abs(costs) / region.at_pairs(worth)).max()), abs(self.norm))

    def factor(self) -> None:
        """Factor the normal equations here."""
        at, region, rows = self.at, self.problem.region, self.problem.rows
        self.theta = at.x / at.z
        if region.allowed is not None:
            self.theta[~region.allowed] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            self.slack_ratio, self.ratio = at.s / at.p, at.v / at.u
        if self.problem.face is not None:  # free prices, held back by as little as the factors need
            self.slack_ratio[self.problem.face.full] = _PROXIMAL
            self.ratio[self.problem.face.equal] = 1.0 / _PROXIMAL
        self.stiff = self.problem.by_user(self.ratio)
        self.pull = self.problem.by_user(rows.slope * self.ratio)
        border, corner = None, 0.0
        if self.problem.has_level:
            border = self.pull / self.stiff
            corner = float((rows.slope * self.ratio) @ (rows.slope - border[rows.user]))
        self.normal = NormalEquations(region, self.theta, self.slack_ratio, 1.0 / self.stiff, border, max(corner, 0.0))

    def direction(self, products: Products, aim: float, residuals: bool = False) -> Step:
        """Return the Newton step that changes the products so and, if asked, takes the residuals of the rows away.

        ``aim`` is the size that products are to have, which tells how exact the step must be: errors matter beyond a
        part of a slack, or of what it is to be.
        """
        at, region, rows, by_user = self.at, self.problem.region, self.problem.rows, self.problem.by_user
        face = self.problem.face
        short, off, norm = (self.short, self.off, self.norm) if residuals else (0.0, 0.0, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slack, excess = (_MATTERS * np.maximum(own, aim / price) for own, price in ((at.s, at.p), (at.u, at.v)))
            of_slack, of_price = products.sp / at.p, products.uv / at.u
            back = products.uv / at.v
        if face is not None:
            slack[face.full] = INTERIOR_AIM * region.capacities[face.full]
            excess[face.equal] = INTERIOR_AIM * rows.bound[face.equal]
            of_slack[face.full], of_price[face.equal], back[face.equal] = 0.0, 0.0, 0.0
        tightest = np.full(len(self.stiff), np.inf)
        np.minimum.at(tightest, rows.user, excess)

        def matters(servers: np.ndarray, users: np.ndarray, level: float) -> bool:
            dear = abs(level) * at.t > _MATTERS * aim
            return bool(dear or (abs(servers) > slack).any() or (abs(users) > tightest).any())

        start = products.xz / at.z
        if region.allowed is not None:
            start[~region.allowed] = 0.0
        pushed = rows.sign * (of_price - self.ratio * off)
        constant = by_user(-pushed)
        prices, values, level = self.normal.solve(
            region.given(start) + of_slack - short,
            constant / self.stiff - region.totals(start),
            norm + float(rows.slope @ pushed) + float((self.pull / self.stiff) @ constant),
            matters,
        )
        cost = region.priced(prices, values)
        if region.allowed is not None:
            cost[~region.allowed] = 0.0
        x = start - self.theta * cost
        # the rows hold exactly, whatever the equations left, unless that would put a small slack off; costs always do
        s = _exactly(short - region.given(x), of_slack - self.slack_ratio * prices, slack)
        u = rows.sign * (rows.slope * level - region.totals(x)[rows.user]) + off
        v = of_price - self.ratio * u
        left = values - by_user(-rows.sign * v)
        v -= rows.sign * (left / self.stiff)[rows.user] * self.ratio
        u = _exactly(u, back - v / self.ratio, excess)
        if face is not None:
            s[face.full], u[face.equal] = 0.0, 0.0
        return Step(x, s, u, cost, prices, v, level)


def _exactly(exact: np.ndarray, close: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return what makes a row hold exactly where that is near what makes its product right, and else the latter."""
    return np.where(abs(exact - close) > allowed, close, exact)


def _start_near(problem: Problem, near: Step) -> Step:
    """Return a point of a problem that differs in rows on users, whose lower bounds are lower than they were."""
    rows, region, worth = problem.rows, problem.region, float(problem.rows.slope @ near.v)
    room = rows.sign * (rows.bound + rows.slope * near.t - region.totals(near.x)[rows.user])
    # where there is next to none, a residual is left to take away
    central = np.vdot(near.x, near.z) / region.pairs
    u = np.maximum(room, np.minimum(central / abs(near.v), near.u))
    if problem.face is not None:
        u[problem.face.equal] = 0.0
    return replace(near, u=u, z=near.z / worth, p=near.p / worth, v=near.v / worth)


def _start_on(problem: Problem, face: Face) -> Step:
    """Return a point on the face, where the last round ended, with prices as at any start."""
    region, rows = problem.region, problem.rows
    there = region.there
    total = region.totals(np.where(there, face.x, 0.0))
    growing = rows.slope > 0
    t = _LEVEL * float((total[rows.user][growing] / rows.slope[growing]).min())
    above = rows.sign > 0
    u = np.where(face.equal, 0.0, rows.sign * (rows.bound + rows.slope * t - total[rows.user]))
    u = np.where(face.equal | above, u, np.maximum(u, (1 - _LEVEL) * total[rows.user]))
    p = np.where(face.full, 0.0, 1.0 / region.shape[2])
    cost = region.costs(p)
    lowest = region.lowest(np.where(cost > 0, cost, np.inf))
    lowest = np.where(np.isfinite(lowest), lowest, 1.0)
    # values of those who keep what they have are free: below 0, so that all costs are positive
    v = np.where(face.equal, -_VALUE, _VALUE * lowest[rows.user])
    scale = 1.0 / float(rows.slope @ v)
    p, v = p * scale, v * scale
    z = region.priced(p, problem.by_user(-rows.sign * v))
    x, z = np.where(there, face.x, _ABSENT), np.where(there, z, 1.0)
    return Step(x, face.s, u, z, p, v, t)


def _start(problem: Problem) -> Step:
    """Return a point inside: everyone has an equal part of every server, and a resource costs the same everywhere."""
    region, rows = problem.region, problem.rows
    servers, users, resources = region.shape
    there = region.there
    among = np.maximum(there.sum(axis=1), 1)
    x = region.alone() * (_GIVEN / among)[:, None]
    above = rows.sign > 0
    most = np.full(users, np.inf)
    np.minimum.at(most, rows.user[above], _GIVEN * rows.bound[above])
    x *= region.at_pairs(np.minimum(1.0, most / region.totals(x)))
    x[~there] = _ABSENT
    total = region.totals(x)
    s = region.capacities - region.given(x)
    p = np.full((servers, resources), 1.0 / resources)
    cost = region.costs(p)
    if region.contribution is not None:
        cost = cost / np.where(region.contribution > 0, region.contribution, 1.0)
    lowest = region.lowest(cost)
    # what the lower bounds of a user are worth together is less than its costs
    each = problem.by_user(~above)[rows.user]
    t, own = 0.0, total[rows.user]
    if problem.has_level:
        growing = rows.slope > 0
        t = _LEVEL * float((own[growing] / rows.slope[growing]).min())
        v = _VALUE * lowest[rows.user] / np.maximum(each, 1.0)
        scale = 1.0 / float(rows.slope @ v)
        p, v = p * scale, v * scale
    else:
        v = problem.by_user(rows.weight)[rows.user] / own
        v = np.where(rows.weight > 0, v, _VALUE * v / np.maximum(each, 1.0))
        p *= _DEAR * float((problem.by_user(-rows.sign * v) / lowest).max())
    u = rows.sign * (rows.bound + rows.slope * t - own)
    # a lower bound may be above what there is: then a residual is left to take away
    u = np.where(above, u, np.maximum(u, (1 - _LEVEL) * own))
    z = region.priced(p, problem.by_user(-rows.sign * v))
    z[~there] = 1.0
    return Step(x, s, u, z, p, v, t)
