"""``Schedule``: the order in which users arrive, and the fraction that each step may give out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InstanceError, NotDefinedError, UnknownNameError, quoted
from ...models.instances.checks import refuse_label
from ...models.instances.instance import Instance
from ...models.notation.reals import is_whole_number
from ...tolerances import AGREEMENT

#: The column of ``user_attributes`` that holds the time of arrival.
ARRIVAL_COLUMN = "arrival"


@dataclass(frozen=True)
class Schedule:
    """The steps of an instance whose users arrive one by one.

    Attributes
    ----------
    order : ndarray of int, shape (N,)
        Positions of the users in order of arrival; at step k the users ``order[:k]`` are present.
    parts : ndarray, shape (N,)
        Sum of the weights of the users present at each step (k, when all weights are 1).
    horizon : float
        Sum of the weights of all users who will ever come (n, when all weights are 1): step k may
        give out the fraction ``parts[k-1] / horizon`` of every resource.
    """

    order: np.ndarray
    parts: np.ndarray
    horizon: float

    def __len__(self) -> int:
        return len(self.order)

    @property
    def available(self) -> np.ndarray:
        """Fraction of every resource that each step may give out, shape (N,).

        With weights of 1 it is k/n.
        """
        return np.asarray(self.parts / self.horizon)

    def require_step(self, step: Any) -> int:
        """Return the number of a step, or raise UnknownNameError where there is no such step."""
        if not is_whole_number(step):
            raise UnknownNameError(f"a step is a whole number, not {quoted(step)}")
        if not 1 <= step <= len(self):
            raise UnknownNameError(f"there is no step {step}; expected 1 to {len(self)}")
        return int(step)


def schedule(instance: Instance, horizon: Any = None) -> Schedule:
    """Return the steps of an instance; O(N log N).

    Parameters
    ----------
    instance : Instance
        Its users arrive by the column ``arrival`` of ``user_attributes`` (numbers or times); users
        of equal arrival, and all users without that column, in the order of the instance.
    horizon : float, optional
        Sum of the weights of all users who will ever come; by default of those in the instance.

    Raises
    ------
    InstanceError
        When an arrival is missing or is text, or the horizon is less than the weights of the users.

    Examples
    --------
    >>> import pandas as pd
    >>> late = pd.DataFrame({"arrival": [30, 10, 30]}, ["a", "b", "c"])
    >>> instance = Instance.from_arrays([[1], [2], [3]], [[9]], users=late.index, user_attributes=late)
    >>> steps = schedule(instance, horizon=4)
    >>> steps.order.tolist(), steps.available.tolist()
    ([1, 0, 2], [0.25, 0.5, 0.75])
    """
    order = arrival_order(instance)
    parts = np.cumsum(instance.user_weights[order])
    weight_present = float(parts[-1])
    if horizon is None:
        return Schedule(order, parts, weight_present)

    announced = require_horizon(horizon)
    if announced < weight_present * (1 - AGREEMENT):
        raise InstanceError(
            f"the horizon is {announced:g}, and users of a total weight of {weight_present:g} "
            "arrive; expected at least that (the number of all users who will ever come, or the "
            "sum of their weights)"
        )
    return Schedule(order, parts, max(announced, weight_present))


def arrival_order(instance: Instance) -> np.ndarray:
    """Return the positions of the users in order of arrival, shape (N,).

    Users of equal time keep the order of the instance.
    """
    if ARRIVAL_COLUMN not in instance.user_attributes.columns:
        return np.arange(len(instance.users))

    column = instance.user_attributes[ARRIVAL_COLUMN].infer_objects()
    times = column.to_numpy()
    is_text = times.dtype == object and column.map(lambda time: isinstance(time, str)).to_numpy()
    problem = (
        "has no arrival that is a number or a time; give each user one (or no column 'arrival': the users "
        "then arrive in their order)"
    )
    refuse_label(column.isna().to_numpy() | is_text, instance.users, problem)
    return np.argsort(times, kind="stable")


def require_horizon(horizon: Any) -> float:
    """Return a horizon as a number, finite and > 0."""
    number = as_number(horizon, "the horizon", "a number of users (or the sum of weights)")
    if not (np.isfinite(number) and number > 0):
        raise InstanceError(f"the horizon is {number:g}; expected a finite number > 0")
    return number


def as_number(value: Any, name: str, expected: str = "a number") -> float:
    """Return a value as a float; text and truth values are no numbers."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise InstanceError(f"{name} is {quoted(value)}; expected {expected}") from None


def require_no_limits(instance: Instance) -> None:
    """Raise NotDefinedError when a user has a task limit.

    Dropping an oversized task sets one, too.
    """
    limited = np.isfinite(instance.task_limits)
    if limited.any():
        raise NotDefinedError(
            f"user {quoted(instance.users[int(limited.argmax())])} has a task limit, which dynamic "
            "mechanisms do not know; leave the user out (instance.select_users), or use "
            "oversized='divide'"
        )
