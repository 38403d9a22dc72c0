"""What levels that are proved right say of others."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp.models.programs.proof import Proof


@pytest.mark.parametrize(
    ("level", "told", "verdict"),
    [
        (2.0, 0.0, "the leximin, proved"),
        (2.0 - 1e-10, 0.0, "the leximin, proved"),
        (2.0 - 1e-6, 0.0, "not the leximin: b has"),
        (2.0 - 1e-6, 1e-8, "not the leximin: b has"),
        (2.0 - 3e-9, 1e-8, "not proved: b has"),  # its program may be off by as much
        (2.0 + 1e-6, 1e-8, "not proved: b has"),  # nothing better is shown
    ],
)
def test_a_level_is_refused_only_beside_one_that_is_clearly_higher(level, told, verdict):
    right = np.array([1.0, 2.0])
    levels = np.array([1.0, level])
    errors = abs(levels - right) / right
    proof = Proof(True, "by hand").compared("the leximin", ["a", "b"], levels, right, errors, told)
    assert proof.message.startswith(verdict)
    assert proof.holds == verdict.endswith("proved") and proof.holds == (errors.max() <= 1e-9)
