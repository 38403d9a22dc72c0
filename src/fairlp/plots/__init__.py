"""Figures of allocations, comparisons and simulations, for a notebook, a paper or ``fairlp --plot``.

Matplotlib is an optional package (``pip install "fairlp[plot]"``), imported when a figure is drawn. Every function
returns a ``matplotlib.figure.Figure`` that needs no display and is not known to ``pyplot``; save it with ``savefig``.
With axes of ``pyplot`` (``ax=``) it is the figure of these. A notebook shows it once, in the format of its
``InlineBackend.figure_format``.
"""

from __future__ import annotations

from .allocations import plot_allocation, plot_comparison, plot_shares, plot_utilization
from .frontiers import plot_frontier
from .membership import plot_convergence, plot_tracking
from .profiles import plot_profile
from .queues import plot_queues
from .simulations import (
    plot_completion_ratios,
    plot_completion_times,
    plot_dedicated_clouds,
    plot_reductions,
    plot_slot_sizes,
    plot_user_shares,
    plot_utilization_over_time,
)
from .style import PlottingNotAvailableError

__all__ = [
    "PlottingNotAvailableError",
    "plot_allocation",
    "plot_comparison",
    "plot_completion_ratios",
    "plot_completion_times",
    "plot_convergence",
    "plot_dedicated_clouds",
    "plot_frontier",
    "plot_profile",
    "plot_queues",
    "plot_reductions",
    "plot_shares",
    "plot_slot_sizes",
    "plot_tracking",
    "plot_user_shares",
    "plot_utilization",
    "plot_utilization_over_time",
]


def __dir__() -> list[str]:
    return sorted(__all__)
