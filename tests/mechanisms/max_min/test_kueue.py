"""``kueue``: the golden cases of its paper trail, a tournament by small steps, flavors, lending, and what is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from cohort_instances import instance_of, random_cohorts
from fairlp import Instance
from fairlp.mechanisms.allocation import altered
from fairlp.mechanisms.max_min.quota_proof import prove_quotas
from profiles import by_day, many


def three(a, weights=(1, 1, 2)):
    """Three queues with nominal 20, 10, 10 cores and 4 GiB for each; A wants so many tasks, B and C want 40."""
    queues = {
        name: {"weight": weight, "nominal": {"cpu": cores, "memory": 4 * cores}}
        for name, weight, cores in zip("ABC", weights, (20, 10, 10), strict=True)
    }
    return fairlp.Instance.from_arrays(
        [[1, 4]] * 3,
        [[40, 160]],
        users=["a", "b", "c"],
        resources=["cpu", "memory"],
        queue=["A", "B", "C"],
        task_limits=[a, 40, 40],
        queues=queues,
    )


@pytest.mark.parametrize(
    ("a", "fair"),
    [(0, [0, 50 / 3, 70 / 3]), (14, [14, 12, 14]), (20, [20, 10, 10]), (90, [20, 10, 10])],
)
def test_what_is_lent_goes_by_weight_above_nominal_quotas(a, fair):
    allocation = fairlp.allocate(three(a), "kueue")
    assert allocation.totals.tolist() == pytest.approx(fair, rel=1e-9)
    assert not allocation.notes


def two_queues(demands, capacity, nominals, queue):
    """Cores and memory on one node, users of two queues A and B."""
    return fairlp.Instance.from_arrays(
        demands,
        [capacity],
        resources=["cpu", "mem"],
        queue=list(queue),
        queues={name: {"nominal": quota} for name, quota in zip("AB", nominals, strict=True)},
    )


def test_a_quota_lacks_the_resource_that_is_used_up():
    """70 GiB stay free where B's quota takes cores: A lacks 10 of its 40 cores, and no memory."""
    demands, nominals = [[1, 0], [1, 1], [1, 1]], [{"cpu": 40, "mem": 20}, {"cpu": 40, "mem": 40}]
    notes = fairlp.allocate(two_queues(demands, [60, 100], nominals, "AAB"), "kueue").notes
    taken = "have nodes that other queues' nominal quotas take"
    assert notes == tuple(
        f"10 of 40 cpu in the nominal quota of queue {queue!r} {taken}" for queue in "AB"
    )


def with_strays(a, strays, *, queue=None, lent=0, cores=30):
    """One node; A has a nominal quota of 20 cores, B lends others; users outside the quotas beside them."""
    return fairlp.Instance.from_arrays(
        [[1]] * (1 + len(strays)),
        [[cores]],
        users=["a", *(f"stray{k}" for k in range(len(strays)))],
        resources=["cpu"],
        queue=["A", *[queue] * len(strays)],
        task_limits=[a, *strays],
        queues={"A": {"nominal": {"cpu": 20}}, "B": {"nominal": {"cpu": lent}}},
    )


@pytest.mark.parametrize("queue", by_day([None, "outside", "outside/deep"], 2))
@pytest.mark.parametrize(
    ("instance", "fair"),
    [
        ({"a": np.inf, "strays": [np.inf]}, [20, 10]),  # nominal quotas first, against them as well
        ({"a": 5, "strays": [np.inf]}, [5, 25]),  # they borrow what nobody uses
        ({"a": np.inf, "strays": [np.inf], "lent": 10}, [25, 5]),  # as A does, at one pace
        ({"a": np.inf, "strays": [1, np.inf], "lent": 10, "cores": 40}, [25, 1, 14]),
        ({"a": np.inf, "strays": [5], "cores": 50}, [20, 5]),  # A may not use what is theirs
    ],
)
def test_users_outside_the_quotas_have_first_what_no_quota_covers(instance, fair, queue):
    allocation = fairlp.allocate(with_strays(**instance, queue=queue), "kueue")
    assert allocation.totals.tolist() == pytest.approx(fair, rel=1e-7)
    assert not allocation.notes and allocation.certify()


