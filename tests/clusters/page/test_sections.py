"""The sections of a page: trees of queues, first rows of large tables, and parts that are not understood."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_clusters

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


@pytest.mark.slow
def test_of_many_only_the_largest_are_shown(tmp_path):
    rng = np.random.default_rng(5)
    count = 900
    instance = fairlp.Instance.from_arrays(
        rng.integers(1, 9, (count, 2)).astype(float),
        [[64.0, 256.0], [96.0, 192.0]],
        counts=[3000, 2000],
        users=[f"user {k}" for k in range(count)],
        queue=[f"q{k % 700}" for k in range(count)],
    )
    observed = np.zeros((count, 2))
    observed[:, 0] = 2
    text = fairlp_clusters.report(instance, tmp_path / "many.html", observed=observed).read_text(
        encoding="utf-8"
    )
    assert len(text.encode()) < 5_000_000
    assert "The 200 first of 900 rows; 700 are left out (--json has all)." in text
