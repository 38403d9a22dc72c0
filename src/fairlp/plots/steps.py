"""Figures of how an allocation comes about: task by task, or round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InstanceError, quoted
from ..models.instances.instance import Instance
from . import style

if TYPE_CHECKING:
    from .. import Allocation
    from ..solvers.leximin.answers import LeximinSolution
    from ..solvers.leximin.own_paths import PathSolution

__all__ = ["plot_path", "plot_progressive_filling"]


def plot_progressive_filling(found: Instance | Allocation, *, ax: Any = None) -> Any:
    """Draw the dominant share of each user while tasks are served one by one.

    Parameters
    ----------
    found : Instance or Allocation
        An instance of one server is filled first, by ``drf-discrete``; or an allocation task by
        task, of a call with ``trace=True``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        A dotted line stands where, for the first time, a task no longer fits.

    Raises
    ------
    InstanceError
        For an allocation without the trace of its tasks.

    Examples
    --------
    >>> import fairlp
    >>> figure = fairlp.plots.plot_progressive_filling(fairlp.examples.ghodsi())
    >>> [line.get_ydata().round(2).tolist() for line in figure.axes[0].lines[:2]]
    [[0.0, 0.0, 0.22, 0.44, 0.44, 0.67], [0.0, 0.33, 0.33, 0.33, 0.67, 0.67]]
    """
    if isinstance(found, Instance):
        from .. import allocate

        found = allocate(found, "drf-discrete", trace=True)
    picks = found.picks
    if picks is None or "runs" not in picks:
        raise InstanceError(
            f"the allocation by {quoted(found.mechanism)} does not say when which task was served; "
            'expected an Instance, or allocate(instance, "drf-discrete", trace=True)'
        )
    served = picks[picks["runs"]]
    (axis,) = style.panels(ax, 1, 0)
    for k, user in enumerate(found.instance.users):
        shares = served["tasks"] / found.tasks_per_level[k]
        after = shares.where(served["user"] == user).ffill().fillna(0.0)
        numbers = range(len(served) + 1)
        axis.step(numbers, [0.0, *after], where="post", label=str(user), **style.line(k))
    for place in np.flatnonzero(~picks["runs"])[:1]:
        remark = f"a task of {picks['user'].iloc[place]} no longer fits"
        axis.axvline(place, color=style.OTHERS, linestyle=":", label=remark)
    axis.set(
        xlabel="tasks served",
        ylabel="dominant share over weight",
        xlim=(0, None),
        ylim=(0, None),
    )
    return style.finished(axis, ax, "user")


def plot_path(answer: PathSolution | LeximinSolution | Allocation, *, ax: Any = None) -> Any:
    """Draw the level of each user at the end of each round: all rise, and some stop on the way.

    Parameters
    ----------
    answer : PathSolution, LeximinSolution or Allocation
        Of :func:`fairlp.rise`, :func:`fairlp.leximin`, or a max-min mechanism, with its ``rounds``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure
        A curve for the users who stop at the same level, to six digits.

    Raises
    ------
    InstanceError
        For an answer without rounds.

    Examples
    --------
    >>> import fairlp
    >>> figure = fairlp.plots.plot_path(fairlp.allocate(fairlp.examples.ghodsi(), "drf"))
    >>> [line.get_ydata().round(2).tolist() for line in figure.axes[0].lines]
    [[0.0, 0.67]]
    """
    rounds = answer.rounds
    if rounds is None or "level" not in rounds:
        raise InstanceError(
            "there are no rounds with a level to draw; expected fairlp.rise(path, instance), "
            "fairlp.leximin(model), or an allocation by a max-min mechanism"
        )
    ends = [0.0, *map(float, rounds["level"])]
    (axis,) = style.panels(ax, 1, 0)
    texts = answer.levels.dropna().map("{:.6g}".format)
    for k, (level, users) in enumerate(texts.groupby(texts, sort=False)):
        names = ", ".join(map(str, users.index))
        axis.plot(np.minimum(ends, float(level)), label=names, marker="o", **style.line(k))
    axis.set(
        xlabel="round",
        ylabel="level at the end of the round",
        xticks=range(len(ends)),
        ylim=(0, None),
    )
    return style.finished(axis, ax, "users who stop at a level")
