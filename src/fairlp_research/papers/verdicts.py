"""What an entry of the ledger answers: a verdict, the numbers side by side, and why.

An answer is made from what was computed, by one of a few functions with one rule each: numbers
agree with what the paper prints (``compare``), a property held on random instances (``holds``), or
an instance breaks it (``on_instance``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np

from fairlp import Instance
from fairlp.toolkit import tolerances

AGREEMENT = tolerances.AGREEMENT
AUDIT = tolerances.AUDIT
NOISE = tolerances.NOISE
VERIFIED = tolerances.VERIFIED

#: A mean is within noise when it lies in an interval that holds all true means of an item with this
#: probability.
CONFIDENCE = 0.99
#: What the paper printed in decimals, which is right to half a unit of its last place.
ROUNDED = "≈"
#: A number as printed: text, a whole number or a fraction.
Printed = Any
#: Numbers that are told of an item, those that differ first.
SHOWN = 12


class Agreement(StrEnum):
    """What came of an item."""

    EQUAL = "equal"
    NOISE = "within noise"
    HOLDS = "holds"
    REFUTED = "refuted"
    DIFFERS = "differs"
    PICTURE = "picture only"
    NOT_REPRODUCED = "not reproduced"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True)
class Number:
    """One number of the paper beside ours.

    Attributes
    ----------
    name : str
    paper : str
        As printed: a fraction, a decimal, a rounded one (``≈2.609``), ``yes`` or ``no``; empty
        where it has none.
    ours : float or bool
    agrees : bool or None
        None where there is nothing to compare it with.
    """

    name: str
    paper: str
    ours: float | bool
    agrees: bool | None = None

    def __str__(self) -> str:
        """Return our number by its name, and the paper's where it is another."""
        ours = (
            ("yes" if self.ours else "no")
            if isinstance(self.ours, bool)
            else f"{self.ours + 0.0:.6g}"
        )
        return f"{self.name} {ours}" + (f" (paper: {self.paper})" if self.agrees is False else "")


@dataclass(frozen=True)
class Line:
    """One line of a chart; what the paper printed is drawn as crosses, and ``points`` as dots.

    Lines of one ``panel`` stand together.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    printed: bool = False
    points: bool = False
    panel: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure drawn again, as data."""

    title: str
    xlabel: str
    ylabel: str
    lines: tuple[Line, ...]


def line(label: str, x: Iterable[Any], y: Iterable[Any], **look: Any) -> Line:
    """Return a line of a chart through numbers of any kind."""
    return Line(label, tuple(map(float, x)), tuple(map(float, y)), **look)


@dataclass(frozen=True)
class ItemAnswer:
    """What an entry's function returns.

    Attributes
    ----------
    verdict : Agreement
    ours : str
        What we get, in words or numbers.
    why : str
    numbers : tuple of Number
    count : int or None
        Instances that were looked at, for what holds in general.
    size : str
        Of what was run, beside the paper's.
    witness : str
        The instance that shows it, in words.
    chart : Chart, optional
    """

    verdict: Agreement
    ours: str
    why: str = ""
    numbers: tuple[Number, ...] = ()
    count: int | None = None
    size: str = ""
    witness: str = ""
    chart: Chart | None = field(default=None, repr=False)


def agrees(paper: Printed, ours: float) -> bool:
    """Return whether a number is the printed one, to the last digits.

    A number printed with ``≈`` agrees within half a unit of its last digit.

    >>> agrees("5/7", 5 / 7), agrees("≈2.609", 2.6087), agrees("≈2.609", 2.61), agrees(3, 3.001)
    (True, True, False, False)
    """
    text = str(paper)
    if text.startswith(ROUNDED):
        printed = Decimal(text.removeprefix(ROUNDED))
        exponent = printed.as_tuple().exponent
        assert isinstance(exponent, int)
        half = 0.5 * 10.0**exponent
        return bool(abs(ours - float(printed)) <= half * (1 + AUDIT))
    exact = float(Fraction(text))
    return bool(
        abs(ours - exact) <= AUDIT * max(abs(exact), abs(ours))
        or (exact == 0 and abs(ours) <= AUDIT)
    )


def pairs(printed: Mapping[str, Printed], ours: Iterable[Any]) -> tuple[Number, ...]:
    """Return printed numbers by name beside ours in the same order.

    ``yes`` and ``no`` stand beside the truth of our value.
    """
    numbers = []
    for (name, paper), value in zip(printed.items(), ours, strict=True):
        if paper in ("yes", "no"):
            numbers.append(Number(name, paper, bool(value), bool(value) == (paper == "yes")))
        else:
            numbers.append(Number(name, str(paper), float(value), agrees(paper, float(value))))
    return tuple(numbers)


def named(prefix: str, values: Sequence[Printed]) -> dict[str, Printed]:
    """Return printed values by number, such as user 1 and user 2.

    Parameters
    ----------
    prefix : str
    values : sequence

    Returns
    -------
    dict

    Examples
    --------
    >>> named("user", ["1/2", 3])
    {'user 1': '1/2', 'user 2': 3}
    """
    return {f"{prefix} {k}": value for k, value in enumerate(values, 1)}


