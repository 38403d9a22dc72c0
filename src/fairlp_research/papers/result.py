"""``Ledger``: what came of the items, as a table, as data and as a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import cycle
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from fairlp.errors import FileFormatError, StudyError
from fairlp.toolkit import home, require_form, write_text

from ..files import write
from .registry import Paper
from .verdicts import AUDIT, Agreement, Chart, ItemAnswer, Line, Number, line

#: Version of a ledger as data.
VERSION = 3
#: Columns of a printed table where no terminal says how many it has.
_COLUMNS = 100
#: The items of the papers that are drawn, as a command line names them.
_WITH_FIGURE = (
    '001 "Theorem 2, worst case"',
    '002 "Figure 4"',
    '002 "Table II"',
    '002 "Figure 5"',
    '002 "Figure 6a"',
    '002 "Figure 6b"',
    '002 "Figure 7"',
    '002 "Figure 8"',
    '003 "Figure 6"',
    '004 "Figure 4"',
    '004 "Figure 5"',
    '004 "Figure 6"',
)


@dataclass(frozen=True)
class ItemRow:
    """One item: what the paper says, and what came of it.

    Attributes
    ----------
    paper : str
        Number of the paper.
    item : str
    says : str
    answer : ItemAnswer
        ``verdict``, ``ours``, ``why``, ``numbers`` side by side, ``witness``.
    """

    paper: str
    item: str
    says: str
    answer: ItemAnswer

    @property
    def verdict(self) -> Agreement:
        """One of the eight verdicts."""
        return self.answer.verdict

    @property
    def judgement(self) -> str:
        """The verdict in a few words: on how many instances, or of how many runs."""
        answer = self.answer
        verdict = str(self.answer.verdict)
        if answer.verdict is Agreement.HOLDS and answer.count is not None:
            verdict = f"holds on {answer.count} instance{'s' * (answer.count != 1)}"
        elif answer.verdict is Agreement.REFUTED and answer.count == 1:
            verdict = "refuted by an instance"
        elif answer.verdict is Agreement.REFUTED:
            verdict = f"refuted over {answer.count} instances"
        return f"{verdict} ({answer.size})" if answer.size else verdict


class LedgerTable(pd.DataFrame):
    """A row for each item, printed in full: its labels, and below them a paragraph a column."""

    @property
    def _constructor(self) -> type[LedgerTable]:
        return LedgerTable

    def __repr__(self) -> str:
        width = get_terminal_size((_COLUMNS, 24)).columns
        lines = []
        for labels, row in self.iterrows():
            lines.append(", ".join(map(str, labels)) if isinstance(labels, tuple) else str(labels))
            for name, text in row.items():
                paragraph = f"{name}: {text}"
                lines.append(fill(paragraph, width, initial_indent="  ", subsequent_indent="    "))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _whole_html(self)


def _whole_html(frame: pd.DataFrame) -> str:
    """Return a table as HTML; no text is cut."""
    with pd.option_context("display.max_colwidth", None):
        return str(frame.to_html())


@dataclass(frozen=True)
class Ledger:
    """What came of the items of the papers.

    Attributes
    ----------
    rows : tuple of ItemRow
    scale : str
        ``reduced`` or ``paper``.
    seed : int
    papers : tuple of Paper
        Which these items are of.
    """

    rows: tuple[ItemRow, ...]
    scale: str
    seed: int
    papers: tuple[Paper, ...]

    def table(self) -> pd.DataFrame:
        """Return a row for each item: the paper, what it says, what we get, the verdict, and why.

        Returns
        -------
        DataFrame
            Indexed by paper and item. A terminal and a notebook show all of each text.
        """
        rows = [
            {
                "paper": row.paper,
                "item": row.item,
                "paper says": row.says,
                "we get": row.answer.ours,
                "verdict": row.judgement,
                "why": row.answer.why,
            }
            for row in self.rows
        ]
        return LedgerTable(pd.DataFrame(rows).set_index(["paper", "item"]))

    def counts(self) -> pd.DataFrame:
        """Return how many items of each paper have each verdict.

        Returns
        -------
        DataFrame
            Papers × verdicts, and the column ``items``.
        """
        counted = Counter((row.paper, row.verdict) for row in self.rows)
        names = [
            verdict for verdict in Agreement if any(row.verdict is verdict for row in self.rows)
        ]
        table = {p.number: {str(v): counted[p.number, v] for v in names} for p in self.papers}
        frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("paper")
        return frame.assign(items=frame.sum(axis="columns"))

    @property
    def errata(self) -> tuple[ItemRow, ...]:
        """Items where what the paper says is not so."""
        return tuple(
            row for row in self.rows if row.verdict in (Agreement.DIFFERS, Agreement.REFUTED)
        )

    def of(self, paper: Paper) -> list[ItemRow]:
        """Return the items of one paper.

        Parameters
        ----------
        paper : Paper

        Returns
        -------
        list of ItemRow
        """
        return [row for row in self.rows if row.paper == paper.number]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; :meth:`from_dict` gives the ledger back.

        Returns
        -------
        dict
            That JSON can hold.
        """
        rows = [
            {
                "paper": row.paper,
                "item": row.item,
                "says": row.says,
                **asdict(row.answer),
                "verdict": str(row.verdict),
            }
            for row in self.rows
        ]
        papers = [
            {"number": paper.number, "title": paper.title, "names": list(paper.names)}
            for paper in self.papers
        ]
        return {
            "fairlp_ledger": VERSION,
            "scale": self.scale,
            "seed": self.seed,
            "papers": papers,
            "rows": rows,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Ledger:
        """Return the ledger of plain data, as :meth:`to_dict` gives it or JSON keeps it.

        Parameters
        ----------
        document : mapping

        Returns
        -------
        Ledger

        Raises
        ------
        FileFormatError
            When the data are no ledger of this version.
        """
        if not isinstance(document, Mapping) or document.get("fairlp_ledger") != VERSION:
            raise FileFormatError(
                f"this is no ledger of version {VERSION}; expected what Ledger.to_dict gives"
            )
        require_form(dict(document), _FORM, "the ledger")
        try:
            rows = tuple(_row(dict(entry)) for entry in document["rows"])
            papers = tuple(
                Paper(entry["number"], entry["title"], tuple(entry["names"]))
                for entry in document["papers"]
            )
            return cls(rows, document["scale"], document["seed"], papers)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"a ledger is damaged: {type(error).__name__}: {error}") from None

    def plot(self) -> Any:
        """Draw the figures of its items below each other: ours as lines, the paper's as crosses.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        StudyError
            Where none of its items has a figure.
        PlottingNotAvailableError
            Without matplotlib.
        """
        from fairlp.plots import style

        charts = [row.answer.chart for row in self if row.answer.chart is not None]
        if not charts:
            items = ", ".join(sorted({row.item for row in self})[:3])
            raise StudyError(
                f"none of these items has a figure: {items}; items that have one: "
                f"{', '.join(_WITH_FIGURE)}"
            )
        width, height = _CHART_SIZE
        figure = style.new_figure(width, height * len(charts))
        parts = figure.subfigures(len(charts), squeeze=False).ravel()
        for part, chart in zip(parts, charts, strict=True):
            draw_chart(part, chart)
        return figure

    figure = plot

    def write(self, path: str | Path) -> Path:
        """Write the ledger to a file.

        Parameters
        ----------
        path : str or Path
            ``.json`` (data), ``.csv`` (the table) or ``.md`` (a page, figures beside it).

        Returns
        -------
        Path

        Raises
        ------
        FileFormatError
            For another suffix, or a folder that is not there.
        """
        return write(path, self.to_dict, self.table, md=lambda: page_text(self, home(path)))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ItemRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        counted = Counter(row.verdict for row in self.rows)
        counts = ", ".join(
            f"{verdict} {counted[verdict]}" for verdict in Agreement if counted[verdict]
        )
        return f"<Ledger: {len(self)} item{'s' * (len(self) != 1)}, {counts}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{_whole_html(self.table())}"


