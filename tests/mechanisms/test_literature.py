"""Mechanisms know their papers."""

import re

import pytest

import fairlp
from fairlp.mechanisms.literature import REFERENCES, cited

NAMES = list(fairlp.mechanisms().index)


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_names_a_paper(name):
    row = fairlp.mechanisms(name.upper())
    assert row.name == name and row.references
    assert row.bibtex.count("\n@") + 1 == len(row.references)


def test_every_paper_is_of_a_mechanism():
    assert {reference for name in NAMES for reference in fairlp.mechanisms(name).references} == set(
        REFERENCES
    )


@pytest.mark.parametrize("paper", REFERENCES, ids=lambda paper: paper.key)
def test_entries_are_bibtex(paper):
    head, *fields, end = paper.bibtex.splitlines()
    assert re.fullmatch(r"@(article|inproceedings|misc)\{[a-z0-9_]+,", head) and end == "}"
    names = [re.fullmatch(r"  (\w+) = \{(.+)\},", line)[1] for line in fields]
    assert names[:3] == [
        "author",
        "title",
        {"article": "journal", "inproceedings": "booktitle", "misc": "note"}[paper.kind],
    ]
    assert len(set(names)) == len(names) and all(
        line.count("{") == line.count("}") for line in fields
    )
    assert not paper.doi or re.fullmatch(r"10\.\d{4,9}/\S+", paper.doi)
    assert not paper.link or paper.link.startswith("https://")
    assert (paper.year is None) == ("year" not in names)


def test_in_the_order_of_the_source():
    papers = cited("Dolev et al., ITCS 2012; Gutman and Nisan, AAMAS 2012")
    assert [paper.year for paper in papers] == [2012, 2012] and papers[0].author.startswith(
        "Danny Dolev"
    )
    assert cited("somebody, 2031") == ()
