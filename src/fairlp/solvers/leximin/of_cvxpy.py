"""Levels of a CVXPY problem: CVXPY's own canonical form, as the Program that the rounds work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError
from ...models.notation.expressions import Index
from ...models.programs.program import Block, Program
from .levels import Levels, checked_weights, unused, with_levels

#: Whose form is asked for: the solver of CVXPY that is always there and takes linear cones and integers, nothing else.
_FORM = "SCIPY"


def by_cvxpy(problem: Any, levels: Any, weights: Any) -> Levels:
    """Return the feasible points of a problem with affine levels; its objective plays no part.

    Every variable and level is read off as ``read[k] == …`` in one more variable, so that nothing has to be known of
    what CVXPY makes of a matrix, an attribute or an absolute value.
    """
    import cvxpy as cp

    labels, elements = _named(cp, levels)
    of_all = cp.Problem(cp.Minimize(0), [*problem.constraints, *(one == 0 for one in elements)])
    variables = of_all.variables()
    _refuse_unreadable(of_all, variables)
    flat = [cp.vec(one, order="C") for one in (*variables, *elements)]
    read = cp.Variable(sum(one.size for one in flat))
    # the objective tells which column is which: k + 1 is the cost of read[k] there
    find = cp.Minimize(np.arange(1, read.size + 1) @ read)
    try:
        data, *_ = cp.Problem(find, [*problem.constraints, read == cp.hstack(flat)]).get_problem_data(
            _FORM, ignore_dpp=True
        )
    except (cp.error.DCPError, cp.error.SolverError):
        raise _not_linear(cp, problem) from None
    return _levels(data, variables, labels, weights)


def _named(cp: Any, levels: Any) -> tuple[list[Any], list[Any]]:
    """Return the label of every level, and the expressions that hold them in that order (C order within each)."""
    if isinstance(levels, dict):
        given = levels
    else:
        given = dict(enumerate(levels if isinstance(levels, list | tuple) else [levels]))
    for label, one in given.items():
        if not isinstance(one, cp.Expression):
            raise ModelError(
                f"level {label!r} is {type(one).__name__}; levels of a CVXPY problem are its expressions: one, a list "
                "of them, or a dict by label"
            )
        if not one.is_affine() or one.is_complex():
            raise ModelError(
                f"level {label!r} is not affine: {one}; a concave one can be a variable v of its own with v <= {one} "
                "among the constraints (where that is linear), and v as the level"
            )
    count = sum(one.size for one in given.values())
    if not count:
        raise ModelError("there are no levels; expected at least one expression")
    if not isinstance(levels, dict):
        return list(range(count)), list(given.values())
    labels: list[Any] = []
    for label, one in given.items():
        places = [",".join(map(str, place)) for place in np.ndindex(one.shape)]
        labels += [f"{label}[{place}]" for place in places] if one.ndim else [label]
    return labels, list(given.values())


def _refuse_unreadable(problem: Any, variables: Sequence[Any]) -> None:
    for one in variables:
        if one.is_complex():
            raise ModelError(f"variable {one.name()!r} is complex; write its parts as two real variables")
        if one.attributes["PSD"] or one.attributes["NSD"]:
            raise ModelError(f"variable {one.name()!r} is semidefinite; a leximin here takes linear constraints only")
    for one in problem.parameters():
        if one.value is None:
            raise ModelError(f"parameter {one.name()!r} has no value; set its .value first")


def _not_linear(cp: Any, problem: Any) -> ModelError:
    """Return what to say of the first constraint that is not linear."""
    found = next((one for one in problem.constraints if not _is_linear(cp, one)), "of the problem")
    return ModelError(
        f"constraint {found} is not linear (of cones, a leximin here takes linear ones only); write it with linear "
        "expressions, abs, max or the norms 1 and inf, or bound it by tangents"
    )


def _is_linear(cp: Any, constraint: Any) -> bool:
    try:
        cp.Problem(cp.Minimize(0), [constraint]).get_problem_data(_FORM, ignore_dpp=True)
    except (cp.error.DCPError, cp.error.SolverError):
        return False
    return True


def _levels(data: dict[str, Any], variables: Sequence[Any], labels: list[Any], weights: Any) -> Levels:
    """Return the levels of the canonical form A·x = b, G·x ≤ h, where the last ``len(labels)`` read-offs are levels."""
    cost = data["c"]
    reads = np.argsort(cost, kind="stable")[np.count_nonzero(cost == 0) :]
    A, b = sp.csc_array(data["A"]), data["b"]
    at = A[:, reads].tocoo()
    own = np.empty(len(reads), dtype=np.intp)  # the row that says what each is
    own[at.col], size = at.row, np.empty(len(reads))
    size[at.col] = at.data
    without_reads = A @ sp.diags_array((cost == 0).astype(float))
    expression = sp.csr_array(sp.diags_array(-1.0 / size) @ without_reads.tocsr()[own])
    expression.eliminate_zeros()
    constant = b[own] / size
    first = len(reads) - len(labels)
    column = _same_column(expression[:first], constant[:first])
    same = column >= 0  # not so for an element of a symmetric matrix, say: it stays, with its row
    place = np.where(same, column, reads[:first])
    order = np.concatenate([place, np.setdiff1d(np.flatnonzero(cost == 0), place)])
    rows = np.setdiff1d(np.arange(len(b)), np.concatenate([own[:first][same], own[first:]]))
    base = _program(data, order, rows, variables)
    slopes = sp.csc_array(expression[first:].tocsc()[:, order])
    index = pd.Index(labels, tupleize_cols=False)
    block = Block("levels", (("level", index),), base.n_rows, base.n_rows + len(labels))
    weight = checked_weights(weights, (Index("level", index),))
    found = with_levels(base, slopes, constant[first:], block, weight)
    return replace(found, hand_back=partial(_save, list(variables)))


def _same_column(expression: Any, constant: np.ndarray) -> np.ndarray:
    """Return for each row the column that it is, −1 where it is none or another row is it already."""
    column = np.full(len(constant), -1)
    single = np.flatnonzero((np.diff(expression.indptr) == 1) & (constant == 0))
    start = expression.indptr[single]
    single, start = single[expression.data[start] == 1], start[expression.data[start] == 1]
    which, first = np.unique(expression.indices[start], return_index=True)
    column[single[first]] = which
    return column


def _program(data: dict[str, Any], order: np.ndarray, rows: np.ndarray, variables: Sequence[Any]) -> Program:
    """Return the form's columns in that order, with its rows and the names of the variables."""
    size = len(data["c"])
    G, h = (sp.csc_array((0, size)), np.zeros(0)) if data["G"] is None else (data["G"], data["h"])
    matrix = sp.csc_array(sp.vstack([sp.csr_array(data["A"])[rows], G]).tocsc()[:, order])
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    binary, whole = (np.asarray(data[kind], dtype=np.intp) for kind in ("bool_vars_idx", "int_vars_idx"))
    lower, upper = (
        np.full(size, none) if data.get(key) is None else np.array(data[key], dtype=float)
        for key, none in (("lower_bounds", -np.inf), ("upper_bounds", np.inf))
    )
    lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
    integrality = np.zeros(size, dtype=np.uint8)
    integrality[np.concatenate([binary, whole])] = 1
    equal = len(rows)
    blocks = (("equalities", 0, equal), ("inequalities", equal, matrix.shape[0]))
    return Program(
        name="CVXPY problem",
        sense="max",
        c=np.zeros(len(order)),
        offset=0.0,
        A=matrix,
        row_lower=np.concatenate([data["b"][rows], np.full(len(h), -np.inf)]),
        row_upper=np.concatenate([data["b"][rows], h]),
        col_lower=lower[order],
        col_upper=upper[order],
        integrality=integrality[order],
        rows=tuple(Block(name, (("row", pd.RangeIndex(stop - start)),), start, stop) for name, start, stop in blocks),
        columns=_columns(variables, len(order)),
    )


def _columns(variables: Sequence[Any], size: int) -> tuple[Block, ...]:
    """Return a block for each variable, of its shape; of two with one name, the second has ``_`` behind it."""
    blocks: list[Block] = []
    start = 0
    for one in variables:
        axes = tuple((f"axis_{d}", pd.RangeIndex(length)) for d, length in enumerate(one.shape))
        blocks.append(Block(unused(one.name(), blocks), axes, start, start + one.size))
        start += one.size
    if start < size:
        blocks.append(Block(unused("auxiliary", blocks), (("column", pd.RangeIndex(size - start)),), start, size))
    return tuple(blocks)


def _save(variables: Sequence[Any], x: np.ndarray) -> None:
    """Write a point into the variables' ``.value``, as CVXPY's own solvers do."""
    start = 0
    for one in variables:
        value = x[start : start + one.size].reshape(one.shape)
        one.save_value(value.copy())
        start += one.size
