"""The command line ``fairlp``; its commands and exit codes are in ``docs/command-line.md``.

Nothing heavy is imported before a command needs it, so that help, version and shell completion come
at once. Other packages add commands by entry points in the group ``fairlp.commands``: each leads to
a module that registers them (:func:`fairlp.toolkit.command`) when it is imported.
"""

from __future__ import annotations

from ..errors import needed_by

with needed_by("the command line"):
    from . import commands, programs, searches  # noqa: F401 (commands)
    from .app import ExitCode, app, load_commands, main

load_commands()

__all__ = ["ExitCode", "app", "main"]
