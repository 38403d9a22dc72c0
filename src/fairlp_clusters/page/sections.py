"""The sections of a page, each from the facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import fairlp
from fairlp.toolkit import csv_text, largest_first, scaled

from ..dues.jobs import AUDIT
from ..dues.share_comparison import ROOM, resource_of
from .facts import Facts
from .headline import headline
from .wording import help_for, on_servers

# The data of the template: sections, tables with columns, the tree of queues; bounded in size.

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
    """A column: its name, the kind of its values, and a description.

    The kind is ``label``, ``text``, ``words`` (longer text), ``number``, ``percent``, ``share`` or
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
    notes: Sequence[str] = ()


def shown(value: Any, kind: str = "number") -> str:
    """Return a number for people: four digits, percent with one after the point, a dash for none.

    Percentages below 1 have two digits. A ``share`` is a percentage that may be of more than the
    whole cluster, as a quota is.

    >>> [shown(value) for value in (1234567.0, 0.33333, 3.0, float("nan"), float("inf"))]
    ['1,234,567', '0.3333', '3', '–', 'no limit']
    >>> shown(0.12345, "percent"), shown(0.00057, "percent"), shown(0.0, "percent")
    ('12.3 %', '0.057 %', '0.0 %')
    >>> shown(0.5, "share"), shown(4.5, "share")
    ('50.0 %', '4.5 × the cluster')
    """
    number = float(value) + 0.0  # without the sign of a zero
    if number != number:
        return "–"
    if not abs(number) < np.inf:
        return "no limit"
    if kind == "share" and number > 1 + AUDIT:
        return f"{number:.3g} × the cluster"
    if kind in ("percent", "share"):
        is_small = 0 < abs(number) < 0.00995
        return f"{100 * number:.2g} %" if is_small else f"{100 * number:.1f} %"
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


def counted(count: int, singular: str, plural: str) -> str:
    """Return a number of things.

    >>> counted(1, "class", "classes"), counted(1200, "class", "classes")
    ('1 class', '1,200 classes')
    """
    return f"{count:,} {singular if count == 1 else plural}"


def raw(value: Any) -> str:
    """Return a number as a script sorts it; empty for none."""
    number = float(value)
    if number != number:
        return ""
    return repr(number) if abs(number) < np.inf else ("Infinity" if number > 0 else "-Infinity")


def amounts(holders: dict[Any, float], unit: str = "") -> str:
    """Return the amounts of holders in words.

    >>> amounts({"a": 3.0, "b": 1.5}, "GB"), amounts({"a": 1500.0}, "1/1000 core")
    ('a (3 GB), b (1.5 GB)', 'a (1.5 core)')
    """
    factor, unit = scaled(unit)
    space = " " if unit else ""
    return ", ".join(
        f"{name} ({shown(factor * amount)}{space}{unit})" for name, amount in holders.items()
    )


def limited(
    frame: pd.DataFrame,
    identity: str,
    caption: str,
    columns: Sequence[TableColumn],
    rows: Any,
    whole: pd.DataFrame,
) -> Table:
    """Return a table of the first rows; all rows follow as text, where that is short."""
    table = _without_empty(Table(identity, caption, columns, rows(frame.iloc[:MOST_ROWS])))
    omitted = len(frame) - MOST_ROWS
    if omitted <= 0:
        return table
    csv = csv_text(whole, float_format="%.6g")
    note = f"The {MOST_ROWS} first of {len(frame):,} rows; {omitted:,} are left out."
    if len(csv) > MOST_CSV:
        csv = ""
        note = f"{note} The functions of the same names in Python give them all."
    return table._replace(left_out=note, csv=csv)


def _without_empty(table: Table) -> Table:
    """Return the table without columns that are empty in every row."""
    if not table.rows:
        return table
    filled = [
        k
        for k in range(len(table.columns))
        if any(row[k] == row[k] and row[k] != "" for row in table.rows)
    ]
    rows = [[row[k] for k in filled] for row in table.rows]
    return table._replace(columns=[table.columns[k] for k in filled], rows=rows)


