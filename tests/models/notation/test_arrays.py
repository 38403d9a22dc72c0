"""Numbers over indices as arrays and as triples, beside einsum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fairlp import Index, Model
from fairlp.models.notation.arrays import (
    Entries,
    Labelled,
    assemble,
    mapped_numbers,
    scalar,
    times,
)
from fairlp.models.notation.expressions import Along

N, R, I = Index("n", range(3)), Index("r", range(2)), Index("i", range(4))  # noqa: E741
TO = Index("m", range(5))


def along_n(matrix):
    return Along(Model("moved").variable("x", N), N, matrix, TO, "moved")


def numbers(*indices, seed=1):
    shape = tuple(len(index) for index in indices)
    return np.random.default_rng(seed).integers(1, 9, shape).astype(float)


def entries(values, *indices):
    """All numbers of an array as triples, in a column each."""
    coordinates = list(np.nonzero(values))
    count = len(coordinates[0])
    return Entries(indices, coordinates, values[tuple(coordinates)], np.arange(count))


def dense(triples, *indices):
    """The sum of triples over indices."""
    array = np.zeros([len(index) for index in indices])
    places = dict(
        zip([index.symbol for index in triples.indices], triples.coordinates, strict=True)
    )
    np.add.at(array, tuple(places[index.symbol] for index in indices), triples.values)
    return array


def test_axes_are_turned_and_are_of_length_one_where_numbers_are_constant():
    values = numbers(N, R)
    labelled = Labelled((N, R), values)
    assert labelled.over((R, I, N)).shape == (2, 1, 3)
    assert (labelled.over((R, I, N))[:, 0] == values.T).all()
    rows = labelled.rows((N, I, R), None)
    assert (rows.reshape(3, 4, 2) == values[:, None, :]).all()
    assert labelled.rows((N, R), np.array([5, 0])).tolist() == [values[2, 1], values[0, 0]]


def test_products_are_over_the_indices_of_both():
    first, second = numbers(N, R), numbers(R, I, seed=2)
    product = times(Labelled((N, R), first), Labelled((R, I), second))
    assert product.indices == (N, R, I)
    assert (product.values == np.einsum("nr,ri->nri", first, second)).all()
    labelled = Labelled((N, R), first)
    assert times(scalar(1.0), labelled) is labelled
    assert (times(scalar(2.0), labelled).values == 2 * first).all()


@pytest.mark.parametrize("place", [0, 1, None])
def test_a_linear_map_goes_along_its_index(place):
    matrix = sparse.csr_array(numbers(TO, N, seed=3))
    node = along_n(matrix)
    indices = {0: (N, R), 1: (R, N), None: (R,)}[place]
    values = numbers(*indices)
    image = mapped_numbers(Labelled(indices, values), node)
    formula = {0: "mn,nr->mr", 1: "mn,rn->rm"}.get(place)
    if formula:
        expected = np.einsum(formula, matrix.toarray(), values)
        assert image.values.tolist() == expected.tolist()
    else:
        expected = np.multiply.outer(matrix.toarray().sum(axis=1), values)
        assert image.over((TO, R)).tolist() == expected.tolist()


def test_triples_have_places_in_the_order_of_c():
    triples = entries(numbers(N, R), N, R)
    assert triples.places((N, R)).tolist() == list(range(6))
    assert triples.places((R, N)).tolist() == [0, 3, 1, 4, 2, 5]
    sample = triples.taken(np.array([4, 4, 0]))
    assert sample.places((N, R)).tolist() == [4, 4, 0] and sample.columns.tolist() == [4, 4, 0]


def test_products_of_triples_meet_where_their_shared_indices_are_equal():
    first, second = numbers(N, R), numbers(R, I, seed=2)
    first[1, 0] = second[1, 2] = 0.0
    product = entries(first, N, R).times(entries(second, R, I))
    assert [index.symbol for index in product.indices] == ["n", "r", "i"]
    assert (dense(product, N, R, I) == np.einsum("nr,ri->nri", first, second)).all()
    scaled = entries(first, N, R).scaled(Labelled((R,), second[:, 0]))
    assert (dense(scaled, N, R) == first * second[:, 0]).all()
    assert (dense(entries(first, N, R).scaled(scalar(3.0)), N, R) == 3 * first).all()


def test_a_sum_over_an_index_leaves_it_out_and_multiplies_what_is_constant_there():
    values = numbers(N, R)
    assert (dense(entries(values, N, R).without(R), N) == values.sum(axis=1)).all()
    assert (dense(entries(values, N, R).without(N), R) == values.sum(axis=0)).all()
    assert (dense(entries(values, N, R).without(I), N, R) == 4 * values).all()


def test_triples_are_mapped_along_an_index():
    matrix = sparse.csr_array(numbers(TO, N, seed=3) - 4.0)
    values = numbers(R, N)
    image = entries(values, R, N).along(along_n(matrix))
    assert {index.symbol for index in image.indices} == {"r", "m"}
    assert (dense(image, R, TO) == np.einsum("mn,rn->rm", matrix.toarray(), values)).all()


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_triples_are_summed_sorted_and_without_zeros(layout):
    triples = [
        (np.array([1, 0]), np.array([2, 0]), np.array([1.0, 2.0])),
        (np.array([1, 1, 0]), np.array([0, 2, 1]), np.array([4.0, -1.0, 3.0])),
    ]
    matrix = assemble(triples, (2, 3), layout)
    assert matrix.toarray().tolist() == [[2, 3, 0], [4, 0, 0]]
    assert matrix.format == layout and matrix.nnz == 3 and matrix.has_sorted_indices
    assert not triples
    assert assemble([], (2, 3), layout).toarray().tolist() == [[0] * 3] * 2
