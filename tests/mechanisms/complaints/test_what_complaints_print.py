"""What fair allocations, checks and certificates say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import complaints, examples
from fairlp.errors import InstanceError


def test_a_check_and_a_certificate_say_the_figures():
    instance = examples.load("dolev-section-3")
    allocation = fairlp.allocate(instance, "njc")
    verdict = complaints.check(instance, allocation)
    assert repr(verdict) == f"<ComplaintCheck: {verdict}>"
    text = str(allocation.certificate)
    assert "bottlenecks " in text and "overuse " in text and "optimality " in text
    drf = complaints.against_drf(instance)
    assert all(str(user) in str(drf) for user in instance.users) and str(drf).endswith(
        f"DRF: {drf.complaints}"
    )


def test_a_certificate_without_prices_has_no_figures_for_them():
    allocation = fairlp.allocate(examples.load("dolev-section-3"), "njc", method="milp")
    assert "—" in str(allocation.certificate)


@pytest.mark.parametrize("fractions", [[0.5, 0.5], [[1.5]], [[-0.1]], [[np.nan]]])
def test_requests_are_fractions_in_a_table(fractions):
    with pytest.raises(InstanceError, match="requests must be a table of fractions"):
        examples.requests(fractions, [1.0])
