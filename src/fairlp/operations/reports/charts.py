"""The pictures of a page, as Altair charts: also for a notebook."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd

from ...errors import FairlpError
from ...mechanisms.mechanism import Mechanism
from ...models.instances.arithmetic import largest_first
from .facts import OBSERVED, Facts
from .share_comparison import ShareComparison
from .subject import Given, subject_of

# The packages that pages and charts need beyond fairlp's own, imported when they are used.


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
#: Queues with a colour of their own.
_COLOURED = 8
#: Okabe and Ito's colours without black and the palest: told apart by colour-blind readers, on
#: light and dark alike.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#A6761D")
_OTHERS = "#8A8F98"
_FREE = "#8A8F9833"
_FONT = "system-ui, sans-serif"


def charts(
    given: Given,
    mechanism: str | Mechanism | None = None,
    *,
    observed: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the pictures of :func:`fairlp.report` as Altair charts, by name.

    Parameters
    ----------
    given, mechanism, observed, **options
        As for :func:`fairlp.fair_shares`.

    Returns
    -------
    dict of str to altair.Chart
        ``queues`` and ``who`` (where there are queues), ``users``, ``servers``, ``mechanisms``. Of
        more than ``MOST_BARS`` rows the largest are drawn.

    Raises
    ------
    ReportNotAvailableError
        Where Altair is not installed.
    """
    return drawn(Facts(ShareComparison.of(subject_of(given, observed), mechanism, **options)))


def drawn(facts: Facts) -> dict[str, Any]:
    """Return the charts of what is known."""
    found = {}
    if facts.share_comparison.instance.has_queues:
        found["who"] = who_has_what(facts)
        found["queues"] = shares(facts.share_comparison.queues.iloc[1:], "queue", facts)
    found["users"] = shares(facts.share_comparison.users, "user", facts)
    found["servers"] = heat(facts.in_use)
    found["mechanisms"] = compared(facts.comparison)
    return found


def shares(table: pd.DataFrame, what: str, facts: Facts) -> Any:
    """Draw what users or queues have beside what is fair, and what is guaranteed."""
    alt = need("altair")
    largest = table[["share", "fair_share"]].max(axis=1).to_numpy()
    kept = np.sort(largest_first(largest)[:MOST_BARS])
    if what == "user":
        kept = kept[largest_first(largest[kept])]
    part = table.iloc[kept]
    kinds = (
        {"has": "share", "fair": "fair_share"}
        if facts.share_comparison.subject.tasks is not None
        else {"fair": "fair_share"}
    )
    columns = {"name": [str(label) for label in part.index]}
    rows = pd.concat(
        [pd.DataFrame(columns | {"kind": k, "share": part[c].to_numpy()}) for k, c in kinds.items()]
    )
    y = alt.Y("name:N", sort=columns["name"], title=None, axis=alt.Axis(labelLimit=360))
    bars = alt.Chart(rows).mark_bar().encode(
        y=y,
        yOffset=alt.YOffset("kind:N", sort=["has", "fair"]),
        x=_percent("share:Q", "dominant share of the cluster", 8),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=["has", "fair"], range=list(COLOURS[:2]))),
        tooltip=[
            alt.Tooltip("name:N", title=what),
            alt.Tooltip("kind:N", title="which"),
            alt.Tooltip("share:Q", format=".3~p"),
        ],
    )  # fmt: skip
    layers = [bars]
    if what == "queue" and part["guarantee"].notna().any():
        ticks = pd.DataFrame(columns | {"guarantee": part["guarantee"].to_numpy()})
        ticks = ticks[ticks["guarantee"] > 0]
        layers.append(
            alt.Chart(ticks)
            .mark_tick(thickness=3, color=COLOURS[3])
            .encode(
                y=y,
                x="guarantee:Q",
                tooltip=[
                    alt.Tooltip("name:N", title=what),
                    alt.Tooltip("guarantee:Q", format=".3~p"),
                ],
            )
        )
    said = "what each has and what is fair" if len(kinds) > 1 else "what is fair for each"
    said += "; a mark is what is guaranteed" if len(layers) > 1 else ""
    return _finished(alt.layer(*layers), f"Dominant shares by {what}: {said}", 24 * len(part) + 20)


