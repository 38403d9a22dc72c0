"""The commands of the companion, registered by their import: report, audit."""

from fairlp.errors import needed_by

with needed_by("the command line"):
    from . import audits, pages

__all__ = ["audits", "pages"]