def lends(nominal, lending=None):
    """A queue's quota of cores, and how much of it the queue lends."""
    quota = {"nominal": {"cpu": nominal}}
    return quota if lending is None else {**quota, "lending": {"cpu": lending}}


@pytest.mark.parametrize("queue", by_day([None, "outside", "outside/deep"], 2))
@pytest.mark.parametrize(
    ("cores", "limits", "queues", "fair"),
    [
        (20, [5, 1, np.inf], {"A": lends(20, 5), "B": lends(0)}, [5, 1, 4]),
        (30, [np.inf, 4, np.inf], {"A": lends(20, 0), "B": lends(5)}, [20.5, 4, 5.5]),
        (30, [np.inf, 4, np.inf], {"A": lends(20), "B": lends(5)}, [20.5, 4, 5.5]),
    ],
)
def test_users_outside_the_quotas_do_not_have_what_a_queue_keeps_for_itself(
    cores, limits, queues, fair, queue
):
    instance = fairlp.Instance.from_arrays(
        [[1]] * 3,
        [[cores]],
        resources=["cpu"],
        queue=["A", "B", queue],
        task_limits=limits,
        queues=queues,
    )
    allocation = fairlp.allocate(instance, "kueue")
    assert allocation.totals.tolist() == pytest.approx(fair, rel=1e-7)
    assert allocation.certify()
    assert fairlp.audit(instance, allocation, ["quotas kept", "Pareto-optimal"]).holds.all()


def test_what_no_quota_covers_counts_by_resource():
    """Quotas cover all cores, and 4 of 10 GiB: the other 6 are the stray's, who needs no cores."""
    instance = fairlp.Instance.from_arrays(
        [[0, 1]] * 2,
        [[10, 10]],
        resources=["cpu", "mem"],
        queue=["A", None],
        queues={"A": {"nominal": {"cpu": 10, "mem": 4}}},
    )
    allocation = fairlp.allocate(instance, "kueue")
    assert allocation.totals.tolist() == pytest.approx([4, 6], rel=1e-7)
    assert allocation.certify()


def test_what_a_queue_keeps_for_itself_is_refused_to_users_outside_the_quotas():
    """A lends 5 of 20 cores and uses 5, B has 0: of 15 that A keeps the stray may have none."""
    instance = fairlp.Instance.from_arrays(
        [[1]] * 3,
        [[20]],
        resources=["cpu"],
        queue=["A", "B", None],
        task_limits=[5, 1, np.inf],
        queues={"A": lends(20, 5), "B": lends(0)},
    )
    allocation = fairlp.allocate(instance, "kueue")
    too_much = allocation.tasks_array.copy()
    too_much[2] += 10
    wrong = altered(allocation, tasks_array=too_much)
    assert wrong.certify().message.startswith("infeasible")
    assert "over its quota" in prove_quotas(wrong).message
    finding = fairlp.audit(instance, wrong, ["quotas kept"]).iloc[0]
    assert finding.holds is False and "may use 5" in finding.witness


def test_what_quotas_cover_counts_by_flavor_for_users_outside():
    """Of six spot cores quotas cover all, of four others one: three are the stray's, and then it borrows."""
    instance = flavored((np.inf, np.inf))
    queues = {
        "A": {"nominal": {"cpu@pool == 'spot'": 6, "cpu@pool == 'plain'": 1}},
        "B": {"nominal": {"cpu@pool == 'spot'": 0, "cpu@pool == 'plain'": 0}},
    }
    stray = instance.replace(queue=["A", None], queues=queues)
    allocation = fairlp.allocate(stray, "kueue")
    assert allocation.tasks_array == pytest.approx(np.array([[6, 1], [0, 3]]), abs=1e-7)
    assert allocation.certify()


