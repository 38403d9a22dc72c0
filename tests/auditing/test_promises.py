"""The table mechanism × property: no cell says that something holds beside an instance on which it does not."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import fairlp
from audit_cases import failing, fails, rated
from fairlp import Instance
from fairlp.auditing import promises
from fairlp.auditing.promises import (
    BY_OPTION,
    CONDITIONS,
    CONTROLLED,
    OUR_RESULTS,
    SHIPPED,
    Claim,
    by_option,
    claims,
    count_broken,
    entries,
)
from fairlp.auditing.search import Search, as_entitlements, random_instance
from fairlp.errors import (
    FairlpWarning,
    InstanceError,
    UnknownNameError,
)
from fairlp.mechanisms.own import OWN
from fairlp.mechanisms.table import TABLE
from fairlp.tolerances import SHRINKING_MARGIN
from profiles import PROFILE, by_day, many

EVERY = fairlp.promises()


#: what the table says → whether it is promised, has a condition, has a counterexample
KINDS = {
    "stands": {(True, False, False), (True, True, False)},
    "stands under its condition": {(True, True, True)},
    "refuted": {(True, False, True), (True, True, True)},
    "not promised": {(False, False, True)},
}


@pytest.mark.parametrize("cell", by_day(EVERY.index, 9), ids=lambda cell: f"{cell[0]}, {cell[1]}")
def test_no_cell_contradicts_itself(cell):
    mechanism, property_name = cell
    row = EVERY.loc[cell]
    assert (row.promised, bool(row.condition), bool(row.counterexample)) in KINDS[row.standing]
    assert bool(row.source) == row.promised
    stated = claims(TABLE[mechanism]).get(property_name)
    # what the row of the mechanism lists holds as far as we know; what is refuted is not among it
    assert (stated is not None) == row.standing.startswith("stands")
    promised_texts = fairlp.mechanisms().promises[mechanism].split(", ")
    texts = [
        text
        for text in promised_texts
        if text == property_name or text.startswith((f"{property_name} if ", f"{property_name} ("))
    ]
    assert len(texts) == (stated is not None) and all(row.condition in text for text in texts)
    if row.counterexample:
        instance = fairlp.counterexample(mechanism, property_name)
        assert instance.name == row.counterexample
        verdict = fairlp.audit(
            instance, fairlp.allocate(instance, mechanism), property_name, tries=100
        ).iloc[0]
        assert verdict.holds is False and verdict.margin < -1e-3 and verdict.witness
        assert stated is None or not stated.covers(instance)


def test_every_counterexample_has_a_cell():
    from fairlp.auditing.promises import SHIPPED, entries

    assert set(entries(SHIPPED)) == set(EVERY.index[EVERY.counterexample != ""])


def test_every_promise_of_every_row_has_a_cell():
    stated = {(name, property_name) for name, row in TABLE.items() for property_name in claims(row)}
    assert stated == set(EVERY.index[EVERY.standing.str.startswith("stands")])


# two take minutes; lies under partial allocation are tried in fractions in its own tests
SLOW = {"drf-milp", "partial-allocation"}
AUDITED = sorted(set(EVERY.index[EVERY.promised].get_level_values(0)) - SLOW)


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("mechanism", by_day(AUDITED, 8))
def test_promises_hold_on_random_instances_or_are_refuted(mechanism, seed):
    """Four audits each here, all with something to check, under the condition; benchmarks/audits.py makes 500."""
    audits = many(4)
    frame = fairlp.promises(audits, seed=seed, mechanisms=[mechanism])
    assert (frame.audited[frame.promised] == audits).all()
    assert (frame.broken[frame.standing != "refuted"] == 0).all()
    assert (frame.audited[~frame.promised] == 0).all()


@pytest.mark.parametrize("name", ["njc", "ceei"])
def test_promises_of_entitlements_hold_where_all_instances_have_some(name):
    row = TABLE[name]
    for property_name, claim in claims(row).items():

        def entitled(rng, property_name=property_name):
            instance = random_instance(rng, row, property_name, 4, 3, 3)
            entitlements = as_entitlements(rng.integers(1, 10, len(instance.users)))
            return instance.derived(entitlements=entitlements)

        tally = count_broken(name, property_name, many(40), 3, Search(generator=entitled))
        assert not claim.conditions and tally.audited == many(40) and tally.broken == 0


def test_a_search_draws_entitlements_for_those_who_share_by_them():
    rng = np.random.default_rng(0)
    drawn = [random_instance(rng, TABLE["njc"], "envy-free", 4, 3, 3) for _ in range(60)]
    assert 5 < sum(instance.entitlements is not None for instance in drawn) < 40
    drawn = [random_instance(rng, TABLE["drf"], "envy-free", 4, 3, 3) for _ in range(60)]
    assert all(instance.entitlements is None for instance in drawn)


@pytest.mark.slow
def test_what_is_refuted_says_who_promised_it():
    """Table I of Khamse-Ashari et al. gives TSF the sharing incentive, which by their definition it lacks."""
    refuted = EVERY[EVERY.standing == "refuted"]
    lies = {("h-drf", "strategy-proof"), ("h-drf", "group strategy-proof")}
    assert set(refuted.index) == {("tsf", "sharing incentive"), ("njc", "strategy-proof"), *lies}
    assert set(refuted.loc["h-drf"].source) == {"Bhattacharya et al., SoCC 2013"}
    assert (
        refuted.loc[("tsf", "sharing incentive")].source
        == "Khamse-Ashari et al., ICC 2017, Table I"
    )
    assert "Dolev" in refuted.loc[("njc", "strategy-proof")].source
    assert "sharing incentive" not in fairlp.mechanisms().promises["tsf"]
    assert count_broken("tsf", "sharing incentive", 300, 0).broken > 0


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "asset", "drfh"])
def test_population_monotonicity_needs_positive_demands(mechanism):
    cell = EVERY.loc[(mechanism, "population-monotonic")]
    assert (
        cell.condition == "all demands are positive and no queue has a guarantee or a cap"
        and cell.standing == "stands under its condition"
    )
    assert (fairlp.counterexample(mechanism, "population-monotonic").demands == 0).any()
    assert count_broken(mechanism, "population-monotonic", many(30), 5)[1] == 0
    assert (
        "population-monotonic if all demands are positive"
        in fairlp.mechanisms().promises[mechanism]
    )


#: Ten CPUs for two equal users, and a cap of one on the queue of the first: 1 and 9.
CAPPED = Instance.from_arrays(
    [[1], [1]],
    [[10]],
    users=["ann", "bob"],
    resources=["cpu"],
    queue=["a", None],
    queues={"a": {"cap": {"cpu": 1}}},
)
#: A guarantee of most of r1 to a queue whose user needs r2 alone, until it says otherwise.
GUARANTEED = Instance.from_arrays(
    [[0, 1], [0, 1]],
    [[1, 1]],
    users=["liar", "bob"],
    resources=["r1", "r2"],
    queue=["q", None],
    queues={"q": {"guarantee": {"r1": 0.9}}},
)
#: When b leaves, a has the guarantee of their queue alone, and c loses.
LEAVING = Instance.from_arrays(
    [[1, 1], [1, 0.1], [0.1, 1]],
    [[10, 10]],
    users=["a", "b", "c"],
    resources=["r1", "r2"],
    queue=["q", "q", None],
    queues={"q": {"guarantee": {"r1": 8}}},
)


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "drfh", "c-drfh", "tsf", "cdrf"])
def test_a_cap_breaks_envy_freeness_and_the_sharing_incentive(mechanism):
    allocation = fairlp.allocate(CAPPED, mechanism)
    assert allocation.totals.tolist() == pytest.approx([1, 9])
    properties = ["envy-free", "sharing incentive"]
    assert fairlp.audit(CAPPED, allocation, properties).holds.tolist() == [False, False]
    for name, claim in claims(TABLE[mechanism]).items():
        assert not claim.covers(CAPPED) or name not in properties


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "drfh", "c-drfh", "tsf", "cdrf"])
def test_a_guarantee_breaks_strategy_proofness(mechanism):
    """The truth gives half; who claims both resources has the guarantee."""
    truth = fairlp.allocate(GUARANTEED, mechanism).totals
    lie = fairlp.allocate(GUARANTEED.replace(demands=[[1, 1], [0, 1]]), mechanism).totals
    assert truth["liar"] == pytest.approx(0.5) and lie["liar"] == pytest.approx(0.9)
    assert not claims(TABLE[mechanism])["strategy-proof"].covers(GUARANTEED)


@pytest.mark.parametrize("mechanism", ["drf", "edrf", "drfh"])
def test_a_guarantee_breaks_population_monotonicity(mechanism):
    with_b = fairlp.allocate(LEAVING, mechanism).totals["c"]
    without_b = fairlp.allocate(LEAVING.select_users([0, 2]), mechanism).totals["c"]
    assert with_b == pytest.approx(4.761905, abs=1e-6) and without_b == pytest.approx(2)
    assert not claims(TABLE[mechanism])["population-monotonic"].covers(LEAVING)


@pytest.mark.parametrize("mechanism", ["drf", "drfh", "tsf"])
def test_a_past_breaks_what_compares_one_period(mechanism):
    """Whoever had much before waits now: equal users then have unequal tasks."""
    equal = Instance.from_arrays([[1], [1]], [[10]], users=["ann", "bob"], resources=["cpu"])
    allocation = fairlp.allocate(equal, mechanism, state=pd.Series({"ann": 0.4, "bob": 0.0}))
    assert fairlp.audit(equal, allocation, "envy-free").holds.iloc[0] is False
    claim = claims(TABLE[mechanism])["envy-free"]
    assert claim.covers(equal) and not claim.covers(equal, allocation.parameters)


def test_bottleneck_fairness_has_two_definitions():
    """The instance on which DRFH breaks that of Khamse-Ashari et al. is none of Wang, Li and Liang's."""
    instance = fairlp.counterexample("drfh", "bottleneck")
    findings = fairlp.audit(
        instance, fairlp.allocate(instance, "drfh"), ["bottleneck", "global bottleneck"]
    )
    assert findings.holds["bottleneck"] is False and findings.holds["global bottleneck"] is None
    assert findings.witness["global bottleneck"].startswith("nothing to check: ")
    share = instance.demands / instance.pool  # their global dominant resources differ
    assert share.argmax(axis=1).tolist() == [0, 1] and (np.ptp(share, axis=1) > 0).all()
    assert EVERY.loc[("drfh", "global bottleneck")].standing == "stands"
    assert EVERY.loc[("drfh", "bottleneck")].standing == "not promised"
    # and the other way round: of the pool both need memory most, on each server they do not
    other = fairlp.counterexample("psdsf-rdm", "global bottleneck")
    findings = fairlp.audit(
        other, fairlp.allocate(other, "psdsf-rdm"), ["bottleneck", "global bottleneck"]
    )
    assert (
        findings.holds["global bottleneck"] is False and findings.holds["bottleneck"] is not False
    )
    assert (
        fairlp.audit(other, fairlp.allocate(other, "drfh"), "global bottleneck").holds.iloc[0]
        is True
    )


