"""The sections of a page, each from the facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...models.files.tables import csv_text
from ...models.instances.arithmetic import largest_first, scaled
from ...models.instances.queues import lineage, parent_of
from ...tolerances import AUDIT
from .facts import OBSERVED, Facts, is_large, judged, left_out_of
from .headline import headline
from .share_comparison import ROOM

# What a template is given: sections, tables with columns, the tree of queues; plain data, bounded
# in size.

#: Rows of a table on a page.
MOST_ROWS = 200
#: Letters of a whole table as text, at most.
MOST_CSV = 300_000
#: Letters of a cell.
MOST_LETTERS = 400
#: Queues in the tree to fold, and children of one.
MOST_QUEUES = 600
MOST_CHILDREN = 40
#: Queues up to which all of them are unfolded.
MOST_OPEN = 60


class TableColumn(NamedTuple):
    """A column: its name, what it holds, and what it is.

    It holds a ``label``, ``text``, ``words`` (longer text), ``number``, ``percent`` or an
    ``answer``.
    """

    name: str
    kind: str = "number"
    about: str = ""


class Table(NamedTuple):
    """A table that can be sorted."""

    id: str
    caption: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Any]]
    left_out: str = ""
    csv: str = ""


class Section(NamedTuple):
    """A section of the page."""

    id: str
    name: str
    title: str
    paragraphs: Sequence[str] = ()
    cards: Sequence[tuple[str, str, str]] = ()
    tree: dict[str, Any] | None = None
    key: str = ""
    charts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pre: str = ""
    notes: Sequence[str] = ()
    appendix: bool = False


def shown(value: Any, kind: str = "number") -> str:
    """Return a number for people: four digits, percent with one after the point (two in all below 1), a dash for none.

    >>> [shown(value) for value in (1234567.0, 0.33333, 3.0, float("nan"), float("inf"))]
    ['1,234,567', '0.3333', '3', '–', 'no limit']
    >>> shown(0.12345, "percent"), shown(0.00057, "percent"), shown(0.0, "percent")
    ('12.3 %', '0.057 %', '0.0 %')
    """
    number = float(value) + 0.0  # without the sign of a zero
    if number != number:
        return "–"
    if not abs(number) < np.inf:
        return "no limit"
    if kind == "percent":
        return f"{100 * number:.2g} %" if 0 < abs(number) < 0.00995 else f"{100 * number:.1f} %"
    if number == int(number) or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


def short(value: Any) -> str:
    """Return a text cut where it is too long for a cell.

    >>> short("a" * 1000).count("a"), short("short")
    (400, 'short')
    """
    text = str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def counted(count: int, one: str, more: str) -> str:
    """Return a number of things.

    >>> counted(1, "class", "classes"), counted(1200, "class", "classes")
    ('1 class', '1,200 classes')
    """
    return f"{count:,} {one if count == 1 else more}"


def raw(value: Any) -> str:
    """Return a number as a script sorts it; empty for none."""
    number = float(value)
    if number != number:
        return ""
    return repr(number) if abs(number) < np.inf else ("Infinity" if number > 0 else "-Infinity")


def amounts(held: dict[Any, float], unit: str = "") -> str:
    """Return who holds how much in words.

    >>> amounts({"a": 3.0, "b": 1.5}, "GB"), amounts({"a": 1500.0}, "1/1000 core")
    ('a (3 GB), b (1.5 GB)', 'a (1.5 core)')
    """
    times, unit = scaled(unit)
    return ", ".join(
        f"{name} ({shown(times * amount)}{' ' if unit else ''}{unit})"
        for name, amount in held.items()
    )


def limited(
    frame: pd.DataFrame,
    identity: str,
    caption: str,
    columns: Sequence[TableColumn],
    rows: Any,
    whole: pd.DataFrame,
) -> Table:
    """Return a table of the first rows, and how many more there are; the whole of it as text, where that is short."""
    table = _without_empty(Table(identity, caption, columns, rows(frame.iloc[:MOST_ROWS])))
    left = len(frame) - MOST_ROWS
    if left <= 0:
        return table
    csv = csv_text(whole, float_format="%.6g")
    said = f"The {MOST_ROWS} first of {len(frame):,} rows; {left:,} are left out."
    if len(csv) > MOST_CSV:
        csv = ""
        said = f"{said} The functions of the same names in Python give them all."
    return table._replace(left_out=said, csv=csv)


def _without_empty(table: Table) -> Table:
    """Return the table without columns that say nothing in any row."""
    if not table.rows:
        return table
    kept = [
        k
        for k in range(len(table.columns))
        if any(row[k] == row[k] and row[k] != "" for row in table.rows)
    ]
    rows = [[row[k] for k in kept] for row in table.rows]
    return table._replace(columns=[table.columns[k] for k in kept], rows=rows)


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a table, each with its columns as attributes."""
    return iter(frame.itertuples(index=False))


