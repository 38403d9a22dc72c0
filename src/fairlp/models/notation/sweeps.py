"""A model solved for one value of a parameter after the other, patched, from the last basis.

The program is patched instead of rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from ...errors import ModelError, NoSolutionError, require_known
from ...keywords import lists
from ..programs.backends import AnySolver, backend, checked, needs, solve_on, spelt
from ..programs.options import Options, SolveOptions
from ..programs.program import Block, Program
from ..programs.protocols import Capability, Session
from ..programs.solution import RELAX, Solution
from ..programs.solution_views import imported_xarray
from ..programs.status import HOPELESS, LIMITS, Termination
from .edits import handle
from .labels import axes_of, numbers_in, require_ordered
from .variables import Parameter, ParameterPart

if TYPE_CHECKING:
    from .model import Model

#: Columns with other coefficients that are changed one by one; with more of them the program is
#: loaded again.
_MOST_COLUMNS = 8
#: Ends of a solve after which nothing else is tried.
_CLEAR = (*HOPELESS, *LIMITS, Termination.INTERRUPTED)


def sweep(
    model: Model,
    parameter: str | ParameterPart | Mapping[Any, Any],
    values: Any = None,
    *,
    read: Any = (),
    solver: AnySolver = "highs",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Solve a model for one value of a parameter after the other, or for all on a grid of several.

    Parameters
    ----------
    model : Model
        It is as it was afterwards.
    parameter : str, Parameter or elements of one, or mapping of these to their values
        A mapping is a grid of all combinations. Of elements (``d["ann"]``) the others stay.
    values : iterable, mapping of label → value, or DataFrame
        Each value as :meth:`.Parameter.set` takes it; of a frame, each row. The result has the
        labels of the mapping or frame; without labels, the values of a parameter that is one
        number, and else 0, 1, ….
    read : str, list of str, or callable
        What to keep of each solution: names of variables and definitions (their values) and of
        constraints (their duals), one column an element; or a function of the Solution that returns
        a mapping of column → number.
    solver : str
    options : mapping
        As those of :meth:`Model.solve`.

    Returns
    -------
    DataFrame or xarray.Dataset
        One row a value: ``objective`` and what was read (NaN without an optimum), and ``status``.
        Of a grid a Dataset of the same, with a dimension for each parameter.

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> model = Model("cake", indices=(n,))
    >>> h, w, x = model.parameter("h", (), 1), model.parameter("w", (), 2), model.variable("x", n)
    >>> cake = model.constraint("cake", x.sum() <= h)
    >>> model.maximize(w * x["ann"] + x["bob"])
    >>> sweep(model, "h", [1, 2, 3], read=["x", "cake"])
         objective   status  x[ann]  x[bob]  cake
    h
    1.0        2.0  optimal     1.0     0.0   2.0
    2.0        4.0  optimal     2.0     0.0   2.0
    3.0        6.0  optimal     3.0     0.0   2.0
    >>> sweep(model, {"h": [1, 2, 3], "w": [2, 5]})["objective"].sel(h=3, w=5).item()
    15.0
    """
    grid = isinstance(parameter, Mapping)
    if grid == (values is not None):
        raise ModelError(
            "a sweep takes a parameter and its values, or a mapping of parameters to their values"
        )
    swept = [
        _swept(model, name)
        for name in (parameter if isinstance(parameter, Mapping) else [parameter])
    ]
    value_lists = list(parameter.values()) if isinstance(parameter, Mapping) else [values]
    axes = [
        _steps(swept_parameter, steps_of)
        for swept_parameter, steps_of in zip(swept, value_lists, strict=True)
    ]
    xarray = imported_xarray() if grid else None
    reader = _reader(model, read)
    before = [swept_parameter.base.stored for swept_parameter in swept]
    rows = []
    last = (-1,) * len(swept)
    try:
        with ModelSession(model, solver, options or {}) as session:
            for place in product(*(range(len(steps)) for steps, _ in axes)):
                for swept_parameter, (steps, _), k, last_step in zip(
                    swept, axes, place, last, strict=True
                ):
                    if k != last_step:
                        swept_parameter.set(steps[k])
                last = place
                rows.append(_row(session.solve(), reader))
    finally:
        for swept_parameter, numbers in zip(swept, before, strict=True):
            swept_parameter.base.set(numbers)
    columns = None if rows else ["objective", "status"]
    if xarray is None:
        return pd.DataFrame(rows, index=axes[0][1], columns=columns)
    frame = pd.DataFrame(rows, columns=columns)
    shape = [len(steps) for steps, _ in axes]
    names = [_name(swept_parameter) for swept_parameter in swept]
    arrays = {name: (names, frame[name].to_numpy().reshape(shape)) for name in frame}
    return xarray.Dataset(
        arrays, coords={name: labels for name, (_, labels) in zip(names, axes, strict=True)}
    )


