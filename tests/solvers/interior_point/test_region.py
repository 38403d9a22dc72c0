"""Regions by users and by places are the same region."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp.solvers.interior_point.region import PlacedRegion


def test_a_region_by_places_is_the_region_by_users():
    """The same pairs twice: every user at every server, and only the places where somebody may run."""
    rng = np.random.default_rng(0)
    demands, capacities, prices = rng.random((5, 2)), rng.random((3, 2)), rng.random((3, 2))
    user = np.array([rng.permutation(5)[:3] for _ in range(3)])
    allowed = np.zeros((3, 5), dtype=bool)
    np.put_along_axis(allowed, user, True, axis=1)
    places, users = (
        PlacedRegion(demands, capacities, place_users=user),
        PlacedRegion(demands, capacities, allowed=allowed),
    )
    costs = np.where(allowed, prices @ demands.T, np.nan)
    is_open = allowed.any(axis=0)
    assert places.highest_costs(prices)[is_open] == pytest.approx(
        np.nanmax(costs[:, is_open], axis=0)
    )
    assert places.min_by_user(places.costs(prices))[is_open] == pytest.approx(
        np.nanmin(costs[:, is_open], axis=0)
    )
    x = rng.random((3, 3))
    dense = np.zeros((3, 5))
    np.put_along_axis(dense, user, x, axis=1)
    assert places.usage(x) == pytest.approx(users.usage(dense)) and places.sum_by_user(
        x
    ) == pytest.approx(users.sum_by_user(dense))
