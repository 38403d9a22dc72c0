"""The interior-point method as a back end: programs of users who share servers; HiGHS solves all others."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from ...errors import NotConvergedError
from ...models.programs.backends import solve_on
from ...models.programs.program import Program
from ...models.programs.solution import Capability, Options, Solution, Termination
from ...tolerances import BLOCKED_PRICE, INTERIOR_ACCEPTED, INTERIOR_AIM, SAME_LEVEL, VERIFIED
from ..backends.base import BaseBackend, Change, ProgramSession, reduced_costs
from ..backends.highs import Highs
from . import INTERIOR, method, sifting
from .face import Known, expected, known, lifted, on_face, settled
from .iterate import Step
from .polishing import polished
from .pricing import PricingSession
from .structure import Structure

#: A price is clear when it is that many times the largest that somebody who can be raised could have.
_CLEAR = 100.0
#: From so many pairs on a vertex takes minutes: levels that rounding leaves uncertain are accepted, with a note.
MANY_PAIRS = 100_000
#: In a series, terms of the next program are so near that its optimum is found from the last one's: α differs by this
#: factor at most (measured: ``benchmarks/frontier.py --series``; by more, the start fails now and then).
_APART = 1.75


class InteriorPoint(BaseBackend):
    """Our own method where the program has the structure that it lives from, and HiGHS elsewhere; answers say which.

    Parameters
    ----------
    name : str
    vertex : bool
        End at a vertex of the linear program: few servers a user, a basis, and the last digits.
    """

    capabilities = frozenset({Capability.LP, Capability.LOG, Capability.POWER, Capability.DUALS})
    package = "scipy"
    install = "pip install scipy"
    honours = frozenset({"time_limit", "threads", "device"})

    def __init__(self, name: str = INTERIOR, vertex: bool = False) -> None:
        self.name, self.vertex = name, vertex

    def version(self) -> str:
        """Return the version of fairlp, whose own it is."""
        return importlib.metadata.version("fairlp")

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve one program."""
        self.refuse_unsupported(program, options)
        return self.interior(program, options)[0]

    def interior(
        self, program: Program, options: Options, near: Near | None = None
    ) -> tuple[Solution, tuple[Structure, Step] | None]:
        """Solve one program; return the answer, and the structure and the point where interior points gave it."""
        begin = perf_counter()
        structure = Structure.of(program)
        reason = "these are not users who share servers"
        if structure is not None:
            try:
                solution, at = self._solve(structure, options, begin, near)
                if self.vertex and program.logs is None and solution.status.is_optimal:
                    ended = on_columns(program, options, solution).solve()
                    iterations = {**solution.iterations, **ended.iterations}
                    solution = replace(ended, solver=self.name, iterations=iterations, method="interior point, vertex")
                return solution, None if at is None else (structure, at)
            except NotConvergedError as error:
                reason = str(error)
        left = None if options.time_limit is None else max(options.time_limit - (perf_counter() - begin), 0.0)
        try:
            solution = solve_on(Highs(), program, replace(options, time_limit=left, device=None))
        except NotConvergedError as error:
            words = (
                "nor did HiGHS with tangents; try solver='cvxpy:CLARABEL', or weights and powers that are less apart"
            )
            raise NotConvergedError(f"{self.name} did not solve {program.name!r}: {reason}, {words}") from error
        status = replace(solution.status, message=f"{solution.status.message} (by HiGHS: {reason})")
        return replace(solution, solver=self.name, status=status, method=f"HiGHS, {solution.method}"), None

    def session(self, program: Program, options: Options) -> InteriorPointSession:
        """Load a program for a series of solves."""
        return InteriorPointSession(self, program, options)

    def _solve(
        self, structure: Structure, options: Options, begin: float, near: Near | None
    ) -> tuple[Solution, Step | None]:
        program = structure.program
        passed = perf_counter()
        deadline = np.inf if options.time_limit is None else begin + options.time_limit
        series = None if structure.problem.has_level else _SERIES.get()
        point = solve_near(structure, near if series is None else series.near(structure), deadline, options)
        if series is not None and point is not None:
            series.keep(structure, point)
        solved = perf_counter()
        seconds = {"pass": passed - begin, "solve": solved - passed}
        if point is None:
            words = f"a time limit of {options.time_limit:g} s was reached"
            none = Solution.of_point(program, Termination.TIME_LIMIT, words, self.name, None, None, None, times=seconds)
            return none, None
        return self.answer(structure, point.at, point, seconds), point.at if point.inside else None

    def answer(self, structure: Structure, at: Step, point: method.Point, seconds: dict[str, float]) -> Solution:
        """Return the certified answer at a point; raise where it is not proved."""
        program, solved = structure.program, perf_counter()
        inside = structure.vectors(at)
        columns, duals = polished(program, *inside)
        solution = Solution.of_point(
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
        # on a face, what frozen users have is in the terms of the objective: a gap beside those says little
        beside = certificate.objective_gap if structure.problem.face is not None else None
        rough = point.error > INTERIOR_ACCEPTED and (certificate.gap or 0.0) > INTERIOR_ACCEPTED
        accepted = INTERIOR_ACCEPTED if program.n_columns < MANY_PAIRS else VERIFIED
        if not certificate.is_optimal or (beside or 0.0) > accepted or rough:
            raise NotConvergedError(f"the interior-point method's answer is not proved: {certificate}")
        return solution


@dataclass(frozen=True)
class Near:
    """A point of a program, its optimum or inside on the way there, and the unit of its level."""

    point: method.Point
    unit: float

    def of(self, structure: Structure) -> method.Point | None:
        """Return the point in the units of a program with other rows on its users; None where they are not the same."""
        at, region = self.point.at, structure.problem.region
        if at.x.shape != region.there.shape or at.v.shape != structure.row_unit.shape:
            return None
        return replace(self.point, at=replace(at, t=at.t * (structure.level_unit / self.unit)))


@dataclass
class Series:
    """What the last program of terms left to start from, and how steep its terms were."""

    last: Near | None = None
    alpha: float = 1.0

    def near(self, structure: Structure) -> Near | None:
        """Return what to start from, None where terms are far from the last ones."""
        apart = _steepest(structure) / self.alpha
        return self.last if 1 / _APART <= apart <= _APART else None

    def keep(self, structure: Structure, point: method.Point) -> None:
        """Keep the point on the way, for the next program."""
        early, self.alpha = point.early, _steepest(structure)
        self.last = None if early is None else Near(replace(point, at=early, early=None), structure.level_unit)


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


def solve_near(structure: Structure, near: Near | None, deadline: float, options: Options) -> method.Point | None:
    """Return the optimum, found from a point near it where there is one and that leads there."""
    start = None if near is None else near.of(structure)
    if start is not None:
        with suppress(NotConvergedError):
            point = method.solve(structure.problem, deadline, options.threads or 1, start.at, device=options.device)
            if point is None or point.error <= method.NEARLY * INTERIOR_AIM:
                return point
    if options.device is None and sifting.suits(structure.problem):
        with suppress(NotConvergedError):
            return sifting.sifted(structure.problem, deadline, options.threads or 1)
    return method.solve(structure.problem, deadline, options.threads or 1, device=options.device)


class InteriorPointSession(ProgramSession):
    """A series of solves: by interior points while those tell all that a leximin asks, then on the columns that matter.

    Where somebody can still be raised, another round follows: on the optimal face of this one (:mod:`.face`) where the
    interior optimum tells clearly what that is. Elsewhere it depends on the last digits: a vertex is found, and the
    rounds go on from there.
    """

    backend: InteriorPoint

    def __init__(self, backend: InteriorPoint, program: Program, options: Options) -> None:
        super().__init__(backend, program, options)
        self.last: Solution | None = None
        self.part: PricingSession | None = None
        self.ended: tuple[Structure, Step] | None = None
        self.decided: Known | None = None
        self.tried: Near | None = None
        self.near: Near | None = None

    def apply(self, change: Change) -> None:
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

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Whether somebody's row has no clear price in an interior point."""
        if self.part is not None or _prices_all(solution, gap):
            return False
        decided = None if self.ended is None else known(*self.ended, self.decided)
        if decided is None or self.ended is None:
            return True
        ahead = expected(*self.ended, decided)
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
        structure = Structure.of(self.program) if self.decided is None else on_face(self.program, self.decided)
        if structure is None or not structure.problem.has_level:
            return None
        start = None if self.near is None else self.near.of(structure)
        at, threads, device = None if start is None else start.at, self.options.threads or 1, self.options.device
        try:
            point = method.solve(structure.problem, self._deadline(), threads, at, gap, device)
        except NotConvergedError:
            point = None
        if point is None:
            self.near = None
            return None
        self.near = Near(point, structure.level_unit)
        return float(structure.vectors(point.at)[0][structure.places.level]) * (1 - SAME_LEVEL)

    def solve(self) -> Solution:
        """Solve what is loaded now."""
        if self.part is not None:
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
            solution, self.ended = self.backend.interior(self.program, self.options, self.near)
        self.last = solution if solution.status.is_optimal else None
        return solution

    def _deadline(self) -> float:
        """Return the clock's time at which a solve that begins now has to end."""
        return np.inf if self.options.time_limit is None else perf_counter() + self.options.time_limit

    def _on_face(
        self, program: Program, decided: Known, tried: Near | None = None, near: Near | None = None
    ) -> tuple[Solution, tuple[Structure, Step]] | None:
        """Solve on the optimal face of the rounds before, or see whether a point does; None where nothing is proved."""
        begin = perf_counter()
        structure = on_face(program, decided)
        if structure is None:
            return None
        try:
            if tried is None:
                point = solve_near(structure, near, self._deadline(), self.options)
            elif (point := tried.of(structure)) is not None:
                point = replace(point, at=settled(structure, point.at))
            whole = None if point is None else lifted(structure, point.at, decided)
            if point is None or whole is None:
                return None
            self.tried = Near(point, structure.level_unit)
            solution = self.backend.answer(structure, whole, point, {"solve": perf_counter() - begin})
        except NotConvergedError:
            return None
        return solution, (structure, point.at)


def on_columns(program: Program, options: Options, near: Solution) -> PricingSession:
    """Return a session that begins at an interior optimum and ends at vertices."""
    highs = Highs()
    return PricingSession(highs, program, replace(options, threads=None, device=None).tightened(highs), near)


def _prices_all(solution: Solution, gap: float) -> bool:
    """Whether every row with the level has so clear a price that nobody in it can be raised by ``SAME_LEVEL``.

    All products are gap / terms at an interior point, so that the price of a row that can be raised by that fraction of
    the level is at most gap / (terms · SAME_LEVEL), when the prices, per unit of the level, sum to 1.
    """
    program = solution.program
    level = np.flatnonzero(program.c)
    if len(level) != 1 or program.logs is not None or solution.row_duals is None:
        return True
    column = program.A[:, level].tocoo()
    column.eliminate_zeros()
    prices = abs(column.data * solution.row_duals[column.row])
    least = gap / SAME_LEVEL / (program.n_rows + program.n_columns)
    return bool((prices > max(_CLEAR * least, BLOCKED_PRICE * prices.max(initial=0.0))).all())
