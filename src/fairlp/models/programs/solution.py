"""What a solver gives back, ``Status`` and ``Solution``, and the protocol of a back end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd

from ...errors import NoSolutionError, UnknownNameError, UnsupportedError, nearest
from ...tolerances import CONVEX_POINT, FEASIBILITY, MILP_TOLERANCES, VERIFIED
from .program import Block, BlockView, Program, free_name, tidy

if TYPE_CHECKING:
    from .certificate import Certificate, Proof

# Answers for notebooks and other libraries: as HTML, with all text escaped, and as an xarray
# Dataset.

#: Rows and columns of a table that are shown; the rest is told by an ellipsis.
_MOST_ROWS = 20
_MOST_COLUMNS = 12


def html_of(solution: Solution) -> str:
    """Return a Solution as HTML: what it is, and the values of each variable."""
    parts = [f"<p>{escape(repr(solution))}</p>", f"<p>{escape(str(solution.status))}</p>"]
    if solution.x is not None:
        single = [block for block in solution.program.columns if not block.axes]
        if single:
            numbers = pd.Series(
                {block.name: block.unpack(solution.x) for block in single}, name="value"
            )
            parts.append(table(numbers.to_frame()))
        for block in solution.program.columns:
            if block.axes:
                shown = block.unpack(solution.x)
                shown = shown.to_frame() if isinstance(shown, pd.Series) else shown
                parts.append(f"<p>{escape(block.name)}</p>{table(shown)}")
    return "".join(parts)


def table(frame: pd.DataFrame) -> str:
    """Return a frame of numbers as HTML, the first and last of its rows and columns."""
    return str(
        frame.to_html(
            escape=True,
            float_format=lambda value: f"{value:.6g}",
            max_rows=_MOST_ROWS,
            max_cols=_MOST_COLUMNS,
            na_rep="",
        )
    )


def whole_table(frame: pd.DataFrame) -> str:
    """Return a frame of words as HTML; no cell is cut off."""
    with pd.option_context("display.max_colwidth", None):
        return str(frame.to_html(escape=True, float_format=lambda value: f"{value:.6g}", na_rep=""))


def imported_xarray() -> Any:
    """Return the package xarray; raise with the remedy where it is not installed."""
    try:
        import xarray
    except ImportError:
        raise UnsupportedError('a Dataset needs xarray: pip install "fairlp[xarray]"') from None
    return xarray


def to_xarray(solution: Solution) -> Any:
    """Return the values of all variables as an ``xarray.Dataset`` whose coordinates are the labels.

    Raises
    ------
    UnsupportedError
        Without xarray.
    NoSolutionError
        Without a point.
    """
    xarray = imported_xarray()
    x = solution.require_point()
    names = {block.name for block in solution.program.columns}
    arrays = {block.name: _array(xarray, block, x, names) for block in solution.program.columns}
    attributes = {
        "model": solution.program.name,
        "solver": solution.solver,
        "status": str(solution.status),
    }
    return xarray.Dataset(arrays, attrs=attributes)


def _array(xarray: Any, block: Block, x: np.ndarray, names: set[str]) -> Any:
    """Return a block as a DataArray; an index that has the name of a variable gets an underscore."""
    dense = np.full(int(np.prod(block.shape)), np.nan)
    dense[slice(None) if block.positions is None else block.positions] = x[block.slice]
    coordinates = {}
    for symbol, labels in block.axes:
        coordinates[free_name(symbol, names)] = np.asarray(labels)
    return xarray.DataArray(
        dense.reshape(block.shape), coords=coordinates, dims=list(coordinates), name=block.name
    )


# ``Options``: what every back end is asked for in the same words.


def _wrong(name: str, value: Any) -> str | None:
    """Return what is expected of an option where it is given something else."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if name == "time_limit":
        return None if number and value >= 0 else "seconds >= 0"
    if name in ("primal_tolerance", "dual_tolerance"):
        return None if number and value > 0 else "a number > 0"
    if name == "mip_gap":
        return None if number and 0 <= value < np.inf else "a number >= 0"
    if name in ("threads", "seed", "node_limit", "iteration_limit", "pool"):
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return None if whole and value >= 0 else "a whole number >= 0"
    kinds: dict[str, tuple[Any, str]] = {
        "extra": (Mapping, "a mapping from the solver's own names to values"),
        "start": (
            (Mapping, Solution),
            "a mapping from names of variables to labelled values, or a Solution",
        ),
        "progress": (Callable, "a function of a fairlp.Progress"),
        "log_file": ((str, Path), "a path"),
    }
    kind, expected = kinds.get(name, (object, ""))
    return None if isinstance(value, kind) else expected


