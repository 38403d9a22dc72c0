"""How the figures look: colours, dashes, panels, names of bars, legends.

Matplotlib is imported when a figure is drawn, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from ..errors import FairlpError, FileFormatError, InstanceError, require_known
from ..mechanisms.table import FAMILIES

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CLUSTER_USED",
    "COLOURS",
    "DASHES",
    "OTHERS",
    "as_they_are",
    "bar",
    "finished",
    "grouped_bars",
    "image",
    "legend",
    "line",
    "name_bars",
    "new_figure",
    "panels",
    "places",
    "shortened",
    "tidy",
    "width_for",
]

#: After Paul Tol's "muted" scheme: distinct for colour-blind readers too, three times as dark as
#: paper or more (tests/plots/test_style.py calculates both); beyond it the colours come again,
#: hatched.
COLOURS = (
    "#332288",
    "#6480CB",
    "#117733",
    "#C58907",
    "#CC6677",
    "#00A68E",
    "#882255",
    "#647617",
    "#AA4499",
)
HATCHES = ("", "////", "....", "xxxx")
#: Only the first curve is solid: where curves are equal, the earlier ones show through the gaps of
#: the later ones.
DASHES = ("-", "--", ":", "-.", (0, (4, 4)), (0, (2, 3)), (0, (6, 2, 1, 2, 1, 2)))
#: Colours of all other users, and of capacity that is not in use.
OTHERS, FREE = "#BBBBBB", "#F2F2F2"
#: A remark inside a panel.
REMARK = {"ha": "center", "size": "small", "color": "#666666", "parse_math": False}

#: Dots an inch of what a notebook stores: sharp on a screen, and in print at half the size.
DOTS = 144

#: What leaves the day and the version of Matplotlib out of a file, by its format.
_UNDATED = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}

#: Letters of the name of a bar or curve; of a longer one both ends are shown.
_LONGEST = 40

SHARE = "global dominant share [fraction of the cluster]"
CAPACITY_USED = "fraction of capacity in use"
CLUSTER_USED = "fraction of the cluster in use"


class PlottingNotAvailableError(FairlpError, ImportError):
    """Matplotlib is not installed; the message says how to install it."""


def require_format(path: str | Path) -> None:
    """Raise when figures cannot be drawn, or not be written with the suffix of this path."""
    formats = sorted(new_figure(1, 1).canvas.get_supported_filetypes())
    suffix = Path(path).suffix.lower().removeprefix(".")
    require_known(
        suffix, formats, f"cannot tell the format of figure {Path(path).name!r}", FileFormatError
    )


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure without global state; a notebook shows it once, as a value."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlottingNotAvailableError(
            'figures need matplotlib, which is not installed; pip install "fairlp[plot]"'
        ) from error
    _heed_the_notebook(Figure)
    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def image(figure: Any, suffix: str, dpi: float = DOTS, **options: Any) -> bytes:
    """Return a figure as the content of a file, the same bytes in each process and on each day.

    ``options`` are of Matplotlib's ``savefig``.
    """
    from matplotlib import rc_context

    target = BytesIO()
    with rc_context({"svg.hashsalt": "fairlp"}):
        figure.savefig(target, format=suffix, dpi=dpi, metadata=_UNDATED.get(suffix, {}), **options)
    return target.getvalue()


def _png(figure: Any) -> bytes | None:
    """Return a figure as PNG; None where the notebook draws figures in its own formats."""
    return None if _drawn_by_the_notebook(type(figure)) else image(figure, "png")


def _heed_the_notebook(kind: type) -> None:
    """Let IPython show figures in the formats of its configuration, as pyplot does."""
    shell = _shell()
    if shell is None or "InlineBackend" not in shell.config or _drawn_by_the_notebook(kind):
        return
    from IPython.core.pylabtools import select_figure_formats
    from matplotlib_inline.config import InlineBackend

    backend_config = InlineBackend.instance(parent=shell)
    backend_config.shell = shell  # so that it follows later changes
    shell.configurables.extend([] if backend_config in shell.configurables else [backend_config])
    select_figure_formats(
        shell, backend_config.figure_formats, **backend_config.print_figure_kwargs
    )  # type: ignore[no-untyped-call]


def _shell() -> Any:
    """Return the notebook's IPython, None where there is none."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def _drawn_by_the_notebook(kind: type) -> bool:
    """Whether IPython knows by itself how to show figures."""
    shell = _shell()
    formatters = {} if shell is None else shell.display_formatter.formatters
    return any(
        kind in formatter.type_printers
        for name, formatter in formatters.items()
        if name != "text/plain"
    )


def width_for(bars: int) -> float:
    """Return a width in inches for so many bars, between that of a page and that of a screen."""
    return min(max(7.5, 3.5 + 0.28 * bars), 16.0)


def panels(ax: Any, count: int, bars: int) -> list[Any]:
    """Return the axes of a figure: ``ax``, or new ones, side by side while they are narrow."""
    if ax is not None:
        axes = (
            list(ax.flat)
            if hasattr(ax, "flat")
            else list(ax)
            if isinstance(ax, list | tuple)
            else [ax]
        )
        if len(axes) != count:
            raise InstanceError(
                f"{len(axes)} axes were given; expected {count}, one for each panel"
            )
        return axes
    if count * bars <= 16:
        figure = new_figure(max(4.0 + 1.4 * count + 0.3 * bars * count, 6.5), 4.2)
        return list(figure.subplots(1, count, squeeze=False).flat)
    figure = new_figure(width_for(bars), 1.4 + 2.8 * count)
    return list(figure.subplots(count, 1, squeeze=False).flat)


