"""Figures of allocations and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np
import pandas as pd

from ..errors import InstanceError, UnknownNameError, quoted, require_known
from ..formulations.options import AllocateOptions
from ..keywords import lists
from ..models.instances.arithmetic import largest_first, quotients
from ..models.instances.instance import Instance
from ..models.instances.merging import equal_servers
from ..tolerances import AGREEMENT, VERIFIED
from . import style
from .comparison import comparison_table

if TYPE_CHECKING:
    from .. import Allocation

# Labels of bars: rows of servers, or classes of equal servers.

#: Classes of servers with a bar of their own; the smaller ones share one.
_CLASSES = 24


def server_rows(instance: Instance) -> tuple[list[str], np.ndarray, str]:
    """Return a label for each row of servers, each row's own number, and what the labels are."""
    labels = [
        _counted(str(name), int(count))
        for name, count in zip(instance.servers, instance.counts, strict=True)
    ]
    return labels, np.arange(len(labels)), "server (number of them)"


def server_classes(instance: Instance) -> tuple[list[str], np.ndarray, str]:
    """Return a label for each class of equal servers, the class of each row, and a description.

    When there are more than 24 classes, the smallest of them are one.
    """
    group = equal_servers(instance, instance.server_attributes.reset_index(drop=True))
    first_rows = np.unique(group, return_index=True)[1].tolist()
    rows = np.bincount(group)
    servers = np.bincount(group, weights=instance.counts).astype(int)
    labels = [
        _counted(_class_label(instance, row, int(rows[g])), int(servers[g]))
        for g, row in enumerate(first_rows)
    ]
    description = "server class (number of servers)"
    if (rows > 1).any():
        description += f"; amounts are {', '.join(map(str, instance.resources))}"
    if len(labels) <= _CLASSES:
        return labels, group, description

    # The smallest classes together
    largest = np.sort(largest_first(servers)[: _CLASSES - 1])
    position = np.full(len(labels), len(largest))
    position[largest] = np.arange(len(largest))
    other_servers = int(np.delete(servers, largest).sum())
    others_label = _counted(f"{len(labels) - len(largest)} other classes", other_servers)
    return [*(labels[g] for g in largest), others_label], position[group], description


def _class_label(instance: Instance, row: int, rows: int) -> str:
    """Return what a class is called: its only row, or its attributes and capacities."""
    if rows == 1:
        return str(instance.servers[row])
    values = [
        str(value)
        for value in instance.server_attributes.iloc[row].tolist()
        if value == value and value not in (None, "")
    ]
    amounts = ", ".join(f"{amount:.6g}" for amount in instance.capacities[row])
    return ": ".join([", ".join(values), amounts]) if values else amounts


def _counted(label: str, count: int) -> str:
    return f"{label} ({count})" if count > 1 else label


Comparable: TypeAlias = (
    "pd.DataFrame | Allocation | Mapping[str, Allocation | None] | Iterable[Allocation]"
)

#: Users up to which all have a look of their own; of more, those with a colour are so many, and the
#: others share one.
_ALL_USERS = 13
_COLOURED_USERS = len(style.COLOURS)
#: A band of others that is high enough for their number, and the bars up to which there is room for
#: it.
_ROOM = 0.06
_NUMBERED = 60
#: Users up to which shares are bars; more are curves.
_BARS = 20
_NOTHING = "there is nothing to draw; expected at least one mechanism with an allocation"


