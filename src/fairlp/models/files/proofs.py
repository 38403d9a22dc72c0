"""Proofs on disk: JSON for the independent checker ``fairlp_check`` (docs/proofs.md), and VIPR."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import NoSolutionError, UnsupportedError
from ..programs.exact_certificate import BASIC, UPPER
from ..programs.program import Program
from ..programs.proof import ExactProof, Proof, ProofRound
from .model_text import file_names
from .whole_files import home, write_text

# The proof of a linear program's optimum as a VIPR 1.0 certificate, the format of exact SCIP and of
# ``viprchk``.

Entries = Sequence[tuple[int, Fraction]]


class ViprLine(NamedTuple):
    """A constraint, and the dual that it is multiplied by."""

    name: str
    sense: str
    side: Fraction
    entries: Entries
    dual: Fraction


def vipr(proof: ExactProof) -> str:
    """Return a proof as text.

    Raises
    ------
    UnsupportedError
        For a leximin: VIPR holds one program.
    """
    if proof.t is not None:
        raise UnsupportedError(
            "a VIPR certificate holds one linear program, and a leximin is a sequence of them; "
            "write a .json, or the "
            "certificate of one program's solution"
        )
    program = proof.program
    first_round = proof.rounds[0]
    costs = [(j, Fraction(cost)) for j, cost in enumerate(program.c.tolist()) if cost]
    value = sum((cost * first_round.x[j] for j, cost in costs), Fraction(0))
    columns = file_names(program.columns)[0]
    constraints = _constraints(proof, first_round)
    of_bounds = sum(line.name.startswith("bound#") for line in constraints)
    duals = [(k, line.dual) for k, line in enumerate(constraints) if line.dual]
    point = [(j, x) for j, x in enumerate(first_round.x) if x]
    sense = "G" if program.sense == "min" else "L"
    lines = [
        f"% {' '.join(ascii(program.name).split())}, written by fairlp",
        "% constant of the objective, which the range below leaves out: "
        f"{Fraction(program.offset)}",
        "VER 1.0",
        f"VAR {program.n_columns}",
        *columns,
        "INT 0",
        f"OBJ {program.sense}",
        _pairs(costs),
        f"CON {len(constraints)} {of_bounds}",
        *(f"{line.name} {line.sense} {line.side} {_pairs(line.entries)}" for line in constraints),
        f"RTP range {value} {value}",
        "SOL 1",
        f"optimum {_pairs(point)}",
        "DER 1",
        f"#dual {sense} {value} OBJ {{ lin {_pairs(duals)} }} -1",
    ]
    return "\n".join(lines) + "\n"


def _pairs(entries: Entries) -> str:
    """Return how many entries there are, then position and value of each."""
    texts = [f" {j} {value}" for j, value in entries]
    return " ".join([str(len(entries)), *texts])


def _entries(proof: ExactProof) -> list[list[tuple[int, Fraction]]]:
    """Return column and coefficient of every entry of each row."""
    A = proof.program.A.tocsr()
    A.sort_indices()
    numbers = list(zip(A.indices.tolist(), A.data.tolist(), strict=True))
    rows = enumerate(pairwise(A.indptr.tolist()))
    return [
        [(j, proof.entries.get((i, j), Fraction(value))) for j, value in numbers[a:b] if value]
        for i, (a, b) in rows
    ]


def _constraints(proof: ExactProof, proof_round: ProofRound) -> list[ViprLine]:
    """Return the bounds of columns, with the exact reduced costs as duals, and the rows."""
    program = proof.program
    reduced = [Fraction(cost) for cost in program.c.tolist()]
    entries = _entries(proof)
    for row, dual in zip(entries, proof_round.row_duals, strict=True):
        for j, value in row:
            reduced[j] -= value * dual
    bounds = [
        *zip(
            [f"bound#{j}" for j in range(program.n_columns)], program.col_lower.tolist(), program.col_upper.tolist(),
            [[(j, Fraction(1))] for j in range(program.n_columns)], reduced, strict=True,
        ),
        *zip(
            file_names(program.rows)[0], program.row_lower.tolist(), program.row_upper.tolist(), entries,
            proof_round.row_duals, strict=True,
        ),
    ]  # fmt: skip
    return [line for bound in bounds for line in _sides(*bound, program.sense)]


def _sides(
    name: str, low: float, high: float, entries: Entries, dual: Fraction, sense: str
) -> list[ViprLine]:
    """Return the finite sides of a row or column; the dual goes to the side of its sign."""
    if low == high:
        return [ViprLine(name, "E", Fraction(low), entries, dual)]
    used = "G" if (dual > 0) == (sense == "min") else "L"
    zero = Fraction(0)
    return [
        ViprLine(f"{name}#{word}", kind, Fraction(side), entries, dual if kind == used else zero)
        for word, kind, side in (("least", "G", low), ("most", "L", high))
        if np.isfinite(side)
    ]


FORMAT = "fairlp proof"
VERSION = 1


def write_proof(verdict: Proof, path: str | Path) -> Path:
    """Write the proof of a verdict to ``.json`` or ``.vipr``; see :meth:`.Proof.write`."""
    target = home(path)
    if not verdict.holds:
        raise NoSolutionError(f"there is no proof to write: {verdict.message}")
    proof = verdict.exact
    if isinstance(proof, str):
        raise UnsupportedError(f"this proof cannot be written: {proof}")
    if not proof.rounds:
        raise UnsupportedError("no user can have anything, so that there is no program to prove")
    if target.suffix.lower() == ".vipr":
        return write_text(target, vipr(proof))
    return write_text(target, _laid_out(plain(proof, verdict.message)))


def plain(proof: ExactProof, title: str = "") -> dict[str, Any]:
    """Return a proof as plain data, rationals as text."""
    program = proof.program
    columns = proof.program.column_names
    rows = proof.program.row_names
    levels = [
        [
            level.name,
            level.row,
            *(None if value is None else _text(value) for value in (level.level, level.claimed)),
        ]
        for level in proof.levels
    ]
    statement = {
        "kind": "optimum" if proof.t is None else "leximin",
        "program": _program(proof, columns, rows),
        "level_column": proof.t,
        "levels": levels,
    }
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"))
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "notes": list(proof.notes),
        "statement": statement,
        "sha256": hashlib.sha256(text.encode("ascii")).hexdigest(),
        "rounds": [_round(program, columns, rows, level) for level in proof.rounds],
    }


def _program(proof: ExactProof, columns: Sequence[str], rows: Sequence[str]) -> dict[str, Any]:
    """Return all numbers of a program, each the rational that its float is, or was meant to be."""
    program = proof.program
    entries = [[[j, str(value)] for j, value in row] for row in _entries(proof)]
    bounds = zip(columns, program.c, program.col_lower, program.col_upper, strict=True)
    sides = zip(rows, program.row_lower, program.row_upper, entries, strict=True)
    return {
        "name": program.name,
        "sense": program.sense,
        "offset": _text(program.offset),
        "columns": [
            [name, _text(cost), _side(low), _side(high)] for name, cost, low, high in bounds
        ],
        "rows": [
            [name, _side(low), _side(high), row_entries] for name, low, high, row_entries in sides
        ],
    }


def _round(
    program: Program, columns: Sequence[str], rows: Sequence[str], proof_round: ProofRound
) -> dict[str, Any]:
    """Return where everything is in a round's optimum, and who is blocked there."""
    inside = map(status_name, proof_round.basis[0], program.col_lower, program.col_upper)
    active = map(status_name, proof_round.basis[1], program.row_lower, program.row_upper)
    costs = (
        Fraction(float(cost)) * value
        for cost, value in zip(program.c, proof_round.x, strict=True)
        if cost
    )
    return {
        "value": str(sum(costs, Fraction(float(program.offset)))),
        "columns": [
            list(entry) for entry in zip(columns, inside, map(str, proof_round.x), strict=True)
        ],
        "rows": [
            list(entry) for entry in zip(rows, active, map(str, proof_round.row_duals), strict=True)
        ],
        "blocked": [[rows[i], str(floor)] for i, floor in proof_round.blocked],
    }