@pytest.mark.parametrize("seed", by_day(range(60, 72), 4))
def test_solvers_and_merging_agree_and_nobody_can_gain(seed):
    instance = instance_of(*random_cohorts(seed))
    table = fairlp.validate(instance, "kueue")
    assert table["agrees"].all() and table["residual"].max() < 1e-7
    allocation = fairlp.allocate(instance, "kueue")
    outcome = fairlp.allocate(instance, "kueue", solver="scipy")
    assert outcome.totals.tolist() == pytest.approx(allocation.totals.tolist(), rel=1e-7, abs=1e-7)
    assert (
        fairlp.audit(instance, allocation, ["feasible", "Pareto-optimal", "caps kept"])[
            "holds"
        ].tolist()[:2]
        == [True] * 2
    )
    assert allocation.certify()


def flavored(limits=(20, 20)):
    """Six spot and four other cores; A has a quota of both, B of spot only."""
    servers = pd.DataFrame({"pool": ["spot", "plain"]}, index=["s", "p"])
    queues = {
        "A": {"nominal": {"cpu@pool == 'spot'": 2, "cpu": 4}},
        "B": {"nominal": {"cpu@pool == 'spot'": 4}},
    }
    return fairlp.Instance.from_arrays(
        [[1], [1]],
        [[6], [4]],
        users=["a", "b"],
        servers=["s", "p"],
        resources=["cpu"],
        server_attributes=servers,
        queue=["A", "B"],
        queues=queues,
        task_limits=limits,
    )


@pytest.mark.parametrize(
    ("limits", "tasks"),
    [((20, 20), [[2, 4], [4, 0]]), ((20, 1), [[5, 4], [1, 0]]), ((3, 20), [[2, 1], [4, 0]])],
)
def test_quotas_count_by_flavor(limits, tasks):
    """B may not use the flavor that it does not list; A takes its own of both flavors before it borrows."""
    task_table = fairlp.allocate(flavored(limits), "kueue").tasks_array
    for user_tasks, expected in zip(task_table, tasks, strict=True):
        assert user_tasks.tolist() == pytest.approx(expected, abs=1e-7)
    assert task_table[0].sum() == pytest.approx(min(limits[0], 10 - task_table[1].sum()), abs=1e-7)


def test_a_flavor_of_ones_own_comes_before_one_to_borrow():
    allocation = fairlp.allocate(flavored((5, 0)), "kueue")
    assert allocation.tasks_array[0].tolist() == pytest.approx([2, 3], abs=1e-7)


def test_a_user_of_two_flavors_has_its_limit_once():
    allocation = fairlp.allocate(flavored((3, 0)), "kueue")
    assert allocation.totals.tolist() == pytest.approx([3, 0], abs=1e-8)


def test_queues_within_a_queue_share_its_quota():
    queues = {"q": {"nominal": {"cpu": 6}}, "q/one": {"weight": 2}, "r": {"nominal": {"cpu": 2}}}
    instance = fairlp.Instance.from_arrays(
        [[1], [1], [1]], [[8]], resources=["cpu"], queue=["q/one", "q/two", "r"], queues=queues
    )
    assert fairlp.allocate(instance, "kueue").totals.tolist() == pytest.approx([4, 2, 2], rel=1e-8)


def test_a_queue_whose_weight_stands_for_0_borrows_last():
    queues = {
        "A": {"nominal": {"cpu": 6}},
        "B": {"weight": 0.001, "nominal": {"cpu": 1}},
        "C": {"nominal": {"cpu": 1}},
    }
    for limit, expected in ((9, [1, 7]), (3, [5, 3])):
        instance = fairlp.Instance.from_arrays(
            [[1], [1]],
            [[8]],
            resources=["cpu"],
            queue=["B", "C"],
            queues=queues,
            task_limits=[9, limit],
        )
        assert fairlp.allocate(instance, "kueue").totals.tolist() == pytest.approx(
            expected, rel=1e-8
        )


@pytest.mark.parametrize("name", ["out.json", "out.yaml"])
def test_quotas_are_written_and_read(tmp_path, name):
    for instance in (three(14), flavored(), instance_of(*random_cohorts(5))):
        instance.write(tmp_path / name)
        assert fairlp.read(tmp_path / name).equals(instance)
        assert instance.replace(weights=instance.weights).equals(instance)
    assert not three(14).replace(queues={"A": {"nominal": {"cpu": 20}}}).equals(three(14))


