"""One instance of the library: made anew from name, size and seed, with its model and what is known of the optimum."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...api import formulate
from ...errors import FileFormatError, InstanceError, SolverError, UnknownNameError, named
from ...models.files.whole_files import home, write_text
from ...models.instances.instance import Instance
from ...models.notation.model import Model
from ...models.programs.program import Program
from ...progress import progress_bar
from . import inventories, markets, numerics, whole  # noqa: F401  (they register entries)
from .registry import REGISTRY, Made, Optimum, find, ordered

#: Programs of more rows are not solved in rationals unasked.
MOST_ROWS = 1_000


@dataclass(frozen=True)
class Entry:
    """An instance of the library, with the model that it is meant for.

    Attributes
    ----------
    name, family : str
    size : str
        ``small``, ``medium`` or ``large``: where parameters that were not given come from.
    seed : int
    parameters : mapping
        All of them, given or of the size.
    why : str
        Why it is hard.
    mechanism : str
        Whose model it is.
    options : mapping
        Options of that model.
    """

    name: str
    family: str
    size: str
    seed: int
    parameters: Mapping[str, Any]
    why: str
    mechanism: str
    options: Mapping[str, Any]
    _made: Made

    @property
    def instance(self) -> Instance:
        """The users, servers and resources."""
        return self._made.instance

    @property
    def known(self) -> Optimum | None:
        """The optimum by closed form or by an exact algorithm; None where there is neither."""
        return self._made.optimum

    @property
    def planted(self) -> Mapping[str, np.ndarray]:
        """What a planted optimum was made of, by name; empty where nothing was planted."""
        return self._made.more

    @cached_property
    def optimum(self) -> Optimum:
        """The optimum of the program: by closed form, else proved in rationals where the program is small.

        Its value is None, with words that say why, where neither can be had.
        """
        return self.known or recomputed(self.program())

    def model(self) -> Model:
        """Return the model: print it, solve it with any solver, write it.

        Returns
        -------
        Model
        """
        if self._made.model is not None:
            return self._made.model(self.instance)
        return formulate(self.instance, self.mechanism, **self.options)

    @cached_property
    def _compiled(self) -> Program:
        return self.model().compile()

    def program(self) -> Program:
        """Return the compiled program; of a max-min mechanism that of the first round, the smallest level.

        Returns
        -------
        Program
        """
        return self._compiled

    @property
    def kind(self) -> str:
        """``LP``, ``MILP`` or ``concave``, as the program is."""
        program = self.program()
        return "MILP" if program.is_mip else "LP" if program.logs is None else "concave"

    def write_mps(self, path: str | Path, **options: Any) -> list[Path]:
        """Write the program as MPS, with labels; the files written are returned.

        Parameters
        ----------
        path : str or Path
            ``x.mps`` or ``x.mps.gz``.
        **options
            As of :meth:`fairlp.Program.write`: ``profile``, ``names``.

        Returns
        -------
        list of Path

        Raises
        ------
        UnsupportedError
            For logarithms and powers, which MPS has no place for; ``.nl`` has:
            ``entry.model().write("x.nl")``.
        """
        return self.program().write(path, **options)

    def __repr__(self) -> str:
        program = self.program()
        return (
            f"<Entry {self.name!r}, {self.size}, seed {self.seed}: {self.mechanism}, {self.kind} "
            "of "
            f"{program.n_rows} rows × {program.n_columns} columns>"
        )


def recomputed(program: Program) -> Optimum:
    """Return the optimum of a linear program, proved in rationals from the basis of a solver."""
    if program.logs is not None or program.is_mip:
        return Optimum(None, "not known: no linear program, and nothing was planted")
    if program.n_rows > MOST_ROWS:
        return Optimum(
            None,
            f"not recomputed: {program.n_rows} rows are more than {MOST_ROWS}; a certificate "
            "bounds it",
        )
    from ...models.programs.exact_certificate import optimal_from
    from ...solvers.leximin.exact import bases

    words = "a solver gave no basis"
    try:
        for columns, rows in bases(program, None):
            proof, _ = optimal_from(program, columns, rows)
            if proof.holds:
                return Optimum(proof.objective, "proved in rationals from a basis")
            words = proof.message
    except SolverError as error:  # python-flint is not here
        words = str(error)
    return Optimum(None, f"not proved in rationals: {words}")


def names() -> list[str]:
    """Return the names of all entries.

    Returns
    -------
    list of str
    """
    return ordered()


def load(name: str, size: str = "small", seed: int = 0, **parameters: Any) -> Entry:
    """Make an entry: the same numbers for the same name, parameters and seed, whatever else the process does.

    Parameters
    ----------
    name : str
        See :func:`names` and :func:`table`.
    size : {"small", "medium", "large"}
        Gives the parameters that are not named.
    seed : int
        Of what is drawn at random, at least 0.
    **parameters
        Sizes of one's own, such as ``users=20``; of entries made from data that fairlp does not
        ship, ``data``, the folder that has it.

    Returns
    -------
    Entry

    Raises
    ------
    UnknownNameError
        For a name, size or parameter that there is not; the nearest are named.
    InstanceError
        For a seed or value that cannot be.
    FileFormatError
        Where data is needed and not there; what is missing is named.

    Examples
    --------
    >>> import fairlp
    >>> entry = fairlp.library.load("ties", triples=4)
    >>> entry
    <Entry 'ties', small, seed 0: drfh, LP of 60 rows × 193 columns>
    >>> entry.optimum.value
    Fraction(1, 7)
    """
    row = find(name)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InstanceError(f"seed is {seed!r}; expected a whole number of at least 0")
    chosen_parameters = row.parameters(size, parameters)
    made = row.make(np.random.default_rng(seed), **chosen_parameters)
    made = replace(made, instance=made.instance.replace(name=row.name))
    return Entry(
        row.name,
        row.family,
        size.lower(),
        int(seed),
        chosen_parameters,
        row.why,
        row.mechanism,
        made.options,
        made,
    )


def chosen(
    entries: Iterable[str | Entry] | None,
    size: str,
    seed: int,
    data: Mapping[str, str] | None = None,
) -> tuple[list[Entry], dict[str, str]]:
    """Return entries by name or as they are (by default all), and why others of all cannot be made here.

    ``data`` gives the folders of entries that need one, by name; one that is asked for by name must
    have its own.
    """
    if isinstance(entries, str | Entry):
        raise UnknownNameError(
            f"entries is {entries!r}; expected a list, such as "
            f"[{str(getattr(entries, 'name', entries))!r}]"
        )
    folders = {find(name).name: str(folder) for name, folder in (data or {}).items()}
    for name in folders:
        if not REGISTRY[name].files:
            needy = ", ".join(repr(name) for name, row in REGISTRY.items() if row.files)
            raise InstanceError(f"{name!r} is generated and needs no data; {needy} do")
    wanted = (
        ordered()
        if entries is None
        else [one if isinstance(one, Entry) else find(one).name for one in entries]
    )
    found = {}
    missing = {}
    for one in wanted:
        name = one.name if isinstance(one, Entry) else one
        if name in found:
            raise InstanceError(f"entry {name!r} is there twice; expected each name once")
        given = {"data": folders[name]} if name in folders else {}
        try:
            found[name] = one if isinstance(one, Entry) else load(one, size, seed, **given)
        except FileFormatError as error:
            if entries is not None or given:
                raise
            missing[name] = str(error)
    return list(found.values()), missing


def table(
    size: str = "small", seed: int = 0, *, data: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return all entries of a size: what each is, how large, why it is hard, and what is known of its optimum.

    Parameters
    ----------
    size : {"small", "medium", "large"}
    seed : int
    data : mapping of str to str, optional
        Folders of entries that are made from data, by name; without them, their sizes are missing.

    Returns
    -------
    DataFrame
        Indexed by name; ``known optimum`` is the value where there is a closed form, else missing:
        ``load(name).optimum`` proves it in rationals where the program is small. ``known by`` says
        which.
    """
    entries, missing = chosen(None, size, seed, data)
    rows = {entry.name: _row(entry) for entry in entries}
    for name in missing:
        row = REGISTRY[name]
        rows[name] = {
            "family": row.family,
            "size": size,
            "mechanism": row.mechanism,
            "why hard": row.why,
        }
    frame = pd.DataFrame.from_dict(rows, orient="index").reindex(ordered()).rename_axis("name")
    return frame.astype(dict.fromkeys(dimensions(entries[0]), "Int64"))


