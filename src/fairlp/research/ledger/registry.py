"""The ledger's items: what each paper has, and the function that computes it again."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from ...api import allocate
from ...auditing import audit
from ...auditing.promises import count_broken, counterexample
from ...errors import UnknownNameError, named, nearest
from ...models.instances.instance import Instance
from ...progress import progress_bar
from .verdicts import ItemAnswer, holds, in_words, not_checkable, on_instance


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
class Item:
    """One item of a paper.

    Attributes
    ----------
    paper : Paper
    item : str
        As the paper calls it.
    says : str
        What the paper says.
    function : callable
        Computes it again: :class:`Run` → :class:`~fairlp.ledger.verdicts.ItemAnswer`.
    """

    paper: Paper
    item: str
    says: str
    function: Callable[[Run], ItemAnswer]

    @property
    def key(self) -> str:
        """Paper and item in one."""
        return f"{self.paper.number} {self.item}"

    def compute(self, run: Run) -> ItemAnswer:
        """Return what comes of it."""
        return self.function(replace(run, key=self.key))


#: every item, in the order of the papers
ENTRIES: dict[str, Item] = {}


def entry(paper: str, item: str, says: str) -> Callable[[Callable[[Run], ItemAnswer]], Callable[[Run], ItemAnswer]]:
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

    def made(function: Callable[[Run], ItemAnswer]) -> Callable[[Run], ItemAnswer]:
        one = Item(of, item, says, function)
        if one.key in ENTRIES:
            raise ValueError(f"{one.key!r} is there already")
        ENTRIES[one.key] = one
        return function

    return made


def find_paper(name: str) -> Paper:
    """Return the paper of a number or name, in any case."""
    known = {alias: one for one in PAPERS for alias in (one.number, *one.names)}
    return known[named(name, known, "paper")]


def find(paper: str | None = None, item: str | None = None) -> list[Item]:
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


def _missing(item: str, paper: str | None, own: Sequence[Item]) -> str:
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


# How a statement that holds in general is checked: on random instances from a seed, or by the audits.

#: Instances that a statement is checked on, by scale.
FEW, MANY = 20, 1000
#: The same for the audits that run a mechanism again for every lie.
FEW_LIES, MANY_LIES = 5, 200

#: What a check says of one drawn instance: true where the statement holds, false or words where the instance breaks it,
#: None where there is nothing to check.
Told = object
#: What draws an instance.
Draw = Callable[[np.random.Generator], Any]


def over(
    run: Run, draw: Draw, check: Callable[[Any], Told], *, few: int = FEW, many: int = MANY, why: str = ""
) -> ItemAnswer:
    """Return whether a statement holds on random instances; those with nothing to check are drawn again."""
    rng, count = run.rng, run.of(few, many)
    broken: list[str] = []
    done = 0
    with progress_bar(run.key, count, 0, run.progress) as advance:
        for _ in range(20 * count):
            if done == count:
                break
            drawn = draw(rng)
            told = check(drawn)
            if told is None:
                continue
            done += 1
            advance()
            if isinstance(told, str):
                broken.append(told)
            elif not told:
                broken.append(in_words(drawn))
    return holds(done, broken, why)


def statement(
    paper: str, item: str, says: str, draw: Draw, **how: Any
) -> Callable[[Callable[[Any], Told]], Callable[[Any], Told]]:
    """Return what makes an entry of a check of one instance: it is done on random ones, as by ``over``."""

    def made(check: Callable[[Any], Told]) -> Callable[[Any], Told]:
        @entry(paper, item, says)
        @wraps(check)
        def checked(run: Run) -> ItemAnswer:
            return over(run, draw, check, **how)

        return check

    return made


def audited(paper: str, item: str, says: str, mechanism: str, *properties: str, **how: Any) -> None:
    """Make an entry of a promise: audits find a mechanism to keep the properties, as by ``kept``."""
    entry(paper, item, says)(lambda run: kept(run, mechanism, *properties, **how))


def shipped(paper: str, item: str, says: str, mechanism: str, property: str, why: str = "", **how: Any) -> None:
    """Make an entry of what the counterexample that ships shows, as by ``breaks``."""
    entry(paper, item, says)(lambda run: breaks(mechanism, property, why, **how))


def uncheckable(paper: str, item: str, says: str, why: str) -> None:
    """Make an entry of what is not checkable by computation."""
    entry(paper, item, says)(lambda run: not_checkable(why))


def kept(run: Run, mechanism: str, *properties: str, lies: bool = False, why: str = "") -> ItemAnswer:
    """Return whether audits find a mechanism to keep properties on random instances that meet their conditions."""
    count = run.of(FEW_LIES, MANY_LIES) if lies else run.of(FEW, MANY)
    total, wrong = 0, []
    for name in properties:
        audited, broken, *_ = count_broken(mechanism, name, count, run.seed)
        total += audited
        wrong += [f"{name}: {broken} of {audited}"] * broken
    each = f"{count} instances for each of {len(properties)} properties" if len(properties) > 1 else ""
    return holds(total, wrong, "; ".join(filter(None, [each, why])))


def breaks(mechanism: str, property: str, why: str = "", *, missing: bool = False, **how: Any) -> ItemAnswer:
    """Return *refuted* where the counterexample that ships breaks a property, as an audit finds it now.

    Where the paper says that the property is ``missing``, the statement then *holds*.
    """
    instance = counterexample(mechanism, property)
    assert instance is not None
    found = audit(instance, allocate(instance, mechanism), property, **how).iloc[0]
    return on_instance(instance, found["holds"] is False, found["witness"], why, missing=missing)


def integers(
    rng: np.random.Generator,
    *,
    users: tuple[int, int] = (2, 6),
    servers: tuple[int, int] = (1, 1),
    resources: tuple[int, int] = (1, 4),
    zeros: float = 0.0,
    **how: Any,
) -> Instance:
    """Return a small random instance of whole numbers, of which some demands may be 0."""
    n, k, r = (rng.integers(low, high + 1) for low, high in (users, servers, resources))
    demands = rng.integers(1, 10, (n, r)).astype(float)
    if zeros:
        absent = rng.random((n, r)) < zeros
        absent[np.arange(n), rng.integers(0, r, n)] = False
        demands[absent] = 0
    capacities = rng.integers(20, 100, (k, r)).astype(float)
    return Instance.from_arrays(demands, capacities, **how)
