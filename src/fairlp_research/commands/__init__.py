"""The commands of the companion, registered by their import: simulate, study, reproduce, library, frontier."""

from fairlp.errors import needed_by

with needed_by("the command line"):
    from . import frontiers, simulations, studies

__all__ = ["frontiers", "simulations", "studies"]