ALONE = Instance.from_arrays([[1, 2]], [[4, 4]])


@pytest.mark.parametrize(
    "property_name",
    ["envy-free", "population-monotonic", "single-resource", "envy-free up to one own task"],
)
def test_what_has_nothing_to_check_is_not_called_kept(property_name):
    allocation = fairlp.allocate(ALONE, "drf-discrete" if "task" in property_name else "drf")
    verdict = fairlp.audit(ALONE, allocation, property_name).iloc[0]
    assert (
        verdict.holds is None
        and np.isnan(verdict.margin)
        and verdict.witness.startswith("nothing to check: ")
    )


@pytest.mark.slow
def test_what_has_nothing_to_check_is_not_counted():
    pair_instance = Instance.from_arrays([[2, 1], [1, 2]], [[4, 4]])
    findings = fairlp.audit(
        pair_instance,
        fairlp.allocate(pair_instance, "drf"),
        ["bottleneck", "global bottleneck", "single-resource"],
    )
    assert findings.holds.tolist() == [None] * 3 and findings.margin.isna().all()
    # it is about whole tasks, and there are none: nothing is audited, and nothing is said to be
    # kept
    assert count_broken("drf", "envy-free up to one own task", 1, 0)[:2] == (0, 0)


def test_claims_are_read_as_rows_write_them():
    claim = Claim.of(
        "envy-free if all weights are equal and no user has a task limit (ours)", "somebody"
    )
    assert claim == Claim(
        "envy-free", ("all weights are equal", "no user has a task limit"), OUR_RESULTS
    )
    equal = Instance.from_arrays([[1], [1]], [[2]])
    assert (
        claim.covers(equal)
        and claim.standing(equal) == "refuted"
        and claim.standing(None) == "stands"
    )
    for other in (
        equal.derived(weights=np.array([1.0, 2.0])),
        equal.derived(task_limits=np.array([1.0, np.inf])),
    ):
        assert not claim.covers(other) and claim.standing(other) == "stands under its condition"
    with pytest.raises(UnknownNameError, match="did you mean 'all weights are equal'"):
        Claim.of("envy-free if all weights are equals", "somebody")
    with pytest.raises(UnknownNameError, match="did you mean 'envy-free'"):
        Claim.of("envy-fre", "somebody")


