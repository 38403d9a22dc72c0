"""Rounds on the optimal face: where one round's interior optimum tells apart what the next may still change.

At a strictly complementary optimum every pair is used or dear, every resource has something left or a price, every user
can rise or has a price. What is clearly dear stays out of the next round, what clearly has a price is used up, and
whoever clearly has one keeps what it has; the last point lies inside all of that. What is not clear stays as it is. The
round's prices are the face's, which are free where it holds with equality, plus a multiple of the earlier rounds',
whose gap is nothing; the whole program certifies them.

An interior optimum is strictly complementary: of u and v, one is positive (Goldman and Tucker), so exactly the users
who can be raised in no optimum have a price. On the central path a row that could be raised by a fraction δ of the
level has a price of at most gap/(terms·δ). If every row's price is well above that at δ =
``AGREEMENT``, the round is decided.

Where somebody can still be raised, the next round is solved on the optimal face of this one: pairs that are clearly
dear stay out, capacities that clearly have a price and rows of blocked users hold with equality, their prices free,
and the last point lies inside of all that. Which of two complementary numbers vanishes is clear by many orders of
magnitude as a rule; what is not clear stays as it is. So do users whose price is small beside others': a round of
their own decides about them, in units of theirs. Free prices may come out negative on the face; then as much of the
duals of earlier rounds is added, from the last to the first, as what those decided takes. They cost nothing, since
they prove those rounds, and the sum is certified from the whole Program: its gap beside the level alone, for what
frozen users have is in the terms of the objective too and may be a thousand times the level. A round is decided so
only if the one after it could be solved and proved on its face, and that trial is the next round's answer.

What a round leaves to the next, a gap of 1e-12, its prices multiply, by a million in long chains of levels. So a
round's optimum is first moved onto the face that it tells (:func:`sharpened`), where only the rounding of sums is left.

Task limits are found by Newton's method on the level. Most programs of it need no optimum: a point inside on the way
there has a level that is certainly reached, and whoever has all its tasks at that level is at its limit. The next
program starts from that point, its rows on users changed. Half of 500 users with limits take 28 iterations in all,
not 99.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...errors import NotConvergedError
from ...models.programs.program import Program
from ...tolerances import AGREEMENT, BLOCKED_PRICE, NOISE
from .iterate import ABSENT, Face, Iterate, Problem, Products, Step, UserRows
from .structure import Structure

#: One of two complementary numbers, relative, must be so many times the other for which of them vanishes to be clear:
#: of pairs and capacities, about which the certificate of the next round tells, and of users, who are blocked for ever.
_CLEAR_PLACE, _CLEAR_USER = 10.0, 1e3
#: In a projection, how far prices move that are to stay as they are, and the opposite of how far tasks do.
_STILL, _MOVES = 2.0**-60, 2.0**-30
#: An earlier round's share in the duals is by this factor more than it takes.
_AMPLE = 1.01


@dataclass(frozen=True)
class Layer:
    """What one round decided, and duals of its whole program, which are positive there.

    Attributes
    ----------
    dear : ndarray of bool, as arrays of pairs
        Pairs that are not used from here on.
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    priced : ndarray of bool, shape (J,)
        Rows that hold with equality.
    prices, values : ndarray, shapes (K, R) and (J,)
    """

    dear: np.ndarray
    full: np.ndarray
    priced: np.ndarray
    prices: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Decided:
    """What the rounds so far have decided, in the structure's units.

    Attributes
    ----------
    kept : ndarray of bool, as arrays of pairs
        Pairs that may be used.
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    priced, blocked : ndarray of bool, shape (J,)
        Rows that hold with equality; those of the last round's growing ones whose users keep the level.
    x, s : ndarray
        The last point.
    layers : tuple of Layer
        Round by round.
    """

    kept: np.ndarray
    full: np.ndarray
    priced: np.ndarray
    blocked: np.ndarray
    x: np.ndarray
    s: np.ndarray
    layers: tuple[Layer, ...]


def sharpened(problem: Problem, at: Step) -> Step | None:
    """Return an interior optimum moved onto the face that it tells, where all rows and costs hold to the last digit.

    Of two numbers whose product vanishes the smaller is 0 from here on. A gap of 1e-12 becomes one of 1e-15. None where
    the equations cannot be factored, or users have several rows.
    """
    from threadpoolctl import threadpool_limits

    region, rows, before = problem.region, problem.rows, problem.face
    total = region.totals(np.where(region.there, at.x, 0.0))
    if not _one_floor_each(rows, len(total)):
        return None
    with threadpool_limits(1), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        own = total[rows.user]
        full = region.used & (abs(at.p) / abs(at.p).max() > at.s / region.capacities)
        equal = np.where(rows.slope > 0, rows.slope, own) * at.v > at.u / own
        if before is not None:
            full, equal = full | before.full, equal | before.equal
        p, values = np.where(full, at.p, 0.0), problem.by_user(at.v)
        worth = np.maximum(region.dearest(abs(p)), abs(values))
        part = at.x / region.at_pairs(total)
        kept = region.there & (region.priced(p, values) <= _CLEAR_PLACE * part * region.at_pairs(worth))
        try:
            return _projected(problem, replace(at, p=p), kept, full, equal)
        except NotConvergedError:
            return None


def _projected(problem: Problem, at: Step, kept: np.ndarray, full: np.ndarray, equal: np.ndarray) -> Step:
    """Return the point of a face nearest to an optimum: on these pairs, with what is full and equal so exactly.

    Two projections with one factor: of tasks, each as movable as it is large, so that positive ones stay positive; and
    of prices, so that pairs in use cost what they are worth.
    """
    region, rows, before = problem.region, problem.rows, problem.face
    x, each = np.where(kept, at.x, 0.0), np.ones(len(equal), dtype=bool)
    nothing = Products(np.zeros_like(x), np.zeros_like(at.s), np.zeros_like(at.u))
    iterate = Iterate(Problem(replace(region, allowed=kept), rows, Face(full, each, at.x, at.s)), at)
    still, left = _STILL + nothing.sp, np.where(full, 0.0, 1.0)
    iterate.at = Step(np.where(kept, at.x, ABSENT), left, nothing.uv, _MOVES + nothing.xz, still, each + 0.0)
    iterate.factor()
    room = np.where(equal, 0.0, at.u)
    iterate.short, iterate.norm = np.where(full, region.capacities - region.given(x), 0.0), 0.0
    iterate.off = region.totals(x)[rows.user] - rows.bound - rows.slope * at.t - room
    step = iterate.direction(nothing, 0.0, residuals=True)
    x, t = np.maximum(x + np.where(kept, step.x, 0.0), 0.0), at.t + step.t
    costs = np.where(kept, region.priced(at.p, problem.by_user(at.v)), 0.0)
    iterate.short, iterate.off, iterate.norm = nothing.sp, nothing.uv, 1.0 - float(rows.slope @ at.v)
    step = iterate.direction(replace(nothing, xz=-costs * iterate.at.x), 0.0, residuals=True)
    p, v = at.p + np.where(full, step.p, 0.0), at.v + step.v
    # a user with a price pays for every pair that it uses: its value is of the size of its costs, or it is rounding
    dearest = region.dearest(abs(p))[rows.user]
    v = np.where((dearest > 0) & (abs(v) > NOISE * dearest), v, 0.0)
    free = (False, False) if before is None else (before.full, before.equal)
    p, v = np.where(free[0], p, np.maximum(p, 0.0)), np.where(free[1], v, np.maximum(v, 0.0))
    s = np.where(full, 0.0, region.capacities - region.given(x))
    u = np.where(equal, 0.0, region.totals(x)[rows.user] - rows.bound - rows.slope * t)
    z = np.where(kept, 0.0, np.maximum(region.priced(p, problem.by_user(v)), 0.0))
    return Step(x, s, u, z, p, v, t)


def known(structure: Structure, at: Step, sharp: Step, before: Decided | None) -> Decided | None:
    """Return what a round's optimum decides beside what was known; None where it blocks nobody, or without duals."""
    problem, region = structure.problem, structure.problem.region
    rows = problem.rows
    total = region.totals(np.where(region.there, at.x, 0.0))
    if not _one_floor_each(rows, len(total)):
        return None
    kept = region.there & (at.z / abs(at.p).max() <= _CLEAR_PLACE * (at.x / region.at_pairs(total)))
    inside = region.used if problem.face is None else region.used & ~problem.face.full
    full = inside & (abs(at.p) / abs(at.p).max() > _CLEAR_PLACE * (at.s / region.capacities))
    growing, own = rows.slope > 0, total[rows.user]
    price, room = np.where(growing, rows.slope, own) * at.v, at.u / own
    priced = (price > _CLEAR_USER * room) & (room <= AGREEMENT)
    # of growing rows those that the rounds take for blocked: about smaller prices another round decides
    blocked = growing & priced & (price >= BLOCKED_PRICE * price[growing].max())
    if sharp is not at:
        blocked = growing & (sharp.v > 0)
    priced &= blocked | ~growing
    if not blocked.any():
        return None
    duals = _whole(structure, sharp, before)
    if duals is None:
        return None
    layer = Layer(region.there & ~kept, full, priced, *duals)
    layers = () if before is None else before.layers
    if before is not None:
        full, priced = full | before.full, priced | before.priced
    return Decided(kept, full, priced, blocked, at.x, at.s, (*layers, layer))


