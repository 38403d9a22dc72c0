"""The interior-point method as a back end: programs of users who share servers; HiGHS solves all others.

Sifting. A vertex uses at most as many pairs as there are users and resources of servers; an
interior point uses all. From 150,000 pairs on, where everybody demands everything and may run
everywhere (so that one round decides), the method stops at a rough point of all pairs. It goes on
with the fifth of the users of every server that are of least cost above worth, and from a better
point with the twentieth, at a fraction of the cost. Both are left alone where few pairs have too
little of what is given out. The prices of the end bound the level of all pairs, each user's value
lowered to its lowest cost. Pairs that are worth more than they cost come in, the worst of every
server, until that bound is as tight as any optimum's. 1,000 × 1,000 takes less than half of the
time so.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import scipy.sparse as sp

from ...errors import NotConvergedError
from ...models.programs.backends import solve_on
from ...models.programs.certificate import Certificate, certify
from ...models.programs.options import Options
from ...models.programs.program import LogTerms, Program
from ...models.programs.protocols import Capability
from ...models.programs.solution import Solution, solution_at
from ...models.programs.status import Termination
from ...tolerances import (
    ACCEPTED,
    AGREEMENT,
    BLOCKED_PRICE,
    INTERIOR_EARLY,
    INTERIOR_ROUGH,
    SETTLED,
    SOLVER_TIGHTEST,
)
from ..backends.base import BaseBackend, ProgramChange, ProgramSession, reduced_costs
from ..backends.highs import Highs
from . import INTERIOR, method
from .face import Decided, expected, known, lifted, on_face, sharpened
from .iterate import ABSENT, Problem, Step
from .pricing import PricingSession
from .region import Region, places
from .structure import Structure

# Sifting (Bixby et al., 1992): where there are very many pairs, the optimum of few of them, proved
# for all.

#: From so many pairs on it is quicker. The parts of the users that every server keeps, at least so
#: many for each resource, and the servers that every user keeps; the part of what is given out that
#: they must have at least; how often pairs come in, at most.
MANY, _PARTS, _LEAST, _SERVERS, _COVERED, _ROUNDS = 150_000, (0.2, 0.05), 16, 4, 0.7, 4
#: A start on few pairs: what values that are above their lowest cost become, as a part of it; how
#: often tasks are brought to what users had and servers gave out, by a factor of at most so much;
#: t, as a part of the smallest level.
_BELOW, _BALANCED, _MORE, _NEAR = 0.99, 4, 4.0, 0.95


def suits(problem: Problem) -> bool:
    """Whether there are so many pairs, and one round decides: everybody demands everything, and may run everywhere."""
    region = problem.region
    everywhere = region.allowed is None and region.user is None and region.contribution is None
    everybody = everywhere and problem.face is None and problem.has_level
    return bool(everybody and region.pairs >= MANY and (region.demands > 0).all())


def sifted(problem: Problem, deadline: float, threads: int) -> method.FinalPoint | None:
    """Return the optimum; what is not kept is 0 there. None when the deadline comes first."""
    point = method.solve(problem, deadline, threads, within=INTERIOR_EARLY[0])
    if point is None:
        return None
    try:
        return _sifted(problem, point, deadline, threads)
    except NotConvergedError:  # too few for some user or server, or most pairs came in
        return method.solve(problem, deadline, threads, point.at)


def _sifted(
    problem: Problem, point: method.FinalPoint, deadline: float, threads: int
) -> method.FinalPoint | None:
    """Go on from a point of all pairs with fewer and fewer of them."""
    region, kept, at, steps = problem.region, problem.region.there, point.at, point.iterations
    for part, within in zip(_PARTS, (*INTERIOR_EARLY[1:], 0.0), strict=True):
        begin, each = at, max(int(part * region.shape[1]), _LEAST * region.shape[2])
        measure = np.where(kept, begin.z / region.costs(begin.p), np.inf)
        kept = kept & (_least(measure, each) | _least(measure.T, _SERVERS).T)
        for _ in range(_ROUNDS):
            few = _restricted(problem, kept)
            found = method.solve(few, deadline, threads, _start(problem, begin, few), within)
            if found is None:
                return None
            at, steps = _all_pairs(problem, few.region, found.at), steps + found.iterations
            if within:
                break
            gap = _missing(problem, at)
            if gap <= method.NEARLY * SETTLED:
                return method.FinalPoint(
                    replace(at, z=np.maximum(at.z, 0.0)), max(found.error, gap), steps
                )
            above = np.where(kept, np.inf, at.z / region.costs(at.p))
            kept = kept | (_least(above, max(each // 3, 1)) & (above < 0))
    raise NotConvergedError(f"pairs came in for {_ROUNDS} rounds and more")


def _least(measure: np.ndarray, each: int) -> np.ndarray:
    """Return where each row has its so many smallest elements; bool."""
    found = np.zeros(measure.shape, dtype=bool)
    each = min(each, measure.shape[1])
    np.put_along_axis(found, np.argpartition(measure, each - 1, axis=1)[:, :each], True, axis=1)
    return found


def _restricted(problem: Problem, kept: np.ndarray) -> Problem:
    """Return the problem with these pairs only; raise where they are not few."""
    whole, user = problem.region, places(kept)
    if user is None:
        raise NotConvergedError("most pairs came in")
    there = np.take_along_axis(kept, user, axis=1)
    return Problem(
        Region(whole.demands, whole.capacities, None if there.all() else there, user=user),
        problem.rows,
    )


def _all_pairs(problem: Problem, part: Region, at: Step) -> Step:
    """Return a point of a part of the pairs as one of all pairs; z is below 0 where a value is above a cost."""
    assert part.user is not None
    x = np.zeros(problem.region.shape[:2])
    np.put_along_axis(x, part.user, np.where(part.there, at.x, 0.0), axis=1)
    return replace(
        at, x=x, z=problem.region.priced(at.p, problem.by_user(-problem.rows.sign * at.v))
    )


def _start(problem: Problem, at: Step, few: Problem) -> Step:
    """Return a point on few pairs where users have what they have at a point of all, as far as servers allow it.

    Users' values are lowered to what their pairs cost, and pairs that were not used are as central
    as the others.
    """
    part, rows, total = few.region, few.rows, problem.region.totals(at.x)
    assert part.user is not None
    x = np.where(part.there, np.take_along_axis(at.x, part.user, axis=1), 0.0)
    if part.given(x).sum() < _COVERED * (part.capacities - at.s).sum():
        raise NotConvergedError("few pairs are not enough")
    mean = float(np.vdot(at.x, np.maximum(at.z, 0.0))) / at.x.size
    lowered = _lowered(few, np.take_along_axis(at.z, part.user, axis=1), at.v)
    v = at.v * few.of_users(np.where(lowered > 0, _BELOW * (1.0 - lowered), 1.0))
    z = part.priced(at.p, few.by_user(-rows.sign * v))
    x = np.where(part.there & (x <= 0), mean / z, x)
    for _ in range(_BALANCED):
        x *= part.at_pairs(np.minimum(total / part.totals(x), _MORE))
        with np.errstate(divide="ignore"):
            x *= np.minimum(((part.capacities - at.s) / part.given(x)).min(axis=1), 1.0)[:, None]
    own, growing = few.of_users(part.totals(x)), rows.slope > 0
    t = min(at.t, _NEAR * float(((own - rows.bound)[growing] / rows.slope[growing]).min()))
    x, z = np.where(part.there, x, ABSENT), np.where(part.there, z, 1.0)
    return replace(at, x=x, s=part.capacities - part.given(x), z=z, v=v, t=t)


def _lowered(problem: Problem, dear: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the parts of users' values by which they are above the lowest costs."""
    worth = problem.by_user(-problem.rows.sign * v)
    lower = np.maximum(-problem.region.lowest(dear), 0.0)
    parts: np.ndarray = np.minimum(
        np.divide(lower, worth, out=np.ones_like(worth), where=worth > 0), 1.0
    )
    return parts


