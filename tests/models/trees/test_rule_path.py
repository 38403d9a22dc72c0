"""Rules of trees from outside, by public names: against recursion in rationals, SciPy, and Kueue's quotas."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp.errors import InstanceError, ModelError
from profiles import many
from tree_instances import for_the_oracle, guaranteed_tree, tree_instance
from tree_oracle import filled, hierarchical


class LargestShare(fairlp.NodeRule):
    """What H-DRF compares."""

    def measures(self, usage):
        return (usage,)


class SumOfShares(fairlp.NodeRule):
    """Asset fairness along the tree."""

    def measures(self, usage):
        return (usage.sum(axis=1, keepdims=True),)


#: A rule, and how it measures the shares of one node.
RULES = [(LargestShare(), max), (SumOfShares(), sum)]
SEEDS = st.integers(0, 10**9)


def risen(instance, rule, **options):
    """What users come to by a rule."""
    return fairlp.rise(fairlp.RulePath.start(instance, rule=rule, **options), instance)


@pytest.mark.parametrize(("rule", "measure"), RULES)
@settings(max_examples=many(60), deadline=None)
@given(SEEDS)
def test_tasks_on_one_pool_are_those_of_the_recursion_to_the_last_digit_of_a_rational(
    rule, measure, seed
):
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, weighted=rng.random() < 0.7)  # ties, where nothing is weighted
    expected = filled(*for_the_oracle(instance), measure)
    exact = risen(instance, rule, exact=True)
    assert exact.totals.tolist() == expected
    assert exact.certify() and exact.gap == 0
    floats = risen(instance, rule)
    assert floats.totals.to_numpy() == pytest.approx(
        [float(tasks) for tasks in expected], rel=1e-9, abs=1e-9
    )
    assert floats.certify()


@pytest.mark.parametrize(("rule", "measure"), RULES)
@pytest.mark.parametrize("seed", range(many(25)))
def test_tasks_on_servers_with_caps_are_those_of_rounds_of_scipy(rule, measure, seed):
    instance = tree_instance(np.random.default_rng([5, seed]), servers=3, caps=True)
    expected = hierarchical(*for_the_oracle(instance), measure=measure)
    answer = risen(instance, rule)
    assert answer.totals.to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-6)
    exact = risen(instance, rule, exact=True)
    assert exact.totals.to_numpy(dtype=float) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert answer.certify() and exact.certify()


@pytest.mark.parametrize("counted", [False, True])
@settings(max_examples=many(16), deadline=None)
@given(SEEDS)
def test_a_copy_of_the_dominant_share_is_h_drf_with_guarantees_limits_and_caps(counted, seed):
    instance = guaranteed_tree(seed, servers=1 + seed % 2)
    try:
        expected = fairlp.allocate(instance, "h-drf-counted" if counted else "h-drf")
    except InstanceError as error:
        assert "the guarantees of queues cannot all be kept" in str(error)
        return
    for exact in (False, True):
        answer = risen(instance, LargestShare(), counted=counted, exact=exact)
        totals = answer.totals.to_numpy(dtype=float)
        assert totals == pytest.approx(expected.totals.to_numpy(), rel=1e-9, abs=1e-9)
        assert answer.tasks.sum(axis=1).to_numpy() == pytest.approx(totals, rel=1e-9, abs=1e-12)
        proof = answer.certify()
        assert proof, proof.message


def test_an_asset_tree_shares_by_sums_where_the_dominant_share_does_not():
    """All of the team's shares count: bob's two and carl's one come to as much as ann's one."""
    cluster = fairlp.Instance.from_arrays(
        [[1, 0], [1, 1], [0, 1]], [[12, 12]], queue=["", "team", "team"]
    )
    by_sums = risen(cluster, SumOfShares(), exact=True)
    assert by_sums.totals.tolist() == [Fraction(48, 5), Fraction(12, 5), Fraction(48, 5)]
    assert risen(cluster, LargestShare(), exact=True).totals.tolist() == [8, 4, 8]


class BeyondQuota(fairlp.NodeRule):
    """Kueue's rule: what a node has beyond its quota is compared, and within it its part of the pool."""

    follows_use = True

    def __init__(self, quota, exact):
        self.quota = quota
        self.nearly = 1 if exact else 1 - 1e-9
        self.rounding = 0 if exact else 1e-9

    def measures(self, usage):
        return np.maximum(usage - self.quota, 0), usage

    def growth(self, nodes, usage, growth):
        borrows = usage >= self.quota * self.nearly
        return np.where(borrows, growth, 0)[nodes], growth[nodes]

    def gaps(self, usage):
        borrows = usage >= self.quota * self.nearly
        return (np.where(borrows, np.inf, self.quota - usage),)

    def last_slope(self, nodes, growth):
        return growth[nodes].max(axis=1)


