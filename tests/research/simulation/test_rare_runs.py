"""A simulation that prints itself, demands in other units, and a mechanism that gives more than was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.errors import SolverError
from fairlp.research.simulation import allocators, simulate
from fairlp.research.simulation.generators import google_sample, synthetic


def load():
    return synthetic(20, 3, tasks=4, duration=60, hours=0.2, largest=0.1, seed=1)


def test_a_result_says_what_was_done():
    result = simulate(google_sample(3, seed=1), load(), "best-fit", until=3600)
    done, submitted = round(result.users["completed"].sum()), int(result.users["submitted"].sum())
    assert repr(result).startswith(f"<SimulationResult by best-fit: {done} of {submitted} tasks completed; mean")


def test_demands_in_other_units_are_the_same_simulation():
    cluster = google_sample(3, seed=1)
    other = cluster.replace(capacities=cluster.capacities * np.array([1.0, 2.0]))
    found = [
        simulate(servers, jobs, "drfh", until=3600).users["completed"]
        for servers, jobs in ((cluster, load()), (other, load().scaled(demands={"memory": 2.0})))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_a_mechanism_that_does_not_keep_limits_is_named():
    @fairlp.mechanism("too-much")
    def too_much(instance):
        return np.full((len(instance.users), instance.n_servers), 1e-6) + instance.task_limits[:, None] * 2

    with pytest.raises(SolverError, match=r"'too-much' gave request .* more than it asks for"):
        simulate(google_sample(1, seed=1), load(), "too-much", until=3600)


def test_few_answers_are_kept_and_the_rest_found_anew(monkeypatch):
    whole = simulate(google_sample(3, seed=1), load(), "drfh", until=1800).users
    monkeypatch.setattr(allocators, "MOST_KEPT", 2)
    assert simulate(google_sample(3, seed=1), load(), "drfh", until=1800).users.equals(whole)
