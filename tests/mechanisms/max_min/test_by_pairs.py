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
    matrix = found.matrix
    np.testing.assert_allclose(found.totals, np.asarray(matrix.sum(axis=1)))
    np.testing.assert_allclose(found.usage, matrix.T @ instance.demands)
    assert (found.tasks > 0).all()
    np.testing.assert_allclose(found.tasks.groupby("user", sort=False).sum()[found.totals.index], found.totals)
    np.testing.assert_allclose(found.levels * found.tasks_per_level, found.totals)
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
    np.testing.assert_allclose(answer.tasks_per_level, expected.tasks_per_level)
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


def pairs(demands, capacities, **more):
    return fairlp.SparseInstance.of(fairlp.Instance.from_arrays(demands, capacities, **more))


@pytest.fixture(scope="module")
def small():
    return fairlp.allocate(connected(size=20, zeros=0.2), "c-drfh")


def test_limits_just_out_of_reach_are_proved():
    """Whoever has all its tasks but for the aim may have all that there is: its level is not its limit then."""
    one = fairlp.allocate(pairs([[1]], [[10]], task_limits=[10.0005]), "drfh")
    assert one.certify(), one.certify()
    assert one.rounds["level"][0] <= one.rounds["bound"][0] * (1 + 1e-12)
    two = fairlp.allocate(pairs([[1], [1]], [[20]], task_limits=[10.0005, 10.01]), "drfh", aim=1e-3)
    assert two.certify(), two.certify()
    np.testing.assert_allclose(two.totals, [10, 10], rtol=1e-3)


def test_a_bound_is_not_below_the_optimum_where_a_limit_is_nearly_reached():
    demands = [[1, 0, 0], [1.5, 0, 2.4], [0, 0.26, 0], [0.66, 0.67, 1.76]]
    weights, limits = [1e-3, 100.0, 1e6, 1e-5], [0.286, 3.4, 3.5, 4.6e-11]
    made = pairs(demands, [[5.55, 0.92, 7.94]], weights=weights, task_limits=limits)
    answer = fairlp.allocate(made, "drfh", aim=0.1)
    exact = fairlp.allocate(answer.instance.dense(), "drfh").levels.min()
    first = answer.rounds.iloc[0]
    assert first["bound"] >= exact * (1 - 1e-12) > 0 and answer.certify(), answer.certify()


def test_what_somebody_lacks_of_all_its_tasks_is_part_of_the_gap():
    answer = fairlp.allocate(pairs([[1], [1]], [[9]], task_limits=[2, 3]), "drfh", aim=0.5)
    less = dataclasses.replace(answer, tasks_array=np.array([2.0, 1.8]))
    assert less.gap == pytest.approx(0.4) and less.certify().gap == pytest.approx(0.4)
    assert less.rounds["level"][0] == pytest.approx(2 / 9)


def test_rounds_that_get_stuck_at_a_limit_start_afresh():
    eligible = [[0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1], [0, 1, 0, 0]]
    problem = pairs(
        [[1, 0, 0], [0, 1, 1], [3, 1, 2], [1, 0, 1], [1, 1, 3]],
        [[8, 2, 2], [1, 7, 1], [7, 6, 5], [0, 8, 7]],
        eligible=np.array(eligible) == 1,
        task_limits=[4.712673913043479, 1.246358847226526, 0.37681680818097296, 2.2826086956521743, 0.3335],
    )
    answer = fairlp.allocate(problem, "asset", aim=1e-6)
    assert answer.certify(), answer.certify()
    np.testing.assert_allclose(answer.levels, fairlp.allocate(problem.dense(), "asset").levels, rtol=1e-6)


def test_dear_users_at_their_limits_leave_the_others_all_digits():
    """What the others cost must not be a difference of large sums."""
    answer = fairlp.allocate(pairs([[1], [1]], [[9]], weights=[1e16, 1], task_limits=[1e-3, np.inf]), "drfh")
    assert answer.certify(), answer.certify()


def changed(small, name, values):
    """The same allocation with another array, of its own or of its first round."""
    if name != "prices" and hasattr(small, name):
        return dataclasses.replace(small, **{name: values})
    first, *later = small.bounds
    if hasattr(first, name):
        return dataclasses.replace(small, bounds=(dataclasses.replace(first, **{name: values}), *later))
    rows = dataclasses.replace(first.rows, **{name: values})
    return dataclasses.replace(small, bounds=(dataclasses.replace(first, rows=rows), *later))


ARRAYS = ["tasks_array", "tasks_per_level", "prices", "floor"]


@pytest.mark.parametrize("name", ARRAYS)
def test_nothing_is_proved_of_what_is_no_number(small, name):
    first = small.bounds[0]
    values = next(getattr(part, name) for part in (first, first.rows, small) if hasattr(part, name)).copy()
    values.flat[0] = np.nan
    assert not changed(small, name, values).certify()


