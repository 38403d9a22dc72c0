"""Figures of curves: performance profiles, frontiers, means of studies, users over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairlp.errors import require_known
from fairlp.plots import style

if TYPE_CHECKING:
    import pandas as pd


def plot_profile(ratios: pd.DataFrame, *, ax: Any = None) -> Any:
    """Draw a performance profile (Dolan and Moré): a staircase for each solver, the best in front.

    Parameters
    ----------
    ratios : DataFrame
        Problems × solvers: time over that of the fastest, infinite where not solved;
        ``profile.ratios`` of :func:`fairlp_research.library.profile`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import numpy as np

    (axis,) = style.panels(ax, 1, 8)
    solved = ratios.to_numpy(dtype=float)
    finite = solved[np.isfinite(solved)]
    largest_factor = max(float(finite.max(initial=1.0)) * 1.2, 2.0)
    solved_parts = np.zeros(solved.shape[1])
    fastest = solved_parts
    if len(solved):
        solved_parts = np.isfinite(solved).mean(axis=0)
        fastest = (solved <= 1).mean(axis=0)
    for k, column in enumerate(np.lexsort((-fastest, -solved_parts))):
        times = solved[:, column]
        steps = np.unique(times[np.isfinite(times)])
        factors = np.concatenate([[1.0], steps, [largest_factor]])
        within = [(times <= factor).mean() if len(times) else 0.0 for factor in factors]
        label = str(ratios.columns[column])
        axis.step(factors, within, where="post", label=label, **style.line(k))
    axis.set_xscale("log")
    axis.set(
        xlabel="τ: time, as a multiple of the fastest solver's [–]",
        ylabel="fraction of the problems solved within τ [–]",
        xlim=(1.0, largest_factor),
        ylim=(-0.02, 1.02),
    )
    if ax is None:  # a line of the legend for each solver
        axis.figure.set_figheight(max(axis.figure.get_figheight(), 1.0 + 0.24 * ratios.shape[1]))
    return style.finished(axis, ax, "solver")


# The figure of a frontier: efficiency across, fairness up, and where mechanisms lie.

_MARKERS = "osD^vP*X"


def plot_frontier(points: pd.DataFrame, markers: pd.DataFrame, *, ax: Any = None) -> Any:
    """Draw the smallest level against the total share, by α, with mechanisms beside it.

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
    (axis,) = style.panels(ax, 1, 6)
    own_place, *places = style.places(["alpha-fair", *markers.index])
    look = style.line(0, colour=own_place)
    axis.plot(
        points["total_share"],
        points["smallest_level"],
        marker=".",
        zorder=2,
        label="α-fair",
        **look,
    )
    for alpha, row in points.iterrows():
        name = "∞" if float(str(alpha)) == float("inf") else f"{alpha:g}"
        point = (row["total_share"], row["smallest_level"])
        axis.annotate(
            name,
            point,
            xytext=(4, 4),
            textcoords="offset points",
            fontsize="small",
            color="#666666",
        )
    for k, ((label, row), place) in enumerate(zip(markers.iterrows(), places, strict=True)):
        look = {"marker": _MARKERS[k % len(_MARKERS)], "linestyle": "none", "zorder": 3}
        colour = style.COLOURS[place % len(style.COLOURS)]
        axis.plot(
            [row["total_share"]], [row["smallest_level"]], label=str(label), color=colour, **look
        )
    axis.set(
        xlabel="total of all dominant shares",
        ylabel="smallest level: share per weight",
        ylim=(0, None),
    )
    return style.finished(axis, ax, "by α, and others")


def plot_means(means: pd.DataFrame, errors: pd.DataFrame, what: str, *, ax: Any = None) -> Any:
    """Draw means of a study with their standard errors; :meth:`fairlp_research.study.Result.plot`.

    Parameters
    ----------
    means, errors : DataFrame
        Values of the parameter across × curves; values that are not numbers stand side by side.
    what : str
        What the means are of.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    (axis,) = style.panels(ax, 1, 6)
    across = means.index
    for k, (column, place) in enumerate(
        zip(means, style.places(str(name).split(".")[-1] for name in means), strict=True)
    ):
        look = style.line(k, colour=place)
        axis.errorbar(
            across, means[column], errors[column], marker=".", capsize=3, label=column, **look
        )
    axis.set(xlabel=str(across.name), ylabel=f"{what}: mean ± standard error")
    return style.finished(axis, ax, "statistic")


