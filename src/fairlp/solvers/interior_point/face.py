"""The rounds of a leximin after the first: each is solved on the optimal face of the round before.

A pair is a user on a server where it may run; its reduced cost z is the cost of a task there at the
prices, less its worth. The row of a user says that its tasks X are at least a·t + b; its room u is
how much they are above that, its value v the dual. A row grows while a > 0: its user still rises
with the level t.

**What a round decides.** At an interior optimum exactly one of two numbers whose product is 0 there
(x·z, s·p, u·v) is positive (Goldman and Tucker). So in every optimum a pair of positive reduced
cost is not used, a resource with a price is used up, and a user with a value has just its level.
The next round leaves such pairs out, and holds such capacities and rows with equality; the last
point lies inside. Which of the two numbers is 0 is clear by many orders of magnitude as a rule;
where it is not, nothing is decided. The next round is tried before a round counts as decided
(``InteriorPointSession.leaves_open``), and the result of the trial is the answer of that next
round.

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

from ...blas import blas_threads
from ...errors import NotConvergedError
from ...models.programs.program import Program
from ...tolerances import AGREEMENT, NOISE, SETTLED
from ..backends.base import dense_column
from .iterate import Iterate, ProductChanges
from .problem import ABSENT, Face, Problem, UserRows, Variables
from .region import PlacedRegion
from .structure import Structure

#: Of two numbers whose product is 0, relative to their sizes, one must be so many times the other:
#: where a capacity is used up, where a pair is not used (a wrong one shows in the next round's
#: certificate), and of users (who stop for good).
_CLEAR_CAPACITY = 10.0
_CLEAR_PAIR = 100.0
_CLEAR_USER = 1e3
#: Projections onto a face at most: each but the first is without pairs that turned out to be dear.
MOST_PROJECTIONS = 3
#: Of dear pairs those go that are at least so dear, as a part of the dearest.
_DEAREST = 0.3
#: Weights of a projection: how far prices move that are to stay, and the inverse of how far tasks
#: do.
_STILL = 2.0**-60
_MOVES = 2.0**-30
#: Duals of earlier rounds are added in this multiple of what is needed.
_AMPLE = 1.01


@dataclass(frozen=True)
class RoundDecision:
    """Decisions of one round, and duals that prove them, positive wherever something is decided.

    K servers, R resources, J rows of users.

    Attributes
    ----------
    unused_pairs : ndarray of bool, shape of the region's pairs
        Pairs of positive reduced cost, which are not used from here on.
    tight_capacities : ndarray of bool, shape (K, R)
        Capacities that are used up.
    tight_rows : ndarray of bool, shape (J,)
        Rows that hold with equality.
    prices, values : ndarray, shapes (K, R) and (J,)
        Duals of the capacities and of the rows.
    """

    unused_pairs: np.ndarray
    tight_capacities: np.ndarray
    tight_rows: np.ndarray
    prices: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Decisions:
    """Decisions of all rounds so far, in the structure's units.

    Attributes
    ----------
    usable_pairs : ndarray of bool, shape of the region's pairs
        Pairs that may be used.
    tight_capacities : ndarray of bool, shape (K, R)
        Capacities that are used up.
    tight_rows : ndarray of bool, shape (J,)
        Rows that hold with equality.
    blocked : ndarray of bool, shape (J,)
        Growing rows of the last round whose users keep its level.
    x, s : ndarray
        The last point.
    rounds : tuple of RoundDecision
        Round by round.
    """

    usable_pairs: np.ndarray
    tight_capacities: np.ndarray
    tight_rows: np.ndarray
    blocked: np.ndarray
    x: np.ndarray
    s: np.ndarray
    rounds: tuple[RoundDecision, ...]


def sharpened(
    problem: Problem,
    point: Variables,
    before: Variables | None = None,
    projections: int = 1,
) -> Variables | None:
    """Return an interior optimum moved onto its optimal face, to the last digit of rows and costs.

    Of two numbers whose product is to be 0, the smaller, relative to its size, becomes 0. Sizes are
    those that one more step like the last, from ``before``, would leave: the number that is 0 at
    the optimum falls from step to step, the other stays, however small it is. The gap falls to the
    rounding of sums. None where the equations cannot be factored, or users have several rows.
    """
    region = problem.region
    rows = problem.rows
    face = problem.face
    total = _totals(region, point)
    if not _one_floor_each(rows, len(total)):
        return None
    with blas_threads(1), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        part_of_price = abs(point.p) / abs(point.p).max()
        unused_part = point.s / region.capacities
        if before is not None:
            part_of_price = part_of_price * _change(before.p, point.p)
            unused_part = unused_part * _change(before.s, point.s)
        tight_capacities = region.is_demanded & (part_of_price > _CLEAR_CAPACITY * unused_part)
        price, room = _price_and_room(rows, point, total)
        if before is not None:
            price = price * _change(before.v, point.v)
            room = room * _change(before.u, point.u)
        tight_rows = price > room
        if face is not None:
            tight_capacities = tight_capacities | face.tight_capacities
            tight_rows = tight_rows | face.tight_rows

        p = np.where(tight_capacities, point.p, 0.0)
        values = problem.sum_by_user(point.v)
        worth = np.maximum(region.highest_costs(abs(p)), abs(values))
        part_of_user = point.x / region.to_pairs(total)
        if before is not None:
            part_of_user = part_of_user * _change(before.x, point.x) / _change(before.z, point.z)
        reduced_costs = region.reduced_costs(p, values)
        in_use = reduced_costs <= _CLEAR_PAIR * part_of_user * region.to_pairs(worth)
        # where a user is worth next to nothing, so is the reduced cost of what it uses
        in_use |= reduced_costs * region.to_pairs(total) <= SETTLED * point.t
        usable_pairs = region.exists & in_use
        try:
            for _ in range(projections):
                sharp = _projected(
                    problem, replace(point, p=p), usable_pairs, tight_capacities, tight_rows
                )
                # what is hardly used, and what no prices make free, is not used: the dearest first
                costs = region.reduced_costs(sharp.p, problem.sum_by_user(sharp.v))
                is_dear = usable_pairs & (costs > SETTLED * _CLEAR_PAIR * region.to_pairs(worth))
                dearness = np.where(is_dear, costs / (part_of_user * region.to_pairs(worth)), 0.0)
                is_dear &= dearness >= _DEAREST * max(dearness.max(), 1.0)
                if not is_dear.any():
                    break
                usable_pairs = usable_pairs & ~is_dear
        except NotConvergedError:
            return None
        return sharp


def _change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the factors by which a step changed positive numbers; 1 for others."""
    is_positive = (before > 0) & (after > 0)
    factors: np.ndarray = np.divide(after, before, out=np.ones_like(after), where=is_positive)
    return factors


