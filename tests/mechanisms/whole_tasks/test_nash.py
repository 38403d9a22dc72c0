"""Maximum Nash welfare in whole tasks against all whole-task allocations, and its proof."""

import math
import random

import numpy as np
import pytest

import fairlp
from fairlp.mechanisms.allocation import altered
from goods_oracle import allocations, best, nash, runs
from profiles import many


def random_goods(seed, n_servers=2):
    """Demands and capacities in small whole numbers; each user can run a task, each resource exists."""
    numbers = random.Random(seed)
    n_users = numbers.choice((2, 3))
    n_resources = numbers.choice((1, 2))
    servers = numbers.randint(1, n_servers)
    while True:
        demands = [[numbers.randint(0, 3) for _ in range(n_resources)] for _ in range(n_users)]
        capacities = [[numbers.randint(0, 6) for _ in range(n_resources)] for _ in range(servers)]
        if not all(map(any, demands)) or not all(map(any, zip(*capacities, strict=True))):
            continue
        if any(runs(needs, room) for needs in demands for room in capacities):
            return demands, capacities


def shared(demands, capacities, mechanism="mnw", **options):
    return fairlp.allocate(fairlp.Instance.from_arrays(demands, capacities), mechanism, **options)


def as_point(allocation):
    return tuple(tuple(int(x) for x in row) for row in allocation.tasks.to_numpy())


@pytest.mark.parametrize("seed", range(many(200)))
def test_the_product_is_the_largest_of_all_whole_allocations(seed):
    demands, capacities = random_goods(seed)
    allocation = shared(demands, capacities)
    largest = nash(best(allocations(demands, capacities), nash)[0])
    assert nash(as_point(allocation)) == largest
    assert allocation.certify().holds


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 400))
def test_the_product_is_the_largest_of_200_more_instances(seed):
    demands, capacities = random_goods(seed)
    allocation = shared(demands, capacities)
    assert nash(as_point(allocation)) == nash(best(allocations(demands, capacities), nash)[0])


def test_more_users_with_a_task_come_before_any_product():
    # two of three resources' units go to "all", or one to each of the others
    demands = [[1, 1], [1, 0], [0, 1]]
    allocation = shared(demands, [[1, 1]])
    assert allocation.totals.tolist() == [0, 1, 1]


def test_weights_are_exponents():
    instance = fairlp.Instance.from_arrays([[1], [1]], [[4]], weights=[3, 1])
    allocation = fairlp.allocate(instance, "mnw")
    products = {x: x**3 * (4 - x) for x in range(1, 4)}
    assert allocation.totals.iloc[0] == max(products, key=products.get) == 3


def test_a_task_limit_is_kept_and_rows_of_servers_add_up():
    instance = fairlp.Instance.from_arrays([[2], [1]], [[3]], counts=[2], task_limits=[np.inf, 1])
    allocation = fairlp.allocate(instance, "mnw")
    assert allocation.totals.tolist() == [2, 1]
    assert allocation.residual == 0
    assert allocation.certify().holds


def test_the_proof_refuses_a_smaller_product_and_fewer_users():
    instance = fairlp.Instance.from_arrays([[1], [1]], [[4]])
    allocation = fairlp.allocate(instance, "mnw")
    fewer = altered(allocation, tasks_array=np.array([[3.0], [1.0]])).certify()
    assert not fewer.holds and f"{math.log(3):.9g}" in fewer.message
    none = altered(allocation, tasks_array=np.array([[4.0], [0.0]])).certify()
    assert not none.holds and "1 users have a task, and 2 can" in none.message
    parts = altered(allocation, tasks_array=np.array([[2.5], [1.5]])).certify()
    assert not parts.holds and "no whole numbers" in parts.message


# Which properties hold: the smallest instances that break them. See docs/results.md.


@pytest.mark.parametrize(
    ("mechanism", "options"), [("mnw", {}), ("drf-discrete", {}), ("drfh", {"whole": True})]
)
def test_one_resource_of_four_breaks_ef1_efx_and_the_maximin_share(mechanism, options):
    # the only optimum is a task each, and the small user could run 2 with less than 3 units
    allocation = shared([[1], [3]], [[4]], mechanism, **options)
    assert allocation.totals.tolist() == [1, 1]
    names = ["EF1", "EFX", "maximin share"]
    findings = fairlp.audit(allocation.instance, allocation, names)
    assert findings.holds.tolist() == [False, False, False]


def test_the_largest_product_can_break_envy_freeness_up_to_one_task_of_the_other():
    demands, capacities = [[3], [4]], [[23]]
    points = best(allocations(demands, capacities), nash)
    assert points == [((5,), (2,))]
    allocation = shared(demands, capacities)
    finding = fairlp.audit(
        allocation.instance, allocation, ["envy-free up to one task of the other"]
    ).iloc[0]
    assert finding.holds is False
    leximin = shared(demands, capacities, "drf-milp")
    assert leximin.totals.tolist() == [3, 3]


@pytest.mark.parametrize("mechanism", ["mnw", "drf-milp", "drf-discrete"])
@pytest.mark.parametrize("seed", range(many(40)))
def test_ef1_holds_where_a_task_needs_at_most_one_unit(mechanism, seed):
    numbers = np.random.default_rng(seed)
    demands = numbers.integers(0, 2, (3, 2))
    demands[~demands.any(axis=1), 0] = 1
    allocation = shared(demands, [numbers.integers(1, 7, 2)], mechanism)
    assert fairlp.audit(allocation.instance, allocation, ["EF1"]).holds.iloc[0] is not False


@pytest.mark.parametrize("seed", range(many(200)))
def test_sequential_minmax_gives_the_maximin_share(seed):
    numbers = np.random.default_rng(seed)
    demands = numbers.integers(0, 5, (int(numbers.integers(2, 5)), 2))
    demands[~demands.any(axis=1), 0] = 1
    capacities = numbers.integers(4, 30, (1, 2))
    totals = shared(demands, capacities, "sequential-minmax").totals.to_numpy()
    for needs, tasks in zip(demands.tolist(), totals, strict=True):
        assert tasks >= runs(needs, capacities[0].tolist()) // len(demands)
