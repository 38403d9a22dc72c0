"""Figures of allocations and comparisons, for a notebook, a paper or ``fairlp --plot``.

Matplotlib is an optional package (``pip install "fairlp[plot]"``), imported when a figure is drawn. Every function
returns a ``matplotlib.figure.Figure`` that needs no display and is not known to ``pyplot``; save it with ``savefig``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import FairlpError, FileFormatError, InstanceError, UnknownNameError, nearest
from ..tolerances import SAME_LEVEL
from .labels import server_classes, server_rows

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..mechanisms.allocation import Allocation
    from ..models.instances.instance import Instance

Found: TypeAlias = "pd.DataFrame | Allocation | Mapping[str, Allocation | None] | Iterable[Allocation]"

#: Paul Tol's "muted" scheme, told apart by colour-blind readers too; beyond it the colours come again, hatched.
_COLOURS = ("#332288", "#88CCEE", "#117733", "#DDCC77", "#CC6677", "#44AA99", "#882255", "#999933", "#AA4499")
_HATCHES = ("", "////", "....", "xxxx")
#: Only the first curve is solid: where curves are equal, the earlier ones show through the gaps of the later ones.
_DASHES = ("-", "--", ":", "-.", (0, (4, 4)), (0, (2, 3)), (0, (6, 2, 1, 2, 1, 2)))
_OTHERS, _FREE = "#BBBBBB", "#F2F2F2"
#: Users with a colour of their own; the others share one.
_COLOURED_USERS = 12
#: Users up to which shares are bars; more are curves.
_BARS = 20
_SHARE = "global dominant share [fraction of the cluster]"
_USED = "fraction of capacity in use"


class PlottingNotAvailableError(FairlpError, ImportError):
    """Matplotlib is not installed; the message says how to install it."""


def plot_allocation(allocation: Allocation, *, by: Literal["class", "server"] = "class", ax: Any = None) -> Any:
    """Draw how much of each server class the users take, one panel of stacked bars for each resource.

    Parameters
    ----------
    allocation : Allocation
    by : {"class", "server"}
        One bar for servers with equal capacities and attributes together (the 24 largest classes; smaller ones share
        a bar), or one for each row of servers. Numbers of servers are in parentheses.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each resource; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        Heights are fractions of the capacity of the class. The 12 users with the largest shares have colours.
    """
    import numpy as np

    allocation = getattr(allocation, "last", allocation)  # of users who arrive: after the last step
    if by not in ("class", "server"):
        raise UnknownNameError(f"there are no bars by {by!r}; {nearest(by, ['class', 'server'])}")
    instance = allocation.instance
    labels, group, what = server_classes(instance) if by == "class" else server_rows(instance)
    size = len(labels)
    member = np.zeros((len(instance.servers), size))
    member[np.arange(len(group)), group] = 1
    capacity = member.T @ (instance.capacities * instance.counts[:, None])
    needed = 1.0 if allocation.effort is None else allocation.effort
    tasks = (allocation.tasks_array * needed) @ member
    order = _by_share(allocation)
    own = order if len(order) <= _COLOURED_USERS + 1 else order[:_COLOURED_USERS]
    layers = [(str(instance.users[n]), tasks[n][:, None] * instance.demands[n], _look(k)) for k, n in enumerate(own)]
    rest = order[len(own) :]
    if len(rest):
        together = tasks[rest].T @ instance.demands[rest]
        layers.append((f"{len(rest)} others", together, {"facecolor": _OTHERS}))
    resources = [str(resource) for resource in instance.resources]
    figure, axes = _panels(ax, len(resources), size)
    for r, axis in enumerate(axes):
        there = capacity[:, r] > 0
        base = np.zeros(size)
        axis.bar(range(size), there.astype(float), color=_FREE, edgecolor=_OTHERS, linewidth=0.5, label="not in use")
        for user, used, look in layers:
            height = np.divide(used[:, r], capacity[:, r], out=np.zeros(size), where=there)
            axis.bar(range(size), height, bottom=base, label=user, edgecolor="white", linewidth=0.3, **look)
            base += height
        for k in np.flatnonzero(~there):
            axis.annotate("none", (k, 0.01), ha="center", va="bottom", rotation=90, size="small", color="#666666")
        unit = instance.units.get(resources[r])
        axis.set(title=f"{resources[r]} [{unit}]" if unit else resources[r], ylim=(0, 1.0), ylabel=_USED)
        _name_bars(axis, labels, what)
    _share_names(axes)
    _legend(figure, axes, own=ax is None, title="user", reverse=True)
    return figure


def plot_shares(found: Found, *, ax: Any = None) -> Any:
    """Draw the users' shares by mechanism: bars for up to 20 users, one rising curve a mechanism for more.

    Parameters
    ----------
    found : DataFrame, Allocation, mapping of names to Allocations, or iterable of Allocations
        A frame is that of ``compare(value="shares")``, users × mechanisms. Mechanisms that were left out (NaN, None)
        are not drawn.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    frame = _frame(found, "shares")
    few = len(frame) <= _BARS
    figure, (axis,) = _panels(ax, 1, len(frame) * frame.shape[1] if few else 0)
    if few:
        _grouped_bars(axis, frame)
        _name_bars(axis, [str(user) for user in frame.index], "user")
    else:
        for k, mechanism in enumerate(frame.columns):
            values = frame[mechanism].sort_values().to_numpy()
            width = 1.5 + 2.1 * (1 - k / frame.shape[1])  # thinner and thinner, so that equal curves show
            dashes = _DASHES[k if k < len(_DASHES) else 1 + (k - 1) % (len(_DASHES) - 1)]
            look = {"color": _look(k)["facecolor"], "linestyle": dashes, "linewidth": width}
            axis.step(range(1, len(values) + 1), values, where="mid", label=str(mechanism), **look)
        what = f"users, for each mechanism from the smallest share to the largest (of {len(frame)})"
        axis.set(xlabel=fill(what, round(_room(axis))), xlim=(1, len(frame)))
        axis.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    axis.set(ylabel=_SHARE, ylim=(0, None))
    _legend(figure, [axis], own=ax is None, title="mechanism")
    return figure


