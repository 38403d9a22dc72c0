"""Users who come and go: servers keep PS-DSF up, beside mechanisms solved anew (``fairlp.per_server.track``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, UnknownNameError, nearest
from ...models.instances.alone import effort
from ...models.instances.checks import require_instance
from ...models.instances.instance import Instance
from ..mechanism import Division, Mechanism, run
from ..table import find_defined
from .algorithm_1 import separate_start
from .clocks import CLOCK_OPTIONS, clocks_of, positive
from .distributed import Action, Network
from .market import Market

#: One interval of absence, or several: [from, to) in seconds.
Absence = tuple[float, float] | Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Tracking:
    """What ran where over time.

    Attributes
    ----------
    instance : Instance
    utilization : DataFrame
        Fraction of capacity in use. Index ``time`` in seconds; columns (mechanism, server, resource).
    tasks : DataFrame
        Index ``time``; columns (mechanism, user).
    distance : Series
        The most that any server's best response would still move, as a part of what the user could run there alone.
    changes : DataFrame
        Who came or went: time, user, event, and ``seconds`` until the distance stayed within ``near``.
    actions : DataFrame
        Every turn of a server: time, server, change.
    near : float
    """

    instance: Instance
    utilization: pd.DataFrame = field(repr=False)
    tasks: pd.DataFrame = field(repr=False)
    distance: pd.Series[float] = field(repr=False)
    changes: pd.DataFrame
    actions: pd.DataFrame = field(repr=False)
    near: float = 0.01

    @property
    def mechanisms(self) -> list[str]:
        """Names of the mechanisms, the tracked one first."""
        return list(self.tasks.columns.get_level_values(0).unique())

    def average(self, start: float = 0.0, stop: float = np.inf) -> pd.DataFrame:
        """Return the mean utilisation from ``start`` to ``stop`` (excluded): (server, resource) × mechanisms.

        Parameters
        ----------
        start, stop : float
            Seconds.

        Returns
        -------
        DataFrame
            Fractions of capacity.
        """
        times = self.utilization.index
        means = self.utilization[(times >= start) & (times < stop)].mean()
        return pd.DataFrame({mechanism: means[mechanism] for mechanism in self.mechanisms}).rename_axis(
            columns="mechanism"
        )


def track(
    instance: Instance,
    away: Mapping[Any, Absence] | None = None,
    *,
    until: float,
    step: float = 1.0,
    division: Division = "rdm",
    beside: Sequence[str] = ("tsf", "c-drfh"),
    near: float = 0.01,
    **clocks: Any,
) -> Tracking:
    """Let users come and go while distributed servers keep up, each going on from what it runs.

    Parameters
    ----------
    instance : Instance
    away : mapping
        User → interval ``(from, to)``, or several, in seconds, when it is not there: ``(0, 40)`` for one who comes
        after 40 s, ``(100, 250)`` for one who is away in between. Its tasks end at once when it goes.
    until : float
        Seconds to simulate. It begins with DRF on each server by itself.
    step : float
        Seconds between samples.
    division : {"rdm", "tdm"}
    beside : sequence of str
        Mechanisms that are solved anew for the users who are there (their optimum changes only with the users).
    near : float
        ``changes`` says how long it took until no server would move more than this part of γ[n,i].
    **clocks
        ``period``, ``jitter``, ``delay``, ``damping``, ``procedure``, ``clock_seed`` as of method ``distributed``.

    Returns
    -------
    Tracking

    Raises
    ------
    UnknownNameError
        For an option that there is not.

    Examples
    --------
    >>> import fairlp
    >>> cluster = fairlp.examples.load("khamse-ashari-table-3")
    >>> found = fairlp.per_server.track(cluster, {"user4": (20, 40)}, until=60)
    >>> found.utilization["psdsf-rdm"].loc[[19, 39, 59], ("D", "cpu")].round(4).to_dict()
    {19.0: 1.0, 39.0: 0.75, 59.0: 1.0}
    """
    require_instance(instance)
    for name in clocks:
        if name not in CLOCK_OPTIONS:
            raise UnknownNameError(f"track has no option {name!r}; {nearest(name, CLOCK_OPTIONS)}")
    until, step = positive("until", until), positive("step", step)
    events = _events(instance, away or {}, until)
    own = find_defined(f"psdsf-{division}", instance)
    others = [find_defined(one, instance) for one in beside]
    market = Market.of(instance, division)
    there = np.ones(len(instance.users), dtype=bool)
    there[[user for time, user, enters in events if time == 0 and not enters]] = False
    present = instance.derived(task_limits=np.where(there, market.limits, 0.0))
    network = Network(market, clocks_of(clocks), separate_start(Market.of(present, division)))
    for absent in np.flatnonzero(~there).tolist():
        network.leave(absent)
    moments = (np.arange(int(until / step) + 1) * step).tolist()
    samples, distances, actions = _follow(network, own, others, instance, there, events, moments)
    times = pd.Index(moments, name="time")
    distance = pd.Series(distances, index=times, name="distance")
    rows = [(action.time, instance.servers[action.server], action.change) for action in actions]
    return Tracking(
        instance=instance,
        utilization=_utilization(instance, samples, times),
        tasks=_totals(instance, samples, times),
        distance=distance,
        changes=_changes(instance, events, distance, near, until),
        actions=pd.DataFrame(rows, columns=["time", "server", "change"]),
        near=near,
    )


@dataclass(frozen=True)
class _Running:
    """Tasks (N×K) that run, and what each needs there as a multiple of the demands (None: just the demands)."""

    tasks: np.ndarray
    effort: np.ndarray | None

    @property
    def work(self) -> np.ndarray:
        """Tasks in units of the demands."""
        return self.tasks if self.effort is None else self.tasks * self.effort


#: What runs at one moment, by mechanism.
Sample = dict[str, _Running]


def _follow(
    network: Network,
    own: Mechanism,
    others: Sequence[Mechanism],
    instance: Instance,
    there: np.ndarray,
    events: Sequence[tuple[float, int, bool]],
    moments: Sequence[float],
) -> tuple[list[Sample], list[float], list[Action]]:
    """Let the servers act from moment to moment, users come and go; return what ran, the distances and the actions."""
    solved: dict[tuple[str, bytes], _Running] = {}
    samples: list[Sample] = []
    distances: list[float] = []
    actions: list[Action] = []
    coming = [event for event in events if event[0] > 0]
    multiple = effort(instance)
    for time in moments:
        while coming and coming[0][0] <= time:
            when, user, enters = coming.pop(0)
            actions += network.run(when)
            there[user] = enters
            (network.enter if enters else network.leave)(user)
        actions += network.run(time)
        now = {own.name: _Running(network.tasks.copy(), multiple)}
        for row in others:
            key = (row.name, there.tobytes())
            if key not in solved:
                solved[key] = _solved(instance, there, row)
            now[row.name] = solved[key]
        samples.append(now)
        distances.append(network.distance())
    return samples, distances, actions


def _events(instance: Instance, away: Mapping[Any, Absence], until: float) -> list[tuple[float, int, bool]]:
    """Return who comes (True) or goes (False) when, in order of time, checked."""
    users = list(instance.users)
    events = []
    for user, given in away.items():
        if user not in users:
            raise UnknownNameError(f"no user is called {user!r}; {nearest(str(user), users)}")
        try:
            intervals = np.asarray(given, dtype=float).reshape(-1, 2)
        except (TypeError, ValueError):
            raise InstanceError(f"user {user!r} is away {given!r}; expected (from, to), or a list of such") from None
        ends = intervals.ravel()
        if not (np.diff(ends) > 0).all() or not ends[0] >= 0:
            raise InstanceError(f"user {user!r} is away {given!r}; expected rising times >= 0, (from, to) each")
        position = users.index(user)
        events += [(float(time), position, bool(k % 2)) for k, time in enumerate(ends) if time <= until]
    return sorted(events)


def _solved(instance: Instance, there: np.ndarray, mechanism: Mechanism) -> _Running:
    """Return what the mechanism lets the users run who are there; nothing for the others."""
    who = np.flatnonzero(there)
    tasks = np.zeros((len(instance.users), len(instance.servers)))
    if not who.size:
        return _Running(tasks, None)
    found = run(mechanism, instance.select_users(who))
    tasks[who] = found.tasks_array
    if found.effort is None:
        return _Running(tasks, None)
    multiple = np.ones_like(tasks)
    multiple[who] = found.effort
    return _Running(tasks, multiple)


def _totals(instance: Instance, samples: list[Sample], times: pd.Index[Any]) -> pd.DataFrame:
    users = list(instance.users)
    frames = {
        name: pd.DataFrame([now[name].tasks.sum(axis=1) for now in samples], index=times, columns=users)
        for name in samples[0]
    }
    return pd.concat(frames, axis="columns", names=["mechanism", "user"])


def _utilization(instance: Instance, samples: list[Sample], times: pd.Index[Any]) -> pd.DataFrame:
    servers, resources = list(instance.servers), list(instance.resources)
    columns = pd.MultiIndex.from_product([servers, resources], names=["server", "resource"])
    capacity = instance.capacities * instance.counts[:, None]
    frames = {}
    for name in samples[0]:
        used = np.einsum("tni,nr->tir", np.stack([now[name].work for now in samples]), instance.demands)
        part = np.divide(used, capacity, out=np.full_like(used, np.nan), where=capacity > 0)
        frames[name] = pd.DataFrame(part.reshape(len(times), -1), index=times, columns=columns)
    return pd.concat(frames, axis="columns", names=["mechanism", "server", "resource"])


def _changes(
    instance: Instance,
    events: list[tuple[float, int, bool]],
    distance: pd.Series[float],
    near: float,
    until: float,
) -> pd.DataFrame:
    """Return one row for each arrival and departure: until when the servers were farther than ``near``."""
    rows = []
    for k, (time, user, enters) in enumerate(events):
        end = min([other for other, _, _ in events[k:] if other > time], default=until)
        span = distance[(distance.index >= time) & (distance.index < end)]
        far = span.index[span > near]
        after = span.index[span.index > far[-1]] if len(far) else span.index
        seconds = float(after[0] - time) if len(after) else np.nan
        rows.append((time, instance.users[user], "enters" if enters else "leaves", seconds))
    return pd.DataFrame(rows, columns=["time", "user", "event", "seconds"])


__all__ = ["Tracking", "track"]
