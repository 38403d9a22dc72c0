"""The registry of entries: parameters that are checked, and declarations that are refused."""

from __future__ import annotations

import pytest

import fairlp
from fairlp.research.library.registry import REGISTRY, Benchmark, generator

library = fairlp.library


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("ties", {"users": 3}, "'ties' has no parameter 'users'"),
        ("zeros", {"users": 0}, "users is 0; expected a whole number of at least 1"),
        ("zeros", {"users": 2.5}, "users is 2.5; expected a whole number"),
        ("zeros", {"users": True}, "users is True; expected a whole number"),
        ("alpha-fair", {"alpha": 0}, "alpha is 0; expected a finite number above 0"),
        ("alpha-fair", {"alpha": float("inf")}, "alpha is inf; expected a finite"),
        ("alpha-fair", {"alpha": "2"}, "alpha is '2'; expected a finite"),
        (
            "njc-circle",
            {"users": 4, "width": 5},
            "width is 5; expected at most the number of users, 4",
        ),
        (
            "psdsf-time",
            {"users": 2, "servers": 3},
            "2 users; expected at least as many as servers, 3",
        ),
        (
            "alibaba-gpu",
            {},
            "does not ship: openb_node_list_all_node.csv, openb_pod_list_gpuspec33.csv",
        ),
        ("alibaba-gpu", {"data": "no-such"}, "no folder 'no-such'; expected the folder with openb"),
        ("pai-2020", {"data": "."}, "has no pai2020_machine_spec.csv"),
    ],
)
def test_wrong_parameters_are_told(name, parameters, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fairlp.FairlpError) as told:
        library.load(name, **parameters)
    assert words in str(told.value)


def test_a_generator_that_is_declared_wrongly_is_refused():
    def make(rng, *, users) -> Benchmark:
        raise AssertionError

    with pytest.raises(ValueError, match="there already"):
        generator("ties", "degenerate", "drfh", "why", users=(1, 1, 1))(make)
    with pytest.raises(ValueError, match="'new': expected users, each small, medium, large"):
        generator("new", "degenerate", "drfh", "why", users=(1,))(make)
    with pytest.raises(ValueError, match="'new': expected users, each small, medium, large"):
        generator("new", "degenerate", "drfh", "why", servers=(1, 1, 1))(make)
    assert "new" not in REGISTRY


def test_every_mechanism_named_is_one_of_ours():
    known = {row.mechanism for row in REGISTRY.values()}
    assert known <= set(fairlp.mechanisms().index)
