"""What fair allocations, checks and certificates say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp import complaints, examples
from fairlp.errors import InstanceError


def test_the_list_of_fair_allocations_has_a_row_a_set():
    fair = complaints.solutions(examples.load("dolev-section-5"))
    table = fair.summary()
    assert len(table) == len(fair.sets) and table.index.name == "bottlenecks"
    assert table["dimension"].tolist() == [fair_set.dimension for fair_set in fair.sets]
    assert table["vertices"].tolist() == [len(fair_set.vertices) for fair_set in fair.sets]
    text = str(fair)
    assert f"in {len(fair)} of {fair.candidates} candidate sets" in text and all(
        name in text for name in table.index
    )
    kind = (
        "one fair allocation"
        if fair.is_unique
        else f"fair allocations of up to {fair.dimension} dimensions"
    )
    assert text.startswith(kind)


def test_one_fair_allocation_is_called_so():
    alone = examples.requests([[1.0, 0.5], [0.5, 1.0]], [0.5, 0.5])
    fair = complaints.solutions(alone)
    assert fair.is_unique and str(fair).startswith("one fair allocation in ")


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
    allocation = fairlp.allocate(examples.load("dolev-section-3"), "njc", method="candidates")
    assert "—" in str(allocation.certificate)


@pytest.mark.parametrize("fractions", [[0.5, 0.5], [[1.5]], [[-0.1]], [[np.nan]]])
def test_requests_are_fractions_in_a_table(fractions):
    with pytest.raises(InstanceError, match="requests must be a table of fractions"):
        examples.requests(fractions, [1.0])
