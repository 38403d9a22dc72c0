"""The papers that mechanisms are of, to be cited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, eq=False)
class Reference:
    """A paper.

    Attributes
    ----------
    key : str
        Of its BibTeX entry.
    cited_as : str
        What says in the source of a mechanism that it is this paper.
    kind : str
        Of BibTeX: article, inproceedings or misc.
    author, title, venue : str
    year : int or None
        None where the copy at hand has none.
    details : mapping
        More fields of BibTeX.
    doi, url : str
        Empty where there is none, or none that we have seen.
    """

    key: str
    cited_as: str
    kind: str
    author: str
    title: str
    venue: str
    year: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    doi: str = ""
    url: str = ""

    @property
    def bibtex(self) -> str:
        """The BibTeX entry."""
        where = {"article": "journal", "inproceedings": "booktitle", "misc": "note"}[self.kind]
        fields = [("author", self.author), ("title", f"{{{self.title}}}"), (where, self.venue)]
        fields += [("year", str(self.year))] if self.year else []
        fields += [*self.details.items(), ("doi", self.doi), ("url", self.link)]
        lines = [f"  {name} = {{{value}}}," for name, value in fields if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def link(self) -> str:
        """Where to read about it: its URL, or that of its DOI."""
        return self.url or (f"https://doi.org/{self.doi}" if self.doi else "")

    def __str__(self) -> str:
        return (
            f"{self.author.replace(' and ', ', ')}: {self.title}. "
            f"{self.venue}{f', {self.year}' if self.year else ''}"
        )


#: In order of the year.
REFERENCES = tuple(
    Reference(**entry)
    for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
)


def cited(source: str) -> tuple[Reference, ...]:
    """Return the papers that the source of a mechanism names, in the order in which it does."""
    references = [reference for reference in REFERENCES if reference.cited_as in source]
    return tuple(sorted(references, key=lambda reference: source.index(reference.cited_as)))
