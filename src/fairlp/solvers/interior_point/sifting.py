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

from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_EARLY, SETTLED
from . import method
from .problem import ABSENT, Problem, Variables
from .region import PlacedRegion, users_of_places
from .starts import start_of

#: From so many pairs on it is quicker.
MANY = 150_000
#: The fractions of the users that every server keeps, at least so many for each resource, and the
#: servers that every user keeps.
FRACTIONS_OF_USERS = (0.2, 0.05)
LEAST_USERS = 16
SERVERS_OF_USER = 8
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


def sifted(
    problem: Problem, deadline: float, threads: int, near: method.FinalPoint | None = None
) -> method.FinalPoint | None:
    """Return the optimum, 0 at pairs that are left out; None when the deadline comes first.

    ``near`` is a point on few pairs of a problem with other rows.
    """
    if near is not None and near.few is not None:
        with suppress(NotConvergedError):
            return _sifted(problem, near, deadline, threads)
    first = method.solve(problem, deadline, threads, accepted_error=INTERIOR_EARLY[0])
    if first is None:
        return None
    try:
        return _sifted(problem, first, deadline, threads)
    except NotConvergedError:  # too few for some user or server, or most pairs came in
        return method.solve(problem, deadline, threads, first.point)


def rough_on_few(
    problem: Problem, near: method.FinalPoint, gap: float, deadline: float, threads: int
) -> method.FinalPoint | None:
    """Return a rough point on few pairs, from one of a problem with other rows.

    It is as feasible as one of all pairs, and may be further from the optimum than its error says.
    """
    begin = near.point
    chosen = problem.region.exists
    if near.few is None:
        begin = start_of(problem, near.point)
        chosen = _likely(problem, begin, chosen, FRACTIONS_OF_USERS[0])
    restricted, start = _on_few(problem, begin, chosen, near.few)
    final = method.solve(restricted, deadline, threads, start, gap)
    if final is None:
        return None
    few = method.FewPairs(restricted.region, final.point)
    return replace(final, point=_all_pairs(problem, restricted.region, final.point), few=few)


def _on_few(
    problem: Problem, begin: Variables, chosen: np.ndarray, few: method.FewPairs | None
) -> tuple[Problem, Variables]:
    """Return the problem on few pairs, and its start: those of ``few``, or the chosen ones."""
    if few is not None:
        restricted = replace(problem, region=few.region)
        return restricted, start_of(restricted, few.point)
    restricted = _restricted(problem, chosen)
    return restricted, _start(problem, begin, restricted)


def _likely(problem: Problem, point: Variables, chosen: np.ndarray, fraction: float) -> np.ndarray:
    """Return the chosen pairs of least cost above worth, of each server and of each user."""
    region = problem.region
    excess_cost = np.where(chosen, point.z / region.costs(point.p), np.inf)
    of_servers = _smallest_of_rows(excess_cost, _users_each(region, fraction))
    of_users = _smallest_of_rows(excess_cost.T, SERVERS_OF_USER).T
    return np.asarray(chosen & (of_servers | of_users))


def _sifted(
    problem: Problem, rough: method.FinalPoint, deadline: float, threads: int
) -> method.FinalPoint | None:
    """Go on from a point of all pairs, or of few, with fewer and fewer of them."""
    point = rough.point
    iterations = rough.iterations
    chosen = problem.region.exists
    stages = list(zip(FRACTIONS_OF_USERS, (*INTERIOR_EARLY[1:], 0.0), strict=True))
    if rough.few is not None:
        chosen = _chosen(problem, rough.few.region)
        stages = stages[-1:]
    for fraction, accepted_error in stages:
        begin = point
        begin_on_few = rough.few
        if begin_on_few is None:
            chosen = _likely(problem, begin, chosen, fraction)
        for _ in range(MOST_ROUNDS):
            few, start = _on_few(problem, begin, chosen, begin_on_few)
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
            begin_on_few = None
            excess_cost = np.where(chosen, np.inf, point.z / problem.region.costs(point.p))
            count = max(_users_each(problem.region, fraction) // 3, 1)
            worst = _smallest_of_rows(excess_cost, count)
            chosen = chosen | (worst & (excess_cost < 0))
    raise NotConvergedError(f"pairs came in for {MOST_ROUNDS} rounds and more")


def _smallest_of_rows(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return where each row has its so many smallest elements; bool."""
    count = min(count, numbers.shape[1])
    positions = np.argpartition(numbers, count - 1, axis=1)[:, :count]
    mask = np.zeros(numbers.shape, dtype=bool)
    np.put_along_axis(mask, positions, True, axis=1)
    return mask


def _chosen(problem: Problem, few: PlacedRegion) -> np.ndarray:
    """Return the mask of the pairs of a region of few of them."""
    assert few.place_users is not None
    chosen = np.zeros_like(problem.region.exists)
    np.put_along_axis(chosen, few.place_users, few.exists, axis=1)
    return chosen


def _users_each(region: PlacedRegion, fraction: float) -> int:
    """Return how many users each server keeps."""
    return max(int(fraction * region.shape[1]), LEAST_USERS * region.shape[2])


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
    rows = problem.rows
    remaining = problem.to_rows(1.0 - _excess_worth(problem, point.z, point.v))
    values = point.v * remaining
    price_of_level = float(rows.slope @ values)
    if not price_of_level > 0:
        return np.inf
    worth = float(
        np.vdot(problem.region.capacities, point.p) + np.vdot(rows.sign * rows.bound, values)
    )
    bound = worth / price_of_level
    return float(max(bound - point.t, 0.0)) / bound
