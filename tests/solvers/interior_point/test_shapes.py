"""The shapes of real clusters: levels proved in rationals at small sizes, equal to rounds of programs at others."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp_research.library import numerics
from profiles import PROFILE, many
from scripts import benchmark

KINDS = [
    "zeros", "gpus", "two-of-five", "few-pairs", "few-servers", "windows", "racks", "chain", "blocks", "dominating",
    "weights", "heavy-tails", "spread", "integers", "jitter", "twenty", "limits", "limits-uniform", "log-normal",
    "uniform",
]  # fmt: skip
#: Small ones a shape, in parts.
SMALL, PARTS = (500, 20) if PROFILE == "nightly" else (1, 1)


def test_no_shape_is_left_out():
    assert list(numerics.SHAPES) == KINDS
    with benchmark("shapes") as script:
        assert script.SHAPES is numerics.SHAPES and script.shaped is numerics.shaped


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fold", range(PARTS))
def test_small_ones_are_proved_exactly(kind, fold):
    for seed in range(fold * SMALL // PARTS, (fold + 1) * SMALL // PARTS):
        rng = np.random.default_rng(seed)
        case = numerics.shaped(kind, int(rng.integers(2, 7)), int(rng.integers(2, 6)), seed)
        verdict = fairlp.allocate(case, "drfh", method="interior-point").certify(exact=True)
        assert verdict, f"seed {seed}: {verdict}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(many(3)))
def test_middle_ones_have_the_levels_of_rounds_of_programs(kind, seed):
    rng = np.random.default_rng(1000 + seed)
    case = numerics.shaped(kind, int(rng.integers(10, 60)), int(rng.integers(10, 40)), seed)
    inner, rounds = (
        fairlp.allocate(case, "drfh", method=method) for method in ("interior-point", "lp")
    )
    assert inner.residual <= 1e-9
    np.testing.assert_allclose(inner.levels, rounds.levels, rtol=1e-8)


@pytest.mark.slow
def test_what_the_simplex_method_fails_on_is_solved_by_interior_points():
    """HiGHS ends "not set" in a later round, on some processors, whatever it is told."""
    test_middle_ones_have_the_levels_of_rounds_of_programs("spread", 36808762)


@pytest.mark.slow
@pytest.mark.parametrize("size, seed", [(400, 3), (500, 6)])
def test_pairs_of_tiny_reduced_cost_do_not_bring_rounds_to_vertices(size, seed):
    """The simplex method took minutes here; each round is solved on the face of the last."""
    shape = numerics.shaped("windows", size, seed=seed)
    allocation = fairlp.allocate(shape, "drfh", method="interior-point", time_limit=30)
    assert allocation.gap < 1e-5
