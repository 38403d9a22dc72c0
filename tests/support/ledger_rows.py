"""The ledger at its everyday size: each item is computed once in a process, when a test first asks for it."""

from __future__ import annotations

import re
from functools import cache

import pytest

import fairlp
from fairlp_research.papers import ItemRow, Ledger
from fairlp_research.papers.registry import Run
from fairlp_research.papers.reproducing import OURS
from paths import ROOT

ENTRIES = {item.key: item for paper in OURS.values() for item in paper.items.values()}
PAGE = ROOT / "docs" / "ledger.md"


#: Several items ask for the same audits of the same random instances.
COUNTED = cache(fairlp.auditing.count_broken)


@cache
def row(key, seed=0):
    entry = ENTRIES[key]
    with pytest.MonkeyPatch.context() as counted:
        counted.setattr(fairlp.auditing, "count_broken", COUNTED)
        return ItemRow(entry.paper.number, entry.item, entry.says, entry.compute(Run(seed=seed)))


def ledger(*keys):
    papers = dict.fromkeys(ENTRIES[key].paper for key in keys)
    return Ledger(tuple(row(key) for key in keys), "reduced", 0, tuple(papers))


@cache
def cells_of_the_page():
    """Paper and item → what the committed page says in its columns of what we get and of verdicts."""
    cells_of, paper = {}, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\d{3}): ", line):
            paper = heading[1]
        cells = re.split(r"(?<!\\)\|", line)
        if paper and len(cells) == 7 and cells[1].strip() not in ("item", "---"):
            cells_of[f"{paper} {cells[1].strip()}"] = cells[3].strip(), cells[4].strip()
    return cells_of


def verdicts_of_the_page():
    """Paper and item → the verdict on the committed page."""
    return {key: verdict for key, (_, verdict) in cells_of_the_page().items()}