def in_both_orders(order, demands, servers, resources, queue, queues):
    """The tasks that users have, in their order and in another one; both are proved."""
    totals = []
    for which in (list(range(len(order))), list(order)):
        instance = Instance.from_arrays(
            np.asarray(demands)[which],
            servers,
            users=[f"u{k}" for k in which],
            resources=resources,
            queue=[queue[k] for k in which],
            queues=queues,
        )
        allocation = fairlp.allocate(instance, "kueue")
        proof = allocation.certify()
        assert proof.holds, proof.message
        totals.append(allocation.totals.sort_index())
    return totals


def test_a_level_of_rounding_is_no_error():
    """Floors leave a level of 1e-9, beside which what the solver leaves is not small; beside tasks it is nothing."""
    queues = {"B": {"nominal": {"r": 0}}, "A/y": {"weight": 2, "nominal": {"r": 2}}}
    queues["A"] = {"weight": 0.5, "nominal": {"r": 0}}
    for tasks in in_both_orders(
        [2, 1, 0], [[2], [4], [2]], [[7]], ["r"], ["A/y", "B", "A"], queues
    ):
        assert tasks.to_numpy() == pytest.approx([1, 0, 0], abs=1e-7)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=many(30))
def test_small_whole_numbers_are_shared_in_any_order_of_users(seed):
    rng = np.random.default_rng(seed)
    users, resources = int(rng.integers(2, 5)), ["r0", "r1"][: int(rng.integers(1, 3))]
    demands = rng.integers(1, 5, (users, len(resources)))
    servers = rng.integers(1, 15, (int(rng.integers(1, 3)), len(resources)))
    queue = rng.choice(["A", "B", "A/x", "A/y"], users).tolist()
    queues = {
        name: {"nominal": {r: int(rng.integers(0, 4)) for r in resources}}
        for name in ("A", "B", "A/x", "A/y")
        if any(path == name or path.startswith(f"{name}/") for path in queue)
    }
    first, second = in_both_orders(
        rng.permutation(users), demands, servers, resources, queue, queues
    )
    assert first.to_numpy() == pytest.approx(second.to_numpy(), abs=1e-7)


#: Seeds of the test above that failed once: a row in which nothing can be used has no size to
#: measure rounding by.
ONCE_UNPROVED = (1390, 1539, 1826, 2021, 2096, 3088)


@pytest.mark.parametrize("seed", by_day(ONCE_UNPROVED, 2))
def test_small_whole_numbers_that_failed_once(seed):
    test_small_whole_numbers_are_shared_in_any_order_of_users.hypothesis.inner_test(seed)


@pytest.mark.parametrize("weight", [1e3, 1e8, 1e10, 1e14])
def test_weights_that_are_far_apart_give_the_right_tasks_or_say_that_nothing_proves_them(weight):
    instance = Instance.from_arrays(
        [[1], [1]],
        [[6], [6]],
        resources=["cpu"],
        users=["a", "b"],
        queue=["q", "p"],
        queues={
            "": {"nominal": {"cpu": 12}},
            "q": {"weight": weight, "nominal": {"cpu": 0}},
            "p": {"nominal": {"cpu": 0}},
        },
    )
    allocation = fairlp.allocate(instance, "kueue")
    if weight < 1e6:
        assert allocation.totals.tolist() == pytest.approx(
            [12 * weight / (weight + 1), 12 / (weight + 1)]
        )
        assert not allocation.unproved
    else:
        assert "rounding hides what user 'b' gets" in allocation.unproved


def test_a_nominal_quota_is_kept_with_tasks_that_its_users_have():
    """user2 has 0.2 tasks: the rest of what the quota of its queue comes to is user4's; the others borrow alike."""
    amounts = ["resource1", "resource2", "resource3"]
    instance = Instance.from_arrays(
        [[0, 2, 1], [1, 2, 2], [0, 2, 2], [0, 1, 0]],
        [[3, 7, 4]],
        task_limits=[np.inf, 0.2, np.inf, 0.9],
        queue=["", "a", "b", "a"],
        queues={
            "a": {
                "nominal": dict.fromkeys(amounts, 2),
                "borrowing": dict.fromkeys(amounts, 4),
                "lending": dict.fromkeys(amounts, 6),
            },
            "a/c": {"nominal": dict.fromkeys(amounts, 6)},
            "b": {"weight": 2, "nominal": dict.fromkeys(amounts, 1)},
        },
    )
    allocation = fairlp.allocate(instance, "kueue")
    assert allocation.totals.tolist() == pytest.approx([0.52, 0.2, 1.54, 0.9], rel=1e-6)
    assert allocation.usage["resource3"].tolist() == pytest.approx([4]) and allocation.certify()
    assert fairlp.audit(instance, allocation, ["Pareto-optimal"]).holds.all()


