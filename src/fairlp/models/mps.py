"""Write a Program as free MPS, the file that every LP and MILP solver reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import numpy as np

from .errors import UnknownNameError, nearest
from .names import (
    LONGEST_NAME,
    Names,
    Naming,
    Target,
    about,
    check_writable,
    clean,
    comment,
    decimal,
    decimals,
    naming,
    write_model,
)
from .program import Program

Profile = Literal["portable", "full"]
_PROFILES: Final = ("portable", "full")


def write_mps(
    program: Program, path_or_file: Target, *, profile: Profile = "portable", names: Names = "labels"
) -> list[Path]:
    """Write a Program as free MPS.

    Parameters
    ----------
    program : Program
    path_or_file : path or file object
        A path ending in ``.gz`` is compressed. A path is written whole or not at all.
    profile : {"portable", "full"}
        ``portable`` uses only what HiGHS, GLPK, SCIP and COIN read alike. GLPK refuses an OBJSENSE section and COIN
        ignores it, so the model is always a minimisation, with the objective negated where it was to be maximised;
        GLPK reads a constant in the RHS section with the opposite sign, so the constant is the cost of a last column
        fixed at 1. ``full`` keeps both: OBJSENSE, and minus the constant as right-hand side of the objective.
    names : {"labels", "numbers"}
        Names from blocks and labels, ``capacity.server3.cpu``, or positions in the Program, ``r7`` and ``c12``.

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
    Numbers are the shortest decimals that read back exactly. Rows without any bound are left out: readers drop them.
    A row with two bounds is one bound and a RANGES entry, the difference; where no double is the exact difference,
    the bound of larger size is off by its last bit. GLPK reads fractional bounds of integer columns, but does not
    solve such models.
    """
    if profile not in _PROFILES:
        raise UnknownNameError(f"no MPS profile is called {profile!r}; {nearest(profile, _PROFILES)}")
    check_writable(program, "MPS")
    use = naming(program, names)
    kept = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
    written = {use.rows[i] for i in np.flatnonzero(kept).tolist()}
    row_map = {name: entry for name, entry in use.row_map.items() if name in written}
    return write_model(path_or_file, _parts(program, use, kept, profile), row_map, use.column_map)


def _parts(program: Program, use: Naming, kept: np.ndarray, profile: Profile) -> Iterator[str]:
    """Yield the file, section by section."""
    negated = profile == "portable" and program.sense == "max"
    sign = -1.0 if negated else 1.0
    constant = sign * program.offset
    kinds, sides, widths = _rows(program)

    head = about(program)
    if negated:
        head.append("objective: NEGATED. The model maximises; this file minimises minus its objective.")
    elif profile == "full" and program.sense == "max":
        head.append("objective: maximised, see OBJSENSE")
    if constant and profile == "portable":
        head.append(f"The objective's constant is the cost of column {use.constant}, which is fixed at 1.")
    elif constant:
        head.append("The objective's constant is minus the right-hand side of the objective row.")
    if not kept.all():
        head.append(f"Rows without any bound are left out: {int((~kept).sum())}.")
    # COIN reads free MPS only when the NAME line says so; others ignore the word
    yield comment("*", head) + f"NAME {clean(program.name)[:LONGEST_NAME]} FREE\n"
    if profile == "full" and program.sense == "max":
        yield "OBJSENSE\n    MAX\n"

    which = np.flatnonzero(kept).tolist()
    yield f"ROWS\n N {use.objective}\n" + "".join(f" {kinds[i]} {use.rows[i]}\n" for i in which)
    yield "COLUMNS\n"
    yield from _columns(program, use, kept, sign)
    if constant and profile == "portable":
        yield f" {use.constant} {use.objective} {decimal(constant)}\n"

    texts = decimals(sides)
    right = "".join(f" RHS {use.rows[i]} {texts[i]}\n" for i in which if sides[i])
    if constant and profile == "full":
        right = f" RHS {use.objective} {decimal(-constant)}\n" + right
    yield f"RHS\n{right}"
    ranged = np.flatnonzero(widths).tolist()
    if ranged:
        yield "RANGES\n" + "".join(f" RNG {use.rows[i]} {decimal(widths[i])}\n" for i in ranged)
    bounds = "".join(_bounds(program, use.columns))
    if constant and profile == "portable":
        bounds += f" FX BND {use.constant} 1\n"
    if bounds:
        yield f"BOUNDS\n{bounds}"
    yield "ENDATA\n"


def _rows(program: Program) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return type, right-hand side, and width (zero without a range) of every row."""
    lower, upper = program.row_lower, program.row_upper
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    both = has_lower & has_upper
    widths = np.zeros(len(lower))
    widths[both] = upper[both] - lower[both]
    # A reader computes the other bound from the difference: take the side from which it comes out exactly, else the
    # smaller one, from which the other is off by its last bit at most.
    low, high = np.where(both, lower, 0.0), np.where(both, upper, 0.0)
    from_upper = both & (low + widths != high) & ((high - widths == low) | (np.abs(high) < np.abs(low)))
    equal = lower == upper
    kinds = np.where(equal, "E", np.where(has_lower & ~from_upper, "G", "L")).tolist()
    sides = np.where(has_lower & ~from_upper, lower, np.where(has_upper, upper, 0.0))
    return kinds, sides, widths


