"""The pictures of a page, as figures of Matplotlib: also for a notebook."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from fairlp import Mechanism, formulations
from fairlp.errors import CONTROL, FairlpError
from fairlp.plots import style
from fairlp.toolkit import largest_first, lists

from ..dues.dues import Dues
from ..dues.facts import ClusterSource, facts_of
from ..dues.fair_shares import queues, tenants, users
from ..dues.verdict import Verdict

if TYPE_CHECKING:
    from ..periods.period import Period

# Optional packages, imported at their first use.


class ReportNotAvailableError(FairlpError, ImportError):
    """A package that pages and charts need is not installed; the message says how to install it."""


def need(name: str) -> Any:
    """Return a module of an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ReportNotAvailableError(
            f'reports need {name}, which cannot be imported ({error}): pip install "fairlp[report]"'
        ) from None


#: Rows of a chart: the largest.
MOST_BARS = 30
#: Tenants and times of a chart over time; of more times, means of several in a row are drawn.
MOST_TENANTS = 12
MOST_TIMES = 300
#: Panels side by side.
_ACROSS = 3
_SHARE = "dominant share of the cluster"
#: Parts of a picture's SVG that a page has no use for: names of its elements, and who made it.
_NOT_OF_THE_PAGE = re.compile(r' id="\w+_\d+"|<metadata>.*?</metadata>', re.DOTALL)


class Picture(NamedTuple):
    """A figure, and what it shows, in words."""

    figure: Any
    description: str

    @property
    def svg(self) -> str:
        """The figure as part of a page: its text is text, in the colour of the page's ink."""
        from matplotlib import rc_context

        with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
            # letters that Matplotlib's font lacks are drawn by the browser
            warnings.filterwarnings("ignore", message="Glyph")
            text = style.image(self.figure, "svg", transparent=True).decode("utf-8")
        element = _NOT_OF_THE_PAGE.sub("", text[text.index("<svg") :])
        lines = element.replace("#000000", "currentColor").split("\n")
        return "\n".join(map(with_signs, lines))


def with_signs(value: Any) -> Any:
    r"""Return a text with a visible sign in place of each control character; other values as they are.

    What is to be on the page as it is, its script and pictures, is `Markup`.

    >>> with_signs("a\x1b[31m"), with_signs("b\u202e"), with_signs(3)
    ('a␛[31m', 'b�', 3)
    """
    return CONTROL.sub(_sign, value) if type(value) is str else value


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␤" if match[0] in "\u2028\u2029" else "�"


@lists(formulations.options.AllocateOptions)
def charts(
    given: ClusterSource,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> dict[str, Any]:
    """Return the pictures of :func:`fairlp_clusters.report` as figures, by name.

    Parameters
    ----------
    given, mechanism, observed, **options
        As for :func:`fairlp_clusters.fair_shares`.

    Returns
    -------
    dict of str to matplotlib.figure.Figure
        ``queues`` (for an instance with queues), ``users``.
        Of more than ``MOST_BARS`` rows the largest are drawn.

    Raises
    ------
    ReportNotAvailableError
        Where Matplotlib is not installed.
    """
    judged = Verdict.of(Dues.of(facts_of(given, observed), mechanism, **options))
    return {name: picture.figure for name, picture in drawn(judged).items()}


def drawn(judged: Verdict) -> dict[str, Picture]:
    """Return the pictures of a page, by name."""
    need("matplotlib")
    dues = judged.dues
    by_name = {}
    if dues.instance.has_queues:
        by_name["queues"] = shares(queues(dues).iloc[1:], "queue", dues)
    is_by_user = dues.facts.tenants.noun == "user"
    by_name["users"] = shares(tenants(judged) if is_by_user else users(dues), "user", dues)
    return by_name


def shares(table: pd.DataFrame, kind: str, dues: Dues) -> Picture:
    """Draw the shares of users or queues beside the fair ones, and the guarantees."""
    # The rows with the largest shares: queues in order of the tree, users by share
    largest = table[["share", "fair_share"]].max(axis=1).to_numpy()
    rows = np.sort(largest_first(largest)[:MOST_BARS])
    if kind == "user":
        rows = rows[largest_first(largest[rows])]
    frame = table.iloc[rows]

    columns = {"fair_share": "fair"}
    description = "what is fair for each"
    if dues.facts.tasks is not None:
        columns = {"share": "has", **columns}
        description = "what each has and what is fair"
    axis = _axis(frame.index, len(frame))
    style.grouped_bars(axis, frame[list(columns)].rename(columns=columns))
    if kind == "queue" and frame["guarantee"].notna().any():
        places = np.arange(len(frame))
        line = {"color": style.COLOURS[3], "linewidth": 2.5, "label": "guaranteed"}
        axis.hlines(frame["guarantee"].replace(0, np.nan), places - 0.4, places + 0.4, **line)
        description += "; a mark is what is guaranteed"
    return Picture(
        _bars_named(axis, frame.index, kind), f"Dominant shares by {kind}: {description}"
    )


def over_time(period: Period) -> Picture:
    """Draw the share of tenants over time beside what was due, those first that lack most."""
    need("matplotlib")
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
    description = f"Dominant share of each {period.noun} over time, and what was due to it"
    if len(period.tenants) > len(names):
        description += f" (of {len(period.tenants):,} the {len(names)} first of the table)"
    return Picture(figure, description)


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


def _axis(labels: pd.Index[Any], bars: int) -> Any:
    """Return the axis of a new figure of bars, with room for long labels below it."""
    letters = max((len(str(label)) for label in labels), default=0)
    return style.new_figure(style.width_for(bars), 3.2 + 0.05 * min(letters, 40)).subplots()


def _bars_named(axis: Any, labels: pd.Index[Any], kind: str, legend: str = "") -> Any:
    """Name the bars of an axis of percentages, and return its figure with a legend."""
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.set_ylabel(_SHARE if kind else style.CLUSTER_USED)
    style.name_bars(axis, [str(label) for label in labels], kind)
    return style.finished(axis, None, legend)
