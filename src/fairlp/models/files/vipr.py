"""The proof of a linear program's optimum as a VIPR 1.0 certificate, the format of exact SCIP and of ``viprchk``.

VIPR knows no bounds apart from constraints and no constant in the objective: bounds of columns are its first
constraints, a row with two sides is two constraints, and the range to prove is that of the objective without its
constant (a comment says it). One derivation proves the optimum: the constraints, each times its dual.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ..programs.program import Program
from ..programs.proof import Proof, ProofRound
from .names import file_names

Entries = Sequence[tuple[int, Fraction]]


class Line(NamedTuple):
    """A constraint, and the dual that it is multiplied by."""

    name: str
    sense: str
    side: Fraction
    entries: Entries
    dual: Fraction


def vipr(proof: Proof) -> str:
    """Return a proof as text.

    Raises
    ------
    UnsupportedError
        For a leximin: VIPR holds one program.
    """
    if proof.t is not None:
        raise UnsupportedError(
            "a VIPR certificate holds one linear program, and a leximin is a sequence of them; write a .json, or the "
            "certificate of one program's solution"
        )
    program, found = proof.program, proof.rounds[0]
    costs = [(j, Fraction(cost)) for j, cost in enumerate(program.c.tolist()) if cost]
    value = sum((cost * found.x[j] for j, cost in costs), Fraction(0))
    bounds, rows = _bounds(program, _reduced(program, found)), _rows(program, found)
    used = [(k, line.dual) for k, line in enumerate([*bounds, *rows]) if line.dual]
    point = [(j, x) for j, x in enumerate(found.x) if x]
    sense = "G" if program.sense == "min" else "L"
    lines = [
        f"% {' '.join(ascii(program.name).split())}, written by fairlp",
        f"% constant of the objective, which the range below leaves out: {Fraction(program.offset)}",
        "VER 1.0",
        f"VAR {program.n_columns}",
        *file_names(program.columns)[0],
        "INT 0",
        f"OBJ {program.sense}",
        _pairs(costs),
        f"CON {len(bounds) + len(rows)} {len(bounds)}",
        *(f"{one.name} {one.sense} {one.side} {_pairs(one.entries)}" for one in (*bounds, *rows)),
        f"RTP range {value} {value}",
        "SOL 1",
        f"optimum {_pairs(point)}",
        "DER 1",
        f"#dual {sense} {value} OBJ {{ lin {_pairs(used)} }} -1",
    ]
    return "\n".join(lines) + "\n"


def _pairs(entries: Entries) -> str:
    """Return how many entries there are, then position and value of each."""
    return " ".join([str(len(entries)), *(f" {j} {value}" for j, value in entries)])


def _reduced(program: Program, found: ProofRound) -> list[Fraction]:
    """Return the exact reduced costs."""
    A, reduced = program.A.tocsc(), [Fraction(cost) for cost in program.c.tolist()]
    for j in range(program.n_columns):
        for k in range(A.indptr[j], A.indptr[j + 1]):
            reduced[j] -= Fraction(float(A.data[k])) * found.row_duals[A.indices[k]]
    return reduced


def _bounds(program: Program, reduced: Sequence[Fraction]) -> list[Line]:
    """Return the bounds of columns as constraints."""
    lines: list[Line] = []
    for j, (low, high) in enumerate(zip(program.col_lower.tolist(), program.col_upper.tolist(), strict=True)):
        lines += _sides(f"bound#{j}", low, high, [(j, Fraction(1))], reduced[j], program.sense)
    return lines


def _rows(program: Program, found: ProofRound) -> list[Line]:
    """Return the rows as constraints."""
    A, lines = program.A.tocsr(), []
    names = file_names(program.rows)[0]
    for i, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        where = slice(A.indptr[i], A.indptr[i + 1])
        pairs = zip(A.indices[where].tolist(), A.data[where].tolist(), strict=True)
        lines += _sides(names[i], low, high, [(j, Fraction(v)) for j, v in pairs], found.row_duals[i], program.sense)
    return lines


def _sides(name: str, low: float, high: float, entries: Entries, dual: Fraction, sense: str) -> list[Line]:
    """Return the sides of a row or column that are there; the dual goes to the one that its sign is of."""
    if low == high:
        return [Line(name, "E", Fraction(low), entries, dual)]
    of_lower = (dual > 0) == (sense == "min")
    lines = []
    if np.isfinite(low):
        lines.append(Line(f"{name}#least", "G", Fraction(low), entries, dual if of_lower else Fraction(0)))
    if np.isfinite(high):
        lines.append(Line(f"{name}#most", "L", Fraction(high), entries, Fraction(0) if of_lower else dual))
    return lines


__all__ = ["vipr"]
