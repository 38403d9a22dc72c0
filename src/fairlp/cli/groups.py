"""Options that belong together: written once as a dataclass, and taken by a command as one value.

A field of a group is written as a parameter of a command would be: its name, an ``Annotated`` type, its default::

    @dataclass(frozen=True)
    class Report:
        as_json: Annotated[bool, typer.Option("--json")] = False
        output: Annotated[Path | None, typer.Option("--output")] = None

    @app.command()
    @grouped
    def solvers(report: Report) -> None: ...

A group may check its fields in ``__post_init__``: it is made when the command runs, before the command's own code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its groups one by one, as typer passes them.

    Typer reads the options from the signature. In that of the returned function the fields stand in the place of their
    group, in their order; all are passed by name, so that an argument may follow an option. Two fields of one name are
    an error when the command is defined.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int
    ...     height: int = 1
    >>> @grouped
    ... def draw(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> str(inspect.signature(draw))
    '(*, name: str, width: int, height: int = 1)'
    >>> draw(name="box", width=2, height=3)
    box Size(width=2, height=3)
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    groups = {parameter.name: parameter.annotation for parameter in own if _is_group(parameter.annotation)}
    parameters = [each for parameter in own for each in _parts(parameter)]

    @wraps(command)
    def with_groups(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_groups


def _parts(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the fields of a group as parameters, or the parameter itself where it is none."""
    own = _fields(parameter.annotation) if _is_group(parameter.annotation) else [parameter]
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]


@cache  # several commands take the same group
def _fields(group: type[Any]) -> list[inspect.Parameter]:
    """Return the fields of a group as parameters; a field's type is known where its class was written."""
    hints = get_type_hints(group, include_extras=True)
    return [each.replace(annotation=hints[each.name]) for each in inspect.signature(group).parameters.values()]


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)
