"""Write a Program in the CPLEX LP format, the file that people can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np

from ...errors import UnknownNameError, nearest
from ..programs.program import Program
from .names import (
    NameMap,
    Names,
    Naming,
    about,
    bounded_rows,
    check_writable,
    comment,
    decimal,
    decimals,
    left_out,
    naming,
    unused,
)
from .whole_files import Target, write_model

Constant = Literal["column", "term"]
_CONSTANTS: Final = ("column", "term")
#: Terms fill lines up to this many characters.
_WIDTH: Final = 110
#: Longest line before a row's bound, which has less than 30 characters: with it, lines stay below 255.
_LONGEST_LINE: Final = 200


def write_lp(
    program: Program, path_or_file: Target, *, names: Names = "labels", constant: Constant = "column"
) -> list[Path]:
    """Write a Program in the CPLEX LP format.

    Parameters
    ----------
    program : Program
    path_or_file : path or file object
        A path ending in ``.gz`` is compressed. A path is written whole or not at all.
    names : {"labels", "numbers"}
        Names from blocks and labels, ``capacity.server3.cpu``, or positions in the Program, ``r7`` and ``c12``.
    constant : {"column", "term"}
        The objective's constant is the cost of a column fixed at 1, which all readers read alike, or a term of the
        objective, which reads better, but GLPK refuses it and COIN loses it when minimising.

    Returns
    -------
    list of Path
        The files written: the model, and ``<path>.names.json`` if names had to be changed; none for a file object.

    Raises
    ------
    ModelError
        If the objective has logarithms, or a lower bound is above the upper one.

    Notes
    -----
    Readers number the columns as they meet them, so match answers by name. A row with two different bounds becomes
    two, ``name.lower`` and ``name.upper``: HiGHS, GLPK, SCIP and COIN all refuse ``1 <= x + y <= 2``. Rows without
    any bound are left out. GLPK refuses a file without any constraint; as MPS it reads it.
    """
    if constant not in _CONSTANTS:
        raise UnknownNameError(f"no way to write a constant is called {constant!r}; {nearest(constant, _CONSTANTS)}")
    check_writable(program, "the LP format")
    use = naming(program, names)
    row_names, row_map = _split_names(program, use)
    return write_model(path_or_file, _parts(program, use, row_names, constant), row_map, use.column_map)


def _split_names(program: Program, use: Naming) -> tuple[list[tuple[str, str]], NameMap]:
    """Return the names under which each row's lower and upper bound are written, and the map for the side file."""
    lower, upper = program.row_lower, program.row_upper
    ranged = np.isfinite(lower) & np.isfinite(upper) & (lower != upper)
    free = np.isinf(lower) & np.isinf(upper)
    pairs = [(name, name) for name in use.rows]
    if not ranged.any() and not free.any():
        return pairs, use.row_map
    taken = {*use.rows, use.objective}
    human = program.row_names
    row_map: NameMap = {}
    of = iter([(block, labels) for block in program.rows for labels in block.labels()])
    for i, ((block, labels), name) in enumerate(zip(of, use.rows, strict=True)):
        if free[i]:
            continue
        if ranged[i]:
            pairs[i] = unused(f"{name}.lower", taken), unused(f"{name}.upper", taken)
            taken.update(pairs[i])
            entry = {"block": block.name, "labels": [str(label) for label in labels], "name": human[i]}
            row_map.update(dict.fromkeys(pairs[i], entry))
        elif name in use.row_map:
            row_map[name] = use.row_map[name]
    return pairs, row_map


def _parts(program: Program, use: Naming, row_names: list[tuple[str, str]], constant: Constant) -> Iterator[str]:
    """Yield the file, section by section."""
    kept = bounded_rows(program)
    has_column = bool(program.offset) and constant == "column"
    # terms without a variable are refused by GLPK, so a program without columns gets one as well
    extra = use.constant if has_column or not program.n_columns else None

    head = about(program)
    if extra is not None:
        head.append(f"The objective's constant is the cost of column {extra}, which is fixed at 1.")
    if any(first != second for first, second in row_names):
        head.append("A row with two bounds is written as two: name.lower and name.upper.")
    head += left_out(kept)
    yield comment("\\", head) + ("Maximize\n" if program.sense == "max" else "Minimize\n")
    yield _objective(program, use, kept, extra)
    yield "Subject To\n"
    yield from _constraints(program, use, kept, row_names, extra)

    binary = program.integrality.astype(bool) & (program.col_lower == 0) & (program.col_upper == 1)
    bounds = "".join(_bounds(program, use.columns, ~binary))
    if extra is not None:
        bounds += f" {extra} = 1\n"
    if bounds:
        yield f"Bounds\n{bounds}"
    for title, members in (("General", program.integrality.astype(bool) & ~binary), ("Binary", binary)):
        which = [use.columns[j] for j in np.flatnonzero(members).tolist()]
        if which:
            yield f"{title}\n" + _wrap(" ", which, "\n")
    yield "End\n"


