"""The picture of a period: shares over time beside what was due."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

from fairlp.plots import style

from ..page.page import with_signs
from .period import Period

#: Tenants and times of the picture; of more times, means of several in a row are drawn.
MOST_TENANTS = 12
MOST_TIMES = 300
#: Panels side by side.
_ACROSS = 3
#: Parts of a picture's SVG that a page has no use for: names of its elements, and who made it.
_NOT_OF_THE_PAGE = re.compile(r' id="\w+_\d+"|<metadata>.*?</metadata>', re.DOTALL)


def svg(figure: Any) -> str:
    """Return a figure as part of a page: its text is text, in the colour of the page's ink."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        # letters that Matplotlib's font lacks are drawn by the browser
        warnings.filterwarnings("ignore", message="Glyph")
        text = style.image(figure, "svg", transparent=True).decode("utf-8")
    element = _NOT_OF_THE_PAGE.sub("", text[text.index("<svg") :])
    lines = element.replace("#000000", "currentColor").split("\n")
    return "\n".join(map(with_signs, lines))


def over_time(period: Period) -> Any:
    """Draw the share of tenants over time beside what was due, those first that lack most."""
    names = list(period.tenants.index[:MOST_TENANTS])
    has, due = (
        _means(period.by_time(column)[list(map(str, names))], period.dumps["hours"])
        for column in ("share", "due_share")
    )
    rows = -(-len(names) // _ACROSS)
    figure = style.new_figure(11.0, 0.8 + 1.6 * rows)
    axes = figure.subplots(rows, min(_ACROSS, len(names)), squeeze=False, sharex=True)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    colours = {"has": style.COLOURS[3], "due": style.COLOURS[0]}
    for name, axis in zip(map(str, names), axes.flat, strict=False):
        for label, shares in (("has", has), ("due", due)):
            line = {"where": "post", "color": colours[label], "label": label}
            axis.step(shares.index, shares[name], **line)
        axis.fill_between(has.index, has[name], step="post", alpha=0.3, color=colours["has"])
        axis.set_title(*style.shortened([name], 40), size="medium")
        axis.yaxis.set_major_formatter("{x:.0%}")
        axis.tick_params(axis="x", labelrotation=30)
        style.tidy(axis)
    style.legend(list(axes.flat), None, "")
    return figure


def _means(shares: pd.DataFrame, hours: pd.Series[float]) -> pd.DataFrame:
    """Return shares by time; of more than ``MOST_TIMES``, the means of so many in a row."""
    size = -(-len(shares) // MOST_TIMES)
    if size == 1:
        return shares
    group = np.arange(len(shares)) // size
    weights = np.maximum(hours.to_numpy(), np.finfo(float).tiny)  # the last dump lasts for no time
    totals = shares.mul(weights, axis=0).groupby(group).sum()
    means = totals.div(pd.Series(weights).groupby(group).sum(), axis=0)
    means.index = shares.index[::size]
    return means
