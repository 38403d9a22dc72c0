"""A model as an idiomatic Pyomo ``ConcreteModel``: sets, parameters, variables and constraints by their own names."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ModelError
from ...models.notation.entries import Constraint
from ...models.notation.expressions import (
    Add,
    Constant,
    Element,
    Expression,
    Index,
    Log,
    Parameter,
    Power,
    Product,
    Quotient,
    Range,
    SumOver,
    Variable,
)
from ...models.notation.model import Model
from ...models.notation.nodes import Ends
from ...models.programs.program import Program
from ...models.programs.solution import Solution, Termination
from .base import reduced_costs

Binding = dict[str, int]


def lower(model: Model) -> Any:
    """Return a Pyomo model that a person can go on working with.

    Indices become ordered Sets (of the labels), parameters Params, variables Vars (over the elements that exist),
    constraints Constraints and the objective ``objective``. Built element by element: O(nonzeros) in Python, as Pyomo
    works; for large models solve with the default back end instead.
    """
    import pyomo.environ as pyo

    built = pyo.ConcreteModel(name=model.name)
    for index in model.indices:
        built.add_component(index.symbol, pyo.Set(initialize=list(index.labels), ordered=True))
    for name, parameter in model.parameters.items():
        built.add_component(_free_name(built, name), _parameter(pyo, built, parameter))
    variables: dict[str, Any] = {}
    for name, variable in model.variables.items():
        variables[name] = _variable(pyo, built, variable)
        built.add_component(_free_name(built, name), variables[name])
    build = _Builder(pyo, variables)
    for name, row in model.constraints.items():
        built.add_component(_free_name(built, name), _constraint(pyo, build, row))
    if model.objective is not None:
        sense = pyo.maximize if model.sense == "max" else pyo.minimize
        built.objective = pyo.Objective(expr=build(model.objective, {}), sense=sense)
    return built


def read_back(model: Model, built: Any) -> Solution:
    """Return the Solution of a solved Pyomo model that :func:`lower` made.

    Values in a Pyomo model do not tell how they came about, so the status is "optimal" only where duals prove it. They
    come from the Suffix ``dual``, where the user declared one before solving:
    ``built.dual = Suffix(direction=Suffix.IMPORT)``. Variables without a value give a Solution without a point.
    """
    program = model.compile()
    x = np.full(program.n_columns, np.nan)
    for block in program.columns:
        component = _component(built, block.name)
        if component is None:
            raise ModelError(f"the Pyomo model has no variable {block.name!r}; make it with model.to_pyomo()")
        keys = list(block.labels()) or [()]
        values = [component[labels if len(labels) != 1 else labels[0]] if labels else component for labels in keys]
        x[block.slice] = [np.nan if value.value is None else value.value for value in values]
    found = None if np.isnan(x).any() else x
    duals = reduced = None
    suffix = built.component("dual")
    if found is not None and suffix is not None and not program.is_mip:
        duals = np.zeros(program.n_rows)
        for block in program.rows:
            component = _component(built, block.name)
            rows = list(block.labels()) or [()]
            for at, labels in enumerate(rows, block.start):
                row = component[labels if len(labels) != 1 else labels[0]] if labels else component
                duals[at] = suffix.get(row, 0.0)
        # some interfaces report duals of the minimisation also for a maximum: the objective's growth tells which
        duals = _oriented(program, found, duals)
        reduced = reduced_costs(program, found, duals)
    read = Solution.of_point(program, Termination.OPTIMAL, "read from the Pyomo model", "pyomo", found, duals, reduced)
    return read.checked()


def _oriented(program: Program, x: np.ndarray, duals: np.ndarray) -> np.ndarray:
    """Return the duals with the sign that makes the certificate hold better."""
    from ...models.programs.certificate import certify

    proofs = [certify(program, x, signed) for signed in (duals, -duals)]
    first, second = ((proof.gap or 0.0) + (proof.dual_residual or 0.0) for proof in proofs)
    return duals if first <= second else -duals


def _component(built: Any, name: str) -> Any:
    """Return the component that :func:`lower` made for a name (see :func:`_free_name`)."""
    found = built.component(f"{name}_")
    return found if found is not None else built.component(name)


class _Builder:
    """Turns an expression, with positions for its free indices, into a Pyomo expression (None: nothing there)."""

    def __init__(self, pyo: Any, variables: dict[str, Any]) -> None:
        self.pyo, self.variables = pyo, variables

    def __call__(self, node: Expression, at: Binding) -> Any:
        match node:
            case Constant():
                return node.value
            case Element():
                labels = tuple(
                    own.labels[place] for own, place in zip(node.base.indices, self.places(node, at), strict=True)
                )
                if isinstance(node.base, Parameter):
                    return float(node.base.values[self.places(node, at)])
                component, key = self.variables[node.name], labels[0] if len(labels) == 1 else labels
                return component[key] if key in component else 0.0  # noqa: SIM401 (as below)
            case Parameter() | Ends():
                return float(node.values[tuple(at[index.symbol] for index in node.indices)])
            case Variable():
                component = self.variables[node.base.name]
                key = _key(node.indices, at)
                return component[key] if key in component else 0.0  # noqa: SIM401 (a Pyomo component has no get)
            case Add():
                return self(node.left, at) + node.sign * self(node.right, at)
            case Product():
                left, right = self(node.left, at), self(node.right, at)
                zero = (isinstance(left, float) and left == 0) or (isinstance(right, float) and right == 0)
                return 0.0 if zero else left * right
            case Quotient():
                return self(node.left, at) / self(node.right, at)
            case Log():
                return self.pyo.log(self(node.argument, at))
            case Power():
                return self(node.argument, at) ** node.exponent
            case SumOver():
                places = itertools.product(*(range(len(index)) for index in node.over))
                symbols = [index.symbol for index in node.over]
                parts = (self(node.body, {**at, **dict(zip(symbols, place, strict=True))}) for place in places)
                return self.pyo.quicksum(part for part in parts if not (isinstance(part, float) and part == 0))
        raise ModelError(f"{type(node).__name__} cannot be turned into a Pyomo expression")

    def places(self, node: Element, at: Binding) -> tuple[int, ...]:
        """Return the position of an element on every index of what it is of."""
        free = iter(node.indices)
        return tuple(at[next(free).symbol] if place is None else place for place in node.places)


def _key(indices: tuple[Index, ...], at: Binding) -> Any:
    labels = tuple(index.labels[at[index.symbol]] for index in indices)
    return labels[0] if len(labels) == 1 else (labels or None)


def _sets(built: Any, indices: tuple[Index, ...]) -> list[Any]:
    return [getattr(built, index.symbol) for index in indices]


def _parameter(pyo: Any, built: Any, parameter: Parameter) -> Any:
    if not parameter.indices:
        return pyo.Param(initialize=float(parameter.values), doc=parameter.doc)
    symbols = [index.symbol for index in parameter.indices]
    values = {
        _key(parameter.indices, dict(zip(symbols, place, strict=True))): float(parameter.values[place])
        for place in np.ndindex(parameter.values.shape)
    }
    return pyo.Param(*_sets(built, parameter.indices), initialize=values, within=pyo.Any, doc=parameter.doc)


def _variable(pyo: Any, built: Any, variable: Variable) -> Any:
    domain = pyo.Integers if variable.integer else pyo.Reals
    positions = np.arange(variable.size) if variable.positions is None else variable.positions
    symbols = [index.symbol for index in variable.indices]
    places = np.unravel_index(positions, variable.shape) if variable.indices else ()
    keys = [_key(variable.indices, dict(zip(symbols, place, strict=True))) for place in zip(*places, strict=True)] or [
        None
    ]
    bounds = {
        key: tuple(None if np.isinf(bound) else float(bound) for bound in pair)
        for key, pair in zip(keys, zip(variable.lower, variable.upper, strict=True), strict=True)
    }
    if not variable.indices:
        return pyo.Var(domain=domain, bounds=bounds[None], doc=variable.doc)
    rule: Callable[..., Any] = lambda _, *key: bounds[key[0] if len(key) == 1 else key]  # noqa: E731
    over = _sets(built, variable.indices) if variable.positions is None else [pyo.Set(initialize=keys, ordered=True)]
    return pyo.Var(*over, domain=domain, bounds=rule, doc=variable.doc)


def _constraint(pyo: Any, build: _Builder, row: Constraint) -> Any:
    def ranged(at: Binding) -> Any:
        assert isinstance(row.relation, Range)
        none = (-np.inf, np.inf)
        ends = zip(row.relation.ends, none, strict=True)
        low, high = (missing if end is None else build(end, at) for end, missing in ends)
        body = build(row.relation.left, at)
        if hasattr(body, "is_expression_type"):
            return (low, body, high)
        return pyo.Constraint.Feasible if low <= body <= high else pyo.Constraint.Infeasible

    def one(at: Binding) -> Any:
        if isinstance(row.relation, Range):
            return ranged(at)
        left, right = build(row.relation.left, at), build(row.relation.right, at)
        if not hasattr(left, "is_expression_type") and not hasattr(right, "is_expression_type"):
            holds = {"<=": left <= right, ">=": left >= right, "==": left == right}[row.relation.comparison]
            return pyo.Constraint.Feasible if holds else pyo.Constraint.Infeasible
        if hasattr(right, "is_expression_type"):
            # written as left − right with bounds: Pyomo would turn the row round, and with it the sign of its dual
            low, high = {"<=": (None, 0.0), ">=": (0.0, None), "==": (0.0, 0.0)}[row.relation.comparison]
            return (low, left - right, high)
        if row.relation.comparison == "<=":
            return left <= right
        return left >= right if row.relation.comparison == ">=" else left == right

    if not row.over:
        return pyo.Constraint(expr=one({}))
    positions = np.arange(row.full_size) if row.positions is None else row.positions
    symbols = [index.symbol for index in row.over]
    places = zip(*np.unravel_index(positions, [len(index) for index in row.over]), strict=True)
    at = {}
    for place in places:
        binding = dict(zip(symbols, (int(p) for p in place), strict=True))
        at[_key(row.over, binding)] = binding
    keys = pyo.Set(initialize=list(at), ordered=True)
    return pyo.Constraint(keys, rule=lambda _, *key: one(at[key[0] if len(key) == 1 else key]))


def _free_name(built: Any, name: str) -> str:
    """Return a name that no component has yet (an index and a parameter may share a letter)."""
    while built.component(name) is not None:
        name += "_"
    return name
