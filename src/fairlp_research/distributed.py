"""PS-DSF without a centre: servers act at their own times on the totals that they know.

The distributed version of Khamse-Ashari et al. (ICC 2017, §III-D), as a simulation of clocks and
messages. A server acts once a period, at a phase of its own, from its own tasks and capacities and
one number for each user: the tasks of that user elsewhere, by the messages that have arrived. What
it changes, it tells; the message takes its time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

import fairlp
from fairlp import Instance, Mechanism, formulations, per_server
from fairlp.errors import InstanceError, NotConvergedError, UnsupportedError, quoted, require_known
from fairlp.toolkit import lists, tolerances

__all__ = ["Tracking", "settled", "track"]

# When servers act on their own, and how long their messages take: the options of distributed
# PS-DSF.

#: Messages take between this part of the delay and as much more than it, in random order of
#: arrival.
SPREAD = 0.5
PROCEDURES: tuple[str, ...] = ("best-response", "algorithm-1")
#: Names of the options that say what clocks there are.
CLOCK_OPTIONS: tuple[str, ...] = tuple(formulations.options.ClockOptions.__annotations__)
#: Simulated seconds after which :func:`settled` gives up, in periods.
MOST_PERIODS = 5000
#: Violations are sampled once a period, and later whenever this much more time has passed.
SAMPLED = 1.02


@dataclass(frozen=True)
class Clocks:
    """When servers act and how long their messages take.

    Attributes
    ----------
    period : float
        Seconds between two actions of a server.
    jitter : float
        Each interval is longer or shorter by up to this fraction of the period.
    delay : float
        Seconds that a message takes, on average; each takes between half of it and half more.
    damping : float
        How far a server goes towards its answer each time, in (0, 1].
    procedure : {"best-response", "algorithm-1"}
        What a server does when it acts: the water-filling, or the paper's server procedure.
    seed : int
        Of phases, jitter and delays.
    """

    period: float = 1.0
    jitter: float = 0.1
    delay: float = 0.0
    damping: float = 1.0
    procedure: str = "best-response"
    seed: int = 0

    @property
    def longest(self) -> float:
        """Seconds until all messages under way have arrived and every server has acted on them."""
        return self.period * (1 + self.jitter) + self.delay * (1 + SPREAD)


def clocks_of(parameters: Mapping[str, Any]) -> Clocks:
    """Return the clocks that options describe, checked.

    Without ``damping``, it is 1/(1 + delay/period): servers that hear late move less.
    """
    options = {name: value for name, value in parameters.items() if name in CLOCK_OPTIONS}
    period = per_server.positive("period", options.get("period", Clocks.period))
    delay = per_server.positive("delay", options.get("delay", Clocks.delay), zero=True)
    jitter = per_server.positive("jitter", options.get("jitter", Clocks.jitter), zero=True)
    damping = options.get("damping")
    damping = (
        1 / (1 + delay / period) if damping is None else per_server.positive("damping", damping)
    )
    procedure = options.get("procedure", Clocks.procedure)
    require_known(procedure, PROCEDURES, f"procedure={procedure!r} does not exist")
    if damping > 1:
        raise UnsupportedError(f"damping={damping:g}; expected a number in (0, 1]")
    if jitter >= 1:
        raise UnsupportedError(f"jitter={jitter:g}; expected a fraction of the period, in [0, 1)")
    return Clocks(
        period, jitter, delay, damping, procedure, int(options.get("clock_seed", Clocks.seed))
    )


@dataclass(frozen=True)
class Action:
    """One turn of a server: when, which, and its largest change of x[n,i]/γ[n,i]."""

    time: float
    server: int
    change: float


class Network:
    """Servers with clocks, and the messages between them.

    Attributes
    ----------
    tasks : ndarray, shape (N, K)
        What runs.
    reported : ndarray, shape (N, K)
        What of it has been told: the messages that have arrived.
    time : float
        Seconds.
    quiet_since : float
        When a server last changed anything, or a user came or left.
    """

    def __init__(
        self,
        market: per_server.PerServerMarket,
        clocks: Clocks,
        start: np.ndarray | None = None,
    ) -> None:
        self.market = replace(market, limits=market.limits.copy())
        self.clocks = clocks
        self.tasks = np.zeros(market.shape) if start is None else start.copy()
        self.reported = self.tasks.copy()
        self.time = 0.0
        self.quiet_since = 0.0
        self._limits = market.limits
        self._random = np.random.default_rng(clocks.seed)
        self._reported_totals = self.reported.sum(axis=1)
        self._sent = 0
        self._arrived = np.zeros(market.shape[1], dtype=np.int64)
        self._queue: list[tuple[float, int, int, np.ndarray | None]] = []
        for i, phase in enumerate(self._random.random(market.shape[1]) * clocks.period):
            if market.users[i].size:
                self._put(float(phase), i, None)

    def run(self, until: float) -> Iterator[Action]:
        """Let time pass until then; yield every action."""
        while self._queue and self._queue[0][0] <= until:
            self.time, number, server, message = heapq.heappop(self._queue)
            if message is None:
                yield self._act(server)
            elif number > self._arrived[server]:  # a message that was overtaken says nothing new
                self._arrived[server] = number
                users = self.market.users[server]
                self._reported_totals[users] += message - self.reported[users, server]
                self.reported[users, server] = message
        self.time = max(self.time, until)

    @property
    def settled(self) -> bool:
        """Whether nothing has changed for so long that nothing will."""
        return self.time - self.quiet_since > self.clocks.longest

    def distance(self) -> float:
        """Return the largest move of any server's best response, as a part of γ[n,i].

        The response is to the tasks that really run.

        It is 0 at a fixed point and small near one. (Definition 5's gain is not: a user whose level
        is lower by a hair could take everything from the other.)
        """
        totals = self.tasks.sum(axis=1)
        largest = 0.0
        for i, users in enumerate(self.market.users):
            if users.size:
                server_tasks = self.tasks[users, i]
                moved = abs(
                    self.market.respond(i, server_tasks, totals[users]).tasks - server_tasks
                )
                largest = max(largest, float((moved / self.market.gamma[users, i]).max()))
        return largest

    def leave(self, user: int) -> None:
        """Stop a user's tasks at once, everywhere.

        Servers give the room away when they act next.
        """
        self.tasks[user] = self.reported[user] = self._reported_totals[user] = 0.0
        self.market.limits[user] = 0.0
        self.quiet_since = self.time
        for _, _, server, message in self._queue:  # the user is taken out of what is under way
            if message is not None:
                message[self.market.users[server] == user] = 0.0

    def enter(self, user: int) -> None:
        """Let a user in, with no tasks."""
        self.market.limits[user] = self._limits[user]
        self.quiet_since = self.time

    def _act(self, server: int) -> Action:
        clocks = self.clocks
        market = self.market
        users = market.users[server]
        tasks = self.tasks[users, server]
        others = np.maximum(self._reported_totals[users] - self.reported[users, server], 0.0)
        if clocks.procedure == "algorithm-1":
            response = per_server.server_procedure(market, server, tasks, others + tasks).tasks
        else:
            response = market.respond(server, tasks, others + tasks).tasks
        next_tasks = tasks + clocks.damping * (response - tasks)
        change = market.moved(server, tasks, next_tasks, others + tasks)
        if change > 0:
            self.tasks[users, server] = next_tasks
            pause = clocks.delay * (1 + SPREAD * (2 * self._random.random() - 1))
            self._put(self.time + pause, server, next_tasks)
        if change > tolerances.SETTLED:
            self.quiet_since = self.time
        wait = clocks.period * (1 + clocks.jitter * (2 * self._random.random() - 1))
        self._put(self.time + wait, server, None)
        return Action(self.time, server, change)

    def _put(self, time: float, server: int, message: np.ndarray | None) -> None:
        self._sent += 1
        heapq.heappush(self._queue, (time, self._sent, server, message))


# Users who come and go: servers keep PS-DSF up, beside mechanisms solved anew
# (``track``).

#: One interval of absence, or several: [from, to) in seconds.
Absence = tuple[float, float] | Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Tracking:
    """What ran where over time.

    Attributes
    ----------
    instance : Instance
    utilization : DataFrame
        Fraction of capacity in use. Index ``time`` in seconds; columns (mechanism, server,
        resource).
    tasks : DataFrame
        Index ``time``; columns (mechanism, user).
    distance : Series
        The most that any server's best response would still move, as a part of what the user could
        run there alone.
    changes : DataFrame
        Who came or went: time, user, event, and ``seconds`` until the distance stayed within
        ``near``.
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
        """Return the mean utilisation in [``start``, ``stop``): (server, resource) × mechanisms.

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
        return pd.DataFrame(
            {mechanism: means[mechanism] for mechanism in self.mechanisms}
        ).rename_axis(columns="mechanism")


@lists(formulations.options.ClockOptions)
def track(
    instance: Instance,
    away: Mapping[Any, Absence] | None = None,
    *,
    until: float,
    step: float = 1.0,
    division: Literal["rdm", "tdm"] = "rdm",
    beside: Sequence[str] = ("tsf", "c-drfh"),
    near: float = 0.01,
    **clocks: Unpack[formulations.options.ClockOptions],
) -> Tracking:
    """Let users come and go while distributed servers keep up, each going on from what it runs.

    Parameters
    ----------
    instance : Instance
    away : mapping
        User → interval ``(from, to)``, or several, in seconds, when it is not there: ``(0, 40)``
        for one who comes after 40 s, ``(100, 250)`` for one who is away in between. Its tasks end
        at once when it goes.
    until : float
        Seconds to simulate. It begins with DRF on each server by itself.
    step : float
        Seconds between samples.
    division : {"rdm", "tdm"}
    beside : sequence of str
        Mechanisms that are solved anew for the users who are there (their optimum changes only with
        the users).
    near : float
        ``changes`` says how long it took until no server would move more than this part of γ[n,i].
    **clocks
        ``period``, ``jitter``, ``delay``, ``damping``, ``procedure``, ``clock_seed`` as of method
        ``distributed``.

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
    >>> from fairlp_research import distributed
    >>> found = distributed.track(cluster, {"user4": (20, 40)}, until=60)
    >>> found.utilization["psdsf-rdm"].loc[[19, 39, 59], ("D", "cpu")].round(4).to_dict()
    {19.0: 1.0, 39.0: 0.75, 59.0: 1.0}
    """
    for name in clocks:
        require_known(name, CLOCK_OPTIONS, f"track has no option {quoted(name)}")
    until = per_server.positive("until", until)
    step = per_server.positive("step", step)
    row = fairlp.mechanisms.find_defined(f"psdsf-{division}", instance)
    events = _events(instance, away or {}, until)
    others = [fairlp.mechanisms.find_defined(name, instance) for name in beside]
    market = per_server.PerServerMarket.of(instance, division)
    is_present = np.ones(len(instance.users), dtype=bool)
    is_present[[user for time, user, enters in events if time == 0 and not enters]] = False
    present = instance.derived(task_limits=np.where(is_present, market.limits, 0.0))
    network = Network(
        market,
        clocks_of(clocks),
        per_server.separate_start(per_server.PerServerMarket.of(present, division)),
    )
    for absent in np.flatnonzero(~is_present).tolist():
        network.leave(absent)
    moments = (np.arange(int(until / step) + 1) * step).tolist()
    samples, distances, actions = _follow(
        network, row, others, instance, is_present, events, moments
    )
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


def settled(
    instance: Instance,
    division: Literal["rdm", "tdm"],
    start: np.ndarray | None,
    options: Mapping[str, Any],
) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the tasks (N, K) at which servers on their own settle, and every action.

    It is method ``distributed`` of ``psdsf-rdm`` and ``psdsf-tdm``.

    Parameters
    ----------
    instance : Instance
    division : {"rdm", "tdm"}
    start : ndarray, shape (N, K), optional
        Tasks to begin with.
    options : mapping
        Those of clocks, and ``seconds``, the simulated time after which it gives up.

    Returns
    -------
    tasks : ndarray, shape (N, K)
    actions : DataFrame
        Every action: time, server, change; and violation and distance where they were sampled.

    Raises
    ------
    NotConvergedError
        Servers still move tasks when the time is up.
    """
    clocks = clocks_of(options)
    seconds = per_server.positive("seconds", options.get("seconds", MOST_PERIODS * clocks.period))
    network = Network(per_server.PerServerMarket.of(instance, division), clocks, start)
    actions, samples = _simulate(network, instance, seconds)
    if network.settled:
        return network.tasks, _table_of_actions(instance, actions, samples)
    verdict = per_server.check(instance, network.tasks, division)
    last = max(
        (action.change for action in actions if action.time > seconds - clocks.longest),
        default=0.0,
    )
    raise NotConvergedError(
        f"psdsf-{division} by distributed servers has not settled after {seconds:g} simulated seconds "
        f"({len(actions)} actions): in the last {clocks.longest:.3g} one still moved {last:.3g} of what a user "
        f"could run alone on a server. {verdict}. Give a smaller damping (it was {clocks.damping:.3g}), a smaller "
        "delay, or more seconds"
    )


