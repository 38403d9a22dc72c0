"""A model solved for one value of a parameter after the other: patched, not rebuilt, and each from the last basis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import ModelError
from ..programs.backends import AnySolver, backend, checked, needs, solve_on, spelt
from ..programs.program import Block, Program
from ..programs.solution import HOPELESS, Backend, Options, Session, Solution, Termination
from .expressions import Parameter
from .tables import handle

if TYPE_CHECKING:
    from .model import Model

#: Columns with other coefficients that are changed one by one; with more of them the program is loaded again.
_MOST_COLUMNS = 8
#: Ends of a solve after which nothing else is tried.
_CLEAR = (*HOPELESS, Termination.TIME_LIMIT, Termination.INTERRUPTED)


def sweep(
    model: Model,
    parameter: str | Parameter,
    values: Any,
    *,
    read: Any = (),
    solver: AnySolver = "highs",
    options: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Solve a model for one value of a parameter after the other.

    Parameters
    ----------
    model : Model
        It is as it was afterwards.
    parameter : str or Parameter
    values : iterable, mapping of label → value, or DataFrame
        Each value as :meth:`.Parameter.set` takes it; of a frame, each row. The result has the labels of the mapping or
        frame; without labels, the values of a parameter that is one number, and else 0, 1, ….
    read : str, list of str, or callable
        What to keep of each solution: names of variables and definitions (their values) and of constraints (their
        duals), one column an element; or a function of the Solution that returns a mapping of column → number.
    solver : str
    options : mapping
        As those of :meth:`Model.solve`.

    Returns
    -------
    DataFrame
        One row a value: ``objective`` and what was read (NaN without an optimum), and ``status``.

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> model = Model("cake", indices=(n,))
    >>> h, x = model.parameter("h", (), 1), model.variable("x", n)
    >>> cake = model.constraint("cake", x.sum() <= h)
    >>> model.maximize(2 * x["ann"] + x["bob"])
    >>> sweep(model, "h", [1, 2, 3], read=["x", "cake"])
         objective   status  x[ann]  x[bob]  cake
    h
    1.0        2.0  optimal     1.0     0.0   2.0
    2.0        4.0  optimal     2.0     0.0   2.0
    3.0        6.0  optimal     3.0     0.0   2.0
    """
    swept = handle(model, parameter)
    if not isinstance(swept, Parameter):
        raise ModelError(f"{swept!r} is swept, and only a parameter can be")
    steps, labels = _steps(swept, values)
    reader = _reader(model, read)
    chosen, parsed = backend(solver), Options.from_keywords(spelt(solver), dict(options or {}))
    before = swept.stored
    rows: list[dict[str, Any]] = []
    series: _Series | None = None
    try:
        for step in steps:
            swept.set(step)
            program = model.compile()
            if series is None:
                series = _Series(chosen, program, parsed)
            rows.append(_row(series.solve(program), reader))
    finally:
        swept.set(before)
    return pd.DataFrame(rows, index=labels, columns=None if rows else ["objective", "status"])


class _Series:
    """Programs solved one after the other by a back end, each from the last basis where it keeps one."""

    def __init__(self, chosen: Backend, program: Program, options: Options) -> None:
        self.chosen, self.options = chosen, options
        fresh = not needs(program) <= chosen.capabilities
        self.session: Session | None = None
        if not fresh and options.time_limit != 0:
            self.session = chosen.session(program, options)

    def solve(self, program: Program) -> Solution:
        """Solve a program; what the last basis does not lead to, and what is not proved optimal, is solved afresh."""
        session = self.session
        if session is None:
            return checked(solve_on(self.chosen, program, self.options), self.options)
        move(session, program)
        solution = session.solve()
        if _proved(solution):
            return solution
        if solution.status.termination not in _CLEAR:
            session.restart()
            solution = session.solve()
        return checked(solution, self.options)