def _projected(
    problem: Problem,
    point: Variables,
    usable_pairs: np.ndarray,
    tight_capacities: np.ndarray,
    tight_rows: np.ndarray,
) -> Variables:
    """Return the point of a face nearest to an optimum, tight where the face is.

    Two projections with one Cholesky factor: of tasks, which move in proportion to their size, so
    that positive ones stay positive; and of prices, so that reduced costs of pairs in use are 0.
    """
    region = problem.region
    rows = problem.rows
    face = problem.face
    all_rows = np.ones_like(tight_rows)
    no_changes = ProductChanges(
        np.zeros_like(point.x), np.zeros_like(point.s), np.zeros_like(point.u)
    )
    on_face = Problem(
        replace(region, allowed=usable_pairs),
        rows,
        Face(tight_capacities, all_rows, point.x, point.s),
    )
    iterate = Iterate(
        on_face,
        Variables(
            x=np.where(usable_pairs, point.x, ABSENT),
            s=np.where(tight_capacities, 0.0, 1.0),
            u=no_changes.uv,
            z=_MOVES + no_changes.xz,
            p=_STILL + no_changes.sp,
            v=all_rows + 0.0,
        ),
    )
    iterate.factor()

    # Tasks and the level, so that tight capacities and tight rows are so.
    x = np.where(usable_pairs, point.x, 0.0)
    room = np.where(tight_rows, 0.0, point.u)
    remaining_capacity = region.capacities - region.usage(x)
    iterate.capacity_residual = np.where(tight_capacities, remaining_capacity, 0.0)
    iterate.row_residual = region.totals(x)[rows.user] - rows.bound - rows.slope * point.t - room
    iterate.level_residual = 0.0
    direction = iterate.direction(no_changes, 0.0, with_residuals=True)
    x = np.maximum(x + np.where(usable_pairs, direction.x, 0.0), 0.0)
    t = point.t + direction.t

    # Prices and values, so that reduced costs of usable pairs are 0.
    costs = region.reduced_costs(point.p, problem.sum_by_user(point.v))
    costs = np.where(usable_pairs, costs, 0.0)
    iterate.capacity_residual = no_changes.sp
    iterate.row_residual = no_changes.uv
    iterate.level_residual = 1.0 - float(rows.slope @ point.v)
    changes = replace(no_changes, xz=-costs * iterate.point.x)
    direction = iterate.direction(changes, 0.0, with_residuals=True)
    p = point.p + np.where(tight_capacities, direction.p, 0.0)
    v = point.v + direction.v
    # a user with a price pays for every pair that it uses: its value is of the size of its costs,
    # or it is rounding
    highest_cost = region.highest_costs(abs(p))[rows.user]
    v = np.where((highest_cost > 0) & (abs(v) > NOISE * highest_cost), v, 0.0)
    is_free_price = False if face is None else face.tight_capacities
    is_free_value = False if face is None else face.tight_rows
    p = np.where(is_free_price, p, np.maximum(p, 0.0))
    v = np.where(is_free_value, v, np.maximum(v, 0.0))

    # What follows from these.
    s = np.where(tight_capacities, 0.0, region.capacities - region.usage(x))
    u = region.totals(x)[rows.user] - rows.bound - rows.slope * t
    u = np.where(tight_rows, 0.0, u)
    z = np.maximum(region.reduced_costs(p, problem.sum_by_user(v)), 0.0)
    z = np.where(usable_pairs, 0.0, z)
    return Variables(x, s, u, z, p, v, t)