# Figures of users who come and go, and of methods that converge.


def plot_tracking(
    found: Any,
    resource: Any = None,
    *,
    servers: Sequence[Any] | None = None,
    mechanisms: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the fraction of a resource in use over time: a panel a row of servers.

    Parameters
    ----------
    found : Tracking
        Of :func:`fairlp_research.distributed.track`. Times when a user is away are shaded.
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
    for names, labels, kind in (
        ([resource], instance.resources, "resource"),
        (servers, instance.servers, "server"),
        (mechanisms, found.mechanisms, "mechanism"),
    ):
        for name in names:
            require_known(name, list(labels), f"no {kind} is called {name!r}")
    axes = style.panels(ax, len(servers), 5)
    times = found.utilization.index.to_numpy()
    for server, axis in zip(servers, axes, strict=True):
        _shade(axis, found)
        for k, (mechanism, colour) in enumerate(
            zip(mechanisms, style.places(mechanisms), strict=True)
        ):
            used = found.utilization[(mechanism, server, resource)].to_numpy()
            axis.step(times, used, where="post", label=mechanism, **style.line(k, 1.8, colour))
        axis.set(title=f"{resource} of {server}", xlabel="time [s]", ylabel=style.CAPACITY_USED)
        axis.set(xlim=(times[0], times[-1]), ylim=(0, 1.05))
        style.open_frame(axis)
    for axis in axes[1:]:
        axis.set_ylabel("")
    return style.legend(axes, ax, "mechanism")


def _shade(axis: Any, tracking: Any) -> None:
    """Shade the times when a user is away, and name the user."""
    end = float(tracking.utilization.index[-1])
    for user in dict.fromkeys(tracking.changes["user"]):
        events = tracking.changes[tracking.changes["user"] == user]
        leaves = events.loc[events["event"] == "leaves", "time"].tolist()
        enters = events.loc[events["event"] == "enters", "time"].tolist()
        for start in leaves:
            stop = min([time for time in enters if time > start], default=end)
            axis.axvspan(start, stop, color="#EEEEEE", zorder=0)
            axis.annotate(f"{user} away", ((start + stop) / 2, 0.02), **style.REMARK)


def plot_slot_sizes(found: pd.DataFrame, *, best: int | None = None, ax: Any = None) -> Any:
    """Draw what Slots makes of a workload against the size of slots (Wang et al., Table II).

    Parameters
    ----------
    found : DataFrame
        Of ``fairlp_research.simulation.experiments.slot_sizes``.
    best : int, optional
        A number of slots to mark.
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    (axis,) = style.panels(ax, 1, 8)
    for k, column in enumerate(found.columns):
        label = (
            "tasks completed"
            if column == "tasks"
            else f"{column} used"
            if column != "overall"
            else "all used"
        )
        look = {"marker": "o", "markersize": 4, **style.line(k)}
        axis.plot(found.index.to_numpy(), found[column].to_numpy(), label=label, **look)
    if best is not None:
        axis.axvline(best, color=style.OTHERS, linewidth=1, zorder=0, label=f"{best} slots")
    axis.set(xlabel="slots of the largest server", ylabel="fraction", ylim=(0, 1))
    return style.finished(axis, ax, "")


def plot_reductions(
    found: pd.DataFrame, *, what: str = "Best-Fit against Slots", ax: Any = None
) -> Any:
    """Draw by size of the job how much sooner jobs end (Wang et al., Fig. 6b).

    Parameters
    ----------
    found : DataFrame
        Of ``fairlp_research.simulation.experiments.Comparison.reductions``.
    what : str
        Title.
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
        The number of jobs stands at each bar.
    """
    (axis,) = style.panels(ax, 1, len(found))
    heights = found["reduction"].fillna(0).to_numpy()
    bars = axis.bar(range(len(found)), heights, 0.7, edgecolor="white", **style.bar(0))
    axis.bar_label(bars, [f"{jobs} jobs" for jobs in found["jobs"]], padding=2, size="small")
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xticks(range(len(found)), [str(label) for label in found.index])
    axis.set(
        xlabel="tasks of the job", ylabel="mean reduction of completion time [fraction]", title=what
    )
    axis.margins(y=0.15)
    style.tidy(axis)
    return axis.figure
