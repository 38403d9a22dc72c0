"""The leximin of an integer program by ordered outcomes: the sums of the k lowest levels, for one k after another.

max over r, δ ≥ 0 of k·r − Σ_j δ_j with r − δ_j ≤ level_j is the sum of the k lowest (Ogryczak and Śliwiński, 2006), so
maximising one after another, each with the earlier optima kept, sorts the levels without sorting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import SolverError, UnsupportedError
from ...models.programs.program import CONTINUOUS, Block, Program
from ...models.programs.solution import Capability, Options
from ...tolerances import VERIFIED


def ordered_outcomes(program: Program, rows: np.ndarray, t: int, backend: Any, options: Options) -> np.ndarray:
    """Return a point whose levels are the leximin's.

    Parameters
    ----------
    program : Program
        With rows (level k)·(weight k) − (weight k)·t ≥ a constant, and integers.
    rows : ndarray of int
        Which rows these are.
    t : int
        The column of the lowest level.
    backend : Backend
        One that solves integer programs.
    options : Options

    Raises
    ------
    UnsupportedError
        When the back end solves no integer programs.
    NoSolutionError
    """
    if Capability.MILP not in backend.capabilities:
        raise UnsupportedError(f"{backend.name} solves no integer programs, and {program.name!r} has integers")
    weights = -program.A[:, [t]].toarray()[rows, 0]
    stage = _Stages(program, rows, t, weights)
    x = np.zeros(program.n_columns)
    for k in range(1, len(rows) + 1):
        solution = backend.solve(stage.next(k), options).require_optimal()
        x = solution.x[: program.n_columns]
        levels = stage.levels(x)
        lowest = np.sort(levels)[:k].sum()
        if not lowest >= solution.objective - VERIFIED * k * max(1.0, abs(levels).max()):
            raise SolverError(
                f"{backend.name} gave {program.name!r} a point whose {k} lowest levels add up to {lowest:.12g}, not to "
                f"{solution.objective:.12g} as it says"
            )
        stage.keep(lowest)
    return x


class _Stages:
    """The program with r_k and δ_k of every stage so far."""

    def __init__(self, program: Program, rows: np.ndarray, t: int, weights: np.ndarray) -> None:
        self.program, self.rows, self.t = program, rows, t
        matrix = program.A.tocsr(copy=True)
        scaling = np.ones(program.n_rows)
        scaling[rows] = 1.0 / weights
        self.A = sp.csr_array(sp.diags_array(scaling) @ matrix)
        self.lower = program.row_lower.copy()
        self.lower[rows] /= weights
        self.constant = self.lower[rows].copy()
        self.level = self.A[rows].tolil()
        self.level[:, t] = 0.0
        self.level = sp.csr_array(self.level)
        self.upper = program.row_upper.copy()
        self.columns = program.n_columns

    def levels(self, x: np.ndarray) -> np.ndarray:
        """Return the levels at a point."""
        return np.asarray(self.level @ x - self.constant)

    def next(self, k: int) -> Program:
        """Return the program of the sum of the k lowest, with the earlier sums kept."""
        size, before = len(self.rows), self.columns
        self.columns += 1 + size
        # level_j − r + δ_j ≥ constant_j, and for t, which plays no part any more, nothing
        fresh = sp.hstack(
            [self.level, sp.csr_array((size, before - self.program.n_columns)), -np.ones((size, 1)), sp.eye_array(size)]
        )
        wide = sp.hstack([self.A, sp.csr_array((self.A.shape[0], 1 + size))])
        self.A = sp.csr_array(sp.vstack([wide, fresh]))
        self.lower = np.append(self.lower, self.constant)
        self.upper = np.append(self.upper, np.full(size, np.inf))
        self.sum = np.zeros(self.columns)
        self.sum[before], self.sum[before + 1 :] = k, -1.0
        return self._program()

    def keep(self, lowest: float) -> None:
        """Put down that the sum of the lowest stays what it is."""
        self.A = sp.csr_array(sp.vstack([self.A, sp.csr_array(self.sum[None])]))
        self.lower, self.upper = np.append(self.lower, lowest), np.append(self.upper, np.inf)

    def _program(self) -> Program:
        given, more = self.program, self.columns - self.program.n_columns
        free = np.zeros(more)
        free[:: len(self.rows) + 1] = -np.inf
        rows, columns = self.A.shape
        return Program(
            name=given.name,
            sense="max",
            c=self.sum,
            offset=0.0,
            A=sp.csc_array(self.A),
            row_lower=self.lower,
            row_upper=self.upper,
            col_lower=np.append(given.col_lower, free),
            col_upper=np.append(given.col_upper, np.full(more, np.inf)),
            integrality=np.append(given.integrality, np.full(more, CONTINUOUS, dtype=np.uint8)),
            rows=(Block("row", (("row", pd.RangeIndex(1, rows + 1)),), 0, rows),),
            columns=(Block("column", (("column", pd.RangeIndex(1, columns + 1)),), 0, columns),),
        )
