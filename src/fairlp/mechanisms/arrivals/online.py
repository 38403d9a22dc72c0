"""``Arrivals``: dynamic DRF for users as they arrive, at amortised O(R) a user."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InstanceError, quoted, require_known
from ...models.instances.instance import Instance
from ...tolerances import AGREEMENT
from .algorithms import LevelStack
from .result import DynamicAllocation, dynamic_allocation
from .rule import DYNAMIC_DRF, StepLevels
from .schedule import as_number, require_horizon, schedule


class Change:
    """The effect of one arrival: the users from ``first`` to ``step`` now have the same level.

    Users count in order of arrival.

    Attributes
    ----------
    step : int
        Number of users who have come.
    level : float
        Their dominant share divided by weight, a fraction of everything.
    first : int
        Position of the first of them, counted from 0 in order of arrival.

    Its length is the number of users changed; :attr:`shares` lists them (that costs O(their
    number), so it is done only when asked for).
    """

    def __init__(self, arrivals: Arrivals, step: int, level: float, first: int) -> None:
        self._arrivals = arrivals
        self.step = step
        self.level = level
        self.first = first

    def __len__(self) -> int:
        return self.step - self.first

    @property
    def users(self) -> list[Any]:
        """Users whose share changed, in order of arrival."""
        return self._arrivals.users[self.first : self.step]

    @property
    def shares(self) -> pd.Series[float]:
        """New dominant share of each user whose share changed, as it was after this arrival."""
        weights = np.array(self._arrivals.weights[self.first : self.step])
        return _by_user(self.level * weights, self.users)

    def __repr__(self) -> str:
        users = self.users
        subject = (
            f"{quoted(users[0])}, now"
            if len(users) == 1
            else f"{len(users)} users, {quoted(users[0])} to {quoted(users[-1])}, now"
        )
        return f"<Change at step {self.step}: {subject} at level {self.level:.6g}>"


class Arrivals:
    """Dynamic DRF for users who arrive one by one and never leave, as in a long-running service.

    Parameters
    ----------
    resources : mapping, Series or Instance
        Capacity of each resource, > 0; or an instance with one server, whose capacities are taken.
    horizon : float
        Number of all users who will ever come (with weights: the sum of their weights). It only
        scales the shares.

    Raises
    ------
    InstanceError
        For a capacity that is not a number > 0, no resources, several servers, or a horizon that is
        not a number > 0.

    Notes
    -----
    Amortised O(R) an arrival: each user is merged with those of its level at most once. One arrival
    alone may cost O(groups·R); there are seldom more than a few dozen groups. Memory is O(R) a
    user, so that :meth:`result` can tell the whole story.

    Examples
    --------
    >>> arrivals = Arrivals({"cpu": 9, "memory": 18}, horizon=3)
    >>> arrivals.add("ann", {"cpu": 1, "memory": 4})
    <Change at step 1: 'ann', now at level 0.333333>
    >>> arrivals.add("bob", {"cpu": 3, "memory": 1}).shares.round(6).to_dict()
    {'ann': 0.444444, 'bob': 0.444444}
    >>> arrivals.add("cem", [1, 1])
    <Change at step 3: 'cem', now at level 0.333333>
    """

    def __init__(
        self, resources: Mapping[Any, float] | pd.Series[float] | Instance, horizon: float
    ) -> None:
        if isinstance(resources, Instance):
            if resources.n_servers != 1:
                raise InstanceError(
                    f"dynamic DRF shares one server and there are {resources.n_servers} "
                    "(instance.pooled() makes one)"
                )
            resources = dict(zip(resources.resources, resources.pool.tolist(), strict=True))
        self.capacities = {
            name: _amount(value, f"capacity of {quoted(name)}", positive=True)
            for name, value in dict(resources).items()
        }
        self.horizon = require_horizon(horizon)
        self.users: list[Any] = []
        self.weights: list[float] = []
        self._demands: list[list[float]] = []
        self._places: dict[Any, int] = {}
        self._parts = 0.0
        self._stack = LevelStack(len(self.capacities))
        self._history: list[tuple[float, int]] = []

    def add(self, user: Any, demand: Any, weight: float = 1.0) -> Change:
        """Let a user in for good, and return whose shares changed.

        Parameters
        ----------
        user : str or int
            A label that was not there yet.
        demand : mapping, Series, or sequence of R numbers
            What one task needs: by resource (0 where not named), or in the order of the resources.
        weight : float
            > 0.

        Returns
        -------
        Change

        Raises
        ------
        InstanceError
            For a user who is there already, a resource that is not, an amount that is no finite
            number >= 0, a user who demands nothing, or more users (more weight) than the horizon.
            Nothing has changed then.

        Examples
        --------
        >>> import fairlp
        >>> arrivals = fairlp.Arrivals({"cpu": 9, "memory": 18}, horizon=3)
        >>> arrivals.add("ann", {"cpu": 1, "memory": 4})
        <Change at step 1: 'ann', now at level 0.333333>
        """
        if not isinstance(user, (str, int)) or isinstance(user, bool) or user == "":
            raise InstanceError(
                f"user label {quoted(user)} is {type(user).__name__}; expected text or a whole number"
            )
        if user in self._places:
            raise InstanceError(
                f"user {quoted(user)} came already, at step {self._places[user] + 1}; users come once"
            )
        amounts = self._demand(user, demand)
        phi = _amount(weight, f"weight of user {quoted(user)}", positive=True)
        parts = self._parts + phi
        if parts > self.horizon * (1 + AGREEMENT):
            raise InstanceError(
                f"user {quoted(user)} is beyond the horizon: {len(self.users)} users of a total weight "
                f"of {self._parts:g} "
                f"are here, and {self.horizon:g} were announced; what was promised to them leaves "
                "nothing for more"
            )
        fractions = [
            amount / capacity
            for amount, capacity in zip(amounts, self.capacities.values(), strict=True)
        ]
        largest = max(fractions)
        level, first = self._stack.push(
            [phi * (fraction / largest) for fraction in fractions], parts
        )
        self._places[user] = len(self.users)
        self.users.append(user)
        self.weights.append(phi)
        self._demands.append(amounts)
        self._history.append((level, first))
        self._parts = parts
        return Change(self, len(self.users), level / self.horizon, first)

    @property
    def level(self) -> float:
        """Smallest dominant share over weight, a fraction of the pool; 0 without users."""
        return self._stack.levels[-1] / self.horizon if self.users else 0.0

    def share(self, user: Any) -> float:
        """Return a user's dominant share now, a fraction of the pool.

        The search costs O(log of the number of groups).

        Parameters
        ----------
        user : str or int
            One who has come.

        Returns
        -------
        float

        Raises
        ------
        UnknownNameError
            For a user who has not come; the nearest are named.

        Examples
        --------
        >>> import fairlp
        >>> arrivals = fairlp.Arrivals({"cpu": 9, "memory": 18}, horizon=3)
        >>> change = arrivals.add("ann", {"cpu": 1, "memory": 4})
        >>> round(arrivals.share("ann"), 6)
        0.333333
        """
        require_known(user, self._places, f"no user {quoted(user)} has come")
        place = self._places[user]
        group = bisect_right(self._stack.firsts, place) - 1
        return float(self._stack.levels[group] / self.horizon * self.weights[place])

    @property
    def shares(self) -> pd.Series[float]:
        """Dominant share of each user now, in order of arrival; O(users)."""
        sizes = np.diff([*self._stack.firsts, len(self.users)])
        levels = np.repeat(np.array(self._stack.levels, dtype=float), sizes) / self.horizon
        return _by_user(levels * np.array(self.weights), self.users)

    @property
    def used(self) -> pd.Series[float]:
        """Fraction of each resource that is given out now."""
        fractions = [amount / self.horizon for amount in self._stack.used()]
        return pd.Series(
            fractions,
            index=pd.Index(list(self.capacities), name="resource"),
            name="used",
            dtype=float,
        )

    @property
    def available(self) -> float:
        """Fraction of every resource that may be given out now (k/n when all weights are 1)."""
        return min(self._parts / self.horizon, 1.0)

    def instance(self, name: str = "") -> Instance:
        """Return the users who came, in order of arrival, as an instance with one server.

        Parameters
        ----------
        name : str
            Name of the instance.

        Returns
        -------
        Instance

        Raises
        ------
        InstanceError
            When no user has come yet.

        Examples
        --------
        >>> import fairlp
        >>> arrivals = fairlp.Arrivals({"cpu": 9, "memory": 18}, horizon=3)
        >>> change = arrivals.add("ann", {"cpu": 1, "memory": 4})
        >>> arrivals.instance()
        <Instance: 1 user, 1 server, resources cpu, memory>
        """
        return Instance.from_arrays(
            self._demands,
            [list(self.capacities.values())],
            users=self.users,
            servers=["pool"],
            resources=list(self.capacities),
            weights=self.weights,
            user_attributes=pd.DataFrame(
                {"arrival": range(1, len(self.users) + 1)}, index=self.users
            ),
            name=name,
        )

    def result(self) -> DynamicAllocation:
        """Return the allocation of all steps so far, without computing any of them again.

        It has the form that :func:`fairlp.allocate` returns for an instance.

        Returns
        -------
        DynamicAllocation

        Examples
        --------
        >>> import fairlp
        >>> arrivals = fairlp.Arrivals({"cpu": 9, "memory": 18}, horizon=3)
        >>> change = arrivals.add("ann", {"cpu": 1, "memory": 4})
        >>> arrivals.result().totals.to_dict()
        {'ann': 1.5}
        """
        instance = self.instance()
        weight_present = float(instance.user_weights.sum())
        steps = schedule(instance, max(self.horizon, weight_present))
        levels, first = zip(*self._history, strict=True)
        step_levels = StepLevels(np.array(levels) / steps.horizon, np.array(first, dtype=int))
        return dynamic_allocation(DYNAMIC_DRF, instance, "stack", steps, step_levels)

    def __len__(self) -> int:
        return len(self.users)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.users)

    def __contains__(self, user: object) -> bool:
        return user in self._places

    def __repr__(self) -> str:
        return (
            f"<Arrivals: {len(self.users)} users of a horizon of {self.horizon:g}, resources "
            f"{', '.join(map(str, self.capacities))}, smallest level {self.level:.6g}>"
        )

    def _demand(self, user: Any, demand: Any) -> list[float]:
        """Return the demands of a task in the order of the resources, checked."""
        names = list(self.capacities)
        if isinstance(demand, (Mapping, pd.Series)):
            amount_by_resource = dict(demand)
            for resource in amount_by_resource:
                problem = f"user {quoted(user)} demands {quoted(resource)}, which is no resource"
                require_known(resource, self.capacities, problem, InstanceError)
            demand = [amount_by_resource.get(resource, 0.0) for resource in names]
        amounts = [
            _amount(v, f"demand of user {quoted(user)}, resource {r!r},")
            for r, v in zip(names, demand, strict=True)
        ]
        if not any(amounts):
            raise InstanceError(
                f"user {quoted(user)} demands nothing; expected a positive demand for at least one "
                "resource"
            )
        return amounts


def _by_user(shares: np.ndarray, users: list[Any]) -> pd.Series[float]:
    return pd.Series(shares, index=pd.Index(users, name="user", dtype=object), name="share")


def _amount(value: Any, subject: str, positive: bool = False) -> float:
    """Return a finite number >= 0, or > 0."""
    number = as_number(value, subject)
    if not (isfinite(number) and number >= 0 and (number or not positive)):
        raise InstanceError(
            f"{subject} is {number:g}; expected a finite number {'>' if positive else '>='} 0"
        )
    return number
