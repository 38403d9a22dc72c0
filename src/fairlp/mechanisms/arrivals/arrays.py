"""What follows from the levels of all steps: tables of shares, what is given out, by how much that is too much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import TooLargeError

if TYPE_CHECKING:
    from .result import DynamicAllocation

#: Bytes that a dense table may take.
DENSE_LIMIT = 2**30


def shares(result: DynamicAllocation, steps: Sequence[int] | None, users: Sequence[Any] | None) -> pd.DataFrame:
    """Return dominant shares, steps × users; see :meth:`fairlp.DynamicAllocation.table`."""
    chosen = range(1, len(result.level_array) + 1) if steps is None else [result._step(step) for step in steps]
    places = np.arange(len(result.level_array)) if users is None else np.array([result._place(user) for user in users])
    size = 8 * len(chosen) * len(places)
    if size > DENSE_LIMIT:
        raise TooLargeError(
            f"a table of {len(chosen)} steps × {len(places)} users would take {size / 2**30:.3g} GiB, above 1 GiB; "
            "use .at(step), .history(user), .levels and .utilization, or .table(steps, users) for a part of it"
        )
    table = np.full((len(chosen), len(places)), np.nan)
    everyone = users is None
    for row, step in enumerate(chosen):
        if everyone and row and step == chosen[row - 1] + 1:
            table[row] = table[row - 1]
            table[row, result.first_array[step - 1] : step] = result.level_array[step - 1]
        else:
            here = places < step
            table[row, here] = result.levels_at(step)[places[here]]
    labels = result._arrived[places]
    shares = table * result.instance.user_weights[result.schedule.order][places]
    return pd.DataFrame(shares, index=pd.Index(list(chosen), name="step"), columns=labels.rename("user"))


def levels_at(result: DynamicAllocation, k: int) -> np.ndarray:
    """Return the level of each user present at step k, in order of arrival."""
    levels = np.empty(k)
    # group by group, from the newest: the group below is the newest of the step before the group's first
    while k > 0:
        first = int(result.first_array[k - 1])
        levels[first:k] = result.level_array[k - 1]
        k = first
    return levels


def history(result: DynamicAllocation, user: Any) -> pd.Series[float]:
    """Return one user's dominant share by step, from its arrival on."""
    place = result._place(user)
    raised = result.first_array[place:] <= place
    last = np.maximum.accumulate(np.where(raised, np.arange(len(raised)), 0))
    shares = result.level_array[place:][last] * result.instance.user_weights[result.schedule.order[place]]
    return pd.Series(shares, index=result._steps[place:], name=user)


def given_out(result: DynamicAllocation) -> np.ndarray:
    """Return the fraction in use of each resource at each step, and last the sum of all dominant shares."""
    weights = result.instance.user_weights[result.schedule.order][:, None]
    whole = np.cumsum(np.vstack([np.zeros(result.needs.shape[1] + 1), np.hstack([result.needs, weights])]), axis=0)
    # of the users at the newest level; those before them have what they had when the last of them came
    total = np.vstack([np.zeros_like(whole[0]), result.level_array[:, None] * (whole[1:] - whole[result.first_array])])
    below = np.concatenate([[0], result.first_array])
    while below.any():  # sums along the chain of steps, twice as long each time
        total += total[below]
        below = below[below]
    return total[1:]


def residual(result: DynamicAllocation) -> float:
    """Return the largest violation at any step, relative."""
    available = result.schedule.available[:, None]
    over = float((result.given_out[:, :-1] / available).max() - 1)
    # a user who is first of its group at some steps has had the level of the last of these before
    order = np.argsort(result.first_array, kind="stable")
    first, level = result.first_array[order], result.level_array[order]
    kept = np.divide(level[1:], level[:-1], out=np.ones(len(level) - 1), where=level[:-1] > 0)
    lost = (1 - kept)[first[1:] == first[:-1]]
    return max(over, float(lost.max(initial=0.0)), 0.0)
