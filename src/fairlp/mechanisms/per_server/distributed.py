"""PS-DSF without a centre: every server acts at its own times on what it has and on everyone's totals as it knows them.

The distributed version of Khamse-Ashari et al. (ICC 2017, §III-D), as a simulation of clocks and messages. A server
acts once a period, at a phase of its own, from its own tasks and capacities and one number for each user: the tasks of
that user elsewhere, by the messages that have arrived. What it changes, it tells; the message takes its time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.files.arrays import Arrays
from ...tolerances import SWEEP_CHANGE
from .algorithm_1 import server_procedure
from .clocks import SPREAD, Clocks
from .market import Market

#: What a network keeps in a file as it is: name → attribute.
_KEPT = {
    "tasks": "tasks", "known": "known", "told": "_told", "now": "now", "quiet_since": "quiet_since", "sent": "_sent",
    "arrived": "_arrived",
}  # fmt: skip


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
    known : ndarray, shape (N, K)
        What of it has been told: the messages that have arrived.
    now : float
        Seconds.
    quiet_since : float
        When a server last changed anything, or a user came or left.
    """

    def __init__(self, market: Market, clocks: Clocks, start: np.ndarray | None = None) -> None:
        self.market = replace(market, limits=market.limits.copy())
        self.clocks = clocks
        self.tasks = np.zeros(market.shape) if start is None else start.copy()
        self.known = self.tasks.copy()
        self.now = 0.0
        self.quiet_since = 0.0
        self._limits = market.limits
        self._random = np.random.default_rng(clocks.seed)
        self._told = self.known.sum(axis=1)
        self._sent = 0
        self._arrived = np.zeros(market.shape[1], dtype=np.int64)
        self._queue: list[tuple[float, int, int, np.ndarray | None]] = []
        for i, phase in enumerate(self._random.random(market.shape[1]) * clocks.period):
            if market.users[i].size:
                self._put(float(phase), i, None)

    def run(self, until: float) -> Iterator[Action]:
        """Let time pass until then; yield every action."""
        while self._queue and self._queue[0][0] <= until:
            self.now, number, server, message = heapq.heappop(self._queue)
            if message is None:
                yield self._act(server)
            elif number > self._arrived[server]:  # a message that was overtaken says nothing new
                self._arrived[server] = number
                who = self.market.users[server]
                self._told[who] += message - self.known[who, server]
                self.known[who, server] = message
        self.now = max(self.now, until)

    @property
    def settled(self) -> bool:
        """Whether nothing has changed for so long that nothing will."""
        return self.now - self.quiet_since > self.clocks.longest

    def distance(self) -> float:
        """Return the most that any server's best response to what really runs would move, as a part of γ[n,i].

        It is 0 at a fixed point and small near one. (Definition 5's gain is not: a user whose level is lower by a hair
        could take everything from the other.)
        """
        totals = self.tasks.sum(axis=1)
        largest = 0.0
        for i, who in enumerate(self.market.users):
            if who.size:
                here = self.tasks[who, i]
                moved = abs(self.market.respond(i, here, totals[who]).tasks - here)
                largest = max(largest, float((moved / self.market.gamma[who, i]).max()))
        return largest

    def leave(self, user: int) -> None:
        """Stop a user's tasks, at once and everywhere; servers give the room away when they act next."""
        self.tasks[user] = self.known[user] = self._told[user] = 0.0
        self.market.limits[user] = 0.0
        self.quiet_since = self.now
        self._withdraw(user)

    def enter(self, user: int) -> None:
        """Let a user in, with no tasks."""
        self.market.limits[user] = self._limits[user]
        self.quiet_since = self.now

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return all that changes while time passes, as arrays by name, and the state of the random numbers."""
        messages = [message for *_, message in self._queue]
        parts = [message for message in messages if message is not None]
        found = {name: np.asarray(getattr(self, attribute)) for name, attribute in _KEPT.items()}
        found["times"] = np.array([time for time, *_ in self._queue], dtype=float)
        found["numbers"] = np.array([number for _, number, *_ in self._queue], dtype=np.int64)
        found["servers"] = np.array([server for _, _, server, _ in self._queue], dtype=np.int64)
        found["is_message"] = np.array([message is not None for message in messages], dtype=np.int64)
        found["messages"] = np.concatenate([np.zeros(0), *parts])
        market = {"weights": self.market.weights, "limits": self.market.limits}
        return found | market, dict(self._random.bit_generator.state)

    def restore(self, kept: Arrays, prefix: str, random: Any) -> None:
        """Go on from a state that was kept in a file."""
        users, servers = self.market.shape
        queue = kept.floats(f"{prefix}times", None)
        numbers = kept.wholes(f"{prefix}numbers", len(queue)).tolist()
        where = kept.wholes(f"{prefix}servers", len(queue), below=servers).tolist()
        told = kept.wholes(f"{prefix}is_message", len(queue), below=2).tolist()
        sizes = [self.market.users[server].size if is_told else 0 for server, is_told in zip(where, told, strict=True)]
        parts = np.split(kept.floats(f"{prefix}messages", sum(sizes)), np.cumsum(sizes)[:-1])
        messages = [part.copy() if is_told else None for part, is_told in zip(parts, told, strict=False)]
        self._queue = list(zip(queue.tolist(), numbers, where, messages, strict=True))
        for name, shape in {"tasks": (users, servers), "known": (users, servers), "_told": (users,)}.items():
            setattr(self, name, kept.floats(f"{prefix}{name.strip('_')}", *shape))
        self.now, self.quiet_since = kept.number(f"{prefix}now"), kept.number(f"{prefix}quiet_since")
        self._sent = kept.whole(f"{prefix}sent")
        self._arrived = kept.wholes(f"{prefix}arrived", servers)
        self.market.weights[:] = kept.floats(f"{prefix}weights", users)
        self.market.limits[:] = kept.floats(f"{prefix}limits", users)
        try:
            self._random.bit_generator.state = random
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise kept.fault(f"the state of its random numbers is none ({error})") from None

    def _act(self, server: int) -> Action:
        clocks, market = self.clocks, self.market
        who = market.users[server]
        here = self.tasks[who, server]
        others = np.maximum(self._told[who] - self.known[who, server], 0.0)
        if clocks.procedure == "algorithm-1":
            wanted = server_procedure(market, server, here, others + here).tasks
        else:
            wanted = market.respond(server, here, others + here).tasks
        now = here + clocks.damping * (wanted - here)
        change = float((abs(now - here) / market.gamma[who, server]).max())
        if change > 0:
            self.tasks[who, server] = now
            pause = clocks.delay * (1 + SPREAD * (2 * self._random.random() - 1))
            self._put(self.now + pause, server, now)
        if change > SWEEP_CHANGE:
            self.quiet_since = self.now
        wait = clocks.period * (1 + clocks.jitter * (2 * self._random.random() - 1))
        self._put(self.now + wait, server, None)
        return Action(self.now, server, change)

    def _put(self, time: float, server: int, message: np.ndarray | None) -> None:
        self._sent += 1
        heapq.heappush(self._queue, (time, self._sent, server, message))

    def _withdraw(self, user: int) -> None:
        """Take a user who left out of the messages that are under way."""
        for _, _, server, message in self._queue:
            if message is not None:
                message[self.market.users[server] == user] = 0.0