def plot_utilization(found: Found, *, ax: Any = None) -> Any:
    """Draw the fraction of the whole cluster in use, by resource and mechanism.

    Parameters
    ----------
    found : DataFrame, Allocation, mapping of names to Allocations, or iterable of Allocations
        A frame is that of ``compare(value="utilization")``, resources × mechanisms.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    frame = _frame(found, "utilization")
    figure, (axis,) = _panels(ax, 1, len(frame) * frame.shape[1])
    _grouped_bars(axis, frame)
    _name_bars(axis, [str(resource) for resource in frame.index], "resource")
    axis.set(ylim=(0, 1.0), ylabel="fraction of the cluster in use")
    _legend(figure, [axis], own=ax is None, title="mechanism")
    return figure


def plot_comparison(found: Instance | Found, mechanisms: Sequence[str] | None = None, **options: Any) -> Any:
    """Draw shares and utilisation by mechanism, one above the other.

    Parameters
    ----------
    found : Instance, Allocation, mapping of names to Allocations, or iterable of Allocations
        An instance is shared first, by ``mechanisms`` (default: all that are defined for it).
    mechanisms : sequence of str, optional
    **options
        As for :func:`fairlp.allocate`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from ..models.instances.instance import Instance

    if isinstance(found, Instance):
        from ..api import compare_allocations

        found = compare_allocations(found, mechanisms, **options)
    elif mechanisms is not None or options:
        raise UnknownNameError(
            "mechanisms and options go with an Instance, not with allocations that are there already"
        )
    shares, used = _frame(found, "shares"), _frame(found, "utilization")
    bars = max(len(shares) if len(shares) <= _BARS else 0, len(used)) * shares.shape[1]
    figure = _figure(_width(bars), 8.0)
    top, bottom = figure.subplots(2, 1)
    plot_shares(shares, ax=top)
    plot_utilization(used, ax=bottom)
    bottom.get_legend().remove()
    top.get_legend().remove()
    _legend(figure, [top], own=True, title="mechanism")
    return figure


def require_format(path: str | Path) -> None:
    """Raise when figures cannot be drawn, or not be written with the suffix of this path."""
    known = sorted(_figure(1, 1).canvas.get_supported_filetypes())
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in known:
        raise FileFormatError(f"cannot tell the format of figure {Path(path).name!r}; {nearest(suffix, known)}")