def tree_of(queues: pd.DataFrame, waits: bool) -> dict[str, Any]:
    """Return the tree of queues, nested: names, widths of bars, figures; of many the largest."""
    share = queues[["share", "fair_share"]].max(axis=1).to_numpy()
    order = largest_first(share)[:MOST_QUEUES]
    kept = {here for k in order for here in lineage(queues.index[k])}  # and all that lead to them
    of_path = dict(zip(queues.index, share.tolist(), strict=True))
    most: dict[str, float] = {}  # of the children of each queue
    for path, largest in of_path.items():
        if path:
            above = parent_of(path)
            most[above] = max(most.get(above, 0.0), largest)
    paths = [path for path in queues.index if path in kept]
    nodes: dict[str, dict[str, Any]] = {}
    for path, row in zip(paths, records(queues.loc[paths]), strict=True):
        whole = (most[parent_of(path)] if path else of_path[path]) or 1.0
        nodes[path] = {
            "name": path.rpartition("/")[2] or "whole cluster",
            "has_width": f"{100 * row.share / whole:.1f}",
            "due_width": f"{100 * row.fair_share / whole:.1f}",
            "figures": _figures(row, waits),
            "children": [],
            "more": 0,
            "open": not path or len(paths) <= MOST_OPEN,
        }
    for path in paths:
        if path:
            parent = nodes[parent_of(path)]
            if len(parent["children"]) < MOST_CHILDREN:
                parent["children"].append(nodes[path])
            else:
                parent["more"] += 1
    for path in queues.index:
        if path not in kept:
            above = parent_of(path)
            if above in nodes:
                nodes[above]["more"] += 1
    return nodes[""]


def _figures(row: Any, waits: bool) -> str:
    said = [f"has {shown(row.share, 'percent')}", f"fair {shown(row.fair_share, 'percent')}"]
    if not waits:
        said = said[1:]
    if row.guarantee > 0:
        said.append(f"guaranteed {shown(row.guarantee, 'percent')}")
    said.append(counted(row.users, "user", "users"))
    if waits and 0 < row.waiting < np.inf:
        said.append(f"{shown(row.waiting)} tasks wait")
    if row.blocked_by and waits and row.owed > 0:
        said.append(
            "there is room for them" if row.blocked_by == ROOM else f"stopped by {row.blocked_by}"
        )
    return ", ".join(said)


_NO_PRICE = (
    "No capacity has a price: what holds users back at first are their tasks or the caps of "
    "queues, and more servers "
    "would not raise the lowest of them."
)
_SHARE = "largest part of any resource of the cluster"


def sections(facts: Facts) -> list[Section]:
    """Return the sections of the page, in order."""
    found = [_glance(facts)]
    if _observed(facts):
        found.append(_owed(facts))
    if facts.earlier is not None:
        found.append(_since(facts))
    if facts.share_comparison.instance.has_queues:
        found.append(_queues(facts))
    found += [_users(facts), _servers(facts)]
    subject = facts.share_comparison.subject
    if len(subject.not_understood) or len(subject.homeless) or len(subject.held):
        found.append(_reading(facts))
    theory = [_mechanisms(facts), _prices(facts), _audit(facts), _model(facts)]
    return found + [section._replace(appendix=True) for section in theory]


