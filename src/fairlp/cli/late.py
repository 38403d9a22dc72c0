"""Packages that take long to import, imported when something of them is first used, if ever.

A third of a second goes into ``import pandas``, and a tenth into ``import scipy.sparse``: more than most commands take
themselves. Half of our modules import them, and a list of mechanisms needs neither.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: What only some commands need and much of what they import asks for.
HEAVY = ("pandas", "scipy.linalg", "scipy.sparse")


class _Late(ModuleType):
    """Stands for a package until it is asked for a name, and then hands on to it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, attribute: str) -> Any:
        name = self.__name__
        if sys.modules.get(name) is self:
            del sys.modules[name]
        return getattr(import_module(name), attribute)


def import_late(names: tuple[str, ...] = HEAVY) -> None:
    """Let packages that are not imported yet be so when they are first used: for a process of our own only."""
    for name in names:
        sys.modules.setdefault(name, _Late(name))
