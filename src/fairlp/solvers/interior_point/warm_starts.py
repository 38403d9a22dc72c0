"""Starts near the optimum of the program before, in rounds of a leximin and in series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

from ...errors import NotConvergedError
from ...models.programs.options import Options
from ...tolerances import SETTLED
from . import method
from .sifting import rough_on_few, sifted, suits
from .structure import Structure

__all__ = ["in_series"]

#: In a series, terms of the next program are so near that its optimum is found from the last one's:
#: α differs by this factor at most (measured: ``benchmarks/research/frontier.py --series``; by more, the
#: start fails now and then).
_APART = 1.75


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


@dataclass
class Series:
    """The point that the last concave program leaves to start from, and how steep its terms are."""

    last: WarmStart | None = None
    alpha: float = 1.0

    def near(self, structure: Structure) -> WarmStart | None:
        """Return the point to start from, None where terms are far from the last ones."""
        apart = _steepest(structure) / self.alpha
        return self.last if 1 / _APART <= apart <= _APART else None

    def record(self, structure: Structure, final: method.FinalPoint) -> None:
        """Store the point on the way, for the next program."""
        self.alpha = _steepest(structure)
        self.last = None
        if final.on_the_way is not None:
            start = replace(final, point=final.on_the_way, on_the_way=None)
            self.last = WarmStart(start, structure.level_unit)


def _steepest(structure: Structure) -> float:
    """Return the largest α of the terms."""
    rows = structure.problem.rows
    return float(rows.alpha[rows.weight > 0].max())


_SERIES: ContextVar[Series | None] = ContextVar("series", default=None)


@contextmanager
def in_series() -> Iterator[None]:
    """Start concave programs near the last one's optimum, where users and servers are the same."""
    token = _SERIES.set(Series())
    try:
        yield
    finally:
        _SERIES.reset(token)


def current_series() -> Series | None:
    """Return the series that programs are solved in; None where they are solved by themselves."""
    return _SERIES.get()


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
