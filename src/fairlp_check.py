"""Check a proof that fairlp wrote with nothing but Python (no fairlp, no solver, no floats): docs/proofs.md.

``python fairlp_check.py proof.json`` ends with 0: proved, 1: refused (a line says what fails), 2:
no proof.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from fractions import Fraction
from typing import Any

FORMAT = "fairlp proof"
VERSION = 1
#: An allocation's levels are floats: they may differ from the exact ones by so much of the larger.
AGREEMENT = Fraction(1, 10**9)
MOST_DIGITS = 100_000  # of a number; those of a hundred users have some 600
TEXT = (str,)
BOUND = (str, type(None))


class RefusedError(Exception):
    """The proof does not prove what it says; what is no proof at all is a ValueError."""


def need(condition: bool, problem: str) -> None:
    """Raise where the file is not of the format."""
    if not condition:
        raise ValueError(problem)


def hold(condition: bool, problem: str) -> None:
    """Raise where the proof is wrong."""
    if not condition:
        raise RefusedError(problem)


def fields(value: Any, subject: str, *names: str) -> list[Any]:
    """Return the fields of an object, which has these and no others."""
    need(
        type(value) is dict and set(value) == set(names),
        f"{subject}: expected an object of {', '.join(names)}",
    )
    return [value[name] for name in names]


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, which has every field once."""
    need(len(dict(pairs)) == len(pairs), "an object has a field twice")
    return dict(pairs)


def lists(value: Any, subject: str, *kinds: tuple[type, ...]) -> list[list[Any]]:
    """Return a list of lists, each with parts of these kinds."""
    is_right = type(value) is list and all(
        type(entry) is list and len(entry) == len(kinds) for entry in value
    )
    is_right = is_right and all(
        type(element) in kind for entry in value for element, kind in zip(entry, kinds, strict=True)
    )
    need(is_right, f"{subject}: expected a list of lists of {len(kinds)}, or other types")
    return list(value)


def number(value: Any, subject: str) -> Fraction:
    """Return a rational, written in lowest terms as "-3/4" or "2"."""
    top, _, bottom = (value if type(value) is str else "").partition("/")
    parts = (top.removeprefix("-"), bottom or "1")
    size = max(map(len, parts))
    need(size <= MOST_DIGITS, f"{subject}: {size} digits; expected at most {MOST_DIGITS}")
    is_valid = all(part.isascii() and part.isdigit() for part in parts)
    rational = Fraction(int(top), int(bottom or "1") or 1) if is_valid else Fraction(0)
    need(is_valid and str(rational) == value, f"{subject}: expected a rational in lowest terms")
    return rational


def bound(value: Any, subject: str) -> Fraction | None:
    """Return a bound, None where there is none."""
    return None if value is None else number(value, subject)


def claimed(claims: Any, names: list[str], subject: str) -> tuple[list[str], list[Fraction]]:
    """Return statuses and values, which a round gives name by name."""
    entries = lists(claims, subject, TEXT, TEXT, TEXT)
    pairs = zip(entries, names, strict=False)
    misplaced = [name for (claim, _, _), name in pairs if claim != name]
    hold(
        len(entries) == len(names) and not misplaced,
        f"{subject}: {misplaced[:1]} is not in its place, or the number is wrong",
    )
    values = [number(value, f"{subject} {name!a}") for name, _, value in entries]
    return [status for _, status, _ in entries], values


