"""Exponents that are fitted to seconds of known growth, and what is made of them."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp_research.papers.growth import Growth, judged, measured
from fairlp_research.papers.verdicts import Agreement


@pytest.mark.parametrize("power", [0, 0.5, 1, 2, 3])
def test_a_power_is_fitted(power):
    sizes = [10, 40, 160, 640]
    growth = Growth("users", sizes, [3 * size**power for size in sizes], power)
    assert growth.exponent == pytest.approx(power, abs=1e-9)
    assert growth.holds and not Growth("users", sizes, growth.seconds, power - 0.3).holds


def test_quadratic_work_is_no_linear_work():
    def work(size):
        return [0 for _ in range(size) for _ in range(size)]

    quadratic = measured("users", [64, 256, 1024], int, work, 1)
    assert not quadratic.holds and quadratic.exponent == pytest.approx(2, abs=0.4)
    answer = judged([quadratic])
    assert answer.verdict is Agreement.DIFFERS and "faster with users" in answer.ours
    assert measured("numbers", [2**12, 2**16], np.ones, np.sort, 2).holds


def test_the_words_of_an_answer_have_no_measured_number():
    answer = judged([Growth("users", [10, 100], [1.0, 10.5], 1)], "why")
    assert answer.verdict is Agreement.HOLDS and not any(map(str.isdigit, answer.ours))
    (number,) = answer.numbers
    assert number.ours == pytest.approx(1.0212, abs=1e-4) and number.paper == "1"
    assert answer.size == "users 10 to 100" and answer.count == 2
