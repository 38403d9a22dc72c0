"""Plain data that others wrote: JSON within bounds, and the form that is expected of it."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...errors import FileFormatError, quoted
from .whole_files import MOST_DEPTH, TOO_DEEP, depth

__all__ = ["plain_number", "require_form"]

#: A type (``float`` is any number, ``object`` anything); None; a tuple of alternatives; a list of
#: what each entry is; a dict with what each key has, ``{str: form}`` where any keys may stand.
#: Further keys are not looked at.
Form = Any


def plain_json(text: str | bytes, source: str) -> Any:
    """Return what JSON says; an error names the source, and where it is wrong.

    >>> plain_json('{"a": [1]}', "x.json")
    {'a': [1]}
    >>> plain_json("[" * 100_000, "x.json")
    Traceback (most recent call last):
        ...
    fairlp.errors.FileFormatError: x.json: lists or mappings are nested too deeply; expected at most 50 within one \
another
    """
    try:
        document = json.loads(text)
        if depth(document) > MOST_DEPTH:
            raise RecursionError
        json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        raise FileFormatError(f"{source}: {TOO_DEEP}") from None
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"{source}: the text {error.object[error.start - 20 : error.end + 20]!a} has a lone "
            "surrogate, half of a character; expected text"
        ) from None
    except ValueError as error:
        raise FileFormatError(f"{source}: {error}; is the file cut off?") from None
    return document


def plain_number(text: str, read: Callable[[str], Any] = float) -> Any:
    """Return a number of plain digits; Python also reads ``1_0`` and the digits of other scripts.

    >>> plain_number("1.5"), plain_number("7", int)
    (1.5, 7)
    >>> plain_number("1_0")
    Traceback (most recent call last):
        ...
    ValueError: '1_0' is no number of plain digits
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{quoted(text)} is no number of plain digits")
    return read(text)


def fingerprint(document: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the SHA-256 of fields of plain data, whatever their order and layout."""
    fields = {name: document[name] for name in names}
    return hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()


def require_form(value: Any, form: Form, where: str) -> None:
    """Raise unless plain data have a form.

    >>> require_form({"name": "a", "sizes": [1, 2.5]}, {"name": str, "sizes": [float]}, "x.json")
    >>> require_form({"name": "a", "sizes": [1, "b"]}, {"name": str, "sizes": [float]}, "x.json")
    Traceback (most recent call last):
        ...
    fairlp.errors.FileFormatError: x.json, sizes, entry 1: 'b'; expected a number
    """
    if isinstance(form, list) and isinstance(value, list | tuple):
        for place, entry in enumerate(value):
            require_form(entry, form[0], f"{where}, entry {place}")
    elif isinstance(form, dict) and isinstance(value, dict):
        anything = form.get(str)
        for key in form if anything is None else value:
            if key not in value:
                raise FileFormatError(f"{where}: there is no {key!r}")
            form_of_value = form[key] if anything is None else anything
            require_form(value[key], form_of_value, f"{where}, {key}")
    elif _is_beyond_floats(value, form):
        raise FileFormatError(
            f"{where}: a whole number of {len(str(value))} digits; expected one that floats hold"
        )
    elif isinstance(value, str) and not is_unicode(value):
        raise FileFormatError(
            f"{where}: {value[:80]!a} has a lone surrogate, half of a character; expected text"
        )
    elif not _is_of(value, form):
        raise FileFormatError(f"{where}: {repr(value)[:80]}; expected {_words(form)}")


def _is_of(value: Any, form: Form) -> bool:
    """Whether a value is of a form that is no list and no mapping, or of one of several."""
    if isinstance(form, tuple):
        return any(_fits(value, alternative) for alternative in form)
    if form is None:
        return value is None
    if form is float or form is int:
        return isinstance(value, (int, float) if form is float else int) and not isinstance(
            value, bool
        )
    return isinstance(form, type) and isinstance(value, form)


def is_unicode(text: str) -> bool:
    """Whether text has no lone surrogate, so that files can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_beyond_floats(value: Any, form: Form) -> bool:
    """Whether a number is wanted as a float, and is a whole number larger than floats."""
    wants_float = form is float or (isinstance(form, tuple) and float in form)
    return wants_float and isinstance(value, int) and abs(value) > sys.float_info.max


def _fits(value: Any, form: Form) -> bool:
    try:
        require_form(value, form, "")
    except FileFormatError:
        return False
    return True


def _words(form: Form) -> str:
    """Return what is expected, in words."""
    match form:
        case tuple():
            return " or ".join(map(_words, form))
        case list():
            return "a list"
        case dict():
            return "a mapping"
    names = {
        float: "a number",
        int: "a whole number",
        str: "text",
        bool: "true or false",
        None: "null",
    }
    return names[form]
