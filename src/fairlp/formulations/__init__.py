"""Mechanisms as models: one function Instance → Model each, written the way the paper writes it.

The modules are public for formulations of one's own: ``region`` has the rows that all share,
``normalisers`` the tasks that count as a share of 1, ``options`` the keywords of all mechanisms.

>>> import fairlp
>>> fairlp.formulations.normalisers.dominant(fairlp.examples.load("ghodsi")).tolist()
[4.5, 3.0]
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