def _one_floor_each(rows: UserRows, users: int) -> bool:
    """Whether everybody has one row, a lower bound."""
    return len(np.unique(rows.user)) == len(rows.user) == users and not (rows.sign > 0).any()


def _whole(structure: Structure, at: Step, before: Decided | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Return prices and rows' values for the round's whole program: the face's, and what it takes of earlier rounds'.

    What is free on the face may be negative. From the last round to the first, as much of a round's own duals is added
    as what it decided takes; they cost nothing, since they prove that round.
    """
    problem, region = structure.problem, structure.problem.region
    prices, values = at.p, at.v
    for layer in reversed(before.layers if before is not None else ()):
        costs, theirs = (
            region.priced(p, problem.by_user(v)) for p, v in ((prices, values), (layer.prices, layer.values))
        )
        needed = 0.0
        for own, earlier, where in (
            (prices, layer.prices, layer.full),
            (values, layer.values, layer.priced),
            (costs, theirs, layer.dear),
        ):
            low = where & (own < 0)
            if low.any():
                if (earlier[low] <= 0).any():
                    return None
                needed = max(needed, float((-own[low] / earlier[low]).max()))
        prices, values = prices + _AMPLE * needed * layer.prices, values + _AMPLE * needed * layer.values
    # earlier prices of those who still grow were small, but not nothing
    worth = float(problem.rows.slope @ values)
    return np.maximum(prices, 0.0) / worth, values / worth


def expected(structure: Structure, at: Step, decided: Decided) -> Program | None:
    """Return the next round's program: whoever is blocked keeps what it has at this round's level. None: no round."""
    program, places = structure.program, structure.places
    growing = structure.problem.rows.slope > 0
    now = growing & decided.blocked
    if (now == growing).all():
        return None
    stopped = places.row[now]
    A, floors = program.A.tocsc(copy=True), program.row_lower.copy()
    begin, end = A.indptr[places.level], A.indptr[places.level + 1]
    due = np.zeros(program.n_rows)
    due[A.indices[begin:end]] = A.data[begin:end]
    floors[stopped] -= due[stopped] * (at.t / structure.level_unit)
    A.data[begin:end][np.isin(A.indices[begin:end], stopped)] = 0.0
    return program.replace(A=A, row_lower=floors)


def on_face(program: Program, decided: Decided) -> Structure | None:
    """Return the structure of the next round's program on the face, or None where it is another one."""
    structure = Structure.of(program)
    if structure is None or structure.problem.region.there.shape != decided.kept.shape:
        return None
    problem, region = structure.problem, structure.problem.region
    rows = problem.rows
    if len(rows.user) != len(decided.priced) or not _one_floor_each(rows, region.shape[1]):
        return None
    # those at a task limit have a floor that is lower than what they have: it stays a bound
    equal = (rows.slope == 0) & decided.priced
    face = Face(decided.full, equal, decided.x, np.where(decided.full, 0.0, decided.s))
    return replace(structure, problem=Problem(replace(region, allowed=decided.kept), rows, face))


def settled(structure: Structure, at: Step) -> Step:
    """Return a point with the room that it leaves to rows whose floors are lower than where it was found."""
    problem, rows = structure.problem, structure.problem.rows
    total = problem.region.totals(np.where(problem.region.there, at.x, 0.0))[rows.user]
    room = np.maximum(at.u, rows.sign * (rows.bound + rows.slope * at.t - total))
    return at if problem.face is None else replace(at, u=np.where(problem.face.equal, 0.0, room))


def lifted(structure: Structure, at: Step, decided: Decided) -> Step | None:
    """Return the point with prices for the whole program."""
    duals = _whole(structure, at, decided)
    if duals is None:
        return None
    problem, (prices, values) = structure.problem, duals
    costs = problem.region.priced(prices, problem.by_user(values))
    return replace(at, p=prices, v=values, z=np.maximum(costs, 0.0))
