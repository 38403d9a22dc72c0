"""Entries from real clusters, whose traces lie beside the checkout or nowhere."""

from __future__ import annotations

import pytest

import fairlp_research
from paths import REAL_DATA

load = fairlp_research.library.load


@pytest.mark.real_data
def test_traces_are_read_where_they_are():
    folder = "alibaba-gpu-v2023"
    if not (REAL_DATA / folder).is_dir():
        pytest.skip("the traces are not beside the checkout")
    entry = load("alibaba-gpu", users=12, data=REAL_DATA / folder)
    assert entry.optimum.is_exact and len(entry.instance.users) == 12
    assert entry.model().solve("interior-point").objective == pytest.approx(
        float(entry.optimum.value), rel=1e-9
    )
