"""``Solution``: the values, duals and status that a solver returned, and whether they are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from ...errors import Hinted, NoSolutionError, quoted, require_known
from ...tolerances import CONVEX_POINT, FEASIBILITY, MILP_TOLERANCES, VERIFIED
from .options import Options
from .program import BlockView, Program, tidy
from .solution_views import to_xarray
from .status import HOPELESS, Point, Status, Termination
from .views import html_of_values

#: What to do for duals and ranges of a program with integers.
RELAX = "with integers there are none; solve model.relax_integrality(), or program.relaxed()"

if TYPE_CHECKING:
    from .certificate import Certificate
    from .proof import Proof


@dataclass(frozen=True)
class Solution(Hinted):
    """An answer to a Program, mapped back to the model's own labels.

    A dual is ∂objective/∂(right-hand side), and a reduced cost ∂objective/∂(bound), in the sense
    (max or min) that the user wrote, whatever the solver.

    Attributes
    ----------
    program : Program
    status : Status
    solver : str
    x : ndarray or None
        Column values, by position; also of a point that is not feasible (``status.primal`` says
        so), by which an unknown answer shows where the solver stopped.
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
        Bound on the objective: of an integer program as the solver says; of a linear program that
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
        return self.program.objective_value(self._any_point())

    @property
    def is_feasible(self) -> bool:
        """Whether there is a point that keeps all rows and bounds."""
        return self.x is not None and self.status.primal in (Point.FEASIBLE, Point.OPTIMAL)

    @property
    def gap(self) -> float:
        """Distance of the objective from the bound, relative to the objective; NaN if unknown.

        It is computed from the program's arrays. The bound is ``bound``, or else what the duals
        prove.
        """
        from .certificate import dual_bound

        bound = self.bound
        if bound is None and self.row_duals is not None:
            bound = dual_bound(self.program, self.row_duals)
        if bound is None or not self.is_feasible:
            return float("nan")
        value = self.objective
        apart = abs(value - bound)
        return apart / abs(value) if value else np.inf if apart else 0.0

    @property
    def unproved(self) -> str:
        """Why the optimum rests on the solver alone, where no duals can prove it; else empty."""
        if self.row_duals is not None or not self.status.is_optimal:
            return ""
        within = "" if self.bound is None else f", within {self.gap:.2g} of its bound"
        return f"optimal as {self.solver} says{within}, without duals that prove it"

    @property
    def values(self) -> BlockView:
        """Values of the variables by name: a float, Series, or DataFrame."""
        return BlockView(self.program.columns, self._any_point(), "solution.values")

    def value(self, expression: Any, *, where: Any = None) -> Any:
        """Return the value of a formula at this solution.

        Variables have the values that this solution gives their names. Parameters have the numbers
        of the solve, by name: one that was set since counts as it was. They have those of now where
        the solve did not have them with these labels. Elements of a variable that do not exist
        count as 0, as they do in every formula.

        Parameters
        ----------
        expression : Expression
            Of the model that was solved; logarithms, powers and absolute values included.
        where : array_like of bool, list or table of combinations, or Subset, optional
            As in :meth:`.Model.constraint`, in the model's order of indices: nothing is computed
            for other combinations. Flows by the capacities of arcs are so divided where there are
            arcs.

        Returns
        -------
        float, Series or DataFrame
            A float without a free index, a Series over one, a DataFrame over two, a Series with a
            MultiIndex over more. With ``where``, a Series of its combinations.

        Raises
        ------
        ModelError
            For a constraint (see :attr:`activity` and :attr:`slack`), what is no formula, a
            variable that the solution does not have with these labels, and a division by zero.
        NoSolutionError
            When there is no point.

        Examples
        --------
        >>> from fairlp import Index, Model
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x = model.variable("x", n, upper=[1, 3])
        >>> model.maximize(x.sum())
        >>> solution = model.solve()
        >>> solution.value(2 * x + 1).to_dict()
        {'ann': 3.0, 'bob': 7.0}
        >>> solution.value(abs(x["ann"] - x["bob"]))
        2.0
        >>> solution.value(1 / model.parameter("c", n, [0, 4]) * x, where=["bob"]).to_dict()
        {'bob': 0.75}
        """
        from ..notation.values import value_at

        return value_at(self.program, expression, self._any_point(), where)

    @property
    def duals(self) -> BlockView:
        """Duals of the constraints by name, ∂objective/∂(right-hand side)."""
        return BlockView(self.program.rows, self._dual(self.row_duals), "solution.duals")

    @property
    def reduced_costs(self) -> BlockView:
        """Reduced costs of the variables by name, ∂objective/∂(bound)."""
        return BlockView(
            self.program.columns, self._dual(self.column_duals), "solution.reduced_costs"
        )

    @property
    def activity(self) -> BlockView:
        """What the rows of the constraints come to, by name."""
        return BlockView(self.program.rows, self.program.A @ self._any_point(), "solution.activity")

    @property
    def slack(self) -> BlockView:
        """Distance of each row from its nearer side, by constraint; infinite without a side."""
        activity = self.program.A @ self._any_point()
        return BlockView(
            self.program.rows,
            np.minimum(activity - self.program.row_lower, self.program.row_upper - activity),
            "solution.slack",
        )

    def frame(self, of: str = "variables") -> pd.DataFrame:
        """Return one row for each element of all variables, of all constraints, or of one of them.

        Parameters
        ----------
        of : str
            "variables", "constraints", or the name of a variable or family of constraints: of a
            variable with a mask, such as a flow on arcs, only what exists has a row.

        Returns
        -------
        DataFrame
            The name, a column for each index, ``value`` and ``reduced_cost`` (of constraints
            ``activity`` and ``dual``; NaN without duals), ``lower`` and ``upper``.

        Raises
        ------
        NoSolutionError
            When there is no point.
        UnknownNameError
            For a name that there is not.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> print(solution.frame().to_string(index=False))
        variable   n    value  reduced_cost  lower  upper
               x   A 3.000000           0.0    0.0    inf
               x   B 2.000000           0.0    0.0    inf
               t NaN 0.666667           0.0    0.0    inf
        >>> solution.frame("capacity")["dual"].round(3).tolist()
        [0.074, 0.0]
        """
        program = self.program
        x = self._any_point()
        by_name = {block.name: block for block in (*program.rows, *program.columns)}
        if of not in ("variables", "constraints"):
            names = ["variables", "constraints", *by_name]
            require_known(of, names, f"no variable and no constraint is called {quoted(of)}")
        columns = of == "variables" or of in [block.name for block in program.columns]
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
        blocks = program.columns if columns else program.rows
        if of not in ("variables", "constraints"):
            blocks = (by_name[of],)
        return tidy("variable" if columns else "constraint", blocks, numbers)

    def plot(self, name: str = "", **options: Any) -> Any:
        """Draw the values of a variable, or the activity of a constraint, as bars by label.

        Parameters
        ----------
        name : str, optional
            By default the first variable.
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
        name = name or next(iter(self.values))
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

    def ranges(self, of: Literal["constraints", "variables"] = "constraints") -> pd.DataFrame:
        """Return how far each right-hand side, or cost, may move with the basis optimal.

        Only one moves at a time.

        Within its range a right-hand side changes the objective by its dual times the change;
        within its range a cost leaves the point as it is. At a degenerate vertex other bases are
        optimal too, and the ranges are those of this one: others may reach further. An answer
        without a basis gets one of its own point, if that is a vertex.

        Parameters
        ----------
        of : {"constraints", "variables"}
            Right-hand sides, or costs.

        Returns
        -------
        DataFrame
            The name, a column for each index, ``rhs`` (of a row with two sides the one that it is
            at, else the nearer one) and ``dual``, or ``cost`` and ``reduced_cost``, and the range
            from ``lower`` to ``upper``.

        Raises
        ------
        UnsupportedError
            With integers or logarithms, for a point that is no vertex, or a basis that is singular.
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

        return ranges(self, of)

    @property
    def infeasibility_certificate(self) -> BlockView:
        """Checked multipliers, by constraint, that prove the program infeasible (Farkas)."""
        if self.row_ray is None:
            raise NoSolutionError(
                f"{self.solver} gave no proof that {self.program.name!r} is infeasible: "
                f"{self.status}; "
                "model.explain() names the constraints in conflict"
            )
        return BlockView(self.program.rows, self.row_ray, "solution.infeasibility_certificate")

    @property
    def unbounded_direction(self) -> BlockView:
        """Checked direction, by variable, in which the objective improves without end."""
        if self.column_ray is None:
            raise NoSolutionError(
                f"{self.solver} gave no direction in which {self.program.name!r} is unbounded: "
                f"{self.status}"
            )
        return BlockView(self.program.columns, self.column_ray, "solution.unbounded_direction")

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
        from .certificate import verify

        by_word = self.bound if self.program.is_mip else None
        certificate = verify(self.program, self._any_point(), self.row_duals, bound=by_word)
        return replace(certificate, tolerance=self.status.tolerance)

    def certify(self, exact: bool = False) -> Proof:
        """Return whether the answer is optimal: by residuals and gap, or exactly from the basis.

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
        from .proof import Proof

        if not exact and self.program.is_mip:
            return self._against_relaxation()
        if not exact:
            certificate = self.verify()
            return Proof(
                certificate.is_optimal,
                certificate.verdict,
                float("nan") if certificate.gap is None else certificate.gap,
            )
        from .exact_certificate import prove

        return prove(self)

    def _against_relaxation(self) -> Proof:
        """Return whether the linear relaxation's dual bound proves an integer point optimal."""
        from .backends import solve
        from .certificate import dual_bound
        from .proof import Proof

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
                f"{self.solver} did not solve {self.program.name!r}: {self.status}{self._remedy()}"
            )
        return self

    def _remedy(self) -> str:
        """Return what to do where there is no feasible point."""
        if self.status.termination in HOPELESS:
            return "; model.explain() says why"
        if self.x is None or self.is_feasible:
            return ""
        return "; solution.values has its point, solution.violations() what it breaks"

    def violations(self) -> pd.DataFrame:
        """Return the rows and bounds that the point breaks, the farthest first.

        What is below the rounding of a row's own terms is left out.

        Returns
        -------
        DataFrame
            ``kind`` ("constraint" or "bound"), ``name`` of the row or variable, ``value`` that it
            has, ``lower`` and ``upper``, and ``violation`` in its own units.

        Raises
        ------
        NoSolutionError
            When there is no point at all.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> replace(solution, x=solution.x * 1.1).violations()[["name", "violation"]].round(6)
                name  violation
        0  capacity[cpu]        0.9
        """
        from .inspection import violations

        return violations(self.program, self._any_point())

    def checked(self, by_word: bool = False, accuracy: float = VERIFIED) -> Solution:
        """Return self as far as its own arrays bear it out.

        A point that is not feasible stays, and the status says that it is not. An optimum that its
        duals do not prove is not called optimal. With logarithms or powers an objective right to g
        is at a point that is right to √g only, so that the optimality conditions may be off by as
        much. A point with integers that breaks a row at whole numbers is moved to one of the linear
        program that these leave.

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
        'not feasible'
        """
        if self.x is None:
            return self
        certificate = self.verify()
        answer = self
        if self.program.is_mip and not certificate.is_feasible:
            answer = self._at_whole_numbers()
            if not answer.is_feasible:
                return answer
            certificate = answer.verify()
        feasible = certificate.is_feasible
        optimal = answer.status.is_optimal
        if optimal and feasible and self.row_duals is None and by_word:
            message = f"{answer.status.message}; as the solver says"
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
        point_status = Point.FEASIBLE if feasible else Point.INFEASIBLE
        claim = "not proved optimal" if feasible else "not feasible"
        termination = Termination.UNKNOWN if optimal else answer.status.termination
        status = Status(
            termination,
            point_status,
            Point.NONE,
            f"{answer.status.message}; {claim}: {certificate}",
        )
        return replace(answer, status=status, row_duals=None, column_duals=None)

    def _at_whole_numbers(self) -> Solution:
        """Return the answer of the linear program at these integers, where all rows hold.

        One that is worth less than the solver said is not called optimal.
        """
        from .backends import solve
        from .integers import at_integers
        from .sizes import integer_objective_size

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
        size = max(abs(self.objective), integer_objective_size(self.program, linear_solution.x))
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
        """Return the column values of a feasible point, or raise with the reason.

        Returns
        -------
        ndarray

        Raises
        ------
        NoSolutionError
            When there is no point, or one that is not feasible.

        Examples
        --------
        >>> import fairlp
        >>> solution = fairlp.formulate(fairlp.examples.ghodsi(), "drf").solve()
        >>> solution.require_point().round(3).tolist()
        [3.0, 2.0, 0.667]
        """
        if not self.is_feasible:
            raise self._without_point()
        return self._any_point()

    def _any_point(self) -> np.ndarray:
        if self.x is None:
            raise self._without_point()
        return self.x

    def _without_point(self) -> NoSolutionError:
        return NoSolutionError(
            f"{self.solver} gave no solution of {self.program.name!r}: {self.status}{self._remedy()}"
        )

    def _dual(self, values: np.ndarray | None) -> np.ndarray:
        if values is None:
            reason = RELAX if self.program.is_mip and self.x is not None else str(self.status)
            raise NoSolutionError(f"{self.solver} gave no duals of {self.program.name!r}: {reason}")
        return values

    def to_xarray(self) -> Any:
        """Return the values as an ``xarray.Dataset`` over the labels, NaN for missing ones.

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
        values = "" if self.x is None else html_of_values(self.values)
        return f"<p>{escape(repr(self))}</p><p>{escape(str(self.status))}</p>{values}"

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
    """Return a solution whose status follows from its arrays: no "optimal" without a point."""
    if x is None and termination is Termination.OPTIMAL:
        termination = Termination.UNKNOWN
    point_status = Point.OPTIMAL if termination is Termination.OPTIMAL else Point.FEASIBLE
    primal, dual = (Point.NONE if array is None else point_status for array in (x, row_duals))
    status = Status(termination, primal, dual, message)
    return Solution(program, status, solver, x, row_duals, column_duals, **attributes)


def start_of(program: Program, start: Mapping[str, Any] | Solution) -> np.ndarray:
    """Return a point to begin from, by column: within the bounds, and NaN where nothing is given.

    Integers are rounded, and what is fixed has its fixed value. Left out, for the solver to
    complete the rest, are values outside their bounds and the integers that no row admits, such as
    beside what was fixed since. Of a Solution, variables that the program does not have are left
    out, too.

    Raises
    ------
    UnknownNameError
        For a variable or a label that there is not.
    NoSolutionError
        For a Solution without a point.
    """
    from ..notation.values import packed

    names = {block.name for block in program.columns}
    if isinstance(start, Solution):
        # what the other program has beside is no matter
        start = {name: values for name, values in start.values.items() if name in names}
    point = np.full(program.n_columns, np.nan)
    for name, values in start.items():
        block = program.column_block(name)
        point[block.slice] = packed(block, values)
    whole = program.integrality > 0
    point[whole] = np.round(point[whole])
    low, high = program.whole_bounds()
    room = FEASIBILITY * np.maximum(1.0, abs(point))
    point[((point < low - room) | (point > high + room)) & (low < high)] = np.nan
    np.clip(point, low, high, out=point)
    if whole.any():
        point[_inadmissible(program, point)] = np.nan
    return point


def _inadmissible(program: Program, point: np.ndarray) -> np.ndarray:
    """Return the integer columns whose values break a row, whatever the columns without values are.

    Of such a row these are the columns that can mend it: of ``y1 + y2 + y3 <= 2``, with all three
    at 1, those that are not fixed at 1.
    """
    bounds = program.whole_bounds()
    is_set = np.isfinite(point) & (program.integrality > 0)
    lowest, highest = (np.where(is_set, point, side) for side in bounds)
    entries = program.A.tocoo(copy=False)
    inadmissible = np.zeros(program.n_columns, dtype=bool)
    # a row's least activity is above its upper side, or that of the row times −1
    for sign, side in ((1.0, program.row_upper), (-1.0, -program.row_lower)):
        coefficients = sign * entries.data
        rises = coefficients > 0
        columns = entries.col
        with np.errstate(invalid="ignore"):  # 0 times infinity, of an entry that is 0
            smallest = coefficients * np.where(rises, lowest[columns], highest[columns])
        least_activity = np.bincount(entries.row, smallest, program.n_rows)
        size = np.bincount(entries.row, abs(smallest), program.n_rows)
        room = FEASIBILITY * np.maximum(1.0, size)
        can_sink = np.where(
            rises, point[columns] > bounds[0][columns], point[columns] < bounds[1][columns]
        )
        breaks = is_set[columns] & can_sink & (least_activity > side + room)[entries.row]
        inadmissible[columns[breaks]] = True
    return inadmissible