def plot_allocation(
    allocation: Allocation, *, by: Literal["class", "server"] = "class", ax: Any = None
) -> Any:
    """Draw how much of each server class the users take: stacked bars, a panel a resource.

    Parameters
    ----------
    allocation : Allocation
    by : {"class", "server"}
        One bar for servers with equal capacities and attributes together (the 24 largest classes;
        smaller ones share a bar), or one for each row of servers. Numbers of servers are in
        parentheses.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each resource; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        Heights are fractions of the capacity of the class. Of more than 13 users those nine have
        colours that take most of some bar; the others are grey, with their number on each bar.

    Raises
    ------
    UnknownNameError
        When ``by`` is another word.
    """
    allocation = getattr(allocation, "last", allocation)  # of users who arrive: after the last step
    require_known(by, ("class", "server"), f"there are no bars by {quoted(by)}")
    instance = allocation.instance

    # Bars: the servers of a class together
    bars = server_classes(instance) if by == "class" else server_rows(instance)
    labels, bar_of_row, description = bars
    size = len(labels)
    membership = np.zeros((len(instance.servers), size))
    membership[np.arange(len(bar_of_row)), bar_of_row] = 1
    capacity = membership.T @ instance.total_capacities
    effort = 1.0 if allocation.effort is None else allocation.effort
    tasks = (allocation.tasks_array * effort) @ membership
    layers, others = _layers(allocation, tasks, capacity)

    axes = style.panels(ax, len(instance.resources), size)
    for r, (axis, resource) in enumerate(zip(axes, map(str, instance.resources), strict=True)):
        layers_of_resource = [(user, amounts[:, r], look) for user, amounts, look in layers]
        _stacked_bars(axis, layers_of_resource, capacity[:, r])
        if len(others) and size <= _NUMBERED:
            others_use = tasks[others] * instance.demands[others, r][:, None]
            _number_the_others(axis, others_use, capacity[:, r])
        unit = instance.units.get(resource)
        title = f"{resource} [{unit}]" if unit else resource
        axis.set(title=title, ylim=(0, 1.0), ylabel=style.CAPACITY_USED)
        style.name_bars(axis, labels, description)
    style.share_names(axes)
    return style.legend(axes, ax, "user", reverse=True)


def plot_shares(found: Comparable, *, ax: Any = None) -> Any:
    """Draw the users' shares by mechanism: bars for up to 20 users, rising curves for more.

    Parameters
    ----------
    found : DataFrame, Allocation, mapping of names to Allocations, or iterable of Allocations
        A frame is that of ``compare(value="shares")``, users × mechanisms. Mechanisms that were
        left out (NaN, None) are not drawn.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    frame = _frame(found, "shares")
    has_bars = len(frame) <= _BARS
    (axis,) = style.panels(ax, 1, len(frame) * frame.shape[1] if has_bars else 0)
    if has_bars:
        style.grouped_bars(axis, frame)
        style.name_bars(axis, [str(user) for user in frame.index], "user")
    else:
        _rising_curves(axis, frame)
    axis.set(ylabel=style.SHARE, ylim=(0, None))
    return style.legend([axis], ax, "mechanism")


def plot_utilization(found: Comparable, *, ax: Any = None) -> Any:
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
    (axis,) = style.panels(ax, 1, len(frame) * frame.shape[1])
    style.grouped_bars(axis, frame)
    style.name_bars(axis, [str(resource) for resource in frame.index], "resource")
    axis.set(ylim=(0, 1.0), ylabel=style.CLUSTER_USED)
    return style.legend([axis], ax, "mechanism")


@lists(AllocateOptions)
def plot_comparison(
    found: Instance | Comparable,
    mechanisms: Sequence[str] | None = None,
    **options: Unpack[AllocateOptions],
) -> Any:
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

    Raises
    ------
    UnknownNameError
        When options are given with allocations, or there is no such mechanism.
    InstanceError
        For a table: it holds one kind of number, and two are drawn.
    """
    if isinstance(found, pd.DataFrame):
        raise InstanceError(
            "a table holds shares or utilization, and plot_comparison draws both; expected an "
            "Instance or allocations, as allocate_all() returns (plot_shares and plot_utilization "
            "take tables)"
        )
    if isinstance(found, Instance):
        from .. import allocate_all

        found = allocate_all(found, mechanisms, **options)
    elif mechanisms is not None or options:
        raise UnknownNameError(
            "mechanisms and options go with an Instance, not with allocations that are there "
            "already"
        )
    shares = _frame(found, "shares")
    used = _frame(found, "utilization")
    bars_of_users = len(shares) if len(shares) <= _BARS else 0
    bars = max(bars_of_users, len(used)) * shares.shape[1]
    figure = style.new_figure(style.width_for(bars), 8.0)
    top, bottom = figure.subplots(2, 1)
    plot_shares(shares, ax=top)
    plot_utilization(used, ax=bottom)
    bottom.get_legend().remove()
    top.get_legend().remove()
    return style.legend([top], None, "mechanism")