def _missing(problem: Problem, at: Step) -> float:
    """Return the gap to the bound for all pairs: users' values are lowered to their lowest costs."""
    kept = problem.of_users(1.0 - _lowered(problem, at.z, at.v))
    return float(max(1.0 - problem.rows.slope @ (at.v * kept), 0.0))


# The last digits of a concave optimum: Newton's method on the columns in use and the rows that are
# full.

#: A point that is not sharpened is taken where its gap is less by this factor: its rows hold less
#: exactly.
_LESS_SHARP = 10.0
#: More unknowns than that are left as they are: least squares cost their cube.
MOST_UNKNOWNS = 600
#: Newton's steps.
_STEPS = 8


def polished(program: Program, x: np.ndarray, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return point and duals to the last digits where those in reach have fewer, and as they are elsewhere.

    Parameters
    ----------
    program : Program
        A maximum of logarithms and powers of columns of their own, all at least 0, with rows ``≤``
        only; others are left as they are.
    x, duals : ndarray
        Near the optimum; duals ∂objective/∂right-hand side.
    """
    from threadpoolctl import threadpool_limits

    logs = program.logs
    if logs is None or not _suits(program, logs) or not (logs.arguments(x) > 0).all():
        return x, duals
    # what is beyond floats is nobody's optimum: it is left as it was
    with threadpool_limits(1), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = _newton(_System(program, logs), x, duals)
    if found is None:
        return x, duals
    before, after = certify(program, x, duals), certify(program, *found)
    better = after.is_optimal and max(after.gap or 0.0, after.dual_residual or 0.0) <= (
        before.gap or 0.0
    )
    return found if better else (x, duals)


def _newton(
    system: _System, x: np.ndarray, duals: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return point and duals by Newton's method; None where all is clear, or nothing was found."""
    prices = system.with_limits(x, duals)
    told = system.told(x, prices)
    if told is None or sum(len(some) for some in told) > MOST_UNKNOWNS:
        return None
    found = system.solve(*told, x, prices)
    if found is None:
        return None
    return np.maximum(found[0], 0.0), np.maximum(found[1][: len(duals)], 0.0)


def _suits(program: Program, logs: LogTerms) -> bool:
    """Whether it is a maximum of increasing functions of columns of their own, with nothing but upper bounds."""
    plain = program.sense == "max" and not program.c.any() and not logs.constant.any()
    own = (
        len(np.unique(logs.A.indices)) == logs.A.nnz
        and (logs.A.data > 0).all()
        and (logs.weights > 0).all()
    )
    bounds = not program.col_lower.any() and not np.isfinite(program.row_lower).any()
    # nobody runs where something is lacking: those columns are fixed at 0, or not there
    lacking = program.A[np.flatnonzero(program.row_upper <= 0)]
    return bool(
        plain and own and bounds and not lacking[:, np.flatnonzero(program.col_upper > 0)].nnz
    )


@dataclass(frozen=True)
class _Units:
    """At a point: the gradient; what a column's user has, in its terms; the price of a row that takes all the worth."""

    gradient: np.ndarray
    column: np.ndarray
    price: np.ndarray


class _System:
    """The conditions of the optimum, each in units of its own; columns that stand in the objective, limits as rows."""

    def __init__(self, program: Program, logs: LogTerms) -> None:
        self.logs, self.columns = logs, program.n_columns
        self.kept = np.unique(logs.A.indices[program.col_upper[logs.A.indices] > 0])
        self.limited = np.flatnonzero(np.isfinite(program.col_upper[self.kept]))
        limits = sp.eye_array(len(self.kept), format="csr")[self.limited]
        some = np.isfinite(program.row_upper) & (program.row_upper > 0)
        self.finite = np.concatenate([some, np.ones(len(self.limited), dtype=bool)])
        self.A = sp.vstack([program.A[:, self.kept], limits], format="csr")
        upper = np.concatenate([program.row_upper, program.col_upper[self.kept[self.limited]]])
        self.bound = np.where(self.finite, upper, 1.0)
        self.L = logs.A[:, self.kept].tocsc()

    def with_limits(self, x: np.ndarray, duals: np.ndarray) -> np.ndarray:
        """Return the prices of the rows, and of limits: what their columns gain beyond what they cost."""
        gain = self.units(x).gradient - self.A[: len(duals)].T @ duals
        return np.concatenate([duals, np.maximum(gain[self.limited], 0.0)])

    def units(self, x: np.ndarray) -> _Units:
        """Return the units at a point."""
        z = self.logs.arguments(x)
        slope = self.logs.slopes(z)
        return _Units(self.L.T @ slope, 1.0 / (self.L.T @ (1.0 / z)), float(slope @ z) / self.bound)

    def told(self, x: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return which columns are in use and which rows are full, by a point nearby; None where all is clear.

        A column is in use when it is more of its user than it loses; a row is full when its price
        exceeds its slack.
        """
        units = self.units(x)
        part, loss = x[self.kept] / units.column, abs((self.A.T @ prices) / units.gradient - 1.0)
        slack = np.where(self.finite, abs(1.0 - (self.A @ x[self.kept]) / self.bound), 1.0)
        worth = prices / units.price
        unclear = np.concatenate([np.minimum(part, loss), np.minimum(slack, worth)])
        if unclear.max(initial=0.0) <= SOLVER_TIGHTEST:
            return None
        return np.flatnonzero(part > loss), np.flatnonzero(worth > slack)

    def solve(
        self, used: np.ndarray, full: np.ndarray, x: np.ndarray, prices: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a point and prices where what is used is stationary and what is full is; None where Newton fails."""
        from scipy.linalg import lstsq

        columns, rows = self.kept[used], self.A[full][:, used].toarray()
        at, costs = np.zeros(self.columns), np.zeros(len(prices))
        at[columns], costs[full] = x[columns], prices[full]
        best = np.inf
        for _ in range(_STEPS):
            if not (self.logs.arguments(at) > 0).all():
                return None
            units = self.units(at)
            gradient, unit, price = units.gradient[used], units.column[used], units.price[full]
            off = np.concatenate(
                [
                    (rows.T @ costs[full]) / gradient - 1.0,
                    1.0 - rows @ at[columns] / self.bound[full],
                ]
            )
            error = float(abs(off).max(initial=0.0))
            if error >= best / 2:
                break
            best = error
            across = -(rows * price[:, None]).T / gradient[:, None]
            down = rows * unit / self.bound[full][:, None]
            matrix = np.block(
                [[self._curved(at, used, units), across], [down, np.zeros((len(full), len(full)))]]
            )
            step = lstsq(matrix, off, cond=SETTLED, lapack_driver="gelsy", check_finite=False)[0]
            at[columns] += unit * step[: len(used)]
            costs[full] += price * step[len(used) :]
        return (at, costs) if best <= SETTLED else None

    def _curved(self, x: np.ndarray, used: np.ndarray, units: _Units) -> np.ndarray:
        """Return how the gradient changes with the columns, each in its unit."""
        z = self.logs.arguments(x)
        scaled = self.L[:, used].toarray() * units.column[used]
        curvature = -self.logs.alpha * self.logs.slopes(z) / z
        changes: np.ndarray = (
            (scaled.T * curvature) @ scaled / (units.gradient * units.column)[used][:, None]
        )
        return changes


#: A price is clear when it is that many times the largest that somebody who can be raised could
#: have.
_CLEAR = 100.0
#: In a series, terms of the next program are so near that its optimum is found from the last one's:
#: α differs by this factor at most (measured: ``benchmarks/frontier.py --series``; by more, the
#: start fails now and then).
_APART = 1.75


class InteriorPoint(BaseBackend):
    """Our own method where the program has the structure that it lives from, and HiGHS elsewhere; answers say which."""

    capabilities = frozenset({Capability.LP, Capability.LOG, Capability.POWER, Capability.DUALS})
    package = "scipy"
    install = "pip install scipy"
    honours = frozenset({"time_limit", "threads"})

    def __init__(self, name: str = INTERIOR) -> None:
        self.name = name

    def version(self) -> str:
        """Return the version of fairlp, whose own it is."""
        return importlib.metadata.version("fairlp")

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve one program."""
        self.refuse_unsupported(program, options)
        return self.interior(program, options)[0]

    def interior(
        self, program: Program, options: Options, near: Near | None = None
    ) -> tuple[Solution, tuple[Structure, method.FinalPoint] | None]:
        """Solve one program; return the answer, and the structure and the point where interior points gave it."""
        begin = perf_counter()
        structure = Structure.of(program)
        reason = "these are not users who share servers"
        if structure is not None:
            try:
                solution, point = self._solve(structure, options, begin, near)
                return solution, None if point is None else (structure, point)
            except NotConvergedError as error:
                reason = str(error)
        left = (
            None
            if options.time_limit is None
            else max(options.time_limit - (perf_counter() - begin), 0.0)
        )
        try:
            solution = solve_on(Highs(), program, replace(options, time_limit=left))
        except NotConvergedError as error:
            words = (
                "nor did HiGHS with tangents; try solver='cvxpy:CLARABEL', or weights and powers "
                "that are less apart"
            )
            raise NotConvergedError(
                f"{self.name} did not solve {program.name!r}: {reason}, {words}"
            ) from error
        status = replace(solution.status, message=f"{solution.status.message} (by HiGHS: {reason})")
        return replace(
            solution, solver=self.name, status=status, method=f"HiGHS, {solution.method}"
        ), None

    def session(self, program: Program, options: Options) -> InteriorPointSession:
        """Load a program for a series of solves."""
        return InteriorPointSession(self, program, options)

    def _solve(
        self, structure: Structure, options: Options, begin: float, near: Near | None
    ) -> tuple[Solution, method.FinalPoint | None]:
        program = structure.program
        passed = perf_counter()
        deadline = np.inf if options.time_limit is None else begin + options.time_limit
        series = None if structure.problem.has_level else _SERIES.get()
        point = solve_near(
            structure, near if series is None else series.near(structure), deadline, options
        )
        if series is not None and point is not None:
            series.keep(structure, point)
        solved = perf_counter()
        seconds = {"pass": passed - begin, "solve": solved - passed}
        if point is None:
            words = f"a time limit of {options.time_limit:g} s was reached"
            none = solution_at(
                program, Termination.TIME_LIMIT, words, self.name, None, None, None, times=seconds
            )
            return none, None
        solution, certificate = self.answer(structure, point.at, point, seconds)
        return solution, replace(point, gap=certificate.gap or 0.0)

    def answer(
        self, structure: Structure, at: Step, point: method.FinalPoint, seconds: dict[str, float]
    ) -> tuple[Solution, Certificate]:
        """Return the answer at a point, and its certificate; raise where it is not proved."""
        program, solved = structure.program, perf_counter()
        inside = structure.vectors(at)
        columns, duals = polished(program, *inside)
        solution = solution_at(
            program,
            Termination.OPTIMAL,
            f"relative error {point.error:.1e}{'' if columns is inside[0] else ', then Newton steps'}",
            self.name,
            columns,
            duals,
            reduced_costs(program, columns, duals),
            times={**seconds, "read": perf_counter() - solved},
            iterations={"interior point": point.iterations},
            method="interior point",
        )
        certificate = solution.verify()
        # on a face the prices of earlier rounds carry their gaps over: the rounds measure what that
        # does to levels
        on_face = structure.problem.face is not None
        proved = certificate.is_within(INTERIOR_ROUGH) if on_face else certificate.is_optimal
        carried = on_face and (certificate.objective_gap or 0.0) > INTERIOR_ROUGH
        rough = point.error > ACCEPTED and (certificate.gap or 0.0) > ACCEPTED
        if not proved or carried or rough:
            raise NotConvergedError(
                f"the interior-point method's answer is not proved: {certificate}"
            )
        return solution, certificate


@dataclass(frozen=True)
class Near:
    """A point of a program, its optimum or inside on the way there, and the unit of its level."""

    point: method.FinalPoint
    unit: float

    def of(self, structure: Structure) -> method.FinalPoint | None:
        """Return the point in the units of a program with other rows on its users; None where they are not the same."""
        at, region = self.point.at, structure.problem.region
        if at.x.shape != region.there.shape or at.v.shape != structure.row_unit.shape:
            return None
        sharp, unit = self.point.sharp, structure.level_unit / self.unit
        sharp = None if sharp is None else replace(sharp, t=sharp.t * unit)
        return replace(self.point, at=replace(at, t=at.t * unit), sharp=sharp)


@dataclass
class Series:
    """What the last program of terms left to start from, and how steep its terms were."""

    last: Near | None = None
    alpha: float = 1.0

    def near(self, structure: Structure) -> Near | None:
        """Return what to start from, None where terms are far from the last ones."""
        apart = _steepest(structure) / self.alpha
        return self.last if 1 / _APART <= apart <= _APART else None

    def keep(self, structure: Structure, point: method.FinalPoint) -> None:
        """Keep the point on the way, for the next program."""
        early, self.alpha = point.early, _steepest(structure)
        self.last = (
            None
            if early is None
            else Near(replace(point, at=early, early=None), structure.level_unit)
        )


def _steepest(structure: Structure) -> float:
    """Return the largest α of the terms."""
    rows = structure.problem.rows
    return float(rows.alpha[rows.weight > 0].max())


_SERIES: ContextVar[Series | None] = ContextVar("series", default=None)


@contextmanager
def in_series() -> Iterator[None]:
    """Start programs of logarithms and powers near the last one's optimum, where users and servers are the same."""
    token = _SERIES.set(Series())
    try:
        yield
    finally:
        _SERIES.reset(token)


def solve_near(
    structure: Structure, near: Near | None, deadline: float, options: Options
) -> method.FinalPoint | None:
    """Return the optimum, found from a point near it where there is one and that leads there."""
    start = None if near is None else near.of(structure)
    if start is not None:
        with suppress(NotConvergedError):
            point = method.solve(structure.problem, deadline, options.threads or 1, start.at)
            if point is None or point.error <= method.NEARLY * SETTLED:
                return point
    if suits(structure.problem):
        with suppress(NotConvergedError):
            return sifted(structure.problem, deadline, options.threads or 1)
    return method.solve(structure.problem, deadline, options.threads or 1)


class InteriorPointSession(ProgramSession):
    """A series of solves: by interior points while those tell all that a leximin asks, then on the columns that matter.

    Where somebody can still be raised, another round follows: on the optimal face of this one
    (:mod:`.face`) where the interior optimum tells clearly what that is. Elsewhere it depends on
    the last digits: a vertex is found, and the rounds go on from there.
    """

    backend: InteriorPoint

    def __init__(self, backend: InteriorPoint, program: Program, options: Options) -> None:
        super().__init__(backend, program, options)
        self.last: Solution | None = None
        self.part: PricingSession | None = None
        self.ended: tuple[Structure, Step, Step] | None = (
            None  # the last point, inside and sharpened
        )
        self.decided: Decided | None = None
        self.tried: Near | None = None
        self.near: Near | None = None

    def apply(self, change: ProgramChange) -> None:
        """Change the program, and the part of it that ends at vertices."""
        super().apply(change)
        if self.part is not None:
            self.part.apply(change)

    def restart(self, other_method: bool = False) -> None:
        """Go on from a vertex near the last answer; then begin afresh."""
        if self.part is not None:
            self.part.restart(other_method)
        elif self.last is not None:
            self.part, self.decided = on_columns(self.program, self.options, self.last), None
        self.near = None

    def proves(self, certificate: Certificate) -> bool:
        """Whether a certificate is good enough: on a face prices of earlier rounds carry their gaps over."""
        on_face = self.part is None and self.decided is not None
        return certificate.is_within(INTERIOR_ROUGH) if on_face else certificate.is_optimal

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Whether somebody's row has no clear price in an interior point."""
        if self.part is not None or _prices_all(solution, gap):
            return False
        decided = None if self.ended is None else known(*self.ended, self.decided)
        if decided is None or self.ended is None:
            return True
        ahead = expected(self.ended[0], self.ended[2], decided)
        # what is decided here is not taken back: the next round is tried before
        if ahead is not None and self._on_face(ahead, decided) is None:
            return True
        self.decided, self.near = decided, None
        return False

    def reaches(self, gap: float) -> float | None:
        """Return a level that can be had for sure: that of a point inside, on the way to the optimum."""
        if self.part is not None:
            return None
        if self.tried is not None and self.decided is not None:
            found = self._on_face(self.program, self.decided, self.tried)
            if found is not None and found[0].objective is not None:
                return found[0].objective
        self.tried = None
        structure = (
            Structure.of(self.program)
            if self.decided is None
            else on_face(self.program, self.decided)
        )
        if structure is None or not structure.problem.has_level:
            return None
        start = None if self.near is None else self.near.of(structure)
        at, threads = None if start is None else start.at, self.options.threads or 1
        try:
            point = method.solve(structure.problem, self._deadline(), threads, at, gap)
        except NotConvergedError:
            point = None
        if point is None:
            self.near = None
            return None
        self.near = Near(point, structure.level_unit)
        return float(structure.vectors(point.at)[0][structure.places.level]) * (1 - AGREEMENT)

    def solve(self) -> Solution:
        """Solve what is loaded now."""
        if self.part is not None:
            self.least_price = BLOCKED_PRICE
            return replace(self.part.solve(), solver=self.backend.name)
        if self.decided is not None:
            tried, self.tried = self.tried, None
            found = None if tried is None else self._on_face(self.program, self.decided, tried)
            found = found or self._on_face(self.program, self.decided, near=self.near)
            self.tried = None
            if found is None:
                self.restart()
                return self.solve()
            solution, self.ended = found
        else:
            begin, self.ended = perf_counter(), None
            solution, ended = self.backend.interior(self.program, self.options, self.near)
            if ended is not None:
                structure, point = ended
                sharp = point.at
                if not _prices_all(solution, point.gap):
                    point = replace(point, sharp=sharpened(structure.problem, point.at))
                    solution, sharp = self._sharpest(structure, point, None, begin)
                self.ended = structure, point.at, sharp
        self.last = solution if solution.status.is_optimal else None
        exact = self.ended is not None and self.ended[1] is not self.ended[2]
        self.least_price = 0.0 if exact else BLOCKED_PRICE  # where sharpened, rounding is 0
        return solution

    def _deadline(self) -> float:
        """Return the clock's time at which a solve that begins now has to end."""
        return (
            np.inf if self.options.time_limit is None else perf_counter() + self.options.time_limit
        )

    def _on_face(
        self,
        program: Program,
        decided: Decided,
        tried: Near | None = None,
        near: Near | None = None,
    ) -> tuple[Solution, tuple[Structure, Step, Step]] | None:
        """Solve on the optimal face of the rounds before, or see whether a point does; None where nothing is proved."""
        begin = perf_counter()
        structure = on_face(program, decided)
        if structure is None:
            return None
        try:
            if tried is None:
                point = solve_near(structure, near, self._deadline(), self.options)
                point = (
                    None
                    if point is None
                    else replace(point, sharp=sharpened(structure.problem, point.at))
                )
            else:
                point = tried.of(structure)
            if point is None:
                return None
            self.tried = Near(point, structure.level_unit)
            solution, sharp = self._sharpest(structure, point, decided, begin)
        except NotConvergedError:
            return None
        return solution, (structure, point.at, sharp)

    def _sharpest(
        self, structure: Structure, point: method.FinalPoint, decided: Decided | None, begin: float
    ) -> tuple[Solution, Step]:
        """Return the answer at a point or, with a smaller gap, where it is sharpened; raise where neither is proved."""
        found: list[tuple[float, Solution, Step]] = []
        reason = NotConvergedError("prices of earlier rounds are not enough")
        for at, doubt in ((point.sharp, 1.0), (point.at, _LESS_SHARP)):
            whole = at if at is None or decided is None else lifted(structure, at, decided)
            if at is None or whole is None:
                continue
            try:
                solution, certificate = self.backend.answer(
                    structure, whole, point, {"solve": perf_counter() - begin}
                )
            except NotConvergedError as error:
                reason = error
                continue
            found.append(((certificate.objective_gap or 0.0) * doubt, solution, at))
            if found[0][0] <= SETTLED:
                break
        if not found:
            raise reason
        return min(found, key=lambda one: one[0])[1:]


def on_columns(program: Program, options: Options, near: Solution) -> PricingSession:
    """Return a session that begins at an interior optimum and ends at vertices."""
    highs = Highs()
    return PricingSession(highs, program, replace(options, threads=None).tightened(highs), near)


def _prices_all(solution: Solution, gap: float) -> bool:
    """Whether every row with the level has so clear a price that nobody in it can be raised by ``AGREEMENT``.

    All products are gap / terms at an interior point, so that the price of a row that can be raised
    by that fraction of the level is at most gap / (terms · AGREEMENT), when the prices, per unit of
    the level, sum to 1.
    """
    program = solution.program
    level = np.flatnonzero(program.c)
    if len(level) != 1 or program.logs is not None or solution.row_duals is None:
        return True
    column = program.A[:, level].tocoo()
    column.eliminate_zeros()
    prices = abs(column.data * solution.row_duals[column.row])
    least = gap / AGREEMENT / (program.n_rows + program.n_columns)
    return bool((prices > max(_CLEAR * least, BLOCKED_PRICE * prices.max(initial=0.0))).all())
