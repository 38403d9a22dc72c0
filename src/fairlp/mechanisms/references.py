"""Where something of one's own is: ``package.module:name``, or ``file.py:name``.

Loading it runs its code.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import (
    UnknownNameError,
    UnsupportedError,
    nearest,
    quoted,
)
from ..models.programs.backends import register_solver, spelt
from .mechanism import Mechanism
from .own import OwnMechanism
from .table import find

__all__ = ["load_function", "located", "module_of"]


def located(name: str | Mechanism) -> Mechanism:
    """Return the mechanism of a name or at ``module:function``; a mechanism returns itself.

    The module is imported.
    """
    if isinstance(name, str) and ":" in name:
        return find(load(name))
    return find(name)


def load(reference: str) -> OwnMechanism:
    """Return the mechanism at ``package.module:function`` or ``file.py:function``.

    Its module is imported, and its code runs.

    Raises
    ------
    UnknownNameError
        When the file, module or function is not there, or the function is no mechanism.
    """
    path, function, module = module_of(reference, "mechanism")
    mechanisms = {
        name: value for name, value in vars(module).items() if isinstance(value, OwnMechanism)
    }
    if function in mechanisms:
        return mechanisms[function]
    if hasattr(module, function):
        raise UnknownNameError(
            f"{reference!r} is no mechanism; decorate the function with "
            "@fairlp.mechanism('its-name')"
        )
    raise UnknownNameError(
        f"{path!r} has no mechanism {function!r}; {_there(function, mechanisms)}"
    )


def load_solver(reference: str) -> str:
    """Register the back end at ``package.module:Class`` or ``file.py:Class``, and return its name.

    Raises
    ------
    UnknownNameError
        When the file, module or class is not there.
    UnsupportedError
        When it is no back end; what it lacks is named.
    """
    path, attribute, module = module_of(reference, "solver")
    if not hasattr(module, attribute):
        names = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and hasattr(value, "solve")
        ]
        raise UnknownNameError(
            f"{path!r} has no solver {quoted(attribute)}; {_there(attribute, names)}"
        )
    solver = getattr(module, attribute)
    if inspect.isroutine(solver) or inspect.ismodule(solver):
        raise UnsupportedError(
            f"{reference!r} is no back end; expected a subclass of fairlp.Backend, or an object of "
            "one"
        )
    name = str(spelt(solver))
    register_solver(name, solver)
    return name


def load_function(reference: str, kind: str) -> Any:
    """Return the function at ``package.module:function`` or ``file.py:function``.

    Its module is imported, and its code runs.

    Raises
    ------
    UnknownNameError
        When the file, module or function is not there.
    """
    path, dotted_name, module = module_of(reference, kind)
    function: Any = module
    for attribute in dotted_name.split("."):
        function = getattr(function, attribute, None)
    if not callable(function):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise UnknownNameError(
            f"{path!r} has no function {dotted_name!r}; {_there(dotted_name, names)}"
        )
    return function


def _there(name: str, names: Collection[str]) -> str:
    return nearest(name, names) if names else "it has none"


def module_of(reference: str, kind: str) -> tuple[str, str, ModuleType]:
    """Return ``module`` and ``name`` of ``module:name`` or ``file.py:name``, and the module.

    The module is imported.
    """
    path, _, name = reference.rpartition(":")
    reference_text = f"{kind} {quoted(reference)}"
    module = (
        _file(Path(path).expanduser(), reference_text)
        if path.endswith(".py")
        else _module(path, reference_text)
    )
    return path, name, module


def _module(name: str, reference_text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError) as error:
        raise UnknownNameError(
            f"{reference_text}: cannot import {quoted(name)} ({error})"
        ) from None


def _file(path: Path, reference_text: str) -> ModuleType:
    """Import a file under its own name.

    It can import the modules beside it, as if it were run.
    """
    if not path.is_file():
        raise UnknownNameError(f"{reference_text}: there is no file {str(path)!r}")
    loaded = sys.modules.get(path.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path.resolve()):
        return loaded
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if loaded is None:  # a module of that name stays what it is
        sys.modules[path.stem] = module
    beside = str(path.resolve().parent)
    sys.path.insert(0, beside)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if sys.modules.get(path.stem) is module:
            del sys.modules[path.stem]
        raise UnknownNameError(
            f"{reference_text}: {path.name} failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove(beside)
    return module
