"""Methods of max-min fairness: one server without programs, which method `auto` takes, notes and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp.mechanisms.max_min import methods
from fairlp.mechanisms.max_min.methods import APART, displaced, features, pays, within_capacity
from fairlp.mechanisms.max_min.rounds import closed_form_applies
from fairlp.solvers.leximin.leximin import LeximinResult
from fairlp.tolerances import ROUNDING
from profiles import many


@settings(max_examples=many(50), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_closed_form_equals_rounds_where_it_applies(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 9, 2)
    instance = fairlp.Instance.from_arrays(
        rng.lognormal(0, 2, (n, m)), rng.lognormal(6, 2, (1, m)), weights=rng.lognormal(0, 1, n)
    )
    closed = fairlp.allocate(instance, "edrf", method="closed-form")
    rounds = fairlp.allocate(instance, "edrf", method="rounds")
    np.testing.assert_allclose(closed.totals, rounds.totals, rtol=1e-12)
    assert fairlp.allocate(instance, "edrf").method == "closed-form"


def test_many_users_are_quick_and_saturate_a_resource():
    rng = np.random.default_rng(0)
    demands = rng.uniform(0, 1, (100_000, 6)) * (rng.random((100_000, 6)) < 0.7)
    demands[:, 0] += 0.01
    limits = np.where(rng.random(100_000) < 0.5, rng.integers(0, 3, 100_000), np.inf)
    instance = fairlp.Instance.from_arrays(demands, [[1e5] * 6], task_limits=limits)
    allocation = fairlp.allocate(instance, "edrf")
    assert allocation.residual <= 1e-12
    assert allocation.utilization.max(axis=None) == pytest.approx(1)


def two(**options):
    return fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], **options)


def test_the_closed_form_is_for_positive_demands_without_limits_and_rates_on_one_server():
    assert closed_form_applies(two()) and closed_form_applies(two(weights=[1, 2], counts=[3]))
    assert not closed_form_applies(two(task_limits=[1, np.inf]))
    assert not closed_form_applies(two(rates=[[3.0], [2.0]]))
    assert not closed_form_applies(fairlp.Instance.from_arrays([[1, 4], [3, 0]], [[9, 18]]))
    assert not closed_form_applies(
        fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18], [9, 18]])
    )
    with pytest.raises(fairlp.FairlpError, match="all demands positive, no task limits"):
        fairlp.allocate(fairlp.examples.parkes_zero_demands(), "edrf", method="closed-form")


@pytest.mark.parametrize("method", ["rounds", "lp"])
def test_separate_servers_divide_a_limit(method):
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[4.0], [12.0]], task_limits=[4, np.inf])
    answer = fairlp.allocate(instance, "naive-drf", method=method)
    assert answer.tasks_array == pytest.approx(np.array([[1.0, 3.0], [3.0, 9.0]]))


@pytest.mark.parametrize("over", [1e-12, 1e-9, 0.5])
def test_a_server_over_its_capacity_is_scaled_down_and_no_other(over):
    instance = fairlp.Instance.from_arrays([[1, 1], [1, 2]], [[4, 6], [4, 6]])
    exact = np.array([[2.0, 2.0], [2.0, 2.0]])
    planted = exact * [1.0, 1 + over]
    scaled_tasks = within_capacity(instance, planted)
    assert (scaled_tasks.T @ instance.demands <= instance.capacities * (1 + 2.0**-50)).all()
    assert scaled_tasks[:, 0].tolist() == [2, 2] and scaled_tasks[:, 1] == pytest.approx(
        [2, 2], rel=1e-14
    )
    assert (within_capacity(instance, exact) == exact).all()
    case = fairlp.Instance.from_arrays(
        [[1, 0.1]], [[4, 6]]
    )  # of which the second resource is plenty
    assert within_capacity(case, np.array([[4 * (1 + over)]])) == pytest.approx(
        np.array([[4.0]]), rel=1e-15
    )


def planted(monkeypatch, instance, mechanism="drf", **changes):
    """An allocation by rounds that end like this."""
    honest, calls = methods.leximin, iter(range(100))

    def changed(*args, **options):
        result: LeximinResult = honest(*args, **options)
        k = next(calls)
        for name, values in changes.items():
            setattr(result, name, values[min(k, len(values) - 1)])
        return result

    monkeypatch.setattr(methods, "leximin", changed)
    return fairlp.allocate(instance, mechanism, method="lp")


@pytest.mark.parametrize(
    ("gaps", "expected"), [([3e-8, 1e-9], 3e-8), ([1e-9, 3e-8], 3e-8), ([1e-9, None], None)]
)
def test_the_gap_of_separate_servers_is_the_largest(monkeypatch, gaps, expected):
    instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18], [5, 7]])
    assert planted(monkeypatch, instance, "naive-drf", gap=gaps).gap == expected


def test_what_rounding_may_displace_is_most_beside_who_takes_least():
    """Half of a server each, of which the second user takes a millionth of the second resource."""
    instance = fairlp.Instance.from_arrays([[1.0, 1.0], [1.0, 1e-6]], [[2.0, 2.0]])
    tasks = np.ones((2, 1))
    assert displaced(instance, tasks) == pytest.approx(ROUNDING * 1e6, rel=1e-5, abs=0)
    assert displaced(instance, tasks * (1 + 1e-9)) == pytest.approx(
        1e-9 * 1e6, rel=1e-5, abs=0
    )  # has to make room
    assert displaced(instance, tasks, priced=True) == displaced(instance, tasks * 0) == 0
    assert displaced(instance, tasks * (1 + 1e-9), priced=True) == pytest.approx(
        1e-9 * 1e6, rel=1e-5, abs=0
    )


def test_tasks_below_0_by_a_solvers_tolerance_are_none():
    instance = fairlp.Instance.from_arrays([[1.0], [1.0]], [[1.0], [1.0]])
    result = LeximinResult(np.array([[0.0, 0.5], [1.0, -1e-10]]), np.array([0.5, 0.5]))
    tasks = methods.outcome(instance, result).tasks
    assert tasks.min() == 0 and (tasks.sum(axis=0) <= 1).all()


def sized(users, servers, resources=3, **options):
    rng = np.random.default_rng(users * servers)
    draws = rng.lognormal(size=(users, resources)), rng.lognormal(size=(servers, resources))
    return fairlp.Instance.from_arrays(*draws, **options)


@pytest.mark.parametrize(
    ("users", "servers", "resources", "expected"),
    [
        (50, 50, 3, True),
        (50, 29, 3, False),  # 4,350 entries
        (200, 12, 3, False),  # thin
        (200, 21, 3, True),  # thin, and 12,600 entries
        (30, 30, 20, True),  # thin, with many resources
        (10_000, 1, 3, False),  # one server
    ],
)
def test_by_size(users, servers, resources, expected):
    instance = sized(users, servers, resources)
    assert pays(instance) is expected
    assert features(instance)[:2] == (
        (0, 0) if servers == 1 else (users * servers * resources, min(users, servers))
    )


def test_what_is_merged_counts_once():
    instance = sized(12, 12)
    demands, capacities = np.tile(instance.demands, (6, 1)), np.tile(instance.capacities, (6, 1))
    assert features(fairlp.Instance.from_arrays(demands, capacities)) == (12 * 12 * 3, 12, 1.0)


def test_components_are_looked_at_one_by_one():
    blocks = np.arange(100)[:, None] * 10 // 100 == np.arange(100) * 10 // 100
    assert features(sized(100, 100, eligible=blocks)) == (300, 10, 1.0)
    assert not pays(sized(100, 100, eligible=blocks))


def test_weights_apart_take_a_larger_one():
    def of(users, factor):
        return sized(users, users, weights=np.where(np.arange(users) == 0, factor, 1.0))

    assert pays(of(60, APART)) and not pays(of(60, 2 * APART)) and pays(of(120, 2 * APART))


def test_auto_is_the_rule():
    assert fairlp.allocate(sized(50, 50), "drfh").method == "interior-point"
    assert fairlp.allocate(sized(20, 20), "drfh").method == "lp"


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("seed", range(many(64)))
def test_a_price_on_servers_alike_is_what_a_unit_adds_to_the_level_of_its_row(seed, merge):
    """Of each row, with the tasks that users could run alone held: the fullest resource limits its level."""
    rng = np.random.default_rng(seed)
    users, resources = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    demands = rng.integers(1, 6, (users, resources)).astype(float)
    kinds = rng.integers(3, 30, (2, resources)).astype(float)
    rows = [0, 0, 1]
    counts = rng.integers(1, 4, len(rows))
    weights = rng.integers(1, 4, users).astype(float)
    instance = fairlp.Instance.from_arrays(demands, kinds[rows], counts=counts, weights=weights)
    allocation = fairlp.allocate(instance, "naive-drf", method="lp", merge=merge)
    for row, kind in enumerate(rows):
        capacity = kinds[kind] * counts[row]
        alone = (capacity / demands).min(axis=1)
        use = (weights * alone) @ demands

        def level(room, use=use):
            return (room / use).min()

        prices = allocation.prices_array[row]
        step = 1e-3
        for r in range(resources):
            more = capacity + step * (np.arange(resources) == r)
            gain = (level(more) - level(capacity)) / step
            tied = np.isclose(capacity / use, level(capacity), rtol=1e-9).sum() > 1
            assert prices[r] == pytest.approx(gain, rel=1e-6, abs=1e-9) or tied
        # all resources a part larger: so is the level, however ties divide the prices
        assert prices @ capacity == pytest.approx(level(capacity), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["drfh", "h-drf"])
@pytest.mark.parametrize("seed", range(many(30)))
def test_of_guarantees_without_room_the_one_nearest_to_its_users_is_named(seed, mechanism):
    """What a department and one above it are guaranteed fits; the team below it is guaranteed more than there is."""
    rng = np.random.default_rng(seed)
    pool, lack = int(rng.integers(2, 12)), int(rng.integers(1, 9))
    instance = fairlp.Instance.from_arrays(
        [[1], [1]],
        [[pool]],
        resources=["cpu"],
        queue=["org/team", "other"],
        queues={
            "org": {"guarantee": {"cpu": 1}},
            "org/team": {"guarantee": {"cpu": pool + lack}},
            "other": {},
        },
    )
    message = (
        f"queue 'org/team' is guaranteed {pool + lack} 'cpu', and {lack} of 'cpu' have no place"
    )
    with pytest.raises(fairlp.errors.InstanceError, match=message):
        fairlp.allocate(instance, mechanism)


@pytest.mark.parametrize("seed", [*range(many(60)), 1288021011, 1930439889])
def test_separate_servers_have_the_tasks_and_prices_of_drf_on_each_alone(seed):
    """A row of several servers is one server of all that they have; rows that are merged share a price."""
    rng = np.random.default_rng(seed)
    users, servers = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    demands = rng.integers(1, 5, (users, 2))
    capacities = rng.integers(1, 20, (servers, 2))
    counts = rng.integers(1, 4, servers)
    weights = rng.integers(1, 4, users)
    instance = fairlp.Instance.from_arrays(demands, capacities, counts=counts, weights=weights)
    separate = fairlp.allocate(instance, "naive-drf", method="lp", merge=False)
    for i in range(servers):
        alone = fairlp.Instance.from_arrays(demands, [capacities[i] * counts[i]], weights=weights)
        drf = fairlp.allocate(alone, "drf", method="lp")
        assert separate.tasks_array[:, i] == pytest.approx(drf.totals.to_numpy(), rel=1e-7)
        assert separate.prices_array[i] == pytest.approx(drf.prices_array[0], rel=1e-7, abs=1e-12)
