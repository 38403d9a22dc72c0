"""``period``: tenants' shares beside what was due to them, over the dumps of some hours or days.

Dumps at t[1] < … < t[K] make K − 1 intervals: between two, what ran and what waited at the first
holds. For tenant v at time t, with share s[v](t), fair share f[v](t), and w[v](t), the share of
what runs and waits of it: used[v] = ∫ s[v], due[v] = ∫ min(f[v], w[v]), and short[v] is the
integral of max(0, min(f[v], w[v]) − s[v]) over the time in which it waited. Of a tenant that waits
for jobs of several tasks alone, whole jobs are due. With a half-life H, an
interval that ended at t counts by 2^(−(t[K] − t)/H), as history does in ``fairlp.allocate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from fairlp import Mechanism, formulations
from fairlp.errors import InstanceError, UnknownNameError
from fairlp.toolkit import largest_first, lists, progress_bar, quotients, tolerances

from ..dues.dues import Dues
from ..dues.facts import Facts, facts_of
from ..dues.jobs import AUDIT
from ..dues.tenants import TenantShares
from ..dues.verdict import Condition, starting_copies, told_condition
from ..page.page import adjusted
from ..readers.dumps import SOURCES, Dump, Times, dumps_of, duration, times_of
from ..readers.reading import snapshot_of
from ..readers.snapshot import IdleError, Snapshot
from ..tables import records

_HOUR = pd.Timedelta(hours=1)
#: What each moment has of a tenant.
_COLUMNS = (
    "tasks", "fair_tasks", "waiting", "owed",
    "share", "fair_share", "due_share", "short", "missing", "is_short", "task_share", "since",
)  # fmt: skip


#: Conditions under which a tenant lacks nothing at a moment.
_NOT_DUE = (Condition.STARTS, Condition.UNDECIDED)


@dataclass(frozen=True, eq=False)
class Moment:
    """What a period keeps of one dump.

    Attributes
    ----------
    tenants : DataFrame
        By tenant: ``tasks``, ``fair_tasks``, ``waiting`` and ``owed`` (whole) tasks; ``share``,
        ``fair_share``, ``due_share``, ``short`` and ``missing`` (of the whole tasks that it is owed)
        dominant shares; whether it ``is_short`` of a whole task; ``task_share``, of the smallest
        task that waits (infinite where none does); ``since`` when a task of it waits.
    servers : frozenset of str
    scheduler, noun, mechanism : str
        Empty of an idle cluster.
    left_out : int
        Lines of the dump that its reader leaves out or interprets.
    no_verdict : str
        Why there is no verdict at this moment; empty where there is one.
    """

    tenants: pd.DataFrame
    servers: frozenset[str] = frozenset()
    scheduler: str = ""
    noun: str = ""
    mechanism: str = ""
    left_out: int = 0
    no_verdict: str = ""

    @classmethod
    def idle(cls) -> Moment:
        """Return the moment of a dump in which nothing runs and nothing waits."""
        return cls(pd.DataFrame(columns=list(_COLUMNS), dtype=float))

    @classmethod
    def of(cls, dues: Dues, since: pd.Series[Any]) -> Moment:
        """Return the moment of dues; ``since`` is by user."""
        facts = dues.facts
        tenants = facts.tenants
        shares = dues.shares
        is_told = np.full(len(tenants.names), not facts.no_verdict)
        if not facts.no_verdict:
            starting = starting_copies(dues)
            conditions = [told_condition(dues, t, starting) for t in range(len(tenants.names))]
            is_told = np.array([condition not in _NOT_DUE for condition in conditions])
        is_short = np.isin(np.arange(len(tenants.names)), shares.short) & is_told
        due = np.minimum(shares.fair_share, _wanted(dues))
        # of whole jobs: a smaller rest is due to nobody
        with_owed = np.maximum(shares.share, shares.share_with_owed)
        due = np.where(shares.waits_in_jobs, np.minimum(due, with_owed), due)
        # what starts, or of which the dump does not tell whether it lacks room, is not due
        due = np.where(is_told, due, np.minimum(due, shares.share))
        if len(tenants.names) < 2:  # no one else has what it lacks
            due = shares.share
        waiting = tenants.sums(dues.waiting)
        since_of_user = since.reindex([str(user) for user in facts.instance.users])
        columns = {
            "tasks": tenants.sums(dues.has),
            "fair_tasks": tenants.sums(dues.fair_tasks),
            "waiting": waiting,
            "owed": np.where(is_short, tenants.sums(shares.owed_whole.astype(float)), 0.0),
            "share": shares.share,
            "fair_share": shares.fair_share,
            "due_share": due,
            "short": np.where(waiting > 0, np.maximum(due - shares.share, 0.0), 0.0),
            "missing": np.where(is_short, shares.missing_share, 0.0),
            "is_short": is_short,
            "task_share": _smallest_waiting(dues),
            "since": [since_of_user.iloc[members].min() for members in tenants.users],
        }
        names = pd.Index([str(name) for name in tenants.names], name="tenant", dtype=object)
        return cls(
            pd.DataFrame(columns, index=names)[list(_COLUMNS)],
            frozenset(map(str, facts.instance.servers)),
            facts.scheduler,
            tenants.noun,
            dues.fair.mechanism,
            len(facts.not_understood),
            facts.no_verdict,
        )


def _wanted(dues: Dues) -> np.ndarray:
    """Return the dominant share of all tasks of each tenant, those that run and those that wait."""
    tasks = dues.has + dues.waiting
    nothing = np.zeros_like(tasks)
    return TenantShares(dues.instance, dues.facts.tenants, tasks, nothing, nothing).share


def _smallest_waiting(dues: Dues) -> np.ndarray:
    """Return the dominant share of the smallest task of each tenant that waits; else infinity."""
    tenants = dues.facts.tenants
    task_shares = np.where(dues.waiting > 0, dues.share_of_a_task, np.inf)
    smallest = np.full(len(tenants.names), np.inf)
    np.minimum.at(smallest, tenants.of, task_shares)
    return smallest


@dataclass
class MomentReader:
    """Makes the moments of dumps, one after the other; what does not change is computed once.

    Attributes
    ----------
    mechanism : str or Mechanism or None
    options : mapping
        Of the mechanism.
    weights : mapping
        Of queues and users; each has to be in one dump at least.
    exclude : sequence of str
        Queues and users; each has to be in one dump at least.
    scheduler : str or None
    """

    mechanism: str | Mechanism | None
    options: Mapping[str, Any]
    weights: Mapping[Any, float]
    exclude: Sequence[str]
    scheduler: str | None

    def __post_init__(self) -> None:
        self._unknown: dict[str, UnknownNameError] = {}
        self._known: set[str] = set()
        self._before: Dues | None = None

    def moment(self, dump: Dump | Snapshot) -> Moment:
        """Return the moment of a dump."""
        try:
            if isinstance(dump, Dump):
                dump = snapshot_of(dump.files, str(dump.path), self.scheduler)
        except IdleError:
            return Moment.idle()
        facts = self._adjusted(facts_of(dump))
        if facts is None:
            return Moment.idle()
        waiting = dump.waiting[["user", "since"]]
        times = pd.to_datetime(waiting["since"], utc=True, errors="coerce", format="ISO8601")
        since = times.groupby(waiting["user"].astype(str)).min()
        return Moment.of(self._dues(facts), since)

    def _adjusted(self, facts: Facts) -> Facts | None:
        """Return facts with the weights, and without the excluded, that are in this dump.

        None where all are excluded.
        """
        changes: dict[str, tuple[dict[Any, float], list[str]]] = {
            f"exclude {name}": ({}, [name]) for name in self.exclude
        }
        changes |= {f"weight {name}": ({name: weight}, []) for name, weight in self.weights.items()}
        for change, (weights, excluded) in changes.items():
            try:
                facts = adjusted(facts, weights, excluded)
            except UnknownNameError as error:
                self._unknown.setdefault(change, error)
                continue
            except InstanceError:  # all are excluded
                return None
            self._known.add(change)
        return facts

    def require_known(self) -> None:
        """Raise for a name that was in no dump."""
        for change, error in self._unknown.items():
            if change not in self._known:
                raise error

    def _dues(self, facts: Facts) -> Dues:
        """Return what is due; an instance that did not change is shared once."""
        before = self._before
        if before is not None and before.instance.equals(facts.instance):
            self._before = replace(before, facts=replace(facts, instance=before.instance))
        else:
            self._before = Dues.of(facts, self.mechanism, **self.options)
        return self._before


@dataclass(frozen=True, eq=False)
class Period:
    """Tenants' shares beside what was due to them over a period; :func:`fairlp_clusters.period` makes one.

    Attributes
    ----------
    tenants : DataFrame
        By tenant, those first that lack most. ``used``, ``due`` and ``short`` are integrals of
        dominant shares in share-hours (1.0 is the whole cluster for an hour): of what it has; of
        what is fair for it, and no more than it has and waits for; of what it has less than that
        while it waits. ``share`` and ``due_share`` are the means of the first two.
        ``lacking`` is what is due and was not used, at least 0, and ``lacking_task_hours`` the same
        in tasks: in the smallest that it waited for. ``task_hours`` were used. ``hours_waiting``,
        ``hours_short`` (of a whole task), ``longest_wait`` (the longest time without a break in
        which it waited and was short) and ``longest_job_wait`` (the longest time since the start of
        a task that waited at a dump, where the dumps say it) are in hours. ``verdict`` is ``short``
        for a tenant that lacks more than one task-hour and one percent of what was due, else
        ``fair``.
    times : DataFrame
        By time and tenant: ``share``, ``fair_share`` and ``due_share`` (the smaller of the fair share and
        what it wants), running ``tasks``, ``fair_tasks``, ``waiting`` and ``owed`` (whole tasks).
        A tenant that a dump lacks has zeros.
    dumps : DataFrame
        By time: the name of the ``dump``, the ``hours`` until the next, ``tenants``, ``tasks`` that
        run, ``waiting``; the ``verdict`` on that moment, how many tenants are ``short``, which is
        ``most_short``, and the share that is ``missing`` to all; ``left_out`` lines of the dump.
    half_life : timedelta or None
        After which what was used and due counts by half.
    noun, scheduler, mechanism : str
        The word for a tenant, the scheduler, and the rule of fair shares.
    source : str
        Where the times come from, in words.
    name : str
    no_verdict : str
        Why there is no verdict; empty where there is one.
    """

    tenants: pd.DataFrame
    times: pd.DataFrame
    dumps: pd.DataFrame
    half_life: timedelta | None
    noun: str
    scheduler: str
    mechanism: str
    source: str
    name: str = ""
    no_verdict: str = ""

    @property
    def is_fair(self) -> bool | None:
        """Whether no tenant is short over the period; None where a dump has no verdict."""
        return None if self.no_verdict else not len(self.short)

    @cached_property
    def short(self) -> list[str]:
        """The tenants that are short over the period, those first that lack most."""
        return list(self.tenants.index[self.tenants["verdict"] == "short"])

    @property
    def hours(self) -> float:
        """The hours from the first to the last dump."""
        return float(self.dumps["hours"].sum())

    def by_time(self, column: str) -> pd.DataFrame:
        """Return a column of ``times`` as a table, times × tenants, in the order of ``tenants``.

        Parameters
        ----------
        column : str

        Returns
        -------
        DataFrame
        """
        values = self.times[column].to_numpy().reshape(len(self.dumps), -1)
        tenants = self.times.index.get_level_values("tenant")[: len(self.tenants)]
        return pd.DataFrame(values, self.dumps.index, tenants)[list(self.tenants.index)]

    @cached_property
    def to_look_at(self) -> pd.DataFrame:
        """The dumps in which most was missing, times its hours; at most five, those first."""
        weight = (self.dumps["missing"] * self.dumps["hours"]).to_numpy()
        order = largest_first(weight)[:_LOOK_AT]
        worst: pd.DataFrame = self.dumps.iloc[order[weight[order] > 0]]
        return worst

    @property
    def verdict(self) -> list[str]:
        """The verdict over the period in words: the first text says whether it was fair."""
        from .words import verdict

        return verdict(self)

    def since(self, earlier: Period) -> pd.DataFrame:
        """Return tenants now and over an earlier period, those first whose lack grew most.

        Parameters
        ----------
        earlier : Period

        Returns
        -------
        DataFrame
            By tenant ``share``, ``due_share``, ``lacking_task_hours`` and ``hours_short``, and the same
            before (``_before``); NaN of a tenant that was not there.
        """
        names = ["share", "due_share", "lacking_task_hours", "hours_short"]
        now = self.tenants[names]
        table = now.join(earlier.tenants[names].add_suffix("_before"), how="outer")
        growth = self.tenants["lacking"] / self.hours
        growth = growth.sub(earlier.tenants["lacking"] / earlier.hours, fill_value=0.0)
        order = largest_first(growth.reindex(table.index).to_numpy())
        return table.iloc[order]

    def to_dict(self) -> dict[str, Any]:
        """Return the period as plain data: the verdict, and the tables of tenants, times and dumps."""
        names = {True: "fair", False: "not fair", None: "none"}
        tables = {name: records(getattr(self, name)) for name in ("tenants", "times", "dumps")}
        return {
            "format": 1,
            "name": self.name,
            "scheduler": self.scheduler,
            "mechanism": self.mechanism,
            "verdict": names[self.is_fair],
            "sentences": self.verdict,
            "noun": self.noun,
            **tables,
        }

    def report(self, output: str | Path, since: Period | None = None) -> Path:
        """Write one page of HTML that needs no network: the verdict, shares over time, tables.

        Parameters
        ----------
        output : str or Path
            The file, usually ``.html``; the page appears whole, and replaces a file of that name.
        since : Period, optional
            An earlier period: the page also has tenants before and now.

        Returns
        -------
        Path
        """
        from .page import write_period

        return write_period(self, output, since)

    def __repr__(self) -> str:
        return (
            f"<Period of {self.scheduler or 'an idle cluster'}: {len(self.dumps)} dumps, "
            f"{self.hours:g} hours, {len(self.tenants)} tenants, {len(self.short)} short>"
        )


#: So many dumps are named as those to look at.
_LOOK_AT = 5


@lists(formulations.options.FairTasksOptions)
def period(
    dumps: str | Path | Sequence[str | Path | Snapshot | Dump],
    mechanism: str | Mechanism | None = None,
    *,
    times: Iterable[Any] | None = None,
    every: str | float | timedelta | None = None,
    half_life: str | float | timedelta | None = None,
    weights: Mapping[Any, float] | None = None,
    exclude: Iterable[str] = (),
    scheduler: str | None = None,
    progress: bool | None = None,
    **options: Unpack[formulations.options.FairTasksOptions],
) -> Period:
    """Compare what tenants had over a period with what was due to them, from dumps of one cluster.

    Between two dumps what ran and waited at the first holds; the last dump only ends the period.

    Parameters
    ----------
    dumps : str, Path, or sequence of str, Path and Snapshot
        A folder with a dump in each of its folders or files, or several dumps.
    mechanism, weights, exclude, **options
        As for :func:`fairlp_clusters.report`, at every dump; a tenant that some dumps lack may be named.
    times : sequence of datetime, optional
        When the dumps were made. By default the times in the names of files or folders; where none
        has one, those that the dumps say themselves, or else those at which files were changed.
    every : str, float or timedelta, optional
        How far apart the dumps are, in their order, in place of all but the first of these times:
        ``"1h"``, ``"30min"``, or a number of hours.
    half_life : str, float or timedelta, optional
        After which what was used and due counts by half, as for ``half_life=`` of
        :func:`fairlp.allocate`; by default all hours count alike.
    scheduler : str, optional
        As for :func:`fairlp_clusters.snapshot`.
    progress : bool, optional
        A bar on standard error, in a terminal; by default lines elsewhere once ten seconds have
        passed.

    Returns
    -------
    Period

    Raises
    ------
    FileFormatError
        Where dumps have no times or equal ones, or a file cannot be read.
    InstanceError
        For fewer than two dumps, or dumps of several clusters or schedulers.

    Examples
    --------
    >>> import fairlp_clusters
    >>> days = fairlp_clusters.period("dumps", half_life="7d")  # doctest: +SKIP
    >>> days.tenants["verdict"], days.report("days.html")  # doctest: +SKIP
    """
    sources = _sources(dumps)
    if len(sources) < 2:
        raise InstanceError(
            f"a period is of two dumps or more, and {len(sources)} is here; expected several dumps, "
            "or a folder with a dump in each of its folders, or in each of its files"
        )
    step = duration(every, "every")
    decay = duration(half_life, "half_life")
    dump_times = _times(sources, times, step)
    order = dump_times.values.argsort()

    reader = MomentReader(mechanism, options, dict(weights or {}), _as_list(exclude), scheduler)
    moments: list[Moment] = []
    names: list[str] = []
    with progress_bar("dumps", len(sources), 0, progress) as advance:
        for k in order.tolist():
            moment = reader.moment(sources[k])
            name = _name(sources[k], k)
            _require_one_cluster(moments, names, moment, name)
            moments.append(moment)
            names.append(name)
            advance()
    reader.require_known()
    return _period(moments, names, Times(dump_times.values[order], dump_times.source), decay)


def _as_list(names: Iterable[str]) -> list[str]:
    """Return names as a list; a text is one name."""
    return [names] if isinstance(names, str) else list(names)


def _sources(
    dumps: str | Path | Sequence[str | Path | Snapshot | Dump],
) -> list[Dump | Snapshot]:
    """Return the dumps."""
    given = [dumps] if isinstance(dumps, str | Path | Snapshot) else list(dumps)
    sources: list[Dump | Snapshot] = []
    for dump in given:
        sources += [dump] if isinstance(dump, Snapshot | Dump) else dumps_of([dump])
    return sources


def _times(
    sources: Sequence[Dump | Snapshot], times: Iterable[Any] | None, step: timedelta | None
) -> Times:
    """Return the time of each dump."""
    if times is not None:
        values = pd.DatetimeIndex(pd.to_datetime(list(times)))
        if len(values) != len(sources):
            raise InstanceError(f"there are {len(values)} times of {len(sources)} dumps")
        if values.has_duplicates or values.hasnans:
            raise InstanceError(
                "two dumps have one time, or one has none; expected different times"
            )
        return Times(values, "given")
    files = [source for source in sources if isinstance(source, Dump)]
    if len(files) < len(sources):
        raise InstanceError(
            "snapshots do not say when they were made; give times=[…], one for each"
        )
    return times_of(files, step)


def _name(source: Dump | Snapshot, k: int) -> str:
    return source.name if isinstance(source, Dump) else f"snapshot {k + 1}"


def _require_one_cluster(
    moments: Sequence[Moment], names: Sequence[str], moment: Moment, name: str
) -> None:
    """Raise where a dump is of another scheduler than one before, or has none of its servers."""
    for k in range(len(moments) - 1, -1, -1):
        before = moments[k]
        if not before.servers or not moment.servers:
            continue
        if before.scheduler != moment.scheduler:
            raise InstanceError(
                f"{name} is of {moment.scheduler}, and {names[k]} of {before.scheduler}; a period is "
                "of one cluster"
            )
        if not before.servers & moment.servers:
            raise InstanceError(
                f"{name} has none of the {len(before.servers)} servers of {names[k]}, the dump before; a "
                "period is of one cluster"
            )
        return


def _period(
    moments: Sequence[Moment],
    names: Sequence[str],
    times: Times,
    half_life: timedelta | None,
) -> Period:
    """Return the period of moments in the order of their times."""
    tenants = list(dict.fromkeys(name for moment in moments for name in moment.tenants.index))
    index = pd.Index(tenants, name="tenant", dtype=object)
    array = {column: _by_time(moments, index, column) for column in _COLUMNS if column != "since"}
    hours = np.append((times.values[1:] - times.values[:-1]) / _HOUR, 0.0)
    table = _tenants_table(array, index, hours, half_life)
    table["longest_job_wait"] = _job_waits(moments, times.values, index)
    table = table[[*table.columns[table.columns != "verdict"], "verdict"]]
    is_short = (table["verdict"] == "short").to_numpy()
    lacking = table["lacking"].to_numpy()
    order = largest_first(lacking)
    order = np.concatenate([order[is_short[order]], order[~is_short[order]]])

    by_time = pd.MultiIndex.from_product([times.values, index], names=["time", "tenant"])
    shown = ["share", "fair_share", "due_share", "tasks", "fair_tasks", "waiting", "owed"]
    of_moments = [moment for moment in moments if moment.scheduler]
    return Period(
        tenants=table.iloc[order],
        times=pd.DataFrame({name: array[name].ravel() for name in shown}, index=by_time),
        dumps=_dumps_table(moments, names, times.values, hours, array),
        half_life=half_life,
        noun=of_moments[-1].noun if of_moments else "tenant",
        scheduler=of_moments[-1].scheduler if of_moments else "",
        mechanism=", ".join(dict.fromkeys(moment.mechanism for moment in of_moments)),
        source=SOURCES[times.source],
        name=f"{names[0]} to {names[-1]}",
        no_verdict=next((moment.no_verdict for moment in moments if moment.no_verdict), ""),
    )


def _by_time(moments: Sequence[Moment], index: pd.Index, column: str) -> np.ndarray:
    """Return a column of all moments, times × tenants; 0 of a tenant that a moment lacks."""
    absent = np.inf if column == "task_share" else 0.0
    rows = [
        moment.tenants[column].reindex(index).astype(float).fillna(absent).to_numpy()
        for moment in moments
    ]
    return np.array(rows).reshape(len(moments), len(index))


def _tenants_table(
    array: Mapping[str, np.ndarray],
    index: pd.Index,
    hours: np.ndarray,
    half_life: timedelta | None,
) -> pd.DataFrame:
    """Return the integrals and the verdict of each tenant."""
    weights = hours.copy()
    if half_life is not None:
        age = hours.sum() - np.cumsum(hours)  # from the end of each interval to that of the last
        weights *= 2.0 ** (-age / (half_life / timedelta(hours=1)))
    used = weights @ array["share"]
    due = weights @ array["due_share"]
    lacking = np.maximum(due - used, 0.0)
    task_share = array["task_share"].min(axis=0, initial=np.inf)
    lacking_tasks = quotients(lacking, np.where(np.isfinite(task_share), task_share, 0.0))
    is_short = (lacking_tasks > 1 + AUDIT) & (lacking > tolerances.PERIOD_SHORT * due)
    was_short = array["is_short"] > 0
    columns = {
        "share": used / weights.sum(),
        "due_share": due / weights.sum(),
        "used": used,
        "due": due,
        "short": weights @ array["short"],
        "lacking": lacking,
        "lacking_task_hours": lacking_tasks,
        "task_hours": weights @ array["tasks"],
        "hours_waiting": hours @ (array["waiting"] > 0),
        "hours_short": hours @ was_short,
        "longest_wait": longest_stretch(was_short, hours),
        "verdict": np.where(is_short, "short", "fair"),
    }
    return pd.DataFrame(columns, index=index)


def longest_stretch(holds: np.ndarray, hours: np.ndarray) -> np.ndarray:
    """Return the longest time without a break in which something holds, by column.

    >>> longest_stretch(np.array([[True], [True], [False], [True]]), np.array([1.0, 2, 4, 2.5]))
    array([3.])
    """
    longest = np.zeros(holds.shape[1])
    stretch = np.zeros(holds.shape[1])
    for holds_now, length in zip(holds, hours, strict=True):
        stretch = np.where(holds_now, stretch + length, 0.0)
        longest = np.maximum(longest, stretch)
    return longest


def _job_waits(moments: Sequence[Moment], times: pd.DatetimeIndex, index: pd.Index) -> np.ndarray:
    """Return the longest hours that a task of each tenant had waited at a dump; NaN without.

    A time without a zone is one of this computer's zone.
    """
    longest = pd.Series(np.nan, index=index)
    for moment, time in zip(moments, times, strict=True):
        instant = pd.Timestamp(time.to_pydatetime().astimezone())
        since = pd.to_datetime(moment.tenants["since"], utc=True)
        hours = ((instant - since) / _HOUR).clip(lower=0.0).reindex(index)
        longest = longest.combine(hours, np.fmax)
    return longest.to_numpy(dtype=float)


def _dumps_table(
    moments: Sequence[Moment],
    names: Sequence[str],
    times: pd.DatetimeIndex,
    hours: np.ndarray,
    array: Mapping[str, np.ndarray],
) -> pd.DataFrame:
    """Return the table of dumps by time."""
    missing = array["missing"]
    short_counts = (array["is_short"] > 0).sum(axis=1)
    most_short = [
        str(moment.tenants["missing"].astype(float).idxmax()) if count else ""
        for moment, count in zip(moments, short_counts, strict=True)
    ]
    columns = {
        "dump": list(names),
        "hours": hours,
        "tenants": [len(moment.tenants) for moment in moments],
        "tasks": array["tasks"].sum(axis=1),
        "waiting": array["waiting"].sum(axis=1),
        "verdict": np.where(short_counts > 0, "not fair", "fair"),
        "short": short_counts,
        "most_short": most_short,
        "missing": missing.sum(axis=1),
        "left_out": [moment.left_out for moment in moments],
    }
    return pd.DataFrame(columns, index=times.rename("time"))
