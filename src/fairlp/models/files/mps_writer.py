"""Write a Program as MPS, the file that every LP and MILP solver reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from ...errors import ModelError, UnknownNameError, nearest
from ..programs.program import Program
from .names import (
    LONGEST_NAME,
    Names,
    Naming,
    about,
    bounded_rows,
    check_writable,
    clean,
    comment,
    decimal,
    decimals,
    fixed_naming,
    left_out,
    naming,
)
from .whole_files import Target, write_model

Profile = Literal["portable", "full", "fixed"]
_PROFILES: Final = ("portable", "full", "fixed")
#: Longest number in fixed MPS.
_FIXED_NUMBER: Final = 12


def short_decimals(values: np.ndarray) -> list[str]:
    """Return decimals of at most 12 characters: exact where that is long enough, else the nearest.

    >>> short_decimals(np.array([0.1, 2 / 3, -1e-7 / 3, 123456789.123456]))
    ['0.1', '.66666666667', '-3.333333e-8', '123456789.12']
    """
    return decimals(values, _short_decimal)


@dataclass(frozen=True)
class _Layout:
    """How lines look, in free or in fixed format, and how numbers are written."""

    row: str = " %s %s\n"
    entry: str = " %s %s %s\n"
    bound: str = " %s BND %s %s\n"
    no_bound: str = " %s BND %s\n"
    marker: str = " MARKER 'MARKER' '%s'\n"
    name: str = "NAME %s FREE\n"
    longest_name: int = LONGEST_NAME
    numbers: Callable[[np.ndarray], list[str]] = decimals


_FREE: Final = _Layout()
_FIXED: Final = _Layout(
    row=" %s  %s\n",
    entry="    %-8s  %-8s  %12s\n",
    bound=" %s BND       %-8s  %12s\n",
    no_bound=" %s BND       %s\n",
    marker="    MARKER    'MARKER'                 '%s'\n",
    name="NAME          %s\n",
    longest_name=8,
    numbers=short_decimals,
)


def write_mps(
    program: Program, path_or_file: Target, *, profile: Profile = "portable", names: Names = "labels"
) -> list[Path]:
    """Write a Program as MPS.

    Parameters
    ----------
    program : Program
    path_or_file : path or file object
        A path ending in ``.gz`` is compressed. A path is written whole or not at all.
    profile : {"portable", "full", "fixed"}
        ``portable`` uses only what HiGHS, GLPK, SCIP and COIN read alike. GLPK refuses an OBJSENSE section and COIN
        ignores it, so the model is always a minimisation, with the objective negated where it was to be maximised;
        GLPK reads a constant in the RHS section with the opposite sign, so the constant is the cost of a last column
        fixed at 1. ``full`` keeps both: OBJSENSE, and minus the constant as right-hand side of the objective.
        ``fixed`` is ``portable`` on the columns of the oldest readers: names of 8 characters, ``R0000001`` and
        ``C0000001``, explained in the side file, and numbers of 12 characters, rounded where they need more.
    names : {"labels", "numbers"}
        Names from blocks and labels, ``capacity.server3.cpu``, or positions in the Program, ``r7`` and ``c12``.

    Returns
    -------
    list of Path
        The files written: the model, and ``<path>.names.json`` if names had to be changed; none for a file object.

    Raises
    ------
    ModelError
        If the objective has logarithms, a lower bound is above the upper one, the bounds of a row differ by more
        than the largest number, or there are too many names for ``fixed``.

    Notes
    -----
    Numbers are the shortest decimals that read back exactly. Rows without any bound are left out: readers drop them.
    A row with two bounds is one bound and a RANGES entry, the difference; where no double is the exact difference,
    solvers read the bound of larger size off by its last bit, and a comment gives it to
    :func:`fairlp.models.files.programs.read_program`. GLPK reads fractional bounds of integer columns, but does not
    solve such models.
    """
    if profile not in _PROFILES:
        raise UnknownNameError(f"no MPS profile is called {profile!r}; {nearest(profile, _PROFILES)}")
    check_writable(program, "MPS")
    use = fixed_naming(program) if profile == "fixed" else naming(program, names)
    kept = bounded_rows(program)
    written = {use.rows[i] for i in np.flatnonzero(kept).tolist()}
    row_map = {name: entry for name, entry in use.row_map.items() if name in written}
    return write_model(path_or_file, _parts(program, use, kept, profile), row_map, use.column_map)


def _parts(program: Program, use: Naming, kept: np.ndarray, profile: Profile) -> Iterator[str]:
    """Yield the file, section by section."""
    layout = _FIXED if profile == "fixed" else _FREE
    negated = profile != "full" and program.sense == "max"
    sign = -1.0 if negated else 1.0
    constant = sign * program.offset
    kinds, sides, widths = _rows(program, rounded=profile == "fixed")

    head = about(program)
    if negated:
        head.append("objective: NEGATED. The model maximises; this file minimises minus its objective.")
    elif profile == "full" and program.sense == "max":
        head.append("objective: maximised, see OBJSENSE")
    if constant and profile != "full":
        head.append(f"The objective's constant is the cost of column {use.constant}, which is fixed at 1.")
    elif constant:
        head.append("The objective's constant is minus the right-hand side of the objective row.")
    head += left_out(kept)
    if profile == "fixed":
        head.append("Names are numbers; the file with .names.json after its name says what they stand for.")
        rounded = sum(
            int((np.array(short_decimals(array), dtype=float) != array).sum())
            for array in (program.A.data, program.c, sides, widths, program.col_lower, program.col_upper)
        )
        head.append(f"Numbers rounded to {_FIXED_NUMBER} characters: {rounded}.")
    # COIN reads free MPS only when the NAME line says so; others ignore the word
    yield comment("*", head) + layout.name % clean(program.name)[: layout.longest_name]
    if profile == "full" and program.sense == "max":
        yield "OBJSENSE\n    MAX\n"

    which = np.flatnonzero(kept).tolist()
    objective = layout.row % ("N", use.objective)
    yield f"ROWS\n{objective}" + "".join(layout.row % (kinds[i], use.rows[i]) for i in which)
    yield "COLUMNS\n"
    yield from _columns(program, use, kept, sign, layout)
    (cost,) = layout.numbers(np.array([constant if profile != "full" else -constant]))
    if constant and profile != "full":
        yield layout.entry % (use.constant, use.objective, cost)

    texts = layout.numbers(sides)
    right = "".join(layout.entry % ("RHS", use.rows[i], texts[i]) for i in which if sides[i])
    if constant and profile == "full":
        right = layout.entry % ("RHS", use.objective, cost) + right
    yield f"RHS\n{right}"
    ranged = np.flatnonzero(widths).tolist()
    if ranged:
        yield "RANGES\n" + "".join(_ranges(program, use.rows, kinds, widths, ranged, layout))
    bounds = "".join(_bounds(program, use.columns, layout))
    if constant and profile != "full":
        bounds += layout.bound % ("FX", use.constant, 1)
    if bounds:
        yield f"BOUNDS\n{bounds}"
    yield "ENDATA\n"


def _rows(program: Program, rounded: bool) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return type, right-hand side, and width (zero without a range) of every row."""
    lower, upper = program.row_lower, program.row_upper
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    both = has_lower & has_upper
    widths = np.zeros(len(lower))
    with np.errstate(over="ignore"):
        widths[both] = upper[both] - lower[both]
    if np.isinf(widths).any():
        i = int(np.isinf(widths).argmax())
        raise ModelError(
            f"program {program.name!r}: row {program.row_names[i]!r} has the bounds {lower[i]} and {upper[i]}, and MPS "
            "cannot say a difference that large; leave out a bound that means none, or write an LP file"
        )
    # A reader computes the other bound from the difference: take the side from which it comes out exactly, else the
    # smaller one, from which the other is off by its last bit at most (and by rounding, where numbers are rounded).
    low, high = np.where(both, lower, 0.0), np.where(both, upper, 0.0)
    smaller = np.abs(high) < np.abs(low)
    from_upper = both & (smaller if rounded else (low + widths != high) & ((high - widths == low) | smaller))
    equal = lower == upper
    kinds = np.where(equal, "E", np.where(has_lower & ~from_upper, "G", "L")).tolist()
    sides = np.where(has_lower & ~from_upper, lower, np.where(has_upper, upper, 0.0))
    return kinds, sides, widths


