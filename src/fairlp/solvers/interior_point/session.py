"""The rounds of a leximin by interior points, later ones on the optimal face of earlier ones."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotConvergedError
from ...models.programs.certificate import Certificate
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.solution import Solution
from ...models.programs.status import Termination
from ...tolerances import AGREEMENT, BLOCKED_PRICE, INTERIOR_ROUGH, SETTLED
from ..backends.base import ProgramChange, ProgramSession
from . import method
from .face import (
    MOST_PROJECTIONS,
    Decisions,
    decisions_of,
    next_program,
    sharpened,
    structure_on_face,
    tells_its_face,
    with_whole_duals,
)
from .face_vertices import FaceVertices, has_few_directions
from .pricing import PricingSession, on_columns
from .problem import Variables
from .structure import Structure
from .warm_starts import WarmStart, rough_near, solve_near

if TYPE_CHECKING:
    from .backend import InteriorPoint

#: A point that is not sharpened is taken where its gap is less by this factor: its rows hold less
#: exactly.
_LESS_SHARP = 10.0
#: Steps of the simplex method after which a program of so many columns is solved inside as a whole,
#: which takes seconds: a vertex may take minutes.
LARGE = 10_000
QUICK_STEPS = 5_000
#: A price is clear when it is that many times the largest that a user who can be raised could have.
_CLEAR = 100.0

#: The structure of a solved program, the last point inside, and the same sharpened.
_Solved = tuple[Structure, Variables, Variables]


class InteriorPointSession(ProgramSession):
    """A series of solves: by interior points while they prove all rounds, then at vertices.

    Where a user can still be raised, another round follows: on the optimal face of this one
    (:mod:`.face`) where the interior optimum tells clearly which that is. Elsewhere it depends on
    the last digits: the program is ended at a vertex, and the rounds go on from there.
    """

    backend: InteriorPoint
    has_previews = True

    def __init__(self, backend: InteriorPoint, program: Program, options: Options) -> None:
        super().__init__(backend, program, options)
        self.last: Solution | None = None
        #: of rounds that end at vertices
        self.at_vertices: PricingSession | None = None
        self.solved: _Solved | None = None
        #: the structure of an earlier round, without a face, while costs and bounds stay
        self.whole: Structure | None = None
        self.decisions: Decisions | None = None
        #: of rounds that end at vertices of a face with few directions
        self.at_face_vertices: FaceVertices | None = None
        #: the point of the next round, from the trial of its face
        self.tried: WarmStart | None = None
        #: whether vertices took too long once, and whether the next program is that one
        self.vertices_were_slow = False
        self.is_afresh = False
        #: a point inside, on the way to the optimum
        self.warm_start: WarmStart | None = None

    def apply(self, change: ProgramChange) -> None:
        """Change the program, and the part of it that ends at vertices."""
        super().apply(change)
        if self.at_vertices is not None:
            self.at_vertices.apply(change)
        elif not change.keeps_costs:
            self.whole = None
            if self.at_face_vertices is not None:
                self.restart()

    def restart(self, other_method: bool = False) -> None:
        """Go on from a vertex near the last answer; then begin afresh."""
        if self.at_vertices is not None:
            self.at_vertices.restart(other_method)
        elif self.last is not None:
            is_limited = self.program.n_columns >= LARGE and not self.vertices_were_slow
            self._end_at_vertices(QUICK_STEPS if is_limited else None)
        self.warm_start = None

    def _end_at_vertices(self, steps: int | None = None) -> None:
        """Go on from a vertex near the last answer, in at most so many steps a program."""
        assert self.last is not None
        options = self.options
        if steps is not None and options.iteration_limit is None:
            options = replace(options, iteration_limit=steps)
        self.at_vertices = on_columns(self.program, options, self.last)
        self.decisions = None
        self.at_face_vertices = None

    def proves(self, certificate: Certificate) -> bool:
        """Whether a certificate is good enough; on a face earlier prices carry gaps over."""
        on_face = self.at_vertices is None and self.decisions is not None
        return certificate.is_within(INTERIOR_ROUGH) if on_face else certificate.is_optimal

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Whether a user's row has no clear price in an interior point."""
        if self.at_vertices is not None or self.at_face_vertices is not None:
            return False
        if all_prices_are_clear(solution, gap):
            return False
        if self.solved is None:
            return True
        structure, point, sharp = self.solved
        decisions = decisions_of(structure, point, sharp, self.decisions)
        # what is decided here is not taken back: the next round is tried before
        ahead = None if decisions is None else next_program(structure, sharp, decisions)
        is_tried = False
        if decisions is not None and ahead is not None and has_few_directions(decisions):
            is_tried = self._try_vertices(ahead, decisions)
        self.has_left = self.may_leave and not is_tried and self.decisions is None
        if self.has_left:
            return False
        if decisions is None:
            return True
        if ahead is not None and not is_tried and self.solve_on_face(ahead, decisions) is None:
            return True
        self.decisions = decisions
        self.warm_start = None
        return False

    def reaches(self, gap: float) -> float | None:
        """Return a level that is surely feasible: of a point inside, on the way to the optimum."""
        if self.at_vertices is not None or self.at_face_vertices is not None:
            return None
        if self.tried is not None and self.decisions is not None:
            on_face = self._take_on_face(self.tried, self.decisions)
            if on_face is not None and on_face[0].objective is not None:
                return on_face[0].objective
        self.tried = None

        if self.decisions is None:
            structure = Structure.of(self.program)
        else:
            structure = self._structure_on_face(self.program, self.decisions)
        if structure is None or not structure.problem.has_level:
            return None
        try:
            final = rough_near(structure, self.warm_start, gap, self._deadline(), self.options)
        except NotConvergedError:
            final = None
        if final is None:
            self.warm_start = None
            return None
        self.warm_start = WarmStart(final, structure.level_unit)
        columns, _ = structure.vectors(final.point)
        return float(columns[structure.places.level]) * (1 - AGREEMENT)

    def solve(self) -> Solution:
        """Solve the program as it is now."""
        if self.at_vertices is not None:
            solution = self.at_vertices.solve()
            if solution.status.termination is Termination.ITERATION_LIMIT and self._is_limited():
                self.at_vertices = None
                self.vertices_were_slow = True
                self.is_afresh = True
                return self.solve()
            self.least_price = BLOCKED_PRICE
            return replace(solution, solver=self.backend.name)
        if self.at_face_vertices is not None:
            solution_at_vertex = self._next_vertex()
            if solution_at_vertex is None:
                self.restart()
                return self.solve()
            self.last = solution_at_vertex
            self.least_price = BLOCKED_PRICE
            return solution_at_vertex
        if self.decisions is None:
            solution = self._first_round()
        else:
            tried = self.tried
            self.tried = None
            on_face = None
            if tried is not None:
                on_face = self._take_on_face(tried, self.decisions)
            if on_face is None:
                on_face = self.solve_on_face(self.program, self.decisions, self.warm_start)
            self.tried = None
            if on_face is None:
                self.restart()
                return self.solve()
            solution, self.solved = on_face
        self.last = solution if solution.status.is_optimal else None
        is_sharp = self.solved is not None and self.solved[1] is not self.solved[2]
        self.least_price = 0.0 if is_sharp else BLOCKED_PRICE  # where sharpened, rounding is 0
        return solution

    def _is_limited(self) -> bool:
        """Whether vertices are given fewer steps than the options allow."""
        assert self.at_vertices is not None
        return self.at_vertices.options.iteration_limit != self.options.iteration_limit

    def _first_round(self) -> Solution:
        """Solve the whole program; sharpen its optimum where prices are not clear."""
        start_time = perf_counter()
        self.solved = None
        if self.is_afresh:
            self.is_afresh = False
            try:
                solution, ours = self.backend.solve_inside(self.program, self.options)
            except NotConvergedError:
                self._end_at_vertices()
                return self.solve()
        else:
            solution, ours = self.backend.solve_with_point(
                self.program, self.options, self.warm_start
            )
        if ours is not None:
            structure, final = ours
            self.whole = structure
            sharp = final.point
            if not all_prices_are_clear(solution, final.gap):
                on_its_face = sharpened(
                    structure.problem, final.point, final.before, MOST_PROJECTIONS
                )
                final = replace(final, sharpened=on_its_face)
                solution, sharp = self._sharpest(structure, final, None, start_time)
            self.solved = structure, final.point, sharp
        return solution

    def _deadline(self) -> float:
        """Return the clock's time at which a solve that begins now has to end."""
        if self.options.time_limit is None:
            return np.inf
        return perf_counter() + self.options.time_limit

    def _structure_on_face(self, program: Program, decisions: Decisions) -> Structure | None:
        """Return the structure of a program on a face; None where it is of another kind."""
        if self.whole is None:
            self.whole = Structure.of(program)
        return None if self.whole is None else structure_on_face(self.whole, program, decisions)

    def solve_on_face(
        self, program: Program, decisions: Decisions, warm_start: WarmStart | None = None
    ) -> tuple[Solution, _Solved] | None:
        """Solve on the face of earlier rounds; None where that is not proved."""
        start_time = perf_counter()
        structure = self._structure_on_face(program, decisions)
        if structure is None:
            return None
        problem = structure.problem
        early: Variables | None = None

        def settles(final: method.FinalPoint) -> bool:
            nonlocal early
            sharp = sharpened(problem, final.point, final.before)
            if sharp is not None and tells_its_face(problem, final.point, sharp):
                early = sharp
            return early is not None

        try:
            final = solve_near(structure, warm_start, self._deadline(), self.options, settles)
        except NotConvergedError:
            return None
        if final is None:
            return None
        if early is None:
            final = replace(final, sharpened=sharpened(problem, final.point, final.before))
        else:
            final = replace(final, sharpened=early, is_settled=True, error=SETTLED)
        return self._proved_on_face(structure, final, decisions, start_time)

    def _try_vertices(self, program: Program, decisions: Decisions) -> bool:
        """Go on at vertices of a face where that is proved for its first round; whether it is."""
        structure = self._structure_on_face(program, decisions)
        if structure is None:
            return False
        vertices = FaceVertices(structure, decisions, self.options)
        if self._at_vertex(vertices, structure, decisions) is None:
            return False
        self.at_face_vertices = vertices
        return True

    def _at_vertex(
        self, vertices: FaceVertices, structure: Structure, decisions: Decisions
    ) -> Solution | None:
        """Return the program's answer at a vertex of the face; None where it is not proved."""
        start_time = perf_counter()
        vertex = vertices.solve(structure)
        priced = None if vertex is None else with_whole_duals(structure, vertex[0], decisions)
        if vertex is None or priced is None:
            return None
        point, steps = vertex
        final = method.FinalPoint(point, SETTLED, 0)
        seconds = {"solve": perf_counter() - start_time}
        try:
            solution, _ = self.backend.answer(structure, priced, final, seconds)
        except NotConvergedError:
            return None
        return replace(solution, method="simplex on a face", iterations={"simplex": steps})

    def _next_vertex(self) -> Solution | None:
        """Return the program's answer at the next vertex of the face; None without a proof."""
        assert self.at_face_vertices is not None and self.decisions is not None
        structure = self._structure_on_face(self.program, self.decisions)
        if structure is None:
            return None
        return self._at_vertex(self.at_face_vertices, structure, self.decisions)

    def _take_on_face(
        self, point: WarmStart, decisions: Decisions
    ) -> tuple[Solution, _Solved] | None:
        """Take a point that was found ahead for the face; None where it is not proved."""
        start_time = perf_counter()
        structure = self._structure_on_face(self.program, decisions)
        final = None if structure is None else point.of(structure)
        if structure is None or final is None:
            return None
        return self._proved_on_face(structure, final, decisions, start_time)

    def _proved_on_face(
        self,
        structure: Structure,
        final: method.FinalPoint,
        decisions: Decisions,
        start_time: float,
    ) -> tuple[Solution, _Solved] | None:
        """Return the answer at a point of the face, kept for later; None without proof."""
        self.tried = WarmStart(final, structure.level_unit)
        try:
            solution, sharp = self._sharpest(structure, final, decisions, start_time)
        except NotConvergedError:
            return None
        return solution, (structure, final.point, sharp)

    def _sharpest(
        self,
        structure: Structure,
        final: method.FinalPoint,
        decisions: Decisions | None,
        start_time: float,
    ) -> tuple[Solution, Variables]:
        """Return the answer of the smaller gap, inside or sharpened; raise where none is proved."""
        answers: list[tuple[float, Solution, Variables]] = []
        reason = NotConvergedError("prices of earlier rounds are not enough")
        for point, doubt in ((final.sharpened, 1.0), (final.point, _LESS_SHARP)):
            if point is None or (final.is_settled and point is final.point):
                continue
            priced = point
            if decisions is not None:
                with_duals = with_whole_duals(structure, point, decisions)
                if with_duals is None:
                    continue
                priced = with_duals
            try:
                seconds = {"solve": perf_counter() - start_time}
                solution, certificate = self.backend.answer(structure, priced, final, seconds)
            except NotConvergedError as error:
                reason = error
                continue
            answers.append(((certificate.objective_gap or 0.0) * doubt, solution, point))
            if answers[0][0] <= SETTLED:
                break
        if not answers:
            raise reason
        _, solution, point = min(answers, key=lambda answer: answer[0])
        return solution, point


def all_prices_are_clear(solution: Solution, gap: float) -> bool:
    """Whether prices prove that no user can be raised by ``AGREEMENT``.

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
    largest_unclear = gap / AGREEMENT / (program.n_rows + program.n_columns)
    least_clear = max(_CLEAR * largest_unclear, BLOCKED_PRICE * prices.max(initial=0.0))
    return bool((prices > least_clear).all())
