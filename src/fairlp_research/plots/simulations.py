"""Figures of simulated runs and of the experiments with them.

Wang et al.: W. Wang, B. Li and B. Liang, INFOCOM 2014, doi 10.48550/arXiv.1308.0083.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fairlp.plots import style

if TYPE_CHECKING:
    import pandas as pd

    from ..simulation.experiments import Comparison, DedicatedClouds
    from ..simulation.result import SimulationResult

#: Seconds from which an axis of time is in hours.
_HOURS = 7200.0
#: Lines up to which all have a look of their own; of more users, those with a colour are so many,
#: the others are grey.
_ALL_USERS = 13
_COLOURED_USERS = len(style.COLOURS)
#: The smallest area of a bubble [points²], and what each factor of ten in tasks adds.
_AREA = 8.0
_DECADE = 30.0


def plot_user_shares(
    found: SimulationResult, *, users: Sequence[Any] | None = None, ax: Any = None
) -> Any:
    """Draw the users' parts of resources and dominant shares over time (Wang et al., Fig. 4).

    Parameters
    ----------
    found : SimulationResult
    users : sequence, optional
        By default all.
    ax : sequence of Axes, optional
        Where to draw, one for each resource and one for the dominant share; a new figure by
        default.

    Returns
    -------
    matplotlib.figure.Figure
        Of more than 13 users those nine have colours whose dominant share is largest at some time;
        the others are thin grey lines.
    """
    users = list(found.shares.columns) if users is None else list(users)
    tables = {
        str(resource): _of(found.usage, resource)[users] for resource in found.utilization.columns
    }
    tables["dominant share"] = found.shares[users]
    by_largest = found.shares[users].max().sort_values(ascending=False, kind="stable").index
    others = [] if len(users) <= _ALL_USERS else list(by_largest[_COLOURED_USERS:])
    return _over_time(tables, "share [fraction of the cluster]", "user", ax, others)


def plot_utilization_over_time(found: Comparison, *, ax: Any = None) -> Any:
    """Draw the fraction of each resource in use over time, by policy (Wang et al., Fig. 5).

    Parameters
    ----------
    found : Comparison
    ax : sequence of Axes, optional
        Where to draw, one for each resource; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    used = found.utilization()
    resources = used.columns.get_level_values("resource").unique()
    tables = {str(resource): _of(used, resource) for resource in resources}
    return _over_time(tables, style.CLUSTER_USED, "policy", ax)


def plot_completion_times(found: Comparison, *, ax: Any = None) -> Any:
    """Draw the distribution of completion times, a curve a policy (Wang et al., Fig. 6a).

    Parameters
    ----------
    found : Comparison
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
        Fractions are of all jobs that arrived, so that a curve ends below 1 where jobs did not end.
    """
    (axis,) = style.panels(ax, 1, 8)
    times = found.completion()
    for k, (policy, colour) in enumerate(
        zip(times.columns, style.places(times.columns), strict=True)
    ):
        ended = np.sort(times[policy].dropna().to_numpy())
        fraction = np.arange(1, len(ended) + 1) / len(times)
        look = style.line(k, colour=colour)
        axis.step(ended, fraction, where="post", label=str(policy), **look)
    axis.set(
        xscale="log", xlabel="completion time of a job [s]", ylabel="fraction of jobs", ylim=(0, 1)
    )
    return style.finished(axis, ax, "policy")


def plot_completion_ratios(
    found: Comparison, policy: str = "best-fit", against: str = "slots", *, ax: Any = None
) -> Any:
    """Draw each user's fraction of completed tasks under two policies (Wang et al., Fig. 7).

    Each user is a bubble.

    Parameters
    ----------
    found : Comparison
    policy, against : str
        Upwards, and to the right.
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
        The area of a bubble grows with the logarithm of the number of tasks submitted, and a legend
        shows how; above the diagonal, ``policy`` is better for the user.
    """
    ratios = found.ratios()
    return _bubbles(
        ratios[against],
        ratios[policy],
        ratios["submitted"],
        f"under {against}",
        f"under {policy}",
        ax,
    )


