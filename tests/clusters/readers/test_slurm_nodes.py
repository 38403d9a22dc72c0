"""Features that Slurm jobs ask of nodes."""

from __future__ import annotations

import pytest

from fairlp_clusters.readers.cluster import EntryError
from fairlp_clusters.readers.slurm_nodes import feature_terms, node_amounts, node_use


@pytest.mark.parametrize(
    ("text", "features", "holds"),
    [
        ("a", "a", True),
        ("a&b", "a", False),
        ("a|b", "b", True),
        ("a&b|c", "c", True),
        ("a&b | a&c", "ac", True),
    ],
)
def test_constraints(text, features, holds):
    assert any(term <= set(features) for term in feature_terms(text)) == holds


@pytest.mark.parametrize(
    "text",
    [
        "a&",
        "&a",
        "(a",
        "a)",
        "a b",
        "[a|b]",
        "a*2",
        "!a",
        "a&(b|c)",
    ],
)
def test_wrong_constraints(text):
    with pytest.raises(EntryError, match="constraint"):
        feature_terms(text)
    assert feature_terms("") is None


def test_a_node_has_what_jobs_may_use_of_it():
    entry = {"cpus": 32, "effective_cpus": 30, "real_memory": 1000, "specialized_memory": 200}
    assert node_amounts(entry | {"gres": "gpu:2"}) == {"cpu": 30, "memory": 800, "gpu": 2}
    assert node_amounts({"cpus": 32, "real_memory": 1000}) == {"cpu": 32, "memory": 1000}
    assert node_amounts(entry | {"specialized_memory": 1200})["memory"] == 0
    for broken in ({"cpus": 32}, {"real_memory": 9}, {"cpus": -1, "real_memory": 9}):
        with pytest.raises(EntryError, match="no cpus and real_memory"):
            node_amounts(broken)


def test_what_a_node_says_is_allocated_is_in_use():
    entry = {"tres_used": "cpu=3,mem=2G,gres/gpu=1", "alloc_cpus": 4}
    assert node_use(entry) == {"cpu": 4, "memory": 2048, "gpu": 1}
    assert node_use(entry | {"alloc_memory": 512})["memory"] == 512
    assert node_use({}) == {}
