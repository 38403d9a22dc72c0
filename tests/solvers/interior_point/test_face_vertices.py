"""Faces of few directions: rounds at vertices, in displacements, equal to the rounds of linear programs."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.solvers.interior_point import face_vertices, session
from profiles import many


def few_servers_each(users, seed, servers_each=6, whole_numbers=False):
    """As many servers as users, who may each run on a few, with zero demands."""
    rng = np.random.default_rng(seed)
    eligible = np.zeros((users, users), dtype=bool)
    for row in eligible:
        row[rng.permutation(users)[:servers_each]] = True
    demands = rng.lognormal(size=(users, 3))
    capacities = rng.lognormal(3, 1, (users, 3))
    if whole_numbers:
        demands = np.ceil(2 * demands)
        capacities = np.ceil(capacities)
    demands[rng.random(demands.shape) < 0.1] = 0
    demands[~demands.any(axis=1)] = 1
    return fairlp.Instance.from_arrays(demands, capacities, eligible=eligible)


@pytest.fixture
def paths(monkeypatch):
    """How many rounds were solved at vertices of a face, and how many series fell back on others."""
    counts = {"rounds": 0, "others": 0}
    solve = face_vertices.FaceVertices.solve
    on_columns = session.on_columns

    def counted(self, structure):
        counts["rounds"] += 1
        return solve(self, structure)

    def columns(*arguments):
        counts["others"] += 1
        return on_columns(*arguments)

    monkeypatch.setattr(face_vertices.FaceVertices, "solve", counted)
    monkeypatch.setattr(session, "on_columns", columns)
    return counts


@pytest.mark.parametrize("seed", range(many(8)))
def test_levels_equal_those_of_linear_programs(paths, seed):
    case = few_servers_each(60, seed)
    allocation = fairlp.allocate(case, "drfh", method="interior-point")
    expected = fairlp.allocate(case, "drfh", method="lp")
    np.testing.assert_allclose(allocation.levels, expected.levels, rtol=1e-8)
    assert allocation.residual <= 1e-9 and not allocation.unproved
    assert paths["rounds"] >= len(allocation.rounds) - 2 > 0 and paths["others"] == 0


@pytest.mark.parametrize("seed", range(many(4)))
def test_ties_of_whole_numbers_change_no_level(seed):
    case = few_servers_each(40, seed, servers_each=4, whole_numbers=True)
    levels = fairlp.allocate(case, "drfh", method="interior-point").levels
    np.testing.assert_allclose(levels, fairlp.allocate(case, "drfh", method="lp").levels, rtol=1e-8)


@pytest.mark.parametrize("magnitude", [1e-6, 1e6])
def test_magnitudes_of_users_and_servers_change_no_verdict(paths, magnitude):
    case = few_servers_each(60, 1)
    rng = np.random.default_rng(1)
    demands = case.demands * magnitude ** rng.random(60)[:, None]
    scaled = fairlp.Instance.from_arrays(demands, case.capacities, eligible=case.eligible)
    allocation = fairlp.allocate(scaled, "drfh", method="interior-point")
    expected = fairlp.allocate(scaled, "drfh", method="lp")
    np.testing.assert_allclose(allocation.levels, expected.levels, rtol=1e-8)
    assert paths["rounds"] > 0


@pytest.mark.parametrize("n_right", [0, 1])
def test_an_answer_that_is_not_proved_is_found_otherwise(monkeypatch, paths, n_right):
    """By interior points where the first round fails; by vertices of the whole where a later one does."""
    case = few_servers_each(60, 0)
    solve = face_vertices.FaceVertices.solve

    def wrong(self, structure):
        point, steps = solve(self, structure)
        if paths["rounds"] > n_right:
            odd = np.arange(point.p.size).reshape(point.p.shape) % 2
            point.p = point.p * (1 + 0.5 * odd)
        return point, steps

    monkeypatch.setattr(face_vertices.FaceVertices, "solve", wrong)
    allocation = fairlp.allocate(case, "drfh", method="interior-point")
    expected = fairlp.allocate(case, "drfh", method="lp")
    np.testing.assert_allclose(allocation.levels, expected.levels, rtol=1e-8)
    assert paths["rounds"] > n_right
    assert n_right == 0 or paths["others"] == 1
