"""Levels of a Pyomo model: its active constraints by Pyomo's own linear representation, as a Program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError
from ...models.notation.expressions import Index
from ...models.programs.program import Block, Program
from .levels import Levels, by_names, by_rows, checked_weights, with_levels


def by_pyomo(model: Any, levels: Any, weights: Any) -> Levels:
    """Return the feasible points of a Pyomo model with its levels.

    Constraints as levels are rows … ≥ w·t of a model that maximises t. With linear expressions as levels the model's
    objective plays no part.
    """
    import pyomo.environ as pyo

    _refuse_unreadable(pyo, model)
    found = _component(model, levels)
    if isinstance(found, list | tuple):
        found = [_component(model, one) for one in found]
    columns = _Columns(pyo, model)
    if _are_constraints(pyo, [found]) and found.parent_component() is found:
        result = by_rows(_program(pyo, model, columns, True), found.name, weights)
    elif isinstance(found, list) and _are_constraints(pyo, found):
        result = by_names(_program(pyo, model, columns, True), [one.name for one in found], weights)
    else:
        given = _named(found)
        rows = [columns.linear(one, f"level {label!r}") for label, one in given.items()]
        base = _program(pyo, model, columns, False)
        block = _block("levels", list(given), base.n_rows + len(rows), "level")
        weight = checked_weights(weights, (Index("level", pd.Index(list(given), tupleize_cols=False)),))
        constant = np.array([value for _, value in rows], dtype=float)
        result = with_levels(base, columns.matrix(rows), constant, block, weight)
    return replace(result, hand_back=partial(_save, columns.variables))


def _component(model: Any, given: Any) -> Any:
    """Return what a text names in the model; what is no text as it is."""
    if not isinstance(given, str):
        return given
    found = model.find_component(given)
    if found is None:
        raise ModelError(
            f"Pyomo model {model.name!r} has no component {given!r} to be levels; give the name of a constraint "
            "… >= w*t where the model maximises t, or linear expressions: an Expression, a list of them, or a dict"
        )
    return found


def _are_constraints(pyo: Any, found: Sequence[Any]) -> bool:
    return bool(found) and all(getattr(one, "ctype", None) is pyo.Constraint for one in found)


def _named(levels: Any) -> dict[Any, Any]:
    """Return the expressions by label: by the keys of a dict or of an indexed component, or by position."""
    if isinstance(levels, dict) or (hasattr(levels, "is_indexed") and levels.is_indexed()):
        given = dict(levels.items())
    else:
        given = dict(enumerate(levels if isinstance(levels, list) else [levels]))
    if not given:
        raise ModelError("there are no levels; expected at least one expression")
    return given


def _refuse_unreadable(pyo: Any, model: Any) -> None:
    """Raise where the model is not constructed, or has something active that is neither bounds nor constraints."""
    if not model.is_constructed():
        raise ModelError(f"Pyomo model {model.name!r} has no data yet; give what its create_instance() returns")
    known = {pyo.Var, pyo.Param, pyo.Set, pyo.RangeSet, pyo.Expression, pyo.Constraint, pyo.Objective, pyo.Block}
    known |= {pyo.Suffix, pyo.BuildAction, pyo.BuildCheck}
    for block in model.block_data_objects(active=True):
        for component in block.component_objects(active=True, descend_into=False):
            if component.ctype not in known:
                raise ModelError(
                    f"{component.name!r} of Pyomo model {model.name!r} is a {component.ctype.__name__}, which is no "
                    "linear constraint; reformulate it by a transformation of Pyomo's, or deactivate it"
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
        self.place = {id(one): column for column, one in enumerate(self.variables)}

    def linear(self, expression: Any, what: str) -> tuple[dict[int, float], float]:
        """Return the coefficients by column, and the constant; variables that are fixed are constants."""
        from pyomo.repn import generate_standard_repn

        try:
            form = generate_standard_repn(expression, quadratic=False)
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{what} cannot be read ({error}); expected a linear expression of Pyomo's") from None
        if not form.is_linear():
            raise ModelError(f"{what} is not linear: {expression}; a leximin needs linear levels and constraints")
        if any(id(one) not in self.place for one in form.linear_vars):
            raise ModelError(f"{what} has a variable of another model: {expression}")
        terms = zip(form.linear_vars, form.linear_coefs, strict=True)
        return {self.place[id(one)]: float(value) for one, value in terms}, float(form.constant)

    def matrix(self, rows: Sequence[tuple[dict[int, float], float]]) -> Any:
        """Return the coefficients of all rows."""
        lengths = [len(terms) for terms, _ in rows]
        values = np.array([value for terms, _ in rows for value in terms.values()], dtype=float)
        columns = np.array([column for terms, _ in rows for column in terms], dtype=np.intp)
        at = (np.repeat(np.arange(len(rows)), lengths), columns)
        found = sp.csc_array((values, at), shape=(len(rows), len(self.variables)))
        found.eliminate_zeros()
        return found

    def cost(self, pyo: Any, model: Any) -> tuple[np.ndarray, Literal["min", "max"]]:
        """Return the objective, which names t where rows are levels."""
        active = list(model.component_data_objects(pyo.Objective, active=True))
        if len(active) != 1:
            raise ModelError(
                f"Pyomo model {model.name!r} has {len(active)} active objectives; constraints … >= w*t as levels need "
                "one, that maximises t (or give linear expressions as levels)"
            )
        terms, _ = self.linear(active[0].expr, f"objective {active[0].name!r}")
        cost = np.zeros(len(self.variables))
        cost[list(terms)] = list(terms.values())
        return cost, "min" if active[0].is_minimizing() else "max"


def _program(pyo: Any, model: Any, columns: _Columns, with_objective: bool) -> Program:
    """Return the model's active constraints, a block for each component."""
    rows: list[tuple[dict[int, float], float]] = []
    blocks, ends = [], []
    for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
        active = {key: one for key, one in component.items() if one.active}
        for one in active.values():
            rows.append(columns.linear(one.body, f"constraint {one.name!r}"))
            ends.append((one.lb, one.ub))
        blocks.append(_block(component.name, list(active), len(rows)))
    constant = np.array([value for _, value in rows], dtype=float)
    row_lower, row_upper = _bounds(ends)
    fixed = [one.fixed and one.value is not None for one in columns.variables]
    col_lower, col_upper = _bounds(
        [(one.value, one.value) if still else one.bounds for one, still in zip(columns.variables, fixed, strict=True)]
    )
    whole = [not still and not one.is_continuous() for one, still in zip(columns.variables, fixed, strict=True)]
    sense: Literal["min", "max"]
    cost, sense = columns.cost(pyo, model) if with_objective else (np.zeros(len(fixed)), "max")
    return Program(
        name=model.name,
        sense=sense,
        c=cost,
        offset=0.0,
        A=columns.matrix(rows),
        row_lower=row_lower - constant,
        row_upper=row_upper - constant,
        col_lower=col_lower,
        col_upper=col_upper,
        integrality=np.array(whole, dtype=np.uint8),
        rows=tuple(blocks),
        columns=columns.blocks,
    )