def _simulate(
    network: Network, instance: Instance, until: float
) -> tuple[list[Action], pd.DataFrame]:
    """Run a network until it settles or time is up; return actions and samples.

    The samples are violation and distance by time.
    """
    actions: list[Action] = []
    samples: list[tuple[float, float, float]] = []

    def sample() -> None:
        check = per_server.check(instance, network.tasks, network.market.division)
        samples.append((network.time, check.violation, network.distance()))

    due = network.time
    while network.time < until and not network.settled:
        sample()
        due = max(due + network.clocks.period, due * SAMPLED)
        actions += network.run(min(due, until))
    sample()
    return actions, pd.DataFrame(samples, columns=["time", "violation", "distance"]).set_index(
        "time"
    )


def _table_of_actions(
    instance: Instance, actions: list[Action], samples: pd.DataFrame
) -> pd.DataFrame:
    """Return the actions in order of time.

    Each sample of violation and distance stands at the last action before it.
    """
    frame = pd.DataFrame(
        {
            "time": [action.time for action in actions],
            "server": [instance.servers[action.server] for action in actions],
            "change": [action.change for action in actions],
        },
        index=pd.RangeIndex(1, len(actions) + 1, name="action"),
    )
    last = np.searchsorted(frame["time"].to_numpy(), samples.index.to_numpy(), side="right")
    measured = samples.set_axis(last, axis="index")
    measured = measured[~measured.index.duplicated(keep="last")]
    return frame.join(measured)


