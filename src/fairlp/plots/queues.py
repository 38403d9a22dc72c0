"""Figures of allocations by queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import style

if TYPE_CHECKING:
    from ..mechanisms.allocation import Allocation

#: Queues with a colour of their own; the others share one.
_COLOURED = 12


def plot_queues(allocation: Allocation, *, level: int = 1, ax: Any = None) -> Any:
    """Draw which part of each resource the queues have: one bar of stacked queues for each resource.

    Parameters
    ----------
    allocation : Allocation
        Of an instance with queues.
    level : int
        Queues at this depth (1: below the root); who stands higher counts with its own queue.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        Heights are fractions of the whole cluster. The 12 queues with the largest shares have colours.

    Raises
    ------
    InstanceError
        Where the instance has no queues.
    """
    import numpy as np

    allocation = getattr(allocation, "last", allocation)  # of users who arrive: after the last step
    instance = allocation.instance
    table = allocation.by_queue(level)
    resources = [str(resource) for resource in instance.resources]
    parts = table[resources].to_numpy() / instance.pool
    order = np.argsort(-parts.max(axis=1), kind="stable")
    own = order if len(order) <= _COLOURED + 1 else order[:_COLOURED]
    figure, (axis,) = style.panels(ax, 1, len(resources))
    places, base = range(len(resources)), np.zeros(len(resources))
    axis.bar(
        places, np.ones(len(resources)), color=style.FREE, edgecolor=style.OTHERS, linewidth=0.5, label="not in use"
    )
    layers = [(str(table.index[v]) or "(root)", parts[v], style.bar(k)) for k, v in enumerate(own)]
    if len(order) > len(own):
        rest = order[len(own) :]
        layers.append((f"{len(rest)} others", parts[rest].sum(axis=0), {"facecolor": style.OTHERS}))
    for name, part, look in layers:
        axis.bar(places, part, bottom=base, label=name, edgecolor="white", linewidth=0.3, **look)
        base = base + part
    axis.set(ylim=(0, max(1.0, float(base.max()))), ylabel=style.CLUSTER_USED)
    style.name_bars(axis, resources, "resource")
    style.legend(figure, [axis], ax, "queue", reverse=True)
    return figure