def quota_instance(seed):
    """A pool of one resource, all of it quotas of the queues that users stand in; and quotas of nodes."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(2, 7))
    places = ["a/x", "a/y", "b", "c/w/u"]
    queue = [places[k] for k in rng.integers(0, len(places), users)]
    nominal = {path: float(rng.integers(3, 9)) for path in sorted(set(queue))}
    instance = fairlp.Instance.from_arrays(
        rng.integers(1, 4, (users, 1)),
        [[sum(nominal.values())]],
        resources=["cpu"],
        queue=queue,
        queues={
            path: {"weight": float(rng.integers(1, 4)), "nominal": {"cpu": amount}}
            for path, amount in nominal.items()
        },
        weights=rng.integers(1, 4, users),
        task_limits=np.where(rng.random(users) < 0.4, rng.integers(1, 6, users), np.inf),
    )
    return instance, nominal


@pytest.mark.parametrize("exact", [False, True])
@settings(max_examples=many(30), deadline=None)
@given(SEEDS)
def test_a_rule_that_follows_use_is_kueue_where_quotas_are_all_that_there_is(exact, seed):
    instance, nominal = quota_instance(seed)
    number = Fraction if exact else float
    pool = number(sum(nominal.values()))
    above = [f"{queue}/" if queue else "" for queue in instance.queues]
    below = [
        sum(amount for path, amount in nominal.items() if f"{path}/".startswith(queue))
        for queue in above
    ]
    quota = [[number(amount) / pool] for amount in below] + [[number(0)] for _ in instance.users]
    rule = BeyondQuota(np.array(quota, dtype=object if exact else float), exact)
    answer = risen(instance, rule, exact=exact)
    expected = fairlp.allocate(instance, "kueue").totals.to_numpy()
    assert answer.totals.to_numpy(dtype=float) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert answer.rounds["level"].is_monotonic_increasing and answer.certify()


@pytest.mark.parametrize("exact", [False, True])
def test_rounds_show_the_level_inside_the_root(exact):
    """Beyond 10 each, b of weight 2 borrows twice what a does; b's second user has its 6 of 12."""
    pool = fairlp.Instance.from_arrays(
        [[1]] * 3, [[30]], queue=["a", "b", "b"], queues={"b": 2}, task_limits=[np.inf, np.inf, 6]
    )
    number = Fraction if exact else float
    quota = [[number(0)], [number(10) / 30], [number(10) / 30]] + [[number(0)]] * 3
    rule = BeyondQuota(np.array(quota, dtype=object if exact else float), exact)
    follows_use = risen(pool, rule, exact=exact)
    assert follows_use.totals.to_numpy(dtype=float) == pytest.approx([40 / 3, 32 / 3, 6], rel=1e-9)
    assert follows_use.rounds["level"].tolist() == pytest.approx([1 / 30, 1 / 9], rel=1e-9)
    # what b's second user has counts for b, of which a third is a's, or for nobody
    for counted, tasks, last in ((True, [10, 14, 6], 1 / 3), (False, [8, 16, 6], 4 / 15)):
        dominant = risen(pool, LargestShare(), exact=exact, counted=counted)
        assert dominant.totals.to_numpy(dtype=float) == pytest.approx(tasks, rel=1e-9)
        assert dominant.rounds["level"].tolist() == pytest.approx([1 / 5, last], rel=1e-9)


class FirstShareIsFree(BeyondQuota):
    """The same by levels that count from nothing: within its quota a node goes before others."""

    follows_use = False


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_a_path_goes_on_where_its_rule_has_a_kink(exact, counted):
    """Queue a has 10 of 30 for nothing; then its users and bob share alike."""
    pool = fairlp.Instance.from_arrays([[1]] * 3, [[30]], queue=["a", "a", ""])
    number = Fraction if exact else float
    quota = [[number(0)], [number(10) / 30]] + [[number(0)]] * 3
    rule = FirstShareIsFree(np.array(quota, dtype=object if exact else float), exact)
    answer = risen(pool, rule, exact=exact, counted=counted)
    assert answer.totals.to_numpy(dtype=float) == pytest.approx([10, 10, 10], rel=1e-9)
    assert answer.certify()


class FirstComeFirstServed(LargestShare):
    """Queues share by weights; inside each one the first user that can rise does alone."""

    def __init__(self, queues):
        self.queues = queues

    def rank(self, nodes, usage, growth):
        return np.where(nodes < self.queues, 0, nodes)


@pytest.mark.parametrize("exact", [False, True])
def test_a_rank_lets_the_first_of_siblings_rise_alone(exact):
    """Queues of weights 1 and 2 have 10 and 20; a1 takes 4 of 10, b1 needs all that b has."""
    pool = fairlp.Instance.from_arrays(
        [[1]] * 4,
        [[30]],
        queue=["a", "a", "b", "b"],
        queues={"a": 1, "b": 2},
        task_limits=[4, np.inf, np.inf, np.inf],
    )
    answer = risen(pool, FirstComeFirstServed(len(pool.queues)), counted=True, exact=exact)
    assert answer.totals.to_numpy(dtype=float) == pytest.approx([4, 6, 20, 0], rel=1e-9, abs=1e-12)
    assert answer.certify()


