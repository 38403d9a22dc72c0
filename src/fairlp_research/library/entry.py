"""One instance of the library, from name, size and seed, with its model and its optimum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from fairlp import Instance, Model, Program, __version__, formulate, formulations
from fairlp.errors import FileFormatError, InstanceError, SolverError, UnknownNameError, named
from fairlp.toolkit import home, lists, progress_bar, write_text

from . import inventories, markets, numerics, whole  # noqa: F401  (they register entries)
from .registry import REGISTRY, Benchmark, Optimum, find, ordered

#: Programs of more rows are not solved in rationals unasked.
MOST_ROWS = 1_000


@dataclass(frozen=True)
class Entry:
    """An instance of the library, with its model.

    Attributes
    ----------
    name, family : str
    size : str
        ``small``, ``medium`` or ``large``: the source of parameters that the user does not set.
    seed : int
    parameters : mapping
        All of them, set by the user or of the size.
    why : str
        The reason why it is hard.
    mechanism : str
        The mechanism of the model.
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
    _benchmark: Benchmark

    @property
    def instance(self) -> Instance:
        """The users, servers and resources."""
        return self._benchmark.instance

    @property
    def known(self) -> Optimum | None:
        """The optimum by closed form or by an exact algorithm; None where there is neither."""
        return self._benchmark.optimum

    @property
    def planted(self) -> Mapping[str, np.ndarray]:
        """The allocation and prices of a planted optimum, by name; empty without one."""
        return self._benchmark.planted

    @cached_property
    def optimum(self) -> Optimum:
        """The optimum of the program: by closed form, or proved in rationals for small ones.

        Its value is None, with the reason in words, where neither is possible.
        """
        return self.known or recomputed(self.program())

    def model(self) -> Model:
        """Return the model: print it, solve it with any solver, write it.

        Returns
        -------
        Model
        """
        if self._benchmark.model is not None:
            return self._benchmark.model(self.instance)
        return formulate(self.instance, self.mechanism, **self.options)

    @cached_property
    def _compiled(self) -> Program:
        return self.model().compile()

    def program(self) -> Program:
        """Return the compiled program; of a max-min mechanism, that of the smallest level.

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

    @lists(formulations.options.WriteOptions)
    def write_mps(
        self, path: str | Path, **options: Unpack[formulations.options.WriteOptions]
    ) -> list[Path]:
        """Write the program as MPS, with labels.

        Parameters
        ----------
        path : str or Path
            ``x.mps`` or ``x.mps.gz``.
        **options
            As of :meth:`fairlp.Program.write`: ``profile``, ``names``.

        Returns
        -------
        list of Path
            The files written.

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
    try:
        proof: Any = program.solve("highs", method="simplex").certify(exact=True)
    except SolverError as error:  # python-flint is not installed
        return Optimum(None, f"not proved in rationals: {error}")
    if not proof.holds:
        return Optimum(None, f"not proved in rationals: {proof.message}")
    return Optimum(proof.objective, "proved in rationals from a basis")


def names() -> list[str]:
    """Return the names of all entries.

    Returns
    -------
    list of str
    """
    return ordered()


def load(name: str, size: str = "small", seed: int = 0, **parameters: Any) -> Entry:
    """Generate an entry: the same numbers for the same name, parameters and seed, in every process.

    Parameters
    ----------
    name : str
        See :func:`names` and :func:`table`.
    size : {"small", "medium", "large"}
        Of the parameters that are not set here.
    seed : int
        Of the random numbers, at least 0.
    **parameters
        Other sizes, such as ``users=20``; of entries from data that fairlp does not ship, ``data``,
        the folder that has it.

    Returns
    -------
    Entry

    Raises
    ------
    UnknownNameError
        For a name, size or parameter that does not exist; the message has the nearest names.
    InstanceError
        For a seed or value that cannot be.
    FileFormatError
        For data that is missing; the message names the files.

    Examples
    --------
    >>> import fairlp_research
    >>> entry = fairlp_research.library.load("ties", triples=4)
    >>> entry
    <Entry 'ties', small, seed 0: drfh, LP of 60 rows × 193 columns>
    >>> entry.optimum.value
    Fraction(1, 7)
    """
    row = find(name)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InstanceError(f"seed is {seed!r}; expected a whole number of at least 0")
    parameters = row.parameters(size, parameters)
    benchmark = row.make(np.random.default_rng(seed), **parameters)
    benchmark = replace(benchmark, instance=benchmark.instance.replace(name=row.name))
    return Entry(
        row.name,
        row.family,
        size.lower(),
        int(seed),
        parameters,
        row.why,
        row.mechanism,
        benchmark.options,
        benchmark,
    )


