"""The examples are the papers' numbers, and what their arguments change."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import examples
from fairlp.errors import InstanceError

#: Users, servers, and sums of demands, capacities, weights, task limits (−1 for none), pairs of users and
#: servers, entitlements and positions of queues, each number times its place from 1 on.
NUMBERS = """
ghodsi: 2 1 22 45 3 -3 3 0 0
ghodsi-59-19: 2 1 22 97 3 -3 3 0 0
cycles: 3 1 40 35 6 -6 6 0 0
parkes-zero-demands: 3 1 18 6 6 -6 6 0 0
epsilon: 4 1 48.03 6 10 -10 10 0 0
m-squared-plus-one: 10 1 154.311 6 55 -55 55 0 0
wang-figure-1: 2 2 6 70 3 -3 10 0 0
wang-figure-4: 3 100 5 30.75 6 -6 120 0 0
google-cluster: 100 12583 1190.576 104.33 5050 -5050 500500 0 0
khamse-ashari-figure-1: 3 2 78 441 9 -6 15 0 0
khamse-ashari-section-3a: 4 2 134.5 441 10 -10 36 0 0
khamse-ashari-figure-4: 2 3 3 6 3 -3 21 0 0
khamse-ashari-table-3: 4 120 6.8 20 13 -10 90 0 0
two-servers: 2 2 15 250 3 -3 10 0 0
dolev-figure-2: 3 1 12 3 6 6 6 2 0
dolev-section-3: 3 1 29.625 6 6 6 6 1.625 0
dolev-section-4: 2 1 22.5 10 3 3 3 1.5 0
dolev-section-5: 3 1 12 3 6 6 6 1.7 0
dolev-circle: 4 1 102 10 10 10 10 2.5 0
bhattacharya-starvation: 3 1 11 180 6 -6 6 0 5
bhattacharya-blocked: 5 1 27 180 15 -15 15 0 7
"""


@pytest.mark.parametrize("row", NUMBERS.strip().splitlines())
def test_an_example_keeps_its_numbers(row):
    name, _, expected = row.partition(": ")
    instance = examples.load(name)
    arrays = (
        instance.demands,
        instance.capacities,
        instance.weights,
        np.where(np.isfinite(instance.task_limits), instance.task_limits, -1.0),
        instance.eligible,
        [] if instance.entitlements is None else instance.entitlements,
        instance.tree.of,
    )
    sums = [np.ravel(array) @ np.arange(1, np.size(array) + 1) for array in arrays]
    numbers = [len(instance.users), instance.counts.sum(), *sums]
    assert [float(number) for number in numbers] == pytest.approx(
        [float(number) for number in expected.split()], rel=1e-7
    )


def test_servers_of_google_one_by_one_are_the_same_pool():
    together = examples.google_cluster(users=7, seed=3)
    one_by_one = examples.google_cluster(users=7, seed=3, one_by_one=True)
    assert one_by_one.shape == (7, 12583) and (one_by_one.counts == 1).all()
    np.testing.assert_allclose(one_by_one.pool, together.pool)
    assert (one_by_one.demands == together.demands).all()
    assert list(one_by_one.servers)[6731:6733] == ["google1-6732", "google2-1"]
    assert together.demands.min() >= 0.01 and together.demands.max() <= 0.1


def test_the_draws_of_figure_4_are_near_the_pool_of_the_paper():
    instance = examples.wang_figure_4(seed=1)
    assert instance.counts.sum() == 100 and (instance.counts > 0).all()
    assert instance.pool == pytest.approx([52.75, 51.32], rel=0.01)
    assert instance.user_attributes["arrival"].tolist() == [0, 200, 500]


@pytest.mark.parametrize("resources", [1, 2, 4])
def test_families_of_li_have_as_many_resources_as_are_asked_for(resources):
    small_pool = examples.epsilon(resources, small=0.5)
    assert small_pool.shape == (resources + 1, 1)
    assert small_pool.demands[:-1].sum() == resources + 0.5 * resources * (resources - 1)
    assert (small_pool.demands[-1] == 1).all()
    large_pool = examples.m_squared_plus_one(resources, small=0.5)
    assert large_pool.shape == (resources**2 + 1, 1)
    assert large_pool.demands.argmax(axis=1).tolist() == [
        k % resources for k in range(resources**2 + 1)
    ]
    assert large_pool.user_attributes["arrival"].tolist() == list(range(1, resources**2 + 2))


@pytest.mark.parametrize("fractions", [[[1.5]], [[-0.1]], [0.5], [[[1]]]])
def test_requests_are_fractions_of_capacity(fractions):
    with pytest.raises(InstanceError, match=r"a table of fractions of capacity in \[0, 1\]"):
        examples.requests(fractions, [1])


def test_requests_of_nothing_and_of_everything_are_requests():
    instance = examples.requests([[0, 1], [1, 0.5]], [0.5, 0.5], name="both")
    assert instance.task_limits.tolist() == [1, 1] and instance.name == "both"
    assert instance.capacities.tolist() == [[1, 1]]
