"""Certificates by pairs: levels at task limits that are just out of reach, and allocations that somebody changed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairlp
from pair_instances import connected


def pairs(demands, capacities, **more):
    return fairlp.SparseInstance.of(fairlp.Instance.from_arrays(demands, capacities, **more))


@pytest.fixture(scope="module")
def found():
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
    assert less.gap == pytest.approx(0.4) and less.certify().difference == pytest.approx(0.4)
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


def changed(found, name, values):
    """The same allocation with another array, of its own or of its first round."""
    if hasattr(found, name):
        return dataclasses.replace(found, **{name: values})
    first, *later = found.bounds
    if hasattr(first, name):
        return dataclasses.replace(found, bounds=(dataclasses.replace(first, **{name: values}), *later))
    rows = dataclasses.replace(first.rows, **{name: values})
    return dataclasses.replace(found, bounds=(dataclasses.replace(first, rows=rows), *later))


ARRAYS = ["tasks_array", "entitled", "prices", "floor"]


@pytest.mark.parametrize("name", ARRAYS)
def test_nothing_is_proved_of_what_is_no_number(found, name):
    first = found.bounds[0]
    values = next(getattr(part, name) for part in (found, first, first.rows) if hasattr(part, name)).copy()
    values.flat[0] = np.nan
    assert not changed(found, name, values).certify()


def test_whoever_no_round_tells_of_is_found(found):
    assert found.certify()
    assert "nothing bounds the level of" in str(dataclasses.replace(found, bounds=()).certify())
    assert "nothing bounds the level of" in str(dataclasses.replace(found, bounds=found.bounds[1:]).certify())
    first = found.bounds[0]
    held = np.where(np.arange(len(first.users)) == 0, 0.0, first.rows.slope)
    assert "nothing bounds" in str(changed(found, "slope", held).certify())


def test_what_is_left_out_of_an_allocation_lowers_no_bound(found):
    """Pairs without tasks may be where others could run more."""
    half = found.tasks_array * 0.5
    some = half > half.max() * 0.1
    parts = {"tasks_array": half[some], "user": found.user[some], "server": found.server[some]}
    assert not dataclasses.replace(found, **parts, aim=0.4).certify()
    assert not dataclasses.replace(found, tasks_array=half, aim=0.4).certify()


def test_caps_entitlements_and_components_are_the_instances(found):
    first = found.bounds[0]
    half = dataclasses.replace(found, tasks_array=found.tasks_array * 0.5)
    assert not changed(half, "cap", np.full(len(first.users), found.levels.min() * 0.5)).certify()
    assert "entitles users to" in str(changed(half, "entitled", found.entitled * 0.5).certify())
    with pytest.raises(fairlp.errors.InstanceError, match="expected positions of 20 users and 20 servers"):
        changed(found, "user", found.user + 1)
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
    with pytest.raises(fairlp.errors.InstanceError, match="gamma and entitled of 2 users"):
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


def test_who_stops_by_prices_needs_no_words(found):
    assert "stop there" not in str(found.certify())
