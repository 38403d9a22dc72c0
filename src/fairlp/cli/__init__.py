"""The command line ``fairlp``; its commands and exit codes are in ``docs/command-line.md``.

Nothing heavy is imported before a command needs it, so that help, version and shell completion come
at once.
"""

from __future__ import annotations

from ..errors import needed_by

with needed_by("the command line"):
    from . import audits, clusters, commands, programs, simulations, studies  # noqa: F401 (commands)
    from .app import ExitCode, app, main

__all__ = ["ExitCode", "app", "main"]
