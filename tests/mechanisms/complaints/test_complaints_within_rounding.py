"""No justified complaints and proportional fairness where requests add up to what there is, within rounding."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.mechanisms.complaints.market import eisenberg_gale
from fairlp.tolerances import MARKET


@pytest.mark.parametrize("over", [1e-12, 1e-10, 1.1e-9, 1e-8])
def test_next_to_nothing_more_than_there_is_brings_somebody_below_its_limit(over):
    fractions = np.array([[0.5], [0.3], [0.2]]) * (1 + over)
    found = eisenberg_gale(fractions, np.ones(3), np.ones(3, dtype=bool))
    assert found.residual <= MARKET and found.x @ fractions == pytest.approx([1], rel=1e-13)
    assert found.x == pytest.approx([1, 1, 1], rel=3 * over) and found.x.min() < 1


def test_of_two_resources_the_one_that_is_asked_for_by_whoever_has_all_gets_its_price_too():
    fractions = np.array([[0, 1 + 1e-9], [1 + 1e-9, 0]])
    found = eisenberg_gale(fractions, np.array([2.0, 1.0]), np.ones(2, dtype=bool))
    assert found.residual <= MARKET and found.x == pytest.approx([1 / (1 + 1e-9)] * 2, rel=1e-13)


@pytest.mark.parametrize("mechanism", ["njc", "ceei"])
def test_such_an_answer_fits_and_is_certified(mechanism):
    limits = np.array([2.0, 2.0]) * (1 + 1.1e-9)
    found = fairlp.allocate(fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0]], task_limits=limits), mechanism)
    assert found.method == "eg" and found.residual <= 1e-15 and found.certify()