def _bounds(ends: Sequence[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends, infinite where there is None."""
    lower = np.array([-np.inf if low is None else low for low, _ in ends], dtype=float)
    return lower, np.array([np.inf if high is None else high for _, high in ends], dtype=float)


def _block(name: str, keys: Sequence[Any], stop: int, symbol: str = "index") -> Block:
    """Return the block that ends there, over the keys; those of several parts are over as many indices."""
    start = stop - len(keys)
    if list(keys) == [None]:
        return Block(name, (), start, stop)
    if keys and all(isinstance(key, tuple) and len(key) == len(keys[0]) for key in keys):
        parts = [pd.Index(part, tupleize_cols=False) for part in zip(*keys, strict=True)]
        axes = tuple((f"{symbol}_{d}", part.unique()) for d, part in enumerate(parts, 1))
        places = [one.get_indexer(part) for (_, one), part in zip(axes, parts, strict=True)]
        positions = np.ravel_multi_index(places, [len(one) for _, one in axes])
        return Block(name, axes, start, stop, np.asarray(positions))
    return Block(name, ((symbol, pd.Index(list(keys), tupleize_cols=False)),), start, stop)


def _save(variables: Sequence[Any], x: np.ndarray) -> None:
    """Write a point into the variables that are not fixed, as Pyomo's own solvers do."""
    for one, value in zip(variables, x.tolist(), strict=False):
        if not one.fixed:
            one.set_value(value, skip_validation=True)
