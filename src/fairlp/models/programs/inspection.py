"""What a program is made of, by block, and where two programs differ, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...errors import ModelError
from ...tolerances import ROUNDING
from .backends import equilibrated
from .program import Program


def statistics(program: Program, scaled: bool = False) -> pd.DataFrame:
    """Return each block's sizes and its smallest and largest magnitudes, without 0 and infinity.

    The name of a line for all rows, or all columns, is empty.

    Parameters
    ----------
    program : Program
    scaled : bool
        Of the program as solvers with absolute tolerances are given it: scaled by powers of two.
    """
    inspected = _scaled(program) if scaled else program
    columns = np.repeat(np.arange(inspected.n_columns), np.diff(inspected.A.indptr))
    table = {}
    for kind, blocks, line, bounds, costs, integers in (
        (
            "constraint",
            inspected.rows,
            inspected.A.indices,
            (inspected.row_lower, inspected.row_upper),
            np.zeros(inspected.n_rows),
            None,
        ),
        (
            "variable",
            inspected.columns,
            columns,
            (inspected.col_lower, inspected.col_upper),
            inspected.c,
            inspected.integrality,
        ),
    ):
        for name, positions in [
            *((block.name, block.slice) for block in blocks),
            ("", slice(0, len(costs))),
        ]:
            inside = (line >= positions.start) & (line < positions.stop)
            table[kind, name] = {
                "size": positions.stop - positions.start,
                "nonzeros": int(inside.sum()),
                "integers": 0 if integers is None else int(integers[positions].sum()),
                **_range("coefficient", inspected.A.data[inside]),
                **_range("bound", np.concatenate([side[positions] for side in bounds])),
                **_range("cost", costs[positions]),
            }
    index = pd.MultiIndex.from_tuples(table, names=["kind", "name"])
    return pd.DataFrame(list(table.values()), index=index)


#: Columns of :func:`violations`.
_VIOLATION = ["kind", "name", "value", "lower", "upper", "violation"]


def _range(noun: str, values: np.ndarray) -> dict[str, float]:
    """Return the smallest and largest magnitude without 0 and infinity; NaN where none is left."""
    sizes = np.abs(values[(values != 0) & np.isfinite(values)])
    low, high = (sizes.min(), sizes.max()) if sizes.size else (np.nan, np.nan)
    return {f"smallest {noun}": float(low), f"largest {noun}": float(high)}


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


def violations(program: Program, x: np.ndarray) -> pd.DataFrame:
    """Return the rows and bounds that a point breaks, as :meth:`.Solution.violations` does."""
    activity = program.A @ x
    terms = abs(program.A) @ abs(x)
    lines = (
        ("constraint", program.rows, activity, terms, program.row_lower, program.row_upper),
        ("bound", program.columns, x, abs(x), program.col_lower, program.col_upper),
    )
    frames = []
    for kind, blocks, values, sizes, lower, upper in lines:
        excess = np.maximum(lower - values, values - upper)
        names = [name for block in blocks for name in block.names()]
        broken = np.flatnonzero(excess > ROUNDING * sizes)
        entries = [
            (kind, names[place], values[place], lower[place], upper[place], excess[place])
            for place in broken
        ]
        frames.append(pd.DataFrame(entries, columns=_VIOLATION))
    table = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
    return table.sort_values("violation", ascending=False, kind="stable", ignore_index=True)


def difference(first: Program, second: Program) -> pd.DataFrame:
    """Return the differences of two programs, matched by names; empty where they are the same.

    A row or column that only one has is one line; so is each number that differs in what both have.

    Parameters
    ----------
    first, second : Program
    """
    frames = (
        [pd.DataFrame([("sense", "", "", first.sense, second.sense)])]
        if first.sense != second.sense
        else []
    )
    names = [
        (_unique(program.row_names), _unique(program.column_names)) for program in (first, second)
    ]
    for axis, (first_numbers, second_numbers) in zip(
        ("row", "column"), zip(*names, strict=True), strict=True
    ):
        lonely = first_numbers.symmetric_difference(second_numbers)
        blank = np.full(len(lonely), "")
        labels = (lonely, blank) if axis == "row" else (blank, lonely)
        frames.append(
            pd.DataFrame(
                zip(
                    blank + axis,
                    *labels,
                    lonely.isin(first_numbers),
                    lonely.isin(second_numbers),
                    strict=True,
                )
            )
        )
    shared_names = [
        first_numbers.intersection(second_numbers).append(pd.Index([""]))
        for first_numbers, second_numbers in zip(*names, strict=True)
    ]
    first_numbers, second_numbers = (
        _numbers(program, *shared_names) for program in (first, second)
    )
    first_numbers, second_numbers = first_numbers.align(second_numbers, fill_value=0.0)
    other = first_numbers.to_numpy() != second_numbers.to_numpy()
    frames.append(
        pd.concat([first_numbers[other], second_numbers[other]], axis=1)
        .reset_index()
        .set_axis(range(5), axis=1)
    )
    parts = [frame for frame in frames if len(frame)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=range(5))
    return table.set_axis(["part", "row", "column", "first", "second"], axis=1)


def _unique(names: list[str]) -> pd.Index[Any]:
    index = pd.Index(names, dtype=object)
    if not index.is_unique:
        raise ModelError(
            f"{index[index.duplicated()][0]!r} is the name of several rows or columns; use other "
            "labels"
        )
    return index


def _numbers(program: Program, rows: pd.Index[Any], columns: pd.Index[Any]) -> pd.Series[Any]:
    """Return the numbers of a program by part, row and column, for these rows and columns."""
    row = np.array([*program.row_names, ""], object)
    column = np.array([*program.column_names, ""], object)
    all_rows = np.arange(program.n_rows)
    all_columns = np.arange(program.n_columns)
    parts = [
        (
            "coefficient",
            row[program.A.indices],
            column[np.repeat(all_columns, np.diff(program.A.indptr))],
            program.A.data,
        ),
        ("offset", row[-1:], column[-1:], [program.offset]),
        *((part, row[all_rows], "", getattr(program, part)) for part in ("row_lower", "row_upper")),
        *(
            (part, "", column[all_columns], getattr(program, part))
            for part in ("c", "col_lower", "col_upper", "integrality")
        ),
    ]
    if program.logs is not None:
        inner = program.logs.A.tocoo()
        parts.append(
            ("logarithm of", inner.coords[0].astype(str), column[inner.coords[1]], inner.data)
        )
        terms = np.arange(len(program.logs.weights)).astype(str)
        parts += [
            (f"logarithm's {part}", terms, "", getattr(program.logs, part)) for part in _OF_LOGS
        ]
    table = pd.concat(
        pd.DataFrame(
            {
                "part": part,
                "row": row_labels,
                "column": column_labels,
                "value": np.asarray(values, float),
            }
        )
        for part, row_labels, column_labels, values in parts
    )
    is_shared = (table["row"].isin(rows) | table["part"].str.startswith("logarithm")) & table[
        "column"
    ].isin(columns)
    return table[is_shared].set_index(["part", "row", "column"])["value"]


_OF_LOGS = ("weights", "constant", "alpha")