def _objective(program: Program, use: Naming, kept: np.ndarray, extra: str | None) -> str:
    """Return the objective; a column that occurs nowhere else has a zero cost there, so that it exists."""
    used = np.zeros(program.n_columns, dtype=bool)
    entries = np.repeat(np.arange(program.n_columns), np.diff(program.A.indptr))
    used[entries[kept[program.A.indices]]] = True
    which = np.flatnonzero((program.c != 0) | ~used)
    if not which.size and program.n_columns:
        which = np.zeros(1, dtype=int)
    terms = _terms(program.c[which], [use.columns[j] for j in which.tolist()])
    if extra is not None:
        terms += _terms(np.array([program.offset]), [extra])
    elif program.offset:
        terms.append(f"{'-' if program.offset < 0 else '+'} {decimal(abs(program.offset))}")
    return _wrap(f" {use.objective}: ", terms, "\n")


def _constraints(
    program: Program, use: Naming, kept: np.ndarray, row_names: list[tuple[str, str]], extra: str | None
) -> Iterator[str]:
    """Yield the rows, each on lines of its own."""
    matrix = program.A.tocsr()
    matrix.sort_indices()
    starts = matrix.indptr.tolist()
    columns = np.array(use.columns, dtype=object)
    terms = _terms(matrix.data, columns[matrix.indices].tolist())
    longest = max(map(len, terms), default=0)
    nothing = [f"0 {use.columns[0] if use.columns else extra}"]
    lower, upper = decimals(program.row_lower), decimals(program.row_upper)
    has_lower, has_upper = np.isfinite(program.row_lower).tolist(), np.isfinite(program.row_upper).tolist()
    equal = (program.row_lower == program.row_upper).tolist()
    for i in np.flatnonzero(kept).tolist():
        row = terms[starts[i] : starts[i + 1]] or nothing
        first, second = row_names[i]
        if equal[i]:
            yield _wrap(f" {first}: ", row, f" = {lower[i]}\n", longest)
            continue
        if has_lower[i]:
            yield _wrap(f" {first}: ", row, f" >= {lower[i]}\n", longest)
        if has_upper[i]:
            yield _wrap(f" {second}: ", row, f" <= {upper[i]}\n", longest)


def _bounds(program: Program, names: list[str], wanted: np.ndarray) -> Iterator[str]:
    """Yield the bounds of all wanted columns but continuous ones on [0, inf), which is what readers assume."""
    lower, upper = program.col_lower, program.col_upper
    which = np.flatnonzero(wanted & ((program.integrality != 0) | (lower != 0) | (upper != np.inf)))
    for j, low, high in zip(which.tolist(), decimals(lower[which]), decimals(upper[which]), strict=True):
        if lower[j] == upper[j]:
            yield f" {names[j]} = {low}\n"
        elif lower[j] == -np.inf and upper[j] == np.inf:
            yield f" {names[j]} free\n"
        elif upper[j] == np.inf:
            yield f" {names[j]} >= {low}\n"
        else:
            yield f" {low} <= {names[j]} <= {high}\n"


def _terms(values: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return ``+ 3 x``, ``- x``, … for every coefficient."""
    signs = np.where(values < 0, "- ", "+ ").tolist()
    sizes = [f"{text} " if text != "1" else "" for text in decimals(np.abs(values))]
    return [sign + size + name for sign, size, name in zip(signs, sizes, names, strict=True)]


def _wrap(head: str, terms: Sequence[str], tail: str, longest: int = 0) -> str:
    """Return head, terms and tail on lines that every reader takes; the first term without a plus."""
    longest = longest or max(map(len, terms), default=0)
    many = max(1, _WIDTH // (longest + 1))
    lines = [" ".join(terms[i : i + many]) for i in range(0, len(terms), many)]
    body = "\n  ".join(lines).removeprefix("+ ")
    first = max(longest, _WIDTH)
    return head + ("\n  " if len(head) + first > _LONGEST_LINE else "") + body + tail