def status_name(status: int, low: float, high: float) -> str:
    """Return where a column or row with these bounds is, in a word; ``status`` in HiGHS's numbers.

    >>> status_name(1, 0, 1), status_name(0, -np.inf, 1), status_name(2, 3, 3), status_name(3, -np.inf, np.inf)
    ('basic', 'upper', 'fixed', 'free')
    """
    if status == BASIC:
        return "basic"
    if low == high:
        return "fixed"
    if np.isfinite(high) and (status == UPPER or not np.isfinite(low)):
        return "upper"
    return "lower" if np.isfinite(low) else "free"


def _text(value: float | Fraction) -> str:
    return str(value if isinstance(value, Fraction) else Fraction(float(value)))


def _side(value: float) -> str | None:
    return _text(value) if np.isfinite(value) else None


def _laid_out(data: dict[str, Any]) -> str:
    """Return JSON with one column, row, level or round's entry a line."""

    def lines(value: Any, depth: int) -> str:
        margin = " " * depth
        if isinstance(value, dict) and value:
            inner = (
                f"{margin} {json.dumps(name)}: {lines(element, depth + 1)}"
                for name, element in value.items()
            )
            return "{\n" + ",\n".join(inner) + f"\n{margin}}}"
        if (
            isinstance(value, list)
            and any(isinstance(element, list | dict) for element in value)
            and depth < 4
        ):
            deeper = any(isinstance(element, dict) for element in value)
            inner = (
                f"{margin} {lines(element, depth + 1) if deeper else json.dumps(element)}"
                for element in value
            )
            return "[\n" + ",\n".join(inner) + f"\n{margin}]"
        return json.dumps(value)

    return lines(data, 0) + "\n"
