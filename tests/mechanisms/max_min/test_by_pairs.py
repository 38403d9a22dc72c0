"""Max-min mechanisms by pairs: the answer's tables, its certificate, and what it says when it is cut short."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import fairlp
from pair_instances import both, connected


@pytest.fixture(scope="module")
def found():
    return fairlp.allocate(connected(size=60, zeros=0.2), "c-drfh")


def test_the_tables_agree_with_each_other(found):
    instance = found.instance
    matrix = found.to_sparse()
    np.testing.assert_allclose(found.totals, np.asarray(matrix.sum(axis=1)))
    np.testing.assert_allclose(found.usage, matrix.T @ instance.demands)
    assert (found.tasks > 0).all()
    np.testing.assert_allclose(found.tasks.groupby("user", sort=False).sum()[found.totals.index], found.totals)
    np.testing.assert_allclose(found.levels * found.entitled, found.totals)
    assert (found.pool_utilization <= 1 + 1e-12).all() and found.residual <= 1e-12
    plain = json.loads(found.to_json())
    assert plain["gap"] == found.gap and len(plain["tasks"]) == len(found.tasks)
    assert found.to_csv().splitlines()[0] == "user,server,tasks"
    assert "smallest level is within" in str(found) and "matrix-free" in repr(found)


@pytest.mark.parametrize("mechanism", ["drfh", "c-drfh", "tsf", "asset", "cdrf"])
def test_every_normaliser(mechanism):
    dense, _ = both(11)
    dense = dense.replace(eligible=None) if mechanism == "cdrf" else dense
    expected = fairlp.allocate(dense, mechanism)
    answer = fairlp.allocate(fairlp.SparseInstance.of(dense), mechanism)
    np.testing.assert_allclose(answer.entitled, expected.entitled)
    np.testing.assert_allclose(answer.levels.min(), expected.levels.min(), rtol=1e-4)


def test_weights_per_resource():
    demands, capacities = [[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0], [5.0, 5.0]]
    dense = fairlp.Instance.from_arrays(demands, capacities, weights=[[1, 2], [2, 1]])
    answer = fairlp.allocate(fairlp.SparseInstance.of(dense), "drfh")
    np.testing.assert_allclose(answer.levels, fairlp.allocate(dense, "drfh").levels, rtol=1e-4)


def test_the_certificate_sees_what_is_wrong(found):
    assert found.certify() and "proved: the smallest level within" in str(found.certify())

    def but(**changes):
        return dataclasses.replace(found, **changes).certify()

    assert "not feasible" in str(but(tasks_array=found.tasks_array * 1.01))
    negative = found.tasks_array.copy()
    negative[0] = -1.0
    assert "not feasible" in str(but(tasks_array=negative))
    elsewhere = np.roll(found.server, 1)
    assert not but(server=elsewhere)
    less = found.tasks_array.copy()
    less[found.user == found.user[0]] *= 0.9
    assert not but(tasks_array=less)
    assert "more than the 1.0e-12" in str(but(aim=1e-12))
    first, *later = found.bounds
    other = dataclasses.replace(first, prices=np.ones_like(first.prices))
    assert "more than" in str(but(bounds=(other, *later)))  # other prices prove something else, and nothing wrong


@pytest.mark.parametrize("seed", [41, 58, 103, 133])
def test_whoever_is_not_in_a_round_takes_nothing_off_what_prices_are_worth(seed):
    _, pairs = both(seed)
    answer = fairlp.allocate(pairs, "c-drfh" if seed % 3 else "tsf")
    assert any(len(one.users) < len(answer.instance.users) for one in answer.bounds)
    assert answer.certify(), answer.certify()


def test_levels_above_what_prices_allow_are_found():
    """Whoever has all its tasks but for the aim leaves the rest to others: their level is then above the largest."""
    pairs = fairlp.SparseInstance.of(fairlp.Instance.from_arrays([[1], [1]], [[10]], task_limits=[2, 100]))
    right = fairlp.allocate(pairs, "drfh")
    assert right.totals.tolist() == pytest.approx([2, 8], rel=1e-4) and right.certify()
    more = dataclasses.replace(right, tasks_array=np.array([1.5, 8.5]), aim=0.5)
    assert not more.certify() and "a level is above what its prices allow" in str(more.certify())


def test_lying_floors_are_found(found):
    assert len(found.bounds) > 1
    first, second, *later = found.bounds
    rows = dataclasses.replace(second.rows, floor=second.rows.floor * 2)
    lying = dataclasses.replace(found, bounds=(first, dataclasses.replace(second, rows=rows), *later))
    assert "less than the floor that round 2 gave it" in str(lying.certify())


def test_one_round_shares_what_is_left_in_proportion(found):
    one = fairlp.allocate(found.instance, "c-drfh", rounds=1)
    assert one.unsettled and one.rounds["round"].max() == 1 and one.gap <= 1e-4
    assert not one.certify() and "could rise further" in str(one.certify()) and "in proportion" in one.notes[-1]
    assert one.residual <= 1e-12 and one.levels.min() == pytest.approx(found.levels.min(), rel=1e-4)
    assert one.levels.sum() > found.levels.min() * len(one.levels)


def test_without_time_the_gap_is_what_it_is(found):
    hasty = fairlp.allocate(found.instance, "c-drfh", time_limit=0)
    assert hasty.gap > 1e-4 and hasty.residual <= 1e-12 and not hasty.certify()
    exact = found.levels.min()
    assert hasty.levels.min() <= exact * (1 + 1e-4) <= hasty.rounds["bound"][0] * (1 + 1e-3)


def test_components_have_levels_of_their_own():
    demands, capacities = np.ones((6, 1)), np.array([[3.0], [4.0], [10.0]])
    pairs = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 2)]
    answer = fairlp.allocate(fairlp.SparseInstance.from_arrays(demands, capacities, pairs), "c-drfh", aim=1e-6)
    np.testing.assert_allclose(answer.totals, [1.5, 1.5, 4 / 3, 4 / 3, 4 / 3, 10.0], rtol=1e-6)
    assert len(answer.rounds) == 3 and (answer.rounds["round"] == 1).all() and answer.certify()


def test_nobody_can_run_anything():
    made = fairlp.SparseInstance.from_arrays([[1, 1], [1, 1]], [[1, 0], [0, 1]], [(0, 0), (1, 1)])
    answer = fairlp.allocate(made, "c-drfh")
    assert (answer.totals == 0).all() and answer.gap == 0 and answer.rounds.empty
    assert answer.certify() and "nobody can run" in str(answer.certify()) and len(answer.tasks) == 0


def test_everyone_has_all_tasks():
    made = fairlp.SparseInstance.from_arrays([[1], [1]], [[9]], [(0, 0), (1, 0)], task_limits=[2, 3])
    answer = fairlp.allocate(made, "drfh", aim=1e-6)
    np.testing.assert_allclose(answer.totals, [2, 3], rtol=1e-6)
    assert answer.gap <= 1e-6 and (answer.totals <= [2, 3]).all()