def plot_dedicated_clouds(found: DedicatedClouds, *, ax: Any = None) -> Any:
    """Draw each user's fraction of completed tasks alone and shared (Wang et al., Fig. 8).

    Each user is a bubble.

    Parameters
    ----------
    found : DedicatedClouds
        Of ``fairlp_research.simulation.experiments.dedicated_clouds``.
    ax : Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
        As :func:`plot_completion_ratios`; above the diagonal, sharing is better for the user.
    """
    users = found.users
    return _bubbles(
        users["dedicated"],
        users["shared"],
        users["submitted"],
        "in a cloud of its own",
        "in the shared cloud",
        ax,
    )


def _of(table: pd.DataFrame, resource: Any) -> pd.DataFrame:
    """Return the columns of one resource."""
    return cast("pd.DataFrame", table.xs(resource, axis="columns", level="resource"))


def _over_time(
    tables: dict[str, pd.DataFrame], ylabel: str, title: str, ax: Any, others: Sequence[Any] = ()
) -> Any:
    """Draw a panel of lines for each table, columns over time.

    ``others`` are columns that share one look.
    """
    axes = style.panels(ax, len(tables), 5)
    end = float(next(iter(tables.values())).index[-1])
    scale, unit = (3600.0, "h") if end >= _HOURS else (1.0, "s")
    top = (
        1.02
        if not others
        else min(1.1 * max(float(table.max().max()) for table in tables.values()), 1.02)
    )
    for (name, table), axis in zip(tables.items(), axes, strict=True):
        times = table.index.to_numpy() / scale
        shown = table.drop(columns=list(others))
        for k, column in enumerate(others):  # one of them is in the legend for all
            label = f"{len(others)} others" if k == 0 else "_"
            axis.plot(
                times, table[column].to_numpy(), color=style.OTHERS, linewidth=0.5, label=label
            )
        for k, (column, colour) in enumerate(
            zip(shown.columns, style.places(shown.columns), strict=True)
        ):
            axis.plot(
                times, shown[column].to_numpy(), label=str(column), **style.line(k, colour=colour)
            )
        axis.set(title=name, xlabel=f"time [{unit}]", ylim=(0, top), xlim=(0, end / scale))
        style.tidy(axis)
    axes[0].set_ylabel(ylabel)
    return style.legend(axes, ax, title)


def _area(tasks: np.ndarray) -> np.ndarray:
    """Return the areas of bubbles."""
    return np.asarray(_AREA + _DECADE * np.log10(tasks))


def _examples(tasks: np.ndarray) -> list[float]:
    """Return up to three powers of ten that span the numbers of tasks, for a legend of bubbles."""
    low = round(float(np.log10(tasks).min()))
    high = round(float(np.log10(tasks).max()))
    return [10.0**power for power in sorted({low, (low + high) // 2, high})]


def _bubbles(right: Any, up: Any, tasks: Any, xlabel: str, ylabel: str, ax: Any) -> Any:
    """Draw a bubble for each user, and the diagonal."""
    (axis,) = style.panels(ax, 1, 4)
    submitted = np.maximum(tasks.to_numpy(dtype=float), 1.0)
    axis.plot((0, 1), (0, 1), color="#999999", linewidth=0.8)
    look = {"color": style.COLOURS[0], "alpha": 0.5, "linewidth": 0}
    axis.scatter(right.to_numpy(), up.to_numpy(), _area(submitted), **look)
    if len(submitted):
        for number in _examples(submitted):
            axis.scatter([], [], _area(np.array([number])), label=f"{number:,.0f}", **look)
        axis.legend(
            title="tasks submitted",
            title_fontsize="small",
            fontsize="small",
            loc="lower right",
            frameon=False,
        )
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    axis.set(
        xlabel=f"tasks completed {xlabel} [fraction]", ylabel=f"tasks completed {ylabel} [fraction]"
    )
    style.tidy(axis)
    return axis.figure