#: The form of what `Ledger.to_dict` gives.
_LINE = {
    "label": str,
    "x": [float],
    "y": [float],
    "printed": bool,
    "points": bool,
    "panel": str,
}
_CHART = {"title": str, "xlabel": str, "ylabel": str, "lines": [_LINE]}
_WORDS = dict.fromkeys(("paper", "item", "says", "verdict", "ours", "why", "size", "witness"), str)
_NUMBER = {"name": str, "paper": str, "ours": (float, bool), "agrees": (bool, None)}
_FORM = {
    "scale": str,
    "seed": int,
    "papers": [{"number": str, "title": str, "names": [str]}],
    "rows": [{**_WORDS, "numbers": [_NUMBER], "count": (int, None), "chart": (_CHART, None)}],
}


def _row(fields: dict[str, Any]) -> ItemRow:
    """Return a row of plain data."""
    paper = fields.pop("paper")
    item = fields.pop("item")
    says = fields.pop("says")
    chart = fields.pop("chart", None)
    if chart is not None:
        lines = tuple(line(**entry) for entry in chart["lines"])
        for curve in lines:
            if len(curve.x) != len(curve.y):
                raise ValueError(
                    f"the line {curve.label!r} has {len(curve.x)} numbers x and {len(curve.y)} "
                    "numbers y; expected as many"
                )
        chart = Chart(**{**chart, "lines": lines})
    numbers = tuple(Number(**number) for number in fields.pop("numbers"))
    verdict = Agreement(fields.pop("verdict"))
    return ItemRow(paper, item, says, ItemAnswer(verdict, **fields, numbers=numbers, chart=chart))


