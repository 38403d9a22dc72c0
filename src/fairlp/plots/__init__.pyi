"""The public figures, and where each lives: the one list of them (``__init__.py`` reads it)."""

from . import style as style
from .allocations import (
    plot_allocation as plot_allocation,
    plot_comparison as plot_comparison,
    plot_queues as plot_queues,
    plot_shares as plot_shares,
    plot_utilization as plot_utilization,
)
from .comparison import comparison_table as comparison_table
from .steps import (
    plot_path as plot_path,
    plot_progressive_filling as plot_progressive_filling,
)
from .style import PlottingNotAvailableError as PlottingNotAvailableError

__all__ = [
    "PlottingNotAvailableError",
    "comparison_table",
    "plot_allocation",
    "plot_comparison",
    "plot_path",
    "plot_progressive_filling",
    "plot_queues",
    "plot_shares",
    "plot_utilization",
    "style",
]
