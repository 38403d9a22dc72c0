"""Rounds on the optimal face: where one round's interior optimum tells apart what the next may still change.

At a strictly complementary optimum every pair is used or dear, every resource has something left or a price, every user
can rise or has a price. What is dear stays out of the next round, what has a price is used up, and whoever has a price
keeps what it has; the last point lies inside all of that. The round's prices are the face's, which are free where it
holds with equality, plus a multiple of the earlier rounds', whose gap is nothing; the whole program certifies them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models.programs.program import Program
from .iterate import Face, Problem, Step
from .structure import Structure

#: One of two complementary numbers, relative, must be so many times the other for which of them vanishes to be clear:
#: of pairs and capacities, about which the certificate of the next round tells, and of users, who are blocked for ever.
_CLEAR_PLACE, _CLEAR_USER = 10.0, 1e3
#: What an earlier round is off by counts so many times, at most, in a later one.
_MOST_SHARE = 3.0


@dataclass(frozen=True)
class Duals:
    """Prices (K, R), values (N,) and reduced costs (K, N) of a round, feasible for its whole program."""

    prices: np.ndarray
    values: np.ndarray
    costs: np.ndarray


@dataclass(frozen=True)
class Known:
    """What the rounds so far have decided, in the structure's units.

    Attributes
    ----------
    kept : ndarray of bool, shape (K, N)
        Pairs that may be used.
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    blocked : ndarray of bool, shape (N,)
    x, s : ndarray
        The last point.
    duals : Duals
    """

    kept: np.ndarray
    full: np.ndarray
    blocked: np.ndarray
    x: np.ndarray
    s: np.ndarray
    duals: Duals


def known(structure: Structure, at: Step, before: Known | None) -> Known | None:
    """Return what a round's optimum decides beside what was known, or None where that is not clear."""
    problem, region = structure.problem, structure.problem.region
    rows = problem.rows
    held = rows.slope == 0 if problem.face is None else (rows.slope == 0) & ~problem.face.equal
    if held.any():  # task limits
        return None
    there = np.ones(at.x.shape, dtype=bool) if region.allowed is None else region.allowed
    total = region.totals(np.where(there, at.x, 0.0))
    used, dear = at.x / total, at.z / abs(at.p).max()
    kept = there & (used > dear)
    if _unclear(used, dear, there, _CLEAR_PLACE):
        return None
    inside = ~problem.face.full if problem.face is not None else np.ones(at.s.shape, dtype=bool)
    inside = inside & region.used
    left, price = at.s / region.capacities, abs(at.p) / abs(at.p).max()
    if _unclear(left, price, inside, _CLEAR_PLACE):
        return None
    full = inside & (price > left)
    growing = rows.slope > 0
    worth = rows.slope * at.v
    room = at.u / total[rows.user]
    if _unclear(room, worth, growing, _CLEAR_USER):
        return None
    blocked = np.zeros(len(total), dtype=bool)
    blocked[rows.user[growing & (worth > room)]] = True
    if before is not None:
        full, blocked = full | before.full, blocked | before.blocked
    duals = _whole(structure, at, before)
    return None if duals is None else Known(kept, full, blocked, at.x, at.s, duals)


def _unclear(one: np.ndarray, other: np.ndarray, where: np.ndarray, clear: float) -> bool:
    """Whether of some pair of numbers neither is clearly the larger."""
    larger, smaller = np.maximum(one, other)[where], np.minimum(one, other)[where]
    return bool((larger < clear * smaller).any())


def _whole(structure: Structure, at: Step, before: Known | None) -> Duals | None:
    """Return the round's duals for the whole program: the face's, plus what it takes of the earlier rounds'."""
    problem, region = structure.problem, structure.problem.region
    values = problem.by_user(-problem.rows.sign * at.v)
    costs = at.p @ region.demands.T - values
    if before is None:
        return Duals(at.p, values, np.maximum(costs, 0.0))
    needed = 0.0
    for own, earlier, where in (
        (at.p, before.duals.prices, before.full),
        (values, before.duals.values, before.blocked),
        (costs, before.duals.costs, ~before.kept),
    ):
        low = where & (own < 0)
        if low.any():
            if (earlier[low] <= 0).any():
                return None
            needed = max(needed, float((-own[low] / earlier[low]).max()))
    if needed > _MOST_SHARE:
        return None
    share = 2.0 * needed
    prices = np.maximum(at.p + share * before.duals.prices, 0.0)
    values = values + share * before.duals.values
    return Duals(prices, values, np.maximum(prices @ region.demands.T - values, 0.0))


def expected(structure: Structure, at: Step, decided: Known) -> Program | None:
    """Return the next round's program: whoever is blocked keeps what it has at this round's level. None: no round."""
    program, places = structure.program, structure.places
    rows = structure.problem.rows
    now = (rows.slope > 0) & decided.blocked[rows.user]
    if (now == (rows.slope > 0)).all():
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
    if structure is None or structure.problem.region.shape[:2] != decided.kept.shape:
        return None
    problem, region = structure.problem, structure.problem.region
    rows = problem.rows
    frozen = decided.blocked[rows.user]
    equal = (rows.slope == 0) & (rows.sign < 0) & frozen
    if not frozen[rows.slope == 0].all() or (rows.slope[frozen] > 0).any():  # task limits, or others are blocked
        return None
    face = Face(decided.full, equal, decided.x, np.where(decided.full, 0.0, decided.s))
    return replace(structure, problem=Problem(replace(region, allowed=decided.kept), rows, face))


def lifted(structure: Structure, at: Step, decided: Known) -> Step | None:
    """Return the point with prices for the whole program."""
    duals = _whole(structure, at, decided)
    if duals is None:
        return None
    rows = structure.problem.rows
    v = np.where(rows.slope > 0, at.v, duals.values[rows.user])
    return replace(at, p=duals.prices, v=v, z=duals.costs)
