"""Starting points: feasible, with all variables positive and all products of a size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .problem import ABSENT, Face, Problem, Variables

#: How much of every server (or of an upper bound) is in use at the start; the part of its lowest
#: cost that a user has as its value; the part of the smallest X/a that t begins with.
_USED = 0.9
_VALUE = 0.5
_LEVEL = 0.5
#: With logarithms, costs at the start exceed values by this factor.
_DEAR = 2.0


def start_of(problem: Problem, warm_start: Variables | None) -> Variables:
    """Return the start: near a point of another problem, on a face, or of equal parts."""
    if warm_start is not None:
        return _near_level(problem, warm_start)
    if problem.face is not None:
        return _on_face(problem, problem.face)
    return _equal_parts(problem)


def _near_level(problem: Problem, warm_start: Variables) -> Variables:
    """Return a point of a problem with other rows, whose lower bounds are lower than before."""
    rows = problem.rows
    region = problem.region
    price_of_level = float(np.vdot(rows.slope, warm_start.v))
    total = problem.to_rows(region.totals(warm_start.x))
    room = rows.sign * (rows.bound + rows.slope * warm_start.t - total)
    # where there is next to no room, a residual is left to take away
    central = np.vdot(warm_start.x, warm_start.z) / region.n_pairs
    u = np.maximum(room, np.minimum(central / abs(warm_start.v), warm_start.u))
    if problem.face is not None:
        u = np.where(problem.face.tight_rows, 0.0, u)
    return replace(
        warm_start,
        u=u,
        z=warm_start.z / price_of_level,
        p=warm_start.p / price_of_level,
        v=warm_start.v / price_of_level,
    )


def _on_face(problem: Problem, face: Face) -> Variables:
    """Return a point on the face, where the last round ended, with prices as at any start."""
    region = problem.region
    rows = problem.rows
    total = problem.to_rows(region.totals(np.where(region.exists, face.x, 0.0)))
    is_growing = rows.slope > 0
    t = _LEVEL * float((total[is_growing] / rows.slope[is_growing]).min())
    is_limit = rows.sign > 0
    room = rows.sign * (rows.bound + rows.slope * t - total)
    u = np.where(face.tight_rows, 0.0, room)
    u = np.where(face.tight_rows | is_limit, u, np.maximum(u, (1 - _LEVEL) * total))

    p = np.where(face.tight_capacities, 0.0, 1.0 / region.shape[2])
    cost = region.costs(p)
    lowest_cost = region.min_by_user(np.where(cost > 0, cost, np.inf))
    lowest_cost = np.where(np.isfinite(lowest_cost), lowest_cost, 1.0)
    # values of users who keep what they have are free: below 0, so that all costs are positive
    v = np.where(face.tight_rows, -_VALUE, _VALUE * problem.to_rows(lowest_cost))
    scale = 1.0 / np.vdot(rows.slope, v)
    p = p * scale
    v = v * scale
    values = problem.user_values(v)
    z = region.reduced_costs(p, values)
    # where all resources that a user needs are used up, its tasks cost nothing yet
    z = np.where(z > 0, z, region.to_pairs(abs(values)))
    x = np.where(region.exists, face.x, ABSENT)
    z = np.where(region.exists, z, 1.0)
    return Variables(x, face.s, u, z, p, v, t)


def _equal_parts(problem: Problem) -> Variables:
    """Return a point where users have equal parts of servers, at the same prices everywhere."""
    region = problem.region
    rows = problem.rows
    exists = region.exists
    is_limit = rows.sign > 0

    # Tasks: an equal part of every server, within limits.
    users_of_server = np.maximum(exists.astype(float).sum(axis=1), 1.0)
    x = region.largest_tasks() * (_USED / users_of_server)[:, None]
    most = problem.min_by_user(np.where(is_limit, _USED * rows.bound, np.inf))
    x *= region.to_pairs(np.minimum(most / region.totals(x), 1.0))
    x = np.where(exists, x, ABSENT)
    total = problem.to_rows(region.totals(x))
    s = region.capacities - region.usage(x)

    # Prices and values: costs exceed values everywhere.
    p = np.full_like(s, 1.0 / region.shape[2])
    cost = region.costs(p)
    if region.contribution is not None:
        cost = cost / np.where(region.contribution > 0, region.contribution, 1.0)
    lowest_cost = region.min_by_user(cost)
    # the lower bounds of a user are together worth less than its costs
    lower_bounds = problem.to_rows(problem.sum_by_user((~is_limit).astype(float)))
    t = 0.0
    if problem.has_level:
        is_growing = rows.slope > 0
        t = _LEVEL * float((total[is_growing] / rows.slope[is_growing]).min())
        v = _VALUE * problem.to_rows(lowest_cost) / np.maximum(lower_bounds, 1.0)
        scale = 1.0 / np.vdot(rows.slope, v)
        p = p * scale
        v = v * scale
    else:
        worth = problem.sum_by_user(rows.weight * total ** (1.0 - rows.alpha))
        v = problem.to_rows(worth) / total
        v = np.where(rows.weight > 0, v, _VALUE * v / np.maximum(lower_bounds, 1.0))
        p *= _DEAR * float((problem.user_values(v) / lowest_cost).max())

    # Room of rows, and reduced costs. A lower bound may be above what there is: then a residual is
    # left to take away.
    u = rows.sign * (rows.bound + rows.slope * t - total)
    u = np.where(is_limit, u, np.maximum(u, (1 - _LEVEL) * total))
    z = region.reduced_costs(p, problem.user_values(v))
    z = np.where(exists, z, 1.0)
    return Variables(x, s, u, z, p, v, t)
