"""``reproduce``: the items of a paper, of all, or one, computed again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ...errors import FileFormatError, StudyError, UnknownNameError, named, nearest
from ...mechanisms.own import module_of
from ...models.files.whole_files import home
from ...progress import progress_bar
from ...registry import Registry
from . import bhattacharya, dolev, khamse_ashari, li, metin, wang
from .registry import Item, Paper, Run, Scale
from .result import ItemRow, Ledger

OURS = {
    one.PAPER.number: one.PAPER for one in (metin, li, wang, khamse_ashari, dolev, bhattacharya)
}
#: Ours, and those that installed packages bring by the entry point ``fairlp.papers``.
PAPERS: Registry[Paper] = Registry("paper", "fairlp.papers", OURS, OURS.__getitem__)


def papers_of(given: str | Path | Paper | None) -> list[Paper]:
    """Return the papers that are meant: one of a number or name in any case, those of files, or all."""
    if given is None:
        return list(PAPERS.values())
    if isinstance(given, Paper):
        return [given]
    if isinstance(given, Path) or str(given).endswith((".py", "/")):
        return _papers_in(Path(given))
    names = {name: one for one in PAPERS.values() for name in (one.number, *one.names)}
    return [names[named(given, names, "paper")]]


def _papers_in(path: Path) -> list[Paper]:
    """Return the papers of a Python file, or of those in a folder; the files run."""
    files = [path] if path.suffix == ".py" else sorted(path.glob("*.py"))
    modules = [module_of(f"{file}:PAPER", "paper")[2] for file in files]
    found = [
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, Paper) and one.items
    ]
    if not found:
        raise UnknownNameError(
            f"{str(path)!r} has no paper; expected PAPER = fairlp.ledger.Paper(…) with items"
        )
    return found


def find(paper: str | Path | Paper | None = None, item: str | None = None) -> list[Item]:
    """Return the items of a paper, of a name, or all.

    An item is meant by its name or by the beginning of it (``Table 1`` has rows), in any case; so
    is ``Fig. 3`` for ``Figure 3``.

    Raises
    ------
    UnknownNameError
        For a paper or item that there is not; those that there are stand in the message.
    """
    papers = papers_of(paper)
    own = [one for some in papers for one in some.items.values()]
    if item is None:
        return own
    told = _plain(item)
    found = [one for one in own if _plain(one.item) == told]
    found = found or [one for one in own if re.match(rf"{re.escape(told)}[ ,(]", _plain(one.item))]
    if not found:
        raise UnknownNameError(_missing(item, papers, own))
    return found


def _missing(item: str, papers: Sequence[Paper], own: Sequence[Item]) -> str:
    names = list(dict.fromkeys(one.item for one in own))
    if len(papers) > 1:
        return (
            f"unknown item {item!r}; {nearest(item, names)}; name a paper to see all of its items"
        )
    near = nearest(item, names)
    near = f"{near} " if near.startswith("did you mean") else ""
    return f"paper {papers[0].number!r} has no item {item!r}; {near}its items: {'; '.join(names)}"


def _plain(item: str) -> str:
    """Return the name of an item without what people write in different ways."""
    text = " ".join(item.casefold().split())
    text = re.sub(r"^fig(s|\.|s\.)? ?(?=\d)", "figure ", text)
    text = re.sub(r"^prop\.? ?(?=\d)", "proposition ", text)
    text = re.sub(r"^(sec(tion|\.)?|s) ?(?=[\divx])", "§", text)
    return text


def reproduce(
    paper: str | Path | Paper | None = None,
    item: str | None = None,
    *,
    scale: str = "reduced",
    seed: int = 0,
    folder: str | Path | None = None,
    workers: int | None = None,
    backend: str = "loky",
    progress: bool | None = None,
) -> Ledger:
    """Compute what the papers print or prove again, and judge each item.

    Parameters
    ----------
    paper : str, Path or Paper, optional
        A number, ``"000"`` to ``"005"``, or a name, such as ``"wang-2014"`` or ``"drfh"``; a paper
        of yours, or the path of a Python file or folder (``"papers/"``) that declares some. By
        default all, with those of installed packages.
    item : str, optional
        As the paper calls it, in any case: ``"Figure 3"``, ``"fig. 3"``, ``"Proposition 7"``,
        ``"Table 1"`` (all of its rows). By default all.
    scale : {"reduced", "paper"}
        How much is drawn at random: seconds for everything, or as much as the papers did, and more
        instances for what is proved.
    seed : int
        Of everything that is drawn.
    folder : str or Path, optional
        A folder in which studies keep their runs: one that was stopped goes on there.
    workers : int, optional
    backend : str
        Of studies, as for :meth:`fairlp.study.Study.run`; ``"dask"`` on a Dask cluster.
    progress : bool, optional
        A progress bar; by default in a terminal or notebook only.

    Returns
    -------
    Ledger

    Raises
    ------
    UnknownNameError
        For a paper, item or scale that there is not; the message names those that there are.
    StudyError
        For a seed that is no whole number of at least 0.
    FileFormatError
        For a folder that is not there.

    Examples
    --------
    >>> import fairlp
    >>> found = fairlp.reproduce("003", "figure 1")
    >>> [(row.item, str(row.verdict)) for row in found]
    [('Figure 1', 'equal')]
    """
    size = Scale(named(scale, [str(one) for one in Scale], "scale"))
    if not isinstance(seed, int) or seed < 0:
        raise StudyError(f"the seed is {seed!r}; expected a whole number of at least 0")
    place = None if folder is None else home(folder)
    if place is not None and not place.is_dir():
        raise FileFormatError(f"there is no folder {str(folder)!r}")
    chosen = find(paper, item)
    whole = size is Scale.PAPER  # long items have bars of their own, and there may be one at a time
    run = Run(size, seed, place, workers, backend, progress if whole else False)
    rows = []
    with progress_bar("items", len(chosen), 0, False if whole else progress) as advance:
        for one in chosen:
            rows.append(ItemRow(one.paper.number, one.item, one.says, one.compute(run)))
            advance()
    return Ledger(tuple(rows), str(size), seed, tuple(dict.fromkeys(one.paper for one in chosen)))


def papers() -> pd.DataFrame:
    """Return the papers: their names, what they are, and how many items each has.

    Returns
    -------
    DataFrame
        Indexed by the papers' numbers.
    """
    rows = {
        paper.number: {
            "names": ", ".join(paper.names),
            "title": paper.title,
            "items": len(paper.items),
        }
        for paper in PAPERS.values()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("paper")
