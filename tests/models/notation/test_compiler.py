"""The compiler: entries that cancel, logarithms of weight 0, and random formulas beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fairlp import Index, Model, log, power
from fairlp.errors import ModelError
from fairlp.models.notation.arrays import assemble
from fairlp.models.notation.compiler import numbers
from fairlp.models.notation.evaluation import evaluate
from profiles import many
from random_models import RandomFormulas


def test_entries_of_one_place_are_added_and_those_that_cancel_are_gone():
    rows, columns = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    matrix = assemble([(rows, columns, np.array([2.0, 3.0, 4.0, -4.0]))], (2, 2), "csc")
    assert (
        matrix.toarray().tolist() == [[0, 5], [0, 0]]
        and matrix.nnz == 1
        and matrix.has_canonical_format
    )
    by_rows = assemble([(rows, columns, np.array([2.0, 3.0, 4.0, -4.0]))], (2, 2), "csr")
    assert by_rows.nnz == 1 and sp.issparse(by_rows)


def test_logarithms_of_weight_0_are_left_out_and_of_the_wrong_sign_refused():
    n = Index("n", ["a", "b", "c"])
    m = Model("logs", indices=(n,))
    w, x = m.parameter("w", n, [1.0, 0.0, 2.0]), m.variable("x", n)
    m.maximize((w * log(x)).sum(n))
    logs = m.compile().logs
    assert logs.weights.tolist() == [1, 2] and logs.A.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    for sense in ("maximize", "minimize"):
        wrong_model = Model("logs", indices=(n,))
        v, y = wrong_model.parameter("w", n, [1.0, -1.0, 0.0]), wrong_model.variable("x", n)
        getattr(wrong_model, sense)((v * log(y)).sum(n))
        with pytest.raises(ModelError, match="weights of logarithms"):
            wrong_model.compile()


@pytest.mark.parametrize("seed", range(many(250)))
def test_formulas_of_parameters_are_their_numbers_by_numpy(seed):
    """On a right-hand side, as a factor, and by themselves."""
    rng = np.random.default_rng([78, seed])
    formulas = RandomFormulas(rng)
    known = formulas.draw(int(rng.integers(1, 5)), is_known=True)
    expected = known.numbers[..., -1]
    assert numbers(known.expression).values == pytest.approx(expected, rel=1e-12, abs=1e-12)
    factor = formulas.model.variable("factor")
    formulas.model.constraint("factor_row", factor * known.expression + factor / 2 <= 0)
    bound = formulas.model.variable("bound")
    formulas.model.constraint("bound_row", bound >= known.expression)
    program = formulas.model.compile()
    values = known.rows()[:, -1]
    size = len(values)
    columns = [program.column_names.index(name) for name in ("factor", "bound")]
    in_rows = program.A.toarray()[:, columns]
    assert in_rows[:size, 0] == pytest.approx(values + 0.5, rel=1e-12, abs=1e-12)
    assert in_rows[size:, 1].tolist() == [1] * size
    assert program.row_lower[size:] == pytest.approx(values, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(many(250)))
def test_objectives_and_values_are_those_of_the_numbers(seed):
    rng = np.random.default_rng([79, seed])
    formulas = RandomFormulas(rng)
    formula = formulas.draw(int(rng.integers(1, 5)))
    total = formula.expression.sum() if formula.axes else formula.expression
    if rng.random() < 0.5:
        formulas.model.maximize(total)
    else:
        formulas.model.minimize(total)
    program = formulas.model.compile()
    sums = formula.rows().sum(axis=0)
    assert program.c == pytest.approx(sums[:-1], rel=1e-9, abs=1e-9)
    assert program.offset == pytest.approx(sums[-1], rel=1e-9, abs=1e-9)
    x = rng.integers(0, 5, program.n_columns).astype(float)
    expected = formula.numbers @ np.append(x, 1.0)
    values = evaluate(formula.expression, program.columns, x)
    assert values == pytest.approx(expected, rel=1e-9, abs=1e-9)
    with np.errstate(invalid="ignore", divide="ignore"):
        bent = [
            (abs(formula.expression), abs(expected)),
            (power(formula.expression, 2), expected**2),
            (log(formula.expression), np.log(expected)),
        ]
    for expression, by_numpy in bent:
        found = evaluate(expression, program.columns, x)
        sure = np.isfinite(by_numpy) & (abs(expected) > 1e-9)  # the logarithm of rounding is any
        assert found[sure] == pytest.approx(by_numpy[sure], rel=1e-6, abs=1e-6)
