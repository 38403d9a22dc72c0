"""Sifting (Bixby et al., 1992) of very many pairs: the optimum of few, proved for all.

A vertex uses at most as many pairs as there are users and resources of servers; an interior point
uses all. From 150,000 pairs on, where every user demands every resource and may run everywhere (so
that one round decides), the method stops at a rough point of all pairs. It goes on with the fifth
of the users of every server that are of least cost above worth, and from a better point with the
twentieth, at a fraction of the cost. Both are skipped where few pairs have too little of the usage.
The prices of the end bound the level of all pairs, each user's value lowered to its lowest cost.
Pairs that are worth more than they cost come in, the worst of every server, until that bound is as
tight as any optimum's. 1,000 × 1,000 takes less than half of the time so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_EARLY, SETTLED
from . import method
from .problem import ABSENT, Problem, Variables
from .region import PlacedRegion, users_of_places

#: From so many pairs on it is quicker.
MANY = 150_000
#: The fractions of the users that every server keeps, at least so many for each resource, and the
#: servers that every user keeps.
FRACTIONS_OF_USERS = (0.2, 0.05)
LEAST_USERS = 16
SERVERS_OF_USER = 4
#: The part of the usage that few pairs must have at least; how often pairs come in, at most.
COVERED_USAGE = 0.7
MOST_ROUNDS = 4
#: A start on few pairs: the new size of values that are above their lowest cost, as a part of it;
#: how often tasks are brought to what users had and servers gave, by a factor of at most so much;
#: t, as a part of the smallest level.
_BELOW = 0.99
_BALANCED = 4
_MOST_AT_ONCE = 4.0
_NEAR = 0.95


def suits(problem: Problem) -> bool:
    """Whether there are so many pairs, and one round decides: all users demand all, everywhere."""
    region = problem.region
    everywhere = region.allowed is None and region.place_users is None
    plain = everywhere and region.contribution is None
    one_round = plain and problem.face is None and problem.has_level
    return bool(one_round and region.n_pairs >= MANY and (region.demands > 0).all())


def sifted(problem: Problem, deadline: float, threads: int) -> method.FinalPoint | None:
    """Return the optimum, 0 at pairs that are left out; None when the deadline comes first."""
    rough = method.solve(problem, deadline, threads, accepted_error=INTERIOR_EARLY[0])
    if rough is None:
        return None
    try:
        return _sifted(problem, rough, deadline, threads)
    except NotConvergedError:  # too few for some user or server, or most pairs came in
        return method.solve(problem, deadline, threads, rough.point)


def _sifted(
    problem: Problem, rough: method.FinalPoint, deadline: float, threads: int
) -> method.FinalPoint | None:
    """Go on from a point of all pairs with fewer and fewer of them."""
    region = problem.region
    point = rough.point
    iterations = rough.iterations
    chosen = region.exists
    accepted_errors = (*INTERIOR_EARLY[1:], 0.0)
    for fraction, accepted_error in zip(FRACTIONS_OF_USERS, accepted_errors, strict=True):
        # The pairs of least cost above worth, beside their cost.
        begin = point
        users_each = max(int(fraction * region.shape[1]), LEAST_USERS * region.shape[2])
        excess_cost = np.where(chosen, begin.z / region.costs(begin.p), np.inf)
        of_servers = _smallest_of_rows(excess_cost, users_each)
        of_users = _smallest_of_rows(excess_cost.T, SERVERS_OF_USER).T
        chosen = chosen & (of_servers | of_users)
        for _ in range(MOST_ROUNDS):
            few = _restricted(problem, chosen)
            start = _start(problem, begin, few)
            optimum = method.solve(few, deadline, threads, start, accepted_error)
            if optimum is None:
                return None
            point = _all_pairs(problem, few.region, optimum.point)
            iterations += optimum.iterations
            if accepted_error:
                break

            # The bound for all pairs, and the pairs that keep it from being tight.
            gap = _gap_of_all_pairs(problem, point)
            if gap <= method.NEARLY * SETTLED:
                point = replace(point, z=np.maximum(point.z, 0.0))
                return method.FinalPoint(point, max(optimum.error, gap), iterations)
            excess_cost = np.where(chosen, np.inf, point.z / region.costs(point.p))
            worst = _smallest_of_rows(excess_cost, max(users_each // 3, 1))
            chosen = chosen | (worst & (excess_cost < 0))
    raise NotConvergedError(f"pairs came in for {MOST_ROUNDS} rounds and more")


def _smallest_of_rows(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return where each row has its so many smallest elements; bool."""
    count = min(count, numbers.shape[1])
    positions = np.argpartition(numbers, count - 1, axis=1)[:, :count]
    mask = np.zeros(numbers.shape, dtype=bool)
    np.put_along_axis(mask, positions, True, axis=1)
    return mask


