"""Who arrives when: order, horizon, and what each step may give out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from arrival_cases import arrivals, instance_of
from fairlp import examples

MECHANISMS = ["dynamic-drf", "cautious-lp"]


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ((), "abc"),
        ((1, 1, 1), "abc"),
        ((3, 2, 1), "cba"),
        ((5.5, -1, 5.5), "bac"),
        (tuple(pd.to_datetime(["2024-03-01", "2024-01-01", "2024-02-01"])), "bca"),
        ((10**30, 5, 2.5), "cba"),
        ((True, False, False), "bca"),
    ],
)
def test_order_of_arrival(moments, expected):
    for mechanism in MECHANISMS:
        assert "".join(fairlp.allocate(arrivals(*moments), mechanism).steps.columns) == expected


@pytest.mark.parametrize(
    ("moments", "message"),
    [
        ((1, None, 3), "user 'b' has no arrival that is a number"),
        ((1, 2, float("nan")), "user 'c' has no arrival that is a number"),
        (("1", "2", "10"), "user 'a' has no arrival that is a number"),
    ],
)
def test_bad_arrivals(moments, message):
    attributes = pd.DataFrame({"arrival": list(moments)}, index=list("abc"), dtype=object)
    instance = arrivals().replace(user_attributes=attributes)
    with pytest.raises(fairlp.FairlpError, match=message):
        fairlp.allocate(instance, "dynamic-drf")


@pytest.mark.parametrize("horizon", [2, 0, -1, float("nan"), float("inf"), "many", True, [3]])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_horizons(horizon, mechanism):
    with pytest.raises(fairlp.FairlpError, match="horizon is"):
        fairlp.allocate(arrivals(), mechanism, horizon=horizon)


def test_a_horizon_equal_to_the_weights_but_for_rounding():
    instance = arrivals(weights=[0.1, 0.2, 0.3])
    result = fairlp.allocate(instance, "dynamic-drf", horizon=0.6)
    assert result.available.iloc[-1] == 1.0 and "of a horizon" not in repr(result)


@pytest.mark.parametrize("seed", range(20))
def test_the_horizon_only_scales_dynamic_drf(seed):
    instance = instance_of(seed)
    whole = float(instance.user_weights.sum())
    short_allocation, long_allocation = (
        fairlp.allocate(instance, "dynamic-drf", horizon=h) for h in (whole, 4 * whole)
    )
    np.testing.assert_allclose(short_allocation.levels, 4 * long_allocation.levels, rtol=1e-12)
    assert (short_allocation.first_array == long_allocation.first_array).all()
    np.testing.assert_allclose(long_allocation.available.iloc[-1], 0.25)


def test_the_horizon_does_more_to_the_cautious_lp():
    short_allocation, long_allocation = (
        fairlp.allocate(examples.epsilon(), "cautious-lp", horizon=h) for h in (4, 8)
    )
    assert not np.allclose(short_allocation.levels, 2 * long_allocation.levels)
    assert (
        long_allocation.step_residual == 0
        and long_allocation.properties().query("property == 'SI'")["holds"].all()
    )
