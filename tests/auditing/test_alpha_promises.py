"""Which properties α-fairness has, by α: counterexamples where it lacks them, audits and a proof where it has them."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.auditing.search import random_instance
from fairlp.mechanisms.table import TABLE
from fairlp.tolerances import SHRINKING_MARGIN
from profiles import many

#: (α, property) → demands, capacities of a small instance that breaks it, found by the search and simplified by it
BROKEN = {
    (0.5, "sharing incentive"): ([[1, 1], [1, 0]], [[4, 3]]),
    (0.5, "envy-free"): ([[1, 1], [1, 0]], [[4, 3]]),
    (0.5, "strategy-proof"): ([[0, 1], [1, 1]], [[1, 1]]),
    (0.5, "bottleneck"): ([[2, 1], [1, 1]], [[2, 1], [0, 1]]),
    (0.5, "global bottleneck"): ([[1, 2], [2, 2]], [[2, 0], [5, 7]]),
    (0.5, "population-monotonic"): ([[1, 0], [0, 1], [1, 1]], [[1, 1]]),
    (2, "sharing incentive"): ([[1, 1], [2, 3]], [[1, 0], [5, 8]]),
    (2, "strategy-proof"): ([[1, 0], [1, 1]], [[4, 3]]),
    (2, "bottleneck"): ([[2, 1], [0, 1]], [[2, 1], [0, 1]]),
    (2, "population-monotonic"): ([[1, 0], [0, 1], [1, 1]], [[1, 1]]),
}
#: (α, property, on one server only): what is proved in docs/results.md
KEPT = [
    *((alpha, "Pareto-optimal", False) for alpha in (0, 0.5, 2, 5)),
    *((alpha, "single-resource", False) for alpha in (0.5, 2)),
    *((alpha, "envy-free", False) for alpha in (1.5, 2, 5)),
    *((alpha, "sharing incentive", True) for alpha in (1.5, 5)),
]


def audited(instance, alpha, wanted):
    return fairlp.audit(instance, fairlp.allocate(instance, "alpha-fair", alpha=alpha), [wanted], tries=60).iloc[0]


@pytest.mark.parametrize(("alpha", "wanted"), list(BROKEN))
def test_what_is_broken_has_an_instance_that_shows_it(alpha, wanted):
    found = audited(fairlp.Instance.from_arrays(*BROKEN[alpha, wanted]), alpha, wanted)
    assert found.holds is False and found.margin < -SHRINKING_MARGIN


@pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")
@pytest.mark.parametrize(("alpha", "wanted", "one"), KEPT)
def test_what_is_proved_is_found_on_random_instances(alpha, wanted, one):
    rng = np.random.default_rng(11)
    for _ in range(many(12)):
        instance = random_instance(rng, TABLE["alpha-fair"], wanted, 4, 1 if one else 3, 3)
        if one and np.isfinite(instance.task_limits).any():
            continue
        assert audited(instance, alpha, wanted).holds is not False
