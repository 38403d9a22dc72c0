"""The ledger's items: what each paper has, and the function that computes it again."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from ...errors import UnknownNameError, named, nearest
from .verdicts import Answer


class Scale(StrEnum):
    """How large what is drawn at random is: a size for every day, or the paper's."""

    REDUCED = "reduced"
    PAPER = "paper"


@dataclass(frozen=True)
class Paper:
    """One of the papers: its number, the names that it goes by, and what it is."""

    number: str
    names: tuple[str, ...]
    title: str


PAPERS = (
    Paper("000", ("metin", "pdrf", "precomputed-drf"), "S. Metin, Precomputed Dominant Resource Fairness"),
    Paper(
        "001",
        ("li-2019", "li", "dynamic-drf"),
        "W. Li, X. Liu, X. Zhang and X. Zhang, A note on dynamic fair division of multiple resources, 2019",
    ),
    Paper(
        "002",
        ("wang-2014", "wang", "drfh"),
        "W. Wang, B. Li and B. Liang, Dominant Resource Fairness in Cloud Computing Systems with Heterogeneous "
        "Servers, INFOCOM 2014",
    ),
    Paper(
        "003",
        ("khamse-ashari-2017", "khamse-ashari", "ps-dsf"),
        "J. Khamse-Ashari, I. Lambadaris, G. Kesidis, B. Urgaonkar and Y. Zhao, Per-Server Dominant-Share Fairness, "
        "ICC 2017",
    ),
    Paper(
        "004",
        ("dolev-2012", "dolev", "njc", "no-justified-complaints"),
        "D. Dolev, D. Feitelson, J. Halpern, R. Kupferman and N. Linial, No Justified Complaints, ITCS 2012",
    ),
    Paper(
        "005",
        ("bhattacharya-2013", "bhattacharya", "h-drf"),
        "A. Bhattacharya, D. Culler, E. Friedman, A. Ghodsi, S. Shenker and I. Stoica, Hierarchical Scheduling for "
        "Diverse Datacenter Workloads, SoCC 2013 (what is retold of it)",
    ),
)


@dataclass(frozen=True)
class Run:
    """What a function of an entry is told: how much to do, where random numbers begin, and who does it.

    Attributes
    ----------
    scale : Scale
    seed : int
    folder : Path or None
        Where studies keep their runs, so that one that was stopped goes on.
    workers : int or None
    backend : str
    progress : bool or None
    key : str
        Of the entry, so that each draws numbers of its own.
    """

    scale: Scale = Scale.REDUCED
    seed: int = 0
    folder: Path | None = None
    workers: int | None = None
    backend: str = "loky"
    progress: bool | None = False
    key: str = ""

    def of(self, reduced: int, paper: int) -> int:
        """Return the number of runs or instances of this scale."""
        return paper if self.scale is Scale.PAPER else reduced

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers from the entry's own beginning, the same at each call."""
        return np.random.default_rng([self.seed, zlib.crc32(self.key.encode())])


@dataclass(frozen=True)
class Entry:
    """One item of a paper.

    Attributes
    ----------
    paper : Paper
    item : str
        As the paper calls it.
    says : str
        What the paper says.
    function : callable
        Computes it again: :class:`Run` → :class:`~fairlp.ledger.verdicts.Answer`.
    """

    paper: Paper
    item: str
    says: str
    function: Callable[[Run], Answer]

    @property
    def key(self) -> str:
        """Paper and item in one."""
        return f"{self.paper.number} {self.item}"

    def compute(self, run: Run) -> Answer:
        """Return what comes of it."""
        return self.function(replace(run, key=self.key))


#: every item, in the order of the papers
ENTRIES: dict[str, Entry] = {}


def entry(paper: str, item: str, says: str) -> Callable[[Callable[[Run], Answer]], Callable[[Run], Answer]]:
    """Return what makes an entry of a function.

    Parameters
    ----------
    paper : str
        Its number.
    item : str
        What the paper calls it, such as ``Figure 1`` or ``§4, strategy-proofness``.
    says : str
        What the paper says.
    """
    of = next(one for one in PAPERS if one.number == paper)

    def made(function: Callable[[Run], Answer]) -> Callable[[Run], Answer]:
        one = Entry(of, item, says, function)
        if one.key in ENTRIES:
            raise ValueError(f"{one.key!r} is there already")
        ENTRIES[one.key] = one
        return function

    return made


def find_paper(name: str) -> Paper:
    """Return the paper of a number or name, in any case."""
    known = {alias: one for one in PAPERS for alias in (one.number, *one.names)}
    return known[named(name, known, "paper")]


def find(paper: str | None = None, item: str | None = None) -> list[Entry]:
    """Return the entries of a paper, of an item, or all.

    An item is meant by its name or by the beginning of it (``Table 1`` has rows), in any case; so is
    ``Fig. 3`` for ``Figure 3``.

    Raises
    ------
    UnknownNameError
        For a paper or item that there is not; those that there are stand in the message.
    """
    own = list(ENTRIES.values())
    if paper is not None:
        wanted = find_paper(paper)
        own = [one for one in own if one.paper is wanted]
    if item is None:
        return own
    told = _plain(item)
    found = [one for one in own if _plain(one.item) == told]
    found = found or [one for one in own if re.match(rf"{re.escape(told)}[ ,(]", _plain(one.item))]
    if not found:
        raise UnknownNameError(_missing(item, paper, own))
    return found


def _missing(item: str, paper: str | None, own: Sequence[Entry]) -> str:
    names = list(dict.fromkeys(one.item for one in own))
    if paper is None:
        return f"unknown item {item!r}; {nearest(item, names)}; name a paper to see all of its items"
    near = nearest(item, names)
    near = f"{near} " if near.startswith("did you mean") else ""
    return f"paper {paper!r} has no item {item!r}; {near}its items: {'; '.join(names)}"


def _plain(item: str) -> str:
    """Return the name of an item without what people write in different ways."""
    text = " ".join(item.casefold().split())
    text = re.sub(r"^fig(s|\.|s\.)? ?(?=\d)", "figure ", text)
    text = re.sub(r"^prop\.? ?(?=\d)", "proposition ", text)
    text = re.sub(r"^(sec(tion|\.)?|s) ?(?=[\divx])", "§", text)
    return text
