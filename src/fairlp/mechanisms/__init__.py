"""Mechanisms: the table of them, a room a family, and how a method's outcome becomes an Allocation.

``fairlp.mechanisms()`` lists them; ``fairlp.mechanisms.find("drf")`` is one row of the table.
"""

from __future__ import annotations

import sys

from ..registry import make_callable
from .table import TABLE, find, table

__all__ = ["TABLE", "find", "table"]


def __dir__() -> list[str]:
    return __all__


make_callable(sys.modules[__name__], table)