@dataclass(frozen=True)
class Progress:
    """How far a solve is: what the function ``progress`` of :class:`Options` is called with.

    Attributes
    ----------
    seconds : float
        Since the solve began.
    objective, bound : float
        Of the best point, and the bound on the optimum, in the user's sense; NaN where there is
        none yet.
    nodes, iterations : int
        Nodes of branch and bound, and iterations of the linear programs.
    """

    seconds: float
    objective: float
    bound: float
    nodes: int
    iterations: int


@dataclass(frozen=True)
class Options:
    """Options that mean the same for every back end; one that a back end cannot honour raises.

    Attributes
    ----------
    time_limit : float or None
        Seconds.
    threads : int or None
    seed : int or None
    primal_tolerance, dual_tolerance : float or None
        Feasibility tolerances asked of the solver, which sees numbers scaled to about 1. None:
        ``FEASIBILITY`` and ``FEASIBILITY`` (``ACCEPTED`` for first-order methods).
    method : str
        Algorithm of the back end ("auto" lets it choose).
    mip_gap : float or None
        Of programs with integers: stop when bound and objective are this near, relative to the
        objective. The status is then "gap limit", unless they are equal. None: 0.
    node_limit : int or None
        Most nodes of branch and bound.
    iteration_limit : int or None
        Most iterations of a linear program.
    log_file : str, Path or None
        Where the solver writes its log.
    progress : callable or None
        Called with a :class:`Progress` as the solver goes on; what it raises is raised, and True
        stops the solve.
    start : mapping, Solution or None
        With integers, a point to begin from: values by name and label, as :meth:`Block.pack` takes
        them, not necessarily of all variables. Without integers, a Solution whose basis is where
        the simplex begins.
    pool : int or None
        With integers: keep at most so many points, which are ``solution.pool``.
    verbose : bool
        Let the solver print its log.
    extra : mapping
        Options under the solver's own names, passed on as they are.
    """

    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    primal_tolerance: float | None = None
    dual_tolerance: float | None = None
    method: str = "auto"
    verbose: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    mip_gap: float | None = None
    node_limit: int | None = None
    iteration_limit: int | None = None
    log_file: str | Path | None = None
    progress: Callable[[Progress], object] | None = None
    start: Mapping[str, Any] | Solution | None = None
    pool: int | None = None

    @classmethod
    def from_keywords(cls, solver: str, keywords: Mapping[str, Any]) -> Options:
        """Return options from keyword arguments; an unknown name is an error that gives the nearest ones.

        Parameters
        ----------
        solver : str
            Named in errors.
        keywords : mapping
            By the names of the attributes.

        Returns
        -------
        Options

        Raises
        ------
        UnknownNameError
            For an option that there is not.
        UnsupportedError
            For a value of another kind, a time limit below 0, or a tolerance that is not above 0.

        Examples
        --------
        >>> Options.from_keywords("highs", {"time_limit": 60}).time_limit
        60
        """
        names = {f.name for f in fields(cls)}
        for name in keywords:
            if name not in names:
                raise UnknownNameError(
                    f"solver {solver!r} has no option {name!r}; {nearest(name, sorted(names))} "
                    "(a solver's own options go into extra={'name': value})"
                )
        for name, value in keywords.items():
            expected = None if value is None else _wrong(name, value)
            if expected is not None:
                raise UnsupportedError(f"{name} is {value!r}; expected {expected}")
        return cls(**keywords)

    def tightened(self, backend: Backend) -> Options:
        """Return the options with the back end's tightest tolerances where none were given, if it has such.

        Parameters
        ----------
        backend : Backend

        Returns
        -------
        Options

        Examples
        --------
        >>> from fairlp.models.programs.backends import find_backend
        >>> Options().tightened(find_backend("highs")).primal_tolerance < 1e-9
        True
        """
        tight = getattr(backend, "tightest", None)
        if tight is None:
            return self
        return replace(
            self,
            primal_tolerance=self.primal_tolerance or tight,
            dual_tolerance=self.dual_tolerance or tight,
        )

    def tolerances(
        self, primal: float = FEASIBILITY, dual: float = FEASIBILITY
    ) -> tuple[float, float]:
        """Return the primal and dual tolerance: those given, or a method's own.

        Parameters
        ----------
        primal, dual : float
            The method's own.

        Returns
        -------
        tuple of (float, float)

        Examples
        --------
        >>> Options(primal_tolerance=1e-7).tolerances()[0] == 1e-7
        True
        """
        return self.primal_tolerance or primal, self.dual_tolerance or dual


