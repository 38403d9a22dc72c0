"""``reproduce``: the items of a paper, of all, or one, computed again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fairlp import mechanisms
from fairlp.errors import StudyError, UnknownNameError, named, nearest
from fairlp.toolkit import Registry, progress_bar

from ..runner import folder_of_values, run_on, send_by_value
from . import (
    bhattacharya,
    dolev,
    dolev_equations,  # noqa: F401
    gavel,
    khamse_ashari,
    khamse_ashari_equations,  # noqa: F401
    li,
    li_equations,  # noqa: F401 (registers items)
    metin,
    metin_claims,  # noqa: F401
    wang,
    wang_equations,  # noqa: F401
)
from .registry import Item, Paper, Run, Scale
from .result import ItemRow, Ledger
from .spelling import begins, numbers, plain

OURS = {
    module.PAPER.number: module.PAPER
    for module in (metin, li, wang, khamse_ashari, dolev, bhattacharya, gavel)
}
#: Ours, and those that installed packages bring by the entry point ``fairlp.papers``.
PAPERS: Registry[Paper] = Registry("paper", "fairlp.papers", OURS, OURS.__getitem__)


def papers_of(paper: str | Path | Paper | None) -> list[Paper]:
    """Return the paper of a number or name in any case, the papers of files, or all."""
    if paper is None:
        return list(PAPERS.values())
    if isinstance(paper, Paper):
        return [paper]
    if isinstance(paper, Path) or str(paper).endswith((".py", "/")):
        return _papers_in(Path(paper))
    papers = {name: entry for entry in PAPERS.values() for name in (entry.number, *entry.names)}
    return [papers[named(paper, papers, "paper")]]


def _papers_in(path: Path) -> list[Paper]:
    """Return the papers of a Python file, or of those in a folder; the files run."""
    files = [path] if path.suffix == ".py" else sorted(path.glob("*.py"))
    papers = []
    for file in files:
        _, _, module = mechanisms.module_of(f"{file}:PAPER", "paper")
        send_by_value(module)
        papers += [value for value in vars(module).values() if isinstance(value, Paper)]
    papers = [paper for paper in papers if paper.items]
    if not papers:
        raise UnknownNameError(
            f"{str(path)!r} has no paper; expected PAPER = fairlp_research.papers.Paper(…) with items"
        )
    return papers


def find(paper: str | Path | Paper | None = None, item: str | None = None) -> list[Item]:
    """Return the items of a paper, of a name, or all.

    An item is found by its name, by the beginning of it (``Table 1`` has rows), or by a number in it
    (``Equations (3) and (4)``), in any spelling: ``fig 3``, ``eq. (7)``, ``(7)``, ``Tab. 4``.

    Raises
    ------
    UnknownNameError
        For a paper or item that does not exist; the message lists those that exist.
    """
    papers = papers_of(paper)
    items = [entry for source in papers for entry in source.items.values()]
    if item is None:
        return items
    name = plain(item)
    matches = [entry for entry in items if plain(entry.item) == name]
    if not matches:
        matches = [
            entry
            for entry in items
            if begins(name, plain(entry.item)) or name in numbers(entry.item)
        ]
    if not matches:
        raise UnknownNameError(_missing(item, papers, items))
    return matches


def _missing(item: str, papers: Sequence[Paper], items: Sequence[Item]) -> str:
    """Return the message that there is no such item."""
    names = list(dict.fromkeys(entry.item for entry in items))
    suggestion = nearest(item, names)
    if len(papers) > 1:
        return f"unknown item {item!r}; {suggestion}; name a paper to see all of its items"
    suggestion = f"{suggestion} " if suggestion.startswith("did you mean") else ""
    listed = "; ".join(names)
    return f"paper {papers[0].number!r} has no item {item!r}; {suggestion}its items: {listed}"


def reproduce(
    paper: str | Path | Paper | None = None,
    item: str | None = None,
    *,
    scale: str = "reduced",
    seed: int = 0,
    folder: str | Path | None = None,
    workers: int | None = None,
    backend: str | None = None,
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
        As the paper calls it, in any spelling: ``"Figure 3"``, ``"fig. 3"``, ``"eq. (7)"``,
        ``"(7)"``, ``"Tab. 4"``, ``"Table 1"`` (all of its rows). By default all.
    scale : {"reduced", "paper"}
        How much is drawn at random: seconds for everything, or as much as the papers did, and more
        instances for what is proved.
    seed : int
        Of everything that is drawn.
    folder : str or Path, optional
        Where studies and simulations keep finished runs: an item that was stopped goes on there.
        The folder is made where it is not there. Its files are pickles: use only a folder that you
        trust.
    workers : int, optional
    backend : str, optional
        Of studies, simulations and statements on random instances, as for
        :meth:`fairlp_research.study.Study.run`; ``"dask"`` on a Dask cluster.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).

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
        For a folder that is a file.

    Examples
    --------
    >>> import fairlp_research
    >>> found = fairlp_research.reproduce("003", "figure 1")
    >>> [(row.item, str(row.verdict)) for row in found]
    [('Figure 1', 'equal')]
    """
    size = Scale(named(scale, [str(name) for name in Scale], "scale"))
    if not isinstance(seed, int) or seed < 0:
        raise StudyError(f"the seed is {seed!r}; expected a whole number of at least 0")
    target = None if folder is None else folder_of_values(folder)
    items = find(paper, item)
    # Long items have bars of their own, and there may be one bar at a time.
    long = size is Scale.PAPER
    run = Run(size, seed, target, progress if long else False)
    rows = []
    with (
        run_on(workers, backend),
        progress_bar("items", len(items), 0, False if long else progress) as advance,
    ):
        for entry in items:
            rows.append(ItemRow(entry.paper.number, entry.item, entry.says, entry.compute(run)))
            advance()
    papers = tuple(dict.fromkeys(entry.paper for entry in items))
    return Ledger(tuple(rows), str(size), seed, papers)


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