def _layers(
    allocation: Allocation, tasks: np.ndarray, capacity: np.ndarray
) -> tuple[list[tuple[str, np.ndarray, dict[str, str]]], np.ndarray]:
    """Return name, use (bars × resources) and look of each layer, and the other users.

    Each user with a colour is a layer; the others are one. Of many users those have colours that
    take most of some bar, whatever its size: they are the ones to be seen.
    """
    instance = allocation.instance
    users = _by_share(allocation)
    others = users[:0]
    if len(users) > _ALL_USERS:
        fractions = [quotients(demand, capacity) for demand in instance.demands]
        largest_part = np.array(
            [(tasks[n][:, None] * fractions[n]).max(initial=0.0) for n in users]
        )
        ranks = largest_first(np.round(largest_part / AGREEMENT))
        others = users[np.sort(ranks[_COLOURED_USERS:])]
        users = users[np.sort(ranks[:_COLOURED_USERS])]

    layers = []
    for k, n in enumerate(users):
        use = tasks[n][:, None] * instance.demands[n]
        layers.append((str(instance.users[n]), use, style.bar(k)))
    if len(others):
        others_use = tasks[others].T @ instance.demands[others]
        numbers = ", number on each bar" if len(capacity) <= _NUMBERED else ""
        name = f"{len(others)} others{numbers}"
        layers.append((name, others_use, {"facecolor": style.OTHERS}))
    return layers, others


def _stacked_bars(
    axis: Any, layers: list[tuple[str, np.ndarray, dict[str, str]]], capacity: np.ndarray
) -> np.ndarray:
    """Stack the layers over the capacity and return their height; name bars without capacity."""
    has_capacity = capacity > 0
    size = len(capacity)
    look_of_free = {"color": style.FREE, "edgecolor": style.OTHERS, "linewidth": 0.5}
    axis.bar(range(size), has_capacity.astype(float), label="not in use", **look_of_free)
    base = np.zeros(size)
    for user, used, look in layers:
        height = np.divide(used, capacity, out=np.zeros(size), where=has_capacity)
        axis.bar(
            range(size), height, bottom=base, label=user, edgecolor="white", linewidth=0.3, **look
        )
        base += height
    for k in np.flatnonzero(~has_capacity):
        axis.annotate("none", (k, 0.01), va="bottom", rotation=90, **style.REMARK)
    return base


def _number_the_others(axis: Any, used: np.ndarray, capacity: np.ndarray) -> None:
    """Write into the grey band of each bar how many users share it, where it is high enough."""
    parts = quotients(used, capacity)
    top = [
        sum(patch.get_height() for patch in bars)
        for bars in zip(*list(axis.containers)[1:], strict=True)
    ]
    for k, band in enumerate(parts.sum(axis=0)):
        if band > _ROOM:
            count = int((parts[:, k] > AGREEMENT).sum())
            axis.annotate(
                str(count), (k, top[k] - band / 2), va="center", ha="center", size="small"
            )


def _rising_curves(axis: Any, frame: pd.DataFrame) -> None:
    """Draw the shares of each mechanism from the smallest to the largest."""
    for k, (mechanism, colour) in enumerate(
        zip(frame.columns, style.places(frame.columns), strict=True)
    ):
        values = frame[mechanism].sort_values().to_numpy()
        thinner = 1.5 + 2.1 * (1 - k / frame.shape[1])  # and thinner: equal curves show
        look = style.line(k, thinner, colour)
        if k >= len(style.DASHES):  # only the first is solid
            look["linestyle"] = style.DASHES[1 + (k - 1) % (len(style.DASHES) - 1)]
        places = range(1, len(values) + 1)
        axis.step(places, values, where="mid", label=str(mechanism), **look)
    description = (
        f"users, for each mechanism from the smallest share to the largest (of {len(frame)})"
    )
    width = round(style.letters_across(axis))
    axis.set(xlabel=fill(description, width), xlim=(1, len(frame)))
    style.tidy(axis)


def _by_share(allocation: Allocation) -> np.ndarray:
    """Return users from the largest share down; rounding makes no difference."""
    shares = allocation.shares.to_numpy()
    largest = shares.max(initial=0.0)
    return largest_first(np.round(shares / (largest if largest > 0 else 1.0) / AGREEMENT))


def _frame(comparison: Comparable, value: str) -> pd.DataFrame:
    """Return a comparison as a table, rows × mechanisms, without mechanisms that were left out."""
    if isinstance(comparison, pd.DataFrame):
        _require_table_of(comparison, value)
        frame = comparison
    else:
        frame = _compared(comparison, value)
    frame = frame.dropna(axis=1, how="all")
    if frame.empty:
        raise InstanceError(_NOTHING)
    return frame