def decisions_of(
    structure: Structure, point: Variables, sharp: Variables, earlier: Decisions | None
) -> Decisions | None:
    """Return the decisions of this optimum and of earlier rounds; None where it decides nothing.

    It decides nothing where it stops no user, or where its duals prove nothing.
    ``sharp`` is the optimum moved onto its face, or the point itself where it could not be.
    """
    region = structure.problem.region
    rows = structure.problem.rows
    blocked = (rows.slope > 0) & (sharp.v > 0)
    if sharp is point or not blocked.any():
        return None
    duals = _whole_duals(structure, sharp, earlier)
    if duals is None:
        return None
    usable_pairs = region.exists & (sharp.z == 0)
    tight_capacities = region.is_demanded & (sharp.s == 0)
    is_clear = has_clear_price(structure.problem, point)
    total = _totals(region, sharp)[rows.user]
    is_clear &= total - rows.bound - rows.slope * sharp.t <= AGREEMENT * total
    tight_rows = is_clear & (blocked | (rows.slope == 0))

    new_capacities = tight_capacities
    rounds: tuple[RoundDecision, ...] = ()
    if earlier is not None:
        new_capacities = tight_capacities & ~earlier.tight_capacities
        rounds = earlier.rounds
    decision = RoundDecision(region.exists & ~usable_pairs, new_capacities, tight_rows, *duals)
    if earlier is not None:
        tight_rows = tight_rows | earlier.tight_rows
    # the next round starts where its equalities hold to the last digit
    x = np.where(sharp.x > 0, sharp.x, point.x)
    s = np.where(sharp.s > 0, sharp.s, point.s)
    return Decisions(usable_pairs, tight_capacities, tight_rows, blocked, x, s, (*rounds, decision))


def has_clear_price(problem: Problem, point: Variables) -> np.ndarray:
    """Whether the price of each row is so far above its room that its user stops; shape (J,)."""
    price, room = _price_and_room(problem.rows, point, _totals(problem.region, point))
    return np.asarray(price > _CLEAR_USER * room)


def tells_its_face(problem: Problem, point: Variables, sharp: Variables) -> bool:
    """Whether a point that was moved onto its face is an optimum, and clearly tells who stops."""
    iterate = Iterate(problem, replace(sharp))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        iterate.measure()
        stops = (problem.rows.slope > 0) & (sharp.v > 0)
        is_clear = has_clear_price(problem, point)
    is_within = (sharp.s >= -SETTLED * problem.region.capacities).all() and (
        sharp.u >= -SETTLED * _totals(problem.region, sharp)[problem.rows.user]
    ).all()
    return bool(iterate.error <= SETTLED and is_within and is_clear[stops].all())


def _totals(region: PlacedRegion, point: Variables) -> np.ndarray:
    """Return each user's tasks at a point, on the pairs that exist; shape (N,)."""
    return region.totals(np.where(region.exists, point.x, 0.0))


