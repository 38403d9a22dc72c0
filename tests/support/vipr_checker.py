"""A checker of VIPR 1.0 certificates of linear programs, from the format's specification alone.

Of the reasons of derivations it knows ``lin``, which is all that a linear program needs.
"""

from __future__ import annotations

from fractions import Fraction

SIGNS = {"G": 1, "E": 0, "L": -1}


class WrongError(Exception):
    """The certificate is not of the format, or does not prove what it says."""


def check(text):
    """Return the proved range of the objective (low, high); raise WrongError where anything does not hold."""
    lines = text.splitlines()
    while lines and lines[0].startswith("%"):
        lines.pop(0)
    reader = _Reader(" ".join(lines).split())
    reader.expect("VER", "1.0")
    reader.expect("VAR")
    size = reader.count()
    for _ in range(size):
        reader.word()
    reader.expect("INT", "0", "OBJ")
    sense = reader.word()
    _hold(sense in ("min", "max"), "sense")
    objective = reader.pairs(size)
    reader.expect("CON")
    total, bounds = reader.count(), reader.count()
    rows = [reader.constraint(size, objective) for _ in range(total)]
    _hold(all(len(entries) == 1 for _, _, _, entries in rows[:bounds]), "bounds come first")
    reader.expect("RTP", "range")
    low, high = reader.number(), reader.number()
    reader.expect("SOL")
    values = []
    for _ in range(reader.count()):
        reader.word()
        point = reader.pairs(size)
        for name, sign, side, entries in rows:
            apart = _times(entries, point) - side
            _hold(apart == 0 or apart * sign > 0, f"the solution is not feasible: {name}")
        values.append(_times(objective, point))
    _hold(
        any(value <= high if sense == "min" else value >= low for value in values),
        "no solution is good enough",
    )
    reader.expect("DER")
    for _ in range(reader.count()):
        constraint = reader.constraint(size, objective)
        reader.expect("{", "lin")
        _hold(
            _dominates(_combined(reader.pairs(len(rows)), rows), constraint),
            f"{constraint[0]} does not follow",
        )
        reader.expect("}")
        reader.word()
        rows.append(constraint)
    _hold(
        not reader.stack and len({row[0] for row in rows}) == len(rows),
        "names twice, or something at the end",
    )
    goal = ("goal", 1, low, objective) if sense == "min" else ("goal", -1, high, objective)
    _hold(_dominates(rows[-1][1:], goal), "the range is not proved")
    return low, high


class _Reader:
    """The words of a certificate."""

    def __init__(self, message):
        self.stack = message[::-1]

    def word(self):
        _hold(self.stack, "the end comes too early")
        return self.stack.pop()

    def expect(self, *message):
        for word in message:
            _hold(self.word() == word, f"expected {word}")

    def count(self):
        word = self.word()
        _hold(word.isascii() and word.isdigit(), f"expected a number of things, not {word}")
        return int(word)

    def number(self):
        word = self.word()
        try:
            return Fraction(word)
        except (ValueError, ZeroDivisionError):
            raise WrongError(f"expected a rational, not {word}") from None

    def pairs(self, size):
        pairs = {}
        for _ in range(self.count()):
            position = self.count()
            _hold(position < size and position not in pairs, f"position {position}")
            pairs[position] = self.number()
        return {position: value for position, value in pairs.items() if value}

    def constraint(self, size, objective):
        name, sense, side = self.word(), self.word(), self.number()
        _hold(sense in SIGNS, f"{name}: sense {sense}")
        if self.stack[-1:] == ["OBJ"]:
            self.word()
            return name, SIGNS[sense], side, objective
        return name, SIGNS[sense], side, self.pairs(size)


def _combined(multipliers, rows):
    """The suitable linear combination: (sign, side, entries)."""
    signs = {(1 if factor > 0 else -1) * rows[k][1] for k, factor in multipliers.items()} - {0}
    _hold(len(signs) <= 1, "the combination is not suitable")
    side, entries = Fraction(0), {}
    for k, factor in multipliers.items():
        side += factor * rows[k][2]
        for j, value in rows[k][3].items():
            entries[j] = entries.get(j, 0) + factor * value
    return (signs.pop() if signs else 0), side, {j: value for j, value in entries.items() if value}


def _dominates(constraint, other):
    """Whether a constraint (sign, side, entries) implies another one (name, sign, side, entries), by its sides."""
    sign, side, entries = constraint
    _, other_sign, least, others = other
    if not entries and (side * sign > 0 or (sign == 0 and side != 0)):
        return True
    if entries != others or sign not in (0, other_sign):
        return False
    return side == least if other_sign == 0 else (side - least) * other_sign >= 0


def _times(entries, point):
    return sum((value * point.get(j, 0) for j, value in entries.items()), Fraction(0))


def _hold(good, message):
    if not good:
        raise WrongError(message)
