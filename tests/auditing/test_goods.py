"""Audits of whole goods against brute force: every unit taken away, every division of all units."""

import random

import numpy as np
import pytest

import fairlp
from goods_oracle import allocations, envies, maximin_share, runs
from profiles import many

NAMES = ["EF1", "EFX", "maximin share"]


def random_point(seed, largest=4):
    """Demands, capacities, and any whole tasks that fit."""
    numbers = random.Random(seed)
    n_users = numbers.choice((2, 3))
    n_resources = numbers.choice((1, 2))
    n_servers = 1 if n_users == 3 else numbers.choice((1, 2))
    while True:
        demands = [[numbers.randint(0, 2) for _ in range(n_resources)] for _ in range(n_users)]
        capacities = [
            [numbers.randint(1, largest) for _ in range(n_resources)] for _ in range(n_servers)
        ]
        if all(map(any, demands)):
            return demands, capacities, numbers.choice(list(allocations(demands, capacities)))


def audited(demands, capacities, point, names=NAMES, **options):
    instance = fairlp.Instance.from_arrays(demands, capacities, **options)
    return fairlp.audit(instance, np.array(point, dtype=float), names, whole_tasks=True)


@pytest.mark.parametrize("seed", range(many(200)))
def test_audits_say_what_brute_force_says(seed):
    demands, capacities, point = random_point(seed)
    findings = audited(demands, capacities, point)
    if any(map(any, point)):
        assert findings.holds["EF1"] is (not envies(demands, point, any_good=False))
        assert findings.holds["EFX"] is (not envies(demands, point, any_good=True))
    shares = [maximin_share(needs, capacities, len(demands)) for needs in demands]
    is_met = all(sum(tasks) >= share for tasks, share in zip(point, shares, strict=True))
    assert findings.holds["maximin share"] is is_met


@pytest.mark.parametrize("seed", range(many(80)))
def test_the_maximin_share_is_the_whole_part_of_an_equal_part_of_all_tasks(seed):
    demands, capacities, _ = random_point(seed)
    for needs in demands:
        alone = sum(runs(needs, capacity) for capacity in capacities)
        assert maximin_share(needs, capacities, len(demands)) == alone // len(demands)


def test_witnesses_name_who_envies_whom_after_which_removal_and_the_bundles():
    findings = audited([[1], [3]], [[4]], [[1], [1]])
    assert findings.witness["EF1"] == (
        "'user1' runs 1 tasks and would run 2 with the bundle of 'user2', whichever unit is taken "
        "away, such as a unit of 'resource1' on 'server1'"
    )
    assert findings.witness["maximin share"] == (
        "'user1' runs 1 tasks, and its maximin share is 2: all goods make bundles for its tasks: "
        "2 × (2 on 'server1')"
    )


def test_a_unit_that_the_other_does_not_need_breaks_efx_but_not_ef1():
    # without the second resource's unit, the bundle still runs a task of user1
    findings = audited([[1, 0], [1, 1]], [[1, 1]], [[0], [1]])
    assert findings.holds.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"weights": [1, 2]}, "weights differ"),
        ({"entitlements": [0.4, 0.6]}, "entitlements differ"),
        ({"counts": [2]}, "expanded"),
        ({"rates": [[1], [2]]}, "rates are given"),
    ],
)
def test_they_are_undefined_where_goods_or_users_do_not_compare(options, reason):
    findings = audited([[1], [1]], [[4]], [[1], [1]], **options)
    assert findings.holds.isna().all()
    assert findings.witness.str.contains(reason).all()
