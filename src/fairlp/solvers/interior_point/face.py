"""The rounds of a leximin after the first: each is solved on the optimal face of the round before.

A pair is a user on a server where it may run; its reduced cost z is what a task costs there at the
prices, less what it is worth. The row of a user says that its tasks X are at least a·t + b; its
room u is how much they are above that, its value v the dual. A row grows while a > 0: its user
still rises with the level t.

**What a round decides.** At an interior optimum exactly one of two numbers whose product is 0 there
(x·z, s·p, u·v) is positive (Goldman and Tucker). So in every optimum a pair of positive reduced
cost is not used, a resource with a price is used up, and a user with a value has just its level.
The next round leaves such pairs out, and holds such capacities and rows with equality; the last
point lies inside. Which of the two numbers is 0 is clear by many orders of magnitude as a rule;
where it is not, nothing is decided. The next round is tried before a round counts as decided
(``InteriorPointSession.leaves_open``), and what the trial finds is the answer of that next round.

**Sharpening.** The method ends at a gap of ``SETTLED``, and prices of later rounds multiply that,
by millions where many levels hang on each other. So the optimum is first moved onto its face
(:func:`sharpened`), where only the rounding of sums is left.

**Proof.** The dual of a row that holds with equality may be negative. To prove a round for its
whole program, multiples of the duals of earlier rounds are added, from the last to the first, as
small as make all signs right. They prove their own rounds, so that they add no more to the bound
than their gaps. The sum is certified, its gap relative to t alone: what the users who stopped have
may be a thousand times that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...errors import NotConvergedError
from ...models.programs.program import Program
from ...tolerances import AGREEMENT, NOISE
from .iterate import ABSENT, Face, Iterate, Problem, Products, Step, UserRows
from .structure import Structure

#: Of two numbers whose product is 0, relative to their sizes, one must be so many times the other:
#: of pairs and capacities (a wrong one shows in the next round's certificate), and of users (who
#: stop for good).
_CLEAR_PLACE, _CLEAR_USER = 10.0, 1e3
#: Weights of a projection: how far prices move that are to stay, and the inverse of how far tasks
#: do.
_STILL, _MOVES = 2.0**-60, 2.0**-30
#: Duals of earlier rounds are added in this multiple of what is needed.
_AMPLE = 1.01


@dataclass(frozen=True)
class Layer:
    """What one round decided, and duals that prove it, positive wherever it decided something.

    K servers, R resources, J rows of users.

    Attributes
    ----------
    dear : ndarray of bool, shape of the region's pairs
        Pairs of positive reduced cost, which are not used from here on.
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    priced : ndarray of bool, shape (J,)
        Rows that hold with equality.
    prices, values : ndarray, shapes (K, R) and (J,)
        Duals of the capacities and of the rows.
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
    kept : ndarray of bool, shape of the region's pairs
        Pairs that may be used.
    full : ndarray of bool, shape (K, R)
        Capacities that are used up.
    priced : ndarray of bool, shape (J,)
        Rows that hold with equality.
    blocked : ndarray of bool, shape (J,)
        Growing rows of the last round whose users keep its level.
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
    """Return an interior optimum moved onto its optimal face, where rows and reduced costs hold to the last digit.

    Of two numbers whose product is to be 0, the smaller, relative to its size, becomes 0. The gap
    falls to the rounding of sums. None where the equations cannot be factored, or users have
    several rows.
    """
    from threadpoolctl import threadpool_limits

    region, rows, before = problem.region, problem.rows, problem.face
    total = region.totals(np.where(region.there, at.x, 0.0))
    if not _one_floor_each(rows, len(total)):
        return None
    with threadpool_limits(1), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        full = region.used & (abs(at.p) / abs(at.p).max() > at.s / region.capacities)
        price, room = _price_and_room(rows, at, total)
        equal = price > room
        if before is not None:
            full, equal = full | before.full, equal | before.equal
        p, values = np.where(full, at.p, 0.0), problem.by_user(at.v)
        worth = np.maximum(region.dearest(abs(p)), abs(values))
        part = at.x / region.at_pairs(total)
        kept = region.there & (
            region.priced(p, values) <= _CLEAR_PLACE * part * region.at_pairs(worth)
        )
        try:
            return _projected(problem, replace(at, p=p), kept, full, equal)
        except NotConvergedError:
            return None


