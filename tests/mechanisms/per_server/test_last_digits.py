"""What rounding leaves of a fixed point: sweeps that move nothing that matters, and capacities kept exactly."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from exact_use import largest_use
from fairlp import Instance
from fairlp.errors import NotConvergedError
from fairlp.mechanisms.per_server import rows
from fairlp.tolerances import SETTLED

#: A server of 100,000 beside single ones: the last digits of what runs there move for ever.
LARGE_AND_SMALL = Instance.from_arrays(
    [[0.58, 0.85, 0.86], [0.17, 0.26, 0.26], [0.59, 0.23, 0.53]],
    [
        [3.26, 3.99, 4.65],
        [1.15, 2.14, 1.6],
        [2.0, 3.97, 1.92],
        [3.48, 4.56, 4.08],
        [1.15, 2.14, 1.6],
    ],
    counts=[1, 100_000, 10, 1, 1],
    weights=[1.61, 2.35, 1.49],
    eligible=[
        [True, True, False, True, True],
        [True, True, False, True, False],
        [True, True, True, False, False],
    ],
)


#: Three users whose tasks move from server to server less and less from sweep to sweep.
SLOW = Instance.from_arrays(
    [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], [[9.0, 7.0], [4.0, 8.0], [5.0, 5.0]], weights=[1, 2, 3]
)


def test_sweeps_that_move_the_last_digits_only_have_ended(monkeypatch):
    changes = fairlp.allocate(SLOW, "psdsf-tdm", method="sweeps").rounds["change"]
    nearly = int((changes < 1e-10).idxmax())
    assert changes[nearly] > SETTLED
    allocation = fairlp.allocate(SLOW, "psdsf-tdm", method="sweeps", most_sweeps=nearly)
    assert allocation.certificate.holds and allocation.certify()
    monkeypatch.setattr(rows, "AGREEMENT", 0.0)
    with pytest.raises(NotConvergedError, match=r"has not settled after \d+ sweeps"):
        fairlp.allocate(SLOW, "psdsf-tdm", method="sweeps", most_sweeps=nearly)


def test_a_response_that_moves_less_than_its_total_rounds_has_settled():
    allocation = fairlp.allocate(LARGE_AND_SMALL, "psdsf-rdm")
    assert allocation.certificate.holds and allocation.certify()
    assert allocation.rounds["change"].iloc[-1] <= SETTLED and len(allocation.rounds) < 100


@pytest.mark.parametrize("mechanism", ["psdsf-rdm", "psdsf-tdm"])
@pytest.mark.parametrize("users", [1, 2])
def test_few_users_on_many_servers_settle_at_once(mechanism, users):
    rng = np.random.default_rng(0)
    demands = rng.lognormal(0, 1, (users, 3))
    instance = Instance.from_arrays(demands, rng.lognormal(3, 1, (1000, 3)))
    allocation = fairlp.allocate(instance, mechanism, method="best-response")
    assert len(allocation.rounds) <= 5
    if users == 1:  # alone everywhere
        assert allocation.totals.iloc[0] == pytest.approx(instance.gamma().sum(), rel=1e-12)


@pytest.mark.parametrize("mechanism", ["psdsf-rdm", "psdsf-tdm"])
def test_no_capacity_is_used_more_than_wholly(mechanism):
    allocation = fairlp.allocate(LARGE_AND_SMALL, mechanism)
    assert largest_use(LARGE_AND_SMALL, allocation.tasks_array) <= 1 + 2.0**-50