def records(frame: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a table, each with its columns as attributes."""
    return iter(frame.itertuples(index=False))


def tree_of(queues: pd.DataFrame, waits: bool, noun: str = "user") -> dict[str, Any]:
    """Return the tree of queues, nested: names, widths of bars, figures; of many the largest."""
    share = queues[["share", "fair_share"]].max(axis=1).to_numpy()
    share_of_path = dict(zip(queues.index, share.tolist(), strict=True))

    # The largest queues that have tasks, with all above them
    order = largest_first(share)[:MOST_QUEUES]
    order = order[~is_idle(queues)[order]]
    listed = {"", *(ancestor for k in order for ancestor in fairlp.queues.lineage(queues.index[k]))}
    paths = [path for path in queues.index if path in listed]

    # Bars are relative to the largest of the siblings.
    largest_child: dict[str, float] = {}
    for path, path_share in share_of_path.items():
        if path:
            parent = fairlp.queues.parent_of(path)
            largest_child[parent] = max(largest_child.get(parent, 0.0), path_share)
    nodes: dict[str, dict[str, Any]] = {}
    for path, row in zip(paths, records(queues.loc[paths]), strict=True):
        whole = (
            largest_child[fairlp.queues.parent_of(path)] if path else share_of_path[path]
        ) or 1.0
        nodes[path] = {
            "name": path.rpartition("/")[2] or "whole cluster",
            "has_width": f"{100 * row.share / whole:.1f}",
            "due_width": f"{100 * row.fair_share / whole:.1f}",
            "figures": _figures(row, waits, noun),
            "children": [],
            "more": 0,
            "idle": 0,
            "open": not path or len(paths) <= MOST_OPEN,
        }

    # Children, and the numbers of those that are not listed
    for path in paths:
        if path:
            node = nodes[fairlp.queues.parent_of(path)]
            if len(node["children"]) < MOST_CHILDREN:
                node["children"].append(nodes[path])
            else:
                node["more"] += 1
    for path, idle in zip(queues.index, is_idle(queues), strict=True):
        if path not in listed and fairlp.queues.parent_of(path) in nodes:
            nodes[fairlp.queues.parent_of(path)]["idle" if idle else "more"] += 1
    return nodes[""]


def is_idle(queues: pd.DataFrame) -> np.ndarray:
    """Return the mask of queues of which nothing runs, nothing waits and nothing is fair."""
    return np.asarray((queues[["share", "fair_share", "waiting"]] == 0).all(axis=1))


def _figures(row: Any, waits: bool, noun: str) -> str:
    """Return the figures of a queue in words."""
    figures = [f"has {shown(row.share, 'percent')}"] if waits else []
    figures.append(f"fair {shown(row.fair_share, 'percent')}")
    if row.guarantee > 0:
        figures.append(f"guaranteed {shown(row.guarantee, 'share')}")
    figures.append(counted(row.users, noun, f"{noun}s"))
    if waits and 0 < row.waiting < np.inf:
        figures.append(f"{shown(row.waiting)} tasks wait")
    if row.blocked_by and waits and row.owed > 0:
        has_room = row.blocked_by == ROOM
        figures.append("there is room for them" if has_room else f"stopped by {row.blocked_by}")
    return ", ".join(figures)


_SHARE = "largest part of any resource of the cluster"


def sections(facts: Facts) -> list[Section]:
    """Return the sections of the page, in order."""
    subject = facts.share_comparison.subject
    body = [_glance(facts)]
    if _is_observed(facts):
        body.append(_owed(facts))
        if facts.share_comparison.summaries:
            body.append(_waits(facts))
    if facts.earlier is not None:
        body.append(_since(facts))
    if subject.instance.has_queues:
        body.append(_queues(facts))
    body += [_users(facts), _servers(facts)]
    if len(subject.not_understood) or len(subject.homeless) or len(subject.held):
        body.append(_reading(facts))
    return body


def _labelled(frame: pd.DataFrame, names: list[str]) -> list[list[Any]]:
    """Return rows of labels and the values of these columns."""
    return [[str(label), *values] for label, *values in frame[names].itertuples(name=None)]


def _unit(facts: Facts, resource: str) -> str:
    return facts.share_comparison.instance.units.get(resource, "")


def _is_observed(facts: Facts) -> bool:
    """Whether the running tasks are known."""
    return facts.share_comparison.subject.tasks is not None


def _glance(facts: Facts) -> Section:
    comparison = facts.share_comparison
    instance = comparison.instance
    classes = counted(len(facts.classes.names), "class", "classes")
    cards = [("servers", f"{instance.n_servers:,}", classes)]
    if instance.has_queues:
        levels = counted(int(instance.tree.depths.max()), "level", "levels")
        cards.append(("queues", f"{len(instance.tree) - 1:,}", levels))
    tenants = comparison.subject.tenants
    sizes = counted(len(instance.users), "job size", "job sizes")
    if tenants.are_users or tenants.noun == "user":
        note = "" if tenants.are_users else sizes
        cards.append((f"{tenants.noun}s", f"{len(tenants.names):,}", note))
    else:  # the queues or namespaces of the card before
        _, value, note = cards.pop()
        cards.append((f"{tenants.noun}s", value, f"{note}, {sizes}"))
    if _is_observed(facts):
        cards += [
            (f"jobs that {state}", f"{count:,}", "as squeue -r counts")
            for state, count in comparison.subject.jobs.items()
            if count or state != "are held"
        ]
        cards.append(("tasks that run", shown(comparison.has.sum()), ""))
        waiting = comparison.waiting[np.isfinite(comparison.waiting)].sum()
        waits = int((tenants.sums(comparison.waiting) > 0).sum())
        who_waits = counted(waits, tenants.noun, f"{tenants.noun}s")
        cards.append(("tasks that wait", shown(waiting), f"of {who_waits}"))
        below = int((tenants.sums(comparison.owed) > 0).sum())
        cards.append(
            ("below fair", f"{below:,}", tenants.noun if below == 1 else f"{tenants.noun}s")
        )

    table, has_other_use = _resource_table(facts)
    return Section(
        "glance",
        "At a glance",
        "The cluster at a glance",
        headline(comparison),
        cards=cards,
        tables=[table],
        notes=[_OTHERS_USE] if has_other_use else [],
    )


def _resource_table(facts: Facts) -> tuple[Table, bool]:
    """Return use and capacity by resource, and whether users outside the report use a part."""
    comparison = facts.share_comparison
    instance = comparison.instance
    subject = comparison.subject
    names = list(instance.resources)
    other_use = subject.hidden.add(subject.excluded, fill_value=0.0)
    other_amounts = other_use.reindex(names, fill_value=0.0).to_numpy()

    used = comparison.allocation.usage.to_numpy().sum(axis=0) + other_amounts
    fair = comparison.fair.usage.to_numpy().sum(axis=0) + other_amounts
    pool = instance.pool + other_amounts
    scales = [scaled(_unit(facts, str(name))) for name in names]
    factors, units = zip(*scales, strict=True)
    values = np.column_stack([used * factors, pool * factors, used / pool, fair / pool])
    rows = [
        [str(name), *row, unit]
        for name, row, unit in zip(names, values.tolist(), units, strict=True)
    ]
    columns = (
        TableColumn("resource", "label"),
        TableColumn("in use"),
        TableColumn("capacity"),
        TableColumn("% in use", "percent"),
        TableColumn("% under fair shares", "percent"),
        TableColumn("unit", "text"),
    )
    table = Table("resources", "The whole cluster, by resource", columns, rows)
    return table, bool(other_amounts.any())


_OTHERS_USE = (
    "In use and capacity include the amounts of users who are excluded, or who are not in the dump. "
    "All that follows is about the rest."
)


def _since(facts: Facts) -> Section:
    changes = facts.changes
    has_moved = changes["change"] != 0
    waits_otherwise = changes["waiting"] != changes["waiting_before"]
    is_short = changes["owed"] >= 1
    moved = changes[has_moved | waits_otherwise | is_short]

    up = int((moved["change"] > 0).sum())
    down = int((moved["change"] < 0).sum())
    paragraphs = [f"{up:,} users run more tasks than before, {down:,} fewer."]
    waited = (moved["waiting"] > 0) & (moved["waiting_before"] > 0)
    still_short = moved[waited & (moved["owed"] >= 1)]
    if len(still_short):
        first = still_short["owed"].iloc[:_NAMED]
        owed_tasks = [f"{user} ({shown(owed)})" for user, owed in first.items()]
        names = ", ".join(owed_tasks)
        if len(still_short) > _NAMED:
            names += f" and {len(still_short) - _NAMED:,} others"
        paragraphs.append(
            f"Waiting before and now, and short of their fair share by so many tasks: {names}."
        )

    columns = [TableColumn("user", "label"), TableColumn("change", about="tasks")]
    columns += map(TableColumn, ("tasks before", "tasks", "waiting before", "waiting"))
    about = "tasks of the fair share"
    columns += [TableColumn(name, about=about) for name in ("short before", "short now")]
    names_of_columns = [
        "change", "tasks_before", "tasks", "waiting_before", "waiting", "owed_before", "owed"
    ]  # fmt: skip
    table = limited(
        moved,
        "since-table",
        "Users, those first of whom most of the cluster moved",
        columns,
        lambda frame: _labelled(frame, names_of_columns),
        moved,
    )
    return Section(
        "since",
        "Since then",
        "Changes since the earlier dump, and users who still wait",
        paragraphs,
        tables=[table],
    )


#: Columns of the schedulers' own figures of shares, with descriptions.
_SCHEDULER_SHARES = {
    "lendable": "the most that its cohort could have",
    "deserved": "by the plugin of Volcano that shares among queues",
    "weighted_share": "dominant resource share in thousandths, over the weight",
    "told": "the same, as Kueue prints it",
    "usage": "decayed, as Slurm prints it",
    "fairshare": "Slurm's own factor of that usage, 1 without use",
}
#: Those of them that are shares of the whole cluster.
_PERCENTAGES = ("lendable", "deserved")
#: Users who are named in a sentence.
_NAMED = 5


def _queues(facts: Facts) -> Section:
    queues = facts.share_comparison.queues
    waits = _is_observed(facts)
    noun = "user" if facts.share_comparison.subject.tenants.are_users else "job size"
    figures = list(_QUEUE_FIGURES)
    due = [
        TableColumn("guarantee", "share", _SHARE),
        TableColumn("borrowed", "percent", "beyond the guarantee"),
    ]
    if "nominal" in queues:  # the words of Kueue
        figures[figures.index("guarantee")] = "nominal"
        due = [
            TableColumn("nominal", "share", "its nominal quota, and those that lend to it"),
            TableColumn("borrowed", "percent", "beyond the nominal quota"),
        ]
    columns = [
        TableColumn("queue", "label"),
        TableColumn("has", "percent", _SHARE),
        TableColumn("fair", "percent", _SHARE),
        TableColumn("waiting", about="tasks"),
        TableColumn("blocked by", "text"),
        TableColumn("held by", "words", "other queues that hold most of it"),
        TableColumn("tasks"),
        TableColumn("fair tasks"),
        TableColumn(f"{noun}s"),
        TableColumn("weight", about="among its siblings"),
        *due,
    ]
    share_columns = [name for name in _SCHEDULER_SHARES if name in queues]
    for name in share_columns:
        about = _SCHEDULER_SHARES[name]
        if name in _PERCENTAGES:
            columns.append(TableColumn(name, "share", about))
        else:
            columns.append(TableColumn(name.replace("_", " "), about=about))

    def rows(frame: pd.DataFrame) -> list[list[Any]]:
        return [
            [
                path or "whole cluster",
                row.share,
                row.fair_share,
                row.waiting,
                row.blocked_by,
                _holders(facts, row.blocked_by, row.held_by),
                *(getattr(row, name) for name in figures),
                *(getattr(row, name) for name in share_columns),
            ]
            for path, row in zip(frame.index, records(frame), strict=True)
        ]

    caption = "Queues, each with all below it; shares are of the whole cluster"
    idle = is_idle(queues)
    table = limited(queues[~idle], "queue-table", caption, columns, rows, queues)
    bar = "what it has" if waits else "what it gets"
    return Section(
        "queues",
        "Queues",
        "Shares by queue",
        tree=tree_of(queues, waits, noun),
        key=f"bar: {bar}; mark: what is fair; relative to the largest of its siblings",
        charts=["who", "queues"],
        tables=[table],
        notes=[f"Queues without tasks are left out: {idle.sum():,}."] if idle.any() else [],
    )


_QUEUE_FIGURES = ("tasks", "fair_tasks", "users", "weight", "guarantee", "borrowed")


def _holders(facts: Facts, blocked_by: str, holders: Any) -> str:
    """Return the holders of the resource or cap that stops a user or queue, with their amounts."""
    return amounts(holders, _unit(facts, resource_of(blocked_by)))


def _users(facts: Facts) -> Section:
    comparison = facts.share_comparison
    tenants = comparison.subject.tenants
    figures = [
        TableColumn("tasks"),
        TableColumn("fair tasks"),
        TableColumn("has", "percent", _SHARE),
        TableColumn("fair", "percent", _SHARE),
        TableColumn("guarantee", "share", "its part of the guarantees of its queues"),
        TableColumn("borrowed", "percent", "beyond that"),
        TableColumn("waiting", about="tasks"),
    ]
    names = ["tasks", "fair_tasks", "share", "fair_share", "guarantee", "borrowed", "waiting"]
    queue = TableColumn("queue", "text")
    noun = tenants.noun
    has_past = comparison.fair_with_past is not None
    tables = []
    if noun == "user" or has_past:  # queues have a table of their own
        columns = [TableColumn(noun, "label"), queue, *figures]
        names_of_tenants = list(names)
        if not tenants.are_users:
            about = "classes of tasks of one size, owner and placement"
            columns.append(TableColumn("job sizes", about=about))
            names_of_tenants.append("sizes")
        if has_past:
            about = "with past use counted, which fades by half in each half-life"
            columns.append(TableColumn("fair with past", "percent", about))
            names_of_tenants.append("fair_share_with_past")
        identity = "user-table" if tenants.are_users else "tenant-table"
        caption = f"{noun.capitalize()}s, the largest share first"
        frame = comparison.tenants
        tables.append(_share_table(frame, identity, caption, columns, names_of_tenants))
    if not tenants.are_users:
        caption = f"Inside each {noun}: its tasks of one size, the largest share first"
        columns = [TableColumn("tasks of", "label"), queue, *figures]
        tables.append(_share_table(comparison.users, "user-table", caption, columns, names))
    name, title = "Users", "Shares by user"
    if noun != "user":
        name, title = "Job sizes", f"Inside each {noun}"
    return Section("users", name, title, charts=["users"], tables=tables)


def _share_table(
    frame: pd.DataFrame,
    identity: str,
    caption: str,
    columns: Sequence[TableColumn],
    names: list[str],
) -> Table:
    """Return the figures of users or tenants, the largest share first."""
    order = largest_first(frame[["share", "fair_share"]].max(axis=1).to_numpy())
    whole = frame.drop(columns=["held_by", "beyond_fair"])
    return limited(
        frame.iloc[order],
        identity,
        caption,
        columns,
        lambda rows: _labelled(rows, ["queue", *names]),
        whole,
    )


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
        heading = f"{resource} [{unit}]" if unit else resource
        columns.append(TableColumn(heading, about="capacity"))
        columns.append(TableColumn(f"{resource} in use", "percent"))

    def rows(frame: pd.DataFrame) -> list[list[Any]]:
        cells = []
        for k, name in enumerate(frame.index):
            amounts_of_server = classes.server_amounts[k]
            row = [
                name,
                int(classes.servers[k]),
                "" if amounts_of_server == name else amounts_of_server,
            ]
            capacities = (classes.capacities[k] * factors).tolist()
            for capacity, fraction in zip(capacities, in_use.iloc[k].tolist(), strict=True):
                row += [capacity, fraction]
            cells.append(row)
        return cells

    caption = "Classes of servers: equal capacity and attributes, those with most servers first"
    table = limited(frame, "server-table", caption, columns, rows, frame)
    return Section(
        "servers", "Servers", "Utilisation by server class", charts=["servers"], tables=[table]
    )


def _owed(facts: Facts) -> Section:
    comparison = facts.share_comparison
    tenants = comparison.subject.tenants
    noun = tenants.noun
    missing_share = comparison.tenant_shares.missing_share
    order = largest_first(missing_share)
    below = comparison.tenants.iloc[order[missing_share[order] > 0]]
    title = f"{noun.capitalize()}s below their fair share"
    if below.empty:
        return Section(
            "owed", "Below fair", title, [f"No {noun} that waits is below its fair share."]
        )

    columns = [
        TableColumn(noun, "label"),
        TableColumn("jobs short", about="whole jobs of the fair share that it lacks"),
        TableColumn("short of", about="tasks of the fair share that it lacks"),
        TableColumn("stopped by", "text", "the resource that is short, or the cap of a queue"),
        TableColumn(
            "held beyond fair shares by", "words", f"{noun}s with more than their fair share of it"
        ),
        TableColumn("runs", about="tasks"),
        TableColumn("fair", about="tasks"),
        TableColumn("waiting", about="tasks"),
        TableColumn(
            "least on", "text", "the server where least is lacking, or the queue whose cap it is"
        ),
        TableColumn("what would help", "words", "of this one alone, beside all that runs now"),
    ]
    position = {str(name): t for t, name in enumerate(tenants.names)}
    shares = comparison.tenant_shares
    short = set(shares.short.tolist())

    def rows(frame: pd.DataFrame) -> list[list[Any]]:
        return [
            [
                str(label),
                int(shares.jobs_short[position[str(label)]]),
                row.owed,
                row.blocked_by,
                _holders(facts, row.blocked_by, row.beyond_fair),
                row.tasks,
                row.fair_tasks,
                row.waiting,
                row.where,
                help_for(comparison, position[str(label)]) if position[str(label)] in short else "",
            ]
            for label, row in zip(frame.index, records(frame), strict=True)
        ]

    caption = f"{title}, by how much they are owed"
    table = limited(below, "owed-table", caption, columns, rows, below)
    by_a_task = comparison.tenant_shares.short.size
    paragraph = (
        f"{noun.capitalize()}s that wait and are below their fair share: {len(below):,}, of which "
        f"{by_a_task:,} by a whole job or more. A fair share need not be a whole number of tasks; a "
        "job of several tasks is owed where all of them are fair."
    )
    title = f"{title}, and those who hold it"
    return Section("owed", "Below fair", title, [paragraph], tables=[table])


def _waits(facts: Facts) -> Section:
    """Return what waits of each tenant, how much of it has room, and what stops the rest."""
    comparison = facts.share_comparison
    noun = comparison.subject.tenants.noun
    names = comparison.subject.tenants.names
    columns = [
        TableColumn(noun, "label"),
        TableColumn("jobs", about="jobs that wait; their tasks run at once or not at all"),
        TableColumn("tasks", about="of these jobs"),
        TableColumn("room for", about="jobs that have room now, beside what runs"),
        TableColumn("on", "text", "servers with room, each with its tasks"),
        TableColumn("next job stopped by", "text", "the first job without room"),
        TableColumn("first since", "text"),
        TableColumn("priority", about="the highest"),
        TableColumn("the scheduler says", "words", "in its own words, of most tasks"),
        TableColumn("not counted", "words", "constraints that do not count here, with tasks"),
    ]
    rows: list[list[Any]] = []
    for t, summary in list(comparison.summaries.items())[:MOST_ROWS]:
        stopped = ""
        if summary.job is not None and summary.obstacle is not None:
            n = next(iter(summary.job.tasks))
            stopped = comparison.with_holders(n, summary.obstacle).blocked_by
        message = max(summary.messages, key=summary.messages.__getitem__, default="")
        left_out = ", ".join(f"{name} ({count:,})" for name, count in summary.left_out.items())
        place = on_servers(comparison, summary.servers) if summary.servers else ""
        rows.append(
            [
                str(names[t]),
                summary.jobs,
                summary.tasks,
                summary.fitting_jobs,
                place,
                stopped,
                summary.since,
                summary.priority,
                message,
                left_out,
            ]
        )
    omitted = len(comparison.summaries) - len(rows)
    caption = f"{noun.capitalize()}s of which something waits, those first of whom most does"
    table = _without_empty(Table("waiting-table", caption, columns, rows))
    if omitted > 0:
        table = table._replace(left_out=f"{omitted:,} more {noun}s are left out.")
    text = (
        "Room is counted for each of them alone, beside what runs now. A job has room where all of its "
        "tasks have, in what is free on servers that may take them and in the quotas of its queue."
    )
    return Section("waiting", "Waiting", "What waits, and what stops it", [text], tables=[table])


def _reading(facts: Facts) -> Section:
    subject = facts.share_comparison.subject
    tables = []
    columns = [TableColumn("user", "label"), TableColumn("queue", "text"), TableColumn("tasks")]
    if len(subject.homeless):
        rows = [list(row) for row in subject.homeless.itertuples(index=False, name=None)]
        caption = "They wait, and no server may take them"
        reasons = TableColumn(
            "why", "words", "as the dump has it; quoted: the scheduler's own words"
        )
        tables.append(Table("homeless-table", caption, [*columns, reasons], rows))
    if len(subject.held):
        held_columns = [*columns, TableColumn("reason", "text")]
        caption = "They may not run yet, by the scheduler's own reason"
        tables.append(_frame_table(subject.held, "held-table", caption, held_columns))
    if len(subject.not_understood):
        note_columns = [TableColumn("file", "label")]
        note_columns += [TableColumn(name, "text") for name in ("where", "what", "done")]
        frame = subject.not_understood
        tables.append(_frame_table(frame, "note-table", "Lines of the dump", note_columns))
    title = "Parts of the dump that are left out or not understood"
    return Section("reading", "Reading", title, tables=tables)


def _frame_table(
    frame: pd.DataFrame, identity: str, caption: str, columns: Sequence[TableColumn]
) -> Table:
    """Return the rows of a frame as a table."""
    return limited(frame, identity, caption, columns, lambda rows: rows.to_numpy().tolist(), frame)
