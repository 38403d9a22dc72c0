"""The library as files: a program a file, and an index that says what each is and what its optimum is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ..._version import __version__
from ...errors import FileFormatError, named
from ...models.files.whole_files import home, write_text
from ...progress import progress_bar
from .entry import Entry, chosen, dimensions

#: Kinds of compression of the files.
SUFFIXES = (".mps", ".mps.gz")


def write_all(
    folder: str | Path,
    entries: Iterable[str | Entry] | None = None,
    *,
    size: str = "small",
    seed: int = 0,
    suffix: str = ".mps",
    data: Mapping[str, str] | None = None,
    progress: bool | None = False,
) -> pd.DataFrame:
    """Write programs of the library as MPS, with labels, and an index of them: ``index.csv`` and ``index.json``.

    Logarithms and powers have no place in MPS: those programs become ``.nl`` (AMPL's format) where Pyomo is installed,
    and have no file otherwise. Entries whose data is not there are left out. The index says both.

    Parameters
    ----------
    folder : str or Path
        Made where it is not there; files of the same names are replaced.
    entries : iterable of (str or Entry), optional
        Names, or what :func:`load` gave; by default all.
    size : {"small", "medium", "large"}
        Of entries that are named, as is the seed.
    seed : int
    suffix : {".mps", ".mps.gz"}
    data : mapping of str to str, optional
        Folders of entries that are made from data, by name.
    progress : bool, optional
        Show a bar; None: in a terminal only.

    Returns
    -------
    DataFrame
        The index: file, mechanism, kind, sense, size, seed, parameters, users, servers, resources, variables, rows,
        nonzeros, optimum, exact (as a fraction, where it is one), known (how it is known), why, version.

    Raises
    ------
    FileFormatError
        For a folder that is a file.
    """
    kind = named(suffix, SUFFIXES, "suffix")
    found, missing = chosen(entries, size, seed, data)
    place = home(folder)
    if place.exists() and not place.is_dir():
        raise FileFormatError(f"cannot write to {str(place)!r}: it is a file; expected a folder")
    place.mkdir(parents=True, exist_ok=True)
    rows = []
    with progress_bar("library", len(found), 0, progress) as done:
        for entry in found:
            rows.append(_written(entry, place, kind))
            done()
    rows += [{"name": name, "note": f"left out: {why}"} for name, why in missing.items()]
    index = pd.DataFrame(rows).set_index("name")
    plain = [{key: value for key, value in row.items() if value is not None} for row in rows]
    document = {"library": "fairlp", "version": __version__, "entries": plain}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(place / "index.json", f"{text}\n")
    write_text(place / "index.csv", index.to_csv(lineterminator="\n"))
    return index


def _written(entry: Entry, folder: Path, suffix: str) -> dict[str, Any]:
    """Write a program, and return its line of the index."""
    program, optimum = entry.program(), entry.optimum
    file, note = _file(entry, folder, suffix)
    return {
        "name": entry.name,
        "file": file,
        "family": entry.family,
        "mechanism": entry.mechanism,
        "kind": entry.kind,
        "sense": program.sense,
        "size": entry.size,
        "seed": entry.seed,
        "parameters": "; ".join(f"{key}={value}" for key, value in entry.parameters.items() if key != "data"),
        **dimensions(entry),
        "nonzeros": int(program.A.nnz),
        "optimum": None if optimum.value is None else float(optimum.value),
        "exact": str(optimum.value) if isinstance(optimum.value, Fraction) else None,
        "known": optimum.words,
        "why": entry.why,
        "version": __version__,
        "note": note,
    }


def _file(entry: Entry, folder: Path, suffix: str) -> tuple[str | None, str | None]:
    """Write the file of an entry, and return its name, or why there is none."""
    if entry.kind != "concave":
        written = entry.write_mps(folder / f"{entry.name}{suffix}")
        return written[0].name, None
    try:
        written = entry.model().write(folder / f"{entry.name}.nl")
    except ImportError as error:
        return None, f"{entry.name}: no file; MPS has no place for logarithms and powers, and .nl needs Pyomo ({error})"
    return written[0].name, "AMPL's format: MPS has no place for logarithms and powers"
