"""Random models and formulas in index notation, for tests that compare two ways to the same program."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import NamedTuple

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


class Formula(NamedTuple):
    """An expression, and beside it its numbers: an axis for each index, and one of the columns and the constant."""

    expression: object
    axes: tuple[str, ...]
    numbers: np.ndarray

    def spread(self, axes):
        """Return the numbers over more axes, in their order."""
        missing = [axis for axis in axes if axis not in self.axes]
        numbers = self.numbers.reshape((1,) * len(missing) + self.numbers.shape)
        own = (*missing, *self.axes)
        return np.moveaxis(numbers, [own.index(axis) for axis in axes], range(len(axes)))

    def rows(self):
        """Return the numbers as rows, in the order in which the model met the indices."""
        axes = [axis for axis in ("n", "t", "team") if axis in self.axes]
        return self.spread(axes).reshape(-1, self.numbers.shape[-1])

    def with_other(self, other, combine):
        """Return this formula and another, combined by an operator of both."""
        axes = (*self.axes, *(axis for axis in other.axes if axis not in self.axes))
        numbers = combine(self.spread(axes), other.spread(axes))
        return Formula(combine(self.expression, other.expression), axes, numbers)

    def along(self, expression, axis, matrix, to=None):
        """Return the formula whose elements along an axis are sums with the rows of a matrix."""
        place = self.axes.index(axis)
        numbers = np.moveaxis(np.tensordot(matrix, self.numbers, (1, place)), 0, place)
        axes = tuple(to or axis if name == axis else name for name in self.axes)
        return Formula(expression, axes, numbers)

    def at(self, expression, axis, place):
        """Return the formula at one label of an axis."""
        axes = tuple(name for name in self.axes if name != axis)
        return Formula(expression, axes, np.take(self.numbers, place, self.axes.index(axis)))


LABELS = {"n": ["ann", "bob", "cat"], "t": [8, 9, 10, 11]}


class RandomFormulas:
    """Formulas over three users, four hours and two teams, whose numbers are computed beside them."""

    def __init__(self, rng):
        self.rng = rng
        self.model = Model("random")
        self.indices = {symbol: Index(symbol, labels) for symbol, labels in LABELS.items()}
        n, t = self.indices["n"], self.indices["t"]
        exists = rng.random((3, 4)) < 0.8
        variables = [
            (self.model.variable("x", n, t, where=exists), ("n", "t"), exists),
            (self.model.variable("y", t), ("t",), np.ones(4, dtype=bool)),
            (self.model.variable("z"), (), np.ones((), dtype=bool)),
        ]
        self.width = sum(int(mask.sum()) for *_, mask in variables) + 1
        self.leaves = []
        column = 0
        for variable, axes, mask in variables:
            numbers = np.zeros((*mask.shape, self.width))
            for place in np.argwhere(mask):
                numbers[(*place, column)] = 1.0
                column += 1
            self.leaves.append(Formula(variable, axes, numbers))
        self.parameters = []
        for name, axes, shape in (("p", ("n",), 3), ("q", ("t",), 4), ("w", ("n", "t"), (3, 4))):
            values = rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0], shape)
            parameter = self.model.parameter(name, [self.indices[axis] for axis in axes], values)
            self.parameters.append(Formula(parameter, axes, values[..., None]))

    def draw(self, depth, is_known=False):
        """Return a random formula of at most this depth; a known one has parameters only."""
        if depth == 0:
            leaves = (
                [self.constant(known) for known in self.parameters] if is_known else self.leaves
            )
            return leaves[self.rng.integers(len(leaves))]
        formula = self.draw(depth - 1, is_known)
        steps = [self.other_formula, self.number, self.parameter]
        if set(formula.axes) & set(LABELS):
            steps += [self.one_axis] * 3
        step = steps[self.rng.integers(len(steps))]
        if step == self.other_formula:
            return step(formula, self.draw(depth - 1, is_known))
        return step(formula)

    def constant(self, parameter):
        """Return the formula that a parameter is: a constant in the place of all columns."""
        numbers = np.zeros((*parameter.numbers.shape[:-1], self.width))
        numbers[..., -1:] = parameter.numbers
        return Formula(parameter.expression, parameter.axes, numbers)

    def other_formula(self, formula, other):
        combine = [operator.add, operator.sub][self.rng.integers(2)]
        return formula.with_other(other, combine)

    def number(self, formula):
        number = float(self.rng.choice([-2.0, 0.5, 3.0]))
        constant = np.zeros(self.width)
        constant[-1] = number
        expression, axes, numbers = formula
        changes = [
            (number * expression, number * numbers),
            (expression * number, number * numbers),
            (expression / number, numbers / number),
            (-expression, -numbers),
            (expression + number, numbers + constant),
            (number - expression, constant - numbers),
            (expression - number, numbers - constant),
        ]
        if len(axes) == 1:
            values = self.rng.choice([-1.0, 2.0, 4.0], len(numbers))
            changes.append(
                (expression - values.tolist(), numbers - np.outer(values, constant != 0))
            )
        changed_expression, changed_numbers = changes[self.rng.integers(len(changes))]
        return Formula(changed_expression, axes, changed_numbers)

    def parameter(self, formula):
        parameter = self.parameters[self.rng.integers(len(self.parameters))]
        shared = [axis for axis in formula.axes if axis in parameter.axes]
        kind = self.rng.integers(4 if shared else 3)
        if kind == 3:
            product = formula.with_other(parameter, operator.mul)
            numbers = product.numbers.sum(axis=tuple(product.axes.index(axis) for axis in shared))
            axes = tuple(axis for axis in product.axes if axis not in shared)
            return Formula(formula.expression @ parameter.expression, axes, numbers)
        if kind == 2:
            return formula.with_other(parameter, operator.truediv)
        left, right = (formula, parameter) if kind == 1 else (parameter, formula)
        return left.with_other(right, operator.mul)

    def one_axis(self, formula):
        axis = str(self.rng.choice([name for name in formula.axes if name in LABELS]))
        index, size = self.indices[axis], len(LABELS[axis])
        expression, place = formula.expression, int(self.rng.integers(size))
        kinds = ["sum", "mean", "shift", "shift", "cumsum", "label"]
        if axis == "n" and "team" not in formula.axes:
            kinds += ["team sum", "team mean"]
        kind = self.rng.choice(kinds)
        if kind in ("sum", "mean"):
            changed = expression.sum(index) if kind == "sum" else expression.mean(index)
            matrix = np.ones((1, size)) / (size if kind == "mean" else 1)
            return formula.along(changed, axis, matrix).at(changed, axis, 0)
        if kind == "shift":
            steps = int(self.rng.integers(-size - 2, size + 3))
            shifted = expression.shift(index) if steps == 1 else expression.shift(index, steps)
            return formula.along(shifted, axis, np.eye(size, k=-steps))
        if kind == "cumsum":
            return formula.along(expression.cumsum(index), axis, np.tri(size))
        if kind == "label":
            key = tuple(
                LABELS[axis][place] if name == axis else slice(None) for name in formula.axes
            )
            return formula.at(expression[key], axis, place)
        teams = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        groups = expression.groupby({"cat": "ml", "ann": "ml", "bob": "web"}, "team")
        if kind == "team sum":
            return formula.along(groups.sum(), axis, teams, "team")
        means = teams / teams.sum(axis=1, keepdims=True)
        return formula.along(groups.mean(), axis, means, "team")
