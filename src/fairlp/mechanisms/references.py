"""Where something of one's own is: ``package.module:name``, or ``file.py:name``; loading it runs its code."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import UnknownNameError, UnsupportedError, nearest
from ..models.programs.backends import register_solver, spelt
from .mechanism import Mechanism
from .own import OwnMechanism
from .table import find


def located(name: str | Mechanism) -> Mechanism:
    """Return the mechanism that is meant: itself, of a name, or at ``module:function``, which is imported."""
    if isinstance(name, str) and ":" in name:
        return find(load(name))
    return find(name)


def load(reference: str) -> OwnMechanism:
    """Return the mechanism at ``package.module:function`` or ``file.py:function``; its module is imported, and runs.

    Raises
    ------
    UnknownNameError
        When the file, module or function is not there, or the function is no mechanism.
    """
    home, function, module = module_of(reference, "mechanism")
    there = {name: value for name, value in vars(module).items() if isinstance(value, OwnMechanism)}
    if function in there:
        return there[function]
    if hasattr(module, function):
        raise UnknownNameError(
            f"{reference!r} is no mechanism; decorate the function with @fairlp.mechanism('its-name')"
        )
    raise UnknownNameError(f"{home!r} has no mechanism {function!r}; {_there(function, there)}")


def load_solver(reference: str) -> str:
    """Register the back end at ``package.module:Class`` or ``file.py:Class``, and return its name.

    Raises
    ------
    UnknownNameError
        When the file, module or class is not there.
    UnsupportedError
        When it is no back end; what it lacks is named.
    """
    home, wanted, module = module_of(reference, "solver")
    if not hasattr(module, wanted):
        there = [name for name, value in vars(module).items() if isinstance(value, type) and hasattr(value, "solve")]
        raise UnknownNameError(f"{home!r} has no solver {wanted!r}; {_there(wanted, there)}")
    found = getattr(module, wanted)
    if inspect.isroutine(found) or inspect.ismodule(found):
        raise UnsupportedError(
            f"{reference!r} is no back end; expected a subclass of fairlp.Backend, or an object of one"
        )
    name = str(spelt(found))
    register_solver(name, found)
    return name


def load_function(reference: str, kind: str) -> Any:
    """Return the function at ``package.module:function`` or ``file.py:function``; its module is imported, and runs.

    Raises
    ------
    UnknownNameError
        When the file, module or function is not there.
    """
    home, wanted, module = module_of(reference, kind)
    if not callable(getattr(module, wanted, None)):
        there = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise UnknownNameError(f"{home!r} has no function {wanted!r}; {_there(wanted, there)}")
    return getattr(module, wanted)


def _there(name: str, there: Collection[str]) -> str:
    return nearest(name, there) if there else "it has none"


def module_of(reference: str, kind: str) -> tuple[str, str, ModuleType]:
    """Return ``module`` and ``name`` of ``module:name`` (or ``file.py:name``), and the module, imported."""
    home, _, name = reference.rpartition(":")
    what = f"{kind} {reference!r}"
    module = _file(Path(home).expanduser(), what) if home.endswith(".py") else _module(home, what)
    return home, name, module


def _module(name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError) as error:
        raise UnknownNameError(f"{what}: cannot import {name!r} ({error})") from None


def _file(path: Path, what: str) -> ModuleType:
    """Import a file under its own name; what stands beside it can be imported by it, as if it were run."""
    if not path.is_file():
        raise UnknownNameError(f"{what}: there is no file {str(path)!r}")
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path.resolve()):
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if known is None:  # a module of that name stays what it is
        sys.modules[path.stem] = module
    beside = str(path.resolve().parent)
    sys.path.insert(0, beside)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if sys.modules.get(path.stem) is module:
            del sys.modules[path.stem]
        raise UnknownNameError(f"{what}: {path.name} failed: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(beside)
    return module
