"""Features that Slurm jobs ask of nodes."""

from __future__ import annotations

import pytest

from fairlp.operations.clusters.cluster import EntryError
from fairlp.operations.clusters.slurm_nodes import feature_terms


@pytest.mark.parametrize(
    ("text", "features", "holds"),
    [
        ("a", "a", True),
        ("a&b", "a", False),
        ("a|b", "b", True),
        ("a&b|c", "c", True),
        ("a&(b|c)", "c", False),
        ("(a|b)&(c|d)", "bd", True),
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
        "&".join(f"(a{k}|b{k})" for k in range(30)),
    ],
)
def test_wrong_constraints(text):
    with pytest.raises(EntryError, match="constraint"):
        feature_terms(text)
    assert feature_terms("") is None


def test_parentheses_are_bounded():
    assert feature_terms("((a))") == {frozenset({"a"})}
    with pytest.raises(EntryError, match="has more than 100 parentheses"):
        feature_terms("(" * 5000 + "a" + ")" * 5000)
