"""The pictures of a page, as Altair charts: also for a notebook."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from fairlp import Mechanism, formulations
from fairlp.errors import FairlpError
from fairlp.toolkit import largest_first, lists

from ..dues.share_comparison import ShareComparison
from ..dues.subject import ClusterSource, subject_of
from .facts import OBSERVED, Facts

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
#: Queues with a colour of their own.
_COLOURED = 8
#: Okabe and Ito's colours without black and the palest: colour-blind readers can distinguish them, on
#: light and dark alike.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#A6761D")
_OTHERS = "#8A8F98"
_FREE = "#8A8F9833"
_FONT = "system-ui, sans-serif"


@lists(formulations.options.AllocateOptions)
def charts(
    given: ClusterSource,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    **options: Unpack[formulations.options.AllocateOptions],
) -> dict[str, Any]:
    """Return the pictures of :func:`fairlp_clusters.report` as Altair charts, by name.

    Parameters
    ----------
    given, mechanism, observed, **options
        As for :func:`fairlp_clusters.fair_shares`.

    Returns
    -------
    dict of str to altair.Chart
        ``queues`` and ``who`` (for an instance with queues), ``users``, ``servers``,
        ``mechanisms``. Of more than ``MOST_BARS`` rows the largest are drawn.

    Raises
    ------
    ReportNotAvailableError
        Where Altair is not installed.
    """
    comparison = ShareComparison.of(subject_of(given, observed), mechanism, **options)
    return drawn(Facts(comparison))


def drawn(facts: Facts) -> dict[str, Any]:
    """Return the charts of a page, by name."""
    comparison = facts.share_comparison
    by_name = {}
    if comparison.instance.has_queues:
        by_name["who"] = who_has_what(facts)
        by_name["queues"] = shares(comparison.queues.iloc[1:], "queue", facts)
    is_by_user = comparison.subject.tenants.noun == "user"
    table = comparison.tenants if is_by_user else comparison.users
    by_name["users"] = shares(table, "user", facts)
    by_name["servers"] = heat(facts.in_use)
    by_name["mechanisms"] = compared(facts.comparison)
    return by_name


def shares(table: pd.DataFrame, kind: str, facts: Facts) -> Any:
    """Draw the shares of users or queues beside the fair ones, and the guarantees."""
    alt = need("altair")

    # The rows with the largest shares: queues in order of the tree, users by share
    largest = table[["share", "fair_share"]].max(axis=1).to_numpy()
    rows = np.sort(largest_first(largest)[:MOST_BARS])
    if kind == "user":
        rows = rows[largest_first(largest[rows])]
    frame = table.iloc[rows]
    names = [str(label) for label in frame.index]

    # Two bars for each
    column_of_bar = {"fair": "fair_share"}
    if facts.share_comparison.subject.tasks is not None:
        column_of_bar = {"has": "share", **column_of_bar}
    parts = [
        pd.DataFrame({"name": names, "kind": bar, "share": frame[column].to_numpy()})
        for bar, column in column_of_bar.items()
    ]
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=360))
    bars = alt.Chart(pd.concat(parts)).mark_bar().encode(
        y=y,
        yOffset=alt.YOffset("kind:N", sort=["has", "fair"]),
        x=_percent("share:Q", "dominant share of the cluster", 8),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=["has", "fair"], range=list(COLOURS[:2]))),
        tooltip=[
            alt.Tooltip("name:N", title=kind),
            alt.Tooltip("kind:N", title="which"),
            alt.Tooltip("share:Q", format=".3~p"),
        ],
    )  # fmt: skip
    layers = [bars]
    description = "what each has and what is fair" if len(parts) > 1 else "what is fair for each"

    # A mark for each guarantee
    if kind == "queue" and frame["guarantee"].notna().any():
        guarantees = pd.DataFrame({"name": names, "guarantee": frame["guarantee"].to_numpy()})
        marks = alt.Chart(guarantees[guarantees["guarantee"] > 0]).mark_tick(
            thickness=3, color=COLOURS[3]
        )
        tooltip = [
            alt.Tooltip("name:N", title=kind),
            alt.Tooltip("guarantee:Q", format=".3~p"),
        ]
        layers.append(marks.encode(y=y, x="guarantee:Q", tooltip=tooltip))
        description += "; a mark is what is guaranteed"
    description = f"Dominant shares by {kind}: {description}"
    return _finished(alt.layer(*layers), description, 24 * len(frame) + 20)


def who_has_what(facts: Facts) -> Any:
    """Draw the part of each resource that queues have, at the first level of several."""
    alt = need("altair")
    instance = facts.share_comparison.instance
    level, bands = _bands(facts)
    names = [band.name for band in bands]
    colours = [band.colour for band in bands]
    rows = []
    for k, band in enumerate(bands):
        for resource, part in zip(instance.resources, band.parts, strict=True):
            rows.append((str(resource), band.name, k, float(part)))
    data = pd.DataFrame(rows, columns=["resource", "queue", "order", "part"])
    chart = alt.Chart(data).mark_bar().encode(
        y=alt.Y("resource:N", sort=None, title=None),
        x=alt.X("part:Q", stack=True, title="part of the cluster", axis=alt.Axis(format="~%", tickCount=8)),
        color=alt.Color("queue:N", title="queue", scale=alt.Scale(domain=names, range=colours)),
        order=alt.Order("order:Q"),
        tooltip=["resource:N", "queue:N", alt.Tooltip("part:Q", format=".1%")],
    )  # fmt: skip
    description = f"The part of each resource that queues of level {level} have"
    return _finished(chart, description, 44 * len(instance.resources) + 20)


class _Band(NamedTuple):
    """A queue, or several, in the stacked bars: its part of each resource."""

    name: str
    colour: str
    parts: np.ndarray


def _bands(facts: Facts) -> tuple[int, list[_Band]]:
    """Return the first level of several queues, with its queues and the free part."""
    comparison = facts.share_comparison
    instance = comparison.instance
    tree = instance.tree
    levels = range(1, int(tree.depths.max()) + 1)
    with_several = (depth for depth in levels if len(np.unique(tree.at_depth(depth))) > 1)
    level = next(with_several, 1)

    queue_of_user = tree.at_depth(level)
    amounts = comparison.has[:, None] * instance.demands / instance.pool
    parts = np.column_stack(
        [np.bincount(queue_of_user, weights=column, minlength=len(tree)) for column in amounts.T]
    )

    largest = largest_first(parts.max(axis=1))
    order = [int(v) for v in largest if parts[v].any()]
    coloured = order if len(order) <= _COLOURED else order[: _COLOURED - 1]
    others = order[len(coloured) :]
    bands = [
        _Band(str(tree.paths[v]) or "(root)", colour, parts[v])
        for v, colour in zip(coloured, COLOURS, strict=False)
    ]
    if others:
        parts_of_others = parts[others].sum(axis=0)
        bands.append(_Band(f"{len(others)} others", _OTHERS, parts_of_others))
    used = sum((band.parts for band in bands), np.zeros(len(instance.resources)))
    bands.append(_Band("not in use", _FREE, np.maximum(1 - used, 0.0)))
    return level, bands


def heat(in_use: pd.DataFrame) -> Any:
    """Draw the part of each class of servers in use, a cell for each resource."""
    alt = need("altair")
    frame = in_use.iloc[:MOST_BARS]
    names = [str(name) for name in frame.index]
    rows = []
    for name, values in zip(names, frame.to_numpy().tolist(), strict=True):
        for resource, value in zip(frame.columns, values, strict=True):
            if value == value:
                rows.append((name, str(resource), value))
    data = pd.DataFrame(rows, columns=["class", "resource", "used"])

    base = alt.Chart(data).encode(
        y=alt.Y("class:N", sort=names, title=None, axis=alt.Axis(labelLimit=360)),
        x=alt.X("resource:N", sort=None, title=None, axis=alt.Axis(orient="top", labelAngle=0)),
        tooltip=["class:N", "resource:N", alt.Tooltip("used:Q", format=".1%", title="in use")],
    )
    scale = alt.Scale(domain=[0, 1], range=["#DCE9F5", "#08519C"], clamp=True)
    cells = base.mark_rect().encode(
        color=alt.Color("used:Q", title="in use", scale=scale, legend=None)
    )
    labels = base.mark_text(fontSize=12).encode(
        text=alt.Text("used:Q", format=".0%"),
        color=alt.condition("datum.used > 0.45", alt.value("white"), alt.value("#10243A")),
    )
    description = "Part of each class of servers in use"
    return _finished(alt.layer(cells, labels), description, 30 * len(frame) + 30)


def compared(figures: pd.DataFrame) -> Any:
    """Draw the part of each resource in use, and the smallest and median share, by mechanism."""
    alt = need("altair")
    use_columns = [column for column in figures.columns if str(column).endswith(" used")]
    columns = [*use_columns, "smallest share", "median share"]
    drawn_columns = [column for column in columns if figures[column].max() > 0]
    rows = []
    for column in drawn_columns:
        for name, value in figures[column].items():
            if value == value:
                rows.append((str(name), column, float(value)))
    data = pd.DataFrame(rows, columns=["mechanism", "figure", "value"])
    chart = alt.Chart(data).mark_bar().encode(
        y=alt.Y("mechanism:N", sort=[str(name) for name in figures.index], title=None),
        x=_percent("value:Q", None, 3),
        color=alt.condition(alt.datum.mechanism == OBSERVED, alt.value(COLOURS[1]), alt.value(COLOURS[0])),
        tooltip=["mechanism:N", "figure:N", alt.Tooltip("value:Q", format=".3~p")],
    ).properties(width=270, height=alt.Step(18))  # fmt: skip
    facet = alt.Facet("figure:N", title=None, sort=drawn_columns)
    faceted = chart.facet(facet=facet, columns=3).resolve_scale(x="independent")
    description = (
        "Mechanisms side by side: what is in use, and the smallest and median dominant share"
    )
    return _configured(faceted, description)


def over_time(period: Period) -> Any:
    """Draw the share of tenants over time beside what was due, those first that lack most."""
    alt = need("altair")
    names = list(map(str, period.tenants.index[:MOST_TENANTS]))
    columns = {"has": "share", "due": "due_share"}
    lines = [
        _means(period.by_time(column)[names], period.dumps["hours"])
        .rename_axis("time")
        .reset_index()
        .melt("time", var_name="tenant", value_name="share")
        .assign(line=line)
        for line, column in columns.items()
    ]
    data = pd.concat(lines)
    data["time"] = data["time"].dt.strftime("%Y-%m-%dT%H:%M:%S")
    base = alt.Chart(data).encode(
        x=alt.X("time:T", title=None, axis=alt.Axis(tickCount=4, labelOverlap=True)),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(format="~%", tickCount=4)),
        color=alt.Color("line:N", title=None, scale=alt.Scale(domain=list(columns), range=list(COLOURS[:2]))),
        tooltip=[
            alt.Tooltip("tenant:N", title=period.noun),
            alt.Tooltip("time:T", format="%Y-%m-%d %H:%M"),
            alt.Tooltip("line:N", title="which"),
            alt.Tooltip("share:Q", format=".3~p"),
        ],
    )  # fmt: skip
    has = base.transform_filter("datum.line === 'has'").mark_area(
        interpolate="step-after", opacity=0.45
    )
    due = base.transform_filter("datum.line === 'due'").mark_line(
        interpolate="step-after", strokeWidth=2
    )
    chart = alt.layer(has, due).properties(width=270, height=90)
    facet = alt.Facet("tenant:N", title=None, sort=names)
    description = f"Dominant share of each {period.noun} over time, and what was due to it"
    if len(period.tenants) > len(names):
        description += f" (of {len(period.tenants):,} the {len(names)} first of the table)"
    return _configured(chart.facet(facet=facet, columns=3), description)


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


def _percent(field: str, title: str | None, ticks: int) -> Any:
    """Return an axis of percentages."""
    alt = need("altair")
    return alt.X(field, title=title, axis=alt.Axis(format="~%", tickCount=ticks))


def _finished(chart: Any, description: str, height: int) -> Any:
    """Return a chart as wide as the page, with its description."""
    return _configured(chart.properties(width="container", height=height), description)


def _configured(chart: Any, description: str) -> Any:
    """Return a chart in the style of the page, with its description."""
    styled = chart.properties(description=description)
    styled = styled.configure(background="transparent", font=_FONT)
    styled = styled.configure_view(stroke=None)
    styled = styled.configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
    return styled.configure_legend(
        orient="bottom", columns=3, labelFontSize=12, labelLimit=160, titleFontSize=12
    )
