"""Ledgers that were changed in one place: every file of theirs is written, or words say why not."""

from __future__ import annotations

import json

import pytest

from fairlp.errors import FairlpError, FileFormatError
from fairlp_research.papers import Ledger
from ledger_rows import ENTRIES, ledger
from mutants import mutant, replaced

#: Two items of words and numbers, and one with a figure.
KEYS = (*list(ENTRIES)[:2], "002 Figure 4")


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(ledger(*KEYS).to_dict()))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["json", "csv", "md"])
def test_a_changed_ledger_is_written_or_refused_in_words(document, tmp_path, suffix):
    written = 0
    for seed in range(150):
        row = document["rows"][seed % len(document["rows"])]
        changed = [mutant(document, seed), {**document, "rows": [mutant(row, seed)]}]
        for mutated in changed:
            try:
                written += (
                    Ledger.from_dict(mutated).write(tmp_path / f"l.{suffix}").stat().st_size > 0
                )
            except FairlpError as error:
                assert str(error)
    assert written > 0


@pytest.mark.slow
def test_a_line_of_a_figure_has_as_many_numbers_x_as_y(document):
    k = next(k for k, row in enumerate(document["rows"]) if row["chart"])
    place = ("rows", k, "chart", "lines", 0, "x")
    with pytest.raises(FileFormatError, match=r"has 1 numbers x and .* numbers y"):
        Ledger.from_dict(replaced(document, place, [1.0]))
