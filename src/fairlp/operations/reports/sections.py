"""The sections of a page, each from the facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from ...models.files.tables import csv_text
from ...models.instances.problem import scaled
from ...tolerances import AUDIT
from .facts import OBSERVED, Facts, answer, is_large, left_out_of
from .headline import headline
from .standing import ROOM

# What a template is given: sections, tables with columns, the tree of queues; plain data, bounded in size.

#: Rows of a table on a page.
MOST_ROWS: Final = 200
#: Letters of a whole table as text, at most.
MOST_CSV: Final = 300_000
#: Letters of a cell.
MOST_LETTERS: Final = 400
#: Queues in the tree to fold, and children of one.
MOST_QUEUES: Final = 600
MOST_CHILDREN: Final = 40
#: Queues up to which all of them are unfolded.
MOST_OPEN: Final = 60


@dataclass(frozen=True)
class Column:
    """A column: its name, what it holds, and what it is.

    It holds a ``label``, ``text``, ``words`` (longer text), ``number``, ``percent`` or an ``answer``.
    """

    name: str
    kind: str = "number"
    about: str = ""


@dataclass(frozen=True)
class Table:
    """A table that can be sorted."""

    id: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    left_out: str = ""
    csv: str = ""


@dataclass(frozen=True)
class Section:
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
    notes: Sequence[str] = field(default=())


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
    return ", ".join(f"{name} ({shown(times * amount)}{' ' if unit else ''}{unit})" for name, amount in held.items())


def limited(
    frame: pd.DataFrame, identity: str, caption: str, columns: Sequence[Column], rows: Any, whole: pd.DataFrame
) -> Table:
    """Return a table of the first rows, and how many more there are; the whole of it as text, where that is short."""
    left = len(frame) - MOST_ROWS
    if left <= 0:
        return Table(identity, caption, columns, rows(frame))
    csv = csv_text(whole, float_format="%.6g")
    said = f"The {MOST_ROWS} first of {len(frame):,} rows; {left:,} are left out."
    if len(csv) > MOST_CSV:
        csv, said = "", f"{said} The functions of the same names in Python give them all."
    return Table(identity, caption, columns, rows(frame.iloc[:MOST_ROWS]), said, csv)


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a table, each with its columns as attributes."""
    return iter(frame.itertuples(index=False))


def tree_of(queues: pd.DataFrame, waits: bool) -> dict[str, Any]:
    """Return the tree of queues, nested: names, widths of bars, figures; of many the largest."""
    share = queues[["share", "fair_share"]].max(axis=1).to_numpy()
    order = np.argsort(-share, kind="stable")[:MOST_QUEUES]
    kept = {"", *(queues.index[k] for k in order)}
    for path in tuple(kept):  # and all that lead to them
        kept.update(path.rsplit("/", depth)[0] for depth in range(1, path.count("/") + 1))
    most = float(share.max(initial=0.0)) or 1.0
    paths = [path for path in queues.index if path in kept]
    nodes: dict[str, dict[str, Any]] = {}
    rows = queues.loc[paths]
    for path, row in zip(paths, records(rows), strict=True):
        nodes[path] = {
            "name": path.rpartition("/")[2] or "whole cluster",
            "has_width": f"{100 * row.share / most:.1f}",
            "due_width": f"{100 * row.fair_share / most:.1f}",
            "figures": _figures(row, waits),
            "children": [],
            "more": 0,
            "open": not path or len(paths) <= MOST_OPEN,
        }
    for path in paths:
        if path:
            parent = nodes[path.rpartition("/")[0]]
            if len(parent["children"]) < MOST_CHILDREN:
                parent["children"].append(nodes[path])
            else:
                parent["more"] += 1
    for path in queues.index:
        if path not in kept:
            above = path.rpartition("/")[0]
            if above in nodes:
                nodes[above]["more"] += 1
    return nodes[""]


def _figures(row: Any, waits: bool) -> str:
    said = [f"has {shown(row.share, 'percent')}", f"fair {shown(row.fair_share, 'percent')}"]
    if not waits:
        said = said[1:]
    if row.guarantee > 0:
        said.append(f"guaranteed {shown(row.guarantee, 'percent')}")
    said.append(f"{shown(row.users)} {'user' if row.users == 1 else 'users'}")
    if waits and 0 < row.waiting < np.inf:
        said.append(f"{shown(row.waiting)} tasks wait")
    if row.blocked_by and waits and row.owed > 0:
        said.append("there is room for them" if row.blocked_by == ROOM else f"stopped by {row.blocked_by}")
    return ", ".join(said)


