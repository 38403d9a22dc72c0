"""What a model is made of, as read-only tables and by name: ``model["g"]``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import (
    FairlpWarning,
    Hinted,
    ModelError,
    quoted,
    require_known,
)
from ..programs.program import Block, Program
from ..programs.views import NamedView
from .arrays import Labelled
from .combinations import found_in
from .compiler import naming, numbers, unconditional
from .expressions import (
    Abs,
    Along,
    Expression,
    Range,
    Relation,
    SumOver,
    as_expression,
    children,
    named,
)
from .labels import (
    Immutable,
    Indices,
    as_indices,
    axes_of,
    require_text,
    shape_of,
    symbols_of,
    union,
)
from .reals import meeting
from .variables import (
    Masked,
    Parameter,
    Subset,
    Variable,
    VariablePart,
    grid_of,
    subset_of,
)

if TYPE_CHECKING:
    # not at run time: completion in IPython fails at a property whose annotation is a Literal
    from ..programs.program import Sense
    from .model import Declarations


class Constraint(Masked, Immutable):
    """A named family of constraints, a handle by which to inspect and change them.

    :meth:`Model.constraint` returns it.

    Attributes
    ----------
    name : str
    relation : Relation
    over : tuple of Index
        What the rows run over, in order.
    where : Subset or None
        Elements that rows exist for; None for all.
    mask : Subset
        Elements that rows exist for, also where they are all.
    doc : str
    model : Model or None

    Examples
    --------
    >>> from fairlp import Index, Model
    >>> n = Index("n", ["ann", "bob"], "user")
    >>> model = Model("m")
    >>> x = model.variable("x", n)
    >>> cap = model.constraint("cap", x <= {"ann": 2, "bob": 3})
    >>> cap
    <Constraint cap: x[n] ≤ [2 numbers over n] ∀ n: 2 rows>
    >>> model.maximize(x.sum())
    >>> model.solve().duals["cap"].to_dict()
    {'ann': 1.0, 'bob': 1.0}
    """

    _names = frozenset({"name", "relation", "over", "doc", "model"})
    _remedy = "change it with .replace(relation) or .remove()"

    def __init__(
        self,
        name: str,
        relation: Relation,
        over: Indices,
        where: Subset | None = None,
        doc: str = "",
        model: Declarations | None = None,
    ) -> None:
        self.name = name
        self.relation = relation
        self.over = over
        self.__dict__["_exists"] = Subset("", over, None) if where is None else where
        self.doc = doc
        self.model = model

    @property
    def full_size(self) -> int:
        """Number of rows without the mask."""
        return self._mask.full_size

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self._mask)

    def __len__(self) -> int:
        return self.size

    @property
    def rows(self) -> list[str]:
        """Names of the rows, in order: ``capacity[server3,cpu]``."""
        return self.block(0).names()

    def block(self, start: int) -> Block:
        """Return the rows as a block of a Program that begins at row ``start``.

        Parameters
        ----------
        start : int

        Returns
        -------
        Block

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> model.constraint("k", model.variable("x") <= 4).block(7).slice
        slice(7, 8, None)
        """
        axes = axes_of(self.over)
        return Block(self.name, axes, start, start + self.size, self.positions)

    def check(self) -> None:
        """Raise where the ends of a range cross (with the labels), or where a big M is unknown.

        Raises
        ------
        ModelError
            With the label of the row, or the name of the variable without a bound.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> model.constraint("k", model.variable("x").between(1, 4)).check()
        """
        unconditional(self)
        ends = self.relation.ends if isinstance(self.relation, Range) else (None, None)
        with naming(f"constraint {self.name!r}"):
            range_ends = [
                numbers(end).rows(self.over, self.positions) for end in ends if end is not None
            ]
        if len(range_ends) < 2:
            return
        low, high = range_ends
        low = meeting(low, high)
        for k in np.flatnonzero(low > high)[:1].tolist():
            row = self.block(0).name_of(k)
            raise ModelError(
                f"constraint {row}: the lower end {low[k]:g} is above the upper end {high[k]:g}"
            )

    def remove(self) -> None:
        """Remove it from its model; the next solve is without it.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> model.constraint("k", model.variable("x") <= 4).remove()
        >>> dict(model.constraints)
        {}
        """
        self._model().remove(self)

    def replace(self, relation: Relation, *, where: Any = ...) -> Constraint:
        """Replace the relation, and return the new handle; see :meth:`Model.replace`.

        Parameters
        ----------
        relation : Relation
        where : array_like of bool or Subset, optional
            Only these rows exist.

        Returns
        -------
        Constraint

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("m")
        >>> x = model.variable("x")
        >>> model.constraint("k", x <= 4).replace(x >= 1)
        <Constraint k: x ≥ 1: 1 row>
        """
        return self._model().replace(self, relation, where=where)

    def _model(self) -> Declarations:
        if self.model is None:
            raise ModelError(f"constraint {self.name!r} is of no model")
        return self.model

    def _repr_latex_(self) -> str:
        return self.relation._repr_latex_()


def require_name(name: Any, noun: str) -> None:
    """Raise unless a name is text, and not the empty one."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {noun} cannot be called {quoted(name)}; its name comes first, as text")
    require_text(name, f"the name of a {noun}", ModelError)


