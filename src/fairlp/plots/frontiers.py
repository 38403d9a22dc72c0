"""The figure of a frontier: efficiency across, fairness up, and where mechanisms lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import style

if TYPE_CHECKING:
    import pandas as pd

_MARKERS = "osD^vP*X"


def plot_frontier(points: pd.DataFrame, markers: pd.DataFrame, *, ax: Any = None) -> Any:
    """Draw the smallest level against the total share, a point for each α, and mechanisms beside it.

    Parameters
    ----------
    points : DataFrame
        The table of a frontier, by α.
    markers : DataFrame
        The same columns, by the name of a mechanism or of what was observed.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, (axis,) = style.panels(ax, 1, 6)
    own, *others = style.places(["alpha-fair", *markers.index])
    look = style.line(0, colour=own)
    axis.plot(points["total_share"], points["smallest_level"], marker=".", zorder=2, label="α-fair", **look)
    for alpha, row in points.iterrows():
        name = "∞" if float(str(alpha)) == float("inf") else f"{alpha:g}"
        where = (row["total_share"], row["smallest_level"])
        axis.annotate(name, where, xytext=(4, 4), textcoords="offset points", fontsize="small", color="#666666")
    for k, ((label, row), place) in enumerate(zip(markers.iterrows(), others, strict=True)):
        look = {"marker": _MARKERS[k % len(_MARKERS)], "linestyle": "none", "zorder": 3}
        colour = style.COLOURS[place % len(style.COLOURS)]
        axis.plot([row["total_share"]], [row["smallest_level"]], label=str(label), color=colour, **look)
    axis.set(xlabel="total of all dominant shares", ylabel="smallest level: share per weight", ylim=(0, None))
    style.tidy(axis)
    style.legend(figure, [axis], ax, "by α, and others")
    return figure