def _ranges(
    program: Program, names: list[str], kinds: list[str], widths: np.ndarray, which: list[int], layout: _Layout
) -> Iterator[str]:
    """Yield the lines of the RANGES section, and in comments the bounds that they give only nearly."""
    texts = layout.numbers(widths)
    for i in which:
        low, high = program.row_lower[i], program.row_upper[i]
        given, other = (low + widths[i], high) if kinds[i] == "G" else (high - widths[i], low)
        yield layout.entry % ("RNG", names[i], texts[i])
        if given != other:
            yield f"* {names[i]}: the other bound is exactly {decimal(other)}\n"


def _columns(program: Program, use: Naming, kept: np.ndarray, sign: float, layout: _Layout) -> Iterator[str]:
    """Yield the COLUMNS section: cost, then rows in order; markers around runs of integer columns."""
    matrix, n = program.A, program.n_columns
    rows = matrix.indices
    of = np.repeat(np.arange(n), np.diff(matrix.indptr))
    values = matrix.data
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
    entries = zip(columns[of].tolist(), names[rows].tolist(), layout.numbers(values), strict=True)
    lines = [layout.entry % entry for entry in entries]

    whole = program.integrality.astype(bool)
    if not whole.any():
        yield "".join(lines)
        return
    runs = np.concatenate(([0], np.flatnonzero(np.diff(whole)) + 1))
    cuts = np.searchsorted(of, [*runs.tolist(), n]).tolist()
    for run, start, stop in zip(runs.tolist(), cuts, cuts[1:], strict=False):
        text = "".join(lines[start:stop])
        yield layout.marker % "INTORG" + text + layout.marker % "INTEND" if whole[run] else text


