"""Figures of simulations, studies and profiles, as those of :mod:`fairlp.plots`."""

from fairlp.toolkit import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
