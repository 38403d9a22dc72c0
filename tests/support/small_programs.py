"""Programs of a few numbers, to plant answers in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

from fairlp.models.programs.program import Block, Program

INF = np.inf


def program(matrix, rows, columns, c=None, sense="max", **fields):
    """A program of a matrix, (lower, upper) of rows and of columns, and costs."""
    A = sp.csc_array(np.array(matrix, dtype=float))
    (low, high), (least, upper) = (np.array(sides, dtype=float).T for sides in (rows, columns))
    m, n = A.shape
    costs = np.zeros(n) if c is None else np.array(c, dtype=float)
    parts = {
        "name": "planted",
        "sense": sense,
        "c": costs,
        "offset": 0.0,
        "A": A,
        "row_lower": low,
        "row_upper": high,
    }
    parts |= {"col_lower": least, "col_upper": upper, "integrality": np.zeros(n, dtype=np.uint8)}
    blocks = {
        "rows": (Block("row", (("i", pd.RangeIndex(m)),), 0, m),),
        "columns": (Block("column", (("j", pd.RangeIndex(n)),), 0, n),),
    }
    return Program(**(parts | blocks | fields))
