"""Numbers that follow from an instance: tasks alone, and its data as whole numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from ...errors import InstanceError, TooLargeError, quoted
from ...tolerances import QUOTIENT_ROUNDING, WHOLE

if TYPE_CHECKING:
    from .instance import Instance

__all__ = [
    "LARGEST_WHOLE",
    "effort",
    "integers",
    "largest_first",
    "limits_beside",
    "of_whole",
    "quantity",
    "quotients",
    "relative",
    "scaled",
    "tasks_alone",
    "whole",
    "whole_limits",
    "whole_table",
]

# What users could run alone: tasks on each row of servers, from demands and capacities or as given.


def effort(instance: Instance, servers: slice = slice(None)) -> np.ndarray | None:
    """Return the multiple of its demands that a task of n needs on i to run at the rate γ[n,i].

    None where no rates are given: then a task needs its demands everywhere. ``servers`` are the
    rows asked for.
    """
    if instance.rates is None:
        return None
    alone = tasks_alone(instance.demands, instance.capacities[servers])
    rates = instance.rates[:, servers]
    return quotients(alone, rates)


def largest_first(values: np.ndarray) -> np.ndarray:
    """Return the positions of numbers from largest to smallest; equal ones stay in their order."""
    return np.argsort(-values, kind="stable")


def quotients(numerator: np.ndarray | float, denominator: np.ndarray) -> np.ndarray:
    """Return part / whole, 0 where the whole is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.asarray(np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0))