def _restricted(problem: Problem, chosen: np.ndarray) -> Problem:
    """Return the problem with these pairs only; raise where they are not few."""
    region = problem.region
    place_users = users_of_places(chosen)
    if place_users is None:
        raise NotConvergedError("most pairs came in")
    exists = np.take_along_axis(chosen, place_users, axis=1)
    allowed = None if exists.all() else exists
    few = PlacedRegion(region.demands, region.capacities, allowed, place_users=place_users)
    return Problem(few, problem.rows)


def _all_pairs(problem: Problem, few: PlacedRegion, point: Variables) -> Variables:
    """Return a point of few pairs as one of all; z is below 0 where a value is above a cost."""
    assert few.place_users is not None
    x = np.zeros(problem.region.shape[:2])
    np.put_along_axis(x, few.place_users, np.where(few.exists, point.x, 0.0), axis=1)
    z = problem.region.reduced_costs(point.p, problem.user_values(point.v))
    return replace(point, x=x, z=z)


def _start(problem: Problem, point: Variables, few: Problem) -> Variables:
    """Return a point on few pairs with the tasks of a point of all, as far as servers allow it.

    Users' values are lowered to what their pairs cost, and pairs that were not used are as central
    as the others.
    """
    region = few.region
    rows = few.rows
    total = problem.region.totals(point.x)
    assert region.place_users is not None
    x = np.where(region.exists, np.take_along_axis(point.x, region.place_users, axis=1), 0.0)
    usage = region.capacities - point.s
    if region.usage(x).sum() < COVERED_USAGE * usage.sum():
        raise NotConvergedError("few pairs are not enough")

    # Values and reduced costs.
    mean_product = float(np.vdot(point.x, np.maximum(point.z, 0.0))) / point.x.size
    few_z = np.take_along_axis(point.z, region.place_users, axis=1)
    excess = _excess_worth(few, few_z, point.v)
    v = point.v * few.to_rows(np.where(excess > 0, _BELOW * (1.0 - excess), 1.0))
    z = region.reduced_costs(point.p, few.user_values(v))

    # Tasks, balanced between what users had and what servers gave.
    x = np.where(region.exists & (x <= 0), mean_product / z, x)
    for _ in range(_BALANCED):
        x *= region.to_pairs(np.minimum(total / region.totals(x), _MOST_AT_ONCE))
        with np.errstate(divide="ignore"):
            x *= np.minimum((usage / region.usage(x)).min(axis=1), 1.0)[:, None]
    few_total = few.to_rows(region.totals(x))
    is_growing = rows.slope > 0
    levels = (few_total - rows.bound)[is_growing] / rows.slope[is_growing]
    t = min(point.t, _NEAR * float(levels.min()))
    x = np.where(region.exists, x, ABSENT)
    z = np.where(region.exists, z, 1.0)
    return replace(point, x=x, s=region.capacities - region.usage(x), z=z, v=v, t=t)


def _excess_worth(problem: Problem, z: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the parts of users' values by which they are above the lowest costs."""
    worth = problem.user_values(v)
    excess = np.maximum(-problem.region.min_by_user(z), 0.0)
    parts = np.divide(excess, worth, out=np.ones_like(worth), where=worth > 0)
    return np.asarray(np.minimum(parts, 1.0))


def _gap_of_all_pairs(problem: Problem, point: Variables) -> float:
    """Return the gap to the bound for all pairs, with values lowered to users' lowest costs."""
    remaining = problem.to_rows(1.0 - _excess_worth(problem, point.z, point.v))
    return float(max(1.0 - problem.rows.slope @ (point.v * remaining), 0.0))
