"""``Model``: an optimisation problem in index notation, written the way a paper writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...errors import ModelError, quoted, require_known
from ...keywords import lists
from ..programs.options import SolveOptions, WriteOptions
from ..programs.program import Program, Sense, free_name
from ..programs.writers import write
from .concave_levels import in_variables, require_concave, require_linear
from .edits import copied, removed, replaced, with_absolutes
from .expressions import Expression, Relation, as_expression
from .labels import Index, as_indices, union
from .reals import is_whole_number
from .switches import binary, implied, interpolated, parts_of, special_ordered, zero_or_at_least
from .tables import (
    Constraint,
    Tables,
    check_own,
    checked_objective,
    declared,
    require_name,
    require_one_objective,
)
from .variables import (
    Parameter,
    ParameterPart,
    Subset,
    Variable,
    bounds,
    declared_numbers,
    indices_before,
    subset_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..programs.backends import AnySolver
    from ..programs.solution import Solution
    from .sweeps import ModelSession

# What a modeller says: parameters, variables, constraints and the objective, declared, replaced and
# removed.


class Declarations(Tables):
    """The methods of a model that change it."""

    def _changed(self, name: str | None = None) -> None:
        """Discard the compiled program, or its parts that depend on the parameter or variable."""
        if name is None:
            self._program = None
            self._stale.clear()
        else:
            self._stale.add(name)

    def parameter(
        self,
        name: str,
        over: Index | tuple[Index, ...] = (),
        values: Any = None,
        doc: str = "",
        *,
        default: float | None = None,
    ) -> Parameter:
        """Declare known numbers over indices.

        Parameters
        ----------
        name : str
            Name in formulas; Greek names (``phi``) and hats (``d_hat``) print as such.
        over : Index or tuple of Index
            Several go in a tuple.
        values : array_like, Series, DataFrame, mapping or sparse array of SciPy
            One finite number for each combination of labels. What carries labels is put in the
            order of the indices, or refused; see the page ``docs/labels.md``. A long table has a
            column for each index, called after it, and one of numbers.
        doc : str
            What the numbers are, with the unit.
        default : float, optional
            The number of combinations that labelled data do not have. Of a default of 0 and several
            indices only the others are kept, as in a sparse array.

        Returns
        -------
        Parameter

        Raises
        ------
        ModelError
            For a duplicate name, a wrong shape, or a number that is not finite (the labels are
            named).

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> model.parameter("d", n, {"bob": 2, "ann": 1}).values.tolist()
        [1.0, 2.0]
        >>> i = Index("i", ["s1", "s2"], "server")
        >>> model.parameter("c", (n, i), {("bob", "s1"): 5}, default=0).values.tolist()
        [[0.0, 0.0], [5.0, 0.0]]
        """
        require_name(name, "variable, parameter or subset")
        indices = indices_before(f"parameter {name!r}", over, values)
        numbers = declared_numbers(values, indices, name, default)
        self._register(name, indices)
        self._parameters[name] = Parameter(name, indices, numbers, doc, default=default, model=self)
        return self._parameters[name]

    def subset(
        self, name: str, over: Index | tuple[Index, ...], where: Any, doc: str = ""
    ) -> Subset:
        """Declare some of the combinations of labels, for ``where`` of variables and constraints.

        Parameters
        ----------
        name : str
            Name in formulas: the model prints ``∀ (n,i) ∈ E``, and what E is.
        over : Index or tuple of Index
        where : array_like of bool, or list or table of combinations
            One flag for each combination of labels; or those that there are, such as the arcs of a
            network: a list of tuples, a table with a column for each index, a MultiIndex.
        doc : str
            Which these are: "n may run on i". Without it they are enumerated.

        Returns
        -------
        Subset

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> old = model.subset("E", n, [True, False], "n was here last year")
        >>> print(model.variable("x", n, where=old).lower)
        [0.]
        >>> i, j = Index("i", ["a", "b", "c"], "node"), Index("j", ["a", "b", "c"], "node")
        >>> model.subset("A", (i, j), [("a", "b"), ("b", "c")])
        <Subset A of i,j: 2 of 9>
        """
        indices = indices_before(f"subset {name!r}", over, where)
        elements = subset_of(where, indices, f"subset {name!r}")
        self._register(name, indices)
        self._subsets[name] = Subset(name, indices, elements.positions.copy(), doc)
        return self._subsets[name]

    def variable(
        self,
        name: str,
        *over: Index | tuple[Index, ...],
        where: Any = None,
        lower: Any = 0.0,
        upper: Any = None,
        integer: bool = False,
        binary: bool = False,
        doc: str = "",
    ) -> Variable:
        """Declare unknowns over indices, one for each element where ``where`` holds.

        Other elements do not exist and cost nothing.

        Parameters
        ----------
        name : str
        *over : Index or tuple of Index
            One after the other, or in a tuple.
        where : array_like of bool, list or table of combinations, or Subset, optional
            A flag for each combination of labels, or those that exist (see :meth:`subset`); over
            all of the indices, or some of them.
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

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"], "user")
        >>> Model("m").variable("x", n, upper=3, integer=True)
        <Variable 0 ≤ x[n] ≤ 3 integer: 2 users>
        """
        indices = as_indices(over, f"variable {name!r} runs over")
        mask = subset_of(where, indices, f"variable {name!r}")
        existing = None if mask._is_full else mask.positions
        limits = bounds(name, lower, upper, indices, existing, binary)
        self._register(name, indices)
        self._variables[name] = Variable(
            name,
            indices,
            where=mask,
            bounds=limits,
            integer=integer or binary,
            doc=doc,
            model=self,
        )
        return self._variables[name]

    def constraint(
        self,
        name: str,
        relation: Relation | bool = None,  # type: ignore[assignment]  # refused, with what to write
        *,
        over: Index | tuple[Index, ...] = (),
        where: Any = None,
        doc: str = "",
    ) -> Constraint:
        """Declare a family of constraints, a row for each combination of the relation's indices.

        Parameters
        ----------
        name : str
        relation : Relation
            ``left <= right``, ``left >= right``, ``left == right``, or ``expression.between(low,
            high)``. A row whose limit is infinite does not bind. Beside a variable with a mask may
            stand labelled numbers of just the elements that exist: the rows are those of them.
        over : Index or tuple of Index, optional
            Order of the rows; the default is the model's order of indices.
        where : array_like of bool, list or table of combinations, or Subset, optional
            Over the same indices, or some of them (a Series over hours): only these rows exist. A
            variable with a mask counts as 0 where it does not exist; without ``where`` a warning says
            so of rows in which it stands alone, and ``True`` asks for all rows without it.
        doc : str
            What it says, or its number in a paper, ``"(7)"``: printed behind it.

        Returns
        -------
        Constraint
            Its handle, with ``.rows``, ``.replace(relation)`` and ``.remove()``.

        Raises
        ------
        ModelError
            For a name that is taken, what is no relation, or what another model declared.

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x = model.variable("x", n)
        >>> model.constraint("cake", x.sum(n) <= 4).rows
        ['cake']
        >>> model.constraint("least", x >= {"bob": 2, "ann": 1}).rows
        ['least[ann]', 'least[bob]']
        """
        require_name(name, "constraint")
        if name in self._constraints:
            raise ModelError(
                f"constraint {name!r} is declared twice in model {self.name!r}; a row for each "
                "label is written once, x <= 4, and in a loop each has a name of its own"
            )
        order = as_indices(over, f"constraint {name!r} runs over")
        self._constraints[name] = declared(self, name, relation, order, where, doc)
        self._changed()
        return self._constraints[name]

    def indicator(
        self,
        name: str,
        condition: Variable,
        relation: Relation,
        *,
        active: Literal[0, 1] = 1,
        big_m: Any = None,
        where: Any = None,
    ) -> Constraint:
        """Declare a constraint that holds where a binary variable is 1, or 0.

        The formula is ``condition = 1 ⇒ relation``.

        It is compiled as ``left − right <= M·(1 − condition)``, with the least M that the bounds of
        the variables allow at that time. A solution at which the relation itself does not hold is
        not called optimal, whatever the tolerance times M is.

        Parameters
        ----------
        name : str
            Of two-sided relations (``==`` and ranges), the rows of the second side are called
            ``name_below``.
        condition : Variable
            Binary, or elements of a binary one.
        relation : Relation
        active : {1, 0}
            The value of the condition at which the relation holds.
        big_m : float, array_like or Parameter, optional
            By how much the relation can be missed at most, where the bounds of variables do not say
            so.
        where : array_like of bool or Subset, optional
            Only these rows exist.

        Returns
        -------
        Constraint
            Removing it removes all that was declared with it.

        Raises
        ------
        ModelError
            For a condition that is not binary, or a variable without the bound that M needs.

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x, z = model.variable("x", n, upper=[4, 9]), model.variable("z", n, binary=True)
        >>> model.indicator("closed", z, x <= 1)
        <Constraint closed: z[n] = 1 ⇒ x[n] ≤ 1 ∀ n: 2 rows>
        >>> model.compile().A.toarray().tolist()
        [[1.0, 0.0, 3.0, 0.0], [0.0, 1.0, 0.0, 8.0]]
        """
        is_flag = isinstance(active, (bool, np.bool_))
        if not (is_flag or is_whole_number(active)) or active not in (0, 1):
            raise ModelError(f"indicator {name!r} is active at {quoted(active)}; expected 1 or 0")
        return implied(
            self, name, binary(self, name, condition), relation, active, where=where, big_m=big_m
        )

    def sos1(self, name: str, expression: Expression, over: Index) -> Constraint:
        """Declare that at most one element along an index is not 0.

        Written with binaries ``name_on`` and rows ``name_off``, ``name_off_below``; the variables
        need finite bounds.

        Parameters
        ----------
        name : str
        expression : Expression
            A variable, or what is linear in variables.
        over : Index

        Returns
        -------
        Constraint
            Removing it removes all that was declared with it.

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x = model.variable("x", n, upper=[2, 3])
        >>> one = model.sos1("one", x, n)
        >>> model.maximize(x.sum())
        >>> model.solve().objective
        3.0
        """
        return special_ordered(self, name, expression, over, 1)

    def sos2(self, name: str, expression: Expression, over: Index) -> Constraint:
        """Declare that at most two elements, neighbours along an index, are not 0.

        As :meth:`sos1`; the order is that of the labels.

        Parameters
        ----------
        name : str
        expression : Expression
            A variable, or what is linear in variables.
        over : Index

        Returns
        -------
        Constraint
            Removing it removes all that was declared with it.

        Examples
        --------
        >>> k = Index("k", [0, 1, 2])
        >>> model = Model("m")
        >>> x = model.variable("x", k, upper=[5, 1, 4])
        >>> neighbours = model.sos2("neighbours", x, k)
        >>> model.maximize(x.sum())
        >>> model.solve().objective
        6.0
        """
        return special_ordered(self, name, expression, over, 2)

    def semicontinuous(self, name: str, expression: Expression, least: Any) -> Constraint:
        """Declare that each element is 0, or at least some number.

        Written with binaries ``name_on`` and rows ``name_off``, ``name_off_below``; the variables
        need finite bounds, and 0 within them.

        Parameters
        ----------
        name : str
        expression : Expression
            A variable, or what is linear in variables; of an integer variable it is semi-integer.
        least : float, array_like or Parameter
            The smallest amount that is not 0.

        Returns
        -------
        Constraint
            Removing it removes all that was declared with it.

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x = model.variable("x", n, upper=9)
        >>> batch = model.semicontinuous("batch", x, {"bob": 5, "ann": 2})
        >>> cake = model.constraint("cake", x.sum() <= 6)
        >>> model.maximize(x["ann"] + 2 * x["bob"] - 6 * model["batch_on"]["bob"])
        >>> model.solve().values["x"].to_dict()
        {'ann': 6.0, 'bob': 0.0}
        """
        return zero_or_at_least(self, name, expression, least)

    def piecewise(self, name: str, x: Expression, breakpoints: Any, values: Any) -> Variable:
        """Declare y = f(x), a piecewise linear function of an expression, convex or not.

        x is between the first and the last breakpoint. Where two breakpoints are equal, f jumps: y
        is one of the two values there, and nothing between them. So ``[0, 0, 5]`` with the values
        ``[0, 10, 20]`` is a fixed charge of 10 as soon as x is above 0. Written with weights of the
        breakpoints (``name_weight``), of which at most two that follow each other are not 0
        (:meth:`sos2`).

        Parameters
        ----------
        name : str
        x : Expression
            A variable, or what is linear in variables.
        breakpoints : array_like
            Rising numbers, or two that are equal: one list for all elements, or one for each (the
            indices of x, and the breakpoints last).
        values : array_like
            f at the breakpoints, likewise.

        Returns
        -------
        Variable
            y, over the indices of x. Removing it removes all that was declared with it.

        Raises
        ------
        ModelError
            For fewer than two breakpoints, some that fall, or three that are equal.

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x", upper=10)
        >>> y = model.piecewise("cost", x, [0, 4, 10], [0, 8, 11])
        >>> least = model.constraint("least", x >= 6)
        >>> model.minimize(y)
        >>> model.solve().objective
        9.0

        A delivery costs 10 at once, and 2 a unit:

        >>> z = model.variable("z", upper=5)
        >>> delivery = model.piecewise("delivery", z, [0, 0, 5], [0, 10, 20])
        >>> some = model.constraint("some", x + z >= 13)
        >>> model.minimize(delivery)
        >>> model.solve().objective
        16.0
        """
        return interpolated(self, name, x, breakpoints, values)

    def remove(self, name: str | Constraint | Parameter | Variable | Subset) -> None:
        """Remove what has the name, or what a handle stands for; the next solve is without it.

        Parameters
        ----------
        name : str, Constraint, Parameter, Variable or Subset

        Raises
        ------
        ModelError
            For a parameter, variable or subset that is still used, with where it is.

        Examples
        --------
        >>> model = Model("m")
        >>> rows = model.constraint("k", model.variable("x") <= 4)
        >>> model.remove("k")
        >>> "k" in model
        False
        """
        removed(self, name)
        self._changed()

    def replace(
        self, name: str | Constraint, relation: Relation, *, where: Any = ...
    ) -> Constraint:
        """Replace a family of constraints by another relation, and return the new handle.

        Its name, its place among the rows and what it says of itself stay, and its ``where``,
        unless another is given (None: no mask). Where anything is wrong, the model stays as it was.

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

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x")
        >>> rows = model.constraint("k", x <= 4)
        >>> model.replace("k", 2 * x <= 5)
        <Constraint k: 2·x ≤ 5: 1 row>
        """
        row = replaced(self, name, relation, where)
        self._constraints[row.name] = row
        self._changed()
        return row

    def define(self, name: str, expression: Expression) -> None:
        """Name a formula to be evaluated at a solution, such as ``tasks = Γ[n]·g[n,i]``.

        Parameters
        ----------
        name : str
        expression : Expression

        Raises
        ------
        ModelError
            For what another model declared.

        Examples
        --------
        >>> model = Model("m")
        >>> model.define("double", 2 * model.variable("x"))
        >>> float(model.evaluate("double", np.array([3.0])))
        6.0
        """
        check_own(self, f"definition {name!r}", expression)
        self._definitions[name] = expression

    def maximize(
        self,
        objective: Any,
        *,
        rel_tolerance: float = 0.0,
        abs_tolerance: float = 0.0,
    ) -> None:
        """Set the objective, or several in order.

        It is linear, or has weights times logarithms and powers. Of several, each is maximised
        among the optima of those before it; see :meth:`minimize` and :meth:`solve`. Write ``-cost``
        for one that is minimised.

        Parameters
        ----------
        objective : Expression or float, or list of them
            Each is one number: without free indices.
        rel_tolerance, abs_tolerance : float
            By how much each objective of a list may give way to those after it: so much of its
            optimum, plus so much.

        Raises
        ------
        ModelError
            For a free index, or what another model declared.

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x", upper=3)
        >>> model.maximize(2 * x + 1)
        >>> model.solve().objective
        7.0
        """
        self._optimise("max", objective, rel_tolerance, abs_tolerance)

    def minimize(
        self,
        objective: Any,
        *,
        rel_tolerance: float = 0.0,
        abs_tolerance: float = 0.0,
    ) -> None:
        """Set the objective to be minimised, or several in order.

        Of several, each is minimised among the optima of those before it: ``[f, g]`` is the least
        f, and the least g that this f allows. Write ``-g`` for one that is maximised. All but the
        last are linear but for absolute values.

        Absolute values in it have weights ≥ 0 (≤ 0 where it is maximised). Each becomes a variable
        ``abs1`` with rows ``abs1_above`` and ``abs1_below``, which go when the objective is
        replaced.

        Parameters
        ----------
        objective : Expression or float, or list of them
            Each is one number: without free indices.
        rel_tolerance, abs_tolerance : float
            By how much each objective of a list may give way to those after it: so much of its
            optimum, plus so much.

        Raises
        ------
        ModelError
            For a free index, what another model declared, or logarithms and powers in an objective
            before the last.

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x = model.variable("x", n)
        >>> cake = model.constraint("cake", x.sum() <= 4)
        >>> model.minimize(abs(x - [1, 5]).sum())
        >>> model.solve().objective
        2.0
        >>> model.minimize([-x.sum(), x["ann"]])
        >>> model.solve().values["x"].round(9).to_dict()
        {'ann': 0.0, 'bob': 4.0}
        """
        self._optimise("min", objective, rel_tolerance, abs_tolerance)

    def leximin(
        self, levels: Expression | Constraint, lowest: Variable | None = None, *, where: Any = None
    ) -> Constraint:
        """Set the levels of a leximin, which maximises the lowest, then the next, and so on.

        :func:`fairlp.leximin` solves it.

        Solved or written to a file as it is, the model is the first round: it maximises the lowest
        level. With logarithms or powers in the levels only :func:`fairlp.leximin` solves it.

        Parameters
        ----------
        levels : Expression or Constraint
            With an index: its elements are the levels, and the model gets a variable t and rows
            ``levels ≥ t``. Linear, or concave in the variables, of logarithms, powers and
            :func:`fairlp.minimum`; the page ``docs/concave-levels.md`` describes these. Or such
            rows, ``… ≥ w·t``, which the model has already, with their t.
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
            For an expression without an index or without variables, one that is not concave, or
            rows without their t.

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
            rows = self._constraints.get(levels.name)
            t = lowest
            if rows is not levels or t is None or t.indices:
                raise ModelError(
                    f"the levels of model {self.name!r} are rows of its own, given with the "
                    "variable t of … ≥ w·t"
                )
        else:
            formula = as_expression(levels)
            if not formula.indices or not formula.degree:
                raise ModelError(
                    f"levels {formula} are expected to be linear or concave in the variables, "
                    "and to have an index"
                )
            check_own(self, "the levels", formula)
            if formula.degree > 1:
                require_concave(formula)
            t = self.variable(free_name("t", self), lower=None, doc="lowest level")
            name = free_name("levels", self)
            with parts_of(self, "constraint", name):
                linear = in_variables(self, formula) if formula.degree > 1 else formula
                rows = self.constraint(name, linear >= t, where=where)
        self.maximize(t)
        self._levels = rows.name
        return rows

    def _optimise(
        self, sense: Sense, formulas: Any, rel_tolerance: float, abs_tolerance: float
    ) -> None:
        tolerances = (rel_tolerance, abs_tolerance)
        gives_way = any(type(number) is not float or number for number in tolerances)
        if gives_way or isinstance(formulas, (list, tuple)):
            from .in_order import checked_tolerances, objectives_of

            tolerances = checked_tolerances(formulas, rel_tolerance, abs_tolerance)
            objectives = objectives_of(self, formulas)
        else:
            objectives = (checked_objective(self, "the objective", formulas),)
        if self._absolutes or any(objective.degree > 1 for objective in objectives):
            objectives = with_absolutes(self, objectives)
        self._tolerances = tolerances
        self._sense = sense
        self._objectives = objectives
        self._levels = ""
        self._changed()

    def _register(self, name: str, indices: tuple[Index, ...]) -> None:
        require_name(name, "variable, parameter or subset")
        if name in self._parameters or name in self._variables or name in self._subsets:
            raise ModelError(f"the name {name!r} is used twice in model {self.name!r}")
        self._indices = union(self._indices, (index.whole or index for index in indices))
        self._changed()