_NO_PRICE = (
    "No capacity has a price: what holds users back at first are their tasks or the caps of queues, and more servers "
    "would not raise the lowest of them."
)
_SHARE = "largest part of any resource of the cluster"


def sections(facts: Facts) -> list[Section]:
    """Return the sections of the page, in order."""
    found = [_glance(facts)]
    if facts.standing.instance.queues is not None:
        found.append(_queues(facts))
    found += [_users(facts), _servers(facts)]
    if facts.standing.subject.tasks is not None:
        found.append(_owed(facts))
    found += [_mechanisms(facts), _prices(facts), _audit(facts), _model(facts)]
    subject = facts.standing.subject
    if len(subject.not_understood) or len(subject.homeless) or len(subject.held):
        found.append(_reading(facts))
    return found


def _unit(facts: Facts, resource: str) -> str:
    return facts.standing.instance.units.get(resource, "")


def _observed(facts: Facts) -> bool:
    return facts.standing.subject.tasks is not None


def _glance(facts: Facts) -> Section:
    standing, instance = facts.standing, facts.standing.instance
    waiting = standing.waiting[np.isfinite(standing.waiting)].sum()
    below = int((standing.owed > 0).sum())
    cards = [("servers", f"{instance.n_servers:,}", f"{len(facts.classes.names):,} classes")]
    if instance.queues is not None:
        cards.append(("queues", f"{len(instance.queues) - 1:,}", f"{int(instance.queues.depths.max())} levels"))
    cards.append(("users", f"{len(instance.users):,}", ""))
    if _observed(facts):
        cards += [
            ("tasks that run", shown(standing.has.sum()), ""),
            ("tasks that wait", shown(waiting), f"of {int((standing.waiting > 0).sum()):,} users"),
            ("below fair", f"{below:,}", "users"),
        ]
    cards.append(("fair means", standing.fair.mechanism, standing.fair.method))
    allocation = standing.allocation
    rows = [
        (resource, times * used, times * pool, part, fair, unit)
        for resource, used, pool, part, fair in zip(
            map(str, instance.resources),
            allocation.usage.to_numpy().sum(axis=0).tolist(),
            instance.pool.tolist(),
            allocation.pool_utilization.tolist(),
            standing.fair.pool_utilization.tolist(),
            strict=True,
        )
        for times, unit in [scaled(_unit(facts, resource))]
    ]
    columns = (
        Column("resource", "label"),
        Column("in use"),
        Column("capacity"),
        Column("% in use", "percent"),
        Column("% under fair shares", "percent"),
        Column("unit", "text"),
    )
    table = Table("resources", "The whole cluster, by resource", columns, rows)
    return Section(
        "glance",
        "At a glance",
        "The cluster at a glance",
        headline(standing),
        cards=cards,
        tables=[table],
        notes=standing.fair.notes,
    )


def _queues(facts: Facts) -> Section:
    standing = facts.standing
    queues, waits = standing.queues, _observed(facts)
    columns = [
        Column("queue", "label"),
        Column("level", about="1: below the root"),
        Column("users"),
        Column("weight", about="among its siblings"),
        Column("tasks"),
        Column("fair tasks"),
        Column("has", "percent", _SHARE),
        Column("fair", "percent", _SHARE),
        Column("guarantee", "percent", _SHARE),
        Column("borrowed", "percent", "beyond the guarantee"),
        Column("waiting", about="tasks"),
        Column("blocked by", "text"),
        Column("held by", "words", "other queues that hold most of it there"),
    ]
    told = [name for name in ("weighted_share", "told") if name in queues]
    if told:
        about = "dominant resource share in thousandths, over the weight"
        columns += [Column("weighted share", about=about), Column("told", about="the same, as Kueue told it")]

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
        key=f"bar: {what}; mark: what is fair; relative to the largest",
        charts=["who", "queues"],
        tables=[table],
    )


_QUEUE_FIGURES = (
    "level", "users", "weight", "tasks", "fair_tasks", "share", "fair_share", "guarantee", "borrowed", "waiting",
)  # fmt: skip