def dimensions(entry: Entry) -> dict[str, int]:
    """Return how many users, servers and resources an entry has, and how many variables and rows its program."""
    instance, program = entry.instance, entry.program()
    return {
        "users": len(instance.users),
        "servers": len(instance.servers),
        "resources": len(instance.resources),
        "variables": program.n_columns,
        "rows": program.n_rows,
    }


def _row(entry: Entry) -> dict[str, Any]:
    known = entry.known
    return {
        "family": entry.family,
        "size": entry.size,
        "mechanism": entry.mechanism,
        "kind": entry.kind,
        **dimensions(entry),
        "why hard": entry.why,
        "known optimum": np.nan if known is None or known.value is None else float(known.value),
        "known by": known.words.partition(":")[0] if known else "rationals, when asked for",
    }


# The library as files: a program a file, and an index that says what each is and what its optimum
# is.

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

    Logarithms and powers have no place in MPS: those programs become ``.nl`` (AMPL's format) where
    Pyomo is installed, and have no file otherwise. Entries whose data is not there are left out.
    The index says both.

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
        The index: file, mechanism, kind, sense, size, seed, parameters, users, servers, resources,
        variables, rows, nonzeros, optimum, exact (as a fraction, where it is one), known (how it is
        known), why, version.

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
        "parameters": "; ".join(
            f"{key}={value}" for key, value in entry.parameters.items() if key != "data"
        ),
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
        return (
            None,
            f"{entry.name}: no file; MPS has no place for logarithms and powers, and .nl needs "
            f"Pyomo ({error})",
        )
    return written[0].name, "AMPL's format: MPS has no place for logarithms and powers"
