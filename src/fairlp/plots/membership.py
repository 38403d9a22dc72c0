"""Figures of users who come and go, and of methods that converge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UnknownNameError, nearest
from . import style

if TYPE_CHECKING:
    import pandas as pd

    from ..mechanisms.per_server.tracking import Tracking


def plot_tracking(
    found: Tracking,
    resource: Any = None,
    *,
    servers: Sequence[Any] | None = None,
    mechanisms: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the fraction of a resource in use over time, one panel for each row of servers, one line a mechanism.

    Parameters
    ----------
    found : Tracking
        Of :func:`fairlp.per_server.track`. Times when a user is away are shaded.
    resource : label, optional
        By default the first.
    servers, mechanisms : sequence, optional
        By default all.
    ax : sequence of Axes, optional
        Where to draw, one for each row of servers; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnknownNameError
        When there is no such resource, server or mechanism.
    """
    instance = found.instance
    resource = instance.resources[0] if resource is None else resource
    servers = list(instance.servers) if servers is None else list(servers)
    mechanisms = found.mechanisms if mechanisms is None else list(mechanisms)
    for given, known, what in (
        ([resource], instance.resources, "resource"),
        (servers, instance.servers, "server"),
        (mechanisms, found.mechanisms, "mechanism"),
    ):
        for one in given:
            if one not in list(known):
                raise UnknownNameError(f"no {what} is called {one!r}; {nearest(str(one), known)}")
    figure, axes = style.panels(ax, len(servers), 5)
    times = found.utilization.index.to_numpy()
    for server, axis in zip(servers, axes, strict=True):
        _shade(axis, found)
        for k, (mechanism, colour) in enumerate(zip(mechanisms, style.places(mechanisms), strict=True)):
            used = found.utilization[(mechanism, server, resource)].to_numpy()
            axis.step(times, used, where="post", label=mechanism, **style.line(k, 1.8, colour))
        axis.set(title=f"{resource} of {server}", xlabel="time [s]", ylabel=style.CAPACITY_USED)
        axis.set(xlim=(times[0], times[-1]), ylim=(0, 1.05))
        style.open_frame(axis)
    for axis in axes[1:]:
        axis.set_ylabel("")
    style.legend(figure, axes, ax, "mechanism")
    return figure


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
        What is drawn against the index, or 1, 2, …; such as ``Allocation.rounds["change"]``. Zeros, which a
        logarithm has no place for, are left out.
    xlabel, ylabel : str
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    import numpy as np
    import pandas as pd

    figure, (axis,) = style.panels(ax, 1, 12)
    for k, (name, given) in enumerate(series.items()):
        values = given.dropna() if isinstance(given, pd.Series) else pd.Series(given, index=range(1, len(given) + 1))
        values = values[values > 0]
        axis.plot(values.index.to_numpy(), values.to_numpy(dtype=np.float64), label=str(name), **style.line(k))
    axis.set(yscale="log", xlabel=xlabel, ylabel=ylabel)
    style.tidy(axis)
    style.legend(figure, [axis], ax, "method")
    return figure


def _shade(axis: Any, found: Tracking) -> None:
    """Shade the times when a user is away, and say who."""
    end = float(found.utilization.index[-1])
    for user in dict.fromkeys(found.changes["user"]):
        own = found.changes[found.changes["user"] == user]
        leaves = own.loc[own["event"] == "leaves", "time"].tolist()
        enters = own.loc[own["event"] == "enters", "time"].tolist()
        for start in leaves:
            stop = min([time for time in enters if time > start], default=end)
            axis.axvspan(start, stop, color="#EEEEEE", zorder=0)
            axis.annotate(f"{user} away", ((start + stop) / 2, 0.02), **style.REMARK)
