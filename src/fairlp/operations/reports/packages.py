"""The packages that pages and charts need beyond fairlp's own, imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import FairlpError


class ReportNotAvailableError(FairlpError, ImportError):
    """A package that pages and charts need is not installed; the message says how to install it."""


def need(name: str) -> Any:
    """Return a module of an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ReportNotAvailableError(
            f'reports need {name}, which cannot be imported ({error}): pip install "fairlp[report]"'
        ) from None
