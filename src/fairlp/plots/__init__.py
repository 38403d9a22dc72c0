"""Figures of allocations, comparisons and simulations, for notebooks, papers, ``fairlp --plot``.

Matplotlib is an optional package (``pip install "fairlp[plot]"``), imported when a figure is drawn.
Every function returns a ``matplotlib.figure.Figure`` that needs no display and is not known to
``pyplot``; save it with ``savefig``. With axes of ``pyplot`` (``ax=``) it is the figure of these. A
notebook shows it once, in the format of its ``InlineBackend.figure_format``.
"""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