def relative(amount: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return part / size, and the part itself where the size is 0."""
    return np.asarray(amount / np.where(size > 0, size, 1.0))


def tasks_alone(demands: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    """Return min over r with d[n,r] > 0 of c[i,r]/d[n,r], shape (N, K).

    It takes some users and one resource at a time, which saves memory.
    """
    alone = np.full((len(demands), len(capacities)), np.inf)
    users_at_once = max(_PAIRS_AT_ONCE // max(len(capacities), 1), 1)
    for start in range(0, len(demands), users_at_once):
        some = slice(start, start + users_at_once)
        _lower_to_alone(alone[some], demands[some], capacities)
    return alone


#: Of so many users × servers the tasks alone are computed at once.
_PAIRS_AT_ONCE: Final = 1_000_000


def _lower_to_alone(alone: np.ndarray, demands: np.ndarray, capacities: np.ndarray) -> None:
    """Lower numbers of tasks to those that users could run alone, in place."""
    for r in range(demands.shape[1]):
        users = np.flatnonzero(demands[:, r] > 0)
        with np.errstate(over="ignore"):  # more tasks than a float can count are infinitely many
            if len(users) == len(demands):
                np.minimum(alone, capacities[:, r] / demands[:, r, None], out=alone)
            else:
                tasks_by_resource = capacities[:, r] / demands[users, r, None]
                alone[users] = np.minimum(alone[users], tasks_by_resource)


# Numbers as they were meant: whole-number copies of data, in which shares are compared without
# rounding.

#: Whole numbers up to this are exact in float64, and so are their sums and products that stay below
#: it.
LARGEST_WHOLE: Final = 2**53
#: A decimal of at most this many digits is the shortest that reads as its float.
_SAFE_DECIMAL: Final = 10**15
_MOST_DIGITS: Final = 15
#: Decimal places from the last digit of the smallest to the first of the largest number: they fit a
#: float, with room.
_MOST_PLACES: Final = 250
#: Numbers within these powers of two have products and quotients that are floats.
MAX_EXPONENT: Final = 500
_LARGEST_INT64: Final = 2.0**62


def whole_limits(limits: np.ndarray) -> np.ndarray:
    """Return the whole tasks that limits allow; one within ``WHOLE`` of a whole number is that.

    Parameters
    ----------
    limits : ndarray of float, any shape

    Returns
    -------
    ndarray of float
    """
    return np.asarray(np.floor(limits + WHOLE))


def limits_beside(totals: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the limits that totals are held to: of whole tasks those of ``whole_limits``."""
    return np.where(totals == whole_limits(limits), np.maximum(limits, totals), limits)


def whole(values: np.ndarray) -> np.ndarray:
    """Return the values as whole numbers, all scaled by one power of ten.

    They are float64 where that is exact, else Python integers.

    Parameters
    ----------
    values : ndarray of float, any shape
        Finite.

    Returns
    -------
    ndarray
        dtype float64 (all below 2⁵³) or object (Python integers), same shape.

    Examples
    --------
    >>> whole(np.array([0.1, 2.25]))
    array([ 10., 225.])
    >>> whole(np.array([3.0, 4.0]))
    array([3., 4.])
    """
    values = np.asarray(values, dtype=float)
    largest = float(abs(values).max(initial=0.0))
    if largest < LARGEST_WHOLE and bool((values == np.floor(values)).all()):
        return values
    for digits in range(1, _MOST_DIGITS + 1):
        factor = 10.0**digits
        if largest * factor >= _SAFE_DECIMAL:
            break
        scaled = np.rint(values * factor)
        if bool(
            (scaled / factor == values).all()
        ):  # division rounds correctly, so this decimal reads as the float
            return scaled
    decimals = [Decimal(repr(value)) for value in values.ravel().tolist()]
    if (
        max(number.adjusted() for number in decimals if number)
        - min(int(number.as_tuple().exponent) for number in decimals)
        > _MOST_PLACES
    ):
        small = min(abs(value) for value in values.ravel().tolist() if value)
        raise InstanceError(
            f"numbers from {small:g} to {largest:g} lie too far apart to be counted exactly; "
            "expected at most "
            f"{_MOST_PLACES} decimal places between them (choose other units)"
        )
    places = max(-int(decimal.as_tuple().exponent) for decimal in decimals)
    scale = 10 ** abs(places)
    whole_numbers = [_times(decimal, places, scale) for decimal in decimals]
    result = np.empty(len(whole_numbers), dtype=object)
    result[:] = whole_numbers
    return result.reshape(values.shape)


def _times(decimal: Decimal, places: int, scale: int) -> int:
    """Return decimal · 10^places exactly; ``places`` covers all its decimal places."""
    top, bottom = decimal.as_integer_ratio()
    return top * scale // bottom if places >= 0 else top // (bottom * scale)


def integers(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as Python integers (dtype object)."""
    if values.dtype == object:
        return values
    return values.astype(np.int64).astype(object)


def whole_tasks_alone(demands: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Return each user's whole tasks alone, min over r of floor(c[r]/d[n,r]), in exact decimals.

    Shape (N,); infinite for a user who demands nothing. 10.6 holds 106 times 0.1, not 105 as floats
    say.

    >>> whole_tasks_alone(np.array([[0.1]]), np.array([10.6]))
    array([106.])
    """
    unlimited = np.full(demands.shape, np.inf)
    with np.errstate(over="ignore"):
        alone = np.divide(capacity, demands, out=unlimited, where=demands > 0)

    # A quotient near a whole number is computed in exact decimals.
    finite = np.where(np.isfinite(alone), alone, 0.5)
    close = abs(finite - np.rint(finite)) <= QUOTIENT_ROUNDING * np.maximum(finite, 1.0)
    for n, r in np.argwhere(close).tolist():
        exact_capacity = Fraction(repr(float(capacity[r])))
        exact_demand = Fraction(repr(float(demands[n, r])))
        alone[n, r] = exact_capacity // exact_demand
    return np.asarray(np.floor(alone).min(axis=1))


def is_extreme(instance: Instance) -> bool:
    """Whether some numbers are so extreme that a product or quotient of two may be no float."""
    numbers = np.concatenate(
        [array[array > 0] for array in (instance.demands, instance.capacities, instance.weights)]
    )
    return bool((abs(np.frexp(numbers)[1]) > MAX_EXPONENT).any())


def require_countable(instance: Instance) -> None:
    """Raise where a user alone in the pool has too many whole tasks for a float to count.

    There one more task changes no float.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        tasks_by_resource = np.where(instance.demands > 0, instance.pool / instance.demands, np.inf)
        alone = tasks_by_resource.min(axis=1)
    alone = np.fmin(alone, instance.task_limits)
    if (alone >= LARGEST_WHOLE).any():
        n = int(alone.argmax())
        raise TooLargeError(
            f"user {quoted(instance.users[n])} has {alone[n]:.3g} whole tasks alone, and 2**53 or more "
            "are not "
            "counted one by one; give it a task limit or larger tasks, or choose a mechanism of "
            "divisible tasks"
        )


def whole_table(demands: np.ndarray, capacities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return demands and capacities as whole numbers, each resource scaled by one power of ten.

    They are float64 where that is exact, else Python integers.
    """
    columns = [
        whole(np.concatenate([demands[:, r], capacities[:, r]])) for r in range(demands.shape[1])
    ]
    small = all(column.dtype != object for column in columns)
    stack = np.column_stack(columns if small else [integers(column) for column in columns])
    return stack[: len(demands)], stack[len(demands) :]


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left · right of non-negative whole numbers, exactly; float64 where that is exact."""
    are_floats = left.dtype != object and right.dtype != object
    if are_floats:
        largest = float(left.max(initial=0.0)) * float(right.max(initial=0.0))
        if largest < LARGEST_WHOLE:
            return np.asarray(left * right)
    return np.asarray(integers(np.asarray(left)) * integers(np.asarray(right)))


def quotient(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Return top / bottom of whole numbers as correctly rounded float64, for bottom > 0.

    Correct rounding makes the quotient monotone.
    """
    if (
        top.dtype == object or bottom.dtype == object
    ):  # int / int rounds once, float / int would round twice
        return np.asarray(integers(top) / integers(bottom), dtype=float)
    return np.asarray(top / bottom)


def same_quotient(
    top1: np.ndarray, bottom1: np.ndarray, top2: np.ndarray, bottom2: np.ndarray
) -> np.ndarray:
    """Return where top1/bottom1 = top2/bottom2, exactly, for non-negative whole numbers; bool."""
    four = (top1, bottom1, top2, bottom2)
    are_numbers = top1.size > 0 and all(values.dtype != object for values in four)
    if are_numbers:
        largest = max(top1.max(), top2.max()) * max(bottom1.max(), bottom2.max())
        if largest < _LARGEST_INT64:
            a, b, c, d = (values.astype(np.int64) for values in four)
            return np.asarray(a * d == c * b)
    return np.asarray(product(top1, bottom2) == product(top2, bottom1), dtype=bool)


def usable(demands: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return the part of what there is of each resource, (K, R), that whole tasks can use at most.

    All are whole numbers. What tasks use is a multiple of what their demands are multiples of.

    >>> usable(np.array([[2.0], [4.0]]), np.array([[8.0], [5.0]]))
    array([[1. ],
           [0.8]])
    """
    fraction = np.ones(amounts.shape)
    for r, needs in enumerate(integers(demands).T.tolist()):
        divisor = math.gcd(*needs)
        for i, total in enumerate(integers(amounts[:, r]).tolist()):
            if divisor and total:
                fraction[i, r] = (total - total % divisor) / total
    return fraction


def beyond(
    demands: np.ndarray, capacities: np.ndarray, counts: np.ndarray, tasks: np.ndarray
) -> np.ndarray:
    """Return the resources that whole tasks (N, K) exceed, exactly: bool, shape (K, R).

    >>> beyond(np.array([[0.1]]), np.array([[0.3], [0.2]]), np.array([1, 1]), np.array([[3.0, 3.0]])).tolist()
    [[False], [True]]
    """
    return exact_room(demands, capacities, counts, tasks)[1] < 0


def exact_room(
    demands: np.ndarray, capacities: np.ndarray, counts: np.ndarray, tasks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return demands (N, R), and the room (K, R) beside whole tasks (N, K), as exact integers.

    Each resource has one unit.

    >>> need, left = exact_room(np.array([[0.1]]), np.array([[0.3]]), np.array([1]), np.array([[2.0]]))
    >>> need.tolist(), left.tolist()
    ([[1]], [[1]])
    """
    table, available = whole_table(demands, capacities)
    need = integers(table)
    total = integers(available) * integers(counts)[:, None]
    used = integers(np.rint(tasks)).T @ need
    return need, total - used


def scaled(unit: str) -> tuple[float, str]:
    """Return the factor to a readable unit, and that unit: cores for thousandths, GiB for MiB.

    >>> scaled("1/1000 core"), scaled("MiB"), scaled("GB")
    ((0.001, 'core'), (0.0009765625, 'GiB'), (1.0, 'GB'))
    """
    prefix, _, unit_name = unit.partition(" ")
    number = prefix.removeprefix("1/")
    if prefix != number and number.isdecimal() and unit_name:
        return 1 / int(number), unit_name
    return (1 / 1024, "GiB") if unit == "MiB" else (1.0, unit)


def quantity(amount: float, resource: str, unit: str) -> str:
    """Return an amount of a resource as people say it.

    >>> quantity(8000, "cpu", "1/1000 core"), quantity(32768, "memory", "MiB"), quantity(2, "gpu", "")
    ('8 CPU', '32 GiB', '2 gpu')
    """
    factor, name = scaled(unit)
    if name.rstrip("s") in ("core", "vcore"):
        name = "CPU"
    value = factor * amount
    return (
        f"{value:,.0f} {name or resource}"
        if abs(value) >= 1000
        else f"{value:.4g} {name or resource}"
    )


def of_whole(amount: float, total: float, resource: str, unit: str) -> str:
    """Return a part of an amount as people say it.

    >>> of_whole(12000, 20000, "cpu", "1/1000 core")
    '12 of 20 CPU'
    """
    return (
        f"{quantity(amount, resource, unit).split(' ', 1)[0]} of {quantity(total, resource, unit)}"
    )
