"""Print the public interface of fairlp: names, members, signatures, errors, commands.

``python packaging/public_interface.py > tests/public_interface.txt`` renews what the tests compare it with, so that a
change of it is seen in review (docs/stability.md).
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any

import typer

import fairlp
import fairlp_clusters
import fairlp_research
from fairlp.cli import main  # noqa: F401  (registers the commands)
from fairlp.cli.app import ExitCode, app

PACKAGES = (fairlp, fairlp_research, fairlp_clusters)
NAMES = {package.__name__ for package in PACKAGES}
#: Types of defaults that are shown.
PLAIN = (type, type(None), bool, int, float, str, tuple)


def interface() -> str:
    """Return the interface as text, one thing a line."""
    lines = [
        line
        for package in PACKAGES
        for name in sorted(package.__all__)
        if name != "__version__"
        for line in of_thing(f"{package.__name__}.{name}", getattr(package, name))
    ]
    lines += [f"mechanism {name}" for name in fairlp.mechanisms().index]
    lines += [f"solver {name}" for name in fairlp.solvers().index]
    lines += of_command("fairlp", typer.main.get_command(app))
    lines += [f"exit code {int(code)} {code.name}" for code in ExitCode]
    return "\n".join(lines) + "\n"


def of_thing(path: str, thing: Any) -> Iterator[str]:
    """Return the lines of a public name."""
    if isinstance(thing, ModuleType):
        yield f"module {path}{' (callable)' if callable(thing) else ''}"
        for name in sorted(getattr(thing, "__all__", ())):
            has_it = hasattr(thing, name)
            member = getattr(thing, name) if has_it else import_module(f"{thing.__name__}.{name}")
            yield from of_thing(f"{path}.{name}", member)
    elif isinstance(thing, type):
        yield from of_class(path, thing)
    elif inspect.isfunction(thing):
        yield f"function {path}{signature_of(thing)}"
    else:
        yield f"object {path}"


def of_class(path: str, kind: type) -> Iterator[str]:
    """Return the lines of a class: its bases, constructor and public members, inherited ones too."""
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.partition(".")[0] in NAMES:
            members |= dict.fromkeys(inspect.get_annotations(base))
            members |= vars(base)
    is_made = "__init__" in members and not issubclass(kind, Enum)
    yield f"class {path}({bases})"
    if is_made:
        yield f"  {kind.__name__}{signature_of(kind)}"
    for name, member in sorted(members.items()):
        if name.startswith("_"):
            continue
        function = getattr(member, "__func__", member)
        signature = signature_of(function) if inspect.isfunction(function) else ""
        value = f" = {member.value!r}" if isinstance(member, Enum) else ""
        yield f"  .{name}{signature}{value}"


def signature_of(function: Any) -> str:
    """Return a signature without quotes about types; a default that is no plain value is ``…``."""
    signature = inspect.signature(function)
    parameters = [
        parameter
        if isinstance(parameter.default, PLAIN) and len(repr(parameter.default)) < 60
        else parameter.replace(default=Ellipsis)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    text = str(signature.replace(parameters=parameters))
    return re.sub(r"(: |-> )(['\"])(.*?)\2(?=[,)=]| =|$)", r"\1\3", text).replace("Ellipsis", "…")


def of_command(name: str, command: Any) -> list[str]:
    """Return the lines of a command and of those below it."""
    below = getattr(command, "commands", {})
    lines = [line for key in sorted(below) for line in of_command(f"{name} {key}", below[key])]
    parameters = [one for one in command.params if not getattr(one, "hidden", False)]
    own = [
        one.name.upper()
        if one.param_type_name == "argument"
        else "/".join(one.opts + one.secondary_opts)
        for one in parameters
    ]
    return [f"command {name}", *(f"  {text}" for text in own if "completion" not in text), *lines]


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    print(interface(), end="")
