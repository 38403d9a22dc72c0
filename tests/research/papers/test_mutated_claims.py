"""Each item's claim, made another in one place, is seen: no item passes whatever comes out."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from claim_mutants import claims, mutants, outcome
from fairlp_research.papers.registry import Run
from ledger_rows import ENTRIES, row, verdicts_of_the_page
from profiles import by_day

#: Verdicts of items that claim nothing.
NO_CLAIM = ("not checkable", "not reproduced")
#: Mutants that cannot be seen → why: they mean the same.
SAME = {
    "000 §5, repair | relation | _nothing_fits: instance.demands <= free": (
        "a unit is left, and user 1 needs one: the opposite lets users 2 and 3 in, who need six"
    ),
    **{
        f"000 Table {table} | relation | same_deviation: printed == 0": (
            "asked only where no two runs differ, and some do"
        )
        for table in (
            "1, demands 1–10",
            "1, demands 1–20",
            "1, demands 10–20",
            "2, demands 1–100",
            "2, demands 1–1000",
        )
    },
    "000 §5, number of operations | number | number_of_operations: 2": (
        "the printed formula differs from ours already, and by more than one"
    ),
    "002 Figure 5 | relation | figure_5: utilisation['best-fit'] > utilisation['first-fit']": (
        "so on one of the two draws, and the opposite on the other"
    ),
    "002 Figure 6b | relation | figure_6b: reductions.iloc[-1] > reductions.iloc[0]": (
        "so on one of the two draws, and the opposite on the other"
    ),
    "003 Table I, PS-DSF with time division | relation | _marks: counterexample_instance is not None": (
        "the second loop is of missing marks, and this column lacks none"
    ),
    "003 Theorem 1 | relation | _theorem_2: time.sum(axis=0) >= 1 - AUDIT": "of the other theorem",
    "003 Theorem 1 | relation | _theorem_2: level[time > AUDIT] <= "
    "np.broadcast_to(lowest, level.shape)[time > AUDIT] * (1 + AUDIT)": "of the other theorem",
    "003 Theorem 2 | relation | satisfies_theorem_1: instance.gamma() == 0": "of the other theorem",
    "003 Lemma 1 | relation | has_bottlenecks: used[r] == available[r]": (
        "the holders of what is used up, and of what is not, are the same users on both servers"
    ),
}
#: Items that take a second or more, with their mutants: by night.
LONG = (
    "000 Table",
    "000 §3.4, simplification",
    "001 Theorem 1, O(k)",
    "002 Figure 4",
    "002 Figure 5",
    "002 Figure 6",
    "002 Proposition 3",
    "002 §V-A",
    "003 Table I,",
    "004 §6, scheduling rule",
)


@dataclass(frozen=True)
class FewInstances(Run):
    """A run of eight instances of each statement."""

    def of(self, reduced, paper):
        return min(reduced, 8)


def is_seen(mutant, run):
    """Whether a mutant comes to something else than its item."""
    try:
        return outcome(mutant.compute(run)) != outcome(mutant.base)
    except IndexError:  # a witness is told where nothing is broken
        return True


def is_statement(item):
    """Whether an item checks a statement on random instances, of which few are enough here."""
    return hasattr(item.function, "__wrapped__")


@pytest.mark.parametrize("key", ENTRIES)
def test_an_item_has_claims_unless_it_says_that_nothing_can_be_checked(key):
    verdict = verdicts_of_the_page()[key.replace("|", "\\|")]
    assert bool(claims(ENTRIES[key])) == (not verdict.startswith(NO_CLAIM))


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in ENTRIES if not key.startswith(LONG)])
def test_a_claim_of_an_item_made_another_is_seen(key):
    item = ENTRIES[key]
    few = is_statement(item)
    run = FewInstances() if few else Run()
    base = item.compute(run) if few else row(key).answer
    visible = [mutant for mutant in mutants(item, base) if mutant.name not in SAME]
    for mutant in visible[:1]:
        assert is_seen(mutant, run), mutant.name


@pytest.mark.slow
@pytest.mark.parametrize("key", by_day(ENTRIES, 3))
def test_every_claim_made_another_is_seen_but_for_those_that_mean_the_same(key):
    unseen = {
        mutant.name
        for mutant in mutants(ENTRIES[key], row(key).answer)
        if not is_seen(mutant, Run())
    }
    assert unseen == {name for name in SAME if name.startswith(f"{key} | ")}


def test_what_means_the_same_is_a_claim_and_says_why():
    names = {
        f"{key} | {claim.kind} | {claim.name}"
        for key in ENTRIES
        for _, claim in claims(ENTRIES[key])
    }
    assert set(SAME) <= names and all(SAME.values())
