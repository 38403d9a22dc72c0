"""Names of functions: registered ones, ``module:function``, and functions that are in no module."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import keyword
from collections.abc import Callable, Mapping
from functools import reduce
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd

from ...errors import FairlpError, StudyError, UnknownNameError, nearest
from ...mechanisms.own import load_function

# The packages that running studies needs beyond fairlp's own, with the remedy where one is missing.

_REMEDIES = {"distributed": 'pip install "dask[distributed]"'}
#: What generates instances, or makes statistics of allocations.
Function = Callable[..., Any]
#: A function, or what one is called.
Named = str | Function
#: Plain data by name: a point of a grid, arguments, a whole study.
Plain = Mapping[str, Any]


class StudyNotAvailableError(FairlpError, ImportError):
    """A package that studies need is not installed; the message says how to install it."""


def need(name: str) -> Any:
    """Return a module of an optional package."""
    top = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        remedy = _REMEDIES.get(top, 'pip install "fairlp[study]"')
        raise StudyNotAvailableError(
            f"studies need {top}, which cannot be imported ({error}): {remedy}"
        ) from None


# Plain data: what a study may hold, and the one way that it is written where something is computed
# from it.


def plain(value: Any, where: str) -> Any:
    """Return a value as None, bool, int, float, str, list or dict; an error says where something else stands.

    >>> plain({"users": np.arange(2), "demands": (1, np.float64(0.5))}, "grid")
    {'users': [0, 1], 'demands': [1, 0.5]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not abs(value) < float("inf"):
            raise StudyError(
                f"{where} is {value}; a study holds finite numbers (leave it out for no limit)"
            )
        return value
    if isinstance(value, list | tuple | range):
        return [plain(part, f"{where}[{k}]") for k, part in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise StudyError(f"{where} has the key {key!r}; expected text")
        return {key: plain(part, f"{where}.{key}") for key, part in value.items()}
    raise StudyError(
        f"{where} is {type(value).__name__}; expected a number, text, a list or a mapping of these"
    )


def words(point: Plain) -> tuple[int, ...]:
    """Return four 32-bit words that stand for a point: the same in every process, whatever the order of parameters.

    >>> words({"users": 10, "resources": 2}) == words({"resources": 2, "users": 10})
    True
    """
    text = json.dumps(point, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[k : k + 4], "big") for k in range(0, 16, 4))


def key_of(point: Plain) -> str:
    """Return the words of a point as 32 hexadecimal digits."""
    return "".join(f"{word:08x}" for word in words(point))


def shown(point: Plain) -> str:
    """Return a point as people read it.

    >>> shown({"users": 10, "demands": [1, 20]})
    'users=10, demands=[1, 20]'
    """
    return ", ".join(f"{name}={value}" for name, value in point.items())


#: registered name → function
Registry = Mapping[str, Function]


def find(given: Named, registry: Registry, kind: str) -> Function:
    """Return the function that is meant: a function itself, a registered name, or ``module:function``."""
    if callable(given):
        return given
    if not isinstance(given, str):
        raise StudyError(
            f"a {kind} is a name, 'module:function' or a function, not {type(given).__name__}"
        )
    if given in registry:
        return registry[given]
    if ":" not in given:
        raise UnknownNameError(
            f"no {kind} is called {given!r}; {nearest(given, registry)} (your own is "
            "'module:function')"
        )
    function: Function = load_function(given, kind)
    return function


#: Options of :func:`fairlp.allocate` by which files are written, and what they are.
_WRITING = {
    "extra": "options by the solver's own names (extra), which may write files",
    "log_file": "a log_file, which would be written",
}


def refuse_code(document: Plain) -> None:
    """Raise when plain data of a study would run what is not fairlp's, or write files.

    Names are looked at where a study has them, whatever else is wrong with it: that is told later.
    """
    given = document.get("statistics")
    entries = given if isinstance(given, list | tuple) else [given]
    names = [
        document.get("generator"),
        *(e.get("name") if isinstance(e, Mapping) else e for e in entries),
    ]
    mechanisms = document.get("mechanisms")
    listed = mechanisms if isinstance(mechanisms, list | tuple) else [mechanisms]
    names += mechanisms.values() if isinstance(mechanisms, Mapping) else listed
    names = [name.get("mechanism") if isinstance(name, Mapping) else name for name in names]
    for name in names:
        if isinstance(name, str) and ":" in name:
            raise StudyError(
                f"{name!r} is a function of a module, which would be run; if you trust the study "
                "and "
                f"{name.partition(':')[0]!r}, allow it: allow_code=True, or fairlp study "
                "--allow-code"
            )
    for label, how in mechanisms.items() if isinstance(mechanisms, Mapping) else ():
        for option, words in _WRITING.items():
            if isinstance(how, Mapping) and option in how:
                raise StudyError(
                    f"mechanisms.{label} has {words}; if you trust the study, allow it: "
                    "allow_code=True, or fairlp "
                    "study --allow-code"
                )


def name_of(function: Function, registry: Registry) -> str | None:
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
    return f"{module}:{path}" if there is function else None


def short_name(given: Named) -> str:
    """Return the last part of a function's name, for columns and messages."""
    name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    return name.rpartition(":")[2].rpartition(".")[2]


def fingerprint(function: Function) -> dict[str, str]:
    """Return by what a function that is in no module is recognised when a study goes on: its name and code.

    What it refers to elsewhere (other functions, modules) is not part of it.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise StudyError(
            f"{function!r} cannot be recognised again when the study goes on; write a function "
            "(def), or run without "
            "a path"
        )
    digest = hashlib.sha256(repr((_code(code), _bound(function))).encode()).hexdigest()
    return {"function": short_name(function), "code": digest[:32]}


def keywords(arguments: Plain) -> dict[str, Any]:
    """Return arguments as a function takes them: one named by a Python keyword, such as ``from``, ends in ``_``.

    >>> keywords({"of": "fast", "from": "exact"})
    {'of': 'fast', 'from_': 'exact'}
    """
    return {
        f"{name}_" if keyword.iskeyword(name) else name: value for name, value in arguments.items()
    }


def check_arguments(function: Function, given: int, arguments: Plain, what: str) -> None:
    """Raise when a function does not take ``given`` positional arguments and these named ones."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none; the first run will tell
        return
    free = list(signature.parameters.values())[given:]
    named = [
        p.name.removesuffix("_")
        for p in free
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
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
    rows = {}
    for name, function in registry.items():
        named = [
            p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
        ]
        shown = [
            p.name.removesuffix("_")
            + ("" if p.default is p.empty else f"={plain(p.default, p.name)}")
            for p in named
        ]
        rows[name] = {
            "about": (inspect.getdoc(function) or "").splitlines()[0],
            "parameters": ", ".join(shown),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(kind)


def _code(code: CodeType) -> tuple[Any, ...]:
    """Return what code does, apart from where it stands; sets are sorted, for their order changes with each start."""
    constants = [
        _code(c)
        if isinstance(c, CodeType)
        else sorted(map(repr, c))
        if isinstance(c, frozenset)
        else repr(c)
        for c in code.co_consts
    ]
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        tuple(map(repr, constants)),
    )


def _bound(function: Function) -> list[str]:
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
