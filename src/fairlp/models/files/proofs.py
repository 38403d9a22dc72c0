"""Proofs on disk: JSON for the independent checker ``fairlp_check`` (docs/proofs.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NoSolutionError, UnsupportedError
from ..programs.exact_certificate import BASIC, UPPER
from ..programs.program import Program
from ..programs.proof import ExactProof, Proof, ProofRound
from .whole_files import home, write_text

FORMAT = "fairlp proof"
VERSION = 1


def write_proof(verdict: Proof, path: str | Path) -> Path:
    """Write the proof of a verdict to ``.json``; see :meth:`.Proof.write`."""
    target = home(path)
    if not verdict.holds:
        raise NoSolutionError(f"there is no proof to write: {verdict.message}")
    proof = verdict.exact
    if isinstance(proof, str):
        raise UnsupportedError(f"this proof cannot be written: {proof}")
    if not proof.rounds:
        raise UnsupportedError("no user can have anything, so that there is no program to prove")
    return write_text(target, json.dumps(plain(proof, verdict.message), indent=1) + "\n")


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
