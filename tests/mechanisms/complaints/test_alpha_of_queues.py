"""α-fairness with guarantees and caps of queues: by hand, against CVXPY and linear programs, its ends, its proofs."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.optimize import linprog

import fairlp
from fairlp.errors import FairlpError, InstanceError, SolverError
from fairlp.formulations.alpha_fair import reference
from fairlp.models.trees.guarantees import floors
from fairlp.tolerances import AGREEMENT, CONVEX_POINT, VERIFIED
from mean_level import mean_level_bound, power_mean
from profiles import many
from tree_instances import for_the_oracle, tree_instance

#: What users are worth at max-min levels, as a multiple of one another, from which on tangents may
#: not converge.
TOO_FAR = 1e4
ALPHAS = (0.5, 1.0, 2.0, 4.0)


def drawn(seed, **limits):
    """Return a random instance with guarantees or caps that can be kept, None where none was drawn."""
    instance = tree_instance(np.random.default_rng(seed), servers=3, **limits)
    if not instance.queues.has_limits:
        return None
    try:
        fairlp.allocate(instance, "drfh")
    except InstanceError as error:
        assert "cannot all be kept" in str(error)
        return None
    return instance


def program(instance):
    """Return (A, b, upper bounds of columns, dominant shares of a task), written anew: A·x ≤ b for x[n,i] in a row."""
    data, _ = for_the_oracle(instance)
    demands, limits, paths = data["demands"], data["limits"], data["paths"]
    pool = data["capacities"].sum(axis=0)
    (n, r), k = demands.shape, len(data["capacities"])
    total = np.kron(np.eye(n), np.ones(k))
    rows = [np.kron(demands[:, x], np.eye(k)[i]) for i in range(k) for x in range(r)]
    right = list(data["capacities"].ravel())
    for path, caps in data["caps"].items():
        below = [
            not path or other_path == path or other_path.startswith(f"{path}/")
            for other_path in paths
        ]
        rows += [(demands[:, x] * below) @ total for x in caps]
        right += list(caps.values())
    rows += list(total[np.isfinite(limits)]) + list(-total)
    right += list(limits[np.isfinite(limits)]) + list(-floors(instance))
    runs = (
        np.ones((n, k), dtype=bool)
        if data["eligible"] is None
        else np.asarray(data["eligible"], dtype=bool)
    )
    runs = runs & ((data["capacities"][None] > 0) | (demands[:, None] == 0)).all(axis=2)
    share = np.array([max(d[x] / pool[x] for x in range(r) if d[x] > 0) for d in demands])
    return np.array(rows), np.array(right), np.where(runs.ravel(), np.inf, 0.0), share


def largest(instance, values):
    """Return the largest Σ worth·x over all that is feasible, by SciPy."""
    rows, right, upper, _ = program(instance)
    cost = -np.repeat(values, len(instance.servers))
    optimum = linprog(cost, rows, right, bounds=np.column_stack([np.zeros(len(upper)), upper]))
    assert optimum.status == 0
    return -optimum.fun


def levels(instance, totals):
    return totals * program(instance)[3] / instance.weights


def shared(instance, alpha):
    """Return the allocation; None where a linear program's solver may fail, as it says: worths too far apart."""
    try:
        return fairlp.allocate(instance, "alpha-fair", alpha=alpha)
    except SolverError:
        levels = fairlp.allocate(instance, "drfh").levels
        levels = levels[levels > 0]
        assert instance.queues.capped.any() and (levels.max() / levels.min()) ** alpha > TOO_FAR
        return None


def drawn_or_none(kind, seed):
    return drawn(seed, caps="caps" in kind, guarantees="guarantees" in kind)


KINDS = st.sampled_from(["caps", "guarantees", "caps and guarantees"])


