"""``Model``: an optimisation problem in index notation, written the way a paper writes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ..programs.program import Program, Sense
from .editing import check_own, copied, declared, removed, replaced
from .entries import Constraint, Subset, bounds, parameter_values, subset_of
from .expressions import Expression, Index, Parameter, Relation, Variable, as_expression, union
from .tables import Tables

if TYPE_CHECKING:
    import pandas as pd

    from ..programs.backends import AnySolver
    from ..programs.solution import Solution


class Model(Tables):
    """A linear, mixed-integer or log-concave model over named indices.

    Parameters
    ----------
    name : str
        Name of the model, also in files.
    source : str
        Where it was published (paper, equation).
    indices : tuple of Index
        Order of the indices in rows: ``capacity[i,r]`` rather than ``capacity[r,i]``.

    Examples
    --------
    Dominant resource fairness on Ghodsi's example: 9 CPUs and 18 GB, two users.

    >>> from fairlp.models.notation.expressions import Index
    >>> n, r = Index("n", ["A", "B"]), Index("r", ["cpu", "memory"])
    >>> model = Model("DRF", indices=(n, r))
    >>> d = model.parameter("d", (n, r), [[1, 4], [3, 1]])
    >>> c = model.parameter("c", (r,), [9, 18])
    >>> gamma = model.parameter("Gamma", (n,), [4.5, 3.0], "tasks n could run alone")
    >>> x = model.variable("x", n)
    >>> t = model.variable("t")
    >>> model.constraint("capacity", (d * x).sum(n) <= c)
    <Constraint capacity: ∑_n d[n,r]·x[n] ≤ c[r] ∀ r: 2 rows>
    >>> fairness = model.constraint("fairness", x >= gamma * t)
    >>> model.maximize(t)
    >>> print(model)
    DRF
      maximize  t
      subject to
        capacity  ∑_n d[n,r]·x[n] ≤ c[r]   ∀ r
        fairness  x[n] ≥ Γ[n]·t   ∀ n
      with
        x[n] ≥ 0
        t ≥ 0
        d[n,r]
        c[r]
        Γ[n]      tasks n could run alone
        n         n (2)
        r         r (2)
    >>> model.compile()
    <Program 'DRF': LP, max, 4 rows × 3 columns, 8 nonzeros>
    """

    def changed(self, name: str | None = None) -> None:
        """Throw away what was compiled: all of it, or what the parameter or variable of that name stands in."""
        if name is None:
            self._program = None
            self._stale.clear()
        else:
            self._stale.add(name)

    def parameter(self, name: str, over: Index | tuple[Index, ...], values: Any, doc: str = "") -> Parameter:
        """Declare known numbers over indices.

        Parameters
        ----------
        name : str
            Name in formulas; Greek names (``phi``) and hats (``d_hat``) print as such.
        over : Index or tuple of Index
        values : array_like, Series, DataFrame or mapping
            One finite number for each combination of labels. What carries labels is put in the order of the indices, or
            refused; see :func:`.labels.aligned`.
        doc : str
            What the numbers are, with the unit.

        Raises
        ------
        ModelError
            For a duplicate name, a wrong shape, or a number that is not finite (the labels are named).
        """
        indices = (over,) if isinstance(over, Index) else tuple(over)
        found = parameter_values(values, indices, name)
        self._register(name, indices)
        self._parameters[name] = Parameter(name, indices, found, doc, model=self)
        return self._parameters[name]

    def subset(self, name: str, over: Index | tuple[Index, ...], where: Any, doc: str = "") -> Subset:
        """Declare some of the combinations of labels, for ``where`` of variables and constraints.

        Parameters
        ----------
        name : str
            Name in formulas: the model prints ``∀ (n,i) ∈ E``, and what E is.
        over : Index or tuple of Index
        where : array_like of bool
            One entry for each combination of labels.
        doc : str
            Which these are: "n may run on i". Without it they are enumerated.
        """
        indices = (over,) if isinstance(over, Index) else tuple(over)
        given = subset_of(where, indices, f"subset {name!r}")
        size = int(np.prod([len(index) for index in indices]))
        self._register(name, indices)
        positions = np.arange(size) if given is None else given.positions.copy()
        self._subsets[name] = Subset(name, indices, positions, doc)
        return self._subsets[name]

    def variable(
        self,
        name: str,
        *over: Index,
        where: Any = None,
        lower: Any = 0.0,
        upper: Any = None,
        integer: bool = False,
        binary: bool = False,
        doc: str = "",
    ) -> Variable:
        """Declare unknowns over indices; one exists only where ``where`` holds, and costs nothing elsewhere.

        Parameters
        ----------
        name : str
        *over : Index
        where : array_like of bool or Subset, optional
            One entry for each combination of labels.
        lower, upper : float, array_like or None
            Bounds (None: none). The default is ``0 <= x``.
        integer, binary : bool
        doc : str
            What it is, with the unit.
        """
        subset = subset_of(where, over, f"variable {name!r}")
        if binary:
            integer, lower, upper = True, 0.0, 1.0
        found = bounds(name, lower, upper, over, None if subset is None else subset.positions)
        self._register(name, over)
        self._variables[name] = Variable(name, over, where=subset, bounds=found, integer=integer, doc=doc, model=self)
        return self._variables[name]

    def constraint(
        self, name: str, relation: Relation, *, over: tuple[Index, ...] = (), where: Any = None, doc: str = ""
    ) -> Constraint:
        """Declare a family of constraints: one row for each combination of the relation's free indices.

        Parameters
        ----------
        name : str
        relation : Relation
            ``left <= right``, ``left >= right``, ``left == right``, or ``expression.between(low, high)``.
        over : tuple of Index, optional
            Order of the rows; the default is the model's order of indices.
        where : array_like of bool or Subset, optional
            Over the same indices: only these rows exist.

        Returns
        -------
        Constraint
            Its handle, with ``.rows``, ``.replace(relation)`` and ``.remove()``.
        """
        if name in self._constraints:
            raise ModelError(f"constraint {name!r} is declared twice in model {self.name!r}")
        self._constraints[name] = declared(self, name, relation, over, where, doc)
        self.changed()
        return self._constraints[name]

    def remove(self, name: str | Constraint | Parameter | Variable | Subset) -> None:
        """Remove what has the name, or what a handle stands for; the next solve is without it.

        Raises
        ------
        ModelError
            For a parameter, variable or subset that is still used, with where it is.
        """
        removed(self, name)
        self.changed()

    def replace(self, name: str | Constraint, relation: Relation, *, where: Any = ...) -> Constraint:
        """Put another relation in the place of a family of constraints, and return the handle of that.

        Its name, its place among the rows and what it says of itself stay, and its ``where``, unless another is given
        (None: no mask). Where anything is wrong, the model stays as it was.
        """
        row = replaced(self, name, relation, where)
        self._constraints[row.name] = row
        self.changed()
        return row

    def copy(self) -> Model:
        """Return an independent model: editing one leaves the other as it is.

        Expressions and handles of this model are not of the copy: there, take ``copy["g"]``.
        """
        return copied(self)

    __copy__ = copy

    def define(self, name: str, expression: Expression) -> None:
        """Give a name to a formula of the variables, to be evaluated at a solution (``tasks = Γ[n]·g[n,i]``)."""
        check_own(self, f"definition {name!r}", expression)
        self._definitions[name] = expression

    def evaluate(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return the values of a definition at column values ``x``, one array axis for each of its indices."""
        from .compiler import evaluate

        return evaluate(self, self.definitions[name], x)

    def maximize(self, objective: Any) -> None:
        """Set the objective: linear, or with weights times logarithms and powers."""
        self._optimise("max", objective)

    def minimize(self, objective: Any) -> None:
        """Set the objective to be minimised."""
        self._optimise("min", objective)

    def compile(self) -> Program:
        """Return the model as frozen arrays; O(nonzeros), without a loop over rows.

        Raises
        ------
        ModelError
            When the model cannot be written as a linear program with logarithms or powers in the objective.
        """
        if self._program is None:
            from .compiler import compile_model

            self._program = compile_model(self)
        elif self._stale:
            from .patching import patched

            self._program = patched(self, self._program, self._stale)
        self._stale.clear()
        return self._program

    def solve(self, solver: AnySolver = "highs", **options: Any) -> Solution:
        """Solve with a back end: a name of :func:`fairlp.solvers`, or one's own (:class:`fairlp.Backend`).

        Options are those of :class:`fairlp.Options`.
        """
        from ..programs.backends import build_and_solve

        return build_and_solve(self.compile, solver, options)

    def sweep(
        self,
        parameter: str | Parameter,
        values: Any,
        *,
        read: Any = (),
        solver: AnySolver = "highs",
        **options: Any,
    ) -> pd.DataFrame:
        """Solve for one value of a parameter after the other, each from the last basis; the model stays as it was.

        See :func:`.sweeps.sweep`.
        """
        from .sweeps import sweep

        return sweep(self, parameter, values, read=read, solver=solver, options=options)

    def read_back(self, solved: Any) -> Solution:
        """Return the Solution of a solved object that ``to_highs``, ``to_pyomo`` or ``to_cvxpy`` made from this model.

        Raises
        ------
        UnsupportedError
            For an object of another kind.
        """
        from ..programs.backends import reader

        return reader(solved)(self, solved)

    def explain(self, solver: AnySolver = "highs") -> pd.DataFrame:
        """Return why the model is infeasible or unbounded, as a table in its own names.

        See :func:`fairlp.solvers.backends.explain.explain`; empty when there is an optimum.
        """
        from ..programs.backends import explain

        return explain(self.compile(), solver)

    def write(self, path: str | Path, **options: Any) -> list[Path]:
        """Write the model as ``.mps``, ``.lp`` (also ``.gz``) or ``.nl``; see ``docs/model-files.md``.

        Options are those of :func:`fairlp.models.files.programs.write_program`; ``.nl`` is written by Pyomo.
        """
        if Path(path).suffix.lower() == ".nl":
            from ..files.nl import write_nl

            return write_nl(self, path, **options)
        from ..files.programs import write_program

        return write_program(self.compile(), path, **options)

    def to_highs(self) -> Any:
        """Return a loaded ``highspy.Highs`` object with the model's own row and column names."""
        from ..programs.backends import lowering

        return lowering("highs")(self)

    def to_pyomo(self) -> Any:
        """Return a Pyomo ``ConcreteModel`` with sets, variables and constraints under the model's own names."""
        from ..programs.backends import lowering

        return lowering("pyomo")(self)

    def to_cvxpy(self) -> Any:
        """Return a CVXPY ``Problem`` with named variables and constraints."""
        from ..programs.backends import lowering

        return lowering("cvxpy")(self)

    def to_latex(self, *, symbols: bool = False) -> str:
        """Return the model as a LaTeX ``aligned`` block, for a paper; with what each symbol stands for, if asked."""
        from .render import model_latex

        return model_latex(self, symbols)

    def __str__(self) -> str:
        from .render import model_text

        return model_text(self)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.to_latex(symbols=True)}\n$$"

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.variables)} variables, {len(self.constraints)} constraints>"

    def _optimise(self, sense: Sense, objective: Any) -> None:
        expression = as_expression(objective)
        if expression.indices:
            raise ModelError(
                f"the objective must be one number, but {expression} has the free index "
                f"{expression.indices[0].symbol!r}; sum over it"
            )
        check_own(self, "the objective", expression)
        self._sense, self._objective = sense, expression
        self.changed()

    def _register(self, name: str, indices: tuple[Index, ...]) -> None:
        if name in self._parameters or name in self._variables or name in self._subsets:
            raise ModelError(f"the name {name!r} is used twice in model {self.name!r}")
        self._indices = union(self._indices, indices)
        self.changed()
