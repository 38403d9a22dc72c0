"""Which properties α-fairness has, by α: counterexamples that ship where it lacks them, audits where it has them."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from fairlp.auditing.promises import BY_OPTION, CONDITIONS, by_option, entries
from fairlp.auditing.search import random_instance
from fairlp.errors import UnknownNameError
from fairlp.mechanisms.table import TABLE
from fairlp.tolerances import SHRINKING_MARGIN
from profiles import by_day, many

ENTRIES = entries(BY_OPTION)
#: (property, α) of each instance that ships, found by the search and simplified by it
BROKEN = [
    (wanted, one["options"]["alpha"])
    for (_, wanted), entry in ENTRIES.items()
    for one in entry["broken"]
]
#: (property, α, condition on instances): what is proved in docs/results.md, or is the max-min
#: mechanism's
KEPT = [
    (wanted, one["alpha"], tuple(entry["conditions"]))
    for (_, wanted), entry in ENTRIES.items()
    for one in entry["kept"]
]


def audited(instance, alpha, wanted, tries=60):
    return fairlp.audit(
        instance, fairlp.allocate(instance, "alpha-fair", alpha=alpha), [wanted], tries=tries
    ).iloc[0]


@pytest.mark.parametrize(("wanted", "alpha"), by_day(BROKEN, 2))
def test_what_is_broken_has_an_instance_that_shows_it(wanted, alpha):
    instance = fairlp.counterexample("alpha-fair", wanted, options={"alpha": alpha})
    assert instance.name == f"alpha-fair with alpha = {alpha} breaks {wanted}"
    found = audited(instance, alpha, wanted)
    assert found.holds is False and found.margin < -SHRINKING_MARGIN
    entry = ENTRIES["alpha-fair", wanted]
    if alpha in [
        one["alpha"] for one in entry["kept"]
    ]:  # it holds under a condition, which this is not in
        assert (
            not all(CONDITIONS[name](instance) for name in entry["conditions"])
            and entry["conditions"]
        )


@pytest.mark.filterwarnings("ignore::fairlp.errors.OversizedTaskWarning")
@pytest.mark.parametrize(("wanted", "alpha", "conditions"), KEPT)
def test_what_is_proved_is_found_on_random_instances(wanted, alpha, conditions):
    rng, checked = np.random.default_rng(11), 0
    servers = 1 if "all run on one server" in conditions else 3
    for _ in range(many(16)):
        instance = random_instance(rng, TABLE["alpha-fair"], wanted, 4, servers, 3)
        if all(CONDITIONS[name](instance) for name in conditions):
            checked += 1
            assert audited(instance, alpha, wanted, tries=many(60)).holds is not False
    assert checked


def test_the_table_says_for_which_alpha():
    table = fairlp.promises(mechanisms=["alpha-fair", "ceei"])
    assert table.by_option["ceei"].eq("").all()
    ours = table.by_option["alpha-fair"]
    assert set(ours.index) == {wanted for _, wanted in ENTRIES}
    assert (
        ours["envy-free"] == "alpha >= 1; no: alpha = 0.5" == by_option("alpha-fair", "envy-free")
    )
    assert ours["strategy-proof"] == "alpha = inf; no: alpha = 0.5, alpha = 2"
    assert ours["Pareto-optimal"] == "every alpha"
    # what is said of the default, 1, and what is said by α agree
    for _, row in table.loc["alpha-fair"].iterrows():
        holds = row.by_option.partition(";")[0]
        assert row.standing.startswith("stands") == (
            holds in ("alpha = 1", "alpha >= 1", "every alpha", "alpha > 0")
        )


def test_at_infinity_it_is_what_the_max_min_mechanism_promises():
    fairest = fairlp.promises(mechanisms=["drfh"]).loc["drfh"]
    kept = {wanted for (_, wanted), entry in ENTRIES.items() if {"alpha": "inf"} in entry["kept"]}
    assert set(fairest.index[fairest.standing.str.startswith("stands")]) == kept - {
        "sharing incentive"
    }


def test_options_of_no_instance_are_refused_with_those_that_have_one():
    with pytest.raises(
        UnknownNameError, match=r"with alpha = 3 breaks 'envy-free' \(known with: alpha = 0.5\)"
    ):
        fairlp.counterexample("alpha-fair", "envy-free", options={"alpha": 3})
    with pytest.raises(UnknownNameError, match="known with: none"):
        fairlp.counterexample("drfh", "envy-free", options={"alpha": 3})
