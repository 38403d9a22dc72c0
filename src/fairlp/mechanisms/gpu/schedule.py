"""A schedule of AlloX: which job runs on which device, at which position, from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ...formulations.gpu import job_times
from ...models.instances.instance import Instance


@dataclass(frozen=True)
class JobSchedule:
    """Jobs on devices, one after the other; arrays have an entry for each job that runs.

    Attributes
    ----------
    instance : Instance
    steps : ndarray, shape (N,)
        Tasks that each user has left.
    users, servers : ndarray of int
        Positions of the user and the row of servers.
    devices, positions : ndarray of int
        Which device of the row, from 1, and the position from its end, from 1.
    starts, ends : ndarray
    """

    instance: Instance
    steps: np.ndarray
    users: np.ndarray
    servers: np.ndarray
    devices: np.ndarray
    positions: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, instance: Instance, steps: np.ndarray, kinds: np.ndarray) -> JobSchedule:
        """Return the best schedule in which each job runs on a device of its kind.

        The sum of completion times is least where the longest jobs are last, spread over the
        devices.

        Parameters
        ----------
        instance : Instance
        steps : ndarray, shape (N,)
        kinds : ndarray of int, shape (N,)
            Position of the row of servers; −1 for a job that runs nowhere.
        """
        times = job_times(instance, steps)
        turns: list[tuple[float, ...]] = []
        for i, count in enumerate(instance.counts.tolist()):
            jobs = np.flatnonzero(kinds == i)
            longest_first = jobs[np.argsort(-times[jobs, i], kind="stable")]
            for device in range(min(count, len(jobs))):
                on_device = longest_first[device::count][::-1]
                ends = times[on_device, i].cumsum()
                starts = ends - times[on_device, i]
                for turn, job in enumerate(on_device.tolist()):
                    position = len(on_device) - turn
                    turns.append((job, i, device + 1, position, starts[turn], ends[turn]))
        table = np.array(turns).reshape(-1, 6)
        table = table[np.argsort(table[:, 4], kind="stable")]
        return cls(instance, steps, *table[:, :4].astype(int).T, *table[:, 4:].T)

    @property
    def length(self) -> float:
        """When the last job ends; 1 where none runs."""
        return float(self.ends.max()) if len(self.ends) else 1.0

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each job, in the order in which they start.

        Columns ``user``, ``server``, ``device``, ``position``, ``start`` and ``end``.
        """
        columns = {
            "user": self.instance.users.labels[self.users],
            "server": self.instance.servers.labels[self.servers],
            "device": self.devices,
            "position": self.positions,
            "start": self.starts,
            "end": self.ends,
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self.users) + 1, name="turn"))

    @property
    def tasks(self) -> np.ndarray:
        """What each job runs in a unit of time, on average until the last job ends: (N, K)."""
        tasks = np.zeros(self.instance.shape)
        tasks[self.users, self.servers] = self.steps[self.users] / self.length
        return tasks

    @property
    def tasks_per_level(self) -> np.ndarray:
        """Tasks at level 1, where the level of a job is one over its completion time: (N,)."""
        ends = np.full(len(self.steps), self.length)
        ends[self.users] = self.ends
        return self.steps * (ends / self.length)

    @property
    def places(self) -> np.ndarray:
        """1 where a job has a position on a kind: (N, K, N)."""
        places = np.zeros((*self.instance.shape, len(self.steps)))
        places[self.users, self.servers, self.positions - 1] = 1.0
        return places
