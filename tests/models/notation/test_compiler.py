"""The compiler by hand: repeated and cancelling entries, constants, both sides of rows, logarithms of weight 0."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fairlp import Index, Model, log
from fairlp.errors import ModelError
from fairlp.models.notation.arrays import assemble


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


def model():
    m = Model("by hand")
    return m, m.variable("x"), m.variable("y")


def test_a_variable_that_occurs_twice_counts_twice_everywhere():
    m, x, y = model()
    m.constraint("row", 2 * x + y + 3 * x - y <= 4)
    m.maximize(x + 2 * x + y + 1 + 2)
    program = m.compile()
    assert program.A.toarray().tolist() == [[5, 0]] and program.A.nnz == 1
    assert program.c.tolist() == [3, 1] and program.offset == 3


def test_constants_go_to_the_other_side_and_each_comparison_has_its_sides():
    m, x, y = model()
    m.constraint("most", x + 3 <= 10)
    m.constraint("least", x + y - 2 >= 1)
    m.constraint("equal", y + 1 == 5)
    program = m.compile()
    assert program.row_lower.tolist() == [-np.inf, 3, 4] and program.row_upper.tolist() == [
        7,
        np.inf,
        4,
    ]


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
