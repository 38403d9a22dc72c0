"""Starts near the optimum of the program before, in rounds of a leximin."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from ...errors import NotConvergedError
from ...models.programs.options import Options
from ...tolerances import SETTLED
from . import method
from .sifting import rough_on_few, sifted, suits
from .structure import Structure


@dataclass(frozen=True)
class WarmStart:
    """A point of a program, its optimum or inside on the way there, and the unit of its level."""

    final: method.FinalPoint
    level_unit: float

    def of(self, structure: Structure) -> method.FinalPoint | None:
        """Return the point in the units of another program; None for other users or servers."""
        point = self.final.point
        region = structure.problem.region
        if point.x.shape != region.exists.shape or point.v.shape != structure.row_unit.shape:
            return None
        unit = structure.level_unit / self.level_unit
        sharp = self.final.sharpened
        if sharp is not None:
            sharp = replace(sharp, t=sharp.t * unit)
        few = self.final.few
        if few is not None:
            few = few._replace(point=replace(few.point, t=few.point.t * unit))
        point = replace(point, t=point.t * unit)
        return replace(self.final, point=point, sharpened=sharp, few=few)


def solve_near(
    structure: Structure,
    near: WarmStart | None,
    deadline: float,
    options: Options,
    settles: Callable[[method.FinalPoint], bool] | None = None,
) -> method.FinalPoint | None:
    """Return the optimum, from a point near it where that leads there; None at the deadline.

    ``settles`` may say of a point on the way that it is enough.
    """
    problem = structure.problem
    threads = options.threads or 1
    start = None if near is None else near.of(structure)
    if suits(problem):
        with suppress(NotConvergedError):
            return sifted(problem, deadline, threads, start)
    elif start is not None and start.few is None:
        with suppress(NotConvergedError):
            final = method.solve(problem, deadline, threads, start.point, settles=settles)
            if final is None or final.error <= method.NEARLY * SETTLED:
                return final
    return method.solve(problem, deadline, threads, settles=settles)


def rough_near(
    structure: Structure, near: WarmStart | None, gap: float, deadline: float, options: Options
) -> method.FinalPoint | None:
    """Return a point inside with an error of at most ``gap``, from one of other rows.

    None at the deadline. Where there are very many pairs it is on few of them.
    """
    problem = structure.problem
    threads = options.threads or 1
    start = None if near is None else near.of(structure)
    if start is not None and suits(problem):
        with suppress(NotConvergedError):
            return rough_on_few(problem, start, gap, deadline, threads)
    inside = None if start is None or start.few is not None else start.point
    return method.solve(problem, deadline, threads, inside, gap)
