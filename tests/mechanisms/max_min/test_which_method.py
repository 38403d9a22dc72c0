"""Which method `auto` takes: by entries of the capacity rows of the largest component, its width, and weights."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.mechanisms.max_min.methods import APART, features, pays


def instance(users, servers, resources=3, **more):
    rng = np.random.default_rng(users * servers)
    draws = rng.lognormal(size=(users, resources)), rng.lognormal(size=(servers, resources))
    return fairlp.Instance.from_arrays(*draws, **more)


@pytest.mark.parametrize(
    ("users", "servers", "resources", "expected"),
    [
        (50, 50, 3, True),
        (50, 29, 3, False),  # 4,350 entries
        (200, 12, 3, False),  # thin
        (200, 21, 3, True),  # thin, and 12,600 entries
        (30, 30, 20, True),  # thin, with many resources
        (10_000, 1, 3, False),  # one server
    ],
)
def test_by_size(users, servers, resources, expected):
    given = instance(users, servers, resources)
    assert pays(given) is expected
    assert features(given)[:2] == ((0, 0) if servers == 1 else (users * servers * resources, min(users, servers)))


def test_zero_demands_are_no_entries():
    given = instance(60, 60)
    assert pays(given)
    demands = np.where(np.arange(3) == np.arange(60)[:, None] % 3, given.demands, 0.0)
    apart = given.replace(demands=demands)
    assert features(apart)[0] < 3_600 and not pays(apart)  # a third of them, and users merge


def test_what_is_merged_counts_once():
    one = instance(12, 12)
    demands, capacities = np.tile(one.demands, (6, 1)), np.tile(one.capacities, (6, 1))
    assert features(fairlp.Instance.from_arrays(demands, capacities)) == (12 * 12 * 3, 12, 1.0)


def test_components_are_looked_at_one_by_one():
    blocks = np.arange(100)[:, None] * 10 // 100 == np.arange(100) * 10 // 100
    assert features(instance(100, 100, eligible=blocks)) == (300, 10, 1.0)
    assert not pays(instance(100, 100, eligible=blocks))


def test_weights_apart_take_a_larger_one():
    def of(users, factor):
        return instance(users, users, weights=np.where(np.arange(users) == 0, factor, 1.0))

    assert pays(of(60, APART)) and not pays(of(60, 2 * APART)) and pays(of(120, 2 * APART))


def test_auto_is_the_rule():
    assert fairlp.allocate(instance(50, 50), "drfh").method == "interior-point"
    assert fairlp.allocate(instance(20, 20), "drfh").method == "lp"


def test_interior_points_take_the_options_of_their_solver():
    given = instance(20, 20)
    plain, limited = fairlp.allocate(given, "drfh", method="interior-point"), {"threads": 2, "time_limit": 60}
    np.testing.assert_allclose(
        fairlp.allocate(given, "drfh", method="interior-point", **limited).levels, plain.levels, rtol=1e-9
    )
    with pytest.raises(fairlp.errors.FairlpError, match="time limit"):
        fairlp.allocate(given, "drfh", method="interior-point", time_limit=1e-9)
