"""Signatures as they are written: keywords that several functions share are one ``**options``."""

import inspect


def written_parameters(function):
    """Parameters of a function by name, without those of a shared TypedDict."""
    shown = inspect.signature(function).parameters
    if "__signature__" not in vars(function):
        return dict(shown)
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    var_keyword = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    options = inspect.Parameter(var_keyword, inspect.Parameter.VAR_KEYWORD)
    return {**{name: shown[name] for name in names}, var_keyword: options}