def _labelled(frame: pd.DataFrame, names: list[str]) -> list[list[Any]]:
    """Return rows of labels and what is in these columns."""
    return [[str(label), *values] for label, *values in frame[names].itertuples(name=None)]


def _unit(facts: Facts, resource: str) -> str:
    return facts.share_comparison.instance.units.get(resource, "")


def _observed(facts: Facts) -> bool:
    return facts.share_comparison.subject.tasks is not None


def _glance(facts: Facts) -> Section:
    comparison = facts.share_comparison
    instance = facts.share_comparison.instance
    waiting = comparison.waiting[np.isfinite(comparison.waiting)].sum()
    below = int((comparison.owed > 0).sum())
    cards = [
        (
            "servers",
            f"{instance.n_servers:,}",
            counted(len(facts.classes.names), "class", "classes"),
        )
    ]
    if instance.has_queues:
        levels = counted(int(instance.tree.depths.max()), "level", "levels")
        cards.append(("queues", f"{len(instance.tree) - 1:,}", levels))
    cards.append(("users", f"{len(instance.users):,}", ""))
    if _observed(facts):
        cards += [
            ("tasks that run", shown(comparison.has.sum()), ""),
            (
                "tasks that wait",
                shown(waiting),
                f"of {counted(int((comparison.waiting > 0).sum()), 'user', 'users')}",
            ),
            ("below fair", f"{below:,}", "user" if below == 1 else "users"),
        ]
    subject = comparison.subject
    more = (
        (subject.hidden.add(subject.excluded, fill_value=0.0))
        .reindex(list(instance.resources), fill_value=0.0)
        .to_numpy()
    )
    used, fair = (
        one.usage.to_numpy().sum(axis=0) + more for one in (comparison.allocation, comparison.fair)
    )
    pool = instance.pool + more
    times, units = zip(
        *(scaled(_unit(facts, str(resource))) for resource in instance.resources), strict=True
    )
    columns_of = (used * times, pool * times, used / pool, fair / pool)
    rows = list(
        zip(map(str, instance.resources), *(one.tolist() for one in columns_of), units, strict=True)
    )
    columns = (
        TableColumn("resource", "label"),
        TableColumn("in use"),
        TableColumn("capacity"),
        TableColumn("% in use", "percent"),
        TableColumn("% under fair shares", "percent"),
        TableColumn("unit", "text"),
    )
    table = Table("resources", "The whole cluster, by resource", columns, rows)
    return Section(
        "glance",
        "At a glance",
        "The cluster at a glance",
        headline(comparison),
        cards=cards,
        tables=[table],
        notes=[_OTHERS_USE] if more.any() else [],
    )


_OTHERS_USE = (
    "In use and capacity include what users have who are excluded, or who are not in the dump. All "
    "that follows is "
    "about the rest."
)


def _since(facts: Facts) -> Section:
    moved = facts.moved
    moved = moved[
        (moved["change"] != 0)
        | (moved["waiting"] != moved["waiting_before"])
        | (moved["owed"] >= 1)
    ]
    up = int((moved["change"] > 0).sum())
    down = int((moved["change"] < 0).sum())
    still = moved[(moved["waiting"] > 0) & (moved["waiting_before"] > 0) & (moved["owed"] >= 1)]
    said = [f"{up:,} users run more tasks than before, {down:,} fewer."]
    if len(still):
        who = ", ".join(
            f"{user} ({shown(owed)})" for user, owed in still["owed"].iloc[:_NAMED].items()
        )
        others = f" and {len(still) - _NAMED:,} others" if len(still) > _NAMED else ""
        said.append(
            "Waiting before and now, and short of their fair share by so many tasks: "
            f"{who}{others}."
        )
    columns = [TableColumn("user", "label"), TableColumn("change", about="tasks")]
    columns += [
        TableColumn(name) for name in ("tasks before", "tasks", "waiting before", "waiting")
    ]
    columns += [
        TableColumn(name, about="tasks of the fair share") for name in ("short before", "short now")
    ]
    names = ["change", "tasks_before", "tasks", "waiting_before", "waiting", "owed_before", "owed"]
    table = limited(
        moved,
        "since-table",
        "Users, those first of whom most of the cluster moved",
        columns,
        lambda part: _labelled(part, names),
        moved,
    )
    return Section(
        "since",
        "Since then",
        "Who moved since the earlier dump, and who still waits",
        said,
        tables=[table],
    )


