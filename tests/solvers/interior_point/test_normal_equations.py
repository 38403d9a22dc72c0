"""The normal equations: solved as dense systems are, refined while errors matter, shifted where rounding asks it."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.errors import NotConvergedError
from fairlp.solvers.interior_point import normal_equations
from fairlp.solvers.interior_point.structure import Structure
from profiles import many


def problem(users, servers, seed):
    rng = np.random.default_rng(seed)
    demands, capacities = rng.lognormal(0, 1, (users, 2)), rng.lognormal(3, 1, (servers, 2))
    instance = fairlp.Instance.from_arrays(demands, capacities)
    return Structure.of(fairlp.formulate(instance, "tsf").compile()).problem


def equations(users, servers, seed=0):
    rng = np.random.default_rng(seed)
    interior_problem = problem(users, servers, seed)
    region = interior_problem.region
    theta = rng.lognormal(0, 6, (servers, users))
    ratio, user_terms = rng.lognormal(0, 6, (servers, 2)), rng.lognormal(0, 2, users)
    return (
        region,
        normal_equations.NormalEquations(region, theta, ratio, user_terms, None, 0.0),
        (theta, ratio, user_terms),
    )


@pytest.mark.parametrize("users", [2, 9])
def test_answers_are_refined_until_what_is_left_does_not_matter(users):
    region, normal, (theta, ratio, user_terms) = equations(users, 3)
    first, second = np.ones((3, 2)), np.ones(users)
    errors = []

    def matters(error, other, last):
        errors.append(max(abs(error).max(), abs(other).max()))
        return True

    prices, values, _, reduced_costs = normal.solve(first, second, 0.0, matters)
    assert len(errors) == 5 and errors[-1] <= errors[0]
    assert reduced_costs == pytest.approx(region.reduced_costs(prices, values), rel=1e-9, abs=1e-12)
    moved = region.reduced_costs(prices, values) * theta
    assert moved @ region.demands + ratio * prices == pytest.approx(first, rel=1e-5, abs=1e-5)
    assert user_terms * values - region.totals(moved) == pytest.approx(second, rel=1e-5, abs=1e-5)


def test_equations_that_are_nearly_singular_are_solved_by_all_corrections_together():
    """The factor is of a shifted matrix, so that single corrections hardly help."""
    normal = equations(9, 3)[1]
    right = np.linspace(1.0, 2.0, 6).reshape(3, 2)
    exact = normal.schur.solve
    # a solver that knows a thousandth of one direction
    direction = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    direction /= np.linalg.norm(direction)

    def poor(capacity_right, user_right):
        prices, values = exact(capacity_right, user_right)
        return prices - 0.999 * np.vdot(direction, prices) * direction, values

    normal.schur.solve = poor
    norms = []

    def matters(error, other, last):
        norms.append(np.linalg.norm(np.append(error, other)))
        return True

    normal.solve(right, np.ones(9), 0.0, matters)
    first, plain, *weighted = norms[1:]
    assert plain >= 0.99 * first  # plain corrections stall
    assert weighted[-1] <= 1e-6 * plain


def test_a_matrix_that_is_not_quite_definite_is_shifted_and_one_that_is_not_is_refused():
    almost = np.array([[1.0, 1.0 + 1e-13], [1.0 + 1e-13, 1.0]])
    assert np.isfinite(
        normal_equations._ShiftedCholesky(almost.copy(), np.ones(2)).solve(np.ones(2))
    ).all()
    with pytest.raises(NotConvergedError, match="definiteness"):
        normal_equations._ShiftedCholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_blocks_and_numbers_are_added_along_a_diagonal(resources):
    rng = np.random.default_rng(1)
    blocks = rng.normal(size=(4, resources, resources))
    matrix = rng.normal(size=(4 * resources, 4 * resources))
    expected = matrix.copy()
    for i in range(4):
        place = slice(i * resources, (i + 1) * resources)
        expected[place, place] += blocks[i]
    normal_equations._add_blocks(matrix, blocks)
    np.testing.assert_array_equal(matrix, expected)
    numbers = rng.normal(size=4 * resources)
    normal_equations._add_diagonal(matrix, numbers)
    np.testing.assert_array_equal(matrix, expected + np.diag(numbers))


def test_a_factor_solves_and_one_that_does_not_exist_is_refused():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    matrix, right = root @ root.T + np.eye(6), rng.normal(size=6)
    unit = 1 / np.sqrt(np.diag(matrix))
    factor = normal_equations._ShiftedCholesky(matrix * unit * unit[:, None], unit)
    np.testing.assert_allclose(matrix @ factor.solve(right), right, rtol=1e-9, atol=1e-9)
    with pytest.raises(NotConvergedError, match="definiteness"):
        normal_equations._ShiftedCholesky(-matrix, unit)
    blocks = np.stack([matrix, 2 * matrix])
    inverse = normal_equations._inverse_roots(blocks)
    np.testing.assert_allclose(
        inverse @ blocks @ inverse.swapaxes(1, 2), [np.eye(6)] * 2, atol=1e-9
    )
    blocks[1, 0, 1] = blocks[1, 1, 0] = 2 * blocks[1].max()
    with pytest.raises(NotConvergedError, match="definiteness"):
        normal_equations._inverse_roots(blocks)


@pytest.mark.parametrize("users", [2, 9])
@pytest.mark.parametrize("seed", range(many(60)))
def test_the_first_answer_is_that_of_the_dense_system_with_a_level(seed, users):
    """Without corrections: [S + FΘFᵀ, −FΘ, 0; −ΘᵀFᵀ, G, −g; 0, gᵀ, e] times (dp, dq, dt) is the right side."""
    servers = 3
    rng = np.random.default_rng(seed)
    region = problem(users, servers, seed).region
    theta = rng.lognormal(0, 1, (servers, users))
    ratio, user_terms = rng.lognormal(0, 1, (servers, 2)), rng.lognormal(0, 1, users)
    border, corner = rng.lognormal(0, 1, users), float(rng.lognormal(0, 1))
    normal = normal_equations.NormalEquations(region, theta, ratio, user_terms, border, corner)

    contribution = np.ones((servers, users)) if region.contribution is None else region.contribution
    size = servers * 2
    costs = np.zeros((servers * users, size + users))  # reduced costs by prices and values
    usage = np.zeros((size, servers * users))
    totals = np.zeros((users, servers * users))
    for i in range(servers):
        for n in range(users):
            pair = i * users + n
            costs[pair, 2 * i : 2 * i + 2] = region.demands[n]
            costs[pair, size + n] = -contribution[i, n]
            usage[2 * i : 2 * i + 2, pair] = region.demands[n]
            totals[n, pair] = contribution[i, n]
    moved = theta.ravel()[:, None] * costs
    matrix = np.zeros((size + users + 1,) * 2)
    matrix[:size, :-1] = usage @ moved
    matrix[:size, :size] += np.diag(ratio.ravel())
    matrix[size:-1, :-1] = -totals @ moved
    matrix[size:-1, size:-1] += np.diag(user_terms)
    matrix[size:-1, -1] = -border
    matrix[-1, size:-1] = border
    matrix[-1, -1] = corner
    right = rng.normal(size=len(matrix))
    expected = np.linalg.solve(matrix, right)

    capacity_right = right[:size].reshape(servers, 2)
    errors_left = []

    def matters(*errors):
        errors_left.append(max(np.abs(error).max() for error in errors))
        return False

    changes = normal.solve(capacity_right, right[size:-1], right[-1], matters)
    assert errors_left[0] <= 1e-6
    answer = np.concatenate([changes.prices.ravel(), changes.values, [changes.level]])
    assert answer == pytest.approx(expected, rel=1e-6, abs=1e-8 * abs(expected).max())

    # a factor so far off that corrections double the errors: weighted, they still remove them
    exact = normal._by_factor
    normal._by_factor = lambda errors: 3 * exact(errors)
    sizes = []

    def still_matters(*errors):
        sizes.append(np.linalg.norm(np.concatenate([np.ravel(error) for error in errors])))
        return sizes[-1] > 1e-7 * np.linalg.norm(right)

    normal.solve(capacity_right, right[size:-1], right[-1], still_matters)
    assert len(sizes) == 2 and sizes[-1] <= 1e-7 * np.linalg.norm(right)