def _require_table_of(frame: pd.DataFrame, value: str) -> None:
    """Refuse a table that says, or whose rows or numbers show, that it holds something else."""
    expected = f"expected compare(..., value={value!r}), or the allocations themselves"
    held = frame.attrs.get("value", value)
    if held != value:
        raise InstanceError(f"the table holds {quoted(held)}, not {value}; {expected}")
    largest = frame.max(numeric_only=True).max()
    if largest > 1 + VERIFIED:
        raise InstanceError(
            f"the table has a {quoted(float(largest))}, but {value} are fractions of the cluster, "
            f"from 0 to 1; {expected}"
        )


def _unique_names(allocations: Sequence[Allocation]) -> list[str]:
    """Return a name for each allocation: its mechanism, with method and options if needed."""
    mechanisms = [allocation.mechanism for allocation in allocations]
    with_methods = [
        f"{allocation.mechanism} ({allocation.method})"
        if mechanisms.count(allocation.mechanism) > 1
        else allocation.mechanism
        for allocation in allocations
    ]

    names = []
    for allocation, name in zip(allocations, with_methods, strict=True):
        parameters = allocation.parameters.items()
        options = ", ".join(f"{key}={value}" for key, value in parameters)
        if options and with_methods.count(name) > 1:
            name = f"{allocation.mechanism} ({allocation.method}, {options})"
        names.append(name)
    return [
        f"{name} #{names[: k + 1].count(name)}" if names.count(name) > 1 else name
        for k, name in enumerate(names)
    ]


def _compared(allocations: Any, value: str) -> pd.DataFrame:
    """Return the table of allocations of one instance, each under the name of its mechanism."""
    if hasattr(allocations, "mechanism"):
        allocations = [allocations]
    if not isinstance(allocations, Mapping):
        listed = list(allocations)
        allocations = dict(zip(_unique_names(listed), listed, strict=True))
    defined = [allocation for allocation in allocations.values() if allocation is not None]
    if not defined:
        raise InstanceError(_NOTHING)
    instance = defined[0].instance
    for allocation in defined[1:]:
        equal_users = allocation.instance.users.labels.equals(instance.users.labels)
        equal_resources = list(allocation.instance.resources) == list(instance.resources)
        if not equal_users or not equal_resources:
            raise InstanceError(
                "the allocations are of different users or resources; expected the same instance"
            )
    return comparison_table(instance, dict(allocations), value)


# Figures of allocations by queue.

#: Queues with a colour of their own; the others share one.
_COLOURED = 12


def plot_queues(allocation: Allocation, *, level: int = 1, ax: Any = None) -> Any:
    """Draw the part of each resource that the queues have: a bar of stacked queues each.

    Parameters
    ----------
    allocation : Allocation
        Of an instance with queues.
    level : int
        Queues at this depth (1: below the root); users who stand higher count with their own queue.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        Heights are fractions of the whole cluster. The 12 queues with the largest shares have
        colours.

    Raises
    ------
    InstanceError
        Where the instance has no queues.
    """
    allocation = getattr(allocation, "last", allocation)  # of users who arrive: after the last step
    instance = allocation.instance
    table = allocation.by_queue(level)
    resources = [str(resource) for resource in instance.resources]
    parts = table[resources].to_numpy() / instance.pool
    order = largest_first(parts.max(axis=1))
    named = order if len(order) <= _COLOURED + 1 else order[:_COLOURED]
    (axis,) = style.panels(ax, 1, len(resources))
    layers = [
        (str(table.index[v]) or "(root)", parts[v], style.bar(k)) for k, v in enumerate(named)
    ]
    if len(order) > len(named):
        others = order[len(named) :]
        layers.append(
            (f"{len(others)} others", parts[others].sum(axis=0), {"facecolor": style.OTHERS})
        )
    top = _stacked_bars(axis, layers, np.ones(len(resources)))
    axis.set(ylim=(0, max(1.0, float(top.max()))), ylabel=style.CLUSTER_USED)
    style.name_bars(axis, resources, "resource")
    return style.legend([axis], ax, "queue", reverse=True)