def _columns(program: Program, use: Naming, kept: np.ndarray, sign: float) -> Iterator[str]:
    """Yield the COLUMNS section: cost, then rows in order; markers around runs of integer columns."""
    matrix, n = program.A, program.n_columns
    rows = np.asarray(matrix.indices)
    of = np.repeat(np.arange(n), np.diff(matrix.indptr))
    values = np.asarray(matrix.data)
    if not kept.all():
        stays = kept[rows]
        rows, of, values = rows[stays], of[stays], values[stays]
    counts = np.bincount(of, minlength=n)
    starts = np.concatenate(([0], np.cumsum(counts)))
    costs = sign * program.c
    # a column without any entry would not exist: it gets a cost of zero
    priced = np.flatnonzero((costs != 0) | (counts == 0))
    at = starts[priced]
    names = np.array([*use.rows, use.objective], dtype=object)
    rows = np.insert(rows, at, len(use.rows))
    values = np.insert(values, at, costs[priced])
    of = np.insert(of, at, priced)
    columns = np.array(use.columns, dtype=object)
    entries = zip(columns[of].tolist(), names[rows].tolist(), decimals(values), strict=True)
    lines = [f" {column} {row} {value}\n" for column, row, value in entries]

    whole = program.integrality.astype(bool)
    if not whole.any():
        yield "".join(lines)
        return
    runs = np.concatenate(([0], np.flatnonzero(np.diff(whole)) + 1))
    cuts = np.searchsorted(of, [*runs.tolist(), n]).tolist()
    for run, start, stop in zip(runs.tolist(), cuts, cuts[1:], strict=False):
        text = "".join(lines[start:stop])
        yield f" MARKER 'MARKER' 'INTORG'\n{text} MARKER 'MARKER' 'INTEND'\n" if whole[run] else text


def _bounds(program: Program, names: list[str]) -> Iterator[str]:
    """Yield the lines of the BOUNDS section for all but continuous columns on [0, inf).

    Readers differ in the upper bound of an integer column that has none, and in the lower bound that a negative or
    zero upper bound implies: both are always written, the lower one first.
    """
    lower, upper, whole = program.col_lower, program.col_upper, program.integrality.astype(bool)
    which = np.flatnonzero(whole | (lower != 0) | (upper != np.inf))
    rest = zip(which.tolist(), decimals(lower[which]), decimals(upper[which]), strict=True)
    for j, low, high in rest:
        name, has_lower, has_upper = names[j], lower[j] != -np.inf, upper[j] != np.inf
        if lower[j] == upper[j]:
            yield f" FX BND {name} {low}\n"
        elif not has_lower and not has_upper:
            yield f" FR BND {name}\n"
        else:
            if not has_lower:
                yield f" MI BND {name}\n"
            elif whole[j] or lower[j] != 0 or upper[j] <= 0:
                yield f" LO BND {name} {low}\n"
            if has_upper:
                yield f" UP BND {name} {high}\n"
            elif whole[j]:
                yield f" PL BND {name}\n"
