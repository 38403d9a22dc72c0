"""The figure of how methods converge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairlp.plots import style

if TYPE_CHECKING:
    import pandas as pd


def plot_convergence(
    series: Mapping[str, pd.Series[float] | Sequence[float]],
    *,
    xlabel: str = "sweep",
    ylabel: str = "largest change [fraction of what one could run alone]",
    ax: Any = None,
) -> Any:
    """Draw how methods converge: one falling curve each on a logarithmic scale.

    Parameters
    ----------
    series : mapping of str to Series or sequence
        What is drawn against the index, or 1, 2, …; such as ``Allocation.rounds["change"]``. Zeros,
        which a logarithm has no place for, are left out.
    xlabel, ylabel : str
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    import numpy as np
    import pandas as pd

    (axis,) = style.panels(ax, 1, 12)
    for k, (name, entries) in enumerate(series.items()):
        values = (
            entries.dropna()
            if isinstance(entries, pd.Series)
            else pd.Series(entries, index=range(1, len(entries) + 1))
        )
        values = values[values > 0]
        axis.plot(
            values.index.to_numpy(),
            values.to_numpy(dtype=np.float64),
            label=str(name),
            **style.line(k),
        )
    axis.set(yscale="log", xlabel=xlabel, ylabel=ylabel)
    return style.finished(axis, ax, "method")
