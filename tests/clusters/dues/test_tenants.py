"""What tenants are owed: shares by hand, and on random instances by a search over whole tasks."""

from __future__ import annotations

import numpy as np
import pytest

from fairlp import Instance
from fairlp_clusters.dues.tenants import Tenants, TenantShares, to_whole
from profiles import many


def shares_of(demands, capacity, tenant_of, tasks, fair, waiting):
    instance = Instance.from_arrays(demands, [capacity])
    names = [f"tenant{t}" for t in range(max(tenant_of) + 1)]
    arrays = (np.array(numbers, dtype=float) for numbers in (tasks, fair, waiting))
    return TenantShares(instance, Tenants(names, np.array(tenant_of)), *arrays)


def test_a_tenant_of_one_user_is_owed_what_waits_of_what_it_lacks():
    """10 cores: a has 7 of a fair 5; b has 1 of 3, and 9 wait; c has 1 of 3, and 1 waits."""
    shares = shares_of([[1]] * 3, [10], [0, 1, 2], [7, 1, 1], [5, 3, 3], [0, 9, 1])
    assert shares.share.tolist() == pytest.approx([0.7, 0.1, 0.1])
    assert shares.fair_share.tolist() == pytest.approx([0.5, 0.3, 0.3])
    assert shares.excess.tolist() == pytest.approx([2 / 7, 0, 0])
    assert shares.owed.tolist() == [0, 2, 1] and shares.owed_whole.tolist() == [0, 2, 1]
    assert shares.missing_share.tolist() == pytest.approx([0, 0.2, 0.1])
    assert shares.short.tolist() == [1, 2]


def test_users_of_a_tenant_are_owed_together_who_lacks_most_first():
    """Of 20 cores and 20 GiB a tenant has 4 cores and 2 GiB, and 14 cores are fair: 10 cores more.

    Its users lack 3 tasks of 2 cores and 4 of 1 core: the larger share first, 3 tasks of 2, then 4.
    Where 12 cores are fair, one has 3 tasks, and the other 2 for the 2 cores that are left.
    """
    common = [[[2, 0], [1, 1], [1, 1]], [20, 20], [0, 0, 1], [1, 2, 10]]
    roomy = shares_of(*common, [4, 6, 10], [3, 4, 0])
    assert roomy.fair_share.tolist() == pytest.approx([0.7, 0.5])
    assert roomy.owed.tolist() == [3, 4, 0] and roomy.short.tolist() == [0]
    tight = shares_of(*common, [4, 4, 10], [3, 4, 0])
    assert tight.fair_share.tolist() == pytest.approx([0.6, 0.5])
    assert tight.owed.tolist() == [3, 2, 0]


def test_who_shares_with_nobody_is_short_of_nothing():
    shares = shares_of([[1]], [10], [0], [1], [3], [9])
    assert shares.owed.tolist() == [2] and not shares.short.size


@pytest.mark.parametrize("seed", range(many(160)))
def test_what_is_owed_waits_and_brings_no_tenant_beyond_its_fair_share(seed):
    """Of no resource that an owed task needs; and who lacks more has no room for a whole task."""
    rng = np.random.default_rng([86, seed])
    users, resources = int(rng.integers(2, 7)), int(rng.integers(1, 3))
    demands = rng.integers(0, 4, (users, resources))
    demands[~demands.any(axis=1), 0] = 1
    capacity = rng.integers(20, 60, resources)
    tenant_of = rng.integers(0, 3, users)
    tasks, fair, waiting = (rng.integers(0, 8, users) for _ in range(3))
    shares = shares_of(demands, capacity, tenant_of.tolist(), tasks, fair, waiting)
    assert ((shares.owed >= 0) & (shares.owed <= waiting + 1e-9)).all()
    parts = demands / capacity
    for t in range(tenant_of.max() + 1):
        members = np.flatnonzero(tenant_of == t)
        has, due = ((numbers[members, None] * parts[members]).sum(0) for numbers in (tasks, fair))
        if not members.size:
            continue
        assert shares.share[t] == pytest.approx(has.max())
        assert shares.fair_share[t] == pytest.approx(due.max())
        owed = np.floor(shares.owed[members] + 1e-9)
        after = has + (owed[:, None] * parts[members]).sum(0)
        if shares.owed[members].any() and len(members) > 1:
            needed = (parts[members[owed > 0]] > 0).any(axis=0)
            assert after[needed].max(initial=0.0) <= due.max() + 1e-9
            for k, n in enumerate(members):
                if waiting[n] > owed[k] and has.max() <= due.max():
                    assert (after + parts[n])[parts[n] > 0].max() > due.max() - 1e-9
        elif len(members) == 1:
            n = members[0]
            assert shares.owed[n] == min(max(fair[n] - tasks[n], 0), waiting[n])


def test_users_of_tenants_and_their_sums():
    tenants = Tenants(["a", "b"], np.array([1, 0, 1]))
    assert tenants.sizes.tolist() == [1, 2] and not tenants.are_users
    assert [users.tolist() for users in tenants.users] == [[1], [0, 2]]
    assert tenants.sums(np.array([1.0, 2, 4])).tolist() == [2, 5]
    instance = Instance.from_arrays([[1], [1]], [[1]], users=["ann", "bob"])
    assert Tenants.each_user(instance).are_users
    assert to_whole(np.array([3 - 1e-12, 0.5]), np.ones(2)).tolist() == [3, 0.5]
