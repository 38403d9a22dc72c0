"""Pyomo's solvers as ``pyomo:NAME``: executables on the PATH, and HiGHS or Gurobi in process.

The executables are glpk, cbc, scip and others.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import logging
import math
import operator
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError, SolverError, first_line, require_known
from ...models.notation.compiler import unconditional
from ...models.notation.concave_levels import require_linear
from ...models.notation.expressions import (
    Abs,
    Add,
    Along,
    Constant,
    Data,
    Expression,
    Log,
    Power,
    Product,
    Quotient,
    Range,
    SumOver,
)
from ...models.notation.labels import Indices, shape_of, symbols_of
from ...models.notation.model import Model
from ...models.notation.tables import Constraint, require_one_objective
from ...models.notation.variables import Element, Parameter, Variable
from ...models.programs.backends import with_duals
from ...models.programs.options import Options
from ...models.programs.program import Block, Program, free_name
from ...models.programs.protocols import Capability
from ...models.programs.solution import Solution, solution_at
from ...models.programs.status import LIMITS, Termination
from ...tolerances import FEASIBILITY
from .base import (
    HIGHS_WITH_INTEGERS,
    BaseBackend,
    Raw,
    each_row,
    given_options,
    installed,
    reduced_costs,
    whole_within,
)

# A model as an idiomatic Pyomo ``ConcreteModel``, and a Pyomo model with levels as a Program.

Binding = dict[str, int]

#: Pyomo captures what a solver prints for the whole process: two solves at once wait for each other
#: for ever.
_ONE_AT_A_TIME: Final = Lock()


#: Kinds of what a model has names for.
_SET = "index"
_COLUMNS = "variable"
_ROWS = "constraint"


def lower(model: Model) -> Any:
    """Return a Pyomo model that a person can go on working with.

    Indices become ordered Sets (of the labels), parameters Params, variables Vars (over the
    elements that exist), constraints Constraints and the objective ``objective``; what has a name
    that is taken gets an underscore. Built element by element: O(nonzeros) in Python, as Pyomo
    works; for large models solve with the default back end instead.
    """
    import pyomo.environ as pyo

    require_linear(model)
    require_one_objective(model)
    built = pyo.ConcreteModel(name=model.name)
    built.fairlp_names = names = {}  # kind and name in the model → name of the component

    def add(kind: str, name: str, component: Any) -> Any:
        names[kind, name] = free_name(name, dir(built))
        built.add_component(names[kind, name], component)
        return component

    for index in model.indices:
        add(
            _SET,
            index.symbol,
            _set(pyo, _keys((index,)), f"index {index.symbol!r}"),
        )
    for name, parameter in model.parameters.items():
        add("parameter", name, _parameter(pyo, built, parameter))
    variables = {
        name: add(_COLUMNS, name, _variable(pyo, built, variable))
        for name, variable in model.variables.items()
    }
    build = _Builder(pyo, variables)
    for name, row in model.constraints.items():
        add(_ROWS, name, _constraint(pyo, build, row))
    if model.objective is not None:
        sense = pyo.maximize if model.sense == "max" else pyo.minimize
        add("objective", "objective", pyo.Objective(expr=build(model.objective, {}), sense=sense))
    return built


def read_back(model: Model, built: Any) -> Solution:
    """Return the Solution of a solved Pyomo model that :func:`lower` made.

    Values in a Pyomo model do not tell how they came about, so the status is "optimal" only where
    duals prove it. They come from the Suffix ``dual``, where the user declared one before solving
    (``built.dual = Suffix(direction=Suffix.IMPORT)``), and else from HiGHS's simplex at the point.
    Variables without a value give a Solution
    without a point, but for those in no row and no cost, which do not reach a solver.
    """
    program = model.compile()
    x = np.full(program.n_columns, np.nan)
    for block in program.columns:
        component = _component(built, _COLUMNS, block.name)
        if component is None:
            raise ModelError(
                f"the Pyomo model has no variable {block.name!r}; make it with model.to_pyomo()"
            )
        x[block.slice] = [
            np.nan if element.value is None else element.value
            for element in _members(component, block)
        ]
    x = np.where(
        np.isnan(x) & _unused(program), np.clip(0.0, program.col_lower, program.col_upper), x
    )
    point = None if np.isnan(x).any() else x
    duals = reduced = None
    suffix = built.component("dual")
    # some interfaces leave the suffix empty
    if point is not None and suffix and not program.is_mip:
        duals = np.zeros(program.n_rows)
        for block in program.rows:
            rows = _members(_component(built, _ROWS, block.name), block)
            duals[block.slice] = [suffix.get(row, 0.0) for row in rows]
        # some interfaces report duals of the minimisation also for a maximum: the objective's
        # growth tells which
        duals = _oriented(program, point, duals)
        reduced = reduced_costs(program, point, duals)
    read = solution_at(
        program, Termination.OPTIMAL, "read from the Pyomo model", "pyomo", point, duals, reduced
    )
    return with_duals(read).checked()


def _unused(program: Program) -> np.ndarray:
    """Return which columns are in no row and no cost. Bool."""
    used = (np.diff(program.A.indptr) > 0) | (program.c != 0)
    if program.logs is not None:
        used[program.logs.A.indices] = True
    return np.asarray(~used)


def _oriented(program: Program, x: np.ndarray, duals: np.ndarray) -> np.ndarray:
    """Return the duals with the sign that makes the certificate hold better."""
    from ...models.programs.certificate import verify

    proofs = [verify(program, x, signed) for signed in (duals, -duals)]
    first, second = ((proof.gap or 0.0) + (proof.dual_residual or 0.0) for proof in proofs)
    return duals if first <= second else -duals


def _component(built: Any, kind: str, name: str) -> Any:
    """Return the component that :func:`lower` built for a name.

    A variable and a constraint may share a name.
    """
    return built.component(getattr(built, "fairlp_names", {}).get((kind, name), name))


def _members(component: Any, block: Block) -> list[Any]:
    """Return the variables or constraints of a component, in the order of a block."""
    if not block.axes:
        return [component]
    keys = (_flat(labels) for labels in block.labels())
    return [component[key[0] if len(key) == 1 else key] for key in keys]


class _Builder:
    """A translator of an expression, at positions of its free indices, to a Pyomo expression.

    It returns None where the expression has no term.
    """

    def __init__(self, pyo: Any, variables: dict[str, Any]) -> None:
        self.pyo = pyo
        self.variables = variables
        self._grids: dict[int, tuple[Expression, np.ndarray]] = {}

    def __call__(self, node: Expression, binding: Binding) -> Any:
        match node:
            case Constant():
                return node.value
            case Element():
                own = self.places(node, binding)
                if isinstance(node.base, Parameter):
                    return float(node.base.values[own])
                return self.grid(node.base)[own]
            case Parameter() | Data() | Variable():
                return self.grid(node)[tuple(binding[index.symbol] for index in node.indices)]
            case Add():
                return self.sum(sign * self(addend, binding) for sign, addend in node.addends())
            case Product():
                return _product(self(node.left, binding), self(node.right, binding))
            case Quotient():
                return self(node.left, binding) / self(node.right, binding)
            case Abs():
                return abs(self(node.argument, binding))
            case Log():
                return self.pyo.log(self(node.argument, binding))
            case Power():
                return self(node.argument, binding) ** node.exponent
            case Along():
                start, stop = node.matrix.indptr[binding[node.to.symbol] :][:2]
                entries = zip(
                    node.matrix.indices[start:stop].tolist(),
                    node.matrix.data[start:stop],
                    strict=True,
                )
                rest = {
                    symbol: place for symbol, place in binding.items() if symbol != node.to.symbol
                }
                mapped = (
                    value * self(node.body, {**rest, node.index.symbol: k}) for k, value in entries
                )
                return self.sum(mapped)
            case SumOver():
                if (addends := self.linear_addends(node, binding)) is not None:
                    return self.sum(addends)
                places = itertools.product(*(range(len(index)) for index in node.over))
                symbols = symbols_of(node.over)
                parts = (
                    self(node.body, {**binding, **dict(zip(symbols, place, strict=True))})
                    for place in places
                )
                return self.sum(parts)
        raise ModelError(f"{type(node).__name__} cannot be turned into a Pyomo expression")

    def grid(self, node: Parameter | Data | Variable) -> np.ndarray:
        """Return the numbers, or the elements of a variable, by place; 0 where there is none."""
        if id(node) in self._grids:
            return self._grids[id(node)][1]
        if isinstance(node, Variable):
            component = self.variables[node.base.name]
            keys = _keys(node.indices)
            members = component if component.is_indexed() else {None: component}
            elements = (members[key] if key in members else 0.0 for key in keys)  # noqa: SIM401
            grid = np.fromiter(elements, dtype=object, count=len(keys))
        else:
            grid = np.asarray(node.values, dtype=float).astype(object)
        grid = grid.reshape(shape_of(node.indices))
        self._grids[id(node)] = node, grid
        return grid

    def linear_addends(self, node: SumOver, binding: Binding) -> Iterable[Any] | None:
        """Return what a sum of elements, or of numbers times these, adds; None for other sums."""
        factors = (
            [node.body.left, node.body.right] if isinstance(node.body, Product) else [node.body]
        )
        if not all(isinstance(factor, Parameter | Data | Variable) for factor in factors):
            return None
        grids = [self.along(factor, node.over, binding) for factor in factors]
        return grids[0] if len(grids) == 1 else map(_product, *grids)

    def along(self, node: Any, over: Indices, binding: Binding) -> list[Any]:
        """Return what a node has at all places of some indices, in their order."""
        symbols = symbols_of(over)
        own = symbols_of(node.indices)
        grid = self.grid(node)[
            tuple(slice(None) if symbol in symbols else binding[symbol] for symbol in own)
        ]
        axes = [symbol for symbol in own if symbol in symbols]
        ordered = [symbol for symbol in symbols if symbol in axes]
        grid = np.transpose(grid, [axes.index(symbol) for symbol in ordered])
        missing = tuple(k for k, symbol in enumerate(symbols) if symbol not in axes)
        grid = np.broadcast_to(np.expand_dims(grid, missing), shape_of(over))
        return grid.ravel().tolist()

    def sum(self, addends: Iterable[Any]) -> Any:
        """Return the sum of expressions, without those that are zero."""
        return self.pyo.quicksum(addend for addend in addends if not _is_zero(addend))

    def places(self, node: Element, binding: Binding) -> tuple[int, ...]:
        """Return the position of an element on every index of what it is of."""
        free = iter(node.indices)
        return tuple(
            binding[next(free).symbol] if place is None else place for place in node.places
        )


def _is_zero(term: Any) -> bool:
    return isinstance(term, float) and term == 0


def _product(left: Any, right: Any) -> Any:
    """Return the product of expressions; 0 where one of them is zero."""
    return 0.0 if _is_zero(left) or _is_zero(right) else left * right


def _keys(indices: Indices) -> list[Any]:
    """Return the labels of all elements as Pyomo has them: tuples among them are written out."""
    labels = [[_flat(label) for label in index.labels.tolist()] for index in indices]
    if len(labels) == 1:
        return [label[0] if len(label) == 1 else label for label in labels[0]]
    return [tuple(itertools.chain(*place)) or None for place in itertools.product(*labels)]


def _flat(label: Any) -> tuple[Any, ...]:
    """Return a label without tuples inside: ``(("a", 1), "s1")`` as ``("a", 1, "s1")``."""
    if not isinstance(label, tuple):
        return (label,)
    return tuple(inner for element in label for inner in _flat(element))


def _set(pyo: Any, keys: list[Any], of: str) -> Any:
    """Return the Set of keys, in order; raise ModelError for equal keys.

    Keys may be tuples of several lengths.
    """
    if len(set(keys)) < len(keys):
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        raise ModelError(f"{of} has two elements that Pyomo would both call {twice!r}")
    lengths = {len(_flat(key)) for key in keys}
    return pyo.Set(
        initialize=keys, ordered=True, dimen=None if len(lengths) > 1 else max(lengths, default=1)
    )


def _sets(pyo: Any, built: Any, indices: Indices) -> list[Any]:
    """Return the Set of each index; a part of an index has one of its own."""
    return [
        _component(built, _SET, index.symbol)
        if index.whole is None
        else _set(pyo, _keys((index,)), f"index {index.symbol!r}")
        for index in indices
    ]


def _parameter(pyo: Any, built: Any, parameter: Parameter) -> Any:
    if not parameter.indices:
        return pyo.Param(initialize=float(parameter.values), doc=parameter.doc)
    values = dict(zip(_keys(parameter.indices), parameter.values.ravel().tolist(), strict=True))
    return pyo.Param(
        *_sets(pyo, built, parameter.indices), initialize=values, within=pyo.Any, doc=parameter.doc
    )


def _variable(pyo: Any, built: Any, variable: Variable) -> Any:
    domain = pyo.Integers if variable.integer else pyo.Reals
    keys = _keys(variable.indices)
    if variable.positions is not None:
        keys = [keys[position] for position in variable.positions.tolist()]
    ends = (
        [None if np.isinf(end) else end for end in np.asarray(side, dtype=float).ravel().tolist()]
        for side in (variable.lower, variable.upper)
    )
    pairs = list(zip(*ends, strict=True))
    if not variable.indices:
        return pyo.Var(domain=domain, bounds=pairs[0], doc=variable.doc)
    bounds: Any = pairs[0] if len(set(pairs)) == 1 else dict(zip(keys, pairs, strict=True))
    elements = _set(pyo, keys, f"variable {variable.name!r}")
    over = _sets(pyo, built, variable.indices) if variable.positions is None else [elements]
    return pyo.Var(*over, domain=domain, bounds=bounds, doc=variable.doc)


def _constraint(pyo: Any, build: _Builder, row: Constraint) -> Any:
    relation = unconditional(row)

    def ranged(binding: Binding) -> Any:
        assert isinstance(relation, Range)
        ends = zip(relation.ends, (-np.inf, np.inf), strict=True)
        low, high = (missing if end is None else build(end, binding) for end, missing in ends)
        body = build(relation.left, binding)
        if hasattr(body, "is_expression_type"):
            return (low, body, high)
        return pyo.Constraint.Feasible if low <= body <= high else pyo.Constraint.Infeasible

    def rule(binding: Binding) -> Any:
        if isinstance(relation, Range):
            return ranged(binding)
        left = build(relation.left, binding)
        right = build(relation.right, binding)
        if hasattr(right, "is_expression_type"):
            # written as left − right with bounds: Pyomo would turn the row round, and with it the
            # sign of its dual
            low, high = {"<=": (None, 0.0), ">=": (0.0, None), "==": (0.0, 0.0)}[
                relation.comparison
            ]
            return (low, left - right, high)
        holds = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}[relation.comparison](
            left, right
        )
        if hasattr(left, "is_expression_type"):
            return holds
        return pyo.Constraint.Feasible if holds else pyo.Constraint.Infeasible

    if not row.over:
        return pyo.Constraint(expr=rule({}))
    positions = np.arange(row.full_size) if row.positions is None else row.positions
    symbols = symbols_of(row.over)
    places = np.column_stack(np.unravel_index(positions, shape_of(row.over))).tolist()
    all_keys = _keys(row.over)
    keys = [all_keys[position] for position in positions.tolist()]
    elements = _set(pyo, keys, f"constraint {row.name!r}")
    place_of = dict(zip(keys, places, strict=True))

    def rule_of_key(_: Any, *key: Any) -> Any:
        place = place_of[key[0] if len(key) == 1 else key]
        return rule(dict(zip(symbols, place, strict=True)))

    return pyo.Constraint(elements, rule=rule_of_key)


# A model that others wrote.


def read(model: Any, levels: Any) -> tuple[Program, Any, Any]:
    """Return a model's feasible points as a Program, what its levels are, and a way back.

    Levels are the name of rows … ≥ w·t of a model that maximises t, names of single ones, or
    (slopes, constants, block) of linear expressions; with expressions the model's objective plays
    no part. The way back writes a point into the variables that are not fixed, as Pyomo's own
    solvers do.
    """
    import pyomo.environ as pyo

    _refuse_unreadable(pyo, model)
    component = _named_component(model, levels)
    if isinstance(component, list | tuple):
        component = [_named_component(model, element) for element in component]
    columns = _Columns(pyo, model)

    def save(x: np.ndarray) -> None:
        for variable, value in zip(columns.variables, x.tolist(), strict=False):
            if not variable.fixed:
                variable.set_value(value, skip_validation=True)

    if _are_constraints(pyo, [component]) and component.parent_component() is component:
        return _program(pyo, model, columns, True), component.name, save
    if isinstance(component, list) and _are_constraints(pyo, component):
        return _program(pyo, model, columns, True), [element.name for element in component], save
    labelled = _labelled(component)
    rows = [columns.linear(element, f"level {label!r}") for label, element in labelled.items()]
    expressions = *columns.arrays(rows), _block("levels", list(labelled), len(rows), "level")
    return _program(pyo, model, columns, False), expressions, save


def _named_component(model: Any, reference: Any) -> Any:
    """Return what a text names in the model; what is no text as it is."""
    component = model.find_component(reference) if isinstance(reference, str) else reference
    if component is None:
        raise ModelError(f"Pyomo model {model.name!r} has no component {reference!r} to be levels")
    return component


def _are_constraints(pyo: Any, components: Sequence[Any]) -> bool:
    return bool(components) and all(
        getattr(component, "ctype", None) is pyo.Constraint for component in components
    )


def _labelled(levels: Any) -> dict[Any, Any]:
    """Return the expressions by label: by key of a dict or indexed component, or by position."""
    if isinstance(levels, dict) or (hasattr(levels, "is_indexed") and levels.is_indexed()):
        by_label = dict(levels.items())
    else:
        by_label = dict(enumerate(levels if isinstance(levels, list) else [levels]))
    if not by_label:
        raise ModelError("there are no levels; expected at least one expression")
    return by_label


def _refuse_unreadable(pyo: Any, model: Any) -> None:
    """Raise ModelError for a model without data, or with components that cannot be read.

    Only bounds and constraints can be active in it.
    """
    if not model.is_constructed():
        raise ModelError(
            f"Pyomo model {model.name!r} has no data yet; give what its create_instance() returns"
        )
    readable = {
        pyo.Var, pyo.Param, pyo.Set, pyo.RangeSet, pyo.Expression, pyo.Constraint, pyo.Objective, pyo.Block, pyo.Suffix,
        pyo.BuildAction, pyo.BuildCheck,
    }  # fmt: skip
    for block in model.block_data_objects(active=True):
        for component in block.component_objects(active=True, descend_into=False):
            if component.ctype not in readable:
                raise ModelError(
                    f"{component.name!r} of Pyomo model {model.name!r} is a "
                    f"{component.ctype.__name__}, which is no "
                    "linear constraint; reformulate it by a transformation of Pyomo's, or "
                    "deactivate it"
                )


class _Columns:
    """All variables of a model, each a column; reads linear expressions in them."""

    def __init__(self, pyo: Any, model: Any) -> None:
        self.variables: list[Any] = []
        blocks = []
        for component in model.component_objects(pyo.Var, descend_into=True):
            self.variables += component.values()
            blocks.append(_block(component.name, list(component), len(self.variables)))
        self.blocks = tuple(blocks)
        self.place = {id(variable): column for column, variable in enumerate(self.variables)}

    def linear(self, expression: Any, subject: str) -> tuple[dict[int, float], float]:
        """Return the coefficients by column, and the constant.

        Fixed variables are constants.
        """
        from pyomo.repn import generate_standard_repn

        try:
            form = generate_standard_repn(expression, quadratic=False)
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{subject} cannot be read ({error}); expected a linear expression of Pyomo's"
            ) from None
        if not form.is_linear():
            raise ModelError(
                f"{subject} is not linear: {expression}; a leximin needs linear levels and constraints"
            )
        if any(id(variable) not in self.place for variable in form.linear_vars):
            raise ModelError(f"{subject} has a variable of another model: {expression}")
        terms = zip(form.linear_vars, form.linear_coefs, strict=True)
        return {self.place[id(variable)]: float(value) for variable, value in terms}, float(
            form.constant
        )

    def arrays(self, rows: Sequence[tuple[dict[int, float], float]]) -> tuple[Any, np.ndarray]:
        """Return the coefficients and the constants of all rows."""
        lengths = [len(terms) for terms, _ in rows]
        values = np.array([value for terms, _ in rows for value in terms.values()], dtype=float)
        columns = np.array([column for terms, _ in rows for column in terms], dtype=np.intp)
        places = (np.repeat(np.arange(len(rows)), lengths), columns)
        matrix = sp.csc_array((values, places), shape=(len(rows), len(self.variables)))
        matrix.eliminate_zeros()
        return matrix, np.array([value for _, value in rows], dtype=float)

    def cost(self, pyo: Any, model: Any) -> tuple[np.ndarray, Literal["min", "max"]]:
        """Return the objective, which names t where rows are levels."""
        active = list(model.component_data_objects(pyo.Objective, active=True))
        if len(active) != 1:
            raise ModelError(
                f"Pyomo model {model.name!r} has {len(active)} active objectives; levels … >= w*t "
                "need one, that maximises t"
            )
        terms, _ = self.linear(active[0].expr, f"objective {active[0].name!r}")
        cost = np.zeros(len(self.variables))
        cost[list(terms)] = list(terms.values())
        return cost, "min" if active[0].is_minimizing() else "max"


def _program(pyo: Any, model: Any, columns: _Columns, with_objective: bool) -> Program:
    """Return the model's active constraints, a block for each component."""
    rows: list[tuple[dict[int, float], float]] = []
    blocks = []
    ends = []
    for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
        active = {key: element for key, element in component.items() if element.active}
        for element in active.values():
            rows.append(columns.linear(element.body, f"constraint {element.name!r}"))
            ends.append((element.lb, element.ub))
        blocks.append(_block(component.name, list(active), len(rows)))
    matrix, constant = columns.arrays(rows)
    row_lower, row_upper = _column_bounds(ends)
    fixed = [element.fixed and element.value is not None for element in columns.variables]
    col_lower, col_upper = _column_bounds(
        [
            (element.value, element.value) if is_fixed else element.bounds
            for element, is_fixed in zip(columns.variables, fixed, strict=True)
        ]
    )
    whole = [
        not is_fixed and not element.is_continuous()
        for element, is_fixed in zip(columns.variables, fixed, strict=True)
    ]
    sense: Literal["min", "max"]
    cost, sense = columns.cost(pyo, model) if with_objective else (np.zeros(len(fixed)), "max")
    return Program(
        name=model.name,
        sense=sense,
        c=cost,
        offset=0.0,
        A=matrix,
        row_lower=row_lower - constant,
        row_upper=row_upper - constant,
        col_lower=col_lower,
        col_upper=col_upper,
        integrality=np.array(whole, dtype=np.uint8),
        rows=tuple(blocks),
        columns=columns.blocks,
    )


