"""Where something of one's own is: ``package.module:name``, or ``file.py:name``.

Loading it runs its code.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
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
    remedy = "decorate a function with @fairlp.mechanism('its-name')"
    mechanism: OwnMechanism = _found(
        reference, "mechanism", lambda value: isinstance(value, OwnMechanism), remedy
    )
    return mechanism


def load_solver(reference: str) -> str:
    """Register the back end at ``package.module:Class`` or ``file.py:Class``, and return its name.

    Raises
    ------
    UnknownNameError
        When the file, module or class is not there.
    UnsupportedError
        When it is no back end; what it lacks is named.
    """
    solver = _found(reference, "solver", lambda value: value is not None)
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
    return _found(reference, kind, callable)


def _found(
    reference: str, kind: str, is_right: Callable[[Any], bool], remedy: str = "expected a function"
) -> Any:
    """Return what stands at a reference; raise where that is not right."""
    path, dotted_name, module = module_of(reference, kind)
    value: Any = module
    for attribute in dotted_name.split("."):
        value = getattr(value, attribute, None)
    if not is_right(value):
        names = [name for name, other in vars(module).items() if is_right(other)]
        raise UnknownNameError(
            f"{path!r} has no {kind} {quoted(dotted_name)}; {nearest(dotted_name, names)} ({remedy})"
        )
    return value


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
