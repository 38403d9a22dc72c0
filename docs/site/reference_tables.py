"""Tables of mechanisms and of back ends, from the tables of the code."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import fairlp
from fairlp.mechanisms.literature import REFERENCES
from fairlp.mechanisms.table import find


def write_tables(folder: Path) -> None:
    """Write the pages."""
    (folder / "literature.md").write_text(_literature(), encoding="utf-8")
    (folder / "mechanisms.md").write_text(_mechanisms(), encoding="utf-8")
    (folder / "back-ends.md").write_text(_back_ends(), encoding="utf-8")


def _mechanisms() -> str:
    """Return the page of mechanisms: methods and costs, where each is defined, what it promises."""
    features = (Path(__file__).parents[1] / "features.md").read_text(encoding="utf-8")
    one_yardstick = features[
        features.index("Four max-min mechanisms") : features.index("| more mechanisms |")
    ]
    lines = [
        "# Mechanisms",
        "",
        one_yardstick,
        "`fairlp.mechanisms()` and `fairlp.promises()` say what follows.",
        "",
    ]
    promises = fairlp.promises()
    for name, row in fairlp.mechanisms().iterrows():
        lines += [f"## {name}", "", f"**{row['title']}.** {row['source']}.", ""]
        if row["defined_for"]:
            lines += [
                f"Defined for: {row['defined_for']}. Options: {row['options'] or 'none'}.",
                "",
            ]
        methods = [
            {
                "method": f"`{one.name}`",
                "for": one.needs or "any instance",
                "cost": one.cost,
                "calls a solver": "yes" if one.solves else "no",
            }
            for one in find(str(name)).methods
        ]
        lines += [_markdown(pd.DataFrame(methods)), ""]
        if name in promises.index.get_level_values(0):
            table = promises.loc[name].reset_index()
            shown = table[["property", "standing", "instances", "condition", "source"]]
            lines += [_markdown(shown), ""]
    return "\n".join(lines)


def _literature() -> str:
    """Return the page of papers, with the mechanisms that are of each."""
    lines = [
        "# Literature",
        "",
        '`fairlp.mechanisms("drfh").bibtex`, or `fairlp mechanisms drfh --bibtex`, has the entry.',
        "",
    ]
    rows = {str(name): find(str(name)) for name in fairlp.mechanisms().index}
    for paper in reversed(REFERENCES):
        of = ", ".join(f"`{name}`" for name, row in rows.items() if paper in row.references)
        where = f" [{paper.doi or paper.url}]({paper.link})" if paper.link else ""
        lines += [
            f"## {paper.title}",
            "",
            f"{paper.author.replace(' and ', ', ')}. *{paper.venue}*.{where}",
            "",
        ]
        lines += [f"Mechanisms: {of}.", "", f"```bibtex\n{paper.bibtex}\n```", ""]
    return "\n".join(lines)


def _back_ends() -> str:
    """Return the page of back ends × capabilities."""
    table = fairlp.solvers()
    kinds = sorted({kind for cell in table["capabilities"] for kind in cell.split(", ") if kind})
    rows = []
    for name, row in table.iterrows():
        have = set(row["capabilities"].split(", "))
        rows.append(
            {
                "solver": f"`{name}`",
                **{kind: "●" if kind in have else "" for kind in kinds},
                "install": f"`{row['install']}`" if row["install"] else "",
            }
        )
    text = "What each back end can do, whether or not it is installed here: `fairlp.solvers()`."
    return "\n".join(["# Back ends", "", text, "", _markdown(pd.DataFrame(rows)), ""])


def _markdown(table: pd.DataFrame) -> str:
    """Return a table in Markdown."""
    cells = (
        table.fillna("").astype(str).map(lambda cell: cell.replace("|", "\\|").replace("\n", " "))
    )
    head = f"| {' | '.join(map(str, table.columns))} |\n|{' --- |' * len(table.columns)}"
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in cells.itertuples(index=False))])