def test_conditions_are_what_they_say():
    pair_instance = Instance.from_arrays([[1, 1], [1, 1]], [[2, 2]])
    other = {
        "all demands are positive": Instance.from_arrays([[1, 0], [1, 1]], [[2, 2]]),
        "a task needs at most one unit of each resource": Instance.from_arrays(
            [[1, 2], [1, 1]], [[2, 2]]
        ),
        "anyone may run anywhere": Instance.from_arrays(
            [[1], [1]], [[2], [2]], eligible=[[1, 0], [1, 1]]
        ),
        "no rates are given": pair_instance.derived(rates=np.ones((2, 1))),
        "all weights are equal": pair_instance.derived(weights=np.array([[1.0, 1.0], [1.0, 2.0]])),
        "no user has a task limit": pair_instance.derived(task_limits=np.array([1.0, np.inf])),
        "all run on one server": pair_instance.derived(counts=np.array([2])),
        "each round has one server": pair_instance.derived(counts=np.array([2])),
        "an equal part keeps no job busy for more than all its time": pair_instance.derived(
            counts=np.array([2])
        ),
        "no entitlements are given": pair_instance.derived(entitlements=np.array([0.5, 0.5])),
        "no queue has a guarantee or a cap": pair_instance.replace(
            queues={"a": {"cap": {"resource1": 1}}}
        ),
        "no resource has several flavors": pair_instance.replace(
            queues={"a": {"nominal": {"resource1": 1, "resource1@resource2 > 1": 1}}}
        ),
    }
    assert set(other) == set(CONDITIONS)
    for name, holds in CONDITIONS.items():
        assert holds(pair_instance) and not holds(other[name])
    assert CONDITIONS["no queue has a guarantee or a cap"](pair_instance.replace(queues={"a": 2}))


