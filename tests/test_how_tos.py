"""How-to pages tell the truth: their ```python blocks run, from the top of the page to its end."""

from __future__ import annotations

import re

import pytest

from paths import ROOT

#: Pages of docs/ whose blocks are run; add a page here.
PAGES = ["editing-models.md", "own-mechanism.md", "own-back-end.md", "own-constraint.md", "report.md"]
PAGES += ["efficiency-and-fairness.md"]
PAGES += ["proofs.md", "pictures.md"]
PAGES += ["queues.md", "kubernetes.md", "slurm.md", "yarn.md", "mesos.md", "largest.md", "ledger.md", "library.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page):
    """The blocks of a page, with the number of the line that each begins after."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = blocks(page)
    assert len(found) >= 3 and (ROOT / "docs" / page).read_text(encoding="utf-8").count("```python") == len(found)
    names = {"__name__": "__main__"}
    for line, code in found:
        # empty lines before it, so that an error tells the line of the page
        exec(compile("\n" * line + code, page, "exec"), names)