def _projected(
    problem: Problem, at: Step, kept: np.ndarray, full: np.ndarray, equal: np.ndarray
) -> Step:
    """Return the point of a face nearest to an optimum: on these pairs, with what is full and equal so exactly.

    Two projections with one Cholesky factor: of tasks, which move in proportion to their size, so
    that positive ones stay positive; and of prices, so that reduced costs of pairs in use are 0.
    """
    region, rows, before = problem.region, problem.rows, problem.face
    x, each = np.where(kept, at.x, 0.0), np.ones_like(equal)
    nothing = Products(np.zeros_like(x), np.zeros_like(at.s), np.zeros_like(at.u))
    iterate = Iterate(
        Problem(replace(region, allowed=kept), rows, Face(full, each, at.x, at.s)), at
    )
    still, left = _STILL + nothing.sp, np.where(full, 0.0, 1.0)
    iterate.at = Step(
        np.where(kept, at.x, ABSENT), left, nothing.uv, _MOVES + nothing.xz, still, each + 0.0
    )
    iterate.factor()
    room = np.where(equal, 0.0, at.u)
    iterate.short, iterate.norm = np.where(full, region.capacities - region.given(x), 0.0), 0.0
    iterate.off = region.totals(x)[rows.user] - rows.bound - rows.slope * at.t - room
    step = iterate.direction(nothing, 0.0, residuals=True)
    x, t = np.maximum(x + np.where(kept, step.x, 0.0), 0.0), at.t + step.t
    costs = np.where(kept, region.priced(at.p, problem.by_user(at.v)), 0.0)
    iterate.short, iterate.off, iterate.norm = (
        nothing.sp,
        nothing.uv,
        1.0 - float(rows.slope @ at.v),
    )
    step = iterate.direction(replace(nothing, xz=-costs * iterate.at.x), 0.0, residuals=True)
    p, v = at.p + np.where(full, step.p, 0.0), at.v + step.v
    # a user with a price pays for every pair that it uses: its value is of the size of its costs,
    # or it is rounding
    dearest = region.dearest(abs(p))[rows.user]
    v = np.where((dearest > 0) & (abs(v) > NOISE * dearest), v, 0.0)
    free = (False, False) if before is None else (before.full, before.equal)
    p, v = np.where(free[0], p, np.maximum(p, 0.0)), np.where(free[1], v, np.maximum(v, 0.0))
    s = np.where(full, 0.0, region.capacities - region.given(x))
    u = np.where(equal, 0.0, region.totals(x)[rows.user] - rows.bound - rows.slope * t)
    z = np.where(kept, 0.0, np.maximum(region.priced(p, problem.by_user(v)), 0.0))
    return Step(x, s, u, z, p, v, t)


def known(structure: Structure, at: Step, sharp: Step, before: Decided | None) -> Decided | None:
    """Return what earlier rounds and this optimum decide; None where it stops nobody, or its duals prove nothing."""
    region, rows = structure.problem.region, structure.problem.rows
    blocked = (rows.slope > 0) & (sharp.v > 0)
    if sharp is at or not blocked.any():
        return None
    kept, full = region.there & (sharp.z == 0), region.used & (sharp.s == 0)
    price, room = _price_and_room(rows, at, region.totals(np.where(region.there, at.x, 0.0)))
    priced = (price > _CLEAR_USER * room) & (room <= AGREEMENT) & (blocked | (rows.slope == 0))
    duals = _whole(structure, sharp, before)
    if duals is None:
        return None
    new, layers = (full, ()) if before is None else (full & ~before.full, before.layers)
    layer = Layer(region.there & ~kept, new, priced, *duals)
    priced = priced if before is None else priced | before.priced
    return Decided(kept, full, priced, blocked, at.x, at.s, (*layers, layer))


def _price_and_room(rows: UserRows, at: Step, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each row is worth at the optimum, and its room as a part of its user's tasks; shapes (J,)."""
    own = total[rows.user]
    return np.where(rows.slope > 0, rows.slope, own) * at.v, at.u / own


def _one_floor_each(rows: UserRows, users: int) -> bool:
    """Whether everybody has one row, a lower bound."""
    return len(np.unique(rows.user)) == len(rows.user) == users and not (rows.sign > 0).any()


def _whole(
    structure: Structure, at: Step, before: Decided | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return duals of capacities and rows for the round's whole program; None where no multiple of others is enough.

    Those of the face may be negative where it holds with equality. From the last round to the
    first, the duals of the round are added in the smallest multiple that makes the signs right
    where it decided something.
    """
    problem, region = structure.problem, structure.problem.region
    prices, values = at.p, at.v
    for layer in reversed(before.layers if before is not None else ()):
        costs, theirs = (
            region.priced(p, problem.by_user(v))
            for p, v in ((prices, values), (layer.prices, layer.values))
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
        prices, values = (
            prices + _AMPLE * needed * layer.prices,
            values + _AMPLE * needed * layer.values,
        )
    # earlier prices of those who still grow were small, but not nothing
    worth = float(problem.rows.slope @ values)
    return (np.maximum(prices, 0.0) / worth, values / worth) if worth > 0 else None


def expected(structure: Structure, at: Step, decided: Decided) -> Program | None:
    """Return the next round's program, in which blocked users keep this level; None where all users are blocked."""
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


def lifted(structure: Structure, at: Step, decided: Decided) -> Step | None:
    """Return the point with prices for the whole program."""
    duals = _whole(structure, at, decided)
    if duals is None:
        return None
    problem, (prices, values) = structure.problem, duals
    costs = problem.region.priced(prices, problem.by_user(values))
    return replace(at, p=prices, v=values, z=np.maximum(costs, 0.0))