#: What has a name in a model.
_KINDS = ("variable", "parameter", "subset", "constraint", "definition")


class Tables(Hinted):
    """The state of a model, read-only; :class:`.model.Declarations` alone changes it."""

    name: str
    source: str

    def __init__(self, name: str = "model", source: str = "", indices: Indices = ()) -> None:
        require_text(name, "the name of a model", ModelError)
        require_text(source, f"the source of model {name!r}", ModelError)
        self.name = name
        self.source = source
        self._indices: Indices = as_indices(indices, f"the indices of model {name!r}:")
        self._parameters: dict[str, Parameter] = {}
        self._variables: dict[str, Variable] = {}
        self._constraints: dict[str, Constraint] = {}
        self._subsets: dict[str, Subset] = {}
        self._definitions: dict[str, Expression] = {}
        self._objectives: tuple[Expression, ...] = ()
        #: By how much objectives may give way to later ones: relative to their optimum, and beside.
        self._tolerances: tuple[float, float] = (0.0, 0.0)
        self._sense: Sense = "min"
        #: Name of the rows that set the levels of a leximin; it stays where they are removed.
        self._levels = ""
        #: What stands for the absolute values of the objective, by the name of its variable.
        self._absolutes: dict[str, Abs] = {}
        #: What stands for terms of the levels that are not linear, by the name of its variable.
        self._curves: dict[str, Expression] = {}
        #: What was declared together with a variable or constraint, by kind and name, and which
        #: that is.
        self._owners: dict[tuple[str, str], tuple[str, str]] = {}
        #: What was compiled last, and the parameters and variables that were set since then.
        self._program: Program | None = None
        self._stale: set[str] = set()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if any(name in self.__dict__.get(f"_{kind}s", ()) for kind in _KINDS):
                raise AttributeError(f"no attribute {name!r}; write model[{name!r}]")
            return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in ("name", "source"):
            raise ModelError(
                f"model {self.name!r} takes no {name!r} by assignment; declare with .variable, .constraint, "
                ".maximize and .minimize, change with .set, .replace and .remove"
            )
        if name in ("name", "source"):
            object.__setattr__(self, "_program", None)  # both stand in it
        object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        """Return the variable, parameter, subset, constraint or definition of that name.

        Where nothing is declared under it, return the index with that symbol.
        """
        if isinstance(name, str) and name not in self:
            for index in self._indices:
                if index.symbol == name:
                    return index
        kind, full_name = self._kind_of(name)
        return self._table(kind)[full_name]

    def _kind_of(self, name: str) -> tuple[str, str]:
        """Return the kind and the name of a declaration; raise for a name of none or of several."""
        names = [name for kind in _KINDS for name in self._table(kind)]
        require_known(name, names, f"model {self.name!r} has nothing called {quoted(name)}")
        kinds = [kind for kind in _KINDS if name in self._table(kind)]
        if len(kinds) > 1:
            raise ModelError(
                f"{quoted(name)} of model {self.name!r} could be any {quoted(kinds)}; take "
                f"model.{kinds[-1]}s[{name!r}]"
            )
        return kinds[0], name

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(name in self._table(kind) for kind in _KINDS)

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names, which IPython completes in brackets."""
        names = [name for kind in _KINDS for name in self._table(kind)]
        return list(dict.fromkeys([*names, *symbols_of(self._indices)]))

    __iter__ = None  # else Python would ask for model[0]

    def _table(self, kind: str) -> dict[str, Any]:
        """Return the table of what is of a kind."""
        table: dict[str, Any] = getattr(self, f"_{kind}s")
        return table

    @property
    def indices(self) -> Indices:
        """Order of the indices in rows."""
        return self._indices

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters by name; a view."""
        return NamedView(self._parameters, "model.parameters")

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Variables by name; a view."""
        return NamedView(self._variables, "model.variables")

    @property
    def constraints(self) -> Mapping[str, Constraint]:
        """Families of constraints by name; a view."""
        return NamedView(self._constraints, "model.constraints")

    @property
    def subsets(self) -> Mapping[str, Subset]:
        """Subsets of combinations of labels by name; a view."""
        return NamedView(self._subsets, "model.subsets")

    @property
    def definitions(self) -> Mapping[str, Expression]:
        """Named formulas of the variables, such as the tasks of a share; a view.

        They are no constraints.
        """
        return NamedView(self._definitions, "model.definitions")

    @property
    def objective(self) -> Expression | None:
        """What is maximised or minimised; of several objectives the first."""
        return self._objectives[0] if self._objectives else None

    @property
    def objectives(self) -> tuple[Expression, ...]:
        """What is maximised or minimised, in order; one objective is a tuple of one."""
        return self._objectives

    @property
    def sense(self) -> Sense:
        """``max`` or ``min``."""
        return self._sense


# What is declared and optimised, checked.


def level_rows(model: Declarations) -> Constraint | None:
    """Return the rows … ≥ w·t that set the levels of a leximin; None where a model has none."""
    return model._constraints.get(model._levels)


def check_own(model: Declarations, what: str, *expressions: Expression) -> None:
    """Raise for an expression with a variable or parameter of another model, or a removed one."""
    for leaf in named(*expressions):
        kind, table = (
            ("variable", model._variables)
            if isinstance(leaf, Variable)
            else ("parameter", model._parameters)
        )
        if table.get(leaf.name) is leaf:
            continue
        remedy = (
            f"take model[{leaf.name!r}] of {model.name!r}"
            if leaf.name in table
            else f"declare it with .{kind}"
        )
        raise ModelError(
            f"{what} uses {kind} {leaf.name!r}, which is of another model or was removed; {remedy}"
        )


def checked_objective(model: Declarations, subject: str, formula: Any) -> Expression:
    """Return an objective as an expression of the model; raise for one with a free index."""
    expression = as_expression(formula)
    if expression.indices:
        raise ModelError(f"{subject} must be one number; sum {expression} over its indices")
    check_own(model, subject, expression)
    return expression


def require_one_objective(model: Declarations) -> None:
    """Raise where a model has several objectives."""
    if len(model.objectives) > 1:
        raise ModelError(
            f"model {model.name!r} has several objectives, of which model.solve() optimises one after the other; "
            "programs, files, other tools and sessions have one: set one objective"
        )


def declared(
    model: Declarations, name: str, relation: Any, over: Indices, where: Any, doc: str
) -> Constraint:
    """Return a constraint of a model, checked; the model learns its indices."""
    if not isinstance(relation, Relation):
        raise ModelError(
            f"constraint {name!r} is {quoted(relation)}; expected left <= right, >=, ==, or "
            "expression.between(low, high), which has a row for each label"
        )
    check_own(model, f"constraint {name!r}", *relation.parts)
    indices = union(model.indices, (index.whole or index for index in relation.indices))
    free = {index.symbol: index for index in relation.indices}
    order = over or tuple(index for index in indices if index.symbol in free)
    if set(symbols_of(order)) != free.keys():
        raise ModelError(
            f"constraint {name!r} holds for each of {quoted(sorted(free))}; expected over= of these"
        )
    order = tuple(free[index.symbol] for index in order)
    where = vars(relation.right).get("where") if where is None else where
    constraint = Constraint(
        name, relation, order, subset_of(where, order, f"constraint {name!r}"), doc, model
    )
    constraint.check()
    if where is not True:
        _warn_of_what_does_not_exist(constraint)
    model._indices = indices
    return constraint


def _warn_of_what_does_not_exist(row: Constraint) -> None:
    """Warn where a variable stands in rows in which it does not exist, and counts as 0.

    Sums over what exists are as they should be: they are empty where nothing does.
    """
    stack = list(row.relation.parts)
    while stack:
        node = stack.pop()
        if not isinstance(node, VariablePart):
            if not isinstance(node, (SumOver, Along)):
                stack += children(node)
            continue
        where = node.base.where
        if where is None or where is row._mask:
            continue
        every_row = np.arange(row.size) if row.positions is None else row.positions
        if isinstance(node, Variable):
            places = np.unravel_index(every_row, shape_of(row.over))
            columns = dict(zip(symbols_of(row.over), places, strict=True))
            elements = tuple(columns[index.symbol] for index in node.indices)
            exists, _ = found_in(where.positions, np.ravel_multi_index(elements, node.shape))
        else:
            in_part = np.isin(grid_of(node), where.positions)
            exists = Labelled(node.indices, in_part).rows(row.over, row.positions)
        count = int(exists.sum())
        if count < row.size:
            message = (
                f"constraint {row.name!r} has {row.size:,} rows, and {node} exists in {count:,} of "
                "them; in the others it counts as 0. Say with where= which rows there are, such as "
                f"where=model[{node.base.name!r}].where, or where=True for all"
            )
            warnings.warn(FairlpWarning(message), stacklevel=5)
            return
