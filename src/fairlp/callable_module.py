"""Let a module be called: ``fairlp.solvers()`` is a table, and ``fairlp.solvers`` also the package of back ends.

Python binds a submodule to its package's attribute when it is first imported, which would hide a function of the same
name. A module that can be called serves as both.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    class Listing(ModuleType):
        """How type checkers see a module that returns a table of what it holds when it is called."""

        def __call__(self) -> pd.DataFrame:
            """Return the table."""
            raise NotImplementedError


def make_callable(module: ModuleType, function: Callable[..., Any]) -> None:
    """Make ``module(...)`` call ``function(...)``."""

    class CallableModule(ModuleType):
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

    CallableModule.__call__.__doc__ = function.__doc__
    module.__class__ = CallableModule
