"""Keywords that several functions share, shown one by one where Python would say ``**options``.

A function says which with ``**options: Unpack[SolveOptions]``, which type checkers and editors
read. ``help()``, IPython and the pages of the documentation ask for the signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ForwardRef, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Unsaid:
    """A default that is said elsewhere: in the text, or where the keyword is passed on to."""

    def __repr__(self) -> str:
        return "…"


_UNSAID = _Unsaid()


def lists(keywords: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that puts the keywords of a TypedDict in the place of ``**options``.

    >>> from typing import TypedDict
    >>> class Limits(TypedDict, total=False):
    ...     seconds: float
    >>> @lists(Limits)
    ... def solve(solver, **options): ...
    >>> inspect.signature(solve)
    <Signature (solver, *, seconds: 'float' = …)>
    """

    def listing(function: _Function) -> _Function:
        signature = inspect.signature(function)
        positional = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_UNSAID,
                annotation=annotation.__forward_arg__
                if isinstance(annotation, ForwardRef)
                else annotation,
            )
            for name, annotation in keywords.__annotations__.items()
        ]
        function.__signature__ = signature.replace(parameters=positional + shared)  # type: ignore[attr-defined]
        return function

    return listing
