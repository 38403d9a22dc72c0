"""``reproduce``: the items of a paper, of all, or one, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FileFormatError, StudyError, named
from ...models.files.whole_files import home
from ...progress import progress_bar

# each registers its items, in this order

from . import metin, li, wang, khamse_ashari, dolev, bhattacharya  # noqa: F401, isort: skip
from .registry import ENTRIES, PAPERS, Run, Scale, find
from .result import ItemRow, Ledger

if TYPE_CHECKING:
    import pandas as pd


def reproduce(
    paper: str | None = None,
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
    paper : str, optional
        A number, ``"000"`` to ``"005"``, or a name, such as ``"wang-2014"`` or ``"drfh"``; by default all.
    item : str, optional
        As the paper calls it, in any case: ``"Figure 3"``, ``"fig. 3"``, ``"Proposition 7"``, ``"Table 1"`` (all of its
        rows). By default all.
    scale : {"reduced", "paper"}
        How much is drawn at random: seconds for everything, or as much as the papers did, and more instances for what
        is proved.
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
    return Ledger(tuple(rows), str(size), seed)


def papers() -> pd.DataFrame:
    """Return the papers: their names, what they are, and how many items each has."""
    import pandas as pd

    rows = {
        paper.number: {
            "names": ", ".join(paper.names),
            "title": paper.title,
            "items": sum(one.paper is paper for one in ENTRIES.values()),
        }
        for paper in PAPERS
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("paper")
