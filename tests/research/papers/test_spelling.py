"""Whatever people write for an item's name finds it, and nothing else."""

from __future__ import annotations

import pytest

from fairlp_research.papers.reproducing import OURS, find
from fairlp_research.papers.spelling import begins, numbers, plain

#: What is meant → ways to write it.
SPELLINGS = {
    "figure 3": "Figure 3; figure 3; FIGURE 3; Fig. 3; fig 3; Fig.3; figs. 3; Figure III; Fig. (3); Figure  3",
    "figure 6a": "Figure 6a; Fig. 6a; fig 6 a; Figure 6(a); Fig. 6 (a)",
    "table 4": "Table 4; TABLE IV; Tab. 4; tab 4; tbl. iv; Table iv; table no. 4",
    "equation 7": "(7); [7]; eq. (7); Eq (7); eqn. 7; Equation 7; equation (7); Formula (7); program (7); EQ.(7)",
    "algorithm 1": "Algorithm 1; Algorithm I; algorithm i; Alg. 1; algo 1; alg.1",
    "theorem 2": "Theorem 2; Thm. 2; thm 2; Theorem II; theorem #2; THEOREM 2",
    "lemma 1": "Lemma 1; lem. 1; lemma I",
    "proposition 7": "Proposition 7; Prop. 7; prop 7; Proposition VII",
    "corollary 1": "Corollary 1; Cor. 1",
    "definition 5": "Definition 5; Def. 5; Defn 5; def 5",
    "remark 4": "Remark 4; Rem. 4; Rmk 4; remark IV",
    "§3-a, example": "§III-A, example; Section III-A, example; sec. III.A, example; §3a, example; Sect. 3-A, example",
    "§6.1, example": "§6.1, example; 6.1, example; Section 6.1, example; s6.1, Example; sec 6.1, example",
    "§5, o(mn)": "§5, O(mn); Section 5, O(mn)",
}


@pytest.mark.parametrize("meant", SPELLINGS)
def test_spellings_of_one_name_are_one(meant):
    for spelling in SPELLINGS[meant].split("; "):
        assert plain(spelling) == meant, spelling


@pytest.mark.parametrize("number", range(1, 60))
def test_roman_numbers_are_numbers(number):
    roman = ""
    rest = number
    for value, letters in (
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ):
        roman += letters * (rest // value)
        rest %= value
    assert plain(f"Table {roman}") == f"table {number}"


@pytest.mark.parametrize(
    "key", [entry.key for paper in OURS.values() for entry in paper.items.values()]
)
def test_every_item_goes_by_its_own_name_in_any_case(key):
    paper, _, name = key.partition(" ")
    assert [entry.item for entry in find(paper, name)] == [name]
    assert [entry.item for entry in find(paper, name.upper())] == [name]


@pytest.mark.parametrize(
    "word", ["strategy-proofness", "fig", "example, starvation", "table of contents", "mix 3"]
)
def test_words_that_number_nothing_stay(word):
    assert plain(word) == word and not numbers(word)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Equations (32) to (36)", {f"equation {k}" for k in range(32, 37)}),
        ("Equations (13) and (39)", {"equation 13", "equation 39"}),
        ("Equations (1), (2) and (3)", {"equation 1", "equation 2", "equation 3"}),
        ("Definition 6, equations (12) and (19)", {"definition 6", "equation 12", "equation 19"}),
        ("Remarks 2 and 3", {"remark 2", "remark 3"}),
        ("Definitions 1–6", {f"definition {k}" for k in range(1, 7)}),
        ("§V-B, formula (9)", {"equation 9"}),
        ("Theorem 2, worst case", {"theorem 2"}),
        ("Table 2, demands 1–100", {"table 2"}),
    ],
)
def test_the_numbers_of_a_name_are_told_apart(name, expected):
    assert numbers(name) == expected


def test_a_number_begins_its_own_rows_only():
    assert begins("table 1", "table 1, tsf") and begins("figure 6", "figure 6b")
    assert not begins("table 1", "table 10") and not begins("fig", "figure 6b")
    assert not begins("equation 1", "equation 13")
