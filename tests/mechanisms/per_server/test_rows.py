"""PS-DSF: merging, checks, options, validation."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import per_server_oracle as oracle
from fairlp import Instance, examples
from fairlp.errors import (
    FairlpWarning,
    InstanceError,
    UnknownNameError,
)
from fairlp.mechanisms.per_server.time_market import time_market
from fairlp.models.instances.merging import merge_servers
from instances import random_instance
from profiles import chequered, many

DIVISIONS = ("rdm", "tdm")


def allocate(instance, division, method="auto", **options):
    return fairlp.allocate(instance, f"psdsf-{division}", method=method, **options)


# --- merging ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("division", DIVISIONS)
def test_merged_servers_split_in_proportion_are_a_fixed_point(division):
    """Checked on the unmerged instance, by the certificate and by the book."""
    merged = 0
    for seed in range(many(100)):
        rng = np.random.default_rng(seed)
        base = random_instance(seed, servers=rng.integers(1, 4))
        copies = np.repeat(np.arange(len(base.servers)), rng.integers(1, 4, len(base.servers)))
        instance = Instance.from_arrays(
            base.demands,
            base.capacities[copies],
            eligible=base.eligible[:, copies],
            counts=rng.integers(1, 4, len(copies)),
            weights=base.weights,
            task_limits=base.task_limits,
        )
        allocation = allocate(instance, division)
        merged += any("merged" in note for note in allocation.notes)
        assert fairlp.per_server.check(instance, allocation, division), seed
        assert oracle.holds(instance, allocation.tasks_array, division), seed
    assert merged > many(100) / 2


def test_the_converse_fails_under_resource_division():
    """Two equal servers, one user each: a fixed point with 3/2 tasks each. Together they would run 2 each, uniquely."""
    separate = Instance.from_arrays([[1, 2], [2, 1]], [[3, 3], [3, 3]])
    together = merge_servers(separate)[0]
    tasks = np.eye(2) * 1.5
    assert fairlp.per_server.check(separate, tasks)
    verdict = fairlp.per_server.check(together, tasks.sum(axis=1, keepdims=True))
    assert not verdict and verdict.gains["from"].map(list).tolist() == [
        [],
        [],
    ]  # half of what there is lies idle
    assert verdict.gains["gain"].tolist() == pytest.approx([0.75, 0.75])
    assert allocate(together, "rdm").totals.tolist() == pytest.approx([2, 2], rel=1e-12)


def test_the_converse_holds_under_time_division():
    """All copies are used by the lowest levels, so their sum is; the totals are the same."""
    for seed in range(many(50)):
        instance = random_instance(seed, limits=False)
        doubled = Instance.from_arrays(
            instance.demands,
            np.repeat(instance.capacities, 2, axis=0),
            eligible=np.repeat(instance.eligible, 2, axis=1),
            counts=np.repeat(instance.counts, 2),
            weights=instance.weights,
        )
        separate = allocate(doubled, "tdm", "sweeps", merge=False)
        together = merge_servers(doubled)[0]
        expected = allocate(together, "tdm").totals.to_numpy()
        assert separate.totals.to_numpy() == pytest.approx(expected, rel=1e-8), seed


@pytest.mark.parametrize("division", DIVISIONS)
def test_proportional_users_have_equal_levels(division):
    """So they may be merged, weights added: one of the lower level would have a bottleneck that the other holds.

    Without task limits. With limits that are not in proportion they may not be: one is full before
    the other."""
    for seed in range(many(75)):
        rng = np.random.default_rng(seed)
        instance = random_instance(seed, limits=False, duplicates=False)
        times, phi = rng.integers(1, 5), rng.integers(1, 4)
        pair = Instance.from_arrays(
            np.vstack([instance.demands, instance.demands[0] * times]),
            instance.capacities,
            eligible=np.vstack([instance.eligible, instance.eligible[0]]),
            weights=np.append(instance.weights, phi),
            counts=instance.counts,
        )
        answer = allocate(pair, division)
        share = instance.weights[0] / (instance.weights[0] + phi)
        of_both = answer.tasks_array[0].sum() + times * answer.tasks_array[-1].sum()
        assert answer.totals.iloc[0] == pytest.approx(share * of_both, rel=1e-9), seed
        # and their sum is a fixed point of the instance with one user in place of the two
        weights = instance.weights.copy()
        weights[0] += phi
        case = instance.replace(weights=weights)
        summed = answer.tasks_array[:-1].copy()
        summed[0] += times * answer.tasks_array[-1]
        assert oracle.holds(case, summed, division), seed


def test_proportional_users_with_limits_may_not_be_merged():
    """a has all its one task; merged with b the two would share 3 tasks, and c get 3 instead of 2.5."""
    demands, capacities = [[1], [1], [1]], [[6]]
    three = Instance.from_arrays(demands, capacities, task_limits=[1, 9, 9])
    assert allocate(three, "rdm").totals.tolist() == pytest.approx([1, 2.5, 2.5])
    pair = Instance.from_arrays(demands[1:], capacities, task_limits=[10, 9], weights=[2, 1])
    assert allocate(pair, "rdm").totals.tolist() == pytest.approx([4, 2])


# --- checks of anyone's allocation -----------------------------------------------------------------------------------


def test_a_check_takes_labels_in_any_order_and_refuses_what_does_not_fit():
    instance = examples.load("khamse-ashari-figure-1")
    allocation = allocate(instance, "rdm")
    check = fairlp.per_server.check
    assert check(instance, allocation) and check(instance, allocation.tasks_array.tolist())
    assert check(instance, allocation.tasks.iloc[::-1, ::-1])
    with pytest.raises(InstanceError, match=r"shape \(2, 3\), expected \(3, 2\)"):
        check(instance, allocation.tasks_array.T)
    with pytest.warns(FairlpWarning, match="the allocation has no tasks of 'user3'"):
        assert not check(instance, allocation.tasks.iloc[:2])
    with pytest.raises(InstanceError, match=r"the allocation .*'first'"):
        check(instance, allocation.tasks.rename(columns={"server1": "first"}))
    with pytest.raises(InstanceError, match="expected a finite number"):
        check(instance, np.full((3, 2), np.nan))
    with pytest.raises(UnknownNameError, match="no user is called 'user4'"):
        fairlp.per_server.could_gain(instance, allocation, "user4")


def test_a_verdict_names_who_could_gain_from_whom():
    instance = examples.load("khamse-ashari-figure-1")
    verdict = fairlp.per_server.check(instance, fairlp.allocate(instance, "tsf"))
    assert not verdict and verdict.gains["user"].tolist() == ["user1", "user2"]
    assert verdict.gains["from"].tolist() == [["user3"], ["user3"]]
    assert verdict.gains["gain"].tolist() == pytest.approx(
        [2, 2]
    ) and verdict.violation == pytest.approx(1 / 3)
    over = fairlp.per_server.check(instance, [[9, 0], [0, 0], [0, 6]])
    assert not over and over.infeasibility == pytest.approx(0.5) and "infeasible" in str(over)
    elsewhere = fairlp.per_server.check(instance, [[3, 1], [3, 0], [0, 5]])
    assert not elsewhere and elsewhere.infeasibility == 1  # user 1 may not run on server 2


def test_the_market_of_time_gives_out_no_more_than_all_the_time():
    for seed in range(many(20)):
        instance = random_instance(seed).replace(task_limits=None)
        tasks, gamma = time_market(instance).tasks, instance.gamma()
        time = np.divide(tasks, gamma, out=np.zeros(gamma.shape), where=gamma > 0).sum(axis=0)
        assert time.max() <= 1 + 1e-6 and not tasks[gamma == 0].any()
        expected = allocate(instance, "tdm", "best-response").totals.to_numpy()
        assert tasks.sum(axis=1) == pytest.approx(expected, rel=1e-4, abs=1e-4), seed


# --- what does not settle, options, validate -------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["psdsf-rdm", "psdsf-tdm"])
def test_validate_runs_every_method(mechanism):
    frame = fairlp.validate(examples.load("khamse-ashari-figure-1"), mechanism)
    assert list(frame.index) == list(fairlp.mechanisms.TABLE[mechanism].method_names)
    assert frame["agrees"].all() and frame["proved"].all()
    table = fairlp.validate(
        examples.load("khamse-ashari-figure-1"), mechanism, delay=0.5, most_sweeps=500
    )
    assert table["agrees"].all() and "distributed" in table.index


def test_results_do_not_depend_on_units():
    for seed in range(many(30)):
        instance = random_instance(seed, limits=False)
        unit = 10.0 ** np.random.default_rng(seed).integers(-6, 7, instance.demands.shape[1])
        scaled = instance.replace(
            demands=instance.demands * unit, capacities=instance.capacities * unit
        )
        for division in DIVISIONS:
            expected = allocate(instance, division).totals.to_numpy()
            assert allocate(scaled, division).totals.to_numpy() == pytest.approx(
                expected, rel=1e-8
            ), seed


def test_integer_programs_of_weights_of_several_orders_of_magnitude():
    """The tightest tolerance leaves HiGHS no point for some; a fixed point there always is."""
    for seed in (*range(10), 56):
        rng = np.random.default_rng(seed)
        n, k, r = rng.integers(2, 4), rng.integers(1, 3), rng.integers(1, 3)
        demands, capacities = rng.integers(1, 6, (n, r)), rng.integers(2, 12, (k, r))
        instance = Instance.from_arrays(demands, capacities, weights=rng.integers(1, 1000, n))
        answer = fairlp.allocate(instance, "psdsf-tdm", method="milp")
        expected = fairlp.allocate(instance, "psdsf-tdm")
        assert answer.certificate and answer.totals.to_numpy() == pytest.approx(
            expected.totals.to_numpy(), rel=1e-9
        )


@pytest.mark.parametrize(
    ("name", "mechanism"),
    chequered(
        [name for name in examples.names() if name.startswith("dolev")],
        ["psdsf-rdm", "psdsf-tdm", "njc", "ceei"],
    ),
)
def test_validate_with_task_limits(name, mechanism):
    assert fairlp.validate(examples.load(name), mechanism).agrees.all()


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize(
    "weights", [[1e308, 1, 1], [1e-307, 1, 1], [1e308, 1e-307, 1], [1e300, 1e-300, 1]]
)
def test_weights_beyond_floats_are_answered_or_refused_soon(division, weights):
    """They went round for ever: a level that is no number freezes nobody."""
    instance = Instance.from_arrays([[1, 2], [3, 1], [1, 1]], [[9, 18], [4, 4]], weights=weights)
    with np.errstate(all="ignore"):
        try:
            answer = allocate(instance, division)
        except fairlp.errors.SolverError as error:
            assert len(str(error)) < 1000
        else:
            assert fairlp.per_server.check(instance, answer, division)
