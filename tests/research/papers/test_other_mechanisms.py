"""Items that claim something of a mechanism notice where another one is put in its place."""

from __future__ import annotations

import pytest

from fairlp_research.papers.golden import GOLDEN, other_than
from fairlp_research.papers.registry import Run
from fairlp_research.papers.verdicts import Agreement
from ledger_rows import ENTRIES, row
from mechanism_swaps import OTHERS, others, with_another_mechanism

OF_A_MECHANISM = [key for key, item in ENTRIES.items() if set(item.of) & set(GOLDEN)]
#: Items that take a second or more.
LONG = ("000 Table", "000 §4", "002 Figure", "002 §V-A", "003 Figure 4")


@pytest.mark.parametrize("mechanism", GOLDEN)
def test_golden_numbers_tell_a_mechanism_from_one_that_stands_in(mechanism):
    assert not other_than(mechanism)
    with others() as swaps:
        told = other_than(mechanism)
    assert swaps.swapped == {mechanism} and f"is not {mechanism}" in told


@pytest.mark.parametrize("key", OF_A_MECHANISM)
def test_an_item_of_a_mechanism_differs_where_another_stands_in(key):
    _, answer = with_another_mechanism(ENTRIES[key], Run())
    assert answer is not None and answer.verdict is Agreement.DIFFERS
    assert "what is computed is not" in answer.ours


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in ENTRIES if not key.startswith(LONG)])
def test_every_item_that_asks_for_a_mechanism_answers_something_else_with_another(key):
    swaps, answer = with_another_mechanism(ENTRIES[key], Run())
    if not swaps.swapped or answer is None:
        return
    right = row(key).answer
    assert (answer.verdict, answer.ours) != (right.verdict, right.ours)


def test_mechanisms_that_stand_in_are_others():
    assert all(name not in stand_ins and stand_ins for name, stand_ins in OTHERS.items())
