"""The public names of the companion, and where each lives (``__init__.py`` reads it)."""

from . import (
    distributed as distributed,
    library as library,
    papers as papers,
    plots as plots,
    races as races,
    simulation as simulation,
    study as study,
)
from .efficiency import Frontier as Frontier, frontier as frontier
from .papers.reproducing import reproduce as reproduce
from .traces import (
    read_alibaba_gpu as read_alibaba_gpu,
)

__all__ = [
    "Frontier",
    "distributed",
    "frontier",
    "library",
    "papers",
    "plots",
    "races",
    "read_alibaba_gpu",
    "reproduce",
    "simulation",
    "study",
]