def _figure(width: float, height: float) -> Any:
    """Return an empty figure that no global state knows; notebooks show it by ``_repr_png_``."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlottingNotAvailableError(
            'figures need matplotlib, which is not installed; pip install "fairlp[plot]"'
        ) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Any) -> bytes:
    target = BytesIO()
    figure.savefig(target, format="png", dpi=100)
    return target.getvalue()


def _width(bars: int) -> float:
    """Return a width in inches for so many bars, between that of a page and that of a screen."""
    return min(max(7.5, 3.5 + 0.28 * bars), 16.0)


def _panels(ax: Any, count: int, bars: int) -> tuple[Any, list[Any]]:
    """Return the figure and its axes: those given, or new ones, side by side while they are narrow."""
    if ax is not None:
        axes = list(ax.flat) if hasattr(ax, "flat") else list(ax) if isinstance(ax, list | tuple) else [ax]
        if len(axes) != count:
            raise InstanceError(f"{len(axes)} axes were given; expected {count}, one for each panel")
        return axes[0].figure, axes
    if count * bars <= 16:
        figure = _figure(max(4.0 + 1.4 * count + 0.3 * bars * count, 6.5), 4.2)
        return figure, list(figure.subplots(1, count, squeeze=False).flat)
    figure = _figure(_width(bars), 1.4 + 2.8 * count)
    return figure, list(figure.subplots(count, 1, squeeze=False).flat)


def _look(k: int) -> dict[str, str]:
    """Return colour and hatch of the k-th series."""
    return {"facecolor": _COLOURS[k % len(_COLOURS)], "hatch": _HATCHES[k // len(_COLOURS) % len(_HATCHES)]}


def _grouped_bars(axis: Any, frame: pd.DataFrame) -> None:
    """Draw a group of bars for each row, one bar for each column."""
    import numpy as np

    width = 0.8 / frame.shape[1]
    places = np.arange(len(frame))
    for k, column in enumerate(frame.columns):
        at = places + (k - (frame.shape[1] - 1) / 2) * width
        axis.bar(at, frame[column].to_numpy(), width, label=str(column), edgecolor="white", linewidth=0.3, **_look(k))


def _name_bars(axis: Any, labels: list[str], what: str) -> None:
    """Name the bars, slanted where neighbours would meet, and what they are, in lines as wide as the panel."""
    axis.set_xticks(range(len(labels)), labels)
    room = _room(axis)
    longest = max((len(one) + len(other) for one, other in pairwise(labels)), default=0)
    if longest / 2 + 1 > room / (len(labels) + 0.2):
        axis.set_xticks(range(len(labels)), labels, rotation=40, ha="right", rotation_mode="anchor")
    axis.set(xlabel=fill(what, round(1.15 * room)), xlim=(-0.6, len(labels) - 0.4))
    axis.spines[["top", "right"]].set_visible(False)


def _room(axis: Any) -> float:
    """Return how many letters of a tick label are as wide as the axes."""
    width = axis.get_window_extent().width * 72 / axis.figure.dpi
    return max(float(width / (0.6 * axis.xaxis.get_label().get_fontsize())), 12.0)


def _share_names(axes: list[Any]) -> None:
    """Where panels stand one above the other, name the bars at the lowest only."""
    for upper in axes[:-1]:
        grid, last = upper.get_subplotspec(), axes[-1].get_subplotspec()
        if grid is not None and last is not None and grid.colspan == last.colspan:
            upper.set_xlabel("")
            upper.tick_params(labelbottom=False)


def _legend(figure: Any, axes: list[Any], *, own: bool, title: str, reverse: bool = False) -> None:
    """Put the legend outside the axes: of the figure, which makes room, if it is ours, else right of the last panel."""
    handles, names = axes[0].get_legend_handles_labels()
    how: dict[str, Any] = {"title": title, "frameon": False, "reverse": reverse}
    if own:
        figure.set_figwidth(figure.get_figwidth() + 0.08 * max([0, *(min(len(name), 50) - 12 for name in names)]))
        figure.legend(handles, names, loc="outside right upper", **how)
    else:
        axes[-1].legend(handles, names, loc="upper left", bbox_to_anchor=(1.01, 1.0), **how)


def _by_share(allocation: Allocation) -> np.ndarray:
    """Return positions of users from the largest share down; shares that differ by rounding only are equal."""
    import numpy as np

    shares = allocation.shares.to_numpy()
    largest = shares.max(initial=0.0)
    relative = np.round(shares / (largest if largest > 0 else 1.0) / SAME_LEVEL)
    return np.asarray(np.argsort(-relative, kind="stable"))


def _frame(found: Found, value: str) -> pd.DataFrame:
    """Return a comparison as a table, rows × mechanisms, without mechanisms that were left out."""
    import pandas as pd

    frame = found if isinstance(found, pd.DataFrame) else _compared(found, value)
    frame = frame.dropna(axis=1, how="all")
    if frame.empty:
        raise InstanceError("there is nothing to draw; expected at least one mechanism with an allocation")
    return frame


def _compared(found: Any, value: str) -> pd.DataFrame:
    from ..api import comparison_table

    if hasattr(found, "mechanism"):
        found = [found]
    if not isinstance(found, Mapping):
        given = list(found)
        names = [allocation.mechanism for allocation in given]
        twice = [f"{a.mechanism} ({a.method})" if names.count(a.mechanism) > 1 else a.mechanism for a in given]
        found = dict(zip(twice, given, strict=True))
    there = [allocation for allocation in found.values() if allocation is not None]
    if not there:
        raise InstanceError("there is nothing to draw; expected at least one mechanism with an allocation")
    instance = there[0].instance
    for allocation in there[1:]:
        same = allocation.instance.users.labels.equals(instance.users.labels)
        if not same or list(allocation.instance.resources) != list(instance.resources):
            raise InstanceError("the allocations are of different users or resources; expected the same instance")
    return comparison_table(instance, dict(found), value)