def move(session: Session, program: Program) -> None:
    """Bring a session to another program of the same rows, columns and bounds of these; keep its basis where it can."""
    old = session.program
    changes: dict[str, Any] = {}
    low, high = program.row_lower, program.row_upper
    at = np.flatnonzero((low != old.row_lower) | (high != old.row_upper))
    if at.size:
        changes["rows"] = (at, low[at], high[at])
    if not np.array_equal(program.c, old.c):
        changes["costs"] = program.c
    columns = _columns_to_change(old, program)
    if columns is None:
        _load(session, program)
        return
    if changes:
        session.change(**changes)
    for column in columns:
        part = slice(int(program.A.indptr[column]), int(program.A.indptr[column + 1]))
        session.change(coefficients=(program.A.indices[part], column, program.A.data[part]))
    session.program = program


def _columns_to_change(old: Program, new: Program) -> list[int] | None:
    """Return the columns with other coefficients; None where there are many, or entries appear or vanish."""
    if new.A is old.A:
        return []
    if not (np.array_equal(new.A.indptr, old.A.indptr) and np.array_equal(new.A.indices, old.A.indices)):
        return None
    at = np.flatnonzero(new.A.data != old.A.data)
    columns = np.unique(np.searchsorted(new.A.indptr, at, side="right") - 1)
    return None if len(columns) > _MOST_COLUMNS else [int(column) for column in columns]


def _load(session: Session, program: Program) -> None:
    """Load a program anew, with the last basis where the session can be asked for it."""
    basic = getattr(session, "basic", None)
    basis = basic() if callable(basic) else None
    session.program = program
    session.restart()
    if basis is not None:
        session.start_from(*basis)  # type: ignore[attr-defined]


def _proved(solution: Solution) -> bool:
    """Whether a solution is optimal by its own duals (an integer one: by the solver's word)."""
    if not solution.status.is_optimal:
        return False
    certificate = solution.verify()
    return certificate.is_feasible if solution.row_duals is None else certificate.is_optimal


def _steps(parameter: Parameter, values: Any) -> tuple[list[Any], pd.Index[Any]]:
    """Return the values and the labels of the rows."""
    if isinstance(values, Mapping):
        return list(values.values()), pd.Index(list(values), name=parameter.name)
    if isinstance(values, pd.DataFrame):
        return [row for _, row in values.iterrows()], values.index
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise ModelError(
            f"the values of parameter {parameter.name!r} are one {type(values).__name__}; expected several"
        )
    steps = list(values)
    if not parameter.indices:
        return steps, pd.Index(np.asarray(steps, dtype=float), name=parameter.name)
    return steps, pd.RangeIndex(len(steps), name="step")


Reader = Callable[[Solution], Mapping[str, Any]]


def _reader(model: Model, read: Any) -> Reader:
    """Return the function that reads the columns of the table from a solution."""
    if callable(read):
        function: Reader = read
        return function
    names = [(model.kind_of(name)) for name in ([read] if isinstance(read, str) else read)]
    for kind, name in names:
        if kind not in ("variable", "constraint", "definition"):
            raise ModelError(f"{name!r} is a {kind}; variables, definitions and constraints are read from a solution")

    def columns(solution: Solution) -> dict[str, float]:
        found: dict[str, float] = {}
        for kind, name in names:
            found |= _elements(model, solution, kind, name)
        return found

    return columns


def _elements(model: Model, solution: Solution, kind: str, name: str) -> dict[str, float]:
    """Return the values (of a constraint: duals) of what has a name, by element."""
    program = solution.program
    if kind == "definition":
        assert solution.x is not None
        axes = tuple((index.symbol, index.labels) for index in model.definitions[name].indices)
        values = np.asarray(model.evaluate(name, solution.x)).reshape(-1)
        return dict(zip(Block(name, axes, 0, len(values)).names(), values.tolist(), strict=True))
    block = program.column_block(name) if kind == "variable" else program.row_block(name)
    vector = solution.x if kind == "variable" else solution.row_duals
    if vector is None:
        return {}
    return dict(zip(block.names(), vector[block.slice].tolist(), strict=True))


def _row(solution: Solution, reader: Reader) -> dict[str, Any]:
    """Return one row of the table."""
    status = solution.status
    row: dict[str, Any] = {"objective": np.nan, "status": status.termination.value}
    if status.is_optimal:
        row["objective"] = solution.objective
        row |= reader(solution)
    return row