def who_has_what(facts: Facts) -> Any:
    """Draw which queues have which part of each resource: stacked bars, at the first level that has several queues."""
    alt = need("altair")
    comparison = facts.share_comparison
    tree = comparison.instance.queues
    instance = comparison.instance
    assert tree is not None
    levels = range(1, int(tree.depths.max()) + 1)
    level = next((depth for depth in levels if len(np.unique(tree.at_depth(depth))) > 1), 1)
    at = tree.at_depth(level)
    amounts = comparison.has[:, None] * instance.demands / instance.pool
    parts = np.column_stack(
        [np.bincount(at, weights=column, minlength=len(tree)) for column in amounts.T]
    )
    order = [int(v) for v in largest_first(parts.max(axis=1)) if parts[v].any()]
    named = order if len(order) <= _COLOURED else order[: _COLOURED - 1]
    bands = [
        (str(tree.paths[v]) or "(root)", colour, parts[v])
        for v, colour in zip(named, COLOURS, strict=False)
    ]
    rest = order[len(named) :]
    if rest:
        bands.append((f"{len(rest)} others", _OTHERS, parts[rest].sum(axis=0)))
    used = sum((piece for *_, piece in bands), np.zeros(len(instance.resources)))
    bands.append(("not in use", _FREE, np.maximum(1 - used, 0.0)))
    names, colours, pieces = map(list, zip(*bands, strict=True))
    rows = [
        (str(resource), name, k, float(part))
        for k, (name, piece) in enumerate(zip(names, pieces, strict=True))
        for resource, part in zip(instance.resources, piece, strict=True)
    ]
    data = pd.DataFrame(rows, columns=["resource", "queue", "order", "part"])
    chart = alt.Chart(data).mark_bar().encode(
        y=alt.Y("resource:N", sort=None, title=None),
        x=alt.X("part:Q", stack=True, title="part of the cluster", axis=alt.Axis(format="~%", tickCount=8)),
        color=alt.Color("queue:N", title="queue", scale=alt.Scale(domain=names, range=colours)),
        order=alt.Order("order:Q"),
        tooltip=["resource:N", "queue:N", alt.Tooltip("part:Q", format=".1%")],
    )  # fmt: skip
    return _finished(
        chart,
        f"Which queues of level {level} have which part of each resource",
        44 * len(instance.resources) + 20,
    )


def heat(in_use: pd.DataFrame) -> Any:
    """Draw what is in use of each class of servers, a cell for each resource."""
    alt = need("altair")
    part = in_use.iloc[:MOST_BARS]
    rows = [
        (str(name), str(resource), value)
        for name, values in zip(part.index, part.to_numpy().tolist(), strict=True)
        for resource, value in zip(part.columns, values, strict=True)
        if value == value
    ]
    data = pd.DataFrame(rows, columns=["class", "resource", "used"])
    base = alt.Chart(data).encode(
        y=alt.Y(
            "class:N",
            sort=[str(name) for name in part.index],
            title=None,
            axis=alt.Axis(labelLimit=360),
        ),
        x=alt.X("resource:N", sort=None, title=None, axis=alt.Axis(orient="top", labelAngle=0)),
        tooltip=["class:N", "resource:N", alt.Tooltip("used:Q", format=".1%", title="in use")],
    )
    scale = alt.Scale(domain=[0, 1], range=["#DCE9F5", "#08519C"], clamp=True)
    cells = base.mark_rect().encode(
        color=alt.Color("used:Q", title="in use", scale=scale, legend=None)
    )
    words = base.mark_text(fontSize=12).encode(
        text=alt.Text("used:Q", format=".0%"),
        color=alt.condition("datum.used > 0.45", alt.value("white"), alt.value("#10243A")),
    )
    return _finished(
        alt.layer(cells, words), "Part of each class of servers in use", 30 * len(part) + 30
    )


def compared(figures: pd.DataFrame) -> Any:
    """Draw the part of each resource in use, and the smallest and median share, by mechanism."""
    alt = need("altair")
    used = [column for column in figures.columns if str(column).endswith(" used")]
    # of a figure that is 0 everywhere there is nothing to see
    shown = [
        column for column in [*used, "smallest share", "median share"] if figures[column].max() > 0
    ]
    rows = [
        (str(name), column, float(value))
        for column in shown
        for name, value in figures[column].items()
        if value == value
    ]
    data = pd.DataFrame(rows, columns=["mechanism", "figure", "value"])
    chart = alt.Chart(data).mark_bar().encode(
        y=alt.Y("mechanism:N", sort=[str(name) for name in figures.index], title=None),
        x=_percent("value:Q", None, 3),
        color=alt.condition(alt.datum.mechanism == OBSERVED, alt.value(COLOURS[1]), alt.value(COLOURS[0])),
        tooltip=["mechanism:N", "figure:N", alt.Tooltip("value:Q", format=".3~p")],
    ).properties(width=270, height=alt.Step(18))  # fmt: skip
    faceted = chart.facet(facet=alt.Facet("figure:N", title=None, sort=shown), columns=3)
    words = "Mechanisms side by side: what is in use, and the smallest and median dominant share"
    return _configured(faceted.resolve_scale(x="independent"), words)


def _percent(field: str, title: str | None, ticks: int) -> Any:
    """Return an axis of percentages."""
    alt = need("altair")
    return alt.X(field, title=title, axis=alt.Axis(format="~%", tickCount=ticks))


def _finished(chart: Any, words: str, height: int) -> Any:
    return _configured(chart.properties(width="container", height=height), words)


def _configured(chart: Any, words: str) -> Any:
    made = chart.properties(description=words)
    made = made.configure(background="transparent", font=_FONT).configure_view(stroke=None)
    return made.configure_axis(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal"
    ).configure_legend(
        orient="bottom", columns=3, labelFontSize=12, labelLimit=160, titleFontSize=12
    )