class Model(Declarations):
    """A linear, mixed-integer or log-concave model over named indices.

    =======  =======================================================================================
    declare  :meth:`parameter`, :meth:`subset`, :meth:`variable`, :meth:`constraint`,
             :meth:`indicator`, :meth:`semicontinuous`, :meth:`piecewise`, :meth:`sos1`,
             :meth:`sos2`, :meth:`define`; :meth:`maximize`, :meth:`minimize`, :meth:`leximin`
    solve    :meth:`solve`, :meth:`session`, :meth:`sweep`
    read     ``model["x"]``, :attr:`variables`, :attr:`parameters`, :attr:`constraints`,
             :attr:`subsets`, :attr:`definitions`, :attr:`objective`, :attr:`objectives`,
             :attr:`sense`, :attr:`indices`; :meth:`evaluate`
    check    :meth:`explain`, :meth:`statistics`, :meth:`equals`
    change   :meth:`replace`, :meth:`remove`, :meth:`copy`, :meth:`relax_integrality`;
             of what it is made of :meth:`.Parameter.set`, :meth:`.Variable.set`,
             :meth:`.Variable.fix`, :meth:`.Constraint.replace`
    write    ``print(model)``, :meth:`to_latex`, :meth:`write`, :meth:`compile`, :meth:`to_highs`,
             :meth:`to_pyomo`, :meth:`to_cvxpy`, :meth:`read_back`
    =======  =======================================================================================

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

    def copy(self) -> Model:
        """Return an independent model: editing one leaves the other as it is.

        Expressions and handles of this model are not of the copy: there, take ``copy["g"]``.

        Returns
        -------
        Model

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x", upper=3)
        >>> other = model.copy()
        >>> other["x"].set(upper=9)
        >>> x.upper.tolist()
        [3.0]
        """
        return copied(self)

    __copy__ = copy

    def relax_integrality(self) -> Model:
        """Return a copy in which no variable is integer; the bounds of binary ones stay.

        Returns
        -------
        Model

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x", integer=True)
        >>> whole = model.constraint("whole", 2 * x <= 3)
        >>> model.maximize(x)
        >>> model.solve().objective, model.relax_integrality().solve().objective
        (1.0, 1.5)
        """
        return copied(self, relaxed=True)

    def statistics(self, *, scaled: bool = False) -> pd.DataFrame:
        """Return the sizes and the ranges of numbers of each block, and of the whole.

        Magnitudes are of numbers that are neither 0 nor infinite; bounds of constraints are their
        right-hand sides.

        Parameters
        ----------
        scaled : bool
            Of the program as HiGHS is given it: scaled by powers of two.

        Returns
        -------
        DataFrame
            One row a block, by kind and name, and one of all of a kind, without a name.

        Raises
        ------
        UnsupportedError
            With ``scaled``, for numbers that no scaling brings near enough.

        Examples
        --------
        >>> model = Model("m")
        >>> x, y = model.variable("x", upper=8), model.variable("y", integer=True)
        >>> row = model.constraint("row", 1000 * x + y <= 2e6)
        >>> model.statistics()[["size", "nonzeros", "smallest coefficient", "largest coefficient"]]
                         size  nonzeros  smallest coefficient  largest coefficient
        kind       name
        constraint row      1         2                   1.0               1000.0
                            1         2                   1.0               1000.0
        variable   x        1         1                1000.0               1000.0
                   y        1         1                   1.0                  1.0
                            2         2                   1.0               1000.0
        """
        from ..programs.inspection import statistics

        return statistics(self.compile(), scaled)

    def equals(self, other: Model | Program) -> bool:
        """Whether another model has the same program, in any order of rows, by names.

        Parameters
        ----------
        other : Model or Program

        Returns
        -------
        bool

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x")
        >>> other = model.copy()
        >>> model.equals(other)
        True
        >>> other["x"].set(upper=2)
        >>> model.equals(other)
        False
        """
        from .in_order import same_in_order

        if not isinstance(other, (Model, Program)):
            raise ModelError(f"{quoted(other)} is no model; expected one to compare with")
        return same_in_order(self, other)

    def evaluate(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return a definition's values at column values ``x``, an array axis for each index.

        Parameters
        ----------
        name : str
            Of :meth:`define`.
        x : ndarray
            Column values, by position.

        Returns
        -------
        ndarray

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> model.define("total", model.variable("x", n).sum())
        >>> float(model.evaluate("total", np.array([3.0, 4.0])))
        7.0
        """
        from .compiler import blocks_of
        from .evaluation import evaluate

        require_known(name, self._definitions, f"model {self.name!r} has no definition {name!r}")
        return evaluate(self._definitions[name], blocks_of(self._variables.values()), x)

    def compile(self) -> Program:
        """Return the model as frozen arrays; O(nonzeros), without a loop over rows.

        Returns
        -------
        Program

        Raises
        ------
        ModelError
            When the model cannot be written as a linear program with logarithms or powers in the
            objective, or has several objectives.

        Examples
        --------
        >>> model = Model("m")
        >>> rows = model.constraint("k", 2 * model.variable("x") <= 5)
        >>> model.compile().A.toarray().tolist(), model.compile().row_upper.tolist()
        ([[2.0]], [5.0])
        """
        if self._curves:
            require_linear(self)
        require_one_objective(self)
        return self._first_program()

    def _first_program(self) -> Program:
        """Return the program with the first objective."""
        from .compiler import compile_model, patched

        if self._program is None:
            self._program = compile_model(self)
        elif self._stale:
            self._program = patched(self, self._program, self._stale)
        self._stale.clear()
        return self._program

    @lists(SolveOptions)
    def solve(self, solver: AnySolver = "highs", **options: Unpack[SolveOptions]) -> Solution:
        """Solve with a back end: a name of :func:`fairlp.solvers`, or a :class:`fairlp.Backend`.

        Several objectives are solved one after the other. Each solve has a row for every objective
        before, such as ``objective1_kept``, which keeps that one within its tolerances of its
        optimum, and within rounding of its terms (``FEASIBILITY`` of :mod:`fairlp.tolerances` where
        the solver finds no point otherwise); one that takes whole numbers only is kept exactly. The
        solution is that of the last program, with its duals; ``solution.value(f)`` is what an
        earlier objective has there. Where an objective has no optimum its solution is returned, and
        the status says which one it is. The time limit is for all of them together, other limits
        for each.

        Parameters
        ----------
        solver : str or Backend
        **options
            Of :class:`fairlp.Options`.

        Returns
        -------
        Solution

        Raises
        ------
        UnknownNameError
            For a solver or an option that there is not.
        UnsupportedError
            For what the solver cannot do or honour.
        SolverError
            When the solver itself fails; that there is no optimum is no error.

        Examples
        --------
        >>> n = Index("n", ["ann", "bob"])
        >>> model = Model("m")
        >>> x = model.variable("x", n, upper=[1, 2])
        >>> model.maximize(x.sum())
        >>> model.solve().values["x"].to_dict()
        {'ann': 1.0, 'bob': 2.0}
        """
        from ..programs.backends import build_and_solve

        if len(self.objectives) > 1:
            from .in_order import solve_in_order

            return solve_in_order(self, solver, options)
        return build_and_solve(self.compile, solver, options)

    @lists(SolveOptions)
    def session(self, solver: AnySolver = "highs", **options: Unpack[SolveOptions]) -> ModelSession:
        """Open a session: edit the model as usual, and solve it again from the last basis.

        Each answer is of the program that ``compile()`` gives then. Where constraints or variables
        are added or removed, the basis of those that stay is kept, by name and label. Back ends
        without a session solve afresh.

        Parameters
        ----------
        solver : str or Backend
        **options
            Of :class:`fairlp.Options`.

        Returns
        -------
        ModelSession
            With ``solve()``, which takes options of one call, and ``close()``, for ``with``.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("cake")
        >>> x, h = model.variable("x"), model.parameter("h", (), 1)
        >>> cake = model.constraint("cake", x <= h)
        >>> model.maximize(x + 0)
        >>> with model.session() as session:
        ...     print(session.solve().objective)
        ...     h.set(3)
        ...     print(session.solve().objective)
        ...     least = model.constraint("half", 2 * x <= 3)
        ...     print(session.solve().objective)
        1.0
        3.0
        1.5
        """
        from .sweeps import ModelSession

        return ModelSession(self, solver, options)

    @lists(SolveOptions)
    def sweep(
        self,
        parameter: str | ParameterPart | Mapping[Any, Any],
        values: Any = None,
        *,
        read: Any = (),
        solver: AnySolver = "highs",
        **options: Unpack[SolveOptions],
    ) -> Any:
        """Solve for one value of a parameter after the other, each from the last basis.

        The model stays as it was.

        Parameters
        ----------
        parameter : str, Parameter or elements of one, or mapping of these to their values
            A mapping is a grid of all combinations. Of elements (``d["ann"]``) the others stay.
        values : iterable, mapping of label → value, or DataFrame
            Each value as :meth:`.Parameter.set` takes it; of a frame, each row.
        read : str, list of str, or callable
            Variables, definitions and constraints (their duals) to keep; or a function of the
            Solution.
        solver : str or Backend
        **options
            Of :class:`fairlp.Options`.

        Returns
        -------
        DataFrame or xarray.Dataset
            One row a value: ``objective``, ``status`` and what was read (NaN without an optimum).
            Of a grid a Dataset.

        Raises
        ------
        NoSolutionError
            For duals of a program with integers; sweep :meth:`relax_integrality`.

        Examples
        --------
        >>> model = Model("m")
        >>> h, x = model.parameter("h", (), 1), model.variable("x")
        >>> cake = model.constraint("cake", x <= h)
        >>> model.maximize(x)
        >>> model.sweep("h", [1, 2])["objective"].tolist()
        [1.0, 2.0]
        """
        from .sweeps import sweep

        return sweep(self, parameter, values, read=read, solver=solver, options=options)

    def read_back(self, solved: Any) -> Solution:
        """Return the Solution of this model's solved HiGHS, Pyomo or CVXPY object.

        ``to_highs``, ``to_pyomo`` and ``to_cvxpy`` make these objects.

        Parameters
        ----------
        solved : Highs, ConcreteModel or Problem
            Of HiGHS, Pyomo or CVXPY.

        Returns
        -------
        Solution

        Raises
        ------
        UnsupportedError
            For an object of another kind.

        Examples
        --------
        >>> model = Model("m")
        >>> model.maximize(model.variable("x", upper=3))
        >>> highs = model.to_highs()
        >>> status = highs.run()
        >>> model.read_back(highs).objective
        3.0
        """
        from ..programs.backends import reader

        return reader(solved)(self, solved)

    def explain(
        self, solver: AnySolver = "highs", weights: Mapping[str, float] | None = None
    ) -> pd.DataFrame:
        """Return why the model is infeasible or unbounded, as a table in its own names.

        Of an infeasible model the table has two separate answers, a conflict and a relaxation.
        The conflict is the set of rows, bounds and integers with ``in_conflict``: they contradict
        each other, and without any one of them the others can hold. The model may have other
        conflicts. The relaxation makes the whole model feasible at the least cost: each row or
        bound gives way by ``relax_by``. It may be of rows outside the conflict.

        Parameters
        ----------
        solver : str or Backend
            With integers HiGHS, where it has none.
        weights : mapping, optional
            Name of a constraint or variable → what it costs to relax it, relatively; infinite: it
            must hold.

        Returns
        -------
        DataFrame
            Infeasible: by name, ``kind`` ("constraint", "bound" or "integer"), ``requires`` (what
            it says), ``in_conflict`` and ``relax_by``. That a variable is at least 0 and no more
            goes without saying. Unbounded: by variable, the ``direction`` in which the objective
            grows without end, and how much each adds to the ``objective``. Without rows: the model
            has an optimum, which :meth:`solve` finds.

        Raises
        ------
        SolverError
            When the solver can tell neither.
        NoSolutionError
            When what must hold contradicts itself.

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x", upper=3)
        >>> rows = model.constraint("least", x >= 4)
        >>> model.explain()
                     kind  requires  in_conflict  relax_by
        name
        least  constraint       ≥ 4         True       1.0
        x           bound  ≥ 0, ≤ 3         True       0.0
        >>> rows.remove()
        >>> model.explain().empty
        True
        """
        from ..programs.backends import explain

        if len(self.objectives) > 1:  # of the first objective without an optimum
            return explain(self.solve(solver).program, solver, weights)
        return explain(self.compile(), solver, weights)

    @lists(WriteOptions)
    def write(self, path: str | Path, **options: Unpack[WriteOptions]) -> list[Path]:
        """Write the model as ``.mps``, ``.lp`` (also ``.gz``) or ``.nl``.

        The page ``docs/model-files.md`` describes the files.

        Options are those of :meth:`.Program.write`; ``.nl`` is written by Pyomo.

        Parameters
        ----------
        path : str or Path
        **options
            For MPS ``profile``, for LP ``constant``, for both ``names``.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        FileFormatError
            For another ending of the name.
        UnsupportedError
            For what the format has no place for.

        Examples
        --------
        >>> import tempfile
        >>> model = Model("m")
        >>> model.maximize(model.variable("x", upper=3))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in model.write(Path(folder) / "m.mps")]
        ['m.mps']
        """
        if Path(path).suffix.lower() == ".nl":
            return list(write(self, path, ".nl", options))
        return self.compile().write(path, **options)

    def to_highs(self, names: bool = True) -> Any:
        """Return a loaded ``highspy.Highs`` object with the model's own row and column names.

        HiGHS gets the names at the first call that may show them, so that solving a large model and
        :meth:`read_back` take no time for them.

        Parameters
        ----------
        names : bool
            False leaves the names out for good. HiGHS then calls columns and rows c0, r0 and so on
            where it writes them.

        Returns
        -------
        Highs

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x")
        >>> model.to_highs().getNumCol()
        1
        """
        from ..programs.backends import lowering

        return lowering("highs")(self, names)

    def to_pyomo(self) -> Any:
        """Return a Pyomo ``ConcreteModel`` of the sets, variables and constraints by name.

        Returns
        -------
        ConcreteModel

        Examples
        --------
        >>> model = Model("m")
        >>> x = model.variable("x", upper=3)
        >>> model.to_pyomo().x.ub
        3.0
        """
        from ..programs.backends import lowering

        return lowering("pyomo")(self)

    def to_cvxpy(self) -> Any:
        """Return a CVXPY ``Problem`` with named variables and constraints.

        Returns
        -------
        Problem

        Examples
        --------
        >>> model = Model("m")
        >>> model.maximize(model.variable("x", upper=5))
        >>> round(float(model.to_cvxpy().solve()), 6)
        5.0
        """
        from ..programs.backends import lowering

        return lowering("cvxpy")(self)

    def to_latex(self, *, symbols: bool = False) -> str:
        r"""Return a LaTeX ``aligned`` block of the model, with the meaning of symbols if asked.

        Parameters
        ----------
        symbols : bool
            Add what each symbol stands for.

        Returns
        -------
        str

        Examples
        --------
        >>> model = Model("m")
        >>> model.maximize(2 * model.variable("x"))
        >>> print(model.to_latex())
        \begin{aligned}
        \text{maximize}\quad & 2\, x \\
        \text{subject to}\quad & x \ge 0
        \end{aligned}
        """
        from .render import model_latex

        return model_latex(self, symbols)

    def __str__(self) -> str:
        from .render import model_text

        return model_text(self)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.to_latex(symbols=True)}\n$$"

    def __repr__(self) -> str:
        return (
            f"<Model {self.name!r}: {len(self.variables)} variables, {len(self.constraints)} "
            "constraints>"
        )
