"""``Ledger``: what came of the items, as a table, as data and as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import FileFormatError
from ...models.files.whole_files import home, require_folder, write_text
from .registry import PAPERS, Paper
from .verdicts import Answer, Chart, Line, Number, Verdict

if TYPE_CHECKING:
    import pandas as pd

#: Version of a ledger as data.
VERSION = 1


@dataclass(frozen=True)
class Row:
    """One item: what the paper says, and what came of it.

    Attributes
    ----------
    paper : str
        Number of the paper.
    item : str
    says : str
    answer : Answer
        ``verdict``, ``ours``, ``why``, ``numbers`` side by side, ``witness``.
    """

    paper: str
    item: str
    says: str
    answer: Answer

    @property
    def verdict(self) -> Verdict:
        """One of the eight verdicts."""
        return self.answer.verdict

    @property
    def judgement(self) -> str:
        """The verdict in a few words: on how many instances, or of how many runs."""
        answer, said = self.answer, str(self.answer.verdict)
        if answer.verdict is Verdict.HOLDS and answer.count is not None:
            said = f"holds on {answer.count} instance{'s' * (answer.count != 1)}"
        elif answer.verdict is Verdict.REFUTED and answer.count == 1:
            said = "refuted by an instance"
        elif answer.verdict is Verdict.REFUTED:
            said = f"refuted over {answer.count} instances"
        return f"{said} ({answer.size})" if answer.size else said


@dataclass(frozen=True)
class Ledger:
    """What came of the items of the papers.

    Attributes
    ----------
    rows : tuple of Row
    scale : str
        ``reduced`` or ``paper``.
    seed : int
    """

    rows: tuple[Row, ...]
    scale: str
    seed: int

    def table(self) -> pd.DataFrame:
        """Return a row for each item: the paper, what it says, what we get, the verdict, and why."""
        import pandas as pd

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
        return pd.DataFrame(rows).set_index(["paper", "item"])

    def counts(self) -> pd.DataFrame:
        """Return how many items of each paper have each verdict."""
        import pandas as pd

        counted = Counter((row.paper, row.verdict) for row in self.rows)
        names = [verdict for verdict in Verdict if any(row.verdict is verdict for row in self.rows)]
        table = {p.number: {str(v): counted[p.number, v] for v in names} for p in self.papers}
        frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("paper")
        return frame.assign(items=frame.sum(axis="columns"))

    @property
    def papers(self) -> list[Paper]:
        """The papers that these items are of."""
        there = {row.paper for row in self.rows}
        return [paper for paper in PAPERS if paper.number in there]

    @property
    def errata(self) -> tuple[Row, ...]:
        """Items where what the paper says is not so."""
        return tuple(row for row in self.rows if row.verdict in (Verdict.DIFFERS, Verdict.REFUTED))

    def of(self, paper: Paper) -> list[Row]:
        """Return the items of one paper."""
        return [row for row in self.rows if row.paper == paper.number]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; :meth:`from_dict` gives the ledger back."""
        rows = [
            {"paper": row.paper, "item": row.item, "says": row.says, **asdict(row.answer), "verdict": str(row.verdict)}
            for row in self.rows
        ]
        return {"fairlp_ledger": VERSION, "scale": self.scale, "seed": self.seed, "rows": rows}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Ledger:
        """Return the ledger of plain data, as :meth:`to_dict` gives it or JSON keeps it."""
        if not isinstance(document, Mapping) or document.get("fairlp_ledger") != VERSION:
            raise FileFormatError(f"this is no ledger of version {VERSION}; expected what Ledger.to_dict gives")
        try:
            rows = tuple(_row(dict(one)) for one in document["rows"])
            return cls(rows, document["scale"], document["seed"])
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"a ledger is damaged: {type(error).__name__}: {error}") from None

    def write(self, path: str | Path) -> Path:
        """Write the ledger: ``.json`` as data, ``.csv`` as a table, ``.md`` as a page with figures beside it."""
        from .page import write_page

        target = home(path)
        kind = target.suffix.lower()
        if kind not in (".json", ".csv", ".md"):
            raise FileFormatError(f"cannot tell the format of {str(path)!r}; expected .json, .csv or .md")
        require_folder(target)
        if kind == ".md":
            return write_page(self, target)
        if kind == ".csv":
            return write_text(target, self.table().to_csv(lineterminator="\n"))
        return write_text(target, json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __repr__(self) -> str:
        counted = Counter(row.verdict for row in self.rows)
        said = ", ".join(f"{verdict} {counted[verdict]}" for verdict in Verdict if counted[verdict])
        return f"<Ledger: {len(self)} item{'s' * (len(self) != 1)}, {said}>"


def _row(given: dict[str, Any]) -> Row:
    """Return a row of plain data."""
    paper, item, says = given.pop("paper"), given.pop("item"), given.pop("says")
    chart = given.pop("chart", None)
    if chart is not None:
        lines = tuple(Line(**{**line, "x": tuple(line["x"]), "y": tuple(line["y"])}) for line in chart["lines"])
        chart = Chart(**{**chart, "lines": lines})
    numbers = tuple(Number(**one) for one in given.pop("numbers"))
    verdict = Verdict(given.pop("verdict"))
    return Row(paper, item, says, Answer(verdict, **given, numbers=numbers, chart=chart))