def _bounds(program: Program, names: list[str], layout: _Layout) -> Iterator[str]:
    """Yield the lines of the BOUNDS section for all but continuous columns on [0, inf).

    Readers differ in the upper bound of an integer column that has none, and in the lower bound that a negative upper
    bound implies: both are always written, the lower one first. (0 below 0 is a fixed column.)
    """
    lower, upper, whole = program.col_lower, program.col_upper, program.integrality.astype(bool)
    which = np.flatnonzero(whole | (lower != 0) | (upper != np.inf))
    finite = [np.where(np.isfinite(bounds[which]), bounds[which], 0.0) for bounds in (lower, upper)]
    rest = zip(which.tolist(), *map(layout.numbers, finite), strict=True)
    for j, low, high in rest:
        name, has_lower, has_upper = names[j], lower[j] != -np.inf, upper[j] != np.inf
        if lower[j] == upper[j]:
            yield layout.bound % ("FX", name, low)
        elif not has_lower and not has_upper:
            yield layout.no_bound % ("FR", name)
        else:
            if not has_lower:
                yield layout.no_bound % ("MI", name)
            elif whole[j] or lower[j] != 0:
                yield layout.bound % ("LO", name, low)
            if has_upper:
                yield layout.bound % ("UP", name, high)
            elif whole[j]:
                yield layout.no_bound % ("PL", name)


def _short_decimal(value: float) -> str:
    text = repr(value).removesuffix(".0")
    if len(text) <= _FIXED_NUMBER or not np.isfinite(value):
        return text
    size, sign = abs(value), "-" if value < 0 else ""
    room = _FIXED_NUMBER - len(sign)
    power = int(f"{size:e}".partition("e")[2])
    found = []
    if -5 < power < room:
        places = max(room - 1 - max(power + 1, 0), 0)
        found = [f"{size:.{k}f}".removeprefix("0") for k in {places, max(places - 1, 0)}]  # fewer if it rounds up
    digits = room
    while not any(len(text) <= room for text in found):
        digits -= 1
        mantissa, _, exponent = f"{size:.{digits - 1}e}".partition("e")
        found.append(f"{mantissa}e{int(exponent)}")
        found.append(f"{mantissa.replace('.', '')}e{int(exponent) - digits + 1}")
    text = min((text for text in found if len(text) <= room), key=lambda text: abs(float(text) - size))
    plain = repr(float(text)).removesuffix(".0")
    return sign + (plain if len(plain) <= room else text)
