"""Figures of allocations and comparisons, for notebooks, papers, ``fairlp --plot``.

Matplotlib is an optional package (``pip install "fairlp[plot]"``), imported when a figure is drawn.
Every function returns a ``matplotlib.figure.Figure`` that needs no display and is not known to
``pyplot``; save it with ``savefig``. With axes of ``pyplot`` (``ax=``) it is the figure of these. A
notebook shows it once, in the format of its ``InlineBackend.figure_format``.
"""

from __future__ import annotations

from .._lazy import attach

_MOVED = """
plot_completion_ratios plot_completion_times plot_convergence plot_dedicated_clouds
plot_frontier plot_means plot_profile plot_reductions plot_slot_sizes plot_tracking
plot_user_shares plot_utilization_over_time
"""
__getattr__, __dir__, __all__ = attach(
    __name__,
    __file__,
    moved={
        name: f"it is now fairlp_research.plots.{name} (import fairlp_research)"
        for name in _MOVED.split()
    },
)
