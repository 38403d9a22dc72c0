"""The interior-point method as a back end for users who share servers; HiGHS solves all others."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from time import perf_counter

import numpy as np

from ...errors import NotConvergedError
from ...models.programs.backends import solve_on
from ...models.programs.certificate import Certificate
from ...models.programs.options import Options
from ...models.programs.program import Program
from ...models.programs.protocols import Capability
from ...models.programs.solution import Solution, solution_at
from ...models.programs.status import Termination
from ...tolerances import ACCEPTED, INTERIOR_ROUGH
from ..backends.base import BaseBackend, reduced_costs
from ..backends.highs import Highs
from . import INTERIOR
from .method import FinalPoint
from .polishing import polished
from .problem import Variables
from .session import InteriorPointSession
from .structure import Structure
from .warm_starts import WarmStart, solve_near


class InteriorPoint(BaseBackend):
    """Our own method for programs of users who share servers, and HiGHS for others.

    Answers say which of the two they are by.
    """

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
        return self.solve_with_point(program, options)[0]

    def session(self, program: Program, options: Options) -> InteriorPointSession:
        """Load a program for a series of solves."""
        return InteriorPointSession(self, program, options)

    def solve_with_point(
        self, program: Program, options: Options, warm_start: WarmStart | None = None
    ) -> tuple[Solution, tuple[Structure, FinalPoint] | None]:
        """Solve one program; return the answer, with structure and point where it is ours."""
        start_time = perf_counter()
        try:
            return self.solve_inside(program, options, warm_start, start_time)
        except NotConvergedError as error:
            reason = str(error)
        remaining = None
        if options.time_limit is not None:
            remaining = max(options.time_limit - (perf_counter() - start_time), 0.0)
        return self._by_highs(program, replace(options, time_limit=remaining), reason), None

    def solve_inside(
        self,
        program: Program,
        options: Options,
        warm_start: WarmStart | None = None,
        start_time: float | None = None,
    ) -> tuple[Solution, tuple[Structure, FinalPoint] | None]:
        """Solve one program by our own method alone; raise where it is not proved."""
        start_time = perf_counter() if start_time is None else start_time
        structure = Structure.of(program)
        if structure is None:
            raise NotConvergedError("these are not users who share servers")
        solution, final = self._by_interior_points(structure, options, start_time, warm_start)
        return solution, None if final is None else (structure, final)

    def _by_interior_points(
        self,
        structure: Structure,
        options: Options,
        start_time: float,
        warm_start: WarmStart | None,
    ) -> tuple[Solution, FinalPoint | None]:
        """Return the answer of our own method, and the point; raise where it is not proved."""
        recognised = perf_counter()
        deadline = np.inf if options.time_limit is None else start_time + options.time_limit
        final = solve_near(structure, warm_start, deadline, options)
        solved = perf_counter()
        seconds = {"pass": recognised - start_time, "solve": solved - recognised}

        if final is None:
            message = f"a time limit of {options.time_limit:g} s was reached"
            limit = Termination.TIME_LIMIT
            no_point = solution_at(
                structure.program, limit, message, self.name, None, None, None, times=seconds
            )
            return no_point, None
        solution, certificate = self.answer(structure, final.point, final, seconds)
        return solution, replace(final, gap=certificate.gap or 0.0)

    def _by_highs(self, program: Program, options: Options, reason: str) -> Solution:
        """Return the answer of HiGHS, which says why it is not ours."""
        solution = solve_on(Highs(), program, options)
        message = f"{solution.status.message} (by HiGHS: {reason})"
        return replace(
            solution,
            solver=self.name,
            status=replace(solution.status, message=message),
            method=f"HiGHS, {solution.method}",
        )

    def answer(
        self, structure: Structure, point: Variables, final: FinalPoint, seconds: dict[str, float]
    ) -> tuple[Solution, Certificate]:
        """Return the answer at a point, and its certificate; raise where it is not proved."""
        program = structure.program
        start_time = perf_counter()
        inside = structure.vectors(point)
        columns, duals = polished(program, *inside)
        newton = "" if columns is inside[0] else ", then Newton steps"
        solution = solution_at(
            program,
            Termination.OPTIMAL,
            f"relative error {final.error:.1e}{newton}",
            self.name,
            columns,
            duals,
            reduced_costs(program, columns, duals),
            times={**seconds, "read": perf_counter() - start_time},
            iterations={"interior point": final.iterations},
            method="interior point",
        )
        certificate = solution.verify()
        # on a face the prices of earlier rounds carry their gaps over: the rounds measure what that
        # does to levels
        on_face = structure.problem.face is not None
        proved = certificate.is_within(INTERIOR_ROUGH) if on_face else certificate.is_optimal
        carried = on_face and (certificate.objective_gap or 0.0) > INTERIOR_ROUGH
        rough = final.error > ACCEPTED and (certificate.gap or 0.0) > ACCEPTED
        if not proved or carried or rough:
            raise NotConvergedError(
                f"the interior-point method's answer is not proved: {certificate}"
            )
        return solution, certificate