def chosen(
    entries: Iterable[str | Entry] | None,
    size: str,
    seed: int,
    data: Mapping[str, str] | None = None,
) -> tuple[list[Entry], dict[str, str]]:
    """Return entries (by default all), and the reasons why others are missing.

    Entries are given by name or as they are.

    ``data`` has the folders of entries that need one, by name; an entry that is named must have its
    own.
    """
    if isinstance(entries, str | Entry):
        name = entries.name if isinstance(entries, Entry) else entries
        raise UnknownNameError(f"entries is {entries!r}; expected a list, such as [{name!r}]")
    folders = {find(name).name: str(folder) for name, folder in (data or {}).items()}
    for name in folders:
        if not REGISTRY[name].files:
            names_with_files = ", ".join(repr(name) for name, row in REGISTRY.items() if row.files)
            raise InstanceError(f"{name!r} is generated and needs no data; {names_with_files} does")

    chosen_entries: dict[str, Entry] = {}
    missing = {}
    for entry in ordered() if entries is None else entries:
        name = entry.name if isinstance(entry, Entry) else find(entry).name
        if name in chosen_entries:
            raise InstanceError(f"entry {name!r} is there twice; expected each name once")
        parameters = {"data": folders[name]} if name in folders else {}
        try:
            chosen_entries[name] = (
                entry if isinstance(entry, Entry) else load(name, size, seed, **parameters)
            )
        except FileFormatError as error:
            if entries is not None or parameters:
                raise
            missing[name] = str(error)
    return list(chosen_entries.values()), missing


def table(
    size: str = "small", seed: int = 0, *, data: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return all entries of a size: description, dimensions, difficulty, and known optimum.

    Parameters
    ----------
    size : {"small", "medium", "large"}
    seed : int
    data : mapping of str to str, optional
        Folders of entries from data, by name; without them, the dimensions are missing.

    Returns
    -------
    DataFrame
        Indexed by name; ``known optimum`` is the value where there is a closed form, else missing:
        ``load(name).optimum`` proves it in rationals where the program is small. ``known by`` is
        the source of the value.
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
    """Return the numbers of users, servers and resources of an entry, and its program's size.

    The size is the numbers of variables and rows.
    """
    instance = entry.instance
    program = entry.program()
    return {
        "users": len(instance.users),
        "servers": len(instance.servers),
        "resources": len(instance.resources),
        "variables": program.n_columns,
        "rows": program.n_rows,
    }


def _row(entry: Entry) -> dict[str, Any]:
    """Return the row of an entry in the table."""
    optimum = entry.known
    value = None if optimum is None else optimum.value
    return {
        "family": entry.family,
        "size": entry.size,
        "mechanism": entry.mechanism,
        "kind": entry.kind,
        **dimensions(entry),
        "why hard": entry.why,
        "known optimum": np.nan if value is None else float(value),
        "known by": optimum.words.partition(":")[0] if optimum else "rationals, when asked for",
    }


# The library as files: a program a file, and an index of the programs and their optima.

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
    """Write programs of the library as MPS, with labels and an index.

    The index is ``index.csv``.

    Logarithms and powers have no place in MPS: those programs become ``.nl`` (AMPL's format) where
    Pyomo is installed, and have no file otherwise. Entries whose data is missing are left out. The
    index notes both.

    Parameters
    ----------
    folder : str or Path
        May be new; files of the same names are replaced.
    entries : iterable of (str or Entry), optional
        Names, or entries of :func:`load`; by default all.
    size : {"small", "medium", "large"}
        Of entries by name, as is the seed.
    seed : int
    suffix : {".mps", ".mps.gz"}
    data : mapping of str to str, optional
        Folders of entries from data, by name.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).

    Returns
    -------
    DataFrame
        The index: file, mechanism, kind, sense, size, seed, parameters, users, servers, resources,
        variables, rows, nonzeros, optimum, exact (as a fraction, where it is one), known (the
        derivation of the optimum), why (it is hard), version.

    Raises
    ------
    FileFormatError
        For a folder that is a file.
    """
    suffix = named(suffix, SUFFIXES, "suffix")
    chosen_entries, missing = chosen(entries, size, seed, data)
    target = home(folder)
    if target.exists() and not target.is_dir():
        raise FileFormatError(f"cannot write to {str(target)!r}: it is a file; expected a folder")
    target.mkdir(parents=True, exist_ok=True)
    rows = []
    with progress_bar("library", len(chosen_entries), 0, progress) as advance:
        for entry in chosen_entries:
            rows.append(_index_row(entry, target, suffix))
            advance()
    rows += [{"name": name, "note": f"left out: {reason}"} for name, reason in missing.items()]
    index = pd.DataFrame(rows).set_index("name")
    write_text(target / "index.csv", index.to_csv(lineterminator="\n"))
    return index


def _index_row(entry: Entry, folder: Path, suffix: str) -> dict[str, Any]:
    """Write the program of an entry, and return its row of the index."""
    program = entry.program()
    optimum = entry.optimum
    file, note = _write_program(entry, folder, suffix)
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


def _write_program(entry: Entry, folder: Path, suffix: str) -> tuple[str | None, str | None]:
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
