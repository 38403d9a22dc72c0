"""``DynamicAllocation``: who has how much after each step, when users arrive one by one and never leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import UnknownNameError, nearest
from ...formulations.normalisers import dominant, normalised_demands, weighted
from ...models.instances.instance import Instance
from ...models.programs.certificate import Verdict
from ..allocation import Allocation, Answer
from . import arrays
from . import properties as by_step
from .schedule import Schedule

if TYPE_CHECKING:
    from ...models.notation.model import Model

#: (users present, what they had, schedule, step) → the program of that step
StepModel = Callable[[Instance, np.ndarray, Schedule, int], "Model"]


@dataclass(frozen=True, eq=False)
class DynamicAllocation(Answer):
    """The answer of a mechanism for users who arrive, for every step, in O(N) memory.

    At step k the users ``order[:k]`` are present. Those from position ``first_array[k-1]`` on have the level
    ``level_array[k-1]``, the smallest of all; those before them have what they had (no level exceeds an earlier user's,
    so this says everything). Dense tables are made when asked for, and refused beyond 1 GiB.

    Attributes
    ----------
    instance : Instance
    mechanism, method, solver : str
        How it was made; ``solver`` is empty when no solver was needed.
    schedule : Schedule
        Order of arrival, and what each step may give out.
    level_array : ndarray, shape (N,)
        M^k, the smallest weighted dominant share after each step.
    first_array : ndarray of int, shape (N,)
        Position, in order of arrival, of the first user who has it.
    step_model : callable
        (users present, what they had, schedule, step) → the program of one step.
    cautious : bool
        Whether a step keeps something for the users still to come.
    files : str
        Stem of the names of :meth:`write_models`.
    prices_array : ndarray, shape (1, R), or None
        Capacity duals of the last step's program: at most what one more unit of a resource would add to its level.
    times : mapping
        Seconds by phase.
    gap : float or None
        Largest relative duality gap of the steps, where linear programs gave the answer.
    notes : tuple of str
    """

    instance: Instance
    mechanism: str
    method: str
    schedule: Schedule
    level_array: np.ndarray
    first_array: np.ndarray
    step_model: StepModel = field(repr=False)
    files: str
    cautious: bool = False
    solver: str = ""
    prices_array: np.ndarray | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    gap: float | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def gamma(self) -> np.ndarray:
        """Γ[n], the tasks that n could run alone, in the order of the instance; shape (N,)."""
        return dominant(self.instance)

    @cached_property
    def levels(self) -> pd.Series[float]:
        """M^k by step: the smallest dominant share (divided by weight), a fraction of everything."""
        return pd.Series(self.level_array, index=self._steps, name="level")

    @cached_property
    def available(self) -> pd.Series[float]:
        """Fraction of every resource that each step may give out (k/n when all weights are 1)."""
        return pd.Series(self.schedule.available, index=self._steps, name="available")

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Dominant shares, steps × users in order of arrival; NaN before a user arrives. O(N²) memory."""
        return self.table()

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """Tasks, steps × users in order of arrival; NaN before a user arrives. O(N²) memory."""
        return self.steps.mul(self.gamma[self.schedule.order], axis="columns")

    def table(self, steps: Sequence[int] | None = None, users: Sequence[Any] | None = None) -> pd.DataFrame:
        """Return dominant shares at some steps (by default all), of some users (by default all, as they arrive).

        Parameters
        ----------
        steps : sequence of int, optional
        users : sequence of labels, optional

        Returns
        -------
        DataFrame
            Steps × users; NaN before a user arrives.

        Raises
        ------
        TooLargeError
            When the table would take more than 1 GiB.
        UnknownNameError
            For a step or a user that does not exist.
        """
        return arrays.shares(self, steps, users)

    def levels_at(self, step: int) -> np.ndarray:
        """Return the level (dominant share divided by weight) of each user present, in order of arrival; O(k).

        Parameters
        ----------
        step : int
            From 1.

        Returns
        -------
        ndarray, shape (k,)
        """
        return arrays.levels_at(self, self._step(step))

    def history(self, user: Any) -> pd.Series[float]:
        """Return one user's dominant share by step, from its arrival on; O(N).

        Parameters
        ----------
        user : label

        Returns
        -------
        Series
        """
        return arrays.history(self, user)

    def at(self, step: int) -> Allocation:
        """Return the allocation after one step: of the users who are present, in the order of the instance; O(k·R).

        Parameters
        ----------
        step : int
            From 1.

        Returns
        -------
        Allocation
        """
        k = self._step(step)
        levels = np.full(len(self.instance.users), np.nan)
        levels[self.schedule.order[:k]] = self.levels_at(k)
        here = np.flatnonzero(~np.isnan(levels))
        entitled = weighted(self.instance, self.instance.user_weights, self.gamma)[here]
        return Allocation(
            instance=self.instance if k == len(levels) else self.instance.select_users(here),
            mechanism=self.mechanism,
            method=self.method,
            solver=self.solver,
            tasks_array=(levels[here] * entitled)[:, None],
            gamma=self.gamma[here],
            entitled=entitled,
            prices_array=self.prices_array if k == len(levels) else None,
            times=self.times,
            gap=self.gap,
            notes=self.notes,
        )

    @cached_property
    def last(self) -> Allocation:
        """The allocation after the last step."""
        return self.at(len(self.level_array))

    @property
    def totals(self) -> pd.Series[float]:
        """Tasks by user after the last step."""
        return self.last.totals

    @property
    def shares(self) -> pd.Series[float]:
        """Dominant share by user after the last step."""
        return self.last.shares

    @property
    def usage(self) -> pd.DataFrame:
        """Amount of each resource in use after the last step (one row, the server)."""
        return self.last.usage

    @property
    def prices(self) -> pd.DataFrame | None:
        """Capacity duals of the last step (None without a linear program)."""
        return self.last.prices

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """Each step in a line: who came, the smallest level, and how many users have it."""
        raised = np.arange(1, len(self.level_array) + 1) - self.first_array
        lines = {"user": self._arrived, "smallest_level": self.level_array, "raised": raised}
        return pd.DataFrame(lines, index=self._steps)

    @property
    def pool_utilization(self) -> pd.Series[float]:
        """Fraction of everything in use after the last step, by resource."""
        return self.last.pool_utilization

    @cached_property
    def utilization(self) -> pd.DataFrame:
        """Fraction of everything in use, steps × resources; O(N·R·log N)."""
        return pd.DataFrame(
            self.given_out[:, :-1], index=self._steps, columns=self.instance.resources.labels.rename("resource")
        )

    @cached_property
    def residual(self) -> float:
        """Largest violation at any step, relative: of what the step may give out, or of "nobody loses"."""
        return arrays.residual(self)

    def certify(self) -> Verdict:
        """Return whether every step is the optimum of its program, proved without its method; O(N·R·log N).

        See :func:`fairlp.mechanisms.arrivals.properties.certify`.

        Returns
        -------
        Verdict
        """
        return by_step.certify(self)

    def competitive(self) -> pd.DataFrame:
        """Return the mechanism beside static DRF by step (``properties.competitive``).

        Returns
        -------
        DataFrame
            See :func:`fairlp.mechanisms.arrivals.properties.competitive`.
        """
        return by_step.competitive(self)

    def properties(self, steps: Sequence[int] | None = None) -> pd.DataFrame:
        """Return which properties hold at each step; see :func:`fairlp.mechanisms.arrivals.properties.properties`.

        Parameters
        ----------
        steps : sequence of int, optional
            By default all.

        Returns
        -------
        DataFrame
            One row for each step and property.
        """
        return self._of_every_step.copy() if steps is None else by_step.properties(self, steps)

    @cached_property
    def _of_every_step(self) -> pd.DataFrame:
        """The properties of all steps: each audit of them asks for one."""
        return by_step.properties(self)

    def model(self, step: int) -> Model:
        """Return the linear program of one step, with what users had before it in this answer.

        Parameters
        ----------
        step : int
            From 1.

        Returns
        -------
        Model
        """
        k = self._step(step)
        present = self.instance.select_users(self.schedule.order[:k])
        before = np.zeros(k)
        if k > 1:
            before[:-1] = self.levels_at(k - 1) * present.user_weights[:-1]
        return self.step_model(present, before, self.schedule, k)

    def write_models(
        self, folder: str | Path, steps: Sequence[int] | None = None, suffix: str = ".mps", **options: Any
    ) -> list[Path]:
        """Write the linear program of each step, such as ``drf-step-0007.mps``.

        Parameters
        ----------
        folder : str or Path
            Made when it is not there.
        steps : sequence of int, optional
            By default all, which is O(N²·R) in all.
        suffix : str
            ``.mps``, ``.lp``, ``.mps.gz``, ``.lp.gz`` or ``.nl``.
        **options
            As for :meth:`fairlp.Model.write`.

        Returns
        -------
        list of Path
            The files written.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        for step in range(1, len(self.level_array) + 1) if steps is None else steps:
            written += self.model(step).write(place / f"{self.files}-step-{step:04d}{suffix}", **options)
        return written

    def summary(self) -> pd.DataFrame:
        """Return one row for each user: step of arrival, and tasks, share and level after the last step.

        Returns
        -------
        DataFrame
            Indexed by user: ``arrived``, ``tasks``, ``share`` and ``level``.
        """
        arrived = np.empty(len(self.level_array), dtype=int)
        arrived[self.schedule.order] = np.arange(1, len(arrived) + 1)
        frame = self.last.summary().drop(columns="server_rows")
        frame.insert(0, "arrived", arrived)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the allocation after the last step, and by step who arrived and the smallest level.

        Returns
        -------
        dict
            Mappings and lists of text and numbers.
        """
        steps = zip(self._steps.tolist(), self._arrived, self.level_array.tolist(), strict=True)
        data = self.last.to_dict()
        return {
            **data,
            "horizon": self.schedule.horizon,
            "steps": [{"step": step, "user": user, "level": level} for step, user, level in steps],
            "residual": self.residual,
        }

    def _csv(self) -> pd.DataFrame:
        return self.summary()

    def __repr__(self) -> str:
        how = f"{self.method}, {self.solver}" if self.solver else self.method
        n = len(self.level_array)
        total = float(self.schedule.parts[-1])
        of = "" if self.schedule.horizon == total else f" of a horizon of {self.schedule.horizon:g}"
        return (
            f"<DynamicAllocation by {self.mechanism} ({how}): {n} steps{of}, "
            f"smallest level {self.level_array[-1]:.6g} at the last>"
        )

    @cached_property
    def needs(self) -> np.ndarray:
        """φ[n]·d̂[n,r], what one level of each user takes of each resource, in order of arrival; shape (N, R)."""
        order = self.schedule.order
        return np.asarray(normalised_demands(self.instance)[order] * self.instance.user_weights[order][:, None])

    @cached_property
    def given_out(self) -> np.ndarray:
        """Fraction in use of each resource at each step, and last the sum of all dominant shares; shape (N, R + 1)."""
        return arrays.given_out(self)

    @property
    def _steps(self) -> pd.Index[Any]:
        return pd.RangeIndex(1, len(self.level_array) + 1, name="step")

    @cached_property
    def _arrived(self) -> pd.Index[Any]:
        return self.instance.users.labels[self.schedule.order]

    @cached_property
    def _places(self) -> np.ndarray:
        places = np.empty(len(self.level_array), dtype=int)
        places[self.schedule.order] = np.arange(len(places))
        return places

    def _place(self, user: Any) -> int:
        if user not in self.instance.users:
            raise UnknownNameError(f"no user is called {user!r}; {nearest(user, self.instance.users)}")
        return int(self._places[self.instance.users.labels.get_loc(user)])

    def _step(self, step: int) -> int:
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)):
            raise UnknownNameError(f"a step is a whole number, not {step!r}")
        if not 1 <= step <= len(self.level_array):
            raise UnknownNameError(f"there is no step {step}; expected 1 to {len(self.level_array)}")
        return int(step)
