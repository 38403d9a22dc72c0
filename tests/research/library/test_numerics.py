"""Entries with closed forms and shapes of real clusters: exact levels, rounds, magnitudes, blocks."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_research
from fairlp.formulations import max_min
from fairlp.solvers.leximin.exact import exact_leximin
from profiles import many

library = fairlp_research.library
load = library.load

SEEDS = range(many(4))


def test_users_of_growing_errors_run_on_about_two_servers():
    entry = library.load("growing-errors", "medium")
    assert 1.5 < entry.instance.eligible.sum(axis=1).mean() < 3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "size", "formulation"),
    [
        ("ties", {"triples": 3, "doublings": 2}, max_min.drfh),
        ("many-rounds", {"users": 7}, max_min.drfh),
        ("magnitudes", {"users": 4, "servers": 42}, max_min.tsf),
    ],
)
def test_closed_forms_are_the_exact_levels_of_the_programs_as_they_stand(
    name, size, formulation, seed
):
    entry = load(name, seed=seed, **size)
    verdict, _ = exact_leximin(entry.instance, formulation)
    assert verdict, verdict
    assert verdict.levels == entry.optimum.levels
    assert entry.optimum.value == min(verdict.levels)
    assert len(set(verdict.levels)) == (size["users"] if name == "many-rounds" else 1)


def test_many_rounds_takes_a_round_a_user():
    entry = load("many-rounds", users=20)
    allocation = fairlp.allocate(entry.instance, "drfh", method="lp")
    assert len(allocation.rounds) == 20
    np.testing.assert_allclose(
        allocation.levels, [float(level) for level in entry.optimum.levels], rtol=1e-12
    )
