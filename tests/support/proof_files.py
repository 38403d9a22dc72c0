"""Proofs in files for tests: written, checked by a new interpreter that has nothing but Python, and mutated."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse as sp

from fairlp.models.files.model_text import NamedBlock
from fairlp.models.programs.program import Program
from paths import ROOT

CHECKER = ROOT / "src" / "fairlp_check.py"
STATUSES = ("basic", "lower", "upper", "fixed", "free")
#: Far below what any float could tell.
TINY = Fraction(1, 10**40)


def checked(path, *, alone=("-I", "-S")):
    """Exit code and what was said, by an interpreter without site packages."""
    process = subprocess.run(
        [sys.executable, *alone, str(CHECKER), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return process.returncode, process.stdout + process.stderr


def written(verdict, path):
    """The plain data of a proof that was written."""
    return json.loads(verdict.write(path).read_text(encoding="utf-8"))


def fingerprint(data):
    """Put the right fingerprint of its statement into a proof."""
    plain = json.dumps(data["statement"], sort_keys=True, separators=(",", ":"))
    data["sha256"] = hashlib.sha256(plain.encode()).hexdigest()


def rational(value):
    """The rational that a string is, None where it is none."""
    try:
        return Fraction(value) if value[-1:].isdigit() and len(value) < 64 else None
    except (ValueError, ZeroDivisionError):
        return None


def others(value):
    """What may stand in the place of a leaf: other numbers, statuses, words and types."""
    if value is None:
        return ["0", "1", 0]
    if type(value) is int:
        return [value + 1, value - 1, value + 0.5, str(value), None, True]
    values = [value + "x", "", None, 7, [value]]
    number = rational(value)
    if number is not None:
        values += [
            str(number + 1),
            str(number - 1),
            str(number + TINY),
            str(number - TINY),
            str(-number or 2),
        ]
        values += [f"{2 * number.numerator}/{2 * number.denominator}", f" {value}", f"{value}.0"]
    values += [status for status in STATUSES if value in STATUSES]
    return [
        candidate
        for candidate in values
        if type(candidate) is not type(value) or candidate != value
    ]


def mutations(node, path=()):
    """Every change of one place below a node: (its path, do, undo); no two are done at once."""
    if isinstance(node, dict):
        for key in list(node):
            child = node[key]
            yield (
                (*path, key),
                lambda key=key: node.pop(key),
                lambda key=key, child=child: node.update({key: child}),
            )
            yield from places(node, key, child, path)
        yield (*path, "new"), lambda: node.update(new="0"), lambda: node.pop("new")
    elif isinstance(node, list):
        whole = list(node)
        shorter = [whole[:k] + whole[k + 1 :] for k in range(len(whole))]
        longer = [[*whole[: k + 1], *whole[k:]] for k in range(len(whole))]
        swapped = [
            [*whole[:k], whole[k + 1], whole[k], *whole[k + 2 :]] for k in range(len(whole) - 1)
        ]
        for k, changed in enumerate([*shorter, *longer, *swapped, [*whole, None], [*whole, []]]):
            if changed != whole:
                yield (
                    (*path, k % max(len(whole), 1)),
                    lambda changed=changed: put(node, changed),
                    lambda: put(node, whole),
                )
        for k, child in enumerate(whole):
            yield from places(node, k, child, path)


def places(node, key, child, path):
    """Changes of one part of a list or object."""
    if isinstance(child, dict | list):
        yield from mutations(child, (*path, key))
        return
    for other in others(child):
        yield (
            (*path, key),
            lambda other=other: node.__setitem__(key, other),
            lambda: node.__setitem__(key, child),
        )


def put(node, parts):
    node[:] = parts


def program_of(statement):
    """The program that a statement is about, in floats, which its numbers have to be."""
    program = statement["program"]

    def number(text, missing=np.nan):
        value = missing if text is None else float(Fraction(text))
        assert text is None or Fraction(value) == Fraction(text), "not a float"
        return value

    columns, rows = program["columns"], program["rows"]
    A = sp.lil_array((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, value in row[3]:
            A[i, j] = number(value)

    def named(kind, parts):
        return (
            NamedBlock(
                kind, ((kind, pd.Index([f"{kind}{k}" for k in range(len(parts))])),), 0, len(parts)
            ),
        )

    return Program(
        program["name"],
        program["sense"],
        np.array([number(column[1]) for column in columns]),
        number(program["offset"]),
        sp.csc_array(A),
        np.array([number(row[1], -np.inf) for row in rows]),
        np.array([number(row[2], np.inf) for row in rows]),
        np.array([number(column[2], -np.inf) for column in columns]),
        np.array([number(column[3], np.inf) for column in columns]),
        np.zeros(len(columns), dtype=np.uint8),
        named("row", rows),
        named("column", columns),
    )
