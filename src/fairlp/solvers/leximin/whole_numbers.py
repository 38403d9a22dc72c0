"""Sparse linear systems in whole numbers: what is 0 is told from what is small, without a tolerance.

A number is a Python integer times a power of two. A system is solved by corrections: an LU
factorisation in floats gives each, and its residual is computed exactly, of the matrix's own
digits. A correction brings some 40 binary digits, and so many corrections as one likes bring all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Binary places of the solutions of systems.
PLACES = 200
#: Binary places of entries of a matrix.
ENTRY_PLACES = 128
#: A residual of so many digits in the last place is what is left of rounding.
_LAST_DIGITS = 16
#: A correction that brings fewer digits than this does not lead on.
_LEAST_GAIN = 4
_MANTISSA = 53
#: Floats of at least this have at most ``ENTRY_PLACES`` places.
FINEST = 2.0 ** (_MANTISSA - ENTRY_PLACES)
#: Digits of a residual that its float keeps.
_KEPT = 60


def to_whole(numbers: np.ndarray, places: int) -> np.ndarray:
    """Return numbers · 2**places as Python integers, rounded down."""
    mantissas, exponents = np.frexp(numbers)
    digits = (mantissas * 2.0**_MANTISSA).astype(np.int64).astype(object)
    shifts = (exponents - _MANTISSA + places).astype(object)
    return np.asarray(digits << np.maximum(shifts, 0) >> np.maximum(-shifts, 0))


def to_floats(numbers: np.ndarray) -> np.ndarray:
    """Return integers · 2**−PLACES as floats."""
    unit = 1 << PLACES
    return np.array([number / unit for number in numbers.tolist()], dtype=float)


@dataclass(frozen=True)
class ExactMatrix:
    """A sparse matrix with all its digits: entries · 2**−ENTRY_PLACES, in the order of rows."""

    n_rows: int
    rows: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    entries: np.ndarray

    @classmethod
    def of(cls, matrix: sp.sparray) -> ExactMatrix:
        """Return a matrix whose entries have at most ``ENTRY_PLACES`` places."""
        by_row = sp.csr_array(matrix)
        rows = np.flatnonzero(np.diff(by_row.indptr))
        entries = to_whole(by_row.data, ENTRY_PLACES)
        return cls(by_row.shape[0], rows, by_row.indptr[rows], by_row.indices, entries)

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return matrix @ vector, with ``ENTRY_PLACES`` more than the vector has."""
        product = np.zeros(self.n_rows, dtype=object)
        if len(self.rows):
            terms = self.entries * vector[self.columns]
            product[self.rows] = np.add.reduceat(terms, self.starts)
        return product


def solved(
    factors: Any, matrix: ExactMatrix, side: np.ndarray, transposed: bool = False
) -> np.ndarray | None:
    """Return x of ``PLACES`` places with matrix @ x = side; None where corrections do not lead there.

    Parameters
    ----------
    factors : scipy.sparse.linalg.SuperLU
        Of the matrix in floats, or of its transpose.
    matrix : ExactMatrix
    side : ndarray of int
        Of ``PLACES`` places.
    transposed : bool
        Whether the factors are those of the matrix's transpose.
    """
    x = np.zeros(len(side), dtype=object)
    residual = side << ENTRY_PLACES
    size_before = np.inf
    while True:
        size = max(map(abs, residual.tolist()), default=0).bit_length()
        if size <= ENTRY_PLACES + _LAST_DIGITS:
            return x
        if size > size_before - _LEAST_GAIN:
            return None
        size_before = size
        shift = max(size - _KEPT, 0)
        rounded = (residual >> shift).astype(float)
        correction = factors.solve(rounded, "T" if transposed else "N")
        if not np.isfinite(correction).all():
            return None
        step = to_whole(correction, shift - ENTRY_PLACES)
        x = x + step
        residual = residual - matrix.times(step)