#: Columns of what schedulers tell of shares, and what they are.
_TOLD = {
    "weighted_share": "dominant resource share in thousandths, over the weight",
    "told": "the same, as Kueue told it",
    "usage": "decayed, as Slurm told it; it does not count here",
    "fairshare": "Slurm's own factor of that usage, 1 for who used nothing",
}
#: Users who are named in a sentence.
_NAMED = 5


def _queues(facts: Facts) -> Section:
    comparison = facts.share_comparison
    queues = comparison.queues
    waits = _observed(facts)
    columns = [
        TableColumn("queue", "label"),
        TableColumn("users"),
        TableColumn("weight", about="among its siblings"),
        TableColumn("tasks"),
        TableColumn("fair tasks"),
        TableColumn("has", "percent", _SHARE),
        TableColumn("fair", "percent", _SHARE),
        TableColumn("guarantee", "percent", _SHARE),
        TableColumn("borrowed", "percent", "beyond the guarantee"),
        TableColumn("waiting", about="tasks"),
        TableColumn("blocked by", "text"),
        TableColumn("held by", "words", "other queues that hold most of it there"),
    ]
    told = [name for name in _TOLD if name in queues]
    columns += [TableColumn(name.replace("_", " "), about=_TOLD[name]) for name in told]

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        return [
            [
                path or "whole cluster",
                *(getattr(row, name) for name in _QUEUE_FIGURES),
                row.blocked_by,
                _held(facts, row, row.held_by),
                *(getattr(row, name) for name in told),
            ]
            for path, row in zip(part.index, records(part), strict=True)
        ]

    caption = "Queues, each with all below it; shares are of the whole cluster"
    table = limited(queues, "queue-table", caption, columns, rows, queues)
    what = "what it has" if waits else "what it gets"
    return Section(
        "queues",
        "Queues",
        "Shares by queue",
        tree=tree_of(queues, waits),
        key=f"bar: {what}; mark: what is fair; relative to the largest of its siblings",
        charts=["who", "queues"],
        tables=[table],
    )


_QUEUE_FIGURES = (
    "users", "weight", "tasks", "fair_tasks", "share", "fair_share", "guarantee", "borrowed", "waiting",
)  # fmt: skip


def _held(facts: Facts, row: Any, held: Any) -> str:
    """Return who holds what stops a queue or user, with the unit of the resource."""
    return amounts(held, _unit(facts, row.blocked_by.removeprefix("cap of ")))


def _users(facts: Facts) -> Section:
    users = facts.share_comparison.users
    order = largest_first(users[["share", "fair_share"]].max(axis=1).to_numpy())
    columns = [
        TableColumn("user", "label"),
        TableColumn("queue", "text"),
        TableColumn("tasks"),
        TableColumn("fair tasks"),
        TableColumn("has", "percent", _SHARE),
        TableColumn("fair", "percent", _SHARE),
        TableColumn("guarantee", "percent", "its part of the guarantees of its queues"),
        TableColumn("borrowed", "percent", "beyond that"),
        TableColumn("waiting", about="tasks"),
    ]
    names = [
        "queue",
        "tasks",
        "fair_tasks",
        "share",
        "fair_share",
        "guarantee",
        "borrowed",
        "waiting",
    ]

    whole = users.drop(columns=["held_by", "beyond_fair"])
    caption = "Users, the largest share first"
    table = limited(
        users.iloc[order],
        "user-table",
        caption,
        columns,
        lambda part: _labelled(part, names),
        whole,
    )
    return Section("users", "Users", "Shares by user", charts=["users"], tables=[table])


