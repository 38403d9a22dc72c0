"""What a modeller says: parameters, variables, constraints and the objective, declared, replaced and removed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from ..programs.program import Sense
from .entries import Constraint, Subset, bounds, parameter_values, require_name, subset_of
from .expressions import Expression, Index, Parameter, Relation, Variable, as_expression, union
from .tables import Tables, check_own, declared, removed, replaced


class Declarations(Tables):
    """The methods of a model that change it."""

    def changed(self, name: str | None = None) -> None:
        """Throw away what was compiled: all of it, or what the parameter or variable of that name stands in.

        Parameters
        ----------
        name : str, optional
            A parameter or variable whose numbers changed.
        """
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

        Returns
        -------
        Parameter

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

        Returns
        -------
        Subset
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
            A binary one is integer, and within 0 and 1 whatever its bounds.
        doc : str
            What it is, with the unit.

        Returns
        -------
        Variable

        Raises
        ------
        ModelError
            For a name that is taken, or bounds or a ``where`` that do not fit.
        """
        for index in over:
            if not isinstance(index, Index):
                raise ModelError(f"variable {name!r} runs over {index!r}; expected indices, one after the other")
        subset = subset_of(where, over, f"variable {name!r}")
        found = bounds(name, lower, upper, over, None if subset is None else subset.positions, binary)
        self._register(name, over)
        self._variables[name] = Variable(
            name, over, where=subset, bounds=found, integer=integer or binary, doc=doc, model=self
        )
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
        doc : str
            What it says.

        Returns
        -------
        Constraint
            Its handle, with ``.rows``, ``.replace(relation)`` and ``.remove()``.

        Raises
        ------
        ModelError
            For a name that is taken, what is no relation, or what another model declared.
        """
        require_name(name, "constraint")
        if name in self._constraints:
            raise ModelError(f"constraint {name!r} is declared twice in model {self.name!r}")
        self._constraints[name] = declared(self, name, relation, over, where, doc)
        self.changed()
        return self._constraints[name]

    def remove(self, name: str | Constraint | Parameter | Variable | Subset) -> None:
        """Remove what has the name, or what a handle stands for; the next solve is without it.

        Parameters
        ----------
        name : str, Constraint, Parameter, Variable or Subset

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

        Parameters
        ----------
        name : str or Constraint
        relation : Relation
        where : array_like of bool or Subset, optional
            Only these rows exist.

        Returns
        -------
        Constraint

        Raises
        ------
        ModelError
            For what is no constraint, no relation, or over other indices without a ``where``.
        """
        row = replaced(self, name, relation, where)
        self._constraints[row.name] = row
        self.changed()
        return row

    def define(self, name: str, expression: Expression) -> None:
        """Give a name to a formula of the variables, to be evaluated at a solution (``tasks = Γ[n]·g[n,i]``).

        Parameters
        ----------
        name : str
        expression : Expression

        Raises
        ------
        ModelError
            For what another model declared.
        """
        check_own(self, f"definition {name!r}", expression)
        self._definitions[name] = expression

    def maximize(self, objective: Any) -> None:
        """Set the objective: linear, or with weights times logarithms and powers.

        Parameters
        ----------
        objective : Expression or float
            One number: without free indices.

        Raises
        ------
        ModelError
            For a free index, or what another model declared.
        """
        self._optimise("max", objective)

    def minimize(self, objective: Any) -> None:
        """Set the objective to be minimised.

        Parameters
        ----------
        objective : Expression or float
            One number: without free indices.

        Raises
        ------
        ModelError
            For a free index, or what another model declared.
        """
        self._optimise("min", objective)

    def leximin(
        self, levels: Expression | Constraint, lowest: Variable | None = None, *, where: Any = None
    ) -> Constraint:
        """Say what the levels are: the lowest is maximised, then the next, and so on (:func:`fairlp.leximin`).

        Solved or written to a file as it is, the model is the first round: it maximises the lowest level.

        Parameters
        ----------
        levels : Expression or Constraint
            Linear, with an index: its elements are the levels, and the model gets a variable t and rows
            ``levels ≥ t``. Or such rows, ``… ≥ w·t``, which the model has already, with their t.
        lowest : Variable, optional
            The t of rows.
        where : array_like of bool or Subset, optional
            Of an expression: only these elements are levels.

        Returns
        -------
        Constraint
            The rows.

        Raises
        ------
        ModelError
            For an expression without an index or without variables, or rows without their t.

        Examples
        --------
        >>> from fairlp import Index, Model, leximin
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("cake", indices=(n,))
        >>> x = model.variable("x", n, upper=[1, 9])
        >>> cake = model.constraint("cake", x.sum(n) <= 4)
        >>> model.leximin(x + 0)
        <Constraint levels: x[n] + 0 ≥ t ∀ n: 2 rows>
        >>> leximin(model).levels.to_dict()
        {'ann': 1.0, 'bob': 3.0}
        """
        if isinstance(levels, Constraint):
            rows, t = self._constraints.get(levels.name), lowest
            if rows is not levels or t is None or t.indices:
                raise ModelError(
                    f"the levels of model {self.name!r} are rows of its own, given with the variable t of … ≥ w·t"
                )
        else:
            formula = as_expression(levels)
            if not formula.indices or formula.degree != 1:
                raise ModelError(f"levels {formula} are expected to be linear in the variables, and to have an index")
            t = self.variable(self._unused("t"), lower=None, doc="lowest level")
            rows = self.constraint(self._unused("levels"), formula >= t, where=where)
        self.maximize(t)
        self._levels = rows.name
        return rows

    def _unused(self, name: str) -> str:
        """Return a name that nothing in the model has."""
        while name in self:
            name += "_"
        return name

    def _optimise(self, sense: Sense, objective: Any) -> None:
        expression = as_expression(objective)
        if expression.indices:
            raise ModelError(
                f"the objective must be one number, but {expression} has the free index "
                f"{expression.indices[0].symbol!r}; sum over it"
            )
        check_own(self, "the objective", expression)
        self._sense, self._objective, self._levels = sense, expression, None
        self.changed()

    def _register(self, name: str, indices: tuple[Index, ...]) -> None:
        require_name(name, "variable, parameter or subset")
        if name in self._parameters or name in self._variables or name in self._subsets:
            raise ModelError(f"the name {name!r} is used twice in model {self.name!r}")
        self._indices = union(self._indices, indices)
        self.changed()