def _held(facts: Facts, row: Any, held: Any) -> str:
    """Return who holds what stops a queue or user, with the unit of the resource."""
    return amounts(held, _unit(facts, row.blocked_by.removeprefix("cap of ")))


def _users(facts: Facts) -> Section:
    users = facts.standing.users
    order = np.argsort(-users[["share", "fair_share"]].max(axis=1).to_numpy(), kind="stable")
    columns = [
        Column("user", "label"),
        Column("queue", "text"),
        Column("tasks"),
        Column("fair tasks"),
        Column("has", "percent", _SHARE),
        Column("fair", "percent", _SHARE),
        Column("guarantee", "percent", "its part of the guarantees of its queues"),
        Column("borrowed", "percent", "beyond that"),
        Column("waiting", about="tasks"),
    ]
    names = ("queue", "tasks", "fair_tasks", "share", "fair_share", "guarantee", "borrowed", "waiting")

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        kept = part[list(names)]
        return [[str(label), *values] for label, *values in kept.itertuples(name=None)]

    whole = users.drop(columns=["held_by", "beyond_fair"])
    table = limited(users.iloc[order], "user-table", "Users, the largest share first", columns, rows, whole)
    return Section("users", "Users", "Shares by user", charts=["users"], tables=[table])


def _servers(facts: Facts) -> Section:
    classes, in_use = facts.classes, facts.in_use
    frame = in_use.assign(servers=classes.servers)
    columns = [Column("class of servers", "label"), Column("servers")]
    for resource in in_use.columns:
        unit = scaled(_unit(facts, resource))[1]
        columns += [
            Column(f"{resource}{f' [{unit}]' if unit else ''}", about="capacity"),
            Column(f"{resource} in use", "percent"),
        ]

    factors = np.array([scaled(_unit(facts, resource))[0] for resource in in_use.columns])

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        found = []
        for k in range(len(part)):
            pairs = zip((classes.capacities[k] * factors).tolist(), in_use.iloc[k].tolist(), strict=True)
            found.append([part.index[k], int(classes.servers[k]), *(value for pair in pairs for value in pair)])
        return found

    caption = "Classes of servers: equal capacity and attributes, those with most servers first"
    table = limited(frame, "server-table", caption, columns, rows, frame)
    return Section("servers", "Servers", "Utilisation by server class", charts=["servers"], tables=[table])


def _owed(facts: Facts) -> Section:
    standing = facts.standing
    users = standing.users.assign(owed_share=standing.owed * standing.share_of_a_task)
    below = users[users["owed"] > 0].sort_values("owed_share", ascending=False, kind="stable")
    if below.empty:
        return Section(
            "owed", "Below fair", "Who is below its fair share", ["Nobody who waits is below its fair share."]
        )
    columns = [
        Column("user", "label"),
        Column("queue", "text"),
        Column("has", about="tasks"),
        Column("fair", about="tasks"),
        Column("owed", about="tasks of the fair share that it lacks"),
        Column("owed, share", "percent", _SHARE),
        Column("waiting", about="tasks"),
        Column("blocked by", "text", "the resource that is short, or the cap of a queue"),
        Column("on servers", about="where that is what is short"),
        Column("least on", "text", "the server where least is lacking, or the queue whose cap it is"),
        Column("held by", "words", "those who hold most of it there"),
        Column("beyond fair", "words", "what those hold of it who have more than is fair"),
    ]

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        found = []
        for label, row in zip(part.index, records(part), strict=True):
            figures = (row.tasks, row.fair_tasks, row.owed, row.owed_share, row.waiting)
            who = (_held(facts, row, row.held_by), _held(facts, row, row.beyond_fair))
            found.append([str(label), row.queue, *figures, row.blocked_by, row.servers, row.where, *who])
        return found

    table = limited(
        below, "owed-table", "Users below their fair share, by how much they are owed", columns, rows, below
    )
    whole = int((below["owed"] >= 1).sum())
    said = (
        f"{len(below):,} users wait and are below their fair share, {whole:,} of them by a whole task or more. "
        "A fair share need not be a whole number of tasks."
    )
    return Section("owed", "Below fair", "Who is below its fair share, and who holds it", [said], tables=[table])


