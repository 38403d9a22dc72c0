"""Powers in an objective: how they print, compile, are solved by every way, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import Index, Model, log, power
from fairlp.errors import ModelError, UnsupportedError
from fairlp.models.programs.backends import find_backend, needs, solve_on
from fairlp.models.programs.options import Options
from fairlp.models.programs.protocols import Capability
from fairlp.solvers.backends.highs import Highs
from fairlp.tolerances import CONFORMANCE, CONVEX_POINT


def cake(exponent, weights=(1.0, 2.0, 3.0), size=6.0):
    """Σ w·x^p/p over a cake: x is proportional to w^(1/(1−p))."""
    n = Index("n", ["a", "b", "c"])
    model = Model("shares of a cake", indices=(n,))
    w, x = model.parameter("w", n, weights), model.variable("x", n)
    model.constraint("cake", x.sum() <= size)
    model.maximize((w * power(x, exponent) / exponent).sum(n))
    shares = np.array(weights) ** (1 / (1 - exponent))
    return model, size * shares / shares.sum()


@pytest.mark.parametrize("solver", ["highs", "cvxpy:CLARABEL", "cvxpy:SCS", "interior-point"])
@pytest.mark.parametrize("exponent", [0.5, -1.0, -3.0])
def test_every_way_finds_the_closed_form(solver, exponent):
    if not find_backend(solver).available()[0]:
        pytest.skip(f"{solver} is not installed")
    model, expected = cake(exponent)
    solution = model.solve(solver)
    assert solution.values["x"].to_numpy() == pytest.approx(expected, rel=CONVEX_POINT)
    assert solution.objective == pytest.approx(
        (np.array([1, 2, 3]) * expected**exponent / exponent).sum(), rel=CONFORMANCE
    )
    assert solution.verify().gap <= CONVEX_POINT


def test_powers_logs_and_a_linear_part_stand_side_by_side():
    n = Index("n", ["a", "b"])
    model = Model("mixed", indices=(n,))
    x = model.variable("x", n)
    model.constraint("cake", x.sum() <= 10)
    model.minimize(-(2 * power(x["a"] + 1, 0.5)) - 3 * log(x["b"]) + x.sum())
    program = model.compile()
    assert needs(program) == {Capability.LOG, Capability.POWER}
    for solver in ("highs", "cvxpy:CLARABEL"):  # slopes 1/√(x+1) = 1 and 3/x = 1
        assert model.solve(solver).values["x"].to_numpy() == pytest.approx([0, 3], abs=1e-3)
    point = np.array([3.0, 2.0])
    assert program.objective_value(point) == pytest.approx(-4 - 3 * np.log(2) + 5)
    assert "<Program 'mixed': power program" in repr(program)


def test_a_back_end_without_powers_is_given_tangents_or_refuses():
    model, expected = cake(-1.0)
    program = model.compile()
    assert needs(program) == {Capability.POWER} and not needs(program) <= Highs().capabilities
    solution = solve_on(Highs(), program, Options())
    assert solution.method == "tangents" and solution.x == pytest.approx(expected, rel=CONVEX_POINT)
    with pytest.raises(UnsupportedError, match="needs power objective"):
        Highs().solve(program, Options())


def test_what_would_not_be_concave_or_linear_is_refused():
    model, _ = cake(0.5)
    x, n = model["x"], model.indices[0]
    with pytest.raises(ModelError, match="power of a logarithm or of a power"):
        power(log(x), 0.5)
    with pytest.raises(ModelError, match="logarithm of a logarithm or of a power"):
        log(power(x, 0.5))
    with pytest.raises(ModelError, match="logarithms, powers and squares belong in the objective"):
        model.constraint("bad", power(x, 0.5) <= 1)
    model.maximize(power(x, -1).sum(n))
    with pytest.raises(
        ModelError, match="the objective: model 'shares of a cake': the weights of loga"
    ):
        model.compile()


def test_they_go_to_nl_and_not_to_mps(tmp_path):
    pyomo = pytest.importorskip("pyomo.environ")
    model, expected = cake(-1.0)
    with pytest.raises(ModelError, match="a power has no place"):
        model.write(tmp_path / "cake.mps")
    built = model.to_pyomo()
    for k, value in zip("abc", expected, strict=True):
        built.x[k].set_value(value)
    (objective,) = built.component_data_objects(pyomo.Objective)
    assert pyomo.value(objective) == pytest.approx(-(np.array([1, 2, 3]) / expected).sum())
    assert (tmp_path / "cake.nl") in model.write(tmp_path / "cake.nl")


def test_a_parameter_that_changes_is_compiled_anew():
    model, _ = cake(-1.0)
    model["w"].set([1, 1, 1])
    assert model.solve("interior-point").values["x"].to_numpy() == pytest.approx([2, 2, 2])
    assert fairlp.power is power


def test_powers_and_logarithms_of_parameters_are_numbers():
    n = Index("n", ["a", "b"])
    model = Model("m")
    c, x = model.parameter("c", n, [2.0, 3.0]), model.variable("x", n, upper=1)
    model.constraint("cap", (c**2 * x).sum() <= 9)
    model.maximize((c**2).sum() + ((log(c) + power(c, 0.5)) * x).sum() + (c**2 * log(x + c)).sum())
    for values in ([2.0, 3.0], [1.0, 2.0]):
        c.set(values)
        solution = model.solve()
        number_model = Model("numbers")
        y, number = number_model.variable("x", n, upper=1), np.array(values)
        number_model.constraint("cap", (number**2 * y).sum() <= 9)
        number_model.maximize(
            ((np.log(number) + number**0.5) * y).sum()
            + (number**2 * log(y + number)).sum()
            + (number**2).sum()
        )
        assert solution.objective == pytest.approx(number_model.solve().objective, rel=1e-7)
    c.set([0.0, 2.0])
    with pytest.raises(ModelError, match=r"log\(c\[n\]\) is not finite everywhere"):
        model.compile()
