"""Programs put together wrongly, back ends that cannot be, and proofs that lack something."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from fairlp import examples, formulate
from fairlp.errors import (
    ModelError,
    SolverError,
    UnknownNameError,
    UnsupportedError,
)
from fairlp.models.notation.values import packed
from fairlp.models.programs import backends
from fairlp.models.programs.exact_certificate import optimal_from
from fairlp.models.programs.program import Block, LogTerms


def program():
    return formulate(examples.ghodsi(), "drf").compile()


def test_the_size_of_a_program_is_that_of_its_arrays():
    case = program()
    vectors = (
        case.c,
        case.col_lower,
        case.col_upper,
        case.row_lower,
        case.row_upper,
        case.integrality,
    )
    matrix = case.A.data.nbytes + case.A.indices.nbytes + case.A.indptr.nbytes
    assert case.nbytes == sum(vector.nbytes for vector in vectors) + matrix


def test_the_default_is_the_name_of_ours_and_no_object_of_that_name():
    named = {
        name: backends.is_default(name)
        for name in ("highs", "scipy", backends.SolverName("other", object()))
    }
    assert named == {"highs": True, "scipy": False, "other": False}
    assert not backends.is_default(backends.SolverName("highs", object()))


def test_what_a_constructor_says_is_kept():
    class Refusing:
        name = "refusing"

        def __init__(self):
            raise UnsupportedError("not on this machine")

        def solve(self, program, options):
            raise AssertionError

    class Broken(Refusing):
        def __init__(self):
            raise ZeroDivisionError("careless")

    with pytest.raises(UnsupportedError, match="not on this machine"):
        program().solve(solver=Refusing)
    with pytest.raises(SolverError, match="careless"):
        program().solve(solver=Broken)


def test_no_proof_in_rationals_without_a_basis():
    pytest.importorskip("flint")
    solution = program().solve(solver="highs", method="ipm", extra={"run_crossover": "off"})
    with pytest.raises(UnsupportedError, match="kept no basis"):
        solution.certify(exact=True)


def test_no_basis_proves_nothing():
    pytest.importorskip("flint")
    case = program()
    verdict, pivots = optimal_from(case, [0] * case.n_columns, [0] * case.n_rows)
    assert not verdict.holds and pivots == 0


@pytest.mark.parametrize("positions", [None, [0, 2, 3, 5]])
def test_a_block_takes_from_another_what_has_the_same_labels(positions):
    block = Block("x", (("n", pd.Index(["a", "b"])), ("i", pd.Index(["u", "v", "w"]))), 0, 6)
    labels = (("n", pd.Index(["b", "c", "a"])), ("i", pd.Index(["w", "u"])))
    places = list(range(6)) if positions is None else positions
    other_block = Block(
        "x",
        labels,
        1,
        1 + len(places),
        positions=None if positions is None else np.array(positions),
    )
    value_of = {("bca"[k // 2], "wu"[k % 2]): 10.0 + k for k in places}
    values = np.array([0.0, *value_of.values()])
    expected = [value_of.get((n, i), -1.0) for n in "ab" for i in "uvw"]
    assert block.taken(other_block, values, -1.0).tolist() == expected
    assert block.taken(Block("x", (), 0, 1), values, -1.0).tolist() == [-1.0] * 6


def test_numbers_by_label_are_taken_in_any_orientation_and_order():
    n, i = pd.Index(["a", "b"], name="n"), pd.Index(["u", "v", "w"], name="i")
    block = Block("x", (("n", n), ("i", i)), 0, 6)
    table = pd.DataFrame([[1.0, 2, 3], [4, 5, 6]], n, i)
    assert packed(block, table).tolist() == [1, 2, 3, 4, 5, 6]
    assert packed(block, table.T).tolist() == [1, 2, 3, 4, 5, 6]
    assert packed(block, table.loc[["b"], ["w", "u"]]).tolist()[3:] == pytest.approx(
        [4, np.nan, 6], nan_ok=True
    )
    assert packed(block, {("b", "v"): 7}).tolist() == pytest.approx(
        [np.nan] * 4 + [7, np.nan], nan_ok=True
    )
    small_block = Block("x", (("n", n), ("i", i)), 0, 2, positions=np.array([5, 0]))
    assert packed(small_block, table).tolist() == [6, 1]
    assert packed(small_block, 2).tolist() == [2, 2]
    for numbers, error, message in (
        ([1, 2], ModelError, "are list; expected a Series, a DataFrame or a mapping"),
        ({("a", "x"): 1}, UnknownNameError, "names i 'x', which is unknown"),
        (
            pd.Series([1, 2], pd.MultiIndex.from_tuples([("a", "u")] * 2)),
            UnknownNameError,
            "twice",
        ),
    ):
        with pytest.raises(error, match=message):
            packed(block, numbers)


def test_a_name_has_the_labels_of_its_element_whatever_their_kind():
    days = pd.date_range("2026-01-01", periods=2)
    pairs = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])
    axes = (("d", days), ("p", pairs), ("k", pd.Index([0.5, 3.0])))
    positions = np.array([0, 3, 6])
    for block in (Block("x", axes, 0, 8), Block("x", axes, 0, 3, positions)):
        expected = [f"x[{day.date()},{pair},{k}]" for day, pair, k in block.labels()]
        assert block.names() == expected
    assert block.names()[1] == "x[2026-01-01,(2, 'b'),3.0]"
    assert Block("x", axes, 0, 0, positions[:0]).names() == []


def test_utilities_and_their_slopes_are_those_of_the_alpha_of_each_term():
    """Weights 2, 3, 5 and 7; alpha 1: log z, 2: -1/z, 0: z, 1/2: 2·sqrt z. At z = (1, 2, 3, 4)."""
    terms = LogTerms(
        "utility",
        np.array([2.0, 3, 5, 7]),
        csr_array(np.eye(4)),
        np.array([0.0, 0, 1, 0]),
        alpha=np.array([1.0, 2, 0, 0.5]),
    )
    z = terms.arguments(np.array([1.0, 2, 2, 4]))
    assert z.tolist() == [1, 2, 3, 4]
    assert terms.value(z) == pytest.approx(2 * 0 - 3 / 2 + 5 * 3 + 7 * 2 * 2)
    assert terms.slopes(z) == pytest.approx([2, 3 / 4, 5, 7 / 2])
    logs = LogTerms("fairness", np.array([2.0, 3]), csr_array(np.eye(2)), np.zeros(2))
    assert logs.value(np.array([2.0, 5])) == pytest.approx(2 * np.log(2) + 3 * np.log(5))
