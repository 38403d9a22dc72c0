"""Several objectives in order: each is optimised among the optima of those before it.

Each objective has a program of its own: the model's rows, and one row for each objective before,
which keeps that one within its tolerances of its optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...tolerances import AGREEMENT, FEASIBILITY, ROUNDING, VERIFIED
from ..programs.backends import AnySolver, backend, solve, spelt
from ..programs.inspection import same
from ..programs.options import Options
from ..programs.program import Block, Program, free_name, with_rows
from ..programs.protocols import Capability
from ..programs.solution import Solution
from ..programs.status import LIMITS, Point, Termination
from .compiler import naming, objective, starts_of
from .expressions import Abs, Expression
from .reals import NumberError, number
from .tables import checked_objective
from .walks import rebuilt

if TYPE_CHECKING:
    from .model import Declarations, Model


def objectives_of(model: Declarations, formulas: Any) -> tuple[Expression, ...]:
    """Return objectives as expressions, checked: a formula, or a list of them in order."""
    is_list = isinstance(formulas, (list, tuple))
    if is_list and not formulas:
        raise ModelError(
            f"the objectives of model {model.name!r} are an empty list; give a formula"
        )
    listed = formulas if is_list else (formulas,)
    expressions = tuple(
        checked_objective(model, objective_name(place, len(listed)), formula)
        for place, formula in enumerate(listed)
    )
    for place, expression in enumerate(expressions[:-1]):
        if rebuilt(expression, _inside_absolute).degree > 1:
            raise ModelError(
                f"objective {place + 1} has logarithms or powers, and a linear row has to keep it "
                f"while the next is optimised: {expression}; these may stand in the last objective "
                "only"
            )
    return expressions


def _inside_absolute(node: Expression) -> Expression | None:
    """Return what an absolute value is of."""
    return node.argument if isinstance(node, Abs) else None


def objective_name(place: int, count: int) -> str:
    """Return what an objective is called in messages."""
    return "the objective" if count == 1 else f"objective {place + 1}"


def checked_tolerances(
    formulas: Any, rel_tolerance: Any, abs_tolerance: Any
) -> tuple[float, float]:
    """Return by how much earlier objectives may give way, relatively and absolutely."""
    values = []
    for name, tolerance in (("rel_tolerance", rel_tolerance), ("abs_tolerance", abs_tolerance)):
        try:
            value = number(tolerance)
        except NumberError as error:
            raise ModelError(f"{name} is no number ({error})") from None
        if not 0 <= value < math.inf:
            raise ModelError(f"{name} is {value:g}; expected a finite number >= 0")
        if value and not isinstance(formulas, (list, tuple)):
            raise ModelError(
                f"{name} says by how much an objective may give way to later ones, and there is "
                "one objective; give several in a list, or stop a solve early with mip_gap="
            )
        values.append(value)
    return values[0], values[1]


def programs_in_order(model: Model) -> list[Program]:
    """Return the model's program with each of its objectives, without rows that keep others."""
    base = model._first_program()
    starts = starts_of(base.columns)
    programs = [base]
    for place, expression in enumerate(model.objectives[1:], 1):
        with naming(objective_name(place, len(model.objectives))):
            cost, offset, logs = objective(model, expression, starts, base.n_columns)
        programs.append(base.replace(c=cost, offset=offset, logs=logs))
    return programs


#: What rounding may take from a kept objective, relative to its terms: the second where a solver
#: finds no point with the first. More than needed would be no help: beside an objective of 0 it
#: looks like something.
_ROUNDINGS = (ROUNDING, FEASIBILITY)
#: What a solver says where rounding lost the points that keep the objectives before.
_LOST = (Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED, Termination.UNKNOWN)


def solve_in_order(model: Model, solver: AnySolver, options: Mapping[str, Any]) -> Solution:
    """Solve a model for one objective after the other; see :meth:`.Model.solve`.

    The time limit is for all of them together. The answer is that of the last objective, or of the
    first that has no optimum.
    """
    name = spelt(solver)
    asked = Options.from_keywords(name, options)
    begin = perf_counter()
    programs = programs_in_order(model)
    times = {"build": perf_counter() - begin}
    deadline = None if asked.time_limit is None else perf_counter() + asked.time_limit
    rows: list[_KeptRow] = []
    at_gap: list[int] = []
    solution: Solution | None = None
    for place, program in enumerate(programs):
        before = solution
        solution = _solved(program, rows, name, asked, deadline)
        times = _sum_of_times(times, solution.times)
        if _is_at_gap(solution):
            at_gap.append(place)
        elif not solution.status.is_optimal:
            solution = _stopped(solution, before, place, len(programs))
            break
        if place + 1 < len(programs):
            rows.append(_keeping(model, place, program, solution))
            asked = replace(asked, start=_start(programs[place + 1], name, solution))
    assert solution is not None
    return _qualified(replace(solution, times=times), at_gap)


