"""Sifting (Bixby et al., 1992): where there are very many pairs, the optimum of few of them, proved for all.

A vertex uses at most as many pairs as there are users and resources of servers. So the method stops early, keeps of
every server, and of every user, the pairs that cost least above their worth, and goes on with those from where it is.
Its prices give all others a cost: who is worth more than it costs comes in, and it goes on from the same point again.
It ends when prices, each user's value at most its lowest cost, bound the level of all pairs as tightly as any optimum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import NotConvergedError
from ...tolerances import INTERIOR_AIM, INTERIOR_EARLY
from . import method
from .iterate import ABSENT, Problem, Step
from .region import Region, places

#: From so many pairs on it is quicker. The part of the users that every server keeps, at least so many, and the servers
#: that every user keeps; and how often pairs come in, at most.
MANY, _PART, _LEAST, _SERVERS, _ROUNDS = 2_000_000, 0.05, 40, 4, 8


def suits(problem: Problem) -> bool:
    """Whether there are so many pairs, and one round decides: everybody demands everything, and may run everywhere."""
    region = problem.region
    everywhere = region.allowed is None and region.user is None and region.contribution is None
    everybody = everywhere and problem.face is None and problem.has_level
    return bool(everybody and region.pairs >= MANY and (region.demands > 0).all())


def sifted(problem: Problem, deadline: float, threads: int) -> method.Point | None:
    """Return the optimum; what is not kept is 0 there. None when the deadline comes first.

    Raises
    ------
    NotConvergedError
        Where interior points fail, or pairs come in for too long.
    """
    first = method.solve(problem, deadline, threads, within=INTERIOR_EARLY)
    if first is None:
        return None
    region, steps = problem.region, first.iterations
    each = max(int(_PART * region.shape[1]), _LEAST)
    measure = first.at.z / region.costs(first.at.p)
    kept = _least(measure, each) | _least(measure.T, _SERVERS).T
    for _ in range(_ROUNDS):
        user = places(kept)
        if user is None:
            break
        part = _restricted(problem, kept, user)
        try:
            point = method.solve(part, deadline, threads, _start(first.at, part.region))
        except NotConvergedError:  # too few, for some user or server
            each *= 2
            kept |= _least(measure, each)
            continue
        if point is None:
            return None
        steps += point.iterations
        dear = region.priced(point.at.p, problem.by_user(-problem.rows.sign * point.at.v))
        gap = _missing(problem, point.at, dear)
        if gap <= method.NEARLY * INTERIOR_AIM:
            x = np.zeros(kept.shape)
            np.put_along_axis(x, user, np.where(part.region.there, point.at.x, 0.0), axis=1)
            at = replace(point.at, x=x, z=np.maximum(dear, 0.0))
            return method.Point(at, max(point.error, gap), steps, inside=False)
        above = np.where(kept, np.inf, dear / region.costs(point.at.p))
        kept |= _least(above, max(each // 3, 1)) & (above < 0)
    raise NotConvergedError(f"pairs came in for {_ROUNDS} rounds and more")


def _least(measure: np.ndarray, each: int) -> np.ndarray:
    """Return where each row has its so many smallest elements; bool."""
    found = np.zeros(measure.shape, dtype=bool)
    each = min(each, measure.shape[1])
    np.put_along_axis(found, np.argpartition(measure, each - 1, axis=1)[:, :each], True, axis=1)
    return found


def _restricted(problem: Problem, kept: np.ndarray, user: np.ndarray) -> Problem:
    """Return the problem with these pairs only."""
    whole = problem.region
    there = np.take_along_axis(kept, user, axis=1)
    region = Region(whole.demands, whole.capacities, None if there.all() else there, user=user)
    return Problem(region, problem.rows)


def _start(at: Step, part: Region) -> Step:
    """Return the point with what every server gave out in all given to the pairs that are left."""
    assert part.user is not None
    x, z = (np.take_along_axis(values, part.user, axis=1) for values in (at.x, at.z))
    x, z = np.where(part.there, x, ABSENT), np.where(part.there, z, 1.0)
    left, before = part.given(np.where(part.there, x, 0.0)), part.capacities - at.s
    more = np.divide(before, left, out=np.full_like(left, np.inf), where=left > 0).min(axis=1)
    return replace(at, x=np.where(part.there, x * np.where(np.isfinite(more), more, 1.0)[:, None], x), z=z)


def _missing(problem: Problem, at: Step, dear: np.ndarray) -> float:
    """Return the gap to the bound for all pairs: users' values are lowered to their lowest costs."""
    worth = problem.by_user(-problem.rows.sign * at.v)
    lower = np.maximum(-problem.region.lowest(dear), 0.0)
    part = np.divide(lower, worth, out=np.ones_like(worth), where=worth > 0)
    kept = problem.of_users(1.0 - np.minimum(part, 1.0))
    return float(max(1.0 - problem.rows.slope @ (at.v * kept), 0.0))
