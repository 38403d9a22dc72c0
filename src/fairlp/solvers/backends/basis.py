"""Bases of HiGHS as masks: which columns and rows are basic."""

from __future__ import annotations

from typing import Any

import numpy as np


def of_masks(columns: np.ndarray, rows: np.ndarray) -> Any:
    """Return a basis for HiGHS in which these columns and rows (bool) are basic; HiGHS mends what is none."""
    import highspy

    status = highspy.HighsBasisStatus
    basis = highspy.HighsBasis()
    basis.col_status = [status.kBasic if basic else status.kLower for basic in columns.tolist()]
    basis.row_status = [status.kBasic if basic else status.kNonbasic for basic in rows.tolist()]
    basis.valid, basis.alien = True, True
    return basis


def masks(basis: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which columns and rows are basic, None where there is no basis."""
    import highspy

    if not basis.valid:
        return None
    basic = highspy.HighsBasisStatus.kBasic
    columns, rows = ([one == basic for one in part] for part in (basis.col_status, basis.row_status))
    return np.array(columns), np.array(rows)
