"""Karma (OSDI 2023): slices of a quantum by credits, which users earn when they donate slices."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral, Real

import numpy as np
import pandas as pd

from ...errors import InstanceError, TooLargeError, quoted
from ...models.instances.arithmetic import LARGEST_WHOLE, whole_limits, whole_tasks_alone
from ..mechanism import MethodCall, TasksResult

#: The part α of its fair share that a user can always have, and the credits that it begins with,
#: unless told otherwise.
ALPHA = 0.5
CREDITS = 10**12


def karma(call: MethodCall) -> TasksResult:
    """Share one quantum by Algorithm 1 of Vuppalapati et al. (OSDI 2023).

    All picks of its loop are made at once.

    Of S slices, each of n users is guaranteed ⌊α·S/n⌋; the rest is shared. In every quantum a user
    gets the number of shared slices over n, rounded down, in credits. A user donates what it does
    not demand of its guarantee, and borrows what it demands beyond, for a credit a slice. The
    borrower with most credits takes the next slice. Donated slices go first, and the donor with
    fewest credits earns the credit. Equal credits: in the order of the users.
    """
    instance = call.instance
    slices = int(whole_tasks_alone(instance.demands[:1], instance.pool)[0])
    count = len(instance.users)
    if slices * count >= LARGEST_WHOLE:
        raise TooLargeError(
            f"{slices:.3g} slices for {count} users are not counted exactly; give larger tasks"
        )
    guaranteed = int(_alpha(call) * slices // count)
    shared = slices - count * guaranteed
    before, notes = _credits(call)
    credits = before + shared // count
    demand = whole_limits(np.minimum(instance.task_limits, slices)).astype(np.int64)
    used_of_guarantee = np.minimum(demand, guaranteed)
    donated = guaranteed - used_of_guarantee
    requested = np.minimum(demand - used_of_guarantee, credits)
    n_donated = int(donated.sum())
    lent = min(int(requested.sum()), n_donated + shared)
    borrowed = highest_first(credits, requested, lent)
    earned = highest_first(-credits, donated, min(lent, n_donated))
    state = pd.Series(
        credits - borrowed + earned, instance.users.labels.rename("user"), name="credits"
    )
    return TasksResult(
        (used_of_guarantee + borrowed).astype(float)[:, None], state=state, notes=notes
    )


def highest_first(numbers: np.ndarray, limits: np.ndarray, amount: int) -> np.ndarray:
    """Return the number of picks of each entry; the highest number is always picked next.

    Each pick lowers the number by one.

    Equal numbers are picked in their order; each at most ``limits`` times, all together ``amount``
    times. O(N log C) for numbers that are up to C apart.

    >>> highest_first(np.array([9, 7, 7]), np.array([5, 5, 5]), 4)
    array([3, 1, 0])
    """
    if amount >= limits.sum():
        return np.asarray(limits)
    low = int((numbers - limits).min())
    high = int(numbers.max())
    while high - low > 1:  # the lowest number above which no more than this amount are picked
        middle = (low + high) // 2
        is_few = np.clip(numbers - middle, 0, limits).sum() <= amount
        low, high = (low, middle) if is_few else (middle, high)
    picked: np.ndarray = np.clip(numbers - high, 0, limits)
    last = np.flatnonzero((picked < limits) & (numbers - picked == high))
    picked[last[: amount - int(picked.sum())]] += 1
    return picked


def _alpha(call: MethodCall) -> Fraction:
    alpha = call.parameters.get("alpha", ALPHA)
    if not isinstance(alpha, Real) or isinstance(alpha, bool) or not 0 <= float(alpha) <= 1:
        raise InstanceError(
            f"alpha is {quoted(alpha)}; expected the guaranteed part of the fair share, from 0 to 1"
        )
    return Fraction(str(alpha))


def _credits(call: MethodCall) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the users' credits, and notes on users who joined or left.

    A user who joins has the average of the others.
    """
    first = call.parameters.get("credits", CREDITS)
    state = call.state
    users = call.instance.users.labels
    if not isinstance(first, Integral) or isinstance(first, bool) or not 0 <= int(first) <= CREDITS:
        raise InstanceError(
            f"credits is {quoted(first)}; expected the credits at the beginning, whole, from 0 to "
            f"{CREDITS:g}"
        )
    if state is None:
        return np.full(len(users), int(first), dtype=np.int64), ()
    refused = (state < 0) | (state != np.floor(state)) | (state > LARGEST_WHOLE)
    if refused.any():
        user = refused.index[refused][0]
        raise InstanceError(
            f"the state gives user {quoted(user)} {state[user]:g} credits; expected whole numbers, 0 to "
            "2**53"
        )
    average = sum(map(int, state.tolist())) // len(state)
    credits = state.reindex(users, fill_value=average).to_numpy().astype(np.int64)
    users_of = {
        f"joined and have the average of {average} credits": users.difference(state.index),
        "left, and their credits with them": state.index.difference(users),
    }
    return credits, tuple(
        f"users {', '.join(map(repr, labels))} {sentence}"
        for sentence, labels in users_of.items()
        if len(labels)
    )
