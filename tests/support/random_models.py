"""Random models in index notation, for tests that compare two ways to the same program."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairlp import Index, Model, log
from fairlp.models.notation.expressions import Expression
from fairlp.models.notation.variables import Parameter, Variable

N, I, R = (  # noqa: E741
    Index("n", ["a", "b", "c"], "user"),
    Index("i", [10, 20], "server"),
    Index("r", ["cpu", "mem"], "resource"),
)
M, J = N.alias("m"), I.alias("j")
SHAPES = {"n": (N,), "ni": (N, I), "nr": (N, R), "ir": (I, R), "": ()}


@dataclass
class Recipe:
    """A model that can be built with any numbers for its parameters: the same seed makes the same formulas."""

    seed: int
    numbers: dict[str, np.ndarray] = field(default_factory=dict)

    def build(self) -> Model:
        """Return the model with the numbers as they are."""
        rng = np.random.default_rng(self.seed)
        model = Model("random", indices=(N, I, R, M, J))
        parameters = [
            model.parameter(f"p{k}", over, self.numbers.setdefault(f"p{k}", draw(rng, over)))
            for k, over in enumerate(SHAPES.values())
        ]
        # what stands below a fraction bar, or before a logarithm, is above 0
        below = model.parameter("q", (N,), self.numbers.setdefault("q", rng.uniform(0.5, 2, 3)))
        mask = rng.random((3, 2)) < 0.7
        variables = [
            model.variable("x", N, I, where=mask, upper=9),
            model.variable("y", N),
            model.variable("z", lower=None),
        ]
        self.formulas = Formulas(rng, parameters, below, variables)
        for k in range(int(rng.integers(2, 5))):
            self.row(model, rng, f"row{k}")
        self.objective(model, rng, below, variables)
        return model

    def row(self, model: Model, rng: np.random.Generator, name: str) -> None:
        """Declare a random constraint."""
        body, other = self.formulas.linear(3), self.formulas.linear(1)
        kind = rng.integers(4)
        relation = (
            [body <= other, body >= other, body == other][kind]
            if kind < 3
            else body.between(-40 + self.formulas.known(), 40 + self.formulas.known())
        )
        free = {index.symbol for index in relation.indices}
        shape = [len(index) for index in (N, I, R, M, J) if index.symbol in free]
        mask = rng.random(shape) < 0.6 if shape and rng.random() < 0.4 else None
        model.constraint(name, relation, where=mask)

    def objective(
        self, model: Model, rng: np.random.Generator, below: Parameter, variables: list[Variable]
    ) -> None:
        """Set a random objective, with logarithms or without."""
        goal: Expression = self.formulas.linear(2)
        goal = goal.sum() if goal.indices else goal
        if rng.random() < 0.5:
            goal = goal + (below * log(variables[0].sum(I) + below * variables[1] + 1)).sum(N)
        model.maximize(goal)


@dataclass
class Formulas:
    """Draws formulas of given parameters and variables."""

    rng: np.random.Generator
    parameters: list[Parameter]
    below: Parameter
    variables: list[Variable]

    def known(self) -> Expression:
        """Return a formula without variables."""
        parameter = self.parameters[int(self.rng.integers(len(self.parameters)))]
        match self.rng.integers(5):
            case 0:
                return parameter / self.below
            case 1:
                return parameter * self.parameters[0] - 1
            case 2 if parameter.indices:
                return parameter[parameter.indices[0].labels[1]]
            case 3 if parameter.indices:
                return parameter.sum(parameter.indices[-1])
        return parameter

    def term(self) -> Expression:
        """Return one formula with variables."""
        expression: Expression = self.variables[int(self.rng.integers(3))]
        match self.rng.integers(6):
            case 0 if expression.indices:
                expression = expression[expression.indices[0].labels[int(self.rng.integers(2))]]
            case 1:
                expression = self.total()
            case 2:
                expression = expression / self.below
            case 3:
                expression = (expression + self.known()) * self.known()
            case 4 if expression.indices:
                expression = (self.known() * expression).shift(
                    expression.indices[0], int(self.rng.integers(-1, 2))
                )
        return self.known() * expression if self.rng.random() < 0.6 else expression

    def total(self) -> Expression:
        """Return a sum, over symbols that no row has."""
        x, y, _ = self.variables
        pairs = self.parameters[1]
        sums = (
            (pairs[M, J] * x[M, J]).sum(M, J),
            (self.known() * x[N, J]).sum(J),
            (pairs[M, I] * y[M]).sum(M),
        )
        return sums[int(self.rng.integers(3))]

    def linear(self, largest_count: int) -> Expression:
        """Return a sum of terms and numbers; a variable may occur several times."""
        total = self.term()
        for _ in range(int(self.rng.integers(largest_count + 1))):
            summand = self.term() if self.rng.random() < 0.7 else self.known()
            total = total + summand if self.rng.random() < 0.5 else total - summand
        return total


def draw(rng: np.random.Generator, over: tuple[Index, ...]) -> np.ndarray:
    """Return numbers over indices, many of them 0."""
    shape = tuple(len(index) for index in over)
    return np.where(
        rng.random(shape) < 0.4, 0.0, rng.uniform(-3, 3, shape).round(int(rng.integers(1, 16)))
    )


def forget_program(model: Model) -> Model:
    """Let a model be compiled anew, as it is when its name, which stands in the program, is given."""
    model.name = model.name
    return model


def same_bytes(a: object, b: object) -> list[str]:
    """Return what differs between two programs: arrays byte by byte, names, blocks."""
    differences = []
    for name in ("c", "row_lower", "row_upper", "col_lower", "col_upper", "integrality"):
        differences += [name] * (not _equal(getattr(a, name), getattr(b, name)))
    differences += [
        name for name in ("name", "sense", "source") if getattr(a, name) != getattr(b, name)
    ]
    differences += ["offset"] * (np.float64(a.offset).tobytes() != np.float64(b.offset).tobytes())
    differences += [
        f"A.{field}"
        for field in ("data", "indices", "indptr")
        if not _equal(getattr(a.A, field), getattr(b.A, field))
    ]
    differences += ["names"] * ((a.row_names, a.column_names) != (b.row_names, b.column_names))
    if (a.logs is None) != (b.logs is None):
        return [*differences, "logs"]
    if a.logs is not None:
        differences += [
            f"logs.{field}"
            for field in ("weights", "constant")
            if not _equal(getattr(a.logs, field), getattr(b.logs, field))
        ]
        parts = ("data", "indices", "indptr")
        differences += [
            f"logs.A.{field}"
            for field in parts
            if not _equal(getattr(a.logs.A, field), getattr(b.logs.A, field))
        ]
    return differences


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
