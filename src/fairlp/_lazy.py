"""Public names that are imported at their first use, listed in the stub beside ``__init__.py``.

Editors and type checkers read the stub anyway, so that it says the same to them and to Python.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from types import MappingProxyType
from warnings import warn

TYPE_CHECKING = False  # the module typing takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def attach(
    package: str,
    file: str,
    deprecated: Mapping[str, str] = MappingProxyType({}),
    moved: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub has its names.

    ``deprecated`` is old name → new name: an old one works, warns, and is listed nowhere. ``moved``
    is a name that is no longer there → where to find what it named.
    """
    homes = _homes(file.removesuffix("c") + "i")
    names = sorted(homes)

    def get(name: str) -> Any:
        if name in deprecated:
            warn(
                f"{package}.{name} is now called {package}.{deprecated[name]}; the old name goes "
                "two minor versions after the one that renamed it",
                DeprecationWarning,
                stacklevel=2,
            )
            return get(deprecated[name])
        if name not in homes:
            from .errors import nearest
            from .hints import HINTS

            remedy = moved.get(name) or HINTS.get(name) or nearest(name, names)
            raise AttributeError(f"module {package!r} has no attribute {name!r}; {remedy}")
        module, own = homes[name]
        home = import_module(module or ".", package)
        is_there = own in vars(home)
        value = vars(home)[own] if is_there else import_module(f"{home.__name__}.{own}")
        setattr(sys.modules[package], name, value)  # asked for once
        return value

    return get, lambda: names, names


def _homes(stub: str) -> dict[str, tuple[str, str]]:
    """Return public name → module, relative to the package, and the name there.

    Modules by annotation are their own.
    """
    homes: dict[str, tuple[str, str]] = {}
    public = []
    with open(stub, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    for node in body:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            homes |= {name.asname or name.name: (module, name.name) for name in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            homes[node.target.id] = ("", node.target.id)
        elif isinstance(node, ast.Assign):
            public = ast.literal_eval(node.value)
    return {name: homes[name] for name in public}
