"""What a program is made of, by block, and where two programs differ, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...errors import ModelError
from .backends import equilibrated
from .program import Program


def statistics(program: Program, scaled: bool = False) -> pd.DataFrame:
    """Return sizes, and the smallest and largest magnitudes that are neither 0 nor infinite, of each block.

    The name of a line for all rows, or all columns, is empty.

    Parameters
    ----------
    program : Program
    scaled : bool
        Of the program as solvers with absolute tolerances are given it: scaled by powers of two.
    """
    given = _scaled(program) if scaled else program
    columns = np.repeat(np.arange(given.n_columns), np.diff(given.A.indptr))
    table = {}
    for kind, blocks, line, bounds, costs, integers in (
        (
            "constraint",
            given.rows,
            given.A.indices,
            (given.row_lower, given.row_upper),
            np.zeros(given.n_rows),
            None,
        ),
        (
            "variable",
            given.columns,
            columns,
            (given.col_lower, given.col_upper),
            given.c,
            given.integrality,
        ),
    ):
        for name, at in [
            *((block.name, block.slice) for block in blocks),
            ("", slice(0, len(costs))),
        ]:
            inside = (line >= at.start) & (line < at.stop)
            table[kind, name] = {
                "size": at.stop - at.start,
                "nonzeros": int(inside.sum()),
                "integers": 0 if integers is None else int(integers[at].sum()),
                **_range("coefficient", given.A.data[inside]),
                **_range("bound", np.concatenate([side[at] for side in bounds])),
                **_range("cost", costs[at]),
            }
    index = pd.MultiIndex.from_tuples(table, names=["kind", "name"])
    return pd.DataFrame(list(table.values()), index=index)


def _range(what: str, values: np.ndarray) -> dict[str, float]:
    """Return the smallest and the largest magnitude, of those that are neither 0 nor infinite; NaN where none is."""
    sizes = np.abs(values[(values != 0) & np.isfinite(values)])
    low, high = (sizes.min(), sizes.max()) if sizes.size else (np.nan, np.nan)
    return {f"smallest {what}": float(low), f"largest {what}": float(high)}


def _scaled(program: Program) -> Program:
    scaling, data = equilibrated(program)
    return program.replace(
        A=type(program.A)((data, program.A.indices, program.A.indptr), shape=program.A.shape),
        row_lower=scaling.row_bounds(program.row_lower),
        row_upper=scaling.row_bounds(program.row_upper),
        col_lower=scaling.column_bounds(program.col_lower),
        col_upper=scaling.column_bounds(program.col_upper),
        c=scaling.costs(program.c),
    )


def difference(first: Program, second: Program) -> pd.DataFrame:
    """Return what two programs differ in, matched by the names of rows and columns; empty where they are the same.

    A row or column that only one has is one line; so is each number that differs in what both have.

    Parameters
    ----------
    first, second : Program
    """
    found = (
        [pd.DataFrame([("sense", "", "", first.sense, second.sense)])]
        if first.sense != second.sense
        else []
    )
    names = [(_unique(one.row_names), _unique(one.column_names)) for one in (first, second)]
    for what, (mine, theirs) in zip(("row", "column"), zip(*names, strict=True), strict=True):
        lonely = mine.symmetric_difference(theirs)
        blank = np.full(len(lonely), "")
        labels = (lonely, blank) if what == "row" else (blank, lonely)
        found.append(
            pd.DataFrame(
                zip(blank + what, *labels, lonely.isin(mine), lonely.isin(theirs), strict=True)
            )
        )
    both = [
        mine.intersection(theirs).append(pd.Index([""]))
        for mine, theirs in zip(*names, strict=True)
    ]
    mine, theirs = (_numbers(one, *both) for one in (first, second))
    mine, theirs = mine.align(theirs, fill_value=0.0)
    other = mine.to_numpy() != theirs.to_numpy()
    found.append(
        pd.concat([mine[other], theirs[other]], axis=1).reset_index().set_axis(range(5), axis=1)
    )
    parts = [part for part in found if len(part)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=range(5))
    return table.set_axis(["part", "row", "column", "first", "second"], axis=1)


def _unique(names: list[str]) -> pd.Index[Any]:
    found = pd.Index(names, dtype=object)
    if not found.is_unique:
        raise ModelError(
            f"{found[found.duplicated()][0]!r} is the name of several rows or columns; use other "
            "labels"
        )
    return found


def _numbers(program: Program, rows: pd.Index[Any], columns: pd.Index[Any]) -> pd.Series[Any]:
    """Return the numbers of a program by part, row and column, as far as these rows and columns go."""
    row = np.array([*program.row_names, ""], object)
    column = np.array([*program.column_names, ""], object)
    every = np.arange(program.n_rows)
    each = np.arange(program.n_columns)
    parts = [
        (
            "coefficient",
            row[program.A.indices],
            column[np.repeat(each, np.diff(program.A.indptr))],
            program.A.data,
        ),
        ("offset", row[-1:], column[-1:], [program.offset]),
        *((what, row[every], "", getattr(program, what)) for what in ("row_lower", "row_upper")),
        *(
            (what, "", column[each], getattr(program, what))
            for what in ("c", "col_lower", "col_upper", "integrality")
        ),
    ]
    if program.logs is not None:
        inner = program.logs.A.tocoo()
        parts.append(
            ("logarithm of", inner.coords[0].astype(str), column[inner.coords[1]], inner.data)
        )
        terms = np.arange(len(program.logs.weights)).astype(str)
        parts += [
            (f"logarithm's {what}", terms, "", getattr(program.logs, what)) for what in _OF_LOGS
        ]
    table = pd.concat(
        pd.DataFrame({"part": what, "row": at, "column": to, "value": np.asarray(values, float)})
        for what, at, to, values in parts
    )
    known = (table["row"].isin(rows) | table["part"].str.startswith("logarithm")) & table[
        "column"
    ].isin(columns)
    return table[known].set_index(["part", "row", "column"])["value"]


_OF_LOGS = ("weights", "constant", "alpha")