@pytest.mark.slow
def test_a_promise_of_which_nothing_was_audited_does_not_stand(equal_time):
    """Without rates nothing is known of the promise, and that is what the table says."""

    def without_rates(rng):
        return Instance.from_arrays(rng.integers(1, 5, (3, 2)), rng.integers(5, 13, (2, 2)))

    assert fairlp.promises(mechanisms=[equal_time]).standing.tolist() == ["stands", "stands"]
    frame = fairlp.promises(1, mechanisms=[equal_time], generator=without_rates)
    assert frame.audited.tolist() == [0, 0]
    assert frame.standing.tolist() == ["0 of 200 instances in its domain"] * 2
    frame = fairlp.promises(3, mechanisms=[equal_time], generator=rated)
    assert frame[["standing", "audited", "broken"]].to_numpy().tolist() == [["stands", 3, 0]] * 2
    table = fairlp.promises(
        1, mechanisms=["drf"], generator=lambda rng: Instance.from_arrays([[1.0]], [[4.0]])
    )
    assert (
        table.standing["drf", "envy-free"]
        == "nothing to check on 200 of 200 instances in its domain"
    )
    with pytest.raises(InstanceError, match="expected an Instance"):
        fairlp.promises(1, mechanisms=["drf"], generator=lambda rng: rng)


def test_a_promise_that_audits_break_does_not_stand():
    @fairlp.mechanism("first-come", promises=("envy-free", "Pareto-optimal"))
    def first_come(instance):
        return np.where(np.arange(len(instance.users))[:, None] == 0, instance.gamma(), 0.0)

    frame = fairlp.promises(5, mechanisms=[first_come])
    assert (frame.broken > 0).all() and set(frame.standing) == {"broken by audits"}


def slow(instance):
    time.sleep(0.05)
    return instance.gamma() / len(instance.users)


