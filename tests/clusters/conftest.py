"""A page that the tests of a module read."""

from __future__ import annotations

import pytest

import fairlp_clusters
from report_cases import queued


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    instance, observed = queued()
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert fairlp_clusters.report(instance, path, observed=observed) == path
    return path.read_text(encoding="utf-8")
