"""``Model``: an optimisation problem in index notation, written the way a paper writes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..programs.program import Program
from .declarations import Declarations
from .expressions import Parameter
from .tables import copied

if TYPE_CHECKING:
    import pandas as pd

    from ..programs.backends import AnySolver
    from ..programs.solution import Solution


class Model(Declarations):
    """A linear, mixed-integer or log-concave model over named indices.

    Parameters
    ----------
    name : str
        Name of the model, also in files.
    source : str
        Where it was published (paper, equation).
    indices : tuple of Index
        Order of the indices in rows: ``capacity[i,r]`` rather than ``capacity[r,i]``.

    Examples
    --------
    Dominant resource fairness on Ghodsi's example: 9 CPUs and 18 GB, two users.

    >>> from fairlp.models.notation.expressions import Index
    >>> n, r = Index("n", ["A", "B"]), Index("r", ["cpu", "memory"])
    >>> model = Model("DRF", indices=(n, r))
    >>> d = model.parameter("d", (n, r), [[1, 4], [3, 1]])
    >>> c = model.parameter("c", (r,), [9, 18])
    >>> gamma = model.parameter("Gamma", (n,), [4.5, 3.0], "tasks n could run alone")
    >>> x = model.variable("x", n)
    >>> t = model.variable("t")
    >>> model.constraint("capacity", (d * x).sum(n) <= c)
    <Constraint capacity: ∑_n d[n,r]·x[n] ≤ c[r] ∀ r: 2 rows>
    >>> fairness = model.constraint("fairness", x >= gamma * t)
    >>> model.maximize(t)
    >>> print(model)
    DRF
      maximize  t
      subject to
        capacity  ∑_n d[n,r]·x[n] ≤ c[r]   ∀ r
        fairness  x[n] ≥ Γ[n]·t   ∀ n
      with
        x[n] ≥ 0
        t ≥ 0
        d[n,r]
        c[r]
        Γ[n]      tasks n could run alone
        n         n (2)
        r         r (2)
    >>> model.compile()
    <Program 'DRF': LP, max, 4 rows × 3 columns, 8 nonzeros>
    """

    def copy(self) -> Model:
        """Return an independent model: editing one leaves the other as it is.

        Expressions and handles of this model are not of the copy: there, take ``copy["g"]``.

        Returns
        -------
        Model
        """
        return copied(self)

    __copy__ = copy

    def evaluate(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return the values of a definition at column values ``x``, one array axis for each of its indices.

        Parameters
        ----------
        name : str
            Of :meth:`define`.
        x : ndarray
            Column values, by position.

        Returns
        -------
        ndarray
        """
        from .compiler import evaluate

        return evaluate(self, self.definitions[name], x)

    def compile(self) -> Program:
        """Return the model as frozen arrays; O(nonzeros), without a loop over rows.

        Returns
        -------
        Program

        Raises
        ------
        ModelError
            When the model cannot be written as a linear program with logarithms or powers in the objective.
        """
        if self._program is None:
            from .compiler import compile_model

            self._program = compile_model(self)
        elif self._stale:
            from .compiler import patched

            self._program = patched(self, self._program, self._stale)
        self._stale.clear()
        return self._program

    def solve(self, solver: AnySolver = "highs", **options: Any) -> Solution:
        """Solve with a back end: a name of :func:`fairlp.solvers`, or one's own (:class:`fairlp.Backend`).

        Parameters
        ----------
        solver : str or Backend
        **options
            Of :class:`fairlp.Options`.

        Returns
        -------
        Solution

        Raises
        ------
        UnknownNameError
            For a solver or an option that there is not.
        UnsupportedError
            For what the solver cannot do or honour.
        SolverError
            When the solver itself fails; that there is no optimum is no error.
        """
        from ..programs.backends import build_and_solve

        return build_and_solve(self.compile, solver, options)

    def sweep(
        self,
        parameter: str | Parameter,
        values: Any,
        *,
        read: Any = (),
        solver: AnySolver = "highs",
        **options: Any,
    ) -> pd.DataFrame:
        """Solve for one value of a parameter after the other, each from the last basis; the model stays as it was.

        See :func:`.sweeps.sweep`.

        Parameters
        ----------
        parameter : str or Parameter
        values : iterable, mapping of label → value, or DataFrame
            Each value as :meth:`.Parameter.set` takes it; of a frame, each row.
        read : str, list of str, or callable
            Variables, definitions and constraints (their duals) to keep; or a function of the Solution.
        solver : str or Backend
        **options
            Of :class:`fairlp.Options`.

        Returns
        -------
        DataFrame
            One row a value: ``objective``, ``status`` and what was read (NaN without an optimum).
        """
        from .sweeps import sweep

        return sweep(self, parameter, values, read=read, solver=solver, options=options)

    def read_back(self, solved: Any) -> Solution:
        """Return the Solution of a solved object that ``to_highs``, ``to_pyomo`` or ``to_cvxpy`` made from this model.

        Parameters
        ----------
        solved : Highs, ConcreteModel or Problem
            Of HiGHS, Pyomo or CVXPY.

        Returns
        -------
        Solution

        Raises
        ------
        UnsupportedError
            For an object of another kind.
        """
        from ..programs.backends import reader

        return reader(solved)(self, solved)

    def explain(self, solver: AnySolver = "highs") -> pd.DataFrame:
        """Return why the model is infeasible or unbounded, as a table in its own names.

        See :func:`fairlp.solvers.backends.explain.explain`; empty when there is an optimum.

        Parameters
        ----------
        solver : str or Backend
            For the linear programs.

        Returns
        -------
        DataFrame

        Raises
        ------
        SolverError
            When the solver can tell neither.
        """
        from ..programs.backends import explain

        return explain(self.compile(), solver)

    def write(self, path: str | Path, **options: Any) -> list[Path]:
        """Write the model as ``.mps``, ``.lp`` (also ``.gz``) or ``.nl``; see ``docs/model-files.md``.

        Options are those of :func:`fairlp.models.files.programs.write_program`; ``.nl`` is written by Pyomo.

        Parameters
        ----------
        path : str or Path
        **options
            For MPS ``profile``, for LP ``constant``, for both ``names``.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        FileFormatError
            For another ending of the name.
        UnsupportedError
            For what the format has no place for.
        """
        if Path(path).suffix.lower() == ".nl":
            from ..files.programs import write_nl

            return write_nl(self, path, **options)
        from ..files.programs import write_program

        return write_program(self.compile(), path, **options)

    def to_highs(self) -> Any:
        """Return a loaded ``highspy.Highs`` object with the model's own row and column names.

        Returns
        -------
        Highs
        """
        from ..programs.backends import lowering

        return lowering("highs")(self)

    def to_pyomo(self) -> Any:
        """Return a Pyomo ``ConcreteModel`` with sets, variables and constraints under the model's own names.

        Returns
        -------
        ConcreteModel
        """
        from ..programs.backends import lowering

        return lowering("pyomo")(self)

    def to_cvxpy(self) -> Any:
        """Return a CVXPY ``Problem`` with named variables and constraints.

        Returns
        -------
        Problem
        """
        from ..programs.backends import lowering

        return lowering("cvxpy")(self)

    def to_latex(self, *, symbols: bool = False) -> str:
        """Return the model as a LaTeX ``aligned`` block, for a paper; with what each symbol stands for, if asked.

        Parameters
        ----------
        symbols : bool
            Add what each symbol stands for.

        Returns
        -------
        str
        """
        from .render import model_latex

        return model_latex(self, symbols)

    def __str__(self) -> str:
        from .render import model_text

        return model_text(self)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.to_latex(symbols=True)}\n$$"

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.variables)} variables, {len(self.constraints)} constraints>"