@pytest.mark.parametrize("seed", range(many(80)))
def test_with_task_limits_nobody_can_gain(seed):
    tree, users, pool = random_cohorts(seed)
    rng = np.random.default_rng(seed)
    limited = {
        path: (demand, round(float(rng.uniform(0.1, 3)), 2)) for path, (demand, _) in users.items()
    }
    instance = instance_of(tree, limited, pool)
    assert fairlp.audit(
        instance, fairlp.allocate(instance, "kueue"), ["Pareto-optimal"]
    ).holds.all()


@pytest.mark.parametrize("solver", ["highs", "highs-ipm", "glpk", "scipy"])
def test_a_rise_of_rounding_is_judged_in_the_unit_of_its_row(solver):
    """One node of 10 CPUs, nominal 2 of A with limits 8 and 2, nominal 0 of B, which wants all."""
    instance = Instance.from_arrays(
        [[1], [1], [1]],
        [[10]],
        users=["a1", "a2", "b"],
        resources=["cpu"],
        queue=["A", "A", "B"],
        task_limits=[8, 2, np.inf],
        queues={"A": {"nominal": {"cpu": 2}}, "B": {"nominal": {"cpu": 0}}},
    )
    allocation = fairlp.allocate(instance, "kueue", solver=solver)
    assert allocation.totals.tolist() == pytest.approx([1, 1, 0], abs=1e-8)


def small_quotas(seed):
    """Two or three queues on one or two nodes, several users a queue, plain whole numbers."""
    rng = np.random.default_rng(seed)
    n_queues, n_users, n_resources, n_nodes = (
        int(rng.integers(low, high)) for low, high in ((2, 4), (2, 6), (1, 3), (1, 3))
    )
    queue = [f"q{int(rng.integers(n_queues))}" for _ in range(n_users)]
    resources = [f"r{k}" for k in range(n_resources)]
    queues = {}
    for name in dict.fromkeys(queue):
        queues[name] = {
            "weight": float(rng.integers(1, 4)),
            "nominal": {r: float(rng.integers(0, 8)) for r in resources},
        }
        for limit in ("borrowing", "lending"):
            if rng.random() < 0.2:
                queues[name][limit] = {r: float(rng.integers(0, 6)) for r in resources}
    demands = rng.integers(0, 4, (n_users, n_resources)).astype(float)
    demands[np.arange(n_users), rng.integers(0, n_resources, n_users)] += 1
    return Instance.from_arrays(
        demands,
        rng.integers(4, 15, (n_nodes, n_resources)),
        users=[f"u{k}" for k in range(n_users)],
        resources=resources,
        queue=queue,
        task_limits=[
            float(rng.integers(1, 12)) if rng.random() < 0.5 else np.inf for _ in range(n_users)
        ],
        queues=queues,
    )


@pytest.mark.slow
@settings(max_examples=many(400))
@given(st.integers(0, 2**32 - 1))
def test_small_whole_quotas_are_shared_by_every_solver_alike(seed):
    instance = small_quotas(seed)
    by_highs = fairlp.allocate(instance, "kueue").totals
    by_glpk = fairlp.allocate(instance, "kueue", solver="glpk").totals
    scale = by_highs.max() + 1.0
    assert (abs(by_highs - by_glpk) <= 1e-6 * scale).all(), (by_highs, by_glpk)