def _swept(model: Model, name: Any) -> ParameterPart:
    """Return the parameter, or the elements of one, that a sweep is of."""
    block = handle(model, name.base if isinstance(name, ParameterPart) else name)
    if not isinstance(block, Parameter):
        raise ModelError(f"{block!r} is swept, and only a parameter can be")
    return name if isinstance(name, ParameterPart) else block


def _name(parameter: ParameterPart) -> str:
    """Return what the axis of a sweep is called: ``d``, or ``d[ann]`` of an element."""
    return parameter.name if isinstance(parameter, Parameter) else str(parameter)


class ModelSession:
    """A model that is edited and solved repeatedly, from the last basis; see `Model.session`.

    Attributes
    ----------
    model : Model
    last : Solution or None
        Of the last :meth:`solve`.
    """

    def __init__(self, model: Model, solver: AnySolver, options: Mapping[str, Any]) -> None:
        self.model, self._chosen = model, backend(solver)
        self._solver_name, self._keywords = spelt(solver), dict(options)
        self._options = Options.from_keywords(self._solver_name, self._keywords)
        self._session: Session | None = None
        self._start: Solution | None = None
        self._open = True
        self._lock = RLock()
        self.last: Solution | None = None

    def __repr__(self) -> str:
        return f"<ModelSession of {self.model!r}>"

    @lists(SolveOptions)
    def solve(self, **options: Unpack[SolveOptions]) -> Solution:
        """Solve the model as it is now.

        What the last basis does not lead to, and what is not proved optimal, is solved afresh.
        Several threads may call it: one is served after the other.

        Parameters
        ----------
        **options
            Of :class:`fairlp.Options`, for this call alone: they go before those of the session.
            ``start=`` is in the place of the last basis or point. The solver loads the program anew
            for them.

        Returns
        -------
        Solution

        Raises
        ------
        ModelError
            When the session is closed.
        UnknownNameError, UnsupportedError
            For an option that there is not, or that the solver cannot honour.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> x = model.variable("x", upper=3)
        >>> model.maximize(2 * x)
        >>> with model.session(time_limit=60) as session:
        ...     print(session.solve(time_limit=0).status.termination.value)
        ...     print(session.solve().objective)
        time limit
        6.0
        """
        with self._lock:
            if not self._open:
                raise ModelError(
                    f"the session of model {self.model.name!r} is closed; open another with "
                    "model.session(), or use "
                    "model.solve()"
                )
            if options:
                solution = self._solved_apart(options)
            else:
                solution = self._solve(self.model.compile(), self._options, self._start)
            self.last = solution
            point = solution.x if solution.program.is_mip else solution.basis
            if point is not None:
                self._start = solution
        return solution

    def _solved_apart(self, options: SolveOptions) -> Solution:
        """Solve with other options than those of the session, in a session of the solver's own."""
        keywords = {**self._keywords, **options}
        call_options = Options.from_keywords(self._solver_name, keywords)
        start = self._start if options.get("start") is None else None
        self._session = None
        try:
            return self._solve(self.model.compile(), call_options, start)
        finally:
            self._session = None

    def close(self) -> None:
        """Let go of what the solver keeps; it cannot be used any more."""
        with self._lock:
            self._open = False
            self._session = None

    def __enter__(self) -> ModelSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _solve(self, program: Program, options: Options, start: Solution | None) -> Solution:
        """Solve a program from a basis or point, in the solver's session if it can have one."""
        if not needs(program) <= self._chosen.capabilities or options.time_limit == 0:
            self._session = None
            return checked(solve_on(self._chosen, program, options), options)
        session = self._session
        # a solver forgets the point of an integer program that changes: it is handed over again
        if session is None or program.is_mip or not move(session, program):
            session = self._session = self._loaded(program, options, start)
        solution = session.solve()
        if _proved(solution) and not options.mip_gap:
            return solution
        answer = checked(solution, options) if program.is_mip else solution
        if program.is_mip and (answer.status.is_optimal or answer.status.termination in _CLEAR):
            return answer
        if solution.status.termination not in _CLEAR:
            session.restart()
            solution = session.solve()
        return checked(solution, options)

    def _loaded(self, program: Program, options: Options, start: Solution | None) -> Session:
        """Return a new session from a basis, by label, or, with integers, from a point."""
        has_start = start is not None and (start.x if program.is_mip else start.basis) is not None
        if has_start and Capability.WARM_START in self._chosen.capabilities:
            options = replace(options, start=start)
        return self._chosen.session(program, options)