def _servers(facts: Facts) -> Section:
    classes = facts.classes
    in_use = facts.in_use
    frame = in_use.assign(servers=classes.servers)
    columns = [
        TableColumn("class of servers", "label"),
        TableColumn("servers"),
        TableColumn("each has", "text"),
    ]
    factors = []
    for resource in in_use.columns:
        factor, unit = scaled(_unit(facts, resource))
        factors.append(factor)
        columns += [
            TableColumn(f"{resource}{f' [{unit}]' if unit else ''}", about="capacity"),
            TableColumn(f"{resource} in use", "percent"),
        ]

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        found = []
        for k in range(len(part)):
            pairs = zip(
                (classes.capacities[k] * factors).tolist(), in_use.iloc[k].tolist(), strict=True
            )
            each = "" if classes.each[k] == part.index[k] else classes.each[k]
            found.append(
                [
                    part.index[k],
                    int(classes.servers[k]),
                    each,
                    *(value for pair in pairs for value in pair),
                ]
            )
        return found

    caption = "Classes of servers: equal capacity and attributes, those with most servers first"
    table = limited(frame, "server-table", caption, columns, rows, frame)
    return Section(
        "servers", "Servers", "Utilisation by server class", charts=["servers"], tables=[table]
    )


def _owed(facts: Facts) -> Section:
    comparison = facts.share_comparison
    by = comparison.owed * comparison.share_of_a_task
    order = largest_first(by)
    below = comparison.users.iloc[order[by[order] > 0]]
    if below.empty:
        return Section(
            "owed",
            "Below fair",
            "Who is below its fair share",
            ["Nobody who waits is below its fair share."],
        )
    columns = [
        TableColumn("user", "label"),
        TableColumn("runs", about="tasks"),
        TableColumn("fair", about="tasks"),
        TableColumn("short of", about="tasks of the fair share that it lacks"),
        TableColumn("waiting", about="tasks"),
        TableColumn("stopped by", "text", "the resource that is short, or the cap of a queue"),
        TableColumn(
            "least on", "text", "the server where least is lacking, or the queue whose cap it is"
        ),
        TableColumn(
            "held beyond fair shares by",
            "words",
            "those who have more than is fair, of what is short",
        ),
    ]

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        found = []
        for label, row in zip(part.index, records(part), strict=True):
            figures = (row.tasks, row.fair_tasks, row.owed, row.waiting)
            found.append(
                [
                    str(label),
                    *figures,
                    row.blocked_by,
                    row.where,
                    _held(facts, row, row.beyond_fair),
                ]
            )
        return found

    table = limited(
        below,
        "owed-table",
        "Users below their fair share, by how much they are owed",
        columns,
        rows,
        below,
    )
    whole = int((below["owed"] >= 1).sum())
    said = (
        f"{len(below):,} users wait and are below their fair share, {whole:,} of them by a whole "
        "task or more. "
        "A fair share need not be a whole number of tasks."
    )
    return Section(
        "owed",
        "Below fair",
        "Who is below its fair share, and who holds it",
        [said],
        tables=[table],
    )


def _mechanisms(facts: Facts) -> Section:
    figures = facts.comparison
    columns = [TableColumn("mechanism", "label"), TableColumn("total tasks")]
    columns += [TableColumn(str(name), "percent") for name in figures.columns[1:]]
    rows = _labelled(figures, list(figures.columns))
    caption = "Shares are dominant shares of the cluster, the same yardstick for all"
    said = ["What runs now is called observed."] if OBSERVED in figures.index else []
    notes = (
        ["Only mechanisms that are quick at this size are compared."]
        if is_large(facts.share_comparison.instance)
        else []
    )
    notes += facts.share_comparison.fair.notes
    table = Table("mechanism-table", caption, columns, rows)
    title = "Mechanisms side by side"
    return Section(
        "mechanisms", "Mechanisms", title, said, charts=["mechanisms"], tables=[table], notes=notes
    )


