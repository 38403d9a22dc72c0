"""Who comes when: the order of arrival, what each step may give out, and the horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InstanceError, NotDefinedError
from ...models.instances.instance import Instance
from ...tolerances import ENTITLEMENT_SUM

#: The column of ``user_attributes`` that tells when a user arrives.
COLUMN = "arrival"


@dataclass(frozen=True)
class Schedule:
    """The steps of an instance whose users arrive one by one.

    Attributes
    ----------
    order : ndarray of int, shape (N,)
        Positions of the users in order of arrival; at step k the users ``order[:k]`` are present.
    parts : ndarray, shape (N,)
        Sum of the weights of those present at each step (k, when all weights are 1).
    horizon : float
        Sum of the weights of all users who will ever come (n, when all weights are 1): step k may give out the fraction
        ``parts[k-1] / horizon`` of every resource.
    """

    order: np.ndarray
    parts: np.ndarray
    horizon: float

    @property
    def available(self) -> np.ndarray:
        """Fraction of every resource that each step may give out, shape (N,): k/n when all weights are 1."""
        return np.asarray(self.parts / self.horizon)


def schedule(instance: Instance, horizon: Any = None) -> Schedule:
    """Return the steps of an instance; O(N log N).

    Parameters
    ----------
    instance : Instance
        Its users arrive by the column ``arrival`` of ``user_attributes`` (numbers or times); users of equal arrival,
        and all users without that column, in the order of the instance.
    horizon : float, optional
        Sum of the weights of all users who will ever come; by default of those in the instance.

    Raises
    ------
    InstanceError
        When an arrival is missing or is text, or the horizon is less than the weights of the users.

    Examples
    --------
    >>> import pandas as pd
    >>> late = pd.DataFrame({"arrival": [30, 10, 30]})
    >>> steps = schedule(Instance.from_arrays([[1], [2], [3]], [[9]], user_attributes=late), horizon=4)
    >>> steps.order.tolist(), steps.available.tolist()
    ([1, 0, 2], [0.25, 0.5, 0.75])
    """
    order = arrival_order(instance)
    parts = np.cumsum(instance.user_weights[order])
    return Schedule(order, parts, _horizon(horizon, float(parts[-1])))


def arrival_order(instance: Instance) -> np.ndarray:
    """Return the positions of the users in order of arrival, shape (N,); ties keep the order of the instance."""
    if COLUMN not in instance.user_attributes.columns:
        return np.arange(len(instance.users))
    column = instance.user_attributes[COLUMN].infer_objects()
    values = column.to_numpy()
    missing = column.isna().to_numpy()
    wrong = missing | np.array([isinstance(value, str) for value in values] if values.dtype == object else False)
    if wrong.any():
        at = int(np.argmax(wrong))
        what = "missing" if missing[at] else f"the text {values[at]!r}"
        raise InstanceError(
            f"arrival of user {instance.users[at]!r} is {what}; expected a number or a time for each user "
            "(or no column 'arrival': the users then arrive in their order)"
        )
    try:
        return np.argsort(values, kind="stable")
    except TypeError as error:
        raise InstanceError(f"arrivals cannot be put in order ({error}); expected numbers, or times") from None


def _horizon(given: Any, present: float) -> float:
    if given is None:
        return present
    horizon = require_horizon(given)
    if horizon < present * (1 - ENTITLEMENT_SUM):
        raise InstanceError(
            f"the horizon is {horizon:g}, and users of a total weight of {present:g} arrive; expected at least that "
            "(the number of all users who will ever come, or the sum of their weights)"
        )
    return max(horizon, present)


def require_horizon(given: Any) -> float:
    """Return a horizon as a number, finite and > 0."""
    try:
        if isinstance(given, (bool, str)):
            raise TypeError
        horizon = float(given)
    except (TypeError, ValueError):
        raise InstanceError(f"the horizon is {given!r}; expected a number of users (or the sum of weights)") from None
    if not (np.isfinite(horizon) and horizon > 0):
        raise InstanceError(f"the horizon is {horizon:g}; expected a finite number > 0")
    return horizon


def require_no_limits(instance: Instance) -> None:
    """Raise NotDefinedError when a user has a task limit (which dropping an oversized task also sets)."""
    limited = np.isfinite(instance.task_limits)
    if limited.any():
        raise NotDefinedError(
            f"user {instance.users[int(limited.argmax())]!r} has a task limit, which dynamic mechanisms do not know; "
            "leave the user out (instance.select_users), or use oversized='divide'"
        )
