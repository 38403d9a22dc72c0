"""Whatever people write for an item's name finds it, and nothing else."""

from __future__ import annotations

import pytest

from fairlp_research.papers.reproducing import OURS, find
from fairlp_research.papers.spelling import plain

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