class Program:
    """A linear program: columns (name, cost, lower, upper) and rows (name, lower, upper, {column: coefficient})."""

    def __init__(self, data: Any) -> None:
        name, sense, offset, columns, rows = fields(
            data, "program", "name", "sense", "offset", "columns", "rows"
        )
        need(sense in ("min", "max") and type(name) is str, "program: expected a name and a sense")
        self.name, self.sign, self.offset = (
            name,
            1 if sense == "min" else -1,
            number(offset, "offset"),
        )
        self.columns: list[tuple[str, Fraction, Fraction | None, Fraction | None]] = []
        self.rows: list[tuple[str, Fraction | None, Fraction | None, dict[int, Fraction]]] = []
        for name, cost, low, high in lists(columns, "columns", TEXT, TEXT, BOUND, BOUND):
            subject = f"column {name!a}"
            self.columns.append(
                (name, number(cost, subject), bound(low, subject), bound(high, subject))
            )
        for name, low, high, coefficients in lists(rows, "rows", TEXT, BOUND, BOUND, (list,)):
            subject = f"row {name!a}"
            entries = {
                j: number(value, subject) for j, value in lists(coefficients, subject, (int,), TEXT)
            }
            need(
                len(entries) == len(coefficients) and list(entries) == sorted(entries),
                f"{subject}: columns twice or unordered",
            )
            need(
                all(entries.values()) and set(entries) <= set(range(len(columns))),
                f"{subject}: a 0, or no such column",
            )
            self.rows.append((name, bound(low, subject), bound(high, subject), entries))

    def optimum(self, claim: Any, where: str) -> tuple[list[Fraction], list[Fraction]]:
        """Return point and duals, proved optimal: in all bounds, of the right signs, and of the same value."""
        value, columns, rows, _ = fields(claim, where, "value", "columns", "rows", "blocked")
        column_statuses, x = claimed(
            columns, [line[0] for line in self.columns], f"{where}: column"
        )
        row_statuses, y = claimed(rows, [line[0] for line in self.rows], f"{where}: row")
        basic = (column_statuses + row_statuses).count("basic")
        hold(
            basic == len(y),
            f"{where}: {basic} columns and rows are basic, and there are {len(y)} rows",
        )
        reduced = [cost for _, cost, _, _ in self.columns]
        primal = sum((cost * x_j for cost, x_j in zip(reduced, x, strict=True)), self.offset)
        dual = self.offset
        for (name, low, high, entries), status, price in zip(
            self.rows, row_statuses, y, strict=True
        ):
            activity = sum((entry * x[j] for j, entry in entries.items()), Fraction(0))
            dual += self.worth(f"{where}: row {name!a}", (low, high), activity, status, price)
            for j, entry in entries.items():
                reduced[j] -= entry * price
        for (name, _, low, high), x_j, status, price in zip(
            self.columns, x, column_statuses, reduced, strict=True
        ):
            dual += self.worth(f"{where}: column {name!a}", (low, high), x_j, status, price)
        hold(
            primal == dual == number(value, where),
            f"{where}: the values of point, duals and file are not the same",
        )
        return x, y

    def worth(
        self, subject: str, bounds: tuple[Any, Any], value: Fraction, status: str, price: Fraction
    ) -> Fraction:
        """Return what the bound of a column or row gives to the dual value; raise unless all about it is right."""
        low, high = bounds
        hold(
            (low is None or low <= value) and (high is None or value <= high),
            f"{subject} is out of its bounds",
        )
        side = (
            {"lower": low, "upper": high}
            if low != high
            else {"fixed": low}
            if low is not None
            else {"free": 0}
        )
        hold(
            value == {"basic": value, **side}.get(status),
            f"{subject} is not where its status {status!a} says",
        )
        has_wrong_sign = {
            "lower": self.sign * price < 0,
            "upper": self.sign * price > 0,
            "fixed": False,
        }.get(status, price != 0)
        hold(not has_wrong_sign, f"{subject} has a dual or reduced cost of the wrong sign")
        return price * value


