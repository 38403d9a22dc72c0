"""Terms of an objective: logarithms, and powers with their slopes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array

from fairlp.models.programs.program import LogTerms


def terms(alpha):
    """Three terms of weights 1, 2 and 3."""
    return LogTerms(
        "sum",
        np.array([1.0, 2.0, 3.0]),
        csr_array(np.eye(3)),
        np.zeros(3),
        np.array(alpha, dtype=float),
    )


def test_a_power_is_divided_by_its_exponent():
    # z^(1−α)/(1−α) at z = 4: 4, 2·√4 and −1/4; a logarithm where α is 1
    z = np.full(3, 4.0)
    assert terms([0, 0.5, 2]).value(z) == pytest.approx(4 + 2 * 4 - 3 / 4)
    assert terms([1, 1, 1]).value(z) == pytest.approx(6 * np.log(4))


def test_a_slope_is_a_power_of_alpha():
    assert terms([0, 0.5, 2]).slopes(np.full(3, 4.0)) == pytest.approx([1, 2 / 2, 3 / 16])


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]), min_size=3, max_size=3),
    st.floats(0.2, 5.0),
)
def test_slopes_are_those_of_the_value(alpha, z):
    power_terms, step = terms(alpha), 1e-6
    for k in range(3):
        low, high = (np.where(np.arange(3) == k, z + side * step, z) for side in (-1, 1))
        assert (power_terms.value(high) - power_terms.value(low)) / (2 * step) == pytest.approx(
            power_terms.slopes(np.full(3, z))[k], rel=1e-4
        )
