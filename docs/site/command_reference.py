"""The commands, from the command line itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def write_commands(path: Path) -> None:
    """Write the page."""
    import typer

    from fairlp.cli import main  # noqa: F401  (registers the commands)
    from fairlp.cli.app import app

    root: Any = typer.main.get_command(app)
    lines = ["# Commands", "", "Every command of `fairlp`, as `fairlp COMMAND --help` says it.", ""]
    for name, command in _commands(root, "fairlp"):
        lines += [f"## {name}", "", _plain(command.help or ""), ""]
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        options = [
            one for one in command.params if one.param_type_name == "option" and not one.hidden
        ]
        usage = " ".join(
            [
                name,
                *(
                    f"[{one.name.upper()}]" if not one.required else one.name.upper()
                    for one in arguments
                ),
            ]
        )
        lines += ["```text", f"{usage} [OPTIONS]", "```", ""]
        if options or arguments:
            lines += ["| | |", "| --- | --- |"]
            lines += [
                f"| `{one.name.upper()}` | {_cell(getattr(one, 'help', '') or '')} |"
                for one in arguments
            ]
            lines += [
                f"| `{', '.join([*one.opts, *one.secondary_opts])}` | {_cell(one.help or '')} |"
                for one in options
            ]
            lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")


def _commands(command: Any, name: str) -> list[tuple[str, Any]]:
    """Return all commands that do something, with their whole names."""
    if not hasattr(command, "commands"):
        return [(name, command)]
    return [
        one for key in command.commands for one in _commands(command.commands[key], f"{name} {key}")
    ]


def _plain(text: str) -> str:
    """Return help as Markdown."""
    return re.sub(r"\s+\n", "\n", text.replace("\b", "").strip())


def _cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
