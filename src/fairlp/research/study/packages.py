"""The packages that running studies needs beyond fairlp's own, with the remedy where one is missing."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import FairlpError

_REMEDIES = {"distributed": 'pip install "dask[distributed]"'}


class StudyNotAvailableError(FairlpError, ImportError):
    """A package that studies need is not installed; the message says how to install it."""


def need(name: str) -> Any:
    """Return a module of an optional package."""
    top = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        remedy = _REMEDIES.get(top, 'pip install "fairlp[study]"')
        raise StudyNotAvailableError(f"studies need {top}, which cannot be imported ({error}): {remedy}") from None