def test_a_price_that_is_rounding_blocks_nobody():
    """A program may be tight because of users who have all their tasks by then."""
    rng = np.random.default_rng(453)
    users, queues = int(rng.integers(5, 40)), int(rng.integers(2, 10))
    demands = np.column_stack([rng.integers(1, 8, users), rng.integers(1, 32, users)]).astype(float)
    capacities = np.array([[64, 256], [32, 256], [96, 384]], float) * max(users // 5, 1) / 6
    queue = [f"c{k % 3}/q{k}" for k in rng.integers(0, queues, users)]
    pool = capacities.sum(axis=0)
    quotas = {
        path: {
            "weight": float(rng.integers(1, 4)),
            "nominal": {
                "cpu": float(round(pool[0] / queues)),
                "mem": float(round(pool[1] / queues)),
            },
        }
        for path in sorted(set(queue))
    }
    cluster = fairlp.Instance.from_arrays(
        demands,
        capacities,
        resources=["cpu", "mem"],
        queue=queue,
        queues=quotas,
        task_limits=rng.integers(1, 30, users).astype(float),
    )
    answer = fairlp.allocate(cluster, "kueue")
    assert answer.certify(), answer.certify().message


@pytest.mark.parametrize("seed", range(many(100)))
def test_of_a_nominal_quota_the_resource_that_lacks_most_servers_is_named(seed):
    """Each user of A needs one resource, on one node of its own; nobody needs the third resource."""
    rng = np.random.default_rng(seed)
    nominal = rng.integers(4, 20, 2)
    nodes = rng.integers(1, 20, 2)
    limits = rng.integers(1, 25, 2)
    quota_cap = np.minimum(nominal, limits)
    lacking = np.maximum(quota_cap - nodes, 0)
    parts = lacking / quota_cap
    instance = Instance.from_arrays(
        [[1, 0, 0], [0, 1, 0]],
        [[nodes[0], 0, 9], [0, nodes[1], 0]],
        resources=["cpu", "gpu", "disk"],
        queue=["A", "A"],
        task_limits=limits,
        queues={"A": {"nominal": {"cpu": nominal[0], "gpu": nominal[1], "disk": 5}}},
    )
    r = int(parts.argmax())
    expected = ()
    if lacking.any():
        name = ["cpu", "gpu"][r]
        expected = (
            f"{lacking[r]} of {quota_cap[r]} {name} in the nominal quota of queue 'A' have no node",
        )
    assert fairlp.allocate(instance, "kueue").notes == expected


def test_a_queue_lacks_no_more_than_its_nominal_quota():
    rng = np.random.default_rng(8)
    n_users, n_queues = 77, 19
    demands = rng.integers(1, 8, (n_users, 2))
    names = [f"q{k}" for k in range(n_queues)]
    queues = {}
    for name in names:
        amounts = {
            kind: dict(zip("rs", rng.integers(*ends, 2).tolist(), strict=True))
            for kind, ends in (("nominal", (5, 20)), ("borrowing", (0, 30)))
        }
        queues[name] = {**amounts, "weight": int(rng.integers(1, 4))}
    queue = [names[k] for k in rng.integers(0, n_queues, n_users)]
    instance = fairlp.Instance.from_arrays(
        demands, [[10 * n_queues] * 2], resources=["r", "s"], queue=queue, queues=queues
    )
    notes = [note.split() for note in fairlp.allocate(instance, "kueue").notes]
    lacks = [(float(words[0]), float(words[2])) for words in notes if "nominal" in words]
    assert lacks and all(lack <= whole for lack, whole in lacks)


def test_what_is_borrowed_of_one_flavor_stands_for_no_nominal_quota_of_another():
    """Kueue issue 9406: a and c have 5 reserved GPUs each, and 3 spot ones are lent.

    a wants 5 reserved and 3 spot ones, c 6 reserved: a has all, and c its 5.
    """
    reserved, spot = "gpu@pool == 'reserved'", "gpu@pool == 'spot'"
    nominal = {"a": (5, 0), "c": (5, 0), "lender": (0, 3)}
    instance = fairlp.Instance.from_arrays(
        [[1]] * 5,
        [[10], [3]],
        users=["ra", "sa", "rc", "wa", "wc"],
        servers=["r", "s"],
        resources=["gpu"],
        server_attributes=pd.DataFrame({"pool": ["reserved", "spot"]}),
        queue=["co/a", "co/a", "co/c", "co/a", "co/c"],
        task_limits=[4, 3, 5, 1, 1],
        eligible=[["r"], ["s"], ["r"], ["r"], ["r"]],
        queues={
            f"co/{name}": {"nominal": {reserved: of_r, spot: of_s}}
            for name, (of_r, of_s) in nominal.items()
        },
    )
    allocation = fairlp.allocate(instance, "kueue")
    totals = allocation.totals
    assert [totals["ra"] + totals["wa"], totals["sa"], totals["rc"] + totals["wc"]] == (
        pytest.approx([5, 3, 5])
    )
    assert allocation.certify().holds


def cohorts_on_servers(seed, users, servers, flavors=False):
    """Users of eight queues in three cohorts, whose quotas come to two thirds of the servers, by flavor or not."""
    rng = np.random.default_rng(seed)
    demands = rng.lognormal(0, 1, (users, 2))
    capacities = rng.lognormal(3, 1, (servers, 2))
    leaves = [f"c{q % 3}/q{q}" for q in range(8)]
    names = [f"server{k + 1}" for k in range(servers)]
    instance = fairlp.Instance.from_arrays(
        demands,
        capacities,
        queue=[leaves[q] for q in rng.integers(0, 8, users)],
        server_attributes=pd.DataFrame(
            {"pool": ["ab"[k % 2] for k in range(servers)]}, index=names
        ),
    )
    parts = ["@pool=='a'", "@pool=='b'"] if flavors else [""]
    queues = {}
    for queue in leaves:
        nominal = {
            f"{resource}{part}": float(amount / len(parts) / 8 * rng.uniform(0.3, 1))
            for resource, amount in zip(instance.resources, instance.pool, strict=True)
            for part in parts
        }
        row = {"nominal": nominal, "weight": float(rng.integers(1, 4))}
        if rng.random() < 0.4:
            row["borrowing"] = {name: x * rng.uniform(0, 2) for name, x in nominal.items()}
        if rng.random() < 0.4:
            row["lending"] = {name: x * rng.uniform(0, 1) for name, x in nominal.items()}
        queues[queue] = row
    return instance.replace(queues=queues)


@pytest.mark.parametrize("seed", [1, pytest.param(31, marks=pytest.mark.slow)])
def test_two_algorithms_agree_where_quotas_are_by_flavor(seed):
    instance = cohorts_on_servers(seed, 30, 6, flavors=True)
    totals = fairlp.allocate(instance, "kueue", solver="highs").totals
    others = fairlp.allocate(instance, "kueue", solver="highs-ipm").totals
    alone = instance.gamma().sum(axis=1)
    assert (totals - others).abs().max() <= 1e-5 * alone.max()
    assert ((totals - others).abs() <= 1e-5 * np.maximum(totals, 1e-3 * alone)).all()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_many_servers_as_one_large_server_give_the_tasks_of_the_servers_themselves(seed):
    instance = cohorts_on_servers(seed, 60, 40)
    totals = fairlp.allocate(instance, "kueue").totals
    on_servers = fairlp.allocate(instance, "kueue", merge=False).totals
    assert totals.to_numpy() == pytest.approx(on_servers.to_numpy(), rel=1e-6)


def test_servers_that_do_not_hold_what_one_large_server_would_are_not_merged():
    rng = np.random.default_rng(0)
    capacities = np.where(np.arange(40)[:, None] % 2 == [0, 1], 1.0, 0.05) * 100
    instance = fairlp.Instance.from_arrays(
        rng.uniform(0.9, 1.1, (60, 2)),
        capacities * rng.uniform(0.9, 1.1, (40, 2)),
        queue=[f"q{n % 3}" for n in range(60)],
    )
    nominal = dict(zip(instance.resources, 0.2 * instance.pool, strict=True))
    instance = instance.replace(queues={f"q{q}": {"nominal": nominal} for q in range(3)})
    allocation = fairlp.allocate(instance, "kueue")
    usage = allocation.tasks.to_numpy().T @ instance.demands
    assert (usage <= instance.capacities * (1 + 1e-9)).all()
    on_servers = fairlp.allocate(instance, "kueue", merge=False).totals
    assert allocation.totals.to_numpy() == pytest.approx(on_servers.to_numpy(), rel=1e-6)
