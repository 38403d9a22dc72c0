"""The public figures, and where each lives (``__init__.py`` reads it)."""

from .convergence import plot_convergence as plot_convergence
from .curves import (
    plot_frontier as plot_frontier,
    plot_means as plot_means,
    plot_profile as plot_profile,
    plot_reductions as plot_reductions,
    plot_slot_sizes as plot_slot_sizes,
    plot_tracking as plot_tracking,
)
from .simulations import (
    plot_completion_ratios as plot_completion_ratios,
    plot_completion_times as plot_completion_times,
    plot_dedicated_clouds as plot_dedicated_clouds,
    plot_user_shares as plot_user_shares,
    plot_utilization_over_time as plot_utilization_over_time,
)

__all__ = [
    "plot_completion_ratios",
    "plot_completion_times",
    "plot_convergence",
    "plot_dedicated_clouds",
    "plot_frontier",
    "plot_means",
    "plot_profile",
    "plot_reductions",
    "plot_slot_sizes",
    "plot_tracking",
    "plot_user_shares",
    "plot_utilization_over_time",
]