@dataclass(frozen=True)
class _Running:
    """The running tasks (N×K), and their needs as multiples of the demands.

    The multiples are None where tasks need just the demands.
    """

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
    mechanism: Mechanism,
    others: Sequence[Mechanism],
    instance: Instance,
    is_present: np.ndarray,
    events: Sequence[tuple[float, int, bool]],
    moments: Sequence[float],
) -> tuple[list[Sample], list[float], list[Action]]:
    """Let the servers act from moment to moment while users come and go.

    Return the samples of running tasks, the distances and the actions.
    """
    solved = {}
    samples = []
    distances = []
    actions: list[Action] = []
    coming = [event for event in events if event[0] > 0]
    multiple = instance.effort()
    for time in moments:
        while coming and coming[0][0] <= time:
            when, user, enters = coming.pop(0)
            actions += network.run(when)
            is_present[user] = enters
            (network.enter if enters else network.leave)(user)
        actions += network.run(time)
        running = {mechanism.name: _Running(network.tasks.copy(), multiple)}
        for row in others:
            key = (row.name, is_present.tobytes())
            if key not in solved:
                solved[key] = _solved(instance, is_present, row)
            running[row.name] = solved[key]
        samples.append(running)
        distances.append(network.distance())
    return samples, distances, actions


def _events(
    instance: Instance, away: Mapping[Any, Absence], until: float
) -> list[tuple[float, int, bool]]:
    """Return who comes (True) or goes (False) when, in order of time, checked."""
    users = list(instance.users)
    events = []
    for user, absence in away.items():
        require_known(user, users, f"no user is called {quoted(user)}")
        try:
            intervals = np.asarray(absence, dtype=float).reshape(-1, 2)
        except (TypeError, ValueError):
            raise InstanceError(
                f"user {quoted(user)} is away {absence!r}; expected (from, to), or a list of such"
            ) from None
        ends = intervals.ravel()
        if not (np.diff(ends) > 0).all() or not ends[0] >= 0:
            raise InstanceError(
                f"user {quoted(user)} is away {absence!r}; expected rising times >= 0, (from, to) each"
            )
        position = users.index(user)
        events += [
            (float(time), position, bool(k % 2)) for k, time in enumerate(ends) if time <= until
        ]
    return sorted(events)