# The ledger as a page of Markdown, and its charts as small SVG figures beside it.

#: Width and height of a chart, in inches.
_CHART_SIZE = (6.0, 3.8)
#: Letters of the name of a figure's file; systems of files allow some 250.
_LONGEST_NAME = 200
#: Where figures lie, from the page's folder.
FIGURES = "figures/ledger"

#: The letters of properties in tables of papers.
LETTERS = (
    "SI: sharing incentive, EF: envy-free, SP: strategy-proof, PO: Pareto-optimal, "
    "BF: bottleneck fairness"
)

_HEAD = """# What papers print and prove, computed again

What a paper numbers (a table, a figure, an equation, an algorithm, a theorem) or claims in its text is an *item*: a
function computes it again and judges it. `fairlp reproduce` wrote this page{how}:
what we get and the verdict are computed each time; what the paper says, and why, are text.

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

In the column "we get" numbers stand as they came out, to six digits. {letters}.
"""


def markdown(ledger: Ledger) -> str:
    """Return the page."""
    how = (
        ""
        if ledger.scale == "reduced" and ledger.seed == 0
        else f" (scale {ledger.scale}, seed {ledger.seed})"
    )
    parts = [
        _HEAD.format(how=how, audit=AUDIT, letters=LETTERS),
        "## In all\n",
        _counts(ledger.counts()),
    ]
    parts += [_paper(paper, ledger.of(paper)) for paper in ledger.papers]
    parts.append(_errata(ledger))
    return "\n".join(parts)


def page_text(ledger: Ledger, target: Path) -> str:
    """Return the page, and write its figures into ``figures/ledger`` beside it."""
    charts = {file_of(row): row.answer.chart for row in ledger if row.answer.chart is not None}
    folder = target.parent / FIGURES
    if charts:
        folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        write_text(folder / name, svg_of(chart))
    return markdown(ledger)


def file_of(row: ItemRow) -> str:
    """Return the name of an item's figure.

    >>> import fairlp_research
    >>> from fairlp_research.papers.verdicts import Agreement, ItemAnswer
    >>> file_of(ItemRow("001", "Theorem 2, worst case", "", ItemAnswer(Agreement.EQUAL, "")))
    '001-theorem-2-worst-case.svg'
    """
    words = re.sub(r"[^a-z0-9]+", "-", f"{row.paper} {row.item}".lower())
    return words[:_LONGEST_NAME].strip("-") + ".svg"