def test_users_are_nodes_after_the_queues_in_their_order():
    """A rule with numbers of its own: the second user counts double."""
    pool = fairlp.Instance.from_arrays([[1]] * 3, [[30]], queue=["", "a", "a"])

    class Double(fairlp.NodeRule):
        def measures(self, usage):
            factor = np.ones((len(usage), 1), dtype=int)
            factor[list(pool.queues).index("a") + 2] = 2
            return (usage * factor,)

    answer = risen(pool, Double(), exact=True)
    assert answer.totals.tolist() == [15, 5, 10]


@settings(max_examples=many(30), deadline=None)
@given(SEEDS)
def test_one_who_has_a_little_less_than_the_rule_gives_is_not_proved_in_rationals(seed):
    instance = tree_instance(np.random.default_rng(seed))
    answer = risen(instance, SumOfShares(), exact=True)
    rounds = [k for k, (_, blocked) in enumerate(answer.reached) if blocked.any()]
    if not rounds:
        return
    last = rounds[-1]
    tasks, blocked = answer.reached[last]
    n = int(np.flatnonzero(blocked)[0])
    fewer = tasks.copy()
    fewer[n] *= 1 - Fraction(1, 10**30)
    reached = [*answer.reached[:last], (fewer, blocked), *answer.reached[last + 1 :]]
    proof = replace(answer, reached=reached).certify()
    assert not proof and "one can have more" in proof.message


def test_the_certificate_asks_where_each_user_came_to():
    """Ann is blocked in the first round and carl, who needs none of that, in the second."""
    cluster = fairlp.Instance.from_arrays(
        [[1, 0], [1, 0], [0, 1]], [[10, 30]], users=["ann", "bob", "carl"], queue=["", "q", "q"]
    )
    answer = risen(cluster, LargestShare())
    assert answer.certify() and len(answer.rounds) == 2

    def changed(user, factor):
        tasks = answer.tasks.copy()
        tasks.loc[user] *= factor
        (first, blocked), (_, blocked_last) = answer.reached
        totals = tasks.sum(axis=1)
        reached = [(first, blocked), (totals.to_numpy(), blocked_last)]
        return replace(answer, tasks=tasks, totals=totals, reached=reached)

    assert changed("ann", 1.0).certify()
    message = "user 'ann' has not what it had when it stopped, nor all its tasks"
    assert message in changed("ann", 0.9999).certify().message
    assert "one can have more" in changed("carl", 0.9999).certify().message
    assert "not feasible" in changed("carl", 1.0001).certify().message
    totals = answer.totals * [1, 1, 0.9999]
    assert "'carl' has not what it had" in replace(answer, totals=totals).certify().message
    (first, blocked), (last, _) = answer.reached
    never_blocked = [(first, blocked), (last, np.zeros(3, dtype=bool))]
    assert "'carl'" in replace(answer, reached=never_blocked).certify().message


def test_a_rule_may_divide_in_rationals():
    """Also where a node uses nothing of a resource, and before anybody has a task."""

    class PartOfSum(fairlp.NodeRule):
        def measures(self, usage):
            return ((usage / 7).sum(axis=1, keepdims=True),)

    instance = fairlp.Instance.from_arrays(
        [[1, 0], [0, 1], [2, 1]], [[9, 7]], queue=["a", "a", "b"]
    )
    by_sums = risen(instance, SumOfShares(), exact=True)
    assert risen(instance, PartOfSum(), exact=True).totals.tolist() == by_sums.totals.tolist()


def test_a_rule_with_floats_is_refused_in_rationals():
    class Priced(fairlp.NodeRule):
        def __init__(self, prices):
            self.prices = np.array(prices)[:, None]

        def measures(self, usage):
            return (usage @ self.prices,)

    pool = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[10, 10]])
    prices = [Fraction(3, 10), Fraction(7, 10)]
    exact = risen(pool, Priced(prices), exact=True)
    # a task costs 1.7 and 1.3; the first resource is used up: 13 + 2·17 = 47
    assert exact.totals.tolist() == [Fraction(130, 47), Fraction(170, 47)]
    floats = risen(pool, Priced([0.3, 0.7]))
    assert floats.totals.to_numpy() == pytest.approx([130 / 47, 170 / 47], rel=1e-9)
    with pytest.raises(ModelError, match=r"in rationals, RulePath gives .*; expected whole"):
        risen(pool, Priced([0.3, 0.7]), exact=True)
    with pytest.raises(NotImplementedError, match="NodeRule does not say its measures"):
        risen(pool, fairlp.NodeRule())


@pytest.mark.parametrize("exact", [False, True])
def test_users_who_cannot_rise_have_what_they_begin_with(exact):
    """All have their tasks by guarantee, or may have none: no round, and yet a proof."""
    cluster = fairlp.Instance.from_arrays(
        [[1], [1], [1]],
        [[10]],
        queue=["a", "", ""],
        queues={"a": {"guarantee": {"resource1": 4}}},
        task_limits=[3, 0, 0],
    )
    answer = risen(cluster, LargestShare(), exact=exact)
    assert answer.totals.to_numpy(dtype=float) == pytest.approx([3, 0, 0], rel=1e-12)
    assert answer.tasks["server1"].tolist() == pytest.approx([3, 0, 0], rel=1e-12)
    assert answer.rounds.empty and answer.certify()