def _column_bounds(ends: Sequence[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends, infinite where there is None."""
    lower = np.array([-np.inf if low is None else low for low, _ in ends], dtype=float)
    return lower, np.array([np.inf if high is None else high for _, high in ends], dtype=float)


def _block(name: str, keys: Sequence[Any], stop: int, symbol: str = "index") -> Block:
    """Return the block over the keys that ends at ``stop``.

    Keys of several parts give it as many indices.
    """
    start = stop - len(keys)
    if list(keys) == [None]:
        return Block(name, (), start, stop)
    if keys and all(isinstance(key, tuple) and len(key) == len(keys[0]) for key in keys):
        parts = [
            pd.Index(keys_of_axis, tupleize_cols=False) for keys_of_axis in zip(*keys, strict=True)
        ]
        axes = tuple(
            (f"{symbol}_{d}", keys_of_axis.unique()) for d, keys_of_axis in enumerate(parts, 1)
        )
        places = [
            index.get_indexer(keys_of_axis)
            for (_, index), keys_of_axis in zip(axes, parts, strict=True)
        ]
        positions = np.ravel_multi_index(places, [len(index) for _, index in axes])
        return Block(name, axes, start, stop, np.asarray(positions))
    return Block(name, ((symbol, pd.Index(list(keys), tupleize_cols=False)),), start, stop)


_LP = frozenset({Capability.LP, Capability.DUALS})
_BOTH = _LP | {Capability.MILP}


@dataclass(frozen=True)
class PyomoSolver:
    """A solver of Pyomo's: its interface, its requirements, its option names, and its settings."""

    factory: str
    executable: str = ""
    package: str = ""
    capabilities: frozenset[Capability] = _BOTH
    options: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    with_integers: Mapping[str, float] = field(default_factory=dict)


KNOWN: dict[str, PyomoSolver] = {
    "highs": PyomoSolver(
        "highs",
        package="highspy",
        options=(
            ("threads", "threads"),
            ("seed", "random_seed"),
            ("mip_gap", "mip_rel_gap"),
            ("node_limit", "mip_max_nodes"),
        ),
        settings=dict.fromkeys(
            ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), FEASIBILITY
        ),
        with_integers=HIGHS_WITH_INTEGERS,
    ),
    "glpk": PyomoSolver("glpk", "glpsol"),
    "cbc": PyomoSolver("cbc", "cbc", options=(("threads", "threads"), ("seed", "randomSeed"))),
    "scip": PyomoSolver("scip", "scip", capabilities=frozenset({Capability.LP, Capability.MILP})),
    "gurobi": PyomoSolver(
        "gurobi",
        "gurobi_cl",
        "gurobipy",
        options=(
            ("threads", "Threads"),
            ("seed", "Seed"),
            ("mip_gap", "MIPGap"),
            ("node_limit", "NodeLimit"),
        ),
        with_integers={"MIPGap": 0.0, "MIPGapAbs": 0.0, "IntFeasTol": FEASIBILITY},
    ),
    "cplex": PyomoSolver("cplex", "cplex", options=(("threads", "threads"),)),
    "xpress": PyomoSolver("xpress", "optimizer", "xpress", options=(("threads", "threads"),)),
    "mosek": PyomoSolver("mosek", package="mosek"),
    "copt": PyomoSolver("copt", package="coptpy"),
}


class Pyomo(BaseBackend):
    """One of Pyomo's solvers; Pyomo takes seconds to hand over what others take as arrays."""

    package = "pyomo"
    install = "pip install pyomo"
    #: Names that may stand behind the colon.
    members = tuple(KNOWN)

    def __init__(self, name: str) -> None:
        self.name, self.solver = name, name.partition(":")[2].lower()
        require_known(self.solver, KNOWN, f"fairlp knows no Pyomo solver {self.solver!r}")
        self.pyomo_solver = KNOWN[self.solver]
        self.capabilities = self.pyomo_solver.capabilities
        self.waits = bool(self.pyomo_solver.executable)
        self.integrality_tolerance = whole_within(self.pyomo_solver.with_integers)
        self.aborts_at_exit = self.solver == "highs"
        self._highs: Any = None
        self.honours = frozenset(
            {"time_limit", "verbose", "extra", *(option for option, _ in self.pyomo_solver.options)}
        )
        if (
            installed("pyomo") and not self._is_there()
        ):  # what is still to be installed; an executable is by no pip
            self.install = (
                f"pip install {self.pyomo_solver.package}" if self.pyomo_solver.package else ""
            )

    def _is_there(self) -> bool:
        """Whether the solver has its executable or package."""
        solver = self.pyomo_solver
        return bool(
            (solver.executable and shutil.which(solver.executable))
            or (solver.package and installed(solver.package))
        )

    def available(self) -> tuple[bool, str]:
        """Return whether Pyomo and the solver (its executable or package) are there."""
        if not installed("pyomo"):
            return False, f"pyomo is not installed; {self.install}"
        solver = self.pyomo_solver
        if self._is_there():
            return True, ""
        executable = f"an executable {solver.executable!r} on the PATH" if solver.executable else ""
        package = f"the package {solver.package!r}" if solver.package else ""
        missing = " or ".join(filter(None, [executable, package]))
        return (
            False,
            f"Pyomo needs {missing} for {self.solver}; install {self.solver} (with its licence, if "
            "it has one)",
        )

    def version(self) -> str:
        """Return Pyomo's version."""
        return f"pyomo {importlib.metadata.version('pyomo')}"

    def run(self, program: Program, options: Options) -> Raw:
        """Minimise through Pyomo."""
        import pyomo.environ as pyo

        model, variables, rows = _build(pyo, program)
        integers = self.pyomo_solver.with_integers if program.is_mip else {}
        settings = {
            **self.pyomo_solver.settings,
            **integers,
            **given_options(options, **dict(self.pyomo_solver.options)),
            **options.extra,
        }
        with _ONE_AT_A_TIME:
            start_time = perf_counter()
            logger = logging.getLogger("pyomo")
            level = logger.level
            logger.setLevel(logging.ERROR)  # warnings about statuses come back as statuses
            try:
                if self.solver == "highs":
                    from pyomo.contrib.solver.common.factory import SolverFactory

                    self._highs = SolverFactory("highs")
                    return solve_with_highs(
                        self._highs, model, variables, rows, program, options, settings
                    )
                solver = pyo.SolverFactory(self.pyomo_solver.factory)
                solver.options.update(settings)
                limit: dict[str, float] = (
                    {} if options.time_limit is None else {"timelimit": options.time_limit}
                )
                if self.solver == "glpk":
                    limit = {name: max(1, math.ceil(value)) for name, value in limit.items()}
                results = solver.solve(model, tee=options.verbose, load_solutions=False, **limit)
            except (RuntimeError, ValueError, OSError) as error:
                raise SolverError(f"{self.name} failed: {first_line(error)}") from error
            finally:
                logger.setLevel(level)
            seconds = perf_counter() - start_time
        return self._read(model, results, variables, rows, program, seconds)

    def stop(self) -> None:
        """End HiGHS by a time limit of 0.

        Pyomo returns the printed text only after the end.
        """
        loaded = getattr(self._highs, "_solver_model", None)
        if loaded is not None:
            loaded.setOptionValue("time_limit", 0.0)

    def _read(
        self,
        model: Any,
        results: Any,
        variables: list[Any],
        rows: list[Any],
        program: Program,
        seconds: float,
    ) -> Raw:
        """Return the answer of an executable."""
        condition = str(results.solver.termination_condition)
        termination = _termination(condition, program)
        raw = Raw(
            termination,
            f"{results.solver.status}, {condition}",
            seconds=seconds,
            method=self.solver,
        )
        if program.is_mip and isinstance(
            bound := getattr(results.problem, "lower_bound", None), float
        ):
            raw.bound = bound
        if len(results.solution) > 0 and termination in (Termination.OPTIMAL, *LIMITS):
            model.solutions.load_from(results)
            raw.x = _values(program, variables)
            if (
                termination is Termination.OPTIMAL
                and not program.is_mip
                and Capability.DUALS in self.capabilities
            ):
                duals = [0.0 if row is None else model.dual.get(row, 0.0) for row in rows]
                raw.row_duals = np.array(duals, dtype=float)
        return raw


_TERMINATION = {
    "optimal": Termination.OPTIMAL,
    "convergenceCriteriaSatisfied": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "provenInfeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasibleOrUnbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "maxIterations": Termination.ITERATION_LIMIT,
    "iterationLimit": Termination.ITERATION_LIMIT,
}


def _termination(condition: str, program: Program) -> Termination:
    """Return why a solver stopped; Pyomo takes a limit of nodes for one of iterations."""
    termination = _TERMINATION.get(condition, Termination.UNKNOWN)
    return (
        Termination.NODE_LIMIT
        if termination is Termination.ITERATION_LIMIT and program.is_mip
        else termination
    )


def _build(pyo: Any, program: Program) -> tuple[Any, list[Any], list[Any]]:
    """Return a flat Pyomo model, its variables and its rows (None for an empty or free row)."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    model = pyo.ConcreteModel(name="program")
    columns = range(program.n_columns)
    model.x = pyo.Var(columns)
    variables = [model.x[j] for j in columns]
    ends = _bounds(program.col_lower), _bounds(program.col_upper)
    for variable, low, high, whole in zip(
        variables, *ends, program.integrality.tolist(), strict=True
    ):
        variable.setlb(low)
        variable.setub(high)
        if whole:
            variable.domain = pyo.Integers
    model.rows = pyo.ConstraintList()
    rows: list[Any] = []
    for places, values, *sides in each_row(program):
        lower, upper = (None if math.isinf(side) else side for side in sides)
        if lower is None and upper is None:
            rows.append(None)
        elif not places:
            rows.append(None)
            if (lower or 0.0) > 0 or (upper or 0.0) < 0:  # an empty row that cannot hold
                model.never = pyo.Var(bounds=(0, 0))
                model.rows.add(model.never == 1)
        else:
            body = LinearExpression(
                constant=0, linear_coefs=values, linear_vars=[variables[j] for j in places]
            )
            rows.append(model.rows.add((lower, body, upper) if lower != upper else (body == lower)))
    costs = [(value, variables[j]) for j, value in enumerate(program.c.tolist()) if value]
    body = LinearExpression(
        constant=0, linear_coefs=[c for c, _ in costs], linear_vars=[v for _, v in costs]
    )
    model.objective = pyo.Objective(expr=body if costs else 0.0, sense=pyo.minimize)
    if not program.is_mip:
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return model, variables, rows


def _bounds(array: np.ndarray) -> list[float | None]:
    return [None if math.isinf(value) else value for value in array.tolist()]


def solve_with_highs(
    solver: Any,
    model: Any,
    variables: list[Any],
    rows: list[Any],
    program: Program,
    options: Options,
    settings: dict[str, Any],
) -> Raw:
    """Solve by Pyomo's own interface to HiGHS, in process."""
    threads = settings.pop("threads", None)
    start_time = perf_counter()
    results = solver.solve(
        model,
        tee=options.verbose,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        time_limit=options.time_limit,
        threads=threads,
        solver_options=settings,
    )
    name = results.termination_condition.name
    termination = _termination(name, program)
    raw = Raw(termination, name, seconds=perf_counter() - start_time, method="highs")
    has_point = results.solution_status.name in ("optimal", "feasible")
    if program.is_mip:
        raw.bound = results.objective_bound
    if has_point and termination in (Termination.OPTIMAL, *LIMITS):
        results.solution_loader.load_vars()
        raw.x = _values(program, variables)
        if termination is Termination.OPTIMAL and not program.is_mip:
            duals = results.solution_loader.get_duals([row for row in rows if row is not None])
            raw.row_duals = np.array(
                [0.0 if row is None else duals[row] for row in rows], dtype=float
            )
    return raw


def _values(program: Program, variables: list[Any]) -> np.ndarray:
    """Return the loaded values, or the number next to 0 within bounds for unused variables.

    A variable of no row and no cost does not reach the solver.
    """
    anywhere = np.clip(0.0, program.col_lower, program.col_upper)
    values = [
        anywhere[j] if variable.value is None else variable.value
        for j, variable in enumerate(variables)
    ]
    return np.array(values, dtype=float)