class Capability(StrEnum):
    """What a back end can do."""

    LP = "LP"
    MILP = "MILP"
    LOG = "log objective"
    POWER = "power objective"
    QUADRATIC = "quadratic objective"
    DUALS = "duals"
    BASIS = "basis"
    WARM_START = "warm start"
    RAY = "infeasibility certificate"


class Termination(StrEnum):
    """Why the solver stopped."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    GAP_LIMIT = "gap limit"
    ITERATION_LIMIT = "iteration limit"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


#: What a solver says of a program that has no optimum.
HOPELESS = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED)


#: Limits that a solver stops at; it may have a point and a bound by then.
LIMITS = (
    Termination.TIME_LIMIT,
    Termination.NODE_LIMIT,
    Termination.GAP_LIMIT,
    Termination.ITERATION_LIMIT,
)


class Point(StrEnum):
    """What is there: no point, one, or an optimal one."""

    NONE = "none"
    FEASIBLE = "feasible"
    OPTIMAL = "optimal"


@dataclass(frozen=True)
class Status:
    """Three answers that are often confused, and the solver's own words.

    Attributes
    ----------
    termination : Termination
        Why it stopped. A limit is never "optimal".
    primal, dual : Point
        Whether a primal and a dual point are there.
    message : str
        The solver's raw words.
    tolerance : float
        Within what it holds: ``VERIFIED``, or what a first-order method states.
    """

    termination: Termination
    primal: Point
    dual: Point
    message: str
    tolerance: float = VERIFIED

    @property
    def is_optimal(self) -> bool:
        """Whether the solver says that its primal point is optimal."""
        return self.termination is Termination.OPTIMAL and self.primal is Point.OPTIMAL

    def __str__(self) -> str:
        return (
            f"{self.termination.value} (primal: {self.primal.value}, dual: {self.dual.value}; "
            f"{self.message})"
        )


@dataclass(frozen=True)
class Solution:
    """An answer to a Program, mapped back to the model's own labels.

    A dual is ∂objective/∂(right-hand side), and a reduced cost ∂objective/∂(bound), in the sense
    (max or min) that the user wrote, whatever the solver.

    Attributes
    ----------
    program : Program
    status : Status
    solver : str
    x : ndarray or None
        Column values, by position.
    row_duals, column_duals : ndarray or None
        Duals of the rows and reduced costs of the columns, by position.
    times : dict
        Seconds: ``build`` (compiling), ``pass`` (handing over), ``solve`` (the solver's own),
        ``read`` (reading back).
    iterations : dict
        Iterations by kind, as far as the solver tells.
    basis : object or None
        The solver's basis, to start the next solve from.
    method : str
        The algorithm that was used.
    row_ray : ndarray or None
        Row multipliers that prove an infeasible program infeasible; only kept when they do.
    column_ray : ndarray or None
        A direction of the columns in which the objective improves without end; only kept when it
        does.
    bound : float or None
        Bound on the objective: of an integer program by the solver's word; of a linear program that
        a limit stopped proved by the duals that it had.
    pool : tuple of Solution
        Points that were found, the best first, where ``pool=`` asked for them.
    """

    program: Program
    status: Status
    solver: str
    x: np.ndarray | None = None
    row_duals: np.ndarray | None = None
    column_duals: np.ndarray | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    iterations: Mapping[str, int] = field(default_factory=dict)
    basis: Any = None
    method: str = ""
    row_ray: np.ndarray | None = None
    column_ray: np.ndarray | None = None
    bound: float | None = None
    pool: tuple[Solution, ...] = field(default=(), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the basis, which belongs to a solver of this process."""
        return {**self.__dict__, "basis": None}

    @property
    def objective(self) -> float:
        """Objective value, recomputed from the Program."""
        return self.program.objective_value(self.require_point())

    @property
    def gap(self) -> float:
        """Distance of the objective from the bound, relative to the objective; NaN where one of them is missing.

        It is computed from the program's arrays. The bound is :attr:`bound`, or else what the duals
        prove.
        """
        from .certificate import dual_bound

        bound = self.bound
        if bound is None and self.row_duals is not None:
            bound = dual_bound(self.program, self.row_duals)
        if bound is None or self.x is None:
            return float("nan")
        value = self.objective
        apart = abs(value - bound)
        return apart / abs(value) if value else np.inf if apart else 0.0

    @property
    def unproved(self) -> str:
        """That it is optimal by the solver's word only, where no duals can prove it; else empty."""
        if self.row_duals is not None or not self.status.is_optimal:
            return ""
        return f"optimal by the word of {self.solver} only: no duals prove it"

    @property
    def values(self) -> BlockView:
        """Values of the variables by name: a float, Series, or DataFrame."""
        return BlockView(self.program.columns, self.require_point())

    @property
    def duals(self) -> BlockView:
        """Duals of the constraints by name, ∂objective/∂(right-hand side)."""
        return BlockView(self.program.rows, self._dual(self.row_duals))

    @property
    def reduced_costs(self) -> BlockView:
        """Reduced costs of the variables by name, ∂objective/∂(bound)."""
        return BlockView(self.program.columns, self._dual(self.column_duals))

    @property
    def activity(self) -> BlockView:
        """What the rows of the constraints come to, by name."""
        return BlockView(self.program.rows, self.program.A @ self.require_point())

    @property
    def slack(self) -> BlockView:
        """How far the rows of the constraints are from their nearer side, by name; infinite where they have none."""
        activity = self.program.A @ self.require_point()
        return BlockView(
            self.program.rows,
            np.minimum(activity - self.program.row_lower, self.program.row_upper - activity),
        )

    def frame(self, of: Literal["variables", "constraints"] = "variables") -> pd.DataFrame:
        """Return one row for each element of all variables, or of all constraints.

        Parameters
        ----------
        of : {"variables", "constraints"}

        Returns
        -------
        DataFrame
            The name, a column for each index, ``value`` and ``reduced_cost`` (of constraints
            ``activity`` and ``dual``; NaN without duals), ``lower`` and ``upper``.

        Raises
        ------
        NoSolutionError
            When there is no point.
        UnsupportedError
            For another word than these two.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> print(solution.frame().to_string(index=False))
        variable   n    value  reduced_cost  lower  upper
               x   A 3.000000           0.0    0.0    inf
               x   B 2.000000           0.0    0.0    inf
               t NaN 0.666667           0.0    0.0    inf
        """
        program = self.program
        x = self.require_point()
        columns = of == "variables"
        if not columns and of != "constraints":
            raise UnsupportedError(f"a frame is of 'variables' or 'constraints', not of {of!r}")
        kind, price = ("col", self.column_duals) if columns else ("row", self.row_duals)
        values = x if columns else program.A @ x
        numbers = {
            ("value" if columns else "activity"): values,
            ("reduced_cost" if columns else "dual"): np.full(len(values), np.nan)
            if price is None
            else price,
            "lower": getattr(program, f"{kind}_lower"),
            "upper": getattr(program, f"{kind}_upper"),
        }
        return tidy(of[:-1], program.columns if columns else program.rows, numbers)

    def plot(self, name: str, **options: Any) -> Any:
        """Draw the values of a variable, or the activity of a constraint, as bars by label.

        Parameters
        ----------
        name : str
        **options
            Of pandas' ``plot.bar``.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        UnknownNameError
            For a name that there is not.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> len(solution.plot("x").patches)
        2
        """
        values = (self.values if name in self.values else self.activity)[name]
        if not isinstance(values, pd.DataFrame):
            values = pd.DataFrame(
                {name: values}, index=None if isinstance(values, pd.Series) else [name]
            )
        axes = values.plot.bar(**{"ylabel": name, **options})
        for axis in np.ravel(axes):
            legend = axis.get_legend()
            names = [
                *axis.get_xticklabels(),
                axis.yaxis.label,
                *(legend.get_texts() if legend else ()),
            ]
            for text in names:
                text.set_parse_math(False)  # names are no formulas of Matplotlib's
        return axes

    def ranges(
        self, of: Literal["constraints", "variables"] = "constraints", exact: bool = False
    ) -> pd.DataFrame:
        """Return how far right-hand sides, or costs, may move one at a time while the basis stays optimal.

        Within its range a right-hand side changes the objective by its dual times the change;
        within its range a cost leaves the point as it is. At a degenerate vertex other bases are
        optimal too, and the ranges are those of this one: others may reach further. An answer
        without a basis gets one of its own point, if that is a vertex.

        Parameters
        ----------
        of : {"constraints", "variables"}
            Right-hand sides, or costs.
        exact : bool
            In rationals, of a basis that is proved optimal (needs python-flint): the numbers are
            then fractions.

        Returns
        -------
        DataFrame
            The name, a column for each index, ``rhs`` (of a row with two sides the one that it is
            at, else the nearer one) and ``dual``, or ``cost`` and ``reduced_cost``, and the range
            from ``lower`` to ``upper``.

        Raises
        ------
        UnsupportedError
            With integers or logarithms, for a point that is no vertex, or a basis that is singular
            or not proved.
        NoSolutionError
            Without an optimum.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> print(solution.ranges().query("constraint == 'capacity'").round(3).to_string(index=False))
        constraint      r   n  rhs  dual  lower  upper
          capacity    cpu NaN  9.0 0.074    0.0 11.571
          capacity memory NaN 18.0 0.000   14.0    inf
        """
        from .ranging import ranges

        return ranges(self, of, exact)

    @property
    def infeasibility_certificate(self) -> BlockView:
        """Multipliers of the constraints, by name, that prove the program infeasible (Farkas); they are checked."""
        if self.row_ray is None:
            raise NoSolutionError(
                f"{self.solver} gave no proof that {self.program.name!r} is infeasible: "
                f"{self.status}; "
                "model.explain() names the constraints in conflict"
            )
        return BlockView(self.program.rows, self.row_ray)

    @property
    def unbounded_direction(self) -> BlockView:
        """Direction of the variables, by name, in which the objective improves without end; it is checked."""
        if self.column_ray is None:
            raise NoSolutionError(
                f"{self.solver} gave no direction in which {self.program.name!r} is unbounded: "
                f"{self.status}"
            )
        return BlockView(self.program.columns, self.column_ray)

    def verify(self) -> Certificate:
        """Return residuals and duality gap, computed from the Program alone.

        Returns
        -------
        Certificate

        Raises
        ------
        NoSolutionError
            When there is no point.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> solution.verify().is_optimal
        True
        """
        from .certificate import certify

        by_word = self.bound if self.program.is_mip else None
        certificate = certify(self.program, self.require_point(), self.row_duals, bound=by_word)
        return replace(certificate, tolerance=self.status.tolerance)

    def certify(self, exact: bool = False) -> Proof:
        """Return whether the answer is optimal: by residuals and gap, or in rationals from the basis.

        With integers, the bound that is proved is that of the linear relaxation, which is solved
        here; what the solver says of a better one is told beside it.

        Parameters
        ----------
        exact : bool
            Rebuild vertex and duals from the basis and check every sign without a tolerance (needs
            python-flint).

        Returns
        -------
        Proof

        Raises
        ------
        UnsupportedError
            Exact, and there is no basis, or the program is not linear.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> solution.certify(exact=True).message
        'optimal, proved'
        """
        from .certificate import Proof

        if not exact and self.program.is_mip:
            return self._against_relaxation()
        if not exact:
            certificate = self.verify()
            return Proof(
                certificate.is_optimal,
                str(certificate),
                float("nan") if certificate.gap is None else certificate.gap,
            )
        from .exact_certificate import prove

        return prove(self)

    def _against_relaxation(self) -> Proof:
        """Return whether the bound by the duals of the linear relaxation proves a point with integers optimal."""
        from .backends import solve
        from .certificate import Proof, dual_bound

        certificate = self.verify()
        program = self.program
        relaxed = solve(program.relaxed(), "highs", Options())
        message = f"{'feasible' if certificate.is_feasible else 'not feasible'}: {certificate}"
        if relaxed.row_duals is None or program.logs is not None:
            return Proof(False, f"{message}; no duals of the linear relaxation: {relaxed.status}")
        proved = replace(self, bound=dual_bound(program, relaxed.row_duals))
        message = f"{message}; bound {proved.bound:.10g} proved by LP duals, gap {proved.gap:.1e}"
        return Proof(certificate.is_feasible and proved.gap <= VERIFIED, message, proved.gap)

    def require_optimal(self) -> Solution:
        """Return self, or raise with the reason.

        Returns
        -------
        Solution

        Raises
        ------
        NoSolutionError
            When the answer is not optimal.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> solution.require_optimal() is solution
        True
        """
        if not self.status.is_optimal:
            raise NoSolutionError(
                f"{self.solver} did not solve {self.program.name!r}: {self.status}"
            )
        return self

    def checked(self, by_word: bool = False, accuracy: float = VERIFIED) -> Solution:
        """Return self as far as its own arrays bear it out.

        A point that is not feasible is no point. An optimum that its duals do not prove is not
        called optimal. With logarithms or powers an objective right to g is at a point that is
        right to √g only, so that the optimality conditions may be off by as much. A point with
        integers that breaks a row at whole numbers is moved to one of the linear program that these
        leave.

        Parameters
        ----------
        by_word : bool
            Without duals (integers, and solvers that give none) it stays optimal, and the status
            says by whose word.
        accuracy : float
            What a linear program's answer is held to where it is not verified; the status then
            states it.

        Returns
        -------
        Solution

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> replace(solution, x=solution.x + 1).checked().status.primal.value
        'none'
        """
        if self.x is None:
            return self
        certificate = self.verify()
        answer = self
        if self.program.is_mip and not certificate.is_feasible:
            answer = self._at_whole_numbers()
            if answer.x is None:
                return answer
            certificate = answer.verify()
        feasible = certificate.is_feasible
        optimal = answer.status.is_optimal
        if optimal and feasible and self.row_duals is None and by_word:
            message = f"{answer.status.message}; optimal by the solver's word"
            return replace(answer, status=replace(answer.status, message=message))
        tolerance = VERIFIED if self.program.logs is None else CONVEX_POINT
        if certificate.is_within(tolerance) if optimal else feasible:
            return answer
        if accuracy > VERIFIED and self.program.logs is None and not self.program.is_mip:
            loose = replace(certificate, tolerance=accuracy)
            if loose.is_optimal if optimal else loose.is_feasible:
                claim = "optimal" if optimal else "feasible"
                parts = (loose.primal_residual, loose.dual_residual or 0.0, loose.gap or 0.0)
                message = f"{answer.status.message}; {claim} within {max(parts):.1e}"
                return replace(
                    answer, status=replace(answer.status, message=message, tolerance=accuracy)
                )
        point_status = Point.FEASIBLE if feasible else Point.NONE
        claim = "not proved optimal" if feasible else "not feasible"
        termination = Termination.UNKNOWN if optimal else answer.status.termination
        status = Status(
            termination,
            point_status,
            Point.NONE,
            f"{answer.status.message}; {claim}: {certificate}",
        )
        return replace(
            answer,
            status=status,
            x=answer.x if feasible else None,
            row_duals=None,
            column_duals=None,
        )

    def _at_whole_numbers(self) -> Solution:
        """Return the answer at a point of the linear program that is left at these integers, in which all rows hold.

        One that is worth less than the solver said is not called optimal.
        """
        from .backends import solve
        from .certificate import at_integers, worth_of

        assert self.x is not None
        message = f"{self.status.message}; a row with integers held by a tolerance only"
        linear_solution = solve(at_integers(self.program, self.x), "scipy", Options())
        if linear_solution.x is None:
            status = Status(
                Termination.UNKNOWN, Point.NONE, Point.NONE, f"{message}, and no point keeps it"
            )
            return replace(self, status=status, x=None)
        answer = replace(self, x=linear_solution.x)
        apart = abs(answer.objective - self.objective)
        size = max(abs(self.objective), worth_of(self.program, linear_solution.x))
        if self.status.is_optimal and apart > MILP_TOLERANCES[-1] * size:
            status = Status(
                Termination.UNKNOWN,
                Point.FEASIBLE,
                Point.NONE,
                f"{message}; what keeps it is worth less",
            )
            return replace(answer, status=status)
        return answer

    def require_point(self) -> np.ndarray:
        """Return the column values, or raise with the reason.

        Returns
        -------
        ndarray

        Raises
        ------
        NoSolutionError
            When there is no point.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> solution.require_point().round(3).tolist()
        [3.0, 2.0, 0.667]
        """
        if self.x is None:
            raise NoSolutionError(
                f"{self.solver} gave no solution of {self.program.name!r}: {self.status}"
            )
        return self.x

    def _dual(self, values: np.ndarray | None) -> np.ndarray:
        if values is None:
            raise NoSolutionError(
                f"{self.solver} gave no duals of {self.program.name!r}: {self.status}"
            )
        return values

    def to_xarray(self) -> Any:
        """Return the values as an ``xarray.Dataset`` whose coordinates are the labels; elements not there are NaN.

        Returns
        -------
        Dataset

        Raises
        ------
        NoSolutionError
            When there is no point.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> solution.to_xarray()["x"].sel(n="A").round(6).item()
        3.0
        """
        return to_xarray(self)

    def _repr_html_(self) -> str:
        from .solution import html_of

        return html_of(self)

    def __repr__(self) -> str:
        value = f", objective {self.objective:.10g}" if self.x is not None else ""
        return (
            f"<Solution of {self.program.name!r} by {self.solver}: "
            f"{self.status.termination.value}{value}>"
        )


def solution_at(
    program: Program,
    termination: Termination,
    message: str,
    solver: str,
    x: np.ndarray | None,
    row_duals: np.ndarray | None,
    column_duals: np.ndarray | None,
    **attributes: Any,
) -> Solution:
    """Return a solution whose status follows from what is there: "optimal" without a point is unknown."""
    if x is None and termination is Termination.OPTIMAL:
        termination = Termination.UNKNOWN
    point_status = Point.OPTIMAL if termination is Termination.OPTIMAL else Point.FEASIBLE
    primal, dual = (Point.NONE if array is None else point_status for array in (x, row_duals))
    status = Status(termination, primal, dual, message)
    return Solution(program, status, solver, x, row_duals, column_duals, **attributes)


def start_of(program: Program, start: Mapping[str, Any] | Solution) -> np.ndarray:
    """Return a point to begin from, by column: within the bounds, and NaN where nothing is given.

    Of a Solution, variables that the program does not have are left out.

    Raises
    ------
    UnknownNameError
        For a variable or a label that there is not.
    NoSolutionError
        For a Solution without a point.
    """
    names = {block.name for block in program.columns}
    if isinstance(start, Solution):
        # what the other program has beside is no matter
        start = {name: values for name, values in start.values.items() if name in names}
    point = np.full(program.n_columns, np.nan)
    for name, values in start.items():
        block = program.column_block(name)
        point[block.slice] = block.pack(values)
    return np.asarray(np.clip(point, *program.whole_bounds()))


#: Positions, and their new lower and upper bounds.
Bounds = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Rows, one column, and the new entries of the column in those rows.
Entries = tuple[np.ndarray, int, np.ndarray]


class Session(Protocol):
    """A loaded program whose bounds, costs and coefficients change between solves, each from the last basis."""

    program: Program
    options: Options
    #: Prices of the last answer below this part of the largest may be rounding.
    least_price: float

    def change(
        self,
        *,
        rows: Bounds | None = None,
        columns: Bounds | None = None,
        costs: np.ndarray | None = None,
        coefficients: Entries | None = None,
    ) -> None:
        """Change bounds of rows and of columns, the whole objective, and entries of one column that are in the matrix.

        What is None stays as it is.
        """

    def restart(self, other_method: bool = False) -> None:
        """Forget the last basis: the next solve begins afresh, by another method if asked (and if there is one)."""

    def proves(self, certificate: Certificate) -> bool:
        """Whether a certificate is good enough for the way in which the last answer was found."""

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Whether a :meth:`restart` would tell more about who can be raised than the prices of this answer.

        ``gap`` is its certified one.
        """

    def reaches(self, gap: float) -> float | None:
        """Return a level that can be had for sure, within such a part of the largest; None: solving is as quick."""

    def solve(self) -> Solution:
        """Solve what is loaded now."""


class Backend(Protocol):
    """A solver behind one uniform door."""

    name: str
    capabilities: frozenset[Capability]

    def available(self) -> tuple[bool, str]:
        """Return whether it can be used here, and if not, why and what to do."""

    def version(self) -> str:
        """Return the solver's version."""

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve one program."""

    def session(self, program: Program, options: Options) -> Session:
        """Load a program for a series of solves."""


Lowering = Callable[..., Any]
