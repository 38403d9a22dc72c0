"""Proofs on disk: JSON for ``fairlp_check``, which shares no code with fairlp (docs/proofs.md), and VIPR."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileFormatError, NoSolutionError, UnsupportedError
from ..programs.certificate import Verdict
from ..programs.exact_certificate import BASIC, UPPER
from ..programs.program import Program
from ..programs.proof import Proof, ProofRound
from .whole_files import home, write_text

FORMAT, VERSION = "fairlp proof", 1


def write_proof(verdict: Verdict, path: str | Path) -> Path:
    """Write the proof of a verdict to ``.json`` or ``.vipr``; see :meth:`.Verdict.write`."""
    target = home(path)
    kind = target.suffix.lower()
    if kind not in (".json", ".vipr"):
        raise FileFormatError(f"cannot tell the format of {target.name!r}; expected .json or .vipr")
    if not verdict.proved:
        raise NoSolutionError(f"there is no proof to write: {verdict.message}")
    proof = verdict.proof
    if isinstance(proof, str):
        raise UnsupportedError(f"this proof cannot be written: {proof}")
    if not proof.rounds:
        raise UnsupportedError("nobody can have anything, so that there is no program to prove")
    if kind == ".vipr":
        from .vipr import vipr

        return write_text(target, vipr(proof))
    return write_text(target, _laid_out(plain(proof, verdict.message)))


def plain(proof: Proof, title: str = "") -> dict[str, Any]:
    """Return a proof as plain data, rationals as text."""
    program, columns, rows = proof.program, proof.program.column_names, proof.program.row_names
    levels = [
        [one.name, one.row, _bound(one.level), None if one.claimed is None else _text(one.claimed)]
        for one in proof.levels
    ]
    statement = {
        "kind": "optimum" if proof.t is None else "leximin",
        "program": _program(program, columns, rows),
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
        "rounds": [_round(program, columns, rows, one) for one in proof.rounds],
    }


def _program(program: Program, columns: Sequence[str], rows: Sequence[str]) -> dict[str, Any]:
    """Return all numbers of a program, each the rational that its float is."""
    A = program.A.tocsr()
    A.sort_indices()
    entries = [
        [[int(j), _text(value)] for j, value in zip(A.indices[a:b], A.data[a:b], strict=True) if value]
        for a, b in zip(A.indptr[:-1], A.indptr[1:], strict=True)
    ]
    bounds = zip(columns, program.c, program.col_lower, program.col_upper, strict=True)
    sides = zip(rows, program.row_lower, program.row_upper, entries, strict=True)
    return {
        "name": program.name,
        "sense": program.sense,
        "offset": _text(program.offset),
        "columns": [[name, _text(cost), _side(low), _side(high)] for name, cost, low, high in bounds],
        "rows": [[name, _side(low), _side(high), given] for name, low, high, given in sides],
    }


def _round(program: Program, columns: Sequence[str], rows: Sequence[str], one: ProofRound) -> dict[str, Any]:
    """Return where everything is in a round's optimum, and who is blocked there."""
    low, high = program.row_lower.copy(), program.row_upper
    inside = map(status_name, one.basis[0], program.col_lower, program.col_upper)
    active = map(status_name, one.basis[1], low, high)
    costs = (Fraction(float(cost)) * value for cost, value in zip(program.c, one.x, strict=True) if cost)
    return {
        "value": str(sum(costs, Fraction(float(program.offset)))),
        "columns": [list(part) for part in zip(columns, inside, map(str, one.x), strict=True)],
        "rows": [list(part) for part in zip(rows, active, map(str, one.row_duals), strict=True)],
        "blocked": [[rows[i], str(floor)] for i, floor in one.blocked],
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


def _text(value: float) -> str:
    return str(Fraction(float(value)))


def _bound(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _side(value: float) -> str | None:
    return _text(value) if np.isfinite(value) else None


def _laid_out(data: dict[str, Any]) -> str:
    """Return JSON with one column, row, level or round's entry a line."""

    def lines(value: Any, depth: int) -> str:
        margin = " " * depth
        if isinstance(value, dict) and value:
            inner = (f"{margin} {json.dumps(name)}: {lines(part, depth + 1)}" for name, part in value.items())
            return "{\n" + ",\n".join(inner) + f"\n{margin}}}"
        if isinstance(value, list) and any(isinstance(part, list | dict) for part in value) and depth < 4:
            deeper = any(isinstance(part, dict) for part in value)
            inner = (f"{margin} {lines(part, depth + 1) if deeper else json.dumps(part)}" for part in value)
            return "[\n" + ",\n".join(inner) + f"\n{margin}]"
        return json.dumps(value)

    return lines(data, 0) + "\n"


__all__ = ["FORMAT", "VERSION", "plain", "status_name", "write_proof"]
