"""Which demands give Table III of Khamse-Ashari et al., and which of them Table IV too; Fig. 6 hangs on the rest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import fairlp
from fairlp import examples

TABLE_3 = np.array(
    [[80, 340, 82.5, 55], [40, 170, 41.25, 41.25], [0, 0, 82.5, 27.5], [0, 0, 27.5, 27.5]]
)
TABLE_4_TSF = [205, 107.5, 58.33, 35.55]
#: bounds of what Table III leaves open: CPU of users 2 and 4, memory of user 3
MOST = {(1, 0): 2 / 15, (2, 1): 0.1, (3, 0): 0.2}


def with_demands(changes):
    base = examples.load("khamse-ashari-table-3")
    demands = base.demands.copy()
    for place, value in changes.items():
        demands[place] = value
    return base.derived(demands=demands)


@pytest.mark.parametrize("parts", list(product([0.02, 0.4, 1.0], repeat=3)))
def test_three_demands_are_open_within_bounds(parts):
    instance = with_demands(
        {
            place: largest * factor
            for (place, largest), factor in zip(MOST.items(), parts, strict=True)
        }
    )
    assert instance.gamma() == pytest.approx(TABLE_3, rel=1e-12)
    allocation = fairlp.allocate(instance, "psdsf-rdm")
    assert allocation.totals.to_numpy() == pytest.approx(
        [210, 105, 82.5, 27.5], rel=1e-9
    )  # Table IV, whatever they are
    # Fig. 6: of class D's CPUs user 4 uses five times its own demand, and while it is away user 2
    # 7.5 times its own
    d_class = (allocation.usage / (instance.capacities * instance.counts[:, None])).loc["D", "cpu"]
    assert d_class == pytest.approx(5 * instance.demands[3, 0], abs=1e-9)
    known_users = instance.select_users([0, 1, 2])
    used = (
        fairlp.allocate(known_users, "psdsf-rdm").usage
        / (known_users.capacities * known_users.counts[:, None])
    ).loc["D", "cpu"]
    assert used == pytest.approx(7.5 * instance.demands[1, 0], abs=1e-9)


def test_demands_of_nothing_give_another_fixed_point():
    """Table III stays, Table IV does not: whoever needs no CPU runs on what is left where the CPUs are all gone."""
    instance = with_demands(dict.fromkeys(MOST, 0.0))
    assert instance.gamma() == pytest.approx(TABLE_3, rel=1e-12)
    assert fairlp.allocate(instance, "psdsf-rdm").totals.to_numpy() == pytest.approx(
        [234, 117, 110, 39]
    )


@pytest.mark.parametrize("place", list(np.ndindex(4, 2)))
def test_nothing_else_is_open(place):
    """Any other demand is what it is, and the open ones end at their bounds: more by 1 % and Table III is another."""
    demand = MOST.get(place, examples.load("khamse-ashari-table-3").demands[place])
    assert with_demands({place: demand * 1.01}).gamma() != pytest.approx(TABLE_3, rel=1e-3)
    if place not in MOST:
        assert with_demands({place: demand * 0.99}).gamma() != pytest.approx(TABLE_3, rel=1e-3)


def test_table_4_closes_the_memory_of_user_3():
    """TSF's totals in Table IV come out at 0.1 alone, not below; CPU of users 2 and 4 stay open."""
    for memory in (0.0, 0.05, 0.09):
        totals = fairlp.allocate(with_demands({(2, 1): memory}), "tsf").totals
        assert abs(totals.to_numpy() / TABLE_4_TSF - 1).max() > 0.005
    for cpu_2, cpu_4 in product([0.0, 0.1, 2 / 15], [0.05, 0.1, 0.2]):
        totals = fairlp.allocate(with_demands({(1, 0): cpu_2, (3, 0): cpu_4}), "tsf").totals
        assert totals.to_numpy() == pytest.approx(TABLE_4_TSF, rel=5e-4)
