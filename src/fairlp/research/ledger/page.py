"""The ledger as a page of Markdown, and its charts as small SVG figures beside it."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ...models.files.whole_files import write_text
from ...tolerances import AUDIT
from .registry import Paper
from .result import Ledger, Row
from .verdicts import Chart

if TYPE_CHECKING:
    import pandas as pd

#: Where figures lie, from the page's folder.
FIGURES = "figures/ledger"

_HEAD = """# The ledger: what the papers print and prove, computed again

Every table, figure, numbered example, theorem, proposition and lemma of the papers 000 to 004 is an *item*: a small
function that computes it again and judges it. Of 005 the items are what is retold of it: two examples and its claims.
This page is written by `fairlp reproduce --write docs/ledger.md`{how}: what we get and the verdict are computed each
time; what the paper says, and why, are text.

```python
import fairlp

found = fairlp.reproduce("wang-2014", "Figure 3")  # a paper by number ("002") or name, an item in any case
print(found.table())
```

```python
row = found.rows[0]
row.verdict, row.answer.ours, row.answer.why
[(one.name, one.paper, one.ours, one.agrees) for one in row.answer.numbers]
```

```python
found.write("figure-3.json")  # also .csv, and .md as this page
fairlp.reproduce("001").counts()  # a whole paper; fairlp.reproduce() is everything, in seconds
```

From a shell: `fairlp reproduce`, `fairlp reproduce 003 "Table I"`, `--json`, `--csv`, `-o FILE`. `--scale paper` draws
as much as the papers did (Tables 1 and 2 of Metin by the study engine: `--folder` keeps the runs, so that one that was
stopped goes on; `--workers`, `--backend` and `--scheduler` say who does them), and looks at 50 to 5,000 instances for
what is proved. A paper then takes minutes, and the simulations of 002 about an hour (by a fifth of their size).

| verdict | means |
| --- | --- |
| equal | every number is the printed one, to {audit:g} of it; to half a unit of the last place where rounded (≈) |
| within noise | random runs and what is printed differ by no more than the 99 % interval of all that is compared |
| holds on n instances | a statement that no random instance broke; a proof it is not |
| refuted | an instance breaks it; it stands below |
| differs | numbers that are not the printed ones; both are shown |
| picture only | the paper prints no numbers; what of the picture we see is said |
| not reproduced | the paper's data (a trace) is not available; ours are shown beside |
| not checkable | nothing to compute, and why |

In the column "we get" numbers stand as they came out, to six digits.
"""


def markdown(ledger: Ledger) -> str:
    """Return the page."""
    how = "" if ledger.scale == "reduced" and ledger.seed == 0 else f" (scale {ledger.scale}, seed {ledger.seed})"
    parts = [_HEAD.format(how=how, audit=AUDIT), "## In all\n", _counts(ledger.counts())]
    parts += [_paper(paper, ledger.of(paper)) for paper in ledger.papers]
    parts.append(_errata(ledger))
    return "\n".join(parts)


def write_page(ledger: Ledger, target: Path) -> Path:
    """Write the page, and its figures into ``figures/ledger`` beside it."""
    charts = {file_of(row): row.answer.chart for row in ledger if row.answer.chart is not None}
    folder = target.parent / FIGURES
    if charts:
        folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        write_text(folder / name, drawn(chart))
    return write_text(target, markdown(ledger))


def file_of(row: Row) -> str:
    """Return the name of an item's figure.

    >>> from fairlp.research.ledger.verdicts import Answer, Verdict
    >>> file_of(Row("001", "Theorem 2, worst case", "", Answer(Verdict.EQUAL, "")))
    '001-theorem-2-worst-case.svg'
    """
    return re.sub(r"[^a-z0-9]+", "-", f"{row.paper} {row.item}".lower()).strip("-") + ".svg"


def drawn(chart: Chart) -> str:
    """Return a chart as SVG, the same bytes each time; what the paper printed is drawn as crosses."""
    from matplotlib import rc_context

    from ...plots.style import COLOURS, DASHES, new_figure

    with rc_context({"svg.hashsalt": "fairlp", "svg.fonttype": "none", "path.simplify": True}):
        figure = new_figure(6.0, 3.4)
        axis = figure.subplots()
        for k, line in enumerate(chart.lines):
            if line.printed:
                axis.plot(line.x, line.y, "x", color="black", markersize=8, label=line.label, zorder=9)
            else:
                colour, dash = COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]
                axis.plot(line.x, line.y, color=colour, linestyle=dash, label=line.label)
        axis.set(title=chart.title, xlabel=chart.xlabel, ylabel=chart.ylabel, ylim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize="small")
        target = BytesIO()
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().decode().splitlines())


def _counts(table: pd.DataFrame) -> str:
    names = [str(name) for name in table.columns]
    total = table.sum()
    lines = [f"| paper | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines += [
        f"| {paper} | {' | '.join(str(v) for v in row)} |"
        for paper, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    lines.append(f"| all | {' | '.join(str(v) for v in total)} |\n")
    return "\n".join(lines)


def _paper(paper: Paper, rows: list[Row]) -> str:
    lines = [f"## {paper.number}: {paper.title}\n", f"Names: {', '.join(f'`{name}`' for name in paper.names)}\n"]
    lines += ["| item | the paper says | we get | verdict | why |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (row.item, row.says, row.answer.ours, row.judgement, row.answer.why)
        lines.append(f"| {' | '.join(_cell(one) for one in cells)} |")
    for row in rows:
        if row.answer.chart is not None:
            lines.append(f"\n![{row.item}]({FIGURES}/{file_of(row)})")
    return "\n".join(lines) + "\n"


def _errata(ledger: Ledger) -> str:
    lines = ["## Where the papers are not so, or we do not get what they print\n"]
    for row in ledger.errata:
        says, ours, why, witness = map(_cell, (row.says, row.answer.ours, row.answer.why, row.answer.witness))
        lines.append(f"* **{row.paper}, {_cell(row.item)}**: {says}. *{row.judgement}*: {ours}.")
        if why:
            lines.append(f"  {why[0].upper()}{why[1:]}.")
        if witness:
            lines.append(f"  Instance: {witness}.")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return text as Markdown that stands in one cell of a table."""
    return " ".join(text.replace("|", "\\|").replace("*", "\\*").split())