def _solved(instance: Instance, is_present: np.ndarray, mechanism: Mechanism) -> _Running:
    """Return what the mechanism lets the users run who are there; nothing for the others."""
    users = np.flatnonzero(is_present)
    tasks = np.zeros(instance.shape)
    if not users.size:
        return _Running(tasks, None)
    allocation = fairlp.mechanisms.run(mechanism, instance.select_users(users))
    tasks[users] = allocation.tasks_array
    if allocation.effort is None:
        return _Running(tasks, None)
    multiple = np.ones_like(tasks)
    multiple[users] = allocation.effort
    return _Running(tasks, multiple)


def _totals(instance: Instance, samples: list[Sample], times: pd.Index[Any]) -> pd.DataFrame:
    users = list(instance.users)
    frames = {
        name: pd.DataFrame(
            [sample[name].tasks.sum(axis=1) for sample in samples], index=times, columns=users
        )
        for name in samples[0]
    }
    return pd.concat(frames, axis="columns", names=["mechanism", "user"])


def _utilization(instance: Instance, samples: list[Sample], times: pd.Index[Any]) -> pd.DataFrame:
    servers = list(instance.servers)
    resources = list(instance.resources)
    columns = pd.MultiIndex.from_product([servers, resources], names=["server", "resource"])
    capacity = instance.total_capacities
    frames = {}
    for name in samples[0]:
        used = np.einsum(
            "tni,nr->tir", np.stack([sample[name].work for sample in samples]), instance.demands
        )
        fraction = np.divide(used, capacity, out=np.full_like(used, np.nan), where=capacity > 0)
        frames[name] = pd.DataFrame(fraction.reshape(len(times), -1), index=times, columns=columns)
    return pd.concat(frames, axis="columns", names=["mechanism", "server", "resource"])


def _changes(
    instance: Instance,
    events: list[tuple[float, int, bool]],
    distance: pd.Series[float],
    near: float,
    until: float,
) -> pd.DataFrame:
    """Return the seconds after each event until servers are within ``near``.

    An event is the arrival or the departure of a user.
    """
    rows = []
    for k, (time, user, enters) in enumerate(events):
        later_times = [other for other, _, _ in events[k:] if other > time]
        end = min(later_times, default=until)
        span = distance[(distance.index >= time) & (distance.index < end)]
        distant = span.index[span > near]
        after = span.index[span.index > distant[-1]] if len(distant) else span.index
        seconds = float(after[0] - time) if len(after) else np.nan
        rows.append((time, instance.users[user], "enters" if enters else "leaves", seconds))
    return pd.DataFrame(rows, columns=["time", "user", "event", "seconds"])