def _price_and_room(
    rows: UserRows, point: Variables, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the worth of each row, and its room as a part of its user's tasks; shapes (J,)."""
    total_of_row = total[rows.user]
    price = np.where(rows.slope > 0, rows.slope, total_of_row) * point.v
    return price, point.u / total_of_row


def _one_floor_each(rows: UserRows, users: int) -> bool:
    """Whether every user has one row, a lower bound."""
    return len(np.unique(rows.user)) == len(rows.user) == users and not (rows.sign > 0).any()


def _whole_duals(
    structure: Structure, point: Variables, earlier: Decisions | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return duals of capacities and rows for the round's whole program; None where there are none.

    Those of the face may be negative where it holds with equality. From the last round to the
    first, the duals of the round are added in the smallest multiple that makes the signs right
    where it decided something.
    """
    problem = structure.problem
    region = structure.problem.region
    prices = point.p
    values = point.v
    for decision in reversed(earlier.rounds if earlier is not None else ()):
        costs = region.reduced_costs(prices, problem.sum_by_user(values))
        earlier_costs = region.reduced_costs(decision.prices, problem.sum_by_user(decision.values))
        multiple = 0.0
        for dual, earlier_dual, decided in (
            (prices, decision.prices, decision.tight_capacities),
            (values, decision.values, decision.tight_rows),
            (costs, earlier_costs, decision.unused_pairs),
        ):
            is_wrong = decided & (dual < 0)
            if is_wrong.any():
                if (earlier_dual[is_wrong] <= 0).any():
                    return None
                needed = float((-dual[is_wrong] / earlier_dual[is_wrong]).max())
                multiple = max(multiple, needed)
        prices = prices + _AMPLE * multiple * decision.prices
        values = values + _AMPLE * multiple * decision.values
    # earlier prices of users who still grow were small, but not nothing
    price_of_level = float(problem.rows.slope @ values)
    if not price_of_level > 0:
        return None
    return np.maximum(prices, 0.0) / price_of_level, values / price_of_level


def next_program(structure: Structure, point: Variables, decisions: Decisions) -> Program | None:
    """Return the next round's program; None where all users are blocked."""
    program = structure.program
    places = structure.places
    is_growing = structure.problem.rows.slope > 0
    stops = is_growing & decisions.blocked
    if (stops == is_growing).all():
        return None
    stopped_rows = places.row[stops]
    A = program.A.tocsc(copy=True)
    floors = program.row_lower.copy()
    first_entry = A.indptr[places.level]
    end = A.indptr[places.level + 1]
    level_coefficients = dense_column(program, places.level)
    floors[stopped_rows] -= level_coefficients[stopped_rows] * (point.t / structure.level_unit)
    A.data[first_entry:end][np.isin(A.indices[first_entry:end], stopped_rows)] = 0.0
    return program.replace(A=A, row_lower=floors)


def structure_on_face(whole: Structure, program: Program, decisions: Decisions) -> Structure | None:
    """Return the structure of the next round's program on the face; None where it has another.

    ``whole`` is that of an earlier round, without a face.
    """
    structure = whole.with_levels_of(program)
    if structure is None:
        return None
    problem = structure.problem
    region = structure.problem.region
    rows = structure.problem.rows
    if region.exists.shape != decisions.usable_pairs.shape:
        return None
    if len(rows.user) != len(decisions.tight_rows) or not _one_floor_each(rows, region.shape[1]):
        return None
    # users at a task limit have a floor that is lower than what they have: it stays a bound
    tight_rows = (rows.slope == 0) & decisions.tight_rows
    s = np.where(decisions.tight_capacities, 0.0, decisions.s)
    face = Face(decisions.tight_capacities, tight_rows, decisions.x, s)
    region = replace(region, allowed=decisions.usable_pairs)
    return replace(structure, problem=replace(problem, region=region, face=face))


def with_whole_duals(
    structure: Structure, point: Variables, decisions: Decisions
) -> Variables | None:
    """Return the point with prices for the whole program; None where there are none."""
    duals = _whole_duals(structure, point, decisions)
    if duals is None:
        return None
    problem = structure.problem
    prices, values = duals
    costs = problem.region.reduced_costs(prices, problem.sum_by_user(values))
    return replace(point, p=prices, v=values, z=np.maximum(costs, 0.0))