def leximin(program: Program, t: int, levels: list[Any], rounds: list[Any]) -> str:
    """Return what a proof of a leximin proves: every round an optimum, and the next program made of it."""
    active: dict[int, tuple[str, Fraction]] = {}
    for name, i, level, claimed_level in lists(
        levels, "levels", TEXT, (int, type(None)), BOUND, BOUND
    ):
        subject = f"level of {name!a}"
        exact = bound(level, "a level") or Fraction(0)
        level_claimed = exact if claimed_level is None else number(claimed_level, subject)
        hold(
            abs(level_claimed - exact) <= AGREEMENT * max(abs(level_claimed), abs(exact)),
            f"{subject}: the allocation has another",
        )
        hold(
            (i is None) == (level is None) and i not in active,
            f"{subject}: no row of its own, or no level",
        )
        need(i is None or 0 <= i < len(program.rows), f"{subject}: no such row")
        active |= {} if i is None else {i: (subject, exact)}
    for j, (name, cost, _, _) in enumerate(program.columns):
        is_right = (cost > 0 if j == t else cost == 0) and program.sign < 0
        hold(
            is_right,
            f"column {name!a}: a leximin maximises the column of its level and nothing else",
        )
    for i, (name, low, high, entries) in enumerate(program.rows):
        is_right = (
            entries.get(t, 0) < 0 and low is not None and high is None
            if i in active
            else t not in entries
        )
        hold(
            is_right,
            f"row {name!a}: rows of levels, and no others, say (what is had) - (what is due) t >= "
            "a number",
        )
    for k, claim in enumerate(rounds, 1):
        x, y = program.optimum(claim, f"round {k}")
        floors = []
        for i in [i for i in active if y[i]]:
            subject, level = active.pop(i)
            name, low, _, entries = program.rows[i]
            floor = (low or 0) - entries.pop(t) * x[t]
            program.rows[i] = (name, floor, None, entries)
            floors.append([name, str(floor)])
            hold(level == x[t], f"round {k}: {subject}: not the level at which its row has a dual")
        hold(floors != [], f"round {k}: no row of a level has a dual: no user is blocked")
        hold(
            claim["blocked"] == floors,
            f"round {k}: blocked are others, or at other floors, than its duals say",
        )
    hold(not active, "; ".join(f"{subject}: no round blocks it" for subject, _ in active.values()))
    return f"the leximin of {program.name!a}, {len(levels)} levels in {len(rounds)} rounds"


def check(data: Any) -> str:
    """Return what a proof proves, in words."""
    names = ("format", "version", "title", "notes", "statement", "sha256", "rounds")
    form, version, title, notes, statement, fingerprint, rounds = fields(data, "the file", *names)
    need(
        [form, version, type(version)] == [FORMAT, VERSION, int],
        f"expected {FORMAT!r} of version {VERSION}",
    )
    need(
        type(notes) is list and all(type(text) is str for text in (title, *notes)),
        "title and notes: no text",
    )
    kind, program_data, t, levels = fields(
        statement, "statement", "kind", "program", "level_column", "levels"
    )
    program = Program(program_data)
    plain = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode("ascii")
    hold(
        fingerprint == hashlib.sha256(plain).hexdigest(),
        "the statement is another than its sha256 says",
    )
    need(type(rounds) is list and rounds != [], "there are no rounds")
    if kind == "leximin":
        need(type(t) is int and 0 <= t < len(program.columns), "level_column: no such column")
        return f"{leximin(program, t, levels, rounds)}; statement {fingerprint}"
    program.optimum(rounds[0], "round 1")
    is_right = [kind, t, levels, rounds[0]["blocked"], len(rounds)] == ["optimum", None, [], [], 1]
    hold(is_right, "an optimum has one round, no levels, and no user blocked")
    return f"an optimum of {program.name!a}; statement {fingerprint}"


def main() -> int:
    """Check the file that the command line names, and return the exit code."""
    parser = argparse.ArgumentParser(
        description="Check a proof of fairlp's. Ends with 0: proved, 1: refused, 2: no proof."
    )
    parser.add_argument("file", help="proof.json")
    sys.set_int_max_str_digits(MOST_DIGITS)
    try:
        with open(parser.parse_args().file, encoding="utf-8") as file:
            print("proved:", check(json.load(file, object_pairs_hook=unique)))
    except RefusedError as error:
        print("refused:", error, file=sys.stderr)
        return 1
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        print("unreadable:", ascii(str(error) or type(error).__name__)[1:-1], file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