def test_whoever_no_round_tells_of_is_found(small):
    assert small.certify()
    assert "nothing bounds the level of" in str(dataclasses.replace(small, bounds=()).certify())
    assert "nothing bounds the level of" in str(dataclasses.replace(small, bounds=small.bounds[1:]).certify())
    first = small.bounds[0]
    held = np.where(np.arange(len(first.users)) == 0, 0.0, first.rows.slope)
    assert "nothing bounds" in str(changed(small, "slope", held).certify())


def test_what_is_left_out_of_an_allocation_lowers_no_bound(small):
    """Pairs without tasks may be where others could run more."""
    half = small.tasks_array * 0.5
    some = half > half.max() * 0.1
    parts = {"tasks_array": half[some], "user": small.user[some], "server": small.server[some]}
    assert not dataclasses.replace(small, **parts, aim=0.4).certify()
    assert not dataclasses.replace(small, tasks_array=half, aim=0.4).certify()


def test_caps_entitlements_and_components_are_the_instances(small):
    first = small.bounds[0]
    half = dataclasses.replace(small, tasks_array=small.tasks_array * 0.5)
    assert not changed(half, "cap", np.full(len(first.users), small.levels.min() * 0.5)).certify()
    assert "entitles users to" in str(changed(half, "tasks_per_level", small.tasks_per_level * 0.5).certify())
    with pytest.raises(fairlp.errors.InstanceError, match="expected positions of 20 users and 20 servers"):
        changed(small, "user", small.user + 1)
    two = fairlp.allocate(pairs([[1], [1]], [[2]]), "drfh")
    one = two.bounds[0]
    bound = dataclasses.replace(one, group=np.array([0, 1]), lower=np.ones(2), upper=np.ones(2))
    assert "share a server" in str(dataclasses.replace(two, bounds=(bound,)).certify())
    later = dataclasses.replace(one, stopped=np.zeros(2, dtype=bool))
    fixed = dataclasses.replace(one, rows=dataclasses.replace(one.rows, slope=np.array([1.0, 0.0])))
    assert "who had not stopped" in str(dataclasses.replace(two, bounds=(later, fixed)).certify())
    for name, values in (("prices", one.prices[:, :0]), ("group", one.group - 1), ("users", one.users + 1)):
        with pytest.raises(fairlp.errors.InstanceError, match="round 1 does not fit"):
            changed(two, name, values)
    with pytest.raises(fairlp.errors.InstanceError, match="gamma and tasks_per_level of 2 users"):
        changed(two, "gamma", two.gamma[:1])


def test_violations_are_relative_to_what_there_is():
    """A sliver of a task is much where tasks are large."""
    dense = {"eligible": np.array([[True, True], [True, False]]), "task_limits": [np.inf, 0]}
    answer = fairlp.allocate(pairs([[1e12, 0], [1, 1]], [[1, 0], [1, 1]], **dense), "drfh")
    assert answer.certify() and answer.residual <= 1e-12
    for user, server, tasks in ((0, 0, -5e-13), (1, 1, 1e-12), (1, 0, 1e-12)):
        parts = {"user": np.append(answer.user, user), "server": np.append(answer.server, server)}
        more = dataclasses.replace(answer, **parts, tasks_array=np.append(answer.tasks_array, tasks))
        assert more.residual >= 0.5 and "not feasible" in str(more.certify())


def test_whoever_can_run_nothing_needs_no_warning():
    answer = fairlp.allocate(
        fairlp.SparseInstance.from_arrays([[1, 1], [1, 0]], [[1, 0], [0, 1]], [(0, 0), (1, 0)], task_limits=[0, 5]),
        "c-drfh",
    )
    assert answer.totals.tolist() == pytest.approx([0, 1], rel=1e-4) and answer.certify()


def test_who_stops_without_a_price_is_not_proved():
    """A user whose part of all prices is lost in the gap: the smallest level is proved, not that it stops there."""
    weights = [1e-5, 1000.0, 1e-3]
    answer = fairlp.allocate(pairs([[0, 3], [2, 2], [2, 1]], [[3, 3]], weights=weights), "c-drfh", aim=1e-5)
    verdict = answer.certify()
    assert not verdict and "they stop there is not proved of 1 users" in str(verdict), verdict
    every = dataclasses.replace(answer.bounds[0], stopped=np.ones(3, dtype=bool))
    plain = dataclasses.replace(answer, bounds=(every,))
    assert not plain.certify() and "stop there" in str(plain.certify())


def test_who_stops_by_prices_needs_no_words(small):
    assert "stop there" not in str(small.certify())
