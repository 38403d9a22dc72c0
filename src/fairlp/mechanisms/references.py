"""Where a mechanism of one's own is: ``package.module:function``, or ``file.py:function``; loading it runs its code."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from ..errors import UnknownNameError, nearest
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
    home, _, function = reference.rpartition(":")
    module = _file(Path(home).expanduser(), reference) if home.endswith(".py") else _module(home, reference)
    there = {name: value for name, value in vars(module).items() if isinstance(value, OwnMechanism)}
    if function in there:
        return there[function]
    if hasattr(module, function):
        raise UnknownNameError(
            f"{reference!r} is no mechanism; decorate the function with @fairlp.mechanism('its-name')"
        )
    raise UnknownNameError(f"{home!r} has no mechanism {function!r}; {nearest(function, there)}")


def _module(name: str, reference: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError) as error:
        raise UnknownNameError(f"mechanism {reference!r}: cannot import {name!r} ({error})") from None


def _file(path: Path, reference: str) -> ModuleType:
    """Import a file under its own name; what stands beside it can be imported by it, as if it were run."""
    if not path.is_file():
        raise UnknownNameError(f"mechanism {reference!r}: there is no file {str(path)!r}")
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
        raise UnknownNameError(
            f"mechanism {reference!r}: {path.name} failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove(beside)
    return module
