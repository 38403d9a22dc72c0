"""Mechanisms: the table of them, a room a family, and how a method's outcome becomes an Allocation.

``fairlp.mechanisms()`` lists them; ``fairlp.mechanisms.find("drf")`` is one row of the table.
"""

from __future__ import annotations

import sys

from .._lazy import attach
from ..registry import make_callable
from .table import table

__getattr__, __dir__, __all__ = attach(__name__, __file__)

make_callable(sys.modules[__name__], table)
