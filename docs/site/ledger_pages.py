"""The ledger by paper: docs/ledger.md, which a command writes, is too long for one page of the site."""

from __future__ import annotations

import re
from pathlib import Path

LEDGER = Path(__file__).parents[1] / "ledger.md"


def write_ledger(folder: Path) -> None:
    """Write a page for each paper: its items, and where it is not so."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (title, text) in _papers(LEDGER.read_text(encoding="utf-8")).items():
        text = text.replace("](figures/", "](../../figures/")
        verdicts = "What the verdicts mean: [the ledger](../../ledger.md)."
        (folder / f"{number}.md").write_text(f"# {title}\n\n{verdicts}\n{text}", encoding="utf-8")


def summary(page: str) -> str:
    """Return the page of the ledger for the site: what verdicts mean, counts, and a link to each paper."""
    papers = _papers(page)
    head = page[: page.index("\n## ", page.index("## In all"))]
    head = head.replace("it stands below", "it stands on the paper's page")
    for number, (title, _) in papers.items():
        author = title.split(",")[0].split(" and ")[0]
        head = head.replace(f"| {number} |", f"| [{author}, …](generated/ledger/{number}.md) |")
    listed = "\n".join(f"generated/ledger/{number}" for number in papers)
    return f"{head}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def _papers(page: str) -> dict[str, tuple[str, str]]:
    """Return the title of each paper and all that the page says of it, by number."""
    *sections, errata = re.split(r"^## ", page, flags=re.MULTILINE)
    heading, _, found = errata.partition("\n")
    papers = {}
    for section in sections:
        title, _, text = section.partition("\n")
        if number := re.match(r"(\d{3}): ", title):
            own = re.findall(rf"^\* \*\*{number[1]}, .*\n(?:  .*\n)*", found, re.MULTILINE)
            papers[number[1]] = title, f"{text}## {heading}\n\n{''.join(own)}" if own else text
    return papers