def draw_chart(figure: Any, chart: Chart) -> None:
    """Draw a chart into a figure of matplotlib. Crosses are the numbers of the paper."""
    panels = list(dict.fromkeys(curve.panel for curve in chart.lines))
    all_axes = figure.subplots(1, max(len(panels), 1), sharey=True, squeeze=False)[0]
    for panel, axis in zip(panels, all_axes, strict=False):
        _draw_panel(axis, [curve for curve in chart.lines if curve.panel == panel])
        axis.set(title=panel, xlabel=chart.xlabel)
    all_axes[0].set_ylabel(chart.ylabel)
    if all(y >= 0 for curve in chart.lines for y in curve.y):
        all_axes[0].set_ylim(bottom=0)
    figure.suptitle(chart.title)
    handles, labels = all_axes[0].get_legend_handles_labels()
    place = "outside lower center"
    figure.legend(handles, labels, loc=place, ncols=2, frameon=False, fontsize="small")


def _draw_panel(axis: Any, lines: Sequence[Line]) -> None:
    from fairlp.plots import style

    crosses = cycle("x+")
    for k, curve in enumerate(lines):
        (drawn,) = axis.plot(curve.x, curve.y, label=curve.label, **style.line(k))
        if curve.printed:
            look = {"marker": next(crosses), "color": "black", "markersize": 8, "zorder": 9}
            drawn.set(linestyle="none", clip_on=False, **look)
        elif curve.points:
            drawn.set(linestyle="none", clip_on=False, marker="o", alpha=0.5)
    axis.spines[["top", "right"]].set_visible(False)


def svg_of(chart: Chart) -> str:
    """Return a chart as SVG, the same bytes each time."""
    from matplotlib import rc_context

    from fairlp.plots import style

    with rc_context({"svg.fonttype": "none", "path.simplify": True}):
        figure = style.new_figure(*_CHART_SIZE)
        draw_chart(figure, chart)
        with np.errstate(over="ignore", invalid="ignore"):  # ticks of numbers near the largest
            content = style.image(figure, "svg").decode()
    return "".join(f"{line.rstrip()}\n" for line in content.splitlines())


def _counts(table: pd.DataFrame) -> str:
    names = list(map(str, table.columns))
    rows = [
        *zip(table.index, table.to_numpy().tolist(), strict=True),
        ("all", table.sum().tolist()),
    ]
    lines = [f"| paper | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines += [f"| {paper} | {' | '.join(map(str, row))} |" for paper, row in rows]
    return "\n".join(lines) + "\n"


def _paper(paper: Paper, rows: list[ItemRow]) -> str:
    lines = [f"## {paper.number}: {paper.title}\n"]
    lines += [f"Names: {', '.join(f'`{name}`' for name in paper.names)}\n"] * bool(paper.names)
    lines += [
        "| item | the paper says | we get | verdict | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = (row.item, row.says, row.answer.ours, row.judgement, row.answer.why)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    lines += [
        f"\n![{row.item}]({FIGURES}/{file_of(row)})" for row in rows if row.answer.chart is not None
    ]
    return "\n".join(lines) + "\n"


def _errata(ledger: Ledger) -> str:
    lines = ["## Where the papers are not so, or we do not get what they print\n"]
    for row in ledger.errata:
        says, ours, why, witness = map(
            _cell, (row.says, row.answer.ours, row.answer.why, row.answer.witness)
        )
        lines.append(f"* **{row.paper}, {_cell(row.item)}**: {says}. *{row.judgement}*: {ours}.")
        if why:
            lines.append(f"  {why[0].upper()}{why[1:]}.")
        if witness:
            lines.append(f"  Instance: {witness}.")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return text as Markdown that stands in one cell of a table."""
    return " ".join(text.replace("|", "\\|").replace("*", "\\*").split())
