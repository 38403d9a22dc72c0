"""Functions of studies and plain data: names and arguments, each checked before anything runs."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import keyword
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

import fairlp
from fairlp.errors import StudyError, UnknownNameError, nearest

#: A generator of instances, or a statistic of allocations.
Function = Callable[..., Any]
#: A function, or its name.
Named = str | Function
#: Plain data by name: a point of a grid, arguments, a whole study.
Plain = Mapping[str, Any]
#: Registered name → function.
Registry = Mapping[str, Function]


# Plain data: the values that a study may hold, and their one form as text.


def plain(value: Any, path: str) -> Any:
    """Return a value as None, bool, int, float, str, list or dict.

    The error for another value names its path.

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
                f"{path} is {value}; a study holds finite numbers (leave it out for no limit)"
            )
        return value
    if isinstance(value, list | tuple | range):
        return [plain(item, f"{path}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise StudyError(f"{path} has the key {name!r}; expected text")
        return {name: plain(item, f"{path}.{name}") for name, item in value.items()}
    raise StudyError(
        f"{path} is {type(value).__name__}; expected a number, text, a list or a mapping of these"
    )


def words(point: Plain) -> tuple[int, ...]:
    """Return four 32-bit words for a point, the same in every process.

    The order of its parameters does not matter.

    >>> words({"users": 10, "resources": 2}) == words({"resources": 2, "users": 10})
    True
    """
    text = json.dumps(point, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[k : k + 4], "big") for k in range(0, 16, 4))


def key_of(point: Plain) -> str:
    """Return the words of a point as 32 hexadecimal digits."""
    return "".join(f"{word:08x}" for word in words(point))


def point_text(point: Plain) -> str:
    """Return a point as text for messages.

    >>> point_text({"users": 10, "demands": [1, 20]})
    'users=10, demands=[1, 20]'
    """
    return ", ".join(f"{name}={value}" for name, value in point.items())


# Functions: found by name, and named.


def find(function: Named, registry: Registry, kind: str) -> Function:
    """Return the function of a registered name or ``module:function``, or the function itself."""
    if callable(function):
        return function
    if not isinstance(function, str):
        raise StudyError(
            f"a {kind} is a name, 'module:function' or a function, not {type(function).__name__}"
        )
    if function in registry:
        return registry[function]
    if ":" not in function:
        raise UnknownNameError(
            f"no {kind} is called {function!r}; {nearest(function, registry)} (your own is "
            "'module:function')"
        )
    loaded: Function = fairlp.mechanisms.load_function(function, kind)
    return loaded


def name_of(function: Function, registry: Registry) -> str | None:
    """Return the name by which another process finds a function; None without one.

    It is a registered name, or ``module:function``.
    """
    for name, registered in registry.items():
        if registered is function:
            return name
    module = getattr(function, "__module__", None)
    path = getattr(function, "__qualname__", "")
    if not module or module == "__main__" or not path or "<" in path:
        return None
    try:
        importable: Any = reduce(getattr, path.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
    return f"{module}:{path}" if importable is function else None


def short_name(function: Named) -> str:
    """Return the last component of a function's name, for columns and messages."""
    default = type(function).__name__
    name = function if isinstance(function, str) else getattr(function, "__name__", default)
    return name.rpartition(":")[2].rpartition(".")[2]


#: Options of :func:`fairlp.allocate` by which files are written, and their description.
_WRITING_OPTIONS = {
    "extra": "options by the solver's own names (extra), which may write files",
    "log_file": "a log_file, which would be written",
}


def refuse_code(document: Plain) -> None:
    """Raise an error where plain data of a study would run code beyond fairlp's, or write files.

    Names are looked for wherever a study can hold them; other errors of the study are found later.
    """
    statistics = _as_list(document.get("statistics"))
    mechanisms = document.get("mechanisms")
    rules = mechanisms.values() if isinstance(mechanisms, Mapping) else _as_list(mechanisms)
    names = [document.get("generator")]
    names += [entry.get("name") if isinstance(entry, Mapping) else entry for entry in statistics]
    names += [rule.get("mechanism") if isinstance(rule, Mapping) else rule for rule in rules]
    for name in names:
        if isinstance(name, str) and ":" in name:
            raise StudyError(
                f"{name!r} is a function of a module, which would be run; if you trust the study "
                f"and {name.partition(':')[0]!r}, allow it: allow_code=True, or fairlp study "
                "--allow-code"
            )
    for label, arguments in mechanisms.items() if isinstance(mechanisms, Mapping) else ():
        for option, description in _WRITING_OPTIONS.items():
            if isinstance(arguments, Mapping) and option in arguments:
                raise StudyError(
                    f"mechanisms.{label} has {description}; if you trust the study, allow it: "
                    "allow_code=True, or fairlp study --allow-code"
                )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


# Arguments of functions.


def keywords(arguments: Plain) -> dict[str, Any]:
    """Return keyword arguments, with ``_`` after a name that Python reserves, such as ``from``.

    >>> keywords({"of": "fast", "from": "exact"})
    {'of': 'fast', 'from_': 'exact'}
    """
    return {
        f"{name}_" if keyword.iskeyword(name) else name: value for name, value in arguments.items()
    }


def check_arguments(
    function: Function, positional: int, arguments: Plain, description: str
) -> None:
    """Raise an error where a function does not take these arguments.

    They are so many positional arguments, and these named ones.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none; the first run shows it
        return
    parameters = list(signature.parameters.values())[positional:]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = [
        parameter.name.removesuffix("_")
        for parameter in parameters
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    for name in arguments:
        if name not in names and not takes_any:
            raise UnknownNameError(
                f"{description} has no parameter {name!r}; {nearest(name, names)}"
            )
    try:
        signature.bind(*[None] * positional, **keywords(arguments))
    except TypeError as error:
        message = str(error).replace("_'", "'")
        raise StudyError(f"{description}: {message}; its parameters: {', '.join(names)}") from None


def listing(registry: Registry, kind: str) -> pd.DataFrame:
    """Return a registry as a table: each function's parameters, defaults and summary."""
    rows = {}
    for name, function in registry.items():
        parameters = [
            _parameter_text(parameter)
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is parameter.KEYWORD_ONLY
        ]
        rows[name] = {
            "about": (inspect.getdoc(function) or "").splitlines()[0],
            "parameters": ", ".join(parameters),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(kind)


def _parameter_text(parameter: inspect.Parameter) -> str:
    """Return a parameter with its default, if it has one."""
    name = parameter.name.removesuffix("_")
    if parameter.default is parameter.empty:
        return name
    return f"{name}={plain(parameter.default, parameter.name)}"