@pytest.mark.slow
def test_what_the_time_limit_left_out_is_said():
    slow_mechanism = fairlp.mechanism("slow", promises=("envy-free", "sharing incentive"))(slow)
    with pytest.warns(
        FairlpWarning, match=r"time limit of 0.3 s .* 2 of 2 promises .* fewer than 50 instances"
    ):
        answer = fairlp.promises(50, mechanisms=[slow_mechanism], time_limit=0.3)
    assert 0 < answer.audited.iloc[0] < 50
    assert answer[["standing", "audited"]].to_numpy().tolist()[1] == [
        "not audited: the time was up",
        0,
    ]
    with pytest.warns(
        FairlpWarning, match=r"time limit of 0.3 s ended the search: looked at \d of 50 instances"
    ):
        assert (
            fairlp.counterexample(
                slow_mechanism, "envy-free", search=True, tries=50, time_limit=0.3
            )
            is None
        )
    with pytest.warns(FairlpWarning, match="what was found could be simpler"):
        answer = fairlp.counterexample(
            slow_mechanism, "Pareto-optimal", search=True, time_limit=0.3
        )
    assert answer is not None
    with pytest.raises(InstanceError, match="time_limit is 0; expected seconds above 0"):
        fairlp.promises(1, time_limit=0)


def test_failures_are_counted_and_a_mechanism_that_always_fails_does_not_stand():
    def free(rng):
        return Instance.from_arrays(rng.integers(1, 5, (3, 2)), rng.integers(5, 13, (2, 2)))

    row = fairlp.promises(6, mechanisms=[failing(7)], generator=free).iloc[0]
    assert (
        row[["standing", "audited", "broken"]].tolist() == ["stands", 6, 0]
        and 7 <= row.failed <= 21
    )
    row = fairlp.promises(2, mechanisms=[failing(10)], generator=free).iloc[0]
    assert row[["audited", "failed"]].tolist() == [0, 400]
    assert row.standing == "failed on all of 400 instances: planted"
    assert fairlp.promises(2, mechanisms=["drf"]).failed.sum() == 0


ENTRIES = {key: entry for key, entry in entries(BY_OPTION).items() if key[0] == "alpha-fair"}


#: (property, α) of each instance that ships, found by the search and simplified by it
BROKEN = [
    (property_name, options_row["options"]["alpha"])
    for (_, property_name), entry in ENTRIES.items()
    for options_row in entry["broken"]
]


#: (property, α, condition on instances): what is proved in docs/results.md, or is the max-min
#: mechanism's
KEPT = [
    (property_name, options_row["alpha"], tuple(entry["conditions"]))
    for (_, property_name), entry in ENTRIES.items()
    for options_row in entry["kept"]
]


def audited(instance, alpha, property_name, tries=60):
    return fairlp.audit(
        instance, fairlp.allocate(instance, "alpha-fair", alpha=alpha), [property_name], tries=tries
    ).iloc[0]


@pytest.mark.parametrize(("property_name", "alpha"), by_day(BROKEN, 2))
def test_what_is_broken_has_an_instance_that_shows_it(property_name, alpha):
    instance = fairlp.counterexample("alpha-fair", property_name, options={"alpha": alpha})
    assert instance.name == f"alpha-fair with alpha = {alpha} breaks {property_name}"
    verdict = audited(instance, alpha, property_name)
    assert verdict.holds is False and verdict.margin < -SHRINKING_MARGIN
    entry = ENTRIES["alpha-fair", property_name]
    if alpha in [
        options_row["alpha"] for options_row in entry["kept"]
    ]:  # it holds under a condition, which this is not in
        assert (
            not all(CONDITIONS[name](instance) for name in entry["conditions"])
            and entry["conditions"]
        )


@pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")
@pytest.mark.parametrize(("property_name", "alpha", "conditions"), KEPT)
def test_what_is_proved_is_found_on_random_instances(property_name, alpha, conditions):
    rng, checked = np.random.default_rng(11), 0
    servers = 1 if "all run on one server" in conditions else 3
    for _ in range(many(16)):
        instance = random_instance(rng, TABLE["alpha-fair"], property_name, 4, servers, 3)
        if all(CONDITIONS[name](instance) for name in conditions):
            checked += 1
            assert audited(instance, alpha, property_name, tries=many(60)).holds is not False
    assert checked


LONG_POLICIES = ("proportional", "finish-time")
POLICIES = [
    (property_name, case["options"])
    for (mechanism, property_name), entry in entries(BY_OPTION).items()
    if mechanism == "gavel"
    for case in entry["broken"]
]


