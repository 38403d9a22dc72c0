"""What is left of a program once its integers are whole numbers: a linear program."""

from __future__ import annotations

import numpy as np

from ...tolerances import ROUNDING
from .program import Program, finite_size


def at_integers(program: Program, x: np.ndarray) -> Program:
    """Return the linear program that is left with the integers fixed at the roundings of ``x``."""
    whole = program.integrality > 0
    fixed = np.where(whole, np.round(x), 0.0)
    return rows_at_integers(program, fixed).replace(
        col_lower=np.where(whole, fixed, program.col_lower),
        col_upper=np.where(whole, fixed, program.col_upper),
    )


def rows_at_integers(program: Program, fixed: np.ndarray) -> Program:
    """Return the program of the continuous columns, with the room of rows beside fixed integers.

    The room includes an allowance for rounding.
    """
    whole = program.integrality > 0
    continuous = program.A.copy()
    continuous.data = continuous.data * ~np.repeat(whole, np.diff(continuous.indptr))
    continuous.eliminate_zeros()
    activity = program.A @ fixed
    size = finite_size(program.row_lower, program.row_upper)
    noise = ROUNDING * (abs(program.A) @ abs(fixed) + size)
    return program.replace(
        A=continuous,
        row_lower=program.row_lower - activity - noise,
        row_upper=program.row_upper - activity + noise,
        integrality=np.zeros_like(program.integrality),
        switched=np.zeros(0, dtype=np.int64),
    )