@pytest.mark.slow
@settings(max_examples=many(25), deadline=None)
@given(st.integers(0, 10**6), KINDS, st.sampled_from(ALPHAS))
@example(59, "caps and guarantees", 4.0)
@example(22296, "caps and guarantees", 0.5)  # nobody can have anything
def test_no_feasible_direction_leads_upwards(seed, kind, alpha):
    """The first-order condition, by a linear program of SciPy: Σ s^(−α)·ds ≤ 0 for every feasible change."""
    instance = drawn_or_none(kind, seed)
    allocation = None if instance is None else shared(instance, alpha)
    if allocation is None:
        return
    assert (
        allocation.residual <= VERIFIED
        and (allocation.totals >= floors(instance) * (1 - VERIFIED)).all()
    )
    totals = allocation.totals.to_numpy()
    level = levels(instance, totals)
    has_level = level > AGREEMENT
    values = np.zeros(len(level))
    values[has_level] = (
        level[has_level] / level[has_level].min(initial=np.inf)
    ) ** -alpha * program(instance)[3][has_level]
    if allocation.unproved:
        assert allocation.unproved.startswith("not proved") and not allocation.certificate
        return
    assert largest(instance, values) <= (values @ totals) * (1 + VERIFIED)
    # who has nothing cannot have anything
    for n in np.flatnonzero(~has_level):
        assert largest(instance, np.eye(len(level))[n]) <= CONVEX_POINT * AGREEMENT
    assert allocation.gap <= VERIFIED and allocation.certificate
    proof = allocation.certify()
    assert proof or "too little beside the others" in proof.message


@settings(max_examples=many(10), deadline=None)
@given(st.integers(0, 10**6), KINDS, st.sampled_from(ALPHAS))
def test_cones_written_here_reach_the_same_mean_level(seed, kind, alpha):
    instance = drawn_or_none(kind, seed)
    if instance is None or not fairlp.allocate(instance, "drfh").levels.min() > 0:
        return
    amounts = shared(instance, alpha)
    if amounts is None:
        return
    user_levels = levels(instance, amounts.totals.to_numpy())
    rows, right, upper, share = program(instance)
    x = cp.Variable(len(upper), nonneg=True)
    level = cp.multiply(
        share / instance.weights, cp.sum(cp.reshape(x, (len(share), -1), order="C"), axis=1)
    )
    weights = instance.weights / instance.weights.sum()
    utility = (
        cp.log(level) if alpha == 1 else cp.power(level, 1 - alpha, approx=False) / (1 - alpha)
    )
    problem = cp.Problem(cp.Maximize(weights @ utility), [rows @ x <= right, x[upper == 0] == 0])
    try:
        problem.solve(solver="CLARABEL")
    except (cp.SolverError, UserWarning):  # a region without an interior is beyond it
        return
    cone_mean = power_mean(np.maximum(level.value, 0.0), weights, 1 - alpha)
    assert cone_mean == pytest.approx(power_mean(user_levels, weights, 1 - alpha), rel=CONVEX_POINT)


@pytest.mark.parametrize("seed", range(many(12)))
@pytest.mark.parametrize("kind", ["caps", "guarantees", "caps and guarantees"])
def test_the_ends_are_the_largest_total_and_max_min_fairness(seed, kind):
    instance = drawn_or_none(kind, seed)
    if instance is None:
        return
    total = (
        levels(instance, fairlp.allocate(instance, "alpha-fair", alpha=0).totals.to_numpy())
        @ instance.weights
    )
    assert total == pytest.approx(largest(instance, program(instance)[3]), rel=VERIFIED)
    fairest = fairlp.allocate(instance, "drfh").levels.to_numpy()
    for solver in ("highs", "interior-point"):
        allocation = fairlp.allocate(
            instance, "alpha-fair", alpha="inf", method="convex", solver=solver
        )
        assert allocation.levels.to_numpy() == pytest.approx(fairest, rel=VERIFIED, abs=VERIFIED)
    assert fairlp.allocate(instance, "alpha-fair", alpha="inf").certify()


def three(**queue):
    return fairlp.Instance.from_arrays(
        [[1.0]] * 3, [[12.0]], queue=["q", "q", None], queues={"q": queue}
    )


@pytest.mark.parametrize("alpha", [0.5, 1, 2, 8, np.inf])
def test_caps_and_guarantees_by_hand(alpha):
    def totals(**queue):
        return fairlp.allocate(three(**queue), "alpha-fair", alpha=alpha).totals.tolist()

    assert totals(cap={"resource1": 3}) == pytest.approx([1.5, 1.5, 9], rel=1e-6)
    assert totals(guarantee={"resource1": 10}) == pytest.approx([5, 5, 2], rel=1e-6)
    # neither matters where it asks for what is so anyway
    assert totals(cap={"resource1": 9}, guarantee={"resource1": 7}) == pytest.approx(
        [4, 4, 4], rel=1e-6
    )


