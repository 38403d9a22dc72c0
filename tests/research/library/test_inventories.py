"""Entries from real clusters, whose traces lie beside the checkout or nowhere."""

from __future__ import annotations

import pytest

import fairlp_research
from paths import REAL_DATA

load = fairlp_research.library.load


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "folder"), [("alibaba-gpu", "alibaba-gpu-v2023"), ("pai-2020", "pai2020")]
)
def test_traces_are_read_where_they_are(name, folder):
    if not (REAL_DATA / folder).is_dir():
        pytest.skip("the traces are not beside the checkout")
    entry = load(name, users=12, data=REAL_DATA / folder)
    assert entry.optimum.is_exact and len(entry.instance.users) == 12
    assert entry.model().solve("interior-point").objective == pytest.approx(
        float(entry.optimum.value), rel=1e-9
    )
