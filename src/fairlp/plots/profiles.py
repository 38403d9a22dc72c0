"""The figure of a performance profile: how many problems each solver solves within a factor of the fastest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import style

if TYPE_CHECKING:
    import pandas as pd


def plot_profile(ratios: pd.DataFrame, *, ax: Any = None) -> Any:
    """Draw a performance profile (Dolan and Moré): a staircase for each solver, the best in front.

    Parameters
    ----------
    ratios : DataFrame
        Problems × solvers: time over that of the fastest, infinite where not solved; ``profile.ratios`` of
        :func:`fairlp.library.profile`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import numpy as np

    figure, (axis,) = style.panels(ax, 1, 8)
    solved = ratios.to_numpy(dtype=float)
    finite = solved[np.isfinite(solved)]
    last = max(float(finite.max(initial=1.0)) * 1.2, 2.0)
    parts = np.isfinite(solved).mean(axis=0) if len(solved) else np.zeros(solved.shape[1])
    fastest = (solved <= 1).mean(axis=0) if len(solved) else parts
    for k, column in enumerate(np.lexsort((-fastest, -parts))):
        own = solved[:, column]
        steps = np.unique(own[np.isfinite(own)])
        at = np.concatenate([[1.0], steps, [last]])
        within = [(own <= factor).mean() if len(own) else 0.0 for factor in at]
        axis.step(at, within, where="post", label=str(ratios.columns[column]), **style.line(k))
    axis.set_xscale("log")
    axis.set(
        xlabel="τ: time, as a multiple of the fastest solver's [–]",
        ylabel="fraction of the problems solved within τ [–]",
        xlim=(1.0, last),
        ylim=(-0.02, 1.02),
    )
    style.tidy(axis)
    if ax is None:  # a line of the legend for each solver
        figure.set_figheight(max(figure.get_figheight(), 1.0 + 0.24 * ratios.shape[1]))
    style.legend(figure, [axis], ax, "solver")
    return figure
