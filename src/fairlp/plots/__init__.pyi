"""The public figures, and where each lives: the one list of them (``__init__.py`` reads it)."""

from ..simulation.plots import (
    plot_completion_ratios as plot_completion_ratios,
    plot_completion_times as plot_completion_times,
    plot_dedicated_clouds as plot_dedicated_clouds,
    plot_reductions as plot_reductions,
    plot_slot_sizes as plot_slot_sizes,
    plot_user_shares as plot_user_shares,
    plot_utilization_over_time as plot_utilization_over_time,
)
from .allocations import (
    plot_allocation as plot_allocation,
    plot_comparison as plot_comparison,
    plot_queues as plot_queues,
    plot_shares as plot_shares,
    plot_utilization as plot_utilization,
)
from .profiles import (
    plot_convergence as plot_convergence,
    plot_frontier as plot_frontier,
    plot_profile as plot_profile,
    plot_tracking as plot_tracking,
)
from .style import PlottingNotAvailableError as PlottingNotAvailableError

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
