"""A series of solves of one program whose bounds, costs and coefficients change: the way without a warm start."""

from __future__ import annotations

import numpy as np

from ...errors import SolverError
from ...models.programs.program import Program
from ...models.programs.solution import Backend, Options, Solution


class ProgramSession:
    """Keeps the program up to date and solves it afresh; back ends with a warm start extend it."""

    def __init__(self, backend: Backend, program: Program, options: Options) -> None:
        self.backend, self.program, self.options = backend, program, options

    def set_rows(self, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Change bounds of rows."""
        self._change(rows, row_lower=lower, row_upper=upper)

    def set_columns(self, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Change bounds of columns."""
        self._change(columns, col_lower=lower, col_upper=upper)

    def set_costs(self, costs: np.ndarray) -> None:
        """Change the whole objective."""
        self.program = self.program.replace(c=costs.copy())

    def set_coefficients(self, rows: np.ndarray, column: int, values: np.ndarray) -> None:
        """Change entries of one column; an entry that was never in the matrix cannot be added."""
        A = self.program.A
        begin, end = int(A.indptr[column]), int(A.indptr[column + 1])
        at = begin + np.searchsorted(A.indices[begin:end], rows)
        if len(rows) and (begin == end or (at >= end).any() or (A.indices[at] != rows).any()):
            raise SolverError(f"{self.program.name!r}: an entry to change is not in the matrix")
        data = A.data.copy()
        data[at] = values
        self.program = self.program.replace(A=type(A)((data, A.indices, A.indptr), shape=A.shape))

    def restart(self, other_method: bool = False) -> None:
        """Forget what is left of earlier solves (nothing, here)."""

    def leaves_open(self, solution: Solution, gap: float) -> bool:
        """Whether a :meth:`restart` would tell more about who can be raised than the prices of this answer.

        ``gap`` is its certified one.
        """
        return False

    def solve(self) -> Solution:
        """Solve what is loaded now."""
        return self.backend.solve(self.program, self.options)

    def _change(self, at: np.ndarray, **values: np.ndarray) -> None:
        arrays = {}
        for name, new in values.items():
            arrays[name] = getattr(self.program, name).copy()
            arrays[name][at] = new
        self.program = self.program.replace(**arrays)
