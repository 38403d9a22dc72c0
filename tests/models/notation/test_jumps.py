"""Piecewise linear functions that jump: against their values on a grid, by enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError
from fairlp.models.files.programs import read_program
from profiles import chequered, many

N = Index("n", ["ann", "bob"], "user")
SEEDS = st.integers(0, 2**32 - 1)
FUNCTIONS = {
    "a jump up": ([0, 4, 4, 10], [0, 8, 10, 13]),
    "a jump down": ([0, 4, 4, 10], [0, 8, 2, 13]),
    "a fixed charge": ([0, 0, 5], [0, 10, 20]),
    "a jump at the end": ([0, 5, 5], [3, 1, 7]),
    "two jumps": ([-2, 1, 1, 3, 3, 4], [1, 2, -3, 5, 0, 0]),
    "steps": ([0, 0, 2, 2, 4, 4], [0, 1, 1, 2, 2, 3]),
    "jumps alone": ([3, 3], [1, 5]),
    "a jump of nothing": ([0, 2, 2, 4], [0, 2, 2, 0]),
    "convex": ([0, 1, 1, 3], [5, 1, 1, 9]),
}


def values_at(place, breakpoints, heights):
    """The values of the function at a place: on a line, or the two of a jump."""
    values = []
    points = list(zip(breakpoints, heights, strict=True))
    for (left, low), (right, high) in pairwise(points):
        if left == right == place:
            values += [low, high]
        elif left <= place <= right and left < right:
            values.append(low + (high - low) * (place - left) / (right - left))
    return values


@pytest.mark.parametrize(("solver", "name"), chequered(["highs", "scipy"], list(FUNCTIONS)))
def test_on_a_grid_y_is_between_nothing_but_the_values_of_the_function(name, solver):
    breakpoints, heights = FUNCTIONS[name]
    grid = np.union1d(np.linspace(breakpoints[0], breakpoints[-1], 7), breakpoints)
    for place in grid:
        model = Model("m")
        x = model.variable("x", lower=None)
        y = model.piecewise("y", x, breakpoints, heights)
        x.fix(place)
        values = values_at(place, breakpoints, heights)
        model.minimize(y)
        assert model.solve(solver).objective == pytest.approx(min(values), abs=1e-7)
        model.maximize(y)
        assert model.solve(solver).objective == pytest.approx(max(values), abs=1e-7)
        between = (min(values) + max(values)) / 2
        if min(abs(between - value) for value in values) > 0.1:
            model.constraint("between", y == between)
            assert model.solve(solver).status == "infeasible"


def random_function(rng):
    """Rising whole breakpoints, some of them twice, and whole heights."""
    points = np.sort(rng.choice(np.arange(-4, 8), int(rng.integers(2, 5)), replace=False))
    doubled = np.sort(np.concatenate([points, rng.choice(points, 1)]))
    return doubled, rng.integers(-9, 10, len(doubled))


@given(SEEDS)
@settings(max_examples=many(20))
def test_the_best_of_a_sum_is_found_at_breakpoints_of_each_element(seed):
    """A linear function of x and y is best at breakpoints; those of ann and bob differ."""
    rng = np.random.default_rng([61, seed])
    functions = [random_function(rng)]
    while len(functions) < 2:
        other = random_function(rng)
        functions += [other] * (len(other[0]) == len(functions[0][0]))
    breakpoints, heights = (np.array(arrays) for arrays in zip(*functions, strict=True))
    slope, weight = rng.integers(-3, 4, 2), rng.choice([-2, 1, 3], 2)
    model = Model("m")
    x = model.variable("x", N, lower=None)
    y = model.piecewise("y", x, breakpoints, heights)
    formula = (x * slope).sum() + (y * weight).sum()
    totals = [
        float(slope @ points + weight @ values)
        for corners in product(*(list(zip(*function, strict=True)) for function in functions))
        for points, values in [np.transpose(corners)]
    ]
    solver = ["highs", "scipy"][seed % 2]
    model.minimize(formula)
    assert model.solve(solver).objective == pytest.approx(min(totals), abs=1e-6)
    model.maximize(formula)
    assert model.solve(solver).objective == pytest.approx(max(totals), abs=1e-6)


def test_one_element_jumps_and_the_other_does_not():
    model = Model("m")
    x = model.variable("x", N, upper=4)
    y = model.piecewise("y", x, [[0, 2, 2, 4], [0, 1, 3, 4]], [0, 1, 5, 6])
    x.fix({"ann": 2, "bob": 2})
    model.minimize(y.sum())
    assert model.solve().values["y"].to_dict() == pytest.approx({"ann": 1, "bob": 3})
    model.maximize(y.sum())
    assert model.solve().values["y"].to_dict() == pytest.approx({"ann": 5, "bob": 3})


def test_a_masked_variable_jumps_where_it_exists():
    model = Model("m")
    x = model.variable("x", N, where=[False, True], upper=5)
    y = model.piecewise("y", x, [0, 0, 5], [0, 10, 20])
    model.constraint("least", x.sum() >= 1)
    model.minimize(y.sum())
    assert model.solve().objective == pytest.approx(12)


def test_a_fixed_charge_is_paid_by_who_takes_something():
    model = Model("m")
    x = model.variable("x", N, upper=5)
    model.piecewise("cost", x, [0, 0, 5], [0, 10, 20])
    model.constraint("total", x.sum() == 5)
    model.minimize(model["cost"].sum())
    assert model.solve().objective == pytest.approx(20)
    model["x"].set(upper=3)
    assert model.solve().objective == pytest.approx(30)


def test_without_jumps_the_rows_are_those_of_before():
    model = Model("m")
    x = model.variable("x", upper=10)
    model.piecewise("y", x, [0, 4, 10], [0, 8, 11])
    assert "joined" not in str(model)
    rows = {name: len(row) for name, row in model.constraints.items()}
    assert rows == {
        "y_weights": 1,
        "y_argument": 1,
        "y_value": 1,
        "y_segment": 1,
        "y_segment_off": 3,
    }


@pytest.mark.parametrize(
    "breakpoints", [[0, 2, 2, 2, 5], [0, 3, 2], [3, 3, 3], [[0, 1, 1], [4, 4, 4]], [[0, 1], [2, 1]]]
)
def test_breakpoints_that_fall_or_stand_three_times_are_refused(breakpoints):
    model = Model("m")
    x = model.variable("x", N, upper=5)
    heights = np.arange(np.shape(breakpoints)[-1])
    with pytest.raises(ModelError, match="expected to rise, and two that are equal are a jump"):
        model.piecewise("y", x, breakpoints, heights)
    assert list(model.variables) == ["x"]


@pytest.mark.parametrize(
    ("file", "name"), chequered(["m.lp", "m.mps", "full", "native"], list(FUNCTIONS))
)
def test_files_have_the_jumps(name, file, tmp_path):
    breakpoints, heights = FUNCTIONS[name]
    model = Model("m")
    x = model.variable("x", lower=None)
    y = model.piecewise("y", x, breakpoints, heights)
    options = {} if "." in file else {"profile": file}
    path = tmp_path / (file if "." in file else "m.mps")
    for slope in (-1.5, 0.25):
        model.minimize(y + slope * x)
        model.write(path, **options)
        least = min(height + slope * at for at, height in zip(breakpoints, heights, strict=True))
        assert read_program(path).solve().objective == pytest.approx(least, abs=1e-7)


def test_a_native_file_reads_back_as_the_same_program(tmp_path):
    model = Model("m")
    x = model.variable("x", upper=5)
    cost = model.piecewise("cost", x, [0, 0, 5], [0, 10, 20])
    model.minimize(cost - 5 * x)
    (path, *_) = model.write(tmp_path / "m.mps", profile="native")
    assert fairlp.read_program(path).solve().objective == pytest.approx(-5)
    assert (read_program(path).A != model.compile().A).nnz == 0


def test_pyomo_has_the_jump():
    pytest.importorskip("pyomo")
    pytest.importorskip("highspy")
    model = Model("m")
    x = model.variable("x", upper=5)
    cost = model.piecewise("cost", x, [0, 0, 5], [0, 10, 20])
    model.constraint("least", x >= 1)
    model.minimize(cost)
    assert model.solve("pyomo:highs").objective == pytest.approx(12)
