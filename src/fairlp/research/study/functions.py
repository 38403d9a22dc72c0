"""Names of functions: registered ones, ``module:function``, and functions that are in no module."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import keyword
from collections.abc import Callable, Mapping
from functools import reduce
from types import CodeType
from typing import TYPE_CHECKING, Any

from ...errors import StudyError, UnknownNameError, nearest
from .plain import plain

if TYPE_CHECKING:
    import pandas as pd

#: registered name → function
Registry = Mapping[str, Callable[..., Any]]


def find(given: str | Callable[..., Any], registry: Registry, kind: str) -> Callable[..., Any]:
    """Return the function that is meant: a function itself, a registered name, or ``module:function``."""
    if callable(given):
        return given
    if not isinstance(given, str):
        raise StudyError(f"a {kind} is a name, 'module:function' or a function, not {type(given).__name__}")
    if given in registry:
        return registry[given]
    module, colon, path = given.partition(":")
    if not colon:
        raise UnknownNameError(
            f"no {kind} is called {given!r}; {nearest(given, registry)} (your own is 'module:function')"
        )
    try:
        home = importlib.import_module(module)
    except ImportError as error:
        raise UnknownNameError(f"{kind} {given!r}: cannot import {module!r} ({error})") from None
    try:
        found = reduce(getattr, path.split("."), home)
    except AttributeError:
        there = [name for name, value in vars(home).items() if callable(value) and not name.startswith("_")]
        raise UnknownNameError(f"{kind} {given!r}: {module!r} has no {path!r}; {nearest(path, there)}") from None
    if not callable(found):
        raise StudyError(f"{kind} {given!r} is not a function but {type(found).__name__}")
    function: Callable[..., Any] = found
    return function


def refuse_code(document: Mapping[str, Any]) -> None:
    """Raise when plain data of a study would run what is not fairlp's: functions of modules, or a solver's own options.

    Names are looked at where a study has them, whatever else is wrong with it: that is told later.
    """
    given = document.get("statistics")
    entries = given if isinstance(given, list | tuple) else [given]
    names = [document.get("generator"), *(e.get("name") if isinstance(e, Mapping) else e for e in entries)]
    mechanisms = document.get("mechanisms")
    listed = mechanisms if isinstance(mechanisms, list | tuple) else [mechanisms]
    names += mechanisms.values() if isinstance(mechanisms, Mapping) else listed
    names = [name.get("mechanism") if isinstance(name, Mapping) else name for name in names]
    for name in names:
        if isinstance(name, str) and ":" in name:
            raise StudyError(
                f"{name!r} is a function of a module, which would be run; if you trust the study and "
                f"{name.partition(':')[0]!r}, allow it: allow_code=True, or fairlp study run --allow-code"
            )
    for label, how in mechanisms.items() if isinstance(mechanisms, Mapping) else ():
        if isinstance(how, Mapping) and "extra" in how:
            raise StudyError(
                f"mechanisms.{label} has options by the solver's own names (extra), which may write files; if you "
                "trust the study, allow it: allow_code=True, or fairlp study run --allow-code"
            )


def name_of(function: Callable[..., Any], registry: Registry) -> str | None:
    """Return the name by which another process finds a function: registered, ``module:function``, or None."""
    for name, registered in registry.items():
        if registered is function:
            return name
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not module or module == "__main__" or not path or "<" in path:
        return None
    try:
        there: Any = reduce(getattr, path.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
    same: bool = there is function
    return f"{module}:{path}" if same else None


def short_name(given: str | Callable[..., Any]) -> str:
    """Return the last part of a function's name, for columns and messages."""
    name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    return name.rpartition(":")[2].rpartition(".")[2]


def fingerprint(function: Callable[..., Any]) -> dict[str, str]:
    """Return by what a function that is in no module is recognised when a study goes on: its name and code.

    What it refers to elsewhere (other functions, modules) is not part of it.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise StudyError(
            f"{function!r} cannot be recognised again when the study goes on; write a function (def), or run without "
            "a path"
        )
    digest = hashlib.sha256(repr((_code(code), _bound(function))).encode()).hexdigest()
    return {"function": short_name(function), "code": digest[:32]}


def keywords(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a function takes them: one named by a Python keyword, such as ``from``, ends in ``_``.

    >>> keywords({"of": "fast", "from": "exact"})
    {'of': 'fast', 'from_': 'exact'}
    """
    return {f"{name}_" if keyword.iskeyword(name) else name: value for name, value in arguments.items()}


def check_arguments(function: Callable[..., Any], given: int, arguments: Mapping[str, Any], what: str) -> None:
    """Raise when a function does not take ``given`` positional arguments and these named ones."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none; the first run will tell
        return
    free = list(signature.parameters.values())[given:]
    named = [p.name.removesuffix("_") for p in free if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name in arguments:
        if name not in named and not any(p.kind is p.VAR_KEYWORD for p in free):
            raise UnknownNameError(f"{what} has no parameter {name!r}; {nearest(name, named)}")
    try:
        signature.bind(*[None] * given, **keywords(arguments))
    except TypeError as error:
        said = str(error).replace("_'", "'")
        raise StudyError(f"{what}: {said}; its parameters: {', '.join(named)}") from None


def listing(registry: Registry, kind: str) -> pd.DataFrame:
    """Return a registry as a table: parameters with their defaults, and the first line of documentation."""
    import pandas as pd

    rows = {}
    for name, function in registry.items():
        named = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        shown = [
            p.name.removesuffix("_") + ("" if p.default is p.empty else f"={plain(p.default, p.name)}") for p in named
        ]
        rows[name] = {"about": (inspect.getdoc(function) or "").splitlines()[0], "parameters": ", ".join(shown)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(kind)


def _code(code: CodeType) -> tuple[Any, ...]:
    """Return what code does, apart from where it stands; sets are sorted, for their order changes with each start."""
    constants = [
        _code(c) if isinstance(c, CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
        for c in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, tuple(map(repr, constants))


def _bound(function: Callable[..., Any]) -> list[str]:
    """Return the defaults and the variables from around a function, where they are plain data."""
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    named = getattr(function, "__kwdefaults__", None) or {}
    found = []
    for value in (*cells, *(getattr(function, "__defaults__", None) or ()), *named.values()):
        try:
            found.append(repr(plain(value, "")))
        except StudyError:
            found.append(type(value).__name__)
    return found