def places(names: Iterable[Any]) -> list[int]:
    """Return the position of each series' look: that of its mechanism is the same in every figure.

    A policy has that of the mechanism that it follows. Where none of them is a mechanism, they are
    counted.
    """
    position = {name: k for k, name in enumerate(FAMILIES)}
    series = [str(name) for name in names]
    positions = [position.get(name, position.get(f"drfh-{name}")) for name in series]
    if positions.count(None) == len(positions):
        return list(range(len(positions)))

    # A series that is no mechanism, or repeats one, has the next free look.
    free = (k for k in range(len(position) + len(series)) if k not in positions)
    looks = []
    for k, place in enumerate(positions):
        if place is None or place in positions[:k]:
            place = next(free)
        looks.append(place)
    return looks


def bar(k: int) -> dict[str, str]:
    """Return colour and hatch of the k-th series of bars."""
    return {
        "facecolor": COLOURS[k % len(COLOURS)],
        "hatch": HATCHES[k // len(COLOURS) % len(HATCHES)],
    }


def line(k: int, width: float = 1.6, colour: int | None = None) -> dict[str, Any]:
    """Return colour (of another place, if one is given), dashes and width of the k-th curve."""
    name_of_colour = COLOURS[(k if colour is None else colour) % len(COLOURS)]
    return {"color": name_of_colour, "linestyle": DASHES[k % len(DASHES)], "linewidth": width}


def open_frame(axis: Any) -> None:
    """Leave out the top and the right side of the frame; labels break where the figure ends."""
    texts = (axis.xaxis.label, axis.yaxis.label, axis.title)
    for text in texts:
        text.set_wrap(True)
    as_they_are(texts)
    axis.spines[["top", "right"]].set_visible(False)


def as_they_are(texts: Iterable[Any]) -> None:
    """Let names be drawn as they are: ``$`` in them begins no formula of Matplotlib's."""
    for text in texts:
        text.set_parse_math(False)


def tidy(axis: Any) -> None:
    """Draw a light grid behind all else, and an open frame."""
    axis.set_axisbelow(True)
    axis.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    open_frame(axis)


def grouped_bars(axis: Any, frame: pd.DataFrame) -> None:
    """Draw a group of bars for each row, one bar for each column."""
    import numpy as np

    width = 0.8 / frame.shape[1]
    groups = np.arange(len(frame))
    for k, (column, place) in enumerate(zip(frame.columns, places(frame.columns), strict=True)):
        positions = groups + (k - (frame.shape[1] - 1) / 2) * width
        look = bar(place)
        axis.bar(
            positions,
            frame[column].to_numpy(),
            width,
            label=str(column),
            edgecolor="white",
            linewidth=0.3,
            **look,
        )


def name_bars(axis: Any, labels: list[str], description: str) -> None:
    """Name the bars, slanted where neighbours would meet, and describe them below."""
    labels = shortened(labels, _LONGEST)
    axis.set_xticks(range(len(labels)), labels)
    room = letters_across(axis)
    letters_of_neighbours = [len(label) + len(other) for label, other in pairwise(labels)]
    longest = max(letters_of_neighbours, default=0)
    if longest / 2 + 1 > room / (len(labels) + 0.2):
        axis.set_xticks(range(len(labels)), labels, rotation=40, ha="right", rotation_mode="anchor")
    as_they_are(axis.get_xticklabels())
    width = round(1.15 * room)
    axis.set(xlabel=fill(description, width), xlim=(-0.6, len(labels) - 0.4))
    open_frame(axis)


def shortened(names: list[str], limit: int) -> list[str]:
    """Return both ends of names that are too long; names stay different.

    >>> shortened(["organisation/department/user-1", "organisation/department/user-2", "ann"], 12)
    ['organi…ser-1', 'organi…ser-2', 'ann']
    """
    for size in (limit, 2 * limit):
        end = (size - 1) // 2
        shortened_names = [
            name if len(name) <= size else f"{name[: size - 1 - end]}…{name[len(name) - end :]}"
            for name in names
        ]
        if len(set(shortened_names)) == len(set(names)):
            return shortened_names
    return list(names)


def letters_across(axis: Any) -> float:
    """Return how many letters of a tick label are as wide as the axes."""
    width = axis.get_window_extent().width * 72 / axis.figure.dpi
    return max(float(width / (0.6 * axis.xaxis.get_label().get_fontsize())), 12.0)


def share_names(axes: list[Any]) -> None:
    """Where panels stand one above the other, name the bars at the lowest only."""
    for upper in axes[:-1]:
        grid = upper.get_subplotspec()
        last = axes[-1].get_subplotspec()
        if grid is not None and last is not None and grid.colspan == last.colspan:
            upper.set_xlabel("")
            upper.tick_params(labelbottom=False)


def finished(axis: Any, ax: Any, title: str) -> Any:
    """Tidy the only axis of a figure, put the legend beside it, and return the figure."""
    tidy(axis)
    return legend([axis], ax, title)


def legend(axes: list[Any], ax: Any, title: str, reverse: bool = False) -> Any:
    """Put the legend outside the axes, and return their figure.

    It is of the figure, which makes room, if no axes were given, else right of the last.
    """
    figure = axes[0].figure
    handles, names = axes[0].get_legend_handles_labels()
    names = shortened(names, _LONGEST)
    options = {"title": title, "frameon": False, "reverse": reverse}
    if ax is None:
        figure.set_figwidth(
            figure.get_figwidth() + 0.08 * max([0, *(min(len(name), 50) - 12 for name in names)])
        )
        box = figure.legend(handles, names, loc="outside right upper", **options)
    else:
        box = axes[-1].legend(
            handles, names, loc="upper left", bbox_to_anchor=(1.01, 1.0), **options
        )
    as_they_are(box.get_texts())
    return figure