def shown(values: Any) -> str:
    """Return numbers to six digits; a table row by row.

    >>> shown([1.0, 2 / 3]), shown([[1, 2], [3, 4.5]])
    ('1, 0.666667', '1, 2; 3, 4.5')
    """
    array = np.asarray(values, dtype=float)
    if array.ndim == 2:
        return "; ".join(shown(row) for row in array)
    return ", ".join(f"{value + 0.0:.6g}" for value in np.atleast_1d(array))


def in_words(instance: Instance) -> str:
    """Return the data of an instance in one line."""
    parts = [f"demands {shown(instance.demands)}", f"capacities {shown(instance.capacities)}"]
    if (instance.weights != 1).any():
        parts.append(f"weights {shown(instance.weights)}")
    if instance.has_constraints:
        may = [", ".join(compress(map(str, instance.servers), row)) for row in instance.eligible]
        parts.append(f"may run on {'; '.join(may)}")
    if instance.queue is not None:
        parts.append(f"queues {', '.join(path or '(root)' for path in instance.queue)}")
    if np.isfinite(instance.task_limits).any():
        parts.append(f"task limits {shown(instance.task_limits)}")
    if instance.entitlements is not None:
        parts.append(f"entitlements {shown(instance.entitlements)}")
    return ", ".join(parts)


def compare(
    numbers: Sequence[Number], why: str = "", *, otherwise: str = "", **fields: Any
) -> ItemAnswer:
    """Return *equal* where all numbers agree, else *differs*, for the reason ``otherwise``."""
    disagreeing_first = sorted(numbers, key=lambda number: number.agrees is not False)
    disagrees = any(number.agrees is False for number in numbers)
    ours = ", ".join(map(str, disagreeing_first[:SHOWN])) + (
        ", …" if len(disagreeing_first) > SHOWN else ""
    )
    verdict = Agreement.DIFFERS if disagrees else Agreement.EQUAL
    return ItemAnswer(verdict, ours, otherwise if disagrees else why, tuple(numbers), **fields)


def beside(
    printed: Mapping[str, Printed], ours: Iterable[Any], why: str = "", **fields: Any
) -> ItemAnswer:
    """Return *equal* where our numbers are the printed ones, else *differs*.

    Parameters
    ----------
    printed : mapping
        Name → what the paper prints: a number, a fraction (``"5/7"``), a rounded decimal
        (``"≈2.61"``: right to half a unit of its last place), ``"yes"`` or ``"no"``.
    ours : iterable
        In the same order.
    why : str
    **fields
        ``otherwise=``: what is said in place of ``why`` where numbers differ.

    Returns
    -------
    ItemAnswer

    Examples
    --------
    >>> str(beside({"share": "≈0.67"}, [2 / 3]).verdict)
    'equal'
    """
    return compare(pairs(printed, ours), why, **fields)


def holds(count: int, broken: Sequence[str] = (), why: str = "", **fields: Any) -> ItemAnswer:
    """Return *holds* where no instance breaks the statement, else *refuted*.

    The message of a refutation has the first such instance.

    Parameters
    ----------
    count : int
        Instances that were checked; 0 is *not checkable*.
    broken : sequence of str
        Those that break the statement, in words.
    why : str
    **fields
        Other attributes of the answer.

    Returns
    -------
    ItemAnswer
    """
    if not count:
        return not_checkable("no random instance had anything to check")
    if broken:
        ours = f"broken on {len(broken)} of {count} random instances"
        return ItemAnswer(Agreement.REFUTED, ours, why, count=count, witness=broken[0], **fields)
    return ItemAnswer(
        Agreement.HOLDS, f"never broken on {count} instances", why, count=count, **fields
    )


def on_instance(
    instance: Instance, breaks: object, ours: str, why: str = "", *, missing: bool = False
) -> ItemAnswer:
    """Return *refuted* where an instance breaks what the paper says, else *holds* (on this one).

    Parameters
    ----------
    instance : Instance
    breaks : bool
    ours, why : str
        What we get, and a remark.
    missing : bool
        Whether the paper says that the property is missing: then it *holds* if the instance breaks
        it, else *differs*.

    Returns
    -------
    ItemAnswer
    """
    if missing:
        verdict = Agreement.HOLDS if breaks else Agreement.DIFFERS
    else:
        verdict = Agreement.REFUTED if breaks else Agreement.HOLDS
    return ItemAnswer(verdict, ours, why, count=1, witness=in_words(instance))


def picture(checks: Mapping[str, object], why: str = "", **fields: Any) -> ItemAnswer:
    """Return *picture only*: the paper prints no numbers.

    Parameters
    ----------
    checks : mapping
        What the picture shows → whether we see it too.
    why : str
    **fields
        ``chart=``: the picture drawn again.

    Returns
    -------
    ItemAnswer
    """
    ours = []
    for word, expected in (("seen", True), ("not", False)):
        names = [name for name, seen in checks.items() if bool(seen) is expected]
        if names:
            ours.append(f"{word}: {', '.join(names)}")
    return ItemAnswer(Agreement.PICTURE, "; ".join(ours), why, **fields)


def not_checkable(why: str) -> ItemAnswer:
    """Return *not checkable* by computation, and why."""
    return ItemAnswer(Agreement.NOT_CHECKABLE, "", why)
