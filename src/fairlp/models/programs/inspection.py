"""What a program is made of, by block, and whether two programs are the same, by name."""

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


def same(first: Program, second: Program) -> bool:
    """Whether two programs have the same rows, columns and numbers, matched by names.

    Parameters
    ----------
    first, second : Program
    """
    rows, columns = (
        _unique(names).get_indexer(_unique(others))
        for names, others in (
            (first.row_names, second.row_names),
            (first.column_names, second.column_names),
        )
    )
    has_all = len(rows) == first.n_rows and len(columns) == first.n_columns
    if not has_all or (rows < 0).any() or (columns < 0).any() or first.sense != second.sense:
        return False
    pairs = [(first.offset, second.offset)]
    for positions, parts in ((rows, _OF_ROWS), (columns, _OF_COLUMNS)):
        pairs += [(getattr(first, part)[positions], getattr(second, part)) for part in parts]
    matrices = [(first.A.tocsr()[rows].tocsc()[:, columns], second.A)]
    if first.logs is not None and second.logs is not None:
        pairs += [(getattr(first.logs, part), getattr(second.logs, part)) for part in _OF_LOGS]
        matrices.append((first.logs.A.tocsc()[:, columns], second.logs.A))
    return (
        (first.logs is None) == (second.logs is None)
        and all(np.array_equal(own, other) for own, other in pairs)
        and all(own.shape == other.shape and not (own != other).nnz for own, other in matrices)
    )


def _unique(names: list[str]) -> pd.Index[Any]:
    index = pd.Index(names, dtype=object)
    if not index.is_unique:
        raise ModelError(
            f"{index[index.duplicated()][0]!r} is the name of several rows or columns; use other "
            "labels"
        )
    return index


_OF_ROWS = ("row_lower", "row_upper")
_OF_COLUMNS = ("c", "col_lower", "col_upper", "integrality")
_OF_LOGS = ("weights", "constant", "alpha")