def move(session: Session, program: Program) -> bool:
    """Bring a session to another linear program with its basis; False where it is to load it anew.

    So it has where there are other rows, columns or entries, or coefficients of many columns
    change.
    """
    old = session.program
    columns = _columns_to_change(old, program)
    is_alike = old.sense == program.sense and np.array_equal(old.integrality, program.integrality)
    if columns is None or not is_alike:
        return False
    changes: dict[str, Any] = {}
    for axis, kind in (("rows", "row"), ("columns", "col")):
        low = getattr(program, f"{kind}_lower")
        high = getattr(program, f"{kind}_upper")
        positions = np.flatnonzero(
            (low != getattr(old, f"{kind}_lower")) | (high != getattr(old, f"{kind}_upper"))
        )
        if positions.size:
            changes[axis] = (positions, low[positions], high[positions])
    if not np.array_equal(program.c, old.c):
        changes["costs"] = program.c
    if changes:
        session.change(**changes)
    for column in columns:
        entries = slice(int(program.A.indptr[column]), int(program.A.indptr[column + 1]))
        session.change(coefficients=(program.A.indices[entries], column, program.A.data[entries]))
    session.program = program
    return True


def _columns_to_change(old: Program, new: Program) -> list[int] | None:
    """Return the columns with other coefficients; None where many change or entries come and go."""
    if new.A is old.A:
        return []
    if new.A.shape != old.A.shape:
        return None
    if not (
        np.array_equal(new.A.indptr, old.A.indptr) and np.array_equal(new.A.indices, old.A.indices)
    ):
        return None
    positions = np.flatnonzero(new.A.data != old.A.data)
    columns = np.unique(np.searchsorted(new.A.indptr, positions, side="right") - 1)
    return None if len(columns) > _MOST_COLUMNS else [int(column) for column in columns]


def _proved(solution: Solution) -> bool:
    """Whether a solution is optimal by its own duals (an integer one: as the solver says)."""
    if not solution.status.is_optimal or solution.program.switched.size:
        return False
    certificate = solution.verify()
    return certificate.is_feasible if solution.row_duals is None else certificate.is_optimal


def _steps(parameter: ParameterPart, values: Any) -> tuple[list[Any], pd.Index[Any]]:
    """Return the values and the labels of the rows."""
    name = _name(parameter)
    if isinstance(values, Mapping):
        return list(values.values()), pd.Index(list(values), name=name)
    if isinstance(values, pd.DataFrame):
        return [row for _, row in values.iterrows()], values.index
    require_ordered(values, f"the sweep of parameter {name!r}", ModelError)
    steps = list(values)
    if not parameter.indices:
        numbers = numbers_in(steps, (), f"the values of parameter {name!r}", ModelError)
        return steps, pd.Index(numbers, name=name)
    return steps, pd.RangeIndex(len(steps), name="step")


Reader = Callable[[Solution], Mapping[str, Any]]


def _reader(model: Model, read: Any) -> Reader:
    """Return the function that reads the columns of the table from a solution."""
    if callable(read):
        function: Reader = read
        return function
    require_ordered(read, "read", ModelError)
    entries = [read] if isinstance(read, str) or not isinstance(read, Iterable) else read
    names = [model._kind_of(name) for name in entries]
    for kind, name in names:
        readable = ("variable", "constraint", "definition")
        require_known(kind, readable, f"{name!r}, a {kind}, has no values", ModelError)

    def columns(solution: Solution) -> dict[str, float]:
        row: dict[str, float] = {}
        for kind, name in names:
            row |= _elements(model, solution, kind, name)
        return row

    return columns


def _elements(model: Model, solution: Solution, kind: str, name: str) -> dict[str, float]:
    """Return the values (of a constraint: duals) of what has a name, by element."""
    program = solution.program
    if kind == "definition":
        assert solution.x is not None
        axes = axes_of(model.definitions[name].indices)
        values = np.asarray(model.evaluate(name, solution.x)).reshape(-1)
        return dict(zip(Block(name, axes, 0, len(values)).names(), values.tolist(), strict=True))
    block = program.column_block(name) if kind == "variable" else program.row_block(name)
    vector = solution.x if kind == "variable" else solution.row_duals
    if vector is None:
        reason = RELAX if program.is_mip else str(solution.status)
        raise NoSolutionError(f"constraint {name!r} has no duals to read: {reason}")
    return dict(zip(block.names(), vector[block.slice].tolist(), strict=True))


def _row(solution: Solution, reader: Reader) -> dict[str, Any]:
    """Return one row of the table."""
    status = solution.status
    row = {"objective": np.nan, "status": status.termination.value}
    if status.is_optimal:
        row["objective"] = solution.objective
        row |= reader(solution)
    return row