def test_one_cap_over_different_users_has_one_price():
    """Under a cap of 4 alone, users who take 1 and 2 of it: worth per unit of the cap is the same, s^(−α)/d̂."""
    instance = fairlp.Instance.from_arrays(
        [[1, 6], [2, 6]], [[60, 60]], queue=["q", "q"], queues={"q": {"cap": {"resource1": 4}}}
    )
    allocation = fairlp.allocate(instance, "alpha-fair", alpha=2)
    tasks = allocation.totals.to_numpy()
    assert tasks[0] + 2 * tasks[1] == pytest.approx(4) and tasks[0] / tasks[1] == pytest.approx(
        np.sqrt(2), rel=1e-6
    )
    assert allocation.method == "convex" and allocation.gap <= VERIFIED and allocation.certify()


def test_bounds_hold_for_any_prices_of_caps():
    rng = np.random.default_rng(3)
    for seed in range(many(20)):
        instance = drawn(seed, caps=True)
        if instance is None:
            continue
        able_users = instance.runnable().any(axis=1) & (instance.task_limits > 0)
        if not (able_users & ~instance.queues.barred(instance.demands)).any():
            continue
        best = fairlp.allocate(instance, "alpha-fair", alpha=2)
        of_caps = np.where(instance.queues.capped, rng.random(instance.queues.caps.shape), 0.0)
        prices = rng.random(instance.capacities.shape)
        unit = 1 / program(instance)[3]
        weights = instance.weights[able_users] / instance.weights[able_users].sum()
        mean = power_mean(best.levels.to_numpy()[able_users], weights, -1)
        assert mean <= mean_level_bound(instance, unit, prices, 2, of_caps) * (1 + AGREEMENT)


def test_whom_guarantees_leave_nothing_has_no_term():
    instance = three(guarantee={"resource1": 12})
    for alpha in (0, 1, 2, np.inf):
        allocation = fairlp.allocate(instance, "alpha-fair", alpha=alpha)
        assert allocation.totals.tolist() == pytest.approx([6, 6, 0]) and allocation.certify()
    allocation = fairlp.allocate(instance, "alpha-fair", alpha=2)
    assert "leaves some users nothing" in allocation.notes[0] and not allocation.unproved


def test_what_cannot_be_kept_names_queue_and_resource():
    instance = three(guarantee={"resource1": 13})
    for method in ("auto", "convex"):
        with pytest.raises(
            InstanceError, match="queue 'q' is guaranteed 13 'resource1', and 1 of 'resource1'"
        ):
            fairlp.allocate(instance, "alpha-fair", alpha=2, method=method)


def test_what_breaks_a_limit_of_a_queue_is_not_certified():
    for queue, message in (
        ({"guarantee": {"resource1": 10}}, "queues guarantee"),
        ({"cap": {"resource1": 3}}, "infeasi"),
    ):
        allocation = fairlp.allocate(three(**queue), "alpha-fair", alpha=2)
        wrong_allocation = replace(allocation, tasks_array=np.full((3, 1), 4.0))
        assert not wrong_allocation.certify() and message in wrong_allocation.certify().message
        worse = replace(
            allocation, tasks_array=allocation.tasks_array * np.array([[1.0], [1.0], [0.9]])
        )
        assert "not proved" in worse.certify().message


def test_who_is_worth_more_than_its_guarantee_costs_is_not_left_there():
    allocation = fairlp.allocate(three(guarantee={"resource1": 4}), "alpha-fair", alpha=2)
    assert allocation.totals.tolist() == pytest.approx([4, 4, 4]) and allocation.certify()
    case = replace(allocation, tasks_array=np.array([[2.0], [2.0], [8.0]]))
    assert not case.certify() and "not proved" in case.certify().message


def test_the_level_of_reference_fits_below_caps():
    instance = three(cap={"resource1": 0.06})
    assert reference(instance) == pytest.approx(0.0025)
    with pytest.raises(FairlpError, match="beyond floats"):
        fairlp.allocate(instance, "alpha-fair", alpha=1e3)