def _prices(facts: Facts) -> Section:
    prices = facts.prices
    title = "Prices: which resource to buy next"
    if prices is None:
        return Section(
            "prices", "Prices", title, [f"{facts.share_comparison.fair.mechanism} has no prices."]
        )
    if prices.empty:
        return Section("prices", "Prices", title, [_NO_PRICE])
    columns = [
        TableColumn("class of servers", "label"),
        TableColumn("resource", "text"),
        TableColumn(
            "worth", "percent", "of all that has a price, the part that this amount is worth"
        ),
        TableColumn(
            "one server more", "percent", "what one server more of the class is worth, of the same"
        ),
        TableColumn("price of a unit"),
        TableColumn("unit", "text"),
    ]

    names = ["class", "resource", "worth", "server", "price", "unit"]

    first = prices.iloc[0]
    best = prices["class"].iloc[int(prices["server"].to_numpy().argmax())]
    said = (
        f"Worth most is the {first['resource']} of servers of class {first['class']}, and of "
        "single servers one more "
        f"of class {best}. Prices are those of linear programs: at most what one unit more adds to "
        "the level at which "
        "capacity first ends, for a small step; fairlp what-if shows what an edit really does."
    )
    caption = "What capacity is worth, the dearest first"
    table = limited(
        prices,
        "price-table",
        caption,
        columns,
        lambda part: part[names].to_numpy().tolist(),
        prices,
    )
    return Section("prices", "Prices", title, [said], tables=[table])


def _audit(facts: Facts) -> Section:
    found, others = judged(facts.findings)
    columns = [
        TableColumn("property", "label"),
        TableColumn("answer", "answer"),
        TableColumn("margin", about="how far from breaking, relative; negative when broken"),
        TableColumn("who shows it", "words"),
    ]
    rows = [
        [name, said, 0.0 if abs(margin) <= AUDIT else margin, witness]
        for name, said, margin, witness in found[["holds", "margin", "witness"]].itertuples(
            name=None
        )
    ]
    what = (
        "what runs now"
        if _observed(facts)
        else f"what {facts.share_comparison.fair.mechanism} gives"
    )
    broken = sum(row[1] == "broken" for row in rows)
    said = (
        f"Of {what}: {broken} of {len(rows)} properties are broken. Nothing here knows how it was "
        "made."
    )
    left_out = left_out_of(facts.share_comparison.instance)
    notes = [f"Left out at this size: {', '.join(left_out)}."] if left_out else []
    notes += [f"{others[0].upper()}{others[1:].partition(' (')[0]}."] if others else []
    table = Table("audit-table", "Properties, with who shows that they are broken", columns, rows)
    return Section(
        "audit", "Audit", "The audit, with witnesses in words", [said], tables=[table], notes=notes
    )


def _model(facts: Facts) -> Section:
    name = facts.share_comparison.fair.mechanism
    said = (
        f"The first round of {name}, as fairlp solves it."
        if facts.model
        else f"{name} is a procedure without a model."
    )
    return Section("model", "Model", "The model as mathematics", [said], pre=facts.model)


def _reading(facts: Facts) -> Section:
    subject = facts.share_comparison.subject
    columns = [TableColumn("user", "label"), TableColumn("queue", "text"), TableColumn("tasks")]
    tables = []
    if len(subject.homeless):
        rows = [list(row) for row in subject.homeless.itertuples(index=False, name=None)]
        tables.append(
            Table("homeless-table", "They wait, and no server may take them", columns, rows)
        )
    if len(subject.held):
        columns = [*columns, TableColumn("reason", "text")]
        caption = "They may not run yet, by the scheduler's own reason"
        tables.append(
            limited(
                subject.held,
                "held-table",
                caption,
                columns,
                lambda p: p.to_numpy().tolist(),
                subject.held,
            )
        )
    odd = subject.not_understood
    if len(odd):
        names = [
            TableColumn("file", "label"),
            *(TableColumn(name, "text") for name in ("where", "what", "done")),
        ]
        tables.append(
            limited(
                odd,
                "odd-table",
                "Lines of the dump",
                names,
                lambda part: part.to_numpy().tolist(),
                odd,
            )
        )
    return Section("reading", "Reading", "What was left out or not understood", tables=tables)