def _mechanisms(facts: Facts) -> Section:
    figures = facts.comparison
    columns = [Column("mechanism", "label"), Column("total tasks")]
    columns += [Column(str(name), "percent") for name in figures.columns[1:]]
    rows = [[str(name), *values] for name, *values in figures.itertuples(name=None)]
    caption = "Shares are dominant shares of the cluster, the same yardstick for all"
    said = ["What runs now is called observed."] if OBSERVED in figures.index else []
    notes = ["Only mechanisms that are quick at this size are compared."] if is_large(facts.standing.instance) else []
    table = Table("mechanism-table", caption, columns, rows)
    title = "Mechanisms side by side"
    return Section("mechanisms", "Mechanisms", title, said, charts=["mechanisms"], tables=[table], notes=notes)


def _prices(facts: Facts) -> Section:
    prices, title = facts.prices, "Prices: which resource to buy next"
    if prices is None:
        return Section("prices", "Prices", title, [f"{facts.standing.fair.mechanism} has no prices."])
    if prices.empty:
        return Section("prices", "Prices", title, [_NO_PRICE])
    columns = [
        Column("class of servers", "label"),
        Column("resource", "text"),
        Column("worth", "percent", "of all that has a price, the part that this amount is worth"),
        Column("one server more", "percent", "what one server more of the class is worth, of the same"),
        Column("price of a unit"),
        Column("unit", "text"),
    ]

    def rows(part: pd.DataFrame) -> list[list[Any]]:
        names = ["class", "resource", "worth", "server", "price", "unit"]
        return [list(row) for row in part[names].itertuples(index=False, name=None)]

    first = prices.iloc[0]
    best = prices["class"].iloc[int(prices["server"].to_numpy().argmax())]
    said = (
        f"Worth most is the {first['resource']} of servers of class {first['class']}, and of single servers one more "
        f"of class {best}. Prices are those of linear programs: at most what one unit more adds to the level at which "
        "capacity first ends, for a small step; fairlp what-if shows what an edit really does."
    )
    table = limited(prices, "price-table", "What capacity is worth, the dearest first", columns, rows, prices)
    return Section("prices", "Prices", title, [said], tables=[table])


def _audit(facts: Facts) -> Section:
    found = facts.findings
    columns = [
        Column("property", "label"),
        Column("holds", "answer"),
        Column("margin", about="how far from breaking, relative; negative when broken"),
        Column("who shows it", "words"),
    ]
    rows = [
        [name, answer(name, holds, witness), 0.0 if abs(margin) <= AUDIT else margin, witness.removeprefix("vacuous: ")]
        for name, holds, margin, witness in found[["holds", "margin", "witness"]].itertuples(name=None)
    ]
    what = "what runs now" if _observed(facts) else f"what {facts.standing.fair.mechanism} gives"
    broken = sum(row[1] == "no" for row in rows)
    said = f"Of {what}: {broken} of {len(rows)} properties are broken. Nothing here knows how it was made."
    left_out = left_out_of(facts.standing.instance)
    notes = [f"Left out at this size: {', '.join(left_out)}."] if left_out else []
    table = Table("audit-table", "Properties, with who shows that they are broken", columns, rows)
    return Section("audit", "Audit", "The audit, with witnesses in words", [said], tables=[table], notes=notes)


def _model(facts: Facts) -> Section:
    name = facts.standing.fair.mechanism
    said = (
        f"The first round of {name}, as fairlp solves it." if facts.model else f"{name} is a procedure without a model."
    )
    return Section("model", "Model", "The model as mathematics", [said], pre=facts.model)


def _reading(facts: Facts) -> Section:
    subject = facts.standing.subject
    tables = []
    if len(subject.homeless):
        columns = [Column("user", "label"), Column("queue", "text"), Column("tasks")]
        rows = [list(row) for row in subject.homeless.itertuples(index=False, name=None)]
        tables.append(Table("homeless-table", "They wait, and no server may take them", columns, rows))
    if len(subject.held):
        columns = [Column("user", "label"), Column("queue", "text"), Column("tasks"), Column("reason", "text")]
        caption = "They may not run yet, by the scheduler's own reason"
        tables.append(
            limited(subject.held, "held-table", caption, columns, lambda p: p.to_numpy().tolist(), subject.held)
        )
    odd = subject.not_understood
    if len(odd):
        names = [Column("file", "label"), *(Column(name, "text") for name in ("where", "what", "done"))]
        tables.append(limited(odd, "odd-table", "Lines of the dump", names, lambda part: part.to_numpy().tolist(), odd))
    return Section("reading", "Reading", "What was left out or not understood", tables=tables)
