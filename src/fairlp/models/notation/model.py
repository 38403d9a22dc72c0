"""``Model``: an optimisation problem in index notation, written the way a paper writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ..programs.program import Program, Sense
from .expressions import Expression, Index, Parameter, Relation, Variable, as_expression, union
from .labels import aligned

if TYPE_CHECKING:
    import pandas as pd

    from ..programs.solution import Solution


@dataclass
class ConstraintBlock:
    """A named family of constraints: the relation, the indices it holds for, and where (``positions``)."""

    name: str
    relation: Relation
    over: tuple[Index, ...]
    positions: np.ndarray | None
    doc: str = ""

    @property
    def full_size(self) -> int:
        """Number of rows without the mask."""
        return int(np.prod([len(index) for index in self.over]))

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.full_size if self.positions is None else len(self.positions)


class Model:
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
    >>> model.constraint("fairness", x >= gamma * t)
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

    def __init__(self, name: str, source: str = "", indices: tuple[Index, ...] = ()) -> None:
        self.name, self.source = name, source
        self.indices: tuple[Index, ...] = tuple(indices)
        self.parameters: dict[str, Parameter] = {}
        self.variables: dict[str, Variable] = {}
        self.constraints: dict[str, ConstraintBlock] = {}
        #: Named formulas of the variables that are no constraint, such as the tasks that a share means.
        self.definitions: dict[str, Expression] = {}
        self.objective: Expression | None = None
        self.sense: Sense = "min"
        self._program: Program | None = None

    def parameter(self, name: str, over: Index | tuple[Index, ...], values: Any, doc: str = "") -> Parameter:
        """Declare known numbers over indices.

        Parameters
        ----------
        name : str
            Name in formulas; Greek names (``phi``) and hats (``d_hat``) print as such.
        over : Index or tuple of Index
        values : array_like, Series, DataFrame or mapping
            One finite number for each combination of labels. What carries labels is put in the order of the indices, or
            refused; see :func:`.labels.aligned`.
        doc : str
            What the numbers are, with the unit.

        Raises
        ------
        ModelError
            For a duplicate name, a wrong shape, or a number that is not finite (the labels are named).
        """
        indices = (over,) if isinstance(over, Index) else tuple(over)
        self._register(name, indices)
        try:
            array = np.array(aligned(values, indices, f"parameter {name!r}", ModelError), dtype=float)
        except (TypeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"parameter {name!r} is not all numbers ({error})") from None
        shape = tuple(len(index) for index in indices)
        if array.shape != shape:
            raise ModelError(f"parameter {name!r} has shape {array.shape}, expected {shape} ({_axes(indices)})")
        if not np.isfinite(array).all():
            at = tuple(np.argwhere(~np.isfinite(array))[0])
            where = ", ".join(str(index[p]) for index, p in zip(indices, at, strict=True))
            raise ModelError(f"parameter {name}[{where}] is {array[at]}; expected a finite number")
        self.parameters[name] = Parameter(name, indices, array, doc)
        return self.parameters[name]

    def variable(
        self,
        name: str,
        *over: Index,
        where: Any = None,
        lower: Any = 0.0,
        upper: Any = None,
        integer: bool = False,
        binary: bool = False,
        doc: str = "",
    ) -> Variable:
        """Declare unknowns over indices; one exists only where ``where`` holds, and costs nothing elsewhere.

        Parameters
        ----------
        name : str
        *over : Index
        where : array_like of bool, optional
            One entry for each combination of labels.
        lower, upper : float, array_like or None
            Bounds (None: none). The default is ``0 <= x``.
        integer, binary : bool
        doc : str
            What it is, with the unit.
        """
        self._register(name, over)
        positions = self._mask(where, over, f"variable {name!r}")
        if binary:
            integer, lower, upper = True, 0.0, 1.0
        low, high = (
            self._bound(name, what, value, default, over, positions)
            for what, value, default in (("lower", lower, -np.inf), ("upper", upper, np.inf))
        )
        if (low > high).any():
            raise ModelError(f"variable {name!r}: a lower bound is above its upper bound")
        variable = Variable(name, over, positions=positions, lower=low, upper=high, integer=integer, doc=doc)
        self.variables[name] = variable
        return variable

    def constraint(
        self, name: str, relation: Relation, *, over: tuple[Index, ...] = (), where: Any = None, doc: str = ""
    ) -> None:
        """Declare a family of constraints: one row for each combination of the relation's free indices.

        Parameters
        ----------
        name : str
        relation : Relation
            ``left <= right``, ``left >= right`` or ``left == right``.
        over : tuple of Index, optional
            Order of the rows; the default is the model's order of indices.
        where : array_like of bool, optional
            Over the same indices: only these rows exist.
        """
        if not isinstance(relation, Relation):
            raise ModelError(f"constraint {name!r}: expected left <= right, >= or ==, not {type(relation).__name__}")
        if name in self.constraints:
            raise ModelError(f"constraint {name!r} is declared twice in model {self.name!r}")
        for variable in _variables(relation.left) + _variables(relation.right):
            if self.variables.get(variable.name) is not variable.base:
                raise ModelError(f"constraint {name!r} uses variable {variable.name!r}, which is of another model")
        self.indices = union(self.indices, relation.indices)
        free = {index.symbol for index in relation.indices}
        order = over or tuple(index for index in self.indices if index.symbol in free)
        if {index.symbol for index in order} != free:
            raise ModelError(
                f"constraint {name!r} holds for each of ({', '.join(sorted(free))}), "
                f"but over=({', '.join(index.symbol for index in order)}) was given"
            )
        self._program = None
        positions = self._mask(where, order, f"constraint {name!r}")
        self.constraints[name] = ConstraintBlock(name, relation, order, positions, doc)

    def define(self, name: str, expression: Expression) -> None:
        """Give a name to a formula of the variables, to be evaluated at a solution (``tasks = Γ[n]·g[n,i]``)."""
        self.definitions[name] = expression

    def evaluate(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return the values of a definition at column values ``x``, one array axis for each of its indices."""
        from .compiler import evaluate

        return evaluate(self, self.definitions[name], x)

    def maximize(self, objective: Any) -> None:
        """Set the objective: linear, or with weights times logarithms."""
        self._objective("max", objective)

    def minimize(self, objective: Any) -> None:
        """Set the objective to be minimised."""
        self._objective("min", objective)

    def compile(self) -> Program:
        """Return the model as frozen arrays; O(nonzeros), without a loop over rows.

        Raises
        ------
        ModelError
            When the model cannot be written as a linear program with logarithms in the objective.
        """
        if self._program is None:
            from .compiler import compile_model

            self._program = compile_model(self)
        return self._program

    def solve(self, solver: str = "highs", **options: Any) -> Solution:
        """Solve with the back end of that name; options are those of :class:`fairlp.Options`."""
        from ..programs.backends import build_and_solve

        return build_and_solve(self.compile, solver, options)

    def read_back(self, solved: Any) -> Solution:
        """Return the Solution of a solved object that ``to_highs``, ``to_pyomo`` or ``to_cvxpy`` made from this model.

        Raises
        ------
        UnsupportedError
            For an object of another kind.
        """
        from ..programs.backends import reader

        return reader(solved)(self, solved)

    def explain(self, solver: str = "highs") -> pd.DataFrame:
        """Return why the model is infeasible or unbounded, as a table in its own names.

        See :func:`fairlp.solvers.backends.explain.explain`; empty when there is an optimum.
        """
        from ..programs.backends import explain

        return explain(self.compile(), solver)

    def write(self, path: str | Path, **options: Any) -> list[Path]:
        """Write the model as ``.mps``, ``.lp`` (also ``.gz``) or ``.nl``; see ``docs/model-files.md``.

        Options are those of :func:`fairlp.models.files.programs.write_program`; ``.nl`` is written by Pyomo.
        """
        if Path(path).suffix.lower() == ".nl":
            from ..files.nl import write_nl

            return write_nl(self, path, **options)
        from ..files.programs import write_program

        return write_program(self.compile(), path, **options)

    def to_highs(self) -> Any:
        """Return a loaded ``highspy.Highs`` object with the model's own row and column names."""
        from ..programs.backends import lowering

        return lowering("highs")(self)

    def to_pyomo(self) -> Any:
        """Return a Pyomo ``ConcreteModel`` with sets, variables and constraints under the model's own names."""
        from ..programs.backends import lowering

        return lowering("pyomo")(self)

    def to_cvxpy(self) -> Any:
        """Return a CVXPY ``Problem`` with named variables and constraints."""
        from ..programs.backends import lowering

        return lowering("cvxpy")(self)

    def to_latex(self) -> str:
        """Return the model as a LaTeX ``aligned`` block, for a paper."""
        from .render import model_latex

        return model_latex(self)

    def __str__(self) -> str:
        from .render import model_text

        return model_text(self)

    def _repr_latex_(self) -> str:
        return f"$$\n{self.to_latex()}\n$$"

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {len(self.variables)} variables, {len(self.constraints)} constraints>"

    def _objective(self, sense: Sense, objective: Any) -> None:
        expression = as_expression(objective)
        if expression.indices:
            raise ModelError(
                f"the objective must be one number, but {expression} has the free index "
                f"{expression.indices[0].symbol!r}; sum over it"
            )
        self.sense, self.objective, self._program = sense, expression, None

    def _register(self, name: str, indices: tuple[Index, ...]) -> None:
        if name in self.parameters or name in self.variables:
            raise ModelError(f"the name {name!r} is used twice in model {self.name!r}")
        self._program = None
        self.indices = union(self.indices, indices)

    def _mask(self, where: Any, over: tuple[Index, ...], what: str) -> np.ndarray | None:
        if where is None:
            return None
        mask = np.asarray(aligned(where, over, f"'where' of {what}", ModelError))
        shape = tuple(len(index) for index in over)
        if mask.dtype != bool or mask.shape != shape:
            raise ModelError(f"{what}: 'where' is {mask.dtype} {mask.shape}, expected bool {shape} ({_axes(over)})")
        return None if mask.all() else np.flatnonzero(mask)

    def _bound(
        self, name: str, what: str, value: Any, default: float, over: tuple[Index, ...], positions: np.ndarray | None
    ) -> np.ndarray:
        shape = tuple(len(index) for index in over)
        given = aligned(value, over, f"the {what} bound of variable {name!r}", ModelError)
        array = np.asarray(default if value is None else given, dtype=float)
        if array.shape not in ((), shape):
            raise ModelError(f"variable {name!r}: the {what} bound has shape {array.shape}, expected {shape}")
        if np.isnan(array).any() or (array == -default).any():
            raise ModelError(f"variable {name!r}: a {what} bound is NaN or {-default}; expected a number or None")
        size = int(np.prod(shape)) if positions is None else len(positions)
        if array.ndim == 0:
            return np.full(size, float(array))
        flat = array.reshape(-1)
        return flat.copy() if positions is None else flat[positions]


def _axes(indices: tuple[Index, ...]) -> str:
    return " × ".join(f"{len(index)} {index.name}" for index in indices) or "one number"


def _variables(node: Expression) -> list[Variable]:
    if isinstance(node, Variable):
        return [node]
    parts = (getattr(node, name, None) for name in ("left", "right", "body", "argument"))
    return [variable for part in parts if isinstance(part, Expression) for variable in _variables(part)]