def _solved(
    program: Program, rows: list[_KeptRow], name: str, asked: Options, deadline: float | None
) -> Solution:
    """Return the answer of one objective, with the rows that keep those before."""
    times: dict[str, float] = {}
    for tolerance in _ROUNDINGS:
        remaining = asked
        if deadline is not None:
            remaining = replace(asked, time_limit=max(0.0, deadline - perf_counter()))
        solution = solve(_with_rows(program, rows, tolerance), name, remaining)
        times = _sum_of_times(times, solution.times)
        if not rows or solution.status.termination not in _LOST:
            break
    return replace(solution, times=times)


def _sum_of_times(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of two solves together, by kind."""
    return {kind: first.get(kind, 0.0) + second.get(kind, 0.0) for kind in {**first, **second}}


def _start(program: Program, solver: str, solution: Solution) -> Solution | None:
    """Return the point of the objectives before, where the next program can begin from it."""
    can_start = Capability.WARM_START in backend(solver).capabilities
    return solution if can_start and program.is_mip and program.logs is None else None


def _is_at_gap(solution: Solution) -> bool:
    """Whether a solve stopped where the user's ``mip_gap`` lets it."""
    return solution.status.termination is Termination.GAP_LIMIT and solution.is_feasible


@dataclass(frozen=True)
class _KeptRow:
    """``costs·x`` at least, or at most, ``side``: an objective that later ones have to keep.

    ``size`` is that of its terms, by which rounding is measured; 0 where there is none.
    """

    name: str
    costs: np.ndarray
    side: float
    size: float


def _keeping(model: Model, place: int, program: Program, solution: Solution) -> _KeptRow:
    """Return the row that keeps an objective where a solution has it, but for the tolerances."""
    x = solution.require_point()
    costs = program.c
    reached = float(costs @ x)
    relative, absolute = model._tolerances
    allowance = relative * abs(solution.objective) + absolute
    size = float(abs(costs) @ abs(x))
    used = costs != 0
    if (program.integrality[used] > 0).all() and not (costs % 1).any():
        # the objective is a whole number at every point: nothing between two of them is let in
        reached = float(costs @ np.round(x))
        allowance = math.floor(allowance * (1 + AGREEMENT))
        size = 0.0
    elif solution.status.tolerance > VERIFIED:
        allowance += solution.status.tolerance * size
    name = free_name(f"objective{place + 1}_kept", model.constraints)
    side = reached + allowance if program.sense == "min" else reached - allowance
    return _KeptRow(name, costs, side, size)


def _with_rows(program: Program, rows: list[_KeptRow], tolerance: float) -> Program:
    """Return a program with further rows, below its own, which give way by a tolerance."""
    for row in rows:
        block = Block(row.name, (), program.n_rows, program.n_rows + 1)
        rounding = tolerance * row.size
        ends = (row.side - rounding, np.inf)
        if program.sense == "min":
            ends = (-np.inf, row.side + rounding)
        program = with_rows(program, block, row.costs[None, :], *ends)
    return program


def _stopped(solution: Solution, before: Solution | None, place: int, count: int) -> Solution:
    """Return the answer of an objective without an optimum, which says the objective.

    Where a limit left it without a point, the optimum of the objectives before is a point of it.
    """
    message = f"{solution.status.message}; at objective {place + 1} of {count}"
    status = replace(solution.status, message=message)
    is_limit = status.termination in (*LIMITS, Termination.INTERRUPTED)
    if solution.x is not None or before is None or not is_limit:
        return replace(solution, status=status)
    message = f"{message}; the point is the optimum of the objectives before"
    return replace(
        solution, x=before.x, status=replace(status, primal=Point.FEASIBLE, message=message)
    )


def _qualified(solution: Solution, at_gap: list[int]) -> Solution:
    """Return an answer that is not called optimal where an objective before was left at a gap."""
    if not at_gap or not solution.status.is_optimal:
        return solution
    places = ", ".join(str(place + 1) for place in at_gap)
    message = f"{solution.status.message}; objective {places} stopped within the gap asked for"
    status = replace(
        solution.status,
        termination=Termination.GAP_LIMIT,
        primal=Point.FEASIBLE,
        message=message,
    )
    return replace(solution, status=status)


def same_in_order(first: Model, second: Model | Program) -> bool:
    """Whether two models have the same programs, for all objectives; see :meth:`.Model.equals`."""
    first_programs, second_programs = (
        [model] if isinstance(model, Program) else programs_in_order(model)
        for model in (first, second)
    )
    return (
        len(first_programs) == len(second_programs)
        and first._tolerances == getattr(second, "_tolerances", (0.0, 0.0))
        and all(map(same, first_programs, second_programs))
    )
