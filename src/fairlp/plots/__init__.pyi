"""The public figures, and where each lives: the one list of them (``__init__.py`` reads it)."""

from ..research.simulation.plots import (
    plot_completion_ratios,
    plot_completion_times,
    plot_dedicated_clouds,
    plot_reductions,
    plot_slot_sizes,
    plot_user_shares,
    plot_utilization_over_time,
)
from .allocations import (
    plot_allocation,
    plot_comparison,
    plot_queues,
    plot_shares,
    plot_utilization,
)
from .profiles import plot_convergence, plot_frontier, plot_profile, plot_tracking
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
