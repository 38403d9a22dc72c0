"""Rounds on the optimal face: where one round's interior optimum tells apart what the next may still change.

At a strictly complementary optimum every pair is used or dear, every resource has something left or a price, every user
can rise or has a price. What is clearly dear stays out of the next round, what clearly has a price is used up, and
whoever clearly has one keeps what it has; the last point lies inside all of that. What is not clear stays as it is. The
round's prices are the face's, which are free where it holds with equality, plus a multiple of the earlier rounds',
whose gap is nothing; the whole program certifies them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models.programs.program import Program
from ...tolerances import BLOCKED_PRICE, SAME_LEVEL
from .iterate import Face, Problem, Step, UserRows
from .structure import Structure

#: One of two complementary numbers, relative, must be so many times the other for which of them vanishes to be clear:
#: of pairs and capacities, about which the certificate of the next round tells, and of users, who are blocked for ever.
_CLEAR_PLACE, _CLEAR_USER = 10.0, 1e3
#: What an earlier round is off by counts so many times, at most, in a later one; its share is by this factor more than
#: it takes.
_MOST_SHARE, _AMPLE = 1e3, 1.01


@dataclass(frozen=True)
class Duals:
    """Prices (K, R), values of the rows (J,) and reduced costs by pair of a round, feasible for its whole program."""

    prices: np.ndarray
    values: np.ndarray
    costs: np.ndarray


@dataclass(frozen=True)
class Known:
    """What the rounds so far have decided, in the structure's units.

    Attributes
    ----------
    kept : ndarray of bool, as arrays of pairs
        Pairs that may be used.
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    priced, blocked : ndarray of bool, shape (J,)
        Rows that hold with equality; those of them that grew, and whose users keep the level.
    x, s : ndarray
        The last point.
    duals : Duals
    """

    kept: np.ndarray
    full: np.ndarray
    priced: np.ndarray
    blocked: np.ndarray
    x: np.ndarray
    s: np.ndarray
    duals: Duals


def known(structure: Structure, at: Step, before: Known | None) -> Known | None:
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
    priced = (price > _CLEAR_USER * room) & (room <= SAME_LEVEL)
    # of growing rows those that the rounds take for blocked: about smaller prices another round decides
    blocked = growing & priced & (price >= BLOCKED_PRICE * price[growing].max())
    priced &= blocked | ~growing
    if not blocked.any():
        return None
    if before is not None:
        full, priced, blocked = full | before.full, priced | before.priced, blocked | before.blocked
    duals = _whole(structure, at, before)
    return None if duals is None else Known(kept, full, priced, blocked, at.x, at.s, duals)


def _one_floor_each(rows: UserRows, users: int) -> bool:
    """Whether everybody has one row, a lower bound."""
    return len(np.unique(rows.user)) == len(rows.user) == users and not (rows.sign > 0).any()


def _whole(structure: Structure, at: Step, before: Known | None) -> Duals | None:
    """Return the round's duals for the whole program: the face's, plus what it takes of the earlier rounds'."""
    problem, region = structure.problem, structure.problem.region
    rows, prices, values = problem.rows, at.p, at.v
    if before is not None:
        needed = 0.0
        costs = region.priced(prices, problem.by_user(values))
        for own, earlier, where in (
            (prices, before.duals.prices, before.full),
            (values, before.duals.values, before.priced),
            (costs, before.duals.costs, (structure.places.pair >= 0) & ~before.kept),
        ):
            low = where & (own < 0)
            if low.any():
                if (earlier[low] <= 0).any():
                    return None
                needed = max(needed, float((-own[low] / earlier[low]).max()))
        if needed > _MOST_SHARE:
            return None
        share = _AMPLE * needed
        prices = np.maximum(prices + share * before.duals.prices, 0.0)
        values = values + share * before.duals.values
        # earlier prices of those who still grow were small, but not nothing
        worth = float(rows.slope @ values)
        prices, values = prices / worth, values / worth
    return Duals(prices, values, np.maximum(region.priced(prices, problem.by_user(values)), 0.0))


def expected(structure: Structure, at: Step, decided: Known) -> Program | None:
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


def on_face(program: Program, decided: Known) -> Structure | None:
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


def lifted(structure: Structure, at: Step, decided: Known) -> Step | None:
    """Return the point with prices for the whole program."""
    duals = _whole(structure, at, decided)
    return None if duals is None else replace(at, p=duals.prices, v=duals.values, z=duals.costs)
