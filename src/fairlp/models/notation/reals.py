"""One door for numbers: what a model and an instance take as numbers, and how it becomes floats.

Taken are Python's and NumPy's numbers, fractions, decimals and long doubles, alone and in arrays.
A missing entry (None, NaN, pandas' NA, a masked one) becomes NaN, which whoever asks for numbers
refuses by its label. Text, complex numbers, times and numbers that no float holds are refused.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from numbers import Rational, Real
from typing import Any

import numpy as np
import pandas as pd

from ...errors import quoted
from ...tolerances import AGREEMENT, ROUNDING

__all__ = [
    "NumberError",
    "NumberRangeError",
    "floats",
    "is_number",
    "is_whole_number",
    "meeting",
    "number",
]

#: Kinds of NumPy's arrays that hold real numbers: flags, whole numbers with and without a sign,
#: floats.
_REAL_KINDS = "biuf"


class NumberError(ValueError):
    """What is no number of floating point, and its place in an array."""

    place: tuple[int, ...] = ()


class NumberRangeError(NumberError, OverflowError):
    """A number that no float holds."""


def floats(data: Any) -> np.ndarray:
    """Return a new array of floats, NaN where an entry is missing.

    Raises
    ------
    NumberError
        For text, complex numbers, times and other entries that are no real numbers, for rows of
        different lengths, and for numbers beyond the floats.

    Examples
    --------
    >>> from fractions import Fraction
    >>> floats([[1, True], [None, Fraction(1, 4)]]).tolist()
    [[1.0, 1.0], [nan, 0.25]]
    >>> floats(["1", "2"])
    Traceback (most recent call last):
        ...
    fairlp.models.notation.reals.NumberError: '1' is text; expected a number
    >>> floats([1, 10**400])
    Traceback (most recent call last):
        ...
    fairlp.models.notation.reals.NumberRangeError: a whole number of 1329 bits is beyond the largest \
float, about 1.8e308
    """
    array = _array(data)
    kind = array.dtype.kind
    if kind not in _REAL_KINDS + "OUS":
        raise NumberError(f"{array.dtype} are no real numbers")
    if kind in _REAL_KINDS and array.dtype.itemsize <= np.dtype(float).itemsize:
        return array.astype(float, copy=False)
    numbers = np.empty(array.size)
    for position, entry in enumerate(array.reshape(-1)):
        try:
            numbers[position] = _float(entry)
        except NumberError as error:
            error.place = tuple(map(int, np.unravel_index(position, array.shape)))
            raise
    return numbers.reshape(array.shape)


def number(value: Any) -> float:
    """Return one number as a float; see `floats`.

    >>> from fractions import Fraction
    >>> number(Fraction(1, 4))
    0.25
    """
    if is_number(value):
        return _float(value)
    array = floats(value)
    if array.ndim:
        raise NumberError(f"{quoted(value)} is not one number")
    return float(array)


def is_number(value: Any) -> bool:
    """Whether something is one real number, and no flag.

    >>> from fractions import Fraction
    >>> [is_number(value) for value in (1, Fraction(1, 3), np.float32(2), True, "1", 1j)]
    [True, True, True, False, False, False]
    """
    return isinstance(value, (Real, Decimal)) and not isinstance(value, (bool, np.timedelta64))


def is_whole_number(value: Any) -> bool:
    """Whether something is a whole number of Python's or NumPy's, and no flag and no time.

    >>> [is_whole_number(value) for value in (1, np.int8(1), 1.0, True, np.timedelta64(1, "D"))]
    [True, True, False, False, False]
    """
    is_whole = isinstance(value, (int, np.integer))
    return is_whole and not isinstance(value, (bool, np.timedelta64))


def _array(data: Any) -> np.ndarray:
    """Return data as a new array, of objects where a number could be lost on the way."""
    if isinstance(data, np.ma.MaskedArray):
        return _unmasked(data)
    if type(data) is np.ndarray:
        return data.copy()
    with warnings.catch_warnings():
        # a masked entry of a list becomes NaN with a warning
        warnings.simplefilter("ignore", UserWarning)
        try:
            array = np.array(data)
        except OverflowError:  # whole numbers beside floats, beyond them
            array = np.array(data, dtype=object)
        except ValueError:
            raise NumberError("rows of different lengths, or entries of different shapes") from None
        if array.dtype.kind in "US":  # numbers beside text have become text
            array = np.array(data, dtype=object)
    return array


def _unmasked(data: np.ma.MaskedArray[Any, Any]) -> np.ndarray:
    """Return a masked array as an array of objects, None where an entry is masked."""
    array = np.array(data.data, dtype=object)
    array[np.ma.getmaskarray(data)] = None
    return array


def _float(entry: Any) -> float:
    """Return one entry as a float."""
    if entry is None or entry is pd.NA or entry is pd.NaT or entry is np.ma.masked:
        return math.nan
    if isinstance(entry, (str, bytes)):
        raise NumberError(f"{quoted(entry)} is text; expected a number")
    if isinstance(entry, complex) or not hasattr(entry, "__float__"):
        raise NumberError(f"{quoted(entry)} is no real number")
    try:
        number = float(entry)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise NumberError(f"{quoted(entry)} is no real number") from None
    if math.isinf(number) and _is_finite(entry):
        raise NumberRangeError(f"{quoted(entry)} is beyond the largest float, about 1.8e308")
    if number == 0 and entry != 0:
        raise NumberRangeError(f"{quoted(entry)} is nearer to 0 than any float but 0")
    return number


def _is_finite(entry: Any) -> bool:
    """Whether a number that is no float, or infinite as one, is finite by itself."""
    if isinstance(entry, Decimal):
        return entry.is_finite()
    return isinstance(entry, Rational) or not np.isinf(entry)


def meeting(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return lower ends; one that is above the upper end by rounding (.1 + .2, .3) is that end."""
    with np.errstate(invalid="ignore"):  # between infinite ends there is no difference
        by_rounding = low - high <= np.maximum(AGREEMENT * abs(high), ROUNDING)
    return np.where((low > high) & by_rounding, high, low)