@pytest.mark.parametrize(
    ("property_name", "options"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case[1]["objective"] in LONG_POLICIES else ())
        for case in by_day(POLICIES, 3)
    ],
    ids=lambda value: value if isinstance(value, str) else value["objective"],
)
def test_what_a_policy_of_gavel_breaks_has_an_instance_that_shows_it(property_name, options):
    instance = fairlp.counterexample("gavel", property_name, options=options)
    allocation = fairlp.allocate(instance, "gavel", **options)
    finding = fairlp.audit(instance, allocation, property_name, tries=60).iloc[0]
    assert finding.holds is False and finding.margin < -SHRINKING_MARGIN


def test_the_table_says_for_which_alpha():
    table = fairlp.promises(mechanisms=["alpha-fair", "ceei"])
    assert table.by_option["ceei"].eq("").all()
    standings = table.by_option["alpha-fair"]
    assert set(standings.index) == {property_name for _, property_name in ENTRIES}
    assert (
        standings["envy-free"]
        == "alpha >= 1; no: alpha = 0.5"
        == by_option("alpha-fair", "envy-free")
    )
    assert standings["strategy-proof"] == "alpha = inf; no: alpha = 0.5, alpha = 2"
    assert standings["Pareto-optimal"] == "every alpha"
    # what is said of the default, 1, and what is said by α agree
    for _, row in table.loc["alpha-fair"].iterrows():
        holds = row.by_option.partition(";")[0]
        assert row.standing.startswith("stands") == (
            holds in ("alpha = 1", "alpha >= 1", "every alpha", "alpha > 0")
        )


def test_at_infinity_it_is_what_the_max_min_mechanism_promises():
    fairest = fairlp.promises(mechanisms=["drfh"]).loc["drfh"]
    promises = {
        property_name
        for (_, property_name), entry in ENTRIES.items()
        if {"alpha": "inf"} in entry["kept"]
    }
    assert set(fairest.index[fairest.standing.str.startswith("stands")]) == promises - {
        "sharing incentive"
    }


@pytest.mark.slow
def test_instances_on_which_the_solver_fails_do_not_count(monkeypatch):
    assert promises.count_broken("drf", "Pareto-optimal", 2, 0)[:2] == (2, 0)
    monkeypatch.setattr(promises, "allocate", fails)
    assert promises.count_broken("drf", "Pareto-optimal", 2, 0)[:2] == (0, 0)


#: (mechanism, property) of lies and Pareto-optimality that are known to fall; those that take a second and more.
KNOWN_TO_FALL = sorted(key for key in entries(SHIPPED) if key[1] in CONTROLLED)
MINUTES_TO_FALL = ("drf-milp",)
LONG_TO_FALL = (
    *("alpha-fair", "cdrf", "ceei", "drf-discrete", "drf-milp", "h-drf", "h-drf-counted"),
    *("mnw", "naive-drf", "njc", "oef", "psdsf-rdm", "sequential-minmax", "shockwave", "tsf"),
)


@pytest.mark.parametrize(
    ("mechanism", "property_name"),
    [
        pytest.param(
            *key,
            marks=(
                pytest.mark.slow if key[0] in LONG_TO_FALL and key[1] != "Pareto-optimal" else ()
            ),
        )
        for key in KNOWN_TO_FALL
        if key[0] not in MINUTES_TO_FALL or PROFILE == "nightly"
    ],
)
def test_each_mechanism_that_is_known_to_fall_is_seen_with_a_single_draw(mechanism, property_name):
    """Positive controls: without the instances that ship, 70 draws may not show it of h-drf."""
    assert count_broken(mechanism, property_name, 1, seed=0).broken


@pytest.mark.slow
def test_an_own_mechanism_that_is_one_known_to_fall_is_broken_by_audits():
    @fairlp.mechanism(
        "njc-again", promises=("strategy-proof if no queue has a guarantee or a cap",)
    )
    def njc_again(instance):
        return fairlp.allocate(instance, "njc").tasks_array

    try:
        table = fairlp.promises(audits=1, mechanisms=[njc_again], progress=False)
        assert table["standing"].tolist() == ["broken by audits"]
        honest = fairlp.promises(audits=1, mechanisms=["edrf"], progress=False)
        assert not honest["broken"].any()
    finally:
        OWN.pop("njc-again", None)


def test_a_generator_of_ones_own_is_all_that_is_audited():
    def alike(rng):
        return Instance.from_arrays([[1], [1]], [[4]])

    search = Search(generator=alike)
    assert count_broken("njc", "strategy-proof", 2, 0, search)[:2] == (2, 0)
